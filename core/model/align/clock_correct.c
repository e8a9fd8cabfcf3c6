/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The smallest correction
 * -----------------------
 *
 * Bounds are differences: a rank's correction exceeds another's by the room at most.
 * First the rank that is in the way most is moved into the room that the others leave
 * it, and so on: one clock that is wrong is one clock corrected, whoever it
 * contradicts. What that leaves is closed as shortest paths are found, by moving ranks
 * later only, or earlier only, whichever takes less: if there are clocks that
 * contradict nothing, that finds some. A cycle of bounds that leaves no room shows
 * that there are none: the bound of it that is broken most was matched wrongly and is
 * dropped. Where it lacks but little, for clocks do not run quite straight, the broken
 * bounds of it give that little, each as it is broken.
 */
#include "clock_order.h"

/* A cycle that lacks so little, in the mean of its bounds, is no wrong match: 100 µs. */
#define GIVE_NS 100000

/* A rank is moved so often at most while the one in the way is looked for. */
#define MOST_MOVES 4

/* Ranks looked at for it, at most. */
#define MOST_SEARCHED ((size_t)1 << 27)

/* Bounds looked at while shortest paths are found; beyond that they are taken not to exist. */
#define MOST_LOOKS ((size_t)1 << 28)

struct correcting {
	struct clock_bounds *bounds;
	struct clock_correction *correction;
	size_t ranks;
	np_ns *at;       /* corrections, by rank */
	np_ns *other;    /* the same while another way is tried */
	uint32_t *from;  /* bound that moved a rank last */
	uint32_t *first; /* of a rank in `touch`; one more than there are */
	uint32_t *touch; /* bounds that name the rank */
	np_ns *burden;   /* what a rank breaks, times how often */
	uint8_t *moves;
};

static np_ns room_of(const struct clock_bound *bound)
{
	return bound->room + bound->given;
}

/* What it is broken by; 0 where it holds. */
static np_ns breach(const struct clock_bound *bound, const np_ns *at)
{
	np_ns over = at[bound->after] - at[bound->before] - room_of(bound);

	return bound->dropped || over < 0 ? 0 : over;
}

static bool is_broken(const struct correcting *work, const np_ns *at)
{
	for (size_t i = 0; i < work->bounds->list.count; i++) {
		if (breach(&work->bounds->list.item[i], at) > 0)
			return true;
	}
	return false;
}

static double size_of(const struct correcting *work, const np_ns *at)
{
	double sum = 0;

	for (size_t i = 0; i < work->ranks; i++)
		sum += at[i] < 0 ? -(double)at[i] : (double)at[i];
	return sum;
}

/* --- who is in the way ------------------------------------------------------------------------ */

static void index_bounds(struct correcting *work)
{
	const struct clock_bound *bound = work->bounds->list.item;
	size_t count = work->bounds->list.count;

	for (size_t i = 0; i < count; i++) {
		work->first[bound[i].before + 2]++;
		work->first[bound[i].after + 2]++;
	}
	for (size_t i = 2; i < work->ranks + 2; i++)
		work->first[i] += work->first[i - 1];
	for (size_t i = 0; i < count; i++) {
		work->touch[work->first[bound[i].before + 1]++] = (uint32_t)i;
		work->touch[work->first[bound[i].after + 1]++] = (uint32_t)i;
	}
}

static void weigh(struct correcting *work, size_t rank)
{
	work->burden[rank] = 0;
	for (uint32_t i = work->first[rank]; i < work->first[rank + 1]; i++) {
		const struct clock_bound *bound = &work->bounds->list.item[work->touch[i]];

		work->burden[rank] += breach(bound, work->at) * (np_ns)bound->support;
	}
}

static bool is_before(const struct correcting *work, size_t a, size_t b)
{
	const uint32_t *weight = work->correction->weight;

	if (work->burden[a] != work->burden[b])
		return work->burden[a] > work->burden[b];
	if (weight && weight[a] != weight[b])
		return weight[a] < weight[b];
	return a > b;
}

/* The rank with the largest burden that may still be moved; the number of ranks for none. */
static size_t most_in_the_way(const struct correcting *work)
{
	size_t most = work->ranks;

	for (size_t i = 0; i < work->ranks; i++) {
		if (work->burden[i] > 0 && work->moves[i] < MOST_MOVES &&
		    (most == work->ranks || is_before(work, i, most)))
			most = i;
	}
	return most;
}

/* Into the room that the others leave it, or between them where there is none. */
static void move(struct correcting *work, size_t rank)
{
	np_ns low = -NP_NS_MAX;
	np_ns high = NP_NS_MAX;

	for (uint32_t i = work->first[rank]; i < work->first[rank + 1]; i++) {
		const struct clock_bound *bound = &work->bounds->list.item[work->touch[i]];
		np_ns end;

		if (bound->dropped)
			continue;
		if (bound->after == rank) {
			end = work->at[bound->before] + room_of(bound);
			high = end < high ? end : high;
		} else {
			end = work->at[bound->after] - room_of(bound);
			low = end > low ? end : low;
		}
	}
	work->moves[rank]++;
	if (low > high)
		work->at[rank] = high + (low - high) / 2;
	else if (work->at[rank] < low)
		work->at[rank] = low;
	else if (work->at[rank] > high)
		work->at[rank] = high;
	weigh(work, rank);
	for (uint32_t i = work->first[rank]; i < work->first[rank + 1]; i++) {
		const struct clock_bound *bound = &work->bounds->list.item[work->touch[i]];

		weigh(work, bound->after == rank ? bound->before : bound->after);
	}
}

static void clear_the_way(struct correcting *work)
{
	size_t moves = MOST_SEARCHED / (work->ranks + 1);
	size_t rank;

	memset(work->at, 0, work->ranks * sizeof(*work->at));
	memset(work->moves, 0, work->ranks);
	for (size_t i = 0; i < work->ranks; i++)
		weigh(work, i);
	while (moves-- > 0 && (rank = most_in_the_way(work)) < work->ranks)
		move(work, rank);
}

/* --- shortest paths --------------------------------------------------------------------------- */

/* Move ranks later, or earlier, as far as bounds ask for; how many it moved. */
static size_t sweep(struct correcting *work, np_ns *at, bool later, uint32_t *ret_last)
{
	size_t moved = 0;

	for (size_t i = 0; i < work->bounds->list.count; i++) {
		const struct clock_bound *bound = &work->bounds->list.item[i];
		np_ns over = breach(bound, at);
		uint32_t rank = later ? bound->after : bound->before;

		if (over == 0)
			continue;
		at[rank] += later ? -over : over;
		work->from[rank] = (uint32_t)i;
		*ret_last = rank;
		moved++;
	}
	return moved;
}

/* A rank that still moves when no path can be longer hangs on a cycle; ranks for none. */
static size_t close_paths(struct correcting *work, np_ns *at, bool later)
{
	size_t most = MOST_LOOKS / (work->bounds->list.count + 1);
	uint32_t last = 0;

	memset(work->from, 0xff, work->ranks * sizeof(*work->from));
	most = most < work->ranks + 1 ? most : work->ranks + 1;
	for (size_t i = 0; i < most; i++) {
		if (sweep(work, at, later, &last) == 0)
			return work->ranks;
	}
	return last;
}

/* Who moved a rank, when ranks were moved later. */
static uint32_t mover(const struct correcting *work, uint32_t rank)
{
	return work->bounds->list.item[work->from[rank]].before;
}

/* A rank on the cycle that the way back from a rank leads into; the number of ranks for none. */
static uint32_t find_cycle(const struct correcting *work, uint32_t rank)
{
	for (size_t i = 0; i < work->ranks; i++) {
		if (work->from[rank] == UINT32_MAX)
			return (uint32_t)work->ranks;
		rank = mover(work, rank);
	}
	return rank;
}

struct cycle {
	struct clock_bound *worst;
	np_ns lacks;
	np_ns broken; /* by all of its bounds together, before any correction */
	np_ns length;
};

static struct cycle look_at_cycle(const struct correcting *work, uint32_t begin)
{
	struct cycle cycle = { 0 };
	uint32_t rank = begin;

	do {
		struct clock_bound *bound = &work->bounds->list.item[work->from[rank]];
		np_ns room = room_of(bound);

		cycle.lacks -= room;
		cycle.broken += room < 0 ? -room : 0;
		cycle.length++;
		if (!cycle.worst || bound->room < cycle.worst->room)
			cycle.worst = bound;
		rank = bound->before;
	} while (rank != begin);
	return cycle;
}

/* What it lacks, divided among its broken bounds. */
static void widen_cycle(const struct correcting *work, uint32_t begin, const struct cycle *cycle)
{
	double share = (double)cycle->lacks / (double)cycle->broken;
	uint32_t rank = begin;

	do {
		struct clock_bound *bound = &work->bounds->list.item[work->from[rank]];
		np_ns room = room_of(bound);

		if (room < 0)
			bound->given += 1 + (np_ns)(share * -(double)room);
		rank = bound->before;
	} while (rank != begin);
}

/* Make a cycle of bounds that leaves no room leave some; false where there is none. */
static bool open_cycle(const struct correcting *work, uint32_t rank)
{
	uint32_t begin = find_cycle(work, rank);
	struct cycle cycle;

	if (begin == work->ranks)
		return false;
	cycle = look_at_cycle(work, begin);
	if (cycle.lacks <= 0)
		return false;
	if (cycle.lacks > GIVE_NS * cycle.length)
		cycle.worst->dropped = true;
	else
		widen_cycle(work, begin, &cycle);
	return true;
}

/* Drop bounds and widen them until there are clocks that keep all the others. */
static void make_room(struct correcting *work)
{
	for (size_t i = 0; i < 2 * work->bounds->list.count + 64; i++) {
		size_t rank;

		memset(work->other, 0, work->ranks * sizeof(*work->other));
		rank = close_paths(work, work->other, true);
		if (rank == work->ranks || !open_cycle(work, (uint32_t)rank))
			return;
	}
}

/* The rest: both ways from what was reached, and the one that takes less. */
static void close_rest(struct correcting *work)
{
	size_t bytes = work->ranks * sizeof(*work->at);
	size_t later;

	memcpy(work->other, work->at, bytes);
	later = close_paths(work, work->other, true);
	if (close_paths(work, work->at, false) != work->ranks ||
	    (later == work->ranks && size_of(work, work->other) < size_of(work, work->at)))
		memcpy(work->at, work->other, bytes);
}

/* --- everything ------------------------------------------------------------------------------- */

static bool allocate(struct correcting *work)
{
	size_t ranks = work->ranks + 2;

	work->at = calloc(ranks, sizeof(*work->at));
	work->other = calloc(ranks, sizeof(*work->other));
	work->from = calloc(ranks, sizeof(*work->from));
	work->first = calloc(ranks, sizeof(*work->first));
	work->touch = calloc(2 * work->bounds->list.count + 1, sizeof(*work->touch));
	work->burden = calloc(ranks, sizeof(*work->burden));
	work->moves = calloc(ranks, sizeof(*work->moves));
	return work->at && work->other && work->from && work->first && work->touch &&
	       work->burden && work->moves;
}

static void release(struct correcting *work)
{
	free(work->at);
	free(work->other);
	free(work->from);
	free(work->first);
	free(work->touch);
	free(work->burden);
	free(work->moves);
}

int clock_correct(struct clock_bounds *bounds, struct clock_correction *correction,
		  struct np_err *err)
{
	struct correcting work = { .bounds = bounds,
				   .correction = correction,
				   .ranks = correction->ranks };
	int rc = allocate(&work) ? NP_OK : np_fail_nomem(err, "clocks");

	if (rc == NP_OK) {
		index_bounds(&work);
		make_room(&work);
		clear_the_way(&work);
		if (is_broken(&work, work.at))
			close_rest(&work);
		memcpy(correction->moved, work.at, work.ranks * sizeof(*work.at));
	}
	release(&work);
	return rc;
}
