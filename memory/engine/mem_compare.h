/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_MEM_COMPARE_H
#define NP_MEM_COMPARE_H

#include "mem_rank.h"

/*
 * What one rank has more than another, and one run than an earlier one
 * ====================================================================
 *
 * By the labels of what fills their memory, each at its own moment: differences of all labels
 * sum to that of what was allocated then.
 */
struct mem_difference {
	char *what;
	int64_t bytes;
	int64_t other_bytes; /* of the one that it is compared with */
};

typedef NP_VEC(struct mem_difference) mem_differences;

/* Labels that differ, the largest difference first. Nothing where labels have nothing in common. */
int mem_differences_find(const struct mem_rank *rank, const struct mem_rank *other,
			 mem_differences *ret, struct np_err *err) NP_MUST_USE;
void mem_differences_release(mem_differences *differences);

/* A rank of both runs. */
struct mem_pair {
	const struct mem_rank *base;
	const struct mem_rank *now;
	mem_differences changes;
};

struct mem_comparison {
	NP_VEC(struct mem_pair) pairs; /* in the order of the new run */
	size_t base_alone;             /* ranks that only one of them has */
	size_t now_alone;
	const struct mem_pair *most; /* whose peak of allocated rose most; NULL without pairs */
};

/* Ranks are the same by number, source, role and device; two single ones are whatever they are. */
int mem_comparison_new(const mem_ranks *base, const mem_ranks *now, struct mem_comparison **ret,
		       struct np_err *err) NP_MUST_USE;
void mem_comparison_free(struct mem_comparison *comparison);

/* By how much a peak rose; NP_UNKNOWN where one of the two is. */
int64_t mem_risen(const struct mem_reached *base, const struct mem_reached *now);

#endif /* NP_MEM_COMPARE_H */
