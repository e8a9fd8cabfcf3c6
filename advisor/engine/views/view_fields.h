/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_ADVISOR_VIEW_FIELDS_H
#define NP_ADVISOR_VIEW_FIELDS_H

#include "views.h"

#include "npuprof/rank.h"

/*
 * Columns that are members of structs
 * ===================================
 *
 * Most columns of a view are a member of the struct that is its row, or of another
 * struct to which the row has an index. A view lists its columns once, with their
 * types and where their values are, and one reader serves them all:
 *
 *	#define GC_COLUMNS(X) \
 *		X(rank, NP_INTEGER, VIEW_RANK_ID) \
 *		X(start_ns, NP_INTEGER, VIEW_NUMBER(np_gc, start)) \
 *		X(dur_ns, NP_INTEGER, VIEW_LENGTH(np_gc, start, end))
 *
 *	VIEW_TABLES(gc, GC_COLUMNS);	gc_columns and gc_fields
 *
 * The structs are in view->items: [0] are the rows, [1] what the rows point to. A row
 * that points to nothing has NULL in all columns of [1].
 */
struct adv_view_field {
	/* `member` is in the item that the row is, or to which it points. */
	struct np_cell (*read)(const struct adv_view *view, size_t row, const void *member);
	uint16_t offset;
	uint8_t of; /* which of view->items */
};

/* How members of each kind are read; what is not known is NULL. */
struct np_cell adv_view_read_rank(const struct adv_view *view, size_t row, const void *member);
struct np_cell adv_view_read_row(const struct adv_view *view, size_t row, const void *member);
struct np_cell adv_view_read_int64(const struct adv_view *view, size_t row, const void *member);
struct np_cell adv_view_read_int32(const struct adv_view *view, size_t row, const void *member);
struct np_cell adv_view_read_int8(const struct adv_view *view, size_t row, const void *member);
struct np_cell adv_view_read_uint32(const struct adv_view *view, size_t row, const void *member);
struct np_cell adv_view_read_bool(const struct adv_view *view, size_t row, const void *member);
struct np_cell adv_view_read_real(const struct adv_view *view, size_t row, const void *member);
struct np_cell adv_view_read_index(const struct adv_view *view, size_t row, const void *member);
struct np_cell adv_view_read_text(const struct adv_view *view, size_t row, const void *member);
struct np_cell adv_view_read_text_id(const struct adv_view *view, size_t row, const void *member);
struct np_cell adv_view_read_run_text(const struct adv_view *view, size_t row, const void *member);
struct np_cell adv_view_read_step(const struct adv_view *view, size_t row, const void *member);
struct np_cell adv_view_read_in_step(const struct adv_view *view, size_t row, const void *member);
struct np_cell adv_view_read_length(const struct adv_view *view, size_t row, const void *member);

#define VIEW_FIELD_(function, which, tag, member) \
	{ \
		.read = (function), .offset = offsetof(struct tag, member), .of = (which) \
	}
#define VIEW_READER_(tag, member) \
	_Generic(((struct tag *)NULL)->member, int64_t \
		 : adv_view_read_int64, int32_t \
		 : adv_view_read_int32, int8_t \
		 : adv_view_read_int8, uint32_t \
		 : adv_view_read_uint32, bool \
		 : adv_view_read_bool, double \
		 : adv_view_read_real)
/* Of two times, of which the later member follows the first one. */
#define VIEW_LENGTH_(which, tag, from, to) \
	{ \
		.read = adv_view_read_length, .of = (which), \
		.offset = offsetof(struct tag, from) + \
			  0 * sizeof(char[offsetof(struct tag, to) == offsetof(struct tag, from) + \
									      sizeof(np_ns) \
						  ? 1 \
						  : -1]) \
	}

/* Of the row itself: a number, the index of a row elsewhere, a text of the detail or its number,
 * a text of the run, the id of a step, whether there is a step, the time between two. */
#define VIEW_NUMBER(tag, member)   VIEW_FIELD_(VIEW_READER_(tag, member), 0, tag, member)
#define VIEW_INDEX(tag, member)    VIEW_FIELD_(adv_view_read_index, 0, tag, member)
#define VIEW_TEXT(tag, member)     VIEW_FIELD_(adv_view_read_text, 0, tag, member)
#define VIEW_TEXT_ID(tag, member)  VIEW_FIELD_(adv_view_read_text_id, 0, tag, member)
#define VIEW_RUN_TEXT(tag, member) VIEW_FIELD_(adv_view_read_run_text, 0, tag, member)
#define VIEW_STEP(tag, member)     VIEW_FIELD_(adv_view_read_step, 0, tag, member)
#define VIEW_IN_STEP(tag, member)  VIEW_FIELD_(adv_view_read_in_step, 0, tag, member)
#define VIEW_LENGTH(tag, from, to) VIEW_LENGTH_(0, tag, from, to)

/* The same of what it points to. */
#define VIEW_NUMBER_1(tag, member)   VIEW_FIELD_(VIEW_READER_(tag, member), 1, tag, member)
#define VIEW_TEXT_1(tag, member)     VIEW_FIELD_(adv_view_read_text, 1, tag, member)
#define VIEW_TEXT_ID_1(tag, member)  VIEW_FIELD_(adv_view_read_text_id, 1, tag, member)
#define VIEW_RUN_TEXT_1(tag, member) VIEW_FIELD_(adv_view_read_run_text, 1, tag, member)
#define VIEW_STEP_1(tag, member)     VIEW_FIELD_(adv_view_read_step, 1, tag, member)
#define VIEW_LENGTH_1(tag, from, to) VIEW_LENGTH_(1, tag, from, to)

/* The rank, the number of the row, or what a function makes of the row's item. */
#define VIEW_RANK_ID VIEW_GET(adv_view_read_rank)
#define VIEW_ROW     VIEW_GET(adv_view_read_row)
#define VIEW_GET(function) \
	{ \
		.read = (function) \
	}

#define VIEW_COLUMN(name, type, ...) { #name, type },
#define VIEW_MEMBER(name, type, ...) __VA_ARGS__,
#define VIEW_TABLES(prefix, LIST) \
	static const struct np_column prefix##_columns[] = { LIST(VIEW_COLUMN) }; \
	static const struct adv_view_field prefix##_fields[] = { LIST(VIEW_MEMBER) }

/* The part of a view_description that says so. */
#define VIEW_OF_TABLES(prefix) \
	.columns = prefix##_columns, .column_count = NP_COUNT(prefix##_columns), \
	.fields = prefix##_fields, .field_count = NP_COUNT(prefix##_fields)

/* All elements of a vector, as items. */
#define VIEW_ITEMS(vec) \
	((struct adv_view_items){ .first = (const char *)(vec).item, \
				  .size = sizeof(*(vec).item), \
				  .count = (vec).count })

/* Those of a vector that indexes in an array of structs point to. */
#define VIEW_ITEMS_AT(vec, indexes, member) \
	((struct adv_view_items){ .first = (const char *)(vec).item, \
				  .size = sizeof(*(vec).item), \
				  .count = (vec).count, \
				  .pick = (indexes) ? &(indexes)->member : NULL, \
				  .pick_size = sizeof(*(indexes)) })

/* The reader: `cell` of a view that has fields. */
struct np_cell adv_view_field_cell(const struct adv_view *view, size_t row, size_t column);

/* Does one of the first rows have a value in this column? */
bool adv_view_has_value(const struct adv_view *view, size_t column, size_t rows);

static inline const struct adv_view_rank *view_source(const struct adv_view *view)
{
	return view->data;
}

static inline const struct np_detail *view_detail(const struct adv_view *view)
{
	return view_source(view)->detail;
}

#endif /* NP_ADVISOR_VIEW_FIELDS_H */
