/* SPDX-License-Identifier: Apache-2.0 */
#include "npuprof/grid.h"

#include "np_test.h"

static const struct np_grid_column columns[] = {
	{ .title = "Rank", .align = NP_RIGHT },
	{ .title = "Kernel", .align = NP_LEFT, .may_shrink = true },
	{ .title = "Time", .align = NP_RIGHT },
	{ .title = "Note", .align = NP_LEFT, .may_shrink = true },
};

static struct np_grid *grid_of(const char *const *cells, size_t count)
{
	struct np_grid *grid = np_grid_new(columns, NP_COUNT(columns));

	assert_non_null(grid);
	for (size_t i = 0; i < count; i++)
		np_grid_cell(grid, cells[i]);
	return grid;
}

#define GRID(...) \
	grid_of((const char *const[]){ __VA_ARGS__ }, NP_COUNT(((const char *[]){ __VA_ARGS__ })))

static void assert_grid(const struct np_grid *grid, size_t indent, size_t width,
			const char *expected)
{
	struct np_err err = NP_ERR_INIT;
	struct np_buf buf = NP_BUF_INIT;

	assert_ok(np_grid_write(grid, &buf, indent, width, false, &err), err);
	assert_string_equal(buf.text, expected);
	np_buf_release(&buf);
}

static void columns_are_aligned_and_two_spaces_apart(void **state)
{
	NP_CLEANUP(np_grid_freep)
	struct np_grid *grid = GRID("0", "MatMul", "1.2 ms", "slow", "100", "Add", "3 ms", "ok");

	(void)state;
	assert_grid(grid, 0, 80,
		    "Rank  Kernel    Time  Note\n"
		    "   0  MatMul  1.2 ms  slow\n"
		    " 100  Add       3 ms  ok\n");
}

static void indent_stands_before_every_line(void **state)
{
	NP_CLEANUP(np_grid_freep) struct np_grid *grid = GRID("0", "MatMul", "1 s", "-");

	(void)state;
	assert_grid(grid, 2, 80,
		    "  Rank  Kernel  Time  Note\n"
		    "     0  MatMul   1 s  -\n");
}

static void no_line_ends_in_spaces(void **state)
{
	NP_CLEANUP(np_grid_freep)
	struct np_grid *grid = GRID("0", "MatMul", "1 s", "", "1", "", "", "", "", "", "", "");

	(void)state;
	assert_grid(grid, 1, 80,
		    " Rank  Kernel  Time  Note\n"
		    "    0  MatMul   1 s\n"
		    "    1\n"
		    "\n");
}

static void an_empty_cell_keeps_its_place(void **state)
{
	NP_CLEANUP(np_grid_freep) struct np_grid *grid = GRID("", "", "1 s", "x");

	(void)state;
	assert_grid(grid, 0, 80,
		    "Rank  Kernel  Time  Note\n"
		    "               1 s  x\n");
}

static void a_grid_without_rows_is_its_titles(void **state)
{
	NP_CLEANUP(np_grid_freep) struct np_grid *grid = np_grid_new(columns, NP_COUNT(columns));

	(void)state;
	assert_int_equal(np_grid_rows(grid), 0);
	assert_grid(grid, 0, 80, "Rank  Kernel  Time  Note\n");
}

static void without_titles_there_is_no_title_line(void **state)
{
	const struct np_grid_column untitled[] = { { .title = "" }, { .title = NULL } };
	NP_CLEANUP(np_grid_freep) struct np_grid *grid = np_grid_new(untitled, 2);

	(void)state;
	assert_non_null(grid);
	np_grid_cell(grid, "ranks");
	np_grid_cell(grid, "8");
	assert_grid(grid, 0, 80, "ranks  8\n");
}

static void a_row_that_was_begun_counts(void **state)
{
	NP_CLEANUP(np_grid_freep) struct np_grid *grid = GRID("0", "a", "b", "c", "1");

	(void)state;
	assert_int_equal(np_grid_rows(grid), 2);
	assert_grid(grid, 0, 80,
		    "Rank  Kernel  Time  Note\n"
		    "   0  a          b  c\n"
		    "   1\n");
}

/* 4 + 2 + 20 + 2 + 4 + 2 + 12 = 46 columns; the kernel gives all six of the difference. */
static void the_widest_column_shrinks_first(void **state)
{
	NP_CLEANUP(np_grid_freep)
	struct np_grid *grid = GRID("0", "abcdefghijklmnopqrst", "1 s", "123456789012");

	(void)state;
	assert_grid(grid, 0, 40,
		    "Rank  Kernel          Time  Note\n"
		    "   0  abcdefghijklm\xe2\x80\xa6   1 s  123456789012\n");
}

/* 46 columns again, now 14 too many: both end at 9 as soon as they are equally wide. */
static void columns_shrink_together_once_they_are_equal(void **state)
{
	NP_CLEANUP(np_grid_freep)
	struct np_grid *grid = GRID("0", "abcdefghijklmnopqrst", "1 s", "123456789012");

	(void)state;
	assert_grid(grid, 0, 32,
		    "Rank  Kernel     Time  Note\n"
		    "   0  abcdefgh\xe2\x80\xa6   1 s  12345678\xe2\x80\xa6\n");
}

static const struct np_grid_column worded[] = {
	{ .title = "began with", .align = NP_LEFT },
	{ .title = "waiting of others", .align = NP_RIGHT },
	{ .title = "share", .align = NP_RIGHT },
	{ .title = "comm/comp", .align = NP_RIGHT },
};

static struct np_grid *worded_grid(void)
{
	struct np_grid *grid = np_grid_new(worded, NP_COUNT(worded));

	assert_non_null(grid);
	np_grid_cell(grid, "ranks 0-63");
	np_grid_cell(grid, "6.81 s");
	np_grid_cell(grid, "96 %");
	np_grid_cell(grid, "1.22");
	return grid;
}

/* 10 + 2 + 17 + 2 + 5 + 2 + 9 = 47 columns */
static void titles_of_several_words_take_two_lines_where_one_is_too_wide(void **state)
{
	NP_CLEANUP(np_grid_freep) struct np_grid *grid = worded_grid();

	(void)state;
	assert_grid(grid, 0, 47,
		    "began with  waiting of others  share  comm/comp\n"
		    "ranks 0-63             6.81 s   96 %       1.22\n");
	assert_grid(grid, 0, 46,
		    "              waiting         comm/\n"
		    "began with  of others  share   comp\n"
		    "ranks 0-63     6.81 s   96 %   1.22\n");
}

static void the_indent_is_part_of_the_width(void **state)
{
	NP_CLEANUP(np_grid_freep) struct np_grid *grid = GRID("0", "abcdefghijkl", "1 s", "ok");

	(void)state;
	assert_grid(grid, 2, 29,
		    "  Rank  Kernel     Time  Note\n"
		    "     0  abcdefgh\xe2\x80\xa6   1 s  ok\n");
}

/* 2 + 4 + 2 + 12 + 2 + 4 + 2 + 4 = 32 columns, of which the name may give way. */
static void whether_a_grid_fits_depends_on_what_is_to_be_left_of_names(void **state)
{
	NP_CLEANUP(np_grid_freep) struct np_grid *grid = GRID("0", "abcdefghijkl", "1 s", "ok");

	(void)state;
	assert_true(np_grid_fits(grid, 2, 32, 20));
	assert_false(np_grid_fits(grid, 2, 31, 12));
	assert_true(np_grid_fits(grid, 2, 30, 10));
	assert_false(np_grid_fits(grid, 2, 29, 10));
}

static void a_grid_that_cannot_fit_is_wider_rather_than_useless(void **state)
{
	NP_CLEANUP(np_grid_freep) struct np_grid *grid = GRID("0", "abcdefghijkl", "1 s", "ok");

	(void)state;
	assert_grid(grid, 0, 10,
		    "Rank  Kernel    Time  Note\n"
		    "   0  abcdefg\xe2\x80\xa6   1 s  ok\n");
}

/* Each of the characters is two columns wide: three and the ellipsis are 7, so one is padding. */
static void wide_characters_are_cut_whole(void **state)
{
	NP_CLEANUP(np_grid_freep)
	struct np_grid *grid = GRID(
		"0", "\xe7\xae\x97\xe7\xae\x97\xe7\xae\x97\xe7\xae\x97\xe7\xae\x97", "1 s", "ok");

	(void)state;
	assert_grid(grid, 0, 26,
		    "Rank  Kernel    Time  Note\n"
		    "   0  \xe7\xae\x97\xe7\xae\x97\xe7\xae\x97\xe2\x80\xa6    1 s  ok\n");
}

/* Names of operators differ at their ends. */
static void a_name_may_be_cut_in_the_middle(void **state)
{
	const struct np_grid_column name[] = { { "Kernel", NP_LEFT, NP_CUT_MIDDLE },
					       { "Time", NP_RIGHT, NP_UNCUT } };
	NP_CLEANUP(np_grid_freep) struct np_grid *grid = np_grid_new(name, NP_COUNT(name));

	(void)state;
	assert_non_null(grid);
	np_grid_cell(grid, "hcom_allReduce__210_0_1");
	np_grid_cell(grid, "1 s");
	np_grid_cell(grid, "hcom_allReduce__210_13_1");
	np_grid_cell(grid, "2 s");
	/* Three wide characters at the end do not fit into 5 columns, two do. */
	np_grid_cell(grid, "matmul\xe7\xae\x97\xe7\xae\x97\xe7\xae\x97");
	np_grid_cell(grid, "3 s");
	assert_grid(grid, 0, 17,
		    "Kernel       Time\n"
		    "hcom_\xe2\x80\xa6"
		    "0_0_1   1 s\n"
		    "hcom_\xe2\x80\xa6"
		    "_13_1   2 s\n"
		    "matmul\xe2\x80\xa6\xe7\xae\x97\xe7\xae\x97   3 s\n");
}

static void foreign_text_is_made_harmless(void **state)
{
	NP_CLEANUP(np_grid_freep) struct np_grid *grid = GRID("0", "\x1b[2J", "1 s");

	(void)state;
	np_grid_printf(grid, "%s!", "a\nb");
	assert_grid(grid, 0, 80,
		    "Rank  Kernel   Time  Note\n"
		    "   0  \\x1b[2J   1 s  a\\x0ab!\n");
}

static void times_and_sizes_are_written_for_people(void **state)
{
	NP_CLEANUP(np_grid_freep) struct np_grid *grid = GRID("0", "MatMul");

	(void)state;
	np_grid_duration(grid, 1230000);
	np_grid_bytes(grid, 61200000);
	assert_grid(grid, 0, 80,
		    "Rank  Kernel     Time  Note\n"
		    "   0  MatMul  1.23 ms  61.2 MB\n");
}

static void titles_are_bold_in_color(void **state)
{
	NP_CLEANUP(np_grid_freep) struct np_grid *grid = GRID("0", "a", "1 s", "ok");
	struct np_err err = NP_ERR_INIT;
	struct np_buf buf = NP_BUF_INIT;

	(void)state;
	assert_ok(np_grid_write(grid, &buf, 0, 80, true, &err), err);
	assert_string_equal(buf.text, "\x1b[1mRank  Kernel  Time  Note\x1b[0m\n"
				      "   0  a        1 s  ok\n");
	np_buf_release(&buf);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(columns_are_aligned_and_two_spaces_apart),
		cmocka_unit_test(indent_stands_before_every_line),
		cmocka_unit_test(no_line_ends_in_spaces),
		cmocka_unit_test(an_empty_cell_keeps_its_place),
		cmocka_unit_test(a_grid_without_rows_is_its_titles),
		cmocka_unit_test(without_titles_there_is_no_title_line),
		cmocka_unit_test(a_row_that_was_begun_counts),
		cmocka_unit_test(the_widest_column_shrinks_first),
		cmocka_unit_test(columns_shrink_together_once_they_are_equal),
		cmocka_unit_test(titles_of_several_words_take_two_lines_where_one_is_too_wide),
		cmocka_unit_test(the_indent_is_part_of_the_width),
		cmocka_unit_test(whether_a_grid_fits_depends_on_what_is_to_be_left_of_names),
		cmocka_unit_test(a_grid_that_cannot_fit_is_wider_rather_than_useless),
		cmocka_unit_test(wide_characters_are_cut_whole),
		cmocka_unit_test(a_name_may_be_cut_in_the_middle),
		cmocka_unit_test(foreign_text_is_made_harmless),
		cmocka_unit_test(times_and_sizes_are_written_for_people),
		cmocka_unit_test(titles_are_bold_in_color),
	};

	return cmocka_run_group_tests_name("grid", tests, NULL, NULL);
}
