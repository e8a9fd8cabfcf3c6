/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_REPORT_SCREEN_H
#define NP_REPORT_SCREEN_H

/* The tables among the sections of the screen and of the Markdown page: report_screen_tables.c. */

#include "report.h"

#include "npuprof/page.h"

/* Where waiting began, what it cost, and who came last. */
int section_put_blame(struct np_section *section, const struct report *report, struct np_err *err)
	NP_MUST_USE;

/* The least and the most of all ranks in each step. */
int section_put_steps(struct np_section *section, const struct report *report, struct np_err *err)
	NP_MUST_USE;

int section_put_communicators(struct np_section *section, const struct report *report,
			      struct np_err *err) NP_MUST_USE;

#endif /* NP_REPORT_SCREEN_H */
