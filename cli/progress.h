/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_PROGRESS_H
#define NP_PROGRESS_H

#include "npuprof/base.h"

/*
 * A line of progress on stderr: only on a terminal, only when the work lasts
 * over a second, and gone when it ends.
 */
struct np_progress {
	const char *what;
	bool enabled;
	bool drawn;
	np_ns begin;
};

void np_progress_init(struct np_progress *progress, const char *what, bool quiet);

/* An np_tick of workers.h whose context is the np_progress. */
void np_progress_tick(void *progress, size_t done, size_t total);

void np_progress_end(struct np_progress *progress);

#endif /* NP_PROGRESS_H */
