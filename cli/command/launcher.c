/* SPDX-License-Identifier: Apache-2.0 */
/* The launcher of this process by its variables, and the MPI back-end that fits to it. */
#include "launcher.h"

#include "module.h"

#include "npuprof/buf.h"
#include "npuprof/text.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#define BACKEND "libnpuprof_mpi-%s.so"

/* Nobody changes the environment. */
static const char *variable(const char *name)
{
	const char *text = getenv(name); /* NOLINT(concurrency-mt-unsafe) */

	return text && *text ? text : NULL;
}

/* A number in the environment, or -1. */
static int number_of(const char *name)
{
	const char *text = variable(name);
	int64_t value;

	return text && np_text_to_int(text, strlen(text), &value) && value >= 0 && value <= INT_MAX
		       ? (int)value
		       : -1;
}

/*
 * A script of sbatch has SLURM_PROCID=0 and the SLURM_NTASKS of the whole job, and is one process:
 * only a step has tasks.
 */
static int step_tasks(void)
{
	int tasks = number_of("SLURM_STEP_NUM_TASKS");

	if (tasks < 0 && (variable("SLURM_STEP_ID") || variable("SLURM_STEPID")))
		tasks = number_of("SLURM_NTASKS");
	return tasks;
}

void np_launcher_read(struct np_launcher *ret)
{
	const struct np_launcher known[] = {
		{ NP_LAUNCHER_OPENMPI, number_of("OMPI_COMM_WORLD_RANK"),
		  number_of("OMPI_COMM_WORLD_SIZE"), number_of("OMPI_COMM_WORLD_LOCAL_SIZE") },
		{ NP_LAUNCHER_PMIX, number_of("PMIX_RANK"), step_tasks(), -1 },
		{ NP_LAUNCHER_PMI, number_of("PMI_RANK"), number_of("PMI_SIZE"),
		  number_of("MPI_LOCALNRANKS") },
		{ NP_LAUNCHER_SLURM, step_tasks() > 1 ? number_of("SLURM_PROCID") : -1,
		  step_tasks(), -1 },
	};

	*ret = (struct np_launcher){ NP_LAUNCHER_NONE, -1, -1, -1 };
	for (size_t i = 0; i < NP_COUNT(known) && ret->kind == NP_LAUNCHER_NONE; i++) {
		if (known[i].rank >= 0)
			*ret = known[i];
	}
}

bool np_launcher_has_many(const struct np_launcher *launcher)
{
	return launcher->kind != NP_LAUNCHER_NONE && (launcher->size > 1 || launcher->size < 0);
}

const char *np_launcher_name(const struct np_launcher *launcher)
{
	static const char *const names[] = {
		"nobody", "mpirun (Open MPI)", "a launcher with PMIx", "mpiexec (Hydra, PMI)",
		"srun",
	};

	return names[launcher->kind];
}

/* --- the name of a job under Hydra ---------------------------------------- */

/* The bytes of a file of /proc, ended by a zero; how many they are. */
static size_t read_process(int pid, const char *what, char *text, size_t size)
{
	char path[64];
	ssize_t length;
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/%d/%s", pid, what);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	length = fd >= 0 ? read(fd, text, size - 1) : -1;
	if (fd >= 0)
		(void)close(fd);
	text[length > 0 ? length : 0] = '\0';
	return length > 0 ? (size_t)length : 0;
}

/* Of "pid (name) state parent …": a name may have anything in it. */
static int parent_of(int pid)
{
	char text[512];
	const char *end;
	int parent;

	if (!read_process(pid, "stat", text, sizeof(text)))
		return 0;
	end = strrchr(text, ')');
	return end && sscanf(end, ") %*c %d", &parent) == 1 ? parent : 0;
}

/* The word behind "--control-port" in a command line, whose words end with zeros. */
static const char *control_port(const char *words, size_t length)
{
	const char *end = words + length;

	for (const char *word = words; word < end; word += strlen(word) + 1) {
		const char *next = word + strlen(word) + 1;

		if (strcmp(word, "--control-port") == 0 && next < end)
			return next;
	}
	return NULL;
}

static char *hydra_job(void)
{
	char words[4096];

	for (int pid = (int)getppid(); pid > 1; pid = parent_of(pid)) {
		size_t length = read_process(pid, "cmdline", words, sizeof(words));
		const char *port = length ? control_port(words, length) : NULL;

		if (port)
			return strdup(port);
	}
	return NULL;
}

char *np_launcher_job(const struct np_launcher *launcher)
{
	static const char *const names[] = { "PMIX_NAMESPACE", "PMI_JOBID" };
	const char *job = variable("SLURM_JOB_ID");
	const char *step = variable("SLURM_STEP_ID");
	char *name;

	for (size_t i = 0; i < NP_COUNT(names); i++) {
		if (variable(names[i]))
			return strdup(variable(names[i]));
	}
	name = launcher->kind == NP_LAUNCHER_PMI ? hydra_job() : NULL;
	/* A job may have several steps at a time. */
	if (!name && job && asprintf(&name, "%s%s%s", job, step ? "." : "", step ? step : "") < 0)
		name = NULL;
	return name;
}

/* --- which MPI ------------------------------------------------------------- */

const char *np_mpi_family_name(enum np_mpi_family family)
{
	static const char *const names[] = { "none", "openmpi", "mpich" };

	return names[family];
}

enum np_mpi_family np_launcher_family(const struct np_launcher *launcher)
{
	return launcher->kind == NP_LAUNCHER_NONE  ? NP_MPI_NONE
	       : launcher->kind == NP_LAUNCHER_PMI ? NP_MPI_MPICH
						   : NP_MPI_OPENMPI;
}

int np_launcher_backend(const struct np_launcher *launcher, const char *symbol, void **ret,
			struct np_err *err)
{
	enum np_mpi_family first = np_launcher_family(launcher);
	const char *wanted = variable("NPUPROF_MPI");
	const char *const order[] = { wanted ? wanted : np_mpi_family_name(first),
				      np_mpi_family_name(first == NP_MPI_MPICH ? NP_MPI_OPENMPI
									       : NP_MPI_MPICH) };
	struct np_err problem = NP_ERR_INIT;
	char library[64];
	int rc = NP_E_NOTFOUND;

	if (wanted && strcmp(wanted, "openmpi") != 0 && strcmp(wanted, "mpich") != 0)
		return np_fail(err, NP_E_NOTFOUND, "NPUPROF_MPI is '%.100s': openmpi or mpich",
			       wanted);
	/* Open MPI's own launcher starts nothing else; what others start may be either. */
	for (size_t i = 0; i < (wanted || launcher->kind == NP_LAUNCHER_OPENMPI ? 1 : 2); i++) {
		struct np_err again = NP_ERR_INIT;

		(void)snprintf(library, sizeof(library), BACKEND, order[i]);
		rc = np_module_find(library, symbol, ret, i == 0 ? &problem : &again);
		if (rc != NP_E_NOTFOUND)
			break;
	}
	return rc < 0 ? np_fail(err, rc, "%s", problem.text) : NP_OK;
}

int np_launcher_check(const struct np_launcher *launcher, int size, const char *library,
		      struct np_err *err)
{
	const char *what = np_launcher_family(launcher) == NP_MPI_MPICH ? "MPICH" : "Open MPI";

	if (launcher->size > 0 ? size == launcher->size : size > 1 || launcher->rank == 0)
		return NP_OK;
	if (launcher->kind == NP_LAUNCHER_SLURM)
		return np_fail(
			err, NP_E_IO,
			"srun started %d processes, but in the world of MPI (%.60s) there %s %d: "
			"nothing was done; use srun --mpi=pmix or --mpi=pmi2, or start one",
			launcher->size, library, size == 1 ? "is" : "are", size);
	if (launcher->size < 0)
		return np_fail(
			err, NP_E_IO,
			"%s started this as process %d, but in the world of MPI (%.60s) it is "
			"alone: nothing was done; use the launcher of that MPI",
			np_launcher_name(launcher), launcher->rank, library);
	return np_fail(
		err, NP_E_IO,
		"%s started %d processes, but in the world of MPI (%.60s) there %s %d: nothing "
		"was done; use the launcher of that MPI, or build npuprof where %s is installed",
		np_launcher_name(launcher), launcher->size, library, size == 1 ? "is" : "are", size,
		what);
}
