/* SPDX-License-Identifier: Apache-2.0 */
#include "npuprof/scan.h"

#include "np_fault.h"
#include "np_fixture.h"
#include "np_random.h"

#include "npuprof/text.h"

/* --- helpers ---------------------------------------------------------------------------------- */

static struct np_db *open_db(const char *path)
{
	struct np_err err = NP_ERR_INIT;
	struct np_db *db = NULL;

	assert_ok(np_db_open(path, &db, &err), err);
	return db;
}

/* A table built from SQL, open for scanning table t. */
struct scanning {
	struct np_db *db;
	struct np_scan *scan;
	struct np_batch batch;
};

static struct scanning begin(const char *sql, const struct np_scan_column *columns, size_t count)
{
	struct scanning it = { 0 };
	struct np_err err = NP_ERR_INIT;

	run_sql(below("x.db"), sql);
	it.db = open_db(below("x.db"));
	assert_ok(np_scan_open(it.db, "t", columns, count, &it.scan, &err), err);
	return it;
}

static size_t next(struct scanning *it)
{
	struct np_err err = NP_ERR_INIT;

	assert_ok(np_scan_next(it->scan, &it->batch, &err), err);
	return it->batch.rows;
}

static void finish(struct scanning *it)
{
	assert_int_equal(next(it), 0);
	/* And again: the end stays the end. */
	assert_int_equal(next(it), 0);
	np_scan_close(it->scan);
	np_db_close(it->db);
}

#define BEGIN(sql, columns) begin(sql, columns, NP_COUNT(columns))

static const struct np_scan_column a_integer[] = { { "a", NP_SCAN_INTEGER, NP_REQUIRED } };
static const struct np_scan_column a_real[] = { { "a", NP_SCAN_REAL, NP_REQUIRED } };
static const struct np_scan_column a_text[] = { { "a", NP_SCAN_TEXT, NP_REQUIRED } };

static void assert_scan_text(struct np_scan_text text, const char *bytes, size_t length)
{
	assert_non_null(text.bytes);
	assert_int_equal(text.length, length);
	assert_memory_equal(text.bytes, bytes, length);
	assert_int_equal(text.bytes[length], '\0');
}

/* --- columns ---------------------------------------------------------------------------------- */

static void the_preferred_of_several_names_is_read(void **state)
{
	static const struct np_scan_column columns[] = { { "blockNum|blockDim", NP_SCAN_INTEGER,
							   NP_OPTIONAL } };
	struct scanning it;

	(void)state;
	it = BEGIN("CREATE TABLE t(blockDim INTEGER, blockNum INTEGER); INSERT INTO t VALUES(1, 2)",
		   columns);
	assert_true(np_scan_has(it.scan, 0));
	assert_int_equal(next(&it), 1);
	assert_int_equal(it.batch.column[0].integer[0], 2);
	finish(&it);
}

static void an_older_name_is_read_where_the_preferred_is_missing(void **state)
{
	static const struct np_scan_column columns[] = { { "newest|blockNum|blockDim",
							   NP_SCAN_INTEGER, NP_REQUIRED } };
	struct scanning it;

	(void)state;
	it = BEGIN("CREATE TABLE t(x, blockDim INTEGER); INSERT INTO t VALUES(9, 1)", columns);
	assert_int_equal(next(&it), 1);
	assert_int_equal(it.batch.column[0].integer[0], 1);
	finish(&it);
}

static void a_missing_table_is_not_found_and_the_file_named(void **state)
{
	struct np_err err = NP_ERR_INIT;
	struct np_scan *scan = NULL;
	struct np_db *db;

	(void)state;
	run_sql(below("x.db"), "CREATE TABLE other(a)");
	db = open_db(below("x.db"));
	assert_int_equal(np_scan_open(db, "t", a_integer, 1, &scan, &err), NP_E_NOTFOUND);
	assert_null(scan);
	assert_holds(err.text, below("x.db"));
	np_db_close(db);
}

static void a_missing_required_column_is_a_wrong_format_that_names_it(void **state)
{
	static const struct np_scan_column columns[] = { { "b|c", NP_SCAN_INTEGER, NP_REQUIRED } };
	struct np_err err = NP_ERR_INIT;
	struct np_scan *scan = NULL;
	struct np_db *db;

	(void)state;
	run_sql(below("x.db"), "CREATE TABLE t(a)");
	db = open_db(below("x.db"));
	assert_int_equal(np_scan_open(db, "t", columns, 1, &scan, &err), NP_E_FORMAT);
	assert_null(scan);
	assert_holds(err.text, below("x.db"));
	assert_holds(err.text, "b|c");
	np_db_close(db);
}

static void optional_columns_that_are_absent_are_unknown_in_every_row(void **state)
{
	static const struct np_scan_column columns[] = {
		{ "x", NP_SCAN_INTEGER, NP_OPTIONAL },
		{ "y", NP_SCAN_REAL, NP_OPTIONAL },
		{ "z", NP_SCAN_TEXT, NP_OPTIONAL },
		{ "a", NP_SCAN_INTEGER, NP_REQUIRED },
	};
	struct scanning it;

	(void)state;
	it = BEGIN("CREATE TABLE t(a); WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1"
		   " FROM n WHERE i < 1500) INSERT INTO t SELECT i FROM n",
		   columns);
	assert_false(np_scan_has(it.scan, 0));
	assert_true(np_scan_has(it.scan, 3));
	for (size_t seen = 0; seen < 1500;) {
		size_t rows = next(&it);

		assert_true(rows > 0);
		for (size_t i = 0; i < rows; i++) {
			assert_int_equal(it.batch.column[0].integer[i], NP_UNKNOWN);
			assert_true(isnan(it.batch.column[1].real[i]));
			assert_null(it.batch.column[2].text[i].bytes);
			assert_int_equal(it.batch.column[3].integer[i], ++seen);
		}
	}
	finish(&it);
}

static void rows_count_even_if_no_column_is_there(void **state)
{
	static const struct np_scan_column columns[] = { { "x", NP_SCAN_TEXT, NP_OPTIONAL } };
	struct scanning it;

	(void)state;
	it = BEGIN("CREATE TABLE t(a); INSERT INTO t VALUES(1), (2), (3)", columns);
	assert_int_equal(next(&it), 3);
	finish(&it);
}

static void one_column_may_be_read_as_several_types(void **state)
{
	static const struct np_scan_column columns[] = {
		{ "a", NP_SCAN_INTEGER, NP_REQUIRED },
		{ "a", NP_SCAN_REAL, NP_REQUIRED },
		{ "a", NP_SCAN_TEXT, NP_REQUIRED },
	};
	struct scanning it;

	(void)state;
	it = BEGIN("CREATE TABLE t(a); INSERT INTO t VALUES(12)", columns);
	assert_int_equal(next(&it), 1);
	assert_int_equal(it.batch.column[0].integer[0], 12);
	assert_near(it.batch.column[1].real[0], 12.0, 0);
	assert_scan_text(it.batch.column[2].text[0], "12", 2);
	finish(&it);
}

static void names_that_are_words_of_sql_are_read(void **state)
{
	static const struct np_scan_column columns[] = {
		{ "index", NP_SCAN_INTEGER, NP_REQUIRED },
		{ "count", NP_SCAN_INTEGER, NP_REQUIRED },
		{ "select", NP_SCAN_INTEGER, NP_REQUIRED },
	};
	struct scanning it;

	(void)state;
	it = BEGIN("CREATE TABLE t(\"select\", \"index\", count); INSERT INTO t VALUES(3, 1, 2)",
		   columns);
	assert_int_equal(next(&it), 1);
	for (int i = 0; i < 3; i++)
		assert_int_equal(it.batch.column[i].integer[0], i + 1);
	finish(&it);
}

/* --- values ----------------------------------------------------------------------------------- */

static void integers_of_every_size_are_read(void **state)
{
	static const int64_t values[] = { 0,
					  1,
					  -1,
					  127,
					  -128,
					  128,
					  32767,
					  -32769,
					  8388607,
					  -8388609,
					  INT32_MAX,
					  INT32_MIN,
					  INT64_C(2147483648),
					  INT64_C(140737488355327),
					  INT64_C(-140737488355329),
					  INT64_C(1736410576386409710),
					  INT64_MAX,
					  INT64_MIN + 1 };
	struct np_buf sql = NP_BUF_INIT;
	struct scanning it;

	(void)state;
	np_buf_add(&sql, "CREATE TABLE t(a INTEGER);");
	for (size_t i = 0; i < NP_COUNT(values); i++)
		np_buf_printf(&sql, "INSERT INTO t VALUES(%lld);", (long long)values[i]);
	it = BEGIN(sql.text, a_integer);
	np_buf_release(&sql);
	assert_int_equal(next(&it), NP_COUNT(values));
	for (size_t i = 0; i < NP_COUNT(values); i++)
		assert_int_equal(it.batch.column[0].integer[i], values[i]);
	finish(&it);
}

/* PYTORCH_API holds its times so. */
static void integers_stored_as_text_are_read(void **state)
{
	struct scanning it;

	(void)state;
	it = BEGIN("CREATE TABLE t(a TEXT); INSERT INTO t VALUES('1736410576386409711'), ('-5'),"
		   " (' 7 '), ('9223372036854775807')",
		   a_integer);
	assert_int_equal(next(&it), 4);
	assert_int_equal(it.batch.column[0].integer[0], INT64_C(1736410576386409711));
	assert_int_equal(it.batch.column[0].integer[1], -5);
	assert_int_equal(it.batch.column[0].integer[2], 7);
	assert_int_equal(it.batch.column[0].integer[3], INT64_MAX);
	finish(&it);
}

static void integers_stored_as_reals_are_read(void **state)
{
	struct scanning it;

	(void)state;
	it = BEGIN("CREATE TABLE t(a REAL); INSERT INTO t VALUES(3), (2.5), (-2.5), (1e15)",
		   a_integer);
	assert_int_equal(next(&it), 4);
	assert_int_equal(it.batch.column[0].integer[0], 3);
	assert_int_equal(it.batch.column[0].integer[1], 3);
	assert_int_equal(it.batch.column[0].integer[2], -3);
	assert_int_equal(it.batch.column[0].integer[3], INT64_C(1000000000000000));
	finish(&it);
}

static void what_is_no_integer_is_unknown(void **state)
{
	struct scanning it;

	(void)state;
	it = BEGIN("CREATE TABLE t(a); INSERT INTO t VALUES(NULL), ('N/A'), (''), ('1e5'), ('12x'),"
		   " (x'31'), (1e300), (-9e999), ('99999999999999999999')",
		   a_integer);
	assert_int_equal(next(&it), 9);
	for (size_t i = 0; i < 9; i++)
		assert_int_equal(it.batch.column[0].integer[i], NP_UNKNOWN);
	finish(&it);
}

static void a_text_that_is_no_number_is_no_zero(void **state)
{
	struct scanning it;

	(void)state;
	it = BEGIN(
		"CREATE TABLE t(a); INSERT INTO t VALUES('N/A'), (''), ('1.5x'), ('inf'), ('0x10'),"
		" (x'31')",
		a_real);
	assert_int_equal(next(&it), 6);
	for (size_t i = 0; i < 6; i++)
		assert_true(isnan(it.batch.column[0].real[i]));
	finish(&it);
}

static void reals_are_read_from_every_kind_of_number(void **state)
{
	struct scanning it;

	(void)state;
	it = BEGIN("CREATE TABLE t(a); INSERT INTO t VALUES(1.5), (2), ('3.25'), (NULL), (-0.0),"
		   " (9007199254740993)",
		   a_real);
	assert_int_equal(next(&it), 6);
	assert_near(it.batch.column[0].real[0], 1.5, 0);
	assert_near(it.batch.column[0].real[1], 2.0, 0);
	assert_near(it.batch.column[0].real[2], 3.25, 0);
	assert_true(isnan(it.batch.column[0].real[3]));
	assert_near(it.batch.column[0].real[4], 0.0, 0);
	assert_near(it.batch.column[0].real[5], 9007199254740992.0, 0);
	finish(&it);
}

/* Counters are such a table: numbers of all kinds beside integers, and now and then something else.
 */
static void reals_beside_integers_are_read_whatever_they_are(void **state)
{
	static const struct np_scan_column columns[] = {
		{ "task", NP_SCAN_INTEGER, NP_REQUIRED },
		{ "value", NP_SCAN_REAL, NP_REQUIRED },
		{ "name", NP_SCAN_INTEGER, NP_REQUIRED },
	};
	static const double values[] = {
		0, 1, 0.5, -3, (double)NAN, 70000, 1e300, 2.5, (double)NAN
	};
	struct scanning it;

	(void)state;
	it = BEGIN(
		"CREATE TABLE t(task INTEGER, other REAL, name INTEGER, value NUMERIC);"
		"WITH v(i, x) AS (VALUES(0, 0), (1, 1), (2, 0.5), (3, -3), (4, NULL), (5, 70000),"
		" (6, 1e300), (7, '2.5'), (8, 'x')), n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n"
		" WHERE i < 899) INSERT INTO t SELECT n.i, 0.25, 7, v.x FROM n JOIN v ON v.i = n.i % 9 ORDER BY n.i",
		columns);
	assert_int_equal(next(&it), 900);
	for (size_t i = 0; i < 900; i++) {
		double expected = values[i % NP_COUNT(values)];

		assert_int_equal(it.batch.column[0].integer[i], i);
		assert_int_equal(it.batch.column[2].integer[i], 7);
		if (isnan(expected))
			assert_true(isnan(it.batch.column[1].real[i]));
		else
			assert_near(it.batch.column[1].real[i], expected, 0);
	}
	finish(&it);
}

/* In a REAL column SQLite stores 2.0 as the integer 2. */
static void whole_reals_of_a_real_column_stay_reals(void **state)
{
	static const struct np_scan_column columns[] = {
		{ "a", NP_SCAN_REAL, NP_REQUIRED },
		{ "a", NP_SCAN_TEXT, NP_REQUIRED },
	};
	struct scanning it;

	(void)state;
	it = BEGIN("CREATE TABLE t(a REAL); INSERT INTO t VALUES(2), (1)", columns);
	assert_int_equal(next(&it), 2);
	assert_near(it.batch.column[0].real[0], 2.0, 0);
	assert_scan_text(it.batch.column[1].text[0], "2.0", 3);
	assert_near(it.batch.column[0].real[1], 1.0, 0);
	finish(&it);
}

static void texts_keep_nul_and_invalid_bytes(void **state)
{
	struct scanning it;

	(void)state;
	it = BEGIN("CREATE TABLE t(a TEXT); INSERT INTO t VALUES('a' || char(0) || 'b'),"
		   " (CAST(x'ff41fe' AS TEXT)), (''), (NULL), ('排名')",
		   a_text);
	assert_int_equal(next(&it), 5);
	assert_scan_text(it.batch.column[0].text[0], "a\0b", 3);
	assert_scan_text(it.batch.column[0].text[1], "\xff\x41\xfe", 3);
	assert_scan_text(it.batch.column[0].text[2], "", 0);
	assert_null(it.batch.column[0].text[3].bytes);
	assert_int_equal(it.batch.column[0].text[3].length, 0);
	assert_scan_text(it.batch.column[0].text[4], "排名", 6);
	finish(&it);
}

static void numbers_in_a_text_column_are_read_as_text(void **state)
{
	struct scanning it;

	(void)state;
	it = BEGIN("CREATE TABLE t(a INTEGER); INSERT INTO t VALUES(50), (-7), (1.5), ('x')",
		   a_text);
	assert_int_equal(next(&it), 4);
	assert_scan_text(it.batch.column[0].text[0], "50", 2);
	assert_scan_text(it.batch.column[0].text[1], "-7", 2);
	assert_scan_text(it.batch.column[0].text[2], "1.5", 3);
	assert_scan_text(it.batch.column[0].text[3], "x", 1);
	finish(&it);
}

static void texts_longer_than_a_page_are_whole(void **state)
{
	struct scanning it;
	struct np_scan_text text;

	(void)state;
	it = BEGIN("PRAGMA page_size=512; CREATE TABLE t(x, a TEXT);"
		   "INSERT INTO t VALUES(1, replace(hex(zeroblob(50000)), '00', 'ab')), (2, 'end')",
		   a_text);
	assert_int_equal(next(&it), 2);
	text = it.batch.column[0].text[0];
	assert_int_equal(text.length, 100000);
	for (size_t i = 0; i < text.length; i++)
		assert_int_equal(text.bytes[i], i % 2 ? 'b' : 'a');
	assert_scan_text(it.batch.column[0].text[1], "end", 3);
	finish(&it);
}

/* Texts of a whole batch stay where they are until the next one. */
static void texts_of_a_batch_stay_valid_together(void **state)
{
	struct scanning it;

	(void)state;
	it = BEGIN("CREATE TABLE t(a TEXT); WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1"
		   " FROM n WHERE i < 3000) INSERT INTO t SELECT printf('%0*d', i % 700 + 4, i)"
		   " FROM n",
		   a_text);
	for (int seen = 0; seen < 3000;) {
		size_t rows = next(&it);

		assert_true(rows > 0);
		for (size_t i = 0; i < rows; i++) {
			char expected[1024];
			int length;

			seen++;
			length = snprintf(expected, sizeof(expected), "%0*d", seen % 700 + 4, seen);
			assert_scan_text(it.batch.column[0].text[i], expected, (size_t)length);
		}
	}
	finish(&it);
}

/* --- tables ----------------------------------------------------------------------------------- */

static void an_empty_table_ends_at_once(void **state)
{
	struct scanning it;

	(void)state;
	it = BEGIN("CREATE TABLE t(a)", a_integer);
	finish(&it);
}

static void batches_are_full_until_the_last(void **state)
{
	struct scanning it;

	(void)state;
	it = BEGIN("CREATE TABLE t(a); WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1"
		   " FROM n WHERE i < 2 * 1024 + 5) INSERT INTO t SELECT i FROM n",
		   a_integer);
	assert_int_equal(next(&it), NP_SCAN_ROWS);
	assert_int_equal(it.batch.column[0].integer[0], 1);
	assert_int_equal(next(&it), NP_SCAN_ROWS);
	assert_int_equal(it.batch.column[0].integer[0], NP_SCAN_ROWS + 1);
	assert_int_equal(next(&it), 5);
	assert_int_equal(it.batch.column[0].integer[4], 2 * NP_SCAN_ROWS + 5);
	finish(&it);
}

/* Rows 1 to 2053; a table without rowid is for the other engine. */
static void rows_can_be_left_out_by_either_engine(void **state)
{
	static const char *const kinds[] = { "CREATE TABLE t(a INTEGER);",
					     "CREATE TABLE t(a INT PRIMARY KEY) WITHOUT ROWID;" };

	(void)state;
	for (size_t i = 0; i < NP_COUNT(kinds); i++) {
		struct np_err err = NP_ERR_INIT;
		struct scanning it;
		char sql[512];

		(void)snprintf(
			sql, sizeof(sql),
			"DROP TABLE IF EXISTS t; %s WITH RECURSIVE n(i) AS (SELECT 1 UNION"
			" ALL SELECT i + 1 FROM n WHERE i < 2053) INSERT INTO t SELECT i FROM n",
			kinds[i]);
		it = BEGIN(sql, a_integer);
		assert_ok(np_scan_skip(it.scan, 3, &err), err);
		assert_int_equal(next(&it), NP_SCAN_ROWS);
		assert_int_equal(it.batch.column[0].integer[0], 4);
		assert_ok(np_scan_skip(it.scan, 1000, &err), err);
		assert_int_equal(next(&it), 26);
		assert_int_equal(it.batch.column[0].integer[0], 2028);
		assert_ok(np_scan_skip(it.scan, 1000, &err), err);
		finish(&it);
	}
}

/* Rows 1 to 5000 are five batches; of a leader that reads all of them two are followed. */
static void a_scan_follows_another_to_its_last_batch(void **state)
{
	static const char *const kinds[] = { "CREATE TABLE t(a INTEGER, b TEXT);",
					     "CREATE TABLE t(a INT PRIMARY KEY, b) WITHOUT ROWID;",
					     "CREATE TABLE t(a INTEGER, b TEXT DEFAULT 'no');" };
	static const struct np_scan_column b_integer[] = { { "b", NP_SCAN_INTEGER, NP_REQUIRED } };

	(void)state;
	for (size_t i = 0; i < NP_COUNT(kinds); i++) {
		struct np_err err = NP_ERR_INIT;
		struct np_scan *follower = NULL;
		struct np_batch batch;
		struct scanning it;
		char sql[512];

		(void)snprintf(
			sql, sizeof(sql),
			"DROP TABLE IF EXISTS t; %s WITH RECURSIVE n(i) AS (SELECT 1 UNION"
			" ALL SELECT i + 1 FROM n WHERE i < 5000) INSERT INTO t SELECT i, i * 2"
			" FROM n",
			kinds[i]);
		it = BEGIN(sql, a_integer);
		assert_ok(np_scan_open(it.db, "t", b_integer, 1, &follower, &err), err);
		for (int64_t first = 1; first <= 5000; first += NP_SCAN_ROWS) {
			bool last = first + NP_SCAN_ROWS > 5000;

			assert_int_equal(next(&it), last ? 904 : NP_SCAN_ROWS);
			assert_int_equal(it.batch.column[0].integer[0], first);
			if (first != 1 + 2 * NP_SCAN_ROWS && !last)
				continue;
			assert_ok(np_scan_follow(follower, it.scan, &err), err);
			assert_ok(np_scan_next(follower, &batch, &err), err);
			assert_int_equal(batch.rows, it.batch.rows);
			for (size_t row = 0; row < batch.rows; row++)
				assert_int_equal(batch.column[0].integer[row],
						 2 * it.batch.column[0].integer[row]);
		}
		assert_ok(np_scan_next(follower, &batch, &err), err);
		assert_int_equal(batch.rows, 0);
		np_scan_close(follower);
		finish(&it);
	}
}

/* Texts and reals stand before the number that is asked for. */
static void numbers_behind_texts_that_nobody_wants_are_read(void **state)
{
	struct scanning it;

	(void)state;
	it = BEGIN("CREATE TABLE t(x TEXT, y REAL, z BLOB, a INTEGER);"
		   "INSERT INTO t VALUES('1736408883688177930', 1.5, x'0102', 7),"
		   " (NULL, NULL, NULL, 8), (printf('%070d', 1), 2, '', 9), (1, 2, 3, 'ten'),"
		   " ('', 0.5, zeroblob(60), 11)",
		   a_integer);
	assert_int_equal(next(&it), 5);
	assert_int_equal(it.batch.column[0].integer[0], 7);
	assert_int_equal(it.batch.column[0].integer[1], 8);
	assert_int_equal(it.batch.column[0].integer[2], 9);
	assert_int_equal(it.batch.column[0].integer[3], NP_UNKNOWN);
	assert_int_equal(it.batch.column[0].integer[4], 11);
	finish(&it);
}

static void a_table_of_exactly_one_batch_ends_after_it(void **state)
{
	struct scanning it;

	(void)state;
	it = BEGIN("CREATE TABLE t(a); WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1"
		   " FROM n WHERE i < 1024) INSERT INTO t SELECT i FROM n",
		   a_integer);
	assert_int_equal(next(&it), NP_SCAN_ROWS);
	finish(&it);
}

/* Rows written before ALTER TABLE are shorter than those after it. */
static void added_columns_have_their_default_in_older_rows(void **state)
{
	static const struct np_scan_column columns[] = {
		{ "a", NP_SCAN_INTEGER, NP_REQUIRED },
		{ "waitNs", NP_SCAN_INTEGER, NP_REQUIRED },
		{ "depth", NP_SCAN_INTEGER, NP_REQUIRED },
		{ "label", NP_SCAN_TEXT, NP_REQUIRED },
		{ "ratio", NP_SCAN_REAL, NP_REQUIRED },
	};
	struct scanning it;

	(void)state;
	it = BEGIN("CREATE TABLE t(a); INSERT INTO t VALUES(1);"
		   "ALTER TABLE t ADD COLUMN waitNs INTEGER;"
		   "INSERT INTO t VALUES(2, 20);"
		   "ALTER TABLE t ADD COLUMN depth INTEGER DEFAULT 7;"
		   "ALTER TABLE t ADD COLUMN label TEXT NOT NULL DEFAULT 'none';"
		   "ALTER TABLE t ADD COLUMN ratio REAL DEFAULT 2;"
		   "INSERT INTO t VALUES(3, 30, 31, 'x', 0.5)",
		   columns);
	assert_int_equal(next(&it), 3);
	assert_int_equal(it.batch.column[1].integer[0], NP_UNKNOWN);
	assert_int_equal(it.batch.column[1].integer[1], 20);
	assert_int_equal(it.batch.column[2].integer[0], 7);
	assert_int_equal(it.batch.column[2].integer[1], 7);
	assert_int_equal(it.batch.column[2].integer[2], 31);
	assert_scan_text(it.batch.column[3].text[0], "none", 4);
	assert_scan_text(it.batch.column[3].text[2], "x", 1);
	assert_near(it.batch.column[4].real[0], 2.0, 0);
	assert_near(it.batch.column[4].real[2], 0.5, 0);
	finish(&it);
}

static void an_integer_primary_key_reads_as_the_rowid(void **state)
{
	static const struct np_scan_column columns[] = {
		{ "id", NP_SCAN_INTEGER, NP_REQUIRED },
		{ "value", NP_SCAN_TEXT, NP_REQUIRED },
		{ "id", NP_SCAN_TEXT, NP_REQUIRED },
		{ "id", NP_SCAN_REAL, NP_REQUIRED },
	};
	struct scanning it;

	(void)state;
	it = BEGIN("CREATE TABLE t(id INTEGER PRIMARY KEY, value TEXT); INSERT INTO t VALUES"
		   "(536870943, 'c'), (-9, 'a'), (7, 'b')",
		   columns);
	assert_int_equal(next(&it), 3);
	assert_int_equal(it.batch.column[0].integer[0], -9);
	assert_scan_text(it.batch.column[1].text[0], "a", 1);
	assert_int_equal(it.batch.column[0].integer[1], 7);
	assert_int_equal(it.batch.column[0].integer[2], 536870943);
	assert_scan_text(it.batch.column[2].text[2], "536870943", 9);
	assert_near(it.batch.column[3].real[0], -9.0, 0);
	finish(&it);
}

/* Varints of one to nine bytes, beside the same numbers in one to eight. */
static void keys_of_all_sizes_are_read(void **state)
{
	static const struct np_scan_column columns[] = {
		{ "id", NP_SCAN_INTEGER, NP_REQUIRED },
		{ "same", NP_SCAN_INTEGER, NP_REQUIRED },
	};
	struct scanning it;
	size_t rows;

	(void)state;
	it = BEGIN(
		"CREATE TABLE t(id INTEGER PRIMARY KEY, same INTEGER);"
		"WITH k(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM k WHERE i < 61),"
		" v(x) AS (SELECT (1 << i) + d FROM k, (SELECT -1 AS d UNION SELECT 0 UNION SELECT 1))"
		" INSERT OR IGNORE INTO t SELECT x, x FROM v UNION SELECT -x, -x FROM v",
		columns);
	rows = next(&it);
	/* 62 powers of two with their neighbours, of which 1, 2 and 3 come twice; 0 has no sign. */
	assert_int_equal(rows, 2 * (62 * 3 - 3) - 1);
	for (size_t i = 0; i < rows; i++)
		assert_int_equal(it.batch.column[0].integer[i], it.batch.column[1].integer[i]);
	finish(&it);
}

/* These look like a rowid alias and are none, by SQLite's rules. */
static void keys_that_are_no_rowid_are_read_from_the_row(void **state)
{
	static const char *const declarations[] = {
		"a INT PRIMARY KEY",
		"a INTEGER PRIMARY KEY DESC",
		"a BIGINT PRIMARY KEY",
		"a INTEGER UNIQUE",
	};

	(void)state;
	for (size_t i = 0; i < NP_COUNT(declarations); i++) {
		struct scanning it;
		char sql[256];

		(void)snprintf(sql, sizeof(sql),
			       "DROP TABLE IF EXISTS t; CREATE TABLE t(x, %s);"
			       "INSERT INTO t VALUES('x', 30), ('y', 10), ('z', 20)",
			       declarations[i]);
		it = BEGIN(sql, a_integer);
		assert_int_equal(next(&it), 3);
		assert_int_equal(it.batch.column[0].integer[0], 30);
		assert_int_equal(it.batch.column[0].integer[1], 10);
		assert_int_equal(it.batch.column[0].integer[2], 20);
		finish(&it);
	}
}

static void a_primary_key_declared_apart_is_the_rowid(void **state)
{
	struct scanning it;

	(void)state;
	it = BEGIN("CREATE TABLE t(x, a INTEGER, PRIMARY KEY(a)); INSERT INTO t VALUES(1, 42)",
		   a_integer);
	assert_int_equal(next(&it), 1);
	assert_int_equal(it.batch.column[0].integer[0], 42);
	finish(&it);
}

/* TASK has an index on (startNs, globalTaskId), which holds both columns and is smaller. */
static void rows_come_in_order_of_rowid_despite_a_covering_index(void **state)
{
	static const struct np_scan_column columns[] = {
		{ "startNs", NP_SCAN_INTEGER, NP_REQUIRED },
		{ "globalTaskId", NP_SCAN_INTEGER, NP_REQUIRED },
	};
	struct scanning it;

	(void)state;
	it = BEGIN("CREATE TABLE t(startNs INTEGER, endNs INTEGER, globalTaskId INTEGER, x TEXT);"
		   "CREATE INDEX i ON t(startNs, globalTaskId);"
		   "INSERT INTO t VALUES(30, 1, 1, 'xxxxxxxxxxxxxxxxxxxx'), (10, 1, 2, 'y'),"
		   " (20, 1, 3, 'z')",
		   columns);
	assert_int_equal(next(&it), 3);
	assert_int_equal(it.batch.column[1].integer[0], 1);
	assert_int_equal(it.batch.column[1].integer[1], 2);
	assert_int_equal(it.batch.column[1].integer[2], 3);
	finish(&it);
}

static void a_table_without_rowid_is_read_in_order_of_its_key(void **state)
{
	static const struct np_scan_column columns[] = {
		{ "a", NP_SCAN_INTEGER, NP_REQUIRED },
		{ "k", NP_SCAN_TEXT, NP_REQUIRED },
	};
	struct scanning it;

	(void)state;
	it = BEGIN("CREATE TABLE t(a, x, k TEXT PRIMARY KEY) WITHOUT ROWID;"
		   "INSERT INTO t VALUES(1, 0, 'z'), (2, 0, 'a')",
		   columns);
	assert_int_equal(next(&it), 2);
	assert_int_equal(it.batch.column[0].integer[0], 2);
	assert_scan_text(it.batch.column[1].text[0], "a", 1);
	assert_int_equal(it.batch.column[0].integer[1], 1);
	finish(&it);
}

static void a_view_is_read_like_a_table(void **state)
{
	struct scanning it;

	(void)state;
	it = BEGIN("CREATE TABLE u(x); INSERT INTO u VALUES(1), (2);"
		   "CREATE VIEW t AS SELECT x * 10 AS a FROM u ORDER BY x DESC",
		   a_integer);
	assert_int_equal(next(&it), 2);
	assert_int_equal(it.batch.column[0].integer[0], 20);
	assert_int_equal(it.batch.column[0].integer[1], 10);
	finish(&it);
}

static void generated_columns_do_not_shift_the_others(void **state)
{
	static const struct np_scan_column columns[] = {
		{ "a", NP_SCAN_INTEGER, NP_REQUIRED },
		{ "c", NP_SCAN_INTEGER, NP_REQUIRED },
	};
	struct scanning it;

	(void)state;
	it = BEGIN("CREATE TABLE t(a INTEGER, v INTEGER AS (a * 2), s INTEGER AS (a * 3) STORED,"
		   " c INTEGER); INSERT INTO t(a, c) VALUES(1, 9)",
		   columns);
	assert_int_equal(next(&it), 1);
	assert_int_equal(it.batch.column[0].integer[0], 1);
	assert_int_equal(it.batch.column[1].integer[0], 9);
	finish(&it);
}

static void a_dropped_column_does_not_shift_the_others(void **state)
{
	static const struct np_scan_column columns[] = {
		{ "c", NP_SCAN_INTEGER, NP_REQUIRED },
		{ "b", NP_SCAN_INTEGER, NP_OPTIONAL },
	};
	struct scanning it;

	(void)state;
	skip_unless_columns_drop();
	it = BEGIN("CREATE TABLE t(a, b, c); INSERT INTO t VALUES(1, 2, 3);"
		   "ALTER TABLE t DROP COLUMN b",
		   columns);
	assert_int_equal(next(&it), 1);
	assert_int_equal(it.batch.column[0].integer[0], 3);
	assert_int_equal(it.batch.column[1].integer[0], NP_UNKNOWN);
	finish(&it);
}

static void a_database_in_utf_16_reads_as_utf_8(void **state)
{
	static const char *const encodings[] = { "UTF-16le", "UTF-16be" };

	(void)state;
	for (size_t i = 0; i < NP_COUNT(encodings); i++) {
		struct scanning it;
		char sql[256];

		(void)snprintf(sql, sizeof(sql),
			       "PRAGMA encoding='%s'; CREATE TABLE t(a TEXT, n TEXT);"
			       "INSERT INTO t VALUES('排名 0', '123')",
			       encodings[i]);
		it = BEGIN(sql, a_text);
		assert_int_equal(next(&it), 1);
		assert_scan_text(it.batch.column[0].text[0], "排名 0", 8);
		finish(&it);
		assert_int_equal(unlink(below("x.db")), 0);
	}
}

static void rows_in_a_log_are_scanned(void **state)
{
	struct np_err err = NP_ERR_INIT;
	struct np_batch batch;
	struct np_scan *scan = NULL;
	sqlite3 *writer;
	struct np_db *db;

	(void)state;
	writer = open_sqlite(below("x.db"));
	run_sql_on(writer, "CREATE TABLE t(a); INSERT INTO t VALUES(1);"
			   "PRAGMA journal_mode=WAL; PRAGMA wal_autocheckpoint=0;"
			   "UPDATE t SET a = 5; INSERT INTO t VALUES(6)");
	db = open_db(below("x.db"));
	assert_ok(np_scan_open(db, "t", a_integer, 1, &scan, &err), err);
	assert_ok(np_scan_next(scan, &batch, &err), err);
	assert_int_equal(batch.rows, 2);
	assert_int_equal(batch.column[0].integer[0], 5);
	assert_int_equal(batch.column[0].integer[1], 6);
	np_scan_close(scan);
	np_db_close(db);
	assert_int_equal(sqlite3_close(writer), SQLITE_OK);
}

static void two_scans_of_one_database_do_not_disturb_each_other(void **state)
{
	struct np_err err = NP_ERR_INIT;
	struct np_batch batch;
	struct np_scan *scans[2] = { NULL, NULL };
	struct np_db *db;

	(void)state;
	run_sql(below("x.db"),
		"CREATE TABLE t(a); WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL"
		" SELECT i + 1 FROM n WHERE i < 2000) INSERT INTO t SELECT i FROM n");
	db = open_db(below("x.db"));
	assert_ok(np_scan_open(db, "t", a_integer, 1, &scans[0], &err), err);
	assert_ok(np_scan_open(db, "t", a_integer, 1, &scans[1], &err), err);
	for (size_t i = 0; i < 4; i++) {
		assert_ok(np_scan_next(scans[i % 2], &batch, &err), err);
		assert_int_equal(batch.column[0].integer[0], i / 2 * NP_SCAN_ROWS + 1);
	}
	np_scan_close(scans[0]);
	np_scan_close(scans[1]);
	np_db_close(db);
}

static void closing_no_scan_is_allowed(void **state)
{
	struct np_scan *scan = NULL;

	(void)state;
	np_scan_close(NULL);
	np_scan_closep(&scan);
}

/* --- property: a scan equals a SELECT --------------------------------------------------------- */

#define MOST_COLUMNS 40

/* What a random table looks like. */
struct shape {
	size_t columns;
	size_t rows;
	bool without_rowid;
	bool rowid_alias; /* column 0 is INTEGER PRIMARY KEY */
	size_t alias;     /* which column, if so */
	size_t long_text; /* texts reach this length at times */
};

static const char *pick_type(uint64_t *random)
{
	static const char *const types[] = { "",         " INTEGER", " TEXT", " REAL",
					     " NUMERIC", " BLOB",    " INT",  " VARCHAR(10)",
					     " DOUBLE",  " BOOLEAN" };

	return types[np_random_below(random, NP_COUNT(types))];
}

static void create_random(sqlite3 *handle, const struct shape *shape, uint64_t *random)
{
	struct np_buf sql = NP_BUF_INIT;

	np_buf_add(&sql, "CREATE TABLE t(");
	for (size_t i = 0; i < shape->columns; i++) {
		bool alias = shape->rowid_alias && i == shape->alias;

		np_buf_printf(&sql, "%sc%zu%s", i ? "," : "", i,
			      alias ? " INTEGER PRIMARY KEY" : pick_type(random));
	}
	if (shape->without_rowid)
		np_buf_add(&sql, ", pk INTEGER PRIMARY KEY) WITHOUT ROWID");
	else
		np_buf_add(&sql, ")");
	run_sql_on(handle, sql.text);
	np_buf_release(&sql);
}

static int64_t random_integer(uint64_t *random)
{
	static const int64_t special[] = { 0,          1,
					   -1,         INT64_MAX,
					   INT64_MIN,  INT64_MIN + 1,
					   INT32_MAX,  INT32_MIN,
					   UINT32_MAX, 127,
					   -128,       32768,
					   8388608,    INT64_C(0x7fffffffffff) };

	if (np_random_below(random, 4) == 0)
		return special[np_random_below(random, NP_COUNT(special))];
	return (int64_t)np_random(random) >> np_random_below(random, 64);
}

static double random_real(uint64_t *random)
{
	static const double special[] = { 0.0, -0.0, 1.5, 1e300, -1e-300, 9.3e18,
					  2.0, 1e15, 0.1, -7.0,  5e-324,  9007199254740993.0 };

	if (np_random_below(random, 3) == 0)
		return special[np_random_below(random, NP_COUNT(special))];
	return (double)(int64_t)np_random(random) / (double)(1 + np_random_below(random, 1000000));
}

static void bind_random_text(sqlite3_stmt *statement, int index, const struct shape *shape,
			     uint64_t *random)
{
	static const struct {
		const char *bytes;
		int length;
	} special[] = {
		{ "", 0 },
		{ "0", 1 },
		{ "-12", 3 },
		{ " 42\t", 4 },
		{ "7.5", 3 },
		{ "1e5", 3 },
		{ "N/A", 3 },
		{ "a\0b", 3 },
		{ "\xff\xfe", 2 },
		{ "排名", 6 },
		{ "12\0"
		  "34",
		  5 },
		{ "1736410576386409710", 19 },
		{ "99999999999999999999", 20 },
	};
	size_t length;
	char *text;

	if (np_random_below(random, 2)) {
		size_t i = np_random_below(random, NP_COUNT(special));

		assert_int_equal(sqlite3_bind_text(statement, index, special[i].bytes,
						   special[i].length, SQLITE_STATIC),
				 SQLITE_OK);
		return;
	}
	length = np_random_below(random, np_random_below(random, 10) ? 40 : shape->long_text);
	text = malloc(length + 1);
	assert_non_null(text);
	for (size_t i = 0; i < length; i++)
		text[i] = (char)('a' + np_random_below(random, 26));
	if (np_random_below(random, 8))
		assert_int_equal(
			sqlite3_bind_text(statement, index, text, (int)length, SQLITE_TRANSIENT),
			SQLITE_OK);
	else
		assert_int_equal(
			sqlite3_bind_blob(statement, index, text, (int)length, SQLITE_TRANSIENT),
			SQLITE_OK);
	free(text);
}

static void bind_random(sqlite3_stmt *statement, int index, const struct shape *shape,
			uint64_t *random)
{
	switch (np_random_below(random, 8)) {
	case 0:
		assert_int_equal(sqlite3_bind_null(statement, index), SQLITE_OK);
		break;
	case 1:
	case 2:
		assert_int_equal(sqlite3_bind_double(statement, index, random_real(random)),
				 SQLITE_OK);
		break;
	case 3:
	case 4:
		bind_random_text(statement, index, shape, random);
		break;
	default:
		assert_int_equal(sqlite3_bind_int64(statement, index, random_integer(random)),
				 SQLITE_OK);
	}
}

/* The columns of t as they are now: ALTER TABLE may have added some. */
static size_t count_columns(sqlite3 *handle, const char *table)
{
	sqlite3_stmt *statement = NULL;
	size_t count;

	assert_int_equal(sqlite3_prepare_v2(handle, "SELECT count(*) FROM pragma_table_info(?1)",
					    -1, &statement, NULL),
			 SQLITE_OK);
	assert_int_equal(sqlite3_bind_text(statement, 1, table, -1, SQLITE_STATIC), SQLITE_OK);
	assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
	count = (size_t)sqlite3_column_int64(statement, 0);
	(void)sqlite3_finalize(statement);
	return count;
}

/* Insert rows; with keys of all sizes and signs at times, else in order. */
static void insert_random(sqlite3 *handle, const struct shape *shape, size_t rows, bool wild_keys,
			  uint64_t *random)
{
	size_t columns = count_columns(handle, "t");
	sqlite3_stmt *statement = NULL;
	struct np_buf sql = NP_BUF_INIT;
	bool explicit_key = wild_keys && !shape->rowid_alias && !shape->without_rowid;

	np_buf_add(&sql, "INSERT OR REPLACE INTO t(");
	for (size_t i = 0; i < columns; i++) {
		if (shape->without_rowid && i == shape->columns)
			np_buf_add(&sql, ",pk");
		else
			np_buf_printf(&sql, "%sc%zu", i ? "," : "",
				      shape->without_rowid && i > shape->columns ? i - 1 : i);
	}
	np_buf_printf(&sql, "%s) VALUES(", explicit_key ? ",rowid" : "");
	for (size_t i = 0; i < columns + explicit_key; i++)
		np_buf_add(&sql, i ? ",?" : "?");
	np_buf_add(&sql, ")");
	if (sqlite3_prepare_v2(handle, sql.text, -1, &statement, NULL) != SQLITE_OK)
		fail_msg("%s: %s", sql.text, sqlite3_errmsg(handle));
	np_buf_release(&sql);
	run_sql_on(handle, "BEGIN");
	for (size_t row = 0; row < rows; row++) {
		for (size_t i = 0; i < columns; i++)
			bind_random(statement, (int)i + 1, shape, random);
		if (shape->rowid_alias && wild_keys)
			assert_int_equal(sqlite3_bind_int64(statement, (int)shape->alias + 1,
							    random_integer(random)),
					 SQLITE_OK);
		else if (shape->rowid_alias)
			assert_int_equal(sqlite3_bind_null(statement, (int)shape->alias + 1),
					 SQLITE_OK);
		if (shape->without_rowid)
			assert_int_equal(sqlite3_bind_int64(statement, (int)shape->columns + 1,
							    random_integer(random)),
					 SQLITE_OK);
		if (explicit_key)
			assert_int_equal(sqlite3_bind_int64(statement, (int)columns + 1,
							    random_integer(random)),
					 SQLITE_OK);
		assert_int_equal(sqlite3_step(statement), SQLITE_DONE);
		(void)sqlite3_reset(statement);
	}
	(void)sqlite3_finalize(statement);
	run_sql_on(handle, "COMMIT");
}

static void add_random_columns(sqlite3 *handle, const struct shape *shape, uint64_t *random)
{
	static const char *const defaults[] = { "",
						" DEFAULT NULL",
						" DEFAULT 7",
						" DEFAULT -9223372036854775807",
						" DEFAULT 2.5",
						" DEFAULT 2.0",
						" DEFAULT 'abc'",
						" DEFAULT '12'",
						" DEFAULT ''",
						" NOT NULL DEFAULT 3",
						" DEFAULT x'41'",
						" DEFAULT (NULL)" };
	size_t more = 1 + np_random_below(random, 4);

	for (size_t i = 0; i < more; i++) {
		size_t count = count_columns(handle, "t") - shape->without_rowid;
		char sql[160];

		if (count >= MOST_COLUMNS)
			return;
		(void)snprintf(sql, sizeof(sql), "ALTER TABLE t ADD COLUMN c%zu%s%s", count,
			       pick_type(random),
			       defaults[np_random_below(random, NP_COUNT(defaults))]);
		run_sql_on(handle, sql);
	}
}

/* Indexes that hold a few of the columns, and tables around the one that is scanned. */
static void add_surroundings(sqlite3 *handle, const struct shape *shape, uint64_t *random)
{
	/* Without a rowid no order is promised, and SQLite would take that of the index. */
	size_t indexes = shape->without_rowid ? 0 : np_random_below(random, 3);
	size_t tables = np_random_below(random, 4) ? np_random_below(random, 3) : 60;
	char sql[160];

	for (size_t i = 0; i < indexes; i++) {
		(void)snprintf(sql, sizeof(sql), "CREATE INDEX i%zu ON t(c%zu, c%zu DESC)", i,
			       np_random_below(random, shape->columns),
			       np_random_below(random, shape->columns));
		run_sql_on(handle, sql);
	}
	for (size_t i = 0; i < tables; i++) {
		(void)snprintf(sql, sizeof(sql),
			       "CREATE TABLE other_%zu(a_rather_long_name_of_a_column INTEGER,"
			       " t TEXT); INSERT INTO other_%zu VALUES(1, 't')",
			       i, i);
		run_sql_on(handle, sql);
	}
}

static void remove_random(sqlite3 *handle, const struct shape *shape, uint64_t *random)
{
	const char *key = shape->without_rowid ? "pk" : "rowid";
	char sql[160];

	switch (np_random_below(random, 6)) {
	case 0:
		(void)snprintf(sql, sizeof(sql), "DELETE FROM t WHERE %s %% 3 = 0", key);
		break;
	case 1:
		(void)snprintf(sql, sizeof(sql), "DELETE FROM t WHERE %s > (SELECT avg(%s) FROM t)",
			       key, key);
		break;
	case 2:
		(void)snprintf(sql, sizeof(sql), "UPDATE t SET c%zu = hex(zeroblob(%zu))",
			       shape->rowid_alias ? (shape->alias + 1) % shape->columns : 0,
			       np_random_below(random, 500));
		if (shape->rowid_alias && shape->columns == 1)
			return;
		break;
	case 3:
		(void)snprintf(sql, sizeof(sql), "DELETE FROM t");
		if (np_random_below(random, 4))
			return;
		break;
	default:
		return;
	}
	run_sql_on(handle, sql);
}

/* Make a random database at `path` and return what its table looks like. */
static struct shape make_random(const char *path, uint64_t *random)
{
	static const char *const vacuums[] = { "NONE", "FULL", "INCREMENTAL" };
	static const char *const encodings[] = { "UTF-8", "UTF-8",    "UTF-8",
						 "UTF-8", "UTF-16le", "UTF-16be" };
	size_t page_size = (size_t)512 << np_random_below(random, 8);
	int reserved = np_random_below(random, 3) ? 0 : (int)np_random_below(random, 33);
	struct shape shape = { .columns = 1 + np_random_below(random, np_random_below(random, 3)
									      ? 8
									      : MOST_COLUMNS - 8) };
	sqlite3 *handle = open_sqlite(path);
	bool wild_keys = np_random_below(random, 2);
	char sql[256];

	shape.without_rowid = np_random_below(random, 8) == 0;
	shape.rowid_alias = !shape.without_rowid && np_random_below(random, 2);
	shape.alias = np_random_below(random, shape.columns);
	shape.rows = np_random_below(random, 12) ? np_random_below(random, 120)
						 : np_random_below(random, 3000);
	shape.long_text = 1 + np_random_below(random, 3 * page_size);
	if (page_size > 8192)
		shape.long_text = 1 + np_random_below(random, 8192);
	(void)snprintf(sql, sizeof(sql),
		       "PRAGMA synchronous=OFF; PRAGMA journal_mode=OFF; PRAGMA page_size=%zu;"
		       "PRAGMA auto_vacuum=%s; PRAGMA encoding='%s'",
		       page_size, vacuums[np_random_below(random, 3)],
		       encodings[np_random_below(random, NP_COUNT(encodings))]);
	run_sql_on(handle, sql);
	if (reserved > 0)
		(void)sqlite3_file_control(handle, "main", SQLITE_FCNTL_RESERVE_BYTES, &reserved);
	if (np_random_below(random, 2))
		run_sql_on(handle, "CREATE TABLE before(a); INSERT INTO before VALUES(1)");
	create_random(handle, &shape, random);
	insert_random(handle, &shape, shape.rows, wild_keys, random);
	remove_random(handle, &shape, random);
	if (np_random_below(random, 3) == 0) {
		add_random_columns(handle, &shape, random);
		insert_random(handle, &shape, shape.rows / 2, wild_keys, random);
	}
	add_surroundings(handle, &shape, random);
	remove_random(handle, &shape, random);
	if (np_random_below(random, 8) == 0)
		run_sql_on(handle, "VACUUM");
	if (np_random_below(random, 8) == 0)
		run_sql_on(handle, "PRAGMA incremental_vacuum(3)");
	shape.columns = count_columns(handle, "t");
	assert_int_equal(sqlite3_close(handle), SQLITE_OK);
	return shape;
}

/* The columns of a random scan: some by an older name, some absent, some twice. */
struct request {
	struct np_scan_column columns[NP_SCAN_COLUMNS];
	char names[NP_SCAN_COLUMNS][64];
	char read[NP_SCAN_COLUMNS][24]; /* "" for an absent one */
	size_t count;
};

static void make_request(struct request *request, const struct shape *shape, uint64_t *random)
{
	request->count = 1 + np_random_below(random, NP_SCAN_COLUMNS);
	for (size_t i = 0; i < request->count; i++) {
		size_t column = np_random_below(random, shape->columns);
		size_t spelling = np_random_below(random, 10);
		char *read = request->read[i];

		if (shape->without_rowid && column == shape->columns - 1)
			(void)snprintf(read, sizeof(request->read[0]), "pk");
		else
			(void)snprintf(read, sizeof(request->read[0]), "c%zu", column);
		if (spelling == 0)
			*read = '\0';
		(void)snprintf(request->names[i], sizeof(request->names[0]), "%s%s%s",
			       spelling < 3 ? "newer_name" : "",
			       spelling == 1 || spelling == 2 ? "|" : "",
			       spelling == 0 ? "" : read);
		request->columns[i] =
			(struct np_scan_column){ request->names[i],
						 (enum np_scan_type)np_random_below(random, 3),
						 spelling == 0 ? NP_OPTIONAL : NP_REQUIRED };
	}
}

/* The same by a SELECT: SQLite itself is the oracle. */
static sqlite3_stmt *select_same(sqlite3 *handle, const struct request *request,
				 const struct shape *shape)
{
	struct np_buf sql = NP_BUF_INIT;
	sqlite3_stmt *statement = NULL;

	np_buf_add(&sql, "SELECT ");
	for (size_t i = 0; i < request->count; i++)
		np_buf_printf(&sql, "%s%s", i ? "," : "",
			      *request->read[i] ? request->read[i] : "NULL");
	np_buf_printf(&sql, " FROM t NOT INDEXED ORDER BY %s",
		      shape->without_rowid ? "pk" : "rowid");
	if (sqlite3_prepare_v2(handle, sql.text, -1, &statement, NULL) != SQLITE_OK)
		fail_msg("%s: %s", sql.text, sqlite3_errmsg(handle));
	np_buf_release(&sql);
	return statement;
}

static int64_t expected_integer(sqlite3_stmt *statement, int column)
{
	int64_t value;

	switch (sqlite3_column_type(statement, column)) {
	case SQLITE_INTEGER:
		return sqlite3_column_int64(statement, column);
	case SQLITE_FLOAT:
		return np_double_to_scaled(sqlite3_column_double(statement, column), 1.0);
	case SQLITE_TEXT: {
		const char *text = (const char *)sqlite3_column_text(statement, column);
		size_t length = (size_t)sqlite3_column_bytes(statement, column);

		return np_text_to_scaled(text, length, 0, &value) ? value : NP_UNKNOWN;
	}
	default:
		return NP_UNKNOWN;
	}
}

static void assert_same_real(double actual, sqlite3_stmt *statement, int column)
{
	int type = sqlite3_column_type(statement, column);
	double expected;

	if (type != SQLITE_INTEGER && type != SQLITE_FLOAT) {
		/* A text that is a number is one; SQLite would make 0 of any other. */
		if (isnan(actual))
			return;
		assert_int_equal(type, SQLITE_TEXT);
		assert_non_null(strpbrk((const char *)sqlite3_column_text(statement, column),
					"0123456789"));
	}
	expected = sqlite3_column_double(statement, column);
	/* Equal, and the sign of a zero too. */
	assert_memory_equal(&actual, &expected, sizeof(actual));
}

static void assert_same_text(struct np_scan_text actual, sqlite3_stmt *statement, int column)
{
	const char *expected;

	if (sqlite3_column_type(statement, column) == SQLITE_NULL) {
		assert_null(actual.bytes);
		return;
	}
	expected = (const char *)sqlite3_column_text(statement, column);
	if (!expected) {
		/* A blob of no bytes: empty or nothing, both will do. */
		assert_int_equal(actual.length, 0);
		return;
	}
	assert_scan_text(actual, expected, (size_t)sqlite3_column_bytes(statement, column));
}

static void assert_same_row(const struct np_batch *batch, size_t row, const struct request *request,
			    sqlite3_stmt *statement)
{
	for (size_t i = 0; i < request->count; i++) {
		switch (request->columns[i].type) {
		case NP_SCAN_INTEGER:
			assert_int_equal(batch->column[i].integer[row],
					 expected_integer(statement, (int)i));
			break;
		case NP_SCAN_REAL:
			assert_same_real(batch->column[i].real[row], statement, (int)i);
			break;
		case NP_SCAN_TEXT:
			assert_same_text(batch->column[i].text[row], statement, (int)i);
			break;
		}
	}
}

static void compare_scan(const char *path, const struct shape *shape, uint64_t *random)
{
	struct np_err err = NP_ERR_INIT;
	struct np_scan *scan = NULL;
	struct np_batch batch = { 0 };
	struct request request;
	struct np_db *db = open_db(path);
	sqlite3 *handle = open_sqlite(path);
	sqlite3_stmt *statement;
	size_t row = 0;

	make_request(&request, shape, random);
	statement = select_same(handle, &request, shape);
	assert_ok(np_scan_open(db, "t", request.columns, request.count, &scan, &err), err);
	while (sqlite3_step(statement) == SQLITE_ROW) {
		if (row == batch.rows) {
			row = 0;
			assert_ok(np_scan_next(scan, &batch, &err), err);
			assert_true(batch.rows > 0);
		}
		assert_same_row(&batch, row++, &request, statement);
	}
	assert_int_equal(row, batch.rows);
	assert_ok(np_scan_next(scan, &batch, &err), err);
	assert_int_equal(batch.rows, 0);
	np_scan_close(scan);
	np_db_close(db);
	(void)sqlite3_finalize(statement);
	assert_int_equal(sqlite3_close(handle), SQLITE_OK);
}

#define ROUNDS 400

static void a_scan_equals_a_select(void **state)
{
	(void)state;
	for (uint64_t round = 0; round < ROUNDS; round++) {
		uint64_t random = round * 7919 + 1;
		struct shape shape = make_random(below("r.db"), &random);

		/* Said when a comparison fails, to run this round alone. */
		(void)snprintf(np_fixture_doing, sizeof(np_fixture_doing), "round %d", (int)round);
		for (int i = 0; i < 3; i++)
			compare_scan(below("r.db"), &shape, &random);
		assert_int_equal(unlink(below("r.db")), 0);
	}
	np_fixture_doing[0] = '\0';
}

/* --- property: damage costs rows, never more -------------------------------------------------- */

/* Scan as far as it goes; NP_OK or the code of the failure, which must name the file. */
static int scan_damaged(const char *path, const struct request *request)
{
	struct np_err err = NP_ERR_INIT;
	struct np_scan *scan = NULL;
	struct np_batch batch = { 0 };
	struct np_db *db = NULL;
	size_t rows = 0;
	int rc = np_db_open(path, &db, &err);

	if (rc == NP_OK)
		rc = np_scan_open(db, "t", request->columns, request->count, &scan, &err);
	while (rc == NP_OK) {
		rc = np_scan_next(scan, &batch, &err);
		if (rc < 0 || batch.rows == 0)
			break;
		for (size_t i = 0; i < request->count; i++) {
			if (request->columns[i].type != NP_SCAN_TEXT)
				continue;
			for (size_t j = 0; j < batch.rows; j++) {
				struct np_scan_text text = batch.column[i].text[j];

				/* Every byte is there, and so is the one behind them. */
				if (text.bytes)
					assert_int_equal(text.bytes[text.length], '\0');
			}
		}
		rows += batch.rows;
		/* Pages that point in a circle must not be read for ever. */
		assert_true(rows < 1000000);
	}
	if (rc < 0)
		assert_holds(err.text, "r.db");
	np_scan_close(scan);
	np_db_close(db);
	return rc;
}

static void damaged_pages_fail_or_give_fewer_rows_but_never_crash(void **state)
{
	size_t failures = 0;

	(void)state;
	for (uint64_t round = 0; round < ROUNDS / 4; round++) {
		uint64_t random = round * 104729 + 3;
		struct shape shape = make_random(below("whole.db"), &random);
		struct request request;
		size_t length;
		char *bytes = read_bytes(below("whole.db"), &length);

		for (size_t i = 0; i < 10; i++) {
			size_t hits = 1 + np_random_below(&random, 8);
			char *damaged = malloc(length);

			assert_non_null(damaged);
			memcpy(damaged, bytes, length);
			/* Behind the header: what is before it was tried in test_db. */
			for (size_t j = 0; j < hits && length > 100; j++)
				damaged[100 + np_random_below(&random, length - 100)] =
					(char)np_random(&random);
			write_bytes(below("r.db"), damaged, length);
			free(damaged);
			make_request(&request, &shape, &random);
			failures += scan_damaged(below("r.db"), &request) < 0;
		}
		free(bytes);
		assert_int_equal(unlink(below("whole.db")), 0);
	}
	assert_true(failures > 0);
}

/* A page of the table becomes an interior page that names itself as its child. */
static void pages_in_a_circle_are_a_wrong_format(void **state)
{
	struct request request = { .columns = { { "a", NP_SCAN_TEXT, NP_REQUIRED } }, .count = 1 };
	size_t length;
	unsigned char *bytes;
	size_t root;

	(void)state;
	run_sql(below("r.db"),
		"PRAGMA page_size=512; CREATE TABLE t(a TEXT); WITH RECURSIVE n(i) AS (SELECT 1"
		" UNION ALL SELECT i + 1 FROM n WHERE i < 500)"
		" INSERT INTO t SELECT 'some text ' || i FROM n");
	root = (size_t)ask_sql(below("r.db"),
			       "SELECT rootpage FROM sqlite_master WHERE name = 't'");
	bytes = (unsigned char *)read_bytes(below("r.db"), &length);
	/* The right-most child, at byte 8 of an interior page, is the page itself. */
	assert_int_equal(bytes[(root - 1) * 512], 5);
	bytes[(root - 1) * 512 + 8] = 0;
	bytes[(root - 1) * 512 + 9] = 0;
	bytes[(root - 1) * 512 + 10] = (unsigned char)(root >> 8);
	bytes[(root - 1) * 512 + 11] = (unsigned char)root;
	write_bytes(below("r.db"), bytes, length);
	free(bytes);
	assert_int_equal(scan_damaged(below("r.db"), &request), NP_E_FORMAT);
}

static void a_damaged_page_in_the_middle_is_a_wrong_format(void **state)
{
	struct request request = { .columns = { { "a", NP_SCAN_INTEGER, NP_REQUIRED } },
				   .count = 1 };
	size_t length;
	char *bytes;

	(void)state;
	run_sql(below("r.db"),
		"PRAGMA page_size=1024; CREATE TABLE t(a); WITH RECURSIVE n(i) AS (SELECT 1 UNION"
		" ALL SELECT i + 1 FROM n WHERE i < 20000) INSERT INTO t SELECT i FROM n");
	bytes = read_bytes(below("r.db"), &length);
	memset(bytes + 100 * 1024, 0xa5, 1024);
	write_bytes(below("r.db"), bytes, length);
	free(bytes);
	assert_int_equal(scan_damaged(below("r.db"), &request), NP_E_FORMAT);
}

/* --- memory ----------------------------------------------------------------------------------- */

static int scan_everything(struct np_err *err)
{
	static const struct np_scan_column columns[] = {
		{ "a", NP_SCAN_INTEGER, NP_REQUIRED },
		{ "b", NP_SCAN_TEXT, NP_REQUIRED },
		{ "c", NP_SCAN_REAL, NP_OPTIONAL },
	};
	NP_CLEANUP(np_db_closep) struct np_db *db = NULL;
	NP_CLEANUP(np_scan_closep) struct np_scan *scan = NULL;
	struct np_batch batch = { .rows = 1 };
	int rc = np_db_open(below("x.db"), &db, err);

	if (rc == NP_OK)
		rc = np_scan_open(db, "t", columns, NP_COUNT(columns), &scan, err);
	while (rc == NP_OK && batch.rows > 0)
		rc = np_scan_next(scan, &batch, err);
	np_scan_closep(&scan);
	return rc;
}

static void running_out_of_memory_is_told(void **state)
{
	(void)state;
	run_sql(below("x.db"), "CREATE TABLE t(a, b); WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL"
			       " SELECT i + 1 FROM n WHERE i < 1500)"
			       " INSERT INTO t SELECT i, hex(zeroblob(100)) FROM n");
	assert_survives_faults(scan_everything);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_fixture(the_preferred_of_several_names_is_read),
		with_fixture(an_older_name_is_read_where_the_preferred_is_missing),
		with_fixture(a_missing_table_is_not_found_and_the_file_named),
		with_fixture(a_missing_required_column_is_a_wrong_format_that_names_it),
		with_fixture(optional_columns_that_are_absent_are_unknown_in_every_row),
		with_fixture(rows_count_even_if_no_column_is_there),
		with_fixture(one_column_may_be_read_as_several_types),
		with_fixture(names_that_are_words_of_sql_are_read),
		with_fixture(integers_of_every_size_are_read),
		with_fixture(integers_stored_as_text_are_read),
		with_fixture(integers_stored_as_reals_are_read),
		with_fixture(what_is_no_integer_is_unknown),
		with_fixture(a_text_that_is_no_number_is_no_zero),
		with_fixture(reals_are_read_from_every_kind_of_number),
		with_fixture(whole_reals_of_a_real_column_stay_reals),
		with_fixture(reals_beside_integers_are_read_whatever_they_are),
		with_fixture(texts_keep_nul_and_invalid_bytes),
		with_fixture(numbers_in_a_text_column_are_read_as_text),
		with_fixture(texts_longer_than_a_page_are_whole),
		with_fixture(texts_of_a_batch_stay_valid_together),
		with_fixture(an_empty_table_ends_at_once),
		with_fixture(batches_are_full_until_the_last),
		with_fixture(rows_can_be_left_out_by_either_engine),
		with_fixture(a_scan_follows_another_to_its_last_batch),
		with_fixture(numbers_behind_texts_that_nobody_wants_are_read),
		with_fixture(a_table_of_exactly_one_batch_ends_after_it),
		with_fixture(added_columns_have_their_default_in_older_rows),
		with_fixture(an_integer_primary_key_reads_as_the_rowid),
		with_fixture(keys_of_all_sizes_are_read),
		with_fixture(keys_that_are_no_rowid_are_read_from_the_row),
		with_fixture(a_primary_key_declared_apart_is_the_rowid),
		with_fixture(rows_come_in_order_of_rowid_despite_a_covering_index),
		with_fixture(a_table_without_rowid_is_read_in_order_of_its_key),
		with_fixture(a_view_is_read_like_a_table),
		with_fixture(generated_columns_do_not_shift_the_others),
		with_fixture(a_dropped_column_does_not_shift_the_others),
		with_fixture(a_database_in_utf_16_reads_as_utf_8),
		with_fixture(rows_in_a_log_are_scanned),
		with_fixture(two_scans_of_one_database_do_not_disturb_each_other),
		with_fixture(closing_no_scan_is_allowed),
		with_fixture(a_scan_equals_a_select),
		with_fixture(damaged_pages_fail_or_give_fewer_rows_but_never_crash),
		with_fixture(pages_in_a_circle_are_a_wrong_format),
		with_fixture(a_damaged_page_in_the_middle_is_a_wrong_format),
		with_fixture(running_out_of_memory_is_told),
	};

	return cmocka_run_group_tests_name("scan", tests, NULL, NULL);
}
