/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_JOIN_H
#define NP_JOIN_H

#include "collect/launch/coord/job.h"
#include "collect/launch/plan/options.h"

/*
 * The launchers of a job find each other, in the way of the mode (mode.h). Fills mode, coord,
 * rank and world of the job. If the helper process of the mode "helper" does not end in
 * time, the mode becomes "inapp", and `choice` says why.
 */
int np_join(struct np_job *job, const struct np_collect_options *options,
	    struct np_mode_choice *choice, struct np_err *err) NP_MUST_USE;

/*
 * The helper process of the mode "helper": learns through MPI where launcher 0 is and writes
 * it, with its own rank and the size, to the descriptor that is the first argument.
 */
#define NP_STAGE_OPTION "--stage=pre"
int np_join_stage(const char *descriptor);

#endif /* NP_JOIN_H */
