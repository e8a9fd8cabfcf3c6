/* SPDX-License-Identifier: Apache-2.0 */
/* Times of stages: what is added to which, and what has none of its own. */
#include "npuprof/timings.h"

#include "np_test.h"

static volatile uint64_t spent;

static void spend(void)
{
	for (uint64_t i = 0; i < 2000000; i++)
		spent += i;
}

static void a_lap_is_of_one_stage_and_adds_up(void **state)
{
	struct np_timings timings = { 0 };
	np_ns first;

	(void)state;
	np_timings_start(&timings);
	spend();
	np_timings_lap(&timings, NP_TIMED_MATCH);
	first = timings.stage[NP_TIMED_MATCH].processor;
	assert_true(timings.stage[NP_TIMED_MATCH].known);
	assert_true(first > 0);
	assert_true(timings.stage[NP_TIMED_MATCH].elapsed > 0);
	spend();
	np_timings_lap(&timings, NP_TIMED_MATCH);
	assert_true(timings.stage[NP_TIMED_MATCH].processor > first);
	assert_false(timings.stage[NP_TIMED_CLOCK].known);
}

static void reading_has_no_time_of_the_clock_of_its_own(void **state)
{
	struct np_timings timings = { 0 };

	(void)state;
	np_timings_start(&timings);
	spend();
	np_timings_lap_load(&timings);
	assert_true(timings.stage[NP_TIMED_READ].known);
	assert_int_equal(timings.stage[NP_TIMED_READ].elapsed, NP_UNKNOWN);
	assert_true(timings.stage[NP_TIMED_READ].processor >= 0);
	assert_true(timings.stage[NP_TIMED_DECODE].elapsed > 0);
}

static void work_beside_is_measured_by_who_does_it(void **state)
{
	struct np_timings timings = { 0 };
	struct np_thread_time beside;

	(void)state;
	np_timings_begin_beside(&beside);
	spend();
	np_timings_end_beside(&beside);
	np_timings_add_beside(&timings, NP_TIMED_WRITE, &beside);
	assert_true(timings.stage[NP_TIMED_WRITE].processor > 0);
	assert_true(timings.stage[NP_TIMED_WRITE].elapsed > 0);
}

static void every_stage_has_a_name_of_its_own(void **state)
{
	(void)state;
	for (size_t i = 0; i < NP_TIMED_COUNT; i++) {
		for (size_t j = 0; j < i; j++)
			assert_string_not_equal(np_timed_stage_name((enum np_timed_stage)i),
						np_timed_stage_name((enum np_timed_stage)j));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_lap_is_of_one_stage_and_adds_up),
		cmocka_unit_test(reading_has_no_time_of_the_clock_of_its_own),
		cmocka_unit_test(work_beside_is_measured_by_who_does_it),
		cmocka_unit_test(every_stage_has_a_name_of_its_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
