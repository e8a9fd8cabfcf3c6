/* SPDX-License-Identifier: Apache-2.0 */
#include "npuprof/apportion.h"

#include "np_random.h"
#include "np_test.h"

#include <math.h>

static void parts_follow_the_weights(void **state)
{
	const double weights[] = { 1, 0, 3 };
	int64_t parts[3];

	(void)state;
	np_apportion(100, weights, 3, parts);
	assert_int_equal(parts[0], 25);
	assert_int_equal(parts[1], 0);
	assert_int_equal(parts[2], 75);
}

static void without_weights_the_first_takes_everything(void **state)
{
	const double weights[] = { 0, 0 };
	int64_t parts[2];

	(void)state;
	np_apportion(-7, weights, 2, parts);
	assert_int_equal(parts[0], -7);
	assert_int_equal(parts[1], 0);
}

static void parts_sum_to_the_total_and_are_off_by_less_than_one(void **state)
{
	uint64_t random = 11;

	(void)state;
	for (int round = 0; round < 5000; round++) {
		double weights[20];
		int64_t parts[20];
		double all = 0;
		size_t count = 1 + np_random_below(&random, 20);
		/* From a few nanoseconds to a year of them. */
		int64_t total = (int64_t)np_random_below(&random, (uint64_t)1 << (2 + round % 54));
		int64_t sum = 0;

		for (size_t i = 0; i < count; i++) {
			weights[i] = (double)np_random_below(&random, 1000);
			all += weights[i];
		}
		np_apportion(total, weights, count, parts);
		for (size_t i = 0; i < count; i++) {
			sum += parts[i];
			if (all > 0)
				assert_true(
					fabs((double)parts[i] - (double)total * weights[i] / all) <=
					1 + (double)total * 1e-15);
		}
		assert_true(sum == total);
	}
}

/* Exact thirds, and weights that no double holds exactly: 3 * 0.1 is a little more than 0.3. */
static void parts_are_the_same_on_every_machine(void **state)
{
	static const struct {
		int64_t total;
		double weights[3];
		int64_t parts[3];
	} cases[] = {
		{ 3000000000, { 1, 1, 1 }, { 1000000000, 1000000000, 1000000000 } },
		{ INT64_MAX,
		  { 1, 1, 1 },
		  { 3074457345618258602, 3074457345618258602, 3074457345618258603 } },
		{ -10, { 1, 1, 1 }, { -3, -3, -4 } },
		{ 1000000007, { 0.1, 0.2, 0.3 }, { 166666667, 333333336, 500000004 } },
		{ 1000, { 1e-300, 1e300, 1e300 }, { 0, 500, 500 } },
		{ 1000, { 1e-320, 0, 1e-320 }, { 1000, 0, 0 } },
		{ 10, { 1e308, 1e308, 0 }, { 5, 5, 0 } },
	};

	(void)state;
	for (size_t i = 0; i < NP_COUNT(cases); i++) {
		int64_t parts[3];

		np_apportion(cases[i].total, cases[i].weights, 3, parts);
		for (size_t j = 0; j < 3; j++)
			assert_int_equal(parts[j], cases[i].parts[j]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parts_follow_the_weights),
		cmocka_unit_test(without_weights_the_first_takes_everything),
		cmocka_unit_test(parts_are_the_same_on_every_machine),
		cmocka_unit_test(parts_sum_to_the_total_and_are_off_by_less_than_one),
	};

	return cmocka_run_group_tests_name("apportion", tests, NULL, NULL);
}
