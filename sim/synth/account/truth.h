/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SYN_TRUTH_H
#define SYN_TRUTH_H

#include "account.h"
#include "bubble.h"

/*
 * truth.json: what an analysis of the written files should find.
 */
struct syn_truth_step {
	int64_t id;
	np_ns start_ns;
	np_ns end_ns;
	struct syn_totals totals;
	struct syn_bubble bubble;
	size_t first_work; /* of its experts' */
};

/* What the experts of a rank got between two exchanges of tokens. */
struct syn_truth_work {
	int64_t tokens; /* once for every kernel */
};

/* Of one rank; also the sink that fills it. */
struct syn_truth {
	struct syn_sink base;
	const struct syn_config *config;
	struct syn_place place;
	struct syn_account account;
	struct syn_bubble_account bubble;
	NP_VEC(struct syn_truth_step) steps;
	NP_VEC(struct syn_truth_work) works;
	size_t first_work; /* of the present step */
	bool exchanged;    /* tokens, since the last kernel of an expert */
	/* Of the caching allocator; NP_UNKNOWN without --snapshot. */
	int64_t peak_allocated;
	int64_t peak_reserved;
};

void syn_truth_init(struct syn_truth *truth, const struct syn_config *config, int32_t rank);
void syn_truth_release(struct syn_truth *truth);

/* Write truth.json from the truths of all ranks, in order; those not written have no steps. */
int syn_truth_write(const struct syn_timeline *timeline, const struct syn_truth *truths,
		    struct np_err *err) NP_MUST_USE;

#endif /* SYN_TRUTH_H */
