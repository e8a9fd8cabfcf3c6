/* SPDX-License-Identifier: Apache-2.0 */
/* What `npuprof memory` prints: lines and tables, JSON, CSV. */
#include "memory_report.h"

#include "npuprof/jsonout.h"
#include "npuprof/lang.h"
#include "npuprof/page.h"
#include "npuprof/relation.h"
#include "npuprof/say.h"
#include "npuprof/text.h"

/* More inconsistent events than this part: the curve is not to be trusted. */
#define TRUST_PART 100

void memory_report_release(struct memory_report *report)
{
	for (size_t i = 0; i < report->results.count; i++) {
		free(report->results.item[i].path);
		history_free(report->results.item[i].history);
		composition_free(report->results.item[i].composition);
		memory_whatif_release(&report->results.item[i].whatif);
	}
	np_vec_release(&report->results);
}

static const char *label(const struct memory_result *result, np_str id)
{
	return np_strtab_text(result->composition->labels, id);
}

static double percent(uint64_t part, uint64_t whole)
{
	return whole > 0 ? 100 * (double)part / (double)whole : 0;
}

/* "rank 3", or the name of the file where it does not tell. */
static void add_who(struct np_buf *buf, const struct memory_result *result)
{
	if (result->rank != NP_UNKNOWN)
		np_buf_printf(buf, "rank %lld", (long long)result->rank);
	else
		np_buf_add(buf, np_text_last_part(result->path));
	if (result->device > 0)
		np_say(buf, " device {1}", NP_SAID_INT(result->device));
}

/* The one with the largest peak reserved: nobody is nearer to the limit if all have the same. */
static const struct memory_result *nearest(const struct memory_report *report)
{
	const struct memory_result *found = &report->results.item[0];

	for (size_t i = 1; i < report->results.count; i++) {
		if (report->results.item[i].history->reserved.bytes >
		    found->history->reserved.bytes)
			found = &report->results.item[i];
	}
	return found;
}

static void say_peaks(struct np_buf *buf, const struct memory_report *report,
		      const struct memory_result *result)
{
	const struct mem_history *history = result->history;
	bool late = history->start_ranges.count > 0;

	add_who(buf, result);
	np_say(buf,
	       report->results.count > 1
		       ? " needs most: peak allocated {1} at event {2} (requested {3}), peak "
			 "reserved {4} at event {5}"
		       : ": peak allocated {1} at event {2} (requested {3}), peak reserved {4} at "
			 "event {5}",
	       NP_SAID_BYTES((int64_t)history->allocated.bytes), NP_SAID_INT(history->allocated.at),
	       NP_SAID_BYTES((int64_t)history->requested.bytes),
	       NP_SAID_BYTES((int64_t)history->reserved.bytes), NP_SAID_INT(history->reserved.at));
	if (late)
		np_say(buf, ", since recording began");
	if (result->limit == NP_UNKNOWN)
		np_say(buf, "; the size of the device is not known\n");
	else
		np_say(buf, "; {1} below the limit at which it ran out\n",
		       NP_SAID_BYTES(result->limit - (int64_t)history->reserved.bytes));
}

static void say_composition(struct np_buf *buf, const struct memory_report *report,
			    const struct memory_result *result)
{
	size_t count = result->composition->groups.count;

	if (count == 0)
		return;
	np_say(buf, "at {1}: ", NP_SAID_MSG(report->moment));
	for (size_t i = 0; i < count && i < 3; i++) {
		const struct mem_group *group = &result->composition->groups.item[i];

		np_buf_printf(buf, "%s%s ", i > 0 ? np_lang_text(", ") : "",
			      np_lang_text(label(result, group->label)));
		np_text_bytes(buf, (int64_t)group->bytes);
		np_buf_printf(buf, " (%.0f%%)", percent(group->bytes, result->at_allocated));
	}
	np_buf_add(buf, "\n");
}

static void say_gaps(struct np_buf *buf, const struct memory_result *result)
{
	np_say(buf,
	       "free within reserved: {1} ({2}%), largest piece {3}, stuck in segments in use {4}; "
	       "rounding {5}\n",
	       NP_SAID_BYTES((int64_t)result->gaps.free),
	       NP_SAID_REAL(percent(result->gaps.free, result->at_reserved)),
	       NP_SAID_BYTES((int64_t)result->gaps.largest),
	       NP_SAID_BYTES((int64_t)result->gaps.stuck),
	       NP_SAID_BYTES((int64_t)(result->at_allocated - result->at_requested)));
}

static void say_survivors(struct np_buf *buf, const struct memory_result *result)
{
	const struct composition *composition = result->composition;

	if (composition->never_freed == 0) {
		np_say(buf, "all that was allocated in the record was freed\n");
	} else {
		np_say(buf,
		       composition->leaks.count > 0
			       ? "never freed: {1} blocks, {2}\n"
			       : "never freed: {1} blocks, {2}; none of it grows\n",
		       NP_SAID_INT(composition->never_freed),
		       NP_SAID_BYTES((int64_t)composition->never_freed_bytes));
	}
	for (size_t i = 0; i < composition->leaks.count && i < 3; i++) {
		const struct mem_leak *leak = &composition->leaks.item[i];

		np_say(buf, "grows: {1} leaves {2} each time, {3} times, never freed\n",
		       NP_SAID_MSG(label(result, leak->label)),
		       NP_SAID_BYTES((int64_t)leak->per_occasion), NP_SAID_INT(leak->occasions));
	}
	if (composition->transient.bytes == 0)
		return;
	np_say(buf, "brief at the peak: {1}, {2} blocks, {3}; without them the peak would be {4}\n",
	       NP_SAID_MSG(label(result, composition->transient.label)),
	       NP_SAID_INT(composition->transient.blocks),
	       NP_SAID_BYTES((int64_t)composition->transient.bytes),
	       NP_SAID_BYTES((int64_t)composition->peak_without));
}

static void say_trust(struct np_buf *buf, const struct memory_result *result)
{
	const struct mem_history *history = result->history;

	if (history->count == 0)
		np_say(buf, "no history was recorded: only the state at the dump is known\n");
	if (history->inconsistent > 0)
		np_say(buf,
		       history->inconsistent * TRUST_PART > history->count
			       ? "{1} of {2} events contradict others: the figures are not to be "
				 "trusted\n"
			       : "{1} of {2} events contradict others\n",
		       NP_SAID_INT(history->inconsistent), NP_SAID_INT(history->count));
}

/* "saves 33.6 MB", or what else becomes of the peak. */
static void add_gain(struct np_buf *buf, const struct mem_whatif *whatif)
{
	if (whatif->gain == NP_UNKNOWN) {
		np_say(buf, "within the error");
	} else if (whatif->gain == 0) {
		np_say(buf, "the same");
	} else {
		np_say(buf, whatif->gain > 0 ? "saves {1}" : "costs {1}",
		       NP_SAID_BYTES(llabs(whatif->gain)));
	}
}

static const struct mem_whatif *best_whatif(const struct memory_whatif *whatif)
{
	const struct mem_whatif *best = NULL;

	for (size_t i = 0; i < whatif->list.count; i++) {
		const struct mem_whatif *one = &whatif->list.item[i];

		if (one->gain != NP_UNKNOWN && one->gain > 0 && (!best || one->gain > best->gain))
			best = one;
	}
	return best;
}

static void say_whatif(struct np_buf *buf, const struct memory_result *result)
{
	const struct memory_whatif *whatif = &result->whatif;
	const struct mem_whatif *best = best_whatif(whatif);
	NP_CLEANUP(np_buf_release) struct np_buf name = NP_BUF_INIT;
	NP_CLEANUP(np_buf_release) struct np_buf gain = NP_BUF_INIT;

	if (!whatif->wanted)
		return;
	if (whatif->withheld) {
		np_say(buf, "other settings: withheld, {1}\n", NP_SAID_MSG(whatif->withheld));
		return;
	}
	mem_replay_name(&whatif->found.settings, &name);
	np_say(buf,
	       "replay with the settings found ({1}): {2} of {3} segment events and {4} of {5} "
	       "addresses of blocks equal, reserved is off by at most {6}\n",
	       NP_SAID_TEXT(name.text), NP_SAID_INT(whatif->found.calls_equal),
	       NP_SAID_INT(whatif->found.calls), NP_SAID_INT(whatif->found.blocks_equal),
	       NP_SAID_INT(whatif->found.blocks), NP_SAID_BYTES((int64_t)whatif->found.deviation));
	if (!best) {
		np_say(buf, "none of the other settings would lower the peak for sure\n");
		return;
	}
	np_buf_clear(&name);
	mem_replay_name(&best->replay.settings, &name);
	add_gain(&gain, best);
	np_say(buf, "lowest peak reserved: {1} with {2}, {3}",
	       NP_SAID_BYTES((int64_t)best->replay.peak_reserved), NP_SAID_TEXT(name.text),
	       NP_SAID_TEXT(gain.text));
	if (best->replay.approximate)
		np_say(buf, " (the beginning is made anew)");
	np_buf_add_char(buf, '\n');
	buf->failed |= name.failed || gain.failed;
}

static struct np_grid *whatif_grid(const struct memory_result *result)
{
	static const struct np_grid_column columns[] = {
		{ "settings", NP_LEFT, NP_CUT_MIDDLE }, { "peak reserved", NP_RIGHT, NP_UNCUT },
		{ "against now", NP_LEFT, NP_UNCUT },   { "error", NP_RIGHT, NP_UNCUT },
		{ "free at peak", NP_RIGHT, NP_UNCUT }, { "end reserved", NP_RIGHT, NP_UNCUT },
		{ "driver calls", NP_RIGHT, NP_UNCUT },
	};
	struct np_grid *grid = np_grid_new(columns, NP_COUNT(columns));

	for (size_t i = 0; grid && i < result->whatif.list.count; i++) {
		const struct mem_whatif *whatif = &result->whatif.list.item[i];
		NP_CLEANUP(np_buf_release) struct np_buf name = NP_BUF_INIT;
		NP_CLEANUP(np_buf_release) struct np_buf gain = NP_BUF_INIT;

		mem_replay_name(&whatif->replay.settings, &name);
		add_gain(&gain, whatif);
		np_grid_cell(grid, name.text);
		np_grid_bytes(grid, (int64_t)whatif->replay.peak_reserved);
		np_grid_cell(grid, gain.text);
		np_grid_bytes(grid, (int64_t)whatif->error);
		np_grid_bytes(grid, (int64_t)whatif->replay.peak_gap);
		np_grid_bytes(grid, (int64_t)whatif->replay.end_reserved);
		np_grid_printf(grid, "%zu", whatif->replay.grown);
	}
	return grid;
}

static struct np_grid *ranks_grid(const struct memory_report *report)
{
	static const struct np_grid_column columns[] = {
		{ "rank", NP_RIGHT, NP_UNCUT },          { "file", NP_LEFT, NP_CUT_MIDDLE },
		{ "device", NP_RIGHT, NP_UNCUT },        { "peak allocated", NP_RIGHT, NP_UNCUT },
		{ "peak reserved", NP_RIGHT, NP_UNCUT }, { "largest gap", NP_RIGHT, NP_UNCUT },
		{ "never freed", NP_RIGHT, NP_UNCUT },   { "out of memory", NP_RIGHT, NP_UNCUT },
	};
	struct np_grid *grid = np_grid_new(columns, NP_COUNT(columns));

	for (size_t i = 0; grid && i < report->results.count; i++) {
		const struct memory_result *result = &report->results.item[i];

		if (result->rank == NP_UNKNOWN)
			np_grid_cell(grid, "?");
		else
			np_grid_printf(grid, "%lld", (long long)result->rank);
		np_grid_cell(grid, np_text_last_part(result->path));
		np_grid_printf(grid, "%zu", result->device);
		np_grid_bytes(grid, (int64_t)result->history->allocated.bytes);
		np_grid_bytes(grid, (int64_t)result->history->reserved.bytes);
		np_grid_bytes(grid, (int64_t)result->history->gap.bytes);
		np_grid_bytes(grid, (int64_t)result->composition->never_freed_bytes);
		np_grid_printf(grid, "%zu", result->history->actions[SNAP_OOM]);
	}
	return grid;
}

static struct np_grid *groups_grid(const struct memory_report *report,
				   const struct memory_result *result)
{
	static const struct np_grid_column columns[] = {
		{ "what", NP_LEFT, NP_CUT_MIDDLE },
		{ "allocated", NP_RIGHT, NP_UNCUT },
		{ "share", NP_RIGHT, NP_UNCUT },
		{ "blocks", NP_RIGHT, NP_UNCUT },
	};
	struct np_grid *grid = np_grid_new(columns, NP_COUNT(columns));

	for (size_t i = 0; grid && i < result->composition->groups.count && i < report->top; i++) {
		const struct mem_group *group = &result->composition->groups.item[i];

		np_grid_cell(grid, np_lang_text(label(result, group->label)));
		np_grid_bytes(grid, (int64_t)group->bytes);
		np_grid_printf(grid, "%.1f%%", percent(group->bytes, result->at_allocated));
		np_grid_printf(grid, "%zu", group->blocks);
	}
	return grid;
}

int memory_report_page(const struct memory_report *report, bool markdown, struct np_buf *buf,
		       struct np_err *err)
{
	const struct memory_result *result = nearest(report);
	NP_CLEANUP(np_page_release) struct np_page page = { 0 };
	NP_CLEANUP(np_buf_release) struct np_buf lines = NP_BUF_INIT;
	struct np_section *section = np_page_add(&page, "Memory");

	say_peaks(&lines, report, result);
	say_composition(&lines, report, result);
	say_gaps(&lines, result);
	say_survivors(&lines, result);
	say_whatif(&lines, result);
	say_trust(&lines, result);
	/* Names of files and functions are foreign. */
	for (const char *line = lines.text; *line;) {
		size_t length = strcspn(line, "\n");

		np_text_safe(&section->text, line, length);
		np_buf_add_char(&section->text, '\n');
		line += length + (line[length] == '\n');
	}
	section = np_page_add(&page, "Ranks");
	section->grid = ranks_grid(report);
	section = np_page_add(&page, "What fills it");
	section->grid = groups_grid(report, result);
	if (result->whatif.list.count > 0) {
		section = np_page_add(&page, "Other settings of the allocator");
		section->grid = whatif_grid(result);
	}
	if (!page.sections[1].grid || !page.sections[2].grid || !section->grid)
		return np_fail_nomem(err, "a page");
	if (np_buf_check(&lines, err) < 0)
		return NP_E_NOMEM;
	return markdown ? np_page_write_markdown(&page, buf, err)
			: np_page_write(&page, buf, report->width, report->color, err);
}

static void put_peak(struct np_jsonout *out, const char *key, const struct mem_peak *peak)
{
	np_jsonout_object_line(out, key);
	np_jsonout_integer(out, "bytes", (int64_t)peak->bytes);
	np_jsonout_integer(out, "event", (int64_t)peak->at);
	np_jsonout_end(out);
}

static void put_gaps(struct np_jsonout *out, const struct layout_gaps *gaps)
{
	np_jsonout_integer(out, "segments", (int64_t)gaps->segments);
	np_jsonout_integer(out, "free_bytes", (int64_t)gaps->free);
	np_jsonout_integer(out, "free_small_pool_bytes", (int64_t)gaps->small);
	np_jsonout_integer(out, "largest_free_bytes", (int64_t)gaps->largest);
	np_jsonout_integer(out, "stuck_bytes", (int64_t)gaps->stuck);
	np_jsonout_integer(out, "stuck_blocks", (int64_t)gaps->stuck_blocks);
}

static void put_history(struct np_jsonout *out, const struct memory_result *result)
{
	const struct mem_history *history = result->history;

	np_jsonout_integer(out, "events", (int64_t)history->count);
	np_jsonout_object_line(out, "actions");
	for (size_t i = 0; i < SNAP_ACTIONS; i++) {
		if (history->actions[i] > 0)
			np_jsonout_integer(out, snapshot_action_name((enum snap_action)i),
					   (int64_t)history->actions[i]);
	}
	np_jsonout_end(out);
	np_jsonout_integer(out, "release_runs", (int64_t)history->release_runs);
	np_jsonout_integer(out, "inconsistent_events", (int64_t)history->inconsistent);
	np_jsonout_bool(out, "expandable_segments", history->settings.expandable);
	np_jsonout_object_line(out, "before_record");
	np_jsonout_integer(out, "segments", (int64_t)history->start_ranges.count);
	np_jsonout_integer(out, "reserved_bytes", (int64_t)history->start_reserved);
	np_jsonout_integer(out, "blocks", (int64_t)history->start_blocks.count);
	np_jsonout_integer(out, "allocated_bytes", (int64_t)history->start_allocated);
	np_jsonout_integer(out, "requested_bytes", (int64_t)history->start_requested);
	np_jsonout_end(out);
	put_peak(out, "peak_allocated", &history->allocated);
	put_peak(out, "peak_active", &history->active);
	put_peak(out, "peak_reserved", &history->reserved);
	put_peak(out, "peak_requested", &history->requested);
	put_peak(out, "largest_gap", &history->gap);
	np_jsonout_integer(out, "workspace_bytes", (int64_t)result->workspace);
	np_jsonout_integer(out, "limit_bytes", result->limit);
	np_jsonout_object_line(out, "end");
	np_jsonout_integer(out, "allocated_bytes", (int64_t)history->end_allocated);
	np_jsonout_integer(out, "requested_bytes", (int64_t)history->end_requested);
	np_jsonout_integer(out, "reserved_bytes", (int64_t)history->end_reserved);
	put_gaps(out, &history->end_gaps);
	np_jsonout_end(out);
}

static void put_survivors(struct np_jsonout *out, const struct memory_result *result)
{
	const struct composition *composition = result->composition;
	const struct mem_life *freed = &composition->largest_freed;

	np_jsonout_object_line(out, "never_freed");
	np_jsonout_integer(out, "blocks", (int64_t)composition->never_freed);
	np_jsonout_integer(out, "bytes", (int64_t)composition->never_freed_bytes);
	np_jsonout_integer(out, "requested_bytes", (int64_t)composition->never_freed_requested);
	np_jsonout_end(out);
	np_jsonout_array(out, "grows");
	for (size_t i = 0; i < composition->leaks.count; i++) {
		const struct mem_leak *leak = &composition->leaks.item[i];

		np_jsonout_object_line(out, NULL);
		np_jsonout_text(out, "what", label(result, leak->label));
		np_jsonout_integer(out, "times", (int64_t)leak->occasions);
		np_jsonout_integer(out, "blocks", (int64_t)leak->blocks);
		np_jsonout_integer(out, "bytes", (int64_t)leak->bytes);
		np_jsonout_integer(out, "bytes_each_time", (int64_t)leak->per_occasion);
		np_jsonout_end(out);
	}
	np_jsonout_end(out);
	if (freed->size > 0) {
		np_jsonout_object_line(out, "largest_freed");
		np_jsonout_integer(out, "bytes", (int64_t)freed->size);
		np_jsonout_integer(out, "requested_bytes", (int64_t)freed->requested);
		np_jsonout_integer(out, "event", freed->birth);
		np_jsonout_integer(out, "lived_events", (int64_t)freed->done - freed->birth);
		np_jsonout_end(out);
	}
	if (composition->transient.bytes > 0) {
		np_jsonout_object_line(out, "brief_at_peak");
		np_jsonout_text(out, "what", label(result, composition->transient.label));
		np_jsonout_integer(out, "bytes", (int64_t)composition->transient.bytes);
		np_jsonout_integer(out, "blocks", (int64_t)composition->transient.blocks);
		np_jsonout_integer(out, "peak_without_bytes", (int64_t)composition->peak_without);
		np_jsonout_end(out);
	}
}

static void put_settings(struct np_jsonout *out, const struct mem_settings *settings)
{
	NP_CLEANUP(np_buf_release) struct np_buf name = NP_BUF_INIT;

	mem_replay_name(settings, &name);
	np_jsonout_text(out, "settings", name.text);
}

static void put_whatif(struct np_jsonout *out, const struct memory_whatif *whatif)
{
	const struct mem_replay *found = &whatif->found;

	if (!whatif->wanted)
		return;
	np_jsonout_object(out, "replay");
	if (whatif->withheld) {
		np_jsonout_text(out, "withheld", whatif->withheld);
		np_jsonout_end(out);
		return;
	}
	put_settings(out, &found->settings);
	np_jsonout_bool(out, "exact", mem_replay_exact(found));
	np_jsonout_integer(out, "segment_events", (int64_t)found->calls);
	np_jsonout_integer(out, "segment_events_equal", (int64_t)found->calls_equal);
	np_jsonout_integer(out, "segment_events_added", (int64_t)found->calls_extra);
	np_jsonout_integer(out, "blocks", (int64_t)found->blocks);
	np_jsonout_integer(out, "blocks_equal", (int64_t)found->blocks_equal);
	np_jsonout_integer(out, "reserved_deviation_bytes", (int64_t)found->deviation);
	np_jsonout_array(out, "what_if");
	for (size_t i = 0; i < whatif->list.count; i++) {
		const struct mem_whatif *one = &whatif->list.item[i];

		np_jsonout_object_line(out, NULL);
		put_settings(out, &one->replay.settings);
		np_jsonout_integer(out, "peak_reserved_bytes", (int64_t)one->replay.peak_reserved);
		np_jsonout_integer(out, "end_reserved_bytes", (int64_t)one->replay.end_reserved);
		np_jsonout_integer(out, "driver_calls", (int64_t)one->replay.grown);
		np_jsonout_integer(out, "free_at_peak_bytes", (int64_t)one->replay.peak_gap);
		np_jsonout_bool(out, "approximate", one->replay.approximate);
		np_jsonout_integer(out, "error_bytes", (int64_t)one->error);
		np_jsonout_integer(out, "gain_bytes", one->gain);
		np_jsonout_end(out);
	}
	np_jsonout_end(out);
	np_jsonout_end(out);
}

static void put_result(struct np_jsonout *out, const struct memory_report *report,
		       const struct memory_result *result)
{
	np_jsonout_object(out, NULL);
	np_jsonout_text(out, "file", result->path);
	np_jsonout_integer(out, "rank", result->rank);
	np_jsonout_integer(out, "device", (int64_t)result->device);
	put_history(out, result);
	np_jsonout_object(out, "at");
	np_jsonout_text(out, "moment", report->moment);
	np_jsonout_integer(out, "event", (int64_t)result->at);
	np_jsonout_integer(out, "allocated_bytes", (int64_t)result->at_allocated);
	np_jsonout_integer(out, "requested_bytes", (int64_t)result->at_requested);
	np_jsonout_integer(out, "rounding_bytes",
			   (int64_t)(result->at_allocated - result->at_requested));
	np_jsonout_integer(out, "reserved_bytes", (int64_t)result->at_reserved);
	np_jsonout_integer(out, "blocks", (int64_t)result->peak_blocks);
	put_gaps(out, &result->gaps);
	np_jsonout_text(out, "by", report->by);
	np_jsonout_array(out, "groups");
	for (size_t i = 0; i < result->composition->groups.count; i++) {
		const struct mem_group *group = &result->composition->groups.item[i];

		np_jsonout_object_line(out, NULL);
		np_jsonout_text(out, "what", label(result, group->label));
		np_jsonout_integer(out, "bytes", (int64_t)group->bytes);
		np_jsonout_integer(out, "requested_bytes", (int64_t)group->requested);
		np_jsonout_integer(out, "blocks", (int64_t)group->blocks);
		np_jsonout_end(out);
	}
	np_jsonout_end(out);
	np_jsonout_end(out);
	put_survivors(out, result);
	put_whatif(out, &result->whatif);
	if (report->gate)
		np_jsonout_bool(out, "gate_tripped", result->tripped);
	np_jsonout_end(out);
}

int memory_report_json(const struct memory_report *report, void *stream, struct np_err *err)
{
	struct np_jsonout out;
	int rc;

	np_jsonout_init(&out, stream);
	np_jsonout_object(&out, NULL);
	np_jsonout_text(&out, "schema", "npuprof.memory/1");
	np_jsonout_array(&out, "skipped");
	np_jsonout_notes(&out, report->notes, NP_NOTE_SKIPPED);
	np_jsonout_end(&out);
	np_jsonout_array(&out, "ranks");
	for (size_t i = 0; i < report->results.count; i++)
		put_result(&out, report, &report->results.item[i]);
	np_jsonout_end(&out);
	np_jsonout_end(&out);
	rc = np_jsonout_finish(&out, err);
	np_jsonout_release(&out);
	return rc;
}

static int produce_groups(const void *model, struct np_sink *sink, struct np_err *err)
{
	const struct memory_report *report = model;
	int rc = NP_OK;

	for (size_t i = 0; i < report->results.count; i++) {
		const struct memory_result *result = &report->results.item[i];

		for (size_t j = 0; rc == NP_OK && j < result->composition->groups.count; j++) {
			const struct mem_group *group = &result->composition->groups.item[j];
			const struct np_cell cells[] = {
				np_cell_text(result->path),
				np_cell_integer(result->rank),
				np_cell_integer((int64_t)result->device),
				np_cell_integer((int64_t)result->at),
				np_cell_text(label(result, group->label)),
				np_cell_integer((int64_t)group->bytes),
				np_cell_integer((int64_t)group->requested),
				np_cell_integer((int64_t)group->blocks),
			};

			rc = np_sink_row(sink, cells, err);
		}
	}
	return rc;
}

int memory_report_csv(const struct memory_report *report, void *stream, struct np_err *err)
{
	static const struct np_column columns[] = {
		{ "file", NP_TEXT },
		{ "rank", NP_INTEGER },
		{ "device", NP_INTEGER },
		{ "event", NP_INTEGER },
		{ "what", NP_TEXT },
		{ "bytes", NP_INTEGER },
		{ "requested_bytes", NP_INTEGER },
		{ "blocks", NP_INTEGER },
	};
	static const struct np_relation groups = {
		.name = "np_memory_groups",
		.summary = "what fills the memory of each rank",
		.columns = columns,
		.column_count = NP_COUNT(columns),
		.produce = produce_groups,
	};

	return np_csv_write(&groups, report, stream, err);
}
