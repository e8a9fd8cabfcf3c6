/* SPDX-License-Identifier: Apache-2.0 */
#include "cmp_views.h"

#include "npuprof/buf.h"

/*
 * Calls of the framework, by thread: what is inside what, which operator is around
 * a launch, and which module. Rows come by start, the longest first, so what is
 * around a call is on the stack of its thread.
 */
#define MODULE_PREFIX "nn.Module:"

struct node {
	np_ns end;
	np_ns inside;  /* Σ of the calls directly inside */
	size_t below;  /* node of the same thread, + 1; 0 for none */
	uint32_t call; /* in detail->framework */
	uint32_t top;  /* the outermost operator around it: likewise */
	np_str module; /* path, in comparison.names; NONE outside of all */
	bool is_module;
};

struct tree {
	struct cmp_view_rank *rank;
	NP_VEC(struct node) nodes;
	struct np_idmap *open;    /* thread → node + 1 */
	struct np_idmap *by_link; /* connection → node */
	struct np_idmap *forward; /* id of a forward operator → node */
};

static const struct np_framework_call *call_of(const struct tree *tree, const struct node *node)
{
	return &tree->rank->detail->framework.item[node->call];
}

static int name_module(struct tree *tree, const char *name, np_str around, np_str *ret)
{
	NP_CLEANUP(np_buf_release) struct np_buf path = NP_BUF_INIT;
	const char *parent = cmp_text(tree->rank->comparison, around);
	int rc;

	if (parent)
		np_buf_printf(&path, "%s/", parent);
	np_buf_add(&path, name);
	rc = np_buf_check(&path, tree->rank->err);
	return rc < 0 ? rc
		      : np_strtab_add(tree->rank->comparison->names, path.text, path.length, ret,
				      tree->rank->err);
}

/* A backward operator has the module of its forward one. */
static int find_backward(struct tree *tree, struct node *node)
{
	static const char mark[] = "[ BACKWARD ]";
	const struct np_detail *detail = tree->rank->detail;
	const struct np_framework_call *call = call_of(tree, node);
	NP_CLEANUP(np_buf_release) struct np_buf path = NP_BUF_INIT;
	np_str module = NP_STR_NONE;
	int rc;

	for (uint32_t i = 0; i < call->link_count && module == NP_STR_NONE; i++) {
		const struct np_framework_link *link = &detail->links.item[call->first_link + i];
		uint32_t other = link->kind == NP_LEADS_TO_BACKWARD
					 ? np_idmap_get(tree->forward, link->id)
					 : NP_IDMAP_NONE;

		if (other != NP_IDMAP_NONE)
			module = tree->nodes.item[other].module;
	}
	if (module == NP_STR_NONE)
		return NP_OK;
	np_buf_printf(&path, "%s%s", mark, cmp_text(tree->rank->comparison, module));
	rc = np_buf_check(&path, tree->rank->err);
	return rc < 0 ? rc
		      : np_strtab_add(tree->rank->comparison->names, path.text, path.length,
				      &node->module, tree->rank->err);
}

static int add_links(struct tree *tree, uint32_t index)
{
	const struct node *node = &tree->nodes.item[index];
	const struct np_framework_call *call = call_of(tree, node);
	int rc = NP_OK;

	for (uint32_t i = 0; i < call->link_count && rc == NP_OK; i++) {
		const struct np_framework_link *link =
			&tree->rank->detail->links.item[call->first_link + i];

		if (link->kind == NP_LEADS_TO_TASK)
			rc = np_idmap_set(tree->by_link, link->id, index, tree->rank->err);
		else if (link->kind == NP_LEADS_TO_BACKWARD && node->module != NP_STR_NONE &&
			 np_idmap_get(tree->forward, link->id) == NP_IDMAP_NONE)
			rc = np_idmap_set(tree->forward, link->id, index, tree->rank->err);
	}
	return rc;
}

static int add_call(struct tree *tree, uint32_t index, bool is_module)
{
	const struct np_framework_call *call = &tree->rank->detail->framework.item[index];
	uint32_t open = np_idmap_get(tree->open, call->tid);
	size_t below = open == NP_IDMAP_NONE ? 0 : open;
	struct node *node;
	int rc = NP_OK;

	while (below > 0 && tree->nodes.item[below - 1].end < call->end)
		below = tree->nodes.item[below - 1].below;
	node = np_vec_add(&tree->nodes, tree->rank->err);
	if (!node)
		return NP_E_NOMEM;
	*node = (struct node){ .end = call->end,
			       .below = below,
			       .call = index,
			       .top = index,
			       .is_module = is_module };
	if (below > 0) {
		struct node *around = &tree->nodes.item[below - 1];

		around->inside += call->end - call->start;
		node->module = around->module;
		if (!around->is_module && !is_module)
			node->top = around->top;
	}
	if (is_module) {
		const char *name = np_detail_text(tree->rank->detail, call->name);

		rc = name_module(tree, name + strlen(MODULE_PREFIX), node->module, &node->module);
	} else if (node->module == NP_STR_NONE) {
		rc = find_backward(tree, node);
	}
	if (rc == NP_OK && !is_module)
		rc = add_links(tree, (uint32_t)(tree->nodes.count - 1));
	return rc < 0 ? rc
		      : np_idmap_set(tree->open, call->tid, (uint32_t)tree->nodes.count,
				     tree->rank->err);
}

static void release_tree(struct tree *tree)
{
	np_vec_release(&tree->nodes);
	np_idmap_free(tree->open);
	np_idmap_free(tree->by_link);
	np_idmap_free(tree->forward);
}

static bool is_module_row(const struct np_detail *detail, const struct np_framework_call *call)
{
	const char *name = np_detail_text(detail, call->name);

	return call->kind == NP_FRAMEWORK_PYTHON && name &&
	       strncmp(name, MODULE_PREFIX, strlen(MODULE_PREFIX)) == 0;
}

static int build_tree(struct cmp_view_rank *rank, struct tree *tree)
{
	const struct np_detail *detail = rank->detail;
	int rc;

	*tree = (struct tree){ .rank = rank,
			       .open = np_idmap_new(),
			       .by_link = np_idmap_new(),
			       .forward = np_idmap_new() };
	rc = tree->open && tree->by_link && tree->forward ? NP_OK
							  : np_fail_nomem(rank->err, "calls");
	for (uint32_t i = 0; i < detail->framework.count && rc == NP_OK; i++) {
		const struct np_framework_call *call = &detail->framework.item[i];
		bool is_module = is_module_row(detail, call);

		if (call->kind == NP_FRAMEWORK_OP || is_module)
			rc = add_call(tree, i, is_module);
	}
	return rc;
}

/* --- views ----------------------------------------------------------------------------------- */

static int add_api(struct tree *tree)
{
	struct cmp_view_rank *rank = tree->rank;
	int rc = NP_OK;

	for (size_t i = 0; i < tree->nodes.count && rc == NP_OK; i++) {
		const struct node *node = &tree->nodes.item[i];
		const struct np_framework_call *call = call_of(tree, node);
		const char *name = np_detail_text(rank->detail, call->name);
		np_ns time = call->end - call->start;
		const struct cmp_tally tally = { .count = 1,
						 .total = time,
						 .self = time - node->inside,
						 .least = time,
						 .most = time };

		if (name && !node->is_module && cmp_view_takes(rank, call->step))
			rc = cmp_view_add(rank, CMP_VIEW_API, name, NULL, &tally);
	}
	return rc;
}

int cmp_view_api(struct cmp_view_rank *rank)
{
	struct tree tree;
	int rc = build_tree(rank, &tree);

	if (rc == NP_OK)
		rc = add_api(&tree);
	release_tree(&tree);
	return rc;
}

static int add_calls(struct tree *tree, enum cmp_view view)
{
	struct cmp_view_rank *rank = tree->rank;
	int rc = NP_OK;

	for (size_t i = 0; i < tree->nodes.count && rc == NP_OK; i++) {
		const struct node *node = &tree->nodes.item[i];
		const struct np_framework_call *call = call_of(tree, node);
		const char *name = np_detail_text(rank->detail, call->name);
		const char *module = cmp_text(rank->comparison, node->module);
		const struct cmp_tally tally = { .count = 1, .least = NP_UNKNOWN };

		if (!name || node->is_module || node->top != node->call ||
		    !cmp_view_takes(rank, call->step))
			continue;
		if (view == CMP_VIEW_OPERATOR)
			rc = cmp_view_add(rank, view, name, NULL, &tally);
		else if (module)
			rc = cmp_view_add(rank, view, module, name, &tally);
	}
	return rc;
}

/* Kernels go to the outermost operator around their launch, each to one. */
static int add_launched(struct tree *tree, enum cmp_view view)
{
	struct cmp_view_rank *rank = tree->rank;
	const struct np_detail *detail = rank->detail;
	int rc = NP_OK;

	for (size_t i = 0; i < detail->kernels.count && rc == NP_OK; i++) {
		const struct np_kernel *kernel = &detail->kernels.item[i];
		uint32_t at = kernel->connection == NP_UNKNOWN
				      ? NP_IDMAP_NONE
				      : np_idmap_get(tree->by_link, kernel->connection);
		const struct np_framework_call *top;
		const char *module;
		np_ns time = kernel->end - kernel->start;
		/* The operator was counted; this is its time alone. */
		const struct cmp_tally tally = { .total = time, .least = time, .most = time };

		if (at == NP_IDMAP_NONE)
			continue;
		top = &detail->framework.item[tree->nodes.item[at].top];
		module = cmp_text(rank->comparison, tree->nodes.item[at].module);
		if (!cmp_view_takes(rank, top->step))
			continue;
		if (view == CMP_VIEW_OPERATOR)
			rc = cmp_view_add(rank, view, np_detail_text(detail, top->name), NULL,
					  &tally);
		else if (module)
			rc = cmp_view_add(rank, view, module, np_detail_text(detail, top->name),
					  &tally);
	}
	return rc;
}

static int add_devices(struct cmp_view_rank *rank, enum cmp_view view)
{
	struct tree tree;
	int rc = build_tree(rank, &tree);

	if (rc == NP_OK)
		rc = add_calls(&tree, view);
	if (rc == NP_OK)
		rc = add_launched(&tree, view);
	release_tree(&tree);
	return rc;
}

int cmp_view_operator(struct cmp_view_rank *rank)
{
	return add_devices(rank, CMP_VIEW_OPERATOR);
}

int cmp_view_module(struct cmp_view_rank *rank)
{
	return add_devices(rank, CMP_VIEW_MODULE);
}
