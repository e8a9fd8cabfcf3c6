/* SPDX-License-Identifier: Apache-2.0 */
/* Running the program of all ranks, once or with many scenarios side by side. */
#include "replay_run.h"

#include "npuprof/align.h"

/*
 * One function runs one scenario, and several side by side: it is compiled for each
 * number of lanes, so that loops over them are not loops.
 */
#define FOR_LANES __attribute__((always_inline)) static inline

static const struct np_scenario untouched = { 0 };

static const float as_it_was[NP_WORK_KINDS] = { 1, 1, 1, 1, 1 };

FOR_LANES np_ns scaled(np_ns ns, float factor)
{
	return (np_ns)((double)ns * (double)factor + 0.5);
}

/* --- marks of ranks -------------------------------------------------------------------------- */

FOR_LANES void work(struct replay_state *state, const struct np_replay_mark *mark, np_ns *time,
		    size_t lanes)
{
	if (!state->cell_changed || !state->cell_changed[mark->cell]) {
		np_ns all = (np_ns)mark->work[0] + mark->work[1] + mark->work[2] + mark->work[3];

		for (size_t i = 0; i < lanes; i++)
			time[i] += all;
		return;
	}
	for (size_t i = 0; i < lanes; i++) {
		const float *factor = state->scenarios[i]->work
					      ? state->scenarios[i]->work[mark->cell]
					      : as_it_was;

		time[i] += scaled(mark->work[NP_WORK_COMPUTE] + scaled(mark->work[NP_WORK_SURPLUS],
								       factor[NP_WORK_SURPLUS]),
				  factor[NP_WORK_COMPUTE]);
		for (int kind = NP_WORK_COMPUTE + 1; kind < NP_WORK_SURPLUS; kind++)
			time[i] += scaled(mark->work[kind], factor[kind]);
	}
}

/* No earlier than `least`. */
FOR_LANES void raise(np_ns *time, const np_ns *least, np_ns later, size_t lanes)
{
	for (size_t i = 0; i < lanes; i++)
		time[i] = least[i] + later > time[i] ? least[i] + later : time[i];
}

FOR_LANES void queue(struct replay_state *state, const struct np_replay_mark *mark, size_t lanes)
{
	np_ns *room = &state->room[mark->room * lanes];
	const np_ns *behind = &state->room[mark->behind * lanes];

	/* The room may have been another's. */
	for (size_t i = 0; mark->cell == QUEUE_END && i < lanes; i++)
		room[i] = behind[i];
	raise(room, behind, mark->gap, lanes);
}

FOR_LANES void go_on(struct replay_state *state, const struct np_replay_mark *mark, size_t lanes)
{
	np_ns *time = &state->time[state->replay->cell_ranks[mark->cell] * lanes];
	np_ns *room = &state->room[mark->room * lanes];

	work(state, mark, time, lanes);
	if (lanes == 1 && state->reached)
		state->reached[state->next_mark] = *time;
	if (mark->kind == MARK_START) {
		for (size_t i = 0; i < lanes; i++)
			room[i] = time[i];
	} else if (mark->kind == MARK_BLOCK) {
		raise(time, room, 0, lanes);
	} else if (mark->kind == MARK_FORCE) {
		raise(time, room, state->replay->alone.item[state->next_forced++], lanes);
	} else if (lanes == 1 && state->cell_end && mark->kind == MARK_STEP) {
		state->cell_end[mark->cell] = *time;
	}
}

/* When a rank began. */
static np_ns replay_begin(const struct np_replay *replay, uint32_t rank)
{
	/* A rank that recorded nothing begins with the others. */
	if (replay->ranks[rank].begin == NP_UNKNOWN)
		return 1;
	return replay->ranks[rank].begin - replay->first + 1;
}

/* When its first step began, as it was. */
static np_ns replay_first_start(const struct np_replay *replay, uint32_t rank)
{
	return replay_begin(replay, rank) + replay->ranks[rank].late_host +
	       replay->ranks[rank].late_other;
}

/* A step begins: what lay between it and the one before is over. */
FOR_LANES void begin_step(struct replay_state *state, const struct np_replay_mark *mark,
			  size_t lanes)
{
	uint32_t rank = state->replay->cell_ranks[mark->cell];
	np_ns *time = &state->time[rank * lanes];

	for (size_t i = 0; i < lanes; i++) {
		/* Time that was not captured is as it was in all scenarios. */
		const float *factor = state->scenarios[i]->work && mark->room != BEGIN_GAP
					      ? state->scenarios[i]->work[mark->cell]
					      : as_it_was;

		for (int kind = 0; kind < MARK_WORKS - 1; kind++)
			time[i] += scaled(mark->work[kind], factor[kind]);
		time[i] += scaled(mark->work[MARK_WORKS - 1], factor[NP_WORK_BETWEEN]);
		if (mark->room == BEGIN_TO)
			state->iterated[i] += time[i];
		else if (mark->room == BEGIN_FROM || mark->room == BEGIN_FIRST)
			state->iterated[i] -= time[i];
		if (mark->room == BEGIN_TO)
			state->last[rank * lanes + i] = time[i];
		else if (mark->room == BEGIN_FIRST)
			state->first[rank * lanes + i] = time[i];
	}
	if (lanes == 1 && state->reached)
		state->reached[state->next_mark] = *time;
}

/* --- instances ------------------------------------------------------------------------------- */

FOR_LANES np_ns transfer(const struct replay_state *state, uint32_t instance, np_ns after,
			 size_t lane)
{
	const float *factors = state->scenarios[lane]->transfer;

	return factors && after > 0 ? scaled(after, factors[instance]) : after;
}

/* A receive ends when the message has come, and not before it has been taken out of the buffer. */
FOR_LANES void end_buffered(const struct replay_state *state, const struct np_replay_mark *mark,
			    const struct np_replay_member *member, const np_ns *sender,
			    size_t lanes)
{
	np_ns *room = &state->room[(size_t)member->room * lanes];

	for (size_t i = 0; i < lanes; i++) {
		np_ns own = room[i] + transfer(state, mark->instance, member->after_low, i);
		np_ns sent = sender[i] + transfer(state, mark->instance, member->after_high, i);

		room[i] = own > sent ? own : sent;
	}
}

/* The member has started at `room`, and ends. */
FOR_LANES void end_member(const struct replay_state *state, const struct np_replay_mark *mark,
			  const struct np_replay_member *member, const np_ns *last,
			  const np_ns *root, size_t lanes)
{
	bool changed = state->instance_changed && state->instance_changed[mark->instance];
	np_ns after = member_after(member);
	np_ns *room = &state->room[(size_t)member->room * lanes];

	if (member->wait == WAIT_BUFFER) {
		end_buffered(state, mark, member, root, lanes);
		return;
	}
	for (size_t i = 0; i < lanes; i++) {
		np_ns from = member->wait == WAIT_LAST ? last[i] : room[i];
		np_ns end;

		if (member->wait == WAIT_ROOT && root[i] > from)
			from = root[i];
		end = from + (changed ? transfer(state, mark->instance, after, i) : after);
		room[i] = end > room[i] ? end : room[i];
	}
}

FOR_LANES void end_instance(struct replay_state *state, const struct np_replay_mark *mark,
			    size_t lanes)
{
	const struct np_replay_member *members = &state->replay->members.item[state->next_member];
	uint32_t slot = state->replay->align->instances.item[mark->instance].first;
	/* The last may be one that was not profiled. */
	uint32_t recorded = state->replay->align->instances.item[mark->instance].count;
	np_ns last[NP_REPLAY_LANES] = { 0 };
	np_ns root[NP_REPLAY_LANES] = { 0 };

	for (uint32_t i = 0; i < mark->count; i++)
		raise(last, &state->room[(size_t)members[i].room * lanes], 0, lanes);
	if (mark->root != NO_ROOM)
		memcpy(root, &state->room[mark->root * lanes], lanes * sizeof(*root));
	for (uint32_t i = 0; i < mark->count; i++) {
		if (lanes == 1 && state->start && i < recorded)
			state->start[slot + i] = state->room[members[i].room];
		end_member(state, mark, &members[i], last, root, lanes);
		if (lanes == 1 && state->start && i < recorded)
			state->end[slot + i] = state->room[members[i].room];
	}
	state->next_member += mark->count;
}

/* --- scenarios ----------------------------------------------------------------------------------
 */

FOR_LANES void run_marks(struct replay_state *state, size_t lanes)
{
	const struct np_replay *replay = state->replay;

	for (; state->next_mark < replay->marks.count; state->next_mark++) {
		const struct np_replay_mark *mark = &replay->marks.item[state->next_mark];

		if (mark->kind == MARK_DONE)
			end_instance(state, mark, lanes);
		else if (mark->kind == MARK_QUEUE)
			queue(state, mark, lanes);
		else if (mark->kind == MARK_BEGIN)
			begin_step(state, mark, lanes);
		else
			go_on(state, mark, lanes);
	}
}

static void run_one(struct replay_state *state)
{
	run_marks(state, 1);
}

static void run_side_by_side(struct replay_state *state)
{
	run_marks(state, NP_REPLAY_LANES);
}

np_ns replay_total(const struct replay_state *state, size_t lane)
{
	np_ns last = 1;

	for (size_t i = 0; i < state->replay->align->run->sources.count; i++) {
		np_ns time = state->time[i * state->lanes + lane];

		if (state->replay->ranks[i].any && time > last)
			last = time;
	}
	return last - 1;
}

void replay_release(struct replay_state *state)
{
	free(state->time);
	free(state->first);
	free(state->last);
	free(state->room);
	free(state->cell_changed);
	free(state->instance_changed);
	free(state->reached);
	free(state->start);
	free(state->end);
	free(state->cell_end);
}

static int begin(struct replay_state *state, const struct np_replay *replay, size_t lanes,
		 struct np_err *err)
{
	size_t ranks = replay->align->run->sources.count;

	state->replay = replay;
	state->lanes = lanes;
	state->time = malloc((ranks + 1) * lanes * sizeof(*state->time));
	state->first = calloc((ranks + 1) * lanes, sizeof(*state->first));
	state->last = calloc((ranks + 1) * lanes, sizeof(*state->last));
	state->rooms = (size_t)replay->rooms + 1;
	state->room = calloc(state->rooms * lanes, sizeof(*state->room));
	if (!state->time || !state->first || !state->last || !state->room)
		return np_fail_nomem(err, "the replay");
	for (size_t i = 0; i < ranks * lanes; i++)
		state->time[i] = replay_begin(replay, (uint32_t)(i / lanes));
	for (size_t i = 0; i < lanes; i++)
		state->scenarios[i] = &untouched;
	return NP_OK;
}

int replay_write_down(struct replay_state *state, const struct np_replay *replay,
		      struct np_err *err)
{
	size_t slots = (size_t)replay->align->op_count + 1;

	state->reached = malloc((replay->marks.count + 1) * sizeof(*state->reached));
	state->start = calloc(slots, sizeof(*state->start));
	state->end = calloc(slots, sizeof(*state->end));
	if (!state->reached || !state->start || !state->end)
		return np_fail_nomem(err, "the replay");
	return NP_OK;
}

static void see_changes(struct replay_state *state, const struct np_scenario *scenario)
{
	const struct np_replay *replay = state->replay;

	for (size_t i = 0; scenario->work && i < replay->cells.count; i++) {
		for (int kind = 0; kind < NP_WORK_KINDS; kind++)
			state->cell_changed[i] |= scenario->work[i][kind] != 1.0F;
	}
	for (size_t i = 0; scenario->transfer && i < replay->align->instances.count; i++)
		state->instance_changed[i] |= scenario->transfer[i] != 1.0F;
}

static int find_changes(struct replay_state *state, struct np_err *err)
{
	const struct np_replay *replay = state->replay;

	state->cell_changed = calloc(replay->cells.count + 1, sizeof(bool));
	state->instance_changed = calloc(replay->align->instances.count + 1, sizeof(bool));
	if (!state->cell_changed || !state->instance_changed)
		return np_fail_nomem(err, "the replay");
	for (size_t i = 0; i < state->lanes; i++)
		see_changes(state, state->scenarios[i]);
	return NP_OK;
}

int replay_run(struct replay_state *state, const struct np_replay *replay,
	       const struct np_scenario *scenario, struct np_err *err)
{
	int rc = begin(state, replay, 1, err);

	if (rc == NP_OK && scenario) {
		state->scenarios[0] = scenario;
		rc = find_changes(state, err);
	}
	if (rc == NP_OK)
		run_one(state);
	return rc;
}

int replay_run_on(struct replay_state *state, struct np_err *err)
{
	size_t rooms = (size_t)state->replay->rooms + 1;
	np_ns *more = realloc(state->room, rooms * sizeof(*more));

	if (!more)
		return np_fail_nomem(err, "the replay");
	for (size_t i = state->rooms; i < rooms; i++)
		more[i] = 0;
	state->room = more;
	state->rooms = rooms;
	run_one(state);
	return NP_OK;
}

/*
 * A rank that began late begins earlier now, and may only wait all the longer for others: who
 * begins earlier does not make the step longer by that. So much is not counted.
 */
static np_ns begun_too_early(const struct replay_state *state, uint32_t rank, size_t lane)
{
	const struct np_replay *replay = state->replay;
	np_ns from = state->first[rank * state->lanes + lane];
	np_ns to = state->last[rank * state->lanes + lane];
	np_ns most = replay->ranks[rank].iterated;

	if (most == NP_UNKNOWN)
		return 0;
	if (to - replay_first_start(replay, rank) > most)
		most = to - replay_first_start(replay, rank);
	return to - from > most ? to - from - most : 0;
}

/*
 * Likewise a rank that begins its last step earlier now and ends it no earlier: all that it does
 * there is wait for others, whose steps are as long as they were.
 */
static np_ns begun_in_vain(const struct replay_state *state, uint32_t rank, size_t lane)
{
	const struct np_replay *replay = state->replay;
	const struct np_replay_rank *was = &replay->ranks[rank];
	size_t at = rank * state->lanes + lane;
	np_ns earlier;
	np_ns ended;

	if (was->iterated == NP_UNKNOWN)
		return 0;
	earlier = was->iterated - (state->last[at] - state->first[at]);
	/* Times in the replay are + 1. */
	ended = was->end - replay->first - (state->time[at] - 1);
	return earlier > 0 && earlier > ended ? earlier - (ended > 0 ? ended : 0) : 0;
}

static void take_result(const struct replay_state *state, size_t lane, struct np_replay_result *ret)
{
	const struct np_replay *replay = state->replay;
	np_ns iterated = state->iterated[lane];

	ret->total = replay_total(state, lane);
	for (uint32_t i = 0; i < replay->align->run->sources.count; i++)
		iterated += begun_in_vain(state, i, lane) - begun_too_early(state, i, lane);
	if (replay->iterations > 0)
		ret->step = iterated / (np_ns)replay->iterations;
	else
		ret->step = replay_span(replay, ret->total);
	ret->forced = replay->forced;
}

int np_replay_run(const struct np_replay *replay, const struct np_scenario *scenario,
		  struct np_replay_result *ret, struct np_err *err)
{
	struct replay_state state = { 0 };
	int rc = replay_run(&state, replay, scenario, err);

	if (rc == NP_OK)
		take_result(&state, 0, ret);
	replay_release(&state);
	return rc;
}

/* At most as many as there are lanes; those left over run the scenario as it was. */
static int run_few(const struct np_replay *replay, const struct np_scenario *scenarios,
		   size_t count, struct np_replay_result *ret, struct np_err *err)
{
	struct replay_state state = { 0 };
	int rc = begin(&state, replay, NP_REPLAY_LANES, err);

	for (size_t i = 0; i < count; i++)
		state.scenarios[i] = &scenarios[i];
	if (rc == NP_OK)
		rc = find_changes(&state, err);
	if (rc == NP_OK)
		run_side_by_side(&state);
	for (size_t i = 0; i < count && rc == NP_OK; i++)
		take_result(&state, i, &ret[i]);
	replay_release(&state);
	return rc;
}

int np_replay_run_many(const struct np_replay *replay, const struct np_scenario *scenarios,
		       size_t count, struct np_replay_result *ret, struct np_err *err)
{
	int rc = NP_OK;

	for (size_t i = 0; i < count && rc == NP_OK; i += NP_REPLAY_LANES) {
		size_t few = count - i < NP_REPLAY_LANES ? count - i : NP_REPLAY_LANES;

		rc = few == 1 ? np_replay_run(replay, &scenarios[i], &ret[i], err)
			      : run_few(replay, &scenarios[i], few, &ret[i], err);
	}
	return rc;
}

int np_replay_step_times(const struct np_replay *replay, const struct np_scenario *scenario,
			 np_ns *ret, struct np_err *err)
{
	struct replay_state state = { 0 };
	size_t steps = replay->cluster->steps.count;
	np_ns before = 1;
	int rc;

	state.cell_end = calloc(replay->cells.count + 1, sizeof(*state.cell_end));
	rc = state.cell_end ? replay_run(&state, replay, scenario, err)
			    : np_fail_nomem(err, "the replay");
	for (size_t i = 0; i < steps; i++)
		ret[i] = 0;
	/* First the end of each, then what lies between the ends. */
	for (size_t i = 0; i < replay->cells.count && rc == NP_OK; i++) {
		size_t step = np_cluster_step(replay->cluster, replay->cells.item[i].step);

		if (step != SIZE_MAX && state.cell_end[i] > ret[step])
			ret[step] = state.cell_end[i];
	}
	for (size_t i = 0; i < steps && rc == NP_OK; i++) {
		np_ns end = ret[i] > before ? ret[i] : before;

		ret[i] = end - before;
		before = end;
	}
	replay_release(&state);
	return rc;
}
