/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_VERDICT_JSON_H
#define NP_VERDICT_JSON_H

/* The verdict on a run as JSON, the same in every command. */

#include "npuprof/jsonout.h"
#include "npuprof/verdict.h"

/* The member "verdict". */
void put_verdict_json(struct np_jsonout *out, const struct np_verdict *verdict);

/*
 * Of pages, which people read: under a sentence the same in the language of this thread
 * (np_lang_put_parts()). Nothing for NULL, or where both are the same.
 */
void put_said_json(struct np_jsonout *out, const char *sentence);

#endif /* NP_VERDICT_JSON_H */
