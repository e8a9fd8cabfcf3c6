/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_PHASES_H
#define NP_PHASES_H

/*
 * A command over each phase of a job
 * ==================================
 *
 * Where the captures of the ranks form several phases (discover.h), a command runs once for each,
 * with np_common.phase_part set: its page gets a heading, its JSON becomes an element of "phases",
 * its CSV a column. With one phase, or with --phase, the command runs as ever.
 */

#include "cli/command/common.h"

#include "npuprof/run.h"

struct np_cmd;

/* What to run; `options` begin where `common` is a part of them. */
struct phases_job {
	const struct np_cmd *command;
	const char *schema; /* of the JSON; "" for forms that cannot hold several phases */
	struct np_common *common;
	const struct np_opt_list *picks;
	int (*run)(void *options);
	void *options;
	bool beside; /* files go right below -o, so that each phase needs a directory of its own
			there */
	const struct np_opt_list *others; /* further inputs, each a run of its own; or NULL */
	/*
	 * For what holds all phases: called after the last one, or after the only one, with the
	 * status so far; nothing is printed around the phases then. NULL: none.
	 */
	int (*end)(void *options, const struct np_phase_times *times, int status);
};

/* Run it; the status is the worst of all. */
int phases_run(const struct phases_job *job);

/* Remember when each rank of a run that is loaded was busy. */
int phases_gather(struct np_phase_times *times, const char *phase, const struct np_run *run,
		  struct np_err *err) NP_MUST_USE;

/*
 * Members of JSON: "phases_failed", if there are any, and "phase_ranks", when each rank of each
 * phase was at work. To be called from phases_job.end, and freed.
 */
char *phases_times_json(const struct np_phase_times *times);

#endif /* NP_PHASES_H */
