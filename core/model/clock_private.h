/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_CLOCK_PRIVATE_H
#define NP_CLOCK_PRIVATE_H

/* Inside of the clocks: clock.c reports, clock_fit.c finds them from collectives. */
#include "npuprof/clock.h"

/* An instance whose members end together, and when that was on the common clock. */
struct clock_instance {
	uint32_t first; /* of its ends */
	uint32_t count;
	bool known;   /* at least two of its ranks are on the common clock */
	np_ns middle; /* of its ends: what far ones are told by */
	np_ns time;   /* mean of those that are not far */
};

/*
 * Ends of collectives, spread over the run: enough for the fit, few enough that
 * it does not cost what the matching does.
 */
struct clock_samples {
	NP_VEC(struct clock_instance) instances; /* by communicator */
	uint32_t *communicator_first;            /* instance; one more than there are */
	NP_VEC(uint32_t) rank;                   /* of each end */
	NP_VEC(np_ns) end;
	np_ns *scratch; /* for as many values as ranks */
};

int clock_samples_take(const struct np_align *align, struct clock_samples *ret, struct np_err *err)
	NP_MUST_USE;
void clock_samples_release(struct clock_samples *samples);

/* Fit all ranks; sets knots, drift, component and method. */
int clock_fit(const struct np_align *align, struct clock_samples *samples, struct np_clock *clock,
	      struct np_err *err) NP_MUST_USE;

/* The lower middle of the values, which are reordered; count > 0. */
np_ns clock_quantile(np_ns *values, size_t count, double share);

#endif /* NP_CLOCK_PRIVATE_H */
