/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_REALTIME_H
#define NP_REALTIME_H

#include "npuprof/base.h"

/*
 * The clock of a host
 * ===================
 *
 * What time is it on this host? Whoever takes times that are compared between
 * hosts (the collector, the injection library, the simulator) asks here, so that
 * several hosts with clocks of their own can be simulated on one machine.
 *
 * Without the build option NP_SIM_CLOCK this is CLOCK_REALTIME and nothing else.
 * With it, the environment may place ranks on simulated hosts and skew their
 * clocks:
 *
 *	NPUSIM_HOST_OF=0-3:hostA,4-7:hostB      ranks 0 to 3 are on hostA, …
 *	NPUSIM_CLOCK_SKEW=hostB:5000000:20      hostB's clock is 5 ms ahead at the epoch and gains
 *20 ppm NPUSIM_CLOCK_EPOCH=<unix ns>            from when on clocks drift; the start of the machine
 *if unset
 *
 * Several skews are separated by commas. The rank is the first of RANK, RANK_ID,
 * OMPI_COMM_WORLD_RANK, PMI_RANK and SLURM_PROCID that is a number. The environment
 * is read at the first call; a part that cannot be read has no effect. Any thread may call.
 */

/* Nanoseconds since 1970 on the clock of this process's host. */
np_ns np_realtime_ns(void);

/* A clock that nobody sets, to measure how long something takes. */
np_ns np_steady_ns(void);

/* What the host's clock shows when CLOCK_REALTIME is `true_ns`. */
np_ns np_realtime_at(np_ns true_ns);

/* The name of the simulated host, or NULL on a real one. */
const char *np_realtime_host(void);

/* The rank as above, or -1. */
int64_t np_realtime_rank(void);

/* The simulated host of another rank, copied into `name`; false if it has none. */
bool np_realtime_host_of(int64_t rank, char *name, size_t size);

#endif /* NP_REALTIME_H */
