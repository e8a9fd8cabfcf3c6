/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_MEMORY_GROWTH_H
#define NP_MEMORY_GROWTH_H

#include "npuprof/strtab.h"

/*
 * Does a component keep more memory from step to step?
 * ====================================================
 *
 * The slope over the steps of the most that it held in each, and of the least,
 * by the median of all pairs, so that a first step that fills caches does not
 * count. A leak raises both, in the first half of the steps and in the last: the
 * least of these slopes is the growth, 0 where they do not agree in sign. What
 * rises once and stays, as while all is warming up, is none. Fewer than three
 * steps say nothing.
 */

struct np_rank;
struct np_run;

#define NP_GROWTH_STEPS 3

struct np_memory_growth {
	int64_t per_step; /* bytes; NP_UNKNOWN where nothing is known */
	size_t steps;     /* it rests on */
};

int np_memory_growth_measure(const struct np_rank *rank, np_str component,
			     struct np_memory_growth *ret, struct np_err *err) NP_MUST_USE;

/* Of every component of every rank. */
struct np_memory_growths {
	/* By index in the run, then of np_rank.memory; NULL for a rank without any. */
	struct np_memory_growth **of_rank;
	size_t rank_count;
};

int np_memory_growths_measure(const struct np_run *run, struct np_memory_growths *ret,
			      struct np_err *err) NP_MUST_USE;
void np_memory_growths_release(struct np_memory_growths *growths);

#endif /* NP_MEMORY_GROWTH_H */
