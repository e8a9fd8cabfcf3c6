/* SPDX-License-Identifier: Apache-2.0 */
/* ClusterCommunicationTime: how long operators took, each and in total. */
#include "tables.h"

#include "npuprof/align.h"
#include "npuprof/op_times.h"

enum {
	STEP,
	RANK,
	OP_NAME,
	GROUP,
	START,
	ELAPSED,
	TRANSIT,
	WAIT,
	SYNC,
	IDLE,
	SYNC_RATIO,
	WAIT_RATIO,
	COLUMNS,
};

static const struct np_column columns[COLUMNS] = {
	[STEP] = { "step", NP_TEXT },
	[RANK] = { "rank_id", NP_INTEGER },
	[OP_NAME] = { "hccl_op_name", NP_TEXT },
	[GROUP] = { "group_name", NP_TEXT },
	[START] = { "start_timestamp", NP_REAL },
	[ELAPSED] = { "elapsed_time", NP_REAL },
	[TRANSIT] = { "transit_time", NP_REAL },
	[WAIT] = { "wait_time", NP_REAL },
	[SYNC] = { "synchronization_time", NP_REAL },
	[IDLE] = { "idle_time", NP_REAL },
	[SYNC_RATIO] = { "synchronization_time_ratio", NP_REAL },
	[WAIT_RATIO] = { "wait_time_ratio", NP_REAL },
};

static void fill_times(struct np_cell *cells, const struct np_op_times *times)
{
	cells[ELAPSED] = np_cell_scaled(times->elapsed, NS_PER_MS);
	cells[TRANSIT] = np_cell_scaled(times->transit, NS_PER_MS);
	cells[WAIT] = np_cell_scaled(times->wait, NS_PER_MS);
	cells[SYNC] = np_cell_scaled(times->sync, NS_PER_MS);
	cells[IDLE] = np_cell_scaled(np_op_times_idle(times), NS_PER_MS);
	cells[SYNC_RATIO] = np_cell_real(np_op_ratio(times->sync, times->transit));
	cells[WAIT_RATIO] = np_cell_real(np_op_ratio(times->wait, times->transit));
}

static int produce_op(const struct np_run *run, const struct np_rank *rank, size_t index,
		      struct np_sink *sink, struct np_err *err)
{
	const struct np_comm_op *op = &rank->ops.item[index];
	struct np_op_times times = NP_OP_TIMES_INIT;
	struct np_cell cells[COLUMNS];
	char step[64];
	char group[24];

	np_step_label(run, np_vendor_step_id(rank, op->step), step, sizeof(step));
	np_group_label(rank->groups.item[op->group].hash, group, sizeof(group));
	np_op_times_add(&times, rank, index);
	fill_times(cells, &times);
	cells[STEP] = np_cell_text(step);
	cells[RANK] = np_cell_integer(rank->id);
	cells[OP_NAME] = np_cell_text(np_run_text(run, op->name));
	cells[GROUP] = np_cell_text(group);
	cells[START] = np_cell_scaled(op->start, NS_PER_US);
	return np_sink_row(sink, cells, err);
}

static int produce_total(const struct np_run *run, const struct np_rank *rank, size_t step,
			 size_t group, const struct np_op_times *sum, struct np_sink *sink,
			 struct np_err *err)
{
	struct np_cell cells[COLUMNS];
	char step_label[64];
	char group_label[24];

	if (sum->ops == 0)
		return NP_OK;
	np_step_label(run, np_vendor_step_id(rank, (uint32_t)step), step_label, sizeof(step_label));
	np_group_label(rank->groups.item[group].hash, group_label, sizeof(group_label));
	fill_times(cells, sum);
	cells[STEP] = np_cell_text(step_label);
	cells[RANK] = np_cell_integer(rank->id);
	cells[OP_NAME] = np_cell_text("Total Op Info");
	cells[GROUP] = np_cell_text(group_label);
	cells[START] = np_cell_real(0);
	return np_sink_row(sink, cells, err);
}

/* Insight takes the totals of a rank from rows of their own, one for each communicator. */
static int produce_totals(const struct np_run *run, const struct np_rank *rank,
			  struct np_sink *sink, struct np_err *err)
{
	size_t groups = rank->groups.count;
	size_t count = rank->steps.count * groups;
	struct np_op_times *sums = malloc((count + 1) * sizeof(*sums));
	int rc = NP_OK;

	if (!sums)
		return np_fail_nomem(err, "totals of communicators");
	for (size_t i = 0; i < count; i++)
		sums[i] = NP_OP_TIMES_INIT;
	for (size_t i = 0; i < rank->ops.count; i++) {
		const struct np_comm_op *op = &rank->ops.item[i];

		uint32_t step = np_vendor_step(rank, op->step);

		if (step != NP_NO_STEP)
			np_op_times_add(&sums[step * groups + op->group], rank, i);
	}
	for (size_t i = 0; i < count && rc == NP_OK; i++)
		rc = produce_total(run, rank, i / groups, i % groups, &sums[i], sink, err);
	free(sums);
	return rc;
}

static int produce(const void *model, struct np_sink *sink, struct np_err *err)
{
	const struct np_run *run = ((const struct np_analysis *)model)->run;
	int rc = NP_OK;

	for (size_t i = 0; i < run->sources.count; i++) {
		const struct np_rank *rank = run->ranks[i];

		for (size_t j = 0; rank && j < rank->ops.count && rc == NP_OK; j++) {
			if (np_vendor_step(rank, rank->ops.item[j].step) != NP_NO_STEP)
				rc = produce_op(run, rank, j, sink, err);
		}
	}
	for (size_t i = 0; i < run->sources.count && rc == NP_OK; i++) {
		if (run->ranks[i])
			rc = produce_totals(run, run->ranks[i], sink, err);
	}
	return rc;
}

NP_DEFINE_TABLE(np_table_communication_time, "ClusterCommunicationTime",
		"time of each communication operator and totals per communicator, in ms", columns,
		produce);
