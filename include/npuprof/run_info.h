/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_RUN_INFO_H
#define NP_RUN_INFO_H

#include "npuprof/err.h"

#include <stdio.h>

/*
 * What is in a run, for commands that show it among other things: the document npuprof.info/1 of
 * the command `info`. `input` is what it calls the run.
 */
struct np_run;

int np_run_info_write(const struct np_run *run, const char *input, FILE *stream, struct np_err *err)
	NP_MUST_USE;

#endif /* NP_RUN_INFO_H */
