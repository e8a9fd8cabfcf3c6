/* SPDX-License-Identifier: Apache-2.0 */
/* The clocks of a run: from the manifest or from collectives, and how far they are off. */
#include "npuprof/clock.h"

#include "clock_fit.h"
#include "clock_order.h"

#include "npuprof/align.h"
#include "npuprof/map.h"
#include "npuprof/rank.h"
#include "npuprof/run.h"

/* Signed distances of ends from the times of their instances, by rank. */
struct residuals {
	struct np_clock *clock;
	struct clock_samples *samples;
	np_ns *value;
	size_t *first;   /* of each rank: those of a host lie beside each other */
	uint32_t *count; /* by rank */
	size_t total;
};

static void release_residuals(struct residuals *residuals)
{
	free(residuals->value);
	free(residuals->first);
	free(residuals->count);
}

/* --- the list --------------------------------------------------------------------------------- */

static void time_on_clock(const struct residuals *residuals, struct clock_instance *instance,
			  np_ns *scratch)
{
	const struct clock_samples *samples = residuals->samples;
	size_t count = 0;
	uint32_t first = samples->rank.item[instance->first];

	instance->known = true;
	for (uint32_t i = 0; i < instance->count; i++) {
		uint32_t rank = samples->rank.item[instance->first + i];

		instance->known &= np_clock_related(residuals->clock, first, rank);
		scratch[count++] = np_clock_time(residuals->clock, rank,
						 samples->end.item[instance->first + i]);
	}
	instance->time = clock_quantile(scratch, count, 0.5);
	if (count == 2)
		instance->time = scratch[0] + (scratch[1] - scratch[0]) / 2;
}

static void time_part(void *context, size_t part)
{
	const struct residuals *residuals = context;
	struct clock_samples *samples = residuals->samples;
	struct clock_range range = clock_part(samples, samples->instances.count, part);

	for (size_t i = range.from; i < range.to; i++)
		time_on_clock(residuals, &samples->instances.item[i], clock_scratch(samples, part));
}

static void count_part(void *context, size_t part)
{
	const struct residuals *residuals = context;
	const struct clock_samples *samples = residuals->samples;
	struct clock_range ranks = clock_part(samples, samples->ranks, part);

	for (size_t i = 0; i < samples->instances.count; i++) {
		const struct clock_instance *instance = &samples->instances.item[i];
		struct clock_range ends;

		if (!instance->known)
			continue;
		ends = clock_ends_of(samples, instance, ranks);
		for (size_t j = ends.from; j < ends.to; j++)
			residuals->count[samples->rank.item[j]]++;
	}
}

static void list_part(void *context, size_t part)
{
	const struct residuals *residuals = context;
	const struct clock_samples *samples = residuals->samples;
	struct clock_range ranks = clock_part(samples, samples->ranks, part);

	for (size_t i = 0; i < samples->instances.count; i++) {
		const struct clock_instance *instance = &samples->instances.item[i];
		struct clock_range ends;

		if (!instance->known)
			continue;
		ends = clock_ends_of(samples, instance, ranks);
		for (size_t j = ends.from; j < ends.to; j++) {
			uint32_t rank = samples->rank.item[j];

			residuals->value[residuals->first[rank]++] =
				np_clock_time(residuals->clock, rank, samples->end.item[j]) -
				instance->time;
		}
	}
}

static void place_rank(struct residuals *residuals, size_t rank)
{
	residuals->first[rank] = residuals->total;
	residuals->total += residuals->count[rank];
}

/* Host by host, then those whose host is not known. */
static void place_ranks(struct residuals *residuals)
{
	const struct np_clock *clock = residuals->clock;

	for (size_t i = 0; i < clock->hosts.count; i++) {
		const struct np_clock_host *host = &clock->hosts.item[i];

		for (uint32_t j = 0; j < host->ranks; j++)
			place_rank(residuals, clock->host_ranks[host->first + j]);
	}
	for (size_t i = 0; i < clock->rank_count; i++) {
		if (clock->ranks[i].host == UINT32_MAX)
			place_rank(residuals, i);
	}
}

static void list_residuals(struct residuals *residuals)
{
	const struct clock_samples *samples = residuals->samples;

	np_workers_run(&samples->workers, samples->parts, time_part, residuals);
	np_workers_run(&samples->workers, samples->parts, count_part, residuals);
	place_ranks(residuals);
	np_workers_run(&samples->workers, samples->parts, list_part, residuals);
	for (size_t i = 0; i < samples->ranks; i++)
		residuals->first[i] -= residuals->count[i];
}

/* --- what they are ---------------------------------------------------------------------------- */

static void set_quantiles(np_ns *values, size_t count, np_ns *p50, np_ns *p90)
{
	*p50 = count ? clock_quantile(values, count, 0.5) : NP_UNKNOWN;
	*p90 = count ? clock_quantile(values, count, 0.9) : NP_UNKNOWN;
}

/* A clock by hosts leaves each rank's own offset in its residuals: their middle is it. */
static void measure_rank(void *context, size_t index)
{
	const struct residuals *residuals = context;
	struct np_clock *clock = residuals->clock;
	struct np_clock_rank *rank = &clock->ranks[index];
	np_ns *value = &residuals->value[residuals->first[index]];
	size_t count = residuals->count[index];

	rank->samples = (uint32_t)count;
	rank->deviation = count && clock->method != NP_CLOCK_COLLECTIVES
				  ? clock_quantile(value, count, 0.5)
				  : NP_UNKNOWN;
	for (size_t i = 0; i < count; i++)
		value[i] = value[i] < 0 ? -value[i] : value[i];
	set_quantiles(value, count, &rank->residual_p50, &rank->residual_p90);
}

/* Those of its ranks lie beside each other. */
static void measure_host(void *context, size_t index)
{
	const struct residuals *residuals = context;
	struct np_clock_host *host = &residuals->clock->hosts.item[index];
	const uint32_t *ranks = &residuals->clock->host_ranks[host->first];
	size_t count = 0;

	for (uint32_t i = 0; i < host->ranks; i++)
		count += residuals->count[ranks[i]];
	set_quantiles(&residuals->value[residuals->first[ranks[0]]], count, &host->residual_p50,
		      &host->residual_p90);
}

/* How far ends lie from those of their instances: of ranks, hosts and all. */
static int clock_measure_residuals(struct np_clock *clock, struct clock_samples *samples,
				   struct np_err *err)
{
	size_t ranks = clock->rank_count;
	struct residuals residuals = { .clock = clock, .samples = samples };
	int rc = NP_OK;

	residuals.first = calloc(ranks + 1, sizeof(*residuals.first));
	residuals.count = calloc(ranks + 1, sizeof(*residuals.count));
	residuals.value = malloc((samples->end.count + 1) * sizeof(*residuals.value));
	if (residuals.first && residuals.count && residuals.value) {
		list_residuals(&residuals);
		/* Each puts those before it into another order, and takes them all the same. */
		np_workers_run(&samples->workers, ranks, measure_rank, &residuals);
		np_workers_run(&samples->workers, clock->hosts.count, measure_host, &residuals);
		set_quantiles(residuals.value, residuals.total, &clock->residual_p50,
			      &clock->residual_p90);
	} else {
		rc = np_fail_nomem(err, "clocks");
	}
	release_residuals(&residuals);
	return rc;
}

/* A rank is off its host by more than chance from 50 µs on, and from ten times the usual residual.
 */
#define OFF_NS       50000
#define OFF_RESIDUAL 10

void np_clock_free(struct np_clock *clock)
{
	if (!clock)
		return;
	np_vec_release(&clock->hosts);
	free(clock->host_ranks);
	free(clock->ranks);
	free(clock->knots);
	free(clock);
}

void np_clock_freep(struct np_clock **clock)
{
	np_clock_free(*clock);
	*clock = NULL;
}

const char *np_clock_method_name(enum np_clock_method method)
{
	static const char *const names[] = {
		[NP_CLOCK_NONE] = "none",
		[NP_CLOCK_MANIFEST] = "manifest",
		[NP_CLOCK_COLLECTIVES] = "collectives",
	};

	return names[method];
}

np_ns np_clock_offset_between(const struct np_clock_rank *rank, np_ns local)
{
	const struct np_clock_knot *knot = rank->knots;
	const struct np_clock_knot *last = &knot[rank->knot_count - 1];
	double drifted;
	double span;

	if (local <= knot->local)
		last = knot;
	if (local <= knot->local || local >= last->local) {
		drifted = rank->drift * (double)(local - last->local);
		return last->offset + (np_ns)(drifted < 0 ? drifted - 0.5 : drifted + 0.5);
	}
	while (knot[1].local <= local)
		knot++;
	span = (double)(knot[1].local - knot->local);
	drifted = (double)(knot[1].offset - knot->offset) * ((double)(local - knot->local) / span);
	return knot->offset + (np_ns)(drifted < 0 ? drifted - 0.5 : drifted + 0.5);
}

/* Find the value at `share` of the order by partitioning: sorting all of them is not needed. */
np_ns clock_quantile(np_ns *values, size_t count, double share)
{
	size_t want = (size_t)(share * (double)(count - 1));
	size_t low = 0;
	size_t high = count - 1;

	while (low < high) {
		np_ns pivot = values[low + (high - low) / 2];
		size_t i = low;
		size_t j = high;

		for (;;) {
			while (values[i] < pivot)
				i++;
			while (values[j] > pivot)
				j--;
			if (i >= j)
				break;
			np_ns swapped = values[i];

			values[i++] = values[j];
			values[j--] = swapped;
		}
		/* Everything up to j is at most the pivot, everything behind it at least. */
		if (want <= j)
			high = j;
		else
			low = j + 1;
	}
	return values[want];
}

/* --- hosts ------------------------------------------------------------------------------------ */

static int add_host(struct np_clock *clock, const struct np_rank *rank, struct np_numbers *known,
		    uint32_t *ret, struct np_err *err)
{
	struct np_clock_host *host = np_vec_add(&clock->hosts, err);

	if (!host)
		return NP_E_NOMEM;
	host->uid = rank->host_uid;
	host->name = rank->host_name;
	*ret = (uint32_t)(clock->hosts.count - 1);
	return np_numbers_add(known, rank->host_uid, *ret, err);
}

/* The ranks of each, beside each other. */
static int list_hosts(struct np_clock *clock, struct np_err *err)
{
	uint32_t before = 0;

	clock->host_ranks = malloc((clock->rank_count + 1) * sizeof(*clock->host_ranks));
	if (!clock->host_ranks)
		return np_fail_nomem(err, "clocks");
	for (size_t i = 0; i < clock->hosts.count; i++) {
		clock->hosts.item[i].first = before;
		before += clock->hosts.item[i].ranks;
		clock->hosts.item[i].ranks = 0;
	}
	for (uint32_t i = 0; i < clock->rank_count; i++) {
		struct np_clock_host *host;

		if (clock->ranks[i].host == UINT32_MAX)
			continue;
		host = &clock->hosts.item[clock->ranks[i].host];
		clock->host_ranks[host->first + host->ranks++] = i;
	}
	return NP_OK;
}

static int find_hosts(const struct np_run *run, struct np_clock *clock, struct np_err *err)
{
	struct np_numbers known = { 0 }; /* hosts, by their names' numbers */
	int rc = NP_OK;

	for (size_t i = 0; i < clock->rank_count && rc == NP_OK; i++) {
		const struct np_rank *rank = run->ranks[i];
		uint32_t found;

		clock->ranks[i].host = UINT32_MAX;
		if (!rank || rank->host_uid == NP_STR_NONE)
			continue;
		found = np_numbers_get(&known, rank->host_uid);
		if (found == NP_MAP_NONE)
			rc = add_host(clock, rank, &known, &found, err);
		if (rc < 0)
			break;
		clock->hosts.item[found].ranks++;
		clock->ranks[i].host = found;
	}
	np_numbers_release(&known);
	return rc == NP_OK ? list_hosts(clock, err) : rc;
}

/* --- ranks of a host -------------------------------------------------------------------------- */

/* Of the ranks of a host, on its own clock. */
static np_ns middle_of_capture(const struct np_run *run, const struct np_clock *clock,
			       uint32_t host)
{
	const struct np_clock_host *own = &clock->hosts.item[host];
	np_ns first = NP_NS_MAX;
	np_ns last = -NP_NS_MAX;

	for (uint32_t i = 0; i < own->ranks; i++) {
		const struct np_rank *rank = run->ranks[clock->host_ranks[own->first + i]];

		if (!rank || rank->ops.count == 0)
			continue;
		first = rank->ops.item[0].start < first ? rank->ops.item[0].start : first;
		last = rank->ops.item[rank->ops.count - 1].end > last
			       ? rank->ops.item[rank->ops.count - 1].end
			       : last;
	}
	return first <= last ? first + (last - first) / 2 : 0;
}

/* Offsets of a host's ranks, all at one local time: they share the host's clock. */
static void compare_ranks(struct np_clock *clock, uint32_t index, np_ns at, np_ns *scratch)
{
	struct np_clock_host *host = &clock->hosts.item[index];
	const struct np_clock_rank *first = NULL;
	np_ns limit = OFF_NS;
	size_t count = 0;

	if (clock->residual_p50 != NP_UNKNOWN && clock->residual_p50 > limit / OFF_RESIDUAL)
		limit = clock->residual_p50 * OFF_RESIDUAL;
	for (uint32_t i = 0; i < host->ranks; i++) {
		const struct np_clock_rank *rank =
			&clock->ranks[clock->host_ranks[host->first + i]];

		if (first && rank->component != first->component)
			continue;
		first = first ? first : rank;
		scratch[count++] = np_clock_offset(rank, at);
	}
	if (!first)
		return;
	host->offset = clock_quantile(scratch, count, 0.5);
	host->drift = first->drift;
	for (uint32_t i = 0; i < host->ranks; i++) {
		struct np_clock_rank *rank = &clock->ranks[clock->host_ranks[host->first + i]];

		if (rank->component != first->component || count < 2)
			continue;
		if (clock->method == NP_CLOCK_COLLECTIVES && rank->samples > 0)
			rank->deviation = np_clock_offset(rank, at) - host->offset;
		rank->off = rank->deviation != NP_UNKNOWN &&
			    (rank->deviation > limit || rank->deviation < -limit);
		host->ranks_off += rank->off;
	}
}

/* A component is called by its first rank. */
static void count_components(struct np_clock *clock)
{
	for (size_t i = 0; i < clock->rank_count; i++)
		clock->components += clock->ranks[i].component == i;
}

static uint32_t first_loaded(const struct np_run *run)
{
	uint32_t first = 0;

	while (first < run->sources.count && !run->ranks[first])
		first++;
	return first;
}

/* --- the manifest ----------------------------------------------------------------------------- */

/* The host of each rank of the run, as the manifest numbers them; NP_MAP_NONE for none. */
static int find_manifest_hosts(const struct np_run *run, const struct np_manifest *manifest,
			       uint32_t *ret, struct np_err *err)
{
	struct np_numbers known = { 0 };
	int rc = NP_OK;

	for (size_t i = 0; i < manifest->ranks.count && rc == NP_OK; i++) {
		uint64_t rank = (uint64_t)manifest->ranks.item[i].rank;

		if (np_numbers_get(&known, rank) == NP_MAP_NONE)
			rc = np_numbers_add(&known, rank, manifest->ranks.item[i].host, err);
	}
	for (size_t i = 0; i < run->sources.count && rc == NP_OK; i++)
		ret[i] = run->ranks[i] ? np_numbers_get(&known, (uint64_t)run->ranks[i]->id)
				       : NP_MAP_NONE;
	np_numbers_release(&known);
	return rc;
}

/* It is of use only if it tells the clock of every rank: half of it would split the run. */
static bool manifest_tells(const struct np_run *run, const struct np_manifest *manifest,
			   const uint32_t *hosts)
{
	for (size_t i = 0; i < run->sources.count; i++) {
		if (run->ranks[i] &&
		    (hosts[i] == NP_MAP_NONE || manifest->hosts.item[hosts[i]].knot_count == 0))
			return false;
	}
	return true;
}

static double drift_of(const struct np_manifest_host *host)
{
	const struct np_clock_knot *last = &host->knots[host->knot_count - 1];

	if (last->local == host->knots->local)
		return host->drift;
	return (double)(last->offset - host->knots->offset) /
	       (double)(last->local - host->knots->local);
}

/* The knots of all hosts, and where those of each begin. */
static void take_knots(const struct np_manifest *manifest, struct np_clock *clock,
		       size_t *ret_first)
{
	size_t used = 0;

	for (size_t i = 0; i < manifest->hosts.count; i++) {
		const struct np_manifest_host *host = &manifest->hosts.item[i];

		ret_first[i] = used;
		if (host->knot_count == 0)
			continue;
		memcpy(&clock->knots[used], host->knots, host->knot_count * sizeof(*host->knots));
		if (host->uncertainty > clock->uncertainty)
			clock->uncertainty = host->uncertainty;
		used += host->knot_count;
	}
}

static int use_manifest(const struct np_run *run, const struct np_manifest *manifest,
			const uint32_t *hosts, struct np_clock *clock, struct np_err *err)
{
	uint32_t root = first_loaded(run);
	size_t *first = calloc(manifest->hosts.count + 1, sizeof(*first));
	size_t total = 0;

	for (size_t i = 0; i < manifest->hosts.count; i++)
		total += manifest->hosts.item[i].knot_count;
	free(clock->knots);
	clock->knots = calloc(total + 1, sizeof(*clock->knots));
	if (!clock->knots || !first) {
		free(first);
		return np_fail_nomem(err, "clocks");
	}
	clock->method = NP_CLOCK_MANIFEST;
	take_knots(manifest, clock, first);
	for (size_t i = 0; i < clock->rank_count; i++) {
		struct np_clock_rank *rank = &clock->ranks[i];

		/* Ranks that could not be loaded have the last one, which is nothing. */
		rank->knots = &clock->knots[total];
		rank->knot_count = 1;
		if (hosts[i] == NP_MAP_NONE)
			continue;
		rank->knots = &clock->knots[first[hosts[i]]];
		rank->knot_count = manifest->hosts.item[hosts[i]].knot_count;
		rank->drift = drift_of(&manifest->hosts.item[hosts[i]]);
		rank->component = root;
	}
	free(first);
	return NP_OK;
}

/* Take the clocks from the manifest if it has them all. */
static int try_manifest(const struct np_run *run, const struct np_manifest *manifest,
			struct np_clock *clock, struct np_err *err)
{
	uint32_t *hosts = malloc((run->sources.count + 1) * sizeof(*hosts));
	int rc = hosts ? find_manifest_hosts(run, manifest, hosts, err)
		       : np_fail_nomem(err, "clocks");

	if (rc == NP_OK && manifest_tells(run, manifest, hosts))
		rc = use_manifest(run, manifest, hosts, clock, err);
	free(hosts);
	return rc;
}

/* --- everything ------------------------------------------------------------------------------- */

static struct np_clock *new_clock(const struct np_run *run, struct np_err *err)
{
	struct np_clock *clock = calloc(1, sizeof(*clock));

	if (clock) {
		clock->rank_count = run->sources.count;
		clock->ranks = calloc(clock->rank_count + 1, sizeof(*clock->ranks));
		clock->knots = calloc(clock->rank_count + 1, sizeof(*clock->knots));
	}
	if (!clock || !clock->ranks || !clock->knots || find_hosts(run, clock, err) < 0) {
		np_clock_free(clock);
		(void)np_fail_nomem(err, "clocks");
		return NULL;
	}
	for (size_t i = 0; i < clock->rank_count; i++) {
		clock->ranks[i].knots = &clock->knots[i];
		clock->ranks[i].knot_count = 1;
		clock->ranks[i].component = NP_CLOCK_ALONE;
		clock->ranks[i].deviation = NP_UNKNOWN;
	}
	return clock;
}

static int report(const struct np_align *align, struct clock_samples *samples,
		  struct np_clock *clock, struct np_err *err)
{
	int rc = clock_measure_residuals(clock, samples, err);

	for (uint32_t i = 0; i < clock->hosts.count && rc == NP_OK; i++)
		compare_ranks(clock, i, middle_of_capture(align->run, clock, i), samples->scratch);
	count_components(clock);
	return rc;
}

static void relate_all(const struct np_align *align, struct np_clock *clock)
{
	uint32_t first = first_loaded(align->run);

	for (size_t i = 0; i < clock->rank_count; i++)
		clock->ranks[i].component = align->run->ranks[i] ? first : NP_CLOCK_ALONE;
}

/* Without collectives there are messages: each rank is alone until they relate it. */
static int relate_by_messages(const struct np_align *align, struct clock_samples *samples,
			      size_t threads, struct np_clock *clock, struct np_err *err)
{
	const struct np_run *run = align->run;
	bool related = false;
	int rc;

	for (uint32_t i = 0; i < clock->rank_count; i++) {
		const struct np_rank *rank = run->ranks[i];

		if (!rank || rank->ops.count == 0)
			continue;
		clock->ranks[i].component = i;
		clock->knots[i].local = rank->ops.item[0].start;
	}
	rc = clock_settle(align, samples, threads, clock, err);
	for (uint32_t i = 0; i < clock->rank_count; i++)
		related |= clock->ranks[i].component != NP_CLOCK_ALONE &&
			   clock->ranks[i].component != i;
	if (related)
		clock->method = NP_CLOCK_COLLECTIVES;
	for (uint32_t i = 0; i < clock->rank_count && !related; i++)
		clock->ranks[i].component = NP_CLOCK_ALONE;
	return rc;
}

static int count_violations(const struct np_align *align, size_t threads, struct np_clock *clock,
			    struct np_err *err)
{
	struct clock_pass pass = { .align = align, .clock = clock, .threads = threads };
	struct clock_breaches breaches;
	int rc = clock_count_breaches(&pass, &breaches, err);

	clock->violations = breaches.count;
	clock->violation_max = breaches.worst;
	return rc;
}

/* From the manifest, from collectives, from messages. */
static int find_clocks(const struct np_align *align, const struct np_manifest *manifest,
		       struct clock_samples *samples, size_t threads, struct np_clock *clock,
		       struct np_err *err)
{
	int rc = manifest ? try_manifest(align->run, manifest, clock, err) : NP_OK;

	if (rc < 0)
		return rc;
	if (clock->method == NP_CLOCK_MANIFEST)
		return count_violations(align, threads, clock, err);
	if (samples->instances.count == 0)
		return relate_by_messages(align, samples, threads, clock, err);
	clock->method = NP_CLOCK_COLLECTIVES;
	rc = clock_fit(align, samples, clock, err);
	return rc == NP_OK ? clock_settle(align, samples, threads, clock, err) : rc;
}

static int build(const struct np_align *align, const struct np_manifest *manifest, bool raw,
		 size_t threads, struct np_clock **ret, struct np_err *err)
{
	NP_CLEANUP(np_clock_freep) struct np_clock *clock = new_clock(align->run, err);
	struct clock_samples samples = { 0 };
	int rc;

	if (!clock)
		return NP_E_NOMEM;
	rc = clock_samples_take(align, threads, &samples, err);
	if (rc < 0)
		return rc;
	if (raw) {
		relate_all(align, clock);
		rc = count_violations(align, threads, clock, err);
	} else {
		rc = find_clocks(align, manifest, &samples, threads, clock, err);
	}
	if (rc == NP_OK)
		rc = report(align, &samples, clock, err);
	clock_samples_release(&samples);
	if (rc < 0)
		return rc;
	*ret = NP_STEAL(clock);
	return NP_OK;
}

int np_clock_build(const struct np_align *align, const struct np_manifest *manifest, size_t threads,
		   struct np_clock **ret, struct np_err *err)
{
	return build(align, manifest, false, threads, ret, err);
}

int np_clock_raw(const struct np_align *align, struct np_clock **ret, struct np_err *err)
{
	return build(align, NULL, true, 1, ret, err);
}
