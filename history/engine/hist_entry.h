/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HIST_ENTRY_H
#define HIST_ENTRY_H

#include "hist_store.h"

/*
 * What is kept of a run that has been analysed: a store with this one run. Labels are "name=value";
 * NP_E_USAGE for one that is not. The time of the run is that of its first step where the profile
 * has times of the calendar, else that of its newest file.
 */
struct np_analysis;
struct np_frequencies;
struct np_run;

struct hist_entry_words {
	const char *job;
	const char *dir;
	const char *phase; /* of the job, or NULL */
	const char *const *labels;
	size_t label_count;
	np_ns now;
};

/* Frequencies may be NULL: they were not read. */
int hist_entry_make(const struct np_analysis *analysis, const struct np_frequencies *frequencies,
		    const struct hist_entry_words *words, struct hist_store **ret,
		    struct np_err *err) NP_MUST_USE;

/* Since 1970. */
np_ns hist_now(void);

/* When a file of the run was changed last; NP_UNKNOWN where none is there. */
np_ns hist_newest_file(const struct np_run *run);

/* The same, or when one was put there, if that was later. */
np_ns hist_newest_change(const struct np_run *run);

#endif /* HIST_ENTRY_H */
