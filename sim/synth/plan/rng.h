/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SYN_RNG_H
#define SYN_RNG_H

#include <stdint.h>

/*
 * Random numbers that belong to a place
 * =====================================
 *
 * A draw is a function of the seed, what it is for and where it is used, not of
 * how many draws came before it. So a planted fault changes what it plants and
 * nothing else, any rank can be generated again on its own, and the number of
 * threads does not matter.
 */
enum syn_purpose {
	SYN_FOR_KERNEL,      /* rank, step, kernel */
	SYN_FOR_STEP,        /* -, step, - */
	SYN_FOR_HOST,        /* rank, step, launch */
	SYN_FOR_LAUNCH,      /* rank, step, launch */
	SYN_FOR_END,         /* rank, instance, - */
	SYN_FOR_LINK,        /* source and destination, instance, phase */
	SYN_FOR_SEQUENCE,    /* data-parallel index, step, - */
	SYN_FOR_EXPERT,      /* expert group, step, layer and member */
	SYN_FOR_EXPERT_BIAS, /* expert group, -, layer and member */
	SYN_FOR_DROP,        /* rank, -, operator */
	SYN_FOR_NAME,        /* ids that only have to differ */
};

struct syn_key {
	uint64_t seed;
	enum syn_purpose purpose;
	uint64_t a;
	uint64_t b;
	uint64_t c;
};

uint64_t syn_bits(const struct syn_key *key);

/* In (0, 1), never either end. */
double syn_uniform(const struct syn_key *key);

/* Mean 0, variance 1. */
double syn_normal(const struct syn_key *key);

/* Mean 1. */
double syn_exponential(const struct syn_key *key);

#endif /* SYN_RNG_H */
