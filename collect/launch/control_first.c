/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdarg.h>
#include <unistd.h>

#include "control.h"
#include "npuprof/text.h"
#include "session_private.h"

/* Launcher 0's part: requests, agreement, size. */

enum {
	PATIENCE_S = 10, /* for the launchers and their ranks to answer */
	ATTEMPTS = 6,
	MARGIN = 2, /* steps, at least */
	SIGNAL_DEAF_S = 2,
	RATE_S = 2, /* steps that are longer need no more than the least margin */
	AGAIN_MS = 100,
};

static np_ns in_a_while(void)
{
	return np_session_steady() + (np_ns)PATIENCE_S * 1000000000;
}

static void answer(struct np_session *session, bool failed, const char *fmt, ...) NP_PRINTF(3, 4);

static void answer(struct np_session *session, bool failed, const char *fmt, ...)
{
	struct np_control *control = &session->control;
	char text[NP_CTL_TEXT];
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	if (control->client < 0 || control->request.verb != NP_CTL_STATUS) {
		if (failed)
			np_job_warn("%s", text);
		else
			np_job_say(session->job, "%s", text);
	}
	np_ctl_answer(control->client, failed, text);
	control->client = -1;
	control->state = NP_CONTROL_IDLE;
}

static int present(const struct np_job *job)
{
	int count = 0;

	for (int rank = 0; rank < job->world; rank++)
		count += rank == 0 || !np_coord_lost(job->coord, rank) ? 1 : 0;
	return count;
}

/* --- agreement ------------------------------------------------------------ */

static void ask_again(struct np_session *session)
{
	struct np_control *control = &session->control;

	control->state = NP_CONTROL_ASKING;
	control->ask_at = 0;
	control->deadline = in_a_while();
	control->waiting = present(session->job);
	control->slowest = INT64_MAX;
	control->fastest = -1;
	control->fastest_rate = -1;
	control->question++;
	np_session_tell_all(
		session, &(struct np_event){ .type = NP_EVENT_ASK, .window = control->question });
}

static void ask(struct np_session *session, const struct np_ctl_request *request, int client)
{
	struct np_control *control = &session->control;

	control->request = *request;
	control->client = client;
	control->attempt = 0;
	control->patient_until = np_session_steady() + (np_ns)RATE_S * 1000000000;
	ask_again(session);
}

/* A step that no rank has begun: a second ahead, twice as far with every attempt. */
static int64_t future_step(const struct np_control *control)
{
	int64_t second = control->fastest_rate > 0 ? (control->fastest_rate + 999) / 1000 : 0;
	/* Who stops for want of space is in a hurry. */
	int64_t ahead = control->for_size ? (second + 4) / 5 : second;
	int64_t margin = ahead > MARGIN ? ahead : MARGIN;

	return control->fastest + (margin << control->attempt);
}

static void start_window(struct np_session *session)
{
	struct np_control *control = &session->control;
	struct np_event event = { .type = NP_EVENT_START,
				  .window = control->windows + 1,
				  .value = control->request.steps,
				  .level = control->request.level };

	/* A step that the user names is tried as it is, once. */
	control->step = control->request.at >= 0 && control->attempt == 0 ? control->request.at
									  : future_step(control);
	event.step = control->step;
	(void)snprintf(event.text, sizeof(event.text), "%s", control->request.ranks);
	control->state = NP_CONTROL_STARTING;
	control->deadline = in_a_while();
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
	const struct np_control *control = &session->control;
	int64_t total = 0;

	for (int i = 0; control->bytes && i < session->job->world; i++)
		total = np_plus(total, control->bytes[i]);
	add_status(session, &text);
	np_text_bytes(&text, total);
	answer(session, false, "%s", text.text ? text.text : "");
}

static void stop_windows(struct np_session *session)
{
	struct np_control *control = &session->control;
	int64_t step = control->fastest < 0 ? -1 : future_step(control);

	np_session_tell_all(session, &(struct np_event){ .type = NP_EVENT_HALT,
							 .step = step,
							 .value = control->for_size });
	if (control->for_size)
		answer(session, false,
		       "the raw data is larger than --max-size %" PRId64
		       " MB: the window ends before step %" PRId64,
		       session->job->plan.max_size, step);
	else if (!session->window)
		answer(session, false, "no window is open");
	else
		answer(session, false, "the window ends before step %" PRId64, step);
}

static void all_told(struct np_session *session)
{
	switch ((enum np_ctl_verb)session->control.request.verb) {
	case NP_CTL_START:
		/* How fast a job is that has just begun is known in a moment. */
		if (session->control.fastest >= 0 && session->control.fastest_rate < 0 &&
		    np_session_steady() < session->control.patient_until)
			session->control.ask_at = np_session_steady() + (np_ns)AGAIN_MS * 1000000;
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

static void cancel(struct np_session *session)
{
	np_session_tell_all(session, &(struct np_event){ .type = NP_EVENT_CANCEL,
							 .window = session->control.windows + 1 });
}

static void started(struct np_session *session)
{
	struct np_control *control = &session->control;
	const struct np_ctl_request *request = &control->request;

	if (control->agreed == 0) {
		answer(session, true,
		       "no window: none of the ranks that were asked for uses an NPU now");
		return;
	}
	control->windows++;
	control->limited = false;
	control->rate_said = false;
	if (request->steps < 0)
		answer(session, false,
		       "window %d: from step %" PRId64 " until it is stopped, on %" PRId64
		       " ranks, in '%s/window-%d'%s",
		       (int)control->windows, control->step, control->agreed, session->job->root,
		       (int)control->windows,
		       control->attempt ? " (an earlier step had begun already)" : "");
	else
		answer(session, false,
		       "window %d: steps %" PRId64 " to %" PRId64 " on %" PRId64
		       " ranks, in '%s/window-%d'%s",
		       (int)control->windows, control->step, control->step + request->steps - 1,
		       control->agreed, session->job->root, (int)control->windows,
		       control->attempt ? " (an earlier step had begun already)" : "");
}

static void all_answered(struct np_session *session)
{
	struct np_control *control = &session->control;

	if (control->refusal[0]) {
		cancel(session);
		answer(session, true, "no window: %s", control->refusal);
	} else if (control->late && ++control->attempt < ATTEMPTS) {
		cancel(session);
		/* Some may have opened it before they heard: what they have is a window of its own.
		 */
		control->windows += control->agreed > 0 ? 1 : 0;
		start_window(session);
	} else if (control->late) {
		cancel(session);
		answer(session, true,
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

/* --- size ----------------------------------------------------------------- */

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

static void hear_bytes(struct np_session *session, const struct np_event *event)
{
	struct np_control *control = &session->control;
	const struct np_job *job = session->job;
	int64_t total = 0;

	if (!control->bytes)
		return;
	control->bytes[event->rank] = event->value;
	say_rate(session, event);
	for (int i = 0; i < job->world; i++)
		total = np_plus(total, control->bytes[i]);
	if (job->plan.max_size == 0 || total <= job->plan.max_size * 1000000 || control->limited ||
	    control->state != NP_CONTROL_IDLE || !session->window)
		return;
	control->limited = true;
	control->for_size = true;
	ask(session, &(struct np_ctl_request){ .verb = NP_CTL_STOP, .level = -1 }, -1);
}

/* --- requests ------------------------------------------------------------- */

static void hear_user(struct np_session *session)
{
	struct np_ctl_request request = { .verb = NP_CTL_START,
					  .steps = session->job->plan.window_steps,
					  .at = -1,
					  .level = -1 };

	/* All launchers get the signal and tell of it; those that come later are the same one. */
	if (session->control.state != NP_CONTROL_IDLE || session->window || session->stopping ||
	    np_session_steady() < session->control.signal_deaf)
		return;
	session->control.signal_deaf = np_session_steady() + (np_ns)SIGNAL_DEAF_S * 1000000000;
	session->control.for_size = false;
	ask(session, &request, -1);
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
		hear_bytes(session, event);
		break;
	case NP_EVENT_USER:
		hear_user(session);
		break;
	default:
		break;
	}
}

void np_control_attend(struct np_session *session)
{
	struct np_control *control = &session->control;
	struct np_ctl_request request;
	int client;

	if (control->state == NP_CONTROL_ASKING && control->ask_at &&
	    np_session_steady() >= control->ask_at)
		ask_again(session);
	if (control->state != NP_CONTROL_IDLE && np_session_steady() >= control->deadline) {
		cancel(session);
		answer(session, true, "no answer: %d of %d launchers or their ranks say nothing",
		       control->waiting, session->job->world);
	}
	if (control->listener < 0 || control->state != NP_CONTROL_IDLE)
		return;
	client = np_ctl_take(control->listener, &request);
	if (client < 0)
		return;
	control->for_size = false;
	if (session->stopping || session->left)
		np_ctl_answer(client, true, "the job is ending");
	else
		ask(session, &request, client);
}

int np_control_open(struct np_session *session, struct np_err *err)
{
	struct np_control *control = &session->control;
	const struct np_job *job = session->job;

	control->windows = job->plan.dynamic ? 0 : 1;
	if (job->rank != 0)
		return NP_OK;
	control->bytes = calloc((size_t)job->world, sizeof(*control->bytes));
	if (!control->bytes)
		return np_fail_nomem(err, "the launchers");
	control->listener = np_ctl_listen(job->root, job->plan.job,
					  job->layout.hosts[job->layout.ranks[0].host].name, err);
	return control->listener < 0 ? NP_E_IO : NP_OK;
}

void np_control_close(struct np_session *session)
{
	struct np_control *control = &session->control;

	if (control->client >= 0)
		np_ctl_answer(control->client, true, "the job has ended");
	if (control->listener >= 0) {
		(void)close(control->listener);
		np_ctl_forget(session->job->root);
	}
	free(control->bytes);
	control->bytes = NULL;
}
