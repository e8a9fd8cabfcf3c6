/* SPDX-License-Identifier: Apache-2.0 */
#include <poll.h>
#include <sys/random.h>
#include <unistd.h>

#include "coord_tcp_private.h"

#include "npuprof/realtime.h"

enum {
	DIAL_MS = 2000,
	WELCOME_MS = 3000,
	NAP_US = 100000,
};

void np_coord_tcp_token(char *token, size_t size)
{
	unsigned char bytes[16] = { 0 };

	(void)!getrandom(bytes, sizeof(bytes), 0);
	for (size_t i = 0; i < sizeof(bytes) && 2 * i + 2 < size; i++)
		(void)snprintf(token + 2 * i, size - 2 * i, "%02x", bytes[i]);
}

/* Greet rank 0 and wait for its welcome. What was put into the link before follows. */
static bool greet(struct tcp *tcp, const struct np_tcp_address *address, int fd)
{
	struct hello hello = { NP_TCP_VERSION, address->rank, address->size, "" };
	struct np_tcp_link link = NP_TCP_LINK_INIT;
	np_ns end = np_steady_ns() + (np_ns)WELCOME_MS * 1000000;
	struct np_tcp_link_message message;

	memcpy(hello.token, address->token, sizeof(hello.token));
	np_tcp_link_use(&link, fd);
	np_tcp_link_put(&link, KIND_HELLO, &hello, sizeof(hello));
	while (np_tcp_link_pump(&link) && np_steady_ns() < end) {
		struct pollfd wait = { .fd = link.fd, .events = POLLIN };

		if (!np_tcp_link_take(&link, &message)) {
			(void)poll(&wait, 1, NP_TCP_TICK_MS);
			continue;
		}
		if (message.kind != KIND_WELCOME)
			break;
		link.out = tcp->peers[0].link.out;
		tcp->peers[0].link = link;
		tcp->peers[0].there = true;
		return true;
	}
	np_tcp_link_close(&link);
	return false;
}

static bool join_once(struct tcp *tcp, const struct np_tcp_address *address)
{
	const char *at = address->hosts;

	while (*at) {
		size_t length = strcspn(at, ",");
		char host[256];
		int fd;

		(void)snprintf(host, sizeof(host), "%.*s", (int)length, at);
		fd = np_tcp_link_dial(host, address->port, DIAL_MS);
		if (fd >= 0 && greet(tcp, address, fd))
			return true;
		at += length + (at[length] == ',' ? 1 : 0);
	}
	return false;
}

int np_coord_tcp_join(struct np_coord *coord, const struct np_tcp_address *address, int timeout_s,
		      struct np_err *err)
{
	np_ns end = np_steady_ns() + (np_ns)timeout_s * 1000000000;

	do {
		if (join_once(tcp_of(coord), address))
			return NP_OK;
		(void)usleep(NAP_US);
	} while (np_steady_ns() < end);
	return np_fail(err, NP_E_IO,
		       "launcher %d does not reach launcher 0 at %.300s port %d within %d s; is it "
		       "started, with the same job and the same number of launchers, and does a "
		       "firewall let it pass?",
		       address->rank, address->hosts, address->port, timeout_s);
}

static int absent(const struct tcp *tcp, int *ret_first)
{
	int count = 0;

	for (int rank = tcp->coord.size - 1; tcp->coord.rank == 0 && rank > 0; rank--) {
		if (tcp->peers[rank].there)
			continue;
		count++;
		*ret_first = rank;
	}
	return count;
}

bool np_coord_tcp_complete(struct np_coord *coord, int timeout_s)
{
	struct tcp *tcp = tcp_of(coord);
	np_ns end = np_steady_ns() + (np_ns)timeout_s * 1000000000;
	int first;

	if (coord->rank != 0) {
		if (!tcp->peers[0].there)
			tcp->peers[0].link.lost = true;
		return tcp->peers[0].there;
	}
	while (absent(tcp, &first) > 0 && np_steady_ns() < end) {
		np_tcp_pump(tcp);
		np_tcp_rest(tcp);
	}
	for (int rank = 1; rank < coord->size; rank++) {
		if (!tcp->peers[rank].there)
			tcp->peers[rank].link.lost = true;
	}
	return absent(tcp, &first) == 0;
}

static int await_all(struct tcp *tcp, int timeout_s, struct np_err *err)
{
	np_ns end = np_steady_ns() + (np_ns)timeout_s * 1000000000;
	int first = 0;
	int missing;

	while ((missing = absent(tcp, &first)) > 0) {
		if (np_steady_ns() >= end)
			return np_fail(err, NP_E_IO,
				       "%d of %d launchers did not come within %d s, the first of "
				       "them is launcher %d; are all started, with the same job?",
				       missing, tcp->coord.size, timeout_s, first);
		np_tcp_pump(tcp);
		np_tcp_rest(tcp);
	}
	return NP_OK;
}

int np_coord_tcp_open(const struct np_tcp_address *address, int listener, int timeout_s,
		      struct np_coord **ret, struct np_err *err)
{
	struct np_coord *coord = NULL;
	int rc = np_coord_tcp_late(address, listener, &coord, err);

	if (rc < 0)
		return rc;
	rc = address->rank == 0 ? await_all(tcp_of(coord), timeout_s, err)
				: np_coord_tcp_join(coord, address, timeout_s, err);
	/* Nobody begins before all are there. */
	if (rc == NP_OK && address->rank != 0) {
		NP_CLEANUP(np_buf_release) struct np_buf go = NP_BUF_INIT;

		rc = np_coord_bcast(coord, &go, err);
		if (rc < 0)
			rc = np_fail(err, rc, "launcher 0 gave up: not all launchers came in time");
	} else if (rc == NP_OK) {
		NP_CLEANUP(np_buf_release) struct np_buf go = NP_BUF_INIT;

		np_buf_add(&go, "go");
		rc = np_coord_bcast(coord, &go, err);
	}
	if (rc < 0)
		np_coord_close(coord);
	else
		*ret = coord;
	return rc;
}
