/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a rank has something, and what to do where it has not. */
#include "npuprof/contents.h"

#include "npuprof/rank.h"
#include "npuprof/run.h"

static const struct {
	const char *missing;
	const char *cure;
} texts[NP_DATA_COUNT] = {
	[NP_DATA_ANY] = { "nothing", "profile the NPU" },
	[NP_DATA_STEP_TIMES] = { "no tasks and no step_trace_time",
				 "activities=[CPU, NPU]; export_type=db or text" },
	[NP_DATA_STEPS] = { "no step is marked: all is one step",
			    "schedule=…, and prof.step() in the training loop" },
	[NP_DATA_OPERATORS] = { "no communication operators",
				"profiler_level=Level0 or higher, on a distributed job" },
	[NP_DATA_INTERVALS] = { "no intervals of kernels: totals alone",
				"export_type=db, or text with trace_view.json" },
	[NP_DATA_SIZES] = { "no sizes and no links", "profiler_level=Level1" },
	[NP_DATA_MEMORY] = { "no memory records", "profile_memory=True" },
	[NP_DATA_FREQUENCY] = { "no AI Core frequency",
				"export_type=db with profiler_level=Level0 or higher" },
	[NP_DATA_CALLS] = { "no calls of CANN", "profiler_level=Level1 and activities with CPU" },
	[NP_DATA_LAUNCHES] = { "no calls of CANN",
			       "profiler_level=Level1 and activities with CPU" },
};

bool np_rank_has(const struct np_rank *rank, enum np_data what)
{
	switch (what) {
	case NP_DATA_STEP_TIMES:
		return rank->times.count > 0;
	case NP_DATA_STEPS:
		return rank->steps.count > 0 && rank->steps.item[0].id != NP_STR_NONE;
	case NP_DATA_OPERATORS:
		return rank->ops.count > 0;
	case NP_DATA_INTERVALS:
		return rank->activity.cells.count > 0;
	case NP_DATA_SIZES:
		return rank->sizes_known && np_rank_band_count(rank) > 0;
	case NP_DATA_MEMORY:
		return rank->memory.count > 0;
	case NP_DATA_FREQUENCY:
		return (rank->contents & NP_HAS_FREQUENCY) != 0;
	case NP_DATA_CALLS:
		return (rank->contents & NP_HAS_HOST_CALLS) != 0;
	case NP_DATA_LAUNCHES:
		return (rank->contents & (NP_HAS_HOST_CALLS | NP_HAS_LAUNCHES)) != 0;
	default:
		return true;
	}
}

bool np_run_has(const struct np_run *run, enum np_data what)
{
	for (size_t i = 0; i < run->sources.count; i++) {
		if (run->ranks[i] && np_rank_has(run->ranks[i], what))
			return true;
	}
	return false;
}

const char *np_data_missing(enum np_data what)
{
	return texts[what].missing;
}

const char *np_data_cure(enum np_data what)
{
	return texts[what].cure;
}
