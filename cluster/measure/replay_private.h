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
	uint32_t slot;     /* of the operator */
	uint32_t instance; /* that it belongs to */
	uint32_t cell : 30;
	uint32_t kind : 2;            /* enum mark_kind */
	uint32_t work[NP_WORK_KINDS]; /* since the mark before, ns */
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
	uint32_t instance;
};

/*
 * By slot: what a running world needs of an operator, and no more, since memory is
 * what it waits for.
 */
struct np_replay_rule {
	np_ns after;        /* from what it waits for to its end */
	uint32_t ahead;     /* slot of the operator that queues behind it; NO_SLOT for none */
	uint32_t gap : 30;  /* that it starts after the end of what it queues behind, ns */
	uint32_t held : 1;  /* it queues behind another */
	uint32_t eager : 1; /* it waits for nobody but itself */
};

/* A mark while the program is built: where it is, in work done since the rank began. */
struct draft {
	np_ns at[NP_WORK_OTHER]; /* computing, waiting for the host */
	np_ns place;             /* of all kinds of work: marks are in its order */
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

/* What operators wait for, from their times and what they queue behind. */
void replay_find_rules(struct np_replay *replay);

/* The index of a step in np_cluster.steps; SIZE_MAX for none. */
size_t replay_step_index(const struct np_cluster *cluster, np_str step);

/* Room for worlds that run, which is kept from one to the next. */
struct np_replay_rooms *replay_rooms_new(void) NP_MUST_USE;
void replay_rooms_free(struct np_replay_rooms *rooms);

#endif /* NP_REPLAY_PRIVATE_H */
