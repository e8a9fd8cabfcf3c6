/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_STAGE_SOCKETS_H
#define NP_STAGE_SOCKETS_H

#include "npuprof/base.h"

/*
 * Has mpirun noticed that the helper process is gone?
 * ===================================================
 *
 * A process of MPI is connected with the server in mpirun. When the server sees that connection
 * end it forgets what the rank is waiting for: by the rank's name, not by the connection. If it
 * sees the end of the helper process late, on a busy machine, the application that has taken its
 * place waits in MPI_Init forever. So the application may start only when the server has closed
 * its end of the helper's connections, which the kernel tells.
 */
enum {
	NP_STAGE_PORTS = 16,
};

/* The TCP connections of this process, by the ports of its ends; returns how many. */
int np_stage_ports(uint16_t *ports, int size);

/* Is a connection with such a port here still waiting for the other end to close? */
bool np_stage_is_open(const uint16_t *ports, int count);

/* The same for the text of /proc/net/tcp. */
bool np_stage_line_is_open(const char *line, const uint16_t *ports, int count);

#endif /* NP_STAGE_SOCKETS_H */
