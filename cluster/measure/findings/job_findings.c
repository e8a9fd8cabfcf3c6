/* SPDX-License-Identifier: Apache-2.0 */
/* What is strange about a job: a first step that warms up, pauses of hosts that do not agree. */
#include "npuprof/job_findings.h"
#include "npuprof/ranges.h"

#include "findings_parts.h"

#include "npuprof/align.h"
#include "npuprof/iteration.h"
#include "npuprof/order.h"
#include "npuprof/rank.h"
#include "npuprof/robust.h"
#include "npuprof/run.h"
#include "npuprof/text.h"

#include <inttypes.h>
#include <math.h>

const char *np_job_finding_name(enum np_job_finding_kind kind)
{
	static const char *const names[] = { "warm-up", "unrecorded wait", "unaligned pauses" };

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

struct np_job_finding *findings_add(struct np_job_findings *findings, enum np_job_finding_kind kind,
				    const struct np_buf *detail, struct np_err *err)
{
	struct np_job_finding *finding = NULL;

	if (np_buf_check(detail, err) == NP_OK)
		finding = np_vec_add(&findings->list, err);
	if (!finding)
		return NULL;
	finding->kind = kind;
	finding->communicator = UINT32_MAX;
	finding->detail = strdup(detail->text);
	if (!finding->detail) {
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

/* A first step longer than so many times the median is one; of so many steps at least. */
#define WARM_UP       1.5
#define WARM_UP_STEPS 3

/* The mean length of a step over its ranks; NaN where nobody knows it. */
static double step_length(const struct np_run *run, np_str step, enum np_basis basis)
{
	double sum = 0;
	double count = 0;

	for (size_t i = 0; i < run->sources.count; i++) {
		const struct np_rank *rank = run->ranks[i];

		for (size_t j = 0; rank && j < rank->times.count; j++) {
			const struct np_step_time *time = &rank->times.item[j];
			np_ns length = np_step_length(time, basis);

			if (rank->steps.item[time->step].id != step || length == NP_UNKNOWN)
				continue;
			sum += (double)length;
			count++;
		}
	}
	return count > 0 ? sum / count : (double)NAN;
}

static int find_warm_up(const struct np_replay *replay, struct np_job_findings *findings,
			struct np_err *err)
{
	const struct np_cluster *cluster = replay->cluster;
	const struct np_run *run = replay->align->run;
	enum np_basis basis = np_run_basis(run);
	double *lengths = malloc((cluster->steps.count + 1) * sizeof(*lengths));
	NP_CLEANUP(np_buf_release) struct np_buf text = NP_BUF_INIT;
	double first = NAN;
	double median;
	size_t count = 0;

	if (!lengths)
		return np_fail_nomem(err, "what is strange about a job");
	for (size_t i = 0; i < cluster->steps.count; i++) {
		double length = step_length(run, cluster->steps.item[i], basis);

		if (i == 0)
			first = length;
		if (!isnan(length))
			lengths[count++] = length;
	}
	median = np_median(lengths, count);
	free(lengths);
	if (count < WARM_UP_STEPS || !(first > WARM_UP * median))
		return NP_OK;
	np_buf_printf(&text, "the first step, %s, takes ",
		      np_run_text(run, cluster->steps.item[0])
			      ? np_run_text(run, cluster->steps.item[0])
			      : "?");
	np_text_duration(&text, (np_ns)first);
	np_buf_printf(&text, ", %.1f times the median of ", first / median);
	np_text_duration(&text, (np_ns)median);
	np_buf_add(&text, ": warm-up; --skip-steps 1 leaves it out");
	return findings_add(findings, NP_JOB_WARM_UP, &text, err) ? NP_OK : NP_E_NOMEM;
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

static double median_host(const struct np_replay *replay, const struct np_replay_cell *cell,
			  double *values, double *ret_work)
{
	size_t count = 0;
	double work = 0;

	for (size_t i = 0; i < replay->cells.count; i++) {
		const struct np_replay_cell *peer = &replay->cells.item[i];

		if (!peer->timed || peer->rank == cell->rank || peer->step != cell->step ||
		    replay->stages[peer->rank] != replay->stages[cell->rank])
			continue;
		values[count++] = (double)(peer->work[NP_WORK_HOST] + peer->work[NP_WORK_BETWEEN]);
		work += (double)peer->work[NP_WORK_COMPUTE];
	}
	*ret_work = count > 0 ? work / (double)count : 0;
	return np_median(values, count);
}

static void see_pause(const struct np_replay *replay, const struct np_replay_cell *cell,
		      double *values, struct pauses *pauses)
{
	double work;
	double median = median_host(replay, cell, values, &work);
	double more = (double)(cell->work[NP_WORK_HOST] + cell->work[NP_WORK_BETWEEN]) - median;

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

/* What was recorded of garbage collections is evidence; that nothing was is none. */
static int add_collections(const struct np_run *run, const struct pauses *pauses,
			   struct np_buf *text, struct np_err *err)
{
	int64_t *ranks = malloc((run->sources.count + 1) * sizeof(*ranks));
	int64_t count = 0;
	np_ns time = 0;
	size_t used = 0;

	if (!ranks)
		return np_fail_nomem(err, "what is strange about a job");
	for (size_t i = 0; i < run->sources.count; i++) {
		if (pauses->of_rank[i] == 0 || run->ranks[i]->collections == 0)
			continue;
		count += run->ranks[i]->collections;
		time += run->ranks[i]->collection_time;
		ranks[used++] = run->ranks[i]->id;
	}
	if (used > 0) {
		np_buf_printf(text, "; garbage collection recorded: %lld slice%s, ",
			      (long long)count, count == 1 ? "" : "s");
		np_text_duration(text, time);
		np_buf_printf(text, " on rank%s ", used == 1 ? "" : "s");
		np_ranges_format(text, ranks, used);
		np_buf_add(text, ": let all ranks collect in the same step");
	} else {
		np_buf_add(text, ": look for garbage collection, and let all ranks collect in the"
				 " same step");
	}
	free(ranks);
	return np_buf_check(text, err);
}

static int add_pauses(const struct np_replay *replay, const struct pauses *pauses,
		      struct np_job_findings *findings, struct np_err *err)
{
	const struct np_run *run = replay->align->run;
	NP_CLEANUP(np_buf_release) struct np_buf text = NP_BUF_INIT;
	struct np_job_finding *finding;
	int rc = NP_OK;

	np_buf_printf(&text, "hosts of %zu of %zu ranks paused %zu times, for ", pauses->ranks,
		      np_run_used(run), pauses->count);
	np_text_duration(&text, (np_ns)pauses->least);
	np_buf_add(&text, " to ");
	np_text_duration(&text, (np_ns)pauses->longest);
	np_buf_add(&text, " and ");
	np_text_duration(&text, (np_ns)pauses->sum);
	np_buf_add(&text, " in all, each in steps of its own, not aligned over ranks");
	rc = add_collections(run, pauses, &text, err);
	if (rc < 0)
		return rc;
	finding = findings_add(findings, NP_JOB_PAUSES, &text, err);
	if (!finding)
		return NP_E_NOMEM;
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
	double *values = malloc((replay->cells.count + 1) * sizeof(*values));
	int rc = NP_OK;

	if (!pauses.of_rank || !pauses.steps || !values)
		rc = np_fail_nomem(err, "what is strange about a job");
	for (size_t i = 0; i < replay->cells.count && rc == NP_OK; i++) {
		if (replay->cells.item[i].timed)
			see_pause(replay, &replay->cells.item[i], values, &pauses);
	}
	if (rc == NP_OK && is_habit(&pauses, ranks))
		rc = add_pauses(replay, &pauses, findings, err);
	free(pauses.of_rank);
	free(pauses.steps);
	free(values);
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
