/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_COORD_TCP_H
#define NP_COORD_TCP_H

#include <limits.h>

#include "coord.h"
#include "proof.h"

/*
 * Coordination without MPI: a star of TCP connections to rank 0
 * =============================================================
 *
 * Rank 0 listens, the others come. Who comes says its rank and proves that it knows the token of
 * the job, and so does rank 0 (proof.h); who does not, or has a rank that is there already, is sent
 * away. Until then it is heard for 5 seconds and 256 bytes, and 64 of them at a time. A
 * connection that breaks, or over which something comes that cannot have been sent, is
 * NP_EVENT_LOST on both ends, and from then on nobody waits for the other.
 */
struct np_tcp_address {
	int rank;
	int size;
	char hosts[1024]; /* where rank 0 is: names or addresses separated by commas */
	int port;
	char token[NP_PROOF_TOKEN]; /* the secret */
	char token_file[PATH_MAX];  /* where it is, if it may be that of an earlier job; else "" */
};

/*
 * All come together within `timeout_s`. Rank 0 gives the socket it listens on. On
 * failure the message says who did not come.
 */
int np_coord_tcp_open(const struct np_tcp_address *address, int listener, int timeout_s,
		      struct np_coord **ret, struct np_err *err) NP_MUST_USE;

/*
 * The same without waiting: what is said before the others have come waits for them, and
 * the things that are done together may be called when all are there. Rank 0 is joined
 * as soon as its address is known, by np_coord_tcp_join(). `rank` and `size` suffice in `address`,
 * on rank 0 also the token.
 */
int np_coord_tcp_late(const struct np_tcp_address *address, int listener, struct np_coord **ret,
		      struct np_err *err) NP_MUST_USE;
int np_coord_tcp_join(struct np_coord *coord, const struct np_tcp_address *address, int timeout_s,
		      struct np_err *err) NP_MUST_USE;

/* Wait until all are there, or time is up: those who are not count as lost. */
bool np_coord_tcp_complete(struct np_coord *coord, int timeout_s);

#endif /* NP_COORD_TCP_H */
