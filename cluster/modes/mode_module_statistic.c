/* SPDX-License-Identifier: Apache-2.0 */
/* What the modules of a model run, and how long. */
#include "registry.h"

#include "cluster/modes/common/modules.h"

#define MODE "module_statistic"

static void release(void *result)
{
	modules_release(result);
	free(result);
}

static int reduce(struct mode_rank *rank, const void *prepared, void **ret)
{
	struct module_rows *rows = calloc(1, sizeof(*rows));

	(void)prepared;
	if (!rows)
		return np_fail_nomem(rank->err, MODE);
	*ret = rows;
	return modules_measure(rank, NULL, rows);
}

static const struct np_column columns[] = {
	{ "parentModule", NP_TEXT },
	{ "module", NP_TEXT },
	{ "opName", NP_TEXT },
	{ "kernelList", NP_TEXT },
	{ "totalKernelDuration(ns)", NP_INTEGER },
	{ "avgKernelDuration(ns)", NP_REAL },
	{ "opCount", NP_INTEGER },
	{ "rankID", NP_INTEGER },
};

_Static_assert(NP_COUNT(columns) == MODULE_CELLS + 1, "a cell for each column");

static int put(struct np_modes *modes, struct np_mode_table *table, int32_t rank,
	       const struct module_row *row, struct np_err *err)
{
	struct np_cell cells[MODULE_CELLS + 1];

	modules_cells(modes, row, cells);
	cells[MODULE_CELLS] = np_cell_integer(rank);
	return mode_row(modes, table, cells, err);
}

static int merge(struct np_modes *modes, const void *prepared, void *const *ranks,
		 struct np_err *err)
{
	struct np_mode_table *table =
		MODE_TABLE(modes, MODE, "ModuleStatistic",
			   "operators and kernels of each module of the model", columns, err);
	int rc = table ? NP_OK : NP_E_NOMEM;

	(void)prepared;
	if (rc == NP_OK)
		table->empty = "no operators in ranges of the domain Module";
	for (size_t i = 0; i < modes->run->sources.count && rc == NP_OK; i++) {
		const struct module_rows *rows = ranks[i];

		for (size_t j = 0; rows && j < rows->list.count && rc == NP_OK; j++)
			rc = put(modes, table, mode_rank_id(modes, i), &rows->list.item[j], err);
	}
	return rc < 0 ? rc : mode_note_absent(modes, MODE, table, "rankID", ranks, err);
}

const struct mode mode_module_statistic = {
	.name = MODE,
	.summary = "kernels of each module of the model, from mstx ranges",
	.devices = MODE_DEVICES_APART,
	.wants = NP_DETAIL_MARKS | NP_DETAIL_FRAMEWORK | NP_DETAIL_KERNELS | NP_DETAIL_LAUNCHES |
		 NP_DETAIL_OPS,
	.needs = NP_DETAIL_MARKS | NP_DETAIL_FRAMEWORK | NP_DETAIL_KERNELS,
	.reduce = reduce,
	.merge = merge,
	.release = release,
};
