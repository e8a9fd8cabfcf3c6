/* SPDX-License-Identifier: Apache-2.0 */
/* Logarithms and the like are right to their last bits, and the same on every machine. */
#include "npuprof/elementary.h"

#include "np_test.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

static double log_gamma(double x)
{
	int sign;

	return lgamma_r(x, &sign);
}

struct function {
	double (*own)(double x);
	double (*of_library)(double x);
	double from;
	double to;
	double error; /* relative */
};

static void results_are_those_of_the_c_library_but_for_the_last_bits(void **state)
{
	static const struct function functions[] = {
		{ np_log, log, 1e-9, 0.95, 1e-15 },
		{ np_log, log, 1.05, 4, 1e-15 },
		{ np_log, log, 1e3, 1e15, 1e-15 },
		{ np_log1p, log1p, -0.9, 3, 1e-15 },
		{ np_log1p, log1p, 1e-12, 1e-6, 1e-15 },
		{ np_exp, exp, -700, 700, 1e-15 },
		{ np_exp, exp, -1, 1, 1e-15 },
		{ np_expm1, expm1, -3, 3, 1e-15 },
		{ np_expm1, expm1, 1e-12, 1e-6, 1e-15 },
		{ np_erfc, erfc, -6, 1, 1e-13 },
		{ np_erfc, erfc, 1, 8, 1e-12 },
		{ np_erfc, erfc, 8, 26, 1e-12 },
		{ np_log_gamma, log_gamma, 0.1, 0.9, 1e-12 },
		{ np_log_gamma, log_gamma, 2.5, 40, 1e-12 },
		{ np_log_gamma, log_gamma, 40, 1e6, 1e-14 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
		const struct function *f = &functions[i];

		for (int step = 0; step <= 1000; step++) {
			double x = f->from + (f->to - f->from) * step / 1000;
			double expected = f->of_library(x);

			assert_near(f->own(x), expected, fabs(expected) * f->error);
		}
	}
}

static void what_is_exact_is_exact(void **state)
{
	(void)state;
	assert_near(np_log(1), 0, 0);
	assert_near(np_log1p(0), 0, 0);
	assert_near(np_exp(0), 1, 0);
	assert_near(np_expm1(0), 0, 0);
	assert_near(np_erfc(0), 1, 0);
}

static void where_there_is_no_result_it_is_said(void **state)
{
	(void)state;
	assert_true(isnan(np_log(-1)));
	assert_true(isnan(np_log((double)NAN)));
	assert_true(isinf(np_log(0)) && np_log(0) < 0);
	assert_true(isinf(np_log((double)INFINITY)));
	assert_true(isinf(np_log1p(-1)));
	assert_true(isinf(np_exp(1000)));
	assert_near(np_exp(-1000), 0, 0);
	assert_near(np_exp(-(double)INFINITY), 0, 0);
	assert_true(isnan(np_exp((double)NAN)));
	assert_near(np_expm1(-1000), -1, 0);
	assert_near(np_erfc(1000), 0, 0);
	assert_near(np_erfc(-1000), 2, 0);
	assert_true(isnan(np_erfc((double)NAN)));
}

static uint64_t mixed;

static void mix(double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	mixed = (mixed ^ bits) * UINT64_C(0x100000001b3);
}

/* The number is what x86-64 with and without FMA gave, and aarch64. */
static void every_machine_gives_these_bits(void **state)
{
	(void)state;
	mixed = 0;
	for (int i = 1; i <= 2000; i++) {
		double x = i / 97.0;

		mix(np_log(x));
		mix(np_log1p(x / 21));
		mix(np_exp(x - 10));
		mix(np_expm1(x - 10));
		mix(np_erfc(x / 3 - 2));
		mix(np_log_gamma(x));
	}
	assert_int_equal(mixed, UINT64_C(0xf2a8bd1f1427adc8));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(results_are_those_of_the_c_library_but_for_the_last_bits),
		cmocka_unit_test(what_is_exact_is_exact),
		cmocka_unit_test(where_there_is_no_result_it_is_said),
		cmocka_unit_test(every_machine_gives_these_bits),
	};

	return cmocka_run_group_tests_name("elementary", tests, NULL, NULL);
}
