/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HIST_TWO_WAY_H
#define HIST_TWO_WAY_H

#include "npuprof/err.h"

/*
 * What a role causes, and what a machine
 * ======================================
 *
 * The logarithm of a figure of every rank in every run is divided into what the run, the role of
 * the rank (its place in the model) and the machine under it have in common with others:
 *
 *	log figure = run + role + machine + rest
 *
 * fitted so that a few bad values do not move it (medians first, then means in which far values
 * weigh less). Only what has moved can be told: where a role was always on the same machine their
 * sum is known and no part of it. Roles and machines that met, directly or through others, form a
 * component, in which all are compared; the middle one of each component is 0.
 *
 * Intervals are from leaving out a part of the runs at a time: where the comparison hangs on one
 * run they are wide.
 */
struct hist_observation {
	uint32_t run;
	uint32_t role;
	uint32_t machine;
	double value; /* logarithm of the figure */
};

/* Of a role or of a machine, as a share: 0.05 is 5 % more. */
struct hist_effect {
	double share;
	double error;       /* standard error; NaN where there are too few runs */
	size_t count;       /* observations */
	uint32_t component; /* UINT32_MAX: none, it was in no run */
	bool told;          /* there is something else in its component to compare it with */
};

struct hist_two_way {
	struct hist_effect *roles;
	size_t role_count;
	struct hist_effect *machines;
	size_t machine_count;
	size_t components;
	size_t parts;  /* of the runs that were left out in turn; degrees of freedom + 1 */
	double spread; /* of what is left, as a standard deviation */
};

/* How many there are of each. */
struct hist_two_way_sizes {
	size_t runs;
	size_t roles;
	size_t machines;
};

int hist_two_way_fit(const struct hist_observation *list, size_t count,
		     const struct hist_two_way_sizes *sizes, struct hist_two_way *ret,
		     struct np_err *err) NP_MUST_USE;
void hist_two_way_release(struct hist_two_way *fit);

#endif /* HIST_TWO_WAY_H */
