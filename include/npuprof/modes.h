/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_MODES_H
#define NP_MODES_H

#include "npuprof/mode_tables.h"
#include "npuprof/workers.h"

/*
 * Modes: further tables on request
 * ================================
 *
 * What the incumbent tool calls recipes: statistics of operators, kernels and
 * calls, reasons of gaps, slow ranks and links, pipeline charts and more. Each
 * has the tables and columns that its users know, with the numbers they should
 * have (doc/differences.md). Several modes share one pass over the data: the
 * detail of a rank (detail.h) is loaded once with all that they need, reduced by
 * each of them, and let go; then each merges what it kept of the ranks.
 *
 * A rank where what a mode needs is missing is noted in run->notes, once per mode.
 */

/* The names that can be given, in the order of the manual; ends with NULL. */
extern const char *const np_mode_names[];

/* What a mode shows, for lists; NULL for one that does not exist. */
const char *np_mode_summary(const char *name);

/*
 * What to use instead, if one of "MODE[,MODE...]" is a recipe of the incumbent
 * that is no mode here; else NULL.
 */
const char *np_modes_elsewhere(const char *text);

/*
 * Read "MODE[,MODE...]" as bits, the i-th for np_mode_names[i]. NP_E_USAGE, with the name that was
 * probably meant, for one that does not exist.
 */
int np_modes_parse(const char *text, uint64_t *ret, struct np_err *err) NP_MUST_USE;

/* Do these ask for what `cluster` shows by itself, for communication times, for links? */
bool np_modes_want_report(uint64_t modes);
bool np_modes_want_times(uint64_t modes);
bool np_modes_want_matrix(uint64_t modes);

/* How much of a run has to be loaded and measured for these. */
enum np_modes_need {
	NP_MODES_OPERATORS, /* operators of ranks and how they are matched */
	NP_MODES_TIMES,     /* also the times of their steps, and of copies */
	NP_MODES_RANKS,     /* ranks as a whole, and that */
	NP_MODES_ALL,       /* all measures */
};

/* What they need where no steps are chosen. */
enum np_modes_need np_modes_need(uint64_t modes);

/* Is one of them about two runs, so that np_modes_options.base_summary is needed? */
bool np_modes_compare(uint64_t modes);

/* The i-th of the tables that modes add, NULL behind the last; and the mode that adds one, as a
 * bit: 0 for a table that none does. */
const char *np_modes_table(size_t index);
uint64_t np_modes_of_table(const char *table);

/* Is a table that the merged run has anyway what one of these modes is about? */
bool np_modes_want_table(uint64_t modes, const char *table);

/* What modes are about: a loaded run, its communicators and its matched operators. */
struct np_modes_input {
	struct np_run *run; /* gets notes */
	const struct np_cluster *cluster;
	const struct np_align *align;
};

/*
 * Run the modes that are asked for. Fails if memory runs out or a file cannot be
 * written, and with NP_E_USAGE for options that do not fit the run.
 */
int np_modes_run(const struct np_modes_input *input, const struct np_modes_options *options,
		 const struct np_workers *workers, struct np_modes **ret, struct np_err *err)
	NP_MUST_USE;
void np_modes_free(struct np_modes *modes);
void np_modes_freep(struct np_modes **modes);

#endif /* NP_MODES_H */
