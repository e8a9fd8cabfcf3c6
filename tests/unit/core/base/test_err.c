/* SPDX-License-Identifier: Apache-2.0 */
#include "npuprof/err.h"

#include "np_test.h"

static void failing_gives_the_code_and_the_text(void **state)
{
	struct np_err err = NP_ERR_INIT;

	(void)state;
	assert_int_equal(np_fail(&err, NP_E_IO, "cannot read '%s': %d", "a.db", 7), NP_E_IO);
	assert_int_equal(err.code, NP_E_IO);
	assert_string_equal(err.text, "cannot read 'a.db': 7");
}

static void a_caller_may_want_only_the_code(void **state)
{
	(void)state;
	assert_int_equal(np_fail(NULL, NP_E_RANGE, "nobody reads %d", 1), NP_E_RANGE);
	assert_int_equal(np_fail_nomem(NULL, "anything"), NP_E_NOMEM);
}

static void running_out_of_memory_has_one_wording(void **state)
{
	struct np_err err = NP_ERR_INIT;

	(void)state;
	assert_int_equal(np_fail_nomem(&err, "the run"), NP_E_NOMEM);
	assert_string_equal(err.text, "out of memory for the run");
}

static void text_that_does_not_fit_loses_its_middle(void **state)
{
	struct np_err err = NP_ERR_INIT;

	(void)state;
	assert_int_equal(np_fail(&err, NP_E_IO, "cannot read '%01000d': no such file", 1), NP_E_IO);
	assert_int_equal(strlen(err.text), sizeof(err.text) - 1);
	assert_memory_equal(err.text, "cannot read '000", 16);
	assert_non_null(strstr(err.text, "00…00"));
	assert_string_equal(err.text + strlen(err.text) - 17, "01': no such file");
}

static void text_longer_than_any_path_is_cut(void **state)
{
	struct np_err err = NP_ERR_INIT;

	(void)state;
	assert_int_equal(np_fail(&err, NP_E_IO, "%0100000d", 1), NP_E_IO);
	assert_int_equal(strlen(err.text), sizeof(err.text) - 1);
	/* 8190 bytes, and a character that would not fit into what is looked at. */
	assert_int_equal(np_fail(&err, NP_E_IO, "%08190d中", 1), NP_E_IO);
	assert_string_equal(err.text + strlen(err.text) - 2, "01");
}

static void a_character_is_not_cut_in_two(void **state)
{
	struct np_err err = NP_ERR_INIT;
	char wide[3 * 300 + 1];

	(void)state;
	for (size_t i = 0; i < sizeof(wide) - 1; i += 3)
		memcpy(wide + i, "中", 4);
	/* The gap begins and ends at every one of the three bytes of a character. */
	for (int before = 0; before < 3; before++) {
		for (int after = 0; after < 3; after++) {
			assert_int_equal(np_fail(&err, NP_E_IO, "%.*s%s%.*s", before, "ab", wide,
						 after, "ab"),
					 NP_E_IO);
			assert_true(strlen(err.text) < sizeof(err.text));
			/* 511 bytes less the gap hold 169 characters, or one less on each side of
			 * it. */
			assert_in_range(strlen(err.text), 511 - 4, 511);
			for (const char *at = err.text; *at; at += *at == 'a' || *at == 'b' ? 1 : 3)
				assert_true(*at == 'a' || *at == 'b' || strncmp(at, "中", 3) == 0 ||
					    strncmp(at, "…", 3) == 0);
		}
	}
	/* All of it fits exactly. */
	assert_int_equal(np_fail(&err, NP_E_IO, "%0508d中", 1), NP_E_IO);
	assert_int_equal(strlen(err.text), 511);
	assert_null(strstr(err.text, "…"));
}

static void a_failure_may_quote_the_one_before(void **state)
{
	struct np_err err = NP_ERR_INIT;

	(void)state;
	assert_int_equal(np_fail(&err, NP_E_IO, "disk gone"), NP_E_IO);
	assert_int_equal(np_fail(&err, err.code, "cannot read rank %d: %s", 3, err.text), NP_E_IO);
	assert_string_equal(err.text, "cannot read rank 3: disk gone");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(failing_gives_the_code_and_the_text),
		cmocka_unit_test(a_caller_may_want_only_the_code),
		cmocka_unit_test(running_out_of_memory_has_one_wording),
		cmocka_unit_test(text_that_does_not_fit_loses_its_middle),
		cmocka_unit_test(text_longer_than_any_path_is_cut),
		cmocka_unit_test(a_character_is_not_cut_in_two),
		cmocka_unit_test(a_failure_may_quote_the_one_before),
	};

	return cmocka_run_group_tests_name("err", tests, NULL, NULL);
}
