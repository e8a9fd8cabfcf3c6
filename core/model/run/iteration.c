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

enum np_basis np_run_basis(const struct np_run *run)
{
	for (size_t i = 0; run->ranks && i < run->sources.count; i++) {
		if (run->ranks[i] && has_iteration(run->ranks[i]))
			return NP_BASIS_ITERATION;
	}
	return NP_BASIS_SPAN;
}
