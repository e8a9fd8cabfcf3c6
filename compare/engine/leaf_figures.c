/* SPDX-License-Identifier: Apache-2.0 */
#include "cmp_leaves.h"

#include "npuprof/apportion.h"

#include <math.h>

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
		side->step_span[i] = over(side->step_span[i], side->step_cells[i]);
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

		pair->span[which] = llround(over((double)pair->span[which], pair->cells[which]));
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

int cmp_leaf_figures(struct comparison *comparison, struct np_err *err)
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
