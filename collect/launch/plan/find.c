/* SPDX-License-Identifier: Apache-2.0 */
/* What is on this host: files of ours, programs, AscendCL, and whether a program uses MPI. */
#include "find.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collect/acl/acl_bind.h"
#include "runpath.h"

/* --- files and programs ---------------------------------------------------- */

bool np_find_beside(const char *name, char *path, size_t size)
{
	/* Beside the program: a build directory. The others: an installation, the last by pip. */
	static const char *const places[] = { "", "../lib/", "../" NP_LIBRARY_DIR "/", "../bin/",
					      "../libexec/npuprof/" };
	char program[PATH_MAX];
	ssize_t length = readlink("/proc/self/exe", program, sizeof(program) - 1);
	char *slash;

	if (length < 0)
		return false;
	program[length] = '\0';
	slash = strrchr(program, '/');
	if (!slash)
		return false;
	slash[1] = '\0';
	for (size_t i = 0; i < NP_COUNT(places); i++) {
		(void)snprintf(path, size, "%s%s%s", program, places[i], name);
		if (access(path, R_OK) == 0)
			return true;
	}
	return false;
}

bool np_find_program(const char *name, char *path, size_t size)
{
	const char *at = getenv("PATH"); /* NOLINT(concurrency-mt-unsafe) */

	if (strchr(name, '/')) {
		(void)snprintf(path, size, "%s", name);
		return access(name, X_OK) == 0;
	}
	for (at = at ? at : "/bin:/usr/bin"; at; at = strchr(at, ':')) {
		at += *at == ':' ? 1 : 0;
		(void)snprintf(path, size, "%.*s/%s", (int)strcspn(at, ":"), at, name);
		if (access(path, X_OK) == 0)
			return true;
	}
	return false;
}

/* --- AscendCL -------------------------------------------------------------- */

enum {
	PATIENCE_MS = 20000, /* the real libraries take seconds to load from a busy file system */
};

/* What the process that tries it says through the pipe. */
struct library_answer {
	bool there;
	bool simulated;
	char why[400];
};

/* Load the libraries from where the application finds them. */
static void load_as(const char *app)
{
	static const char *const names[] = { "libmsprofiler.so", "libascendcl.so" };
	NP_CLEANUP(np_buf_release) struct np_buf paths = NP_BUF_INIT;
	char file[PATH_MAX];
	char path[PATH_MAX];

	if (!np_find_program(app, file, sizeof(file)))
		return;
	np_runpath_add(&paths, file);
	for (const char *at = paths.length && !paths.failed ? paths.text : ""; *at;) {
		size_t length = strcspn(at, ":");

		for (size_t i = 0; i < NP_COUNT(names) && length > 0; i++) {
			(void)snprintf(path, sizeof(path), "%.*s/%s", (int)length, at, names[i]);
			(void)dlopen(path, RTLD_LAZY | RTLD_GLOBAL);
		}
		at += length + (at[length] == ':');
	}
}

_Noreturn static void try_it(int pipe, const char *app)
{
	struct np_err err = NP_ERR_INIT;
	struct library_answer answer = { 0 };
	struct np_acl acl;

	answer.there = np_acl_bind(&acl, NP_ACL_DEFAULT, &err) == NP_OK;
	if (!answer.there) {
		struct np_err again = NP_ERR_INIT;

		load_as(app);
		answer.there = np_acl_bind(&acl, NP_ACL_DEFAULT, &again) == NP_OK;
	}
	answer.simulated = answer.there && dlsym(RTLD_DEFAULT, "npusim_kernel_handle");
	(void)snprintf(answer.why, sizeof(answer.why), "%.*s", (int)sizeof(answer.why) - 1,
		       err.text);
	(void)!write(pipe, &answer, sizeof(answer));
	_exit(0);
}

int np_find_ascendcl(const char *app, bool *ret_simulated, struct np_err *err)
{
	struct library_answer answer;
	struct pollfd reading;
	int ends[2];
	bool answered;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return np_fail(err, NP_E_IO, "cannot make a pipe: %s", strerrordesc_np(errno));
	pid = fork();
	if (pid == 0)
		try_it(ends[1], app);
	(void)close(ends[1]);
	if (pid < 0) {
		(void)close(ends[0]);
		return np_fail(err, NP_E_IO, "cannot start a process: %s", strerrordesc_np(errno));
	}
	reading = (struct pollfd){ .fd = ends[0], .events = POLLIN };
	answered = poll(&reading, 1, PATIENCE_MS) > 0 &&
		   read(ends[0], &answer, sizeof(answer)) == (ssize_t)sizeof(answer);
	(void)close(ends[0]);
	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, NULL, 0);
	if (!answered)
		return np_fail(err, NP_E_NOTFOUND, "loading AscendCL crashes or takes forever");
	if (!answer.there)
		return np_fail(err, NP_E_NOTFOUND,
			       "AscendCL cannot be used: %s; is CANN's set_env.sh sourced?",
			       answer.why);
	*ret_simulated = answer.simulated;
	return NP_OK;
}

/* --- the application ------------------------------------------------------- */

/*
 * MPICH and those that took over its binary interface are libmpi.so.12, Debian's libmpich.so.12,
 * Cray's libmpi_cray.so.12 and libmpi_gnu_….so.12; Open MPI is libmpi.so.20 and .40. "libmpi.so"
 * alone was Open MPI's before.
 */
static enum np_mpi_family family_in(const char *content, size_t size)
{
	static const char *const mpich[] = { "libmpich.so", "libmpi.so.12", "libmpi_cray.so",
					     "libmpi_gnu_" };

	for (size_t i = 0; i < NP_COUNT(mpich); i++) {
		if (memmem(content, size, mpich[i], strlen(mpich[i])))
			return NP_MPI_MPICH;
	}
	return memmem(content, size, "libmpi.so", strlen("libmpi.so")) ? NP_MPI_OPENMPI
								       : NP_MPI_NONE;
}

enum np_mpi_family np_find_mpi(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	enum np_mpi_family family = NP_MPI_NONE;
	struct stat info;
	void *content;

	if (fd < 0)
		return family;
	if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_size > 4) {
		content = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
		if (content != MAP_FAILED) {
			if (memcmp(content, "\177ELF", 4) == 0)
				family = family_in(content, (size_t)info.st_size);
			(void)munmap(content, (size_t)info.st_size);
		}
	}
	(void)close(fd);
	return family;
}
