/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SYN_TRUTH_H
#define SYN_TRUTH_H

#include "account.h"

/*
 * truth.json: what an analysis of the written files should find.
 */
struct syn_truth_step {
	int64_t id;
	np_ns start_ns;
	np_ns end_ns;
	struct syn_totals totals;
};

/* Of one rank; also the sink that fills it. */
struct syn_truth {
	struct syn_sink base;
	struct syn_account account;
	NP_VEC(struct syn_truth_step) steps;
};

void syn_truth_init(struct syn_truth *truth);
void syn_truth_release(struct syn_truth *truth);

/* Write truth.json from the truths of all ranks, in order; those not written have no steps. */
int syn_truth_write(const struct syn_timeline *timeline, const struct syn_truth *truths,
		    struct np_err *err) NP_MUST_USE;

#endif /* SYN_TRUTH_H */
