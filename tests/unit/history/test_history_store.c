/* SPDX-License-Identifier: Apache-2.0 */
/* The store of runs: what is put in comes out, once, and nothing else is touched. */
#include "history/engine/hist_store.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "history/engine/hist_series.h"

#include "np_test.h"

#include "npuprof/db.h"
#include "npuprof/dirs.h"
#include "npuprof/lock.h"

static char dir[64];
static char path[128];

static int make_dir(void **state)
{
	(void)state;
	(void)snprintf(dir, sizeof(dir), "%s", "/tmp/npuprof-history.XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	(void)snprintf(path, sizeof(path), "%s/runs.db", dir);
	return 0;
}

static int remove_dir(void **state)
{
	(void)state;
	np_lock_release_all();
	np_remove_tree(dir);
	return 0;
}

static np_str text(struct hist_store *store, const char *words)
{
	struct np_err err = NP_ERR_INIT;
	np_str id;

	assert_ok(hist_intern(store, words, &id, &err), err);
	return id;
}

/* A run with two ranks, one of which knows little. */
static struct hist_store *make_entry(const char *fingerprint, const char *job, np_ns captured)
{
	struct np_err err = NP_ERR_INIT;
	struct hist_store *store = hist_store_new(&err);

	assert_non_null(store);
	assert_non_null(np_vec_add(&store->runs, &err));
	assert_non_null(np_vec_add(&store->ranks, &err));
	assert_non_null(np_vec_add(&store->ranks, &err));
	assert_non_null(np_vec_add(&store->labels, &err));
	assert_non_null(np_vec_add(&store->figures, &err));
	assert_non_null(np_vec_add(&store->steps, &err));
	assert_non_null(np_vec_add(&store->links, &err));
	assert_non_null(np_vec_add(&store->repairs, &err));
	store->runs.item[0] = (struct hist_run){ .fingerprint = text(store, fingerprint),
						 .job = text(store, job),
						 .verdict = text(store, "rank"),
						 .what = text(store, "rank:1"),
						 .captured = captured,
						 .added = 5,
						 .world = NP_UNKNOWN,
						 .ranks = 2,
						 .steps = 3,
						 .step = 1000 + captured,
						 .rank_count = 2 };
	store->ranks.item[0] = (struct hist_rank){ .rank = 0,
						   .host = text(store, "node-0"),
						   .device = 3,
						   .stage = 0,
						   .tp = 1,
						   .dp = 2,
						   .ep = 0,
						   .step = 1000 + captured,
						   .computing = 700,
						   .wait = 100,
						   .transfer = 150,
						   .idle = 50,
						   .charge = 40,
						   .mhz = 1650.5 };
	store->ranks.item[1] = (struct hist_rank){ .rank = 1,
						   .device = -1,
						   .stage = -1,
						   .tp = -1,
						   .dp = -1,
						   .ep = -1,
						   .step = 1200,
						   .computing = NP_UNKNOWN,
						   .wait = NP_UNKNOWN,
						   .transfer = NP_UNKNOWN,
						   .idle = NP_UNKNOWN,
						   .charge = NP_UNKNOWN,
						   .mhz = (double)NAN };
	store->labels.item[0] =
		(struct hist_label){ 0, text(store, "commit"), text(store, "1f3a") };
	store->figures.item[0] = (struct hist_figure){ 0, text(store, "step"), 1000 + captured };
	store->steps.item[0] =
		(struct hist_step){ 0, 1, text(store, "50"), 1100, 600, 200, 250, 50, 70 };
	store->links.item[0] = (struct hist_link){ 0, 0, 1, text(store, "HCCS"), 10.5, 21, 1 };
	store->repairs.item[0] = (struct hist_repair){ 0, text(store, "rank:1"), 120 };
	return store;
}

static int64_t add(const char *fingerprint, const char *job, np_ns captured, bool *known)
{
	struct hist_store *entry = make_entry(fingerprint, job, captured);
	struct np_err err = NP_ERR_INIT;
	struct hist_added added;

	assert_ok(hist_store_add(path, entry, &added, &err), err);
	hist_store_free(entry);
	*known = added.known;
	return added.id;
}

static struct hist_store *read_all(void)
{
	struct hist_store *store = NULL;
	struct np_err err = NP_ERR_INIT;

	assert_ok(hist_store_read(path, &store, &err), err);
	return store;
}

static void what_is_put_in_comes_out(void **state)
{
	struct hist_store *store;
	bool known = true;

	(void)state;
	assert_int_equal(add("aa", "job", 7, &known), 1);
	assert_false(known);
	store = read_all();
	assert_int_equal(store->runs.count, 1);
	assert_string_equal(hist_text(store, store->runs.item[0].fingerprint), "aa");
	assert_string_equal(hist_text(store, store->runs.item[0].what), "rank:1");
	assert_null(hist_text(store, store->runs.item[0].dir));
	assert_int_equal(store->runs.item[0].world, NP_UNKNOWN);
	assert_int_equal(store->runs.item[0].rank_count, 2);
	assert_int_equal(store->ranks.item[0].device, 3);
	assert_int_equal(store->ranks.item[0].idle, 50);
	assert_near(store->ranks.item[0].mhz, 1650.5, 0);
	assert_int_equal(store->ranks.item[1].device, -1);
	assert_int_equal(store->ranks.item[1].computing, NP_UNKNOWN);
	assert_true(isnan(store->ranks.item[1].mhz));
	assert_null(hist_text(store, store->ranks.item[1].host));
	assert_string_equal(hist_label_of(store, 0, "commit"), "1f3a");
	assert_null(hist_label_of(store, 0, "branch"));
	assert_int_equal(store->figures.item[0].time, 1007);
	assert_int_equal(store->steps.item[0].length, 1100);
	assert_near(store->links.item[0].peers_gb_s, 21, 0);
	assert_int_equal(store->repairs.item[0].saved, 120);
	hist_store_free(store);
}

static void a_run_is_in_it_once(void **state)
{
	struct hist_store *store;
	struct np_err err = NP_ERR_INIT;
	int64_t id = 0;
	bool known;

	(void)state;
	assert_int_equal(add("aa", "job", 1, &known), 1);
	assert_int_equal(add("bb", "job", 2, &known), 2);
	assert_int_equal(add("aa", "job", 1, &known), 1);
	assert_true(known);
	store = read_all();
	assert_int_equal(store->runs.count, 2);
	assert_int_equal(store->ranks.count, 4);
	hist_store_free(store);
	assert_ok(hist_store_find(path, "bb", &id, &err), err);
	assert_int_equal(id, 2);
	assert_ok(hist_store_find(path, "cc", &id, &err), err);
	assert_int_equal(id, NP_UNKNOWN);
}

static void a_capture_is_in_it_once_whatever_its_files_are(void **state)
{
	struct hist_store *entry = make_entry("cc", "job", 1);
	struct hist_store *store;
	struct np_err err = NP_ERR_INIT;
	struct hist_added added;
	bool known;

	(void)state;
	assert_int_equal(add("aa", "job", 1, &known), 1);
	assert_int_equal(add("bb", "job", 1, &known), 1);
	assert_true(known);
	/* Another job, or another time, is another run. */
	assert_int_equal(add("bb", "other", 1, &known), 2);
	assert_int_equal(add("bc", "job", 1 + INT64_C(60000000000), &known), 3);
	/* A rank that was slower is of another run, as simulated runs begin at one time. */
	entry->ranks.item[0].step++;
	assert_ok(hist_store_add(path, entry, &added, &err), err);
	assert_int_equal(added.id, 4);
	assert_int_equal(added.replaces, NP_UNKNOWN);
	hist_store_free(entry);
	store = read_all();
	assert_int_equal(store->runs.count, 4);
	hist_store_free(store);
}

static void a_run_takes_the_place_of_what_lacked_some_of_its_ranks(void **state)
{
	struct hist_store *entry = make_entry("part", "job", 1);
	struct hist_store *store;
	struct np_err err = NP_ERR_INIT;
	struct hist_added added;
	bool known;

	(void)state;
	entry->ranks.count = 1;
	entry->labels.item[0].name = text(entry, "branch");
	assert_ok(hist_store_add(path, entry, &added, &err), err);
	assert_int_equal(added.id, 1);
	hist_store_free(entry);
	entry = make_entry("whole", "job", 1);
	assert_ok(hist_store_add(path, entry, &added, &err), err);
	assert_int_equal(added.id, 2);
	assert_false(added.known);
	assert_int_equal(added.replaces, 1);
	hist_store_free(entry);
	store = read_all();
	assert_int_equal(store->runs.count, 1);
	assert_int_equal(store->ranks.count, 2);
	assert_int_equal(store->figures.count, 1);
	assert_string_equal(hist_label_of(store, 0, "commit"), "1f3a");
	assert_string_equal(hist_label_of(store, 0, "branch"), "1f3a");
	hist_store_free(store);
	/* And not the other way round. */
	entry = make_entry("part", "job", 1);
	entry->ranks.count = 1;
	assert_ok(hist_store_add(path, entry, &added, &err), err);
	assert_int_equal(added.id, 2);
	assert_true(added.known);
	hist_store_free(entry);
	assert_int_equal(add("whole", "job", 1, &known), 2);
}

static void what_is_said_of_a_run_can_be_changed(void **state)
{
	const char *const labels[] = { "commit=it's", "who='); DROP TABLE RUN; --" };
	const int64_t gone[] = { 1, 3 };
	struct hist_store *store;
	struct np_err err = NP_ERR_INIT;
	bool known;

	(void)state;
	for (int i = 1; i <= 3; i++) {
		char name[8];

		(void)snprintf(name, sizeof(name), "%d", i);
		(void)add(name, "job", i, &known);
	}
	assert_ok(hist_store_rename(path, 2, "o'job", labels, 2, &err), err);
	assert_ok(hist_store_rename(path, 3, NULL, NULL, 0, &err), err);
	store = read_all();
	assert_int_equal(store->runs.count, 3);
	assert_string_equal(hist_text(store, store->runs.item[1].job), "o'job");
	assert_string_equal(hist_label_of(store, 1, "commit"), "it's");
	assert_string_equal(hist_label_of(store, 1, "who"), "'); DROP TABLE RUN; --");
	assert_string_equal(hist_label_of(store, 0, "commit"), "1f3a");
	assert_int_equal(store->labels.count, 4);
	hist_store_free(store);
	assert_ok(hist_store_remove(path, gone, 2, &err), err);
	assert_int_equal(hist_store_remove(path, gone, 2, &err), NP_E_USAGE);
	assert_non_null(strstr(err.text, "has no run 1"));
	store = read_all();
	assert_int_equal(store->runs.count, 1);
	assert_int_equal(store->runs.item[0].id, 2);
	assert_int_equal(store->ranks.count, 2);
	hist_store_free(store);
}

static void runs_are_in_the_order_of_their_time(void **state)
{
	struct hist_store *store;
	bool known;

	(void)state;
	(void)add("late", "job", 30, &known);
	(void)add("early", "job", 10, &known);
	(void)add("middle", "job", 20, &known);
	store = read_all();
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(store->runs.item[i].captured, 10 * (i + 1));
		/* What belongs to a run is still its own. */
		assert_int_equal(store->figures.item[i].time,
				 1000 + store->runs.item[store->figures.item[i].run].captured);
		assert_int_equal(store->ranks.item[store->runs.item[i].first_rank].run, i);
	}
	hist_store_free(store);
}

static void pruning_keeps_the_newest_of_each_job(void **state)
{
	struct np_err err = NP_ERR_INIT;
	struct hist_store *store;
	int64_t removed = 0;
	char name[16];
	bool known;

	(void)state;
	for (int i = 0; i < 5; i++) {
		(void)snprintf(name, sizeof(name), "a%d", i);
		(void)add(name, "one", i, &known);
	}
	(void)add("b", "two", 0, &known);
	assert_ok(hist_store_prune(path, 2, &removed, &err), err);
	assert_int_equal(removed, 3);
	store = read_all();
	assert_int_equal(store->runs.count, 3);
	assert_int_equal(store->ranks.count, 6);
	assert_int_equal(store->links.count, 3);
	assert_int_equal(store->repairs.count, 3);
	for (size_t i = 0; i < store->runs.count; i++)
		assert_true(store->runs.item[i].captured == 0
				    ? strcmp(hist_text(store, store->runs.item[i].job), "two") == 0
				    : store->runs.item[i].captured >= 3);
	hist_store_free(store);
}

static void steps_are_kept_of_the_newest_runs_only(void **state)
{
	struct hist_store *store;
	char name[16];
	bool known;

	(void)state;
	for (int i = 0; i < HIST_STEPS_OF_RUNS + 4; i++) {
		(void)snprintf(name, sizeof(name), "%d", i);
		(void)add(name, "job", i, &known);
	}
	store = read_all();
	assert_int_equal(store->runs.count, HIST_STEPS_OF_RUNS + 4);
	assert_int_equal(store->steps.count, HIST_STEPS_OF_RUNS);
	for (size_t i = 0; i < store->steps.count; i++)
		assert_true(store->runs.item[store->steps.item[i].run].captured >= 4);
	hist_store_free(store);
}

static void processes_that_add_at_once_lose_nothing(void **state)
{
	struct hist_store *store;
	pid_t pids[6];

	(void)state;
	for (int i = 0; i < 6; i++) {
		pids[i] = fork();
		assert_true(pids[i] >= 0);
		if (pids[i] == 0) {
			char name[16];
			bool known;

			for (int j = 0; j < 4; j++) {
				(void)snprintf(name, sizeof(name), "%d-%d", i, j);
				(void)add(name, "job", 10 * i + j, &known);
				np_lock_release_all();
			}
			_exit(0);
		}
	}
	for (int i = 0; i < 6; i++) {
		int status = -1;

		assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
		assert_int_equal(status, 0);
	}
	store = read_all();
	assert_int_equal(store->runs.count, 24);
	assert_int_equal(store->ranks.count, 48);
	hist_store_free(store);
}

static void another_database_is_neither_read_nor_written(void **state)
{
	struct np_db_writer *writer = NULL;
	struct hist_store *entry = make_entry("aa", "job", 1);
	struct hist_store *store = NULL;
	struct np_err err = NP_ERR_INIT;
	struct hist_added added;

	(void)state;
	assert_ok(np_db_writer_open(path, &writer, &err), err);
	assert_ok(np_db_writer_exec(writer, "CREATE TABLE RUN(id INTEGER)", &err), err);
	assert_ok(np_db_writer_commit(writer, &err), err);
	assert_int_equal(hist_store_read(path, &store, &err), NP_E_FORMAT);
	assert_int_equal(hist_store_add(path, entry, &added, &err), NP_E_FORMAT);
	assert_non_null(strstr(err.text, "is no history of npuprof"));
	hist_store_free(entry);
}

static void a_store_of_a_newer_version_is_left_alone(void **state)
{
	struct np_db_writer *writer = NULL;
	struct hist_store *store = NULL;
	struct np_err err = NP_ERR_INIT;

	(void)state;
	assert_ok(np_db_writer_open(path, &writer, &err), err);
	assert_ok(np_db_writer_exec(writer,
				    "CREATE TABLE NPUPROF_HISTORY(format INTEGER);"
				    "INSERT INTO NPUPROF_HISTORY VALUES(4)",
				    &err),
		  err);
	assert_ok(np_db_writer_commit(writer, &err), err);
	assert_int_equal(hist_store_read(path, &store, &err), NP_E_FORMAT);
	assert_non_null(strstr(err.text, "newer version"));
}

static int64_t add_window(const char *fingerprint, const char *name, int64_t replaces, int64_t keep)
{
	struct hist_store *entry = make_entry(fingerprint, "job", replaces == NP_UNKNOWN ? 1 : 2);
	const struct hist_arrival arrival = { .name = name, .replaces = replaces, .keep = keep };
	struct np_err err = NP_ERR_INIT;
	struct hist_added added;

	assert_ok(hist_store_add_window(path, entry, &arrival, &added, &err), err);
	hist_store_free(entry);
	return added.id;
}

static void windows_stay_known_when_their_runs_are_removed(void **state)
{
	struct hist_store *store;
	bool known;

	(void)state;
	assert_int_equal(add("run", "job", 9, &known), 1);
	assert_int_equal(add_window("a1", "a", NP_UNKNOWN, 2), 2);
	assert_int_equal(add_window("b1", "b", NP_UNKNOWN, 2), 3);
	/* More of b has arrived. */
	assert_int_equal(add_window("b2", "b", 3, 2), 4);
	/* All are as old: the one that was added first goes; a run that is no window stays. */
	assert_int_equal(add_window("c1", "c", NP_UNKNOWN, 2), 5);
	store = read_all();
	assert_int_equal(store->runs.count, 3);
	assert_int_equal(store->windows.count, 3);
	assert_string_equal(hist_text(store, store->windows.item[0].name), "a");
	assert_string_equal(hist_text(store, store->windows.item[1].fingerprint), "b2");
	assert_int_equal(store->windows.item[1].run, 4);
	hist_store_free(store);
	/* Numbers of windows are not used again. */
	assert_int_equal(add_window("d1", "d", NP_UNKNOWN, 1), 6);
	assert_int_equal(add_window("e1", "e", NP_UNKNOWN, 1), 7);
}

/* What an older version would have left. */
static void change_store(const char *sql)
{
	struct np_db_writer *writer = NULL;
	struct np_db *db = NULL;
	struct np_err err = NP_ERR_INIT;

	assert_ok(np_db_open(path, &db, &err), err);
	assert_ok(np_db_writer_open_copy(db, path, &writer, &err), err);
	assert_ok(np_db_writer_exec(writer, sql, &err), err);
	assert_ok(np_db_writer_commit(writer, &err), err);
	np_db_close(db);
}

/* What 0.2.0 wrote first: no table of trust, none of windows, fewer columns of steps. */
static void a_store_of_an_older_version_is_read_and_grows(void **state)
{
	struct hist_store *store;
	bool known;

	(void)state;
	(void)add_window("a1", "w", NP_UNKNOWN, 0);
	change_store("UPDATE NPUPROF_HISTORY SET format = 1; DROP TABLE TRUST;"
		     "DROP TABLE WATCHED; DROP TABLE STEP;"
		     "CREATE TABLE STEP(run INTEGER, rank INTEGER, step TEXT,"
		     " length_ns INTEGER, computing_ns INTEGER);"
		     "INSERT INTO STEP VALUES(1, 0, '7', 100, 60);"
		     "INSERT INTO LABEL VALUES(1, 'window', 'w')");
	for (int64_t runs = 1; runs <= 2; runs++) {
		store = read_all();
		assert_int_equal(store->runs.count, runs);
		assert_int_equal(store->windows.count, 1);
		assert_string_equal(hist_text(store, store->windows.item[0].name), "w");
		assert_int_equal(store->steps.item[0].computing, 60);
		assert_int_equal(store->steps.item[0].wait, NP_UNKNOWN);
		hist_store_free(store);
		if (runs == 1)
			assert_int_equal(add("b1", "job", 9, &known), 2);
	}
	store = read_all();
	assert_int_equal(store->steps.item[1].idle, 50);
	assert_int_equal(store->steps.item[1].blame, 70);
	hist_store_free(store);
}

/* The second one knew nothing of charges of iterations, and has windows already. */
static void a_store_of_the_version_before_grows(void **state)
{
	struct hist_store *store;
	bool known;

	(void)state;
	(void)add_window("a1", "w", NP_UNKNOWN, 0);
	change_store("UPDATE NPUPROF_HISTORY SET format = 2; DROP TABLE STEP;"
		     "CREATE TABLE STEP(run INTEGER, rank INTEGER, step TEXT,"
		     " length_ns INTEGER, computing_ns INTEGER, wait_ns INTEGER,"
		     " transfer_ns INTEGER, idle_ns INTEGER);"
		     "INSERT INTO STEP VALUES(1, 0, '7', 100, 60, 20, 15, 5)");
	for (int runs = 1; runs <= 2; runs++) {
		store = read_all();
		assert_int_equal(store->windows.count, 1);
		assert_int_equal(store->steps.count, runs);
		assert_int_equal(store->steps.item[0].blame, NP_UNKNOWN);
		assert_int_equal(store->steps.item[runs - 1].blame, runs == 1 ? NP_UNKNOWN : 70);
		hist_store_free(store);
		if (runs == 1)
			assert_int_equal(add("b1", "job", 9, &known), 2);
	}
}

/* Declared by somebody else, columns may hold nothing. */
static void what_has_no_name_is_left_out(void **state)
{
	struct np_db_writer *writer = NULL;
	struct np_db *db = NULL;
	struct hist_store *store;
	struct np_err err = NP_ERR_INIT;
	bool known;

	(void)state;
	(void)add("aa", "job", 1, &known);
	assert_ok(np_db_open(path, &db, &err), err);
	assert_ok(np_db_writer_open_copy(db, path, &writer, &err), err);
	assert_ok(np_db_writer_exec(writer,
				    "DROP TABLE LABEL; CREATE TABLE LABEL(run, name, value);"
				    "INSERT INTO LABEL VALUES(1, NULL, 'x'), (1, 'a', NULL);"
				    "DROP TABLE WATCHED;"
				    "CREATE TABLE WATCHED(job, name, fingerprint, run);"
				    "INSERT INTO WATCHED VALUES(NULL, NULL, NULL, NULL)",
				    &err),
		  err);
	assert_ok(np_db_writer_commit(writer, &err), err);
	np_db_close(db);
	store = read_all();
	assert_int_equal(store->labels.count, 1);
	assert_int_equal(store->windows.count, 0);
	assert_null(hist_label_of(store, 0, "a"));
	hist_store_free(store);
}

static void a_damaged_store_is_refused_and_kept(void **state)
{
	struct hist_store *entry = make_entry("bb", "job", 2);
	struct np_err err = NP_ERR_INIT;
	struct stat before;
	struct stat after;
	struct hist_added added;
	bool known;

	(void)state;
	(void)add("aa", "job", 1, &known);
	assert_int_equal(truncate(path, 5000), 0);
	assert_int_equal(stat(path, &before), 0);
	assert_int_equal(hist_store_add(path, entry, &added, &err), NP_E_FORMAT);
	assert_int_equal(stat(path, &after), 0);
	assert_int_equal(before.st_size, after.st_size);
	assert_int_equal(before.st_ino, after.st_ino);
	hist_store_free(entry);
}

static void figures_of_ranks_and_hosts_are_series_too(void **state)
{
	struct hist_selection selection = { 0 };
	struct hist_series series = { 0 };
	struct np_err err = NP_ERR_INIT;
	struct hist_store *store;
	bool known;

	(void)state;
	(void)add("aa", "job", 1, &known);
	(void)add("bb", "job", 2, &known);
	(void)add("cc", "other", 0, &known);
	store = read_all();
	assert_ok(hist_select(store, &(struct hist_choice){ 0 }, &selection, &err), err);
	assert_string_equal(selection.job, "job");
	assert_int_equal(selection.runs.count, 2);
	assert_ok(hist_series_make(store, &selection, "step", &series, &err), err);
	assert_int_equal(series.list.item[1].time, 1002);
	hist_series_release(&series);
	assert_ok(hist_series_make(store, &selection, "rank:1", &series, &err), err);
	assert_int_equal(series.list.item[0].time, 1200);
	hist_series_release(&series);
	assert_ok(hist_series_make(store, &selection, "host:node-0/own", &series, &err), err);
	assert_int_equal(series.list.item[0].time, 750);
	hist_series_release(&series);
	/* Unknown on this rank, so that no run has it. */
	assert_int_equal(hist_series_make(store, &selection, "rank:1/idle", &series, &err),
			 NP_E_USAGE);
	assert_int_equal(hist_series_make(store, &selection, "nonsense", &series, &err),
			 NP_E_USAGE);
	hist_selection_release(&selection);
	assert_int_equal(
		hist_select(store, &(struct hist_choice){ .job = "none" }, &selection, &err),
		NP_E_NOTFOUND);
	assert_non_null(strstr(err.text, "job, other") ? "" : strstr(err.text, "other, job"));
	hist_store_free(store);
}

/* A run of 16 ranks of which `ranks` were used. */
static void add_sized(int64_t world, int64_t ranks, np_ns captured)
{
	char name[16];
	struct hist_store *entry;
	struct np_err err = NP_ERR_INIT;
	struct hist_added added;

	(void)snprintf(name, sizeof(name), "%d", (int)captured);
	entry = make_entry(name, "job", captured);
	entry->runs.item[0].world = world;
	entry->runs.item[0].ranks = ranks;
	assert_ok(hist_store_add(path, entry, &added, &err), err);
	hist_store_free(entry);
}

static void a_run_that_lacks_a_rank_is_of_the_same_size(void **state)
{
	static const struct {
		int64_t world;
		int64_t ranks;
	} runs[] = { { 16, 16 },         { 16, 15 }, { 16, 8 },          { 32, 16 },
		     { NP_UNKNOWN, 15 }, { 16, 16 }, { NP_UNKNOWN, 16 }, { 16, 15 } };
	struct hist_selection selection = { 0 };
	struct np_err err = NP_ERR_INIT;
	struct hist_store *store;

	(void)state;
	for (size_t i = 0; i < NP_COUNT(runs); i++)
		add_sized(runs[i].world, runs[i].ranks, (np_ns)i + 1);
	store = read_all();
	/* Like the newest, which lacks a rank: those without one, and those as many of which are
	 * known though their job is not. */
	assert_ok(hist_select(store, &(struct hist_choice){ 0 }, &selection, &err), err);
	assert_int_equal(selection.runs.count, 5);
	assert_int_equal(selection.others, 3);
	assert_int_equal(selection.ranks, 15);
	hist_selection_release(&selection);
	assert_ok(hist_select(store, &(struct hist_choice){ .like = &store->runs.item[3] },
			      &selection, &err),
		  err);
	assert_int_equal(selection.runs.count, 2);
	hist_selection_release(&selection);
	hist_store_free(store);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(what_is_put_in_comes_out, make_dir, remove_dir),
		cmocka_unit_test_setup_teardown(a_run_is_in_it_once, make_dir, remove_dir),
		cmocka_unit_test_setup_teardown(a_capture_is_in_it_once_whatever_its_files_are,
						make_dir, remove_dir),
		cmocka_unit_test_setup_teardown(
			a_run_takes_the_place_of_what_lacked_some_of_its_ranks, make_dir,
			remove_dir),
		cmocka_unit_test_setup_teardown(what_is_said_of_a_run_can_be_changed, make_dir,
						remove_dir),
		cmocka_unit_test_setup_teardown(a_run_that_lacks_a_rank_is_of_the_same_size,
						make_dir, remove_dir),
		cmocka_unit_test_setup_teardown(runs_are_in_the_order_of_their_time, make_dir,
						remove_dir),
		cmocka_unit_test_setup_teardown(pruning_keeps_the_newest_of_each_job, make_dir,
						remove_dir),
		cmocka_unit_test_setup_teardown(steps_are_kept_of_the_newest_runs_only, make_dir,
						remove_dir),
		cmocka_unit_test_setup_teardown(processes_that_add_at_once_lose_nothing, make_dir,
						remove_dir),
		cmocka_unit_test_setup_teardown(another_database_is_neither_read_nor_written,
						make_dir, remove_dir),
		cmocka_unit_test_setup_teardown(a_store_of_a_newer_version_is_left_alone, make_dir,
						remove_dir),
		cmocka_unit_test_setup_teardown(windows_stay_known_when_their_runs_are_removed,
						make_dir, remove_dir),
		cmocka_unit_test_setup_teardown(a_store_of_an_older_version_is_read_and_grows,
						make_dir, remove_dir),
		cmocka_unit_test_setup_teardown(a_store_of_the_version_before_grows, make_dir,
						remove_dir),
		cmocka_unit_test_setup_teardown(what_has_no_name_is_left_out, make_dir, remove_dir),
		cmocka_unit_test_setup_teardown(a_damaged_store_is_refused_and_kept, make_dir,
						remove_dir),
		cmocka_unit_test_setup_teardown(figures_of_ranks_and_hosts_are_series_too, make_dir,
						remove_dir),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
