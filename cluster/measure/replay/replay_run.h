/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_REPLAY_RUN_H
#define NP_REPLAY_RUN_H

#include "replay_program.h"

/*
 * Scenarios while they run, side by side: one, or NP_REPLAY_LANES. Times are since the
 * first begin of all ranks, + 1: 0 is not yet.
 */
struct replay_state {
	const struct np_replay *replay;
	const struct np_scenario *scenarios[NP_REPLAY_LANES];
	size_t lanes;
	np_ns *time;  /* by rank, then scenario: when it got to where it is */
	np_ns *first; /* likewise: its first begin */
	np_ns *last;  /* likewise: its last one */
	np_ns *room;  /* by room, then scenario; 0 before anything is in it */
	size_t rooms;
	/* Is anything else than it was, in any of the scenarios? NULL: nothing is. */
	bool *cell_changed;
	bool *instance_changed;
	np_ns iterated[NP_REPLAY_LANES]; /* Σ of iterations */
	size_t next_mark;
	size_t next_member;
	size_t next_forced;

	/* What one scenario also writes down, where there is space for it. */
	np_ns *reached;  /* by mark: when the rank came there, before it stood still */
	np_ns *start;    /* by slot, of the instances that are done */
	np_ns *end;      /* likewise */
	np_ns *cell_end; /* by cell */
};

/* Run a scenario from its beginning to its end; NULL for as it was. */
int replay_run(struct replay_state *state, const struct np_replay *replay,
	       const struct np_scenario *scenario, struct np_err *err) NP_MUST_USE;
void replay_release(struct replay_state *state);

/* Space to write down all of one scenario. Before it runs. */
int replay_write_down(struct replay_state *state, const struct np_replay *replay,
		      struct np_err *err) NP_MUST_USE;

/* Run the scenario as it was as far as there are marks. */
int replay_run_on(struct replay_state *state, struct np_err *err) NP_MUST_USE;

/* From the first begin to the last end, in one of the scenarios. */
np_ns replay_total(const struct replay_state *state, size_t lane);

#endif /* NP_REPLAY_RUN_H */
