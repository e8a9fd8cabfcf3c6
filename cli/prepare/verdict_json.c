/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the verdict on a run as JSON. */
#include "verdict_json.h"

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
