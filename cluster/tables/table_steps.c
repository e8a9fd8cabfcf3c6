/* SPDX-License-Identifier: Apache-2.0 */
/* ClusterStepTraceTime: the step times of ranks and of pipeline stages. */
#include "tables.h"

#include "npuprof/align.h"

#include <inttypes.h>

enum {
	STEP,
	TYPE,
	INDEX,
	COMPUTING,
	NOT_OVERLAPPED,
	OVERLAPPED,
	COMMUNICATION,
	FREE,
	STAGE,
	BUBBLE,
	NOT_OVERLAPPED_NOR_RECEIVE,
	PREPARING,
	DP_INDEX,
	PP_INDEX,
	TP_INDEX,
	COLUMNS,
};

static const struct np_column columns[COLUMNS] = {
	[STEP] = { "step", NP_TEXT },
	[TYPE] = { "type", NP_TEXT },
	[INDEX] = { "index", NP_TEXT },
	[COMPUTING] = { "computing", NP_NUMERIC },
	[NOT_OVERLAPPED] = { "communication_not_overlapped", NP_NUMERIC },
	[OVERLAPPED] = { "overlapped", NP_NUMERIC },
	[COMMUNICATION] = { "communication", NP_NUMERIC },
	[FREE] = { "free", NP_NUMERIC },
	[STAGE] = { "stage", NP_NUMERIC },
	[BUBBLE] = { "bubble", NP_NUMERIC },
	[NOT_OVERLAPPED_NOR_RECEIVE] = { "communication_not_overlapped_and_exclude_receive",
					 NP_NUMERIC },
	[PREPARING] = { "preparing", NP_NUMERIC },
	[DP_INDEX] = { "dp_index", NP_INTEGER },
	[PP_INDEX] = { "pp_index", NP_INTEGER },
	[TP_INDEX] = { "tp_index", NP_INTEGER },
};

static void fill_times(struct np_cell *cells, const struct np_step_time *time)
{
	cells[COMPUTING] = np_cell_scaled(time->computing, NS_PER_US);
	cells[NOT_OVERLAPPED] = np_cell_scaled(time->communication_not_overlapped, NS_PER_US);
	cells[OVERLAPPED] = np_cell_scaled(time->overlapped, NS_PER_US);
	cells[COMMUNICATION] = np_cell_scaled(time->communication, NS_PER_US);
	cells[FREE] = np_cell_scaled(time->free, NS_PER_US);
	cells[STAGE] = np_cell_scaled(time->stage, NS_PER_US);
	cells[BUBBLE] = np_cell_scaled(time->bubble, NS_PER_US);
	cells[NOT_OVERLAPPED_NOR_RECEIVE] =
		np_cell_scaled(np_step_without_receive(time), NS_PER_US);
	cells[PREPARING] = np_cell_scaled(time->preparing, NS_PER_US);
}

static struct np_cell place(int32_t index)
{
	return np_cell_integer(index < 0 ? NP_UNKNOWN : index);
}

static int produce_rank(const struct np_cluster *cluster, size_t index, struct np_sink *sink,
			struct np_err *err)
{
	const struct np_rank *rank = cluster->run->ranks[index];
	const struct np_coordinates *at = &cluster->coordinates[index];
	int rc = NP_OK;

	for (size_t i = 0; i < rank->times.count && rc == NP_OK; i++) {
		const struct np_step_time *time = &rank->times.item[i];
		np_str step = rank->steps.item[time->step].id;
		struct np_cell cells[COLUMNS];
		char label[32];

		/* Several devices in one process share a rank. */
		if (rank->device_count > 1)
			(void)snprintf(label, sizeof(label), "%" PRId32 "/%" PRId32, rank->id,
				       time->device);
		else
			(void)snprintf(label, sizeof(label), "%" PRId32, rank->id);
		fill_times(cells, time);
		cells[STEP] = np_cell_text(np_run_text(cluster->run, step));
		cells[TYPE] = np_cell_text("rank");
		cells[INDEX] = np_cell_text(label);
		cells[DP_INDEX] = place(at->dp);
		cells[PP_INDEX] = place(at->pp);
		cells[TP_INDEX] = place(at->tp);
		rc = np_sink_row(sink, cells, err);
	}
	return rc;
}

static void keep_larger(np_ns *most, np_ns value)
{
	/* NP_UNKNOWN is smaller than any time. */
	if (value > *most)
		*most = value;
}

static void keep_most(struct np_step_time *most, const struct np_step_time *time)
{
	keep_larger(&most->computing, time->computing);
	keep_larger(&most->communication_not_overlapped, time->communication_not_overlapped);
	keep_larger(&most->overlapped, time->overlapped);
	keep_larger(&most->communication, time->communication);
	keep_larger(&most->free, time->free);
	keep_larger(&most->stage, time->stage);
	keep_larger(&most->bubble, time->bubble);
	keep_larger(&most->preparing, time->preparing);
}

/* The largest of each time over the ranks of a stage; false when none of them has the step. */
static bool stage_times(const struct np_cluster *cluster, const struct np_stage *stage, np_str step,
			struct np_step_time *ret)
{
	bool found = false;

	*ret = (struct np_step_time){ .computing = NP_UNKNOWN,
				      .communication_not_overlapped = NP_UNKNOWN,
				      .overlapped = NP_UNKNOWN,
				      .communication = NP_UNKNOWN,
				      .free = NP_UNKNOWN,
				      .stage = NP_UNKNOWN,
				      .bubble = NP_UNKNOWN,
				      .preparing = NP_UNKNOWN };
	for (size_t i = 0; i < stage->count; i++) {
		const struct np_rank *rank = np_run_rank(cluster->run, stage->ranks[i]);

		for (size_t j = 0; rank && j < rank->times.count; j++) {
			const struct np_step_time *time = &rank->times.item[j];

			if (rank->steps.item[time->step].id != step)
				continue;
			keep_most(ret, time);
			found = true;
		}
	}
	return found;
}

static int produce_stage(const struct np_cluster *cluster, const struct np_stage *stage,
			 np_str step, struct np_sink *sink, struct np_err *err)
{
	NP_CLEANUP(np_buf_release) struct np_buf label = NP_BUF_INIT;
	struct np_cell cells[COLUMNS];
	struct np_step_time most;
	int rc;

	if (!stage_times(cluster, stage, step, &most))
		return NP_OK;
	np_rank_set(&label, stage->ranks, stage->count);
	rc = np_buf_check(&label, err);
	if (rc < 0)
		return rc;
	fill_times(cells, &most);
	cells[STEP] = np_cell_text(np_run_text(cluster->run, step));
	cells[TYPE] = np_cell_text("stage");
	cells[INDEX] = np_cell_text(label.text);
	cells[DP_INDEX] = np_cell_null();
	cells[PP_INDEX] = np_cell_null();
	cells[TP_INDEX] = np_cell_null();
	return np_sink_row(sink, cells, err);
}

static int produce(const void *model, struct np_sink *sink, struct np_err *err)
{
	const struct np_cluster *cluster = ((const struct np_analysis *)model)->cluster;
	int rc = NP_OK;

	for (size_t i = 0; i < cluster->run->sources.count && rc == NP_OK; i++) {
		if (cluster->run->ranks[i])
			rc = produce_rank(cluster, i, sink, err);
	}
	for (size_t i = 0; i < cluster->steps.count; i++) {
		for (size_t j = 0; j < cluster->stages.count && rc == NP_OK; j++)
			rc = produce_stage(cluster, &cluster->stages.item[j],
					   cluster->steps.item[i], sink, err);
	}
	return rc;
}

NP_DEFINE_TABLE(np_table_step_trace_time, "ClusterStepTraceTime",
		"time of each rank and pipeline stage in each step, in us", columns, produce);
