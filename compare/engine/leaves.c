/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The leaves of a comparison: the partitions of both sides, summed by classes of computing
 * that both share, and their means, rounded so that they sum to the step.
 */
#include "cmp_comparison.h"

#include "npuprof/apportion.h"
#include "npuprof/arena.h"
#include "npuprof/buf.h"
#include "npuprof/rank.h"
#include "npuprof/text.h"

#include <math.h>

/* --- what one class is called on both sides --------------------------------------------------- */

/* A class that the operator tells by which a kernel was launched. */
static bool is_by_operator(enum cmp_class class)
{
	return class == CMP_FLASH_FORWARD || class == CMP_FLASH_BACKWARD ||
	       class == CMP_CONV_FORWARD || class == CMP_CONV_BACKWARD || class == CMP_MATMUL;
}

/*
 * A GPU and an NPU share the classes that operators of the framework tell and,
 * where the GPU's trace has none of them, matrix units and the rest.
 */
static enum cmp_class shared_class(const struct comparison *comparison, enum cmp_class class)
{
	if (is_by_operator(class))
		return comparison->gpu_operators ? class : CMP_CUBE;
	return class == CMP_PAGED_ATTENTION || class == CMP_MC2 || class == CMP_CUBE ? CMP_CUBE
										     : CMP_VECTOR;
}

/* Classes that need the type or counters to be told are one. */
static enum cmp_class cmp_coarse_class(const struct comparison *comparison, enum cmp_class class)
{
	if (comparison->gpu_and_npu)
		return shared_class(comparison, class);
	switch (class) {
	case CMP_CUBE:
	case CMP_VECTOR:
	case CMP_OTHER:
	case CMP_PAGED_ATTENTION:
	case CMP_UNKNOWN_CLASS:
		return CMP_UNKNOWN_CLASS;
	case CMP_FLASH_FORWARD:
	case CMP_FLASH_BACKWARD:
	case CMP_CONV_FORWARD:
	case CMP_CONV_BACKWARD:
	case CMP_MATMUL:
	case CMP_MC2:
	case CMP_VECTOR_TRANS:
	case CMP_TENSOR_MOVE:
	case CMP_CLASSES:
	default:
		return class;
	}
}

/* --- what the sides know ---------------------------------------------------------------------- */

static bool has_types(const struct comparison *comparison, enum cmp_which which)
{
	const struct cmp_side *side = &comparison->sides[which];

	for (size_t i = 0; i < comparison->pairs.count; i++) {
		if (side->kernels[comparison->pairs.item[i].rank[which]].types)
			return true;
	}
	return false;
}

static bool cmp_is_gpu(const struct comparison *comparison, enum cmp_which which)
{
	const struct np_run *run = comparison->sides[which].analysis->run;

	return (run->ranks[comparison->pairs.item[0].rank[which]]->contents & NP_OF_GPU) != 0;
}

/* Does the GPU's trace tell classes by operators? */
static bool has_gpu_operators(const struct comparison *comparison)
{
	enum cmp_which which = cmp_is_gpu(comparison, CMP_BASE) ? CMP_BASE : CMP_NEW;

	for (size_t i = 0; i < comparison->pairs.count; i++) {
		const struct cmp_rank_kernels *kernels =
			&comparison->sides[which].kernels[comparison->pairs.item[i].rank[which]];

		for (int j = 0; j < CMP_CLASSES; j++) {
			if ((kernels->classes & 1U << j) && is_by_operator((enum cmp_class)j))
				return true;
		}
	}
	return false;
}

static bool has_kernels(const struct comparison *comparison, enum cmp_which which)
{
	const struct cmp_side *side = &comparison->sides[which];

	for (size_t i = 0; i < comparison->pairs.count; i++) {
		if (side->kernels[comparison->pairs.item[i].rank[which]].classes)
			return true;
	}
	return false;
}

/* Forget what the other side cannot tell, before anything is summed. */
static void make_coarse(struct comparison *comparison)
{
	for (int which = 0; which < CMP_SIDES; which++) {
		struct cmp_side *side = &comparison->sides[which];

		for (size_t i = 0; i < side->groups.count; i++)
			side->groups.item[i].leaf_class =
				cmp_coarse_class(comparison, side->groups.item[i].class);
	}
}

/* Before anything is summed: what both sides can tell (comparison.coarse …). */
static void cmp_choose_classes(struct comparison *comparison)
{
	comparison->gpu_and_npu =
		cmp_is_gpu(comparison, CMP_BASE) != cmp_is_gpu(comparison, CMP_NEW);
	comparison->gpu_operators = comparison->gpu_and_npu && has_gpu_operators(comparison);
	comparison->coarse =
		comparison->gpu_and_npu ||
		(has_kernels(comparison, CMP_BASE) && has_kernels(comparison, CMP_NEW) &&
		 has_types(comparison, CMP_BASE) != has_types(comparison, CMP_NEW));
	if (comparison->coarse)
		make_coarse(comparison);
}

/* From sums of leaves to their figures: means over steps and ranks, rounded, in order. */

static double over(double value, size_t count)
{
	return count ? value / (double)count : 0;
}

static bool is_own(enum cmp_leaf_kind kind)
{
	return kind == CMP_LEAF_COMPUTE || kind == CMP_LEAF_MEMCPY || kind == CMP_LEAF_HOST;
}

/* Sums become means; the pairs get what is their own. */
static void take_means(struct comparison *comparison, enum cmp_which which)
{
	struct cmp_side *side = &comparison->sides[which];

	for (size_t i = 0; i < side->steps.count; i++) {
		side->step_length[i] = over(side->step_length[i], side->step_cells[i]);
		side->step_overlap[i] = over(side->step_overlap[i], side->step_cells[i]);
	}
	for (size_t i = 0; i < comparison->leaves.count; i++) {
		struct cmp_leaf *leaf = &comparison->leaves.item[i];

		for (size_t j = 0; j < side->steps.count; j++)
			leaf->steps[which][j] = over(leaf->steps[which][j], side->step_cells[j]);
		for (size_t j = 0; j < comparison->pairs.count; j++) {
			struct cmp_pair *pair = &comparison->pairs.item[j];

			leaf->ranks[which][j] = over(leaf->ranks[which][j], pair->cells[which]);
			if (is_own(leaf->kind))
				pair->busy[which] += llround(leaf->ranks[which][j]);
		}
	}
	for (size_t i = 0; i < comparison->pairs.count; i++) {
		struct cmp_pair *pair = &comparison->pairs.item[i];

		pair->length[which] =
			llround(over((double)pair->length[which], pair->cells[which]));
	}
}

/* n / d to the nearest whole number, half away from zero. */
static np_ns divide(np_ns sum, size_t count)
{
	np_ns n = (np_ns)count;

	if (sum == NP_UNKNOWN)
		return NP_UNKNOWN;
	return n ? (sum + n / 2) / n : 0;
}

/* The leaves of a side are rounded so that they sum to its step. */
static int round_side(struct comparison *comparison, enum cmp_which which, struct np_err *err)
{
	const struct cmp_side *side = &comparison->sides[which];
	size_t count = comparison->leaves.count;
	double *weights = calloc(count + 1, sizeof(*weights));
	int64_t *parts = calloc(count + 1, sizeof(*parts));
	int rc = weights && parts ? NP_OK : np_fail_nomem(err, "leaves");

	comparison->step.ns[which] = divide(side->total, side->cells);
	comparison->overlapped.ns[which] = divide(side->overlapped, side->cells);
	for (size_t i = 0; i < count && rc == NP_OK; i++)
		weights[i] = (double)comparison->leaves.item[i].total[which];
	if (rc == NP_OK && count > 0)
		np_apportion(comparison->step.ns[which], weights, count, parts);
	for (size_t i = 0; i < count && rc == NP_OK; i++)
		comparison->leaves.item[i].change.ns[which] = parts[i];
	free(weights);
	free(parts);
	return rc;
}

static int by_delta(const void *left, const void *right)
{
	const struct cmp_leaf *a = left;
	const struct cmp_leaf *b = right;
	np_ns x = a->change.delta < 0 ? -a->change.delta : a->change.delta;
	np_ns y = b->change.delta < 0 ? -b->change.delta : b->change.delta;

	return x != y ? np_order(y, x) : strcmp(a->path, b->path);
}

static int by_path(const void *left, const void *right)
{
	return strcmp(((const struct cmp_leaf *)left)->path,
		      ((const struct cmp_leaf *)right)->path);
}

static void set_delta(struct cmp_change *change)
{
	bool known = change->ns[CMP_NEW] != NP_UNKNOWN && change->ns[CMP_BASE] != NP_UNKNOWN;

	change->delta = known ? change->ns[CMP_NEW] - change->ns[CMP_BASE] : NP_UNKNOWN;
}

/* All leaves are summed, and there is at least one. */
static int cmp_leaf_figures(struct comparison *comparison, struct np_err *err)
{
	int rc = NP_OK;

	/* Rounding must not depend on which side was walked first. */
	qsort(comparison->leaves.item, comparison->leaves.count, sizeof(struct cmp_leaf), by_path);
	for (int i = 0; i < CMP_SIDES && rc == NP_OK; i++) {
		take_means(comparison, (enum cmp_which)i);
		rc = round_side(comparison, (enum cmp_which)i, err);
	}
	if (rc < 0)
		return rc;
	set_delta(&comparison->step);
	set_delta(&comparison->overlapped);
	for (size_t i = 0; i < comparison->leaves.count; i++)
		set_delta(&comparison->leaves.item[i].change);
	qsort(comparison->leaves.item, comparison->leaves.count, sizeof(struct cmp_leaf), by_delta);
	return NP_OK;
}

struct leaves_builder {
	struct comparison *comparison;
	struct np_strtab *paths;  /* path of a leaf */
	struct np_idmap *by_path; /* id in `paths` → leaf */
	struct np_idmap *by_text; /* address of a side's own leaf text → leaf, but for computing */
	struct np_err *err;
	enum cmp_which which;
	size_t pair;
	size_t step;
};

/* --- leaves ---------------------------------------------------------------------------------- */

static int add_arrays(struct leaves_builder *build, struct cmp_leaf *leaf)
{
	struct comparison *comparison = build->comparison;

	for (int i = 0; i < CMP_SIDES; i++) {
		leaf->steps[i] = np_arena_array(comparison->arena, comparison->sides[i].steps.count,
						sizeof(double));
		leaf->ranks[i] =
			np_arena_array(comparison->arena, comparison->pairs.count, sizeof(double));
		if (!leaf->steps[i] || !leaf->ranks[i])
			return np_fail_nomem(build->err, "leaves");
	}
	return NP_OK;
}

/* Find a leaf by its path, or add it as `pattern` has it. */
static int find_leaf(struct leaves_builder *build, const struct np_buf *path,
		     const struct cmp_leaf *pattern, uint32_t *ret)
{
	struct cmp_leaf *leaf;
	np_str id;
	int rc = np_buf_check(path, build->err);

	if (rc == NP_OK)
		rc = np_strtab_add(build->paths, path->text, path->length, &id, build->err);
	if (rc < 0)
		return rc;
	*ret = np_idmap_get(build->by_path, id);
	if (*ret != NP_IDMAP_NONE)
		return NP_OK;
	leaf = np_vec_add(&build->comparison->leaves, build->err);
	if (!leaf)
		return NP_E_NOMEM;
	*leaf = *pattern;
	leaf->path = cmp_keep(build->comparison, path);
	if (!leaf->path)
		return np_fail_nomem(build->err, "leaves");
	*ret = (uint32_t)(build->comparison->leaves.count - 1);
	rc = add_arrays(build, leaf);
	return rc < 0 ? rc : np_idmap_set(build->by_path, id, *ret, build->err);
}

static void give(struct leaves_builder *build, uint32_t index, np_ns ns)
{
	struct cmp_leaf *leaf = &build->comparison->leaves.item[index];

	leaf->total[build->which] += ns;
	leaf->steps[build->which][build->step] += (double)ns;
	leaf->ranks[build->which][build->pair] += (double)ns;
}

static int give_computing(struct leaves_builder *build, enum cmp_class own_class, np_str own_type,
			  np_ns ns)
{
	NP_CLEANUP(np_buf_release) struct np_buf path = NP_BUF_INIT;
	bool coarse = build->comparison->coarse;
	enum cmp_class class = coarse ? cmp_coarse_class(build->comparison, own_class) : own_class;
	np_str type = coarse ? NP_STR_NONE : own_type;
	const char *name = cmp_text(build->comparison, type);
	const struct cmp_leaf pattern = {
		.kind = CMP_LEAF_COMPUTE, .class = class, .type = type, .comm = SIZE_MAX
	};
	uint32_t leaf;
	int rc;

	if (ns == 0)
		return NP_OK;
	np_buf_printf(&path, "compute/%s/%s", cmp_class_id(class), name ? name : "unknown");
	rc = find_leaf(build, &path, &pattern, &leaf);
	if (rc == NP_OK)
		give(build, leaf, ns);
	return rc;
}

/* --- computing by class ---------------------------------------------------------------------- */

/* What the kernels of a type own in a cell, by class; their sum. */
static double weigh(const struct comparison *comparison, const struct cmp_rank_kernels *kernels,
		    uint32_t cell, np_str type, double weights[CMP_CLASSES])
{
	double sum = 0;
	size_t low = 0;
	size_t high = kernels->shares.count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (kernels->shares.item[middle].cell < cell)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < kernels->shares.count && kernels->shares.item[low].cell == cell; low++) {
		const struct cmp_kernel_share *each = &kernels->shares.item[low];

		if (each->type != type)
			continue;
		weights[comparison->coarse ? cmp_coarse_class(comparison, each->class)
					   : each->class] += (double)each->owned;
		sum += (double)each->owned;
	}
	return sum;
}

/* Kernels of one type may be of several classes: a cast for a convolution is part of it. */
static int split_type(struct leaves_builder *build, size_t rank, uint32_t cell, const char *name,
		      np_ns ns)
{
	const struct cmp_rank_kernels *kernels =
		&build->comparison->sides[build->which].kernels[rank];
	double weights[CMP_CLASSES] = { 0 };
	int64_t parts[CMP_CLASSES];
	np_str type = NP_STR_NONE;
	int rc = NP_OK;

	if (strcmp(name, "unknown") != 0)
		rc = np_strtab_add(build->comparison->names, name, strlen(name), &type, build->err);
	if (rc < 0)
		return rc;
	if (weigh(build->comparison, kernels, cell, type, weights) <= 0) {
		const struct cmp_kernel_traits traits = {
			.type = type ? name : NULL,
			.core = cmp_is_gpu(build->comparison, build->which) ? NP_CORE_GPU : NULL,
		};

		return give_computing(build, cmp_classify(&traits), type, ns);
	}
	np_apportion(ns, weights, CMP_CLASSES, parts);
	for (int i = 0; i < CMP_CLASSES && rc == NP_OK; i++)
		rc = give_computing(build, (enum cmp_class)i, type, parts[i]);
	return rc;
}

/* --- everything else ------------------------------------------------------------------------- */

/* "comm/<name or hash>/wait" under the name that both sides share. */
static int name_comm(struct leaves_builder *build, const char *text, struct np_buf *path,
		     struct cmp_leaf *pattern)
{
	const struct comparison *comparison = build->comparison;
	const char *part = np_text_ends(text, "/wait")       ? "/wait"
			   : np_text_ends(text, "/transfer") ? "/transfer"
							     : "";
	const char *name = text + strlen("comm/");
	size_t length = strlen(name) - strlen(part);
	char *end;
	uint64_t hash = strtoull(name, &end, 10);

	pattern->comm = SIZE_MAX;
	if (end == name + length && length > 0)
		pattern->comm = cmp_comm_of(comparison, build->which, hash);
	for (size_t i = 0; i < comparison->comms.count && pattern->comm == SIZE_MAX; i++) {
		const char *known = comparison->comms.item[i].name;

		if (strlen(known) == length && strncmp(known, name, length) == 0)
			pattern->comm = i;
	}
	if (pattern->comm != SIZE_MAX && comparison->comms.item[pattern->comm].unlike)
		part = "";
	pattern->kind = *part == '\0'    ? CMP_LEAF_COMM
			: part[1] == 'w' ? CMP_LEAF_WAIT
					 : CMP_LEAF_TRANSFER;
	if (pattern->comm != SIZE_MAX)
		np_buf_printf(path, "comm/%s%s", comparison->comms.item[pattern->comm].name, part);
	else
		np_buf_add(path, text);
	return NP_OK;
}

bool cmp_is_between(const char *path)
{
	return strncmp(path, "between/", strlen("between/")) == 0;
}

static enum cmp_leaf_kind kind_of(const char *text)
{
	const char *part = strrchr(text, '/');

	if (strcmp(text, "memcpy") == 0)
		return CMP_LEAF_MEMCPY;
	if (part && (strcmp(part, "/host") == 0 || strcmp(part, "/dataloader") == 0))
		return CMP_LEAF_HOST;
	return cmp_is_between(text) ? CMP_LEAF_BETWEEN : CMP_LEAF_FREE;
}

static int give_plain(struct leaves_builder *build, const char *text, np_ns ns)
{
	NP_CLEANUP(np_buf_release) struct np_buf path = NP_BUF_INIT;
	struct cmp_leaf pattern = { .comm = SIZE_MAX, .class = CMP_UNKNOWN_CLASS };
	uint32_t leaf = np_idmap_get(build->by_text, (int64_t)(intptr_t)text);
	int rc = NP_OK;

	if (ns == 0)
		return NP_OK;
	if (leaf == NP_IDMAP_NONE) {
		if (strncmp(text, "comm/", strlen("comm/")) == 0) {
			rc = name_comm(build, text, &path, &pattern);
		} else {
			pattern.kind = kind_of(text);
			np_buf_add(&path, text);
		}
		if (rc == NP_OK)
			rc = find_leaf(build, &path, &pattern, &leaf);
		if (rc == NP_OK)
			rc = np_idmap_set(build->by_text, (int64_t)(intptr_t)text, leaf,
					  build->err);
	}
	if (rc == NP_OK)
		give(build, leaf, ns);
	return rc;
}

/* --- cells ----------------------------------------------------------------------------------- */

/* What lies between the span of a step and the next one, on the basis of iterations. */
static int give_between(struct leaves_builder *build, const struct np_step_time *time)
{
	int rc = NP_OK;

	for (int i = 0; i < NP_BETWEEN_KINDS && rc == NP_OK; i++)
		rc = give_plain(build, np_between_leaf((enum np_between)i), time->between[i]);
	return rc;
}

/*
 * A rank without intervals has three parts, or, where not even they are known, one. The
 * vendor's figures are rounded each by itself: what is neither computing nor
 * communication is free.
 */
static int give_totals(struct leaves_builder *build, const struct np_step_time *time, np_ns span)
{
	np_ns busy = np_plus(time->computing, time->communication_not_overlapped);
	int rc;

	if (busy == NP_UNKNOWN || time->free == NP_UNKNOWN || busy > span)
		return give_plain(build, "unknown", span);
	rc = give_computing(build, CMP_UNKNOWN_CLASS, NP_STR_NONE, time->computing);
	if (rc == NP_OK)
		rc = give_plain(build, "comm/unknown", time->communication_not_overlapped);
	return rc < 0 ? rc : give_plain(build, "free/unknown", span - busy);
}

/* The parts of the span; what of it no part has is work that outlives the start of the next step.
 */
static int give_parts(struct leaves_builder *build, size_t rank, size_t index,
		      const struct np_partition_cell *cell, np_ns span)
{
	const struct np_partition *partition =
		&build->comparison->sides[build->which].analysis->partition;
	static const char compute[] = "compute/";
	int rc = NP_OK;

	for (size_t i = 0; i < cell->count && rc == NP_OK; i++) {
		const struct np_part *part = &partition->parts.item[cell->first + i];

		if (cmp_is_between(part->leaf))
			continue;
		span -= part->ns;
		if (strncmp(part->leaf, compute, strlen(compute)) == 0)
			rc = split_type(build, rank, (uint32_t)index, part->leaf + strlen(compute),
					part->ns);
		else
			rc = give_plain(build, part->leaf, part->ns);
	}
	return rc == NP_OK && span > 0 ? give_plain(build, "unknown", span) : rc;
}

static int add_cell(struct leaves_builder *build, size_t index)
{
	struct cmp_side *side = &build->comparison->sides[build->which];
	struct cmp_pair *pair = &build->comparison->pairs.item[build->pair];
	const struct np_rank *rank = side->analysis->run->ranks[pair->rank[build->which]];
	const struct np_step_time *time = &rank->times.item[index];
	const struct np_partition_cell *cell =
		np_partition_of(&side->analysis->partition, pair->rank[build->which], index);
	np_ns length = np_step_length(time, side->basis);
	int rc = NP_OK;

	side->cells++;
	side->total += length;
	side->computing = np_plus(side->computing, time->computing);
	side->overlapped = np_plus(side->overlapped, time->overlapped);
	side->communication = np_plus(side->communication, time->communication);
	side->e2e = np_plus(side->e2e, time->e2e);
	side->step_cells[build->step]++;
	side->step_length[build->step] += (double)length;
	side->step_overlap[build->step] +=
		time->overlapped == NP_UNKNOWN ? (double)NAN : (double)time->overlapped;
	pair->cells[build->which]++;
	pair->length[build->which] += length;
	if (side->basis == NP_BASIS_ITERATION) {
		rc = give_between(build, time);
		length -= np_step_between(time);
	}
	if (rc < 0)
		return rc;
	return cell ? give_parts(build, pair->rank[build->which], index, cell, length)
		    : give_totals(build, time, length);
}

static int add_rank(struct leaves_builder *build)
{
	const struct comparison *comparison = build->comparison;
	const struct cmp_pair *pair = &comparison->pairs.item[build->pair];
	const struct np_rank *rank = cmp_rank(comparison, pair, build->which);
	int rc = NP_OK;

	for (size_t i = 0; i < rank->times.count && rc == NP_OK; i++) {
		const struct np_step_time *time = &rank->times.item[i];

		build->step = cmp_cell_of(&comparison->sides[build->which], rank, time);
		if (build->step != SIZE_MAX)
			rc = add_cell(build, i);
	}
	return rc;
}

static int add_side(struct leaves_builder *build)
{
	struct comparison *comparison = build->comparison;
	struct cmp_side *side = &comparison->sides[build->which];
	size_t steps = side->steps.count + 1;
	int rc = NP_OK;

	side->step_cells = calloc(steps, sizeof(*side->step_cells));
	side->step_length = calloc(steps, sizeof(*side->step_length));
	side->step_overlap = calloc(steps, sizeof(*side->step_overlap));
	if (!side->step_cells || !side->step_length || !side->step_overlap)
		return np_fail_nomem(build->err, "steps");
	np_idmap_clear(build->by_text);
	for (build->pair = 0; build->pair < comparison->pairs.count && rc == NP_OK; build->pair++)
		rc = add_rank(build);
	return rc;
}

int cmp_measure_leaves(struct comparison *comparison, struct np_err *err)
{
	struct leaves_builder build = { .comparison = comparison,
					.paths = np_strtab_new(),
					.by_path = np_idmap_new(),
					.by_text = np_idmap_new(),
					.err = err };
	int rc = build.paths && build.by_path && build.by_text ? NP_OK
							       : np_fail_nomem(err, "leaves");

	cmp_choose_classes(comparison);
	for (int i = 0; i < CMP_SIDES && rc == NP_OK; i++) {
		build.which = (enum cmp_which)i;
		rc = add_side(&build);
	}
	np_strtab_free(build.paths);
	np_idmap_free(build.by_path);
	np_idmap_free(build.by_text);
	if (rc < 0 || comparison->leaves.count == 0)
		return rc < 0 ? rc : np_fail(err, NP_E_NOTFOUND, "the steps are empty");
	return cmp_leaf_figures(comparison, err);
}
