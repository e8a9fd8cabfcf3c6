/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CMP_SIGNIFICANCE_H
#define CMP_SIGNIFICANCE_H

#include "npuprof/err.h"

/*
 * Is a difference more than chance?
 * =================================
 *
 * Two lists of values, one for each step. With eight values or more on both sides
 * the test is that of Mann and Whitney: exact for few values without ties, else
 * by the normal distribution with a correction for ties. Below that it is Welch's
 * t test, since ranks of so few values say little; below CMP_LEAST_STEPS nothing
 * can be told. Everything is deterministic; the bootstrap draws always the same.
 */
#define CMP_LEAST_STEPS 3

struct cmp_values {
	const double *value;
	size_t count;
};

struct cmp_test {
	double p;            /* NaN: too few values */
	double median_delta; /* of the medians, new − base */
	double low;          /* 95 % of the bootstrap of that; NaN with too few values */
	double high;
	/* The least difference of means that these values would show four times out of five. */
	double detectable;  /* NaN with too few values */
	const char *method; /* "mann-whitney", "welch", "none" */
};

int cmp_test(struct cmp_values base, struct cmp_values new_, struct cmp_test *ret,
	     struct np_err *err) NP_MUST_USE;

/* Two-sided p of each test alone, NaN where it cannot tell. */
double cmp_mann_whitney(struct cmp_values a, struct cmp_values b, struct np_err *err);
double cmp_welch(struct cmp_values a, struct cmp_values b);

/* Benjamini and Hochberg: p becomes q, in place; NaN stay out of it. */
int cmp_adjust(double *p, size_t count, struct np_err *err) NP_MUST_USE;

#endif /* CMP_SIGNIFICANCE_H */
