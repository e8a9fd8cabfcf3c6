/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_FIND_H
#define NP_FIND_H

#include "cli/command/launcher.h"
#include "npuprof/err.h"

/*
 * What there is on this host
 * ==========================
 *
 * Asked by the choice of the mode, by the choice of the back-end and by the checks before the
 * start. Nothing is started that stays, and nothing is loaded into this process.
 */

/*
 * The path of a file of ours beside this program, or where the installation puts
 * libraries and programs; false if it is in none of these places.
 */
bool np_find_beside(const char *name, char *path, size_t size);

/* The path of a program the way execvp() finds it; false, and errno, if it cannot be executed. */
bool np_find_program(const char *name, char *path, size_t size);

/*
 * The MPI library that a program names, NP_MPI_NONE for what is no ELF program or cannot be read. A
 * library that loads it in its place, as Python does, is not looked into.
 */
enum np_mpi_family np_find_mpi(const char *path);

/*
 * Is AscendCL there, where the loader looks or where the application `app` itself
 * says that its libraries are (runpath.h)? Tried in a process of its own: its
 * libraries start threads when they are loaded. Sets whether it is the stand-in.
 */
int np_find_ascendcl(const char *app, bool *ret_simulated, struct np_err *err) NP_MUST_USE;

#endif /* NP_FIND_H */
