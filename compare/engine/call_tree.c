/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builds the tree of framework calls of a rank, with modules and the kernels they launched
 * (cmp_tree.h).
 */
#include "cmp_tree.h"

#include "npuprof/buf.h"

#define MODULE_PREFIX "nn.Module:"
#define BACKWARD      "[ BACKWARD ]"

struct call_tree_builder {
	struct comparison *comparison;
	struct cmp_tree *tree;
	struct np_idmap *open;    /* thread → the node entered last */
	struct np_idmap *by_link; /* connection → node */
	struct np_idmap *forward; /* id of a forward operator → the path of its module */
	struct np_idmap *names;   /* of the detail → of the comparison */
	struct np_err *err;
};

static struct cmp_node *node_at(const struct call_tree_builder *build, uint32_t index)
{
	return &build->tree->nodes.item[index];
}

static int keep_name(struct call_tree_builder *build, np_str text, np_str *ret)
{
	const char *name;
	int rc;

	*ret = np_idmap_get(build->names, text);
	if (*ret != NP_IDMAP_NONE)
		return NP_OK;
	name = cmp_op_names_map(build->comparison->options.op_names,
				np_strtab_text(build->tree->detail->strings, text));
	rc = np_strtab_add(build->comparison->names, name, strlen(name), ret, build->err);
	return rc < 0 ? rc : np_idmap_set(build->names, text, *ret, build->err);
}

static int keep_path(struct call_tree_builder *build, const char *before, const char *behind,
		     np_str *ret)
{
	NP_CLEANUP(np_buf_release) struct np_buf path = NP_BUF_INIT;
	int rc;

	np_buf_printf(&path, "%s%s", before, behind);
	rc = np_buf_check(&path, build->err);
	return rc < 0 ? rc
		      : np_strtab_add(build->comparison->names, path.text, path.length, ret,
				      build->err);
}

/* --- modules --------------------------------------------------------------------------------- */

static bool is_module_row(const struct np_detail *detail, const struct np_framework_call *call)
{
	const char *name = np_detail_text(detail, call->name);

	return call->kind == NP_FRAMEWORK_PYTHON && name &&
	       strncmp(name, MODULE_PREFIX, strlen(MODULE_PREFIX)) == 0;
}

/* The path of a module: that of the one around it and its own name. */
static int name_module(struct call_tree_builder *build, const char *name, struct cmp_node *node)
{
	const char *around = cmp_text(build->comparison, node->module_path);
	NP_CLEANUP(np_buf_release) struct np_buf before = NP_BUF_INIT;
	int rc;

	name += strlen(MODULE_PREFIX);
	name += strspn(name, " ");
	if (around)
		np_buf_printf(&before, "%s/", around);
	rc = np_buf_check(&before, build->err);
	if (rc == NP_OK)
		rc = keep_path(build, before.text ? before.text : "", name, &node->module_path);
	node->name = node->module_path;
	return rc;
}

/* --- calls ----------------------------------------------------------------------------------- */

static int add_forward(struct call_tree_builder *build, const struct cmp_node *node)
{
	const struct np_framework_call *call = cmp_tree_call(build->tree, node);
	int rc = NP_OK;

	for (uint32_t i = 0; i < call->link_count && rc == NP_OK; i++) {
		const struct np_framework_link *link =
			&build->tree->detail->links.item[call->first_link + i];

		if (link->kind == NP_LEADS_TO_BACKWARD &&
		    np_idmap_get(build->forward, link->id) == NP_IDMAP_NONE)
			rc = np_idmap_set(build->forward, link->id, node->module_path, build->err);
	}
	return rc;
}

/* Rows come by start, the longest first: what is around a call is open on its thread. */
static uint32_t around(const struct call_tree_builder *build, const struct np_framework_call *call)
{
	/* NP_IDMAP_NONE is CMP_NO_NODE */
	uint32_t open = np_idmap_get(build->open, call->tid);

	while (open != CMP_NO_NODE &&
	       cmp_tree_call(build->tree, node_at(build, open))->end < call->end)
		open = node_at(build, open)->parent;
	return open;
}

static int add_call(struct call_tree_builder *build, uint32_t row)
{
	const struct np_framework_call *call = &build->tree->detail->framework.item[row];
	bool module = is_module_row(build->tree->detail, call);
	uint32_t around_it = around(build, call);
	struct cmp_node *node = np_vec_add(&build->tree->nodes, build->err);
	int rc;

	if (!node)
		return NP_E_NOMEM;
	*node = (struct cmp_node){ .call = row, .parent = around_it, .module = module };
	if (around_it != CMP_NO_NODE) {
		node_at(build, around_it)->inside += call->end - call->start;
		node->module_path = node_at(build, around_it)->module_path;
	}
	rc = module ? name_module(build, np_detail_text(build->tree->detail, call->name), node)
		    : keep_name(build, call->name, &node->name);
	if (rc == NP_OK && !module && node->module_path != NP_STR_NONE)
		rc = add_forward(build, node);
	return rc < 0 ? rc
		      : np_idmap_set(build->open, call->tid,
				     (uint32_t)(build->tree->nodes.count - 1), build->err);
}

/* --- backward operators ---------------------------------------------------------------------- */

/* The module of the forward operator that a call belongs to, or NONE. */
static np_str forward_module(const struct call_tree_builder *build,
			     const struct np_framework_call *call)
{
	for (uint32_t i = 0; i < call->link_count; i++) {
		const struct np_framework_link *link =
			&build->tree->detail->links.item[call->first_link + i];
		uint32_t path = link->kind == NP_LEADS_TO_BACKWARD
					? np_idmap_get(build->forward, link->id)
					: NP_IDMAP_NONE;

		if (path != NP_IDMAP_NONE)
			return path;
	}
	return NP_STR_NONE;
}

/* By node: the module that it, or the first operator inside it that has one, is backward of. */
static np_str *find_backward(const struct call_tree_builder *build)
{
	const struct cmp_tree *tree = build->tree;
	np_str *backward = calloc(tree->nodes.count + 1, sizeof(*backward));

	for (size_t i = tree->nodes.count; backward && i-- > 0;) {
		const struct cmp_node *node = &tree->nodes.item[i];
		np_str own = node->module || node->module_path != NP_STR_NONE
				     ? NP_STR_NONE
				     : forward_module(build, cmp_tree_call(tree, node));

		if (own != NP_STR_NONE)
			backward[i] = own;
		if (backward[i] != NP_STR_NONE && node->parent != CMP_NO_NODE)
			backward[node->parent] = backward[i];
	}
	return backward;
}

/* Nodes while those of backward modules are put between them. */
struct mover {
	struct call_tree_builder *build;
	NP_VEC(struct cmp_node) nodes;
	struct np_idmap *last; /* thread → its last node around which there is none */
	uint32_t *place;       /* by node as it was */
};

static int enter_backward(struct mover *mover, const struct cmp_node *from, np_str module,
			  uint32_t *ret)
{
	struct call_tree_builder *build = mover->build;
	int64_t tid = cmp_tree_call(build->tree, from)->tid;
	struct cmp_node *node;
	np_str path;
	int rc = keep_path(build, BACKWARD, cmp_text(build->comparison, module), &path);

	if (rc < 0)
		return rc;
	*ret = np_idmap_get(mover->last, tid);
	if (*ret != NP_IDMAP_NONE && mover->nodes.item[*ret].made_up &&
	    mover->nodes.item[*ret].name == path)
		return NP_OK;
	node = np_vec_add(&mover->nodes, build->err);
	if (!node)
		return NP_E_NOMEM;
	*node = (struct cmp_node){ .call = from->call,
				   .parent = CMP_NO_NODE,
				   .module = true,
				   .made_up = true,
				   .name = path,
				   .module_path = path };
	*ret = node->top = (uint32_t)(mover->nodes.count - 1);
	return np_idmap_set(mover->last, tid, *ret, build->err);
}

static int move_node(struct mover *mover, size_t index, np_str backward)
{
	const struct cmp_node *from = &mover->build->tree->nodes.item[index];
	bool root = from->parent == CMP_NO_NODE;
	uint32_t parent = root ? CMP_NO_NODE : mover->place[from->parent];
	struct cmp_node *node;
	int rc = NP_OK;

	if (root && !from->module && backward != NP_STR_NONE)
		rc = enter_backward(mover, from, backward, &parent);
	node = rc < 0 ? NULL : np_vec_add(&mover->nodes, mover->build->err);
	if (!node)
		return NP_E_NOMEM;
	*node = *from;
	node->parent = parent;
	node->top = mover->place[index] = (uint32_t)(mover->nodes.count - 1);
	if (parent == CMP_NO_NODE)
		return np_idmap_set(mover->last, cmp_tree_call(mover->build->tree, from)->tid,
				    node->top, mover->build->err);
	if (!node->module)
		node->module_path = mover->nodes.item[parent].module_path;
	if (!node->module && !mover->nodes.item[parent].module)
		node->top = mover->nodes.item[parent].top;
	return NP_OK;
}

/* Neighbours of one backward module get a node around them; and everybody their outermost one. */
static int place_backward(struct call_tree_builder *build)
{
	struct cmp_tree *tree = build->tree;
	np_str *backward = find_backward(build);
	struct mover mover = { .build = build,
			       .last = np_idmap_new(),
			       .place = malloc((tree->nodes.count + 1) * sizeof(uint32_t)) };
	int rc = backward && mover.last && mover.place ? NP_OK : np_fail_nomem(build->err, "calls");

	for (size_t i = 0; i < tree->nodes.count && rc == NP_OK; i++)
		rc = move_node(&mover, i, backward[i]);
	if (rc == NP_OK) {
		np_vec_release(&tree->nodes);
		memcpy(&tree->nodes, &mover.nodes, sizeof(tree->nodes));
		memset(&mover.nodes, 0, sizeof(mover.nodes));
	}
	np_vec_release(&mover.nodes);
	np_idmap_free(mover.last);
	free(mover.place);
	free(backward);
	return rc;
}

/* --- kernels --------------------------------------------------------------------------------- */

/* Connections lead to the node of the call that launched them. */
static int index_launches(struct call_tree_builder *build)
{
	const struct cmp_tree *tree = build->tree;
	int rc = NP_OK;

	for (uint32_t i = 0; i < tree->nodes.count; i++) {
		const struct cmp_node *node = &tree->nodes.item[i];
		const struct np_framework_call *call = cmp_tree_call(tree, node);

		for (uint32_t j = 0; j < call->link_count && !node->module && rc == NP_OK; j++) {
			const struct np_framework_link *link =
				&tree->detail->links.item[call->first_link + j];

			if (link->kind == NP_LEADS_TO_TASK)
				rc = np_idmap_set(build->by_link, link->id, i, build->err);
		}
	}
	return rc;
}

/* A kernel is the outermost operator's around its launch, and in all that is around that. */
static int add_kernels(struct call_tree_builder *build)
{
	struct cmp_tree *tree = build->tree;
	const struct np_detail *detail = tree->detail;

	tree->launcher = malloc((detail->kernels.count + 1) * sizeof(*tree->launcher));
	if (!tree->launcher)
		return np_fail_nomem(build->err, "calls");
	for (size_t i = 0; i < detail->kernels.count; i++) {
		const struct np_kernel *kernel = &detail->kernels.item[i];
		uint32_t node = kernel->connection == NP_UNKNOWN
					? NP_IDMAP_NONE
					: np_idmap_get(build->by_link, kernel->connection);

		/* NP_IDMAP_NONE is CMP_NO_NODE */
		tree->launcher[i] = node == NP_IDMAP_NONE ? node : node_at(build, node)->top;
		if (node != NP_IDMAP_NONE)
			node_at(build, tree->launcher[i])->own += kernel->end - kernel->start;
	}
	/* What is around comes before what is inside. */
	for (size_t i = tree->nodes.count; i-- > 0;) {
		struct cmp_node *node = &tree->nodes.item[i];
		struct cmp_node *parent =
			node->parent == CMP_NO_NODE ? NULL : node_at(build, node->parent);

		if (!node->module)
			node->total += node->own;
		if (parent)
			parent->total += node->total;
		if (parent && parent->module && !node->module)
			parent->own += node->own;
	}
	return NP_OK;
}

static int walk(struct call_tree_builder *build)
{
	const struct np_detail *detail = build->tree->detail;
	int rc = NP_OK;

	for (uint32_t i = 0; i < detail->framework.count && rc == NP_OK; i++) {
		const struct np_framework_call *call = &detail->framework.item[i];

		if (call->name != NP_STR_NONE &&
		    (call->kind == NP_FRAMEWORK_OP || is_module_row(detail, call)))
			rc = add_call(build, i);
	}
	if (rc == NP_OK)
		rc = place_backward(build);
	if (rc == NP_OK)
		rc = index_launches(build);
	return rc < 0 ? rc : add_kernels(build);
}

int cmp_tree_build(struct comparison *comparison, const struct np_detail *detail,
		   struct cmp_tree *ret, struct np_err *err)
{
	struct call_tree_builder build = { .comparison = comparison,
					   .tree = ret,
					   .open = np_idmap_new(),
					   .by_link = np_idmap_new(),
					   .forward = np_idmap_new(),
					   .names = np_idmap_new(),
					   .err = err };
	int rc;

	*ret = (struct cmp_tree){ .detail = detail };
	rc = build.open && build.by_link && build.forward && build.names
		     ? walk(&build)
		     : np_fail_nomem(err, "calls");
	np_idmap_free(build.open);
	np_idmap_free(build.by_link);
	np_idmap_free(build.forward);
	np_idmap_free(build.names);
	return rc;
}

void cmp_tree_release(struct cmp_tree *tree)
{
	np_vec_release(&tree->nodes);
	free(tree->launcher);
	tree->launcher = NULL;
}
