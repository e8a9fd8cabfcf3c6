/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of what the names of captures say. */
#include "core/model/vendor/capture_names.h"

#include "np_fault.h"
#include "np_test.h"

static struct capture_name read_one(const char *name)
{
	NP_CLEANUP(capture_names_freep) struct capture_names *names = NULL;
	struct np_err err = NP_ERR_INIT;
	struct capture_name facts;

	assert_ok(capture_names_new(&names, &err), err);
	assert_ok(capture_name_read(names, name, &facts, &err), err);
	return facts;
}

static void assert_part(const char *name, struct name_part part, const char *text)
{
	assert_int_equal(part.length, strlen(text));
	assert_memory_equal(name + part.begin, text, part.length);
}

static void a_worker_of_vllm_has_coordinates_and_a_rank_of_its_replica(void **state)
{
	static const char name[] = "dp1_pp0_tp3_dcp0_ep7_rank3_4711_20260402160352123_ascend_pt";
	struct capture_name facts = read_one(name);

	(void)state;
	assert_int_equal(facts.form, CAPTURE_VLLM);
	assert_int_equal(facts.dp, 1);
	assert_int_equal(facts.pp, 0);
	assert_int_equal(facts.tp, 3);
	assert_int_equal(facts.dcp, 0);
	assert_int_equal(facts.ep, 7);
	assert_int_equal(facts.cp, -1);
	assert_int_equal(facts.rank, 3);
	assert_int_equal(facts.pid, 4711);
	assert_false(facts.global);
}

static void a_worker_of_vllm_may_have_a_prefix_no_rank_and_no_process(void **state)
{
	static const char name[] = "my_serve_dp0_pp1_tp2_dcp0_ep1_20260402160352123_ascend_pt";
	struct capture_name facts = read_one(name);

	(void)state;
	assert_int_equal(facts.form, CAPTURE_VLLM);
	assert_int_equal(facts.pp, 1);
	assert_int_equal(facts.rank, -1);
	assert_int_equal(facts.pid, -1);
	assert_part(name, facts.worker, "my_serve");
}

static void a_worker_of_vllm_without_parallel_state_has_a_rank(void **state)
{
	struct capture_name facts = read_one("rank5_4711_20260402160352123_ascend_pt");

	(void)state;
	assert_int_equal(facts.form, CAPTURE_VLLM_RANK);
	assert_int_equal(facts.rank, 5);
	assert_int_equal(facts.pid, 4711);
	assert_true(facts.global);
}

static void a_plain_name_of_torch_npu_has_a_process_and_no_rank(void **state)
{
	static const char name[] = "node-17_x_35180_20250901120000123_ascend_pt";
	struct capture_name facts = read_one(name);

	(void)state;
	assert_int_equal(facts.form, CAPTURE_TORCH_NPU);
	assert_int_equal(facts.rank, -1);
	assert_int_equal(facts.pid, 35180);
	assert_part(name, facts.worker, "node-17_x");
	assert_int_equal(read_one("h_1_20250901120000_ascend_ms").form, CAPTURE_TORCH_NPU);
}

static void renamed_directories_may_hold_a_rank(void **state)
{
	(void)state;
	assert_int_equal(read_one("rank0_ascend_pt").form, CAPTURE_RENAMED);
	assert_int_equal(read_one("rank0_ascend_pt").rank, 0);
	assert_int_equal(read_one("rank_12_ascend_pt").rank, 12);
	assert_int_equal(read_one("job_rank-3_20250901120000123_ascend_ms").rank, 3);
	assert_int_equal(read_one("node_rank_7_20250901120000123_ascend_pt").rank, 7);
	assert_int_equal(read_one("rank3").rank, 3);
	assert_int_equal(read_one("run-rank_4").rank, 4);
	assert_int_equal(read_one("frank3_ascend_pt").rank, -1);
	assert_int_equal(read_one("rank3x_ascend_pt").rank, -1);
	assert_int_equal(read_one("ranking").rank, -1);
}

static void raw_captures_of_msprof_have_no_rank(void **state)
{
	struct capture_name facts = read_one("PROF_000001_20260511093028123_ABCDEFGHIJKL");

	(void)state;
	assert_int_equal(facts.form, CAPTURE_PROF);
	assert_int_equal(facts.rank, -1);
}

static void msmonitor_names_process_and_rank(void **state)
{
	struct capture_name facts = read_one("msmonitor_4711_20260511093028123_6.db");

	(void)state;
	assert_int_equal(facts.form, CAPTURE_MSMONITOR);
	assert_int_equal(facts.pid, 4711);
	assert_int_equal(facts.rank, 6);
	assert_int_equal(read_one("msmonitor_4711_20260511093028123_-1.jsonl").form,
			 CAPTURE_MSMONITOR);
	assert_int_equal(read_one("msmonitor_4711_20260511093028123_-1.jsonl").rank, -1);
}

static void a_trace_of_kineto_may_hold_what_vllm_puts_there(void **state)
{
	static const char name[] = "host_4711.1736405443881.pt.trace.json.gz";
	struct capture_name facts = read_one(name);

	(void)state;
	assert_int_equal(facts.form, CAPTURE_KINETO);
	assert_part(name, facts.worker, "host_4711");
	assert_int_equal(facts.rank, -1);
	facts = read_one("dp0_pp0_tp1_dcp0_ep1_rank1.1736405443881410320.pt.trace.json");
	assert_int_equal(facts.form, CAPTURE_KINETO);
	assert_int_equal(facts.tp, 1);
	assert_int_equal(facts.rank, 1);
}

static void a_trace_of_sglang_has_coordinates_and_a_stage(void **state)
{
	static const char name[] = "1736405443.88-TP-3-DP-1-PP-0-EP-2-DECODE.trace.json.gz";
	struct capture_name facts = read_one(name);

	(void)state;
	assert_int_equal(facts.form, CAPTURE_SGLANG);
	assert_int_equal(facts.tp, 3);
	assert_int_equal(facts.dp, 1);
	assert_int_equal(facts.pp, 0);
	assert_int_equal(facts.ep, 2);
	assert_part(name, facts.role, "DECODE");
	facts = read_one("serve-1736405443.88-TP-0.trace.json.gz");
	assert_int_equal(facts.form, CAPTURE_SGLANG);
	assert_int_equal(facts.tp, 0);
	assert_int_equal(facts.dp, -1);
	facts = read_one("x-1736405443-TP-0-DP-0-PP-0-EP-0.trace.json.gz");
	assert_int_equal(facts.form, CAPTURE_SGLANG);
	assert_int_equal(facts.ep, 0);
}

static void a_trace_of_verl_has_role_step_rank_world_and_coordinates(void **state)
{
	static const char name[] =
		"actor_update_step3_rank2-of-8_tp1-pp0-dp3_pid4711_20260402160352123.json.gz";
	struct capture_name facts = read_one(name);

	(void)state;
	assert_int_equal(facts.form, CAPTURE_VERL);
	assert_part(name, facts.worker, "actor");
	assert_part(name, facts.role, "update");
	assert_int_equal(facts.step, 3);
	assert_int_equal(facts.rank, 2);
	assert_int_equal(facts.world, 8);
	assert_int_equal(facts.tp, 1);
	assert_int_equal(facts.pp, 0);
	assert_int_equal(facts.dp, 3);
	assert_int_equal(facts.pid, 4711);
	assert_true(facts.global);
	assert_int_equal(read_one("rank0_pid1_20260402160352123").form, CAPTURE_VERL);
}

static void a_relocated_rollout_of_verl_names_its_replica(void **state)
{
	struct capture_name facts = read_one(
		"rollout-replica1-globalrank5_vllm_rank1-of-4_tp1_pid4711_20260402160352123.json");

	(void)state;
	assert_int_equal(facts.form, CAPTURE_VERL);
	assert_int_equal(facts.replica, 1);
	assert_true(facts.global);
	facts = read_one("rollout-replica2_tp3_pid4711_20260402160352123.json");
	assert_int_equal(facts.form, CAPTURE_VERL);
	assert_int_equal(facts.replica, 2);
	assert_int_equal(facts.tp, 3);
	assert_false(facts.global);
}

static void numbers_beyond_their_range_are_none(void **state)
{
	struct capture_name facts =
		read_one("dp99999999999_pp0_tp1_dcp0_ep1_rank4294967296_1_20260402160352123"
			 "_ascend_pt");

	(void)state;
	assert_int_equal(facts.form, CAPTURE_VLLM);
	assert_int_equal(facts.dp, -1);
	assert_int_equal(facts.rank, -1);
	assert_int_equal(read_one("rank99999999999999999999_ascend_pt").rank, -1);
}

static void odd_names_are_nobodys(void **state)
{
	char longest[4096];

	(void)state;
	memset(longest, '_', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	assert_int_equal(read_one(longest).form, CAPTURE_OTHER);
	assert_int_equal(read_one("").form, CAPTURE_OTHER);
	assert_int_equal(read_one("\xff\xfe rank").form, CAPTURE_OTHER);
	assert_int_equal(read_one("trace_view.json").form, CAPTURE_OTHER);
}

static int compile_in_little_memory(struct np_err *err)
{
	NP_CLEANUP(capture_names_freep) struct capture_names *names = NULL;
	struct capture_name facts;
	int rc = capture_names_new(&names, err);

	return rc < 0 ? rc : capture_name_read(names, "rank0_ascend_pt", &facts, err);
}

static void running_out_of_memory_is_told(void **state)
{
	(void)state;
	assert_survives_faults(compile_in_little_memory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_worker_of_vllm_has_coordinates_and_a_rank_of_its_replica),
		cmocka_unit_test(a_worker_of_vllm_may_have_a_prefix_no_rank_and_no_process),
		cmocka_unit_test(a_worker_of_vllm_without_parallel_state_has_a_rank),
		cmocka_unit_test(a_plain_name_of_torch_npu_has_a_process_and_no_rank),
		cmocka_unit_test(renamed_directories_may_hold_a_rank),
		cmocka_unit_test(raw_captures_of_msprof_have_no_rank),
		cmocka_unit_test(msmonitor_names_process_and_rank),
		cmocka_unit_test(a_trace_of_kineto_may_hold_what_vllm_puts_there),
		cmocka_unit_test(a_trace_of_sglang_has_coordinates_and_a_stage),
		cmocka_unit_test(a_trace_of_verl_has_role_step_rank_world_and_coordinates),
		cmocka_unit_test(a_relocated_rollout_of_verl_names_its_replica),
		cmocka_unit_test(numbers_beyond_their_range_are_none),
		cmocka_unit_test(odd_names_are_nobodys),
		cmocka_unit_test(running_out_of_memory_is_told),
	};

	return cmocka_run_group_tests_name("capture_names", tests, NULL, NULL);
}
