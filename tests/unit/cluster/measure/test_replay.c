/* SPDX-License-Identifier: Apache-2.0 */
#include "npuprof/replay.h"

#include "np_replay_fixture.h"

#define REDUCE "hcom_allReduce_"
#define US     INT64_C(1000)

static const int32_t pair[] = { 0, 1 };
static const int32_t three[] = { 0, 1, 2 };

/* Factors that are 1 wherever nothing else is said. */
struct factors {
	float work[256][NP_WORK_KINDS];
	float transfer[256];
	struct np_scenario scenario;
};

static void factors_init(struct factors *factors, const struct np_replay *replay)
{
	assert_true(replay->cells.count <= 256 && replay->align->instances.count <= 256);
	for (size_t i = 0; i < 256; i++) {
		for (int kind = 0; kind < NP_WORK_KINDS; kind++)
			factors->work[i][kind] = 1;
		factors->transfer[i] = 1;
	}
	factors->scenario = (struct np_scenario){ (const float(*)[NP_WORK_KINDS])factors->work,
						  factors->transfer };
}

static void scale_rank(struct factors *factors, const struct np_replay *replay, uint32_t rank,
		       enum np_work kind, float factor)
{
	for (size_t i = 0; i < replay->cells.count; i++) {
		if (replay->cells.item[i].rank == rank)
			factors->work[i][kind] = factor;
	}
}

/* The instances of a communicator. */
static void scale_transfers(struct factors *factors, const struct np_replay *replay, uint64_t hash,
			    float factor)
{
	const struct np_align *align = replay->align;

	for (size_t i = 0; i < align->instances.count; i++) {
		if (align->communicators.item[align->instances.item[i].communicator].hash == hash)
			factors->transfer[i] = factor;
	}
}

static np_ns total(const struct replayed *it, const struct np_scenario *scenario)
{
	return replayed_run(it, scenario).total;
}

/* Σ of the pieces of the critical path. */
static np_ns path_sum(const struct replayed *it)
{
	struct np_path path = { 0 };
	struct np_err err = NP_ERR_INIT;
	np_ns sum = 0;

	assert_ok(np_replay_path(it->replay, &path, &err), err);
	for (size_t i = 0; i < path.pieces.count; i++) {
		assert_true(path.pieces.item[i].ns > 0);
		sum += path.pieces.item[i].ns;
	}
	np_path_release(&path);
	return sum;
}

/* --- two ranks, one of them slow -------------------------------------------------------------- */

/* Rank 0 computes 10 ms and waits 5 for rank 1; the transfer takes 1; both compute 4 more. */
static struct np_run *slow_run(void)
{
	struct np_run *run = np_run_new();

	for (int32_t id = 0; id < 2; id++) {
		struct script script = script_begin(run, id);
		uint32_t group = add_group(run, script.rank, 7, "dp", pair, 2);
		np_ns ready = id == 0 ? 10 * MS : 15 * MS;

		script_compute(&script, 0, ready);
		script_comm(&script, group, REDUCE, ready, 16 * MS);
		script_compute(&script, 16 * MS, 20 * MS);
		script_end(&script, "1");
	}
	return run;
}

static void untouched_it_takes_as_long_as_it_did(void **state)
{
	with_run *run = slow_run();
	with_replay it = replayed_build(run);
	struct np_replay_result result = replayed_run(&it, NULL);

	(void)state;
	assert_int_equal(it.replay->observed, 20 * MS);
	assert_int_equal(it.replay->timed, 2);
	assert_int_equal(result.total, 20 * MS);
	assert_int_equal(result.step, 20 * MS);
	assert_int_equal(result.forced, 0);
}

/* The slow rank in half its time is ready after 7.5 ms; now the other one is late. */
static void a_faster_rank_is_no_longer_waited_for(void **state)
{
	with_run *run = slow_run();
	with_replay it = replayed_build(run);
	struct factors factors;

	(void)state;
	factors_init(&factors, it.replay);
	scale_rank(&factors, it.replay, 1, NP_WORK_COMPUTE, 0.5F);
	assert_int_equal(total(&it, &factors.scenario), 10 * MS + 1 * MS + 4 * MS);
}

static void a_faster_transfer_does_not_shorten_the_wait(void **state)
{
	with_run *run = slow_run();
	with_replay it = replayed_build(run);
	struct factors factors;

	(void)state;
	factors_init(&factors, it.replay);
	scale_transfers(&factors, it.replay, 7, 0.25F);
	assert_int_equal(total(&it, &factors.scenario), 15 * MS + MS / 4 + 4 * MS);
}

static void the_path_goes_over_the_rank_that_came_last(void **state)
{
	with_run *run = slow_run();
	with_replay it = replayed_build(run);
	struct np_path path = { 0 };
	struct np_err err = NP_ERR_INIT;

	(void)state;
	assert_ok(np_replay_path(it.replay, &path, &err), err);
	assert_int_equal(path.pieces.count, 3);
	assert_int_equal(path.pieces.item[0].rank, 1);
	assert_int_equal(path.pieces.item[0].work, NP_WORK_COMPUTE);
	assert_int_equal(path.pieces.item[0].communicator, UINT32_MAX);
	assert_int_equal(path.pieces.item[0].ns, 15 * MS);
	assert_int_equal(path.pieces.item[1].communicator, 0);
	assert_int_equal(path.pieces.item[1].ns, 1 * MS);
	assert_int_equal(path.pieces.item[2].ns, 4 * MS);
	np_path_release(&path);
	assert_int_equal(path_sum(&it), 20 * MS);
}

/* --- kinds of work ---------------------------------------------------------------------------- */

/* 10 ms of computing, 3 ms in which the host launched nothing, 2 ms idle though launched. */
static void work_is_told_apart_by_kind(void **state)
{
	with_run *run = np_run_new();
	struct factors factors;

	(void)state;
	for (int32_t id = 0; id < 2; id++) {
		struct script script = script_begin(run, id);
		uint32_t group = add_group(run, script.rank, 7, "dp", pair, 2);

		script_compute(&script, 0, 6 * MS);
		script_kernel(&script, 9 * MS, 11 * MS, true);
		script_compute(&script, 13 * MS, 15 * MS);
		script_comm(&script, group, REDUCE, 15 * MS, 16 * MS);
		script_end(&script, "1");
	}
	{
		with_replay it = replayed_build(run);

		assert_int_equal(it.replay->cells.item[0].work[NP_WORK_COMPUTE], 10 * MS);
		assert_int_equal(it.replay->cells.item[0].work[NP_WORK_HOST], 3 * MS);
		assert_int_equal(it.replay->cells.item[0].work[NP_WORK_OTHER], 2 * MS);
		factors_init(&factors, it.replay);
		scale_rank(&factors, it.replay, 0, NP_WORK_HOST, 0);
		scale_rank(&factors, it.replay, 1, NP_WORK_HOST, 0);
		assert_int_equal(total(&it, &factors.scenario), 13 * MS);
		scale_rank(&factors, it.replay, 0, NP_WORK_OTHER, 0.5F);
		assert_int_equal(total(&it, &factors.scenario), 13 * MS);
		scale_rank(&factors, it.replay, 1, NP_WORK_OTHER, 0.5F);
		assert_int_equal(total(&it, &factors.scenario), 12 * MS);
	}
}

/* Between the steps the host took 5 ms: they are 25 ms apart. */
static void what_is_between_steps_is_work_of_its_own_kind(void **state)
{
	with_run *run = np_run_new();
	struct factors factors;

	(void)state;
	for (int32_t id = 0; id < 2; id++) {
		struct script script = script_begin(run, id);
		uint32_t group = add_group(run, script.rank, 7, "dp", pair, 2);

		for (np_ns step = 0; step < 2; step++) {
			script_compute(&script, step * 25 * MS, (step * 25 + 19) * MS);
			script_comm(&script, group, REDUCE, (step * 25 + 19) * MS,
				    (step * 25 + 20) * MS);
			script_end(&script, step == 0 ? "1" : "2");
		}
	}
	{
		with_replay it = replayed_build(run);
		struct np_replay_result result = replayed_run(&it, NULL);

		assert_int_equal(result.total, 45 * MS);
		assert_int_equal(it.replay->iterations, 2);
		assert_int_equal(it.replay->observed_step, 25 * MS);
		assert_int_equal(result.step, 25 * MS);
		assert_int_equal(path_sum(&it), 45 * MS);
		assert_int_equal(it.replay->cells.item[0].work[NP_WORK_BETWEEN], 5 * MS);
		assert_int_equal(it.replay->cells.item[0].work[NP_WORK_HOST], 0);
		assert_int_equal(it.replay->cells.item[1].work[NP_WORK_BETWEEN], 0);
		factors_init(&factors, it.replay);
		scale_rank(&factors, it.replay, 0, NP_WORK_BETWEEN, 0);
		assert_int_equal(total(&it, &factors.scenario), 45 * MS);
		/* The next step of rank 0 begins at 20 ms, and there it waits for rank 1: in vain.
		 */
		assert_int_equal(replayed_run(&it, &factors.scenario).step, 25 * MS);
		scale_rank(&factors, it.replay, 1, NP_WORK_BETWEEN, 0);
		assert_int_equal(total(&it, &factors.scenario), 40 * MS);
		assert_int_equal(replayed_run(&it, &factors.scenario).step, 20 * MS);
	}
}

/* Of 6 s between steps 5 were launched and not started: that is nobody's to repair. */
static void time_between_steps_is_longer_than_a_mark_holds(void **state)
{
	with_run *run = np_run_new();
	struct script script = script_begin(run, 0);
	struct np_step_time *time;
	struct factors factors;

	(void)state;
	script_compute(&script, 0, 1000 * MS);
	script_end(&script, "1");
	script_compute(&script, 12000 * MS, 13000 * MS);
	script_end(&script, "2");
	time = &script.rank->times.item[0];
	time->between[NP_BETWEEN_HOST] = 5900 * MS;
	time->between[NP_BETWEEN_DATALOADER] = 100 * MS;
	time->between[NP_BETWEEN_OTHER] = 5000 * MS;
	{
		with_replay it = replayed_build(run);

		assert_int_equal(replayed_run(&it, NULL).step, 12000 * MS);
		assert_int_equal(total(&it, NULL), 13000 * MS);
		assert_int_equal(path_sum(&it), 13000 * MS);
		factors_init(&factors, it.replay);
		scale_rank(&factors, it.replay, 0, NP_WORK_BETWEEN, 0);
		assert_int_equal(replayed_run(&it, &factors.scenario).step, 6000 * MS);
	}
}

/* The operator of the first step, 18-30 ms, is still under way when the second begins at 20. */
static void work_that_outlives_its_step_does_not_hold_up_the_next(void **state)
{
	with_run *run = np_run_new();

	(void)state;
	for (int32_t id = 0; id < 2; id++) {
		struct script script = script_begin(run, id);
		uint32_t group = add_group(run, script.rank, 7, "dp", pair, 2);

		script_compute(&script, 0, 19 * MS);
		script_comm(&script, group, REDUCE, 18 * MS, 30 * MS);
		script_end(&script, "1");
		script_compute(&script, 20 * MS, 40 * MS);
		script_end(&script, "2");
	}
	{
		with_replay it = replayed_build(run);

		assert_int_equal(total(&it, NULL), 40 * MS);
		assert_int_equal(replayed_run(&it, NULL).step, 20 * MS);
	}
}

/*
 * Rank 1 begins its first step 5 ms late, as its loader stalls: the host's time. Its
 * second step, and that of rank 0, begin at 21 ms. Without it all come 5 ms earlier.
 */
static void a_late_begin_of_the_first_step_is_time_of_the_host(void **state)
{
	with_run *run = np_run_new();
	struct factors factors;

	(void)state;
	for (int32_t id = 0; id < 2; id++) {
		struct script script = script_begin(run, id);
		uint32_t group = add_group(run, script.rank, 7, "dp", pair, 2);

		script_compute(&script, id * 5 * MS, (id * 5 + 10) * MS);
		script_comm(&script, group, REDUCE, (id * 5 + 10) * MS, 16 * MS);
		script_end(&script, "1");
		script_compute(&script, 21 * MS, 31 * MS);
		script_comm(&script, group, REDUCE, 31 * MS, 32 * MS);
		script_end(&script, "2");
	}
	{
		with_replay it = replayed_build(run);

		assert_int_equal(it.replay->cells.item[0].work[NP_WORK_HOST], 0);
		assert_int_equal(it.replay->cells.item[2].work[NP_WORK_HOST], 5 * MS);
		assert_int_equal(total(&it, NULL), 32 * MS);
		assert_int_equal(path_sum(&it), 32 * MS);
		assert_int_equal(replayed_run(&it, NULL).step, (21 + 16) * MS / 2);
		factors_init(&factors, it.replay);
		scale_rank(&factors, it.replay, 1, NP_WORK_HOST, 0);
		assert_int_equal(total(&it, &factors.scenario), 27 * MS);
		/* Its own step is as long as it was: it begins and ends 5 ms earlier. */
		assert_int_equal(replayed_run(&it, &factors.scenario).step, 16 * MS);
	}
}

/*
 * Rank 1 begins 5 ms late, and has 5 ms less to do: nobody waits for it. That it could begin
 * earlier makes no step longer.
 */
static void who_begins_earlier_and_only_waits_longer_changes_nothing(void **state)
{
	with_run *run = np_run_new();
	struct factors factors;

	(void)state;
	for (int32_t id = 0; id < 2; id++) {
		struct script script = script_begin(run, id);
		uint32_t group = add_group(run, script.rank, 7, "dp", pair, 2);

		script_compute(&script, id * 5 * MS, 10 * MS);
		script_comm(&script, group, REDUCE, 10 * MS, 11 * MS);
		script_end(&script, "1");
		script_compute(&script, 12 * MS, 22 * MS);
		script_comm(&script, group, REDUCE, 22 * MS, 23 * MS);
		script_end(&script, "2");
	}
	{
		with_replay it = replayed_build(run);

		assert_int_equal(replayed_run(&it, NULL).step, (12 + 7) * MS / 2);
		factors_init(&factors, it.replay);
		scale_rank(&factors, it.replay, 1, NP_WORK_HOST, 0);
		assert_int_equal(total(&it, &factors.scenario), 23 * MS);
		assert_int_equal(replayed_run(&it, &factors.scenario).step, (12 + 7) * MS / 2);
	}
}

/*
 * Rank 0 was captured for steps 1 to 4, rank 1, which computes twice as long, for 2 to 5: three of
 * five are replayed, of which two have an iteration on both, and nobody waits for what is not
 * there.
 */
static void steps_that_not_all_ranks_have_are_left_out(void **state)
{
	static const char *const names[] = { "1", "2", "3", "4", "5" };
	with_run *run = np_run_new();
	struct factors factors;

	(void)state;
	for (int32_t id = 0; id < 2; id++) {
		struct script script = script_begin(run, id);
		uint32_t group = add_group(run, script.rank, 7, "dp", pair, 2);

		for (int i = id; i < id + 4; i++) {
			np_ns begin = i * 21 * MS;
			np_ns computed = begin + (id + 1) * 10 * MS;

			script_compute(&script, begin, computed);
			script_comm(&script, group, REDUCE, computed, begin + 21 * MS);
			script_end(&script, names[i]);
		}
	}
	{
		with_replay it = replayed_build(run);

		assert_int_equal(it.align->instances.count, 5);
		assert_int_equal(it.replay->steps, 3);
		assert_int_equal(it.replay->cells.count, 6);
		assert_int_equal(it.replay->iterations, 4);
		assert_int_equal(it.replay->forced, 0);
		assert_false(np_replay_has_step(it.replay, intern(run, "1")));
		assert_true(np_replay_has_step(it.replay, intern(run, "2")));
		assert_int_equal(total(&it, NULL), 3 * 21 * MS);
		assert_int_equal(path_sum(&it), 3 * 21 * MS);
		assert_int_equal(replayed_run(&it, NULL).step, 21 * MS);
		factors_init(&factors, it.replay);
		scale_rank(&factors, it.replay, 1, NP_WORK_COMPUTE, 0.5F);
		assert_int_equal(replayed_run(&it, &factors.scenario).step, 11 * MS);
	}
}

/* Rank 1 was captured from the second step on: it was not late. */
static void a_capture_that_begins_with_a_later_step_is_not_late(void **state)
{
	with_run *run = np_run_new();

	(void)state;
	for (int32_t id = 0; id < 2; id++) {
		struct script script = script_begin(run, id);
		uint32_t group = add_group(run, script.rank, 7, "dp", pair, 2);

		if (id == 0) {
			script_compute(&script, 0, 10 * MS);
			script_end(&script, "1");
		}
		script_compute(&script, 10 * MS, 20 * MS);
		script_comm(&script, group, REDUCE, 20 * MS, 21 * MS);
		script_end(&script, "2");
	}
	{
		with_replay it = replayed_build(run);

		assert_int_equal(it.replay->cells.item[2].work[NP_WORK_HOST], 0);
		assert_int_equal(total(&it, NULL), 21 * MS);
	}
}

/* Five seconds at a stretch are more than a mark holds. */
static void work_longer_than_four_seconds_is_kept(void **state)
{
	with_run *run = np_run_new();
	struct factors factors;

	(void)state;
	for (int32_t id = 0; id < 2; id++) {
		struct script script = script_begin(run, id);
		uint32_t group = add_group(run, script.rank, 7, "dp", pair, 2);

		script_compute(&script, 0, 9000 * MS);
		script_comm(&script, group, REDUCE, 9000 * MS, 9001 * MS);
		script_end(&script, "1");
	}
	{
		with_replay it = replayed_build(run);

		assert_int_equal(total(&it, NULL), 9001 * MS);
		assert_int_equal(path_sum(&it), 9001 * MS);
		factors_init(&factors, it.replay);
		scale_rank(&factors, it.replay, 0, NP_WORK_COMPUTE, 0.5F);
		scale_rank(&factors, it.replay, 1, NP_WORK_COMPUTE, 0.5F);
		assert_in_range(total(&it, &factors.scenario), 4501 * MS - 4, 4501 * MS + 4);
	}
}

/* --- operators -------------------------------------------------------------------------------- */

/*
 * Three ranks and an operator with rank 0 as the root. Each computes `ready` ms,
 * takes part until `done`, and computes 10 ms more.
 */
static struct np_run *rooted_run(const char *type, const np_ns *ready, const np_ns *done)
{
	struct np_run *run = np_run_new();

	for (int32_t id = 0; id < 3; id++) {
		struct script script = script_begin(run, id);
		uint32_t group = add_group(run, script.rank, 7, "dp", three, 3);
		struct np_comm_op *op;

		script_compute(&script, 0, ready[id] * MS);
		op = script_comm(&script, group, type, ready[id] * MS, done[id] * MS);
		/* What sub-tasks tell: the others deal with the root alone, the root with all. */
		op->peer = id == 0 ? NP_PEERS : 1;
		script_compute(&script, done[id] * MS, (done[id] + 10) * MS);
		script_end(&script, "1");
	}
	for (size_t i = 0; i < 3; i++)
		run->ranks[i]->groups.item[0].group_rank = (int32_t)i;
	return run;
}

/* The root sends at 5 and is gone; rank 1 came before it, rank 2 long after. */
static void of_a_broadcast_only_the_root_is_waited_for(void **state)
{
	with_run *run = rooted_run("hcom_broadcast_", (const np_ns[]){ 5, 2, 20 },
				   (const np_ns[]){ 6, 6, 21 });
	with_replay it = replayed_build(run);
	struct factors factors;

	(void)state;
	assert_int_not_equal(it.align->instances.item[0].root, NP_NO_ROOT);
	assert_int_equal(total(&it, NULL), 31 * MS);
	factors_init(&factors, it.replay);
	scale_rank(&factors, it.replay, 2, NP_WORK_COMPUTE, 0.5F);
	/* Rank 2: 10 + 1 + 5; rank 0: 5 + 1 + 10. */
	assert_int_equal(total(&it, &factors.scenario), 16 * MS);
	assert_int_equal(path_sum(&it), 31 * MS);
}

/* Rank 1 waits for the root, which comes last of all. */
static void the_path_of_a_broadcast_goes_over_the_root(void **state)
{
	with_run *run = rooted_run("hcom_broadcast_", (const np_ns[]){ 15, 2, 20 },
				   (const np_ns[]){ 16, 26, 21 });
	with_replay it = replayed_build(run);
	struct np_path path = { 0 };
	struct np_err err = NP_ERR_INIT;

	(void)state;
	assert_ok(np_replay_path(it.replay, &path, &err), err);
	assert_int_equal(path.pieces.count, 3);
	assert_int_equal(path.pieces.item[0].rank, 0);
	assert_int_equal(path.pieces.item[0].ns, 15 * MS);
	assert_int_equal(path.pieces.item[1].rank, 1);
	assert_int_equal(path.pieces.item[1].ns, 11 * MS);
	assert_int_equal(path.pieces.item[2].ns, 10 * MS);
	np_path_release(&path);
}

/* The root of a reduce waits for rank 2, which comes last; the others do not. */
static void of_a_reduce_only_the_root_waits(void **state)
{
	with_run *run = rooted_run("hcom_reduce_", (const np_ns[]){ 5, 2, 20 },
				   (const np_ns[]){ 21, 3, 21 });
	with_replay it = replayed_build(run);
	struct factors factors;

	(void)state;
	assert_int_equal(total(&it, NULL), 31 * MS);
	factors_init(&factors, it.replay);
	scale_rank(&factors, it.replay, 0, NP_WORK_COMPUTE, 0.5F);
	scale_rank(&factors, it.replay, 2, NP_WORK_COMPUTE, 0.5F);
	/* Rank 2 is ready at 10, the root done at 11, and computes 5 more. */
	assert_int_equal(total(&it, &factors.scenario), 16 * MS);
	assert_int_equal(path_sum(&it), 31 * MS);
}

/* The sender is gone at 2 ms, the receiver comes at 10. */
static void a_message_into_a_buffer_holds_nobody_up(void **state)
{
	with_run *run = np_run_new();
	struct factors factors;

	(void)state;
	for (int32_t id = 0; id < 2; id++) {
		struct script script = script_begin(run, id);
		uint32_t group = add_group(run, script.rank, 7, "pp", pair, 2);
		np_ns ready = id == 0 ? 1 * MS : 10 * MS;
		struct np_comm_op *op;

		script_compute(&script, 0, ready);
		op = script_comm(&script, group, id == 0 ? "hcom_send_" : "hcom_receive_", ready,
				 ready + 1 * MS);
		op->peer = id == 0 ? 2 : 1;
		script_compute(&script, ready + 1 * MS, ready + 21 * MS);
		script_end(&script, "1");
	}
	{
		with_replay it = replayed_build(run);

		assert_int_equal(it.align->matched, 2);
		assert_int_equal(total(&it, NULL), 31 * MS);
		assert_int_equal(path_sum(&it), 31 * MS);
		factors_init(&factors, it.replay);
		scale_rank(&factors, it.replay, 1, NP_WORK_COMPUTE, 0.5F);
		/* The sender still ends at 22; the receiver at 5 + 1 + 10. */
		assert_int_equal(total(&it, &factors.scenario), 22 * MS);
	}
}

/*
 * Rank 0 puts messages into a buffer at 10 and at 16 ms; they take 3 ms to come. Rank 1 waits for
 * the first from 5 to 13; it has computed at 30 and takes the second out of the buffer in 1 ms.
 */
static void a_message_takes_its_time_to_a_buffer_whoever_comes_late_for_it(void **state)
{
	with_run *run = np_run_new();
	struct script send = script_begin(run, 0);
	struct script receive = script_begin(run, 1);
	uint32_t from = add_group(run, send.rank, 7, "pp", pair, 2);
	uint32_t to = add_group(run, receive.rank, 7, "pp", pair, 2);
	struct factors factors;

	(void)state;
	script_compute(&send, 0, 10 * MS);
	script_comm(&send, from, "hcom_send_", 10 * MS, 11 * MS)->peer = 2;
	script_compute(&send, 11 * MS, 16 * MS);
	script_comm(&send, from, "hcom_send_", 16 * MS, 17 * MS)->peer = 2;
	script_end(&send, "1");
	script_compute(&receive, 0, 5 * MS);
	script_comm(&receive, to, "hcom_receive_", 5 * MS, 13 * MS)->peer = 1;
	script_compute(&receive, 13 * MS, 30 * MS);
	script_comm(&receive, to, "hcom_receive_", 30 * MS, 31 * MS)->peer = 1;
	script_compute(&receive, 31 * MS, 32 * MS);
	script_end(&receive, "1");
	{
		with_replay it = replayed_build(run);

		assert_int_equal(it.align->matched, 4);
		assert_int_equal(total(&it, NULL), 32 * MS);
		assert_int_equal(path_sum(&it), 32 * MS);
		factors_init(&factors, it.replay);
		/* It would be there at 13, and gets the second at 19, not at 17. */
		scale_rank(&factors, it.replay, 1, NP_WORK_COMPUTE, 0);
		assert_int_equal(total(&it, &factors.scenario), 19 * MS);
		/* With an early sender it takes both out of the buffer: 5 + 1 + 17 + 1 + 1. */
		factors_init(&factors, it.replay);
		scale_rank(&factors, it.replay, 0, NP_WORK_COMPUTE, 0);
		assert_int_equal(total(&it, &factors.scenario), 25 * MS);
		/* Nor does the sender wait for a receiver that comes late for both. */
		factors_init(&factors, it.replay);
		scale_rank(&factors, it.replay, 1, NP_WORK_COMPUTE, 4);
		assert_int_equal(total(&it, &factors.scenario), (20 + 1 + 68 + 1 + 4) * MS);
	}
}

/*
 * Of communicators with a rank that was not profiled only one member is known. Like the one
 * that is complete their operators take 1 ms, from 13 on: they wait 3 ms for that rank, of
 * which nothing is known but that it comes then.
 */
static void what_takes_longer_than_its_like_waits_for_who_was_not_profiled(void **state)
{
	with_run *run = np_run_new();
	struct factors factors;

	(void)state;
	for (int32_t id = 0; id < 2; id++) {
		struct script script = script_begin(run, id);
		uint32_t own = add_group(run, script.rank, 10 + (uint64_t)id, "tp",
					 (const int32_t[]){ id, id + 8 }, 2);
		uint32_t both = add_group(run, script.rank, 7, "dp", pair, 2);

		script_compute(&script, 0, 10 * MS);
		script_comm(&script, own, REDUCE, 10 * MS, 14 * MS);
		script_comm(&script, both, REDUCE, 14 * MS, 15 * MS);
		script_end(&script, "1");
	}
	{
		with_replay it = replayed_build(run);

		assert_int_equal(total(&it, NULL), 15 * MS);
		factors_init(&factors, it.replay);
		scale_rank(&factors, it.replay, 0, NP_WORK_COMPUTE, 0.5F);
		scale_rank(&factors, it.replay, 1, NP_WORK_COMPUTE, 0.5F);
		assert_int_equal(total(&it, &factors.scenario), 15 * MS);
		scale_transfers(&factors, it.replay, 10, 0.5F);
		assert_int_equal(total(&it, &factors.scenario), 15 * MS);
		scale_transfers(&factors, it.replay, 11, 0.5F);
		assert_int_equal(total(&it, &factors.scenario), 15 * MS - MS / 2);
	}
}

/*
 * Nothing tells who else is in the communicator: but the sub-tasks of its operator, from 10 to 30
 * ms, move data for 2 ms. They wait until 28 for somebody, whom no repair hurries; only what is
 * transferred can be saved.
 */
static void who_is_waited_for_need_not_be_known_by_name(void **state)
{
	with_run *run = np_run_new();
	struct factors factors;

	(void)state;
	for (int32_t id = 0; id < 2; id++) {
		struct script script = script_begin(run, id);
		uint32_t group = add_group(run, script.rank, 7, "dp", NULL, 0);

		script_compute(&script, 0, 10 * MS);
		script_comm(&script, group, REDUCE, 10 * MS, 30 * MS);
		script.rank->ops.item[0].transfer = id == 1 ? 2 * MS : NP_LENGTH_UNKNOWN;
		script_end(&script, "1");
	}
	{
		with_replay it = replayed_build(run);

		assert_int_equal(total(&it, NULL), 30 * MS);
		factors_init(&factors, it.replay);
		scale_rank(&factors, it.replay, 0, NP_WORK_COMPUTE, 0.5F);
		scale_rank(&factors, it.replay, 1, NP_WORK_COMPUTE, 0.5F);
		assert_int_equal(total(&it, &factors.scenario), 30 * MS);
		scale_transfers(&factors, it.replay, 7, 0);
		assert_int_equal(total(&it, &factors.scenario), 28 * MS);
	}
}

/*
 * Rank 8 was not profiled. It meets rank 1, which comes at 10 ms, until 11, and rank 0, which
 * waits for it from 5 ms on, at 13: two milliseconds of work later. Rank 1 at half its time lets
 * it go on at 6, and come at 8.
 */
static void who_was_not_profiled_comes_earlier_when_it_can_go_on_earlier(void **state)
{
	with_run *run = np_run_new();
	struct factors factors;

	(void)state;
	for (int32_t id = 0; id < 2; id++) {
		struct script script = script_begin(run, id);
		uint32_t own = add_group(run, script.rank, 10 + (uint64_t)id, "tp",
					 (const int32_t[]){ id, 8 }, 2);
		uint32_t both = add_group(run, script.rank, 7, "dp", pair, 2);
		np_ns ready = id == 0 ? 5 * MS : 10 * MS;
		np_ns done = id == 0 ? 14 * MS : 11 * MS;

		script_compute(&script, 0, ready);
		script_comm(&script, own, REDUCE, ready, done);
		script_compute(&script, done, 20 * MS);
		script_comm(&script, both, REDUCE, 20 * MS, 21 * MS);
		script_end(&script, "1");
	}
	{
		with_replay it = replayed_build(run);

		assert_int_equal(total(&it, NULL), 21 * MS);
		assert_int_equal(path_sum(&it), 21 * MS);
		factors_init(&factors, it.replay);
		scale_rank(&factors, it.replay, 1, NP_WORK_COMPUTE, 0.5F);
		/* Rank 0: 8 + 1 + 6, and 1 ms together. */
		assert_int_equal(total(&it, &factors.scenario), 16 * MS);
	}
}

/*
 * By its clock rank 0 leaves the operator, at 15.9 ms, before rank 1 comes, at 16. It waited
 * all the same: with rank 1 at half its time both meet at 10.
 */
static void who_leaves_before_the_last_has_come_waited_where_it_must(void **state)
{
	with_run *run = np_run_new();
	struct factors factors;

	(void)state;
	for (int32_t id = 0; id < 2; id++) {
		struct script script = script_begin(run, id);
		uint32_t group = add_group(run, script.rank, 7, "dp", pair, 2);
		np_ns ready = id == 0 ? 10 * MS : 16 * MS;
		np_ns done = id == 0 ? 15900 * US : 17 * MS;

		script_compute(&script, 0, ready);
		script_comm(&script, group, REDUCE, ready, done);
		script_compute(&script, done, id == 0 ? 30 * MS : 20 * MS);
		script_end(&script, "1");
	}
	{
		with_replay it = replayed_build(run);

		assert_int_equal(total(&it, NULL), 30 * MS);
		assert_int_equal(path_sum(&it), 30 * MS);
		factors_init(&factors, it.replay);
		scale_rank(&factors, it.replay, 1, NP_WORK_COMPUTE, 0.5F);
		assert_int_equal(total(&it, &factors.scenario), 10 * MS + 14100 * US);
	}
}

/*
 * Rank 1 sends to rank 2 and receives from rank 0 with one interval, from 10 to 21 ms, when the
 * message of rank 0 has come, and computes 9 ms more. Rank 2 receives from `asked` on for 1 ms, or
 * till 11. Returns what it takes when rank 0, which sends at 20 ms, computes half as long.
 */
static np_ns batch(np_ns asked)
{
	with_run *run = np_run_new();
	struct factors factors;

	for (int32_t id = 0; id < 3; id++) {
		struct script script = script_begin(run, id);
		uint32_t group = add_group(run, script.rank, 7, "pp", three, 3);
		np_ns ready = id == 0 ? 20 * MS : id == 1 ? 10 * MS : asked;
		np_ns done = id < 2 ? 21 * MS : asked < 10 * MS ? 11 * MS : asked + MS;

		script_compute(&script, 0, ready);
		if (id == 0)
			script_comm(&script, group, "hcom_send_", ready, done)->peer = 2;
		if (id == 1) {
			script_comm(&script, group, "hcom_receive_", ready, done)->peer = 1;
			script_comm(&script, group, "hcom_send_", ready, done)->peer = 3;
		}
		if (id == 2)
			script_comm(&script, group, "hcom_receive_", ready, done)->peer = 2;
		script_compute(&script, done, id == 1 ? 30 * MS : done + MS / 2);
		script_end(&script, "1");
	}
	for (size_t i = 0; i < 3; i++)
		run->ranks[i]->groups.item[0].group_rank = (int32_t)i;
	{
		with_replay it = replayed_build(run);

		assert_int_equal(it.align->matched, 4);
		assert_int_equal(total(&it, NULL), 30 * MS);
		assert_int_equal(path_sum(&it), 30 * MS);
		factors_init(&factors, it.replay);
		scale_rank(&factors, it.replay, 0, NP_WORK_COMPUTE, 0.5F);
		return total(&it, &factors.scenario);
	}
}

static void messages_of_one_interval_end_with_the_last_of_them(void **state)
{
	(void)state;
	/* 10 + 1 + 9: what rank 1 sends was received by 11 ms. */
	assert_int_equal(batch(5 * MS), 20 * MS);
}

static void a_batched_message_into_a_buffer_has_no_length_of_its_own(void **state)
{
	(void)state;
	/* Rank 2 is there at 25, long after rank 1 has gone on. */
	assert_int_equal(batch(25 * MS), 26500 * US);
}

/*
 * Rank 0 has both operators in the other order than rank 1, as wrongly matched
 * records would: each waits for the other, and one has to go on.
 */
static void ranks_that_wait_for_what_never_comes_go_on(void **state)
{
	with_run *run = np_run_new();

	(void)state;
	for (int32_t id = 0; id < 2; id++) {
		struct script script = script_begin(run, id);
		uint32_t groups[] = { add_group(run, script.rank, 7, "dp", pair, 2),
				      add_group(run, script.rank, 8, "tp", pair, 2) };

		script_compute(&script, 0, 10 * MS);
		script_comm(&script, groups[id], REDUCE, 10 * MS, 12 * MS);
		script_compute(&script, 12 * MS, 20 * MS);
		script_comm(&script, groups[1 - id], REDUCE, 20 * MS, 22 * MS);
		script_compute(&script, 22 * MS, 30 * MS);
		script_end(&script, "1");
	}
	{
		with_replay it = replayed_build(run);
		struct np_replay_result result = replayed_run(&it, NULL);

		assert_true(result.forced > 0);
		assert_in_range(result.total, 28 * MS, 32 * MS);
		assert_int_equal(path_sum(&it), result.total);
	}
}

/* Three operators, each rank in another order: more than one has to go on. */
static struct np_run *crossed_run(void)
{
	struct np_run *run = np_run_new();

	for (int32_t id = 0; id < 3; id++) {
		struct script script = script_begin(run, id);
		uint32_t groups[3];

		for (uint32_t i = 0; i < 3; i++)
			groups[i] = add_group(run, script.rank, 7 + i, NULL, three, 3);
		for (int32_t i = 0; i < 3; i++) {
			np_ns begin = i * 20 * MS + id * MS;

			script_compute(&script, begin, begin + 10 * MS);
			script_comm(&script, groups[(i + id) % 3], REDUCE, begin + 10 * MS,
				    begin + 20 * MS);
		}
		script_end(&script, "1");
	}
	return run;
}

static void the_path_sums_to_the_total_where_ranks_went_on(void **state)
{
	with_run *run = crossed_run();
	with_replay it = replayed_build(run);
	struct np_replay_result result = replayed_run(&it, NULL);

	(void)state;
	assert_true(result.forced > 1);
	assert_int_equal(path_sum(&it), result.total);
}

/* Rank 1 begins 5 ms after rank 0 and is the one that the operator waits for. */
static void what_was_before_a_late_begin_is_on_the_path(void **state)
{
	with_run *run = np_run_new();

	(void)state;
	for (int32_t id = 0; id < 2; id++) {
		struct script script = script_begin(run, id);
		uint32_t group = add_group(run, script.rank, 7, "dp", pair, 2);

		script_compute(&script, id * 5 * MS, (id * 5 + 10) * MS);
		script_comm(&script, group, REDUCE, (id * 5 + 10) * MS, 16 * MS);
		script_end(&script, "1");
	}
	{
		with_replay it = replayed_build(run);

		assert_int_equal(total(&it, NULL), 16 * MS);
		assert_int_equal(path_sum(&it), 16 * MS);
	}
}

/* Of these ranks there are no intervals: 10 and 15 ms, an operator, 4 ms, another one. */
static void ranks_with_operators_alone_stand_still_for_each(void **state)
{
	with_run *run = np_run_new();

	(void)state;
	for (int32_t id = 0; id < 2; id++) {
		struct np_rank *rank = add_rank(run, id, true);
		uint32_t group = add_group(run, rank, 7, "dp", pair, 2);
		const np_ns starts[] = { 0, id == 0 ? 10 * MS : 15 * MS, 20 * MS };
		const np_ns ends[] = { 1 * MS, 16 * MS, 22 * MS };

		add_step(run, rank, "1");
		for (size_t i = 0; i < NP_COUNT(starts); i++) {
			struct np_comm_op *op = add_op(rank, group, false);

			op->type = intern(run, REDUCE);
			op->start = starts[i];
			op->end = ends[i];
			op->bytes = 1024;
			op->transfer = NP_LENGTH_UNKNOWN;
		}
	}
	{
		with_replay it = replayed_build(run);
		struct factors factors;

		assert_int_equal(it.replay->timed, 0);
		assert_false(it.replay->cells.item[0].timed);
		assert_int_equal(total(&it, NULL), 22 * MS);
		assert_int_equal(path_sum(&it), 22 * MS);
		factors_init(&factors, it.replay);
		scale_rank(&factors, it.replay, 1, NP_WORK_OTHER, 0.5F);
		/* 1 + 9 + 1 + 4 + 2: rank 0 is the later one now. */
		assert_int_equal(total(&it, &factors.scenario), 17 * MS);
	}
}

/* A long operator with two short ones beside it, of which again only operators are known. */
static void operators_beside_each_other_are_replayed_without_intervals(void **state)
{
	static const np_ns starts[] = { 0, 10, 12, 20, 40 };
	static const np_ns ends[] = { 2, 30, 15, 25, 45 };
	with_run *run = np_run_new();

	(void)state;
	for (int32_t id = 0; id < 2; id++) {
		struct np_rank *rank = add_rank(run, id, true);
		uint32_t groups[] = { add_group(run, rank, 7, "dp", pair, 2),
				      add_group(run, rank, 8, "tp", pair, 2) };

		add_step(run, rank, "1");
		for (size_t i = 0; i < NP_COUNT(starts); i++) {
			struct np_comm_op *op = add_op(rank, groups[i == 1], false);

			op->type = intern(run, REDUCE);
			op->start = (starts[i] + id) * MS;
			op->end = (ends[i] + 1) * MS;
			op->bytes = 1024;
			op->transfer = NP_LENGTH_UNKNOWN;
		}
	}
	{
		with_replay it = replayed_build(run);

		assert_int_equal(total(&it, NULL), 46 * MS);
		assert_int_equal(path_sum(&it), 46 * MS);
	}
}

/* --- operators that queue --------------------------------------------------------------------- */

/*
 * Four operators of one communicator are launched every 4 ms under 16 ms of
 * computing and take 6 ms each, so that all but the first wait for the one before.
 */
static struct np_run *queued_run(void)
{
	struct np_run *run = np_run_new();

	for (int32_t id = 0; id < 2; id++) {
		struct script script = script_begin(run, id);
		uint32_t group = add_group(run, script.rank, 7, "dp", pair, 2);

		script_compute(&script, 0, 16 * MS);
		for (np_ns i = 0; i < 4; i++)
			script_comm(&script, group, REDUCE, (4 + i * 6) * MS, (10 + i * 6) * MS);
		script_compute(&script, 28 * MS, 30 * MS);
		script_end(&script, "1");
	}
	return run;
}

static void operators_that_queue_move_up_when_those_before_them_get_shorter(void **state)
{
	with_run *run = queued_run();
	with_replay it = replayed_build(run);
	struct factors factors;

	(void)state;
	assert_int_equal(total(&it, NULL), 30 * MS);
	assert_int_equal(path_sum(&it), 30 * MS);
	factors_init(&factors, it.replay);
	scale_transfers(&factors, it.replay, 7, 0.5F);
	/*
	 * Were they launched when they started, the last would still start at 22 ms.
	 * The computing ends at 16; the last one is known to be launched by then, and
	 * takes 3 ms.
	 */
	assert_in_range(total(&it, &factors.scenario), 18 * MS, 21 * MS);
}

/*
 * Rank 0 computes 10 ms, rank 1 likewise, with a host gap of 10 ms in between. After
 * 2 ms both start the first operator, after 8 the second, which on rank 0 queues
 * behind the first: when it was ready, rank 1 tells, and the gap must not matter.
 */
static void check_queued(np_ns early)
{
	with_run *run = np_run_new();
	struct factors factors;

	for (int32_t id = 0; id < 2; id++) {
		struct script script = script_begin(run, id);
		uint32_t group = add_group(run, script.rank, 7, "dp", pair, 2);
		np_ns gap = id == 0 ? 0 : 10 * MS;

		script_kernel(&script, 0, MS, true);
		script_kernel(&script, MS + gap, 10 * MS + gap, true);
		script_comm(&script, group, REDUCE, 2 * MS + gap, 13 * MS);
		script_comm(&script, group, REDUCE, id == 0 ? 13 * MS - early : 18 * MS, 21 * MS);
		script_end(&script, "1");
	}
	{
		with_replay it = replayed_build(run);

		assert_int_equal(total(&it, NULL), 21 * MS);
		factors_init(&factors, it.replay);
		scale_rank(&factors, it.replay, 1, NP_WORK_HOST, 0);
		assert_int_equal(total(&it, &factors.scenario), 8 * MS + 3 * MS);
	}
}

static void how_far_a_rank_had_got_is_told_by_its_computing(void **state)
{
	(void)state;
	check_queued(0);
}

/* Of files that round, the second operator seems to start before the first has ended. */
static void an_operator_queues_that_seems_to_start_a_little_before(void **state)
{
	(void)state;
	check_queued(1);
	check_queued(999);
}

/* --- standing still -------------------------------------------------------------------------- */

/*
 * Rank 1 begins its first receive at 20 ms; the second send of rank 0 queues behind the first,
 * with the start of a reduction in between, which rank 0 stands still for. If rank 1 comes at 5,
 * all of that is 15 ms earlier.
 */
static void a_message_queues_behind_the_one_before_it_on_its_stream(void **state)
{
	with_run *run = np_run_new();
	struct factors factors;

	(void)state;
	for (int32_t id = 0; id < 2; id++) {
		struct script script = script_begin(run, id);
		uint32_t group = add_group(run, script.rank, 7, "pp", pair, 2);
		const char *type = id == 0 ? "hcom_send_" : "hcom_receive_";
		np_ns begin = id == 0 ? 2 * MS : 20 * MS;

		script_compute(&script, 0, begin);
		script_comm(&script, group, type, begin, 22 * MS)->peer = (uint16_t)(2 - id);
		if (id == 0)
			script_compute(&script, 2 * MS, 4 * MS);
		script_comm(&script, group, REDUCE, id == 0 ? 4 * MS : 24 * MS, 25 * MS);
		script_comm(&script, group, type, 22 * MS + 1000, 24 * MS)->peer =
			(uint16_t)(2 - id);
		script_end(&script, "1");
	}
	{
		with_replay it = replayed_build(run);

		assert_int_equal(total(&it, NULL), 25 * MS);
		factors_init(&factors, it.replay);
		scale_rank(&factors, it.replay, 1, NP_WORK_COMPUTE, 0.25F);
		assert_in_range(total(&it, &factors.scenario), 10 * MS, 10 * MS + 2000);
	}
}

/*
 * Both hosts stop from 2 to 4 and from 6 to 8 ms, while an operator is under way that nobody
 * waits for: that is time of the host, and without it the second one starts at 6.
 */
static void what_the_host_has_not_launched_while_an_operator_runs_is_its_time(void **state)
{
	with_run *run = np_run_new();
	struct factors factors;

	(void)state;
	for (int32_t id = 0; id < 2; id++) {
		struct script script = script_begin(run, id);
		uint32_t group = add_group(run, script.rank, 7, "dp", pair, 2);

		script_kernel(&script, 0, 2 * MS, true);
		script_kernel(&script, 4 * MS, 6 * MS, true);
		script_kernel(&script, 8 * MS, 10 * MS, true);
		script_comm(&script, group, REDUCE, 1 * MS, 9 * MS);
		script_comm(&script, group, REDUCE, 10 * MS, 11 * MS);
		script_end(&script, "1");
	}
	{
		with_replay it = replayed_build(run);

		assert_int_equal(total(&it, NULL), 11 * MS);
		assert_int_equal(it.replay->cells.item[0].work[NP_WORK_HOST], 4 * MS);
		factors_init(&factors, it.replay);
		scale_rank(&factors, it.replay, 0, NP_WORK_HOST, 0);
		scale_rank(&factors, it.replay, 1, NP_WORK_HOST, 0);
		/* Of one communicator the second queues behind the first. */
		assert_true(total(&it, &factors.scenario) < 11 * MS);
	}
}

/*
 * Rank 1 shows the first operator only because its host stops from 2 to 7 ms: rank
 * 0 computes on. Without the gap both have computed 10 ms when the second one starts.
 */
static void a_rank_whose_host_stops_does_not_wait_for_what_runs_meanwhile(void **state)
{
	with_run *run = np_run_new();
	struct factors factors;

	(void)state;
	for (int32_t id = 0; id < 2; id++) {
		struct script script = script_begin(run, id);
		uint32_t group = add_group(run, script.rank, 7, "dp", pair, 2);
		np_ns gap = id == 0 ? 0 : 5 * MS;

		script_kernel(&script, 0, 2 * MS, true);
		script_kernel(&script, 2 * MS + gap, 10 * MS + gap, true);
		script_comm(&script, group, REDUCE, 2 * MS, 5 * MS);
		script_comm(&script, group, REDUCE, 10 * MS + gap, 16 * MS);
		script_end(&script, "1");
	}
	{
		with_replay it = replayed_build(run);

		assert_int_equal(total(&it, NULL), 16 * MS);
		assert_int_equal(it.replay->cells.item[1].work[NP_WORK_HOST], 5 * MS);
		factors_init(&factors, it.replay);
		scale_rank(&factors, it.replay, 1, NP_WORK_HOST, 0);
		assert_int_equal(total(&it, &factors.scenario), 11 * MS);
	}
}

/*
 * Both start an operator of 7 ms after 2 and compute on. Rank 1 waits from 5 ms on
 * for rank 0, whose host stops from 4 to 10: not for the first operator, although
 * that ends meanwhile. Without the gap they meet at 5 ms, and it takes 1 + 1 ms more.
 */
static void what_ends_while_a_rank_waits_for_another_does_not_hold_it_up(void **state)
{
	with_run *run = np_run_new();
	struct factors factors;

	(void)state;
	for (int32_t id = 0; id < 2; id++) {
		struct script script = script_begin(run, id);
		uint32_t dp = add_group(run, script.rank, 7, "dp", pair, 2);
		uint32_t tp = add_group(run, script.rank, 8, "tp", pair, 2);

		script_kernel(&script, 0, id == 0 ? 4 * MS : 5 * MS, true);
		if (id == 0)
			script_kernel(&script, 10 * MS, 11 * MS, true);
		script_comm(&script, dp, REDUCE, 2 * MS, 9 * MS);
		script_comm(&script, tp, REDUCE, id == 0 ? 11 * MS : 5 * MS, 12 * MS);
		script_compute(&script, 12 * MS, 13 * MS);
		script_end(&script, "1");
	}
	{
		with_replay it = replayed_build(run);

		assert_int_equal(total(&it, NULL), 13 * MS);
		factors_init(&factors, it.replay);
		scale_rank(&factors, it.replay, 0, NP_WORK_HOST, 0);
		assert_int_equal(total(&it, &factors.scenario), 7 * MS);
	}
}

/*
 * Rank 0 computes 10 ms and receives what rank 1 sends after 20; its next kernel is
 * seen to start `early` before the receive ends, at 21 ms. Returns what both take
 * when rank 1 computes half as long.
 */
static np_ns received_early(np_ns early, bool aside)
{
	with_run *run = np_run_new();
	struct factors factors;

	for (int32_t id = 0; id < 2; id++) {
		struct script script = script_begin(run, id);
		uint32_t group = add_group(run, script.rank, 7, "pp", pair, 2);
		np_ns ready = id == 0 ? 10 * MS : 20 * MS;
		struct np_comm_op *op;

		script_compute(&script, 0, ready);
		op = script_comm(&script, group, id == 1 ? "hcom_send_" : "hcom_receive_", ready,
				 21 * MS);
		op->peer = id == 0 ? 2 : 1;
		if (id == 0 && aside) {
			/* One within the wait, one across its end. */
			script_aside(&script, 13 * MS, 13 * MS + 40 * US);
			script_aside(&script, 21 * MS - 30 * US, 21 * MS + 20 * US);
		}
		script_compute(&script, 21 * MS - (id == 0 ? early : 0), 40 * MS);
		script_end(&script, "1");
	}
	{
		with_replay it = replayed_build(run);

		assert_int_equal(total(&it, NULL), 40 * MS);
		assert_int_equal(path_sum(&it), 40 * MS);
		factors_init(&factors, it.replay);
		scale_rank(&factors, it.replay, 1, NP_WORK_COMPUTE, 0.5F);
		return total(&it, &factors.scenario);
	}
}

/* Rank 0: 10 + 1 + 19, whether or not its clock shows 100 us of them too early. */
static void a_wait_is_one_although_the_next_kernel_shows_to_start_early(void **state)
{
	(void)state;
	assert_int_equal(received_early(0, false), 30 * MS);
	assert_in_range(received_early(5 * US, false), 30 * MS, 30 * MS + 5 * US);
	/* A sixty-fourth of 11 ms is 172 us. */
	assert_in_range(received_early(160 * US, false), 30 * MS, 30 * MS + 160 * US);
}

/* The kernel began while the receive had still 400 us to go: it did not wait for it. */
static void a_kernel_that_starts_long_before_an_operator_ends_did_not_wait(void **state)
{
	(void)state;
	assert_in_range(received_early(400 * US, false), 39 * MS, 40 * MS);
}

static void kernels_of_other_streams_do_not_make_work_of_a_wait(void **state)
{
	(void)state;
	assert_in_range(received_early(0, true), 30 * MS, 30 * MS + 50 * US);
}

/*
 * Rank 0 stands still from 10 ms on for rank 1, which comes at 20; meanwhile, at 14, the
 * host of rank 0 launches another operator, for which rank 1 waits at 21.5. It is
 * done at 22 ms, whoever came last.
 */
static void what_is_launched_while_a_rank_stands_still_starts_when_it_did(void **state)
{
	with_run *run = np_run_new();
	struct factors factors;

	(void)state;
	for (int32_t id = 0; id < 2; id++) {
		struct script script = script_begin(run, id);
		uint32_t tp = add_group(run, script.rank, 7, "tp", pair, 2);
		uint32_t dp = add_group(run, script.rank, 8, "dp", pair, 2);
		np_ns ready = id == 0 ? 10 * MS : 20 * MS;

		script_compute(&script, 0, ready);
		script_comm(&script, tp, REDUCE, ready, 21 * MS);
		if (id == 1)
			script_compute(&script, 21 * MS, 21 * MS + 500 * US);
		script_comm(&script, dp, REDUCE, id == 0 ? 14 * MS : 21 * MS + 500 * US, 22 * MS);
		script_compute(&script, id == 0 ? 21 * MS : 22 * MS, 40 * MS);
		script_end(&script, "1");
	}
	{
		with_replay it = replayed_build(run);

		assert_int_equal(total(&it, NULL), 40 * MS);
		assert_int_equal(path_sum(&it), 40 * MS);
		factors_init(&factors, it.replay);
		scale_rank(&factors, it.replay, 1, NP_WORK_COMPUTE, 0.01F);
		scale_rank(&factors, it.replay, 0, NP_WORK_COMPUTE, 0.01F);
		/* Rank 0 is ready at 0.1, so that the other operator starts at 4.1 and is done
		 * at 4.6. */
		assert_in_range(total(&it, &factors.scenario), 4700 * US, 4900 * US);
	}
}

/* --- property: a cluster that is simulated twice -----------------------------------------------
 */

static void whatever_ran_is_replayed_to_the_nanosecond(void **state)
{
	static const double as_it_was[RANKS] = { 1, 1, 1, 1 };

	(void)state;
	for (uint64_t seed = 1; seed <= 50; seed++) {
		struct random_cluster cluster;

		random_cluster_draw(&cluster, seed);
		with_run *run = simulate(&cluster, as_it_was, 1);
		with_replay it = replayed_build(run);

		assert_int_equal(total(&it, NULL), it.replay->observed);
		assert_int_equal(path_sum(&it), it.replay->observed);
	}
}

/* The replay of one recording with factors is the recording of the other simulation. */
static void a_changed_scenario_is_what_the_recording_would_have_been(void **state)
{
	static const double as_it_was[RANKS] = { 1, 1, 1, 1 };
	static const double choices[] = { 0.25, 0.5, 1, 1, 2 };

	(void)state;
	for (uint64_t seed = 1; seed <= 50; seed++) {
		struct random_cluster cluster;
		struct factors factors;
		double changed[RANKS];
		double transfer = choices[seed % NP_COUNT(choices)];
		uint64_t chance = seed * 1000;

		random_cluster_draw(&cluster, seed);
		for (size_t i = 0; i < RANKS; i++)
			changed[i] = choices[np_random_below(&chance, NP_COUNT(choices))];
		with_run *before = simulate(&cluster, as_it_was, 1);
		with_run *after = simulate(&cluster, changed, transfer);
		with_replay replayed = replayed_build(before);
		with_replay expected = replayed_build(after);

		factors_init(&factors, replayed.replay);
		for (uint32_t i = 0; i < RANKS; i++) {
			/* The factor of computing is that of its surplus, too. */
			for (int kind = 0; kind < NP_WORK_KINDS; kind++)
				scale_rank(&factors, replayed.replay, i, (enum np_work)kind,
					   kind == NP_WORK_SURPLUS ? 1 : (float)changed[i]);
		}
		for (size_t i = 0; i < replayed.align->instances.count; i++)
			factors.transfer[i] = (float)transfer;
		assert_int_equal(total(&replayed, &factors.scenario), expected.replay->observed);
	}
}

#define MANY_SCENARIOS (2 * NP_REPLAY_LANES + 1)

/* Scenarios in which something else is different each, in the first nothing, in two only one kind.
 */
static void draw_scenarios(struct factors *factors, struct np_scenario *scenarios,
			   const struct np_replay *replay, uint64_t seed)
{
	static const float choices[] = { 0, 0.3F, 0.77F, 1, 1, 1, 1.4F };
	uint64_t chance = seed;

	for (size_t i = 0; i < MANY_SCENARIOS; i++) {
		factors_init(&factors[i], replay);
		for (size_t j = 0; i > 0 && j < replay->cells.count; j++)
			factors[i].work[j][j % NP_WORK_KINDS] =
				choices[np_random_below(&chance, NP_COUNT(choices))];
		for (size_t j = 0; i > 0 && j < replay->align->instances.count; j++)
			factors[i].transfer[j] =
				choices[np_random_below(&chance, NP_COUNT(choices))];
		scenarios[i] = factors[i].scenario;
	}
	scenarios[3].work = NULL;
	scenarios[4].transfer = NULL;
}

static void assert_side_by_side_as_alone(const struct replayed *it, uint64_t seed)
{
	static struct factors factors[MANY_SCENARIOS];
	struct np_scenario scenarios[MANY_SCENARIOS];
	struct np_replay_result results[MANY_SCENARIOS];
	struct np_err err = NP_ERR_INIT;

	draw_scenarios(factors, scenarios, it->replay, seed);
	for (size_t count = 0; count <= MANY_SCENARIOS; count++) {
		assert_ok(np_replay_run_many(it->replay, scenarios, count, results, &err), err);
		for (size_t i = 0; i < count; i++) {
			struct np_replay_result alone = replayed_run(it, &scenarios[i]);

			assert_int_equal(results[i].total, alone.total);
			assert_int_equal(results[i].step, alone.step);
			assert_int_equal(results[i].forced, alone.forced);
		}
	}
	assert_int_equal(results[0].total, total(it, NULL));
}

static void scenarios_side_by_side_are_what_each_is_alone(void **state)
{
	static const double as_it_was[RANKS] = { 1, 1, 1, 1 };

	(void)state;
	for (uint64_t seed = 1; seed <= 10; seed++) {
		struct random_cluster cluster;

		random_cluster_draw(&cluster, seed);
		with_run *run = simulate(&cluster, as_it_was, 1);
		with_replay it = replayed_build(run);

		assert_side_by_side_as_alone(&it, seed);
	}
}

static void scenarios_in_which_ranks_went_on_run_side_by_side(void **state)
{
	with_run *run = crossed_run();
	with_replay it = replayed_build(run);

	(void)state;
	assert_true(it.replay->forced > 1);
	assert_side_by_side_as_alone(&it, 1);
}

/* Which rank goes on is the same in all scenarios: one with less work never takes longer. */
static void less_work_is_never_slower_where_ranks_went_on(void **state)
{
	with_run *run = crossed_run();
	with_replay it = replayed_build(run);

	(void)state;
	for (uint32_t rank = 0; rank < 3; rank++) {
		struct factors factors;

		factors_init(&factors, it.replay);
		scale_rank(&factors, it.replay, rank, NP_WORK_COMPUTE, 0.1F);
		assert_true(total(&it, &factors.scenario) <= total(&it, NULL));
	}
}

/* Rank 0 computes 10 ms and waits 5 for rank 1. */
static void slack_is_what_a_rank_could_compute_longer(void **state)
{
	with_run *run = np_run_new();
	struct np_err err = NP_ERR_INIT;
	np_ns *slack = NULL;

	(void)state;
	for (int32_t id = 0; id < 2; id++) {
		struct script script = script_begin(run, id);
		uint32_t group = add_group(run, script.rank, 7, "dp", pair, 2);
		np_ns ready = id == 0 ? 10 * MS : 15 * MS;

		script_compute(&script, 0, ready);
		script_comm(&script, group, REDUCE, ready, 16 * MS);
		script_end(&script, "1");
	}
	{
		with_replay it = replayed_build(run);

		assert_ok(np_replay_slack(it.replay, &slack, &err), err);
		assert_int_equal(slack[0], 5 * MS);
		assert_int_equal(slack[1], 0);
		free(slack);
	}
}

static void steps_and_parts_of_the_path_sum_to_the_total(void **state)
{
	static const double as_it_was[RANKS] = { 1, 1, 1, 1 };

	(void)state;
	for (uint64_t seed = 1; seed <= 10; seed++) {
		struct random_cluster cluster;
		struct np_path path = { 0 };
		struct np_path_summary summary = { 0 };
		struct np_err err = NP_ERR_INIT;
		np_ns steps[STEPS];
		np_ns sum = 0;

		random_cluster_draw(&cluster, seed);
		with_run *run = simulate(&cluster, as_it_was, 1);
		with_replay it = replayed_build(run);

		assert_ok(np_replay_step_times(it.replay, NULL, steps, &err), err);
		assert_int_equal(steps[0] + steps[1] + steps[2], it.replay->observed);
		assert_ok(np_replay_path(it.replay, &path, &err), err);
		assert_ok(np_path_summarise(it.replay, &path, &summary, &err), err);
		for (size_t i = 0; i < summary.list.count; i++) {
			sum += summary.list.item[i].total;
			assert_true(summary.list.item[i].p50 <= summary.list.item[i].p95);
		}
		assert_int_equal(sum, it.replay->observed);
		np_path_release(&path);
		np_vec_release(&summary.list);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(untouched_it_takes_as_long_as_it_did),
		cmocka_unit_test(a_faster_rank_is_no_longer_waited_for),
		cmocka_unit_test(a_faster_transfer_does_not_shorten_the_wait),
		cmocka_unit_test(the_path_goes_over_the_rank_that_came_last),
		cmocka_unit_test(work_is_told_apart_by_kind),
		cmocka_unit_test(what_is_between_steps_is_work_of_its_own_kind),
		cmocka_unit_test(time_between_steps_is_longer_than_a_mark_holds),
		cmocka_unit_test(work_that_outlives_its_step_does_not_hold_up_the_next),
		cmocka_unit_test(steps_that_not_all_ranks_have_are_left_out),
		cmocka_unit_test(a_late_begin_of_the_first_step_is_time_of_the_host),
		cmocka_unit_test(who_begins_earlier_and_only_waits_longer_changes_nothing),
		cmocka_unit_test(a_capture_that_begins_with_a_later_step_is_not_late),
		cmocka_unit_test(work_longer_than_four_seconds_is_kept),
		cmocka_unit_test(of_a_broadcast_only_the_root_is_waited_for),
		cmocka_unit_test(the_path_of_a_broadcast_goes_over_the_root),
		cmocka_unit_test(of_a_reduce_only_the_root_waits),
		cmocka_unit_test(a_message_into_a_buffer_holds_nobody_up),
		cmocka_unit_test(a_message_takes_its_time_to_a_buffer_whoever_comes_late_for_it),
		cmocka_unit_test(what_takes_longer_than_its_like_waits_for_who_was_not_profiled),
		cmocka_unit_test(who_is_waited_for_need_not_be_known_by_name),
		cmocka_unit_test(who_was_not_profiled_comes_earlier_when_it_can_go_on_earlier),
		cmocka_unit_test(who_leaves_before_the_last_has_come_waited_where_it_must),
		cmocka_unit_test(messages_of_one_interval_end_with_the_last_of_them),
		cmocka_unit_test(a_batched_message_into_a_buffer_has_no_length_of_its_own),
		cmocka_unit_test(ranks_that_wait_for_what_never_comes_go_on),
		cmocka_unit_test(the_path_sums_to_the_total_where_ranks_went_on),
		cmocka_unit_test(what_was_before_a_late_begin_is_on_the_path),
		cmocka_unit_test(ranks_with_operators_alone_stand_still_for_each),
		cmocka_unit_test(operators_beside_each_other_are_replayed_without_intervals),
		cmocka_unit_test(operators_that_queue_move_up_when_those_before_them_get_shorter),
		cmocka_unit_test(how_far_a_rank_had_got_is_told_by_its_computing),
		cmocka_unit_test(an_operator_queues_that_seems_to_start_a_little_before),
		cmocka_unit_test(a_message_queues_behind_the_one_before_it_on_its_stream),
		cmocka_unit_test(what_the_host_has_not_launched_while_an_operator_runs_is_its_time),
		cmocka_unit_test(a_rank_whose_host_stops_does_not_wait_for_what_runs_meanwhile),
		cmocka_unit_test(what_ends_while_a_rank_waits_for_another_does_not_hold_it_up),
		cmocka_unit_test(a_wait_is_one_although_the_next_kernel_shows_to_start_early),
		cmocka_unit_test(a_kernel_that_starts_long_before_an_operator_ends_did_not_wait),
		cmocka_unit_test(kernels_of_other_streams_do_not_make_work_of_a_wait),
		cmocka_unit_test(what_is_launched_while_a_rank_stands_still_starts_when_it_did),
		cmocka_unit_test(whatever_ran_is_replayed_to_the_nanosecond),
		cmocka_unit_test(a_changed_scenario_is_what_the_recording_would_have_been),
		cmocka_unit_test(scenarios_side_by_side_are_what_each_is_alone),
		cmocka_unit_test(scenarios_in_which_ranks_went_on_run_side_by_side),
		cmocka_unit_test(less_work_is_never_slower_where_ranks_went_on),
		cmocka_unit_test(slack_is_what_a_rank_could_compute_longer),
		cmocka_unit_test(steps_and_parts_of_the_path_sum_to_the_total),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
