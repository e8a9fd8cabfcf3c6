/* SPDX-License-Identifier: Apache-2.0 */
/* From a recorded run to a replay: the drafts of all ranks, settled and brought into one order. */
#include "npuprof/replay.h"

#include "replay_draft.h"

#include "npuprof/activity.h"
#include "npuprof/align.h"
#include "npuprof/late_begin.h"
#include "npuprof/rank.h"
#include "npuprof/spans.h"
#include "npuprof/workers.h"

#include <math.h>

void np_replay_free(struct np_replay *replay)
{
	if (!replay)
		return;
	np_vec_release(&replay->cells);
	np_vec_release(&replay->marks);
	free(replay->ranks);
	free(replay->ops);
	np_vec_release(&replay->settled);
	np_vec_release(&replay->absent);
	free(replay->stages);
	free(replay->left_out);
	free(replay->mark_slots);
	np_vec_release(&replay->members);
	np_vec_release(&replay->alone);
	free(replay->cell_ranks);
	free(replay);
}

static void np_replay_freep(struct np_replay **replay)
{
	np_replay_free(*replay);
}

/* A replay while it is built: ranks, and communicators, on several threads. */
struct building {
	struct np_replay *replay;
	const struct np_clock *clock;
	size_t ranks;
	struct np_workers workers;
	struct rank_draft *drafts; /* by rank: their cells are kept */
	rank_marks *marks;         /* by rank */
	double *shares;            /* by slot: replay_see_starts() */
	np_ns *surplus;            /* by slot of an exchange of tokens; NULL without any */
	struct stood *stood;       /* by slot */
	struct np_err *errors;     /* by job */
};

/* --- stages ---------------------------------------------------------------------------------- */

/* From communicators, else by place in the parallel dimensions: a stage may be a single rank. */
int np_replay_stages(const struct np_cluster *cluster, int32_t **ret, size_t *ret_count,
		     struct np_err *err)
{
	const struct np_run *run = cluster->run;
	bool found = cluster->stages.count > 0;
	int32_t *stages = malloc((run->sources.count + 1) * sizeof(*stages));
	size_t count = 0;

	if (!stages)
		return np_fail_nomem(err, "the replay");
	for (size_t i = 0; i < run->sources.count; i++) {
		stages[i] = -1;
		if (run->ranks[i])
			stages[i] = found ? np_cluster_stage(cluster, run->ranks[i]->id)
					  : cluster->coordinates[i].pp;
		if (stages[i] >= 0 && (size_t)stages[i] >= count)
			count = (size_t)stages[i] + 1;
	}
	/* A pipeline of one stage is none. */
	for (size_t i = 0; i < run->sources.count && count < 2; i++)
		stages[i] = -1;
	*ret = stages;
	*ret_count = count < 2 ? 0 : count;
	return NP_OK;
}

/* --- operators ------------------------------------------------------------------------------- */

/*
 * How soon behind another an operator starts if that held it up: a launch takes about as long.
 * Files round starts and lengths, so that it may seem to start a little before.
 */
#define RIGHT_BEHIND_NS 20000
#define RIGHT_BEFORE_NS 1000

static void see_instances(struct np_replay *replay)
{
	for (uint32_t i = 0; i < replay->align->instances.count; i++) {
		const struct np_instance *instance = &replay->align->instances.item[i];

		for (uint32_t j = 0; j < instance->count; j++)
			replay->ops[instance->first + j].instance = i;
	}
}

static bool is_right_behind(const struct np_replay *replay, uint32_t slot, uint32_t before)
{
	np_ns gap =
		before == NO_SLOT ? NP_NS_MAX : replay->ops[slot].start - replay->ops[before].end;

	return gap >= -RIGHT_BEFORE_NS && gap <= RIGHT_BEHIND_NS &&
	       replay->ops[before].end <= replay->ops[slot].end;
}

/* So many operators before a message are looked at. */
#define MOST_BEFORE 32

/*
 * Sends have a stream of their own, and so have receives: a message may have queued behind one
 * that started before others of its communicator did. Nobody else does behind that.
 */
static uint32_t message_before(const struct np_replay *replay, uint32_t index, uint32_t op)
{
	const struct np_comm_op *ops = replay->align->run->ranks[index]->ops.item;
	uint32_t slot = np_align_slot(replay->align, index, op);
	uint32_t first = op > MOST_BEFORE ? op - MOST_BEFORE : 0;

	for (uint32_t i = op; i-- > first;) {
		uint32_t before = np_align_slot(replay->align, index, i);
		bool taken = false;

		if (!ops[i].p2p || ops[i].group != ops[op].group || ops[i].type != ops[op].type ||
		    ops[i].step != ops[op].step || !is_right_behind(replay, slot, before))
			continue;
		for (uint32_t j = i + 1; j < op; j++)
			taken |= replay->ops[np_align_slot(replay->align, index, j)].behind ==
				 before;
		if (!taken)
			return before;
	}
	return NO_SLOT;
}

/* When the operators of a rank were, and which of them started right behind another one. */
static int see_ops(const struct building *building, uint32_t index, struct np_err *err)
{
	struct np_replay *replay = building->replay;
	const struct np_rank *rank = replay->align->run->ranks[index];
	uint32_t *last = malloc((rank->groups.count + 1) * sizeof(*last));
	uint8_t *left_out = NULL;
	int rc = last ? replay_left_out(replay, rank, &left_out, err)
		      : np_fail_nomem(err, "the replay");

	if (rc < 0) {
		free(last);
		return rc;
	}
	for (size_t i = 0; i < rank->groups.count; i++)
		last[i] = NO_SLOT;
	for (uint32_t i = 0; i < rank->ops.count; i++) {
		const struct np_comm_op *op = &rank->ops.item[i];
		uint32_t slot = np_align_slot(replay->align, index, i);
		uint32_t before = last[op->group];
		struct np_replay_op *own = &replay->ops[slot];

		own->start = np_clock_time(building->clock, index, op->start);
		own->end = np_clock_time(building->clock, index, op->end);
		own->behind = is_right_behind(replay, slot, before) ? before : NO_SLOT;
		if (own->behind == NO_SLOT && op->p2p)
			own->behind = message_before(replay, index, i);
		/* It cannot have started before what held it up had ended. */
		if (own->behind != NO_SLOT && own->start < replay->ops[own->behind].end)
			own->start = replay->ops[own->behind].end;
		building->shares[slot] = (double)NAN;
		if (left_out && op->step != NP_NO_STEP && (left_out[op->step] & NP_STEP_LEFT_OUT))
			own->behind = NO_SLOT;
		else
			last[op->group] = slot;
	}
	free(left_out);
	free(last);
	return NP_OK;
}

/* --- cells ----------------------------------------------------------------------------------- */

/*
 * The first of two drafts of a rank: for its cells, and for how far it had got at
 * every start. Marks of all ranks at once would take more memory than all else.
 */
static void look_at_rank(void *context, size_t index)
{
	struct building *building = context;
	const struct np_align *align = building->replay->align;
	struct rank_draft *draft = &building->drafts[index];
	struct np_err *err = &building->errors[index];
	int rc;

	draft->begin = NP_UNKNOWN;
	if (!align->run->ranks[index])
		return;
	rc = see_ops(building, (uint32_t)index, err);
	if (rc == NP_OK)
		rc = replay_draft(building->replay, (uint32_t)index, NULL, building->stood, draft,
				  err);
	if (rc == NP_OK)
		replay_see_starts(draft, building->shares);
	if (rc == NP_OK && draft->timed)
		replay_see_stops(draft, building->stood);
	np_vec_release(&draft->marks);
}

static int join_cells(struct building *building, struct np_err *err)
{
	struct np_replay *replay = building->replay;

	for (uint32_t i = 0; i < building->ranks; i++) {
		struct rank_draft *draft = &building->drafts[i];

		replay->ranks[i].first_cell = (uint32_t)replay->cells.count;
		replay->ranks[i].any = draft->cells.count > 0;
		replay->timed += draft->timed;
		for (size_t j = 0; j < draft->cells.count; j++) {
			struct np_replay_cell *cell = np_vec_add(&replay->cells, err);

			if (!cell)
				return NP_E_NOMEM;
			*cell = draft->cells.item[j];
		}
	}
	return NP_OK;
}

/*
 * Captures of chosen steps: from the last end of one to the first begin of the next is what
 * nobody recorded, and no part of a step.
 */
static int see_uncaptured(const struct building *building, struct np_err *err)
{
	const struct np_run *run = building->replay->align->run;
	NP_CLEANUP(np_spans_freep) struct np_spans *steps = np_spans_new();
	NP_VEC(struct np_span) spans = { 0 };
	int rc = steps ? NP_OK : np_fail_nomem(err, "the replay");

	for (uint32_t i = 0; i < building->ranks && rc == NP_OK; i++) {
		const struct np_rank *rank = run->ranks[i];

		for (size_t j = 0; rank && j < rank->activity.cells.count && rc == NP_OK; j++) {
			const struct np_activity_cell *cell = &rank->activity.cells.item[j];
			struct np_span *span;

			if (!np_replay_has_step(building->replay,
						rank->steps.item[rank->times.item[j].step].id))
				continue;
			span = np_vec_add(&spans, err);
			if (!span)
				rc = NP_E_NOMEM;
			else
				*span = (struct np_span){
					np_clock_time(building->clock, i, cell->begin),
					np_clock_time(building->clock, i, cell->end)
				};
		}
	}
	if (rc == NP_OK)
		rc = np_spans_add_all(steps, spans.item, spans.count, err);
	np_vec_release(&spans);
	if (rc == NP_OK && np_spans_count(steps) > 0)
		building->replay->uncaptured = np_spans_get(steps, np_spans_count(steps) - 1).end -
					       np_spans_get(steps, 0).begin - np_spans_total(steps);
	return rc;
}

static int see_times(const struct building *building, struct np_err *err)
{
	struct np_replay *replay = building->replay;
	np_ns first = NP_NS_MAX;
	np_ns last = -NP_NS_MAX;
	np_ns iterated = 0;
	int rc = NP_OK;

	for (uint32_t i = 0; i < building->ranks; i++) {
		struct np_replay_rank *rank = &replay->ranks[i];

		rank->begin = NP_UNKNOWN;
		rank->iterated = NP_UNKNOWN;
		if (building->drafts[i].begin == NP_UNKNOWN)
			continue;
		rank->begin = np_clock_time(building->clock, i, building->drafts[i].begin);
		rank->end = np_clock_time(building->clock, i, building->drafts[i].end);
		first = rank->begin < first ? rank->begin : first;
		last = rank->end > last ? rank->end : last;
		rank->iterated = building->drafts[i].reached;
		replay->iterations += building->drafts[i].iterations;
		iterated += building->drafts[i].iterated;
	}
	replay->first = first == NP_NS_MAX ? 0 : first;
	replay->observed = last > first ? last - first : 0;
	if (replay->iterations == 0 && replay->steps > 1)
		rc = see_uncaptured(building, err);
	replay->observed_step = replay->iterations > 0 ? iterated / (np_ns)replay->iterations
						       : replay_span(replay, replay->observed);
	return rc;
}

/* --- late begins ----------------------------------------------------------------------------- */

/*
 * The first step that all have was for some not the first: that they begin it later than others
 * is what they did before, and nothing repairs it.
 */
static void begin_within(const struct building *building)
{
	struct np_replay *replay = building->replay;
	const struct np_clock_rank *clocks = building->clock->ranks;

	for (uint32_t i = 0; i < building->ranks; i++) {
		struct np_replay_rank *rank = &replay->ranks[i];
		np_ns first = rank->begin;

		if (!rank->any || rank->begin == NP_UNKNOWN ||
		    clocks[i].component == NP_CLOCK_ALONE)
			continue;
		for (uint32_t j = 0; j < building->ranks; j++) {
			/* Those before it have moved already. */
			np_ns begin = replay->ranks[j].begin;

			if (replay->ranks[j].any && begin != NP_UNKNOWN &&
			    clocks[j].component == clocks[i].component && begin < first)
				first = begin;
		}
		rank->late_other = rank->begin - first;
		rank->begin = first;
	}
}

static int see_late_begins(const struct building *building, struct np_err *err)
{
	struct np_replay *replay = building->replay;
	struct np_late_begin *late = NULL;
	int rc;

	if (replay->left_out) {
		begin_within(building);
		return NP_OK;
	}
	rc = np_late_begin_measure(replay->align->run, building->clock, replay->stages, &late, err);

	for (uint32_t i = 0; i < building->ranks && rc == NP_OK; i++) {
		struct np_replay_rank *rank = &replay->ranks[i];

		if (!rank->any || rank->begin == NP_UNKNOWN || late[i].begin == NP_UNKNOWN)
			continue;
		rank->begin = late[i].begin;
		rank->late_host = late[i].host;
		rank->late_other = late[i].other + late[i].unknown;
	}
	free(late);
	return rc;
}

/* --- marks ----------------------------------------------------------------------------------- */

/* Work that is longer than a mark can hold goes into marks before it. */
static int add_mark(rank_marks *list, const struct draft *draft, uint32_t first_cell,
		    np_ns work[MARK_WORKS], struct np_err *err)
{
	struct np_replay_mark *mark;
	bool more;

	do {
		mark = np_vec_add(list, err);
		if (!mark)
			return NP_E_NOMEM;
		mark->cell = (first_cell + draft->cell) & 0x1fffffff;
		/* What is between steps is another kind than surplus. */
		mark->kind = draft->kind == MARK_BEGIN ? MARK_BEGIN : MARK_WORK;
		mark->slot = 0;
		if (draft->kind == MARK_BEGIN)
			mark->slot = draft->slot == BEGIN_GAP ? BEGIN_GAP : BEGIN_NOT;
		more = false;
		for (int i = 0; i < MARK_WORKS; i++) {
			np_ns part = work[i] > UINT32_MAX ? UINT32_MAX : work[i];

			mark->work[i] = part < 0 ? 0 : (uint32_t)part;
			work[i] -= part;
			more |= work[i] > 0;
		}
	} while (more);
	mark->kind = draft->kind & 7;
	mark->slot = draft->slot;
	return NP_OK;
}

/* The operator starts later than the rank has come there. */
static int add_lag(rank_marks *list, const struct draft *draft, uint32_t first_cell,
		   struct np_err *err)
{
	struct np_replay_mark *mark = np_vec_add(list, err);

	if (!mark)
		return NP_E_NOMEM;
	mark->cell = (first_cell + draft->cell) & 0x1fffffff;
	mark->kind = MARK_QUEUE;
	mark->slot = draft->slot;
	mark->gap = draft->lag > UINT32_MAX ? UINT32_MAX : (uint32_t)draft->lag;
	return NP_OK;
}

static int keep_marks(const drafts *from, uint32_t first_cell, rank_marks *ret, struct np_err *err)
{
	np_ns done[NP_WORK_OTHER] = { 0 };
	np_ns place = 0;
	size_t count = from->count + 1;
	int rc = NP_OK;

	for (size_t i = 0; i < from->count; i++)
		count += from->item[i].lag > 0;
	ret->item = malloc(count * sizeof(*ret->item));
	if (!ret->item)
		return np_fail_nomem(err, "the replay");
	ret->capacity = count;
	for (size_t i = 0; i < from->count && rc == NP_OK; i++) {
		const struct draft *draft = &from->item[i];
		np_ns work[MARK_WORKS] = { 0 };

		work[MARK_WORKS - 1] = draft->between;
		work[NP_WORK_OTHER] = draft->place - place - draft->between;
		place = draft->place;
		for (int kind = 0; kind < NP_WORK_OTHER; kind++) {
			work[kind] = draft->at[kind] - done[kind];
			work[NP_WORK_OTHER] -= work[kind];
			done[kind] = draft->at[kind];
		}
		rc = add_mark(ret, draft, first_cell, work, err);
		if (rc == NP_OK && draft->lag > 0)
			rc = add_lag(ret, draft, first_cell, err);
	}
	return rc;
}

/* What a rank must have computed more of its step than another to have gone on where that stood. */
#define WENT_ON 0.001

/* So many others are asked, at most. */
#define ASKED 64

/* What a member had computed of its step from its start until it stood still. */
static double computed(const struct building *building, uint32_t slot)
{
	return (double)building->stood[slot].share - building->shares[slot];
}

/* Did a member compute on while another one stood still for their operator? */
static bool went_on(const struct building *building, uint32_t slot, uint32_t other)
{
	return building->stood[slot].how == STOOD_NOT ||
	       computed(building, slot) > computed(building, other) + WENT_ON;
}

/*
 * Members that show an operator while their host launches nothing stand still for
 * their host and not for the operator, if most others went on at that place.
 */
static void settle_stops(const struct building *building, const struct np_instance *instance)
{
	const struct np_member *members = building->replay->align->members;
	uint32_t last = instance->first + instance->count;
	uint32_t stride = instance->count / ASKED + 1;

	for (uint32_t i = instance->first; i < last; i++) {
		struct stood *own = &building->stood[i];
		size_t further = 0;
		size_t others = 0;

		for (uint32_t j = instance->first; own->how == STOOD_LATE && j < last;
		     j += stride) {
			if (j == i || !building->drafts[members[j].rank].timed)
				continue;
			others++;
			further += went_on(building, j, i);
		}
		if (2 * further > others)
			own->how = STOOD_FOR_HOST;
	}
}

static void settle_communicator(void *context, size_t index)
{
	const struct building *building = context;
	const struct np_replay *replay = building->replay;
	const struct np_align_communicator *each = &replay->align->communicators.item[index];

	/* A failure stays in the list. */
	(void)!replay_settle_starts(replay, each, building->shares, &building->errors[index]);
	for (uint32_t i = each->first; i < each->first + each->count; i++) {
		/* One end of a message may wait and the other not. */
		if (replay->align->instances.item[i].rule == NP_RULE_ALL)
			settle_stops(building, &replay->align->instances.item[i]);
	}
}

/* --- experts --------------------------------------------------------------------------------- */

static int see_experts(struct building *building, const struct np_experts *experts,
		       struct np_err *err)
{
	const struct np_align *align = building->replay->align;

	if (!experts || experts->exchanges.count == 0)
		return NP_OK;
	building->surplus = calloc((size_t)align->op_count + 1, sizeof(*building->surplus));
	if (!building->surplus)
		return np_fail_nomem(err, "the replay");
	for (size_t i = 0; i < experts->exchanges.count; i++) {
		const struct np_expert_exchange *each = &experts->exchanges.item[i];

		building->surplus[np_align_slot(align, each->rank, each->op)] = each->surplus;
	}
	return NP_OK;
}

/* The cells know what tokens cost them, or spared them. */
static void see_tokens(const struct building *building)
{
	const struct np_replay *replay = building->replay;
	const struct np_run *run = replay->align->run;

	for (uint32_t i = 0; i < building->ranks && building->surplus; i++) {
		const struct np_rank *rank = run->ranks[i];
		size_t end = i + 1 < building->ranks ? replay->ranks[i + 1].first_cell
						     : replay->cells.count;
		size_t at = replay->ranks[i].first_cell;

		/* Both are in the order of time. */
		for (uint32_t j = 0; rank && j < rank->ops.count && at < end; j++) {
			np_ns surplus = building->surplus[np_align_slot(replay->align, i, j)];
			uint32_t step = rank->ops.item[j].step;
			size_t next = at;

			if (surplus == 0 || step == NP_NO_STEP)
				continue;
			while (next < end &&
			       replay->cells.item[next].step != rank->steps.item[step].id)
				next++;
			if (next == end)
				continue;
			at = next;
			replay->cells.item[at].tokens += surplus;
		}
	}
}

static bool computes(const struct np_replay_mark *mark)
{
	return mark->kind != MARK_QUEUE && mark->kind != MARK_BEGIN;
}

/* So much of the computing of these marks is surplus, in proportion. */
static void split_computing(struct np_replay_mark *marks, size_t count, np_ns surplus)
{
	double all = 0;
	double part;

	for (size_t i = 0; i < count; i++)
		all += computes(&marks[i]) ? marks[i].work[NP_WORK_COMPUTE] : 0;
	part = all > 0 ? (double)surplus / all : 0;
	for (size_t i = 0; i < count; i++) {
		uint32_t work = marks[i].work[NP_WORK_COMPUTE];

		if (!computes(&marks[i]))
			continue;
		marks[i].work[NP_WORK_SURPLUS] = part < 1 ? (uint32_t)(work * part) : work;
		marks[i].work[NP_WORK_COMPUTE] -= marks[i].work[NP_WORK_SURPLUS];
	}
}

/* Experts compute from the end of an exchange to the start of the next of its communicator. */
static void mark_surplus(const struct building *building, rank_marks *marks)
{
	const struct np_replay *replay = building->replay;
	const struct np_instance *instances = replay->align->instances.item;
	uint32_t open = NO_SLOT;
	size_t from = 0;

	for (size_t i = 0; i < marks->count; i++) {
		const struct np_replay_mark *mark = &marks->item[i];
		uint32_t slot = mark->slot;

		if (mark->kind == MARK_BLOCK && slot == open)
			from = i + 1;
		if (mark->kind != MARK_START)
			continue;
		if (open != NO_SLOT && instances[replay->ops[slot].instance].communicator ==
					       instances[replay->ops[open].instance].communicator) {
			split_computing(&marks->item[from], i + 1 - from, building->surplus[open]);
			open = NO_SLOT;
		}
		if (building->surplus[slot] > 0) {
			open = slot;
			from = i + 1;
		}
	}
}

/* The second draft of a rank: for its marks. */
static void mark_rank(void *context, size_t index)
{
	struct building *building = context;
	const struct np_replay *replay = building->replay;
	struct rank_draft draft = { 0 };
	struct np_err *err = &building->errors[index];
	int rc = replay_draft(replay, (uint32_t)index, &replay->ranks[index], building->stood,
			      &draft, err);

	if (rc == NP_OK)
		rc = replay_move_starts(replay, building->shares, &draft, err);
	if (rc == NP_OK)
		rc = keep_marks(&draft.marks, replay->ranks[index].first_cell,
				&building->marks[index], err);
	if (rc == NP_OK && building->surplus)
		mark_surplus(building, &building->marks[index]);
	for (size_t i = 0; i < draft.cells.count && rc == NP_OK; i++)
		replay->cells.item[replay->ranks[index].first_cell + i] = draft.cells.item[i];
	rank_draft_release(&draft);
}

/* --- all of it ------------------------------------------------------------------------------- */

static int run_jobs(struct building *building, size_t count, np_job *job, struct np_err *err)
{
	int rc = NP_OK;

	building->errors = calloc(count + 1, sizeof(*building->errors));
	if (!building->errors)
		return np_fail_nomem(err, "the replay");
	np_workers_run(&building->workers, count, job, building);
	for (size_t i = 0; i < count && rc == NP_OK; i++) {
		if (building->errors[i].code < 0)
			rc = np_fail(err, building->errors[i].code, "%s", building->errors[i].text);
	}
	free(building->errors);
	return rc;
}

/* What the marks were made of. */
static void release_drafts(struct building *building)
{
	for (size_t i = 0; building->drafts && i < building->ranks; i++)
		rank_draft_release(&building->drafts[i]);
	free(NP_STEAL(building->drafts));
	free(NP_STEAL(building->shares));
	free(NP_STEAL(building->surplus));
	free(NP_STEAL(building->stood));
}

static int build(struct building *building, struct np_err *err)
{
	struct np_replay *replay = building->replay;
	int rc;

	see_instances(replay);
	rc = np_replay_stages(replay->cluster, &replay->stages, &replay->stage_count, err);
	if (rc == NP_OK)
		rc = replay_find_steps(replay, err);
	if (rc == NP_OK)
		rc = run_jobs(building, building->ranks, look_at_rank, err);
	if (rc == NP_OK)
		rc = join_cells(building, err);
	if (rc == NP_OK)
		rc = see_times(building, err);
	if (rc == NP_OK)
		rc = replay_settle_members(replay, err);
	if (rc == NP_OK)
		rc = see_late_begins(building, err);
	if (rc == NP_OK)
		rc = run_jobs(building, replay->align->communicators.count, settle_communicator,
			      err);
	if (rc == NP_OK)
		rc = run_jobs(building, building->ranks, mark_rank, err);
	if (rc == NP_OK)
		see_tokens(building);
	/* Experts have a surplus of their own. */
	if (rc == NP_OK && !building->surplus)
		rc = replay_place_excess(replay, building->marks, building->ranks, err);
	if (rc < 0)
		return rc;
	release_drafts(building);
	return replay_order(replay, building->marks, err);
}

static void building_release(struct building *building)
{
	release_drafts(building);
	for (size_t i = 0; building->marks && i < building->ranks; i++)
		np_vec_release(&building->marks[i]);
	free(building->marks);
}

int np_replay_build(const struct np_cluster *cluster, const struct np_align *align,
		    const struct np_clock *clock, const struct np_experts *experts, size_t threads,
		    struct np_replay **ret, struct np_err *err)
{
	NP_CLEANUP(np_replay_freep) struct np_replay *replay = calloc(1, sizeof(*replay));
	struct building building = { .replay = replay,
				     .clock = clock,
				     .ranks = align->run->sources.count,
				     .workers = { .threads = threads } };
	size_t slots = (size_t)align->op_count + 1;
	int rc;

	if (!replay)
		return np_fail_nomem(err, "the replay");
	replay->cluster = cluster;
	replay->align = align;
	replay->steps = cluster->steps.count;
	replay->ranks = calloc(building.ranks + 1, sizeof(*replay->ranks));
	replay->ops = malloc(slots * sizeof(*replay->ops));
	building.drafts = calloc(building.ranks + 1, sizeof(*building.drafts));
	building.marks = calloc(building.ranks + 1, sizeof(*building.marks));
	building.shares = malloc(slots * sizeof(*building.shares));
	building.stood = calloc(slots, sizeof(*building.stood));
	rc = replay->ranks && replay->ops && building.drafts && building.marks && building.shares &&
			     building.stood
		     ? see_experts(&building, experts, err)
		     : np_fail_nomem(err, "the replay");
	if (rc == NP_OK)
		rc = build(&building, err);
	building_release(&building);
	if (rc == NP_OK)
		*ret = NP_STEAL(replay);
	return rc;
}
