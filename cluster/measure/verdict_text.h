/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_VERDICT_TEXT_H
#define NP_VERDICT_TEXT_H

/* The sentence of a verdict. */

#include "npuprof/analysis.h"

/* Who, why, how much, and how much of the loss that explains; without a line end. */
void verdict_put_sentence(struct np_buf *buf, const struct np_analysis *analysis,
			  const struct np_verdict *verdict);

#endif /* NP_VERDICT_TEXT_H */
