/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_MODULES_H
#define NP_MODULES_H

/*
 * Modules of a model and what they run
 * ====================================
 *
 * The framework marks each module with an mstx range of the domain "Module".
 * Ranges inside each other make a tree; an operator belongs to the innermost
 * range of its thread around it, and its kernels are those it launched. Backward
 * operators run on another thread and outside of any range: they get the module
 * of the forward operator they belong to, as "[Backward]Name".
 *
 * Instances of a module that run the same operators are summed; where one module
 * runs different ones, each way gets a number.
 */

#include "mode.h"

struct module_row {
	np_str parent; /* "Model/Layer"; NP_STR_NONE at the top */
	np_str module;
	np_str op;
	np_str kernels; /* "a, b" */
	np_ns total;    /* Σ over the instances of Σ over the kernels */
	size_t count;   /* instances */
	size_t kernel_count;
	double *figures; /* Σ per kernel of what the mode gave for it; NaN where it gave none */
	np_ns first;     /* where it was seen first */
};

struct module_rows {
	NP_VEC(struct module_row) list; /* by first start */
	struct np_arena *arena;
};

/* `figures` by index of the detail's kernels, or NULL. */
int modules_measure(struct mode_rank *rank, const double *figures, struct module_rows *ret)
	NP_MUST_USE;
void modules_release(struct module_rows *rows);

/* What a row says in the tables of all modes: parent, module, operator, kernels, sum, mean, count.
 */
#define MODULE_CELLS 7
void modules_cells(const struct np_modes *modes, const struct module_row *row,
		   struct np_cell cells[MODULE_CELLS]);

/* Does the rank have marks of this domain? */
bool modules_marked(const struct np_detail *detail, const char *domain);

#endif /* NP_MODULES_H */
