/* SPDX-License-Identifier: Apache-2.0 */
/* Middle values, quantiles, and how far chance alone goes. */
#include "middle.h"

static int by_value(const void *left, const void *right)
{
	double a = *(const double *)left;
	double b = *(const double *)right;

	return (a > b) - (a < b);
}

void hist_sort(double *values, size_t count)
{
	if (count > 1)
		qsort(values, count, sizeof(*values), by_value);
}

double hist_quantile(const double *sorted, size_t count, double share)
{
	double place;
	size_t below;

	if (count == 0)
		return (double)NAN;
	place = share * (double)(count - 1);
	below = (size_t)place;
	if (below + 1 >= count)
		return sorted[count - 1];
	return sorted[below] + (place - (double)below) * (sorted[below + 1] - sorted[below]);
}

double hist_middle(double *values, size_t count)
{
	hist_sort(values, count);
	return hist_quantile(values, count, 0.5);
}

/* The quantile of the normal distribution: Newton's method on its tail. */
static double normal_above(double above)
{
	double z = sqrt(-2 * log(above < 0.5 ? above : 1 - above));

	for (int i = 0; i < 60; i++) {
		double tail = 0.5 * erfc(z / sqrt(2.0));
		double density = exp(-0.5 * z * z) / sqrt(2 * acos(-1.0));
		double step = (tail - (above < 0.5 ? above : 1 - above)) / density;

		/* Far out the first guess is too large: small steps until it is near. */
		step = step > 0.5 ? 0.5 : step < -0.5 ? -0.5 : step;
		z += step;
		if (fabs(step) < 1e-12)
			break;
	}
	return above < 0.5 ? z : -z;
}

/* By the series of Cornish and Fisher: to 1 % from four degrees of freedom on. */
double hist_student(double above, size_t freedom)
{
	double z = normal_above(above);
	double v = (double)freedom;
	double z3 = z * z * z;
	double z5 = z3 * z * z;
	double z7 = z5 * z * z;

	if (freedom == 0)
		return (double)INFINITY;
	return z + (z3 + z) / (4 * v) + (5 * z5 + 16 * z3 + 3 * z) / (96 * v * v) +
	       (3 * z7 + 19 * z5 + 17 * z3 - 15 * z) / (384 * v * v * v);
}
