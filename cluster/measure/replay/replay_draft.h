/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_REPLAY_DRAFT_H
#define NP_REPLAY_DRAFT_H

/* A rank while its program is drafted: marks, and the work between them. */
#include "replay_program.h"

#include "npuprof/align.h"

/* A mark while the rank is drafted: where it is, in work done since the rank began. */
struct draft {
	np_ns at[NP_WORK_OTHER]; /* computing, waiting for the host */
	np_ns place;             /* of all kinds of work: marks are in its order */
	np_ns lag;               /* of a start: how long the rank had stood still by then */
	np_ns between;           /* of MARK_BEGIN: of the work since the mark before */
	uint32_t slot;
	uint32_t cell;
	uint32_t kind;
	uint32_t order; /* among marks of one place */
};

typedef NP_VEC(struct draft) drafts;

/* Everything that a rank did. Its times are local. */
struct rank_draft {
	drafts marks;
	NP_VEC(struct np_replay_cell) cells; /* draft.cell is an index of these */
	np_ns begin;                         /* NP_UNKNOWN for a rank that did nothing */
	np_ns end;
	size_t iterations; /* steps with one */
	np_ns iterated;    /* their sum */
	np_ns reached;     /* by them from the first; NP_UNKNOWN where that has none */
	bool timed;        /* it has intervals */
};

/* How a rank with intervals stood still until an operator ended. */
enum stood_how {
	STOOD_NOT,
	STOOD_FOR_OP,
	STOOD_LATE,     /* thereafter it had still to wait for its host: perhaps all the time */
	STOOD_FOR_HOST, /* yes: it is to be drafted so */
};

/* By slot. */
struct stood {
	float share; /* of the computing of its step that was done by then */
	uint8_t how; /* enum stood_how */
};

/* `late` is how much later than others the rank began; NULL while that is not known. */
int replay_draft(const struct np_replay *replay, uint32_t index, const struct np_replay_rank *late,
		 struct stood *stood, struct rank_draft *ret, struct np_err *err) NP_MUST_USE;
void rank_draft_release(struct rank_draft *draft);

/*
 * Operators that started right behind another of their communicator were ready
 * before. To find out when: how much of the work of its step a rank had done at each
 * start, by slot (NaN where nothing is known) …
 */
void replay_see_starts(const struct rank_draft *draft, double *shares);

/* … and, from the members that were not held up, the same of those that were. */
int replay_settle_starts(const struct np_replay *replay, const struct np_align_communicator *each,
			 double *shares, struct np_err *err) NP_MUST_USE;

/* How far a rank had got when it stood still for operators. */
void replay_see_stops(const struct rank_draft *draft, struct stood *stood);

/* Move the starts of a rank to where they belong. */
int replay_move_starts(const struct np_replay *replay, const double *shares,
		       struct rank_draft *draft, struct np_err *err) NP_MUST_USE;

#endif /* NP_REPLAY_DRAFT_H */
