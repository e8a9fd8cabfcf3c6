/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_ADVISOR_VIEW_BULK_H
#define NP_ADVISOR_VIEW_BULK_H

#include "npuprof/spans.h"
#include "npuprof/strtab.h"

#include "view.h"

/*
 * Columns of a view, many rows at a time
 * ======================================
 *
 * A cell is asked for by calls through two pointers. Where a column is a member of
 * structs that lie one behind the other, what looks at all rows reads them here, and
 * goes the long way where it is not.
 */

/*
 * The whole numbers that a column has in these rows, or in the first `count` if `rows` is
 * NULL; NP_UNKNOWN where it has none, which is also the least. False if the column is of
 * another kind; `ret` is then anything.
 */
bool adv_view_numbers(const struct adv_view *view, size_t column, const uint32_t *rows,
		      size_t count, int64_t *ret);

/*
 * The texts of a column by their ids in a table, in which no text is twice: NP_STR_NONE for
 * nothing. False if the column is of another kind.
 */
struct adv_view_ids {
	const char *first;  /* id of the first item */
	size_t stride;      /* from one to the next */
	const char *pick;   /* where the item of the first row is; NULL: rows are items */
	size_t pick_stride; /* from one to the next */
	const struct np_strtab *texts; /* of the ids */
};

bool adv_view_text_ids(const struct adv_view *view, size_t column, struct adv_view_ids *ret);

static inline np_str adv_view_id(const struct adv_view_ids *ids, size_t row)
{
	if (ids->pick)
		row = *(const uint32_t *)(const void *)(ids->pick + row * ids->pick_stride);
	return *(const np_str *)(const void *)(ids->first + row * ids->stride);
}

/*
 * The time that rows of an open view cover, from one column to another, found once for all
 * rules. Rows that are no times are left out; `count` is the number of the others. NULL if the
 * columns are no numbers.
 */
struct adv_view_cover {
	size_t begin;
	size_t end;
	size_t count;
	struct np_spans *spans;
};

int adv_view_cover(struct adv_view *view, size_t begin, size_t end,
		   const struct adv_view_cover **ret, struct np_err *err) NP_MUST_USE;

void adv_view_cover_free(struct adv_view *view);

#endif /* NP_ADVISOR_VIEW_BULK_H */
