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
 */
#include "np_cluster_fixture.h"

#include "npuprof/clock.h"
#include "npuprof/replay.h"

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
	return (struct script){ .run = run, .rank = add_rank(run, id, true) };
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
	op->transfer = NP_UNKNOWN;
	script->ops[script->op_count++] = (struct np_activity_task){
		.start = start, .end = end, .of = (uint32_t)script->rank->ops.count - 1
	};
	return op;
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
	time->step = add_step(script->run, script->rank, step);
	assert_int_equal(np_activity_add(&script->rank->activity, &input, NULL), NP_OK);
	cell = &script->rank->activity.cells.item[script->rank->activity.cells.count - 1];
	time->span = cell->end - cell->begin;
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

static inline struct replayed replayed_build(const struct np_run *run)
{
	struct replayed it = { .run = run, .cluster = build(run) };
	struct np_err err = NP_ERR_INIT;

	assert_ok(np_align_build(run, 1, &it.align, &err), err);
	assert_ok(np_clock_raw(it.align, &it.clock, &err), err);
	assert_ok(np_replay_build(it.cluster, it.align, it.clock, &it.replay, &err), err);
	return it;
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
						   const struct np_world *world)
{
	struct np_replay_result result = { 0 };
	struct np_err err = NP_ERR_INIT;

	assert_ok(np_replay_run(it->replay, world, &result, &err), err);
	return result;
}

#endif /* NP_REPLAY_FIXTURE_H */
