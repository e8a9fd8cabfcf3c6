/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the verdict on a run as JSON. */
#include "verdict_json.h"

#include "npuprof/lang.h"

void put_verdict_json(struct np_jsonout *out, const struct np_verdict *verdict)
{
	np_jsonout_object_line(out, "verdict");
	np_jsonout_text(out, "kind", np_verdict_kind_name(verdict));
	np_jsonout_text(out, "reason", verdict->reason);
	np_jsonout_text(out, "what", verdict->what);
	np_jsonout_integer(out, "recovered_ns", verdict->recovered);
	np_jsonout_integer(out, "lost_ns", verdict->lost);
	np_jsonout_array_line(out, "with");
	for (size_t i = 0; i < verdict->with_count; i++) {
		char fix[NP_FIX_TEXT + 16];

		np_fix_format(&verdict->with[i], fix);
		np_jsonout_text(out, NULL, fix);
	}
	np_jsonout_end(out);
	np_jsonout_text(out, "text", verdict->text);
	np_jsonout_end(out);
}

void put_said_json(struct np_jsonout *out, const char *sentence)
{
	NP_CLEANUP(np_buf_release) struct np_buf said = NP_BUF_INIT;

	if (!sentence)
		return;
	np_lang_put_parts(&said, sentence);
	if (strcmp(said.text, sentence) != 0)
		np_jsonout_made(out, sentence, &said);
}
