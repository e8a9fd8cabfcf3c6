/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_TCP_LINK_H
#define NP_TCP_LINK_H

#include "npuprof/err.h"
#include "proof.h"

/*
 * Messages over TCP that never wait
 * =================================
 *
 * A link is one connection. What is put into it goes out as the network takes it; what
 * comes in is collected until a message is complete. Both ends are of one installation:
 * numbers travel as they are. A peer whose machine or network is gone is noticed by the
 * kernel (keep-alive) within NP_TCP_LINK_SILENCE_S, whatever this process is doing.
 *
 * A link that is sealed (proof.h) puts a code behind every message, and a message without the
 * right one makes it lost.
 */
enum {
	NP_TCP_LINK_SILENCE_S = 12,
};

struct np_tcp_link_bytes {
	char *data;
	size_t begin;
	size_t end;
	size_t size;
};

/* One direction of a sealed link. */
struct np_tcp_link_seal {
	struct np_proof_key key;
	uint64_t number; /* of the next message */
};

struct np_tcp_link {
	int fd; /* -1: not connected yet, what is put waits; or lost */
	bool lost;
	bool sealed;
	size_t most; /* bytes of a message from somebody who has proven nothing; 0: any */
	struct np_tcp_link_seal seal_in;
	struct np_tcp_link_seal seal_out;
	struct np_tcp_link_bytes in;
	struct np_tcp_link_bytes out;
	struct np_tcp_link_bytes held; /* messages that were put while there was no connection */
};

#define NP_TCP_LINK_INIT ((struct np_tcp_link){ .fd = -1 })

struct np_tcp_link_message {
	uint32_t kind;
	const char *bytes; /* until the next call for this link */
	size_t length;
};

void np_tcp_link_close(struct np_tcp_link *link);

/* Use this connected socket from now on. */
void np_tcp_link_use(struct np_tcp_link *link, int fd);

void np_tcp_link_put(struct np_tcp_link *link, uint32_t kind, const void *bytes, size_t length);

/* Hang up and forget what else came: the peer said what it cannot have said. */
void np_tcp_link_refuse(struct np_tcp_link *link);

/* From now on every message carries a code, in both directions. */
void np_tcp_link_seal(struct np_tcp_link *link, const unsigned char in[NP_PROOF_BYTES],
		      const unsigned char out[NP_PROOF_BYTES]);

/*
 * Go on with the connection of `from`, which is empty afterwards; what was put into `link` before
 * follows.
 */
void np_tcp_link_take_over(struct np_tcp_link *link, struct np_tcp_link *from);

/* Send and receive what is possible now. False, and `lost`, if the peer is gone. */
bool np_tcp_link_pump(struct np_tcp_link *link);

/* Take the next complete message. One that is no message makes the link lost. */
bool np_tcp_link_take(struct np_tcp_link *link, struct np_tcp_link_message *ret);

/*
 * A listening socket on `port` (0: any, which is then set) of the address that `host` is, NULL: of
 * all that this machine has. -1 with an error.
 */
int np_tcp_link_listen(const char *host, int *port, struct np_err *err);

/* A new connection, not blocking; -1 if there is none now. */
int np_tcp_link_accept(int listener);

/* Connect to host:port within this time; -1 if that cannot be done. */
int np_tcp_link_dial(const char *host, int port, int timeout_ms);

/* Where this machine can be reached: names and addresses separated by commas. */
void np_tcp_link_addresses(char *text, size_t size);

#endif /* NP_TCP_LINK_H */
