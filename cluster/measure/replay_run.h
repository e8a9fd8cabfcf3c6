/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_REPLAY_RUN_H
#define NP_REPLAY_RUN_H

#include "replay_private.h"

/*
 * A world while it runs. Times are since the first begin of all ranks, + 1: 0 is
 * not yet.
 */
struct replay_state {
	const struct np_replay *replay;
	const struct np_world *world;
	np_ns *end;            /* by slot; until its instance is done, its start */
	uint32_t *left;        /* by instance: members that have not started */
	uint32_t *next_mark;   /* by rank */
	np_ns *time;           /* by rank: when it got there */
	uint32_t *waiting_for; /* by rank: instance */
	uint32_t *ready;       /* ranks that can go on */
	size_t ready_count;
	uint32_t *complete; /* instances that all have started, and that are not done yet */
	size_t complete_count;
	size_t forced;
	struct replay_state *next; /* while nobody uses it */

	/* What is also written down, where there is room for it. */
	np_ns *start;     /* by slot */
	np_ns *mark_time; /* by mark: when it was taken */
	np_ns *cell_end;  /* by cell */
	uint32_t *order;  /* marks, and instances with REPLAY_DONE, as they were taken */
	size_t ordered;
};

#define REPLAY_DONE (UINT32_C(1) << 31)

/* Run a world from its beginning to its end. */
int replay_run(struct replay_state *state, const struct np_replay *replay,
	       const struct np_world *world, struct np_err *err) NP_MUST_USE;
void replay_release(struct replay_state *state);

/* How long the work before a mark takes in the world. */
np_ns replay_worked(const struct replay_state *state, const struct np_replay_mark *mark,
		    enum np_work kind);
np_ns replay_work(const struct replay_state *state, const struct np_replay_mark *mark);

/* From the first begin to the last end. */
np_ns replay_total(const struct replay_state *state);

/* When a rank began. */
np_ns replay_begin(const struct np_replay *replay, uint32_t rank);

#endif /* NP_REPLAY_RUN_H */
