/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_ADVISOR_POLICY_H
#define NP_ADVISOR_POLICY_H

#include "findings.h"

/*
 * Which findings count: suppressions, a baseline, a gate
 * ======================================================
 */

/*
 * A file of suppressions:
 * [{"rule": glob, "where": {column: pattern}, "reason": text, "until": "YYYY-MM-DD"}].
 */
struct adv_suppressions {
	struct np_json *doc;
	const char *path; /* borrowed */
};

/* Read and check a file; it is kept as long as the advice. */
int adv_suppressions_read(struct adv_suppressions *suppressions, const char *path,
			  struct np_err *err) NP_MUST_USE;

/*
 * Mark the findings that the file covers. Entries that have expired, that cover no
 * finding of a rule that was checked, or that name no rule of the library become
 * warnings among the notes.
 */
int adv_suppressions_apply(const struct adv_suppressions *suppressions,
			   const struct adv_rule_library *library, struct adv_advice *advice,
			   struct np_err *err) NP_MUST_USE;
void adv_suppressions_release(struct adv_suppressions *suppressions);

/* Read an earlier result (-f json). */
int adv_baseline_read(const char *path, struct np_json **ret, struct np_err *err) NP_MUST_USE;

/* Compare with it: new, worse or known. */
void adv_baseline_apply(const struct np_json *baseline, struct adv_advice *advice);

/* "high", "medium", "low" or "gain=PERCENT". */
struct adv_gate {
	bool set;
	bool by_gain;
	enum adv_severity severity;
	double percent;
};

int adv_gate_parse(const char *text, struct adv_gate *ret, struct np_err *err) NP_MUST_USE;

/* How many findings trip it; of a gate by gain 0 or 1. Known and suppressed ones do not count. */
size_t adv_gate_tripped(const struct adv_gate *gate, const struct adv_advice *advice);

#endif /* NP_ADVISOR_POLICY_H */
