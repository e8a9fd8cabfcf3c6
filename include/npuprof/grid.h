/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_GRID_H
#define NP_GRID_H

#include "npuprof/buf.h"
#include "npuprof/err.h"

/*
 * Grids: small tables for people
 * ==============================
 *
 * Cells are filled left to right, top to bottom, as finished text; the grid
 * aligns them and keeps within a width. Titles of several words are laid over two
 * lines first; then columns that may shrink give way, cut with "…"; if that is not
 * enough the grid is wider than asked rather than wrong. Titles are never cut, and
 * without any title there is no title line.
 *
 * Memory that runs out on the way is reported by np_grid_write().
 */
enum np_grid_align {
	NP_LEFT,
	NP_RIGHT,
};

/* How a column gives way; true is NP_CUT_END. Names often differ at their ends. */
enum np_grid_cut {
	NP_UNCUT = false,
	NP_CUT_END = true,
	NP_CUT_MIDDLE,
};

struct np_grid_column {
	const char *title;
	enum np_grid_align align;
	enum np_grid_cut may_shrink;
};

struct np_grid;

struct np_grid *np_grid_new(const struct np_grid_column *columns, size_t count) NP_MUST_USE;
/* The same with titles that are names in files, which are no words of a language. */
struct np_grid *np_grid_new_named(const struct np_grid_column *columns, size_t count) NP_MUST_USE;
void np_grid_free(struct np_grid *grid);
void np_grid_freep(struct np_grid **grid);

/* Add the next cell; made safe for the terminal (np_text_safe). */
void np_grid_cell(struct np_grid *grid, const char *text);
void np_grid_printf(struct np_grid *grid, const char *fmt, ...) NP_PRINTF(2, 3);
void np_grid_duration(struct np_grid *grid, np_ns time); /* np_text_duration() */
void np_grid_bytes(struct np_grid *grid, int64_t bytes); /* np_text_bytes() */

size_t np_grid_rows(const struct np_grid *grid);

/*
 * Do lines fit into `width` columns if no cell that may be cut is left with fewer than `least`
 * characters? True where memory ran out, which np_grid_write() reports.
 */
bool np_grid_fits(const struct np_grid *grid, size_t indent, size_t width, size_t least);

/* Append the grid to `buf`, each line beginning with `indent` spaces, at most `width` columns. */
int np_grid_write(const struct np_grid *grid, struct np_buf *buf, size_t indent, size_t width,
		  bool color, struct np_err *err) NP_MUST_USE;

/* Append a safe text outside of a grid so that none of it becomes markup. */
void np_grid_add_markdown(struct np_buf *buf, const char *text, size_t length);

/* Append the grid as a GitHub table, with nothing cut. */
int np_grid_write_markdown(const struct np_grid *grid, struct np_buf *buf, struct np_err *err)
	NP_MUST_USE;

#endif /* NP_GRID_H */
