/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CMP_MEMORY_H
#define CMP_MEMORY_H

#include "cmp_comparison.h"

/*
 * The most that each component of the memory management held: the largest over
 * the paired ranks, like compared with like (PTA with PTA, APP with APP).
 */
struct cmp_memory_peak {
	const char *component;
	int64_t bytes[CMP_SIDES]; /* reserved, else allocated; NP_UNKNOWN */
	int32_t rank[CMP_SIDES];  /* that held it */
};

struct cmp_memory {
	NP_VEC(struct cmp_memory_peak) list; /* by name */
};

int cmp_memory_measure(const struct comparison *comparison, struct cmp_memory *ret,
		       struct np_err *err) NP_MUST_USE;
void cmp_memory_release(struct cmp_memory *memory);

#endif /* CMP_MEMORY_H */
