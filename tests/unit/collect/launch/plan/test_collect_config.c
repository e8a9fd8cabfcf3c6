/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/launch/plan/config_file.h"

#include "np_test.h"

static int read_text(const char *text, struct np_plan *plan, struct np_buf *notes,
		     struct np_err *err)
{
	np_plan_init(plan);
	return np_config_text_read(text, strlen(text), "file", plan, notes, err);
}

static void expect_read(const char *text, struct np_plan *plan, const char *noted)
{
	NP_CLEANUP(np_buf_release) struct np_buf notes = NP_BUF_INIT;
	struct np_err err = NP_ERR_INIT;

	assert_ok(read_text(text, plan, &notes, &err), err);
	if (!noted)
		assert_string_equal(notes.text, "");
	else if (!strstr(notes.text, noted))
		fail_msg("'%s' does not say '%s'", notes.text, noted);
}

static void expect_refused(const char *text, const char *why)
{
	NP_CLEANUP(np_buf_release) struct np_buf notes = NP_BUF_INIT;
	struct np_err err = NP_ERR_INIT;
	struct np_plan plan;

	assert_true(read_text(text, &plan, &notes, &err) < 0);
	if (!strstr(err.text, why))
		fail_msg("'%s' does not say '%s'", err.text, why);
}

static void our_file_has_the_names_of_the_options(void **state)
{
	struct np_plan plan;

	(void)state;
	expect_read(
		"{\"ranks\": [0, 3], \"step_start\": 4, \"step_end\": 6, \"preset\": \"light\", "
		"\"with_memory\": true, \"grace\": 3}",
		&plan, NULL);
	assert_string_equal(plan.ranks, "0,3");
	assert_int_equal(plan.step_start, 4);
	assert_int_equal(plan.step_end, 6);
	assert_int_equal(plan.level, NP_LEVEL_0);
	assert_true(plan.with_memory);
	assert_int_equal(plan.grace, 3);
}

static void a_tools_json_gives_its_profile(void **state)
{
	struct np_plan plan;

	(void)state;
	expect_read("{\n"
		    "  // what MindSpeed-MM ships, with comments\n"
		    "  \"profile\": {\n"
		    "    \"enable\": true, \"profile_type\": \"static\", \"ranks\": [-1],\n"
		    "    \"static_param\": {\"level\": \"level2\", \"with_stack\": false,\n"
		    "      \"with_memory\": true, \"record_shapes\": false, \"with_cpu\": true,\n"
		    "      \"save_path\": \"./p//q\", \"start_step\": 10, \"end_step\": 12,\n"
		    "      \"data_simplification\": true, /* and */\n"
		    "      \"aic_metrics_type\": \"ArithmeticUtilization\",\n"
		    "      \"analyse_flag\": false,},\n"
		    "  },\n"
		    "  \"memory_profile\": {\"enable\": false, \"start_step\": 3},\n"
		    "  \"auto_parallel\": {\"enable\": false},\n"
		    "}",
		    &plan, "auto_parallel is ignored");
	assert_int_equal(plan.memory_start, -1);
	assert_true(plan.enable);
	assert_string_equal(plan.ranks, "-1");
	assert_int_equal(plan.level, NP_LEVEL_2);
	assert_int_equal(plan.step_start, 10);
	assert_int_equal(plan.step_end, 12);
	assert_int_equal(plan.aic_metrics, NP_METRICS_ARITHMETIC);
	assert_int_equal(plan.export, NP_EXPORT_NONE);
	assert_true(plan.with_memory && plan.with_cpu && plan.data_simplification);
	assert_string_equal(plan.save_path, "./p//q");
}

static void a_tools_json_that_is_switched_off_switches_profiling_off(void **state)
{
	struct np_plan plan;

	(void)state;
	expect_read("{\"profile\": {\"enable\": false}, \"sorafeature\": {}}", &plan,
		    "sorafeature is ignored");
	assert_false(plan.enable);
}

static void memory_profile_of_tools_json_is_a_snapshot_with_steps_counted_from_0(void **state)
{
	struct np_plan plan;

	(void)state;
	expect_read("{\"profile\": {\"enable\": true}, \"memory_profile\": {\"enable\": true, "
		    "\"start_step\": 3, \"end_step\": 5, \"save_path\": \"./m\", "
		    "\"dump_ranks\": [0, 2], \"stacks\": \"all\", \"max_entries\": 1000, "
		    "\"mem_info\": true}}",
		    &plan, "memory_profile.mem_info is ignored");
	/* Its counter is 1 in the first iteration: 3 and 4 are what we call 2 and 3. */
	assert_int_equal(plan.memory_start, 2);
	assert_int_equal(plan.memory_end, 4);
	assert_string_equal(plan.memory_ranks, "0,2");
	assert_int_equal(plan.memory_stacks, NP_STACKS_ALL);
	assert_int_equal(plan.memory_entries, 1000);
	assert_false(plan.dynamic);
	/* From building the model on, all ranks, nothing else profiled. */
	expect_read("{\"profile\": {\"enable\": false}, \"memory_profile\": {\"enable\": true, "
		    "\"start_step\": 0, \"end_step\": 1, \"save_path\": \"./m\", "
		    "\"dump_ranks\": null, \"max_entries\": null}}",
		    &plan, "memory_profile.save_path is ignored");
	assert_int_equal(plan.memory_start, 0);
	assert_int_equal(plan.memory_end, 1);
	assert_string_equal(plan.memory_ranks, "all");
	assert_int_equal(plan.memory_entries, 0);
	assert_true(plan.enable && plan.dynamic);
	expect_refused("{\"profile\": {}, \"memory_profile\": {\"enable\": true, "
		       "\"start_stp\": 1}}",
		       "memory_profile.start_stp: unknown key; did you mean 'start_step'?");
	expect_refused("{\"profile\": {}, \"memory_profile\": {\"enable\": true, "
		       "\"end_step\": -2}}",
		       "memory_profile.end_step must be a step");
}

static void a_configuration_of_torch_npu_is_understood(void **state)
{
	struct np_plan plan;

	(void)state;
	expect_read(
		"{\"activities\": [\"CPU\", \"NPU\"], \"prof_dir\": \"/d\", \"analyse\": true, "
		"\"profile_memory\": true, \"active\": 2, \"warmup\": 0, \"start_step\": 7, "
		"\"is_rank\": true, \"rank_list\": [1, 2], \"metadata\": {}, "
		"\"experimental_config\": {\"profiler_level\": \"Level2\", "
		"\"aic_metrics\": \"MemoryUB\", \"export_type\": [\"db\"], \"l2_cache\": true}}",
		&plan, "experimental_config.l2_cache is ignored");
	assert_string_equal(plan.ranks, "1,2");
	assert_int_equal(plan.step_start, 7);
	assert_int_equal(plan.step_end, 9);
	assert_int_equal(plan.level, NP_LEVEL_2);
	assert_int_equal(plan.aic_metrics, NP_METRICS_MEMORY_UB);
	assert_int_equal(plan.export, NP_EXPORT_AFTER);
	assert_true(plan.with_cpu && plan.with_memory);
	/* Without is_rank torch_npu profiles every rank. */
	expect_read("{\"is_rank\": false, \"rank_list\": [1], \"start_step\": -1}", &plan, NULL);
	assert_string_equal(plan.ranks, "all");
	assert_int_equal(plan.step_start, 0);
	assert_int_equal(plan.step_end, 1);
}

static void keys_that_are_not_known_are_errors_with_what_was_meant(void **state)
{
	(void)state;
	expect_refused("{\"profile\": {\"enabel\": true}}",
		       "file: profile.enabel: unknown key; did you mean 'enable'?");
	expect_refused("{\"profile\": {\"static_param\": {\"levle\": \"level1\"}}}",
		       "profile.static_param.levle: unknown key; did you mean 'level'?");
	expect_refused("{\"is_rank\": true, \"ranklist\": [1]}", "did you mean 'rank_list'?");
	expect_refused("{\"step_strat\": 1}", "did you mean 'step_start'?");
	expect_refused("{\"xyzzy\": 1}", "xyzzy: unknown key");
}

static void values_of_the_wrong_kind_are_errors(void **state)
{
	(void)state;
	expect_refused("{\"step_start\": \"1\"}", "must be a whole number");
	expect_refused("{\"step_start\": -3}", "from 0 to");
	expect_refused("{\"step_start\": 1.5}", "must be a whole number");
	expect_refused("{\"with_memory\": 1}", "must be true or false");
	expect_refused("{\"level\": \"levl1\"}", "did you mean 'level1'?");
	expect_refused("{\"level\": 1}", "must be a text");
	expect_refused("{\"ranks\": [0, \"x\"]}", "element 1 is no rank");
	expect_refused("{\"ranks\": []}", "is empty");
	expect_refused("{\"ranks\": {}}", "is empty");
	expect_refused("{\"preset\": \"fast\"}", "preset must be");
	expect_refused("{\"profile\": []}", "profile must be an object");
	expect_refused("{\"profile\": {\"profile_type\": \"sometimes\"}}",
		       "must be 'static' or 'dynamic'");
	expect_refused("[]", "must be an object");
	expect_refused("", "file");
	expect_refused("{\"ranks\": [0", "file:1");
	expect_refused("{\"ranks\": 0} /* no end", "file:1");
}

static void expect_relaxed(const char *text, const char *plain)
{
	char copy[200];

	(void)snprintf(copy, sizeof(copy), "%s", text);
	np_json_relax(copy, strlen(copy));
	assert_string_equal(copy, plain);
}

static void comments_and_last_commas_become_blanks_and_nothing_else_does(void **state)
{
	(void)state;
	expect_relaxed("{\"a\": 1, // x\n \"b\": 2}", "{\"a\": 1,     \n \"b\": 2}");
	expect_relaxed("[1, /* , ] */ ]", "[1            ]");
	expect_relaxed("{\"a\": [1,2,],}", "{\"a\": [1,2 ] }");
	expect_relaxed("[\"// no\", \"/* no */\", \",]\"]", "[\"// no\", \"/* no */\", \",]\"]");
	expect_relaxed("[\"\\\"//\", 1]", "[\"\\\"//\", 1]");
	expect_relaxed("/", "/");
	expect_relaxed("\"", "\"");
	expect_relaxed("\"\\", "\"\\");
	expect_relaxed("/*", "/*");
	expect_relaxed("/*/", "/*/");
	expect_relaxed("//", "  ");
}

static void the_dynamic_type_of_tools_json_means_windows_on_request(void **state)
{
	struct np_plan plan;

	(void)state;
	expect_read(
		"{\"profile\": {\"enable\": true, \"profile_type\": \"dynamic\", \"ranks\": [0, 1], "
		"\"dynamic_param\": {\"config_path\": \"./wherever\"}}}",
		&plan, "npuprof ctl start");
	assert_true(plan.dynamic);
	assert_string_equal(plan.ranks, "0,1");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_dynamic_type_of_tools_json_means_windows_on_request),
		cmocka_unit_test(our_file_has_the_names_of_the_options),
		cmocka_unit_test(a_tools_json_gives_its_profile),
		cmocka_unit_test(a_tools_json_that_is_switched_off_switches_profiling_off),
		cmocka_unit_test(
			memory_profile_of_tools_json_is_a_snapshot_with_steps_counted_from_0),
		cmocka_unit_test(a_configuration_of_torch_npu_is_understood),
		cmocka_unit_test(keys_that_are_not_known_are_errors_with_what_was_meant),
		cmocka_unit_test(values_of_the_wrong_kind_are_errors),
		cmocka_unit_test(comments_and_last_commas_become_blanks_and_nothing_else_does),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
