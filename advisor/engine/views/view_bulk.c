/* SPDX-License-Identifier: Apache-2.0 */
/* Reads columns of views for many rows at a time. */
#include "view_bulk.h"

#include <stdlib.h>
#include <string.h>

#include "view_fields.h"

/* Members of items that rows are, or pick: those of row i are at first + at(i) * stride. */
struct view_members {
	const char *first;
	size_t stride;
	const uint32_t *rows; /* that are wanted; NULL: the first ones */
	const char *pick;
	size_t pick_stride;
	size_t items;
};

static size_t item_of(const struct view_members *members, size_t i)
{
	size_t row = members->rows ? members->rows[i] : i;

	return members->pick ? *(const uint32_t *)(const void *)(members->pick +
								 row * members->pick_stride)
			     : row;
}

static const void *member_at(const struct view_members *members, size_t i)
{
	return members->first + item_of(members, i) * members->stride;
}

/* Does every row that is wanted have an item? */
static bool all_there(const struct view_members *members, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (item_of(members, i) >= members->items)
			return false;
	}
	return true;
}

/* Where the members of a field are; false if it is no member, or an item may be missing. */
static bool find_members(const struct adv_view *view, size_t column, const uint32_t *rows,
			 size_t count, struct view_members *ret)
{
	const struct adv_view_field *field = &view->fields[column];
	const struct adv_view_items *items = &view->items[field->of];

	/* Like adv_view_field_cell(): rows of [0] are items, unless both pick theirs. */
	*ret = (struct view_members){ .first = items->first ? items->first + field->offset : NULL,
				      .stride = items->size,
				      .rows = rows,
				      .pick = (const char *)items->pick,
				      .pick_stride = items->pick_size,
				      .items = items->count };
	if (field->of == 0 && !items->pick)
		return ret->first != NULL;
	return ret->first != NULL && all_there(ret, count);
}

typedef struct np_cell field_reader(const struct adv_view *view, size_t row, const void *member);

#define TAKE(type, expression) \
	for (size_t i = 0; i < count; i++) { \
		type member = *(const type *)member_at(members, i); \
		ret[i] = (expression); \
	} \
	return true

static bool take_members(field_reader *read, const struct view_members *members, size_t count,
			 int64_t *ret)
{
	if (read == adv_view_read_int64) {
		TAKE(int64_t, member);
	} else if (read == adv_view_read_int32) {
		TAKE(int32_t, member);
	} else if (read == adv_view_read_int8) {
		TAKE(int8_t, member);
	} else if (read == adv_view_read_uint32) {
		TAKE(uint32_t, member);
	} else if (read == adv_view_read_bool) {
		TAKE(bool, member);
	} else if (read == adv_view_read_in_step) {
		TAKE(uint32_t, member != NP_NO_STEP);
	} else if (read == adv_view_read_index) {
		TAKE(uint32_t, member == NP_NO_ROW ? NP_UNKNOWN : (int64_t)member);
	} else if (read == adv_view_read_text_id) {
		TAKE(np_str, member == NP_STR_NONE ? NP_UNKNOWN : (int64_t)member);
	} else if (read == adv_view_read_length) {
		for (size_t i = 0; i < count; i++) {
			const np_ns *times = member_at(members, i);

			ret[i] = times[0] == NP_UNKNOWN || times[1] == NP_UNKNOWN
					 ? NP_UNKNOWN
					 : times[1] - times[0];
		}
		return true;
	}
	return false;
}

bool adv_view_numbers(const struct adv_view *view, size_t column, const uint32_t *rows,
		      size_t count, int64_t *ret)
{
	field_reader *read;
	struct view_members members;

	if (!view->fields || column >= view->field_count)
		return false;
	read = view->fields[column].read;
	if (read == adv_view_read_row || read == adv_view_read_rank) {
		for (size_t i = 0; i < count; i++)
			ret[i] = read == adv_view_read_rank ? view_source(view)->rank->id
				 : rows                     ? rows[i]
							    : (int64_t)i;
		return true;
	}
	return find_members(view, column, rows, count, &members) &&
	       take_members(read, &members, count, ret);
}

bool adv_view_text_ids(const struct adv_view *view, size_t column, struct adv_view_ids *ret)
{
	struct view_members members;

	if (view->own_texts.of_row && column == view->own_texts.column) {
		*ret = (struct adv_view_ids){ .first = (const char *)view->own_texts.of_row,
					      .stride = sizeof(*view->own_texts.of_row),
					      .texts = view->own_texts.strings };
		return true;
	}
	if (!view->fields || column >= view->field_count ||
	    view->fields[column].read != adv_view_read_text ||
	    !find_members(view, column, NULL, view->rows, &members))
		return false;
	*ret = (struct adv_view_ids){ .first = members.first,
				      .stride = members.stride,
				      .pick = members.pick,
				      .pick_stride = members.pick_stride,
				      .texts = view_detail(view)->strings };
	return true;
}

/* Rows that begin and end, and not before they begin. */
static int take_spans(struct adv_view_cover *cover, const int64_t *begin, const int64_t *end,
		      size_t count, struct np_err *err)
{
	for (size_t i = 0; i < count; i++) {
		int rc;

		if (begin[i] < -NP_NS_MAX || end[i] > NP_NS_MAX || end[i] < begin[i])
			continue;
		cover->count++;
		rc = np_spans_add(cover->spans, begin[i], end[i], err);
		if (rc < 0)
			return rc;
	}
	return NP_OK;
}

static bool sorted(const int64_t *values, size_t count)
{
	for (size_t i = 1; i < count; i++) {
		if (values[i] < values[i - 1])
			return false;
	}
	return true;
}

static int make_cover(struct adv_view *view, struct adv_view_cover *cover, bool *ret_can,
		      struct np_err *err)
{
	int64_t *begin = malloc((view->rows + 1) * sizeof(*begin));
	int64_t *end = malloc((view->rows + 1) * sizeof(*end));
	int rc = NP_OK;

	cover->spans = np_spans_new();
	if (!begin || !end || !cover->spans) {
		rc = np_fail_nomem(err, "spans");
	} else {
		/* What is not in order is sorted by the caller first, which takes less time. */
		*ret_can = adv_view_numbers(view, cover->begin, NULL, view->rows, begin) &&
			   adv_view_numbers(view, cover->end, NULL, view->rows, end) &&
			   sorted(begin, view->rows);
		if (*ret_can)
			rc = take_spans(cover, begin, end, view->rows, err);
	}
	free(begin);
	free(end);
	return rc;
}

int adv_view_cover(struct adv_view *view, size_t begin, size_t end,
		   const struct adv_view_cover **ret, struct np_err *err)
{
	struct adv_view_cover *cover = view->cover;
	bool can = false;
	int rc;

	*ret = NULL;
	if (cover) {
		*ret = cover->begin == begin && cover->end == end ? cover : NULL;
		return NP_OK;
	}
	cover = calloc(1, sizeof(*cover));
	if (!cover)
		return np_fail_nomem(err, "spans");
	cover->begin = begin;
	cover->end = end;
	rc = make_cover(view, cover, &can, err);
	if (rc == NP_OK && can) {
		view->cover = cover;
		*ret = cover;
		return NP_OK;
	}
	np_spans_free(cover->spans);
	free(cover);
	return rc;
}

void adv_view_cover_free(struct adv_view *view)
{
	if (view->cover)
		np_spans_free(view->cover->spans);
	free(view->cover);
	view->cover = NULL;
}
