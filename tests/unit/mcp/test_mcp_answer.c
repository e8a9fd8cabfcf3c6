/* SPDX-License-Identifier: Apache-2.0 */
/* Answers of a bounded size: pages that join to the whole list. */
#include "mcp/protocol/mcp_answer.h"

#include "np_test.h"

/* A page of a list of `count` elements of this many bytes. */
static struct np_json *page(size_t count, size_t size, size_t most, size_t first)
{
	NP_CLEANUP(np_buf_release) struct np_buf buf = NP_BUF_INIT;
	struct np_err err = NP_ERR_INIT;
	struct np_json *doc = NULL;
	struct mcp_answer answer;

	mcp_answer_init(&answer, &buf, most, first);
	mcp_answer_text(&answer, "units", "\"ns\"");
	mcp_answer_integer(&answer, "unknown", NP_UNKNOWN);
	mcp_answer_list(&answer, "rows");
	for (size_t i = 0; i < count; i++) {
		NP_CLEANUP(np_buf_release) struct np_buf item = NP_BUF_INIT;

		np_buf_printf(&item, "{\"i\":%zu,\"x\":\"", i);
		np_buf_add_repeated(&item, 'x', size);
		np_buf_add(&item, "\"}");
		mcp_answer_item(&answer, item.text, item.length);
	}
	if (mcp_answer_end(&answer, &err) < 0) {
		assert_int_equal(err.code, NP_E_USAGE);
		return NULL;
	}
	assert_ok(np_json_parse(buf.text, buf.length, "the answer", &doc, &err), err);
	/* As a text within JSON it has no more bytes than it may have. */
	if (size < most / 2) {
		NP_CLEANUP(np_buf_release) struct np_buf quoted = NP_BUF_INIT;

		np_jsonout_quote(&quoted, buf.text, buf.length);
		assert_true(quoted.length <= most);
	}
	return doc;
}

static void pages_join_to_the_whole_list(void **state)
{
	size_t seen = 0;
	size_t pages = 0;

	(void)state;
	for (;;) {
		struct np_json *doc = page(137, 40, 2000, seen);
		const struct np_json *rows = np_json_member(doc, "rows");
		const char *cursor = np_json_text(np_json_member(doc, "next_cursor"));
		int64_t total = 0;

		assert_true(np_json_count(rows) > 0);
		for (size_t i = 0; i < np_json_count(rows); i++) {
			int64_t index = -1;

			assert_true(np_json_integer(np_json_member(np_json_item(rows, i), "i"),
						    &index));
			assert_int_equal(index, seen++);
		}
		assert_true(np_json_integer(np_json_member(doc, "total"), &total));
		assert_int_equal(total, 137);
		pages++;
		if (!cursor) {
			np_json_free(doc);
			break;
		}
		assert_int_equal(strtoul(cursor, NULL, 10), seen);
		np_json_free(doc);
	}
	assert_int_equal(seen, 137);
	assert_true(pages > 3);
}

static void an_element_without_room_is_said_and_does_not_stop_the_rest(void **state)
{
	struct np_json *doc = page(3, 5000, 2000, 1);
	const struct np_json *row = np_json_item(np_json_member(doc, "rows"), 0);

	(void)state;
	assert_non_null(np_json_text(np_json_member(row, "left_out")));
	assert_string_equal(np_json_text(np_json_member(doc, "next_cursor")), "2");
	np_json_free(doc);
}

static void members_beside_a_list_leave_room_for_it(void **state)
{
	NP_CLEANUP(np_buf_release) struct np_buf buf = NP_BUF_INIT;
	NP_CLEANUP(np_buf_release) struct np_buf large = NP_BUF_INIT;
	NP_CLEANUP(np_json_freep) struct np_json *doc = NULL;
	struct np_err err = NP_ERR_INIT;
	struct mcp_answer answer;

	(void)state;
	np_buf_add_char(&large, '"');
	np_buf_add_repeated(&large, 'y', 900);
	np_buf_add_char(&large, '"');
	mcp_answer_init(&answer, &buf, 2000, 0);
	mcp_answer_beside(&answer, "first", large.text);
	mcp_answer_beside(&answer, "second", large.text);
	mcp_answer_list(&answer, "rows");
	for (int i = 0; i < 40; i++)
		mcp_answer_item(&answer, "\"0123456789\"", 12);
	assert_ok(mcp_answer_end(&answer, &err), err);
	assert_true(buf.length <= 2000);
	assert_ok(np_json_parse(buf.text, buf.length, "the answer", &doc, &err), err);
	assert_int_equal(strlen(np_json_text(np_json_member(doc, "first"))), 900);
	assert_string_equal(np_json_text(np_json_member(np_json_member(doc, "second"), "left_out")),
			    "902 bytes: ask again with a larger max_bytes");
	assert_int_equal(np_json_count(np_json_member(doc, "rows")), 40);
}

static void an_empty_list_has_a_page_and_nothing_behind_it(void **state)
{
	struct np_json *doc = page(0, 0, 2000, 0);

	(void)state;
	assert_int_equal(np_json_count(np_json_member(doc, "rows")), 0);
	assert_null(np_json_member(doc, "next_cursor"));
	assert_int_equal(np_json_type(np_json_member(doc, "unknown")), NP_JSON_NULL);
	np_json_free(doc);
	assert_null(page(3, 10, 2000, 4));
}

static void lists_beside_it_are_cut_and_counted(void **state)
{
	static const char text[] =
		"{\"a\":[1,2,3,4],\"b\":{\"c\":[\"x\"],\"d\":null,\"e\":1.5,\"f\":true}}";
	struct np_err err = NP_ERR_INIT;
	struct np_json *doc = NULL;
	struct np_jsonout out;

	(void)state;
	assert_ok(np_json_parse(text, strlen(text), "it", &doc, &err), err);
	np_jsonout_init(&out, NULL);
	mcp_put_node(&out, NULL, doc, 2);
	assert_string_equal(out.buf.text,
			    "{ \"a\": [1, 2], \"a_total\": 4, \"b\": { \"c\": [\"x\"], "
			    "\"d\": null, \"e\": 1.5, \"f\": true } }");
	np_jsonout_release(&out);
	np_json_free(doc);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pages_join_to_the_whole_list),
		cmocka_unit_test(an_element_without_room_is_said_and_does_not_stop_the_rest),
		cmocka_unit_test(members_beside_a_list_leave_room_for_it),
		cmocka_unit_test(an_empty_list_has_a_page_and_nothing_behind_it),
		cmocka_unit_test(lists_beside_it_are_cut_and_counted),
	};

	return cmocka_run_group_tests_name("mcp_answer", tests, NULL, NULL);
}
