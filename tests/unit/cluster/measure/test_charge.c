/* SPDX-License-Identifier: Apache-2.0 */
#include "npuprof/charge.h"

#include "np_random.h"
#include "np_test.h"

static np_ns charge(const np_ns *wait, size_t count, np_ns floor, np_ns *charges, np_ns *below)
{
	struct np_charging charging = { 0 };
	struct np_err err = NP_ERR_INIT;
	np_ns alike;

	*below = 0;
	for (size_t i = 0; i < count; i++)
		*below += wait[i] < floor ? wait[i] : 0;
	assert_ok(np_charging_see(&charging, wait, count, floor, &err), err);
	alike = np_charging_charge(&charging, count, charges);
	np_charging_release(&charging);
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

/* By the definition: each gap is shared by all who come after it. */
static void charges_are_the_shares_of_all_gaps(void **state)
{
	uint64_t random = 9;

	(void)state;
	for (int round = 0; round < 300; round++) {
		np_ns wait[100];
		np_ns charges[100];
		np_ns expected[100] = { 0 };
		size_t order[100];
		size_t count = 1 + np_random_below(&random, 100);
		np_ns below;

		for (size_t i = 0; i < count; i++) {
			size_t to = i;

			wait[i] = (np_ns)np_random_below(&random, round % 2 ? 1000 : 20);
			/* The longest wait first, and of equals the first member. */
			for (; to > 0 && wait[order[to - 1]] < wait[i]; to--)
				order[to] = order[to - 1];
			order[to] = i;
		}
		for (size_t m = 1; m < count; m++) {
			np_ns late = (np_ns)(count - m);
			np_ns charge = (np_ns)m * (wait[order[m - 1]] - wait[order[m]]);

			for (np_ns i = 0; i < late; i++)
				expected[order[m + (size_t)i]] +=
					charge / late + (i < charge % late);
		}
		(void)charge(wait, count, 0, charges, &below);
		for (size_t i = 0; i < count; i++)
			assert_int_equal(charges[i], expected[i]);
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
		cmocka_unit_test(charges_are_the_shares_of_all_gaps),
	};

	return cmocka_run_group_tests_name("blame", tests, NULL, NULL);
}
