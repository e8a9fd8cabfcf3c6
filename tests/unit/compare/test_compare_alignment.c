/* SPDX-License-Identifier: Apache-2.0 */
#include "compare/engine/cmp_views.h"

#include "np_rank_db.h"
#include "np_synth.h"

/* Operators, modules and kernels of two small runs written by hand, side by side. */

/* A call of the framework that launched what has its id, on a thread; its shapes. */
static void call(int id, int64_t start, int64_t end, int thread, const char *name,
		 const char *shapes)
{
	rank_sql(
		0,
		"INSERT INTO PYTORCH_API(startNs,endNs,globalTid,connectionId,name,type,inputShapes,"
		"inputDtypes) VALUES('%lld','%lld',%d,%d,T('%s'),50001,T('%s'),T('float'));"
		"INSERT INTO CONNECTION_IDS VALUES(%d,%d)",
		(long long)start, (long long)end, thread, id, name, shapes, id, id);
}

static void module(int64_t start, int64_t end, const char *name)
{
	rank_sql(0,
		 "INSERT INTO PYTORCH_API(startNs,endNs,globalTid,name,type)"
		 " VALUES('%lld','%lld',1,T('nn.Module: %s'),50003)",
		 (long long)start, (long long)end, name);
}

/* A kernel on a stream, launched by the call of its id. */
static void kernel(int id, int64_t start, int64_t end, int stream, const char *type)
{
	rank_kernel(0, id, start, end, type);
	rank_sql(0,
		 "UPDATE TASK SET streamId=%d WHERE globalTaskId=%d;"
		 "INSERT INTO CANN_API VALUES(1001,1002,10000,7,%d,T('launch'))",
		 stream, id, id);
}

static void begin(void)
{
	rank_db(0);
	rank_sql(0, "INSERT INTO STEP_TIME VALUES(5,1000,9000)");
}

/* What was written becomes the run `name`. */
static void end(const char *name)
{
	assert_int_equal(rename(below("run"), below("%s", name)), 0);
}

static struct comparison *compare(void)
{
	static const struct np_workers workers = { .threads = 1 };
	const struct cmp_options options = { .min_share = 0.01, .workers = &workers };
	struct np_analysis *sides[CMP_SIDES];
	struct comparison *comparison = NULL;
	struct np_err err = NP_ERR_INIT;

	for (int i = 0; i < CMP_SIDES; i++)
		assert_ok(np_analysis_build(
				  synth_load_sums(below(i ? "new" : "base"), cmp_is_cube_op), NULL,
				  1, &sides[i], &err),
			  err);
	assert_ok(comparison_build(sides[0], sides[1], &options, &comparison, &err), err);
	return comparison;
}

/* The rows as "thread change base/new" in lines. */
static void expect_rows(const struct comparison *comparison, const struct cmp_alignment *alignment,
			const char *expected)
{
	NP_CLEANUP(np_buf_release) struct np_buf text = NP_BUF_INIT;

	for (size_t i = 0; i < alignment->rows.count; i++) {
		const struct cmp_aligned *row = &alignment->rows.item[i];
		const char *base = cmp_text(comparison, row->side[CMP_BASE].name);
		const char *new_ = cmp_text(comparison, row->side[CMP_NEW].name);

		np_buf_printf(&text, "%u%*s%s %s %s/%s %lld/%lld\n", row->thread,
			      (int)row->level + 1, "", row->module ? "module" : "op",
			      *row->change ? row->change : "same", base ? base : "-",
			      new_ ? new_ : "-", (long long)row->side[CMP_BASE].total,
			      (long long)row->side[CMP_NEW].total);
	}
	assert_string_equal(text.text ? text.text : "", expected);
}

static void expect_alignment(const char *expected)
{
	struct comparison *comparison = compare();
	struct cmp_alignment alignment = { 0 };
	struct np_err err = NP_ERR_INIT;

	assert_ok(cmp_align_calls(comparison, &alignment, &err), err);
	expect_rows(comparison, &alignment, expected);
	cmp_alignment_release(&alignment);
	comparison_free(comparison);
}

/* Two operators of one module; in the new run the first has another shape and one comes before. */
static void calls_are_aligned_module_by_module(void **state)
{
	(void)state;
	begin();
	module(1010, 1100, "Net_0");
	call(1, 1020, 1030, 1, "aten::linear", "2,2");
	call(2, 1040, 1050, 1, "aten::relu", "2,2");
	kernel(1, 2000, 2100, 2, "MatMul");
	kernel(2, 2100, 2120, 2, "Relu");
	end("base");
	begin();
	module(1010, 1100, "Net_0");
	call(3, 1012, 1018, 1, "aten::to", "2,2");
	call(1, 1020, 1030, 1, "aten::linear", "4,2");
	call(2, 1040, 1050, 1, "aten::relu", "2,2");
	kernel(3, 1990, 2000, 2, "Cast");
	kernel(1, 2000, 2150, 2, "MatMul");
	kernel(2, 2150, 2170, 2, "Relu");
	end("new");
	expect_alignment("1 module same Net_0/Net_0 120/180\n"
			 "1  op new -/aten::to 0/10\n"
			 "1  op shape aten::linear/aten::linear 100/150\n"
			 "1  op same aten::relu/aten::relu 20/20\n");
}

/* One operator has two connections: kernels of both count, for it and its module (deviation 7.1-5).
 */
static void all_kernels_of_an_operator_count_for_its_module(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		begin();
		module(1010, 1100, "Net_0");
		call(1, 1020, 1030, 1, "aten::conv2d", "2,2");
		rank_sql(0, "INSERT INTO CONNECTION_IDS VALUES(1,2)");
		kernel(1, 2000, 2030, 2, "TransData");
		kernel(2, 2100, 2150, 2, "Conv2D");
		end(i ? "new" : "base");
	}
	expect_alignment("1 module same Net_0/Net_0 80/80\n"
			 "1  op same aten::conv2d/aten::conv2d 80/80\n");
}

/* Threads have other numbers in every run: what they do tells which belong together. */
static void threads_are_paired_by_what_they_do(void **state)
{
	(void)state;
	begin();
	call(1, 1020, 1030, 11, "aten::a", "1");
	call(2, 1040, 1050, 12, "aten::b", "1");
	kernel(1, 2000, 2100, 2, "A");
	kernel(2, 2100, 2120, 2, "B");
	end("base");
	begin();
	call(2, 1010, 1015, 21, "aten::b", "1");
	call(1, 1020, 1030, 22, "aten::a", "1");
	kernel(2, 2000, 2030, 2, "B");
	kernel(1, 2030, 2130, 2, "A");
	end("new");
	expect_alignment("1 op same aten::a/aten::a 100/100\n2 op same aten::b/aten::b 20/30\n");
}

static void several_operators_that_became_one_are_fused(void **state)
{
	(void)state;
	begin();
	call(1, 1020, 1030, 1, "aten::mul", "1");
	call(2, 1040, 1050, 1, "aten::add", "1");
	call(3, 1060, 1070, 1, "aten::end", "1");
	kernel(1, 2000, 2100, 2, "Mul");
	kernel(2, 2100, 2120, 2, "Add");
	kernel(3, 2120, 2130, 2, "End");
	end("base");
	begin();
	call(1, 1020, 1030, 1, "aten::addcmul", "1");
	call(3, 1060, 1070, 1, "aten::end", "1");
	kernel(1, 2000, 2060, 2, "Addcmul");
	kernel(3, 2120, 2130, 2, "End");
	end("new");
	expect_alignment("1 op fused aten::mul/- 100/0\n1 op fused aten::add/- 20/0\n"
			 "1 op fused -/aten::addcmul 0/60\n1 op same aten::end/aten::end 10/10\n");
}

/* One operator launches two kernels where it launched one. */
static void other_kernels_of_the_same_operator_are_told(void **state)
{
	(void)state;
	begin();
	call(1, 1020, 1030, 1, "aten::mm", "1");
	kernel(1, 2000, 2100, 2, "MatMul");
	end("base");
	begin();
	call(1, 1020, 1030, 1, "aten::mm", "1");
	rank_sql(0, "INSERT INTO CONNECTION_IDS VALUES(1,2)");
	kernel(1, 2000, 2100, 2, "MatMul");
	kernel(2, 2100, 2110, 2, "Cast");
	end("new");
	expect_alignment("1 op kernels aten::mm/aten::mm 100/110\n");
}

/*
 * The backward operator has no module around it: number 50 ties it to the forward
 * one, and its made-up module holds it.
 */
static void backward_operators_are_in_the_module_of_the_forward_ones(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		begin();
		module(1010, 1100, "Net_0");
		call(1, 1020, 1030, 1, "aten::linear", "1");
		call(2, 1200, 1300, 2, "AddmmBackward0", "1");
		rank_sql(0, "INSERT INTO CONNECTION_IDS VALUES(1,50),(2,50)");
		kernel(1, 2000, 2100, 2, "MatMul");
		kernel(2, 2100, 2300 + i, 2, "MatMul");
		end(i ? "new" : "base");
	}
	expect_alignment("1 module same Net_0/Net_0 100/100\n"
			 "1  op same aten::linear/aten::linear 100/100\n"
			 "2 module same [ BACKWARD ]Net_0/[ BACKWARD ]Net_0 200/201\n"
			 "2  op same AddmmBackward0/AddmmBackward0 200/201\n");
}

/* The same kernels on two streams that began in another order: nothing came or went. */
static void kernels_of_different_streams_do_not_mix(void **state)
{
	struct comparison *comparison;

	(void)state;
	begin();
	kernel(1, 2000, 2100, 2, "A");
	kernel(2, 2050, 2150, 3, "B");
	kernel(3, 2100, 2200, 2, "C");
	end("base");
	begin();
	kernel(2, 1990, 2090, 8, "B");
	kernel(1, 2000, 2100, 9, "A");
	kernel(3, 2100, 2200, 9, "C");
	end("new");
	comparison = compare();
	assert_int_equal(comparison->structure.count, 0);
	comparison_free(comparison);
}

/*
 * One such kernel of 1000 ns with counters of 300 + 50 ns. Tasks of the communication
 * core end at 2100 and 2250, and at 2400 and 2500, while it runs: 150 + 100 ns; that
 * at 5000 is of nobody.
 */
static void kernels_that_communicate_have_both_parts(void **state)
{
	struct comparison *comparison;

	(void)state;
	for (int i = 0; i < 2; i++) {
		begin();
		kernel(1, 2000, 3000, 2, "AllGatherMatmul");
		rank_sql(
			0,
			"CREATE TABLE TASK_PMU_INFO (globalTaskId INTEGER,name INTEGER,value NUMERIC);"
			"INSERT INTO TASK_PMU_INFO VALUES(1,T('aic_mac_time'),300),"
			"(1,T('aiv_time'),50)");
		for (int j = 0; i == 0 && j < 5; j++)
			rank_sql(
				0,
				"INSERT INTO TASK(startNs,endNs,connectionId,globalTaskId,taskType,"
				"streamId) VALUES(%d,%d,%d,%d,T('C_CORE_SQE'),4)",
				2010 + j, (const int[]){ 2100, 2250, 2400, 2500, 5000 }[j], 90 + j,
				90 + j);
		end(i ? "new" : "base");
	}
	comparison = compare();
	assert_int_equal(comparison->mc2.count, 1);
	assert_string_equal(cmp_text(comparison, comparison->mc2.item[0].type), "AllGatherMatmul");
	assert_int_equal(comparison->mc2.item[0].total[CMP_BASE], 1000);
	assert_int_equal(comparison->mc2.item[0].computing[CMP_BASE], 350);
	assert_int_equal(comparison->mc2.item[0].communication[CMP_BASE], 250);
	/* The new run did not record those tasks: unknown, and not nothing. */
	assert_int_equal(comparison->mc2.item[0].computing[CMP_NEW], 350);
	assert_int_equal(comparison->mc2.item[0].communication[CMP_NEW], NP_UNKNOWN);
	comparison_free(comparison);
}

#define ON_FILES(test) cmocka_unit_test_setup_teardown(test, np_fixture_setup, np_fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ON_FILES(calls_are_aligned_module_by_module),
		ON_FILES(all_kernels_of_an_operator_count_for_its_module),
		ON_FILES(threads_are_paired_by_what_they_do),
		ON_FILES(several_operators_that_became_one_are_fused),
		ON_FILES(other_kernels_of_the_same_operator_are_told),
		ON_FILES(backward_operators_are_in_the_module_of_the_forward_ones),
		ON_FILES(kernels_of_different_streams_do_not_mix),
		ON_FILES(kernels_that_communicate_have_both_parts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
