/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_ADVISOR_QUOTA_H
#define NP_ADVISOR_QUOTA_H

#include "npuprof/err.h"

/*
 * How much memory a rule may hold
 * ===============================
 *
 * What a thread takes while a rule runs on it counts for that rule: SQLite's own
 * memory, and tables that the engine keeps for it. What was taken before and is
 * given back now is a credit, which does no harm: a rule gives back what it took.
 * Between rules nothing is counted, and everything may be taken.
 */
void adv_quota_begin(int64_t bytes);
void adv_quota_end(void);

/* Is there room for so much? If not, the rule has exceeded its limit. */
bool adv_quota_take(int64_t bytes);
void adv_quota_give(int64_t bytes);
bool adv_quota_exceeded(void);

/* NP_E_RANGE, with the limit in words. */
int adv_quota_fail(struct np_err *err);

#endif /* NP_ADVISOR_QUOTA_H */
