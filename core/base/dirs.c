/* SPDX-License-Identifier: Apache-2.0 */
#include "npuprof/dirs.h"

#include <errno.h>
#include <sys/stat.h>

static int make(const char *path)
{
	return mkdir(path, 0777) < 0 && errno != EEXIST ? errno : 0;
}

int np_make_dirs(const char *path, struct np_err *err)
{
	char *copy = strdup(path);
	int failed = 0;

	if (!copy)
		return np_fail_nomem(err, path);
	for (char *slash = strchr(copy + 1, '/'); *copy && slash && !failed;
	     slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		failed = make(copy);
		*slash = '/';
	}
	if (!failed)
		failed = make(copy);
	free(copy);
	if (failed)
		return np_fail(err, NP_E_IO, "cannot make the directory '%s': %s", path,
			       strerror(failed));
	return NP_OK;
}
