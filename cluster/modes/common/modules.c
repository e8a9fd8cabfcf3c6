/* SPDX-License-Identifier: Apache-2.0 */
#include "modules_private.h"

bool modules_marked(const struct np_detail *detail, const char *domain)
{
	for (size_t i = 0; i < detail->marks.count; i++) {
		const char *name = np_detail_text(detail, detail->marks.item[i].domain);

		if (detail->marks.item[i].kind == NP_MARK_RANGE && name &&
		    strcmp(name, domain) == 0)
			return true;
	}
	return false;
}

/* --- the tree -------------------------------------------------------------------------------- */

/* What is open on a thread, outermost first. */
struct stack {
	int64_t tid;
	size_t depth;
	uint32_t module[MODULES_DEPTH];
};

struct stacks {
	NP_VEC(struct stack) list;
};

static struct stack *stack_of(struct stacks *stacks, int64_t tid, struct np_err *err)
{
	struct stack *stack;

	for (size_t i = 0; i < stacks->list.count; i++) {
		if (stacks->list.item[i].tid == tid)
			return &stacks->list.item[i];
	}
	stack = np_vec_add(&stacks->list, err);
	if (stack)
		stack->tid = tid;
	return stack;
}

/* The innermost open module that holds [start, end]; those that ended before it are closed. */
static uint32_t innermost(const struct modules_work *work, struct stack *stack, np_ns start,
			  np_ns end)
{
	while (stack->depth > 0 && work->modules.item[stack->module[stack->depth - 1]].end < start)
		stack->depth--;
	for (size_t i = stack->depth; i-- > 0;) {
		if (work->modules.item[stack->module[i]].end >= end)
			return stack->module[i];
	}
	return MODULES_NONE;
}

/* Marks come by start, the outer first. */
static int read_modules(struct modules_work *work)
{
	struct stacks stacks = { 0 };
	int rc = NP_OK;

	for (size_t i = 0; i < work->detail->marks.count && rc == NP_OK; i++) {
		const struct np_mark *mark = &work->detail->marks.item[i];
		const char *domain = np_detail_text(work->detail, mark->domain);
		struct module *module;
		struct stack *stack;

		if (mark->kind != NP_MARK_RANGE || !domain || strcmp(domain, "Module") != 0)
			continue;
		stack = stack_of(&stacks, mark->tid, work->rank->err);
		module = np_vec_add(&work->modules, work->rank->err);
		if (!stack || !module) {
			rc = NP_E_NOMEM;
			break;
		}
		*module = (struct module){ .start = mark->start,
					   .end = mark->end,
					   .tid = mark->tid,
					   .parent = MODULES_NONE };
		rc = mode_text(work->rank, mark->message, &module->name);
		module->parent = innermost(work, stack, mark->start, mark->end);
		if (stack->depth < MODULES_DEPTH)
			stack->module[stack->depth++] = (uint32_t)(work->modules.count - 1);
	}
	np_vec_release(&stacks.list);
	return rc;
}

/* Put the operators into the modules [first, …) around them; those that have one keep it. */
static int place_ops(struct modules_work *work, size_t first)
{
	const struct np_detail *detail = work->detail;
	struct stacks stacks = { 0 };
	size_t next = first;
	int rc = NP_OK;

	for (uint32_t i = 0; i < detail->framework.count && rc == NP_OK; i++) {
		const struct np_framework_call *call = &detail->framework.item[i];
		struct stack *stack;

		for (; next < work->modules.count && work->modules.item[next].start <= call->start;
		     next++) {
			const struct module *module = &work->modules.item[next];

			stack = stack_of(&stacks, module->tid, work->rank->err);
			if (!stack) {
				rc = NP_E_NOMEM;
				break;
			}
			(void)innermost(work, stack, module->start, module->end);
			if (stack->depth < MODULES_DEPTH)
				stack->module[stack->depth++] = (uint32_t)next;
		}
		if (call->kind != NP_FRAMEWORK_OP || work->module_of[i] != MODULES_NONE)
			continue;
		stack = stack_of(&stacks, call->tid, work->rank->err);
		if (!stack)
			rc = NP_E_NOMEM;
		else
			work->module_of[i] = innermost(work, stack, call->start, call->end);
	}
	np_vec_release(&stacks.list);
	return rc;
}

/* --- backward -------------------------------------------------------------------------------- */

/* A backward operator and the module of its forward one. */
struct reflected {
	uint32_t call;
	uint32_t module;
};

struct reflections {
	NP_VEC(struct reflected) list;
};

static int by_id(const void *left, const void *right)
{
	const struct np_framework_link *a = left;
	const struct np_framework_link *b = right;

	return a->id != b->id ? np_order(a->id, b->id) : np_order(a->call, b->call);
}

/* Two calls that share an id: calls are by start, so the lesser index is the forward one. */
static int reflect(struct modules_work *work, struct reflections *ret)
{
	const struct np_detail *detail = work->detail;
	struct np_framework_link *links = malloc((detail->links.count + 1) * sizeof(*links));
	size_t count = 0;
	int rc = links ? NP_OK : np_fail_nomem(work->rank->err, "modules");

	for (size_t i = 0; i < detail->links.count && rc == NP_OK; i++) {
		if (detail->links.item[i].kind == NP_LEADS_TO_BACKWARD)
			links[count++] = detail->links.item[i];
	}
	if (rc == NP_OK && count)
		qsort(links, count, sizeof(*links), by_id);
	for (size_t first = 0, end; first < count && rc == NP_OK; first = end) {
		struct reflected *slot;

		for (end = first + 1; end < count && links[end].id == links[first].id; end++)
			;
		if (end - first < 2 || work->module_of[links[first].call] == MODULES_NONE)
			continue;
		slot = np_vec_add(&ret->list, work->rank->err);
		if (slot)
			*slot = (struct reflected){ links[end - 1].call,
						    work->module_of[links[first].call] };
		else
			rc = NP_E_NOMEM;
	}
	free(links);
	return rc;
}

static int by_thread(const void *left, const void *right, void *context)
{
	const struct np_detail *detail = context;
	const struct reflected *a = left;
	const struct reflected *b = right;
	int64_t tid_a = detail->framework.item[a->call].tid;
	int64_t tid_b = detail->framework.item[b->call].tid;

	return tid_a != tid_b ? np_order(tid_a, tid_b) : np_order(a->call, b->call);
}

static int by_start(const void *left, const void *right)
{
	const struct module *a = left;
	const struct module *b = right;

	return a->start != b->start ? np_order(a->start, b->start) : np_order(b->end, a->end);
}

/* Backward operators of one run of a module, one after the other, are one run of it backwards. */
static int add_backward(struct modules_work *work)
{
	const struct np_detail *detail = work->detail;
	struct reflections reflections = { 0 };
	size_t first_new = work->modules.count;
	int rc = reflect(work, &reflections);

	if (reflections.list.count)
		qsort_r(reflections.list.item, reflections.list.count,
			sizeof(reflections.list.item[0]), by_thread, (void *)(uintptr_t)detail);
	for (size_t i = 0; i < reflections.list.count && rc == NP_OK; i++) {
		const struct reflected *at = &reflections.list.item[i];
		const struct np_framework_call *call = &detail->framework.item[at->call];
		struct module *module = i > 0 ? &work->modules.item[work->modules.count - 1] : NULL;

		/* The parent of a backward run is the forward run: it leads to the path. */
		if (module && module->backward && module->parent == at->module &&
		    module->tid == call->tid) {
			module->end = call->end > module->end ? call->end : module->end;
			continue;
		}
		module = np_vec_add(&work->modules, work->rank->err);
		if (module)
			*module = (struct module){ .start = call->start,
						   .end = call->end,
						   .tid = call->tid,
						   .name = work->modules.item[at->module].name,
						   .parent = at->module,
						   .backward = true };
		else
			rc = NP_E_NOMEM;
	}
	np_vec_release(&reflections.list);
	if (rc == NP_OK && work->modules.count > first_new)
		qsort(work->modules.item + first_new, work->modules.count - first_new,
		      sizeof(work->modules.item[0]), by_start);
	return rc < 0 ? rc : place_ops(work, first_new);
}

int modules_measure(struct mode_rank *rank, const double *figures, struct module_rows *ret)
{
	struct modules_work work = { .rank = rank, .detail = rank->detail, .figures = figures };
	size_t calls = rank->detail->framework.count;
	int rc = NP_OK;

	ret->arena = np_arena_new();
	work.module_of = malloc((calls + 1) * sizeof(*work.module_of));
	if (!ret->arena || !work.module_of)
		rc = np_fail_nomem(rank->err, "modules");
	for (size_t i = 0; i < calls && work.module_of; i++)
		work.module_of[i] = MODULES_NONE;
	if (rc == NP_OK)
		rc = read_modules(&work);
	if (rc == NP_OK)
		rc = place_ops(&work, 0);
	if (rc == NP_OK)
		rc = add_backward(&work);
	if (rc == NP_OK)
		rc = modules_read_launched(&work);
	if (rc == NP_OK)
		rc = modules_sum(&work, ret);
	np_vec_release(&work.modules);
	np_vec_release(&work.launched);
	free(work.module_of);
	return rc;
}

void modules_release(struct module_rows *rows)
{
	np_vec_release(&rows->list);
	np_arena_free(rows->arena);
	rows->arena = NULL;
}
