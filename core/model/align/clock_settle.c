/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Clocks that contradict nothing
 * ------------------------------
 *
 * Ends of collectives differ with the algorithm and with a rank's place in it, so
 * clocks found from them may be wrong by as much. Three kinds of clocks are tried:
 * those found from ends, those of the hosts (found from the ends of all of their
 * ranks), and those recorded. Ends that agree no better on the clocks found than on
 * the recorded ones, which contradict nothing, are no reason to leave these. Where
 * the clocks found contradict the order of what happened, the kind is taken that needs
 * the smallest correction, of single ranks or of hosts. What is small is weighed by
 * evidence: a correction costs what it moves ranks apart whose ends say that they
 * belong together, or that share a host.
 */
#include "clock_settle.h"

#include "npuprof/align.h"

#include <math.h>

/* Corrections may break bounds that held before; so often they are made anew. */
#define ROUNDS 24

/* --- contradictions --------------------------------------------------------------------------- */

/* What it takes to make clocks of a kind contradict nothing. */
struct cost {
	double total;  /* of all corrections, and of what is left broken */
	np_ns largest; /* correction */
};

static struct clock_bound *find(struct clock_bounds *bounds, const struct clock_bound *like)
{
	size_t low = 0;
	size_t high = bounds->list.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		struct clock_bound *at = &bounds->list.item[middle];

		if (at->before == like->before && at->after == like->after)
			return at;
		if (at->before < like->before ||
		    (at->before == like->before && at->after < like->after))
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

/* Take in what is broken now between units: by rooms before any further correction. */
static int take_in(const struct clock_settling *work, const struct clock_bounds *broken,
		   struct clock_bounds *all, bool *ret_new, struct np_err *err)
{
	size_t known = all->list.count;

	*ret_new = false;
	for (size_t i = 0; i < broken->list.count; i++) {
		struct clock_bound bound = broken->list.item[i];
		struct clock_bounds before = { .list = { all->list.item, known, known } };
		struct clock_bound *old;

		bound.before = work->unit[bound.before];
		bound.after = work->unit[bound.after];
		old = known > 0 ? find(&before, &bound) : NULL;
		if (bound.before == bound.after ||
		    (old && (old->dropped || -bound.room <= old->given)))
			continue;
		bound.room += work->further[bound.after] - work->further[bound.before];
		*ret_new = true;
		if (!old) {
			old = np_vec_add(&all->list, err);
			if (!old)
				return NP_E_NOMEM;
			*old = bound;
			continue;
		}
		old->room = bound.room < old->room ? bound.room : old->room;
		old->support = bound.support > old->support ? bound.support : old->support;
	}
	if (all->list.count > known)
		clock_merge_bounds(all);
	return NP_OK;
}

static void move_maps(const struct clock_settling *work, enum clock_kind kind)
{
	memcpy(work->tried, work->maps[kind], work->ranks * sizeof(*work->tried));
	for (size_t i = 0; i < work->ranks; i++)
		work->tried[i].offset += work->moved[i] + work->further[work->unit[i]];
	settle_use(work, work->tried);
}

/* What corrections take values of the scratch apart. */
static double spread(const struct clock_settling *work, size_t count)
{
	double sum = 0;
	np_ns median = settle_middle(work, count);

	for (size_t i = 0; i < count; i++)
		sum += fabs((double)(work->scratch[i] - median));
	return sum;
}

/* By how much ranks are taken apart that reduce together, times how often they do. */
static double torn_communicators(const struct clock_settling *work)
{
	const struct np_align *align = work->align;
	double sum = 0;

	for (size_t i = 0; i < align->communicators.count; i++) {
		const struct np_align_communicator *own = &align->communicators.item[i];
		size_t samples = work->samples->communicator_first[i + 1] -
				 work->samples->communicator_first[i];

		for (uint32_t j = 0; j < own->observed && samples > 0; j++)
			work->scratch[j] =
				work->moved[align->coverage.item[own->coverage + j].rank];
		if (samples > 0)
			sum += spread(work, own->observed) * (double)samples;
	}
	return sum;
}

/* Likewise of the ranks of hosts, as if they reduced together as often as they do at all. */
static double torn_hosts(const struct clock_settling *work)
{
	double sum = 0;

	for (size_t i = 0; i < work->clock->hosts.count; i++) {
		const struct np_clock_host *host = &work->clock->hosts.item[i];
		double ends = 0;

		for (uint32_t j = 0; j < host->ranks; j++) {
			uint32_t rank = work->clock->host_ranks[host->first + j];

			ends += work->ends[rank];
			work->scratch[j] = work->moved[rank];
		}
		sum += host->ranks > 0 ? spread(work, host->ranks) * (1 + ends / host->ranks) : 0;
	}
	return sum;
}

static struct cost cost_of(const struct clock_settling *work, const struct clock_bounds *broken)
{
	struct cost cost = { .total = torn_communicators(work) + torn_hosts(work) };

	for (size_t i = 0; i < work->ranks; i++) {
		np_ns own = work->moved[i] < 0 ? -work->moved[i] : work->moved[i];

		cost.total += (double)own;
		cost.largest = own > cost.largest ? own : cost.largest;
	}
	for (size_t i = 0; i < broken->list.count; i++)
		cost.total -= (double)broken->list.item[i].room * broken->list.item[i].support;
	return cost;
}

/* Move units until nothing is broken between them; what is broken then. */
static int correct_units(struct clock_settling *work, enum clock_kind kind,
			 struct clock_bounds *broken, struct np_err *err)
{
	struct clock_pass pass = settle_pass(work);
	struct clock_bounds all = { 0 };
	struct clock_correction correction = { .ranks = work->ranks,
					       .weight = work->ends,
					       .moved = work->further };
	int rc = NP_OK;

	memset(work->further, 0, work->ranks * sizeof(*work->further));
	for (int i = 0; i < ROUNDS && rc == NP_OK; i++) {
		bool more = false;

		rc = take_in(work, broken, &all, &more, err);
		if (rc < 0 || !more)
			break;
		rc = clock_correct(&all, &correction, err);
		if (rc < 0)
			break;
		move_maps(work, kind);
		rc = clock_broken_bounds(&pass, broken, err);
	}
	for (size_t i = 0; i < work->ranks; i++)
		work->moved[i] += work->further[work->unit[i]];
	np_vec_release(&all.list);
	return rc;
}

/* The first rank of its host and component stands for a rank. */
static void set_units(const struct clock_settling *work, bool hosts)
{
	for (uint32_t i = 0; i < work->ranks; i++)
		work->unit[i] = i;
	for (size_t i = 0; hosts && i < work->clock->hosts.count; i++) {
		const struct np_clock_host *host = &work->clock->hosts.item[i];
		const uint32_t *ranks = &work->clock->host_ranks[host->first];

		for (uint32_t j = 0; j < host->ranks; j++) {
			uint32_t before = settle_before(work, host, j);

			if (before < j)
				work->unit[ranks[j]] = work->unit[ranks[before]];
		}
	}
}

/* Correct the clocks of a kind, of hosts first or of ranks alone, into work->tried. */
static int try_kind(struct clock_settling *work, enum clock_kind kind, bool hosts, struct cost *ret,
		    struct np_err *err)
{
	struct clock_pass pass = settle_pass(work);
	struct clock_bounds broken = { 0 };
	int rc;

	memset(work->moved, 0, work->ranks * sizeof(*work->moved));
	memset(work->further, 0, work->ranks * sizeof(*work->further));
	set_units(work, hosts);
	move_maps(work, kind);
	rc = clock_broken_bounds(&pass, &broken, err);
	if (rc == NP_OK)
		rc = correct_units(work, kind, &broken, err);
	if (rc == NP_OK && hosts) {
		set_units(work, false);
		rc = correct_units(work, kind, &broken, err);
	}
	*ret = cost_of(work, &broken);
	np_vec_release(&broken.list);
	return rc;
}

/* Clocks found from ends are kept if little is wrong with them, else what costs least. */
static int correct(struct clock_settling *work, struct np_err *err)
{
	struct cost least = { .total = (double)INFINITY };
	int rc = NP_OK;

	for (int i = 0; i < 2 * SETTLE_KINDS && rc == NP_OK; i++) {
		bool hosts = i % 2 == 1;
		struct cost cost;

		if (!hosts || work->clock->hosts.count > 1) {
			rc = try_kind(work, (enum clock_kind)(i / 2), hosts, &cost, err);
			if (rc == NP_OK && cost.total <= least.total) {
				least = cost;
				memcpy(work->best, work->tried, work->ranks * sizeof(*work->best));
			}
		}
		if (i < 2 && least.largest <= SETTLE_SAME_NS)
			break;
	}
	return rc;
}

/* --- everything ------------------------------------------------------------------------------- */

static bool allocate(struct clock_settling *work)
{
	size_t ranks = work->ranks + 1;
	bool done = true;

	for (int i = 0; i < SETTLE_KINDS; i++) {
		work->maps[i] = calloc(ranks, sizeof(*work->maps[i]));
		done &= work->maps[i] != NULL;
	}
	work->best = calloc(ranks, sizeof(*work->best));
	work->tried = calloc(ranks, sizeof(*work->tried));
	work->distance[0] = calloc(ranks, sizeof(*work->distance[0]));
	work->distance[1] = calloc(ranks, sizeof(*work->distance[1]));
	work->ends = calloc(ranks, sizeof(*work->ends));
	work->scratch = calloc(ranks, sizeof(*work->scratch));
	work->moved = calloc(ranks, sizeof(*work->moved));
	work->further = calloc(ranks, sizeof(*work->further));
	work->unit = calloc(ranks, sizeof(*work->unit));
	work->first = calloc(ranks + 1, sizeof(*work->first));
	work->members = calloc(ranks, sizeof(*work->members));
	work->flag = calloc(ranks, sizeof(*work->flag));
	return done && work->best && work->tried && work->distance[0] && work->distance[1] &&
	       work->ends && work->scratch && work->moved && work->further && work->unit &&
	       work->first && work->members && work->flag;
}

static void release(struct clock_settling *work)
{
	for (int i = 0; i < SETTLE_KINDS; i++)
		free(work->maps[i]);
	free(work->best);
	free(work->tried);
	free(work->distance[0]);
	free(work->distance[1]);
	free(work->ends);
	free(work->scratch);
	free(work->moved);
	free(work->further);
	free(work->unit);
	free(work->first);
	free(work->members);
	free(work->flag);
}

static bool has_several(const struct np_clock *clock)
{
	size_t found = 0;

	for (size_t i = 0; i < clock->rank_count; i++)
		found += clock->ranks[i].component == i;
	return found > 1;
}

static bool is_recorded(const struct clock_settling *work)
{
	for (size_t i = 0; i < work->ranks; i++) {
		if (work->best[i].offset != 0 || work->best[i].drift != 0)
			return false;
	}
	return true;
}

static int settle(struct clock_settling *work, struct np_err *err)
{
	struct clock_pass pass = settle_pass(work);
	struct clock_breaches breaches;
	int rc = NP_OK;

	if (has_several(work->clock))
		rc = settle_relate(work, err);
	if (rc < 0)
		return rc;
	settle_set_kinds(work);
	rc = settle_leave_idle(work, err);
	if (rc == NP_OK)
		rc = clock_count_breaches(&pass, &breaches, err);
	if (rc < 0)
		return rc;
	memcpy(work->best, work->maps[SETTLE_FITTED], work->ranks * sizeof(*work->best));
	if (breaches.count > 0)
		rc = correct(work, err);
	settle_anchor(work, work->best);
	settle_use(work, work->best);
	work->clock->recorded = is_recorded(work);
	if (rc == NP_OK && breaches.count > 0)
		rc = clock_count_breaches(&pass, &breaches, err);
	work->clock->violations = breaches.count;
	work->clock->violation_max = breaches.worst;
	return rc;
}

int clock_settle(const struct np_align *align, struct clock_samples *samples, size_t threads,
		 struct np_clock *clock, struct np_err *err)
{
	struct clock_settling work = { .align = align,
				       .samples = samples,
				       .clock = clock,
				       .threads = threads,
				       .ranks = clock->rank_count };
	int rc;

	for (size_t i = 0; i < clock->rank_count; i++)
		clock->ranks[i].core = clock->ranks[i].component;
	rc = allocate(&work) ? settle(&work, err) : np_fail_nomem(err, "clocks");
	release(&work);
	return rc;
}
