/* SPDX-License-Identifier: Apache-2.0 */
/* Defines the tables of --view with the columns that users of the vendor's tool know. */
#include "tables.h"

#include <math.h>

/*
 * The tables of --view: the columns that users know, in their units, base first.
 * Figures are per step; ratios are of the exact figures, and null where the base
 * has nothing.
 */
static double per_cell(const struct comparison *comparison, enum cmp_which which, int64_t sum,
		       double unit)
{
	return (double)sum / (double)comparison->sides[which].cells / unit;
}

struct np_cell compare_ratio(double base, double new_)
{
	return base > 0 ? np_cell_real(new_ / base) : np_cell_null();
}

struct np_cell compare_text_cell(const struct comparison *comparison, np_str text)
{
	const char *known = cmp_text(comparison, text);

	return np_cell_text(known ? known : "N/A");
}

typedef int put_row(const struct comparison *comparison, const struct cmp_row *row, size_t order,
		    struct np_sink *sink, struct np_err *err);

static int put_rows(const void *model, enum cmp_view view, put_row *put, struct np_sink *sink,
		    struct np_err *err)
{
	const struct compare_report *report = model;
	const struct cmp_rows *rows = &report->views->rows[view];
	int rc = NP_OK;

	for (size_t i = 0; i < rows->list.count && rc == NP_OK; i++)
		rc = put(report->comparison, &rows->list.item[i], i + 1, sink, err);
	return rc;
}

/* --- kernels --------------------------------------------------------------------------------- */

#define KERNEL_SIDE(side) \
	{ side " Total Duration(us)", NP_REAL }, { side " Avg Duration(us)", NP_REAL }, \
		{ side " Max Duration(us)", NP_REAL }, { side " Min Duration(us)", NP_REAL }, \
	{ \
		side " Calls", NP_REAL \
	}

static const struct np_column kernel_columns[] = {
	{ "Order Id", NP_INTEGER },    { "Kernel", NP_TEXT },     { "Input Shape", NP_TEXT },
	KERNEL_SIDE("Base"),           KERNEL_SIDE("Comparison"), { "Diff Total Ratio", NP_REAL },
	{ "Diff Avg Ratio", NP_REAL },
};

static const struct np_column kernel_type_columns[] = {
	{ "Order Id", NP_INTEGER },    { "Kernel Type", NP_TEXT }, { "Core Type", NP_TEXT },
	KERNEL_SIDE("Base"),           KERNEL_SIDE("Comparison"),  { "Diff Total Ratio", NP_REAL },
	{ "Diff Avg Ratio", NP_REAL },
};

#define SIDE_CELLS 5

/* Total per step, mean, most, least and number per step; null for a side that has none. */
static void side_cells(const struct comparison *comparison, const struct cmp_row *row,
		       enum cmp_which which, struct np_cell cells[SIDE_CELLS])
{
	const struct cmp_tally *side = &row->side[which];
	bool any = side->count > 0;

	cells[0] =
		any ? np_cell_real(per_cell(comparison, which, side->total, 1e3)) : np_cell_null();
	cells[1] = any ? np_cell_real((double)side->total / (double)side->count / 1e3)
		       : np_cell_null();
	cells[2] = np_cell_scaled(side->most, 1e3);
	cells[3] = np_cell_scaled(side->least, 1e3);
	cells[4] = np_cell_real(per_cell(comparison, which, side->count, 1));
}

static double mean_of(const struct cmp_tally *tally)
{
	return tally->count > 0 ? (double)tally->total / (double)tally->count : 0;
}

static struct np_cell total_ratio(const struct comparison *comparison, const struct cmp_row *row)
{
	return compare_ratio(per_cell(comparison, CMP_BASE, row->side[CMP_BASE].total, 1),
			     per_cell(comparison, CMP_NEW, row->side[CMP_NEW].total, 1));
}

static int put_kernel(const struct comparison *comparison, const struct cmp_row *row, size_t order,
		      struct np_sink *sink, struct np_err *err)
{
	struct np_cell cells[NP_COUNT(kernel_columns)];

	cells[0] = np_cell_integer((int64_t)order);
	cells[1] = np_cell_text(cmp_text(comparison, row->key[0]));
	cells[2] = compare_text_cell(comparison, row->key[1]);
	side_cells(comparison, row, CMP_BASE, &cells[3]);
	side_cells(comparison, row, CMP_NEW, &cells[3 + SIDE_CELLS]);
	cells[3 + 2 * SIDE_CELLS] = total_ratio(comparison, row);
	cells[4 + 2 * SIDE_CELLS] =
		compare_ratio(mean_of(&row->side[CMP_BASE]), mean_of(&row->side[CMP_NEW]));
	return np_sink_row(sink, cells, err);
}

static int put_kernels(const void *model, struct np_sink *sink, struct np_err *err)
{
	return put_rows(model, CMP_VIEW_KERNEL, put_kernel, sink, err);
}

static int put_kernel_types(const void *model, struct np_sink *sink, struct np_err *err)
{
	return put_rows(model, CMP_VIEW_KERNEL_TYPE, put_kernel, sink, err);
}

/* --- communication --------------------------------------------------------------------------- */

#define COMM_SIDE(side) \
	{ side " Calls", NP_REAL }, { side " Total Duration(us)", NP_REAL }, \
		{ side " Avg Duration(us)", NP_REAL }, { side " Max Duration(us)", NP_REAL }, \
	{ \
		side " Min Duration(us)", NP_REAL \
	}

static const struct np_column comm_columns[] = {
	{ "Order Id", NP_INTEGER }, { "Communication OP Name", NP_TEXT },
	{ "Task Name", NP_TEXT },   COMM_SIDE("Base"),
	COMM_SIDE("Comparison"),    { "Diff Duration(us)", NP_REAL },
	{ "Diff Ratio", NP_REAL },
};

static int put_comm(const struct comparison *comparison, const struct cmp_row *row, size_t order,
		    struct np_sink *sink, struct np_err *err)
{
	struct np_cell cells[NP_COUNT(comm_columns)];
	struct np_cell side[SIDE_CELLS];

	cells[0] = np_cell_integer((int64_t)order);
	cells[1] = np_cell_text(cmp_text(comparison, row->key[0]));
	cells[2] = np_cell_text(cmp_text(comparison, row->key[1]));
	for (int which = 0; which < CMP_SIDES; which++) {
		struct np_cell *to = &cells[3 + which * SIDE_CELLS];

		side_cells(comparison, row, (enum cmp_which)which, side);
		to[0] = side[4];
		to[1] = side[0];
		to[2] = side[1];
		to[3] = side[2];
		to[4] = side[3];
	}
	cells[3 + 2 * SIDE_CELLS] =
		np_cell_real(per_cell(comparison, CMP_NEW, row->side[CMP_NEW].total, 1e3) -
			     per_cell(comparison, CMP_BASE, row->side[CMP_BASE].total, 1e3));
	cells[4 + 2 * SIDE_CELLS] = total_ratio(comparison, row);
	return np_sink_row(sink, cells, err);
}

static int put_comms(const void *model, struct np_sink *sink, struct np_err *err)
{
	return put_rows(model, CMP_VIEW_COMMUNICATION, put_comm, sink, err);
}

/* --- calls of the framework ------------------------------------------------------------------ */

#define API_SIDE(side) \
	{ side " Total Duration(ms)", NP_REAL }, { side " Self Time(ms)", NP_REAL }, \
		{ side " Avg Duration(ms)", NP_REAL }, \
	{ \
		side " Calls", NP_REAL \
	}

static const struct np_column api_columns[] = {
	{ "Order Id", NP_INTEGER },
	{ "api name", NP_TEXT },
	API_SIDE("Base"),
	API_SIDE("Comparison"),
	{ "Diff Total Ratio", NP_REAL },
	{ "Diff Self Ratio", NP_REAL },
	{ "Diff Avg Ratio", NP_REAL },
	{ "Diff Calls Ratio", NP_REAL },
};

static int put_api(const struct comparison *comparison, const struct cmp_row *row, size_t order,
		   struct np_sink *sink, struct np_err *err)
{
	struct np_cell cells[NP_COUNT(api_columns)];
	double figures[CMP_SIDES][4];

	cells[0] = np_cell_integer((int64_t)order);
	cells[1] = np_cell_text(cmp_text(comparison, row->key[0]));
	for (int which = 0; which < CMP_SIDES; which++) {
		const struct cmp_tally *side = &row->side[which];

		figures[which][0] = per_cell(comparison, (enum cmp_which)which, side->total, 1e6);
		figures[which][1] = per_cell(comparison, (enum cmp_which)which, side->self, 1e6);
		figures[which][2] = mean_of(side) / 1e6;
		figures[which][3] = per_cell(comparison, (enum cmp_which)which, side->count, 1);
		for (int i = 0; i < 4; i++)
			cells[2 + which * 4 + i] = side->count > 0 || i == 3
							   ? np_cell_real(figures[which][i])
							   : np_cell_null();
	}
	for (int i = 0; i < 4; i++)
		cells[10 + i] = compare_ratio(figures[CMP_BASE][i], figures[CMP_NEW][i]);
	return np_sink_row(sink, cells, err);
}

static int put_apis(const void *model, struct np_sink *sink, struct np_err *err)
{
	return put_rows(model, CMP_VIEW_API, put_api, sink, err);
}

/* --- operators and modules ------------------------------------------------------------------- */

static const struct np_column operator_columns[] = {
	{ "Top", NP_INTEGER },
	{ "Operator Name", NP_TEXT },
	{ "Base Device Duration(ms)", NP_REAL },
	{ "Base Operator Number", NP_REAL },
	{ "Comparison Device Duration(ms)", NP_REAL },
	{ "Comparison Operator Number", NP_REAL },
	{ "Diff Duration(ms)", NP_REAL },
	{ "Diff Ratio", NP_REAL },
};

static int put_operator(const struct comparison *comparison, const struct cmp_row *row,
			size_t order, struct np_sink *sink, struct np_err *err)
{
	double base = per_cell(comparison, CMP_BASE, row->side[CMP_BASE].total, 1e6);
	double new_ = per_cell(comparison, CMP_NEW, row->side[CMP_NEW].total, 1e6);
	const struct np_cell cells[] = {
		np_cell_integer((int64_t)order),
		np_cell_text(cmp_text(comparison, row->key[0])),
		np_cell_real(base),
		np_cell_real(per_cell(comparison, CMP_BASE, row->side[CMP_BASE].count, 1)),
		np_cell_real(new_),
		np_cell_real(per_cell(comparison, CMP_NEW, row->side[CMP_NEW].count, 1)),
		np_cell_real(new_ - base),
		compare_ratio(base, new_),
	};

	return np_sink_row(sink, cells, err);
}

static int put_operators(const void *model, struct np_sink *sink, struct np_err *err)
{
	return put_rows(model, CMP_VIEW_OPERATOR, put_operator, sink, err);
}

#define MODULE_SIDE(side) \
	{ side " Device Self Time(ms)", NP_REAL }, { side " Number", NP_REAL }, \
	{ \
		side " Device Total Time(ms)", NP_REAL \
	}

static const struct np_column module_columns[] = {
	{ "Order Id", NP_INTEGER },
	{ "Module Class", NP_TEXT },
	{ "Module Level", NP_INTEGER },
	{ "Module Name", NP_TEXT },
	{ "Operator Name", NP_TEXT },
	MODULE_SIDE("Base"),
	MODULE_SIDE("Comparison"),
	{ "Device Total Time Diff(ms)", NP_REAL },
	{ "Device Self Time Diff(ms)", NP_REAL },
	{ "Diff Total Ratio", NP_REAL },
};

/* The last part of a path without the number of the instance behind it. */
struct np_cell compare_module_class(const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	size_t length = strlen(name);
	size_t digits = length;

	while (digits > 0 && name[digits - 1] >= '0' && name[digits - 1] <= '9')
		digits--;
	if (digits < length && digits > 1 && name[digits - 1] == '_')
		length = digits - 1;
	return np_cell_bytes(name, length);
}

int64_t compare_module_level(const char *path)
{
	int64_t level = 0;

	for (; *path; path++)
		level += *path == '/';
	return level;
}

static int put_module(const struct comparison *comparison, const struct cmp_row *row, size_t order,
		      struct np_sink *sink, struct np_err *err)
{
	const char *path = cmp_text(comparison, row->key[0]);
	double total[CMP_SIDES];
	double self[CMP_SIDES];
	double count[CMP_SIDES];

	for (int i = 0; i < CMP_SIDES; i++) {
		total[i] = per_cell(comparison, (enum cmp_which)i, row->side[i].total, 1e6);
		self[i] = per_cell(comparison, (enum cmp_which)i, row->side[i].self, 1e6);
		count[i] = per_cell(comparison, (enum cmp_which)i, row->side[i].count, 1);
	}
	return np_sink_row(sink,
			   (const struct np_cell[]){
				   np_cell_integer((int64_t)order),
				   compare_module_class(path),
				   np_cell_integer(compare_module_level(path)),
				   np_cell_text(path),
				   np_cell_text(row->key[1] == NP_STR_NONE
							? COMPARE_MODULE_TOTAL
							: cmp_text(comparison, row->key[1])),
				   np_cell_real(self[0]),
				   np_cell_real(count[0]),
				   np_cell_real(total[0]),
				   np_cell_real(self[1]),
				   np_cell_real(count[1]),
				   np_cell_real(total[1]),
				   np_cell_real(total[1] - total[0]),
				   np_cell_real(self[1] - self[0]),
				   compare_ratio(total[0], total[1]),
			   },
			   err);
}

static int put_modules(const void *model, struct np_sink *sink, struct np_err *err)
{
	return put_rows(model, CMP_VIEW_MODULE, put_module, sink, err);
}

/* --- memory ---------------------------------------------------------------------------------- */

static const struct np_column memory_columns[] = {
	{ "Top", NP_INTEGER },
	{ "Operator Name", NP_TEXT },
	{ "Base Allocated Duration(ms)", NP_REAL },
	{ "Base Allocated Memory(MB)", NP_REAL },
	{ "Base Operator Number", NP_REAL },
	{ "Comparison Allocated Duration(ms)", NP_REAL },
	{ "Comparison Allocated Memory(MB)", NP_REAL },
	{ "Comparison Operator Number", NP_REAL },
	{ "Diff Memory(MB)", NP_REAL },
	{ "Diff Ratio", NP_REAL },
};

static int put_memory(const struct comparison *comparison, const struct cmp_row *row, size_t order,
		      struct np_sink *sink, struct np_err *err)
{
	const double mib = 1024.0 * 1024.0;
	double base = per_cell(comparison, CMP_BASE, row->side[CMP_BASE].bytes, mib);
	double new_ = per_cell(comparison, CMP_NEW, row->side[CMP_NEW].bytes, mib);
	const struct np_cell cells[] = {
		np_cell_integer((int64_t)order),
		np_cell_text(cmp_text(comparison, row->key[0])),
		np_cell_real(per_cell(comparison, CMP_BASE, row->side[CMP_BASE].total, 1e6)),
		np_cell_real(base),
		np_cell_real(per_cell(comparison, CMP_BASE, row->side[CMP_BASE].count, 1)),
		np_cell_real(per_cell(comparison, CMP_NEW, row->side[CMP_NEW].total, 1e6)),
		np_cell_real(new_),
		np_cell_real(per_cell(comparison, CMP_NEW, row->side[CMP_NEW].count, 1)),
		np_cell_real(new_ - base),
		compare_ratio(base, new_),
	};

	return np_sink_row(sink, cells, err);
}

static int put_memories(const void *model, struct np_sink *sink, struct np_err *err)
{
	return put_rows(model, CMP_VIEW_MEMORY, put_memory, sink, err);
}

const struct np_relation compare_view_relations[CMP_VIEWS] = {
	[CMP_VIEW_KERNEL] = { "kernel", "kernels by type and shape", kernel_columns,
			      NP_COUNT(kernel_columns), put_kernels },
	[CMP_VIEW_KERNEL_TYPE] = { "kernel-type", "kernels by type and core", kernel_type_columns,
				   NP_COUNT(kernel_type_columns), put_kernel_types },
	[CMP_VIEW_COMMUNICATION] = { "communication", "collectives and their small tasks",
				     comm_columns, NP_COUNT(comm_columns), put_comms },
	[CMP_VIEW_API] = { "api", "operators of the framework on the host", api_columns,
			   NP_COUNT(api_columns), put_apis },
	[CMP_VIEW_OPERATOR] = { "operator", "device time of outermost operators", operator_columns,
				NP_COUNT(operator_columns), put_operators },
	[CMP_VIEW_MODULE] = { "module", "device time of modules", module_columns,
			      NP_COUNT(module_columns), put_modules },
	[CMP_VIEW_MEMORY] = { "memory", "allocations by operator", memory_columns,
			      NP_COUNT(memory_columns), put_memories },
};
