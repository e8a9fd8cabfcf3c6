/* SPDX-License-Identifier: Apache-2.0 */
/* The memory of ranks as tables, for CSV and databases. */
#include "mem_tables.h"

static int produce_groups(const void *model, struct np_sink *sink, struct np_err *err)
{
	const mem_ranks *ranks = model;
	int rc = NP_OK;

	for (size_t i = 0; i < ranks->count; i++) {
		const struct mem_rank *rank = &ranks->item[i];

		for (size_t j = 0; rc == NP_OK && j < rank->composition->groups.count; j++) {
			const struct mem_group *group = &rank->composition->groups.item[j];
			const struct np_cell cells[] = {
				np_cell_text(rank->path),
				np_cell_integer(rank->rank),
				np_cell_integer((int64_t)rank->device),
				np_cell_integer(rank->at.event),
				np_cell_text(mem_rank_label(rank, group->label)),
				np_cell_integer((int64_t)group->bytes),
				np_cell_integer(mem_rank_requested(rank, group)),
				np_cell_integer(mem_rank_blocks(group)),
			};

			rc = np_sink_row(sink, cells, err);
		}
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

static const struct np_relation group_table = {
	.name = "np_memory_group",
	.summary = "what fills the memory of each rank",
	.columns = group_columns,
	.column_count = NP_COUNT(group_columns),
	.produce = produce_groups,
};

static struct np_cell place_cell(int32_t place)
{
	return np_cell_integer(place < 0 ? NP_UNKNOWN : place);
}

static int produce_ranks(const void *model, struct np_sink *sink, struct np_err *err)
{
	const mem_ranks *ranks = model;
	int rc = NP_OK;

	for (size_t i = 0; rc == NP_OK && i < ranks->count; i++) {
		const struct mem_rank *rank = &ranks->item[i];
		bool gaps = rank->history != NULL;
		const struct np_cell cells[] = {
			np_cell_text(rank->path),
			np_cell_integer(rank->rank),
			np_cell_integer((int64_t)rank->device),
			np_cell_text(rank->source == MEM_SNAPSHOT ? "snapshot" : "profile"),
			np_cell_text(rank->role),
			np_cell_text(rank->host),
			place_cell(rank->place.pp),
			place_cell(rank->place.tp),
			place_cell(rank->place.cp),
			place_cell(rank->place.dp),
			place_cell(rank->place.ep),
			np_cell_integer(rank->allocated.bytes),
			np_cell_integer(rank->reserved.bytes),
			np_cell_integer(rank->requested.bytes),
			np_cell_integer(rank->gap.bytes),
			np_cell_integer(gaps ? (int64_t)rank->gaps.free : NP_UNKNOWN),
			np_cell_integer(gaps ? (int64_t)rank->gaps.largest : NP_UNKNOWN),
			np_cell_integer(gaps ? (int64_t)rank->gaps.stuck : NP_UNKNOWN),
			np_cell_integer(mem_rank_never_freed(rank)),
			np_cell_integer(rank->workspace),
			np_cell_integer(rank->outside),
			np_cell_integer(rank->limit),
			np_cell_integer(rank->ooms),
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

static const struct np_relation rank_table = {
	.name = "np_memory_rank",
	.summary = "peaks of the memory of each rank, and what is free within them",
	.columns = rank_columns,
	.column_count = NP_COUNT(rank_columns),
	.produce = produce_ranks,
};

static int produce_components(const void *model, struct np_sink *sink, struct np_err *err)
{
	const mem_ranks *ranks = model;
	int rc = NP_OK;

	for (size_t i = 0; i < ranks->count; i++) {
		const struct mem_rank *rank = &ranks->item[i];

		for (size_t j = 0; rc == NP_OK && j < rank->components.count; j++) {
			const struct mem_component *component = &rank->components.item[j];
			const struct np_cell cells[] = {
				np_cell_text(rank->path),
				np_cell_integer(rank->rank),
				np_cell_text(component->name),
				np_cell_integer(component->module),
				np_cell_integer(component->peak_allocated),
				np_cell_integer(component->peak_reserved),
				np_cell_integer(component->at_allocated),
				np_cell_integer(component->at_reserved),
				np_cell_integer(component->growth),
			};

			rc = np_sink_row(sink, cells, err);
		}
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

static const struct np_relation component_table = {
	.name = "np_memory_component",
	.summary = "what components and modules of CANN held, at most and at the moment chosen",
	.columns = component_columns,
	.column_count = NP_COUNT(component_columns),
	.produce = produce_components,
};

static int produce_curve(const void *model, struct np_sink *sink, struct np_err *err)
{
	const mem_ranks *ranks = model;
	int rc = NP_OK;

	for (size_t i = 0; i < ranks->count; i++) {
		const struct mem_rank *rank = &ranks->item[i];

		for (size_t j = 0; rc == NP_OK && j < rank->curve.count; j++) {
			const struct mem_point *point = &rank->curve.item[j];
			const struct np_cell cells[] = {
				np_cell_text(rank->path),          np_cell_integer(rank->rank),
				np_cell_integer(point->event),     np_cell_integer(point->time),
				np_cell_integer(point->allocated), np_cell_integer(point->reserved),
			};

			rc = np_sink_row(sink, cells, err);
		}
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

static const struct np_relation curve_table = {
	.name = "np_memory_curve",
	.summary = "allocated and reserved over events or time: the most within each stretch",
	.columns = curve_columns,
	.column_count = NP_COUNT(curve_columns),
	.produce = produce_curve,
};

static int produce_leaks(const void *model, struct np_sink *sink, struct np_err *err)
{
	const mem_ranks *ranks = model;
	int rc = NP_OK;

	for (size_t i = 0; i < ranks->count; i++) {
		const struct mem_rank *rank = &ranks->item[i];

		for (size_t j = 0; rc == NP_OK && j < rank->composition->leaks.count; j++) {
			const struct mem_leak *leak = &rank->composition->leaks.item[j];
			const struct np_cell cells[] = {
				np_cell_text(rank->path),
				np_cell_integer(rank->rank),
				np_cell_text(mem_rank_label(rank, leak->label)),
				np_cell_integer((int64_t)leak->occasions),
				np_cell_integer((int64_t)leak->blocks),
				np_cell_integer((int64_t)leak->bytes),
				np_cell_integer((int64_t)leak->per_occasion),
			};

			rc = np_sink_row(sink, cells, err);
		}
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

static const struct np_relation leak_table = {
	.name = "np_memory_leak",
	.summary = "what leaves blocks again and again that are never freed",
	.columns = leak_columns,
	.column_count = NP_COUNT(leak_columns),
	.produce = produce_leaks,
};

static int produce_whatif(const void *model, struct np_sink *sink, struct np_err *err)
{
	const mem_ranks *ranks = model;
	int rc = NP_OK;

	for (size_t i = 0; i < ranks->count; i++) {
		const struct mem_rank *rank = &ranks->item[i];

		for (size_t j = 0; rc == NP_OK && j < rank->whatif.list.count; j++) {
			const struct mem_whatif *one = &rank->whatif.list.item[j];
			NP_CLEANUP(np_buf_release) struct np_buf name = NP_BUF_INIT;

			mem_replay_name(&one->replay.settings, &name);
			const struct np_cell cells[] = {
				np_cell_text(rank->path),
				np_cell_integer(rank->rank),
				np_cell_text(name.text),
				np_cell_integer((int64_t)one->replay.peak_reserved),
				np_cell_integer((int64_t)one->error),
				np_cell_integer(one->gain),
				np_cell_integer((int64_t)one->replay.grown),
			};

			rc = np_sink_row(sink, cells, err);
		}
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

static const struct np_relation whatif_table = {
	.name = "np_memory_whatif",
	.summary = "peak reserved under other settings of the allocator",
	.columns = whatif_columns,
	.column_count = NP_COUNT(whatif_columns),
	.produce = produce_whatif,
};

const struct np_relation *const mem_tables[MEM_TABLES] = {
	&group_table, &rank_table, &component_table, &curve_table, &leak_table, &whatif_table,
};
