/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_ADVISOR_FIXTURE_H
#define NP_ADVISOR_FIXTURE_H

#include "eval.h"

/*
 * The tests that rules carry
 * ==========================
 *
 * A test is a small run, given as rows of views in JSON or as SQL that inserts
 * them, and what the rule should say of it. See rules/README.md.
 */
struct test_counts {
	size_t passed;
	size_t failed;
};

/* Run the tests of a rule; each failure is a problem at the place of its test. */
void rule_test(const struct rule *rule, struct problems *problems, struct test_counts *counts);

#endif /* NP_ADVISOR_FIXTURE_H */
