/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ADVISOR_PAGE_H
#define ADVISOR_PAGE_H

#include "npuprof/analysis.h"
#include "npuprof/run_page.h"

#include "advisor/engine/advise.h"
#include "advisor/present/advisor_report.h"

/*
 * The page of the advisor: what else it shows is taken while rules look at the ranks, so that
 * each is read once.
 */
struct advisor_looking {
	const struct np_run *run;
	struct np_frequencies *frequencies;
};

/* Let the rules' reading of the ranks fill the frequencies, which are empty before. */
int advisor_look_for_page(struct advisor_looking *looking, struct adv_advise_options *how,
			  struct np_err *err) NP_MUST_USE;

/* Add the run, with what the rules found, to a page; `options` but for what is put more. */
int advisor_add_to_page(struct np_run_page *page, const struct np_analysis *analysis,
			const struct advisor_report *report, struct np_run_page_options options,
			struct np_err *err) NP_MUST_USE;

#endif /* ADVISOR_PAGE_H */
