/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_WHATIF_REPORT_H
#define NP_WHATIF_REPORT_H

/* Presenting the replay: all forms of `whatif`, and its part of `cluster`. */

#include "cluster_report.h"

#include "npuprof/analysis.h"

#include <math.h>

struct whatif_report {
	const struct np_analysis *analysis;
	const struct np_whatif *whatif;
	struct cluster_report *report; /* of the run, for what both commands say */
	NP_VEC(struct np_fix) asked;
	np_ns asked_step;    /* with all of them; NP_UNKNOWN without any */
	np_ns asked_singles; /* Σ of what each of them saves by itself */
	struct np_whatif_curve curve;
	struct np_path_summary summary;
	np_ns *slack;                /* by cell of the replay */
	struct np_efficiency *steps; /* by step of the run */
	struct np_role_transfers roles;
};

static inline double report_ratio(np_ns part, np_ns whole)
{
	return whole > 0 ? (double)part / (double)whole : (double)NAN;
}

static inline double report_percent(np_ns part, np_ns whole)
{
	return 100 * report_ratio(part, whole);
}

int whatif_screen(const struct whatif_report *report, struct np_buf *buf, struct np_err *err)
	NP_MUST_USE;
int whatif_markdown(const struct whatif_report *report, struct np_buf *buf, struct np_err *err)
	NP_MUST_USE;

/* One row for each repair, those asked for together first. */
extern const struct np_relation whatif_repairs;
int whatif_json(const struct whatif_report *report, FILE *stream, struct np_err *err) NP_MUST_USE;

/* The members "replay", "whatif", "critical_path" and "efficiency"; null and empty without a
 * replay. */
int whatif_put_json(struct np_jsonout *out, const struct np_analysis *analysis, struct np_err *err)
	NP_MUST_USE;

#endif /* NP_WHATIF_REPORT_H */
