/* SPDX-License-Identifier: Apache-2.0 */
/* Draws random numbers that depend on what they are for, not on the order of drawing (rng.h). */
#include "rng.h"

#include <math.h>

#define GOLDEN UINT64_C(0x9e3779b97f4a7c15)

/* The finaliser of splitmix64: every input bit reaches every output bit. */
static uint64_t mix(uint64_t x)
{
	x += GOLDEN;
	x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
	return x ^ (x >> 31);
}

uint64_t syn_bits(const struct syn_key *key)
{
	uint64_t x = mix(key->seed ^ ((uint64_t)key->purpose << 56));

	x = mix(x ^ key->a);
	x = mix(x ^ key->b);
	return mix(x ^ key->c);
}

static double to_uniform(uint64_t bits)
{
	/* 53 bits, moved by half a step so that neither 0 nor 1 can occur. */
	return ((double)(bits >> 11) + 0.5) * 0x1p-53;
}

double syn_uniform(const struct syn_key *key)
{
	return to_uniform(syn_bits(key));
}

double syn_normal(const struct syn_key *key)
{
	const double two_pi = 6.283185307179586;
	uint64_t bits = syn_bits(key);

	return sqrt(-2.0 * log(to_uniform(bits))) * cos(two_pi * to_uniform(mix(bits)));
}

double syn_exponential(const struct syn_key *key)
{
	return -log(syn_uniform(key));
}
