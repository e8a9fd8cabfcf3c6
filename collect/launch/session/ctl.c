/* SPDX-License-Identifier: Apache-2.0 */
/* Both ends of "npuprof ctl": the launcher that listens, and the client that finds it. */
#include "ctl.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "collect/launch/plan/plan.h"
#include "collect/place.h"
#include "collect/protocol.h"
#include "collect/rank_list.h"
#include "npuprof/json.h"
#include "npuprof/jsonout.h"
#include "npuprof/realtime.h"

/* --- the launcher ---------------------------------------------------------- */

enum {
	PATIENCE_MS = 2000, /* for a client that connects and says nothing */
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

int np_ctl_listen(struct np_ctl_door *door, const char *root, const char *job, const char *host,
		  int rank, struct np_err *err)
{
	char name[100];
	int fd;

	(void)snprintf(name, sizeof(name), "npuprof-ctl-%u-%.40s-%d", (unsigned)getuid(), job,
		       (int)getpid());
	fd = np_protocol_listen(name, err);
	if (fd < 0)
		return NP_E_IO;
	if (describe(root, rank, name, host, err) < 0) {
		(void)close(fd);
		return NP_E_IO;
	}
	*door = (struct np_ctl_door){ .listener = fd };
	return NP_OK;
}

void np_ctl_close(struct np_ctl_door *door)
{
	if (door->listener >= 0)
		(void)close(door->listener);
	for (int i = 0; i < door->count; i++)
		(void)close(door->clients[i].fd);
	*door = NP_CTL_DOOR_INIT;
}

void np_ctl_forget(const char *root, int rank)
{
	char path[PATH_MAX];

	path_of(root, "", rank, path, sizeof(path));
	(void)unlink(path);
}

/* Let in who has come, as far as there is room: others wait in the kernel. */
static void let_in(struct np_ctl_door *door)
{
	int fd;

	while (door->listener >= 0 && door->count < NP_CTL_CLIENTS &&
	       (fd = np_protocol_accept(door->listener)) >= 0) {
		door->clients[door->count].fd = fd;
		door->clients[door->count].until = np_steady_ns() + (np_ns)PATIENCE_MS * 1000000;
		door->count++;
	}
}

int np_ctl_check(const struct np_ctl_request *request, struct np_err *err)
{
	if (request->verb < NP_CTL_START || request->verb > NP_CTL_STATUS)
		return np_fail(err, NP_E_USAGE, "there is no request %d", (int)request->verb);
	if (request->steps < -1 || request->steps == 0 || request->steps > NP_PLAN_LAST_STEP ||
	    request->at < -1 || request->at > NP_PLAN_LAST_STEP)
		return np_fail(err, NP_E_USAGE, "no window has these steps");
	if (request->level < -1 || request->level > NP_LEVEL_2)
		return np_fail(err, NP_E_USAGE, "there is no level %d", (int)request->level);
	return request->ranks[0] ? np_rank_list_check(request->ranks, err) : NP_OK;
}

/* What this client has said: 1 a request, 0 nothing yet, -1 it is to be sent away. */
static int hear_client(int fd, struct np_ctl_request *ret)
{
	struct np_err err = NP_ERR_INIT;
	ssize_t got = recv(fd, ret, sizeof(*ret), MSG_DONTWAIT);

	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (got != (ssize_t)sizeof(*ret) || ret->version != NP_CTL_VERSION) {
		np_ctl_answer(fd, true, "the job is collected by another version of npuprof");
		return -1;
	}
	ret->ranks[sizeof(ret->ranks) - 1] = '\0';
	if (np_ctl_check(ret, &err) == NP_OK)
		return 1;
	np_ctl_answer(fd, true, err.text);
	return -1;
}

int np_ctl_take(struct np_ctl_door *door, struct np_ctl_request *ret)
{
	np_ns now = np_steady_ns();

	let_in(door);
	for (int i = 0; i < door->count;) {
		int fd = door->clients[i].fd;
		int heard = hear_client(fd, ret);

		if (heard == 0 && now < door->clients[i].until) {
			i++;
			continue;
		}
		if (heard == 0)
			(void)close(fd);
		door->clients[i] = door->clients[--door->count];
		if (heard > 0)
			return fd;
	}
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

/* --- the client ------------------------------------------------------------ */

enum {
	MOST_BYTES = 65536,
};

/* The next file of a launcher in the directory of a job; NULL: there is none left. */
static const struct dirent *next_control(DIR *stream)
{
	const struct dirent *entry;

	/* Nobody else reads this stream. NOLINTNEXTLINE(concurrency-mt-unsafe) */
	while ((entry = readdir(stream))) {
		if (strncmp(entry->d_name, NP_CTL_PREFIX, sizeof(NP_CTL_PREFIX) - 1) == 0)
			return entry;
	}
	return NULL;
}

bool np_ctl_has_job(const char *dir)
{
	DIR *stream = opendir(dir);
	bool found = stream && next_control(stream);

	if (stream)
		(void)closedir(stream);
	return found;
}

int np_ctl_find_job(const char *dir, char *job, size_t size, struct np_err *err)
{
	const struct dirent *entry;
	int count = 0;
	DIR *stream;

	(void)snprintf(job, size, "%s", dir);
	if (np_ctl_has_job(dir))
		return NP_OK;
	stream = opendir(dir);
	if (!stream)
		return np_fail(err, NP_E_NOTFOUND,
			       "cannot read '%.300s': %s; give the directory of the job with -d",
			       dir, strerrordesc_np(errno));
	/* Nobody else reads this stream. NOLINTNEXTLINE(concurrency-mt-unsafe) */
	while ((entry = readdir(stream))) {
		char part[PATH_MAX];

		if (entry->d_name[0] == '.')
			continue;
		(void)snprintf(part, sizeof(part), "%.*s/%s", PATH_MAX - 400, dir, entry->d_name);
		if (np_ctl_has_job(part) && count++ == 0)
			(void)snprintf(job, size, "%s", part);
	}
	(void)closedir(stream);
	if (count > 1)
		return np_fail(err, NP_E_USAGE,
			       "%d jobs are running in '%.300s'; name the directory of one", count,
			       dir);
	if (count == 0)
		return np_fail(err, NP_E_NOTFOUND,
			       "no job is running in '%.300s': there is no " NP_CTL_PREFIX
			       "json in it; give the directory that npuprof-collect printed",
			       dir);
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

/* The launcher on this host; `host` is where one is that cannot be reached. */
static int connect_launcher(const char *job, char *host, size_t size, struct np_err *err)
{
	const struct dirent *entry;
	DIR *stream = opendir(job);
	int fd = -1;

	(void)snprintf(host, size, "another host");
	while (stream && fd < 0 && (entry = next_control(stream))) {
		char path[PATH_MAX];
		char name[108];

		(void)snprintf(path, sizeof(path), "%.*s/%s", PATH_MAX - 300, job, entry->d_name);
		if (read_control(path, name, sizeof(name), host, size, err) == NP_OK)
			fd = np_protocol_connect(name);
	}
	if (stream)
		(void)closedir(stream);
	return fd;
}

int np_ctl_ask(const char *dir, const struct np_ctl_request *request, struct np_ctl_answer *ret,
	       int timeout_s, struct np_err *err)
{
	struct np_err why = NP_ERR_INIT;
	char job[PATH_MAX];
	char host[256];
	int rc = np_ctl_find_job(dir, job, sizeof(job), err);
	int fd;

	if (rc < 0)
		return rc;
	/* What a directory of others says of sockets is not asked. */
	fd = np_place_open(job, err);
	if (fd < 0)
		return fd;
	(void)close(fd);
	fd = connect_launcher(job, host, sizeof(host), &why);
	if (fd < 0 && why.text[0])
		return np_fail(err, NP_E_IO, "%s", why.text);
	if (fd < 0)
		return np_fail(err, NP_E_IO,
			       "cannot reach a launcher of '%.200s'; one is on %.100s: is this a "
			       "host of the job, this its user, and does it still run?",
			       job, host);
	rc = converse(fd, request, ret, timeout_s, err);
	(void)close(fd);
	return rc;
}
