/* SPDX-License-Identifier: Apache-2.0 */
/* Whether the step of windows is as usual: nobody is called for noise, and soon for a job that got
 * slower. */
#include "history/engine/watch_course.h"

#include "np_noise.h"

#define STEP  1e8
#define NOISE 0.01

static struct watch_usual add(struct watch_course *course, double step, int64_t ranks, int64_t id,
			      int64_t replaces)
{
	const struct hist_run run = { .step = (np_ns)step, .ranks = ranks, .world = NP_UNKNOWN };
	struct watch_usual usual;
	struct np_err err = NP_ERR_INIT;

	assert_ok(watch_course_add(course, &run, id, replaces, &usual, &err), err);
	return usual;
}

/* The next window, so much longer than the others. */
static struct watch_usual next(struct watch_course *course, uint64_t *seed, double share)
{
	return add(course, STEP * (1 + share + NOISE * noise_student(seed)), 8,
		   (int64_t)course->list.count + 1, NP_UNKNOWN);
}

static void nobody_is_called_for_noise(void **state)
{
	size_t began = 0;

	(void)state;
	for (uint64_t job = 1; job <= 20; job++) {
		struct watch_course course = { 0 };
		uint64_t seed = job;

		for (size_t i = 0; i < 1000; i++)
			began += next(&course, &seed, 0).began;
		assert_true(course.list.count <= 1000);
		watch_course_release(&course);
	}
	/* Of 20,000 windows. */
	assert_in_range(began, 0, 2);
}

static void a_job_that_gets_slower_is_called_for_once_and_when_it_is_as_before(void **state)
{
	size_t right = 0;

	(void)state;
	for (uint64_t job = 1; job <= 50; job++) {
		struct watch_course course = { 0 };
		uint64_t seed = job;
		size_t began = 0;
		size_t ended = 0;
		size_t first = 0;
		size_t last = 0;

		for (size_t i = 0; i < 120; i++) {
			struct watch_usual usual =
				next(&course, &seed, i >= 50 && i < 90 ? 0.08 : 0);

			began += usual.began;
			ended += usual.ended;
			first = usual.began ? i : first;
			last = usual.ended ? i : last;
		}
		right += began == 1 && ended == 1 && first == 51 && last == 91;
		watch_course_release(&course);
	}
	assert_in_range(right, 47, 50);
}

static void what_lasts_is_how_the_job_is(void **state)
{
	struct watch_course course = { 0 };
	uint64_t seed = 7;
	size_t ended = 0;

	(void)state;
	for (size_t i = 0; i < 50; i++)
		(void)next(&course, &seed, 0);
	for (size_t i = 0; i < WATCH_LASTING + 20; i++) {
		struct watch_usual usual = next(&course, &seed, 0.1);

		ended += usual.ended;
		assert_int_equal(usual.longer, i >= 1 && i < WATCH_LASTING - 1);
	}
	assert_int_equal(ended, 1);
	/* What it was before is not usual any more. */
	assert_int_equal(next(&course, &seed, 0).step, WATCH_STEP_SHORTER);
	watch_course_release(&course);
}

static void windows_of_another_size_and_what_was_replaced_do_not_count(void **state)
{
	struct watch_course course = { 0 };
	uint64_t seed = 9;

	(void)state;
	for (int i = 0; i < 4; i++)
		assert_int_equal(next(&course, &seed, 0).step, WATCH_STEP_UNKNOWN);
	for (int i = 0; i < 20; i++)
		(void)add(&course, 5 * STEP, 64, 100 + i, NP_UNKNOWN);
	assert_int_equal(next(&course, &seed, 0).step, WATCH_STEP_UNKNOWN);
	assert_int_equal(next(&course, &seed, 0).step, WATCH_STEP_USUAL);
	assert_int_equal(add(&course, 2 * STEP, 8, 200, NP_UNKNOWN).step, WATCH_STEP_LONGER);
	/* More of the window has arrived: it was one window, and is as usual. */
	assert_int_equal(add(&course, STEP, 8, 201, 200).step, WATCH_STEP_USUAL);
	assert_int_equal(course.lasting, 0);
	watch_course_release(&course);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nobody_is_called_for_noise),
		cmocka_unit_test(
			a_job_that_gets_slower_is_called_for_once_and_when_it_is_as_before),
		cmocka_unit_test(what_lasts_is_how_the_job_is),
		cmocka_unit_test(windows_of_another_size_and_what_was_replaced_do_not_count),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
