/* SPDX-License-Identifier: Apache-2.0 */
/* The one place that says how long a step is. */
#include "npuprof/iteration.h"

#include "npuprof/rank.h"
#include "npuprof/run.h"

const char *np_basis_name(enum np_basis basis)
{
	return basis == NP_BASIS_ITERATION ? "iteration" : "span";
}

const char *np_basis_words(enum np_basis basis)
{
	return basis == NP_BASIS_ITERATION ? "iteration" : "step span";
}

const char *np_between_leaf(enum np_between kind)
{
	static const char *const leaves[NP_BETWEEN_KINDS] = {
		[NP_BETWEEN_DATALOADER] = "between/dataloader",
		[NP_BETWEEN_HOST] = "between/host",
		[NP_BETWEEN_OTHER] = "between/other",
		[NP_BETWEEN_UNKNOWN] = "between/unknown",
	};

	return leaves[kind];
}

/* Two steps never begin at once: 0 is none too. */
np_ns np_step_iteration(const struct np_step_time *time)
{
	return time->iteration > 0 ? time->iteration : NP_UNKNOWN;
}

np_ns np_step_length(const struct np_step_time *time, enum np_basis basis)
{
	return basis == NP_BASIS_ITERATION ? np_step_iteration(time) : time->span;
}

np_ns np_step_between(const struct np_step_time *time)
{
	np_ns sum = 0;

	if (np_step_iteration(time) == NP_UNKNOWN)
		return NP_UNKNOWN;
	for (int i = 0; i < NP_BETWEEN_KINDS; i++)
		sum += time->between[i];
	return sum;
}

static bool has_iteration(const struct np_rank *rank)
{
	for (size_t i = 0; i < rank->times.count; i++) {
		if (np_step_iteration(&rank->times.item[i]) != NP_UNKNOWN)
			return true;
	}
	return false;
}

bool np_run_steps_found(const struct np_run *run, double *ret_confidence)
{
	bool found = false;

	if (ret_confidence)
		*ret_confidence = 1;
	for (size_t i = 0; i < run->sources.count; i++) {
		const struct np_rank *rank = run->ranks ? run->ranks[i] : NULL;

		if (!rank || rank->steps_from != NP_STEPS_PERIOD)
			continue;
		found = true;
		if (ret_confidence && rank->steps_confidence < *ret_confidence * 1000)
			*ret_confidence = rank->steps_confidence / 1000.0;
	}
	return found;
}

enum np_steps_from np_run_steps_from(const struct np_run *run)
{
	enum np_steps_from from = NP_STEPS_NONE;

	for (size_t i = 0; i < run->sources.count; i++) {
		const struct np_rank *rank = run->ranks ? run->ranks[i] : NULL;

		if (rank && np_steps_are_ours(rank->steps_from))
			return rank->steps_from;
		if (rank && rank->steps.count > 0 && rank->steps.item[0].id != NP_STR_NONE)
			from = NP_STEPS_MARKS;
	}
	return from;
}

const char *np_steps_from_name(enum np_steps_from from)
{
	static const char *const names[NP_STEPS_FROM_COUNT] = {
		[NP_STEPS_MARKS] = "marks",
		[NP_STEPS_PERIOD] = "period",
		[NP_STEPS_NONE] = "none",
		[NP_STEPS_RANGE] = "range",
	};

	return names[from];
}

const char *np_steps_noun(enum np_steps_from from, size_t count)
{
	switch (from) {
	case NP_STEPS_PERIOD:
		return count == 1 ? "iteration (found)" : "iterations (found)";
	case NP_STEPS_RANGE:
		return count == 1 ? "step (a range)" : "steps (ranges)";
	case NP_STEPS_MARKS:
	case NP_STEPS_NONE:
	case NP_STEPS_FROM_COUNT:
		break;
	}
	return count == 1 ? "step" : "steps";
}

enum np_basis np_run_basis(const struct np_run *run)
{
	for (size_t i = 0; run->ranks && i < run->sources.count; i++) {
		if (run->ranks[i] && has_iteration(run->ranks[i]))
			return NP_BASIS_ITERATION;
	}
	return NP_BASIS_SPAN;
}

bool np_rank_times_are_vendors(const struct np_rank *rank)
{
	return (rank->step_source == NP_FROM_TEXT || rank->step_source == NP_FROM_ANALYSIS_DB) &&
	       rank->activity.cells.count == 0;
}

enum np_form np_rank_form(const struct np_rank *rank)
{
	switch (rank->step_source) {
	case NP_FROM_TRACE:
	case NP_FROM_KERNELS:
	case NP_FROM_TEXT:
		return NP_FORM_TEXT;
	case NP_FROM_NOTHING:
	case NP_FROM_RANK_DB:
	case NP_FROM_ANALYSIS_DB:
	case NP_FROM_MARKS:
		break;
	}
	return NP_FORM_DB;
}

/* How many ranks with step times have this form. */
static size_t ranks_of(const struct np_run *run, enum np_form form)
{
	size_t count = 0;

	for (size_t i = 0; run->ranks && i < run->sources.count; i++) {
		const struct np_rank *rank = run->ranks[i];

		count += rank && rank->times.count > 0 && np_rank_form(rank) == form;
	}
	return count;
}

enum np_form np_run_form(const struct np_run *run)
{
	return ranks_of(run, NP_FORM_DB) > 0 ? NP_FORM_DB : NP_FORM_TEXT;
}

np_ns np_step_trailing(const struct np_step_time *time, enum np_form form)
{
	return form == NP_FORM_TEXT ? time->trailing : 0;
}

void np_run_note_forms(struct np_run *run)
{
	size_t db = ranks_of(run, NP_FORM_DB);
	size_t text = ranks_of(run, NP_FORM_TEXT);

	if (db > 0 && text > 0)
		np_note_add(&run->notes, NP_NOTE_WARNING, NP_NO_RANK, run->roots.item[0],
			    "step times",
			    "%zu ranks are text and %zu databases, which the vendor measures"
			    " differently: ClusterStepTraceTime has the form of databases for all,"
			    " without idle time behind the last end of a step",
			    text, db);
}
