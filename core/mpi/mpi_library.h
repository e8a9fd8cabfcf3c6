/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_MPI_LIBRARY_H
#define NP_MPI_LIBRARY_H

/* Which MPI this is, in a few words: "Open MPI v4.1.4". May be asked before MPI_Init; one thread.
 */
const char *np_mpi_library(void);

#endif /* NP_MPI_LIBRARY_H */
