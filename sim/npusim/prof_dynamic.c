/* SPDX-License-Identifier: Apache-2.0 */
/* The application's end of dynamic.h: one thread that serves one client after another. */
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "dynamic.h"
#include "npuprof/text.h"
#include "prof.h"

enum {
	TICK_MS = 50,
	IDLE_TICKS = DYN_IDLE_S * (1000 / TICK_MS),
};

static struct {
	pthread_t thread;
	pid_t owner; /* 0: nobody serves */
	_Atomic bool over;
	int listener;
	char path[108];
} dynamic;

bool prof_is_dynamic(void)
{
	const char *mode = getenv("PROFILING_MODE");

	return mode && strcmp(mode, "dynamic") == 0;
}

/* Wait for something to read: false if there is nothing more to come. */
static bool await(int fd, int ticks)
{
	struct pollfd wait = { .fd = fd, .events = POLLIN };

	for (int i = 0; i < ticks && !atomic_load(&dynamic.over); i++) {
		if (poll(&wait, 1, TICK_MS) > 0)
			return true;
	}
	return false;
}

static bool receive(int fd, void *data, size_t bytes)
{
	char *at = data;

	while (bytes > 0) {
		ssize_t n = await(fd, IDLE_TICKS) ? recv(fd, at, bytes, 0) : 0;

		if (n <= 0)
			return false;
		at += n;
		bytes -= (size_t)n;
	}
	return true;
}

static bool say(int fd, enum dyn_type type, enum dyn_status status)
{
	struct dyn_word word = { (int32_t)type, (int32_t)status };

	return send(fd, &word, sizeof(word), MSG_NOSIGNAL) == (ssize_t)sizeof(word);
}

/* One word of the client; false when it leaves. */
static bool obey(int fd, const struct dyn_word *word, const char *json)
{
	switch ((enum dyn_type)word->type) {
	case DYN_START:
		return say(fd, DYN_START_RSQ, prof_command_start(json));
	case DYN_STOP:
		return say(fd, DYN_STOP_RSQ, prof_command_stop());
	case DYN_QUIT:
		(void)prof_command_stop();
		(void)say(fd, DYN_QUIT_RSQ, DYN_OK);
		return false;
	default:
		return false;
	}
}

static void serve(int fd)
{
	struct dyn_params params;
	struct dyn_word word;
	bool valid = receive(fd, &params, sizeof(params)) && params.length < DYN_PARAMS_BYTES;

	if (!valid || !say(fd, DYN_PARAMS_RSQ, DYN_OK))
		return;
	params.json[params.length] = '\0';
	for (int i = 0; i < DYN_COMMANDS && receive(fd, &word, sizeof(word)); i++) {
		if (!obey(fd, &word, params.json))
			return;
	}
	/* The end of the application, of patience, or of what one connection may ask. */
	(void)say(fd, DYN_DISCONNECT, DYN_OK);
	(void)prof_command_stop();
}

static void *run(void *unused)
{
	(void)unused;
	for (int i = 0; i < DYN_CONNECTIONS && !atomic_load(&dynamic.over);) {
		int fd = await(dynamic.listener, 1) ? accept(dynamic.listener, NULL, NULL) : -1;

		if (fd < 0)
			continue;
		serve(fd);
		(void)close(fd);
		i++;
	}
	return NULL;
}

static bool listen_at(long key)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	if (!dyn_socket_path(key, dynamic.path, sizeof(dynamic.path)))
		return false;
	memcpy(address.sun_path, dynamic.path, sizeof(address.sun_path));
	dynamic.listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (dynamic.listener >= 0 &&
	    bind(dynamic.listener, (const struct sockaddr *)&address, sizeof(address)) == 0 &&
	    listen(dynamic.listener, 1) == 0)
		return true;
	if (dynamic.listener >= 0)
		(void)close(dynamic.listener);
	return false;
}

void prof_dynamic_begin(void)
{
	const char *given = getenv("DYNAMIC_PROFILING_KEY_PID");
	int64_t key = 0;
	bool listens;

	if (dynamic.owner || !prof_is_dynamic())
		return;
	listens = given && np_text_to_int(given, strlen(given), &key) && listen_at((long)key);
	if (!listens && !listen_at((long)getpid()))
		return;
	if (pthread_create(&dynamic.thread, NULL, run, NULL) == 0)
		dynamic.owner = getpid();
}

void prof_dynamic_end(void)
{
	if (dynamic.owner != getpid())
		return;
	dynamic.owner = 0;
	atomic_store(&dynamic.over, true);
	(void)pthread_join(dynamic.thread, NULL);
	(void)close(dynamic.listener);
	(void)unlink(dynamic.path);
}

__attribute__((destructor)) static void leave(void)
{
	prof_dynamic_end();
}
