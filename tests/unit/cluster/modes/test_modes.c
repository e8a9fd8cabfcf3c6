/* SPDX-License-Identifier: Apache-2.0 */
#include "np_synth.h"

#include "np_cluster_fixture.h"
#include "np_random.h"
#include "np_rank_db.h"

#include "npuprof/modes.h"
#include "npuprof/text.h"

/* --- asking tables --------------------------------------------------------------------------- */

static const struct np_mode_table *table_of(const struct np_modes *modes, const char *name)
{
	for (const struct np_mode_table *table = modes->tables; table; table = table->next) {
		if (strcmp(table->relation.name, name) == 0)
			return table;
	}
	fail_msg("no table %s", name);
	return NULL;
}

static const struct np_cell *cell(const struct np_modes *modes, const char *name, size_t row,
				  const char *column)
{
	const struct np_mode_table *table = table_of(modes, name);

	if (row >= table->rows)
		fail_msg("%s has %zu rows", name, table->rows);
	for (size_t i = 0; i < table->relation.column_count; i++) {
		if (strcmp(table->relation.columns[i].name, column) == 0)
			return &table->cells[row * table->relation.column_count + i];
	}
	fail_msg("%s has no column %s", name, column);
	return NULL;
}

static double real(const struct np_modes *modes, const char *name, size_t row, const char *column)
{
	const struct np_cell *at = cell(modes, name, row, column);

	assert_true(at->type == NP_CELL_REAL || at->type == NP_CELL_INTEGER);
	return at->type == NP_CELL_REAL ? at->real : (double)at->integer;
}

static int64_t integer(const struct np_modes *modes, const char *name, size_t row,
		       const char *column)
{
	const struct np_cell *at = cell(modes, name, row, column);

	if (at->type != NP_CELL_INTEGER)
		fail_msg("%s, row %zu, %s is no integer", name, row, column);
	return at->integer;
}

static const char *text(const struct np_modes *modes, const char *name, size_t row,
			const char *column)
{
	const struct np_cell *at = cell(modes, name, row, column);

	assert_int_equal(at->type, NP_CELL_TEXT);
	return at->text.bytes;
}

static bool is_null(const struct np_modes *modes, const char *name, size_t row, const char *column)
{
	return cell(modes, name, row, column)->type == NP_CELL_NULL;
}

static size_t rows(const struct np_modes *modes, const char *name)
{
	return table_of(modes, name)->rows;
}

/* The first row in which a text column has this value. */
static size_t row_of(const struct np_modes *modes, const char *name, const char *column,
		     const char *value)
{
	for (size_t i = 0; i < rows(modes, name); i++) {
		if (strcmp(text(modes, name, i, column), value) == 0)
			return i;
	}
	fail_msg("%s has no row with %s %s", name, column, value);
	return 0;
}

/* --- running --------------------------------------------------------------------------------- */

/* A run, what it is seen as, and the tables of its modes. */
struct analysed {
	struct np_run *run;
	struct np_cluster *cluster;
	struct np_align *align;
	struct np_modes *modes;
};

static struct np_modes_options options_of(const char *names)
{
	struct np_modes_options options = { .rank = NP_UNKNOWN, .directory = below("out") };
	struct np_err err = NP_ERR_INIT;

	assert_ok(np_modes_parse(names, &options.modes, &err), err);
	return options;
}

/* Takes the run over. */
static struct analysed matched(struct np_run *run)
{
	struct analysed analysed = { .run = run, .cluster = build(run) };
	struct np_err err = NP_ERR_INIT;

	assert_ok(np_align_build(run, 1, &analysed.align, &err), err);
	return analysed;
}

static int run_modes(struct analysed *analysed, const struct np_modes_options *options,
		     size_t threads, struct np_err *err)
{
	const struct np_workers workers = { .threads = threads };
	const struct np_modes_input input = { .run = analysed->run,
					      .cluster = analysed->cluster,
					      .align = analysed->align };

	return np_modes_run(&input, options, &workers, &analysed->modes, err);
}

static struct analysed analyse_with(struct np_run *run, const struct np_modes_options *options)
{
	struct analysed analysed = matched(run);
	struct np_err err = NP_ERR_INIT;

	assert_ok(run_modes(&analysed, options, 2, &err), err);
	return analysed;
}

static struct analysed analyse(struct np_run *run, const char *names)
{
	const struct np_modes_options options = options_of(names);

	return analyse_with(run, &options);
}

static void release(struct analysed *analysed)
{
	np_modes_free(analysed->modes);
	np_align_free(analysed->align);
	np_cluster_free(analysed->cluster);
	np_run_free(analysed->run);
}

static struct np_run *recorded(const char *name)
{
	const char *dir = recorded_profiles(name);

	if (!dir)
		skip();
	return synth_load(dir);
}

/* --- names ----------------------------------------------------------------------------------- */

static void a_mistyped_mode_is_told_what_was_probably_meant(void **state)
{
	struct np_err err = NP_ERR_INIT;
	uint64_t modes = 7;

	(void)state;
	assert_int_equal(np_modes_parse("all,slow_rnak", &modes, &err), NP_E_USAGE);
	assert_holds(err.text, "did you mean 'slow_rank'?");
	assert_int_equal(modes, 7);
}

static void modes_that_other_commands_took_over_say_which(void **state)
{
	(void)state;
	assert_holds(np_modes_elsewhere("all,slow_rank_pp_stage"), "slow_rank");
	assert_holds(np_modes_elsewhere("filter_db"), "profiles are never rewritten");
	assert_holds(np_modes_elsewhere("autofuse_analysis"), "npuprof advisor");
	assert_holds(np_modes_elsewhere("calibrate_npu_gpu,all"), "npuprof compare");
	assert_null(np_modes_elsewhere("all,slow_rank,"));
	assert_null(np_modes_elsewhere("mstx2commop,cluster_time_compare_summary"));
}

static void every_mode_has_a_name_and_a_summary(void **state)
{
	struct np_err err = NP_ERR_INIT;
	uint64_t modes;

	(void)state;
	for (size_t i = 0; np_mode_names[i]; i++) {
		assert_non_null(np_mode_summary(np_mode_names[i]));
		assert_ok(np_modes_parse(np_mode_names[i], &modes, &err), err);
		assert_true(modes == UINT64_C(1) << i);
	}
}

/* --- recorded profiles ------------------------------------------------------------------------ */

/* The figures of the incumbent for the same profile, where they are right. */

static void hccl_sum_agrees_with_the_incumbent(void **state)
{
	struct analysed a = analyse(recorded("resnet-2of8/db/level1"), "hccl_sum");
	const char *all = "HcclAllRankStats";
	const char *top = "HcclTopOpStats";

	(void)state;
	assert_int_equal(rows(a.modes, all), 1);
	assert_int_equal(integer(a.modes, all, 0, "Count"), 8);
	assert_near(real(a.modes, all, 0, "MeanNs"), 25087286.25, 1e-6);
	assert_near(real(a.modes, all, 0, "StdNs"), 3.832455894402204454e+07, 1e-6);
	assert_near(real(a.modes, all, 0, "MinNs"), 2179243, 0);
	assert_near(real(a.modes, all, 0, "Q1Ns"), 2350982, 0);
	assert_near(real(a.modes, all, 0, "MedianNs"), 5588391.5, 0);
	assert_near(real(a.modes, all, 0, "Q3Ns"), 27885387.75, 0);
	assert_near(real(a.modes, all, 0, "MaxNs"), 88750993, 0);
	assert_near(real(a.modes, all, 0, "SumNs"), 200698290, 0);
	assert_near(real(a.modes, "HcclPerRankStats", 1, "StdNs"), 4.05061642628698870532e+07,
		    1e-6);
	assert_string_equal(text(a.modes, top, 0, "OpName"), "hcom_allReduce__210_0_1");
	assert_near(real(a.modes, top, 0, "MeanNs"), 86992418, 0);
	assert_int_equal(integer(a.modes, top, 0, "MinRank"), 1);
	assert_int_equal(integer(a.modes, top, 0, "MaxRank"), 0);
	assert_string_equal(text(a.modes, "HcclGroupNameMap", 0, "GroupId"), "210");
	assert_string_equal(text(a.modes, "HcclGroupNameMap", 0, "Ranks"), "0;1");
	release(&a);
}

static void compute_op_sum_agrees_with_the_incumbent(void **state)
{
	struct analysed a = analyse(recorded("resnet-2of8/db/level1"), "compute_op_sum");
	const char *all = "ComputeOpAllRankStats";

	(void)state;
	assert_int_equal(rows(a.modes, all), 33);
	assert_int_equal(rows(a.modes, "ComputeOpPerRankStatsByOpType"), 66);
	assert_int_equal(rows(a.modes, "ComputeOpPerRankStatsByOpName"), 312);
	assert_string_equal(text(a.modes, all, 0, "OpType"), "ForeachAddList");
	assert_string_equal(text(a.modes, all, 0, "TaskType"), "AI_VECTOR_CORE");
	assert_near(real(a.modes, all, 0, "StdNs"), 36201.3931002662, 1e-7);
	assert_string_equal(text(a.modes, all, 1, "OpType"), "TransData");
	assert_int_equal(integer(a.modes, all, 1, "Count"), 114);
	assert_near(real(a.modes, all, 1, "SumNs"), 2816071, 0);
	release(&a);
}

/* By type 10 + 20 = 30 ns of MatMul in two kernels of different names. */
static void compute_op_sum_without_names_has_the_same_sums_by_type(void **state)
{
	struct np_modes_options options = options_of("compute_op_sum");

	(void)state;
	rank_db(0);
	rank_kernel(0, 1, 100, 110, "MatMul");
	rank_kernel(0, 2, 200, 220, "MatMul");
	rank_kernel(0, 3, 300, 305, "Add");
	rank_sql(0, "UPDATE COMPUTE_TASK_INFO SET name = T('other') WHERE globalTaskId = 2");
	for (int i = 0; i < 2; i++) {
		struct analysed a;

		options.exclude_op_name = i == 1;
		a = analyse_with(synth_load(below("run")), &options);
		assert_int_equal(rows(a.modes, "ComputeOpPerRankStatsByOpType"), 2);
		assert_int_equal(rows(a.modes, "ComputeOpAllRankStats"), 2);
		assert_string_equal(text(a.modes, "ComputeOpAllRankStats", 0, "OpType"), "MatMul");
		assert_float_equal(real(a.modes, "ComputeOpAllRankStats", 0, "SumNs"), 30, 0);
		assert_float_equal(real(a.modes, "ComputeOpPerRankStatsByOpType", 0, "MedianNs"),
				   15, 0);
		if (i == 0)
			assert_int_equal(rows(a.modes, "ComputeOpPerRankStatsByOpName"), 3);
		else
			assert_null(a.modes->tables->next->next);
		release(&a);
	}
}

static void compute_op_sum_at_level0_has_no_types_and_says_so(void **state)
{
	struct analysed a = analyse(recorded("resnet-2of8/db/level0"), "compute_op_sum");

	(void)state;
	assert_int_equal(rows(a.modes, "ComputeOpAllRankStats"), 1);
	assert_int_equal(rows(a.modes, "ComputeOpPerRankStatsByOpType"), 2);
	assert_int_equal(rows(a.modes, "ComputeOpPerRankStatsByOpName"), 156);
	assert_string_equal(text(a.modes, "ComputeOpAllRankStats", 0, "OpType"), "N/A");
	release(&a);
}

/* The incumbent merges quantiles of ranks; ours are those of all calls. */
static void cann_api_sum_agrees_with_the_incumbent_but_for_quantiles(void **state)
{
	struct analysed a = analyse(recorded("resnet-2of8/db/level1"), "cann_api_sum");
	const char *all = "CannApiSum";

	(void)state;
	assert_int_equal(rows(a.modes, all), 57);
	assert_string_equal(text(a.modes, all, 0, "name"), "aclrtSynchronizeStreamWithTimeout");
	assert_near(real(a.modes, all, 0, "timeRatio"), 72.9, 1e-9);
	assert_int_equal(integer(a.modes, all, 0, "totalTimeNs"), 176370460);
	assert_int_equal(integer(a.modes, all, 0, "totalCount"), 14);
	assert_near(real(a.modes, all, 0, "averageNs"), 12597890.0, 1e-9);
	assert_near(real(a.modes, all, 0, "minNs"), 4380, 0);
	assert_near(real(a.modes, all, 0, "maxNs"), 83971790, 0);
	assert_string_equal(text(a.modes, all, 0, "minRank"), "0");
	assert_string_equal(text(a.modes, all, 0, "maxRank"), "1");
	assert_int_equal(integer(a.modes, all, 2, "totalTimeNs"), 7572490);
	assert_int_equal(integer(a.modes, all, 2, "totalCount"), 382);
	release(&a);
}

static void cluster_time_summary_agrees_with_the_incumbent_but_for_free(void **state)
{
	struct analysed a = analyse(recorded("resnet-2of8/db/level1"), "cluster_time_summary");
	const char *name = "ClusterTimeSummary";

	(void)state;
	assert_int_equal(rows(a.modes, name), 2);
	assert_int_equal(integer(a.modes, name, 0, "step"), 50);
	assert_near(real(a.modes, name, 0, "stepTime"), 151888.75, 1e-9);
	assert_near(real(a.modes, name, 0, "computation"), 8903.431, 1e-9);
	assert_near(real(a.modes, name, 0, "communicationNotOverlapComputation"), 98071.947, 1e-9);
	assert_near(real(a.modes, name, 0, "communicationWaitStageTime"), 3522.991, 1e-9);
	assert_near(real(a.modes, name, 0, "communicationTransmitStageTime"), 98585.109, 1e-9);
	assert_near(real(a.modes, name, 0, "memory"), 866.699, 1e-9);
	assert_near(real(a.modes, name, 0, "memoryNotOverlapComputationCommunication"), 841.618,
		    1e-9);
	/* Of these 841.618 µs only 11.001 lie between the first and the last kernel or operator,
	 * where free time is: 25258.144 - 11.001. */
	assert_near(real(a.modes, name, 0, "free"), 25258.144 - 11.001, 1e-9);
	assert_near(real(a.modes, name, 1, "communicationWaitStageTime"), 5.081, 1e-9);
	release(&a);
}

static void cluster_time_summary_needs_no_more_than_level0(void **state)
{
	struct analysed a = analyse(recorded("resnet-2of8/db/level0"), "cluster_time_summary");

	(void)state;
	assert_int_equal(rows(a.modes, "ClusterTimeSummary"), 2);
	assert_near(real(a.modes, "ClusterTimeSummary", 0, "computation"), 8843.91, 1e-9);
	release(&a);
}

static void free_analysis_finds_the_gaps_of_the_incumbent(void **state)
{
	struct analysed a = analyse(recorded("resnet-2of8/db/level1"), "free_analysis");
	const char *name = "FreeAnalysis";

	(void)state;
	assert_int_equal(rows(a.modes, name), 20);
	assert_string_equal(text(a.modes, name, 0, "startTime(us)"), "1736410576409657.787");
	assert_near(real(a.modes, name, 0, "duration(us)"), 2338.607, 1e-9);
	/* The incumbent computes these in doubles of µs since 1970, which are 0.25 apart. */
	assert_near(real(a.modes, name, 0, "pytorchIdleTime(us)"), 938.24, 0.25);
	assert_near(real(a.modes, name, 0, "cannIdleTime(us)"), 2784.768, 0.25);
	assert_holds(text(a.modes, name, 0, "reason"),
		     "Abnormal CANN layer: long time between two node@launch 2773.");
	assert_near(real(a.modes, name, 1, "duration(us)"), 2010.56, 1e-9);
	assert_near(real(a.modes, name, 2, "duration(us)"), 1181.464, 1e-9);
	assert_holds(text(a.modes, name, 2, "reason"),
		     "Idle Pytorch layer: no task dispatched in 1178.");
	assert_string_equal(text(a.modes, name, 7, "reason"),
			    "Device task running: 1 MEMCPY_ASYNC tasks, max remaining free"
			    " 889.978 us");
	assert_true(is_null(a.modes, name, 7, "pytorchIdleTime(us)"));
	release(&a);
}

static void two_ranks_at_their_rated_clock_show_nothing_odd(void **state)
{
	struct analysed a =
		analyse(recorded("resnet-2of8/db/level1"), "freq_analysis,slow_rank,slow_link");

	(void)state;
	assert_int_equal(rows(a.modes, "FreeFrequencyRanks"), 0);
	assert_int_equal(rows(a.modes, "AbnormalFrequencyRanks"), 0);
	assert_int_equal(rows(a.modes, "SlowRank"), 0);
	assert_int_equal(rows(a.modes, "SlowLinkSum"), 0);
	release(&a);
}

static void modes_work_on_text_profiles(void **state)
{
	struct analysed a = analyse(recorded("resnet-2of8/text/level1"),
				    "hccl_sum,compute_op_sum,cann_api_sum,free_analysis,"
				    "cluster_time_summary,freq_analysis");

	(void)state;
	assert_int_equal(integer(a.modes, "HcclAllRankStats", 0, "Count"), 8);
	assert_true(rows(a.modes, "ComputeOpAllRankStats") > 20);
	assert_true(rows(a.modes, "CannApiSum") > 20);
	assert_int_equal(rows(a.modes, "FreeAnalysis"), 20);
	assert_near(real(a.modes, "ClusterTimeSummary", 0, "computation"), 8873.756, 1e-3);
	assert_int_equal(np_notes_count(&a.run->notes, NP_NOTE_SKIPPED), 0);
	release(&a);
}

/* Level2 without a trace: the profiler's own sums of calls, and steps without times of day. */
static void modes_use_what_text_without_a_trace_has(void **state)
{
	struct analysed a =
		analyse(recorded("llm-pp2dp2"), "cann_api_sum,computational_op_masking");
	size_t row;

	(void)state;
	row = row_of(a.modes, "CannApiSumRank", "name", "ApplyAdamWV2_Tiling");
	assert_int_equal(integer(a.modes, "CannApiSumRank", row, "totalTimeNs"), 666300);
	assert_int_equal(integer(a.modes, "CannApiSumRank", row, "totalCount"), 114);
	assert_near(real(a.modes, "CannApiSumRank", row, "averageNs"), 5844.7, 1e-9);
	assert_near(real(a.modes, "CannApiSumRank", row, "minNs"), 250, 0);
	assert_near(real(a.modes, "CannApiSumRank", row, "maxNs"), 29170, 0);
	assert_true(is_null(a.modes, "CannApiSumRank", row, "medNs"));
	assert_true(is_null(a.modes, "CannApiSumRank", row, "stdev"));
	row = row_of(a.modes, "CannApiSum", "name", "ApplyAdamWV2_Tiling");
	assert_true(is_null(a.modes, "CannApiSum", row, "medNs"));
	assert_true(integer(a.modes, "CannApiSum", row, "totalCount") > 114);
	assert_noted(&a.run->notes, NP_NOTE_SKIPPED, "cann_api_sum", "not for ranks 1,3");
	/* 313877.80 of 810022.36 µs. */
	row = row_of(a.modes, "ComputationalOperatorMaskingLinearity", "parallelType", "pp");
	assert_near(real(a.modes, "ComputationalOperatorMaskingLinearity", row,
			 "ratioOfUnmaskedCommunication"),
		    0.38749, 1e-9);
	release(&a);
}

/* --- slow ranks and links --------------------------------------------------------------------- */

/* One collective over all ranks, each with its own time. */
static void add_collective(struct np_run *run, const char *name, np_ns start, const np_ns *times,
			   size_t count, int64_t bytes)
{
	for (size_t i = 0; i < count; i++) {
		struct np_comm_op *op;

		if (times[i] == NP_UNKNOWN)
			continue;
		op = add_op(run->ranks[i], 0, false);
		op->name = intern(run, name);
		op->type = intern(run, "hcom_allReduce_");
		op->start = start;
		op->end = start + times[i];
		op->bytes = bytes;
		op->step = NP_NO_STEP;
	}
}

static struct np_run *run_of(size_t ranks)
{
	struct np_run *run = np_run_new();
	char **root;

	assert_non_null(run);
	root = np_vec_add(&run->roots, NULL);
	assert_non_null(root);
	*root = strdup("run"); /* which notes are about */
	for (size_t i = 0; i < ranks; i++) {
		struct np_rank *rank = add_rank(run, (int32_t)i, true);

		(void)add_group(run, rank, 12345678, "dp", NULL, 0);
	}
	return run;
}

/* The eight times of the spec: one rank does not wait, and so is half as long. */
#define SLOW_3 \
	(const np_ns[]) \
	{ \
		80000000, 80010000, 80020000, 40000000, 80040000, 80050000, 80060000, 80070000 \
	}

static void slow_rank_votes_in_nanoseconds(void **state)
{
	struct np_run *run = run_of(8);
	struct analysed a;

	(void)state;
	add_collective(run, "hcom_allReduce__678_0_1", 1000, SLOW_3, 8, 4);
	a = analyse(run, "slow_rank");
	assert_int_equal(rows(a.modes, "SlowRank"), 1);
	assert_int_equal(integer(a.modes, "SlowRank", 0, "rankId"), 3);
	assert_int_equal(integer(a.modes, "SlowRank", 0, "slowAffectCount"), 1);
	assert_string_equal(text(a.modes, "SlowOpStats", 0, "SlowRank"), "3");
	assert_int_equal(integer(a.modes, "SlowOpStats", 0, "Timestamp"), 1000);
	/* (7 × 80 ms + 40 ms + 0.21 ms) / 8 + …: 75031.25 µs, as ns. */
	assert_near(real(a.modes, "SlowOpStats", 0, "MeanNs"), 75031250, 1e-6);
	assert_near(real(a.modes, "SlowOpStats", 0, "StdNs"), 14154783.5806234, 1e-4);
	assert_near(real(a.modes, "SlowOpStats", 0, "MinNs"), 40000000, 0);
	release(&a);
}

/* An operator that one rank lost is left out; the others of its communicator still vote. */
static void slow_rank_survives_a_lost_operator(void **state)
{
	struct np_run *run = run_of(8);
	np_ns lost[8];
	struct analysed a;

	(void)state;
	memcpy(lost, SLOW_3, sizeof(lost));
	lost[6] = NP_UNKNOWN;
	add_collective(run, "hcom_allReduce__678_0_1", 1000, SLOW_3, 8, 4);
	add_collective(run, "hcom_allReduce__678_1_1", 200000000, lost, 8, 4);
	add_collective(run, "hcom_allReduce__678_2_1", 400000000, SLOW_3, 8, 4);
	a = analyse(run, "slow_rank");
	assert_int_equal(integer(a.modes, "SlowRank", 0, "slowAffectCount"), 2);
	assert_int_equal(rows(a.modes, "SlowOpStats"), 2);
	assert_noted(&a.run->notes, NP_NOTE_WARNING, "slow_rank",
		     "rank 6: collectives are missing (np_coverage): 1 are not compared");
	release(&a);
}

/* The incumbent drops rows of others with those of the communicator that lost one. */
static void slow_rank_keeps_a_communicator_beside_one_that_lost_an_operator(void **state)
{
	struct np_run *run = run_of(8);
	np_ns lost[8];
	struct analysed a;

	(void)state;
	memcpy(lost, SLOW_3, sizeof(lost));
	lost[6] = NP_UNKNOWN;
	add_collective(run, "hcom_allReduce__678_0_1", 1000, SLOW_3, 8, 4);
	add_collective(run, "hcom_allReduce__678_1_1", 100000000, lost, 8, 4);
	for (size_t i = 0; i < 8; i++) {
		uint32_t group = add_group(run, run->ranks[i], 87654321, "tp", NULL, 0);
		struct np_comm_op *op = add_op(run->ranks[i], group, false);

		op->name = intern(run, "hcom_allReduce__321_0_1");
		op->type = intern(run, "hcom_allReduce_");
		op->start = 300000000;
		op->end = op->start + (SLOW_3)[i];
		op->bytes = 4;
		op->step = NP_NO_STEP;
	}
	a = analyse(run, "slow_rank");
	assert_int_equal(rows(a.modes, "SlowRank"), 1);
	assert_int_equal(integer(a.modes, "SlowRank", 0, "slowAffectCount"), 2);
	assert_int_equal(rows(a.modes, "SlowOpStats"), 2);
	release(&a);
}

/* The capture of rank 6 began one operator earlier: its numbers are one ahead of the others'. */
static void operators_are_compared_as_they_were_matched_and_not_by_name(void **state)
{
	struct np_run *run = run_of(8);
	struct analysed a;

	(void)state;
	for (int i = 0; i < 4; i++) {
		for (uint32_t rank = 0; rank < 8; rank++) {
			struct np_comm_op *op = add_op(run->ranks[rank], 0, false);
			char name[64];

			(void)snprintf(name, sizeof(name), "hcom_allReduce__678_%d_1",
				       i + (rank == 6));
			op->name = intern(run, name);
			op->type = intern(run, "hcom_allReduce_");
			op->end = 200000000LL * (i + 1);
			op->start = op->end - (SLOW_3)[rank] - 20000000LL * i;
			op->bytes = 1024LL << i;
			op->step = NP_NO_STEP;
		}
	}
	a = analyse(run, "slow_rank");
	assert_int_equal(rows(a.modes, "SlowRank"), 1);
	assert_int_equal(integer(a.modes, "SlowRank", 0, "rankId"), 3);
	assert_int_equal(integer(a.modes, "SlowRank", 0, "slowAffectCount"), 4);
	assert_int_equal(integer(a.modes, "SlowOpStats", 3, "Count"), 8);
	assert_near(real(a.modes, "SlowOpStats", 3, "MaxNs"), 140070000, 0);
	release(&a);
}

static void fewer_than_four_ranks_cannot_be_out_of_line(void **state)
{
	struct np_run *run = run_of(3);
	struct analysed a;

	(void)state;
	add_collective(run, "hcom_allReduce__678_0_1", 1000,
		       (const np_ns[]){ 80000000, 40000000, 80010000 }, 3, 4);
	a = analyse(run, "slow_rank");
	assert_int_equal(rows(a.modes, "SlowRank"), 0);
	release(&a);
}

static void slow_link_lists_the_kind_of_collective_with_an_outlier(void **state)
{
	struct np_run *run = run_of(2);
	struct analysed a;

	(void)state;
	for (int i = 0; i < 20; i++) {
		char name[64];
		np_ns time = i == 7 ? 10000000 : 1000000;

		(void)snprintf(name, sizeof(name), "hcom_allReduce__678_%d_1", i);
		add_collective(run, name, 100000000 * i, (const np_ns[]){ time, time + 500 }, 2,
			       262144);
	}
	a = analyse(run, "slow_link");
	assert_int_equal(rows(a.modes, "SlowLinkSum"), 1);
	assert_string_equal(text(a.modes, "SlowLinkSum", 0, "opTypeRelatedRanksDataSize"),
			    "hcom_allReduce_2_262144");
	/* Each of 20 transfers counts for two ranks: (38 × 1 ms + 2 × 10 ms) / 40. */
	assert_int_equal(integer(a.modes, "SlowLinkSum", 0, "Count"), 40);
	assert_near(real(a.modes, "SlowLinkSum", 0, "MeanNs"), 1450000, 1e-9);
	/* The rank whose time it is: the one that waited least. */
	assert_int_equal(integer(a.modes, "SlowLinkSum", 0, "maxRank"), 0);
	assert_int_equal(rows(a.modes, "SlowLinkOps"), 40);
	release(&a);
}

/* The first of two ranks did not record sizes, as text without a trace does not have them. */
static void slow_link_takes_the_size_from_a_rank_that_knows_it(void **state)
{
	struct np_run *run = run_of(2);
	struct analysed a;

	(void)state;
	for (int i = 0; i < 20; i++) {
		char name[64];
		np_ns time = i == 7 ? 10000000 : 1000000;

		(void)snprintf(name, sizeof(name), "hcom_allReduce__678_%d_1", i);
		add_collective(run, name, 100000000 * i, (const np_ns[]){ time, time + 500 }, 2,
			       262144);
		run->ranks[0]->ops.item[i].bytes = NP_UNKNOWN;
	}
	a = analyse(run, "slow_link");
	assert_int_equal(rows(a.modes, "SlowLinkSum"), 1);
	assert_string_equal(text(a.modes, "SlowLinkSum", 0, "opTypeRelatedRanksDataSize"),
			    "hcom_allReduce_2_262144");
	assert_int_equal(rows(a.modes, "SlowLinkOps"), 40);
	assert_true(is_null(a.modes, "SlowLinkOps", 0, "dataSize"));
	assert_int_equal(integer(a.modes, "SlowLinkOps", 1, "dataSize"), 262144);
	release(&a);
}

static void hccl_sum_tells_operators_of_one_name_apart_by_communicator(void **state)
{
	struct np_run *run = run_of(2);
	struct np_comm_op *op;
	struct analysed a;

	(void)state;
	/* Both hashes end in 678, so the names of their operators are the same. */
	(void)add_group(run, run->ranks[1], 99999678, "tp", NULL, 0);
	op = add_op(run->ranks[0], 0, false);
	op->name = intern(run, "hcom_allReduce__678_0_1");
	op->type = intern(run, "hcom_allReduce_");
	op->end = 100;
	op = add_op(run->ranks[1], 1, false);
	op->name = intern(run, "hcom_allReduce__678_0_1");
	op->type = intern(run, "hcom_allReduce_");
	op->end = 300;
	a = analyse(run, "hccl_sum");
	assert_int_equal(rows(a.modes, "HcclTopOpStats"), 2);
	assert_near(real(a.modes, "HcclTopOpStats", 0, "MeanNs"), 300, 0);
	release(&a);
}

static void p2p_pairing_gives_both_ends_one_id_and_counts_by_communicator(void **state)
{
	struct np_run *run = run_of(0);
	struct analysed a;

	(void)state;
	for (int32_t i = 0; i < 2; i++) {
		struct np_rank *rank = add_rank(run, i, true);

		for (uint64_t hash = 12345111; hash <= 12345222; hash += 111) {
			uint32_t group = add_group(run, rank, hash, "pp", LIST(0, 1));

			rank->groups.item[group].group_rank = i;
			for (int n = 0; n < 2; n++) {
				struct np_comm_op *op = add_op(rank, group, true);
				char name[64];

				(void)snprintf(name, sizeof(name), "hcom_%s__%llu_%d_1",
					       i ? "receive" : "send",
					       (unsigned long long)(hash % 1000), n);
				op->name = intern(run, name);
				op->type = intern(run, i ? "hcom_receive_" : "hcom_send_");
				op->start = 1000 * n;
				op->end = op->start + 10;
				op->peer = (uint16_t)(1 - i + 1);
			}
		}
	}
	a = analyse(run, "p2p_pairing");
	assert_int_equal(rows(a.modes, "P2PPairing"), 8);
	assert_string_equal(text(a.modes, "P2PPairing", 0, "opConnectionId"), "111_0_1_0");
	assert_string_equal(text(a.modes, "P2PPairing", 1, "opConnectionId"), "111_0_1_1");
	/* The incumbent would go on with 2 in the second communicator. */
	assert_string_equal(text(a.modes, "P2PPairing", 2, "opConnectionId"), "222_0_1_0");
	assert_string_equal(text(a.modes, "P2PPairing", 4, "opConnectionId"), "111_0_1_0");
	assert_int_equal(integer(a.modes, "P2PPairing", 4, "rankId"), 1);
	assert_int_equal(integer(a.modes, "P2PPairing", 4, "srcRank"), 0);
	release(&a);
}

/* Rank 1 lost the first of three messages: the others keep their numbers. */
static void p2p_pairing_is_not_shifted_by_a_lost_message(void **state)
{
	struct np_run *run = run_of(0);
	struct analysed a;

	(void)state;
	for (int32_t i = 0; i < 2; i++) {
		struct np_rank *rank = add_rank(run, i, true);
		uint32_t group = add_group(run, rank, 12345111, "pp", LIST(0, 1));

		rank->groups.item[group].group_rank = i;
		for (int n = i; n < 3; n++) {
			struct np_comm_op *op = add_op(rank, group, true);

			op->name = intern(run, i ? "hcom_receive__111_0_1" : "hcom_send__111_0_1");
			op->type = intern(run, i ? "hcom_receive_" : "hcom_send_");
			op->start = 1000000 * n;
			op->end = op->start + 10;
			/* Sizes distinguish them. */
			op->bytes = 64 << n;
		}
	}
	a = analyse(run, "p2p_pairing");
	assert_int_equal(rows(a.modes, "P2PPairing"), 5);
	assert_string_equal(text(a.modes, "P2PPairing", 2, "opConnectionId"), "111_0_1_2");
	assert_string_equal(text(a.modes, "P2PPairing", 3, "opConnectionId"), "111_0_1_1");
	assert_string_equal(text(a.modes, "P2PPairing", 4, "opConnectionId"), "111_0_1_2");
	release(&a);
}

static void p2p_pairing_numbers_batches_between_two_ranks(void **state)
{
	struct np_run *run = run_of(0);
	struct analysed a;

	(void)state;
	for (int32_t i = 0; i < 2; i++) {
		struct np_rank *rank = add_rank(run, i, true);
		uint32_t group = add_group(run, rank, 12345111, "pp", LIST(0, 1));

		rank->groups.item[group].group_rank = i;
		for (int n = 0; n < 2; n++) {
			struct np_comm_op *op = add_op(rank, group, true);

			op->name = intern(run, "hcom_batchSendRecv__111_0_1");
			op->type = intern(run, "hcom_batchSendRecv_");
			op->start = 1000 * n;
			op->end = op->start + 10;
		}
	}
	a = analyse(run, "p2p_pairing");
	assert_int_equal(rows(a.modes, "P2PPairing"), 4);
	assert_string_equal(text(a.modes, "P2PPairing", 1, "opConnectionId"), "111_0_1_b1");
	assert_string_equal(text(a.modes, "P2PPairing", 3, "opConnectionId"), "111_0_1_b1");
	assert_true(is_null(a.modes, "P2PPairing", 3, "srcRank"));
	release(&a);
}

/* --- what needs details ------------------------------------------------------------------------
 */

static struct analysed analyse_ranks(const char *names)
{
	return analyse(synth_load(below("run")), names);
}

/* A chip of 1650 MHz is as healthy at 1650 as another at 1800. */
static void freq_analysis_goes_by_the_chip(void **state)
{
	static const struct {
		const char *chip;
		int mhz[2];
	} ranks[] = { { "Ascend910B", { 1800, 1800 } },
		      { "Ascend910B", { 1800, 800 } },
		      { "Ascend910B", { 1800, 1400 } },
		      { "Ascend910_93", { 1650, 1650 } } };
	struct analysed a;

	(void)state;
	for (int i = 0; i < (int)NP_COUNT(ranks); i++) {
		rank_db(i);
		rank_kernel(i, 1, 1000, 2000, "MatMul");
		rank_sql(i,
			 "INSERT INTO NPU_INFO VALUES(0,'%s');"
			 "INSERT INTO AICORE_FREQ VALUES(0,1000,%d),(0,2000,%d)",
			 ranks[i].chip, ranks[i].mhz[0], ranks[i].mhz[1]);
	}
	a = analyse_ranks("freq_analysis");
	assert_int_equal(rows(a.modes, "FreeFrequencyRanks"), 1);
	assert_int_equal(integer(a.modes, "FreeFrequencyRanks", 0, "rankId"), 1);
	assert_string_equal(text(a.modes, "FreeFrequencyRanks", 0, "aicoreFrequency"),
			    "[800, 1800]");
	assert_int_equal(rows(a.modes, "AbnormalFrequencyRanks"), 1);
	assert_int_equal(integer(a.modes, "AbnormalFrequencyRanks", 0, "rankId"), 2);
	release(&a);
}

static struct analysed analyse_step(const char *names, const char *step)
{
	struct np_modes_options options = options_of(names);
	NP_CLEANUP(np_ranges_freep) struct np_ranges *steps = NULL;
	struct np_run *run = synth_load(below("run"));
	struct np_err err = NP_ERR_INIT;

	assert_ok(np_ranges_parse(step, &steps, &err), err);
	assert_ok(np_run_keep_steps(run, steps, &err), err);
	options.steps_chosen = true;
	return analyse_with(run, &options);
}

/* The clock falls to 1400 MHz in step 2, and is back before anything else happens. */
static void freq_analysis_looks_at_the_steps_that_were_chosen(void **state)
{
	struct analysed a;

	(void)state;
	rank_db(0);
	rank_kernel(0, 1, 1000, 2000, "MatMul");
	rank_kernel(0, 2, 20000, 22000, "MatMul");
	rank_sql(0, "INSERT INTO STEP_TIME VALUES(1,0,10000),(2,10000,30000);"
		    "INSERT INTO AICORE_FREQ VALUES(0,500,1800),(0,21000,1400),(0,40000,1800)");
	a = analyse_step("freq_analysis", "1");
	assert_int_equal(rows(a.modes, "AbnormalFrequencyRanks"), 0);
	release(&a);
	a = analyse_step("freq_analysis", "2");
	assert_int_equal(rows(a.modes, "AbnormalFrequencyRanks"), 1);
	assert_string_equal(text(a.modes, "AbnormalFrequencyRanks", 0, "aicoreFrequency"),
			    "[1400, 1800]");
	release(&a);
}

/* A rank of which no clock is known in the step is not one that runs at the rated clock. */
static void freq_analysis_names_ranks_without_a_sample_in_the_step(void **state)
{
	struct analysed a;

	(void)state;
	for (int i = 0; i < 2; i++) {
		rank_db(i);
		rank_kernel(i, 1, 1000, 2000, "MatMul");
		rank_kernel(i, 2, 20000, 22000, "MatMul");
		rank_sql(i,
			 "INSERT INTO STEP_TIME VALUES(1,0,10000),(2,10000,30000);"
			 "INSERT INTO AICORE_FREQ VALUES(0,%d,1800)",
			 i == 0 ? 500 : 21000);
	}
	a = analyse_step("freq_analysis", "1");
	assert_noted(&a.run->notes, NP_NOTE_SKIPPED, "freq_analysis",
		     "rank 1: no sample tells the AI core frequency in the steps");
	release(&a);
}

/* A rank without metadata costs itself, not the others. */
static void ep_load_balance_compares_experts_that_share_a_group(void **state)
{
	static const int tokens[] = { 301, 321, 500 };
	struct analysed a;

	(void)state;
	for (int i = 0; i < 3; i++) {
		rank_db(i);
		rank_sql(i,
			 "INSERT INTO TASK(startNs,endNs,connectionId,globalTaskId,taskType,"
			 "streamId) VALUES(1000,2000,1,1,T('KERNEL_AICORE'),2);"
			 "INSERT INTO COMPUTE_TASK_INFO VALUES(1,T('gmm'),T('GroupedMatmul'),"
			 "T('MIX_AIC'),T('\"%d,64;8,64,32;8\"'),T('FLOAT16'),T('1,32'))",
			 tokens[i]);
		if (i < 2)
			rank_sql(i,
				 "INSERT INTO META_DATA VALUES('parallel_group_info',"
				 "'{\"g\":{\"group_name\":\"exp\",\"group_rank\":%d,"
				 "\"global_ranks\":[0,1]}}')",
				 i);
	}
	a = analyse_ranks("ep_load_balance");
	assert_int_equal(rows(a.modes, "EPTokensSummary"), 3);
	assert_int_equal(integer(a.modes, "EPTokensSummary", 0, "inputShapesSummary"), 301);
	assert_string_equal(text(a.modes, "EPTokensSummary", 0, "epRanks"), "0,1");
	assert_true(is_null(a.modes, "EPTokensSummary", 2, "epRanks"));
	assert_int_equal(rows(a.modes, "TopEPTokensInfo"), 1);
	assert_int_equal(integer(a.modes, "TopEPTokensInfo", 0, "tokensDiff"), 20);
	release(&a);
}

/* The second of three ranks was profiled at Level0, where kernels have no types and no shapes. */
static void ep_load_balance_names_ranks_whose_tokens_are_missing(void **state)
{
	struct analysed a;

	(void)state;
	for (int i = 0; i < 3; i++) {
		rank_db(i);
		rank_sql(i,
			 "INSERT INTO TASK(startNs,endNs,connectionId,globalTaskId,taskType,"
			 "streamId) VALUES(1000,2000,1,1,T('KERNEL_AICORE'),2);"
			 "INSERT INTO COMPUTE_TASK_INFO VALUES(1,T('gmm'),T('%s'),"
			 "T('MIX_AIC'),T('%s'),T('FLOAT16'),T('1,32'));"
			 "INSERT INTO META_DATA VALUES('parallel_group_info',"
			 "'{\"g\":{\"group_name\":\"exp\",\"group_rank\":%d,"
			 "\"global_ranks\":[0,1,2]}}')",
			 i == 1 ? "N/A" : "GroupedMatmul", i == 1 ? "N/A" : "300,64;8,64,32;8", i);
	}
	a = analyse_ranks("ep_load_balance");
	assert_int_equal(rows(a.modes, "EPTokensSummary"), 2);
	assert_noted(&a.run->notes, NP_NOTE_SKIPPED, "ep_load_balance",
		     "rank 1: no GroupedMatmul kernels with recorded shapes");
	release(&a);
}

/* Marks are seen in the framework, in CANN and on the device; the incumbent gives 0 for two. */
/* A tensor for each of a hundred experts: 1 + 2 + … + 100 tokens. */
static void ep_load_balance_adds_up_any_number_of_inputs(void **state)
{
	NP_CLEANUP(np_buf_release) struct np_buf shapes = NP_BUF_INIT;
	struct analysed a;

	(void)state;
	for (int i = 1; i <= 100; i++)
		np_buf_printf(&shapes, "%d,64;", i);
	rank_db(0);
	rank_sql(0,
		 "INSERT INTO TASK(startNs,endNs,connectionId,globalTaskId,taskType,streamId)"
		 " VALUES(1000,2000,1,1,T('KERNEL_AICORE'),2);"
		 "INSERT INTO COMPUTE_TASK_INFO VALUES(1,T('gmm'),T('GroupedMatmul'),T('MIX_AIC'),"
		 "T('\"%s100,64,32;100\"'),T('FLOAT16'),T('1,32'))",
		 shapes.text);
	a = analyse_ranks("ep_load_balance");
	assert_int_equal(integer(a.modes, "EPTokensSummary", 0, "inputShapesSummary"), 5050);
	release(&a);
}

static void mstx_sum_measures_marks_on_three_layers(void **state)
{
	struct analysed a;

	(void)state;
	for (int i = 0; i < 2; i++) {
		rank_db(i);
		rank_kernel(i, 1, 1000, 2000, "MatMul");
		rank_sql(i,
			 "INSERT INTO STEP_TIME VALUES(7,0,100000);"
			 "INSERT INTO TASK(startNs,endNs,connectionId,globalTaskId,taskType,"
			 "streamId) VALUES(5100,5110,51,51,T('MSTX'),2),"
			 "(7600,7610,52,52,T('MSTX'),2);"
			 "INSERT INTO PYTORCH_API(startNs,endNs,globalTid,connectionId,name,type)"
			 " VALUES(4990,4991,9,1,T('load_start'),50004),"
			 "(%d,7200,9,2,T('load_stop'),50004);"
			 "INSERT INTO CONNECTION_IDS VALUES(1,51),(2,52);"
			 "INSERT INTO MSTX_EVENTS VALUES(5000,5000,3,0,0,T('load_start'),9,9,"
			 "T('default'),51),(7000,7000,3,0,0,T('load_stop'),9,9,T('default'),52)",
			 6990 + i * 100);
	}
	a = analyse_ranks("mstx_sum");
	assert_int_equal(rows(a.modes, "MSTXMarkStats"), 2);
	assert_string_equal(text(a.modes, "MSTXMarkStats", 0, "Name"), "load");
	assert_int_equal(integer(a.modes, "MSTXMarkStats", 0, "CannDurationNs"), 2000);
	assert_int_equal(integer(a.modes, "MSTXMarkStats", 0, "DeviceDurationNs"), 2500);
	assert_int_equal(integer(a.modes, "MSTXMarkStats", 0, "FrameworkDurationNs"), 2000);
	assert_int_equal(integer(a.modes, "MSTXMarkStats", 1, "FrameworkDurationNs"), 2100);
	assert_int_equal(integer(a.modes, "MSTXMarkStats", 0, "StepId"), 7);
	assert_int_equal(integer(a.modes, "MSTXAllFrameworkStats", 0, "MaxRank"), 1);
	assert_near(real(a.modes, "MSTXAllDeviceStats", 0, "SumNs"), 5000, 0);
	release(&a);
}

static void mstx_sum_names_a_range_by_those_around_it_on_its_thread(void **state)
{
	struct analysed a;

	(void)state;
	rank_db(0);
	rank_kernel(0, 1, 1000, 2000, "MatMul");
	rank_sql(0, "INSERT INTO MSTX_EVENTS VALUES"
		    "(1000,9000,2,1,0,T('outer'),9,9,T('d'),61),"
		    "(2000,3000,2,2,0,T('inner'),9,9,T('d'),62),"
		    "(2100,2900,2,3,0,T('elsewhere'),8,8,T('d'),63),"
		    "(2200,2300,2,4,0,T('host only'),9,9,T('d'),4294967295)");
	a = analyse_ranks("mstx_sum");
	assert_int_equal(rows(a.modes, "MSTXMarkStats"), 3);
	(void)row_of(a.modes, "MSTXMarkStats", "Name", "outer::inner");
	(void)row_of(a.modes, "MSTXMarkStats", "Name", "elsewhere");
	release(&a);
}

/* Of steps 1, 2 and 3 the second is left out: what began in it is not looked at, and what ended in
 * it, or is inside of what began in it, is as it was. */
static void mstx_sum_pairs_and_names_do_not_depend_on_the_steps_chosen(void **state)
{
	const char *name = "MSTXMarkStats";
	struct analysed a;

	(void)state;
	rank_db(0);
	rank_kernel(0, 1, 1000, 2000, "MatMul");
	rank_kernel(0, 2, 12000, 13000, "MatMul");
	rank_kernel(0, 3, 22000, 23000, "MatMul");
	rank_sql(0, "INSERT INTO STEP_TIME VALUES(1,0,10000),(2,10000,20000),(3,20000,30000);"
		    "INSERT INTO MSTX_EVENTS VALUES"
		    "(8000,8000,3,0,0,T('load_start'),9,9,T('d'),4294967295),"
		    "(11000,11000,3,0,0,T('load_stop'),9,9,T('d'),4294967295),"
		    "(18000,18000,3,0,0,T('load_start'),9,9,T('d'),4294967295),"
		    "(19000,19000,3,0,0,T('save_start'),9,9,T('d'),4294967295),"
		    "(21000,21000,3,0,0,T('load_stop'),9,9,T('d'),4294967295),"
		    "(24000,24000,3,0,0,T('send_start'),9,9,T('d'),4294967295),"
		    "(15000,29000,2,1,0,T('outer'),9,9,T('d'),61),"
		    "(25000,26000,2,2,0,T('inner'),9,9,T('d'),62)");
	a = analyse_step("mstx_sum", "1,3");
	assert_int_equal(rows(a.modes, name), 2);
	assert_int_equal(
		integer(a.modes, name, row_of(a.modes, name, "Name", "load"), "CannDurationNs"),
		3000);
	(void)row_of(a.modes, name, "Name", "outer::inner");
	assert_noted(&a.run->notes, NP_NOTE_WARNING, "mstx_sum", "rank 0: 1 marks lack");
	release(&a);
}

static void masking_tells_ranks_apart_and_unites_overlapping_operators(void **state)
{
	struct analysed a;

	(void)state;
	for (int i = 0; i < 2; i++) {
		rank_db(i);
		rank_sql(i,
			 "INSERT INTO STEP_TIME VALUES(3,0,10000);"
			 "INSERT INTO META_DATA VALUES('parallel_group_info',"
			 "'{\"world\":{\"group_name\":\"dp\",\"group_rank\":%d,"
			 "\"global_ranks\":[0,1]}}');"
			 "INSERT INTO CANN_API VALUES(10,20,10000,9,1,T('launch')),"
			 "(30,40,10000,9,2,T('launch')),(50,60,10000,9,3,T('launch'))",
			 i);
		rank_kernel(i, 1, 1000, 2500, "MatMul");
		/* [2000, 4000) and [3000, 5000 + i): 3000 + i together, 500 under the kernel. */
		rank_op(i, 2, 2000, 4000, "hcom_allReduce__1_0_1");
		rank_op(i, 3, 3000, 5000 + i, "hcom_allReduce__1_1_1");
	}
	a = analyse_ranks("computational_op_masking");
	/* dp+edp and dp, for each rank. */
	assert_int_equal(rows(a.modes, "ComputationalOperatorMaskingLinearity"), 4);
	assert_int_equal(integer(a.modes, "ComputationalOperatorMaskingLinearity", 2, "rankId"), 1);
	assert_int_equal(integer(a.modes, "ComputationalOperatorMaskingLinearity", 2,
				 "totalCommunicationOperatorTime"),
			 3001);
	assert_int_equal(integer(a.modes, "ComputationalOperatorMaskingLinearity", 2,
				 "totalTimeWithoutCommunicationBlackout"),
			 2501);
	assert_near(real(a.modes, "ComputationalOperatorMaskingLinearity", 0,
			 "ratioOfUnmaskedCommunication"),
		    0.25, 1e-12);
	release(&a);
}

/* Frameworks have names of their own for dimensions: "exp", "dp_cp". */
static void masking_shows_dimensions_of_any_name(void **state)
{
	struct np_modes_options options = options_of("computational_op_masking");
	struct analysed a;

	(void)state;
	rank_db(0);
	rank_sql(0, "INSERT INTO META_DATA VALUES('parallel_group_info',"
		    "'{\"world\":{\"group_name\":\"exp\",\"group_rank\":0,"
		    "\"global_ranks\":[0,1]}}')");
	rank_kernel(0, 1, 1000, 2500, "MatMul");
	rank_op(0, 2, 2000, 4000, "hcom_allReduce__1_0_1");
	a = analyse_ranks("computational_op_masking");
	assert_int_equal(rows(a.modes, "ComputationalOperatorMaskingLinearity"), 1);
	assert_string_equal(
		text(a.modes, "ComputationalOperatorMaskingLinearity", 0, "parallelType"), "exp");
	release(&a);
	options.parallel_types = "ep,exp+dp,nix+da";
	a = analyse_with(synth_load(below("run")), &options);
	assert_int_equal(rows(a.modes, "ComputationalOperatorMaskingLinearity"), 1);
	assert_noted(&a.run->notes, NP_NOTE_SKIPPED, "computational_op_masking",
		     "no operator belongs to a communicator named ep, nix+da; there are exp");
	release(&a);
}

/* Rank 1 has lost its metadata, rank 2 is alone in its communicator and rank 3 has no operators. */
static void masking_names_ranks_that_it_cannot_tell_anything_about(void **state)
{
	const char *name = "ComputationalOperatorMaskingLinearity";
	struct analysed a;

	(void)state;
	for (int i = 0; i < 4; i++) {
		rank_db(i);
		rank_kernel(i, 1, 1000, 2500, "MatMul");
		if (i < 3)
			rank_op(i, 2, 2000, 4000, "hcom_allReduce__1_0_1");
	}
	rank_sql(0, "INSERT INTO META_DATA VALUES('parallel_group_info',"
		    "'{\"world\":{\"group_name\":\"tp\",\"group_rank\":0,"
		    "\"global_ranks\":[0,1]}}')");
	rank_sql(2, "UPDATE COMMUNICATION_OP SET groupName = T('another')");
	a = analyse_ranks("computational_op_masking");
	assert_int_equal(rows(a.modes, name), 2);
	assert_int_equal(integer(a.modes, name, 1, "rankId"), 1);
	assert_string_equal(text(a.modes, name, 1, "parallelType"), "tp");
	assert_noted(&a.run->notes, NP_NOTE_SKIPPED, "computational_op_masking",
		     "rank 2: operators of communicators without a name are left out");
	assert_noted(&a.run->notes, NP_NOTE_SKIPPED, "computational_op_masking",
		     "not for rank 3: no communication operators");
	release(&a);
}

/* Module Outer holds Inner; Inner runs twice, each time mul with kernel K. */
static void write_modules(void)
{
	rank_db(0);
	rank_sql(0, "INSERT INTO MSTX_EVENTS VALUES"
		    "(1000,9000,2,1,0,T('Outer'),9,9,T('Module'),4294967295),"
		    "(2000,3000,2,2,0,T('Inner'),9,9,T('Module'),4294967295),"
		    "(4000,5000,2,3,0,T('Inner'),9,9,T('Module'),4294967295);"
		    "INSERT INTO PYTORCH_API(startNs,endNs,globalTid,connectionId,name,type) VALUES"
		    "(2100,2200,9,1,T('aten::mul'),50001),(4100,4200,9,2,T('aten::mul'),50001),"
		    "(6000,6100,9,3,T('aten::sum'),50001),"
		    "(20000,20100,8,4,T('MulBackward0'),50001),"
		    "(20010,20050,8,5,T('aten::mul'),50001);"
		    "INSERT INTO CONNECTION_IDS VALUES(1,11),(2,12),(3,13),(1,900),(4,900),(5,14)");
	rank_kernel(0, 11, 10000, 10100, "Mul");
	rank_kernel(0, 12, 11000, 11300, "Mul");
	rank_kernel(0, 13, 12000, 12050, "Sum");
	rank_kernel(0, 14, 30000, 30070, "Mul");
}

static void module_statistic_sums_instances_and_follows_them_backwards(void **state)
{
	const char *name = "ModuleStatistic";
	struct analysed a;
	size_t row;

	(void)state;
	write_modules();
	a = analyse_ranks("module_statistic");
	assert_int_equal(rows(a.modes, name), 3);
	row = row_of(a.modes, name, "module", "Inner");
	assert_string_equal(text(a.modes, name, row, "parentModule"), "Outer");
	assert_string_equal(text(a.modes, name, row, "opName"), "aten::mul");
	assert_string_equal(text(a.modes, name, row, "kernelList"), "Mul");
	assert_int_equal(integer(a.modes, name, row, "totalKernelDuration(ns)"), 400);
	assert_int_equal(integer(a.modes, name, row, "opCount"), 2);
	assert_near(real(a.modes, name, row, "avgKernelDuration(ns)"), 200, 0);
	row = row_of(a.modes, name, "module", "Outer");
	assert_string_equal(text(a.modes, name, row, "opName"), "aten::sum");
	row = row_of(a.modes, name, "module", "[Backward]Inner");
	assert_string_equal(text(a.modes, name, row, "parentModule"), "[Backward]Outer");
	assert_int_equal(integer(a.modes, name, row, "totalKernelDuration(ns)"), 70);
	release(&a);
}

/* Two kernels of one range share its operations; the incumbent credits each with all of them. */
static void operator_mfu_divides_the_operations_of_a_range(void **state)
{
	const char *name = "OperatorMFU";
	struct analysed a;

	(void)state;
	write_modules();
	rank_sql(0, "INSERT INTO MSTX_EVENTS VALUES"
		    "(2050,4300,2,9,0,T('8192000-two muls'),9,9,T('mfu_flops'),4294967295)");
	write_text(below("run/rank0_ascend_pt/PROF_1/device_0/info.json.0"),
		   "{\"DeviceInfo\":[{\"ai_core_num\":10,\"aic_frequency\":\"1000\"}]}");
	a = analyse_ranks("operator_mfu");
	assert_int_equal(rows(a.modes, name), 2);
	/* 8192000 operations in 100 + 300 ns are 20.48e12 per second; the peak is
	 * 10 × 1000e6 × 8192 = 81.92e12. */
	assert_near(real(a.modes, name, 0, "mfu"), 0.25, 1e-12);
	assert_near(real(a.modes, name, 1, "mfu"), 0.25, 1e-12);
	assert_near(real(a.modes, name, 0, "actual_tflops"), 20.48, 1e-9);
	assert_near(real(a.modes, name, 0, "chip_peak_tflops"), 81.92, 1e-9);
	assert_near(real(a.modes, name, 0, "flops") + real(a.modes, name, 1, "flops"), 8192000,
		    1e-3);
	assert_string_equal(text(a.modes, name, 0, "flops_op_name"), "two muls");
	assert_string_equal(text(a.modes, "ModuleMFU", 0, "avg_mfu"), "25%");
	release(&a);
}

/* A range inside another: its kernel counts for it alone, and the other one for the outer range. */
static void operator_mfu_counts_kernels_of_nested_ranges_once(void **state)
{
	const char *name = "OperatorMFU";
	struct analysed a;

	(void)state;
	write_modules();
	rank_sql(0, "INSERT INTO MSTX_EVENTS VALUES"
		    "(2050,4300,2,9,0,T('8192000-two muls'),9,9,T('mfu_flops'),4294967295)");
	a = analyse_ranks("operator_mfu");
	assert_int_equal(rows(a.modes, name), 2);
	release(&a);
	rank_sql(0, "INSERT INTO MSTX_EVENTS SELECT (SELECT min(CAST(startNs AS INTEGER)) FROM"
		    " PYTORCH_API WHERE CAST(startNs AS INTEGER) > 2050 AND name = T('aten::mul')),"
		    "(SELECT min(CAST(startNs AS INTEGER)) FROM PYTORCH_API WHERE"
		    " CAST(startNs AS INTEGER) > 2050 AND name = T('aten::mul')) + 1,"
		    "2,8,0,T('100-inner'),9,9,T('mfu_flops'),4294967295");
	a = analyse_ranks("operator_mfu");
	assert_int_equal(rows(a.modes, name), 2);
	assert_true(row_of(a.modes, name, "flops_op_name", "inner") < 2);
	assert_near(real(a.modes, name, row_of(a.modes, name, "flops_op_name", "inner"), "flops"),
		    100, 1e-9);
	assert_near(
		real(a.modes, name, row_of(a.modes, name, "flops_op_name", "two muls"), "flops"),
		8192000, 1e-3);
	release(&a);
}

static void operator_mfu_without_the_chip_gives_rates_and_no_share(void **state)
{
	struct analysed a;

	(void)state;
	write_modules();
	rank_sql(0, "INSERT INTO MSTX_EVENTS VALUES"
		    "(2050,4300,2,9,0,T('8192000-two muls'),9,9,T('mfu_flops'),4294967295)");
	a = analyse_ranks("operator_mfu");
	assert_true(is_null(a.modes, "OperatorMFU", 0, "mfu"));
	assert_near(real(a.modes, "OperatorMFU", 0, "actual_tflops"), 20.48, 1e-9);
	assert_noted(&a.run->notes, NP_NOTE_SKIPPED, "operator_mfu",
		     "rank 0: the number of AI cores");
	release(&a);
}

/* The cube computes fp32 at a rate that is not known from profiles: not that of fp16. */
static void operator_mfu_does_not_rate_fp32(void **state)
{
	struct analysed a;

	(void)state;
	write_modules();
	rank_sql(0, "UPDATE COMPUTE_TASK_INFO SET inputDataTypes = T('FLOAT;FLOAT');"
		    "INSERT INTO MSTX_EVENTS VALUES"
		    "(2050,4300,2,9,0,T('8192000-two muls'),9,9,T('mfu_flops'),4294967295)");
	write_text(below("run/rank0_ascend_pt/PROF_1/device_0/info.json.0"),
		   "{\"DeviceInfo\":[{\"ai_core_num\":10,\"aic_frequency\":\"1000\"}]}");
	a = analyse_ranks("operator_mfu");
	assert_int_equal(rows(a.modes, "OperatorMFU"), 2);
	assert_true(is_null(a.modes, "OperatorMFU", 0, "mfu"));
	assert_near(real(a.modes, "OperatorMFU", 0, "actual_tflops"), 20.48, 1e-9);
	assert_noted(&a.run->notes, NP_NOTE_WARNING, "operator_mfu",
		     "rank 0: the chip's rate is known for FLOAT16, BF16 and INT8");
	release(&a);
}

/* Level0 has no types. */
static void operator_mfu_says_that_types_were_not_recorded(void **state)
{
	struct analysed a;

	(void)state;
	write_modules();
	rank_sql(0, "UPDATE COMPUTE_TASK_INFO SET inputDataTypes = T('N/A');"
		    "INSERT INTO MSTX_EVENTS VALUES"
		    "(2050,4300,2,9,0,T('8192000-two muls'),9,9,T('mfu_flops'),4294967295)");
	write_text(below("run/rank0_ascend_pt/PROF_1/device_0/info.json.0"),
		   "{\"DeviceInfo\":[{\"ai_core_num\":10,\"aic_frequency\":\"1000\"}]}");
	a = analyse_ranks("operator_mfu");
	assert_true(is_null(a.modes, "OperatorMFU", 0, "mfu"));
	assert_noted(&a.run->notes, NP_NOTE_SKIPPED, "operator_mfu",
		     "rank 0: the types of the data are not known (profiler_level=Level1)");
	release(&a);
}

/* A cast in front of a multiplication says nothing about the type it works on. */
static void operator_mfu_rates_a_range_by_its_longest_kernel(void **state)
{
	struct analysed a;

	(void)state;
	write_modules();
	rank_sql(0, "UPDATE COMPUTE_TASK_INFO SET inputDataTypes = T('FLOAT') WHERE globalTaskId ="
		    " (SELECT globalTaskId FROM TASK WHERE connectionId = 11);"
		    "INSERT INTO MSTX_EVENTS VALUES"
		    "(2050,4300,2,9,0,T('8192000-two muls'),9,9,T('mfu_flops'),4294967295)");
	write_text(below("run/rank0_ascend_pt/PROF_1/device_0/info.json.0"),
		   "{\"DeviceInfo\":[{\"ai_core_num\":10,\"aic_frequency\":\"1000\"}]}");
	a = analyse_ranks("operator_mfu");
	assert_int_equal(rows(a.modes, "OperatorMFU"), 2);
	assert_near(real(a.modes, "OperatorMFU", 0, "mfu"), 0.25, 1e-12);
	release(&a);
}

static void pp_chart_shows_passes_by_rank(void **state)
{
	struct analysed a;

	(void)state;
	rank_db(0);
	rank_kernel(0, 1, 1000, 2000, "MatMul");
	rank_sql(0, "INSERT INTO TASK(startNs,endNs,connectionId,globalTaskId,taskType,streamId)"
		    " VALUES(5000,6000,71,71,T('MSTX'),2),(7000,9000,72,72,T('MSTX'),2);"
		    "INSERT INTO MSTX_EVENTS VALUES"
		    "(100,200,2,1,0,T('forward_step'),9,9,T('d'),71),"
		    "(300,400,2,2,0,T('backward_step'),9,9,T('d'),72)");
	a = analyse_ranks("pp_chart");
	assert_int_equal(rows(a.modes, "StepTaskInfo"), 2);
	assert_string_equal(text(a.modes, "StepTaskInfo", 0, "name"), "FP");
	assert_int_equal(integer(a.modes, "StepTaskInfo", 0, "startNs"), 5000);
	assert_string_equal(text(a.modes, "StepTaskInfo", 1, "name"), "BP");
	assert_int_equal(integer(a.modes, "StepTaskInfo", 1, "type"), 1);
	release(&a);
}

/* Rank 1 has a pass without a task, and rank 2 a mark that is none of these. */
static void ranks_whose_marks_say_nothing_to_a_mode_are_named(void **state)
{
	static const char names[] = "mstx_sum,module_statistic,operator_mfu,pp_chart";
	struct analysed a;

	(void)state;
	write_modules();
	rank_sql(0, "INSERT INTO TASK(startNs,endNs,connectionId,globalTaskId,taskType,streamId)"
		    " VALUES(5000,6000,71,71,T('MSTX'),2);"
		    "INSERT INTO MSTX_EVENTS VALUES"
		    "(100,200,2,1,0,T('forward_step'),9,9,T('d'),71),"
		    "(2050,4300,2,9,0,T('8192000-two muls'),9,9,T('mfu_flops'),4294967295)");
	for (int i = 1; i < 3; i++) {
		rank_db(i);
		rank_kernel(i, 1, 1000, 2000, "MatMul");
		rank_sql(i,
			 "INSERT INTO PYTORCH_API(startNs,endNs,globalTid,connectionId,name,type)"
			 " VALUES(2100,2200,9,1,T('aten::mul'),50001);"
			 "INSERT INTO MSTX_EVENTS VALUES(100,200,%d,1,0,T('forward_step'),9,9,"
			 "T('d'),4294967295)",
			 i == 1 ? 2 : 0);
	}
	a = analyse_ranks(names);
	assert_noted(&a.run->notes, NP_NOTE_SKIPPED, "mstx_sum", "ranks 1-2: no marks X_start");
	assert_noted(&a.run->notes, NP_NOTE_SKIPPED, "module_statistic",
		     "ranks 1-2: no operators in ranges of the domain Module");
	assert_noted(&a.run->notes, NP_NOTE_SKIPPED, "operator_mfu",
		     "ranks 1-2: no kernels of ranges");
	assert_noted(&a.run->notes, NP_NOTE_SKIPPED, "pp_chart",
		     "ranks 1-2: no ranges named forward or backward with a device part");
	release(&a);
}

/* The incumbent filters one of three names. */
static void pp_chart_filters_all_passes_by_step(void **state)
{
	struct analysed a;

	(void)state;
	rank_db(0);
	rank_kernel(0, 1, 1000, 2000, "MatMul");
	rank_kernel(0, 2, 20000, 21000, "MatMul");
	rank_sql(0, "INSERT INTO STEP_TIME VALUES(1,0,10000),(2,10000,30000);"
		    "INSERT INTO MSTX_EVENTS VALUES"
		    "(1000,1200,2,1,0,T('forward_step'),9,9,T('d'),71),"
		    "(1300,1400,2,2,0,T('backward_step'),9,9,T('d'),72),"
		    "(20000,20200,2,3,0,T('forward_step'),9,9,T('d'),73),"
		    "(20300,20400,2,4,0,T('backward_step'),9,9,T('d'),74);"
		    "INSERT INTO TASK(startNs,endNs,connectionId,globalTaskId,taskType,streamId)"
		    " VALUES(1100,1200,71,71,T('MSTX'),2),(1300,1400,72,72,T('MSTX'),2),"
		    "(20100,20200,73,73,T('MSTX'),2),(20300,20400,74,74,T('MSTX'),2)");
	a = analyse_step("pp_chart", "2");
	assert_int_equal(rows(a.modes, "StepTaskInfo"), 2);
	assert_int_equal(integer(a.modes, "StepTaskInfo", 0, "startNs"), 20100);
	assert_int_equal(integer(a.modes, "StepTaskInfo", 1, "startNs"), 20300);
	release(&a);
}

/* Stage 0 of 2, four micro-batches: 32 labels, the logits among them (see mode_pp_chart.c). */
static void pp_chart_numbers_the_passes_of_a_dual_pipe(void **state)
{
	static const char *const labels[] = {
		"0",     "1",     "2",      "4",  "logits", "4b",     "4w", "5",  "logits",
		"3F+5B", "6F+0B", "logits", "6B", "7F+1B",  "logits", "7B", "2B", "3B",
	};
	struct analysed a;

	(void)state;
	rank_db(0);
	rank_kernel(0, 1, 1000, 2000, "MatMul");
	rank_sql(0, "INSERT INTO META_DATA VALUES"
		    "('pp_info','{\"microbatch_num\":4,\"pp_type\":\"dualpipev\"}'),"
		    "('distributed_args','{\"tensor_model_parallel_size\":1,"
		    "\"pipeline_model_parallel_size\":2,\"data_parallel_size\":1,"
		    "\"context_parallel_size\":1,\"expert_model_parallel_size\":1,"
		    "\"rank\":0,\"world_size\":2}')");
	for (int i = 0; i < (int)NP_COUNT(labels); i++)
		rank_sql(0,
			 "INSERT INTO TASK(startNs,endNs,connectionId,globalTaskId,taskType,"
			 "streamId) VALUES(%d,%d,%d,%d,T('MSTX'),2);"
			 "INSERT INTO MSTX_EVENTS VALUES(%d,%d,2,1,0,T('forward_step'),9,9,T('d'),"
			 "%d)",
			 5000 + 100 * i, 5050 + 100 * i, 71 + i, 71 + i, 10 * i, 10 * i + 5,
			 71 + i);
	a = analyse_ranks("pp_chart");
	assert_int_equal(rows(a.modes, "StepTaskInfo"), NP_COUNT(labels));
	for (size_t i = 0; i < NP_COUNT(labels); i++)
		assert_string_equal(text(a.modes, "StepTaskInfo", i, "name"), labels[i]);
	release(&a);
}

/* API times are those of the calls, and a wait is from the end before to this start. */
static void export_summary_writes_beside_the_database_and_not_into_profiles(void **state)
{
	struct np_run *run;
	struct analysed a;
	size_t length;
	char *before;
	char *csv;

	(void)state;
	rank_db(0);
	rank_kernel(0, 1, 10000, 20000, "MatMul");
	rank_kernel(0, 2, 25500, 30000, "Add");
	rank_sql(0, "INSERT INTO CANN_API VALUES(100,400,10000,9,1,T('launch')),"
		    "(500,600,10000,9,2,T('launch'))");
	before = snapshot(below("run"));
	run = synth_load(below("run"));
	a = analyse(run, "export_summary");
	csv = read_bytes(below("out/export_summary/rank_0/api_statistic.csv"), &length);
	assert_string_equal(csv, "API Name,Total Time(ns),Count,Avg Time(ns),Min Time(ns),"
				 "Max Time(ns)\nlaunch,400,2,200.0,100,300\n");
	free(csv);
	csv = read_bytes(below("out/export_summary/rank_0/kernel_details.csv"), &length);
	assert_holds(csv, "Step Id,Device_id,Task ID,Stream ID,Name,");
	assert_holds(csv, ",Add,Add,N/A,AI_CORE,25.500,4.500,5.500,");
	free(csv);
	assert_untouched(below("run"), before);
	release(&a);
}

/* Without a trace the sums of the profile are all there is: those of a function's levels together.
 */
static void export_summary_takes_what_text_says_about_calls(void **state)
{
	struct analysed a;
	size_t length;
	char *csv;

	(void)state;
	write_text(below("run/rank0_ascend_pt/profiler_info_0.json"), "{}");
	write_text(below("run/rank0_ascend_pt/ASCEND_PROFILER_OUTPUT/kernel_details.csv"),
		   "Step Id,Name,Type,Accelerator Core,Start Time(us),Duration(us),Wait Time(us)\n"
		   "1,mul,Mul,AI_CORE,1000.000,10.000,0\n");
	write_text(below("run/rank0_ascend_pt/ASCEND_PROFILER_OUTPUT/api_statistic.csv"),
		   "Level,API Name,Time(us),Count,Avg(us),Min(us),Max(us),Variance\n"
		   "acl,copy,3.500,2,1.750,1.250,2.250,0.25\nnode,launch,9.000,3,3.0,2.0,4.0,1\n"
		   "runtime,copy,1.000,1,1.000,1.000,1.000,0\n");
	a = analyse_ranks("export_summary");
	csv = read_bytes(below("out/export_summary/rank_0/api_statistic.csv"), &length);
	assert_string_equal(csv, "API Name,Total Time(ns),Count,Avg Time(ns),Min Time(ns),"
				 "Max Time(ns)\nlaunch,9000,3,3000.0,2000,4000\n"
				 "copy,4500,3,1500.0,1000,2250\n");
	free(csv);
	assert_int_equal(rows(a.modes, "ExportSummary"), 2);
	release(&a);
}

static void communication_bottleneck_names_the_slow_rank_and_what_held_it_up(void **state)
{
	const char *name = "CommunicationBottleneck";
	struct analysed a;

	(void)state;
	for (int i = 0; i < 2; i++) {
		/* Rank 1 takes 5 ms for the kernel that rank 0 does in 1 ms. */
		int64_t arrival = i ? 6500000 : 2500000;

		rank_db(i);
		rank_kernel(i, 1, 100000, 400000, "Warm");
		rank_kernel(i, 2, 1000000, i ? 6000000 : 2000000, "Big");
		rank_op(i, 3, arrival, 8000000, "hcom_allReduce__1_0_1");
		rank_op(i, 4, 9000000, 9100000 + i, "hcom_allReduce__1_1_1");
		rank_kernel(i, 5, 7000000, 7100000, "Aside");
		rank_sql(i,
			 "INSERT INTO CANN_API VALUES(1000,2000,10000,9,1,T('launch')),"
			 "(3000,4000,10000,9,2,T('launch')),(5000,6000,10000,9,5,T('launch'));"
			 "INSERT INTO PYTORCH_API(startNs,endNs,globalTid,connectionId,name,type)"
			 " VALUES(500,900,9,1,T('aten::a'),50001),"
			 "(2500,2900,9,2,T('aten::b'),50001),(4500,4900,9,3,T('aten::c'),50001);"
			 "INSERT INTO CONNECTION_IDS VALUES(1,1),(2,2),(3,5)");
	}
	a = analyse_ranks("communication_bottleneck");
	assert_int_equal(rows(a.modes, name), 2);
	assert_string_equal(text(a.modes, name, 0, "communicationOp"), "hcom_allReduce__1_0_1");
	assert_int_equal(integer(a.modes, name, 0, "slowRankId"), 1);
	assert_int_equal(integer(a.modes, name, 0, "fastRankId"), 0);
	assert_holds(text(a.modes, name, 0, "reason"),
		     "Device bottleneck: Big takes 4000.000 us longer");
	/* 100 and 100.001 µs differ by less than five percent. */
	assert_holds(text(a.modes, name, 1, "reason"),
		     "No slow NPU detected: the ranks differ by less than 5%");
	release(&a);
}

/* Rank 0 has sent at 1 ms what rank 1 asks for at 5 ms. */
static void both_ends_of_a_message_are_compared(void **state)
{
	const char *name = "CommunicationBottleneck";
	struct analysed a;

	(void)state;
	for (int i = 0; i < 2; i++) {
		rank_db(i);
		rank_kernel(i, 1, 100000, 400000, "Warm");
		rank_op(i, 2, i ? 5000000 : 1000000, 6000000,
			i ? "hcom_receive__1_7_1" : "hcom_send__1_4_1");
		rank_sql(i, "UPDATE COMMUNICATION_OP SET opType=T('%s')",
			 i ? "hcom_receive_" : "hcom_send_");
	}
	a = analyse_ranks("communication_bottleneck,cluster_time_summary");
	assert_int_equal(rows(a.modes, name), 1);
	assert_int_equal(integer(a.modes, name, 0, "slowRankId"), 1);
	assert_int_equal(integer(a.modes, name, 0, "fastRankId"), 0);
	assert_holds(text(a.modes, name, 0, "reason"),
		     "rank 1 comes 4000.000 us later than rank 0");
	name = "ClusterTimeSummary";
	assert_near(real(a.modes, name, 0, "communicationTransmitStageTime"), 1000, 1e-9);
	assert_near(real(a.modes, name, 0, "communicationWaitStageTime"), 4000, 1e-9);
	assert_near(real(a.modes, name, 1, "communicationWaitStageTime"), 0, 1e-9);
	release(&a);
}

static void an_unknown_rank_is_refused_with_those_there_are(void **state)
{
	struct np_modes_options options = options_of("communication_bottleneck");
	struct np_err err = NP_ERR_INIT;
	struct analysed a = matched(run_of(3));

	(void)state;
	options.rank = 7;
	assert_int_equal(run_modes(&a, &options, 1, &err), NP_E_USAGE);
	assert_holds(err.text, "no rank 7 in this run; there are ranks 0-2");
	assert_null(a.modes);
	release(&a);
}

static void add_calls(int rank, const int *durations, int count)
{
	rank_db(rank);
	rank_kernel(rank, 1, 1000, 2000, "MatMul");
	for (int i = 0; i < count; i++)
		rank_sql(rank, "INSERT INTO CANN_API VALUES(%d,%d,10000,9,%d,T('launch'))",
			 1000 * i, 1000 * i + durations[i], i + 1);
}

/* All of them: 5, 10, 20, 20, 30, 40, 50. Σ (x - 25)² is 1550. */
static void quantiles_over_ranks_are_those_of_all_values(void **state)
{
	struct analysed a;

	(void)state;
	add_calls(0, (const int[]){ 30, 10, 20 }, 3);
	add_calls(1, (const int[]){ 50, 20, 5, 40 }, 4);
	a = analyse_ranks("cann_api_sum");
	assert_int_equal(rows(a.modes, "CannApiSum"), 1);
	assert_int_equal(integer(a.modes, "CannApiSum", 0, "totalCount"), 7);
	assert_near(real(a.modes, "CannApiSum", 0, "averageNs"), 25, 1e-9);
	assert_near(real(a.modes, "CannApiSum", 0, "minNs"), 5, 1e-9);
	assert_near(real(a.modes, "CannApiSum", 0, "Q1Ns"), 15, 1e-9);
	assert_near(real(a.modes, "CannApiSum", 0, "medNs"), 20, 1e-9);
	assert_near(real(a.modes, "CannApiSum", 0, "Q3Ns"), 35, 1e-9);
	assert_near(real(a.modes, "CannApiSum", 0, "maxNs"), 50, 1e-9);
	assert_near(real(a.modes, "CannApiSum", 0, "stdev"), 16.1, 1e-9);
	assert_string_equal(text(a.modes, "CannApiSum", 0, "maxRank"), "1");
	release(&a);
}

/* 1 to 1,000 µs on rank 0, in no order; with one of 5 s more than 32 bits are needed. */
static void add_many_calls(bool with_a_long_one)
{
	rank_db(0);
	rank_kernel(0, 1, 1000, 2000, "MatMul");
	rank_sql(
		0,
		"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<1000)"
		"INSERT INTO CANN_API SELECT 2000000*i, 2000000*i+1000*((i*377)%%1000+1), 10000, 9,"
		" i, T('launch') FROM n");
	if (with_a_long_one)
		rank_sql(0, "INSERT INTO CANN_API VALUES(0,5000000000,10000,9,1001,T('launch'))");
}

static void assert_quantiles_of_many(int64_t count, double q1, double median, double q3, double max)
{
	struct analysed a = analyse_ranks("cann_api_sum");

	assert_int_equal(integer(a.modes, "CannApiSum", 0, "totalCount"), count);
	assert_near(real(a.modes, "CannApiSum", 0, "minNs"), 1000, 1e-9);
	assert_near(real(a.modes, "CannApiSum", 0, "Q1Ns"), q1, 1e-9);
	assert_near(real(a.modes, "CannApiSum", 0, "medNs"), median, 1e-9);
	assert_near(real(a.modes, "CannApiSum", 0, "Q3Ns"), q3, 1e-9);
	assert_near(real(a.modes, "CannApiSum", 0, "maxNs"), max, 1e-9);
	release(&a);
}

static void quantiles_of_many_calls_are_exact(void **state)
{
	(void)state;
	add_many_calls(false);
	assert_quantiles_of_many(1000, 250750, 500500, 750250, 1000000);
}

static void durations_of_seconds_do_not_disturb_quantiles(void **state)
{
	(void)state;
	add_many_calls(true);
	assert_quantiles_of_many(1001, 251000, 501000, 751000, 5e9);
}

static void a_rank_that_lacks_what_a_mode_needs_is_noted_once(void **state)
{
	struct analysed a;

	(void)state;
	for (int i = 0; i < 3; i++) {
		rank_db(i);
		rank_kernel(i, 1, 1000, 2000, "MatMul");
	}
	rank_sql(1, "INSERT INTO CANN_API VALUES(100,400,10000,9,1,T('launch'))");
	a = analyse_ranks("cann_api_sum");
	assert_int_equal(rows(a.modes, "CannApiSum"), 1);
	assert_noted(&a.run->notes, NP_NOTE_SKIPPED, "cann_api_sum",
		     "not for ranks 0,2: no calls of CANN");
	release(&a);
}

static void ranks_are_noted_with_just_what_they_lack(void **state)
{
	struct analysed a;

	(void)state;
	for (int i = 0; i < 4; i++) {
		rank_db(i);
		rank_sql(i, "INSERT INTO CANN_API VALUES(100,400,10000,9,1,T('launch'))");
		if (i != 1)
			rank_kernel(i, 1, 1000, 2000, "MatMul");
		if (i < 2)
			rank_op(i, 2, 3000, 4000, "hcom_allReduce__678_0_1");
	}
	rank_sql(1, "DROP TABLE COMPUTE_TASK_INFO");
	a = analyse_ranks("hccl_sum,module_statistic");
	assert_noted(&a.run->notes, NP_NOTE_SKIPPED, "hccl_sum",
		     "not for ranks 2-3: no communication operators");
	assert_noted(
		&a.run->notes, NP_NOTE_SKIPPED, "module_statistic",
		"not for ranks 0,2-3: no calls of the framework (profile the CPU activity"
		" too), no mstx marks (switch on mstx; of text the trace has them); not for rank 1: no kernels, no calls"
		" of the framework");
	release(&a);
}

static void a_database_without_texts_is_noted(void **state)
{
	struct analysed a;

	(void)state;
	rank_db(0);
	rank_kernel(0, 1, 1000, 2000, "MatMul");
	rank_sql(0, "DELETE FROM STRING_IDS");
	a = analyse_ranks("compute_op_sum");
	assert_noted(&a.run->notes, NP_NOTE_SKIPPED, "STRING_IDS", "there are no texts");
	release(&a);
}

/* The second operator has lost its partner: who waited in it is not known. */
/*
 * Device 0 computes from 1000 to 2000 and from 5000 to 6000 and communicates from 2500 to 4500;
 * device 1 computes all the while from 1500 to 5500.
 */
static void what_two_devices_do_at_the_same_time_is_not_laid_over_each_other(void **state)
{
	struct analysed a;
	size_t length;
	char *csv;

	(void)state;
	rank_db(0);
	rank_sql(0,
		 "INSERT INTO META_DATA VALUES('parallel_group_info','{\"world\":{\"group_name\":"
		 "\"dp\",\"group_rank\":0,\"global_ranks\":[0]}}')");
	rank_kernel(0, 1, 1000, 2000, "MatMul");
	rank_kernel(0, 2, 5000, 6000, "MatMul");
	rank_op(0, 3, 2500, 4500, "hcom_allReduce__111_0_1");
	rank_kernel(0, 4, 1500, 5500, "MatMul");
	rank_sql(0, "UPDATE TASK SET deviceId=1 WHERE globalTaskId=4");
	a = analyse_ranks("cluster_time_summary,compute_op_sum,cann_api_sum,free_analysis,"
			  "computational_op_masking,export_summary");
	csv = read_bytes(below("out/export_summary/rank_0/kernel_details.csv"), &length);
	assert_holds(csv, ",COMMUNICATION,2.500,2.000,,");
	free(csv);
	assert_int_equal(rows(a.modes, "ClusterTimeSummary"), 1);
	assert_near(real(a.modes, "ClusterTimeSummary", 0, "computation"), 2.0, 1e-9);
	assert_near(real(a.modes, "ClusterTimeSummary", 0, "free"), 1.0, 1e-9);
	assert_int_equal(rows(a.modes, "FreeAnalysis"), 2);
	assert_near(real(a.modes, "FreeAnalysis", 0, "duration(us)"), 0.5, 1e-9);
	assert_near(real(a.modes, "ComputationalOperatorMaskingLinearity", 0,
			 "totalTimeWithoutCommunicationBlackout"),
		    2000, 1e-9);
	assert_int_equal(integer(a.modes, "ComputeOpAllRankStats", 0, "Count"), 3);
	assert_noted(&a.run->notes, NP_NOTE_WARNING, "free_analysis",
		     "rank 0: only the first of several devices");
	assert_noted(&a.run->notes, NP_NOTE_WARNING, "compute_op_sum",
		     "rank 0: several devices in one profile are taken together");
	release(&a);
}

static void cluster_time_summary_leaves_out_what_a_rank_lost(void **state)
{
	const char *name = "ClusterTimeSummary";
	struct analysed a;

	(void)state;
	for (int i = 0; i < 2; i++) {
		rank_db(i);
		rank_kernel(i, 1, 500, 900, "MatMul");
		rank_op(i, 2, 1000 + 2000 * i, 5000, "hcom_allReduce__678_0_1");
	}
	rank_op(0, 3, 6000, 9000, "hcom_allReduce__678_1_1");
	a = analyse_ranks("cluster_time_summary");
	assert_int_equal(rows(a.modes, name), 2);
	assert_near(real(a.modes, name, 0, "communicationTransmitStageTime"), 2.0, 1e-9);
	assert_near(real(a.modes, name, 0, "communicationWaitStageTime"), 2.0, 1e-9);
	assert_near(real(a.modes, name, 1, "communicationWaitStageTime"), 0.0, 1e-9);
	assert_noted(&a.run->notes, NP_NOTE_WARNING, "cluster_time_summary",
		     "rank 1: collectives are missing (np_coverage): 1 are not compared");
	release(&a);
}

/* With nobody to compare with, waiting is not known from transfer; the incumbent gives 0. */
static void cluster_time_summary_of_one_rank_knows_no_waiting(void **state)
{
	const char *name = "ClusterTimeSummary";
	struct analysed a;

	(void)state;
	rank_db(0);
	rank_kernel(0, 1, 500, 900, "MatMul");
	rank_op(0, 2, 1000, 5000, "hcom_allReduce__678_0_1");
	a = analyse_ranks("cluster_time_summary");
	assert_near(real(a.modes, name, 0, "communication"), 4.0, 1e-9);
	assert_true(is_null(a.modes, name, 0, "communicationTransmitStageTime"));
	assert_true(is_null(a.modes, name, 0, "communicationWaitStageTime"));
	release(&a);
}

/* A rank whose tasks were lost has no times; it is not left out without a word. */
static void cluster_time_summary_names_ranks_without_times(void **state)
{
	struct analysed a;

	(void)state;
	for (int i = 0; i < 3; i++) {
		rank_db(i);
		rank_kernel(i, 1, 500, 900, "MatMul");
		rank_op(i, 2, 1000, 5000, "hcom_allReduce__678_0_1");
	}
	rank_sql(1, "DELETE FROM TASK");
	a = analyse_ranks("cluster_time_summary");
	assert_int_equal(rows(a.modes, "ClusterTimeSummary"), 2);
	assert_noted(&a.run->notes, NP_NOTE_SKIPPED, "cluster_time_summary",
		     "rank 1: no rows: nothing tells what the device did");
	release(&a);
}

/* --- together ----------------------------------------------------------------------------------
 */

static void put_table(struct np_buf *buf, const struct np_mode_table *table)
{
	struct np_err err = NP_ERR_INIT;
	struct np_text_sink sink;

	np_buf_printf(buf, "%s\n", table->relation.name);
	np_csv_sink_init(&sink, buf, NULL);
	assert_ok(np_relation_write(&table->relation, table, &sink.base, &err), err);
}

static void put_tables(struct np_buf *buf, const char *dir, const char *names, size_t threads)
{
	const struct np_modes_options options = options_of(names);
	struct np_err err = NP_ERR_INIT;
	struct analysed a = matched(synth_load(dir));

	assert_ok(run_modes(&a, &options, threads, &err), err);
	for (const struct np_mode_table *table = a.modes->tables; table; table = table->next)
		put_table(buf, table);
	release(&a);
}

/*
 * Every cell of kernel_details.csv, of kernels and of operators: shapes are put in
 * quotes, what is not known is empty or N/A, operators stand among the kernels.
 */
static void export_summary_writes_kernels_and_operators_by_start(void **state)
{
	struct analysed a;
	size_t length;
	char *csv;

	(void)state;
	rank_db(0);
	rank_kernel(0, 1, 10000, 20000, "MatMul");
	rank_kernel(0, 2, 25500, 30000, "Add");
	rank_sql(0, "UPDATE COMPUTE_TASK_INFO SET inputShapes = T('\"8,4;4,2\"') WHERE"
		    " globalTaskId = 1");
	rank_sql(0, "UPDATE COMPUTE_TASK_INFO SET name = T('say \"add\"') WHERE globalTaskId = 2");
	rank_op(0, 3, 21000, 24000, "hcom_allReduce__042_0_1");
	a = analyse_ranks("export_summary");
	csv = read_bytes(below("out/export_summary/rank_0/kernel_details.csv"), &length);
	assert_string_equal(
		csv,
		"Step Id,Device_id,Task ID,Stream ID,Name,Type,OP State,Accelerator Core,"
		"Start Time(us),Duration(us),Wait Time(us),Block Num,Mix Block Num,Input Shapes,"
		"Input Data Types,Input Formats,Output Shapes,Output Data Types,Output Formats\n"
		",0,0,2,MatMul,MatMul,N/A,AI_CORE,10.000,10.000,0.000,,,\"8,4;4,2\","
		"FLOAT16;FLOAT16,N/A,\"16,16\",N/A,N/A\n"
		",0,,,hcom_allReduce__042_0_1,hcom_allReduce_,N/A,COMMUNICATION,21.000,3.000,"
		"1.000,,,N/A,N/A,N/A,N/A,N/A,N/A\n"
		",0,0,2,\"say \"\"add\"\"\",Add,N/A,AI_CORE,25.500,4.500,1.500,,,"
		"\"16,16;16,16\",FLOAT16;FLOAT16,N/A,\"16,16\",N/A,N/A\n");
	free(csv);
	release(&a);
}

/* All modes, in the order in which they write their tables. */
#define ALL_MODES \
	"cluster_time_summary,slow_rank,slow_link,hccl_sum,compute_op_sum,cann_api_sum," \
	"free_analysis,communication_bottleneck,computational_op_masking,ep_load_balance," \
	"freq_analysis,p2p_pairing"

/* As the profiler's own file has them: µs, and the unit in the name. */
static void export_summary_writes_counters_under_the_names_of_the_profiler(void **state)
{
	struct analysed a;
	size_t length;
	char *csv;

	(void)state;
	rank_db(0);
	rank_kernel(0, 1, 10000, 20000, "MatMul");
	rank_sql(0, "CREATE TABLE TASK_PMU_INFO(globalTaskId INTEGER,name INTEGER,value NUMERIC);"
		    "INSERT INTO TASK_PMU_INFO SELECT globalTaskId,T('aic_total_time'),9500 FROM"
		    " TASK WHERE connectionId=1;"
		    "INSERT INTO TASK_PMU_INFO SELECT globalTaskId,T('aic_mac_time'),1250 FROM"
		    " TASK WHERE connectionId=1;"
		    "INSERT INTO TASK_PMU_INFO SELECT globalTaskId,T('aic_mac_ratio'),0.13 FROM"
		    " TASK WHERE connectionId=1");
	a = analyse_ranks("export_summary");
	csv = read_bytes(below("out/export_summary/rank_0/kernel_details.csv"), &length);
	assert_holds(csv, "Output Formats,aic_mac_ratio,aic_mac_time(us),aicore_time(us)\n");
	assert_holds(csv, ",0.13,1.25,9.5\n");
	free(csv);
	release(&a);
}

static void modes_tell_the_same_together_and_alone_and_with_any_threads(void **state)
{
	NP_CLEANUP(np_buf_release) struct np_buf together = NP_BUF_INIT;
	NP_CLEANUP(np_buf_release) struct np_buf alone = NP_BUF_INIT;
	char *dir = strdup(below("run"));
	char *names = strdup(ALL_MODES);
	char *rest = NULL;

	(void)state;
	synth_write(dir, (const char *const[]){ "--ranks", "4", "--schedule", "pp", "--steps", "2",
						"--layers", "4", "--slow-rank", "1:1.5", NULL });
	put_tables(&together, dir, ALL_MODES, 3);
	for (char *name = strtok_r(names, ",", &rest); name; name = strtok_r(NULL, ",", &rest))
		put_tables(&alone, dir, name, 1);
	assert_string_equal(together.text, alone.text);
	free(names);
	free(dir);
}

static void modes_tell_the_same_from_text_and_from_databases(void **state)
{
	static const char *const forms[] = { "db", "text" };
	struct np_buf tables[2] = { NP_BUF_INIT, NP_BUF_INIT };

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		const char *dir = below("%s", forms[i]);

		/* With this seed a transfer is out of line. */
		synth_write(dir, (const char *const[]){ "--ranks", "8", "--pp", "2", "--tp", "2",
							"--steps", "2", "--layers", "4", "--seed",
							"7", "--format", forms[i], NULL });
		put_tables(&tables[i], dir,
			   "cluster_time_summary,slow_rank,slow_link,hccl_sum,compute_op_sum,"
			   "cann_api_sum,free_analysis,communication_bottleneck,p2p_pairing,"
			   "computational_op_masking,freq_analysis",
			   2);
	}
	assert_holds(tables[0].text, "BFP16");
	assert_string_equal(tables[0].text, tables[1].text);
	np_buf_release(&tables[0]);
	np_buf_release(&tables[1]);
}

/* The file changes after the rank was loaded: what modes see of it is anything. */
static void run_on_damage(const char *dir, enum np_file file, uint64_t seed)
{
	const struct np_modes_options options = options_of(ALL_MODES ",export_summary");
	struct np_err err = NP_ERR_INIT;
	struct analysed a = matched(synth_load(dir));
	const char *path = a.run->sources.item[0].file[file];
	uint64_t state = seed;
	size_t length;
	char *whole = read_bytes(path, &length);
	char *bytes = read_bytes(path, &length);

	for (int i = 0; i < 30; i++)
		bytes[np_random(&state) % length] = (char)np_random(&state);
	write_bytes(path, bytes, length);
	assert_ok(run_modes(&a, &options, 1, &err), err);
	write_bytes(path, whole, length);
	free(whole);
	free(bytes);
	release(&a);
}

static void damaged_profiles_cost_modes_no_more_than_rows(void **state)
{
	static const char *const forms[] = { "db", "text" };
	static const enum np_file files[2][2] = { { NP_FILE_RANK_DB, NP_FILE_RANK_DB },
						  { NP_FILE_TRACE, NP_FILE_KERNELS } };

	(void)state;
	for (size_t form = 0; form < 2; form++) {
		char *dir = strdup(below("%s", forms[form]));

		synth_write(dir, (const char *const[]){ "--ranks", "2", "--steps", "1", "--layers",
							"1", "--format", forms[form], NULL });
		for (uint64_t seed = 1; seed <= 10; seed++)
			run_on_damage(dir, files[form][seed % 2], seed);
		free(dir);
	}
}

static void only_the_steps_that_were_chosen_are_looked_at(void **state)
{
	struct np_modes_options options = options_of("compute_op_sum,cann_api_sum");
	NP_CLEANUP(np_ranges_freep) struct np_ranges *steps = NULL;
	struct np_err err = NP_ERR_INIT;
	const char *dir = below("run");
	struct analysed all;
	struct analysed one;
	struct np_run *run;

	(void)state;
	synth_write(dir, (const char *const[]){ "--ranks", "2", "--steps", "2", "--layers", "1",
						"--noise", "0", NULL });
	all = analyse(synth_load(dir), "compute_op_sum,cann_api_sum");
	run = synth_load(dir);
	assert_ok(np_ranges_parse("10", &steps, &err), err);
	assert_ok(np_run_keep_steps(run, steps, &err), err);
	options.steps_chosen = true;
	one = analyse_with(run, &options);
	assert_int_equal(2 * integer(one.modes, "ComputeOpAllRankStats", 0, "Count"),
			 integer(all.modes, "ComputeOpAllRankStats", 0, "Count"));
	release(&all);
	release(&one);
}

/* The device works on step 11 between the others: that is no gap of theirs. */
static void a_step_that_was_not_chosen_is_no_gap(void **state)
{
	struct np_modes_options options = options_of("free_analysis");
	NP_CLEANUP(np_ranges_freep) struct np_ranges *steps = NULL;
	struct np_err err = NP_ERR_INIT;
	const char *dir = below("run");
	struct analysed all;
	struct analysed two;
	struct np_run *run;

	(void)state;
	synth_write(dir, (const char *const[]){ "--ranks", "2", "--steps", "3", "--layers", "1",
						"--noise", "0", NULL });
	all = analyse(synth_load(dir), "free_analysis");
	run = synth_load(dir);
	assert_ok(np_ranges_parse("10,12", &steps, &err), err);
	assert_ok(np_run_keep_steps(run, steps, &err), err);
	options.steps_chosen = true;
	two = analyse_with(run, &options);
	assert_true(rows(two.modes, "FreeAnalysis") > 0);
	assert_true(real(two.modes, "FreeAnalysis", 0, "duration(us)") <=
		    real(all.modes, "FreeAnalysis", 0, "duration(us)"));
	release(&all);
	release(&two);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_mistyped_mode_is_told_what_was_probably_meant),
		cmocka_unit_test(modes_that_other_commands_took_over_say_which),
		cmocka_unit_test(every_mode_has_a_name_and_a_summary),
		with_fixture(hccl_sum_agrees_with_the_incumbent),
		with_fixture(compute_op_sum_agrees_with_the_incumbent),
		with_fixture(compute_op_sum_without_names_has_the_same_sums_by_type),
		with_fixture(compute_op_sum_at_level0_has_no_types_and_says_so),
		with_fixture(cann_api_sum_agrees_with_the_incumbent_but_for_quantiles),
		with_fixture(cluster_time_summary_agrees_with_the_incumbent_but_for_free),
		with_fixture(cluster_time_summary_needs_no_more_than_level0),
		with_fixture(free_analysis_finds_the_gaps_of_the_incumbent),
		with_fixture(two_ranks_at_their_rated_clock_show_nothing_odd),
		with_fixture(modes_work_on_text_profiles),
		with_fixture(modes_use_what_text_without_a_trace_has),
		with_fixture(slow_rank_votes_in_nanoseconds),
		with_fixture(slow_rank_survives_a_lost_operator),
		with_fixture(slow_rank_keeps_a_communicator_beside_one_that_lost_an_operator),
		with_fixture(operators_are_compared_as_they_were_matched_and_not_by_name),
		with_fixture(fewer_than_four_ranks_cannot_be_out_of_line),
		with_fixture(slow_link_lists_the_kind_of_collective_with_an_outlier),
		with_fixture(slow_link_takes_the_size_from_a_rank_that_knows_it),
		with_fixture(hccl_sum_tells_operators_of_one_name_apart_by_communicator),
		with_fixture(p2p_pairing_gives_both_ends_one_id_and_counts_by_communicator),
		with_fixture(p2p_pairing_is_not_shifted_by_a_lost_message),
		with_fixture(p2p_pairing_numbers_batches_between_two_ranks),
		with_fixture(freq_analysis_goes_by_the_chip),
		with_fixture(freq_analysis_looks_at_the_steps_that_were_chosen),
		with_fixture(freq_analysis_names_ranks_without_a_sample_in_the_step),
		with_fixture(ep_load_balance_compares_experts_that_share_a_group),
		with_fixture(ep_load_balance_names_ranks_whose_tokens_are_missing),
		with_fixture(ep_load_balance_adds_up_any_number_of_inputs),
		with_fixture(mstx_sum_measures_marks_on_three_layers),
		with_fixture(mstx_sum_names_a_range_by_those_around_it_on_its_thread),
		with_fixture(mstx_sum_pairs_and_names_do_not_depend_on_the_steps_chosen),
		with_fixture(masking_tells_ranks_apart_and_unites_overlapping_operators),
		with_fixture(masking_shows_dimensions_of_any_name),
		with_fixture(masking_names_ranks_that_it_cannot_tell_anything_about),
		with_fixture(module_statistic_sums_instances_and_follows_them_backwards),
		with_fixture(operator_mfu_divides_the_operations_of_a_range),
		with_fixture(operator_mfu_counts_kernels_of_nested_ranges_once),
		with_fixture(operator_mfu_without_the_chip_gives_rates_and_no_share),
		with_fixture(operator_mfu_does_not_rate_fp32),
		with_fixture(operator_mfu_says_that_types_were_not_recorded),
		with_fixture(operator_mfu_rates_a_range_by_its_longest_kernel),
		with_fixture(pp_chart_shows_passes_by_rank),
		with_fixture(ranks_whose_marks_say_nothing_to_a_mode_are_named),
		with_fixture(pp_chart_filters_all_passes_by_step),
		with_fixture(pp_chart_numbers_the_passes_of_a_dual_pipe),
		with_fixture(export_summary_writes_beside_the_database_and_not_into_profiles),
		with_fixture(export_summary_takes_what_text_says_about_calls),
		with_fixture(export_summary_writes_kernels_and_operators_by_start),
		with_fixture(export_summary_writes_counters_under_the_names_of_the_profiler),
		with_fixture(communication_bottleneck_names_the_slow_rank_and_what_held_it_up),
		with_fixture(both_ends_of_a_message_are_compared),
		with_fixture(an_unknown_rank_is_refused_with_those_there_are),
		with_fixture(cluster_time_summary_leaves_out_what_a_rank_lost),
		with_fixture(cluster_time_summary_of_one_rank_knows_no_waiting),
		with_fixture(cluster_time_summary_names_ranks_without_times),
		with_fixture(what_two_devices_do_at_the_same_time_is_not_laid_over_each_other),
		with_fixture(quantiles_over_ranks_are_those_of_all_values),
		with_fixture(quantiles_of_many_calls_are_exact),
		with_fixture(durations_of_seconds_do_not_disturb_quantiles),
		with_fixture(a_rank_that_lacks_what_a_mode_needs_is_noted_once),
		with_fixture(ranks_are_noted_with_just_what_they_lack),
		with_fixture(a_database_without_texts_is_noted),
		with_fixture(modes_tell_the_same_together_and_alone_and_with_any_threads),
		with_fixture(modes_tell_the_same_from_text_and_from_databases),
		with_fixture(damaged_profiles_cost_modes_no_more_than_rows),
		with_fixture(only_the_steps_that_were_chosen_are_looked_at),
		with_fixture(a_step_that_was_not_chosen_is_no_gap),
	};

	return cmocka_run_group_tests_name("modes", tests, NULL, NULL);
}
