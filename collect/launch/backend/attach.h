/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_ATTACH_H
#define NP_ATTACH_H

#include <sys/types.h>

#include "collect/launch/plan/record.h"
#include "npuprof/vec.h"

/*
 * Windows by msprof, attached to the process of a rank that was started with
 * PROFILING_MODE=dynamic. msprof starts and stops when it is asked, not at a step: so it is
 * started as soon as a window is wanted, which counts if it records before the first step begins,
 * and stopped when the step behind the last one has begun. What is in between holds all steps of
 * the window, and a little more. Our library in the application only reports its steps.
 */
struct np_backend;

/* A step that was reported, and a communicator. */
struct np_attach_step {
	int64_t step;
	np_ns begin;
};

struct np_attach_comm {
	int32_t rank;
	int64_t position;
	int64_t size;
	char name[128];
	char pg_name[128]; /* or "" */
};

enum np_attach_state {
	NP_ATTACH_STARTING,  /* msprof was asked to start */
	NP_ATTACH_RECORDING, /* it records, and the first step of the window has not begun */
	NP_ATTACH_OPEN,
	NP_ATTACH_STOPPING, /* it was asked to stop and to quit */
};

/* One window of one rank. */
struct np_attach {
	int32_t rank;
	enum np_attach_state state;
	pid_t msprof;
	int input;     /* its standard input */
	int64_t first; /* steps [first, end); NP_UNKNOWN: any, -1: until STOP */
	int64_t end;
	bool answered;
	bool opened;
	int64_t last;    /* step that is complete, once it stops */
	np_ns deadline;  /* of the state */
	np_ns bytes_due; /* report how much was written */
	char dir[NP_RECORD_DIR];
	NP_VEC(struct np_attach_step) steps; /* that began since it records */
};

struct np_attached {
	NP_VEC(struct np_attach *) windows;
	NP_VEC(struct np_attach_comm) comms;
};

/* What the library in a rank says. */
void np_attach_hear(struct np_backend *backend, const struct np_message *message);

bool np_attach_send(struct np_backend *backend, int32_t rank, const struct np_message *message);
void np_attach_attend(struct np_backend *backend);
void np_attach_end(struct np_backend *backend);

/*
 * What our library knows of a rank that msprof profiles
 * =====================================================
 *
 * When its steps began, and its communicators: npuprof export needs both and msprof records
 * neither. They are written beside its data as npuprof_rank.json (protocol.h). Steps are left out
 * if one of them was not reported (they come at most every 20 ms), as a step that is two would be
 * wrong.
 */
struct np_attach_note {
	const char *job;
	const char *host;
	const struct np_record *record;
	int64_t first; /* steps of the window, inclusive; NP_UNKNOWN */
	int64_t last;
	const struct np_attach_step *steps; /* that were reported since msprof records */
	size_t step_count;
	const struct np_attach_comm *comms; /* of all ranks */
	size_t comm_count;
};

/* A message COMM as an entry; false if it is none. */
bool np_attach_comm_take(const struct np_message *message, struct np_attach_comm *ret);

/* The text that is written into the rank directory. */
int np_attach_note_format(const struct np_attach_note *note, struct np_buf *text,
			  struct np_err *err) NP_MUST_USE;

#endif /* NP_ATTACH_H */
