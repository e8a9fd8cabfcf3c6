/* SPDX-License-Identifier: Apache-2.0 */
#include "npuprof/db.h"
#include "npuprof/temporary.h"

#include "np_fault.h"
#include "np_fixture.h"

#include "npuprof/scan.h"

/* --- a relation of every type ----------------------------------------------------------------- */

static const struct np_column columns[] = {
	{ "index", NP_INTEGER },
	{ "real", NP_REAL },
	{ "text", NP_TEXT },
	{ "number", NP_NUMERIC },
};

static int produce(const void *model, struct np_sink *sink, struct np_err *err)
{
	const size_t *rows = model;

	for (size_t i = 0; i < *rows; i++) {
		const struct np_cell cells[] = { np_cell_integer((int64_t)i), np_cell_real(2.0),
						 np_cell_text("50"), np_cell_real(2.0) };
		int rc = np_sink_row(sink, cells, err);

		if (rc < 0)
			return rc;
	}
	return NP_OK;
}

static const struct np_relation relation = {
	.name = "Table", .columns = columns, .column_count = NP_COUNT(columns), .produce = produce
};

static struct np_db_writer *open_writer(const char *path)
{
	struct np_db_writer *writer = NULL;
	struct np_err err = NP_ERR_INIT;

	assert_ok(np_db_writer_open(path, &writer, &err), err);
	return writer;
}

static void write_rows(struct np_db_writer *writer, size_t rows)
{
	struct np_err err = NP_ERR_INIT;

	assert_ok(np_relation_write(&relation, &rows, np_db_writer_sink(writer), &err), err);
}

static void assert_text(const char *path, const char *sql, const char *expected)
{
	sqlite3_stmt *statement = NULL;
	sqlite3 *handle = open_sqlite(path);

	assert_int_equal(sqlite3_prepare_v2(handle, sql, -1, &statement, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
	assert_string_equal((const char *)sqlite3_column_text(statement, 0), expected);
	(void)sqlite3_finalize(statement);
	assert_int_equal(sqlite3_close(handle), SQLITE_OK);
}

/* --- tests ------------------------------------------------------------------------------------ */

static void rows_are_there_after_commit_and_nothing_else_is(void **state)
{
	struct np_err err = NP_ERR_INIT;
	struct np_db_writer *writer;

	(void)state;
	writer = open_writer(below("x.db"));
	write_rows(writer, 1000);
	assert_ok(np_db_writer_commit(writer, &err), err);
	assert_int_equal(ask_sql(below("x.db"), "SELECT count(*) FROM \"Table\""), 1000);
	assert_int_equal(entries_in(np_fixture_root), 1);
}

static void columns_are_declared_with_their_types(void **state)
{
	struct np_err err = NP_ERR_INIT;
	struct np_db_writer *writer;

	(void)state;
	writer = open_writer(below("x.db"));
	write_rows(writer, 1);
	assert_ok(np_db_writer_commit(writer, &err), err);
	assert_text(below("x.db"),
		    "SELECT group_concat(name || ' ' || type, ',') FROM pragma_table_info('Table')",
		    "index INTEGER,real REAL,text TEXT,number NUMERIC");
}

/* With a NUMERIC column SQLite stores 2.0 as 2; with a REAL one it stays a real. */
static void values_are_stored_as_their_columns_say(void **state)
{
	struct np_err err = NP_ERR_INIT;
	struct np_db_writer *writer;

	(void)state;
	writer = open_writer(below("x.db"));
	write_rows(writer, 1);
	assert_ok(np_db_writer_commit(writer, &err), err);
	assert_text(below("x.db"),
		    "SELECT typeof(\"index\") || ',' || typeof(real) || ',' || typeof(text) || ','"
		    " || typeof(number) FROM \"Table\"",
		    "integer,real,text,integer");
}

static void unknown_values_are_null(void **state)
{
	const struct np_cell cells[] = { np_cell_integer(NP_UNKNOWN), np_cell_real((double)NAN),
					 np_cell_text(NULL), np_cell_null() };
	struct np_db_insert *insert = NULL;
	struct np_err err = NP_ERR_INIT;
	struct np_db_writer *writer;

	(void)state;
	writer = open_writer(below("x.db"));
	assert_ok(np_db_writer_exec(writer, "CREATE TABLE t(a, b, c, d)", &err), err);
	assert_ok(np_db_insert_begin(writer, "t", 4, &insert, &err), err);
	assert_ok(np_db_insert_row(insert, cells, &err), err);
	assert_ok(np_db_writer_commit(writer, &err), err);
	assert_int_equal(
		ask_sql(below("x.db"),
			"SELECT count(*) FROM t WHERE a IS NULL AND b IS NULL AND c IS NULL"
			" AND d IS NULL"),
		1);
}

static void text_with_a_nul_keeps_its_length(void **state)
{
	const struct np_cell cells[] = { np_cell_bytes("a\0b", 3) };
	struct np_db_insert *insert = NULL;
	struct np_err err = NP_ERR_INIT;
	struct np_db_writer *writer;

	(void)state;
	writer = open_writer(below("x.db"));
	assert_ok(np_db_writer_exec(writer, "CREATE TABLE t(a TEXT)", &err), err);
	assert_ok(np_db_insert_begin(writer, "t", 1, &insert, &err), err);
	assert_ok(np_db_insert_row(insert, cells, &err), err);
	assert_ok(np_db_writer_commit(writer, &err), err);
	assert_int_equal(ask_sql(below("x.db"), "SELECT length(CAST(a AS BLOB)) FROM t"), 3);
}

static void several_tables_are_filled_side_by_side(void **state)
{
	struct np_db_insert *inserts[2] = { NULL, NULL };
	struct np_err err = NP_ERR_INIT;
	struct np_db_writer *writer;

	(void)state;
	writer = open_writer(below("x.db"));
	assert_ok(np_db_writer_exec(writer, "CREATE TABLE a(x); CREATE TABLE b(x)", &err), err);
	assert_ok(np_db_insert_begin(writer, "a", 1, &inserts[0], &err), err);
	assert_ok(np_db_insert_begin(writer, "b", 1, &inserts[1], &err), err);
	for (int64_t i = 0; i < 100; i++) {
		const struct np_cell cell = np_cell_integer(i);

		assert_ok(np_db_insert_row(inserts[i % 2], &cell, &err), err);
	}
	assert_ok(np_db_writer_commit(writer, &err), err);
	assert_int_equal(ask_sql(below("x.db"), "SELECT sum(x) FROM a"), 2450);
	assert_int_equal(ask_sql(below("x.db"), "SELECT sum(x) FROM b"), 2500);
}

static void a_relation_without_rows_has_a_table(void **state)
{
	struct np_err err = NP_ERR_INIT;
	struct np_db_writer *writer;

	(void)state;
	writer = open_writer(below("x.db"));
	write_rows(writer, 0);
	assert_ok(np_db_writer_commit(writer, &err), err);
	assert_int_equal(ask_sql(below("x.db"), "SELECT count(*) FROM \"Table\""), 0);
}

static void the_old_file_stays_until_the_commit(void **state)
{
	struct np_err err = NP_ERR_INIT;
	struct np_db_writer *writer;

	(void)state;
	run_sql(below("x.db"), "CREATE TABLE old(a); INSERT INTO old VALUES(7)");
	writer = open_writer(below("x.db"));
	write_rows(writer, 10);
	assert_int_equal(ask_sql(below("x.db"), "SELECT a FROM old"), 7);
	assert_ok(np_db_writer_commit(writer, &err), err);
	assert_int_equal(ask_sql(below("x.db"), "SELECT count(*) FROM \"Table\""), 10);
	assert_int_equal(ask_sql(below("x.db"), "SELECT count(*) FROM sqlite_master"), 1);
}

/* A reader that has the old file open goes on reading it: the new one is another file. */
static void the_new_file_takes_the_place_of_the_old_one_at_once(void **state)
{
	struct np_err err = NP_ERR_INIT;
	struct np_db_writer *writer;
	struct stat old;
	struct stat new;
	FILE *held;

	(void)state;
	run_sql(below("x.db"), "CREATE TABLE old(a)");
	held = fopen(below("x.db"), "re");
	assert_non_null(held);
	writer = open_writer(below("x.db"));
	assert_ok(np_db_writer_commit(writer, &err), err);
	assert_int_equal(fstat(fileno(held), &old), 0);
	assert_int_equal(stat(below("x.db"), &new), 0);
	assert_true(old.st_ino != new.st_ino);
	assert_int_equal(old.st_nlink, 0);
	assert_int_equal(fclose(held), 0);
}

static void an_abandoned_writer_leaves_the_old_file(void **state)
{
	struct np_db_writer *writer;
	char *before;

	(void)state;
	run_sql(below("x.db"), "CREATE TABLE old(a); INSERT INTO old VALUES(7)");
	write_text(below("x.db-wal"), "whatever this is, it is not ours to remove yet");
	before = snapshot(np_fixture_root);
	writer = open_writer(below("x.db"));
	write_rows(writer, 100000);
	np_db_writer_abort(writer);
	assert_untouched(np_fixture_root, before);
}

static void an_abandoned_writer_without_an_old_file_leaves_nothing(void **state)
{
	NP_CLEANUP(np_db_writer_abortp) struct np_db_writer *writer = NULL;

	(void)state;
	writer = open_writer(below("x.db"));
	write_rows(writer, 10);
	np_db_writer_abortp(&writer);
	assert_null(writer);
	assert_int_equal(entries_in(np_fixture_root), 0);
}

/* A log of the old database would be replayed into the new one. */
static void stale_sidecars_of_the_target_are_removed(void **state)
{
	struct np_err err = NP_ERR_INIT;
	struct np_db_writer *writer;
	sqlite3 *viewer;
	size_t length;
	char *log;

	(void)state;
	viewer = open_sqlite(below("x.db"));
	run_sql_on(viewer, "PRAGMA journal_mode=WAL; PRAGMA wal_autocheckpoint=0;"
			   "CREATE TABLE old(a); INSERT INTO old VALUES(7)");
	log = read_bytes(below("x.db-wal"), &length);
	assert_int_equal(sqlite3_close(viewer), SQLITE_OK);
	write_bytes(below("x.db-wal"), log, length);
	write_bytes(below("x.db-journal"), "stale", 5);
	free(log);
	writer = open_writer(below("x.db"));
	write_rows(writer, 10);
	assert_ok(np_db_writer_commit(writer, &err), err);
	assert_int_equal(entries_in(np_fixture_root), 1);
	assert_int_equal(ask_sql(below("x.db"), "SELECT count(*) FROM \"Table\""), 10);
}

static void what_a_crashed_writer_left_is_written_over(void **state)
{
	struct np_err err = NP_ERR_INIT;
	struct np_db_writer *writer;
	char *left;

	(void)state;
	left = np_temporary_new(below("x.db"));
	assert_non_null(left);
	write_text(left, "half a database");
	np_temporary_free(left);
	writer = open_writer(below("x.db"));
	write_rows(writer, 10);
	assert_ok(np_db_writer_commit(writer, &err), err);
	assert_int_equal(entries_in(np_fixture_root), 1);
}

static void a_directory_that_is_not_there_is_an_error_that_names_the_target(void **state)
{
	struct np_db_writer *writer = NULL;
	struct np_err err = NP_ERR_INIT;

	(void)state;
	assert_int_equal(np_db_writer_open(below("no/x.db"), &writer, &err), NP_E_IO);
	assert_null(writer);
	assert_one_line(&err);
	assert_holds(err.text, below("no/x.db"));
	assert_int_equal(entries_in(np_fixture_root), 0);
}

static void a_directory_that_cannot_be_written_is_an_error_without_a_trace(void **state)
{
	struct np_db_writer *writer = NULL;
	struct np_err err = NP_ERR_INIT;
	uid_t user = geteuid();
	int rc;

	(void)state;
	make_dirs(below("d"));
	assert_int_equal(chmod(below("d"), 0555), 0);
	assert_int_equal(chmod(np_fixture_root, 0755), 0);
	if (user == 0)
		assert_int_equal(seteuid(65534), 0);
	rc = np_db_writer_open(below("d/x.db"), &writer, &err);
	if (user == 0)
		assert_int_equal(seteuid(0), 0);
	assert_int_equal(rc, NP_E_IO);
	assert_holds(err.text, below("d/x.db"));
	assert_int_equal(entries_in(below("d")), 0);
}

static void a_target_that_is_a_directory_fails_at_commit_and_leaves_no_temporary_file(void **state)
{
	struct np_err err = NP_ERR_INIT;
	struct np_db_writer *writer;

	(void)state;
	write_text(below("x.db/keep"), "me");
	writer = open_writer(below("x.db"));
	write_rows(writer, 10);
	assert_int_equal(np_db_writer_commit(writer, &err), NP_E_IO);
	assert_one_line(&err);
	assert_holds(err.text, below("x.db"));
	assert_int_equal(entries_in(np_fixture_root), 1);
	assert_int_equal(entries_in(below("x.db")), 1);
}

static void bad_sql_is_an_error_that_names_the_file(void **state)
{
	NP_CLEANUP(np_db_writer_abortp) struct np_db_writer *writer = NULL;
	struct np_db_insert *insert = NULL;
	struct np_err err = NP_ERR_INIT;

	(void)state;
	writer = open_writer(below("x.db"));
	assert_int_equal(np_db_writer_exec(writer, "CREATE NONSENSE", &err), NP_E_IO);
	assert_holds(err.text, below("x.db"));
	assert_int_equal(np_db_insert_begin(writer, "none", 1, &insert, &err), NP_E_IO);
	assert_holds(err.text, "none");
	assert_null(insert);
}

static void the_same_rows_give_the_same_bytes(void **state)
{
	size_t lengths[2];
	char *bytes[2];

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct np_err err = NP_ERR_INIT;
		struct np_db_writer *writer = open_writer(below("x%zu.db", i));

		write_rows(writer, 5000);
		assert_ok(np_db_writer_commit(writer, &err), err);
		bytes[i] = read_bytes(below("x%zu.db", i), &lengths[i]);
	}
	assert_int_equal(lengths[0], lengths[1]);
	assert_memory_equal(bytes[0], bytes[1], lengths[0]);
	free(bytes[0]);
	free(bytes[1]);
}

static void paths_are_taken_literally(void **state)
{
	static const char *const names[] = { "100% #1?.db", "file:x.db", "a b ✓.db", ":memory:" };

	(void)state;
	for (size_t i = 0; i < NP_COUNT(names); i++) {
		struct np_err err = NP_ERR_INIT;
		struct np_db_writer *writer = open_writer(below("%s", names[i]));

		write_rows(writer, i);
		assert_ok(np_db_writer_commit(writer, &err), err);
		assert_int_equal(ask_sql(below("%s", names[i]), "SELECT count(*) FROM \"Table\""),
				 i);
	}
	assert_int_equal(entries_in(np_fixture_root), (int)NP_COUNT(names));
}

/* A database x.db with n rows of table t, in a journal mode. */
static struct np_db *open_source(const char *mode)
{
	struct np_err err = NP_ERR_INIT;
	struct np_db *db = NULL;
	char sql[256];

	(void)snprintf(sql, sizeof(sql),
		       "PRAGMA journal_mode=%s; CREATE TABLE t(a INTEGER); CREATE INDEX i ON t(a);"
		       "INSERT INTO t VALUES(1),(2),(3)",
		       mode);
	run_sql(below("source.db"), sql);
	assert_ok(np_db_open(below("source.db"), &db, &err), err);
	return db;
}

static void a_copy_has_what_the_source_has_and_what_was_added(void **state)
{
	struct np_err err = NP_ERR_INIT;
	struct np_db *source = open_source("delete");
	struct np_db_writer *writer = NULL;
	size_t length[2];
	char *before = read_bytes(below("source.db"), &length[0]);
	char *after;

	(void)state;
	assert_ok(np_db_writer_open_copy(source, below("x.db"), &writer, &err), err);
	assert_ok(np_db_writer_exec(writer,
				    "DELETE FROM t WHERE a = 1; CREATE TABLE u(b);"
				    "INSERT INTO u VALUES(7)",
				    &err),
		  err);
	assert_ok(np_db_writer_commit(writer, &err), err);
	np_db_close(source);
	assert_int_equal(ask_sql(below("x.db"), "SELECT sum(a) FROM t"), 5);
	assert_int_equal(ask_sql(below("x.db"), "SELECT b FROM u"), 7);
	after = read_bytes(below("source.db"), &length[1]);
	assert_int_equal(length[0], length[1]);
	assert_memory_equal(before, after, length[0]);
	free(before);
	free(after);
}

static void a_copy_of_a_database_with_a_log_needs_none(void **state)
{
	struct np_err err = NP_ERR_INIT;
	struct np_db *source = open_source("wal");
	struct np_db_writer *writer = NULL;
	size_t length;
	char *bytes;

	(void)state;
	assert_ok(np_db_writer_open_copy(source, below("x.db"), &writer, &err), err);
	assert_ok(np_db_writer_commit(writer, &err), err);
	np_db_close(source);
	bytes = read_bytes(below("x.db"), &length);
	/* Bytes 18 and 19 of the header: 2 asks for a write-ahead log, 1 does not. */
	assert_int_equal(bytes[18], 1);
	assert_int_equal(bytes[19], 1);
	free(bytes);
	assert_int_equal(entries_in(np_fixture_root), 2);
}

static void an_abandoned_copy_leaves_nothing(void **state)
{
	struct np_err err = NP_ERR_INIT;
	struct np_db *source = open_source("delete");
	struct np_db_writer *writer = NULL;

	(void)state;
	assert_ok(np_db_writer_open_copy(source, below("x.db"), &writer, &err), err);
	np_db_writer_abort(writer);
	np_db_close(source);
	assert_int_equal(entries_in(np_fixture_root), 1);
}

static int write_database(struct np_err *err)
{
	size_t rows = 3;
	struct np_db_writer *writer = NULL;
	int rc = np_db_writer_open(below("x.db"), &writer, err);

	if (rc == NP_OK) {
		rc = np_relation_write(&relation, &rows, np_db_writer_sink(writer), err);
		if (rc == NP_OK)
			rc = np_db_writer_commit(writer, err);
		else
			np_db_writer_abort(writer);
	}
	/* The old file or the new one, and no third. */
	np_fault_left = rc == NP_OK ? np_fault_left : 0;
	assert_int_equal(access(below("x.db"), F_OK), 0);
	return rc;
}

static void running_out_of_memory_leaves_the_old_file(void **state)
{
	(void)state;
	write_text(below("x.db"), "old");
	assert_survives_faults(write_database);
	assert_int_equal(entries_in(np_fixture_root), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_fixture(rows_are_there_after_commit_and_nothing_else_is),
		with_fixture(columns_are_declared_with_their_types),
		with_fixture(values_are_stored_as_their_columns_say),
		with_fixture(unknown_values_are_null),
		with_fixture(text_with_a_nul_keeps_its_length),
		with_fixture(several_tables_are_filled_side_by_side),
		with_fixture(a_relation_without_rows_has_a_table),
		with_fixture(the_old_file_stays_until_the_commit),
		with_fixture(the_new_file_takes_the_place_of_the_old_one_at_once),
		with_fixture(an_abandoned_writer_leaves_the_old_file),
		with_fixture(an_abandoned_writer_without_an_old_file_leaves_nothing),
		with_fixture(stale_sidecars_of_the_target_are_removed),
		with_fixture(what_a_crashed_writer_left_is_written_over),
		with_fixture(a_directory_that_is_not_there_is_an_error_that_names_the_target),
		with_fixture(a_directory_that_cannot_be_written_is_an_error_without_a_trace),
		with_fixture(
			a_target_that_is_a_directory_fails_at_commit_and_leaves_no_temporary_file),
		with_fixture(bad_sql_is_an_error_that_names_the_file),
		with_fixture(the_same_rows_give_the_same_bytes),
		with_fixture(paths_are_taken_literally),
		with_fixture(a_copy_has_what_the_source_has_and_what_was_added),
		with_fixture(a_copy_of_a_database_with_a_log_needs_none),
		with_fixture(an_abandoned_copy_leaves_nothing),
		with_fixture(running_out_of_memory_leaves_the_old_file),
	};

	return cmocka_run_group_tests_name("db_writer", tests, NULL, NULL);
}
