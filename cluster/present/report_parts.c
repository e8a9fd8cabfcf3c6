/* SPDX-License-Identifier: Apache-2.0 */
#include "report_parts.h"

#include "npuprof/memory_growth.h"

#include <inttypes.h>
#include <math.h>

static void put_links(struct np_jsonout *out, const struct cluster_report *report)
{
	const struct np_links *links = &report->analysis->links;

	np_jsonout_array(out, "links");
	for (size_t i = 0; i < links->list.count; i++) {
		const struct np_link_speed *link = &links->list.item[i];

		np_jsonout_object_line(out, NULL);
		np_jsonout_integer(out, "src", link->src);
		np_jsonout_integer(out, "dst", link->dst);
		np_jsonout_text(out, "transport",
				np_run_text(report->analysis->run, link->transport));
		np_jsonout_integer(out, "plane", link->plane);
		np_jsonout_integer(out, "bytes", link->bytes);
		np_jsonout_integer(out, "time_ns", link->time);
		np_jsonout_real(out, "gb_per_s", np_link_gb_per_s(link));
		np_jsonout_real(out, "peers_gb_per_s", np_link_peers_gb_per_s(link));
		np_jsonout_integer(out, "retries", link->troubled);
		np_jsonout_text(out, "verdict", np_link_verdict_name(link->verdict));
		np_jsonout_text(out, "kind", np_link_fault_name(link->fault));
		np_jsonout_end(out);
	}
	np_jsonout_end(out);
}

static void put_pipeline(struct np_jsonout *out, const struct cluster_report *report)
{
	const struct np_pipeline *pipeline = &report->analysis->pipeline;

	np_jsonout_array(out, "pipeline");
	for (size_t i = 0; i < pipeline->list.count; i++) {
		const struct np_pipeline_time *time = &pipeline->list.item[i];

		np_jsonout_object_line(out, NULL);
		np_jsonout_integer(out, "rank", report->analysis->run->ranks[time->rank]->id);
		np_jsonout_text(out, "step", np_run_text(report->analysis->run, time->step));
		np_jsonout_integer(out, "stage", time->stage);
		np_jsonout_integer(out, "useful_ns", time->useful);
		np_jsonout_integer(out, "other_comm_ns", time->other_comm);
		np_jsonout_integer(out, "warmup_ns", time->warmup);
		np_jsonout_integer(out, "imbalance_ns", time->imbalance);
		np_jsonout_integer(out, "transfer_ns", time->transfer);
		np_jsonout_integer(out, "host_ns", time->host);
		np_jsonout_integer(out, "tail_ns", time->tail);
		np_jsonout_integer(out, "ideal_ns", time->ideal);
		np_jsonout_integer(out, "excess_ns", time->excess);
		np_jsonout_end(out);
	}
	np_jsonout_end(out);
}

static void put_experts(struct np_jsonout *out, const struct cluster_report *report)
{
	const struct np_experts *experts = &report->analysis->experts;

	np_jsonout_array(out, "experts");
	for (size_t i = 0; i < experts->list.count; i++) {
		const struct np_expert_load *load = &experts->list.item[i];
		char group[24] = "";

		if (load->communicator != UINT32_MAX)
			(void)snprintf(
				group, sizeof(group), "%" PRIu64,
				report->analysis->align->communicators.item[load->communicator]
					.hash);
		np_jsonout_object_line(out, NULL);
		np_jsonout_text(out, "group", *group ? group : NULL);
		np_jsonout_text(out, "step", np_run_text(report->analysis->run, load->step));
		np_jsonout_integer(out, "rank", report->analysis->run->ranks[load->rank]->id);
		np_jsonout_integer(out, "tokens", load->tokens);
		np_jsonout_integer(out, "lost_ns", load->lost);
		np_jsonout_text(out, "source", np_experts_source(experts));
		np_jsonout_end(out);
	}
	np_jsonout_end(out);
}

static int put_component(struct np_jsonout *out, const struct np_run *run,
			 const struct np_rank *rank, const struct np_memory_peak *peak,
			 struct np_err *err)
{
	struct np_memory_growth growth;
	int rc = np_memory_growth_measure(rank, peak->component, &growth, err);

	if (rc < 0)
		return rc;
	np_jsonout_object_line(out, NULL);
	np_jsonout_integer(out, "rank", rank->id);
	np_jsonout_text(out, "component", np_run_text(run, peak->component));
	np_jsonout_integer(out, "peak_bytes", peak->allocated);
	np_jsonout_integer(out, "reserved_bytes", peak->reserved);
	np_jsonout_integer(out, "growth_bytes_per_step", growth.per_step);
	np_jsonout_end(out);
	return NP_OK;
}

static int put_memory(struct np_jsonout *out, const struct np_run *run, struct np_err *err)
{
	int rc = NP_OK;

	np_jsonout_array(out, "memory");
	for (size_t i = 0; i < run->sources.count; i++) {
		const struct np_rank *rank = run->ranks[i];

		for (size_t j = 0; rank && j < rank->memory.count && rc == NP_OK; j++)
			rc = put_component(out, run, rank, &rank->memory.item[j], err);
	}
	np_jsonout_end(out);
	return rc;
}

int report_put_parts(struct np_jsonout *out, const struct cluster_report *report,
		     struct np_err *err)
{
	put_links(out, report);
	put_pipeline(out, report);
	put_experts(out, report);
	return put_memory(out, report->analysis->run, err);
}
