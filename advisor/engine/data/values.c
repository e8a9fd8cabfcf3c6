/* SPDX-License-Identifier: Apache-2.0 */
/* Named values and rows of cells that own their texts. */
#include "values.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "quota.h"

void adv_values_release(struct adv_values *values)
{
	np_vec_release(&values->list);
}

int adv_cell_copy(struct np_arena *arena, struct np_cell from, struct np_cell *ret,
		  struct np_err *err)
{
	if (from.type == NP_CELL_TEXT) {
		from.text.bytes = np_arena_text(arena, from.text.bytes, from.text.length);
		if (!from.text.bytes)
			return np_fail_nomem(err, "a value");
	}
	*ret = from;
	return NP_OK;
}

static struct adv_named_value *find(const struct adv_values *values, const char *name)
{
	for (size_t i = 0; i < values->list.count; i++) {
		if (strcmp(values->list.item[i].name, name) == 0)
			return &values->list.item[i];
	}
	return NULL;
}

int adv_values_share(struct adv_values *values, const char *name, struct np_cell value,
		     struct np_err *err)
{
	struct adv_named_value *entry = find(values, name);

	if (!entry)
		entry = np_vec_add(&values->list, err);
	if (!entry)
		return NP_E_NOMEM;
	*entry = (struct adv_named_value){ .name = name, .value = value };
	return NP_OK;
}

int adv_values_set(struct adv_values *values, const char *name, struct np_cell value,
		   struct np_err *err)
{
	const struct adv_named_value *there = find(values, name);
	const char *copy = there ? there->name : np_arena_text(values->arena, name, strlen(name));
	struct np_cell own = value;
	int rc = copy ? adv_cell_copy(values->arena, value, &own, err)
		      : np_fail_nomem(err, "a value");

	return rc == NP_OK ? adv_values_share(values, copy, own, err) : rc;
}

const struct np_cell *adv_values_find(const struct adv_values *values, const char *name)
{
	const struct adv_named_value *entry = find(values, name);

	return entry ? &entry->value : NULL;
}

bool adv_cell_number(const struct np_cell *cell, double *ret)
{
	if (cell->type == NP_CELL_INTEGER)
		*ret = (double)cell->integer;
	else if (cell->type == NP_CELL_REAL)
		*ret = cell->real;
	else
		return false;
	return true;
}

static int kind_order(const struct np_cell *cell)
{
	return cell->type == NP_CELL_NULL ? 0 : cell->type == NP_CELL_TEXT ? 2 : 1;
}

/* Without a loss: not every integer is a double. */
static int compare_with_real(int64_t integer, double real)
{
	int64_t whole;
	double rounded = (double)integer;

	if (real < -0x1p63)
		return 1;
	if (real >= 0x1p63)
		return -1;
	whole = (int64_t)real;
	if (integer != whole)
		return integer < whole ? -1 : 1;
	return (rounded > real) - (rounded < real);
}

static int compare_numbers(const struct np_cell *a, const struct np_cell *b)
{
	if (a->type == NP_CELL_INTEGER && b->type == NP_CELL_INTEGER)
		return np_order(a->integer, b->integer);
	if (a->type == NP_CELL_INTEGER)
		return compare_with_real(a->integer, b->real);
	if (b->type == NP_CELL_INTEGER)
		return -compare_with_real(b->integer, a->real);
	return (a->real > b->real) - (a->real < b->real);
}

int adv_cell_compare(const struct np_cell *a, const struct np_cell *b)
{
	int kind = kind_order(a);
	size_t shorter;
	int order;

	if (kind != kind_order(b))
		return kind - kind_order(b);
	if (kind != 2)
		return kind == 0 ? 0 : compare_numbers(a, b);
	/* Texts of one table that are equal are mostly the same bytes. */
	if (a->text.bytes == b->text.bytes && a->text.length == b->text.length)
		return 0;
	shorter = a->text.length < b->text.length ? a->text.length : b->text.length;
	order = shorter > 0 ? memcmp(a->text.bytes, b->text.bytes, shorter) : 0;
	return order != 0 ? order : np_order((int64_t)a->text.length, (int64_t)b->text.length);
}

void adv_cell_format(struct np_buf *buf, const struct np_cell *cell)
{
	switch (cell->type) {
	case NP_CELL_INTEGER:
		np_integer_format(buf, cell->integer);
		break;
	case NP_CELL_REAL:
		np_real_format(buf, cell->real);
		break;
	case NP_CELL_TEXT:
		np_buf_add_bytes(buf, cell->text.bytes, cell->text.length);
		break;
	case NP_CELL_NULL:
		break;
	}
}

int adv_rows_init(struct adv_rows *rows, const char *const *names, const enum np_column_type *types,
		  size_t count, struct np_err *err)
{
	size_t bytes = 1;
	char *text;

	for (size_t i = 0; i < count; i++)
		bytes += sizeof(*rows->columns) + strlen(names[i]) + 1;
	*rows = (struct adv_rows){ .arena = np_arena_new(), .columns = malloc(bytes) };
	if (!rows->arena || !rows->columns) {
		adv_rows_release(rows);
		return np_fail_nomem(err, "a table");
	}
	rows->column_count = count;
	/* The names lie behind the columns. */
	text = (char *)&rows->columns[count];
	for (size_t i = 0; i < count; i++) {
		rows->columns[i] = (struct np_column){ text, types ? types[i] : NP_NUMERIC };
		text = stpcpy(text, names[i]) + 1;
	}
	return NP_OK;
}

void adv_rows_clear(struct adv_rows *rows)
{
	rows->cells.count = 0;
	np_arena_clear(rows->arena);
	adv_quota_give(rows->counted);
	rows->counted = 0;
}

void adv_rows_release(struct adv_rows *rows)
{
	adv_quota_give(rows->counted);
	rows->counted = 0;
	np_arena_free(rows->arena);
	free(rows->columns);
	rows->arena = NULL;
	rows->columns = NULL;
	rows->column_count = 0;
	np_vec_release(&rows->cells);
}

static bool take(struct adv_rows *rows, size_t bytes)
{
	if (!rows->limited)
		return true;
	if (!adv_quota_take((int64_t)bytes))
		return false;
	rows->counted += (int64_t)bytes;
	return true;
}

/* A text is often that of the row before, which then serves both. */
static int add_cell(struct adv_rows *rows, struct np_cell from, struct np_err *err)
{
	struct np_cell *cell = np_vec_add(&rows->cells, err);
	const struct np_cell *before;

	if (!cell)
		return NP_E_NOMEM;
	if (from.type == NP_CELL_TEXT && rows->cells.count > rows->column_count) {
		before = cell - rows->column_count;
		if (before->type == NP_CELL_TEXT && before->text.length == from.text.length &&
		    memcmp(before->text.bytes, from.text.bytes, from.text.length) == 0) {
			*cell = *before;
			return NP_OK;
		}
	}
	if (from.type == NP_CELL_TEXT && !take(rows, from.text.length))
		return adv_quota_fail(err);
	return adv_cell_copy(rows->arena, from, cell, err);
}

int adv_rows_add(struct adv_rows *rows, const struct np_cell *cells, struct np_err *err)
{
	if (!take(rows, rows->column_count * sizeof(*cells)))
		return adv_quota_fail(err);
	for (size_t i = 0; i < rows->column_count; i++) {
		int rc = add_cell(rows, cells[i], err);

		if (rc < 0) {
			rows->cells.count -= rows->cells.count % rows->column_count;
			return rc;
		}
	}
	return NP_OK;
}

size_t adv_rows_count(const struct adv_rows *rows)
{
	return rows->column_count ? rows->cells.count / rows->column_count : 0;
}

const struct np_cell *adv_rows_cell(const struct adv_rows *rows, size_t row, size_t column)
{
	assert(row < adv_rows_count(rows) && column < rows->column_count);
	return &rows->cells.item[row * rows->column_count + column];
}

size_t adv_rows_column(const struct adv_rows *rows, const char *name)
{
	for (size_t i = 0; i < rows->column_count; i++) {
		if (strcmp(rows->columns[i].name, name) == 0)
			return i;
	}
	return SIZE_MAX;
}
