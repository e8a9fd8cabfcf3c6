/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_AGREE_H
#define NP_AGREE_H

#include "collect/launch/coord/job.h"
#include "collect/launch/plan/options.h"

/*
 * One plan for all ranks: rank 0 makes it from its options, the others read what
 * it made. Fills job->plan and job->chosen on every rank. Returns NP_EXIT_DONE, or the
 * status that every rank ends with; rank 0 has said why.
 */
int np_agree_plan(struct np_job *job, const struct np_collect_options *options);

/*
 * The same by this launcher alone, which cannot talk to the others yet: all have the same
 * options and find the same plan.
 */
int np_agree_alone(struct np_job *job, const struct np_collect_options *options);

/* Fill job->chosen from the plan and the layout. */
int np_agree_ranks(struct np_job *job, struct np_err *err) NP_MUST_USE;

#endif /* NP_AGREE_H */
