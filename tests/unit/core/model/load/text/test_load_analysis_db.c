/* SPDX-License-Identifier: Apache-2.0 */
#include "np_load_fixture.h"

/* --- analysis.db beside the rank database --------------------------------------------------- */

static void an_analysis_db_that_agrees_is_silent(void **state)
{
	(void)state;
	make_rank_db(0, NULL);
	make_analysis_db(0, NULL);
	{
		with_run *run = load();

		assert_no_notes(&run->notes);
		assert_known_steps(run, np_run_rank(run, 0));
		assert_int_equal(np_run_rank(run, 0)->comm_source, NP_FROM_RANK_DB);
	}
}

static void rounding_is_no_disagreement(void **state)
{
	(void)state;
	make_rank_db(0, NULL);
	/* 0.25 µs, as text files quantise it, and 0.0001 ms. */
	make_analysis_db(0, "UPDATE StepTraceTime SET stage = stage + 0.25, preparing = 149.75;"
			    "UPDATE CommAnalyzerTime SET wait_time = wait_time + 0.0001");
	{
		with_run *run = load();

		assert_no_notes(&run->notes);
	}
}

static void assert_disagreement(const char *change, const char *table, const char *words)
{
	make_rank_db(0, NULL);
	make_analysis_db(0, change);
	{
		with_run *run = load();

		assert_noted(&run->notes, NP_NOTE_WARNING, table, words);
		assert_int_equal(run->notes.list.count, 1);
		/* What the rank database holds is used. */
		assert_known_steps(run, np_run_rank(run, 0));
		assert_known_ops(run, np_run_rank(run, 0));
	}
	np_fixture_remove(below("rank0"));
}

static void every_column_of_the_step_table_is_compared(void **state)
{
	static const char *const columns[] = { "computing",  "communication_not_overlapped",
					       "overlapped", "communication",
					       "free",       "stage",
					       "bubble",     "preparing" };

	(void)state;
	for (size_t i = 0; i < NP_COUNT(columns); i++) {
		char change[128];

		(void)snprintf(change, sizeof(change),
			       "UPDATE StepTraceTime SET %s = %s + 1 WHERE step = '11'", columns[i],
			       columns[i]);
		assert_disagreement(change, "StepTraceTime", "1 value disagrees");
		assert_disagreement(change, "StepTraceTime", columns[i]);
	}
}

static void a_disagreement_shows_both_numbers(void **state)
{
	(void)state;
	assert_disagreement("UPDATE StepTraceTime SET computing = 301 WHERE step = '10'",
			    "StepTraceTime", "301000 ns here, 300000 ns there");
}

static void every_time_of_an_operator_is_compared(void **state)
{
	static const char *const columns[] = { "elapse_time", "transit_time", "wait_time",
					       "synchronization_time" };

	(void)state;
	for (size_t i = 0; i < NP_COUNT(columns); i++) {
		char change[128];

		(void)snprintf(change, sizeof(change),
			       "UPDATE CommAnalyzerTime SET %s = %s + 0.001"
			       " WHERE group_name = '$A'",
			       columns[i], columns[i]);
		assert_disagreement(change, "CommAnalyzerTime", columns[i]);
	}
}

static void sizes_and_times_of_transports_are_compared(void **state)
{
	(void)state;
	assert_disagreement("UPDATE CommAnalyzerBandwidth SET transit_size = 0.0041"
			    " WHERE group_name = '$A' AND transport_type = 'HCCS'",
			    "CommAnalyzerBandwidth", "transit_size");
	assert_disagreement("UPDATE CommAnalyzerBandwidth SET transit_time = 0.16"
			    " WHERE group_name = '$B' AND transport_type = 'SDMA'",
			    "CommAnalyzerBandwidth", "transit_time");
}

static void sizes_and_times_of_links_are_compared(void **state)
{
	(void)state;
	assert_disagreement("UPDATE CommAnalyzerMatrix SET transit_size = 0.0041"
			    " WHERE group_name = '$A' AND hccl_op_name = 'allreduce-total'"
			    " AND dst_rank = '1'",
			    "CommAnalyzerMatrix", "transit_size");
	assert_disagreement("UPDATE CommAnalyzerMatrix SET transit_time = 0.16"
			    " WHERE group_name = '$B' AND hccl_op_name = 'receive-total'",
			    "CommAnalyzerMatrix", "transit_time");
}

static void what_only_one_file_has_is_no_disagreement(void **state)
{
	(void)state;
	make_rank_db(0, NULL);
	make_analysis_db(0,
			 "UPDATE StepTraceTime SET stage = NULL, bubble = NULL;"
			 "INSERT INTO StepTraceTime(step, computing, communication_not_overlapped,"
			 " overlapped, communication, free) VALUES('99', 1, 0, 0, 0, 0);"
			 "UPDATE CommAnalyzerTime SET wait_time = NULL;"
			 "DROP TABLE CommAnalyzerMatrix; DELETE FROM CommAnalyzerBandwidth");
	{
		with_run *run = load();

		assert_no_notes(&run->notes);
	}
}

static void operators_of_an_analysis_db_without_times_are_left_out_and_noted(void **state)
{
	(void)state;
	make_analysis_db(0,
			 "UPDATE CommAnalyzerTime SET elapse_time = NULL WHERE group_name = '$A'");
	{
		with_run *run = load();

		assert_int_equal(np_run_rank(run, 0)->ops.count, 1);
		assert_noted(&run->notes, NP_NOTE_SKIPPED, "analysis.db", "1 operators");
	}
}

/* Ids of interned texts depend on which thread came first: they must not choose the words. */
static void which_disagreement_is_shown_does_not_depend_on_interned_ids(void **state)
{
	char first[512];

	(void)state;
	make_rank_db(0, NULL);
	make_analysis_db(0, "UPDATE CommAnalyzerTime SET wait_time = wait_time + 1,"
			    " group_name = '$A'");
	run_sql(rank_db(0), "UPDATE COMMUNICATION_OP SET groupName = 4");
	{
		with_run *run = load();

		(void)snprintf(first, sizeof(first), "%s",
			       find_note(&run->notes, "CommAnalyzerTime", "")->reason);
	}
	{
		static const char *const names[] = { "hcom_receive__456_0_1",
						     "hcom_allReduce__123_0_1" };
		const struct np_discover_options options = { 0 };
		const struct np_load_options how = { .procs = &np_procs_serial,
						     .workers.threads = 1 };
		with_run *run = np_run_new();
		struct np_err err = NP_ERR_INIT;
		const char *roots[] = { np_fixture_root };

		/* As if another rank had met the names in the other order. */
		for (size_t i = 0; i < NP_COUNT(names); i++) {
			np_str id;

			assert_ok(
				np_strtab_add(run->strings, names[i], strlen(names[i]), &id, &err),
				err);
		}
		assert_ok(np_discover(run, roots, 1, &options, &err), err);
		assert_ok(np_load_run(run, &how, &err), err);
		assert_string_equal(find_note(&run->notes, "CommAnalyzerTime", "")->reason, first);
	}
}

static void a_damaged_analysis_db_is_listed_and_the_rank_used(void **state)
{
	(void)state;
	make_rank_db(0, NULL);
	write_text(rank_path(0, "analysis.db"), "this is no database, whatever its name may be");
	{
		with_run *run = load();

		assert_known_steps(run, np_run_rank(run, 0));
		assert_noted(&run->notes, NP_NOTE_SKIPPED, "analysis.db", "rank database");
	}
}

static void an_empty_analysis_db_is_listed_and_the_rank_used(void **state)
{
	(void)state;
	make_rank_db(0, NULL);
	write_text(rank_path(0, "analysis.db"), "");
	{
		with_run *run = load();

		assert_known_steps(run, np_run_rank(run, 0));
		assert_noted(&run->notes, NP_NOTE_SKIPPED, "analysis.db", "0 bytes");
	}
}

/* --- analysis.db alone ---------------------------------------------------------------------- */

static void an_analysis_db_alone_is_a_rank(void **state)
{
	(void)state;
	make_analysis_db(2, NULL);
	{
		with_run *run = load();

		assert_known_analysis(run, np_run_rank(run, 2));
		assert_no_notes(&run->notes);
	}
}

static void a_level0_analysis_db_has_steps_only(void **state)
{
	(void)state;
	skip_unless_columns_drop();
	make_analysis_db(2, "DROP TABLE CommAnalyzerTime; DROP TABLE CommAnalyzerBandwidth;"
			    "DROP TABLE CommAnalyzerMatrix;"
			    "ALTER TABLE StepTraceTime DROP COLUMN deviceId");
	{
		with_run *run = load();
		const struct np_rank *rank = np_run_rank(run, 2);

		assert_int_equal(time_of(run, rank, "10", -1)->computing, 300000);
		assert_int_equal(rank->comm_source, NP_FROM_NOTHING);
		assert_int_equal(rank->device, -1);
	}
}

static void steps_without_a_label_are_the_pseudo_step(void **state)
{
	(void)state;
	make_analysis_db(2, "DELETE FROM StepTraceTime WHERE step = '11';"
			    "UPDATE StepTraceTime SET step = NULL;"
			    "UPDATE CommAnalyzerTime SET step = 'step';"
			    "UPDATE CommAnalyzerBandwidth SET step = 'step';"
			    "UPDATE CommAnalyzerMatrix SET step = ''");
	{
		with_run *run = load();
		const struct np_rank *rank = np_run_rank(run, 2);

		assert_int_equal(rank->steps.count, 1);
		assert_int_equal(rank->steps.item[0].id, NP_STR_NONE);
		assert_int_equal(rank->ops.item[1].step, 0);
		assert_int_equal(rank->bands.count, 4);
	}
}

static void devices_of_an_analysis_db_are_counted(void **state)
{
	(void)state;
	make_analysis_db(2, "INSERT INTO StepTraceTime SELECT 5, step, computing,"
			    " communication_not_overlapped, overlapped, communication, free, stage,"
			    " bubble, 0, preparing FROM StepTraceTime");
	{
		with_run *run = load();
		const struct np_rank *rank = np_run_rank(run, 2);

		assert_int_equal(rank->times.count, 4);
		assert_int_equal(rank->device, 4);
		assert_int_equal(rank->device_count, 2);
	}
}

/* The exporter files reduceScatter under "reduce" (formats §1.5). */
static void classes_of_links_are_mended_by_their_operators(void **state)
{
	(void)state;
	make_analysis_db(2,
			 "UPDATE CommAnalyzerMatrix SET hccl_op_name ="
			 " replace(hccl_op_name, 'allreduce', 'reduce'), op_name ="
			 " replace(op_name, 'allReduce', 'reduceScatter') WHERE group_name = '$A'");
	{
		with_run *run = load();
		const struct np_rank *rank = np_run_rank(run, 2);
		size_t mended = 0;

		for (size_t i = 0; i < rank->links.count; i++) {
			const struct np_link *link = &rank->links.item[i];

			if (link->src == 0 && link->dst == 1) {
				assert_string_equal(np_run_text(run, link->op_class),
						    "reducescatter");
				mended++;
			}
		}
		assert_int_equal(mended, 2);
	}
}

/* µs in doubles have quarters today; the same in ns would be multiples of 256. */
static void starts_of_an_analysis_db_are_exact(void **state)
{
	(void)state;
	make_analysis_db(2, "UPDATE CommAnalyzerTime SET start_timestamp = 1764246877147674.5"
			    " WHERE step = 'step10';"
			    "UPDATE CommAnalyzerTime SET start_timestamp = 1764246877470477.75"
			    " WHERE step = 'step11'");
	{
		with_run *run = load();
		const struct np_rank *rank = np_run_rank(run, 2);

		assert_int_equal(rank->ops.count, 2);
		assert_int_equal(rank->ops.item[0].start, 1764246877147674500);
		assert_int_equal(rank->ops.item[0].end, 1764246877148074500);
		assert_int_equal(rank->ops.item[1].start, 1764246877470477750);
	}
}

/* Times beyond 146 years are damage: nothing of them may reach the sums. */
static void absurd_numbers_of_an_analysis_db_are_survived(void **state)
{
	(void)state;
	make_analysis_db(2,
			 "UPDATE CommAnalyzerTime SET start_timestamp = 9.2e15, elapse_time = 9e12;"
			 "INSERT INTO StepTraceTime(step, computing,"
			 " communication_not_overlapped, free) VALUES('7', 9e15, 9e15, 9e15);"
			 "UPDATE CommAnalyzerMatrix SET src_rank = '3000000000', dst_rank = '-7',"
			 " transit_size = 9e12, transit_time = 9e12;"
			 "UPDATE CommAnalyzerBandwidth SET transit_size = 9e12, count = 'x',"
			 " transit_time = 9e12");
	{
		with_run *run = load();
		const struct np_rank *rank = np_run_rank(run, 2);

		assert_int_equal(np_run_used(run), 1);
		for (size_t i = 0; i < rank->links.count; i++)
			assert_true(rank->links.item[i].src == INT32_MIN ||
				    rank->links.item[i].src >= 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_fixture(an_analysis_db_that_agrees_is_silent),
		with_fixture(rounding_is_no_disagreement),
		with_fixture(every_column_of_the_step_table_is_compared),
		with_fixture(a_disagreement_shows_both_numbers),
		with_fixture(every_time_of_an_operator_is_compared),
		with_fixture(sizes_and_times_of_transports_are_compared),
		with_fixture(sizes_and_times_of_links_are_compared),
		with_fixture(what_only_one_file_has_is_no_disagreement),
		with_fixture(operators_of_an_analysis_db_without_times_are_left_out_and_noted),
		with_fixture(which_disagreement_is_shown_does_not_depend_on_interned_ids),
		with_fixture(a_damaged_analysis_db_is_listed_and_the_rank_used),
		with_fixture(an_empty_analysis_db_is_listed_and_the_rank_used),
		with_fixture(an_analysis_db_alone_is_a_rank),
		with_fixture(a_level0_analysis_db_has_steps_only),
		with_fixture(steps_without_a_label_are_the_pseudo_step),
		with_fixture(devices_of_an_analysis_db_are_counted),
		with_fixture(classes_of_links_are_mended_by_their_operators),
		with_fixture(starts_of_an_analysis_db_are_exact),
		with_fixture(absurd_numbers_of_an_analysis_db_are_survived),
	};

	return cmocka_run_group_tests_name("load_analysis_db", tests, NULL, NULL);
}
