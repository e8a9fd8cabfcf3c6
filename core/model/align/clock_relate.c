/* SPDX-License-Identifier: Apache-2.0 */
/* Joins what collectives leave apart: messages in both directions leave clocks little room. */
#include "clock_settle.h"

/* Messages relate clocks where they leave them no more room than this: 20 ms. */
#define MOST_ROOM_NS 20000000

/* Between which corrections messages leave a component room. */
struct clock_room {
	np_ns low;
	np_ns high;
};

/* The room of all components beside one, by their first ranks. */
static void find_rooms(const struct clock_settling *work, const struct clock_bounds *bounds,
		       uint32_t beside, struct clock_room *ret)
{
	for (size_t i = 0; i < work->ranks; i++)
		ret[i] = (struct clock_room){ -NP_NS_MAX, NP_NS_MAX };
	for (size_t i = 0; i < bounds->list.count; i++) {
		const struct clock_bound *bound = &bounds->list.item[i];
		uint32_t before = work->clock->ranks[bound->before].component;
		uint32_t after = work->clock->ranks[bound->after].component;
		np_ns room = bound->room + work->moved[bound->before] - work->moved[bound->after];

		if (before == beside && room < ret[after].high)
			ret[after].high = room;
		if (after == beside && -room > ret[before].low)
			ret[before].low = -room;
	}
}

/* The middle of what the clocks of a component are ahead. */
static np_ns middle_of(const struct clock_settling *work, uint32_t component)
{
	size_t count = 0;

	for (size_t i = 0; i < work->ranks; i++) {
		if (settle_is_of(work, i, component))
			work->scratch[count++] = work->clock->knots[i].offset + work->moved[i];
	}
	return settle_middle(work, count);
}

/* As the clocks were recorded where that leaves it in its room, else in the midst of it. */
static void join(const struct clock_settling *work, uint32_t into, uint32_t component,
		 struct clock_room room)
{
	np_ns wish = middle_of(work, into) - middle_of(work, component);
	np_ns half = room.high > room.low ? (room.high - room.low) / 2 : 0;

	if (wish < room.low || wish > room.high)
		wish = room.low + (room.high - room.low) / 2;
	for (size_t i = 0; i < work->ranks; i++) {
		struct np_clock_rank *rank = &work->clock->ranks[i];

		if (rank->component != component)
			continue;
		rank->component = into;
		rank->room = half > rank->room ? half : rank->room;
		work->moved[i] += wish;
	}
}

/* The component that messages leave the least room beside `into`; NP_CLOCK_ALONE for none. */
static uint32_t nearest(const struct clock_settling *work, const struct clock_room *rooms,
			uint32_t into)
{
	uint32_t found = NP_CLOCK_ALONE;
	np_ns least = MOST_ROOM_NS + 1;

	for (uint32_t i = 0; i < work->ranks; i++) {
		if (i == into || !settle_is_of(work, i, i) || rooms[i].low == -NP_NS_MAX ||
		    rooms[i].high == NP_NS_MAX || rooms[i].high - rooms[i].low >= least)
			continue;
		found = i;
		least = rooms[i].high - rooms[i].low;
	}
	return found;
}

static void join_all(const struct clock_settling *work, const struct clock_bounds *bounds,
		     struct clock_room *rooms)
{
	for (uint32_t i = 0; i < work->ranks; i++) {
		uint32_t other = i;

		while (settle_is_of(work, i, i) && other != NP_CLOCK_ALONE) {
			find_rooms(work, bounds, i, rooms);
			other = nearest(work, rooms, i);
			if (other != NP_CLOCK_ALONE)
				join(work, i, other, rooms[other]);
		}
	}
}

int settle_relate(struct clock_settling *work, struct np_err *err)
{
	struct clock_pass pass = settle_pass(work);
	struct clock_room *rooms = calloc(work->ranks + 1, sizeof(*rooms));
	struct clock_bounds bounds = { 0 };
	int rc = rooms ? NP_OK : np_fail_nomem(err, "clocks");

	settle_set_kinds(work);
	if (rc == NP_OK)
		rc = clock_joining_bounds(&pass, &bounds, err);
	memset(work->moved, 0, work->ranks * sizeof(*work->moved));
	if (rc == NP_OK && bounds.list.count > 0)
		join_all(work, &bounds, rooms);
	for (size_t i = 0; i < work->ranks; i++)
		work->clock->knots[i].offset += work->moved[i];
	np_vec_release(&bounds.list);
	free(rooms);
	return rc;
}
