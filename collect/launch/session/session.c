/* SPDX-License-Identifier: Apache-2.0 */
#include "session.h"

#include "npuprof/realtime.h"

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "collect/launch/coord/coord_tcp.h"
#include "session_private.h"
#include "session_start.h"

enum {
	TICK_MS = 20,
	SHORT_TICK_MS = 2, /* while the job ends: mpirun may be about to kill */
	MOST_FDS = 64,
	/* An application that has ended says its last words within this time. */
	LAST_WORDS_MS = 50,
	/* Who has not come to the rendezvous when the application has ended does not come. */
	COME_S = 10,
};

/* --- what happens --------------------------------------------------------- */

void np_session_tell_first(struct np_session *session, const struct np_event *event)
{
	if (session->job->rank == 0)
		np_session_hear(session, event);
	else
		np_coord_send(session->job->coord, 0, event);
}

void np_session_tell_all(struct np_session *session, const struct np_event *event)
{
	for (int other = 1; other < session->job->world; other++)
		np_coord_send(session->job->coord, other, event);
	np_session_hear(session, event);
}

void np_session_hear(struct np_session *session, const struct np_event *event)
{
	switch ((enum np_event_type)event->type) {
	case NP_EVENT_FAILED:
		np_session_stop_all(session, event->rank, (int)event->value, 0);
		break;
	case NP_EVENT_SIGNAL:
		np_session_stop_all(session, event->rank, 128 + (int)event->value,
				    (int)event->value);
		break;
	case NP_EVENT_STOP:
		session->told = true;
		np_session_begin_saving(session);
		break;
	case NP_EVENT_SAVED:
		session->saved_all++;
		np_session_count_saved(session);
		break;
	case NP_EVENT_END:
		np_session_begin_ending(session);
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
	case NP_EVENT_HOST:
		np_session_hear_host(session, event);
		break;
	case NP_EVENT_LOST:
		np_session_lost(session, event->rank);
		break;
	default:
		np_control_hear(session, event);
		break;
	}
}

static void hear_others(struct np_session *session)
{
	struct np_event event;

	while (np_coord_poll(session->job->coord, &event))
		np_session_hear(session, &event);
}

static void report_window(struct np_session *session, enum np_event_type type)
{
	const struct np_job *job = session->job;
	bool open = false;

	for (size_t i = 0; i < job->records.count; i++)
		open |= np_record_is_open(&job->records.item[i]);
	np_child_has_profile(&session->child, open);
	np_session_tell_first(session,
			      &(struct np_event){ .type = (int32_t)type, .rank = job->rank });
}

void np_session_take(struct np_session *session, const struct np_message *message)
{
	struct np_job *job = session->job;
	struct np_record *record = np_job_record(job, message->rank);

	/* What the application asks of AscendCL while msprof owns it is refused, and does no harm.
	 */
	if (!record ||
	    (message->type == NP_MSG_SELF_PROFILING && job->plan.backend == NP_BACKEND_MSPROF))
		return;
	np_record_take(record, message);
	if (message->type == NP_MSG_WINDOW_OPEN)
		report_window(session, NP_EVENT_OPENED);
	else if (message->type == NP_MSG_WINDOW_CLOSED)
		report_window(session, NP_EVENT_CLOSED);
	else if (message->type == NP_MSG_PROF_ERROR || message->type == NP_MSG_SELF_PROFILING)
		np_job_warn("rank %d: %s", record->rank, record->failure);
	np_control_hear_application(session, record, message);
	if (job->plan.backend == NP_BACKEND_MSPROF)
		np_attach_hear(session, message);
}

static void hear_application(struct np_session *session)
{
	struct np_message message;

	while (np_channel_take(&session->channel, &message)) {
		if (message.type == NP_MSG_RENDEZVOUS)
			np_session_join(session, message.text);
		np_session_take(session, &message);
	}
}

static void hear_signals(struct np_session *session)
{
	struct signalfd_siginfo info;

	while (read(session->signals, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
		if (info.ssi_signo == SIGUSR2)
			np_control_hear_signal(session);
		else if (info.ssi_signo != SIGCHLD)
			np_session_report_failure(session, 0, (int)info.ssi_signo);
	}
}

static void wait_a_little(struct np_session *session, int milliseconds)
{
	struct pollfd fds[MOST_FDS] = { { .fd = session->signals, .events = POLLIN } };
	size_t count = 1 + np_channel_fds(&session->channel, fds + 1, MOST_FDS - 1);

	(void)poll(fds, (nfds_t)count, milliseconds);
}

/* The application is gone: its last words, what it left behind, and the others. */
static void depart(struct np_session *session)
{
	struct np_job *job = session->job;
	np_ns end = np_steady_ns() + (np_ns)LAST_WORDS_MS * 1000000;
	int status = session->child.status;

	do {
		hear_application(session);
		if (session->channel.peers.count)
			wait_a_little(session, 1);
	} while (session->channel.peers.count && np_steady_ns() < end);
	np_backend_end(session);
	for (size_t i = 0; i < job->records.count; i++)
		job->records.item[i].exit = status;
	if (status != 0 && session->phase == NP_PHASE_RUNNING)
		np_session_report_failure(session, status, 0);
	np_session_report_saved(session);
	np_child_release(&session->child, status != 0 || session->phase != NP_PHASE_RUNNING);
	/* Before anybody waits for the others it must be clear who they are. */
	if (job->mode == NP_MODE_INAPP && !np_coord_tcp_complete(job->coord, COME_S))
		np_job_warn("rank %d: the application ended without MPI_Init, or not all launchers "
			    "found each other; what they collected is in '%s'",
			    job->rank, job->root);
	np_coord_leave(job->coord);
	session->left = true;
}

static bool is_over(struct np_session *session)
{
	if (!session->left && np_child_poll(&session->child))
		depart(session);
	return session->left && np_coord_all_left(session->job->coord);
}

/* While a rank may have left for good, a question could stay without answer. */
static void measure_clocks(struct np_session *session)
{
	struct np_job *job = session->job;

	if (!session->clock_due || session->left || session->stopping || !session->met)
		return;
	session->clock_due = false;
	(void)np_timing_measure(&job->timing, job->coord, &job->layout);
}

static void loop(struct np_session *session)
{
	while (!is_over(session)) {
		hear_application(session);
		hear_signals(session);
		hear_others(session);
		np_control_attend(session);
		np_backend_attend(session);
		np_session_watch_phase(session);
		measure_clocks(session);
		wait_a_little(session,
			      session->phase == NP_PHASE_RUNNING ? TICK_MS : SHORT_TICK_MS);
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
	(void)sigaddset(set, SIGUSR2);
}

void np_session_hold_signals(void)
{
	sigset_t set;

	watched_signals(&set);
	(void)sigprocmask(SIG_BLOCK, &set, NULL);
}

static int watch_signals(struct np_session *session, struct np_err *err)
{
	sigset_t set;

	watched_signals(&set);
	session->signals = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
	if (session->signals < 0)
		return np_fail(err, NP_E_IO, "cannot watch signals: %s", strerrordesc_np(errno));
	return NP_OK;
}

/* The application itself, or msprof around it. */
static int start_child(struct np_session *session, struct np_env *env, struct np_err *err)
{
	struct np_job *job = session->job;
	char *const *words = np_env_words(env, err);
	struct np_msprof_line line;
	int rc;

	if (!words)
		return NP_E_NOMEM;
	if (!job->plan.enable || job->plan.backend != NP_BACKEND_MSPROF || job->plan.dynamic ||
	    !job->chosen[job->rank])
		return np_child_start(&session->child, job->app, words, job->plan.grace, err);
	rc = np_msprof_line(job, &line, err);
	if (rc == NP_OK)
		rc = np_child_start(&session->child, line.argv, words, job->plan.grace, err);
	np_msprof_line_release(&line);
	return rc;
}

static int start(struct np_session *session, const char *inject, struct np_err *err)
{
	struct np_job *job = session->job;
	NP_CLEANUP(np_buf_release) struct np_buf port = NP_BUF_INIT;
	NP_CLEANUP(np_env_release) struct np_env env = { 0 };
	int rc = NP_OK;

	if (job->rank == 0)
		choose_port(&port);
	if (job->mode != NP_MODE_INAPP && np_coord_bcast(job->coord, &port, err) < 0)
		return NP_E_NOMEM;
	rc = watch_signals(session, err);
	if (rc == NP_OK && (inject || job->mode == NP_MODE_INAPP))
		rc = np_channel_open(&session->channel, job->plan.job, job->rank, err);
	if (rc == NP_OK && job->plan.enable)
		rc = np_control_open(session, err);
	if (rc == NP_OK)
		rc = np_session_environment(&env, job, inject, session->channel.name, port.text,
					    err);
	if (rc == NP_OK && job->plan.enable)
		rc = np_backend_begin(session, &env, err);
	return rc == NP_OK ? start_child(session, &env, err) : rc;
}

/* Everybody learns from rank 0 how it went. Who has lost rank 0 has to know itself. */
static int share_result(struct np_session *session, struct np_err *err)
{
	NP_CLEANUP(np_buf_release) struct np_buf text = NP_BUF_INIT;
	const struct np_session_result *mine = &session->result;

	if (session->job->rank != 0 && np_coord_lost(session->job->coord, 0))
		return NP_OK;
	np_buf_add_bytes(&text, (const char *)mine, sizeof(*mine));
	if (np_coord_bcast(session->job->coord, &text, err) < 0)
		return NP_E_IO;
	memcpy(&session->result, text.text, sizeof(session->result));
	return NP_OK;
}

int np_session_run(struct np_job *job, const char *inject, struct np_session_result *ret,
		   struct np_err *err)
{
	struct np_session session = {
		.job = job,
		.child = NP_CHILD_INIT,
		.channel = NP_CHANNEL_INIT,
		.signals = -1,
		.control = NP_CONTROL_INIT,
		.result = { .failed = -1 },
		.met = job->mode != NP_MODE_INAPP,
	};
	int rc = start(&session, inject, err);

	if (rc < 0) {
		/* The others have started theirs. */
		np_job_warn("rank %d: %s", job->rank, err->text);
		session.child.ended = true;
		session.child.status = 1;
	}
	loop(&session);
	np_backend_clean(&session);
	free(session.words);
	np_control_close(&session);
	np_channel_close(&session.channel);
	if (session.signals >= 0)
		(void)close(session.signals);
	rc = share_result(&session, err);
	*ret = session.result;
	return rc;
}
