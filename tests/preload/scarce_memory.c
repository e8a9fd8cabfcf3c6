/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Too little memory, for tests: preloaded, it refuses process NP_TEST_PROCESS of several
 * NP_TEST_MOST_BYTES bytes or more at once, where they are for a message of another
 * process; the first NP_TEST_MESSAGES of these are given all the same.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define EXPORTED __attribute__((visibility("default")))

static long number(const char *name)
{
	const char *text = getenv(name);

	return text ? strtol(text, NULL, 10) : 0;
}

static int is_refused(size_t size, const void *caller)
{
	static long given;
	const char *rank = getenv("OMPI_COMM_WORLD_RANK");
	long most = number("NP_TEST_MOST_BYTES");
	Dl_info place;

	if (most == 0 || size < (size_t)most || !rank ||
	    number("OMPI_COMM_WORLD_RANK") != number("NP_TEST_PROCESS"))
		return 0;
	if (!dladdr(caller, &place) || !strstr(place.dli_fname, "libnpuprof_mpi"))
		return 0;
	return given++ >= number("NP_TEST_MESSAGES");
}

EXPORTED void *malloc(size_t size)
{
	static void *(*next)(size_t);

	if (!next) {
		void *symbol = dlsym(RTLD_NEXT, "malloc");

		memcpy(&next, &symbol, sizeof(next));
	}
	if (is_refused(size, __builtin_return_address(0))) {
		errno = ENOMEM;
		return NULL;
	}
	return next(size);
}
