/* SPDX-License-Identifier: Apache-2.0 */
#include "backend.h"

int np_backend_choose(struct np_job *job, struct np_buf *notes, struct np_err *err)
{
	struct np_plan *plan = &job->plan;

	(void)notes;
	if (plan->backend == NP_BACKEND_AUTO)
		plan->backend = NP_BACKEND_ACL;
	if (plan->backend != NP_BACKEND_ACL)
		return np_fail(err, NP_E_USAGE, "--backend %s is not there yet",
			       np_plan_backends[plan->backend]);
	return NP_OK;
}
