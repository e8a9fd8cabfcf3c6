/* SPDX-License-Identifier: Apache-2.0 */
#include "replay_run.h"

#include <pthread.h>

static const struct np_world untouched = { 0 };

/* --- operators ------------------------------------------------------------------------------- */

static np_ns recorded_last(const struct np_replay *replay, const struct np_instance *instance)
{
	np_ns last = -NP_NS_MAX;

	for (uint32_t i = 0; i < instance->count; i++) {
		np_ns start = replay->ops[instance->first + i].start;

		last = start > last ? start : last;
	}
	return last;
}

/*
 * When that comes for which an operator waits that starts at `own`: `last` is the
 * last start of all, `root` that of the root.
 */
static np_ns awaited(const struct np_instance *instance, uint32_t slot, np_ns own, np_ns last,
		     np_ns root)
{
	if (instance->root == NP_NO_ROOT)
		return last;
	if (instance->rule == NP_RULE_TO_ROOT)
		return slot == instance->root ? last : own;
	if (instance->rule != NP_RULE_FROM_ROOT)
		return last;
	return root > own ? root : own;
}

/*
 * Members that are gone before the last has come did not wait for it: messages
 * into a buffer, uneven exchanges. They take as long as they did, and so do
 * operators of which no other member was recorded.
 */
static void find_rule(struct np_replay *replay, const struct np_instance *instance, uint32_t slot,
		      np_ns last)
{
	const struct np_replay_op *op = &replay->ops[slot];
	struct np_replay_rule *rule = &replay->rules[slot];
	np_ns root = instance->root == NP_NO_ROOT ? 0 : replay->ops[instance->root].start;
	np_ns was = awaited(instance, slot, op->start, last, root);

	rule->eager = instance->count < 2 || op->end < was;
	rule->after = op->end - (rule->eager ? op->start : was);
	rule->held = op->behind != NO_SLOT;
	rule->gap = 0;
	if (!rule->held)
		return;
	rule->gap = (uint32_t)(op->start - replay->ops[op->behind].end) & 0x3fffffff;
	replay->rules[op->behind].ahead = slot;
}

void replay_find_rules(struct np_replay *replay)
{
	const struct np_align *align = replay->align;

	for (uint32_t i = 0; i < align->op_count; i++)
		replay->rules[i].ahead = NO_SLOT;
	for (size_t i = 0; i < align->instances.count; i++) {
		const struct np_instance *instance = &align->instances.item[i];
		np_ns last = recorded_last(replay, instance);

		for (uint32_t j = 0; j < instance->count; j++)
			find_rule(replay, instance, instance->first + j, last);
	}
}

static np_ns scaled(const struct replay_state *state, uint32_t instance, np_ns transfer)
{
	if (!state->world->transfer || transfer <= 0)
		return transfer;
	return (np_ns)((double)transfer * (double)state->world->transfer[instance] + 0.5);
}

/* An operator starts; if it is the last of its instance, that is to be finished. */
static void arrive(struct replay_state *state, uint32_t slot, uint32_t instance, np_ns time)
{
	state->end[slot] = time;
	if (state->start)
		state->start[slot] = time;
	if (--state->left[instance] == 0)
		state->complete[state->complete_count++] = instance;
}

/* Its instance is done at its member `slot`: whoever stands still for that, or queues, can go on.
 */
static void release_member(struct replay_state *state, uint32_t index, uint32_t slot)
{
	const struct np_replay *replay = state->replay;
	uint32_t ahead = replay->rules[slot].ahead;
	uint32_t rank = replay->align->members[slot].rank;

	if (ahead != NO_SLOT && state->end[ahead] != 0) {
		np_ns held = state->end[slot] + replay->rules[ahead].gap;
		np_ns launched = state->end[ahead];

		arrive(state, ahead, replay->ops[ahead].instance,
		       held > launched ? held : launched);
	}
	if (state->waiting_for[rank] == index) {
		state->waiting_for[rank] = UINT32_MAX;
		state->ready[state->ready_count++] = rank;
	}
}

/* All have started: the instance ends. */
static void finish_instance(struct replay_state *state, uint32_t index)
{
	const struct np_instance *instance = &state->replay->align->instances.item[index];
	np_ns root = instance->root == NP_NO_ROOT ? 0 : state->end[instance->root];
	np_ns last = 0;

	for (uint32_t i = 0; i < instance->count; i++) {
		np_ns start = state->end[instance->first + i];

		last = start > last ? start : last;
	}
	if (state->order)
		state->order[state->ordered++] = REPLAY_DONE | index;
	for (uint32_t i = 0; i < instance->count; i++) {
		uint32_t slot = instance->first + i;
		const struct np_replay_rule *rule = &state->replay->rules[slot];
		np_ns start = state->end[slot];
		np_ns from = rule->eager ? start : awaited(instance, slot, start, last, root);
		np_ns end = from + scaled(state, index, rule->after);

		state->end[slot] = end > start ? end : start;
		release_member(state, index, slot);
	}
}

/*
 * A rank has come to the start of an operator. One that is held up by another
 * still under way starts when that is over; the rank goes on.
 */
static void start_op(struct replay_state *state, const struct np_replay_mark *mark, np_ns time)
{
	const struct np_replay *replay = state->replay;
	const struct np_replay_rule *rule = &replay->rules[mark->slot];

	if (rule->held) {
		uint32_t behind = replay->ops[mark->slot].behind;
		np_ns held = state->end[behind] + rule->gap;

		if (state->left[replay->ops[behind].instance] != 0) {
			state->end[mark->slot] = time;
			return;
		}
		time = held > time ? held : time;
	}
	arrive(state, mark->slot, mark->instance, time);
	while (state->complete_count > 0)
		finish_instance(state, state->complete[--state->complete_count]);
}

/* --- ranks ----------------------------------------------------------------------------------- */

np_ns replay_worked(const struct replay_state *state, const struct np_replay_mark *mark,
		    enum np_work kind)
{
	if (!state->world->work || mark->work[kind] == 0)
		return mark->work[kind];
	return (np_ns)((double)mark->work[kind] * (double)state->world->work[mark->cell][kind] +
		       0.5);
}

np_ns replay_work(const struct replay_state *state, const struct np_replay_mark *mark)
{
	return replay_worked(state, mark, NP_WORK_COMPUTE) +
	       replay_worked(state, mark, NP_WORK_HOST) + replay_worked(state, mark, NP_WORK_OTHER);
}

static void take_down(struct replay_state *state, uint32_t index, const struct np_replay_mark *mark,
		      np_ns time)
{
	if (state->mark_time)
		state->mark_time[index] = time;
	if (state->order)
		state->order[state->ordered++] = index;
	if (state->cell_end && mark->kind == MARK_STEP)
		state->cell_end[mark->cell] = time;
}

/*
 * Others run before this rank goes on at `mark`: meanwhile what it needs then can
 * come from memory.
 */
static void prefetch(const struct replay_state *state, const struct np_replay_mark *mark,
		     const struct np_replay_mark *last)
{
	const struct np_replay_mark *next = mark < last ? mark + 1 : mark;

	__builtin_prefetch(mark + 4);
	if (next->kind == MARK_START) {
		__builtin_prefetch(&state->replay->rules[next->slot]);
		__builtin_prefetch(&state->replay->align->members[next->slot]);
		__builtin_prefetch(&state->end[next->slot], 1);
		__builtin_prefetch(&state->left[next->instance], 1);
	}
}

/* Let a rank go as far as it can. */
static void advance(struct replay_state *state, uint32_t rank)
{
	const struct np_replay_rank *own = &state->replay->ranks[rank];
	np_ns time = state->time[rank];
	uint32_t i = state->next_mark[rank];

	for (; i < own->marks; i++) {
		const struct np_replay_mark *mark = &state->replay->marks.item[own->first_mark + i];
		np_ns reached = time + replay_work(state, mark);

		if (mark->kind == MARK_BLOCK) {
			if (state->left[mark->instance] != 0) {
				state->waiting_for[rank] = mark->instance;
				prefetch(state, mark, mark + (own->marks - i - 1));
				break;
			}
			if (state->end[mark->slot] > reached)
				reached = state->end[mark->slot];
		}
		time = reached;
		take_down(state, own->first_mark + i, mark, time);
		if (mark->kind == MARK_START)
			start_op(state, mark, time);
	}
	state->next_mark[rank] = i;
	state->time[rank] = time;
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
	state->waiting_for[first] = UINT32_MAX;
	state->time[first] += replay_work(state, mark);
	alone = state->end[mark->slot] + replay->ops[mark->slot].end -
		replay->ops[mark->slot].start;
	if (state->end[mark->slot] != 0 && alone > state->time[first])
		state->time[first] = alone;
	take_down(state, index, mark, state->time[first]);
	state->ready[state->ready_count++] = first;
	return true;
}

static void run_all(struct replay_state *state)
{
	/* The first rank is on top. */
	for (uint32_t i = (uint32_t)state->replay->align->run->sources.count; i-- > 0;)
		state->ready[state->ready_count++] = i;
	do {
		while (state->ready_count > 0)
			advance(state, state->ready[--state->ready_count]);
	} while (force_one(state));
}

/* --- room ------------------------------------------------------------------------------------ */

np_ns replay_begin(const struct np_replay *replay, uint32_t rank)
{
	/* A rank that recorded nothing begins with the others. */
	if (replay->ranks[rank].begin == NP_UNKNOWN)
		return 1;
	return replay->ranks[rank].begin - replay->first + 1;
}

static int allocate(struct replay_state *state, struct np_err *err)
{
	const struct np_align *align = state->replay->align;
	size_t slots = (size_t)align->op_count + 1;
	size_t ranks = align->run->sources.count + 1;
	size_t instances = align->instances.count + 1;

	state->end = malloc(slots * sizeof(*state->end));
	state->left = malloc(instances * sizeof(*state->left));
	state->complete = malloc(instances * sizeof(*state->complete));
	state->next_mark = malloc(ranks * sizeof(*state->next_mark));
	state->time = malloc(ranks * sizeof(*state->time));
	state->waiting_for = malloc(ranks * sizeof(*state->waiting_for));
	state->ready = malloc(ranks * sizeof(*state->ready));
	if (!state->end || !state->left || !state->complete || !state->next_mark || !state->time ||
	    !state->waiting_for || !state->ready)
		return np_fail_nomem(err, "the replay");
	return NP_OK;
}

static void begin(struct replay_state *state)
{
	const struct np_align *align = state->replay->align;

	memset(state->end, 0, align->op_count * sizeof(*state->end));
	for (size_t i = 0; i < align->instances.count; i++)
		state->left[i] = align->instances.item[i].count;
	for (uint32_t i = 0; i < align->run->sources.count; i++) {
		state->next_mark[i] = 0;
		state->waiting_for[i] = UINT32_MAX;
		state->time[i] = replay_begin(state->replay, i);
	}
	state->forced = 0;
	state->ready_count = 0;
	state->complete_count = 0;
	state->ordered = 0;
}

int replay_run(struct replay_state *state, const struct np_replay *replay,
	       const struct np_world *world, struct np_err *err)
{
	int rc = NP_OK;

	state->replay = replay;
	state->world = world ? world : &untouched;
	if (!state->end)
		rc = allocate(state, err);
	if (rc < 0)
		return rc;
	begin(state);
	run_all(state);
	return NP_OK;
}

void replay_release(struct replay_state *state)
{
	free(state->end);
	free(state->left);
	free(state->complete);
	free(state->next_mark);
	free(state->time);
	free(state->waiting_for);
	free(state->ready);
	free(state->start);
	free(state->mark_time);
	free(state->cell_end);
	free(state->order);
}

np_ns replay_total(const struct replay_state *state)
{
	np_ns last = 1;

	for (size_t i = 0; i < state->replay->align->run->sources.count; i++) {
		if (state->replay->ranks[i].marks > 0 && state->time[i] > last)
			last = state->time[i];
	}
	return last - 1;
}

/* States that nobody uses: getting memory anew for every world takes longer than running it. */
struct np_replay_rooms {
	pthread_mutex_t lock;
	struct replay_state *free;
};

struct np_replay_rooms *replay_rooms_new(void)
{
	struct np_replay_rooms *rooms = calloc(1, sizeof(*rooms));

	if (rooms && pthread_mutex_init(&rooms->lock, NULL) != 0) {
		free(rooms);
		rooms = NULL;
	}
	return rooms;
}

void replay_rooms_free(struct np_replay_rooms *rooms)
{
	if (!rooms)
		return;
	while (rooms->free) {
		struct replay_state *state = rooms->free;

		rooms->free = state->next;
		replay_release(state);
		free(state);
	}
	(void)pthread_mutex_destroy(&rooms->lock);
	free(rooms);
}

static struct replay_state *take_state(struct np_replay_rooms *rooms)
{
	struct replay_state *state;

	(void)pthread_mutex_lock(&rooms->lock);
	state = rooms->free;
	if (state)
		rooms->free = state->next;
	(void)pthread_mutex_unlock(&rooms->lock);
	return state ? state : calloc(1, sizeof(*state));
}

static void give_back(struct np_replay_rooms *rooms, struct replay_state *state)
{
	(void)pthread_mutex_lock(&rooms->lock);
	state->next = rooms->free;
	rooms->free = state;
	(void)pthread_mutex_unlock(&rooms->lock);
}

int np_replay_run(const struct np_replay *replay, const struct np_world *world,
		  struct np_replay_result *ret, struct np_err *err)
{
	struct replay_state *state = take_state(replay->rooms);
	int rc = state ? replay_run(state, replay, world, err) : np_fail_nomem(err, "the replay");

	if (rc == NP_OK) {
		ret->total = replay_total(state);
		ret->step = replay->steps > 0 ? ret->total / (np_ns)replay->steps : ret->total;
		ret->forced = state->forced;
		give_back(replay->rooms, state);
	} else if (state) {
		replay_release(state);
		free(state);
	}
	return rc;
}
