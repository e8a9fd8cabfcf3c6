/* SPDX-License-Identifier: Apache-2.0 */
#include "replay_run.h"

/*
 * Where the walk is: on a rank, at a time, behind so many marks, going backwards.
 * Whatever lets something begin comes before it in the order of marks, so that
 * these are passed once.
 */
struct walker {
	const struct np_replay *replay;
	struct replay_state state;
	uint32_t *start_mark; /* by slot; UINT32_MAX for one that never started */
	struct np_path *path;
	uint32_t rank;
	np_ns time;
	size_t next;
	struct np_err *err;
};

static int add_piece(struct walker *walker, uint32_t cell, enum np_work work, uint32_t communicator,
		     np_ns ns)
{
	const struct np_replay_cell *from = &walker->replay->cells.item[cell];
	struct np_path_piece *last =
		walker->path->pieces.count > 0
			? &walker->path->pieces.item[walker->path->pieces.count - 1]
			: NULL;

	if (ns <= 0)
		return NP_OK;
	if (last && last->rank == walker->rank && last->step == from->step &&
	    last->communicator == communicator &&
	    (communicator != UINT32_MAX || last->work == work)) {
		last->ns += ns;
		return NP_OK;
	}
	last = np_vec_add(&walker->path->pieces, walker->err);
	if (!last)
		return NP_E_NOMEM;
	*last = (struct np_path_piece){ .rank = walker->rank,
					.step = from->step,
					.work = work,
					.communicator = communicator,
					.ns = ns };
	return NP_OK;
}

/* The member that started last. */
static uint32_t last_to_start(const struct walker *walker, const struct np_instance *instance)
{
	uint32_t last = instance->first;

	for (uint32_t i = 1; i < instance->count; i++) {
		if (walker->state.start[instance->first + i] > walker->state.start[last])
			last = instance->first + i;
	}
	return last;
}

/* The member that the end of an operator depends on: itself where it waited for nobody. */
static uint32_t waited_for(const struct walker *walker, const struct np_instance *instance,
			   uint32_t slot)
{
	const np_ns *start = walker->state.start;
	uint32_t last = last_to_start(walker, instance);

	if (instance->root != NP_NO_ROOT && instance->rule == NP_RULE_TO_ROOT &&
	    slot != instance->root)
		last = slot;
	if (instance->root != NP_NO_ROOT && instance->rule == NP_RULE_FROM_ROOT)
		last = start[instance->root] > start[slot] ? instance->root : slot;
	/* Who was gone before the last came did not wait for it. */
	return start[last] > walker->state.end[slot] ? slot : last;
}

/*
 * From the end of an operator to whoever let it begin: over its transfer to the
 * last start, from there on over what held that one up, to a place in the program
 * of a rank.
 */
static int cross(struct walker *walker, uint32_t slot, uint32_t cell)
{
	const struct np_replay *replay = walker->replay;
	const struct replay_state *state = &walker->state;
	int rc = NP_OK;

	for (;;) {
		const struct np_instance *instance =
			&replay->align->instances.item[replay->ops[slot].instance];
		uint32_t last = waited_for(walker, instance, slot);
		uint32_t behind = replay->ops[last].behind;
		uint32_t mark = walker->start_mark[last];

		rc = add_piece(walker, cell, NP_WORK_OTHER, instance->communicator,
			       state->end[slot] - state->start[last]);
		if (rc < 0)
			return rc;
		cell = replay->marks.item[mark].cell;
		walker->rank = replay->align->members[last].rank;
		walker->time = state->reached[mark];
		walker->next = mark + 1;
		if (behind == NO_SLOT || state->start[last] <= walker->time)
			return NP_OK;
		rc = add_piece(walker, cell, NP_WORK_OTHER, UINT32_MAX,
			       state->start[last] - state->end[behind]);
		if (rc < 0)
			return rc;
		slot = behind;
	}
}

/* Over the next mark, if it is one of the rank. */
static int step_back(struct walker *walker)
{
	const struct np_replay *replay = walker->replay;
	const struct replay_state *state = &walker->state;
	size_t index = --walker->next;
	const struct np_replay_mark *mark = &replay->marks.item[index];
	np_ns stood;
	int rc = NP_OK;

	if (mark->kind == MARK_DONE || mark->kind == MARK_QUEUE ||
	    replay->cell_ranks[mark->cell] != walker->rank)
		return NP_OK;
	stood = walker->time - state->reached[index];
	if (mark->kind == MARK_BLOCK && stood > 0)
		return cross(walker, replay->mark_slots[index], mark->cell);
	/* It went on without what it waited for. */
	if (stood > 0) {
		uint32_t instance = replay->ops[replay->mark_slots[index]].instance;

		rc = add_piece(walker, mark->cell, NP_WORK_OTHER,
			       replay->align->instances.item[instance].communicator, stood);
	}
	walker->time = state->reached[index];
	for (int kind = 0; kind < NP_WORK_KINDS && rc == NP_OK; kind++) {
		walker->time -= mark->work[kind];
		rc = add_piece(walker, mark->cell,
			       kind == NP_WORK_SURPLUS ? NP_WORK_COMPUTE : (enum np_work)kind,
			       UINT32_MAX, mark->work[kind]);
	}
	return rc;
}

static void find_end(struct walker *walker)
{
	const struct np_replay *replay = walker->replay;

	walker->rank = UINT32_MAX;
	for (uint32_t i = 0; i < replay->align->run->sources.count; i++) {
		if (replay->ranks[i].any &&
		    (walker->rank == UINT32_MAX ||
		     walker->state.time[i] > walker->state.time[walker->rank]))
			walker->rank = i;
	}
	if (walker->rank != UINT32_MAX)
		walker->time = walker->state.time[walker->rank];
	walker->next = replay->marks.count;
}

static void find_starts(struct walker *walker)
{
	const struct np_replay *replay = walker->replay;

	for (uint32_t i = 0; i < replay->align->op_count; i++)
		walker->start_mark[i] = UINT32_MAX;
	for (uint32_t i = 0; i < replay->marks.count; i++) {
		if (replay->marks.item[i].kind == MARK_START)
			walker->start_mark[replay->mark_slots[i]] = i;
	}
}

static void reverse(struct np_path *path)
{
	for (size_t i = 0, j = path->pieces.count; i + 1 < j; i++) {
		struct np_path_piece piece = path->pieces.item[i];

		path->pieces.item[i] = path->pieces.item[--j];
		path->pieces.item[j] = piece;
	}
}

/* A rank that began later than the first one had something to do before it, or was started late. */
static int add_late_begin(struct walker *walker)
{
	const struct np_replay_rank *own = &walker->replay->ranks[walker->rank];

	return add_piece(walker, own->first_cell, NP_WORK_OTHER, UINT32_MAX,
			 own->begin - walker->replay->first);
}

static int walk(struct walker *walker)
{
	int rc = NP_OK;

	find_starts(walker);
	find_end(walker);
	if (walker->rank == UINT32_MAX)
		return NP_OK;
	while (walker->next > 0 && rc == NP_OK)
		rc = step_back(walker);
	if (rc == NP_OK)
		rc = add_late_begin(walker);
	reverse(walker->path);
	return rc;
}

int np_replay_path(const struct np_replay *replay, struct np_path *ret, struct np_err *err)
{
	struct np_path path = { 0 };
	struct walker walker = { .replay = replay, .path = &path, .err = err };
	int rc;

	walker.start_mark =
		malloc(((size_t)replay->align->op_count + 1) * sizeof(*walker.start_mark));
	rc = walker.start_mark ? replay_write_down(&walker.state, replay, err)
			       : np_fail_nomem(err, "the critical path");
	if (rc == NP_OK)
		rc = replay_run(&walker.state, replay, NULL, err);
	if (rc == NP_OK)
		rc = walk(&walker);
	replay_release(&walker.state);
	free(walker.start_mark);
	if (rc < 0) {
		np_path_release(&path);
		return rc;
	}
	*ret = path;
	return NP_OK;
}

void np_path_release(struct np_path *path)
{
	np_vec_release(&path->pieces);
}
