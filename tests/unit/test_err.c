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

static void text_that_does_not_fit_is_cut(void **state)
{
	struct np_err err = NP_ERR_INIT;

	(void)state;
	assert_int_equal(np_fail(&err, NP_E_IO, "%1000d", 1), NP_E_IO);
	assert_int_equal(strlen(err.text), sizeof(err.text) - 1);
}

static void a_character_is_not_cut_in_two(void **state)
{
	struct np_err err = NP_ERR_INIT;

	(void)state;
	/* 510 bytes, then a character of three: only its first byte would fit. */
	assert_int_equal(np_fail(&err, NP_E_IO, "%510d\xe4\xb8\xad", 1), NP_E_IO);
	assert_int_equal(strlen(err.text), 510);
	/* All three of them fit exactly. */
	assert_int_equal(np_fail(&err, NP_E_IO, "%508d\xe4\xb8\xad", 1), NP_E_IO);
	assert_int_equal(strlen(err.text), 511);
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
		cmocka_unit_test(text_that_does_not_fit_is_cut),
		cmocka_unit_test(a_character_is_not_cut_in_two),
		cmocka_unit_test(a_failure_may_quote_the_one_before),
	};

	return cmocka_run_group_tests_name("err", tests, NULL, NULL);
}
