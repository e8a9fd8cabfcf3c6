/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_FINDINGS_PARTS_H
#define NP_FINDINGS_PARTS_H

/* The findings of a job, one source each. */
#include "npuprof/buf.h"
#include "npuprof/job_findings.h"

/* A new one, with its detail; NULL when out of memory. */
struct np_job_finding *findings_add(struct np_job_findings *findings, enum np_job_finding_kind kind,
				    struct np_err *err, const char *detail, ...) NP_PRINTF(4, 5);

/* A time within a detail. */
struct findings_time {
	char text[24];
};
struct findings_time findings_time(double time);
int findings_add_rank(struct np_job_finding *finding, int32_t rank, struct np_err *err);

int find_unrecorded(const struct np_replay *replay, struct np_job_findings *findings,
		    struct np_err *err);

#endif /* NP_FINDINGS_PARTS_H */
