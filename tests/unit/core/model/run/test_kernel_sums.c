/* SPDX-License-Identifier: Apache-2.0 */
#include "np_rank_db.h"
#include "np_synth.h"

#include "npuprof/activity.h"
#include "npuprof/kernel_sums.h"
#include "npuprof/rank.h"

/* The kernels of a rank database, summed while it is loaded. */

static bool is_product(const char *name)
{
	return strcmp(name, "aten::matmul") == 0 || strcmp(name, "aten::mm") == 0;
}

static const struct np_kernel_sums *sums_of(const struct np_run *run)
{
	struct np_rank *rank = run->ranks[0];
	struct np_err err = NP_ERR_INIT;

	assert_non_null(rank);
	if (rank->packed_sums && !rank->kernel_sums)
		assert_ok(np_kernel_sums_unpack(rank->packed_sums, &rank->kernel_sums, &err), err);
	return rank->kernel_sums;
}

/* The sum of kernels of this name, framework_op and step; NULL for none. */
static const struct np_kernel_sum *find(const struct np_run *run, const char *name,
					const char *framework_op, const char *step)
{
	const struct np_kernel_sums *sums = sums_of(run);

	assert_non_null(sums);
	for (size_t i = 0; i < sums->sums.count; i++) {
		const struct np_kernel_sum *sum = &sums->sums.item[i];
		const struct np_kernel_sort *sort = &sums->sorts.item[sum->sort];

		if (strcmp(np_strtab_text(run->strings, sort->name), name) == 0 &&
		    strcmp(np_strtab_text(run->strings, sort->framework_op), framework_op) == 0 &&
		    strcmp(np_strtab_text(run->strings, sum->step), step) == 0)
			return sum;
	}
	return NULL;
}

static void assert_sum(const struct np_kernel_sum *sum, int64_t count, np_ns total, np_ns owned,
		       np_ns least, np_ns most)
{
	assert_non_null(sum);
	assert_int_equal(sum->count, count);
	assert_int_equal(sum->total, total);
	assert_int_equal(sum->owned, owned);
	assert_int_equal(sum->least, least);
	assert_int_equal(sum->most, most);
}

/* A call of the framework that launched a connection; both have this id. */
static void call(int id, int64_t start, int64_t end, const char *name)
{
	rank_sql(0,
		 "INSERT INTO PYTORCH_API(startNs,endNs,globalTid,connectionId,name,type)"
		 " VALUES('%lld','%lld',7,%d,T('%s'),50001);"
		 "INSERT INTO CONNECTION_IDS VALUES(%d,%d)",
		 (long long)start, (long long)end, id, name, id, id);
}

static void two_steps(void)
{
	rank_db(0);
	rank_sql(0, "INSERT INTO STEP_TIME VALUES(5,1000,2000),(6,2000,3000)");
	for (int i = 1; i <= 4; i++)
		rank_sql(0, "INSERT INTO CANN_API VALUES(%d,%d,10000,7,%d,T('launch'))",
			 i < 4 ? 1000 + i : 2001, i < 4 ? 1010 + i : 2010, i);
}

/*
 * Step 5 has a [1100, 1200), b [1150, 1180) inside it and a [1190, 1250), of which
 * 50 ns are its own; step 6 has a [2100, 2110).
 */
static void what_runs_at_once_is_owned_by_what_started_first(void **state)
{
	struct np_run *run;

	(void)state;
	two_steps();
	rank_kernel(0, 1, 1100, 1200, "a");
	rank_kernel(0, 2, 1150, 1180, "b");
	rank_kernel(0, 3, 1190, 1250, "a");
	rank_kernel(0, 4, 2100, 2110, "a");
	run = synth_load_sums(below("run"), is_product);
	assert_sum(find(run, "a", "", "5"), 2, 160, 150, 60, 100);
	assert_sum(find(run, "b", "", "5"), 1, 30, 0, 30, 30);
	assert_sum(find(run, "a", "", "6"), 1, 10, 10, 10, 10);
	assert_int_equal(sums_of(run)->sums.count, 3);
	np_run_free(run);
}

/* The order of rows does not matter: here the last kernel comes first. */
static void kernels_are_summed_in_the_order_of_time(void **state)
{
	struct np_run *run;

	(void)state;
	two_steps();
	rank_kernel(0, 3, 1190, 1250, "a");
	rank_kernel(0, 2, 1150, 1180, "b");
	rank_kernel(0, 1, 1100, 1200, "a");
	run = synth_load_sums(below("run"), is_product);
	assert_sum(find(run, "a", "", "5"), 2, 160, 150, 60, 100);
	assert_sum(find(run, "b", "", "5"), 1, 30, 0, 30, 30);
	np_run_free(run);
}

/* aten::mm 2 lies inside aten::matmul 1; aten::add 3 lies in neither. */
static void the_outermost_call_that_counts_is_the_origin(void **state)
{
	struct np_run *run;

	(void)state;
	two_steps();
	rank_kernel(0, 1, 1100, 1110, "k");
	rank_kernel(0, 2, 1120, 1140, "k");
	rank_kernel(0, 3, 1150, 1180, "k");
	call(1, 1001, 1060, "aten::matmul");
	call(2, 1002, 1050, "aten::mm");
	call(3, 1070, 1080, "aten::add");
	run = synth_load_sums(below("run"), is_product);
	assert_sum(find(run, "k", "aten::matmul", "5"), 2, 30, 30, 10, 20);
	assert_sum(find(run, "k", "", "5"), 1, 30, 30, 30, 30);
	np_run_free(run);
}

/* What comes later in the table began earlier: nothing can be told in one pass. */
static void calls_out_of_order_leave_the_kernels_to_the_detail(void **state)
{
	struct np_run *run;

	(void)state;
	two_steps();
	rank_kernel(0, 1, 1100, 1110, "k");
	call(1, 1005, 1060, "aten::mm");
	call(2, 1001, 1070, "aten::matmul");
	call(3, 1080, 1090, "aten::mm");
	run = synth_load_sums(below("run"), is_product);
	assert_null(sums_of(run));
	np_run_free(run);
}

static np_ns spent_on(const struct np_run *run, enum np_leaf_kind kind)
{
	const struct np_activity *activity = &run->ranks[0]->activity;
	np_ns sum = 0;

	for (size_t i = 0; i < activity->shares.count; i++) {
		if (np_leaf_kind(activity->shares.item[i].leaf) == kind)
			sum += activity->shares.item[i].ns;
	}
	return sum;
}

/*
 * Data is loaded [1120, 1150) while the device waits for a launch that ends at 1190;
 * calls in order, and then out of it.
 */
static void what_loads_data_is_known_whether_kernels_are_summed_or_not(void **state)
{
	(void)state;
	two_steps();
	rank_kernel(0, 1, 1100, 1110, "k");
	rank_kernel(0, 2, 1200, 1210, "k");
	call(1, 1002, 1060, "aten::mm");
	call(2, 1120, 1150, "enumerate(DataLoader)#next");
	rank_sql(0, "UPDATE CANN_API SET endNs = 1190 WHERE connectionId = 2");
	for (int i = 0; i < 2; i++) {
		struct np_run *summed = synth_load_sums(below("run"), is_product);
		struct np_run *plain = synth_load(below("run"));

		assert_int_equal(sums_of(summed) == NULL, i == 1);
		assert_int_equal(spent_on(summed, NP_LEAF_FREE_DATALOADER), 30);
		assert_int_equal(spent_on(plain, NP_LEAF_FREE_DATALOADER), 30);
		np_run_free(summed);
		np_run_free(plain);
		call(3, 1001, 1070, "aten::mm");
	}
}

/* mac 30, total 40 and aiv 5 are told of kernel 1, nothing of kernel 2; mte2 of 1 is 35. */
static void counters_tell_the_unit_and_the_time_of_computing(void **state)
{
	const struct np_kernel_sums *sums;
	const struct np_kernel_sum *sum;
	struct np_run *run;

	(void)state;
	two_steps();
	rank_kernel(0, 1, 1100, 1200, "cube");
	rank_kernel(0, 2, 1200, 1300, "other");
	rank_sql(0, "CREATE TABLE TASK_PMU_INFO (globalTaskId INTEGER,name INTEGER,value NUMERIC);"
		    "INSERT INTO TASK_PMU_INFO VALUES(1,T('aic_mac_time'),30),"
		    "(1,T('aic_total_time'),40),(1,T('aic_mte2_time'),35),(1,T('aiv_time'),5),"
		    "(1,T('aic_mac_ratio'),0.5),(77,T('aic_mac_time'),1)");
	run = synth_load_sums(below("run"), is_product);
	sums = sums_of(run);
	sum = find(run, "cube", "", "5");
	assert_non_null(sum);
	assert_int_equal(sums->sorts.item[sum->sort].cube, NP_CUBE_YES);
	assert_int_equal(sum->computing, 40);
	sum = find(run, "other", "", "5");
	assert_non_null(sum);
	assert_int_equal(sums->sorts.item[sum->sort].cube, NP_CUBE_UNKNOWN);
	assert_int_equal(sum->computing, 0);
	np_run_free(run);
}

static void the_device_is_told_beside_the_sums(void **state)
{
	struct np_run *run;

	(void)state;
	two_steps();
	rank_kernel(0, 1, 1100, 1200, "a");
	rank_sql(0, "INSERT INTO NPU_INFO VALUES(0,'Ascend910B');"
		    "INSERT INTO AICORE_FREQ VALUES(0,1000,1800),(0,1100,1601),(0,1200,-1)");
	run = synth_load_sums(below("run"), is_product);
	assert_string_equal(np_strtab_text(run->strings, sums_of(run)->chip), "Ascend910B");
	/* 1700.5, rounded */
	assert_int_equal(sums_of(run)->mhz, 1701);
	np_run_free(run);
}

static void kernels_are_not_summed_unless_asked_for(void **state)
{
	struct np_run *run;

	(void)state;
	two_steps();
	rank_kernel(0, 1, 1100, 1200, "a");
	run = synth_load(below("run"));
	assert_null(sums_of(run));
	np_run_free(run);
}

/* Thread 1 runs a [0, 100) around b [10, 20) and c [30, 40); thread 2 runs d meanwhile. */
static void calls_are_open_by_thread(void **state)
{
	struct np_open_calls open;
	struct np_err err = NP_ERR_INIT;
	uint32_t framework_op;

	(void)state;
	assert_ok(np_open_calls_init(&open, &err), err);
	assert_ok(np_open_calls_enter(&open, 1, 0, 100, 1, &framework_op, &err), err);
	assert_int_equal(framework_op, 1);
	assert_ok(np_open_calls_enter(&open, 2, 5, 200, UINT32_MAX, &framework_op, &err), err);
	assert_int_equal(framework_op, UINT32_MAX);
	assert_ok(np_open_calls_enter(&open, 1, 10, 20, 3, &framework_op, &err), err);
	assert_int_equal(framework_op, 1);
	assert_ok(np_open_calls_enter(&open, 1, 30, 40, UINT32_MAX, &framework_op, &err), err);
	assert_int_equal(framework_op, 1);
	assert_ok(np_open_calls_enter(&open, 1, 110, 120, UINT32_MAX, &framework_op, &err), err);
	assert_int_equal(framework_op, UINT32_MAX);
	assert_int_equal(np_open_calls_enter(&open, 1, 109, 120, 1, &framework_op, &err),
			 NP_E_RANGE);
	np_open_calls_release(&open);
}

#define ON_FILES(test) cmocka_unit_test_setup_teardown(test, np_fixture_setup, np_fixture_teardown)

/* Alone and not, of the same place and not, and values at the ends of their ranges. */
static void sums_are_the_same_when_they_were_packed(void **state)
{
	static const struct np_kernel_sort sorts[] = {
		{ .name = 7, .type = 3, .core = 9, .in_shapes = UINT32_MAX, .cube = NP_CUBE_YES },
		{ .name = 2, .framework_op = 5, .framework_op_backward = true, .cube = NP_CUBE_NO },
		{ .in_dtypes = 1, .in_formats = UINT32_MAX },
	};
	static const struct np_kernel_sum rows[] = {
		{ 2, 4, -1, 1, 50, 50, 50, 50, 0 },
		{ 0, 4, -1, 1, 50, 20, 50, 50, 7 },
		{ 1, 4, 3, 2, 90, 90, 40, 50, 0 },
		{ 1, 5, 3, 1, INT64_MAX, INT64_MIN, INT64_MAX, INT64_MAX, -1 },
		{ UINT32_MAX, 5, 3, 1, INT64_MIN, INT64_MAX, 0, 0, INT64_MIN },
		{ 0, 0, INT32_MIN, 0, 0, 0, 0, 0, 0 },
	};
	struct np_kernel_sums sums = { .chip = 11, .mhz = NP_UNKNOWN };
	struct np_packed_sums *packed = NULL;
	struct np_kernel_sums *again = NULL;
	struct np_err err = NP_ERR_INIT;

	(void)state;
	for (size_t i = 0; i < NP_COUNT(sorts); i++)
		*np_vec_add(&sums.sorts, &err) = sorts[i];
	for (size_t i = 0; i < NP_COUNT(rows); i++)
		*np_vec_add(&sums.sums, &err) = rows[i];
	assert_ok(np_kernel_sums_pack(&sums, &packed, &err), err);
	assert_ok(np_kernel_sums_unpack(packed, &again, &err), err);
	assert_int_equal(again->chip, 11);
	assert_int_equal(again->mhz, NP_UNKNOWN);
	assert_int_equal(again->sorts.count, NP_COUNT(sorts));
	assert_int_equal(again->sums.count, NP_COUNT(rows));
	assert_memory_equal(again->sorts.item, sums.sorts.item, sizeof(sorts));
	assert_memory_equal(again->sums.item, sums.sums.item, sizeof(rows));
	np_packed_sums_free(packed);
	np_kernel_sums_free(again);
	np_vec_release(&sums.sorts);
	np_vec_release(&sums.sums);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		ON_FILES(what_runs_at_once_is_owned_by_what_started_first),
		ON_FILES(kernels_are_summed_in_the_order_of_time),
		ON_FILES(the_outermost_call_that_counts_is_the_origin),
		ON_FILES(calls_out_of_order_leave_the_kernels_to_the_detail),
		ON_FILES(what_loads_data_is_known_whether_kernels_are_summed_or_not),
		ON_FILES(counters_tell_the_unit_and_the_time_of_computing),
		ON_FILES(the_device_is_told_beside_the_sums),
		ON_FILES(kernels_are_not_summed_unless_asked_for),
		cmocka_unit_test(calls_are_open_by_thread),
		cmocka_unit_test(sums_are_the_same_when_they_were_packed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
