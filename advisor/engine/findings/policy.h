/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_ADVISOR_POLICY_H
#define NP_ADVISOR_POLICY_H

#include "advisor/engine/advise.h"

/*
 * Which findings count: suppressions, a baseline, a gate
 * ======================================================
 */

/*
 * Mark the findings that a file of suppressions covers:
 * [{"rule": glob, "where": {column: pattern}, "reason": text, "until": "YYYY-MM-DD"}].
 * Entries that have expired, that cover no finding of a rule that was checked, or
 * that name no rule of the library become warnings among the notes. The file is
 * kept as long as the advice.
 */
struct suppressions {
	struct np_json *doc;
};

int suppressions_apply(struct suppressions *suppressions, const char *path,
		       const struct rule_library *library, struct advice *advice,
		       struct np_err *err) NP_MUST_USE;
void suppressions_release(struct suppressions *suppressions);

/* Compare with an earlier result (-f json): new, worse or known. */
int baseline_apply(const char *path, struct advice *advice, struct np_err *err) NP_MUST_USE;

/* "high", "medium", "low" or "gain=PERCENT". */
struct gate {
	bool set;
	bool by_gain;
	enum severity severity;
	double percent;
};

int gate_parse(const char *text, struct gate *ret, struct np_err *err) NP_MUST_USE;

/* How many findings trip it; of a gate by gain 0 or 1. Known and suppressed ones do not count. */
size_t gate_tripped(const struct gate *gate, const struct advice *advice);

#endif /* NP_ADVISOR_POLICY_H */
