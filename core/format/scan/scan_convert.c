/* SPDX-License-Identifier: Apache-2.0 */
#include "scan_private.h"

#include "core/format/db/db_private.h"

#include <math.h>

/*
 * Reals as text: how many digits SQLite writes has changed between its versions,
 * so the page engine lets a statement hand back what it is given.
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

double np_scan_real_of_text(const char *bytes, size_t length)
{
	char text[64];
	char *end;
	double value;

	/* No number is longer, and strtod() needs an end. */
	if (length == 0 || length >= sizeof(text))
		return (double)NAN;
	memcpy(text, bytes, length);
	text[length] = '\0';
	/* What strtod() knows beyond decimal numbers: infinities, NaN, hexadecimal. */
	if (text[strspn(text, "+-.0123456789eE \t\r\n")] != '\0')
		return (double)NAN;
	value = strtod(text, &end);
	if (end == text || end[strspn(end, " \t\r\n")] != '\0')
		return (double)NAN;
	return value;
}
