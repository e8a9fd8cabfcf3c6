/* SPDX-License-Identifier: Apache-2.0 */
#include "npuprof/blame.h"

#include "np_random.h"
#include "np_test.h"

static np_ns charge(const np_ns *wait, size_t count, np_ns floor, np_ns *charges, np_ns *below)
{
	struct np_err err = NP_ERR_INIT;
	np_ns alike;

	*below = 0;
	alike = np_blame_charge(wait, count, floor, charges, below, &err);
	assert_int_not_equal(alike, NP_UNKNOWN);
	return alike;
}

static void the_last_pays_alone_for_its_lead_over_the_runner_up(void **state)
{
	/* Arrivals at 0, 60 and 100: 60 is owed by two for one waiter, then 40 by one for two. */
	const np_ns wait[] = { 100, 40, 0 };
	np_ns charges[3];
	np_ns below;

	(void)state;
	assert_int_equal(charge(wait, 3, 0, charges, &below), 0);
	assert_int_equal(charges[0], 0);
	assert_int_equal(charges[1], 30);
	assert_int_equal(charges[2], 30 + 80);
	assert_int_equal(below, 0);
}

static void two_that_are_equally_late_share(void **state)
{
	const np_ns wait[] = { 0, 101, 0 };
	np_ns charges[3];
	np_ns below;

	(void)state;
	assert_int_equal(charge(wait, 3, 0, charges, &below), 0);
	/* What does not divide goes to the first of them. */
	assert_int_equal(charges[0], 51);
	assert_int_equal(charges[1], 0);
	assert_int_equal(charges[2], 50);
}

static void what_all_waited_alike_is_owed_by_none_of_them(void **state)
{
	const np_ns wait[] = { 70, 50 };
	np_ns charges[2];
	np_ns below;

	(void)state;
	assert_int_equal(charge(wait, 2, 0, charges, &below), 100);
	assert_int_equal(charges[0], 0);
	assert_int_equal(charges[1], 20);
}

static void waits_that_the_clocks_cannot_tell_are_charged_to_nobody(void **state)
{
	const np_ns wait[] = { 100, 9, 0 };
	np_ns charges[3];
	np_ns below;

	(void)state;
	assert_int_equal(charge(wait, 3, 10, charges, &below), 0);
	assert_int_equal(below, 9);
	assert_int_equal(charges[1], 50);
	assert_int_equal(charges[2], 50);
}

static void one_alone_owes_nothing(void **state)
{
	const np_ns wait[] = { 5 };
	np_ns charges[1];
	np_ns below;

	(void)state;
	assert_int_equal(charge(wait, 1, 0, charges, &below), 5);
	assert_int_equal(charges[0], 0);
	assert_int_equal(charge(wait, 0, 0, charges, &below), 0);
}

static void charges_and_the_rest_sum_to_the_waiting(void **state)
{
	uint64_t random = 7;

	(void)state;
	for (int round = 0; round < 2000; round++) {
		np_ns wait[40];
		np_ns charges[40];
		np_ns below;
		np_ns sum;
		np_ns total = 0;
		size_t count = 1 + np_random_below(&random, 40);

		for (size_t i = 0; i < count; i++) {
			wait[i] = (np_ns)np_random_below(&random, 1000);
			total += wait[i];
		}
		sum = charge(wait, count, (np_ns)np_random_below(&random, 100), charges, &below) +
		      below;
		for (size_t i = 0; i < count; i++) {
			assert_true(charges[i] >= 0);
			sum += charges[i];
		}
		assert_int_equal(sum, total);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_last_pays_alone_for_its_lead_over_the_runner_up),
		cmocka_unit_test(two_that_are_equally_late_share),
		cmocka_unit_test(what_all_waited_alike_is_owed_by_none_of_them),
		cmocka_unit_test(waits_that_the_clocks_cannot_tell_are_charged_to_nobody),
		cmocka_unit_test(one_alone_owes_nothing),
		cmocka_unit_test(charges_and_the_rest_sum_to_the_waiting),
	};

	return cmocka_run_group_tests_name("blame", tests, NULL, NULL);
}
