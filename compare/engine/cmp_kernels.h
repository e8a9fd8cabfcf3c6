/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CMP_KERNELS_H
#define CMP_KERNELS_H

#include "cmp_comparison.h"

#include "npuprof/kernel_sums.h"

/*
 * From the kernels of a rank to groups and cells
 * ==============================================
 *
 * Kernels come summed by the loader, or one by one as a detail. Both are told as
 * sorts of kernels, which groups are made of: sorts of one class, type, core and
 * one set of inputs are a group, whatever their names. What is kept of a rank is what
 * types and classes own of its cells; groups are summed over its cells, and those of
 * all ranks of a side are merged as soon as each is done (kernel_merge.c).
 */

/* Kernels of one group in one cell. */
struct cmp_kernel_cell {
	uint32_t group; /* in cmp_grouper.groups */
	uint32_t cell;  /* index in np_rank.times */
	struct cmp_kernel_sum sum;
};

/* What tells groups apart, for the tables that find them. */
struct cmp_group_key {
	np_str type;
	np_str core;
	np_str shapes;
	np_str dtypes;
	np_str formats;
	uint32_t class_cube;
};

/* A group of one rank. */
struct cmp_rank_group {
	struct cmp_kernel_group group;
	uint32_t owner;      /* its type and class: in cmp_grouper.owners */
	uint32_t first_cell; /* UINT32_MAX: it has no kernel in a chosen step */
};

/* A type and class of kernels on one rank, with the share that it was given to last. */
struct cmp_owner {
	uint32_t cell;
	uint32_t share; /* in cmp_rank_kernels.shares */
};

struct cmp_grouper {
	struct comparison *comparison;
	const struct cmp_side *side;
	const struct np_rank *rank;
	const struct np_strtab *strings; /* of the texts of sorts */
	struct cmp_rank_kernels *ret;
	NP_VEC(struct cmp_rank_group) groups;
	NP_VEC(struct cmp_owner) owners;
	struct np_strtab *keys;     /* what tells groups apart, as bytes → groups + 1 */
	struct np_idmap *owner_ids; /* type × class → owners */
	struct np_idmap *shares;    /* owner × cell → ret->shares */
	struct np_idmap *texts;     /* id in `strings` → id in comparison->names */
	struct np_idmap *times;     /* device and step → rank->times, of the chosen steps */
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

void cmp_kernel_sum_add(struct cmp_kernel_sum *sum, const struct cmp_kernel_sum *from);

/* Add to the sums of a group, and to what its type and class own of a cell. */
int cmp_grouper_add(struct cmp_grouper *grouper, const struct cmp_kernel_cell *from) NP_MUST_USE;

/* A text under its id among the names of the comparison. */
int cmp_grouper_text(struct cmp_grouper *grouper, np_str text, np_str *ret) NP_MUST_USE;

struct np_details;

/*
 * Before a pass over the details of all pairs, those of the base first: other
 * processes read those that they have (details.h). `where_no_sums` leaves out ranks
 * whose kernels the loader has summed.
 */
int cmp_begin_details(const struct comparison *comparison, unsigned wants, bool where_no_sums,
		      struct np_details **ret, struct np_err *err) NP_MUST_USE;

/* The kernels of a rank that the loader has summed. */
int cmp_group_sums(struct cmp_grouper *grouper, const struct np_kernel_sums *sums) NP_MUST_USE;

/* --- what all ranks of a side have ----------------------------------------------------------- */

struct cmp_merge;

#endif /* CMP_KERNELS_H */
