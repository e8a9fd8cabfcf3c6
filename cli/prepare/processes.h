/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_PROCESSES_H
#define NP_PROCESSES_H

/*
 * One command on one process or on many
 * =====================================
 *
 * `mpirun -n 16 npuprof cluster …` is one analysis: the first process runs the
 * command, the others load ranks for it, write nothing and end with its status.
 * MPI lives in a library that is loaded only when mpirun started the process.
 */

#include "cli/command/cmd.h"

/*
 * Run `run` with these arguments (without the name of the program) on this
 * process, or help the one that does; returns the status of the command. For
 * commands that are distributed: all others run by themselves on every process,
 * as `collect` starts programs that use MPI, and the rest has nothing to share.
 */
int processes_run(const struct np_cmd *cmd, int (*run)(int argc, const char *const *argv), int argc,
		  const char *const *argv);

/* The processes of this command; one alone has those of np_procs_serial. */
const struct np_procs *processes_all(void);

#endif /* NP_PROCESSES_H */
