/* SPDX-License-Identifier: Apache-2.0 */
#include "scan_private.h"

#include "core/format/db/db_private.h"

#include "npuprof/text.h"

#include <math.h>

/* The row engine: SQLite steps through the table. */

/*
 * Rows of a view, and texts that a default or an expression gives, need not be in
 * the file. What a scan gives is bounded by the file's size all the same: a row of
 * a table has some bytes, and its smallest values become texts of twenty.
 */
#define GIVEN_BASE     1000000
#define GIVEN_PER_BYTE 32
#define GIVEN_PER_ROW  8

int np_scan_rows_open(struct np_scan *scan, const char *table, bool is_table, struct np_err *err)
{
	NP_CLEANUP(np_buf_release) struct np_buf sql = NP_BUF_INIT;
	sqlite3 *handle = np_db_handle(scan->db);
	int results = 0;
	int rc;

	np_buf_add(&sql, "SELECT ");
	for (size_t i = 0; i < scan->count; i++) {
		struct np_scan_slot *slot = &scan->slot[i];

		if (!slot->present)
			continue;
		slot->result = results++;
		np_buf_printf(&sql, "%s\"%.*s\"", slot->result ? "," : "", (int)slot->name_length,
			      slot->name);
	}
	/*
	 * With no column at all the rows still count. An index that covers the
	 * columns would be scanned instead of the table, in its own order.
	 */
	np_buf_printf(&sql, "%s FROM \"%s\"%s", results ? "" : "NULL", table,
		      is_table ? " NOT INDEXED" : "");
	rc = np_buf_check(&sql, err);
	if (rc < 0)
		return rc;
	scan->budget = GIVEN_BASE + np_db_size(scan->db) * GIVEN_PER_BYTE;
	rc = sqlite3_prepare_v2(handle, sql.text, -1, &scan->statement, NULL);
	return rc == SQLITE_OK ? NP_OK : np_db_fail(handle, rc, np_db_path(scan->db), err);
}

/* A value that should be an integer: real ones are, some are text, and some are not there. */
static int64_t integer_value(sqlite3_stmt *statement, int index)
{
	int64_t value;

	switch (sqlite3_column_type(statement, index)) {
	case SQLITE_INTEGER:
		return sqlite3_column_int64(statement, index);
	case SQLITE_FLOAT:
		return np_double_to_scaled(sqlite3_column_double(statement, index), 1.0);
	case SQLITE_TEXT:
		if (np_text_to_scaled((const char *)sqlite3_column_text(statement, index),
				      (size_t)sqlite3_column_bytes(statement, index), 0, &value))
			return value;
		return NP_UNKNOWN;
	default:
		return NP_UNKNOWN;
	}
}

static double real_value(sqlite3_stmt *statement, int index)
{
	switch (sqlite3_column_type(statement, index)) {
	case SQLITE_INTEGER:
	case SQLITE_FLOAT:
		return sqlite3_column_double(statement, index);
	case SQLITE_TEXT:
		return np_scan_real_of_text((const char *)sqlite3_column_text(statement, index),
					    (size_t)sqlite3_column_bytes(statement, index));
	default:
		return (double)NAN;
	}
}

static void take_text(struct np_scan *scan, struct np_scan_slot *slot, size_t row)
{
	const char *text = (const char *)sqlite3_column_text(scan->statement, slot->result);
	int length = sqlite3_column_bytes(scan->statement, slot->result);

	np_scan_keep_text(scan, slot, row, text, (size_t)length);
	scan->budget -= length;
}

static void take_row(struct np_scan *scan, size_t row)
{
	scan->budget -= GIVEN_PER_ROW;
	for (size_t i = 0; i < scan->count; i++) {
		struct np_scan_slot *slot = &scan->slot[i];

		if (!slot->present)
			continue;
		if (slot->type == NP_SCAN_INTEGER)
			slot->values.integer[row] = integer_value(scan->statement, slot->result);
		else if (slot->type == NP_SCAN_REAL)
			slot->values.real[row] = real_value(scan->statement, slot->result);
		else
			take_text(scan, slot, row);
	}
}

int np_scan_rows_skip(struct np_scan *scan, size_t rows, struct np_err *err)
{
	int rc = SQLITE_ROW;

	while (rows-- > 0 && rc == SQLITE_ROW)
		rc = sqlite3_step(scan->statement);
	if (rc != SQLITE_ROW && rc != SQLITE_DONE)
		return np_db_fail(np_db_handle(scan->db), rc, np_db_path(scan->db), err);
	scan->ended = rc == SQLITE_DONE;
	return NP_OK;
}

int np_scan_rows_next(struct np_scan *scan, size_t *rows, struct np_err *err)
{
	int rc = SQLITE_ROW;

	*rows = 0;
	while (*rows < NP_SCAN_ROWS) {
		rc = sqlite3_step(scan->statement);
		if (rc != SQLITE_ROW)
			break;
		take_row(scan, (*rows)++);
		if (scan->budget < 0)
			return np_fail(err, NP_E_FORMAT,
				       "'%s': a table or view gives more than the file can hold",
				       np_db_path(scan->db));
	}
	if (rc != SQLITE_ROW && rc != SQLITE_DONE)
		return np_db_fail(np_db_handle(scan->db), rc, np_db_path(scan->db), err);
	/* Stepping a finished statement would start it again. */
	scan->ended = rc == SQLITE_DONE;
	return NP_OK;
}
