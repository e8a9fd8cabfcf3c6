/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_LAUNCH_PROCESSES_H
#define NP_LAUNCH_PROCESSES_H

#include "collect/launch/coord/job.h"

/*
 * Processes that run already (--pid): they are ranks of a job that somebody else has started with
 * PROFILING_MODE=dynamic. Which ranks, their environment says; where it does not, the position in
 * the list does. Nobody reports their steps.
 */
#define NP_AWAIT_OPTION "--stage=await"

struct np_backend;

/* Does every one of them exist, and listen for msprof? */
int np_processes_check(const char *list, struct np_err *err) NP_MUST_USE;

/* Make their ranks known, as the library in them would. */
void np_processes_announce(struct np_backend *backend, const char *list);

/* The program that stands for them: ends when they have. Returns its exit status. */
int np_processes_await(const char *list);

#endif /* NP_LAUNCH_PROCESSES_H */
