/* SPDX-License-Identifier: Apache-2.0 */
/* What a writer left beside a database, and the private copy that this takes. */
#include "db_private.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* The size of `path` + `suffix`, or -1 if there is no such file. */
int64_t np_db_size_beside(const char *path, const char *suffix)
{
	struct stat status;
	char *name;
	int rc;

	if (asprintf(&name, "%s%s", path, suffix) < 0)
		return -1;
	rc = stat(name, &status);
	free(name);
	return rc == 0 ? (int64_t)status.st_size : -1;
}

bool np_db_has_sidecar(const char *path)
{
	return np_db_size_beside(path, "-wal") > 0 || np_db_size_beside(path, "-journal") > 0;
}

static int copy_bytes(int from, int to)
{
	char block[65536];
	ssize_t got;

	while ((got = read(from, block, sizeof(block))) > 0) {
		ssize_t done = 0;

		while (done < got) {
			ssize_t put = write(to, block + done, (size_t)(got - done));

			if (put < 0)
				return -1;
			done += put;
		}
	}
	return got < 0 ? -1 : 0;
}

/* Copy `path` + `suffix` to `target` + `suffix`; a missing source is fine. */
static int copy_file(const char *path, const char *target, const char *suffix, struct np_err *err)
{
	char *source_name = NULL;
	char *target_name = NULL;
	int from = -1;
	int to = -1;
	int rc = NP_OK;

	if (asprintf(&source_name, "%s%s", path, suffix) < 0 ||
	    asprintf(&target_name, "%s%s", target, suffix) < 0) {
		free(source_name);
		return np_fail_nomem(err, path);
	}
	from = open(source_name, O_RDONLY | O_CLOEXEC);
	if (from >= 0)
		to = open(target_name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (from < 0 && errno != ENOENT)
		rc = np_fail(err, NP_E_IO, "cannot open '%s': %s", source_name, strerror(errno));
	else if (from >= 0 && (to < 0 || copy_bytes(from, to) < 0))
		rc = np_fail(err, NP_E_IO, "cannot copy '%s' to a temporary directory: %s",
			     source_name, strerror(errno));
	if (from >= 0)
		(void)close(from);
	if (to >= 0 && close(to) < 0 && rc == NP_OK)
		rc = np_fail(err, NP_E_IO, "cannot copy '%s' to a temporary directory: %s",
			     source_name, strerror(errno));
	free(source_name);
	free(target_name);
	return rc;
}

void np_db_remove_sidecars(const char *path)
{
	static const char *const suffixes[] = { "-wal", "-shm", "-journal" };

	for (size_t i = 0; i < NP_COUNT(suffixes); i++) {
		char *name;

		if (asprintf(&name, "%s%s", path, suffixes[i]) < 0)
			continue;
		(void)unlink(name);
		free(name);
	}
}

int np_db_copy(const char *file, struct db_copy *ret, struct np_err *err)
{
	const char *root = getenv("TMPDIR");
	int rc;

	if (asprintf(&ret->dir, "%s/npuprof-XXXXXX", root && *root ? root : "/tmp") < 0) {
		ret->dir = NULL;
		return np_fail_nomem(err, file);
	}
	if (!mkdtemp(ret->dir)) {
		rc = np_fail(err, NP_E_IO, "cannot make a temporary directory '%s': %s", ret->dir,
			     strerror(errno));
		free(ret->dir);
		ret->dir = NULL;
		return rc;
	}
	if (asprintf(&ret->file, "%s/copy.db", ret->dir) < 0) {
		ret->file = NULL;
		return np_fail_nomem(err, file);
	}
	rc = copy_file(file, ret->file, "", err);
	if (rc == NP_OK)
		rc = copy_file(file, ret->file, "-wal", err);
	if (rc == NP_OK)
		rc = copy_file(file, ret->file, "-journal", err);
	return rc;
}

void np_db_copy_remove(struct db_copy *copy)
{
	if (copy->file) {
		np_db_remove_sidecars(copy->file);
		(void)unlink(copy->file);
	}
	if (copy->dir)
		(void)rmdir(copy->dir);
	free(copy->file);
	free(copy->dir);
}
