/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_REPLAY_PROGRAM_H
#define NP_REPLAY_PROGRAM_H

#include "npuprof/align.h"
#include "npuprof/clock.h"
#include "npuprof/replay.h"

/*
 * From a recording to a program
 * =============================
 *
 * Ranks are drafted one by one (replay_draft.c), starts are moved to where they
 * belong (replay_starts.c), and the marks of all ranks are brought into one order
 * (replay_order.c). Which of them can come next depends on what waits for what, and
 * not on how long anything takes, so the order is that of every scenario: running one
 * (replay_run.c) is a single pass over arrays.
 *
 * While an operator is under way its time is in a room: first that of its start,
 * then, once its instance is done, that of its end. A room that nobody looks into
 * any more is used again, so there are few, and they stay in the caches.
 */
enum mark_kind {
	MARK_START, /* of an operator */
	MARK_BLOCK, /* until an operator has ended */
	MARK_STEP,  /* a step has ended */
	MARK_WORK,  /* nothing but work that did not fit */
	MARK_QUEUE, /* an operator starts after another, or its own mark; or ends: queue_what */
	/* Only in the order of all ranks: */
	MARK_FORCE, /* a rank goes on although the operator has not ended */
	MARK_DONE,  /* all members of an instance have started: it ends */
	/* Of ranks as well: */
	MARK_BEGIN, /* a step begins: the last work is NP_WORK_BETWEEN, of the step before */
};

/* Kinds of work that marks have. */
#define MARK_WORKS 4

/* MARK_BEGIN: how the time counts in the sum of iterations, instead of a slot or room. */
enum begin_counts {
	BEGIN_NOT,
	BEGIN_FROM,  /* of this step: it is taken off */
	BEGIN_FIRST, /* likewise, of the first step of the rank */
	BEGIN_TO,    /* of the step before: it is added */
	BEGIN_GAP,   /* steps before it were not captured: the work is that time */
};

/* MARK_QUEUE: what becomes of the room. */
enum queue_what {
	QUEUE_START, /* it is not before */
	QUEUE_END,   /* it is that of the end of the operator, which waits for nobody */
};

struct np_rank;

struct np_replay_mark {
	union {
		/* Since the mark before of the rank, ns. */
		uint32_t work[MARK_WORKS];
		/* MARK_DONE: the next `count` of np_replay.members are its own. */
		struct {
			uint32_t instance;
			uint32_t count;
			uint32_t root; /* room */
		};
		/* MARK_QUEUE */
		struct {
			uint32_t behind; /* room; its own: it starts so much later */
			uint32_t gap;    /* from that end, or mark, to the start, ns */
		};
	};
	uint32_t cell : 29; /* MARK_QUEUE: enum queue_what */
	uint32_t kind : 3;  /* enum mark_kind */
	union {
		uint32_t slot; /* of the operator, while ranks are drafted; */
		uint32_t room; /* in the order of all ranks */
	};
};

#define NO_ROOM UINT32_MAX

/* What the end of a member counts from. */
enum member_wait {
	WAIT_LAST, /* the last start of all */
	WAIT_SELF, /* its own start */
	WAIT_ROOT, /* that of the root, or its own if that is later */
	/*
	 * A receive out of a buffer: `after_high` from the start of the send, or `after_low` from
	 * its own, whichever is later. The root of its mark is the send.
	 */
	WAIT_BUFFER,
};

struct np_replay_member {
	uint32_t room : 30;
	uint32_t wait : 2; /* enum member_wait */
	uint32_t after_low;
	int32_t after_high;
};

/* From what a member waits for to its end. */
static inline np_ns member_after(const struct np_replay_member *member)
{
	return (np_ns)((uint64_t)(uint32_t)member->after_high << 32 | member->after_low);
}

struct np_replay_rank {
	uint32_t first_cell;
	bool any;    /* it did something */
	np_ns begin; /* on the common clock, of all that were captured from the same step on */
	np_ns end;
	/* From there to its own begin. */
	np_ns late_host;  /* what it is later than the first of its stage */
	np_ns late_other; /* the rest */
	/* From its first begin to its last one, as it was; NP_UNKNOWN without a first iteration. */
	np_ns iterated;
};

#define NO_SLOT UINT32_MAX

/* The marks of one rank. */
typedef NP_VEC(struct np_replay_mark) rank_marks;

/* A member that waits for something else, or takes another time, than it seems. */
struct np_replay_settled {
	np_ns after; /* the last start */
	uint32_t slot;
	uint32_t wait; /* enum member_wait */
	int32_t own;   /* WAIT_BUFFER: from its own start … */
	int32_t sent;  /* … and from that of the send */
};

/* A member that was not profiled, and that an instance waits for. */
struct np_replay_absent {
	np_ns gap;         /* it comes so long after */
	uint32_t instance; /* what it comes to */
	uint32_t behind;   /* slot of what it left; NO_SLOT: after the first begin of all */
	uint32_t room;     /* its own, which nobody else has: while ranks are ordered */
};

/* Find the settled members and the absent ones: replay_members.c, replay_absent.c. */
int replay_settle_members(struct np_replay *replay, struct np_err *err) NP_MUST_USE;
int replay_settle_absent(struct np_replay *replay, struct np_err *err) NP_MUST_USE;

/* Likewise messages into a buffer: replay_buffered.c. Batches are settled already. */
int replay_settle_buffered(struct np_replay *replay, struct np_err *err) NP_MUST_USE;

/* The receive of a message of which both ends are known and not settled; NO_SLOT for none. */
uint32_t replay_receive(const struct np_replay *replay, const struct np_instance *instance);

/* The settled member, or NULL. */
const struct np_replay_settled *replay_settled(const struct np_replay *replay, uint32_t slot);

/* The other one of the two ends of a message. */
static inline uint32_t replay_other_end(const struct np_instance *instance, uint32_t slot)
{
	return slot == instance->first ? slot + 1 : instance->first;
}

/* Bring the marks of all ranks into one order: the program. */
/* What ranks compute beyond their peers in one place of a step is surplus there. */
int replay_place_excess(struct np_replay *replay, rank_marks *marks, size_t ranks,
			struct np_err *err) NP_MUST_USE;

int replay_order(struct np_replay *replay, const rank_marks *ranks, struct np_err *err) NP_MUST_USE;

/* Steps that not all ranks have: replay_steps.c. */
int replay_find_steps(struct np_replay *replay, struct np_err *err) NP_MUST_USE;

/* What is left out of each step of a rank, NP_STEP_…, to be freed; NULL where nothing is. */
int replay_left_out(const struct np_replay *replay, const struct np_rank *rank, uint8_t **ret,
		    struct np_err *err) NP_MUST_USE;

/* The mean span of a step, where no step has an iteration, of what all of them took. */
static inline np_ns replay_span(const struct np_replay *replay, np_ns total)
{
	return (total - replay->uncaptured) / (replay->steps > 0 ? (np_ns)replay->steps : 1);
}

/* What the recorded end of a member counts from, and how long after that it was. */
enum member_wait replay_wait(const struct np_replay *replay, const struct np_instance *instance,
			     uint32_t slot, np_ns last, np_ns *ret_after);

#endif /* NP_REPLAY_PROGRAM_H */
