/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CMP_VIEWS_H
#define CMP_VIEWS_H

#include "cmp_alignment.h"

/*
 * Detailed comparisons
 * ====================
 *
 * Rows of one sort of thing, by name, on both sides: sums over the chosen steps
 * and the paired ranks, which the tables divide by the number of cells. They need
 * the details of ranks and are measured only when asked for.
 *
 *	kernel          type and shapes of inputs
 *	kernel-type     type and core
 *	communication   class of operator, then its sub-tasks by type
 *	api             operators of the framework on the host: total and self
 *	operator        operators around which there is no other: time of their kernels
 *	module          modules of the model, forward and backward, and their operators;
 *	                of both also one step call by call, aligned (cmp_alignment.h)
 *	memory          allocations by operator
 */
enum cmp_view {
	CMP_VIEW_KERNEL,
	CMP_VIEW_KERNEL_TYPE,
	CMP_VIEW_COMMUNICATION,
	CMP_VIEW_API,
	CMP_VIEW_OPERATOR,
	CMP_VIEW_MODULE,
	CMP_VIEW_MEMORY,
	CMP_VIEWS,
};

/* "kernel" …, ends with NULL. */
extern const char *const cmp_view_names[CMP_VIEWS + 1];

/* The view of this name, or CMP_VIEWS. */
enum cmp_view cmp_view_find(const char *name);

struct cmp_tally {
	int64_t count;
	np_ns total;
	np_ns self;  /* without what is inside (api), or modules inside (module) */
	np_ns least; /* of single ones; NP_UNKNOWN: there is none to tell */
	np_ns most;
	int64_t bytes;
};

struct cmp_row {
	np_str key[2];
	struct cmp_tally side[CMP_SIDES];
};

struct cmp_rows {
	NP_VEC(struct cmp_row) list; /* the largest difference first, then by name */
	struct np_idmap *places;
};

struct cmp_views {
	const struct comparison *comparison;
	uint64_t wanted; /* bit i: enum cmp_view */
	struct cmp_rows rows[CMP_VIEWS];
	struct cmp_alignment alignment; /* of operators and modules */
	/* Sides that could not tell: bit of enum cmp_which. */
	unsigned missing[CMP_VIEWS];
};

int cmp_views_measure(struct comparison *comparison, uint64_t wanted, struct cmp_views *ret,
		      struct np_err *err) NP_MUST_USE;
void cmp_views_release(struct cmp_views *views);

#endif /* CMP_VIEWS_H */
