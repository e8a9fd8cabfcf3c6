/* SPDX-License-Identifier: Apache-2.0 */
/* Writes and says how long the stages of a command took. */
#include "timings_json.h"

#include "cli/command/output.h"
#include "prepare.h"

#include "npuprof/lang.h"
#include "npuprof/say.h"
#include "npuprof/text.h"

void put_timings_json(struct np_jsonout *out, const struct np_timings *timings)
{
	if (!timings) {
		np_jsonout_null(out, "timings");
		return;
	}
	np_jsonout_array(out, "timings");
	for (size_t i = 0; i < NP_TIMED_COUNT; i++) {
		const struct np_stage_time *stage = &timings->stage[i];

		if (!stage->known)
			continue;
		np_jsonout_object_line(out, NULL);
		np_jsonout_text(out, "stage", np_timed_stage_name((enum np_timed_stage)i));
		np_jsonout_integer(out, "elapsed_ns", stage->elapsed);
		np_jsonout_integer(out, "processor_ns", stage->processor);
		np_jsonout_end(out);
	}
	np_jsonout_end(out);
}

void prepare_say_timings(const struct np_common *common, const struct np_timings *timings)
{
	NP_CLEANUP(np_buf_release) struct np_buf text = NP_BUF_INIT;

	if (common->verbose == 0 || common->quiet)
		return;
	np_say(&text, "time by the clock (and of all processors):");
	for (size_t i = 0; i < NP_TIMED_COUNT; i++) {
		const struct np_stage_time *stage = &timings->stage[i];

		if (!stage->known)
			continue;
		np_buf_printf(&text, "%s%s ", i > 0 ? ", " : " ",
			      np_lang_text(np_timed_stage_name((enum np_timed_stage)i)));
		if (stage->elapsed != NP_UNKNOWN) {
			np_text_duration(&text, stage->elapsed);
			np_buf_add_char(&text, ' ');
		}
		np_buf_add_char(&text, '(');
		np_text_duration(&text, stage->processor);
		np_buf_add_char(&text, ')');
	}
	(void)np_report(0, "%s", text.failed ? "" : text.text);
}
