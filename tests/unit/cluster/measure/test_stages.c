/* SPDX-License-Identifier: Apache-2.0 */
#include "npuprof/cluster.h"

#include "np_cluster_fixture.h"
#include "np_random.h"

/* A communicator that rank 0 has used and knows all members of. */
static void add(struct np_run *run, uint64_t hash, const char *pg_name, bool p2p,
		const int32_t *members, size_t count)
{
	struct np_rank *rank = run->sources.count ? run->ranks[0] : add_rank(run, 0, true);

	add_op(rank, add_group(run, rank, hash, pg_name, members, count), p2p);
}

static void assert_stage(const struct np_cluster *cluster, size_t index, const int32_t *expected,
			 size_t count)
{
	assert_true(index < cluster->stages.count);
	assert_list(cluster->stages.item[index].ranks, cluster->stages.item[index].count, expected,
		    count);
}

/*
 * cluster §3: links {0,12}, {4,8}, {8,12} are one chain 0, 4, 8, 12. A group that
 * holds 0 and 4 meets it twice, so it spans stages and is none.
 */
static void links_are_joined_to_chains_transitively(void **state)
{
	with_run *run = np_run_new();

	(void)state;
	add(run, 1, "pp", true, LIST(0, 12));
	add(run, 2, "pp", true, LIST(4, 8));
	add(run, 3, "pp", true, LIST(8, 12));
	add(run, 4, "mixed", false, LIST(0, 4));
	add(run, 5, "dp", false, LIST(0, 1));
	add(run, 6, "dp", false, LIST(4, 5));
	add(run, 7, "dp", false, LIST(8, 9));
	add(run, 8, "dp", false, LIST(12, 13));
	{
		with_cluster *cluster = build(run);

		assert_int_equal(cluster->stages.count, 4);
		assert_stage(cluster, 0, LIST(0, 1));
		assert_stage(cluster, 1, LIST(4, 5));
		assert_stage(cluster, 2, LIST(8, 9));
		assert_stage(cluster, 3, LIST(12, 13));
	}
}

/* pp 2 × dp 2 × tp 2: chains {0,4}, {1,5}, {2,6}, {3,7}. */
static void groups_that_share_a_rank_are_one_stage(void **state)
{
	with_run *run = np_run_new();

	(void)state;
	for (int32_t i = 0; i < 4; i++)
		add(run, 10 + (uint64_t)i, "pp", true, LIST(i, i + 4));
	add(run, 1, "tp", false, LIST(0, 1));
	add(run, 2, "tp", false, LIST(2, 3));
	add(run, 3, "dp", false, LIST(0, 2));
	add(run, 4, "tp", false, LIST(4, 5));
	add(run, 5, "tp", false, LIST(6, 7));
	add(run, 6, "dp", false, LIST(5, 7));
	add(run, 7, "default_group", false, LIST(0, 1, 2, 3, 4, 5, 6, 7));
	{
		with_cluster *cluster = build(run);

		assert_int_equal(cluster->stages.count, 2);
		assert_stage(cluster, 0, LIST(0, 1, 2, 3));
		assert_stage(cluster, 1, LIST(4, 5, 6, 7));
	}
}

/* Ranks 4 and 6 are in the pipeline and in no group of a stage. */
static void ranks_in_no_stage_are_not_pooled(void **state)
{
	with_run *run = np_run_new();

	(void)state;
	add(run, 1, "pp", true, LIST(0, 4));
	add(run, 2, "pp", true, LIST(2, 6));
	add(run, 3, "dp", false, LIST(0, 2));
	{
		with_cluster *cluster = build(run);

		assert_int_equal(cluster->stages.count, 1);
		assert_stage(cluster, 0, LIST(0, 2));
	}
}

/* A message of both, that takes 5 and ends at this time. */
static void send(struct np_run *run, uint64_t hash, int32_t from, int32_t to, np_ns end)
{
	const int32_t ranks[] = { from, to };
	const char *const types[] = { "hcom_send_", "hcom_receive_" };

	for (size_t i = 0; i < 2; i++) {
		struct np_rank *rank = run->ranks[ranks[i]];
		struct np_comm_op *op =
			add_op(rank, add_group(run, rank, hash, NULL, NULL, 0), true);

		op->start = end - 5;
		op->end = end;
		op->type = intern(run, types[i]);
	}
}

static void reduce(struct np_run *run, uint64_t hash, int32_t one, int32_t other)
{
	const int32_t ranks[] = { one, other };

	for (size_t i = 0; i < 2; i++) {
		struct np_rank *rank = run->ranks[ranks[i]];

		add_op(rank, add_group(run, rank, hash, NULL, NULL, 0), false);
	}
}

/* Two pipelines of three stages, 0 2 4 and 1 3 5, each one communicator without a name. */
static void a_row_of_ranks_without_a_name_is_a_pipeline(void **state)
{
	with_run *run = np_run_new();

	(void)state;
	for (int32_t i = 0; i < 6; i++)
		add_rank(run, i, true);
	for (int32_t i = 0; i < 2; i++) {
		send(run, 1 + (uint64_t)i, i, i + 2, 10);
		send(run, 1 + (uint64_t)i, i + 2, i + 4, 20);
		reduce(run, 3, 0, 1);
	}
	reduce(run, 4, 2, 3);
	reduce(run, 5, 4, 5);
	{
		with_cluster *cluster = build(run);

		assert_int_equal(cluster->stages.count, 3);
		assert_stage(cluster, 0, LIST(0, 1));
		assert_stage(cluster, 2, LIST(4, 5));
	}
}

/* Of two ranks one sends twice before it gets anything: 0 to 2, and 1 to 3. */
static void a_pair_of_which_one_sends_first_is_a_pipeline(void **state)
{
	with_run *run = np_run_new();

	(void)state;
	for (int32_t i = 0; i < 4; i++)
		add_rank(run, i, true);
	for (int32_t i = 0; i < 2; i++) {
		send(run, 1 + (uint64_t)i, i, i + 2, 10);
		send(run, 1 + (uint64_t)i, i, i + 2, 20);
		send(run, 1 + (uint64_t)i, i + 2, i, 30);
	}
	reduce(run, 4, 0, 1);
	reduce(run, 5, 2, 3);
	{
		with_cluster *cluster = build(run);

		assert_int_equal(cluster->stages.count, 2);
		assert_stage(cluster, 0, LIST(0, 1));
		assert_stage(cluster, 1, LIST(2, 3));
	}
}

/* All send to the next one, as parts of a sequence go around: nobody is at an end. */
static void a_ring_without_a_name_is_no_pipeline(void **state)
{
	with_run *run = np_run_new();

	(void)state;
	for (int32_t i = 0; i < 4; i++)
		add_rank(run, i, true);
	for (int32_t i = 0; i < 2; i++) {
		send(run, 1, 0, 2, 10 + 10 * i);
		send(run, 1, 2, 0, 10 + 10 * i);
	}
	reduce(run, 4, 0, 1);
	reduce(run, 5, 2, 3);
	{
		with_cluster *cluster = build(run);

		assert_int_equal(cluster->stages.count, 0);
	}
}

/* Likewise, and the first operator of each was launched before its step: it is in none. */
static void a_pair_is_told_by_the_step_in_which_it_sends(void **state)
{
	with_run *run = np_run_new();

	(void)state;
	for (int32_t i = 0; i < 4; i++)
		add_rank(run, i, true);
	reduce(run, 4, 0, 1);
	reduce(run, 5, 2, 3);
	for (int32_t i = 0; i < 4; i++)
		run->ranks[i]->ops.item[0].step = NP_NO_STEP;
	for (int32_t i = 0; i < 2; i++) {
		send(run, 1 + (uint64_t)i, i, i + 2, 10);
		send(run, 1 + (uint64_t)i, i, i + 2, 20);
		send(run, 1 + (uint64_t)i, i + 2, i, 30);
	}
	{
		with_cluster *cluster = build(run);

		assert_int_equal(cluster->stages.count, 2);
	}
}

/* The first sends again when it has an answer: two that take turns are no pipeline. */
static void a_pair_that_takes_turns_is_no_pipeline(void **state)
{
	with_run *run = np_run_new();

	(void)state;
	for (int32_t i = 0; i < 4; i++)
		add_rank(run, i, true);
	for (int32_t i = 0; i < 2; i++) {
		send(run, 1 + (uint64_t)i, i, i + 2, 10);
		send(run, 1 + (uint64_t)i, i + 2, i, 20);
		send(run, 1 + (uint64_t)i, i, i + 2, 30);
	}
	reduce(run, 4, 0, 1);
	reduce(run, 5, 2, 3);
	{
		with_cluster *cluster = build(run);

		assert_int_equal(cluster->stages.count, 0);
	}
}

/* Neighbours of 0 2 4 and of 1 3 5 have a communicator each, and so have the last and the first. */
static void add_rings(struct np_run *run, bool both_ways)
{
	for (int32_t i = 0; i < 6; i++)
		add_rank(run, i, true);
	for (int32_t i = 0; i < 6; i++) {
		int32_t next = (i + 2) % 6;

		send(run, 10 + (uint64_t)i, i, next, 10);
		if (both_ways)
			send(run, 10 + (uint64_t)i, next, i, 20);
	}
	for (int32_t i = 0; i < 6; i += 2)
		reduce(run, 20 + (uint64_t)i, i, i + 1);
}

/* 0 sends to 2, and 1 to 3, all in one communicator: two pipelines of two stages. */
static void one_communicator_may_be_that_of_many_pipelines(void **state)
{
	with_run *run = np_run_new();

	(void)state;
	for (int32_t i = 0; i < 4; i++) {
		struct np_rank *rank = add_rank(run, i, true);

		add_op(rank, add_group(run, rank, 1, "pp", LIST(0, 1, 2, 3)), true)->peer =
			(uint16_t)((i + 2) % 4 + 1);
	}
	reduce(run, 4, 0, 1);
	reduce(run, 5, 2, 3);
	{
		with_cluster *cluster = build(run);

		assert_int_equal(cluster->stages.count, 2);
		assert_stage(cluster, 0, LIST(0, 1));
		assert_stage(cluster, 1, LIST(2, 3));
	}
}

static void a_ring_that_sends_both_ways_is_a_pipeline(void **state)
{
	with_run *run = np_run_new();

	(void)state;
	add_rings(run, true);
	{
		with_cluster *cluster = build(run);

		assert_int_equal(cluster->stages.count, 3);
		assert_stage(cluster, 1, LIST(2, 3));
	}
}

static void a_ring_that_sends_one_way_is_no_pipeline(void **state)
{
	with_run *run = np_run_new();

	(void)state;
	add_rings(run, false);
	{
		with_cluster *cluster = build(run);

		assert_int_equal(cluster->stages.count, 0);
	}
}

/* pp 2 × tp 2, and nothing was recorded of tensor parallel groups: 0 2, 1 3. */
static void ranks_at_one_place_of_pipelines_are_one_stage(void **state)
{
	with_run *run = np_run_new();

	(void)state;
	for (int32_t i = 0; i < 4; i++) {
		add(run, 10 + (uint64_t)i, "pp", true, LIST(i, i + 4));
		add(run, 20 + (uint64_t)i, "self", false, LIST(i));
		add(run, 30 + (uint64_t)i, "self", false, LIST(i + 4));
	}
	{
		with_cluster *cluster = build(run);

		assert_int_equal(cluster->stages.count, 2);
		assert_stage(cluster, 0, LIST(0, 1, 2, 3));
		assert_stage(cluster, 1, LIST(4, 5, 6, 7));
	}
}

static void without_a_pipeline_there_are_no_stages(void **state)
{
	with_run *run = np_run_new();

	(void)state;
	add(run, 3, "dp", false, LIST(0, 2));
	add(run, 4, "send", true, LIST(0, 2));
	{
		with_cluster *cluster = build(run);

		assert_int_equal(cluster->stages.count, 0);
	}
}

static void the_name_of_a_pipeline_begins_with_pp_in_any_case(void **state)
{
	static const char *const names[] = { "pp", "PP", "pp_new_stream", "Pp1" };

	(void)state;
	for (size_t i = 0; i < NP_COUNT(names); i++) {
		with_run *run = np_run_new();

		add(run, 1, names[i], true, LIST(0, 4));
		add(run, 3, "dp", false, LIST(0, 2));
		{
			with_cluster *cluster = build(run);

			assert_int_equal(cluster->stages.count, 1);
		}
	}
}

/* A collective over the pipeline (gradients of shared embeddings) is no link of it. */
static void a_collective_named_pp_is_no_link(void **state)
{
	with_run *run = np_run_new();

	(void)state;
	add(run, 1, "pp", false, LIST(0, 4));
	{
		with_cluster *cluster = build(run);

		assert_int_equal(cluster->stages.count, 0);
	}
}

static void observed_ranks_stand_in_for_members(void **state)
{
	with_run *run = np_run_new();

	(void)state;
	for (int32_t id = 0; id < 4; id++) {
		struct np_rank *rank = add_rank(run, id, true);

		/* Chains {0,2} and {1,3}; stages {0,1} and {2,3}. */
		add_op(rank, add_group(run, rank, 10 + (uint64_t)id % 2, "pp", NULL, 0), true);
		add_op(rank, add_group(run, rank, 20 + (uint64_t)id / 2, "dp", NULL, 0), false);
	}
	{
		with_cluster *cluster = build(run);

		assert_int_equal(cluster->stages.count, 2);
		assert_stage(cluster, 0, LIST(0, 1));
		assert_stage(cluster, 1, LIST(2, 3));
	}
}

/* Stages of a random grid of pp × width, with its communicators in random order. */
static void a_grid_of_any_shape_has_its_rows_as_stages(void **state)
{
	uint64_t random = 17;

	(void)state;
	for (int round = 0; round < 200; round++) {
		with_run *run = np_run_new();
		int32_t depth = 2 + (int32_t)np_random_below(&random, 5);
		int32_t width = 2 + (int32_t)np_random_below(&random, 6);
		uint64_t salt = np_random(&random);

		/* Hashes decide the order of communicators, so random ones shuffle them. */
		for (int32_t stage = 0; stage < depth; stage++) {
			for (int32_t i = 0; i < width; i++) {
				int32_t at = stage * width + i;

				if (stage + 1 < depth)
					add(run, np_random(&salt), "pp", true,
					    LIST(at, at + width));
				if (i + 1 < width)
					add(run, np_random(&salt), "dp", false, LIST(at, at + 1));
			}
		}
		{
			with_cluster *cluster = build(run);

			assert_int_equal(cluster->stages.count, depth);
			for (int32_t stage = 0; stage < depth; stage++) {
				const struct np_stage *found = &cluster->stages.item[stage];

				assert_int_equal(found->count, width);
				for (int32_t i = 0; i < width; i++)
					assert_int_equal(found->ranks[i], stage * width + i);
			}
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(links_are_joined_to_chains_transitively),
		cmocka_unit_test(groups_that_share_a_rank_are_one_stage),
		cmocka_unit_test(ranks_in_no_stage_are_not_pooled),
		cmocka_unit_test(a_row_of_ranks_without_a_name_is_a_pipeline),
		cmocka_unit_test(a_pair_of_which_one_sends_first_is_a_pipeline),
		cmocka_unit_test(a_ring_without_a_name_is_no_pipeline),
		cmocka_unit_test(a_pair_is_told_by_the_step_in_which_it_sends),
		cmocka_unit_test(a_pair_that_takes_turns_is_no_pipeline),
		cmocka_unit_test(one_communicator_may_be_that_of_many_pipelines),
		cmocka_unit_test(a_ring_that_sends_both_ways_is_a_pipeline),
		cmocka_unit_test(a_ring_that_sends_one_way_is_no_pipeline),
		cmocka_unit_test(ranks_at_one_place_of_pipelines_are_one_stage),
		cmocka_unit_test(without_a_pipeline_there_are_no_stages),
		cmocka_unit_test(the_name_of_a_pipeline_begins_with_pp_in_any_case),
		cmocka_unit_test(a_collective_named_pp_is_no_link),
		cmocka_unit_test(observed_ranks_stand_in_for_members),
		cmocka_unit_test(a_grid_of_any_shape_has_its_rows_as_stages),
	};

	return cmocka_run_group_tests_name("stages", tests, NULL, NULL);
}
