/* SPDX-License-Identifier: Apache-2.0 */
#include "scan_private.h"

#include "db_private.h"

/*
 * The few values of which the page engine cannot say exactly what SQLite would
 * make of them, because that has changed between its versions: they go through a
 * statement that hands back what it is given.
 */
static int prepare(struct np_scan *scan, struct np_err *err)
{
	sqlite3 *handle = np_db_handle(scan->db);
	int rc;

	if (scan->convert) {
		(void)sqlite3_reset(scan->convert);
		return NP_OK;
	}
	rc = sqlite3_prepare_v2(handle, "SELECT ?1", -1, &scan->convert, NULL);
	return rc == SQLITE_OK ? NP_OK : np_db_fail(handle, rc, np_db_path(scan->db), err);
}

/* Run it after `bound`, the result of binding the value. */
static int run(struct np_scan *scan, int bound, struct np_err *err)
{
	int rc = bound == SQLITE_OK ? sqlite3_step(scan->convert) : bound;

	if (rc == SQLITE_ROW)
		return NP_OK;
	return np_db_fail(np_db_handle(scan->db), rc, np_db_path(scan->db), err);
}

int np_scan_text_of_real(struct np_scan *scan, struct np_scan_slot *slot, size_t row, double value,
			 struct np_err *err)
{
	int rc = prepare(scan, err);

	if (rc == NP_OK)
		rc = run(scan, sqlite3_bind_double(scan->convert, 1, value), err);
	if (rc == NP_OK)
		np_scan_keep_text(scan, slot, row,
				  (const char *)sqlite3_column_text(scan->convert, 0),
				  (size_t)sqlite3_column_bytes(scan->convert, 0));
	return rc;
}

int np_scan_real_of_text(struct np_scan *scan, const void *bytes, size_t length, double *ret,
			 struct np_err *err)
{
	int rc = prepare(scan, err);

	if (rc == NP_OK)
		rc = run(scan,
			 sqlite3_bind_text64(scan->convert, 1, bytes, length, SQLITE_STATIC,
					     SQLITE_UTF8),
			 err);
	if (rc == NP_OK)
		*ret = sqlite3_column_double(scan->convert, 0);
	return rc;
}
