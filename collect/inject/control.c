/* SPDX-License-Identifier: Apache-2.0 */
/* The line to the launcher, and the one thread of the library that listens to it. */
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include "inject.h"

/* How long a time window that is due waits for a hook of the application before we act ourselves.
 */
#define PATIENCE ((np_ns)500 * 1000000)

#define TICK_MS      200
#define TICK_MS_SOON 10

static struct {
	_Atomic int fd;
	_Atomic int64_t dropped;
	_Atomic int claim; /* a socket nobody talks to: its name is taken while we live */
	char name[80];
} line = { .fd = -1, .claim = -1 };

void np_control_connect(const char *name)
{
	(void)snprintf(line.name, sizeof(line.name), "%s", name);
	atomic_store(&line.fd, np_protocol_connect(name));
}

void np_control_forget(void)
{
	int fd = atomic_exchange(&line.fd, -1);
	int claim = atomic_exchange(&line.claim, -1);

	if (fd >= 0)
		(void)close(fd);
	if (claim >= 0)
		(void)close(claim);
}

bool np_control_claim(const struct np_inject *inject)
{
	struct np_err err = NP_ERR_INIT;
	char name[100];
	int claim;

	if (!line.name[0] || inject->rank < 0 || atomic_load(&line.claim) >= 0)
		return true;
	(void)snprintf(name, sizeof(name), "%s.r%d", line.name, (int)inject->rank);
	claim = np_protocol_listen(name, &err);
	if (claim >= 0)
		atomic_store(&line.claim, claim);
	return claim >= 0 || err.code != NP_E_BUSY;
}

int64_t np_control_dropped(void)
{
	return atomic_load(&line.dropped);
}

void np_control_say(const struct np_inject *inject, enum np_message_type type, int64_t step,
		    int64_t value, const char *text)
{
	struct np_message message;
	int fd = atomic_load(&line.fd);

	if (fd < 0)
		return;
	np_message_init(&message, type, inject->rank);
	message.step = step;
	message.value = value;
	(void)snprintf(message.text, sizeof(message.text), "%s", text);
	if (!np_message_send(fd, &message))
		atomic_fetch_add(&line.dropped, 1);
}

/* Tell how much has been written; its own lock is not needed for a name that stays while open. */
static void report_bytes(struct np_inject *inject, np_ns *last)
{
	char dir[sizeof(inject->window.dir)] = "";
	np_ns now = np_monotonic_ns();
	int64_t steps = 0;

	if (now - *last < 1000000000)
		return;
	*last = now;
	(void)pthread_mutex_lock(&inject->lock);
	if (inject->window.state == NP_WINDOW_OPEN) {
		memcpy(dir, inject->window.dir, sizeof(dir));
		steps = (int64_t)inject->window.steps.count - 1;
	}
	(void)pthread_mutex_unlock(&inject->lock);
	if (dir[0])
		np_control_say(inject, NP_MSG_BYTES, steps, np_rank_dir_bytes(dir), "");
}

/* The earliest moment of a time window that has not come yet, or NP_UNKNOWN. */
static np_ns next_due(struct np_inject *inject)
{
	np_ns due;

	(void)pthread_mutex_lock(&inject->lock);
	due = inject->due_open != NP_UNKNOWN ? inject->due_open : inject->due_close;
	(void)pthread_mutex_unlock(&inject->lock);
	return due;
}

/* A time window is opened by the next hook that is called; by us if none is. */
static void watch_time(struct np_inject *inject, np_ns due)
{
	np_ns now = np_monotonic_ns();

	if (due == NP_UNKNOWN || now < due)
		return;
	atomic_fetch_or(&inject->attention, NP_ATTENTION_DUE);
	if (now - due < PATIENCE)
		return;
	np_inject_attend(inject, true);
}

static void listen_once(struct np_inject *inject, int timeout_ms)
{
	struct pollfd wait = { .fd = atomic_load(&line.fd), .events = POLLIN };
	struct np_message message;
	int got;

	if (poll(&wait, 1, timeout_ms) <= 0 || wait.fd < 0)
		return;
	while ((got = np_message_receive(wait.fd, &message)) > 0)
		np_inject_message(inject, &message);
	/* A launcher that is gone was killed, and so will we be: save what there is. */
	if (got < 0 && (wait.fd = atomic_exchange(&line.fd, -1)) >= 0) {
		(void)close(wait.fd);
		np_message_init(&message, NP_MSG_STOP, inject->rank);
		message.step = -1;
		np_inject_message(inject, &message);
	}
}

static void *run(void *argument)
{
	struct np_inject *inject = argument;
	np_ns last = np_monotonic_ns();

	while (atomic_load(&inject->on)) {
		np_ns due = next_due(inject);

		listen_once(inject, due != NP_UNKNOWN ? TICK_MS_SOON : TICK_MS);
		watch_time(inject, due);
		report_bytes(inject, &last);
	}
	return NULL;
}

void np_control_start(struct np_inject *inject)
{
	pthread_t thread;
	sigset_t all;
	sigset_t before;

	/* Nobody to listen to, and nothing to wait for. */
	if (atomic_load(&line.fd) < 0 && inject->due_open == NP_UNKNOWN)
		return;
	/* The application's signals are for its own threads. */
	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	if (pthread_create(&thread, NULL, run, inject) == 0)
		(void)pthread_detach(thread);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
}
