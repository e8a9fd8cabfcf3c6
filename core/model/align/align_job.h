/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_ALIGN_JOB_H
#define NP_ALIGN_JOB_H

/*
 * Inside of the matching: communicators.c finds communicators, align.c hands each to
 * a job, align_lanes.c splits its operators into lanes, align_match.c matches these
 * and makes instances of them; align_sequence.c aligns two orders that differ, by
 * windows where they cannot be followed along each other (align_follow.c).
 */
#include "npuprof/align.h"
#include "npuprof/communicators.h"
#include "npuprof/workers.h"

/* What an operator is compared by. */
struct align_item {
	np_ns end;
	uint64_t size; /* bytes and data type */
	np_str type;
	np_str step;
};

#define ALIGN_NONE UINT32_MAX

static inline bool align_same(const struct align_item *a, const struct align_item *b)
{
	return a->type == b->type && a->size == b->size;
}

/*
 * Align by walking both along, which does for most; as align_sequences(), but
 * false, with nothing changed, where the ends or the steps do not agree so. Gives
 * what ends that belong together are apart at most.
 */
bool align_follow(const struct align_item *base, size_t base_count, struct align_item *item,
		  size_t count, uint32_t *to, np_ns *ret_apart);

/*
 * Align `item` (count) with the sequence `base`: to[i] becomes the place in
 * `base` of the i-th, ascending, or ALIGN_NONE. Ends of `item` are moved to the
 * clock of `base`.
 */
int align_sequences(const struct align_item *base, size_t base_count, struct align_item *item,
		    size_t count, uint32_t *to, struct np_err *err) NP_MUST_USE;

/* --- of align_sequences(): how a window lies -----------------------------------------------------
 */

#define ALIGN_WINDOW 64

struct align_pair {
	const struct align_item *base;
	size_t base_count;
	struct align_item *item;
	size_t count;
	uint32_t *to;
};

/* How a window lies on the base. */
struct align_fit {
	ptrdiff_t shift; /* place in the base − place in the sequence: the least … */
	ptrdiff_t most;  /* … and the most of it */
	int score;
	int top;      /* the best score of any shift */
	np_ns offset; /* to add to the sequence's times */
	np_ns spread;
	np_ns at; /* the time, on the sequence's clock, that the offset is of */
};

/* --- one communicator ----------------------------------------------------------------------------
 */

/* Operators of one rank that are to be matched with those of other ranks, in their order. */
struct align_lane {
	uint32_t rank;
	uint32_t local; /* rank in the communicator + 1; 0 when not known */
	uint32_t count;
	const uint32_t *ops;
	uint64_t types; /* digests of the sequences of types and of sizes */
	uint64_t sizes;
	uint32_t *to; /* place of each operator; NULL: as in the reference */
};

struct align_class {
	np_str type;
	enum np_rule rule;
	bool sized;    /* members of an instance have one size */
	bool receives; /* the other half of a send */
};

#define ALIGN_CLASSES 16

/* The job of one communicator. */
struct align_job {
	const struct np_align *align;
	const struct np_align_communicator *communicator;
	uint32_t index;            /* of the communicator */
	struct np_member *members; /* its slots */
	uint32_t used;             /* slots */
	NP_VEC(struct np_instance) instances;
	NP_VEC(struct np_align_finding) findings;
	struct np_coverage *coverage; /* its rows, by rank */
	size_t coverage_count;
	struct align_class classes[ALIGN_CLASSES]; /* by type, modulo: a job sees a handful */
	struct np_err *err;
};

/*
 * Match the lanes of a communicator's collectives, or of a pair's messages;
 * appends instances and members and adds to the coverage. Lanes are by rank.
 */
int align_match(struct align_job *job, struct align_lane *lanes, size_t count, bool messages)
	NP_MUST_USE;

/* What the type of an operator tells. */
const struct align_class *align_class(struct align_job *job, np_str type);

/* Matching is deterministic, so any mixing will do that spreads well. */
static inline uint64_t align_mix(uint64_t digest, uint64_t value)
{
	digest ^= value + UINT64_C(0x9e3779b97f4a7c15) + (digest << 6) + (digest >> 2);
	digest *= UINT64_C(0xff51afd7ed558ccd);
	return digest ^ (digest >> 32);
}

/* Lanes while they are matched. */
struct align_matching {
	struct align_job *job;
	struct align_lane *lanes;
	size_t count;
	bool messages;
	const struct align_lane *reference;
	bool irregular; /* some lane differs from the reference */
	bool unequal;   /* some lane differs in sizes only */
	/* The reference as it has grown, and the id of each of its places. Empty while regular. */
	struct align_item *base;
	uint32_t *ids;
	size_t places;
	uint32_t id_count;
	/* By id. */
	uint32_t *members;
	uint32_t *cursor;
};

static inline const struct np_comm_op *align_op_of(const struct align_matching *match,
						   const struct align_lane *lane, size_t i)
{
	return &match->job->align->run->ranks[lane->rank]->ops.item[lane->ops[i]];
}

static inline uint64_t align_size_of(const struct align_matching *match,
				     const struct np_comm_op *op)
{
	if (!match->job->communicator->sizes || !align_class(match->job, op->type)->sized)
		return 0;
	return align_mix((uint64_t)op->bytes, op->data_type);
}

/* Send and receive are the two halves of one message. */
static inline np_str align_type_of(const struct align_matching *match, const struct np_comm_op *op)
{
	return match->messages ? NP_STR_NONE : op->type;
}

static inline np_str align_step_of(const struct align_matching *match,
				   const struct align_lane *lane, const struct np_comm_op *op)
{
	const struct np_rank *rank = match->job->align->run->ranks[lane->rank];

	return op->step == NP_NO_STEP ? NP_STR_NONE : rank->steps.item[op->step].id;
}

/* --- all communicators ---------------------------------------------------------------------------
 */

/* The matching of a run. */
struct align_build {
	struct np_align *align;
	const struct np_run *run;
	struct np_communicators communicators;
	uint32_t *rows;    /* of the coverage, as communicators.uses */
	uint32_t *ops;     /* operators by row of the coverage, then time */
	uint32_t *row_ops; /* first of a row in `ops` */
	struct align_job *jobs;
	struct np_err *errs;
	struct np_workers workers;
	struct np_err *err;
};

/* Split the operators of a communicator into lanes and match them. */
int align_match_communicator(struct align_build *build, struct align_job *job) NP_MUST_USE;

#endif /* NP_ALIGN_JOB_H */
