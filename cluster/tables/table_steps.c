/* SPDX-License-Identifier: Apache-2.0 */
/* ClusterStepTraceTime and np_step: the step times of ranks, as the vendor has them and as they
 * are measured here. */
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

/* As the vendor has them in this form. */
static void fill_times(struct np_cell *cells, const struct np_step_time *time, enum np_form form)
{
	np_ns trailing = np_step_trailing(time, form);

	cells[COMPUTING] = np_cell_scaled(time->computing, NS_PER_US);
	cells[NOT_OVERLAPPED] = np_cell_scaled(time->communication_not_overlapped, NS_PER_US);
	cells[OVERLAPPED] = np_cell_scaled(time->overlapped, NS_PER_US);
	cells[COMMUNICATION] = np_cell_scaled(time->communication, NS_PER_US);
	cells[FREE] = np_cell_scaled(np_plus(time->free, trailing), NS_PER_US);
	cells[STAGE] = np_cell_scaled(np_plus(time->stage, trailing), NS_PER_US);
	cells[BUBBLE] = np_cell_scaled(time->bubble, NS_PER_US);
	cells[NOT_OVERLAPPED_NOR_RECEIVE] =
		np_cell_scaled(np_step_without_receive(time), NS_PER_US);
	cells[PREPARING] = np_cell_scaled(time->preparing, NS_PER_US);
}

static struct np_cell place(int32_t index)
{
	return np_cell_integer(index < 0 ? NP_UNKNOWN : index);
}

static int produce_rank(const struct np_cluster *cluster, size_t index, enum np_form form,
			struct np_sink *sink, struct np_err *err)
{
	const struct np_rank *rank = cluster->run->ranks[index];
	const struct np_coordinates *at = &cluster->coordinates[index];
	int rc = NP_OK;

	/* The vendor does not know iterations that were found. */
	bool whole = rank->whole.count > 0;
	size_t count = whole ? rank->whole.count : rank->times.count;

	for (size_t i = 0; i < count && rc == NP_OK; i++) {
		const struct np_step_time *time =
			whole ? &rank->whole.item[i] : &rank->times.item[i];
		np_str step = whole ? NP_STR_NONE : rank->steps.item[time->step].id;
		struct np_cell cells[COLUMNS];
		char label[32];

		/* Several devices in one process share a rank. */
		if (rank->device_count > 1)
			(void)snprintf(label, sizeof(label), "%" PRId32 "/%" PRId32, rank->id,
				       time->device);
		else
			(void)snprintf(label, sizeof(label), "%" PRId32, rank->id);
		fill_times(cells, time, form);
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

static void keep_most(struct np_step_time *most, const struct np_step_time *time, enum np_form form)
{
	np_ns trailing = np_step_trailing(time, form);

	keep_larger(&most->computing, time->computing);
	keep_larger(&most->communication_not_overlapped, time->communication_not_overlapped);
	keep_larger(&most->overlapped, time->overlapped);
	keep_larger(&most->communication, time->communication);
	keep_larger(&most->free, np_plus(time->free, trailing));
	keep_larger(&most->stage, np_plus(time->stage, trailing));
	keep_larger(&most->bubble, time->bubble);
	keep_larger(&most->preparing, time->preparing);
}

/* The largest of each time over the ranks of a stage; false when none of them has the step. */
static bool stage_times(const struct np_cluster *cluster, const struct np_stage *stage, np_str step,
			enum np_form form, struct np_step_time *ret)
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

		bool whole = rank && rank->whole.count > 0;
		size_t count = !rank ? 0 : whole ? rank->whole.count : rank->times.count;

		for (size_t j = 0; j < count; j++) {
			const struct np_step_time *time =
				whole ? &rank->whole.item[j] : &rank->times.item[j];

			if ((whole ? NP_STR_NONE : rank->steps.item[time->step].id) != step)
				continue;
			keep_most(ret, time, form);
			found = true;
		}
	}
	return found;
}

static int produce_stage(const struct np_cluster *cluster, const struct np_stage *stage,
			 np_str step, enum np_form form, struct np_sink *sink, struct np_err *err)
{
	NP_CLEANUP(np_buf_release) struct np_buf label = NP_BUF_INIT;
	struct np_cell cells[COLUMNS];
	struct np_step_time most;
	int rc;

	if (!stage_times(cluster, stage, step, form, &most))
		return NP_OK;
	np_rank_set(&label, stage->ranks, stage->count);
	rc = np_buf_check(&label, err);
	if (rc < 0)
		return rc;
	/* What the vendor adds is in it. */
	fill_times(cells, &most, NP_FORM_DB);
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
	enum np_form form = np_run_form(cluster->run);
	bool found = np_run_steps_found(cluster->run, NULL);
	int rc = NP_OK;

	for (size_t i = 0; i < cluster->run->sources.count && rc == NP_OK; i++) {
		if (cluster->run->ranks[i])
			rc = produce_rank(cluster, i, form, sink, err);
	}
	for (size_t i = 0; i < (found ? 1 : cluster->steps.count); i++) {
		for (size_t j = 0; j < cluster->stages.count && rc == NP_OK; j++)
			rc = produce_stage(cluster, &cluster->stages.item[j],
					   found ? NP_STR_NONE : cluster->steps.item[i], form, sink,
					   err);
	}
	return rc;
}

NP_DEFINE_TABLE(np_table_step_trace_time, "ClusterStepTraceTime",
		"time of each rank and pipeline stage in each step, in us", columns, produce);

/* --- np_step --------------------------------------------------------------------------------- */

static const struct np_column step_columns[] = {
	{ "rank", NP_INTEGER },
	{ "device", NP_INTEGER },
	{ "step", NP_TEXT },
	{ "computing_ns", NP_INTEGER },
	{ "communication_not_overlapped_ns", NP_INTEGER },
	{ "free_ns", NP_INTEGER },
	{ "preparing_ns", NP_INTEGER },
	{ "span_ns", NP_INTEGER },
	{ "iteration_ns", NP_INTEGER },
	{ "between_ns", NP_INTEGER },
	{ "source", NP_TEXT },
};

static int produce_step_of(const struct np_run *run, const struct np_rank *rank,
			   const struct np_step_time *time, struct np_sink *sink,
			   struct np_err *err)
{
	const char *step = np_run_text(run, rank->steps.item[time->step].id);
	const struct np_cell cells[] = {
		np_cell_integer(rank->id),
		place(time->device),
		np_cell_text(step),
		np_cell_integer(time->computing),
		np_cell_integer(time->communication_not_overlapped),
		np_cell_integer(time->free),
		np_cell_integer(time->preparing),
		np_cell_integer(time->span),
		np_cell_integer(np_step_iteration(time)),
		np_cell_integer(np_step_between(time)),
		np_cell_text(np_rank_times_are_vendors(rank) ? "vendor" : "intervals"),
	};

	return np_sink_row(sink, cells, err);
}

static int produce_step(const void *model, struct np_sink *sink, struct np_err *err)
{
	const struct np_run *run = ((const struct np_analysis *)model)->run;
	int rc = NP_OK;

	for (size_t i = 0; i < run->sources.count; i++) {
		const struct np_rank *rank = run->ranks[i];

		for (size_t j = 0; rank && j < rank->times.count && rc == NP_OK; j++)
			rc = produce_step_of(run, rank, &rank->times.item[j], sink, err);
	}
	return rc;
}

NP_DEFINE_TABLE(np_table_step, "np_step",
		"how long each rank's steps are: span, iteration and what is between, in ns",
		step_columns, produce_step);
