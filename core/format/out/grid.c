/* SPDX-License-Identifier: Apache-2.0 */
/* Tables for people: columns as wide as they need to be, on a screen or as Markdown. */
#include "npuprof/grid.h"

#include "npuprof/lang.h"
#include "npuprof/text.h"
#include "npuprof/vec.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Between columns. */
#define GAP 2

/* Columns do not shrink below this: fewer characters of a name say nothing. */
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
static bool set_columns(struct np_grid *grid, const struct np_grid_column *columns, size_t count,
			bool named)
{
	grid->column = calloc(count, sizeof(*grid->column));
	if (!grid->column)
		return false;
	memcpy(grid->column, columns, count * sizeof(*grid->column));
	grid->column_count = count;
	for (size_t i = 0; i < count; i++) {
		np_grid_cell(grid, named ? columns[i].title : np_lang_text(columns[i].title));
		grid->titled = grid->titled || (columns[i].title && columns[i].title[0] != '\0');
	}
	return !grid->failed && !grid->text.failed;
}

static struct np_grid *new_grid(const struct np_grid_column *columns, size_t count, bool named)
{
	struct np_grid *grid = calloc(1, sizeof(*grid));

	assert(count > 0);
	if (!grid)
		return NULL;
	grid->text = NP_BUF_INIT;
	if (!set_columns(grid, columns, count, named)) {
		np_grid_free(grid);
		return NULL;
	}
	return grid;
}

struct np_grid *np_grid_new(const struct np_grid_column *columns, size_t count)
{
	return new_grid(columns, count, false);
}

struct np_grid *np_grid_new_named(const struct np_grid_column *columns, size_t count)
{
	return new_grid(columns, count, true);
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

/* How a grid is laid out: of each column its width, and where its title goes on to a second line.
 */
struct layout {
	size_t *width;
	size_t *fold; /* bytes of the title on the first line; 0 where it takes one line */
};

static struct cell part_of(const struct np_grid *grid, const struct cell *cell, size_t from,
			   size_t to)
{
	return (struct cell){ .offset = cell->offset + from,
			      .length = to - from,
			      .width = np_text_width(grid->text.text + cell->offset + from,
						     to - from) };
}

/* The upper, or lower, line of a title; the upper one of a title without a fold is empty. */
static struct cell title_line(const struct np_grid *grid, const struct layout *layout,
			      size_t column, bool upper)
{
	const struct cell *title = &grid->cells.item[column];
	size_t fold = layout->fold[column];

	if (upper)
		return part_of(grid, title, 0, fold);
	if (fold > 0 && grid->text.text[title->offset + fold] == ' ')
		fold++;
	return part_of(grid, title, fold, title->length);
}

/* What the cells below the title need. */
static size_t cells_width(const struct np_grid *grid, size_t column)
{
	size_t widest = 0;

	for (size_t i = grid->column_count + column; i < grid->cells.count; i += grid->column_count)
		widest = grid->cells.item[i].width > widest ? grid->cells.item[i].width : widest;
	return widest;
}

static size_t title_width(const struct np_grid *grid, const struct layout *layout, size_t column)
{
	size_t upper = title_line(grid, layout, column, true).width;
	size_t lower = title_line(grid, layout, column, false).width;

	return upper > lower ? upper : lower;
}

/* A title may be folded at a space, or after a slash. */
static bool may_fold(const char *text, size_t at)
{
	return text[at] == ' ' || text[at - 1] == '/';
}

/* Fold a title that is wider than what stands below it where that makes it narrowest. */
static void fold_title(const struct np_grid *grid, struct layout *layout, size_t column)
{
	const struct cell *title = &grid->cells.item[column];
	size_t best = layout->fold[column];
	size_t least = title_width(grid, layout, column);

	if (least <= cells_width(grid, column))
		return;
	for (size_t i = 1; i + 1 < title->length; i++) {
		if (!may_fold(grid->text.text + title->offset, i))
			continue;
		layout->fold[column] = i;
		if (title_width(grid, layout, column) < least) {
			least = title_width(grid, layout, column);
			best = i;
		}
	}
	layout->fold[column] = best;
}

static size_t smallest_width(const struct np_grid *grid, const struct layout *layout, size_t column)
{
	size_t title = title_width(grid, layout, column);

	return title > SHRINK_LIMIT ? title : SHRINK_LIMIT;
}

/* The widest column that can still give way, or column_count if none can. */
static size_t widest_shrinkable(const struct np_grid *grid, const struct layout *layout)
{
	const size_t *width = layout->width;
	size_t widest = grid->column_count;

	for (size_t i = 0; i < grid->column_count; i++) {
		if (grid->column[i].may_shrink == NP_UNCUT ||
		    width[i] <= smallest_width(grid, layout, i))
			continue;
		if (widest == grid->column_count || width[i] > width[widest])
			widest = i;
	}
	return widest;
}

/* Give each column what its cells and its title need; return what a line takes then. */
static size_t measure_columns(const struct np_grid *grid, struct layout *layout)
{
	size_t total = GAP * (grid->column_count - 1);

	for (size_t i = 0; i < grid->column_count; i++) {
		size_t title = title_width(grid, layout, i);
		size_t cells = cells_width(grid, i);

		layout->width[i] = title > cells ? title : cells;
		total += layout->width[i];
	}
	return total;
}

/*
 * No column that gives way stays wider than a line, however the rest is shared: names of
 * megabytes are brought down at once. Returns by how much.
 */
static size_t clamp_columns(const struct np_grid *grid, size_t limit, struct layout *layout)
{
	size_t saved = 0;

	for (size_t i = 0; i < grid->column_count; i++) {
		size_t least = smallest_width(grid, layout, i);
		size_t most = least > limit ? least : limit;

		if (grid->column[i].may_shrink == NP_UNCUT || layout->width[i] <= most)
			continue;
		saved += layout->width[i] - most;
		layout->width[i] = most;
	}
	return saved;
}

/* Lay the grid out so that a line takes at most `limit` if that is possible. */
static void fit_columns(const struct np_grid *grid, size_t limit, struct layout *layout)
{
	size_t total = measure_columns(grid, layout);

	if (total > limit) {
		for (size_t i = 0; i < grid->column_count; i++)
			fold_title(grid, layout, i);
		total = measure_columns(grid, layout);
		total -= clamp_columns(grid, limit, layout);
	}
	for (; total > limit; total--) {
		size_t widest = widest_shrinkable(grid, layout);

		if (widest == grid->column_count)
			break;
		layout->width[widest]--;
	}
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
		*pending += width - np_text_cut(buf, text, cell->length, width,
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

static void write_title_line(const struct np_grid *grid, struct np_buf *buf, size_t indent,
			     const struct layout *layout, bool upper)
{
	size_t pending = indent;

	for (size_t i = 0; i < grid->column_count; i++) {
		struct cell cell = title_line(grid, layout, i, upper);

		if (i > 0)
			pending += GAP;
		write_cell(grid, buf, &cell, &grid->column[i], layout->width[i], &pending);
	}
}

static void write_titles(const struct np_grid *grid, struct np_buf *buf, size_t indent,
			 const struct layout *layout, bool color)
{
	bool folded = false;

	for (size_t i = 0; i < grid->column_count; i++)
		folded |= layout->fold[i] > 0;
	np_buf_add(buf, color ? "\x1b[1m" : "");
	if (folded) {
		write_title_line(grid, buf, indent, layout, true);
		np_buf_add_char(buf, '\n');
	}
	write_title_line(grid, buf, indent, layout, false);
	np_buf_add(buf, color ? "\x1b[0m\n" : "\n");
}

/* An empty layout in one piece, which layout->width holds; false without memory. */
static bool new_layout(const struct np_grid *grid, struct layout *layout)
{
	if (grid->failed || grid->text.failed)
		return false;
	layout->width = calloc(2 * grid->column_count, sizeof(*layout->width));
	layout->fold = layout->width ? layout->width + grid->column_count : NULL;
	return layout->width != NULL;
}

bool np_grid_fits(const struct np_grid *grid, size_t indent, size_t width, size_t least)
{
	struct layout layout;
	size_t total;

	if (!new_layout(grid, &layout))
		return true;
	for (size_t i = 0; i < grid->column_count; i++)
		fold_title(grid, &layout, i);
	total = indent + measure_columns(grid, &layout);
	for (size_t i = 0; i < grid->column_count; i++) {
		size_t title = title_width(grid, &layout, i);
		size_t keep = title > least ? title : least;

		if (grid->column[i].may_shrink != NP_UNCUT && layout.width[i] > keep)
			total -= layout.width[i] - keep;
	}
	free(layout.width);
	return total <= width;
}

int np_grid_write(const struct np_grid *grid, struct np_buf *buf, size_t indent, size_t width,
		  bool color, struct np_err *err)
{
	struct layout layout;

	if (!new_layout(grid, &layout))
		return np_fail_nomem(err, "a grid");
	fit_columns(grid, width > indent ? width - indent : 0, &layout);
	if (grid->titled)
		write_titles(grid, buf, indent, &layout, color);
	for (size_t i = grid->column_count; i < grid->cells.count; i += grid->column_count) {
		write_line(grid, buf, i, indent, layout.width);
		np_buf_add_char(buf, '\n');
	}
	free(layout.width);
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
