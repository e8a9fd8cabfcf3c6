/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_WORKERS_H
#define NP_WORKERS_H

#include "npuprof/err.h"

/*
 * Run n independent jobs on k threads
 * ===================================
 *
 * Jobs are handed out in order of index and store their results by index, so
 * that the outcome does not depend on the number of threads. A job that fails
 * keeps its failure in its own result: one bad rank costs one rank.
 */
typedef void np_job(void *context, size_t index);

/* Called on the calling thread about ten times a second, and once at the end. */
typedef void np_tick(void *context, size_t done, size_t total);

struct np_workers {
	size_t threads; /* 0: one per processor this process may use */
	np_tick *tick;  /* may be NULL */
	void *tick_context;
};

/*
 * Run job(context, i) for 0 <= i < count and return when all are done. With one
 * thread, or when no thread can be started, the jobs run on the calling thread.
 */
void np_workers_run(const struct np_workers *workers, size_t count, np_job *job, void *context);

/*
 * What this thread has taken of processors so far, and those that ran jobs for it: of two
 * threads that do different things at a time each knows its own.
 */
np_ns np_workers_time(void);

/* Number of processors this process may use, at least 1. */
size_t np_processors(void);

#endif /* NP_WORKERS_H */
