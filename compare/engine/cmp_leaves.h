/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CMP_LEAVES_H
#define CMP_LEAVES_H

#include "cmp_comparison.h"

/*
 * Leaves of a comparison
 * ======================
 *
 * leaves.c walks over the partitions of both sides and sums them to leaves that both
 * share; leaf_classes.c says by which classes of computing that can be done, and
 * leaf_figures.c makes means of the sums, rounded so that they sum to the step.
 */

/* Before anything is summed: what both sides can tell (comparison.coarse …). */
void cmp_choose_classes(struct comparison *comparison);

/* The class of a leaf, where the comparison is coarse. */
enum cmp_class cmp_coarse_class(const struct comparison *comparison, enum cmp_class class);

bool cmp_is_gpu(const struct comparison *comparison, enum cmp_which which);

/* All leaves are summed, and there is at least one. */
int cmp_leaf_figures(struct comparison *comparison, struct np_err *err) NP_MUST_USE;

#endif /* CMP_LEAVES_H */
