/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/prepare/input_json.h"
#include "cluster_report.h"
#include "report_parts.h"
#include "verdict.h"
#include "whatif_report.h"

#include "npuprof/op_times.h"

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

static void put_clock(struct np_jsonout *out, const struct cluster_report *report)
{
	const struct np_clock *clock = report->analysis->clock;

	np_jsonout_object_line(out, "clock");
	np_jsonout_text(out, "method", np_clock_method_name(clock->method));
	np_jsonout_integer(out, "hosts", (int64_t)clock->hosts.count);
	np_jsonout_integer(out, "residual_p50_ns", clock->residual_p50);
	np_jsonout_integer(out, "residual_p90_ns", clock->residual_p90);
	np_jsonout_array(out, "ranks_off");
	for (size_t i = 0; i < clock->rank_count; i++) {
		if (report->analysis->run->ranks[i] && clock->ranks[i].off)
			np_jsonout_integer(out, NULL, report->analysis->run->ranks[i]->id);
	}
	np_jsonout_end(out);
	np_jsonout_end(out);
}

static void put_withheld(struct np_jsonout *out, const struct np_readiness *readiness)
{
	np_jsonout_object_line(out, NULL);
	np_jsonout_text(out, "what", readiness->name);
	np_jsonout_text(out, "reason", readiness->missing);
	np_jsonout_text(out, "switch", readiness->cure);
	np_jsonout_end(out);
}

int report_put_trust(struct np_jsonout *out, const struct cluster_report *report,
		     struct np_err *err)
{
	const struct np_waits *waits = &report->analysis->waits;
	struct np_readiness readiness[NP_ANALYSIS_COUNT];
	int rc;

	np_jsonout_object(out, "trust");
	np_jsonout_integer(out, "ops_total", report->analysis->align->op_count);
	np_jsonout_integer(out, "ops_matched", report->analysis->align->matched);
	put_clock(out, report);
	np_jsonout_object_line(out, "estimators");
	np_jsonout_integer(out, "aligned", (int64_t)waits->ops[NP_WAIT_ALIGNED]);
	np_jsonout_integer(out, "clock_free", (int64_t)waits->ops[NP_WAIT_CLOCK_FREE]);
	np_jsonout_integer(out, "tasks", (int64_t)waits->ops[NP_WAIT_TASKS]);
	np_jsonout_integer(out, "agreement_p50_ns", waits->agreement_p50);
	np_jsonout_integer(out, "agreement_p90_ns", waits->agreement_p90);
	np_jsonout_end(out);
	rc = np_readiness_measure(report->analysis->cluster, report->analysis->align, readiness,
				  err);
	np_jsonout_array(out, "withheld");
	for (size_t i = 0; i < report->withheld_count; i++)
		put_withheld(out, &report->withheld[i]);
	if (rc == NP_OK && !readiness[NP_ANALYSIS_PARTITION].ready)
		put_withheld(out, &readiness[NP_ANALYSIS_PARTITION]);
	np_jsonout_end(out);
	np_jsonout_end(out);
	return rc;
}

static void put_place(struct np_jsonout *out, const char *key, int32_t index)
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
	np_jsonout_integer(out, "host_step_ns", host_step(&rank->steps.item[time->step]));
	np_jsonout_integer(out, "e2e_ns", time->e2e);
	put_partition(out, report, index, time_index);
	put_place(out, "dp", at->dp);
	put_place(out, "pp", at->pp);
	put_place(out, "tp", at->tp);
	put_place(out, "cp", at->cp);
	put_place(out, "ep", at->ep);
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

static void put_sum_fields(struct np_jsonout *out, const struct cluster_report *report,
			   const struct np_comm_sum *sum)
{
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
}

static void put_sum(struct np_jsonout *out, const struct cluster_report *report,
		    const struct np_comm_sum *sum)
{
	np_jsonout_object_line(out, NULL);
	put_sum_fields(out, report, sum);
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

static void put_empty_array(struct np_jsonout *out, const char *key)
{
	np_jsonout_array(out, key);
	np_jsonout_end(out);
}

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

static int put_waiters(struct np_jsonout *out, const struct cluster_report *report,
		       const struct np_root_cause_link *link, struct np_err *err)
{
	const struct np_analysis *analysis = report->analysis;
	struct np_root_cause_waiters waiters = { 0 };
	int rc = NP_OK;

	if (link->communicator != UINT32_MAX)
		rc = np_root_cause_waiters(analysis->align, analysis->clock, &analysis->waits,
					   link->rank, link->communicator, &waiters, err);
	np_jsonout_array(out, "waiters");
	for (size_t i = 0; i < waiters.list.count; i++)
		np_jsonout_integer(out, NULL,
				   report->analysis->run->ranks[waiters.list.item[i].rank]->id);
	np_jsonout_end(out);
	np_vec_release(&waiters.list);
	return rc;
}

static int put_chain(struct np_jsonout *out, const struct cluster_report *report, uint32_t index,
		     struct np_err *err)
{
	struct np_root_cause_link chain[NP_ROOT_CAUSE_CHAIN];
	size_t count = np_root_cause_chain(&report->analysis->causes, &report->analysis->charges,
					   index, chain);
	int rc = NP_OK;

	np_jsonout_array(out, "chain");
	for (size_t i = 0; i < count && rc == NP_OK; i++) {
		NP_CLEANUP(np_buf_release) struct np_buf why = NP_BUF_INIT;

		rc = verdict_put_why(&why, report, &chain[i], err);
		np_jsonout_object(out, NULL);
		np_jsonout_integer(out, "rank", report->analysis->run->ranks[chain[i].rank]->id);
		np_jsonout_text(out, "why", why.text);
		put_group(out, report, chain[i].communicator);
		if (rc == NP_OK)
			rc = put_waiters(out, report, &chain[i], err);
		np_jsonout_integer(out, "cost_ns", chain[i].charge);
		np_jsonout_end(out);
	}
	np_jsonout_end(out);
	return rc;
}

static int put_straggler(struct np_jsonout *out, const struct cluster_report *report,
			 uint32_t index, struct np_err *err)
{
	const struct np_charges *charges = &report->analysis->charges;
	const struct np_root_causes *causes = &report->analysis->causes;
	const struct np_rank *rank = report->analysis->run->ranks[index];
	int rc;

	np_jsonout_object_line(out, NULL);
	np_jsonout_integer(out, "rank", rank->id);
	np_jsonout_text(out, "host", np_run_text(report->analysis->run, rank->host_name));
	put_charge(out, charges, np_whatif_saved(&report->analysis->whatif, rank->id),
		   causes->ranks[index].charge, charges->ranks[index].charge);
	np_jsonout_integer(out, "last_arrivals", charges->ranks[index].last_arrivals);
	np_jsonout_integer(out, "instances", charges->ranks[index].instances);
	np_jsonout_text(out, "kind", np_root_cause_kind(&report->analysis->causes, index));
	np_jsonout_text(out, "cause", np_cause_name(np_root_cause_main(causes, index)));
	rc = put_chain(out, report, index, err);
	np_jsonout_end(out);
	return rc;
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
	put_empty_array(out, "chain");
	np_jsonout_end(out);
}

/* The same charges by host, stage and role; a field that does not belong to the kind is null. */
static void put_charges(struct np_jsonout *out, const struct cluster_report *report)
{
	np_jsonout_array(out, "charges");
	for (size_t i = 0; i < report->analysis->charge_sums.list.count; i++) {
		const struct np_charge_sum *charge = &report->analysis->charge_sums.list.item[i];

		np_jsonout_object_line(out, NULL);
		np_jsonout_text(out, "kind", np_charge_kind_name(charge->kind));
		np_jsonout_text(out, "name", np_run_text(report->analysis->run, charge->name));
		np_jsonout_integer(out, "stage", charge->stage < 0 ? NP_UNKNOWN : charge->stage);
		np_jsonout_integer(out, "cost_ns", charge->charge);
		np_jsonout_integer(out, "direct_ns", charge->direct);
		np_jsonout_end(out);
	}
	np_jsonout_end(out);
}

static void put_roles(struct np_jsonout *out, const struct cluster_report *report)
{
	np_jsonout_array(out, "roles");
	for (size_t i = 0; i < report->analysis->roles.list.count; i++) {
		const struct np_comm_sum *sum = &report->analysis->roles.list.item[i];

		np_jsonout_object_line(out, NULL);
		np_jsonout_text(out, "role",
				np_run_text(report->analysis->run, sum->communicator->pg_name));
		put_sum_fields(out, report, sum);
		np_jsonout_end(out);
	}
	np_jsonout_end(out);
}

/* By cost; ranks that were not profiled stand where their cost puts them. */
static int put_stragglers(struct np_jsonout *out, const struct cluster_report *report,
			  struct np_err *err)
{
	const struct np_root_causes *causes = &report->analysis->causes;
	struct np_charge_order order;
	bool unprofiled_due = causes->unprofiled > 0;
	int rc = np_whatif_sort(&report->analysis->whatif, report->analysis->run, causes, &order,
				err);

	if (rc < 0)
		return rc;
	np_jsonout_array(out, "stragglers");
	for (size_t i = 0; i < order.count && rc == NP_OK; i++) {
		if (unprofiled_due && causes->unprofiled > causes->ranks[order.ranks[i]].charge) {
			put_unprofiled(out, report);
			unprofiled_due = false;
		}
		rc = put_straggler(out, report, order.ranks[i], err);
	}
	if (unprofiled_due)
		put_unprofiled(out, report);
	np_jsonout_end(out);
	np_charge_order_release(&order);
	if (rc == NP_OK)
		rc = verdict_put_json(out, report, err);
	np_jsonout_integer(out, "unattributed_ns", report->analysis->charges.unattributed);
	return rc;
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
	np_jsonout_end(out);
}

/* Parts that nothing measures yet are empty or null, never invented. */
static void put_later_parts(struct np_jsonout *out, const struct cluster_report *report)
{
	put_job_findings(out, report);
	whatif_put_json(out, report, &report->analysis->whatif);
}

int report_json(const struct cluster_report *report, FILE *stream, struct np_err *err)
{
	const struct np_cluster *cluster = report->analysis->cluster;
	struct np_jsonout out;
	int rc;

	np_jsonout_init(&out, stream);
	np_jsonout_object(&out, NULL);
	np_jsonout_text(&out, "schema", "npuprof.cluster/1");
	put_input_json(&out, report->analysis->run, cluster, report->input, NULL);
	rc = report_put_trust(&out, report, err);
	np_jsonout_array(&out, "steps");
	for (size_t i = 0; i < cluster->steps.count; i++)
		put_step(&out, report, cluster->steps.item[i]);
	np_jsonout_end(&out);
	np_jsonout_array(&out, "communicators");
	for (size_t i = 0; i < cluster->communicators.count; i++)
		put_communicator(&out, report, &cluster->communicators.item[i]);
	np_jsonout_end(&out);
	put_roles(&out, report);
	if (rc == NP_OK)
		rc = put_stragglers(&out, report, err);
	put_charges(&out, report);
	if (rc == NP_OK)
		rc = report_put_parts(&out, report, err);
	put_later_parts(&out, report);
	if (rc == NP_OK)
		rc = report_put_modes(&out, report, err);
	np_jsonout_end(&out);
	if (rc == NP_OK)
		rc = np_jsonout_finish(&out, err);
	np_jsonout_release(&out);
	return rc;
}
