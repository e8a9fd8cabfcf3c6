/* SPDX-License-Identifier: Apache-2.0 */
#include "replay_run.h"

static const struct np_world untouched = { 0 };

/* --- operators -----------------------------------------------------------------------------------
 */

static np_ns start_of(const struct replay_state *state, uint32_t slot, bool recorded)
{
	return recorded ? state->replay->ops[slot].start : state->start[slot];
}

static np_ns last_start(const struct replay_state *state, const struct np_instance *instance,
			bool recorded)
{
	np_ns last = -NP_NS_MAX;

	for (uint32_t i = 0; i < instance->count; i++) {
		np_ns start = start_of(state, instance->first + i, recorded);

		last = start > last ? start : last;
	}
	return last;
}

/* When that comes for which an operator waits: `last` is the last start of all. */
static np_ns awaited(const struct replay_state *state, const struct np_instance *instance,
		     uint32_t slot, np_ns last, bool recorded)
{
	np_ns own = start_of(state, slot, recorded);
	np_ns root;

	if (instance->root == NP_NO_ROOT)
		return last;
	if (instance->rule == NP_RULE_TO_ROOT)
		return slot == instance->root ? last : own;
	if (instance->rule != NP_RULE_FROM_ROOT)
		return last;
	root = start_of(state, instance->root, recorded);
	return root > own ? root : own;
}

static np_ns scaled(const struct replay_state *state, uint32_t instance, np_ns transfer)
{
	if (!state->world->transfer || transfer <= 0)
		return transfer;
	return (np_ns)((double)transfer * (double)state->world->transfer[instance] + 0.5);
}

/*
 * Members that are gone before the last has come did not wait for it: messages
 * into a buffer, uneven exchanges. They take as long as they did, and so do
 * operators of which no other member was recorded.
 */
static np_ns end_of(const struct replay_state *state, uint32_t index, uint32_t slot, np_ns was,
		    np_ns is)
{
	const struct np_instance *instance = &state->replay->align->instances.item[index];
	const struct np_replay_op *op = &state->replay->ops[slot];
	np_ns end;

	if (instance->count < 2 || op->end < was)
		end = state->start[slot] + scaled(state, index, op->end - op->start);
	else
		end = is + scaled(state, index, op->end - was);
	return end > state->start[slot] ? end : state->start[slot];
}

/* All have started: the instance ends, and those who stand still for it can go on. */
static int finish_instance(struct replay_state *state, uint32_t index)
{
	const struct np_instance *instance = &state->replay->align->instances.item[index];
	np_ns was = last_start(state, instance, true);
	np_ns is = last_start(state, instance, false);

	state->done[index] = true;
	for (uint32_t i = 0; i < instance->count; i++) {
		uint32_t slot = instance->first + i;
		uint32_t rank = state->replay->align->members[slot].rank;
		uint32_t *added;

		state->end[slot] =
			end_of(state, index, slot, awaited(state, instance, slot, was, true),
			       awaited(state, instance, slot, is, false));
		if (state->held[slot] != NO_SLOT) {
			added = np_vec_add(&state->free, state->err);
			if (!added)
				return NP_E_NOMEM;
			*added = state->held[slot];
		}
		if (state->waiting_for[rank] == index && !state->queued[rank]) {
			added = np_vec_add(&state->ready, state->err);
			if (!added)
				return NP_E_NOMEM;
			*added = rank;
			state->queued[rank] = true;
		}
	}
	return NP_OK;
}

/* What held an operator up when it was recorded holds it up now, and as long after its end. */
static np_ns start_behind(const struct replay_state *state, uint32_t slot)
{
	const struct np_replay_op *op = &state->replay->ops[slot];
	np_ns held;

	if (op->behind == NO_SLOT)
		return state->start[slot];
	held = state->end[op->behind] + op->start - state->replay->ops[op->behind].end;
	return held > state->start[slot] ? held : state->start[slot];
}

/* Start what is free to start, and what that sets free. */
static int start_free(struct replay_state *state)
{
	int rc = NP_OK;

	while (state->free.count > 0 && rc == NP_OK) {
		uint32_t slot = state->free.item[--state->free.count];
		uint32_t index = state->replay->instance_of[slot];

		state->start[slot] = start_behind(state, slot);
		if (++state->arrived[index] == state->replay->align->instances.item[index].count)
			rc = finish_instance(state, index);
	}
	return rc;
}

/* --- ranks ----------------------------------------------------------------------------------- */

np_ns replay_worked(const struct replay_state *state, const struct np_replay_mark *mark,
		    enum np_work kind)
{
	if (!state->world->work)
		return mark->work[kind];
	return (np_ns)((double)mark->work[kind] * (double)state->world->work[mark->cell][kind] +
		       0.5);
}

static np_ns worked(const struct replay_state *state, const struct np_replay_mark *mark)
{
	return replay_worked(state, mark, NP_WORK_COMPUTE) +
	       replay_worked(state, mark, NP_WORK_HOST) + replay_worked(state, mark, NP_WORK_OTHER);
}

/*
 * A rank has come to the start of an operator. One that is held up by another
 * still under way starts when that is over; the rank goes on.
 */
static int start_op(struct replay_state *state, uint32_t slot, np_ns time)
{
	uint32_t behind = state->replay->ops[slot].behind;
	uint32_t *added;

	state->start[slot] = time;
	if (behind != NO_SLOT && !state->done[state->replay->instance_of[behind]]) {
		state->held[behind] = slot;
		return NP_OK;
	}
	added = np_vec_add(&state->free, state->err);
	if (!added)
		return NP_E_NOMEM;
	*added = slot;
	return start_free(state);
}

/* Let a rank go as far as it can. */
static int advance(struct replay_state *state, uint32_t rank)
{
	const struct np_replay_rank *own = &state->replay->ranks[rank];
	np_ns time = state->time[rank];
	uint32_t i = state->next_mark[rank];
	int rc = NP_OK;

	for (; i < own->marks && rc == NP_OK; i++) {
		const struct np_replay_mark *mark = &state->replay->marks.item[own->first_mark + i];
		np_ns reached = time + worked(state, mark);

		if (mark->kind == MARK_BLOCK) {
			uint32_t index = state->replay->instance_of[mark->slot];

			if (!state->done[index]) {
				state->waiting_for[rank] = index;
				break;
			}
			if (state->end[mark->slot] > reached)
				reached = state->end[mark->slot];
		}
		time = reached;
		if (state->mark_time)
			state->mark_time[own->first_mark + i] = time;
		if (mark->kind == MARK_START)
			rc = start_op(state, mark->slot, time);
	}
	state->next_mark[rank] = i;
	state->time[rank] = time;
	return rc;
}

static int advance_ready(struct replay_state *state)
{
	int rc = NP_OK;

	while (state->ready.count > 0 && rc == NP_OK) {
		uint32_t rank = state->ready.item[--state->ready.count];

		state->queued[rank] = false;
		state->waiting_for[rank] = UINT32_MAX;
		rc = advance(state, rank);
	}
	return rc;
}

/*
 * Records that got lost, or matched wrongly, can leave ranks standing. The one
 * that has stood longest goes on as if its operator had taken as long as it did.
 */
static bool force_one(struct replay_state *state)
{
	const struct np_replay *replay = state->replay;
	uint32_t first = UINT32_MAX;
	const struct np_replay_mark *mark;
	uint32_t index;
	np_ns alone;

	for (uint32_t i = 0; i < replay->align->run->sources.count; i++) {
		if (state->next_mark[i] < replay->ranks[i].marks &&
		    (first == UINT32_MAX || state->time[i] < state->time[first]))
			first = i;
	}
	if (first == UINT32_MAX)
		return false;
	index = replay->ranks[first].first_mark + state->next_mark[first];
	mark = &replay->marks.item[index];
	state->forced++;
	state->next_mark[first]++;
	state->time[first] += worked(state, mark);
	alone = state->start[mark->slot] + replay->ops[mark->slot].end -
		replay->ops[mark->slot].start;
	if (state->start[mark->slot] != 0 && alone > state->time[first])
		state->time[first] = alone;
	if (state->mark_time)
		state->mark_time[index] = state->time[first];
	return true;
}

static int run_all(struct replay_state *state)
{
	int rc = NP_OK;

	for (uint32_t i = 0; i < state->replay->align->run->sources.count && rc == NP_OK; i++)
		rc = advance(state, i);
	do {
		if (rc == NP_OK)
			rc = advance_ready(state);
		if (rc < 0 || !force_one(state))
			break;
		for (uint32_t i = 0; i < state->replay->align->run->sources.count && rc == NP_OK;
		     i++)
			rc = advance(state, i);
	} while (rc == NP_OK);
	return rc;
}

static int start_state(struct replay_state *state)
{
	const struct np_align *align = state->replay->align;
	size_t slots = (size_t)align->op_count + 1;
	size_t ranks = align->run->sources.count + 1;
	size_t instances = align->instances.count + 1;

	state->start = calloc(slots, sizeof(*state->start));
	state->end = calloc(slots, sizeof(*state->end));
	state->held = malloc(slots * sizeof(*state->held));
	state->arrived = calloc(instances, sizeof(*state->arrived));
	state->done = calloc(instances, sizeof(*state->done));
	state->next_mark = calloc(ranks, sizeof(*state->next_mark));
	state->time = calloc(ranks, sizeof(*state->time));
	state->waiting_for = calloc(ranks, sizeof(*state->waiting_for));
	state->queued = calloc(ranks, sizeof(*state->queued));
	if (!state->start || !state->end || !state->held || !state->arrived || !state->done ||
	    !state->next_mark || !state->time || !state->waiting_for || !state->queued)
		return np_fail_nomem(state->err, "the replay");
	for (size_t i = 0; i < slots; i++)
		state->held[i] = NO_SLOT;
	for (size_t i = 0; i + 1 < ranks; i++) {
		state->waiting_for[i] = UINT32_MAX;
		state->time[i] = state->replay->ranks[i].begin;
	}
	return NP_OK;
}

int replay_run(struct replay_state *state, const struct np_replay *replay,
	       const struct np_world *world, struct np_err *err)
{
	int rc;

	state->replay = replay;
	state->world = world ? world : &untouched;
	state->err = err;
	rc = start_state(state);
	return rc < 0 ? rc : run_all(state);
}

void replay_release(struct replay_state *state)
{
	free(state->start);
	free(state->end);
	free(state->held);
	free(state->arrived);
	free(state->done);
	free(state->next_mark);
	free(state->time);
	free(state->waiting_for);
	free(state->queued);
	free(state->mark_time);
	np_vec_release(&state->ready);
	np_vec_release(&state->free);
}

np_ns replay_total(const struct replay_state *state)
{
	np_ns first = NP_NS_MAX;
	np_ns last = -NP_NS_MAX;

	for (size_t i = 0; i < state->replay->align->run->sources.count; i++) {
		const struct np_replay_rank *rank = &state->replay->ranks[i];

		if (rank->marks == 0)
			continue;
		first = rank->begin < first ? rank->begin : first;
		last = state->time[i] > last ? state->time[i] : last;
	}
	return last > first ? last - first : 0;
}

int np_replay_run(const struct np_replay *replay, const struct np_world *world,
		  struct np_replay_result *ret, struct np_err *err)
{
	struct replay_state state = { 0 };
	int rc = replay_run(&state, replay, world, err);

	if (rc == NP_OK) {
		ret->total = replay_total(&state);
		ret->step = replay->steps > 0 ? ret->total / (np_ns)replay->steps : ret->total;
		ret->forced = state.forced;
	}
	replay_release(&state);
	return rc;
}
