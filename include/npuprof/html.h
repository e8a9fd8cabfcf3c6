/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_HTML_H
#define NP_HTML_H

#include "npuprof/buf.h"

/*
 * Pages for a browser
 * ===================
 *
 * What our pages are as Markdown becomes HTML: headings, tables, lists, code and paragraphs, which
 * is all that those pages use. Whatever it says, the text stays text: nothing of it becomes markup
 * of the browser, no address is fetched, no script runs.
 */

/* Append a whole document with this title. */
void np_html_from_markdown(struct np_buf *buf, const char *title, const char *markdown);

/* Append text in which no character means anything to a browser. */
void np_html_text(struct np_buf *buf, const char *text, size_t length);

#endif /* NP_HTML_H */
