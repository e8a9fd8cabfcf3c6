/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_TIMINGS_JSON_H
#define NP_TIMINGS_JSON_H

#include "npuprof/jsonout.h"
#include "npuprof/timings.h"

/*
 * How long the stages took, as the member `timings`; null for NULL. They differ from run to run,
 * and what is printed must not, unless it is asked for: a command gives them with -v.
 */
void put_timings_json(struct np_jsonout *out, const struct np_timings *timings);

#endif /* NP_TIMINGS_JSON_H */
