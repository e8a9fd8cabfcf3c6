/* SPDX-License-Identifier: Apache-2.0 */
#include "replay_run.h"

/*
 * How late everything may be without the run taking longer: backwards over what
 * a world did, in the order in which it did it.
 */
struct slack {
	const struct np_replay *replay;
	struct replay_state state;
	np_ns *late_mark;  /* by mark: when it must have been taken */
	np_ns *late_start; /* by slot */
	np_ns *late_end;
	np_ns *ret; /* by cell */
};

static void lower(np_ns *value, np_ns other)
{
	if (other < *value)
		*value = other;
}

static np_ns last_start(const struct slack *slack, const struct np_instance *instance)
{
	np_ns last = 0;

	for (uint32_t i = 0; i < instance->count; i++) {
		np_ns start = slack->state.start[instance->first + i];

		last = start > last ? start : last;
	}
	return last;
}

/* An operator must end at late_end: how late those it waits for may start. */
static void see_member(struct slack *slack, const struct np_instance *instance, uint32_t slot,
		       np_ns last, np_ns *all)
{
	const np_ns *start = slack->state.start;
	np_ns end = slack->state.end[slot];
	np_ns late = slack->late_end[slot];
	bool rooted = instance->root != NP_NO_ROOT;

	if (late == NP_NS_MAX)
		return;
	lower(&slack->late_start[slot], late);
	if (slack->replay->rules[slot].eager ||
	    (rooted && instance->rule == NP_RULE_TO_ROOT && slot != instance->root)) {
		lower(&slack->late_start[slot], late - (end - start[slot]));
	} else if (rooted && instance->rule == NP_RULE_FROM_ROOT) {
		np_ns from =
			start[instance->root] > start[slot] ? start[instance->root] : start[slot];

		lower(&slack->late_start[slot], late - (end - from));
		lower(&slack->late_start[instance->root], late - (end - from));
	} else {
		lower(all, late - (end - last));
	}
}

static void see_instance(struct slack *slack, uint32_t index)
{
	const struct np_replay *replay = slack->replay;
	const struct np_instance *instance = &replay->align->instances.item[index];
	np_ns last = last_start(slack, instance);
	np_ns all = NP_NS_MAX;

	for (uint32_t i = 0; i < instance->count; i++)
		see_member(slack, instance, instance->first + i, last, &all);
	for (uint32_t i = 0; i < instance->count; i++) {
		uint32_t slot = instance->first + i;

		lower(&slack->late_start[slot], all);
		if (replay->rules[slot].held && slack->late_start[slot] != NP_NS_MAX)
			lower(&slack->late_end[replay->ops[slot].behind],
			      slack->late_start[slot] - replay->rules[slot].gap);
	}
}

static void see_mark(struct slack *slack, uint32_t index)
{
	const struct np_replay_mark *mark = &slack->replay->marks.item[index];
	uint32_t rank = slack->replay->cells.item[mark->cell].rank;
	const struct np_replay_rank *own = &slack->replay->ranks[rank];
	np_ns work = replay_work(&slack->state, mark);
	np_ns before = index > own->first_mark ? slack->state.mark_time[index - 1]
					       : replay_begin(slack->replay, rank);

	if (mark->kind == MARK_START)
		lower(&slack->late_mark[index], slack->late_start[mark->slot]);
	if (mark->kind == MARK_BLOCK)
		lower(&slack->late_end[mark->slot], slack->late_mark[index]);
	if (index > own->first_mark)
		slack->late_mark[index - 1] = slack->late_mark[index] - work;
	if (mark->work[NP_WORK_COMPUTE] > 0)
		lower(&slack->ret[mark->cell], slack->late_mark[index] - before - work);
}

static void go_back(struct slack *slack)
{
	const struct np_replay *replay = slack->replay;
	np_ns end = replay_total(&slack->state) + 1;

	for (uint32_t i = 0; i < replay->align->op_count; i++) {
		slack->late_start[i] = NP_NS_MAX;
		slack->late_end[i] = NP_NS_MAX;
	}
	for (size_t i = 0; i < replay->align->run->sources.count; i++) {
		const struct np_replay_rank *rank = &replay->ranks[i];

		if (rank->marks > 0)
			slack->late_mark[rank->first_mark + rank->marks - 1] = end;
	}
	for (size_t i = 0; i < replay->cells.count; i++)
		slack->ret[i] = NP_NS_MAX;
	for (size_t i = slack->state.ordered; i-- > 0;) {
		uint32_t entry = slack->state.order[i];

		if (entry & REPLAY_DONE)
			see_instance(slack, entry & ~REPLAY_DONE);
		else
			see_mark(slack, entry);
	}
	for (size_t i = 0; i < replay->cells.count; i++) {
		if (slack->ret[i] == NP_NS_MAX)
			slack->ret[i] = NP_UNKNOWN;
		else if (slack->ret[i] < 0)
			slack->ret[i] = 0;
	}
}

static int make_room(struct slack *slack, struct np_err *err)
{
	size_t marks = slack->replay->marks.count + 1;
	size_t slots = (size_t)slack->replay->align->op_count + 1;
	struct replay_state *state = &slack->state;

	slack->late_mark = malloc(marks * sizeof(*slack->late_mark));
	slack->late_start = malloc(slots * sizeof(*slack->late_start));
	slack->late_end = malloc(slots * sizeof(*slack->late_end));
	slack->ret = malloc((slack->replay->cells.count + 1) * sizeof(*slack->ret));
	state->start = calloc(slots, sizeof(*state->start));
	state->mark_time = calloc(marks, sizeof(*state->mark_time));
	state->order =
		malloc((marks + slack->replay->align->instances.count) * sizeof(*state->order));
	if (!slack->late_mark || !slack->late_start || !slack->late_end || !slack->ret ||
	    !state->start || !state->mark_time || !state->order)
		return np_fail_nomem(err, "slack");
	return NP_OK;
}

int np_replay_slack(const struct np_replay *replay, np_ns **ret, struct np_err *err)
{
	struct slack slack = { .replay = replay };
	int rc = make_room(&slack, err);

	if (rc == NP_OK)
		rc = replay_run(&slack.state, replay, NULL, err);
	if (rc == NP_OK) {
		go_back(&slack);
		*ret = NP_STEAL(slack.ret);
	}
	replay_release(&slack.state);
	free(slack.late_mark);
	free(slack.late_start);
	free(slack.late_end);
	free(slack.ret);
	return rc;
}
