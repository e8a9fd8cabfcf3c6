/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_FINISH_H
#define NP_FINISH_H

#include "collect/launch/coord/job.h"

/*
 * Rank 0, before the start: a manifest of what is going to happen, for a job that
 * is killed before it can write another. The state of the chosen ranks is null in it.
 */
void np_finish_foresee(const struct np_job *job);

/*
 * All ranks, after the end: gather the records, say what became of the profiles,
 * write the manifest, export. Returns the status that every rank ends with: that of
 * the application, else 3 if profiling failed somewhere, else 0.
 */
int np_finish(struct np_job *job, const struct np_job_result *result);

#endif /* NP_FINISH_H */
