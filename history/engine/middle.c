/* SPDX-License-Identifier: Apache-2.0 */
/* Middle values, quantiles, and how far chance alone goes. */
#include "middle.h"

#include "npuprof/elementary.h"

#define SQRT_2_PI 0x1.40d931ff62706p+1

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

/* Move values so that those before `place` are not above the one there, and those behind it not
 * below (Hoare's selection): on average in time proportional to their number. */
static void select_place(double *values, size_t count, size_t place)
{
	ptrdiff_t wanted = (ptrdiff_t)place;
	ptrdiff_t low = 0;
	ptrdiff_t high = (ptrdiff_t)count - 1;

	while (low < high) {
		double pivot = values[wanted];
		ptrdiff_t i = low;
		ptrdiff_t j = high;

		while (i <= j) {
			while (values[i] < pivot)
				i++;
			while (pivot < values[j])
				j--;
			if (i <= j) {
				double value = values[i];

				values[i++] = values[j];
				values[j--] = value;
			}
		}
		if (j < wanted)
			low = i;
		if (wanted < i)
			high = j;
	}
}

double hist_middle(double *values, size_t count)
{
	size_t half = count / 2;
	double below;

	if (count == 0)
		return (double)NAN;
	select_place(values, count, half);
	if (count % 2 != 0)
		return values[half];
	below = values[0];
	for (size_t i = 1; i < half; i++)
		below = values[i] > below ? values[i] : below;
	return below + 0.5 * (values[half] - below);
}

/* The quantile of the normal distribution: Newton's method on its tail. */
static double normal_above(double above)
{
	double z = sqrt(-2 * np_log(above < 0.5 ? above : 1 - above));

	for (int i = 0; i < 60; i++) {
		double tail = 0.5 * np_erfc(z / sqrt(2.0));
		double density = np_exp(-0.5 * z * z) / SQRT_2_PI;
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
