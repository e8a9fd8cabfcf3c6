/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CMP_KERNELS_H
#define CMP_KERNELS_H

#include "cmp_comparison.h"

/*
 * From the kernels of a rank to groups and cells
 * ==============================================
 *
 * Kernels come summed by the loader, or one by one as a detail. Both are told as
 * sorts of kernels, which groups are made of: sorts of one class, type, core and
 * one set of inputs are a group, whatever their names.
 */
struct cmp_grouper {
	struct comparison *comparison;
	const struct cmp_side *side;
	const struct np_rank *rank;
	const struct np_strtab *strings; /* of the texts of sorts */
	struct cmp_rank_kernels *ret;
	struct np_strtab *keys; /* what tells groups apart, as bytes → groups + 1 */
	struct np_idmap *cells; /* group × cell → ret->cells */
	struct np_idmap *texts; /* id in `strings` → id in comparison->names */
	struct np_idmap *times; /* device and step → rank->times, of the chosen steps */
	struct np_err *err;
};

/* Set comparison, side, rank, strings, ret and err before. */
int cmp_grouper_begin(struct cmp_grouper *grouper) NP_MUST_USE;
void cmp_grouper_end(struct cmp_grouper *grouper);

/* The group of a sort. */
int cmp_grouper_find(struct cmp_grouper *grouper, const struct np_kernel_sort *sort, uint32_t *ret)
	NP_MUST_USE;

/* The cell of a device in a step under its id; UINT32_MAX if that step was not chosen. */
uint32_t cmp_grouper_cell(struct cmp_grouper *grouper, int32_t device, np_str step);

/* Add to the sums of a group in a cell. */
int cmp_grouper_add(struct cmp_grouper *grouper, const struct cmp_kernel_cell *sum) NP_MUST_USE;

/* A text under its id among the names of the comparison. */
int cmp_grouper_text(struct cmp_grouper *grouper, np_str text, np_str *ret) NP_MUST_USE;

/*
 * The kernels of a detail. The order of those of one step is kept too if `sequence`
 * says so.
 */
int cmp_group_detail(struct cmp_grouper *grouper, const struct np_detail *detail, bool sequence)
	NP_MUST_USE;

/*
 * Before a pass over the details of all pairs, those of the base first: other
 * processes read those that they have (detail.h). `where_no_sums` leaves out ranks
 * whose kernels the loader has summed.
 */
int cmp_begin_details(const struct comparison *comparison, unsigned wants, bool where_no_sums,
		      struct np_details **ret, struct np_err *err) NP_MUST_USE;

/* The kernels of a rank that the loader has summed. */
int cmp_group_sums(struct cmp_grouper *grouper, const struct np_kernel_sums *sums) NP_MUST_USE;

#endif /* CMP_KERNELS_H */
