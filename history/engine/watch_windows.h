/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HIST_WATCH_WINDOWS_H
#define HIST_WATCH_WINDOWS_H

#include "npuprof/vec.h"

/*
 * Windows that arrive in a directory: each of its subdirectories, or where one has directories
 * called window-N, as those of the collector have, each of these. Hidden ones and results of an
 * analysis are none.
 */
struct watch_window {
	char *name; /* below the directory: "job/window-3" */
	np_ns made; /* time of change of its directory */
};

struct watch_windows {
	NP_VEC(struct watch_window) list; /* the oldest first */
};

int watch_windows_list(const char *dir, struct watch_windows *ret, struct np_err *err) NP_MUST_USE;
void watch_windows_release(struct watch_windows *windows);

#endif /* HIST_WATCH_WINDOWS_H */
