/* SPDX-License-Identifier: Apache-2.0 */
#include "align.h"

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

int align_count_members(struct align_matching *match)
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

void align_place_members(struct align_matching *match)
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

int align_add_instances(struct align_matching *match)
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

void align_cover(const struct align_matching *match, const struct align_lane *lane)
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
