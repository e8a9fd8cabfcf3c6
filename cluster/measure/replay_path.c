/* SPDX-License-Identifier: Apache-2.0 */
#include "replay_run.h"

/* Where the walk is: at a mark of a rank, going backwards. */
struct walker {
	const struct np_replay *replay;
	struct replay_state state;
	uint32_t *start_mark; /* by slot */
	struct np_path *path;
	uint32_t rank;
	uint32_t next; /* marks of the rank that are still before it */
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

static np_ns time_before(const struct walker *walker)
{
	const struct np_replay_rank *own = &walker->replay->ranks[walker->rank];

	return walker->next > 0 ? walker->state.mark_time[own->first_mark + walker->next - 1]
				: replay_begin(walker->replay, walker->rank);
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
		const struct np_replay_mark *mark;

		rc = add_piece(walker, cell, NP_WORK_OTHER, instance->communicator,
			       state->end[slot] - state->start[last]);
		if (rc < 0 || walker->start_mark[last] == UINT32_MAX)
			return rc;
		mark = &replay->marks.item[walker->start_mark[last]];
		cell = mark->cell;
		walker->rank = replay->align->members[last].rank;
		walker->next =
			walker->start_mark[last] - replay->ranks[walker->rank].first_mark + 1;
		if (behind == NO_SLOT ||
		    state->start[last] <= state->mark_time[walker->start_mark[last]])
			return NP_OK;
		rc = add_piece(walker, cell, NP_WORK_OTHER, UINT32_MAX,
			       state->start[last] - state->end[behind]);
		if (rc < 0)
			return rc;
		slot = behind;
	}
}

static int step_back(struct walker *walker)
{
	const struct replay_state *state = &walker->state;
	const struct np_replay_rank *own = &walker->replay->ranks[walker->rank];
	uint32_t index = own->first_mark + --walker->next;
	const struct np_replay_mark *mark = &walker->replay->marks.item[index];
	np_ns stood = state->mark_time[index] - time_before(walker);
	int rc = NP_OK;

	stood -= replay_work(state, mark);
	if (mark->kind == MARK_BLOCK && stood > 0) {
		if (state->left[mark->instance] == 0 &&
		    state->end[mark->slot] == state->mark_time[index] &&
		    walker->start_mark[mark->slot] != UINT32_MAX)
			return cross(walker, mark->slot, mark->cell);
		/* It went on without what it waited for. */
		rc = add_piece(walker, mark->cell, NP_WORK_OTHER,
			       walker->replay->align->instances.item[mark->instance].communicator,
			       stood);
	}
	for (int kind = 0; kind < NP_WORK_KINDS && rc == NP_OK; kind++)
		rc = add_piece(walker, mark->cell, (enum np_work)kind, UINT32_MAX,
			       replay_worked(state, mark, (enum np_work)kind));
	return rc;
}

static void find_end(struct walker *walker)
{
	const struct np_replay *replay = walker->replay;

	walker->rank = UINT32_MAX;
	for (uint32_t i = 0; i < replay->align->run->sources.count; i++) {
		if (replay->ranks[i].marks > 0 &&
		    (walker->rank == UINT32_MAX ||
		     walker->state.time[i] > walker->state.time[walker->rank]))
			walker->rank = i;
	}
	if (walker->rank != UINT32_MAX)
		walker->next = replay->ranks[walker->rank].marks;
}

static void find_starts(struct walker *walker)
{
	const struct np_replay *replay = walker->replay;

	for (uint32_t i = 0; i < replay->align->op_count; i++)
		walker->start_mark[i] = UINT32_MAX;
	for (uint32_t i = 0; i < replay->marks.count; i++) {
		if (replay->marks.item[i].kind == MARK_START)
			walker->start_mark[replay->marks.item[i].slot] = i;
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
	const struct np_replay *replay = walker->replay;
	const struct np_replay_rank *own = &replay->ranks[walker->rank];

	return add_piece(walker, replay->marks.item[own->first_mark].cell, NP_WORK_OTHER,
			 UINT32_MAX, own->begin - replay->first);
}

static int walk(struct walker *walker)
{
	/* Going back in time cannot take longer than there are marks and operators. */
	size_t most = 2 * walker->replay->marks.count + 2;
	int rc = NP_OK;

	find_starts(walker);
	find_end(walker);
	if (walker->rank == UINT32_MAX)
		return NP_OK;
	while (walker->next > 0 && rc == NP_OK && most-- > 0)
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
	walker.state.mark_time = calloc(replay->marks.count + 1, sizeof(*walker.state.mark_time));
	walker.state.start =
		calloc((size_t)replay->align->op_count + 1, sizeof(*walker.state.start));
	rc = walker.start_mark && walker.state.mark_time && walker.state.start
		     ? replay_run(&walker.state, replay, NULL, err)
		     : np_fail_nomem(err, "the critical path");
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
