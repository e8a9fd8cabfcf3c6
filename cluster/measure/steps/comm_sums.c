/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of communication operators, by communicator and step. */
#include "npuprof/comm_sums.h"

#include "npuprof/align.h"
#include "npuprof/rank.h"

#include <math.h>

/* The place of (communicator, step) among the sums: every pair has one until empty ones are
 * dropped. */
static struct np_comm_sum *sum_of(const struct np_cluster *cluster, struct np_comm_sums *sums,
				  uint64_t hash, np_str step)
{
	const struct np_communicator *communicator = np_cluster_communicator(cluster, hash);
	size_t row;

	if (!communicator)
		return NULL;
	row = (size_t)(communicator - cluster->communicators.item) * cluster->steps.count;
	for (size_t i = 0; i < cluster->steps.count; i++) {
		if (cluster->steps.item[i] == step)
			return &sums->list.item[row + i];
	}
	return NULL;
}

static np_ns computing_of(const struct np_rank *rank, uint32_t step, int32_t device)
{
	for (size_t i = 0; i < rank->times.count; i++) {
		if (rank->times.item[i].step == step &&
		    (rank->times.item[i].device == device || device < 0))
			return rank->times.item[i].computing;
	}
	return NP_UNKNOWN;
}

static void add_rank(struct np_comm_sum *sum, const struct np_rank *rank,
		     const struct np_comm_step *own)
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
	sum->computing = np_plus(sum->computing, computing_of(rank, own->step, own->device));
}

static int allocate(const struct np_cluster *cluster, struct np_comm_sums *sums, struct np_err *err)
{
	for (size_t i = 0; i < cluster->communicators.count; i++) {
		for (size_t j = 0; j < cluster->steps.count; j++) {
			struct np_comm_sum *sum = np_vec_add(&sums->list, err);

			if (!sum)
				return NP_E_NOMEM;
			sum->communicator = &cluster->communicators.item[i];
			sum->step = cluster->steps.item[j];
		}
	}
	return NP_OK;
}

static void add_all(const struct np_cluster *cluster, struct np_comm_sums *sums)
{
	const struct np_run *run = cluster->run;

	for (size_t i = 0; i < run->sources.count; i++) {
		const struct np_rank *rank = run->ranks[i];

		for (size_t j = 0; rank && j < rank->comm_steps.count; j++) {
			const struct np_comm_step *own = &rank->comm_steps.item[j];
			struct np_comm_sum *sum =
				sum_of(cluster, sums, rank->groups.item[own->group].hash,
				       rank->steps.item[own->step].id);

			if (sum)
				add_rank(sum, rank, own);
		}
	}
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
	int rc = allocate(cluster, &sums, err);

	if (rc < 0) {
		np_comm_sums_release(&sums);
		return rc;
	}
	add_all(cluster, &sums);
	finish(&sums);
	*ret = sums;
	return NP_OK;
}

static struct np_comm_sum *find_sum(struct np_comm_sums *sums,
				    const struct np_communicator *communicator, np_str step)
{
	for (size_t i = 0; i < sums->list.count; i++) {
		if (sums->list.item[i].communicator == communicator &&
		    sums->list.item[i].step == step)
			return &sums->list.item[i];
	}
	return NULL;
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
			find_sum(sums, np_cluster_communicator(cluster, hash), wait->step);

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

static int add_to_role(struct np_comm_sums *roles, const struct np_comm_sum *sum,
		       struct np_err *err)
{
	struct np_comm_sum *role = NULL;

	for (size_t i = 0; i < roles->list.count && !role; i++) {
		struct np_comm_sum *each = &roles->list.item[i];

		if (each->communicator->pg_name == sum->communicator->pg_name &&
		    each->step == sum->step)
			role = each;
	}
	if (!role) {
		role = np_vec_add(&roles->list, err);
		if (!role)
			return NP_E_NOMEM;
		role->communicator = sum->communicator;
		role->step = sum->step;
		role->estimator = sum->estimator;
	}
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
	int rc = NP_OK;

	for (size_t i = 0; i < sums->list.count && rc == NP_OK; i++)
		rc = add_to_role(&roles, &sums->list.item[i], err);
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
