/* SPDX-License-Identifier: Apache-2.0 */
/* Judges which changes are more than noise. */
#include "cmp_comparison.h"

#include "npuprof/lang.h"

#include <math.h>

/* Which changes are more than noise. */

#define SIGNIFICANT 0.05

const char *cmp_verdict_name(enum cmp_verdict verdict)
{
	static const char *const names[] = {
		[CMP_UNTESTED] = NP_MSG("untested"),
		[CMP_NOISE] = NP_MSG("noise"),
		[CMP_REGRESSION] = NP_MSG("regression"),
		[CMP_IMPROVEMENT] = NP_MSG("improvement"),
	};

	return names[verdict];
}

/* The share is of the larger side, so that swapping them changes only the sign. */
static bool matters(const struct cmp_options *options, const struct cmp_change *change)
{
	double most = (double)(change->ns[CMP_BASE] > change->ns[CMP_NEW] ? change->ns[CMP_BASE]
									  : change->ns[CMP_NEW]);
	double size = fabs((double)change->delta);

	return change->delta != 0 && size >= options->min_ns && size >= options->min_share * most;
}

/* Verdict of a change with its p or q. */
static enum cmp_verdict cmp_judge(const struct cmp_options *options,
				  const struct cmp_change *change, double p)
{
	if (change->delta == NP_UNKNOWN)
		return CMP_UNTESTED;
	if (!matters(options, change))
		return options->no_stats || !isnan(p) || change->delta == 0 ? CMP_NOISE
									    : CMP_UNTESTED;
	if (!options->no_stats && isnan(p))
		return CMP_UNTESTED;
	if (!options->no_stats && p >= SIGNIFICANT)
		return CMP_NOISE;
	return change->delta > 0 ? CMP_REGRESSION : CMP_IMPROVEMENT;
}

static int test_values(const struct comparison *comparison, double *const values[CMP_SIDES],
		       struct cmp_change *change, struct np_err *err)
{
	const struct cmp_values base = { values[CMP_BASE],
					 comparison->sides[CMP_BASE].steps.count };
	const struct cmp_values new_ = { values[CMP_NEW], comparison->sides[CMP_NEW].steps.count };
	int rc = cmp_test(base, new_, &change->test, err);

	change->q = change->test.p;
	return rc;
}

static int test_leaves(struct comparison *comparison, struct np_err *err)
{
	size_t count = comparison->leaves.count;
	double *p = malloc((count + 1) * sizeof(*p));
	int rc = p ? NP_OK : np_fail_nomem(err, "tests");

	for (size_t i = 0; i < count && rc == NP_OK; i++) {
		struct cmp_leaf *leaf = &comparison->leaves.item[i];

		rc = test_values(comparison, leaf->steps, &leaf->change, err);
		p[i] = leaf->change.test.p;
	}
	if (rc == NP_OK)
		rc = cmp_adjust(p, count, err);
	for (size_t i = 0; i < count && rc == NP_OK; i++) {
		struct cmp_change *change = &comparison->leaves.item[i].change;

		change->q = p[i];
		change->verdict = cmp_judge(&comparison->options, change, p[i]);
	}
	free(p);
	return rc;
}

/* --- the step by its parts ------------------------------------------------------------------- */

/*
 * The step is the sum of its leaves, and its noise that of all of them: a change of
 * one leaf that is beyond doubt may drown in it. Where leaves changed significantly,
 * together by more than matters to the step, and neither the step as a whole nor what
 * is left of it without them says the contrary, the step has changed too.
 */
static bool is_certain(const struct cmp_leaf *leaf)
{
	return leaf->change.verdict == CMP_REGRESSION || leaf->change.verdict == CMP_IMPROVEMENT;
}

/* The steps without the leaves that changed for certain. */
static double *rest_of_steps(const struct comparison *comparison, enum cmp_which which)
{
	const struct cmp_side *side = &comparison->sides[which];
	double *rest = malloc((side->steps.count + 1) * sizeof(*rest));

	for (size_t i = 0; rest && i < side->steps.count; i++)
		rest[i] = side->step_length[i];
	for (size_t i = 0; rest && i < comparison->leaves.count; i++) {
		const struct cmp_leaf *leaf = &comparison->leaves.item[i];

		for (size_t j = 0; j < side->steps.count && is_certain(leaf); j++)
			rest[j] -= leaf->steps[which][j];
	}
	return rest;
}

/* Did the rest of the step change against its parts? */
static int test_rest(const struct comparison *comparison, np_ns parts, bool *ret,
		     struct np_err *err)
{
	double *rest[CMP_SIDES] = { rest_of_steps(comparison, CMP_BASE),
				    rest_of_steps(comparison, CMP_NEW) };
	struct cmp_change change = { .delta = comparison->step.delta - parts };
	int rc = rest[0] && rest[1] ? test_values(comparison, rest, &change, err)
				    : np_fail_nomem(err, "tests");

	*ret = rc == NP_OK && change.test.p < SIGNIFICANT && (change.delta > 0) != (parts > 0);
	free(rest[0]);
	free(rest[1]);
	return rc;
}

static int judge_by_parts(struct comparison *comparison, struct np_err *err)
{
	struct cmp_change *step = &comparison->step;
	struct cmp_change parts = { .ns = { step->ns[CMP_BASE], step->ns[CMP_NEW] } };
	bool against;
	int rc;

	for (size_t i = 0; i < comparison->leaves.count; i++) {
		if (is_certain(&comparison->leaves.item[i]))
			parts.delta += comparison->leaves.item[i].change.delta;
	}
	if (step->verdict != CMP_NOISE || comparison->options.no_stats ||
	    !matters(&comparison->options, &parts) || (parts.delta > 0) != (step->delta > 0))
		return NP_OK;
	rc = test_rest(comparison, parts.delta, &against, err);
	if (rc == NP_OK && !against) {
		step->verdict = parts.delta > 0 ? CMP_REGRESSION : CMP_IMPROVEMENT;
		comparison->by_parts = parts.delta;
	}
	return rc;
}

/* --- everything ------------------------------------------------------------------------------ */

int cmp_test_changes(struct comparison *comparison, struct np_err *err)
{
	double *const lengths[] = { comparison->sides[0].step_length,
				    comparison->sides[1].step_length };
	double *const hidden[] = { comparison->sides[0].step_overlap,
				   comparison->sides[1].step_overlap };
	int rc = test_values(comparison, lengths, &comparison->step, err);

	if (rc == NP_OK && comparison->overlapped.delta != NP_UNKNOWN)
		rc = test_values(comparison, hidden, &comparison->overlapped, err);
	if (rc < 0)
		return rc;
	comparison->step.verdict =
		cmp_judge(&comparison->options, &comparison->step, comparison->step.test.p);
	/* More of it is better, so it is neither a regression nor an improvement by itself. */
	comparison->overlapped.verdict = CMP_UNTESTED;
	rc = test_leaves(comparison, err);
	return rc < 0 ? rc : judge_by_parts(comparison, err);
}
