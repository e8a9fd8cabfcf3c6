/* SPDX-License-Identifier: Apache-2.0 */
/* Memory snapshots in the data of the page: ranks side by side, curves with marks, a map of blocks.
 */
#include "page_model.h"

#include "npuprof/snapshot_rows.h"

/* The last part of a path. */
static const char *file_of(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;

	return slash ? slash + 1 : path;
}

static void put_snapshot_rank(struct np_jsonout *out, const struct np_memory_rank_row *row,
			      bool anonymous)
{
	const struct {
		const char *name;
		int64_t value;
	} figures[] = { { "rank", row->rank },
			{ "device", row->device },
			{ "pp", row->pp },
			{ "tp", row->tp },
			{ "dp", row->dp },
			{ "events", row->events },
			{ "peak_allocated_bytes", row->peak_allocated },
			{ "peak_reserved_bytes", row->peak_reserved },
			{ "allocated_bytes", row->allocated },
			{ "reserved_bytes", row->reserved },
			{ "free_bytes", row->free },
			{ "stuck_bytes", row->stuck },
			{ "largest_free_bytes", row->largest_free },
			{ "never_freed_bytes", row->never_freed },
			{ "workspace_bytes", row->workspace },
			{ "limit_bytes", row->limit },
			{ "ooms", row->ooms },
			{ "wanted_bytes", row->wanted } };

	np_jsonout_object_line(out, NULL);
	np_jsonout_text(out, "file", anonymous ? NULL : file_of(row->file));
	np_jsonout_text(out, "role", row->role);
	np_jsonout_text(out, "out_of_memory", anonymous ? NULL : row->out_of_memory);
	for (size_t i = 0; i < NP_COUNT(figures); i++)
		np_jsonout_integer(out, figures[i].name, figures[i].value);
	np_jsonout_end(out);
}

/*
 * Of an anonymous page other names stand for stacks, which are looked for in what is written: one
 * that is written in another way is left out.
 */
static void put_what(struct np_jsonout *out, const char *what, bool anonymous)
{
	bool plain = true;

	for (const char *at = what; at && *at; at++)
		plain &= (unsigned char)*at >= ' ' && *at != '"' && *at != '\\';
	np_jsonout_text(out, "what", plain || !anonymous ? what : NULL);
}

/* Blocks are of the rank that reserves most: one map tells, all would be megabytes. */
static size_t most_reserved(const struct np_memory *memory)
{
	size_t most = SIZE_MAX;

	for (size_t i = 0; i < memory->ranks.count; i++) {
		const struct np_memory_rank_row *row = &memory->ranks.item[i];

		if (row->events != NP_UNKNOWN &&
		    (most == SIZE_MAX || (row->ooms > 0 && memory->ranks.item[most].ooms <= 0) ||
		     (row->peak_reserved > memory->ranks.item[most].peak_reserved &&
		      (row->ooms > 0) >= (memory->ranks.item[most].ooms > 0))))
			most = i;
	}
	return most;
}

/* Curves are of at most so many ranks, those that reserve most. */
#define CURVES_MOST 64

static bool *curve_ranks(const struct np_memory *memory)
{
	bool *wanted = calloc(memory->ranks.count + 1, sizeof(*wanted));

	for (size_t n = 0; wanted && n < CURVES_MOST; n++) {
		size_t most = SIZE_MAX;

		for (size_t i = 0; i < memory->ranks.count; i++) {
			if (!wanted[i] &&
			    (most == SIZE_MAX || memory->ranks.item[i].peak_reserved >
							 memory->ranks.item[most].peak_reserved))
				most = i;
		}
		if (most != SIZE_MAX)
			wanted[most] = true;
	}
	return wanted;
}

static void put_snapshot_rows(struct np_jsonout *out, const struct np_memory *memory,
			      bool anonymous)
{
	np_jsonout_array(out, "groups");
	for (size_t i = 0; i < memory->groups.count; i++) {
		const struct np_memory_group_row *row = &memory->groups.item[i];

		np_jsonout_object_line(out, NULL);
		np_jsonout_integer(out, "of", (int64_t)row->of);
		put_what(out, row->what, anonymous);
		np_jsonout_integer(out, "bytes", row->bytes);
		np_jsonout_integer(out, "blocks", row->blocks);
		np_jsonout_end(out);
	}
	np_jsonout_end(out);
	np_jsonout_array(out, "leaks");
	for (size_t i = 0; i < memory->leaks.count; i++) {
		const struct np_memory_leak_row *row = &memory->leaks.item[i];

		np_jsonout_object_line(out, NULL);
		np_jsonout_integer(out, "of", (int64_t)row->of);
		put_what(out, row->what, anonymous);
		np_jsonout_integer(out, "times", row->times);
		np_jsonout_integer(out, "bytes_each_time", row->bytes_each_time);
		np_jsonout_end(out);
	}
	np_jsonout_end(out);
	np_jsonout_array(out, "whatif");
	for (size_t i = 0; i < memory->whatif.count; i++) {
		const struct np_memory_whatif_row *row = &memory->whatif.item[i];

		np_jsonout_object_line(out, NULL);
		np_jsonout_integer(out, "of", (int64_t)row->of);
		np_jsonout_text(out, "settings", row->settings);
		np_jsonout_integer(out, "peak_reserved_bytes", row->peak_reserved);
		np_jsonout_integer(out, "error_bytes", row->error);
		np_jsonout_integer(out, "gain_bytes", row->gain);
		np_jsonout_integer(out, "driver_calls", row->driver_calls);
		np_jsonout_end(out);
	}
	np_jsonout_end(out);
}

/* [of, event, allocated, reserved]; [of, event, kind, bytes]. */
static void put_snapshot_curves(struct np_jsonout *out, const struct np_memory *memory,
				const bool *wanted)
{
	np_jsonout_array(out, "curve");
	for (size_t i = 0; i < memory->curve.count; i++) {
		const struct np_memory_curve_row *row = &memory->curve.item[i];

		if (!wanted[row->of] || row->event == NP_UNKNOWN)
			continue;
		np_jsonout_array_line(out, NULL);
		np_jsonout_integer(out, NULL, (int64_t)row->of);
		np_jsonout_integer(out, NULL, row->event);
		np_jsonout_integer(out, NULL, row->allocated);
		np_jsonout_integer(out, NULL, row->reserved);
		np_jsonout_end(out);
	}
	np_jsonout_end(out);
	np_jsonout_array(out, "marks");
	for (size_t i = 0; i < memory->marks.count; i++) {
		const struct np_memory_mark_row *row = &memory->marks.item[i];

		if (!wanted[row->of])
			continue;
		np_jsonout_array_line(out, NULL);
		np_jsonout_integer(out, NULL, (int64_t)row->of);
		np_jsonout_integer(out, NULL, row->event);
		np_jsonout_text(out, NULL, row->kind);
		np_jsonout_integer(out, NULL, row->bytes);
		np_jsonout_end(out);
	}
	np_jsonout_end(out);
}

static void put_snapshot_map(struct np_jsonout *out, const struct np_memory *memory, size_t of,
			     bool anonymous)
{
	np_jsonout_integer(out, "map_of", of == SIZE_MAX ? NP_UNKNOWN : (int64_t)of);
	np_jsonout_array(out, "blocks");
	for (size_t i = 0; i < memory->blocks.count; i++) {
		const struct np_memory_block_row *row = &memory->blocks.item[i];

		if (row->of != of)
			continue;
		np_jsonout_object_line(out, NULL);
		np_jsonout_integer(out, "segment", row->segment);
		np_jsonout_integer(out, "offset", row->address - row->segment);
		np_jsonout_integer(out, "bytes", row->bytes);
		np_jsonout_text(out, "state", row->state);
		put_what(out, row->what, anonymous);
		np_jsonout_end(out);
	}
	np_jsonout_end(out);
}

int page_put_snapshots(struct np_jsonout *out, const struct np_memory *memory, bool anonymous,
		       struct np_err *err)
{
	bool *wanted;

	if (!memory || memory->ranks.count == 0)
		return NP_OK;
	wanted = curve_ranks(memory);
	if (!wanted)
		return np_fail_nomem(err, "curves of memory");
	np_jsonout_object(out, "snapshots");
	np_jsonout_array(out, "ranks");
	for (size_t i = 0; i < memory->ranks.count; i++)
		put_snapshot_rank(out, &memory->ranks.item[i], anonymous);
	np_jsonout_end(out);
	put_snapshot_rows(out, memory, anonymous);
	put_snapshot_curves(out, memory, wanted);
	put_snapshot_map(out, memory, most_reserved(memory), anonymous);
	np_jsonout_end(out);
	free(wanted);
	return NP_OK;
}
