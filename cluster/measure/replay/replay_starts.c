/* SPDX-License-Identifier: Apache-2.0 */
/* Where operators belong that were ready before their communicator was free. */
#include "replay_draft.h"

#include "npuprof/align.h"
#include "npuprof/order.h"

#include <math.h>

/*
 * How far a rank has got in a step is known from its computing: what its host makes it
 * wait between is nothing that its peers have to do as well. Where nothing is known
 * of that, all work counts.
 */
static np_ns progress(const struct draft *draft, const struct np_replay_cell *cell)
{
	return cell->work[NP_WORK_COMPUTE] > 0 ? draft->at[NP_WORK_COMPUTE] : draft->place;
}

static np_ns whole(const struct np_replay_cell *cell)
{
	if (cell->work[NP_WORK_COMPUTE] > 0)
		return cell->work[NP_WORK_COMPUTE];
	return cell->work[NP_WORK_HOST] + cell->work[NP_WORK_OTHER];
}

/* Going from mark to mark: the cell at hand, and the last mark of the one before it. */
struct passing {
	uint32_t cell;
	size_t first;       /* mark of the cell */
	struct draft begin; /* what was done then */
};

static struct passing pass_begin(void)
{
	return (struct passing){ .cell = UINT32_MAX };
}

static void pass(struct passing *passing, const drafts *marks, size_t index)
{
	if (marks->item[index].cell == passing->cell)
		return;
	passing->cell = marks->item[index].cell;
	passing->first = index;
	if (index > 0)
		passing->begin = marks->item[index - 1];
}

/* --- where starts are ------------------------------------------------------------------------- */

/* How much of its step a rank had done at a mark; NaN where nothing is known. */
static double share_at(const struct rank_draft *draft, struct passing *passing, size_t index)
{
	const struct draft *mark = &draft->marks.item[index];
	const struct np_replay_cell *cell = &draft->cells.item[mark->cell];

	pass(passing, &draft->marks, index);
	if (whole(cell) <= 0)
		return (double)NAN;
	return (double)(progress(mark, cell) - progress(&passing->begin, cell)) /
	       (double)whole(cell);
}

void replay_see_starts(const struct rank_draft *draft, double *shares)
{
	struct passing passing = pass_begin();

	for (size_t i = 0; i < draft->marks.count; i++) {
		double share = share_at(draft, &passing, i);

		if (draft->marks.item[i].kind == MARK_START)
			shares[draft->marks.item[i].slot] = share;
	}
}

void replay_see_stops(const struct rank_draft *draft, struct stood *stood)
{
	struct passing passing = pass_begin();

	for (size_t i = 0; i < draft->marks.count; i++) {
		double share = share_at(draft, &passing, i);

		if (draft->marks.item[i].kind == MARK_BLOCK)
			stood[draft->marks.item[i].slot].share = (float)share;
	}
}

/* --- where they belong ------------------------------------------------------------------------ */

/* The least that a member had done which nothing held up; NaN where all were held up. */
static double known_share(const struct np_replay *replay, const double *shares,
			  const struct np_instance *instance)
{
	double least = (double)NAN;

	for (uint32_t i = 0; i < instance->count; i++) {
		uint32_t slot = instance->first + i;

		if (replay->ops[slot].behind == NO_SLOT)
			least = fmin(least, shares[slot]);
	}
	return least;
}

static double least_share(const double *shares, const struct np_instance *instance)
{
	double least = (double)NAN;

	for (uint32_t i = 0; i < instance->count; i++)
		least = fmin(least, shares[instance->first + i]);
	return least;
}

/* Between two operators of one step of which it is known, it lies evenly. */
static void fill_gaps(const double *shares, const struct np_instance *instances, size_t count,
		      double *known)
{
	for (size_t from = 0; from < count; from++) {
		size_t to = from + 1;
		double upper;

		if (isnan(known[from]))
			continue;
		while (to < count && isnan(known[to]) && instances[to].step == instances[from].step)
			to++;
		if (to == from + 1)
			continue;
		if (to < count && instances[to].step == instances[from].step)
			upper = known[to];
		else
			upper = least_share(shares, &instances[--to]);
		for (size_t i = from + 1; i <= to; i++) {
			if (isnan(known[i]))
				known[i] = known[from] + (upper - known[from]) *
								 (double)(i - from) /
								 (double)(to - from);
		}
	}
}

int replay_settle_starts(const struct np_replay *replay, const struct np_align_communicator *each,
			 double *shares, struct np_err *err)
{
	const struct np_instance *instances = &replay->align->instances.item[each->first];
	double *known = malloc(((size_t)each->count + 1) * sizeof(*known));

	if (!known)
		return np_fail_nomem(err, "the replay");
	for (uint32_t i = 0; i < each->count; i++)
		known[i] = known_share(replay, shares, &instances[i]);
	fill_gaps(shares, instances, each->count, known);
	for (uint32_t i = 0; i < each->count; i++) {
		for (uint32_t j = 0; j < instances[i].count; j++) {
			uint32_t slot = instances[i].first + j;

			if (replay->ops[slot].behind != NO_SLOT && !isnan(shares[slot]))
				shares[slot] = known[i];
		}
	}
	free(known);
	return NP_OK;
}

/* --- moving them ------------------------------------------------------------------------------ */

/* Marks of a rank: those that stay, and those that go to an earlier place, in their orders. */
struct moving {
	drafts *marks;
	drafts moved;
	drafts staying;
	struct np_err *err;
};

/* The first mark of the cell at hand at which the rank had got as far as `target`. */
static size_t find_mark(const struct rank_draft *draft, const struct passing *passing, size_t last,
			np_ns target)
{
	const struct np_replay_cell *cell = &draft->cells.item[passing->cell];

	return np_lower_bound(i, passing->first, last,
			      progress(&draft->marks.item[i], cell) >= target);
}

/* Where the start `index` was when its rank had got so far. */
static struct draft find_place(const struct rank_draft *draft, const struct passing *passing,
			       size_t index, double share)
{
	const struct np_replay_cell *cell = &draft->cells.item[passing->cell];
	np_ns target = progress(&passing->begin, cell) + (np_ns)(share * (double)whole(cell));
	size_t found = find_mark(draft, passing, index, target);
	const struct draft *to = &draft->marks.item[found];
	const struct draft *from = found > passing->first ? to - 1 : &passing->begin;
	np_ns all = progress(to, cell) - progress(from, cell);
	double part = all > 0 ? (double)(target - progress(from, cell)) / (double)all : 0;
	struct draft moved = draft->marks.item[index];

	moved.place = from->place + (np_ns)((double)(to->place - from->place) * part);
	for (int i = 0; i < NP_WORK_OTHER; i++)
		moved.at[i] = from->at[i] + (np_ns)((double)(to->at[i] - from->at[i]) * part);
	return moved;
}

static int by_place(const void *left, const void *right)
{
	const struct draft *a = left;
	const struct draft *b = right;

	if (a->place != b->place)
		return a->place < b->place ? -1 : 1;
	return (a->order > b->order) - (a->order < b->order);
}

static void sort(drafts *marks)
{
	for (size_t i = 1; i < marks->count; i++) {
		if (marks->item[i - 1].place > marks->item[i].place) {
			qsort(marks->item, marks->count, sizeof(marks->item[0]), by_place);
			return;
		}
	}
}

/*
 * Those that moved go before others of the same place, but no further back than to where their step
 * begins: what is between it and the step before is no work of theirs.
 */
static bool goes_before(const struct draft *moved, const struct draft *staying)
{
	if (moved->place != staying->place)
		return moved->place < staying->place;
	return staying->cell > moved->cell ||
	       (staying->cell == moved->cell && staying->kind != MARK_BEGIN);
}

static void merge(struct moving *moving)
{
	const drafts *moved = &moving->moved;
	const drafts *staying = &moving->staying;
	size_t i = 0;
	size_t j = 0;

	for (size_t out = 0; out < moving->marks->count; out++) {
		bool earlier =
			i < moved->count &&
			(j == staying->count || goes_before(&moved->item[i], &staying->item[j]));

		moving->marks->item[out] = earlier ? moved->item[i++] : staying->item[j++];
	}
}

static int keep(drafts *list, const struct draft *mark, struct np_err *err)
{
	struct draft *kept = np_vec_add(list, err);

	if (!kept)
		return NP_E_NOMEM;
	*kept = *mark;
	return NP_OK;
}

static int move_all(struct moving *moving, const struct np_replay *replay, const double *shares,
		    const struct rank_draft *draft)
{
	struct passing passing = pass_begin();
	int rc = NP_OK;

	for (size_t i = 0; i < draft->marks.count && rc == NP_OK; i++) {
		const struct draft *mark = &draft->marks.item[i];
		struct draft moved = *mark;
		bool held = mark->kind == MARK_START && replay->ops[mark->slot].behind != NO_SLOT;

		pass(&passing, &draft->marks, i);
		if (held && !isnan(shares[mark->slot]))
			moved = find_place(draft, &passing, i, shares[mark->slot]);
		if (moved.place > mark->place)
			moved = *mark;
		/* It starts when the other one has ended. */
		if (held)
			moved.lag = 0;
		rc = keep(moved.place < mark->place ? &moving->moved : &moving->staying, &moved,
			  moving->err);
	}
	return rc;
}

int replay_move_starts(const struct np_replay *replay, const double *shares,
		       struct rank_draft *draft, struct np_err *err)
{
	struct moving moving = { .marks = &draft->marks, .err = err };
	int rc = move_all(&moving, replay, shares, draft);

	if (rc == NP_OK) {
		sort(&moving.moved);
		sort(&moving.staying);
		merge(&moving);
	}
	np_vec_release(&moving.moved);
	np_vec_release(&moving.staying);
	return rc;
}
