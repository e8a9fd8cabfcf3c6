/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdarg.h>
#include <unistd.h>

#include "control.h"
#include "npuprof/realtime.h"
#include "npuprof/text.h"
#include "session_private.h"

/* Launcher 0's part: requests, agreement, size. */

enum {
	PATIENCE_S = 10, /* for the launchers and their ranks to answer */
	TORCH_PATIENCE_S =
		700, /* torch_npu answers by doing it; steps may be long (torch_probe.c) */
	ATTEMPTS = 6,
	MARGIN = 2,   /* steps, at least */
	AHEAD_S = 1,  /* a window begins so long after it was agreed */
	ATTACH_S = 3, /* msprof has to be attached first */
	RATE_S = 2,   /* steps that are longer need no more than the least margin */
	AGAIN_MS = 100,
};

static np_ns in_a_while(const struct np_session *session)
{
	bool slow = session->job->plan.backend == NP_BACKEND_TORCH;

	return np_steady_ns() + (np_ns)(slow ? TORCH_PATIENCE_S : PATIENCE_S) * 1000000000;
}

void np_control_answer(struct np_session *session, bool failed, const char *fmt, ...)
{
	struct np_control *control = &session->control;
	char text[NP_CTL_TEXT];
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	if (control->request.verb != NP_CTL_STATUS) {
		if (failed)
			np_job_warn("%s", text);
		else
			np_job_say(session->job, "%s", text);
	}
	control->state = NP_CONTROL_IDLE;
	if (control->relay > 0)
		np_control_relay_answer(session, control->relay, failed, text);
	else
		np_ctl_answer(control->client, failed, text);
	control->client = -1;
	control->relay = 0;
}

static int present(const struct np_job *job)
{
	int count = 0;

	for (int rank = 0; rank < job->world; rank++)
		count += rank == 0 || !np_coord_lost(job->coord, rank) ? 1 : 0;
	return count;
}

/* --- agreement ------------------------------------------------------------ */

void np_control_ask_again(struct np_session *session)
{
	struct np_control *control = &session->control;

	control->state = NP_CONTROL_ASKING;
	control->ask_at = 0;
	control->deadline = in_a_while(session);
	control->waiting = present(session->job);
	control->slowest = INT64_MAX;
	control->fastest = -1;
	control->fastest_rate = -1;
	control->question++;
	np_session_tell_all(session, &(struct np_event){ .type = NP_EVENT_ASK,
							 .window = control->question,
							 .value = control->request.verb });
}

void np_control_ask(struct np_session *session, const struct np_ctl_request *request, int client)
{
	struct np_control *control = &session->control;

	control->request = *request;
	control->client = client;
	control->attempt = 0;
	control->patient_until = np_steady_ns() + (np_ns)RATE_S * 1000000000;
	np_control_ask_again(session);
}

/* How far ahead, in steps: it has to reach everybody; twice as far with every attempt. */
static int64_t margin_of(const struct np_session *session)
{
	const struct np_control *control = &session->control;
	/* A step that was named has been an attempt without a margin. */
	int attempt = control->attempt - (control->request.at >= 0 && control->attempt > 0 ? 1 : 0);
	int seconds = AHEAD_S;
	int64_t ahead;

	if (session->job->plan.backend == NP_BACKEND_TORCH)
		seconds = NP_TORCH_AHEAD_S;
	else if (session->job->plan.backend == NP_BACKEND_MSPROF)
		seconds = ATTACH_S;
	ahead = control->fastest_rate > 0 ? (control->fastest_rate * seconds + 999) / 1000 : 0;
	/* Who stops for want of space is in a hurry. */
	if (control->for_size)
		ahead = (ahead + 4) / 5;
	return (ahead > MARGIN ? ahead : MARGIN) << attempt;
}

/* A step that no rank has begun. */
static int64_t future_step(const struct np_session *session)
{
	return session->control.fastest + margin_of(session);
}

/* When that step will come, as far as the pace of the job is known. */
static int64_t wait_ms(const struct np_session *session)
{
	const struct np_control *control = &session->control;
	int64_t steps = control->step - control->fastest;

	if (control->step < 0 || control->fastest_rate <= 0 || steps < 0)
		return (int64_t)NP_TORCH_AHEAD_S * 1000;
	return (int64_t)((double)steps * 1e6 / (double)control->fastest_rate);
}

static void start_window(struct np_session *session)
{
	struct np_control *control = &session->control;
	struct np_event event = { .type = NP_EVENT_START,
				  .window = control->windows + 1,
				  .value = control->request.steps,
				  .level = control->request.level };

	/* A step that the user names is tried as it is, once. */
	if (control->request.at >= 0 && control->attempt == 0)
		control->step = control->request.at;
	else if (session->job->plan.backend == NP_BACKEND_TORCH && control->fastest < 0)
		control->step = -1; /* it does not say: from now on, wherever each rank is */
	else
		control->step = future_step(session);
	event.step = control->step;
	event.wait_ms = wait_ms(session);
	(void)snprintf(event.text, sizeof(event.text), "%s", control->request.ranks);
	control->state = NP_CONTROL_STARTING;
	control->deadline = in_a_while(session);
	control->waiting = present(session->job);
	control->agreed = 0;
	control->late = false;
	control->refusal[0] = '\0';
	np_session_tell_all(session, &event);
}

static void add_status(const struct np_session *session, struct np_buf *text)
{
	const struct np_control *control = &session->control;
	const struct np_job *job = session->job;

	np_buf_printf(text, "job %s: %d launcher%s", job->plan.job, present(job),
		      present(job) == 1 ? "" : "s");
	if (control->fastest < 0)
		np_buf_add(text, ", no step yet\n");
	else if (control->slowest == control->fastest)
		np_buf_printf(text, ", step %" PRId64 "\n", control->fastest);
	else
		np_buf_printf(text, ", steps %" PRId64 " to %" PRId64 "\n", control->slowest,
			      control->fastest);
	np_buf_printf(text, "windows so far: %d%s\n", (int)control->windows,
		      session->window ? ", one is open" : "");
	np_buf_add(text, "collected: ");
}

static void tell_status(struct np_session *session)
{
	NP_CLEANUP(np_buf_release) struct np_buf text = NP_BUF_INIT;

	add_status(session, &text);
	np_text_bytes(&text, np_control_bytes(session));
	np_control_answer(session, false, "%s", text.text ? text.text : "");
}

static void stop_windows(struct np_session *session)
{
	struct np_control *control = &session->control;
	int64_t step = control->fastest < 0 ? -1 : future_step(session);

	np_session_tell_all(session, &(struct np_event){ .type = NP_EVENT_HALT,
							 .step = step,
							 .value = control->for_size });
	if (control->for_size)
		np_control_answer(session, false,
				  "the raw data is larger than --max-size %" PRId64
				  " MB: the window ends before step %" PRId64,
				  session->job->plan.max_size, step);
	else if (!session->window)
		np_control_answer(session, false, "no window is open");
	else if (session->job->plan.backend == NP_BACKEND_TORCH)
		np_control_answer(session, true,
				  "torch_npu ends its windows by itself, after the steps that were "
				  "asked for: it cannot be told to stop");
	else if (step < 0)
		np_control_answer(session, false, "the window ends now");
	else
		np_control_answer(session, false, "the window ends before step %" PRId64, step);
}

static void all_told(struct np_session *session)
{
	switch ((enum np_ctl_verb)session->control.request.verb) {
	case NP_CTL_START:
		/* How fast a job is that has just begun is known in a moment. */
		if (session->control.fastest >= 0 && session->control.fastest_rate < 0 &&
		    np_steady_ns() < session->control.patient_until)
			session->control.ask_at = np_steady_ns() + (np_ns)AGAIN_MS * 1000000;
		else
			start_window(session);
		break;
	case NP_CTL_STOP:
		stop_windows(session);
		break;
	default:
		tell_status(session);
		break;
	}
}

void np_control_cancel(struct np_session *session)
{
	np_session_tell_all(session, &(struct np_event){ .type = NP_EVENT_CANCEL,
							 .window = session->control.windows + 1 });
}

static void started(struct np_session *session)
{
	struct np_control *control = &session->control;
	const struct np_ctl_request *request = &control->request;
	char dir[NP_RECORD_DIR];
	char steps[100];

	if (control->agreed == 0) {
		np_control_answer(
			session, true,
			"no window: none of the ranks that were asked for uses an NPU now");
		return;
	}
	control->windows++;
	control->limited = false;
	control->rate_said = false;
	np_control_name_window(session->job, control->windows, dir, sizeof(dir));
	if (control->step < 0)
		(void)snprintf(steps, sizeof(steps),
			       "from the next step on, which torch_npu does not tell,");
	else if (control->fastest < 0 && session->job->plan.backend == NP_BACKEND_MSPROF)
		(void)snprintf(steps, sizeof(steps), "from now on until it is stopped,");
	else if (request->steps < 0)
		(void)snprintf(steps, sizeof(steps), "from step %" PRId64 " %s,", control->step,
			       session->job->plan.backend == NP_BACKEND_TORCH
				       ? "to the end"
				       : "until it is stopped");
	else
		(void)snprintf(steps, sizeof(steps), "steps %" PRId64 " to %" PRId64, control->step,
			       control->step + request->steps - 1);
	np_control_answer(session, false, "window %d: %s on %" PRId64 " rank%s, in '%s'%s",
			  (int)control->windows, steps, control->agreed,
			  control->agreed == 1 ? "" : "s", dir,
			  control->attempt ? " (an earlier step had begun already)" : "");
}

/* torch_npu: those that have begun end by themselves; then it is asked anew which step it is. */
static void ask_later(struct np_session *session)
{
	struct np_control *control = &session->control;
	int64_t rate = control->fastest_rate > 0 ? control->fastest_rate : 1000;
	np_ns wait = 0;

	if (control->agreed > 0 && control->request.steps < 0) {
		np_control_answer(session, true,
				  "no window: %" PRId64
				  " ranks have begun, and others were too late",
				  control->agreed);
		return;
	}
	if (control->agreed > 0)
		wait = (np_ns)((double)control->request.steps * 1e12 / (double)rate) + 2000000000;
	control->state = NP_CONTROL_ASKING;
	control->ask_at = np_steady_ns() + wait;
	control->deadline = in_a_while(session) + wait;
}

static void all_answered(struct np_session *session)
{
	struct np_control *control = &session->control;

	if (control->refusal[0]) {
		np_control_cancel(session);
		np_control_answer(session, true, "no window: %s", control->refusal);
	} else if (control->late && ++control->attempt < ATTEMPTS) {
		np_control_cancel(session);
		/* Some may have opened it before they heard: what they have is a window of its own.
		 */
		control->windows += control->agreed > 0 ? 1 : 0;
		if (session->job->plan.backend == NP_BACKEND_TORCH)
			ask_later(session);
		else
			start_window(session);
	} else if (control->late) {
		np_control_cancel(session);
		np_control_answer(
			session, true,
			"no window: the steps are too short to agree on one (%d attempts)",
			ATTEMPTS);
	} else {
		started(session);
	}
}

static void hear_step(struct np_session *session, const struct np_event *event)
{
	struct np_control *control = &session->control;

	if (control->state != NP_CONTROL_ASKING || event->window != control->question)
		return;
	if (event->step > control->fastest)
		control->fastest = event->step;
	if (event->step < control->slowest)
		control->slowest = event->step;
	if (event->value > control->fastest_rate)
		control->fastest_rate = event->value;
	if (--control->waiting == 0)
		all_told(session);
}

static void hear_answer(struct np_session *session, const struct np_event *event)
{
	struct np_control *control = &session->control;

	if (control->state != NP_CONTROL_STARTING || event->window != control->windows + 1)
		return;
	if (event->type == NP_EVENT_ACCEPTED) {
		control->agreed += event->value;
	} else if (event->type == NP_EVENT_TOO_LATE) {
		control->late = true;
		control->agreed += event->value;
		if (event->step > control->fastest)
			control->fastest = event->step;
	} else {
		(void)snprintf(control->refusal, sizeof(control->refusal), "%.*s",
			       (int)sizeof(control->refusal) - 1, event->text);
	}
	if (--control->waiting == 0)
		all_answered(session);
}

void np_control_decide(struct np_session *session, const struct np_event *event)
{
	switch ((enum np_event_type)event->type) {
	case NP_EVENT_STEP:
		hear_step(session, event);
		break;
	case NP_EVENT_ACCEPTED:
	case NP_EVENT_TOO_LATE:
	case NP_EVENT_REFUSED:
		hear_answer(session, event);
		break;
	case NP_EVENT_BYTES:
		np_control_hear_bytes(session, event);
		break;
	case NP_EVENT_USER:
		np_control_hear_user(session);
		break;
	case NP_EVENT_READY:
		np_control_hear_ready(session);
		break;
	case NP_EVENT_CTL:
	case NP_EVENT_ANSWER:
		np_control_relay_hear(session, event);
		break;
	default:
		break;
	}
}
