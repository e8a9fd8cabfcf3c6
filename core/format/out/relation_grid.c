/* SPDX-License-Identifier: Apache-2.0 */
/* A relation as a grid for the screen: all of its rows, times and sizes with their units. */
#include "npuprof/relation.h"

#include "npuprof/grid.h"
#include "npuprof/text.h"

#include <assert.h>
#include <inttypes.h>

/* More columns than any table has. */
#define COLUMNS_MOST 64

struct screen_sink {
	struct np_sink base;
	const struct np_relation *relation;
	struct np_grid *grid;
	char *titles[COLUMNS_MOST]; /* of columns whose unit is in the cells */
};

/* The unit is said in each cell: "wait_ns" is a column of times called "wait". */
static const char *const suffixes[] = { "_ns", "_bytes" };

static const char *unit_of(const char *column)
{
	for (size_t i = 0; i < NP_COUNT(suffixes); i++) {
		if (np_text_ends(column, suffixes[i]))
			return suffixes[i];
	}
	return NULL;
}

static int begin(struct np_sink *sink, const struct np_relation *relation, struct np_err *err)
{
	struct screen_sink *self = (struct screen_sink *)sink;
	struct np_grid_column columns[COLUMNS_MOST];

	assert(relation->column_count <= COLUMNS_MOST);
	self->relation = relation;
	for (size_t i = 0; i < relation->column_count; i++) {
		const struct np_column *column = &relation->columns[i];
		const char *unit = unit_of(column->name);
		size_t length = strlen(column->name) - (unit ? strlen(unit) : 0);

		self->titles[i] = strndup(column->name, length);
		if (!self->titles[i])
			return np_fail_nomem(err, "the screen");
		columns[i] = (struct np_grid_column){ self->titles[i],
						      column->type == NP_TEXT ? NP_LEFT : NP_RIGHT,
						      column->type == NP_TEXT ? NP_CUT_MIDDLE
									      : NP_UNCUT };
	}
	self->grid = np_grid_new_named(columns, relation->column_count);
	return self->grid ? NP_OK : np_fail_nomem(err, "the screen");
}

static void put_cell(struct np_grid *grid, const struct np_column *column,
		     const struct np_cell *cell)
{
	const char *unit = unit_of(column->name);
	NP_CLEANUP(np_buf_release) struct np_buf text = NP_BUF_INIT;

	switch (cell->type) {
	case NP_CELL_NULL:
		np_grid_cell(grid, "?");
		break;
	case NP_CELL_INTEGER:
		if (unit == suffixes[0])
			np_grid_duration(grid, cell->integer);
		else if (unit)
			np_grid_bytes(grid, cell->integer);
		else
			np_grid_printf(grid, "%" PRId64, cell->integer);
		break;
	case NP_CELL_REAL:
		np_grid_printf(grid, "%.4g", cell->real);
		break;
	case NP_CELL_TEXT:
		np_buf_add_bytes(&text, cell->text.bytes, cell->text.length);
		np_grid_cell(grid, text.text);
		break;
	}
}

static int row(struct np_sink *sink, const struct np_cell *cells, struct np_err *err)
{
	struct screen_sink *self = (struct screen_sink *)sink;

	(void)err;
	for (size_t i = 0; i < self->relation->column_count; i++)
		put_cell(self->grid, &self->relation->columns[i], &cells[i]);
	return NP_OK;
}

static int end(struct np_sink *sink, struct np_err *err)
{
	(void)sink;
	(void)err;
	return NP_OK;
}

int np_relation_screen(const struct np_relation *relation, const void *model, struct np_buf *buf,
		       size_t width, bool color, struct np_err *err)
{
	struct screen_sink sink = { .base = { begin, row, end } };
	int rc = np_relation_write(relation, model, &sink.base, err);

	np_buf_printf(buf, "%s: %s\n", relation->name, relation->summary);
	if (rc == NP_OK)
		rc = np_grid_write(sink.grid, buf, 0, width, color, err);
	np_grid_free(sink.grid);
	for (size_t i = 0; i < COLUMNS_MOST; i++)
		free(sink.titles[i]);
	return rc;
}
