/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A slow file system, for tests: preloaded, it lets a program wait for
 * NP_TEST_SLOW_MS milliseconds before it opens anything whose path contains the
 * text NP_TEST_SLOW_PATH, or before it renames a file to such a path if that text
 * begins with "rename:". With NP_TEST_SLOW_GATE it is not the time that counts: the first
 * time, it makes a directory of that name, a dot and the process id, and waits until somebody
 * has removed it, for a minute at most. With NP_TEST_SLOW_LOG, each such path is a line
 * of that file, so that openings can be counted.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define EXPORTED __attribute__((visibility("default")))

#define RENAME "rename:"

static void sleep_ms(long ms)
{
	struct timespec left = { ms / 1000, ms % 1000 * 1000000 };

	while (nanosleep(&left, &left) < 0)
		continue;
}

static void wait_at(const char *gate)
{
	static atomic_flag passed = ATOMIC_FLAG_INIT;
	char path[4096];

	if (atomic_flag_test_and_set(&passed))
		return;
	(void)snprintf(path, sizeof(path), "%s.%ld", gate, (long)getpid());
	(void)mkdir(path, 0700);
	for (int i = 0; i < 6000 && access(path, F_OK) == 0; i++)
		sleep_ms(10);
}

static void log_path(const char *log, const char *path)
{
	int fd = open(log, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);

	if (fd < 0)
		return;
	(void)dprintf(fd, "%s\n", path);
	(void)close(fd);
}

static void wait_for(const char *path, const char *slow)
{
	const char *log = getenv("NP_TEST_SLOW_LOG");
	const char *text = getenv("NP_TEST_SLOW_MS");
	const char *gate = getenv("NP_TEST_SLOW_GATE");

	if (!path || !strstr(path, slow))
		return;
	if (log)
		log_path(log, path);
	if (gate)
		wait_at(gate);
	else
		sleep_ms(text ? strtol(text, NULL, 10) : 0);
}

static void wait_to_open(const char *path)
{
	const char *slow = getenv("NP_TEST_SLOW_PATH");

	if (slow && strncmp(slow, RENAME, strlen(RENAME)) != 0)
		wait_for(path, slow);
}

static void wait_to_rename(const char *path)
{
	const char *slow = getenv("NP_TEST_SLOW_PATH");

	if (slow && strncmp(slow, RENAME, strlen(RENAME)) == 0)
		wait_for(path, slow + strlen(RENAME));
}

/* The function behind ours. */
static void find(const char *name, void *function, size_t size)
{
	void *symbol = dlsym(RTLD_NEXT, name);

	memcpy(function, &symbol, size);
}

typedef int opener(const char *path, int flags, ...);
typedef int opener_at(int dir, const char *path, int flags, ...);
typedef FILE *stream_opener(const char *path, const char *mode);

#define OPEN(name) \
	EXPORTED opener name; \
	int name(const char *path, int flags, ...) \
	{ \
		opener *next; \
		va_list rest; \
		mode_t mode; \
\
		va_start(rest, flags); \
		mode = va_arg(rest, mode_t); \
		va_end(rest); \
		find(#name, &next, sizeof(next)); \
		wait_to_open(path); \
		return next(path, flags, mode); \
	}

#define OPEN_AT(name) \
	EXPORTED opener_at name; \
	int name(int dir, const char *path, int flags, ...) \
	{ \
		opener_at *next; \
		va_list rest; \
		mode_t mode; \
\
		va_start(rest, flags); \
		mode = va_arg(rest, mode_t); \
		va_end(rest); \
		find(#name, &next, sizeof(next)); \
		wait_to_open(path); \
		return next(dir, path, flags, mode); \
	}

#define OPEN_STREAM(name) \
	EXPORTED stream_opener name; \
	FILE *name(const char *path, const char *mode) \
	{ \
		stream_opener *next; \
\
		find(#name, &next, sizeof(next)); \
		wait_to_open(path); \
		return next(path, mode); \
	}

OPEN(open)
OPEN(open64)
OPEN_AT(openat)
OPEN_AT(openat64)
OPEN_STREAM(fopen)
OPEN_STREAM(fopen64)

EXPORTED int rename(const char *from, const char *to)
{
	int (*next)(const char *, const char *);

	find("rename", &next, sizeof(next));
	wait_to_rename(to);
	return next(from, to);
}
