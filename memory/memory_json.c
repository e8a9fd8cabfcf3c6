/* SPDX-License-Identifier: Apache-2.0 */
/* What `npuprof memory` prints as JSON: npuprof.memory/1. */
#include "memory_report.h"

#include "npuprof/jsonout.h"

static void put_peak(struct np_jsonout *out, const char *key, const struct mem_reached *peak)
{
	np_jsonout_object_line(out, key);
	np_jsonout_integer(out, "bytes", peak->bytes);
	np_jsonout_integer(out, "event", peak->event);
	if (peak->time != NP_UNKNOWN)
		np_jsonout_integer(out, "time_ns", peak->time);
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

static void put_history(struct np_jsonout *out, const struct mem_history *history)
{
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
	np_jsonout_integer(out, "unsure_blocks", (int64_t)history->start_unsure);
	np_jsonout_end(out);
}

static void put_end(struct np_jsonout *out, const struct mem_history *history)
{
	np_jsonout_object_line(out, "end");
	np_jsonout_integer(out, "allocated_bytes", (int64_t)history->end_allocated);
	np_jsonout_integer(out, "requested_bytes", (int64_t)history->end_requested);
	np_jsonout_integer(out, "reserved_bytes", (int64_t)history->end_reserved);
	put_gaps(out, &history->end_gaps);
	np_jsonout_end(out);
}

static void put_peaks(struct np_jsonout *out, const struct mem_rank *rank)
{
	if (rank->history)
		put_history(out, rank->history);
	put_peak(out, "peak_allocated", &rank->allocated);
	put_peak(out, "peak_active", &rank->active);
	put_peak(out, "peak_reserved", &rank->reserved);
	put_peak(out, "peak_requested", &rank->requested);
	put_peak(out, "largest_gap", &rank->gap);
	np_jsonout_integer(out, "workspace_bytes", rank->workspace);
	np_jsonout_integer(out, "limit_bytes", rank->limit);
	np_jsonout_integer(out, "outside_bytes", rank->outside);
	if (rank->history)
		put_end(out, rank->history);
}

static void put_components(struct np_jsonout *out, const struct mem_rank *rank)
{
	np_jsonout_array(out, "components");
	for (size_t i = 0; i < rank->components.count; i++) {
		const struct mem_component *component = &rank->components.item[i];

		np_jsonout_object_line(out, NULL);
		np_jsonout_text(out, "component", component->name);
		np_jsonout_bool(out, "module", component->module);
		np_jsonout_integer(out, "peak_allocated_bytes", component->peak_allocated);
		np_jsonout_integer(out, "peak_reserved_bytes", component->peak_reserved);
		np_jsonout_integer(out, "allocated_bytes", component->at_allocated);
		np_jsonout_integer(out, "reserved_bytes", component->at_reserved);
		np_jsonout_integer(out, "growth_bytes_per_step", component->growth);
		np_jsonout_end(out);
	}
	np_jsonout_end(out);
	np_jsonout_array(out, "graphs");
	for (size_t i = 0; i < rank->graphs.count; i++) {
		const struct mem_graph *graph = &rank->graphs.item[i];

		np_jsonout_object_line(out, NULL);
		np_jsonout_integer(out, "graph", graph->graph);
		np_jsonout_text(out, "model", graph->model);
		np_jsonout_integer(out, "operators", (int64_t)graph->operators);
		np_jsonout_integer(out, "peak_bytes", graph->peak);
		np_jsonout_integer(out, "total_bytes", graph->total);
		np_jsonout_text(out, "largest", graph->largest);
		np_jsonout_end(out);
	}
	np_jsonout_end(out);
}

static void put_steps(struct np_jsonout *out, const struct mem_rank *rank)
{
	np_jsonout_array(out, "steps");
	for (size_t i = 0; i < rank->steps.count; i++) {
		const struct mem_step_use *step = &rank->steps.item[i];

		np_jsonout_object_line(out, NULL);
		np_jsonout_text(out, "step", step->id);
		np_jsonout_integer(out, "most_bytes", step->most.bytes);
		np_jsonout_integer(out, "least_bytes", step->least);
		np_jsonout_end(out);
	}
	np_jsonout_end(out);
}

static void put_survivors(struct np_jsonout *out, const struct mem_rank *result)
{
	const struct composition *composition = result->composition;
	const struct mem_life *freed = &composition->largest_freed;

	np_jsonout_object_line(out, "never_freed");
	np_jsonout_integer(out, "blocks",
			   result->lives_known ? (int64_t)composition->never_freed : NP_UNKNOWN);
	np_jsonout_integer(out, "bytes", mem_rank_never_freed(result));
	np_jsonout_integer(out, "requested_bytes",
			   result->lives_known && result->source == MEM_SNAPSHOT
				   ? (int64_t)composition->never_freed_requested
				   : NP_UNKNOWN);
	if (composition->forward_bytes > 0)
		np_jsonout_integer(out, "kept_by_forward_bytes",
				   (int64_t)composition->forward_bytes);
	np_jsonout_end(out);
	np_jsonout_array(out, "grows");
	for (size_t i = 0; i < composition->leaks.count; i++) {
		const struct mem_leak *leak = &composition->leaks.item[i];

		np_jsonout_object_line(out, NULL);
		np_jsonout_text(out, "what", mem_rank_label(result, leak->label));
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
		np_jsonout_text(out, "what", mem_rank_label(result, composition->transient.label));
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
	np_jsonout_made(out, "settings", &name);
}

static void put_whatif(struct np_jsonout *out, const struct memory_whatif *whatif)
{
	const struct mem_replay *found = &whatif->found;

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
		if (one->withheld) {
			np_jsonout_text(out, "withheld", one->withheld);
			np_jsonout_end(out);
			continue;
		}
		np_jsonout_integer(out, "peak_reserved_bytes", (int64_t)one->replay.peak_reserved);
		np_jsonout_integer(out, "end_reserved_bytes", (int64_t)one->replay.end_reserved);
		np_jsonout_integer(out, "driver_calls", (int64_t)one->replay.grown);
		np_jsonout_integer(out, "free_at_peak_bytes", (int64_t)one->replay.peak_gap);
		np_jsonout_bool(out, "approximate", one->replay.approximate);
		np_jsonout_integer(out, "error_bytes", (int64_t)one->error);
		np_jsonout_integer(out, "gain_bytes", one->gain);
		if (one->replay.settings.cap > 0) {
			np_jsonout_integer(out, "cap_bytes", (int64_t)one->replay.settings.cap);
			np_jsonout_integer(out, "refused", (int64_t)one->replay.refused);
			np_jsonout_integer(out, "refused_event",
					   one->replay.refused > 0 ? (int64_t)one->replay.refused_at
								   : NP_UNKNOWN);
			np_jsonout_integer(out, "ooms", (int64_t)one->replay.ooms);
			np_jsonout_integer(out, "ooms_served", (int64_t)one->replay.ooms_served);
		}
		np_jsonout_end(out);
	}
	np_jsonout_end(out);
	np_jsonout_end(out);
}

static void put_oom(struct np_jsonout *out, const struct mem_oom *oom)
{
	if (!oom->what)
		return;
	np_jsonout_object_line(out, "out_of_memory");
	np_jsonout_integer(out, "event", oom->event);
	np_jsonout_text(out, "what", oom->what);
	np_jsonout_integer(out, "wanted_bytes", oom->wanted);
	np_jsonout_integer(out, "device_free_bytes", oom->device_free);
	np_jsonout_integer(out, "free_bytes", oom->free);
	np_jsonout_integer(out, "largest_free_bytes", oom->largest);
	np_jsonout_bool(out, "in_pieces", mem_oom_in_pieces(oom));
	np_jsonout_end(out);
}

static void put_place(struct np_jsonout *out, const struct mem_rank *rank)
{
	const struct {
		const char *name;
		int32_t value;
	} places[] = { { "pp", rank->place.pp },
		       { "tp", rank->place.tp },
		       { "cp", rank->place.cp },
		       { "dp", rank->place.dp },
		       { "ep", rank->place.ep } };

	np_jsonout_text(out, "role", rank->role);
	np_jsonout_text(out, "host", rank->host);
	for (size_t i = 0; i < NP_COUNT(places); i++)
		np_jsonout_integer(out, places[i].name,
				   places[i].value < 0 ? NP_UNKNOWN : places[i].value);
}

static void put_result(struct np_jsonout *out, const struct memory_report *report,
		       const struct mem_rank *result)
{
	np_jsonout_object(out, NULL);
	np_jsonout_text(out, "file", result->path);
	np_jsonout_integer(out, "rank", result->rank);
	np_jsonout_integer(out, "device", (int64_t)result->device);
	np_jsonout_text(out, "source", result->source == MEM_SNAPSHOT ? "snapshot" : "profile");
	np_jsonout_text(out, "component", result->component);
	put_place(out, result);
	put_peaks(out, result);
	np_jsonout_object(out, "at");
	np_jsonout_text(out, "moment", report->moment);
	np_jsonout_integer(out, "event", result->at.event);
	if (result->at.time != NP_UNKNOWN)
		np_jsonout_integer(out, "time_ns", result->at.time);
	np_jsonout_integer(out, "allocated_bytes", result->at.bytes);
	np_jsonout_integer(out, "requested_bytes", result->at_requested);
	np_jsonout_integer(out, "rounding_bytes",
			   result->at_requested == NP_UNKNOWN
				   ? NP_UNKNOWN
				   : result->at.bytes - result->at_requested);
	np_jsonout_integer(out, "reserved_bytes", result->at_reserved);
	np_jsonout_integer(out, "blocks", result->at_blocks);
	if (result->history)
		put_gaps(out, &result->gaps);
	np_jsonout_text(out, "by", memory_by_name(result->by));
	np_jsonout_array(out, "groups");
	for (size_t i = 0; i < result->composition->groups.count; i++) {
		const struct mem_group *group = &result->composition->groups.item[i];

		np_jsonout_object_line(out, NULL);
		np_jsonout_text(out, "what", mem_rank_label(result, group->label));
		np_jsonout_integer(out, "bytes", (int64_t)group->bytes);
		np_jsonout_integer(out, "requested_bytes", mem_rank_requested(result, group));
		np_jsonout_integer(out, "blocks", mem_rank_blocks(group));
		np_jsonout_end(out);
	}
	np_jsonout_end(out);
	np_jsonout_end(out);
	put_components(out, result);
	put_steps(out, result);
	put_survivors(out, result);
	if (result->history)
		put_whatif(out, &result->whatif);
	put_oom(out, &result->oom);
	if (report->gate)
		np_jsonout_bool(out, "gate_tripped", result->tripped);
	np_jsonout_end(out);
}

static void put_dimension(struct np_jsonout *out, const struct mem_dimension *dimension)
{
	np_jsonout_object(out, NULL);
	np_jsonout_text(out, "what", dimension->what);
	np_jsonout_real(out, "explained", dimension->explained);
	np_jsonout_array(out, "parts");
	for (size_t i = 0; i < dimension->parts.count; i++) {
		const struct mem_part *part = &dimension->parts.item[i];

		np_jsonout_object_line(out, NULL);
		np_jsonout_text(out, "value", part->value);
		np_jsonout_integer(out, "ranks", (int64_t)part->ranks);
		np_jsonout_integer(out, "least_bytes", part->least);
		np_jsonout_integer(out, "mean_bytes", part->mean);
		np_jsonout_integer(out, "most_bytes", part->most);
		np_jsonout_integer(out, "most_rank", part->most_rank);
		np_jsonout_end(out);
	}
	np_jsonout_end(out);
	np_jsonout_end(out);
}

static void put_who(struct np_jsonout *out, const char *key, const struct mem_imbalance *imbalance,
		    const struct mem_rank *rank)
{
	np_jsonout_object_line(out, key);
	np_jsonout_integer(out, "rank", rank->rank);
	np_jsonout_text(out, "file", rank->path);
	np_jsonout_integer(out, "bytes", mem_imbalance_peak(imbalance, rank));
	np_jsonout_end(out);
}

static void put_first_out(struct np_jsonout *out, const struct mem_imbalance *imbalance)
{
	np_jsonout_object_line(out, "runs_out_first");
	np_jsonout_integer(out, "rank", imbalance->first_out->rank);
	np_jsonout_text(out, "file", imbalance->first_out->path);
	np_jsonout_integer(out, "headroom_bytes", imbalance->headroom);
	np_jsonout_integer(out, "growth_bytes_per_step", imbalance->growth);
	np_jsonout_integer(out, "steps_left", imbalance->steps_left);
	np_jsonout_end(out);
}

static void put_differences(struct np_jsonout *out, const mem_differences *differences,
			    const char *other)
{
	for (size_t i = 0; i < differences->count; i++) {
		const struct mem_difference *one = &differences->item[i];

		np_jsonout_object_line(out, NULL);
		np_jsonout_text(out, "what", one->what);
		np_jsonout_integer(out, "bytes", one->bytes);
		np_jsonout_integer(out, other, one->other_bytes);
		np_jsonout_end(out);
	}
}

static void put_imbalance(struct np_jsonout *out, const struct mem_imbalance *imbalance)
{
	if (imbalance->count == 0)
		return;
	np_jsonout_object(out, "imbalance");
	np_jsonout_text(out, "of", imbalance->of);
	np_jsonout_integer(out, "ranks", (int64_t)imbalance->count);
	put_who(out, "least", imbalance, imbalance->least);
	put_who(out, "median", imbalance, imbalance->median);
	put_who(out, "most", imbalance, imbalance->most);
	put_first_out(out, imbalance);
	if (imbalance->count > 1) {
		np_jsonout_bool(out, "matters", mem_imbalance_matters(imbalance));
		np_jsonout_text(out, "along", imbalance->along ? imbalance->along->what : NULL);
		np_jsonout_integer(out, "even_peak_bytes", imbalance->even_peak);
		np_jsonout_integer(out, "even_gain_bytes", imbalance->even_gain);
		np_jsonout_array(out, "dimensions");
		for (size_t i = 0; i < imbalance->dimensions.count; i++)
			put_dimension(out, &imbalance->dimensions.item[i]);
		np_jsonout_end(out);
		np_jsonout_array(out, "differences");
		put_differences(out, &imbalance->differences, "median_bytes");
		np_jsonout_end(out);
	}
	np_jsonout_end(out);
}

static void put_pair(struct np_jsonout *out, const struct mem_pair *pair)
{
	np_jsonout_object(out, NULL);
	np_jsonout_integer(out, "rank", pair->now->rank);
	np_jsonout_text(out, "file", pair->now->path);
	np_jsonout_text(out, "base_file", pair->base->path);
	np_jsonout_integer(out, "peak_allocated_delta_bytes",
			   mem_risen(&pair->base->allocated, &pair->now->allocated));
	np_jsonout_integer(out, "peak_reserved_delta_bytes",
			   mem_risen(&pair->base->reserved, &pair->now->reserved));
	np_jsonout_integer(out, "delta_bytes", mem_risen(&pair->base->at, &pair->now->at));
	np_jsonout_array(out, "changes");
	put_differences(out, &pair->changes, "base_bytes");
	np_jsonout_end(out);
	np_jsonout_end(out);
}

static void put_comparison(struct np_jsonout *out, const struct memory_report *report)
{
	const struct mem_comparison *comparison = report->comparison;

	np_jsonout_object(out, "comparison");
	np_jsonout_text(out, "base", report->base);
	np_jsonout_integer(out, "base_only", (int64_t)comparison->base_alone);
	np_jsonout_integer(out, "new_only", (int64_t)comparison->now_alone);
	np_jsonout_array(out, "ranks");
	for (size_t i = 0; i < comparison->pairs.count; i++)
		put_pair(out, &comparison->pairs.item[i]);
	np_jsonout_end(out);
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
	np_jsonout_array(&out, "warnings");
	np_jsonout_notes(&out, report->notes, NP_NOTE_WARNING);
	np_jsonout_end(&out);
	np_jsonout_array(&out, "ranks");
	for (size_t i = 0; i < report->ranks.count; i++)
		put_result(&out, report, &report->ranks.item[i]);
	np_jsonout_end(&out);
	put_imbalance(&out, report->imbalance);
	if (report->comparison)
		put_comparison(&out, report);
	np_jsonout_end(&out);
	rc = np_jsonout_finish(&out, err);
	np_jsonout_release(&out);
	return rc;
}
