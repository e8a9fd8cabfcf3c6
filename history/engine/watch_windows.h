/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HIST_WATCH_WINDOWS_H
#define HIST_WATCH_WINDOWS_H

#include "npuprof/vec.h"

/*
 * Windows that arrive in a directory
 * ==================================
 *
 * - Each of its subdirectories, or where one has directories called window-N, as those of a job of
 *   the collector have, each of these; likewise the window-N of the directory itself.
 * - Of captures that lie in the directory itself, or beside window-N, with process and time in
 *   their names (msmonitor_*.db, msmonitor_*.jsonl, *_ascend_pt), those that belong together: by
 *   their times each at most a minute after the one before it, and each process once. Files of
 *   lines of one process follow each other until one says that the monitor was stopped.
 *
 * Hidden ones and results of an analysis are none. Captures with a time within that of a window
 * that is known belong to it, whenever they arrive; so do those of other processes that began at
 * about its time. Of captures side by side the newest known windows are listed again, older ones
 * are not.
 */
struct watch_window {
	char *name; /* below the directory: "job/window-3"; of captures "FIRST-LAST", their times */
	NP_VEC(char *) paths; /* what it consists of */
	np_ns made;           /* time of change of its directory, or of its newest capture */
	np_ns changed; /* the same, or when it was put there, by the clock of the file system */
};

struct watch_windows {
	NP_VEC(struct watch_window) list; /* the oldest first */
};

/* What is looked for where; `known` are the names of windows that were taken before. */
struct watch_listing {
	const char *dir;
	const char *const *known;
	size_t known_count;
};

int watch_windows_list(const struct watch_listing *listing, struct watch_windows *ret,
		       struct np_err *err) NP_MUST_USE;
void watch_windows_release(struct watch_windows *windows);

#endif /* HIST_WATCH_WINDOWS_H */
