/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_PROGRESS_H
#define NP_PROGRESS_H

#include "npuprof/base.h"

/*
 * A line of progress on stderr: a bar, how much is done, how fast and how long it
 * will take. Only on a terminal, also on that of mpirun, only when the work lasts
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

/* The same where sizes say better how far it is. */
struct np_progress_state {
	size_t done;
	size_t total;
	int64_t bytes_done;
	int64_t bytes; /* 0: not known */
};

void np_progress_draw(struct np_progress *progress, const struct np_progress_state *state);

void np_progress_end(struct np_progress *progress);

/* Let `hear` know whenever a line would be drawn, whether or not it is; NULL ends it. */
typedef void np_progress_hear(void *context, const char *what,
			      const struct np_progress_state *state);
void np_progress_listen(np_progress_hear *hear, void *context);

#endif /* NP_PROGRESS_H */
