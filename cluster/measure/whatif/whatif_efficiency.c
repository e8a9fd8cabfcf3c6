/* SPDX-License-Identifier: Apache-2.0 */
/* Where the efficiency of the step is lost, by taking away one cause after the other. */
#include "scenario.h"

#include "npuprof/align.h"
#include "npuprof/cluster.h"

/* What is taken away: first what the host is waited for, within steps and between them. */
static const struct np_fix losses[] = { { .kind = NP_FIX_HOST_GAPS },
					{ .kind = NP_FIX_BETWEEN },
					{ .kind = NP_FIX_HIDE_COMM } };

#define HOST_LOSSES 2

/* --- the whole run ---------------------------------------------------------------------------- */

static void see_computing(const struct np_replay *replay, struct np_efficiency *ret)
{
	np_ns steps = replay->steps > 0 ? (np_ns)replay->steps : 1;
	np_ns own = 0;
	np_ns most = 0;
	np_ns all = 0;
	np_ns ranks = 0;
	uint32_t last = 0;

	for (size_t i = 0; i < replay->cells.count; i++) {
		const struct np_replay_cell *cell = &replay->cells.item[i];

		if (!cell->timed)
			continue;
		if (ranks == 0 || cell->rank != last) {
			own = 0;
			last = cell->rank;
			ranks++;
		}
		own += cell->work[NP_WORK_COMPUTE];
		all += cell->work[NP_WORK_COMPUTE];
		most = own > most ? own : most;
	}
	ret->most = most / steps;
	ret->mean = ranks > 0 ? all / ranks / steps : 0;
}

int np_efficiency_measure(const struct np_replay *replay, struct np_efficiency *ret,
			  struct np_err *err)
{
	const struct np_whatif_input input = { .replay = replay };
	struct np_replay_result base;
	int rc = np_replay_run(replay, NULL, &base, err);

	if (rc == NP_OK) {
		ret->step = base.step;
		rc = np_whatif_together(&input, losses, HOST_LOSSES, &ret->without_host, err);
	}
	if (rc == NP_OK)
		rc = np_whatif_together(&input, losses, NP_COUNT(losses), &ret->without_both, err);
	if (rc == NP_OK)
		see_computing(replay, ret);
	return rc;
}

/* --- step by step ----------------------------------------------------------------------------- */

/* Computing of all ranks in each step. */
static int see_steps(const struct np_replay *replay, struct np_efficiency *list, struct np_err *err)
{
	size_t count = replay->cluster->steps.count;
	np_ns *ranks = calloc(count + 1, sizeof(*ranks));

	if (!ranks)
		return np_fail_nomem(err, "the efficiency");
	for (size_t i = 0; i < replay->cells.count; i++) {
		const struct np_replay_cell *cell = &replay->cells.item[i];
		size_t step = np_cluster_step(replay->cluster, cell->step);

		if (!cell->timed || step == SIZE_MAX)
			continue;
		list[step].mean += cell->work[NP_WORK_COMPUTE];
		ranks[step]++;
		if (cell->work[NP_WORK_COMPUTE] > list[step].most)
			list[step].most = cell->work[NP_WORK_COMPUTE];
	}
	for (size_t i = 0; i < count; i++)
		list[i].mean = ranks[i] > 0 ? list[i].mean / ranks[i] : 0;
	free(ranks);
	return NP_OK;
}

/* What each step takes with these repairs. */
static int step_times(const struct np_replay *replay, const struct np_fix *fixes, size_t count,
		      np_ns *ret, struct np_err *err)
{
	const struct np_whatif_input input = { .replay = replay };
	struct scenario_draft draft = { 0 };
	int rc = scenario_init(&draft, replay, err);

	if (rc == NP_OK)
		rc = scenario_repair(&input, fixes, count, &draft, err);
	if (rc == NP_OK) {
		const struct np_scenario scenario = { (const float(*)[NP_WORK_KINDS])draft.work,
						      draft.transfer };

		rc = np_replay_step_times(replay, &scenario, ret, err);
	}
	scenario_release(&draft);
	return rc;
}

int np_efficiency_steps(const struct np_replay *replay, struct np_efficiency **ret,
			struct np_err *err)
{
	static const size_t taken[] = { 0, HOST_LOSSES, NP_COUNT(losses) };
	size_t count = replay->cluster->steps.count;
	struct np_efficiency *list = calloc(count + 1, sizeof(*list));
	np_ns *times = calloc(count + 1, sizeof(*times));
	int rc = list && times ? NP_OK : np_fail_nomem(err, "the efficiency");

	for (size_t fixed = 0; fixed < NP_COUNT(taken) && rc == NP_OK; fixed++) {
		rc = step_times(replay, losses, taken[fixed], times, err);
		for (size_t i = 0; i < count && rc == NP_OK; i++) {
			if (fixed == 0)
				list[i].step = times[i];
			else if (fixed == 1)
				list[i].without_host = times[i];
			else
				list[i].without_both = times[i];
		}
	}
	if (rc == NP_OK)
		rc = see_steps(replay, list, err);
	free(times);
	if (rc == NP_OK)
		*ret = NP_STEAL(list);
	free(list);
	return rc;
}

/* --- role by role ----------------------------------------------------------------------------- */

/* Instances of communicators of a role, or without any, take no time. */
static void hide_role(const struct np_replay *replay, np_str role, struct scenario_draft *scenario)
{
	const struct np_align *align = replay->align;
	const struct np_communicator *each = NULL;
	uint32_t last = UINT32_MAX;

	/* Instances are by communicator. */
	for (size_t i = 0; i < align->instances.count; i++) {
		uint32_t communicator = align->instances.item[i].communicator;

		if (communicator != last)
			each = np_cluster_communicator(
				replay->cluster, align->communicators.item[communicator].hash);
		last = communicator;
		if ((each ? each->pg_name : NP_STR_NONE) == role)
			scenario->transfer[i] = 0;
	}
}

static int add_role(struct np_role_transfers *list, np_str role, struct np_err *err)
{
	struct np_role_transfer *added;

	for (size_t i = 0; i < list->list.count; i++) {
		if (list->list.item[i].role == role)
			return NP_OK;
	}
	added = np_vec_add(&list->list, err);
	if (!added)
		return NP_E_NOMEM;
	*added = (struct np_role_transfer){ .role = role };
	return NP_OK;
}

/* By name, as they are found in different orders. */
static int by_name(const void *left, const void *right, void *run)
{
	const char *a = np_run_text(run, ((const struct np_role_transfer *)left)->role);
	const char *b = np_run_text(run, ((const struct np_role_transfer *)right)->role);

	if (!a || !b)
		return (!a) - (!b);
	return strcmp(a, b);
}

static int find_roles(const struct np_replay *replay, struct np_role_transfers *ret,
		      struct np_err *err)
{
	const struct np_align *align = replay->align;
	int rc = NP_OK;

	for (size_t i = 0; i < align->communicators.count && rc == NP_OK; i++) {
		const struct np_communicator *each =
			np_cluster_communicator(replay->cluster, align->communicators.item[i].hash);

		rc = add_role(ret, each ? each->pg_name : NP_STR_NONE, err);
	}
	if (rc == NP_OK && ret->list.count > 0)
		qsort_r(ret->list.item, ret->list.count, sizeof(ret->list.item[0]), by_name,
			(void *)(uintptr_t)align->run);
	return rc;
}

int np_efficiency_roles(const struct np_replay *replay, struct np_role_transfers *ret,
			struct np_err *err)
{
	const struct np_whatif_input input = { .replay = replay };
	struct scenario_draft draft = { 0 };
	struct np_replay_result result = { 0 };
	np_ns before = 0;
	int rc = scenario_init(&draft, replay, err);

	if (rc == NP_OK)
		rc = find_roles(replay, ret, err);
	if (rc == NP_OK)
		rc = scenario_repair(&input, losses, HOST_LOSSES, &draft, err);
	for (size_t i = 0; i <= ret->list.count && rc == NP_OK; i++) {
		const struct np_scenario scenario = { (const float(*)[NP_WORK_KINDS])draft.work,
						      draft.transfer };

		if (i > 0)
			hide_role(replay, ret->list.item[i - 1].role, &draft);
		rc = np_replay_run(replay, &scenario, &result, err);
		if (rc == NP_OK && i > 0) {
			ret->list.item[i - 1].with = before;
			ret->list.item[i - 1].without = result.step;
		}
		before = result.step;
	}
	scenario_release(&draft);
	if (rc < 0)
		np_role_transfers_release(ret);
	return rc;
}

void np_role_transfers_release(struct np_role_transfers *roles)
{
	np_vec_release(&roles->list);
}
