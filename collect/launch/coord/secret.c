/* SPDX-License-Identifier: Apache-2.0 */
/* The secret of a job whose launchers meet over TCP: from the environment, or through a file. */
#include "secret.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "npuprof/dirs.h"
#include "npuprof/realtime.h"

enum {
	NAP_US = 50000,
	SECRET_LENGTH = 32, /* 128 bits in hexadecimal */
};

#define WAYS \
	"give NPUPROF_TOKEN, the same on every node, or the same --job and a --save-path that all " \
	"nodes see"

static int make_file(struct np_secret *secret, const char *directory, const char *token,
		     struct np_err *err)
{
	bool written;
	int fd;

	if (np_make_dirs_as(directory, 0777, err) < 0)
		return NP_E_IO;
	/* What an earlier job of this name left; somebody else's cannot be removed, or is not
	 * followed. */
	(void)unlink(secret->path);
	fd = open(secret->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return np_fail(err, NP_E_IO, "cannot write the secret of the job to '%.300s': %s",
			       secret->path, strerrordesc_np(errno));
	secret->made = true;
	written = write(fd, token, SECRET_LENGTH) == SECRET_LENGTH;
	written = close(fd) == 0 && written;
	if (written)
		return NP_OK;
	np_secret_forget(secret);
	return np_fail(err, NP_E_IO, "cannot write the secret of the job to '%.300s'",
		       secret->path);
}

enum secret_found {
	FOUND,
	NOT_YET,
	FOREIGN, /* others may have written or read it */
};

static enum secret_found read_file(const char *path, char token[NP_PROOF_TOKEN])
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	enum secret_found found = NOT_YET;
	struct stat info;

	if (fd < 0)
		return errno == ELOOP || errno == EACCES ? FOREIGN : NOT_YET;
	if (fstat(fd, &info) < 0 || !S_ISREG(info.st_mode) || info.st_uid != geteuid() ||
	    (info.st_mode & 077) != 0)
		found = FOREIGN;
	else if (read(fd, token, SECRET_LENGTH) == SECRET_LENGTH)
		found = FOUND;
	token[SECRET_LENGTH] = '\0';
	(void)close(fd);
	return found;
}

bool np_secret_read(const char *path, char token[NP_PROOF_TOKEN])
{
	char latest[NP_PROOF_TOKEN];

	if (read_file(path, latest) != FOUND)
		return false;
	memcpy(token, latest, sizeof(latest));
	return true;
}

static int await_file(const char *path, int seconds, char token[NP_PROOF_TOKEN], struct np_err *err)
{
	np_ns end = np_steady_ns() + (np_ns)seconds * 1000000000;

	for (;;) {
		enum secret_found found = read_file(path, token);

		if (found == FOUND)
			return NP_OK;
		if (found == FOREIGN)
			return np_fail(err, NP_E_IO,
				       "'%.300s' is not a file that only this user can read: it "
				       "is no secret; remove it, or give NPUPROF_TOKEN",
				       path);
		if (np_steady_ns() >= end)
			return np_fail(
				err, NP_E_IO,
				"launcher 0 has left no secret in '%.300s' within %d s; is it "
				"started, and does this node see its --save-path? if not: " WAYS,
				path, seconds);
		(void)usleep(NAP_US);
	}
}

static int find_given(const char *given, const char *job, char token[NP_PROOF_TOKEN],
		      struct np_err *err)
{
	if (strlen(given) < NP_PROOF_LEAST_TEXT)
		return np_fail(err, NP_E_USAGE,
			       "NPUPROF_TOKEN has less than %d characters and can be guessed; "
			       "openssl rand -hex 16 makes a good one",
			       NP_PROOF_LEAST_TEXT);
	np_proof_job_token(given, job, token);
	return NP_OK;
}

int np_secret_find(struct np_secret *secret, const struct np_collect_options *options, int rank,
		   int seconds, char token[NP_PROOF_TOKEN], struct np_err *err)
{
	const char *given = getenv("NPUPROF_TOKEN"); /* NOLINT(concurrency-mt-unsafe) */
	const char *directory = options->save_path ? options->save_path : NP_PLAN_SAVE_PATH;
	const char *job = options->job ? options->job : "";
	if (given)
		return find_given(given, job, token, err);
	if (!*job || strchr(job, '/'))
		return np_fail(err, NP_E_USAGE,
			       "launchers on several nodes need a secret, or anybody could join "
			       "them: " WAYS);
	if (snprintf(secret->path, sizeof(secret->path), "%s/.npuprof-secret-%s", directory, job) >=
	    (int)sizeof(secret->path))
		return np_fail(err, NP_E_USAGE, "--save-path or --job is too long");
	if (rank != 0)
		return await_file(secret->path, seconds, token, err);
	np_proof_new_token(token);
	return make_file(secret, directory, token, err);
}

void np_secret_forget(struct np_secret *secret)
{
	if (secret->made)
		(void)unlink(secret->path);
	secret->made = false;
}
