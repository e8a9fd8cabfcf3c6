/* SPDX-License-Identifier: Apache-2.0 */
#include "npuprof/robust.h"

#include "np_fault.h"
#include "np_random.h"
#include "np_test.h"

#include "npuprof/order.h"

#include <math.h>

static void the_middle_of_an_even_number_is_the_lower_one(void **state)
{
	double odd[] = { 9, 1, 5 };
	double even[] = { 4, 1, 3, 2 };
	double two[] = { 7, 3 };

	(void)state;
	assert_near(np_median(odd, 3), 5, 0);
	assert_near(np_median(even, 4), 2, 0);
	assert_near(np_median(two, 2), 3, 0);
}

/* Few and many, equal ones, sorted either way, and up and down: the median, as sorting has it. */
static void the_median_is_what_sorting_finds(void **state)
{
	static double values[3000];
	static double sorted[3000];
	uint64_t seed = 3;

	(void)state;
	for (size_t i = 0; i < 400; i++) {
		size_t count = i < 300 ? i / 5 + 1 : 3000 - i;
		double median;

		for (size_t j = 0; j < count; j++)
			values[j] = i % 5 == 0   ? (double)(np_random(&seed) % 1000)
				    : i % 5 == 1 ? (double)(np_random(&seed) % 3)
				    : i % 5 == 2 ? (double)j
				    : i % 5 == 3 ? -(double)j
						 : (double)(j < count / 2 ? j : count - j);
		memcpy(sorted, values, count * sizeof(*values));
		qsort(sorted, count, sizeof(*sorted), np_by_double);
		median = np_median(values, count);
		assert_near(median, sorted[(count - 1) / 2], 0);
		for (size_t j = 0; j < count; j++)
			assert_true(j <= (count - 1) / 2 ? values[j] <= median
							 : values[j] >= median);
		qsort(values, count, sizeof(*values), np_by_double);
		assert_memory_equal(values, sorted, count * sizeof(*values));
	}
}

static void nothing_has_no_middle(void **state)
{
	(void)state;
	assert_true(isnan(np_median(NULL, 0)));
	assert_true(isnan(np_median_weighted(NULL, 0)));
}

static void one_wild_value_does_not_move_the_deviation(void **state)
{
	double values[] = { 8, 9, 10, 11, 1e9 };

	(void)state;
	/* Distances 2, 1, 0, 1 and a wild one: their median is 1. */
	assert_near(np_deviation(values, 5, 10), 1.4826, 1e-9);
}

static void weights_move_the_middle(void **state)
{
	struct np_weighted values[] = { { 3, 10 }, { 1, 1 }, { 2, 1 } };
	struct np_weighted equal[] = { { 2, 1 }, { 1, 1 } };

	(void)state;
	assert_near(np_median_weighted(values, 3), 3, 0);
	assert_near(np_median_weighted(equal, 2), 1, 0);
}

static struct np_line fitted(const struct np_point *points, size_t count)
{
	struct np_err err = NP_ERR_INIT;
	struct np_line line;

	assert_ok(np_line_fit(points, count, &line, &err), err);
	return line;
}

static void a_line_survives_points_that_are_wrong(void **state)
{
	/* y = 5 + 2 x, but for one of six. */
	const struct np_point points[] = { { 0, 5 },  { 1, 7 },  { 2, 900 },
					   { 3, 11 }, { 4, 13 }, { 5, 15 } };
	struct np_line line = fitted(points, NP_COUNT(points));

	(void)state;
	assert_near(line.slope, 2, 1e-9);
	assert_near(line.offset, 5, 1e-9);
}

static void points_above_each_other_have_no_slope(void **state)
{
	const struct np_point points[] = { { 3, 1 }, { 3, 2 } };

	(void)state;
	assert_true(isnan(fitted(points, 2).slope));
	assert_true(isnan(fitted(points, 1).slope));
	assert_true(isnan(fitted(points, 0).slope));
}

static void many_points_are_thinned_out_and_give_the_same_line(void **state)
{
	struct np_point points[5000];

	(void)state;
	for (size_t i = 0; i < NP_COUNT(points); i++)
		points[i] = (struct np_point){ (double)i, 1 - 3.0 * (double)i };
	assert_near(fitted(points, NP_COUNT(points)).slope, -3, 1e-9);
	assert_near(fitted(points, NP_COUNT(points)).offset, 1, 1e-6);
}

static int fit_a_line(struct np_err *err)
{
	const struct np_point points[] = { { 0, 5 }, { 1, 7 } };
	struct np_line line;

	return np_line_fit(points, 2, &line, err);
}

static void running_out_of_memory_is_told(void **state)
{
	(void)state;
	assert_survives_faults(fit_a_line);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_middle_of_an_even_number_is_the_lower_one),
		cmocka_unit_test(the_median_is_what_sorting_finds),
		cmocka_unit_test(nothing_has_no_middle),
		cmocka_unit_test(one_wild_value_does_not_move_the_deviation),
		cmocka_unit_test(weights_move_the_middle),
		cmocka_unit_test(a_line_survives_points_that_are_wrong),
		cmocka_unit_test(points_above_each_other_have_no_slope),
		cmocka_unit_test(many_points_are_thinned_out_and_give_the_same_line),
		cmocka_unit_test(running_out_of_memory_is_told),
	};

	return cmocka_run_group_tests_name("robust", tests, NULL, NULL);
}
