/* SPDX-License-Identifier: Apache-2.0 */
#include "np_advisor_fixture.h"

#include <inttypes.h>

#include "np_random.h"

#include "advisor/engine/data/graph.h"
#include "advisor/engine/views/views.h"

/* Rows that the test fills, as a view "t". */
struct table {
	struct adv_rows rows;
	struct adv_view view;
	struct adv_sql *sql;
};

static void begin(struct table *table, const char *const *names, const enum np_column_type *types,
		  size_t count)
{
	struct np_err err = NP_ERR_INIT;

	assert_ok(adv_rows_init(&table->rows, names, types, count, &err), err);
}

static void add(struct table *table, const struct np_cell *cells)
{
	struct np_err err = NP_ERR_INIT;

	assert_ok(adv_rows_add(&table->rows, cells, &err), err);
}

static void ready(struct table *table)
{
	struct np_err err = NP_ERR_INIT;

	adv_view_of_rows(&table->view, "t", &table->rows);
	table->sql = open_sql();
	assert_ok(adv_sql_add_view(table->sql, &table->view, &err), err);
}

static void release(struct table *table)
{
	adv_sql_close(table->sql);
	adv_view_close(&table->view);
	adv_rows_release(&table->rows);
}

static void sequences_are_found_in_each_partition_in_order(void **state)
{
	static const char *const names[] = { "p", "o", "token" };
	static const enum np_column_type types[] = { NP_INTEGER, NP_INTEGER, NP_TEXT };
	/* Partition 1, out of order: matmul add softmax matmul; partition 2: matmul softmax. */
	static const struct {
		int64_t p;
		int64_t o;
		const char *token;
	} list[] = { { 1, 30, "softmax" }, { 1, 10, "matmul" }, { 2, 1, "matmul" },
		     { 1, 20, "add" },     { 2, 2, "softmax" }, { 1, 40, "matmul" },
		     { 2, 3, "a-b" } };
	struct table t = { .sql = NULL };

	(void)state;
	begin(&t, names, types, 3);
	for (size_t i = 0; i < NP_COUNT(list); i++)
		add(&t, (struct np_cell[]){ np_cell_integer(list[i].p), np_cell_integer(list[i].o),
					    np_cell_text(list[i].token) });
	ready(&t);
	assert_answer(t.sql,
		      "SELECT part, start_row, end_row, start_key, end_key FROM "
		      "seq_match('t', 'p', 'o', 'token', 'matmul-(add){0,1}-softmax')",
		      "1|0|2|10|30;2|0|1|1|2");
	assert_answer(t.sql,
		      "SELECT part, start_key FROM seq_match('t', 'p', 'o', 'token', "
		      "'(add|softmax)-.')",
		      "1|20;2|2");
	assert_answer(
		t.sql,
		"SELECT rule, count(*) FROM seq_match('SELECT * FROM t WHERE p = 1', 'p', 'o', "
		"'token', '{\"one\": \"matmul\", \"two\": [\"add\", \"nobody\"]}') GROUP BY 1",
		"one|2;two|1");
	assert_answer(t.sql,
		      "SELECT start_key FROM seq_match('t', 'p', 'o', 'token', 'softmax-a\\-b')",
		      "2");
	/* How often a token may occur is none, and what may be missing is not needed. */
	assert_answer(t.sql,
		      "SELECT part, start_key, end_key FROM seq_match('t', 'p', 'o', 'token', "
		      "'matmul-add{0,1}-(nobody-){0,2}-softmax-{1,1}')",
		      "1|10|30;2|1|2");
	assert_answer(t.sql,
		      "SELECT part, start_key FROM seq_match('t', 'p', 'o', 'token', 'nobody|add')",
		      "1|20");
	/* A token with the prefix is the same as one without. */
	assert_answer(t.sql,
		      "SELECT part, start_key, end_key FROM seq_match('SELECT p, o, iif(token = "
		      "''softmax'', token, ''aten::'' || token) AS token FROM t', 'p', 'o', "
		      "'token', '{\"a\": [\"matmul-add\", \"matmul-softmax\"]}', 'aten::')",
		      "1|10|20;2|1|2");
	assert_answer(t.sql, "SELECT * FROM seq_match('t', 'p', 'o', 'token', '(add')",
		      "error: seq_match(): '(add': bad pattern at character 8: missing closing "
		      "parenthesis");
	assert_answer(t.sql, "SELECT * FROM seq_match('nobody', 'p', 'o', 'token', 'add')",
		      "error: seq_match(): no such table: nobody");
	release(&t);
}

/* Random intervals of two kinds. */
static void fill_intervals(struct table *t, uint64_t *random, size_t count)
{
	static const char *const names[] = { "kind", "id", "b", "e" };
	static const enum np_column_type types[] = { NP_INTEGER, NP_INTEGER, NP_INTEGER,
						     NP_INTEGER };

	begin(t, names, types, 4);
	for (size_t i = 0; i < count; i++) {
		int64_t b = (int64_t)np_random_below(random, 200);

		add(t, (struct np_cell[]){
			       np_cell_integer((int64_t)np_random_below(random, 2)),
			       np_cell_integer((int64_t)i), np_cell_integer(b),
			       np_cell_integer(b + (int64_t)np_random_below(random, 30)) });
	}
	ready(t);
}

static void overlaps_are_those_of_a_comparison_of_all_pairs(void **state)
{
	static const char swept[] =
		"SELECT count(*), sum(overlap_ns), sum(a_id * 7 + b_id * overlap_ns) FROM "
		"overlap('SELECT id, b, e FROM t WHERE kind = 0', 'SELECT id, b, e FROM t WHERE "
		"kind = 1')";
	static const char compared[] =
		"SELECT count(*), sum(o), sum(x * 7 + y * o) FROM (SELECT a.id AS x, c.id AS y, "
		"min(a.e, c.e) - max(a.b, c.b) AS o FROM t a, t c WHERE a.kind = 0 AND c.kind = 1) "
		"WHERE o > 0";
	uint64_t random = 1;

	(void)state;
	for (size_t round = 0; round < 30; round++) {
		struct table t = { .sql = NULL };
		char *expected;

		fill_intervals(&t, &random, np_random_below(&random, 60));
		expected = answer(t.sql, compared);
		assert_answer(t.sql, swept, expected);
		free(expected);
		release(&t);
	}
}

/* Every point of time is counted by hand. */
static void covered_time_is_that_of_counting_points(void **state)
{
	static const char swept[] =
		"SELECT sum(dur_ns), sum(covered_ns), sum(a_id * covered_ns) FROM "
		"covered('SELECT id, b, e FROM t WHERE kind = 0', 'SELECT id, b, e FROM t WHERE "
		"kind = 1')";
	static const char counted[] =
		"WITH RECURSIVE n(x) AS (SELECT 0 UNION ALL SELECT x + 1 FROM n WHERE x < 240) "
		"SELECT (SELECT sum(e - b) FROM t WHERE kind = 0), count(*), sum(a.id) FROM t a "
		"JOIN n ON n.x >= a.b AND n.x < a.e WHERE a.kind = 0 AND EXISTS (SELECT 1 FROM t c "
		"WHERE c.kind = 1 AND c.b <= n.x AND n.x < c.e)";
	uint64_t random = 2;

	(void)state;
	for (size_t round = 0; round < 15; round++) {
		struct table t = { .sql = NULL };
		char *expected;

		fill_intervals(&t, &random, 5 + np_random_below(&random, 40));
		expected = answer(t.sql, counted);
		/* Without any covered point SQL sums nothing, and the sweep sums zeros. */
		if (!strstr(expected, "|0|"))
			assert_answer(t.sql, swept, expected);
		free(expected);
		release(&t);
	}
}

/* What the union of one kind shares with the union of the other, counted by hand. */
static void shared_time_is_that_of_counting_points(void **state)
{
	static const char swept[] =
		"SELECT shared_ns, a_ns FROM shared('SELECT id, b, e FROM t WHERE kind = 0', "
		"'SELECT id, b, e FROM t WHERE kind = 1')";
	static const char counted[] =
		"WITH RECURSIVE n(x) AS (SELECT 0 UNION ALL SELECT x + 1 FROM n WHERE x < 240), "
		"p AS (SELECT x, EXISTS (SELECT 1 FROM t WHERE kind = 0 AND b <= x AND x < e) AS a, "
		"EXISTS (SELECT 1 FROM t WHERE kind = 1 AND b <= x AND x < e) AS c FROM n) "
		"SELECT sum(a AND c), sum(a) FROM p";
	uint64_t random = 3;

	(void)state;
	for (size_t round = 0; round < 15; round++) {
		struct table t = { .sql = NULL };
		char *expected;

		fill_intervals(&t, &random, 12 + np_random_below(&random, 40));
		expected = answer(t.sql, counted);
		assert_answer(t.sql, swept, expected);
		free(expected);
		release(&t);
	}
}

static void an_index_finds_what_a_scan_finds(void **state)
{
	static const struct {
		const char *indexed;
		const char *scanned; /* an expression is never looked up */
	} pairs[] = {
		{ "SELECT count(*), sum(id) FROM t WHERE b = 50",
		  "SELECT count(*), sum(id) FROM t WHERE +b = 50" },
		{ "SELECT count(*), sum(id) FROM t WHERE b >= 50 AND b < 70",
		  "SELECT count(*), sum(id) FROM t WHERE +b >= 50 AND +b < 70" },
		{ "SELECT count(*), sum(id) FROM t WHERE b > 50.5",
		  "SELECT count(*), sum(id) FROM t WHERE +b > 50.5" },
		{ "SELECT count(*) FROM t x JOIN t y ON x.b = y.e",
		  "SELECT count(*) FROM t x JOIN t y ON +x.b = +y.e" },
		{ "SELECT count(*) FROM t WHERE b = '50'", "SELECT count(*) FROM t WHERE +b = 50" },
		{ "SELECT count(*) FROM t WHERE b IN (1, 2, 3, 50)",
		  "SELECT count(*) FROM t WHERE +b IN (1, 2, 3, 50)" },
		{ "SELECT count(*) FROM t WHERE b = NULL", "SELECT 0" },
		{ "SELECT id FROM t WHERE rowid = 17", "SELECT 17" },
		{ "SELECT count(*) FROM t WHERE rowid = 500 OR rowid = -1", "SELECT 0" },
		{ "SELECT count(*) FROM t x JOIN t y ON y.rowid = x.b",
		  "SELECT count(*) FROM t x JOIN t y ON y.id = +x.b" },
	};
	struct table t = { .sql = NULL };
	uint64_t random = 3;

	(void)state;
	fill_intervals(&t, &random, 500);
	for (size_t i = 0; i < NP_COUNT(pairs); i++) {
		char *expected = answer(t.sql, pairs[i].scanned);

		assert_answer(t.sql, pairs[i].indexed, expected);
		free(expected);
	}
	release(&t);
}

static size_t cells_read;
static struct np_cell (*cell_of_rows)(const struct adv_view *view, size_t row, size_t column);

static struct np_cell count_cell(const struct adv_view *view, size_t row, size_t column)
{
	cells_read++;
	return cell_of_rows(view, row, column);
}

/* Cells that are looked at to join as many packets with their operators, of 16 for each rank. */
static size_t cells_of_join(size_t count)
{
	static const char *const names[] = { "rank", "op", "transport" };
	static const enum np_column_type types[] = { NP_INTEGER, NP_INTEGER, NP_TEXT };
	struct table t = { .sql = NULL };
	struct np_err err = NP_ERR_INIT;
	char expected[24];

	begin(&t, names, types, 3);
	for (size_t i = 0; i < count; i++)
		add(&t, (struct np_cell[]){ np_cell_integer((int64_t)i / 16),
					    np_cell_integer((int64_t)i % 16),
					    np_cell_text(i % 8 ? "SDMA" : "RDMA") });
	adv_view_of_rows(&t.view, "t", &t.rows);
	cell_of_rows = t.view.cell;
	t.view.cell = count_cell;
	t.sql = open_sql();
	assert_ok(adv_sql_add_view(t.sql, &t.view, &err), err);
	cells_read = 0;
	(void)snprintf(expected, sizeof(expected), "%zu", count / 8);
	assert_answer(t.sql,
		      "SELECT count(*) FROM t a CROSS JOIN t b ON b.rank = a.rank AND b.op = a.op"
		      " AND b.transport = 'RDMA'",
		      expected);
	release(&t);
	return cells_read;
}

static void a_join_does_not_look_at_the_rows_of_all_ranks_for_each_row(void **state)
{
	size_t few = cells_of_join(2048);
	size_t many = cells_of_join(8192);

	(void)state;
	assert_true(few > 0);
	assert_in_range(many, few, 5 * few);
}

/* Rows with texts that repeat, some of them at several addresses. */
static void fill_texts(struct table *t, uint64_t *random, size_t count)
{
	static const char *const names[] = { "k", "b", "x" };
	static const enum np_column_type types[] = { NP_TEXT, NP_INTEGER, NP_INTEGER };

	begin(t, names, types, 3);
	for (size_t i = 0; i < count; i++) {
		char text[8];

		(void)snprintf(text, sizeof(text), "t%zu", np_random_below(random, 12));
		add(t, (struct np_cell[]){ np_random_below(random, 9) ? np_cell_text(text)
								      : np_cell_null(),
					   np_cell_integer((int64_t)np_random_below(random, 5) - 2),
					   np_cell_integer((int64_t)i) });
	}
	ready(t);
}

static void groups_and_orders_are_those_that_sqlite_makes(void **state)
{
	static const struct {
		const char *taken_over;
		const char *plain; /* an expression is none of the view's columns */
	} pairs[] = {
		{ "SELECT k, b, count(*), sum(x) FROM t GROUP BY k, b",
		  "SELECT k, b, count(*), sum(x) FROM t GROUP BY k || '', +b" },
		{ "SELECT b, k, count(*), sum(x) FROM t WHERE b = 1 GROUP BY b, k",
		  "SELECT b, k, count(*), sum(x) FROM t WHERE +b = 1 GROUP BY +b, k || ''" },
		{ "SELECT k, b, x FROM t ORDER BY k, b, x",
		  "SELECT k, b, x FROM t ORDER BY k || '', +b, +x" },
		{ "SELECT k, b, x FROM t ORDER BY k DESC, b, x",
		  "SELECT k, b, x FROM t ORDER BY k || '' DESC, +b, +x" },
		{ "SELECT DISTINCT k, b FROM t ORDER BY 1, 2",
		  "SELECT DISTINCT k || '', +b FROM t ORDER BY 1, 2" },
		{ "SELECT k, x FROM t WHERE k IN ('t1', 't2') ORDER BY x",
		  "SELECT k, x FROM t WHERE k || '' IN ('t1', 't2') ORDER BY +x" },
		{ "SELECT x, lag(x) OVER (PARTITION BY k ORDER BY b, x) FROM t ORDER BY x",
		  "SELECT x, lag(x) OVER (PARTITION BY k || '' ORDER BY +b, +x) FROM t ORDER BY +x" },
		{ "SELECT count(DISTINCT k), count(DISTINCT b) FROM t",
		  "SELECT count(DISTINCT k || ''), count(DISTINCT +b) FROM t" },
	};
	uint64_t random = 4;

	(void)state;
	for (size_t round = 0; round < 10; round++) {
		struct table t = { .sql = NULL };

		fill_texts(&t, &random, np_random_below(&random, 300));
		for (size_t i = 0; i < NP_COUNT(pairs); i++) {
			char *expected = answer(t.sql, pairs[i].plain);

			assert_answer(t.sql, pairs[i].taken_over, expected);
			free(expected);
		}
		release(&t);
	}
}

static void fill_keys(struct table *t, const char *keys)
{
	static const char *const names[] = { "p", "b", "e", "k", "brk", "x" };
	static const enum np_column_type types[] = { NP_INTEGER, NP_INTEGER, NP_INTEGER,
						     NP_TEXT,    NP_INTEGER, NP_REAL };

	begin(t, names, types, NP_COUNT(names));
	for (size_t i = 0; keys[i]; i++) {
		int64_t at = (int64_t)i * 10;

		add(t, (struct np_cell[]){ np_cell_integer(0), np_cell_integer(at),
					   np_cell_integer(at + 4), np_cell_bytes(keys + i, 1),
					   np_cell_integer(keys[i] == '#'), np_cell_real(1) });
	}
	ready(t);
}

static void repeated_sequences_are_given_once_at_their_full_length(void **state)
{
	static const char sql[] =
		"SELECT first_row, length, count, wall_ns, s1 FROM ngram('SELECT p, b, e, k, brk, x "
		"FROM t', 2, 4, 2) ORDER BY 1, 2";
	struct table t = { .sql = NULL };

	(void)state;
	/*
	 * abc occurs three times; ab and bc only inside of it. A wall time is 24: from 0 to
	 * 20 + 4; three of them are 72. Nine rows are part of them.
	 */
	fill_keys(&t, "abcxabcyabc");
	assert_answer(t.sql, sql, "0|3|3|72|9.0");
	release(&t);

	/* aaaa: without overlaps aa twice; aaa occurs once only. */
	t = (struct table){ .sql = NULL };
	fill_keys(&t, "aaaa");
	assert_answer(t.sql, sql, "0|2|2|28|4.0");
	release(&t);

	/* Of six that repeat whole, those of the largest length stand for it. */
	t = (struct table){ .sql = NULL };
	fill_keys(&t, "abcdefxabcdef");
	assert_answer(t.sql, sql, "0|4|2|68|8.0;1|4|2|68|8.0;2|4|2|68|8.0");
	release(&t);

	/* A break ends sequences. */
	t = (struct table){ .sql = NULL };
	fill_keys(&t, "a#bqa#b");
	assert_answer(t.sql, sql, "");
	release(&t);
}

static void a_key_may_have_parts_and_breaks_a_source_of_their_own(void **state)
{
	struct table t = { .sql = NULL };

	(void)state;
	fill_keys(&t, "abxabyab");
	/* Read from the view itself, and with SQL: the same. */
	assert_answer(
		t.sql,
		"SELECT first_row, length, count, s1 FROM ngram('SELECT p, b, e, k AS key, x FROM t',"
		" 2, 4, 2, 'SELECT rowid FROM t WHERE k = ''x''')",
		"0|2|3|6.0");
	assert_answer(
		t.sql,
		"SELECT first_row, length, count, s1 FROM ngram('SELECT p, b, e, k AS key, x FROM t"
		" WHERE 1', 2, 4, 2, 'SELECT 2')",
		"0|2|3|6.0");
	/* The second part of the key is another one from row 6 on: ab occurs twice. */
	assert_answer(
		t.sql,
		"SELECT first_row, length, count FROM ngram('SELECT p, b, e, k AS key, b < 60 AS key2,"
		" brk FROM t', 2, 4, 2)",
		"0|2|2");
	/* A row that breaks, by its number. */
	assert_answer(
		t.sql,
		"SELECT first_row, length, count FROM ngram('SELECT p, b, e, k AS key FROM t', 2, 4, 2,"
		" 'SELECT 0 UNION ALL SELECT 99')",
		"3|2|2");
	assert_answer(t.sql, "SELECT * FROM ngram('SELECT p, b, e FROM t', 2, 4, 2)",
		      "error: ngram(): the source gives fewer than 4 columns");
	release(&t);
}

static void plain_sources_are_read_as_sql_would(void **state)
{
	static const char *const sources[][2] = {
		{ "SELECT rowid, b, e FROM t", "SELECT rowid, b, e FROM t WHERE 1" },
		{ " select rowid , b, E from t ", "SELECT rowid, b, e FROM t WHERE 1" },
		{ "SELECT k AS id, b AS start, e FROM t", "SELECT k, b, e FROM t WHERE 1" },
		{ "SELECT DISTINCT p, b, e FROM t", "SELECT p, b, e FROM t GROUP BY p, b, e" },
		{ "SELECT p, b, e FROM t -- all", "SELECT p, b, e FROM t" },
	};
	struct table t = { .sql = NULL };

	(void)state;
	fill_keys(&t, "abab");
	for (size_t i = 0; i < NP_COUNT(sources); i++) {
		struct np_buf text[2] = { NP_BUF_INIT, NP_BUF_INIT };
		char *expected;

		for (size_t j = 0; j < 2; j++)
			np_buf_printf(
				&text[j],
				"SELECT * FROM covered('%s\n', 'SELECT 0, 12, 31') ORDER BY 1, 2, 3",
				sources[i][j]);
		expected = answer(t.sql, text[1].text);
		assert_null(strstr(expected, "error"));
		assert_answer(t.sql, text[0].text, expected);
		free(expected);
		np_buf_release(&text[0]);
		np_buf_release(&text[1]);
	}
	assert_answer(t.sql, "SELECT * FROM covered('SELECT nobody, b, e FROM t', 't')",
		      "error: covered(): no such column: nobody");
	release(&t);
}

static void graphs_are_matched_as_induced_subgraphs(void **state)
{
	static const char dump[] =
		"graph { name: \"g\"\n op { name: \"m\" type: \"MatMul\" input: \"x:0\" attr { key: "
		"\"name\" value { s: \"no\" } } }\n op { name: \"a\" type: \"Add\" input: \"m:0\" }\n"
		" op { name: \"r\" type: \"Relu\" input: \"a:0\" input: \"m:0\" }\n"
		" op { name: \"x\" type: \"Data\" } }\n";
	struct adv_graphs graphs = { .nodes = { .arena = NULL } };
	struct np_err err = NP_ERR_INIT;
	struct adv_sql *sql = open_sql();
	struct adv_view views[2];

	(void)state;
	assert_ok(adv_graph_parse(&graphs, "g.txt", dump, strlen(dump), &err), err);
	adv_view_of_rows(&views[0], "v_graph_node", &graphs.nodes);
	adv_view_of_rows(&views[1], "v_graph_edge", &graphs.edges);
	assert_ok(adv_sql_add_view(sql, &views[0], &err), err);
	assert_ok(adv_sql_add_view(sql, &views[1], &err), err);
	assert_answer(sql, "SELECT id, op_type FROM v_graph_node", "m|MatMul;a|Add;r|Relu;x|Data");
	assert_answer(sql, "SELECT src, dst FROM v_graph_edge", "x|m;m|a;a|r;m|r");
	assert_answer(sql,
		      "SELECT \"match\", role, node FROM graph_match('{\"nodes\": {\"p\": "
		      "\"matmul|BatchMatMul\", \"q\": \"Add\"}, \"edges\": [[\"p\", \"q\"]]}')",
		      "0|p|m;0|q|a");
	/* m → a → r is there, but m → r is, too: not induced. */
	assert_answer(sql,
		      "SELECT count(*) FROM graph_match('{\"nodes\": {\"p\": \"MatMul\", \"q\": "
		      "\"Add\", \"s\": \"Relu\"}, \"edges\": [[\"p\", \"q\"], [\"q\", \"s\"]]}')",
		      "0");
	assert_int_equal(adv_graph_parse(&graphs, "n.txt", "hello { }", 9, &err), NP_E_FORMAT);
	adv_sql_close(sql);
	adv_graphs_release(&graphs);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sequences_are_found_in_each_partition_in_order),
		cmocka_unit_test(overlaps_are_those_of_a_comparison_of_all_pairs),
		cmocka_unit_test(covered_time_is_that_of_counting_points),
		cmocka_unit_test(shared_time_is_that_of_counting_points),
		cmocka_unit_test(an_index_finds_what_a_scan_finds),
		cmocka_unit_test(a_join_does_not_look_at_the_rows_of_all_ranks_for_each_row),
		cmocka_unit_test(groups_and_orders_are_those_that_sqlite_makes),
		cmocka_unit_test(repeated_sequences_are_given_once_at_their_full_length),
		cmocka_unit_test(a_key_may_have_parts_and_breaks_a_source_of_their_own),
		cmocka_unit_test(plain_sources_are_read_as_sql_would),
		cmocka_unit_test(graphs_are_matched_as_induced_subgraphs),
	};

	adv_sql_set_up();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
