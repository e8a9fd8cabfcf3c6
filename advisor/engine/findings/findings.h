/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_ADVISOR_FINDINGS_H
#define NP_ADVISOR_FINDINGS_H

#include "npuprof/analysis.h"

#include "advisor/engine/eval/eval.h"
#include "gain.h"

/*
 * What the rules found
 * ====================
 *
 * Outcomes of a rule on several ranks and steps are one finding. Findings are ranked
 * by what they would gain.
 */
enum baseline_state {
	BASELINE_NONE, /* there is no baseline */
	BASELINE_NEW,
	BASELINE_WORSE,
	BASELINE_KNOWN,
};

const char *baseline_name(enum baseline_state state);

struct finding {
	const struct rule *rule;
	NP_VEC(const struct outcome *) outcomes; /* by rank, then step */
	const struct outcome *shown;             /* the one with the largest gain */
	enum severity severity;                  /* the highest of them */
	np_ns gain;                              /* of a step: the median of them, or NP_UNKNOWN */
	double gain_percent;                     /* NaN when not known */
	enum rule_bound bound;                   /* of the gain: the rule's, or a replay's */
	uint64_t fingerprint;
	NP_VEC(int64_t) ranks;
	NP_VEC(const char *) steps;
	enum baseline_state baseline;
	const char *suppressed; /* the reason; NULL if it is not */
};

/* What became of a rule. */
struct rule_report {
	const struct rule *rule;
	enum rule_status status;
	char reason[512];
	np_ns elapsed; /* over all ranks */
};

struct advice {
	const struct np_analysis *analysis;
	NP_VEC(struct rule_report) rules; /* by id */
	NP_VEC(struct finding) findings;  /* by gain, those without one by severity, rule */
	np_ns step_time;                  /* mean over ranks and steps; NP_UNKNOWN */
	struct gains gains;               /* of repairs */
	np_ns total_gain;
	double total_percent;
	struct np_notes notes; /* what could not be read of the details */

	/* Private: outcomes by rule and rank. */
	struct result *results;
	size_t result_count;
	size_t rank_count;
};

void advice_free(struct advice *advice);
void advice_freep(struct advice **advice);

/* Join the outcomes to findings and rank them. */
int advice_join(struct advice *advice, const struct rule_library *library, struct np_err *err)
	NP_MUST_USE;

/* Total what is left after suppressions; call again when they change. */
void advice_total(struct advice *advice);

#endif /* NP_ADVISOR_FINDINGS_H */
