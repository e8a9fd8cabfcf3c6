/* SPDX-License-Identifier: Apache-2.0 */
#include "export_step.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collect/launch/plan/check_find.h"

/* One rank for each file system. */
static bool is_exporter(const struct np_job *job)
{
	const struct np_job_layout_host *host =
		&job->layout.hosts[job->layout.ranks[job->rank].host];

	return job->rank == 0 || (host->leader == job->rank && !job->shared);
}

_Noreturn static void become_export(const struct np_job *job, const char *program)
{
	const char *const argv[] = {
		program,   "export", "--type", np_plan_export_types[job->plan.export_type],
		job->root, NULL,
	};

	(void)prctl(PR_SET_PDEATHSIG, SIGTERM);
	/* execvp() does not change what it is given. */
	(void)execvp(program, (char *const *)(uintptr_t)argv);
	_exit(127);
}

static int run_export(const struct np_job *job)
{
	char program[PATH_MAX];
	int status = 0;
	sigset_t none;
	pid_t pid;

	if (!np_find_beside("npuprof", program, sizeof(program)))
		(void)snprintf(program, sizeof(program), "npuprof");
	(void)fflush(NULL);
	/* It takes minutes, and nothing is lost if somebody has enough of it. */
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	pid = fork();
	if (pid == 0)
		become_export(job, program);
	if (pid < 0)
		return 127;
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		continue;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

bool np_export_step(const struct np_job *job)
{
	int status = 0;

	if (is_exporter(job))
		status = run_export(job);
	np_coord_wait(job->coord);
	if (status == 127)
		np_job_warn(
			"rank %d: there is no 'npuprof' to export with; the raw data is in '%s'",
			job->rank, job->root);
	else if (status != 0)
		np_job_warn("rank %d: the export ended with status %d; the raw data is kept",
			    job->rank, status);
	return status == 0;
}

bool np_export_done(const char *dir)
{
	char path[PATH_MAX];
	struct dirent *entry;
	bool found = false;
	DIR *open;

	(void)snprintf(path, sizeof(path), "%.*s/ASCEND_PROFILER_OUTPUT", PATH_MAX - 64, dir);
	open = opendir(path);
	/* Nobody else reads this directory stream. NOLINTNEXTLINE(concurrency-mt-unsafe) */
	while (open && !found && (entry = readdir(open)))
		found = entry->d_name[0] != '.';
	if (open)
		(void)closedir(open);
	return found;
}
