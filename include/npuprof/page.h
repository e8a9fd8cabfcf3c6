/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_PAGE_H
#define NP_PAGE_H

#include "npuprof/grid.h"

/*
 * A page of sections
 * ==================
 *
 * What a command shows on the screen: titles, each with a table, lines of text
 * after it, or both.
 */
#define NP_PAGE_SECTIONS 10

struct np_section {
	const char *title;
	struct np_grid *grid; /* may be NULL; the page's */
	struct np_buf text;   /* lines after the grid */
	bool cut;             /* words that are longer than a line are cut in the middle */
	size_t hang;          /* columns by which a line that is wrapped goes on further right */
};

struct np_page {
	struct np_section sections[NP_PAGE_SECTIONS];
	size_t count;
};

void np_page_release(struct np_page *page);

/* A further section, at most NP_PAGE_SECTIONS of them. */
struct np_section *np_page_add(struct np_page *page, const char *title);

/* Take the last section back if it has nothing to say. */
void np_page_drop_empty(struct np_page *page);

/* All sections as Markdown, with nothing cut. */
int np_page_write_markdown(const struct np_page *page, struct np_buf *buf, struct np_err *err)
	NP_MUST_USE;

/* All sections as lines of at most `width` columns. */
int np_page_write(const struct np_page *page, struct np_buf *buf, size_t width, bool color,
		  struct np_err *err) NP_MUST_USE;

#endif /* NP_PAGE_H */
