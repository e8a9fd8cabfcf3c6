/* SPDX-License-Identifier: Apache-2.0 */
/* Says on the screen what could not be used, and what was used in another way than expected. */
#include "notes_screen.h"

#include "npuprof/lang.h"
#include "npuprof/ranges.h"
#include "npuprof/say.h"
#include "npuprof/text.h"

#include <inttypes.h>

/* Longer lists end with how many more there are and where to see them. */
#define MAX_NOTES 5

/* A path may hold line ends, which would look like lines of ours. */
static void put_safe(struct np_buf *buf, const char *text)
{
	np_text_safe(buf, text, strlen(text));
}

void notes_put_one(struct np_buf *buf, const struct np_note *note)
{
	NP_CLEANUP(np_buf_release) struct np_buf reason = NP_BUF_INIT;

	np_say(buf, note->kind == NP_NOTE_SKIPPED ? "not used: " : "note: ");
	if (note->rank != NP_NO_RANK)
		np_buf_printf(buf, "rank %" PRId32, note->rank);
	if (note->rank == NP_NO_RANK || strcmp(note->what, "rank") != 0)
		np_buf_printf(buf, "%s%s", note->rank == NP_NO_RANK ? "" : " ",
			      np_lang_text(note->what));
	if (!strstr(note->reason, note->path))
		np_say(buf, " ({1})", NP_SAID_TEXT(note->path));
	np_say(buf, ": ");
	np_lang_put(&reason, note->reason);
	put_safe(buf, reason.text);
	np_buf_add(buf, "\n");
	buf->failed |= reason.failed;
}

/* The same of several ranks: which, and what is said of the first. */
static void put_note_group(struct np_buf *buf, const struct np_note_group *group)
{
	NP_CLEANUP(np_buf_release) struct np_buf ranks = NP_BUF_INIT;
	const struct np_note *first = group->first;
	bool skipped = first->kind == NP_NOTE_SKIPPED;
	NP_CLEANUP(np_buf_release) struct np_buf reason = NP_BUF_INIT;

	np_lang_put(&reason, first->reason);
	np_ranges_format(&ranks, group->ranks.item, group->ranks.count);
	if (strcmp(first->what, "rank") == 0)
		np_say(buf,
		       skipped ? "not used: {1} ranks ({2}), such as rank {3}: {4}\n"
			       : "note: {1} ranks ({2}), such as rank {3}: {4}\n",
		       NP_SAID_INT(group->ranks.count), NP_SAID_TEXT(ranks.text),
		       NP_SAID_INT(first->rank), NP_SAID_TEXT(reason.text));
	else
		np_say(buf,
		       skipped ? "not used: {5} of {1} ranks ({2}), such as rank {3}: {4}\n"
			       : "note: {5} of {1} ranks ({2}), such as rank {3}: {4}\n",
		       NP_SAID_INT(group->ranks.count), NP_SAID_TEXT(ranks.text),
		       NP_SAID_INT(first->rank), NP_SAID_TEXT(reason.text),
		       NP_SAID_TEXT(np_lang_text(first->what)));
	buf->failed |= ranks.failed || reason.failed;
}

int notes_put(struct np_buf *buf, const struct np_notes *notes, const char *lead,
	      struct np_err *err)
{
	struct np_note_groups groups;
	size_t left = 0;
	int rc = np_notes_group(notes, &groups, err);

	if (rc < 0)
		return rc;
	for (size_t i = 0; i < groups.list.count; i++) {
		const struct np_note_group *group = &groups.list.item[i];

		if (i >= MAX_NOTES) {
			left += group->count;
			continue;
		}
		np_say(buf, lead);
		if (group->ranks.count > 1)
			put_note_group(buf, group);
		else
			notes_put_one(buf, group->first);
	}
	if (left > 0) {
		np_say(buf, lead);
		np_say(buf, "… and {1} more: -f json lists all\n", NP_SAID_INT(left));
	}
	np_note_groups_release(&groups);
	return NP_OK;
}
