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
struct suppressions {
	struct np_json *doc;
	const char *path; /* borrowed */
};

/* Read and check a file; it is kept as long as the advice. */
int suppressions_read(struct suppressions *suppressions, const char *path, struct np_err *err)
	NP_MUST_USE;

/*
 * Mark the findings that the file covers. Entries that have expired, that cover no
 * finding of a rule that was checked, or that name no rule of the library become
 * warnings among the notes.
 */
int suppressions_apply(const struct suppressions *suppressions, const struct rule_library *library,
		       struct advice *advice, struct np_err *err) NP_MUST_USE;
void suppressions_release(struct suppressions *suppressions);

/* Read an earlier result (-f json). */
int baseline_read(const char *path, struct np_json **ret, struct np_err *err) NP_MUST_USE;

/* Compare with it: new, worse or known. */
void baseline_apply(const struct np_json *baseline, struct advice *advice);

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
