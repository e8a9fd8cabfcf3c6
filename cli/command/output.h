/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_OUTPUT_H
#define NP_OUTPUT_H

#include "npuprof/buf.h"

#include <stdarg.h>
#include <stdio.h>

/*
 * stdout is the result, stderr is everything else
 * ===============================================
 *
 * A result that did not reach its reader is a failure: main() begins with
 * np_output_begin() and its status is that of np_output_end().
 */

/*
 * Occupy the standard descriptors that the caller closed, so that no file
 * opened later becomes stdout by accident, and let writes to a closed pipe or
 * beyond the limit of a file's size fail rather than kill.
 */
void np_output_begin(void);

/*
 * Flush stdout. Returns `status`, or 1 if the result could not be written. That
 * the reader of a pipe went away early ("| head") needs no words; everything
 * else is reported.
 */
int np_output_end(int status);

/* Where the result goes: stdout, unless it was diverted. Commands write it nowhere else. */
FILE *np_output_stream(void);

/* Let the result go to `stream`; returns where it went before, which ends it when it is given. */
FILE *np_output_divert(FILE *stream);

/* Write `buf` to np_output_stream() and release it; returns 0, or 1 if it is incomplete. */
int np_output_release(struct np_buf *buf);

/*
 * Say "npuprof: …" on stderr, one line, made safe for the terminal; returns
 * `status`, so that failing is a single statement. Nothing is said for an empty
 * message, and when writing to stdout failed because its reader went away.
 */
int np_report(int status, const char *fmt, ...) NP_PRINTF(2, 3);

/* Likewise; false if nothing was said. */
bool np_vreport(const char *fmt, va_list args) NP_PRINTF(1, 0);

/* Let `hear` have all that is reported, too; NULL ends it. */
void np_output_listen(void (*hear)(const char *text));

/* Only what `may` allows is reported from now on; NULL ends it. */
void np_output_filter(bool (*may)(const char *text));

/*
 * Is this the only process, or the first of those that mpirun started? Help, versions and
 * complaints about options are the same for all: one says them.
 */
bool np_output_is_first(void);

/*
 * Does a terminal take what is written? mpirun puts one of its own before every process,
 * whatever takes the output in the end: below it there is none.
 */
bool np_output_is_terminal(FILE *stream);

/* What COLUMNS says, else the columns of the terminal behind `stream`, or 100 when it is none. */
size_t np_output_width(FILE *stream);

/* The same for help on stdout, which is never wider than 100 columns. */
size_t np_output_help_width(void);

#endif /* NP_OUTPUT_H */
