/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_RANDOM_H
#define NP_RANDOM_H

/*
 * Numbers for property tests: the same ones in every run, so that a failure can
 * be had again.
 */
#include <stdint.h>

/* A step of splitmix64: good enough mixing of a plain counter. */
static inline uint64_t np_random(uint64_t *state)
{
	uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

/* A number from 0 to limit - 1. */
static inline size_t np_random_below(uint64_t *state, size_t limit)
{
	return np_random(state) % limit;
}

#endif /* NP_RANDOM_H */
