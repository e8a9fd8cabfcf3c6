/* SPDX-License-Identifier: Apache-2.0 */
/* Aligns two orders of operators by walking both along, which does for most. */
#include "align_job.h"

/*
 * Following one order along another
 * ---------------------------------
 *
 * Most orders that differ have lost a few operators each, or begin or end earlier
 * than the other. Once it is known what the clocks differ by at one operator, both can be walked
 * along from there, and what ends together belongs together: each operator is the nearest to the
 * other. What is found by the way corrects the difference, for clocks drift.
 *
 * Where to begin is tried at the beginnings of some steps, one or two operators
 * to either side, for those may be lost too; where the ends agree best is right.
 * If they do not agree well, or steps are not known, somebody else has to look.
 */
#define ANCHORS    4
#define SHIFT_MOST 2
#define TRIED      64

/* Ends further apart are not those of one operator: 1 ms. */
#define APART_MOST 1000000

/* An operator that is left over counts as much as an end that is so far off: 20 µs. */
#define LEFT_OVER 20000

/* Ends this many times as far apart as usual are looked at twice; usual is at least 4 µs. */
#define FAR_TIMES   8
#define APART_LEAST 4000

/* Fewer can agree by chance. */
#define MATCHED_LEAST 8

/* Ends agree well if they are this close on average: 100 µs. */
#define AGREE_NS 100000

struct follow {
	const struct align_item *base;
	ptrdiff_t base_count;
	struct align_item *item;
	ptrdiff_t count;
	uint32_t *to; /* NULL while it is only tried */
	np_ns usual;  /* what ends are apart on average, once that is known */
};

/* A pair of operators that may belong together. */
struct start {
	ptrdiff_t item;
	ptrdiff_t place;
};

struct tally {
	size_t seen;    /* operators of the sequence */
	size_t matched; /* of these */
	size_t agreed;  /* of these, in the same step */
	np_ns apart;    /* Σ over those matched */
};

static np_ns size_of(np_ns value)
{
	return value < 0 ? -value : value;
}

static bool has(ptrdiff_t index, ptrdiff_t count)
{
	return index >= 0 && index < count;
}

/* Does the place before or behind belong to the operator rather than this one? */
static bool next_is_nearer(const struct follow *follow, ptrdiff_t place, np_ns end, np_ns apart)
{
	return has(place, follow->base_count) &&
	       size_of(follow->base[place].end - end) < size_of(apart);
}

/* How far it is to the nearer neighbour. */
static np_ns room_around(const struct align_item *items, ptrdiff_t count, ptrdiff_t index)
{
	np_ns room = NP_NS_MAX;

	if (index > 0)
		room = size_of(items[index].end - items[index - 1].end);
	if (index + 1 < count && size_of(items[index + 1].end - items[index].end) < room)
		room = size_of(items[index + 1].end - items[index].end);
	return room;
}

/*
 * Can two that are nearest to each other be the same? Not if they are further
 * apart than usual and than a quarter of the way to a neighbour: then both lost
 * theirs.
 */
static bool may_match(const struct follow *follow, struct start at, np_ns apart)
{
	np_ns room[2];

	if (!align_same(&follow->base[at.place], &follow->item[at.item]) || apart > APART_MOST)
		return false;
	if (follow->usual == 0 || apart <= FAR_TIMES * follow->usual)
		return true;
	room[0] = room_around(follow->base, follow->base_count, at.place);
	room[1] = room_around(follow->item, follow->count, at.item);
	return apart <= (room[0] < room[1] ? room[0] : room[1]) / 4;
}

/*
 * Walk from a start in one direction, over `most` operators of the sequence at
 * most. `offset` is what is to be added to its times, at the start.
 */
static void walk(const struct follow *follow, struct start at, int direction, np_ns offset,
		 size_t most, struct tally *tally)
{
	while (has(at.item, follow->count) && has(at.place, follow->base_count) && most > 0) {
		const struct align_item *item = &follow->item[at.item];
		const struct align_item *base = &follow->base[at.place];
		ptrdiff_t next = at.item + direction;
		np_ns apart = base->end - (item->end + offset);

		if (next_is_nearer(follow, at.place + direction, item->end + offset, apart)) {
			at.place += direction;
			continue;
		}
		if (!has(next, follow->count) ||
		    size_of(base->end - (follow->item[next].end + offset)) >= size_of(apart)) {
			bool same = may_match(follow, at, size_of(apart));

			if (!same && (direction > 0 ? apart < 0 : apart > 0)) {
				at.place += direction;
				continue;
			}
			if (same) {
				tally->matched++;
				tally->agreed += base->step == item->step;
				tally->apart += size_of(apart);
				if (follow->to)
					follow->to[at.item] = (uint32_t)at.place;
				offset += apart / 4;
				at.place += direction;
			}
		}
		tally->seen++;
		at.item = next;
		most--;
	}
}

/* --- where to begin --------------------------------------------------------------------------- */

/* The first place of a step; false where the base has none. */
static bool find_step(const struct follow *follow, np_str step, ptrdiff_t *ret)
{
	for (ptrdiff_t i = 0; i < follow->base_count; i++) {
		if (follow->base[i].step == step) {
			*ret = i;
			return true;
		}
	}
	return false;
}

/* The first operator of the step in which a part of the sequence begins. */
static bool find_start(const struct follow *follow, ptrdiff_t part, struct start *ret)
{
	ptrdiff_t item = follow->count * part / ANCHORS;
	np_str step = follow->item[item].step;

	if (step == NP_STR_NONE)
		return false;
	while (item > 0 && follow->item[item - 1].step == step)
		item--;
	ret->item = item;
	return find_step(follow, step, &ret->place);
}

static np_ns offset_at(const struct follow *follow, struct start start)
{
	return follow->base[start.place].end - follow->item[start.item].end;
}

/* How badly ends agree from a start on, per operator; negative where too few match at all. */
static double try_start(const struct follow *follow, struct start start)
{
	struct tally tally = { 0 };

	walk(follow, start, 1, offset_at(follow, start), TRIED, &tally);
	if (tally.seen == 0 || tally.matched * 4 < tally.seen * 3)
		return -1;
	return ((double)tally.apart + (double)(tally.seen - tally.agreed) * LEFT_OVER) /
	       (double)tally.seen;
}

static bool choose_start(const struct follow *follow, struct start *ret)
{
	double least = -1;

	for (ptrdiff_t part = 0; part < ANCHORS; part++) {
		struct start start;
		struct start first;

		if (!find_start(follow, part, &first))
			continue;
		for (ptrdiff_t shift = -SHIFT_MOST; shift <= SHIFT_MOST; shift++) {
			double cost;

			start = (struct start){ first.item, first.place + shift };
			if (!has(start.place, follow->base_count))
				continue;
			cost = try_start(follow, start);
			if (cost >= 0 && (least < 0 || cost < least)) {
				least = cost;
				*ret = start;
			}
		}
	}
	return least >= 0;
}

/* Nearly all of what both can have is there, ends together, and is in the same step. */
static bool agrees(const struct tally *tally)
{
	return tally->matched >= MATCHED_LEAST && tally->matched * 20 >= tally->seen * 19 &&
	       tally->agreed * 50 >= tally->matched * 49 &&
	       tally->apart / (np_ns)tally->matched <= AGREE_NS;
}

/* Put the sequence on the clock of the base, by what the walk has matched. */
static void move_to_base_clock(const struct follow *follow)
{
	np_ns offset = 0;
	bool known = false;

	for (ptrdiff_t i = 0; i < follow->count && !known; i++) {
		known = follow->to[i] != ALIGN_NONE;
		if (known)
			offset = offset_at(follow, (struct start){ i, follow->to[i] });
	}
	for (ptrdiff_t i = 0; i < follow->count; i++) {
		if (follow->to[i] != ALIGN_NONE)
			offset += (offset_at(follow, (struct start){ i, follow->to[i] }) - offset) /
				  4;
		follow->item[i].end += offset;
	}
}

bool align_follow(const struct align_item *base, size_t base_count, struct align_item *item,
		  size_t count, uint32_t *to, np_ns *ret_apart)
{
	struct follow follow = { .base = base,
				 .base_count = (ptrdiff_t)base_count,
				 .item = item,
				 .count = (ptrdiff_t)count };
	struct tally tally = { 0 };
	struct start start;
	np_ns offset;

	if (count == 0 || base_count == 0 || !choose_start(&follow, &start))
		return false;
	offset = offset_at(&follow, start);
	for (int pass = 0; pass < 2; pass++) {
		tally = (struct tally){ 0 };
		walk(&follow, start, 1, offset, SIZE_MAX, &tally);
		walk(&follow, (struct start){ start.item - 1, start.place - 1 }, -1, offset,
		     SIZE_MAX, &tally);
		/* The first time nothing is changed. */
		if (pass == 0 && !agrees(&tally))
			return false;
		follow.to = to;
		follow.usual = tally.apart / (np_ns)tally.matched + 1;
	}
	move_to_base_clock(&follow);
	*ret_apart =
		follow.usual < APART_LEAST ? FAR_TIMES * APART_LEAST : FAR_TIMES * follow.usual;
	return true;
}
