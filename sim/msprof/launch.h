/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MSP_LAUNCH_H
#define MSP_LAUNCH_H

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

#endif /* MSP_LAUNCH_H */
