/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/launch/check.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check_find.h"
#include "mode.h"

/* Does a program name the MPI library? Enough for a warning; who asks for more runs ldd. */
static bool names_mpi(const char *file)
{
	int fd = open(file, O_RDONLY | O_CLOEXEC);
	struct stat info;
	bool found = false;
	void *content;

	if (fd < 0)
		return false;
	if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_size > 4) {
		content = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
		if (content != MAP_FAILED) {
			found = memcmp(content, "\177ELF", 4) == 0 &&
				memmem(content, (size_t)info.st_size, "libmpi.so", 9);
			(void)munmap(content, (size_t)info.st_size);
		}
	}
	(void)close(fd);
	return found;
}

bool np_application_uses_mpi(const char *name)
{
	char file[PATH_MAX];

	return np_find_program(name, file, sizeof(file)) && names_mpi(file);
}

int np_check_application(const struct np_job *job, struct np_buf *doubts, struct np_err *err)
{
	const char *name = job->app[0];
	char file[PATH_MAX];

	if (!np_find_program(name, file, sizeof(file)))
		return strchr(name, '/')
			       ? np_fail(err, NP_E_NOTFOUND, "cannot execute '%.380s': %s", name,
					 strerrordesc_np(errno))
			       : np_fail(err, NP_E_NOTFOUND,
					 "there is no application '%.300s' in PATH", name);
	if (job->mode == NP_MODE_MPI && names_mpi(file))
		np_buf_printf(
			doubts,
			"'%.200s' is linked with MPI: every rank of it will believe to be alone; "
			"use --coord helper\n",
			name);
	return NP_OK;
}
