/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_TEMPORARY_H
#define NP_TEMPORARY_H

#include "npuprof/err.h"

#include <stdio.h>

/*
 * Files while they are written
 * ============================
 *
 * A result is written under another name and renamed when it is complete: a
 * crash leaves the old one or the new one. The names are remembered, so that a
 * user who stops the program finds none of them.
 *
 *	rc = np_write_file(path, write, context, err);
 *
 * or, for who does not write to a stream,
 *
 *	char *name = np_temporary_new(path);
 *	write name, np_temporary_place(name, path) or unlink it
 *	np_temporary_free(name);
 */

/*
 * Give what `write` puts into the stream to the file `path`, or leave that as it was. A character
 * device, a pipe of the user and the streams of this process are written to as they are.
 */
typedef int np_file_writer(const void *context, FILE *stream, struct np_err *err);
int np_write_file(const char *path, np_file_writer *write, const void *context, struct np_err *err)
	NP_MUST_USE;

/*
 * A name beside `path` that says which process of which host has it, in memory of its own; NULL
 * when there is none. What processes of this host that are no more have left beside it is removed.
 * Who writes the file makes it (O_EXCL), and never follows what may be there.
 */
char *np_temporary_new(const char *path) NP_MUST_USE;

/*
 * rename(): a complete file takes the place of another, or of none. What is no file (a device, a
 * pipe) stays: EOPNOTSUPP.
 */
int np_temporary_place(const char *name, const char *path) NP_MUST_USE;

/* Remember a name, in memory that belongs to the table until np_temporary_free(). */
void np_temporary_add(char *name);

/* The file is renamed or gone. NULL is allowed. */
void np_temporary_free(char *name);

/* Let signals that end the program remove those files first. */
void np_temporary_guard(void);

#endif /* NP_TEMPORARY_H */
