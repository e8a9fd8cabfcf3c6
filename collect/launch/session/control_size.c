/* SPDX-License-Identifier: Apache-2.0 */
#include "control.h"
#include "npuprof/text.h"
#include "session_private.h"

/* Launcher 0: how much there is on disk, and when that is enough. */

int64_t np_control_bytes(const struct np_session *session)
{
	int64_t total = 0;

	for (int i = 0; session->control.bytes && i < session->job->world; i++)
		total = np_plus(total, session->control.bytes[i]);
	return total;
}

/* The first words about size: what a step really takes, instead of the guess. */
static void say_rate(struct np_session *session, const struct np_event *event)
{
	NP_CLEANUP(np_buf_release) struct np_buf text = NP_BUF_INIT;
	struct np_control *control = &session->control;
	const struct np_job *job = session->job;
	int64_t steps = job->plan.step_end - job->plan.step_start;

	if (control->rate_said || event->step < 1)
		return;
	control->rate_said = true;
	np_text_bytes(&text, event->step);
	np_buf_add(&text, " of raw data so far");
	if (job->chosen && job->plan.step_end >= 0 && !job->plan.dynamic && control->windows == 1) {
		np_buf_add(&text, "; the window will take at least ");
		np_text_bytes(&text, event->step * steps * np_job_chosen(job));
	}
	np_job_say(job, "a step of rank %d takes %s", event->rank, text.text ? text.text : "?");
}

void np_control_hear_bytes(struct np_session *session, const struct np_event *event)
{
	struct np_control *control = &session->control;
	const struct np_job *job = session->job;

	if (!control->bytes)
		return;
	control->bytes[event->rank] = event->value;
	say_rate(session, event);
	if (job->plan.max_size == 0 || np_control_bytes(session) <= job->plan.max_size * 1000000 ||
	    control->limited || control->state != NP_CONTROL_IDLE || !session->window)
		return;
	control->limited = true;
	control->for_size = true;
	np_control_ask(session, &(struct np_ctl_request){ .verb = NP_CTL_STOP, .level = -1 }, -1);
}
