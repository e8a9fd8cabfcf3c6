/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CTL_WATCH_H
#define CTL_WATCH_H

#include "collect/launch/session/ctl.h"
#include "npuprof/watching.h"

/*
 * The windows of a job that is running, one after the other
 * =========================================================
 *
 * Windows are asked for from time to time, if that is wanted. One in which every rank has closed
 * its profile is exported, as `npuprof export` does, and then found by the watch of the job's
 * directory. It ends when the job has ended and its last window was told of.
 */
struct ctl_watch_order {
	const char *dir; /* of the job, or the one above */
	struct np_ctl_request request;
	int64_t every_s;    /* 0: nothing is asked for */
	int patience_s;     /* for the answer */
	const char *msprof; /* NULL: the one in PATH */
	const struct np_watch_options *watch;
};

int ctl_watch(const struct np_cmd *cmd, const struct ctl_watch_order *order);

#endif /* CTL_WATCH_H */
