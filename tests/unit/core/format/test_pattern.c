/* SPDX-License-Identifier: Apache-2.0 */
#include "np_test.h"

#include <string.h>

#include "npuprof/pattern.h"

static struct np_pattern *compile(const char *text, unsigned flags)
{
	struct np_pattern *pattern = NULL;
	struct np_err err = NP_ERR_INIT;

	assert_ok(np_pattern_compile(text, strlen(text), flags, &pattern, NULL, &err), err);
	return pattern;
}

static bool matches(const char *regex, unsigned flags, const char *text)
{
	struct np_pattern *pattern = compile(regex, flags);
	struct np_err err = NP_ERR_INIT;
	bool found = false;

	assert_ok(np_pattern_match(pattern, text, strlen(text), 0, &found, &err), err);
	np_pattern_free(pattern);
	return found;
}

static void a_pattern_matches_anywhere_unless_the_whole_is_asked_for(void **state)
{
	(void)state;
	assert_true(matches("b+", 0, "abbc"));
	assert_false(matches("b+", NP_PATTERN_WHOLE, "abbc"));
	assert_true(matches("ABBC", NP_PATTERN_WHOLE | NP_PATTERN_NOCASE, "abbc"));
	assert_false(matches("^$", 0, "x"));
}

static void a_bad_pattern_is_refused_with_its_place(void **state)
{
	struct np_pattern *pattern = NULL;
	struct np_err err = NP_ERR_INIT;
	size_t offset = 0;

	(void)state;
	assert_int_equal(np_pattern_compile("ab(c", 4, 0, &pattern, &offset, &err), NP_E_FORMAT);
	assert_int_equal(offset, 4);
	assert_non_null(strstr(err.text, "parenthesis"));
	assert_null(pattern);
}

static void captures_are_parts_of_the_text(void **state)
{
	struct np_pattern *pattern = compile("(\\w+)\\.step(x)?", 0);
	struct np_err err = NP_ERR_INIT;
	struct np_capture part;
	bool found = false;

	(void)state;
	assert_int_equal(np_pattern_groups(pattern), 2);
	assert_ok(np_pattern_match(pattern, "#Adam.step", 10, 0, &found, &err), err);
	assert_true(found);
	assert_true(np_pattern_capture(pattern, 1, &part));
	assert_int_equal(part.begin, 1);
	assert_int_equal(part.end, 5);
	assert_false(np_pattern_capture(pattern, 2, &part));
	assert_false(np_pattern_capture(pattern, 3, &part));
	np_pattern_free(pattern);
}

static void replacing_knows_groups_and_dollars(void **state)
{
	static const struct {
		const char *regex;
		const char *text;
		const char *by;
		const char *expected;
	} cases[] = {
		{ "__\\d+", "allReduce__12__3", "", "allReduce" },
		{ "(a)(b)?", "ab-a", "[$2$1]", "[ba]-[a]" },
		{ "x", "axb", "$$${1}$0", "a$xb" },
		{ "", "ab", "-", "-a-b-" },
		{ "é", "aéb", "e", "aeb" },
		{ "q", "abc", "z", "abc" },
	};

	(void)state;
	for (size_t i = 0; i < NP_COUNT(cases); i++) {
		struct np_pattern *pattern = compile(cases[i].regex, 0);
		struct np_buf buf = NP_BUF_INIT;
		struct np_err err = NP_ERR_INIT;

		assert_ok(np_pattern_replace(pattern, cases[i].text, strlen(cases[i].text),
					     cases[i].by, strlen(cases[i].by), 100, &buf, &err),
			  err);
		assert_string_equal(buf.text, cases[i].expected);
		np_buf_release(&buf);
		np_pattern_free(pattern);
	}
}

static void a_text_that_grows_beyond_its_limit_is_an_error(void **state)
{
	NP_CLEANUP(np_pattern_freep) struct np_pattern *pattern = NULL;
	struct np_buf buf = NP_BUF_INIT;
	struct np_err err = NP_ERR_INIT;

	(void)state;
	assert_ok(np_pattern_compile("a", 1, 0, &pattern, NULL, &err), err);
	assert_ok(np_pattern_replace(pattern, "aa", 2, "bcd", 3, 6, &buf, &err), err);
	assert_string_equal(buf.text, "bcdbcd");
	assert_int_equal(np_pattern_replace(pattern, "aa", 2, "bcd", 3, 5, &buf, &err), NP_E_RANGE);
	np_buf_release(&buf);
}

static void endless_backtracking_is_an_error_and_soon(void **state)
{
	struct np_pattern *pattern = compile("^(a+)+$", 0);
	struct np_err err = NP_ERR_INIT;
	char text[64];
	bool found = false;

	(void)state;
	memset(text, 'a', sizeof(text));
	text[sizeof(text) - 1] = 'b';
	assert_int_equal(np_pattern_match(pattern, text, sizeof(text), 0, &found, &err),
			 NP_E_RANGE);
	assert_non_null(strstr(err.text, "backtracks"));
	np_pattern_free(pattern);
}

static void invalid_bytes_neither_match_nor_fail(void **state)
{
	(void)state;
	assert_true(matches("b", 0,
			    "a\xff"
			    "b"));
	assert_false(matches("^...$", 0,
			     "a\xff"
			     "b"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_pattern_matches_anywhere_unless_the_whole_is_asked_for),
		cmocka_unit_test(a_bad_pattern_is_refused_with_its_place),
		cmocka_unit_test(captures_are_parts_of_the_text),
		cmocka_unit_test(replacing_knows_groups_and_dollars),
		cmocka_unit_test(a_text_that_grows_beyond_its_limit_is_an_error),
		cmocka_unit_test(endless_backtracking_is_an_error_and_soon),
		cmocka_unit_test(invalid_bytes_neither_match_nor_fail),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
