/* SPDX-License-Identifier: Apache-2.0 */
/* A whole number divided in proportion to weights. */
#include "npuprof/apportion.h"

/*
 * What the first n weights are due, rounded down. Differences of these sum to
 * the total, whatever floating point does to the single ones. Long double has
 * the 64 bits that a total may need.
 */
static int64_t due(int64_t total, long double weight, long double all)
{
	if (weight >= all)
		return total;
	return (int64_t)((long double)total * (weight / all));
}

void np_apportion(int64_t total, const double *weights, size_t count, int64_t *ret)
{
	long double all = 0;
	long double sum = 0;
	int64_t given = 0;

	for (size_t i = 0; i < count; i++)
		all += (long double)weights[i];
	for (size_t i = 0; i < count; i++) {
		int64_t upto;

		if (weights[i] <= 0 && all > 0) {
			ret[i] = 0;
			continue;
		}
		sum += (long double)weights[i];
		upto = all > 0 ? due(total, sum, all) : total;
		ret[i] = upto - given;
		given = upto;
	}
}
