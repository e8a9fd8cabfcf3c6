/* SPDX-License-Identifier: Apache-2.0 */
#include "npuprof/text.h"

#include <inttypes.h>
#include <math.h>

#include "np_random.h"
#include "np_test.h"

/* Numbers */

static void assert_int(const char *text, int64_t expected)
{
	int64_t value = 77;

	if (!np_text_to_int(text, strlen(text), &value))
		fail_msg("'%s' was refused", text);
	assert_int_equal(value, expected);
}

static void a_whole_number_is_read(void **state)
{
	(void)state;
	assert_int("0", 0);
	assert_int("-0", 0);
	assert_int("+12", 12);
	assert_int("007", 7);
	assert_int("9223372036854775807", INT64_MAX);
	assert_int("-9223372036854775807", -INT64_MAX);
}

static void what_is_not_a_whole_number_is_refused(void **state)
{
	const char *texts[] = { "",
				"-",
				"+",
				"x",
				"1x",
				" 1",
				"1 ",
				"1.0",
				"1e3",
				"--1",
				"0x10",
				"N/A",
				"1,000",
				"9223372036854775808",
				"-9223372036854775808",
				"99999999999999999999" };

	(void)state;
	for (size_t i = 0; i < NP_COUNT(texts); i++) {
		int64_t value = 77;

		if (np_text_to_int(texts[i], strlen(texts[i]), &value))
			fail_msg("'%s' was accepted", texts[i]);
		assert_int_equal(value, 77);
	}
}

static void only_the_given_length_is_read(void **state)
{
	int64_t value;

	(void)state;
	assert_true(np_text_to_int("12345", 3, &value));
	assert_int_equal(value, 123);
	assert_true(np_text_to_scaled("12.345", 4, 3, &value));
	assert_int_equal(value, 12300);
}

static void assert_scaled(const char *text, unsigned shift, int64_t expected)
{
	int64_t value = 77;

	if (!np_text_to_scaled(text, strlen(text), shift, &value))
		fail_msg("'%s' was refused", text);
	assert_int_equal(value, expected);
}

static void microseconds_become_exact_nanoseconds(void **state)
{
	(void)state;
	assert_scaled("1736405443881410.320", 3, 1736405443881410320);
	assert_scaled("123", 3, 123000);
	assert_scaled("123.4", 3, 123400);
	assert_scaled("-123.4", 3, -123400);
	assert_scaled("+0.001", 3, 1);
	assert_scaled("9223372036854775.807", 3, INT64_MAX);
	assert_scaled("-9223372036854775.807", 3, -INT64_MAX);
}

/* Eight digits are read at once, and then the rest: each length, and each place of a mistake. */
static void numbers_of_any_length_are_read_digit_by_digit(void **state)
{
	static const char digits[] = "8123456789012345678";
	int64_t expected = 0;
	int64_t value;

	(void)state;
	for (size_t length = 1; length < sizeof(digits); length++) {
		char text[sizeof(digits)];

		expected = expected * 10 + (digits[length - 1] - '0');
		memcpy(text, digits, sizeof(text));
		text[length] = '\0';
		assert_scaled(text, 0, expected);
		for (size_t i = 0; i < length; i++) {
			text[i] = i % 2 ? ':' : '/';
			assert_false(np_text_to_scaled(text, length, 0, &value));
			text[i] = digits[i];
		}
	}
	assert_scaled("9223372036854775807", 0, INT64_MAX);
	assert_false(np_text_to_scaled("9223372036854775808", 19, 0, &value));
	assert_false(np_text_to_scaled("18446744073709551617", 20, 0, &value));
	assert_false(np_text_to_scaled("123456789012345678901234", 24, 0, &value));
}

static void digits_too_many_round_half_away_from_zero(void **state)
{
	(void)state;
	assert_scaled("1.23456", 3, 1235);
	assert_scaled("1.2344999", 3, 1234);
	assert_scaled("1.2345", 3, 1235);
	assert_scaled("-1.2345", 3, -1235);
	assert_scaled("0.5", 0, 1);
	assert_scaled("-0.4", 0, 0);
	assert_scaled("9.9996", 3, 10000);
}

static void a_point_needs_digits_on_one_side_only(void **state)
{
	(void)state;
	assert_scaled(".5", 3, 500);
	assert_scaled("5.", 3, 5000);
}

static void white_space_around_a_number_is_ignored(void **state)
{
	(void)state;
	assert_scaled(" \t12.5\t\r\n", 3, 12500);
	assert_scaled("7\r", 0, 7);
}

static void a_zero_fits_whatever_the_shift(void **state)
{
	(void)state;
	assert_scaled("0", 40, 0);
	assert_scaled("0.00", 40, 0);
}

static void what_is_not_a_plain_decimal_is_refused(void **state)
{
	const char *texts[] = { "",
				" ",
				".",
				"-",
				"-.",
				"N/A",
				"nan",
				"inf",
				"1..2",
				"1.2.3",
				"1 2",
				"- 1",
				"--1",
				"1,5",
				"0x1",
				"1e3",
				"1.69512E+15",
				"1.5e",
				"1.5x",
				"x1.5",
				"9223372036854775.808",
				"9223372036854775.8075",
				"-9223372036854775.808",
				"99999999999999999999999" };

	(void)state;
	for (size_t i = 0; i < NP_COUNT(texts); i++) {
		int64_t value = 77;

		if (np_text_to_scaled(texts[i], strlen(texts[i]), 3, &value))
			fail_msg("'%s' was accepted", texts[i]);
		assert_int_equal(value, 77);
	}
}

__extension__ typedef __int128 wide_int;

static wide_int power_of_ten(unsigned exponent)
{
	wide_int power = 1;

	while (exponent-- > 0)
		power *= 10;
	return power;
}

/* digits / 10^places times 10^shift, half away from zero; digits >= 0. */
static wide_int scaled(wide_int digits, unsigned places, unsigned shift)
{
	if (shift >= places)
		return digits * power_of_ten(shift - places);
	return (digits + power_of_ten(places - shift) / 2) / power_of_ten(places - shift);
}

static void scaling_agrees_with_wide_arithmetic(void **state)
{
	uint64_t seed = 1;

	(void)state;
	for (int round = 0; round < 100000; round++) {
		unsigned places = (unsigned)np_random_below(&seed, 9);
		unsigned shift = (unsigned)np_random_below(&seed, 7);
		uint64_t whole = np_random(&seed) >> np_random_below(&seed, 64);
		uint64_t one = (uint64_t)power_of_ten(places);
		uint64_t part = np_random(&seed) % one;
		bool negative = np_random_below(&seed, 2) == 0;
		wide_int expected = scaled((wide_int)whole * one + part, places, shift);
		int64_t value = 77;
		char text[64];
		int length = snprintf(text, sizeof(text), "%s%" PRIu64 ".%0*" PRIu64,
				      negative ? "-" : "", whole, (int)places, part);

		/* Without places the text is "7.0": the zero changes nothing. */
		assert_true(length > 0);
		if (np_text_to_scaled(text, (size_t)length, shift, &value)) {
			assert_true(expected <= INT64_MAX);
			assert_int_equal(value, negative ? -expected : expected);
		} else {
			assert_true(expected > INT64_MAX);
		}
	}
}

static void a_double_becomes_a_whole_number(void **state)
{
	(void)state;
	assert_int_equal(np_double_to_scaled(1.005, 1e6), 1005000);
	assert_int_equal(np_double_to_scaled(-0.0015, 1e3), -2);
	assert_int_equal(np_double_to_scaled(0, 1e6), 0);
}

static void a_double_that_does_not_fit_is_unknown(void **state)
{
	(void)state;
	assert_int_equal(np_double_to_scaled((double)NAN, 1), NP_UNKNOWN);
	assert_int_equal(np_double_to_scaled((double)INFINITY, 1), NP_UNKNOWN);
	assert_int_equal(np_double_to_scaled(1e16, 1e3), NP_UNKNOWN);
	assert_int_equal(np_double_to_scaled(-1e300, 1e300), NP_UNKNOWN);
	assert_int_equal(np_double_to_scaled(0x1p63, 1), NP_UNKNOWN);
}

/* The expected values are what Python 3 prints for round(x, n). */
static void rounding_is_that_of_python(void **state)
{
	const struct {
		double value;
		int digits;
		double expected;
	} rounds[] = {
		{ 2.675, 2, 2.67 },
		{ 0.125, 2, 0.12 },
		{ 0.375, 2, 0.38 },
		{ 0.5, 0, 0.0 },
		{ 1.5, 0, 2.0 },
		{ 2.5, 0, 2.0 },
		{ 1.005, 2, 1.0 },
		{ -2.675, 2, -2.67 },
		{ 1e300, 3, 1e300 },
		{ 1.15, 1, 1.1 },
		{ 1234.56789, 3, 1234.568 },
		{ 5e-324, 400, 5e-324 },
		{ 5e-324, 300, 0.0 },
		{ 0.1, 20, 0.1 },
	};

	(void)state;
	for (size_t i = 0; i < NP_COUNT(rounds); i++)
		assert_near(np_round(rounds[i].value, rounds[i].digits), rounds[i].expected, 0.0);
	assert_true(isnan(np_round((double)NAN, 2)));
	assert_true(isinf(np_round((double)INFINITY, 2)));
}

/* Ties, what is near them, and everything else: as the C library writes and reads decimals. */
static void rounding_is_that_of_all_digits(void **state)
{
	uint64_t seed = 3;

	(void)state;
	for (int i = 0; i < 200000; i++) {
		int digits = (int)np_random_below(&seed, 8);
		double scale = pow(10, (double)np_random_below(&seed, 18) - 3);
		double value = (double)(int64_t)np_random(&seed) / 0x1p63 * scale;
		double expected;
		char text[400];

		/* Every third is a tie, or the number beside one. */
		if (i % 3 == 0)
			value = (floor(value) + 0.5) / pow(10, digits);
		if (i % 6 == 0)
			value = nextafter(value, i % 12 ? (double)INFINITY : -(double)INFINITY);
		(void)snprintf(text, sizeof(text), "%.*f", digits, value);
		expected = strtod(text, NULL);
		value = np_round(value, digits);
		assert_memory_equal(&value, &expected, sizeof(value)); /* the sign of 0 too */
	}
}

/* Units */

static void assert_duration(np_ns time, const char *expected)
{
	struct np_buf buf = NP_BUF_INIT;

	np_text_duration(&buf, time);
	assert_string_equal(buf.text, expected);
	np_buf_release(&buf);
}

static void a_duration_has_three_digits_and_a_unit(void **state)
{
	(void)state;
	assert_duration(0, "0");
	assert_duration(7, "7 ns");
	assert_duration(950, "950 ns");
	assert_duration(1000, "1.00 us");
	assert_duration(1005, "1.01 us");
	assert_duration(12340, "12.3 us");
	assert_duration(1234567, "1.23 ms");
	assert_duration(102108100, "102 ms");
	assert_duration(12345678901, "12.3 s");
	assert_duration(86400 * INT64_C(1000000000), "86400 s");
	assert_duration(INT64_MAX, "9223372037 s");
}

static void rounding_up_reaches_the_next_unit(void **state)
{
	(void)state;
	assert_duration(999, "999 ns");
	assert_duration(9994, "9.99 us");
	assert_duration(9995, "10.0 us");
	assert_duration(99950, "100 us");
	assert_duration(999499, "999 us");
	assert_duration(999999, "1.00 ms");
	assert_duration(999999999, "1.00 s");
	assert_duration(999500000000, "1000 s");
}

static void a_negative_duration_has_a_sign(void **state)
{
	(void)state;
	assert_duration(-950, "-950 ns");
	assert_duration(-1234567, "-1.23 ms");
	assert_duration(-INT64_MAX, "-9223372037 s");
}

static void an_unknown_amount_is_a_question_mark(void **state)
{
	struct np_buf buf = NP_BUF_INIT;

	(void)state;
	np_text_bytes(&buf, NP_UNKNOWN);
	np_text_duration(&buf, NP_UNKNOWN);
	assert_string_equal(buf.text, "??");
	np_buf_release(&buf);
}

static void assert_bytes(int64_t bytes, const char *expected)
{
	struct np_buf buf = NP_BUF_INIT;

	np_text_bytes(&buf, bytes);
	assert_string_equal(buf.text, expected);
	np_buf_release(&buf);
}

static void bytes_count_in_powers_of_ten(void **state)
{
	(void)state;
	assert_bytes(0, "0");
	assert_bytes(512, "512 B");
	assert_bytes(1024, "1.02 kB");
	assert_bytes(61234567, "61.2 MB");
	assert_bytes(999999999, "1.00 GB");
	assert_bytes(64000000000, "64.0 GB");
	assert_bytes(1500000000000, "1.50 TB");
	assert_bytes(1234500000000000, "1235 TB");
	assert_bytes(-2048, "-2.05 kB");
}

/* Foreign text */

static void assert_safe(const char *text, size_t length, const char *expected)
{
	struct np_buf buf = NP_BUF_INIT;

	np_text_safe(&buf, text, length);
	assert_string_equal(buf.text, expected);
	np_buf_release(&buf);
}

#define ASSERT_SAFE(text, expected) assert_safe(text, sizeof(text) - 1, expected)

static void harmless_text_is_left_alone(void **state)
{
	(void)state;
	ASSERT_SAFE("", "");
	ASSERT_SAFE("MatMul\\v2", "MatMul\\v2");
	ASSERT_SAFE("\xe8\xae\xa1\xe7\xae\x97 \xc2\xb5s", "\xe8\xae\xa1\xe7\xae\x97 \xc2\xb5s");
	ASSERT_SAFE("\xf0\x9f\x9a\x80", "\xf0\x9f\x9a\x80");
}

static void control_characters_are_spelled_out(void **state)
{
	(void)state;
	ASSERT_SAFE("a\x1b[31mb", "a\\x1b[31mb");
	ASSERT_SAFE("a\0b\n\t\x7f", "a\\x00b\\x0a\\x09\\x7f");
	/* U+009B begins an escape sequence like ESC [. */
	ASSERT_SAFE("\xc2\x9b"
		    "31m",
		    "\\xc2\\x9b31m");
	/* U+202E turns around what follows. */
	ASSERT_SAFE("\xe2\x80\xae", "\\xe2\\x80\\xae");
}

static void invalid_bytes_are_spelled_out(void **state)
{
	(void)state;
	ASSERT_SAFE("a\xff"
		    "b",
		    "a\\xffb");
	ASSERT_SAFE("\xe8\xae", "\\xe8\\xae");
	ASSERT_SAFE("\xc0\x80", "\\xc0\\x80");
}

static void the_shortest_form_of_a_character_is_valid(void **state)
{
	(void)state;
	assert_int_equal(np_utf8_length("a", 1), 1);
	assert_int_equal(np_utf8_length("\0", 1), 1);
	assert_int_equal(np_utf8_length("\xc2\x80", 2), 2);
	assert_int_equal(np_utf8_length("\xe0\xa0\x80", 3), 3);
	assert_int_equal(np_utf8_length("\xed\x9f\xbf", 3), 3);
	assert_int_equal(np_utf8_length("\xf0\x90\x80\x80", 4), 4);
	assert_int_equal(np_utf8_length("\xf4\x8f\xbf\xbf", 4), 4);
}

static void sequences_that_mean_nothing_are_invalid(void **state)
{
	const char *texts[] = {
		"\x80",
		"\xbf", /* continuation without a beginning */
		"\xc0\x80",
		"\xc1\xbf", /* overlong */
		"\xe0\x9f\xbf",
		"\xf0\x8f\xbf\xbf", /* overlong */
		"\xed\xa0\x80",
		"\xed\xbf\xbf", /* surrogates */
		"\xf4\x90\x80\x80",
		"\xf5\x80\x80\x80", /* beyond U+10FFFF */
		"\xfe",
		"\xff",
		"\xc2",
		"\xe8\xae", /* cut off */
		"\xc2 ",
		"\xe8\xae ",
		"\xf0\x9f\x9a ",
	};

	(void)state;
	for (size_t i = 0; i < NP_COUNT(texts); i++)
		assert_int_equal(np_utf8_length(texts[i], strlen(texts[i])), 0);
	assert_int_equal(np_utf8_length("", 0), 0);
}

static size_t width(const char *text)
{
	return np_text_width(text, strlen(text));
}

static void wide_characters_take_two_columns(void **state)
{
	(void)state;
	assert_int_equal(width(""), 0);
	assert_int_equal(width("abc"), 3);
	assert_int_equal(width("\xc2\xb5s"), 2);
	assert_int_equal(width("\xe8\xae\xa1\xe7\xae\x97"), 4);
	assert_int_equal(width("\xef\xbc\xa1"), 2);     /* fullwidth A */
	assert_int_equal(width("\xea\xb0\x80"), 2);     /* Hangul */
	assert_int_equal(width("\xf0\x9f\x9a\x80"), 2); /* a rocket */
	assert_int_equal(width("\xf0\xa0\x80\x80"), 2); /* CJK extension B */
	assert_int_equal(width("\xe2\x94\x82"), 1);     /* a box drawing line */
}

static void combining_marks_take_no_column(void **state)
{
	(void)state;
	assert_int_equal(width("e\xcc\x81"), 1);
	assert_int_equal(width("a\xe2\x80\x8b"), 1);
}

static void an_invalid_byte_takes_one_column(void **state)
{
	(void)state;
	assert_int_equal(width("a\xff\xfe"), 3);
}

/* Suggestions */

static const char *const commands[] = { "cluster", "compare", "collect",  "advise",
					"help",    "summary", "step-time" };

static const char *closest(const char *word)
{
	return np_text_closest(word, commands, NP_COUNT(commands));
}

static void a_slip_is_recognised(void **state)
{
	(void)state;
	assert_string_equal(closest("clutser"), "cluster");
	assert_string_equal(closest("compere"), "compare");
	assert_string_equal(closest("advice"), "advise");
	assert_string_equal(closest("hlep"), "help");
	assert_string_equal(closest("steptime"), "step-time");
	assert_string_equal(closest("SUMMARY"), "summary");
	assert_string_equal(closest("clusters"), "cluster");
}

static void a_word_cut_short_is_recognised(void **state)
{
	(void)state;
	assert_string_equal(closest("sum"), "summary");
	assert_string_equal(closest("col"), "collect");
}

static void a_beginning_is_preferred_to_a_slip(void **state)
{
	const char *const words[] = { "stop", "step-time" };

	(void)state;
	assert_string_equal(np_text_closest("step", words, 2), "step-time");
}

static void the_nearest_of_several_is_taken(void **state)
{
	const char *const words[] = { "rank-list", "ranks", "rank", "bank" };

	(void)state;
	assert_string_equal(np_text_closest("rank", words, 4), "rank");
	assert_string_equal(np_text_closest("ran", words, 4), "rank");
	assert_string_equal(np_text_closest("rnak", words, 4), "rank");
}

static void an_absent_cell_is_no_number(void **state)
{
	int64_t value = 7;

	(void)state;
	assert_false(np_text_to_scaled(NULL, 0, 3, &value));
	assert_false(np_text_to_int(NULL, 0, &value));
	assert_int_equal(value, 7);
}

static void another_word_is_not_suggested(void **state)
{
	char endless[200];

	(void)state;
	assert_null(closest("banana"));
	assert_null(closest("x"));
	assert_null(closest(""));
	assert_null(np_text_closest("help", NULL, 0));
	memset(endless, 'h', sizeof(endless));
	endless[sizeof(endless) - 1] = '\0';
	assert_null(closest(endless));
}

static void a_text_begins_and_ends_with_itself_and_its_parts_only(void **state)
{
	(void)state;
	assert_true(np_text_begins("PROF_1", "PROF_"));
	assert_true(np_text_begins("PROF_", "PROF_"));
	assert_true(np_text_begins("PROF_", ""));
	assert_false(np_text_begins("PRO", "PROF_"));
	assert_true(np_text_ends("a.json", ".json"));
	assert_true(np_text_ends(".json", ".json"));
	assert_true(np_text_ends("a", ""));
	assert_false(np_text_ends("json", ".json"));
}

static void the_last_part_of_a_path_follows_its_last_slash(void **state)
{
	(void)state;
	assert_string_equal(np_text_last_part("/a/b"), "b");
	assert_string_equal(np_text_last_part("b"), "b");
	assert_string_equal(np_text_last_part("a/"), "");
}

static void a_number_and_its_unit_stand_in_one_line(void **state)
{
	NP_CLEANUP(np_buf_release) struct np_buf buf = NP_BUF_INIT;

	(void)state;
	np_text_wrap(&buf, "it saves 9.11 ms, (22 %); 5 ranks", 0, 14);
	assert_string_equal(buf.text, "it saves\n9.11 ms,\n(22 %); 5\nranks\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_text_begins_and_ends_with_itself_and_its_parts_only),
		cmocka_unit_test(the_last_part_of_a_path_follows_its_last_slash),
		cmocka_unit_test(a_whole_number_is_read),
		cmocka_unit_test(numbers_of_any_length_are_read_digit_by_digit),
		cmocka_unit_test(what_is_not_a_whole_number_is_refused),
		cmocka_unit_test(only_the_given_length_is_read),
		cmocka_unit_test(microseconds_become_exact_nanoseconds),
		cmocka_unit_test(digits_too_many_round_half_away_from_zero),
		cmocka_unit_test(a_point_needs_digits_on_one_side_only),
		cmocka_unit_test(white_space_around_a_number_is_ignored),
		cmocka_unit_test(a_zero_fits_whatever_the_shift),
		cmocka_unit_test(what_is_not_a_plain_decimal_is_refused),
		cmocka_unit_test(scaling_agrees_with_wide_arithmetic),
		cmocka_unit_test(a_double_becomes_a_whole_number),
		cmocka_unit_test(a_double_that_does_not_fit_is_unknown),
		cmocka_unit_test(rounding_is_that_of_python),
		cmocka_unit_test(rounding_is_that_of_all_digits),
		cmocka_unit_test(a_duration_has_three_digits_and_a_unit),
		cmocka_unit_test(rounding_up_reaches_the_next_unit),
		cmocka_unit_test(a_negative_duration_has_a_sign),
		cmocka_unit_test(an_unknown_amount_is_a_question_mark),
		cmocka_unit_test(bytes_count_in_powers_of_ten),
		cmocka_unit_test(harmless_text_is_left_alone),
		cmocka_unit_test(control_characters_are_spelled_out),
		cmocka_unit_test(invalid_bytes_are_spelled_out),
		cmocka_unit_test(the_shortest_form_of_a_character_is_valid),
		cmocka_unit_test(sequences_that_mean_nothing_are_invalid),
		cmocka_unit_test(wide_characters_take_two_columns),
		cmocka_unit_test(combining_marks_take_no_column),
		cmocka_unit_test(an_invalid_byte_takes_one_column),
		cmocka_unit_test(a_slip_is_recognised),
		cmocka_unit_test(a_word_cut_short_is_recognised),
		cmocka_unit_test(a_beginning_is_preferred_to_a_slip),
		cmocka_unit_test(the_nearest_of_several_is_taken),
		cmocka_unit_test(an_absent_cell_is_no_number),
		cmocka_unit_test(another_word_is_not_suggested),
		cmocka_unit_test(a_number_and_its_unit_stand_in_one_line),
	};

	return cmocka_run_group_tests_name("text", tests, NULL, NULL);
}
