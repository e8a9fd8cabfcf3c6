/* SPDX-License-Identifier: Apache-2.0 */
/* Courses of an excess over steps, and what they are called. */
#include "npuprof/course.h"

#include "np_replay_fixture.h"

static const int32_t all[] = { 0, 1, 2 };

static enum np_course_kind judge(const double *excess, size_t count, size_t *period)
{
	bool marked[16];

	assert_true(count <= NP_COUNT(marked));
	return np_course_judge(excess, count, period, marked);
}

static void an_excess_of_every_step_is_constant(void **state)
{
	static const double excess[] = { 9, 11, 10, 12, 9 };
	size_t period;

	(void)state;
	assert_int_equal(judge(excess, NP_COUNT(excess), &period), NP_COURSE_CONSTANT);
}

static void what_grows_along_a_line_is_growing(void **state)
{
	static const double excess[] = { 2, 4, 5, 8, 9, 12 };
	size_t period;

	(void)state;
	assert_int_equal(judge(excess, NP_COUNT(excess), &period), NP_COURSE_GROWING);
}

static void what_comes_every_third_step_is_periodic(void **state)
{
	static const double excess[] = { 0, 10, 1, 0, 9, 0, -1, 11, 0 };
	size_t period;

	(void)state;
	assert_int_equal(judge(excess, NP_COUNT(excess), &period), NP_COURSE_PERIODIC);
	assert_int_equal(period, 3);
}

/* Twice may be chance; and what ends in the middle does not come back. */
static void what_comes_now_and_then_is_random(void **state)
{
	static const double twice[] = { 0, 10, 0, 10, 0 };
	static const double ends[] = { 10, 0, 10, 0, 10, 0, 0, 0, 0 };
	size_t period;

	(void)state;
	assert_int_equal(judge(twice, NP_COUNT(twice), &period), NP_COURSE_RANDOM);
	assert_int_equal(judge(ends, NP_COUNT(ends), &period), NP_COURSE_RANDOM);
}

static void two_steps_and_no_excess_have_no_course(void **state)
{
	static const double two[] = { 5, 5 };
	static const double none[] = { -1, 0, 1, -3 };
	size_t period;

	(void)state;
	assert_int_equal(judge(two, NP_COUNT(two), &period), NP_COURSE_UNKNOWN);
	assert_int_equal(judge(none, NP_COUNT(none), &period), NP_COURSE_UNKNOWN);
}

/* Three ranks that compute 10 ms in nine steps; rank 1 takes 14 in every third. */
static void a_rank_is_compared_with_its_peers_step_by_step(void **state)
{
	with_run *run = np_run_new();
	struct np_course course = { 0 };
	struct np_err err = NP_ERR_INIT;
	NP_CLEANUP(np_buf_release) struct np_buf text = NP_BUF_INIT;

	(void)state;
	for (int32_t id = 0; id < 3; id++) {
		struct script script = script_begin(run, id);
		uint32_t group = add_group(run, script.rank, 7, "dp", all, 3);

		for (int step = 0; step < 9; step++) {
			np_ns begin = step * 20 * MS;
			np_ns work = id == 1 && step % 3 == 0 ? 14 * MS : 10 * MS;
			char name[4];

			script_compute(&script, begin, begin + work);
			script_comm(&script, group, "hcom_allReduce_", begin + work,
				    begin + (step % 3 == 0 ? 15 : 11) * MS);
			(void)snprintf(name, sizeof(name), "%d", step);
			script_end(&script, name);
		}
	}
	{
		with_replay it = replayed_build(run);

		assert_ok(np_course_measure(it.replay, 1, &course, &err), err);
		assert_int_equal(course.kind, NP_COURSE_PERIODIC);
		assert_int_equal(course.steps.count, 3);
		assert_string_equal(np_run_text(run, course.steps.item[1]), "3");
		np_course_put(&text, &course);
		assert_string_equal(text.text, "in 3 of 9 steps, every third");
		np_course_release(&course);
	}
}

/* Rank 1 takes a fifth longer, in steps of 10 and of 100 ms: slow in every step, not in the long
 * ones. */
static void who_is_slow_by_the_same_part_of_steps_that_differ_is_always_slow(void **state)
{
	with_run *run = np_run_new();
	struct np_course course = { 0 };
	struct np_err err = NP_ERR_INIT;

	(void)state;
	for (int32_t id = 0; id < 3; id++) {
		struct script script = script_begin(run, id);
		uint32_t group = add_group(run, script.rank, 7, "dp", all, 3);
		np_ns begin = 0;

		for (int step = 0; step < 7; step++) {
			np_ns even = step == 1 || step == 4 ? 100 * MS : 10 * MS;
			np_ns work = id == 1 ? even * 6 / 5 : even;
			np_ns end = begin + even * 6 / 5 + MS;
			char name[4];

			script_compute(&script, begin, begin + work);
			script_comm(&script, group, "hcom_allReduce_", begin + work, end);
			(void)snprintf(name, sizeof(name), "%d", step);
			script_end(&script, name);
			begin = end + MS;
		}
	}
	{
		with_replay it = replayed_build(run);

		assert_ok(np_course_measure(it.replay, 1, &course, &err), err);
		assert_int_equal(course.kind, NP_COURSE_CONSTANT);
		assert_int_equal(course.steps.count, 7);
		np_course_release(&course);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_excess_of_every_step_is_constant),
		cmocka_unit_test(what_grows_along_a_line_is_growing),
		cmocka_unit_test(what_comes_every_third_step_is_periodic),
		cmocka_unit_test(what_comes_now_and_then_is_random),
		cmocka_unit_test(two_steps_and_no_excess_have_no_course),
		cmocka_unit_test(a_rank_is_compared_with_its_peers_step_by_step),
		cmocka_unit_test(who_is_slow_by_the_same_part_of_steps_that_differ_is_always_slow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
