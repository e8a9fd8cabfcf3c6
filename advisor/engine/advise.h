/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_ADVISOR_ADVISE_H
#define NP_ADVISOR_ADVISE_H

#include "npuprof/analysis.h"
#include "npuprof/detail.h"
#include "npuprof/workers.h"

#include "advisor/engine/findings/findings.h"

/*
 * Running all rules on a run
 * ==========================
 *
 * Rules over ranks run on one rank at a time, ranks in parallel: the detail of a
 * rank is loaded, read by the rules, and let go. Rules over the cluster run once,
 * over the merged tables. Outcomes are joined over ranks and steps to findings,
 * and ranked by what they would gain.
 */
struct adv_advise_options {
	const struct adv_rule_library *library;
	/* Which rules run; NULL for all that are enabled. */
	bool (*wants)(const void *context, const struct adv_rule *rule);
	const void *context;
	enum adv_rule_language language;
	struct np_workers workers;
	np_ns time; /* of a processor, for all rules on a rank or on the cluster; 0: no limit */
	const char *merged; /* a fresh database with the merged tables; NULL if there is none */
	const struct np_analysis *base;     /* the run to compare with; may be NULL */
	const struct adv_rows *graph_nodes; /* may be NULL */
	const struct adv_rows *graph_edges;
	/*
	 * What else is wanted of each rank while its detail is there: these sections are read too;
	 * may be NULL. Called on the threads, once for a rank.
	 */
	int (*look)(void *context, size_t index, const struct np_detail *detail,
		    struct np_err *err);
	void *look_context;
	unsigned look_sections;
};

int adv_advise(const struct np_analysis *analysis, const struct adv_advise_options *options,
	       struct adv_advice **ret, struct np_err *err) NP_MUST_USE;

#endif /* NP_ADVISOR_ADVISE_H */
