/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_BOTTLENECK_H
#define NP_BOTTLENECK_H

#include "mode.h"

/* Operators that took long on one rank, and what is kept of the ranks they are explained by. */

/* One operator of the target. */
struct suspect {
	struct np_member target;
	struct np_member slow; /* the shortest */
	struct np_member fast; /* the longest */
	size_t ranks;
	bool even;
	bool message; /* between two stages of a pipeline, whose tasks differ anyway */
};

struct suspects {
	NP_VEC(struct suspect) list;
	bool *wanted; /* by index of the rank: its events are needed */
};

/* When others waited for the slow rank, on its clock: from the arrival of the fast one on. */
struct np_span suspect_wait(const struct np_modes *modes, const struct suspect *suspect);

struct event {
	np_ns start;
	np_ns end;
	np_str name; /* of the run */
};

struct events {
	NP_VEC(struct event) list; /* by start, end */
};

/* A kernel's way from the framework to the device. */
struct launch {
	np_ns device;
	bool late; /* it was ready long before the device took it */
};

/*
 * What a rank did before the operators it is looked at for, and how the kernels
 * were launched that ran while others waited for it.
 */
struct history {
	struct events device;
	struct events host;
	NP_VEC(struct launch) launches;
};

int history_take(struct mode_rank *rank, const struct suspects *suspects, struct history *ret)
	NP_MUST_USE;
void history_release(struct history *history);

#endif /* NP_BOTTLENECK_H */
