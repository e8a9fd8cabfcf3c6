/* SPDX-License-Identifier: Apache-2.0 */
#include "alignment_private.h"

#include "npuprof/buf.h"

#define WANTS \
	(NP_DETAIL_FRAMEWORK | NP_DETAIL_PYTHON | NP_DETAIL_STACKS | NP_DETAIL_INPUTS | \
	 NP_DETAIL_KERNELS | NP_DETAIL_LAUNCHES)

/* Modules and outermost operators are aligned; what operators call is not. */
static bool is_item(const struct cmp_tree *tree, uint32_t index, uint32_t step)
{
	const struct cmp_node *node = &tree->nodes.item[index];

	return node->top == index && cmp_tree_call(tree, node)->step == step;
}

/* --- lists ----------------------------------------------------------------------------------- */

/* Items are counted for their lists, then the lists get their places, then they are filled. */
static int begin_lists(struct align_inside *inside, size_t lists, size_t items, struct np_err *err)
{
	inside->first = calloc(lists + 2, sizeof(*inside->first));
	inside->item = malloc((items + 1) * sizeof(*inside->item));
	return inside->first && inside->item ? NP_OK : np_fail_nomem(err, "the alignment");
}

/* Counts stand one behind their list, so that filling moves each place to the next one's. */
static void place_lists(struct align_inside *inside, size_t lists)
{
	size_t sum = 0;

	for (size_t i = 0; i <= lists + 1; i++) {
		size_t size = inside->first[i];

		inside->first[i] = sum;
		sum += size;
	}
}

static void count_item(struct align_inside *inside, size_t list)
{
	inside->first[list + 1]++;
}

static void fill_item(struct align_inside *inside, size_t list, uint32_t item)
{
	inside->item[inside->first[list + 1]++] = item;
}

static size_t thread_of(struct align_side *side, uint32_t index)
{
	return np_idmap_get(side->threads,
			    cmp_tree_call(&side->tree, &side->tree.nodes.item[index])->tid);
}

/* Whose list a node is in: that of its module, if that began in the step too, or of its thread. */
static size_t list_of(struct align_side *side, uint32_t index, uint32_t step)
{
	const struct cmp_node *node = &side->tree.nodes.item[index];

	return node->parent != CMP_NO_NODE && is_item(&side->tree, node->parent, step)
		       ? node->parent
		       : side->tree.nodes.count + thread_of(side, index);
}

static int number_threads(struct align_side *side, uint32_t step, struct np_err *err)
{
	int rc = NP_OK;

	for (uint32_t i = 0; i < side->tree.nodes.count && rc == NP_OK; i++) {
		int64_t tid = cmp_tree_call(&side->tree, &side->tree.nodes.item[i])->tid;

		if (is_item(&side->tree, i, step) &&
		    np_idmap_get(side->threads, tid) == NP_IDMAP_NONE)
			rc = np_idmap_set(side->threads, tid, (uint32_t)side->thread_count++, err);
	}
	return rc;
}

static int list_calls(struct align_side *side, uint32_t step, struct np_err *err)
{
	size_t nodes = side->tree.nodes.count;
	int rc = begin_lists(&side->calls, nodes + side->thread_count, nodes, err);

	if (rc == NP_OK)
		rc = begin_lists(&side->all, side->thread_count, nodes, err);
	if (rc < 0)
		return rc;
	for (uint32_t i = 0; i < nodes; i++) {
		if (!is_item(&side->tree, i, step))
			continue;
		count_item(&side->calls, list_of(side, i, step));
		count_item(&side->all, thread_of(side, i));
	}
	place_lists(&side->calls, nodes + side->thread_count);
	place_lists(&side->all, side->thread_count);
	for (uint32_t i = 0; i < nodes; i++) {
		if (!is_item(&side->tree, i, step))
			continue;
		fill_item(&side->calls, list_of(side, i, step), i);
		fill_item(&side->all, thread_of(side, i), side->loose[i]);
	}
	return NP_OK;
}

static int list_kernels(struct align_side *side, struct np_err *err)
{
	size_t nodes = side->tree.nodes.count;
	size_t kernels = side->detail->kernels.count;
	int rc = begin_lists(&side->kernels, nodes, kernels, err);

	if (rc < 0)
		return rc;
	for (size_t i = 0; i < kernels; i++) {
		if (side->tree.launcher[i] != CMP_NO_NODE)
			count_item(&side->kernels, side->tree.launcher[i]);
	}
	place_lists(&side->kernels, nodes);
	for (uint32_t i = 0; i < kernels; i++) {
		if (side->tree.launcher[i] != CMP_NO_NODE)
			fill_item(&side->kernels, side->tree.launcher[i], i);
	}
	return NP_OK;
}

/* --- tokens ---------------------------------------------------------------------------------- */

const char *align_own_name(const struct comparison *comparison, const struct cmp_node *node)
{
	const char *name = cmp_text(comparison, node->name);
	const char *slash = node->module && !node->made_up ? strrchr(name, '/') : NULL;

	return slash ? slash + 1 : name;
}

static int tokens_of(const struct comparison *comparison, struct np_strtab *tokens,
		     struct align_side *side, uint32_t index, struct np_err *err)
{
	const struct cmp_node *node = &side->tree.nodes.item[index];
	const struct np_framework_call *call = cmp_tree_call(&side->tree, node);
	NP_CLEANUP(np_buf_release) struct np_buf key = NP_BUF_INIT;
	int rc;

	np_buf_printf(&key, "%c%s", node->module ? 'm' : 'o', align_own_name(comparison, node));
	rc = np_buf_check(&key, err);
	if (rc == NP_OK)
		rc = np_strtab_add(tokens, key.text, key.length, &side->loose[index], err);
	side->exact[index] = side->loose[index];
	if (rc < 0 || node->module)
		return rc;
	np_buf_printf(&key, "\n%s\n%s", np_strtab_text(side->detail->strings, call->in_shapes),
		      np_strtab_text(side->detail->strings, call->in_dtypes));
	rc = np_buf_check(&key, err);
	return rc < 0 ? rc : np_strtab_add(tokens, key.text, key.length, &side->exact[index], err);
}

static int make_tokens(const struct comparison *comparison, struct np_strtab *tokens,
		       struct align_side *side, uint32_t step, struct np_err *err)
{
	size_t nodes = side->tree.nodes.count;
	int rc = NP_OK;

	side->exact = calloc(nodes + 1, sizeof(*side->exact));
	side->loose = calloc(nodes + 1, sizeof(*side->loose));
	if (!side->exact || !side->loose)
		return np_fail_nomem(err, "the alignment");
	for (uint32_t i = 0; i < nodes && rc == NP_OK; i++) {
		if (is_item(&side->tree, i, step))
			rc = tokens_of(comparison, tokens, side, i, err);
	}
	return rc;
}

/* --- everything ------------------------------------------------------------------------------ */

/* The middle of the chosen steps, as its place among those of the rank. */
static uint32_t middle_step(const struct comparison *comparison, enum cmp_which which)
{
	const struct cmp_side *side = &comparison->sides[which];
	const struct np_rank *rank = cmp_rank(comparison, &comparison->pairs.item[0], which);

	for (uint32_t i = 0; i < rank->steps.count; i++) {
		if (rank->steps.item[i].id == side->steps.item[side->steps.count / 2])
			return i;
	}
	return NP_NO_STEP;
}

int align_side_read(struct comparison *comparison, enum cmp_which which, struct np_strtab *tokens,
		    struct align_side *ret, struct np_err *err)
{
	uint32_t step = middle_step(comparison, which);
	int rc = np_detail_load(comparison->sides[which].analysis->run,
				comparison->pairs.item[0].rank[which], WANTS, &ret->detail, err);

	ret->threads = np_idmap_new();
	if (rc == NP_OK && !ret->threads)
		rc = np_fail_nomem(err, "the alignment");
	if (rc == NP_OK)
		rc = cmp_tree_build(comparison, ret->detail, &ret->tree, err);
	if (rc == NP_OK)
		rc = make_tokens(comparison, tokens, ret, step, err);
	if (rc == NP_OK)
		rc = number_threads(ret, step, err);
	if (rc == NP_OK)
		rc = list_calls(ret, step, err);
	return rc < 0 ? rc : list_kernels(ret, err);
}

void align_side_release(struct align_side *side)
{
	cmp_tree_release(&side->tree);
	np_detail_free(side->detail);
	np_idmap_free(side->threads);
	free(side->calls.first);
	free(side->calls.item);
	free(side->all.first);
	free(side->all.item);
	free(side->kernels.first);
	free(side->kernels.item);
	free(side->exact);
	free(side->loose);
}
