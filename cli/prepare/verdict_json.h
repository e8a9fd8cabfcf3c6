/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_VERDICT_JSON_H
#define NP_VERDICT_JSON_H

/* The verdict on a run as JSON, the same in every command. */

#include "npuprof/jsonout.h"
#include "npuprof/verdict.h"

/* The member "verdict". */
void put_verdict_json(struct np_jsonout *out, const struct np_verdict *verdict);

#endif /* NP_VERDICT_JSON_H */
