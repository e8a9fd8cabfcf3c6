/* SPDX-License-Identifier: Apache-2.0 */
#include "report.h"

#include "npuprof/grid.h"
#include "npuprof/text.h"

#include <math.h>

/* A table on the screen: the first rows, and where the others are. */
#define ROWS_SHOWN    15
#define COLUMNS_SHOWN 16

/* --- the screen ------------------------------------------------------------------------------ */

static void put_cell(struct np_grid *grid, const struct np_cell *cell)
{
	switch (cell->type) {
	case NP_CELL_NULL:
		np_grid_cell(grid, "");
		break;
	case NP_CELL_INTEGER:
		np_grid_printf(grid, "%lld", (long long)cell->integer);
		break;
	case NP_CELL_REAL:
		np_grid_printf(grid, fabs(cell->real) >= 1000 ? "%.1f" : "%.4g", cell->real);
		break;
	case NP_CELL_TEXT:
		np_grid_cell(grid, cell->text.bytes);
		break;
	}
}

/* Of very wide tables the last columns are left to the other forms of output. */
static size_t columns_shown(const struct np_mode_table *table)
{
	return table->relation.column_count < COLUMNS_SHOWN ? table->relation.column_count
							    : COLUMNS_SHOWN;
}

static struct np_grid *grid_of(const struct np_mode_table *table)
{
	struct np_grid_column columns[COLUMNS_SHOWN];
	size_t width = columns_shown(table);
	struct np_grid *grid;

	for (size_t i = 0; i < width; i++) {
		bool text = table->relation.columns[i].type == NP_TEXT;

		columns[i] = (struct np_grid_column){ .title = table->relation.columns[i].name,
						      .align = text ? NP_LEFT : NP_RIGHT,
						      .may_shrink = text };
	}
	grid = np_grid_new(columns, width);
	for (size_t i = 0; grid && i < table->rows && i < ROWS_SHOWN; i++) {
		for (size_t j = 0; j < width; j++)
			put_cell(grid, &table->cells[i * table->relation.column_count + j]);
	}
	return grid;
}

static int put_table(const struct np_mode_table *table, struct np_buf *buf, size_t width,
		     bool color, struct np_err *err)
{
	NP_CLEANUP(np_grid_freep) struct np_grid *grid = grid_of(table);
	int rc = grid ? NP_OK : np_fail_nomem(err, table->relation.name);

	np_buf_printf(buf, "\n%s: %s\n", table->relation.name, table->relation.summary);
	if (rc == NP_OK && table->rows > 0)
		rc = np_grid_write(grid, buf, 2, width, color, err);
	else if (rc == NP_OK)
		np_buf_add(buf, "  nothing found\n");
	if (table->rows > ROWS_SHOWN)
		np_buf_printf(buf, "  and %zu more rows: -f csv --table %s\n",
			      table->rows - ROWS_SHOWN, table->relation.name);
	return rc;
}

int report_modes_screen(const struct report *report, struct np_buf *buf, struct np_err *err)
{
	int rc = NP_OK;

	for (const struct np_mode_table *table = report->modes->tables; table && rc == NP_OK;
	     table = table->next)
		rc = put_table(table, buf, report->width, report->color, err);
	return rc;
}

int report_modes_markdown(const struct report *report, struct np_buf *buf, struct np_err *err)
{
	int rc = NP_OK;

	for (const struct np_mode_table *table = report->modes->tables; table && rc == NP_OK;
	     table = table->next) {
		struct np_text_sink sink;

		np_buf_printf(buf, "\n## %s\n\n%s\n\n", table->relation.name,
			      table->relation.summary);
		np_md_sink_init(&sink, buf, NULL);
		rc = np_relation_write(&table->relation, table, &sink.base, err);
	}
	return rc;
}

/* --- JSON ------------------------------------------------------------------------------------ */

static void put_json_cell(struct np_jsonout *out, const char *key, const struct np_cell *cell)
{
	switch (cell->type) {
	case NP_CELL_NULL:
		np_jsonout_null(out, key);
		break;
	case NP_CELL_INTEGER:
		np_jsonout_integer(out, key, cell->integer);
		break;
	case NP_CELL_REAL:
		np_jsonout_real(out, key, cell->real);
		break;
	case NP_CELL_TEXT:
		np_jsonout_bytes(out, key, cell->text.bytes, cell->text.length);
		break;
	}
}

void report_put_modes(struct np_jsonout *out, const struct report *report)
{
	if (!report->modes || !report->modes->tables)
		return;
	np_jsonout_object(out, "modes");
	for (const struct np_mode_table *table = report->modes->tables; table;
	     table = table->next) {
		size_t width = table->relation.column_count;

		np_jsonout_array(out, table->relation.name);
		for (size_t i = 0; i < table->rows; i++) {
			np_jsonout_object_line(out, NULL);
			for (size_t j = 0; j < width; j++)
				put_json_cell(out, table->relation.columns[j].name,
					      &table->cells[i * width + j]);
			np_jsonout_end(out);
		}
		np_jsonout_end(out);
	}
	np_jsonout_end(out);
}
