/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the tables of --view on the screen. */
#include "compare_report.h"

#include "npuprof/grid.h"
#include "npuprof/lang.h"
#include "npuprof/say.h"

#include <inttypes.h>

/*
 * The tables of --view on the screen: those of their columns that fit on it, under
 * short titles. Files have them all.
 */
#define MOST_COLUMNS 8

struct shown {
	const char *name; /* of the relation's column */
	const char *title;
};

static const struct {
	const char *relation;
	struct shown columns[MOST_COLUMNS];
	const char *only_if; /* rows in which this text is not empty, the others are alike */
} screens[] = {
	{ "kernel",
	  { { "Kernel", NP_MSG("kernel") },
	    { "Input Shape", NP_MSG("input shapes") },
	    { "Base Calls", NP_MSG("base calls") },
	    { "Base Total Duration(us)", NP_MSG("base us") },
	    { "Comparison Calls", NP_MSG("new calls") },
	    { "Comparison Total Duration(us)", NP_MSG("new us") },
	    { "Diff Total Ratio", NP_MSG("ratio") } },
	  NULL },
	{ "kernel-type",
	  { { "Kernel Type", NP_MSG("kernel type") },
	    { "Core Type", NP_MSG("core") },
	    { "Base Calls", NP_MSG("base calls") },
	    { "Base Total Duration(us)", NP_MSG("base us") },
	    { "Comparison Calls", NP_MSG("new calls") },
	    { "Comparison Total Duration(us)", NP_MSG("new us") },
	    { "Diff Total Ratio", NP_MSG("ratio") } },
	  NULL },
	{ "communication",
	  { { "Communication OP Name", NP_MSG("operator") },
	    { "Task Name", NP_MSG("task") },
	    { "Base Calls", NP_MSG("base calls") },
	    { "Base Total Duration(us)", NP_MSG("base us") },
	    { "Comparison Calls", NP_MSG("new calls") },
	    { "Comparison Total Duration(us)", NP_MSG("new us") },
	    { "Diff Duration(us)", NP_MSG("change us") } },
	  NULL },
	{ "api",
	  { { "api name", NP_MSG("call") },
	    { "Base Calls", NP_MSG("base calls") },
	    { "Base Total Duration(ms)", NP_MSG("base ms") },
	    { "Comparison Calls", NP_MSG("new calls") },
	    { "Comparison Total Duration(ms)", NP_MSG("new ms") },
	    { "Diff Total Ratio", NP_MSG("ratio") } },
	  NULL },
	{ "operator",
	  { { "Operator Name", NP_MSG("operator") },
	    { "Base Operator Number", NP_MSG("base calls") },
	    { "Base Device Duration(ms)", NP_MSG("base ms") },
	    { "Comparison Operator Number", NP_MSG("new calls") },
	    { "Comparison Device Duration(ms)", NP_MSG("new ms") },
	    { "Diff Duration(ms)", NP_MSG("change ms") } },
	  NULL },
	{ "operator_detail",
	  { { "Thread", NP_MSG("thread") },
	    { "Change", NP_MSG("change") },
	    { "Base Operator Name", NP_MSG("base operator") },
	    { "Base Device Duration(us)", NP_MSG("base us") },
	    { "Comparison Operator Name", NP_MSG("new operator") },
	    { "Comparison Device Duration(us)", NP_MSG("new us") },
	    { "Diff Duration(us)", NP_MSG("change us") } },
	  "Change" },
	{ "module",
	  { { "Module Name", NP_MSG("module") },
	    { "Operator Name", NP_MSG("operator") },
	    { "Base Device Total Time(ms)", NP_MSG("base ms") },
	    { "Comparison Device Total Time(ms)", NP_MSG("new ms") },
	    { "Device Total Time Diff(ms)", NP_MSG("change ms") } },
	  NULL },
	{ "module_detail",
	  { { "Module Name", NP_MSG("module") },
	    { "Change", NP_MSG("change") },
	    { "Base Operator Name", NP_MSG("base operator") },
	    { "Base Device Total Time(us)", NP_MSG("base us") },
	    { "Comparison Operator Name", NP_MSG("new operator") },
	    { "Comparison Device Total Time(us)", NP_MSG("new us") },
	    { "Device Total Time Diff(us)", NP_MSG("change us") } },
	  "Change" },
	{ "memory",
	  { { "Operator Name", NP_MSG("operator") },
	    { "Base Operator Number", NP_MSG("base calls") },
	    { "Base Allocated Memory(MB)", NP_MSG("base MB") },
	    { "Comparison Operator Number", NP_MSG("new calls") },
	    { "Comparison Allocated Memory(MB)", NP_MSG("new MB") },
	    { "Diff Memory(MB)", NP_MSG("change MB") } },
	  NULL },
};

struct grid_sink {
	struct np_sink base;
	struct np_grid *grid;
	size_t columns[MOST_COLUMNS]; /* of the relation */
	size_t column_count;
	size_t condition; /* likewise; SIZE_MAX for none */
	size_t left;      /* rows that still fit */
	size_t hidden;
	size_t alike;
};

static size_t find_column(const struct np_relation *relation, const char *name)
{
	for (size_t i = 0; name && i < relation->column_count; i++) {
		if (strcmp(relation->columns[i].name, name) == 0)
			return i;
	}
	return SIZE_MAX;
}

static void choose_columns(struct grid_sink *sink, const struct np_relation *relation,
			   struct np_grid_column *ret)
{
	size_t screen = 0;

	while (screen + 1 < NP_COUNT(screens) &&
	       strcmp(screens[screen].relation, relation->name) != 0)
		screen++;
	sink->condition = find_column(relation, screens[screen].only_if);
	for (size_t i = 0; i < MOST_COLUMNS && screens[screen].columns[i].name; i++) {
		size_t column = find_column(relation, screens[screen].columns[i].name);
		bool text = column != SIZE_MAX && relation->columns[column].type == NP_TEXT;

		if (column == SIZE_MAX)
			continue;
		ret[sink->column_count] =
			(struct np_grid_column){ screens[screen].columns[i].title,
						 text ? NP_LEFT : NP_RIGHT, text };
		sink->columns[sink->column_count++] = column;
	}
}

static int grid_begin(struct np_sink *sink, const struct np_relation *relation, struct np_err *err)
{
	struct grid_sink *own = (struct grid_sink *)sink;
	struct np_grid_column columns[MOST_COLUMNS];

	choose_columns(own, relation, columns);
	own->grid = np_grid_new(columns, own->column_count);
	return own->grid ? NP_OK : np_fail_nomem(err, "a view");
}

static int grid_row(struct np_sink *sink, const struct np_cell *cells, struct np_err *err)
{
	struct grid_sink *own = (struct grid_sink *)sink;

	(void)err;
	if (own->condition != SIZE_MAX && cells[own->condition].text.length == 0) {
		own->alike++;
		return NP_OK;
	}
	if (own->left == 0) {
		own->hidden++;
		return NP_OK;
	}
	own->left--;
	for (size_t i = 0; i < own->column_count; i++) {
		const struct np_cell *cell = &cells[own->columns[i]];

		if (cell->type == NP_CELL_INTEGER)
			np_grid_printf(own->grid, "%" PRId64, cell->integer);
		else if (cell->type == NP_CELL_REAL)
			np_grid_printf(own->grid, "%.5g", cell->real);
		else if (cell->type == NP_CELL_TEXT)
			np_grid_printf(own->grid, "%.*s", (int)cell->text.length, cell->text.bytes);
		else
			np_grid_cell(own->grid, "");
	}
	return NP_OK;
}

static int grid_end(struct np_sink *sink, struct np_err *err)
{
	(void)sink;
	(void)err;
	return NP_OK;
}

static void put_rest(struct np_buf *buf, const struct grid_sink *sink, const char *relation)
{
	if (sink->hidden)
		np_say(buf, "  … and {1} more: -f csv --table {2}, or --top\n",
		       NP_SAID_INT(sink->hidden), NP_SAID_TEXT(relation));
	if (sink->alike)
		np_say(buf, "  {1} are the same on both sides\n", NP_SAID_INT(sink->alike));
}

int compare_put_views(const struct compare_report *report, struct np_buf *buf, bool markdown,
		      struct np_err *err)
{
	int rc = NP_OK;

	for (size_t i = 0; compare_relations[i] && rc == NP_OK; i++) {
		const struct np_relation *relation = compare_relations[i];
		struct grid_sink sink = { .base = { grid_begin, grid_row, grid_end },
					  .left = report->top };

		if (compare_view_of(relation->name) == CMP_VIEWS ||
		    !compare_relation_applies(relation, report))
			continue;
		rc = np_relation_write(relation, report, &sink.base, err);
		np_buf_printf(buf, markdown ? "\n## %s\n\n" : "\n%s\n",
			      np_lang_text(relation->summary));
		if (rc == NP_OK)
			rc = markdown ? np_grid_write_markdown(sink.grid, buf, err)
				      : np_grid_write(sink.grid, buf, 2, report->width,
						      report->color, err);
		put_rest(buf, &sink, relation->name);
		np_grid_free(sink.grid);
	}
	return rc;
}
