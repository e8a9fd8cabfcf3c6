/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_LAUNCH_MODE_H
#define NP_LAUNCH_MODE_H

#include "cli/command/launcher.h"
#include "npuprof/err.h"

/*
 * How the launchers of a job talk to each other
 * =============================================
 *
 *	mpi     the launchers are MPI processes under mpirun, the application is none
 *	helper  the application is an MPI program: the launchers never call MPI. A helper
 *	        process does, before the application starts, only to learn where rank 0 is;
 *	        from then on there is TCP
 *	inapp   the same, but a library inside the application says where rank 0 is when
 *	        MPI_Init is called: for MPI libraries of which a second program may not be started
 *	tcp     no MPI: one launcher for each node, and workers that somebody else starts
 *	        (torchrun) and that our library in them makes known
 */
enum np_mode {
	NP_MODE_MPI,
	NP_MODE_HELPER,
	NP_MODE_INAPP,
	NP_MODE_TCP,
};

/* "auto" and the modes in their order, ending with NULL. */
extern const char *const np_mode_choices[];

const char *np_mode_name(enum np_mode mode);

struct np_mode_choice {
	enum np_mode mode;
	char reason[200];
	int rank; /* of this launcher, as far as the environment says; else -1 */
	int size; /* likewise */
	struct np_launcher launcher;
	enum np_mpi_family mpi; /* of the application */
	char host[256];         /* tcp: where node 0 is; "" if there is one node */
	int port;
};

struct np_collect_options;

/*
 * Decide from the options, the environment and the application. NP_E_USAGE for a
 * rendezvous that is incomplete.
 */
int np_mode_choose(const struct np_collect_options *options, char *const *app,
		   struct np_mode_choice *ret, struct np_err *err) NP_MUST_USE;

#endif /* NP_LAUNCH_MODE_H */
