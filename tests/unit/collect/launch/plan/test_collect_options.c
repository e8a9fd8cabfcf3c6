/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/launch/plan/options.h"

#include "collect/launch/plan/config_file.h"
#include "np_test.h"

/* Read a command line of words ending with NULL into a plan; returns the first failure. */
static int plan_of(const char *const *words, struct np_plan *plan, struct np_buf *notes,
		   struct np_err *err)
{
	struct np_collect_line line;
	int count = 0;
	int rc;

	while (words[count])
		count++;
	rc = np_collect_line_read(&line, count, words, err);
	if (rc == NP_OK)
		rc = np_collect_plan(&line.options, plan, notes, err);
	np_collect_line_release(&line);
	return rc;
}

#define WORDS(...) ((const char *const[]){ __VA_ARGS__, NULL })

static void expect_plan(const char *const *words, struct np_plan *plan)
{
	NP_CLEANUP(np_buf_release) struct np_buf notes = NP_BUF_INIT;
	struct np_err err = NP_ERR_INIT;

	assert_ok(plan_of(words, plan, &notes, &err), err);
}

static void expect_refused(const char *const *words, const char *text)
{
	NP_CLEANUP(np_buf_release) struct np_buf notes = NP_BUF_INIT;
	struct np_err err = NP_ERR_INIT;
	struct np_plan plan;

	assert_int_equal(plan_of(words, &plan, &notes, &err), NP_E_USAGE);
	if (!strstr(err.text, text))
		fail_msg("'%s' does not say '%s'", err.text, text);
}

static void without_options_rank_0_is_profiled_from_step_0_to_the_end_at_level1(void **state)
{
	struct np_plan plan;

	(void)state;
	expect_plan(WORDS("--", "app"), &plan);
	assert_true(plan.enable);
	assert_string_equal(plan.ranks, "0");
	assert_int_equal(plan.step_start, 0);
	assert_int_equal(plan.step_end, -1);
	assert_int_equal(plan.level, NP_LEVEL_1);
	assert_int_equal(plan.aic_metrics, NP_METRICS_PIPE);
	assert_int_equal(plan.export_type, NP_EXPORT_DB);
	assert_int_equal(plan.export, NP_EXPORT_NONE);
	assert_false(plan.with_memory);
}

static void names_of_mindspeed_work_with_and_without_their_prefix(void **state)
{
	struct np_plan with;
	struct np_plan without;

	(void)state;
	expect_plan(WORDS("--profile", "--profile-ranks", "0", "1", "2", "3",
			  "--profile-step-start", "5", "--profile-step-end", "6", "--profile-level",
			  "level2", "--profile-with-cpu", "--profile-with-memory",
			  "--profile-record-shapes", "--profile-export-type", "text",
			  "--profile-data-simplification", "--profile-save-path", "/out", "--",
			  "app"),
		    &with);
	expect_plan(WORDS("--ranks", "0,1,2,3", "--step-start=5", "--step-end=6", "--level",
			  "level2", "--with-cpu", "--with-memory", "--record-shapes",
			  "--export-type=text", "--data-simplification", "-o", "/out", "--", "app"),
		    &without);
	assert_memory_equal(&with, &without, sizeof(with));
	assert_string_equal(with.ranks, "0,1,2,3");
	assert_int_equal(with.step_start, 5);
	assert_int_equal(with.level, NP_LEVEL_2);
	assert_true(with.with_cpu && with.with_memory && with.record_shapes);
	assert_false(with.with_stack);
	assert_string_equal(with.save_path, "/out");
}

static void minus_one_is_a_value_and_no_option(void **state)
{
	struct np_plan plan;

	(void)state;
	expect_plan(WORDS("--ranks", "-1", "--step-end", "-1", "--", "app"), &plan);
	assert_string_equal(plan.ranks, "-1");
	assert_int_equal(plan.step_end, -1);
}

static void what_follows_the_two_dashes_belongs_to_the_application(void **state)
{
	const char *const words[] = { "--level", "level0", "--", "app", "--profile-ranks",
				      "0",       "1",      "--", NULL };
	struct np_err err = NP_ERR_INIT;
	struct np_collect_line line;

	(void)state;
	assert_ok(np_collect_line_read(&line, 8, words, &err), err);
	assert_int_equal(line.app, 3);
	assert_null(line.options.ranks);
	np_collect_line_release(&line);
}

static void single_options_go_before_the_preset(void **state)
{
	struct np_plan plan;

	(void)state;
	expect_plan(WORDS("--aic-metrics", "Memory", "--preset", "memory", "--", "app"), &plan);
	assert_int_equal(plan.level, NP_LEVEL_1);
	assert_true(plan.with_memory);
	assert_int_equal(plan.aic_metrics, NP_METRICS_MEMORY);
	expect_plan(WORDS("--preset", "light", "--", "app"), &plan);
	assert_int_equal(plan.level, NP_LEVEL_0);
	expect_plan(WORDS("--preset", "comm", "--", "app"), &plan);
	assert_int_equal(plan.level, NP_LEVEL_1);
	assert_int_equal(plan.aic_metrics, NP_METRICS_NONE);
}

static void a_relative_path_becomes_absolute(void **state)
{
	struct np_plan plan;

	(void)state;
	expect_plan(WORDS("-o", "./a/b", "--", "app"), &plan);
	assert_int_equal(plan.save_path[0], '/');
	assert_non_null(strstr(plan.save_path, "/a/b"));
	assert_null(strstr(plan.save_path, "/./"));
}

static void wrong_options_are_refused_with_what_was_meant(void **state)
{
	(void)state;
	expect_refused(WORDS("--ranks", "0"), "there is no application");
	expect_refused(WORDS("--"), "there is no application");
	expect_refused(WORDS("python", "--", "app"), "unexpected argument 'python'");
	expect_refused(WORDS("--profile-stepstart", "3", "--", "app"), "unknown option");
	expect_refused(WORDS("--step-strat", "3", "--", "app"), "did you mean '--step-start'?");
	expect_refused(WORDS("--level", "level3", "--", "app"), "did you mean 'level");
	expect_refused(WORDS("--ranks", "0-x", "--", "app"), "'0-x' names no ranks");
	expect_refused(WORDS("--ranks", "--", "app"), "'--ranks' needs a value");
	expect_refused(WORDS("--step-start", "7", "--step-end", "7", "--", "app"),
		       "did you mean --step-end 8?");
	expect_refused(WORDS("--job", "a/b", "--", "app"), "cannot be the name of a job");
	expect_refused(WORDS("--job", "..", "--", "app"), "cannot be the name of a job");
	expect_refused(WORDS("--config", "/nowhere/at/all.json", "--", "app"), "cannot read");
}

static void settings_that_cannot_be_served_are_named(void **state)
{
	NP_CLEANUP(np_buf_release) struct np_buf notes = NP_BUF_INIT;
	struct np_err err = NP_ERR_INIT;
	struct np_plan plan;

	(void)state;
	assert_ok(plan_of(WORDS("--with-stack", "--level", "level0", "--", "app"), &plan, &notes,
			  &err),
		  err);
	assert_non_null(strstr(notes.text, "need level1"));
}

static void a_plan_that_was_written_is_read_back_as_it_was(void **state)
{
	NP_CLEANUP(np_jsonout_release) struct np_jsonout out;
	struct np_err err = NP_ERR_INIT;
	struct np_plan plan;
	struct np_plan read;

	(void)state;
	expect_plan(WORDS("--ranks", "every:4", "--step-start", "3", "--step-end", "9", "--level",
			  "level2", "--with-memory", "--job", "j1", "--grace", "3", "--export",
			  "after", "--", "app"),
		    &plan);
	np_jsonout_init(&out, NULL);
	np_plan_write(&plan, &out, NULL);
	assert_ok(np_jsonout_finish(&out, &err), err);
	memset(&read, 0, sizeof(read));
	assert_ok(np_plan_read(&read, out.buf.text, out.buf.length, &err), err);
	assert_memory_equal(&plan, &read, sizeof(plan));
}

static void a_plan_without_a_setting_is_refused(void **state)
{
	const char text[] = "{\"enable\": true}";
	struct np_err err = NP_ERR_INIT;
	struct np_plan plan;

	(void)state;
	assert_int_equal(np_plan_read(&plan, text, sizeof(text) - 1, &err), NP_E_USAGE);
	assert_non_null(strstr(err.text, "ranks"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			without_options_rank_0_is_profiled_from_step_0_to_the_end_at_level1),
		cmocka_unit_test(names_of_mindspeed_work_with_and_without_their_prefix),
		cmocka_unit_test(minus_one_is_a_value_and_no_option),
		cmocka_unit_test(what_follows_the_two_dashes_belongs_to_the_application),
		cmocka_unit_test(single_options_go_before_the_preset),
		cmocka_unit_test(a_relative_path_becomes_absolute),
		cmocka_unit_test(wrong_options_are_refused_with_what_was_meant),
		cmocka_unit_test(settings_that_cannot_be_served_are_named),
		cmocka_unit_test(a_plan_that_was_written_is_read_back_as_it_was),
		cmocka_unit_test(a_plan_without_a_setting_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
