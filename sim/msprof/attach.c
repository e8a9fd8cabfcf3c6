/* SPDX-License-Identifier: Apache-2.0 */
/* Attaches to a running application and passes start, stop and quit on to it. */
#include "attach.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "launch.h"
#include "npuprof/text.h"
#include "sim/npusim/dynamic.h"

enum {
	MOST_PIDS = 64,
	PATIENCE_S = 30, /* for an answer: stopping writes what there is */
	DIAL_MS = 100,
	DIALS = 100, /* an application that was just started has no device yet */
};

struct client {
	long key;
	int fd;
};

struct clients {
	struct client item[MOST_PIDS];
	size_t count;
};

static const char *const statuses[] = {
	[DYN_OK] = "done",
	[DYN_FAILED] = "failed",
	[DYN_ALREADY_STARTED] = "started already",
	[DYN_NO_DEVICE] = "no device is set",
	[DYN_NOT_STARTED] = "not started",
};

bool msp_dynamic_wanted(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--dynamic=on") == 0)
			return true;
	}
	return false;
}

/* --- the connection -------------------------------------------------------------------------- */

static int dial(long key)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd >= 0 && dyn_socket_path(key, address.sun_path, sizeof(address.sun_path)) &&
	    connect(fd, (const struct sockaddr *)&address, sizeof(address)) == 0)
		return fd;
	if (fd >= 0)
		(void)close(fd);
	return -1;
}

/* The answer of this type; -1: the application is gone. */
static int await_answer(int fd, enum dyn_type type)
{
	struct pollfd wait = { .fd = fd, .events = POLLIN };
	struct dyn_word word;

	while (poll(&wait, 1, PATIENCE_S * 1000) > 0 &&
	       recv(fd, &word, sizeof(word), MSG_WAITALL) == (ssize_t)sizeof(word)) {
		if (word.type == (int32_t)type)
			return word.status;
		if (word.type == DYN_DISCONNECT)
			break;
	}
	return -1;
}

static int introduce(struct client *client, const char *json, int dials, struct np_err *err)
{
	struct dyn_params params = { .length = (uint32_t)strlen(json) };

	if (params.length >= sizeof(params.json))
		return np_fail(err, NP_E_RANGE, "the parameters are too long");
	memcpy(params.json, json, params.length);
	client->fd = dial(client->key);
	for (int i = 1; i < dials && client->fd < 0; i++) {
		(void)usleep(DIAL_MS * 1000);
		client->fd = dial(client->key);
	}
	if (client->fd < 0)
		return np_fail(err, NP_E_IO,
			       "cannot reach process %ld: was it started with "
			       "PROFILING_MODE=dynamic, and has it set a device?",
			       client->key);
	if (send(client->fd, &params, sizeof(params), MSG_NOSIGNAL) != (ssize_t)sizeof(params) ||
	    await_answer(client->fd, DYN_PARAMS_RSQ) != DYN_OK)
		return np_fail(err, NP_E_IO, "process %ld does not take the parameters",
			       client->key);
	return NP_OK;
}

/* --- the prompt ------------------------------------------------------------------------------ */

/* Say a word to all and wait for their answers; false if nobody is left to talk to. */
static bool command(struct clients *clients, const char *name, enum dyn_type type)
{
	size_t left = 0;

	for (size_t i = 0; i < clients->count; i++) {
		struct client *client = &clients->item[i];
		struct dyn_word word = { (int32_t)type, 0 };
		int status;

		(void)send(client->fd, &word, sizeof(word), MSG_NOSIGNAL);
		status = await_answer(client->fd, (enum dyn_type)(type + 1));
		if (status >= 0 && status < (int)NP_COUNT(statuses))
			(void)printf("[%s] %s of process %ld: %s\n",
				     status == DYN_OK ? "INFO" : "ERROR", name, client->key,
				     statuses[status]);
		else
			(void)printf("[ERROR] process %ld is gone\n", client->key);
		left += status >= 0 ? 1 : 0;
	}
	(void)fflush(stdout);
	return left > 0;
}

/* An application that ends hangs up. */
static bool is_anybody_there(const struct clients *clients)
{
	for (size_t i = 0; i < clients->count; i++) {
		struct pollfd look = { .fd = clients->item[i].fd, .events = POLLIN };

		if (poll(&look, 1, 0) == 0)
			return true;
	}
	return false;
}

static void converse(struct clients *clients)
{
	struct pollfd in = { .fd = STDIN_FILENO, .events = POLLIN };
	char line[256];
	bool going = true;

	/* What is read is what poll() tells of. */
	(void)setvbuf(stdin, NULL, _IONBF, 0);
	(void)fputs("> ", stdout);
	(void)fflush(stdout);
	while (going && is_anybody_there(clients)) {
		if (poll(&in, 1, DIAL_MS) <= 0)
			continue;
		if (!fgets(line, sizeof(line), stdin))
			break;
		line[strcspn(line, "\r\n")] = '\0';
		if (strcmp(line, "start") == 0)
			going = command(clients, line, DYN_START);
		else if (strcmp(line, "stop") == 0)
			going = command(clients, line, DYN_STOP);
		else if (strcmp(line, "quit") == 0)
			break;
		else if (*line)
			(void)fputs("[ERROR] there are start, stop and quit\n", stdout);
		(void)fputs("> ", stdout);
		(void)fflush(stdout);
	}
	if (is_anybody_there(clients))
		(void)command(clients, "quit", DYN_QUIT);
}

/* --- attaching and launching ----------------------------------------------------------------- */

static int take_pids(int argc, char **argv, struct clients *clients, struct np_err *err)
{
	const char *at = NULL;

	for (int i = 1; i < argc; i++)
		at = strncmp(argv[i], "--pid=", 6) == 0 ? argv[i] + 6 : at;
	while (at && *at) {
		size_t length = strcspn(at, ",");
		int64_t pid;

		if (!np_text_to_int(at, length, &pid) || pid < 1 || clients->count == MOST_PIDS)
			return np_fail(err, NP_E_USAGE, "--pid: '%s' is no list of processes", at);
		clients->item[clients->count++] = (struct client){ (long)pid, -1 };
		at += length + (at[length] == ',' ? 1 : 0);
	}
	return clients->count
		       ? NP_OK
		       : np_fail(err, NP_E_USAGE, "--dynamic=on needs --pid=PID or an application");
}

static pid_t start_application(char **argv)
{
	char key[32];
	pid_t pid;

	(void)snprintf(key, sizeof(key), "%ld", (long)getpid());
	pid = fork();
	if (pid == 0) {
		(void)setenv("PROFILING_MODE", "dynamic", 1);
		(void)setenv("DYNAMIC_PROFILING_KEY_PID", key, 1);
		(void)execvp(argv[0], argv);
		_exit(127);
	}
	return pid;
}

int msp_dynamic(int argc, char **argv, int application, struct np_err *err)
{
	NP_CLEANUP(np_buf_release) struct np_buf json = NP_BUF_INIT;
	struct clients clients = { .count = 0 };
	int status = 0;
	int rc = NP_OK;
	pid_t pid = 0;

	if (!application) {
		rc = take_pids(argc, argv, &clients, err);
	} else {
		clients.item[clients.count++] = (struct client){ (long)getpid(), -1 };
		pid = start_application(argv + application);
	}
	if (rc == NP_OK)
		rc = msp_launch_json(argv, application ? application : argc, &json, err);
	for (size_t i = 0; i < clients.count && rc == NP_OK; i++)
		rc = introduce(&clients.item[i], json.text, application ? DIALS : 1, err);
	if (rc == NP_OK)
		converse(&clients);
	for (size_t i = 0; i < clients.count; i++) {
		if (clients.item[i].fd >= 0)
			(void)close(clients.item[i].fd);
	}
	if (pid > 0)
		status = msp_launch_await(pid);
	return rc < 0 ? -1 : status;
}
