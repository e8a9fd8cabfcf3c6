/* SPDX-License-Identifier: Apache-2.0 */
/* Directories and files of a job where others may write too. */
#include "place.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
	NAME_SIZE = 320,
	MAKE_MODE = 0755,
	TRIES = 100,
};

static int fail_place(struct np_err *err, const char *verb, const char *dir, int problem)
{
	return np_fail(err, NP_E_IO, "cannot %s '%.380s': %s", verb, dir, strerror(problem));
}

/* A name that nobody has: made new, never followed. */
static int make_hidden(int place, const char *name, mode_t mode, char hidden[NAME_SIZE])
{
	int fd = -1;

	for (int i = 0; fd < 0 && i < TRIES; i++) {
		(void)snprintf(hidden, NAME_SIZE, ".%.250s.%d-%d", name, (int)getpid(), i);
		fd = openat(place, hidden, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
			    mode);
		if (fd < 0 && errno != EEXIST)
			break;
	}
	return fd;
}

/* Has what we make there the owner of the directory, whatever number that is? */
static bool is_mapped(int place, uid_t owner)
{
	char hidden[NAME_SIZE];
	struct stat info;
	int fd = make_hidden(place, "npuprof-owner", 0600, hidden);
	bool ours = fd >= 0 && fstat(fd, &info) == 0 && info.st_uid == owner;

	if (fd >= 0) {
		(void)unlinkat(place, hidden, 0);
		(void)close(fd);
	}
	return ours;
}

int np_place_open(const char *dir, struct np_err *err)
{
	int place = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat info;

	if (place < 0 && (errno == ELOOP || errno == ENOTDIR))
		return np_fail(err, NP_E_IO, "'%.380s' is a link or no directory, and not used",
			       dir);
	if (place < 0)
		return fail_place(err, "open the directory", dir, errno);
	if (fstat(place, &info) < 0 ||
	    (info.st_uid != geteuid() && !is_mapped(place, info.st_uid))) {
		(void)close(place);
		return np_fail(
			err, NP_E_IO,
			"the directory '%.300s' belongs to another user, who could change what "
			"is written there: it is not used",
			dir);
	}
	if (info.st_mode & S_IWOTH)
		(void)fchmod(place, info.st_mode & 07777U & ~(mode_t)S_IWOTH);
	return place;
}

int np_place_make(const char *dir, struct np_err *err)
{
	int place;

	if (mkdir(dir, MAKE_MODE) < 0 && errno != EEXIST)
		return fail_place(err, "make the directory", dir, errno);
	place = np_place_open(dir, err);
	if (place < 0)
		return place;
	(void)close(place);
	return NP_OK;
}

static bool write_all(int fd, struct np_place_bytes text)
{
	size_t done = 0;

	while (done < text.length) {
		ssize_t wrote = write(fd, text.bytes + done, text.length - done);

		if (wrote < 0 && errno == EINTR)
			continue;
		if (wrote < 0)
			return false;
		done += (size_t)wrote;
	}
	if (text.local_time) {
		struct timespec times[2];

		(void)clock_gettime(CLOCK_REALTIME, &times[0]);
		times[1] = times[0];
		if (futimens(fd, times) < 0)
			return false;
	}
	return !text.durable || fsync(fd) == 0;
}

int np_place_write(const char *dir, const char *name, struct np_place_bytes text, mode_t mode,
		   struct np_err *err)
{
	char hidden[NAME_SIZE];
	int place = np_place_open(dir, err);
	int problem = 0;
	int fd;

	if (place < 0)
		return place;
	fd = make_hidden(place, name, mode, hidden);
	if (fd < 0 || !write_all(fd, text))
		problem = errno;
	if (fd >= 0 && close(fd) < 0 && !problem)
		problem = errno;
	if (!problem && renameat(place, hidden, place, name) < 0)
		problem = errno;
	if (problem && fd >= 0)
		(void)unlinkat(place, hidden, 0);
	(void)close(place);
	if (!problem)
		return NP_OK;
	return np_fail(err, NP_E_IO, "cannot write '%.300s/%.100s': %s", dir, name,
		       strerror(problem));
}

int np_place_append(const char *dir, const char *name, mode_t mode, struct np_err *err)
{
	int place = np_place_open(dir, err);
	struct stat info;
	int problem;
	int fd;

	if (place < 0)
		return place;
	fd = openat(place, name, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK,
		    mode);
	problem = fd < 0 ? errno : 0;
	(void)close(place);
	/* A second name of another file of ours is none to add to. */
	if (fd >= 0 && (fstat(fd, &info) < 0 || !S_ISREG(info.st_mode) || info.st_nlink != 1)) {
		(void)close(fd);
		problem = ELOOP;
	}
	if (!problem)
		return fd;
	return np_fail(err, NP_E_IO, "cannot write '%.300s/%.100s': %s", dir, name,
		       problem == ELOOP ? "it is a link" : strerror(problem));
}
