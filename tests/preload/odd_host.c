/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A host on which odd things happen in the middle of a job, for tests. Preloaded, once the file
 * NP_TEST_ODD_SIGN is there,
 *
 *   NP_TEST_ODD_CLOCK   the clock of the day is ahead by so many seconds,
 *   NP_TEST_ODD_HANG    files that are made hang for so many milliseconds, each once,
 *   NP_TEST_ODD_FULL    what is written to files fails: the disk is full,
 *   NP_TEST_ODD_MEMORY  there is no memory for so many bytes or more at once,
 *
 * all of it in the process NP_TEST_ODD_PROGRAM (the end of its name) alone, if that is given.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define EXPORTED __attribute__((visibility("default")))

#define REAL(name, type) ((type)(uintptr_t)dlsym(RTLD_NEXT, name))

static long number(const char *name)
{
	const char *text = getenv(name);

	return text ? strtol(text, NULL, 10) : 0;
}

static int has_begun(void)
{
	static int begun;
	const char *sign = getenv("NP_TEST_ODD_SIGN");

	if (!begun && sign)
		begun = access(sign, F_OK) == 0;
	return begun;
}

static int is_here(void)
{
	const char *program = getenv("NP_TEST_ODD_PROGRAM");
	size_t have = strlen(program_invocation_name);
	size_t want = program ? strlen(program) : 0;

	return have >= want &&
	       (want == 0 || strcmp(program_invocation_name + have - want, program) == 0);
}

/* --- the clock ------------------------------------------------------------- */

EXPORTED int clock_gettime(clockid_t id, struct timespec *ret)
{
	static int (*real)(clockid_t, struct timespec *);
	int rc;

	if (!real)
		real = REAL("clock_gettime", int (*)(clockid_t, struct timespec *));
	rc = real(id, ret);
	if (rc == 0 && id == CLOCK_REALTIME && has_begun() && is_here())
		ret->tv_sec += number("NP_TEST_ODD_CLOCK");
	return rc;
}

/* --- files ----------------------------------------------------------------- */

static void hang(void)
{
	long ms = number("NP_TEST_ODD_HANG");
	struct timespec left = { ms / 1000, ms % 1000 * 1000000 };

	if (ms > 0 && has_begun() && is_here())
		(void)nanosleep(&left, NULL);
}

EXPORTED int openat(int dir, const char *path, int flags, ...)
{
	int (*real)(int, const char *, int, ...) =
		REAL("openat", int (*)(int, const char *, int, ...));
	va_list args;
	mode_t mode;

	va_start(args, flags);
	mode = flags & O_CREAT ? va_arg(args, mode_t) : 0;
	va_end(args);
	if (flags & O_CREAT)
		hang();
	return real(dir, path, flags, mode);
}

EXPORTED ssize_t write(int fd, const void *bytes, size_t size)
{
	ssize_t (*real)(int, const void *, size_t) =
		REAL("write", ssize_t(*)(int, const void *, size_t));
	struct stat info;

	if (getenv("NP_TEST_ODD_FULL") && is_here() && has_begun() && fstat(fd, &info) == 0 &&
	    S_ISREG(info.st_mode)) {
		errno = ENOSPC;
		return -1;
	}
	return real(fd, bytes, size);
}

/* --- memory ---------------------------------------------------------------- */

EXPORTED void *realloc(void *old, size_t size)
{
	static void *(*real)(void *, size_t);
	long most;

	if (!real)
		real = REAL("realloc", void *(*)(void *, size_t));
	most = number("NP_TEST_ODD_MEMORY");
	if (most > 0 && size >= (size_t)most && is_here() && has_begun()) {
		errno = ENOMEM;
		return NULL;
	}
	return real(old, size);
}
