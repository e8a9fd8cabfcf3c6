/* SPDX-License-Identifier: Apache-2.0 */
#include "locate.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const beside[] = { "rules", "../share/npuprof/rules" };

/* The directory of the running program, without a final slash. */
static bool program_directory(char *ret, size_t size)
{
	ssize_t length = readlink("/proc/self/exe", ret, size - 1);
	char *slash;

	if (length <= 0)
		return false;
	ret[length] = '\0';
	slash = strrchr(ret, '/');
	if (!slash)
		return false;
	*slash = '\0';
	return true;
}

static int read_own(struct rule_library *library, struct np_err *err)
{
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): nobody here changes the environment */
	const char *chosen = getenv("NPUPROF_RULES");
	char directory[PATH_MAX];

	if (chosen && *chosen)
		return rule_library_read(library, chosen, err);
	if (!program_directory(directory, sizeof(directory)))
		return NP_OK;
	for (size_t i = 0; i < NP_COUNT(beside); i++) {
		char *path = NULL;
		int rc = NP_OK;
		bool found;

		if (asprintf(&path, "%s/%s", directory, beside[i]) < 0)
			return np_fail_nomem(err, "rules");
		found = access(path, R_OK) == 0;
		if (found)
			rc = rule_library_read(library, path, err);
		free(path);
		if (found)
			return rc;
	}
	return NP_OK;
}

int rules_read_all(struct rule_library *library, const char *const *more, size_t count,
		   struct np_err *err)
{
	int rc = read_own(library, err);

	for (size_t i = 0; i < count && rc == NP_OK; i++)
		rc = rule_library_read(library, more[i], err);
	return rc == NP_OK ? rule_library_finish(library, err) : rc;
}
