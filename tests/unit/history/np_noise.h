/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_NOISE_H
#define NP_NOISE_H

/* Noise as runs have it: now and then one is far off. */
#include "np_random.h"
#include "np_test.h"

/* Uniform in (0, 1). */
static inline double noise_uniform(uint64_t *state)
{
	return ((double)(np_random(state) >> 11) + 0.5) / 9007199254740992.0;
}

static inline double noise_normal(uint64_t *state)
{
	double radius = sqrt(-2 * log(noise_uniform(state)));

	return radius * cos(2 * acos(-1.0) * noise_uniform(state));
}

/* Student's t with five degrees of freedom, scaled to a standard deviation of 1. */
static inline double noise_student(uint64_t *state)
{
	double squares = 0;
	double value = noise_normal(state);

	for (int i = 0; i < 5; i++) {
		double one = noise_normal(state);

		squares += one * one;
	}
	return value / sqrt(squares / 5) / sqrt(5.0 / 3.0);
}

#endif /* NP_NOISE_H */
