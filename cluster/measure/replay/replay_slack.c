/* SPDX-License-Identifier: Apache-2.0 */
#include "replay_run.h"

/*
 * How late everything may be without the run taking longer: backwards over what
 * a scenario did, in the order in which it did it.
 */
struct slack {
	const struct np_replay *replay;
	struct replay_state state;
	np_ns *late_rank;  /* by rank: when it must have come to where it is */
	np_ns *late_start; /* by slot */
	np_ns *late_end;
	size_t member; /* of np_replay.members: those before it are still to come */
	np_ns *ret;    /* by cell */
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
		       enum member_wait wait, np_ns last, np_ns *all)
{
	const np_ns *start = slack->state.start;
	np_ns end = slack->state.end[slot];
	np_ns late = slack->late_end[slot];

	if (late == NP_NS_MAX)
		return;
	lower(&slack->late_start[slot], late);
	if (wait == WAIT_SELF) {
		lower(&slack->late_start[slot], late - (end - start[slot]));
	} else if (wait == WAIT_ROOT) {
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
	const struct np_replay_member *members;
	np_ns last = last_start(slack, instance);
	np_ns all = NP_NS_MAX;

	slack->member -= instance->count;
	members = &replay->members.item[slack->member];
	for (uint32_t i = 0; i < instance->count; i++)
		see_member(slack, instance, instance->first + i, (enum member_wait)members[i].wait,
			   last, &all);
	for (uint32_t i = 0; i < instance->count; i++)
		lower(&slack->late_start[instance->first + i], all);
}

static void see_queued(struct slack *slack, uint32_t slot)
{
	const struct np_replay_op *ops = slack->replay->ops;
	uint32_t behind = ops[slot].behind;

	if (slack->late_start[slot] != NP_NS_MAX)
		lower(&slack->late_end[behind],
		      slack->late_start[slot] - (ops[slot].start - ops[behind].end));
}

static void see_mark(struct slack *slack, const struct np_replay_mark *mark, size_t index)
{
	np_ns *late = &slack->late_rank[slack->replay->cell_ranks[mark->cell]];
	uint32_t slot = slack->replay->mark_slots[index];

	if (mark->kind == MARK_START)
		lower(late, slack->late_start[slot]);
	if (mark->kind == MARK_BLOCK)
		lower(&slack->late_end[slot], *late);
	if (mark->work[NP_WORK_COMPUTE] > 0 || mark->work[NP_WORK_SURPLUS] > 0)
		lower(&slack->ret[mark->cell], *late - slack->state.reached[index]);
	for (int kind = 0; kind < NP_WORK_KINDS; kind++)
		*late -= mark->work[kind];
}

static void see_all(struct slack *slack)
{
	const struct np_replay *replay = slack->replay;

	slack->member = replay->members.count;
	for (size_t i = replay->marks.count; i-- > 0;) {
		const struct np_replay_mark *mark = &replay->marks.item[i];

		if (mark->kind == MARK_DONE)
			see_instance(slack, mark->instance);
		else if (mark->kind == MARK_QUEUE)
			see_queued(slack, replay->mark_slots[i]);
		else
			see_mark(slack, mark, i);
	}
}

static void go_back(struct slack *slack)
{
	const struct np_replay *replay = slack->replay;
	np_ns end = replay_total(&slack->state, 0) + 1;

	for (uint32_t i = 0; i < replay->align->op_count; i++) {
		slack->late_start[i] = NP_NS_MAX;
		slack->late_end[i] = NP_NS_MAX;
	}
	for (size_t i = 0; i < replay->align->run->sources.count; i++)
		slack->late_rank[i] = end;
	for (size_t i = 0; i < replay->cells.count; i++)
		slack->ret[i] = NP_NS_MAX;
	see_all(slack);
	for (size_t i = 0; i < replay->cells.count; i++) {
		if (slack->ret[i] == NP_NS_MAX)
			slack->ret[i] = NP_UNKNOWN;
		else if (slack->ret[i] < 0)
			slack->ret[i] = 0;
	}
}

static int make_room(struct slack *slack, struct np_err *err)
{
	const struct np_replay *replay = slack->replay;
	size_t slots = (size_t)replay->align->op_count + 1;
	struct replay_state *state = &slack->state;

	slack->late_rank = malloc((replay->align->run->sources.count + 1) * sizeof(np_ns));
	slack->late_start = malloc(slots * sizeof(*slack->late_start));
	slack->late_end = malloc(slots * sizeof(*slack->late_end));
	slack->ret = malloc((replay->cells.count + 1) * sizeof(*slack->ret));
	if (!slack->late_rank || !slack->late_start || !slack->late_end || !slack->ret)
		return np_fail_nomem(err, "slack");
	return replay_write_down(state, replay, err);
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
	free(slack.late_rank);
	free(slack.late_start);
	free(slack.late_end);
	free(slack.ret);
	return rc;
}
