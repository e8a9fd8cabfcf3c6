/* SPDX-License-Identifier: Apache-2.0 */
/* Splits the difference of a leaf into more kernels, slower kernels and other kernels. */
#include "cmp_comparison.h"

#include "npuprof/apportion.h"

#include <math.h>

/*
 * Why the kernels of a leaf take longer or shorter: there are more of them, each
 * takes longer, or they are others (shapes that only one side has).
 */

/* Sums of one row of kernels over the cells of a side. */
struct effects_sums {
	int64_t count;
	np_ns total;
	np_ns owned;
};

struct rows {
	struct comparison *comparison;
	struct np_strtab *keys;
	struct np_idmap *places; /* id in `keys` → row */
	struct np_idmap *leaves; /* class and type → leaf */
	NP_VEC(struct effects_sums) sums[CMP_SIDES];
	struct np_err *err;
};

struct key {
	uint32_t leaf;
	np_str shapes;
};

static int64_t leaf_key(enum cmp_class class, np_str type)
{
	return (int64_t) class << 32 | type;
}

static int find_row(struct rows *rows, uint32_t leaf, np_str shapes, uint32_t *ret)
{
	struct comparison *comparison = rows->comparison;
	const struct key key = { leaf, shapes };
	struct cmp_kernel *kernel;
	np_str id;
	int rc = np_strtab_add(rows->keys, (const char *)&key, sizeof(key), &id, rows->err);

	if (rc < 0)
		return rc;
	*ret = np_idmap_get(rows->places, id);
	if (*ret != NP_IDMAP_NONE)
		return NP_OK;
	kernel = np_vec_add(&comparison->kernels, rows->err);
	if (!kernel || !np_vec_add(&rows->sums[CMP_BASE], rows->err) ||
	    !np_vec_add(&rows->sums[CMP_NEW], rows->err))
		return NP_E_NOMEM;
	kernel->leaf = leaf;
	kernel->type = comparison->leaves.item[leaf].type;
	kernel->shapes = shapes;
	for (int i = 0; i < CMP_SIDES; i++) {
		kernel->least[i] = NP_UNKNOWN;
		kernel->most[i] = NP_UNKNOWN;
	}
	*ret = (uint32_t)(comparison->kernels.count - 1);
	return np_idmap_set(rows->places, id, *ret, rows->err);
}

static int add_group(struct rows *rows, enum cmp_which which, const struct cmp_kernel_group *group)
{
	const struct cmp_kernel_sum *from = &group->sum;
	bool coarse = rows->comparison->coarse;
	uint32_t leaf = np_idmap_get(
		rows->leaves, leaf_key(group->leaf_class, coarse ? NP_STR_NONE : group->type));
	struct cmp_kernel *kernel;
	struct effects_sums *sums;
	uint32_t row;
	int rc;

	/* Computing that the partition does not know under this type stays out. */
	if (leaf == NP_IDMAP_NONE)
		return NP_OK;
	rc = find_row(rows, leaf, coarse ? NP_STR_NONE : group->shapes, &row);
	if (rc < 0)
		return rc;
	kernel = &rows->comparison->kernels.item[row];
	sums = &rows->sums[which].item[row];
	sums->count += from->count;
	sums->total += from->total;
	sums->owned += from->owned;
	if (kernel->least[which] == NP_UNKNOWN || from->least < kernel->least[which])
		kernel->least[which] = from->least;
	if (kernel->most[which] == NP_UNKNOWN || from->most > kernel->most[which])
		kernel->most[which] = from->most;
	return NP_OK;
}

static int add_groups(struct rows *rows)
{
	const struct comparison *comparison = rows->comparison;
	int rc = NP_OK;

	for (int which = 0; which < CMP_SIDES; which++) {
		const struct cmp_side *side = &comparison->sides[which];

		for (size_t i = 0; i < side->groups.count && rc == NP_OK; i++)
			rc = add_group(rows, (enum cmp_which)which, &side->groups.item[i]);
	}
	return rc;
}

/* A leaf of which the kernels of a side are not known has a row for what it has. */
static int add_unknown(struct rows *rows, enum cmp_which which)
{
	struct comparison *comparison = rows->comparison;
	double *owned = calloc(comparison->leaves.count + 1, sizeof(*owned));
	int rc = owned ? NP_OK : np_fail_nomem(rows->err, "kernels");

	for (size_t i = 0; i < comparison->kernels.count && rc == NP_OK; i++)
		owned[comparison->kernels.item[i].leaf] += (double)rows->sums[which].item[i].owned;
	for (uint32_t i = 0; i < comparison->leaves.count && rc == NP_OK; i++) {
		const struct cmp_leaf *leaf = &comparison->leaves.item[i];
		uint32_t row;

		if (leaf->kind != CMP_LEAF_COMPUTE || leaf->change.ns[which] == 0 || owned[i] > 0)
			continue;
		rc = find_row(rows, i, NP_STR_NONE, &row);
		if (rc == NP_OK)
			rows->sums[which].item[row].owned = 1;
	}
	free(owned);
	return rc;
}

static np_ns mean_of(np_ns sum, size_t cells)
{
	return cells ? llround((double)sum / (double)cells) : 0;
}

/* Counts and durations per cell, and the effects of their change. */
static void set_effects(struct rows *rows, size_t index)
{
	struct comparison *comparison = rows->comparison;
	struct cmp_kernel *kernel = &comparison->kernels.item[index];
	double each[CMP_SIDES];

	for (int i = 0; i < CMP_SIDES; i++) {
		const struct effects_sums *sums = &rows->sums[i].item[index];
		size_t cells = comparison->sides[i].cells;

		kernel->count[i] = (double)sums->count / (double)cells;
		kernel->ns[i] = mean_of(sums->total, cells);
		each[i] = sums->count ? (double)sums->total / (double)sums->count : 0;
	}
	if (kernel->count[CMP_BASE] > 0 && kernel->count[CMP_NEW] > 0) {
		kernel->count_effect = llround((kernel->count[CMP_NEW] - kernel->count[CMP_BASE]) *
					       each[CMP_BASE]);
		kernel->speed_effect =
			kernel->ns[CMP_NEW] - kernel->ns[CMP_BASE] - kernel->count_effect;
	} else {
		kernel->mix_effect = kernel->ns[CMP_NEW] - kernel->ns[CMP_BASE];
	}
}

/*
 * A type that only one side has at all is no change of shapes: it came or went,
 * which is an effect of the count.
 */
static void come_and_go(struct comparison *comparison, size_t first, size_t end)
{
	double count[CMP_SIDES] = { 0 };

	for (size_t i = first; i < end; i++) {
		count[CMP_BASE] += comparison->kernels.item[i].count[CMP_BASE];
		count[CMP_NEW] += comparison->kernels.item[i].count[CMP_NEW];
	}
	if (count[CMP_BASE] > 0 && count[CMP_NEW] > 0)
		return;
	for (size_t i = first; i < end; i++) {
		struct cmp_kernel *kernel = &comparison->kernels.item[i];

		kernel->count_effect += kernel->mix_effect;
		kernel->mix_effect = 0;
	}
}

/* The rows of a leaf share its ns by what they own, so that their deltas sum to its. */
static int share_leaf(struct rows *rows, size_t leaf, size_t first, size_t end)
{
	struct comparison *comparison = rows->comparison;
	size_t count = end - first;
	double *weights = malloc(count * sizeof(*weights));
	int64_t *parts = malloc(count * sizeof(*parts));

	if (!weights || !parts) {
		free(weights);
		free(parts);
		return np_fail_nomem(rows->err, "kernels");
	}
	for (int which = 0; which < CMP_SIDES; which++) {
		for (size_t i = 0; i < count; i++)
			weights[i] = (double)rows->sums[which].item[first + i].owned;
		np_apportion(comparison->leaves.item[leaf].change.ns[which], weights, count, parts);
		for (size_t i = 0; i < count; i++)
			comparison->kernels.item[first + i].delta +=
				which == CMP_NEW ? parts[i] : -parts[i];
	}
	for (size_t i = first; i < end; i++)
		set_effects(rows, i);
	come_and_go(comparison, first, end);
	for (size_t i = first; i < end; i++) {
		struct cmp_kernel *kernel = &comparison->kernels.item[i];

		kernel->overlap_effect = kernel->delta - kernel->count_effect -
					 kernel->speed_effect - kernel->mix_effect;
	}
	free(weights);
	free(parts);
	return NP_OK;
}

/* Rows by leaf, then shapes as text, with their sums along: independent of threads and sides. */
struct sorted {
	struct cmp_kernel kernel;
	struct effects_sums sums[CMP_SIDES];
	const char *shapes;
};

static int by_leaf(const void *left, const void *right)
{
	const struct sorted *a = left;
	const struct sorted *b = right;

	return a->kernel.leaf != b->kernel.leaf
		       ? np_order((int64_t)a->kernel.leaf, (int64_t)b->kernel.leaf)
		       : strcmp(a->shapes, b->shapes);
}

static int sort_rows(struct rows *rows)
{
	struct comparison *comparison = rows->comparison;
	size_t count = comparison->kernels.count;
	struct sorted *all = calloc(count + 1, sizeof(*all));

	if (!all)
		return np_fail_nomem(rows->err, "kernels");
	for (size_t i = 0; i < count; i++) {
		const char *shapes = cmp_text(comparison, comparison->kernels.item[i].shapes);

		all[i] = (struct sorted){ comparison->kernels.item[i],
					  { rows->sums[0].item[i], rows->sums[1].item[i] },
					  shapes ? shapes : "" };
	}
	qsort(all, count, sizeof(*all), by_leaf);
	for (size_t i = 0; i < count; i++) {
		comparison->kernels.item[i] = all[i].kernel;
		rows->sums[0].item[i] = all[i].sums[0];
		rows->sums[1].item[i] = all[i].sums[1];
	}
	free(all);
	return NP_OK;
}

static int share_all(struct rows *rows)
{
	struct comparison *comparison = rows->comparison;
	int rc = add_unknown(rows, CMP_BASE);

	if (rc == NP_OK)
		rc = add_unknown(rows, CMP_NEW);
	if (rc == NP_OK)
		rc = sort_rows(rows);
	for (size_t from = 0, to = 0; from < comparison->kernels.count && rc == NP_OK; from = to) {
		size_t leaf = comparison->kernels.item[from].leaf;

		while (to < comparison->kernels.count && comparison->kernels.item[to].leaf == leaf)
			to++;
		rc = share_leaf(rows, leaf, from, to);
	}
	return rc;
}

int cmp_measure_kernels(struct comparison *comparison, struct np_err *err)
{
	struct rows rows = { .comparison = comparison,
			     .keys = np_strtab_new(),
			     .places = np_idmap_new(),
			     .leaves = np_idmap_new(),
			     .err = err };
	int rc = rows.keys && rows.places && rows.leaves ? NP_OK : np_fail_nomem(err, "kernels");

	for (uint32_t i = 0; i < comparison->leaves.count && rc == NP_OK; i++) {
		const struct cmp_leaf *leaf = &comparison->leaves.item[i];

		if (leaf->kind == CMP_LEAF_COMPUTE)
			rc = np_idmap_set(rows.leaves, leaf_key(leaf->class, leaf->type), i, err);
	}
	if (rc == NP_OK)
		rc = add_groups(&rows);
	if (rc == NP_OK)
		rc = share_all(&rows);
	np_strtab_free(rows.keys);
	np_idmap_free(rows.places);
	np_idmap_free(rows.leaves);
	np_vec_release(&rows.sums[CMP_BASE]);
	np_vec_release(&rows.sums[CMP_NEW]);
	return rc;
}
