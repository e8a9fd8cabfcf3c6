/* SPDX-License-Identifier: Apache-2.0 */
#include "npuprof/db.h"

#include <sys/wait.h>

#include "np_fixture.h"
#include "np_random.h"

#include "npuprof/scan.h"

/* --- helpers ---------------------------------------------------------------------------------- */

static const struct np_scan_column one_column[] = { { "a", NP_SCAN_INTEGER, NP_REQUIRED } };

/* Number of rows of table t. */
static size_t count_rows(struct np_db *db)
{
	NP_CLEANUP(np_scan_closep) struct np_scan *scan = NULL;
	struct np_err err = NP_ERR_INIT;
	struct np_batch batch = { 0 };
	size_t rows = 0;

	assert_ok(np_scan_open(db, "t", one_column, 1, &scan, &err), err);
	do {
		assert_ok(np_scan_next(scan, &batch, &err), err);
		rows += batch.rows;
	} while (batch.rows > 0);
	return rows;
}

/* Table t with column a from 1 to `rows`. */
static void make_table(const char *path, size_t rows)
{
	char sql[256];

	(void)snprintf(sql, sizeof(sql),
		       "CREATE TABLE t(a INTEGER); WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL"
		       " SELECT i + 1 FROM n WHERE i < %zu) INSERT INTO t SELECT i FROM n",
		       rows);
	run_sql(path, sql);
}

static void assert_refused(const char *path, enum np_code code, const char *words)
{
	struct np_err err = NP_ERR_INIT;
	struct np_db *db = NULL;

	assert_int_equal(np_db_open(path, &db, &err), code);
	assert_null(db);
	assert_int_equal(err.code, code);
	assert_one_line(&err);
	assert_holds(err.text, path);
	assert_holds(err.text, words);
}

/* Copy a database and its sidecars while a connection holds them, as a crash would leave them. */
static void copy_file(const char *from, const char *to)
{
	size_t length;
	char *bytes = read_bytes(from, &length);

	write_bytes(to, bytes, length);
	free(bytes);
}

static void copy_with(const char *suffix, const char *from, const char *to)
{
	char names[2][4096];

	copy_file(from, to);
	(void)snprintf(names[0], sizeof(names[0]), "%s%s", from, suffix);
	(void)snprintf(names[1], sizeof(names[1]), "%s%s", to, suffix);
	copy_file(names[0], names[1]);
}

/* --- what is no database ---------------------------------------------------------------------- */

static void a_missing_file_is_not_found(void **state)
{
	(void)state;
	assert_refused(below("none.db"), NP_E_NOTFOUND, "No such file");
}

static void a_file_of_zero_bytes_is_not_found(void **state)
{
	(void)state;
	write_text(below("empty.db"), "");
	assert_refused(below("empty.db"), NP_E_NOTFOUND, "0 bytes");
}

static void fifty_bytes_are_no_database(void **state)
{
	size_t length;
	char *bytes;

	(void)state;
	make_table(below("whole.db"), 10);
	bytes = read_bytes(below("whole.db"), &length);
	write_bytes(below("short.db"), bytes, 50);
	free(bytes);
	assert_refused(below("short.db"), NP_E_FORMAT, "");
}

static void random_bytes_are_no_database(void **state)
{
	uint64_t random = 5;
	uint64_t bytes[1000];

	(void)state;
	for (size_t i = 0; i < NP_COUNT(bytes); i++)
		bytes[i] = np_random(&random);
	write_bytes(below("random.db"), bytes, sizeof(bytes));
	assert_refused(below("random.db"), NP_E_FORMAT, "not an SQLite database");
}

static void text_is_no_database(void **state)
{
	(void)state;
	write_text(below("text.db"), "version https://git-lfs.github.com/spec/v1\n");
	assert_refused(below("text.db"), NP_E_FORMAT, "");
}

static void a_database_cut_anywhere_is_refused_or_damaged_but_never_silently_short(void **state)
{
	size_t length;
	char *bytes;

	(void)state;
	make_table(below("whole.db"), 3000);
	bytes = read_bytes(below("whole.db"), &length);
	for (size_t cut = 1; cut < length; cut += cut < 5000 ? 97 : 1777) {
		struct np_err err = NP_ERR_INIT;
		struct np_db *db = NULL;

		write_bytes(below("cut.db"), bytes, cut);
		assert_int_equal(np_db_open(below("cut.db"), &db, &err), NP_E_FORMAT);
		assert_holds(err.text, "cut.db");
	}
	free(bytes);
}

static void a_directory_is_no_database(void **state)
{
	(void)state;
	make_dirs(below("dir.db"));
	assert_refused(below("dir.db"), NP_E_FORMAT, "not a file");
}

static void a_path_through_a_file_is_an_error_that_names_it(void **state)
{
	(void)state;
	write_text(below("file"), "x");
	assert_refused(below("file/x.db"), NP_E_IO, "Not a directory");
}

static void a_link_to_nothing_is_not_found(void **state)
{
	(void)state;
	assert_int_equal(symlink("gone.db", below("link.db")), 0);
	assert_refused(below("link.db"), NP_E_NOTFOUND, "No such file");
}

static void a_failed_open_leaves_no_copy_behind(void **state)
{
	(void)state;
	make_dirs(below("tmp"));
	assert_int_equal(setenv("TMPDIR", below("tmp"), 1), 0);
	write_text(below("text.db"), "this is not a database, and long enough to have a header. "
				     "this is not a database, and long enough to have a header.");
	write_text(below("text.db-wal"), "nor is this its log");
	assert_refused(below("text.db"), NP_E_FORMAT, "not an SQLite database");
	assert_int_equal(entries_in(below("tmp")), 0);
	assert_int_equal(unsetenv("TMPDIR"), 0);
}

static void failure_without_a_description_is_allowed(void **state)
{
	struct np_db *db = NULL;

	(void)state;
	assert_int_equal(np_db_open(below("none.db"), &db, NULL), NP_E_NOTFOUND);
}

/* --- reading without a trace ------------------------------------------------------------------ */

static void a_plain_database_is_read_and_left_alone(void **state)
{
	struct np_err err = NP_ERR_INIT;
	struct np_db *db = NULL;
	char *before;

	(void)state;
	make_table(below("d/x.db"), 1000);
	before = snapshot(below("d"));
	assert_ok(np_db_open(below("d/x.db"), &db, &err), err);
	assert_int_equal(count_rows(db), 1000);
	assert_string_equal(np_db_path(db), below("d/x.db"));
	assert_false(np_db_had_sidecar(db));
	np_db_close(db);
	assert_untouched(below("d"), before);
}

/* formats §5 #17: mode=ro would create -shm and -wal here. */
static void a_wal_flag_without_a_log_makes_no_sidecar_appear(void **state)
{
	struct np_err err = NP_ERR_INIT;
	struct np_db *db = NULL;
	char *before;
	char *during;

	(void)state;
	make_table(below("d/x.db"), 1000);
	run_sql(below("d/x.db"), "PRAGMA journal_mode=WAL; INSERT INTO t VALUES(0)");
	assert_int_equal(entries_in(below("d")), 1);
	before = snapshot(below("d"));
	assert_ok(np_db_open(below("d/x.db"), &db, &err), err);
	assert_int_equal(count_rows(db), 1001);
	assert_false(np_db_had_sidecar(db));
	during = snapshot(below("d"));
	assert_string_equal(during, before);
	free(during);
	np_db_close(db);
	assert_untouched(below("d"), before);
}

static void empty_sidecars_do_not_count(void **state)
{
	struct np_err err = NP_ERR_INIT;
	struct np_db *db = NULL;
	char *before;

	(void)state;
	make_table(below("d/x.db"), 10);
	write_text(below("d/x.db-wal"), "");
	write_text(below("d/x.db-journal"), "");
	before = snapshot(below("d"));
	assert_ok(np_db_open(below("d/x.db"), &db, &err), err);
	assert_int_equal(count_rows(db), 10);
	assert_false(np_db_had_sidecar(db));
	np_db_close(db);
	assert_untouched(below("d"), before);
}

/* A database with 1000 rows in its log and none in the main file (formats §5 #18). */
static void make_unmerged(const char *path)
{
	sqlite3 *writer = open_sqlite(below("busy.db"));

	run_sql_on(writer, "PRAGMA journal_mode=WAL; PRAGMA wal_autocheckpoint=0;"
			   "CREATE TABLE t(a INTEGER); PRAGMA wal_checkpoint(TRUNCATE);"
			   "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n"
			   " WHERE i < 1000) INSERT INTO t SELECT i FROM n");
	copy_with("-wal", below("busy.db"), path);
	assert_int_equal(sqlite3_close(writer), SQLITE_OK);
}

static void rows_still_in_the_log_are_read(void **state)
{
	struct np_err err = NP_ERR_INIT;
	struct np_db *db = NULL;
	char *before;

	(void)state;
	make_unmerged(below("d/x.db"));
	before = snapshot(below("d"));
	assert_ok(np_db_open(below("d/x.db"), &db, &err), err);
	assert_int_equal(count_rows(db), 1000);
	assert_true(np_db_had_sidecar(db));
	assert_string_equal(np_db_path(db), below("d/x.db"));
	np_db_close(db);
	assert_untouched(below("d"), before);
}

static void rows_in_the_log_of_a_main_file_of_zero_bytes_are_read(void **state)
{
	struct np_err err = NP_ERR_INIT;
	struct np_db *db = NULL;
	sqlite3 *writer;

	(void)state;
	writer = open_sqlite(below("busy.db"));
	run_sql_on(writer, "PRAGMA journal_mode=WAL; PRAGMA wal_autocheckpoint=0;"
			   "CREATE TABLE t(a INTEGER); INSERT INTO t VALUES(1), (2)");
	copy_with("-wal", below("busy.db"), below("d/x.db"));
	assert_int_equal(sqlite3_close(writer), SQLITE_OK);
	assert_ok(np_db_open(below("d/x.db"), &db, &err), err);
	assert_int_equal(count_rows(db), 2);
	np_db_close(db);
}

static void a_log_is_read_from_a_directory_that_cannot_be_written(void **state)
{
	struct np_err err = NP_ERR_INIT;
	struct np_db *db = NULL;
	uid_t user = geteuid();
	int rc;

	(void)state;
	make_unmerged(below("d/x.db"));
	assert_int_equal(chmod(below("d"), 0555), 0);
	assert_int_equal(chmod(np_fixture_root, 0755), 0);
	/* Root may write everywhere: be somebody else for the moment. */
	if (user == 0)
		assert_int_equal(seteuid(65534), 0);
	rc = np_db_open(below("d/x.db"), &db, &err);
	if (rc == NP_OK)
		assert_int_equal(count_rows(db), 1000);
	np_db_close(db);
	if (user == 0)
		assert_int_equal(seteuid(0), 0);
	assert_ok(rc, err);
	assert_int_equal(entries_in(below("d")), 2);
}

static void a_file_that_may_not_be_read_is_an_error_that_names_it(void **state)
{
	struct np_err err = NP_ERR_INIT;
	struct np_db *db = NULL;
	uid_t user = geteuid();
	int rc;

	(void)state;
	make_table(below("x.db"), 10);
	assert_int_equal(chmod(below("x.db"), 0), 0);
	assert_int_equal(chmod(np_fixture_root, 0755), 0);
	if (user == 0)
		assert_int_equal(seteuid(65534), 0);
	rc = np_db_open(below("x.db"), &db, &err);
	if (user == 0)
		assert_int_equal(seteuid(0), 0);
	assert_int_equal(rc, NP_E_IO);
	assert_holds(err.text, below("x.db"));
	assert_holds(err.text, "Permission denied");
}

static void the_copy_made_for_a_log_is_removed(void **state)
{
	struct np_err err = NP_ERR_INIT;
	struct np_db *db = NULL;

	(void)state;
	make_unmerged(below("d/x.db"));
	make_dirs(below("tmp"));
	assert_int_equal(setenv("TMPDIR", below("tmp"), 1), 0);
	assert_ok(np_db_open(below("d/x.db"), &db, &err), err);
	assert_int_equal(entries_in(below("tmp")), 1);
	np_db_close(db);
	assert_int_equal(entries_in(below("tmp")), 0);
	assert_int_equal(unsetenv("TMPDIR"), 0);
}

static void no_room_for_the_copy_is_an_error_that_says_so(void **state)
{
	struct np_err err = NP_ERR_INIT;
	struct np_db *db = NULL;

	(void)state;
	make_unmerged(below("d/x.db"));
	assert_int_equal(setenv("TMPDIR", below("no/such/place"), 1), 0);
	assert_int_equal(np_db_open(below("d/x.db"), &db, &err), NP_E_IO);
	assert_holds(err.text, "no/such/place");
	assert_int_equal(unsetenv("TMPDIR"), 0);
}

/* A writer that died in the middle: the journal holds what the pages were before. */
static void a_hot_journal_is_rolled_back_in_a_copy(void **state)
{
	struct np_err err = NP_ERR_INIT;
	struct np_db *db = NULL;
	sqlite3 *writer;
	char *before;

	(void)state;
	make_table(below("busy.db"), 1000);
	writer = open_sqlite(below("busy.db"));
	/* A tiny cache forces changed pages into the file before the commit. */
	run_sql_on(writer, "PRAGMA cache_size=1; BEGIN; UPDATE t SET a = -a;"
			   "INSERT INTO t SELECT a FROM t; INSERT INTO t SELECT a FROM t");
	copy_with("-journal", below("busy.db"), below("d/x.db"));
	run_sql_on(writer, "ROLLBACK");
	assert_int_equal(sqlite3_close(writer), SQLITE_OK);
	before = snapshot(below("d"));
	assert_ok(np_db_open(below("d/x.db"), &db, &err), err);
	assert_int_equal(count_rows(db), 1000);
	assert_true(np_db_had_sidecar(db));
	np_db_close(db);
	assert_untouched(below("d"), before);
}

/* --- locks ------------------------------------------------------------------------------------ */

struct holder {
	pid_t child;
	int release; /* closing it lets the child go */
};

/* Another process that runs `sql` and keeps the connection until it is let go. */
static struct holder hold(const char *path, const char *sql)
{
	struct holder holder;
	int ready[2];
	int go[2];
	char byte;

	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	assert_int_equal(pipe2(go, O_CLOEXEC), 0);
	holder.child = fork();
	assert_true(holder.child >= 0);
	if (holder.child == 0) {
		sqlite3 *handle = NULL;

		(void)close(go[1]);
		if (sqlite3_open(path, &handle) != SQLITE_OK ||
		    sqlite3_exec(handle, sql, NULL, NULL, NULL) != SQLITE_OK ||
		    write(ready[1], "r", 1) != 1)
			_exit(1);
		(void)!read(go[0], &byte, 1);
		_exit(0);
	}
	(void)close(ready[1]);
	(void)close(go[0]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	(void)close(ready[0]);
	holder.release = go[1];
	return holder;
}

static void let_go(struct holder holder)
{
	int status;

	(void)close(holder.release);
	assert_int_equal(waitpid(holder.child, &status, 0), holder.child);
	assert_int_equal(status, 0);
}

static void a_database_locked_by_a_writer_is_busy_and_named(void **state)
{
	struct holder holder;

	(void)state;
	make_table(below("x.db"), 10);
	holder = hold(below("x.db"), "BEGIN EXCLUSIVE");
	assert_refused(below("x.db"), NP_E_BUSY, "being written");
	let_go(holder);
}

/* The journal of the writer's transaction is a sidecar with content: no reason to skip the lock. */
static void a_writer_in_the_middle_of_a_transaction_is_busy_too(void **state)
{
	struct holder holder;

	(void)state;
	make_table(below("x.db"), 10);
	holder = hold(below("x.db"), "BEGIN EXCLUSIVE; UPDATE t SET a = -a");
	assert_refused(below("x.db"), NP_E_BUSY, "being written");
	let_go(holder);
}

static void a_writer_that_finishes_in_time_is_waited_for(void **state)
{
	struct np_err err = NP_ERR_INIT;
	struct np_db *db = NULL;
	pid_t child;
	int ready[2];
	char byte;

	(void)state;
	make_table(below("x.db"), 10);
	assert_int_equal(pipe(ready), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		const struct timespec moment = { .tv_nsec = 100 * 1000 * 1000 };
		sqlite3 *handle = NULL;

		if (sqlite3_open(below("x.db"), &handle) != SQLITE_OK ||
		    /* A disk may take longer than a writer is waited for. */
		    sqlite3_exec(handle, "PRAGMA synchronous = OFF; BEGIN EXCLUSIVE", NULL, NULL,
				 NULL) != SQLITE_OK ||
		    write(ready[1], "r", 1) != 1)
			_exit(1);
		(void)nanosleep(&moment, NULL);
		(void)sqlite3_exec(handle, "INSERT INTO t VALUES(11); COMMIT", NULL, NULL, NULL);
		_exit(sqlite3_close(handle) == SQLITE_OK ? 0 : 1);
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	(void)close(ready[0]);
	(void)close(ready[1]);
	assert_ok(np_db_open(below("x.db"), &db, &err), err);
	assert_int_equal(count_rows(db), 11);
	np_db_close(db);
	assert_int_equal(waitpid(child, NULL, 0), child);
}

static void another_reader_is_no_reason_to_wait(void **state)
{
	struct np_err err = NP_ERR_INIT;
	struct np_db *db = NULL;
	struct holder holder;

	(void)state;
	make_table(below("x.db"), 10);
	holder = hold(below("x.db"), "BEGIN; SELECT * FROM t");
	assert_ok(np_db_open(below("x.db"), &db, &err), err);
	assert_int_equal(count_rows(db), 10);
	np_db_close(db);
	let_go(holder);
}

/* --- paths ------------------------------------------------------------------------------------ */

static void paths_with_characters_of_uris_are_opened(void **state)
{
	static const char *const names[] = {
		"100%",     "a%20b",     "what?mode=memory", "#1",       "with space",
		"排名 0 ✓", "a&b=c;d+e", "back\\slash",      "quote'\"", "%41%00",
		"file:x",   "new\nline", "bad\377byte",      "-dash",    ":memory:",
	};

	(void)state;
	for (size_t i = 0; i < NP_COUNT(names); i++) {
		struct np_err err = NP_ERR_INIT;
		struct np_db *db = NULL;

		make_table(below("%s/%s.db", names[i], names[i]), i + 1);
		assert_ok(np_db_open(below("%s/%s.db", names[i], names[i]), &db, &err), err);
		assert_int_equal(count_rows(db), i + 1);
		np_db_close(db);
		assert_int_equal(entries_in(below("%s", names[i])), 1);
	}
}

static void relative_paths_and_doubled_slashes_are_opened(void **state)
{
	static const char *const names[] = { "x.db", "./x.db", ".//x.db", "%?#.db", "a b.db" };
	char *home = getcwd(NULL, 0);

	(void)state;
	assert_non_null(home);
	assert_int_equal(chdir(np_fixture_root), 0);
	for (size_t i = 0; i < NP_COUNT(names); i++) {
		struct np_err err = NP_ERR_INIT;
		struct np_db *db = NULL;

		make_table(below("%s", i < 3 ? "x.db" : names[i]), 3);
		assert_ok(np_db_open(names[i], &db, &err), err);
		assert_int_equal(count_rows(db), 3);
		np_db_close(db);
		assert_int_equal(unlink(below("%s", i < 3 ? "x.db" : names[i])), 0);
	}
	make_table(below("x.db"), 3);
	{
		struct np_err err = NP_ERR_INIT;
		struct np_db *db = NULL;
		char doubled[128];

		(void)snprintf(doubled, sizeof(doubled), "//%s//x.db", np_fixture_root);
		assert_ok(np_db_open(doubled, &db, &err), err);
		assert_int_equal(count_rows(db), 3);
		np_db_close(db);
	}
	assert_int_equal(chdir(home), 0);
	free(home);
}

static void a_log_is_found_beside_a_path_with_characters_of_uris(void **state)
{
	struct np_err err = NP_ERR_INIT;
	struct np_db *db = NULL;

	(void)state;
	make_unmerged(below("50%% #1?/x y.db"));
	assert_ok(np_db_open(below("50%% #1?/x y.db"), &db, &err), err);
	assert_int_equal(count_rows(db), 1000);
	np_db_close(db);
}

static void a_link_to_a_database_is_followed(void **state)
{
	struct np_err err = NP_ERR_INIT;
	struct np_db *db = NULL;

	(void)state;
	make_table(below("real/x.db"), 7);
	make_dirs(below("d"));
	assert_int_equal(symlink("../real/x.db", below("d/y.db")), 0);
	assert_ok(np_db_open(below("d/y.db"), &db, &err), err);
	assert_int_equal(count_rows(db), 7);
	np_db_close(db);
	assert_int_equal(entries_in(below("d")), 1);
}

/* SQLite keeps the log beside the file that the link names, not beside the link. */
static void a_log_beside_the_target_of_a_link_is_found(void **state)
{
	struct np_err err = NP_ERR_INIT;
	struct np_db *db = NULL;

	(void)state;
	make_unmerged(below("real/x.db"));
	make_dirs(below("d"));
	assert_int_equal(symlink("../real/x.db", below("d/y.db")), 0);
	assert_ok(np_db_open(below("d/y.db"), &db, &err), err);
	assert_int_equal(count_rows(db), 1000);
	assert_true(np_db_had_sidecar(db));
	assert_string_equal(np_db_path(db), below("d/y.db"));
	np_db_close(db);
}

/* --- tables ----------------------------------------------------------------------------------- */

static void tables_and_views_are_found_by_name(void **state)
{
	struct np_err err = NP_ERR_INIT;
	struct np_db *db = NULL;

	(void)state;
	run_sql(below("x.db"), "CREATE TABLE TASK(startNs INTEGER, \"odd name\" TEXT);"
			       "CREATE VIEW seen AS SELECT startNs FROM TASK;"
			       "CREATE INDEX i ON TASK(startNs)");
	assert_ok(np_db_open(below("x.db"), &db, &err), err);
	assert_true(np_db_has_table(db, "TASK"));
	assert_true(np_db_has_table(db, "seen"));
	assert_false(np_db_has_table(db, "i"));
	assert_false(np_db_has_table(db, "TASK'--"));
	assert_int_equal(np_db_table_count(db), 1);
	np_db_close(db);
}

/* formats §5 #4: only sqlite_sequence is left. */
static void a_database_with_every_table_dropped_has_none(void **state)
{
	struct np_err err = NP_ERR_INIT;
	struct np_db *db = NULL;

	(void)state;
	make_table(below("x.db"), 20000);
	run_sql(below("x.db"), "CREATE TABLE u(id INTEGER PRIMARY KEY AUTOINCREMENT);"
			       "INSERT INTO u DEFAULT VALUES; DROP TABLE u; DROP TABLE t");
	assert_true(ask_sql(below("x.db"), "PRAGMA freelist_count") > 30);
	assert_ok(np_db_open(below("x.db"), &db, &err), err);
	assert_int_equal(np_db_table_count(db), 0);
	assert_false(np_db_has_table(db, "t"));
	np_db_close(db);
}

static void closing_nothing_is_allowed(void **state)
{
	struct np_db *db = NULL;

	(void)state;
	np_db_close(NULL);
	np_db_closep(&db);
}

static void a_good_database_passes_the_check(void **state)
{
	NP_CLEANUP(np_db_closep) struct np_db *db = NULL;
	struct np_err err = NP_ERR_INIT;

	(void)state;
	make_table(below("x.db"), 5000);
	assert_ok(np_db_open(below("x.db"), &db, &err), err);
	assert_ok(np_db_check(db, &err), err);
}

/* The last page holds rows of t that nobody has asked for yet. */
static void damage_far_behind_is_found_by_the_check(void **state)
{
	NP_CLEANUP(np_db_closep) struct np_db *db = NULL;
	struct np_err err = NP_ERR_INIT;
	size_t length;
	char *bytes;

	(void)state;
	make_table(below("x.db"), 5000);
	bytes = read_bytes(below("x.db"), &length);
	memset(bytes + length - 4096, 0x5a, 4096);
	write_bytes(below("x.db"), bytes, length);
	free(bytes);
	assert_ok(np_db_open(below("x.db"), &db, &err), err);
	assert_int_equal(np_db_check(db, &err), NP_E_FORMAT);
	assert_one_line(&err);
	assert_holds(err.text, below("x.db"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_fixture(a_missing_file_is_not_found),
		with_fixture(a_file_of_zero_bytes_is_not_found),
		with_fixture(fifty_bytes_are_no_database),
		with_fixture(random_bytes_are_no_database),
		with_fixture(text_is_no_database),
		with_fixture(
			a_database_cut_anywhere_is_refused_or_damaged_but_never_silently_short),
		with_fixture(a_directory_is_no_database),
		with_fixture(a_path_through_a_file_is_an_error_that_names_it),
		with_fixture(a_link_to_nothing_is_not_found),
		with_fixture(a_failed_open_leaves_no_copy_behind),
		with_fixture(failure_without_a_description_is_allowed),
		with_fixture(a_plain_database_is_read_and_left_alone),
		with_fixture(a_wal_flag_without_a_log_makes_no_sidecar_appear),
		with_fixture(empty_sidecars_do_not_count),
		with_fixture(rows_still_in_the_log_are_read),
		with_fixture(rows_in_the_log_of_a_main_file_of_zero_bytes_are_read),
		with_fixture(a_log_is_read_from_a_directory_that_cannot_be_written),
		with_fixture(a_file_that_may_not_be_read_is_an_error_that_names_it),
		with_fixture(the_copy_made_for_a_log_is_removed),
		with_fixture(no_room_for_the_copy_is_an_error_that_says_so),
		with_fixture(a_hot_journal_is_rolled_back_in_a_copy),
		with_fixture(a_database_locked_by_a_writer_is_busy_and_named),
		with_fixture(a_writer_in_the_middle_of_a_transaction_is_busy_too),
		with_fixture(a_writer_that_finishes_in_time_is_waited_for),
		with_fixture(another_reader_is_no_reason_to_wait),
		with_fixture(paths_with_characters_of_uris_are_opened),
		with_fixture(relative_paths_and_doubled_slashes_are_opened),
		with_fixture(a_log_is_found_beside_a_path_with_characters_of_uris),
		with_fixture(a_link_to_a_database_is_followed),
		with_fixture(a_log_beside_the_target_of_a_link_is_found),
		with_fixture(tables_and_views_are_found_by_name),
		with_fixture(a_database_with_every_table_dropped_has_none),
		with_fixture(closing_nothing_is_allowed),
		with_fixture(a_good_database_passes_the_check),
		with_fixture(damage_far_behind_is_found_by_the_check),
	};

	return cmocka_run_group_tests_name("db", tests, NULL, NULL);
}
