/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MSP_LAUNCH_H
#define MSP_LAUNCH_H

#include <sys/types.h>

#include "npuprof/buf.h"
#include "npuprof/err.h"

/*
 * "msprof --output=DIR [option]... APPLICATION [argument]...": run an application with
 * PROFILER_SAMPLECONFIG, so that the simulated AscendCL collects all of its run. Of the options
 * that decide what is recorded, --task-time, --ai-core, --runtime-api and --aicpu have an effect;
 * others of CANN's msprof are accepted.
 */

/* The index of the application in argv, or 0 if there is none. */
int msp_launch_find(int argc, char **argv);

/* Run it; its exit status, or -1 with an error. */
int msp_launch(char **argv, int application, struct np_err *err);

/* What the options before `end` ask for, as PROFILER_SAMPLECONFIG has it. */
int msp_launch_json(char **argv, int end, struct np_buf *json, struct np_err *err);

/* Wait for a process, passing on signals that end us; its exit status. */
int msp_launch_await(pid_t pid);

#endif /* MSP_LAUNCH_H */
