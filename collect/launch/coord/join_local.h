/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_JOIN_LOCAL_H
#define NP_JOIN_LOCAL_H

#include "coord_tcp.h"

/*
 * Launchers of one host find each other
 * =====================================
 *
 * Where all launchers of a job are on one host, which mpirun says, no MPI is needed to tell them
 * where launcher 0 listens: it serves that on a unix socket named after mpirun's job. Safer as
 * well: where a helper process has used MPI in the name of a rank before the application does, Open
 * MPI 4.1 forgets one of the ranks in MPI_Init now and then, however long one waits in between
 * (in one job of some hundred, on a machine that is short of processors).
 */

/* Are all launchers on this host? */
bool np_join_local_possible(int size);

/*
 * Launcher 0 tells `place` to all others, the others get it; false if that takes longer. Only the
 * same user is told.
 */
bool np_join_local(int rank, int size, struct np_tcp_address *address, int seconds);

#endif /* NP_JOIN_LOCAL_H */
