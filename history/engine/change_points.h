/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HIST_CHANGE_POINTS_H
#define HIST_CHANGE_POINTS_H

#include "npuprof/vec.h"

/*
 * When a series changed
 * =====================
 *
 * The mean of the values before any cut is compared with that of those behind it; the largest
 * difference counts, with values that are far off pulled in. How large it is by chance is found by
 * shuffling the series itself, always in the same way: the error rate is that of the test,
 * whatever the values are distributed like. Where no cut stands out, values that left for a while
 * and came back are looked for in the same way, as a change that was reverted leaves them. Where
 * there is a change, its parts are asked again.
 *
 * Runs are often like the run before them: the same commit is run again, the same machines are
 * given out for a week. So much fewer are they worth; how much is taken from what the levels leave.
 *
 * The first run after a change is the first that is clearly nearer to what came after it than to
 * what was before: a run between the two is not blamed. Where a line describes the runs better
 * than levels do, no run is blamed at all: the change is gradual.
 */

/* Of a series in which nothing changed, so many are said to have a change. */
#define HIST_CHANGE_ERROR 0.005

/* So many runs on either side, at least; what changed later than that is not known yet. */
#define HIST_CHANGE_LEAST 4

/* Fewer runs have too few orders to tell chance from a change with that error. */
#define HIST_CHANGE_RUNS 12

struct hist_change {
	size_t at;     /* the first value after it; of a gradual one the first value of all */
	size_t until;  /* the last value of a gradual change, else the same as `at` */
	double before; /* medians of the parts on either side, up to the next changes; of a gradual
			*/
	double after;  /* change the ends of the line */
	double chance; /* of a difference at least as large where nothing changed */
	bool gradual;
};

struct hist_changes {
	NP_VEC(struct hist_change) list; /* in the order of the series */
};

/* Values are finite. */
int hist_changes_find(const double *values, size_t count, struct hist_changes *ret,
		      struct np_err *err) NP_MUST_USE;
void hist_changes_release(struct hist_changes *changes);

#endif /* HIST_CHANGE_POINTS_H */
