/* SPDX-License-Identifier: Apache-2.0 */
#include "join_local.h"

#include <poll.h>
#include <unistd.h>

#include "collect/protocol.h"
#include "mpi_address.h"
#include "npuprof/realtime.h"
#include "npuprof/text.h"

enum {
	NAP_US = 10000,
	ANSWER_MS = 2000,
};

/* Nobody changes the environment. */
static const char *variable(const char *name)
{
	return getenv(name); /* NOLINT(concurrency-mt-unsafe) */
}

bool np_join_local_possible(int size)
{
	const char *local = variable("OMPI_COMM_WORLD_LOCAL_SIZE");
	int64_t count;

	return local && variable("PMIX_NAMESPACE") &&
	       np_text_to_int(local, strlen(local), &count) && count == size;
}

static void socket_name(char *name, size_t size)
{
	(void)snprintf(name, size, "npuprof-place-%u-%.60s", (unsigned)getuid(),
		       variable("PMIX_NAMESPACE"));
}

static bool serve(const char *name, int count, const struct np_tcp_address *address, np_ns end)
{
	struct np_err err = NP_ERR_INIT;
	int listener = np_protocol_listen(name, &err);
	struct np_message message;
	int told = 0;

	np_message_init(&message, NP_MSG_RENDEZVOUS, 0);
	np_mpi_address_format(address, message.text, sizeof(message.text));
	while (listener >= 0 && told < count && np_steady_ns() < end) {
		int fd = np_protocol_accept(listener);

		if (fd < 0) {
			(void)usleep(NAP_US);
			continue;
		}
		told += np_message_send(fd, &message) ? 1 : 0;
		(void)close(fd);
	}
	if (listener >= 0)
		(void)close(listener);
	return told == count;
}

/* One attempt: launcher 0 may not listen yet. */
static bool fetch(const char *name, struct np_tcp_address *address)
{
	int fd = np_protocol_connect(name);
	struct pollfd wait = { .fd = fd, .events = POLLIN };
	struct np_message message;
	bool told = fd >= 0 && poll(&wait, 1, ANSWER_MS) > 0 &&
		    np_message_receive(fd, &message) > 0 && message.type == NP_MSG_RENDEZVOUS &&
		    np_mpi_address_parse(message.text, address);

	if (fd >= 0)
		(void)close(fd);
	return told;
}

bool np_join_local(int rank, int size, struct np_tcp_address *address, int seconds)
{
	np_ns end = np_steady_ns() + (np_ns)seconds * 1000000000;
	char name[100];
	bool told = false;

	socket_name(name, sizeof(name));
	if (rank == 0)
		return serve(name, size - 1, address, end);
	while (!told && np_steady_ns() < end) {
		told = fetch(name, address);
		if (!told)
			(void)usleep(NAP_US);
	}
	return told;
}
