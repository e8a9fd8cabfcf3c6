/* SPDX-License-Identifier: Apache-2.0 */
/* Fills the line of --agent with the verdict on a comparison. */
#include "compare_report.h"

#include "npuprof/lang.h"

#include "cli/prepare/agent.h"

void compare_answer(const struct compare_report *report, const char *workbook, const char *phase)
{
	struct np_jsonout *out = agent_open(phase);
	NP_CLEANUP(np_buf_release) struct np_buf verdict = NP_BUF_INIT;
	enum np_lang lang;

	if (!out)
		return;
	/* What programs read is English. */
	lang = np_lang_set(NP_LANG_EN);
	compare_put_verdict(&verdict, report);
	(void)np_lang_set(lang);
	np_jsonout_text(out, "xlsx_path", workbook);
	np_jsonout_made(out, "verdict", &verdict);
	np_jsonout_object_line(out, "step_ns");
	np_jsonout_integer(out, "base", report->comparison->step.ns[CMP_BASE]);
	np_jsonout_integer(out, "new", report->comparison->step.ns[CMP_NEW]);
	np_jsonout_end(out);
	agent_close(phase);
	agent_suggest(verdict.text);
	for (int i = 0; i < CMP_SIDES; i++)
		agent_note(&report->comparison->sides[i].analysis->run->notes);
}
