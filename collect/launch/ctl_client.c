/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ctl.h"
#include "npuprof/json.h"
#include "protocol.h"

enum {
	MOST_BYTES = 65536,
};

/* A job that may be running: the file of its launcher. */
static bool has_control(const char *dir, char *path, size_t size)
{
	(void)snprintf(path, size, "%.*s/" NP_CTL_FILE, PATH_MAX - 64, dir);
	return access(path, F_OK) == 0;
}

/* The one job in a directory, or in one of the directories in it. */
static int find_job(const char *dir, char *path, size_t size, struct np_err *err)
{
	char part[PATH_MAX];
	const struct dirent *entry;
	char found[PATH_MAX] = "";
	int count = 0;
	DIR *stream;

	if (has_control(dir, path, size))
		return NP_OK;
	stream = opendir(dir);
	if (!stream)
		return np_fail(err, NP_E_NOTFOUND, "cannot read '%.380s': %s", dir,
			       strerrordesc_np(errno));
	/* Nobody else reads this stream. NOLINTNEXTLINE(concurrency-mt-unsafe) */
	while ((entry = readdir(stream))) {
		if (entry->d_name[0] == '.')
			continue;
		(void)snprintf(part, sizeof(part), "%.*s/%s", PATH_MAX - 400, dir, entry->d_name);
		if (has_control(part, path, size) && count++ == 0)
			(void)snprintf(found, sizeof(found), "%s", path);
	}
	(void)closedir(stream);
	if (count > 1)
		return np_fail(err, NP_E_USAGE,
			       "%d jobs are running in '%.300s'; name the directory of one", count,
			       dir);
	if (count == 0)
		return np_fail(err, NP_E_NOTFOUND,
			       "no job is running in '%.300s': there is no " NP_CTL_FILE
			       " in it; give the directory that npuprof-collect printed",
			       dir);
	(void)snprintf(path, size, "%s", found);
	return NP_OK;
}

static int read_control(const char *path, char *name, size_t size, char *host, size_t host_size,
			struct np_err *err)
{
	NP_CLEANUP(np_json_freep) struct np_json *doc = NULL;
	const char *text;
	int rc = np_json_read_file(path, MOST_BYTES, &doc, err);

	if (rc < 0)
		return rc;
	text = np_json_text(np_json_member(doc, "socket"));
	if (!text)
		return np_fail(err, NP_E_FORMAT, "'%.380s' names no socket", path);
	(void)snprintf(name, size, "%s", text);
	text = np_json_text(np_json_member(doc, "host"));
	(void)snprintf(host, host_size, "%s", text ? text : "another host");
	return NP_OK;
}

static int converse(int fd, const struct np_ctl_request *request, struct np_ctl_answer *ret,
		    int timeout_s, struct np_err *err)
{
	struct pollfd wait = { .fd = fd, .events = POLLIN };
	ssize_t got = -1;

	if (send(fd, request, sizeof(*request), MSG_NOSIGNAL) == (ssize_t)sizeof(*request)) {
		if (poll(&wait, 1, timeout_s * 1000) == 0)
			return np_fail(err, NP_E_IO, "the job does not answer within %d s",
				       timeout_s);
		got = recv(fd, ret, sizeof(*ret), 0);
	}
	if (got != (ssize_t)sizeof(*ret) || ret->version != NP_CTL_VERSION)
		return np_fail(err, NP_E_IO,
			       "the job refuses to talk: it has just ended, belongs to another "
			       "user or is collected by another version of npuprof");
	ret->text[sizeof(ret->text) - 1] = '\0';
	return NP_OK;
}

int np_ctl_ask(const char *dir, const struct np_ctl_request *request, struct np_ctl_answer *ret,
	       int timeout_s, struct np_err *err)
{
	char path[PATH_MAX];
	char name[108];
	char host[256];
	int rc = find_job(dir, path, sizeof(path), err);
	int fd;

	if (rc == NP_OK)
		rc = read_control(path, name, sizeof(name), host, sizeof(host), err);
	if (rc < 0)
		return rc;
	fd = np_protocol_connect(name);
	if (fd < 0)
		return np_fail(err, NP_E_IO,
			       "cannot reach the launcher of '%.200s'; it is on %.100s: is this "
			       "that host, this user, and does the job still run?",
			       path, host);
	rc = converse(fd, request, ret, timeout_s, err);
	(void)close(fd);
	return rc;
}
