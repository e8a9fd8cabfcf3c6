/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_BOTTLENECK_H
#define NP_BOTTLENECK_H

#include "mode.h"

/* Operators that took long on one rank, and what is kept of the ranks they are explained by. */

/* One operator of the target. */
struct suspect {
	struct np_member target;
	struct np_member slow; /* the shortest */
	struct np_member fast; /* the longest */
	size_t ranks;
	bool even;
	bool message; /* between two stages of a pipeline, whose tasks differ anyway */
};

struct bottleneck_suspects {
	NP_VEC(struct suspect) list;
	bool *wanted; /* by index of the rank: its events are needed */
};

/* Is it explained by what its slow and its fast rank did before? */
bool suspect_is_compared(const struct suspect *suspect);

/* --- what a rank did, packed ----------------------------------------------------------------- */

struct event {
	np_ns start;
	np_ns end;
	np_str name; /* of the run */
};

/*
 * Events by start and end, in a word each but for a few: two ranks are compared when both
 * were read, which may be the first and the last, and it is not known how far
 * back they will have to be followed.
 */
struct trail {
	uint64_t *words;
	size_t length;
	size_t capacity;
	np_ns last; /* start of the last event */
};

/* About so many events will be added, by start and end. */
int trail_begin(struct trail *trail, size_t events, struct np_err *err) NP_MUST_USE;
int trail_add(struct trail *trail, const struct event *event, struct np_err *err) NP_MUST_USE;
/* No further event comes: give back the room that is left. */
void trail_end(struct trail *trail);
void trail_release(struct trail *trail);

/* A place on a trail, to be followed back from. */
struct trail_position {
	const struct trail *trail;
	size_t length; /* of what lies before it */
	np_ns start;   /* of the last event before it */
};

/* Behind all that was added so far. */
struct trail_position trail_place(const struct trail *trail);

/* The event before the place, which moves there; false at the beginning. */
bool trail_back(struct trail_position *place, struct event *ret);

/* --- what is kept of a rank ------------------------------------------------------------------ */

enum trails {
	ON_DEVICE,
	ON_HOST,
	TRAILS,
};

/* An operator of the rank that is slow or fast in a suspect. */
struct moment {
	uint32_t op;
	bool slow;
	np_ns start;         /* of the operator */
	struct np_span wait; /* slow: when others waited, from the arrival of the fast one on */
	size_t launched; /* slow: kernels that ran meanwhile and of which the launch is known, */
	size_t late;     /* and of those the ones that were ready long before the device was */
	struct trail_position before[TRAILS];
};

/*
 * What a rank did before the operators it is looked at for, and how the kernels
 * were launched that ran while others waited for it.
 */
struct history {
	struct trail trail[TRAILS];
	NP_VEC(struct moment) moments; /* by operator, and thereby by start */
};

int history_take(struct mode_rank *rank, const struct bottleneck_suspects *suspects,
		 struct history *ret) NP_MUST_USE;
void history_release(struct history *history);

/* The moment of an operator that it was taken for. */
const struct moment *history_moment(const struct history *history, uint32_t op);

#endif /* NP_BOTTLENECK_H */
