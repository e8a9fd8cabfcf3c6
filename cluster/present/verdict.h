/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_VERDICT_H
#define NP_VERDICT_H

/* What to make of an analysis, in words: the first thing that anybody reads. */

#include "npuprof/analysis.h"
#include "npuprof/jsonout.h"

/* Why a rank of a chain was late: "computes longer: MatMulV2 +12 %", "waited for rank 5 in tp
 * …428". */
void verdict_put_why(struct np_buf *buf, const struct np_analysis *analysis,
		     const struct np_explanation *explanation, size_t index);

/* A sentence or two, with a line end. */
void verdict_put_text(struct np_buf *buf, const struct np_analysis *analysis);

/* The member "verdict". */
void verdict_put_json(struct np_jsonout *out, const struct np_analysis *analysis);

/* A line each for what is worth saying: a slow link, an idle pipeline, uneven experts, a leak. */
void verdict_put_parts(struct np_buf *buf, const struct np_analysis *analysis);

#endif /* NP_VERDICT_H */
