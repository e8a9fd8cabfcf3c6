/* SPDX-License-Identifier: Apache-2.0 */
#include "np_advisor_fixture.h"

#include "np_random.h"

#include "advisor/engine/views/view_order.h"
#include "advisor/engine/views/views.h"

/* The same rows as a view "t" and as a table "plain" of SQLite's own. */
struct twin {
	struct adv_rows rows;
	struct adv_view view;
	struct adv_sql *sql;
};

static const char *const names[] = { "id", "n", "r", "s", "u" };
static const enum np_column_type types[] = { NP_INTEGER, NP_INTEGER, NP_REAL, NP_TEXT, NP_NUMERIC };

static struct np_cell some_text(uint64_t *seed)
{
	static const char *const texts[] = { "",         "MatMul", "matmul", "Add",  "aten::add",
					     "aten::mm", "5",      "a_b",    "a%b",  "ünder",
					     "MatMulV2", "Z",      "axb",    "[a]*?" };

	return np_cell_text(texts[np_random_below(seed, NP_COUNT(texts))]);
}

/* A cell as the column has it: mostly of its type, sometimes nothing, in `u` anything. */
static struct np_cell some_cell(uint64_t *seed, size_t column)
{
	int64_t number = (int64_t)np_random_below(seed, 9) - 2;

	if (np_random_below(seed, 8) == 0)
		return np_cell_null();
	switch (column) {
	case 1:
		return np_cell_integer(number);
	case 2:
		return np_cell_real((double)number / 2);
	case 3:
		return some_text(seed);
	default:
		return np_random_below(seed, 2) ? some_text(seed) : np_cell_integer(number);
	}
}

static void insert(struct adv_sql *sql, const struct np_cell *cells)
{
	struct np_err err = NP_ERR_INIT;
	struct adv_sql_stmt *stmt = NULL;

	assert_ok(adv_sql_prepare(
			  sql,
			  "INSERT INTO plain(rowid, id, n, r, s, u) VALUES(?1, ?1, ?2, ?3, ?4, ?5)",
			  true, &stmt, &err),
		  err);
	for (size_t i = 0; i < NP_COUNT(names); i++)
		assert_ok(adv_sql_bind(stmt, i + 1, cells[i], &err), err);
	assert_int_equal(adv_sql_step(stmt, &err), 0);
	adv_sql_finish(stmt);
}

static void make_twin(struct twin *twin, uint64_t *seed, size_t count)
{
	struct np_err err = NP_ERR_INIT;

	*twin = (struct twin){ .sql = open_sql() };
	assert_ok(adv_rows_init(&twin->rows, names, types, NP_COUNT(names), &err), err);
	assert_ok(adv_sql_run(twin->sql,
			      "CREATE TEMP TABLE plain(id INTEGER, n INTEGER, r REAL, s TEXT, u)",
			      &err),
		  err);
	for (size_t i = 0; i < count; i++) {
		struct np_cell cells[NP_COUNT(names)] = { np_cell_integer((int64_t)i) };

		for (size_t c = 1; c < NP_COUNT(names); c++)
			cells[c] = some_cell(seed, c);
		assert_ok(adv_rows_add(&twin->rows, cells, &err), err);
		insert(twin->sql, cells);
	}
	adv_view_of_rows(&twin->view, "t", &twin->rows);
	assert_ok(adv_sql_add_view(twin->sql, &twin->view, &err), err);
}

static void release_twin(struct twin *twin)
{
	adv_sql_close(twin->sql);
	adv_view_close(&twin->view);
	adv_rows_release(&twin->rows);
}

/* The text with each "@" replaced by a name. */
static char *with_table(const char *text, const char *name)
{
	struct np_buf buf = NP_BUF_INIT;
	char *copy;

	for (; *text; text++) {
		if (*text == '@')
			np_buf_add(&buf, name);
		else
			np_buf_add_char(&buf, *text);
	}
	copy = strdup(buf.text);
	np_buf_release(&buf);
	assert_non_null(copy);
	return copy;
}

static void assert_twins_agree(struct twin *twin, const char *text)
{
	char *view = with_table(text, "t");
	char *plain = with_table(text, "plain");
	char *expected = answer(twin->sql, plain);
	char *given = answer(twin->sql, view);

	if (strcmp(expected, given) != 0)
		print_message("%s\n", text);
	assert_string_equal(given, expected);
	free(view);
	free(plain);
	free(expected);
	free(given);
}

static void some_condition(uint64_t *seed, struct np_buf *buf)
{
	static const char *const columns[] = { "id", "n", "r", "s", "u" };
	static const char *const operators[] = { "=", "<", "<=", ">", ">=", "IS", "IS NOT", "<>" };
	static const char *const values[] = { "1",   "0",      "-1",   "2.5",   "'MatMul'",
					      "'5'", "5",      "NULL", "1.0",   "'m'",
					      "''",  "-1e300", "1e99", "'a_b'", "3" };
	static const char *const patterns[] = {
		"s REGEXP '(?i)matmul'",
		"s LIKE 'MATMUL%'",
		"s GLOB 'a[x_]b'",
		"s LIKE 'a_b'",
		"s LIKE NULL",
		"s GLOB 'aten::*'",
		"s IS NULL",
		"s IS NOT NULL",
		"r IS NOT NULL",
		"u IS NULL",
		"s IN ('Add', 'Z', '')",
		"n IN (0, 1, NULL)",
		"u IN (1, 'Add')",
		"n IN (SELECT n + 1 FROM @ LIMIT 3)",
		"u REGEXP '^[0-9]$'",
		"NOT s REGEXP 'M'",
		"n IN ('1', 2)",
		"rowid = 3",
		"rowid = '4'",
		"rowid IN (1, 5)",
	};
	const char *column = columns[np_random_below(seed, NP_COUNT(columns))];

	if (np_random_below(seed, 2))
		np_buf_add(buf, patterns[np_random_below(seed, NP_COUNT(patterns))]);
	else
		np_buf_printf(buf, "%s %s %s", column,
			      operators[np_random_below(seed, NP_COUNT(operators))],
			      values[np_random_below(seed, NP_COUNT(values))]);
}

static void conditions_on_a_view_are_those_of_sqlite(void **state)
{
	static const char *const ends[] = { " ORDER BY id", " ORDER BY s, n, id",
					    " ORDER BY u, r DESC, id", " ORDER BY r, id" };
	uint64_t seed = 11;

	(void)state;
	for (int round = 0; round < 30; round++) {
		struct twin twin;

		make_twin(&twin, &seed, np_random_below(&seed, 40));
		for (int query = 0; query < 40; query++) {
			struct np_buf buf = NP_BUF_INIT;
			size_t conditions = np_random_below(&seed, 4);

			np_buf_add(&buf, "SELECT id, n, r, s, u FROM @ WHERE 1");
			for (size_t i = 0; i < conditions; i++) {
				np_buf_add(&buf, " AND ");
				some_condition(&seed, &buf);
			}
			np_buf_add(&buf, ends[np_random_below(&seed, NP_COUNT(ends))]);
			assert_twins_agree(&twin, buf.text);
			np_buf_release(&buf);
		}
		release_twin(&twin);
	}
}

static void joins_and_groups_of_views_are_those_of_sqlite(void **state)
{
	static const char *const queries[] = {
		"SELECT a.id, b.id FROM @ a JOIN @ b ON b.n = a.n AND b.s REGEXP 'M' ORDER BY 1, 2",
		"SELECT a.id, b.id FROM @ a LEFT JOIN @ b ON b.s = a.s AND b.id > a.id ORDER BY 1, 2",
		"SELECT a.id, b.id FROM @ a LEFT JOIN @ b ON b.u = a.n WHERE b.id IS NULL ORDER BY 1",
		"SELECT a.id, b.id FROM @ a LEFT JOIN @ b ON b.r = a.n WHERE b.s IS NOT NULL ORDER BY 1, 2",
		"SELECT a.id, b.id FROM @ a JOIN @ b ON b.n IS a.n AND b.r IS a.r ORDER BY 1, 2",
		"SELECT a.id, b.id FROM @ a JOIN @ b ON b.u = a.s ORDER BY 1, 2",
		"SELECT s, n, count(*), sum(r) FROM @ WHERE s IN ('Add', 'MatMul') GROUP BY s, n ORDER BY 1, 2",
		"SELECT DISTINCT s FROM @ WHERE n > 0 ORDER BY s",
		"SELECT id, (SELECT count(*) FROM @ b WHERE b.n > a.n AND b.n <= a.n + 2) FROM @ a ORDER BY 1",
		"SELECT id FROM @ a WHERE EXISTS (SELECT 1 FROM @ b WHERE b.s LIKE a.s AND b.id <> a.id) ORDER BY 1",
	};
	uint64_t seed = 5;

	(void)state;
	for (int round = 0; round < 20; round++) {
		struct twin twin;

		make_twin(&twin, &seed, np_random_below(&seed, 30));
		for (size_t i = 0; i < NP_COUNT(queries); i++)
			assert_twins_agree(&twin, queries[i]);
		release_twin(&twin);
	}
}

static void an_order_numbers_equal_values_alike_and_in_order(void **state)
{
	uint64_t seed = 3;
	struct twin twin;
	struct np_err err = NP_ERR_INIT;

	(void)state;
	make_twin(&twin, &seed, 200);
	assert_ok(adv_view_open(&twin.view, &err), err);
	for (size_t column = 0; column < NP_COUNT(names); column++) {
		const struct adv_view_order *order = NULL;

		assert_null(adv_view_order_there(&twin.view, column));
		assert_ok(adv_view_order(&twin.view, column, &order, &err), err);
		assert_ptr_equal(adv_view_order_there(&twin.view, column), order);
		assert_int_equal(order->first[order->codes], 200);
		for (size_t i = 0; i + 1 < 200; i++) {
			uint32_t a = order->row[i];
			uint32_t b = order->row[i + 1];
			int side = adv_cell_compare(adv_rows_cell(&twin.rows, a, column),
						    adv_rows_cell(&twin.rows, b, column));

			assert_true(side <= 0);
			assert_int_equal(side == 0, order->code[a] == order->code[b]);
			assert_true(side < 0 || a < b);
		}
	}
	release_twin(&twin);
}

/* A pattern with no end is an error also where it is not SQLite that calls it. */
static void a_hopeless_pattern_is_an_error(void **state)
{
	struct np_err err = NP_ERR_INIT;
	struct twin twin;
	struct np_cell cells[NP_COUNT(names)] = { np_cell_integer(0) };
	uint64_t seed = 1;

	(void)state;
	make_twin(&twin, &seed, 0);
	cells[3] = np_cell_text("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!");
	assert_ok(adv_rows_add(&twin.rows, cells, &err), err);
	assert_answer(twin.sql, "SELECT id FROM t WHERE s REGEXP '^(a+)+$'",
		      "error: the pattern backtracks too much on this text; make it more exact");
	assert_answer(twin.sql, "SELECT id FROM t WHERE s REGEXP '('",
		      "error: bad pattern at character 2: missing closing parenthesis");
	release_twin(&twin);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(conditions_on_a_view_are_those_of_sqlite),
		cmocka_unit_test(joins_and_groups_of_views_are_those_of_sqlite),
		cmocka_unit_test(an_order_numbers_equal_values_alike_and_in_order),
		cmocka_unit_test(a_hopeless_pattern_is_an_error),
	};

	adv_sql_set_up();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
