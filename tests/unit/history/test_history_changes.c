/* SPDX-License-Identifier: Apache-2.0 */
/* When a series of runs changed, and that one which did not is left alone. */
#include "history/engine/change_points.h"

#include "history/engine/middle.h"

#include "np_noise.h"

#define RUNS  60
#define NOISE 0.01

static void fill(double *values, size_t count, size_t at, double share, uint64_t seed)
{
	for (size_t i = 0; i < count; i++)
		values[i] = 1e8 * (1 + NOISE * noise_student(&seed)) * (i >= at ? 1 + share : 1);
}

static struct hist_changes find(const double *values, size_t count)
{
	struct hist_changes changes = { 0 };
	struct np_err err = NP_ERR_INIT;

	assert_ok(hist_changes_find(values, count, &changes, &err), err);
	return changes;
}

static void fewer_than_one_in_a_hundred_series_without_a_change_have_one(void **state)
{
	double values[RUNS];
	size_t tripped = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= 1000; seed++) {
		struct hist_changes changes;

		fill(values, RUNS, RUNS, 0, seed);
		changes = find(values, RUNS);
		tripped += changes.list.count > 0;
		hist_changes_release(&changes);
	}
	/* The rate that is stated, and not 0: a test that never trips sees nothing. */
	assert_in_range(tripped, 1, 9);
}

static void a_step_of_three_percent_is_found_where_it_is(void **state)
{
	double values[RUNS];
	size_t right = 0;

	(void)state;
	for (uint64_t seed = 101; seed <= 120; seed++) {
		size_t at = 15 + seed % 31;
		struct hist_changes changes;

		fill(values, RUNS, at, 0.03, seed);
		changes = find(values, RUNS);
		right += changes.list.count == 1 && changes.list.item[0].at >= at &&
			 changes.list.item[0].at <= at + 2 &&
			 fabs(changes.list.item[0].after / changes.list.item[0].before - 1.03) <
				 0.01;
		hist_changes_release(&changes);
	}
	assert_in_range(right, 19, 20);
}

static void two_changes_are_both_found_in_order(void **state)
{
	double values[RUNS];
	uint64_t seed = 5;
	struct hist_changes changes;

	(void)state;
	for (size_t i = 0; i < RUNS; i++)
		values[i] = (i < 20 ? 100 : i < 40 ? 110 : 95) + 0.5 * noise_student(&seed);
	changes = find(values, RUNS);
	assert_int_equal(changes.list.count, 2);
	assert_int_equal(changes.list.item[0].at, 20);
	assert_int_equal(changes.list.item[1].at, 40);
	assert_near(changes.list.item[0].before, 100, 0.5);
	assert_near(changes.list.item[0].after, 110, 0.5);
	assert_near(changes.list.item[1].before, 110, 0.5);
	assert_near(changes.list.item[1].after, 95, 0.5);
	hist_changes_release(&changes);
}

static void a_change_of_the_last_four_runs_is_found(void **state)
{
	double values[RUNS];
	size_t right = 0;

	(void)state;
	for (uint64_t seed = 201; seed <= 220; seed++) {
		struct hist_changes changes;

		fill(values, RUNS, RUNS - 4, 0.05, seed);
		changes = find(values, RUNS);
		right += changes.list.count == 1 && changes.list.item[0].at == RUNS - 4;
		hist_changes_release(&changes);
	}
	assert_in_range(right, 16, 20);
}

static void what_changed_for_a_while_and_was_reverted_is_found(void **state)
{
	double values[RUNS];
	size_t right = 0;

	(void)state;
	for (uint64_t seed = 301; seed <= 320; seed++) {
		size_t at = 15 + seed % 21;
		struct hist_changes changes;

		fill(values, RUNS, RUNS, 0, seed);
		for (size_t i = at; i < at + 10; i++)
			values[i] *= 1.05;
		changes = find(values, RUNS);
		right += changes.list.count == 2 && changes.list.item[0].at == at &&
			 changes.list.item[1].at == at + 10;
		hist_changes_release(&changes);
	}
	assert_in_range(right, 17, 20);
}

static void runs_that_are_like_the_run_before_them_are_no_change(void **state)
{
	double values[RUNS];
	size_t tripped = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= 200; seed++) {
		struct hist_changes changes;
		uint64_t noise = seed;
		double kept = 0;

		for (size_t i = 0; i < RUNS; i++) {
			kept = 0.5 * kept + sqrt(0.75) * noise_normal(&noise);
			values[i] = 1e8 * (1 + NOISE * kept);
		}
		changes = find(values, RUNS);
		tripped += changes.list.count > 0;
		hist_changes_release(&changes);
	}
	/* More than where they do not depend on each other, and far from the 24 % of a test that
	 * knows nothing of it. */
	assert_in_range(tripped, 0, 16);
}

static void a_commit_that_is_run_three_times_is_no_change(void **state)
{
	double values[RUNS];
	size_t tripped = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= 200; seed++) {
		struct hist_changes changes;
		uint64_t noise = seed;
		double kept = 0;

		for (size_t i = 0; i < RUNS; i++) {
			kept = i % 3 == 0 ? noise_student(&noise) : kept;
			values[i] = 1e8 * (1 + NOISE * (kept + 0.2 * noise_normal(&noise)));
		}
		changes = find(values, RUNS);
		tripped += changes.list.count > 0;
		hist_changes_release(&changes);
	}
	assert_in_range(tripped, 0, 4);
}

static void a_slow_drift_blames_no_run(void **state)
{
	double values[RUNS];
	size_t right = 0;

	(void)state;
	for (uint64_t seed = 401; seed <= 420; seed++) {
		struct hist_changes changes;

		fill(values, RUNS, RUNS, 0, seed);
		for (size_t i = 0; i < RUNS; i++)
			values[i] *= 1 + 0.06 * (double)i / RUNS;
		changes = find(values, RUNS);
		right += changes.list.count == 1 && changes.list.item[0].gradual &&
			 changes.list.item[0].at == 0 && changes.list.item[0].until == RUNS - 1 &&
			 fabs(changes.list.item[0].after / changes.list.item[0].before - 1.06) <
				 0.02;
		hist_changes_release(&changes);
	}
	assert_in_range(right, 16, 20);
}

static void a_staircase_is_steps_and_no_drift(void **state)
{
	double values[RUNS];
	size_t right = 0;

	(void)state;
	for (uint64_t seed = 501; seed <= 520; seed++) {
		struct hist_changes changes;

		fill(values, RUNS, 20, 0.05, seed);
		for (size_t i = 40; i < RUNS; i++)
			values[i] *= 1.05;
		changes = find(values, RUNS);
		right += changes.list.count == 2 && !changes.list.item[0].gradual &&
			 changes.list.item[0].at - 18 <= 4 && changes.list.item[1].at - 38 <= 4;
		hist_changes_release(&changes);
	}
	assert_in_range(right, 16, 20);
}

static void one_bad_run_is_no_change(void **state)
{
	double values[RUNS];
	struct hist_changes changes;

	(void)state;
	fill(values, RUNS, RUNS, 0, 7);
	values[30] *= 3;
	changes = find(values, RUNS);
	assert_int_equal(changes.list.count, 0);
	hist_changes_release(&changes);
}

static void equal_values_and_few_runs_have_no_change(void **state)
{
	double values[RUNS];

	(void)state;
	for (size_t i = 0; i < RUNS; i++)
		values[i] = 5;
	for (size_t count = 0; count <= RUNS; count++) {
		struct hist_changes changes = find(values, count);

		assert_int_equal(changes.list.count, 0);
		hist_changes_release(&changes);
	}
}

static void quantiles_of_student_are_those_of_tables(void **state)
{
	(void)state;
	assert_near(hist_student(0.025, 19), 2.0930, 0.002);
	assert_near(hist_student(0.005, 9), 3.2498, 0.01);
	assert_near(hist_student(0.025, 1000000), 1.95996, 0.0001);
	assert_near(hist_student(0.0001, 1000000), 3.7190, 0.001);
	assert_near(hist_student(0.975, 19), -2.0930, 0.002);
}

static void the_middle_of_two_values_is_their_mean(void **state)
{
	double values[] = { 3, 1, 2, 10 };

	(void)state;
	assert_near(hist_middle(values, 2), 2, 0);
	assert_near(hist_middle(values, 4), 2.5, 0);
	assert_true(isnan(hist_middle(values, 0)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fewer_than_one_in_a_hundred_series_without_a_change_have_one),
		cmocka_unit_test(a_step_of_three_percent_is_found_where_it_is),
		cmocka_unit_test(two_changes_are_both_found_in_order),
		cmocka_unit_test(a_change_of_the_last_four_runs_is_found),
		cmocka_unit_test(what_changed_for_a_while_and_was_reverted_is_found),
		cmocka_unit_test(runs_that_are_like_the_run_before_them_are_no_change),
		cmocka_unit_test(a_commit_that_is_run_three_times_is_no_change),
		cmocka_unit_test(a_slow_drift_blames_no_run),
		cmocka_unit_test(a_staircase_is_steps_and_no_drift),
		cmocka_unit_test(one_bad_run_is_no_change),
		cmocka_unit_test(equal_values_and_few_runs_have_no_change),
		cmocka_unit_test(quantiles_of_student_are_those_of_tables),
		cmocka_unit_test(the_middle_of_two_values_is_their_mean),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
