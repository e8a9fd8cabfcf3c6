/* SPDX-License-Identifier: Apache-2.0 */
/* Least, most and median over ranks, and who is longest. */
#include "npuprof/spread.h"

#include "np_cluster_fixture.h"

/* What a rank computed in a step; everything else is a tenth of it, or unknown. */
static void compute(struct np_run *run, struct np_rank *rank, const char *step, np_ns computing)
{
	struct np_step_time *time = np_vec_add(&rank->times, NULL);

	assert_non_null(time);
	*time = (struct np_step_time){ .step = add_step(run, rank, step),
				       .computing = computing,
				       .communication_not_overlapped = computing / 10,
				       .free = computing / 10,
				       .bubble = NP_UNKNOWN,
				       .span = computing / 10 };
}

/* Computing of three ranks in two steps. */
static struct np_run *three_ranks(const np_ns computing[3][2])
{
	struct np_run *run = np_run_new();

	for (int32_t id = 0; id < 3; id++) {
		struct np_rank *rank = add_rank(run, id, true);

		compute(run, rank, "7", computing[id][0]);
		compute(run, rank, "8", computing[id][1]);
	}
	return run;
}

static struct np_spreads measure(const struct np_run *run)
{
	NP_CLEANUP(np_cluster_freep) struct np_cluster *cluster = NULL;
	struct np_spreads spreads = { 0 };
	struct np_err err = NP_ERR_INIT;

	assert_ok(np_cluster_build(run, &cluster, &err), err);
	assert_ok(np_spreads_measure(cluster, &spreads, &err), err);
	return spreads;
}

static void each_step_has_a_least_a_median_and_a_most(void **state)
{
	with_run *run = three_ranks((const np_ns[3][2]){ { 100, 300 }, { 50, 310 }, { 120, 320 } });
	struct np_spreads spreads = measure(run);
	const struct np_spread *first = &spreads.steps[0][NP_Q_COMPUTING];
	const struct np_spread *second = &spreads.steps[1][NP_Q_COMPUTING];

	(void)state;
	assert_int_equal(first->ranks, 3);
	assert_int_equal(first->least, 50);
	assert_int_equal(first->least_rank, 1);
	assert_int_equal(first->median, 100);
	assert_int_equal(first->most, 120);
	assert_int_equal(first->most_rank, 2);
	assert_int_equal(second->least_rank, 0);
	assert_int_equal(second->median, 310);
	assert_int_equal(second->most_rank, 2);
	np_spreads_release(&spreads);
}

static void of_equal_ranks_the_lowest_is_named(void **state)
{
	with_run *run = three_ranks((const np_ns[3][2]){ { 90, 1 }, { 100, 1 }, { 100, 1 } });
	struct np_spreads spreads = measure(run);

	(void)state;
	assert_int_equal(spreads.steps[0][NP_Q_COMPUTING].most_rank, 1);
	assert_int_equal(spreads.steps[1][NP_Q_COMPUTING].least_rank, 0);
	assert_int_equal(spreads.steps[1][NP_Q_COMPUTING].most_rank, 0);
	np_spreads_release(&spreads);
}

static void what_nobody_knows_has_no_spread(void **state)
{
	with_run *run = three_ranks((const np_ns[3][2]){ { 10, 10 }, { 20, 20 }, { 30, 30 } });
	struct np_spreads spreads = measure(run);

	(void)state;
	assert_int_equal(spreads.steps[0][NP_Q_BUBBLE].ranks, 0);
	assert_int_equal(spreads.total[NP_Q_BUBBLE], 0);
	np_spreads_release(&spreads);
}

static void totals_are_over_all_ranks_and_steps(void **state)
{
	with_run *run = three_ranks((const np_ns[3][2]){ { 10, 20 }, { 30, 40 }, { 50, 60 } });
	struct np_spreads spreads = measure(run);

	(void)state;
	assert_int_equal(spreads.total[NP_Q_COMPUTING], 210);
	assert_int_equal(spreads.total[NP_Q_SPAN], 21);
	np_spreads_release(&spreads);
}

/* Rank 2 leads twice: by a fifth and by a tenth of the median. */
static void the_longest_leads_in_most_steps(void **state)
{
	with_run *run = three_ranks((const np_ns[3][2]){ { 100, 200 }, { 50, 100 }, { 120, 220 } });
	struct np_spreads spreads = measure(run);

	(void)state;
	assert_int_equal(spreads.longest.rank, 2);
	assert_int_equal(spreads.longest.steps, 2);
	assert_true(spreads.longest.over > 0.1499 && spreads.longest.over < 0.1501);
	np_spreads_release(&spreads);
}

static void one_rank_alone_is_not_the_longest(void **state)
{
	with_run *run = np_run_new();
	struct np_spreads spreads;

	(void)state;
	compute(run, add_rank(run, 4, true), "1", 100);
	(void)add_rank(run, 5, false);
	spreads = measure(run);
	assert_int_equal(spreads.steps[0][NP_Q_COMPUTING].ranks, 1);
	assert_int_equal(spreads.longest.steps, 0);
	np_spreads_release(&spreads);
}

static void a_run_without_steps_has_no_spreads(void **state)
{
	with_run *run = np_run_new();
	struct np_spreads spreads = measure(run);

	(void)state;
	assert_int_equal(spreads.total[NP_Q_SPAN], 0);
	assert_int_equal(spreads.longest.steps, 0);
	np_spreads_release(&spreads);
}

/* Step 7 lasts until step 8 begins: 130 and 140 ns, of which 30 and 20 lie between them. */
static void the_step_is_its_iteration_and_the_last_has_none(void **state)
{
	with_run *run = three_ranks((const np_ns[3][2]){ { 1000, 900 }, { 1200, 900 }, { 0, 0 } });
	struct np_spreads spreads;

	(void)state;
	run->ranks[0]->times.item[0].iteration = 130;
	run->ranks[0]->times.item[0].between[NP_BETWEEN_HOST] = 30;
	run->ranks[1]->times.item[0].iteration = 140;
	run->ranks[1]->times.item[0].between[NP_BETWEEN_UNKNOWN] = 20;
	spreads = measure(run);
	assert_int_equal(spreads.basis, NP_BASIS_ITERATION);
	assert_int_equal(spreads.steps[0][NP_Q_STEP].ranks, 2);
	assert_int_equal(spreads.steps[0][NP_Q_STEP].least, 130);
	assert_int_equal(spreads.steps[0][NP_Q_STEP].most, 140);
	assert_int_equal(spreads.steps[1][NP_Q_STEP].ranks, 0);
	assert_int_equal(spreads.steps[1][NP_Q_SPAN].most, 90);
	assert_int_equal(spreads.steps[0][NP_Q_BETWEEN].most, 30);
	/* To share out: both iterations, and the spans of step 8. */
	assert_int_equal(spreads.total[NP_Q_STEP], 130 + 140 + 90 + 90);
	assert_int_equal(spreads.total[NP_Q_BETWEEN], 50);
	assert_int_equal(spreads.between[NP_BETWEEN_HOST], 30);
	assert_int_equal(spreads.between[NP_BETWEEN_UNKNOWN], 20);
	np_spreads_release(&spreads);
}

static void without_iterations_the_step_is_its_span(void **state)
{
	with_run *run = three_ranks((const np_ns[3][2]){ { 100, 300 }, { 50, 310 }, { 120, 320 } });
	struct np_spreads spreads = measure(run);

	(void)state;
	assert_int_equal(spreads.basis, NP_BASIS_SPAN);
	assert_int_equal(spreads.steps[1][NP_Q_STEP].most, 32);
	assert_int_equal(spreads.total[NP_Q_STEP], spreads.total[NP_Q_SPAN]);
	np_spreads_release(&spreads);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_step_has_a_least_a_median_and_a_most),
		cmocka_unit_test(of_equal_ranks_the_lowest_is_named),
		cmocka_unit_test(what_nobody_knows_has_no_spread),
		cmocka_unit_test(totals_are_over_all_ranks_and_steps),
		cmocka_unit_test(the_longest_leads_in_most_steps),
		cmocka_unit_test(one_rank_alone_is_not_the_longest),
		cmocka_unit_test(a_run_without_steps_has_no_spreads),
		cmocka_unit_test(the_step_is_its_iteration_and_the_last_has_none),
		cmocka_unit_test(without_iterations_the_step_is_its_span),
	};

	return cmocka_run_group_tests_name("spread", tests, NULL, NULL);
}
