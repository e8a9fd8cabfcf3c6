/* SPDX-License-Identifier: Apache-2.0 */
#include "align.h"

/*
 * Matching the lanes of one communicator
 * --------------------------------------
 *
 * The order that most ranks have is the reference. Lanes with the same order
 * are matched by position; the others are aligned with the reference, which
 * grows by what they have and it has not. A place of the reference is an
 * instance.
 */

/* Differences of ends that jump by more than this, and half an operator, are looked into: 100 µs.
 */
#define JUMP_NS 100000

/* --- the reference ---------------------------------------------------------------------------- */

static void digest(const struct align_matching *match, struct align_lane *lane)
{
	lane->types = lane->count;
	lane->sizes = 0;
	for (size_t i = 0; i < lane->count; i++) {
		const struct np_comm_op *op = align_op_of(match, lane, i);

		lane->types = align_mix(lane->types, align_type_of(match, op));
		lane->sizes = align_mix(lane->sizes, align_size_of(match, op));
	}
}

static int by_digest(const void *left, const void *right)
{
	const struct align_lane *a = *(const struct align_lane *const *)left;
	const struct align_lane *b = *(const struct align_lane *const *)right;

	if (a->types != b->types)
		return a->types < b->types ? -1 : 1;
	if (a->sizes != b->sizes)
		return a->sizes < b->sizes ? -1 : 1;
	return (a->rank > b->rank) - (a->rank < b->rank);
}

/* The order of most ranks; among equals the longest, then that of the first rank. */
static int choose_reference(struct align_matching *match)
{
	const struct align_lane **sorted = malloc(match->count * sizeof(*sorted));
	size_t most = 0;

	if (!sorted)
		return np_fail_nomem(match->job->err, "matching of operators");
	for (size_t i = 0; i < match->count; i++)
		sorted[i] = &match->lanes[i];
	qsort(sorted, match->count, sizeof(*sorted), by_digest);
	for (size_t from = 0, to = 0; from < match->count; from = to) {
		const struct align_lane *lane = sorted[from];
		const struct align_lane *best = match->reference;

		while (to < match->count && sorted[to]->types == lane->types &&
		       sorted[to]->sizes == lane->sizes)
			to++;
		if (best && (to - from < most ||
			     (to - from == most &&
			      (lane->count < best->count ||
			       (lane->count == best->count && lane->rank > best->rank)))))
			continue;
		match->reference = lane;
		most = to - from;
	}
	free(sorted);
	return NP_OK;
}

static void fill_items(const struct align_matching *match, const struct align_lane *lane,
		       struct align_item *item)
{
	for (size_t i = 0; i < lane->count; i++) {
		const struct np_comm_op *op = align_op_of(match, lane, i);

		item[i] = (struct align_item){ .end = op->end,
					       .size = align_size_of(match, op),
					       .type = align_type_of(match, op),
					       .step = align_step_of(match, lane, op) };
	}
}

static int begin_base(struct align_matching *match)
{
	size_t count = match->reference->count;

	if (match->base)
		return NP_OK;
	match->base = malloc(count * sizeof(*match->base));
	match->ids = malloc(count * sizeof(*match->ids));
	if (!match->base || !match->ids)
		return np_fail_nomem(match->job->err, "matching of operators");
	fill_items(match, match->reference, match->base);
	for (size_t i = 0; i < count; i++)
		match->ids[i] = (uint32_t)i;
	match->places = count;
	return NP_OK;
}

/* --- lanes that differ ------------------------------------------------------------------------ */

/* The reference while it is being rebuilt with the operators that only the new lane has. */
struct merge {
	struct align_matching *match;
	struct align_item *base;
	uint32_t *ids;
	size_t count;
	size_t taken; /* places of the old reference */
};

static void take_places(struct merge *merge, size_t end)
{
	for (; merge->taken < end; merge->taken++) {
		merge->base[merge->count] = merge->match->base[merge->taken];
		merge->ids[merge->count++] = merge->match->ids[merge->taken];
	}
}

/* The places before `end` that ended earlier go before the new one. */
static uint32_t add_place(struct merge *merge, const struct align_item *item, size_t end)
{
	struct align_matching *match = merge->match;
	size_t earlier = merge->taken;

	while (earlier < end && match->base[earlier].end <= item->end)
		earlier++;
	take_places(merge, earlier);
	merge->base[merge->count] = *item;
	merge->ids[merge->count++] = match->id_count;
	return match->id_count++;
}

/* Turn lane->to from places into ids, if every operator has a place. */
static bool name_places(const struct align_matching *match, const struct align_lane *lane)
{
	for (size_t i = 0; i < lane->count; i++) {
		if (lane->to[i] == ALIGN_NONE)
			return false;
	}
	for (size_t i = 0; i < lane->count; i++)
		lane->to[i] = match->ids[lane->to[i]];
	return true;
}

/* Likewise, adding a place for each operator that has none. */
static int merge_lane(struct align_matching *match, struct align_lane *lane,
		      const struct align_item *item)
{
	size_t most = match->places + lane->count;
	struct merge merge = { .match = match,
			       .base = malloc(most * sizeof(*merge.base)),
			       .ids = malloc(most * sizeof(*merge.ids)) };
	size_t next = 0; /* the next operator that has a place, at or after i */

	if (!merge.base || !merge.ids) {
		free(merge.base);
		free(merge.ids);
		return np_fail_nomem(match->job->err, "matching of operators");
	}
	for (size_t i = 0; i < lane->count; i++) {
		if (lane->to[i] != ALIGN_NONE) {
			take_places(&merge, (size_t)lane->to[i] + 1);
			lane->to[i] = merge.ids[merge.count - 1];
			continue;
		}
		for (next = next > i ? next : i;
		     next < lane->count && lane->to[next] == ALIGN_NONE;)
			next++;
		lane->to[i] = add_place(&merge, &item[i],
					next < lane->count ? lane->to[next] : match->places);
	}
	take_places(&merge, match->places);
	free(match->base);
	free(match->ids);
	match->base = merge.base;
	match->ids = merge.ids;
	match->places = merge.count;
	return NP_OK;
}

static bool jumps(np_ns before, np_ns now, np_ns base_before, np_ns base_now)
{
	np_ns own = now - before;
	np_ns base = base_now - base_before;
	np_ns change = own < base ? base - own : own - base;

	/* Where one of the two lost an operator, only the other tells how far apart they are. */
	return change > JUMP_NS && change > (own < base ? own : base) / 2;
}

/*
 * Orders may be equal because both lost one of a row of equal operators. Then the
 * difference of their ends jumps where the first was lost, and back at the second.
 */
static size_t jumps_by_position(const struct align_matching *match, const struct align_lane *lane)
{
	const struct align_lane *reference = match->reference;
	size_t found = 0;

	for (size_t i = 1; i < lane->count; i++)
		found += jumps(align_op_of(match, lane, i - 1)->end,
			       align_op_of(match, lane, i)->end,
			       align_op_of(match, reference, i - 1)->end,
			       align_op_of(match, reference, i)->end);
	return found;
}

static size_t jumps_by_place(const struct align_matching *match, const struct align_lane *lane,
			     const struct align_item *item, size_t *ret_matched)
{
	size_t found = 0;
	size_t last = ALIGN_NONE;

	*ret_matched = 0;
	for (size_t i = 0; i < lane->count; i++) {
		if (lane->to[i] == ALIGN_NONE)
			continue;
		if (last != ALIGN_NONE)
			found += jumps(item[last].end, item[i].end, match->base[lane->to[last]].end,
				       match->base[lane->to[i]].end);
		last = i;
		++*ret_matched;
	}
	return found;
}

/* Align a lane with the reference, unless its position already does no worse (`limit` jumps). */
static int align_lane(struct align_matching *match, struct align_lane *lane, size_t limit)
{
	struct align_item *item = malloc(lane->count * sizeof(*item));
	size_t matched = 0;
	int rc;

	lane->to = malloc(lane->count * sizeof(*lane->to));
	if (!item || !lane->to) {
		free(item);
		return np_fail_nomem(match->job->err, "matching of operators");
	}
	fill_items(match, lane, item);
	rc = begin_base(match);
	if (rc == NP_OK)
		rc = align_sequences(match->base, match->places, item, lane->count, lane->to,
				     match->job->err);
	if (rc == NP_OK && limit > 0 &&
	    (jumps_by_place(match, lane, item, &matched) * 2 >= limit ||
	     matched * 2 < lane->count)) {
		free(lane->to);
		lane->to = NULL;
	} else if (rc == NP_OK) {
		match->irregular = true;
		if (!name_places(match, lane))
			rc = merge_lane(match, lane, item);
	}
	free(item);
	return rc;
}

static int place_lanes(struct align_matching *match)
{
	const struct align_lane *reference = match->reference;
	int rc = NP_OK;

	match->id_count = reference->count;
	for (size_t i = 0; i < match->count && rc == NP_OK; i++) {
		struct align_lane *lane = &match->lanes[i];
		size_t limit = 0;

		if (lane == reference)
			continue;
		if (lane->types == reference->types && lane->count == reference->count) {
			match->unequal |= lane->sizes != reference->sizes;
			limit = jumps_by_position(match, lane);
			if (limit == 0)
				continue;
		}
		rc = align_lane(match, lane, limit);
	}
	return rc;
}

/* --- everything ------------------------------------------------------------------------------- */

static int match_lanes(struct align_matching *match)
{
	int rc = NP_OK;

	for (size_t i = 0; i < match->count; i++)
		digest(match, &match->lanes[i]);
	rc = choose_reference(match);
	if (rc == NP_OK)
		rc = place_lanes(match);
	if (rc == NP_OK)
		rc = align_count_members(match);
	if (rc < 0)
		return rc;
	align_place_members(match);
	rc = align_add_instances(match);
	for (size_t i = 0; i < match->count && rc == NP_OK; i++)
		align_cover(match, &match->lanes[i]);
	return rc;
}

int align_match(struct align_job *job, struct align_lane *lanes, size_t count, bool messages)
{
	struct align_matching match = {
		.job = job, .lanes = lanes, .count = count, .messages = messages
	};
	int rc = NP_OK;

	if (count > 0)
		rc = match_lanes(&match);
	for (size_t i = 0; i < count; i++) {
		free(lanes[i].to);
		lanes[i].to = NULL;
	}
	free(match.base);
	free(match.ids);
	free(match.members);
	free(match.cursor);
	return rc;
}
