/* SPDX-License-Identifier: Apache-2.0 */
/* Locks on directories of results: held until the process ends, with the name of the holder in
 * them. */
#include "npuprof/lock.h"

#include "npuprof/dirs.h"
#include "npuprof/realtime.h"
#include "npuprof/temporary.h"
#include "npuprof/vec.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#define NAP_US 50000

struct lock {
	int fd;
	char *path;
	dev_t device; /* of the directory: one may be named in several ways */
	ino_t inode;
};

static NP_VEC(struct lock) held;
static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static pid_t holder;

/* The file goes before the lock does: who waits for it finds that it is another one, and makes its
 * own. */
static void release(struct lock *lock)
{
	if (holder == getpid())
		(void)unlink(lock->path);
	if (lock->fd >= 0)
		(void)close(lock->fd);
	np_temporary_free(lock->path);
}

void np_lock_release_all(void)
{
	(void)pthread_mutex_lock(&guard);
	for (size_t i = 0; i < held.count; i++)
		release(&held.item[i]);
	np_vec_release(&held);
	(void)pthread_mutex_unlock(&guard);
}

/* Either kind may be held: a lock of the kernel, or a file that only one can make. */
static bool have(const struct stat *directory, bool by_kernel)
{
	for (size_t i = 0; i < held.count; i++) {
		if (held.item[i].device == directory->st_dev &&
		    held.item[i].inode == directory->st_ino && (held.item[i].fd >= 0) == by_kernel)
			return true;
	}
	return false;
}

/* Is the file that was locked the one that has the name? */
static bool is_current(int fd, const char *path)
{
	struct stat mine;
	struct stat named;

	return fstat(fd, &mine) == 0 && stat(path, &named) == 0 && mine.st_dev == named.st_dev &&
	       mine.st_ino == named.st_ino;
}

/* "process 4711 on node3 since 2026-11-18 09:30:00", as the holder wrote it. */
static void write_holder(int fd)
{
	char host[65] = "";
	char text[200];
	char since[32];
	time_t now = time(NULL);
	struct tm local;

	(void)gethostname(host, sizeof(host) - 1);
	(void)localtime_r(&now, &local);
	(void)strftime(since, sizeof(since), "%Y-%m-%d %H:%M:%S", &local);
	(void)snprintf(text, sizeof(text), "process %d on %s since %s\n", (int)getpid(), host,
		       since);
	if (ftruncate(fd, 0) == 0)
		(void)!pwrite(fd, text, strlen(text), 0);
}

static int fail_held(int fd, const char *path, np_ns wait_ns, struct np_err *err)
{
	char text[200];
	ssize_t length = pread(fd, text, sizeof(text) - 1, 0);

	text[length > 0 ? length : 0] = '\0';
	text[strcspn(text, "\n")] = '\0';
	return np_fail(err, NP_E_BUSY, "'%.300s' is being written by %s; waited %d s for it", path,
		       *text ? text : "another process", (int)(wait_ns / 1000000000));
}

/* Is it a file that npuprof makes, with one name? Whatever else has the name is not written to. */
static bool is_lock(int fd)
{
	char text[8] = "";
	struct stat info;

	return fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_nlink <= 1 &&
	       (info.st_size == 0 || (pread(fd, text, sizeof(text), 0) == (ssize_t)sizeof(text) &&
				      memcmp(text, "process ", sizeof(text)) == 0));
}

/* 1: locked, 0: try again, -1: there are no locks here */
static int try_lock(int fd, const char *path)
{
	if (!is_lock(fd))
		return -1;
	if (flock(fd, LOCK_EX | LOCK_NB) < 0)
		return errno == EWOULDBLOCK || errno == EINTR ? 0 : -1;
	return is_current(fd, path) ? 1 : 0;
}

/* Sets a descriptor that has the lock, or -1 where there are none. */
static int wait_for(const char *directory, const char *path, np_ns wait_ns, int *ret,
		    struct np_err *err)
{
	np_ns end = np_steady_ns() + wait_ns;

	for (;;) {
		int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666);
		int locked = fd < 0 ? -1 : try_lock(fd, path);

		if (locked > 0) {
			*ret = fd;
			return NP_OK;
		}
		if (locked < 0 || np_steady_ns() >= end) {
			int rc = locked < 0 ? NP_OK : fail_held(fd, directory, wait_ns, err);

			/* Not locked, a file of ours says nothing; one of somebody else stays. */
			if (locked < 0 && fd >= 0 && is_lock(fd))
				(void)unlink(path);
			if (fd >= 0)
				(void)close(fd);
			*ret = -1;
			return rc;
		}
		(void)close(fd);
		(void)usleep(NAP_US);
	}
}

/* `path` is owned by the lock from here on. */
static int hold(char *path, int fd, const struct stat *directory, struct np_err *err)
{
	struct lock *lock = np_vec_add(&held, err);

	if (!lock) {
		(void)unlink(path);
		if (fd >= 0)
			(void)close(fd);
		np_temporary_free(path);
		return NP_E_NOMEM;
	}
	*lock = (struct lock){ fd, path, directory->st_dev, directory->st_ino };
	if (!holder)
		(void)atexit(np_lock_release_all);
	holder = getpid();
	if (fd >= 0)
		write_holder(fd);
	return NP_OK;
}

static int lock_directory(const char *path, np_ns wait_ns, struct np_err *err)
{
	struct stat directory;
	char *name;
	int fd = -1;
	int rc;

	if (stat(path, &directory) < 0 || have(&directory, true))
		return NP_OK;
	name = np_join_path(path, NP_LOCK_NAME);
	if (!name)
		return np_fail_nomem(err, path);
	rc = wait_for(path, name, wait_ns, &fd, err);
	if (fd < 0) {
		free(name);
		return rc;
	}
	/* Whoever stops the program finds no file of ours. */
	np_temporary_add(name);
	return hold(name, fd, &directory, err);
}

int np_lock_dir(const char *path, np_ns wait_ns, struct np_err *err)
{
	int rc = np_make_dirs(path, err);

	if (rc < 0)
		return rc;
	(void)pthread_mutex_lock(&guard);
	rc = lock_directory(path, wait_ns, err);
	(void)pthread_mutex_unlock(&guard);
	return rc;
}

/* --- a file that only one can make ------------------------------------------------------------ */

/* May other hosts write here, who do not see the locks of this one? */
static bool is_remote(const char *path)
{
	static const unsigned long kinds[] = {
		0x6969,     /* NFS */
		0xFF534D42, /* CIFS */
		0xFE534D42, /* SMB2 */
		0x517B,     /* SMB */
		0x0BD00BD0, /* Lustre */
		0x47504653, /* GPFS */
		0x00C36400, /* Ceph */
		0x65735546, /* FUSE */
		0x01021997, /* 9P */
		0x19830326, /* BeeGFS */
		0x7461636F, /* OCFS2 */
		0x01161970, /* GFS2 */
	};
	struct statfs info;

	if (statfs(path, &info) != 0)
		return false;
	for (size_t i = 0; i < NP_COUNT(kinds); i++) {
		if (((unsigned long)info.f_type & 0xFFFFFFFFUL) == kinds[i])
			return true;
	}
	return false;
}

static np_ns changed_at(const struct stat *info)
{
	return (np_ns)info->st_mtim.tv_sec * 1000000000 + info->st_mtim.tv_nsec;
}

/*
 * The name of the holder's own file is the second of the inode; that of a process of this host
 * that is no more has been swept away (npuprof/temporary.h). Ages are by the clock of the file
 * system: `own` was touched just now.
 */
static bool is_abandoned(const char *name, const char *own, struct stat *ret)
{
	struct stat mine;

	return stat(name, ret) == 0 && stat(own, &mine) == 0 &&
	       (ret->st_nlink == 1 || changed_at(&mine) - changed_at(ret) > NP_LOCK_STALE_NS);
}

/* A name that is no other's, not even that of the own file. Makes the dead be swept away. */
static char *other_name(const char *name)
{
	char path[4096];

	(void)snprintf(path, sizeof(path), "%s.aside", name);
	return np_temporary_new(path);
}

/* Take the file away, and give it back where it was another's that came in between. */
static void break_held(const char *name, const struct stat *old)
{
	char *aside = other_name(name);
	struct stat moved;

	if (aside && rename(name, aside) == 0) {
		if (stat(aside, &moved) == 0 && moved.st_ino != old->st_ino)
			(void)!link(aside, name);
		(void)unlink(aside);
	}
	np_temporary_free(aside);
}

/* 1: it is ours, 0: try again, -1: no such files can be made here */
static int try_held(const char *own, const char *name)
{
	struct stat info;

	if (link(own, name) == 0)
		return 1;
	if (errno == EPERM || errno == EACCES || errno == EROFS || errno == ENOSYS ||
	    errno == EOPNOTSUPP)
		return -1;
	/* The answer may be lost on its way though it was made. */
	if (stat(own, &info) == 0 && info.st_nlink == 2)
		return 1;
	(void)utimensat(AT_FDCWD, own, NULL, 0);
	if (is_abandoned(name, own, &info))
		break_held(name, &info);
	return 0;
}

static int wait_for_held(const char *directory, const char *own, const char *name, np_ns wait_ns,
			 bool *ret, struct np_err *err)
{
	np_ns end = np_steady_ns() + wait_ns;
	int got;

	while ((got = try_held(own, name)) == 0) {
		if (np_steady_ns() >= end) {
			int fd = open(name, O_RDONLY | O_CLOEXEC);
			int rc = fail_held(fd, directory, wait_ns, err);

			if (fd >= 0)
				(void)close(fd);
			return rc;
		}
		(void)usleep(NAP_US);
		np_temporary_free(other_name(name));
	}
	*ret = got > 0;
	return NP_OK;
}

/* Both names are owned by the locks from here on. */
static int hold_both(char *own, char *held_name, const struct stat *directory, struct np_err *err)
{
	int rc;

	np_temporary_add(held_name);
	rc = hold(held_name, -1, directory, err);
	return rc == NP_OK ? hold(own, -1, directory, err) : rc;
}

static int lock_by_file(const char *path, np_ns wait_ns, struct np_err *err)
{
	char *name = np_join_path(path, NP_LOCK_HELD);
	char *own = name ? np_temporary_new(name) : NULL;
	int fd = own ? open(own, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666) : -1;
	struct stat directory;
	bool got = false;
	int rc = own ? NP_OK : np_fail_nomem(err, path);

	if (fd >= 0) {
		write_holder(fd);
		(void)close(fd);
		rc = wait_for_held(path, own, name, wait_ns, &got, err);
	}
	if (got && stat(path, &directory) == 0)
		return hold_both(own, name, &directory, err);
	if (fd >= 0)
		(void)unlink(own);
	np_temporary_free(own);
	free(name);
	return rc;
}

int np_lock_shared(const char *path, np_ns wait_ns, struct np_err *err)
{
	struct stat directory;
	int rc = np_lock_dir(path, wait_ns, err);

	if (rc < 0)
		return rc;
	(void)pthread_mutex_lock(&guard);
	if (stat(path, &directory) == 0 && (!have(&directory, true) || is_remote(path)) &&
	    !have(&directory, false))
		rc = lock_by_file(path, wait_ns, err);
	(void)pthread_mutex_unlock(&guard);
	return rc;
}

int np_make_output(const char *path, struct np_err *err)
{
	return np_lock_shared(path, NP_LOCK_WAIT_NS, err);
}
