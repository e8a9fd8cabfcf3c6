/* SPDX-License-Identifier: Apache-2.0 */
#include "npuprof/gz.h"

#include "np_fixture.h"

#include "np_fault.h"
#include "np_random.h"

#include <zlib.h>

/* Compress `length` bytes as one gzip member behind `buf`. */
static void add_member(struct np_buf *buf, const char *bytes, size_t length)
{
	Bytef in[4096];
	Bytef out[4096];
	z_stream stream = { .next_in = in, .avail_in = (uInt)length };

	memcpy(in, bytes, length);
	assert_int_equal(
		deflateInit2(&stream, 9, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
	stream.next_out = out;
	stream.avail_out = sizeof(out);
	assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
	np_buf_add_bytes(buf, (const char *)out, sizeof(out) - stream.avail_out);
	(void)deflateEnd(&stream);
	assert_int_equal(np_buf_check(buf, NULL), NP_OK);
}

/* Read on to the end, `step` bytes of the window at a time. Returns the code of what ended it. */
static int read_to_end(struct np_gz *gz, struct np_window *window, size_t step, struct np_buf *text,
		       struct np_err *err)
{
	int rc = NP_OK;

	while (rc == NP_OK && (window->length > 0 || !window->ended)) {
		size_t used = step < window->length ? step : window->length;

		assert_int_equal(window->offset, text->length);
		np_buf_add_bytes(text, window->bytes, used);
		rc = np_gz_more(gz, used, window, err);
	}
	/* After a failure the window still has what came before it. */
	np_buf_add_bytes(text, window->bytes, window->length);
	return rc;
}

static int read_bytes_of(const struct np_buf *file, size_t block, struct np_buf *text,
			 struct np_err *err)
{
	NP_CLEANUP(np_gz_closep) struct np_gz *gz = NULL;
	struct np_window window;
	int rc = np_gz_open_bytes(file->text, file->length, "test", block, &gz, &window, err);

	return rc < 0 ? rc : read_to_end(gz, &window, 3, text, err);
}

static void assert_reads(const struct np_buf *file, const char *expected)
{
	for (size_t block = 0; block <= 64; block++) {
		NP_CLEANUP(np_buf_release) struct np_buf text = NP_BUF_INIT;
		struct np_err err = NP_ERR_INIT;

		assert_ok(read_bytes_of(file, block, &text, &err), err);
		assert_string_equal(text.text, expected);
	}
}

/* It gives these bytes and then fails like this, wherever the window ends. */
static void assert_fails(const struct np_buf *file, const char *before, const char *words)
{
	for (size_t block = 0; block <= 64; block++) {
		NP_CLEANUP(np_buf_release) struct np_buf text = NP_BUF_INIT;
		struct np_err err = NP_ERR_INIT;

		assert_int_equal(read_bytes_of(file, block, &text, &err), NP_E_FORMAT);
		assert_string_equal(text.text, before);
		assert_holds(err.text, words);
		assert_one_line(&err);
	}
}

static void plain_bytes_come_as_they_are(void **state)
{
	NP_CLEANUP(np_buf_release) struct np_buf file = NP_BUF_INIT;

	(void)state;
	np_buf_add(&file, "a few bytes\nin two lines\n");
	assert_reads(&file, file.text);
}

static void gzip_is_decompressed(void **state)
{
	NP_CLEANUP(np_buf_release) struct np_buf file = NP_BUF_INIT;

	(void)state;
	add_member(&file, "compressed", 10);
	assert_reads(&file, "compressed");
}

static void members_come_one_after_the_other(void **state)
{
	NP_CLEANUP(np_buf_release) struct np_buf file = NP_BUF_INIT;

	(void)state;
	add_member(&file, "one,", 4);
	add_member(&file, "", 0);
	add_member(&file, "two", 3);
	assert_reads(&file, "one,two");
}

static void zeros_behind_a_member_are_padding(void **state)
{
	NP_CLEANUP(np_buf_release) struct np_buf file = NP_BUF_INIT;

	(void)state;
	add_member(&file, "text", 4);
	np_buf_add_repeated(&file, '\0', 600);
	assert_reads(&file, "text");
}

static void byte_order_mark_is_skipped(void **state)
{
	NP_CLEANUP(np_buf_release) struct np_buf plain = NP_BUF_INIT;
	NP_CLEANUP(np_buf_release) struct np_buf packed = NP_BUF_INIT;
	struct np_window window;
	struct np_gz *gz = NULL;

	(void)state;
	np_buf_add(&plain, "\xef\xbb\xbfName");
	add_member(&packed, plain.text, plain.length);
	for (size_t block = 0; block < 8; block++) {
		assert_int_equal(np_gz_open_bytes(plain.text, plain.length, "test", block, &gz,
						  &window, NULL),
				 NP_OK);
		assert_memory_equal(window.bytes, "Name", 1);
		assert_int_equal(window.offset, 3);
		np_gz_close(gz);
		assert_int_equal(np_gz_open_bytes(packed.text, packed.length, "test", block, &gz,
						  &window, NULL),
				 NP_OK);
		assert_memory_equal(window.bytes, "Name", 1);
		np_gz_close(gz);
	}
}

static void window_doubles_when_nothing_is_used(void **state)
{
	NP_CLEANUP(np_gz_closep) struct np_gz *gz = NULL;
	struct np_window window;
	struct np_err err = NP_ERR_INIT;

	(void)state;
	assert_ok(np_gz_open_bytes("0123456789", 10, "test", 4, &gz, &window, &err), err);
	assert_int_equal(window.length, 4);
	assert_false(window.ended);
	assert_ok(np_gz_more(gz, 0, &window, &err), err);
	assert_int_equal(window.length, 8);
	assert_ok(np_gz_more(gz, 7, &window, &err), err);
	assert_int_equal(window.length, 3);
	assert_int_equal(window.offset, 7);
	assert_true(window.ended);
	assert_memory_equal(window.bytes, "789", 3);
	for (size_t i = 0; i < NP_WINDOW_PAD; i++)
		assert_int_equal(window.bytes[window.length + i], 0);
}

static void large_file_passes_through_a_small_window(void **state)
{
	NP_CLEANUP(np_buf_release) struct np_buf text = NP_BUF_INIT;
	NP_CLEANUP(np_buf_release) struct np_buf again = NP_BUF_INIT;
	NP_CLEANUP(np_gz_closep) struct np_gz *gz = NULL;
	struct np_window window;
	struct np_err err = NP_ERR_INIT;
	uint64_t seed = 1;

	(void)state;
	for (size_t i = 0; i < 1000000; i++)
		np_buf_add_char(&text, (char)('a' + np_random_below(&seed, 26)));
	write_bytes(below("large.txt"), text.text, text.length);
	assert_ok(np_gz_open(below("large.txt"), &gz, &window, &err), err);
	assert_true(window.length < text.length);
	assert_ok(read_to_end(gz, &window, 100000, &again, &err), err);
	assert_int_equal(again.length, text.length);
	assert_memory_equal(again.text, text.text, text.length);
}

static void name_of_a_compressed_file_does_not_matter(void **state)
{
	NP_CLEANUP(np_buf_release) struct np_buf file = NP_BUF_INIT;
	NP_CLEANUP(np_gz_closep) struct np_gz *gz = NULL;
	struct np_window window;
	struct np_err err = NP_ERR_INIT;

	(void)state;
	add_member(&file, "text", 4);
	write_bytes(below("trace.json"), file.text, file.length);
	assert_ok(np_gz_open(below("trace.json"), &gz, &window, &err), err);
	assert_memory_equal(window.bytes, "text", 4);
	assert_string_equal(np_gz_path(gz), below("trace.json"));
}

/* Damaged input */

static void file_that_is_not_there_is_not_found(void **state)
{
	struct np_window window;
	struct np_gz *gz = NULL;
	struct np_err err = NP_ERR_INIT;

	(void)state;
	assert_int_equal(np_gz_open(below("none"), &gz, &window, &err), NP_E_NOTFOUND);
	assert_holds(err.text, "/none': No such file");
	assert_null(gz);
}

static void file_without_content_is_not_found(void **state)
{
	NP_CLEANUP(np_buf_release) struct np_buf packed = NP_BUF_INIT;
	struct np_window window;
	struct np_gz *gz = NULL;
	struct np_err err = NP_ERR_INIT;

	(void)state;
	write_text(below("empty"), "");
	assert_int_equal(np_gz_open(below("empty"), &gz, &window, &err), NP_E_NOTFOUND);
	assert_holds(err.text, "/empty' is empty");
	write_text(below("mark"), "\xef\xbb\xbf");
	assert_int_equal(np_gz_open(below("mark"), &gz, &window, NULL), NP_E_NOTFOUND);
	add_member(&packed, "", 0);
	write_bytes(below("empty.gz"), packed.text, packed.length);
	assert_int_equal(np_gz_open(below("empty.gz"), &gz, &window, NULL), NP_E_NOTFOUND);
}

static void directory_and_pipe_are_no_files(void **state)
{
	struct np_window window;
	struct np_gz *gz = NULL;
	struct np_err err = NP_ERR_INIT;

	(void)state;
	make_dirs(below("dir"));
	assert_int_equal(np_gz_open(below("dir"), &gz, &window, &err), NP_E_FORMAT);
	assert_holds(err.text, "/dir' is not a regular file");
	assert_int_equal(mkfifo(below("pipe"), 0600), 0);
	assert_int_equal(np_gz_open(below("pipe"), &gz, &window, NULL), NP_E_FORMAT);
}

static void gzip_cut_anywhere_is_an_error(void **state)
{
	NP_CLEANUP(np_buf_release) struct np_buf whole = NP_BUF_INIT;

	(void)state;
	add_member(&whole, "some text, some more text, and some more", 40);
	/* A single byte of the magic is a plain file. */
	for (size_t length = 2; length < whole.length; length++) {
		for (size_t block = 0; block <= 64; block += 7) {
			NP_CLEANUP(np_buf_release) struct np_buf text = NP_BUF_INIT;
			struct np_buf cut = { .text = whole.text, .length = length };
			struct np_err err = NP_ERR_INIT;

			assert_int_equal(read_bytes_of(&cut, block, &text, &err), NP_E_FORMAT);
			assert_string_equal(err.text, "'test' is cut short: "
						      "its compressed data has no end");
		}
	}
}

static void wrong_checksum_is_told_behind_the_text(void **state)
{
	NP_CLEANUP(np_buf_release) struct np_buf file = NP_BUF_INIT;

	(void)state;
	add_member(&file, "text", 4);
	file.text[file.length - 5] ^= 1;
	assert_fails(&file, "text", "'test': damaged gzip data: incorrect data check");
}

static void rubbish_behind_a_member_is_told_behind_the_text(void **state)
{
	NP_CLEANUP(np_buf_release) struct np_buf file = NP_BUF_INIT;

	(void)state;
	add_member(&file, "text", 4);
	np_buf_add(&file, "rubbish");
	assert_fails(&file, "text", "damaged gzip data: incorrect header check");
}

/* Found by fuzz_trace: the same damage was reported differently depending on the window. */
static void damage_at_the_end_of_the_input_is_no_truncation(void **state)
{
	static const char bytes[] = "\x1f\x8b\x08\0\0\x8bH\0\0\0z\0\0N\xaf"
				    "a";
	struct np_buf file = NP_BUF_INIT;

	(void)state;
	np_buf_add_bytes(&file, bytes, sizeof(bytes));
	for (size_t block = 0; block <= 64; block++) {
		NP_CLEANUP(np_buf_release) struct np_buf text = NP_BUF_INIT;
		struct np_err err = NP_ERR_INIT;

		assert_int_equal(read_bytes_of(&file, block, &text, &err), NP_E_FORMAT);
		assert_holds(err.text, "invalid stored block lengths");
	}
	np_buf_release(&file);
}

/* Found by fuzz_trace: looking for a byte order mark met the end before the text was given. */
static void text_shorter_than_a_mark_is_given_before_the_failure(void **state)
{
	NP_CLEANUP(np_buf_release) struct np_buf file = NP_BUF_INIT;

	(void)state;
	add_member(&file, "x", 1);
	file.length -= 8;
	assert_fails(&file, "x", "is cut short");
}

/* Found by fuzz_trace: zlib had taken all input, but still held text for which there was no room.
 */
static void text_that_zlib_holds_back_is_given_before_the_failure(void **state)
{
	NP_CLEANUP(np_buf_release) struct np_buf file = NP_BUF_INIT;

	(void)state;
	add_member(&file, "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", 32);
	file.length -= 8;
	assert_fails(&file, "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", "is cut short");
}

static void damaged_byte_never_does_harm(void **state)
{
	NP_CLEANUP(np_buf_release) struct np_buf whole = NP_BUF_INIT;
	uint64_t seed = 2;

	(void)state;
	add_member(&whole, "some text, some more text, and some more", 40);
	for (int i = 0; i < 5000; i++) {
		NP_CLEANUP(np_buf_release) struct np_buf text = NP_BUF_INIT;
		size_t place = np_random_below(&seed, whole.length);
		char right = whole.text[place];
		int rc;

		whole.text[place] = (char)np_random(&seed);
		rc = read_bytes_of(&whole, np_random_below(&seed, 64), &text, NULL);
		assert_true(rc == NP_OK || rc == NP_E_FORMAT || rc == NP_E_NOTFOUND);
		whole.text[place] = right;
	}
}

static struct np_buf fault_file;

static int read_with_faults(struct np_err *err)
{
	struct np_window window;
	struct np_gz *gz = NULL;
	int rc = np_gz_open_bytes(fault_file.text, fault_file.length, "test", 2, &gz, &window, err);

	while (rc == NP_OK && !window.ended)
		rc = np_gz_more(gz, 0, &window, err);
	np_gz_close(gz);
	return rc;
}

static void running_out_of_memory_is_an_ordinary_failure(void **state)
{
	(void)state;
	fault_file = NP_BUF_INIT;
	add_member(&fault_file, "some text that needs a window of its own", 40);
	assert_survives_faults(read_with_faults);
	np_buf_release(&fault_file);
}

/* Any bytes, in pieces of any size, come back. */
static void what_is_written_is_read_again(void **state)
{
	uint64_t random = 9;

	(void)state;
	for (int round = 0; round < 20; round++) {
		NP_CLEANUP(np_buf_release) struct np_buf file = NP_BUF_INIT;
		NP_CLEANUP(np_buf_release) struct np_buf text = NP_BUF_INIT;
		NP_CLEANUP(np_buf_release) struct np_buf again = NP_BUF_INIT;
		struct np_err err = NP_ERR_INIT;
		char *bytes = NULL;
		size_t size = 0;
		FILE *stream = open_memstream(&bytes, &size);
		struct np_gz_writer *writer = np_gz_writer_new(stream);

		assert_non_null(writer);
		for (size_t left = np_random_below(&random, 300000), part; left > 0; left -= part) {
			char piece[5000];

			part = 1 + np_random_below(&random, sizeof(piece));
			part = part < left ? part : left;
			for (size_t i = 0; i < part; i++)
				piece[i] = (char)('a' + np_random_below(&random, 20));
			assert_ok(np_gz_write(writer, piece, part, &err), err);
			np_buf_add_bytes(&text, piece, part);
		}
		assert_ok(np_gz_writer_end(writer, &err), err);
		np_gz_writer_free(writer);
		assert_int_equal(fclose(stream), 0);
		np_buf_add_bytes(&file, bytes, size);
		free(bytes);
		assert_ok(read_bytes_of(&file, 0, &again, &err), err);
		assert_int_equal(again.length, text.length);
		assert_memory_equal(again.text, text.text, text.length);
	}
}

static void a_full_disk_is_told_by_the_writer(void **state)
{
	FILE *stream = fopen("/dev/full", "w");
	struct np_gz_writer *writer = np_gz_writer_new(stream);
	struct np_err err = NP_ERR_INIT;
	int rc = NP_OK;

	(void)state;
	assert_non_null(stream);
	assert_non_null(writer);
	setvbuf(stream, NULL, _IONBF, 0);
	for (int i = 0; i < 200 && rc == NP_OK; i++) {
		char noise[4096];
		uint64_t random = (uint64_t)i + 1;

		for (size_t j = 0; j < sizeof(noise); j++)
			noise[j] = (char)np_random_below(&random, 256);
		rc = np_gz_write(writer, noise, sizeof(noise), &err);
	}
	if (rc == NP_OK)
		rc = np_gz_writer_end(writer, &err);
	assert_int_equal(rc, NP_E_IO);
	np_gz_writer_free(writer);
	(void)fclose(stream);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plain_bytes_come_as_they_are),
		cmocka_unit_test(gzip_is_decompressed),
		cmocka_unit_test(members_come_one_after_the_other),
		cmocka_unit_test(zeros_behind_a_member_are_padding),
		cmocka_unit_test(byte_order_mark_is_skipped),
		cmocka_unit_test(window_doubles_when_nothing_is_used),
		with_fixture(large_file_passes_through_a_small_window),
		with_fixture(name_of_a_compressed_file_does_not_matter),
	};
	const struct CMUnitTest damaged[] = {
		with_fixture(file_that_is_not_there_is_not_found),
		with_fixture(file_without_content_is_not_found),
		with_fixture(directory_and_pipe_are_no_files),
		cmocka_unit_test(gzip_cut_anywhere_is_an_error),
		cmocka_unit_test(wrong_checksum_is_told_behind_the_text),
		cmocka_unit_test(rubbish_behind_a_member_is_told_behind_the_text),
		cmocka_unit_test(damage_at_the_end_of_the_input_is_no_truncation),
		cmocka_unit_test(text_shorter_than_a_mark_is_given_before_the_failure),
		cmocka_unit_test(text_that_zlib_holds_back_is_given_before_the_failure),
		cmocka_unit_test(damaged_byte_never_does_harm),
		cmocka_unit_test(running_out_of_memory_is_an_ordinary_failure),
		cmocka_unit_test(what_is_written_is_read_again),
		cmocka_unit_test(a_full_disk_is_told_by_the_writer),
	};
	int failed = cmocka_run_group_tests_name("gz", tests, NULL, NULL);

	return failed + cmocka_run_group_tests_name("gz: damaged input", damaged, NULL, NULL);
}
