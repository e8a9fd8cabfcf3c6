/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_DB_H
#define NP_DB_H

#include "npuprof/err.h"
#include "npuprof/relation.h"

/*
 * SQLite databases
 * ================
 *
 * Inputs are opened so that nothing is written beside them and no row is lost:
 *
 *  - no -wal or -journal file with content: opened as immutable, which neither
 *    locks nor creates a sidecar file, whatever the header says about WAL;
 *  - a sidecar with content: database and sidecar are copied to a private
 *    temporary directory and opened there, so that the rows still in it count;
 *  - a lock held by a writer: waited for a moment, then NP_E_BUSY.
 *
 * A handle belongs to one thread.
 */
struct np_db;

/*
 * Open a database for reading. NP_E_NOTFOUND for a missing or zero-length file
 * (SQLite takes the latter for a valid empty database), NP_E_FORMAT for one
 * that is damaged, truncated or something else, NP_E_BUSY for a locked one.
 */
int np_db_open(const char *path, struct np_db **ret, struct np_err *err) NP_MUST_USE;
void np_db_close(struct np_db *db);
void np_db_closep(struct np_db **db);

const char *np_db_path(const struct np_db *db);

/* Did a question that is answered by true and false fail, so far? */
int np_db_answered(const struct np_db *db, struct np_err *err) NP_MUST_USE;

/* True if rows came from a sidecar file, which the user should know. */
bool np_db_had_sidecar(const struct np_db *db);

/* False also where the file cannot be read: np_db_answered() knows. */
bool np_db_has_table(struct np_db *db, const char *table);

/* Is the table there, and does it have a row? */
bool np_db_has_rows(struct np_db *db, const char *table);

/* Give every column of every table that is not SQLite's own to `take`, by table and place in it. */
typedef int np_db_take_column(void *context, const char *table, const char *column,
			      struct np_err *err);
int np_db_columns(struct np_db *db, np_db_take_column *take, void *context, struct np_err *err)
	NP_MUST_USE;

/* Number of tables that are not SQLite's own: 0 for a database somebody emptied. */
size_t np_db_table_count(struct np_db *db);

/*
 * Look at every page and row for damage, which reading some tables may not
 * meet. NP_E_FORMAT says what was found first.
 */
int np_db_check(struct np_db *db, struct np_err *err) NP_MUST_USE;

/*
 * Writing
 * -------
 *
 * An output database is written under a temporary name in one transaction and
 * renamed when it is complete, so that a crash leaves the old file or the new
 * one. Old sidecar files of the target are removed first: they belong to the
 * database that is being replaced and would damage the new one.
 */
struct np_db_writer;

int np_db_writer_open(const char *path, struct np_db_writer **ret, struct np_err *err) NP_MUST_USE;

/* The same, beginning with all that `source` holds: to add to a database without touching it. */
int np_db_writer_open_copy(struct np_db *source, const char *path, struct np_db_writer **ret,
			   struct np_err *err) NP_MUST_USE;

/* Abandon the database: the temporary file is removed, an old file stays. NULL is allowed. */
void np_db_writer_abort(struct np_db_writer *writer);
void np_db_writer_abortp(struct np_db_writer **writer);

/* Create a table for the relation, declared with its column types, and fill it. */
struct np_sink *np_db_writer_sink(struct np_db_writer *writer);

/* Run SQL that is a constant of the caller's: other table declarations, indexes. */
int np_db_writer_exec(struct np_db_writer *writer, const char *sql, struct np_err *err) NP_MUST_USE;

/*
 * Insert rows into a table made with np_db_writer_exec(). begin prepares a
 * statement that stays valid until np_db_writer_commit(); row inserts `columns` cells.
 */
struct np_db_insert;
int np_db_insert_begin(struct np_db_writer *writer, const char *table, size_t columns,
		       struct np_db_insert **ret, struct np_err *err) NP_MUST_USE;
int np_db_insert_row(struct np_db_insert *insert, const struct np_cell *cells, struct np_err *err)
	NP_MUST_USE;

/* Commit, close and rename into place. The writer is freed in either case. */
int np_db_writer_commit(struct np_db_writer *writer, struct np_err *err) NP_MUST_USE;

/* The same of what cannot be made again: it is on the disk before it takes the place of the old. */
int np_db_writer_commit_lasting(struct np_db_writer *writer, struct np_err *err) NP_MUST_USE;

#endif /* NP_DB_H */
