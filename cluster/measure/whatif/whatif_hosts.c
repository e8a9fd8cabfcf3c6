/* SPDX-License-Identifier: Apache-2.0 */
#include "whatif_private.h"

#include <math.h>

/* The ranks of a host and all others, by step and stage. */
struct host {
	bool *these; /* by rank */
	means own;
	means others;
};

static void host_release(struct host *host)
{
	free(host->these);
	np_vec_release(&host->own);
	np_vec_release(&host->others);
}

static int host_measure(const struct np_whatif_input *input, const struct np_fix *fix,
			struct host *ret, struct np_err *err)
{
	const struct np_replay *replay = input->replay;
	size_t count = replay->align->run->sources.count;
	int rc;

	rc = scenario_named_ranks(input, fix, &ret->these, err);
	if (rc < 0)
		return rc;
	rc = scenario_add_means(replay, ret->these, &ret->others, err);
	for (size_t i = 0; i < count; i++)
		ret->these[i] = !ret->these[i];
	if (rc == NP_OK)
		rc = scenario_add_means(replay, ret->these, &ret->own, err);
	for (size_t i = 0; i < count; i++)
		ret->these[i] = !ret->these[i];
	return rc;
}

/* The host as a whole: how its ranks differ stays as it is. */
int scenario_repair_host(const struct np_whatif_input *input, const struct np_fix *fix,
			 struct scenario_draft *scenario, struct np_err *err)
{
	const struct np_replay *replay = input->replay;
	struct host host = { 0 };
	int rc = host_measure(input, fix, &host, err);

	for (size_t i = 0; i < replay->cells.count && rc == NP_OK; i++) {
		const struct np_replay_cell *cell = &replay->cells.item[i];
		const struct mean *own;
		const struct mean *others;

		if (!cell->timed || !host.these[cell->rank])
			continue;
		own = scenario_mean(&host.own, cell->step, replay->stages[cell->rank], err);
		others = scenario_mean(&host.others, cell->step, replay->stages[cell->rank], err);
		if (!own || !others)
			rc = NP_E_NOMEM;
		for (int kind = 0; rc == NP_OK && others->count > 0 && kind < NP_WORK_KINDS;
		     kind++) {
			if (own->work[kind] > 0)
				scenario_lower(&scenario->work[i][kind],
					       others->work[kind] / (double)others->count *
						       (double)own->count / own->work[kind]);
		}
	}
	host_release(&host);
	return rc;
}

/* Few steps differ by chance alone. */
#define FEWEST_STEPS 3

/* By how many times its spread over the steps a difference must exceed 0 to be lasting. */
#define LASTS 2

/* How many times as long as its peers the host takes in a step; NaN where it has none. */
static double host_ratio(const struct host *host, np_str step)
{
	double own = 0;
	double expected = 0;

	for (size_t i = 0; i < host->own.count; i++) {
		const struct mean *each = &host->own.item[i];

		for (size_t j = 0; each->step == step && j < host->others.count; j++) {
			const struct mean *peers = &host->others.item[j];

			if (peers->step != step || peers->stage != each->stage || peers->count == 0)
				continue;
			for (int kind = 0; kind < NP_WORK_OTHER; kind++) {
				own += each->work[kind];
				expected += peers->work[kind] / (double)peers->count *
					    (double)each->count;
			}
		}
	}
	return own > 0 && expected > 0 ? own / expected : (double)NAN;
}

int scenario_is_lasting(const struct np_whatif_input *input, const struct np_fix *fix, bool *ret,
			struct np_err *err)
{
	const struct np_cluster *cluster = input->replay->cluster;
	struct host host = { 0 };
	double sum = 0;
	double squares = 0;
	double count = 0;
	int rc = host_measure(input, fix, &host, err);

	for (size_t i = 0; i < cluster->steps.count && rc == NP_OK; i++) {
		double ratio = log(host_ratio(&host, cluster->steps.item[i]));

		if (isnan(ratio))
			continue;
		sum += ratio;
		squares += ratio * ratio;
		count++;
	}
	if (rc == NP_OK && count >= FEWEST_STEPS) {
		double mean = sum / count;

		*ret = mean > LASTS * sqrt(fmax(squares / count - mean * mean, 0));
	}
	host_release(&host);
	return rc;
}
