/* SPDX-License-Identifier: Apache-2.0 */
/* Libraries of npuprof that are loaded when they are needed. */
#include "module.h"

#ifndef NP_PORTABLE
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

/* Libraries of MPI look for each other among those that all may see. */
#define HOW (RTLD_NOW | RTLD_GLOBAL)

static void *load(const char *library)
{
	char program[PATH_MAX];
	char path[PATH_MAX + 256];
	ssize_t length = readlink("/proc/self/exe", program, sizeof(program) - 1);
	char *slash;
	void *found = NULL;

	program[length < 0 ? 0 : length] = '\0';
	slash = strrchr(program, '/');
	if (slash) {
		*slash = '\0';
		(void)snprintf(path, sizeof(path), "%s/%s", program, library);
		found = dlopen(path, HOW);
	}
	if (slash && !found) {
		(void)snprintf(path, sizeof(path), "%s/../" NP_LIBRARY_DIR "/%s", program, library);
		found = dlopen(path, HOW);
	}
	return found ? found : dlopen(library, HOW);
}
#endif

int np_module_find(const char *library, const char *symbol, void **ret, struct np_err *err)
{
#ifdef NP_PORTABLE
	(void)symbol;
	(void)ret;
	return np_fail(err, NP_E_NOTFOUND,
		       "this npuprof is one file, which loads no libraries ('%s')", library);
#else
	void *handle = load(library);
	void *address;

	if (!handle) {
		/* NOLINTNEXTLINE(concurrency-mt-unsafe): the thread that loaded it asks */
		const char *why = dlerror();

		return np_fail(err, NP_E_NOTFOUND, "%s", why ? why : library);
	}
	address = dlsym(handle, symbol);
	if (!address)
		return np_fail(err, NP_E_FORMAT, "'%s' is of another version of npuprof", library);
	*ret = address;
	return NP_OK;
#endif
}
