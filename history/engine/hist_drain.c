/* SPDX-License-Identifier: Apache-2.0 */
/* Plans which hosts and devices to take out of service, and which to test. */
#include "hist_drain.h"

#include <math.h>

#include "middle.h"

#include "npuprof/text.h"

/* Gains below this are noise of the replay. */
#define LEAST_GAIN 0.001

/* A device with so much of what its host would gain stands for it. */
#define STANDS_FOR 0.75

struct machine_key {
	np_str host;
	int64_t device; /* -1: the host */
};

/* What the repair of a machine would have gained in a run. */
struct gain {
	struct machine_key key;
	uint32_t run;
	double share;
};

struct machine_pair {
	struct machine_key src;
	struct machine_key dst;
	double share; /* of the speed of peers */
	bool slow;
};

struct plan {
	const struct hist_store *store;
	NP_VEC(struct gain) gains;
	NP_VEC(struct machine_pair) pairs;
	NP_VEC(double) scratch;
	struct hist_drain *drain;
	struct np_err *err;
};

static int by_key(const struct machine_key *a, const struct machine_key *b)
{
	if (a->host != b->host)
		return a->host < b->host ? -1 : 1;
	return (a->device > b->device) - (a->device < b->device);
}

static int by_gain_key(const void *left, const void *right)
{
	const struct gain *a = left;
	const struct gain *b = right;
	int order = by_key(&a->key, &b->key);

	return order != 0 ? order : (a->run > b->run) - (a->run < b->run);
}

static const struct hist_rank *rank_in(const struct hist_store *store, const struct hist_run *run,
				       int64_t rank)
{
	size_t low = run->first_rank;
	size_t high = run->first_rank + run->rank_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (store->ranks.item[middle].rank < rank)
			low = middle + 1;
		else
			high = middle;
	}
	return low < run->first_rank + run->rank_count && store->ranks.item[low].rank == rank
		       ? &store->ranks.item[low]
		       : NULL;
}

static int add_gain(struct plan *plan, struct machine_key key, uint32_t run, double share)
{
	struct gain *gain = np_vec_add(&plan->gains, plan->err);

	if (!gain)
		return NP_E_NOMEM;
	*gain = (struct gain){ key, run, share };
	return NP_OK;
}

/* Every machine took part, whether its repair gained anything or not. */
static int take_part(struct plan *plan, uint32_t index)
{
	const struct hist_run *run = &plan->store->runs.item[index];
	int rc = NP_OK;

	for (size_t i = run->first_rank; i < run->first_rank + run->rank_count && rc == NP_OK;
	     i++) {
		const struct hist_rank *rank = &plan->store->ranks.item[i];

		if (rank->host == NP_STR_NONE)
			continue;
		rc = add_gain(plan, (struct machine_key){ rank->host, -1 }, index, 0);
		if (rc == NP_OK && rank->device >= 0)
			rc = add_gain(plan, (struct machine_key){ rank->host, rank->device }, index,
				      0);
	}
	return rc;
}

static int take_repair(struct plan *plan, const struct hist_repair *repair)
{
	const struct hist_run *run = &plan->store->runs.item[repair->run];
	const char *text = hist_text(plan->store, repair->repair);
	double share = (double)repair->saved / (double)run->step;
	const struct hist_rank *rank;
	int64_t number;

	if (run->step == NP_UNKNOWN || run->step <= 0 || repair->saved == NP_UNKNOWN)
		return NP_OK;
	if (np_text_begins(text, "rank:") && np_text_to_int(text + 5, strlen(text + 5), &number)) {
		rank = rank_in(plan->store, run, number);
		return rank && rank->host != NP_STR_NONE && rank->device >= 0
			       ? add_gain(plan, (struct machine_key){ rank->host, rank->device },
					  repair->run, share)
			       : NP_OK;
	}
	if (!np_text_begins(text, "host:"))
		return NP_OK;
	for (size_t i = run->first_rank; i < run->first_rank + run->rank_count; i++) {
		const char *host = hist_text(plan->store, plan->store->ranks.item[i].host);

		if (host && strcmp(host, text + 5) == 0)
			return add_gain(plan,
					(struct machine_key){ plan->store->ranks.item[i].host, -1 },
					repair->run, share);
	}
	return NP_OK;
}

static bool is_selected(const struct hist_selection *selection, uint32_t run)
{
	for (size_t i = 0; i < selection->runs.count; i++) {
		if (selection->runs.item[i] == run)
			return true;
	}
	return false;
}

static int gather(struct plan *plan, const struct hist_selection *selection)
{
	int rc = NP_OK;

	for (size_t i = 0; i < selection->runs.count && rc == NP_OK; i++)
		rc = take_part(plan, selection->runs.item[i]);
	for (size_t i = 0; i < plan->store->repairs.count && rc == NP_OK; i++) {
		if (is_selected(selection, plan->store->repairs.item[i].run))
			rc = take_repair(plan, &plan->store->repairs.item[i]);
	}
	if (plan->gains.count > 0)
		qsort(plan->gains.item, plan->gains.count, sizeof(*plan->gains.item), by_gain_key);
	return rc;
}

/* The gains of one machine, one for each run: [first, end). */
static int take_machine(struct plan *plan, size_t first, size_t end)
{
	struct hist_candidate one = { .host = plan->gains.item[first].key.host,
				      .device = plan->gains.item[first].key.device };
	struct hist_candidate *slot;

	plan->scratch.count = 0;
	for (size_t i = first; i < end;) {
		uint32_t run = plan->gains.item[i].run;
		double *share = np_vec_add(&plan->scratch, plan->err);

		if (!share)
			return NP_E_NOMEM;
		for (; i < end && plan->gains.item[i].run == run; i++)
			*share = plan->gains.item[i].share > *share ? plan->gains.item[i].share
								    : *share;
		one.mean += *share;
	}
	one.runs = plan->scratch.count;
	one.mean /= (double)one.runs;
	if (one.mean < LEAST_GAIN)
		return NP_OK;
	hist_sort(plan->scratch.item, one.runs);
	one.low = hist_quantile(plan->scratch.item, one.runs, 0.1);
	one.high = hist_quantile(plan->scratch.item, one.runs, 0.9);
	one.unit = one.device < 0 ? HIST_HOST : HIST_DEVICE;
	slot = np_vec_add(&plan->drain->list, plan->err);
	if (!slot)
		return NP_E_NOMEM;
	*slot = one;
	return NP_OK;
}

/* Is there a device that explains this host, or a host that this device is only a part of? */
static bool is_explained(const struct hist_drain *drain, const struct hist_candidate *one)
{
	for (size_t i = 0; i < drain->list.count; i++) {
		const struct hist_candidate *other = &drain->list.item[i];

		if (other->host != one->host || other->unit == one->unit)
			continue;
		if (one->unit == HIST_HOST ? other->mean >= STANDS_FOR * one->mean
					   : one->mean < STANDS_FOR * other->mean)
			return true;
	}
	return false;
}

static int by_use(const void *left, const void *right)
{
	const struct hist_candidate *a = left;
	const struct hist_candidate *b = right;

	if (a->action != b->action)
		return a->action < b->action ? -1 : 1;
	if (a->mean > b->mean || a->mean < b->mean)
		return a->mean > b->mean ? -1 : 1;
	if (a->host != b->host)
		return a->host < b->host ? -1 : 1;
	return (a->device > b->device) - (a->device < b->device);
}

static int plan_machines(struct plan *plan)
{
	struct hist_drain *drain = plan->drain;
	size_t kept = 0;
	int rc = NP_OK;

	for (size_t first = 0; first < plan->gains.count && rc == NP_OK;) {
		size_t end = first + 1;

		while (end < plan->gains.count &&
		       by_key(&plan->gains.item[first].key, &plan->gains.item[end].key) == 0)
			end++;
		rc = take_machine(plan, first, end);
		first = end;
	}
	for (size_t i = 0; i < drain->list.count; i++) {
		struct hist_candidate *one = &drain->list.item[i];

		one->effect = hist_effect_of(&drain->effects, one->unit, one->host, one->device);
		one->action = one->effect && one->effect->named && one->effect->share > 0
				      ? HIST_DRAIN
				      : HIST_TEST;
	}
	/* All are looked at before any is left out. */
	for (size_t i = 0; i < drain->list.count; i++)
		drain->list.item[i].runs *= !is_explained(drain, &drain->list.item[i]);
	for (size_t i = 0; i < drain->list.count; i++) {
		if (drain->list.item[i].runs > 0)
			drain->list.item[kept++] = drain->list.item[i];
	}
	drain->list.count = kept;
	if (kept > 0)
		qsort(drain->list.item, kept, sizeof(*drain->list.item), by_use);
	return rc;
}

/* --- links ----------------------------------------------------------------------------------- */

static int by_pair(const void *left, const void *right)
{
	const struct machine_pair *a = left;
	const struct machine_pair *b = right;
	int order = by_key(&a->src, &b->src);

	if (order == 0)
		order = by_key(&a->dst, &b->dst);
	return order != 0 ? order : (a->share > b->share) - (a->share < b->share);
}

static int take_pair(struct plan *plan, const struct hist_link *link)
{
	const struct hist_run *run = &plan->store->runs.item[link->run];
	const struct hist_rank *src = rank_in(plan->store, run, link->src);
	const struct hist_rank *dst = rank_in(plan->store, run, link->dst);
	struct machine_pair *pair;

	if (!src || !dst || src->host == NP_STR_NONE || dst->host == NP_STR_NONE ||
	    !isfinite(link->gb_s) || !isfinite(link->peers_gb_s) || link->peers_gb_s <= 0)
		return NP_OK;
	pair = np_vec_add(&plan->pairs, plan->err);
	if (!pair)
		return NP_E_NOMEM;
	*pair = (struct machine_pair){ { src->host, src->device },
				       { dst->host, dst->device },
				       link->gb_s / link->peers_gb_s,
				       link->slow == 1 };
	return NP_OK;
}

static int by_share(const void *left, const void *right)
{
	const struct hist_slow_link *a = left;
	const struct hist_slow_link *b = right;

	return (a->share > b->share) - (a->share < b->share);
}

static int plan_links(struct plan *plan, const struct hist_selection *selection)
{
	int rc = NP_OK;

	for (size_t i = 0; i < plan->store->links.count && rc == NP_OK; i++) {
		if (is_selected(selection, plan->store->links.item[i].run))
			rc = take_pair(plan, &plan->store->links.item[i]);
	}
	if (plan->pairs.count > 0)
		qsort(plan->pairs.item, plan->pairs.count, sizeof(*plan->pairs.item), by_pair);
	for (size_t first = 0; first < plan->pairs.count && rc == NP_OK;) {
		const struct machine_pair *pair = &plan->pairs.item[first];
		struct hist_slow_link one = {
			pair->src.host, pair->src.device, pair->dst.host, pair->dst.device, 0, 0, 0
		};
		size_t end = first;

		while (end < plan->pairs.count &&
		       by_key(&plan->pairs.item[end].src, &pair->src) == 0 &&
		       by_key(&plan->pairs.item[end].dst, &pair->dst) == 0)
			one.slow += plan->pairs.item[end++].slow;
		one.runs = end - first;
		one.share = plan->pairs.item[first + one.runs / 2].share;
		if (one.slow >= 2 && 2 * one.slow > one.runs) {
			struct hist_slow_link *slot = np_vec_add(&plan->drain->links, plan->err);

			rc = slot ? NP_OK : NP_E_NOMEM;
			if (slot)
				*slot = one;
		}
		first = end;
	}
	if (plan->drain->links.count > 0)
		qsort(plan->drain->links.item, plan->drain->links.count,
		      sizeof(*plan->drain->links.item), by_share);
	return rc;
}

int hist_drain_plan(const struct hist_store *store, const struct hist_selection *selection,
		    struct hist_drain *ret, struct np_err *err)
{
	struct hist_drain drain = { .step = NP_UNKNOWN };
	struct plan plan = { .store = store, .drain = &drain, .err = err };
	int rc = hist_effects_measure(store, selection, "own", &drain.effects, err);

	if (rc == NP_OK)
		rc = gather(&plan, selection);
	if (rc == NP_OK)
		rc = plan_machines(&plan);
	if (rc == NP_OK)
		rc = plan_links(&plan, selection);
	drain.step = store->runs.item[selection->runs.item[selection->runs.count - 1]].step;
	np_vec_release(&plan.gains);
	np_vec_release(&plan.pairs);
	np_vec_release(&plan.scratch);
	if (rc == NP_OK)
		*ret = drain;
	else
		hist_drain_release(&drain);
	return rc;
}

void hist_drain_release(struct hist_drain *drain)
{
	hist_effects_release(&drain->effects);
	np_vec_release(&drain->list);
	np_vec_release(&drain->links);
}
