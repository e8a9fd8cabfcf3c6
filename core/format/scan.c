/* SPDX-License-Identifier: Apache-2.0 */
#include "npuprof/scan.h"

#include "db_private.h"

#include "npuprof/buf.h"
#include "npuprof/text.h"

#include <math.h>

/* One column of the batch, and where it comes from. */
struct slot {
	enum np_scan_type type;
	bool present;
	int result; /* index in the statement's result */
	union {
		int64_t *integer;
		double *real;
		struct np_scan_text *text;
	} values;
};

struct np_scan {
	struct np_db *db;
	sqlite3_stmt *statement;
	size_t count;
	bool ended;
	struct slot slot[NP_SCAN_COLUMNS];
	/* Texts of the batch. Offsets until the batch is complete: the buffer moves as it grows. */
	struct np_buf texts;
};

/* Is one of the names in `names` ("a|b") a column of the table? Writes the first that is. */
static bool find_column(struct np_db *db, const char *table, const char *names, char *ret,
			size_t size)
{
	while (*names) {
		size_t length = strcspn(names, "|");

		(void)snprintf(ret, size, "%.*s", (int)length, names);
		if (np_db_has_column(db, table, ret))
			return true;
		names += length + (names[length] == '|');
	}
	return false;
}

static int allocate(struct slot *slot, struct np_err *err)
{
	size_t size = slot->type == NP_SCAN_TEXT ? sizeof(struct np_scan_text) : sizeof(int64_t);
	void *values = calloc(NP_SCAN_ROWS, size);

	if (!values)
		return np_fail_nomem(err, "a batch of rows");
	slot->values.integer = values;
	if (slot->present)
		return NP_OK;
	/* An absent column is unknown in every row; written once, never touched again. */
	for (size_t i = 0; i < NP_SCAN_ROWS; i++) {
		if (slot->type == NP_SCAN_INTEGER)
			slot->values.integer[i] = NP_UNKNOWN;
		else if (slot->type == NP_SCAN_REAL)
			slot->values.real[i] = (double)NAN;
	}
	return NP_OK;
}

/* Find the columns and write the SELECT that reads those that exist. */
static int choose_columns(struct np_scan *scan, const char *table,
			  const struct np_scan_column *columns, struct np_buf *sql,
			  struct np_err *err)
{
	int results = 0;

	np_buf_add(sql, "SELECT ");
	for (size_t i = 0; i < scan->count; i++) {
		struct slot *slot = &scan->slot[i];
		char name[64];
		int rc;

		slot->type = columns[i].type;
		slot->present = find_column(scan->db, table, columns[i].names, name, sizeof(name));
		if (!slot->present && columns[i].need == NP_REQUIRED)
			return np_fail(err, NP_E_FORMAT, "'%s': table %s has no column %s",
				       np_db_path(scan->db), table, columns[i].names);
		if (slot->present) {
			slot->result = results++;
			np_buf_printf(sql, "%s\"%s\"", slot->result ? "," : "", name);
		}
		rc = allocate(slot, err);
		if (rc < 0)
			return rc;
	}
	/* With no column at all the rows still count. */
	np_buf_printf(sql, "%s FROM \"%s\"", results ? "" : "NULL", table);
	/* An index that holds all these columns would be read instead, in its own order. */
	np_buf_add(sql, " NOT INDEXED");
	return np_buf_check(sql, err);
}

int np_scan_open(struct np_db *db, const char *table, const struct np_scan_column *columns,
		 size_t count, struct np_scan **ret, struct np_err *err)
{
	NP_CLEANUP(np_buf_release) struct np_buf sql = NP_BUF_INIT;
	NP_CLEANUP(np_scan_closep) struct np_scan *scan = NULL;
	int rc;

	if (!np_db_has_table(db, table))
		return np_fail(err, NP_E_NOTFOUND, "'%s' has no table %s", np_db_path(db), table);
	scan = calloc(1, sizeof(*scan));
	if (!scan)
		return np_fail_nomem(err, table);
	scan->db = db;
	scan->count = count;
	scan->texts = NP_BUF_INIT;
	rc = choose_columns(scan, table, columns, &sql, err);
	if (rc < 0)
		return rc;
	rc = sqlite3_prepare_v2(np_db_handle(db), sql.text, -1, &scan->statement, NULL);
	if (rc != SQLITE_OK)
		return np_db_fail(np_db_handle(db), rc, np_db_path(db), err);
	*ret = NP_STEAL(scan);
	return NP_OK;
}

void np_scan_close(struct np_scan *scan)
{
	if (!scan)
		return;
	(void)sqlite3_finalize(scan->statement);
	for (size_t i = 0; i < scan->count; i++)
		free(scan->slot[i].values.integer);
	np_buf_release(&scan->texts);
	free(scan);
}

void np_scan_closep(struct np_scan **scan)
{
	np_scan_close(*scan);
	*scan = NULL;
}

bool np_scan_has(const struct np_scan *scan, size_t column)
{
	return scan->slot[column].present;
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
	if (sqlite3_column_type(statement, index) == SQLITE_NULL)
		return (double)NAN;
	return sqlite3_column_double(statement, index);
}

/* Keep a text for the batch; `bytes` holds its offset + 1 until finish_texts(). */
static void keep_text(struct np_scan *scan, int index, struct np_scan_text *ret)
{
	const char *text = (const char *)sqlite3_column_text(scan->statement, index);

	*ret = (struct np_scan_text){ NULL, 0 };
	if (!text)
		return;
	ret->length = (size_t)sqlite3_column_bytes(scan->statement, index);
	ret->bytes = (const char *)(uintptr_t)(scan->texts.length + 1);
	np_buf_add_bytes(&scan->texts, text, ret->length);
	np_buf_add_char(&scan->texts, '\0');
}

static void finish_texts(struct np_scan *scan, struct slot *slot, size_t rows)
{
	for (size_t i = 0; i < rows; i++) {
		uintptr_t offset = (uintptr_t)slot->values.text[i].bytes;

		if (offset)
			slot->values.text[i].bytes = scan->texts.text + (offset - 1);
	}
}

static void read_row(struct np_scan *scan, size_t row)
{
	for (size_t i = 0; i < scan->count; i++) {
		struct slot *slot = &scan->slot[i];

		if (!slot->present)
			continue;
		if (slot->type == NP_SCAN_INTEGER)
			slot->values.integer[row] = integer_value(scan->statement, slot->result);
		else if (slot->type == NP_SCAN_REAL)
			slot->values.real[row] = real_value(scan->statement, slot->result);
		else
			keep_text(scan, slot->result, &slot->values.text[row]);
	}
}

int np_scan_next(struct np_scan *scan, struct np_batch *ret, struct np_err *err)
{
	size_t rows = 0;
	int rc = SQLITE_ROW;

	np_buf_clear(&scan->texts);
	while (!scan->ended && rows < NP_SCAN_ROWS) {
		rc = sqlite3_step(scan->statement);
		if (rc != SQLITE_ROW)
			break;
		read_row(scan, rows++);
	}
	if (rc != SQLITE_ROW && rc != SQLITE_DONE)
		return np_db_fail(np_db_handle(scan->db), rc, np_db_path(scan->db), err);
	/* Stepping a finished statement would start it again. */
	scan->ended = rc == SQLITE_DONE || scan->ended;
	rc = np_buf_check(&scan->texts, err);
	if (rc < 0)
		return rc;
	ret->rows = rows;
	for (size_t i = 0; i < scan->count; i++) {
		if (scan->slot[i].type == NP_SCAN_TEXT && scan->slot[i].present)
			finish_texts(scan, &scan->slot[i], rows);
		ret->column[i].integer = scan->slot[i].values.integer;
	}
	return NP_OK;
}
