/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_NOTES_SCREEN_H
#define NP_NOTES_SCREEN_H

/* What could not be used, the same on the screen of every command. */

#include "npuprof/buf.h"
#include "npuprof/notes.h"

/* "not used: rank 2 analysis.db (PATH): …" and a line end, without the path if the reason names it.
 */
void notes_put_one(struct np_buf *buf, const struct np_note *note);

/*
 * A line for each kind of thing that could not be used, or was used in another way than expected,
 * with the ranks it happened to; each begins with `lead`, which may be empty.
 */
int notes_put(struct np_buf *buf, const struct np_notes *notes, const char *lead,
	      struct np_err *err) NP_MUST_USE;

#endif /* NP_NOTES_SCREEN_H */
