/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CMP_ALIGNMENT_PRIVATE_H
#define CMP_ALIGNMENT_PRIVATE_H

/* alignment_side.c prepares what alignment.c aligns. */

#include "cmp_alignment.h"
#include "cmp_sequence.h"
#include "cmp_tree.h"

/* Calls in order. */
struct align_list {
	const uint32_t *item;
	size_t count;
};

/* What is directly inside each node, or else each thread: lists in one array. */
struct align_inside {
	size_t *first; /* by node, then by thread; one more at the end */
	uint32_t *item;
};

struct align_side {
	struct np_detail *detail;
	struct cmp_tree tree;
	size_t thread_count;
	struct np_idmap *threads;    /* tid → 0, 1, 2 … */
	struct align_inside calls;   /* by node and by thread: nodes directly inside */
	struct align_inside all;     /* by thread: the tokens (loose) of all its nodes */
	struct align_inside kernels; /* by node, of outermost operators: in the detail */
	uint32_t *exact;             /* tokens by node: name and inputs */
	uint32_t *loose;             /* name alone */
};

static inline struct align_list align_list_at(const struct align_inside *inside, size_t list)
{
	return (struct align_list){ inside->item + inside->first[list],
				    inside->first[list + 1] - inside->first[list] };
}

/* Read one side; tokens are of a table that both share. */
int align_side_read(struct comparison *comparison, enum cmp_which which, struct np_strtab *tokens,
		    struct align_side *ret, struct np_err *err) NP_MUST_USE;
void align_side_release(struct align_side *side);

/* The name of an operator, or of a module without its path. */
const char *align_own_name(const struct comparison *comparison, const struct cmp_node *node);

#endif /* CMP_ALIGNMENT_PRIVATE_H */
