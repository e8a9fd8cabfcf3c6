/* SPDX-License-Identifier: Apache-2.0 */
/* Which steps are replayed: those that all ranks have, where captures are of other steps. */
#include "replay_program.h"

#include "npuprof/activity.h"
#include "npuprof/align.h"
#include "npuprof/iteration.h"
#include "npuprof/rank.h"

/* So many steps are replayed at least: one alone has no iteration. */
#define FEWEST_STEPS 2

/* A rank with part of its files says nothing about the steps that there are. */
static bool is_asked(const struct np_rank *rank)
{
	return rank && !np_rank_withheld(rank) &&
	       (rank->activity.cells.count > 0 || rank->ops.count > 0);
}

/* Which steps has the rank, and their iterations? By index in np_cluster.steps. */
static void see_rank(const struct np_cluster *cluster, const struct np_rank *rank, uint8_t *lacked)
{
	memset(lacked, NP_STEP_LEFT_OUT | NP_STEP_NO_ITERATION, cluster->steps.count);
	for (size_t i = 0; i < rank->times.count; i++) {
		const struct np_step_time *time = &rank->times.item[i];
		size_t step = np_cluster_step(cluster, rank->steps.item[time->step].id);

		if (step == SIZE_MAX)
			continue;
		lacked[step] &= (uint8_t)~NP_STEP_LEFT_OUT;
		if (np_step_iteration(time) != NP_UNKNOWN)
			lacked[step] &= (uint8_t)~NP_STEP_NO_ITERATION;
	}
	/* Of one without intervals the operators say which steps it has. */
	for (size_t i = 0; i < rank->ops.count && rank->activity.cells.count == 0; i++) {
		uint32_t own = rank->ops.item[i].step;
		size_t step = own == NP_NO_STEP
				      ? SIZE_MAX
				      : np_cluster_step(cluster, rank->steps.item[own].id);

		if (step != SIZE_MAX)
			lacked[step] = 0;
	}
}

int replay_find_steps(struct np_replay *replay, struct np_err *err)
{
	const struct np_cluster *cluster = replay->cluster;
	const struct np_run *run = replay->align->run;
	uint8_t *left_out = calloc(cluster->steps.count + 1, 2 * sizeof(*left_out));
	uint8_t *lacked = left_out ? left_out + cluster->steps.count : NULL;
	size_t used = 0;

	if (!left_out)
		return np_fail_nomem(err, "the replay");
	for (size_t j = 0; j < run->sources.count; j++) {
		if (!is_asked(run->ranks[j]))
			continue;
		see_rank(cluster, run->ranks[j], lacked);
		for (size_t i = 0; i < cluster->steps.count; i++)
			left_out[i] |= lacked[i];
	}
	for (size_t i = 0; i < cluster->steps.count; i++)
		used += !(left_out[i] & NP_STEP_LEFT_OUT);
	if (used == cluster->steps.count || used < FEWEST_STEPS ||
	    2 * used < cluster->steps.count) {
		free(left_out);
		return NP_OK;
	}
	replay->left_out = left_out;
	replay->steps = used;
	return NP_OK;
}

static uint8_t left_out_of(const struct np_replay *replay, np_str step)
{
	size_t index = replay->left_out ? np_cluster_step(replay->cluster, step) : SIZE_MAX;

	return index == SIZE_MAX ? 0 : replay->left_out[index];
}

bool np_replay_has_step(const struct np_replay *replay, np_str step)
{
	return !(left_out_of(replay, step) & NP_STEP_LEFT_OUT);
}

bool np_replay_has_cell(const struct np_replay *replay, const struct np_rank *rank, size_t cell)
{
	const struct np_activity_cell *own = &rank->activity.cells.item[cell];
	const struct np_step_time *time = &rank->times.item[cell];

	return time->device == rank->times.item[0].device && own->end > own->begin &&
	       np_replay_has_step(replay, rank->steps.item[time->step].id);
}

int replay_left_out(const struct np_replay *replay, const struct np_rank *rank, uint8_t **ret,
		    struct np_err *err)
{
	uint8_t *list;

	*ret = NULL;
	if (!replay->left_out)
		return NP_OK;
	list = malloc(rank->steps.count + 1);
	if (!list)
		return np_fail_nomem(err, "the replay");
	for (size_t i = 0; i < rank->steps.count; i++)
		list[i] = left_out_of(replay, rank->steps.item[i].id);
	*ret = list;
	return NP_OK;
}
