/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WATCH_OUTLETS_H
#define WATCH_OUTLETS_H

#include "npuprof/buf.h"
#include "npuprof/strtab.h"
#include "npuprof/vec.h"

#include <signal.h>

/*
 * Where a watch tells of windows
 * ==============================
 *
 * A file of lines has every window once, whoever writes it and whatever ends them: who appends
 * holds the lock of the file, reads what others have appended, cuts off a line that was not
 * finished, and leaves out what is there. A line that does not fit on the disk is taken back.
 */
struct watch_told {
	struct np_strtab
		*words;    /* "window\nfingerprint" of what was told; a window alone of old lines */
	NP_VEC(bool) told; /* by the number of such words */
	off_t read;        /* so much of the file is known */
	int64_t last;      /* the largest number of a run in the file; 0: it has no lines */
};

int watch_told_init(struct watch_told *told, struct np_err *err) NP_MUST_USE;
void watch_told_release(struct watch_told *told);

/* Was this told, as far as is known? Windows are told again when their files have changed. */
bool watch_is_told(const struct watch_told *told, const char *window, const char *fingerprint);
int watch_note_told(struct watch_told *told, const char *window, const char *fingerprint,
		    struct np_err *err) NP_MUST_USE;

/* Read what the file has; NP_E_FORMAT where its lines are others. None is none. */
int watch_told_read(struct watch_told *told, const char *path, struct np_err *err) NP_MUST_USE;

/* Append a line unless it is there. */
int watch_told_append(struct watch_told *told, const char *path, const char *window,
		      const char *fingerprint, const struct np_buf *line, struct np_err *err)
	NP_MUST_USE;

/*
 * Run a command by the shell with a text on its standard input, for at most a minute, and no longer
 * than a few seconds once `ending` is set; then it and all that it started is killed. False if it
 * did not end well.
 */
bool watch_run_command(const char *command, const struct np_buf *text,
		       const volatile sig_atomic_t *ending);

#endif /* WATCH_OUTLETS_H */
