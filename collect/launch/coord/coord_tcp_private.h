/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_COORD_TCP_PRIVATE_H
#define NP_COORD_TCP_PRIVATE_H

#include "coord_backend.h"
#include "coord_tcp.h"
#include "npuprof/vec.h"
#include "tcp_link.h"

/* What coord_tcp.c, which talks, and coord_tcp_join.c, which comes together, share. */
enum {
	NP_TCP_TICK_MS = 20,
	NP_TCP_VERSION = 1,
};

enum kind {
	KIND_HELLO = 1,
	KIND_WELCOME,
	KIND_BCAST,
	KIND_GATHER,
	KIND_MAX,
	KIND_EVENT,
	KIND_STAMP,
	KIND_LEAVE,
	KIND_ALL_LEFT,
};

struct hello {
	uint32_t version;
	int32_t rank;
	int32_t size;
	char token[64];
};

/* What came for a thing that is done together. */
struct part {
	uint32_t kind;
	char *bytes;
	size_t length;
};

/* The other end: on rank 0 one for every other rank, elsewhere rank 0. */
struct peer {
	struct np_tcp_link link;
	bool there; /* it has come at some time */
	bool told;  /* NP_EVENT_LOST was made */
	int64_t left;
	NP_VEC(struct part) parts;
	NP_VEC(struct np_stamp) stamps;
};

struct tcp {
	struct np_coord coord;
	char token[64];
	int listener;
	struct peer *peers; /* [coord.size]; those that are no peers of this rank stay unused */
	NP_VEC(struct np_event) events;
	NP_VEC(struct np_tcp_link) strangers; /* who has come and not said who it is */
	int64_t left;                         /* rounds this rank has left */
	int64_t rounds;                       /* rounds that all have left */
};

static inline struct tcp *tcp_of(struct np_coord *coord)
{
	return (struct tcp *)coord;
}

/* Take what has come and send what waits, for all peers; and wait a moment for more. */
void np_tcp_pump(struct tcp *tcp);
void np_tcp_rest(const struct tcp *tcp);

#endif /* NP_COORD_TCP_PRIVATE_H */
