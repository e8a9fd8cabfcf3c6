/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_ADVISOR_CAUSES_H
#define NP_ADVISOR_CAUSES_H

#include "findings.h"

/*
 * Findings that have one cause
 * ============================
 *
 * A slow rank is late, makes others wait, computes longer and idles longer: rules see each of
 * these, and the user has one thing to repair. Findings with the same cause ("rank:5") are one for
 * people, the first of them with the others as its symptoms; so is a finding only on the ranks that
 * a cause names. Programs get all of them.
 */

/*
 * Leave out what other rules explain better (`yields`): low bandwidth on the ends of a slow link is
 * no contention. Before findings are finished.
 */
void adv_causes_yield(struct adv_advice *advice);

/* Find the head of each finding; they are sorted. */
void adv_causes_join(struct adv_advice *advice);

#endif /* NP_ADVISOR_CAUSES_H */
