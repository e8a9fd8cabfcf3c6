/* SPDX-License-Identifier: Apache-2.0 */
/* Who is slow where only the vendor's totals of steps are there, as far as they can tell. */
#include "findings_parts.h"

#include "npuprof/cluster.h"
#include "npuprof/contents.h"
#include "npuprof/idmap.h"
#include "npuprof/rank.h"
#include "npuprof/robust.h"
#include "npuprof/run.h"

#include <inttypes.h>
#include <math.h>

/*
 * Named is who is longer than the median rank by so much of the step, in so many of the steps;
 * while others communicate longer than it by so much of that, for they wait; and nobody else is
 * longer by so much of that.
 */
#define TOTALS_WORTH  0.03
#define TOTALS_STEPS  0.5
#define TOTALS_WAITED 0.5
#define TOTALS_SECOND 0.5

/* Of a rank, over the steps that all ranks have, against the median rank of each. */
struct own_time {
	double computing;
	double idle;
	double exposed;
	size_t steps; /* in which it is longer */
};

struct totals {
	const struct np_cluster *cluster;
	const struct np_step_time **times; /* by step of the cluster and index of the run */
	struct own_time *own;              /* by index of the run */
	double *values;                    /* of the ranks in one step */
	double length;                     /* of the steps that all ranks have */
	size_t steps;
};

static void totals_release(struct totals *totals)
{
	free(totals->times);
	free(totals->own);
	free(totals->values);
}

static bool is_told(const struct np_step_time *time)
{
	return time->computing != NP_UNKNOWN && time->free != NP_UNKNOWN &&
	       time->communication_not_overlapped != NP_UNKNOWN && time->span != NP_UNKNOWN &&
	       time->span > 0;
}

/* Receives of a pipeline: its ranks do other work. */
static bool has_bubble(const struct np_step_time *time)
{
	return time->bubble != NP_UNKNOWN && time->bubble > 0;
}

/* Take up the step times of all ranks; false where others can tell more, or nobody anything. */
static int take_times(struct totals *totals, bool *ret_usable, struct np_err *err)
{
	const struct np_cluster *cluster = totals->cluster;
	const struct np_run *run = cluster->run;
	NP_CLEANUP(np_idmap_freep) struct np_idmap *places = np_idmap_new();
	size_t ranks = run->sources.count;

	*ret_usable = np_run_used(run) > 1;
	totals->times = calloc(cluster->steps.count * ranks + 1, sizeof(*totals->times));
	totals->own = calloc(ranks + 1, sizeof(*totals->own));
	totals->values = calloc(ranks + 1, sizeof(*totals->values));
	if (!places || !totals->times || !totals->own || !totals->values)
		return np_fail_nomem(err, "what totals tell");
	for (size_t i = 0; i < cluster->steps.count; i++) {
		if (np_idmap_set(places, cluster->steps.item[i], (uint32_t)i, err) < 0)
			return NP_E_NOMEM;
	}
	for (size_t i = 0; i < ranks && *ret_usable; i++) {
		const struct np_rank *rank = run->ranks[i];

		if (rank && np_rank_has(rank, NP_DATA_INTERVALS))
			*ret_usable = false;
		for (size_t j = 0; rank && j < rank->times.count; j++) {
			const struct np_step_time *time = &rank->times.item[j];
			uint32_t at = np_idmap_get(places, rank->steps.item[time->step].id);

			if (has_bubble(time))
				*ret_usable = false;
			if (at != NP_IDMAP_NONE && is_told(time))
				totals->times[at * ranks + i] = time;
		}
	}
	return NP_OK;
}

typedef double figure(const struct np_step_time *time);

static double computing_of(const struct np_step_time *time)
{
	return (double)time->computing;
}

static double idle_of(const struct np_step_time *time)
{
	return (double)time->free;
}

static double exposed_of(const struct np_step_time *time)
{
	return (double)time->communication_not_overlapped;
}

static double own_of(const struct np_step_time *time)
{
	return (double)time->computing + (double)time->free;
}

static double median_of(const struct totals *totals, const struct np_step_time *const *times,
			figure *value)
{
	size_t count = 0;

	for (size_t i = 0; i < totals->cluster->run->sources.count; i++) {
		if (times[i])
			totals->values[count++] = value(times[i]);
	}
	return np_median(totals->values, count);
}

/* One step, if all ranks have it: else they are not comparable. */
static void add_step(struct totals *totals, const struct np_step_time *const *times)
{
	const struct np_run *run = totals->cluster->run;
	double computing;
	double idle;
	double exposed;
	double own;
	double length = 0;

	for (size_t i = 0; i < run->sources.count; i++) {
		if (run->ranks[i] && !times[i])
			return;
		if (run->ranks[i])
			length = fmax(length, (double)times[i]->span);
	}
	computing = median_of(totals, times, computing_of);
	idle = median_of(totals, times, idle_of);
	exposed = median_of(totals, times, exposed_of);
	own = median_of(totals, times, own_of);
	totals->length += length;
	totals->steps++;
	for (size_t i = 0; i < run->sources.count; i++) {
		struct own_time *each = &totals->own[i];

		if (!times[i])
			continue;
		each->computing += computing_of(times[i]) - computing;
		each->idle += idle_of(times[i]) - idle;
		each->exposed += exposed_of(times[i]) - exposed;
		each->steps += own_of(times[i]) - own >= TOTALS_WORTH * length;
	}
}

static double excess_of(const struct own_time *own)
{
	return own->computing + own->idle;
}

/* Whom the totals speak against; the number of ranks of the run where nobody is. */
static size_t pick(const struct totals *totals)
{
	size_t ranks = totals->cluster->run->sources.count;
	size_t most = 0;
	double second = 0;

	for (size_t i = 1; i < ranks; i++) {
		if (excess_of(&totals->own[i]) > excess_of(&totals->own[most]))
			most = i;
	}
	for (size_t i = 0; i < ranks; i++) {
		if (i != most)
			second = fmax(second, excess_of(&totals->own[i]));
	}
	if (excess_of(&totals->own[most]) < TOTALS_WORTH * totals->length ||
	    -totals->own[most].exposed < TOTALS_WAITED * excess_of(&totals->own[most]) ||
	    second > TOTALS_SECOND * excess_of(&totals->own[most]) ||
	    (double)totals->own[most].steps < TOTALS_STEPS * (double)totals->steps)
		return ranks;
	return most;
}

/* "+1.23 ms" */
static struct findings_time difference(double time)
{
	struct findings_time ret = findings_time(fabs(time));

	memmove(ret.text + 1, ret.text, sizeof(ret.text) - 2);
	ret.text[0] = time < 0 ? '-' : '+';
	return ret;
}

static int tell(const struct totals *totals, size_t index, struct np_job_findings *findings,
		struct np_err *err)
{
	const struct own_time *own = &totals->own[index];
	int32_t rank = totals->cluster->run->ranks[index]->id;
	double steps = (double)totals->steps;
	struct np_job_finding *finding = findings_add(
		findings, NP_JOB_TOTALS, err,
		"by totals alone others wait for rank %" PRId32 ", in %zu of %zu steps: it has"
		" computing %s, idle %s and communication %s in a step against the median rank:"
		" look at it first",
		rank, own->steps, totals->steps, difference(own->computing / steps).text,
		difference(own->idle / steps).text, difference(own->exposed / steps).text);

	return finding ? findings_add_rank(finding, rank, err) : NP_E_NOMEM;
}

int np_totals_find(const struct np_cluster *cluster, struct np_job_findings *ret,
		   struct np_err *err)
{
	NP_CLEANUP(totals_release) struct totals totals = { .cluster = cluster };
	size_t ranks = cluster->run->sources.count;
	size_t named = ranks;
	bool usable;
	int rc = take_times(&totals, &usable, err);

	if (rc < 0 || !usable)
		return rc;
	for (size_t i = 0; i < cluster->steps.count; i++)
		add_step(&totals, (const struct np_step_time *const *)&totals.times[i * ranks]);
	if (totals.steps > 0)
		named = pick(&totals);
	return named < ranks ? tell(&totals, named, ret, err) : NP_OK;
}
