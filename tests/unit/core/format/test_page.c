/* SPDX-License-Identifier: Apache-2.0 */
#include "npuprof/page.h"

#include "np_test.h"

static void sections_without_anything_to_say_are_not_shown(void **state)
{
	static const struct np_grid_column column = { "name", NP_LEFT, false };
	struct np_err err = NP_ERR_INIT;
	struct np_buf buf = NP_BUF_INIT;
	struct np_page page = { 0 };
	struct np_section *table = np_page_add(&page, "Table");

	(void)state;
	table->grid = np_grid_new(&column, 1);
	np_grid_cell(table->grid, "a");
	np_buf_add(&table->text, "below it\n");
	(void)np_page_add(&page, "Empty");
	np_page_drop_empty(&page);
	np_buf_add(&np_page_add(&page, "Lines")->text, "one two\nthree\n");
	np_page_drop_empty(&page);
	assert_ok(np_page_write(&page, &buf, 7, false, &err), err);
	assert_string_equal(buf.text, "\nTable\n  name\n  a\n  below\n  it\n"
				      "\nLines\n  one\n  two\n  three\n");
	np_page_release(&page);
	np_buf_release(&buf);
}

static void colours_make_titles_bold(void **state)
{
	struct np_err err = NP_ERR_INIT;
	struct np_buf buf = NP_BUF_INIT;
	struct np_page page = { 0 };

	(void)state;
	np_buf_add(&np_page_add(&page, "Lines")->text, "\033[1mnot ours\n");
	assert_ok(np_page_write(&page, &buf, 80, true, &err), err);
	assert_string_equal(buf.text, "\n\033[1mLines\033[0m\n  \\x1b[1mnot ours\n");
	np_page_release(&page);
	np_buf_release(&buf);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sections_without_anything_to_say_are_not_shown),
		cmocka_unit_test(colours_make_titles_bold),
	};

	return cmocka_run_group_tests_name("page", tests, NULL, NULL);
}
