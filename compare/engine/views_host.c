/* SPDX-License-Identifier: Apache-2.0 */
#include "cmp_tree.h"
#include "cmp_views.h"

/* What the framework called, by name. */

static int add_api(struct cmp_view_rank *rank, const struct cmp_tree *tree)
{
	int rc = NP_OK;

	for (size_t i = 0; i < tree->nodes.count && rc == NP_OK; i++) {
		const struct cmp_node *node = &tree->nodes.item[i];
		const struct np_framework_call *call = cmp_tree_call(tree, node);
		np_ns time = call->end - call->start;
		const struct cmp_tally tally = { .count = 1,
						 .total = time,
						 .self = time - node->inside,
						 .least = time,
						 .most = time };

		if (!node->module && cmp_view_takes(rank, call->step))
			rc = cmp_view_add(rank, CMP_VIEW_API,
					  cmp_text(rank->comparison, node->name), NULL, &tally);
	}
	return rc;
}

static int add_operators(struct cmp_view_rank *rank, const struct cmp_tree *tree)
{
	int rc = NP_OK;

	for (uint32_t i = 0; i < tree->nodes.count && rc == NP_OK; i++) {
		const struct cmp_node *node = &tree->nodes.item[i];
		const struct cmp_tally tally = { .count = 1,
						 .total = node->own,
						 .least = NP_UNKNOWN };

		if (!node->module && node->top == i &&
		    cmp_view_takes(rank, cmp_tree_call(tree, node)->step))
			rc = cmp_view_add(rank, CMP_VIEW_OPERATOR,
					  cmp_text(rank->comparison, node->name), NULL, &tally);
	}
	return rc;
}

/* A row for each module, with all of it, and one for each operator directly inside. */
static int add_modules(struct cmp_view_rank *rank, const struct cmp_tree *tree)
{
	const struct comparison *comparison = rank->comparison;
	int rc = NP_OK;

	for (uint32_t i = 0; i < tree->nodes.count && rc == NP_OK; i++) {
		const struct cmp_node *node = &tree->nodes.item[i];
		const struct cmp_tally tally = { .count = 1,
						 .total = node->module ? node->total : node->own,
						 .self = node->own,
						 .least = NP_UNKNOWN };

		if (node->module_path == NP_STR_NONE || node->top != i ||
		    !cmp_view_takes(rank, cmp_tree_call(tree, node)->step))
			continue;
		rc = cmp_view_add(rank, CMP_VIEW_MODULE, cmp_text(comparison, node->module_path),
				  node->module ? NULL : cmp_text(comparison, node->name), &tally);
	}
	return rc;
}

static int with_tree(struct cmp_view_rank *rank,
		     int (*add)(struct cmp_view_rank *, const struct cmp_tree *))
{
	struct cmp_tree tree;
	int rc = cmp_tree_build(rank->comparison, rank->detail, &tree, rank->err);

	if (rc == NP_OK)
		rc = add(rank, &tree);
	cmp_tree_release(&tree);
	return rc;
}

int cmp_view_api(struct cmp_view_rank *rank)
{
	return with_tree(rank, add_api);
}

int cmp_view_operator(struct cmp_view_rank *rank)
{
	return with_tree(rank, add_operators);
}

int cmp_view_module(struct cmp_view_rank *rank)
{
	return with_tree(rank, add_modules);
}
