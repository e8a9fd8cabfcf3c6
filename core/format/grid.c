/* SPDX-License-Identifier: Apache-2.0 */
#include "npuprof/grid.h"

#include "npuprof/text.h"
#include "npuprof/vec.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Between columns. */
#define GAP 2

/* Columns do not shrink below this: fewer characters of a name tell nothing. */
#define SHRINK_LIMIT 8

#define ELLIPSIS "\xe2\x80\xa6"

/* A cell's text lies in the grid's buffer. */
struct cell {
	size_t offset;
	size_t length;
	size_t width;
};

struct np_grid {
	struct np_grid_column *column;
	size_t column_count;
	struct np_buf text;
	NP_VEC(struct cell) cells; /* the titles first, then the rows */
	bool titled;
	bool failed;
};

/* The text from `offset` to the end of the buffer is the next cell. */
static void finish_cell(struct np_grid *grid, size_t offset)
{
	struct cell *cell = np_vec_add(&grid->cells, NULL);

	if (!cell) {
		grid->failed = true;
		return;
	}
	cell->offset = offset;
	cell->length = grid->text.length - offset;
	cell->width = np_text_width(grid->text.text + offset, cell->length);
}

/* Take over the columns; their titles become the first row. */
static bool set_columns(struct np_grid *grid, const struct np_grid_column *columns, size_t count)
{
	grid->column = calloc(count, sizeof(*grid->column));
	if (!grid->column)
		return false;
	memcpy(grid->column, columns, count * sizeof(*grid->column));
	grid->column_count = count;
	for (size_t i = 0; i < count; i++) {
		np_grid_cell(grid, columns[i].title);
		grid->titled = grid->titled || (columns[i].title && columns[i].title[0] != '\0');
	}
	return !grid->failed && !grid->text.failed;
}

struct np_grid *np_grid_new(const struct np_grid_column *columns, size_t count)
{
	struct np_grid *grid = calloc(1, sizeof(*grid));

	assert(count > 0);
	if (!grid)
		return NULL;
	grid->text = NP_BUF_INIT;
	if (!set_columns(grid, columns, count)) {
		np_grid_free(grid);
		return NULL;
	}
	return grid;
}

void np_grid_free(struct np_grid *grid)
{
	if (!grid)
		return;
	free(grid->column);
	np_buf_release(&grid->text);
	np_vec_release(&grid->cells);
	free(grid);
}

void np_grid_freep(struct np_grid **grid)
{
	np_grid_free(*grid);
	*grid = NULL;
}

void np_grid_cell(struct np_grid *grid, const char *text)
{
	size_t offset = grid->text.length;

	if (text)
		np_text_safe(&grid->text, text, strlen(text));
	finish_cell(grid, offset);
}

void np_grid_printf(struct np_grid *grid, const char *fmt, ...)
{
	char *text = NULL;
	va_list args;
	int length;

	va_start(args, fmt);
	length = vasprintf(&text, fmt, args);
	va_end(args);
	if (length < 0) {
		grid->failed = true;
		return;
	}
	np_grid_cell(grid, text);
	free(text);
}

void np_grid_duration(struct np_grid *grid, np_ns time)
{
	size_t offset = grid->text.length;

	np_text_duration(&grid->text, time);
	finish_cell(grid, offset);
}

void np_grid_bytes(struct np_grid *grid, int64_t bytes)
{
	size_t offset = grid->text.length;

	np_text_bytes(&grid->text, bytes);
	finish_cell(grid, offset);
}

size_t np_grid_rows(const struct np_grid *grid)
{
	size_t cells = grid->cells.count - grid->column_count;

	return (cells + grid->column_count - 1) / grid->column_count;
}

static size_t smallest_width(const struct np_grid *grid, size_t column)
{
	size_t title = grid->cells.item[column].width;

	return title > SHRINK_LIMIT ? title : SHRINK_LIMIT;
}

/* The widest column that can still give way, or column_count if none can. */
static size_t widest_shrinkable(const struct np_grid *grid, const size_t *width)
{
	size_t widest = grid->column_count;

	for (size_t i = 0; i < grid->column_count; i++) {
		if (grid->column[i].may_shrink == NP_UNCUT || width[i] <= smallest_width(grid, i))
			continue;
		if (widest == grid->column_count || width[i] > width[widest])
			widest = i;
	}
	return widest;
}

/* Find the width of each column so that a line takes at most `limit` if that is possible. */
static void fit_columns(const struct np_grid *grid, size_t limit, size_t *width)
{
	size_t total = GAP * (grid->column_count - 1);

	for (size_t i = 0; i < grid->cells.count; i++) {
		size_t column = i % grid->column_count;

		if (grid->cells.item[i].width > width[column])
			width[column] = grid->cells.item[i].width;
	}
	for (size_t i = 0; i < grid->column_count; i++)
		total += width[i];
	for (; total > limit; total--) {
		size_t widest = widest_shrinkable(grid, width);

		if (widest == grid->column_count)
			break;
		width[widest]--;
	}
}

/* Append as many whole characters of the text as fit into `limit` columns; return the columns. */
static size_t add_prefix(struct np_buf *buf, const char *text, size_t length, size_t limit)
{
	size_t used = 0;
	size_t i = 0;

	while (i < length) {
		size_t size = np_utf8_length(text + i, length - i);
		size_t columns;

		if (size == 0)
			size = 1;
		columns = np_text_width(text + i, size);
		if (used + columns > limit)
			break;
		used += columns;
		i += size;
	}
	np_buf_add_bytes(buf, text, i);
	return used;
}

/* The bytes of the longest end of the text, of whole characters, that fits into `limit` columns. */
static size_t suffix_length(const char *text, size_t length, size_t limit)
{
	size_t used = 0;
	size_t kept = 0;

	while (kept < length) {
		size_t size = 1;
		size_t columns;

		while (kept + size < length && (text[length - kept - size] & 0xc0) == 0x80)
			size++;
		columns = np_text_width(text + length - kept - size, size);
		if (used + columns > limit)
			break;
		used += columns;
		kept += size;
	}
	return kept;
}

/* Append a text that is too wide, with "…" where some is left out; return the columns. */
static size_t add_cut(struct np_buf *buf, const char *text, size_t length, size_t width,
		      bool keep_end)
{
	size_t end = keep_end ? suffix_length(text, length, (width - 1) / 2) : 0;
	size_t used = np_text_width(text + length - end, end);

	used += add_prefix(buf, text, length, width - 1 - used);
	np_buf_add(buf, ELLIPSIS);
	np_buf_add_bytes(buf, text + length - end, end);
	return used + 1;
}

/*
 * Append one cell. `pending` counts the spaces due before the next visible
 * text; spaces nothing follows are never written, so no line ends in them.
 */
static void write_cell(const struct np_grid *grid, struct np_buf *buf, const struct cell *cell,
		       const struct np_grid_column *column, size_t width, size_t *pending)
{
	const char *text = grid->text.text + cell->offset;
	bool cut = cell->width > width;
	size_t padding = cut ? 0 : width - cell->width;

	if (cell->length == 0) {
		*pending += width;
		return;
	}
	if (column->align == NP_RIGHT)
		*pending += padding;
	np_buf_add_repeated(buf, ' ', *pending);
	*pending = column->align == NP_RIGHT ? 0 : padding;
	/* A wide character may leave one column unused. */
	if (cut)
		*pending += width - add_cut(buf, text, cell->length, width,
					    column->may_shrink == NP_CUT_MIDDLE);
	else
		np_buf_add_bytes(buf, text, cell->length);
}

/* Append the line whose first cell is number `first`; the last line may be short of cells. */
static void write_line(const struct np_grid *grid, struct np_buf *buf, size_t first, size_t indent,
		       const size_t *width)
{
	size_t pending = indent;

	for (size_t i = 0; i < grid->column_count && first + i < grid->cells.count; i++) {
		if (i > 0)
			pending += GAP;
		write_cell(grid, buf, &grid->cells.item[first + i], &grid->column[i], width[i],
			   &pending);
	}
}

int np_grid_write(const struct np_grid *grid, struct np_buf *buf, size_t indent, size_t width,
		  bool color, struct np_err *err)
{
	size_t *columns;

	if (grid->failed || grid->text.failed)
		return np_fail_nomem(err, "a grid");
	columns = calloc(grid->column_count, sizeof(*columns));
	if (!columns)
		return np_fail_nomem(err, "a grid");

	fit_columns(grid, width > indent ? width - indent : 0, columns);
	if (grid->titled) {
		np_buf_add(buf, color ? "\x1b[1m" : "");
		write_line(grid, buf, 0, indent, columns);
		np_buf_add(buf, color ? "\x1b[0m\n" : "\n");
	}
	for (size_t i = grid->column_count; i < grid->cells.count; i += grid->column_count) {
		write_line(grid, buf, i, indent, columns);
		np_buf_add_char(buf, '\n');
	}
	free(columns);
	return np_buf_check(buf, err);
}

/* The characters that would end a cell or start a link, code or an element. */
void np_grid_add_markdown(struct np_buf *buf, const char *text, size_t length)
{
	for (size_t i = 0; i < length; i++) {
		if (strchr("|\\`*[<&", text[i]))
			np_buf_add_char(buf, '\\');
		np_buf_add_char(buf, text[i]);
	}
}

static void write_markdown_row(const struct np_grid *grid, struct np_buf *buf, size_t first)
{
	for (size_t i = 0; i < grid->column_count; i++) {
		np_buf_add(buf, "| ");
		if (first + i < grid->cells.count)
			np_grid_add_markdown(buf,
					     grid->text.text + grid->cells.item[first + i].offset,
					     grid->cells.item[first + i].length);
		np_buf_add_char(buf, ' ');
	}
	np_buf_add(buf, "|\n");
}

int np_grid_write_markdown(const struct np_grid *grid, struct np_buf *buf, struct np_err *err)
{
	if (grid->failed || grid->text.failed)
		return np_fail_nomem(err, "a grid");
	write_markdown_row(grid, buf, 0);
	for (size_t i = 0; i < grid->column_count; i++)
		np_buf_add(buf, grid->column[i].align == NP_RIGHT ? "|---:" : "|---");
	np_buf_add(buf, "|\n");
	for (size_t first = grid->column_count; first < grid->cells.count;
	     first += grid->column_count)
		write_markdown_row(grid, buf, first);
	return np_buf_check(buf, err);
}
