/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_MPI_ADDRESS_H
#define NP_MPI_ADDRESS_H

#include "coord_tcp.h"

/*
 * Where launcher 0 is, as text: "<port> <token> <host>[,<host>...]". In this form it goes
 * through MPI: by the helper process before the application, or by the library in it.
 */
#define NP_ENV_ADDRESS "NPUPROF_PLACE"

enum {
	NP_MPI_ADDRESS_BYTES = 1200,
};

void np_mpi_address_format(const struct np_tcp_address *address, char *text, size_t size);

/* Fills all but rank and size. */
bool np_mpi_address_parse(const char *text, struct np_tcp_address *ret);

#endif /* NP_MPI_ADDRESS_H */
