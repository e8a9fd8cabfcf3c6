/* SPDX-License-Identifier: Apache-2.0 */
#include "detail_private.h"

#include "npuprof/steps.h"

/* --- steps ----------------------------------------------------------------------------------- */

static bool has_windows(const struct np_rank *rank)
{
	for (size_t i = 0; i < rank->steps.count; i++) {
		if (rank->steps.item[i].begin == NP_UNKNOWN ||
		    rank->steps.item[i].end == NP_UNKNOWN ||
		    rank->steps.item[i].begin >= rank->steps.item[i].end)
			return false;
	}
	return rank->steps.count > 0;
}

/* The step that the host was in; the pseudo step holds everything. */
static uint32_t host_step(const struct np_rank *rank, np_ns time)
{
	for (uint32_t i = 0; i < rank->steps.count; i++) {
		const struct np_step *step = &rank->steps.item[i];

		if (step->id == NP_STR_NONE || (step->host_begin != NP_UNKNOWN &&
						time >= step->host_begin && time < step->host_end))
			return i;
	}
	return NP_NO_STEP;
}

static void place_device_rows(struct np_detail *detail)
{
	const struct np_rank *rank = detail->rank;

	/* Without windows the table of kernels names the step, and nothing else does. */
	if (!has_windows(rank))
		return;
	for (size_t i = 0; i < detail->kernels.count; i++)
		detail->kernels.item[i].step = np_steps_find(rank->steps.item, rank->steps.count,
							     detail->kernels.item[i].start);
	for (size_t i = 0; i < detail->tasks.count; i++)
		detail->tasks.item[i].step = np_steps_find(rank->steps.item, rank->steps.count,
							   detail->tasks.item[i].start);
}

static void place_host_rows(struct np_detail *detail)
{
	for (size_t i = 0; i < detail->calls.count; i++)
		detail->calls.item[i].step = host_step(detail->rank, detail->calls.item[i].start);
	for (size_t i = 0; i < detail->framework.count; i++)
		detail->framework.item[i].step =
			host_step(detail->rank, detail->framework.item[i].start);
	for (size_t i = 0; i < detail->marks.count; i++)
		detail->marks.item[i].step = host_step(detail->rank, detail->marks.item[i].start);
}

/* Traces of one device do not say which it is, and older databases neither of some rows. */
#define FILL_DEVICE(list, number) \
	for (size_t i_ = 0; i_ < (list).count; i_++) { \
		if ((list).item[i_].device < 0) \
			(list).item[i_].device = (number); \
	}

static void place_on_device(struct np_detail *detail)
{
	int32_t device = detail->rank->device_count <= 1 ? detail->rank->device : -1;

	FILL_DEVICE(detail->kernels, device);
	FILL_DEVICE(detail->tasks, device);
	FILL_DEVICE(detail->ops, device);
	FILL_DEVICE(detail->frequency, device);
	FILL_DEVICE(detail->memory_ops, device);
	FILL_DEVICE(detail->memory_curve, device);
	FILL_DEVICE(detail->memory_events, device);
}

/* --- order ----------------------------------------------------------------------------------- */

/* Texts are compared, not their ids: those depend on the order of the input. */
static int by_text(const struct np_detail *detail, np_str a, np_str b)
{
	return a == b ? 0
		      : strcmp(np_strtab_text(detail->strings, a),
			       np_strtab_text(detail->strings, b));
}

#define FIRST_DIFFERENCE(member) \
	if (a->member != b->member) \
	return np_order((int64_t)a->member, (int64_t)b->member)

static int by_kernel(const void *left, const void *right, void *context)
{
	const struct np_detail *detail = context;
	const struct np_kernel *a = &detail->kernels.item[*(const uint32_t *)left];
	const struct np_kernel *b = &detail->kernels.item[*(const uint32_t *)right];

	FIRST_DIFFERENCE(start);
	FIRST_DIFFERENCE(end);
	FIRST_DIFFERENCE(stream);
	FIRST_DIFFERENCE(task_id);
	return by_text(detail, a->name, b->name);
}

static int by_task(const void *left, const void *right, void *context)
{
	const struct np_device_task *a = left;
	const struct np_device_task *b = right;

	FIRST_DIFFERENCE(start);
	FIRST_DIFFERENCE(end);
	FIRST_DIFFERENCE(stream);
	FIRST_DIFFERENCE(task_id);
	return by_text(context, a->type, b->type);
}

static int by_call(const void *left, const void *right, void *context)
{
	const struct np_call *a = left;
	const struct np_call *b = right;

	FIRST_DIFFERENCE(start);
	FIRST_DIFFERENCE(end);
	FIRST_DIFFERENCE(tid);
	FIRST_DIFFERENCE(connection);
	return by_text(context, a->name, b->name);
}

static int by_framework(const void *left, const void *right, void *context)
{
	const struct np_detail *detail = context;
	const struct np_framework_call *a = &detail->framework.item[*(const uint32_t *)left];
	const struct np_framework_call *b = &detail->framework.item[*(const uint32_t *)right];

	FIRST_DIFFERENCE(start);
	/* The outer of two that start together comes first. */
	if (a->end != b->end)
		return np_order(b->end, a->end);
	FIRST_DIFFERENCE(tid);
	FIRST_DIFFERENCE(kind);
	return by_text(detail, a->name, b->name);
}

static int by_link(const void *left, const void *right)
{
	const struct np_framework_link *a = left;
	const struct np_framework_link *b = right;

	FIRST_DIFFERENCE(call);
	FIRST_DIFFERENCE(kind);
	FIRST_DIFFERENCE(id);
	return 0;
}

static int by_mark(const void *left, const void *right, void *context)
{
	const struct np_mark *a = left;
	const struct np_mark *b = right;

	FIRST_DIFFERENCE(start);
	/* The outer of two that start together comes first. */
	if (a->end != b->end)
		return np_order(b->end, a->end);
	FIRST_DIFFERENCE(tid);
	return by_text(context, a->message, b->message);
}

static int by_small(const void *left, const void *right, void *context)
{
	const struct np_small_task *a = left;
	const struct np_small_task *b = right;

	FIRST_DIFFERENCE(op);
	FIRST_DIFFERENCE(plane);
	FIRST_DIFFERENCE(start);
	FIRST_DIFFERENCE(end);
	FIRST_DIFFERENCE(stream);
	FIRST_DIFFERENCE(task_id);
	return by_text(context, a->type, b->type);
}

static int by_sample(const void *left, const void *right)
{
	const struct np_frequency *a = left;
	const struct np_frequency *b = right;

	FIRST_DIFFERENCE(time);
	FIRST_DIFFERENCE(device);
	FIRST_DIFFERENCE(mhz);
	return 0;
}

static int by_gc(const void *left, const void *right)
{
	const struct np_gc *a = left;
	const struct np_gc *b = right;

	FIRST_DIFFERENCE(start);
	FIRST_DIFFERENCE(end);
	FIRST_DIFFERENCE(tid);
	return 0;
}

static int by_memory_op(const void *left, const void *right, void *context)
{
	const struct np_memory_op *a = left;
	const struct np_memory_op *b = right;

	FIRST_DIFFERENCE(alloc);
	FIRST_DIFFERENCE(release);
	FIRST_DIFFERENCE(bytes);
	FIRST_DIFFERENCE(allocated_at_alloc);
	FIRST_DIFFERENCE(allocated_at_release);
	return by_text(context, a->name, b->name);
}

static int by_point(const void *left, const void *right, void *context)
{
	const struct np_memory_point *a = left;
	const struct np_memory_point *b = right;
	int order;

	FIRST_DIFFERENCE(time);
	FIRST_DIFFERENCE(module);
	order = by_text(context, a->component, b->component);
	if (order != 0)
		return order;
	FIRST_DIFFERENCE(device);
	FIRST_DIFFERENCE(reserved);
	FIRST_DIFFERENCE(allocated);
	return 0;
}

static int by_memory_event(const void *left, const void *right, void *context)
{
	const struct np_memory_event *a = left;
	const struct np_memory_event *b = right;

	FIRST_DIFFERENCE(time);
	FIRST_DIFFERENCE(address);
	FIRST_DIFFERENCE(bytes);
	return by_text(context, a->name, b->name);
}

static int by_setting(const void *left, const void *right, void *context)
{
	const struct np_setting *a = left;
	const struct np_setting *b = right;

	return by_text(context, a->name, b->name);
}

/* Files are mostly in order already, and looking is cheaper than sorting. */
static bool in_order(const void *items, size_t count, size_t size,
		     int (*compare)(const void *, const void *, void *), void *context)
{
	const char *at = items;

	for (size_t i = 1; i < count; i++) {
		if (compare(at + (i - 1) * size, at + i * size, context) > 0)
			return false;
	}
	return true;
}

static void sort_rows(void *items, size_t count, size_t size,
		      int (*compare)(const void *, const void *, void *), void *context)
{
	if (count > 1 && !in_order(items, count, size, compare, context))
		qsort_r(items, count, size, compare, context);
}

/* 0, 1, 2 … sorted by `compare`; NULL when out of memory. */
static uint32_t *sorted_order(struct np_detail *detail, size_t count,
			      int (*compare)(const void *, const void *, void *))
{
	uint32_t *order = malloc((count + 1) * sizeof(*order));

	for (uint32_t i = 0; order && i < count; i++)
		order[i] = i;
	if (order)
		sort_rows(order, count, sizeof(*order), compare, detail);
	return order;
}

static int by_counter(const void *left, const void *right, void *context)
{
	const struct np_detail *detail = context;

	return by_text(detail, detail->pmu_names[*(const uint32_t *)left],
		       detail->pmu_names[*(const uint32_t *)right]);
}

/* Counters stand beside their kernels, so both move; columns are put into the order of names. */
static int move_counters(struct detail_load *load, const uint32_t *order)
{
	struct np_detail *detail = load->detail;
	size_t width = detail->pmu_count;
	uint32_t *columns;
	np_str *names;
	double *moved;

	if (width == 0)
		return NP_OK;
	columns = sorted_order(detail, width, by_counter);
	names = np_arena_array(detail->arena, width, sizeof(*names));
	moved = malloc((detail->kernels.count * width + 1) * sizeof(*moved));
	if (!columns || !names || !moved) {
		free(columns);
		free(moved);
		return np_fail_nomem(load->err, "counters");
	}
	for (size_t i = 0; i < width; i++)
		names[i] = detail->pmu_names[columns[i]];
	for (size_t i = 0; i < detail->kernels.count; i++) {
		for (size_t j = 0; j < width; j++)
			moved[i * width + j] = detail->pmu[order[i] * width + columns[j]];
	}
	free(columns);
	free(detail->pmu);
	detail->pmu = moved;
	detail->pmu_names = names;
	return NP_OK;
}

static int sort_kernels(struct detail_load *load)
{
	struct np_detail *detail = load->detail;
	size_t count = detail->kernels.count;
	uint32_t *order = sorted_order(detail, count, by_kernel);
	struct np_kernel *moved = malloc((count + 1) * sizeof(*moved));
	int rc = order && moved ? move_counters(load, order) : np_fail_nomem(load->err, "kernels");

	for (size_t i = 0; i < count && rc == NP_OK; i++)
		moved[i] = detail->kernels.item[order[i]];
	if (rc == NP_OK) {
		free(detail->kernels.item);
		detail->kernels.item = moved;
		detail->kernels.capacity = count + 1;
		moved = NULL;
	}
	free(moved);
	free(order);
	return rc;
}

/* Links follow their calls. */
static int sort_framework(struct detail_load *load)
{
	struct np_detail *detail = load->detail;
	size_t count = detail->framework.count;
	uint32_t *order = sorted_order(detail, count, by_framework);
	uint32_t *place = malloc((count + 1) * sizeof(*place));
	struct np_framework_call *moved = malloc((count + 1) * sizeof(*moved));

	if (!order || !place || !moved) {
		free(order);
		free(place);
		free(moved);
		return np_fail_nomem(load->err, "calls");
	}
	for (uint32_t i = 0; i < count; i++) {
		moved[i] = detail->framework.item[order[i]];
		place[order[i]] = i;
	}
	free(detail->framework.item);
	detail->framework.item = moved;
	detail->framework.capacity = count + 1;
	for (size_t i = 0; i < detail->links.count; i++)
		detail->links.item[i].call = place[detail->links.item[i].call];
	free(order);
	free(place);
	return NP_OK;
}

static void index_links(struct np_detail *detail)
{
	if (detail->links.count)
		qsort(detail->links.item, detail->links.count, sizeof(detail->links.item[0]),
		      by_link);
	for (uint32_t i = 0; i < detail->links.count; i++) {
		struct np_framework_call *call =
			&detail->framework.item[detail->links.item[i].call];

		if (call->link_count++ == 0)
			call->first_link = i;
	}
}

#define SORT(list, compare) \
	sort_rows((list).item, (list).count, sizeof((list).item[0]), compare, detail)

static void sort_rest(struct np_detail *detail)
{
	SORT(detail->tasks, by_task);
	SORT(detail->calls, by_call);
	SORT(detail->marks, by_mark);
	SORT(detail->small, by_small);
	SORT(detail->memory_ops, by_memory_op);
	SORT(detail->memory_curve, by_point);
	SORT(detail->memory_events, by_memory_event);
	SORT(detail->settings, by_setting);
	if (detail->frequency.count)
		qsort(detail->frequency.item, detail->frequency.count,
		      sizeof(detail->frequency.item[0]), by_sample);
	if (detail->gc.count)
		qsort(detail->gc.item, detail->gc.count, sizeof(detail->gc.item[0]), by_gc);
}

/* --- depth ----------------------------------------------------------------------------------- */

/* Operators that are running on a thread, outermost first. */
struct open_calls {
	int64_t tid;
	NP_VEC(uint32_t) stack;
};

struct threads {
	NP_VEC(struct open_calls) list;
	struct np_idmap *index;
};

static struct open_calls *thread_of(struct threads *threads, int64_t tid, struct np_err *err)
{
	uint32_t known = np_idmap_get(threads->index, tid);
	struct open_calls *open;

	if (known != NP_IDMAP_NONE)
		return &threads->list.item[known];
	open = np_vec_add(&threads->list, err);
	if (!open ||
	    np_idmap_set(threads->index, tid, (uint32_t)(threads->list.count - 1), err) < 0)
		return NULL;
	open->tid = tid;
	return open;
}

/* Calls come by start, the outer first: those that ended by now are not around this one. */
static int measure_depth(struct detail_load *load, struct threads *threads)
{
	struct np_detail *detail = load->detail;

	for (uint32_t i = 0; i < detail->framework.count; i++) {
		struct np_framework_call *call = &detail->framework.item[i];
		struct open_calls *open;
		uint32_t *slot;

		if (call->kind != NP_FRAMEWORK_OP)
			continue;
		open = thread_of(threads, call->tid, load->err);
		if (!open)
			return NP_E_NOMEM;
		while (open->stack.count > 0 &&
		       detail->framework.item[open->stack.item[open->stack.count - 1]].end <
			       call->end)
			open->stack.count--;
		call->depth = (uint32_t)open->stack.count;
		call->top = open->stack.count == 0;
		slot = np_vec_add(&open->stack, load->err);
		if (!slot)
			return NP_E_NOMEM;
		*slot = i;
	}
	return NP_OK;
}

static int find_depth(struct detail_load *load)
{
	struct threads threads = { .index = np_idmap_new() };
	int rc = threads.index ? measure_depth(load, &threads) : np_fail_nomem(load->err, "calls");

	for (size_t i = 0; i < threads.list.count; i++)
		np_vec_release(&threads.list.item[i].stack);
	np_vec_release(&threads.list);
	np_idmap_free(threads.index);
	return rc;
}

/* --- waits ----------------------------------------------------------------------------------- */

/*
 * The vendor's wait of a kernel: from the end of the row before it, kernel or
 * operator of the device in the order of their starts; the first has none.
 */
static void find_waits(struct np_detail *detail)
{
	np_ns before = NP_UNKNOWN;
	size_t op = 0;

	if (detail->rank->device_count > 1)
		return;
	for (size_t i = 0; i < detail->kernels.count; i++) {
		struct np_kernel *kernel = &detail->kernels.item[i];

		for (; op < detail->rank->ops.count &&
		       detail->rank->ops.item[op].start < kernel->start;
		     op++)
			before = i > 0 && detail->kernels.item[i - 1].start >
							 detail->rank->ops.item[op].start
					 ? before
					 : detail->rank->ops.item[op].end;
		kernel->wait =
			before == NP_UNKNOWN || before > kernel->start ? 0 : kernel->start - before;
		before = kernel->end;
	}
}

/* --- everything ------------------------------------------------------------------------------ */

/* What was read only to be joined with. */
static void let_go(struct detail_load *load)
{
	struct np_detail *detail = load->detail;

	if (!(load->asked & NP_DETAIL_TASKS))
		np_vec_release(&detail->tasks);
	if (!(load->asked & NP_DETAIL_OPS))
		np_vec_release(&detail->ops);
	if (!(load->asked & NP_DETAIL_FRAMEWORK)) {
		np_vec_release(&detail->framework);
		np_vec_release(&detail->links);
	}
}

int detail_finish(struct detail_load *load)
{
	struct np_detail *detail = load->detail;
	int rc;

	let_go(load);
	place_on_device(detail);
	place_device_rows(detail);
	place_host_rows(detail);
	rc = sort_kernels(load);
	if (rc == NP_OK)
		rc = sort_framework(load);
	if (rc < 0)
		return rc;
	index_links(detail);
	sort_rest(detail);
	if (!load->waits_known)
		find_waits(detail);
	return find_depth(load);
}
