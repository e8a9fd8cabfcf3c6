/* SPDX-License-Identifier: Apache-2.0 */
#include "npuprof/steps.h"

#include "np_random.h"
#include "np_test.h"

#include "npuprof/rank.h"
#include "npuprof/strtab.h"

/* Ids are only compared with NONE here. */
#define STEP(number) ((np_str)(number))

static struct np_step step_of(np_str id, np_ns host_begin, np_ns host_end, np_ns begin, np_ns end)
{
	return (struct np_step){
		.id = id, .host_begin = host_begin, .host_end = host_end, .begin = begin, .end = end
	};
}

static void assert_window(const struct np_step *step, np_ns begin, np_ns end, bool cut)
{
	assert_int_equal(step->begin, begin);
	assert_int_equal(step->end, end);
	assert_int_equal(step->cut, cut);
}

/* --- windows ---------------------------------------------------------------------------------- */

static void a_window_runs_from_the_first_launched_task_to_the_last_end(void **state)
{
	struct np_step steps[] = { step_of(STEP(1), 100, 200, 130, 250) };

	(void)state;
	np_steps_finish(steps, 1);
	assert_window(&steps[0], 130, 250, false);
}

static void a_window_lasts_at_least_to_the_end_of_the_hosts_step(void **state)
{
	struct np_step steps[] = { step_of(STEP(1), 100, 200, 130, 150) };

	(void)state;
	np_steps_finish(steps, 1);
	assert_window(&steps[0], 130, 200, false);
}

static void a_step_that_launched_nothing_has_the_hosts_window(void **state)
{
	struct np_step steps[] = { step_of(STEP(1), 100, 200, NP_UNKNOWN, NP_UNKNOWN) };

	(void)state;
	np_steps_finish(steps, 1);
	assert_window(&steps[0], 100, 200, false);
}

static void windows_that_meet_are_cut_at_the_start_of_the_later(void **state)
{
	struct np_step steps[] = { step_of(STEP(1), 0, 100, 10, 130),
				   step_of(STEP(2), 100, 200, 120, 210) };

	(void)state;
	np_steps_finish(steps, 2);
	assert_window(&steps[0], 10, 120, true);
	assert_window(&steps[1], 120, 210, true);
}

static void windows_that_touch_are_not_cut(void **state)
{
	struct np_step steps[] = { step_of(STEP(1), 0, 100, 10, 120),
				   step_of(STEP(2), 100, 200, 120, 210) };

	(void)state;
	np_steps_finish(steps, 2);
	assert_window(&steps[0], 10, 120, false);
	assert_window(&steps[1], 120, 210, false);
}

static void steps_are_sorted_by_their_begin_on_the_device(void **state)
{
	struct np_step steps[] = { step_of(STEP(1), 0, 10, 500, 600),
				   step_of(STEP(2), 10, 20, 100, 200) };

	(void)state;
	np_steps_finish(steps, 2);
	assert_int_equal(steps[0].id, STEP(2));
	assert_window(&steps[0], 100, 200, false);
	assert_window(&steps[1], 500, 600, false);
}

static void a_window_inside_another_cuts_it(void **state)
{
	struct np_step steps[] = { step_of(STEP(1), 0, 10, 0, 1000),
				   step_of(STEP(2), 10, 20, 100, 200) };

	(void)state;
	np_steps_finish(steps, 2);
	assert_window(&steps[0], 0, 100, true);
	assert_window(&steps[1], 100, 200, true);
}

static void the_pseudo_step_has_no_end(void **state)
{
	struct np_step steps[] = { step_of(NP_STR_NONE, 40, NP_UNKNOWN, 50, 80) };

	(void)state;
	np_steps_finish(steps, 1);
	assert_window(&steps[0], 50, NP_NS_MAX, false);
}

static void the_pseudo_step_of_a_run_that_launched_nothing_begins_at_0(void **state)
{
	struct np_step steps[] = { step_of(NP_STR_NONE, NP_UNKNOWN, NP_UNKNOWN, NP_UNKNOWN,
					   NP_UNKNOWN) };

	(void)state;
	np_steps_finish(steps, 1);
	assert_window(&steps[0], 0, NP_NS_MAX, false);
}

static void no_steps_need_no_finish(void **state)
{
	struct np_step none = { 0 };

	(void)state;
	np_steps_finish(&none, 0);
	assert_int_equal(np_steps_find(&none, 0, 5), NP_NO_STEP);
}

/* --- find ------------------------------------------------------------------------------------- */

static void a_start_belongs_to_the_window_that_holds_it(void **state)
{
	const struct np_step steps[] = { step_of(STEP(1), 0, 0, 10, 20),
					 step_of(STEP(2), 0, 0, 20, 30),
					 step_of(STEP(3), 0, 0, 40, 50) };

	(void)state;
	assert_int_equal(np_steps_find(steps, 3, 9), NP_NO_STEP);
	assert_int_equal(np_steps_find(steps, 3, 10), 0);
	assert_int_equal(np_steps_find(steps, 3, 19), 0);
	assert_int_equal(np_steps_find(steps, 3, 20), 1);
	assert_int_equal(np_steps_find(steps, 3, 30), NP_NO_STEP);
	assert_int_equal(np_steps_find(steps, 3, 49), 2);
	assert_int_equal(np_steps_find(steps, 3, 50), NP_NO_STEP);
}

/* Of all windows that hold the start, the one that begins last; none once its end has passed. */
static void find_agrees_with_looking_at_every_step(void **state)
{
	uint64_t random = 11;

	(void)state;
	for (int round = 0; round < 2000; round++) {
		struct np_step steps[8];
		size_t count = 1 + np_random_below(&random, NP_COUNT(steps));

		for (size_t i = 0; i < count; i++) {
			np_ns begin = (np_ns)np_random_below(&random, 50);
			np_ns host = (np_ns)np_random_below(&random, 50);

			steps[i] = step_of(STEP(i + 1), host, host + 10, begin,
					   begin + (np_ns)np_random_below(&random, 30));
		}
		np_steps_finish(steps, count);
		for (size_t i = 0; i + 1 < count; i++)
			assert_true(steps[i].end <= steps[i + 1].begin);
		for (np_ns start = -1; start < 100; start++) {
			uint32_t expected = NP_NO_STEP;

			for (size_t i = 0; i < count; i++) {
				if (steps[i].begin <= start && start < steps[i].end)
					expected = (uint32_t)i;
			}
			assert_int_equal(np_steps_find(steps, count, start), expected);
		}
	}
}

/* --- times ------------------------------------------------------------------------------------ */

#define NO_TASKS ((struct np_span){ NP_NS_MAX, -NP_NS_MAX })

static struct np_spans *spans(size_t count, const np_ns pair[][2])
{
	struct np_spans *set = np_spans_new();

	assert_non_null(set);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(np_spans_add(set, pair[i][0], pair[i][1], NULL), NP_OK);
	return set;
}

#define SPANS(...) \
	spans(sizeof((const np_ns[][2]){ __VA_ARGS__ }) / sizeof(np_ns[2]), \
	      (const np_ns[][2]){ __VA_ARGS__ })

static void measure(const struct np_step *step, const struct np_spans *computing,
		    const struct np_spans *communication, np_ns receive, struct np_span tasks,
		    struct np_step_time *ret)
{
	struct np_busy busy = { 0 };

	np_busy_add(&busy, computing, communication);
	np_step_time_measure(step, &busy, receive, tasks, ret);
}

/*
 * computing 10-30, 50-60 (30); communication 20-40, 55-80 (45); both 20-30, 55-60
 * (15); first start 10, last end 80: span 70; free 40-50 (10); receive 12.
 */
static void the_times_of_a_step_are_those_worked_out_by_hand(void **state)
{
	NP_CLEANUP(np_spans_freep) struct np_spans *computing = SPANS({ 10, 30 }, { 50, 60 });
	NP_CLEANUP(np_spans_freep) struct np_spans *communication = SPANS({ 20, 40 }, { 55, 80 });
	const struct np_step step = step_of(STEP(1), 3, 90, 10, 90);
	struct np_step_time time = { 0 };

	(void)state;
	measure(&step, computing, communication, 12, (struct np_span){ 5, 95 }, &time);
	assert_int_equal(time.computing, 30);
	assert_int_equal(time.communication, 45);
	assert_int_equal(time.overlapped, 15);
	assert_int_equal(time.communication_not_overlapped, 30);
	assert_int_equal(time.span, 70);
	assert_int_equal(time.free, 10);
	assert_int_equal(time.bubble, 12);
	assert_int_equal(time.stage, 58);
	assert_int_equal(time.preparing, 7);
	assert_int_equal(time.e2e, 90);
}

static void a_step_without_computing_has_no_preparing_even_if_it_communicated(void **state)
{
	NP_CLEANUP(np_spans_freep) struct np_spans *computing = np_spans_new();
	NP_CLEANUP(np_spans_freep) struct np_spans *communication = SPANS({ 20, 40 });
	const struct np_step step = step_of(STEP(1), 3, 90, 10, 90);
	struct np_step_time time = { 0 };

	(void)state;
	measure(&step, computing, communication, 0, NO_TASKS, &time);
	assert_int_equal(time.preparing, 0);
	assert_int_equal(time.span, 20);
	assert_int_equal(time.communication_not_overlapped, 20);
}

static void preparing_is_unknown_where_the_hosts_step_is(void **state)
{
	NP_CLEANUP(np_spans_freep) struct np_spans *computing = SPANS({ 20, 40 });
	NP_CLEANUP(np_spans_freep) struct np_spans *communication = np_spans_new();
	const struct np_step step = step_of(NP_STR_NONE, NP_UNKNOWN, NP_UNKNOWN, 0, NP_NS_MAX);
	struct np_step_time time = { 0 };

	(void)state;
	measure(&step, computing, communication, 0, NO_TASKS, &time);
	assert_int_equal(time.preparing, NP_UNKNOWN);
}

static void an_idle_step_is_zero_everywhere(void **state)
{
	NP_CLEANUP(np_spans_freep) struct np_spans *computing = np_spans_new();
	NP_CLEANUP(np_spans_freep) struct np_spans *communication = np_spans_new();
	const struct np_step step = step_of(STEP(1), 3, 90, 10, 90);
	struct np_step_time time = { 0 };

	(void)state;
	measure(&step, computing, communication, 0, NO_TASKS, &time);
	assert_int_equal(time.computing, 0);
	assert_int_equal(time.free, 0);
	assert_int_equal(time.span, 0);
	assert_int_equal(time.stage, 0);
	assert_int_equal(time.preparing, 0);
	assert_int_equal(time.e2e, 0);
}

static void the_extent_of_tasks_holds_at_least_the_span(void **state)
{
	NP_CLEANUP(np_spans_freep) struct np_spans *computing = SPANS({ 20, 40 });
	NP_CLEANUP(np_spans_freep) struct np_spans *communication = np_spans_new();
	const struct np_step step = step_of(STEP(1), 3, 90, 10, 90);
	struct np_step_time time = { 0 };

	(void)state;
	measure(&step, computing, communication, 0, (struct np_span){ 25, 30 }, &time);
	assert_int_equal(time.e2e, 20);
	measure(&step, computing, communication, 0, NO_TASKS, &time);
	assert_int_equal(time.e2e, 20);
}

/* Bubble is a sum and may exceed the span, as the vendor's does; stage is then negative. */
static void receives_at_once_make_the_bubble_longer_than_the_span(void **state)
{
	NP_CLEANUP(np_spans_freep) struct np_spans *computing = np_spans_new();
	NP_CLEANUP(np_spans_freep) struct np_spans *communication = SPANS({ 0, 10 });
	const struct np_step step = step_of(STEP(1), 0, 90, 0, 90);
	struct np_step_time time = { 0 };

	(void)state;
	measure(&step, computing, communication, 30, NO_TASKS, &time);
	assert_int_equal(time.stage, -20);
	assert_int_equal(time.stage + time.bubble, time.span);
}

#define LONGEST 64

/* What each nanosecond was: the brute force behind the property. */
struct flags {
	bool computing[LONGEST];
	bool communication[LONGEST];
};

static void fill(struct np_spans *set, bool *flag, uint64_t *random)
{
	size_t count = np_random_below(random, 6);

	for (size_t i = 0; i < count; i++) {
		np_ns begin = (np_ns)np_random_below(random, LONGEST);
		np_ns end = begin + (np_ns)np_random_below(random, LONGEST + 1 - (size_t)begin);

		assert_int_equal(np_spans_add(set, begin, end, NULL), NP_OK);
		for (np_ns at = begin; at < end; at++)
			flag[at] = true;
	}
}

static struct np_step_time count_flags(const struct flags *flags)
{
	struct np_step_time time = { 0 };
	int first = -1;
	int last = -1;

	for (int i = 0; i < LONGEST; i++) {
		bool computing = flags->computing[i];
		bool communication = flags->communication[i];

		time.computing += computing;
		time.communication += communication;
		time.overlapped += computing && communication;
		time.communication_not_overlapped += communication && !computing;
		if (!computing && !communication)
			continue;
		first = first < 0 ? i : first;
		last = i;
	}
	time.span = first < 0 ? 0 : last + 1 - first;
	for (int i = first < 0 ? 0 : first; i <= last; i++)
		time.free += !flags->computing[i] && !flags->communication[i];
	time.preparing = time.computing ? first : 0;
	return time;
}

static void times_agree_with_a_flag_for_each_nanosecond(void **state)
{
	uint64_t random = 3;

	(void)state;
	for (int round = 0; round < 5000; round++) {
		NP_CLEANUP(np_spans_freep) struct np_spans *computing = np_spans_new();
		NP_CLEANUP(np_spans_freep) struct np_spans *communication = np_spans_new();
		const struct np_step step = step_of(STEP(1), 0, LONGEST, 0, LONGEST);
		np_ns receive = (np_ns)np_random_below(&random, 30);
		struct flags flags = { 0 };
		struct np_step_time expected;
		struct np_step_time time = { 0 };

		fill(computing, flags.computing, &random);
		fill(communication, flags.communication, &random);
		expected = count_flags(&flags);
		measure(&step, computing, communication, receive, NO_TASKS, &time);
		assert_int_equal(time.computing, expected.computing);
		assert_int_equal(time.communication, expected.communication);
		assert_int_equal(time.overlapped, expected.overlapped);
		assert_int_equal(time.communication_not_overlapped,
				 expected.communication_not_overlapped);
		assert_int_equal(time.free, expected.free);
		assert_int_equal(time.span, expected.span);
		assert_int_equal(time.preparing, expected.preparing);
		assert_int_equal(time.bubble, receive);
		/* The identities every reader relies on. */
		assert_int_equal(time.computing + time.communication_not_overlapped + time.free,
				 time.span);
		assert_int_equal(time.stage + time.bubble, time.span);
		assert_int_equal(time.overlapped + time.communication_not_overlapped,
				 time.communication);
		assert_int_equal(time.e2e, time.span);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_window_runs_from_the_first_launched_task_to_the_last_end),
		cmocka_unit_test(a_window_lasts_at_least_to_the_end_of_the_hosts_step),
		cmocka_unit_test(a_step_that_launched_nothing_has_the_hosts_window),
		cmocka_unit_test(windows_that_meet_are_cut_at_the_start_of_the_later),
		cmocka_unit_test(windows_that_touch_are_not_cut),
		cmocka_unit_test(steps_are_sorted_by_their_begin_on_the_device),
		cmocka_unit_test(a_window_inside_another_cuts_it),
		cmocka_unit_test(the_pseudo_step_has_no_end),
		cmocka_unit_test(the_pseudo_step_of_a_run_that_launched_nothing_begins_at_0),
		cmocka_unit_test(no_steps_need_no_finish),
		cmocka_unit_test(a_start_belongs_to_the_window_that_holds_it),
		cmocka_unit_test(find_agrees_with_looking_at_every_step),
		cmocka_unit_test(the_times_of_a_step_are_those_worked_out_by_hand),
		cmocka_unit_test(a_step_without_computing_has_no_preparing_even_if_it_communicated),
		cmocka_unit_test(preparing_is_unknown_where_the_hosts_step_is),
		cmocka_unit_test(an_idle_step_is_zero_everywhere),
		cmocka_unit_test(the_extent_of_tasks_holds_at_least_the_span),
		cmocka_unit_test(receives_at_once_make_the_bubble_longer_than_the_span),
		cmocka_unit_test(times_agree_with_a_flag_for_each_nanosecond),
	};

	return cmocka_run_group_tests_name("steps", tests, NULL, NULL);
}
