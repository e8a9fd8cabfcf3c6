/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SYN_INTERVALS_H
#define SYN_INTERVALS_H

#include "npuprof/vec.h"

/*
 * Sets of intervals for what the generator states as truth. On purpose not the
 * span sets of the analysis: a mistake there must not repeat itself here.
 */
struct syn_interval {
	np_ns start_ns;
	np_ns end_ns;
};

struct syn_intervals {
	NP_VEC(struct syn_interval) all;
};

int syn_intervals_add(struct syn_intervals *set, np_ns start, np_ns end, struct np_err *err)
	NP_MUST_USE;

/* Sort and join what touches or overlaps. */
void syn_intervals_join(struct syn_intervals *set);

/* Summed length. */
np_ns syn_intervals_length(const struct syn_intervals *set);

/* What of `a` is not in `b`; both joined. */
int syn_intervals_subtract(const struct syn_intervals *a, const struct syn_intervals *b,
			   struct syn_intervals *ret, struct np_err *err) NP_MUST_USE;

void syn_intervals_release(struct syn_intervals *set);

#endif /* SYN_INTERVALS_H */
