/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CMP_TREE_H
#define CMP_TREE_H

#include "cmp_comparison.h"

/*
 * Calls of the framework as a tree
 * ================================
 *
 * Operators and modules of each thread, by what is inside what, and the kernels
 * that they launched. A backward operator belongs to the module of the forward one
 * of which it, or the first inside it that knows, is the backward: neighbours of one
 * module lie in a node of its own, called "[ BACKWARD ]<path>", that no row of the
 * profile stands for.
 */
#define CMP_NO_NODE UINT32_MAX

struct cmp_node {
	uint32_t call;   /* in detail->framework; of a made-up module its first operator */
	uint32_t parent; /* node, or CMP_NO_NODE; before this one */
	bool module;
	bool made_up;
	np_str name;        /* in comparison.names: of an operator, or the path of a module */
	np_str module_path; /* around it, or its own; NP_STR_NONE outside of all */
	np_ns inside;       /* Σ of the calls directly inside */
	uint32_t top;       /* the outermost operator around it, or itself; of modules themselves */
	/*
	 * Σ durations of the kernels launched by it or anything inside it; and of them those
	 * that are its own: of an outermost operator without those of modules inside, of
	 * a module those of the operators that are directly in it.
	 */
	np_ns total;
	np_ns own;
};

struct cmp_tree {
	const struct np_detail *detail; /* borrowed */
	NP_VEC(struct cmp_node) nodes;  /* by start, what is around before what is inside */
	uint32_t *launcher; /* by kernel of the detail: the outermost operator, or CMP_NO_NODE */
};

int cmp_tree_build(struct comparison *comparison, const struct np_detail *detail,
		   struct cmp_tree *ret, struct np_err *err) NP_MUST_USE;
void cmp_tree_release(struct cmp_tree *tree);

static inline const struct np_framework_call *cmp_tree_call(const struct cmp_tree *tree,
							    const struct cmp_node *node)
{
	return &tree->detail->framework.item[node->call];
}

#endif /* CMP_TREE_H */
