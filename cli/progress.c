/* SPDX-License-Identifier: Apache-2.0 */
#include "progress.h"

#include <unistd.h>

#define PATIENCE_NS 1000000000

static np_ns now(void)
{
	struct timespec time;

	(void)clock_gettime(CLOCK_MONOTONIC, &time);
	return (np_ns)time.tv_sec * 1000000000 + time.tv_nsec;
}

void np_progress_init(struct np_progress *progress, const char *what, bool quiet)
{
	*progress = (struct np_progress){ .what = what,
					  .enabled = !quiet && isatty(STDERR_FILENO),
					  .begin = now() };
}

void np_progress_tick(void *context, size_t done, size_t total)
{
	struct np_progress *progress = context;
	np_ns elapsed = now() - progress->begin;

	if (!progress->enabled || elapsed < PATIENCE_NS)
		return;
	(void)fprintf(stderr, "\r%s %zu/%zu\033[K", progress->what, done, total);
	(void)fflush(stderr);
	progress->drawn = true;
}

void np_progress_end(struct np_progress *progress)
{
	if (progress->drawn)
		(void)fputs("\r\033[K", stderr);
	progress->drawn = false;
}
