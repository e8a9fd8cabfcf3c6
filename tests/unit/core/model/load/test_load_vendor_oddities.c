/* SPDX-License-Identifier: Apache-2.0 */
/* What exporters write that looks wrong and is not: kernels of operators, stages below zero. */
#include "np_load_fixture.h"

#include "npuprof/load.h"

/* An operator that kernels carry out shows one over all of its time; the vendor names it so. */
static const char serving_sql[] =
	"INSERT INTO STRING_IDS VALUES(20, 'hcom_allReduce_AivKernel');"
	"INSERT INTO TASK(startNs, endNs, deviceId, connectionId, globalTaskId, taskType)"
	" VALUES(1300000, 1700000, 4, 3, 120, 13);"
	"INSERT INTO COMPUTE_TASK_INFO VALUES(20, 120, 8, 0, 1, 20)";

static void assert_step_10(const struct np_rank *rank)
{
	assert_int_equal(rank->times.item[0].computing, 300000);
	assert_int_equal(rank->times.item[0].communication, 400000);
	assert_int_equal(rank->times.item[0].communication_not_overlapped, 350000);
}

static void kernels_of_operators_are_no_computing_in_databases(void **state)
{
	(void)state;
	make_rank_db(0, serving_sql);
	{
		with_run *run = load();

		assert_step_10(np_run_rank(run, 0));
		assert_no_notes(&run->notes);
	}
}

/* Step times of databases count them, and the operator as hidden by them. */
static void step_times_that_count_kernels_of_operators_are_no_contradiction(void **state)
{
	(void)state;
	make_rank_db(0, serving_sql);
	make_analysis_db(0, "UPDATE StepTraceTime SET computing = 650,"
			    " communication_not_overlapped = 0, overlapped = 400,"
			    " communication_not_overlapped_and_exclude_receive = 0"
			    " WHERE step = '10'");
	{
		with_run *run = load();

		assert_step_10(np_run_rank(run, 0));
		assert_int_equal(np_run_rank(run, 0)->coverage.count, 0);
		assert_no_notes(&run->notes);
	}
}

/* More than those kernels take is one. */
static void step_times_that_count_more_are_a_contradiction(void **state)
{
	(void)state;
	make_rank_db(0, serving_sql);
	make_analysis_db(0, "UPDATE StepTraceTime SET computing = 702 WHERE step = '10'");
	{
		with_run *run = load();

		assert_noted(&run->notes, NP_NOTE_SKIPPED, "StepTraceTime", "disagree");
	}
}

static void kernels_of_operators_are_neither_kernels_nor_operators_in_tables(void **state)
{
	(void)state;
	write_text(below("rank0/profiler_info_0.json"), "{}");
	write_text(rank_path(0, "kernel_details.csv"),
		   "Step Id,Name,Type,Accelerator Core,Start Time(us),Duration(us)\n"
		   "10,m1,MatMul,AI_CORE,1000.000\t,100.000\n"
		   "10,hcom_allReduce__123_0_1,hcom_allReduce_,COMMUNICATION,1200.000\t,200.000\n"
		   "10,hcom_allReduce_AivKernel,ALLREDUCE,AI_VECTOR_CORE,1200.000\t,199.000\n"
		   "10,AivKernel,ALLREDUCE,AI_VECTOR_CORE,1399.000\t,1.000\n");
	{
		with_run *run = load();
		const struct np_rank *rank = np_run_rank(run, 0);

		assert_int_equal(rank->ops.count, 1);
		assert_int_equal(rank->times.item[0].computing, 100000);
		assert_int_equal(rank->times.item[0].communication, 200000);
		assert_int_equal(rank->times.item[0].communication_not_overlapped, 200000);
	}
}

#define PROCESS(pid, name, label) \
	"{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":" #pid \
	",\"tid\":0,\"args\":{\"name\":\"" name \
	"\"}},{\"ph\":\"M\",\"name\":\"process_labels\",\"pid\":" #pid \
	",\"tid\":0,\"args\":{\"labels\":\"" label "\"}}"
#define STEP(number, ts) \
	"{\"ph\":\"X\",\"name\":\"ProfilerStep#" #number "\",\"pid\":1,\"tid\":1,\"ts\":\"" ts \
	"\",\"dur\":100,\"cat\":\"cpu_op\"}"
#define CALL(ts, connection) \
	"{\"ph\":\"X\",\"name\":\"Node@launch\",\"pid\":2,\"tid\":1,\"ts\":\"" ts \
	"\",\"dur\":5,\"args\":{\"level\":\"node\",\"connection_id\":" #connection "}}"
#define KERNEL(ts, dur, connection) \
	"{\"ph\":\"X\",\"name\":\"m\",\"pid\":3,\"tid\":2,\"ts\":\"" ts "\",\"dur\":" dur \
	",\"args\":{\"Task Type\":\"AI_CORE\",\"connection_id\":" #connection "}}"

/* A step that begins with an operator whose tasks the device does not show begins there. */
static void an_operator_without_tasks_is_in_the_step_of_its_call(void **state)
{
	(void)state;
	write_text(below("rank0/profiler_info_0.json"), "{}");
	write_text(
		rank_path(0, "trace_view.json"),
		"[" PROCESS(1, "Python", "CPU") "," PROCESS(2, "CANN", "CPU") "," PROCESS(
			3, "Ascend Hardware",
			"NPU 0") "," PROCESS(4, "Communication",
					     "NPU 0") ","
						      "{\"ph\":\"M\",\"name\":\"thread_name\","
						      "\"pid\":4,\"tid\":0,\"args\":{\"name\":"
						      "\"Group g Communication\"}},"
						      "{\"ph\":\"X\",\"name\":\"ProfilerStep#7\","
						      "\"pid\":1,\"tid\":1,\"ts\":\"1000.000\","
						      "\"dur\":100,\"cat\":\"cpu_op\"}," CALL(
							      "1010.000",
							      1) "," CALL("1020.000",
									  2) ","
									     "{\"ph\":\"X\",\"name\":\"hcom_allGather__123_0_1\",\"pid\":4,\"tid\":0,"
									     "\"ts\":\"1030.000\",\"dur\":50,\"args\":{\"connection_id\":1}}," KERNEL(
										     "1060.000",
										     "40", 2) "]");
	{
		with_run *run = load();
		const struct np_rank *rank = np_run_rank(run, 0);

		assert_int_equal(rank->ops.count, 1);
		assert_int_equal(rank->ops.item[0].step, 0);
		assert_int_equal(rank->times.item[0].communication, 50000);
		assert_int_equal(rank->times.item[0].span, 70000);
	}
}

/* --- step times of the vendor ----------------------------------------------------------------- */

static void make_step_times(const char *row)
{
	char text[512];

	(void)snprintf(
		text, sizeof(text),
		"Step,Computing,Communication(Not Overlapped),Overlapped,Communication,Free,"
		"Stage,Bubble,Communication(Not Overlapped and Exclude Receive),Preparing\n%s\n",
		row);
	write_text(below("rank0/profiler_info_0.json"), "{}");
	write_text(rank_path(0, "step_trace_time.csv"), text);
}

/* Receives of both directions wait side by side: their sum is longer than the step. */
static void a_stage_below_zero_is_what_receives_left(void **state)
{
	(void)state;
	make_step_times("3,200,100,50,150,10,-190,500,0,-16.5");
	{
		with_run *run = load();
		const struct np_step_time *time = &np_run_rank(run, 0)->times.item[0];

		assert_int_equal(time->stage, -190000);
		assert_int_equal(time->span, 310000);
		/* By the clock of the device it began before the host's mark. */
		assert_int_equal(time->preparing, NP_UNKNOWN);
		assert_no_notes(&run->notes);
	}
}

/*
 * The host ran ahead: a kernel of step 8 starts on another stream while step 7 has 300 of its
 * 400 µs to go. The vendor counts these in step 7, and here step 8 begins.
 */
static void what_steps_that_overlap_have_in_common_is_not_missing(void **state)
{
	(void)state;
	write_text(below("rank0/profiler_info_0.json"), "{}");
	write_text(
		rank_path(0, "step_trace_time.csv"),
		"Step,Computing,Communication(Not Overlapped),Overlapped,Communication,Free,Stage,"
		"Bubble\n"
		"7,400,0,0,0,0,400,0\n"
		"8,100,0,0,0,0,100,0\n");
	write_text(
		rank_path(0, "trace_view.json"),
		"[" PROCESS(1, "Python", "CPU") "," PROCESS(2, "CANN", "CPU") "," PROCESS(3, "Ascend Hardware", "NPU 0") "," STEP(7, "1000.000") "," STEP(8, "1100.000") "," CALL(
			"1010.000",
			1) "," CALL("1020.000",
				    2) "," CALL("1110.000",
						3) "," CALL("1120.000",
							    4) "," KERNEL("2000.000", "100",
									  1) "," KERNEL("2100.000",
											"300",
											2) "," KERNEL("2050.000",
												      "40",
												      3) "," KERNEL("2400.000",
														    "100",
														    4) "]");
	{
		with_run *run = load();
		const struct np_rank *rank = np_run_rank(run, 0);

		assert_int_equal(rank->coverage.count, 0);
		assert_int_equal(rank->times.count, 2);
		assert_int_equal(rank->times.item[0].computing, 100000);
		assert_int_equal(rank->times.item[1].computing, 440000);
	}
}

static void a_stage_below_what_receives_take_cannot_be(void **state)
{
	(void)state;
	make_step_times("3,200,100,50,150,10,-501,500,0,20");
	{
		with_run *run = load();

		assert_int_equal(np_run_rank(run, 0)->times.item[0].stage, NP_UNKNOWN);
		assert_noted(&run->notes, NP_NOTE_SKIPPED, "step_trace_time.csv", "impossible");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_fixture(kernels_of_operators_are_no_computing_in_databases),
		with_fixture(step_times_that_count_kernels_of_operators_are_no_contradiction),
		with_fixture(step_times_that_count_more_are_a_contradiction),
		with_fixture(kernels_of_operators_are_neither_kernels_nor_operators_in_tables),
		with_fixture(an_operator_without_tasks_is_in_the_step_of_its_call),
		with_fixture(a_stage_below_zero_is_what_receives_left),
		with_fixture(what_steps_that_overlap_have_in_common_is_not_missing),
		with_fixture(a_stage_below_what_receives_take_cannot_be),
	};

	return cmocka_run_group_tests_name("load_vendor_oddities", tests, NULL, NULL);
}
