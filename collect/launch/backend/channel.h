/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_CHANNEL_H
#define NP_CHANNEL_H

#include <poll.h>

#include "collect/protocol.h"
#include "npuprof/vec.h"

/*
 * The launcher's end of protocol.h: a socket to which every process of the
 * application that loads the library connects. Never waits. One thread.
 */
struct np_channel_peer {
	int fd;
	int32_t rank;  /* -1 until it has said */
	bool attached; /* it uses an NPU, and listens */
};

struct np_channel {
	char name[80]; /* for NPUPROF_SOCK */
	int listener;
	NP_VEC(struct np_channel_peer) peers;
};

#define NP_CHANNEL_INIT ((struct np_channel){ .listener = -1 })

/* `job` and `rank` make the name; jobs of the same name at the same time differ by the process id.
 */
int np_channel_open(struct np_channel *channel, const char *job, int rank, struct np_err *err)
	NP_MUST_USE;
void np_channel_close(struct np_channel *channel);

/* Descriptors to wait for: at most `size` of them, those that fit. */
size_t np_channel_fds(const struct np_channel *channel, struct pollfd *fds, size_t size);

/* Take the next message of any process, accepting new ones first; false: none now. */
bool np_channel_take(struct np_channel *channel, struct np_message *ret);

/* Send a message to all processes that are connected. */
void np_channel_send(struct np_channel *channel, const struct np_message *message);

/* Send it to the process of this rank that uses an NPU; false if there is none. */
bool np_channel_send_rank(struct np_channel *channel, int32_t rank,
			  const struct np_message *message);

#endif /* NP_CHANNEL_H */
