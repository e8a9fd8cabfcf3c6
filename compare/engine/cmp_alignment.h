/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CMP_ALIGNMENT_H
#define CMP_ALIGNMENT_H

#include "cmp_comparison.h"

/*
 * Operators and modules side by side
 * ==================================
 *
 * What the framework called in one step of the first pair of ranks, aligned: threads
 * that did the most in common belong together, and in each of them what is called
 * from the outside inwards, module by module, in its order. Calls are equal by name
 * and inputs first; what is left between those, by name alone. Outermost operators
 * are not divided further, but for modules inside them: their kernels are listed.
 */
struct cmp_aligned_side {
	np_str name; /* of an operator, or of a module without its path; NONE: not there */
	np_str shapes;
	np_str dtypes;
	np_ns total;         /* Σ durations of its kernels */
	np_ns own;           /* of a module without those in it; of an operator the same as total */
	const char *kernels; /* "MatMulV2 [16,16;16,16] 12.3 us; …"; NULL for none */
	const char *stack;   /* from the outside inwards; NULL where not recorded */
};

struct cmp_aligned {
	uint32_t thread; /* 1, 2 …: of both sides that belong together, or of one */
	uint32_t level;  /* rows around it */
	bool module;
	np_str path; /* of the module, or of that around the operator; NONE for none */
	/*
	 * "new", "removed", "fused" (several became one, or one several), "shape", "dtype",
	 * "kernels" (others, or in another order); "" for none.
	 */
	const char *change;
	struct cmp_aligned_side side[CMP_SIDES];
};

struct cmp_alignment {
	NP_VEC(struct cmp_aligned) rows; /* by thread, then in order */
	unsigned missing;                /* sides that recorded no operators: bit of cmp_which */
};

int cmp_align_calls(struct comparison *comparison, struct cmp_alignment *ret, struct np_err *err)
	NP_MUST_USE;
void cmp_alignment_release(struct cmp_alignment *alignment);

#endif /* CMP_ALIGNMENT_H */
