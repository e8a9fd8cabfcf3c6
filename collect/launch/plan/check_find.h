/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_CHECK_FIND_H
#define NP_CHECK_FIND_H

#include "npuprof/base.h"

/*
 * The path of a file of ours beside this program, or where the installation puts
 * libraries and programs; false if it is in none of these places.
 */
bool np_find_beside(const char *name, char *path, size_t size);

/* The path of a program the way execvp() finds it; false, and errno, if it cannot be executed. */
bool np_find_program(const char *name, char *path, size_t size);

#endif /* NP_CHECK_FIND_H */
