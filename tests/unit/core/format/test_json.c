/* SPDX-License-Identifier: Apache-2.0 */
#include "npuprof/json.h"

#include "np_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct np_json *parsed(const char *text)
{
	struct np_err err = NP_ERR_INIT;
	struct np_json *doc = NULL;

	assert_ok(np_json_parse(text, strlen(text), "test", &doc, &err), err);
	return doc;
}

static void assert_refused(const char *text, size_t length, const char *expected)
{
	struct np_err err = NP_ERR_INIT;
	struct np_json *doc = NULL;

	assert_int_equal(np_json_parse(text, length, "test", &doc, &err), NP_E_FORMAT);
	assert_null(doc);
	assert_string_equal(err.text, expected);
}

static void assert_integer(const char *text, int64_t expected)
{
	NP_CLEANUP(np_json_freep) struct np_json *doc = parsed(text);
	int64_t value = 77;

	assert_true(np_json_integer(doc, &value));
	assert_int_equal(value, expected);
}

static void assert_no_integer(const char *text)
{
	NP_CLEANUP(np_json_freep) struct np_json *doc = parsed(text);
	int64_t value = 77;

	assert_false(np_json_integer(doc, &value));
	assert_int_equal(value, 77);
}

static void members_and_items_are_found(void **state)
{
	NP_CLEANUP(np_json_freep)
	struct np_json *doc = parsed("{\"groups\": [{\"name\": \"tp\", \"ranks\": [0, 2]}]}");
	const struct np_json *group = np_json_item(np_json_member(doc, "groups"), 0);
	int64_t rank = 0;

	(void)state;
	assert_string_equal(np_json_text(np_json_member(group, "name")), "tp");
	assert_int_equal(np_json_count(np_json_member(group, "ranks")), 2);
	assert_true(np_json_integer(np_json_item(np_json_member(group, "ranks"), 1), &rank));
	assert_int_equal(rank, 2);
}

static void members_come_in_the_order_of_the_file(void **state)
{
	NP_CLEANUP(np_json_freep)
	struct np_json *doc = parsed("{\"z\": 1, \"a\": 2, \"m\": 3, \"b\": 4}");
	struct np_json_entry entry = NP_JSON_ENTRY_INIT;
	char keys[8] = "";
	size_t count = 0;

	(void)state;
	while (np_json_next(doc, &entry)) {
		int64_t value = 0;

		keys[count++] = entry.key[0];
		assert_true(np_json_integer(entry.value, &value));
		assert_int_equal(value, count);
	}
	assert_string_equal(keys, "zamb");
}

static void a_key_written_twice_has_its_last_value(void **state)
{
	NP_CLEANUP(np_json_freep) struct np_json *doc = parsed("{\"a\": 1, \"a\": \"2\"}");

	(void)state;
	assert_int_equal(np_json_count(doc), 1);
	assert_string_equal(np_json_text(np_json_member(doc, "a")), "2");
}

static void every_kind_of_value_is_told_apart(void **state)
{
	NP_CLEANUP(np_json_freep)
	struct np_json *doc = parsed("[null, false, 1, 1.0, \"\", [], {}]");

	(void)state;
	for (size_t i = 0; i < np_json_count(doc); i++)
		assert_int_equal(np_json_type(np_json_item(doc, i)), NP_JSON_NULL + i);
	assert_int_equal(np_json_type(np_json_item(doc, 7)), NP_JSON_NONE);
}

static void a_single_value_is_a_document(void **state)
{
	NP_CLEANUP(np_json_freep) struct np_json *doc = parsed(" \"text\"\n");

	(void)state;
	assert_string_equal(np_json_text(doc), "text");
}

static void a_byte_order_mark_is_skipped(void **state)
{
	NP_CLEANUP(np_json_freep) struct np_json *doc = parsed("\xef\xbb\xbf[1]");

	(void)state;
	assert_int_equal(np_json_count(doc), 1);
}

static void whole_numbers_are_read_however_they_are_written(void **state)
{
	(void)state;
	assert_integer("3", 3);
	assert_integer("3.0", 3);
	assert_integer("3e2", 300);
	assert_integer("\"3\"", 3);
	assert_integer("\"-1\"", -1);
	assert_integer("1764246878131995320", 1764246878131995320);
	assert_integer("9223372036854775807", INT64_MAX);
}

static void what_is_no_whole_number_is_no_integer(void **state)
{
	(void)state;
	assert_no_integer("3.5");
	assert_no_integer("\"3.5\"");
	assert_no_integer("\"rank 3\"");
	assert_no_integer("\"\"");
	assert_no_integer("true");
	assert_no_integer("null");
	assert_no_integer("[3]");
}

static void numbers_without_room_are_no_integers(void **state)
{
	(void)state;
	assert_no_integer("1e300");
	assert_no_integer("9223372036854775808.0");
	assert_no_integer("\"9223372036854775808\"");
	assert_no_integer("-9223372036854775808");
	assert_no_integer("-9223372036854775808.0");
	assert_no_integer("\"-9223372036854775808\"");
}

static void reals_accept_any_number(void **state)
{
	NP_CLEANUP(np_json_freep) struct np_json *doc = parsed("[1, 2.5, \"3\"]");
	double value = 0;

	(void)state;
	assert_true(np_json_real(np_json_item(doc, 0), &value));
	assert_near(value, 1, 0);
	assert_true(np_json_real(np_json_item(doc, 1), &value));
	assert_near(value, 2.5, 0);
	assert_false(np_json_real(np_json_item(doc, 2), &value));
	assert_near(value, 2.5, 0);
}

static void bools_accept_no_number(void **state)
{
	NP_CLEANUP(np_json_freep) struct np_json *doc = parsed("[true, false, 1]");
	bool value = false;

	(void)state;
	assert_true(np_json_bool(np_json_item(doc, 0), &value));
	assert_true(value);
	assert_true(np_json_bool(np_json_item(doc, 1), &value));
	assert_false(value);
	assert_false(np_json_bool(np_json_item(doc, 2), &value));
}

static void getters_say_no_to_the_wrong_type(void **state)
{
	NP_CLEANUP(np_json_freep) struct np_json *doc = parsed("[{\"a\": 1}]");
	struct np_json_entry entry = NP_JSON_ENTRY_INIT;

	(void)state;
	assert_null(np_json_member(doc, "a"));
	assert_null(np_json_item(np_json_item(doc, 0), 0));
	assert_null(np_json_item(doc, 1));
	assert_null(np_json_text(doc));
	assert_int_equal(np_json_count(np_json_member(np_json_item(doc, 0), "a")), 0);
	assert_false(np_json_next(doc, &entry));
}

static void getters_say_no_to_nothing(void **state)
{
	struct np_json_entry entry = NP_JSON_ENTRY_INIT;
	int64_t integer = 0;
	double real = 0;
	bool flag = false;

	(void)state;
	assert_int_equal(np_json_type(NULL), NP_JSON_NONE);
	assert_null(np_json_member(NULL, "a"));
	assert_null(np_json_item(NULL, 0));
	assert_null(np_json_text(NULL));
	assert_int_equal(np_json_count(NULL), 0);
	assert_false(np_json_next(NULL, &entry));
	assert_false(np_json_integer(NULL, &integer));
	assert_false(np_json_real(NULL, &real));
	assert_false(np_json_bool(NULL, &flag));
	np_json_free(NULL);
}

static void damage_is_told_with_its_place(void **state)
{
	(void)state;
	assert_refused("{\n  \"a\": nope\n}", 15, "test:2:11: invalid token near 'nope'");
}

static void truncated_text_is_refused(void **state)
{
	const char *text = "{\"a\": [1, {\"b\": \"c\"}], \"d\": true}";

	(void)state;
	for (size_t length = 0; length < strlen(text); length++) {
		struct np_json *doc = NULL;

		assert_int_equal(np_json_parse(text, length, "test", &doc, NULL), NP_E_FORMAT);
		assert_null(doc);
	}
}

static void text_after_the_document_is_refused(void **state)
{
	(void)state;
	assert_refused("[] []", 5, "test:1:4: end of file expected near '['");
}

static void deep_nesting_is_refused(void **state)
{
	char text[100000];

	(void)state;
	memset(text, '[', sizeof(text));
	assert_refused(text, sizeof(text), "test:1:2049: maximum parsing depth reached near '['");
}

static void numbers_out_of_range_are_refused(void **state)
{
	(void)state;
	assert_refused("[9223372036854775808]", 21,
		       "test:1:20: too big integer near '9223372036854775808'");
	assert_refused("[1e999]", 7, "test:1:6: real number overflow near '1e999'");
}

static void nan_and_infinity_are_refused(void **state)
{
	(void)state;
	assert_refused("[NaN]", 5, "test:1:4: invalid token near 'NaN'");
	assert_refused("[-Infinity]", 11, "test:1:2: invalid token near '-'");
}

static void foreign_bytes_do_not_reach_the_description(void **state)
{
	struct np_err err = NP_ERR_INIT;
	struct np_json *doc = NULL;

	(void)state;
	assert_int_equal(np_json_parse("[\x1b]", 3, "test", &doc, &err), NP_E_FORMAT);
	assert_null(strchr(err.text, '\x1b'));
	assert_non_null(strstr(err.text, "\\x1b"));
}

static void invalid_utf8_is_refused(void **state)
{
	struct np_json *doc = NULL;

	(void)state;
	assert_int_equal(np_json_parse("[\"\xff\"]", 5, "test", &doc, NULL), NP_E_FORMAT);
	assert_int_equal(np_json_parse("[\"\\ud800\"]", 10, "test", &doc, NULL), NP_E_FORMAT);
	assert_int_equal(np_json_parse("[\"\\u0000\"]", 10, "test", &doc, NULL), NP_E_FORMAT);
	assert_null(doc);
}

/* A file of the test's own in a directory of its own. */
struct place {
	char directory[32];
	char file[64];
};

static int make_place(void **state)
{
	static struct place place;

	(void)snprintf(place.directory, sizeof(place.directory), "/tmp/np_json.XXXXXX");
	if (!mkdtemp(place.directory))
		return -1;
	(void)snprintf(place.file, sizeof(place.file), "%s/info.json", place.directory);
	*state = &place;
	return 0;
}

static int remove_place(void **state)
{
	const struct place *place = *state;

	(void)unlink(place->file);
	return rmdir(place->directory);
}

static void write_file(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

static void assert_unreadable(const struct place *place, size_t max_bytes, int code,
			      const char *fmt)
{
	struct np_err err = NP_ERR_INIT;
	struct np_json *doc = NULL;
	char expected[200];
	size_t before = strcspn(fmt, "@");

	(void)snprintf(expected, sizeof(expected), "%.*s%s%s", (int)before, fmt, place->file,
		       fmt + before + 1);
	assert_int_equal(np_json_read_file(place->file, max_bytes, &doc, &err), code);
	assert_null(doc);
	assert_string_equal(err.text, expected);
}

static void a_file_is_read_up_to_the_limit(void **state)
{
	const struct place *place = *state;
	NP_CLEANUP(np_json_freep) struct np_json *doc = NULL;
	struct np_err err = NP_ERR_INIT;

	write_file(place->file, "{\"rank_id\": \"0\"}");
	assert_ok(np_json_read_file(place->file, 16, &doc, &err), err);
	assert_string_equal(np_json_text(np_json_member(doc, "rank_id")), "0");
}

static void a_file_over_the_limit_is_refused(void **state)
{
	const struct place *place = *state;

	write_file(place->file, "{\"rank_id\": \"0\"}");
	assert_unreadable(place, 15, NP_E_FORMAT,
			  "'@' has 16 bytes, more than the 15 its kind may have");
}

static void a_missing_file_is_not_found(void **state)
{
	assert_unreadable(*state, 100, NP_E_NOTFOUND, "cannot open '@': No such file or directory");
}

static void an_empty_file_is_not_found(void **state)
{
	const struct place *place = *state;

	write_file(place->file, "");
	assert_unreadable(place, 100, NP_E_NOTFOUND, "'@' is empty");
}

static void a_damaged_file_is_told_by_its_path(void **state)
{
	const struct place *place = *state;

	write_file(place->file, "[\n1,\n");
	assert_unreadable(place, 100, NP_E_FORMAT, "@:3:0: ']' expected near end of file");
}

static void a_pipe_is_refused_without_waiting(void **state)
{
	const struct place *place = *state;

	assert_int_equal(mkfifo(place->file, 0600), 0);
	assert_unreadable(place, 100, NP_E_FORMAT, "'@' is not a regular file");
}

#define FILE_TEST(name) cmocka_unit_test_setup_teardown(name, make_place, remove_place)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(members_and_items_are_found),
		cmocka_unit_test(members_come_in_the_order_of_the_file),
		cmocka_unit_test(a_key_written_twice_has_its_last_value),
		cmocka_unit_test(every_kind_of_value_is_told_apart),
		cmocka_unit_test(a_single_value_is_a_document),
		cmocka_unit_test(a_byte_order_mark_is_skipped),
		cmocka_unit_test(whole_numbers_are_read_however_they_are_written),
		cmocka_unit_test(what_is_no_whole_number_is_no_integer),
		cmocka_unit_test(numbers_without_room_are_no_integers),
		cmocka_unit_test(reals_accept_any_number),
		cmocka_unit_test(bools_accept_no_number),
		cmocka_unit_test(getters_say_no_to_the_wrong_type),
		cmocka_unit_test(getters_say_no_to_nothing),
		cmocka_unit_test(damage_is_told_with_its_place),
		cmocka_unit_test(truncated_text_is_refused),
		cmocka_unit_test(text_after_the_document_is_refused),
		cmocka_unit_test(deep_nesting_is_refused),
		cmocka_unit_test(numbers_out_of_range_are_refused),
		cmocka_unit_test(nan_and_infinity_are_refused),
		cmocka_unit_test(foreign_bytes_do_not_reach_the_description),
		cmocka_unit_test(invalid_utf8_is_refused),
		FILE_TEST(a_file_is_read_up_to_the_limit),
		FILE_TEST(a_file_over_the_limit_is_refused),
		FILE_TEST(a_missing_file_is_not_found),
		FILE_TEST(an_empty_file_is_not_found),
		FILE_TEST(a_damaged_file_is_told_by_its_path),
		FILE_TEST(a_pipe_is_refused_without_waiting),
	};

	return cmocka_run_group_tests_name("json", tests, NULL, NULL);
}
