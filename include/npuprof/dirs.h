/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_DIRS_H
#define NP_DIRS_H

#include "npuprof/err.h"

/* Make a directory and those above it, as far as they do not exist. */
int np_make_dirs(const char *path, struct np_err *err) NP_MUST_USE;

#endif /* NP_DIRS_H */
