/* SPDX-License-Identifier: Apache-2.0 */
/* The run of one launcher: its application, the other launchers, signals, and the end of all. */
#include "session.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "collect/launch/backend/msprof.h"
#include "collect/launch/coord/coord_tcp.h"
#include "collect/launch/coord/mpi_address.h"
#include "npuprof/realtime.h"
#include "session_environment.h"
#include "session_state.h"

enum {
	TICK_MS = 20,
	CLOCK_SET_S = 1,   /* more than clocks that are corrected slowly move in a tick */
	SHORT_TICK_MS = 2, /* while the job ends: mpirun may be about to kill */
	MOST_FDS = 64,
	/* An application that has ended says its last words within this time. */
	LAST_WORDS_MS = 50,
	/* Who has not come to the rendezvous when the application has ended does not come. */
	COME_S = 10,
	JOIN_S = 10,
};

/* Carry out an event. */
static void hear(struct np_session *session, const struct np_event *event);

void np_session_send_first(struct np_session *session, const struct np_event *event)
{
	if (session->job->rank == 0)
		hear(session, event);
	else
		np_coord_send(session->job->coord, 0, event);
}

void np_session_send_all(struct np_session *session, const struct np_event *event)
{
	assert(session->job->rank == 0);
	for (int other = 1; other < session->job->world; other++)
		np_coord_send(session->job->coord, other, event);
	hear(session, event);
}

/* --- launchers that find each other while the application runs (mode inapp) --- */

/*
 * Mode inapp: launchers get to know of each other from the library in the application, while it
 * runs. Each says where it is; when rank 0 has heard of all, clocks can be compared.
 */
static void report_host(struct np_session *session)
{
	struct np_event event = { .type = NP_EVENT_HOST, .rank = session->job->rank };
	struct np_job_layout_word word;

	np_job_layout_describe(&word);
	(void)snprintf(event.text, sizeof(event.text), "%s\n%s", word.name, word.uid);
	np_session_send_first(session, &event);
}

/* Ranks that do not find each other through MPI are no job: said once, by the first. */
static bool is_promised_world(const struct np_session *session, int64_t size)
{
	const struct np_job *job = session->job;

	if (size < 0 || size == job->world)
		return true;
	if (job->rank == 0)
		np_job_warn(
			"%d ranks were started, but in the world of the application's MPI there "
			"%s %" PRId64 ": it is not the MPI of this launcher; the ranks are "
			"recorded by themselves",
			job->world, size == 1 ? "is" : "are", size);
	return false;
}

static void join(struct np_session *session, const char *text, int64_t size)
{
	struct np_job *job = session->job;
	struct np_tcp_address address;
	struct np_err err = NP_ERR_INIT;

	if (job->mode != NP_MODE_INAPP || session->joined)
		return;
	session->joined = true;
	if (!is_promised_world(session, size))
		return;
	if (job->rank != 0) {
		if (!np_mpi_address_parse(text, &address))
			return;
		address.rank = job->rank;
		address.size = job->world;
		if (np_coord_tcp_join(job->coord, &address, JOIN_S, &err) < 0) {
			np_job_warn("rank %d: %s", job->rank, err.text);
			return;
		}
	}
	report_host(session);
}

/* All have come: what was believed of hosts is replaced by what is so. */
static void meet(struct np_session *session)
{
	struct np_job *job = session->job;
	struct np_err err = NP_ERR_INIT;
	struct np_job_layout layout;
	struct np_timing timing;

	if (np_job_layout_number(&layout, session->words, job->world, &err) < 0)
		return;
	if (np_timing_init(&timing, layout.host_count, &err) < 0) {
		np_job_layout_release(&layout);
		return;
	}
	np_job_layout_release(&job->layout);
	np_timing_release(&job->timing);
	job->layout = layout;
	job->timing = timing;
	session->met = true;
	session->clock_due = true;
}

static void hear_host(struct np_session *session, const struct np_event *event)
{
	const struct np_job *job = session->job;
	size_t length = strcspn(event->text, "\n");
	struct np_job_layout_word *word;

	if (!session->words)
		session->words = calloc((size_t)job->world, sizeof(*session->words));
	if (!session->words || event->rank < 0 || event->rank >= job->world || !event->text[length])
		return;
	word = &session->words[event->rank];
	(void)snprintf(word->name, sizeof(word->name), "%.*s", (int)length, event->text);
	(void)snprintf(word->uid, sizeof(word->uid), "%.*s", (int)sizeof(word->uid) - 1,
		       event->text + length + 1);
	if (++session->come == job->world)
		meet(session);
}

/* --- how the applications of a job are ended ------------------------------- */

static np_ns after_grace(const struct np_session *session)
{
	return np_steady_ns() + session->job->plan.grace * 1000000000;
}

static void begin_ending(struct np_session *session)
{
	if (session->phase != NP_PHASE_SAVING)
		return;
	session->phase = NP_PHASE_ENDING;
	session->deadline = after_grace(session);
	np_child_signal(&session->child, SIGTERM);
	np_child_signal(&session->child, SIGCONT);
}

/* Rank 0: when the last has saved, all may end. */
static void count_saved(struct np_session *session)
{
	const struct np_job *job = session->job;
	int lost = 0;

	for (int other = 1; other < job->world; other++)
		lost += np_coord_lost(job->coord, other) ? 1 : 0;
	if (session->saved_all + lost < job->world || !session->stopping)
		return;
	np_session_send_all(session, &(struct np_event){ .type = NP_EVENT_END });
}

static void report_saved(struct np_session *session)
{
	if (session->saved)
		return;
	session->saved = true;
	np_session_send_first(
		session, &(struct np_event){ .type = NP_EVENT_SAVED, .rank = session->job->rank });
}

/*
 * Close the profile first: an application that waits for a dead rank will not do it.
 * And wait for the others: the device of a rank whose peer has ended never becomes idle.
 */
static void begin_saving(struct np_session *session)
{
	struct np_message stop;

	if (session->phase != NP_PHASE_RUNNING || session->child.ended)
		return;
	session->phase = NP_PHASE_SAVING;
	session->deadline = after_grace(session);
	np_message_init(&stop, NP_MSG_STOP, session->job->rank);
	stop.step = -1;
	np_backend_send_all(&session->backend, &stop);
}

static bool is_anything_open(const struct np_job *job)
{
	for (size_t i = 0; i < job->records.count; i++) {
		if (np_record_is_open(&job->records.item[i]))
			return true;
	}
	return false;
}

static void watch_phase(struct np_session *session)
{
	bool late = np_steady_ns() >= session->deadline;

	if (session->child.ended)
		return;
	if (session->phase == NP_PHASE_SAVING && !is_anything_open(session->job))
		report_saved(session);
	if (session->phase == NP_PHASE_SAVING && late) {
		begin_ending(session);
	} else if (session->phase == NP_PHASE_ENDING && late) {
		session->phase = NP_PHASE_KILLED;
		np_child_signal(&session->child, SIGKILL);
	}
}

static const char *who(const struct np_job *job)
{
	return job->finds_ranks ? "node" : "rank";
}

/* Rank 0: the first who fails decides for all. */
static void stop_all(struct np_session *session, int rank, int status, int number)
{
	struct np_job *job = session->job;

	if (session->stopping)
		return;
	session->stopping = true;
	session->result = (struct np_job_result){ status, number ? -1 : rank, number };
	if (number)
		np_job_warn("ending the job: %s",
			    strsignal(number)); /* NOLINT(concurrency-mt-unsafe) */
	else if (np_coord_lost(job->coord, rank))
		np_job_warn("the connection to the launcher of %s %d is lost; ending the others",
			    who(job), rank);
	else
		np_job_warn("the application of %s %d ended with status %d; ending the others",
			    who(job), rank, status);
	np_session_send_all(session, &(struct np_event){ .type = NP_EVENT_STOP,
							 .rank = rank,
							 .value = number ? -number : status });
	count_saved(session);
}

static void report_failure(struct np_session *session, int status, int number)
{
	const struct np_job *job = session->job;
	struct np_event event = { .type = number ? NP_EVENT_SIGNAL : NP_EVENT_FAILED,
				  .rank = job->rank,
				  .value = number ? number : status };

	if (session->reported)
		return;
	session->reported = true;
	np_session_send_first(session, &event);
	/* Whoever gets a signal to end need not wait for rank 0, who may be gone. */
	if (number)
		begin_saving(session);
}

/* A launcher is gone without a word, or the network between us is. */
static void hear_lost(struct np_session *session, int rank)
{
	struct np_job *job = session->job;

	if (job->rank == 0) {
		/* Of all that were lost in a job that ends there is nothing more to say. */
		stop_all(session, rank, NP_SESSION_STATUS_LOST, 0);
		count_saved(session);
		return;
	}
	if (session->phase == NP_PHASE_RUNNING && !session->left)
		np_job_warn("%s %d: the connection to launcher 0 is lost; ending the application",
			    who(job), job->rank);
	session->reported = true;
	session->saved = true;
	if (session->result.status == 0)
		session->result = (struct np_job_result){ NP_SESSION_STATUS_LOST, 0, 0 };
	begin_saving(session);
}

/* --- what happens --------------------------------------------------------- */

static void hear(struct np_session *session, const struct np_event *event)
{
	switch ((enum np_event_type)event->type) {
	case NP_EVENT_FAILED:
		stop_all(session, event->rank, (int)event->value, 0);
		break;
	case NP_EVENT_SIGNAL:
		stop_all(session, event->rank, 128 + (int)event->value, (int)event->value);
		break;
	case NP_EVENT_STOP:
		session->reported = true;
		begin_saving(session);
		break;
	case NP_EVENT_SAVED:
		session->saved_all++;
		count_saved(session);
		break;
	case NP_EVENT_END:
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
	case NP_EVENT_HOST:
		hear_host(session, event);
		break;
	case NP_EVENT_LOST:
		hear_lost(session, event->rank);
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
		hear(session, &event);
}

static void report_window(struct np_session *session, enum np_event_type type)
{
	const struct np_job *job = session->job;
	bool open = false;

	for (size_t i = 0; i < job->records.count; i++)
		open |= np_record_is_open(&job->records.item[i]);
	np_child_has_profile(&session->child, open);
	np_session_send_first(session,
			      &(struct np_event){ .type = (int32_t)type, .rank = job->rank });
}

/* What a rank says, through its library or through the back-end that speaks for it. */
static void take(struct np_session *session, const struct np_message *message)
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
	np_control_hear_application(session, message);
	if (job->plan.backend == NP_BACKEND_MSPROF)
		np_attach_hear(&session->backend, message);
}

static int64_t step_rate(const struct np_session *session)
{
	return session->control.rate;
}

static bool has_left(const struct np_session *session)
{
	return session->left;
}

static void hear_application(struct np_session *session)
{
	struct np_message message;

	while (np_channel_take(&session->backend.channel, &message)) {
		if (message.type == NP_MSG_RENDEZVOUS)
			join(session, message.text, message.value);
		take(session, &message);
	}
}

static void hear_signals(struct np_session *session)
{
	struct signalfd_siginfo info;

	while (read(session->signals, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
		if (info.ssi_signo == SIGUSR2)
			np_control_hear_signal(session);
		else if (info.ssi_signo != SIGCHLD)
			report_failure(session, 0, (int)info.ssi_signo);
	}
}

static void wait_a_little(struct np_session *session, int milliseconds)
{
	struct pollfd fds[MOST_FDS] = { { .fd = session->signals, .events = POLLIN } };
	size_t count = 1 + np_channel_fds(&session->backend.channel, fds + 1, MOST_FDS - 1);

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
		if (session->backend.channel.peers.count)
			wait_a_little(session, 1);
	} while (session->backend.channel.peers.count && np_steady_ns() < end);
	np_backend_end(&session->backend);
	for (size_t i = 0; i < job->records.count; i++)
		job->records.item[i].exit = status;
	if (status != 0 && session->phase == NP_PHASE_RUNNING)
		report_failure(session, status, 0);
	report_saved(session);
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

/* Somebody may set the clock of the host: times before and after do not belong together. */
static void watch_clock(struct np_session *session)
{
	struct np_job *job = session->job;
	np_ns ahead = np_realtime_ns() - np_steady_ns();
	/* What msprof records around an application is one window. */
	bool around = job->plan.backend == NP_BACKEND_MSPROF && !job->plan.dynamic;
	double moved = (double)(ahead - session->ahead) / 1e9;
	char text[160];

	if (moved < CLOCK_SET_S && moved > -CLOCK_SET_S)
		return;
	session->ahead = ahead;
	(void)snprintf(text, sizeof(text),
		       "the clock of the host was set by %+.0f s inside the window: its times do "
		       "not belong together",
		       moved);
	np_job_warn("the clock of this host was set by %+.0f s", moved);
	for (size_t i = 0; i < job->records.count; i++) {
		struct np_record *record = &job->records.item[i];

		if (record->launcher == job->rank &&
		    (np_record_is_open(record) || (around && record->selected)))
			np_record_fail(record, text);
	}
}

static void loop(struct np_session *session)
{
	while (!is_over(session)) {
		hear_application(session);
		hear_signals(session);
		hear_others(session);
		np_control_attend(session);
		np_backend_attend(&session->backend);
		watch_phase(session);
		watch_clock(session);
		measure_clocks(session);
		wait_a_little(session,
			      session->phase == NP_PHASE_RUNNING ? TICK_MS : SHORT_TICK_MS);
	}
	/* Rank 0 may have heard of a failure from the last who left. */
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
		rc = np_channel_open(&session->backend.channel, job->plan.job, job->rank, err);
	if (rc == NP_OK && job->plan.enable)
		rc = np_control_open(session, err);
	if (rc == NP_OK)
		rc = np_session_environment(&env, job, inject, session->backend.channel.name,
					    port.text, err);
	if (rc == NP_OK && job->plan.enable)
		rc = np_backend_begin(&session->backend, &env, err);
	return rc == NP_OK ? start_child(session, &env, err) : rc;
}

/* Everybody learns from rank 0 how it went. Who has lost rank 0 has to know itself. */
static int share_result(struct np_session *session, struct np_err *err)
{
	NP_CLEANUP(np_buf_release) struct np_buf text = NP_BUF_INIT;
	const struct np_job_result *mine = &session->result;

	if (session->job->rank != 0 && np_coord_lost(session->job->coord, 0))
		return NP_OK;
	np_buf_add_bytes(&text, (const char *)mine, sizeof(*mine));
	if (np_coord_bcast(session->job->coord, &text, err) < 0)
		return NP_E_IO;
	memcpy(&session->result, text.text, sizeof(session->result));
	return NP_OK;
}

int np_session_run(struct np_job *job, const char *inject, struct np_job_result *ret,
		   struct np_err *err)
{
	struct np_session session = {
		.job = job,
		.child = NP_CHILD_INIT,
		.backend = { .job = job,
			     .session = { &session, take, np_session_send_first, step_rate,
					  has_left },
			     .channel = NP_CHANNEL_INIT },
		.signals = -1,
		.control = NP_CONTROL_INIT,
		.result = { .failed = -1 },
		.met = job->mode != NP_MODE_INAPP,
		/* Before the application starts: its first window may open at once. */
		.ahead = np_realtime_ns() - np_steady_ns(),
	};
	int rc = start(&session, inject, err);

	if (rc < 0) {
		/* The others have started theirs. */
		np_job_warn("rank %d: %s", job->rank, err->text);
		session.child.ended = true;
		session.child.status = 1;
	}
	loop(&session);
	np_backend_clean(&session.backend);
	free(session.words);
	np_control_close(&session);
	np_channel_close(&session.backend.channel);
	if (session.signals >= 0)
		(void)close(session.signals);
	rc = share_result(&session, err);
	*ret = session.result;
	return rc;
}
