/* SPDX-License-Identifier: Apache-2.0 */
/* Which mode a job has: by an option, by the environment, or by the application. */
#include "mode.h"

#include <limits.h>

#include "find.h"
#include "npuprof/lang.h"
#include "npuprof/text.h"
#include "options.h"

const char *const np_mode_choices[] = { "auto", "mpi", "helper", "inapp", "tcp", NULL };

const char *np_mode_name(enum np_mode mode)
{
	return np_mode_choices[mode + 1];
}

/* The first of these variables that is a number, or -1. Nobody changes the environment. */
static int from_environment(const char *const *names, size_t count)
{
	int64_t value;

	for (size_t i = 0; i < count; i++) {
		const char *text = getenv(names[i]); /* NOLINT(concurrency-mt-unsafe) */

		if (text && np_text_to_int(text, strlen(text), &value) && value >= 0 &&
		    value <= INT32_MAX)
			return (int)value;
	}
	return -1;
}

static enum np_mpi_family mpi_of(const char *name)
{
	char path[PATH_MAX];

	return np_find_program(name, path, sizeof(path)) ? np_find_mpi(path) : NP_MPI_NONE;
}

/* Programs that start the ranks themselves. */
static bool starts_workers(char *const *app)
{
	static const char *const modules[] = { "torch.distributed.run", "torch.distributed.launch",
					       "torch_npu.distributed.run" };
	const char *slash = strrchr(app[0], '/');

	if (strcmp(slash ? slash + 1 : app[0], "torchrun") == 0)
		return true;
	for (char *const *word = app + 1; *word; word++) {
		for (size_t i = 0; i < NP_COUNT(modules); i++) {
			if (strcmp(word[-1], "-m") == 0 && strcmp(*word, modules[i]) == 0)
				return true;
		}
	}
	return false;
}

/*
 * Does mpirun serve a helper process and then the application, both in the name of one rank?
 * PMIx 3.1 and 4.0 do not: the application fails in MPI_Init, or waits there for ever. Launchers on
 * one host need no helper process.
 */
static bool serves_helpers(const struct np_launcher *launcher)
{
	const char *text = getenv("PMIX_VERSION"); /* NOLINT(concurrency-mt-unsafe) */
	unsigned int major = 0, minor = 0;

	if (launcher->size > 0 && launcher->size == launcher->local_size)
		return true;
	return text && sscanf(text, "%u.%u", &major, &minor) == 2 &&
	       (major > 4 || (major == 4 && minor >= 2));
}

static void decide(const struct np_collect_options *options, char *const *app,
		   struct np_mode_choice *ret)
{
	bool under_mpi = ret->launcher.kind != NP_LAUNCHER_NONE;
	const char *reason;

	ret->mpi = mpi_of(app[0]);

	if (options->coord > 0) {
		ret->mode = (enum np_mode)(options->coord - 1);
		reason = NP_MSG("--coord says so");
	} else if (options->pid) {
		ret->mode = NP_MODE_TCP;
		reason = NP_MSG("--pid is given");
	} else if (options->rdzv || options->nnodes != NP_UNKNOWN) {
		ret->mode = NP_MODE_TCP;
		reason = options->rdzv ? NP_MSG("--rdzv is given") : NP_MSG("--nnodes is given");
	} else if (under_mpi && (ret->mpi == NP_MPI_MPICH ||
				 (ret->mpi && ret->launcher.kind == NP_LAUNCHER_PMI))) {
		/* What has used PMI in the name of a rank cannot be followed by another. */
		ret->mode = NP_MODE_INAPP;
		reason = ret->mpi == NP_MPI_MPICH ? NP_MSG("the application is linked with MPICH")
						  : NP_MSG("the application is linked with MPI");
	} else if (under_mpi && ret->mpi && !serves_helpers(&ret->launcher)) {
		ret->mode = NP_MODE_INAPP;
		reason =
			NP_MSG("the application is linked with MPI, and PMIx before 4.2 serves one "
			       "program of a rank only");
	} else if (under_mpi && ret->mpi) {
		ret->mode = NP_MODE_HELPER;
		reason = NP_MSG("the application is linked with MPI");
	} else if (under_mpi) {
		ret->mode = NP_MODE_MPI;
		reason =
			ret->launcher.kind == NP_LAUNCHER_PMI
				? NP_MSG("started by mpiexec, and the application is not linked with MPI")
			: ret->launcher.kind == NP_LAUNCHER_SLURM
				? NP_MSG("started by srun, and the application is not linked with MPI")
				: NP_MSG("started by mpirun, and the application is not linked with MPI");
	} else if (starts_workers(app)) {
		ret->mode = NP_MODE_TCP;
		reason = NP_MSG("the application starts the ranks itself, on one node");
	} else {
		ret->mode = NP_MODE_MPI;
		reason = NP_MSG("a single process");
	}
	(void)snprintf(ret->reason, sizeof(ret->reason), "%s", reason);
}

static int take_rdzv(const struct np_collect_options *options, struct np_mode_choice *ret,
		     struct np_err *err)
{
	static const char *const sizes[] = { "SLURM_NNODES", "SLURM_JOB_NUM_NODES" };
	static const char *const ranks[] = { "SLURM_NODEID" };
	const char *colon = options->rdzv ? strrchr(options->rdzv, ':') : NULL;
	int64_t port = 0;

	ret->size = options->nnodes != NP_UNKNOWN ? (int)options->nnodes
						  : from_environment(sizes, NP_COUNT(sizes));
	ret->rank = options->node_rank != NP_UNKNOWN ? (int)options->node_rank
						     : from_environment(ranks, NP_COUNT(ranks));
	if (!options->rdzv && ret->size <= 1) {
		ret->size = 1;
		ret->rank = 0;
		return NP_OK;
	}
	if (!options->rdzv)
		return np_fail(err, NP_E_USAGE, "several nodes need --rdzv HOST:PORT of node 0");
	if (!colon || colon == options->rdzv ||
	    (size_t)(colon - options->rdzv) >= sizeof(ret->host) ||
	    !np_text_to_int(colon + 1, strlen(colon + 1), &port) || port < 1 || port > 65535)
		return np_fail(err, NP_E_USAGE, "--rdzv: '%.200s' is no HOST:PORT", options->rdzv);
	(void)snprintf(ret->host, sizeof(ret->host), "%.*s", (int)(colon - options->rdzv),
		       options->rdzv);
	ret->port = (int)port;
	if (ret->size < 1)
		return np_fail(err, NP_E_USAGE,
			       "--rdzv needs --nnodes; neither it nor SLURM_NNODES is given");
	if (ret->rank < 0)
		return np_fail(err, NP_E_USAGE,
			       "--rdzv needs --node-rank; neither it nor SLURM_NODEID is given");
	if (ret->rank >= ret->size)
		return np_fail(err, NP_E_USAGE, "there is no node %d: --nnodes is %d", ret->rank,
			       ret->size);
	return NP_OK;
}

int np_mode_choose(const struct np_collect_options *options, char *const *app,
		   struct np_mode_choice *ret, struct np_err *err)
{
	*ret = (struct np_mode_choice){ 0 };
	np_launcher_read(&ret->launcher);
	ret->rank = ret->launcher.rank;
	ret->size = ret->launcher.size;
	decide(options, app, ret);
	if (ret->mode == NP_MODE_TCP)
		return take_rdzv(options, ret, err);
	if (options->pid)
		return np_fail(err, NP_E_USAGE, "--pid is for --coord tcp, one launcher on a node");
	if (options->rdzv || options->nnodes != NP_UNKNOWN || options->node_rank != NP_UNKNOWN)
		return np_fail(err, NP_E_USAGE,
			       "--rdzv, --nnodes and --node-rank are for --coord tcp");
	if ((ret->mode == NP_MODE_INAPP || ret->mode == NP_MODE_HELPER) &&
	    (ret->rank < 0 || ret->size < 1))
		return np_fail(err, NP_E_USAGE,
			       "--coord %s is for launchers under mpirun: neither "
			       "OMPI_COMM_WORLD_RANK nor PMI_RANK is set",
			       np_mode_name(ret->mode));
	if (ret->mode == NP_MODE_HELPER && ret->launcher.kind == NP_LAUNCHER_PMI)
		return np_fail(
			err, NP_E_USAGE,
			"--coord helper is for mpirun of Open MPI: under %s no second program "
			"of a rank may use MPI; use --coord inapp",
			np_launcher_name(&ret->launcher));
	return NP_OK;
}
