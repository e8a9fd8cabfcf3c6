/* SPDX-License-Identifier: Apache-2.0 */
/* Files of a rank that hold less than others say: which of them is partial, and what is used. */
#include "np_load_fixture.h"

#include "npuprof/load.h"

static void assert_covers(const struct np_run *run, const struct np_file_coverage *coverage,
			  const char *file, const char *against, double share)
{
	assert_string_equal(np_run_text(run, coverage->file), file);
	assert_string_equal(np_run_text(run, coverage->against), against);
	assert_float_equal(coverage->share, share, 0.001);
}

/* --- databases -------------------------------------------------------------------------------- */

static void whole_files_are_not_listed(void **state)
{
	(void)state;
	make_rank_db(0, NULL);
	make_analysis_db(0, NULL);
	{
		with_run *run = load();

		assert_int_equal(np_run_rank(run, 0)->coverage.count, 0);
		assert_null(np_rank_withheld(np_run_rank(run, 0)));
		assert_no_notes(&run->notes);
	}
}

/* Of step 11 nothing is there: 300 of 400 µs of computing, 400 of 600 µs of communication. */
static void a_database_without_its_last_step_is_partial(void **state)
{
	(void)state;
	make_rank_db(0, "DELETE FROM COMPUTE_TASK_INFO WHERE globalTaskId = 106;"
			"DELETE FROM TASK WHERE startNs >= 2100000;"
			"DELETE FROM COMMUNICATION_OP WHERE opId = 2;"
			"DELETE FROM COMMUNICATION_TASK_INFO WHERE opId = 2");
	make_analysis_db(0, NULL);
	{
		with_run *run = load();
		const struct np_rank *rank = np_run_rank(run, 0);

		assert_int_equal(rank->coverage.count, 1);
		assert_covers(run, np_rank_withheld(rank), "ascend_pytorch_profiler_0.db",
			      "analysis.db", 400. / 600);
		/* What is whole is used. */
		assert_int_equal(rank->step_source, NP_FROM_ANALYSIS_DB);
		assert_int_equal(rank->comm_source, NP_FROM_ANALYSIS_DB);
		assert_int_equal(rank->activity.cells.count, 0);
		assert_known_analysis(run, rank);
		assert_noted(&run->notes, NP_NOTE_SKIPPED, "rank database",
			     "covers 66 % of analysis.db");
	}
}

/* A cut never makes a file larger: the step times are partial, and nobody says who is right. */
static void step_times_that_lack_a_step_are_partial(void **state)
{
	(void)state;
	make_rank_db(0, NULL);
	make_analysis_db(0, "DELETE FROM StepTraceTime WHERE step = '11';"
			    "DELETE FROM CommAnalyzerTime");
	{
		with_run *run = load();
		const struct np_rank *rank = np_run_rank(run, 0);

		assert_covers(run, np_rank_withheld(rank), "analysis.db",
			      "ascend_pytorch_profiler_0.db", 400. / 600);
		assert_int_equal(rank->step_source, NP_FROM_RANK_DB);
		assert_noted(&run->notes, NP_NOTE_SKIPPED, "analysis.db", "covers 66 % of");
	}
}

/* CommAnalyzerTime agrees with the operators of the database, but the step times do not. */
static void a_third_source_decides_which_is_partial(void **state)
{
	(void)state;
	make_rank_db(0, NULL);
	make_analysis_db(0, "UPDATE StepTraceTime SET communication = communication / 2");
	{
		with_run *run = load();
		const struct np_rank *rank = np_run_rank(run, 0);

		assert_int_equal(rank->coverage.count, 1);
		assert_covers(run, &rank->coverage.item[0], "analysis.db",
			      "ascend_pytorch_profiler_0.db", 0.5);
		assert_null(np_rank_withheld(rank));
		assert_int_equal(rank->step_source, NP_FROM_RANK_DB);
	}
}

static void a_database_alone_is_partial_by_the_rows_that_it_names(void **state)
{
	(void)state;
	make_rank_db(0, "DELETE FROM TASK WHERE globalTaskId = 106");
	{
		with_run *run = load();
		const struct np_rank *rank = np_run_rank(run, 0);

		assert_covers(run, np_rank_withheld(rank), "ascend_pytorch_profiler_0.db",
			      "COMPUTE_TASK_INFO", 2. / 3);
		/* Nobody knows the times of its steps; operators are as they are. */
		assert_int_equal(rank->times.count, 0);
		assert_int_equal(rank->activity.cells.count, 0);
		assert_int_equal(rank->ops.count, 2);
	}
}

static void a_database_that_cannot_be_read_covers_nothing(void **state)
{
	(void)state;
	make_rank_db(0, NULL);
	make_analysis_db(0, NULL);
	assert_int_equal(truncate(rank_db(0), 5000), 0);
	{
		with_run *run = load();

		assert_covers(run, np_rank_withheld(np_run_rank(run, 0)),
			      "ascend_pytorch_profiler_0.db", "analysis.db", 0);
	}
}

/* --- text ------------------------------------------------------------------------------------- */

#define KERNELS \
	"Step Id,Name,Type,Accelerator Core,Start Time(us),Duration(us)\n" \
	"10,m1,MatMul,AI_CORE,1000.000\t,100.000\n" \
	"10,m2,MatMul,AI_CORE,1100.000\t,100.000\n"
#define MORE_KERNELS \
	"10,hcom_allReduce__123_0_1,hcom_allReduce_,HCCL,1300.000\t,200.000\n" \
	"11,m3,MatMul,AI_CORE,2000.000\t,200.000\n"
#define STEPS \
	"Step,Computing,Communication(Not Overlapped),Overlapped,Communication,Free,Stage,Bubble\n"
#define STEP_10   "10,200,200,0,200,100,500,0\n"
#define STEP_11   "11,200,0,0,0,0,200,0\n"
#define STATISTIC "OP Type,Core Type,Count,Total Time(us)\n"

/* Any of them may be NULL. */
static void make_text(const char *kernels, const char *steps, const char *statistic)
{
	write_text(below("rank0/profiler_info_0.json"), "{}");
	if (kernels)
		write_text(rank_path(0, "kernel_details.csv"), kernels);
	if (steps)
		write_text(rank_path(0, "step_trace_time.csv"), steps);
	if (statistic)
		write_text(rank_path(0, "op_statistic.csv"), statistic);
}

static void whole_text_files_are_not_listed(void **state)
{
	(void)state;
	make_text(KERNELS MORE_KERNELS, STEPS STEP_10 STEP_11, STATISTIC "MatMul,AI_CORE,3,400\n");
	{
		with_run *run = load();

		assert_int_equal(np_run_rank(run, 0)->coverage.count, 0);
		assert_int_equal(np_run_rank(run, 0)->step_source, NP_FROM_KERNELS);
	}
}

/* Spreadsheets write thousands apart; other commas make a cell no number. */
static void numbers_may_have_commas_between_thousands(void **state)
{
	(void)state;
	make_text("Step Id,Name,Type,Accelerator Core,Start Time(us),Duration(us)\n"
		  "10,m1,MatMul,AI_CORE,\"1,001,000.000\",\"1,234.567\"\n"
		  "10,m2,MatMul,AI_CORE,1002234.567\t,\"1,000,000\"\n"
		  "10,m3,MatMul,AI_CORE,2002234.567\t,\"12,34.5\"\n"
		  "10,m4,MatMul,AI_CORE,2002234.567\t,\"1,2345\"\n",
		  STEPS "10,\"1,001,234.567\",0,0,0,0,\"1,001,234.567\",0\n",
		  STATISTIC "MatMul,AI_CORE,2,\"1,001,234.567\"\n");
	{
		with_run *run = load();

		assert_int_equal(np_run_rank(run, 0)->times.item[0].computing, 1001234567);
	}
}

/* 200 of 400 µs of computing, and none of 200 µs of communication. */
static void a_table_that_was_cut_is_partial(void **state)
{
	(void)state;
	make_text(KERNELS, STEPS STEP_10 STEP_11, NULL);
	{
		with_run *run = load();
		const struct np_rank *rank = np_run_rank(run, 0);

		assert_covers(run, np_rank_withheld(rank), "kernel_details.csv",
			      "step_trace_time.csv", 0);
		assert_int_equal(rank->step_source, NP_FROM_TEXT);
		assert_int_equal(time_of(run, rank, "11", -1)->computing, 200000);
		assert_int_equal(rank->activity.cells.count, 0);
	}
}

/* Without step times: two of three kernels, 200 of 400 µs. */
static void a_table_is_partial_by_the_statistic_alone(void **state)
{
	(void)state;
	make_text(KERNELS, NULL, STATISTIC "MatMul,AI_CORE,3,400\n");
	{
		with_run *run = load();
		const struct np_rank *rank = np_run_rank(run, 0);

		assert_covers(run, np_rank_withheld(rank), "kernel_details.csv", "op_statistic.csv",
			      0.5);
		assert_int_equal(rank->times.count, 0);
	}
}

/* Little is missing by time, but of 30 kernels there are 28. */
static void a_table_is_partial_by_its_rows(void **state)
{
	struct np_buf kernels = NP_BUF_INIT;

	(void)state;
	np_buf_add(&kernels, KERNELS MORE_KERNELS);
	for (int i = 0; i < 25; i++)
		np_buf_printf(&kernels, "11,s%d,Small,AI_CORE,%d.000\t,0.010\n", i, 2300 + i);
	make_text(kernels.text, STEPS STEP_10 STEP_11,
		  STATISTIC "MatMul,AI_CORE,3,400\nSmall,AI_CORE,27,0.27\n");
	np_buf_release(&kernels);
	{
		with_run *run = load();

		assert_covers(run, np_rank_withheld(np_run_rank(run, 0)), "kernel_details.csv",
			      "op_statistic.csv", 28. / 30);
	}
}

/* The table and the statistic agree. */
static void step_times_that_say_too_much_are_wrong(void **state)
{
	(void)state;
	make_text(KERNELS MORE_KERNELS, STEPS "10,600,200,0,200,100,500,0\n" STEP_11,
		  STATISTIC "MatMul,AI_CORE,3,400\n");
	{
		with_run *run = load();
		const struct np_rank *rank = np_run_rank(run, 0);

		assert_int_equal(rank->coverage.count, 1);
		assert_covers(run, &rank->coverage.item[0], "step_trace_time.csv",
			      "kernel_details.csv", 2);
		assert_null(np_rank_withheld(rank));
		assert_int_equal(rank->step_source, NP_FROM_KERNELS);
	}
}

/* Kernels that serve communication are none of computing: the vendor leaves them out. */
static void kernels_of_communication_are_no_excess(void **state)
{
	(void)state;
	make_text(KERNELS MORE_KERNELS
		  "11,MatmulAllReduceAicpuKernel,Aicpu,AI_CPU,2300.000\t,500.000\n",
		  STEPS STEP_10 STEP_11, NULL);
	{
		with_run *run = load();

		assert_int_equal(np_run_rank(run, 0)->coverage.count, 0);
	}
}

/*
 * The host ran ahead: a receive of step 11 begins in step 10 and lasts into step 11, beside its
 * messages. The vendor has that time once.
 */
static void operators_beside_those_of_the_next_step_count_once(void **state)
{
	(void)state;
	make_text(KERNELS "10,hcom_receive__123_0_1,hcom_receive_,HCCL,1300.000\t,900.000\n"
			  "11,hcom_send__123_1_1,hcom_send_,HCCL,1700.000\t,400.000\n"
			  "11,m3,MatMul,AI_CORE,2300.000\t,200.000\n",
		  STEPS "10,200,900,0,900,100,500,0\n"
			"11,200,0,0,0,0,200,0\n",
		  NULL);
	{
		with_run *run = load();

		assert_int_equal(np_run_rank(run, 0)->coverage.count, 0);
	}
}

/* A table of no steps holds what ran beside them, too. */
static void a_table_without_steps_may_hold_more(void **state)
{
	(void)state;
	make_text("Name,Type,Accelerator Core,Start Time(us),Duration(us)\n"
		  "m0,MatMul,AI_CORE,900.000\t,900.000\n"
		  "m1,MatMul,AI_CORE,1900.000\t,400.000\n"
		  "hcom_allReduce__123_0_1,hcom_allReduce_,HCCL,2300.000\t,200.000\n",
		  STEPS STEP_10 STEP_11, NULL);
	{
		with_run *run = load();

		assert_int_equal(np_run_rank(run, 0)->coverage.count, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_fixture(whole_files_are_not_listed),
		with_fixture(a_database_without_its_last_step_is_partial),
		with_fixture(step_times_that_lack_a_step_are_partial),
		with_fixture(a_third_source_decides_which_is_partial),
		with_fixture(operators_beside_those_of_the_next_step_count_once),
		with_fixture(numbers_may_have_commas_between_thousands),
		with_fixture(a_database_alone_is_partial_by_the_rows_that_it_names),
		with_fixture(a_database_that_cannot_be_read_covers_nothing),
		with_fixture(whole_text_files_are_not_listed),
		with_fixture(a_table_that_was_cut_is_partial),
		with_fixture(a_table_is_partial_by_the_statistic_alone),
		with_fixture(a_table_is_partial_by_its_rows),
		with_fixture(step_times_that_say_too_much_are_wrong),
		with_fixture(kernels_of_communication_are_no_excess),
		with_fixture(a_table_without_steps_may_hold_more),
	};

	return cmocka_run_group_tests_name("load_coverage", tests, NULL, NULL);
}
