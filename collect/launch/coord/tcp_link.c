/* SPDX-License-Identifier: Apache-2.0 */
/* Messages over one TCP connection that never wait, and how connections are made. */
#include "tcp_link.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

struct tcp_head {
	uint32_t magic;
	uint32_t kind;
	uint64_t length;
};

#define MAGIC UINT32_C(0x4e505431)
#define MOST  (UINT64_C(1) << 30)

/* --- bytes on their way --------------------------------------------------- */

static bool reserve(struct np_tcp_link_bytes *bytes, size_t more)
{
	size_t held = bytes->end - bytes->begin;
	size_t size = bytes->size ? bytes->size : 4096;
	char *data;

	if (bytes->size - bytes->end >= more)
		return true;
	if (held && bytes->begin)
		memmove(bytes->data, bytes->data + bytes->begin, held);
	bytes->begin = 0;
	bytes->end = held;
	while (size - held < more)
		size *= 2;
	if (size == bytes->size)
		return true;
	data = realloc(bytes->data, size);
	if (!data)
		return false;
	bytes->data = data;
	bytes->size = size;
	return true;
}

static bool append(struct np_tcp_link_bytes *bytes, const void *from, size_t length)
{
	if (!reserve(bytes, length))
		return false;
	if (length)
		memcpy(bytes->data + bytes->end, from, length);
	bytes->end += length;
	return true;
}

/* --- a link --------------------------------------------------------------- */

static void lose(struct np_tcp_link *link)
{
	if (link->fd >= 0)
		(void)close(link->fd);
	link->fd = -1;
	link->lost = true;
}

void np_tcp_link_close(struct np_tcp_link *link)
{
	if (link->fd >= 0)
		(void)close(link->fd);
	free(link->in.data);
	free(link->out.data);
	free(link->held.data);
	*link = NP_TCP_LINK_INIT;
}

static void set(int fd, int level, int option, int value)
{
	(void)setsockopt(fd, level, option, &value, sizeof(value));
}

void np_tcp_link_use(struct np_tcp_link *link, int fd)
{
	set(fd, IPPROTO_TCP, TCP_NODELAY, 1);
	set(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
	set(fd, IPPROTO_TCP, TCP_KEEPIDLE, NP_TCP_LINK_SILENCE_S / 3);
	set(fd, IPPROTO_TCP, TCP_KEEPINTVL, NP_TCP_LINK_SILENCE_S / 6);
	set(fd, IPPROTO_TCP, TCP_KEEPCNT, 4);
	set(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, NP_TCP_LINK_SILENCE_S * 1000);
	link->fd = fd;
	link->lost = false;
}

static void flush(struct np_tcp_link *link)
{
	struct np_tcp_link_bytes *out = &link->out;

	while (link->fd >= 0 && out->begin < out->end) {
		ssize_t sent = send(link->fd, out->data + out->begin, out->end - out->begin,
				    MSG_NOSIGNAL | MSG_DONTWAIT);

		if (sent < 0 && errno == EINTR)
			continue;
		if (sent < 0) {
			if (errno != EAGAIN)
				lose(link);
			return;
		}
		out->begin += (size_t)sent;
	}
}

/* Half a message would spoil all that follow: then the link is lost. */
static void emit(struct np_tcp_link *link, const struct tcp_head *head, const void *body)
{
	unsigned char code[NP_PROOF_BYTES];
	bool kept =
		append(&link->out, head, sizeof(*head)) && append(&link->out, body, head->length);

	if (kept && link->sealed) {
		np_proof_of_message(&link->seal_out.key, link->seal_out.number++, head,
				    sizeof(*head), body, head->length, code);
		kept = append(&link->out, code, sizeof(code));
	}
	if (!kept)
		lose(link);
}

void np_tcp_link_put(struct np_tcp_link *link, uint32_t kind, const void *bytes, size_t length)
{
	struct tcp_head head = { MAGIC, kind, length };

	if (link->lost)
		return;
	if (link->fd >= 0)
		emit(link, &head, bytes);
	else if (!append(&link->held, &head, sizeof(head)) || !append(&link->held, bytes, length))
		lose(link);
	flush(link);
}

void np_tcp_link_seal(struct np_tcp_link *link, const unsigned char in[NP_PROOF_BYTES],
		      const unsigned char out[NP_PROOF_BYTES])
{
	link->seal_in = (struct np_tcp_link_seal){ 0 };
	link->seal_out = (struct np_tcp_link_seal){ 0 };
	memcpy(link->seal_in.key.bytes, in, NP_PROOF_BYTES);
	memcpy(link->seal_out.key.bytes, out, NP_PROOF_BYTES);
	link->sealed = true;
	link->most = 0;
}

void np_tcp_link_take_over(struct np_tcp_link *link, struct np_tcp_link *from)
{
	struct np_tcp_link_bytes held = link->held;

	assert(link->fd < 0 && link->out.end == link->out.begin);
	free(link->in.data);
	free(link->out.data);
	free(from->held.data);
	*link = *from;
	link->held = (struct np_tcp_link_bytes){ 0 };
	*from = NP_TCP_LINK_INIT;
	while (!link->lost && held.begin < held.end) {
		struct tcp_head head;

		memcpy(&head, held.data + held.begin, sizeof(head));
		emit(link, &head, held.data + held.begin + sizeof(head));
		held.begin += sizeof(head) + head.length;
	}
	free(held.data);
	flush(link);
}

static void receive(struct np_tcp_link *link)
{
	struct np_tcp_link_bytes *in = &link->in;

	while (link->fd >= 0) {
		size_t room = link->most ? link->most - (in->end - in->begin) : 65536;
		ssize_t got;

		if (room == 0)
			return; /* a message of somebody unknown is to be looked at first */
		if (!reserve(in, room)) {
			lose(link);
			return;
		}
		got = recv(link->fd, in->data + in->end, link->most ? room : in->size - in->end,
			   MSG_DONTWAIT);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0 && errno == EAGAIN)
			return;
		if (got <= 0) {
			lose(link);
			return;
		}
		in->end += (size_t)got;
	}
}

bool np_tcp_link_pump(struct np_tcp_link *link)
{
	flush(link);
	receive(link);
	return !link->lost;
}

void np_tcp_link_refuse(struct np_tcp_link *link)
{
	lose(link);
	link->in.begin = link->in.end;
}

static bool is_proven(struct np_tcp_link *link, const struct tcp_head *head, const char *body)
{
	unsigned char expected[NP_PROOF_BYTES];
	unsigned char code[NP_PROOF_BYTES];

	if (!link->sealed)
		return true;
	np_proof_of_message(&link->seal_in.key, link->seal_in.number++, head, sizeof(*head), body,
			    head->length, expected);
	memcpy(code, body + head->length, sizeof(code));
	return np_proof_same(code, expected);
}

bool np_tcp_link_take(struct np_tcp_link *link, struct np_tcp_link_message *ret)
{
	struct np_tcp_link_bytes *in = &link->in;
	size_t code = link->sealed ? NP_PROOF_BYTES : 0;
	size_t there = in->end - in->begin;
	struct tcp_head head;
	const char *body;

	if (there < sizeof(head))
		return false;
	memcpy(&head, in->data + in->begin, sizeof(head));
	if (head.magic != MAGIC || head.length > MOST ||
	    (link->most && sizeof(head) + head.length > link->most)) {
		np_tcp_link_refuse(link);
		return false;
	}
	if (there - sizeof(head) < head.length + code)
		return false;
	body = in->data + in->begin + sizeof(head);
	if (!is_proven(link, &head, body)) {
		np_tcp_link_refuse(link);
		return false;
	}
	ret->kind = head.kind;
	ret->bytes = body;
	ret->length = head.length;
	in->begin += sizeof(head) + head.length + code;
	return true;
}

/* --- connections ---------------------------------------------------------- */

/* The first IPv4 address of a host; false if it has none. */
static bool address_of(const char *host, struct in_addr *ret)
{
	const struct addrinfo hints = { .ai_family = AF_INET, .ai_socktype = SOCK_STREAM };
	struct addrinfo *found = NULL;
	struct sockaddr_in address;

	if (getaddrinfo(host, NULL, &hints, &found) != 0)
		return false;
	memcpy(&address, found->ai_addr, sizeof(address));
	*ret = address.sin_addr;
	freeaddrinfo(found);
	return true;
}

int np_tcp_link_listen(const char *host, int *port, struct np_err *err)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons((uint16_t)*port) };
	socklen_t length = sizeof(address);
	int fd;

	if (host && !address_of(host, &address.sin_addr)) {
		(void)np_fail(err, NP_E_IO, "cannot listen: '%.200s' has no address here", host);
		return -1;
	}
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd >= 0)
		set(fd, SOL_SOCKET, SO_REUSEADDR, 1);
	if (fd < 0 || bind(fd, (const struct sockaddr *)&address, length) < 0 ||
	    listen(fd, 1024) < 0 || getsockname(fd, (struct sockaddr *)&address, &length) < 0) {
		(void)np_fail(err, NP_E_IO, "cannot listen on %.200s port %d: %s",
			      host ? host : "any address,", *port, strerrordesc_np(errno));
		if (fd >= 0)
			(void)close(fd);
		return -1;
	}
	*port = ntohs(address.sin_port);
	return fd;
}

int np_tcp_link_accept(int listener)
{
	return accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
}

static int dial_address(const struct addrinfo *address, int timeout_ms)
{
	int fd = socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct pollfd wait = { .fd = fd, .events = POLLOUT };
	int code = 0;
	socklen_t length = sizeof(code);

	if (fd < 0)
		return -1;
	if (connect(fd, address->ai_addr, address->ai_addrlen) == 0)
		return fd;
	if (errno == EINPROGRESS && poll(&wait, 1, timeout_ms) > 0 &&
	    getsockopt(fd, SOL_SOCKET, SO_ERROR, &code, &length) == 0 && code == 0)
		return fd;
	(void)close(fd);
	return -1;
}

int np_tcp_link_dial(const char *host, int port, int timeout_ms)
{
	const struct addrinfo hints = { .ai_family = AF_INET, .ai_socktype = SOCK_STREAM };
	struct addrinfo *found = NULL;
	char service[16];
	int fd = -1;

	(void)snprintf(service, sizeof(service), "%d", port);
	if (getaddrinfo(host, service, &hints, &found) != 0)
		return -1;
	for (const struct addrinfo *one = found; one && fd < 0; one = one->ai_next)
		fd = dial_address(one, timeout_ms);
	freeaddrinfo(found);
	return fd;
}

void np_tcp_link_addresses(char *text, size_t size)
{
	struct ifaddrs *all = NULL;
	size_t used = (size_t)snprintf(text, size, "127.0.0.1");

	if (getifaddrs(&all) < 0)
		return;
	for (const struct ifaddrs *one = all; one; one = one->ifa_next) {
		char name[INET_ADDRSTRLEN];
		struct sockaddr_in address;

		if (!one->ifa_addr || one->ifa_addr->sa_family != AF_INET ||
		    (one->ifa_flags & IFF_LOOPBACK) || !(one->ifa_flags & IFF_UP))
			continue;
		memcpy(&address, one->ifa_addr, sizeof(address));
		if (!inet_ntop(AF_INET, &address.sin_addr, name, sizeof(name)) ||
		    used + strlen(name) + 2 > size)
			continue;
		used += (size_t)snprintf(text + used, size - used, ",%s", name);
	}
	freeifaddrs(all);
}
