/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_ADVISOR_VENDOR_H
#define NP_ADVISOR_VENDOR_H

#include "advisor_report.h"

#include "npuprof/run_page.h"

/* What was written; NULL where nothing was. */
struct advisor_vendor_paths {
	char *html;
	char *xlsx; /* or the directory with a CSV file for each sheet */
};

/*
 * mstt_advisor_<time>.html and log/mstt_advisor_<time>.xlsx in `directory`, which is made: the
 * page; what was found in one sheet, and its evidence in one for each rule. Without findings there
 * is no workbook; where none can be written there is a CSV file for each sheet, and NP_E_NOTFOUND.
 * The paths are to be released in any case.
 */
int advisor_vendor_files(const struct advisor_report *report, const struct np_run_page *page,
			 const char *directory, struct advisor_vendor_paths *ret,
			 struct np_err *err) NP_MUST_USE;
void advisor_vendor_paths_release(struct advisor_vendor_paths *paths);

/* Fill the line of --agent, where one is asked for. */
int advisor_answer(const struct advisor_report *report, const char *phase, struct np_err *err)
	NP_MUST_USE;

#endif /* NP_ADVISOR_VENDOR_H */
