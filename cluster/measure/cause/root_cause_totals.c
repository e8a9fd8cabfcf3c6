/* SPDX-License-Identifier: Apache-2.0 */
/* Who is said to compute longer must have computed more in all: else it was its host. */
#include "npuprof/root_cause.h"

#include "npuprof/activity.h"
#include "npuprof/rank.h"
#include "npuprof/robust.h"
#include "npuprof/run.h"

/*
 * Ranks that compute while operators are under way come late by what they did since they were last
 * together, and that is not always the same work: who waits may have done it before. Over whole
 * steps the work is the same. A rank that computes no more than its peers there, and whose host
 * keeps it idle longer, is late for its host.
 */
struct step_totals {
	double compute; /* ns per step; 0 where nothing is known */
	double host;
	size_t stage;
};

/* What it computes more is less than one part in so many of what its host makes it idle more. */
#define MUCH_MORE 8

/* Of what a rank computes: its host must make it idle so much longer. */
#define WORTH_SETTLING 0.01

static struct step_totals add_up(const struct np_cluster *cluster, const struct np_rank *rank)
{
	const struct np_activity *activity = &rank->activity;
	double steps = (double)activity->cells.count;
	struct step_totals all = { .stage = (size_t)(np_cluster_stage(cluster, rank->id) + 1) };

	for (size_t i = 0; i < activity->shares.count; i++) {
		const struct np_share *share = &activity->shares.item[i];
		enum np_leaf_kind kind = np_leaf_kind(share->leaf);

		if (kind == NP_LEAF_COMPUTE)
			all.compute += (double)share->ns / steps;
		else if (kind == NP_LEAF_FREE_HOST || kind == NP_LEAF_FREE_DATALOADER)
			all.host += (double)share->ns / steps;
	}
	return all;
}

/* The medians of a stage; false where a rank has nobody to be compared with. */
static bool typical(const struct step_totals *all, size_t count, size_t stage, double *values,
		    struct step_totals *ret)
{
	size_t used = 0;

	for (size_t i = 0; i < count; i++) {
		if (all[i].compute > 0 && all[i].stage == stage)
			values[used++] = all[i].compute;
	}
	if (used < 2)
		return false;
	ret->compute = np_median(values, used);
	used = 0;
	for (size_t i = 0; i < count; i++) {
		if (all[i].compute > 0 && all[i].stage == stage)
			values[used++] = all[i].host;
	}
	ret->host = np_median(values, used);
	return true;
}

static bool is_late_for_host(const struct step_totals *own, const struct step_totals *peers)
{
	double computes = own->compute > peers->compute ? own->compute - peers->compute : 0;
	double idles = own->host - peers->host;

	return idles > MUCH_MORE * computes && idles > WORTH_SETTLING * own->compute;
}

static void settle_rank(const struct np_charges *charges, struct np_root_causes *causes,
			uint32_t rank)
{
	np_ns *by_cause = causes->ranks[rank].by_cause;

	by_cause[NP_CAUSE_HOST] += by_cause[NP_CAUSE_COMPUTE];
	by_cause[NP_CAUSE_COMPUTE] = 0;
	for (size_t i = 0; i < charges->rows.count; i++) {
		if (charges->rows.item[i].rank == rank && causes->rows[i].cause == NP_CAUSE_COMPUTE)
			causes->rows[i].cause = NP_CAUSE_HOST;
	}
}

int np_root_cause_settle(const struct np_cluster *cluster, const struct np_charges *charges,
			 struct np_root_causes *causes, struct np_err *err)
{
	const struct np_run *run = cluster->run;
	size_t count = causes->rank_count;
	size_t stages = cluster->stages.count + 1;
	struct step_totals *all = calloc(count + 1, sizeof(*all));
	double *values = malloc((count + 1) * sizeof(*values));
	struct step_totals peers = { 0 };

	if (!all || !values) {
		free(all);
		free(values);
		return np_fail_nomem(err, "root causes");
	}
	for (size_t i = 0; i < count; i++) {
		if (run->ranks[i] && run->ranks[i]->activity.cells.count > 0)
			all[i] = add_up(cluster, run->ranks[i]);
	}
	for (size_t stage = 0; stage < stages; stage++) {
		if (!typical(all, count, stage, values, &peers))
			continue;
		for (uint32_t i = 0; i < count; i++) {
			if (all[i].compute > 0 && all[i].stage == stage &&
			    np_root_cause_main(causes, i) == NP_CAUSE_COMPUTE &&
			    is_late_for_host(&all[i], &peers))
				settle_rank(charges, causes, i);
		}
	}
	free(all);
	free(values);
	return NP_OK;
}
