/* SPDX-License-Identifier: Apache-2.0 */
#include "npuprof/csv.h"

#include "np_fixture.h"

#include "np_fault.h"
#include "np_random.h"

#include "npuprof/text.h"

#include "core/format/text/byte_mask.h"

static const struct np_csv_column a_b_c[] = {
	{ "a", NP_OPTIONAL },
	{ "b", NP_OPTIONAL },
	{ "c", NP_OPTIONAL },
};

static struct np_csv *opened(const char *text, size_t length, size_t block)
{
	struct np_err err = NP_ERR_INIT;
	struct np_csv *csv = NULL;

	assert_ok(np_csv_open_bytes(text, length, "test", block, a_b_c, 3, &csv, &err), err);
	return csv;
}

/* Describe all rows as "line:[a][b][c]", a cell that is not there as "-". */
static void describe(struct np_csv *csv, struct np_buf *ret)
{
	const struct np_csv_row *row = NULL;
	struct np_err err = NP_ERR_INIT;

	for (;;) {
		assert_ok(np_csv_next(csv, &row, &err), err);
		if (!row)
			break;
		np_buf_printf(ret, "%d:", (int)row->line);
		for (size_t i = 0; i < 3; i++) {
			np_buf_add(ret, row->cell[i].bytes ? "[" : "-");
			np_buf_add_bytes(ret, row->cell[i].bytes, row->cell[i].length);
			np_buf_add(ret, row->cell[i].bytes ? "]" : "");
		}
		np_buf_add(ret, " ");
	}
	assert_int_equal(np_buf_check(ret, NULL), NP_OK);
}

/* The rows under the columns a, b and c, wherever the window ends. */
static void assert_rows(const char *text, size_t length, const char *expected)
{
	for (size_t block = 0; block <= 64; block++) {
		NP_CLEANUP(np_csv_closep) struct np_csv *csv = opened(text, length, block);
		NP_CLEANUP(np_buf_release) struct np_buf got = NP_BUF_INIT;

		describe(csv, &got);
		assert_string_equal(got.text, expected);
	}
}

#define ASSERT_ROWS(text, expected) assert_rows(text, sizeof(text) - 1, expected)

static void assert_refused(const char *text, const struct np_csv_column *columns, size_t count,
			   enum np_code code, const char *expected)
{
	struct np_err err = NP_ERR_INIT;
	struct np_csv *csv = NULL;

	assert_int_equal(
		np_csv_open_bytes(text, strlen(text), "test", 0, columns, count, &csv, &err), code);
	assert_null(csv);
	assert_string_equal(err.text, expected);
}

static void columns_are_found_by_name_in_any_order(void **state)
{
	(void)state;
	ASSERT_ROWS("c,x,a,b\n1,2,3,4\n", "2:[3][4][1] ");
}

static void older_name_is_taken_when_the_preferred_one_is_missing(void **state)
{
	static const struct np_csv_column columns[] = {
		{ "Block Num|Block Dim", NP_REQUIRED },
	};
	static const char *const files[] = { "Block Dim\n40\n", "Block Dim,Block Num\n8,40\n" };

	(void)state;
	for (size_t i = 0; i < NP_COUNT(files); i++) {
		const struct np_csv_row *row = NULL;
		struct np_csv *csv = NULL;

		assert_int_equal(np_csv_open_bytes(files[i], strlen(files[i]), "test", 0, columns,
						   1, &csv, NULL),
				 NP_OK);
		assert_int_equal(np_csv_next(csv, &row, NULL), NP_OK);
		assert_true(np_slice_is(row->cell[0], "40"));
		np_csv_close(csv);
	}
}

static void column_may_be_asked_for_twice(void **state)
{
	static const struct np_csv_column columns[] = {
		{ "new|old", NP_REQUIRED },
		{ "old", NP_OPTIONAL },
	};
	static const char text[] = "old\n\"say \"\"x\"\"\"\n";
	NP_CLEANUP(np_csv_closep) struct np_csv *csv = NULL;
	const struct np_csv_row *row = NULL;
	struct np_err err = NP_ERR_INIT;

	(void)state;
	assert_ok(np_csv_open_bytes(text, sizeof(text) - 1, "test", 0, columns, 2, &csv, &err),
		  err);
	assert_ok(np_csv_next(csv, &row, &err), err);
	assert_true(np_slice_is(row->cell[0], "say \"x\""));
	assert_true(np_slice_is(row->cell[1], "say \"x\""));
}

static void missing_required_column_is_named(void **state)
{
	static const struct np_csv_column columns[] = {
		{ "a", NP_REQUIRED },
		{ "Start Time(us)|Task Start Time(us)", NP_REQUIRED },
	};

	(void)state;
	assert_refused("\na,b\n1,2\n", columns, 2, NP_E_FORMAT,
		       "test:2: there is no column Start Time(us)|Task Start Time(us)");
}

static void names_of_columns_are_trimmed_and_case_counts(void **state)
{
	static const char text[] = " a ,\"b\t\",C\n1,2,3\n";
	NP_CLEANUP(np_csv_closep) struct np_csv *csv = opened(text, sizeof(text) - 1, 0);

	(void)state;
	assert_true(np_csv_has(csv, 0));
	assert_true(np_csv_has(csv, 1));
	assert_false(np_csv_has(csv, 2));
	ASSERT_ROWS(" a ,\"b\t\",C\n1,2,3\n", "2:[1][2]- ");
}

static void line_ends_may_be_mixed(void **state)
{
	(void)state;
	ASSERT_ROWS("a,b,c\r\n1,2,3\n4,5,6\r\n7,8,9", "2:[1][2][3] 3:[4][5][6] 4:[7][8][9] ");
}

static void blanks_around_cells_are_dropped(void **state)
{
	(void)state;
	ASSERT_ROWS("a,b,c\n1736405443881410.320\t, x y ,\t\r\n",
		    "2:[1736405443881410.320][x y][] ");
	ASSERT_ROWS("a,b,c\n\"1.5\t\", \"q\" ,\"  \"\n", "2:[1.5][q][] ");
}

static void quoted_cells_hold_commas_line_ends_and_quotes(void **state)
{
	(void)state;
	ASSERT_ROWS("a,b,c\n\"x,y\",\"one;\r\ntwo\",\"\"\"32,3\"\"\"\nnext,,\n",
		    "2:[x,y][one;\r\ntwo][\"32,3\"] 4:[next][][] ");
}

static void quote_inside_a_cell_is_a_character(void **state)
{
	(void)state;
	ASSERT_ROWS("a,b,c\n5\" disk,x\"y\"z,\"\n\"\n", "2:[5\" disk][x\"y\"z][\n] ");
}

static void text_behind_a_closing_quote_belongs_to_the_cell(void **state)
{
	(void)state;
	ASSERT_ROWS("a,b,c\n\"x,\"y,\"\"z,\"p\"q\"r\n", "2:[x,y][z][pq\"r] ");
}

static void short_rows_lack_cells_and_long_rows_are_cut(void **state)
{
	static const char text[] = "a,b,c\n1\n1,2,3,4,5\n1,2,3\n,\n";
	NP_CLEANUP(np_csv_closep) struct np_csv *csv = opened(text, sizeof(text) - 1, 0);
	NP_CLEANUP(np_buf_release) struct np_buf got = NP_BUF_INIT;

	(void)state;
	describe(csv, &got);
	assert_string_equal(got.text, "2:[1]-- 3:[1][2][3] 4:[1][2][3] 5:[][]- ");
	assert_int_equal(np_csv_tally(csv)->rows, 4);
	assert_int_equal(np_csv_tally(csv)->short_rows, 2);
	assert_int_equal(np_csv_tally(csv)->long_rows, 1);
	assert_false(np_csv_tally(csv)->truncated);
}

static void lines_with_nothing_in_them_are_no_rows(void **state)
{
	(void)state;
	ASSERT_ROWS("\n\r\na,b,c\n\n \t\r\n1,2,3\n\n", "6:[1][2][3] ");
}

static void byte_order_mark_and_nul_are_no_trouble(void **state)
{
	static const char text[] = "\xef\xbb\xbf"
				   "a,b,c\nx\0y,\0,\xff\n";
	NP_CLEANUP(np_csv_closep) struct np_csv *csv = opened(text, sizeof(text) - 1, 0);
	const struct np_csv_row *row = NULL;

	(void)state;
	assert_int_equal(np_csv_next(csv, &row, NULL), NP_OK);
	assert_int_equal(row->cell[0].length, 3);
	assert_memory_equal(row->cell[0].bytes, "x\0y", 3);
	assert_int_equal(row->cell[1].length, 1);
	assert_memory_equal(row->cell[2].bytes, "\xff", 1);
}

static void last_line_needs_no_end(void **state)
{
	static const char text[] = "a,b,c\n1,2,3\n4,\"5\"";
	NP_CLEANUP(np_csv_closep) struct np_csv *csv = opened(text, sizeof(text) - 1, 0);
	NP_CLEANUP(np_buf_release) struct np_buf got = NP_BUF_INIT;

	(void)state;
	describe(csv, &got);
	assert_string_equal(got.text, "2:[1][2][3] 3:[4][5]- ");
	assert_false(np_csv_tally(csv)->truncated);
}

static void end_is_the_end_however_often_one_asks(void **state)
{
	NP_CLEANUP(np_csv_closep) struct np_csv *csv = opened("a\n1", 3, 0);
	const struct np_csv_row *row = NULL;

	(void)state;
	assert_int_equal(np_csv_next(csv, &row, NULL), NP_OK);
	assert_non_null(row);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(np_csv_next(csv, &row, NULL), NP_OK);
		assert_null(row);
	}
}

static void missing_values_have_several_spellings(void **state)
{
	(void)state;
	assert_true(np_csv_missing((struct np_slice){ NULL, 0 }));
	assert_true(np_csv_missing((struct np_slice){ "", 0 }));
	assert_true(np_csv_missing((struct np_slice){ "N/A", 3 }));
	assert_true(np_csv_missing((struct np_slice){ "NA", 2 }));
	assert_false(np_csv_missing((struct np_slice){ "N", 1 }));
	assert_false(np_csv_missing((struct np_slice){ "NAN", 3 }));
	assert_false(np_csv_missing((struct np_slice){ "0", 1 }));
}

/* Damaged input */

static void file_without_content_is_not_found(void **state)
{
	struct np_csv *csv = NULL;
	struct np_err err = NP_ERR_INIT;

	(void)state;
	assert_int_equal(np_csv_open(below("none.csv"), a_b_c, 3, &csv, &err), NP_E_NOTFOUND);
	write_text(below("empty.csv"), "");
	assert_int_equal(np_csv_open(below("empty.csv"), a_b_c, 3, &csv, &err), NP_E_NOTFOUND);
	write_text(below("blank.csv"), "\r\n\n  \n");
	assert_int_equal(np_csv_open(below("blank.csv"), a_b_c, 3, &csv, &err), NP_E_NOTFOUND);
	assert_holds(err.text, "/blank.csv' is empty");
}

static void file_with_only_a_header_has_no_rows(void **state)
{
	NP_CLEANUP(np_csv_closep) struct np_csv *csv = NULL;
	const struct np_csv_row *row = NULL;
	struct np_err err = NP_ERR_INIT;

	(void)state;
	write_text(below("header.csv"), "a,b,c");
	assert_ok(np_csv_open(below("header.csv"), a_b_c, 3, &csv, &err), err);
	assert_ok(np_csv_next(csv, &row, &err), err);
	assert_null(row);
	assert_int_equal(np_csv_tally(csv)->rows, 0);
}

static void quote_without_end_gives_the_row_and_says_so(void **state)
{
	static const char text[] = "a,b,c\n1,2,3\n4,\"five,\nsix\n";
	NP_CLEANUP(np_csv_closep) struct np_csv *csv = opened(text, sizeof(text) - 1, 0);
	NP_CLEANUP(np_buf_release) struct np_buf got = NP_BUF_INIT;

	(void)state;
	describe(csv, &got);
	assert_string_equal(got.text, "2:[1][2][3] 3:[4][five,\nsix\n]- ");
	assert_true(np_csv_tally(csv)->truncated);
}

static void too_many_columns_are_refused(void **state)
{
	NP_CLEANUP(np_buf_release) struct np_buf text = NP_BUF_INIT;
	struct np_csv *csv = NULL;

	(void)state;
	np_buf_add_repeated(&text, ',', NP_CSV_COLUMNS_MAX - 1);
	assert_int_equal(np_csv_open_bytes(text.text, text.length, "test", 0, a_b_c, 3, &csv, NULL),
			 NP_OK);
	np_csv_close(csv);
	np_buf_add(&text, ",\n");
	assert_refused(text.text, a_b_c, 3, NP_E_FORMAT, "test:1: more than 1024 columns");
}

static void too_many_cells_in_a_row_are_ignored(void **state)
{
	NP_CLEANUP(np_buf_release) struct np_buf text = NP_BUF_INIT;

	(void)state;
	np_buf_add(&text, "a,b,c\n1,2,3");
	np_buf_add_repeated(&text, ',', 100000);
	np_buf_add(&text, "\n4,5,6\n");
	assert_rows(text.text, text.length, "2:[1][2][3] 3:[4][5][6] ");
}

/* The limit is the whole of it: one byte less is read, one more refused. */
static void assert_cell_limit(const char *before, const char *after)
{
	NP_CLEANUP(np_buf_release) struct np_buf text = NP_BUF_INIT;
	size_t length = NP_CSV_CELL_BYTES_MAX - strlen(before) - strlen(after);
	const struct np_csv_row *row = NULL;
	struct np_err err = NP_ERR_INIT;
	struct np_csv *csv;

	np_buf_printf(&text, "a,b,c\n1,2,3\n4,%s", before);
	np_buf_add_repeated(&text, 'x', length);
	np_buf_printf(&text, "%s,6\n", after);
	csv = opened(text.text, text.length, 0);
	assert_ok(np_csv_next(csv, &row, &err), err);
	assert_ok(np_csv_next(csv, &row, &err), err);
	assert_int_equal(row->cell[1].length, length);
	np_csv_close(csv);

	text.length -= 3 + strlen(after);
	np_buf_printf(&text, "x%s,6\n", after);
	csv = opened(text.text, text.length, 0);
	assert_ok(np_csv_next(csv, &row, &err), err);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(np_csv_next(csv, &row, &err), NP_E_FORMAT);
		assert_string_equal(err.text, "test:3: a cell of more than 16777216 bytes");
	}
	np_csv_close(csv);
}

static void cells_have_a_limit(void **state)
{
	(void)state;
	assert_cell_limit("", "");
	assert_cell_limit("\"", "\"");
}

static void rows_have_a_limit(void **state)
{
	NP_CLEANUP(np_buf_release) struct np_buf text = NP_BUF_INIT;
	NP_CLEANUP(np_csv_closep) struct np_csv *csv = NULL;
	const struct np_csv_row *row = NULL;
	struct np_err err = NP_ERR_INIT;

	(void)state;
	np_buf_add(&text, "a\n");
	np_buf_add_repeated(&text, ',', NP_CSV_ROW_BYTES_MAX + 1);
	csv = opened(text.text, text.length, 0);
	assert_int_equal(np_csv_next(csv, &row, &err), NP_E_FORMAT);
	assert_string_equal(err.text, "test:2: a row of more than 67108864 bytes");
}

static struct np_buf fault_text;

static int read_with_faults(struct np_err *err)
{
	const struct np_csv_row *row = NULL;
	struct np_csv *csv = NULL;
	int rc = np_csv_open_bytes(fault_text.text, fault_text.length, "test", 8, a_b_c, 3, &csv,
				   err);

	do {
		if (rc == NP_OK)
			rc = np_csv_next(csv, &row, err);
	} while (rc == NP_OK && row);
	np_csv_close(csv);
	return rc;
}

static void running_out_of_memory_is_an_ordinary_failure(void **state)
{
	(void)state;
	fault_text = NP_BUF_INIT;
	np_buf_add(&fault_text, "a,b,c\n1,2,\"a longer cell that makes the window grow\"\n");
	assert_survives_faults(read_with_faults);
	np_buf_release(&fault_text);
}

/* Properties */

/*
 * The same rules said a second time, one byte after the other and as plainly as
 * possible: cells of the row at `*at` as "[…]", and where the next one begins.
 */
struct plain {
	struct np_buf cells;
	size_t count;
	size_t lines;
	bool truncated;
	bool blank; /* one cell, nothing in it, no quotes */
};

static void add_plain_cell(struct plain *row, const struct np_buf *cell, bool quoted)
{
	size_t from = 0;
	size_t to = cell->length;

	while (from < to && (cell->text[from] == ' ' || cell->text[from] == '\t'))
		from++;
	while (from < to && (cell->text[to - 1] == ' ' || cell->text[to - 1] == '\t'))
		to--;
	row->blank = row->count == 0 && !quoted && from == to;
	if (row->count++ >= 3)
		return;
	np_buf_add(&row->cells, "[");
	np_buf_add_bytes(&row->cells, cell->text + from, to - from);
	np_buf_add(&row->cells, "]");
}

/* The part of a cell in quotes, the first of which is at *at. */
static void plain_quotes(const char *text, size_t length, size_t *at, struct plain *row,
			 struct np_buf *cell)
{
	row->truncated = true;
	for ((*at)++; *at < length && row->truncated; (*at)++) {
		if (text[*at] != '"') {
			np_buf_add_char(cell, text[*at]);
			row->lines += text[*at] == '\n';
		} else if (*at + 1 < length && text[*at + 1] == '"') {
			np_buf_add_char(cell, text[(*at)++]);
		} else {
			row->truncated = false;
		}
	}
}

/* One cell from *at on; returns the byte that ended it, 0 for the end of the text. */
static char plain_cell(const char *text, size_t length, size_t *at, struct plain *row)
{
	NP_CLEANUP(np_buf_release) struct np_buf cell = NP_BUF_INIT;
	size_t start = *at;
	size_t inside;
	char end = 0;

	while (start < length && (text[start] == ' ' || text[start] == '\t'))
		start++;
	if (start < length && text[start] == '"') {
		*at = start;
		plain_quotes(text, length, at, row, &cell);
	}
	inside = cell.length;
	for (; *at < length && !end; (*at)++) {
		if (text[*at] == ',' || text[*at] == '\n')
			end = text[*at];
		else
			np_buf_add_char(&cell, text[*at]);
	}
	/* CRs at the end of a line are part of its end, but not those in quotes. */
	while (end != ',' && cell.length > inside && cell.text[cell.length - 1] == '\r')
		cell.length--;
	add_plain_cell(row, &cell, start < length && text[start] == '"');
	return end;
}

static void plain_rows(const char *text, size_t length, struct np_buf *ret, bool *ret_truncated)
{
	size_t line = 1;
	size_t at = 0;
	bool header = true;

	while (at < length) {
		struct plain row = { .cells = NP_BUF_INIT };

		while (plain_cell(text, length, &at, &row) == ',')
			;
		if (!row.blank || row.count > 1) {
			if (!header) {
				np_buf_printf(ret, "%zu:", line);
				np_buf_add_bytes(ret, row.cells.text, row.cells.length);
				for (size_t i = row.count; i < 3; i++)
					np_buf_add(ret, "-");
				np_buf_add(ret, " ");
			}
			header = false;
		}
		line += 1 + row.lines;
		*ret_truncated = row.truncated;
		np_buf_release(&row.cells);
	}
}

static void assert_agrees_with_the_plain_reader(const struct np_buf *text, size_t block)
{
	NP_CLEANUP(np_csv_closep) struct np_csv *csv = opened(text->text, text->length, block);
	NP_CLEANUP(np_buf_release) struct np_buf got = NP_BUF_INIT;
	NP_CLEANUP(np_buf_release) struct np_buf expected = NP_BUF_INIT;
	bool truncated = false;

	describe(csv, &got);
	plain_rows(text->text, text->length, &expected, &truncated);
	assert_int_equal(got.length, expected.length);
	assert_memory_equal(got.text, expected.text, got.length);
	assert_int_equal(np_csv_tally(csv)->truncated, truncated);
}

static void any_bytes_read_as_the_plain_reader_reads_them(void **state)
{
	static const char alphabet[] = "abx,,,\"\"\"\n\n\r \t\0\xff";
	uint64_t seed = 3;

	(void)state;
	for (int i = 0; i < 100000; i++) {
		NP_CLEANUP(np_buf_release) struct np_buf text = NP_BUF_INIT;
		size_t length = np_random_below(&seed, 100);

		(void)snprintf(np_fixture_doing, sizeof(np_fixture_doing), "text %d", i);
		np_buf_add(&text, "a,b,c\n");
		for (size_t j = 0; j < length; j++)
			np_buf_add_char(&text,
					alphabet[np_random_below(&seed, sizeof(alphabet) - 1)]);
		assert_agrees_with_the_plain_reader(&text, np_random_below(&seed, 65));
	}
	*np_fixture_doing = '\0';
}

static void file_may_be_cut_at_any_byte(void **state)
{
	static const char whole[] = "a,b,c\r\n1736405443881410.320\t,\"x,\r\ny\",\"\"\"32\"\"\"\r\n"
				    "4,N/A,\"6\"\r\n";

	(void)state;
	for (size_t length = 7; length < sizeof(whole); length++) {
		struct np_buf text = { .length = length };
		char copy[sizeof(whole)];

		memcpy(copy, whole, sizeof(whole));
		text.text = copy;
		for (size_t block = 0; block <= 64; block++)
			assert_agrees_with_the_plain_reader(&text, block);
	}
}

static void add_random_cell(struct np_buf *text, struct np_buf *expected, uint64_t *seed)
{
	static const char alphabet[] = "ab1,\"\n\r\t ;\xc3\xa9";
	char cell[12];
	size_t length = np_random_below(seed, sizeof(cell));
	struct np_buf plain = NP_BUF_INIT;
	struct plain row = { .cells = NP_BUF_INIT };

	for (size_t i = 0; i < length; i++)
		cell[i] = alphabet[np_random_below(seed, sizeof(alphabet) - 1)];
	np_buf_add(text, "\"");
	for (size_t i = 0; i < length; i++) {
		np_buf_add_bytes(text, &cell[i], 1);
		np_buf_add(text, cell[i] == '"' ? "\"" : "");
	}
	np_buf_add(text, "\"");
	np_buf_add_bytes(&plain, cell, length);
	add_plain_cell(&row, &plain, true);
	np_buf_add_bytes(expected, row.cells.text, row.cells.length);
	np_buf_release(&row.cells);
	np_buf_release(&plain);
}

static void what_is_written_is_read(void **state)
{
	uint64_t seed = 4;

	(void)state;
	for (int i = 0; i < 2000; i++) {
		NP_CLEANUP(np_buf_release) struct np_buf text = NP_BUF_INIT;
		NP_CLEANUP(np_buf_release) struct np_buf expected = NP_BUF_INIT;
		NP_CLEANUP(np_buf_release) struct np_buf got = NP_BUF_INIT;
		NP_CLEANUP(np_csv_closep) struct np_csv *csv = NULL;
		size_t line = 2;

		np_buf_add(&text, "c,b,a\n");
		for (size_t rows = np_random_below(&seed, 6); rows > 0; rows--) {
			struct np_buf cells[3] = { NP_BUF_INIT, NP_BUF_INIT, NP_BUF_INIT };
			size_t before = text.length;

			for (size_t c = 0; c < 3; c++) {
				np_buf_add(&text, c ? "," : "");
				add_random_cell(&text, &cells[2 - c], &seed);
			}
			np_buf_add(&text, np_random_below(&seed, 2) ? "\r\n" : "\n");
			np_buf_printf(&expected, "%zu:", line);
			for (size_t c = 0; c < 3; c++) {
				np_buf_add_bytes(&expected, cells[c].text, cells[c].length);
				np_buf_release(&cells[c]);
			}
			np_buf_add(&expected, " ");
			for (size_t at = before; at < text.length; at++)
				line += text.text[at] == '\n';
		}
		csv = opened(text.text, text.length, np_random_below(&seed, 65));
		describe(csv, &got);
		assert_string_equal(got.text, expected.text);
	}
}

static void masks_are_those_of_the_portable_form(void **state)
{
	static const char likely[] = ",\n\"-\xac\x8a\xa2";
	char bytes[64 + NP_WINDOW_PAD];
	uint64_t seed = 5;

	(void)state;
	for (int i = 0; i < 10000; i++) {
		uint64_t expected = 0;

		/* Half of them close to those that are looked for. */
		for (size_t j = 0; j < sizeof(bytes); j++) {
			bytes[j] = (char)np_random(&seed);
			if (np_random_below(&seed, 2))
				bytes[j] = likely[np_random_below(&seed, sizeof(likely) - 1)];
		}
		for (unsigned j = 0; j < 64; j++)
			expected |=
				(uint64_t)(bytes[j] == ',' || bytes[j] == '\n' || bytes[j] == '"')
				<< j;
		assert_true(np_byte_mask_portable(bytes, 64, ',', '\n', '"') == expected);
		assert_true(np_byte_mask64(bytes, ',', '\n', '"') == expected);
		assert_true(np_byte_mask16(bytes, ',', '\n', '"') == (expected & 0xffff));
	}
}

/* Recorded profiles; the numbers are those of Python's csv module. */

static const char *recorded_file(const char *name)
{
	static char path[8192];
	const char *dir = recorded_profiles("resnet-2of8/text/level1/rank0_ascend_pt");

	if (!dir)
		skip();
	(void)snprintf(path, sizeof(path), "%s/ASCEND_PROFILER_OUTPUT/%s", dir, name);
	return path;
}

static void recorded_operators_have_stacks_of_many_lines(void **state)
{
	static const struct np_csv_column columns[] = {
		{ "Call Stack", NP_REQUIRED },
		{ "Name", NP_REQUIRED },
		{ "Input Shapes", NP_REQUIRED },
		{ "Device_id", NP_OPTIONAL },
	};
	NP_CLEANUP(np_csv_closep) struct np_csv *csv = NULL;
	const struct np_csv_row *row = NULL;
	struct np_err err = NP_ERR_INIT;
	size_t sums[3] = { 0 };
	uint64_t line = 0;

	(void)state;
	assert_ok(np_csv_open(recorded_file("operator_details.csv"), columns, 4, &csv, &err), err);
	for (;;) {
		assert_ok(np_csv_next(csv, &row, &err), err);
		if (!row)
			break;
		for (size_t i = 0; i < 3; i++)
			sums[i] += row->cell[i].length;
		assert_null(row->cell[3].bytes);
		line = row->line;
	}
	assert_int_equal(np_csv_tally(csv)->rows, 859);
	assert_int_equal(np_csv_tally(csv)->short_rows + np_csv_tally(csv)->long_rows, 0);
	assert_int_equal(sums[0], 378569);
	assert_int_equal(sums[1], 15419);
	assert_int_equal(sums[2], 6139);
	assert_true(line > 6000 && line <= 6224);
}

static void recorded_kernels_have_exact_times(void **state)
{
	static const struct np_csv_column columns[] = {
		{ "Start Time(us)", NP_REQUIRED },
		{ "Duration(us)", NP_REQUIRED },
		{ "Input Shapes", NP_REQUIRED },
	};
	NP_CLEANUP(np_csv_closep) struct np_csv *csv = NULL;
	const struct np_csv_row *row = NULL;
	struct np_err err = NP_ERR_INIT;
	int64_t starts = 0;
	int64_t lengths = 0;
	size_t shapes = 0;

	(void)state;
	assert_ok(np_csv_open(recorded_file("kernel_details.csv"), columns, 3, &csv, &err), err);
	for (;;) {
		int64_t value = 0;

		assert_ok(np_csv_next(csv, &row, &err), err);
		if (!row)
			break;
		assert_true(np_text_to_scaled(row->cell[0].bytes, row->cell[0].length, 3, &value));
		starts += value - INT64_C(1736408880000000000);
		assert_true(np_text_to_scaled(row->cell[1].bytes, row->cell[1].length, 3, &value));
		lengths += value;
		shapes += row->cell[2].length;
		if (row->line == 2)
			assert_true(np_slice_is(row->cell[2], "\"32,3,224,224\""));
	}
	assert_int_equal(np_csv_tally(csv)->rows, 191);
	assert_int_equal(starts, INT64_C(713733596494));
	assert_int_equal(lengths, 114865613);
	assert_int_equal(shapes, 3474);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(columns_are_found_by_name_in_any_order),
		cmocka_unit_test(older_name_is_taken_when_the_preferred_one_is_missing),
		cmocka_unit_test(column_may_be_asked_for_twice),
		cmocka_unit_test(missing_required_column_is_named),
		cmocka_unit_test(names_of_columns_are_trimmed_and_case_counts),
		cmocka_unit_test(line_ends_may_be_mixed),
		cmocka_unit_test(blanks_around_cells_are_dropped),
		cmocka_unit_test(quoted_cells_hold_commas_line_ends_and_quotes),
		cmocka_unit_test(quote_inside_a_cell_is_a_character),
		cmocka_unit_test(text_behind_a_closing_quote_belongs_to_the_cell),
		cmocka_unit_test(short_rows_lack_cells_and_long_rows_are_cut),
		cmocka_unit_test(lines_with_nothing_in_them_are_no_rows),
		cmocka_unit_test(byte_order_mark_and_nul_are_no_trouble),
		cmocka_unit_test(last_line_needs_no_end),
		cmocka_unit_test(end_is_the_end_however_often_one_asks),
		cmocka_unit_test(missing_values_have_several_spellings),
	};
	const struct CMUnitTest damaged[] = {
		with_fixture(file_without_content_is_not_found),
		with_fixture(file_with_only_a_header_has_no_rows),
		cmocka_unit_test(quote_without_end_gives_the_row_and_says_so),
		cmocka_unit_test(too_many_columns_are_refused),
		cmocka_unit_test(too_many_cells_in_a_row_are_ignored),
		cmocka_unit_test(cells_have_a_limit),
		cmocka_unit_test(rows_have_a_limit),
		cmocka_unit_test(running_out_of_memory_is_an_ordinary_failure),
	};
	const struct CMUnitTest properties[] = {
		with_fixture(any_bytes_read_as_the_plain_reader_reads_them),
		cmocka_unit_test(file_may_be_cut_at_any_byte),
		cmocka_unit_test(what_is_written_is_read),
		cmocka_unit_test(masks_are_those_of_the_portable_form),
	};
	const struct CMUnitTest recorded[] = {
		cmocka_unit_test(recorded_operators_have_stacks_of_many_lines),
		cmocka_unit_test(recorded_kernels_have_exact_times),
	};
	int failed = cmocka_run_group_tests_name("csv", tests, NULL, NULL);

	failed += cmocka_run_group_tests_name("csv: damaged input", damaged, NULL, NULL);
	failed += cmocka_run_group_tests_name("csv: properties", properties, NULL, NULL);
	return failed + cmocka_run_group_tests_name("csv: recorded", recorded, NULL, NULL);
}
