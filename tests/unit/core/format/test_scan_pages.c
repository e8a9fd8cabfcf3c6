/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The page engine of np_scan against SQLite: the two must read alike whatever
 * SQLite can write, and the page engine must survive what it cannot.
 */
#include "core/format/scan/scan_private.h"

#include "np_fault.h"
#include "np_random.h"
#include "np_test.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

static char directory[64];
static char path[96];

static int make_directory(void **state)
{
	(void)state;
	(void)snprintf(directory, sizeof(directory), "/tmp/npuprof-pages-XXXXXX");
	if (!mkdtemp(directory))
		return -1;
	(void)snprintf(path, sizeof(path), "%s/a.db", directory);
	return 0;
}

static int remove_directory(void **state)
{
	(void)state;
	(void)unlink(path);
	return rmdir(directory);
}

/* Writing databases */

static void exec(sqlite3 *handle, const char *sql)
{
	char *message = NULL;

	if (sqlite3_exec(handle, sql, NULL, NULL, &message) != SQLITE_OK)
		fail_msg("%s: %s", message, sql);
}

NP_PRINTF(2, 3) static void execf(sqlite3 *handle, const char *fmt, ...)
{
	va_list args;
	char *sql;

	va_start(args, fmt);
	assert_true(vasprintf(&sql, fmt, args) > 0);
	va_end(args);
	exec(handle, sql);
	free(sql);
}

/* A new database; `reserved` bytes at the end of each page are left alone. */
static sqlite3 *create(size_t page_size, int reserved)
{
	sqlite3 *handle = NULL;

	(void)unlink(path);
	assert_int_equal(sqlite3_open(path, &handle), SQLITE_OK);
	execf(handle, "PRAGMA page_size=%zu", page_size);
	exec(handle, "PRAGMA synchronous=OFF");
	if (reserved > 0)
		assert_int_equal(
			sqlite3_file_control(handle, "main", SQLITE_FCNTL_RESERVE_BYTES, &reserved),
			SQLITE_OK);
	return handle;
}

static void finish(sqlite3 *handle)
{
	assert_int_equal(sqlite3_close(handle), SQLITE_OK);
}

/* Reading them both ways */

static struct np_db *open_db(void)
{
	struct np_err err = NP_ERR_INIT;
	struct np_db *db = NULL;

	assert_ok(np_db_open(path, &db, &err), err);
	return db;
}

static void assert_same_text(struct np_scan_text a, struct np_scan_text b)
{
	assert_int_equal(a.bytes == NULL, b.bytes == NULL);
	assert_int_equal(a.length, b.length);
	if (!a.bytes)
		return;
	assert_memory_equal(a.bytes, b.bytes, a.length);
	assert_int_equal(a.bytes[a.length], 0);
}

static void assert_same_cell(enum np_scan_type type, union np_scan_values a, union np_scan_values b,
			     size_t row)
{
	if (type == NP_SCAN_INTEGER)
		assert_int_equal(a.integer[row], b.integer[row]);
	else if (type == NP_SCAN_TEXT)
		assert_same_text(a.text[row], b.text[row]);
	else if (!isnan(a.real[row]) || !isnan(b.real[row]))
		assert_memory_equal(&a.real[row], &b.real[row], sizeof(double));
}

/* Read a table with both engines; returns the number of its rows. */
static size_t read_both(const char *table, const struct np_scan_column *columns, size_t count,
			bool by_pages)
{
	NP_CLEANUP(np_db_closep) struct np_db *db = open_db();
	NP_CLEANUP(np_scan_closep) struct np_scan *fast = NULL;
	NP_CLEANUP(np_scan_closep) struct np_scan *slow = NULL;
	struct np_err err = NP_ERR_INIT;
	struct np_batch a = { .rows = 1 };
	struct np_batch b;
	size_t rows = 0;

	assert_ok(np_scan_open_with(db, table, columns, count, NP_SCAN_BY_SQLITE, &slow, &err),
		  err);
	assert_ok(np_scan_open(db, table, columns, count, &fast, &err), err);
	assert_false(np_scan_reads_pages(slow));
	assert_int_equal(np_scan_reads_pages(fast), by_pages);
	while (a.rows > 0) {
		assert_ok(np_scan_next(fast, &a, &err), err);
		assert_ok(np_scan_next(slow, &b, &err), err);
		assert_int_equal(a.rows, b.rows);
		for (size_t i = 0; i < count; i++) {
			for (size_t row = 0; row < a.rows; row++)
				assert_same_cell(columns[i].type, a.column[i], b.column[i], row);
		}
		rows += a.rows;
	}
	/* The end stays the end. */
	assert_ok(np_scan_next(fast, &a, &err), err);
	assert_int_equal(a.rows, 0);
	return rows;
}

/* Random tables */

#define MOST_COLUMNS 24

struct column {
	char name[24];
	bool defaulted; /* rows from before it read as something other than NULL */
};

struct random_table {
	uint64_t seed;
	size_t count;
	struct column column[MOST_COLUMNS + 3];
	size_t key;   /* INTEGER PRIMARY KEY, or SIZE_MAX */
	bool numbers; /* mostly integers, which is what the page engine is best at */
};

static size_t below(struct random_table *table, size_t limit)
{
	return np_random_below(&table->seed, limit);
}

/* An integer of every size: as many bits as falls out, either sign. */
static int64_t random_integer(struct random_table *table)
{
	uint64_t bits = np_random(&table->seed) >> below(table, 64);

	return below(table, 2) ? (int64_t)bits : (int64_t)~bits;
}

static double random_real(struct random_table *table)
{
	static const double odd[] = { 0.0,    -0.0,    1.0,    1e300, -1e-300,         0x1p53,
				      0x1p63, 1.0 / 3, 123456, -17.0, (double)INFINITY };
	uint64_t bits = np_random(&table->seed);
	double value;

	if (below(table, 3) == 0)
		return odd[below(table, NP_COUNT(odd))];
	memcpy(&value, &bits, sizeof(value));
	return value;
}

/* Mostly short, sometimes longer than a page, now and then much longer. */
static size_t random_length(struct random_table *table)
{
	switch (below(table, 16)) {
	case 0:
		return 0;
	case 1:
		return below(table, 3000);
	case 2:
		return below(table, 16) == 0 ? below(table, 200000) : below(table, 200);
	default:
		return below(table, 20);
	}
}

static void bind_bytes(struct random_table *table, sqlite3_stmt *statement, int index, bool is_text)
{
	static const char *const numbers[] = {
		"12",  "-7.5",  " 42 ", "1e3",  "9223372036854775807",
		"0x1", "12abc", "",     "+3",   "99999999999999999999",
		".5",  "inf",   "NaN",  "0.49", "1736405443881410.320"
	};
	size_t length = random_length(table);
	char *bytes;

	if (below(table, 3) == 0) {
		const char *number = numbers[below(table, NP_COUNT(numbers))];

		(void)sqlite3_bind_text(statement, index, number, -1, SQLITE_STATIC);
		return;
	}
	bytes = malloc(length + 1);
	assert_non_null(bytes);
	for (size_t i = 0; i < length; i++)
		bytes[i] = (char)(is_text ? 'a' + (int)below(table, 26) : (int)below(table, 256));
	if (is_text)
		(void)sqlite3_bind_text(statement, index, bytes, (int)length, free);
	else
		(void)sqlite3_bind_blob(statement, index, bytes, (int)length, free);
}

static void bind_random(struct random_table *table, sqlite3_stmt *statement, int index, size_t kind)
{
	switch (kind) {
	case 0:
		(void)sqlite3_bind_null(statement, index);
		break;
	case 1:
		(void)sqlite3_bind_double(statement, index, random_real(table));
		break;
	case 2:
		bind_bytes(table, statement, index, true);
		break;
	case 3:
		bind_bytes(table, statement, index, false);
		break;
	default:
		(void)sqlite3_bind_int64(statement, index, random_integer(table));
		break;
	}
}

/* Whatever bytes come: a statement that fails because of a duplicate key is no loss. */
static void run_random(struct random_table *table, sqlite3 *handle, const char *sql,
		       bool only_integers)
{
	sqlite3_stmt *statement = NULL;

	if (sqlite3_prepare_v2(handle, sql, -1, &statement, NULL) != SQLITE_OK)
		fail_msg("%s: %s", sqlite3_errmsg(handle), sql);
	for (int i = 1; i <= sqlite3_bind_parameter_count(statement); i++) {
		bool key = table->key == (size_t)i - 1;

		bind_random(table, statement, i, key || only_integers ? 4 : below(table, 7));
	}
	(void)sqlite3_step(statement);
	(void)sqlite3_finalize(statement);
}

static void insert_rows(struct random_table *table, sqlite3 *handle, size_t count)
{
	bool own_rowids = table->key == SIZE_MAX && below(table, 4) == 0;
	char sql[256] = "INSERT INTO t(";
	size_t used = strlen(sql);

	for (size_t i = 0; i < table->count; i++)
		used += (size_t)snprintf(sql + used, sizeof(sql) - used, "%s%s", i ? "," : "",
					 table->column[i].name);
	used += (size_t)snprintf(sql + used, sizeof(sql) - used, "%s) VALUES(?",
				 own_rowids ? ",rowid" : "");
	for (size_t i = 1; i < table->count; i++)
		used += (size_t)snprintf(sql + used, sizeof(sql) - used, ",?");
	(void)snprintf(sql + used, sizeof(sql) - used,
		       own_rowids ? ",abs(random())-(1<<62))" : ")");
	exec(handle, "BEGIN");
	for (size_t i = 0; i < count; i++)
		run_random(table, handle, sql, table->numbers && below(table, 200) > 0);
	exec(handle, "COMMIT");
}

static void create_table(struct random_table *table, sqlite3 *handle)
{
	static const char *const types[] = { "INTEGER", "TEXT",   "REAL", "NUMERIC", "BLOB",
					     "",        "DOUBLE", "INT",  "FLOAT" };
	char sql[512] = "CREATE TABLE t(";
	size_t used = strlen(sql);

	table->numbers = below(table, 2);
	table->count = 1 + below(table, MOST_COLUMNS);
	table->key = below(table, 2) ? below(table, table->count) : SIZE_MAX;
	for (size_t i = 0; i < table->count; i++) {
		const char *type =
			table->numbers ? "NUMERIC" : types[below(table, NP_COUNT(types))];

		(void)snprintf(table->column[i].name, sizeof(table->column[i].name), "c%zu", i);
		used += (size_t)snprintf(sql + used, sizeof(sql) - used, "%s%s %s", i ? "," : "",
					 table->column[i].name,
					 i == table->key ? "INTEGER PRIMARY KEY" : type);
	}
	(void)snprintf(sql + used, sizeof(sql) - used, ")");
	exec(handle, sql);
}

/* Columns that the rows so far do not have. */
static void alter_table(struct random_table *table, sqlite3 *handle)
{
	static const char *const forms[] = { "INTEGER", "TEXT DEFAULT NULL", "INTEGER DEFAULT 7",
					     "REAL DEFAULT 3", "TEXT DEFAULT 'x'" };
	size_t more = below(table, 4);

	for (size_t i = 0; i < more; i++) {
		struct column *column = &table->column[table->count];
		size_t form = below(table, NP_COUNT(forms));

		(void)snprintf(column->name, sizeof(column->name), "c%zu", table->count);
		column->defaulted = form >= 2;
		execf(handle, "ALTER TABLE t ADD COLUMN %s %s", column->name, forms[form]);
		table->count++;
	}
}

static void write_random(struct random_table *table)
{
	static const size_t many[] = { 0, 1, 3, 50, 300, 2500 };
	sqlite3 *handle = create((size_t)512 << below(table, 8),
				 below(table, 3) == 0 ? (int)below(table, 33) : 0);

	execf(handle, "PRAGMA auto_vacuum=%zu", below(table, 3));
	if (below(table, 4) == 0)
		exec(handle, "PRAGMA journal_mode=WAL");
	create_table(table, handle);
	exec(handle, "CREATE TABLE other(a)");
	insert_rows(table, handle, many[below(table, NP_COUNT(many))]);
	if (below(table, 3) == 0) {
		execf(handle, "DELETE FROM t WHERE rowid %% %zu = 0", 2 + below(table, 5));
		exec(handle, "INSERT INTO other VALUES(zeroblob(5000))");
		if (table->key != 0)
			exec(handle, "UPDATE t SET c0 = NULL WHERE rowid % 3 = 1");
	}
	alter_table(table, handle);
	insert_rows(table, handle, many[below(table, 5)]);
	finish(handle);
}

/* Ask for some columns, some of them twice, as some types, and for one that is not there. */
static size_t choose_columns(struct random_table *table, struct np_scan_column *columns,
			     bool *by_pages)
{
	bool only_integers = below(table, 3) > 0;
	size_t count = below(table, only_integers ? 5 : NP_SCAN_COLUMNS + 1);

	*by_pages = true;
	for (size_t i = 0; i < count; i++) {
		const struct column *column = &table->column[below(table, table->count)];

		columns[i] =
			(struct np_scan_column){ column->name,
						 only_integers ? NP_SCAN_INTEGER
							       : (enum np_scan_type)below(table, 3),
						 NP_REQUIRED };
		if (below(table, 16) == 0)
			columns[i] =
				(struct np_scan_column){ "none", columns[i].type, NP_OPTIONAL };
		else if (column->defaulted)
			*by_pages = false;
	}
	return count;
}

static void random_tables_read_as_sqlite_reads_them(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 200; seed++) {
		struct random_table table = { .seed = seed * 1000 };
		struct np_scan_column columns[NP_SCAN_COLUMNS];

		write_random(&table);
		for (size_t i = 0; i < 5; i++) {
			bool by_pages;
			size_t count = choose_columns(&table, columns, &by_pages);

			(void)read_both("t", columns, count, by_pages);
		}
	}
}

/* Particular tables */

static const struct np_scan_column a_and_b[] = {
	{ "a", NP_SCAN_INTEGER, NP_REQUIRED },
	{ "b", NP_SCAN_TEXT, NP_OPTIONAL },
};

static void write_sql(size_t page_size, const char *sql)
{
	sqlite3 *handle = create(page_size, 0);

	exec(handle, sql);
	finish(handle);
}

static void a_tree_of_many_levels_is_read_in_order(void **state)
{
	(void)state;
	write_sql(512, "CREATE TABLE t(a INTEGER PRIMARY KEY, b TEXT);"
		       "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<30000)"
		       " INSERT INTO t SELECT i*7919%30011*1000000007, i FROM n");
	assert_int_equal(read_both("t", a_and_b, 2, true), 30000);
}

static size_t rows_expected(enum np_scan_engine engine)
{
	NP_CLEANUP(np_db_closep) struct np_db *db = open_db();
	NP_CLEANUP(np_scan_closep) struct np_scan *scan = NULL;
	struct np_err err = NP_ERR_INIT;
	struct np_batch batch;

	assert_ok(np_scan_open_with(db, "t", a_and_b, 2, engine, &scan, &err), err);
	assert_ok(np_scan_next(scan, &batch, &err), err);
	return np_scan_about(scan);
}

static void the_first_rows_tell_about_how_many_there_are(void **state)
{
	(void)state;
	/* Three levels: the last page below the root may have one child where others have many. */
	write_sql(4096, "CREATE TABLE t(a INTEGER, b TEXT);"
			"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE"
			" i<300000) INSERT INTO t SELECT 123456789, 'name' FROM n");
	assert_in_range(rows_expected(NP_SCAN_BY_ANY), 300000, 600000);
	assert_int_equal(rows_expected(NP_SCAN_BY_SQLITE), 0);
}

static void texts_of_all_lengths_around_a_page_are_whole(void **state)
{
	(void)state;
	/* Payloads of 0 to 3 pages, byte by byte: each way they can end on the leaf or behind it.
	 */
	write_sql(512, "CREATE TABLE t(a INTEGER, b TEXT);"
		       "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i+1 FROM n WHERE i<1600)"
		       " INSERT INTO t SELECT i, substr(hex(randomblob(801)), 1, i) FROM n");
	assert_int_equal(read_both("t", a_and_b, 2, true), 1601);
}

static void write_wide(int count)
{
	NP_CLEANUP(np_buf_release) struct np_buf sql = NP_BUF_INIT;

	np_buf_add(&sql, "CREATE TABLE t(c0");
	for (int i = 1; i < count; i++)
		np_buf_printf(&sql, ",c%d", i);
	np_buf_printf(&sql,
		      "); INSERT INTO t(c3,c%d) VALUES(1,-5),(2.5,70000),(NULL,NULL),(1000,2)",
		      count - 1);
	write_sql(512, sql.text);
}

static void headers_of_wide_tables_are_read(void **state)
{
	static const struct np_scan_column columns[] = {
		{ "c1899|c126", NP_SCAN_INTEGER, NP_REQUIRED },
		{ "c3", NP_SCAN_INTEGER, NP_REQUIRED },
	};

	(void)state;
	/* Longer than a page. */
	write_wide(1900);
	assert_int_equal(read_both("t", columns, 2, true), 4);
	/* 129 bytes, a number which itself takes two: 81 01. */
	write_wide(127);
	assert_int_equal(read_both("t", columns, 2, true), 4);
	assert_int_equal(read_both("t", columns + 1, 1, true), 4);
}

static void what_is_no_plain_table_is_left_to_sqlite(void **state)
{
	static const char *const tables[] = {
		"CREATE TABLE t(a INTEGER PRIMARY KEY, b) WITHOUT ROWID",
		"CREATE TABLE t(b, a TEXT PRIMARY KEY) WITHOUT ROWID",
		"CREATE TABLE t(a, b, c AS (a+1) VIRTUAL)",
		"CREATE TABLE t(c AS (a+1) STORED, a, b)",
		"CREATE TABLE t(a INTEGER DEFAULT 5, b)",
		"PRAGMA encoding='UTF-16le'; CREATE TABLE t(a, b)",
	};

	(void)state;
	for (size_t i = 0; i < NP_COUNT(tables); i++) {
		sqlite3 *handle = create(4096, 0);

		exec(handle, tables[i]);
		exec(handle, "INSERT INTO t(a,b) VALUES(5,'five'),(3,'three'),(4,NULL)");
		finish(handle);
		assert_int_equal(read_both("t", a_and_b, 2, false), 3);
	}
	write_sql(4096, "CREATE TABLE u(a,b); INSERT INTO u VALUES(1,2);"
			" CREATE VIEW t AS SELECT b AS a FROM u");
	assert_int_equal(read_both("t", a_and_b, 2, false), 1);
}

static void primary_keys_that_are_not_the_rowid_are_read_from_the_record(void **state)
{
	static const char *const keys[] = {
		"CREATE TABLE t(a INTEGER PRIMARY KEY DESC, b)",
		"CREATE TABLE t(a INT PRIMARY KEY, b)",
		"CREATE TABLE t(a INTEGER, b, PRIMARY KEY(a, b))",
		"CREATE TABLE t(a INTEGER, b, PRIMARY KEY(a DESC))",
		"CREATE TABLE t(b, a INTEGER, PRIMARY KEY(a))",
		"CREATE TABLE t(a \"INTEGER\" PRIMARY KEY AUTOINCREMENT, b)",
		"CREATE TABLE t(a INTEGER UNIQUE, b INTEGER PRIMARY KEY)",
	};

	(void)state;
	for (size_t i = 0; i < NP_COUNT(keys); i++) {
		sqlite3 *handle = create(4096, 0);

		exec(handle, keys[i]);
		exec(handle, "INSERT INTO t(a,b) VALUES(5,50),(3,30),(4,40)");
		finish(handle);
		assert_int_equal(read_both("t", a_and_b, 2, true), 3);
	}
}

static void an_index_that_covers_the_columns_does_not_change_the_order(void **state)
{
	(void)state;
	write_sql(4096, "CREATE TABLE t(a INTEGER, c); CREATE INDEX i ON t(a);"
			"INSERT INTO t VALUES(3,1),(1,1),(2,1)");
	assert_int_equal(read_both("t", a_and_b, 1, true), 3);
}

/* SQLite itself would write the value as a real; another writer need not. */
static void a_large_integer_in_a_real_column_is_a_real(void **state)
{
	sqlite3 *handle = create(4096, 0);

	(void)state;
	exec(handle, "CREATE TABLE t(a,b); INSERT INTO t VALUES(9007199254740993,9007199254740993);"
		     "PRAGMA writable_schema=ON;"
		     "UPDATE sqlite_master SET sql='CREATE TABLE t(a REAL, b REAL)'");
	finish(handle);
	assert_int_equal(read_both("t", a_and_b, 1, true), 1);
	assert_int_equal(read_both("t", a_and_b, 2, true), 1);
}

static void rows_still_in_a_log_are_read(void **state)
{
	sqlite3 *handle = create(4096, 0);

	(void)state;
	exec(handle, "PRAGMA journal_mode=WAL; CREATE TABLE t(a,b); INSERT INTO t VALUES(1,'x');"
		     "INSERT INTO t SELECT a+1, b FROM t; INSERT INTO t SELECT a+2, b FROM t");
	assert_int_equal(read_both("t", a_and_b, 2, true), 4);
	finish(handle);
}

/* Damage */

#define IMAGE_MAX (1 << 20)

/* The file in memory, to be damaged and mended. */
static uint8_t image[IMAGE_MAX];
static size_t image_size;

static void read_image(void)
{
	int fd = open(path, O_RDONLY);
	ssize_t got = read(fd, image, sizeof(image));

	assert_true(got > 0 && got < IMAGE_MAX);
	image_size = (size_t)got;
	(void)close(fd);
}

static void write_image(const uint8_t *bytes, size_t size)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_int_equal(write(fd, bytes, size), size);
	(void)close(fd);
}

/* A table with interior pages, texts on overflow pages and all kinds of values; 512-byte pages. */
static void write_victim(void)
{
	write_sql(512, "CREATE TABLE t(a INTEGER, b TEXT, c REAL);"
		       "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<400)"
		       " INSERT INTO t SELECT i*i*i, CASE i%50 WHEN 0 THEN hex(zeroblob(700))"
		       " ELSE i END, i/3.0 FROM n");
	read_image();
}

static const struct np_scan_column victim_columns[] = {
	{ "a", NP_SCAN_INTEGER, NP_OPTIONAL },
	{ "b", NP_SCAN_TEXT, NP_OPTIONAL },
	{ "c", NP_SCAN_REAL, NP_OPTIONAL },
};

/* Read everything; touches every byte handed out, for the sanitizers to see. */
static int read_all(const struct np_scan_column *columns, size_t count, size_t *rows,
		    struct np_err *err)
{
	NP_CLEANUP(np_db_closep) struct np_db *db = NULL;
	NP_CLEANUP(np_scan_closep) struct np_scan *scan = NULL;
	struct np_batch batch = { .rows = 1 };
	int rc = np_db_open(path, &db, err);

	*rows = 0;
	if (rc == NP_OK)
		rc = np_scan_open(db, "t", columns, count, &scan, err);
	while (rc == NP_OK && batch.rows > 0) {
		rc = np_scan_next(scan, &batch, err);
		if (rc < 0)
			break;
		for (size_t i = 0; i < batch.rows && count > 1 && columns[1].type == NP_SCAN_TEXT;
		     i++) {
			struct np_scan_text text = batch.column[1].text[i];

			assert_true(!text.bytes || text.bytes[text.length] == '\0');
			assert_true(text.length <= image_size);
		}
		*rows += batch.rows;
	}
	return rc;
}

static void assert_damaged(void)
{
	struct np_err err = NP_ERR_INIT;
	size_t rows;

	assert_int_equal(read_all(victim_columns, 3, &rows, &err), NP_E_FORMAT);
	assert_non_null(strstr(err.text, "is damaged or cut short"));
}

/* The page that table t begins on. */
static size_t root_offset(void)
{
	sqlite3_stmt *statement = NULL;
	sqlite3 *handle = NULL;
	size_t offset;

	assert_int_equal(sqlite3_open(path, &handle), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(handle,
					    "SELECT rootpage FROM sqlite_master WHERE name='t'", -1,
					    &statement, NULL),
			 SQLITE_OK);
	assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
	offset = (size_t)(sqlite3_column_int(statement, 0) - 1) * 512;
	(void)sqlite3_finalize(statement);
	finish(handle);
	return offset;
}

/* Not even by asking again can rows get lost. */
static void assert_stays_damaged(void)
{
	NP_CLEANUP(np_db_closep) struct np_db *db = open_db();
	NP_CLEANUP(np_scan_closep) struct np_scan *scan = NULL;
	struct np_err err = NP_ERR_INIT;
	struct np_batch batch = { .rows = 1 };

	assert_ok(np_scan_open(db, "t", victim_columns, 1, &scan, &err), err);
	assert_true(np_scan_reads_pages(scan));
	while (np_scan_next(scan, &batch, &err) == NP_OK)
		assert_int_not_equal(batch.rows, 0);
	assert_int_equal(np_scan_next(scan, &batch, &err), NP_E_FORMAT);
}

static void a_page_of_another_kind_is_damage(void **state)
{
	size_t child;

	(void)state;
	write_victim();
	/* The right-most child of the root is at 8. */
	child = ((size_t)image[root_offset() + 10] << 8 | image[root_offset() + 11]) - 1;
	image[child * 512] = 0x0a;
	write_image(image, image_size);
	assert_damaged();
	assert_stays_damaged();
}

static void a_tree_that_contains_itself_is_damage(void **state)
{
	size_t root;

	(void)state;
	write_victim();
	root = root_offset();
	image[root + 10] = 0;
	image[root + 11] = (uint8_t)(root / 512 + 1);
	write_image(image, image_size);
	assert_damaged();
	/* Without other children it is nothing but deep. */
	image[root + 3] = 0;
	image[root + 4] = 0;
	write_image(image, image_size);
	assert_damaged();
}

/* A cell at the end of its page; the image is to be changed there and written again. */
static uint8_t *only_cell(const char *sql)
{
	const uint8_t *leaf;

	write_sql(512, sql);
	read_image();
	leaf = image + root_offset();
	return image + root_offset() + ((size_t)leaf[8] << 8 | leaf[9]);
}

static void put_varint(uint8_t *bytes, unsigned value)
{
	bytes[0] = (uint8_t)(0x80 | value >> 7);
	bytes[1] = value & 0x7f;
}

static void a_chain_that_contains_itself_is_damage(void **state)
{
	/*
	 * 604 bytes of payload are 96 on the leaf and a page of 508. With 8189 of
	 * them it is 61 and 16 pages, and the file has no more than 16 in all.
	 */
	uint8_t *cell = only_cell("CREATE TABLE t(a, b TEXT); CREATE TABLE u(x);"
				  "INSERT INTO t VALUES(NULL, hex(zeroblob(300)));"
				  "INSERT INTO u VALUES(zeroblob(6100))");
	size_t page = cell[3 + 96 + 3];

	(void)state;
	assert_int_equal(image_size, 16 * 512);
	put_varint(cell, 8189);
	put_varint(cell + 5, 13 + 2 * (8189 - 4));
	memcpy(cell + 3 + 61, (uint8_t[]){ 0, 0, 0, (uint8_t)page }, 4);
	memcpy(image + (page - 1) * 512, (uint8_t[]){ 0, 0, 0, (uint8_t)page }, 4);
	write_image(image, image_size);
	assert_damaged();
}

static void a_payload_that_ends_behind_its_page_is_damage(void **state)
{
	/* Payloads of 300 are on the leaf as a whole; of 712 as much as there is room for, 204. */
	static const unsigned sizes[] = { 300, 712 };

	(void)state;
	for (size_t i = 0; i < NP_COUNT(sizes); i++) {
		uint8_t *cell = only_cell("CREATE TABLE t(a, b TEXT);"
					  "INSERT INTO t VALUES(NULL, hex(zeroblob(100)))");

		put_varint(cell, sizes[i]);
		write_image(image, image_size);
		assert_damaged();
	}
}

static void a_value_that_ends_behind_its_payload_is_damage(void **state)
{
	static const struct np_scan_column integers[] = { { "a", NP_SCAN_INTEGER, NP_REQUIRED },
							  { "b", NP_SCAN_INTEGER, NP_REQUIRED } };
	struct np_err err = NP_ERR_INIT;
	uint8_t *cell;
	size_t rows;

	(void)state;
	cell = only_cell("CREATE TABLE t(a, b TEXT);"
			 "INSERT INTO t VALUES(NULL, hex(zeroblob(100)))");
	put_varint(cell + 5, 13 + 2 * 201);
	write_image(image, image_size);
	assert_damaged();
	/* A number of 8 bytes instead of one: size, rowid, size of the header, type, type. */
	cell = only_cell("CREATE TABLE t(a, b); INSERT INTO t VALUES(5, 6)");
	assert_int_equal(cell[4], 1);
	cell[4] = 6;
	write_image(image, image_size);
	assert_int_equal(read_all(integers, 2, &rows, &err), NP_E_FORMAT);
}

static void a_header_of_an_impossible_size_is_damage(void **state)
{
	static const uint8_t sizes[] = { 0, 90, 0xff };

	(void)state;
	for (size_t i = 0; i < NP_COUNT(sizes); i++) {
		uint8_t *cell = only_cell("CREATE TABLE t(a, b); INSERT INTO t VALUES(5, 6)");

		assert_int_equal(cell[2], 3);
		cell[2] = sizes[i];
		write_image(image, image_size);
		assert_damaged();
	}
}

static void a_type_of_no_meaning_is_damage(void **state)
{
	/* Of 2^32 bytes: 13 + 2 * 2^32 as a varint. */
	static const uint8_t huge[] = { 0xa0, 0x80, 0x80, 0x80, 0x0d };
	uint8_t *cell = only_cell("CREATE TABLE t(a, b); INSERT INTO t VALUES(5, 6)");

	(void)state;
	/* Reserved, and never in a file. */
	cell[3] = 10;
	write_image(image, image_size);
	assert_damaged();
	cell = only_cell("CREATE TABLE t(a, b); INSERT INTO t VALUES(NULL, hex(zeroblob(100)))");
	cell[3] = 2 + sizeof(huge);
	memcpy(cell + 5, huge, sizeof(huge));
	write_image(image, image_size);
	assert_damaged();
}

static void what_is_not_a_number_is_null(void **state)
{
	static const struct np_scan_column columns[] = { { "a", NP_SCAN_INTEGER, NP_REQUIRED },
							 { "a", NP_SCAN_REAL, NP_REQUIRED },
							 { "a", NP_SCAN_TEXT, NP_REQUIRED } };
	uint8_t *cell = only_cell("CREATE TABLE t(a); INSERT INTO t VALUES(1.5)");

	(void)state;
	/* 1.5 is 3ff8…, and 7ff8… is a NaN, which SQLite does not write. */
	assert_int_equal(cell[4], 0x3f);
	cell[4] = 0x7f;
	write_image(image, image_size);
	assert_int_equal(read_both("t", columns, 3, true), 1);
}

static void a_child_that_is_not_in_the_file_is_damage(void **state)
{
	(void)state;
	write_victim();
	memset(image + root_offset() + 8, 0xff, 4);
	write_image(image, image_size);
	assert_damaged();
	write_victim();
	memset(image + root_offset() + 8, 0, 4);
	write_image(image, image_size);
	assert_damaged();
}

static void a_file_cut_short_during_the_scan_is_an_error(void **state)
{
	NP_CLEANUP(np_db_closep) struct np_db *db = NULL;
	NP_CLEANUP(np_scan_closep) struct np_scan *scan = NULL;
	struct np_err err = NP_ERR_INIT;
	struct np_batch batch;

	(void)state;
	write_sql(4096,
		  "CREATE TABLE t(a INTEGER);"
		  "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<90000)"
		  " INSERT INTO t SELECT i<<40 FROM n");
	db = open_db();
	assert_ok(np_scan_open(db, "t", a_and_b, 1, &scan, &err), err);
	assert_ok(np_scan_next(scan, &batch, &err), err);
	assert_int_equal(truncate(path, 40960), 0);
	while (np_scan_next(scan, &batch, &err) == NP_OK)
		assert_int_not_equal(batch.rows, 0);
	assert_int_equal(err.code, NP_E_FORMAT);
	/* And it does not get better by asking again. */
	assert_int_equal(np_scan_next(scan, &batch, &err), NP_E_FORMAT);
}

/* Damage some bytes of `bytes`, mostly where the structure is: the beginnings of pages. */
static void damage(uint64_t *seed, uint8_t *bytes, size_t size)
{
	size_t times = 1 + np_random_below(seed, 4);

	for (size_t i = 0; i < times; i++) {
		size_t at = np_random_below(seed, size);

		if (np_random_below(seed, 2))
			at = at / 512 * 512 + np_random_below(seed, 40);
		/* A damaged schema does not get as far as a scan. */
		if (at < 512 && np_random_below(seed, 8))
			at += 512;
		switch (np_random_below(seed, 3)) {
		case 0:
			bytes[at] ^= (uint8_t)(1 << np_random_below(seed, 8));
			break;
		case 1:
			bytes[at] = (uint8_t)np_random(seed);
			break;
		default:
			bytes[at] = np_random_below(seed, 2) ? 0xff : 0;
			break;
		}
	}
}

static void damaged_files_give_rows_or_an_error(void **state)
{
	static uint8_t bytes[IMAGE_MAX];
	uint64_t seed = 42;
	size_t refused = 0;

	(void)state;
	write_victim();
	for (int i = 0; i < 4000; i++) {
		size_t size = image_size;
		struct np_err err = NP_ERR_INIT;
		size_t rows;

		memcpy(bytes, image, image_size);
		damage(&seed, bytes, image_size);
		if (np_random_below(&seed, 20) == 0)
			size = 1 + np_random_below(&seed, image_size);
		write_image(bytes, size);
		if (read_all(victim_columns, 1 + np_random_below(&seed, 3), &rows, &err) < 0)
			refused++;
		/* No more rows than cells fit on all pages: (512 - 8) / 6 each. */
		assert_true(rows <= image_size / 512 * 84);
	}
	/* It is not that nothing was hit, nor that nothing got through. */
	assert_in_range(refused, 400, 3600);
}

static int read_victim(struct np_err *err)
{
	size_t rows;
	int rc = read_all(victim_columns, 3, &rows, err);

	if (rc == NP_OK)
		assert_int_equal(rows, 400);
	return rc;
}

static void memory_may_run_out_anywhere(void **state)
{
	(void)state;
	write_victim();
	assert_survives_faults(read_victim);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_tables_read_as_sqlite_reads_them),
		cmocka_unit_test(a_tree_of_many_levels_is_read_in_order),
		cmocka_unit_test(the_first_rows_tell_about_how_many_there_are),
		cmocka_unit_test(texts_of_all_lengths_around_a_page_are_whole),
		cmocka_unit_test(headers_of_wide_tables_are_read),
		cmocka_unit_test(what_is_no_plain_table_is_left_to_sqlite),
		cmocka_unit_test(primary_keys_that_are_not_the_rowid_are_read_from_the_record),
		cmocka_unit_test(an_index_that_covers_the_columns_does_not_change_the_order),
		cmocka_unit_test(a_large_integer_in_a_real_column_is_a_real),
		cmocka_unit_test(rows_still_in_a_log_are_read),
		cmocka_unit_test(a_page_of_another_kind_is_damage),
		cmocka_unit_test(a_tree_that_contains_itself_is_damage),
		cmocka_unit_test(a_chain_that_contains_itself_is_damage),
		cmocka_unit_test(a_payload_that_ends_behind_its_page_is_damage),
		cmocka_unit_test(a_value_that_ends_behind_its_payload_is_damage),
		cmocka_unit_test(a_header_of_an_impossible_size_is_damage),
		cmocka_unit_test(a_type_of_no_meaning_is_damage),
		cmocka_unit_test(what_is_not_a_number_is_null),
		cmocka_unit_test(a_child_that_is_not_in_the_file_is_damage),
		cmocka_unit_test(a_file_cut_short_during_the_scan_is_an_error),
		cmocka_unit_test(damaged_files_give_rows_or_an_error),
		cmocka_unit_test(memory_may_run_out_anywhere),
	};

	return cmocka_run_group_tests_name("scan_pages", tests, make_directory, remove_directory);
}
