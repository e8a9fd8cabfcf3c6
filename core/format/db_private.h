/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_DB_PRIVATE_H
#define NP_DB_PRIVATE_H

/* What db.c shares with scan.c, the two files that know SQLite. */

#include "npuprof/db.h"

#include <sqlite3.h>

/* The connection behind a database opened for reading. */
sqlite3 *np_db_handle(struct np_db *db);

/* The file the connection reads: the input itself, or the private copy made because of a sidecar.
 */
const char *np_db_file(const struct np_db *db);

/* Its size in bytes. */
int64_t np_db_size(const struct np_db *db);

/* Turn a SQLite failure on `path` into an np_err: busy, damaged, out of memory or unreadable. */
int np_db_fail(sqlite3 *handle, int sqlite_code, const char *path, struct np_err *err);

/* Remove the -wal, -shm and -journal files beside `path`, as far as they exist. */
void np_db_remove_sidecars(const char *path);

#endif /* NP_DB_PRIVATE_H */
