/* SPDX-License-Identifier: Apache-2.0 */
/* What a rank computes beyond its peers in one place of a step, and not all over it. */
#include "replay_program.h"

#include "npuprof/align.h"

#include <math.h>

/*
 * A slow device computes longer all over the step; a rank that runs a kernel more than its peers
 * do does so between two operators, and its repair must be there: others wait for it in front of
 * the next one. Cells of one stage and step start the same operators: what they compute from one
 * start to the next is compared, by the numbers of the starts.
 */
struct excess_cell {
	uint32_t cell;
	np_str step;
	int32_t stage;
	uint32_t starts;
	np_ns computing;
};

/* Cells of one step and stage that start equally many operators. */
struct excess_peers {
	size_t first; /* of the sums by segment */
	uint32_t count;
	uint32_t starts;
	double computing;
};

struct excess_placing {
	struct np_replay *replay;
	rank_marks *marks;
	struct excess_cell *places;
	struct excess_peers *peers;
	uint32_t *peers_of; /* by cell; UINT32_MAX for none */
	double *sums;
	double *own; /* of the cell at hand, by segment */
};

/* Less is chance. */
#define LEAST_SHARE 0.03

/* Where the places together show so many times the excess, the cells do not run the same. */
#define MOST_PLACES 1.25

/* So much of it is elsewhere than if all of the step took longer alike. */
#define ELSEWHERE 0.2

static bool computes(const struct np_replay_mark *mark)
{
	return mark->kind != MARK_QUEUE && mark->kind != MARK_BEGIN;
}

static int by_peers(const void *left, const void *right)
{
	const struct excess_cell *a = left;
	const struct excess_cell *b = right;

	if (a->step != b->step)
		return a->step < b->step ? -1 : 1;
	if (a->stage != b->stage)
		return a->stage < b->stage ? -1 : 1;
	if (a->starts != b->starts)
		return a->starts < b->starts ? -1 : 1;
	return (a->cell > b->cell) - (a->cell < b->cell);
}

static bool are_peers(const struct excess_cell *a, const struct excess_cell *b)
{
	return a->step == b->step && a->stage == b->stage && a->starts == b->starts;
}

/* Whom each cell is compared with; how many segments there are in all. */
static size_t find_peers(struct excess_placing *all, size_t ranks)
{
	struct np_replay *replay = all->replay;
	size_t count = replay->cells.count;
	size_t segments = 0;
	size_t groups = 0;

	for (size_t i = 0; i < count; i++) {
		const struct np_replay_cell *cell = &replay->cells.item[i];

		all->places[i] = (struct excess_cell){ .cell = (uint32_t)i,
						       .step = cell->step,
						       .stage = replay->stages[cell->rank],
						       .computing = cell->work[NP_WORK_COMPUTE] };
		all->peers_of[i] = UINT32_MAX;
	}
	for (size_t i = 0; i < ranks; i++) {
		for (size_t j = 0; j < all->marks[i].count; j++) {
			const struct np_replay_mark *mark = &all->marks[i].item[j];

			if (mark->kind == MARK_START)
				all->places[mark->cell].starts++;
		}
	}
	qsort(all->places, count, sizeof(*all->places), by_peers);
	for (size_t from = 0, to = 0; from < count; from = to) {
		struct excess_peers *peers = &all->peers[groups];

		*peers = (struct excess_peers){ .first = segments,
						.starts = all->places[from].starts };
		for (; to < count && are_peers(&all->places[to], &all->places[from]); to++) {
			if (!replay->cells.item[all->places[to].cell].timed)
				continue;
			all->peers_of[all->places[to].cell] = (uint32_t)groups;
			peers->count++;
			peers->computing += (double)all->places[to].computing;
		}
		segments += peers->starts + 1;
		groups++;
	}
	return segments;
}

static void add_segments(const struct excess_placing *all, size_t rank)
{
	const rank_marks *marks = &all->marks[rank];
	uint32_t cell = UINT32_MAX;
	size_t segment = 0;

	for (size_t i = 0; i < marks->count; i++) {
		const struct np_replay_mark *mark = &marks->item[i];
		uint32_t peers;

		if (mark->kind == MARK_QUEUE)
			continue;
		if (mark->cell != cell) {
			cell = mark->cell;
			segment = 0;
		}
		peers = all->peers_of[cell];
		if (peers != UINT32_MAX && computes(mark))
			all->sums[all->peers[peers].first + segment] += mark->work[NP_WORK_COMPUTE];
		segment += mark->kind == MARK_START;
	}
}

/* Of what a cell computes in a segment, what its peers do not on average. */
static double beyond(const struct excess_placing *all, const struct excess_peers *peers,
		     size_t segment)
{
	double own = all->own[segment];
	double others = (all->sums[peers->first + segment] - own) / (double)(peers->count - 1);

	return fmax(own - others, 0);
}

/* Is the excess of a cell in places of its own? */
static bool is_placed(const struct excess_placing *all, const struct excess_peers *peers,
		      double computing)
{
	double others = (peers->computing - computing) / (double)(peers->count - 1);
	double excess = computing - others;
	double sum = 0;
	double elsewhere = 0;

	if (excess < LEAST_SHARE * others || others <= 0)
		return false;
	for (size_t i = 0; i <= peers->starts; i++)
		sum += beyond(all, peers, i);
	if (sum <= 0 || sum > MOST_PLACES * excess)
		return false;
	for (size_t i = 0; i <= peers->starts; i++)
		elsewhere += fabs(beyond(all, peers, i) / sum - all->own[i] / computing);
	return elsewhere / 2 > ELSEWHERE;
}

/* Marks of one cell: what is beyond its peers becomes surplus. */
static void place(const struct excess_placing *all, struct np_replay_mark *marks, size_t count)
{
	uint32_t index = marks[0].cell;
	struct np_replay_cell *cell = &all->replay->cells.item[index];
	const struct excess_peers *peers;
	size_t segment = 0;

	if (all->peers_of[index] == UINT32_MAX || all->peers[all->peers_of[index]].count < 2)
		return;
	peers = &all->peers[all->peers_of[index]];
	memset(all->own, 0, (peers->starts + 1) * sizeof(*all->own));
	for (size_t i = 0; i < count; i++) {
		all->own[segment] += computes(&marks[i]) ? marks[i].work[NP_WORK_COMPUTE] : 0;
		segment += marks[i].kind == MARK_START;
	}
	if (!is_placed(all, peers, (double)cell->work[NP_WORK_COMPUTE]))
		return;
	segment = 0;
	for (size_t i = 0; i < count; i++) {
		uint32_t *work = marks[i].work;

		if (computes(&marks[i]) && all->own[segment] > 0) {
			double part = beyond(all, peers, segment) / all->own[segment];

			work[NP_WORK_SURPLUS] = (uint32_t)((double)work[NP_WORK_COMPUTE] * part);
			work[NP_WORK_COMPUTE] -= work[NP_WORK_SURPLUS];
			cell->beyond += work[NP_WORK_SURPLUS];
		}
		segment += marks[i].kind == MARK_START;
	}
}

static void place_all(const struct excess_placing *all, rank_marks *marks)
{
	for (size_t from = 0, to = 0; from < marks->count; from = to) {
		/* What starts later than its rank has come there has no cell. */
		while (to < marks->count && (marks->item[to].kind == MARK_QUEUE ||
					     marks->item[to].cell == marks->item[from].cell))
			to++;
		if (to == from)
			to++;
		place(all, &marks->item[from], to - from);
	}
}

int replay_place_excess(struct np_replay *replay, rank_marks *marks, size_t ranks,
			struct np_err *err)
{
	size_t count = replay->cells.count + 1;
	struct excess_placing all = { .replay = replay,
				      .marks = marks,
				      .places = malloc(count * sizeof(*all.places)),
				      .peers = malloc(count * sizeof(*all.peers)),
				      .peers_of = malloc(count * sizeof(*all.peers_of)) };
	size_t segments = 0;
	int rc = NP_E_NOMEM;

	if (all.places && all.peers && all.peers_of) {
		segments = find_peers(&all, ranks);
		all.sums = calloc(segments + 1, sizeof(*all.sums));
		all.own = malloc((segments + 1) * sizeof(*all.own));
	}
	if (all.sums && all.own) {
		rc = NP_OK;
		for (size_t i = 0; i < ranks; i++)
			add_segments(&all, i);
		for (size_t i = 0; i < ranks; i++)
			place_all(&all, &marks[i]);
	}
	free(all.places);
	free(all.peers);
	free(all.peers_of);
	free(all.sums);
	free(all.own);
	return rc < 0 ? np_fail_nomem(err, "the replay") : NP_OK;
}
