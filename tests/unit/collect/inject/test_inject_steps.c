/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/inject/cadence.h"
#include "collect/inject/steps.h"
#include "np_random.h"
#include "np_test.h"

/* Sources */

static void a_source_that_names_its_steps_is_believed_at_once(void **state)
{
	struct np_steps steps;

	(void)state;
	np_steps_init(&steps, NP_STEP_AUTO);
	assert_true(np_steps_begin(&steps, NP_STEP_MSTX, 5));
	assert_int_equal(steps.chosen, NP_STEP_MSTX);
	assert_int_equal(steps.current, 5);
}

static void a_source_that_is_counted_is_believed_when_it_comes_again(void **state)
{
	struct np_steps steps;

	(void)state;
	np_steps_init(&steps, NP_STEP_AUTO);
	assert_false(np_steps_begin(&steps, NP_STEP_STAMP, NP_UNKNOWN));
	assert_int_equal(steps.chosen, NP_STEP_AUTO);
	assert_true(np_steps_begin(&steps, NP_STEP_STAMP, NP_UNKNOWN));
	assert_int_equal(steps.current, 1);
}

static void a_better_source_takes_over_until_a_window_has_opened(void **state)
{
	struct np_steps steps;

	(void)state;
	np_steps_init(&steps, NP_STEP_AUTO);
	assert_true(np_steps_begin(&steps, NP_STEP_HCCL, 40));
	assert_true(np_steps_begin(&steps, NP_STEP_MSTX, 3));
	assert_int_equal(steps.chosen, NP_STEP_MSTX);
	assert_false(np_steps_begin(&steps, NP_STEP_HCCL, 41));
	steps.settled = true;
	assert_false(np_steps_begin(&steps, NP_STEP_EXPLICIT, 4));
	assert_int_equal(steps.current, 3);
}

static void a_configured_source_is_believed_alone(void **state)
{
	struct np_steps steps;

	(void)state;
	np_steps_init(&steps, NP_STEP_HCCL);
	assert_false(np_steps_begin(&steps, NP_STEP_EXPLICIT, 4));
	assert_true(np_steps_begin(&steps, NP_STEP_HCCL, 7));
	assert_int_equal(steps.current, 7);
}

static void a_step_marked_twice_begins_once(void **state)
{
	struct np_steps steps;

	(void)state;
	np_steps_init(&steps, NP_STEP_AUTO);
	assert_true(np_steps_begin(&steps, NP_STEP_EXPLICIT, 4));
	assert_false(np_steps_begin(&steps, NP_STEP_EXPLICIT, 4));
	assert_true(np_steps_begin(&steps, NP_STEP_EXPLICIT, 5));
}

/* Cadence */

static struct np_cadence cadence;
static uint32_t waits;

/* A call; the step it begins, or -1. */
static int64_t call(uint64_t what)
{
	int64_t step;

	return np_cadence_call(&cadence, what, waits, &step) ? step : -1;
}

/* One step: `layers` equal calls forward, as many others backward, one of the optimizer, a wait. */
static int64_t train(unsigned layers)
{
	int64_t began = -1;

	for (unsigned i = 0; i < 2 * layers + 1; i++) {
		int64_t step = call(i < layers ? 1 : i < 2 * layers ? 2 : 3);

		if (step >= 0) {
			assert_int_equal(i, 0); /* with the first call that was repeated */
			assert_int_equal(began, -1);
			began = step;
		}
	}
	waits++;
	return began;
}

static void reset(void)
{
	np_cadence_init(&cadence);
	waits = 0;
}

static void steps_are_counted_from_where_the_repetition_began(void **state)
{
	(void)state;
	reset();
	for (uint64_t i = 100; i < 107; i++) /* broadcasts before training */
		assert_int_equal(call(i), -1);
	assert_int_equal(train(4), -1);
	assert_int_equal(train(4), -1);
	assert_int_equal(train(4), -1);
	/* Noticed within the third repetition or at its end: from then on numbers are told. */
	for (int64_t step = 4; step < 50; step++)
		(void)train(4);
	assert_int_equal(train(4), 49);
	assert_int_equal(cadence.period, 9);
	assert_int_equal(cadence.origin, 7);
}

static void a_loop_over_layers_is_not_a_step(void **state)
{
	int64_t first = -1;

	(void)state;
	reset();
	for (int64_t step = 0; step < 20; step++) {
		int64_t began = train(60);

		if (began >= 0) {
			assert_int_equal(began, step);
			if (first < 0)
				first = step;
		}
	}
	assert_int_equal(cadence.period, 121);
	/* Three repetitions, and up to an eighth of the history until one looks again. */
	assert_in_range(first, 3, 5);
}

static void without_waits_it_takes_longer_to_be_sure(void **state)
{
	(void)state;
	reset();
	for (int i = 0; i < 150; i++)
		assert_int_equal(call(1 + (uint64_t)i % 3), -1);
	for (int i = 150; i < 300; i++)
		(void)call(1 + (uint64_t)i % 3);
	assert_int_equal(cadence.period, 3);
	assert_int_equal(call(1), 100);
}

static void a_period_that_ends_is_lost_and_a_longer_one_is_found(void **state)
{
	(void)state;
	reset();
	for (int i = 0; i < 30; i++) {
		(void)call(7);
		waits++;
	}
	assert_int_equal(cadence.period, 1);
	/* It was a part of something: 30 times 7, then 8 and 9. */
	for (int round = 0; round < 6; round++) {
		(void)call(8);
		(void)call(9);
		for (int i = 0; i < 30; i++) {
			(void)call(7);
			waits++;
		}
	}
	assert_int_equal(cadence.breaks, 1);
	assert_int_equal(cadence.period, 32);
}

static void what_never_repeats_has_no_period(void **state)
{
	uint64_t random = 7;

	(void)state;
	reset();
	for (int i = 0; i < 40000; i++) {
		assert_int_equal(call(np_random(&random)), -1);
		waits++;
	}
	assert_int_equal(cadence.period, 0);
}

/* Whatever comes before, steps that repeat are found and counted one by one. */
static void any_repetition_is_found_behind_any_beginning(void **state)
{
	uint64_t random = 7;

	(void)state;
	for (int round = 0; round < 60; round++) {
		uint64_t period = 1 + np_random(&random) % 40;
		uint64_t before = np_random(&random) % 50;
		uint64_t calls[40];
		int64_t last = -1;

		reset();
		for (uint64_t i = 0; i < before; i++)
			(void)call(1000 + i);
		for (uint64_t i = 0; i < period; i++)
			calls[i] = np_random(&random) % 3 + (i == 0 ? 10 : 0);
		for (uint64_t i = 0; i < 12 * period; i++) {
			int64_t step = call(calls[i % period]);

			if (i % period == 0)
				waits++;
			if (step < 0)
				continue;
			if (last >= 0)
				assert_int_equal(step, last + 1);
			last = step;
		}
		/* 12 rounds from the origin; the last one began is 11, or 10 where the origin is
		 * later. */
		assert_in_range(last, 10, 11);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_source_that_names_its_steps_is_believed_at_once),
		cmocka_unit_test(a_source_that_is_counted_is_believed_when_it_comes_again),
		cmocka_unit_test(a_better_source_takes_over_until_a_window_has_opened),
		cmocka_unit_test(a_configured_source_is_believed_alone),
		cmocka_unit_test(a_step_marked_twice_begins_once),
		cmocka_unit_test(steps_are_counted_from_where_the_repetition_began),
		cmocka_unit_test(a_loop_over_layers_is_not_a_step),
		cmocka_unit_test(without_waits_it_takes_longer_to_be_sure),
		cmocka_unit_test(a_period_that_ends_is_lost_and_a_longer_one_is_found),
		cmocka_unit_test(what_never_repeats_has_no_period),
		cmocka_unit_test(any_repetition_is_found_behind_any_beginning),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
