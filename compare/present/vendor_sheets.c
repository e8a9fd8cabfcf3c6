/* SPDX-License-Identifier: Apache-2.0 */
/* Defines the sheets of msprof-analyze's workbook: which columns of which tables of ours they are.
 */
#include "vendor_sheets.h"

#include "tables.h"

#include "npuprof/text.h"

#include <string.h>

/* --- sheets ---------------------------------------------------------------------------------- */

static bool is_none(const struct np_cell *cell)
{
	return cell->type == NP_CELL_NULL || (cell->type == NP_CELL_REAL && cell->real == 0) ||
	       (cell->type == NP_CELL_INTEGER && cell->integer == 0);
}

enum {
	COMM_SIDE = 7,
	COMM_DIFF = 15
};

/* A side without such operators has no name; the rows of sub-tasks have '|' for one. */
static void adapt_comm(struct np_cell *cells)
{
	bool task = cells[2].type != NP_CELL_NULL;

	for (int side = 0; side < CMP_SIDES; side++) {
		struct np_cell *own = &cells[1 + side * COMM_SIDE];
		bool none = is_none(&own[2]);

		if (task)
			own[0] = np_cell_text("|");
		for (int i = 0; i < COMM_SIDE && none; i++)
			own[i] = np_cell_null();
		if (none && !task)
			own[3] = np_cell_real(0);
	}
	if (task)
		cells[COMM_DIFF] = cells[COMM_DIFF + 1] = np_cell_null();
}

#define BASE "Base "
#define NEW  "Comparison "

#define COMM_COLUMNS(side) \
	{ "Communication OP Name", "Communication OP Name" }, { "Task Name", "Task Name" }, \
		{ "Calls", side "Calls" }, { "Total Duration(us)", side "Total Duration(us)" }, \
		{ "Avg Duration(us)", side "Avg Duration(us)" }, \
		{ "Max Duration(us)", side "Max Duration(us)" }, \
	{ \
		"Min Duration(us)", side "Min Duration(us)" \
	}

#define MODULE_COLUMNS(side) \
	{ "Kernel Details", NULL }, { "Device Self Time(ms)", side "Device Self Time(ms)" }, \
		{ "Number", side "Number" }, \
	{ \
		"Device Total Time(ms)", side "Device Total Time(ms)" \
	}

#define CALL_COLUMNS(side) \
	{ "Operator Name", side "Operator Name" }, { "Kernel Details", side "Kernel Details" }, \
		{ "Device Self Time(us)", side "Device Self Time(us)" }, \
	{ \
		"Device Total Time(us)", side "Device Total Time(us)" \
	}

#define OPERATOR_COLUMNS(side) \
	{ "Operator Name", side "Operator Name" }, { "Input Shape", side "Input Shape" }, \
		{ "Input Type", side "Input Type" }, { "Kernel Details", side "Kernel Details" }, \
	{ \
		"Device Duration(us)", side "Device Duration(us)" \
	}

#define API_COLUMNS(side) \
	{ "Total Duration(ms)", side "Total Duration(ms)" }, \
		{ "Self Time(ms)", side "Self Time(ms)" }, \
		{ "Avg Duration(ms)", side "Avg Duration(ms)" }, \
	{ \
		"Calls", side "Calls" \
	}

#define KERNEL_COLUMNS(side) \
	{ "Total Duration(us)", side "Total Duration(us)" }, \
		{ "Avg Duration(us)", side "Avg Duration(us)" }, \
		{ "Max Duration(us)", side "Max Duration(us)" }, \
		{ "Min Duration(us)", side "Min Duration(us)" }, \
	{ \
		"Calls", side "Calls" \
	}

#define SAME(name) \
	{ \
		name, name \
	}

const struct vendor_sheet vendor_sheets[] = {
	{ .name = "OverallMetrics",
	  .from = &compare_overall,
	  .view = CMP_VIEWS,
	  .outline = true,
	  .side_from = { 1, 4 },
	  .side_count = 3,
	  .columns = { SAME("Index"),
		       { "Duration(ms)", BASE "Duration(ms)" },
		       { "Duration Ratio", BASE "Duration Ratio" },
		       { "Number", BASE "Number" },
		       { "Duration(ms)", NEW "Duration(ms)" },
		       { "Duration Ratio", NEW "Duration Ratio" },
		       { "Number", NEW "Number" },
		       SAME("Diff Duration(ms)"),
		       SAME("Diff Ratio") } },
	{ .name = "CommunicationCompare",
	  .from = &compare_view_relations[CMP_VIEW_COMMUNICATION],
	  .view = CMP_VIEW_COMMUNICATION,
	  .side_from = { 1, 8 },
	  .side_count = 7,
	  .adapt = adapt_comm,
	  .columns = { SAME("Order Id"), COMM_COLUMNS(BASE), COMM_COLUMNS(NEW),
		       SAME("Diff Duration(us)"), SAME("Diff Ratio") } },
	{ .name = "ModuleCompareStatistic",
	  .from = &compare_view_relations[CMP_VIEW_MODULE],
	  .view = CMP_VIEW_MODULE,
	  .side_from = { 5, 9 },
	  .side_count = 4,
	  .columns = { SAME("Order Id"),
		       SAME("Module Class"),
		       SAME("Module Level"),
		       SAME("Module Name"),
		       SAME("Operator Name"),
		       MODULE_COLUMNS(BASE),
		       MODULE_COLUMNS(NEW),
		       SAME("Device Total Time Diff(ms)"),
		       SAME("Device Self Time Diff(ms)"),
		       SAME("Diff Total Ratio"),
		       { "Base Call Stack", NULL },
		       { "Comparison Call Stack", NULL } } },
	{ .name = "ModuleCompare",
	  .from = &compare_module_detail,
	  .view = CMP_VIEW_MODULE,
	  .detail = true,
	  .side_from = { 4, 8 },
	  .side_count = 4,
	  .columns = { SAME("Order Id"), SAME("Module Class"), SAME("Module Level"),
		       SAME("Module Name"), CALL_COLUMNS(BASE), CALL_COLUMNS(NEW),
		       SAME("Device Total Time Diff(us)"), SAME("Device Self Time Diff(us)"),
		       SAME("Diff Total Ratio"), SAME("Base Call Stack"),
		       SAME("Comparison Call Stack"), SAME("Change") } },
	{ .name = "OperatorCompareStatistic",
	  .from = &compare_view_relations[CMP_VIEW_OPERATOR],
	  .view = CMP_VIEW_OPERATOR,
	  .side_from = { 2, 4 },
	  .side_count = 2,
	  .columns = { SAME("Top"), SAME("Operator Name"), SAME("Base Device Duration(ms)"),
		       SAME("Base Operator Number"), SAME("Comparison Device Duration(ms)"),
		       SAME("Comparison Operator Number"), SAME("Diff Duration(ms)"),
		       SAME("Diff Ratio") } },
	{ .name = "OperatorCompare",
	  .from = &compare_operator_detail,
	  .view = CMP_VIEW_OPERATOR,
	  .detail = true,
	  .side_from = { 1, 6 },
	  .side_count = 5,
	  .columns = { SAME("Order Id"), OPERATOR_COLUMNS(BASE), OPERATOR_COLUMNS(NEW),
		       SAME("Diff Duration(us)"), SAME("Diff Ratio"), SAME("Thread"),
		       SAME("Module Name"), SAME("Change") } },
	{ .name = "MemoryCompareStatistic",
	  .from = &compare_view_relations[CMP_VIEW_MEMORY],
	  .view = CMP_VIEW_MEMORY,
	  .side_from = { 2, 5 },
	  .side_count = 3,
	  .columns = { SAME("Top"), SAME("Operator Name"), SAME("Base Allocated Duration(ms)"),
		       SAME("Base Allocated Memory(MB)"), SAME("Base Operator Number"),
		       SAME("Comparison Allocated Duration(ms)"),
		       SAME("Comparison Allocated Memory(MB)"), SAME("Comparison Operator Number"),
		       SAME("Diff Memory(MB)"), SAME("Diff Ratio") } },
	{ .name = "ApiCompare",
	  .from = &compare_view_relations[CMP_VIEW_API],
	  .view = CMP_VIEW_API,
	  .side_from = { 2, 6 },
	  .side_count = 4,
	  .columns = { SAME("Order Id"), SAME("api name"), API_COLUMNS(BASE), API_COLUMNS(NEW),
		       SAME("Diff Total Ratio"), SAME("Diff Self Ratio"), SAME("Diff Avg Ratio"),
		       SAME("Diff Calls Ratio") } },
	{ .name = "KernelCompare",
	  .from = &compare_view_relations[CMP_VIEW_KERNEL],
	  .view = CMP_VIEW_KERNEL,
	  .side_from = { 3, 8 },
	  .side_count = 5,
	  .columns = { SAME("Order Id"), SAME("Kernel"), SAME("Input Shape"), KERNEL_COLUMNS(BASE),
		       KERNEL_COLUMNS(NEW), SAME("Diff Total Ratio"), SAME("Diff Avg Ratio") } },
	{ .name = "KernelTypeCompare",
	  .from = &compare_view_relations[CMP_VIEW_KERNEL_TYPE],
	  .view = CMP_VIEW_KERNEL_TYPE,
	  .side_from = { 3, 8 },
	  .side_count = 5,
	  .columns = { SAME("Order Id"), SAME("Kernel Type"), SAME("Core Type"),
		       KERNEL_COLUMNS(BASE), KERNEL_COLUMNS(NEW), SAME("Diff Total Ratio"),
		       SAME("Diff Avg Ratio") } },
};

const size_t vendor_sheet_count = NP_COUNT(vendor_sheets);

/* --- choosing columns ------------------------------------------------------------------------ */

/* Takes the rows of a table, and gives those of the sheet to the sink behind it. */
struct choosing_sink {
	struct np_sink base;
	struct np_sink *next;
	const struct vendor_sheet *sheet;
	struct np_column columns[VENDOR_COLUMNS_MOST];
	size_t source[VENDOR_COLUMNS_MOST]; /* index of the column; SIZE_MAX: none */
	size_t count;
	struct np_relation relation;
};

static size_t find_source(const struct np_relation *from, const char *name)
{
	for (size_t i = 0; name && i < from->column_count; i++) {
		if (strcmp(from->columns[i].name, name) == 0)
			return i;
	}
	return SIZE_MAX;
}

static int begin(struct np_sink *sink, const struct np_relation *from, struct np_err *err)
{
	struct choosing_sink *own = (struct choosing_sink *)sink;
	const struct vendor_column *columns = own->sheet->columns;

	for (; own->count < VENDOR_COLUMNS_MOST && columns[own->count].header; own->count++) {
		size_t i = own->count;

		own->source[i] = find_source(from, columns[i].source);
		own->columns[i] = (struct np_column){
			columns[i].header,
			own->source[i] == SIZE_MAX ? NP_TEXT : from->columns[own->source[i]].type
		};
	}
	own->relation = *from;
	own->relation.name = own->sheet->name;
	own->relation.columns = own->columns;
	own->relation.column_count = own->count;
	return own->next->begin(own->next, &own->relation, err);
}

/* As the old tool has them: differences of two digits, ratios of four, INF where there was none. */
static struct np_cell cell_of(const struct np_cell *cell, const char *header)
{
	bool ratio = strstr(header, "Ratio");

	if (strncmp(header, "Diff ", 5) != 0 && !strstr(header, " Diff("))
		return *cell;
	if (cell->type == NP_CELL_NULL && ratio)
		return np_cell_text("INF");
	return cell->type == NP_CELL_REAL ? np_cell_real(np_round(cell->real, ratio ? 4 : 2) + 0.0)
					  : *cell;
}

static int row(struct np_sink *sink, const struct np_cell *cells, struct np_err *err)
{
	struct choosing_sink *own = (struct choosing_sink *)sink;
	struct np_cell chosen[VENDOR_COLUMNS_MOST];

	for (size_t i = 0; i < own->count; i++)
		chosen[i] = own->source[i] == SIZE_MAX
				    ? np_cell_null()
				    : cell_of(&cells[own->source[i]], own->columns[i].name);
	if (own->sheet->adapt)
		own->sheet->adapt(chosen);
	return own->next->row(own->next, chosen, err);
}

static int end(struct np_sink *sink, struct np_err *err)
{
	struct choosing_sink *own = (struct choosing_sink *)sink;

	return own->next->end(own->next, err);
}

int vendor_sheet_write(const struct vendor_sheet *sheet, const struct compare_report *report,
		       struct np_sink *sink, struct np_err *err)
{
	struct choosing_sink own = { .base = { begin, row, end }, .next = sink, .sheet = sheet };

	return np_relation_write(sheet->from, report, &own.base, err);
}

/* --- which there are ------------------------------------------------------------------------- */

static int count_begin(struct np_sink *sink, const struct np_relation *relation, struct np_err *err)
{
	(void)sink;
	(void)relation;
	(void)err;
	return NP_OK;
}

struct counting_sink {
	struct np_sink base;
	size_t rows;
};

static int count_row(struct np_sink *sink, const struct np_cell *cells, struct np_err *err)
{
	(void)cells;
	(void)err;
	((struct counting_sink *)sink)->rows++;
	return NP_OK;
}

static int count_end(struct np_sink *sink, struct np_err *err)
{
	(void)sink;
	(void)err;
	return NP_OK;
}

int vendor_sheet_applies(const struct vendor_sheet *sheet, const struct compare_report *report,
			 bool *ret, struct np_err *err)
{
	struct counting_sink count = { { count_begin, count_row, count_end }, 0 };
	int rc = NP_OK;

	*ret = false;
	if ((sheet->view != CMP_VIEWS && !(report->views->wanted >> sheet->view & 1)) ||
	    (sheet->detail && report->no_details))
		return NP_OK;
	rc = np_relation_write(sheet->from, report, &count.base, err);
	*ret = count.rows > 0;
	return rc;
}
