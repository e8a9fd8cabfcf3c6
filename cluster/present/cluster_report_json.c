/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the report of a run as JSON: what is nested by hand, flat rows as the tables have them. */
#include "cluster_report.h"

#include "cli/prepare/input_json.h"
#include "cli/prepare/timings_json.h"
#include "cli/prepare/trust_json.h"
#include "cli/prepare/verdict_json.h"
#include "whatif_report.h"

#include "npuprof/op_times.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>

static void put_ranks(struct np_jsonout *out, const char *key, const int32_t *ranks, size_t count)
{
	if (!ranks) {
		np_jsonout_null(out, key);
		return;
	}
	np_jsonout_array_line(out, key);
	for (size_t i = 0; i < count; i++)
		np_jsonout_integer(out, NULL, ranks[i]);
	np_jsonout_end(out);
}

/* --- steps and communicators ----------------------------------------------------------------- */

static void put_coordinate(struct np_jsonout *out, const char *key, int32_t index)
{
	np_jsonout_integer(out, key, index < 0 ? NP_UNKNOWN : index);
}

static np_ns host_step(const struct np_step *step)
{
	if (step->host_begin == NP_UNKNOWN || step->host_end == NP_UNKNOWN)
		return NP_UNKNOWN;
	return step->host_end - step->host_begin;
}

/* Null for a rank without intervals, which trust.withheld names. */
static void put_partition(struct np_jsonout *out, const struct cluster_report *report, size_t rank,
			  size_t time)
{
	const struct np_partition *partition = &report->analysis->partition;
	const struct np_partition_cell *cell = np_partition_of(partition, rank, time);

	if (!cell) {
		np_jsonout_null(out, "partition");
		return;
	}
	np_jsonout_array(out, "partition");
	for (size_t i = 0; i < cell->count; i++) {
		np_jsonout_object(out, NULL);
		np_jsonout_text(out, "leaf", partition->parts.item[cell->first + i].leaf);
		np_jsonout_integer(out, "ns", partition->parts.item[cell->first + i].ns);
		np_jsonout_end(out);
	}
	np_jsonout_end(out);
}

static void put_rank_time(struct np_jsonout *out, const struct cluster_report *report, size_t index,
			  size_t time_index)
{
	const struct np_rank *rank = report->analysis->run->ranks[index];
	const struct np_step_time *time = &rank->times.item[time_index];
	const struct np_coordinates *at = &report->analysis->cluster->coordinates[index];

	np_jsonout_object_line(out, NULL);
	np_jsonout_integer(out, "rank", rank->id);
	np_jsonout_integer(out, "device", time->device < 0 ? NP_UNKNOWN : time->device);
	np_jsonout_text(out, "host", np_run_text(report->analysis->run, rank->host_name));
	np_jsonout_integer(out, "computing_ns", time->computing);
	np_jsonout_integer(out, "communication_ns", time->communication);
	np_jsonout_integer(out, "communication_not_overlapped_ns",
			   time->communication_not_overlapped);
	np_jsonout_integer(out, "overlapped_ns", time->overlapped);
	np_jsonout_integer(out, "free_ns", time->free);
	np_jsonout_integer(out, "bubble_ns", time->bubble);
	np_jsonout_integer(out, "stage_ns", time->stage);
	np_jsonout_integer(out, "preparing_ns", time->preparing);
	np_jsonout_integer(out, "span_ns", time->span);
	np_jsonout_integer(out, "iteration_ns", np_step_iteration(time));
	np_jsonout_integer(out, "between_ns", np_step_between(time));
	np_jsonout_text(out, "source", np_rank_times_are_vendors(rank) ? "vendor" : "intervals");
	np_jsonout_integer(out, "host_step_ns", host_step(&rank->steps.item[time->step]));
	np_jsonout_integer(out, "e2e_ns", time->e2e);
	put_partition(out, report, index, time_index);
	put_coordinate(out, "dp", at->dp);
	put_coordinate(out, "pp", at->pp);
	put_coordinate(out, "tp", at->tp);
	put_coordinate(out, "cp", at->cp);
	put_coordinate(out, "ep", at->ep);
	np_jsonout_end(out);
}

static void put_step(struct np_jsonout *out, const struct cluster_report *report, np_str step)
{
	np_jsonout_object(out, NULL);
	np_jsonout_text(out, "step", np_run_text(report->analysis->run, step));
	np_jsonout_array(out, "ranks");
	for (size_t i = 0; i < report->analysis->run->sources.count; i++) {
		const struct np_rank *rank = report->analysis->run->ranks[i];

		for (size_t j = 0; rank && j < rank->times.count; j++) {
			if (rank->steps.item[rank->times.item[j].step].id == step)
				put_rank_time(out, report, i, j);
		}
	}
	np_jsonout_end(out);
	np_jsonout_end(out);
}

static void put_sum(struct np_jsonout *out, const struct cluster_report *report,
		    const struct np_comm_sum *sum)
{
	np_jsonout_object_line(out, NULL);
	np_jsonout_text(out, "step", np_run_text(report->analysis->run, sum->step));
	np_jsonout_integer(out, "ops", (int64_t)sum->ops);
	np_jsonout_integer(out, "bytes", sum->bytes);
	np_jsonout_integer(out, "moved_bytes", sum->moved_bytes);
	np_jsonout_real(out, "gb_per_s", np_gb_per_s(sum->moved_bytes, sum->moved_time));
	np_jsonout_integer(out, "elapsed_ns", sum->elapsed);
	np_jsonout_integer(out, "wait_ns", sum->wait);
	np_jsonout_integer(out, "transit_ns", sum->transit);
	np_jsonout_integer(out, "exposed_ns", sum->exposed);
	np_jsonout_integer(out, "overlapped_ns", sum->overlapped);
	np_jsonout_integer(out, "computing_ns", sum->computing);
	np_jsonout_real(out, "comm_compute_ratio", np_comm_compute_ratio(sum));
	np_jsonout_text(out, "estimator", sum->estimator);
	np_jsonout_end(out);
}

static void put_communicator(struct np_jsonout *out, const struct cluster_report *report,
			     const struct np_communicator *each)
{
	const struct np_comm_sums *sums = &report->analysis->sums;
	char hash[24];

	(void)snprintf(hash, sizeof(hash), "%" PRIu64, each->hash);
	np_jsonout_object(out, NULL);
	np_jsonout_text(out, "group", hash);
	np_jsonout_text(out, "name", np_run_text(report->analysis->run, each->name));
	np_jsonout_text(out, "pg_name", np_run_text(report->analysis->run, each->pg_name));
	np_jsonout_text(out, "role", np_run_text(report->analysis->run, each->pg_name));
	np_jsonout_text(out, "type", each->collective ? "collective" : "p2p");
	put_ranks(out, "ranks", each->members, each->member_count);
	put_ranks(out, "observed", each->observed, each->observed_count);
	np_jsonout_array(out, "steps");
	for (size_t i = 0; i < sums->list.count; i++) {
		if (sums->list.item[i].communicator == each)
			put_sum(out, report, &sums->list.item[i]);
	}
	np_jsonout_end(out);
	np_jsonout_end(out);
}

/* --- where the step goes --------------------------------------------------------------------- */

static void put_where_part(struct np_jsonout *out, const char *what, const char *name,
			   const struct np_where_part *part)
{
	np_jsonout_object_line(out, NULL);
	np_jsonout_text(out, what, name);
	np_jsonout_integer(out, "ns", part->mean);
	np_jsonout_real(out, "share", part->share);
	np_jsonout_end(out);
}

static void put_breakdown(struct np_jsonout *out, const struct np_breakdown *where)
{
	if (where->cells == 0) {
		np_jsonout_null(out, "breakdown");
		return;
	}
	np_jsonout_object(out, "breakdown");
	np_jsonout_integer(out, "step_ns", where->mean);
	np_jsonout_integer(out, "devices", (int64_t)where->devices);
	np_jsonout_integer(out, "steps", (int64_t)where->steps);
	np_jsonout_array(out, "parts");
	for (int i = 0; i < NP_WHERE_KINDS; i++)
		put_where_part(out, "part", np_where_name((enum np_where)i), &where->parts[i]);
	np_jsonout_end(out);
	np_jsonout_array(out, "idle");
	for (int i = 0; i < NP_BETWEEN_KINDS; i++)
		put_where_part(out, "cause", np_idle_name((enum np_between)i), &where->idle[i]);
	np_jsonout_end(out);
	np_jsonout_integer(out, "between_ns", where->between.mean);
	np_jsonout_end(out);
}

static void put_device_sort(struct np_jsonout *out, const struct np_device_time *time,
			    const struct np_device_sort *sort)
{
	enum np_unit bound = np_device_sort_bound(sort);
	const np_str texts[] = { sort->type, sort->shapes, sort->core };
	static const char *const names[] = { "type", "shapes", "core" };

	np_jsonout_object_line(out, NULL);
	for (size_t i = 0; i < NP_COUNT(texts); i++)
		np_jsonout_text(out, names[i],
				texts[i] == NP_STR_NONE ? NULL
							: np_strtab_text(time->strings, texts[i]));
	np_jsonout_integer(out, "count", sort->count);
	np_jsonout_integer(out, "total_ns", sort->total);
	np_jsonout_integer(out, "per_step_ns", sort->per_step);
	np_jsonout_real(out, "share", sort->share);
	np_jsonout_text(out, "bound", np_unit_name(bound));
	np_jsonout_object(out, "busy");
	for (int i = 0; i < NP_UNITS; i++)
		np_jsonout_real(out, np_unit_name((enum np_unit)i), sort->busy[i]);
	np_jsonout_end(out);
	np_jsonout_end(out);
}

/* Kernels of a single card; null where there are ranks to compare, or none were recorded. */
static void put_device_time(struct np_jsonout *out, const struct np_device_time *time)
{
	if (!time) {
		np_jsonout_null(out, "device_time");
		return;
	}
	np_jsonout_object(out, "device_time");
	np_jsonout_integer(out, "kernels", time->count);
	np_jsonout_integer(out, "total_ns", time->total);
	np_jsonout_integer(out, "per_step_ns", time->per_step);
	np_jsonout_array(out, "sorts");
	for (size_t i = 0; i < time->list.count; i++)
		put_device_sort(out, time, &time->list.item[i]);
	np_jsonout_end(out);
	np_jsonout_end(out);
}

/* --- stragglers ------------------------------------------------------------------------------ */

/* Who is charged: a share of all waiting, unknown without any. */
static void put_charge(struct np_jsonout *out, const struct np_charges *charges, np_ns recovered,
		       np_ns charge, np_ns direct)
{
	np_jsonout_integer(out, "recovered_ns", recovered);
	np_jsonout_integer(out, "cost_ns", charge);
	np_jsonout_integer(out, "direct_ns", direct);
	np_jsonout_real(out, "share",
			charges->total > 0 ? (double)charge / (double)charges->total : (double)NAN);
}

static void put_group(struct np_jsonout *out, const struct cluster_report *report,
		      uint32_t communicator)
{
	char hash[24];

	if (communicator == UINT32_MAX) {
		np_jsonout_null(out, "group");
		return;
	}
	(void)snprintf(hash, sizeof(hash), "%" PRIu64,
		       report->analysis->align->communicators.item[communicator].hash);
	np_jsonout_text(out, "group", hash);
}

static void put_chain(struct np_jsonout *out, const struct cluster_report *report,
		      const struct np_explanation *explanation)
{
	struct np_rank *const *ranks = report->analysis->run->ranks;

	np_jsonout_array(out, "chain");
	for (size_t i = 0; i < explanation->count; i++) {
		const struct np_root_cause_link *link = &explanation->chain[i];
		const struct np_root_cause_waiters *waiters = &explanation->waiters[i];
		NP_CLEANUP(np_buf_release) struct np_buf why = NP_BUF_INIT;

		np_verdict_put_why(&why, report->analysis, explanation, i);
		np_jsonout_object(out, NULL);
		np_jsonout_integer(out, "rank", ranks[link->rank]->id);
		np_jsonout_made(out, "why", &why);
		put_group(out, report, link->communicator);
		np_jsonout_array(out, "waiters");
		for (size_t j = 0; j < waiters->list.count; j++)
			np_jsonout_integer(out, NULL, ranks[waiters->list.item[j].rank]->id);
		np_jsonout_end(out);
		np_jsonout_integer(out, "cost_ns", link->charge);
		np_jsonout_end(out);
	}
	np_jsonout_end(out);
}

/* How it went on from step to step; null where that is not known. */
static void put_course(struct np_jsonout *out, const struct np_run *run,
		       const struct np_course *course)
{
	if (course->kind == NP_COURSE_UNKNOWN) {
		np_jsonout_null(out, "course");
		return;
	}
	np_jsonout_object(out, "course");
	np_jsonout_text(out, "kind", np_course_name(course->kind));
	np_jsonout_array(out, "steps");
	for (size_t i = 0; i < course->steps.count; i++)
		np_jsonout_text(out, NULL, np_run_text(run, course->steps.item[i]));
	np_jsonout_end(out);
	np_jsonout_end(out);
}

static void put_straggler(struct np_jsonout *out, const struct cluster_report *report,
			  const struct np_explanation *explanation, const struct np_course *course)
{
	const struct np_analysis *analysis = report->analysis;
	const struct np_charges *charges = &analysis->charges;
	const struct np_root_causes *causes = &analysis->causes;
	uint32_t index = explanation->rank;
	const struct np_rank *rank = analysis->run->ranks[index];

	np_jsonout_object_line(out, NULL);
	np_jsonout_integer(out, "rank", rank->id);
	np_jsonout_text(out, "host", np_run_text(analysis->run, rank->host_name));
	put_charge(out, charges, np_whatif_saved(&analysis->whatif, rank->id),
		   causes->ranks[index].charge, charges->ranks[index].charge);
	np_jsonout_integer(out, "last_arrivals", charges->ranks[index].last_arrivals);
	np_jsonout_integer(out, "instances", charges->ranks[index].instances);
	np_jsonout_text(out, "kind", np_root_cause_kind(causes, index));
	np_jsonout_text(out, "cause", np_cause_name(np_root_cause_main(causes, index)));
	put_course(out, analysis->run, course);
	put_chain(out, report, explanation);
	np_jsonout_end(out);
}

static void put_unprofiled(struct np_jsonout *out, const struct cluster_report *report)
{
	np_jsonout_object_line(out, NULL);
	np_jsonout_null(out, "rank");
	np_jsonout_null(out, "host");
	put_charge(out, &report->analysis->charges, NP_UNKNOWN, report->analysis->causes.unprofiled,
		   report->analysis->charges.unprofiled);
	np_jsonout_null(out, "last_arrivals");
	np_jsonout_null(out, "instances");
	np_jsonout_null(out, "kind");
	np_jsonout_text(out, "cause", "unknown");
	np_jsonout_null(out, "course");
	np_jsonout_array(out, "chain");
	np_jsonout_end(out);
	np_jsonout_end(out);
}

/* By cost; ranks that were not profiled stand where their cost puts them. */
static void put_stragglers(struct np_jsonout *out, const struct cluster_report *report)
{
	const struct np_analysis *analysis = report->analysis;
	const struct np_root_causes *causes = &analysis->causes;
	bool unprofiled_due = causes->unprofiled > 0;

	np_jsonout_array(out, "stragglers");
	for (size_t i = 0; i < analysis->order.count; i++) {
		const struct np_explanation *each = &analysis->explanations[i];

		if (unprofiled_due && causes->unprofiled > causes->ranks[each->rank].charge) {
			put_unprofiled(out, report);
			unprofiled_due = false;
		}
		put_straggler(out, report, each, &analysis->courses[i]);
	}
	if (unprofiled_due)
		put_unprofiled(out, report);
	np_jsonout_end(out);
	put_verdict_json(out, &analysis->verdict);
	np_jsonout_integer(out, "unattributed_ns", analysis->causes.unattributed);
}

/* --- flat rows: tables whose rows are objects, some of them without all columns --------------- */

static int put_roles(struct np_jsonout *out, const struct np_analysis *analysis, struct np_err *err)
{
	static const struct np_json_field fields[] = {
		{ "role", NULL },
		{ "step", NULL },
		{ "ops", NULL },
		{ "bytes", NULL },
		{ "moved_bytes", NULL },
		{ "gb_per_s", NULL },
		{ "elapsed_ns", NULL },
		{ "wait_ns", NULL },
		{ "transit_ns", NULL },
		{ "exposed_ns", NULL },
		{ "overlapped_ns", NULL },
		{ "computing_ns", NULL },
		{ "comm_compute_ratio", NULL },
		{ "estimator", NULL },
	};

	return np_jsonout_relation(out, "roles", &np_table_role_step, analysis, fields,
				   NP_COUNT(fields), err);
}

/* The same charges by host, stage and role; a field that does not belong to the kind is null. */
static int put_charges(struct np_jsonout *out, const struct np_analysis *analysis,
		       struct np_err *err)
{
	static const struct np_json_field fields[] = {
		{ "kind", NULL },    { "name", NULL },      { "stage", NULL },
		{ "cost_ns", NULL }, { "direct_ns", NULL },
	};

	return np_jsonout_relation(out, "charges", &np_table_charge, analysis, fields,
				   NP_COUNT(fields), err);
}

static int put_links(struct np_jsonout *out, const struct np_analysis *analysis, struct np_err *err)
{
	static const struct np_json_field fields[] = {
		{ "src", NULL },       { "dst", NULL },
		{ "transport", NULL }, { "plane", NULL },
		{ "bytes", NULL },     { "time_ns", NULL },
		{ "gb_per_s", NULL },  { "peers_gb_per_s", NULL },
		{ "retries", NULL },   { "verdict", NULL },
		{ "kind", NULL },      { "src_local", NULL },
		{ "dst_local", NULL },
	};

	return np_jsonout_relation(out, "links", &np_table_link, analysis, fields, NP_COUNT(fields),
				   err);
}

static int put_experts(struct np_jsonout *out, const struct np_analysis *analysis,
		       struct np_err *err)
{
	static const struct np_json_field fields[] = {
		{ "group_name", "group" }, { "step", NULL },    { "rank", NULL },
		{ "tokens", NULL },        { "lost_ns", NULL }, { "source", NULL },
	};

	return np_jsonout_relation(out, "experts", &np_table_expert, analysis, fields,
				   NP_COUNT(fields), err);
}

static int put_parts(struct np_jsonout *out, const struct np_analysis *analysis, struct np_err *err)
{
	int rc = put_charges(out, analysis, err);

	if (rc == NP_OK)
		rc = put_links(out, analysis, err);
	if (rc == NP_OK)
		rc = np_jsonout_relation(out, "pipeline", &np_table_pipeline, analysis, NULL, 0,
					 err);
	if (rc == NP_OK)
		rc = put_experts(out, analysis, err);
	if (rc == NP_OK)
		rc = np_jsonout_relation(out, "memory", &np_table_memory, analysis, NULL, 0, err);
	return rc;
}

static void put_job_finding(struct np_jsonout *out, const struct cluster_report *report,
			    const struct np_job_finding *finding)
{
	np_jsonout_object_line(out, NULL);
	np_jsonout_text(out, "what", np_job_finding_name(finding->kind));
	put_group(out, report, finding->communicator);
	np_jsonout_array(out, "ranks");
	for (size_t i = 0; i < finding->ranks.count; i++)
		np_jsonout_integer(out, NULL, finding->ranks.item[i]);
	np_jsonout_end(out);
	np_jsonout_text(out, "detail", finding->detail);
	np_jsonout_end(out);
}

/* Ranks disagree about what they did together: a fault of the job, not of the profile. */
static void put_job_findings(struct np_jsonout *out, const struct cluster_report *report)
{
	const struct np_align *align = report->analysis->align;

	np_jsonout_array(out, "job_findings");
	for (size_t i = 0; i < align->findings.count; i++) {
		const struct np_align_finding *finding = &align->findings.item[i];
		const struct np_instance *instance = &align->instances.item[finding->instance];
		const char *type = np_run_text(report->analysis->run, finding->type);
		char hash[24];
		char detail[160];

		(void)snprintf(hash, sizeof(hash), "%" PRIu64,
			       align->communicators.item[finding->communicator].hash);
		(void)snprintf(detail, sizeof(detail),
			       "ranks disagree about type or size of %" PRIu32
			       " operators, the first a %s",
			       finding->count, type ? type : "?");
		np_jsonout_object_line(out, NULL);
		np_jsonout_text(out, "what", "signature mismatch");
		np_jsonout_text(out, "group", hash);
		np_jsonout_array(out, "ranks");
		for (uint32_t j = 0; j < instance->count; j++)
			np_jsonout_integer(out, NULL,
					   report->analysis->run
						   ->ranks[align->members[instance->first + j].rank]
						   ->id);
		np_jsonout_end(out);
		np_jsonout_text(out, "detail", detail);
		np_jsonout_end(out);
	}
	for (size_t i = 0; i < report->analysis->findings.list.count; i++)
		put_job_finding(out, report, &report->analysis->findings.list.item[i]);
	np_jsonout_end(out);
}

int report_json(const struct cluster_report *report, FILE *stream, struct np_err *err)
{
	const struct np_analysis *analysis = report->analysis;
	const struct np_cluster *cluster = analysis->cluster;
	struct np_jsonout out;
	int rc;

	assert(analysis->explanations);
	np_jsonout_init(&out, stream);
	np_jsonout_object(&out, NULL);
	np_jsonout_text(&out, "schema", "npuprof.cluster/1");
	put_input_json(&out, analysis->run, cluster, report->input, NULL);
	put_trust_json(&out, analysis);
	np_jsonout_text(&out, "step_basis", np_basis_name(analysis->spreads.basis));
	put_steps_from_json(&out, analysis->run);
	np_jsonout_array(&out, "steps");
	for (size_t i = 0; i < cluster->steps.count; i++)
		put_step(&out, report, cluster->steps.item[i]);
	np_jsonout_end(&out);
	np_jsonout_array(&out, "communicators");
	for (size_t i = 0; i < cluster->communicators.count; i++)
		put_communicator(&out, report, &cluster->communicators.item[i]);
	np_jsonout_end(&out);
	rc = put_roles(&out, analysis, err);
	put_stragglers(&out, report);
	if (rc == NP_OK)
		rc = put_parts(&out, analysis, err);
	put_job_findings(&out, report);
	if (rc == NP_OK)
		rc = whatif_put_json(&out, analysis, err);
	put_breakdown(&out, &analysis->breakdown);
	put_device_time(&out, analysis->device_time);
	put_timings_json(&out, report->verbose ? &analysis->run->timings : NULL);
	if (rc == NP_OK)
		rc = report_put_modes(&out, report, err);
	np_jsonout_end(&out);
	if (rc == NP_OK)
		rc = np_jsonout_finish(&out, err);
	np_jsonout_release(&out);
	return rc;
}
