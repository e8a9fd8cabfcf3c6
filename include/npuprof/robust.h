/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_ROBUST_H
#define NP_ROBUST_H

#include "npuprof/err.h"

/*
 * Statistics that a few bad values do not move
 * ============================================
 *
 * Where the median falls between two values it is the lower one: a value that
 * was measured, and with two values the one that cannot be the outlier upwards.
 * Values are moved within their arrays, those up to the median first. NaN goes in
 * nowhere and comes out where nothing can be known.
 */
double np_median(double *values, size_t count);

/* How far values are from `median`, as the standard deviation of a normal distribution. */
double np_deviation(double *values, size_t count, double median);

struct np_weighted {
	double value;
	double weight; /* > 0 */
};

double np_median_weighted(struct np_weighted *values, size_t count);

struct np_point {
	double x;
	double y;
};

/* y = offset + slope × x; both NaN where the points have not two different x. */
struct np_line {
	double offset;
	double slope;
};

/*
 * The median of the slopes of all pairs of points (Theil and Sen), and of what
 * it leaves: right while less than a quarter of the points is wrong. Of many
 * points only some pairs are taken, always the same.
 */
int np_line_fit(const struct np_point *points, size_t count, struct np_line *ret,
		struct np_err *err) NP_MUST_USE;

#endif /* NP_ROBUST_H */
