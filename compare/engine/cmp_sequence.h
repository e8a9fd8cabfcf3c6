/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CMP_SEQUENCE_H
#define CMP_SEQUENCE_H

#include "npuprof/vec.h"

/*
 * Aligning two sequences
 * ======================
 *
 * Two lists of tokens are aligned with as few insertions and removals as possible
 * (Myers, O(ND)). What is equal at both ends is taken first. In long sequences
 * tokens that occur once on each side, in the same order, are anchors between
 * which the rest is aligned, so that many changes stay cheap. Between two
 * anchors that are too different to align, everything is removed and inserted.
 */
struct cmp_match {
	size_t base;
	size_t new_;
};

struct cmp_matches {
	NP_VEC(struct cmp_match) list; /* ascending on both sides */
};

int cmp_align(const uint32_t *base, size_t base_count, const uint32_t *new_, size_t new_count,
	      struct cmp_matches *ret, struct np_err *err) NP_MUST_USE;

#endif /* CMP_SEQUENCE_H */
