/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_DISCOVER_FILES_H
#define NP_DISCOVER_FILES_H

/* What discover.c (which directories, which of them are used) and discover_files.c (what is in one)
 * share. */

#include "npuprof/dirs.h"
#include "npuprof/discover.h"

#define OUTPUT_NAME "ASCEND_PROFILER_OUTPUT"

/* The names in a directory; one that cannot be read has none, and is noted. */
int discover_names(struct np_run *run, const char *path, struct np_names *ret, struct np_err *err)
	NP_MUST_USE;

/*
 * If `dir` holds the profile of a rank, or several databases of msMonitor, add
 * them to the run. A rank directory without anything readable is noted and
 * counted in `ret_without_data`. `ret_enter` says whether ranks may stand below.
 */
int discover_take(struct np_run *run, const char *dir, const struct np_names *names,
		  size_t *ret_without_data, bool *ret_enter, struct np_err *err) NP_MUST_USE;

/* Sort what was found by rank, keep one directory for each, and of them those asked for. */
int discover_choose(struct np_run *run, const struct np_discover_options *options,
		    struct np_err *err) NP_MUST_USE;

#endif /* NP_DISCOVER_FILES_H */
