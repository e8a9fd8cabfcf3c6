/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_VERDICT_H
#define NP_VERDICT_H

/* What to make of the charges, in words: the first thing that anybody reads. */

#include "cluster_report.h"

/* Why a rank of a chain was late: "computes longer: MatMulV2 +12 %", "waited for rank 5 in tp
 * …428". */
int verdict_put_why(struct np_buf *buf, const struct cluster_report *report,
		    const struct np_root_cause_link *link, struct np_err *err) NP_MUST_USE;

/* A sentence or two, with a line end. */
int verdict_put_text(struct np_buf *buf, const struct cluster_report *report, struct np_err *err)
	NP_MUST_USE;

/* The member "verdict". */
int verdict_put_json(struct np_jsonout *out, const struct cluster_report *report,
		     struct np_err *err) NP_MUST_USE;

#endif /* NP_VERDICT_H */
