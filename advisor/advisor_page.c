/* SPDX-License-Identifier: Apache-2.0 */
/* The page of the run with the findings of the advisor. */
#include "advisor_page.h"

#include "cli/prepare/frequency.h"

#include "npuprof/run.h"

static int look(void *context, size_t index, const struct np_detail *detail, struct np_err *err)
{
	const struct advisor_looking *looking = context;

	return prepare_frequency_take(looking->run->ranks[index], detail,
				      &looking->frequencies->ranks[index], err);
}

int advisor_look_for_page(struct advisor_looking *looking, struct adv_advise_options *how,
			  struct np_err *err)
{
	how->look = look;
	how->look_context = looking;
	how->look_sections = PREPARE_FREQUENCY;
	return prepare_frequencies_init(looking->run, looking->frequencies, err);
}

static int put_findings(struct np_jsonout *out, void *context, struct np_err *err)
{
	return advisor_put_findings(out, context, err);
}

int advisor_add_to_page(struct np_run_page *page, const struct np_analysis *analysis,
			const struct advisor_report *report, struct np_run_page_options options,
			struct np_err *err)
{
	struct advisor_report shown = *report;

	shown.evidence_rows = NP_RUN_PAGE_EVIDENCE;
	options.put_more = put_findings;
	options.context = &shown;
	return np_run_page_add(page, analysis, &options, err);
}
