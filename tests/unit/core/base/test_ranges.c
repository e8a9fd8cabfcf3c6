/* SPDX-License-Identifier: Apache-2.0 */
#include "npuprof/ranges.h"

#include "np_fault.h"
#include "np_random.h"
#include "np_test.h"

static struct np_ranges *ranges_of(const char *text)
{
	struct np_ranges *ranges = NULL;
	struct np_err err = NP_ERR_INIT;

	assert_ok(np_ranges_parse(text, &ranges, &err), err);
	assert_non_null(ranges);
	return ranges;
}

static void numbers_and_ranges_are_in_the_set(void **state)
{
	NP_CLEANUP(np_ranges_freep) struct np_ranges *ranges = ranges_of("0-7,64,70-71");

	(void)state;
	for (int64_t number = -1; number < 100; number++) {
		bool expected = (number >= 0 && number <= 7) || number == 64 || number == 70 ||
				number == 71;

		assert_int_equal(np_ranges_has(ranges, number), expected);
	}
}

static void order_and_overlap_do_not_matter(void **state)
{
	NP_CLEANUP(np_ranges_freep) struct np_ranges *ranges = ranges_of("9,3-5,4-6,3,7,0-1");

	(void)state;
	for (int64_t number = 0; number < 12; number++)
		assert_int_equal(np_ranges_has(ranges, number),
				 number != 2 && number != 8 && number < 10);
}

static void a_range_to_the_largest_number_ends(void **state)
{
	NP_CLEANUP(np_ranges_freep)
	struct np_ranges *ranges = ranges_of("5-9223372036854775807,9223372036854775807");
	int64_t known[] = { INT64_MAX };
	int64_t unknown = 0;

	(void)state;
	assert_true(np_ranges_has(ranges, INT64_MAX));
	assert_false(np_ranges_has(ranges, 4));
	assert_true(np_ranges_first_unknown(ranges, known, 1, &unknown));
	assert_int_equal(unknown, 5);
}

static void the_largest_number_may_be_known(void **state)
{
	NP_CLEANUP(np_ranges_freep) struct np_ranges *ranges = ranges_of("9223372036854775807");
	int64_t known[] = { INT64_MAX };
	int64_t unknown = 0;

	(void)state;
	assert_false(np_ranges_first_unknown(ranges, known, 1, &unknown));
}

static void assert_refused(const char *text, const char *why)
{
	struct np_ranges *ranges = NULL;
	struct np_err err = NP_ERR_INIT;

	assert_int_equal(np_ranges_parse(text, &ranges, &err), NP_E_USAGE);
	assert_null(ranges);
	assert_string_equal(err.text, why);
}

static void the_part_that_is_wrong_is_quoted(void **state)
{
	(void)state;
	assert_refused("0-3,x,5", "'x' is neither a number nor a range such as 0-7");
	assert_refused("0-3,7-4", "range '7-4' runs backwards; write '4-7'");
}

static void anything_else_is_refused(void **state)
{
	const char *texts[] = { "",
				",",
				"1,",
				",1",
				"1,,2",
				"-",
				"-1",
				"1-",
				"1--2",
				"1-2-3",
				"+1",
				" 1",
				"1 ",
				"0x1",
				"1.5",
				"1e3",
				"9223372036854775808",
				"1-99999999999999999999" };

	(void)state;
	for (size_t i = 0; i < NP_COUNT(texts); i++) {
		struct np_ranges *ranges = NULL;

		assert_int_equal(np_ranges_parse(texts[i], &ranges, NULL), NP_E_USAGE);
		assert_null(ranges);
	}
}

static void a_very_long_part_is_quoted_in_part(void **state)
{
	struct np_ranges *ranges = NULL;
	struct np_err err = NP_ERR_INIT;
	char text[1000];

	(void)state;
	memset(text, 'x', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	assert_int_equal(np_ranges_parse(text, &ranges, &err), NP_E_USAGE);
	assert_non_null(strstr(err.text, "is neither a number"));
}

static void the_first_number_that_is_not_known_is_found(void **state)
{
	NP_CLEANUP(np_ranges_freep) struct np_ranges *ranges = ranges_of("2-3,6-7,9");
	const int64_t known[] = { 0, 1, 2, 3, 3, 4, 5, 6, 7 };
	int64_t unknown = 0;

	(void)state;
	assert_true(np_ranges_first_unknown(ranges, known, NP_COUNT(known), &unknown));
	assert_int_equal(unknown, 9);
	assert_true(np_ranges_first_unknown(ranges, known, NP_COUNT(known) - 1, &unknown));
	assert_int_equal(unknown, 7);
	assert_true(np_ranges_first_unknown(ranges, NULL, 0, &unknown));
	assert_int_equal(unknown, 2);
}

static void all_numbers_may_be_known(void **state)
{
	NP_CLEANUP(np_ranges_freep) struct np_ranges *ranges = ranges_of("0-2,4");
	const int64_t known[] = { 0, 1, 2, 3, 4, 5 };
	int64_t unknown = 77;

	(void)state;
	assert_false(np_ranges_first_unknown(ranges, known, NP_COUNT(known), &unknown));
	assert_int_equal(unknown, 77);
}

static void assert_format(const int64_t *sorted, size_t count, const char *expected)
{
	struct np_buf buf = NP_BUF_INIT;

	np_ranges_format(&buf, sorted, count);
	assert_string_equal(buf.text, expected);
	np_buf_release(&buf);
}

static void numbers_in_a_row_are_folded(void **state)
{
	const int64_t numbers[] = { 0, 1, 2, 3, 8, 10, 11 };
	const int64_t twice[] = { 4, 4, 5, 5, 9, 9 };
	const int64_t ends[] = { INT64_MIN, 0, INT64_MAX - 1, INT64_MAX };

	(void)state;
	assert_format(numbers, NP_COUNT(numbers), "0-3,8,10-11");
	assert_format(numbers, 1, "0");
	assert_format(numbers, 0, "");
	assert_format(twice, NP_COUNT(twice), "4-5,9");
	assert_format(ends, NP_COUNT(ends),
		      "-9223372036854775808,0,9223372036854775806-9223372036854775807");
}

static void what_was_folded_reads_back_as_the_same_numbers(void **state)
{
	enum {
		LIMIT = 100
	};
	uint64_t seed = 1;

	(void)state;
	for (int round = 0; round < 500; round++) {
		struct np_buf buf = NP_BUF_INIT;
		struct np_ranges *ranges;
		bool chosen[LIMIT] = { false };
		int64_t sorted[LIMIT];
		size_t share = 1 + np_random_below(&seed, 10);
		size_t count = 0;

		/* Number 50 is always there: an empty list is refused. */
		for (int64_t n = 0; n < LIMIT; n++) {
			chosen[n] = n == 50 || np_random_below(&seed, 10) < share;
			if (chosen[n])
				sorted[count++] = n;
		}
		np_ranges_format(&buf, sorted, count);
		ranges = ranges_of(buf.text);
		for (int64_t n = 0; n < LIMIT; n++)
			assert_int_equal(np_ranges_has(ranges, n), chosen[n]);
		np_ranges_free(ranges);
		np_buf_release(&buf);
	}
}

static int parse_many(struct np_err *err)
{
	NP_CLEANUP(np_ranges_freep) struct np_ranges *ranges = NULL;
	int rc = np_ranges_parse("0,2,4,6,8,10,12,14,16,18,20,22,24", &ranges, err);

	if (rc < 0)
		assert_null(ranges);
	return rc;
}

static void running_out_of_memory_gives_nothing(void **state)
{
	(void)state;
	assert_survives_faults(parse_many);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_and_ranges_are_in_the_set),
		cmocka_unit_test(order_and_overlap_do_not_matter),
		cmocka_unit_test(a_range_to_the_largest_number_ends),
		cmocka_unit_test(the_largest_number_may_be_known),
		cmocka_unit_test(the_part_that_is_wrong_is_quoted),
		cmocka_unit_test(anything_else_is_refused),
		cmocka_unit_test(a_very_long_part_is_quoted_in_part),
		cmocka_unit_test(the_first_number_that_is_not_known_is_found),
		cmocka_unit_test(all_numbers_may_be_known),
		cmocka_unit_test(numbers_in_a_row_are_folded),
		cmocka_unit_test(what_was_folded_reads_back_as_the_same_numbers),
		cmocka_unit_test(running_out_of_memory_gives_nothing),
	};

	return cmocka_run_group_tests_name("ranges", tests, NULL, NULL);
}
