/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_ADVISOR_FINDINGS_H
#define NP_ADVISOR_FINDINGS_H

#include "npuprof/analysis.h"
#include "npuprof/iteration.h"

#include "advisor/engine/eval/eval.h"
#include "gain.h"

/*
 * What the rules found
 * ====================
 *
 * Outcomes of a rule on several ranks and steps are one finding. Findings are ranked
 * by what they would gain, and so severe: 5 % of the step or more is high, 1 % medium.
 * Where the gain is not known the rule says how severe it is.
 */
enum adv_baseline_state {
	BASELINE_NONE, /* there is no baseline */
	BASELINE_NEW,
	BASELINE_WORSE,
	BASELINE_KNOWN,
};

const char *adv_baseline_name(enum adv_baseline_state state);

struct adv_finding {
	const struct adv_rule *rule;
	NP_VEC(const struct adv_outcome *) outcomes; /* by rank, then step */
	const struct adv_outcome
		*shown; /* of the largest gain, else the first of the most severe */
	const struct adv_outcome *least; /* of the smallest gain; NULL where none is known */
	enum adv_severity severity;      /* by the gain, else the highest of them */
	np_ns gain;                      /* of a step: the largest of them, or NP_UNKNOWN */
	np_ns withheld; /* that gain, where ranks not profiled set the pace and it is not known;
			   else NP_UNKNOWN */
	double gain_percent;       /* NaN when not known */
	enum adv_rule_bound bound; /* of the gain: the rule's, or a replay's */
	uint64_t fingerprint;
	NP_VEC(int64_t) ranks;
	NP_VEC(const char *) steps;
	enum adv_baseline_state baseline;
	const char *suppressed; /* the reason; NULL if it is not */
	size_t head;            /* of the same cause: whose symptom it is; its own index if none */
};

void adv_finding_release(struct adv_finding *finding);

/* Gains it so little that people need not be told? */
bool adv_finding_is_petty(const struct adv_finding *finding);

/* What became of a rule. */
struct adv_rule_report {
	const struct adv_rule *rule;
	enum adv_rule_status status;
	char reason[512];
	bool yielded;  /* it fired, and another rule explains that */
	np_ns elapsed; /* over all ranks */
};

struct adv_advice {
	const struct np_analysis *analysis;
	NP_VEC(struct adv_rule_report) rules; /* by id */
	NP_VEC(struct adv_finding) findings;  /* those that come first, by severity, gain, rule */
	np_ns step_time;                      /* mean over ranks and steps; NP_UNKNOWN */
	enum np_basis basis;                  /* of what: iterations or spans */
	np_ns unseen_wait; /* of a rank in a step, for ranks not profiled, where that is most of it
			    */
	struct adv_gains gains; /* of repairs */
	np_ns total_gain;
	double total_percent;
	struct np_notes notes; /* what could not be read of the details */

	/* Private: outcomes by rule and rank. */
	struct adv_result *results;
	size_t result_count;
	size_t rank_count;
};

void adv_advice_free(struct adv_advice *advice);
void adv_advice_freep(struct adv_advice **advice);

/* Join the outcomes to findings and rank them. */
int adv_advice_join(struct adv_advice *advice, const struct adv_rule_library *library,
		    struct np_err *err) NP_MUST_USE;

/* Total what is left after suppressions, and find symptoms; call again when they change. */
void adv_advice_total(struct adv_advice *advice);

#endif /* NP_ADVISOR_FINDINGS_H */
