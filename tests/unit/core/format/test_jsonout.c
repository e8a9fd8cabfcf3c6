/* SPDX-License-Identifier: Apache-2.0 */
#include "npuprof/jsonout.h"
#include "npuprof/relation.h"

#include "np_test.h"

#include <stdio.h>
#include <stdlib.h>

static int set_up(void **state)
{
	static struct np_jsonout out;

	np_jsonout_init(&out, NULL);
	*state = &out;
	return 0;
}

static int tear_down(void **state)
{
	np_jsonout_release(*state);
	return 0;
}

static void assert_document(struct np_jsonout *out, const char *expected)
{
	struct np_err err = NP_ERR_INIT;

	assert_ok(np_jsonout_finish(out, &err), err);
	assert_string_equal(out->buf.text, expected);
}

static void assert_text(struct np_jsonout *out, const char *text, size_t length,
			const char *expected)
{
	np_buf_clear(&out->buf);
	np_jsonout_bytes(out, NULL, text, length);
	assert_document(out, expected);
}

static void nested_values_are_indented_by_two(void **state)
{
	struct np_jsonout *out = *state;

	np_jsonout_object(out, NULL);
	np_jsonout_text(out, "schema", "npuprof.cluster/1");
	np_jsonout_array(out, "ranks");
	np_jsonout_integer(out, NULL, 0);
	np_jsonout_object(out, NULL);
	np_jsonout_bool(out, "slow", true);
	np_jsonout_end(out);
	np_jsonout_end(out);
	np_jsonout_real(out, "share", 0.5);
	np_jsonout_end(out);
	assert_document(out, "{\n"
			     "  \"schema\": \"npuprof.cluster/1\",\n"
			     "  \"ranks\": [\n"
			     "    0,\n"
			     "    {\n"
			     "      \"slow\": true\n"
			     "    }\n"
			     "  ],\n"
			     "  \"share\": 0.5\n"
			     "}\n");
}

static void line_forms_keep_all_inside_on_one_line(void **state)
{
	struct np_jsonout *out = *state;

	np_jsonout_array(out, NULL);
	np_jsonout_object_line(out, NULL);
	np_jsonout_integer(out, "a", 1);
	np_jsonout_array(out, "b");
	np_jsonout_integer(out, NULL, 1);
	np_jsonout_integer(out, NULL, 2);
	np_jsonout_end(out);
	np_jsonout_object(out, "c");
	np_jsonout_bool(out, "d", false);
	np_jsonout_end(out);
	np_jsonout_end(out);
	np_jsonout_array_line(out, NULL);
	np_jsonout_object(out, NULL);
	np_jsonout_integer(out, "e", 3);
	np_jsonout_end(out);
	np_jsonout_integer(out, NULL, 4);
	np_jsonout_end(out);
	np_jsonout_end(out);
	assert_document(out, "[\n"
			     "  { \"a\": 1, \"b\": [1, 2], \"c\": { \"d\": false } },\n"
			     "  [{ \"e\": 3 }, 4]\n"
			     "]\n");
}

static void a_line_ends_with_what_opened_it(void **state)
{
	struct np_jsonout *out = *state;

	np_jsonout_object(out, NULL);
	np_jsonout_array_line(out, "line");
	np_jsonout_integer(out, NULL, 1);
	np_jsonout_end(out);
	np_jsonout_array(out, "lines");
	np_jsonout_integer(out, NULL, 2);
	np_jsonout_end(out);
	np_jsonout_end(out);
	assert_document(out, "{\n"
			     "  \"line\": [1],\n"
			     "  \"lines\": [\n"
			     "    2\n"
			     "  ]\n"
			     "}\n");
}

static void empty_objects_and_arrays_have_no_inside(void **state)
{
	struct np_jsonout *out = *state;

	np_jsonout_object(out, NULL);
	np_jsonout_object(out, "a");
	np_jsonout_end(out);
	np_jsonout_object_line(out, "b");
	np_jsonout_end(out);
	np_jsonout_array(out, "c");
	np_jsonout_end(out);
	np_jsonout_array_line(out, "d");
	np_jsonout_end(out);
	np_jsonout_end(out);
	assert_document(out, "{\n"
			     "  \"a\": {},\n"
			     "  \"b\": {},\n"
			     "  \"c\": [],\n"
			     "  \"d\": []\n"
			     "}\n");
}

static void what_is_unknown_is_null(void **state)
{
	struct np_jsonout *out = *state;

	np_jsonout_array_line(out, NULL);
	np_jsonout_null(out, NULL);
	np_jsonout_integer(out, NULL, NP_UNKNOWN);
	np_jsonout_real(out, NULL, (double)NAN);
	np_jsonout_real(out, NULL, (double)INFINITY);
	np_jsonout_text(out, NULL, NULL);
	np_jsonout_end(out);
	assert_document(out, "[null, null, null, null, null]\n");
}

static void numbers_lose_no_digit(void **state)
{
	struct np_jsonout *out = *state;

	np_jsonout_array_line(out, NULL);
	np_jsonout_integer(out, NULL, INT64_MAX);
	np_jsonout_integer(out, NULL, -1);
	np_jsonout_real(out, NULL, 2);
	np_jsonout_real(out, NULL, 0.1 + 0.2);
	np_jsonout_end(out);
	assert_document(out, "[9223372036854775807, -1, 2.0, 0.30000000000000004]\n");
}

static void quotes_and_control_characters_are_escaped(void **state)
{
	assert_text(*state, "say \"\\\"", 7, "\"say \\\"\\\\\\\"\"\n");
	assert_text(*state, "a\nb\0c\x1b\x7f", 7, "\"a\\u000ab\\u0000c\\u001b\\u007f\"\n");
	/* U+009B begins a terminal's escape sequence just as ESC [ does. */
	assert_text(*state, "\xc2\x9b\xc2\xa0", 4, "\"\\u009b\xc2\xa0\"\n");
}

static void invalid_utf8_is_replaced(void **state)
{
	assert_text(*state, "\xe7\xae\x97", 3, "\"\xe7\xae\x97\"\n");
	assert_text(*state, "a\xff", 2, "\"a\xef\xbf\xbd\"\n");
	assert_text(*state, "\xc3", 1, "\"\xef\xbf\xbd\"\n");
}

static void keys_are_escaped_too(void **state)
{
	struct np_jsonout *out = *state;

	np_jsonout_object_line(out, NULL);
	np_jsonout_integer(out, "a\"\n", 1);
	np_jsonout_end(out);
	assert_document(out, "{ \"a\\\"\\u000a\": 1 }\n");
}

static void nesting_may_use_every_level(void **state)
{
	struct np_jsonout *out = *state;

	for (int i = 0; i < NP_JSONOUT_DEPTH; i++)
		np_jsonout_array_line(out, NULL);
	for (int i = 0; i < NP_JSONOUT_DEPTH; i++)
		np_jsonout_end(out);
	assert_document(out, "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[["
			     "]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]\n");
}

static void a_stream_gets_everything_and_the_buffer_stays_small(void **state)
{
	const size_t count = 100000;
	struct np_err err = NP_ERR_INIT;
	struct np_jsonout out;
	char *text = NULL;
	size_t length = 0;
	FILE *stream = open_memstream(&text, &length);

	(void)state;
	assert_non_null(stream);
	np_jsonout_init(&out, stream);
	np_jsonout_array_line(&out, NULL);
	for (size_t i = 0; i < count; i++)
		np_jsonout_integer(&out, NULL, 12345678);
	np_jsonout_end(&out);
	assert_ok(np_jsonout_finish(&out, &err), err);
	assert_int_equal(fclose(stream), 0);
	assert_int_equal(length, 10 * count + 1);
	assert_string_equal(text + length - 12, ", 12345678]\n");
	assert_true(out.buf.capacity <= 262144);
	np_jsonout_release(&out);
	free(text);
}

static void a_text_that_found_no_memory_fails_the_document(void **state)
{
	struct np_buf half = { .text = np_buf_empty, .failed = true };
	struct np_jsonout *out = *state;
	struct np_err err = NP_ERR_INIT;

	np_jsonout_made(out, NULL, &half);
	assert_int_equal(np_jsonout_finish(out, &err), NP_E_NOMEM);
}

static void a_full_disk_is_reported_at_the_end(void **state)
{
	struct np_err err = NP_ERR_INIT;
	struct np_jsonout out;
	FILE *stream = fopen("/dev/full", "w");

	(void)state;
	if (!stream)
		skip();
	np_jsonout_init(&out, stream);
	np_jsonout_array(&out, NULL);
	for (int i = 0; i < 100000; i++)
		np_jsonout_integer(&out, NULL, i);
	np_jsonout_end(&out);
	assert_int_equal(np_jsonout_finish(&out, &err), NP_E_IO);
	assert_string_equal(err.text, "cannot write JSON: No space left on device");
	np_jsonout_release(&out);
	(void)fclose(stream);
}

/* --- relations ------------------------------------------------------------------------------- */

static int produce_two(const void *model, struct np_sink *sink, struct np_err *err)
{
	const char *host = model;
	int rc = np_sink_row(
		sink,
		(struct np_cell[]){ np_cell_integer(0), np_cell_text(host), np_cell_real(1.5) },
		err);

	return rc < 0 ? rc
		      : np_sink_row(sink,
				    (struct np_cell[]){ np_cell_integer(1), np_cell_text(NULL),
							np_cell_real(2) },
				    err);
}

static const struct np_column columns[] = {
	{ "rank", NP_INTEGER },
	{ "host_name", NP_TEXT },
	{ "ratio", NP_REAL },
};

static const struct np_relation relation = { .name = "np_thing",
					     .summary = "things",
					     .columns = columns,
					     .column_count = NP_COUNT(columns),
					     .produce = produce_two };

static void a_table_is_a_member_with_an_object_for_each_row(void **state)
{
	struct np_err err = NP_ERR_INIT;
	struct np_jsonout *out = *state;

	np_jsonout_object(out, NULL);
	assert_ok(np_jsonout_relation(out, "things", &relation, "a", NULL, 0, &err), err);
	np_jsonout_end(out);
	assert_document(out, "{\n"
			     "  \"things\": [\n"
			     "    { \"rank\": 0, \"host_name\": \"a\", \"ratio\": 1.5 },\n"
			     "    { \"rank\": 1, \"host_name\": null, \"ratio\": 2.0 }\n"
			     "  ]\n"
			     "}\n");
}

static void fields_choose_order_and_rename_columns_of_a_table(void **state)
{
	static const struct np_json_field fields[] = { { "ratio", NULL }, { "host_name", "host" } };
	struct np_err err = NP_ERR_INIT;
	struct np_jsonout *out = *state;

	np_jsonout_object(out, NULL);
	assert_ok(
		np_jsonout_relation(out, "things", &relation, "a", fields, NP_COUNT(fields), &err),
		err);
	np_jsonout_end(out);
	assert_document(out, "{\n"
			     "  \"things\": [\n"
			     "    { \"ratio\": 1.5, \"host\": \"a\" },\n"
			     "    { \"ratio\": 2.0, \"host\": null }\n"
			     "  ]\n"
			     "}\n");
}

#define JSONOUT_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		JSONOUT_TEST(nested_values_are_indented_by_two),
		JSONOUT_TEST(line_forms_keep_all_inside_on_one_line),
		JSONOUT_TEST(a_line_ends_with_what_opened_it),
		JSONOUT_TEST(empty_objects_and_arrays_have_no_inside),
		JSONOUT_TEST(what_is_unknown_is_null),
		JSONOUT_TEST(numbers_lose_no_digit),
		JSONOUT_TEST(quotes_and_control_characters_are_escaped),
		JSONOUT_TEST(invalid_utf8_is_replaced),
		JSONOUT_TEST(keys_are_escaped_too),
		JSONOUT_TEST(nesting_may_use_every_level),
		JSONOUT_TEST(a_table_is_a_member_with_an_object_for_each_row),
		JSONOUT_TEST(fields_choose_order_and_rename_columns_of_a_table),
		cmocka_unit_test(a_stream_gets_everything_and_the_buffer_stays_small),
		JSONOUT_TEST(a_text_that_found_no_memory_fails_the_document),
		cmocka_unit_test(a_full_disk_is_reported_at_the_end),
	};

	return cmocka_run_group_tests_name("jsonout", tests, NULL, NULL);
}
