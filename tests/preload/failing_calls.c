/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that runs out and files that fail, for tests: preloaded, it lets one call of a program
 * fail, the NP_TEST_FAIL_AT-th of its kind (NP_TEST_FAIL: "memory", or "files" for opening,
 * reading, writing, renaming and the like; with "disk" every writing from that one on finds no
 * room). With "locks" the file system knows no locks. With NP_TEST_FAIL_COUNT, the number of calls
 * is written to that file in the end, and how many blocks of memory nobody has given back.
 */
/* Checked calls would be inlined into what stands in for them here. */
#undef _FORTIFY_SOURCE

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#define EXPORTED __attribute__((visibility("default")))

/* Those of the C library: dlsym() would allocate. */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
void __libc_free(void *memory);

enum kind {
	MEMORY,
	FILES,
	DISK,
	LOCKS,
};

static atomic_long calls;
static atomic_long blocks;
static long fail_at;
static int fail_kind = -1;

__attribute__((constructor)) static void begin(void)
{
	const char *kind = getenv("NP_TEST_FAIL");
	const char *at = getenv("NP_TEST_FAIL_AT");

	fail_at = at ? strtol(at, NULL, 10) : 0;
	if (kind)
		fail_kind = strcmp(kind, "memory") == 0  ? MEMORY
			    : strcmp(kind, "disk") == 0  ? DISK
			    : strcmp(kind, "locks") == 0 ? LOCKS
							 : FILES;
}

/* What SQLite keeps until somebody says that it is no longer needed is no leak. */
static void leave_sqlite(void)
{
	int (*leave)(void) = (int (*)(void))(uintptr_t)dlsym(RTLD_DEFAULT, "sqlite3_shutdown");

	if (leave)
		(void)leave();
}

__attribute__((destructor)) static void end(void)
{
	const char *path = getenv("NP_TEST_FAIL_COUNT");
	char text[64];
	long fd;
	int length;

	if (!path || fail_kind < 0)
		return;
	fail_at = LONG_MAX;
	leave_sqlite();
	fd = syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	length = snprintf(text, sizeof(text), "%ld %ld\n", atomic_load(&calls),
			  atomic_load(&blocks));
	if (fd >= 0 && syscall(SYS_write, fd, text, (size_t)length) == length)
		(void)syscall(SYS_close, fd);
}

static bool fails(enum kind kind)
{
	long at;

	if (fail_kind != (int)kind)
		return false;
	at = atomic_fetch_add(&calls, 1) + 1;
	return kind == DISK ? fail_at > 0 && at >= fail_at : at == fail_at;
}

/* --- memory ---------------------------------------------------------------------------------- */

/* A block that was given out. */
static void *counted(void *memory)
{
	if (memory)
		atomic_fetch_add(&blocks, 1);
	return memory;
}

EXPORTED void *malloc(size_t size)
{
	if (!fails(MEMORY))
		return counted(__libc_malloc(size));
	errno = ENOMEM;
	return NULL;
}

EXPORTED void *calloc(size_t count, size_t size)
{
	if (!fails(MEMORY))
		return counted(__libc_calloc(count, size));
	errno = ENOMEM;
	return NULL;
}

EXPORTED void *realloc(void *memory, size_t size)
{
	if (!fails(MEMORY)) {
		void *moved = __libc_realloc(memory, size);

		return memory ? moved : counted(moved);
	}
	errno = ENOMEM;
	return NULL;
}

EXPORTED void *aligned_alloc(size_t alignment, size_t size)
{
	if (!fails(MEMORY))
		return counted(__libc_memalign(alignment, size));
	errno = ENOMEM;
	return NULL;
}

EXPORTED int posix_memalign(void **ret, size_t alignment, size_t size)
{
	void *memory = fails(MEMORY) ? NULL : counted(__libc_memalign(alignment, size));

	if (!memory)
		return ENOMEM;
	*ret = memory;
	return 0;
}

EXPORTED void free(void *memory)
{
	if (memory)
		atomic_fetch_sub(&blocks, 1);
	__libc_free(memory);
}

/* --- files ----------------------------------------------------------------------------------- */

static bool refused(bool writes)
{
	if (fails(FILES)) {
		errno = EIO;
		return true;
	}
	if (writes && fails(DISK)) {
		errno = ENOSPC;
		return true;
	}
	return false;
}

/* What stands on a terminal or in a pipe is not in a file. */
static bool is_file(int fd)
{
	struct stat of;

	return fstat(fd, &of) == 0 && S_ISREG(of.st_mode);
}

#define OPEN(name) \
	EXPORTED int name(const char *path, int flags, ...); \
	int name(const char *path, int flags, ...) \
	{ \
		va_list rest; \
		mode_t mode; \
\
		va_start(rest, flags); \
		mode = va_arg(rest, mode_t); \
		va_end(rest); \
		if (refused((flags & O_CREAT) != 0)) \
			return -1; \
		return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode); \
	}

#define OPEN_AT(name) \
	EXPORTED int name(int dir, const char *path, int flags, ...); \
	int name(int dir, const char *path, int flags, ...) \
	{ \
		va_list rest; \
		mode_t mode; \
\
		va_start(rest, flags); \
		mode = va_arg(rest, mode_t); \
		va_end(rest); \
		if (refused((flags & O_CREAT) != 0)) \
			return -1; \
		return (int)syscall(SYS_openat, dir, path, flags, mode); \
	}

OPEN(open)
OPEN(open64)
OPEN_AT(openat)
OPEN_AT(openat64)

EXPORTED ssize_t read(int fd, void *buffer, size_t size)
{
	return refused(false) ? -1 : syscall(SYS_read, fd, buffer, size);
}

#define PREAD(name) \
	EXPORTED ssize_t name(int fd, void *buffer, size_t size, off_t at); \
	ssize_t name(int fd, void *buffer, size_t size, off_t at) \
	{ \
		return refused(false) ? -1 : syscall(SYS_pread64, fd, buffer, size, at); \
	}

PREAD(pread)
PREAD(pread64)

EXPORTED ssize_t write(int fd, const void *buffer, size_t size)
{
	return is_file(fd) && refused(true) ? -1 : syscall(SYS_write, fd, buffer, size);
}

#define PWRITE(name) \
	EXPORTED ssize_t name(int fd, const void *buffer, size_t size, off_t at); \
	ssize_t name(int fd, const void *buffer, size_t size, off_t at) \
	{ \
		return refused(true) ? -1 : syscall(SYS_pwrite64, fd, buffer, size, at); \
	}

PWRITE(pwrite)
PWRITE(pwrite64)

EXPORTED int fsync(int fd)
{
	return refused(true) ? -1 : (int)syscall(SYS_fsync, fd);
}

EXPORTED int rename(const char *from, const char *to)
{
	return refused(true) ? -1 : (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0U);
}

#define REAL(name, type) ((type)(uintptr_t)dlsym(RTLD_NEXT, name))

EXPORTED DIR *opendir(const char *path)
{
	return refused(false) ? NULL : REAL("opendir", DIR * (*)(const char *))(path);
}

EXPORTED struct dirent *readdir(DIR *stream)
{
	return refused(false) ? NULL : REAL("readdir", struct dirent * (*)(DIR *))(stream);
}

EXPORTED FILE *fopen(const char *path, const char *mode)
{
	return refused(*mode != 'r')
		       ? NULL
		       : REAL("fopen", FILE * (*)(const char *, const char *))(path, mode);
}

EXPORTED int flock(int fd, int operation);
int flock(int fd, int operation)
{
	if (fail_kind == (int)LOCKS) {
		errno = ENOLCK;
		return -1;
	}
	return (int)syscall(SYS_flock, fd, operation);
}
