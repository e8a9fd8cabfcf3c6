/* SPDX-License-Identifier: Apache-2.0 */
#include "detail_private.h"

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

void detail_sort_timed(struct detail_timed rows)
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
