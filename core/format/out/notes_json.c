/* SPDX-License-Identifier: Apache-2.0 */
#include "npuprof/notes_json.h"

void np_notes_put_json(struct np_jsonout *out, const struct np_notes *notes, enum np_note_kind kind)
{
	for (size_t i = 0; i < notes->list.count; i++) {
		const struct np_note *note = &notes->list.item[i];

		if (note->kind != kind)
			continue;
		np_jsonout_object_line(out, NULL);
		np_jsonout_text(out, "path", *note->path ? note->path : NULL);
		np_jsonout_integer(out, "rank", note->rank == NP_NO_RANK ? NP_UNKNOWN : note->rank);
		np_jsonout_text(out, "what", note->what);
		np_jsonout_text(out, "reason", note->reason);
		np_jsonout_end(out);
	}
}
