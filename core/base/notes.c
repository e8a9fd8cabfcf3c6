/* SPDX-License-Identifier: Apache-2.0 */
/* Notes: what a run did without, and why. */
#include "npuprof/notes.h"

#include "npuprof/order.h"

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

enum np_note_kind np_note_of_loss(size_t lost, size_t of)
{
	return lost > of / 1000 ? NP_NOTE_SKIPPED : NP_NOTE_WARNING;
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

static bool is_told(const struct np_notes *told, const struct np_note *note)
{
	for (size_t i = 0; i < told->list.count; i++) {
		const struct np_note *other = &told->list.item[i];

		if (other->rank == note->rank && strcmp(other->path, note->path) == 0 &&
		    strcmp(other->what, note->what) == 0)
			return true;
	}
	return false;
}

void np_notes_move_untold(struct np_notes *to, struct np_notes *from, const struct np_notes *told)
{
	size_t kept = 0;

	for (size_t i = 0; i < from->list.count; i++) {
		if (is_told(told, &from->list.item[i]))
			release_note(&from->list.item[i]);
		else
			from->list.item[kept++] = from->list.item[i];
	}
	from->list.count = kept;
	np_notes_move(to, from);
}

size_t np_notes_count(const struct np_notes *notes, enum np_note_kind kind)
{
	size_t count = 0;

	for (size_t i = 0; i < notes->list.count; i++)
		count += notes->list.item[i].kind == kind;
	return count;
}

/* --- groups ---------------------------------------------------------------------------------- */

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* The same words, whatever the numbers among them. */
static bool reads_alike(const char *a, const char *b)
{
	while (*a && *b) {
		if (is_digit(*a) && is_digit(*b)) {
			a += strspn(a, "0123456789.,");
			b += strspn(b, "0123456789.,");
		} else if (*a++ != *b++) {
			return false;
		}
	}
	return *a == *b;
}

static bool belongs(const struct np_note *note, const struct np_note *first)
{
	return note->kind == first->kind && note->rank != NP_NO_RANK && first->rank != NP_NO_RANK &&
	       strcmp(note->what, first->what) == 0 && reads_alike(note->reason, first->reason);
}

static int add_to_group(struct np_note_groups *groups, const struct np_note *note,
			struct np_err *err)
{
	struct np_note_group *group = NULL;
	int64_t *rank;

	for (size_t i = 0; i < groups->list.count && !group; i++) {
		if (belongs(note, groups->list.item[i].first))
			group = &groups->list.item[i];
	}
	if (!group) {
		group = np_vec_add(&groups->list, err);
		if (!group)
			return NP_E_NOMEM;
		*group = (struct np_note_group){ .first = note };
	}
	group->count++;
	if (note->rank == NP_NO_RANK)
		return NP_OK;
	rank = np_vec_add(&group->ranks, err);
	if (!rank)
		return NP_E_NOMEM;
	*rank = note->rank;
	return NP_OK;
}

static int by_number(const void *left, const void *right)
{
	return np_order(*(const int64_t *)left, *(const int64_t *)right);
}

/* Each rank once. */
static void sort_ranks(struct np_note_group *group)
{
	size_t kept = 0;

	if (group->ranks.count > 0)
		qsort(group->ranks.item, group->ranks.count, sizeof(int64_t), by_number);
	for (size_t i = 0; i < group->ranks.count; i++) {
		if (kept == 0 || group->ranks.item[i] != group->ranks.item[kept - 1])
			group->ranks.item[kept++] = group->ranks.item[i];
	}
	group->ranks.count = kept;
}

int np_notes_group(const struct np_notes *notes, struct np_note_groups *ret, struct np_err *err)
{
	struct np_note_groups groups = { 0 };
	int rc = NP_OK;

	for (int kind = NP_NOTE_SKIPPED; kind <= NP_NOTE_WARNING; kind++) {
		for (size_t i = 0; i < notes->list.count && rc == NP_OK; i++) {
			if (notes->list.item[i].kind == (enum np_note_kind)kind)
				rc = add_to_group(&groups, &notes->list.item[i], err);
		}
	}
	for (size_t i = 0; i < groups.list.count; i++)
		sort_ranks(&groups.list.item[i]);
	if (rc == NP_OK)
		*ret = groups;
	else
		np_note_groups_release(&groups);
	return rc;
}

void np_note_groups_release(struct np_note_groups *groups)
{
	for (size_t i = 0; i < groups->list.count; i++)
		np_vec_release(&groups->list.item[i].ranks);
	np_vec_release(&groups->list);
}
