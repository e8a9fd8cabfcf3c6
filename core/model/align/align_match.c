/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matching the lanes of one communicator
 * --------------------------------------
 *
 * The order that most ranks have is the reference. Lanes with the same order
 * are matched by position; the others are aligned with the reference, which
 * grows by what they have and it has not. A place of the reference is an
 * instance.
 */
#include "align_job.h"

#include "npuprof/comm_tasks.h"

/* Sends and receives in one operator, whatever it is called: "batchSendRecv", "sendRecv". */
static bool is_batch(const char *class)
{
	return strstr(class, "sendrecv") != NULL;
}

enum np_rule np_rule_of(const char *type)
{
	static const struct {
		const char *class;
		enum np_rule rule;
	} rules[] = {
		{ "alltoallv", NP_RULE_PAIRWISE },  { "alltoallvc", NP_RULE_PAIRWISE },
		{ "broadcast", NP_RULE_FROM_ROOT }, { "scatter", NP_RULE_FROM_ROOT },
		{ "reduce", NP_RULE_TO_ROOT },      { "gather", NP_RULE_TO_ROOT },
		{ "send", NP_RULE_PAIR },           { "receive", NP_RULE_PAIR },
	};
	char class[64];

	(void)np_op_class(type, class, sizeof(class));
	for (size_t i = 0; i < NP_COUNT(rules); i++) {
		if (strcmp(class, rules[i].class) == 0)
			return rules[i].rule;
	}
	return is_batch(class) ? NP_RULE_PAIR : NP_RULE_ALL;
}

const struct align_class *align_class(struct align_job *job, np_str type)
{
	struct align_class *found = &job->classes[type % ALIGN_CLASSES];
	char text[64];
	size_t length;

	if (found->type == type && type != NP_STR_NONE)
		return found;
	length = np_op_class(np_strtab_text(job->align->run->strings, type), text, sizeof(text));
	found->type = type;
	found->rule = np_rule_of(text);
	found->receives = strcmp(text, "receive") == 0;
	/* Each member has its own size where the name ends in v, and in a batch. */
	found->sized = found->rule != NP_RULE_PAIRWISE && !is_batch(text) &&
		       !(length > 0 && text[length - 1] == 'v');
	return found;
}

/* --- instances -------------------------------------------------------------------------------- */

static uint32_t id_at(const struct align_lane *lane, size_t i)
{
	return lane->to ? lane->to[i] : (uint32_t)i;
}

static uint32_t id_of_place(const struct align_matching *match, size_t place)
{
	return match->base ? match->ids[place] : (uint32_t)place;
}

static size_t place_count(const struct align_matching *match)
{
	return match->base ? match->places : match->reference->count;
}

static int align_count_members(struct align_matching *match)
{
	match->members = calloc(match->id_count, sizeof(*match->members));
	match->cursor = malloc(match->id_count * sizeof(*match->cursor));
	if (!match->members || !match->cursor)
		return np_fail_nomem(match->job->err, "matching of operators");
	for (size_t i = 0; i < match->count; i++) {
		for (size_t j = 0; j < match->lanes[i].count; j++)
			match->members[id_at(&match->lanes[i], j)]++;
	}
	return NP_OK;
}

/* What the lanes, once they are placed, make: members, instances and the coverage of each lane. */
static void align_place_members(struct align_matching *match)
{
	struct align_job *job = match->job;
	uint32_t slot = job->used;

	for (size_t i = 0; i < place_count(match); i++) {
		uint32_t id = id_of_place(match, i);

		match->cursor[id] = slot;
		slot += match->members[id];
	}
	for (size_t i = 0; i < match->count; i++) {
		const struct align_lane *lane = &match->lanes[i];

		for (size_t j = 0; j < lane->count; j++)
			job->members[match->cursor[id_at(lane, j)]++] =
				(struct np_member){ lane->rank, lane->ops[j] };
	}
}

static const struct np_comm_op *op_in(const struct align_matching *match, uint32_t slot)
{
	const struct np_member *member = &match->job->members[slot];

	return &match->job->align->run->ranks[member->rank]->ops.item[member->op];
}

static const struct align_lane *lane_of(const struct align_matching *match, uint32_t rank)
{
	size_t low = 0;
	size_t high = match->count;

	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (match->lanes[middle].rank <= rank)
			low = middle;
		else
			high = middle;
	}
	return &match->lanes[low];
}

/*
 * In a star the others deal with the root alone and the root with all of them.
 * Two members each name the other, which tells nothing; nor do other patterns.
 */
static uint32_t find_root(const struct align_matching *match, const struct np_instance *instance)
{
	uint32_t named = 0;
	uint32_t votes = 0;
	uint32_t root = NP_NO_ROOT;

	for (uint32_t i = 0; i < instance->count; i++) {
		uint16_t peer = op_in(match, instance->first + i)->peer;

		if (peer == 0 || peer == NP_PEERS)
			continue;
		if (named != 0 && peer != named)
			return NP_NO_ROOT;
		named = peer;
		votes++;
	}
	for (uint32_t i = 0; i < instance->count && named != 0 && instance->expected > 2; i++) {
		uint32_t rank = match->job->members[instance->first + i].rank;

		if (lane_of(match, rank)->local == named && votes + 1 == instance->count)
			root = instance->first + i;
	}
	return root;
}

static void describe(const struct align_matching *match, struct np_instance *instance)
{
	struct align_job *job = match->job;
	const struct np_comm_op *op = op_in(match, instance->first);
	const struct align_class *class = align_class(job, op->type);
	const struct align_lane *lane = lane_of(match, job->members[instance->first].rank);

	instance->communicator = job->index;
	instance->bytes = op->bytes;
	instance->step = align_step_of(match, lane, op);
	instance->flags = op->step == NP_NO_STEP ? NP_INSTANCE_NO_STEP : 0;
	instance->rule = (uint8_t) class->rule;
	instance->type = op->type;
	instance->root = NP_NO_ROOT;
	instance->expected = job->communicator->size;
	if (match->messages && op->peer != NP_PEERS)
		instance->expected = 2;
	else if (match->messages)
		instance->rule = NP_RULE_PAIRWISE;
	if (instance->rule != NP_RULE_PAIR && !job->communicator->size_known)
		instance->flags |= NP_INSTANCE_OPEN;
	if (instance->count > 1 && class->receives)
		instance->type = op_in(match, instance->first + 1)->type;
	if (instance->rule == NP_RULE_FROM_ROOT || instance->rule == NP_RULE_TO_ROOT)
		instance->root = find_root(match, instance);
}

static int note_mismatch(struct align_matching *match, const struct np_instance *instance)
{
	struct align_job *job = match->job;
	struct np_align_finding *finding;

	for (size_t i = 0; i < job->findings.count; i++) {
		if (job->findings.item[i].type == instance->type) {
			job->findings.item[i].count++;
			return NP_OK;
		}
	}
	finding = np_vec_add(&job->findings, job->err);
	if (!finding)
		return NP_E_NOMEM;
	*finding = (struct np_align_finding){ .communicator = job->index,
					      .instance = (uint32_t)job->instances.count - 1,
					      .count = 1,
					      .type = instance->type };
	return NP_OK;
}

static bool members_agree(const struct align_matching *match, const struct np_instance *instance)
{
	const struct np_comm_op *first = op_in(match, instance->first);

	for (uint32_t i = 1; i < instance->count; i++) {
		const struct np_comm_op *op = op_in(match, instance->first + i);

		if (align_type_of(match, op) != align_type_of(match, first) ||
		    align_size_of(match, op) != align_size_of(match, first))
			return false;
	}
	return true;
}

static int align_add_instances(struct align_matching *match)
{
	struct align_job *job = match->job;
	int rc = NP_OK;

	for (size_t i = 0; i < place_count(match) && rc == NP_OK; i++) {
		uint32_t members = match->members[id_of_place(match, i)];
		struct np_instance *instance;

		if (members == 0)
			continue;
		instance = np_vec_add(&job->instances, job->err);
		if (!instance)
			return NP_E_NOMEM;
		instance->first = job->used;
		instance->count = members;
		job->used += members;
		describe(match, instance);
		if ((match->irregular || match->unequal) && !members_agree(match, instance)) {
			instance->flags |= NP_INSTANCE_MISMATCH;
			rc = note_mismatch(match, instance);
		}
	}
	return rc;
}

/* --- coverage --------------------------------------------------------------------------------- */

/* An operator that one of many ranks has is that rank's, not missing on the others. */
static bool is_extra(const struct align_matching *match, uint32_t id)
{
	return match->members[id] == 1 && match->count > 2;
}

static struct np_coverage *coverage_of(const struct align_matching *match, uint32_t rank)
{
	struct np_coverage *rows = match->job->coverage;
	size_t low = 0;
	size_t high = match->job->coverage_count;

	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (rows[middle].rank <= rank)
			low = middle;
		else
			high = middle;
	}
	return &rows[low];
}

static void align_cover(const struct align_matching *match, const struct align_lane *lane)
{
	struct np_coverage *row = coverage_of(match, lane->rank);
	bool alone = match->job->communicator->size == 1;
	uint32_t absent = 0; /* since the lane's last operator */
	size_t at = 0;

	row->total += lane->count;
	if (!match->irregular) {
		row->matched += match->count > 1 || alone ? lane->count : 0;
		return;
	}
	for (size_t i = 0; i < place_count(match); i++) {
		uint32_t id = id_of_place(match, i);

		if (at >= lane->count || id_at(lane, at) != id) {
			absent += match->members[id] > 0 && !is_extra(match, id);
			continue;
		}
		/* What comes before the first is outside of the capture. */
		if (at == 0)
			row->edge += absent;
		else
			row->missing += absent;
		absent = 0;
		row->matched += match->members[id] > 1 || alone;
		row->extra += is_extra(match, id);
		at++;
	}
	row->edge += absent;
}

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

static np_str step_at(const struct align_matching *match, const struct align_lane *lane, size_t i)
{
	return align_step_of(match, lane, align_op_of(match, lane, i));
}

/*
 * Sends into buffers end when they will, and receives when they are wanted: their ends jump
 * in most steps, which nothing that was lost does. Then messages that are as many in every
 * step are told by their position: they do not overtake each other.
 */
static bool is_buffered(const struct align_matching *match, const struct align_lane *lane)
{
	const struct align_lane *reference = match->reference;
	size_t steps = 0;
	size_t jumping = 0;
	bool jumped = false;

	for (size_t i = 0; i < lane->count; i++) {
		np_str step = step_at(match, lane, i);

		if (step == NP_STR_NONE || step != step_at(match, reference, i))
			return false;
		if (i == 0 || step != step_at(match, lane, i - 1)) {
			steps++;
			jumped = false;
			continue;
		}
		if (!jumped &&
		    jumps(align_op_of(match, lane, i - 1)->end, align_op_of(match, lane, i)->end,
			  align_op_of(match, reference, i - 1)->end,
			  align_op_of(match, reference, i)->end)) {
			jumped = true;
			jumping++;
		}
	}
	return steps > 1 && jumping * 2 > steps;
}

/* The first operator of a lane in this step; its count where it has none. */
static size_t first_of_step(const struct align_matching *match, const struct align_lane *lane,
			    np_str step)
{
	size_t i = 0;

	while (i < lane->count && step_at(match, lane, i) != step)
		i++;
	return i;
}

/*
 * Training repeats itself: captures of as many, but other steps have the same order. Where steps
 * disagree they tell which operators belong together; unless ranks count them in other ways,
 * as clocks show that agree by position and not by step.
 */
static bool has_other_steps(const struct align_matching *match, const struct align_lane *lane)
{
	const struct align_lane *reference = match->reference;
	size_t differ = 0;

	for (size_t i = 0; i < lane->count; i++) {
		np_str own = step_at(match, lane, i);
		np_str other = step_at(match, reference, i);

		differ += own != NP_STR_NONE && other != NP_STR_NONE && own != other;
	}
	if (differ * 2 <= lane->count)
		return false;
	for (size_t i = 0; i < lane->count; i++) {
		np_str step = step_at(match, lane, i);
		size_t same = first_of_step(match, reference, step);
		np_ns end = align_op_of(match, lane, i)->end;

		if (step == NP_STR_NONE || same == reference->count)
			continue;
		return 4 * llabs(end - align_op_of(match, reference, i)->end) >=
		       llabs(end - align_op_of(match, reference, same)->end);
	}
	return false;
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

/* From `at` on as long as the step is the same. */
static size_t end_of_step(const struct align_item *item, size_t count, size_t at)
{
	size_t end = at;

	while (end < count && item[end].step == item[at].step)
		end++;
	return end;
}

/*
 * Captures of other steps: what is in a step that the base has as well, operator by operator, and
 * nothing of those that it lacks. False where a step has other operators. Ends of `item` are moved
 * to the clock of the base.
 */
static bool place_by_step(const struct align_matching *match, struct align_lane *lane,
			  struct align_item *item)
{
	size_t next = 0;
	np_ns offset = NP_UNKNOWN;

	for (size_t from = 0, to = 0; from < lane->count; from = to) {
		size_t base = next;

		to = end_of_step(item, lane->count, from);
		while (base < match->places && match->base[base].step != item[from].step)
			base++;
		if (base < match->places &&
		    end_of_step(match->base, match->places, base) - base != to - from)
			return false;
		for (size_t i = from; i < to; i++) {
			lane->to[i] = ALIGN_NONE;
			if (base == match->places)
				continue;
			if (match->base[base].type != item[i].type)
				return false;
			if (offset == NP_UNKNOWN)
				offset = match->base[base].end - item[i].end;
			lane->to[i] = (uint32_t)base++;
			next = base;
		}
	}
	for (size_t i = 0; offset != NP_UNKNOWN && i < lane->count; i++)
		item[i].end += offset;
	return offset != NP_UNKNOWN;
}

/* Align a lane with the reference, unless its position already does no worse (`limit` jumps). */
static int align_lane(struct align_matching *match, struct align_lane *lane, size_t limit,
		      bool other_steps)
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
	if (rc == NP_OK && !(other_steps && place_by_step(match, lane, item)))
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
		bool other = false;

		if (lane == reference)
			continue;
		if (lane->types == reference->types && lane->count == reference->count) {
			match->unequal |= lane->sizes != reference->sizes;
			other = has_other_steps(match, lane);
			limit = other ? 0 : jumps_by_position(match, lane);
			if ((limit == 0 && !other) || (match->messages && is_buffered(match, lane)))
				continue;
		}
		rc = align_lane(match, lane, limit, other);
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
