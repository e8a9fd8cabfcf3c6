/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of whose the events of a trace are, and of the names that they have for communication. */
#include "core/model/vendor/trace_lanes.h"

#include "core/model/vendor/hccl_types.h"
#include "core/model/vendor/kineto.h"

#include "np_trace_fixture.h"

#include "npuprof/comm_tasks.h"

static struct np_slice slice(const char *text)
{
	return (struct np_slice){ text, strlen(text) };
}

/* --- lanes ----------------------------------------------------------------------------------- */

/* What events of phase M say of lanes. */
static void take_all(struct trace_lanes *lanes, const char *text)
{
	struct np_trace *trace = opened(text, strlen(text), 4096);
	const struct np_trace_event *event = NULL;
	struct np_err err = NP_ERR_INIT;

	assert_ok(trace_lanes_init(lanes, &err), err);
	for (;;) {
		assert_ok(np_trace_next(trace, &event, &err), err);
		if (!event)
			break;
		assert_ok(trace_lanes_take(lanes, event, &err), err);
	}
	np_trace_close(trace);
}

static void a_lane_is_known_by_its_name_and_label(void **state)
{
	struct trace_lanes lanes = { 0 };

	(void)state;
	take_all(
		&lanes,
		"[{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":1,\"args\":{\"name\":\"HCCL\"}},"
		"{\"ph\":\"M\",\"name\":\"process_labels\",\"pid\":1,\"args\":{\"labels\":\"NPU 4\"}},"
		"{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":2,\"args\":{\"name\":\"my "
		"mstx lane\"}},"
		"{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":3,\"args\":{\"name\":\"Python\"}}]");
	assert_int_equal(trace_lanes_find(&lanes, 1)->kind, TRACE_LANE_COMMUNICATION);
	assert_int_equal(trace_lanes_find(&lanes, 1)->device, 4);
	assert_int_equal(trace_lanes_find(&lanes, 2)->kind, TRACE_LANE_MARKS);
	assert_int_equal(trace_lanes_find(&lanes, 2)->device, NP_UNKNOWN);
	assert_int_equal(trace_lanes_find(&lanes, 3)->kind, TRACE_LANE_OTHER);
	assert_null(trace_lanes_find(&lanes, 4));
	trace_lanes_release(&lanes);
}

static void a_thread_of_a_communicator_is_known_by_its_name(void **state)
{
	struct np_slice group = { "", 0 };
	int64_t plane = 0;

	(void)state;
	assert_true(trace_group(slice("Group 10.0.0.1%eth0 Communication"), &group));
	assert_true(np_slice_is(group, "10.0.0.1%eth0"));
	assert_true(trace_is_group(slice("Group 1")));
	assert_false(trace_group(slice("Group 1"), &group));
	assert_false(trace_is_group(slice("Plane 1")));
	assert_true(trace_plane(slice("Plane 12"), &plane));
	assert_int_equal(plane, 12);
	assert_false(trace_plane(slice("Plane x"), &plane));
}

static void planes_belong_to_the_communicator_before_them(void **state)
{
	static const struct trace_thread threads[] = {
		{ .pid = 1, .tid = 3, .order = 3, .plane = 0 },
		{ .pid = 1, .tid = 2, .order = 2, .plane = NP_UNKNOWN },
		{ .pid = 1, .tid = 1, .order = 1, .plane = 7 },
		{ .pid = 1, .tid = 0, .order = 0, .plane = NP_UNKNOWN },
	};
	struct trace_lanes lanes = { 0 };

	(void)state;
	for (size_t i = 0; i < NP_COUNT(threads); i++) {
		struct trace_thread *thread = np_vec_add(&lanes.threads, NULL);

		assert_non_null(thread);
		*thread = threads[i];
	}
	trace_threads_own(&lanes);
	for (size_t i = 0; i < NP_COUNT(threads); i++)
		assert_int_equal(lanes.threads.item[i].tid, i);
	assert_int_equal(lanes.threads.item[1].owner, 0);
	assert_int_equal(lanes.threads.item[3].owner, 2);
	trace_lanes_release(&lanes);
}

/* --- operators ------------------------------------------------------------------------------- */

/* The connection of the only task on the device. */
static bool starts_there(const void *tasks, np_ns start, int64_t connection)
{
	(void)start;
	return *(const int64_t *)tasks == connection;
}

static void a_sub_task_belongs_to_the_operator_in_which_it_lies(void **state)
{
	/* A send and a receive at once, and one later; another thread has one all the time. */
	struct trace_op ops[] = {
		{ .start = 100, .end = 200, .tid = 1, .connection = 30 },
		{ .start = 10, .end = 50, .tid = 1, .connection = 10 },
		{ .start = 20, .end = 50, .tid = 1, .connection = 20 },
		{ .start = 0, .end = 900, .tid = 2, .connection = 40 },
	};
	const struct trace_thread owner = { .tid = 1 };
	int64_t task = 10;

	(void)state;
	trace_ops_sort(ops, NP_COUNT(ops));
	assert_int_equal(ops[0].connection, 10);
	assert_int_equal(trace_op_at(ops, 4, &owner, 15, 16, starts_there, &task), 0);
	assert_int_equal(trace_op_at(ops, 4, &owner, 150, 151, starts_there, &task), 2);
	assert_int_equal(trace_op_at(ops, 4, &owner, 60, 61, starts_there, &task), TRACE_NO_OP);
	/* Both run: the task on the device decides. */
	assert_int_equal(trace_op_at(ops, 4, &owner, 30, 31, starts_there, &task), 0);
	task = 20;
	assert_int_equal(trace_op_at(ops, 4, &owner, 30, 31, starts_there, &task), 1);
}

/* Both run, and nothing of them is on the device. */
static void a_sub_task_belongs_to_the_operator_that_it_begins_or_ends_with(void **state)
{
	struct trace_op ops[] = {
		{ .start = 0, .end = 900000, .tid = 1, .connection = 10 },
		{ .start = 100000, .end = 500000, .tid = 1, .connection = 20 },
	};
	const struct trace_thread owner = { .tid = 1 };
	int64_t task = 0;

	(void)state;
	assert_int_equal(trace_op_at(ops, 2, &owner, 300000, 900000, starts_there, &task), 0);
	assert_int_equal(trace_op_at(ops, 2, &owner, 300000, 500000, starts_there, &task), 1);
	assert_int_equal(trace_op_at(ops, 2, &owner, 100000, 300000, starts_there, &task), 1);
	assert_int_equal(trace_op_at(ops, 2, &owner, 300000, 600000, starts_there, &task), 0);
}

static void an_event_with_a_type_of_task_is_a_sub_task(void **state)
{
	static const char text[] =
		"[{\"ph\":\"X\",\"name\":\"Memcpy\",\"ts\":1,\"dur\":1,\"args\":{\"task type\":\"Memcpy\"}},"
		"{\"ph\":\"X\",\"name\":\"hcom_send__1\",\"ts\":1,\"dur\":1,\"args\":{\"count\":4}}]";
	struct np_trace *trace = opened(text, strlen(text), 4096);

	(void)state;
	assert_true(trace_is_sub_task(next(trace)));
	assert_false(trace_is_sub_task(next(trace)));
	np_trace_close(trace);
}

/* --- names ----------------------------------------------------------------------------------- */

static void links_and_transports_have_the_numbers_of_databases(void **state)
{
	(void)state;
	assert_int_equal(hccl_link_number(slice("HCCS")), NP_LINK_HCCS);
	assert_int_equal(hccl_link_number(slice("HCCS_SW")), NP_LINK_HCCS_SW);
	assert_int_equal(hccl_link_number(slice("hccs")), UINT16_MAX);
	assert_int_equal(hccl_transport_number(slice("SDMA")), NP_TRANSPORT_SDMA);
	assert_int_equal(hccl_transport_number(slice("RDMA")), NP_TRANSPORT_RDMA);
	assert_int_equal(hccl_transport_number(slice("")), UINT8_MAX);
	assert_true(hccl_is_rdma_payload(slice("RDMA_SEND_PAYLOAD")));
	assert_false(hccl_is_rdma_payload(slice("RDMA_SEND_NOTIFY")));
}

static void elements_are_bytes_unless_that_cannot_be(void **state)
{
	(void)state;
	assert_int_equal(hccl_type_kept(slice("FP16")), 4);
	assert_string_equal(hccl_type_name(4), "FP16");
	assert_string_equal(hccl_type_name(0), "");
	assert_int_equal(hccl_bytes(10, 3), 20);
	assert_int_equal(hccl_bytes(10, 99), NP_UNKNOWN);
	assert_int_equal(hccl_bytes(-1, 3), NP_UNKNOWN);
	assert_int_equal(hccl_bytes(INT64_MAX / 2, 3), NP_UNKNOWN);
}

static void a_trace_of_a_gpu_is_known_by_its_events(void **state)
{
	struct np_err err = NP_ERR_INIT;
	bool gpu = false;

	(void)state;
	write_text(
		below("gpu.json"),
		"[{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"launch\",\"ts\":1,\"dur\":1}]");
	assert_ok(kineto_is(below("gpu.json"), &gpu, &err), err);
	assert_true(gpu);
	write_text(below("npu.json"),
		   "[{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"add\",\"ts\":1,\"dur\":1}]");
	assert_ok(kineto_is(below("npu.json"), &gpu, &err), err);
	assert_false(gpu);
	assert_true(np_slice_is(kineto_kernel_type(slice("void at::copy<4, int>(float*)")),
				"at::copy"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_lane_is_known_by_its_name_and_label),
		cmocka_unit_test(a_thread_of_a_communicator_is_known_by_its_name),
		cmocka_unit_test(planes_belong_to_the_communicator_before_them),
		cmocka_unit_test(a_sub_task_belongs_to_the_operator_in_which_it_lies),
		cmocka_unit_test(a_sub_task_belongs_to_the_operator_that_it_begins_or_ends_with),
		cmocka_unit_test(an_event_with_a_type_of_task_is_a_sub_task),
		cmocka_unit_test(links_and_transports_have_the_numbers_of_databases),
		cmocka_unit_test(elements_are_bytes_unless_that_cannot_be),
		cmocka_unit_test_setup_teardown(a_trace_of_a_gpu_is_known_by_its_events,
						np_fixture_setup, np_fixture_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
