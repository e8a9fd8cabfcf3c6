/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_AGENT_H
#define NP_AGENT_H

/*
 * One line of JSON for programs (--agent)
 * =======================================
 *
 * {"status","code","message","suggestion","log_path"} as msprof-analyze prints it, then "schema",
 * "command" and "notes". A command runs as ever, but what it prints goes nowhere; it fills the
 * message where one is asked for. What is reported on standard error is among the notes, and is
 * the message if nothing came of it. One process, one line: there is one answer, and no lock.
 */

#include "npuprof/jsonout.h"
#include "npuprof/notes.h"

/* From here on there is an answer to be filled; false without memory. */
bool agent_begin(const char *command);

/* Print it. Returns `status`, or 1 if the line could not be written. */
int agent_end(int status);

/*
 * The message, in which members may be put; NULL where none is asked for. Between several phases
 * of a job they are members of an object with the name of the phase. agent_close() is due.
 */
struct np_jsonout *agent_open(const char *phase);
void agent_close(const char *phase);

/* What to do next, in a sentence; the first counts. */
void agent_suggest(const char *text);

/* What could not be used. */
void agent_note(const struct np_notes *notes);

#endif /* NP_AGENT_H */
