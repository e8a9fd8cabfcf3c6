/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_PREPARE_H
#define NP_PREPARE_H

/* What every command over a run begins with: find the ranks, load them, choose the steps. */

#include "cli/command/common.h"

#include "npuprof/analysis.h"
#include "npuprof/notes.h"
#include "npuprof/timings.h"

/*
 * Load the run that the options name, with a line of progress. Options that need no data are
 * checked before anything is read; a command checks its own before it calls this. The run is the
 * caller's, also on failure where it exists.
 */
int prepare_run(const struct np_common *common, const struct np_opt_list *picks,
		struct np_run **ret, struct np_err *err) NP_MUST_USE;

/* The two halves of it: the ranks are found, and then loaded. */
int prepare_found(const struct np_common *common, const struct np_opt_list *picks,
		  struct np_run **ret, struct np_err *err) NP_MUST_USE;
int prepare_loaded(const struct np_common *common, struct np_run *run, struct np_err *err)
	NP_MUST_USE;

/* What --steps-from means. */
int prepare_steps_from(const struct np_common *common, struct np_steps_choice *ret,
		       struct np_err *err) NP_MUST_USE;

/* Leave out the steps that the options leave out; part of prepare_run(). */
int prepare_steps(struct np_run *run, const struct np_common *common, struct np_err *err)
	NP_MUST_USE;

/* Measure a run that is loaded. Takes it over, also when it fails. */
int prepare_measures(const struct np_common *common, struct np_run *run, struct np_analysis **ret,
		     struct np_err *err) NP_MUST_USE;

/* The same, but only what modes are about: np_analysis_build_for_modes(). */
int prepare_for_modes(const struct np_common *common, struct np_run *run, struct np_analysis **ret,
		      struct np_err *err) NP_MUST_USE;

/* prepare_run() and prepare_measures(). Nothing is left to the caller on failure. */
int prepare_analysis(const struct np_common *common, const struct np_opt_list *picks,
		     struct np_analysis **ret, struct np_err *err) NP_MUST_USE;

/*
 * Where results go: cluster_analysis_output below -o or the first input, or what has this `name`
 * in it. NULL without memory; freed by the caller.
 */
char *prepare_output(const struct np_common *common, const char *name) NP_MUST_USE;

/* What the output calls the input: of summaries, the directory that they were made from. */
const char *prepare_input(const struct np_common *common, const struct np_run *run);

/*
 * Where the form of output does not show them, say on stderr what was not used, and with -v all
 * that is to be known; `matters` may name subjects that are said without -v, or is NULL.
 */
void prepare_say_notes(const struct np_common *common, const struct np_notes *notes,
		       const char *(*matters)(const char *what));

/*
 * Note, under this `what`, the ranks of which only the summary is here, and what is `missing`
 * because it would be read from their profiles. Returns how many.
 */
size_t prepare_note_summaries(struct np_run *run, const char *what, const char *missing);

/* With -v: how long each stage took; said last. */
void prepare_say_timings(const struct np_common *common, const struct np_timings *timings);

/* Could something not be used, or with --strict, is there anything to be known? */
bool prepare_is_partial(const struct np_common *common, const struct np_notes *notes);

/* 3 if so, else 0. */
int prepare_status(const struct np_common *common, const struct np_run *run);

#endif /* NP_PREPARE_H */
