/* SPDX-License-Identifier: Apache-2.0 */
/* Where the time of each rank went: leaves of its steps, kernels by type, calls by function. */
#include "tables.h"

#include "npuprof/align.h"

/* --- np_partition ---------------------------------------------------------------------------- */

static const struct np_column partition_columns[] = {
	{ "rank", NP_INTEGER },
	{ "step", NP_TEXT },
	{ "leaf", NP_TEXT },
	{ "ns", NP_INTEGER },
};

static int produce_cell(const struct np_analysis *analysis, size_t rank_index, size_t time,
			struct np_sink *sink, struct np_err *err)
{
	const struct np_partition *partition = &analysis->partition;
	const struct np_run *run = analysis->run;
	const struct np_rank *rank = run->ranks[rank_index];
	const struct np_partition_cell *cell = np_partition_of(partition, rank_index, time);
	const char *step = np_run_text(run, rank->steps.item[rank->times.item[time].step].id);
	int rc = NP_OK;

	for (size_t i = 0; cell && i < cell->count && rc == NP_OK; i++) {
		const struct np_part *part = &partition->parts.item[cell->first + i];

		rc = np_sink_row(sink,
				 (struct np_cell[]){ np_cell_integer(rank->id), np_cell_text(step),
						     np_cell_text(part->leaf),
						     np_cell_integer(part->ns) },
				 err);
	}
	return rc;
}

static int produce_partition(const void *model, struct np_sink *sink, struct np_err *err)
{
	const struct np_analysis *analysis = model;
	const struct np_run *run = analysis->run;
	int rc = NP_OK;

	for (size_t i = 0; i < run->sources.count && rc == NP_OK; i++) {
		for (size_t j = 0; run->ranks[i] && j < run->ranks[i]->times.count && rc == NP_OK;
		     j++)
			rc = produce_cell(analysis, i, j, sink, err);
	}
	return rc;
}

NP_DEFINE_TABLE(
	np_table_partition, "np_partition",
	"where the iteration of each rank's steps went, or the span of one without, each ns once",
	partition_columns, produce_partition);

/* --- np_kernel_type, np_call ---------------------------------------------------------------- */

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
