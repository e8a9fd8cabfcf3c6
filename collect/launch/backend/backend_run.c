/* SPDX-License-Identifier: Apache-2.0 */
#include "backend.h"
#include "collect/launch/session/session_private.h"
#include "processes.h"

static bool is_attaching(const struct np_plan *plan)
{
	return plan->backend == NP_BACKEND_MSPROF && plan->dynamic;
}

bool np_backend_has_library(const struct np_job *job)
{
	return job->plan.backend == NP_BACKEND_ACL || (is_attaching(&job->plan) && !job->pids);
}

int np_backend_begin(struct np_session *session, struct np_env *env, struct np_err *err)
{
	const struct np_job *job = session->job;

	if (job->plan.backend == NP_BACKEND_TORCH)
		return np_torch_begin(session, env, err);
	if (job->pids)
		np_processes_announce(session, job->pids);
	else if (is_attaching(&job->plan))
		return np_env_set(env, "PROFILING_MODE", "dynamic", err);
	return NP_OK;
}

void np_backend_attend(struct np_session *session)
{
	const struct np_plan *plan = &session->job->plan;

	if (!plan->enable)
		return;
	if (plan->backend == NP_BACKEND_TORCH)
		np_torch_attend(session);
	else if (is_attaching(plan))
		np_attach_attend(session);
}

bool np_backend_tell(struct np_session *session, int32_t rank, const struct np_message *message)
{
	if (session->job->plan.backend == NP_BACKEND_TORCH)
		return np_torch_tell(session, rank, message);
	if (is_attaching(&session->job->plan))
		return np_attach_tell(session, rank, message);
	return np_channel_tell_rank(&session->channel, rank, message);
}

void np_backend_tell_all(struct np_session *session, const struct np_message *message)
{
	const struct np_job *job = session->job;

	if (job->plan.backend == NP_BACKEND_ACL) {
		np_channel_tell(&session->channel, message);
		return;
	}
	for (size_t i = 0; i < job->records.count; i++)
		(void)np_backend_tell(session, job->records.item[i].rank, message);
	if (job->plan.backend == NP_BACKEND_TORCH)
		np_torch_forget_request(session);
}

void np_backend_end(struct np_session *session)
{
	const struct np_plan *plan = &session->job->plan;

	if (plan->enable && plan->backend == NP_BACKEND_TORCH)
		np_torch_end(session);
	else if (plan->enable && is_attaching(plan))
		np_attach_end(session);
}

void np_backend_clean(struct np_session *session)
{
	const struct np_plan *plan = &session->job->plan;

	if (plan->enable && plan->backend == NP_BACKEND_TORCH && session->torch.is_writer)
		np_torch_memory_clean(session->torch.started);
}
