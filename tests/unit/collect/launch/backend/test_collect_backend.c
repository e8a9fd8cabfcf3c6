/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/launch/backend/backend.h"

#include "collect/launch/backend/torch.h"
#include "collect/launch/plan/config_file.h"
#include "np_test.h"
#include "npuprof/json.h"

/* What "auto" takes on a machine with these signs; the reason has to say `because`. */
static enum np_plan_backend decide(const struct np_job *job, struct np_backend_signs signs,
				   const char *because)
{
	const char *reason = "";
	enum np_plan_backend backend = np_backend_decide(job, &signs, &reason);

	if (!strstr(reason, because))
		fail_msg("'%s' does not say '%s'", reason, because);
	return backend;
}

#define SIGNS(...) ((struct np_backend_signs){ __VA_ARGS__ })

static void the_backend_follows_from_what_is_there(void **state)
{
	struct np_job job = { .ranks = 1, .world = 1 };

	(void)state;
	np_plan_init(&job.plan);
	assert_int_equal(
		decide(&job, SIGNS(.is_python = true, .has_torch_npu = true, .has_ascendcl = true),
		       "can import torch_npu"),
		NP_BACKEND_TORCH);
	assert_int_equal(decide(&job, SIGNS(.is_python = true, .has_ascendcl = true),
				"cannot import torch_npu"),
			 NP_BACKEND_ACL);
	assert_int_equal(
		decide(&job, SIGNS(.has_ascendcl = true, .has_msprof = true), "no python program"),
		NP_BACKEND_ACL);
	assert_int_equal(decide(&job,
				SIGNS(.is_static = true, .has_ascendcl = true, .has_msprof = true),
				"a static program"),
			 NP_BACKEND_MSPROF);
	/* The check that follows says what is missing. */
	assert_int_equal(decide(&job, SIGNS(.has_msprof = true), "see --backend msprof"),
			 NP_BACKEND_ACL);
	assert_int_equal(decide(&job, SIGNS(.is_python = false), "neither"), NP_BACKEND_ACL);
}

static void what_only_the_library_can_do_is_done_by_it(void **state)
{
	const struct np_backend_signs torch =
		SIGNS(.is_python = true, .has_torch_npu = true, .has_ascendcl = true);
	struct np_job job = { .ranks = 1, .world = 1 };

	(void)state;
	np_plan_init(&job.plan);
	job.plan.max_size = 100;
	assert_int_equal(decide(&job, torch, "cannot serve"), NP_BACKEND_ACL);
	np_plan_init(&job.plan);
	job.plan.step_source = NP_STEP_HCCL;
	assert_int_equal(decide(&job, torch, "cannot serve"), NP_BACKEND_ACL);
	/* Around torchrun msprof could not tell ranks apart, attached to them it can. */
	np_plan_init(&job.plan);
	job.finds_ranks = true;
	assert_int_equal(decide(&job, SIGNS(.is_static = true, .has_msprof = true), "AscendCL"),
			 NP_BACKEND_ACL);
	job.plan.dynamic = true;
	assert_int_equal(decide(&job, SIGNS(.is_static = true, .has_msprof = true), "static"),
			 NP_BACKEND_MSPROF);
}

static void settings_a_backend_cannot_serve_are_named(void **state)
{
	NP_CLEANUP(np_buf_release) struct np_buf notes = NP_BUF_INIT;
	struct np_err err = NP_ERR_INIT;
	struct np_job job = { .ranks = 1, .world = 1 };

	(void)state;
	np_plan_init(&job.plan);
	job.plan.backend = NP_BACKEND_ACL;
	job.plan.with_stack = true;
	assert_ok(np_backend_choose(&job, &notes, &err), err);
	assert_non_null(strstr(notes.text, "with_stack is ignored"));
	job.plan.backend = NP_BACKEND_TORCH;
	job.plan.max_size = 5;
	assert_ok(np_backend_choose(&job, &notes, &err), err);
	assert_non_null(strstr(notes.text, "--max-size is ignored: torch_npu"));
	job.plan.backend = NP_BACKEND_MSPROF;
	job.plan.step_end = 3;
	assert_ok(np_backend_choose(&job, &notes, &err), err);
	assert_non_null(strstr(notes.text, "msprof records all"));
	job.finds_ranks = true;
	assert_int_equal(np_backend_choose(&job, &notes, &err), NP_E_USAGE);
	assert_non_null(strstr(err.text, "use --dynamic"));
	job.plan.dynamic = true;
	assert_ok(np_backend_choose(&job, &notes, &err), err);
}

static void torch_is_asked_in_its_own_words(void **state)
{
	NP_CLEANUP(np_buf_release) struct np_buf text = NP_BUF_INIT;
	NP_CLEANUP(np_buf_release) struct np_buf notes = NP_BUF_INIT;
	struct np_err err = NP_ERR_INIT;
	struct np_plan plan;
	struct np_plan read;
	const int64_t ranks[] = { 1, 3 };
	const struct np_torch_wish wish = { 5, 3, NP_LEVEL_1, "/out/job", ranks, NP_COUNT(ranks) };

	(void)state;
	np_plan_init(&plan);
	plan.with_cpu = true;
	np_torch_format(&plan, &wish, &text);
	/* What torch_npu reads, our reader of its files reads too. */
	np_plan_init(&read);
	assert_ok(np_config_text_read(text.text, text.length, "made", &read, &notes, &err), err);
	assert_string_equal(read.ranks, "1,3");
	assert_string_equal(read.save_path, "/out/job");
	assert_int_equal(read.step_start, 5);
	assert_int_equal(read.step_end, 8);
	assert_int_equal(read.level, NP_LEVEL_1);
	assert_true(read.with_cpu);
	assert_false(read.with_stack);
}

static void torch_is_asked_for_more_than_there_is_where_no_end_is_given(void **state)
{
	NP_CLEANUP(np_json_freep) struct np_json *doc = NULL;
	NP_CLEANUP(np_buf_release) struct np_buf text = NP_BUF_INIT;
	const struct np_torch_wish wish = { -1, -1, NP_LEVEL_0, "/out", NULL, 0 };
	struct np_err err = NP_ERR_INIT;
	struct np_plan plan;
	int64_t value;

	(void)state;
	np_plan_init(&plan);
	np_torch_format(&plan, &wish, &text);
	assert_ok(np_json_parse(text.text, text.length, "made", &doc, &err), err);
	assert_true(np_json_integer(np_json_member(doc, "active"), &value));
	assert_int_equal(value, NP_PLAN_LAST_STEP);
	assert_true(np_json_integer(np_json_member(doc, "start_step"), &value));
	assert_int_equal(value, -1);
	assert_int_equal(np_json_count(np_json_member(doc, "rank_list")), 0);
}

static void a_log_of_torch_says_when_it_began_ended_or_would_not(void **state)
{
	struct np_torch_log log = { .started = NP_UNKNOWN, .stopped = NP_UNKNOWN };

	(void)state;
	np_torch_log_line(&log, "2026-01-02 03:04:05,678 [INFO] [7] dynamic_profile.py: Start "
				"Dynamic Profiler at 41 step.\n");
	assert_int_equal(log.started, 41);
	assert_int_equal(log.stopped, NP_UNKNOWN);
	np_torch_log_line(&log, "[INFO] Stop Dynamic Profiler at 43 step.\n");
	assert_int_equal(log.stopped, 43);
	assert_false(log.refused);
	np_torch_log_line(&log, "[WARNING] [7] start_step 3 is less than the current step\n");
	assert_true(log.refused);
	np_torch_log_line(&log, "Start Dynamic Profiler at nothing");
	assert_int_equal(log.started, 41);
	/* A new profile begins a new pair. */
	np_torch_log_line(&log, "Start Dynamic Profiler at 50 step.");
	assert_int_equal(log.stopped, NP_UNKNOWN);
}

/* The number of steps that a note has for a window over steps 4 and 5. */
static size_t noted_steps(const struct np_attach_step *steps, size_t count)
{
	NP_CLEANUP(np_json_freep) struct np_json *doc = NULL;
	NP_CLEANUP(np_buf_release) struct np_buf text = NP_BUF_INIT;
	struct np_err err = NP_ERR_INIT;
	struct np_record record;
	struct np_message message = { .type = NP_MSG_COMM, .rank = 2, .step = 1, .value = 4 };
	struct np_attach_comm comms[2];
	const struct np_attach_note note = { .job = "j",
					     .host = "h",
					     .record = &record,
					     .first = 4,
					     .last = 5,
					     .steps = steps,
					     .step_count = count,
					     .comms = comms,
					     .comm_count = 2 };
	const struct np_json *list;

	np_record_init(&record, 2, true);
	(void)snprintf(message.text, sizeof(message.text), "group_7\ndp");
	assert_true(np_attach_comm_take(&message, &comms[0]));
	message.rank = 3;
	assert_true(np_attach_comm_take(&message, &comms[1]));
	assert_ok(np_attach_note_format(&note, &text, &err), err);
	assert_ok(np_json_parse(text.text, text.length, "note", &doc, &err), err);
	/* The other one is of another rank. */
	list = np_json_member(doc, "communicators");
	assert_int_equal(np_json_count(list), 1);
	assert_string_equal(np_json_text(np_json_member(np_json_item(list, 0), "name")), "group_7");
	assert_string_equal(np_json_text(np_json_member(np_json_item(list, 0), "pg_name")), "dp");
	return np_json_count(np_json_member(doc, "steps"));
}

static void steps_are_noted_only_if_all_were_reported(void **state)
{
	const struct np_attach_step all[] = { { 3, 100 }, { 4, 200 }, { 5, 300 }, { 6, 400 } };
	const struct np_attach_step gap[] = { { 3, 100 }, { 4, 200 }, { 6, 400 } };

	(void)state;
	assert_int_equal(noted_steps(all, NP_COUNT(all)), 2);
	assert_int_equal(noted_steps(all, NP_COUNT(all) - 1), 0);
	assert_int_equal(noted_steps(gap, NP_COUNT(gap)), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_backend_follows_from_what_is_there),
		cmocka_unit_test(what_only_the_library_can_do_is_done_by_it),
		cmocka_unit_test(settings_a_backend_cannot_serve_are_named),
		cmocka_unit_test(torch_is_asked_in_its_own_words),
		cmocka_unit_test(torch_is_asked_for_more_than_there_is_where_no_end_is_given),
		cmocka_unit_test(a_log_of_torch_says_when_it_began_ended_or_would_not),
		cmocka_unit_test(steps_are_noted_only_if_all_were_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
