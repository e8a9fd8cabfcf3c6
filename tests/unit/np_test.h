/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_TEST_H
#define NP_TEST_H

/*
 * What every unit test includes: cmocka in the order it needs, and helpers.
 * Tests are sentences about behaviour and have one reason to fail each.
 */
#include "npuprof/err.h"

/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <math.h>

/* Most tests are parts of one program, np_unit.c, in which main has another name. */
#ifdef NP_UNIT
int main(void);
#endif

/* cmocka 1.1.5 compares floats only. */
#define assert_near(actual, expected, tolerance) \
	do { \
		double actual_ = (actual); \
		double expected_ = (expected); \
		if (!(fabs(actual_ - expected_) <= (tolerance))) \
			fail_msg("%s is %.17g, not %.17g", #actual, actual_, expected_); \
	} while (0)

/* A call that must succeed, with its text when it does not: assert_ok(f(…, &err), err). */
#define assert_ok(call, err) \
	do { \
		if ((call) != NP_OK) \
			fail_msg("%s: %s", #call, (err).text); \
	} while (0)

#endif /* NP_TEST_H */
