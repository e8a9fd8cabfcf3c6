/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_EXPERT_KERNELS_H
#define NP_EXPERT_KERNELS_H

#include "npuprof/rank.h"

/*
 * Kernels that compute for experts (GroupedMatmul), gathered while a rank is
 * read, and their reduction to what was done between two exchanges of tokens
 * (np_rank.experts), so that memory follows the operators.
 */
struct expert_kernel {
	np_ns start;
	np_ns time;
	int64_t tokens;
};

struct expert_kernels {
	np_str type; /* of kernels that are wanted */
	NP_VEC(struct expert_kernel) list;
};

int expert_kernels_begin(struct expert_kernels *kernels, struct np_strtab *strings,
			 struct np_err *err) NP_MUST_USE;
void expert_kernels_end(struct expert_kernels *kernels);

/*
 * Add a kernel of the type above. Its tokens are the first dimensions of its
 * inputs ("4096,1024;8,1024,2816;8") but for the last two, the weights and the
 * list of groups; one whose shapes do not say is left out.
 */
int expert_kernels_add(struct expert_kernels *kernels, const char *shapes, size_t length,
		       np_ns start, np_ns time, struct np_err *err) NP_MUST_USE;

/* Σ first dimensions as above; false when the shapes do not say. */
bool expert_tokens(const char *shapes, size_t length, int64_t *ret);

/* Reduce them to rank->experts; rank->ops must be sorted and the steps closed. */
int expert_kernels_reduce(struct expert_kernels *kernels, struct np_rank *rank,
			  const struct np_strtab *strings, struct np_err *err) NP_MUST_USE;

#endif /* NP_EXPERT_KERNELS_H */
