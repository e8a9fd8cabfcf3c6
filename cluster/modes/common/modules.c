/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the modules of a model by their marks, and sums what each of them runs. */
#include "modules.h"

#include "grouping.h"

#include "npuprof/arena.h"
#include "npuprof/order.h"

#include <math.h>

#define MODULES_NONE  UINT32_MAX
#define MODULES_DEPTH 20

/* One run of a module. */
struct module {
	np_ns start;
	np_ns end;
	int64_t tid;
	np_str name; /* of the run */
	uint32_t parent;
	bool backward;
};

/* A kernel or an operator by the connection that launched it. */
struct launched {
	int64_t connection;
	np_ns start;
	np_ns time;
	np_str name;
	uint32_t kernel; /* in the detail; MODULES_NONE for a communication operator */
};

struct modules_work {
	struct mode_rank *rank;
	const struct np_detail *detail;
	NP_VEC(struct module) modules;
	NP_VEC(struct launched) launched; /* by connection, then start */
	uint32_t *module_of;              /* by call of the framework */
	const double *figures;
};

/* --- sums by way of running ----------------------------------------------------------------------
 */

/* --- what operators launched ----------------------------------------------------------------- */

static int by_connection(const void *left, const void *right)
{
	const struct launched *a = left;
	const struct launched *b = right;

	if (a->connection != b->connection)
		return np_order(a->connection, b->connection);
	return a->start != b->start ? np_order(a->start, b->start) : np_order(a->kernel, b->kernel);
}

static int add_launched(struct modules_work *work, int64_t connection, np_ns start, np_ns end,
			np_str name, uint32_t kernel)
{
	struct launched *slot;

	if (connection == NP_UNKNOWN)
		return NP_OK;
	slot = np_vec_add(&work->launched, work->rank->err);
	if (!slot)
		return NP_E_NOMEM;
	*slot = (struct launched){ connection, start, end - start, NP_STR_NONE, kernel };
	return mode_text(work->rank, name, &slot->name);
}

static int modules_read_launched(struct modules_work *work)
{
	const struct np_detail *detail = work->detail;
	int rc = NP_OK;

	for (uint32_t i = 0; i < detail->kernels.count && rc == NP_OK; i++) {
		const struct np_kernel *kernel = &detail->kernels.item[i];

		rc = add_launched(work, kernel->connection, kernel->start, kernel->end,
				  kernel->name, i);
	}
	/* Operators go by their type: their names differ from call to call. */
	for (size_t i = 0; i < detail->ops.count && rc == NP_OK; i++)
		rc = add_launched(work, detail->ops.item[i].connection, detail->ops.item[i].start,
				  detail->ops.item[i].end, detail->ops.item[i].type, MODULES_NONE);
	if (work->launched.count)
		qsort(work->launched.item, work->launched.count, sizeof(work->launched.item[0]),
		      by_connection);
	return rc;
}

static size_t first_launched(const struct modules_work *work, int64_t connection)
{
	return np_lower_bound(i, (size_t)0, work->launched.count,
			      work->launched.item[i].connection >= connection);
}

/* One operator with kernels, in a run of a module. */
struct step_of_module {
	uint32_t module;
	np_str op;
	np_str kernels;
	np_ns start;
	np_ns total;
	size_t first; /* in `refs` */
	size_t count;
};

struct steps_of_modules {
	NP_VEC(struct step_of_module) list;
	NP_VEC(uint32_t) refs; /* in work->launched */
};

/* The kernels of one call: those of all its connections, by start. */
static int gather(struct modules_work *work, struct steps_of_modules *steps, uint32_t call,
		  struct step_of_module *step)
{
	const struct np_framework_call *at = &work->detail->framework.item[call];

	step->first = steps->refs.count;
	for (uint32_t i = 0; i < at->link_count; i++) {
		const struct np_framework_link *link =
			&work->detail->links.item[at->first_link + i];

		if (link->kind != NP_LEADS_TO_TASK)
			continue;
		for (size_t j = first_launched(work, link->id);
		     j < work->launched.count && work->launched.item[j].connection == link->id;
		     j++) {
			uint32_t *slot = np_vec_add(&steps->refs, work->rank->err);

			if (!slot)
				return NP_E_NOMEM;
			*slot = (uint32_t)j;
			step->total += work->launched.item[j].time;
		}
	}
	step->count = steps->refs.count - step->first;
	return NP_OK;
}

static int name_kernels(struct modules_work *work, const struct steps_of_modules *steps,
			struct step_of_module *step)
{
	NP_CLEANUP(np_buf_release) struct np_buf buf = NP_BUF_INIT;

	for (size_t i = 0; i < step->count; i++)
		np_buf_printf(
			&buf, "%s%s", i ? ", " : "",
			mode_name(work->rank->modes,
				  work->launched.item[steps->refs.item[step->first + i]].name));
	if (np_buf_check(&buf, work->rank->err) < 0)
		return NP_E_NOMEM;
	return np_strtab_add(work->rank->run->strings, buf.text, buf.length, &step->kernels,
			     work->rank->err);
}

static int find_steps(struct modules_work *work, struct steps_of_modules *steps)
{
	const struct np_detail *detail = work->detail;
	int rc = NP_OK;

	for (uint32_t i = 0; i < detail->framework.count && rc == NP_OK; i++) {
		struct step_of_module step = { .module = work->module_of[i],
					       .start = detail->framework.item[i].start };
		struct step_of_module *slot;

		if (step.module == MODULES_NONE ||
		    !mode_takes(work->rank, detail->framework.item[i].step))
			continue;
		rc = gather(work, steps, i, &step);
		if (rc < 0 || step.count == 0)
			continue;
		rc = mode_text(work->rank, detail->framework.item[i].name, &step.op);
		if (rc == NP_OK)
			rc = name_kernels(work, steps, &step);
		slot = rc == NP_OK ? np_vec_add(&steps->list, work->rank->err) : NULL;
		if (!slot)
			return NP_E_NOMEM;
		*slot = step;
	}
	return rc;
}

/* --- summing --------------------------------------------------------------------------------- */

static int by_module(const void *left, const void *right)
{
	const struct step_of_module *a = left;
	const struct step_of_module *b = right;

	return a->module != b->module ? np_order(a->module, b->module)
				      : np_order(a->start, b->start);
}

static void put_name(struct np_buf *buf, const struct modules_work *work, np_str name,
		     bool backward)
{
	np_buf_printf(buf, "%s%s", backward ? "[Backward]" : "",
		      mode_name(work->rank->modes, name));
}

/* "Model/Layer": the modules around one. Of a backward run, those around the forward one. */
static int path_of(struct modules_work *work, uint32_t module, np_str *ret)
{
	NP_CLEANUP(np_buf_release) struct np_buf buf = NP_BUF_INIT;
	bool backward = work->modules.item[module].backward;
	uint32_t chain[MODULES_DEPTH + 1];
	size_t depth = 0;
	uint32_t at = backward ? work->modules.item[work->modules.item[module].parent].parent
			       : work->modules.item[module].parent;

	for (; at != MODULES_NONE && depth < NP_COUNT(chain); at = work->modules.item[at].parent)
		chain[depth++] = at;
	*ret = NP_STR_NONE;
	if (depth == 0)
		return NP_OK;
	while (depth-- > 0) {
		put_name(&buf, work, work->modules.item[chain[depth]].name, backward);
		if (depth > 0)
			np_buf_add_char(&buf, '/');
	}
	if (np_buf_check(&buf, work->rank->err) < 0)
		return NP_E_NOMEM;
	return np_strtab_add(work->rank->run->strings, buf.text, buf.length, ret, work->rank->err);
}

/* The operators of one run and their kernels, as one text. */
static int sequence_of(struct modules_work *work, const struct step_of_module *steps, size_t count,
		       np_str *ret)
{
	NP_CLEANUP(np_buf_release) struct np_buf buf = NP_BUF_INIT;

	for (size_t i = 0; i < count; i++)
		np_buf_printf(&buf, "%s(%s);", mode_name(work->rank->modes, steps[i].op),
			      mode_name(work->rank->modes, steps[i].kernels));
	if (np_buf_check(&buf, work->rank->err) < 0)
		return NP_E_NOMEM;
	return np_strtab_add(work->rank->run->strings, buf.text, buf.length, ret, work->rank->err);
}

/* A way in which a module runs: rows [first, first + count). */
struct way {
	np_str path;
	np_str name;
	np_str sequence;
	size_t number; /* among the ways of the module */
	size_t first;
	size_t count;
};

struct ways {
	NP_VEC(struct way) list;
	struct grouping keys; /* path, name, sequence → list, in the same order */
};

static size_t ways_of(const struct ways *ways, np_str path, np_str name)
{
	size_t count = 0;

	for (size_t i = 0; i < ways->list.count; i++)
		count += ways->list.item[i].path == path && ways->list.item[i].name == name;
	return count;
}

static int add_rows(struct modules_work *work, struct module_rows *rows, struct way *way,
		    const struct step_of_module *steps, size_t count)
{
	way->first = rows->list.count;
	way->count = count;
	for (size_t i = 0; i < count; i++) {
		struct module_row *row = np_vec_add(&rows->list, work->rank->err);

		if (!row)
			return NP_E_NOMEM;
		*row = (struct module_row){ .parent = way->path,
					    .module = way->name,
					    .op = steps[i].op,
					    .kernels = steps[i].kernels,
					    .kernel_count = steps[i].count,
					    .first = steps[i].start };
		row->figures = np_arena_array(rows->arena, steps[i].count + 1, sizeof(double));
		if (!row->figures)
			return np_fail_nomem(work->rank->err, "modules");
	}
	return NP_OK;
}

static void add_figures(const struct modules_work *work, const struct steps_of_modules *steps,
			const struct step_of_module *step, struct module_row *row)
{
	for (size_t i = 0; i < step->count; i++) {
		uint32_t kernel = work->launched.item[steps->refs.item[step->first + i]].kernel;

		row->figures[i] += work->figures && kernel != MODULES_NONE ? work->figures[kernel]
									   : (double)NAN;
	}
}

/* The way of one run; NULL when out of memory. */
static struct way *way_of(struct modules_work *work, struct ways *ways, struct module_rows *rows,
			  const struct step_of_module *steps, size_t count)
{
	NP_CLEANUP(np_buf_release) struct np_buf name = NP_BUF_INIT;
	const struct module *module = &work->modules.item[steps->module];
	size_t known = ways->keys.list.count;
	struct way way = { 0 };
	struct way *slot;
	struct value_group *group;

	put_name(&name, work, module->name, module->backward);
	if (np_buf_check(&name, work->rank->err) < 0 ||
	    np_strtab_add(work->rank->run->strings, name.text, name.length, &way.name,
			  work->rank->err) < 0 ||
	    path_of(work, steps->module, &way.path) < 0 ||
	    sequence_of(work, steps, count, &way.sequence) < 0)
		return NULL;
	group = grouping_find(&ways->keys, (const np_str[]){ way.path, way.name, way.sequence },
			      work->rank->err);
	if (!group)
		return NULL;
	if (ways->keys.list.count == known)
		return &ways->list.item[group - ways->keys.list.item];
	way.number = ways_of(ways, way.path, way.name);
	slot = np_vec_add(&ways->list, work->rank->err);
	if (!slot || add_rows(work, rows, &way, steps, count) < 0)
		return NULL;
	*slot = way;
	return slot;
}

static int sum_runs(struct modules_work *work, struct steps_of_modules *steps, struct ways *ways,
		    struct module_rows *rows)
{
	for (size_t first = 0, end; first < steps->list.count; first = end) {
		const struct step_of_module *run = &steps->list.item[first];
		const struct way *way;

		for (end = first;
		     end < steps->list.count && steps->list.item[end].module == run->module; end++)
			;
		way = way_of(work, ways, rows, run, end - first);
		if (!way)
			return NP_E_NOMEM;
		for (size_t i = 0; i < way->count; i++) {
			struct module_row *row = &rows->list.item[way->first + i];

			row->total += run[i].total;
			row->count++;
			add_figures(work, steps, &run[i], row);
		}
	}
	return NP_OK;
}

/* Where a module runs in several ways they are distinguished by a number. */
static int number_ways(struct modules_work *work, const struct ways *ways, struct module_rows *rows)
{
	for (size_t i = 0; i < ways->list.count; i++) {
		const struct way *way = &ways->list.item[i];
		NP_CLEANUP(np_buf_release) struct np_buf name = NP_BUF_INIT;
		np_str numbered;

		if (ways_of(ways, way->path, way->name) < 2)
			continue;
		np_buf_printf(&name, "%s_%zu", mode_name(work->rank->modes, way->name),
			      way->number);
		if (np_buf_check(&name, work->rank->err) < 0 ||
		    np_strtab_add(work->rank->run->strings, name.text, name.length, &numbered,
				  work->rank->err) < 0)
			return NP_E_NOMEM;
		for (size_t j = 0; j < way->count; j++)
			rows->list.item[way->first + j].module = numbered;
	}
	return NP_OK;
}

static int by_first(const void *left, const void *right)
{
	const struct module_row *a = left;
	const struct module_row *b = right;

	return np_order(a->first, b->first);
}

static int modules_sum(struct modules_work *work, struct module_rows *rows)
{
	struct steps_of_modules steps = { 0 };
	struct ways ways = { .keys = { .parts = 3 } };
	int rc = find_steps(work, &steps);

	if (steps.list.count)
		qsort(steps.list.item, steps.list.count, sizeof(steps.list.item[0]), by_module);
	if (rc == NP_OK)
		rc = sum_runs(work, &steps, &ways, rows);
	if (rc == NP_OK)
		rc = number_ways(work, &ways, rows);
	if (rows->list.count)
		qsort(rows->list.item, rows->list.count, sizeof(rows->list.item[0]), by_first);
	grouping_release(&ways.keys);
	np_vec_release(&ways.list);
	np_vec_release(&steps.list);
	np_vec_release(&steps.refs);
	return rc;
}

void modules_cells(const struct np_modes *modes, const struct module_row *row,
		   struct np_cell cells[MODULE_CELLS])
{
	const struct np_cell list[MODULE_CELLS] = {
		np_cell_text(row->parent == NP_STR_NONE ? "" : mode_name(modes, row->parent)),
		mode_name_cell(modes, row->module),
		mode_name_cell(modes, row->op),
		mode_name_cell(modes, row->kernels),
		np_cell_integer(row->total),
		np_cell_real((double)row->total / (double)row->count),
		np_cell_integer((int64_t)row->count),
	};

	memcpy(cells, list, sizeof(list));
}

/* --- which run of a module an operator belongs to ------------------------------------------------
 */

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

struct module_stacks {
	NP_VEC(struct stack) list;
};

static struct stack *stack_of(struct module_stacks *stacks, int64_t tid, struct np_err *err)
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
	struct module_stacks stacks = { 0 };
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
	struct module_stacks stacks = { 0 };
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
