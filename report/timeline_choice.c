/* SPDX-License-Identifier: Apache-2.0 */
/* Which ranks and which step a slice of the timeline shows, and how large a timeline will be. */
#include "timeline.h"

#include "npuprof/idmap.h"
#include "npuprof/rank.h"
#include "npuprof/run.h"

/* Bytes of one event in plain JSON, about. */
#define EVENT_BYTES 190

int64_t timeline_estimate(const struct np_analysis *analysis,
			  const struct timeline_options *options)
{
	const struct np_run *run = analysis->run;
	int64_t events = (int64_t)analysis->path.pieces.count;

	for (size_t i = 0; i < run->sources.count; i++) {
		const struct np_rank *rank = run->ranks[i];
		int64_t kernels = 0;

		if (!rank || (options->ranks && !options->ranks[i]))
			continue;
		for (size_t j = 0; j < rank->kernels.count; j++)
			kernels += rank->kernels.item[j].count;
		kernels += 2 * (int64_t)rank->ops.count;
		if (options->has_only && rank->steps.count > 0)
			kernels /= (int64_t)rank->steps.count;
		events += options->host ? 2 * kernels : kernels;
	}
	return events * EVENT_BYTES;
}

/* The rank of the same stage that computes least. */
static uint32_t best_peer(const struct np_analysis *analysis, uint32_t rank)
{
	const struct np_run *run = analysis->run;
	int32_t stage = np_cluster_stage_at(analysis->cluster, rank);
	uint32_t best = UINT32_MAX;
	np_ns least = NP_NS_MAX;

	for (uint32_t i = 0; i < run->sources.count; i++) {
		np_ns computing = 0;

		if (!run->ranks[i] || i == rank ||
		    np_cluster_stage_at(analysis->cluster, i) != stage)
			continue;
		for (size_t j = 0; j < run->ranks[i]->times.count; j++)
			computing += run->ranks[i]->times.item[j].computing == NP_UNKNOWN
					     ? 0
					     : run->ranks[i]->times.item[j].computing;
		if (computing > 0 && computing < least) {
			least = computing;
			best = i;
		}
	}
	return best;
}

/* Victims: the members that waited longest in the communicators where the rank came late. */
#define MOST_VICTIMS 6

static void choose_victims(const struct np_explanation *chain, bool *ranks)
{
	for (size_t i = 0; i < chain->count; i++) {
		const struct np_root_cause_waiters *waiters = &chain->waiters[i];
		np_ns above = NP_NS_MAX;

		ranks[chain->chain[i].rank] = true;
		for (size_t k = 0; k < MOST_VICTIMS / (i + 1); k++) {
			const struct np_root_cause_waiter *best = NULL;

			for (size_t j = 0; j < waiters->list.count; j++) {
				const struct np_root_cause_waiter *each = &waiters->list.item[j];

				if (!ranks[each->rank] && each->wait <= above &&
				    (!best || each->wait > best->wait))
					best = each;
			}
			if (!best)
				break;
			above = best->wait;
			ranks[best->rank] = true;
		}
	}
}

/* The step in which the rank made others wait most, as charged; the first of those alike. */
static int worst_step(const struct np_analysis *analysis, uint32_t rank, np_str *ret,
		      struct np_err *err)
{
	const struct np_cluster *cluster = analysis->cluster;
	NP_CLEANUP(np_idmap_freep) struct np_idmap *places = np_idmap_new();
	np_ns *sums = calloc(cluster->steps.count + 1, sizeof(*sums));
	np_ns most = 0;
	int rc = places && sums ? NP_OK : np_fail_nomem(err, "the steps of a slice");

	for (size_t s = 0; s < cluster->steps.count && rc == NP_OK; s++)
		rc = np_idmap_set(places, cluster->steps.item[s], (uint32_t)s, err);
	for (size_t i = 0; i < analysis->charges.rows.count && rc == NP_OK; i++) {
		const struct np_charge_row *row = &analysis->charges.rows.item[i];
		uint32_t place =
			row->rank == rank ? np_idmap_get(places, row->step) : NP_IDMAP_NONE;

		if (place != NP_IDMAP_NONE)
			sums[place] += row->charge;
	}
	for (size_t s = 0; s < cluster->steps.count && rc == NP_OK; s++) {
		if (sums[s] > most) {
			most = sums[s];
			*ret = cluster->steps.item[s];
		}
	}
	free(sums);
	return rc;
}

/* *ret_step is untouched where nothing stands out. */
static int choose(const struct np_analysis *analysis, bool *ranks, np_str *ret_step,
		  struct np_err *err)
{
	const struct np_verdict *verdict = &analysis->verdict;
	uint32_t rank = verdict->named != UINT32_MAX ? verdict->named : verdict->first;
	struct np_explanation chain = { 0 };
	uint32_t peer;
	int rc;

	if (rank == UINT32_MAX)
		return NP_OK;
	rc = np_explanation_measure(analysis->cluster, &analysis->causes, &analysis->charges, rank,
				    &chain, err);
	if (rc == NP_OK)
		rc = np_explanation_add_waiters(analysis->align, analysis->clock, &analysis->waits,
						&chain, err);
	if (rc == NP_OK) {
		ranks[rank] = true;
		peer = best_peer(analysis, rank);
		if (peer != UINT32_MAX)
			ranks[peer] = true;
		choose_victims(&chain, ranks);
		rc = worst_step(analysis, rank, ret_step, err);
	}
	np_explanation_release(&chain);
	return rc;
}

/* Ranks of a slice where nobody stands out. */
#define SOME_RANKS 8

int timeline_slice(const struct np_analysis *analysis, bool *ranks, struct timeline_options *how,
		   struct np_err *err)
{
	const struct np_run *run = analysis->run;
	size_t count = 0;
	int rc;

	how->only =
		analysis->cluster->steps.count > 0 ? analysis->cluster->steps.item[0] : NP_STR_NONE;
	rc = choose(analysis, ranks, &how->only, err);
	for (size_t i = 0; i < run->sources.count; i++)
		count += ranks[i];
	for (size_t i = 0, some = 0; count == 0 && i < run->sources.count && some < SOME_RANKS;
	     i++) {
		ranks[i] = run->ranks[i] != NULL;
		some += ranks[i];
	}
	how->ranks = ranks;
	how->has_only = analysis->cluster->steps.count > 0;
	return rc;
}
