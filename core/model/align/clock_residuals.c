/* SPDX-License-Identifier: Apache-2.0 */
#include "clock_private.h"

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

int clock_measure_residuals(struct np_clock *clock, struct clock_samples *samples,
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
