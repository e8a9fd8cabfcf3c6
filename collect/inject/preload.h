/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_INJECT_PRELOAD_H
#define NP_INJECT_PRELOAD_H

#include "npuprof/err.h"

/* Be there when the process exits: behind AscendCL, which was loaded before a device was set. */
void np_preload_watch_exit(void);

/* hooks_mstx.c: what marks look like that begin a step. */
int np_preload_set_pattern(const char *text, struct np_err *err) NP_MUST_USE;

#endif /* NP_INJECT_PRELOAD_H */
