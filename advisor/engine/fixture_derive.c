/* SPDX-License-Identifier: Apache-2.0 */
#include "fixture_private.h"

#include <math.h>
#include <string.h>

/*
 * What follows from the rows of a fixture: whether they are in a step; of kernels, how
 * busy their busiest unit was, how long they moved data, and v_kernel_group. So that a test says
 * the same of a rule whichever of them it reads.
 */

/* Columns of v_kernel_group that are those of all its kernels. */
static bool is_key(const char *column)
{
	static const char *const keys[] = { "rank",       "name",          "op_type",
					    "core",       "state",         "block_dim",
					    "in_shapes",  "in_dtypes",     "in_formats",
					    "out_shapes", "out_dtypes",    "out_formats",
					    "for_comm",   "mix_block_dim", "in_step" };

	for (size_t i = 0; i < NP_COUNT(keys); i++) {
		if (strcmp(keys[i], column) == 0)
			return true;
	}
	return false;
}

/* How a column is made of those of the kernels; NULL for a mean. */
static const char *aggregate_of(const char *column)
{
	static const struct {
		const char *column;
		const char *sql;
	} aggregates[] = {
		{ "id", "min(id)" },         { "n", "count(*)" },
		{ "dur_ns", "sum(dur_ns)" }, { "min_ns", "min(dur_ns)" },
		{ "max_ns", "max(dur_ns)" }, { "wait_ns", "sum(wait_ns)" },
	};

	for (size_t i = 0; i < NP_COUNT(aggregates); i++) {
		if (strcmp(aggregates[i].column, column) == 0)
			return aggregates[i].sql;
	}
	return NULL;
}

static void write_query(struct np_buf *text, const char *kernels)
{
	np_buf_add(text, "SELECT ");
	for (size_t i = 0; i < view_kernel_group.column_count; i++) {
		const char *column = view_kernel_group.columns[i].name;
		const char *sql = is_key(column) ? column : aggregate_of(column);

		np_buf_add(text, i > 0 ? ", " : "");
		if (sql)
			np_buf_add(text, sql);
		else
			np_buf_printf(text, "avg(%s)", column);
	}
	np_buf_printf(text, " FROM %s GROUP BY 1", kernels);
	for (size_t i = 0; i < view_kernel_group.column_count; i++) {
		if (is_key(view_kernel_group.columns[i].name))
			np_buf_printf(text, ", %s", view_kernel_group.columns[i].name);
	}
}

static int ask_groups(struct sql *sql, const char *kernels, struct rows *rows, struct np_err *err)
{
	NP_CLEANUP(np_buf_release) struct np_buf text = NP_BUF_INIT;
	NP_CLEANUP(sql_finishp) struct sql_stmt *stmt = NULL;
	struct np_cell cells[FIXTURE_COLUMNS];
	int rc;

	write_query(&text, kernels);
	rc = np_buf_check(&text, err);
	if (rc == NP_OK)
		rc = sql_prepare(sql, text.text, true, &stmt, err);
	while (rc >= 0 && (rc = sql_step(stmt, err)) > 0) {
		for (size_t i = 0; i < rows->column_count; i++)
			cells[i] = sql_cell(stmt, i);
		rc = rows_add(rows, cells, err);
	}
	return rc;
}

static int add_groups(struct fixture *fixture, const char *kernels, const char *groups,
		      struct np_err *err)
{
	NP_CLEANUP(sql_closep) struct sql *sql = NULL;
	struct fixture_view *view = fixture_view(fixture, kernels);
	struct fixture_view *made;
	struct view source;
	int rc;

	if (!view || fixture_view(fixture, groups))
		return NP_OK;
	rc = fixture_begin_view(fixture, groups, &made, err);
	if (rc == NP_OK)
		rc = sql_open(&sql, err);
	if (rc < 0)
		return rc;
	/* The list of views may have moved. */
	view_of_rows(&source, kernels, &fixture_view(fixture, kernels)->rows);
	rc = sql_add_view(sql, &source, err);
	if (rc == NP_OK)
		rc = ask_groups(sql, kernels, &made->rows, err);
	sql_closep(&sql);
	view_close(&source);
	return rc;
}

/* The largest of the ratios that a row has. */
static void set_busiest(struct rows *rows)
{
	size_t busiest = rows_column(rows, "busiest");
	size_t columns[NP_COUNT(view_unit_ratios)];

	for (size_t i = 0; i < NP_COUNT(columns); i++)
		columns[i] = rows_column(rows, view_unit_ratios[i]);
	for (size_t row = 0; row < rows_count(rows); row++) {
		struct np_cell *cells = &rows->cells.item[row * rows->column_count];

		for (size_t i = 0; i < NP_COUNT(columns); i++) {
			if (cell_compare(&cells[busiest], &cells[columns[i]]) < 0)
				cells[busiest] = cells[columns[i]];
		}
	}
}

/* The larger of two ratios, or NaN. */
static double larger(const struct rows *rows, size_t row, const char *a, const char *b)
{
	double x = (double)NAN;
	double y = (double)NAN;

	(void)cell_number(rows_cell(rows, row, rows_column(rows, a)), &x);
	(void)cell_number(rows_cell(rows, row, rows_column(rows, b)), &y);
	return fmax(x, y);
}

/* Time in which data were moved: the two cores work at the same time. */
static void set_moving(struct rows *rows)
{
	size_t length = rows_column(rows, "dur_ns");
	size_t moving = rows_column(rows, "moving_ns");

	for (size_t row = 0; row < rows_count(rows); row++) {
		struct np_cell *cell = &rows->cells.item[row * rows->column_count + moving];
		double in = larger(rows, row, "aic_mte2_ratio", "aiv_mte2_ratio");
		double out = larger(rows, row, "aic_fixpipe_ratio", "aiv_mte3_ratio");
		double time;

		if (cell->type == NP_CELL_NULL && !(isnan(in) && isnan(out)) &&
		    cell_number(rows_cell(rows, row, length), &time))
			*cell = np_cell_real(time *
					     ((isnan(in) ? 0 : in) + (isnan(out) ? 0 : out)));
	}
}

/* Has the run steps at all? A run without is one step that has no id. */
static bool has_steps(struct fixture *fixture, const char *name)
{
	const struct fixture_view *steps = fixture_view(fixture, name);
	size_t step = steps ? rows_column(&steps->rows, "step") : SIZE_MAX;

	for (size_t row = 0; step != SIZE_MAX && row < rows_count(&steps->rows); row++) {
		if (rows_cell(&steps->rows, row, step)->type != NP_CELL_NULL)
			return true;
	}
	return false;
}

static void set_in_step(struct rows *rows, bool steps)
{
	size_t step = rows_column(rows, "step");
	size_t in_step = rows_column(rows, "in_step");

	for (size_t row = 0; in_step != SIZE_MAX && row < rows_count(rows); row++) {
		struct np_cell *cells = &rows->cells.item[row * rows->column_count];

		if (cells[in_step].type == NP_CELL_NULL)
			cells[in_step] =
				np_cell_integer(!steps || cells[step].type != NP_CELL_NULL);
	}
}

/* In all views of a run that tell it. */
static void set_all_in_step(struct fixture *fixture)
{
	for (size_t i = 0; i < fixture->views.count; i++) {
		struct fixture_view *view = &fixture->views.item[i];
		bool base = strncmp(view->name, VIEW_BASE_PREFIX, strlen(VIEW_BASE_PREFIX)) == 0;

		if (rows_column(&view->rows, "step") != SIZE_MAX)
			set_in_step(&view->rows,
				    has_steps(fixture, base ? VIEW_BASE_PREFIX "step" : "v_step"));
	}
}

int fixture_derive(struct fixture *fixture, struct np_err *err)
{
	static const char *const kernels[] = { "v_kernel", VIEW_BASE_PREFIX "kernel" };
	static const char *const groups[] = { "v_kernel_group", VIEW_BASE_PREFIX "kernel_group" };
	int rc = NP_OK;

	set_all_in_step(fixture);
	for (size_t i = 0; i < NP_COUNT(kernels) && rc >= 0; i++) {
		struct fixture_view *view = fixture_view(fixture, kernels[i]);

		if (view) {
			set_busiest(&view->rows);
			set_moving(&view->rows);
		}
		rc = add_groups(fixture, kernels[i], groups[i], err);
	}
	return rc;
}
