/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_ATTACH_NOTE_H
#define NP_ATTACH_NOTE_H

#include "collect/launch/plan/record.h"
#include "npuprof/vec.h"

/*
 * What our library tells of a rank that msprof profiles
 * =====================================================
 *
 * When its steps began, and its communicators: npuprof export needs both and msprof records
 * neither. They are written beside its data as npuprof_rank.json (protocol.h). Steps are left out
 * if one of them was not told (they come at most every 20 ms), as a step that is two would be
 * wrong.
 */
struct np_attach_step {
	int64_t step;
	np_ns begin;
};

struct np_attach_comm {
	int32_t rank;
	int64_t place;
	int64_t size;
	char name[128];
	char pg_name[128]; /* or "" */
};

struct np_attach_note {
	const char *job;
	const char *host;
	const struct np_record *record;
	int64_t first; /* steps of the window, inclusive; NP_UNKNOWN */
	int64_t last;
	const struct np_attach_step *steps; /* that were told since msprof records */
	size_t step_count;
	const struct np_attach_comm *comms; /* of all ranks */
	size_t comm_count;
};

/* A message COMM as an entry; false if it is none. */
bool np_attach_comm_take(const struct np_message *message, struct np_attach_comm *ret);

/* Write it into the rank directory. */
int np_attach_note_write(const struct np_attach_note *note, const char *dir, struct np_err *err)
	NP_MUST_USE;

/* The text of it, for np_attach_note_write() and for tests. */
int np_attach_note_format(const struct np_attach_note *note, struct np_buf *text,
			  struct np_err *err) NP_MUST_USE;

#endif /* NP_ATTACH_NOTE_H */
