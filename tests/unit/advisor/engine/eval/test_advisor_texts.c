/* SPDX-License-Identifier: Apache-2.0 */
#include "np_test.h"

#include <string.h>

#include "advisor/engine/data/quota.h"
#include "advisor/engine/eval/template.h"
#include "advisor/engine/rules/position.h"

static const char document[] =
	"{\n"
	"  \"rules\": [\n"
	"    {\"id\": \"a\", \"q\\\"x\": [1, {\"k\": 2}]},\n"
	"    {\"sql\": [\"SELECT\", \"  nme\\n x\"], \"t\": \"\xc3\xa9 {n}\"}\n"
	"  ]\n"
	"}\n";

static void assert_place(size_t offset, size_t line, size_t column)
{
	struct adv_position position = adv_position_of(document, offset);

	assert_int_equal(position.line, line);
	assert_int_equal(position.column, column);
}

static void a_value_is_found_by_its_path(void **state)
{
	size_t length = strlen(document);

	(void)state;
	assert_place(adv_position_offset(document, length, ""), 1, 1);
	assert_place(adv_position_offset(document, length, "/rules/0/id"), 3, 12);
	assert_place(adv_position_offset(document, length, "/rules/1/sql/1"), 4, 24);
	/* What is not there leads to what contains it. */
	assert_place(adv_position_offset(document, length, "/rules/1/nobody"), 4, 5);
	assert_place(adv_position_offset(document, length, "/rules/7"), 2, 12);
}

static void a_place_inside_of_lines_counts_their_ends(void **state)
{
	size_t length = strlen(document);

	(void)state;
	/* "SELECT\n  nme": byte 9 is the n of nme, in the second line of the array. */
	assert_place(adv_position_offset_inside(document, length, "/rules/1/sql", 9), 4, 27);
	assert_place(adv_position_offset_inside(document, length, "/rules/1/sql", 0), 4, 15);
	/* An escape is one byte: byte 6 of "  nme\n x" is the blank before x. */
	assert_place(adv_position_offset_inside(document, length, "/rules/1/sql", 7 + 6), 4, 32);
}

static void doubled_keys_are_counted(void **state)
{
	static const char doubled[] = "{\"a\": {\"x\": 1, \"y\": [\"x\"], \"x\": 2}}";

	(void)state;
	assert_int_equal(adv_position_count_keys(doubled, strlen(doubled), "/a"), 3);
	assert_int_equal(adv_position_count_keys(doubled, strlen(doubled), ""), 1);
	assert_int_equal(adv_position_count_keys(doubled, strlen(doubled), "/a/y"), 0);
}

/* Values that the texts below name. */
static void set_values(struct adv_values *values, struct np_arena *arena)
{
	struct np_err err = NP_ERR_INIT;

	*values = (struct adv_values){ .arena = arena };
	assert_ok(adv_values_set(values, "n", np_cell_integer(12), &err), err);
	assert_ok(adv_values_set(values, "share", np_cell_real(0.1234), &err), err);
	assert_ok(adv_values_set(values, "small", np_cell_real(0.0123), &err), err);
	assert_ok(adv_values_set(values, "ns", np_cell_real(1234567), &err), err);
	assert_ok(adv_values_set(values, "size", np_cell_integer(61200000), &err), err);
	assert_ok(adv_values_set(values, "list", np_cell_text("[\"a\", \"b\", 3]"), &err), err);
	assert_ok(adv_values_set(values, "commas", np_cell_text("x, y"), &err), err);
	assert_ok(adv_values_set(values, "ranks", np_cell_text("0,1,2,8"), &err), err);
	assert_ok(adv_values_set(values, "nothing", np_cell_null(), &err), err);
	assert_ok(adv_values_set(values, "one", np_cell_integer(1), &err), err);
	assert_ok(adv_values_set(values, "zero", np_cell_real(0), &err), err);
	assert_ok(adv_values_set(values, "empty", np_cell_text(""), &err), err);
}

static void values_are_shown_in_their_format(void **state)
{
	static const struct {
		const char *text;
		const char *shown;
	} cases[] = {
		{ "{n} of {{n}}", "12 of {n}" },
		{ "{share|pct} {small|pct}", "12 % 1.2 %" },
		{ "{ns|dur} {size|bytes}", "1.23 ms 61.2 MB" },
		{ "{share|f2} {n|f1} {share|int}", "0.12 12.0 0" },
		{ "{share|bw} {n|bw} {size|bw}", "0.12 GB/s 12.0 GB/s 61200000 GB/s" },
		{ "{list|list(2,等)} {list|list(9,等)}", "a, b 等 a, b, 3" },
		{ "{list|list(2)} {list|list(9)} {commas|list(1)}",
		  "a, b and 1 more a, b, 3 x and 1 more" },
		{ "{ranks|ranks} {commas|ranks}", "0-2,8 x, y" },
		{ "{commas|code}", "`x, y`" },
		{ "{nothing|dur} {nobody}", "? ?" },
		{ "{n", "{n" },
		{ "{one|count(kernel runs,kernels run)} {n|count(rank,ranks)} {zero|count(a,b)}",
		  "1 kernel runs 12 ranks 0 b" },
		{ "{n?{n} of }{zero?none }{nothing?? }{empty?- }{commas?[{commas|code}]}",
		  "12 of [`x, y`]" },
		{ "{n?{share|pct}} {n?}{n?a", "12 % {n?a" },
	};
	struct np_arena *arena = np_arena_new();
	struct adv_values values;

	(void)state;
	set_values(&values, arena);
	for (size_t i = 0; i < NP_COUNT(cases); i++) {
		struct np_buf buf = NP_BUF_INIT;

		adv_template_fill(&buf, cases[i].text, &values);
		assert_string_equal(buf.text, cases[i].shown);
		np_buf_release(&buf);
	}
	adv_values_release(&values);
	np_arena_free(arena);
}

static void a_text_with_an_unknown_name_or_format_is_refused(void **state)
{
	static const struct {
		const char *text;
		const char *why; /* NULL: it is fine */
		size_t offset;
	} cases[] = {
		{ "{n} {{x}} {share|pct}", NULL, 0 },
		{ "a {nobody}", "no value 'nobody'", 2 },
		{ "{n|purple}", "no format 'purple'", 0 },
		{ "{n|list(0)}", "no format 'list(0)'", 0 },
		{ "{n|list(,x)}", "no format 'list(,x)'", 0 },
		{ "a } b", "brace", 2 },
		{ "{n", "brace", 0 },
		{ "a{n? b {one|count(x,y)}{n}} {n?c}", NULL, 0 },
		{ "a {n?b {nobody}}", "no value 'nobody'", 7 },
		{ "a {nobody?b}", "no value 'nobody'", 2 },
		{ "a {n?b", "brace", 2 },
		{ "{n?{n?x}}", "within another", 3 },
		{ "{n|count(x)}", "no format 'count(x)'", 0 },
		{ "{n|count(,y)}", "no format", 0 },
	};
	struct np_arena *arena = np_arena_new();
	struct adv_values values;

	(void)state;
	set_values(&values, arena);
	for (size_t i = 0; i < NP_COUNT(cases); i++) {
		struct np_err err = NP_ERR_INIT;
		size_t offset = 0;
		int rc = adv_template_check(cases[i].text, &values, &offset, &err);

		assert_int_equal(rc, cases[i].why ? NP_E_FORMAT : NP_OK);
		if (!cases[i].why)
			continue;
		assert_non_null(strstr(err.text, cases[i].why));
		assert_int_equal(offset, cases[i].offset);
	}
	adv_values_release(&values);
	np_arena_free(arena);
}

static void tables_of_a_rule_hold_no_more_than_it_may(void **state)
{
	static const char *const names[] = { "a", "b" };
	const struct np_cell cells[] = { np_cell_integer(1), np_cell_text("0123456789") };
	/* Two cells and ten bytes of text; the next row has the same text. */
	const int64_t first = 2 * (int64_t)sizeof(struct np_cell) + 10;
	struct adv_rows rows;
	struct np_err err = NP_ERR_INIT;

	(void)state;
	assert_ok(adv_rows_init(&rows, names, NULL, 2, &err), err);
	rows.limited = true;
	adv_quota_begin(first + 2 * (int64_t)sizeof(struct np_cell));
	assert_ok(adv_rows_add(&rows, cells, &err), err);
	assert_ok(adv_rows_add(&rows, cells, &err), err);
	assert_false(adv_quota_exceeded());
	assert_int_equal(adv_rows_add(&rows, cells, &err), NP_E_RANGE);
	assert_true(adv_quota_exceeded());
	assert_int_equal(adv_rows_count(&rows), 2);
	adv_rows_clear(&rows);
	assert_ok(adv_rows_add(&rows, cells, &err), err);
	adv_quota_end();
	/* Between rules nothing counts. */
	for (size_t i = 0; i < 100; i++)
		assert_ok(adv_rows_add(&rows, cells, &err), err);
	adv_rows_release(&rows);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_value_is_found_by_its_path),
		cmocka_unit_test(a_place_inside_of_lines_counts_their_ends),
		cmocka_unit_test(doubled_keys_are_counted),
		cmocka_unit_test(values_are_shown_in_their_format),
		cmocka_unit_test(a_text_with_an_unknown_name_or_format_is_refused),
		cmocka_unit_test(tables_of_a_rule_hold_no_more_than_it_may),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
