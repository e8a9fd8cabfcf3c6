/* SPDX-License-Identifier: Apache-2.0 */
/* Medians, deviations and lines that a few bad values do not move. */
#include "npuprof/robust.h"

#include "npuprof/order.h"

#include <math.h>

/* The mean deviation of a normal distribution's median half is this part of its standard one. */
#define NORMAL_MAD 1.4826

/* All pairs of more points than this are not worth their time. */
#define MOST_POINTS 512

/* The median of three: values that are sorted already do not take longer. */
static double pivot_of(const double *values, size_t low, size_t high)
{
	double a = values[low];
	double b = values[low + (high - low) / 2];
	double c = values[high];

	if (a > b) {
		double swap = a;

		a = b;
		b = swap;
	}
	return c < a ? a : c > b ? b : c;
}

/* So often a range is divided; values that were chosen so that it takes longer are sorted. */
#define MOST_ROUNDS 100

/* The value at a place of the sorted array; none before it is larger then, none behind smaller. */
static double select_place(double *values, size_t count, size_t place)
{
	size_t low = 0;
	size_t high = count - 1;
	unsigned rounds = 0;

	while (low < high && rounds++ < MOST_ROUNDS) {
		double pivot = pivot_of(values, low, high);
		size_t i = low;
		size_t end = high + 1; /* from here on none is smaller than the pivot */

		while (i < end) {
			double swap = values[i];

			while (swap < pivot)
				swap = values[++i];
			while (values[end - 1] > pivot)
				end--;
			if (i >= end)
				break;
			values[i++] = values[--end];
			values[end] = swap;
		}
		if (place < end)
			high = end - 1;
		else if (place >= i)
			low = i;
		else
			return values[place];
	}
	if (low < high)
		qsort(&values[low], high - low + 1, sizeof(*values), np_by_double);
	return values[place];
}

double np_median(double *values, size_t count)
{
	return count == 0 ? (double)NAN : select_place(values, count, (count - 1) / 2);
}

double np_deviation(double *values, size_t count, double median)
{
	for (size_t i = 0; i < count; i++)
		values[i] = fabs(values[i] - median);
	return NORMAL_MAD * np_median(values, count);
}

/* Equal values by weight, so that the sums do not depend on the order of the input. */
static int by_weighted_value(const void *left, const void *right)
{
	const struct np_weighted *a = left;
	const struct np_weighted *b = right;
	int order = np_by_double(&a->value, &b->value);

	return order ? order : np_by_double(&a->weight, &b->weight);
}

double np_median_weighted(struct np_weighted *values, size_t count)
{
	double total = 0;
	double sum = 0;

	if (count == 0)
		return (double)NAN;
	qsort(values, count, sizeof(values[0]), by_weighted_value);
	for (size_t i = 0; i < count; i++)
		total += values[i].weight;
	for (size_t i = 0; i < count; i++) {
		sum += values[i].weight;
		if (sum >= total / 2)
			return values[i].value;
	}
	return values[count - 1].value;
}

int np_line_fit(const struct np_point *points, size_t count, struct np_line *ret,
		struct np_err *err)
{
	size_t stride = (count + MOST_POINTS - 1) / MOST_POINTS;
	size_t used = stride ? (count + stride - 1) / stride : 0;
	double *values = malloc((used * used / 2 + used + 1) * sizeof(*values));
	size_t slopes = 0;

	if (!values)
		return np_fail_nomem(err, "fitting a line");
	*ret = (struct np_line){ (double)NAN, (double)NAN };
	for (size_t i = 0; i < used; i++) {
		for (size_t j = i + 1; j < used; j++) {
			const struct np_point *a = &points[i * stride];
			const struct np_point *b = &points[j * stride];

			if (a->x < b->x || a->x > b->x)
				values[slopes++] = (b->y - a->y) / (b->x - a->x);
		}
	}
	if (slopes > 0) {
		ret->slope = np_median(values, slopes);
		for (size_t i = 0; i < used; i++)
			values[i] = points[i * stride].y - ret->slope * points[i * stride].x;
		ret->offset = np_median(values, used);
	}
	free(values);
	return NP_OK;
}
