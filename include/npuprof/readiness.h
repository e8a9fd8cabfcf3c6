/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_READINESS_H
#define NP_READINESS_H

#include "npuprof/buf.h"
#include "npuprof/cluster.h"

/*
 * Which analyses a run can feed
 * =============================
 *
 * For each analysis: is everything there that it needs, on which ranks is it
 * not, what is missing, and the switch of the profiler that would have
 * collected it.
 */

struct np_align;
struct np_rank;

enum np_answer {
	NP_ANALYSIS_STEP_TIMES,
	NP_ANALYSIS_STEPS,
	NP_ANALYSIS_COMMUNICATORS,
	NP_ANALYSIS_EXPOSED,
	NP_ANALYSIS_PARTITION,
	NP_ANALYSIS_WAIT,
	NP_ANALYSIS_LINKS,
	NP_ANALYSIS_PIPELINE,
	NP_ANALYSIS_MATCHING,
	NP_ANALYSIS_PLACES,
	NP_ANALYSIS_MEMORY,
	NP_ANALYSIS_FREQUENCY,
	NP_ANALYSIS_HOST,
	NP_ANALYSIS_CALLS,
	NP_ANALYSIS_VERDICT,
	NP_ANALYSIS_COUNT,
};

struct np_readiness {
	const char *name;  /* "bandwidth and links" */
	bool ready;        /* on all ranks */
	size_t without;    /* ranks that miss it */
	char missing[192]; /* what, and on which ranks; "" when ready */
	const char *cure;  /* the switch; NULL when ready */
};

/*
 * Fill one entry for each analysis, in the order above. The alignment knows more of
 * messages than they say themselves; NULL where operators were not matched.
 */
int np_readiness_measure(const struct np_cluster *cluster, const struct np_align *align,
			 struct np_readiness ret[NP_ANALYSIS_COUNT], struct np_err *err)
	NP_MUST_USE;

/* Does a rank send messages of a run in which nothing tells what is a stage? */
bool np_readiness_misses_stages(const struct np_cluster *cluster, const struct np_rank *rank);

#endif /* NP_READINESS_H */
