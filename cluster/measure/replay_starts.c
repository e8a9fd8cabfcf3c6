/* SPDX-License-Identifier: Apache-2.0 */
#include "replay_private.h"

#include <math.h>

static np_ns cell_total(const struct np_replay_cell *cell)
{
	return cell->work[NP_WORK_COMPUTE] + cell->work[NP_WORK_HOST] + cell->work[NP_WORK_OTHER];
}

/* --- where starts are ------------------------------------------------------------------------- */

/* Where each cell of a draft begins, going on from mark to mark. */
struct cell_begin {
	np_ns done;
	np_ns begin;
	uint32_t cell;
};

#define CELL_BEGIN_INIT \
	(struct cell_begin) \
	{ \
		.cell = UINT32_MAX \
	}

/* The work that its rank had done when the cell of this mark began. */
static np_ns cell_begin(struct cell_begin *at, const struct draft *draft)
{
	if (draft->cell != at->cell) {
		at->cell = draft->cell;
		at->begin = at->done;
	}
	if (draft->kind == MARK_STEP)
		at->done = draft->place;
	return at->begin;
}

void replay_see_starts(const struct rank_draft *draft, double *shares)
{
	struct cell_begin at = CELL_BEGIN_INIT;

	for (size_t i = 0; i < draft->marks.count; i++) {
		const struct draft *mark = &draft->marks.item[i];
		np_ns begin = cell_begin(&at, mark);
		np_ns total = cell_total(&draft->cells.item[mark->cell]);

		if (mark->kind == MARK_START && total > 0)
			shares[mark->slot] = (double)(mark->place - begin) / (double)total;
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

/* What a rank had done of each kind of work at a place. */
static void interpolate(const drafts *marks, struct draft *moved)
{
	static const np_ns zero[NP_WORK_OTHER] = { 0 };
	const np_ns *from = zero;
	np_ns begin = 0;
	np_ns all;
	size_t low = 0;
	size_t high = marks->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (marks->item[middle].place < moved->place)
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

		moved->at[i] = from[i];
		if (all > 0)
			moved->at[i] += (np_ns)((double)more * (double)(moved->place - begin) /
						(double)all);
	}
}

static int move_start(struct moving *moving, const struct draft *draft, np_ns target)
{
	struct draft *moved = np_vec_add(&moving->moved, moving->err);

	if (!moved)
		return NP_E_NOMEM;
	*moved = *draft;
	moved->place = target;
	interpolate(moving->marks, moved);
	return NP_OK;
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

/* Those that moved go before others of the same place. */
static void merge(struct moving *moving)
{
	const drafts *moved = &moving->moved;
	const drafts *staying = &moving->staying;
	size_t i = 0;
	size_t j = 0;

	for (size_t out = 0; out < moving->marks->count; out++) {
		bool earlier = i < moved->count && (j == staying->count ||
						    moved->item[i].place <= staying->item[j].place);

		moving->marks->item[out] = earlier ? moved->item[i++] : staying->item[j++];
	}
}

static int move_all(struct moving *moving, const struct np_replay *replay, const double *shares,
		    const struct rank_draft *draft)
{
	struct cell_begin at = CELL_BEGIN_INIT;
	int rc = NP_OK;

	for (size_t i = 0; i < draft->marks.count && rc == NP_OK; i++) {
		const struct draft *mark = &draft->marks.item[i];
		np_ns target = cell_begin(&at, mark);
		struct draft *stays;

		if (mark->kind == MARK_START && replay->ops[mark->slot].behind != NO_SLOT &&
		    !isnan(shares[mark->slot])) {
			target += (np_ns)(shares[mark->slot] *
					  (double)cell_total(&draft->cells.item[mark->cell]));
			if (target < mark->place) {
				rc = move_start(moving, mark, target);
				continue;
			}
		}
		stays = np_vec_add(&moving->staying, moving->err);
		if (stays)
			*stays = *mark;
		else
			rc = NP_E_NOMEM;
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
