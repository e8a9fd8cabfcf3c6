/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_CONTENTS_H
#define NP_CONTENTS_H

#include <stdbool.h>

/*
 * What a rank has
 * ===============
 *
 * The one place that says whether something was recorded. Lists of what is there, the
 * readiness of analyses and the views of rules all ask here, so that a reason that one of
 * them prints is not denied by another.
 */
enum np_data {
	NP_DATA_ANY, /* nothing in particular: always there */
	NP_DATA_STEP_TIMES,
	NP_DATA_STEPS, /* marked ones */
	NP_DATA_OPERATORS,
	NP_DATA_INTERVALS, /* when kernels ran */
	NP_DATA_SIZES,     /* what operators moved, and over what */
	NP_DATA_MEMORY,    /* what components held */
	NP_DATA_FREQUENCY,
	NP_DATA_CALLS,    /* of CANN */
	NP_DATA_LAUNCHES, /* when tasks were launched, by calls or by what leads from them */
	NP_DATA_COUNT,
};

struct np_rank;
bool np_rank_has(const struct np_rank *rank, enum np_data what);

/* Has any rank of the run it? */
struct np_run;
bool np_run_has(const struct np_run *run, enum np_data what);

/* "no calls of CANN", and the switch of the profiler that would have recorded it. */
const char *np_data_missing(enum np_data what);
const char *np_data_cure(enum np_data what);

#endif /* NP_CONTENTS_H */
