/* SPDX-License-Identifier: Apache-2.0 */
#include "compare/engine/cmp_significance.h"

#include "np_test.h"

#define VALUES(array) ((struct cmp_values){ (array), NP_COUNT(array) })

/* 3 against 3, all apart: 2 of the C(6,3) = 20 orders are as extreme. */
static void the_rank_test_counts_orders(void **state)
{
	const double a[] = { 1, 2, 3 };
	const double b[] = { 4, 5, 6 };

	(void)state;
	assert_near(cmp_mann_whitney(VALUES(a), VALUES(b), NULL), 0.1, 1e-12);
}

/* U = 1 of 4 against 4: orders with U <= 1 are 2 of 70, on both sides 4. */
static void the_rank_test_knows_the_distribution(void **state)
{
	const double a[] = { 1, 2, 3, 5 };
	const double b[] = { 4, 6, 7, 8 };

	(void)state;
	assert_near(cmp_mann_whitney(VALUES(a), VALUES(b), NULL), 4.0 / 70, 1e-12);
	assert_near(cmp_mann_whitney(VALUES(b), VALUES(a), NULL), 4.0 / 70, 1e-12);
}

static void equal_values_are_no_difference(void **state)
{
	const double a[] = { 5, 5, 5, 5, 5, 5, 5, 5 };
	struct cmp_test test;

	(void)state;
	assert_near(cmp_mann_whitney(VALUES(a), VALUES(a), NULL), 1, 1e-12);
	assert_int_equal(cmp_test(VALUES(a), VALUES(a), &test, NULL), NP_OK);
	assert_near(test.median_delta, 0, 0);
	assert_near(test.low, 0, 0);
	assert_near(test.high, 0, 0);
}

/*
 * Means 2 and 5, variances 1 and 4, 3 values each: t = 3 / sqrt(5/3) = 2.3238,
 * freedom = (5/3)^2 / ((1/3)^2/2 + (4/3)^2/2) = 2.9412, p = 0.1039.
 */
static void welch_has_the_value_of_tables(void **state)
{
	const double a[] = { 1, 2, 3 };
	const double b[] = { 3, 5, 7 };

	(void)state;
	assert_near(cmp_welch(VALUES(a), VALUES(b)), 0.1039, 0.002);
}

static void few_steps_are_not_tested(void **state)
{
	const double a[] = { 1, 2 };
	const double b[] = { 11, 12, 13, 14 };
	struct cmp_test test;

	(void)state;
	assert_int_equal(cmp_test(VALUES(a), VALUES(b), &test, NULL), NP_OK);
	assert_true(isnan(test.p));
	assert_true(isnan(test.detectable));
	assert_string_equal(test.method, "none");
	assert_near(test.median_delta, 11, 1e-12);
}

static void swapping_the_sides_swaps_the_signs(void **state)
{
	const double a[] = { 1, 2, 4, 8, 16, 3, 5, 7, 9 };
	const double b[] = { 2, 3, 5, 9, 19, 6, 8, 10, 13, 11 };
	struct cmp_test one;
	struct cmp_test two;

	(void)state;
	assert_int_equal(cmp_test(VALUES(a), VALUES(b), &one, NULL), NP_OK);
	assert_int_equal(cmp_test(VALUES(b), VALUES(a), &two, NULL), NP_OK);
	assert_near(one.p, two.p, 0);
	assert_near(one.median_delta, -two.median_delta, 0);
	assert_near(one.low, -two.high, 0);
	assert_near(one.high, -two.low, 0);
	assert_true(one.low < one.median_delta && one.median_delta < one.high);
}

/* Sorted .01 .02 .03 .5: × 4 / rank = .04 .04 .04 .5, and from the end the least so far. */
static void many_tests_are_adjusted_and_unknown_ones_left_out(void **state)
{
	double p[] = { 0.03, (double)NAN, 0.01, 0.5, 0.02 };

	(void)state;
	assert_int_equal(cmp_adjust(p, NP_COUNT(p), NULL), NP_OK);
	assert_near(p[0], 0.04, 1e-12);
	assert_true(isnan(p[1]));
	assert_near(p[2], 0.04, 1e-12);
	assert_near(p[3], 0.5, 1e-12);
	assert_near(p[4], 0.04, 1e-12);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_rank_test_counts_orders),
		cmocka_unit_test(the_rank_test_knows_the_distribution),
		cmocka_unit_test(equal_values_are_no_difference),
		cmocka_unit_test(welch_has_the_value_of_tables),
		cmocka_unit_test(few_steps_are_not_tested),
		cmocka_unit_test(swapping_the_sides_swaps_the_signs),
		cmocka_unit_test(many_tests_are_adjusted_and_unknown_ones_left_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
