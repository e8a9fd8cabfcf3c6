/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HIST_JUDGE_H
#define HIST_JUDGE_H

#include "hist_series.h"

/*
 * Is a run as usual?
 * ==================
 *
 * Every figure of a run beside the same of earlier runs: how much it differs from their middle, how
 * many of them had less, and whether it lies beyond what runs scatter by: not where a tenth of the
 * earlier runs had as much, as those of two kinds have that scatter little by themselves. A gate
 * fails only for what is more than allowed and unusual.
 */

/* Fewer runs say nothing of what is usual. */
#define HIST_JUDGE_LEAST 5

/* Of runs that are as usual, so many are called unusual, upwards or downwards. */
#define HIST_JUDGE_ERROR 0.01

/* What is usual of a figure; NaN where too few values say so. */
struct hist_usual {
	double middle;
	double low;
	double high;
};

/* Of values, which are put into another order. */
void hist_usual_of(double *values, size_t count, struct hist_usual *ret);

struct hist_judged {
	const char *figure;
	np_ns time;
	double middle; /* of the earlier runs */
	double low;    /* what is usual lies between */
	double high;
	double below; /* share of the earlier runs that had less */
	size_t runs;  /* earlier ones that have the figure */
	bool unusual;
	double allowed; /* more than the middle, as a share; NaN: no gate for it */
	bool failed;
};

struct hist_judgement {
	NP_VEC(struct hist_judged) list; /* the step first */
	size_t runs;
	bool failed;
	bool withheld; /* too few earlier runs */
};

/*
 * `entry` is a store with the run alone; the selection is of earlier runs, itself left out.
 * NP_E_USAGE for conditions that cannot be read, or name no figure of the run.
 */
int hist_judge(const struct hist_store *store, const struct hist_selection *selection,
	       const struct hist_store *entry, const char *fail_on, struct hist_judgement *ret,
	       struct np_err *err) NP_MUST_USE;
void hist_judgement_release(struct hist_judgement *judgement);

#endif /* HIST_JUDGE_H */
