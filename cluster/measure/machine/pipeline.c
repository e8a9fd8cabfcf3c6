/* SPDX-License-Identifier: Apache-2.0 */
#include "pipeline_private.h"

#include <strings.h>

void np_pipeline_release(struct np_pipeline *pipeline)
{
	np_vec_release(&pipeline->list);
}

/* --- stages ---------------------------------------------------------------------------------- */

int32_t pipeline_stage_of(const struct np_cluster *cluster, size_t index)
{
	const struct np_rank *rank = cluster->run->ranks[index];

	if (cluster->coordinates[index].pp >= 0)
		return cluster->coordinates[index].pp;
	return rank ? np_cluster_stage(cluster, rank->id) : -1;
}

/* A communicator whose members are the ranks of one pipeline, one for each stage. */
static bool lists_stages(const struct np_cluster *cluster,
			 const struct np_communicator *communicator)
{
	const char *name = np_run_text(cluster->run, communicator->pg_name);

	return communicator->members && name && strcasecmp(name, "pp") == 0;
}

int32_t pipeline_stage_of_member(const struct np_cluster *cluster,
				 const struct np_communicator *communicator, size_t local)
{
	int32_t id = communicator->global[local];
	size_t index = np_run_index(cluster->run, id);
	int32_t stage;

	if (index != SIZE_MAX && cluster->run->ranks[index])
		return pipeline_stage_of(cluster, index);
	if (lists_stages(cluster, communicator))
		return (int32_t)local;
	stage = np_coordinates_of(&cluster->parallel, id).pp;
	return stage >= 0 ? stage : np_cluster_stage(cluster, id);
}

static int find_stages(struct pipeline_stages *stages, struct np_err *err)
{
	size_t count = stages->cluster->run->sources.count;

	stages->stage = malloc((count + 1) * sizeof(*stages->stage));
	if (!stages->stage)
		return np_fail_nomem(err, "the pipeline");
	for (size_t i = 0; i < count; i++) {
		stages->stage[i] = pipeline_stage_of(stages->cluster, i);
		if (stages->stage[i] >= stages->count)
			stages->count = stages->stage[i] + 1;
	}
	if (stages->cluster->parallel.pp > stages->count)
		stages->count = stages->cluster->parallel.pp;
	/* Those of which no rank was profiled count too. */
	for (size_t i = 0; i < stages->cluster->communicators.count; i++) {
		const struct np_communicator *each = &stages->cluster->communicators.item[i];

		if (lists_stages(stages->cluster, each) &&
		    each->member_count > (size_t)stages->count)
			stages->count = (int32_t)each->member_count;
	}
	return NP_OK;
}

/* --- one rank in one step -------------------------------------------------------------------- */

static np_ns overlap(np_ns begin, np_ns end, np_ns from, np_ns to)
{
	np_ns first = begin > from ? begin : from;
	np_ns last = end < to ? end : to;

	return last > first ? last - first : 0;
}

/* [begin, end) of a message, of which it waited until `waited`. */
static void add_message(struct np_pipeline_time *time, const struct pipeline_phases *phases,
			const struct np_exposed *piece, np_ns waited)
{
	np_ns end = waited < piece->end ? waited : piece->end;
	np_ns waiting = end > piece->begin ? end - piece->begin : 0;
	np_ns steady = overlap(piece->begin, end, phases->full, phases->draining);

	time->warmup += waiting - steady;
	time->imbalance += steady;
	time->transfer += piece->end - piece->begin - waiting;
}

/* What of an operator was exposed. False where it is not known how long it waited. */
static bool add_exposed(const struct pipeline_rank *rank, const struct pipeline_phases *phases,
			const struct np_exposed *piece, struct np_pipeline_time *time)
{
	const struct pipeline_stages *stages = rank->stages;
	const struct np_comm_op *op = &rank->rank->ops.item[piece->op];
	np_ns wait = stages->waits->wait[np_align_slot(stages->align, rank->index, piece->op)];
	np_ns length = piece->end - piece->begin;
	np_ns waiting;

	if (wait == NP_UNKNOWN)
		return false;
	if (rank->roles[piece->op] != ROLE_OTHER) {
		add_message(time, phases, piece, op->start + wait);
		return true;
	}
	/* Behind the last message only waiting is a matter of the pipeline. */
	waiting = overlap(piece->begin, piece->end, phases->last, op->start + wait);
	time->tail += waiting;
	time->other_comm += length - waiting;
	time->work += overlap(piece->begin, piece->end, piece->begin, phases->last);
	return true;
}

static void add_segments(const struct np_activity *activity, const struct np_activity_cell *cell,
			 const struct pipeline_phases *phases, struct np_pipeline_time *time)
{
	const struct np_segment *segments = &activity->segments.item[cell->first_segment];

	for (uint32_t i = 0; i < cell->segments; i++) {
		for (uint32_t j = segments[i].first; j < segments[i + 1].first; j++) {
			const struct np_share *share = &activity->shares.item[j];

			switch (np_leaf_kind(share->leaf)) {
			case NP_LEAF_COMPUTE:
				time->useful += share->ns;
				time->work += segments[i].begin < phases->last ? share->ns : 0;
				break;
			case NP_LEAF_COMM:
				break;
			default:
				time->host += share->ns;
				break;
			}
		}
	}
}

static bool measure_cell(const struct pipeline_rank *rank, size_t index,
			 struct np_pipeline_time *ret)
{
	const struct np_activity *activity = &rank->rank->activity;
	const struct np_step_time *step = &rank->rank->times.item[index];
	const struct np_activity_cell *cell = &activity->cells.item[index];
	struct np_pipeline_time time = { .rank = rank->index,
					 .step = rank->rank->steps.item[step->step].id,
					 .device = step->device,
					 .stage = rank->stages->stage[rank->index],
					 .span = cell->end - cell->begin };
	struct pipeline_phases phases;

	if (cell->end <= cell->begin || !pipeline_find_phases(rank, step->step, &phases))
		return false;
	time.micro_batches = phases.micro_batches;
	for (uint32_t i = 0; i < cell->exposed; i++) {
		if (!add_exposed(rank, &phases, &activity->exposed.item[cell->first_exposed + i],
				 &time))
			return false;
	}
	add_segments(activity, cell, &phases, &time);
	*ret = time;
	return true;
}

/* --- all ------------------------------------------------------------------------------------- */

static int measure_rank(const struct pipeline_stages *stages, uint32_t index,
			struct np_pipeline *pipeline, struct np_err *err)
{
	struct pipeline_rank rank;
	int rc = pipeline_find_roles(stages, index, &rank, err);

	if (rc < 0)
		return rc;
	for (size_t i = 0; i < rank.rank->activity.cells.count && rc == NP_OK; i++) {
		struct np_pipeline_time time;
		struct np_pipeline_time *row;

		if (!measure_cell(&rank, i, &time))
			continue;
		row = np_vec_add(&pipeline->list, err);
		if (row)
			*row = time;
		else
			rc = NP_E_NOMEM;
	}
	free(rank.roles);
	return rc;
}

/* What balanced stages would leave idle: from the mean work of all ranks in the step. */
static void set_ideal(const struct np_pipeline *pipeline, struct np_pipeline_time *times,
		      size_t count)
{
	double work = 0;

	for (size_t i = 0; i < count; i++)
		work += (double)times[i].work / (double)count;
	for (size_t i = 0; i < count; i++) {
		struct np_pipeline_time *time = &times[i];

		time->ideal = llround(work * (pipeline->stages - 1) / time->micro_batches);
		time->excess = time->warmup + time->imbalance + time->transfer + time->host +
			       time->tail - time->ideal;
	}
}

/* Steps are few: put the rows, which are by rank, into their order. */
static int sort_by_step(const struct np_cluster *cluster, struct np_pipeline *pipeline,
			struct np_err *err)
{
	struct np_pipeline_time *sorted =
		malloc((pipeline->list.count + 1) * sizeof(pipeline->list.item[0]));
	size_t count = 0;

	if (!sorted)
		return np_fail_nomem(err, "the pipeline");
	for (size_t i = 0; i < cluster->steps.count; i++) {
		size_t first = count;

		for (size_t j = 0; j < pipeline->list.count; j++) {
			if (pipeline->list.item[j].step == cluster->steps.item[i])
				sorted[count++] = pipeline->list.item[j];
		}
		set_ideal(pipeline, &sorted[first], count - first);
	}
	free(pipeline->list.item);
	pipeline->list.item = sorted;
	pipeline->list.capacity = pipeline->list.count + 1;
	pipeline->list.count = count;
	return NP_OK;
}

int np_pipeline_measure(const struct np_cluster *cluster, const struct np_align *align,
			const struct np_waits *waits, struct np_pipeline *ret, struct np_err *err)
{
	struct pipeline_stages stages = { .cluster = cluster, .align = align, .waits = waits };
	struct np_pipeline pipeline = { 0 };
	int rc = find_stages(&stages, err);

	if (stages.count > 1)
		pipeline.stages = stages.count;
	for (size_t i = 0; i < cluster->run->sources.count && rc == NP_OK; i++) {
		if (stages.count > 1 && cluster->run->ranks[i] && stages.stage[i] >= 0)
			rc = measure_rank(&stages, (uint32_t)i, &pipeline, err);
	}
	if (rc == NP_OK)
		rc = sort_by_step(cluster, &pipeline, err);
	free(stages.stage);
	if (rc < 0) {
		np_pipeline_release(&pipeline);
		return rc;
	}
	*ret = pipeline;
	return NP_OK;
}
