/* SPDX-License-Identifier: Apache-2.0 */
#include "npuprof/waits.h"

#include "np_cluster_fixture.h"
#include "np_fault.h"
#include "np_fixture.h"
#include "np_random.h"

#include "npuprof/align.h"
#include "npuprof/clock.h"
#include "npuprof/discover.h"
#include "npuprof/load_run.h"

#define with_align NP_CLEANUP(np_align_freep) struct np_align
#define with_clock NP_CLEANUP(np_clock_freep) struct np_clock
#define with_waits NP_CLEANUP(np_waits_release) struct np_waits

#define MS 1000000

static struct np_align *aligned(const struct np_run *run)
{
	struct np_align *align = NULL;
	struct np_err err = NP_ERR_INIT;

	assert_ok(np_align_build(run, 1, &align, &err), err);
	return align;
}

enum clocks {
	FITTED,
	RAW,
};

static struct np_clock *clock_of(const struct np_align *align, enum clocks which)
{
	struct np_clock *clock = NULL;
	struct np_err err = NP_ERR_INIT;

	if (which == RAW)
		assert_ok(np_clock_raw(align, &clock, &err), err);
	else
		assert_ok(np_clock_build(align, NULL, 1, &clock, &err), err);
	return clock;
}

static struct np_waits measured(const struct np_align *align, const struct np_clock *clock)
{
	struct np_waits waits = { 0 };
	struct np_err err = NP_ERR_INIT;

	assert_ok(np_waits_measure(align, clock, 1, &waits, &err), err);
	return waits;
}

static struct np_comm_op *add_timed(struct np_run *run, struct np_rank *rank, uint32_t group,
				    const char *type, np_ns start, np_ns end)
{
	struct np_comm_op *op = add_op(rank, group, np_op_is_p2p(type));

	op->type = intern(run, type);
	op->start = start;
	op->end = end;
	op->transfer = NP_LENGTH_UNKNOWN;
	op->bytes = 1024;
	return op;
}

/* One operator on each of `count` ranks; members of the communicator are 0 to size − 1. */
static struct np_run *one_instance(const char *type, const np_ns times[][2], size_t count,
				   size_t size)
{
	static const int32_t ids[] = { 0, 1, 2, 3, 4, 5, 6, 7 };
	struct np_run *run = np_run_new();

	for (size_t i = 0; i < count; i++) {
		struct np_rank *rank = add_rank(run, (int32_t)i, true);
		uint32_t group = add_group(run, rank, 7, "dp", ids, size);

		add_step(run, rank, "1");
		add_timed(run, rank, group, type, times[i][0], times[i][1]);
	}
	return run;
}

#define TIMES(...) \
	(const np_ns[][2]){ __VA_ARGS__ }, \
		sizeof((const np_ns[][2]){ __VA_ARGS__ }) / sizeof(np_ns[2])

/* The only instance of a run, split on the given clocks. */
static void assert_split(const struct np_run *run, enum clocks clocks, enum np_estimator estimator,
			 const np_ns *expected)
{
	with_align *align = aligned(run);
	with_clock *clock = clock_of(align, clocks);
	with_waits waits = measured(align, clock);

	assert_int_equal(align->instances.count, 1);
	for (uint32_t i = 0; i < align->op_count; i++) {
		const struct np_comm_op *op = np_align_op(align, i);

		assert_int_equal(waits.estimator[i], estimator);
		assert_int_equal(waits.wait[i], expected[i]);
		if (expected[i] == NP_UNKNOWN)
			assert_int_equal(np_waits_transit(align, &waits, i), NP_UNKNOWN);
		else
			assert_int_equal(waits.wait[i] + np_waits_transit(align, &waits, i),
					 op->end - op->start);
	}
	assert_int_equal(waits.ops[estimator], align->op_count);
}

#define EXPECT(...) ((const np_ns[]){ __VA_ARGS__ })

/* --- by the clock ----------------------------------------------------------------------------- */

static void everybody_waits_for_the_last(void **state)
{
	with_run *run = one_instance(
		"hcom_allReduce_", TIMES({ 0, 9 * MS }, { 5 * MS, 9 * MS }, { 8 * MS, 9 * MS }), 3);

	(void)state;
	assert_split(run, RAW, NP_WAIT_ALIGNED, EXPECT(8 * MS, 3 * MS, 0));
	assert_split(run, FITTED, NP_WAIT_ALIGNED, EXPECT(8 * MS, 3 * MS, 0));
}

static void nobody_waits_longer_than_until_the_first_end(void **state)
{
	with_run *run = one_instance("hcom_allReduce_", TIMES({ 0, 10 }, { 5, 40 }, { 30, 40 }), 3);
	with_align *align = aligned(run);
	with_clock *clock = clock_of(align, RAW);
	with_waits waits = measured(align, clock);

	(void)state;
	assert_split(run, RAW, NP_WAIT_ALIGNED, EXPECT(10, 5, 0));
	assert_int_equal(waits.out_of_order, 1);
}

static void a_communicator_of_one_never_waits(void **state)
{
	with_run *run = one_instance("hcom_allReduce_", TIMES({ 0, 10 }), 1);

	(void)state;
	assert_split(run, FITTED, NP_WAIT_ALIGNED, EXPECT(0));
}

static void the_two_of_a_message_wait_for_each_other(void **state)
{
	with_run *run = np_run_new();

	(void)state;
	for (int32_t id = 0; id < 2; id++) {
		struct np_rank *rank = add_rank(run, id, true);
		uint32_t group = add_group(run, rank, 7, "pp", LIST(0, 1));

		add_step(run, rank, "1");
		add_timed(run, rank, group, id == 0 ? "hcom_send_" : "hcom_receive_",
			  id == 0 ? 30 : 10, 50);
	}
	assert_split(run, RAW, NP_WAIT_ALIGNED, EXPECT(0, 20));
	/* Nothing relates the clocks of two ranks that only exchange messages. */
	assert_split(run, FITTED, NP_WAIT_CLOCK_FREE, EXPECT(0, 20));
}

static void name_root(struct np_run *run, uint32_t root)
{
	for (uint32_t i = 0; i < run->sources.count; i++)
		run->ranks[i]->ops.item[0].peer = i == root ? NP_PEERS : (uint16_t)(root + 1);
}

static void the_others_wait_for_the_root_of_a_broadcast(void **state)
{
	with_run *run =
		one_instance("hcom_broadcast_", TIMES({ 0, 50 }, { 20, 40 }, { 30, 60 }), 3);

	(void)state;
	name_root(run, 1);
	assert_split(run, RAW, NP_WAIT_ALIGNED, EXPECT(20, 0, 0));
}

static void the_root_of_a_reduction_waits_for_the_first(void **state)
{
	with_run *run = one_instance("hcom_reduce_", TIMES({ 25, 40 }, { 0, 50 }, { 30, 60 }), 3);

	(void)state;
	name_root(run, 1);
	assert_split(run, RAW, NP_WAIT_ALIGNED, EXPECT(0, 25, 0));
}

static void without_its_root_a_broadcast_cannot_be_split(void **state)
{
	with_run *run =
		one_instance("hcom_broadcast_", TIMES({ 0, 50 }, { 20, 40 }, { 30, 60 }), 3);

	(void)state;
	assert_split(run, RAW, NP_WAIT_NONE, EXPECT(NP_UNKNOWN, NP_UNKNOWN, NP_UNKNOWN));
}

/* --- by the tasks ----------------------------------------------------------------------------- */

static void know_transfers(struct np_run *run, np_length transfer)
{
	for (size_t i = 0; i < run->sources.count; i++)
		run->ranks[i]->ops.item[0].transfer = transfer;
}

static void tasks_see_ranks_that_were_not_profiled(void **state)
{
	with_run *run = one_instance("hcom_allReduce_", TIMES({ 0, 50 }, { 20, 50 }), 8);

	(void)state;
	know_transfers(run, 4);
	assert_split(run, RAW, NP_WAIT_TASKS, EXPECT(46, 26));
}

static void without_tasks_the_profiled_ones_give_the_least(void **state)
{
	with_run *run = one_instance("hcom_allReduce_", TIMES({ 0, 50 }, { 20, 50 }), 8);

	(void)state;
	assert_split(run, RAW, NP_WAIT_ALIGNED, EXPECT(20, 0));
}

/* Data moves for all at once: what the sub-tasks of rank 1 say goes for rank 0, too. */
static void tasks_of_one_rank_tell_of_those_that_have_none(void **state)
{
	with_run *run = one_instance("hcom_allReduce_", TIMES({ 0, 50 }, { 20, 50 }), 8);

	(void)state;
	run->ranks[1]->ops.item[0].transfer = 4;
	assert_split(run, RAW, NP_WAIT_TASKS, EXPECT(46, 26));
}

static void an_operator_alone_is_split_by_its_tasks_only(void **state)
{
	with_run *run = one_instance("hcom_allReduce_", TIMES({ 0, 50 }), 8);

	(void)state;
	assert_split(run, RAW, NP_WAIT_NONE, EXPECT(NP_UNKNOWN));
	know_transfers(run, 60);
	assert_split(run, RAW, NP_WAIT_TASKS, EXPECT(0));
}

static void alltoallv_that_somebody_leaves_early_is_split_by_tasks(void **state)
{
	with_run *run = one_instance("hcom_alltoallv_", TIMES({ 0, 20 }, { 30, 50 }), 2);

	(void)state;
	assert_split(run, RAW, NP_WAIT_ALIGNED, EXPECT(20, 0));
	know_transfers(run, 15);
	assert_split(run, RAW, NP_WAIT_TASKS, EXPECT(5, 5));
}

/* --- the choice ------------------------------------------------------------------------------- */

static void a_bad_clock_gives_way_to_tasks_and_to_no_clock(void **state)
{
	/* The ends, 4 ms apart, show that the clocks are wrong by more than anybody waits. */
	with_run *run =
		one_instance("hcom_allReduce_", TIMES({ 0, 2 * MS }, { 4 * MS, 6 * MS + 500 }), 2);

	(void)state;
	assert_split(run, RAW, NP_WAIT_CLOCK_FREE, EXPECT(0, 500));
	know_transfers(run, MS);
	assert_split(run, RAW, NP_WAIT_TASKS, EXPECT(MS, MS + 500));
}

static void estimators_are_compared_where_both_exist(void **state)
{
	with_run *run = one_instance("hcom_allReduce_",
				     TIMES({ 0, 9000 }, { 5000, 9000 }, { 8000, 9100 }), 3);
	with_align *align = aligned(run);
	with_clock *clock = clock_of(align, RAW);
	with_waits waits = measured(align, clock);

	(void)state;
	/* aligned 8000, 3000, 0; clock-free 9000 − 1100, 4000 − 1100, 0 */
	assert_int_equal(waits.compared, 3);
	assert_int_equal(waits.agreement_p50, 100);
}

/* --- sums ------------------------------------------------------------------------------------- */

static void random_run(struct np_run *run, uint64_t *random)
{
	static const char *const types[] = { "hcom_allReduce_", "hcom_allGather_",
					     "hcom_alltoallv_", "hcom_broadcast_" };
	np_ns times[60];
	const char *type[60];

	for (size_t k = 0; k < NP_COUNT(times); k++) {
		times[k] = (np_ns)k * 2 * MS + (np_ns)np_random_below(random, MS);
		type[k] = types[np_random_below(random, NP_COUNT(types))];
	}
	for (int32_t id = 0; id < 4; id++) {
		struct np_rank *rank = add_rank(run, id, true);
		uint32_t group = add_group(run, rank, 7, "dp", LIST(0, 1, 2, 3));

		for (size_t k = 0; k < NP_COUNT(times); k++) {
			np_ns end = times[k] + (np_ns)np_random_below(random, 20000);
			struct np_comm_op *op;

			if (k % 20 == 0)
				add_step(run, rank, k == 0 ? "1" : k == 20 ? "2" : "3");
			if (np_random_below(random, 15) == 0)
				continue;
			op = add_timed(run, rank, group, type[k],
				       end - (np_ns)np_random_below(random, 900000), end);
			op->step = np_random_below(random, 30) ? (uint32_t)(k / 20) : NP_NO_STEP;
			if (np_random_below(random, 2))
				op->transfer = (np_length)np_random_below(random, 300000);
		}
	}
}

/* Sums from the operators themselves. */
static void assert_sums(const struct np_run *run, const struct np_align *align,
			const struct np_waits *waits)
{
	for (size_t i = 0; i < waits->sums.count; i++) {
		const struct np_wait_sum *sum = &waits->sums.item[i];
		struct np_wait_sum own = { 0 };

		for (uint32_t slot = 0; slot < align->op_count; slot++) {
			const struct np_comm_op *op = np_align_op(align, slot);
			const struct np_rank *rank = run->ranks[align->members[slot].rank];

			if (op->step == NP_NO_STEP || rank->steps.item[op->step].id != sum->step)
				continue;
			own.ops++;
			own.elapsed += op->end - op->start;
			if (waits->wait[slot] == NP_UNKNOWN)
				own.unknown += op->end - op->start;
			else
				own.wait += waits->wait[slot];
		}
		assert_int_equal(sum->ops, own.ops);
		assert_int_equal(sum->elapsed, own.elapsed);
		assert_int_equal(sum->wait, own.wait);
		assert_int_equal(sum->unknown, own.unknown);
		assert_int_equal(sum->wait + sum->transit + sum->unknown, sum->elapsed);
	}
}

static void every_nanosecond_is_waited_or_transferred_once(void **state)
{
	uint64_t random = 17;

	(void)state;
	for (int round = 0; round < 20; round++) {
		with_run *run = np_run_new();
		size_t total = 0;

		random_run(run, &random);
		{
			with_align *align = aligned(run);
			with_clock *clock = clock_of(align, round % 2 ? RAW : FITTED);
			with_waits waits = measured(align, clock);

			for (uint32_t slot = 0; slot < align->op_count; slot++) {
				const struct np_comm_op *op = np_align_op(align, slot);

				assert_int_equal(waits.wait[slot] == NP_UNKNOWN,
						 waits.estimator[slot] == NP_WAIT_NONE);
				if (waits.wait[slot] != NP_UNKNOWN)
					assert_in_range(waits.wait[slot], 0, op->end - op->start);
			}
			for (int i = 0; i < NP_WAIT_ESTIMATORS; i++)
				total += waits.ops[i];
			assert_int_equal(total, align->op_count);
			assert_int_equal(waits.sums.count, 3);
			assert_sums(run, align, &waits);
		}
	}
}

static struct np_run *faulty_run;

static int measure_faulty(struct np_err *err)
{
	with_align *align = NULL;
	with_clock *clock = NULL;
	with_waits waits = { 0 };
	int rc = np_align_build(faulty_run, 1, &align, err);

	if (rc == NP_OK)
		rc = np_clock_build(align, NULL, 1, &clock, err);
	if (rc == NP_OK)
		rc = np_waits_measure(align, clock, 1, &waits, err);
	return rc;
}

static void running_out_of_memory_is_an_ordinary_failure(void **state)
{
	with_run *run = one_instance("hcom_allReduce_", TIMES({ 0, 9 }, { 5, 9 }), 2);

	(void)state;
	faulty_run = run;
	assert_survives_faults(measure_faulty);
}

/* --- recorded profiles ------------------------------------------------------------------------ */

static struct np_run *loaded(const char *path)
{
	struct np_run *run = np_run_new();
	const struct np_discover_options options = { 0 };
	const struct np_load_options how = { .procs = &np_procs_serial, .workers.threads = 1 };
	struct np_err err = NP_ERR_INIT;

	assert_ok(np_discover(run, &path, 1, &options, &err), err);
	assert_ok(np_load_run(run, &how, &err), err);
	return run;
}

/* What the operators of a rank, of one communicator or of all, took and waited. */
static void sum_rank(const struct np_align *align, const struct np_waits *waits, int32_t id,
		     uint64_t hash, np_ns *elapsed, np_ns *wait)
{
	*elapsed = 0;
	*wait = 0;
	for (uint32_t slot = 0; slot < align->op_count; slot++) {
		const struct np_comm_op *op = np_align_op(align, slot);
		const struct np_rank *rank = align->run->ranks[align->members[slot].rank];

		if (rank->id != id || (hash && rank->groups.item[op->group].hash != hash))
			continue;
		*elapsed += op->end - op->start;
		*wait += waits->wait[slot];
	}
}

/* spec/formats.md §2.5: two of eight ranks, so only the sub-tasks know who was waited for. */
static void two_of_eight_ranks_wait_for_the_others(void **state)
{
	static const struct {
		const char *dir;
		int32_t rank;
		np_ns elapsed;
		np_ns wait;
	} expected[] = {
		{ "resnet-2of8/db/level1", 0, 102108100, 97816872 },
		{ "resnet-2of8/db/level1", 1, 98590190, 94266185 },
		{ "resnet-2of8/db/level0", 0, 89880576, 85560730 },
		{ "resnet-2of8/db/level0", 1, 93993858, 89677612 },
	};

	(void)state;
	for (size_t i = 0; i < NP_COUNT(expected); i++) {
		const char *path = recorded_profiles(expected[i].dir);
		with_run *run = path ? loaded(path) : NULL;
		with_align *align = run ? aligned(run) : NULL;
		with_clock *clock = run ? clock_of(align, FITTED) : NULL;
		with_waits waits = { 0 };
		np_ns elapsed;
		np_ns wait;

		if (!run)
			skip();
		waits = measured(align, clock);
		sum_rank(align, &waits, expected[i].rank, 0, &elapsed, &wait);
		assert_int_equal(elapsed, expected[i].elapsed);
		assert_int_equal(wait, expected[i].wait);
		assert_int_equal(waits.ops[NP_WAIT_TASKS], align->op_count);
	}
}

static void stages_wait_for_each_other(void **state)
{
	static const struct {
		uint64_t hash;
		int32_t rank;
		double elapsed;
		double wait;
	} expected[] = {
		{ UINT64_C(3985310405473756128), 0, 313.9, 312.1 },
		{ UINT64_C(3985310405473756128), 2, 72.7, 71.0 },
		{ UINT64_C(3985310499963036764), 1, 323.0, 321.3 },
		{ UINT64_C(3985310499963036764), 3, 75.0, 73.3 },
	};
	const char *path = recorded_profiles("llm-pp2dp2");
	with_run *run = path ? loaded(path) : NULL;
	with_align *align = run ? aligned(run) : NULL;

	(void)state;
	if (!run)
		skip();
	assert_int_equal(align->matched, align->op_count);
	for (int which = FITTED; which <= RAW; which++) {
		with_clock *clock = clock_of(align, (enum clocks)which);
		with_waits waits = measured(align, clock);

		assert_int_equal(waits.ops[NP_WAIT_ALIGNED], align->op_count);
		for (size_t i = 0; i < NP_COUNT(expected); i++) {
			np_ns elapsed;
			np_ns wait;

			sum_rank(align, &waits, expected[i].rank, expected[i].hash, &elapsed,
				 &wait);
			assert_near((double)elapsed / MS, expected[i].elapsed, 0.2);
			assert_near((double)wait / MS, expected[i].wait, 0.2);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(everybody_waits_for_the_last),
		cmocka_unit_test(nobody_waits_longer_than_until_the_first_end),
		cmocka_unit_test(a_communicator_of_one_never_waits),
		cmocka_unit_test(the_two_of_a_message_wait_for_each_other),
		cmocka_unit_test(the_others_wait_for_the_root_of_a_broadcast),
		cmocka_unit_test(the_root_of_a_reduction_waits_for_the_first),
		cmocka_unit_test(without_its_root_a_broadcast_cannot_be_split),
		cmocka_unit_test(tasks_see_ranks_that_were_not_profiled),
		cmocka_unit_test(without_tasks_the_profiled_ones_give_the_least),
		cmocka_unit_test(tasks_of_one_rank_tell_of_those_that_have_none),
		cmocka_unit_test(an_operator_alone_is_split_by_its_tasks_only),
		cmocka_unit_test(alltoallv_that_somebody_leaves_early_is_split_by_tasks),
		cmocka_unit_test(a_bad_clock_gives_way_to_tasks_and_to_no_clock),
		cmocka_unit_test(estimators_are_compared_where_both_exist),
		cmocka_unit_test(every_nanosecond_is_waited_or_transferred_once),
		cmocka_unit_test(running_out_of_memory_is_an_ordinary_failure),
		cmocka_unit_test(two_of_eight_ranks_wait_for_the_others),
		cmocka_unit_test(stages_wait_for_each_other),
	};

	return cmocka_run_group_tests_name("waits", tests, NULL, NULL);
}
