/* SPDX-License-Identifier: Apache-2.0 */
#include "npuprof/memory_growth.h"

#include "np_cluster_fixture.h"

static void hold(struct np_run *run, struct np_rank *rank, const char *step, int64_t most,
		 int64_t least)
{
	struct np_memory_step *held = np_vec_add(&rank->memory_steps, NULL);

	assert_non_null(held);
	*held = (struct np_memory_step){ intern(run, "PTA"), intern(run, step), most, least };
}

/* A rank with these figures in steps "0", "1" … */
static struct np_rank *rank_holding(struct np_run *run, const int64_t *most, const int64_t *least,
				    size_t count)
{
	struct np_rank *rank = add_rank(run, 0, true);

	for (size_t i = 0; i < count; i++) {
		const char step[] = { (char)('0' + i), '\0' };

		(void)add_step(run, rank, step);
		hold(run, rank, step, most[i], least[i]);
	}
	return rank;
}

static int64_t growth_of(struct np_run *run, const struct np_rank *rank)
{
	struct np_memory_growth growth = { 0 };
	struct np_err err = NP_ERR_INIT;

	assert_ok(np_memory_growth_measure(rank, intern(run, "PTA"), &growth, &err), err);
	return growth.per_step;
}

static void a_leak_raises_the_most_and_the_least(void **state)
{
	const int64_t most[] = { 500, 510, 520, 530 };
	const int64_t least[] = { 100, 112, 124, 136 };
	with_run *run = np_run_new();

	(void)state;
	assert_int_equal(growth_of(run, rank_holding(run, most, least, 4)), 10);
}

static void a_first_step_that_fills_caches_is_no_growth(void **state)
{
	const int64_t most[] = { 100, 900, 900, 900, 900 };
	const int64_t least[] = { 10, 800, 800, 800, 800 };
	with_run *run = np_run_new();

	(void)state;
	assert_int_equal(growth_of(run, rank_holding(run, most, least, 5)), 0);
}

static void higher_peaks_on_the_same_ground_are_no_leak(void **state)
{
	const int64_t most[] = { 500, 600, 700 };
	const int64_t least[] = { 100, 100, 100 };
	with_run *run = np_run_new();

	(void)state;
	assert_int_equal(growth_of(run, rank_holding(run, most, least, 3)), 0);
}

static void what_rises_once_and_stays_is_no_growth(void **state)
{
	const int64_t warming[] = { 100, 300, 500, 700, 700, 700, 700, 700 };
	const int64_t once[] = { 100, 100, 100, 100, 200, 200, 200, 200 };
	const int64_t last[] = { 100, 100, 100, 100, 100, 100, 300, 500 };
	with_run *run = np_run_new();

	(void)state;
	assert_int_equal(growth_of(run, rank_holding(run, warming, warming, 8)), 0);
	assert_int_equal(growth_of(run, rank_holding(run, once, once, 8)), 0);
	assert_int_equal(growth_of(run, rank_holding(run, last, last, 8)), 0);
	assert_int_equal(growth_of(run, rank_holding(run, last + 3, last + 3, 3)), 0);
}

static void what_falls_is_negative(void **state)
{
	const int64_t most[] = { 530, 520, 510, 500, 490 };
	const int64_t least[] = { 136, 124, 112, 100, 88 };
	with_run *run = np_run_new();

	(void)state;
	assert_int_equal(growth_of(run, rank_holding(run, most, least, 5)), -10);
}

static void two_steps_tell_nothing(void **state)
{
	const int64_t most[] = { 500, 600 };
	const int64_t least[] = { 100, 200 };
	with_run *run = np_run_new();

	(void)state;
	assert_int_equal(growth_of(run, rank_holding(run, most, least, 2)), NP_UNKNOWN);
}

static void steps_that_were_not_chosen_do_not_count(void **state)
{
	const int64_t most[] = { 500, 510, 520, 530 };
	const int64_t least[] = { 100, 110, 120, 130 };
	with_run *run = np_run_new();
	struct np_rank *rank = rank_holding(run, most, least, 4);

	(void)state;
	rank->steps.count = 2;
	assert_int_equal(growth_of(run, rank), NP_UNKNOWN);
}

static void other_components_do_not_count(void **state)
{
	with_run *run = np_run_new();
	struct np_rank *rank = add_rank(run, 0, true);
	struct np_memory_growth growth = { 0 };
	struct np_err err = NP_ERR_INIT;

	(void)state;
	(void)add_step(run, rank, "0");
	hold(run, rank, "0", 5, 5);
	assert_ok(np_memory_growth_measure(rank, intern(run, "APP"), &growth, &err), err);
	assert_int_equal(growth.per_step, NP_UNKNOWN);
	assert_int_equal(growth.steps, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_leak_raises_the_most_and_the_least),
		cmocka_unit_test(a_first_step_that_fills_caches_is_no_growth),
		cmocka_unit_test(higher_peaks_on_the_same_ground_are_no_leak),
		cmocka_unit_test(what_rises_once_and_stays_is_no_growth),
		cmocka_unit_test(what_falls_is_negative),
		cmocka_unit_test(two_steps_tell_nothing),
		cmocka_unit_test(steps_that_were_not_chosen_do_not_count),
		cmocka_unit_test(other_components_do_not_count),
	};

	return cmocka_run_group_tests_name("memory growth", tests, NULL, NULL);
}
