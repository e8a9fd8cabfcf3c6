/* SPDX-License-Identifier: Apache-2.0 */
/* Requests for windows: any launcher that speaks for a host takes them, launcher 0 decides. */
#include <inttypes.h>
#include <stdarg.h>
#include <unistd.h>

#include "control.h"
#include "npuprof/realtime.h"
#include "npuprof/text.h"
#include "session_state.h"

enum {
	PATIENCE_S = 10,        /* for the launchers and their ranks to answer */
	TORCH_PATIENCE_S = 700, /* torch_npu answers by doing it; steps may be long (torch.c) */
	ATTEMPTS = 6,
	MARGIN = 2,   /* steps, at least */
	AHEAD_S = 1,  /* a window begins so long after it was agreed */
	ATTACH_S = 3, /* msprof has to be attached first */
	RATE_S = 2,   /* steps that are longer need no more than the least margin */
	AGAIN_MS = 100,
	SIGNAL_DEAF_S = 2,
};

static np_ns in_a_while(const struct np_session *session)
{
	bool slow = session->job->plan.backend == NP_BACKEND_TORCH;

	return np_steady_ns() + (np_ns)(slow ? TORCH_PATIENCE_S : PATIENCE_S) * 1000000000;
}

/* --- requests that come to another launcher than the first ----------------- */

/*
 * Requests that come to another launcher than the first: "npuprof ctl" works on every host of a
 * job. The launcher there passes the request on, and the answer back.
 */

/* The launcher that was asked. */
static void relay_attend(struct np_session *session)
{
	struct np_control *control = &session->control;
	struct np_ctl_request request;
	struct np_event event = { .type = NP_EVENT_CTL, .rank = session->job->rank };

	if (control->guest >= 0 || control->door.listener < 0)
		return;
	control->guest = np_ctl_take(&control->door, &request);
	if (control->guest < 0)
		return;
	event.window = request.verb;
	event.value = request.steps;
	event.step = request.at;
	event.level = request.level;
	(void)snprintf(event.text, sizeof(event.text), "%s", request.ranks);
	np_buf_clear(&control->guest_text);
	np_session_send_first(session, &event);
}

static void take_answer(struct np_session *session, const struct np_event *event)
{
	struct np_control *control = &session->control;

	np_buf_add(&control->guest_text, event->text);
	if (event->value & NP_ANSWER_MORE)
		return;
	np_ctl_answer(control->guest, (event->value & NP_ANSWER_FAILED) != 0,
		      control->guest_text.text ? control->guest_text.text : "");
	control->guest = -1;
}

static void relay_answer(struct np_session *session, int to, bool failed, const char *text);

/* Launcher 0: it waits until the present request is done. */
static void keep_request(struct np_session *session, const struct np_event *event)
{
	struct np_control_relayed relayed = { .from = event->rank,
					      .request = { .version = NP_CTL_VERSION,
							   .verb = event->window,
							   .steps = event->value,
							   .at = event->step,
							   .level = event->level } };
	struct np_control_relayed *slot;
	struct np_err err = NP_ERR_INIT;

	(void)snprintf(relayed.request.ranks, sizeof(relayed.request.ranks), "%s", event->text);
	if (np_ctl_check(&relayed.request, &err) < 0) {
		relay_answer(session, event->rank, true, err.text);
		return;
	}
	slot = np_vec_add(&session->control.relayed, NULL);
	if (slot)
		*slot = relayed;
}

static void relay_hear(struct np_session *session, const struct np_event *event)
{
	if (event->type == NP_EVENT_CTL)
		keep_request(session, event);
	else
		take_answer(session, event);
}

static void relay_answer(struct np_session *session, int to, bool failed, const char *text)
{
	struct np_event event = { .type = NP_EVENT_ANSWER };

	for (;;) {
		size_t length = strlen(text);
		bool more = length >= sizeof(event.text);

		length = more ? sizeof(event.text) - 1 : length;
		memcpy(event.text, text, length);
		event.text[length] = '\0';
		event.value = (failed ? NP_ANSWER_FAILED : 0) | (more ? NP_ANSWER_MORE : 0);
		np_coord_send(session->job->coord, to, &event);
		text += length;
		if (!more)
			return;
	}
}

/* --- launcher 0: questions and answers ---------------------------------- */

/* Say how the present request ends, to who asked. */
static void answer(struct np_session *session, bool failed, const char *fmt, ...) NP_PRINTF(3, 4);

static void answer(struct np_session *session, bool failed, const char *fmt, ...)
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
		relay_answer(session, control->relay, failed, text);
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

/* Ask all launchers how far they are. */
static void ask_again(struct np_session *session)
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
	np_session_send_all(session, &(struct np_event){ .type = NP_EVENT_ASK,
							 .window = control->question,
							 .value = control->request.verb });
}

/* Begin what a request asks for; `client` waits for the answer, -1: nobody does. */
static void ask(struct np_session *session, const struct np_ctl_request *request, int client)
{
	struct np_control *control = &session->control;

	control->request = *request;
	control->client = client;
	control->attempt = 0;
	control->patient_until = np_steady_ns() + (np_ns)RATE_S * 1000000000;
	ask_again(session);
}

/* --- how much there is on disk, and when that is enough -------------------- */

static int64_t bytes_of_all(const struct np_session *session)
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

static void hear_bytes(struct np_session *session, const struct np_event *event)
{
	struct np_control *control = &session->control;
	const struct np_job *job = session->job;

	if (!control->bytes)
		return;
	control->bytes[event->rank] = event->value;
	say_rate(session, event);
	if (job->plan.max_size == 0 || bytes_of_all(session) <= job->plan.max_size * 1000000 ||
	    control->limited || control->state != NP_CONTROL_IDLE || !session->window)
		return;
	control->limited = true;
	control->for_size = true;
	ask(session, &(struct np_ctl_request){ .verb = NP_CTL_STOP, .level = -1 }, -1);
}

/* --- agreement ------------------------------------------------------------ */

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
	np_session_send_all(session, &event);
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

static void report_status(struct np_session *session)
{
	NP_CLEANUP(np_buf_release) struct np_buf text = NP_BUF_INIT;

	add_status(session, &text);
	np_text_bytes(&text, bytes_of_all(session));
	answer(session, false, "%s", text.text ? text.text : "");
}

static void stop_windows(struct np_session *session)
{
	struct np_control *control = &session->control;
	int64_t step = control->fastest < 0 ? -1 : future_step(session);

	np_session_send_all(session, &(struct np_event){ .type = NP_EVENT_HALT,
							 .step = step,
							 .value = control->for_size });
	if (control->for_size)
		answer(session, false,
		       "the raw data is larger than --max-size %" PRId64
		       " MB: the window ends before step %" PRId64,
		       session->job->plan.max_size, step);
	else if (!session->window)
		answer(session, false, "no window is open");
	else if (session->job->plan.backend == NP_BACKEND_TORCH)
		answer(session, true,
		       "torch_npu ends its windows by itself, after the steps that were "
		       "asked for: it cannot be told to stop");
	else if (step < 0)
		answer(session, false, "the window ends now");
	else
		answer(session, false, "the window ends before step %" PRId64, step);
}

static void all_known(struct np_session *session)
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
		report_status(session);
		break;
	}
}

/* Tell all launchers to forget the present window. */
static void cancel(struct np_session *session)
{
	np_session_send_all(session, &(struct np_event){ .type = NP_EVENT_CANCEL,
							 .window = session->control.windows + 1 });
}

static void started(struct np_session *session)
{
	struct np_control *control = &session->control;
	const struct np_ctl_request *request = &control->request;
	char dir[NP_RECORD_DIR];
	char steps[100];

	if (control->agreed == 0) {
		answer(session, true,
		       "no window: none of the ranks that were asked for uses an NPU now");
		return;
	}
	control->windows++;
	control->limited = false;
	control->rate_said = false;
	np_job_name_window(session->job, control->windows, dir, sizeof(dir));
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
	answer(session, false, "window %d: %s on %" PRId64 " rank%s, in '%s'%s",
	       (int)control->windows, steps, control->agreed, control->agreed == 1 ? "" : "s", dir,
	       control->attempt ? " (an earlier step had begun already)" : "");
}

/* torch_npu: those that have begun end by themselves; then it is asked anew which step it is. */
static void ask_later(struct np_session *session)
{
	struct np_control *control = &session->control;
	int64_t rate = control->fastest_rate > 0 ? control->fastest_rate : 1000;
	np_ns wait = 0;

	if (control->agreed > 0 && control->request.steps < 0) {
		answer(session, true,
		       "no window: %" PRId64 " ranks have begun, and others were too late",
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
		cancel(session);
		answer(session, true, "no window: %s", control->refusal);
	} else if (control->late && ++control->attempt < ATTEMPTS) {
		cancel(session);
		/* Some may have opened it before they heard: what they have is a window of its own.
		 */
		control->windows += control->agreed > 0 ? 1 : 0;
		if (session->job->plan.backend == NP_BACKEND_TORCH)
			ask_later(session);
		else
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
		all_known(session);
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

/* --- who asks -------------------------------------------------------------- */

static void hear_user(struct np_session *session)
{
	struct np_ctl_request request = { .verb = NP_CTL_START,
					  .steps = session->job->plan.window_steps,
					  .at = -1,
					  .level = -1 };

	/* All launchers get the signal and report it; those that come later are the same one. */
	if (session->control.state != NP_CONTROL_IDLE || session->window || session->stopping ||
	    np_steady_ns() < session->control.signal_deaf)
		return;
	session->control.signal_deaf = np_steady_ns() + (np_ns)SIGNAL_DEAF_S * 1000000000;
	session->control.for_size = false;
	ask(session, &request, -1);
}

/* torch_npu is asked for the window of the plan when all of its ranks have come. */
static void hear_ready(struct np_session *session)
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
	ask(session, &request, -1);
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
		client = np_ctl_take(&control->door, &request);
		if (client < 0)
			return;
	}
	control->for_size = false;
	why = refusal(session, &request);
	if (!why) {
		ask(session, &request, client);
		return;
	}
	control->request = request;
	control->client = client;
	answer(session, true, "%s", why);
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
	case NP_EVENT_READY:
		hear_ready(session);
		break;
	case NP_EVENT_CTL:
	case NP_EVENT_ANSWER:
		relay_hear(session, event);
		break;
	default:
		break;
	}
}

void np_control_attend(struct np_session *session)
{
	struct np_control *control = &session->control;

	if (control->state == NP_CONTROL_ASKING && control->ask_at &&
	    np_steady_ns() >= control->ask_at)
		ask_again(session);
	if (control->state != NP_CONTROL_IDLE && np_steady_ns() >= control->deadline) {
		cancel(session);
		answer(session, true, "no answer: %d of %d launchers or their ranks say nothing",
		       control->waiting, session->job->world);
	}
	if (session->job->rank != 0)
		relay_attend(session);
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
	return np_ctl_listen(&control->door, job->root, job->plan.job, host->name, job->rank, err);
}

void np_control_close(struct np_session *session)
{
	struct np_control *control = &session->control;

	if (control->client >= 0)
		np_ctl_answer(control->client, true, "the job has ended");
	if (control->guest >= 0)
		np_ctl_answer(control->guest, true, "the job has ended");
	if (control->door.listener >= 0)
		np_ctl_forget(session->job->root, session->job->rank);
	np_ctl_close(&control->door);
	np_vec_release(&control->relayed);
	np_buf_release(&control->guest_text);
	free(control->bytes);
	control->bytes = NULL;
}
