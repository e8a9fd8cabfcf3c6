/* SPDX-License-Identifier: Apache-2.0 */
/* The clocks of a run: from the manifest or from collectives, and how far they are off. */
#include "npuprof/clock.h"

#include "clock_fit.h"
#include "clock_order.h"

#include "npuprof/align.h"
#include "npuprof/rank.h"
#include "npuprof/run.h"

/* Signed distances of ends from the times of their instances, by rank. */
struct residuals {
	struct np_clock *clock;
	struct clock_samples *samples;
	np_ns *value;
	uint32_t *first; /* by rank; one more than there are */
	size_t count;
	np_ns *of_hosts;   /* the same, by host … */
	size_t *host_from; /* … from here on */
	np_ns *of_all;     /* the same in any order */
};

static void release_residuals(struct residuals *residuals)
{
	free(residuals->value);
	free(residuals->first);
	free(residuals->of_hosts);
	free(residuals->host_from);
	free(residuals->of_all);
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
			residuals->first[samples->rank.item[j] + 2]++;
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

			residuals->value[residuals->first[rank + 1]++] =
				np_clock_time(residuals->clock, rank, samples->end.item[j]) -
				instance->time;
		}
	}
}

static void list_residuals(struct residuals *residuals)
{
	const struct clock_samples *samples = residuals->samples;

	np_workers_run(&samples->workers, samples->parts, time_part, residuals);
	np_workers_run(&samples->workers, samples->parts, count_part, residuals);
	for (size_t i = 2; i < samples->ranks + 2; i++)
		residuals->first[i] += residuals->first[i - 1];
	np_workers_run(&samples->workers, samples->parts, list_part, residuals);
	residuals->count = residuals->first[samples->ranks];
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
	size_t count = residuals->first[index + 1] - residuals->first[index];

	rank->samples = (uint32_t)count;
	rank->deviation = count && clock->method != NP_CLOCK_COLLECTIVES
				  ? clock_quantile(value, count, 0.5)
				  : NP_UNKNOWN;
	for (size_t i = 0; i < count; i++)
		value[i] = value[i] < 0 ? -value[i] : value[i];
	set_quantiles(value, count, &rank->residual_p50, &rank->residual_p90);
}

/* Where those of each host begin. */
static void place_hosts(struct residuals *residuals)
{
	const struct np_clock *clock = residuals->clock;
	size_t before = 0;

	for (size_t i = 0; i < clock->rank_count; i++) {
		if (clock->ranks[i].host != UINT32_MAX)
			residuals->host_from[clock->ranks[i].host] += clock->ranks[i].samples;
	}
	for (size_t i = 0; i < clock->hosts.count; i++) {
		size_t own = residuals->host_from[i];

		residuals->host_from[i] = before;
		before += own;
	}
}

static void measure_host(const struct residuals *residuals, size_t index)
{
	struct np_clock *clock = residuals->clock;
	np_ns *values = &residuals->of_hosts[residuals->host_from[index]];
	size_t count = 0;

	for (size_t i = 0; i < clock->rank_count; i++) {
		size_t own = residuals->first[i + 1] - residuals->first[i];

		if (clock->ranks[i].host != index)
			continue;
		memcpy(&values[count], &residuals->value[residuals->first[i]],
		       own * sizeof(*values));
		count += own;
	}
	set_quantiles(values, count, &clock->hosts.item[index].residual_p50,
		      &clock->hosts.item[index].residual_p90);
}

/* Job 0 has all of them, which takes longest; the others have a host each. */
static void measure_hosts_and_all(void *context, size_t job)
{
	const struct residuals *residuals = context;

	if (job > 0) {
		measure_host(residuals, job - 1);
		return;
	}
	memcpy(residuals->of_all, residuals->value, residuals->count * sizeof(*residuals->value));
	set_quantiles(residuals->of_all, residuals->count, &residuals->clock->residual_p50,
		      &residuals->clock->residual_p90);
}

/* How far ends lie from those of their instances: of ranks, hosts and all. */
static int clock_measure_residuals(struct np_clock *clock, struct clock_samples *samples,
				   struct np_err *err)
{
	size_t room = samples->end.count + 1;
	struct residuals residuals = { .clock = clock, .samples = samples };
	int rc = NP_OK;

	residuals.first = calloc(clock->rank_count + 2, sizeof(*residuals.first));
	residuals.host_from = calloc(clock->hosts.count + 1, sizeof(*residuals.host_from));
	residuals.value = malloc(room * sizeof(*residuals.value));
	residuals.of_hosts = malloc(room * sizeof(*residuals.of_hosts));
	residuals.of_all = malloc(room * sizeof(*residuals.of_all));
	if (residuals.first && residuals.host_from && residuals.value && residuals.of_hosts &&
	    residuals.of_all) {
		list_residuals(&residuals);
		np_workers_run(&samples->workers, clock->rank_count, measure_rank, &residuals);
		place_hosts(&residuals);
		np_workers_run(&samples->workers, 1 + clock->hosts.count, measure_hosts_and_all,
			       &residuals);
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

static int find_hosts(const struct np_run *run, struct np_clock *clock, struct np_err *err)
{
	for (size_t i = 0; i < clock->rank_count; i++) {
		const struct np_rank *rank = run->ranks[i];
		struct np_clock_host *host;
		uint32_t found = 0;

		clock->ranks[i].host = UINT32_MAX;
		if (!rank || rank->host_uid == NP_STR_NONE)
			continue;
		while (found < clock->hosts.count && clock->hosts.item[found].uid != rank->host_uid)
			found++;
		if (found == clock->hosts.count) {
			host = np_vec_add(&clock->hosts, err);
			if (!host)
				return NP_E_NOMEM;
			host->uid = rank->host_uid;
			host->name = rank->host_name;
		}
		clock->hosts.item[found].ranks++;
		clock->ranks[i].host = found;
	}
	return NP_OK;
}

/* --- ranks of a host -------------------------------------------------------------------------- */

/* Of the ranks of a host, on its own clock. */
static np_ns middle_of_capture(const struct np_run *run, const struct np_clock *clock,
			       uint32_t host)
{
	np_ns first = NP_NS_MAX;
	np_ns last = -NP_NS_MAX;

	for (size_t i = 0; i < run->sources.count; i++) {
		const struct np_rank *rank = run->ranks[i];

		if (!rank || rank->ops.count == 0 || clock->ranks[i].host != host)
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
	for (size_t i = 0; i < clock->rank_count; i++) {
		const struct np_clock_rank *rank = &clock->ranks[i];

		if (rank->host != index || (first && rank->component != first->component))
			continue;
		first = first ? first : rank;
		scratch[count++] = np_clock_offset(rank, at);
	}
	if (!first)
		return;
	host->offset = clock_quantile(scratch, count, 0.5);
	host->drift = first->drift;
	for (size_t i = 0; i < clock->rank_count; i++) {
		struct np_clock_rank *rank = &clock->ranks[i];

		if (rank->host != index || rank->component != first->component || count < 2)
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

static const struct np_manifest_host *host_of(const struct np_manifest *manifest, int32_t rank)
{
	for (size_t i = 0; i < manifest->ranks.count; i++) {
		if (manifest->ranks.item[i].rank == rank)
			return &manifest->hosts.item[manifest->ranks.item[i].host];
	}
	return NULL;
}

/* It is of use only if it tells the clock of every rank: half of it would split the run. */
static bool manifest_tells(const struct np_run *run, const struct np_manifest *manifest)
{
	for (size_t i = 0; i < run->sources.count; i++) {
		const struct np_manifest_host *host;

		if (!run->ranks[i])
			continue;
		host = host_of(manifest, run->ranks[i]->id);
		if (!host || host->knot_count == 0)
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

static int use_manifest(const struct np_run *run, const struct np_manifest *manifest,
			struct np_clock *clock, struct np_err *err)
{
	size_t total = 0;
	size_t used = 0;

	for (size_t i = 0; i < manifest->hosts.count; i++)
		total += manifest->hosts.item[i].knot_count;
	free(clock->knots);
	clock->knots = calloc(total + 1, sizeof(*clock->knots));
	if (!clock->knots)
		return np_fail_nomem(err, "clocks");
	clock->method = NP_CLOCK_MANIFEST;
	/* Ranks that could not be loaded, and none of its hosts, have the last one, which is
	 * nothing. */
	for (size_t i = 0; i < clock->rank_count; i++) {
		clock->ranks[i].knots = &clock->knots[total];
		clock->ranks[i].knot_count = 1;
	}
	for (size_t i = 0; i < manifest->hosts.count; i++) {
		const struct np_manifest_host *host = &manifest->hosts.item[i];

		if (host->knot_count == 0)
			continue;
		memcpy(&clock->knots[used], host->knots, host->knot_count * sizeof(*host->knots));
		if (host->uncertainty > clock->uncertainty)
			clock->uncertainty = host->uncertainty;
		for (size_t j = 0; j < clock->rank_count; j++) {
			struct np_clock_rank *rank = &clock->ranks[j];

			if (!run->ranks[j] || host_of(manifest, run->ranks[j]->id) != host)
				continue;
			rank->knots = &clock->knots[used];
			rank->knot_count = host->knot_count;
			rank->drift = drift_of(host);
			rank->component = first_loaded(run);
		}
		used += host->knot_count;
	}
	return NP_OK;
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
	} else if (manifest && manifest_tells(align->run, manifest)) {
		rc = use_manifest(align->run, manifest, clock, err);
		if (rc == NP_OK)
			rc = count_violations(align, threads, clock, err);
	} else if (samples.instances.count > 0) {
		clock->method = NP_CLOCK_COLLECTIVES;
		rc = clock_fit(align, &samples, clock, err);
		if (rc == NP_OK)
			rc = clock_settle(align, &samples, threads, clock, err);
	} else {
		rc = relate_by_messages(align, &samples, threads, clock, err);
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
