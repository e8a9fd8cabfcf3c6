/* SPDX-License-Identifier: Apache-2.0 */
#include "npuprof/cluster.h"
#include "npuprof/comm_sums.h"
#include "npuprof/op_times.h"

#include "np_cluster_fixture.h"
#include "np_fault.h"

/* --- steps ------------------------------------------------------------------------------------ */

static void steps_of_all_ranks_are_in_order_of_their_numbers(void **state)
{
	static const char *const expected[] = { "2", "9", "10", "last" };
	with_run *run = np_run_new();
	struct np_rank *rank = add_rank(run, 0, true);

	(void)state;
	add_step(run, rank, "10");
	add_step(run, rank, "last");
	add_step(run, rank, "2");
	rank = add_rank(run, 1, true);
	add_step(run, rank, "9");
	add_step(run, rank, "10");
	{
		with_cluster *cluster = build(run);

		assert_int_equal(cluster->steps.count, NP_COUNT(expected));
		for (size_t i = 0; i < NP_COUNT(expected); i++)
			assert_string_equal(np_run_text(run, cluster->steps.item[i]), expected[i]);
	}
}

static void the_pseudo_step_comes_first(void **state)
{
	with_run *run = np_run_new();
	struct np_rank *rank = add_rank(run, 0, true);

	(void)state;
	add_step(run, rank, "3");
	add_step(run, add_rank(run, 1, true), NULL);
	{
		with_cluster *cluster = build(run);

		assert_int_equal(cluster->steps.count, 2);
		assert_int_equal(cluster->steps.item[0], NP_STR_NONE);
	}
}

/* --- communicators ---------------------------------------------------------------------------- */

static void a_communicator_of_several_ranks_is_one(void **state)
{
	with_run *run = np_run_new();

	(void)state;
	for (int32_t id = 0; id < 3; id++) {
		struct np_rank *rank = add_rank(run, id, id != 1);

		if (rank)
			add_op(rank, add_group(run, rank, 77, NULL, NULL, 0), false);
	}
	{
		with_cluster *cluster = build(run);
		const struct np_communicator *one = np_cluster_communicator(cluster, 77);

		assert_int_equal(cluster->communicators.count, 1);
		assert_list(one->observed, one->observed_count, LIST(0, 2));
		assert_int_equal(one->size, 2);
		assert_true(one->collective);
		assert_false(one->p2p);
		assert_null(one->members);
		assert_null(np_cluster_communicator(cluster, 78));
	}
}

static void names_and_members_come_from_the_first_rank_that_knows_them(void **state)
{
	with_run *run = np_run_new();
	struct np_rank *rank = add_rank(run, 0, true);

	(void)state;
	add_op(rank, add_group(run, rank, 77, NULL, NULL, 0), false);
	rank = add_rank(run, 1, true);
	add_op(rank, add_group(run, rank, 77, "dp", LIST(0, 1, 2, 3)), false);
	{
		with_cluster *cluster = build(run);
		const struct np_communicator *one = np_cluster_communicator(cluster, 77);

		assert_string_equal(np_run_text(run, one->pg_name), "dp");
		assert_list(one->members, one->member_count, LIST(0, 1, 2, 3));
		assert_list(one->observed, one->observed_count, LIST(0, 1));
		assert_int_equal(one->size, 4);
	}
}

static void communicators_without_operators_do_not_count(void **state)
{
	with_run *run = np_run_new();
	struct np_rank *rank = add_rank(run, 0, true);

	(void)state;
	add_group(run, rank, 77, "embd", LIST(0, 3));
	{
		with_cluster *cluster = build(run);

		assert_int_equal(cluster->communicators.count, 0);
	}
}

/* As text, "10" stands before "9". */
static void communicators_are_sorted_by_type_then_hash_as_text(void **state)
{
	static const uint64_t expected[] = { 10, 9, 1000, 2 };
	with_run *run = np_run_new();
	struct np_rank *rank = add_rank(run, 0, true);

	(void)state;
	add_op(rank, add_group(run, rank, 2, NULL, NULL, 0), true);
	add_op(rank, add_group(run, rank, 9, NULL, NULL, 0), false);
	add_op(rank, add_group(run, rank, 1000, NULL, NULL, 0), true);
	add_op(rank, add_group(run, rank, 10, NULL, NULL, 0), false);
	{
		with_cluster *cluster = build(run);

		for (size_t i = 0; i < NP_COUNT(expected); i++)
			assert_int_equal(cluster->communicators.item[i].hash, expected[i]);
	}
}

static void a_communicator_may_be_both_collective_and_point_to_point(void **state)
{
	with_run *run = np_run_new();
	struct np_rank *rank = add_rank(run, 0, true);
	uint32_t group = add_group(run, rank, 5, NULL, NULL, 0);

	(void)state;
	add_op(rank, group, true);
	add_op(rank, group, false);
	{
		with_cluster *cluster = build(run);

		assert_int_equal(cluster->communicators.count, 1);
		assert_true(cluster->communicators.item[0].collective);
		assert_true(cluster->communicators.item[0].p2p);
	}
}

/* --- local ranks ------------------------------------------------------------------------------ */

static void local_ranks_are_positions_in_the_list_of_members(void **state)
{
	with_run *run = np_run_new();
	struct np_rank *rank = add_rank(run, 4, true);
	uint32_t group = add_group(run, rank, 5, "pp", LIST(4, 12, 20));

	(void)state;
	add_op(rank, group, false);
	add_link(rank, group, 0, 2);
	{
		with_cluster *cluster = build(run);

		assert_list(cluster->communicators.item[0].global,
			    cluster->communicators.item[0].global_count, LIST(4, 12, 20));
	}
}

/* Rank 9 calls itself 3: the others are not known, but that there are five is. */
static void without_a_list_a_link_to_itself_tells_the_local_rank(void **state)
{
	with_run *run = np_run_new();
	struct np_rank *rank = add_rank(run, 9, true);
	uint32_t group = add_group(run, rank, 5, NULL, NULL, 0);

	(void)state;
	add_op(rank, group, false);
	add_link(rank, group, 3, 3);
	add_link(rank, group, 3, 4);
	{
		with_cluster *cluster = build(run);

		assert_int_equal(cluster->communicators.item[0].size, 5);
		assert_list(cluster->communicators.item[0].global,
			    cluster->communicators.item[0].global_count,
			    LIST(NP_NO_RANK, NP_NO_RANK, NP_NO_RANK, 9, NP_NO_RANK));
	}
}

static void the_first_of_two_ranks_that_claim_a_local_rank_wins(void **state)
{
	with_run *run = np_run_new();

	(void)state;
	for (int32_t id = 6; id < 8; id++) {
		struct np_rank *rank = add_rank(run, id, true);
		uint32_t group = add_group(run, rank, 5, NULL, NULL, 0);

		add_op(rank, group, false);
		add_link(rank, group, 0, 0);
	}
	{
		with_cluster *cluster = build(run);

		assert_list(cluster->communicators.item[0].global,
			    cluster->communicators.item[0].global_count, LIST(6, NP_NO_RANK));
	}
}

/* Ranks 6 and 9, and a third one if there is one; they say nothing of themselves. */
static void assert_locals(int32_t largest, int32_t claims_first, const int32_t *expected,
			  size_t count)
{
	with_run *run = np_run_new();

	for (int32_t id = 6; id < 12; id += 3) {
		struct np_rank *rank = add_rank(run, id, true);
		uint32_t group = add_group(run, rank, 5, NULL, NULL, 0);

		add_op(rank, group, false);
		add_link(rank, group, 0, largest);
		if (id == claims_first)
			add_link(rank, group, 0, 0);
	}
	{
		with_cluster *cluster = build(run);

		assert_list(cluster->communicators.item[0].global,
			    cluster->communicators.item[0].global_count, expected, count);
	}
}

static void where_all_members_were_profiled_local_ranks_are_their_order(void **state)
{
	(void)state;
	assert_locals(1, -1, LIST(6, 9));
	assert_locals(1, 6, LIST(6, 9));
	/* One is missing, or the order is another. */
	assert_locals(2, -1, LIST(NP_NO_RANK, NP_NO_RANK, NP_NO_RANK));
	assert_locals(1, 9, LIST(9, NP_NO_RANK));
}

static void the_list_wins_over_a_link_to_itself(void **state)
{
	with_run *run = np_run_new();
	struct np_rank *rank = add_rank(run, 6, true);
	uint32_t group = add_group(run, rank, 5, NULL, LIST(2, 6));

	(void)state;
	add_op(rank, group, false);
	add_link(rank, group, 0, 0);
	add_link(rank, group, 40, 0);
	{
		with_cluster *cluster = build(run);

		assert_list(cluster->communicators.item[0].global,
			    cluster->communicators.item[0].global_count, LIST(2, 6));
	}
}

/* Damage must not make a communicator of four billion ranks. */
static void absurd_local_ranks_are_ignored(void **state)
{
	with_run *run = np_run_new();
	struct np_rank *rank = add_rank(run, 0, true);
	uint32_t group = add_group(run, rank, 5, NULL, NULL, 0);

	(void)state;
	add_op(rank, group, false);
	add_link(rank, group, -5, 1);
	add_link(rank, group, 1, -5);
	add_link(rank, group, INT32_MAX, 1);
	add_link(rank, group, NP_NO_PEER, 1);
	add_link(rank, group, -5, -5);
	{
		with_cluster *cluster = build(run);

		assert_int_equal(cluster->communicators.item[0].size, 2);
	}
}

/* --- world and hosts -------------------------------------------------------------------------- */

static void the_world_is_that_of_the_first_rank_that_knows_it(void **state)
{
	with_run *run = np_run_new();

	(void)state;
	add_rank(run, 0, true);
	add_rank(run, 1, true)->parallel = (struct np_parallel){ .known = true, .world = 24 };
	{
		with_cluster *cluster = build(run);

		assert_int_equal(np_cluster_world(cluster), 24);
	}
}

static void without_metadata_the_world_is_not_known(void **state)
{
	with_run *run = np_run_new();

	(void)state;
	add_rank(run, 0, true);
	{
		with_cluster *cluster = build(run);

		assert_int_equal(np_cluster_world(cluster), 0);
		assert_int_equal(np_cluster_hosts(cluster), 0);
	}
}

static void hosts_are_counted_once_each(void **state)
{
	static const char *const hosts[] = { "a", "b", NULL, "a", "b" };
	with_run *run = np_run_new();

	(void)state;
	for (int32_t id = 0; id < (int32_t)NP_COUNT(hosts); id++)
		add_rank(run, id, true)->host_uid = intern(run, hosts[id]);
	add_rank(run, 9, false);
	{
		with_cluster *cluster = build(run);

		assert_int_equal(np_cluster_hosts(cluster), 2);
	}
}

static void a_run_without_a_loaded_rank_is_an_empty_cluster(void **state)
{
	with_run *run = np_run_new();

	(void)state;
	add_rank(run, 0, false);
	{
		with_cluster *cluster = build(run);

		assert_int_equal(cluster->steps.count, 0);
		assert_int_equal(cluster->communicators.count, 0);
		assert_int_equal(cluster->coordinates[0].tp, -1);
	}
}

/* --- sums over ranks -------------------------------------------------------------------------- */

static void add_sum(struct np_rank *rank, uint32_t group, uint32_t step,
		    const struct np_comm_step *values)
{
	struct np_comm_step *sum = np_vec_add(&rank->comm_steps, NULL);
	struct np_step_time *time = np_vec_add(&rank->times, NULL);

	assert_non_null(sum);
	assert_non_null(time);
	*sum = *values;
	sum->group = group;
	sum->step = step;
	time->step = step;
	time->computing = 100 * (rank->id + 1);
}

static const struct np_comm_step some = { .ops = 2,
					  .bytes = 10,
					  .moved_bytes = 20,
					  .moved_time = 4,
					  .elapsed = 50,
					  .transfer = 30,
					  .exposed = 40,
					  .overlapped = 5 };

/* One rank in step 1, two in step 2, none in step 3. */
static void communicators_are_summed_over_ranks_by_step(void **state)
{
	with_run *run = np_run_new();
	struct np_comm_sums sums = { 0 };
	struct np_err err = NP_ERR_INIT;

	(void)state;
	for (int32_t id = 0; id < 2; id++) {
		struct np_rank *rank = add_rank(run, id, true);
		uint32_t group = add_group(run, rank, 5, NULL, NULL, 0);

		add_op(rank, group, false);
		add_sum(rank, group, add_step(run, rank, "2"), &some);
		if (id == 0)
			add_sum(rank, group, add_step(run, rank, "1"), &some);
		else
			add_step(run, rank, "3");
	}
	{
		with_cluster *cluster = build(run);

		assert_ok(np_comm_sums_measure(cluster, &sums, &err), err);
		assert_int_equal(sums.list.count, 2);
		assert_string_equal(np_run_text(run, sums.list.item[0].step), "1");
		assert_int_equal(sums.list.item[0].ranks, 1);
		assert_int_equal(sums.list.item[0].computing, 100);
		assert_string_equal(np_run_text(run, sums.list.item[1].step), "2");
		assert_int_equal(sums.list.item[1].ranks, 2);
		assert_int_equal(sums.list.item[1].ops, 4);
		assert_int_equal(sums.list.item[1].bytes, 20);
		assert_int_equal(sums.list.item[1].moved_bytes, 40);
		assert_int_equal(sums.list.item[1].moved_time, 8);
		assert_int_equal(sums.list.item[1].elapsed, 100);
		assert_int_equal(sums.list.item[1].transit, 60);
		assert_int_equal(sums.list.item[1].wait, 40);
		assert_int_equal(sums.list.item[1].exposed, 80);
		assert_int_equal(sums.list.item[1].overlapped, 10);
		assert_int_equal(sums.list.item[1].computing, 300);
		assert_string_equal(sums.list.item[1].estimator, "tasks");
		np_comm_sums_release(&sums);
	}
}

static void what_one_rank_does_not_know_the_sum_does_not_know(void **state)
{
	with_run *run = np_run_new();
	struct np_comm_sums sums = { 0 };
	struct np_err err = NP_ERR_INIT;

	(void)state;
	for (int32_t id = 0; id < 3; id++) {
		struct np_rank *rank = add_rank(run, id, true);
		uint32_t group = add_group(run, rank, 5, NULL, NULL, 0);
		struct np_comm_step values = some;

		if (id == 1)
			values.transfer = values.bytes = values.moved_bytes = values.exposed =
				NP_UNKNOWN;
		add_op(rank, group, false);
		add_sum(rank, group, add_step(run, rank, "2"), &values);
	}
	{
		with_cluster *cluster = build(run);

		assert_ok(np_comm_sums_measure(cluster, &sums, &err), err);
		assert_int_equal(sums.list.item[0].elapsed, 150);
		assert_int_equal(sums.list.item[0].transit, NP_UNKNOWN);
		assert_int_equal(sums.list.item[0].wait, NP_UNKNOWN);
		assert_int_equal(sums.list.item[0].bytes, NP_UNKNOWN);
		assert_int_equal(sums.list.item[0].moved_bytes, NP_UNKNOWN);
		assert_int_equal(sums.list.item[0].exposed, NP_UNKNOWN);
		assert_int_equal(sums.list.item[0].overlapped, 15);
		assert_string_equal(sums.list.item[0].estimator, "none");
		np_comm_sums_release(&sums);
	}
}

static void a_rate_that_is_not_known_is_no_number(void **state)
{
	(void)state;
	assert_near(np_gb_per_s(200, 10), 20.0, 0);
	assert_true(isnan(np_gb_per_s(NP_UNKNOWN, 10)));
	assert_true(isnan(np_gb_per_s(200, NP_UNKNOWN)));
	assert_true(isnan(np_gb_per_s(200, 0)));
}

/* --- memory ----------------------------------------------------------------------------------- */

static struct np_run *distributed_run;

static int build_and_sum(struct np_err *err)
{
	struct np_cluster *cluster = NULL;
	struct np_comm_sums sums = { 0 };
	int rc = np_cluster_build(distributed_run, &cluster, err);

	if (rc == NP_OK)
		rc = np_comm_sums_measure(cluster, &sums, err);
	np_comm_sums_release(&sums);
	np_cluster_free(cluster);
	return rc;
}

static void running_out_of_memory_is_told(void **state)
{
	with_run *run = np_run_new();

	(void)state;
	for (int32_t id = 0; id < 4; id++) {
		struct np_rank *rank = add_rank(run, id, true);
		uint32_t pipeline = add_group(run, rank, 5, "pp", LIST(0, 2));
		uint32_t stage = add_group(run, rank, 6, "dp", LIST(0, 1));

		add_op(rank, pipeline, true);
		add_op(rank, stage, false);
		add_link(rank, stage, 0, 0);
		add_sum(rank, stage, add_step(run, rank, "2"), &some);
	}
	distributed_run = run;
	assert_survives_faults(build_and_sum);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(steps_of_all_ranks_are_in_order_of_their_numbers),
		cmocka_unit_test(the_pseudo_step_comes_first),
		cmocka_unit_test(a_communicator_of_several_ranks_is_one),
		cmocka_unit_test(names_and_members_come_from_the_first_rank_that_knows_them),
		cmocka_unit_test(communicators_without_operators_do_not_count),
		cmocka_unit_test(communicators_are_sorted_by_type_then_hash_as_text),
		cmocka_unit_test(a_communicator_may_be_both_collective_and_point_to_point),
		cmocka_unit_test(local_ranks_are_positions_in_the_list_of_members),
		cmocka_unit_test(without_a_list_a_link_to_itself_tells_the_local_rank),
		cmocka_unit_test(the_first_of_two_ranks_that_claim_a_local_rank_wins),
		cmocka_unit_test(where_all_members_were_profiled_local_ranks_are_their_order),
		cmocka_unit_test(the_list_wins_over_a_link_to_itself),
		cmocka_unit_test(absurd_local_ranks_are_ignored),
		cmocka_unit_test(the_world_is_that_of_the_first_rank_that_knows_it),
		cmocka_unit_test(without_metadata_the_world_is_not_known),
		cmocka_unit_test(hosts_are_counted_once_each),
		cmocka_unit_test(a_run_without_a_loaded_rank_is_an_empty_cluster),
		cmocka_unit_test(communicators_are_summed_over_ranks_by_step),
		cmocka_unit_test(what_one_rank_does_not_know_the_sum_does_not_know),
		cmocka_unit_test(a_rate_that_is_not_known_is_no_number),
		cmocka_unit_test(running_out_of_memory_is_told),
	};

	return cmocka_run_group_tests_name("cluster", tests, NULL, NULL);
}
