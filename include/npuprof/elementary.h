/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_ELEMENTARY_H
#define NP_ELEMENTARY_H

/*
 * Logarithms, exponentials and what is made of them: the same bits on every machine
 * ================================================================================
 *
 * Those of C libraries differ in the last bit between versions, machines, and
 * processors of one kind that can or cannot multiply and add at once, and that bit
 * would be seen in a file. These use sums, products, quotients and square roots
 * only, which IEEE 754 defines to the bit. Relative errors are below 1e-15 of logarithms and
 * exponentials, and below 1e-12 of the others, where these are not near zero.
 */

/* NaN below zero, -infinity of zero. */
double np_log(double x);

/* log(1 + x), also where x is small. */
double np_log1p(double x);

double np_exp(double x);

/* exp(x) - 1, also where x is small. */
double np_expm1(double x);

/* The share of a normal distribution beyond x × √2 standard deviations, on both sides for x ≥ 0. */
double np_erfc(double x);

/* The logarithm of the gamma function; x > 0. */
double np_log_gamma(double x);

#endif /* NP_ELEMENTARY_H */
