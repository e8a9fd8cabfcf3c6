/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_ROOT_CAUSE_PROGRESS_H
#define NP_ROOT_CAUSE_PROGRESS_H

/* What every rank had done by any moment, by sums over its activity. */
#include "npuprof/activity.h"
#include "npuprof/align.h"
#include "npuprof/waits.h"

/* What a rank can spend time on before it arrives. */
enum spent {
	SPENT_COMPUTE,
	SPENT_HOST,
	SPENT_TRANSFER,
	SPENT_UNKNOWN,
	SPENT_WAIT,
	SPENT_KINDS,
};

struct spent_sum {
	np_ns by[SPENT_KINDS];
};

/* An operator in which a rank waited. */
struct waited {
	uint32_t op;
	np_ns ns;
};

/*
 * What each rank had done by any moment: sums from the beginning of its record,
 * kept for every so many segments, so that a window is the difference of two.
 */
struct progress_cell {
	np_ns begin;
	np_ns end;
	uint32_t cell; /* index in np_activity.cells */
	uint32_t first_mark;
	uint32_t first_exposed_mark;
	struct spent_sum before; /* at begin */
};

/*
 * Of a rank of which only operators are known: before an operator, how far they
 * reach, and what of that they waited and transferred. The rest is unknown.
 */
struct progress_mark {
	np_ns reached;
	np_ns wait;
	np_ns transfer;
};

struct progress_rank {
	NP_VEC(struct progress_cell) cells; /* by device, then time */
	NP_VEC(struct spent_sum) marks;     /* at every 8th segment of a cell, within the cell */
	NP_VEC(struct spent_sum) exposed_marks;
	struct progress_mark *op_marks; /* at every 8th operator; without cells */
};

struct progress {
	const struct np_align *align;
	const struct np_waits *waits;
	struct progress_rank *ranks;
	struct np_late_begin *late; /* by rank: the host's time before it began */
	uint32_t *wait;             /* by at: see progress_wait() */
};

int progress_init(struct progress *progress, const struct np_align *align,
		  const struct np_clock *clock, const struct np_waits *waits, size_t threads,
		  struct np_err *err) NP_MUST_USE;
void progress_release(struct progress *progress);

#define PROGRESS_UNKNOWN ((UINT32_C(1) << 30) - 1)
#define PROGRESS_LONG    (PROGRESS_UNKNOWN - 1)
/* Bits beside: no operator before it ends after it; none before it ends after it started. */
#define PROGRESS_LAST  (UINT32_C(1) << 31)
#define PROGRESS_CLEAR (UINT32_C(1) << 30)

/* What an operator waited: as in np_waits, but neighbours in time are neighbours here. */
static inline np_ns progress_wait(const struct progress *progress, uint32_t rank, uint32_t op)
{
	uint32_t wait = progress->wait[progress->align->rank_first[rank] + op] & PROGRESS_UNKNOWN;

	if (wait < PROGRESS_LONG)
		return wait;
	if (wait == PROGRESS_UNKNOWN)
		return NP_UNKNOWN;
	return progress->waits->wait[np_align_slot(progress->align, rank, op)];
}

/* Had all operators before this one ended when it started? */
static inline bool progress_is_clear(const struct progress *progress, uint32_t rank, uint32_t op)
{
	return progress->wait[progress->align->rank_first[rank] + op] & PROGRESS_CLEAR;
}

/*
 * What a rank (by index) did from the end of its operator `since` (UINT32_MAX:
 * from the beginning) to the start of its operator `until`.
 */
struct spent_sum progress_between(const struct progress *progress, uint32_t rank, uint32_t since,
				  uint32_t until);

/* The operators in which it waited in that time. */
typedef NP_VEC(struct waited) waited_list;
int progress_waited(const struct progress *progress, uint32_t rank, uint32_t since, uint32_t until,
		    waited_list *ret, struct np_err *err) NP_MUST_USE;

/*
 * Did the rank stand still until the operator ended? Then it went on from a known
 * place of its program, where all others went on too.
 */
bool progress_blocked(const struct progress *progress, uint32_t rank, uint32_t op);

/* --- of progress: ranks of which only operators are known ---------------------------------------
 */

#define PROGRESS_MARK_EVERY 8

/* How much of a piece of an operator is wait: the first `wait` nanoseconds of it are. */
static inline np_ns progress_waiting(const struct progress *progress, uint32_t rank,
				     struct np_exposed piece, np_ns wait)
{
	np_ns arrival = progress->align->run->ranks[rank]->ops.item[piece.op].start + wait;

	if (arrival >= piece.end)
		return piece.end - piece.begin;
	return arrival > piece.begin ? arrival - piece.begin : 0;
}

#endif /* NP_ROOT_CAUSE_PROGRESS_H */
