/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_COMM_SUMS_H
#define NP_COMM_SUMS_H

#include "npuprof/cluster.h"
#include "npuprof/waits.h"

/*
 * Communication by communicator and step
 * ======================================
 *
 * What the operators of a communicator took in a step, moved and waited, summed over
 * the observed ranks; and the same by communicator or by role alone.
 */
struct np_comm_sum {
	const struct np_communicator *communicator;
	np_str step;
	size_t ops;
	size_t ranks;
	int32_t last_rank; /* while summing */
	int64_t bytes;
	int64_t moved_bytes;
	np_ns moved_time;
	np_ns elapsed;
	np_ns wait; /* NP_UNKNOWN without an estimator */
	np_ns transit;
	np_ns exposed;
	np_ns overlapped;
	np_ns computing;
	const char *estimator; /* "aligned", "clock-free", "tasks", "none" */
};

struct np_comm_sums {
	NP_VEC(struct np_comm_sum) list; /* by communicator, then step */
};

int np_comm_sums_measure(const struct np_cluster *cluster, struct np_comm_sums *ret,
			 struct np_err *err) NP_MUST_USE;

/* Replace the waits, so far from sub-tasks alone, by those of the matched instances. */
void np_comm_sums_set_waits(const struct np_cluster *cluster, const struct np_align *align,
			    const struct np_waits *waits, struct np_comm_sums *sums);

/* Each communicator over all steps, the longest elapsed first; `step` means nothing there. */
int np_comm_sums_total(const struct np_comm_sums *sums, struct np_comm_sums *ret,
		       struct np_err *err) NP_MUST_USE;

/*
 * All communicators of one role ("tp", "dp" …) in each step together; `communicator`
 * is the first of them. A rank that is in two of them computes for both.
 */
int np_comm_sums_roles(const struct np_comm_sums *sums, struct np_comm_sums *ret,
		       struct np_err *err) NP_MUST_USE;
void np_comm_sums_release(struct np_comm_sums *sums);

/* elapsed / computing; NaN when computing is not known or 0. */
double np_comm_compute_ratio(const struct np_comm_sum *sum);

#endif /* NP_COMM_SUMS_H */
