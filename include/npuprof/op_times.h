/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_OP_TIMES_H
#define NP_OP_TIMES_H

#include "npuprof/base.h"

/*
 * Times of a communication operator, or the sums of many, as the vendor's tables
 * show them. What is not known of single operators is left out of a sum; the sum
 * is unknown only if it is so of all of them.
 */

struct np_rank;

struct np_op_times {
	size_t ops;
	np_ns elapsed;
	np_ns transit;
	np_ns wait;
	np_ns sync;
};

#define NP_OP_TIMES_INIT \
	((struct np_op_times){ .elapsed = NP_UNKNOWN, \
			       .transit = NP_UNKNOWN, \
			       .wait = NP_UNKNOWN, \
			       .sync = NP_UNKNOWN })

/* Add the operator of this index in np_rank.ops. */
void np_op_times_add(struct np_op_times *sum, const struct np_rank *rank, size_t index);

/* What is left of the elapsed time without transit and wait; NP_UNKNOWN without either. */
np_ns np_op_times_idle(const struct np_op_times *times);

/* part / (part + transit) in four digits, 0 where both are 0, NaN where one is unknown. */
double np_op_ratio(np_ns part, np_ns transit);

/* Bytes per nanosecond, which are gigabytes per second; NaN when either is unknown or no time
 * passed. */
double np_gb_per_s(int64_t bytes, np_ns time);

/* np_gb_per_s() in four digits as in the vendor's tables, 0 where no time passed. */
double np_band_gb_per_s(int64_t bytes, np_ns time);

#endif /* NP_OP_TIMES_H */
