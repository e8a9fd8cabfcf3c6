/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SYN_OVERLAP_H
#define SYN_OVERLAP_H

#include "intervals.h"
#include "sim/synth/world/stream.h"

/*
 * The overlap lane: unions of kernels and of operators over the whole capture,
 * what of the latter is not under the former, and the gaps. With schema 1.2 the
 * gaps begin and end with the first and last task that is not a kernel, if those
 * lie outside; before, with the first and last of the unions.
 */
enum syn_lane {
	SYN_LANE_COMPUTING,
	SYN_LANE_COMMUNICATION,
	SYN_LANE_EXPOSED,
	SYN_LANE_FREE,
	SYN_LANES,
};

struct syn_overlap {
	struct syn_intervals computing;
	struct syn_intervals communication;
	np_ns first_ns; /* of tasks that are not kernels */
	np_ns last_ns;
};

void syn_overlap_init(struct syn_overlap *overlap);
void syn_overlap_release(struct syn_overlap *overlap);

int syn_overlap_task(struct syn_overlap *overlap, const struct syn_task *task, struct np_err *err)
	NP_MUST_USE;
int syn_overlap_comm(struct syn_overlap *overlap, const struct syn_comm_event *comm,
		     struct np_err *err) NP_MUST_USE;

/* Everything was noted: one part of the lane into `ret`, in order of time. */
int syn_overlap_lane(struct syn_overlap *overlap, const struct syn_config *config,
		     enum syn_lane lane, struct syn_intervals *ret, struct np_err *err) NP_MUST_USE;

#endif /* SYN_OVERLAP_H */
