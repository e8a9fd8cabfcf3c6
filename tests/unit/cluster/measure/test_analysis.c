/* SPDX-License-Identifier: Apache-2.0 */
/* The analysis as a whole: what reports find in it agrees with what it was measured from. */
#include "npuprof/analysis.h"

#include "npuprof/align.h"
#include "npuprof/text.h"

#include "np_synth.h"

/* Simulated runs, measured as a whole: what reports look up is there. */

static struct np_analysis *analyse(const char *const *options)
{
	struct np_analysis *analysis = NULL;
	struct np_err err = NP_ERR_INIT;

	synth_write(below("run"), options);
	assert_ok(np_analysis_build(synth_load(below("run")), NULL, 1, &analysis, &err), err);
	return analysis;
}

#define ANALYSE(...) \
	analyse((const char *const[]){ "--layers", "4", "--kernels-per-layer", "4", __VA_ARGS__, \
				       NULL })

#define with_analysis NP_CLEANUP(np_analysis_freep) struct np_analysis

static void a_slow_rank_is_named_and_explained(void **state)
{
	with_analysis *analysis = ANALYSE("--ranks", "4", "--slow-rank", "2:1.5");
	const struct np_verdict *verdict = &analysis->verdict;

	(void)state;
	assert_int_equal(verdict->kind, NP_VERDICT_REPAIR);
	assert_string_equal(np_verdict_kind_name(verdict), "rank");
	assert_string_equal(verdict->what, "2");
	assert_true(verdict->recovered > 0 && verdict->recovered <= verdict->lost);
	assert_null(verdict->reason);
	assert_non_null(strstr(verdict->text, "rank 2 makes the others wait"));
	assert_non_null(strstr(verdict->text, "which explains "));
	assert_int_equal(verdict->named, 2);
	assert_int_equal(verdict->first, 2);
	assert_int_equal(verdict->explanation.rank, 2);
	assert_true(verdict->explanation.count >= 1);
	assert_int_equal(verdict->explanation.chain[0].cause, NP_CAUSE_COMPUTE);
	assert_true(verdict->explanation.type_count > 0);
	assert_int_equal(verdict->explanation.waiters[0].list.count, 0);
	assert_int_equal(analysis->order.ranks[0], 2);
}

/* The capture of a rank, by what other ranks have; NULL for one that is whole. */
static const struct np_file_coverage *short_capture(const struct np_analysis *analysis, int32_t id)
{
	const struct np_file_coverage *each = np_rank_withheld(np_run_rank(analysis->run, id));
	const char *against = each ? np_run_text(analysis->run, each->against) : NULL;

	return against && strcmp(against, "other ranks") == 0 ? each : NULL;
}

static void a_capture_that_ends_within_a_step_is_partial_by_what_other_ranks_have(void **state)
{
	with_analysis *analysis = ANALYSE("--ranks", "4", "--steps", "4", "--truncate", "1:0.62");
	const struct np_file_coverage *found = short_capture(analysis, 1);

	(void)state;
	/* Two steps and a part of the third. */
	assert_non_null(found);
	assert_true(found->share > 0.6 && found->share < 0.98);
	for (int32_t i = 0; i < 4; i++)
		assert_true(i == 1 || !short_capture(analysis, i));
	assert_int_equal(analysis->verdict.kind, NP_VERDICT_WITHHELD);
	assert_int_equal(np_notes_count(&analysis->run->notes, NP_NOTE_SKIPPED), 1);
}

static void nobody_is_named_beside_a_short_capture(void **state)
{
	with_analysis *analysis = ANALYSE("--ranks", "4", "--steps", "4", "--truncate", "1:0.62",
					  "--slow-rank", "2:1.5");

	(void)state;
	assert_non_null(short_capture(analysis, 1));
	assert_int_equal(analysis->verdict.kind, NP_VERDICT_WITHHELD);
	assert_int_equal(analysis->verdict.named, UINT32_MAX);
}

static void a_capture_of_fewer_steps_is_not_short(void **state)
{
	with_analysis *analysis = ANALYSE("--ranks", "4", "--steps", "4", "--truncate", "1:0.5");

	(void)state;
	assert_null(short_capture(analysis, 1));
	assert_int_equal(analysis->verdict.kind, NP_VERDICT_NONE);
	/* What it lacks, and which steps are replayed. */
	assert_int_equal(np_notes_count(&analysis->run->notes, NP_NOTE_WARNING), 2);
}

static void a_capture_with_lost_records_is_not_short(void **state)
{
	with_analysis *analysis = ANALYSE("--ranks", "4", "--steps", "4", "--drop-ops", "1:0.1");

	(void)state;
	assert_null(short_capture(analysis, 1));
}

static void explanations_are_those_of_the_order_with_waiters(void **state)
{
	with_analysis *analysis = ANALYSE("--ranks", "4", "--slow-rank", "1:1.5");
	const struct np_explanation *explanations;
	struct np_err err = NP_ERR_INIT;

	(void)state;
	assert_null(analysis->explanations);
	assert_ok(np_analysis_explain(analysis, 2, &err), err);
	explanations = analysis->explanations;
	assert_non_null(explanations);
	for (size_t i = 0; i < analysis->order.count; i++)
		assert_int_equal(explanations[i].rank, analysis->order.ranks[i]);
	assert_int_equal(explanations[0].rank, 1);
	assert_int_equal(explanations[0].waiters[0].list.count, 3);
	/* Once is enough. */
	assert_ok(np_analysis_explain(analysis, 2, &err), err);
	assert_ptr_equal(analysis->explanations, explanations);
}

/* At Level0 messages do not say to whom they went: that is found, and the run is left alone. */
static void found_peers_are_a_result_and_not_a_change_of_the_run(void **state)
{
	with_analysis *analysis =
		ANALYSE("--schedule", "pp", "--ranks", "4", "--pp", "4", "--level", "0");
	size_t messages = 0;
	size_t found = 0;

	(void)state;
	assert_non_null(analysis->align->peers);
	for (size_t i = 0; i < analysis->run->sources.count; i++) {
		const struct np_rank *rank = analysis->run->ranks[i];

		for (size_t j = 0; j < rank->ops.count; j++) {
			messages += rank->ops.item[j].p2p;
			assert_int_equal(rank->ops.item[j].p2p ? rank->ops.item[j].peer : 0, 0);
			found += rank->ops.item[j].p2p && np_align_peer(analysis->align, i, j) != 0;
		}
	}
	assert_true(messages > 0);
	assert_int_equal(found, messages);
	assert_true(analysis->readiness[NP_ANALYSIS_PIPELINE].ready);
}

static void what_is_missing_is_known_with_its_switch(void **state)
{
	with_analysis *analysis = ANALYSE("--ranks", "2", "--level", "0");

	(void)state;
	assert_false(analysis->readiness[NP_ANALYSIS_LINKS].ready);
	assert_non_null(analysis->readiness[NP_ANALYSIS_LINKS].cure);
	assert_false(analysis->readiness[NP_ANALYSIS_MEMORY].ready);
	assert_true(analysis->readiness[NP_ANALYSIS_STEP_TIMES].ready);
}

static void growth_is_known_of_every_component(void **state)
{
	with_analysis *analysis =
		ANALYSE("--ranks", "2", "--steps", "4", "--memory", "--leak", "1:50000000");

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		const struct np_rank *rank = analysis->run->ranks[i];
		int64_t most = 0;

		assert_true(rank->memory.count > 0);
		for (size_t j = 0; j < rank->memory.count; j++) {
			int64_t growth = analysis->memory_growths.of_rank[i][j].per_step;

			most = growth != NP_UNKNOWN && growth > most ? growth : most;
		}
		assert_true(i == 1 ? most >= 40000000 : most < 1000000);
	}
}

static void a_single_rank_has_nobody_to_explain(void **state)
{
	with_analysis *analysis = ANALYSE("--ranks", "1");
	struct np_err err = NP_ERR_INIT;

	(void)state;
	assert_int_equal(analysis->verdict.kind, NP_VERDICT_NONE);
	assert_true(np_text_begins(analysis->verdict.text,
				   "one rank: there is nobody to compare it with; the device"
				   " computes "));
	assert_int_equal(analysis->verdict.first, UINT32_MAX);
	assert_int_equal(analysis->verdict.explanation.rank, UINT32_MAX);
	assert_int_equal(analysis->order.count, 0);
	assert_ok(np_analysis_explain(analysis, 2, &err), err);
}

/* What the replay says of the repair of a rank. */
static struct np_whatif_row *row_of_rank(struct np_analysis *analysis, const char *rank)
{
	for (size_t i = 0; i < analysis->whatif.rows.count; i++) {
		struct np_whatif_row *row = &analysis->whatif.rows.item[i];

		if (row->fix.kind == NP_FIX_RANK && strcmp(row->fix.what, rank) == 0)
			return row;
	}
	fail_msg("rank %s was not tried", rank);
	return NULL;
}

/* Others compute as long as before: what they cannot lose nobody gains. */
static void a_gain_that_is_not_possible_is_withheld(void **state)
{
	with_analysis *analysis = ANALYSE("--ranks", "4", "--slow-rank", "2:1.5");
	struct np_verdict verdict = { 0 };
	struct np_err err = NP_ERR_INIT;

	(void)state;
	row_of_rank(analysis, "2")->saved = analysis->whatif.step * 93 / 100;
	assert_ok(np_verdict_measure(analysis, &verdict, &err), err);
	assert_int_equal(verdict.kind, NP_VERDICT_WITHHELD);
	assert_string_equal(np_verdict_kind_name(&verdict), "withheld");
	assert_non_null(strstr(verdict.reason, "repairing rank:2 would save"));
	assert_int_equal(verdict.recovered, NP_UNKNOWN);
	assert_int_equal(verdict.lost, NP_UNKNOWN);
	assert_null(verdict.what);
	np_verdict_release(&verdict);
}

static void a_verdict_is_read_as_it_was_written(void **state)
{
	struct np_verdict verdict = { 0 };
	struct np_err err = NP_ERR_INIT;

	(void)state;
	assert_ok(np_verdict_read("link", "*-3", "rank:5\nhost-gaps", &verdict, &err), err);
	assert_string_equal(np_verdict_kind_name(&verdict), "link");
	assert_string_equal(verdict.fix.what, "*-3");
	assert_int_equal(verdict.with_count, 2);
	assert_int_equal(verdict.with[0].kind, NP_FIX_RANK);
	assert_int_equal(verdict.with[1].kind, NP_FIX_HOST_GAPS);
	assert_ok(np_verdict_read("not-profiled", "tp {1 (not profiled)}", NULL, &verdict, &err),
		  err);
	assert_int_equal(verdict.kind, NP_VERDICT_NOT_PROFILED);
	assert_int_equal(np_verdict_read("nobody", NULL, NULL, &verdict, &err), NP_E_FORMAT);
	assert_int_equal(
		np_verdict_read("rank", "1",
				"rank:2\nrank:3\nrank:4\nrank:5\nrank:6\nrank:7\nrank:8\nrank:9",
				&verdict, &err),
		NP_E_FORMAT);
	assert_int_equal(np_verdict_read("rank", "1", "rnak:2", &verdict, &err), NP_E_FORMAT);
}

#define ON_FILES(test) cmocka_unit_test_setup_teardown(test, np_fixture_setup, np_fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ON_FILES(a_slow_rank_is_named_and_explained),
		ON_FILES(a_capture_that_ends_within_a_step_is_partial_by_what_other_ranks_have),
		ON_FILES(nobody_is_named_beside_a_short_capture),
		ON_FILES(a_capture_of_fewer_steps_is_not_short),
		ON_FILES(a_capture_with_lost_records_is_not_short),
		ON_FILES(explanations_are_those_of_the_order_with_waiters),
		ON_FILES(found_peers_are_a_result_and_not_a_change_of_the_run),
		ON_FILES(what_is_missing_is_known_with_its_switch),
		ON_FILES(growth_is_known_of_every_component),
		ON_FILES(a_single_rank_has_nobody_to_explain),
		ON_FILES(a_gain_that_is_not_possible_is_withheld),
		cmocka_unit_test(a_verdict_is_read_as_it_was_written),
	};

	return cmocka_run_group_tests_name("analysis", tests, NULL, NULL);
}
