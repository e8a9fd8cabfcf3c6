/* SPDX-License-Identifier: Apache-2.0 */
/* The socket to which our library in every process of the application connects. */
#include "channel.h"

#include <unistd.h>

int np_channel_open(struct np_channel *channel, const char *job, int rank, struct np_err *err)
{
	*channel = NP_CHANNEL_INIT;
	(void)snprintf(channel->name, sizeof(channel->name), "npuprof-%u-%.30s-%d-%d",
		       (unsigned)getuid(), job, (int)getpid(), rank);
	channel->listener = np_protocol_listen(channel->name, err);
	return channel->listener < 0 ? NP_E_IO : NP_OK;
}

void np_channel_close(struct np_channel *channel)
{
	for (size_t i = 0; i < channel->peers.count; i++)
		(void)close(channel->peers.item[i].fd);
	np_vec_release(&channel->peers);
	if (channel->listener >= 0)
		(void)close(channel->listener);
	channel->listener = -1;
}

size_t np_channel_fds(const struct np_channel *channel, struct pollfd *fds, size_t size)
{
	size_t count = 0;

	if (channel->listener >= 0 && count < size)
		fds[count++] = (struct pollfd){ .fd = channel->listener, .events = POLLIN };
	for (size_t i = 0; i < channel->peers.count && count < size; i++)
		fds[count++] = (struct pollfd){ .fd = channel->peers.item[i].fd, .events = POLLIN };
	return count;
}

static void accept_all(struct np_channel *channel)
{
	int fd;

	while (channel->listener >= 0 && (fd = np_protocol_accept(channel->listener)) >= 0) {
		struct np_channel_peer *slot = np_vec_add(&channel->peers, NULL);

		if (slot)
			*slot = (struct np_channel_peer){ .fd = fd, .rank = -1 };
		else
			(void)close(fd);
	}
}

bool np_channel_take(struct np_channel *channel, struct np_message *ret)
{
	accept_all(channel);
	for (size_t i = 0; i < channel->peers.count;) {
		struct np_channel_peer *peer = &channel->peers.item[i];
		int got = np_message_receive(peer->fd, ret);

		if (got > 0) {
			peer->rank = ret->rank;
			peer->attached |= ret->type == NP_MSG_ATTACHED;
			return true;
		}
		if (got == 0) {
			i++;
			continue;
		}
		(void)close(channel->peers.item[i].fd);
		channel->peers.item[i] = channel->peers.item[--channel->peers.count];
	}
	return false;
}

void np_channel_send(struct np_channel *channel, const struct np_message *message)
{
	for (size_t i = 0; i < channel->peers.count; i++)
		(void)np_message_send(channel->peers.item[i].fd, message);
}

bool np_channel_send_rank(struct np_channel *channel, int32_t rank,
			  const struct np_message *message)
{
	for (size_t i = 0; i < channel->peers.count; i++) {
		const struct np_channel_peer *peer = &channel->peers.item[i];

		if (peer->attached && peer->rank == rank && np_message_send(peer->fd, message))
			return true;
	}
	return false;
}
