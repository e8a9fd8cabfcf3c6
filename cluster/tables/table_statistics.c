/* SPDX-License-Identifier: Apache-2.0 */
#include "tables.h"

static const struct np_column kernel_columns[] = {
	{ "rank", NP_INTEGER },   { "op_type", NP_TEXT },     { "core_type", NP_TEXT },
	{ "count", NP_INTEGER },  { "total_ns", NP_INTEGER }, { "min_ns", NP_INTEGER },
	{ "max_ns", NP_INTEGER },
};

static const struct np_column call_columns[] = {
	{ "rank", NP_INTEGER },   { "name", NP_TEXT },        { "level", NP_TEXT },
	{ "count", NP_INTEGER },  { "total_ns", NP_INTEGER }, { "min_ns", NP_INTEGER },
	{ "max_ns", NP_INTEGER },
};

static int produce_entry(const struct np_run *run, const struct np_rank *rank,
			 const struct np_statistic *entry, struct np_sink *sink, struct np_err *err)
{
	return np_sink_row(
		sink,
		(struct np_cell[]){ np_cell_integer(rank->id),
				    np_cell_text(np_run_text(run, entry->name)),
				    np_cell_text(np_run_text(run, entry->kind)),
				    np_cell_integer(entry->count), np_cell_integer(entry->total),
				    np_cell_integer(entry->least), np_cell_integer(entry->most) },
		err);
}

static int produce_kernels(const void *model, struct np_sink *sink, struct np_err *err)
{
	const struct np_run *run = ((const struct np_analysis *)model)->run;
	int rc = NP_OK;

	for (size_t i = 0; i < run->sources.count; i++) {
		const struct np_rank *rank = run->ranks[i];

		for (size_t j = 0; rank && j < rank->kernels.count && rc == NP_OK; j++)
			rc = produce_entry(run, rank, &rank->kernels.item[j], sink, err);
	}
	return rc;
}

NP_DEFINE_TABLE(np_table_kernel_type, "np_kernel_type",
		"kernels by type over the whole capture, in ns", kernel_columns, produce_kernels);

static int produce_calls(const void *model, struct np_sink *sink, struct np_err *err)
{
	const struct np_run *run = ((const struct np_analysis *)model)->run;
	int rc = NP_OK;

	for (size_t i = 0; i < run->sources.count; i++) {
		const struct np_rank *rank = run->ranks[i];

		for (size_t j = 0; rank && j < rank->calls.count && rc == NP_OK; j++)
			rc = produce_entry(run, rank, &rank->calls.item[j], sink, err);
	}
	return rc;
}

NP_DEFINE_TABLE(np_table_call, "np_call", "calls of CANN by function over the whole capture, in ns",
		call_columns, produce_calls);
