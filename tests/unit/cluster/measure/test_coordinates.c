/* SPDX-License-Identifier: Apache-2.0 */
#include "npuprof/cluster.h"

#include "np_cluster_fixture.h"

static struct np_parallel sizes(int32_t world, int32_t tp, int32_t cp, int32_t dp, int32_t pp)
{
	return (struct np_parallel){
		.known = true, .world = world, .tp = tp, .cp = cp, .dp = dp, .pp = pp, .ep = 1
	};
}

static void assert_place(const struct np_parallel *parallel, int32_t rank, int32_t tp, int32_t cp,
			 int32_t dp, int32_t pp)
{
	struct np_coordinates at = np_coordinates_of(parallel, rank);

	assert_int_equal(at.tp, tp);
	assert_int_equal(at.cp, cp);
	assert_int_equal(at.dp, dp);
	assert_int_equal(at.pp, pp);
}

/* The vendor's formula: DP = (r mod (world/pp)) / tp, PP = r / (world/pp), TP = r mod tp. */
static void without_context_parallelism_places_are_those_of_the_vendor(void **state)
{
	const struct np_parallel parallel = sizes(24, 2, 1, 4, 3);

	(void)state;
	for (int32_t rank = 0; rank < 24; rank++)
		assert_place(&parallel, rank, rank % 2, 0, rank % 8 / 2, rank / 8);
}

/* world 16 = tp 2 · cp 2 · dp 2 · pp 2; rank 13 = 1 + 2·(0 + 2·(1 + 2·1)). */
static void with_context_parallelism_it_lies_between_tp_and_dp(void **state)
{
	const struct np_parallel parallel = sizes(16, 2, 2, 2, 2);

	(void)state;
	assert_place(&parallel, 0, 0, 0, 0, 0);
	assert_place(&parallel, 1, 1, 0, 0, 0);
	assert_place(&parallel, 2, 0, 1, 0, 0);
	assert_place(&parallel, 4, 0, 0, 1, 0);
	assert_place(&parallel, 8, 0, 0, 0, 1);
	assert_place(&parallel, 13, 1, 0, 1, 1);
}

/* world 16 = tp 2 · dp 4 · pp 2, with cp 2 counted into dp: where in cp is not known. */
static void context_parallelism_counted_into_data_parallelism_is_accepted(void **state)
{
	const struct np_parallel parallel = sizes(16, 2, 2, 4, 2);

	(void)state;
	assert_place(&parallel, 0, 0, -1, 0, 0);
	assert_place(&parallel, 13, 1, -1, 2, 1);
}

static void sizes_of_0_count_as_1(void **state)
{
	const struct np_parallel parallel = sizes(4, 0, 0, 4, 0);

	(void)state;
	assert_place(&parallel, 3, 0, 0, 3, 0);
}

static void sizes_that_do_not_fit_the_world_place_nobody(void **state)
{
	const struct np_parallel parallel = sizes(10, 2, 1, 4, 3);

	(void)state;
	assert_place(&parallel, 0, -1, -1, -1, -1);
}

static void a_rank_outside_the_world_has_no_place(void **state)
{
	const struct np_parallel parallel = sizes(24, 2, 1, 4, 3);

	(void)state;
	assert_place(&parallel, 24, -1, -1, -1, -1);
	assert_place(&parallel, -1, -1, -1, -1, -1);
}

static void without_metadata_nobody_has_a_place(void **state)
{
	struct np_parallel parallel = sizes(24, 2, 1, 4, 3);

	(void)state;
	parallel.known = false;
	assert_place(&parallel, 0, -1, -1, -1, -1);
}

static void absurd_sizes_do_not_overflow(void **state)
{
	const struct np_parallel parallel =
		sizes(INT32_MAX, INT32_MAX, INT32_MAX, INT32_MAX, INT32_MAX);
	/* The product is 2^64 + …: it must not come out as the world. */
	const struct np_parallel wraps = sizes(1, 65536, 65536, 65536, 65536);

	(void)state;
	assert_place(&parallel, 0, -1, -1, -1, -1);
	assert_place(&wraps, 0, -1, -1, -1, -1);
}

static void the_place_among_experts_is_0_where_there_is_one_group_and_else_not_known(void **state)
{
	struct np_parallel parallel = sizes(24, 2, 1, 4, 3);

	(void)state;
	assert_int_equal(np_coordinates_of(&parallel, 5).ep, 0);
	parallel.ep = 2;
	assert_int_equal(np_coordinates_of(&parallel, 5).ep, -1);
}

/* The formula says dp 1 for rank 2; the job itself put it last in a list of three. */
static void lists_of_members_win_over_the_formula(void **state)
{
	with_run *run = np_run_new();
	struct np_rank *rank = add_rank(run, 2, true);

	(void)state;
	rank->parallel = sizes(4, 2, 1, 2, 1);
	add_group(run, rank, 1, "DP", LIST(0, 1, 2));
	add_group(run, rank, 2, "exp", LIST(2, 3));
	add_group(run, rank, 3, "dp_cp", LIST(2, 3));
	{
		with_cluster *cluster = build(run);

		assert_int_equal(cluster->coordinates[0].dp, 2);
		assert_int_equal(cluster->coordinates[0].tp, 0);
		assert_int_equal(cluster->coordinates[0].pp, 0);
		assert_int_equal(cluster->coordinates[0].ep, 0);
	}
}

static void lists_place_a_rank_without_sizes(void **state)
{
	with_run *run = np_run_new();
	struct np_rank *rank = add_rank(run, 6, true);

	(void)state;
	add_group(run, rank, 1, "pp", LIST(2, 6));
	add_group(run, rank, 2, "cp", LIST(4, 5, 6));
	{
		with_cluster *cluster = build(run);

		assert_int_equal(cluster->coordinates[0].pp, 1);
		assert_int_equal(cluster->coordinates[0].cp, 2);
		assert_int_equal(cluster->coordinates[0].tp, -1);
	}
}

static void a_list_without_the_rank_tells_nothing(void **state)
{
	with_run *run = np_run_new();
	struct np_rank *rank = add_rank(run, 6, true);

	(void)state;
	add_group(run, rank, 1, "pp", LIST(2, 7));
	{
		with_cluster *cluster = build(run);

		assert_int_equal(cluster->coordinates[0].pp, -1);
	}
}

static void ranks_that_were_not_loaded_have_no_place(void **state)
{
	with_run *run = np_run_new();

	(void)state;
	add_rank(run, 0, true)->parallel = sizes(2, 1, 1, 2, 1);
	add_rank(run, 1, false);
	{
		with_cluster *cluster = build(run);

		assert_int_equal(cluster->coordinates[0].dp, 0);
		assert_int_equal(cluster->coordinates[1].dp, -1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_context_parallelism_places_are_those_of_the_vendor),
		cmocka_unit_test(with_context_parallelism_it_lies_between_tp_and_dp),
		cmocka_unit_test(context_parallelism_counted_into_data_parallelism_is_accepted),
		cmocka_unit_test(sizes_of_0_count_as_1),
		cmocka_unit_test(sizes_that_do_not_fit_the_world_place_nobody),
		cmocka_unit_test(a_rank_outside_the_world_has_no_place),
		cmocka_unit_test(without_metadata_nobody_has_a_place),
		cmocka_unit_test(absurd_sizes_do_not_overflow),
		cmocka_unit_test(
			the_place_among_experts_is_0_where_there_is_one_group_and_else_not_known),
		cmocka_unit_test(lists_of_members_win_over_the_formula),
		cmocka_unit_test(lists_place_a_rank_without_sizes),
		cmocka_unit_test(a_list_without_the_rank_tells_nothing),
		cmocka_unit_test(ranks_that_were_not_loaded_have_no_place),
	};

	return cmocka_run_group_tests_name("places", tests, NULL, NULL);
}
