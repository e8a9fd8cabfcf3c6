/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_ADVISOR_VALUES_H
#define NP_ADVISOR_VALUES_H

#include "npuprof/arena.h"
#include "npuprof/relation.h"
#include "npuprof/vec.h"

/*
 * Named values and rows of values that own their texts
 * ====================================================
 *
 * What SQL gives is valid until the next step; what a finding shows has to
 * last. Both keep copies in an arena and are not locked.
 */
struct adv_named_value {
	const char *name;
	struct np_cell value;
};

struct adv_values {
	struct np_arena *arena; /* borrowed */
	NP_VEC(struct adv_named_value) list;
};

void adv_values_release(struct adv_values *values);

/* Set a value, replacing an earlier one of the name; name and text are copied. */
int adv_values_set(struct adv_values *values, const char *name, struct np_cell value,
		   struct np_err *err) NP_MUST_USE;

/* The same of a name and a text that outlive the values, without copies. */
int adv_values_share(struct adv_values *values, const char *name, struct np_cell value,
		     struct np_err *err) NP_MUST_USE;

/* The value of a name, or NULL. */
const struct np_cell *adv_values_find(const struct adv_values *values, const char *name);

/* The same text in the arena; other cells as they are. NP_E_NOMEM without memory. */
int adv_cell_copy(struct np_arena *arena, struct np_cell from, struct np_cell *ret,
		  struct np_err *err) NP_MUST_USE;

/* A number as a real; false for a text and for nothing. */
bool adv_cell_number(const struct np_cell *cell, double *ret);

/* The order that SQL gives values: nothing, numbers, texts by bytes. */
int adv_cell_compare(const struct np_cell *a, const struct np_cell *b);

/* Append a value as plain text; nothing for NULL. */
void adv_cell_format(struct np_buf *buf, const struct np_cell *cell);

/*
 * A table with columns that are known at run time only. Row r has its cells at
 * cells.item[r * column_count].
 */
struct adv_rows {
	struct np_arena *arena;    /* of texts; owned */
	struct np_column *columns; /* owned, with their names */
	size_t column_count;
	NP_VEC(struct np_cell) cells;
	bool limited;    /* they belong to a rule, and count for it (quota.h) */
	int64_t counted; /* bytes, by the quota */
};

/* `types` may be NULL: all columns are then NP_NUMERIC. */
int adv_rows_init(struct adv_rows *rows, const char *const *names, const enum np_column_type *types,
		  size_t count, struct np_err *err) NP_MUST_USE;
void adv_rows_release(struct adv_rows *rows);

/* Forget the rows, not the columns. */
void adv_rows_clear(struct adv_rows *rows);

/* Append one row of column_count cells; their texts are copied. NP_E_RANGE beyond what a rule may
 * hold. */
int adv_rows_add(struct adv_rows *rows, const struct np_cell *cells, struct np_err *err)
	NP_MUST_USE;

size_t adv_rows_count(const struct adv_rows *rows);
const struct np_cell *adv_rows_cell(const struct adv_rows *rows, size_t row, size_t column);

/* The index of a column, or SIZE_MAX. */
size_t adv_rows_column(const struct adv_rows *rows, const char *name);

#endif /* NP_ADVISOR_VALUES_H */
