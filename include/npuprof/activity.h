/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_ACTIVITY_H
#define NP_ACTIVITY_H

#include "npuprof/spans.h"
#include "npuprof/strtab.h"
#include "npuprof/vec.h"

/*
 * What a rank did, nanosecond by nanosecond
 * =========================================
 *
 * The span of a step on a device, each nanosecond once: it belongs to
 * computing, else to communication, else to memcpy, else it is free. When
 * several kernels run at once the nanosecond is that of the one that started
 * first, and so among operators.
 *
 * Kernels are gone after loading; this is what is left of them, cut at every
 * start and end of a communication operator, so its size follows the operators,
 * and where the window of the next step begins. Between two cuts (a segment) at
 * most one operator owns what is exposed.
 *
 *	cell      one device in one step: np_rank.times has the same index
 *	segment   from one cut to the next
 *	share     what one leaf got of a segment; the shares of a segment sum to its length
 *	exposed   pieces of operators that nothing hides, with their times, since
 *	          they are divided into wait and transfer only after alignment
 *
 * A kernel of another stream may hide what the main stream waits for: of each exposed
 * piece it is kept when the main compute stream, the one that computes longest in the
 * cell, went on. An operator that is under way while the host launches nothing shows as well:
 * how much of a piece that is, is kept, too.
 *
 * Of a cell the shares sum to np_step_time.span, those of computing to
 * .computing, those of operators to .communication_not_overlapped, and memcpy
 * and what is free to .free.
 *
 * A rank without intervals (only step and communication files) has none of this.
 */
enum np_leaf_kind {
	NP_LEAF_COMPUTE,         /* with the operator type */
	NP_LEAF_COMM,            /* with the operator */
	NP_LEAF_MEMCPY,          /* copies that belong to no communication operator */
	NP_LEAF_FREE_HOST,       /* the call that launched the next task had not yet returned */
	NP_LEAF_FREE_DATALOADER, /* likewise, while the host loaded data */
	NP_LEAF_FREE_OTHER,      /* launched, and yet not started */
	NP_LEAF_FREE_UNKNOWN,    /* nothing says who launched the next task */
	NP_LEAF_KINDS,
};

/*
 * Kind and what it is of: np_str of the type (computing; NP_STR_NONE where it was
 * not recorded), index in np_rank.ops (communication; NP_LEAF_NOBODY for an
 * operator that is not there).
 */
typedef uint32_t np_leaf;

#define NP_LEAF_BITS 29

#define NP_LEAF_NOBODY ((UINT32_C(1) << NP_LEAF_BITS) - 1)

static inline np_leaf np_leaf_make(enum np_leaf_kind kind, uint32_t of)
{
	return (np_leaf)kind << NP_LEAF_BITS | (of < NP_LEAF_NOBODY ? of : NP_LEAF_NOBODY);
}

static inline enum np_leaf_kind np_leaf_kind(np_leaf leaf)
{
	return (enum np_leaf_kind)(leaf >> NP_LEAF_BITS);
}

static inline uint32_t np_leaf_of(np_leaf leaf)
{
	return leaf & NP_LEAF_NOBODY;
}

struct np_share {
	np_leaf leaf;
	uint32_t ns; /* longer ones take several shares */
};

struct np_segment {
	np_ns begin;    /* up to the begin of the next, or the end of the cell */
	uint32_t first; /* share; up to the first of the next segment */
};

/*
 * Kernels may leave many small gaps in which an operator shows. Those that begin
 * in one sixteenth of it are one piece as long as they are together, which ends
 * where the last of them does: their size must not follow the kernels.
 */
#define NP_EXPOSED_PIECES 16

struct np_exposed {
	np_ns begin;
	np_ns end;
	uint32_t op; /* index in np_rank.ops */
	/*
	 * From the end to the next start of a kernel of the main compute stream; of any
	 * stream where that has none any more; NP_EXPOSED_LAST where no kernel follows.
	 */
	uint32_t later;
	/*
	 * For so much of it the call that launched the next kernel had not yet returned:
	 * nothing could have been computed then, whatever the operator did.
	 */
	uint32_t host;
};

#define NP_EXPOSED_LAST UINT32_MAX

struct np_activity_cell {
	np_ns begin; /* of the span */
	np_ns end;
	uint32_t first_segment;
	uint32_t segments;
	uint32_t first_exposed;
	uint32_t exposed;
};

struct np_activity {
	NP_VEC(struct np_activity_cell) cells; /* by the index in np_rank.times */
	NP_VEC(struct np_segment) segments;    /* by cell, then time; one more ends the last */
	NP_VEC(struct np_share) shares;        /* by segment, kind, time */
	NP_VEC(struct np_exposed) exposed;     /* by cell, then time */
};

void np_activity_release(struct np_activity *activity);

/* --- building -------------------------------------------------------------------------------- */

/* A kernel, an operator or a copy of one cell. */
struct np_activity_task {
	np_ns start;
	np_ns end;
	np_ns launched; /* end of the call that launched it; NP_UNKNOWN when none is known */
	uint64_t tie;   /* of those that start at once the smallest comes first; see below */
	uint32_t of;    /* np_str of the type, or index of the operator */
};

/* Of kernels that start at once: the smaller stream, then the smaller task id. */
static inline uint64_t np_activity_tie(uint32_t stream, uint32_t task)
{
	return (uint64_t)stream << 32 | task;
}

/* The stream of a kernel. */
static inline uint32_t np_activity_stream(const struct np_activity_task *kernel)
{
	return (uint32_t)(kernel->tie >> 32);
}

/* What a device did in one step. The arrays are used up: sorted, and cut into pieces. */
struct np_activity_input {
	struct np_activity_task *kernels;
	size_t kernel_count;
	struct np_activity_task *ops;
	size_t op_count;
	struct np_activity_task *copies; /* that belong to no operator */
	size_t copy_count;
	/*
	 * What counts as computing and as communication where that is known better
	 * than from the tasks, which then only tell whose it is; else NULL.
	 */
	const struct np_spans *computing;
	const struct np_spans *communication;
	const struct np_spans
		*loading; /* when the host loaded data; may be NULL; of a whole cell */
};

/* Sort tasks by start, then tie, then end; quick where they are sorted. */
void np_activity_sort(struct np_activity_task *tasks, size_t count);

/*
 * A cell may be built in parts, each with all tasks that start before `until` and
 * were not in an earlier one; spans that are known better are for a cell in one
 * part. np_activity_end() appends the cell of the next entry of np_rank.times.
 * A builder serves one cell after another.
 */
struct np_activity_builder *np_activity_builder_new(void) NP_MUST_USE;
void np_activity_builder_free(struct np_activity_builder *build);
void np_activity_begin(struct np_activity_builder *build, struct np_activity *activity,
		       const struct np_spans *loading);
/* Before the part that reaches over it: a segment of the cell ends here. */
int np_activity_cut(struct np_activity_builder *build, np_ns at, struct np_err *err) NP_MUST_USE;
int np_activity_feed(struct np_activity_builder *build, struct np_activity_input *input,
		     np_ns until, struct np_err *err) NP_MUST_USE;
int np_activity_end(struct np_activity_builder *build, struct np_err *err) NP_MUST_USE;

/* A cell in one part. */
int np_activity_add(struct np_activity *activity, struct np_activity_input *input,
		    struct np_err *err) NP_MUST_USE;

/* All cells are there: give back the room that they did not need. */
int np_activity_finish(struct np_activity *activity, struct np_err *err) NP_MUST_USE;

/* --- changing -------------------------------------------------------------------------------- */

/* Make it consist of these cells, in this order. */
int np_activity_pick(struct np_activity *activity, const uint32_t *cells, size_t count,
		     struct np_err *err) NP_MUST_USE;

/* Operators have moved: the one at `i` is at place[i] now, or gone (NP_LEAF_NOBODY). */
void np_activity_move_ops(struct np_activity *activity, const uint32_t *place);

#endif /* NP_ACTIVITY_H */
