/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_REPORT_SCREEN_H
#define NP_REPORT_SCREEN_H

/* The tables among the sections of the screen and of the Markdown page: report_screen_tables.c. */

#include "cluster_report.h"

#include "npuprof/page.h"

/* "not used: rank 2 analysis.db (PATH): …" and a line end, without the path if the reason names it.
 */
void report_put_note(struct np_buf *buf, const struct np_note *note);

/* What could not be used, and what was used in another way than expected; no section if nothing. */
void report_put_notes(struct np_page *page, const struct np_notes *notes);

/* The head of a page as its title. */
void report_put_markdown_head(struct np_buf *buf, const struct cluster_report *report);

/* Where waiting began, what it cost, and who came last. */
int section_put_blame(struct np_section *section, const struct cluster_report *report,
		      struct np_err *err) NP_MUST_USE;

/* The least and the most of all ranks in each step. */
int section_put_steps(struct np_section *section, const struct cluster_report *report,
		      struct np_err *err) NP_MUST_USE;

int section_put_communicators(struct np_section *section, const struct cluster_report *report,
			      struct np_err *err) NP_MUST_USE;

#endif /* NP_REPORT_SCREEN_H */
