/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "collect/protocol.h"
#include "ctl.h"
#include "npuprof/jsonout.h"

enum {
	PATIENCE_MS = 500, /* for a client that connects and says nothing */
};

/* With a dot before its name, which clients do not look for, while it is written. */
static void path_of(const char *root, const char *dot, int rank, char *path, size_t size)
{
	if (rank == 0)
		(void)snprintf(path, size, "%.*s/%s" NP_CTL_PREFIX "json", PATH_MAX - 64, root,
			       dot);
	else
		(void)snprintf(path, size, "%.*s/%s" NP_CTL_PREFIX "%d.json", PATH_MAX - 64, root,
			       dot, rank);
}

static int write_file(const char *root, int rank, const struct np_buf *text, struct np_err *err)
{
	char hidden[PATH_MAX];
	char path[PATH_MAX];
	bool written;
	int fd;

	path_of(root, ".", rank, hidden, sizeof(hidden));
	path_of(root, "", rank, path, sizeof(path));
	fd = open(hidden, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return np_fail(err, NP_E_IO, "cannot write '%.380s': %s", path,
			       strerrordesc_np(errno));
	written = write(fd, text->text, text->length) == (ssize_t)text->length;
	(void)close(fd);
	if (written && rename(hidden, path) == 0)
		return NP_OK;
	(void)unlink(hidden);
	return np_fail(err, NP_E_IO, "cannot write '%.380s'", path);
}

static int describe(const char *root, int rank, const char *name, const char *host,
		    struct np_err *err)
{
	NP_CLEANUP(np_jsonout_release) struct np_jsonout out;
	int rc;

	np_jsonout_init(&out, NULL);
	np_jsonout_object(&out, NULL);
	np_jsonout_text(&out, "schema", NP_CTL_SCHEMA);
	np_jsonout_text(&out, "host", host);
	np_jsonout_integer(&out, "pid", getpid());
	np_jsonout_text(&out, "socket", name);
	np_jsonout_end(&out);
	rc = np_jsonout_finish(&out, err);
	return rc == NP_OK ? write_file(root, rank, &out.buf, err) : rc;
}

int np_ctl_listen(const char *root, const char *job, const char *host, int rank, struct np_err *err)
{
	char name[100];
	int fd;

	(void)snprintf(name, sizeof(name), "npuprof-ctl-%u-%.40s-%d", (unsigned)getuid(), job,
		       (int)getpid());
	fd = np_protocol_listen(name, err);
	if (fd >= 0 && describe(root, rank, name, host, err) < 0) {
		(void)close(fd);
		return -1;
	}
	return fd;
}

void np_ctl_forget(const char *root, int rank)
{
	char path[PATH_MAX];

	path_of(root, "", rank, path, sizeof(path));
	(void)unlink(path);
}

int np_ctl_take(int listener, struct np_ctl_request *ret)
{
	int fd = listener < 0 ? -1 : np_protocol_accept(listener);
	struct pollfd wait = { .fd = fd, .events = POLLIN };

	if (fd < 0)
		return -1;
	if (poll(&wait, 1, PATIENCE_MS) > 0 &&
	    recv(fd, ret, sizeof(*ret), MSG_DONTWAIT) == (ssize_t)sizeof(*ret) &&
	    ret->version == NP_CTL_VERSION) {
		ret->ranks[sizeof(ret->ranks) - 1] = '\0';
		return fd;
	}
	np_ctl_answer(fd, true, "the job is collected by another version of npuprof");
	return -1;
}

void np_ctl_answer(int fd, bool failed, const char *text)
{
	struct np_ctl_answer answer = { .version = NP_CTL_VERSION, .failed = failed };

	if (fd < 0)
		return;
	(void)snprintf(answer.text, sizeof(answer.text), "%s", text);
	(void)send(fd, &answer, sizeof(answer), MSG_NOSIGNAL | MSG_DONTWAIT);
	(void)close(fd);
}
