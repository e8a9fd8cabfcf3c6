/* SPDX-License-Identifier: Apache-2.0 */
/* A whole number divided in proportion to weights. */
#include "npuprof/apportion.h"

#include <math.h>

__extension__ typedef __int128 wide;

/* Sums of weights stay below 2^62, so that their product with a total stays below 2^126. */
#define BITS 62

/*
 * The power of two that makes whole numbers of weights, with as many bits as their sum may have:
 * what is a multiple of another number stays one, and machines whose long double differs from that
 * of others do not matter.
 */
static double scale_of(const double *weights, size_t count)
{
	double most = 0;
	int bits = BITS;
	int exponent;

	for (size_t i = 0; i < count; i++)
		most = weights[i] > most ? weights[i] : most;
	for (size_t rest = count; rest > 0; rest /= 2)
		bits--;
	(void)frexp(most, &exponent);
	/* Weights of less than 2^-900 are zeros. */
	return ldexp(1, bits - exponent > 1000 ? 1000 : bits - exponent);
}

/*
 * What the first weights are due, rounded towards zero. Differences of these sum to the total,
 * whatever is rounded in the single ones.
 */
static int64_t due(int64_t total, int64_t weight, int64_t all)
{
	return weight >= all ? total : (int64_t)((wide)total * weight / all);
}

void np_apportion(int64_t total, const double *weights, size_t count, int64_t *ret)
{
	double scale = scale_of(weights, count);
	int64_t all = 0;
	int64_t sum = 0;
	int64_t given = 0;

	for (size_t i = 0; i < count; i++)
		all += weights[i] > 0 ? (int64_t)(weights[i] * scale) : 0;
	for (size_t i = 0; i < count; i++) {
		int64_t upto;

		if (weights[i] <= 0 && all > 0) {
			ret[i] = 0;
			continue;
		}
		sum += (int64_t)(weights[i] * scale);
		upto = all > 0 ? due(total, sum, all) : total;
		ret[i] = upto - given;
		given = upto;
	}
}
