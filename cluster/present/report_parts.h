/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_REPORT_PARTS_H
#define NP_REPORT_PARTS_H

/* Links, pipeline stages, experts and memory: as JSON, and in a line each for the screen. */

#include "cluster_report.h"

/* The members "links", "pipeline", "experts" and "memory". */
int report_put_parts(struct np_jsonout *out, const struct cluster_report *report,
		     struct np_err *err) NP_MUST_USE;

/* A line each for what is worth telling: a slow link, an idle pipeline, uneven experts, a leak. */
int report_put_part_lines(struct np_buf *buf, const struct cluster_report *report,
			  struct np_err *err) NP_MUST_USE;

#endif /* NP_REPORT_PARTS_H */
