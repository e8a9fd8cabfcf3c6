/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MSP_ATTACH_H
#define MSP_ATTACH_H

#include "npuprof/err.h"

/*
 * "msprof --dynamic=on --output=DIR [option]... --pid=PID[,PID]...": talk to applications that
 * were started with PROFILING_MODE=dynamic (npusim/dynamic.h), and obey start, stop and quit on
 * standard input. "msprof --dynamic=on [option]... APPLICATION...": start one and talk to it.
 */

/* Is --dynamic=on among these? */
bool msp_dynamic_wanted(int argc, char **argv);

/* Exit status, or -1 with an error. `application` is its index in argv, 0 to attach. */
int msp_dynamic(int argc, char **argv, int application, struct np_err *err);

#endif /* MSP_ATTACH_H */
