/* SPDX-License-Identifier: Apache-2.0 */
/* The critical path of a replay, what it is made of, and the slack beside it. */
#include "npuprof/replay.h"

#include "replay_run.h"

#include "npuprof/align.h"
#include "npuprof/order.h"
#include "npuprof/run.h"

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
	np_ns ahead; /* of where the path is */
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

	if (walker->ahead > 0 && ns > 0) {
		np_ns skipped = ns < walker->ahead ? ns : walker->ahead;

		walker->ahead -= skipped;
		ns -= skipped;
	}
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

/* Does a receive end when it has taken the message out of a buffer, not when that comes? */
static bool comes_late(const struct np_replay *replay, const np_ns *start,
		       const struct np_instance *instance, uint32_t slot)
{
	const struct np_replay_settled *settled = replay_settled(replay, slot);

	return start[slot] + settled->own > start[replay_other_end(instance, slot)] + settled->sent;
}

/* The member that the end of an operator depends on: itself where it waited for nobody. */
static uint32_t waited_for(const struct walker *walker, const struct np_instance *instance,
			   uint32_t slot)
{
	const np_ns *start = walker->state.start;
	np_ns last = np_replay_last_start(walker->replay, instance);
	np_ns after;

	switch (replay_wait(walker->replay, instance, slot, last, &after)) {
	case WAIT_LAST:
		return last_to_start(walker, instance);
	case WAIT_ROOT:
		return start[instance->root] > start[slot] ? instance->root : slot;
	case WAIT_BUFFER:
		return comes_late(walker->replay, start, instance, slot)
			       ? slot
			       : replay_other_end(instance, slot);
	case WAIT_SELF:
		break;
	}
	return slot;
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

		/* By wrong clocks it may have come when the operator had ended: its work ends then.
		 */
		if (state->start[last] > state->end[slot])
			walker->ahead += state->start[last] - state->end[slot];
		rc = add_piece(walker, cell, NP_WORK_OTHER, instance->communicator,
			       state->end[slot] - state->start[last]);
		if (rc < 0)
			return rc;
		cell = replay->marks.item[mark].cell;
		walker->rank = replay->align->members[last].rank;
		walker->time = state->reached[mark];
		walker->next = mark + 1;
		if (state->start[last] <= walker->time)
			return NP_OK;
		/* Its host launched it while the rank stood still. */
		if (behind == NO_SLOT || state->end[behind] <= walker->time)
			return add_piece(walker, cell, NP_WORK_OTHER, UINT32_MAX,
					 state->start[last] - walker->time);
		rc = add_piece(walker, cell, NP_WORK_OTHER, UINT32_MAX,
			       state->start[last] - state->end[behind]);
		if (rc < 0)
			return rc;
		slot = behind;
	}
}

static enum np_work work_of(const struct np_replay_mark *mark, int kind)
{
	if (kind != NP_WORK_SURPLUS)
		return (enum np_work)kind;
	return mark->kind == MARK_BEGIN ? NP_WORK_BETWEEN : NP_WORK_COMPUTE;
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
	for (int kind = 0; kind < MARK_WORKS && rc == NP_OK; kind++) {
		walker->time -= mark->work[kind];
		/* What was not captured is on no path. */
		if (mark->kind == MARK_BEGIN && mark->room == BEGIN_GAP)
			continue;
		rc = add_piece(walker, mark->cell, work_of(mark, kind), UINT32_MAX,
			       mark->work[kind]);
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
	} else if (wait == WAIT_BUFFER) {
		const struct np_replay_settled *settled = replay_settled(slack->replay, slot);

		lower(&slack->late_start[slot], late - settled->own);
		lower(&slack->late_start[replay_other_end(instance, slot)], late - settled->sent);
	} else if (wait == WAIT_ROOT) {
		np_ns from =
			start[instance->root] > start[slot] ? start[instance->root] : start[slot];

		lower(&slack->late_start[slot], late - (end - from));
		lower(&slack->late_start[instance->root], late - (end - from));
	} else {
		lower(all, late - (end - last));
	}
}

static void see_instance(struct slack *slack, const struct np_replay_mark *mark)
{
	const struct np_replay *replay = slack->replay;
	const struct np_instance *instance = &replay->align->instances.item[mark->instance];
	const struct np_replay_member *members;
	np_ns last = last_start(slack, instance);
	np_ns all = NP_NS_MAX;

	slack->member -= mark->count;
	members = &replay->members.item[slack->member];
	for (uint32_t i = 0; i < instance->count; i++)
		see_member(slack, instance, instance->first + i, (enum member_wait)members[i].wait,
			   last, &all);
	for (uint32_t i = 0; i < instance->count; i++)
		lower(&slack->late_start[instance->first + i], all);
}

static void see_queued(struct slack *slack, const struct np_replay_mark *mark, uint32_t slot)
{
	const struct np_replay_op *ops = slack->replay->ops;
	uint32_t behind;

	/* Who was not profiled. */
	if (slot == NO_SLOT)
		return;
	behind = ops[slot].behind;
	if (mark->cell == QUEUE_END) {
		if (slack->late_end[slot] != NP_NS_MAX)
			lower(&slack->late_start[slot], slack->late_end[slot] - mark->gap);
		return;
	}
	if (mark->behind == mark->room) {
		if (slack->late_start[slot] != NP_NS_MAX)
			slack->late_start[slot] -= mark->gap;
		return;
	}
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
	if (mark->kind != MARK_BEGIN &&
	    (mark->work[NP_WORK_COMPUTE] > 0 || mark->work[NP_WORK_SURPLUS] > 0))
		lower(&slack->ret[mark->cell], *late - slack->state.reached[index]);
	for (int kind = 0; kind < MARK_WORKS; kind++)
		*late -= mark->work[kind];
}

static void see_all(struct slack *slack)
{
	const struct np_replay *replay = slack->replay;

	slack->member = replay->members.count;
	for (size_t i = replay->marks.count; i-- > 0;) {
		const struct np_replay_mark *mark = &replay->marks.item[i];

		if (mark->kind == MARK_DONE)
			see_instance(slack, mark);
		else if (mark->kind == MARK_QUEUE)
			see_queued(slack, mark, replay->mark_slots[i]);
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

/* Parts while they are summed. */
struct summing {
	const struct np_replay *replay;
	struct np_path_summary *ret;
	NP_VEC(np_ns *) steps; /* by part, then step */
	np_str *roles;         /* by communicator */
	struct np_err *err;
};

static struct np_path_part *part_of(struct summing *summing, const struct np_path_piece *piece,
				    np_ns **ret_steps)
{
	struct np_path_summary *summary = summing->ret;
	np_str role = piece->communicator == UINT32_MAX ? NP_STR_NONE
							: summing->roles[piece->communicator];
	struct np_path_part *part;
	np_ns **steps;

	for (size_t i = 0; i < summary->list.count; i++) {
		part = &summary->list.item[i];
		if ((part->piece.communicator == UINT32_MAX) !=
			    (piece->communicator == UINT32_MAX) ||
		    (piece->communicator == UINT32_MAX ? part->piece.work != piece->work
						       : part->role != role) ||
		    (piece->communicator != UINT32_MAX && role == NP_STR_NONE &&
		     part->piece.communicator != piece->communicator))
			continue;
		*ret_steps = summing->steps.item[i];
		return part;
	}
	part = np_vec_add(&summary->list, summing->err);
	steps = part ? np_vec_add(&summing->steps, summing->err) : NULL;
	if (!steps)
		return NULL;
	*part = (struct np_path_part){ .piece = *piece, .role = role };
	*steps = calloc(summing->replay->cluster->steps.count + 1, sizeof(**steps));
	if (!*steps)
		(void)np_fail_nomem(summing->err, "the critical path");
	*ret_steps = *steps;
	return *steps ? part : NULL;
}

/* Over all ranks with intervals. */
static np_ns mean_work(const struct np_replay *replay, enum np_work work)
{
	np_ns sum = 0;

	for (size_t i = 0; i < replay->cells.count; i++) {
		if (replay->cells.item[i].timed)
			sum += replay->cells.item[i].work[work];
	}
	return replay->timed > 0 ? sum / (np_ns)replay->timed : NP_UNKNOWN;
}

/* Over all ranks that have operators of the same role. */
static int mean_transfer(const struct summing *summing, const struct np_path_part *part, np_ns *ret)
{
	const struct np_replay *replay = summing->replay;
	const struct np_align *align = replay->align;
	bool *has = calloc(align->run->sources.count + 1, sizeof(*has));
	np_ns ranks = 0;
	np_ns sum = 0;

	if (!has)
		return np_fail_nomem(summing->err, "the critical path");
	for (size_t i = 0; i < align->instances.count; i++) {
		const struct np_instance *instance = &align->instances.item[i];
		np_ns last = np_replay_last_start(replay, instance);

		if (part->role == NP_STR_NONE
			    ? instance->communicator != part->piece.communicator
			    : summing->roles[instance->communicator] != part->role)
			continue;
		if (!np_replay_has_step(replay, instance->step))
			continue;
		for (uint32_t j = 0; j < instance->count; j++) {
			np_ns after;

			(void)replay_wait(replay, instance, instance->first + j, last, &after);
			sum += after > 0 ? after : 0;
			has[align->members[instance->first + j].rank] = true;
		}
	}
	for (size_t i = 0; i < align->run->sources.count; i++)
		ranks += has[i];
	*ret = ranks > 0 ? sum / ranks : NP_UNKNOWN;
	free(has);
	return NP_OK;
}

static int finish_part(const struct summing *summing, struct np_path_part *part, np_ns *steps)
{
	const struct np_cluster *cluster = summing->replay->cluster;
	size_t count = 0;
	np_ns all = summing->replay->steps > 0 ? (np_ns)summing->replay->steps : 1;
	np_ns mean = NP_UNKNOWN;
	int rc = NP_OK;

	for (size_t i = 0; i < cluster->steps.count; i++) {
		if (np_replay_has_step(summing->replay, cluster->steps.item[i]))
			steps[count++] = steps[i];
	}
	part->step = part->total / all;
	if (count > 0)
		qsort(steps, count, sizeof(steps[0]), np_by_int64);
	part->p50 = count > 0 ? steps[(count - 1) / 2] : part->total;
	part->p95 = count > 0 ? steps[(count * 95 + 99) / 100 - 1] : part->total;
	if (part->piece.communicator == UINT32_MAX)
		mean = mean_work(summing->replay, part->piece.work);
	else
		rc = mean_transfer(summing, part, &mean);
	part->imbalance = mean == NP_UNKNOWN ? NP_UNKNOWN : part->step - mean / all;
	return rc;
}

static int longest_first(const void *left, const void *right)
{
	const struct np_path_part *a = left;
	const struct np_path_part *b = right;

	return np_order(b->total, a->total);
}

static int sum_pieces(struct summing *summing, const struct np_path *path)
{
	for (size_t i = 0; i < path->pieces.count; i++) {
		const struct np_path_piece *piece = &path->pieces.item[i];
		size_t step = np_cluster_step(summing->replay->cluster, piece->step);
		np_ns *steps = NULL;
		struct np_path_part *part = part_of(summing, piece, &steps);

		if (!part)
			return NP_E_NOMEM;
		part->total += piece->ns;
		if (step != SIZE_MAX)
			steps[step] += piece->ns;
	}
	return NP_OK;
}

static np_str *find_roles(const struct np_replay *replay, struct np_err *err)
{
	const struct np_align *align = replay->align;
	np_str *roles = malloc((align->communicators.count + 1) * sizeof(*roles));

	if (!roles)
		(void)np_fail_nomem(err, "the critical path");
	for (size_t i = 0; roles && i < align->communicators.count; i++) {
		const struct np_communicator *each =
			np_cluster_communicator(replay->cluster, align->communicators.item[i].hash);

		roles[i] = each ? each->pg_name : NP_STR_NONE;
	}
	return roles;
}

int np_path_summarise(const struct np_replay *replay, const struct np_path *path,
		      struct np_path_summary *ret, struct np_err *err)
{
	struct np_path_summary summary = { 0 };
	struct summing summing = { .replay = replay, .ret = &summary, .err = err };
	int rc;

	summing.roles = find_roles(replay, err);
	rc = summing.roles ? sum_pieces(&summing, path) : NP_E_NOMEM;
	for (size_t i = 0; i < summary.list.count && rc == NP_OK; i++)
		rc = finish_part(&summing, &summary.list.item[i], summing.steps.item[i]);
	for (size_t i = 0; i < summing.steps.count; i++)
		free(summing.steps.item[i]);
	np_vec_release(&summing.steps);
	free(summing.roles);
	if (rc < 0) {
		np_vec_release(&summary.list);
		return rc;
	}
	if (summary.list.count > 0)
		qsort(summary.list.item, summary.list.count, sizeof(summary.list.item[0]),
		      longest_first);
	*ret = summary;
	return NP_OK;
}
