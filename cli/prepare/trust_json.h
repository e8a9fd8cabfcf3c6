/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_TRUST_JSON_H
#define NP_TRUST_JSON_H

/* How far the results of a run can be believed, the same in every command. */

#include "npuprof/analysis.h"
#include "npuprof/jsonout.h"

/* The member "trust". */
void put_trust_json(struct np_jsonout *out, const struct np_analysis *analysis);

/* Which of the analyses that a report shows the data cannot feed; gives their number. */
size_t trust_withheld(const struct np_analysis *analysis,
		      const struct np_readiness *ret[NP_ANALYSIS_COUNT]);

#endif /* NP_TRUST_JSON_H */
