/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_NOTES_JSON_H
#define NP_NOTES_JSON_H

#include "npuprof/jsonout.h"
#include "npuprof/notes.h"

/* The notes of one kind as objects of an open array: path, rank, what, reason. */
void np_notes_put_json(struct np_jsonout *out, const struct np_notes *notes,
		       enum np_note_kind kind);

#endif /* NP_NOTES_JSON_H */
