/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_SPREAD_H
#define NP_SPREAD_H

#include "npuprof/cluster.h"
#include "npuprof/iteration.h"

/*
 * How far the ranks are apart
 * ===========================
 *
 * For one quantity of the step times: the least, the median and the most over
 * the ranks, and which ranks are the extremes (the lowest id where several are).
 */

struct np_step_time;

enum np_quantity {
	NP_Q_COMPUTING,
	NP_Q_EXPOSED, /* communication that computing does not hide */
	NP_Q_FREE,
	NP_Q_BUBBLE,
	NP_Q_SPAN,
	NP_Q_STEP,      /* on the basis of the run: iteration or span */
	NP_Q_BETWEEN,   /* of steps with an iteration */
	NP_Q_PREPARING, /* as far as it is not negative: clocks of host and device differ */
	NP_Q_COUNT,
};

struct np_spread {
	size_t ranks; /* 0: nobody knows the quantity, and the rest is not set */
	np_ns least;
	np_ns median; /* the lower one of two */
	np_ns most;
	int32_t least_rank;
	int32_t most_rank;
};

/* The rank that had the most of a quantity in the most steps. */
struct np_longest {
	int32_t rank;
	size_t steps; /* 0: there are no two ranks to compare, and the rest is not set */
	double over;  /* what it had over the median rank in these steps, as a share, on average */
};

/* All of that for a run. */
struct np_spreads {
	enum np_basis basis;
	struct np_spread (*steps)[NP_Q_COUNT]; /* by step of the cluster */
	/*
	 * Over all ranks and steps, as far as known; of the step the iteration, and the
	 * span of those that have none: all the time that there is to share out.
	 */
	np_ns total[NP_Q_COUNT];
	np_ns between[NP_BETWEEN_KINDS]; /* likewise */
	struct np_longest longest;       /* in computing */
};

int np_spreads_measure(const struct np_cluster *cluster, struct np_spreads *ret, struct np_err *err)
	NP_MUST_USE;
void np_spreads_release(struct np_spreads *spreads);

#endif /* NP_SPREAD_H */
