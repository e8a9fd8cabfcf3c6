/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/launch/output/manifest.h"

#include "collect/launch/backend/child.h"
#include "np_test.h"
#include "npuprof/json.h"

static struct np_message message_of(enum np_message_type type, int64_t step, int64_t value,
				    const char *text)
{
	struct np_message message = {
		.version = NP_PROTOCOL_VERSION, .type = (uint32_t)type, .step = step, .value = value
	};

	(void)snprintf(message.text, sizeof(message.text), "%s", text);
	return message;
}

static void hear(struct np_record *record, enum np_message_type type, int64_t step, int64_t value,
		 const char *text)
{
	struct np_message message = message_of(type, step, value, text);

	np_record_take(record, &message);
}

/* A rank that was profiled over steps 2 and 3. */
static void profiled(struct np_record *record, int32_t rank)
{
	np_record_init(record, rank, true);
	hear(record, NP_MSG_HELLO, NP_UNKNOWN, 1, "/bin/app");
	hear(record, NP_MSG_ATTACHED, NP_UNKNOWN, rank, "Ascend910B4");
	hear(record, NP_MSG_SOURCE, NP_UNKNOWN, NP_STEP_MSTX, "");
	hear(record, NP_MSG_STEP, 2, NP_STEP_MSTX, "");
	hear(record, NP_MSG_WINDOW_OPEN, 2, 0x27, "/out/job/dir");
	hear(record, NP_MSG_WINDOW_CLOSED, 3, 1234, "/out/job/dir");
	record->exit = 0;
}

static void a_complete_profile_has_nothing_wrong_with_it(void **state)
{
	struct np_record record;

	(void)state;
	profiled(&record, 1);
	np_record_conclude(&record, 2, 4, false);
	assert_string_equal(record.failure, "");
	assert_string_equal(np_record_state(&record), "raw");
	assert_int_equal(record.first_step, 2);
	assert_int_equal(record.last_step, 3);
	assert_int_equal(record.bytes, 1234);
	assert_int_equal(record.device, 1);
}

static void expect_conclusion(const struct np_record *given, const char *text, const char *rank)
{
	struct np_record record = *given;

	np_record_conclude(&record, 5, 8, false);
	if (!strstr(record.failure, text))
		fail_msg("'%s' does not say '%s'", record.failure, text);
	assert_string_equal(np_record_state(&record), rank);
}

static void what_is_missing_is_explained_by_how_far_it_came(void **state)
{
	struct np_record record;

	(void)state;
	np_record_init(&record, 0, true);
	expect_conclusion(&record, "did not get into the application", "failed");
	hear(&record, NP_MSG_HELLO, NP_UNKNOWN, 1, "");
	expect_conclusion(&record, "never used an NPU", "failed");
	hear(&record, NP_MSG_ATTACHED, NP_UNKNOWN, 0, "");
	expect_conclusion(&record, "marks no steps", "failed");
	hear(&record, NP_MSG_STEP, 3, NP_STEP_MSTX, "");
	expect_conclusion(&record, "ended in step 3, before step 5", "failed");
	hear(&record, NP_MSG_WINDOW_OPEN, 5, 0, "/d");
	expect_conclusion(&record, "before the profile was closed", "raw");
	hear(&record, NP_MSG_WINDOW_CLOSED, 6, 10, "/d");
	expect_conclusion(&record, "ends with step 6; 7 was asked for", "raw");
}

static void the_first_failure_is_the_one_that_is_told(void **state)
{
	struct np_record record;

	(void)state;
	np_record_init(&record, 0, true);
	hear(&record, NP_MSG_PROF_CODE, NP_UNKNOWN, 500005, "aclprofStart");
	hear(&record, NP_MSG_PROF_ERROR, NP_UNKNOWN, 500005, "aclprofStart failed: 500005");
	hear(&record, NP_MSG_PROF_ERROR, NP_UNKNOWN, 1, "and then this");
	expect_conclusion(&record, "aclprofStart failed: 500005", "failed");
	assert_int_equal(record.code_count, 1);
	assert_string_equal(record.codes[0].call, "aclprofStart");
	np_record_init(&record, 0, true);
	hear(&record, NP_MSG_SELF_PROFILING, NP_UNKNOWN, 0, "aclprofInit");
	expect_conclusion(&record, "profiles itself (aclprofInit)", "failed");
}

static void a_rank_that_was_not_chosen_owes_nothing(void **state)
{
	struct np_record record;

	(void)state;
	np_record_init(&record, 0, false);
	np_record_conclude(&record, 0, -1, false);
	assert_string_equal(record.failure, "");
	assert_string_equal(np_record_state(&record), "none");
}

/* Three ranks on two hosts, of which 0 and 2 were chosen and 2 failed. */
static struct np_json *manifest_of_three(void)
{
	static struct np_job_layout_rank ranks[] = { { 0, 0 }, { 0, 1 }, { 1, 0 } };
	static struct np_job_layout_host hosts[] = { { "one", "11", 0, 2 }, { "two", "22", 2, 1 } };
	static bool chosen[] = { true, false, true };
	char *const app[] = { (char[]){ "app" }, (char[]){ "--x" }, NULL };
	struct np_job job = {
		.world = 3,
		.ranks = 3,
		.layout = { .world = 3, .host_count = 2, .ranks = ranks, .hosts = hosts },
		.chosen = chosen,
		.app = app,
		.root = "/out/job",
		.simulated = true,
	};
	struct np_record records[3];
	struct np_json *doc = NULL;
	struct np_err err = NP_ERR_INIT;
	struct np_jsonout out;

	np_plan_init(&job.plan);
	(void)snprintf(job.plan.job, sizeof(job.plan.job), "job");
	assert_ok(np_timing_init(&job.timing, 2, &err), err);
	*np_vec_add(&job.timing.hosts[0].samples, NULL) = (struct np_timing_sample){ 10, 0, 0 };
	*np_vec_add(&job.timing.hosts[1].samples, NULL) = (struct np_timing_sample){ 20, -7, 3 };
	profiled(&records[0], 0);
	np_record_init(&records[1], 1, false);
	np_record_init(&records[2], 2, true);
	hear(&records[2], NP_MSG_PROF_CODE, NP_UNKNOWN, 100043, "aclprofStart");
	np_record_conclude(&records[2], 2, 4, false);
	np_jsonout_init(&out, NULL);
	np_manifest_format(&job, records, NULL, &out);
	assert_ok(np_jsonout_finish(&out, &err), err);
	assert_ok(np_json_parse(out.buf.text, out.buf.length, "manifest", &doc, &err), err);
	np_jsonout_release(&out);
	np_timing_release(&job.timing);
	return doc;
}

static int64_t integer(const struct np_json *node, const char *key)
{
	int64_t value = NP_UNKNOWN;

	(void)np_json_integer(np_json_member(node, key), &value);
	return value;
}

static void the_manifest_has_hosts_clocks_and_ranks(void **state)
{
	NP_CLEANUP(np_json_freep) struct np_json *doc = manifest_of_three();
	const struct np_json *host = np_json_item(np_json_member(doc, "hosts"), 1);
	const struct np_json *sample = np_json_item(np_json_member(host, "clock"), 0);
	const struct np_json *rank = np_json_item(np_json_member(doc, "ranks"), 2);

	(void)state;
	assert_string_equal(np_json_text(np_json_member(doc, "schema")), "npuprof.manifest/1");
	assert_int_equal(integer(doc, "world_size"), 3);
	assert_string_equal(np_json_text(np_json_member(host, "host")), "two");
	assert_string_equal(np_json_text(np_json_member(host, "uid")), "22");
	assert_int_equal(integer(sample, "at_ns"), 20);
	assert_int_equal(integer(sample, "offset_ns"), -7);
	assert_int_equal(integer(sample, "uncertainty_ns"), 3);
	assert_int_equal(np_json_type(np_json_member(host, "drift_ppm")), NP_JSON_NULL);
	assert_string_equal(np_json_text(np_json_member(rank, "host")), "two");
	assert_string_equal(np_json_text(np_json_member(rank, "state")), "failed");
	assert_int_equal(integer(np_json_member(rank, "prof_codes"), "aclprofStart"), 100043);
	assert_int_equal(np_json_type(np_json_member(rank, "exit")), NP_JSON_NULL);
	rank = np_json_item(np_json_member(doc, "ranks"), 0);
	assert_string_equal(np_json_text(np_json_member(rank, "dir")), "dir");
	assert_int_equal(integer(rank, "exit"), 0);
	assert_int_equal(integer(rank, "device"), 0);
}

static void the_manifest_lists_the_window_and_who_was_in_it(void **state)
{
	NP_CLEANUP(np_json_freep) struct np_json *doc = manifest_of_three();
	const struct np_json *windows = np_json_member(doc, "windows");
	const struct np_json *window = np_json_item(windows, 0);

	(void)state;
	assert_int_equal(np_json_count(windows), 1);
	assert_int_equal(integer(window, "first_step"), 2);
	assert_int_equal(integer(window, "last_step"), 3);
	assert_string_equal(np_json_text(np_json_member(window, "step_source")), "mstx");
	assert_int_equal(np_json_count(np_json_member(window, "ranks")), 1);
}

static void an_application_inherits_no_variable_of_mpi(void **state)
{
	char *const from[] = { (char[]){ "OMPI_COMM_WORLD_RANK=3" },
			       (char[]){ "PMIX_RANK=3" },
			       (char[]){ "PMI_RANK=3" },
			       (char[]){ "ORTE_X=1" },
			       (char[]){ "PATH=/bin" },
			       (char[]){ "OMPI=kept" },
			       NULL };
	struct np_env env = { 0 };
	struct np_err err = NP_ERR_INIT;

	(void)state;
	assert_ok(np_env_inherit(&env, from, false, &err), err);
	assert_int_equal(env.words.count, 2);
	assert_string_equal(np_env_get(&env, "PATH"), "/bin");
	assert_string_equal(np_env_get(&env, "OMPI"), "kept");
	assert_null(np_env_get(&env, "PMIX_RANK"));
	assert_ok(np_env_set(&env, "PATH", "/usr/bin", &err), err);
	assert_ok(np_env_set(&env, "RANK", "1", &err), err);
	assert_string_equal(np_env_words(&env, &err)[0], "PATH=/usr/bin");
	assert_string_equal(np_env_words(&env, &err)[2], "RANK=1");
	assert_null(np_env_words(&env, &err)[3]);
	np_env_release(&env);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_complete_profile_has_nothing_wrong_with_it),
		cmocka_unit_test(what_is_missing_is_explained_by_how_far_it_came),
		cmocka_unit_test(the_first_failure_is_the_one_that_is_told),
		cmocka_unit_test(a_rank_that_was_not_chosen_owes_nothing),
		cmocka_unit_test(the_manifest_has_hosts_clocks_and_ranks),
		cmocka_unit_test(the_manifest_lists_the_window_and_who_was_in_it),
		cmocka_unit_test(an_application_inherits_no_variable_of_mpi),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
