/* SPDX-License-Identifier: Apache-2.0 */
#include "npuprof/discover.h"

#include "np_fault.h"
#include "np_fixture.h"

#include "npuprof/ranges.h"
#include "npuprof/run.h"

#define OUTPUT "ASCEND_PROFILER_OUTPUT"

/* --- helpers ---------------------------------------------------------------------------------- */

/* Discovery looks at names only: any content will do. */
static void make_rank_db(const char *dir, const char *name)
{
	write_text(below("%s/" OUTPUT "/%s", dir, name), "not opened");
}

/* A rank's directory as torch_npu makes it. */
static void make_rank(const char *dir, int rank)
{
	char name[64];

	(void)snprintf(name, sizeof(name), "ascend_pytorch_profiler_%d.db", rank);
	make_rank_db(dir, name);
	(void)snprintf(name, sizeof(name), "{\"rank_id\": %d}", rank);
	write_text(below("%s/profiler_info_%d.json", dir, rank), name);
}

static const struct np_discover_options everything = { 0 };

static int try_discover(struct np_run *run, const char *root, struct np_err *err)
{
	const char *roots[] = { root };

	return np_discover(run, roots, 1, &everything, err);
}

static struct np_run *discover(const char *root)
{
	struct np_run *run = np_run_new();
	struct np_err err = NP_ERR_INIT;

	assert_non_null(run);
	assert_ok(try_discover(run, root, &err), err);
	return run;
}

static struct np_run *discover_with(const char *root, const struct np_discover_options *options)
{
	struct np_run *run = np_run_new();
	struct np_err err = NP_ERR_INIT;
	const char *roots[] = { root };

	assert_ok(np_discover(run, roots, 1, options, &err), err);
	return run;
}

static void assert_ranks(const struct np_run *run, size_t count, const int32_t *ranks)
{
	assert_int_equal(run->sources.count, count);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(run->sources.item[i].rank, ranks[i]);
}

#define RANKS(...) \
	(sizeof((const int32_t[]){ __VA_ARGS__ }) / sizeof(int32_t)), (const int32_t[]) \
	{ \
		__VA_ARGS__ \
	}

#define with_run NP_CLEANUP(np_run_freep) struct np_run

/* --- finding ---------------------------------------------------------------------------------- */

static void ranks_are_found_and_sorted_by_number(void **state)
{
	(void)state;
	make_rank("h_1_20250109000000000_ascend_pt", 10);
	make_rank("h_2_20250109000000000_ascend_pt", 9);
	make_rank("h_3_20250109000000000_ascend_pt", 100);
	make_rank("h_4_20250109000000000_ascend_pt", 0);
	{
		with_run *run = discover(np_fixture_root);

		assert_ranks(run, RANKS(0, 9, 10, 100));
		assert_no_notes(&run->notes);
	}
}

static void files_of_a_rank_are_named_in_full(void **state)
{
	const struct np_source_files *source;

	(void)state;
	make_rank("r", 3);
	write_text(below("r/" OUTPUT "/analysis.db"), "xyz");
	write_text(below("r/profiler_metadata.json"), "{}");
	{
		with_run *run = discover(np_fixture_root);

		source = &run->sources.item[0];
		assert_string_equal(source->dir, below("r"));
		assert_string_equal(source->file[NP_FILE_RANK_DB],
				    below("r/" OUTPUT "/ascend_pytorch_profiler_3.db"));
		assert_string_equal(source->file[NP_FILE_ANALYSIS_DB],
				    below("r/" OUTPUT "/analysis.db"));
		assert_string_equal(source->file[NP_FILE_INFO], below("r/profiler_info_3.json"));
		assert_string_equal(source->file[NP_FILE_METADATA],
				    below("r/profiler_metadata.json"));
		/* "not opened", "xyz", {"rank_id": 3}, {} */
		assert_int_equal(source->bytes, 10 + 3 + 14 + 2);
	}
}

static void renamed_directories_are_found_by_their_files(void **state)
{
	(void)state;
	make_rank("a node", 0);
	make_rank("rank_1_ascend_pt", 1);
	make_rank("排名 2", 2);
	make_rank("100% #3?", 3);
	{
		with_run *run = discover(np_fixture_root);

		assert_ranks(run, RANKS(0, 1, 2, 3));
	}
}

static void nested_directories_are_found(void **state)
{
	(void)state;
	make_rank("a/b/c/d/e/f/g/h/deep", 0);
	make_rank("node1/x", 1);
	make_rank("node1/x/inner", 2);
	{
		with_run *run = discover(np_fixture_root);

		assert_ranks(run, RANKS(0, 1, 2));
	}
}

static void what_lies_too_deep_is_said_not_to_be_searched(void **state)
{
	(void)state;
	make_rank("x", 0);
	make_rank("1/2/3/4/5/6/7/8/9/10/11/deep", 1);
	{
		with_run *run = discover(np_fixture_root);

		assert_ranks(run, RANKS(0));
		assert_noted(&run->notes, NP_NOTE_WARNING, "directory", "not searched");
	}
}

static void nothing_is_said_of_a_deep_directory_with_nothing_below(void **state)
{
	(void)state;
	make_rank("1/2/3/4/5/6/7/8/9/10", 1);
	{
		with_run *run = discover(np_fixture_root);

		assert_ranks(run, RANKS(1));
		assert_no_notes(&run->notes);
	}
}

static void linked_directories_are_followed_once_and_loops_end(void **state)
{
	(void)state;
	make_rank("elsewhere/real", 0);
	make_dirs(below("run"));
	assert_int_equal(symlink("../elsewhere/real", below("run/link")), 0);
	assert_int_equal(symlink("../elsewhere/real", below("run/again")), 0);
	assert_int_equal(symlink("..", below("run/up")), 0);
	assert_int_equal(symlink(".", below("run/self")), 0);
	assert_int_equal(symlink("nowhere", below("run/broken")), 0);
	{
		with_run *run = discover(below("run"));

		assert_ranks(run, RANKS(0));
		assert_no_notes(&run->notes);
	}
}

static void an_output_directory_given_itself_is_its_rank(void **state)
{
	(void)state;
	make_rank("r", 5);
	{
		with_run *run = discover(below("r/" OUTPUT));

		assert_ranks(run, RANKS(5));
		assert_non_null(run->sources.item[0].file[NP_FILE_INFO]);
	}
	{
		with_run *run = discover(below("r/" OUTPUT "///"));

		assert_ranks(run, RANKS(5));
	}
}

static void an_output_directory_given_from_inside_its_rank_is_found(void **state)
{
	char *home = getcwd(NULL, 0);

	(void)state;
	make_rank("r", 5);
	assert_int_equal(chdir(below("r")), 0);
	{
		with_run *run = discover(OUTPUT);

		assert_ranks(run, RANKS(5));
	}
	{
		with_run *run = discover(".");

		assert_ranks(run, RANKS(5));
	}
	assert_int_equal(chdir(home), 0);
	free(home);
}

static void a_slash_behind_the_root_changes_no_path(void **state)
{
	(void)state;
	make_rank("run/r", 5);
	{
		with_run *run = discover(below("run//"));

		assert_string_equal(run->sources.item[0].dir, below("run/r"));
	}
}

static void several_roots_are_one_run(void **state)
{
	struct np_err err = NP_ERR_INIT;
	with_run *run = np_run_new();
	const char *roots[2];

	(void)state;
	make_rank("node1/r", 0);
	make_rank("node2/r", 1);
	roots[0] = below("node2");
	roots[1] = below("node1");
	assert_ok(np_discover(run, roots, 2, &everything, &err), err);
	assert_ranks(run, RANKS(0, 1));
	assert_int_equal(run->roots.count, 2);
}

static void a_root_given_twice_counts_once(void **state)
{
	struct np_err err = NP_ERR_INIT;
	with_run *run = np_run_new();
	const char *roots[2];

	(void)state;
	make_rank("node1/r", 0);
	roots[0] = below("node1");
	roots[1] = below("node1/");
	assert_ok(np_discover(run, roots, 2, &everything, &err), err);
	assert_ranks(run, RANKS(0));
	assert_no_notes(&run->notes);
}

static void results_and_raw_data_are_not_entered(void **state)
{
	(void)state;
	make_rank("x", 0);
	make_rank("cluster_analysis_output/x", 1);
	make_rank("x/FRAMEWORK/y", 2);
	make_rank(".hidden/y", 3);
	{
		with_run *run = discover(np_fixture_root);

		assert_ranks(run, RANKS(0));
	}
}

static void inputs_are_not_touched(void **state)
{
	char *before;

	(void)state;
	make_rank("x", 0);
	before = snapshot(np_fixture_root);
	{
		with_run *run = discover(np_fixture_root);

		assert_ranks(run, RANKS(0));
	}
	assert_untouched(np_fixture_root, before);
}

/* --- which rank ------------------------------------------------------------------------------- */

static void the_rank_inside_profiler_info_is_an_integer_or_a_string(void **state)
{
	(void)state;
	make_rank_db("a", "ascend_pytorch_profiler.db");
	write_text(below("a/profiler_info.json"), "{\"rank_id\": 4}");
	make_rank_db("b", "ascend_pytorch_profiler.db");
	write_text(below("b/profiler_info.json"), "{\"rank_id\": \"5\"}");
	{
		with_run *run = discover(np_fixture_root);

		assert_ranks(run, RANKS(4, 5));
	}
}

static void the_name_of_profiler_info_says_the_rank_of_an_analysis_db_alone(void **state)
{
	(void)state;
	write_text(below("a/" OUTPUT "/analysis.db"), "x");
	write_text(below("a/profiler_info_7.json"), "damaged {");
	{
		with_run *run = discover(np_fixture_root);

		assert_ranks(run, RANKS(7));
		assert_null(run->sources.item[0].file[NP_FILE_RANK_DB]);
	}
}

static void profiler_info_wins_over_the_databases_name_and_it_is_said(void **state)
{
	(void)state;
	make_rank_db("a", "ascend_pytorch_profiler_3.db");
	write_text(below("a/profiler_info_4.json"), "{}");
	{
		with_run *run = discover(np_fixture_root);

		assert_ranks(run, RANKS(4));
		assert_noted(&run->notes, NP_NOTE_WARNING, "rank", "says rank 3");
	}
}

static void several_databases_in_one_directory_are_a_rank_each(void **state)
{
	(void)state;
	make_rank_db("a", "ascend_pytorch_profiler_3.db");
	make_rank_db("a", "ascend_pytorch_profiler_5.db");
	write_text(below("flat/ascend_pytorch_profiler_7.db"), "not opened");
	write_text(below("flat/ascend_mindspore_profiler_8.db"), "not opened");
	{
		with_run *run = discover(np_fixture_root);

		assert_ranks(run, RANKS(3, 5, 7, 8));
		assert_no_notes(&run->notes);
		assert_int_equal(run->sources.item[3].kind, NP_KIND_MINDSPORE);
	}
}

static void what_stands_beside_databases_of_several_ranks_is_listed(void **state)
{
	(void)state;
	make_rank_db("a", "ascend_pytorch_profiler_3.db");
	make_rank_db("a", "ascend_pytorch_profiler_5.db");
	make_rank_db("a", "analysis.db");
	{
		with_run *run = discover(np_fixture_root);

		assert_ranks(run, RANKS(3, 5));
		assert_noted(&run->notes, NP_NOTE_SKIPPED, "analysis.db", "several ranks");
	}
}

/* What profiler_info says is what was profiled here; another file was copied beside it. */
static void of_several_databases_the_one_of_profiler_info_is_used(void **state)
{
	(void)state;
	make_rank("a", 12);
	make_rank_db("a", "ascend_pytorch_profiler_11.db");
	{
		with_run *run = discover(np_fixture_root);

		assert_ranks(run, RANKS(12));
		assert_noted(&run->notes, NP_NOTE_SKIPPED, "rank database",
			     "ascend_pytorch_profiler_11.db");
	}
}

static void names_that_only_look_like_a_rank_database_are_not(void **state)
{
	struct np_err err = NP_ERR_INIT;
	with_run *run = np_run_new();

	(void)state;
	make_rank_db("a", "ascend_pytorch_profiler_x.db");
	make_rank_db("a", "ascend_pytorch_profiler_1.db-wal");
	make_rank_db("a", "ascend_pytorch_profiler_99999999999.db");
	make_rank_db("a", "ascend_pytorch_profiler_-1.db");
	make_rank_db("a", "ascend_pytorch_profiler1.db");
	assert_int_equal(try_discover(run, np_fixture_root, &err), NP_E_NOTFOUND);
}

static void an_unnumbered_rank_alone_is_rank_0(void **state)
{
	(void)state;
	make_rank_db("a", "ascend_pytorch_profiler.db");
	{
		with_run *run = discover(np_fixture_root);

		assert_ranks(run, RANKS(0));
		assert_int_equal(run->sources.item[0].rank_from, NP_RANK_ASSUMED);
		assert_noted(&run->notes, NP_NOTE_WARNING, "ranks", "0 is assumed");
	}
}

static void captures_that_nothing_tells_apart_get_provisional_numbers(void **state)
{
	(void)state;
	make_rank_db("h_1_20250109120000000_ascend_pt", "ascend_pytorch_profiler.db");
	make_rank_db("h_2_20250109120000000_ascend_pt", "ascend_pytorch_profiler.db");
	{
		with_run *run = discover(np_fixture_root);

		assert_ranks(run, RANKS(0, 1));
		assert_int_equal(run->sources.item[1].rank_from, NP_RANK_PROVISIONAL);
		assert_noted(&run->notes, NP_NOTE_SKIPPED, "rank number", "1 is a provisional");
		assert_int_equal(np_notes_count(&run->notes, NP_NOTE_SKIPPED), 2);
	}
}

static void a_rank_in_the_name_is_the_last_source_and_it_is_said(void **state)
{
	(void)state;
	make_rank_db("rank_4_ascend_pt", "ascend_pytorch_profiler.db");
	make_rank_db("rank_5_ascend_pt", "ascend_pytorch_profiler.db");
	write_text(below("rank_5_ascend_pt/profiler_info.json"), "{\"rank_id\": 9}");
	make_rank_db("rank6/anything", "ascend_pytorch_profiler.db");
	{
		with_run *run = discover(np_fixture_root);

		assert_ranks(run, RANKS(4, 6, 9));
		assert_int_equal(run->sources.item[0].rank_from, NP_RANK_FROM_NAME);
		assert_int_equal(run->sources.item[2].rank_from, NP_RANK_FROM_FILES);
		assert_noted(&run->notes, NP_NOTE_WARNING, "ranks", "2 captures");
	}
}

/* What all captures stand in is the rank of none. */
static void the_name_of_a_directory_of_several_captures_is_no_rank(void **state)
{
	(void)state;
	make_rank_db("rank3/h_1_20250109120000000_ascend_pt", "ascend_pytorch_profiler.db");
	make_rank_db("rank3/h_2_20250109120000000_ascend_pt", "ascend_pytorch_profiler.db");
	{
		with_run *run = discover(np_fixture_root);

		assert_ranks(run, RANKS(0, 1));
	}
}

static void make_vllm(int dp, int tp, int rank)
{
	char name[128];

	(void)snprintf(name, sizeof(name),
		       "dp%d_pp0_tp%d_dcp0_ep%d_rank%d_%d_20250109120000000_ascend_pt", dp, tp,
		       2 * dp + tp, rank, 100 + 2 * dp + tp);
	make_rank_db(name, "ascend_pytorch_profiler.db");
}

/* vLLM numbers the workers of each replica of data parallelism from 0: global = 2 dp + rank. */
static void workers_of_replicas_are_numbered_through(void **state)
{
	(void)state;
	for (int dp = 0; dp < 2; dp++) {
		for (int tp = 0; tp < 2; tp++)
			make_vllm(dp, tp, tp);
	}
	{
		with_run *run = discover(np_fixture_root);

		assert_ranks(run, RANKS(0, 1, 2, 3));
		assert_int_equal(run->sources.item[3].place.dp, 1);
		assert_int_equal(run->sources.item[3].place.tp, 1);
		assert_int_equal(run->sources.item[3].place.ep, 3);
		assert_noted(&run->notes, NP_NOTE_WARNING, "ranks", "dp × 2 + rank");
		assert_int_equal(np_notes_count(&run->notes, NP_NOTE_SKIPPED), 0);
	}
}

/* An external launcher has numbered them already. */
static void workers_of_replicas_that_differ_keep_their_ranks(void **state)
{
	(void)state;
	for (int dp = 0; dp < 2; dp++) {
		for (int tp = 0; tp < 2; tp++)
			make_vllm(dp, tp, 2 * dp + tp);
	}
	{
		with_run *run = discover(np_fixture_root);

		assert_ranks(run, RANKS(0, 1, 2, 3));
		assert_int_equal(run->sources.item[1].place.tp, 1);
		assert_int_equal(run->sources.item[2].place.dp, 1);
	}
}

static void an_unnumbered_rank_beside_others_is_skipped_and_listed(void **state)
{
	(void)state;
	make_rank_db("a", "ascend_pytorch_profiler.db");
	make_rank("b", 0);
	{
		with_run *run = discover(np_fixture_root);

		assert_ranks(run, RANKS(0));
		assert_noted(&run->notes, NP_NOTE_SKIPPED, "rank", "nothing names its rank");
	}
}

/* --- whatever is pointed at --------------------------------------------------------------------
 */

static void a_file_is_the_rank_that_its_name_says(void **state)
{
	(void)state;
	make_rank("a", 3);
	make_rank("a/below", 4);
	{
		with_run *run = discover(below("a/" OUTPUT "/ascend_pytorch_profiler_3.db"));

		assert_ranks(run, RANKS(3));
		assert_non_null(run->sources.item[0].file[NP_FILE_INFO]);
	}
	/* Its neighbours were not asked for. */
	{
		with_run *run = discover(below("a/" OUTPUT));

		assert_ranks(run, RANKS(3));
	}
	write_text(below("t/" OUTPUT "/trace_view.json"), "[]");
	{
		with_run *run = discover(below("t/" OUTPUT "/trace_view.json"));

		assert_ranks(run, RANKS(0));
		assert_string_equal(run->sources.item[0].file[NP_FILE_TRACE],
				    below("t/" OUTPUT "/trace_view.json"));
	}
}

static void files_of_one_directory_are_of_one_rank(void **state)
{
	struct np_err err = NP_ERR_INIT;
	with_run *run = np_run_new();
	const char *roots[4];

	(void)state;
	write_text(below("t/trace_view.json"), "[]");
	write_text(below("t/kernel_details.csv"), "a\n");
	write_text(below("t/step_trace_time.csv"), "a\n");
	write_text(below("u/trace_view.json"), "[]");
	roots[0] = below("t/trace_view.json");
	roots[1] = below("t/kernel_details.csv");
	roots[2] = below("t/step_trace_time.csv");
	roots[3] = below("u/trace_view.json");
	assert_ok(np_discover(run, roots, 4, &everything, &err), err);
	assert_int_equal(run->sources.count, 2);
	assert_non_null(run->sources.item[0].file[NP_FILE_TRACE]);
	assert_non_null(run->sources.item[0].file[NP_FILE_KERNELS]);
	assert_non_null(run->sources.item[0].file[NP_FILE_STEP_TRACE]);
	assert_int_equal(run->sources.item[0].bytes, 2 + 2 + 2);
}

static void lines_of_one_process_are_one_capture_and_the_last_may_say_the_rank(void **state)
{
	(void)state;
	write_text(below("msmonitor_12_20250109120000000_-1.jsonl"), "{}");
	write_text(below("msmonitor_12_20250109120100000_-1.jsonl"),
		   "{}\n{\"device\": [1], \"kind\": \"rank_device_map\", \"rank\": 5}\n");
	write_text(below("msmonitor_123_20250109120000000_2.jsonl"), "{}");
	{
		with_run *run = discover(np_fixture_root);

		assert_ranks(run, RANKS(2, 5));
		assert_int_equal(run->sources.item[0].more_traces.count, 0);
		assert_int_equal(run->sources.item[1].more_traces.count, 1);
		assert_int_equal(run->sources.item[1].kind, NP_KIND_MSMONITOR);
	}
}

static void files_of_one_process_given_one_by_one_are_one_capture(void **state)
{
	with_run *run = np_run_new();
	struct np_err err = NP_ERR_INIT;
	char *paths[] = { strdup(below("msmonitor_12_20250109120000000_-1.jsonl")),
			  strdup(below("msmonitor_12_20250109120100000_-1.jsonl")),
			  strdup(below("msmonitor_13_20250109120000000_2.jsonl")) };
	const char *roots[] = { paths[0], paths[1], paths[2] };

	(void)state;
	write_text(paths[0], "{}");
	write_text(paths[1], "{\"device\": [1], \"kind\": \"rank_device_map\", \"rank\": 5}\n");
	write_text(paths[2], "{}");
	assert_ok(np_discover(run, roots, 3, &everything, &err), err);
	assert_ranks(run, RANKS(2, 5));
	assert_int_equal(run->sources.item[1].more_traces.count, 1);
	for (size_t i = 0; i < 3; i++)
		free(paths[i]);
}

/* Containers number their processes alike. */
static void processes_of_one_number_on_two_hosts_are_two_ranks(void **state)
{
	(void)state;
	write_text(below("msmonitor_12_20250109120000000_0.jsonl"), "{}");
	write_text(below("msmonitor_12_20250109120000001_1.jsonl"), "{}");
	write_text(below("msmonitor_12_20250109120100000_0.jsonl"), "{}");
	{
		with_run *run = discover(np_fixture_root);

		assert_ranks(run, RANKS(0, 1));
		assert_int_equal(run->sources.item[0].more_traces.count, 1);
		assert_int_equal(run->sources.item[1].more_traces.count, 0);
	}
}

static void make_db(const char *path, const char *sql)
{
	sqlite3 *db;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	(void)sqlite3_close(db);
}

#define RANK_TABLES \
	"CREATE TABLE STRING_IDS (id INTEGER, value TEXT);" \
	"CREATE TABLE TASK (startNs INTEGER);"

static void a_database_of_any_name_is_known_by_its_tables(void **state)
{
	(void)state;
	make_dirs(below("flat"));
	make_db(below("flat/mine.db"),
		RANK_TABLES "CREATE TABLE RANK_DEVICE_MAP (rankId INTEGER, deviceId INTEGER);"
			    "INSERT INTO RANK_DEVICE_MAP VALUES (11, 3);");
	make_db(below("flat/other.db"), "CREATE TABLE OTHER (a INTEGER);");
	make_db(below("flat/rank_12.db"), RANK_TABLES);
	{
		with_run *run = discover(below("flat"));

		assert_ranks(run, RANKS(11, 12));
		assert_int_equal(run->sources.item[0].device, 3);
		assert_int_equal(run->sources.item[1].rank_from, NP_RANK_FROM_NAME);
	}
}

static void an_archive_is_refused_with_the_line_that_unpacks_it(void **state)
{
	static const char *const names[][2] = { { "run.tar", "tar -xf" },
						{ "run.tar.gz", "tar -xzf" },
						{ "run.tgz", "tar -xzf" },
						{ "run.zip", "unzip" } };

	(void)state;
	for (size_t i = 0; i < NP_COUNT(names); i++) {
		struct np_err err = NP_ERR_INIT;
		with_run *run = np_run_new();

		write_text(below("%s", names[i][0]), "x");
		assert_int_equal(try_discover(run, below("%s", names[i][0]), &err), NP_E_USAGE);
		assert_one_line(&err);
		assert_holds(err.text, names[i][1]);
		assert_holds(err.text, below("%s'", names[i][0]));
	}
}

static void an_archive_beside_profiles_is_listed(void **state)
{
	(void)state;
	make_rank("a", 0);
	write_text(below("rank1_ascend_pt.tar.gz"), "x");
	write_text(below("sources.zip"), "x");
	{
		with_run *run = discover(np_fixture_root);

		assert_ranks(run, RANKS(0));
		assert_noted(&run->notes, NP_NOTE_SKIPPED, "archive", "rank1_ascend_pt.tar.gz");
		assert_noted(&run->notes, NP_NOTE_WARNING, "archive", "sources.zip");
	}
}

static void the_layout_of_msprof_before_2024_is_named(void **state)
{
	struct np_err err = NP_ERR_INIT;
	with_run *run = np_run_new();

	(void)state;
	write_text(below("PROF_1_2_A/device_0/timeline/msprof_0_1_1.json"), "[]");
	write_text(below("PROF_1_2_A/device_0/summary/op_summary_0_1_1.csv"), "a\n");
	assert_int_equal(try_discover(run, np_fixture_root, &err), NP_E_NOTFOUND);
	assert_one_line(&err);
	assert_holds(err.text, "before 2024");
}

static void exports_of_msprof_need_no_directory_of_their_own(void **state)
{
	(void)state;
	write_text(below("x/mindstudio_profiler_output/msprof_20260511093035.json.gz"), "[]");
	write_text(below("x/mindstudio_profiler_output/op_statistic_20260511093035.csv"), "a\n");
	{
		with_run *run = discover(below("x"));

		assert_ranks(run, RANKS(0));
		assert_int_equal(run->sources.item[0].kind, NP_KIND_MSPROF);
		assert_non_null(run->sources.item[0].file[NP_FILE_TRACE]);
		assert_non_null(run->sources.item[0].file[NP_FILE_OP_STATISTIC]);
	}
	{
		with_run *run = discover(below("x/mindstudio_profiler_output/"));

		assert_ranks(run, RANKS(0));
	}
	write_text(below("y/op_summary_20260511093035.csv"), "a\n");
	{
		with_run *run = discover(below("y"));

		assert_ranks(run, RANKS(0));
		assert_non_null(run->sources.item[0].file[NP_FILE_KERNELS]);
	}
}

static void files_of_an_output_directory_may_stand_anywhere(void **state)
{
	(void)state;
	write_text(below("rank0/trace_view.json.gz"), "[]");
	write_text(below("rank0/kernel_details.csv"), "a\n");
	write_text(below("rank1/step_trace_time.csv"), "a\n");
	{
		with_run *run = discover(np_fixture_root);

		assert_ranks(run, RANKS(0, 1));
		assert_non_null(run->sources.item[0].file[NP_FILE_TRACE]);
		assert_non_null(run->sources.item[0].file[NP_FILE_KERNELS]);
	}
}

/* --- duplicates ------------------------------------------------------------------------------- */

static void of_two_captures_of_a_rank_the_newest_by_name_wins(void **state)
{
	(void)state;
	make_rank("h_1_20250109120000000_ascend_pt", 0);
	make_rank("h_9_20250108120000000_ascend_pt", 0);
	{
		with_run *run = discover(np_fixture_root);

		assert_ranks(run, RANKS(0));
		assert_string_equal(run->sources.item[0].dir,
				    below("h_1_20250109120000000_ascend_pt"));
		assert_noted(&run->notes, NP_NOTE_SKIPPED, "rank", "newer");
		assert_holds(find_note(&run->notes, "rank", "newer")->path,
			     "h_9_20250108120000000_ascend_pt");
	}
}

/* Old names end in seconds, new ones in milliseconds. */
static void stamps_of_both_lengths_compare(void **state)
{
	(void)state;
	make_rank("h_1_20250109120000_ascend_pt", 0);
	make_rank("h_2_20250108120000999_ascend_pt", 0);
	{
		with_run *run = discover(np_fixture_root);

		assert_string_equal(run->sources.item[0].dir,
				    below("h_1_20250109120000_ascend_pt"));
	}
}

/* 2025-01-09 12:00:00 is 1736424000 s after 1970. */
static void a_worker_named_like_the_suffix_keeps_its_stamp(void **state)
{
	(void)state;
	make_rank("my_ascend_node_1_20250109120000000_ascend_pt", 0);
	make_rank("my_ascend_node_2_20250108120000000_ascend_pt", 0);
	{
		with_run *run = discover(np_fixture_root);

		assert_string_equal(run->sources.item[0].dir,
				    below("my_ascend_node_1_20250109120000000_ascend_pt"));
		assert_int_equal(run->sources.item[0].stamp, INT64_C(1736424000000));
	}
}

static void the_stamp_of_a_root_with_a_slash_behind_it_counts(void **state)
{
	struct np_err err = NP_ERR_INIT;
	with_run *run = np_run_new();
	const char *roots[2];

	(void)state;
	make_rank("a_20250109120000000_ascend_pt", 0);
	make_rank("b_20250108120000000_ascend_pt", 0);
	roots[0] = below("a_20250109120000000_ascend_pt/" OUTPUT);
	roots[1] = below("b_20250108120000000_ascend_pt/");
	assert_ok(np_discover(run, roots, 2, &everything, &err), err);
	assert_int_equal(run->sources.item[0].stamp, INT64_C(1736424000000));
	assert_holds(run->sources.item[0].dir, "a_2025");
}

static void set_time(const char *path, time_t seconds)
{
	const struct timespec times[2] = { { .tv_sec = seconds }, { .tv_sec = seconds } };

	assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static void without_stamps_the_newest_files_win(void **state)
{
	(void)state;
	make_rank("old", 0);
	make_rank("new", 0);
	set_time(below("old/" OUTPUT "/ascend_pytorch_profiler_0.db"), 1700000000);
	set_time(below("old/profiler_info_0.json"), 1700000000);
	set_time(below("new/profiler_info_0.json"), 1700000000);
	set_time(below("new/" OUTPUT "/ascend_pytorch_profiler_0.db"), 1700000001);
	{
		with_run *run = discover(np_fixture_root);

		assert_string_equal(run->sources.item[0].dir, below("new"));
	}
}

/* 2025-01-09 by name against a renamed directory whose files are of 2025-06 and of 2024. */
static void stamps_in_names_and_times_of_files_compare(void **state)
{
	(void)state;
	make_rank("h_1_20250109120000000_ascend_pt", 0);
	make_rank("renamed", 0);
	make_rank("h_1_20250109120000001_ascend_pt", 1);
	make_rank("renamed1", 1);
	set_time(below("renamed/" OUTPUT "/ascend_pytorch_profiler_0.db"), 1750000000);
	set_time(below("renamed1/" OUTPUT "/ascend_pytorch_profiler_1.db"), 1710000000);
	set_time(below("renamed1/profiler_info_1.json"), 1710000000);
	{
		with_run *run = discover(np_fixture_root);

		assert_string_equal(run->sources.item[0].dir, below("renamed"));
		assert_string_equal(run->sources.item[1].dir,
				    below("h_1_20250109120000001_ascend_pt"));
	}
}

static void a_pick_overrides_the_newest(void **state)
{
	const char *picks[1];
	struct np_discover_options options = { .picks = picks, .pick_count = 1 };

	(void)state;
	make_rank("new/h_1_20250109120000000_ascend_pt", 0);
	make_rank("old/h_1_20250108120000000_ascend_pt", 0);
	picks[0] = below("old/../old/");
	{
		with_run *run = discover_with(np_fixture_root, &options);

		assert_string_equal(run->sources.item[0].dir,
				    below("old/h_1_20250108120000000_ascend_pt"));
		assert_noted(&run->notes, NP_NOTE_SKIPPED, "rank", "picked");
	}
	picks[0] = below("old/h_1_20250108120000000_ascend_pt");
	{
		with_run *run = discover_with(np_fixture_root, &options);

		assert_holds(run->sources.item[0].dir, "/old/");
	}
}

/* "old" is no directory above "older". */
static void a_pick_holds_whole_names_only(void **state)
{
	const char *picks[1];
	struct np_discover_options options = { .picks = picks, .pick_count = 1 };

	(void)state;
	make_rank("run/newest_20250109120000000_ascend_pt", 0);
	make_rank("run/old_20250108120000000_ascend_pt", 0);
	make_dirs(below("run/ol"));
	picks[0] = below("run/ol");
	{
		with_run *run = discover_with(below("run"), &options);

		assert_holds(run->sources.item[0].dir, "newest");
	}
}

/* --- phases ----------------------------------------------------------------------------------- */

static void assert_phases(const struct np_run *run, const char *list)
{
	NP_CLEANUP(np_buf_release) struct np_buf text = NP_BUF_INIT;

	np_buf_add(&text, "");
	for (size_t i = 0; i < run->phases.count; i++)
		np_buf_printf(&text, "%s%s", i > 0 ? " " : "", run->phases.item[i]);
	assert_string_equal(text.text, list);
}

static void roles_in_directories_are_phases(void **state)
{
	const struct np_discover_options ref = { .phase = "ref_log_prob" };

	(void)state;
	make_rank("actor_update/h_1_20250109120000000_ascend_pt", 0);
	make_rank("actor_update/h_2_20250109120000000_ascend_pt", 1);
	make_rank("ref_log_prob/h_1_20250109120100000_ascend_pt", 0);
	make_rank("ref_log_prob/h_2_20250109120100000_ascend_pt", 1);
	{
		with_run *run = discover(np_fixture_root);

		assert_phases(run, "actor_update ref_log_prob");
		assert_ranks(run, RANKS(0, 1));
		assert_string_equal(run->sources.item[0].phase, "actor_update");
		assert_no_notes(&run->notes);
	}
	{
		with_run *run = discover_with(np_fixture_root, &ref);

		assert_ranks(run, RANKS(0, 1));
		assert_holds(run->sources.item[1].dir, "ref_log_prob");
	}
}

static void steps_and_roles_in_directories_are_phases(void **state)
{
	(void)state;
	make_rank("2/actor/h_1_20250109120000000_ascend_pt", 0);
	make_rank("10/actor/h_1_20250109120100000_ascend_pt", 0);
	make_rank("10/ref/h_1_20250109120200000_ascend_pt", 0);
	{
		with_run *run = discover(np_fixture_root);

		assert_phases(run, "2/actor 10/actor 10/ref");
	}
}

/* Directories of nodes hold ranks of their own: only the role differs. */
static void nodes_above_roles_are_no_phases(void **state)
{
	(void)state;
	make_rank("node0/actor/h_1_20250109120000000_ascend_pt", 0);
	make_rank("node1/actor/h_2_20250109120000000_ascend_pt", 1);
	make_rank("node0/ref/h_1_20250109120100000_ascend_pt", 0);
	make_rank("node1/ref/h_2_20250109120100000_ascend_pt", 1);
	{
		with_run *run = discover(np_fixture_root);

		assert_phases(run, "actor ref");
		assert_ranks(run, RANKS(0, 1));
	}
}

static void a_role_that_profiled_some_ranks_is_a_phase(void **state)
{
	(void)state;
	make_rank("actor/h_1_20250109120000000_ascend_pt", 0);
	make_rank("actor/h_2_20250109120000000_ascend_pt", 1);
	make_rank("actor/h_3_20250109120000000_ascend_pt", 2);
	make_rank("ref/h_1_20250109120100000_ascend_pt", 0);
	{
		with_run *run = discover(np_fixture_root);

		assert_phases(run, "actor ref");
		assert_ranks(run, RANKS(0, 1, 2));
	}
}

static void replicas_of_a_rollout_are_one_phase_if_their_ranks_differ(void **state)
{
	(void)state;
	make_rank("train/h_1_20250109120000000_ascend_pt", 0);
	make_rank("train/h_2_20250109120000000_ascend_pt", 1);
	make_rank("agent_loop_rollout_replica_0/h_3_20250109120100000_ascend_pt", 0);
	make_rank("agent_loop_rollout_replica_1/h_4_20250109120100000_ascend_pt", 1);
	{
		with_run *run = discover(np_fixture_root);

		assert_phases(run, "agent_loop_rollout train");
		assert_ranks(run, RANKS(0, 1));
	}
	make_rank("agent_loop_rollout_replica_1/h_5_20250109120100000_ascend_pt", 0);
	{
		with_run *run = discover(np_fixture_root);

		assert_phases(run,
			      "agent_loop_rollout_replica_0 agent_loop_rollout_replica_1 train");
	}
}

/* One old capture among the ranks of another node makes no phases of nodes. */
static void a_stray_capture_makes_no_phases(void **state)
{
	(void)state;
	for (int rank = 0; rank < 8; rank++) {
		char name[64];

		(void)snprintf(name, sizeof(name), "node%d/h_%d_20250109120000000_ascend_pt",
			       rank / 4, 10 + rank);
		make_rank(name, rank);
	}
	make_rank("node1/h_9_20250101120000000_ascend_pt", 0);
	{
		with_run *run = discover(np_fixture_root);

		assert_phases(run, "");
		assert_ranks(run, RANKS(0, 1, 2, 3, 4, 5, 6, 7));
		assert_noted(&run->notes, NP_NOTE_SKIPPED, "rank", "newer");
	}
}

static void captures_of_one_process_are_windows(void **state)
{
	const struct np_discover_options second = { .phase = "window-2" };

	(void)state;
	make_rank("h_1_20250109120000000_ascend_pt", 0);
	make_rank("h_2_20250109120000001_ascend_pt", 1);
	make_rank("h_1_20250109120100000_ascend_pt", 0);
	make_rank("h_2_20250109120100001_ascend_pt", 1);
	/* An older run of the same job: left out, and said. */
	make_rank("h_9_20250108120000000_ascend_pt", 1);
	{
		with_run *run = discover_with(np_fixture_root, &second);

		assert_phases(run, "window-1 window-2");
		assert_ranks(run, RANKS(0, 1));
		assert_holds(run->sources.item[0].dir, "20250109120100000");
		assert_noted(&run->notes, NP_NOTE_SKIPPED, "rank", "newer");
	}
}

static void windows_of_a_single_card_are_of_one_rank(void **state)
{
	(void)state;
	make_rank_db("h_1_20250109120000000_ascend_pt", "ascend_pytorch_profiler.db");
	make_rank_db("h_1_20250109120100000_ascend_pt", "ascend_pytorch_profiler.db");
	{
		with_run *run = discover(np_fixture_root);

		assert_phases(run, "window-1 window-2");
		assert_ranks(run, RANKS(0));
	}
}

static void asking_for_a_phase_that_is_not_there_says_which_are(void **state)
{
	const struct np_discover_options none = { .phase = "critic" };
	const char *roots[] = { np_fixture_root };
	struct np_err err = NP_ERR_INIT;
	with_run *run = np_run_new();

	(void)state;
	make_rank("actor/h_1_20250109120000000_ascend_pt", 0);
	make_rank("ref/h_1_20250109120100000_ascend_pt", 0);
	assert_int_equal(np_discover(run, roots, 1, &none, &err), NP_E_USAGE);
	assert_holds(err.text, "actor, ref");
}

/* --- choosing ranks --------------------------------------------------------------------------- */

static struct np_ranges *ranges(const char *text)
{
	struct np_ranges *list = NULL;

	assert_int_equal(np_ranges_parse(text, &list, NULL), NP_OK);
	return list;
}

static void only_the_ranks_asked_for_are_kept(void **state)
{
	NP_CLEANUP(np_ranges_freep) struct np_ranges *list = ranges("1,3");
	struct np_discover_options options = { .ranks = list };

	(void)state;
	for (int rank = 0; rank < 5; rank++) {
		char name[16];

		(void)snprintf(name, sizeof(name), "r%d", rank);
		make_rank(name, rank);
	}
	{
		with_run *run = discover_with(np_fixture_root, &options);

		assert_ranks(run, RANKS(1, 3));
	}
}

static void asking_for_a_rank_that_is_not_there_says_which_are(void **state)
{
	NP_CLEANUP(np_ranges_freep) struct np_ranges *list = ranges("0-2");
	struct np_discover_options options = { .ranks = list };
	struct np_err err = NP_ERR_INIT;
	with_run *run = np_run_new();
	const char *roots[] = { np_fixture_root };

	(void)state;
	make_rank("a", 0);
	make_rank("b", 1);
	make_rank("c", 8);
	assert_int_equal(np_discover(run, roots, 1, &options, &err), NP_E_USAGE);
	assert_one_line(&err);
	assert_holds(err.text, "no rank 2");
	assert_holds(err.text, "0-1,8");
}

/* --- nothing there ---------------------------------------------------------------------------- */

static void an_empty_directory_says_what_was_looked_for(void **state)
{
	struct np_err err = NP_ERR_INIT;
	with_run *run = np_run_new();

	(void)state;
	assert_int_equal(try_discover(run, np_fixture_root, &err), NP_E_NOTFOUND);
	assert_one_line(&err);
	assert_holds(err.text, np_fixture_root);
	assert_holds(err.text, OUTPUT);
	assert_holds(err.text, "PROF_");
}

static void a_rank_without_anything_readable_is_listed_with_what_is_missing(void **state)
{
	struct np_err err = NP_ERR_INIT;
	with_run *run = np_run_new();

	(void)state;
	write_text(below("r/" OUTPUT "/op_statistic.csv"), "Step\n");
	write_text(below("r/profiler_info_6.json"), "{}");
	assert_int_equal(try_discover(run, np_fixture_root, &err), NP_E_NOTFOUND);
	assert_holds(err.text, np_fixture_root);
	assert_noted(&run->notes, NP_NOTE_SKIPPED, "rank", "trace_view.json");
	assert_int_equal(find_note(&run->notes, "rank", "")->rank, 6);
}

static void a_root_that_is_not_there_is_wrong_usage(void **state)
{
	struct np_err err = NP_ERR_INIT;
	with_run *run = np_run_new();

	(void)state;
	assert_int_equal(try_discover(run, below("none"), &err), NP_E_USAGE);
	assert_holds(err.text, below("none"));
}

static void a_root_that_is_a_file_is_wrong_usage(void **state)
{
	struct np_err err = NP_ERR_INIT;
	with_run *run = np_run_new();

	(void)state;
	write_text(below("file"), "x");
	assert_int_equal(try_discover(run, below("file"), &err), NP_E_USAGE);
}

static void a_directory_that_may_not_be_read_is_listed(void **state)
{
	struct np_err err = NP_ERR_INIT;
	with_run *run = np_run_new();
	uid_t user = geteuid();
	int rc;

	(void)state;
	make_rank("good", 0);
	make_rank("closed/r", 1);
	assert_int_equal(chmod(below("closed"), 0), 0);
	assert_int_equal(chmod(np_fixture_root, 0755), 0);
	/* Root may read everything: be somebody else for the moment. */
	if (user == 0)
		assert_int_equal(seteuid(65534), 0);
	rc = try_discover(run, np_fixture_root, &err);
	if (user == 0)
		assert_int_equal(seteuid(0), 0);
	assert_ok(rc, err);
	assert_ranks(run, RANKS(0));
	assert_noted(&run->notes, NP_NOTE_SKIPPED, "directory", "Permission denied");
	assert_string_equal(find_note(&run->notes, "directory", "")->path, below("closed"));
}

/* --- fingerprint ------------------------------------------------------------------------------ */

static void the_fingerprint_does_not_depend_on_how_the_root_is_written(void **state)
{
	char prints[4][17];

	(void)state;
	make_rank("run/r0", 0);
	make_rank("run/r1", 1);
	{
		with_run *run = discover(below("run"));

		np_run_fingerprint(run, prints[0]);
	}
	{
		with_run *run = discover(below("run//"));

		np_run_fingerprint(run, prints[1]);
	}
	{
		with_run *run = discover(below("./run/../run"));

		np_run_fingerprint(run, prints[2]);
	}
	assert_int_equal(rename(below("run"), below("moved")), 0);
	{
		with_run *run = discover(below("moved"));

		np_run_fingerprint(run, prints[3]);
	}
	assert_string_equal(prints[0], prints[1]);
	assert_string_equal(prints[0], prints[2]);
	assert_string_equal(prints[0], prints[3]);
}

static void the_fingerprint_changes_with_the_files(void **state)
{
	char prints[3][17];

	(void)state;
	make_rank("run/r0", 0);
	{
		with_run *run = discover(below("run"));

		np_run_fingerprint(run, prints[0]);
	}
	set_time(below("run/r0/" OUTPUT "/ascend_pytorch_profiler_0.db"), 1700000000);
	{
		with_run *run = discover(below("run"));

		np_run_fingerprint(run, prints[1]);
	}
	make_rank("run/r1", 1);
	{
		with_run *run = discover(below("run"));

		np_run_fingerprint(run, prints[2]);
	}
	assert_string_not_equal(prints[0], prints[1]);
	assert_string_not_equal(prints[1], prints[2]);
}

/* --- memory ----------------------------------------------------------------------------------- */

static int discover_in_little_memory(struct np_err *err)
{
	size_t left = np_fault_left;
	with_run *run = NULL;
	bool lost;
	int rc;

	np_fault_left = 0;
	run = np_run_new();
	np_fault_left = left;
	rc = try_discover(run, np_fixture_root, err);
	/* A note does not fail; that it was lost is remembered. */
	lost = rc == NP_OK && run->notes.lost;
	return lost ? NP_E_NOMEM : rc;
}

static void running_out_of_memory_is_told(void **state)
{
	(void)state;
	make_rank("h_1_20250109120000000_ascend_pt", 0);
	make_rank("h_9_20250108120000000_ascend_pt", 0);
	make_rank("nested/x", 1);
	assert_survives_faults(discover_in_little_memory);
}

static void running_out_of_memory_for_phases_is_told(void **state)
{
	(void)state;
	make_rank("actor/h_1_20250109120000000_ascend_pt", 0);
	make_rank("ref/h_1_20250109120100000_ascend_pt", 0);
	assert_survives_faults(discover_in_little_memory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_fixture(ranks_are_found_and_sorted_by_number),
		with_fixture(files_of_a_rank_are_named_in_full),
		with_fixture(renamed_directories_are_found_by_their_files),
		with_fixture(nested_directories_are_found),
		with_fixture(what_lies_too_deep_is_said_not_to_be_searched),
		with_fixture(nothing_is_said_of_a_deep_directory_with_nothing_below),
		with_fixture(linked_directories_are_followed_once_and_loops_end),
		with_fixture(an_output_directory_given_itself_is_its_rank),
		with_fixture(an_output_directory_given_from_inside_its_rank_is_found),
		with_fixture(a_slash_behind_the_root_changes_no_path),
		with_fixture(several_roots_are_one_run),
		with_fixture(a_root_given_twice_counts_once),
		with_fixture(results_and_raw_data_are_not_entered),
		with_fixture(inputs_are_not_touched),
		with_fixture(the_rank_inside_profiler_info_is_an_integer_or_a_string),
		with_fixture(the_name_of_profiler_info_says_the_rank_of_an_analysis_db_alone),
		with_fixture(profiler_info_wins_over_the_databases_name_and_it_is_said),
		with_fixture(several_databases_in_one_directory_are_a_rank_each),
		with_fixture(what_stands_beside_databases_of_several_ranks_is_listed),
		with_fixture(of_several_databases_the_one_of_profiler_info_is_used),
		with_fixture(names_that_only_look_like_a_rank_database_are_not),
		with_fixture(an_unnumbered_rank_alone_is_rank_0),
		with_fixture(captures_that_nothing_tells_apart_get_provisional_numbers),
		with_fixture(a_rank_in_the_name_is_the_last_source_and_it_is_said),
		with_fixture(the_name_of_a_directory_of_several_captures_is_no_rank),
		with_fixture(workers_of_replicas_are_numbered_through),
		with_fixture(workers_of_replicas_that_differ_keep_their_ranks),
		with_fixture(a_file_is_the_rank_that_its_name_says),
		with_fixture(files_of_one_directory_are_of_one_rank),
		with_fixture(lines_of_one_process_are_one_capture_and_the_last_may_say_the_rank),
		with_fixture(files_of_one_process_given_one_by_one_are_one_capture),
		with_fixture(processes_of_one_number_on_two_hosts_are_two_ranks),
		with_fixture(a_database_of_any_name_is_known_by_its_tables),
		with_fixture(an_archive_is_refused_with_the_line_that_unpacks_it),
		with_fixture(an_archive_beside_profiles_is_listed),
		with_fixture(the_layout_of_msprof_before_2024_is_named),
		with_fixture(exports_of_msprof_need_no_directory_of_their_own),
		with_fixture(files_of_an_output_directory_may_stand_anywhere),
		with_fixture(an_unnumbered_rank_beside_others_is_skipped_and_listed),
		with_fixture(of_two_captures_of_a_rank_the_newest_by_name_wins),
		with_fixture(stamps_of_both_lengths_compare),
		with_fixture(a_worker_named_like_the_suffix_keeps_its_stamp),
		with_fixture(the_stamp_of_a_root_with_a_slash_behind_it_counts),
		with_fixture(without_stamps_the_newest_files_win),
		with_fixture(stamps_in_names_and_times_of_files_compare),
		with_fixture(a_pick_overrides_the_newest),
		with_fixture(a_pick_holds_whole_names_only),
		with_fixture(roles_in_directories_are_phases),
		with_fixture(steps_and_roles_in_directories_are_phases),
		with_fixture(nodes_above_roles_are_no_phases),
		with_fixture(a_role_that_profiled_some_ranks_is_a_phase),
		with_fixture(replicas_of_a_rollout_are_one_phase_if_their_ranks_differ),
		with_fixture(a_stray_capture_makes_no_phases),
		with_fixture(captures_of_one_process_are_windows),
		with_fixture(windows_of_a_single_card_are_of_one_rank),
		with_fixture(asking_for_a_phase_that_is_not_there_says_which_are),
		with_fixture(running_out_of_memory_for_phases_is_told),
		with_fixture(only_the_ranks_asked_for_are_kept),
		with_fixture(asking_for_a_rank_that_is_not_there_says_which_are),
		with_fixture(an_empty_directory_says_what_was_looked_for),
		with_fixture(a_rank_without_anything_readable_is_listed_with_what_is_missing),
		with_fixture(a_root_that_is_not_there_is_wrong_usage),
		with_fixture(a_root_that_is_a_file_is_wrong_usage),
		with_fixture(a_directory_that_may_not_be_read_is_listed),
		with_fixture(the_fingerprint_does_not_depend_on_how_the_root_is_written),
		with_fixture(the_fingerprint_changes_with_the_files),
		with_fixture(running_out_of_memory_is_told),
	};

	return cmocka_run_group_tests_name("discover", tests, NULL, NULL);
}
