/* SPDX-License-Identifier: Apache-2.0 */
/* A scenario while repairs are put into it: factors of work and transfers, and means of peers. */
#include "scenario.h"

#include "npuprof/align.h"

int scenario_init(struct scenario_draft *scenario, const struct np_replay *replay,
		  struct np_err *err)
{
	size_t instances = replay->align->instances.count;

	scenario->work = malloc((replay->cells.count + 1) * sizeof(*scenario->work));
	scenario->transfer = malloc((instances + 1) * sizeof(*scenario->transfer));
	if (!scenario->work || !scenario->transfer)
		return np_fail_nomem(err, "a repaired world");
	for (size_t i = 0; i < replay->cells.count; i++) {
		for (int kind = 0; kind < NP_WORK_KINDS; kind++)
			scenario->work[i][kind] = 1;
	}
	for (size_t i = 0; i < instances; i++)
		scenario->transfer[i] = 1;
	return NP_OK;
}

void scenario_release(struct scenario_draft *scenario)
{
	free(scenario->work);
	free(scenario->transfer);
	np_vec_release(&scenario->links);
}

void scenario_copy(struct scenario_draft *to, const struct scenario_draft *from,
		   const struct np_replay *replay)
{
	memcpy(to->work, from->work, replay->cells.count * sizeof(*to->work));
	memcpy(to->transfer, from->transfer,
	       replay->align->instances.count * sizeof(*to->transfer));
}

void scenario_undo(struct scenario_draft *scenario, const struct scenario_draft *repaired,
		   const struct np_replay *replay)
{
	for (size_t i = 0; i < replay->cells.count; i++) {
		for (int kind = 0; kind < NP_WORK_KINDS; kind++) {
			/* Those that get work of another take longer. */
			if (repaired->work[i][kind] < 1 || repaired->work[i][kind] > 1)
				scenario->work[i][kind] = 1;
		}
	}
	for (size_t i = 0; i < replay->align->instances.count; i++) {
		if (repaired->transfer[i] < 1)
			scenario->transfer[i] = 1;
	}
}

void scenario_lower(float *factor, double value)
{
	if (value < (double)*factor)
		*factor = (float)(value < 0 ? 0 : value);
}

void scenario_take_off(struct scenario_draft *scenario, const struct np_replay *replay, size_t cell,
		       double ns)
{
	const struct np_replay_cell *from = &replay->cells.item[cell];
	double computing = (double)from->work[NP_WORK_COMPUTE];
	double beyond = (double)from->beyond;

	if (computing <= 0)
		return;
	/* Who is repaired gets no work of others. */
	scenario_lower(&scenario->work[cell][NP_WORK_COMPUTE], 1);
	if (beyond > 0)
		scenario_lower(&scenario->work[cell][NP_WORK_SURPLUS], 1 - ns / beyond);
	if (ns > beyond && computing > beyond)
		scenario_lower(&scenario->work[cell][NP_WORK_COMPUTE],
			       1 - (ns - beyond) / (computing - beyond));
}

/* --- means ----------------------------------------------------------------------------------- */

void scenario_release_means(struct means *means)
{
	np_vec_release(&means->list);
	np_numbers_release(&means->first);
}

const struct mean *scenario_first_mean(const struct means *means, np_str step)
{
	uint32_t first = np_numbers_get(&means->first, step);

	return first == NP_MAP_NONE ? NULL : &means->list.item[first];
}

const struct mean *scenario_next_mean(const struct means *means, const struct mean *mean)
{
	return mean->next == MEAN_NONE ? NULL : &means->list.item[mean->next];
}

struct mean *scenario_mean(struct means *means, np_str step, int32_t stage, struct np_err *err)
{
	uint32_t last = np_numbers_get(&means->first, step);
	uint32_t place = (uint32_t)means->list.count;
	struct mean *mean;

	while (last != NP_MAP_NONE && means->list.item[last].stage != stage &&
	       means->list.item[last].next != MEAN_NONE)
		last = means->list.item[last].next;
	if (last != NP_MAP_NONE && means->list.item[last].stage == stage)
		return &means->list.item[last];
	mean = np_vec_add(&means->list, err);
	if (!mean)
		return NULL;
	*mean = (struct mean){ .step = step, .stage = stage, .next = MEAN_NONE };
	if (last != NP_MAP_NONE)
		means->list.item[last].next = place;
	else if (np_numbers_add(&means->first, step, place, err) < 0)
		return NULL;
	return mean;
}

int scenario_add_means(const struct np_replay *replay, const bool *leave_out, struct means *ret,
		       struct np_err *err)
{
	for (size_t i = 0; i < replay->cells.count; i++) {
		const struct np_replay_cell *cell = &replay->cells.item[i];
		struct mean *mean;

		if (!cell->timed || (leave_out && leave_out[cell->rank]))
			continue;
		mean = scenario_mean(ret, cell->step, replay->stages[cell->rank], err);
		if (!mean)
			return NP_E_NOMEM;
		mean->count++;
		for (int kind = 0; kind < NP_WORK_KINDS; kind++)
			mean->work[kind] += np_replay_own_work(cell, (enum np_work)kind);
	}
	return NP_OK;
}
