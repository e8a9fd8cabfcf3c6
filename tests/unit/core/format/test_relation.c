/* SPDX-License-Identifier: Apache-2.0 */
#include "npuprof/relation.h"

#include "np_test.h"

#include <float.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct np_column text_column[] = { { "name", NP_TEXT } };

static const struct np_column mixed_columns[] = {
	{ "name", NP_TEXT },
	{ "count", NP_INTEGER },
	{ "time(us)", NP_REAL },
	{ "size, MB", NP_NUMERIC },
};

/* The rows a test wants produced: `count` rows of cells, one after the other. */
struct rows {
	const struct np_cell *cells;
	size_t count;
	size_t width;
};

static int produce_rows(const void *model, struct np_sink *sink, struct np_err *err)
{
	const struct rows *rows = model;

	for (size_t i = 0; i < rows->count; i++) {
		int rc = np_sink_row(sink, &rows->cells[i * rows->width], err);

		if (rc < 0)
			return rc;
	}
	return NP_OK;
}

static const struct np_relation names = {
	.name = "names",
	.columns = text_column,
	.column_count = NP_COUNT(text_column),
	.produce = produce_rows,
};

static const struct np_relation mixed = {
	.name = "mixed",
	.columns = mixed_columns,
	.column_count = NP_COUNT(mixed_columns),
	.produce = produce_rows,
};

typedef void (*init_fn)(struct np_text_sink *sink, struct np_buf *buf, void *stream);

static void assert_table(init_fn init, const struct np_relation *relation,
			 const struct np_cell *cells, size_t count, const char *expected)
{
	struct rows rows = { cells, count, relation->column_count };
	struct np_err err = NP_ERR_INIT;
	struct np_buf buf = NP_BUF_INIT;
	struct np_text_sink sink;

	init(&sink, &buf, NULL);
	assert_ok(np_relation_write(relation, &rows, &sink.base, &err), err);
	assert_string_equal(buf.text, expected);
	np_buf_release(&buf);
}

static void assert_csv_field(const char *text, size_t length, const char *expected)
{
	struct np_cell cell = np_cell_bytes(text, length);
	char lines[200];

	(void)snprintf(lines, sizeof(lines), "name\n%s\n", expected);
	assert_table(np_csv_sink_init, &names, &cell, 1, lines);
}

static void assert_md_cell(const char *text, const char *expected)
{
	struct np_cell cell = np_cell_text(text);
	char lines[200];

	(void)snprintf(lines, sizeof(lines), "| name |\n| --- |\n| %s |\n", expected);
	assert_table(np_md_sink_init, &names, &cell, 1, lines);
}

static void assert_real(double value, const char *expected)
{
	struct np_buf buf = NP_BUF_INIT;

	np_real_format(&buf, value);
	assert_string_equal(buf.text, expected);
	np_buf_release(&buf);
}

static void what_is_unknown_becomes_null(void **state)
{
	(void)state;
	assert_int_equal(np_cell_integer(NP_UNKNOWN).type, NP_CELL_NULL);
	assert_int_equal(np_cell_scaled(NP_UNKNOWN, 1000).type, NP_CELL_NULL);
	assert_int_equal(np_cell_real((double)NAN).type, NP_CELL_NULL);
	assert_int_equal(np_cell_real((double)-INFINITY).type, NP_CELL_NULL);
	assert_int_equal(np_cell_text(NULL).type, NP_CELL_NULL);
}

static void zero_and_empty_text_are_values(void **state)
{
	(void)state;
	assert_int_equal(np_cell_integer(0).type, NP_CELL_INTEGER);
	assert_int_equal(np_cell_real(0).type, NP_CELL_REAL);
	assert_int_equal(np_cell_text("").type, NP_CELL_TEXT);
}

static void scaling_divides_by_the_unit(void **state)
{
	(void)state;
	assert_true(np_cell_scaled(1234, 1000).real == 1.234);
}

static void reals_print_their_shortest_form(void **state)
{
	(void)state;
	assert_real(0.1, "0.1");
	assert_real(0.1 + 0.2, "0.30000000000000004");
	assert_real(1.0 / 3, "0.3333333333333333");
	assert_real(1234567.891, "1234567.891");
	assert_real(-0.000125, "-0.000125");
	assert_real(5e-324, "4.94065645841247e-324");
	assert_real(DBL_MAX, "1.7976931348623157e+308");
}

static void reals_stay_reals(void **state)
{
	(void)state;
	assert_real(0, "0.0");
	assert_real(-0.0, "-0.0");
	assert_real(-3, "-3.0");
	assert_real(1e9, "1000000000.0");
	assert_real(999999999999999, "999999999999999.0");
	assert_real(1e15, "1000000000000000.0");
	assert_real(1736410576005110.25, "1736410576005110.2");
	assert_real(1e17, "1e+17");
	assert_real(0.0001, "0.0001");
	assert_real(0.00001, "1e-05");
}

static void a_real_that_is_not_finite_prints_nothing(void **state)
{
	(void)state;
	assert_real((double)NAN, "");
	assert_real((double)INFINITY, "");
}

/* The quick way for six decimals must not be known from the thorough one. */
static void reals_look_the_same_however_they_are_found(void **state)
{
	uint64_t seed = 42;
	struct np_buf buf = NP_BUF_INIT;
	char expected[64];

	(void)state;
	for (int i = 0; i < 200000; i++) {
		double unit = (double[]){ 1, 10, 1000, 1e6, 1e7, 3 }[i % 6];
		double value;

		seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
		value = (double)(int64_t)seed / 0x1p30 / unit;
		if (i % 2)
			value = trunc(value) / unit;
		for (int digits = 15; digits <= 17; digits++) {
			(void)snprintf(expected, sizeof(expected), "%.*g", digits, value);
			if (strtod(expected, NULL) == value)
				break;
		}
		np_buf_clear(&buf);
		np_real_format(&buf, value);
		if (!strpbrk(expected, ".e")) {
			assert_true(buf.length > 2);
			assert_string_equal(buf.text + buf.length - 2, ".0");
			assert_memory_equal(buf.text, expected, buf.length - 2);
		} else {
			assert_string_equal(buf.text, expected);
		}
	}
	np_buf_release(&buf);
}

static void integers_print_up_to_their_limits(void **state)
{
	struct np_buf buf = NP_BUF_INIT;

	(void)state;
	np_integer_format(&buf, INT64_MIN);
	np_buf_add_char(&buf, ' ');
	np_integer_format(&buf, 0);
	np_buf_add_char(&buf, ' ');
	np_integer_format(&buf, INT64_MAX);
	assert_string_equal(buf.text, "-9223372036854775808 0 9223372036854775807");
	np_buf_release(&buf);
}

static void csv_has_a_header_and_empty_fields_for_null(void **state)
{
	const struct np_cell cells[] = {
		np_cell_text("MatMul"), np_cell_integer(3), np_cell_scaled(1500, 1000),
		np_cell_null(),         np_cell_null(),     np_cell_null(),
		np_cell_null(),         np_cell_real(0.5),
	};

	(void)state;
	assert_table(np_csv_sink_init, &mixed, cells, 2,
		     "name,count,time(us),\"size, MB\"\n"
		     "MatMul,3,1.5,\n"
		     ",,,0.5\n");
}

static void csv_without_rows_is_a_header(void **state)
{
	(void)state;
	assert_table(np_csv_sink_init, &names, NULL, 0, "name\n");
}

/* As SQLite's column affinity does, so that the database and the text agree. */
static void numbers_take_the_type_of_their_column(void **state)
{
	const struct np_cell cells[] = {
		np_cell_text("x"),          np_cell_real(3.0),  np_cell_integer(4),
		np_cell_real(5.0),          np_cell_text("y"),  np_cell_real(3.5),
		np_cell_integer(0),         np_cell_real(5.25), np_cell_text("z"),
		np_cell_integer(INT64_MAX), np_cell_real(1e20), np_cell_real(1e20),
	};

	(void)state;
	assert_table(np_csv_sink_init, &mixed, cells, 3,
		     "name,count,time(us),\"size, MB\"\n"
		     "x,3,4.0,5\n"
		     "y,3.5,0.0,5.25\n"
		     "z,9223372036854775807,1e+20,1e+20\n");
}

static void csv_quotes_what_would_break_a_row(void **state)
{
	(void)state;
	assert_csv_field("a,b", 3, "\"a,b\"");
	assert_csv_field("say \"hi\"", 8, "\"say \"\"hi\"\"\"");
	assert_csv_field("two\r\nlines", 10, "\"two\r\nlines\"");
	assert_csv_field("plain text", 10, "plain text");
}

static void csv_quotes_each_kind_of_line_end_and_a_lone_quote(void **state)
{
	(void)state;
	assert_csv_field("\r", 1, "\"\r\"");
	assert_csv_field("a\nb", 3, "\"a\nb\"");
	assert_csv_field("\"", 1, "\"\"\"\"");
}

static void csv_leaves_texts_that_a_spreadsheet_takes_for_formulas_as_they_are(void **state)
{
	static const char *const texts[] = { "=1+2", "+Add", "-1 lost", "@main" };

	(void)state;
	for (size_t i = 0; i < NP_COUNT(texts); i++)
		assert_csv_field(texts[i], strlen(texts[i]), texts[i]);
	assert_csv_field("=a,b", 4, "\"=a,b\"");
}

static void csv_escapes_control_characters_and_bad_utf8(void **state)
{
	(void)state;
	assert_csv_field("a\tb", 3, "a\\x09b");
	assert_csv_field("a\0b", 3, "a\\x00b");
	assert_csv_field("\x1b[31m,", 6, "\"\\x1b[31m,\"");
	assert_csv_field("\xff\xc3", 2, "\\xff\\xc3");
	assert_csv_field("\xe7\xae\x97\xe5\xad\x90", 6, "\xe7\xae\x97\xe5\xad\x90");
}

static void markdown_is_a_github_table_with_numbers_to_the_right(void **state)
{
	const struct np_cell cells[] = {
		np_cell_text("MatMul"),
		np_cell_integer(3),
		np_cell_null(),
		np_cell_real(1.5),
	};

	(void)state;
	assert_table(np_md_sink_init, &mixed, cells, 1,
		     "| name | count | time(us) | size, MB |\n"
		     "| --- | ---: | ---: | ---: |\n"
		     "| MatMul | 3 |  | 1.5 |\n");
}

static void markdown_text_cannot_leave_its_cell(void **state)
{
	(void)state;
	assert_md_cell("a|b", "a\\|b");
	assert_md_cell("a\\|b", "a\\\\\\|b");
	assert_md_cell("a\\", "a\\\\");
	assert_md_cell("a\nb\r", "a\\x0ab\\x0d");
}

static void markdown_text_cannot_become_markup(void **state)
{
	(void)state;
	assert_md_cell("<img src=x>", "&lt;img src=x>");
	assert_md_cell("&lt;", "&amp;lt;");
	assert_md_cell("![x](http://a)", "!\\[x](http://a)");
	assert_md_cell("*a* `b`", "\\*a\\* \\`b\\`");
}

static void a_second_table_is_set_apart(void **state)
{
	const struct np_cell cell = np_cell_text("x");
	const struct rows rows = { &cell, 1, 1 };
	struct np_err err = NP_ERR_INIT;
	struct np_buf buf = NP_BUF_INIT;
	struct np_text_sink sink;

	(void)state;
	np_md_sink_init(&sink, &buf, NULL);
	assert_ok(np_relation_write(&names, &rows, &sink.base, &err), err);
	assert_ok(np_relation_write(&names, &rows, &sink.base, &err), err);
	assert_string_equal(buf.text, "| name |\n| --- |\n| x |\n"
				      "\n"
				      "| name |\n| --- |\n| x |\n");
	np_buf_release(&buf);
}

static int produce_many(const void *model, struct np_sink *sink, struct np_err *err)
{
	const size_t *count = model;
	const struct np_cell cell = np_cell_text("0123456789");

	for (size_t i = 0; i < *count; i++) {
		int rc = np_sink_row(sink, &cell, err);

		if (rc < 0)
			return rc;
	}
	return NP_OK;
}

static const struct np_relation many = {
	.name = "many",
	.columns = text_column,
	.column_count = NP_COUNT(text_column),
	.produce = produce_many,
};

static void a_stream_gets_everything_and_the_buffer_stays_small(void **state)
{
	const size_t count = 100000;
	struct np_err err = NP_ERR_INIT;
	struct np_buf buf = NP_BUF_INIT;
	struct np_text_sink sink;
	char *text = NULL;
	size_t length = 0;
	FILE *stream = open_memstream(&text, &length);

	(void)state;
	assert_non_null(stream);
	np_csv_sink_init(&sink, &buf, stream);
	assert_ok(np_relation_write(&many, &count, &sink.base, &err), err);
	assert_int_equal(fclose(stream), 0);
	assert_int_equal(length, 5 + 11 * count);
	assert_string_equal(text + length - 11, "0123456789\n");
	assert_int_equal(buf.length, 0);
	assert_true(buf.capacity <= 262144);
	np_buf_release(&buf);
	free(text);
}

static void a_full_disk_is_reported(void **state)
{
	const size_t count = 1;
	struct np_err err = NP_ERR_INIT;
	struct np_buf buf = NP_BUF_INIT;
	struct np_text_sink sink;
	FILE *stream = fopen("/dev/full", "w");

	(void)state;
	if (!stream)
		skip();
	np_csv_sink_init(&sink, &buf, stream);
	assert_int_equal(np_relation_write(&many, &count, &sink.base, &err), NP_E_IO);
	assert_string_equal(err.text, "cannot write table 'many': No space left on device");
	(void)fclose(stream);
	np_buf_release(&buf);
}

static int produce_failure(const void *model, struct np_sink *sink, struct np_err *err)
{
	(void)model;
	(void)sink;
	return np_fail(err, NP_E_RANGE, "no such row");
}

static void the_producers_failure_is_passed_on(void **state)
{
	struct np_relation failing = names;
	struct np_err err = NP_ERR_INIT;
	struct np_buf buf = NP_BUF_INIT;
	struct np_text_sink sink;

	(void)state;
	failing.produce = produce_failure;
	np_csv_sink_init(&sink, &buf, NULL);
	assert_int_equal(np_relation_write(&failing, NULL, &sink.base, &err), NP_E_RANGE);
	assert_string_equal(err.text, "no such row");
	np_buf_release(&buf);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_unknown_becomes_null),
		cmocka_unit_test(zero_and_empty_text_are_values),
		cmocka_unit_test(scaling_divides_by_the_unit),
		cmocka_unit_test(reals_print_their_shortest_form),
		cmocka_unit_test(reals_stay_reals),
		cmocka_unit_test(a_real_that_is_not_finite_prints_nothing),
		cmocka_unit_test(reals_look_the_same_however_they_are_found),
		cmocka_unit_test(integers_print_up_to_their_limits),
		cmocka_unit_test(csv_has_a_header_and_empty_fields_for_null),
		cmocka_unit_test(csv_without_rows_is_a_header),
		cmocka_unit_test(numbers_take_the_type_of_their_column),
		cmocka_unit_test(csv_quotes_what_would_break_a_row),
		cmocka_unit_test(csv_quotes_each_kind_of_line_end_and_a_lone_quote),
		cmocka_unit_test(
			csv_leaves_texts_that_a_spreadsheet_takes_for_formulas_as_they_are),
		cmocka_unit_test(csv_escapes_control_characters_and_bad_utf8),
		cmocka_unit_test(markdown_is_a_github_table_with_numbers_to_the_right),
		cmocka_unit_test(markdown_text_cannot_leave_its_cell),
		cmocka_unit_test(markdown_text_cannot_become_markup),
		cmocka_unit_test(a_second_table_is_set_apart),
		cmocka_unit_test(a_stream_gets_everything_and_the_buffer_stays_small),
		cmocka_unit_test(a_full_disk_is_reported),
		cmocka_unit_test(the_producers_failure_is_passed_on),
	};

	return cmocka_run_group_tests_name("relation", tests, NULL, NULL);
}
