/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_FLOWS_H
#define NP_FLOWS_H

#include "npuprof/root_cause.h"

/*
 * Root cause → communicator → who waited
 * ======================================
 *
 * The waiting in every communicator from both sides: which ranks it goes back to,
 * and which ranks waited. Charges by arrival are passed on to their root causes in
 * the proportions in which root_cause.h passed on those of each rank, so that a
 * rank which was itself kept waiting is not named for what it was not the cause of.
 *
 * Of each communicator the causes sum to the waiting, to the nanosecond.
 */

/* In place of the index of a rank: members that were not profiled; nobody that is known. */
#define NP_FLOW_UNPROFILED   UINT32_MAX
#define NP_FLOW_UNATTRIBUTED (UINT32_MAX - 1)

struct np_flow {
	uint32_t of;   /* index in np_align.communicators; of a step, in np_cluster.steps */
	uint32_t rank; /* index in the run, or one of the above */
	np_ns ns;      /* more than 0 */
};

typedef NP_VEC(struct np_flow) np_flow_list;

struct np_flows {
	np_flow_list causes; /* by communicator, then rank */
	np_flow_list waits;  /* likewise */
	np_flow_list steps;  /* what ranks are charged with by step, as root causes; then by rank */
};

int np_flows_measure(const struct np_cluster *cluster, const struct np_align *align,
		     const struct np_waits *waits, const struct np_charges *charges,
		     const struct np_root_causes *causes, struct np_flows *ret, struct np_err *err)
	NP_MUST_USE;
void np_flows_release(struct np_flows *flows);

#endif /* NP_FLOWS_H */
