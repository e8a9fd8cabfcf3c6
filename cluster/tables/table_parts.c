/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of the machine: links, stages of the pipeline, experts and memory. */
#include "tables.h"

#include "npuprof/align.h"

/* --- links ----------------------------------------------------------------------------------- */

static const struct np_column link_columns[] = {
	{ "src", NP_INTEGER },         { "dst", NP_INTEGER },     { "transport", NP_TEXT },
	{ "plane", NP_INTEGER },       { "bytes", NP_INTEGER },   { "time_ns", NP_INTEGER },
	{ "verdict", NP_TEXT },        { "kind", NP_TEXT },       { "gb_per_s", NP_REAL },
	{ "peers_gb_per_s", NP_REAL }, { "retries", NP_INTEGER }, { "src_local", NP_INTEGER },
	{ "dst_local", NP_INTEGER },
};

/* An end that no rank of the job is known for: its number in the communicator is all there is. */
static struct np_cell local_cell(int64_t end)
{
	return np_cell_integer(end < 0 && end != NP_UNKNOWN ? -1 - end : NP_UNKNOWN);
}

static struct np_cell end_cell(int64_t end)
{
	return np_cell_integer(end < 0 ? NP_UNKNOWN : end);
}

static int produce_links(const void *model, struct np_sink *sink, struct np_err *err)
{
	const struct np_analysis *analysis = model;
	int rc = NP_OK;

	for (size_t i = 0; i < analysis->links.list.count && rc == NP_OK; i++) {
		const struct np_link_speed *link = &analysis->links.list.item[i];

		rc = np_sink_row(sink,
				 (struct np_cell[]){
					 end_cell(link->src), end_cell(link->dst),
					 np_cell_text(np_run_text(analysis->run, link->transport)),
					 np_cell_integer(link->plane), np_cell_integer(link->bytes),
					 np_cell_integer(link->time),
					 np_cell_text(np_link_verdict_name(link->verdict)),
					 np_cell_text(np_link_fault_name(link->fault)),
					 np_cell_real(np_link_gb_per_s(link)),
					 np_cell_real(np_link_peers_gb_per_s(link)),
					 np_cell_integer(link->troubled), local_cell(link->src),
					 local_cell(link->dst) },
				 err);
	}
	return rc;
}

NP_DEFINE_TABLE(
	np_table_link, "np_link",
	"what went over each link, its speed and that of comparable links, in bytes, ns and GB/s",
	link_columns, produce_links);

/* --- pipeline -------------------------------------------------------------------------------- */

static const struct np_column pipeline_columns[] = {
	{ "rank", NP_INTEGER },          { "step", NP_TEXT },
	{ "stage", NP_INTEGER },         { "useful_ns", NP_INTEGER },
	{ "other_comm_ns", NP_INTEGER }, { "warmup_ns", NP_INTEGER },
	{ "imbalance_ns", NP_INTEGER },  { "transfer_ns", NP_INTEGER },
	{ "host_ns", NP_INTEGER },       { "tail_ns", NP_INTEGER },
	{ "ideal_ns", NP_INTEGER },      { "excess_ns", NP_INTEGER },
};

static int produce_pipeline(const void *model, struct np_sink *sink, struct np_err *err)
{
	const struct np_analysis *analysis = model;
	const struct np_run *run = analysis->run;
	int rc = NP_OK;

	for (size_t i = 0; i < analysis->pipeline.list.count && rc == NP_OK; i++) {
		const struct np_pipeline_time *time = &analysis->pipeline.list.item[i];

		rc = np_sink_row(
			sink,
			(struct np_cell[]){
				np_cell_integer(run->ranks[time->rank]->id),
				np_cell_text(np_run_text(run, time->step)),
				np_cell_integer(time->stage), np_cell_integer(time->useful),
				np_cell_integer(time->other_comm), np_cell_integer(time->warmup),
				np_cell_integer(time->imbalance), np_cell_integer(time->transfer),
				np_cell_integer(time->host), np_cell_integer(time->tail),
				np_cell_integer(time->ideal), np_cell_integer(time->excess) },
			err);
	}
	return rc;
}

NP_DEFINE_TABLE(np_table_pipeline, "np_pipeline",
		"the span of each rank of a pipeline by what it did or waited for, in ns",
		pipeline_columns, produce_pipeline);

/* --- experts --------------------------------------------------------------------------------- */

static const struct np_column expert_columns[] = {
	{ "group_name", NP_TEXT }, { "step", NP_TEXT },       { "rank", NP_INTEGER },
	{ "tokens", NP_INTEGER },  { "lost_ns", NP_INTEGER }, { "source", NP_TEXT },
};

static int produce_experts(const void *model, struct np_sink *sink, struct np_err *err)
{
	const struct np_analysis *analysis = model;
	const struct np_run *run = analysis->run;
	int rc = NP_OK;

	for (size_t i = 0; i < analysis->experts.list.count && rc == NP_OK; i++) {
		const struct np_expert_load *load = &analysis->experts.list.item[i];
		char group[24] = "";

		if (load->communicator != UINT32_MAX)
			np_group_label(analysis->align->communicators.item[load->communicator].hash,
				       group, sizeof(group));
		rc = np_sink_row(sink,
				 (struct np_cell[]){
					 np_cell_text(*group ? group : NULL),
					 np_cell_text(np_run_text(run, load->step)),
					 np_cell_integer(run->ranks[load->rank]->id),
					 np_cell_integer(load->tokens), np_cell_integer(load->lost),
					 np_cell_text(np_experts_source(&analysis->experts)) },
				 err);
	}
	return rc;
}

NP_DEFINE_TABLE(np_table_expert, "np_expert",
		"tokens of each rank's experts, and the time lost to those that had more, in ns",
		expert_columns, produce_experts);

/* --- memory ---------------------------------------------------------------------------------- */

static const struct np_column memory_columns[] = {
	{ "rank", NP_INTEGER },
	{ "component", NP_TEXT },
	{ "peak_bytes", NP_INTEGER },
	{ "reserved_bytes", NP_INTEGER },
	{ "growth_bytes_per_step", NP_INTEGER },
};

static int produce_component(const struct np_run *run, const struct np_rank *rank,
			     const struct np_memory_peak *peak,
			     const struct np_memory_growth *growth, struct np_sink *sink,
			     struct np_err *err)
{
	return np_sink_row(sink,
			   (struct np_cell[]){ np_cell_integer(rank->id),
					       np_cell_text(np_run_text(run, peak->component)),
					       np_cell_integer(peak->allocated),
					       np_cell_integer(peak->reserved),
					       np_cell_integer(growth->per_step) },
			   err);
}

static int produce_memory(const void *model, struct np_sink *sink, struct np_err *err)
{
	const struct np_analysis *analysis = model;
	const struct np_run *run = analysis->run;
	int rc = NP_OK;

	for (size_t i = 0; i < run->sources.count; i++) {
		const struct np_rank *rank = run->ranks[i];

		for (size_t j = 0; rank && j < rank->memory.count && rc == NP_OK; j++)
			rc = produce_component(run, rank, &rank->memory.item[j],
					       &analysis->memory_growths.of_rank[i][j], sink, err);
	}
	return rc;
}

NP_DEFINE_TABLE(np_table_memory, "np_memory",
		"the most memory each component held during the capture, and its growth, in bytes",
		memory_columns, produce_memory);
