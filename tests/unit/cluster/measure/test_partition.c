/* SPDX-License-Identifier: Apache-2.0 */
#include "npuprof/partition.h"

#include "np_cluster_fixture.h"
#include "np_fault.h"

#include "npuprof/align.h"
#include "npuprof/waits.h"

/*
 * Rank 0 in step 1, in ns: MatMul 0-100, an all-reduce of "dp" 80-200, a kernel of
 * unknown type 150-160, free 200-230 before Add 230-250, launched by 220.
 * Exposed of the operator are 100-150 and 160-200.
 */
static struct np_rank *add_known_rank(struct np_run *run)
{
	struct np_rank *rank = add_rank(run, 0, true);
	struct np_activity_task kernels[] = {
		{ .start = 0, .end = 100, .launched = 0, .of = intern(run, "MatMul") },
		{ .start = 150, .end = 160, .launched = 0, .of = NP_STR_NONE },
		{ .start = 230, .end = 250, .launched = 220, .of = intern(run, "Add") },
	};
	struct np_activity_task ops[] = { { .start = 80, .end = 200, .launched = 0, .of = 0 } };
	struct np_activity_input input = {
		.kernels = kernels, .kernel_count = 3, .ops = ops, .op_count = 1
	};
	uint32_t group = add_group(run, rank, 7, "dp", NULL, 0);
	struct np_step_time *time = np_vec_add(&rank->times, NULL);
	struct np_comm_op *op;

	add_step(run, rank, "1");
	assert_non_null(time);
	time->span = 250;
	op = add_op(rank, group, false);
	op->type = intern(run, "hcom_allReduce_");
	op->start = 80;
	op->end = 200;
	assert_int_equal(np_activity_add(&rank->activity, &input, NULL), NP_OK);
	return rank;
}

struct measured {
	struct np_run *run;
	struct np_cluster *cluster;
	struct np_align *align;
	struct np_waits waits;
	struct np_partition partition;
};

/* The wait of the only operator is given, as if an estimator had found it. */
static int measure(struct measured *it, np_ns wait, struct np_err *err)
{
	int rc = np_cluster_build(it->run, &it->cluster, err);

	if (rc == NP_OK)
		rc = np_align_build(it->run, 1, &it->align, err);
	it->waits.wait = &wait;
	if (rc == NP_OK)
		rc = np_partition_measure(it->cluster, it->align, &it->waits, &it->partition, err);
	it->waits.wait = NULL;
	return rc;
}

static void release(struct measured *it)
{
	np_partition_release(&it->partition);
	np_align_free(it->align);
	np_cluster_free(it->cluster);
	np_run_free(it->run);
}

static np_ns part(const struct measured *it, const char *leaf)
{
	const struct np_partition_cell *cell = np_partition_of(&it->partition, 0, 0);
	np_ns found = 0;

	assert_non_null(cell);
	for (size_t i = 0; i < cell->count; i++) {
		if (strcmp(it->partition.parts.item[cell->first + i].leaf, leaf) == 0)
			found = it->partition.parts.item[cell->first + i].ns;
	}
	return found;
}

static np_ns total(const struct measured *it)
{
	const struct np_partition_cell *cell = np_partition_of(&it->partition, 0, 0);
	np_ns sum = 0;

	for (size_t i = 0; i < cell->count; i++)
		sum += it->partition.parts.item[cell->first + i].ns;
	return sum;
}

/* Waiting until 180: 100-150 and 160-180 of the exposed pieces. */
static void the_first_part_of_an_operator_is_waiting(void **state)
{
	struct measured it = { .run = np_run_new() };
	struct np_err err = NP_ERR_INIT;

	(void)state;
	add_known_rank(it.run);
	assert_ok(measure(&it, 100, &err), err);
	assert_int_equal(part(&it, "compute/MatMul"), 100);
	assert_int_equal(part(&it, "compute/unknown"), 10);
	assert_int_equal(part(&it, "compute/Add"), 20);
	assert_int_equal(part(&it, "comm/dp/wait"), 70);
	assert_int_equal(part(&it, "comm/dp/transfer"), 20);
	assert_int_equal(part(&it, "free/host"), 20);
	assert_int_equal(part(&it, "free/other"), 10);
	assert_int_equal(total(&it), it.run->ranks[0]->times.item[0].span);
	release(&it);
}

static void without_an_estimator_an_operator_is_not_divided(void **state)
{
	struct measured it = { .run = np_run_new() };
	struct np_err err = NP_ERR_INIT;

	(void)state;
	add_known_rank(it.run);
	assert_ok(measure(&it, NP_UNKNOWN, &err), err);
	assert_int_equal(part(&it, "comm/dp"), 90);
	assert_int_equal(part(&it, "comm/dp/wait"), 0);
	assert_int_equal(total(&it), 250);
	release(&it);
}

/* Rank 1 was not profiled: behind the wait that is known there may be more of it. */
static void what_may_be_waiting_for_who_was_not_profiled_is_no_transfer(void **state)
{
	static const int32_t members[] = { 0, 1 };
	struct measured it = { .run = np_run_new() };
	struct np_err err = NP_ERR_INIT;
	struct np_rank *rank = add_known_rank(it.run);

	(void)state;
	(void)add_group(it.run, rank, 7, "dp", members, 2);
	rank->ops.item[0].transfer = NP_LENGTH_UNKNOWN;
	assert_ok(measure(&it, 50, &err), err);
	assert_int_equal(it.align->communicators.item[0].size, 2);
	assert_int_equal(part(&it, "comm/dp/wait"), 30);
	assert_int_equal(part(&it, "comm/dp"), 60);
	assert_int_equal(part(&it, "comm/dp/transfer"), 0);
	assert_int_equal(total(&it), 250);
	release(&it);
}

static void a_communicator_without_a_name_is_called_by_its_hash(void **state)
{
	struct measured it = { .run = np_run_new() };
	struct np_err err = NP_ERR_INIT;

	(void)state;
	add_known_rank(it.run)->groups.item[0].pg_name = NP_STR_NONE;
	assert_ok(measure(&it, 0, &err), err);
	assert_int_equal(part(&it, "comm/7/transfer"), 90);
	release(&it);
}

static void parts_come_the_longest_first_then_by_name(void **state)
{
	static const char *const order[] = { "compute/MatMul", "comm/dp/wait", "comm/dp/transfer",
					     "compute/Add",    "free/host",    "compute/unknown",
					     "free/other" };
	struct measured it = { .run = np_run_new() };
	struct np_err err = NP_ERR_INIT;

	(void)state;
	add_known_rank(it.run);
	assert_ok(measure(&it, 100, &err), err);
	assert_int_equal(it.partition.parts.count, NP_COUNT(order));
	for (size_t i = 0; i < NP_COUNT(order); i++)
		assert_string_equal(it.partition.parts.item[i].leaf, order[i]);
	release(&it);
}

static void a_rank_without_intervals_has_no_partition(void **state)
{
	struct measured it = { .run = np_run_new() };
	struct np_err err = NP_ERR_INIT;

	(void)state;
	np_activity_release(&add_known_rank(it.run)->activity);
	(void)add_rank(it.run, 1, false);
	assert_ok(measure(&it, 0, &err), err);
	assert_null(np_partition_of(&it.partition, 0, 0));
	assert_null(np_partition_of(&it.partition, 1, 0));
	release(&it);
}

/* The next step begins at 300: 50 between the two. */
static void what_lies_between_steps_has_leaves_of_its_own(void **state)
{
	struct measured it = { .run = np_run_new() };
	struct np_err err = NP_ERR_INIT;
	struct np_step_time *time;

	(void)state;
	time = &add_known_rank(it.run)->times.item[0];
	time->iteration = 300;
	time->between[NP_BETWEEN_DATALOADER] = 30;
	time->between[NP_BETWEEN_OTHER] = 20;
	assert_ok(measure(&it, 100, &err), err);
	assert_int_equal(part(&it, "between/dataloader"), 30);
	assert_int_equal(part(&it, "between/other"), 20);
	assert_int_equal(part(&it, "free/host"), 20);
	assert_int_equal(total(&it), 300);
	release(&it);
}

/*
 * MatMul 0-100, an all-reduce of which 100-200 is exposed, and the next step
 * begins at 150: what comes then is in the span, and not in the iteration.
 */
static void what_outlives_the_begin_of_the_next_step_is_left_out(void **state)
{
	struct measured it = { .run = np_run_new() };
	struct np_rank *rank = add_rank(it.run, 0, true);
	struct np_activity_task kernels[] = {
		{ .start = 0, .end = 100, .launched = 0, .of = intern(it.run, "MatMul") },
	};
	struct np_activity_task ops[] = { { .start = 80, .end = 200, .launched = 0, .of = 0 } };
	struct np_activity_input input = {
		.kernels = kernels, .kernel_count = 1, .ops = ops, .op_count = 1
	};
	struct np_activity_builder *build = np_activity_builder_new();
	uint32_t group = add_group(it.run, rank, 7, "dp", NULL, 0);
	struct np_step_time *time = np_vec_add(&rank->times, NULL);
	struct np_err err = NP_ERR_INIT;
	struct np_comm_op *op;

	(void)state;
	assert_non_null(build);
	assert_non_null(time);
	add_step(it.run, rank, "1");
	time->span = 200;
	time->iteration = 150;
	op = add_op(rank, group, false);
	op->start = 80;
	op->end = 200;
	np_activity_begin(build, &rank->activity, NULL);
	/* Its window begins with a task that neither computes nor communicates. */
	assert_ok(np_activity_cut(build, 90, &err), err);
	assert_ok(np_activity_feed(build, &input, NP_NS_MAX, &err), err);
	assert_ok(np_activity_end(build, &err), err);
	np_activity_builder_free(build);
	assert_ok(measure(&it, 60, &err), err);
	assert_int_equal(part(&it, "compute/MatMul"), 100);
	assert_int_equal(part(&it, "comm/dp/wait"), 40);
	assert_int_equal(part(&it, "comm/dp/transfer"), 10);
	assert_int_equal(total(&it), 150);
	release(&it);
}

static int measure_known(struct np_err *err)
{
	static struct measured it;
	int rc;

	if (!it.run) {
		size_t left = np_fault_left;

		np_fault_left = 0;
		it.run = np_run_new();
		add_known_rank(it.run);
		np_fault_left = left;
	}
	rc = measure(&it, 100, err);
	np_partition_release(&it.partition);
	np_align_free(it.align);
	np_cluster_free(it.cluster);
	it.align = NULL;
	it.cluster = NULL;
	if (rc == NP_OK) {
		np_run_free(it.run);
		it.run = NULL;
	}
	return rc;
}

static void running_out_of_memory_is_told(void **state)
{
	(void)state;
	assert_survives_faults(measure_known);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_part_of_an_operator_is_waiting),
		cmocka_unit_test(without_an_estimator_an_operator_is_not_divided),
		cmocka_unit_test(what_may_be_waiting_for_who_was_not_profiled_is_no_transfer),
		cmocka_unit_test(a_communicator_without_a_name_is_called_by_its_hash),
		cmocka_unit_test(parts_come_the_longest_first_then_by_name),
		cmocka_unit_test(a_rank_without_intervals_has_no_partition),
		cmocka_unit_test(what_lies_between_steps_has_leaves_of_its_own),
		cmocka_unit_test(what_outlives_the_begin_of_the_next_step_is_left_out),
		cmocka_unit_test(running_out_of_memory_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
