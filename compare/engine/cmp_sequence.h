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

/*
 * Which sequences belong together, by what they have in common: threads and streams
 * have other numbers in every run. `partner` gets, for each of the base, the index
 * of its partner or SIZE_MAX. The pair with most tokens in common comes first.
 */
struct cmp_lane {
	const uint32_t *tokens;
	size_t count;
};

int cmp_pair_lanes(const struct cmp_lane *base, size_t base_count, const struct cmp_lane *new_,
		   size_t new_count, size_t *partner, struct np_err *err) NP_MUST_USE;

#endif /* CMP_SEQUENCE_H */
