/* SPDX-License-Identifier: Apache-2.0 */
/* Notes: what a run did without, and why. */
#include "npuprof/notes.h"

#include <stdarg.h>

static void release_note(struct np_note *note)
{
	free(note->path);
	free(note->what);
	free(note->reason);
}

void np_notes_release(struct np_notes *notes)
{
	for (size_t i = 0; i < notes->list.count; i++)
		release_note(&notes->list.item[i]);
	np_vec_release(&notes->list);
}

void np_note_add(struct np_notes *notes, enum np_note_kind kind, int32_t rank, const char *path,
		 const char *what, const char *reason, ...)
{
	struct np_note note = { .kind = kind, .rank = rank };
	struct np_note *slot = NULL;
	va_list arguments;
	int length;

	note.path = strdup(path);
	note.what = strdup(what);
	va_start(arguments, reason);
	length = vasprintf(&note.reason, reason, arguments);
	va_end(arguments);
	if (length < 0)
		note.reason = NULL;
	if (note.path && note.what && note.reason)
		slot = np_vec_add(&notes->list, NULL);
	if (slot) {
		*slot = note;
		return;
	}
	release_note(&note);
	notes->lost = true;
}

void np_notes_move(struct np_notes *to, struct np_notes *from)
{
	for (size_t i = 0; i < from->list.count; i++) {
		struct np_note *slot = np_vec_add(&to->list, NULL);

		if (slot) {
			*slot = from->list.item[i];
		} else {
			release_note(&from->list.item[i]);
			to->lost = true;
		}
	}
	to->lost = to->lost || from->lost;
	np_vec_release(&from->list);
}

size_t np_notes_count(const struct np_notes *notes, enum np_note_kind kind)
{
	size_t count = 0;

	for (size_t i = 0; i < notes->list.count; i++)
		count += notes->list.item[i].kind == kind;
	return count;
}
