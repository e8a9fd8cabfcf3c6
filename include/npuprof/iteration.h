/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_ITERATION_H
#define NP_ITERATION_H

#include "npuprof/base.h"

/*
 * How long a step is
 * ==================
 *
 * A step of a rank has a *span*, from the first start to the last end of what
 * it computed and communicated (C ∪ M), and an *iteration*, from that first
 * start to the first start in the next step. The iteration is what a training
 * job is paid by: a stall of all ranks between two steps is in no span.
 *
 * The last step of a run of consecutive ids, as the file has them, has no
 * iteration; nor has a step in which the device, or that of the next step,
 * did nothing, or one that is known from files of the vendor alone. Steps
 * that are left out later (--steps) change nothing about it.
 *
 * What lies between the end of a span and the next step is divided as free
 * gaps are (activity.h): the gap that a task ended is the host's up to the
 * end of the call that launched it, and the dataloader's of that where the
 * host loaded data; the rest of it is other, and all of it unknown without
 * such a call. Copies, and work of no step or of an earlier one, are other.
 *
 *	iteration = span + Σ between
 *
 * but for a step whose work outlives the start of the next: its span counts
 * up to there, and nothing is between.
 *
 * Wherever a command says "the step" it means np_step_length() on the basis of
 * its run. Steps without a length on that basis enter no mean.
 */
struct np_rank;
struct np_run;
struct np_step_time;

/* How steps are known. */
enum np_steps_from {
	NP_STEPS_MARKS,  /* the framework marked them */
	NP_STEPS_PERIOD, /* found: iterations repeat (period.h) */
	NP_STEPS_NONE,   /* one pseudo step is all */
	NP_STEPS_RANGE,  /* ranges that the application marked, as was asked for */
	NP_STEPS_FROM_COUNT,
};

/* Does the vendor know one step where these are known? */
static inline bool np_steps_are_ours(enum np_steps_from from)
{
	return from == NP_STEPS_PERIOD || from == NP_STEPS_RANGE;
}

/* Where steps are to come from. */
enum np_steps_want {
	NP_WANT_ANY,    /* marks, or where there are none the iterations that are found */
	NP_WANT_MARKS,  /* marks, or one step */
	NP_WANT_PERIOD, /* iterations that are found, or one step */
	NP_WANT_NONE,   /* one step */
	NP_WANT_RANGE,  /* ranges whose name matches a pattern, or one step */
	NP_STEPS_WANT_COUNT,
};

struct np_steps_choice {
	enum np_steps_want want;
	const char *pattern; /* of NP_WANT_RANGE; else NULL */
};

/* Are step marks of the framework used, and are iterations to be found where there are none? */
static inline bool np_steps_read_marks(const struct np_steps_choice *choice)
{
	return choice->want == NP_WANT_ANY || choice->want == NP_WANT_MARKS;
}

static inline bool np_steps_may_find(const struct np_steps_choice *choice)
{
	return choice->want == NP_WANT_ANY || choice->want == NP_WANT_PERIOD;
}

enum np_basis {
	NP_BASIS_SPAN,
	NP_BASIS_ITERATION,
};

enum np_between {
	NP_BETWEEN_DATALOADER,
	NP_BETWEEN_HOST,
	NP_BETWEEN_OTHER,
	NP_BETWEEN_UNKNOWN,
	NP_BETWEEN_KINDS,
};

/* "iteration", "span": of machine formats. */
const char *np_basis_name(enum np_basis basis);

/* "iteration", "step span": for people. */
const char *np_basis_words(enum np_basis basis);

/* "between/dataloader" … */
const char *np_between_leaf(enum np_between kind);

/* How the steps of a run are known: as ours where those of any rank are. */
enum np_steps_from np_run_steps_from(const struct np_run *run);

/* "marks", "period" …: of machine formats. */
const char *np_steps_from_name(enum np_steps_from from);

/* "steps", "iterations (found)" …: for people. */
const char *np_steps_noun(enum np_steps_from from, size_t count);

/* Were the steps of ranks found (enum np_steps_from)? With what confidence, the least of all ranks?
 */
bool np_run_steps_found(const struct np_run *run, double *ret_confidence);

/* The iteration if any step of any rank has one, else the span. */
enum np_basis np_run_basis(const struct np_run *run);

/* The iteration of a step; NP_UNKNOWN when it has none. */
np_ns np_step_iteration(const struct np_step_time *time);

/* Iteration or span; NP_UNKNOWN when it is not known: the step enters no mean then. */
np_ns np_step_length(const struct np_step_time *time, enum np_basis basis);

/* What lies between its span and the next step; NP_UNKNOWN without an iteration. */
np_ns np_step_between(const struct np_step_time *time);

/* Are the step times of a rank those that the vendor derived, with no intervals behind them? */
bool np_rank_times_are_vendors(const struct np_rank *rank);

/*
 * The vendor's own step times
 * ---------------------------
 *
 * His tables and files have two definitions. In databases free time is what is
 * idle between the first start and the last end of a step, as it is here; in
 * text files idle time that starts in the window of a step counts as its free,
 * with what follows the last end, and as part of its stage. Only what is
 * written in his form (ClusterStepTraceTime, cluster_step_trace_time.csv)
 * follows him: the form of the files that were read, or that of databases for
 * all ranks where some were databases.
 */
enum np_form {
	NP_FORM_DB,
	NP_FORM_TEXT,
};

/* The form of the files that a rank's step times come from. */
enum np_form np_rank_form(const struct np_rank *rank);

/* The form for all ranks. */
enum np_form np_run_form(const struct np_run *run);

/* What the vendor adds to free and to stage of a step; 0 in databases. */
np_ns np_step_trailing(const struct np_step_time *time, enum np_form form);

/* Note that ranks have both forms, where they do. */
void np_run_note_forms(struct np_run *run);

#endif /* NP_ITERATION_H */
