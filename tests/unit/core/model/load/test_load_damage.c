/* SPDX-License-Identifier: Apache-2.0 */
#include "np_load_fixture.h"

#include "np_fault.h"

#include "npuprof/load.h"

/* --- one bad rank costs one rank ------------------------------------------------------------ */

static void a_damaged_rank_db_falls_back_to_the_analysis_db(void **state)
{
	(void)state;
	make_rank_db(0, NULL);
	make_analysis_db(0, NULL);
	assert_int_equal(truncate(rank_db(0), 5000), 0);
	{
		with_run *run = load();

		assert_known_analysis(run, np_run_rank(run, 0));
		assert_noted(&run->notes, NP_NOTE_SKIPPED, "rank database", "analysis.db");
		assert_int_equal(run->notes.list.count, 1);
	}
}

static void an_empty_rank_db_falls_back_to_the_analysis_db(void **state)
{
	(void)state;
	make_analysis_db(0, NULL);
	write_text(rank_db(0), "");
	{
		with_run *run = load();

		assert_known_analysis(run, np_run_rank(run, 0));
		assert_noted(&run->notes, NP_NOTE_SKIPPED, "rank database", "0 bytes");
	}
}

/* formats §5 #4: say "no profiler tables". */
static void a_rank_db_with_every_table_dropped_falls_back_to_the_analysis_db(void **state)
{
	(void)state;
	make_analysis_db(0, NULL);
	run_sql(rank_db(0), "CREATE TABLE TASK(a); DROP TABLE TASK");
	{
		with_run *run = load();

		assert_known_analysis(run, np_run_rank(run, 0));
		assert_noted(&run->notes, NP_NOTE_SKIPPED, "rank database", "no profiler tables");
	}
}

/* formats §5 #3: tables present but empty are the same as missing ones. */
static void a_rank_db_without_tasks_falls_back_to_the_analysis_db(void **state)
{
	(void)state;
	make_rank_db(0, "DELETE FROM TASK; DELETE FROM COMPUTE_TASK_INFO;"
			" DELETE FROM COMMUNICATION_OP; DELETE FROM COMMUNICATION_TASK_INFO");
	make_analysis_db(0, NULL);
	{
		with_run *run = load();

		assert_known_analysis(run, np_run_rank(run, 0));
		assert_noted(&run->notes, NP_NOTE_SKIPPED, "rank database", "");
	}
}

/* Without the table of kernels computing would be 0 and the whole step idle. */
static void
a_rank_db_that_does_not_tell_its_kernels_leaves_step_times_to_the_analysis_db(void **state)
{
	(void)state;
	make_rank_db(0, "DROP TABLE COMPUTE_TASK_INFO");
	make_analysis_db(0, NULL);
	{
		with_run *run = load();
		const struct np_rank *rank = np_run_rank(run, 0);

		assert_int_equal(rank->step_source, NP_FROM_ANALYSIS_DB);
		assert_int_equal(rank->comm_source, NP_FROM_RANK_DB);
		assert_int_equal(rank->exposed_source, NP_FROM_NOTHING);
		assert_noted(&run->notes, NP_NOTE_SKIPPED, "COMPUTE_TASK_INFO", "of no kernel");
	}
}

static void a_rank_db_that_does_not_tell_its_kernels_has_no_step_times_of_its_own(void **state)
{
	(void)state;
	make_rank_db(0, "DELETE FROM COMPUTE_TASK_INFO");
	{
		with_run *run = load();
		const struct np_rank *rank = np_run_rank(run, 0);

		assert_int_equal(rank->times.count, 0);
		assert_int_equal(rank->activity.cells.count, 0);
		assert_true(rank->ops.count > 0);
		for (size_t i = 0; i < rank->comm_steps.count; i++)
			assert_int_equal(rank->comm_steps.item[i].exposed, NP_UNKNOWN);
		assert_noted(&run->notes, NP_NOTE_SKIPPED, "COMPUTE_TASK_INFO", "of no kernel");
	}
}

static void a_rank_db_that_tells_neither_kernels_nor_operators_cannot_be_used(void **state)
{
	(void)state;
	make_rank_db(0, NULL);
	make_rank_db(1, "DELETE FROM COMPUTE_TASK_INFO; DELETE FROM COMMUNICATION_OP");
	{
		with_run *run = load();

		assert_int_equal(np_run_used(run), 1);
		assert_noted(&run->notes, NP_NOTE_SKIPPED, "rank", "tells of no kernel");
	}
}

static void a_rank_db_with_tasks_of_operators_and_no_operator_says_so(void **state)
{
	(void)state;
	make_rank_db(0, "DELETE FROM COMMUNICATION_OP");
	{
		with_run *run = load();

		assert_int_equal(np_run_rank(run, 0)->step_source, NP_FROM_RANK_DB);
		assert_noted(&run->notes, NP_NOTE_WARNING, "COMMUNICATION_OP", "no operator");
	}
}

static void a_rank_of_which_both_databases_are_damaged_says_so_of_both(void **state)
{
	(void)state;
	make_rank_db(0, NULL);
	make_rank_db(1, NULL);
	write_text(rank_path(1, "analysis.db"), "this is no database, whatever its name may be");
	assert_int_equal(truncate(rank_db(1), 5000), 0);
	{
		with_run *run = load();

		assert_int_equal(np_run_used(run), 1);
		assert_noted(&run->notes, NP_NOTE_SKIPPED, "rank", "analysis.db");
		assert_noted(&run->notes, NP_NOTE_SKIPPED, "rank", "ascend_pytorch_profiler_1.db");
	}
}

static void one_bad_rank_among_three_leaves_the_other_two(void **state)
{
	(void)state;
	for (int rank = 0; rank < 3; rank++)
		make_rank_db(rank, NULL);
	assert_int_equal(truncate(rank_db(1), 5000), 0);
	{
		with_run *run = load();

		assert_int_equal(np_run_used(run), 2);
		assert_known_steps(run, np_run_rank(run, 0));
		assert_null(np_run_rank(run, 1));
		assert_known_steps(run, np_run_rank(run, 2));
		assert_noted(&run->notes, NP_NOTE_SKIPPED, "rank", "ascend_pytorch_profiler_1.db");
		assert_int_equal(find_note(&run->notes, "rank", "")->rank, 1);
		assert_int_equal(run->notes.list.count, 1);
	}
}

static void when_no_rank_can_be_read_the_first_reason_is_told(void **state)
{
	const struct np_discover_options options = { 0 };
	const struct np_load_options how = { .procs = &np_procs_serial, .workers.threads = 1 };
	with_run *run = np_run_new();
	struct np_err err = NP_ERR_INIT;
	const char *roots[] = { np_fixture_root };

	(void)state;
	for (int rank = 0; rank < 2; rank++) {
		make_rank_db(rank, NULL);
		assert_int_equal(truncate(rank_db(rank), 5000), 0);
	}
	assert_ok(np_discover(run, roots, 1, &options, &err), err);
	assert_int_equal(np_load_run(run, &how, &err), NP_E_FORMAT);
	assert_one_line(&err);
	assert_holds(err.text, "none of the 2 ranks");
	assert_holds(err.text, "ascend_pytorch_profiler_0.db");
	assert_int_equal(np_notes_count(&run->notes, NP_NOTE_SKIPPED), 2);
}

static void a_database_cut_in_its_tables_never_loads_short(void **state)
{
	size_t length;
	char *bytes;

	(void)state;
	make_rank_db(0, NULL);
	bytes = read_bytes(rank_db(0), &length);
	for (size_t cut = 1; cut < length; cut += 1023) {
		struct np_source_files source = { .rank = 0 };
		NP_CLEANUP(np_strtab_freep) struct np_strtab *strings = np_strtab_new();
		NP_CLEANUP(np_rank_freep) struct np_rank *rank = NULL;
		struct np_err err = NP_ERR_INIT;

		write_bytes(below("cut.db"), bytes, cut);
		source.dir = strdup(np_fixture_root);
		source.file[NP_FILE_RANK_DB] = strdup(below("cut.db"));
		assert_int_equal(np_load_rank(&source, strings, &rank, &err), NP_E_FORMAT);
		assert_holds(err.text, "cut.db");
		free(source.dir);
		free(source.file[NP_FILE_RANK_DB]);
	}
	free(bytes);
}

static void rows_in_a_log_are_loaded_and_it_is_said(void **state)
{
	sqlite3 *writer;

	(void)state;
	make_rank_db(0, NULL);
	writer = open_sqlite(rank_db(0));
	run_sql_on(writer, "PRAGMA journal_mode=WAL; PRAGMA wal_autocheckpoint=0;"
			   "INSERT INTO STEP_TIME VALUES(12, 3000000, 4000000)");
	{
		with_run *run = load();

		assert_int_equal(np_run_rank(run, 0)->steps.count, 3);
		assert_noted(&run->notes, NP_NOTE_WARNING, "database", "-wal");
	}
	assert_int_equal(sqlite3_close(writer), SQLITE_OK);
}

static void any_number_of_threads_gives_the_same_ranks_and_notes(void **state)
{
	(void)state;
	for (int rank = 0; rank < 6; rank++) {
		make_rank_db(rank, rank % 2 ? second_device : NULL);
		make_analysis_db(rank, "UPDATE StepTraceTime SET computing = computing + 5");
	}
	assert_int_equal(truncate(rank_db(3), 5000), 0);
	{
		with_run *one = load_at(np_fixture_root, 1);
		with_run *many = load_at(np_fixture_root, 4);

		assert_int_equal(one->notes.list.count, many->notes.list.count);
		for (size_t i = 0; i < one->notes.list.count; i++)
			assert_string_equal(one->notes.list.item[i].reason,
					    many->notes.list.item[i].reason);
		for (size_t i = 0; i < 6; i++) {
			assert_int_equal(one->ranks[i]->times.count, many->ranks[i]->times.count);
			assert_memory_equal(one->ranks[i]->times.item, many->ranks[i]->times.item,
					    one->ranks[i]->times.count *
						    sizeof(struct np_step_time));
		}
	}
}

/* --- memory --------------------------------------------------------------------------------- */

static struct np_run *discovered;

static int load_in_little_memory(struct np_err *err)
{
	size_t left = np_fault_left;
	NP_CLEANUP(np_strtab_freep) struct np_strtab *strings = NULL;
	NP_CLEANUP(np_rank_freep) struct np_rank *rank = NULL;
	bool lost;
	int rc;

	np_fault_left = 0;
	strings = np_strtab_new();
	np_fault_left = left;
	rc = np_load_rank(&discovered->sources.item[0], strings, &rank, err);
	/* A note does not fail; that it was lost is remembered. */
	lost = rc == NP_OK && rank->notes.lost;
	assert_true(rc < 0 || rank);
	return lost ? NP_E_NOMEM : rc;
}

static void running_out_of_memory_is_told(void **state)
{
	const struct np_discover_options options = { 0 };
	with_run *run = np_run_new();
	struct np_err err = NP_ERR_INIT;
	const char *roots[] = { np_fixture_root };

	(void)state;
	make_rank_db(0, second_device);
	make_analysis_db(0, "UPDATE StepTraceTime SET computing = 5");
	assert_ok(np_discover(run, roots, 1, &options, &err), err);
	discovered = run;
	assert_survives_faults(load_in_little_memory);
}

/*
 * Tables that a rank can do without, in a form that nobody knows: kernels and operators keep their
 * times. The last column says whether the steps do: without calls nothing says what was launched.
 */
static void a_table_without_its_columns_costs_what_it_holds(void **state)
{
	static const struct {
		const char *table;
		const char *column;
		bool steps;
	} lost[] = {
		{ "META_DATA", "value", true },     { "PYTORCH_API", "name", true },
		{ "PYTORCH_API", "startNs", true }, { "STEP_TIME", "endNs", false },
		{ "CANN_API", "type", false },      { "COMMUNICATION_TASK_INFO", "planeId", true },
	};

	(void)state;
	for (size_t i = 0; i < NP_COUNT(lost); i++) {
		char changes[512];
		char words[64];

		(void)snprintf(np_fixture_doing, sizeof(np_fixture_doing), "%s", lost[i].column);
		(void)snprintf(changes, sizeof(changes),
			       "CREATE TABLE PYTORCH_API(startNs TEXT, endNs TEXT, name INTEGER);"
			       "INSERT INTO STRING_IDS VALUES(50, 'enumerate(DataLoader)#next');"
			       "INSERT INTO PYTORCH_API VALUES('1600000', '1790000', 50);"
			       "ALTER TABLE %s RENAME COLUMN %s TO other",
			       lost[i].table, lost[i].column);
		(void)snprintf(words, sizeof(words), "has no column %s", lost[i].column);
		make_rank_db(0, changes);
		{
			with_run *run = load();
			const struct np_rank *rank = np_run_rank(run, 0);

			assert_non_null(rank);
			assert_int_equal(rank->ops.count, 2);
			assert_int_equal(rank->ops.item[0].end - rank->ops.item[0].start, 400000);
			if (lost[i].steps)
				assert_known_steps(run, rank);
			assert_noted(&run->notes, NP_NOTE_SKIPPED, lost[i].table, words);
		}
		assert_int_equal(unlink(rank_db(0)), 0);
	}
	*np_fixture_doing = '\0';
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_fixture(a_damaged_rank_db_falls_back_to_the_analysis_db),
		with_fixture(a_table_without_its_columns_costs_what_it_holds),
		with_fixture(an_empty_rank_db_falls_back_to_the_analysis_db),
		with_fixture(a_rank_db_with_every_table_dropped_falls_back_to_the_analysis_db),
		with_fixture(a_rank_db_without_tasks_falls_back_to_the_analysis_db),
		with_fixture(
			a_rank_db_that_does_not_tell_its_kernels_leaves_step_times_to_the_analysis_db),
		with_fixture(a_rank_db_that_does_not_tell_its_kernels_has_no_step_times_of_its_own),
		with_fixture(a_rank_db_that_tells_neither_kernels_nor_operators_cannot_be_used),
		with_fixture(a_rank_db_with_tasks_of_operators_and_no_operator_says_so),
		with_fixture(a_rank_of_which_both_databases_are_damaged_says_so_of_both),
		with_fixture(one_bad_rank_among_three_leaves_the_other_two),
		with_fixture(when_no_rank_can_be_read_the_first_reason_is_told),
		with_fixture(a_database_cut_in_its_tables_never_loads_short),
		with_fixture(rows_in_a_log_are_loaded_and_it_is_said),
		with_fixture(any_number_of_threads_gives_the_same_ranks_and_notes),
		with_fixture(running_out_of_memory_is_told),
	};

	return cmocka_run_group_tests_name("load_damage", tests, NULL, NULL);
}
