/* SPDX-License-Identifier: Apache-2.0 */
/* Sentences with gaps. */
#include "npuprof/say.h"

#include "np_test.h"

#include <math.h>

static void values_go_into_the_gaps_with_their_units(void **state)
{
	NP_CLEANUP(np_buf_release) struct np_buf buf = NP_BUF_INIT;

	(void)state;
	np_say(&buf, "rank {1} waited {2}, {3} of it for {4}", NP_SAID_INT(5),
	       NP_SAID_TIME(1500000), NP_SAID_SHARE(0.25), NP_SAID_TEXT("rank 7"));
	assert_string_equal(buf.text, "rank 5 waited 1.50 ms, 25 % of it for rank 7");
}

static void gaps_come_in_any_order_and_more_than_once(void **state)
{
	NP_CLEANUP(np_buf_release) struct np_buf buf = NP_BUF_INIT;

	(void)state;
	np_say(&buf, "{2} of {1}, {2}", NP_SAID_BYTES(2000), NP_SAID_REAL(1.26));
	assert_string_equal(buf.text, "1.3 of 2.00 kB, 1.3");
}

static void a_sentence_without_values_is_itself(void **state)
{
	NP_CLEANUP(np_buf_release) struct np_buf buf = NP_BUF_INIT;

	(void)state;
	np_say(&buf, "tp {0-3, {1} 100 %");
	assert_string_equal(buf.text, "tp {0-3, {1} 100 %");
}

static void texts_are_made_safe_and_what_is_not_known_is_said(void **state)
{
	NP_CLEANUP(np_buf_release) struct np_buf buf = NP_BUF_INIT;

	(void)state;
	np_say(&buf, "{1} {2} {3}", NP_SAID_TEXT("a\nb"), NP_SAID_TEXT(NULL),
	       NP_SAID_TIME(NP_UNKNOWN));
	assert_string_equal(buf.text, "a\\x0ab ? ?");
}

static void shares_have_a_digit_more_below_a_percent(void **state)
{
	static const struct {
		double share;
		const char *text;
	} cases[] = { { 0, "0 %" },        { 0.0004, "under 0.1 %" }, { 0.0042, "0.4 %" },
		      { 0.012, "1 %" },    { 0.995, "100 %" },        { 2.5, "250 %" },
		      { (double)NAN, "?" } };

	(void)state;
	for (size_t i = 0; i < NP_COUNT(cases); i++) {
		NP_CLEANUP(np_buf_release) struct np_buf buf = NP_BUF_INIT;

		np_say_share(&buf, cases[i].share);
		assert_string_equal(buf.text, cases[i].text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_go_into_the_gaps_with_their_units),
		cmocka_unit_test(gaps_come_in_any_order_and_more_than_once),
		cmocka_unit_test(a_sentence_without_values_is_itself),
		cmocka_unit_test(texts_are_made_safe_and_what_is_not_known_is_said),
		cmocka_unit_test(shares_have_a_digit_more_below_a_percent),
	};

	return cmocka_run_group_tests_name("say", tests, NULL, NULL);
}
