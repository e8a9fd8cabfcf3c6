/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of the memory of ranks: np_memory_rank and those of its groups, leaks, settings … */
#include "npuprof/cluster_tables.h"

#include "npuprof/snapshot_rows.h"

static const struct np_memory *memory_of(const void *model)
{
	static const struct np_memory none;
	const struct np_analysis *analysis = model;

	return analysis->memory ? analysis->memory : &none;
}

static int produce_ranks(const void *model, struct np_sink *sink, struct np_err *err)
{
	const struct np_memory *memory = memory_of(model);
	int rc = NP_OK;

	for (size_t i = 0; rc == NP_OK && i < memory->ranks.count; i++) {
		const struct np_memory_rank_row *row = &memory->ranks.item[i];
		const struct np_cell cells[] = {
			np_cell_text(row->file),
			np_cell_integer(row->rank),
			np_cell_integer(row->device),
			np_cell_text(row->source),
			np_cell_text(row->role),
			np_cell_text(row->host),
			np_cell_integer(row->pp),
			np_cell_integer(row->tp),
			np_cell_integer(row->cp),
			np_cell_integer(row->dp),
			np_cell_integer(row->ep),
			np_cell_integer(row->peak_allocated),
			np_cell_integer(row->peak_reserved),
			np_cell_integer(row->peak_requested),
			np_cell_integer(row->largest_gap),
			np_cell_integer(row->free),
			np_cell_integer(row->largest_free),
			np_cell_integer(row->stuck),
			np_cell_integer(row->never_freed),
			np_cell_integer(row->workspace),
			np_cell_integer(row->outside),
			np_cell_integer(row->limit),
			np_cell_integer(row->ooms),
		};

		rc = np_sink_row(sink, cells, err);
	}
	return rc;
}

static const struct np_column rank_columns[] = {
	{ "file", NP_TEXT },
	{ "rank", NP_INTEGER },
	{ "device", NP_INTEGER },
	{ "source", NP_TEXT },
	{ "role", NP_TEXT },
	{ "host", NP_TEXT },
	{ "pp", NP_INTEGER },
	{ "tp", NP_INTEGER },
	{ "cp", NP_INTEGER },
	{ "dp", NP_INTEGER },
	{ "ep", NP_INTEGER },
	{ "peak_allocated_bytes", NP_INTEGER },
	{ "peak_reserved_bytes", NP_INTEGER },
	{ "peak_requested_bytes", NP_INTEGER },
	{ "largest_gap_bytes", NP_INTEGER },
	{ "free_bytes", NP_INTEGER },
	{ "largest_free_bytes", NP_INTEGER },
	{ "stuck_bytes", NP_INTEGER },
	{ "never_freed_bytes", NP_INTEGER },
	{ "workspace_bytes", NP_INTEGER },
	{ "outside_bytes", NP_INTEGER },
	{ "limit_bytes", NP_INTEGER },
	{ "ooms", NP_INTEGER },
};

const struct np_relation np_table_memory_rank = {
	.name = "np_memory_rank",
	.summary = "peaks of the memory of each rank, from snapshots, and what is free within them",
	.columns = rank_columns,
	.column_count = NP_COUNT(rank_columns),
	.produce = produce_ranks,
};

static int produce_groups(const void *model, struct np_sink *sink, struct np_err *err)
{
	const struct np_memory *memory = memory_of(model);
	int rc = NP_OK;

	for (size_t i = 0; rc == NP_OK && i < memory->groups.count; i++) {
		const struct np_memory_group_row *row = &memory->groups.item[i];
		const struct np_cell cells[] = {
			np_cell_text(memory->ranks.item[row->of].file),
			np_cell_integer(memory->ranks.item[row->of].rank),
			np_cell_integer(memory->ranks.item[row->of].device),
			np_cell_integer(row->event),
			np_cell_text(row->what),
			np_cell_integer(row->bytes),
			np_cell_integer(row->requested),
			np_cell_integer(row->blocks),
		};

		rc = np_sink_row(sink, cells, err);
	}
	return rc;
}

static const struct np_column group_columns[] = {
	{ "file", NP_TEXT },
	{ "rank", NP_INTEGER },
	{ "device", NP_INTEGER },
	{ "event", NP_INTEGER },
	{ "what", NP_TEXT },
	{ "bytes", NP_INTEGER },
	{ "requested_bytes", NP_INTEGER },
	{ "blocks", NP_INTEGER },
};

const struct np_relation np_table_memory_group = {
	.name = "np_memory_group",
	.summary = "what fills the memory of each rank, at the peak of its snapshot",
	.columns = group_columns,
	.column_count = NP_COUNT(group_columns),
	.produce = produce_groups,
};

static int produce_components(const void *model, struct np_sink *sink, struct np_err *err)
{
	const struct np_memory *memory = memory_of(model);
	int rc = NP_OK;

	for (size_t i = 0; rc == NP_OK && i < memory->components.count; i++) {
		const struct np_memory_component_row *row = &memory->components.item[i];
		const struct np_cell cells[] = {
			np_cell_text(memory->ranks.item[row->of].file),
			np_cell_integer(memory->ranks.item[row->of].rank),
			np_cell_text(row->component),
			np_cell_integer(row->module),
			np_cell_integer(row->peak_allocated),
			np_cell_integer(row->peak_reserved),
			np_cell_integer(row->allocated),
			np_cell_integer(row->reserved),
			np_cell_integer(row->growth),
		};

		rc = np_sink_row(sink, cells, err);
	}
	return rc;
}

static const struct np_column component_columns[] = {
	{ "file", NP_TEXT },
	{ "rank", NP_INTEGER },
	{ "component", NP_TEXT },
	{ "module", NP_INTEGER },
	{ "peak_allocated_bytes", NP_INTEGER },
	{ "peak_reserved_bytes", NP_INTEGER },
	{ "allocated_bytes", NP_INTEGER },
	{ "reserved_bytes", NP_INTEGER },
	{ "growth_bytes_per_step", NP_INTEGER },
};

const struct np_relation np_table_memory_component = {
	.name = "np_memory_component",
	.summary = "what components and modules of CANN held, at most and at the moment chosen",
	.columns = component_columns,
	.column_count = NP_COUNT(component_columns),
	.produce = produce_components,
};

static int produce_curve(const void *model, struct np_sink *sink, struct np_err *err)
{
	const struct np_memory *memory = memory_of(model);
	int rc = NP_OK;

	for (size_t i = 0; rc == NP_OK && i < memory->curve.count; i++) {
		const struct np_memory_curve_row *row = &memory->curve.item[i];
		const struct np_cell cells[] = {
			np_cell_text(memory->ranks.item[row->of].file),
			np_cell_integer(memory->ranks.item[row->of].rank),
			np_cell_integer(row->event),
			np_cell_integer(row->time),
			np_cell_integer(row->allocated),
			np_cell_integer(row->reserved),
		};

		rc = np_sink_row(sink, cells, err);
	}
	return rc;
}

static const struct np_column curve_columns[] = {
	{ "file", NP_TEXT },
	{ "rank", NP_INTEGER },
	{ "event", NP_INTEGER },
	{ "time_ns", NP_INTEGER },
	{ "allocated_bytes", NP_INTEGER },
	{ "reserved_bytes", NP_INTEGER },
};

const struct np_relation np_table_memory_curve = {
	.name = "np_memory_curve",
	.summary = "allocated and reserved over events or time: the most within each stretch",
	.columns = curve_columns,
	.column_count = NP_COUNT(curve_columns),
	.produce = produce_curve,
};

static int produce_leaks(const void *model, struct np_sink *sink, struct np_err *err)
{
	const struct np_memory *memory = memory_of(model);
	int rc = NP_OK;

	for (size_t i = 0; rc == NP_OK && i < memory->leaks.count; i++) {
		const struct np_memory_leak_row *row = &memory->leaks.item[i];
		const struct np_cell cells[] = {
			np_cell_text(memory->ranks.item[row->of].file),
			np_cell_integer(memory->ranks.item[row->of].rank),
			np_cell_text(row->what),
			np_cell_integer(row->times),
			np_cell_integer(row->blocks),
			np_cell_integer(row->bytes),
			np_cell_integer(row->bytes_each_time),
		};

		rc = np_sink_row(sink, cells, err);
	}
	return rc;
}

static const struct np_column leak_columns[] = {
	{ "file", NP_TEXT },
	{ "rank", NP_INTEGER },
	{ "what", NP_TEXT },
	{ "times", NP_INTEGER },
	{ "blocks", NP_INTEGER },
	{ "bytes", NP_INTEGER },
	{ "bytes_each_time", NP_INTEGER },
};

const struct np_relation np_table_memory_leak = {
	.name = "np_memory_leak",
	.summary = "what leaves blocks again and again that are never freed",
	.columns = leak_columns,
	.column_count = NP_COUNT(leak_columns),
	.produce = produce_leaks,
};

static int produce_whatif(const void *model, struct np_sink *sink, struct np_err *err)
{
	const struct np_memory *memory = memory_of(model);
	int rc = NP_OK;

	for (size_t i = 0; rc == NP_OK && i < memory->whatif.count; i++) {
		const struct np_memory_whatif_row *row = &memory->whatif.item[i];
		const struct np_cell cells[] = {
			np_cell_text(memory->ranks.item[row->of].file),
			np_cell_integer(memory->ranks.item[row->of].rank),
			np_cell_text(row->settings),
			np_cell_integer(row->peak_reserved),
			np_cell_integer(row->error),
			np_cell_integer(row->gain),
			np_cell_integer(row->driver_calls),
		};

		rc = np_sink_row(sink, cells, err);
	}
	return rc;
}

static const struct np_column whatif_columns[] = {
	{ "file", NP_TEXT },
	{ "rank", NP_INTEGER },
	{ "settings", NP_TEXT },
	{ "peak_reserved_bytes", NP_INTEGER },
	{ "error_bytes", NP_INTEGER },
	{ "gain_bytes", NP_INTEGER },
	{ "driver_calls", NP_INTEGER },
};

const struct np_relation np_table_memory_whatif = {
	.name = "np_memory_whatif",
	.summary = "peak reserved under other settings of the allocator",
	.columns = whatif_columns,
	.column_count = NP_COUNT(whatif_columns),
	.produce = produce_whatif,
};

static int produce_marks(const void *model, struct np_sink *sink, struct np_err *err)
{
	const struct np_memory *memory = memory_of(model);
	int rc = NP_OK;

	for (size_t i = 0; rc == NP_OK && i < memory->marks.count; i++) {
		const struct np_memory_mark_row *row = &memory->marks.item[i];
		const struct np_cell cells[] = {
			np_cell_text(memory->ranks.item[row->of].file),
			np_cell_integer(memory->ranks.item[row->of].rank),
			np_cell_integer(row->event),
			np_cell_text(row->kind),
			np_cell_integer(row->bytes),
		};

		rc = np_sink_row(sink, cells, err);
	}
	return rc;
}

static const struct np_column mark_columns[] = {
	{ "file", NP_TEXT }, { "rank", NP_INTEGER },  { "event", NP_INTEGER },
	{ "kind", NP_TEXT }, { "bytes", NP_INTEGER },
};

const struct np_relation np_table_memory_mark = {
	.name = "np_memory_mark",
	.summary = "what happened on the curve of a rank",
	.columns = mark_columns,
	.column_count = NP_COUNT(mark_columns),
	.produce = produce_marks,
};

static int produce_blocks(const void *model, struct np_sink *sink, struct np_err *err)
{
	const struct np_memory *memory = memory_of(model);
	int rc = NP_OK;

	for (size_t i = 0; rc == NP_OK && i < memory->blocks.count; i++) {
		const struct np_memory_block_row *row = &memory->blocks.item[i];
		const struct np_cell cells[] = {
			np_cell_text(memory->ranks.item[row->of].file),
			np_cell_integer(memory->ranks.item[row->of].rank),
			np_cell_integer(row->segment),
			np_cell_integer(row->address),
			np_cell_integer(row->bytes),
			np_cell_text(row->state),
			np_cell_text(row->what),
			np_cell_integer(row->blocks),
		};

		rc = np_sink_row(sink, cells, err);
	}
	return rc;
}

static const struct np_column block_columns[] = {
	{ "file", NP_TEXT },       { "rank", NP_INTEGER },   { "segment", NP_INTEGER },
	{ "address", NP_INTEGER }, { "bytes", NP_INTEGER },  { "state", NP_TEXT },
	{ "what", NP_TEXT },       { "blocks", NP_INTEGER },
};

const struct np_relation np_table_memory_block = {
	.name = "np_memory_block",
	.summary = "which blocks lie where at the peak",
	.columns = block_columns,
	.column_count = NP_COUNT(block_columns),
	.produce = produce_blocks,
};
