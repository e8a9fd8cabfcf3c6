/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The page engine of np_scan beside SQLite: the bytes are a table (its pages, types and rows, some
 * of which are deleted or made longer later), which SQLite writes, and both must read it alike.
 */
#include "core/format/db/db_private.h"
#include "core/format/scan/scan_private.h"

#include <math.h>
#include <unistd.h>

#include "fuzz_file.h"

enum {
	COLUMNS = 3,
	ROWS_MOST = 400,
	TEXT_MOST = 5000, /* more than a page, so that rows overflow */
};

struct bytes {
	const uint8_t *at;
	const uint8_t *end;
};

static unsigned int take(struct bytes *bytes)
{
	return bytes->at < bytes->end ? *bytes->at++ : 0;
}

static int64_t take_number(struct bytes *bytes, unsigned int width)
{
	uint64_t value = 0;

	for (unsigned int i = 0; i < width; i++)
		value = value << 8 | take(bytes);
	/* Small ones of both signs, too. */
	return width < 8 && value & 1 ? -(int64_t)(value >> 1) : (int64_t)value;
}

static void bind(sqlite3_stmt *statement, int column, struct bytes *bytes)
{
	static char text[TEXT_MOST];
	unsigned int kind = take(bytes);
	int64_t number;
	double real;
	int length;

	switch (kind % 6) {
	case 0:
		(void)sqlite3_bind_null(statement, column);
		break;
	case 1:
		number = take_number(bytes, kind / 6 % 9);
		(void)sqlite3_bind_int64(statement, column, number);
		break;
	case 2:
		number = take_number(bytes, 8);
		memcpy(&real, &number, sizeof(real));
		(void)sqlite3_bind_double(statement, column, real);
		break;
	case 3: /* a number as text, as some tables have them */
		length = snprintf(text, sizeof(text), kind & 64 ? "%lld.5" : "%lld",
				  (long long)take_number(bytes, kind / 6 % 9));
		(void)sqlite3_bind_text(statement, column, text, length, SQLITE_TRANSIENT);
		break;
	default:
		length = (int)(take(bytes) * (kind & 128 ? 19 : 1));
		for (int i = 0; i < length; i++)
			text[i] = (char)(i < 16 ? (int)take(bytes) : 'a' + i % 26);
		if (kind % 6 == 4)
			(void)sqlite3_bind_text(statement, column, text, length, SQLITE_TRANSIENT);
		else
			(void)sqlite3_bind_blob(statement, column, text, length, SQLITE_TRANSIENT);
		break;
	}
}

static void change(sqlite3 *db, sqlite3_stmt *insert, struct bytes *bytes)
{
	unsigned int kind = take(bytes);
	char sql[96];

	if (kind < 224) {
		for (int i = 1; i <= COLUMNS; i++)
			bind(insert, i, bytes);
		(void)sqlite3_step(insert);
		(void)sqlite3_reset(insert);
		return;
	}
	if (kind < 236)
		(void)snprintf(sql, sizeof(sql), "DELETE FROM t WHERE rowid %% 7 = %u",
			       take(bytes) % 7);
	else if (kind < 246)
		(void)snprintf(sql, sizeof(sql),
			       "UPDATE t SET c = zeroblob(%u) WHERE rowid %% 5 = 1",
			       take(bytes) * 16);
	else if (kind < 250)
		(void)snprintf(sql, sizeof(sql), "ALTER TABLE t ADD COLUMN d%u DEFAULT 7",
			       take(bytes));
	else
		(void)snprintf(sql, sizeof(sql), "VACUUM");
	(void)sqlite3_exec(db, sql, NULL, NULL, NULL);
}

static bool make_table(struct bytes *bytes)
{
	static const char *const types[] = { "INTEGER", "REAL", "TEXT",    "BLOB",
					     "NUMERIC", "",     "INTEGER", "INT" };
	sqlite3_stmt *insert = NULL;
	sqlite3 *db = NULL;
	char sql[256];
	unsigned int head = take(bytes);
	unsigned int key = take(bytes);

	if (sqlite3_open(fuzz_path, &db) != SQLITE_OK) {
		(void)sqlite3_close(db);
		return false;
	}
	(void)snprintf(sql, sizeof(sql),
		       "PRAGMA page_size=%u; PRAGMA auto_vacuum=%u; PRAGMA journal_mode=OFF;"
		       "PRAGMA synchronous=OFF; PRAGMA encoding='%s'",
		       512U << (head & 3U), head >> 2 & 1U, head >> 3 & 15U ? "UTF-8" : "UTF-16le");
	(void)sqlite3_exec(db, sql, NULL, NULL, NULL);
	(void)snprintf(sql, sizeof(sql), "CREATE TABLE t (a %s%s, b %s, c %s)",
		       types[take(bytes) % 8], key % 3 == 0 ? " PRIMARY KEY" : "",
		       types[take(bytes) % 8], types[take(bytes) % 8]);
	(void)sqlite3_exec(db, sql, NULL, NULL, NULL);
	(void)sqlite3_exec(db, "BEGIN", NULL, NULL, NULL);
	if (sqlite3_prepare_v2(db, "INSERT INTO t(a,b,c) VALUES(?,?,?)", -1, &insert, NULL) ==
	    SQLITE_OK) {
		for (int rows = 0; rows < ROWS_MOST && bytes->at < bytes->end; rows++)
			change(db, insert, bytes);
	}
	(void)sqlite3_finalize(insert);
	(void)sqlite3_exec(db, "COMMIT", NULL, NULL, NULL);
	return sqlite3_close(db) == SQLITE_OK;
}

static void compare(enum np_scan_type type, union np_scan_values a, union np_scan_values b,
		    size_t row)
{
	if (type == NP_SCAN_INTEGER) {
		require(a.integer[row] == b.integer[row]);
	} else if (type == NP_SCAN_REAL) {
		require((isnan(a.real[row]) && isnan(b.real[row])) ||
			memcmp(&a.real[row], &b.real[row], sizeof(double)) == 0);
	} else {
		require((a.text[row].bytes == NULL) == (b.text[row].bytes == NULL));
		require(a.text[row].length == b.text[row].length);
		require(!a.text[row].bytes ||
			memcmp(a.text[row].bytes, b.text[row].bytes, a.text[row].length) == 0);
	}
}

static void read_both(struct np_db *db, const struct np_scan_column *columns, size_t count)
{
	NP_CLEANUP(np_scan_closep) struct np_scan *fast = NULL;
	NP_CLEANUP(np_scan_closep) struct np_scan *slow = NULL;
	struct np_batch a = { .rows = 1 };
	struct np_batch b = { .rows = 1 };

	require(np_scan_open_with(db, "t", columns, count, NP_SCAN_BY_SQLITE, &slow, NULL) ==
		NP_OK);
	require(np_scan_open(db, "t", columns, count, &fast, NULL) == NP_OK);
	while (a.rows > 0) {
		require(np_scan_next(fast, &a, NULL) == NP_OK);
		require(np_scan_next(slow, &b, NULL) == NP_OK);
		require(a.rows == b.rows);
		for (size_t i = 0; i < count; i++) {
			for (size_t row = 0; row < a.rows; row++)
				compare(columns[i].type, a.column[i], b.column[i], row);
			require(np_scan_wrong(fast, i) == np_scan_wrong(slow, i));
		}
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct np_scan_column columns[] = {
		{ "a", NP_SCAN_INTEGER, NP_OPTIONAL }, { "b", NP_SCAN_INTEGER, NP_OPTIONAL },
		{ "c", NP_SCAN_INTEGER, NP_OPTIONAL }, { "c", NP_SCAN_REAL, NP_OPTIONAL },
		{ "b", NP_SCAN_REAL, NP_OPTIONAL },    { "b", NP_SCAN_TEXT, NP_OPTIONAL },
		{ "a", NP_SCAN_TEXT, NP_OPTIONAL },    { "d7", NP_SCAN_INTEGER, NP_OPTIONAL },
	};
	NP_CLEANUP(np_db_closep) struct np_db *db = NULL;
	struct bytes bytes = { data, data + size };

	/* An empty file is where SQLite begins. */
	if (size < 6 || !fuzz_write_file(data, 0) || !make_table(&bytes) ||
	    np_db_open(fuzz_path, &db, NULL) < 0)
		return 0;
	/* The first three alone take the way for tables of integers. */
	read_both(db, columns, 3);
	read_both(db, columns, NP_COUNT(columns));
	return 0;
}
