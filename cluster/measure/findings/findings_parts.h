/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_FINDINGS_PARTS_H
#define NP_FINDINGS_PARTS_H

/* The findings of a job, one source each. */
#include "npuprof/buf.h"
#include "npuprof/job_findings.h"

/* A new one, with its detail; NULL when out of memory. */
struct np_job_finding *findings_add(struct np_job_findings *findings, enum np_job_finding_kind kind,
				    const struct np_buf *detail, struct np_err *err);
int findings_add_rank(struct np_job_finding *finding, int32_t rank, struct np_err *err);

int find_unrecorded(const struct np_replay *replay, struct np_job_findings *findings,
		    struct np_err *err);

#endif /* NP_FINDINGS_PARTS_H */
