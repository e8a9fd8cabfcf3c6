/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_LAUNCHER_H
#define NP_LAUNCHER_H

#include "npuprof/err.h"

/*
 * Who started this process beside others, and what they promised
 * ===============================================================
 *
 * mpirun, mpiexec, srun and prterun all leave variables in the environment of what they start;
 * which ones tells which MPI can find the others. Read anew on every call: nobody here changes the
 * environment.
 */
enum np_launcher_kind {
	NP_LAUNCHER_NONE,
	NP_LAUNCHER_OPENMPI, /* OMPI_COMM_WORLD_*: mpirun of Open MPI */
	NP_LAUNCHER_PMIX,    /* PMIX_RANK alone: prterun, srun --mpi=pmix */
	NP_LAUNCHER_PMI,     /* PMI_RANK: Hydra (MPICH, Intel MPI, MVAPICH2), srun --mpi=pmi2 */
	NP_LAUNCHER_SLURM,   /* only SLURM_PROCID: srun without any of these */
};

struct np_launcher {
	enum np_launcher_kind kind;
	int rank;       /* of this process; -1 where nobody started several */
	int size;       /* how many were started; -1 where that is not said */
	int local_size; /* how many of them are on this host; -1 where that is not said */
};

void np_launcher_read(struct np_launcher *ret);

/* Are there others, as far as is known? Who says no number may have started several. */
bool np_launcher_has_many(const struct np_launcher *launcher);

/* For people: "mpiexec (Hydra)". */
const char *np_launcher_name(const struct np_launcher *launcher);

/*
 * What all processes of a job have in common and no other job has: NULL where nothing says it.
 * Hydra has no variable for it: the process that it puts on every host names where its control
 * listens.
 */
char *np_launcher_job(const struct np_launcher *launcher) NP_MUST_USE;

/* The families of MPI libraries; those of one share a binary interface. */
enum np_mpi_family {
	NP_MPI_NONE,
	NP_MPI_OPENMPI,
	NP_MPI_MPICH, /* and Intel MPI, MVAPICH2, Cray MPICH */
};

/* "openmpi", "mpich": as in the names of our libraries, <name>-<family>.so. */
const char *np_mpi_family_name(enum np_mpi_family family);

/* The family that programs of this launcher most likely belong to. */
enum np_mpi_family np_launcher_family(const struct np_launcher *launcher);

/*
 * The address of `symbol` in our back-end for MPI, libnpuprof_mpi-<family>.so: the one that fits to
 * the launcher, another one where it was not built, or the one that NPUPROF_MPI names.
 * NP_E_NOTFOUND, with the reason.
 */
int np_launcher_backend(const struct np_launcher *launcher, const char *symbol, void **ret,
			struct np_err *err) NP_MUST_USE;

/*
 * Is the world that MPI found the one that was promised? `rank` and `size` are what MPI says,
 * `library` who it is. NP_E_IO with what to do if it is not: every process would do the whole work,
 * and write the same files.
 */
int np_launcher_check(const struct np_launcher *launcher, int size, const char *library,
		      struct np_err *err) NP_MUST_USE;

#endif /* NP_LAUNCHER_H */
