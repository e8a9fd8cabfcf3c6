/* SPDX-License-Identifier: Apache-2.0 */
#include "replay_private.h"

#include <math.h>

/* How soon behind another an operator starts if that held it up: a launch takes about as long. */
#define RIGHT_BEHIND_NS 20000

/* Where the start of an operator is in the draft of its rank. */
struct place {
	uint32_t rank;
	uint32_t draft;
};

/* A start that belongs somewhere else. */
struct move {
	struct place place;
	np_ns target;
	np_ns at[NP_WORK_OTHER];
};

struct starts {
	struct np_replay *replay;
	drafts *all;
	struct place *places; /* by slot */
	np_ns *cell_begin;    /* by cell: work done when it began */
	NP_VEC(double)
	known; /* of the communicator at hand, by instance: how far its ranks had got */
	NP_VEC(struct move) moves;
	struct np_err *err;
};

static np_ns cell_total(const struct np_replay_cell *cell)
{
	return cell->work[NP_WORK_COMPUTE] + cell->work[NP_WORK_HOST] + cell->work[NP_WORK_OTHER];
}

/* How much of the work of its step a rank had done when the operator started. */
static double share_done(const struct starts *starts, uint32_t slot)
{
	const struct place *place = &starts->places[slot];
	const struct draft *draft;
	np_ns total;

	if (place->rank == UINT32_MAX)
		return (double)NAN;
	draft = &starts->all[place->rank].item[place->draft];
	total = cell_total(&starts->replay->cells.item[draft->cell]);
	if (total <= 0)
		return (double)NAN;
	return (double)(draft->place - starts->cell_begin[draft->cell]) / (double)total;
}

static void find_places(struct starts *starts)
{
	struct np_replay *replay = starts->replay;

	for (uint32_t i = 0; i < replay->align->op_count; i++)
		starts->places[i].rank = UINT32_MAX;
	for (uint32_t rank = 0; rank < replay->align->run->sources.count; rank++) {
		np_ns done = 0;
		uint32_t cell = UINT32_MAX;

		for (uint32_t i = 0; i < starts->all[rank].count; i++) {
			const struct draft *draft = &starts->all[rank].item[i];

			if (draft->cell != cell) {
				cell = draft->cell;
				starts->cell_begin[cell] = done;
			}
			if (draft->kind == MARK_STEP)
				done = draft->place;
			if (draft->kind == MARK_START)
				starts->places[draft->slot] = (struct place){ rank, i };
		}
	}
}

/* Which operators started right behind another of their communicator on their rank. */
static int find_behind(struct np_replay *replay, struct np_err *err)
{
	const struct np_run *run = replay->align->run;

	for (uint32_t index = 0; index < run->sources.count; index++) {
		const struct np_rank *rank = run->ranks[index];
		uint32_t *last;

		if (!rank)
			continue;
		last = malloc((rank->groups.count + 1) * sizeof(*last));
		if (!last)
			return np_fail_nomem(err, "the replay");
		for (size_t i = 0; i < rank->groups.count; i++)
			last[i] = NO_SLOT;
		for (uint32_t i = 0; i < rank->ops.count; i++) {
			uint32_t slot = np_align_slot(replay->align, index, i);
			uint32_t before = last[rank->ops.item[i].group];
			np_ns gap = before == NO_SLOT
					    ? -1
					    : replay->ops[slot].start - replay->ops[before].end;

			replay->ops[slot].behind =
				gap >= 0 && gap <= RIGHT_BEHIND_NS ? before : NO_SLOT;
			last[rank->ops.item[i].group] = slot;
		}
		free(last);
	}
	return NP_OK;
}

/* The least that a member had done which nothing held up; NaN where all were held up. */
static double known_share(const struct starts *starts, const struct np_instance *instance)
{
	double least = (double)NAN;

	for (uint32_t i = 0; i < instance->count; i++) {
		uint32_t slot = instance->first + i;

		if (starts->replay->ops[slot].behind == NO_SLOT)
			least = fmin(least, share_done(starts, slot));
	}
	return least;
}

static double least_share(const struct starts *starts, const struct np_instance *instance)
{
	double least = (double)NAN;

	for (uint32_t i = 0; i < instance->count; i++)
		least = fmin(least, share_done(starts, instance->first + i));
	return least;
}

/* Between two operators of one step of which it is known, it lies evenly. */
static void fill_gaps(struct starts *starts, const struct np_align_communicator *each)
{
	const struct np_instance *instances = &starts->replay->align->instances.item[each->first];
	double *known = starts->known.item;

	for (uint32_t from = 0; from < each->count; from++) {
		uint32_t to = from + 1;
		double upper;

		if (isnan(known[from]))
			continue;
		while (to < each->count && isnan(known[to]) &&
		       instances[to].step == instances[from].step)
			to++;
		if (to == from + 1)
			continue;
		if (to < each->count && instances[to].step == instances[from].step)
			upper = known[to];
		else
			upper = least_share(starts, &instances[--to]);
		for (uint32_t i = from + 1; i <= to; i++) {
			if (isnan(known[i]))
				known[i] = known[from] + (upper - known[from]) *
								 (double)(i - from) /
								 (double)(to - from);
		}
	}
}

/* What a rank had done of each kind of work at a place. */
static void interpolate(const drafts *marks, struct move *move)
{
	static const np_ns zero[NP_WORK_OTHER] = { 0 };
	const np_ns *from = zero;
	np_ns begin = 0;
	np_ns all;
	size_t low = 0;
	size_t high = marks->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (marks->item[middle].place < move->target)
			low = middle + 1;
		else
			high = middle;
	}
	if (low > 0) {
		from = marks->item[low - 1].at;
		begin = marks->item[low - 1].place;
	}
	all = marks->item[low].place - begin;
	for (int i = 0; i < NP_WORK_OTHER; i++) {
		np_ns more = marks->item[low].at[i] - from[i];

		move->at[i] = from[i];
		if (all > 0)
			move->at[i] += (np_ns)((double)more * (double)(move->target - begin) /
					       (double)all);
	}
}

/* An operator had been ready when so much of the step was done. */
static int move_start(struct starts *starts, uint32_t slot, double share)
{
	const struct place *place = &starts->places[slot];
	const struct draft *draft = &starts->all[place->rank].item[place->draft];
	np_ns total = cell_total(&starts->replay->cells.item[draft->cell]);
	np_ns target = starts->cell_begin[draft->cell] + (np_ns)(share * (double)total);
	struct move *move;

	if (target >= draft->place)
		return NP_OK;
	move = np_vec_add(&starts->moves, starts->err);
	if (!move)
		return NP_E_NOMEM;
	*move = (struct move){ .place = *place, .target = target };
	interpolate(&starts->all[place->rank], move);
	return NP_OK;
}

static int advance(struct starts *starts, const struct np_align_communicator *each)
{
	const struct np_instance *instances = &starts->replay->align->instances.item[each->first];
	int rc = NP_OK;

	starts->known.count = 0;
	for (uint32_t i = 0; i < each->count; i++) {
		double *known = np_vec_add(&starts->known, starts->err);

		if (!known)
			return NP_E_NOMEM;
		*known = known_share(starts, &instances[i]);
	}
	fill_gaps(starts, each);
	for (uint32_t i = 0; i < each->count; i++) {
		for (uint32_t j = 0; j < instances[i].count && rc == NP_OK; j++) {
			uint32_t slot = instances[i].first + j;

			if (starts->replay->ops[slot].behind != NO_SLOT &&
			    !isnan(starts->known.item[i]) &&
			    starts->places[slot].rank != UINT32_MAX)
				rc = move_start(starts, slot, starts->known.item[i]);
		}
	}
	return rc;
}

static int by_place(const void *left, const void *right)
{
	const struct draft *a = left;
	const struct draft *b = right;

	if (a->place != b->place)
		return a->place < b->place ? -1 : 1;
	return (a->order > b->order) - (a->order < b->order);
}

/* Starts are moved when all places have been looked up. */
static int advance_all(struct starts *starts)
{
	struct np_replay *replay = starts->replay;
	int rc = NP_OK;

	for (size_t i = 0; i < replay->align->communicators.count && rc == NP_OK; i++)
		rc = advance(starts, &replay->align->communicators.item[i]);
	for (size_t i = 0; i < starts->moves.count && rc == NP_OK; i++) {
		const struct move *move = &starts->moves.item[i];
		struct draft *draft = &starts->all[move->place.rank].item[move->place.draft];

		memcpy(draft->at, move->at, sizeof(draft->at));
		draft->place = move->target;
		draft->order = 0;
	}
	for (size_t i = 0; i < replay->align->run->sources.count && starts->moves.count > 0; i++) {
		if (starts->all[i].count > 0)
			qsort(starts->all[i].item, starts->all[i].count,
			      sizeof(starts->all[i].item[0]), by_place);
	}
	return rc;
}

int replay_advance_starts(struct np_replay *replay, drafts *all, struct np_err *err)
{
	struct starts starts = { .replay = replay, .all = all, .err = err };
	int rc = find_behind(replay, err);

	starts.places = malloc(((size_t)replay->align->op_count + 1) * sizeof(*starts.places));
	starts.cell_begin = calloc(replay->cells.count + 1, sizeof(*starts.cell_begin));
	if (rc == NP_OK && (!starts.places || !starts.cell_begin))
		rc = np_fail_nomem(err, "the replay");
	if (rc == NP_OK) {
		find_places(&starts);
		rc = advance_all(&starts);
	}
	free(starts.places);
	free(starts.cell_begin);
	np_vec_release(&starts.known);
	np_vec_release(&starts.moves);
	return rc;
}
