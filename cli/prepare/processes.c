/* SPDX-License-Identifier: Apache-2.0 */
/* One command on the processes that a launcher started: the first runs it, the others load. */
#include "processes.h"

#include "cli/command/module.h"
#include "cli/command/output.h"

#include "npuprof/load_run.h"
#include "npuprof/text.h"

#define LIBRARY "libnpuprof_mpi.so"

static const struct np_procs *procs = &np_procs_serial;

const struct np_procs *processes_all(void)
{
	return procs;
}

/* A number in the environment, or -1. */
static int64_t number_of(const char *name)
{
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): nobody here changes the environment */
	const char *text = getenv(name);
	int64_t value;

	return text && np_text_to_int(text, strlen(text), &value) ? value : -1;
}

/* Did a launcher start this process beside others? Those of PMIx alone do not say how many. */
static bool is_one_of_many(void)
{
	int64_t size = number_of("OMPI_COMM_WORLD_SIZE");

	return size > 1 || (size < 0 && number_of("PMIX_RANK") >= 0);
}

static int open_procs(struct np_err *err)
{
	struct np_err problem = NP_ERR_INIT;
	np_procs_opener *open;
	int rc = np_module_find(LIBRARY, NP_PROCS_OPEN, (void **)&open, &problem);

	if (rc == NP_E_NOTFOUND)
		return np_fail(err, NP_E_IO,
			       "cannot work on several processes: %s; run it without mpirun, or "
			       "build npuprof where Open MPI is installed",
			       problem.text);
	if (rc < 0)
		return np_fail(err, NP_E_IO, "%s", problem.text);
	return open(&procs, err);
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

	if (!is_one_of_many())
		return run(argc, argv);
	if (open_procs(&err) < 0)
		return fail_once(&err);
	return procs->rank == 0 ? lead(run, argc, argv) : follow(cmd);
}
