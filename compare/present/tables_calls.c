/* SPDX-License-Identifier: Apache-2.0 */
/* Defines the tables of one step call by call: a row for each call and its partner. */
#include "tables.h"

/* One step of the first pair of ranks, call by call: a row for each call and its partner. */

static struct np_cell side_text(const struct comparison *comparison,
				const struct cmp_aligned_side *side, np_str text)
{
	return side->name == NP_STR_NONE ? np_cell_null() : compare_text_cell(comparison, text);
}

static struct np_cell micros(const struct cmp_aligned_side *side, np_ns ns)
{
	return side->name == NP_STR_NONE ? np_cell_null() : np_cell_real((double)ns / 1e3);
}

/* Where a call got slower, who called it. */
static struct np_cell stack_of(const struct cmp_aligned *row, enum cmp_which which)
{
	return row->side[CMP_NEW].total > row->side[CMP_BASE].total
		       ? np_cell_text(row->side[which].stack)
		       : np_cell_null();
}

#define OPERATOR_SIDE(side) \
	{ side " Operator Name", NP_TEXT }, { side " Input Shape", NP_TEXT }, \
		{ side " Input Type", NP_TEXT }, { side " Kernel Details", NP_TEXT }, \
	{ \
		side " Device Duration(us)", NP_REAL \
	}

static const struct np_column operator_detail_columns[] = {
	{ "Order Id", NP_INTEGER },
	{ "Thread", NP_INTEGER },
	{ "Module Name", NP_TEXT },
	{ "Change", NP_TEXT },
	OPERATOR_SIDE("Base"),
	OPERATOR_SIDE("Comparison"),
	{ "Diff Duration(us)", NP_REAL },
	{ "Diff Ratio", NP_REAL },
	{ "Base Call Stack", NP_TEXT },
	{ "Comparison Call Stack", NP_TEXT },
};

static void operator_side(const struct comparison *comparison, const struct cmp_aligned_side *side,
			  struct np_cell cells[5])
{
	cells[0] = side_text(comparison, side, side->name);
	cells[1] = side_text(comparison, side, side->shapes);
	cells[2] = side_text(comparison, side, side->dtypes);
	cells[3] = np_cell_text(side->kernels);
	cells[4] = micros(side, side->total);
}

static int put_operator_detail(const void *model, struct np_sink *sink, struct np_err *err)
{
	const struct compare_report *report = model;
	const struct comparison *comparison = report->comparison;
	const struct cmp_alignment *alignment = &report->views->alignment;
	int64_t order = 0;
	int rc = NP_OK;

	for (size_t i = 0; i < alignment->rows.count && rc == NP_OK; i++) {
		const struct cmp_aligned *row = &alignment->rows.item[i];
		double base = (double)row->side[CMP_BASE].total;
		double new_ = (double)row->side[CMP_NEW].total;
		struct np_cell cells[NP_COUNT(operator_detail_columns)];

		if (row->module)
			continue;
		cells[0] = np_cell_integer(++order);
		cells[1] = np_cell_integer(row->thread);
		cells[2] = np_cell_text(cmp_text(comparison, row->path));
		cells[3] = np_cell_text(row->change);
		operator_side(comparison, &row->side[CMP_BASE], &cells[4]);
		operator_side(comparison, &row->side[CMP_NEW], &cells[9]);
		cells[14] = np_cell_real((new_ - base) / 1e3);
		cells[15] = compare_ratio(base, new_);
		cells[16] = stack_of(row, CMP_BASE);
		cells[17] = stack_of(row, CMP_NEW);
		rc = np_sink_row(sink, cells, err);
	}
	return rc;
}

#define CALL_SIDE(side) \
	{ side " Operator Name", NP_TEXT }, { side " Kernel Details", NP_TEXT }, \
		{ side " Device Self Time(us)", NP_REAL }, \
	{ \
		side " Device Total Time(us)", NP_REAL \
	}

static const struct np_column module_detail_columns[] = {
	{ "Order Id", NP_INTEGER },
	{ "Module Class", NP_TEXT },
	{ "Module Level", NP_INTEGER },
	{ "Module Name", NP_TEXT },
	{ "Change", NP_TEXT },
	CALL_SIDE("Base"),
	CALL_SIDE("Comparison"),
	{ "Device Total Time Diff(us)", NP_REAL },
	{ "Device Self Time Diff(us)", NP_REAL },
	{ "Diff Total Ratio", NP_REAL },
	{ "Base Call Stack", NP_TEXT },
	{ "Comparison Call Stack", NP_TEXT },
};

static void module_side(const struct comparison *comparison, const struct cmp_aligned *row,
			enum cmp_which which, struct np_cell cells[4])
{
	const struct cmp_aligned_side *side = &row->side[which];

	cells[0] = row->module && side->name != NP_STR_NONE
			   ? np_cell_text(COMPARE_MODULE_TOTAL)
			   : side_text(comparison, side, side->name);
	cells[1] = np_cell_text(side->kernels);
	cells[2] = micros(side, side->own);
	cells[3] = micros(side, side->total);
}

static int put_module_detail(const void *model, struct np_sink *sink, struct np_err *err)
{
	const struct compare_report *report = model;
	const struct comparison *comparison = report->comparison;
	const struct cmp_alignment *alignment = &report->views->alignment;
	int64_t order = 0;
	int rc = NP_OK;

	for (size_t i = 0; i < alignment->rows.count && rc == NP_OK; i++) {
		const struct cmp_aligned *row = &alignment->rows.item[i];
		const struct cmp_aligned_side *base = &row->side[CMP_BASE];
		const struct cmp_aligned_side *new_ = &row->side[CMP_NEW];
		const char *path = cmp_text(comparison, row->path);
		struct np_cell cells[NP_COUNT(module_detail_columns)];

		if (!path)
			continue;
		cells[0] = np_cell_integer(++order);
		cells[1] = compare_module_class(path);
		cells[2] = np_cell_integer(compare_module_level(path) + 1);
		cells[3] = np_cell_text(path);
		cells[4] = np_cell_text(row->change);
		module_side(comparison, row, CMP_BASE, &cells[5]);
		module_side(comparison, row, CMP_NEW, &cells[9]);
		cells[13] = np_cell_real((double)(new_->total - base->total) / 1e3);
		cells[14] = np_cell_real((double)(new_->own - base->own) / 1e3);
		cells[15] = compare_ratio((double)base->total, (double)new_->total);
		cells[16] = stack_of(row, CMP_BASE);
		cells[17] = stack_of(row, CMP_NEW);
		rc = np_sink_row(sink, cells, err);
	}
	return rc;
}

const struct np_relation compare_operator_detail = {
	"operator_detail", "operators of one step side by side, by thread", operator_detail_columns,
	NP_COUNT(operator_detail_columns), put_operator_detail
};

const struct np_relation compare_module_detail = {
	"module_detail", "modules of one step side by side, with their operators",
	module_detail_columns, NP_COUNT(module_detail_columns), put_module_detail
};
