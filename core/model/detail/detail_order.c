/* SPDX-License-Identifier: Apache-2.0 */
/* Every section of a detail in the order that detail.h promises. */
#include "detail_load.h"

#include "npuprof/arena.h"

/* --- long lists ------------------------------------------------------------------------------- */

/* Files are mostly in order already, and looking is cheaper than sorting. */
static bool detail_in_order(const void *items, size_t count, size_t size,
			    int (*compare)(const void *, const void *, void *), void *context)
{
	const char *at = items;

	for (size_t i = 1; i < count; i++) {
		if (compare(at + (i - 1) * size, at + i * size, context) > 0)
			return false;
	}
	return true;
}

#define DIGIT_BITS 11
#define DIGITS     (1U << DIGIT_BITS)

struct timed_row {
	uint64_t since; /* the first of all */
	size_t index;
};

static np_ns start_of(const struct detail_timed *rows, size_t index)
{
	np_ns start;

	memcpy(&start, rows->items + index * rows->size, sizeof(start));
	return start;
}

static int by_row(const void *left, const void *right, void *context)
{
	const struct detail_timed *rows = context;
	const struct timed_row *a = left;
	const struct timed_row *b = right;

	return rows->compare(rows->items + a->index * rows->size,
			     rows->items + b->index * rows->size, rows->context);
}

/* By digits of the start, the last first; the result is in one of the two. */
static struct timed_row *sort_digits(struct timed_row *from, struct timed_row *to, size_t count,
				     uint64_t longest)
{
	for (unsigned shift = 0; shift < 64 && longest >> shift != 0; shift += DIGIT_BITS) {
		size_t place[DIGITS + 1] = { 0 };
		struct timed_row *swap = from;

		for (size_t i = 0; i < count; i++)
			place[(from[i].since >> shift) % DIGITS + 1]++;
		for (size_t i = 1; i < DIGITS; i++)
			place[i] += place[i - 1];
		for (size_t i = 0; i < count; i++)
			to[place[(from[i].since >> shift) % DIGITS]++] = from[i];
		from = to;
		to = swap;
	}
	return from;
}

/* Those that start together are few. */
static void sort_together(struct detail_timed *rows, struct timed_row *order)
{
	for (size_t from = 0, to = 0; from < rows->count; from = to) {
		for (to = from + 1; to < rows->count && order[to].since == order[from].since; to++)
			;
		if (to - from > 1)
			qsort_r(&order[from], to - from, sizeof(*order), by_row, rows);
	}
}

/* Put every row where it belongs, along the circles in which they change places. */
static void move_rows(const struct detail_timed *rows, struct timed_row *order, char *spare)
{
	for (size_t i = 0; i < rows->count; i++) {
		size_t at = i;

		if (order[i].index == i)
			continue;
		memcpy(spare, rows->items + i * rows->size, rows->size);
		while (order[at].index != i) {
			size_t next = order[at].index;

			memcpy(rows->items + at * rows->size, rows->items + next * rows->size,
			       rows->size);
			order[at].index = at;
			at = next;
		}
		memcpy(rows->items + at * rows->size, spare, rows->size);
		order[at].index = at;
	}
}

static void detail_sort_timed(struct detail_timed rows)
{
	struct timed_row *lists = NULL;
	struct timed_row *order;
	np_ns first = INT64_MAX;
	uint64_t longest = 0;

	if (rows.count < 2 ||
	    detail_in_order(rows.items, rows.count, rows.size, rows.compare, rows.context))
		return;
	/* Behind both lists there is room for a row. */
	lists = malloc(2 * rows.count * sizeof(*lists) + rows.size);
	if (!lists) {
		qsort_r(rows.items, rows.count, rows.size, rows.compare, rows.context);
		return;
	}
	for (size_t i = 0; i < rows.count; i++)
		first = start_of(&rows, i) < first ? start_of(&rows, i) : first;
	for (size_t i = 0; i < rows.count; i++) {
		lists[i] = (struct timed_row){ (uint64_t)start_of(&rows, i) - (uint64_t)first, i };
		longest = lists[i].since > longest ? lists[i].since : longest;
	}
	order = sort_digits(lists, lists + rows.count, rows.count, longest);
	sort_together(&rows, order);
	move_rows(&rows, order, (char *)(lists + 2 * rows.count));
	free(lists);
}

/* --- sections --------------------------------------------------------------------------------- */

/* Every section in the order that detail.h promises, whatever the order of the input. */

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

static int by_operator(const void *left, const void *right, void *context)
{
	const struct np_operator *a = left;
	const struct np_operator *b = right;

	FIRST_DIFFERENCE(start);
	if (a->end != b->end)
		return np_order(b->end, a->end);
	return by_text(context, a->name, b->name);
}

static int by_link(const void *left, const void *right, void *context)
{
	const struct np_framework_link *a = left;
	const struct np_framework_link *b = right;

	(void)context;
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

static int by_sub_task(const void *left, const void *right, void *context)
{
	const struct np_sub_task *a = left;
	const struct np_sub_task *b = right;

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

static int by_static_memory(const void *left, const void *right, void *context)
{
	const struct np_static_memory *a = left;
	const struct np_static_memory *b = right;
	int order;

	FIRST_DIFFERENCE(graph);
	order = by_text(context, a->model, b->model);
	if (order != 0)
		return order;
	FIRST_DIFFERENCE(begin);
	FIRST_DIFFERENCE(end);
	FIRST_DIFFERENCE(bytes);
	return by_text(context, a->name, b->name);
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

static void sort_rows(void *items, size_t count, size_t size,
		      int (*compare)(const void *, const void *, void *), void *context)
{
	if (count > 1 && !detail_in_order(items, count, size, compare, context))
		qsort_r(items, count, size, compare, context);
}

/*
 * Fill `order` with 0, 1, 2 … sorted by `compare`, or leave it NULL if that is their
 * order already. False when out of memory.
 */
static bool find_order(struct np_detail *detail, size_t count,
		       int (*compare)(const void *, const void *, void *), uint32_t **order)
{
	uint32_t pair[2] = { 0, 1 };

	*order = NULL;
	while (pair[1] < count && compare(&pair[0], &pair[1], detail) <= 0) {
		pair[0]++;
		pair[1]++;
	}
	if (pair[1] >= count)
		return true;
	*order = malloc(count * sizeof(**order));
	for (uint32_t i = 0; *order && i < count; i++)
		(*order)[i] = i;
	if (*order)
		qsort_r(*order, count, sizeof(**order), compare, detail);
	return *order != NULL;
}

static size_t at(const uint32_t *order, size_t index)
{
	return order ? order[index] : index;
}

static int by_counter(const void *left, const void *right, void *context)
{
	const struct np_detail *detail = context;

	return by_text(detail, detail->pmu_names[*(const uint32_t *)left],
		       detail->pmu_names[*(const uint32_t *)right]);
}

/*
 * Counters stand beside their kernels, so both move; columns are put into the order
 * of names.
 */
static int move_counters(struct detail_load *load, const uint32_t *order)
{
	struct np_detail *detail = load->detail;
	size_t width = detail->pmu_count;
	uint32_t *columns;
	np_str *names;
	double *moved;

	if (!find_order(detail, width, by_counter, &columns))
		return np_fail_nomem(load->err, "counters");
	if (!columns && !order)
		return NP_OK;
	names = np_arena_array(detail->arena, width, sizeof(*names));
	moved = malloc((detail->kernels.count * width + 1) * sizeof(*moved));
	if (!names || !moved) {
		free(columns);
		free(moved);
		return np_fail_nomem(load->err, "counters");
	}
	for (size_t i = 0; i < width; i++)
		names[i] = detail->pmu_names[at(columns, i)];
	for (size_t i = 0; i < detail->kernels.count; i++) {
		for (size_t j = 0; j < width; j++)
			moved[i * width + j] = detail->pmu[at(order, i) * width + at(columns, j)];
	}
	free(columns);
	free(detail->pmu);
	detail->pmu = moved;
	detail->pmu_names = names;
	return NP_OK;
}

static int move_kernels(struct np_detail *detail, const uint32_t *order, struct np_err *err)
{
	size_t count = detail->kernels.count;
	struct np_kernel *moved = malloc(count * sizeof(*moved));

	if (!moved)
		return np_fail_nomem(err, "kernels");
	for (size_t i = 0; i < count; i++)
		moved[i] = detail->kernels.item[order[i]];
	free(detail->kernels.item);
	detail->kernels.item = moved;
	detail->kernels.capacity = count;
	return NP_OK;
}

static int sort_kernels(struct detail_load *load)
{
	struct np_detail *detail = load->detail;
	uint32_t *order;
	int rc = find_order(detail, detail->kernels.count, by_kernel, &order)
			 ? NP_OK
			 : np_fail_nomem(load->err, "kernels");

	if (rc == NP_OK && detail->pmu_count > 0)
		rc = move_counters(load, order);
	if (rc == NP_OK && order)
		rc = move_kernels(detail, order, load->err);
	free(order);
	return rc;
}

/* Links follow their calls. */
static int move_framework(struct np_detail *detail, const uint32_t *order, struct np_err *err)
{
	size_t count = detail->framework.count;
	uint32_t *place = malloc(count * sizeof(*place));
	struct np_framework_call *moved = malloc(count * sizeof(*moved));

	if (!place || !moved) {
		free(place);
		free(moved);
		return np_fail_nomem(err, "calls");
	}
	for (uint32_t i = 0; i < count; i++) {
		moved[i] = detail->framework.item[order[i]];
		place[order[i]] = i;
	}
	free(detail->framework.item);
	detail->framework.item = moved;
	detail->framework.capacity = count;
	for (size_t i = 0; i < detail->links.count; i++)
		detail->links.item[i].call = place[detail->links.item[i].call];
	free(place);
	return NP_OK;
}

static int sort_framework(struct detail_load *load)
{
	uint32_t *order;
	int rc;

	if (!find_order(load->detail, load->detail->framework.count, by_framework, &order))
		return np_fail_nomem(load->err, "calls");
	rc = order ? move_framework(load->detail, order, load->err) : NP_OK;
	free(order);
	return rc;
}

static void index_links(struct np_detail *detail)
{
	sort_rows(detail->links.item, detail->links.count, sizeof(detail->links.item[0]), by_link,
		  detail);
	for (uint32_t i = 0; i < detail->links.count; i++) {
		struct np_framework_call *call =
			&detail->framework.item[detail->links.item[i].call];

		if (call->link_count++ == 0)
			call->first_link = i;
	}
}

#define SORT(list, compare) \
	sort_rows((list).item, (list).count, sizeof((list).item[0]), compare, detail)

_Static_assert(offsetof(struct np_device_task, start) == 0, "detail_sort_timed() looks there");
_Static_assert(offsetof(struct np_call, start) == 0, "detail_sort_timed() looks there");
_Static_assert(offsetof(struct np_operator, start) == 0, "detail_sort_timed() looks there");

#define SORT_TIMED(list, compare) \
	detail_sort_timed((struct detail_timed){ (char *)(list).item, (list).count, \
						 sizeof((list).item[0]), compare, detail })

static void sort_rest(struct np_detail *detail)
{
	SORT_TIMED(detail->tasks, by_task);
	SORT_TIMED(detail->calls, by_call);
	SORT_TIMED(detail->operators, by_operator);
	SORT(detail->marks, by_mark);
	SORT(detail->sub_tasks, by_sub_task);
	SORT(detail->memory_ops, by_memory_op);
	SORT(detail->memory_curve, by_point);
	SORT(detail->memory_events, by_memory_event);
	SORT(detail->static_memory, by_static_memory);
	SORT(detail->settings, by_setting);
	if (detail->frequency.count)
		qsort(detail->frequency.item, detail->frequency.count,
		      sizeof(detail->frequency.item[0]), by_sample);
	if (detail->gc.count)
		qsort(detail->gc.item, detail->gc.count, sizeof(detail->gc.item[0]), by_gc);
}

/* Calls by thread, start and, of those that start together, the innermost last. */
static int by_thread(const void *left, const void *right, void *context)
{
	const struct np_framework_call *calls = context;
	const struct np_framework_call *a = &calls[*(const uint32_t *)left];
	const struct np_framework_call *b = &calls[*(const uint32_t *)right];

	if (a->tid != b->tid)
		return np_order(a->tid, b->tid);
	if (a->start != b->start)
		return np_order(a->start, b->start);
	return np_order(b->end, a->end);
}

uint32_t *detail_order_calls(const struct np_detail *detail)
{
	uint32_t *order = malloc((detail->framework.count + 1) * sizeof(*order));

	if (!order)
		return NULL;
	for (uint32_t i = 0; i < detail->framework.count; i++)
		order[i] = i;
	if (detail->framework.count)
		qsort_r(order, detail->framework.count, sizeof(*order), by_thread,
			detail->framework.item);
	return order;
}

int detail_sort(struct detail_load *load)
{
	int rc = sort_kernels(load);

	if (rc == NP_OK)
		rc = sort_framework(load);
	if (rc < 0)
		return rc;
	index_links(load->detail);
	sort_rest(load->detail);
	return NP_OK;
}
