/* SPDX-License-Identifier: Apache-2.0 */
#include "values.h"

#include <stdlib.h>
#include <string.h>

void values_release(struct values *values)
{
	np_vec_release(&values->list);
}

int cell_copy(struct np_arena *arena, struct np_cell from, struct np_cell *ret, struct np_err *err)
{
	if (from.type == NP_CELL_TEXT) {
		from.text.bytes = np_arena_text(arena, from.text.bytes, from.text.length);
		if (!from.text.bytes)
			return np_fail_nomem(err, "a value");
	}
	*ret = from;
	return NP_OK;
}

int values_set(struct values *values, const char *name, struct np_cell value, struct np_err *err)
{
	struct named_value *entry = NULL;

	for (size_t i = 0; i < values->list.count && !entry; i++) {
		if (strcmp(values->list.item[i].name, name) == 0)
			entry = &values->list.item[i];
	}
	if (!entry) {
		entry = np_vec_add(&values->list, err);
		if (!entry)
			return NP_E_NOMEM;
		entry->name = np_arena_text(values->arena, name, strlen(name));
		if (!entry->name) {
			values->list.count--;
			return np_fail_nomem(err, "a value");
		}
	}
	return cell_copy(values->arena, value, &entry->value, err);
}

const struct np_cell *values_find(const struct values *values, const char *name)
{
	for (size_t i = 0; i < values->list.count; i++) {
		if (strcmp(values->list.item[i].name, name) == 0)
			return &values->list.item[i].value;
	}
	return NULL;
}

bool cell_number(const struct np_cell *cell, double *ret)
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

static int compare_numbers(const struct np_cell *a, const struct np_cell *b)
{
	double x = 0;
	double y = 0;

	if (a->type == NP_CELL_INTEGER && b->type == NP_CELL_INTEGER)
		return np_order(a->integer, b->integer);
	(void)cell_number(a, &x);
	(void)cell_number(b, &y);
	return (x > y) - (x < y);
}

int cell_compare(const struct np_cell *a, const struct np_cell *b)
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

void cell_format(struct np_buf *buf, const struct np_cell *cell)
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

int rows_init(struct rows *rows, const char *const *names, const enum np_column_type *types,
	      size_t count, struct np_err *err)
{
	*rows = (struct rows){ .arena = np_arena_new() };
	if (rows->arena)
		rows->columns =
			np_arena_array(rows->arena, count ? count : 1, sizeof(*rows->columns));
	if (!rows->columns)
		goto no_memory;
	for (size_t i = 0; i < count; i++) {
		rows->columns[i].name = np_arena_text(rows->arena, names[i], strlen(names[i]));
		rows->columns[i].type = types ? types[i] : NP_NUMERIC;
		if (!rows->columns[i].name)
			goto no_memory;
	}
	rows->column_count = count;
	return NP_OK;

no_memory:
	rows_release(rows);
	return np_fail_nomem(err, "a table");
}

void rows_release(struct rows *rows)
{
	np_arena_free(rows->arena);
	rows->arena = NULL;
	rows->columns = NULL;
	rows->column_count = 0;
	np_vec_release(&rows->cells);
}

int rows_add(struct rows *rows, const struct np_cell *cells, struct np_err *err)
{
	for (size_t i = 0; i < rows->column_count; i++) {
		struct np_cell *cell = np_vec_add(&rows->cells, err);
		int rc = cell ? cell_copy(rows->arena, cells[i], cell, err) : NP_E_NOMEM;

		if (rc < 0) {
			rows->cells.count -= rows->cells.count % rows->column_count;
			return rc;
		}
	}
	return NP_OK;
}

size_t rows_count(const struct rows *rows)
{
	return rows->column_count ? rows->cells.count / rows->column_count : 0;
}

const struct np_cell *rows_cell(const struct rows *rows, size_t row, size_t column)
{
	return &rows->cells.item[row * rows->column_count + column];
}

size_t rows_column(const struct rows *rows, const char *name)
{
	for (size_t i = 0; i < rows->column_count; i++) {
		if (strcmp(rows->columns[i].name, name) == 0)
			return i;
	}
	return SIZE_MAX;
}
