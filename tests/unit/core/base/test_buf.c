/* SPDX-License-Identifier: Apache-2.0 */
#include "npuprof/buf.h"

#include "np_fault.h"
#include "np_test.h"

static void an_empty_buffer_is_an_empty_text(void **state)
{
	struct np_buf buf = NP_BUF_INIT;

	(void)state;
	assert_string_equal(buf.text, "");
	np_buf_clear(&buf);
	np_buf_add(&buf, "");
	np_buf_add_bytes(&buf, NULL, 0);
	np_buf_add_repeated(&buf, 'x', 0);
	assert_string_equal(buf.text, "");
	assert_int_equal(buf.length, 0);
	np_buf_release(&buf);
}

static void pieces_follow_each_other(void **state)
{
	struct np_buf buf = NP_BUF_INIT;

	(void)state;
	np_buf_add(&buf, "rank");
	np_buf_add_char(&buf, ' ');
	np_buf_printf(&buf, "%d of %s", 3, "8");
	np_buf_add_repeated(&buf, '.', 3);
	np_buf_add_bytes(&buf, "done!", 4);
	assert_string_equal(buf.text, "rank 3 of 8...done");
	assert_int_equal(buf.length, strlen(buf.text));
	assert_int_equal(np_buf_check(&buf, NULL), NP_OK);
	np_buf_release(&buf);
}

static void bytes_may_be_nul(void **state)
{
	struct np_buf buf = NP_BUF_INIT;

	(void)state;
	np_buf_add_bytes(&buf, "a\0b", 3);
	assert_int_equal(buf.length, 3);
	assert_memory_equal(buf.text, "a\0b", 4);
	np_buf_release(&buf);
}

/* Every length around the places where the buffer grows. */
static void printed_text_of_any_length_is_whole(void **state)
{
	struct np_buf buf = NP_BUF_INIT;

	(void)state;
	for (int length = 0; length < 300; length++) {
		np_buf_release(&buf);
		np_buf_add(&buf, "x");
		np_buf_printf(&buf, "%*s", length, "");
		assert_int_equal(buf.length, length + 1);
		assert_int_equal(strlen(buf.text), length + 1);
	}
	np_buf_release(&buf);
}

static void added_text_of_any_length_is_terminated(void **state)
{
	struct np_buf buf = NP_BUF_INIT;

	(void)state;
	for (size_t length = 1; length < 1000; length++) {
		np_buf_add_char(&buf, 'x');
		assert_int_equal(strlen(buf.text), length);
	}
	np_buf_release(&buf);
}

static void clearing_keeps_the_memory(void **state)
{
	struct np_buf buf = NP_BUF_INIT;
	size_t capacity;

	(void)state;
	np_buf_add_repeated(&buf, 'x', 1000);
	capacity = buf.capacity;
	np_buf_clear(&buf);
	assert_string_equal(buf.text, "");
	assert_int_equal(buf.length, 0);
	assert_int_equal(buf.capacity, capacity);
	np_buf_release(&buf);
}

static void a_size_that_overflows_is_remembered(void **state)
{
	struct np_buf buf = NP_BUF_INIT;
	struct np_err err = NP_ERR_INIT;

	(void)state;
	np_buf_add(&buf, "kept");
	np_buf_add_repeated(&buf, 'x', SIZE_MAX - 2);
	np_buf_add(&buf, "dropped");
	np_buf_printf(&buf, "%s", "dropped");
	np_buf_add_char(&buf, 'd');
	assert_string_equal(buf.text, "kept");
	assert_int_equal(np_buf_check(&buf, &err), NP_E_NOMEM);
	assert_string_equal(err.text, "out of memory for text");

	np_buf_clear(&buf);
	assert_int_equal(np_buf_check(&buf, NULL), NP_E_NOMEM);
	np_buf_release(&buf);
	assert_int_equal(np_buf_check(&buf, NULL), NP_OK);
}

static int write_a_report(struct np_err *err)
{
	struct np_buf buf = NP_BUF_INIT;
	int rc;

	for (int i = 0; i < 50; i++) {
		np_buf_printf(&buf, "rank %d: %100d\n", i, i);
		np_buf_add(&buf, "rest");
	}
	assert_int_equal(strlen(buf.text), buf.length);
	rc = np_buf_check(&buf, err);
	np_buf_release(&buf);
	return rc;
}

static void running_out_of_memory_leaves_a_text(void **state)
{
	(void)state;
	assert_survives_faults(write_a_report);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_empty_buffer_is_an_empty_text),
		cmocka_unit_test(pieces_follow_each_other),
		cmocka_unit_test(bytes_may_be_nul),
		cmocka_unit_test(printed_text_of_any_length_is_whole),
		cmocka_unit_test(added_text_of_any_length_is_terminated),
		cmocka_unit_test(clearing_keeps_the_memory),
		cmocka_unit_test(a_size_that_overflows_is_remembered),
		cmocka_unit_test(running_out_of_memory_leaves_a_text),
	};

	return cmocka_run_group_tests_name("buf", tests, NULL, NULL);
}
