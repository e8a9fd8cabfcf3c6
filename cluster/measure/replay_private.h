/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_REPLAY_PRIVATE_H
#define NP_REPLAY_PRIVATE_H

#include "npuprof/clock.h"
#include "npuprof/replay.h"

enum mark_kind {
	MARK_START, /* of an operator */
	MARK_BLOCK, /* until an operator has ended */
	MARK_STEP,  /* a step has ended */
	MARK_WORK,  /* nothing but work that did not fit */
};

/* Something that happens to a rank after so much work. */
struct np_replay_mark {
	uint32_t slot; /* of the operator */
	uint32_t cell;
	uint32_t work[NP_WORK_KINDS]; /* since the mark before, ns */
	uint32_t kind;
};

struct np_replay_rank {
	uint32_t first_mark;
	uint32_t marks;
	np_ns begin; /* on the common clock */
	np_ns end;
};

#define NO_SLOT UINT32_MAX

/* By slot: times on the common clock, and what it queued behind. */
struct np_replay_op {
	np_ns start;
	np_ns end;
	uint32_t behind; /* slot of the operator that held it up; NO_SLOT for none */
};

/* A mark while the program is built: where it is, in work done since the rank began. */
struct draft {
	np_ns at[NP_WORK_KINDS];
	np_ns place; /* Σ of at: marks are in its order */
	uint32_t slot;
	uint32_t cell;
	uint32_t kind;
	uint32_t order; /* among marks of one place */
};

typedef NP_VEC(struct draft) drafts;

/* Everything that a rank did, as drafts; adds its cells to the replay. */
int replay_draft(struct np_replay *replay, uint32_t rank, drafts *ret, struct np_err *err)
	NP_MUST_USE;

/*
 * Operators that started right behind another of their communicator were ready
 * before: move their starts to where they probably were. `all` is by rank.
 */
int replay_advance_starts(struct np_replay *replay, drafts *all, struct np_err *err) NP_MUST_USE;

#endif /* NP_REPLAY_PRIVATE_H */
