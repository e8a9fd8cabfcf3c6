/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_DB_PRIVATE_H
#define NP_DB_PRIVATE_H

/* What db.c shares with scan.c, the two files that know SQLite. */

#include "npuprof/db.h"

#include <sqlite3.h>

/* The connection behind a database opened for reading. */
sqlite3 *np_db_handle(struct np_db *db);

/* What is asked of every table that is read. */
enum np_db_question {
	NP_DB_IS_TABLE, /* type = 'table', rootpage */
	NP_DB_COLUMNS,  /* cid, name, type, dflt_value, pk, hidden */
	NP_DB_KEYS,     /* how many indexes its primary key has */
	NP_DB_QUESTIONS,
};

/*
 * A statement about the table, prepared once; SQLite's code where it cannot be. It is let go
 * before it is asked for again.
 */
int np_db_ask(struct np_db *db, enum np_db_question question, const char *table, sqlite3_stmt **ret)
	NP_MUST_USE;
void np_db_let_go(sqlite3_stmt **statement);

/* The file the connection reads: the input itself, or the private copy made because of a sidecar.
 */
const char *np_db_file(const struct np_db *db);

/* What the tables of it that are being read share; NULL while there is none (scan_window.h). */
struct np_windows;
struct np_windows **np_db_windows(struct np_db *db);

/* Its size in bytes. */
int64_t np_db_size(const struct np_db *db);

/* Turn a SQLite failure on `path` into an np_err: busy, damaged, out of memory or unreadable. */
int np_db_fail(sqlite3 *handle, int sqlite_code, const char *path, struct np_err *err);

/* --- db_copy.c ------------------------------------------------------------------------------- */

/* The size of `path` + `suffix`, or -1 if there is no such file. */
int64_t np_db_size_beside(const char *path, const char *suffix);

/* Has a writer left rows in a -wal or -journal file beside it? */
bool np_db_has_sidecar(const char *path);

/* A private copy of a file with its sidecars: their rows count, and opening them in place would
 * write beside the input. What there is of it must be removed also after a failure. */
struct db_copy {
	char *dir;
	char *file;
};
int np_db_copy(const char *file, struct db_copy *ret, struct np_err *err) NP_MUST_USE;
void np_db_copy_remove(struct db_copy *copy);

/* Remove the -wal, -shm and -journal files beside `path`, as far as they exist. */
void np_db_remove_sidecars(const char *path);

#endif /* NP_DB_PRIVATE_H */
