/* SPDX-License-Identifier: Apache-2.0 */
#include "npuprof/spread.h"

struct sample {
	np_ns value;
	int32_t rank;
};

np_ns np_quantity_of(const struct np_step_time *time, enum np_quantity quantity)
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
	case NP_Q_COUNT:
		break;
	}
	return NP_UNKNOWN;
}

static int by_value(const void *left, const void *right)
{
	const struct sample *a = left;
	const struct sample *b = right;

	if (a->value != b->value)
		return a->value < b->value ? -1 : 1;
	return (a->rank > b->rank) - (a->rank < b->rank);
}

struct samples {
	NP_VEC(struct sample) list;
};

static int collect(const struct np_cluster *cluster, np_str step, enum np_quantity quantity,
		   struct samples *samples, struct np_err *err)
{
	for (size_t i = 0; i < cluster->run->sources.count; i++) {
		const struct np_rank *rank = cluster->run->ranks[i];

		for (size_t j = 0; rank && j < rank->times.count; j++) {
			const struct np_step_time *time = &rank->times.item[j];
			np_ns value = np_quantity_of(time, quantity);
			struct sample *sample;

			if (rank->steps.item[time->step].id != step || value == NP_UNKNOWN)
				continue;
			sample = np_vec_add(&samples->list, err);
			if (!sample)
				return NP_E_NOMEM;
			*sample = (struct sample){ value, rank->id };
		}
	}
	return NP_OK;
}

int np_spread_measure(const struct np_cluster *cluster, np_str step, enum np_quantity quantity,
		      struct np_spread *ret, struct np_err *err)
{
	struct samples samples = { 0 };
	int rc = collect(cluster, step, quantity, &samples, err);
	size_t count = samples.list.count;
	size_t most;

	if (rc == NP_OK)
		*ret = (struct np_spread){ .ranks = count };
	if (rc == NP_OK && count > 0) {
		qsort(samples.list.item, count, sizeof(struct sample), by_value);
		most = count - 1;
		while (most > 0 &&
		       samples.list.item[most - 1].value == samples.list.item[most].value)
			most--;
		ret->least = samples.list.item[0].value;
		ret->least_rank = samples.list.item[0].rank;
		ret->middle = samples.list.item[(count - 1) / 2].value;
		ret->most = samples.list.item[most].value;
		ret->most_rank = samples.list.item[most].rank;
	}
	np_vec_release(&samples.list);
	return rc;
}

struct longest_list {
	NP_VEC(struct np_longest) list;
};

/* Count a step for the rank that had the most in it. */
static int count_step(struct longest_list *longest, const struct np_spread *spread,
		      struct np_err *err)
{
	struct np_longest *entry = NULL;

	if (spread->ranks < 2 || spread->middle <= 0)
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
	entry->over += (double)(spread->most - spread->middle) / (double)spread->middle;
	return NP_OK;
}

int np_longest_measure(const struct np_cluster *cluster, enum np_quantity quantity,
		       struct np_longest *ret, struct np_err *err)
{
	struct longest_list longest = { 0 };
	struct np_longest top = { 0 };
	int rc = NP_OK;

	for (size_t i = 0; i < cluster->steps.count && rc == NP_OK; i++) {
		struct np_spread spread;

		rc = np_spread_measure(cluster, cluster->steps.item[i], quantity, &spread, err);
		if (rc == NP_OK)
			rc = count_step(&longest, &spread, err);
	}
	for (size_t i = 0; i < longest.list.count; i++) {
		if (longest.list.item[i].steps > top.steps)
			top = longest.list.item[i];
	}
	np_vec_release(&longest.list);
	if (rc < 0)
		return rc;
	if (top.steps > 0)
		top.over /= (double)top.steps;
	*ret = top;
	return NP_OK;
}

np_ns np_quantity_total(const struct np_cluster *cluster, enum np_quantity quantity)
{
	np_ns total = 0;

	for (size_t i = 0; i < cluster->run->sources.count; i++) {
		const struct np_rank *rank = cluster->run->ranks[i];

		for (size_t j = 0; rank && j < rank->times.count; j++) {
			np_ns value = np_quantity_of(&rank->times.item[j], quantity);

			if (value != NP_UNKNOWN)
				total += value;
		}
	}
	return total;
}
