/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_BALANCE_H
#define NP_BALANCE_H

#include "npuprof/clock.h"
#include "npuprof/cluster.h"

/*
 * What uneven work costs
 * ======================
 *
 * The published rule for stragglers in training with a pipeline: run the recorded
 * operators again, each as soon as what it needs is there, and compare that with the
 * same run in which nobody straggles. All steps begin at once on all ranks, and
 * nothing waits for the host: gaps are no work and are dropped in both.
 *
 * Nobody straggles when computing takes the mean and a transfer the median. What a
 * rank computes between two operators takes, on average over the ranks of its stage
 * and over the steps, what is computed between the same two; and each type of
 * kernels takes every stage as long as it takes all of them on average. So all of
 * the work is still done, only evenly; a stage that has less of it than others gets
 * more. Transfers count from when the last has come.
 *
 * An operator starts when its rank has computed as much as when it was recorded, and
 * not before the one it was behind; a rank goes on behind a receive, and behind what
 * it was seen to stand still for. Where a receive was over before anybody asked for
 * it, the rank goes on where ranks of its stage were seen to wait for theirs.
 *
 * Gains of a repair are another matter (npuprof/whatif.h): here ranks that are fast
 * get slower, there they stay as they are.
 */

struct np_align;

enum np_share_kind {
	NP_SHARE_RANK,
	NP_SHARE_STAGE,
	NP_SHARE_OPTYPE, /* of kernels, or of communication */
};

/* "rank", "stage", "optype" */
const char *np_share_kind_name(enum np_share_kind kind);

/*
 * What of the loss is gone if only this is even. Shares need not sum to 1. A rank is its
 * worker: all of a tensor parallel group that take as long as it, of which none alone gains.
 */
struct np_balance_share {
	enum np_share_kind kind;
	int32_t number; /* of the rank or stage */
	np_str type;
	double recovered; /* (now − with it even) / (now − ideal) */
};

struct np_balance {
	/* False where no rank has intervals, nobody anyone to be compared with, or even work would
	 * take longer than it did. */
	bool known;
	np_ns step;    /* mean over the steps, as it was, but for gaps */
	np_ns ideal;   /* with all even */
	size_t steps;  /* that it rests on */
	size_t forced; /* times that a rank waits for what never comes, and goes on */
	NP_VEC(struct np_balance_share) shares; /* the largest first; of ranks only the likeliest */
};

/* `stages` is the stage of each rank by its index in the run, -1 for none. */
int np_balance_measure(const struct np_align *align, const struct np_clock *clock,
		       const struct np_cluster *cluster, const int32_t *stages, size_t threads,
		       struct np_balance *ret, struct np_err *err) NP_MUST_USE;
void np_balance_release(struct np_balance *balance);

#endif /* NP_BALANCE_H */
