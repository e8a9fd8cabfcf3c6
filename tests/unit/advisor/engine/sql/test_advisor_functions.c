/* SPDX-License-Identifier: Apache-2.0 */
#include "np_advisor_fixture.h"

#include <time.h>

/* Each row: SQL, and what it gives. */
struct expectation {
	const char *sql;
	const char *gives;
};

static void check_all(const struct expectation *list, size_t count)
{
	struct adv_sql *sql = open_sql();

	for (size_t i = 0; i < count; i++)
		assert_answer(sql, list[i].sql, list[i].gives);
	adv_sql_close(sql);
}

static void shapes_are_read_by_tensor_and_axis(void **state)
{
	static const struct expectation list[] = {
		{ "SELECT shape_elems('32,3;64')", "160" }, /* 96 + 64 */
		{ "SELECT shape_elems('32,3;64', 1)", "64" },
		{ "SELECT shape_elems('32,3;64', 2)", "" },
		{ "SELECT shape_elems('32,x')", "" },
		{ "SELECT shape_elems(NULL)", "" },
		{ "SELECT shape_elems('')", "0" },
		{ "SELECT shape_count('32,3;;64')", "3" },
		/* What is not known is no tensor, least of all the first. */
		{ "SELECT shape_ndim('32,3;64', NULL)", "" },
		{ "SELECT shape_dim('32,3;64', NULL, 1)", "" },
		{ "SELECT shape_dim('32,3;64', 0, NULL)", "" },
		{ "SELECT shape_elems('32,3;64', NULL)", "" },
		{ "SELECT dtype_bytes('INT8;FLOAT', NULL)", "" },
		{ "SELECT shape_ndim('32,3;64', 0)", "2" },
		{ "SELECT shape_ndim('32,3;;64', 1)", "0" },
		{ "SELECT shape_dim('32,3;64', 0, 1)", "3" },
		{ "SELECT shape_dim('32,3;64', 0, -1)", "3" },
		{ "SELECT shape_dim('32,3;64', 0, 2)", "" },
		{ "SELECT shape_dim('32,3;64', 0, -3)", "" },
		{ "SELECT shape_elems('9999999999,9999999999')", "" }, /* does not fit */
		{ "SELECT dtype_bytes('DT_BF16')", "2" },
		{ "SELECT dtype_bytes('FLOAT;INT64', 1)", "8" },
		{ "SELECT dtype_bytes('STRING')", "" },
		{ "SELECT shape_bytes('32,3;64', 'FLOAT16;FLOAT')", "448" }, /* 192 + 256 */
		{ "SELECT shape_bytes('32;', 'FLOAT16;DT_UNDEFINED')", "64" },
		{ "SELECT shape_bytes('32;4', 'FLOAT16')", "" },
		{ "SELECT set_diff('FLOAT;DOUBLE;double', 'float,int8')", "DOUBLE" },
		{ "SELECT set_diff('a;b', 'b,a')", "" },
	};

	(void)state;
	check_all(list, NP_COUNT(list));
}

static void versions_compare_as_people_mean_them(void **state)
{
	static const struct expectation list[] = {
		{ "SELECT ver_cmp('8.0.RC2', '8.0.0')", "-1" },
		{ "SELECT ver_cmp('8.0.RC2', '8.0.RC10')", "-1" },
		{ "SELECT ver_cmp('8.0.0', '8.0')", "0" },
		{ "SELECT ver_cmp('8.0', '8.0.RC1')", "1" },
		{ "SELECT ver_cmp('8.0.10', '8.0.9')", "1" },
		{ "SELECT ver_cmp('7.0.0', '8.0.RC1')", "-1" },
		{ "SELECT ver_cmp('2.1.0.post8', '2.1.0')", "1" },
		{ "SELECT ver_cmp('2.1.0a1', '2.1.0')", "-1" },
		{ "SELECT ver_cmp('', '')", "0" },
		{ "SELECT ver_cmp(NULL, '1')", "" },
	};

	(void)state;
	check_all(list, NP_COUNT(list));
}

/* SQLite has it from 3.35 on, if it was built so. */
static void roots_are_there_with_any_sqlite(void **state)
{
	static const struct expectation list[] = {
		{ "SELECT sqrt(9)", "3.0" },      { "SELECT sqrt('2.25')", "1.5" },
		{ "SELECT sqrt(-1)", "" },        { "SELECT sqrt(NULL)", "" },
		{ "SELECT sqrt('nothing')", "" },
	};

	(void)state;
	check_all(list, NP_COUNT(list));
}

static void patterns_match_capture_and_replace(void **state)
{
	static const struct expectation list[] = {
		{ "SELECT 'MatMulV2' REGEXP '^MatMul'", "1" },
		{ "SELECT 'BatchMatMul' REGEXP '^MatMul'", "0" },
		{ "SELECT NULL REGEXP 'a'", "" },
		{ "SELECT 'a' REGEXP '('",
		  "error: bad pattern at character 2: missing closing parenthesis" },
		{ "SELECT regex_capture('#(\\w+)\\.step', 'Optimizer.step#Adam.step')", "Adam" },
		{ "SELECT regex_capture('(a)|(b)', 'b', 1) IS NULL", "1" },
		{ "SELECT regex_replace('hcom_x__12_3', '__\\d+', '')", "hcom_x_3" },
	};

	(void)state;
	check_all(list, NP_COUNT(list));
}

static void aggregates_are_those_of_statistics(void **state)
{
	static const struct expectation list[] = {
		{ "WITH t(x) AS (VALUES (3), (1), (2), (10)) SELECT median(x) FROM t", "2.5" },
		{ "WITH t(x) AS (VALUES (3), (1), (2)) SELECT median(x) FROM t", "2.0" },
		{ "WITH t(x) AS (VALUES (1), (NULL), ('a')) SELECT median(x) FROM t", "1.0" },
		{ "WITH t(x) AS (VALUES (NULL)) SELECT median(x) FROM t", "" },
		/* 90 % of the way from 0 to 10 in steps of 5 lies between the last two: 9. */
		{ "WITH t(x) AS (VALUES (0), (5), (10)) SELECT percentile(x, 90) FROM t", "9.0" },
		{ "WITH t(x) AS (VALUES (0), (5), (10)) SELECT percentile(x, 100) FROM t", "10.0" },
		{ "WITH t(x) AS (VALUES (0), (1), (2), (3), (4)) SELECT course(x) FROM t",
		  "growing" },
		{ "WITH t(x) AS (VALUES (5), (5), (5)) SELECT course(x), course_period(x) FROM t",
		  "constant|" },
		{ "WITH t(x) AS (VALUES (9), (0), (0), (9), (0), (0), (9)) SELECT course_period(x) FROM t",
		  "3" },
		{ "WITH t(x) AS (VALUES (9), (0), (0), (9), (0), (0), (9)) SELECT course(x) FROM t",
		  "periodic" },
		{ "WITH t(x) AS (VALUES (1), (2)) SELECT course(x) FROM t", "" },
		{ "SELECT course(1) WHERE 0", "" },
		/* Median 2; distances 1, 0, 0, 1, 8: their median is 1. */
		{ "WITH t(x) AS (VALUES (1), (2), (2), (3), (10)) SELECT mad(x) FROM t", "1.0" },
		{ "WITH t(x) AS (VALUES (2), (4), (4), (4), (5), (5), (7), (9)) "
		  "SELECT round(stddev(x), 4) FROM t",
		  "2.1381" },
		{ "WITH t(x) AS (VALUES ('b'), ('a'), ('b'), ('a')) SELECT mode(x) FROM t", "a" },
	};

	(void)state;
	check_all(list, NP_COUNT(list));
}

static void the_users_frame_is_the_innermost_outside_of_libraries(void **state)
{
	static const struct expectation list[] = {
		{ "SELECT user_frame('torch/nn/functional.py(1): linear' || char(10) || "
		  "'/usr/lib/python3.8/site-packages/torch_npu/npu/x.py(2): f' || char(10) || "
		  "'/home/me/train.py(42): step' || char(10) || '/home/me/main.py(7): main')",
		  "/home/me/train.py(42): step" },
		{ "SELECT user_frame('torch/nn/functional.py(1): linear')", "" },
		{ "SELECT user_frame('/home/me/torchlike/a.py(3): f')",
		  "/home/me/torchlike/a.py(3): f" },
	};

	(void)state;
	check_all(list, NP_COUNT(list));
}

static void the_environment_is_asked_by_rank_and_name(void **state)
{
	static const char *const names[] = { "rank", "name", "value" };
	static const enum np_column_type types[] = { NP_INTEGER, NP_TEXT, NP_TEXT };
	struct np_err err = NP_ERR_INIT;
	struct adv_sql *sql = open_sql();
	struct adv_rows rows;
	struct adv_view view;

	(void)state;
	assert_ok(adv_rows_init(&rows, names, types, NP_COUNT(names), &err), err);
	assert_ok(adv_rows_add(&rows,
			       (struct np_cell[]){ np_cell_integer(1), np_cell_text("HCCL_ALGO"),
						   np_cell_text("ring") },
			       &err),
		  err);
	adv_view_of_rows(&view, "v_env", &rows);
	assert_ok(adv_sql_add_view(sql, &view, &err), err);
	assert_answer(sql, "SELECT envget(1, 'HCCL_ALGO')", "ring");
	assert_answer(sql, "SELECT envget(0, 'HCCL_ALGO') IS NULL", "1");
	assert_answer(sql, "SELECT envget(1, 'nothing') IS NULL", "1");
	adv_sql_close(sql);
	adv_view_close(&view);
	adv_rows_release(&rows);
}

static void built_in_functions_that_were_replaced_still_do_their_job(void **state)
{
	static const struct expectation list[] = {
		{ "SELECT instr('abcabc', 'c')", "3" },
		{ "SELECT instr('\xc3\xa9"
		  "a', 'a')",
		  "2" },
		{ "SELECT instr('abc', 'x')", "0" },
		{ "SELECT replace('aXbXc', 'X', '--')", "a--b--c" },
		{ "SELECT replace('abc', '', 'x')", "abc" },
		{ "SELECT trim('\"a\"', '\"')", "a" },
		{ "SELECT ltrim('xxaxx', 'x') || '|' || rtrim('xxaxx', 'x')", "axx|xxa" },
		{ "SELECT trim('  a ')", "a" },
	};

	(void)state;
	check_all(list, NP_COUNT(list));
}

static void a_rule_can_only_read(void **state)
{
	static const struct expectation list[] = {
		{ "CREATE TABLE t(x)",
		  "error: rules may only read: INSERT sqlite_master is not allowed" },
		{ "ATTACH '/tmp/x' AS y",
		  "error: rules may only read: ATTACH /tmp/x is not allowed" },
		{ "PRAGMA journal_mode",
		  "error: rules may only read: PRAGMA journal_mode is not allowed" },
		{ "BEGIN", "error: rules may only read: a transaction BEGIN is not allowed" },
		{ "SELECT random()", "error: not authorized to use function: random" },
		{ "SELECT load_extension('x')",
		  "error: not authorized to use function: load_extension" },
		{ "SELECT 1; SELECT 2", "error: there is more than one statement" },
		{ "", "error: there is no statement" },
		{ "SELECT :nobody", "error: there is no parameter :nobody" },
		{ "SELECT json_extract(value, '$.a') FROM json_each('[{\"a\": 5}]')", "5" },
	};

	(void)state;
	check_all(list, NP_COUNT(list));
}

static np_ns now(void)
{
	struct timespec time;

	(void)clock_gettime(CLOCK_MONOTONIC, &time);
	return (np_ns)time.tv_sec * 1000000000 + time.tv_nsec;
}

static void limits_of_time_rows_and_memory_end_a_statement(void **state)
{
	static const char endless[] = "WITH RECURSIVE r(x) AS (SELECT 1 UNION ALL SELECT x + 1 "
				      "FROM r) SELECT count(*) FROM r";
	static const char rows[] = "WITH RECURSIVE r(x) AS (SELECT 1 UNION ALL SELECT x + 1 "
				   "FROM r) SELECT x FROM r";
	static const char memory[] =
		"WITH RECURSIVE r(x, y) AS (SELECT 1, zeroblob(100000) UNION ALL SELECT x + 1, "
		"zeroblob(100000) FROM r WHERE x < 1000) SELECT length(y) FROM r ORDER BY y, x";
	struct adv_sql *sql = open_sql();
	struct adv_sql_limits limits = { .time = 100000000 };
	np_ns begin = now();

	(void)state;
	adv_sql_begin(sql, &limits);
	assert_answer(sql, endless, "error: it took longer than 0.1 s");
	assert_true(now() - begin < INT64_C(5000000000));
	adv_sql_end(sql);

	limits = (struct adv_sql_limits){ .rows = 10 };
	adv_sql_begin(sql, &limits);
	assert_answer(sql, rows, "error: it gives more than 10 rows; aggregate or filter in SQL");
	adv_sql_end(sql);

	limits = (struct adv_sql_limits){ .bytes = 10000000 };
	adv_sql_begin(sql, &limits);
	assert_answer(sql, memory, "error: it needs more than 10 MB of memory");
	adv_sql_end(sql);

	/* The connection is as good as before. */
	assert_answer(sql, "SELECT 1", "1");
	adv_sql_close(sql);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shapes_are_read_by_tensor_and_axis),
		cmocka_unit_test(versions_compare_as_people_mean_them),
		cmocka_unit_test(roots_are_there_with_any_sqlite),
		cmocka_unit_test(patterns_match_capture_and_replace),
		cmocka_unit_test(aggregates_are_those_of_statistics),
		cmocka_unit_test(the_users_frame_is_the_innermost_outside_of_libraries),
		cmocka_unit_test(the_environment_is_asked_by_rank_and_name),
		cmocka_unit_test(built_in_functions_that_were_replaced_still_do_their_job),
		cmocka_unit_test(a_rule_can_only_read),
		cmocka_unit_test(limits_of_time_rows_and_memory_end_a_statement),
	};

	adv_sql_set_up();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
