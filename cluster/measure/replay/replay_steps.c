/* SPDX-License-Identifier: Apache-2.0 */
#include "replay_run.h"

size_t replay_step_index(const struct np_cluster *cluster, np_str step)
{
	for (size_t i = 0; i < cluster->steps.count; i++) {
		if (cluster->steps.item[i] == step)
			return i;
	}
	return SIZE_MAX;
}

int np_replay_step_times(const struct np_replay *replay, const struct np_scenario *scenario,
			 np_ns *ret, struct np_err *err)
{
	struct replay_state state = { 0 };
	size_t steps = replay->cluster->steps.count;
	np_ns before = 1;
	int rc;

	state.cell_end = calloc(replay->cells.count + 1, sizeof(*state.cell_end));
	rc = state.cell_end ? replay_run(&state, replay, scenario, err)
			    : np_fail_nomem(err, "the replay");
	for (size_t i = 0; i < steps; i++)
		ret[i] = 0;
	/* First the end of each, then what lies between the ends. */
	for (size_t i = 0; i < replay->cells.count && rc == NP_OK; i++) {
		size_t step = replay_step_index(replay->cluster, replay->cells.item[i].step);

		if (step != SIZE_MAX && state.cell_end[i] > ret[step])
			ret[step] = state.cell_end[i];
	}
	for (size_t i = 0; i < steps && rc == NP_OK; i++) {
		np_ns end = ret[i] > before ? ret[i] : before;

		ret[i] = end - before;
		before = end;
	}
	replay_release(&state);
	return rc;
}
