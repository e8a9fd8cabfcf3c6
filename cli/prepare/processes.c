/* SPDX-License-Identifier: Apache-2.0 */
/* One command on the processes that a launcher started: the first runs it, the others load. */
#include "processes.h"

#include "cli/command/launcher.h"
#include "cli/command/output.h"

#include "npuprof/load_run.h"

static const struct np_procs *procs = &np_procs_serial;

const struct np_procs *processes_all(void)
{
	return procs;
}

/* A world that is not the one promised is left again: every process in it would write the same
 * files. */
static int open_procs(const struct np_launcher *launcher, struct np_err *err)
{
	struct np_err problem = NP_ERR_INIT;
	np_procs_opener *open;
	int rc = np_launcher_backend(launcher, NP_PROCS_OPEN, (void **)&open, &problem);

	if (rc == NP_E_NOTFOUND)
		return np_fail(err, NP_E_IO,
			       "cannot work on several processes: %s; run it without mpirun, or "
			       "build npuprof where %s is installed",
			       problem.text,
			       np_launcher_family(launcher) == NP_MPI_MPICH ? "MPICH" : "Open MPI");
	if (rc < 0)
		return np_fail(err, NP_E_IO, "%s", problem.text);
	rc = open(&procs, err);
	if (rc < 0)
		return rc;
	rc = np_launcher_check(launcher, procs->size, procs->library, err);
	if (rc < 0)
		procs->close(procs);
	return rc;
}

/* The lines of all would be the same: the first process says them. */
static int fail_once(const struct np_err *err)
{
	return np_output_is_first() ? np_report(NP_EXIT_FAILED, "%s", err->text) : NP_EXIT_FAILED;
}

static int lead(int (*run)(int argc, const char *const *argv), int argc, const char *const *argv)
{
	struct np_err err = NP_ERR_INIT;
	int status = run(argc, argv);

	/* What a failure took with it was reported with the failure. */
	if (np_load_dismiss(procs, status, &err) < 0)
		return status == NP_EXIT_FAILED ? status
						: np_report(NP_EXIT_FAILED, "%s", err.text);
	procs->close(procs);
	return status;
}

/* Without the end of MPI the launcher ends the others: nobody waits for this process. */
static int follow(const struct np_cmd *cmd)
{
	struct np_err err = NP_ERR_INIT;
	int status = NP_EXIT_FAILED;

	if (np_load_serve(procs, cmd->kernel_framework_op, &status, &err) < 0)
		return np_report(NP_EXIT_FAILED, "process %d: %s", procs->rank, err.text);
	procs->close(procs);
	return status;
}

int processes_run(const struct np_cmd *cmd, int (*run)(int argc, const char *const *argv), int argc,
		  const char *const *argv)
{
	struct np_err err = NP_ERR_INIT;
	struct np_launcher launcher;

	np_launcher_read(&launcher);
	if (!np_launcher_has_many(&launcher))
		return run(argc, argv);
	if (open_procs(&launcher, &err) < 0)
		return fail_once(&err);
	return procs->rank == 0 ? lead(run, argc, argv) : follow(cmd);
}
