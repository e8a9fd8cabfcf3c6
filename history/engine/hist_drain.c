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
	bool hidden; /* it gained with others, where alone it need not */
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
	*gain = (struct gain){ .key = key, .run = run, .share = share };
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

/* The machine that a repair of one rank or host is of; false for others, and for unknown ones. */
static bool find_machine(const struct plan *plan, const struct hist_run *run, const char *text,
			 size_t length, struct machine_key *ret)
{
	const struct hist_rank *rank;
	int64_t number;

	if (np_text_begins(text, "rank:") && np_text_to_int(text + 5, length - 5, &number)) {
		rank = rank_in(plan->store, run, number);
		if (!rank || rank->host == NP_STR_NONE || rank->device < 0)
			return false;
		*ret = (struct machine_key){ rank->host, rank->device };
		return true;
	}
	for (size_t i = run->first_rank;
	     np_text_begins(text, "host:") && i < run->first_rank + run->rank_count; i++) {
		const char *host = hist_text(plan->store, plan->store->ranks.item[i].host);

		if (host && strlen(host) == length - 5 &&
		    strncmp(host, text + 5, length - 5) == 0) {
			*ret = (struct machine_key){ plan->store->ranks.item[i].host, -1 };
			return true;
		}
	}
	return false;
}

/* The length of the first of several repairs. */
static size_t first_length(const char *repair)
{
	const char *rank = strstr(repair, HIST_AND "rank:");
	const char *host = strstr(repair, HIST_AND "host:");
	const char *end = host && (!rank || host < rank) ? host : rank;

	return end ? (size_t)(end - repair) : strlen(repair);
}

static int take_repair(struct plan *plan, const struct hist_repair *repair)
{
	const struct hist_run *run = &plan->store->runs.item[repair->run];
	const char *text = hist_text(plan->store, repair->repair);
	double share = (double)repair->saved / (double)run->step;
	bool several = text[first_length(text)] != '\0';
	int rc = NP_OK;

	if (run->step == NP_UNKNOWN || run->step <= 0 || repair->saved == NP_UNKNOWN)
		return NP_OK;
	for (size_t length; *text && rc == NP_OK; text += length + (text[length] != '\0')) {
		struct machine_key key;

		length = first_length(text);
		if (!find_machine(plan, run, text, length, &key))
			continue;
		rc = add_gain(plan, key, repair->run, several ? 0 : share);
		if (rc == NP_OK)
			plan->gains.item[plan->gains.count - 1].hidden = several;
	}
	return rc;
}

static bool is_selected(const struct hist_selection *selection, uint32_t run)
{
	for (size_t i = 0; i < selection->runs.count; i++) {
		if (selection->runs.item[i] == run)
			return true;
	}
	return false;
}

/* Where nothing was replayed what a repair gains is not known, which is not nothing. */
static bool is_replayed(const struct plan *plan, uint32_t run)
{
	for (size_t i = 0; i < plan->store->repairs.count; i++) {
		if (plan->store->repairs.item[i].run == run)
			return true;
	}
	return false;
}

static int gather(struct plan *plan, const struct hist_selection *selection)
{
	int rc = NP_OK;

	for (size_t i = 0; i < selection->runs.count && rc == NP_OK; i++) {
		if (!is_replayed(plan, selection->runs.item[i]))
			continue;
		plan->drain->replayed++;
		rc = take_part(plan, selection->runs.item[i]);
	}
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
	bool hidden = false;

	plan->scratch.count = 0;
	for (size_t i = first; i < end;) {
		uint32_t run = plan->gains.item[i].run;
		double *share = np_vec_add(&plan->scratch, plan->err);

		if (!share)
			return NP_E_NOMEM;
		for (; i < end && plan->gains.item[i].run == run; i++) {
			*share = plan->gains.item[i].share > *share ? plan->gains.item[i].share
								    : *share;
			hidden |= plan->gains.item[i].hidden;
		}
		one.mean += *share;
	}
	one.runs = plan->scratch.count;
	one.mean /= (double)one.runs;
	one.unit = one.device < 0 ? HIST_HOST : HIST_DEVICE;
	one.effect = hist_effect_of(&plan->drain->effects, one.unit, one.host, one.device);
	one.action =
		one.effect && one.effect->named && one.effect->share > 0 ? HIST_DRAIN : HIST_TEST;
	/* Two that are slow alike hide each other: alone neither gains. */
	if (one.mean < LEAST_GAIN && !(hidden && one.action == HIST_DRAIN))
		return NP_OK;
	hist_sort(plan->scratch.item, one.runs);
	one.low = hist_quantile(plan->scratch.item, one.runs, 0.1);
	one.high = hist_quantile(plan->scratch.item, one.runs, 0.9);
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

/* --- several together ------------------------------------------------------------------------ */

/* The repairs of a run that stand for the machines to be drained. */
struct stand_ins {
	NP_VEC(char *) list;
};

static void release_stand_ins(struct stand_ins *found)
{
	for (size_t i = 0; i < found->list.count; i++)
		free(found->list.item[i]);
	np_vec_release(&found->list);
}

/* As what a machine took part in a run; nothing where it did not. */
static int find_stand_in(const struct plan *plan, const struct hist_run *run,
			 const struct hist_candidate *one, struct stand_ins *ret)
{
	for (size_t i = run->first_rank; i < run->first_rank + run->rank_count; i++) {
		const struct hist_rank *rank = &plan->store->ranks.item[i];
		char **slot;
		int length;

		if (rank->host != one->host ||
		    (one->unit == HIST_DEVICE && rank->device != one->device))
			continue;
		slot = np_vec_add(&ret->list, plan->err);
		if (!slot)
			return NP_E_NOMEM;
		length = one->unit == HIST_DEVICE
				 ? asprintf(slot, "rank:%lld", (long long)rank->rank)
				 : asprintf(slot, "host:%s", hist_text(plan->store, one->host));
		if (length >= 0)
			return NP_OK;
		*slot = NULL;
		return np_fail_nomem(plan->err, "machines");
	}
	return NP_OK;
}

static bool is_among(const struct stand_ins *found, const char *text, size_t length)
{
	for (size_t i = 0; i < found->list.count; i++) {
		if (strlen(found->list.item[i]) == length &&
		    strncmp(found->list.item[i], text, length) == 0)
			return true;
	}
	return false;
}

/* How many repairs were made at once; 0 where one of them is of none of these. */
static size_t count_made(const struct stand_ins *found, const char *repair)
{
	size_t count = 0;

	for (size_t length; *repair; repair += length + (repair[length] != '\0')) {
		length = first_length(repair);
		if (!is_among(found, repair, length))
			return 0;
		count++;
	}
	return count;
}

/* The most that repairs of these alone have gained in a run; whether it is what all have. */
static double gain_of(const struct plan *plan, uint32_t index, const struct stand_ins *found,
		      bool *ret_exact)
{
	const struct hist_run *run = &plan->store->runs.item[index];
	size_t gaining = 0;
	size_t largest = 0;
	np_ns saved = 0;

	for (size_t i = 0; i < plan->store->repairs.count; i++) {
		const struct hist_repair *repair = &plan->store->repairs.item[i];
		size_t made;

		if (repair->run != index || repair->saved == NP_UNKNOWN)
			continue;
		made = count_made(found, hist_text(plan->store, repair->repair));
		gaining += made == 1 && (double)repair->saved >= LEAST_GAIN * (double)run->step;
		largest = made > largest ? made : largest;
		if (made > 0 && repair->saved > saved)
			saved = repair->saved;
	}
	*ret_exact = largest >= gaining;
	return (double)saved / (double)run->step;
}

static int take_run_together(struct plan *plan, uint32_t index, size_t most)
{
	const struct hist_run *run = &plan->store->runs.item[index];
	struct hist_together *together = &plan->drain->together;
	struct stand_ins found = { 0 };
	double *share;
	bool exact;
	int rc = NP_OK;

	if (run->step == NP_UNKNOWN || run->step <= 0)
		return NP_OK;
	for (size_t i = 0; i < plan->drain->list.count && i < most && rc == NP_OK; i++) {
		if (plan->drain->list.item[i].action == HIST_DRAIN)
			rc = find_stand_in(plan, run, &plan->drain->list.item[i], &found);
	}
	if (rc == NP_OK && found.list.count > 0) {
		share = np_vec_add(&plan->scratch, plan->err);
		rc = share ? NP_OK : NP_E_NOMEM;
		if (share) {
			*share = gain_of(plan, index, &found, &exact);
			together->mean += *share;
			together->exact += exact;
		}
	}
	release_stand_ins(&found);
	return rc;
}

static int plan_together(struct plan *plan, const struct hist_selection *selection, size_t most)
{
	struct hist_together *together = &plan->drain->together;
	size_t machines = 0;
	int rc = NP_OK;

	for (size_t i = 0; i < plan->drain->list.count && i < most; i++)
		machines += plan->drain->list.item[i].action == HIST_DRAIN;
	if (machines < 2)
		return NP_OK;
	plan->scratch.count = 0;
	for (size_t i = 0; i < selection->runs.count && rc == NP_OK; i++)
		rc = take_run_together(plan, selection->runs.item[i], most);
	if (rc < 0 || plan->scratch.count == 0)
		return rc;
	together->machines = machines;
	together->runs = plan->scratch.count;
	together->mean /= (double)together->runs;
	hist_sort(plan->scratch.item, together->runs);
	together->low = hist_quantile(plan->scratch.item, together->runs, 0.1);
	together->high = hist_quantile(plan->scratch.item, together->runs, 0.9);
	return NP_OK;
}

int hist_drain_plan(const struct hist_store *store, const struct hist_selection *selection,
		    size_t most, struct hist_drain *ret, struct np_err *err)
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
	if (rc == NP_OK)
		rc = plan_together(&plan, selection, most);
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
