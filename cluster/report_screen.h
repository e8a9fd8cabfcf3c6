/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_REPORT_SCREEN_H
#define NP_REPORT_SCREEN_H

/* The tables among the sections of the screen and of the Markdown page: report_screen_tables.c. */

#include "report.h"

#include "npuprof/grid.h"

/* `grid` and `text` may be missing. */
struct section {
	const char *title;
	struct np_grid *grid;
	struct np_buf text; /* lines after the grid */
};

/* Where waiting began, what it cost, and who came last. */
int section_put_blame(struct section *section, const struct report *report, struct np_err *err)
	NP_MUST_USE;

/* The least and the most of all ranks in each step. */
int section_put_steps(struct section *section, const struct report *report, struct np_err *err)
	NP_MUST_USE;

int section_put_communicators(struct section *section, const struct report *report,
			      struct np_err *err) NP_MUST_USE;

#endif /* NP_REPORT_SCREEN_H */
