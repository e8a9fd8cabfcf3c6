/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The page engine of np_scan on arbitrary bytes: whatever file SQLite gets the
 * schema of, all tables end in rows or in an error, and every text is whole.
 */
#include "core/format/db/db_private.h"
#include "core/format/scan/scan_private.h"

#include <unistd.h>

/* No input of libFuzzer's is longer, nor reads as more rows: each page of 512 has at most 84. */
#define INPUT_MAX ((size_t)1 << 16)
#define ROWS_MAX  (INPUT_MAX / 512 * 84)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Not assert(): the targets are built with optimisation. */
static void require(bool holds)
{
	if (!holds)
		abort();
}

/* A new file each time: libFuzzer does not leave through exit(), where one could be removed. */
static bool write_file(char *path, const uint8_t *data, size_t size)
{
	int file = mkstemp(path);
	bool ok;

	if (file < 0)
		return false;
	ok = write(file, data, size) == (ssize_t)size;
	(void)close(file);
	return ok;
}

static void check_batch(const struct np_batch *batch, const struct np_scan_column *columns,
			size_t count)
{
	for (size_t i = 0; i < count; i++) {
		for (size_t row = 0; row < batch->rows && columns[i].type == NP_SCAN_TEXT; row++) {
			struct np_scan_text text = batch->column[i].text[row];

			require(text.bytes ? text.bytes[text.length] == '\0' : text.length == 0);
		}
	}
}

static void scan_table(struct np_db *db, const char *table)
{
	static const struct np_scan_column columns[] = {
		{ "a", NP_SCAN_INTEGER, NP_OPTIONAL }, { "b", NP_SCAN_INTEGER, NP_OPTIONAL },
		{ "c", NP_SCAN_INTEGER, NP_OPTIONAL }, { "c", NP_SCAN_REAL, NP_OPTIONAL },
		{ "b", NP_SCAN_REAL, NP_OPTIONAL },    { "b", NP_SCAN_TEXT, NP_OPTIONAL },
		{ "a", NP_SCAN_TEXT, NP_OPTIONAL },
	};

	/* The first three alone take the way for tables of integers. */
	for (size_t count = 3; count <= NP_COUNT(columns); count += 4) {
		NP_CLEANUP(np_scan_closep) struct np_scan *scan = NULL;
		struct np_batch batch = { .rows = 1 };
		size_t rows = 0;

		if (np_scan_open(db, table, columns, count, &scan, NULL) < 0)
			return;
		while (batch.rows > 0 && np_scan_next(scan, &batch, NULL) == NP_OK) {
			check_batch(&batch, columns, count);
			rows += batch.rows;
		}
		require(rows <= ROWS_MAX || !np_scan_reads_pages(scan));
	}
}

static void scan_tables(const char *path)
{
	NP_CLEANUP(np_db_closep) struct np_db *db = NULL;
	sqlite3_stmt *names = NULL;
	int left = 4;

	if (np_db_open(path, &db, NULL) < 0)
		return;
	/* Views can make SQLite itself work for ever. */
	(void)sqlite3_prepare_v2(np_db_handle(db),
				 "SELECT name FROM sqlite_master WHERE type = 'table'"
				 " AND rootpage > 0",
				 -1, &names, NULL);
	while (names && left-- > 0 && sqlite3_step(names) == SQLITE_ROW) {
		const char *name = (const char *)sqlite3_column_text(names, 0);

		if (name)
			scan_table(db, name);
	}
	(void)sqlite3_finalize(names);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char path[] = "/tmp/npuprof-fuzz-XXXXXX";

	if (size <= INPUT_MAX && write_file(path, data, size))
		scan_tables(path);
	(void)unlink(path);
	return 0;
}
