/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A launcher of a few lines: starts a program under the injection library and prints what
 * the library says, one line for each message: type, step, value, text.
 *
 *	inject_launch LIBRARY [key=value]... -- program [argument]...
 *
 * Keys are those of NPUPROF_CFG, and: say-stop-at=N sends STOP now when step N is told,
 * say-start-at=N sends START for the next two steps then, ping=1 sends PING when attached.
 * Exit status of the program; 128 + signal.
 */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collect/protocol.h"

static const char *const type_names[] = {
	[NP_MSG_HELLO] = "HELLO",
	[NP_MSG_ATTACHED] = "ATTACHED",
	[NP_MSG_SOURCE] = "SOURCE",
	[NP_MSG_STEP] = "STEP",
	[NP_MSG_WINDOW_OPEN] = "WINDOW_OPEN",
	[NP_MSG_WINDOW_CLOSED] = "WINDOW_CLOSED",
	[NP_MSG_PROF_CODE] = "PROF_CODE",
	[NP_MSG_PROF_ERROR] = "PROF_ERROR",
	[NP_MSG_SELF_PROFILING] = "SELF_PROFILING",
	[NP_MSG_BYTES] = "BYTES",
	[NP_MSG_COMM] = "COMM",
	[NP_MSG_ACCEPTED] = "ACCEPTED",
	[NP_MSG_TOO_LATE] = "TOO_LATE",
	[NP_MSG_PONG] = "PONG",
	[NP_MSG_DONE] = "DONE",
};

static int64_t stop_at = -1;
static int64_t start_at = -1;
static bool ping;

static int64_t number(const char *text)
{
	return strtoll(text, NULL, 10);
}

static void answer(int fd, enum np_message_type type, int64_t step, int64_t value)
{
	struct np_message message;

	np_message_init(&message, type, -1);
	message.step = step;
	message.value = value;
	(void)np_message_send(fd, &message);
}

static void show(int fd, const struct np_message *message)
{
	const char *line_end = strchr(message->text, '\n');
	int length = line_end ? (int)(line_end - message->text) : (int)strlen(message->text);

	printf("%s %" PRId64 " %" PRId64 " %.*s\n",
	       message->type < NP_COUNT(type_names) ? type_names[message->type] : "?",
	       message->step == NP_UNKNOWN ? -1 : message->step,
	       message->value == NP_UNKNOWN ? -1 : message->value, length, message->text);
	(void)fflush(stdout);
	if (message->type == NP_MSG_ATTACHED && ping)
		answer(fd, NP_MSG_PING, 11, 22);
	if (message->type == NP_MSG_STEP && stop_at >= 0 && message->step >= stop_at) {
		answer(fd, NP_MSG_STOP, -1, NP_UNKNOWN);
		stop_at = -1;
	}
	if (message->type == NP_MSG_STEP && start_at >= 0 && message->step >= start_at) {
		answer(fd, NP_MSG_START, -1, 2);
		start_at = -1;
	}
}

/* Everything that has arrived; false when a peer has gone. */
static bool drain(int fd)
{
	struct np_message message;
	int got;

	while ((got = np_message_receive(fd, &message)) > 0)
		show(fd, &message);
	return got == 0;
}

static void listen_to(int listener, pid_t child, int *status)
{
	struct pollfd ends[64] = { { .fd = listener, .events = POLLIN } };
	nfds_t count = 1;
	bool running = true;

	while (running || count > 1) {
		int fd;

		(void)poll(ends, count, 10);
		while (count < 64 && (fd = np_protocol_accept(listener)) >= 0)
			ends[count++] = (struct pollfd){ .fd = fd, .events = POLLIN };
		for (nfds_t i = 1; i < count; i++) {
			if (drain(ends[i].fd))
				continue;
			(void)close(ends[i].fd);
			ends[i--] = ends[--count];
		}
		if (running && waitpid(child, status, WNOHANG) == child)
			running = false;
	}
}

static int usage(const char *why)
{
	fprintf(stderr, "inject_launch: %s\n", why);
	return 100;
}

static void add_setting(struct np_buf *config, const char *setting)
{
	if (strncmp(setting, "say-stop-at=", 12) == 0)
		stop_at = number(setting + 12);
	else if (strncmp(setting, "say-start-at=", 13) == 0)
		start_at = number(setting + 13);
	else if (strncmp(setting, "ping=", 5) == 0)
		ping = true;
	else
		np_buf_printf(config, "%s\n", setting);
}

int main(int argc, char **argv)
{
	struct np_buf config = NP_BUF_INIT;
	struct np_err err = NP_ERR_INIT;
	char name[60];
	int listener;
	int status = 0;
	pid_t child;
	int i = 2;

	while (i < argc && strcmp(argv[i], "--") != 0)
		add_setting(&config, argv[i++]);
	if (i + 1 >= argc || np_buf_check(&config, &err) < 0)
		return usage("LIBRARY [key=value]... -- program [argument]...");
	(void)snprintf(name, sizeof(name), "npuprof-inject-test-%d", (int)getpid());
	listener = np_protocol_listen(name, &err);
	if (listener < 0)
		return usage(err.text);
	child = fork();
	if (child == 0) {
		(void)setenv(NP_ENV_SOCKET, name, 1);
		(void)setenv(NP_ENV_CONFIG, config.text, 1);
		(void)setenv("LD_PRELOAD", argv[1], 1);
		(void)execvp(argv[i + 1], argv + i + 1);
		return usage(strerror(errno));
	}
	listen_to(listener, child, &status);
	np_buf_release(&config);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
