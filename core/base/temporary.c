/* SPDX-License-Identifier: Apache-2.0 */
/* Files that get their name when they are complete, and leave nothing behind otherwise. */
#include "npuprof/temporary.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/*
 * A handler may call next to nothing, so names stand in a table of fixed size:
 * an entry is the name itself while its file may exist. More files at once than
 * it has entries are written all the same. The handler runs while others go on:
 * a name that is freed just then must not be read, so names live on until the end
 * of the program once a signal came.
 */
#define ENTRIES 256

static _Atomic(const char *) names[ENTRIES];
static atomic_bool ending;

/* --- whose a file is ------------------------------------------------------- */

/*
 * ".tmp-<host>-<boot>-<namespace>-<process>-<its start>-<thread>": several hosts and containers may
 * write to one file system, and numbers of processes are used again.
 */
struct temporary_owner {
	char host[40];
	uint64_t boot;
	uint64_t space; /* of numbers of processes */
	uint64_t process;
	uint64_t start;
};

/* When a process began, in ticks since the machine did; 0 if there is none. */
static uint64_t start_of(uint64_t process)
{
	char path[48];
	char text[1024];
	unsigned long long start = 0;
	const char *at;
	size_t length;
	FILE *file;

	(void)snprintf(path, sizeof(path), "/proc/%ju/stat", (uintmax_t)process);
	file = fopen(path, "re");
	if (!file)
		return 0;
	length = fread(text, 1, sizeof(text) - 1, file);
	(void)fclose(file);
	text[length] = '\0';
	/* The name of the program, in parentheses, may hold anything; it is the second of 22 words.
	 */
	at = strrchr(text, ')');
	for (int word = 2; at && word < 22; word++)
		at = strchr(at + 1, ' ');
	return at && sscanf(at + 1, "%llu", &start) == 1 ? start : 0;
}

static uint64_t boot_number(void)
{
	FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
	unsigned long long number = 0;

	if (!file)
		return 0;
	(void)!fscanf(file, "%8llx", &number);
	(void)fclose(file);
	return number;
}

static void this_process(struct temporary_owner *ret)
{
	struct stat info;

	*ret = (struct temporary_owner){ .boot = boot_number(), .process = (uint64_t)getpid() };
	(void)gethostname(ret->host, sizeof(ret->host) - 1);
	/* What would end a part of the name. */
	for (char *at = ret->host; *at; at++) {
		if (*at == '-' || *at == '/')
			*at = '_';
	}
	ret->space = stat("/proc/self/ns/pid", &info) == 0 ? (uint64_t)info.st_ino : 0;
	ret->start = start_of(ret->process);
}

static bool read_owner(const char *name, struct temporary_owner *ret)
{
	const char *mark = strstr(name, ".tmp-");
	uintmax_t boot;
	uintmax_t space;
	uintmax_t process;
	uintmax_t start;
	uintmax_t thread;
	int end = 0;

	*ret = (struct temporary_owner){ 0 };
	if (!mark ||
	    sscanf(mark, ".tmp-%39[^-]-%8jx-%20ju-%10ju-%20ju-%10ju%n", ret->host, &boot, &space,
		   &process, &start, &thread, &end) != 6 ||
	    end == 0 || mark[end] != '\0')
		return false;
	ret->boot = boot;
	ret->space = space;
	ret->process = process;
	ret->start = start;
	return true;
}

/* Of other hosts, and of containers whose processes are not seen here, nothing is known. */
static bool is_dead(const struct temporary_owner *owner, const struct temporary_owner *self)
{
	if (strcmp(owner->host, self->host) != 0 || self->boot == 0 || owner->boot == 0)
		return false;
	if (owner->boot != self->boot)
		return true;
	return owner->space == self->space && owner->space != 0 && owner->start != 0 &&
	       start_of(owner->process) != owner->start;
}

/* Remove what processes that were killed have left in a directory. */
static void sweep(const char *directory, const struct temporary_owner *self)
{
	DIR *stream = opendir(directory);
	const struct dirent *entry;

	/* Nobody else reads this stream. NOLINTNEXTLINE(concurrency-mt-unsafe) */
	while (stream && (entry = readdir(stream))) {
		struct temporary_owner owner;

		if (read_owner(entry->d_name, &owner) && is_dead(&owner, self))
			(void)unlinkat(dirfd(stream), entry->d_name, 0);
	}
	if (stream)
		(void)closedir(stream);
}

/* The same directory is looked through once, as long as it is the latest. */
static void sweep_once(const char *path, const struct temporary_owner *self)
{
	static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
	static char latest[4096];
	const char *slash = strrchr(path, '/');
	char directory[4096] = ".";
	bool is_new;

	if (slash && (size_t)(slash - path) >= sizeof(directory))
		return;
	if (slash)
		(void)snprintf(directory, sizeof(directory), "%.*s/", (int)(slash - path), path);
	(void)pthread_mutex_lock(&guard);
	is_new = strcmp(directory, latest) != 0;
	memcpy(latest, directory, sizeof(latest));
	(void)pthread_mutex_unlock(&guard);
	if (is_new)
		sweep(directory, self);
}

char *np_temporary_new(const char *path)
{
	struct temporary_owner self;
	char *name;

	this_process(&self);
	sweep_once(path, &self);
	/* Two threads may write the same file: the last one wins, as a whole. */
	if (asprintf(&name, "%s.tmp-%s-%08jx-%ju-%ju-%ju-%d", path, self.host, (uintmax_t)self.boot,
		     (uintmax_t)self.space, (uintmax_t)self.process, (uintmax_t)self.start,
		     (int)syscall(SYS_gettid)) < 0)
		return NULL;
	/* Whatever has this name was not made here. */
	(void)unlink(name);
	np_temporary_add(name);
	return name;
}

/* --- the table of names ----------------------------------------------------- */

void np_temporary_add(char *name)
{
	for (size_t i = 0; i < ENTRIES; i++) {
		const char *nobody = NULL;

		if (atomic_compare_exchange_strong(&names[i], &nobody, name))
			break;
	}
}

void np_temporary_free(char *name)
{
	for (size_t i = 0; name && i < ENTRIES; i++) {
		const char *own = name;

		if (atomic_compare_exchange_strong(&names[i], &own, NULL))
			break;
	}
	if (!atomic_load(&ending))
		free(name);
}

int np_temporary_place(const char *name, const char *path)
{
	struct stat there;

	if (stat(path, &there) == 0 && !S_ISREG(there.st_mode) && !S_ISDIR(there.st_mode)) {
		errno = EOPNOTSUPP;
		return -1;
	}
	return rename(name, path);
}

/* What takes bytes as they come, and would be lost if a file took its place. */
static bool is_stream(const char *path)
{
	static const char *const own[] = { "/dev/fd/", "/dev/std", "/proc/" };
	struct stat there;

	for (size_t i = 0; i < NP_COUNT(own); i++) {
		if (strncmp(path, own[i], strlen(own[i])) == 0)
			return true;
	}
	return stat(path, &there) == 0 &&
	       (S_ISCHR(there.st_mode) || (S_ISFIFO(there.st_mode) && there.st_uid == geteuid()));
}

static int fail_to_write(const char *path, struct np_err *err)
{
	return np_fail(err, NP_E_IO, "cannot write '%s': %s", path, strerrordesc_np(errno));
}

static int write_temporary(const char *temporary, const char *path, np_file_writer *write,
			   const void *context, struct np_err *err)
{
	/* "x": a file or a link that somebody put there is not followed. */
	FILE *stream = fopen(temporary, "wxe");
	int rc;

	if (!stream)
		return fail_to_write(path, err);
	rc = write(context, stream, err);
	if (fclose(stream) != 0 && rc == NP_OK)
		rc = fail_to_write(path, err);
	if (rc == NP_OK && np_temporary_place(temporary, path) < 0)
		rc = fail_to_write(path, err);
	if (rc < 0)
		(void)unlink(temporary);
	return rc;
}

static int write_stream(const char *path, np_file_writer *write, const void *context,
			struct np_err *err)
{
	FILE *stream = fopen(path, "we");
	int rc;

	if (!stream)
		return fail_to_write(path, err);
	rc = write(context, stream, err);
	if (fclose(stream) != 0 && rc == NP_OK)
		rc = fail_to_write(path, err);
	return rc;
}

int np_write_file(const char *path, np_file_writer *write, const void *context, struct np_err *err)
{
	char *temporary;
	int rc;

	if (is_stream(path))
		return write_stream(path, write, context, err);
	temporary = np_temporary_new(path);
	if (!temporary)
		return np_fail_nomem(err, path);
	rc = write_temporary(temporary, path, write, context, err);
	np_temporary_free(temporary);
	return rc;
}

static void remove_files(int signal_number)
{
	atomic_store(&ending, true);
	for (size_t i = 0; i < ENTRIES; i++) {
		const char *name = atomic_load(&names[i]);

		if (name)
			(void)unlink(name);
	}
	/* By now it has its old meaning again. */
	(void)raise(signal_number);
}

void np_temporary_guard(void)
{
	static const int endings[] = { SIGHUP, SIGINT, SIGTERM };
	const struct sigaction action = { .sa_handler = remove_files,
					  .sa_flags = (int)SA_RESETHAND };

	for (size_t i = 0; i < NP_COUNT(endings); i++) {
		struct sigaction before;

		/* One that is ignored, as by nohup, stays so. */
		if (sigaction(endings[i], NULL, &before) == 0 && before.sa_handler == SIG_DFL)
			(void)sigaction(endings[i], &action, NULL);
	}
}
