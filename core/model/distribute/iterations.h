/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_ITERATIONS_H
#define NP_ITERATIONS_H

/*
 * Do ranks mean the same by an iteration?
 * =======================================
 *
 * Iterations are found on every rank by itself. Ranks that share a communicator
 * are compared by its collectives, which all of them did at the same time: the
 * n-th of an iteration of one rank must have ended when the n-th of the same iteration
 * of the other did, but for the difference of two clocks, which is nearly
 * constant. A capture that began later lacks the first iterations: those of its
 * rank are renumbered. Ranks that share nothing are numbered each for itself.
 */

#include "load_source.h"

struct np_run;

/* How far a rank's iterations are behind those of others, by index in the run. */
struct agreement {
	int64_t *shift;
	bool *known;   /* by collectives shared with others */
	size_t differ; /* index of the first rank that means something else; SIZE_MAX: none */
	size_t with;   /* whose iterations it was compared with */
};

int agree_on_iterations(const struct np_run *run, const struct load_outcome *outcomes,
			struct agreement *ret, struct np_err *err) NP_MUST_USE;

/* Number the iterations of all ranks alike. */
int agree_renumber(struct np_run *run, const struct load_outcome *outcomes,
		   const struct agreement *agreement, struct np_err *err) NP_MUST_USE;

void agreement_release(struct agreement *agreement);

#endif /* NP_ITERATIONS_H */
