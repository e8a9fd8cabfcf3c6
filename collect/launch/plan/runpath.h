/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_RUNPATH_H
#define NP_RUNPATH_H

#include "npuprof/buf.h"

/*
 * Where a program itself says that its libraries are: the directories of DT_RUNPATH, or of the
 * older DT_RPATH, separated by colons, with $ORIGIN replaced by the directory of the program.
 * Nothing is appended for what is no ELF file of this machine, or damaged.
 */
void np_runpath_add(struct np_buf *buf, const char *file);

#endif /* NP_RUNPATH_H */
