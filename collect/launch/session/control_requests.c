/* SPDX-License-Identifier: Apache-2.0 */
#include <unistd.h>

#include "control.h"
#include "session_private.h"

#include "npuprof/realtime.h"

/* Launcher 0: who asks. Other launchers that speak for a host only pass it on (control_relay.c). */

enum {
	SIGNAL_DEAF_S = 2,
};

void np_control_hear_user(struct np_session *session)
{
	struct np_ctl_request request = { .verb = NP_CTL_START,
					  .steps = session->job->plan.window_steps,
					  .at = -1,
					  .level = -1 };

	/* All launchers get the signal and tell of it; those that come later are the same one. */
	if (session->control.state != NP_CONTROL_IDLE || session->window || session->stopping ||
	    np_steady_ns() < session->control.signal_deaf)
		return;
	session->control.signal_deaf = np_steady_ns() + (np_ns)SIGNAL_DEAF_S * 1000000000;
	session->control.for_size = false;
	np_control_ask(session, &request, -1);
}

/* torch_npu is asked for the window of the plan when all of its ranks have come. */
void np_control_hear_ready(struct np_session *session)
{
	const struct np_plan *plan = &session->job->plan;
	const struct np_ctl_request request = {
		.verb = NP_CTL_START,
		.steps = plan->step_end < 0 ? -1 : plan->step_end - plan->step_start,
		.at = plan->step_start > 0 ? plan->step_start : -1,
		.level = -1,
	};

	if (++session->control.ready < session->job->world || plan->dynamic || session->stopping)
		return;
	np_control_ask(session, &request, -1);
}

/* Why this job cannot do what is asked; NULL: it can. */
static const char *refusal(const struct np_session *session, const struct np_ctl_request *request)
{
	const struct np_plan *plan = &session->job->plan;

	if (session->stopping || session->left)
		return "the job is ending";
	if (plan->backend == NP_BACKEND_MSPROF && !plan->dynamic && request->verb != NP_CTL_STATUS)
		return "msprof records this job from start to end: windows on request need --dynamic";
	return NULL;
}

/* The next request: of somebody here, or of somebody who asked another launcher. */
static void take_request(struct np_session *session)
{
	struct np_control *control = &session->control;
	struct np_ctl_request request;
	const char *why;
	int client = -1;

	if (control->relayed.count) {
		request = control->relayed.item[0].request;
		control->relay = control->relayed.item[0].from;
		control->relayed.count--;
		memmove(control->relayed.item, control->relayed.item + 1,
			control->relayed.count * sizeof(*control->relayed.item));
	} else {
		client = np_ctl_take(control->listener, &request);
		if (client < 0)
			return;
	}
	control->for_size = false;
	why = refusal(session, &request);
	if (!why) {
		np_control_ask(session, &request, client);
		return;
	}
	control->request = request;
	control->client = client;
	np_control_answer(session, true, "%s", why);
}

void np_control_attend(struct np_session *session)
{
	struct np_control *control = &session->control;

	if (control->state == NP_CONTROL_ASKING && control->ask_at &&
	    np_steady_ns() >= control->ask_at)
		np_control_ask_again(session);
	if (control->state != NP_CONTROL_IDLE && np_steady_ns() >= control->deadline) {
		np_control_cancel(session);
		np_control_answer(session, true,
				  "no answer: %d of %d launchers or their ranks say nothing",
				  control->waiting, session->job->world);
	}
	if (session->job->rank != 0)
		np_control_relay_attend(session);
	else if (control->state == NP_CONTROL_IDLE)
		take_request(session);
}

int np_control_open(struct np_session *session, struct np_err *err)
{
	struct np_control *control = &session->control;
	const struct np_job *job = session->job;
	const struct np_job_layout_host *host =
		&job->layout.hosts[job->layout.ranks[job->rank].host];
	bool later = job->plan.dynamic || job->plan.backend == NP_BACKEND_TORCH;

	control->windows = later ? 0 : 1;
	if (job->rank != host->leader)
		return NP_OK;
	if (job->rank == 0)
		control->bytes = calloc((size_t)job->world, sizeof(*control->bytes));
	if (job->rank == 0 && !control->bytes)
		return np_fail_nomem(err, "the launchers");
	control->listener = np_ctl_listen(job->root, job->plan.job, host->name, job->rank, err);
	return control->listener < 0 ? NP_E_IO : NP_OK;
}

void np_control_close(struct np_session *session)
{
	struct np_control *control = &session->control;

	if (control->client >= 0)
		np_ctl_answer(control->client, true, "the job has ended");
	if (control->guest >= 0)
		np_ctl_answer(control->guest, true, "the job has ended");
	if (control->listener >= 0) {
		(void)close(control->listener);
		np_ctl_forget(session->job->root, session->job->rank);
	}
	np_vec_release(&control->relayed);
	np_buf_release(&control->guest_text);
	free(control->bytes);
	control->bytes = NULL;
}
