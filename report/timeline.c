/* SPDX-License-Identifier: Apache-2.0 */
/* What each rank did as slices on the common clock. */
#include "timeline.h"

#include "page/page_aliases.h"

#include "npuprof/align.h"
#include "npuprof/clock.h"
#include "npuprof/cluster_tables.h"
#include "npuprof/detail.h"
#include "npuprof/order.h"
#include "npuprof/rank.h"
#include "npuprof/run.h"
#include "npuprof/snapshot_rows.h"
#include "npuprof/spans.h"

#include <inttypes.h>

/* Processes before those of the ranks. */
#define PATH_PROCESS  2
#define FIRST_PROCESS 3

/* Tracks that every rank has; the others are numbered as they come. */
#define STEP_TRACK  1
#define IDLE_TRACK  2
#define FIRST_TRACK 3

/* Of the tracks of allocations. */
#define ALLOCATION_KEY (INT64_MIN + 1)

/* Arrows of one operator, and how long somebody must have waited for one. */
#define MOST_ARROWS 8
#define LEAST_WAIT  20000

/* Slices that overlap stand on tracks of their own. */
struct timeline_lane {
	int64_t key;
	np_ns end;
	int32_t track;
};

struct timeline_pen {
	struct timeline_out *out;
	const struct np_analysis *analysis;
	const struct timeline_options *options;
	np_ns base;
	/* Of the rank in hand. */
	uint32_t index;
	const struct np_rank *rank;
	const struct np_detail *detail;
	int32_t process;
	int32_t tracks;
	NP_VEC(struct timeline_lane) lanes;
	NP_VEC(np_ns) ends;          /* by track: of its last slice */
	struct page_aliases aliases; /* of an anonymous timeline */
	struct np_err *err;
};

/* On the common clock, since the base. */
static np_ns at(const struct timeline_pen *pen, np_ns local)
{
	return np_clock_time(pen->analysis->clock, pen->index, local) - pen->base;
}

static bool wants_step(const struct timeline_pen *pen, uint32_t step)
{
	if (step == NP_NO_STEP)
		return !pen->options->has_only && !pen->analysis->run->steps_chosen;
	return !pen->options->has_only || pen->rank->steps.item[step].id == pen->options->only;
}

/* The track for a slice of this kind: the first whose last slice has ended, or a new one. */
static int find_track(struct timeline_pen *pen, int64_t key, const char *name, np_ns begin,
		      np_ns end, int32_t *ret)
{
	struct timeline_lane *lane = NULL;
	size_t same = 0;

	for (size_t i = 0; i < pen->lanes.count && !lane; i++) {
		struct timeline_lane *each = &pen->lanes.item[i];

		same += each->key == key;
		if (each->key == key && each->end <= begin)
			lane = each;
	}
	if (!lane) {
		NP_CLEANUP(np_buf_release) struct np_buf text = NP_BUF_INIT;

		lane = np_vec_add(&pen->lanes, pen->err);
		if (!lane)
			return NP_E_NOMEM;
		*lane = (struct timeline_lane){ .key = key, .track = pen->tracks++ };
		np_buf_add(&text, name);
		if (same > 0)
			np_buf_printf(&text, " (%zu)", same + 1);
		timeline_out_track(pen->out, pen->process, lane->track, text.text);
	}
	lane->end = end;
	*ret = lane->track;
	return NP_OK;
}

/* Texts of a slice without what names somebody; the room lasts as long as they do. */
static void hide_names(struct timeline_pen *pen, struct timeline_slice *slice,
		       struct np_buf room[1 + TIMELINE_ARGS])
{
	if (slice->name) {
		page_aliases_put(&room[0], &pen->aliases, slice->name, strlen(slice->name));
		slice->name = room[0].text;
	}
	for (size_t i = 0; i < TIMELINE_ARGS && slice->args[i].name; i++) {
		const char *text = slice->args[i].text;

		if (!text || !*text)
			continue;
		page_aliases_put(&room[1 + i], &pen->aliases, text, strlen(text));
		slice->args[i].text = room[1 + i].text;
	}
}

/*
 * Slices of a track follow each other on the rank's clock. On the common one, which drifts
 * against it, rounding may let them touch by a nanosecond: the later gives way.
 */
static void put(struct timeline_pen *pen, struct timeline_slice *slice)
{
	np_ns *end;

	while (pen->ends.count <= (size_t)slice->track) {
		end = np_vec_add(&pen->ends, &pen->out->err);
		if (!end)
			return;
		*end = -NP_NS_MAX;
	}
	end = &pen->ends.item[slice->track];
	if (slice->begin < *end)
		slice->begin = *end;
	*end = slice->begin + slice->length;
	if (pen->options->anonymous) {
		struct np_buf room[1 + TIMELINE_ARGS];
		struct timeline_slice hidden = *slice;

		for (size_t i = 0; i < NP_COUNT(room); i++)
			room[i] = NP_BUF_INIT;
		hide_names(pen, &hidden, room);
		timeline_out_slice(pen->out, &hidden);
		for (size_t i = 0; i < NP_COUNT(room); i++)
			np_buf_release(&room[i]);
	} else {
		timeline_out_slice(pen->out, slice);
	}
}

static void draw(struct timeline_pen *pen, int32_t track, np_ns begin, np_ns length,
		 const char *name, const char *category)
{
	if (length > 0)
		put(pen, &(struct timeline_slice){ .process = pen->process,
						   .track = track,
						   .begin = begin,
						   .length = length,
						   .name = name,
						   .category = category });
}

/* --- steps and idle time --------------------------------------------------------------------- */

static void draw_step(struct timeline_pen *pen, const struct np_step_time *time)
{
	const char *id = np_run_text(pen->analysis->run, pen->rank->steps.item[time->step].id);
	np_ns begin = at(pen, time->begin);
	struct timeline_slice slice = {
		.process = pen->process,
		.track = STEP_TRACK,
		.begin = begin,
		.length = time->span,
		.category = "step",
		.args = { { "step", 0, id ? id : "-" },
			  { "computing_ns", time->computing, NULL },
			  { "exposed_ns", time->communication_not_overlapped, NULL },
			  { "free_ns", time->free, NULL },
			  { "iteration_ns", np_step_iteration(time), NULL } }
	};
	char name[96];

	(void)snprintf(name, sizeof(name), "step %s", id ? id : "-");
	slice.name = name;
	put(pen, &slice);
}

static const char *idle_name(enum np_leaf_kind kind)
{
	switch (kind) {
	case NP_LEAF_MEMCPY:
		return "memcpy";
	case NP_LEAF_FREE_HOST:
		return "free/host";
	case NP_LEAF_FREE_DATALOADER:
		return "free/dataloader";
	case NP_LEAF_FREE_OTHER:
		return "free/other";
	default:
		return "free/unknown";
	}
}

/* Where nothing computes or communicates in a cell. */
static int find_busy(struct timeline_pen *pen, size_t cell, struct np_spans *busy)
{
	const struct np_step_time *time = &pen->rank->times.item[cell];
	int rc = NP_OK;

	for (size_t i = 0; i < pen->detail->kernels.count && rc == NP_OK; i++) {
		const struct np_kernel *each = &pen->detail->kernels.item[i];

		if (each->step == time->step && np_kernel_computes(each) &&
		    (each->device == time->device || time->device < 0))
			rc = np_spans_add(busy, each->start, each->end, pen->err);
	}
	for (size_t i = 0; i < pen->rank->ops.count && rc == NP_OK; i++) {
		const struct np_comm_op *op = &pen->rank->ops.item[i];

		if (op->step == time->step && (op->device == time->device || time->device < 0))
			rc = np_spans_add(busy, op->start, op->end, pen->err);
	}
	return rc;
}

/* The idle kinds of a segment, laid into its gaps one after the other. */
static void draw_gaps(struct timeline_pen *pen, const struct np_spans *busy, np_ns begin, np_ns end,
		      np_ns left[NP_LEAF_KINDS])
{
	size_t count = np_spans_count(busy);
	size_t next = np_lower_bound(i, (size_t)0, count, np_spans_get(busy, i).end > begin);
	enum np_leaf_kind kind = NP_LEAF_MEMCPY;
	np_ns now = begin;

	while (now < end && kind < NP_LEAF_KINDS) {
		np_ns stop = next < count && np_spans_get(busy, next).begin < end
				     ? np_spans_get(busy, next).begin
				     : end;
		np_ns part = stop - now < left[kind] ? stop - now : left[kind];

		if (left[kind] == 0) {
			kind++;
			continue;
		}
		if (part > 0)
			draw(pen, IDLE_TRACK, at(pen, now), part, idle_name(kind), "idle");
		left[kind] -= part > 0 ? part : 0;
		now += part > 0 ? part : 0;
		if (now >= stop) {
			now = next < count ? np_spans_get(busy, next).end : end;
			next++;
		}
	}
}

static int draw_idle(struct timeline_pen *pen, size_t index)
{
	NP_CLEANUP(np_spans_freep) struct np_spans *busy = np_spans_new();
	const struct np_activity *activity = &pen->rank->activity;
	const struct np_activity_cell *cell = &activity->cells.item[index];
	int rc = busy ? find_busy(pen, index, busy) : np_fail_nomem(pen->err, "the timeline");

	for (uint32_t i = 0; i < cell->segments && rc == NP_OK; i++) {
		const struct np_segment *segment =
			&activity->segments.item[cell->first_segment + i];
		np_ns end = i + 1 < cell->segments ? segment[1].begin : cell->end;
		np_ns left[NP_LEAF_KINDS] = { 0 };

		for (uint32_t j = segment[0].first; j < segment[1].first; j++) {
			const struct np_share *share = &activity->shares.item[j];

			if (np_leaf_kind(share->leaf) > NP_LEAF_COMM)
				left[np_leaf_kind(share->leaf)] += share->ns;
		}
		draw_gaps(pen, busy, segment->begin, end, left);
	}
	return rc;
}

/* Of what a summary holds the kernels are sums only. */
static bool has_kernels(const struct timeline_pen *pen)
{
	return pen->detail->kernels.count > 0 || pen->rank->kernels.count == 0;
}

static int draw_steps(struct timeline_pen *pen)
{
	int rc = NP_OK;

	timeline_out_track(pen->out, pen->process, STEP_TRACK, "steps");
	timeline_out_track(pen->out, pen->process, IDLE_TRACK, "idle, by cause");
	for (size_t i = 0; i < pen->rank->times.count && rc == NP_OK; i++) {
		const struct np_step_time *time = &pen->rank->times.item[i];
		np_ns end;

		if (!wants_step(pen, time->step) || time->begin == NP_UNKNOWN)
			continue;
		draw_step(pen, time);
		/* Without kernels nobody knows where nothing ran. */
		if (i < pen->rank->activity.cells.count && has_kernels(pen))
			rc = draw_idle(pen, i);
		end = at(pen, time->begin + time->span);
		for (size_t kind = 0; kind < NP_BETWEEN_KINDS; kind++) {
			if (np_step_iteration(time) == NP_UNKNOWN)
				break;
			draw(pen, IDLE_TRACK, end, time->between[kind],
			     np_between_leaf((enum np_between)kind), "idle");
			end += time->between[kind];
		}
	}
	return rc;
}

/* --- kernels, operators, launches ------------------------------------------------------------- */

static int draw_kernels(struct timeline_pen *pen)
{
	int rc = NP_OK;

	for (size_t i = 0; i < pen->detail->kernels.count && rc == NP_OK; i++) {
		const struct np_kernel *each = &pen->detail->kernels.item[i];
		const char *type = np_detail_text(pen->detail, each->type);
		const char *name = np_detail_text(pen->detail, each->name);
		const char *shapes = np_detail_text(pen->detail, each->in_shapes);
		struct timeline_slice slice = { .process = pen->process,
						.begin = at(pen, each->start),
						.length = each->end - each->start,
						.name = type ? type : name,
						.category = "compute",
						.args = {
							{ "name", 0, name ? name : "?" },
							{ shapes ? "shapes" : NULL, 0, shapes } } };
		char track[48];

		if (!wants_step(pen, each->step) || !np_kernel_computes(each))
			continue;
		(void)snprintf(track, sizeof(track), "computing, stream %" PRId64, each->stream);
		rc = find_track(pen, each->stream, track, each->start, each->end, &slice.track);
		put(pen, &slice);
	}
	return rc;
}

/* The member that came last: it waited least. */
static uint32_t last_member(const struct np_analysis *analysis, const struct np_instance *instance,
			    np_ns *ret_longest)
{
	uint32_t last = UINT32_MAX;
	np_ns least = NP_NS_MAX;

	*ret_longest = 0;
	for (uint32_t i = 0; i < instance->count; i++) {
		np_ns wait = analysis->waits.wait[instance->first + i];

		if (wait == NP_UNKNOWN)
			continue;
		if (wait < least) {
			least = wait;
			last = instance->first + i;
		}
		*ret_longest = wait > *ret_longest ? wait : *ret_longest;
	}
	return last;
}

static bool is_drawn(const struct timeline_pen *pen, uint32_t slot)
{
	return !pen->options->ranks ||
	       pen->options->ranks[pen->analysis->align->members[slot].rank];
}

/* Arrows go to those of the instance that waited long, each by its slot. */
static bool is_arrow(const struct timeline_pen *pen, uint32_t slot, uint32_t last, np_ns longest)
{
	np_ns wait = pen->analysis->waits.wait[slot];

	return slot != last && wait != NP_UNKNOWN && wait >= LEAST_WAIT && wait >= longest / 2 &&
	       is_drawn(pen, slot) && is_drawn(pen, last);
}

/* Numbers of arrows are those of the slots that they lead to, + 1: 0 is none. */
static size_t arrows_from(const struct timeline_pen *pen, const struct np_instance *instance,
			  uint32_t last, np_ns longest, uint64_t ret[MOST_ARROWS])
{
	size_t count = 0;

	for (uint32_t i = 0; i < instance->count && count < MOST_ARROWS; i++) {
		if (is_arrow(pen, instance->first + i, last, longest))
			ret[count++] = (uint64_t)instance->first + i + 1;
	}
	return count;
}

static uint64_t arrow_to(const struct timeline_pen *pen, const struct np_instance *instance,
			 uint32_t slot, uint32_t last, np_ns longest)
{
	uint64_t arrows[MOST_ARROWS];
	size_t count = last == UINT32_MAX ? 0 : arrows_from(pen, instance, last, longest, arrows);

	for (size_t i = 0; i < count; i++) {
		if (arrows[i] == (uint64_t)slot + 1)
			return arrows[i];
	}
	return 0;
}

static void communicator_name(const struct timeline_pen *pen, const struct np_comm_op *op,
			      char *ret, size_t size)
{
	const struct np_group *group = &pen->rank->groups.item[op->group];
	const char *name = np_run_text(pen->analysis->run, group->pg_name);

	(void)snprintf(ret, size, "%s \u2026%03" PRIu64, name ? name : "communicator",
		       group->hash % 1000);
}

static int draw_op(struct timeline_pen *pen, uint32_t index)
{
	const struct np_analysis *analysis = pen->analysis;
	const struct np_comm_op *op = &pen->rank->ops.item[index];
	uint32_t slot = np_align_slot(analysis->align, pen->index, index);
	const struct np_instance *instance = np_align_instance(analysis->align, slot);
	np_ns wait = analysis->waits.wait[slot];
	np_ns longest;
	uint32_t last = last_member(analysis, instance, &longest);
	uint64_t arrows[MOST_ARROWS];
	struct timeline_slice slice = { .process = pen->process,
					.begin = at(pen, op->start),
					.length = wait == NP_UNKNOWN ? op->end - op->start : wait,
					.category = wait == NP_UNKNOWN ? "comm" : "wait",
					.args = { { "operator", 0,
						    np_run_text(analysis->run, op->name) },
						  { "bytes", op->bytes, NULL },
						  { "ranks", instance->expected, NULL } } };
	char name[160];
	char track[96];
	int rc;

	communicator_name(pen, op, track, sizeof(track));
	rc = find_track(pen, INT64_MIN + op->group, track, op->start, op->end, &slice.track);
	(void)snprintf(name, sizeof(name), "%s%s",
		       wait == NP_UNKNOWN ? "" : "wait: ", np_run_text(analysis->run, op->type));
	slice.name = name;
	if (last == slot) {
		slice.from = arrows;
		slice.from_count = arrows_from(pen, instance, last, longest, arrows);
	}
	/* The arrow begins where the last one came, at the first slice that it has. */
	if (slice.length > 0 || wait == NP_UNKNOWN) {
		put(pen, &slice);
		slice.from_count = 0;
	}
	if (wait == NP_UNKNOWN || wait >= op->end - op->start)
		return rc;
	slice.begin = at(pen, op->start + wait);
	slice.length = op->end - op->start - wait;
	slice.category = "transfer";
	slice.name = np_run_text(analysis->run, op->type);
	slice.to = arrow_to(pen, instance, slot, last, longest);
	put(pen, &slice);
	return rc;
}

static int draw_calls(struct timeline_pen *pen)
{
	int rc = NP_OK;

	for (size_t i = 0; i < pen->detail->calls.count && rc == NP_OK; i++) {
		const struct np_call *call = &pen->detail->calls.item[i];
		struct timeline_slice slice = { .process = pen->process,
						.begin = at(pen, call->start),
						.length = call->end - call->start,
						.name = np_detail_text(pen->detail, call->name),
						.category = "host" };
		char track[48];

		if (call->level != NP_CALL_NODE || !wants_step(pen, call->step))
			continue;
		(void)snprintf(track, sizeof(track), "host, thread %" PRId64, call->tid);
		rc = find_track(pen, INT64_MAX - call->tid, track, call->start, call->end,
				&slice.track);
		put(pen, &slice);
	}
	return rc;
}

/* Allocations of a rank that are drawn: the largest. */
#define MOST_ALLOCATIONS 256

static int order_by_bytes(const void *a, const void *b)
{
	const struct np_memory_op *const *op_a = a;
	const struct np_memory_op *const *op_b = b;

	if ((*op_a)->bytes != (*op_b)->bytes)
		return (*op_a)->bytes < (*op_b)->bytes ? 1 : -1;
	return np_order((*op_a)->alloc, (*op_b)->alloc);
}

static int order_by_alloc(const void *a, const void *b)
{
	const struct np_memory_op *const *op_a = a;
	const struct np_memory_op *const *op_b = b;

	if ((*op_a)->alloc != (*op_b)->alloc)
		return np_order((*op_a)->alloc, (*op_b)->alloc);
	return np_order((*op_b)->bytes, (*op_a)->bytes);
}

/* Does it live while a step that is drawn runs? */
static bool is_alive_in_steps(const struct timeline_pen *pen, const struct np_memory_op *op)
{
	for (size_t i = 0; i < pen->rank->times.count && pen->options->has_only; i++) {
		const struct np_step_time *time = &pen->rank->times.item[i];

		if (wants_step(pen, time->step) && time->begin != NP_UNKNOWN &&
		    op->alloc < time->begin + time->span &&
		    (op->release == NP_UNKNOWN || op->release > time->begin))
			return true;
	}
	return !pen->options->has_only;
}

static int draw_allocation(struct timeline_pen *pen, const struct np_memory_op *op, np_ns last)
{
	np_ns end = op->release == NP_UNKNOWN ? last : op->release;
	struct timeline_slice slice = {
		.process = pen->process,
		.begin = at(pen, op->alloc),
		.length = end - op->alloc,
		.name = np_detail_text(pen->detail, op->name),
		.category = "memory",
		.args = { { "bytes", op->bytes, NULL },
			  { "freed", 0, op->release == NP_UNKNOWN ? "not recorded" : "yes" } }
	};
	int rc;

	if (slice.length <= 0)
		return NP_OK;
	slice.name = slice.name ? slice.name : "?";
	rc = find_track(pen, ALLOCATION_KEY, "largest allocations", op->alloc, end, &slice.track);
	if (rc == NP_OK)
		put(pen, &slice);
	return rc;
}

/* The largest allocations of operators, from their request to their release. */
static int draw_allocations(struct timeline_pen *pen)
{
	const struct np_detail *detail = pen->detail;
	size_t count = 0;
	np_ns last = 0;
	const struct np_memory_op **ops = calloc(detail->memory_ops.count + 1, sizeof(*ops));
	int rc = ops ? NP_OK : np_fail_nomem(pen->err, "allocations");

	for (size_t i = 0; ops && i < detail->memory_ops.count; i++) {
		const struct np_memory_op *op = &detail->memory_ops.item[i];

		if (op->alloc == NP_UNKNOWN)
			continue;
		last = op->alloc > last ? op->alloc : last;
		if (op->release != NP_UNKNOWN && op->release > last)
			last = op->release;
		if (op->bytes > 0 && is_alive_in_steps(pen, op))
			ops[count++] = op;
	}
	for (size_t i = 0; i < pen->rank->times.count; i++) {
		const struct np_step_time *time = &pen->rank->times.item[i];

		if (time->begin != NP_UNKNOWN && time->begin + time->span > last)
			last = time->begin + time->span;
	}
	if (count > 0)
		qsort(ops, count, sizeof(*ops), order_by_bytes);
	count = count > MOST_ALLOCATIONS ? MOST_ALLOCATIONS : count;
	if (count > 0)
		qsort(ops, count, sizeof(*ops), order_by_alloc);
	for (size_t i = 0; rc == NP_OK && i < count; i++)
		rc = draw_allocation(pen, ops[i], last);
	free(ops);
	return rc;
}

/* What each component of the memory management held; modules of CANN have tracks of their own. */
static int draw_memory(struct timeline_pen *pen)
{
	const struct np_detail *detail = pen->detail;
	NP_VEC(np_str) components = { 0 };
	int rc = NP_OK;

	for (size_t i = 0; rc == NP_OK && i < detail->memory_curve.count; i++) {
		np_str name = detail->memory_curve.item[i].component;
		bool known = false;

		for (size_t j = 0; j < components.count; j++)
			known |= components.item[j] == name;
		if (!known) {
			np_str *added = np_vec_add(&components, pen->err);

			rc = added ? NP_OK : NP_E_NOMEM;
			if (added)
				*added = name;
		}
	}
	for (size_t c = 0; rc == NP_OK && c < 2 * components.count; c++) {
		const char *component = np_detail_text(detail, components.item[c / 2]);
		bool reserved = c % 2;
		NP_CLEANUP(np_buf_release) struct np_buf name = NP_BUF_INIT;
		int32_t track = pen->tracks++;
		int64_t before = NP_UNKNOWN;

		np_buf_printf(&name, "memory %s %s", component ? component : "?",
			      reserved ? "reserved" : "allocated");
		for (size_t i = 0, seen = 0; i < detail->memory_curve.count; i++) {
			const struct np_memory_point *point = &detail->memory_curve.item[i];
			int64_t bytes = reserved ? point->reserved : point->allocated;

			if (point->component != components.item[c / 2] || bytes == NP_UNKNOWN ||
			    (seen > 0 && bytes == before))
				continue;
			if (seen++ == 0)
				timeline_out_counter_track(pen->out, pen->process, track,
							   name.text);
			timeline_out_counter(pen->out, pen->process, track, name.text,
					     at(pen, point->time), bytes);
			before = bytes;
		}
	}
	np_vec_release(&components);
	return rc;
}

static int draw_counters(struct timeline_pen *pen)
{
	const struct np_detail *detail = pen->detail;
	int32_t track = pen->tracks++;

	if (detail->frequency.count > 0)
		timeline_out_counter_track(pen->out, pen->process, track, "AI core MHz");
	for (size_t i = 0; i < detail->frequency.count; i++)
		timeline_out_counter(pen->out, pen->process, track, "AI core MHz",
				     at(pen, detail->frequency.item[i].time),
				     detail->frequency.item[i].mhz);
	return draw_memory(pen);
}

/* --- ranks ------------------------------------------------------------------------------------ */

static void put_process(struct timeline_pen *pen)
{
	const struct np_coordinates *place = &pen->analysis->cluster->coordinates[pen->index];
	const char *host = np_run_text(pen->analysis->run, pen->rank->host_name);
	NP_CLEANUP(np_buf_release) struct np_buf name = NP_BUF_INIT;
	const struct {
		const char *name;
		int32_t value;
	} dimensions[] = { { "dp", place->dp },
			   { "tp", place->tp },
			   { "pp", place->pp },
			   { "cp", place->cp },
			   { "ep", place->ep } };

	np_buf_printf(&name, "rank %" PRId32, pen->rank->id);
	if (host && !pen->options->anonymous)
		np_buf_printf(&name, " \u00b7 %s", host);
	for (size_t i = 0, seen = 0; i < NP_COUNT(dimensions); i++) {
		if (dimensions[i].value >= 0)
			np_buf_printf(&name, "%s%s%" PRId32, seen++ == 0 ? " \u00b7 " : " ",
				      dimensions[i].name, dimensions[i].value);
	}
	timeline_out_process(pen->out, pen->process, name.text);
}

static int draw_rank(struct timeline_pen *pen)
{
	int rc;

	pen->lanes.count = 0;
	pen->ends.count = 0;
	pen->tracks = FIRST_TRACK;
	put_process(pen);
	rc = draw_steps(pen);
	if (rc == NP_OK)
		rc = draw_kernels(pen);
	for (uint32_t i = 0; i < pen->rank->ops.count && rc == NP_OK; i++) {
		if (wants_step(pen, pen->rank->ops.item[i].step))
			rc = draw_op(pen, i);
	}
	if (rc == NP_OK && pen->options->host)
		rc = draw_calls(pen);
	if (rc == NP_OK)
		rc = draw_allocations(pen);
	return rc == NP_OK ? draw_counters(pen) : rc;
}

/* --- snapshots -------------------------------------------------------------------------------- */

/*
 * A snapshot of the allocator has no times: its events are in order, and stand one after the other
 * as if each took a microsecond, in a process of its own that says so.
 */
#define EVENT_NS 1000

static void draw_snapshot_curve(struct timeline_pen *pen, size_t of, bool reserved)
{
	const struct np_memory *memory = pen->analysis->memory;
	const char *name = reserved ? "memory reserved" : "memory allocated";
	int32_t track = pen->tracks++;

	timeline_out_counter_track(pen->out, pen->process, track, name);
	for (size_t i = 0; i < memory->curve.count; i++) {
		const struct np_memory_curve_row *row = &memory->curve.item[i];

		if (row->of == of && row->event != NP_UNKNOWN)
			timeline_out_counter(pen->out, pen->process, track, name,
					     row->event * EVENT_NS,
					     reserved ? row->reserved : row->allocated);
	}
}

static int draw_snapshot(struct timeline_pen *pen, size_t of)
{
	const struct np_memory *memory = pen->analysis->memory;
	const struct np_memory_rank_row *rank = &memory->ranks.item[of];
	NP_CLEANUP(np_buf_release) struct np_buf name = NP_BUF_INIT;
	int rc = NP_OK;

	np_buf_add(&name, "memory snapshot");
	if (rank->rank != NP_UNKNOWN)
		np_buf_printf(&name, " of rank %" PRId64, rank->rank);
	np_buf_add(&name, ": order of events, not time (1 us each)");
	pen->lanes.count = 0;
	pen->ends.count = 0;
	pen->tracks = FIRST_TRACK;
	timeline_out_process(pen->out, pen->process, name.text);
	for (size_t i = 0; rc == NP_OK && i < memory->largest.count; i++) {
		const struct np_memory_largest_row *row = &memory->largest.item[i];
		np_ns begin = row->birth == NP_UNKNOWN ? 0 : row->birth * EVENT_NS;
		np_ns end = (row->freed == NP_UNKNOWN ? rank->events : row->freed) * EVENT_NS;
		struct timeline_slice slice = {
			.process = pen->process,
			.begin = begin,
			.length = end - begin,
			.name = row->what,
			.category = "memory",
			.args = { { "bytes", row->bytes, NULL },
				  { "freed", 0, row->freed == NP_UNKNOWN ? "never" : "yes" } }
		};

		if (row->of != of || slice.length <= 0)
			continue;
		rc = find_track(pen, ALLOCATION_KEY, "largest allocations", begin, end,
				&slice.track);
		if (rc == NP_OK)
			put(pen, &slice);
	}
	draw_snapshot_curve(pen, of, false);
	draw_snapshot_curve(pen, of, true);
	return rc;
}

static int draw_snapshots(struct timeline_pen *pen)
{
	const struct np_memory *memory = pen->analysis->memory;
	int32_t first = FIRST_PROCESS + (int32_t)pen->analysis->run->sources.count;
	int rc = NP_OK;

	for (size_t i = 0; rc == NP_OK && memory && i < memory->ranks.count; i++) {
		pen->process = first + (int32_t)i;
		if (!pen->options->has_only && memory->ranks.item[i].events != NP_UNKNOWN)
			rc = draw_snapshot(pen, i);
	}
	return rc;
}

/* Clocks are related to those of the largest set of ranks. */
static uint32_t main_component(const struct np_analysis *analysis)
{
	const struct np_clock *clock = analysis->clock;
	uint32_t best = NP_CLOCK_ALONE;
	size_t most = 0;

	for (size_t i = 0; i < clock->rank_count; i++) {
		size_t count = 0;

		if (!analysis->run->ranks[i] || clock->ranks[i].component == best)
			continue;
		for (size_t j = 0; j < clock->rank_count; j++)
			count += analysis->run->ranks[j] &&
				 clock->ranks[j].component == clock->ranks[i].component;
		if (clock->ranks[i].component != NP_CLOCK_ALONE && count > most) {
			most = count;
			best = clock->ranks[i].component;
		}
	}
	return best;
}

/* The first start of all that is drawn. */
static np_ns find_base(const struct np_analysis *analysis, const bool *drawn)
{
	np_ns base = NP_NS_MAX;

	for (size_t i = 0; i < analysis->run->sources.count; i++) {
		const struct np_rank *rank = analysis->run->ranks[i];

		for (size_t j = 0; drawn[i] && j < rank->times.count; j++) {
			np_ns begin = rank->times.item[j].begin;

			if (begin != NP_UNKNOWN && np_clock_time(analysis->clock, i, begin) < base)
				base = np_clock_time(analysis->clock, i, begin);
		}
	}
	return base == NP_NS_MAX ? 0 : base;
}

static void put_about(struct timeline_out *out, const struct np_analysis *analysis, np_ns base,
		      bool anonymous)
{
	const struct np_clock *clock = analysis->clock;
	const struct timeline_arg facts[TIMELINE_ARGS] = {
		{ "base_ns", base, NULL },
		{ "clock", 0, np_clock_method_name(clock->method) },
		{ "clock_residual_p90_ns", clock->residual_p90, NULL },
		{ "clock_violation_max_ns", clock->violation_max, NULL },
		{ anonymous ? NULL : "verdict", 0, analysis->verdict.text },
	};

	timeline_out_about(out, facts);
}

/* One piece of the critical path behind the other: the time of the replay. */
static void draw_path(struct timeline_pen *pen)
{
	const struct np_analysis *analysis = pen->analysis;
	np_ns now = 0;

	if (analysis->path.pieces.count == 0 || pen->options->has_only)
		return;
	timeline_out_process(pen->out, PATH_PROCESS, "critical path (replayed)");
	timeline_out_track(pen->out, PATH_PROCESS, 1, "critical path");
	for (size_t i = 0; i < analysis->path.pieces.count; i++) {
		const struct np_path_piece *piece = &analysis->path.pieces.item[i];
		char leaf[256];

		np_path_leaf(analysis, piece, leaf, sizeof(leaf));
		timeline_out_slice(
			pen->out, &(struct timeline_slice){
					  .process = PATH_PROCESS,
					  .track = 1,
					  .begin = now,
					  .length = piece->ns,
					  .name = leaf,
					  .category = "path",
					  .args = { { "rank", analysis->run->ranks[piece->rank]->id,
						      NULL } } });
		now += piece->ns;
	}
}

/* Which ranks can be drawn; the others are noted. */
static bool *find_drawn(const struct np_analysis *analysis, const struct timeline_options *options,
			struct np_notes *notes)
{
	const struct np_run *run = analysis->run;
	uint32_t component = main_component(analysis);
	bool *drawn = calloc(run->sources.count + 1, sizeof(*drawn));

	for (size_t i = 0; drawn && i < run->sources.count; i++) {
		bool related = component == NP_CLOCK_ALONE ||
			       analysis->clock->ranks[i].component == component;

		if (!run->ranks[i] || (options->ranks && !options->ranks[i]))
			continue;
		/* Of a single rank no other is asked for. */
		drawn[i] = related && (component != NP_CLOCK_ALONE || np_run_used(run) == 1);
		if (!drawn[i])
			np_note_add(
				notes, NP_NOTE_SKIPPED, run->ranks[i]->id, run->ranks[i]->path,
				"timeline",
				"its clock is not known: it shares no operator with the others");
	}
	return drawn;
}

static int draw_ranks(struct timeline_pen *pen, const bool *drawn, struct np_notes *notes)
{
	const struct np_run *run = pen->analysis->run;
	unsigned wants = NP_DETAIL_KERNELS | NP_DETAIL_FREQUENCY | NP_DETAIL_MEMORY_CURVE |
			 NP_DETAIL_MEMORY_OPS | (pen->options->host ? NP_DETAIL_CALLS : 0);
	int rc = NP_OK;

	for (uint32_t i = 0; i < run->sources.count && rc == NP_OK; i++) {
		NP_CLEANUP(np_detail_freep) struct np_detail *detail = NULL;

		if (!drawn[i])
			continue;
		rc = np_detail_load(run, i, wants, &detail, pen->err);
		if (rc < 0)
			break;
		np_notes_move_untold(notes, &detail->notes, &run->notes);
		pen->index = i;
		pen->rank = run->ranks[i];
		pen->detail = detail;
		pen->process = FIRST_PROCESS + (int32_t)i;
		rc = draw_rank(pen);
		if (rc == NP_OK && pen->out->err.code != NP_OK)
			rc = np_fail(pen->err, pen->out->err.code, "%s", pen->out->err.text);
	}
	return rc;
}

int timeline_write(struct timeline_out *out, const struct np_analysis *analysis,
		   const struct timeline_options *options, struct np_notes *notes,
		   struct np_err *err)
{
	struct timeline_options how = *options;
	struct timeline_pen pen = { .out = out, .analysis = analysis, .options = &how, .err = err };
	bool *drawn = find_drawn(analysis, options, notes);
	int rc = NP_OK;

	if (!drawn)
		return np_fail_nomem(err, "the timeline");
	/* Arrows end at ranks that are drawn. */
	how.ranks = drawn;
	if (options->anonymous)
		rc = page_aliases_find(analysis->run, analysis->memory, NULL, NULL, &pen.aliases,
				       err);
	pen.base = find_base(analysis, drawn);
	put_about(out, analysis, pen.base, options->anonymous);
	draw_path(&pen);
	if (rc == NP_OK)
		rc = draw_ranks(&pen, drawn, notes);
	if (rc == NP_OK)
		rc = draw_snapshots(&pen);
	page_aliases_release(&pen.aliases);
	np_vec_release(&pen.lanes);
	np_vec_release(&pen.ends);
	free(drawn);
	return rc == NP_OK ? timeline_out_end(out, err) : rc;
}

int timeline_file_write(const void *context, FILE *stream, struct np_err *err)
{
	const struct timeline_file *file = context;
	struct timeline_out out;
	int rc = timeline_out_init(&out, file->form, stream, err);

	if (rc == NP_OK)
		rc = timeline_write(&out, file->analysis, file->how, file->notes, err);
	timeline_out_release(&out);
	return rc;
}
