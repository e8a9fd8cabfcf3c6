/* SPDX-License-Identifier: Apache-2.0 */
/* Maps of operator names that a user gives a comparison: read, refused, applied. */
#include "compare/engine/cmp_op_names.h"

#include "np_test.h"

#include <string.h>

static void a_map_is_json_or_a_dictionary_of_python(void **state)
{
	static const char *const texts[] = { "{'a':'b','c#d' : 'e'}",
					     "{\"a\": \"b\", \"c#d\": \"e\"}",
					     " { 'a' : \"b\" , 'c\\#d':'e', } " };

	(void)state;
	for (size_t i = 0; i < NP_COUNT(texts); i++) {
		struct np_err err = NP_ERR_INIT;
		struct cmp_op_names names;

		assert_ok(cmp_op_names_parse(texts[i], &names, &err), err);
		assert_int_equal(names.count, 2);
		assert_string_equal(cmp_op_names_map(&names, "a"), "b");
		assert_string_equal(cmp_op_names_map(&names, "c#d"), "e");
		assert_string_equal(cmp_op_names_map(&names, "other"), "other");
		cmp_op_names_release(&names);
	}
	assert_string_equal(cmp_op_names_map(NULL, "a"), "a");
}

static void what_is_wrong_with_a_map_is_said(void **state)
{
	static const struct {
		const char *text;
		const char *why;
	} all[] = {
		{ "", "character 1 must be '{'" },
		{ "{a: b}", "character 2 must be a quote" },
		{ "{'a' 'b'}", "must be ':'" },
		{ "{'a': 'b", "the closing quote" },
		{ "{'a': 'b' 'c': 'd'}", "',' or '}'" },
		{ "{'a': 'b'} x", "the end" },
		{ "{'': 'b'}", "1 to 200 characters" },
		{ "{'a': {}}", "must be a quote" },
		{ "{", "a quote" },
	};

	(void)state;
	for (size_t i = 0; i < NP_COUNT(all); i++) {
		struct np_err err = NP_ERR_INIT;
		struct cmp_op_names names;

		assert_int_equal(cmp_op_names_parse(all[i].text, &names, &err), NP_E_USAGE);
		assert_non_null(strstr(err.text, all[i].why));
		cmp_op_names_release(&names);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_map_is_json_or_a_dictionary_of_python),
		cmocka_unit_test(what_is_wrong_with_a_map_is_said),
	};

	return cmocka_run_group_tests_name("compare_op_names", tests, NULL, NULL);
}
