/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_REPLAY_RUN_H
#define NP_REPLAY_RUN_H

#include "replay_private.h"

/* A world while it runs. */
struct replay_state {
	const struct np_replay *replay;
	const struct np_world *world;
	np_ns *start;           /* by slot */
	np_ns *end;             /* by slot; of instances that are done */
	uint32_t *held;         /* by slot: the operator that starts when it is over */
	uint32_t *arrived;      /* by instance: members that have started */
	bool *done;             /* by instance */
	uint32_t *next_mark;    /* by rank */
	np_ns *time;            /* by rank: when it got there */
	uint32_t *waiting_for;  /* by rank: instance */
	bool *queued;           /* by rank */
	NP_VEC(uint32_t) ready; /* ranks that can go on */
	NP_VEC(uint32_t) free;  /* slots that can start now */
	np_ns *mark_time;       /* by mark, or NULL: when it was taken */
	size_t forced;
	struct np_err *err;
};

/* Run a world from its beginning to its end. */
int replay_run(struct replay_state *state, const struct np_replay *replay,
	       const struct np_world *world, struct np_err *err) NP_MUST_USE;
void replay_release(struct replay_state *state);

/* How long the work before a mark takes in the world. */
np_ns replay_worked(const struct replay_state *state, const struct np_replay_mark *mark,
		    enum np_work kind);

/* From the first begin to the last end. */
np_ns replay_total(const struct replay_state *state);

#endif /* NP_REPLAY_RUN_H */
