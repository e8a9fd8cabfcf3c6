/* SPDX-License-Identifier: Apache-2.0 */
/* The order in which a loaded run is measured: every measure once, each from those before it. */
#include "npuprof/analysis.h"

#include "short_captures.h"

#include "npuprof/align.h"
#include "npuprof/buf.h"
#include "npuprof/notes.h"
#include "npuprof/run.h"
#include "npuprof/snapshot_rows.h"
#include "npuprof/workers.h"

#include <inttypes.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

void np_analysis_free(struct np_analysis *analysis)
{
	if (!analysis)
		return;
	for (size_t i = 0; analysis->explanations && i < analysis->order.count; i++)
		np_explanation_release(&analysis->explanations[i]);
	for (size_t i = 0; analysis->courses && i < analysis->order.count; i++)
		np_course_release(&analysis->courses[i]);
	free(analysis->courses);
	free(analysis->explanations);
	np_device_time_free(analysis->device_time);
	np_memory_free(analysis->memory);
	np_verdict_release(&analysis->verdict);
	np_job_findings_release(&analysis->findings);
	np_charge_order_release(&analysis->order);
	np_memory_growths_release(&analysis->memory_growths);
	np_spreads_release(&analysis->spreads);
	np_balance_release(&analysis->balance);
	np_path_release(&analysis->path);
	np_whatif_release(&analysis->whatif);
	np_replay_free(analysis->replay);
	np_experts_release(&analysis->experts);
	np_pipeline_release(&analysis->pipeline);
	np_links_release(&analysis->links);
	np_comm_sums_release(&analysis->totals);
	np_comm_sums_release(&analysis->roles);
	np_comm_sums_release(&analysis->sums);
	np_charge_sums_release(&analysis->charge_sums);
	np_partition_release(&analysis->partition);
	np_root_cause_release(&analysis->causes);
	np_charges_release(&analysis->charges);
	np_waits_release(&analysis->waits);
	np_clock_free(analysis->clock);
	np_align_free(analysis->align);
	np_cluster_free(analysis->cluster);
	np_run_free(analysis->run);
	free(analysis);
}

void np_analysis_freep(struct np_analysis **analysis)
{
	np_analysis_free(*analysis);
}

/* Match the operators over the ranks, put them on one clock, split them into wait and transfer. */
static int align(struct np_analysis *analysis, const struct np_manifest *manifest, size_t threads,
		 struct np_err *err)
{
	NP_CLEANUP(np_peers_freep) struct np_peers *peers = NULL;
	struct np_timings *timings = &analysis->run->timings;
	int rc = np_align_build(analysis->run, threads, &analysis->align, err);

	np_timings_lap(timings, NP_TIMED_MATCH);
	if (rc == NP_OK)
		rc = np_clock_build(analysis->align, manifest, threads, &analysis->clock, err);
	if (rc == NP_OK)
		rc = np_pipeline_peers(analysis->cluster, analysis->clock, &peers, err);
	if (rc == NP_OK && peers) {
		rc = np_align_set_peers(analysis->align, NP_STEAL(peers), threads, err);
		np_clock_freep(&analysis->clock);
		if (rc == NP_OK)
			rc = np_clock_build(analysis->align, manifest, threads, &analysis->clock,
					    err);
	}
	np_timings_lap(timings, NP_TIMED_CLOCK);
	if (rc == NP_OK)
		rc = np_waits_measure(analysis->align, analysis->clock, threads, &analysis->waits,
				      err);
	np_timings_lap(timings, NP_TIMED_WAITS);
	return rc;
}

/* A stage that began with the last lap has ended; others do something else beside it. */
static void lap_beside(struct np_timings *timings, enum np_timed_stage stage,
		       struct np_thread_time *time)
{
	np_timings_end_beside(time);
	np_timings_add_beside(timings, stage, time);
	np_timings_begin_beside(time);
}

static int measure(struct np_analysis *analysis, size_t threads, struct np_thread_time *time,
		   struct np_err *err)
{
	struct np_timings *timings = &analysis->run->timings;
	int rc = np_charges_measure(analysis->align, analysis->clock, &analysis->waits,
				    np_cluster_world(analysis->cluster), threads,
				    &analysis->charges, err);

	lap_beside(timings, NP_TIMED_WAITS, time);
	if (rc == NP_OK)
		rc = np_root_cause_measure(analysis->align, analysis->clock, &analysis->waits,
					   &analysis->charges, threads, &analysis->causes, err);
	if (rc == NP_OK)
		rc = np_root_cause_settle(analysis->cluster, &analysis->charges, &analysis->causes,
					  err);
	if (rc == NP_OK)
		rc = np_charge_sums_measure(analysis->cluster, analysis->align, &analysis->charges,
					    &analysis->causes, &analysis->charge_sums, err);
	lap_beside(timings, NP_TIMED_ROOT_CAUSE, time);
	if (rc == NP_OK)
		rc = np_partition_measure(analysis->cluster, analysis->align, &analysis->waits,
					  &analysis->partition, err);
	if (rc == NP_OK)
		rc = np_comm_sums_measure(analysis->cluster, &analysis->sums, err);
	if (rc < 0)
		return rc;
	np_comm_sums_set_waits(analysis->cluster, analysis->align, &analysis->waits,
			       &analysis->sums);
	rc = np_comm_sums_roles(&analysis->sums, &analysis->roles, err);
	if (rc == NP_OK)
		rc = np_comm_sums_total(&analysis->sums, &analysis->totals, err);
	return rc;
}

/* What the machine did: links, stages, experts. */
static int measure_parts(struct np_analysis *analysis, struct np_err *err)
{
	int rc = np_links_measure(analysis->cluster, analysis->align, &analysis->waits,
				  &analysis->links, err);

	if (rc == NP_OK)
		rc = np_pipeline_measure(analysis->cluster, analysis->align, &analysis->waits,
					 &analysis->pipeline, err);
	if (rc == NP_OK)
		rc = np_experts_measure(analysis->align, &analysis->experts, err);
	return rc;
}

/*
 * Single ranks and hosts that are tried, by every command alike, so that none knows of one
 * that the verdict does not: fewer where a replay takes long.
 */
#define MOST_TRIED   64
#define FEWEST_TRIED 12
#define MARKS_TRIED  50000000

static size_t count_tries(const struct np_replay *replay)
{
	size_t marks = replay && replay->marks.count > 0 ? replay->marks.count : 1;
	size_t tries = MARKS_TRIED / marks;

	tries = tries > MOST_TRIED ? MOST_TRIED : tries;
	return tries < FEWEST_TRIED ? FEWEST_TRIED : tries;
}

struct np_whatif_input np_analysis_repairs(const struct np_analysis *analysis, size_t threads)
{
	return (struct np_whatif_input){ .replay = analysis->replay,
					 .links = &analysis->links,
					 .experts = &analysis->experts,
					 .causes = &analysis->causes,
					 .threads = threads,
					 .most = count_tries(analysis->replay) };
}

/* Captures are of different steps: which of them the replay, and with it the verdict, is of. */
static void note_left_out(struct np_analysis *analysis)
{
	const struct np_replay *replay = analysis->replay;
	NP_CLEANUP(np_buf_release) struct np_buf steps = NP_BUF_INIT;

	if (!replay->left_out)
		return;
	for (size_t i = 0; i < analysis->cluster->steps.count; i++) {
		const char *step = np_run_text(analysis->run, analysis->cluster->steps.item[i]);

		if (!(replay->left_out[i] & NP_STEP_LEFT_OUT))
			np_buf_printf(&steps, "%s%s", steps.length > 0 ? ", " : "",
				      step ? step : "?");
	}
	np_note_add(&analysis->run->notes, NP_NOTE_WARNING, NP_NO_RANK,
		    analysis->run->roots.count ? analysis->run->roots.item[0] : "", "replay",
		    "ranks were captured for different steps: verdict and repairs are of those "
		    "that all have: %s",
		    steps.text ? steps.text : "");
}

static int balance(struct np_analysis *analysis, size_t threads, struct np_err *err)
{
	int32_t *stages = NULL;
	size_t count;
	int rc = np_replay_stages(analysis->cluster, &stages, &count, err);

	if (rc == NP_OK)
		rc = np_balance_measure(analysis->align, analysis->clock, analysis->cluster, stages,
					threads, &analysis->balance, err);
	free(stages);
	return rc;
}

enum {
	BESIDE_CAUSES,
	BESIDE_BALANCE, /* and parts before it */
	BESIDE_JOBS,
};

/* What is measured side by side: each on threads of its own. */
struct beside {
	struct np_analysis *analysis;
	size_t threads[BESIDE_JOBS];
	struct np_thread_time time[BESIDE_JOBS];
	struct np_thread_time balance;
	struct np_err errors[BESIDE_JOBS];
	int rc[BESIDE_JOBS];
};

static void measure_beside(void *context, size_t job)
{
	struct beside *beside = context;
	struct np_analysis *analysis = beside->analysis;
	struct np_timings *timings = &analysis->run->timings;
	struct np_err *err = &beside->errors[job];
	struct np_thread_time *time = &beside->time[job];
	int *rc = &beside->rc[job];

	np_timings_begin_beside(time);
	if (job == BESIDE_CAUSES) {
		*rc = measure(analysis, beside->threads[job], time, err);
		lap_beside(timings, NP_TIMED_PARTS, time);
		return;
	}
	*rc = measure_parts(analysis, err);
	np_timings_end_beside(time);
	np_timings_begin_beside(&beside->balance);
	if (*rc == NP_OK && analysis->align->matched > 0)
		*rc = balance(analysis, beside->threads[job], err);
	np_timings_end_beside(&beside->balance);
}

/* What the measures needed for themselves is not kept by the C library for the replay. */
static void give_back_memory(void)
{
#ifdef __GLIBC__
	(void)malloc_trim(0);
#endif
}

/* So few operators are done before a thread has started. */
#define FEW_OPS 20000

/*
 * Causes of waiting are made of waits, and links, stages and the balance as well: half of either is
 * a single thread's. What the balance tries comes last, when the other half has mostly ended.
 * It is there before the replay, as either would be most of what is held at once.
 */
static int measure_all(struct np_analysis *analysis, size_t threads, struct np_err *err)
{
	size_t count = threads ? threads : np_processors();
	bool together = count > 1 && analysis->align->op_count >= FEW_OPS;
	const struct np_workers workers = { .threads = together ? BESIDE_JOBS : 1 };
	struct np_timings *timings = &analysis->run->timings;
	struct beside beside = { .analysis = analysis,
				 .threads = { together ? count - 1 : threads, threads },
				 .errors = { NP_ERR_INIT, NP_ERR_INIT } };

	np_workers_run(&workers, BESIDE_JOBS, measure_beside, &beside);
	give_back_memory();
	np_timings_add_beside(timings, NP_TIMED_PARTS, &beside.time[BESIDE_BALANCE]);
	np_timings_add_beside(timings, NP_TIMED_REPLAY, &beside.balance);
	np_timings_start(timings);
	for (size_t i = 0; i < BESIDE_JOBS; i++) {
		if (beside.rc[i] < 0)
			return np_fail(err, (enum np_code)beside.rc[i], "%s",
				       beside.errors[i].text);
	}
	return NP_OK;
}

static int replay(struct np_analysis *analysis, size_t threads, struct np_err *err)
{
	struct np_whatif_input input;
	int rc;

	if (analysis->align->matched == 0)
		return NP_OK;
	rc = np_replay_build(analysis->cluster, analysis->align, analysis->clock,
			     &analysis->experts, threads, &analysis->replay, err);
	input = np_analysis_repairs(analysis, threads);
	if (rc == NP_OK)
		note_left_out(analysis);
	if (rc == NP_OK)
		rc = np_whatif_measure(&input, &analysis->whatif, err);
	if (rc == NP_OK)
		rc = np_replay_path(analysis->replay, &analysis->path, err);
	return rc == NP_OK ? np_efficiency_measure(analysis->replay, &analysis->efficiency, err)
			   : rc;
}

/* What reports begin with. */
static int summarise(struct np_analysis *analysis, struct np_err *err)
{
	int rc = np_readiness_measure(analysis->cluster, analysis->align, analysis->readiness, err);

	if (rc == NP_OK)
		rc = np_spreads_measure(analysis->cluster, &analysis->spreads, err);
	if (rc == NP_OK)
		rc = np_breakdown_measure(analysis->cluster, &analysis->partition,
					  &analysis->breakdown, err);
	if (rc == NP_OK)
		rc = np_memory_growths_measure(analysis->run, &analysis->memory_growths, err);
	if (rc == NP_OK)
		rc = np_whatif_sort(&analysis->whatif, analysis->run, &analysis->causes,
				    &analysis->order, err);
	if (rc == NP_OK && analysis->replay)
		rc = np_job_findings_measure(analysis->replay, &analysis->findings, err);
	if (rc == NP_OK && analysis->pipeline.stages < 2)
		rc = np_totals_find(analysis->cluster, &analysis->findings, err);
	if (rc == NP_OK)
		rc = np_fused_find(analysis->run, &analysis->findings, err);
	if (rc == NP_OK)
		rc = np_verdict_measure(analysis, &analysis->verdict, err);
	return rc;
}

struct explaining {
	struct np_analysis *analysis;
	struct np_courses *courses; /* NULL without a replay */
	struct np_err *errors;
};

static void explain_one(void *context, size_t index)
{
	const struct explaining *explaining = context;
	struct np_analysis *analysis = explaining->analysis;
	struct np_explanation *each = &analysis->explanations[index];
	struct np_err *err = &explaining->errors[index];
	int rc = np_explanation_measure(analysis->cluster, &analysis->causes, &analysis->charges,
					analysis->order.ranks[index], each, err);

	if (rc == NP_OK)
		rc = np_explanation_add_waiters(analysis->align, analysis->clock, &analysis->waits,
						each, err);
	/* A failure stays in the list. */
	if (rc == NP_OK && explaining->courses)
		(void)!np_courses_measure(explaining->courses, analysis->order.ranks[index],
					  &analysis->courses[index], err);
}

int np_analysis_explain(struct np_analysis *analysis, size_t threads, struct np_err *err)
{
	const struct np_workers workers = { .threads = threads };
	struct explaining explaining = { .analysis = analysis };
	size_t count = analysis->order.count;
	int rc = NP_OK;

	if (analysis->explanations)
		return NP_OK;
	analysis->explanations = calloc(count + 1, sizeof(*analysis->explanations));
	analysis->courses = calloc(count + 1, sizeof(*analysis->courses));
	explaining.errors = calloc(count + 1, sizeof(*explaining.errors));
	if (!analysis->explanations || !analysis->courses || !explaining.errors)
		rc = np_fail_nomem(err, "causes of waiting");
	if (rc == NP_OK && analysis->replay)
		rc = np_courses_new(analysis->replay, &explaining.courses, err);
	if (rc == NP_OK)
		np_workers_run(&workers, count, explain_one, &explaining);
	for (size_t i = 0; i < count && rc == NP_OK; i++) {
		if (explaining.errors[i].code < 0)
			rc = np_fail(err, explaining.errors[i].code, "%s",
				     explaining.errors[i].text);
	}
	np_courses_free(explaining.courses);
	free(explaining.errors);
	np_timings_lap(&analysis->run->timings, NP_TIMED_VERDICT);
	return rc;
}

/* --- all of it ------------------------------------------------------------------------------- */

/* What names the ends of links to ranks that were not profiled is an assumption. */
static void note_assumed(struct np_analysis *analysis)
{
	const struct np_cluster *cluster = analysis->cluster;

	for (size_t i = 0; i < cluster->communicators.count; i++) {
		const struct np_communicator *each = &cluster->communicators.item[i];

		if (each->assumed && each->size > each->observed_count)
			np_note_add(&analysis->run->notes, NP_NOTE_WARNING, NP_NO_RANK,
				    analysis->run->roots.count ? analysis->run->roots.item[0] : "",
				    "communicators",
				    "nothing says how many ranks the job has: %" PRIu64
				    ", the largest with %zu, is assumed to be of all of them",
				    each->hash, each->size);
	}
}

/* The run and its communicators, from which everything begins. */
static int begin(struct np_run *run, const struct np_manifest *manifest, struct np_analysis **ret,
		 struct np_err *err)
{
	struct np_analysis *analysis = calloc(1, sizeof(*analysis));
	int rc;

	if (!analysis) {
		np_run_free(run);
		return np_fail_nomem(err, "the analysis");
	}
	*ret = analysis;
	analysis->run = run;
	analysis->version = "";
	np_timings_start(&run->timings);
	rc = np_cluster_build(run, &analysis->cluster, err);
	/* The collector knows how many ranks it started. */
	if (rc == NP_OK && manifest && analysis->cluster->parallel.world == 0) {
		analysis->cluster->parallel.world = manifest->world;
		rc = np_cluster_name_world(analysis->cluster, err);
	}
	if (rc == NP_OK)
		note_assumed(analysis);
	return rc;
}

int np_analysis_build_for_modes(struct np_run *run, const struct np_manifest *manifest,
				bool times_only, size_t threads, struct np_analysis **ret,
				struct np_err *err)
{
	NP_CLEANUP(np_analysis_freep) struct np_analysis *analysis = NULL;
	int rc = begin(run, manifest, &analysis, err);

	if (rc == NP_OK && times_only)
		rc = np_align_build(run, threads, &analysis->align, err);
	else if (rc == NP_OK)
		rc = align(analysis, manifest, threads, err);
	if (rc == NP_OK && !times_only)
		rc = short_captures_find(run, analysis->cluster, analysis->align, err);
	if (rc < 0)
		return rc;
	np_timings_lap(&run->timings, NP_TIMED_MATCH);
	*ret = NP_STEAL(analysis);
	return NP_OK;
}

int np_analysis_build(struct np_run *run, const struct np_manifest *manifest, size_t threads,
		      struct np_analysis **ret, struct np_err *err)
{
	NP_CLEANUP(np_analysis_freep) struct np_analysis *analysis = NULL;
	int rc = begin(run, manifest, &analysis, err);

	/* Without memory for it the run is gone as well. */
	if (!analysis)
		return rc;
	if (rc == NP_OK)
		rc = align(analysis, manifest, threads, err);
	if (rc == NP_OK)
		rc = short_captures_find(run, analysis->cluster, analysis->align, err);
	np_timings_lap(&run->timings, NP_TIMED_MATCH);
	if (rc == NP_OK)
		rc = measure_all(analysis, threads, err);
	if (rc == NP_OK)
		rc = replay(analysis, threads, err);
	np_timings_lap(&run->timings, NP_TIMED_REPLAY);
	if (rc == NP_OK)
		rc = summarise(analysis, err);
	np_timings_lap(&run->timings, NP_TIMED_VERDICT);
	if (rc < 0)
		return rc;
	np_run_fingerprint(analysis->run, analysis->fingerprint);
	*ret = NP_STEAL(analysis);
	return NP_OK;
}
