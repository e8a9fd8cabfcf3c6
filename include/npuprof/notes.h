/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_NOTES_H
#define NP_NOTES_H

#include "npuprof/err.h"
#include "npuprof/vec.h"

/*
 * Notes: what could not be used, and what is odd
 * ==============================================
 *
 * No silence: a rank, table or step that could not be used is listed with the
 * reason in every form of output. A note says what it is about and why; the
 * first kind makes the exit status 3, the second does not.
 */
enum np_note_kind {
	NP_NOTE_SKIPPED, /* something could not be used */
	NP_NOTE_WARNING, /* everything was used, yet the user should know this */
};

#define NP_NO_RANK INT32_MIN

struct np_note {
	enum np_note_kind kind;
	int32_t rank; /* NP_NO_RANK when it is about no rank */
	char *path;   /* what it is about; never NULL */
	char *what;   /* "rank", "analysis.db", "StepTraceTime" … */
	char *reason;
};

struct np_notes {
	NP_VEC(struct np_note) list;
	bool lost; /* memory ran out for a note: said at the end, for it must not be silent */
};

void np_notes_release(struct np_notes *notes);

void np_note_add(struct np_notes *notes, enum np_note_kind kind, int32_t rank, const char *path,
		 const char *what, const char *reason, ...) NP_PRINTF(6, 7);

/*
 * How to note that `lost` of `of` rows were left out, or have values that are unknown now: up to
 * one in a thousand is a warning, for figures hardly change; more is something that could not be
 * used.
 */
enum np_note_kind np_note_of_loss(size_t lost, size_t of);

/* Move all notes of `from` behind those of `to`. */
void np_notes_move(struct np_notes *to, struct np_notes *from);

/*
 * The same for what `told` does not speak of yet: a file, or a table of it, that could not be used
 * by one reader cannot be used by the next either, and one loss is listed once.
 */
void np_notes_move_untold(struct np_notes *to, struct np_notes *from, const struct np_notes *told);

/* Notes that say the same of several ranks, but for numbers. */
struct np_note_group {
	const struct np_note *first;
	size_t count;
	NP_VEC(int64_t) ranks; /* ascending; empty where they are about none */
};

struct np_note_groups {
	NP_VEC(struct np_note_group) list; /* what could not be used first, then as noted */
};

int np_notes_group(const struct np_notes *notes, struct np_note_groups *ret, struct np_err *err)
	NP_MUST_USE;
void np_note_groups_release(struct np_note_groups *groups);

size_t np_notes_count(const struct np_notes *notes, enum np_note_kind kind);

#endif /* NP_NOTES_H */
