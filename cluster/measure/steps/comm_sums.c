/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of communication operators, by communicator and step. */
#include "npuprof/comm_sums.h"

#include "npuprof/align.h"
#include "npuprof/map.h"
#include "npuprof/order.h"
#include "npuprof/rank.h"

#include <math.h>

/* Sums by communicator and step: those that meet. */
struct pairs {
	const struct np_cluster *cluster;
	struct np_comm_sums *sums;
	struct np_numbers places; /* by key */
};

static uint64_t key_of(const struct np_cluster *cluster, const struct np_communicator *communicator,
		       size_t step)
{
	return (uint64_t)(communicator - cluster->communicators.item) << 32 | (uint32_t)step;
}

/* The place of (communicator, step) among the sums; a new one if there is none. */
static int sum_of(struct pairs *pairs, uint64_t hash, np_str id, struct np_comm_sum **ret,
		  struct np_err *err)
{
	const struct np_cluster *cluster = pairs->cluster;
	const struct np_communicator *communicator = np_cluster_communicator(cluster, hash);
	size_t step = np_cluster_step(cluster, id);
	uint64_t key;
	uint32_t place;

	*ret = NULL;
	if (!communicator || step == SIZE_MAX)
		return NP_OK;
	key = key_of(cluster, communicator, step);
	place = np_numbers_get(&pairs->places, key);
	if (place == NP_MAP_NONE) {
		struct np_comm_sum *sum = np_vec_add(&pairs->sums->list, err);

		if (!sum)
			return NP_E_NOMEM;
		sum->communicator = communicator;
		sum->step = id;
		place = (uint32_t)(pairs->sums->list.count - 1);
		if (np_numbers_add(&pairs->places, key, place, err) < 0)
			return NP_E_NOMEM;
	}
	*ret = &pairs->sums->list.item[place];
	return NP_OK;
}

/* The times of a rank by their steps: the first of each, and behind each time the next of its step.
 */
struct times_of_steps {
	uint32_t *first;
	uint32_t *next;
};

static int index_times(const struct np_rank *rank, struct times_of_steps *ret, struct np_err *err)
{
	size_t all = rank->steps.count + rank->times.count;
	uint32_t *list = malloc((all + 1) * sizeof(*list));

	if (!list)
		return np_fail_nomem(err, "sums of operators");
	for (size_t i = 0; i < all; i++)
		list[i] = UINT32_MAX;
	*ret = (struct times_of_steps){ .first = list, .next = list + rank->steps.count };
	for (size_t i = rank->times.count; i > 0; i--) {
		uint32_t step = rank->times.item[i - 1].step;

		ret->next[i - 1] = ret->first[step];
		ret->first[step] = (uint32_t)(i - 1);
	}
	return NP_OK;
}

static np_ns computing_of(const struct np_rank *rank, const struct times_of_steps *times,
			  uint32_t step, int32_t device)
{
	for (uint32_t i = times->first[step]; i != UINT32_MAX; i = times->next[i]) {
		if (rank->times.item[i].device == device || device < 0)
			return rank->times.item[i].computing;
	}
	return NP_UNKNOWN;
}

static void add_rank(struct np_comm_sum *sum, const struct np_rank *rank,
		     const struct times_of_steps *times, const struct np_comm_step *own)
{
	/* Ranks come one after the other; one with several devices counts once. */
	sum->ranks += sum->ranks == 0 || sum->last_rank != rank->id;
	sum->last_rank = rank->id;
	sum->ops += own->ops;
	sum->bytes = np_plus(sum->bytes, own->bytes);
	sum->moved_bytes = np_plus(sum->moved_bytes, own->moved_bytes);
	sum->moved_time = np_plus(sum->moved_time, own->moved_time);
	sum->elapsed += own->elapsed;
	sum->transit = np_plus(sum->transit, own->transfer);
	sum->exposed = np_plus(sum->exposed, own->exposed);
	sum->overlapped = np_plus(sum->overlapped, own->overlapped);
	sum->computing = np_plus(sum->computing, computing_of(rank, times, own->step, own->device));
}

static int add_all(struct pairs *pairs, const struct np_rank *rank, struct np_err *err)
{
	struct times_of_steps times;
	int rc = index_times(rank, &times, err);

	if (rc < 0)
		return rc;
	for (size_t j = 0; j < rank->comm_steps.count && rc == NP_OK; j++) {
		const struct np_comm_step *own = &rank->comm_steps.item[j];
		struct np_comm_sum *sum;

		rc = sum_of(pairs, rank->groups.item[own->group].hash,
			    rank->steps.item[own->step].id, &sum, err);
		if (rc == NP_OK && sum)
			add_rank(sum, rank, &times, own);
	}
	free(times.first);
	return rc;
}

/* By communicator, then by step: as the cluster has them. */
static int by_place(const void *left, const void *right, void *context)
{
	const struct np_cluster *cluster = context;
	const struct np_comm_sum *a = left;
	const struct np_comm_sum *b = right;
	size_t steps[2];

	if (a->communicator != b->communicator)
		return a->communicator < b->communicator ? -1 : 1;
	steps[0] = np_cluster_step(cluster, a->step);
	steps[1] = np_cluster_step(cluster, b->step);
	return (steps[0] > steps[1]) - (steps[0] < steps[1]);
}

/* Finish the sums and forget pairs of communicator and step that never met. */
static void finish(struct np_comm_sums *sums)
{
	size_t kept = 0;

	for (size_t i = 0; i < sums->list.count; i++) {
		struct np_comm_sum *sum = &sums->list.item[i];

		if (sum->ops == 0)
			continue;
		sum->wait = sum->transit == NP_UNKNOWN ? NP_UNKNOWN : sum->elapsed - sum->transit;
		sum->estimator = sum->transit == NP_UNKNOWN ? "none" : "tasks";
		sums->list.item[kept++] = *sum;
	}
	sums->list.count = kept;
}

int np_comm_sums_measure(const struct np_cluster *cluster, struct np_comm_sums *ret,
			 struct np_err *err)
{
	struct np_comm_sums sums = { 0 };
	struct pairs pairs = { .cluster = cluster, .sums = &sums };
	const struct np_run *run = cluster->run;
	int rc = NP_OK;

	for (size_t i = 0; i < run->sources.count && rc == NP_OK; i++) {
		if (run->ranks[i])
			rc = add_all(&pairs, run->ranks[i], err);
	}
	np_numbers_release(&pairs.places);
	if (rc < 0) {
		np_comm_sums_release(&sums);
		return rc;
	}
	finish(&sums);
	if (sums.list.count)
		qsort_r(sums.list.item, sums.list.count, sizeof(sums.list.item[0]), by_place,
			(void *)(uintptr_t)cluster);
	*ret = sums;
	return NP_OK;
}

/* Sums are sorted as by_place() says. */
static struct np_comm_sum *find_sum(const struct np_cluster *cluster, struct np_comm_sums *sums,
				    const struct np_communicator *communicator, np_str step)
{
	struct np_comm_sum wanted = { .communicator = communicator, .step = step };
	size_t found = np_lower_bound(
		i, (size_t)0, sums->list.count,
		by_place(&sums->list.item[i], &wanted, (void *)(uintptr_t)cluster) >= 0);

	if (found == sums->list.count || sums->list.item[found].communicator != communicator ||
	    sums->list.item[found].step != step)
		return NULL;
	return &sums->list.item[found];
}

/*
 * Where not all members were profiled, the arrivals of the others do not tell how long they
 * were waited for: what is left is transfer, or waiting.
 */
static bool is_partly_seen(const struct np_align_communicator *communicator,
			   enum np_estimator estimator)
{
	return communicator->observed < communicator->size && estimator != NP_WAIT_TASKS;
}

void np_comm_sums_set_waits(const struct np_cluster *cluster, const struct np_align *align,
			    const struct np_waits *waits, struct np_comm_sums *sums)
{
	for (size_t i = 0; i < waits->sums.count; i++) {
		const struct np_wait_sum *wait = &waits->sums.item[i];
		uint64_t hash = align->communicators.item[wait->communicator].hash;
		struct np_comm_sum *sum =
			find_sum(cluster, sums, np_cluster_communicator(cluster, hash), wait->step);

		bool unknown = wait->unknown ||
			       is_partly_seen(&align->communicators.item[wait->communicator],
					      wait->estimator);

		/* Operators of no device are in one of the two only. */
		if (!sum || sum->elapsed != wait->elapsed)
			continue;
		sum->wait = unknown ? NP_UNKNOWN : wait->wait;
		sum->transit = unknown ? NP_UNKNOWN : wait->transit;
		sum->estimator = np_estimator_name(unknown ? NP_WAIT_NONE : wait->estimator);
	}
}

static void add_step(struct np_comm_sum *total, const struct np_comm_sum *step)
{
	total->ops += step->ops;
	total->bytes = np_plus(total->bytes, step->bytes);
	total->moved_bytes = np_plus(total->moved_bytes, step->moved_bytes);
	total->moved_time = np_plus(total->moved_time, step->moved_time);
	total->elapsed += step->elapsed;
	total->wait = np_plus(total->wait, step->wait);
	total->transit = np_plus(total->transit, step->transit);
	total->exposed = np_plus(total->exposed, step->exposed);
	total->overlapped = np_plus(total->overlapped, step->overlapped);
	total->computing = np_plus(total->computing, step->computing);
}

static int by_elapsed(const void *left, const void *right)
{
	const struct np_comm_sum *a = left;
	const struct np_comm_sum *b = right;

	if (a->elapsed != b->elapsed)
		return a->elapsed > b->elapsed ? -1 : 1;
	return (a->communicator > b->communicator) - (a->communicator < b->communicator);
}

int np_comm_sums_total(const struct np_comm_sums *sums, struct np_comm_sums *ret,
		       struct np_err *err)
{
	struct np_comm_sums totals = { 0 };
	struct np_comm_sum *total = NULL;

	for (size_t i = 0; i < sums->list.count; i++) {
		const struct np_comm_sum *step = &sums->list.item[i];

		/* Sums are sorted by communicator. */
		if (!total || total->communicator != step->communicator) {
			total = np_vec_add(&totals.list, err);
			if (!total) {
				np_comm_sums_release(&totals);
				return NP_E_NOMEM;
			}
			total->communicator = step->communicator;
		}
		add_step(total, step);
	}
	if (totals.list.count)
		qsort(totals.list.item, totals.list.count, sizeof(*total), by_elapsed);
	*ret = totals;
	return NP_OK;
}

static int add_to_role(struct np_comm_sums *roles, struct np_numbers *places,
		       const struct np_comm_sum *sum, struct np_err *err)
{
	uint64_t key = (uint64_t)sum->communicator->pg_name << 32 | sum->step;
	uint32_t place = np_numbers_get(places, key);
	struct np_comm_sum *role;

	if (place == NP_MAP_NONE) {
		place = (uint32_t)roles->list.count;
		role = np_vec_add(&roles->list, err);
		if (!role || np_numbers_add(places, key, place, err) < 0)
			return NP_E_NOMEM;
		role->communicator = sum->communicator;
		role->step = sum->step;
		role->estimator = sum->estimator;
	}
	role = &roles->list.item[place];
	if (strcmp(role->estimator, sum->estimator) != 0)
		role->estimator = "mixed";
	role->ranks += sum->ranks;
	add_step(role, sum);
	return NP_OK;
}

int np_comm_sums_roles(const struct np_comm_sums *sums, struct np_comm_sums *ret,
		       struct np_err *err)
{
	struct np_comm_sums roles = { 0 };
	struct np_numbers places = { 0 };
	int rc = NP_OK;

	for (size_t i = 0; i < sums->list.count && rc == NP_OK; i++)
		rc = add_to_role(&roles, &places, &sums->list.item[i], err);
	np_numbers_release(&places);
	if (rc < 0) {
		np_comm_sums_release(&roles);
		return rc;
	}
	*ret = roles;
	return NP_OK;
}

void np_comm_sums_release(struct np_comm_sums *sums)
{
	np_vec_release(&sums->list);
}

double np_comm_compute_ratio(const struct np_comm_sum *sum)
{
	if (sum->computing == NP_UNKNOWN || sum->computing <= 0)
		return (double)NAN;
	return (double)sum->elapsed / (double)sum->computing;
}
