/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_REPLAY_FIXTURE_H
#define NP_REPLAY_FIXTURE_H

/*
 * Runs with intervals, built by hand, for tests of the replay:
 *
 *	struct script script = script_begin(run, 0);
 *
 *	script_compute(&script, 0, 10 * MS);
 *	script_comm(&script, group, "hcom_allReduce_", 10 * MS, 16 * MS);
 *	script_end(&script, "1");
 *
 * and random clusters of four ranks, which a small simulation runs.
 */
#include "np_cluster_fixture.h"
#include "np_random.h"

#include "npuprof/align.h"
#include "npuprof/clock.h"
#include "npuprof/iteration.h"
#include "npuprof/replay.h"
#include "npuprof/run.h"

#define MS INT64_C(1000000)

#define SCRIPT_MOST 256

/* What a rank does, one step after the other. */
struct script {
	struct np_run *run;
	struct np_rank *rank;
	struct np_activity_task kernels[SCRIPT_MOST];
	size_t kernel_count;
	struct np_activity_task ops[SCRIPT_MOST];
	size_t op_count;
};

static inline struct script script_begin(struct np_run *run, int32_t id)
{
	struct script script = { .run = run, .rank = add_rank(run, id, true) };

	script.rank->contents |= NP_HAS_HOST_CALLS;
	return script;
}

/* A kernel that was launched long before, or as late as it starts. */
static inline void script_kernel(struct script *script, np_ns start, np_ns end, bool late)
{
	assert_true(script->kernel_count < SCRIPT_MOST);
	script->kernels[script->kernel_count++] =
		(struct np_activity_task){ .start = start,
					   .end = end,
					   .launched = late ? start : -NP_NS_MAX,
					   .of = intern(script->run, "MatMul") };
}

/* A kernel of another stream than the main one. */
static inline void script_aside(struct script *script, np_ns start, np_ns end)
{
	script_kernel(script, start, end, false);
	script->kernels[script->kernel_count - 1].tie = np_activity_tie(3, 0);
}

static inline void script_compute(struct script *script, np_ns start, np_ns end)
{
	script_kernel(script, start, end, false);
}

static inline struct np_comm_op *script_comm(struct script *script, uint32_t group,
					     const char *type, np_ns start, np_ns end)
{
	struct np_comm_op *op = add_op(script->rank, group, np_op_is_p2p(type));

	assert_true(script->op_count < SCRIPT_MOST);
	op->type = intern(script->run, type);
	op->name = op->type;
	op->start = start;
	op->end = end;
	op->bytes = 1024;
	op->step = (uint32_t)script->rank->steps.count;
	op->transfer = NP_LENGTH_UNKNOWN;
	script->ops[script->op_count++] = (struct np_activity_task){
		.start = start, .end = end, .of = (uint32_t)script->rank->ops.count - 1
	};
	return op;
}

/* The last two steps of a rank follow each other: what is between them is the host's. */
static inline void script_iterate(struct np_rank *rank)
{
	const struct np_activity_cell *cell =
		&rank->activity.cells.item[rank->activity.cells.count - 1];
	struct np_step_time *before = &rank->times.item[rank->times.count - 2];

	before->iteration = cell->begin - cell[-1].begin;
	if (cell->begin > cell[-1].end)
		before->between[NP_BETWEEN_HOST] = cell->begin - cell[-1].end;
}

/* The step is over. */
static inline void script_end(struct script *script, const char *step)
{
	struct np_activity_input input = { .kernels = script->kernels,
					   .kernel_count = script->kernel_count,
					   .ops = script->ops,
					   .op_count = script->op_count };
	struct np_step_time *time = np_vec_add(&script->rank->times, NULL);
	struct np_activity_cell *cell;

	assert_non_null(time);
	time->iteration = NP_UNKNOWN;
	time->step = add_step(script->run, script->rank, step);
	assert_int_equal(np_activity_add(&script->rank->activity, &input, NULL), NP_OK);
	cell = &script->rank->activity.cells.item[script->rank->activity.cells.count - 1];
	time->span = cell->end - cell->begin;
	time->begin = cell->begin;
	if (script->rank->times.count > 1)
		script_iterate(script->rank);
	script->kernel_count = 0;
	script->op_count = 0;
}

/* A run with everything that a replay needs. */
struct replayed {
	const struct np_run *run;
	struct np_cluster *cluster;
	struct np_align *align;
	struct np_clock *clock;
	struct np_replay *replay;
};

static inline struct replayed replayed_build_with(const struct np_run *run,
						  const struct np_experts *experts)
{
	struct replayed it = { .run = run, .cluster = build(run) };
	struct np_err err = NP_ERR_INIT;

	assert_ok(np_align_build(run, 1, &it.align, &err), err);
	assert_ok(np_clock_raw(it.align, &it.clock, &err), err);
	assert_ok(np_replay_build(it.cluster, it.align, it.clock, experts, 1, &it.replay, &err),
		  err);
	return it;
}

static inline struct replayed replayed_build(const struct np_run *run)
{
	return replayed_build_with(run, NULL);
}

static inline void replayed_release(struct replayed *it)
{
	np_replay_free(it->replay);
	np_clock_free(it->clock);
	np_align_free(it->align);
	np_cluster_free(it->cluster);
}

#define with_replay NP_CLEANUP(replayed_release) struct replayed

static inline struct np_replay_result replayed_run(const struct replayed *it,
						   const struct np_scenario *scenario)
{
	struct np_replay_result result = { 0 };
	struct np_err err = NP_ERR_INIT;

	assert_ok(np_replay_run(it->replay, scenario, &result, &err), err);
	return result;
}

/* --- random clusters -------------------------------------------------------------------------- */

#define RANKS 4
#define STEPS 3
#define ITEMS 6

/* Ranks 0 and 1, 2 and 3 are "tp", ranks 0 and 2, 1 and 3 are "dp". */
static const int32_t sim_tp[2][2] = { { 0, 1 }, { 2, 3 } };
static const int32_t sim_dp[2][2] = { { 0, 2 }, { 1, 3 } };
static const int32_t sim_world[] = { 0, 1, 2, 3 };

/* What a random cluster does, before anything waits for anything, in ns. */
struct random_item {
	int kind; /* 0 tp, 1 dp, 2 scenario */
	np_ns compute[RANKS];
	np_ns host[RANKS];
	np_ns transfer[RANKS]; /* by the first member */
};

struct random_cluster {
	struct random_item items[STEPS][ITEMS];
	np_ns between[STEPS][RANKS];
};

static inline np_ns draw(uint64_t *state, size_t most)
{
	/* Halves and quarters must be whole nanoseconds. */
	return (np_ns)np_random_below(state, most) * 4000;
}

static inline void random_cluster_draw(struct random_cluster *cluster, uint64_t seed)
{
	uint64_t state = seed;

	for (size_t step = 0; step < STEPS; step++) {
		for (size_t rank = 0; rank < RANKS; rank++)
			cluster->between[step][rank] = draw(&state, 400);
		for (size_t i = 0; i < ITEMS; i++) {
			struct random_item *item = &cluster->items[step][i];

			/* Steps begin and end together. */
			item->kind = i == 0 || i + 1 == ITEMS ? 2 : (int)np_random_below(&state, 3);
			for (size_t rank = 0; rank < RANKS; rank++) {
				item->compute[rank] = 400000 + draw(&state, 1000);
				item->host[rank] = np_random_below(&state, 3) == 0
							   ? 200000 + draw(&state, 200)
							   : 0;
				item->transfer[rank] = 100000 + draw(&state, 200);
			}
		}
	}
}

/* Scripts of all ranks while time goes on. */
struct simulation {
	struct script scripts[RANKS];
	np_ns now[RANKS];
};

static inline const int32_t *members_of(int kind, int32_t rank, size_t *ret_count)
{
	*ret_count = kind == 2 ? 4 : 2;
	if (kind == 2)
		return sim_world;
	return kind == 0 ? sim_tp[rank / 2] : sim_dp[rank % 2];
}

/* All members of the group of which `rank` is the first. */
static inline void simulate_op(struct simulation *sim, const struct random_item *item, int32_t rank,
			       double faster)
{
	size_t count;
	const int32_t *members = members_of(item->kind, rank, &count);
	np_ns last = 0;
	np_ns end;

	if (members[0] != rank)
		return;
	for (size_t i = 0; i < count; i++)
		last = sim->now[members[i]] > last ? sim->now[members[i]] : last;
	end = last + (np_ns)((double)item->transfer[rank] * faster);
	for (size_t i = 0; i < count; i++) {
		script_comm(&sim->scripts[members[i]], (uint32_t)item->kind, "hcom_allReduce_",
			    sim->now[members[i]], end);
		sim->now[members[i]] = end;
	}
}

/* Work of each rank and all transfers take so many times as long. */
static inline struct np_run *simulate(const struct random_cluster *cluster, const double *factor,
				      double transfer)
{
	struct np_run *run = np_run_new();
	struct simulation sim = { 0 };

	for (int32_t rank = 0; rank < RANKS; rank++) {
		struct script *script = &sim.scripts[rank];

		*script = script_begin(run, rank);
		add_group(run, script->rank, 10 + (uint64_t)rank / 2, "tp", sim_tp[rank / 2], 2);
		add_group(run, script->rank, 20 + (uint64_t)rank % 2, "dp", sim_dp[rank % 2], 2);
		add_group(run, script->rank, 30, "world", sim_world, RANKS);
	}
	for (size_t step = 0; step < STEPS; step++) {
		char id[8];

		for (size_t i = 0; i < ITEMS; i++) {
			const struct random_item *item = &cluster->items[step][i];

			for (int32_t rank = 0; rank < RANKS; rank++) {
				np_ns *now = &sim.now[rank];
				np_ns length = (np_ns)((double)item->compute[rank] * factor[rank]);
				/* What the host does before the first kernel is between steps. */
				np_ns host = i == 0 ? step == 0 ? 0 : cluster->between[step][rank]
						    : item->host[rank];

				*now += (np_ns)((double)host * factor[rank]);
				script_kernel(&sim.scripts[rank], *now, *now + length, true);
				*now += length;
			}
			for (int32_t rank = 0; rank < RANKS; rank++)
				simulate_op(&sim, item, rank, transfer);
		}
		(void)snprintf(id, sizeof(id), "%zu", step);
		for (int32_t rank = 0; rank < RANKS; rank++)
			script_end(&sim.scripts[rank], id);
	}
	return run;
}

#endif /* NP_REPLAY_FIXTURE_H */
