/* SPDX-License-Identifier: Apache-2.0 */
/* Aligns what the framework called in one step of both sides, call by call (cmp_alignment.h). */
#include "cmp_alignment.h"
#include "cmp_sequence.h"
#include "cmp_tree.h"

#include "npuprof/buf.h"
#include "npuprof/rank.h"
#include "npuprof/text.h"

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

/* The name of an operator, or of a module without its path. */
static const char *align_own_name(const struct comparison *comparison, const struct cmp_node *node)
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
	if (rc == NP_OK)
		rc = np_strtab_add(tokens, key.text, key.length, &side->exact[index], err);
	if (rc == NP_OK && comparison->options.by_shape)
		side->loose[index] = side->exact[index];
	return rc;
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

static int align_side_read(struct comparison *comparison, enum cmp_which which,
			   struct np_strtab *tokens, struct align_side *ret, struct np_err *err)
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

/* Read one side; tokens are of a table that both share. */
static void align_side_release(struct align_side *side)
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

/* More calls that became one are no fusion. */
#define FUSED_MOST 16

/* A list of each side that is being walked. */
struct frame {
	struct align_list list[CMP_SIDES];
	struct cmp_matches matches;
	size_t at; /* the next match */
	size_t from[CMP_SIDES];
	bool in_gap; /* between two matches, which are */
	bool fused;  /* one call for several */
	uint32_t level;
};

struct aligner {
	struct comparison *comparison;
	struct cmp_alignment *ret;
	struct align_side side[CMP_SIDES];
	struct np_strtab *tokens;
	NP_VEC(struct frame) frames;
	uint32_t thread;
	struct np_err *err;
};

/* --- rows ------------------------------------------------------------------------------------ */

static int keep_text(struct aligner *aligner, const struct align_side *side, np_str from,
		     np_str *ret)
{
	const struct np_strtab *strings = side->detail->strings;

	*ret = NP_STR_NONE;
	return from == NP_STR_NONE
		       ? NP_OK
		       : np_strtab_add(aligner->comparison->names, np_strtab_text(strings, from),
				       np_strtab_length(strings, from), ret, aligner->err);
}

static const char *kernel_name(const struct align_side *side, const struct np_kernel *kernel)
{
	const char *type = np_detail_text(side->detail, kernel->type);
	const char *name = np_detail_text(side->detail, kernel->name);

	return type ? type : name ? name : "unknown";
}

static int tell_kernels(struct aligner *aligner, const struct align_side *side, uint32_t node,
			const char **ret)
{
	struct align_list list = align_list_at(&side->kernels, node);
	NP_CLEANUP(np_buf_release) struct np_buf text = NP_BUF_INIT;

	for (size_t i = 0; i < list.count; i++) {
		const struct np_kernel *kernel = &side->detail->kernels.item[list.item[i]];
		const char *shapes = np_detail_text(side->detail, kernel->in_shapes);

		np_buf_printf(&text, "%s%s ", i ? "; " : "", kernel_name(side, kernel));
		if (shapes)
			np_buf_printf(&text, "[%s] ", shapes);
		np_text_duration(&text, kernel->end - kernel->start);
	}
	*ret = list.count ? cmp_keep(aligner->comparison, &text) : NULL;
	return list.count && !*ret ? np_fail_nomem(aligner->err, "the alignment") : NP_OK;
}

/* Frames are recorded from the inside outwards. */
static int tell_stack(struct aligner *aligner, const struct align_side *side,
		      const struct np_framework_call *call, const char **ret)
{
	const char *stack = np_detail_text(side->detail, call->stack);
	size_t end = stack ? strlen(stack) : 0;
	NP_CLEANUP(np_buf_release) struct np_buf text = NP_BUF_INIT;

	if (!stack)
		return NP_OK;
	for (size_t begin = end; begin > 0; end = begin ? begin - 1 : 0) {
		begin = end;
		while (begin > 0 && stack[begin - 1] != '\n')
			begin--;
		if (text.length > 0)
			np_buf_add(&text, ";\n");
		np_buf_add_bytes(&text, stack + begin, end - begin);
	}
	*ret = cmp_keep(aligner->comparison, &text);
	return *ret ? NP_OK : np_fail_nomem(aligner->err, "the alignment");
}

static int fill_side(struct aligner *aligner, const struct align_side *side, uint32_t index,
		     struct cmp_aligned_side *ret)
{
	const struct cmp_node *node = &side->tree.nodes.item[index];
	const struct np_framework_call *call = cmp_tree_call(&side->tree, node);
	const char *name = align_own_name(aligner->comparison, node);
	int rc = np_strtab_add(aligner->comparison->names, name, strlen(name), &ret->name,
			       aligner->err);

	ret->total = node->module ? node->total : node->own;
	ret->own = node->own;
	if (rc == NP_OK && !node->module)
		rc = keep_text(aligner, side, call->in_shapes, &ret->shapes);
	if (rc == NP_OK && !node->module)
		rc = keep_text(aligner, side, call->in_dtypes, &ret->dtypes);
	if (rc == NP_OK && !node->module)
		rc = tell_kernels(aligner, side, index, &ret->kernels);
	if (rc == NP_OK && !node->module)
		rc = tell_stack(aligner, side, call, &ret->stack);
	return rc;
}

/* By type, else by name; what one side did not record is no difference. */
static bool same_kernel(const struct aligner *aligner, const uint32_t kernel[CMP_SIDES])
{
	const char *type[CMP_SIDES];
	const char *name[CMP_SIDES];

	for (int i = 0; i < CMP_SIDES; i++) {
		const struct np_detail *detail = aligner->side[i].detail;

		type[i] = np_detail_text(detail, detail->kernels.item[kernel[i]].type);
		name[i] = np_detail_text(detail, detail->kernels.item[kernel[i]].name);
	}
	if (type[0] && type[1])
		return strcmp(type[0], type[1]) == 0;
	return !name[0] || !name[1] || strcmp(name[0], name[1]) == 0;
}

/* Do two operators have the same kernels, in the same order? */
static bool same_kernels(const struct aligner *aligner, const uint32_t node[CMP_SIDES])
{
	const struct align_list base = align_list_at(&aligner->side[0].kernels, node[0]);
	const struct align_list new_ = align_list_at(&aligner->side[1].kernels, node[1]);

	if (base.count != new_.count)
		return false;
	for (size_t i = 0; i < base.count; i++) {
		if (!same_kernel(aligner, (const uint32_t[]){ base.item[i], new_.item[i] }))
			return false;
	}
	return true;
}

static const char *change_of(const struct aligner *aligner, const struct cmp_aligned *row,
			     const uint32_t node[CMP_SIDES])
{
	const struct cmp_aligned_side *base = &row->side[CMP_BASE];
	const struct cmp_aligned_side *new_ = &row->side[CMP_NEW];

	if (node[CMP_BASE] == CMP_NO_NODE)
		return "new";
	if (node[CMP_NEW] == CMP_NO_NODE)
		return "removed";
	if (row->module)
		return "";
	/* Not recorded on one side is no change. */
	if (base->shapes != new_->shapes && base->shapes && new_->shapes)
		return "shape";
	if (base->dtypes != new_->dtypes && base->dtypes && new_->dtypes)
		return "dtype";
	return same_kernels(aligner, node) ? "" : "kernels";
}

/* A row of these nodes, of which one may be CMP_NO_NODE; NULL: find out what changed. */
static int add_row(struct aligner *aligner, const uint32_t node[CMP_SIDES], uint32_t level,
		   const char *change)
{
	struct cmp_aligned *row = np_vec_add(&aligner->ret->rows, aligner->err);
	int rc = NP_OK;

	if (!row)
		return NP_E_NOMEM;
	row->thread = aligner->thread;
	row->level = level;
	for (int i = CMP_SIDES; i-- > 0 && rc == NP_OK;) {
		const struct align_side *side = &aligner->side[i];

		if (node[i] == CMP_NO_NODE)
			continue;
		row->module = side->tree.nodes.item[node[i]].module;
		row->path = side->tree.nodes.item[node[i]].module_path;
		rc = fill_side(aligner, side, node[i], &row->side[i]);
	}
	row->change = change ? change : change_of(aligner, row, node);
	return rc;
}

/* --- alignment ------------------------------------------------------------------------------- */

static uint32_t *tokens_of_list(const uint32_t *tokens, struct align_list list)
{
	uint32_t *ret = malloc((list.count + 1) * sizeof(*ret));

	for (size_t i = 0; ret && i < list.count; i++)
		ret[i] = tokens[list.item[i]];
	return ret;
}

static struct align_list part_of(struct align_list list, size_t from, size_t to)
{
	return (struct align_list){ list.item + from, to - from };
}

/* Align two lists by these tokens and add the matches, moved by `from`. */
static int align_lists(struct aligner *aligner, const struct align_list list[CMP_SIDES],
		       uint32_t *const tokens[CMP_SIDES], const size_t from[CMP_SIDES],
		       struct cmp_matches *ret)
{
	uint32_t *base = tokens_of_list(tokens[CMP_BASE], list[CMP_BASE]);
	uint32_t *new_ = tokens_of_list(tokens[CMP_NEW], list[CMP_NEW]);
	size_t first = ret->list.count;
	int rc = base && new_ ? cmp_align(base, list[CMP_BASE].count, new_, list[CMP_NEW].count,
					  ret, aligner->err)
			      : np_fail_nomem(aligner->err, "the alignment");

	for (size_t i = first; i < ret->list.count; i++) {
		ret->list.item[i].base += from[CMP_BASE];
		ret->list.item[i].new_ += from[CMP_NEW];
	}
	free(base);
	free(new_);
	return rc;
}

/* First what is equal in all, then by name what is left between. */
static int align_frame(struct aligner *aligner, struct frame *frame)
{
	uint32_t *const exact[] = { aligner->side[0].exact, aligner->side[1].exact };
	uint32_t *const loose[] = { aligner->side[0].loose, aligner->side[1].loose };
	struct cmp_matches sure = { 0 };
	size_t from[CMP_SIDES] = { 0, 0 };
	int rc = align_lists(aligner, frame->list, exact, from, &sure);

	for (size_t i = 0; i <= sure.list.count && rc == NP_OK; i++) {
		bool end = i == sure.list.count;
		const struct cmp_match match =
			end ? (struct cmp_match){ frame->list[0].count, frame->list[1].count }
			    : sure.list.item[i];
		const struct align_list gap[] = { part_of(frame->list[0], from[0], match.base),
						  part_of(frame->list[1], from[1], match.new_) };
		struct cmp_match *slot;

		if (gap[0].count > 0 && gap[1].count > 0)
			rc = align_lists(aligner, gap, loose, from, &frame->matches);
		slot = end || rc < 0 ? NULL : np_vec_add(&frame->matches.list, aligner->err);
		if (slot)
			*slot = match;
		else if (!end)
			rc = NP_E_NOMEM;
		from[0] = match.base + 1;
		from[1] = match.new_ + 1;
	}
	np_vec_release(&sure.list);
	return rc;
}

static int push_frame(struct aligner *aligner, const struct align_list list[CMP_SIDES],
		      uint32_t level)
{
	struct frame *frame = np_vec_add(&aligner->frames, aligner->err);

	if (!frame)
		return NP_E_NOMEM;
	*frame = (struct frame){ .list = { list[0], list[1] }, .level = level };
	return align_frame(aligner, frame);
}

/* A row, and after it the modules and operators inside. */
static int enter(struct aligner *aligner, const uint32_t node[CMP_SIDES], uint32_t level,
		 const char *change)
{
	struct align_list inside[CMP_SIDES] = { 0 };
	int rc = add_row(aligner, node, level, change);

	for (int i = 0; i < CMP_SIDES; i++) {
		if (node[i] != CMP_NO_NODE)
			inside[i] = align_list_at(&aligner->side[i].calls, node[i]);
	}
	return rc < 0 || inside[0].count + inside[1].count == 0
		       ? rc
		       : push_frame(aligner, inside, level + 1);
}

/* Several operators on one side and a single other one at the same place. */
static bool is_fusion(const struct aligner *aligner, const struct frame *frame,
		      const size_t to[CMP_SIDES])
{
	size_t count[] = { to[0] - frame->from[0], to[1] - frame->from[1] };
	size_t many = count[0] > count[1] ? count[0] : count[1];

	if ((count[0] != 1 && count[1] != 1) || many < 2 || many > FUSED_MOST || count[0] == 0 ||
	    count[1] == 0)
		return false;
	for (int i = 0; i < CMP_SIDES; i++) {
		for (size_t j = frame->from[i]; j < to[i]; j++) {
			if (aligner->side[i].tree.nodes.item[frame->list[i].item[j]].module)
				return false;
		}
	}
	return true;
}

/*
 * The next call of the innermost frame: what only one side has comes before the
 * match behind it. False when the frame is done.
 */
static int take_next(struct aligner *aligner, bool *ret_more)
{
	struct frame *frame = &aligner->frames.item[aligner->frames.count - 1];
	bool end = frame->at == frame->matches.list.count;
	const size_t to[CMP_SIDES] = {
		end ? frame->list[0].count : frame->matches.list.item[frame->at].base,
		end ? frame->list[1].count : frame->matches.list.item[frame->at].new_,
	};
	uint32_t node[CMP_SIDES] = { CMP_NO_NODE, CMP_NO_NODE };
	uint32_t level = frame->level;

	*ret_more = true;
	if (!frame->in_gap)
		frame->fused = is_fusion(aligner, frame, to);
	frame->in_gap = true;
	for (int i = 0; i < CMP_SIDES; i++) {
		if (frame->from[i] < to[i]) {
			node[i] = frame->list[i].item[frame->from[i]++];
			return enter(aligner, node, level, frame->fused ? "fused" : NULL);
		}
	}
	if (end) {
		*ret_more = false;
		return NP_OK;
	}
	node[0] = frame->list[0].item[frame->from[0]++];
	node[1] = frame->list[1].item[frame->from[1]++];
	frame->at++;
	frame->in_gap = false;
	return enter(aligner, node, level, NULL);
}

static int walk(struct aligner *aligner)
{
	int rc = NP_OK;

	while (aligner->frames.count > 0 && rc == NP_OK) {
		bool more;

		rc = take_next(aligner, &more);
		if (rc == NP_OK && !more) {
			aligner->frames.count--;
			np_vec_release(&aligner->frames.item[aligner->frames.count].matches.list);
		}
	}
	return rc;
}

/* --- threads --------------------------------------------------------------------------------- */

static int align_thread(struct aligner *aligner, size_t base, size_t new_)
{
	const size_t thread[] = { base, new_ };
	struct align_list lists[CMP_SIDES] = { 0 };
	int rc;

	for (int i = 0; i < CMP_SIDES; i++) {
		const struct align_side *side = &aligner->side[i];

		if (thread[i] != SIZE_MAX)
			lists[i] = align_list_at(&side->calls, side->tree.nodes.count + thread[i]);
	}
	aligner->thread++;
	rc = push_frame(aligner, lists, 0);
	return rc < 0 ? rc : walk(aligner);
}

static struct cmp_lane *lanes_of(const struct align_side *side)
{
	struct cmp_lane *lanes = calloc(side->thread_count + 1, sizeof(*lanes));

	for (size_t i = 0; lanes && i < side->thread_count; i++) {
		struct align_list list = align_list_at(&side->all, i);

		lanes[i] = (struct cmp_lane){ list.item, list.count };
	}
	return lanes;
}

static bool is_partner(const size_t *partner, size_t count, size_t thread)
{
	for (size_t i = 0; i < count; i++) {
		if (partner[i] == thread)
			return true;
	}
	return false;
}

static int align_threads(struct aligner *aligner)
{
	size_t count[] = { aligner->side[0].thread_count, aligner->side[1].thread_count };
	struct cmp_lane *base = lanes_of(&aligner->side[CMP_BASE]);
	struct cmp_lane *new_ = lanes_of(&aligner->side[CMP_NEW]);
	size_t *partner = malloc((count[0] + 1) * sizeof(*partner));
	int rc = base && new_ && partner
			 ? cmp_pair_lanes(base, count[0], new_, count[1], partner, aligner->err)
			 : np_fail_nomem(aligner->err, "the alignment");

	for (size_t i = 0; i < count[0] && rc == NP_OK; i++)
		rc = align_thread(aligner, i, partner[i]);
	for (size_t i = 0; i < count[1] && rc == NP_OK; i++) {
		if (!is_partner(partner, count[0], i))
			rc = align_thread(aligner, SIZE_MAX, i);
	}
	free(base);
	free(new_);
	free(partner);
	return rc;
}

/* --- everything ------------------------------------------------------------------------------ */

int cmp_align_calls(struct comparison *comparison, struct cmp_alignment *ret, struct np_err *err)
{
	struct aligner aligner = {
		.comparison = comparison, .ret = ret, .tokens = np_strtab_new(), .err = err
	};
	int rc = aligner.tokens ? NP_OK : np_fail_nomem(err, "the alignment");

	*ret = (struct cmp_alignment){ 0 };
	for (int i = 0; i < CMP_SIDES && rc == NP_OK; i++) {
		rc = align_side_read(comparison, (enum cmp_which)i, aligner.tokens,
				     &aligner.side[i], err);
		if (rc == NP_OK && !(aligner.side[i].detail->has & NP_DETAIL_FRAMEWORK))
			ret->missing |= 1U << i;
	}
	/* What one side did not record is not gone. */
	if (rc == NP_OK && !ret->missing)
		rc = align_threads(&aligner);
	for (size_t i = 0; i < aligner.frames.count; i++)
		np_vec_release(&aligner.frames.item[i].matches.list);
	np_vec_release(&aligner.frames);
	align_side_release(&aligner.side[CMP_BASE]);
	align_side_release(&aligner.side[CMP_NEW]);
	np_strtab_free(aligner.tokens);
	return rc;
}

void cmp_alignment_release(struct cmp_alignment *alignment)
{
	np_vec_release(&alignment->rows);
}
