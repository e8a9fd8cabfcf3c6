/* SPDX-License-Identifier: Apache-2.0 */
/* Every launcher's part in windows on request: what launcher 0 wants, and what its ranks answer. */
#include "control.h"

#include "npuprof/realtime.h"

#include "collect/rank_list.h"
#include "session_state.h"

/* The latest step of the ranks of this launcher, -1 before the first. */
static int64_t latest_step(const struct np_job *job)
{
	int64_t latest = -1;

	for (size_t i = 0; i < job->records.count; i++) {
		int64_t step = job->records.item[i].last_seen_step;

		if (step != NP_UNKNOWN && step > latest)
			latest = step;
	}
	return latest;
}

static void report_step(struct np_session *session, const struct np_event *question)
{
	if (session->job->plan.backend == NP_BACKEND_TORCH) {
		np_torch_ask(&session->backend, question);
		return;
	}
	np_session_send_first(session, &(struct np_event){ .type = NP_EVENT_STEP,
							   .rank = session->job->rank,
							   .window = question->window,
							   .step = latest_step(session->job),
							   .value = session->control.rate });
}

static void report_accepted(struct np_session *session)
{
	struct np_control *control = &session->control;
	struct np_event event = { .type = NP_EVENT_ACCEPTED,
				  .rank = session->job->rank,
				  .window = control->wanted,
				  .value = control->accepted };

	control->wanted = 0;
	np_session_send_first(session, &event);
}

/* The window of the plan is in the directory of the job itself. */
static void start_window(struct np_session *session, const struct np_event *event)
{
	struct np_control *control = &session->control;
	const struct np_job *job = session->job;
	int32_t asked = ++control->asked;
	struct np_message start;

	np_message_init(&start, NP_MSG_START, job->rank);
	start.step = event->step;
	start.value = event->value;
	np_job_name_window(job, event->window, start.text, sizeof(start.text));
	if (event->level >= 0)
		(void)snprintf(start.text + strlen(start.text),
			       sizeof(start.text) - strlen(start.text), "\n%d",
			       (int)event->level + NP_PROF_LEVEL_0);
	if (job->plan.backend == NP_BACKEND_TORCH)
		np_torch_request(&session->backend, event);
	control->wanted = event->window;
	control->accepted = 0;
	/*
	 * Answers may come at once: one more than there are is awaited until all are asked. After a
	 * refusal nobody else is: it is cancelled by then, and the next may have been asked for.
	 */
	control->awaited = 1;
	for (size_t i = 0; i < job->records.count; i++) {
		const struct np_record *record = &job->records.item[i];

		if (!record->attached || !np_job_concerns(job, record->rank, event->text))
			continue;
		control->awaited++;
		if (!np_backend_send(&session->backend, record->rank, &start))
			control->awaited--;
		if (control->asked != asked || control->wanted != event->window)
			return;
	}
	if (--control->awaited == 0)
		report_accepted(session);
}

static void cancel_window(struct np_session *session, int32_t number)
{
	struct np_message cancel;

	session->control.wanted = 0;
	np_message_init(&cancel, NP_MSG_CANCEL, session->job->rank);
	np_job_name_window(session->job, number, cancel.text, sizeof(cancel.text));
	np_backend_send_all(&session->backend, &cancel);
}

static void halt(struct np_session *session, const struct np_event *event)
{
	struct np_job *job = session->job;
	struct np_message stop;

	/* What ends because of its size is no failure. */
	for (size_t i = 0; i < job->records.count && event->value; i++)
		job->records.item[i].limited |= np_record_is_open(&job->records.item[i]);
	np_message_init(&stop, NP_MSG_STOP, job->rank);
	stop.step = event->step;
	np_backend_send_all(&session->backend, &stop);
}

void np_control_hear(struct np_session *session, const struct np_event *event)
{
	switch ((enum np_event_type)event->type) {
	case NP_EVENT_ASK:
		report_step(session, event);
		break;
	case NP_EVENT_START:
		start_window(session, event);
		break;
	case NP_EVENT_CANCEL:
		cancel_window(session, event->window);
		break;
	case NP_EVENT_HALT:
		halt(session, event);
		break;
	default:
		np_control_decide(session, event);
		break;
	}
}

/* --- what the library in a rank says -------------------------------------- */

/* How fast steps follow each other: over a second or so, messages may be left out. */
static void take_rate(struct np_control *control, int64_t step)
{
	np_ns now = np_steady_ns();

	if (control->step_seen < 0 || step < control->step_seen) {
		control->step_seen = step;
		control->step_time = now;
	} else if (now - control->step_time >= 200000000 && step > control->step_seen) {
		control->rate = (int64_t)((double)(step - control->step_seen) * 1e12 /
					  (double)(now - control->step_time));
		control->step_seen = step;
		control->step_time = now;
	}
}

static void take_answer(struct np_session *session, const struct np_message *message)
{
	struct np_control *control = &session->control;
	struct np_event event = { .rank = session->job->rank,
				  .window = control->wanted,
				  .value = control->accepted,
				  .step = message->step };

	if (control->wanted == 0)
		return;
	if (message->type == NP_MSG_ACCEPTED) {
		control->accepted++;
		if (--control->awaited == 0)
			report_accepted(session);
		return;
	}
	/* One refusal is enough: the window is off. */
	event.type = message->type == NP_MSG_TOO_LATE ? NP_EVENT_TOO_LATE : NP_EVENT_REFUSED;
	(void)snprintf(event.text, sizeof(event.text), "rank %d: %.400s", (int)message->rank,
		       message->text);
	control->wanted = 0;
	np_session_send_first(session, &event);
}

static void report_bytes(struct np_session *session, int64_t of_a_step)
{
	const struct np_job *job = session->job;
	struct np_event event = { .type = NP_EVENT_BYTES, .rank = job->rank, .step = of_a_step };

	for (size_t i = 0; i < job->records.count; i++)
		event.value = np_plus(event.value, job->records.item[i].bytes == NP_UNKNOWN
							   ? 0
							   : job->records.item[i].bytes);
	np_session_send_first(session, &event);
}

void np_control_hear_application(struct np_session *session, const struct np_message *message)
{
	switch ((enum np_message_type)message->type) {
	case NP_MSG_STEP:
		take_rate(&session->control, message->step);
		break;
	case NP_MSG_ACCEPTED:
	case NP_MSG_TOO_LATE:
	case NP_MSG_REFUSED:
		take_answer(session, message);
		break;
	case NP_MSG_BYTES:
		report_bytes(session, message->step >= 1 ? message->value / message->step : 0);
		break;
	case NP_MSG_WINDOW_CLOSED:
		report_bytes(session, 0);
		break;
	default:
		break;
	}
}

void np_control_hear_signal(struct np_session *session)
{
	/* mpirun passes the signal on to all launchers, and all report it: the first is enough. */
	np_session_send_first(
		session, &(struct np_event){ .type = NP_EVENT_USER, .rank = session->job->rank });
}
