/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_ADVISOR_VIEW_FIELDS_H
#define NP_ADVISOR_VIEW_FIELDS_H

#include "views.h"

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
enum view_field_kind {
	VIEW_FIELD_GET, /* a function makes the cell */
	VIEW_FIELD_RANK,
	VIEW_FIELD_ROW,
	VIEW_FIELD_INT64, /* NULL for NP_UNKNOWN */
	VIEW_FIELD_INT32,
	VIEW_FIELD_INT8,
	VIEW_FIELD_UINT32,
	VIEW_FIELD_BOOL,
	VIEW_FIELD_REAL,     /* NULL for NaN */
	VIEW_FIELD_INDEX,    /* of a row elsewhere: NULL for NP_NO_ROW */
	VIEW_FIELD_TEXT,     /* of the detail */
	VIEW_FIELD_TEXT_ID,  /* its number: NULL for NP_STR_NONE */
	VIEW_FIELD_RUN_TEXT, /* of the run */
	VIEW_FIELD_STEP,     /* the id of a step */
	VIEW_FIELD_IN_STEP,  /* is there a step? */
	VIEW_FIELD_LENGTH,   /* from one time to another: NULL if one is not known */
};

struct view_field {
	enum view_field_kind kind;
	unsigned char of; /* which of view->items */
	uint16_t offset;
	uint16_t end; /* of VIEW_FIELD_LENGTH: offset of the other time */
	struct np_cell (*get)(const struct view *view, size_t row, const void *item);
};

#define VIEW_FIELD_(what, which, tag, member) \
	{ \
		.kind = (what), .of = (which), .offset = offsetof(struct tag, member) \
	}
#define VIEW_KIND_(tag, member) \
	_Generic(((struct tag *)NULL)->member, int64_t \
		 : VIEW_FIELD_INT64, int32_t \
		 : VIEW_FIELD_INT32, int8_t \
		 : VIEW_FIELD_INT8, uint32_t \
		 : VIEW_FIELD_UINT32, bool \
		 : VIEW_FIELD_BOOL, double \
		 : VIEW_FIELD_REAL)

/* Of the row itself. */
#define VIEW_NUMBER(tag, member)   VIEW_FIELD_(VIEW_KIND_(tag, member), 0, tag, member)
#define VIEW_INDEX(tag, member)    VIEW_FIELD_(VIEW_FIELD_INDEX, 0, tag, member)
#define VIEW_TEXT(tag, member)     VIEW_FIELD_(VIEW_FIELD_TEXT, 0, tag, member)
#define VIEW_TEXT_ID(tag, member)  VIEW_FIELD_(VIEW_FIELD_TEXT_ID, 0, tag, member)
#define VIEW_RUN_TEXT(tag, member) VIEW_FIELD_(VIEW_FIELD_RUN_TEXT, 0, tag, member)
#define VIEW_STEP(tag, member)     VIEW_FIELD_(VIEW_FIELD_STEP, 0, tag, member)
#define VIEW_IN_STEP(tag, member)  VIEW_FIELD_(VIEW_FIELD_IN_STEP, 0, tag, member)
#define VIEW_LENGTH(tag, from, to) \
	{ \
		.kind = VIEW_FIELD_LENGTH, .offset = offsetof(struct tag, from), \
		.end = offsetof(struct tag, to) \
	}

/* Of what it points to. */
#define VIEW_NUMBER_1(tag, member)   VIEW_FIELD_(VIEW_KIND_(tag, member), 1, tag, member)
#define VIEW_TEXT_1(tag, member)     VIEW_FIELD_(VIEW_FIELD_TEXT, 1, tag, member)
#define VIEW_TEXT_ID_1(tag, member)  VIEW_FIELD_(VIEW_FIELD_TEXT_ID, 1, tag, member)
#define VIEW_RUN_TEXT_1(tag, member) VIEW_FIELD_(VIEW_FIELD_RUN_TEXT, 1, tag, member)
#define VIEW_STEP_1(tag, member)     VIEW_FIELD_(VIEW_FIELD_STEP, 1, tag, member)
#define VIEW_LENGTH_1(tag, from, to) \
	{ \
		.kind = VIEW_FIELD_LENGTH, .of = 1, .offset = offsetof(struct tag, from), \
		.end = offsetof(struct tag, to) \
	}

/* Of neither: the rank, the number of the row, or whatever a function finds for the row. */
#define VIEW_RANK_ID \
	{ \
		.kind = VIEW_FIELD_RANK \
	}
#define VIEW_ROW \
	{ \
		.kind = VIEW_FIELD_ROW \
	}
#define VIEW_GET(function) \
	{ \
		.kind = VIEW_FIELD_GET, .get = (function) \
	}

#define VIEW_COLUMN(name, type, ...) { #name, type },
#define VIEW_MEMBER(name, type, ...) __VA_ARGS__,
#define VIEW_TABLES(prefix, LIST) \
	static const struct np_column prefix##_columns[] = { LIST(VIEW_COLUMN) }; \
	static const struct view_field prefix##_fields[] = { LIST(VIEW_MEMBER) }

/* The part of a view_description that says so. */
#define VIEW_OF_TABLES(prefix) \
	.columns = prefix##_columns, .column_count = NP_COUNT(prefix##_columns), \
	.fields = prefix##_fields

/* All elements of a vector, as items. */
#define VIEW_ITEMS(vec) \
	((struct view_items){ .first = (const char *)(vec).item, \
			      .size = sizeof(*(vec).item), \
			      .count = (vec).count })

/* Those of a vector that indexes in an array of structs point to. */
#define VIEW_ITEMS_AT(vec, indexes, member) \
	((struct view_items){ .first = (const char *)(vec).item, \
			      .size = sizeof(*(vec).item), \
			      .count = (vec).count, \
			      .pick = (indexes) ? &(indexes)->member : NULL, \
			      .pick_size = sizeof(*(indexes)) })

/* The reader: `cell` of a view that has fields. */
struct np_cell view_field_cell(const struct view *view, size_t row, size_t column);

/* Does one of the first rows have a value in this column? */
bool view_has_value(const struct view *view, size_t column, size_t rows);

static inline const struct view_rank *view_source(const struct view *view)
{
	return view->data;
}

static inline const struct np_detail *view_detail(const struct view *view)
{
	return view_source(view)->detail;
}

#endif /* NP_ADVISOR_VIEW_FIELDS_H */
