/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers and texts packed into bytes, and damaged ones refused. */
#include "npuprof/bytes.h"

#include "np_fault.h"
#include "np_test.h"

static struct np_bytes_reader read_again(const struct np_bytes_writer *writer)
{
	struct np_err err = NP_ERR_INIT;

	assert_ok(np_bytes_written(writer, "bytes", &err), err);
	return (struct np_bytes_reader){ .at = writer->bytes.item,
					 .end = writer->bytes.item + writer->bytes.count };
}

static void what_was_put_is_got_in_its_order(void **state)
{
	const uint64_t numbers[] = { 0, 1, 0x7f, 0x80, 0x3fff, 0x4000, UINT32_MAX, UINT64_MAX };
	const int64_t values[] = { 0, -1, 63, -64, 64, INT32_MIN, INT64_MAX, INT64_MIN };
	struct np_bytes_writer writer = { 0 };
	struct np_bytes_reader reader;
	char *text;

	(void)state;
	for (size_t i = 0; i < NP_COUNT(numbers); i++)
		np_bytes_put_number(&writer, numbers[i]);
	for (size_t i = 0; i < NP_COUNT(values); i++)
		np_bytes_put_signed(&writer, values[i]);
	np_bytes_put_text(&writer, "rank 3");
	np_bytes_put_raw(&writer, "\0ab", 3);
	reader = read_again(&writer);
	for (size_t i = 0; i < NP_COUNT(numbers); i++)
		assert_true(np_bytes_get_number(&reader) == numbers[i]);
	for (size_t i = 0; i < NP_COUNT(values); i++)
		assert_true(np_bytes_get_signed(&reader) == values[i]);
	text = np_bytes_get_text(&reader);
	assert_string_equal(text, "rank 3");
	free(text);
	assert_memory_equal(np_bytes_get_raw(&reader, 3, 1), "\0ab", 3);
	assert_null(reader.problem);
	assert_int_equal(np_bytes_left(&reader), 0);
	np_bytes_release(&writer.bytes);
}

/* Few and many, of one byte and of ten, up to every place; one more than there are is refused. */
static void numbers_are_passed_over(void **state)
{
	struct np_bytes_writer writer = { 0 };

	(void)state;
	for (uint64_t i = 0; i < 40; i++)
		np_bytes_put_number(&writer, i % 3 ? i : UINT64_MAX - i);
	for (uint64_t count = 0; count < 40; count++) {
		struct np_bytes_reader reader = read_again(&writer);

		np_bytes_skip_numbers(&reader, count);
		assert_null(reader.problem);
		assert_true(np_bytes_get_number(&reader) ==
			    (count % 3 ? count : UINT64_MAX - count));
		np_bytes_skip_numbers(&reader, 40 - count);
		assert_non_null(reader.problem);
	}
	np_bytes_release(&writer.bytes);
}

/* Seven bits to a byte: 127 takes one, 128 two, all 64 bits ten; with a sign 63 and -64 take one.
 */
static void numbers_near_zero_are_short(void **state)
{
	struct np_bytes_writer writer = { 0 };

	(void)state;
	np_bytes_put_number(&writer, 127);
	assert_int_equal(writer.bytes.count, 1);
	np_bytes_put_number(&writer, 128);
	assert_int_equal(writer.bytes.count, 3);
	np_bytes_put_number(&writer, UINT64_MAX);
	assert_int_equal(writer.bytes.count, 13);
	np_bytes_put_signed(&writer, 63);
	np_bytes_put_signed(&writer, -64);
	assert_int_equal(writer.bytes.count, 15);
	np_bytes_release(&writer.bytes);
}

static void no_text_is_not_the_empty_text(void **state)
{
	struct np_bytes_writer writer = { 0 };
	struct np_bytes_reader reader;
	char *text;

	(void)state;
	np_bytes_put_text(&writer, NULL);
	np_bytes_put_text(&writer, "");
	reader = read_again(&writer);
	assert_null(np_bytes_get_text(&reader));
	assert_null(reader.problem);
	text = np_bytes_get_text(&reader);
	assert_string_equal(text, "");
	free(text);
	np_bytes_release(&writer.bytes);
}

static void a_text_that_must_be_there_is_missed(void **state)
{
	const uint8_t none[] = { 0 };
	struct np_bytes_reader reader = { .at = none, .end = none + sizeof(none) };

	(void)state;
	assert_null(np_bytes_get_some_text(&reader));
	assert_string_equal(reader.problem, "a text is missing in it");
}

static void bytes_that_end_too_early_are_refused(void **state)
{
	const uint8_t half[] = { 0x80 };
	struct np_bytes_reader reader = { .at = half, .end = half };

	(void)state;
	assert_int_equal(np_bytes_get_number(&reader), 0);
	assert_string_equal(reader.problem, "it ends too early");
	reader = (struct np_bytes_reader){ .at = half, .end = half + sizeof(half) };
	assert_int_equal(np_bytes_get_number(&reader), 0);
	assert_string_equal(reader.problem, "it ends too early");
	reader = (struct np_bytes_reader){ .at = half, .end = half + sizeof(half) };
	assert_null(np_bytes_get_raw(&reader, 2, 1));
	assert_string_equal(reader.problem, "it ends too early");
}

/* Ten bytes hold 70 bits: of the last only the lowest counts. */
static void numbers_of_more_than_64_bits_are_refused(void **state)
{
	uint8_t bytes[11];
	struct np_bytes_reader reader = { .at = bytes, .end = bytes + sizeof(bytes) };

	(void)state;
	memset(bytes, 0xff, sizeof(bytes));
	bytes[9] = 2;
	assert_int_equal(np_bytes_get_number(&reader), 0);
	assert_string_equal(reader.problem, "a number in it is too long");
	bytes[9] = 1;
	reader = (struct np_bytes_reader){ .at = bytes, .end = bytes + sizeof(bytes) };
	assert_true(np_bytes_get_number(&reader) == UINT64_MAX);
	assert_null(reader.problem);
}

static void values_out_of_range_are_refused(void **state)
{
	struct np_bytes_writer writer = { 0 };
	struct np_bytes_reader reader;

	(void)state;
	np_bytes_put_number(&writer, 2);
	np_bytes_put_signed(&writer, (int64_t)INT32_MAX + 1);
	reader = read_again(&writer);
	assert_int_equal(np_bytes_get_at_most(&reader, 2), 2);
	assert_int_equal(np_bytes_get_int32(&reader), 0);
	assert_string_equal(reader.problem, "a value in it is out of range");
	reader = read_again(&writer);
	assert_int_equal(np_bytes_get_at_most(&reader, 1), 0);
	assert_string_equal(reader.problem, "a value in it is out of range");
	np_bytes_release(&writer.bytes);
}

/* Their lengths: 5 of which 2 are there, and 2 with a NUL within. */
static void damaged_texts_are_refused(void **state)
{
	const uint8_t longer[] = { 6, 'a', 'b' };
	const uint8_t with_end[] = { 3, 'a', '\0' };
	struct np_bytes_reader reader = { .at = longer, .end = longer + sizeof(longer) };

	(void)state;
	assert_null(np_bytes_get_text(&reader));
	assert_string_equal(reader.problem, "a text in it is damaged");
	reader = (struct np_bytes_reader){ .at = with_end, .end = with_end + sizeof(with_end) };
	assert_null(np_bytes_get_text(&reader));
	assert_string_equal(reader.problem, "a text in it is damaged");
}

static void the_first_problem_is_kept_and_nothing_comes_after_it(void **state)
{
	const uint8_t bytes[] = { 1, 2 };
	struct np_bytes_reader reader = { .at = bytes, .end = bytes + sizeof(bytes) };

	(void)state;
	np_bytes_refuse(&reader, "first");
	assert_int_equal(np_bytes_get_number(&reader), 0);
	assert_null(np_bytes_get_text(&reader));
	assert_string_equal(reader.problem, "first");
	assert_false(reader.out_of_memory);
}

static int write_and_read(struct np_err *err)
{
	struct np_bytes_writer writer = { 0 };
	struct np_bytes_reader reader;
	char filler[5000] = { 0 };
	char *text = NULL;
	int rc;

	np_bytes_put_text(&writer, "text");
	np_bytes_put_raw(&writer, filler, sizeof(filler));
	rc = np_bytes_written(&writer, "bytes", err);
	reader = (struct np_bytes_reader){ .at = writer.bytes.item,
					   .end = writer.bytes.item + writer.bytes.count };
	if (rc == NP_OK)
		text = np_bytes_get_text(&reader);
	if (rc == NP_OK && reader.out_of_memory)
		rc = np_fail_nomem(err, "a text");
	else if (rc == NP_OK)
		assert_string_equal(text, "text");
	free(text);
	np_bytes_release(&writer.bytes);
	return rc;
}

static void running_out_of_memory_is_known_at_the_end(void **state)
{
	(void)state;
	assert_survives_faults(write_and_read);
}

/* Bytes on the stack must never be moved, nor written past. */
static void fixed_bytes_do_not_grow(void **state)
{
	uint8_t bytes[16 + 1];
	struct np_bytes_writer writer = { .bytes = { .item = bytes, .capacity = 16 },
					  .fixed = true };
	struct np_err err = NP_ERR_INIT;

	(void)state;
	memset(bytes, 0xee, sizeof(bytes));
	np_bytes_put_raw(&writer, "0123456789ab", 12);
	assert_ok(np_bytes_written(&writer, "a message", &err), err);
	np_bytes_put_raw(&writer, "cdef", 4);
	assert_ok(np_bytes_written(&writer, "a message", &err), err);
	np_bytes_put_raw(&writer, "g", 1);
	assert_int_equal(np_bytes_written(&writer, "a message", &err), NP_E_RANGE);
	assert_string_equal(err.text, "a message takes more than 16 bytes");
	assert_ptr_equal(writer.bytes.item, bytes);
	assert_int_equal(writer.bytes.count, 16);
	assert_memory_equal(bytes, "0123456789abcdef", 16);
	assert_int_equal(bytes[16], 0xee);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_put_is_got_in_its_order),
		cmocka_unit_test(numbers_are_passed_over),
		cmocka_unit_test(numbers_near_zero_are_short),
		cmocka_unit_test(no_text_is_not_the_empty_text),
		cmocka_unit_test(a_text_that_must_be_there_is_missed),
		cmocka_unit_test(bytes_that_end_too_early_are_refused),
		cmocka_unit_test(numbers_of_more_than_64_bits_are_refused),
		cmocka_unit_test(values_out_of_range_are_refused),
		cmocka_unit_test(damaged_texts_are_refused),
		cmocka_unit_test(the_first_problem_is_kept_and_nothing_comes_after_it),
		cmocka_unit_test(running_out_of_memory_is_known_at_the_end),
		cmocka_unit_test(fixed_bytes_do_not_grow),
	};

	return cmocka_run_group_tests_name("bytes", tests, NULL, NULL);
}
