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

/*
 * Can it work? Asked before anything is started
 * =============================================
 *
 * Every rank looks at its own host, rank 0 gathers the answers, and one failure
 * anywhere means that nothing starts anywhere: the directory (made, written to,
 * flushed), space, the application itself, the library that goes into it, AscendCL,
 * other profilers, and an environment that says something else than this job does.
 */

/*
 * Make <save_path>/<job> on rank 0 and let all know where it is (job->root). An
 * existing directory of that name belongs to another job and is refused.
 */
int np_check_make_root(struct np_job *job, struct np_err *err) NP_MUST_USE;

/* Remove what np_check_make_root() and the checks made, as far as it is empty. */
void np_check_remove_root(const struct np_job *job);

/*
 * All checks of this rank. NP_OK, or the first that failed. Doubts are added to
 * `doubts`, one line each. Sets job->simulated and job->shared. `inject` is the
 * path of the library, or NULL if there is none.
 */
int np_check_rank(struct np_job *job, const char *inject, struct np_buf *doubts, struct np_err *err)
	NP_MUST_USE;

/*
 * Tell all ranks how the checks went, and say on rank 0 what failed where. True:
 * all is well, everywhere.
 */
bool np_check_agree(struct np_job *job, int rc, const struct np_err *why, struct np_buf *doubts);

/* The same for this launcher alone. */
bool np_check_alone(struct np_job *job, int rc, const struct np_err *why, struct np_buf *doubts);

#endif /* NP_AGREE_H */
