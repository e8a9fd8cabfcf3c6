/* SPDX-License-Identifier: Apache-2.0 */
/* Logarithms, exponentials and what is made of them, with the same bits on every machine. */
#include "npuprof/elementary.h"

#include <math.h>

/* ln 2: the first part times an exponent is exact. */
#define LN2_HIGH 0x1.62e42fefp-1
#define LN2_LOW  0x1.473de6af278edp-34

/* Terms after which a series has left the precision of a double. */
#define LOG_TERMS   12
#define EXP_TERMS   14
#define ERF_TERMS   60
#define ERFC_LEVELS 60

/* Beyond this the tail is computed by itself, not as what the middle leaves. */
#define ERFC_TAIL 2.0

/* Stirling's series is good to 1e-16 from here on. */
#define STIRLING_FROM 16

/* 2 × artanh(s), |s| < 0.18: the logarithm of (1 + s) / (1 - s). */
static double log_of_ratio(double s)
{
	double square = s * s;
	double sum = 0;

	for (int i = LOG_TERMS - 1; i >= 1; i--)
		sum = (sum + 1.0 / (2 * i + 1)) * square;
	return 2 * s + 2 * s * sum;
}

double np_log(double x)
{
	double part;
	int exponent;

	if (isnan(x) || x < 0)
		return (double)NAN;
	if (x <= 0)
		return -(double)INFINITY;
	if (isinf(x))
		return x;
	part = frexp(x, &exponent);
	if (part < 0x1.6a09e667f3bcdp-1) {
		part *= 2;
		exponent--;
	}
	return exponent * LN2_HIGH + (exponent * LN2_LOW + log_of_ratio((part - 1) / (part + 1)));
}

double np_log1p(double x)
{
	return fabs(x) < 0.25 ? log_of_ratio(x / (2 + x)) : np_log(1 + x);
}

/* exp(x) - 1, |x| < 0.35 */
static double expm1_near(double x)
{
	double sum = 0;

	for (int i = EXP_TERMS; i >= 2; i--)
		sum = (sum + 1) * x / i;
	return x + x * sum;
}

double np_exp(double x)
{
	double twos;

	if (isnan(x))
		return x;
	if (x > 710 || x < -746)
		return x > 0 ? (double)INFINITY : 0;
	twos = floor(x / (LN2_HIGH + LN2_LOW) + 0.5);
	return ldexp(1 + expm1_near(x - twos * LN2_HIGH - twos * LN2_LOW), (int)twos);
}

double np_expm1(double x)
{
	return fabs(x) < 0.35 ? expm1_near(x) : np_exp(x) - 1;
}

/* The error function: erf(x) = 2/√π e^-x² Σ 2ⁿ x^(2n+1) / (1·3·…·(2n+1)), all terms of one sign. */
static double erf_middle(double x)
{
	double term = x;
	double sum = x;

	for (int n = 1; n < ERF_TERMS; n++) {
		term *= 2 * x * x / (2 * n + 1);
		sum += term;
	}
	return 0x1.20dd750429b6dp+0 * np_exp(-x * x) * sum;
}

/* By the continued fraction: erfc(x) = e^-x²/√π / (x + (1/2)/(x + (2/2)/(x + (3/2)/(x + …)))). */
static double erfc_tail(double x)
{
	double below = x;

	for (int n = ERFC_LEVELS; n >= 1; n--)
		below = x + 0.5 * n / below;
	return 0x1.20dd750429b6dp-1 * np_exp(-x * x) / below;
}

double np_erfc(double x)
{
	if (isnan(x))
		return x;
	if (fabs(x) < ERFC_TAIL)
		return 1 - erf_middle(x);
	return x > 0 ? erfc_tail(x) : 2 - erfc_tail(-x);
}

double np_log_gamma(double x)
{
	/* B(2n) / (2n (2n - 1)) */
	static const double terms[] = { 1.0 / 12,   -1.0 / 360,      1.0 / 1260, -1.0 / 1680,
					1.0 / 1188, -691.0 / 360360, 1.0 / 156 };
	double below = 1;
	double sum = 0;

	while (x < STIRLING_FROM)
		below *= x++;
	for (int i = (int)(sizeof(terms) / sizeof(terms[0])) - 1; i >= 0; i--)
		sum = sum / (x * x) + terms[i];
	/* 0x1.d67f1c864beb5p-1 is ln √(2π). */
	return (x - 0.5) * np_log(x) - x + 0x1.d67f1c864beb5p-1 + sum / x - np_log(below);
}
