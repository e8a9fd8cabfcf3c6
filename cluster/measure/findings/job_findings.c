/* SPDX-License-Identifier: Apache-2.0 */
/* What is strange about a job: a first step that warms up, pauses of hosts that do not agree. */
#include "npuprof/job_findings.h"
#include "npuprof/ranges.h"

#include "findings_parts.h"

#include "npuprof/align.h"
#include "npuprof/idmap.h"
#include "npuprof/iteration.h"
#include "npuprof/order.h"
#include "npuprof/rank.h"
#include "npuprof/robust.h"
#include "npuprof/run.h"
#include "npuprof/text.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>

const char *np_job_finding_name(enum np_job_finding_kind kind)
{
	static const char *const names[] = { "warm-up", "unrecorded wait", "unaligned pauses",
					     "longest by totals", "fused communication" };

	return names[kind];
}

void np_job_findings_release(struct np_job_findings *findings)
{
	for (size_t i = 0; i < findings->list.count; i++) {
		np_vec_release(&findings->list.item[i].ranks);
		free(findings->list.item[i].detail);
	}
	np_vec_release(&findings->list);
}

struct findings_time findings_time(double time)
{
	NP_CLEANUP(np_buf_release) struct np_buf text = NP_BUF_INIT;
	struct findings_time ret = { "?" };

	np_text_duration(&text, (np_ns)time);
	if (!text.failed)
		(void)snprintf(ret.text, sizeof(ret.text), "%s", text.text);
	return ret;
}

struct np_job_finding *findings_add(struct np_job_findings *findings, enum np_job_finding_kind kind,
				    struct np_err *err, const char *detail, ...)
{
	struct np_job_finding *finding = np_vec_add(&findings->list, err);
	va_list arguments;

	if (!finding)
		return NULL;
	finding->kind = kind;
	finding->communicator = UINT32_MAX;
	va_start(arguments, detail);
	if (vasprintf(&finding->detail, detail, arguments) < 0)
		finding->detail = NULL;
	va_end(arguments);
	if (!finding->detail) {
		findings->list.count--;
		(void)np_fail_nomem(err, "what is strange about a job");
		return NULL;
	}
	return finding;
}

int findings_add_rank(struct np_job_finding *finding, int32_t rank, struct np_err *err)
{
	int32_t *room = np_vec_add(&finding->ranks, err);

	if (!room)
		return NP_E_NOMEM;
	*room = rank;
	return NP_OK;
}

/* --- warm-up -----------------------------------------------------------------------------------
 */

/*
 * A first step longer than so many times the median is one; of so many steps at least, of which
 * few others are about as long: where steps differ anyway, the first is one of them.
 */
#define WARM_UP       1.5
#define WARM_UP_STEPS 3
#define AS_LONG       1.2
#define MOST_AS_LONG  10 /* one of so many */

/* The mean length of every step over its ranks, NaN where nobody knows it; freed by the caller. */
static int step_lengths(const struct np_replay *replay, double **ret, struct np_err *err)
{
	const struct np_run *run = replay->align->run;
	enum np_basis basis = np_run_basis(run);
	size_t count = replay->cluster->steps.count;
	NP_CLEANUP(np_idmap_freep) struct np_idmap *places = np_idmap_new();
	double *sums = calloc(count + 1, sizeof(*sums));
	size_t *ranks = calloc(count + 1, sizeof(*ranks));
	int rc =
		places && sums && ranks ? NP_OK : np_fail_nomem(err, "what is strange about a job");

	for (size_t i = 0; i < count && rc == NP_OK; i++)
		rc = np_idmap_set(places, replay->cluster->steps.item[i], (uint32_t)i, err);
	for (size_t i = 0; i < run->sources.count && rc == NP_OK; i++) {
		const struct np_rank *rank = run->ranks[i];

		for (size_t j = 0; rank && j < rank->times.count; j++) {
			const struct np_step_time *time = &rank->times.item[j];
			uint32_t place = np_idmap_get(places, rank->steps.item[time->step].id);
			np_ns length = np_step_length(time, basis);

			if (place == NP_IDMAP_NONE || length == NP_UNKNOWN)
				continue;
			sums[place] += (double)length;
			ranks[place]++;
		}
	}
	for (size_t i = 0; i < count && rc == NP_OK; i++)
		sums[i] = ranks[i] > 0 ? sums[i] / (double)ranks[i] : (double)NAN;
	free(ranks);
	if (rc == NP_OK)
		*ret = NP_STEAL(sums);
	free(sums);
	return rc;
}

static int find_warm_up(const struct np_replay *replay, struct np_job_findings *findings,
			struct np_err *err)
{
	const struct np_cluster *cluster = replay->cluster;
	const struct np_run *run = replay->align->run;
	double *lengths = NULL;
	const char *step;
	double first = (double)NAN;
	double median;
	size_t as_long = 0;
	size_t count = 0;
	int rc = step_lengths(replay, &lengths, err);

	if (rc < 0)
		return rc;
	for (size_t i = 0; i < cluster->steps.count; i++) {
		if (i == 0)
			first = lengths[i];
		else
			as_long += lengths[i] * AS_LONG >= first;
		if (!isnan(lengths[i]))
			lengths[count++] = lengths[i];
	}
	median = np_median(lengths, count);
	free(lengths);
	if (count < WARM_UP_STEPS || !(first > WARM_UP * median) || as_long * MOST_AS_LONG > count)
		return NP_OK;
	step = np_run_text(run, cluster->steps.item[0]);
	return findings_add(findings, NP_JOB_WARM_UP, err,
			    "the first step, %s, takes %s, %.1f times the median of %s: warm-up;"
			    " --skip-steps 1 leaves it out",
			    step ? step : "?", findings_time(first).text, first / median,
			    findings_time(median).text)
		       ? NP_OK
		       : NP_E_NOMEM;
}

/* --- pauses ------------------------------------------------------------------------------------
 */

/*
 * A host that is later than its peers by so much, and so much of their work, has paused (what
 * is late now and then is named for as much: whatif_verdict.c); if they are not late themselves.
 */
#define PAUSE_NS   1000000
#define PAUSE_PART 0.03

/* So many pauses, on so many ranks, are a habit; if one rank has no more of them than its part. */
#define PAUSES      3
#define PAUSE_RANKS 3
#define PAUSE_MOST  0.5

struct pauses {
	uint32_t *of_rank; /* by index in the run */
	uint32_t *steps;   /* likewise: cells that were looked at */
	size_t count;
	size_t ranks;
	uint32_t most;
	double least;
	double longest;
	double sum;
};

/* What the host of a rank took in a step; sorted by stage and step, then by that. */
struct host_time {
	int32_t stage;
	np_str step;
	double value;
	double work; /* computing */
	uint32_t rank;
};

struct host_times {
	struct host_time *list;
	size_t count;
};

static double host_of(const struct np_replay_cell *cell)
{
	return (double)(cell->work[NP_WORK_HOST] + cell->work[NP_WORK_BETWEEN]);
}

static int by_peers(const struct host_time *a, const struct host_time *b)
{
	return a->stage != b->stage ? np_order(a->stage, b->stage) : np_order(a->step, b->step);
}

static int by_peers_and_value(const void *left, const void *right)
{
	const struct host_time *a = left;
	const struct host_time *b = right;
	int order = by_peers(a, b);

	if (order == 0)
		order = np_by_double(&a->value, &b->value);
	return order ? order : np_order(a->rank, b->rank);
}

static struct host_times sort_hosts(const struct np_replay *replay)
{
	struct host_times times = { malloc((replay->cells.count + 1) * sizeof(*times.list)), 0 };

	for (size_t i = 0; times.list && i < replay->cells.count; i++) {
		const struct np_replay_cell *cell = &replay->cells.item[i];

		if (cell->timed)
			times.list[times.count++] = (struct host_time){
				.stage = replay->stages[cell->rank],
				.step = cell->step,
				.value = host_of(cell),
				.work = (double)cell->work[NP_WORK_COMPUTE],
				.rank = cell->rank,
			};
	}
	if (times.count > 0)
		qsort(times.list, times.count, sizeof(*times.list), by_peers_and_value);
	return times;
}

/* Of the others among `count` peers: median of what hosts took, and mean of computing. */
static double median_of_others(const struct host_time *peers, size_t count, size_t at, double all,
			       double *ret_work)
{
	uint32_t rank = peers[at].rank;
	size_t others = 0;
	size_t left;

	/* Peers of one value are by rank: a rank of one device is there once. */
	for (size_t i = 0; i < count; i++) {
		if (peers[i].rank == rank)
			all -= peers[i].work;
		else
			others++;
	}
	*ret_work = others > 0 ? all / (double)others : 0;
	left = others > 0 ? (others - 1) / 2 : 0;
	for (size_t i = 0; i < count && others > 0; i++) {
		if (peers[i].rank != rank && left-- == 0)
			return peers[i].value;
	}
	return (double)NAN;
}

static void see_pause(const struct host_time *cell, double median, double work,
		      struct pauses *pauses)
{
	double more = cell->value - median;

	pauses->steps[cell->rank]++;
	if (isnan(median) || more < PAUSE_NS || more < PAUSE_PART * work || more < median)
		return;
	pauses->ranks += pauses->of_rank[cell->rank]++ == 0;
	if (pauses->of_rank[cell->rank] > pauses->most)
		pauses->most = pauses->of_rank[cell->rank];
	pauses->count++;
	pauses->sum += more;
	pauses->longest = fmax(pauses->longest, more);
	pauses->least = pauses->count == 1 ? more : fmin(pauses->least, more);
}

/* All ranks of a stage in a step; `times` are how often each rank is among them, zero before and
 * after. */
static void see_peers(const struct host_time *peers, size_t count, uint32_t *times,
		      struct pauses *pauses)
{
	double all = 0;

	for (size_t i = 0; i < count; i++) {
		all += peers[i].work;
		times[peers[i].rank]++;
	}
	for (size_t i = 0; i < count; i++) {
		size_t left = count > 1 ? (count - 2) / 2 : 0;
		double median = (double)NAN;
		double work = 0;

		if (times[peers[i].rank] > 1) {
			median = median_of_others(peers, count, i, all, &work);
		} else if (count > 1) {
			median = peers[left < i ? left : left + 1].value;
			work = (all - peers[i].work) / (double)(count - 1);
		}
		see_pause(&peers[i], median, work, pauses);
	}
	for (size_t i = 0; i < count; i++)
		times[peers[i].rank] = 0;
}

/* A rank that pauses in every step is slow, and no matter of chance. */
static bool is_habit(const struct pauses *pauses, size_t ranks)
{
	for (size_t i = 0; i < ranks; i++) {
		if (pauses->steps[i] > 1 && pauses->of_rank[i] == pauses->steps[i])
			return false;
	}
	return pauses->count >= PAUSES && pauses->ranks >= PAUSE_RANKS &&
	       (double)pauses->most <= PAUSE_MOST * (double)pauses->count;
}

/* Ranks that paused and have recorded collections, as text; how many, and for how long. */
static int64_t count_collections(const struct np_run *run, const struct pauses *pauses,
				 struct np_buf *ranks, np_ns *ret_time, struct np_err *err)
{
	int64_t *ids = malloc((run->sources.count + 1) * sizeof(*ids));
	int64_t count = 0;
	size_t used = 0;

	if (!ids)
		return np_fail_nomem(err, "what is strange about a job");
	for (size_t i = 0; i < run->sources.count; i++) {
		if (pauses->of_rank[i] == 0 || run->ranks[i]->collections == 0)
			continue;
		count += run->ranks[i]->collections;
		*ret_time += run->ranks[i]->collection_time;
		ids[used++] = run->ranks[i]->id;
	}
	np_ranges_format(ranks, ids, used);
	free(ids);
	return np_buf_check(ranks, err) < 0 ? NP_E_NOMEM : count;
}

/* What was recorded of garbage collections is evidence; that nothing was is none. */
static struct np_job_finding *add_pauses(const struct np_run *run, const struct pauses *pauses,
					 struct np_job_findings *findings, struct np_err *err)
{
	NP_CLEANUP(np_buf_release) struct np_buf ranks = NP_BUF_INIT;
	struct findings_time least = findings_time(pauses->least);
	struct findings_time longest = findings_time(pauses->longest);
	struct findings_time sum = findings_time(pauses->sum);
	np_ns time = 0;
	int64_t count = count_collections(run, pauses, &ranks, &time, err);

	if (count < 0)
		return NULL;
	if (count == 0)
		return findings_add(
			findings, NP_JOB_PAUSES, err,
			"hosts of %zu of %zu ranks paused %zu times, for %s to %s and %s in all,"
			" each in steps of its own, not aligned over ranks: look for garbage"
			" collection, and let all ranks collect in the same step",
			pauses->ranks, np_run_used(run), pauses->count, least.text, longest.text,
			sum.text);
	return findings_add(
		findings, NP_JOB_PAUSES, err,
		"hosts of %zu of %zu ranks paused %zu times, for %s to %s and %s in all, each in"
		" steps of its own, not aligned over ranks; garbage collection recorded: %" PRId64
		" slices, %s on ranks %s: let all ranks collect in the same step",
		pauses->ranks, np_run_used(run), pauses->count, least.text, longest.text, sum.text,
		count, findings_time((double)time).text, ranks.text);
}

static int tell_pauses(const struct np_run *run, const struct pauses *pauses,
		       struct np_job_findings *findings, struct np_err *err)
{
	struct np_job_finding *finding = add_pauses(run, pauses, findings, err);
	int rc = finding ? NP_OK : NP_E_NOMEM;

	for (size_t i = 0; i < run->sources.count && rc == NP_OK; i++) {
		if (pauses->of_rank[i] > 0)
			rc = findings_add_rank(finding, run->ranks[i]->id, err);
	}
	return rc;
}

static int find_pauses(const struct np_replay *replay, struct np_job_findings *findings,
		       struct np_err *err)
{
	size_t ranks = replay->align->run->sources.count;
	struct pauses pauses = { .of_rank = calloc(ranks + 1, sizeof(uint32_t)),
				 .steps = calloc(ranks + 1, sizeof(uint32_t)) };
	struct host_times hosts = sort_hosts(replay);
	uint32_t *times = calloc(ranks + 1, sizeof(*times));
	int rc = NP_OK;

	if (!pauses.of_rank || !pauses.steps || !hosts.list || !times)
		rc = np_fail_nomem(err, "what is strange about a job");
	for (size_t first = 0, end = 0; first < hosts.count && rc == NP_OK; first = end) {
		while (end < hosts.count && by_peers(&hosts.list[first], &hosts.list[end]) == 0)
			end++;
		see_peers(&hosts.list[first], end - first, times, &pauses);
	}
	if (rc == NP_OK && is_habit(&pauses, ranks))
		rc = tell_pauses(replay->align->run, &pauses, findings, err);
	free(pauses.of_rank);
	free(pauses.steps);
	free(hosts.list);
	free(times);
	return rc;
}

int np_job_findings_measure(const struct np_replay *replay, struct np_job_findings *ret,
			    struct np_err *err)
{
	int rc = find_warm_up(replay, ret, err);

	if (rc == NP_OK)
		rc = find_unrecorded(replay, ret, err);
	if (rc == NP_OK)
		rc = find_pauses(replay, ret, err);
	return rc;
}
