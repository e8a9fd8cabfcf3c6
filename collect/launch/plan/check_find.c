/* SPDX-License-Identifier: Apache-2.0 */
#include "check_find.h"

#include <limits.h>
#include <unistd.h>

bool np_find_beside(const char *name, char *path, size_t size)
{
	/* Beside the program: a build directory. The others: an installation. */
	static const char *const places[] = { "", "../lib/", "../" NP_LIBRARY_DIR "/", "../bin/" };
	char program[PATH_MAX];
	ssize_t length = readlink("/proc/self/exe", program, sizeof(program) - 1);
	char *slash;

	if (length < 0)
		return false;
	program[length] = '\0';
	slash = strrchr(program, '/');
	if (!slash)
		return false;
	slash[1] = '\0';
	for (size_t i = 0; i < NP_COUNT(places); i++) {
		(void)snprintf(path, size, "%s%s%s", program, places[i], name);
		if (access(path, R_OK) == 0)
			return true;
	}
	return false;
}

bool np_find_program(const char *name, char *path, size_t size)
{
	const char *at = getenv("PATH"); /* NOLINT(concurrency-mt-unsafe) */

	if (strchr(name, '/')) {
		(void)snprintf(path, size, "%s", name);
		return access(name, X_OK) == 0;
	}
	for (at = at ? at : "/bin:/usr/bin"; at; at = strchr(at, ':')) {
		at += *at == ':' ? 1 : 0;
		(void)snprintf(path, size, "%.*s/%s", (int)strcspn(at, ":"), at, name);
		if (access(path, X_OK) == 0)
			return true;
	}
	return false;
}
