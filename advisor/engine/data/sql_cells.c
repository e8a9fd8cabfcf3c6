/* SPDX-License-Identifier: Apache-2.0 */
#include "advisor/engine/sql/sql_private.h"

#include <math.h>

/* Values on their way from SQLite and to it. */

/* What overflowed is not known; SQLite itself gives NULL for what is no number. */
static struct np_cell known_real(double real)
{
	return isfinite(real) ? np_cell_real(real) : np_cell_null();
}

struct np_cell sql_value_cell(sqlite3_value *value)
{
	switch (sqlite3_value_type(value)) {
	case SQLITE_INTEGER:
		return np_cell_integer(sqlite3_value_int64(value));
	case SQLITE_FLOAT:
		return known_real(sqlite3_value_double(value));
	case SQLITE_TEXT: {
		const char *text = (const char *)sqlite3_value_text(value);

		return text ? np_cell_bytes(text, (size_t)sqlite3_value_bytes(value))
			    : np_cell_null();
	}
	default:
		return np_cell_null();
	}
}

struct np_cell sql_cell(struct sql_stmt *stmt, size_t column)
{
	return sql_value_cell(sqlite3_column_value(stmt->stmt, (int)column));
}

void sql_result_cell(sqlite3_context *context, struct np_cell cell, bool lasting)
{
	switch (cell.type) {
	case NP_CELL_NULL:
		sqlite3_result_null(context);
		break;
	case NP_CELL_INTEGER:
		sqlite3_result_int64(context, cell.integer);
		break;
	case NP_CELL_REAL:
		sqlite3_result_double(context, cell.real);
		break;
	case NP_CELL_TEXT:
		/*
		 * Lasting texts lie in larger ones that end with NUL. Told that it is at
		 * the end of this one, SQLite need not copy it to put one there.
		 */
		if (lasting && cell.text.bytes[cell.text.length] == '\0')
			sqlite3_result_text(context, cell.text.bytes, -1, SQLITE_STATIC);
		else
			sqlite3_result_text64(context, cell.text.bytes, cell.text.length,
					      lasting ? SQLITE_STATIC : SQLITE_TRANSIENT,
					      SQLITE_UTF8);
		break;
	}
}
