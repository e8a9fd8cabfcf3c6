/* SPDX-License-Identifier: Apache-2.0 */
#include "session.h"

#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "channel.h"
#include "session_start.h"

enum {
	TICK_MS = 20,
	SHORT_TICK_MS = 2, /* while the job ends: mpirun may be about to kill */
	MOST_FDS = 64,
	/* An application that has ended says its last words within this time. */
	LAST_WORDS_MS = 50,
};

enum phase {
	RUNNING,
	SAVING,
	ENDING,
	KILLED,
};

struct session {
	struct np_job *job;
	struct np_child child;
	struct np_channel channel;
	int signals;
	enum phase phase;
	np_ns deadline; /* of the phase */
	bool left;      /* this rank's application is gone */
	bool told;      /* rank 0 knows of this rank's failure */
	bool saved;     /* rank 0 knows that there is nothing to save on this rank */
	int saved_all;  /* rank 0: ranks that have said so */
	bool stopping;  /* rank 0: all were told to stop */
	bool clock_due; /* rank 0: measure the clocks when there is time */
	bool window;    /* rank 0: the clocks were measured for a window that opened */
	struct np_session_result result;
};

static np_ns steady(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (np_ns)now.tv_sec * 1000000000 + now.tv_nsec;
}

static np_ns after_grace(const struct session *session)
{
	return steady() + session->job->plan.grace * 1000000000;
}

/* --- stopping ------------------------------------------------------------- */

static void begin_ending(struct session *session)
{
	session->phase = ENDING;
	session->deadline = after_grace(session);
	np_child_signal(&session->child, SIGTERM);
	np_child_signal(&session->child, SIGCONT);
}

/* Rank 0: when the last has saved, all may end. */
static void count_saved(struct session *session)
{
	const struct np_job *job = session->job;
	struct np_event end = { .type = NP_EVENT_END };

	if (++session->saved_all < job->world || !session->stopping)
		return;
	for (int other = 1; other < job->world; other++)
		np_coord_send(job->coord, other, &end);
	if (session->phase == SAVING)
		begin_ending(session);
}

static void report_saved(struct session *session)
{
	const struct np_job *job = session->job;
	struct np_event saved = { .type = NP_EVENT_SAVED, .rank = job->rank };

	if (session->saved)
		return;
	session->saved = true;
	if (job->rank == 0)
		count_saved(session);
	else
		np_coord_send(job->coord, 0, &saved);
}

/*
 * Close the profile first: an application that waits for a dead rank will not do it.
 * And wait for the others: the device of a rank whose peer has ended never becomes idle.
 */
static void begin_saving(struct session *session)
{
	struct np_message stop;

	if (session->phase != RUNNING || session->child.ended)
		return;
	session->phase = SAVING;
	session->deadline = after_grace(session);
	np_message_init(&stop, NP_MSG_STOP, session->job->rank);
	stop.step = -1;
	np_channel_tell(&session->channel, &stop);
}

static void watch_phase(struct session *session)
{
	const struct np_record *record = &session->job->record;
	bool late = steady() >= session->deadline;

	if (session->child.ended)
		return;
	if (session->phase == SAVING && (!record->opened || record->closed))
		report_saved(session);
	if (session->phase == SAVING && late) {
		begin_ending(session);
	} else if (session->phase == ENDING && late) {
		session->phase = KILLED;
		np_child_signal(&session->child, SIGKILL);
	}
}

/* Rank 0: the first who fails decides for all. */
static void stop_all(struct session *session, int rank, int status, int number)
{
	struct np_job *job = session->job;
	struct np_event stop = { .type = NP_EVENT_STOP, .rank = rank, .value = number ? -number : status };

	if (session->stopping)
		return;
	session->stopping = true;
	session->result = (struct np_session_result){ status, number ? -1 : rank, number };
	if (number)
		np_job_warn("ending the job: %s",
			    strsignal(number)); /* NOLINT(concurrency-mt-unsafe) */
	else
		np_job_warn("the application of rank %d ended with status %d; ending the others",
			    rank, status);
	for (int other = 1; other < job->world; other++)
		np_coord_send(job->coord, other, &stop);
	begin_saving(session);
}

static void report_failure(struct session *session, int status, int number)
{
	const struct np_job *job = session->job;
	struct np_event event = { .type = number ? NP_EVENT_SIGNAL : NP_EVENT_FAILED,
				  .rank = job->rank,
				  .value = number ? number : status };

	if (session->told)
		return;
	session->told = true;
	if (job->rank == 0)
		stop_all(session, 0, number ? 128 + number : status, number);
	else
		np_coord_send(job->coord, 0, &event);
	/* Whoever is told to end need not wait for rank 0, who may be gone. */
	if (number)
		begin_saving(session);
}

/* --- what happens --------------------------------------------------------- */

static void hear_event(struct session *session, const struct np_event *event)
{
	switch ((enum np_event_type)event->type) {
	case NP_EVENT_FAILED:
		stop_all(session, event->rank, (int)event->value, 0);
		break;
	case NP_EVENT_SIGNAL:
		stop_all(session, event->rank, 128 + (int)event->value, (int)event->value);
		break;
	case NP_EVENT_STOP:
		session->told = true;
		begin_saving(session);
		break;
	case NP_EVENT_SAVED:
		count_saved(session);
		break;
	case NP_EVENT_END:
		if (session->phase == SAVING)
			begin_ending(session);
		break;
	case NP_EVENT_OPENED:
	case NP_EVENT_CLOSED:
		/* The first rank of all that open or close the window speaks for them. */
		session->clock_due |= session->window != (event->type == NP_EVENT_OPENED);
		session->window = event->type == NP_EVENT_OPENED;
		break;
	case NP_EVENT_CLOCK:
		np_timing_answer(session->job->coord);
		break;
	default:
		break;
	}
}

static void hear_others(struct session *session)
{
	struct np_event event;

	while (np_coord_poll(session->job->coord, &event))
		hear_event(session, &event);
}

static void report_window(struct session *session, enum np_event_type type)
{
	const struct np_job *job = session->job;
	struct np_event event = { .type = (int32_t)type, .rank = job->rank };

	np_child_has_profile(&session->child, type == NP_EVENT_OPENED);
	if (job->rank == 0)
		hear_event(session, &event);
	else
		np_coord_send(job->coord, 0, &event);
}

static void hear_application(struct session *session)
{
	struct np_record *record = &session->job->record;
	struct np_message message;

	while (np_channel_take(&session->channel, &message)) {
		np_record_take(record, &message);
		if (message.type == NP_MSG_WINDOW_OPEN)
			report_window(session, NP_EVENT_OPENED);
		else if (message.type == NP_MSG_WINDOW_CLOSED)
			report_window(session, NP_EVENT_CLOSED);
		else if (message.type == NP_MSG_PROF_ERROR || message.type == NP_MSG_SELF_PROFILING)
			np_job_warn("rank %d: %s", record->rank, record->failure);
	}
}

static void hear_signals(struct session *session)
{
	struct signalfd_siginfo info;

	while (read(session->signals, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
		if (info.ssi_signo != SIGCHLD)
			report_failure(session, 0, (int)info.ssi_signo);
	}
}

static void wait_a_little(struct session *session, int milliseconds)
{
	struct pollfd fds[MOST_FDS] = { { .fd = session->signals, .events = POLLIN } };
	size_t count = 1 + np_channel_fds(&session->channel, fds + 1, MOST_FDS - 1);

	(void)poll(fds, (nfds_t)count, milliseconds);
}

/* The application is gone: its last words, what it left behind, and the others. */
static void depart(struct session *session)
{
	struct np_job *job = session->job;
	np_ns end = steady() + (np_ns)LAST_WORDS_MS * 1000000;

	do {
		hear_application(session);
		if (session->channel.peers.count)
			wait_a_little(session, 1);
	} while (session->channel.peers.count && steady() < end);
	job->record.exit = session->child.status;
	if (session->child.status != 0 && session->phase == RUNNING)
		report_failure(session, session->child.status, 0);
	report_saved(session);
	np_child_release(&session->child, session->child.status != 0 || session->phase != RUNNING);
	np_coord_leave(job->coord);
	session->left = true;
}

static bool is_over(struct session *session)
{
	if (!session->left && np_child_poll(&session->child))
		depart(session);
	return session->left && np_coord_all_left(session->job->coord);
}

static void loop(struct session *session)
{
	struct np_job *job = session->job;

	while (!is_over(session)) {
		hear_application(session);
		hear_signals(session);
		hear_others(session);
		watch_phase(session);
		/* While a rank may have left for good, a question could stay without answer. */
		if (session->clock_due && !session->left && !session->stopping) {
			session->clock_due = false;
			(void)np_timing_measure(&job->timing, job->coord, &job->layout);
		}
		wait_a_little(session, session->phase == RUNNING ? TICK_MS : SHORT_TICK_MS);
	}
	/* Rank 0 may have been told of a failure by the last who left. */
	hear_others(session);
}

/* --- beginning and end ---------------------------------------------------- */

/* A port that is free now. Empty if there is none: the application has to know one itself. */
static void choose_port(struct np_buf *port)
{
	struct sockaddr_in address = { .sin_family = AF_INET };
	socklen_t length = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return;
	if (bind(fd, (const struct sockaddr *)&address, length) == 0 &&
	    getsockname(fd, (struct sockaddr *)&address, &length) == 0)
		np_buf_printf(port, "%u", (unsigned)ntohs(address.sin_port));
	(void)close(fd);
}

static void watched_signals(sigset_t *set)
{
	(void)sigemptyset(set);
	(void)sigaddset(set, SIGTERM);
	(void)sigaddset(set, SIGINT);
	(void)sigaddset(set, SIGHUP);
	(void)sigaddset(set, SIGCHLD);
}

void np_session_hold_signals(void)
{
	sigset_t set;

	watched_signals(&set);
	(void)sigprocmask(SIG_BLOCK, &set, NULL);
}

static int watch_signals(struct session *session, struct np_err *err)
{
	sigset_t set;

	watched_signals(&set);
	session->signals = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
	if (session->signals < 0)
		return np_fail(err, NP_E_IO, "cannot watch signals: %s", strerrordesc_np(errno));
	return NP_OK;
}

static int start(struct session *session, const char *inject, struct np_err *err)
{
	struct np_job *job = session->job;
	NP_CLEANUP(np_buf_release) struct np_buf port = NP_BUF_INIT;
	NP_CLEANUP(np_env_release) struct np_env env = { 0 };
	char *const *words;
	int rc = NP_OK;

	if (job->rank == 0)
		choose_port(&port);
	if (np_coord_bcast(job->coord, &port, err) < 0)
		return NP_E_NOMEM;
	rc = watch_signals(session, err);
	if (rc == NP_OK && inject)
		rc = np_channel_open(&session->channel, job->plan.job, job->rank, err);
	if (rc == NP_OK)
		rc = np_session_environment(&env, job, inject, session->channel.name, port.text,
					    err);
	if (rc < 0)
		return rc;
	words = np_env_words(&env, err);
	return words ? np_child_start(&session->child, job->app, words, job->plan.grace, err)
		     : NP_E_NOMEM;
}

/* Everybody learns from rank 0 how it went. */
static int share_result(struct session *session, struct np_err *err)
{
	NP_CLEANUP(np_buf_release) struct np_buf text = NP_BUF_INIT;
	const struct np_session_result *mine = &session->result;

	np_buf_add_bytes(&text, (const char *)mine, sizeof(*mine));
	if (np_coord_bcast(session->job->coord, &text, err) < 0)
		return NP_E_NOMEM;
	memcpy(&session->result, text.text, sizeof(session->result));
	return NP_OK;
}

int np_session_run(struct np_job *job, const char *inject, struct np_session_result *ret,
		   struct np_err *err)
{
	struct session session = {
		.job = job,
		.child = NP_CHILD_INIT,
		.channel = NP_CHANNEL_INIT,
		.signals = -1,
		.result = { .failed = -1 },
	};
	int rc = start(&session, inject, err);

	if (rc < 0) {
		/* The others have started theirs. */
		job->record.exit = 1;
		np_job_warn("rank %d: %s", job->rank, err->text);
		session.child.ended = true;
		session.child.status = 1;
	}
	loop(&session);
	np_channel_close(&session.channel);
	if (session.signals >= 0)
		(void)close(session.signals);
	rc = share_result(&session, err);
	*ret = session.result;
	return rc;
}
