/* SPDX-License-Identifier: Apache-2.0 */
/* How far the ranks are apart in each step, and which of them are the extremes. */
#include "npuprof/spread.h"

#include "npuprof/idmap.h"
#include "npuprof/rank.h"
#include "npuprof/run.h"

struct step_sample {
	np_ns value;
	int32_t rank;
	uint32_t step; /* place among those of the cluster */
};

/* The value of a quantity, NP_UNKNOWN where it is not known. */
static np_ns quantity_of(const struct np_step_time *time, enum np_quantity quantity,
			 enum np_basis basis)
{
	switch (quantity) {
	case NP_Q_COMPUTING:
		return time->computing;
	case NP_Q_EXPOSED:
		return time->communication_not_overlapped;
	case NP_Q_FREE:
		return time->free;
	case NP_Q_BUBBLE:
		return time->bubble;
	case NP_Q_SPAN:
		return time->span;
	case NP_Q_STEP:
		return np_step_length(time, basis);
	case NP_Q_BETWEEN:
		return np_step_between(time);
	case NP_Q_PREPARING:
		return time->preparing < 0 ? NP_UNKNOWN : time->preparing;
	case NP_Q_COUNT:
		break;
	}
	return NP_UNKNOWN;
}

static int by_value(const void *left, const void *right)
{
	const struct step_sample *a = left;
	const struct step_sample *b = right;

	if (a->step != b->step)
		return a->step < b->step ? -1 : 1;
	if (a->value != b->value)
		return a->value < b->value ? -1 : 1;
	return (a->rank > b->rank) - (a->rank < b->rank);
}

struct step_samples {
	NP_VEC(struct step_sample) list;
};

/* What every rank had in each step. */
static int collect(const struct np_cluster *cluster, enum np_quantity quantity, enum np_basis basis,
		   struct step_samples *samples, struct np_err *err)
{
	NP_CLEANUP(np_idmap_freep) struct np_idmap *places = np_idmap_new();

	if (!places)
		return np_fail_nomem(err, "steps");
	for (size_t i = 0; i < cluster->steps.count; i++) {
		if (np_idmap_set(places, cluster->steps.item[i], (uint32_t)i, err) < 0)
			return NP_E_NOMEM;
	}
	for (size_t i = 0; i < cluster->run->sources.count; i++) {
		const struct np_rank *rank = cluster->run->ranks[i];

		for (size_t j = 0; rank && j < rank->times.count; j++) {
			const struct np_step_time *time = &rank->times.item[j];
			np_ns value = quantity_of(time, quantity, basis);
			uint32_t step = np_idmap_get(places, rank->steps.item[time->step].id);
			struct step_sample *sample;

			if (step == NP_IDMAP_NONE || value == NP_UNKNOWN)
				continue;
			sample = np_vec_add(&samples->list, err);
			if (!sample)
				return NP_E_NOMEM;
			*sample = (struct step_sample){ value, rank->id, step };
		}
	}
	return NP_OK;
}

/* The spread of the sorted samples of one step. */
static struct np_spread spread_of(const struct step_sample *sorted, size_t count)
{
	struct np_spread spread = { .ranks = count };
	size_t most = count - 1;

	if (count == 0)
		return spread;
	while (most > 0 && sorted[most - 1].value == sorted[most].value)
		most--;
	spread.least = sorted[0].value;
	spread.least_rank = sorted[0].rank;
	spread.median = sorted[(count - 1) / 2].value;
	spread.most = sorted[most].value;
	spread.most_rank = sorted[most].rank;
	return spread;
}

struct longest_list {
	NP_VEC(struct np_longest) list;
};

/* Count a step for the rank that had the most in it. */
static int count_step(struct longest_list *longest, const struct np_spread *spread,
		      struct np_err *err)
{
	struct np_longest *entry = NULL;

	if (spread->ranks < 2 || spread->median <= 0)
		return NP_OK;
	for (size_t i = 0; i < longest->list.count && !entry; i++) {
		if (longest->list.item[i].rank == spread->most_rank)
			entry = &longest->list.item[i];
	}
	if (!entry)
		entry = np_vec_add(&longest->list, err);
	if (!entry)
		return NP_E_NOMEM;
	entry->rank = spread->most_rank;
	entry->steps++;
	entry->over += (double)(spread->most - spread->median) / (double)spread->median;
	return NP_OK;
}

/* A quantity over all ranks and steps together, as far as it is known. */
static np_ns quantity_total(const struct np_cluster *cluster, enum np_quantity quantity,
			    enum np_basis basis)
{
	np_ns total = 0;

	for (size_t i = 0; i < cluster->run->sources.count; i++) {
		const struct np_rank *rank = cluster->run->ranks[i];

		for (size_t j = 0; rank && j < rank->times.count; j++) {
			const struct np_step_time *time = &rank->times.item[j];
			np_ns value = quantity_of(time, quantity, basis);

			if (value == NP_UNKNOWN && quantity == NP_Q_STEP)
				value = time->span;
			if (value != NP_UNKNOWN)
				total += value;
		}
	}
	return total;
}

static void add_between(const struct np_cluster *cluster, struct np_spreads *spreads)
{
	for (size_t i = 0; i < cluster->run->sources.count; i++) {
		const struct np_rank *rank = cluster->run->ranks[i];

		for (size_t j = 0; rank && j < rank->times.count; j++) {
			for (int kind = 0; kind < NP_BETWEEN_KINDS; kind++)
				spreads->between[kind] += rank->times.item[j].between[kind];
		}
	}
}

/* The rank that was on top in the most steps. */
static int find_longest(const struct np_spreads *spreads, size_t step_count,
			enum np_quantity quantity, struct np_longest *ret, struct np_err *err)
{
	struct longest_list longest = { 0 };
	struct np_longest top = { 0 };
	int rc = NP_OK;

	for (size_t i = 0; i < step_count && rc == NP_OK; i++)
		rc = count_step(&longest, &spreads->steps[i][quantity], err);
	for (size_t i = 0; i < longest.list.count; i++) {
		if (longest.list.item[i].steps > top.steps)
			top = longest.list.item[i];
	}
	np_vec_release(&longest.list);
	if (top.steps > 0)
		top.over /= (double)top.steps;
	*ret = top;
	return rc;
}

/* --- all of a run ------------------------------------------------------------------------------
 */

/* One quantity in every step. */
static int measure_quantity(const struct np_cluster *cluster, enum np_quantity quantity,
			    struct np_spreads *spreads, struct np_err *err)
{
	struct step_samples samples = { 0 };
	int rc = collect(cluster, quantity, spreads->basis, &samples, err);

	if (rc == NP_OK && samples.list.count > 0)
		qsort(samples.list.item, samples.list.count, sizeof(struct step_sample), by_value);
	for (size_t from = 0, to = 0; from < samples.list.count && rc == NP_OK; from = to) {
		uint32_t step = samples.list.item[from].step;

		while (to < samples.list.count && samples.list.item[to].step == step)
			to++;
		spreads->steps[step][quantity] = spread_of(&samples.list.item[from], to - from);
	}
	np_vec_release(&samples.list);
	return rc;
}

int np_spreads_measure(const struct np_cluster *cluster, struct np_spreads *ret, struct np_err *err)
{
	struct np_spreads spreads = { .basis = np_run_basis(cluster->run) };
	int rc = NP_OK;

	spreads.steps = calloc(cluster->steps.count + 1, sizeof(*spreads.steps));
	if (!spreads.steps)
		return np_fail_nomem(err, "spreads of steps");
	for (int i = 0; i < NP_Q_COUNT && rc == NP_OK; i++) {
		spreads.total[i] = quantity_total(cluster, (enum np_quantity)i, spreads.basis);
		rc = measure_quantity(cluster, (enum np_quantity)i, &spreads, err);
	}
	add_between(cluster, &spreads);
	if (rc == NP_OK)
		rc = find_longest(&spreads, cluster->steps.count, NP_Q_COMPUTING, &spreads.longest,
				  err);
	if (rc < 0) {
		np_spreads_release(&spreads);
		return rc;
	}
	*ret = spreads;
	return NP_OK;
}

void np_spreads_release(struct np_spreads *spreads)
{
	free(spreads->steps);
	spreads->steps = NULL;
}
