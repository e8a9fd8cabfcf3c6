/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HIST_CHANGE_POINTS_H
#define HIST_CHANGE_POINTS_H

#include "npuprof/vec.h"

/*
 * When a series changed
 * =====================
 *
 * For every place at which it might be cut the ranks of the values before it are compared with
 * those after it (Mann and Whitney); the largest difference counts. How large it is by chance is
 * found by shuffling the series itself, always in the same way: the error rate is that of the
 * test, whatever the values are distributed like, as long as one run does not depend on the run
 * before it. Where there is a change, both parts are asked again.
 *
 * The first run after a change is the first that is clearly nearer to what came after it than to
 * what was before: a run between the two is not blamed.
 */

/* Of a series in which nothing changed, so many are said to have a change. */
#define HIST_CHANGE_ERROR 0.005

/* So many runs on either side, at least; what changed later than that is not known yet. */
#define HIST_CHANGE_LEAST 4

struct hist_change {
	size_t at;     /* the first value after it */
	double before; /* medians of the parts on either side, up to the next changes */
	double after;
	double chance; /* of a difference at least as large where nothing changed */
};

struct hist_changes {
	NP_VEC(struct hist_change) list; /* in the order of the series */
};

/* Values are finite. */
int hist_changes_find(const double *values, size_t count, struct hist_changes *ret,
		      struct np_err *err) NP_MUST_USE;
void hist_changes_release(struct hist_changes *changes);

#endif /* HIST_CHANGE_POINTS_H */
