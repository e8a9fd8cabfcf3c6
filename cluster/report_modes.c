/* SPDX-License-Identifier: Apache-2.0 */
#include "report.h"

#include "npuprof/grid.h"
#include "npuprof/text.h"

#include <math.h>

/* A table on the screen: the first rows, and where the others are. */
#define ROWS_SHOWN   15
#define TURNED_ROWS  4
#define COLUMNS_MOST 32

/* --- the screen ------------------------------------------------------------------------------ */

/* Units that stand at the end of a column's name, in ns. */
static double unit_of(const char *name, size_t *ret_length)
{
	static const struct {
		const char *suffix;
		double ns;
	} units[] = { { "Ns", 1 }, { "(ns)", 1 }, { "(us)", 1e3 } };
	size_t length = strlen(name);

	*ret_length = length;
	for (size_t i = 0; i < NP_COUNT(units); i++) {
		size_t tail = strlen(units[i].suffix);

		if (length > tail && strcmp(name + length - tail, units[i].suffix) == 0) {
			*ret_length = length - tail;
			return units[i].ns;
		}
	}
	return 0;
}

/* Points in time say nothing to people, quartiles little; the room is for what does. */
static bool is_shown(const struct np_column *column)
{
	static const char *const hidden[] = { "startTime(us)",  "endTime(us)",   "Timestamp",
					      "startNs",        "endNs",         "kernel_start(ns)",
					      "kernel_end(ns)", "stepStartTime", "stepEndTime" };

	for (size_t i = 0; i < NP_COUNT(hidden); i++) {
		if (strcmp(column->name, hidden[i]) == 0)
			return false;
	}
	return true;
}

static void put_cell(struct np_grid *grid, const struct np_column *column,
		     const struct np_cell *cell)
{
	size_t length;
	double unit = unit_of(column->name, &length);

	switch (cell->type) {
	case NP_CELL_NULL:
		np_grid_cell(grid, "");
		break;
	case NP_CELL_INTEGER:
		if (unit > 0)
			np_grid_duration(grid, (np_ns)((double)cell->integer * unit));
		else
			np_grid_printf(grid, "%lld", (long long)cell->integer);
		break;
	case NP_CELL_REAL:
		if (unit > 0)
			np_grid_duration(grid, np_double_to_scaled(cell->real, unit));
		else if (fabs(cell->real) >= 1000)
			np_grid_printf(grid, "%.1f", cell->real);
		else
			np_grid_printf(grid, "%.4g", cell->real);
		break;
	case NP_CELL_TEXT:
		np_grid_cell(grid, cell->text.bytes);
		break;
	}
}

/* A title without its unit: the values carry theirs. */
struct title {
	char text[64];
};

static void make_title(const struct np_column *column, struct title *ret)
{
	size_t length;

	(void)unit_of(column->name, &length);
	(void)snprintf(ret->text, sizeof(ret->text), "%.*s", (int)length, column->name);
}

static const struct np_cell *cells_of(const struct np_mode_table *table, size_t row)
{
	return &table->cells[row * table->relation.column_count];
}

/* Rows below each other. */
static struct np_grid *upright(const struct np_mode_table *table)
{
	struct np_grid_column columns[COLUMNS_MOST];
	struct title titles[COLUMNS_MOST];
	size_t width = 0;
	struct np_grid *grid;

	for (size_t i = 0; i < table->relation.column_count && width < COLUMNS_MOST; i++) {
		const struct np_column *column = &table->relation.columns[i];

		if (!is_shown(column))
			continue;
		make_title(column, &titles[width]);
		columns[width] =
			(struct np_grid_column){ .title = titles[width].text,
						 .align = column->type == NP_TEXT ? NP_LEFT
										  : NP_RIGHT,
						 .may_shrink = column->type == NP_TEXT };
		width++;
	}
	grid = np_grid_new(columns, width);
	for (size_t i = 0; grid && i < table->rows && i < ROWS_SHOWN; i++) {
		for (size_t j = 0; j < table->relation.column_count; j++) {
			if (is_shown(&table->relation.columns[j]))
				put_cell(grid, &table->relation.columns[j], &cells_of(table, i)[j]);
		}
	}
	return grid;
}

/* A table whose titles alone are wider than the screen: columns below each other. */
static struct np_grid *turned(const struct np_mode_table *table, size_t rows)
{
	struct np_grid_column columns[TURNED_ROWS + 1] = { { .title = "" } };
	struct np_grid *grid;

	for (size_t i = 0; i < rows; i++)
		columns[i + 1] = (struct np_grid_column){ .title = "", .align = NP_RIGHT };
	grid = np_grid_new(columns, rows + 1);
	for (size_t j = 0; grid && j < table->relation.column_count; j++) {
		const struct np_column *column = &table->relation.columns[j];
		struct title title;

		if (!is_shown(column))
			continue;
		make_title(column, &title);
		np_grid_cell(grid, title.text);
		for (size_t i = 0; i < rows; i++)
			put_cell(grid, column, &cells_of(table, i)[j]);
	}
	return grid;
}

/* What the titles, and texts at their narrowest, need. */
static size_t title_width(const struct np_mode_table *table)
{
	size_t width = 2;

	for (size_t i = 0; i < table->relation.column_count; i++) {
		struct title title;

		if (!is_shown(&table->relation.columns[i]))
			continue;
		make_title(&table->relation.columns[i], &title);
		width += strlen(title.text) + 2;
	}
	return width;
}

static int put_table(const struct np_mode_table *table, struct np_buf *buf, size_t width,
		     bool color, struct np_err *err)
{
	bool turn = title_width(table) > width;
	size_t most = turn ? TURNED_ROWS : ROWS_SHOWN;
	size_t shown = table->rows < most ? table->rows : most;
	NP_CLEANUP(np_grid_freep)
	struct np_grid *grid = turn ? turned(table, shown) : upright(table);
	int rc = grid ? NP_OK : np_fail_nomem(err, table->relation.name);

	np_buf_printf(buf, "%s%s: %s\n", buf->length ? "\n" : "", table->relation.name,
		      table->relation.summary);
	if (rc == NP_OK && table->rows > 0)
		rc = np_grid_write(grid, buf, 2, width, color, err);
	else if (rc == NP_OK)
		np_buf_add(buf, "  nothing found\n");
	if (table->rows > shown)
		np_buf_printf(buf, "  and %zu more rows: -f csv --table %s\n", table->rows - shown,
			      table->relation.name);
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
