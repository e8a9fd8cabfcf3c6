/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/acl/acl_bind.h"

#include <sys/wait.h>
#include <unistd.h>

#include "collect/acl/acl_plan.h"
#include "np_test.h"

/*
 * The dynamic linker reads LD_LIBRARY_PATH once: each installation is tried in a program of its
 * own, which is this one with an argument. It prints the code, the text and what is missing.
 */
static int probe(void)
{
	struct np_err err = NP_ERR_INIT;
	struct np_acl acl = { 0 };
	char missing[400];
	int rc = np_acl_bind(&acl, NP_ACL_DEFAULT, &err);

	np_acl_missing(&acl, missing, sizeof(missing));
	printf("%d|%s|%s|", rc, err.text, missing);
	if (rc == NP_OK)
		printf("%d %x", acl.prof_init("/tmp", 4), np_acl_features(&acl));
	printf("\n");
	return 0;
}

/* What probe() says with libraries of <build>/`place`. */
static const char *probe_with(const char *place)
{
	static char answer[2000];
	char program[1000];
	char command[4000];
	ssize_t length = readlink("/proc/self/exe", program, sizeof(program) - 1);
	FILE *pipe;

	assert_true(length > 0);
	program[length] = '\0';
	(void)snprintf(command, sizeof(command), "LD_LIBRARY_PATH='%.*s/%s' '%s' probe",
		       (int)(strrchr(program, '/') - program), program, place, program);
	pipe = popen(command, "r"); /* NOLINT(cert-env33-c): our own program */
	assert_non_null(pipe);
	if (!fgets(answer, sizeof(answer), pipe))
		answer[0] = '\0';
	assert_int_equal(pclose(pipe), 0);
	return answer;
}

static void assert_has(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("'%s' lacks '%s'", text, part);
}

static void without_ascendcl_the_library_that_cannot_be_loaded_is_named(void **state)
{
	const char *answer = probe_with("no-such-place");

	(void)state;
	assert_has(answer, "-4|AscendCL lacks aclprofInit, aclprofStart, aclprofStop");
	assert_has(answer, "libmsprofiler.so: cannot open shared object file");
	assert_has(answer, "set LD_LIBRARY_PATH");
}

static void an_older_cann_without_optional_functions_is_enough(void **state)
{
	const char *answer = probe_with("fake/old");

	(void)state;
	/* No error, the optional functions and the features missing; aclprofInit works. */
	assert_has(answer, "0||aclprofSetConfig, aclprofWarmup, aclprofGetSupportedFeaturesV2, "
			   "aclprofRegisterDeviceCallback, aclrtSetDevice, aclrtGetDevice, "
			   "aclrtSynchronizeDevice, aclrtSynchronizeDeviceWithTimeout, "
			   "aclrtGetSocName, aclsysGetVersionStr, aclrtGetVersion|0 0");
}

static void the_mandatory_functions_that_are_missing_are_named(void **state)
{
	const char *answer = probe_with("fake/broken");

	(void)state;
	assert_has(answer, "-4|AscendCL lacks aclprofStart, aclprofDestroyConfig (");
}

static void the_simulated_cann_has_everything(void **state)
{
	(void)state;
	/* All three features. */
	assert_has(probe_with("npusim"), "0|||0 7");
}

/*
 * Plans: the masks are torch_npu's.
 */
static struct np_acl_plan plan_of(struct np_prof_options options, unsigned features)
{
	struct np_err err = NP_ERR_INIT;
	struct np_acl_plan plan;

	assert_ok(np_acl_plan(&options, features, &plan, &err), err);
	return plan;
}

static void levels_have_the_masks_of_torch_npu(void **state)
{
	const struct {
		enum np_prof_level level;
		uint64_t mask;
		aclprofAicoreMetrics metrics;
	} table[] = {
		{ NP_PROF_LEVEL_NONE, 0x80, ACL_AICORE_NONE },
		{ NP_PROF_LEVEL_0, 0x801, ACL_AICORE_NONE },
		{ NP_PROF_LEVEL_1, 0x27, ACL_AICORE_PIPE_UTILIZATION },
		{ NP_PROF_LEVEL_2, 0x12F, ACL_AICORE_PIPE_UTILIZATION },
	};

	(void)state;
	for (size_t i = 0; i < NP_COUNT(table); i++) {
		struct np_acl_plan plan =
			plan_of((struct np_prof_options){ .level = table[i].level }, 0);

		assert_int_equal(plan.mask, table[i].mask);
		assert_int_equal(plan.metrics, table[i].metrics);
		assert_string_equal(plan.dropped, "");
	}
}

static void options_add_their_bits_and_settings(void **state)
{
	struct np_acl_plan plan = plan_of((struct np_prof_options){ .level = NP_PROF_LEVEL_1,
								    .l2_cache = true,
								    .mstx = true,
								    .memory = true,
								    .op_attr = true,
								    .sys_io = true,
								    .sys_interconnection = true,
								    .host_sys = "cpu,mem",
								    .storage_limit_mb = 300 },
					  NP_ACL_HAS_ATTR);

	(void)state;
	assert_int_equal(plan.mask, 0x27 | 0x10 | 0x80 | 0x1000 | 0x4000);
	assert_int_equal(plan.setting_count, 5);
	assert_int_equal(plan.settings[0].key, 3);
	assert_string_equal(plan.settings[0].value, "50");
	assert_string_equal(plan.settings[1].value, "100");
	assert_int_equal(plan.settings[2].key, 6);
	assert_string_equal(plan.settings[3].value, "cpu,mem");
	assert_string_equal(plan.settings[4].value, "300MB");
}

static void what_this_cann_cannot_record_is_told(void **state)
{
	struct np_acl_plan plan = plan_of((struct np_prof_options){ .level = NP_PROF_LEVEL_1,
								    .aic_metrics = "MemoryAccess",
								    .op_attr = true },
					  0);

	(void)state;
	assert_int_equal(plan.metrics, ACL_AICORE_PIPE_UTILIZATION);
	assert_int_equal(plan.mask, 0x27);
	assert_has(plan.dropped, "MemoryAccess");
	assert_has(plan.dropped, "op_attr");
}

static void shapes_at_level0_need_the_feature(void **state)
{
	struct np_prof_options options = { .level = NP_PROF_LEVEL_0, .record_shapes = true };

	(void)state;
	assert_int_equal(plan_of(options, NP_ACL_HAS_AICORE_SHAPE).mask, 0x800000801);
	assert_int_equal(plan_of(options, 0).mask, 0x801);
	assert_has(plan_of(options, 0).dropped, "record_shapes");
}

static void an_unknown_metric_is_refused_with_a_list(void **state)
{
	struct np_prof_options options = { .level = NP_PROF_LEVEL_1, .aic_metrics = "Pipes" };
	struct np_err err = NP_ERR_INIT;
	struct np_acl_plan plan;

	(void)state;
	assert_int_equal(np_acl_plan(&options, 0, &plan, &err), NP_E_USAGE);
	assert_has(err.text, "no AI core metric 'Pipes'; there are AiCoreNone, PipeUtilization");
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_ascendcl_the_library_that_cannot_be_loaded_is_named),
		cmocka_unit_test(an_older_cann_without_optional_functions_is_enough),
		cmocka_unit_test(the_mandatory_functions_that_are_missing_are_named),
		cmocka_unit_test(the_simulated_cann_has_everything),
		cmocka_unit_test(levels_have_the_masks_of_torch_npu),
		cmocka_unit_test(options_add_their_bits_and_settings),
		cmocka_unit_test(what_this_cann_cannot_record_is_told),
		cmocka_unit_test(shapes_at_level0_need_the_feature),
		cmocka_unit_test(an_unknown_metric_is_refused_with_a_list),
	};

	if (argc > 1 && strcmp(argv[1], "probe") == 0)
		return probe();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
