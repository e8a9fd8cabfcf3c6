/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_DISCOVER_H
#define NP_DISCOVER_H

#include "npuprof/err.h"

/*
 * Finding the ranks of a run
 * ==========================
 *
 * Walks the directories given, following symbolic links once, and recognises a
 * rank by its files rather than by the name of its directory: people rename
 * and nest them freely. Only names and small metadata files are read.
 *
 * Several captures of one rank that differ in the directory of their role or step,
 * or that one process made one after the other, are of different phases of the job:
 * np_run.phases names all, and the run is of one of them. Otherwise the newest wins,
 * by the time in its name or else of its files, and the others are noted. `picks`
 * overrides: where one of these paths is, or holds, a candidate, that one is taken,
 * and there are no phases.
 */

struct np_ranges;
struct np_run;

struct np_discover_options {
	const char *const *picks;
	size_t pick_count;
	const struct np_ranges *ranks; /* only these; NULL for all */
	const char *phase;             /* that is wanted; NULL for the first */
	bool phase_if_any;             /* a run without phases is as good */
};

/*
 * Add the ranks below `roots` (directories of one run: a node each, or one for
 * all) to the run. NP_E_NOTFOUND when there are none, saying what was looked
 * for; NP_E_USAGE when `ranks` or `phase` asks for one that does not exist.
 */
int np_discover(struct np_run *run, const char *const *roots, size_t root_count,
		const struct np_discover_options *options, struct np_err *err) NP_MUST_USE;

#endif /* NP_DISCOVER_H */
