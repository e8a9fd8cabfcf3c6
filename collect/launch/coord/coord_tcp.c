/* SPDX-License-Identifier: Apache-2.0 */
/* The star of TCP connections to rank 0: what is said over it, and how all come together. */
#include "coord_tcp.h"

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include "coord_backend.h"
#include "npuprof/realtime.h"
#include "npuprof/vec.h"
#include "secret.h"
#include "tcp_link.h"

enum {
	TICK_MS = 20,
	PROTOCOL_VERSION = 2,
	DIAL_MS = 2000,
	WELCOME_MS = 3000,
	NAP_US = 100000,
	/* For who has not proven anything. */
	STRANGER_S = 5,
	STRANGER_BYTES = 256,
	STRANGERS = 64,
};

enum tcp_kind {
	KIND_HELLO = 1,
	KIND_CHALLENGE,
	KIND_PROOF,
	KIND_WELCOME,
	KIND_BCAST,
	KIND_GATHER,
	KIND_MAX,
	KIND_EVENT,
	KIND_STAMP,
	KIND_LEAVE,
	KIND_ALL_LEFT,
};

struct tcp_hello {
	uint32_t version;
	int32_t rank;
	int32_t size;
	unsigned char nonce[NP_PROOF_BYTES];
};

/* Somebody who has come to rank 0 and not proven who it is. */
struct tcp_stranger {
	struct np_tcp_link link;
	np_ns until;
	bool challenged;
	struct np_proof_meeting meeting;
};

/* What came for a thing that is done together. */
struct tcp_part {
	uint32_t kind;
	char *bytes;
	size_t length;
};

/* The other end: on rank 0 one for every other rank, elsewhere rank 0. */
struct tcp_peer {
	struct np_tcp_link link;
	bool there;    /* it has come at some time */
	bool reported; /* NP_EVENT_LOST was made */
	int64_t left;
	NP_VEC(struct tcp_part) parts;
	NP_VEC(struct np_stamp) stamps;
};

struct tcp {
	struct np_coord coord;
	struct np_proof_key key;
	int listener;
	struct tcp_peer *peers; /* [coord.size]; those that are no peers of this rank stay unused */
	NP_VEC(struct np_event) events;
	NP_VEC(struct tcp_stranger) strangers;
	int64_t left;   /* rounds this rank has left */
	int64_t rounds; /* rounds that all have left */
};

static inline struct tcp *tcp_of(struct np_coord *coord)
{
	return (struct tcp *)coord;
}

static bool is_peer(const struct tcp *tcp, int rank)
{
	return rank != tcp->coord.rank && (tcp->coord.rank == 0 || rank == 0);
}

/* --- what comes in -------------------------------------------------------- */

static void keep_part(struct tcp_peer *peer, const struct np_tcp_link_message *message)
{
	struct tcp_part *slot = np_vec_add(&peer->parts, NULL);
	char *bytes = malloc(message->length + 1);

	if (!slot || !bytes) {
		free(bytes);
		if (slot)
			peer->parts.count--;
		peer->link.lost = true; /* out of memory: the order of parts cannot be kept */
		return;
	}
	memcpy(bytes, message->bytes, message->length);
	*slot = (struct tcp_part){ message->kind, bytes, message->length };
}

static void keep_event(struct tcp *tcp, const struct np_event *event)
{
	struct np_event *slot = np_vec_add(&tcp->events, NULL);

	if (slot)
		*slot = *event;
}

static void keep_stamp(struct tcp_peer *peer, const struct np_stamp *stamp)
{
	struct np_stamp *slot = np_vec_add(&peer->stamps, NULL);

	if (slot)
		*slot = *stamp;
}

/* False: it cannot have been sent by this peer. */
static bool hear(struct tcp *tcp, int rank, const struct np_tcp_link_message *message)
{
	struct tcp_peer *peer = &tcp->peers[rank];
	struct np_event event;
	struct np_stamp stamp;

	switch ((enum tcp_kind)message->kind) {
	case KIND_EVENT:
		if (!np_event_unpack(message->bytes, message->length, tcp->coord.size, rank,
				     tcp->coord.rank, &event))
			return false;
		keep_event(tcp, &event);
		return true;
	case KIND_STAMP:
		if (message->length != sizeof(stamp))
			return false;
		memcpy(&stamp, message->bytes, sizeof(stamp));
		if (stamp.number < NP_STAMP_ENOUGH)
			return false;
		keep_stamp(peer, &stamp);
		return true;
	case KIND_LEAVE:
		peer->left++;
		return rank != 0 && message->length == 0;
	case KIND_ALL_LEFT:
		tcp->rounds++;
		return rank == 0 && message->length == 0;
	case KIND_MAX:
		if (message->length != sizeof(int64_t))
			return false;
		keep_part(peer, message);
		return true;
	case KIND_BCAST:
		keep_part(peer, message);
		return rank == 0;
	case KIND_GATHER:
		keep_part(peer, message);
		return rank != 0;
	default:
		return false; /* the meeting is over */
	}
}

static void report_lost(struct tcp *tcp, int rank)
{
	struct np_event event = { .type = NP_EVENT_LOST, .rank = rank };

	if (tcp->peers[rank].reported)
		return;
	tcp->peers[rank].reported = true;
	keep_event(tcp, &event);
}

/* --- rank 0 and those who come -------------------------------------------- */

/* The codes of both directions, as launcher 0 sees them or as who comes does. */
static void seal(const struct np_proof_key *key, const struct np_proof_meeting *meeting, bool host,
		 struct np_tcp_link *link)
{
	unsigned char to_host[NP_PROOF_BYTES];
	unsigned char to_comer[NP_PROOF_BYTES];

	np_proof_of_meeting(key, NP_PROOF_TO_HOST, meeting, to_host);
	np_proof_of_meeting(key, NP_PROOF_TO_COMER, meeting, to_comer);
	np_tcp_link_seal(link, host ? to_host : to_comer, host ? to_comer : to_host);
}

/* One says who it is, and is asked for proof. False: it is to be sent away. */
static bool challenge(struct tcp *tcp, struct tcp_stranger *stranger,
		      const struct np_tcp_link_message *message)
{
	struct np_proof_meeting *meeting = &stranger->meeting;
	struct tcp_hello hello;

	if (message->kind != KIND_HELLO || message->length != sizeof(hello))
		return false;
	memcpy(&hello, message->bytes, sizeof(hello));
	if (hello.version != PROTOCOL_VERSION || hello.size != tcp->coord.size || hello.rank < 1 ||
	    hello.rank >= tcp->coord.size)
		return false;
	meeting->rank = hello.rank;
	meeting->size = hello.size;
	memcpy(meeting->comer, hello.nonce, sizeof(meeting->comer));
	np_proof_random(meeting->host, sizeof(meeting->host));
	stranger->challenged = true;
	np_tcp_link_put(&stranger->link, KIND_CHALLENGE, meeting->host, sizeof(meeting->host));
	return true;
}

/* It has answered. False: it does not know the secret, or somebody else is there in its name. */
static bool admit(struct tcp *tcp, struct tcp_stranger *stranger,
		  const struct np_tcp_link_message *message)
{
	struct tcp_peer *peer = &tcp->peers[stranger->meeting.rank];
	unsigned char expected[NP_PROOF_BYTES];
	unsigned char code[NP_PROOF_BYTES];

	if (message->kind != KIND_PROOF || message->length != sizeof(code))
		return false;
	memcpy(code, message->bytes, sizeof(code));
	np_proof_of_meeting(&tcp->key, NP_PROOF_ANSWER, &stranger->meeting, expected);
	if (!np_proof_same(code, expected) || peer->there || peer->link.lost)
		return false;
	peer->there = true;
	seal(&tcp->key, &stranger->meeting, true, &stranger->link);
	np_tcp_link_put(&stranger->link, KIND_WELCOME, NULL, 0);
	np_tcp_link_take_over(&peer->link, &stranger->link);
	return true;
}

static void accept_strangers(struct tcp *tcp)
{
	int fd;

	/* Those for whom there is no room wait in the kernel. */
	while (tcp->strangers.count < STRANGERS && (fd = np_tcp_link_accept(tcp->listener)) >= 0) {
		struct tcp_stranger *slot = np_vec_add(&tcp->strangers, NULL);

		if (!slot) {
			(void)close(fd);
			break;
		}
		*slot = (struct tcp_stranger){ .link = NP_TCP_LINK_INIT,
					       .until = np_steady_ns() +
							(np_ns)STRANGER_S * 1000000000 };
		np_tcp_link_use(&slot->link, fd);
		slot->link.most = STRANGER_BYTES;
	}
}

/* True while it may stay; who is admitted leaves this list too. */
static bool attend_stranger(struct tcp *tcp, struct tcp_stranger *stranger)
{
	struct np_tcp_link_message message;

	if (!np_tcp_link_pump(&stranger->link) || np_steady_ns() >= stranger->until)
		return false;
	if (!np_tcp_link_take(&stranger->link, &message))
		return !stranger->link.lost;
	if (!stranger->challenged)
		return challenge(tcp, stranger, &message);
	(void)admit(tcp, stranger, &message);
	return false;
}

static void meet_strangers(struct tcp *tcp)
{
	accept_strangers(tcp);
	for (size_t i = 0; i < tcp->strangers.count;) {
		struct tcp_stranger *stranger = &tcp->strangers.item[i];

		if (attend_stranger(tcp, stranger)) {
			i++;
			continue;
		}
		np_tcp_link_close(&stranger->link);
		*stranger = tcp->strangers.item[--tcp->strangers.count];
	}
}

/* --- everybody ------------------------------------------------------------ */

static void pump_peer(struct tcp *tcp, int rank)
{
	struct tcp_peer *peer = &tcp->peers[rank];
	struct np_tcp_link_message message;

	if (peer->link.fd >= 0)
		(void)np_tcp_link_pump(&peer->link);
	while (np_tcp_link_take(&peer->link, &message)) {
		if (!hear(tcp, rank, &message))
			np_tcp_link_refuse(&peer->link);
	}
	if (peer->link.lost)
		report_lost(tcp, rank);
}

/* Rank 0: has everybody left this round? Those that are lost have. */
static void count_left(struct tcp *tcp)
{
	if (tcp->coord.rank != 0 || tcp->left <= tcp->rounds)
		return;
	for (int rank = 1; rank < tcp->coord.size; rank++) {
		if (!tcp->peers[rank].link.lost && tcp->peers[rank].left <= tcp->rounds)
			return;
	}
	tcp->rounds++;
	for (int rank = 1; rank < tcp->coord.size; rank++)
		np_tcp_link_put(&tcp->peers[rank].link, KIND_ALL_LEFT, NULL, 0);
}

static void pump(struct tcp *tcp)
{
	if (tcp->listener >= 0)
		meet_strangers(tcp);
	for (int rank = 0; rank < tcp->coord.size; rank++) {
		if (is_peer(tcp, rank))
			pump_peer(tcp, rank);
	}
	count_left(tcp);
}

/* Wait a moment for anything to happen. */
static void rest(const struct tcp *tcp)
{
	struct pollfd *fds =
		calloc((size_t)tcp->coord.size + 1 + tcp->strangers.count, sizeof(*fds));
	nfds_t count = 0;

	for (int rank = 0; fds && rank < tcp->coord.size; rank++) {
		if (is_peer(tcp, rank) && tcp->peers[rank].link.fd >= 0)
			fds[count++] =
				(struct pollfd){ .fd = tcp->peers[rank].link.fd, .events = POLLIN };
	}
	for (size_t i = 0; fds && i < tcp->strangers.count; i++)
		fds[count++] =
			(struct pollfd){ .fd = tcp->strangers.item[i].link.fd, .events = POLLIN };
	if (fds && tcp->listener >= 0 && tcp->strangers.count < STRANGERS)
		fds[count++] = (struct pollfd){ .fd = tcp->listener, .events = POLLIN };
	(void)poll(fds, count, TICK_MS);
	free(fds);
}

/* --- things done together ------------------------------------------------- */

/* Wait for the next part of this kind; false if the peer is lost before. */
static bool await_part(struct tcp *tcp, int rank, enum tcp_kind kind, struct tcp_part *ret)
{
	struct tcp_peer *peer = &tcp->peers[rank];

	for (;;) {
		pump(tcp);
		if (peer->parts.count > 0) {
			*ret = peer->parts.item[0];
			peer->parts.count--;
			memmove(peer->parts.item, peer->parts.item + 1,
				peer->parts.count * sizeof(*peer->parts.item));
			if (ret->kind == kind)
				return true;
			free(ret->bytes); /* of a thing that was given up */
			continue;
		}
		if (peer->link.lost)
			return false;
		rest(tcp);
	}
}

static int fail_lost(struct np_err *err)
{
	return np_fail(err, NP_E_IO, "the connection to rank 0 is lost");
}

static int tcp_bcast(struct np_coord *coord, struct np_buf *text, struct np_err *err)
{
	struct tcp *tcp = tcp_of(coord);
	struct tcp_part part;

	if (coord->rank == 0) {
		for (int rank = 1; rank < coord->size; rank++)
			np_tcp_link_put(&tcp->peers[rank].link, KIND_BCAST, text->text,
					text->length);
		pump(tcp);
		return np_buf_check(text, err);
	}
	if (!await_part(tcp, 0, KIND_BCAST, &part))
		return fail_lost(err);
	np_buf_clear(text);
	np_buf_add_bytes(text, part.bytes, part.length);
	free(part.bytes);
	return np_buf_check(text, err);
}

static int tcp_gather(struct np_coord *coord, const void *bytes, size_t length,
		      struct np_buf *ret_all, struct np_err *err)
{
	struct tcp *tcp = tcp_of(coord);
	int rc = NP_OK;

	if (coord->rank != 0) {
		np_tcp_link_put(&tcp->peers[0].link, KIND_GATHER, bytes, length);
		pump(tcp);
		return tcp->peers[0].link.lost ? fail_lost(err) : NP_OK;
	}
	if (ret_all)
		np_buf_add_bytes(&ret_all[0], bytes, length);
	for (int rank = 1; rank < coord->size; rank++) {
		struct tcp_part part;

		if (!await_part(tcp, rank, KIND_GATHER, &part))
			continue; /* it has said nothing: its buffer stays empty */
		if (ret_all)
			np_buf_add_bytes(&ret_all[rank], part.bytes, part.length);
		free(part.bytes);
	}
	if (!ret_all)
		return np_fail_nomem(err, "what the launchers say");
	for (int rank = 0; rank < coord->size && rc == NP_OK; rank++)
		rc = np_buf_check(&ret_all[rank], err);
	return rc;
}

static int64_t number_of(const struct tcp_part *part, int64_t fallback)
{
	if (part->length == sizeof(fallback))
		memcpy(&fallback, part->bytes, sizeof(fallback));
	free(part->bytes);
	return fallback;
}

static int64_t tcp_max(struct np_coord *coord, int64_t value)
{
	struct tcp *tcp = tcp_of(coord);
	struct tcp_part part;

	if (coord->rank != 0) {
		np_tcp_link_put(&tcp->peers[0].link, KIND_MAX, &value, sizeof(value));
		return await_part(tcp, 0, KIND_MAX, &part) ? number_of(&part, value) : value;
	}
	for (int rank = 1; rank < coord->size; rank++) {
		int64_t other =
			await_part(tcp, rank, KIND_MAX, &part) ? number_of(&part, value) : value;

		if (other > value)
			value = other;
	}
	for (int rank = 1; rank < coord->size; rank++)
		np_tcp_link_put(&tcp->peers[rank].link, KIND_MAX, &value, sizeof(value));
	pump(tcp);
	return value;
}

/* --- messages ------------------------------------------------------------- */

static void tcp_send(struct np_coord *coord, int to, const struct np_event *event)
{
	struct tcp *tcp = tcp_of(coord);
	char bytes[NP_EVENT_MOST_BYTES];

	if (is_peer(tcp, to))
		np_tcp_link_put(&tcp->peers[to].link, KIND_EVENT, bytes,
				np_event_pack(event, bytes));
}

static bool tcp_poll(struct np_coord *coord, struct np_event *ret)
{
	struct tcp *tcp = tcp_of(coord);

	if (tcp->events.count == 0)
		pump(tcp);
	if (tcp->events.count == 0)
		return false;
	*ret = tcp->events.item[0];
	tcp->events.count--;
	memmove(tcp->events.item, tcp->events.item + 1,
		tcp->events.count * sizeof(*tcp->events.item));
	return true;
}

static void tcp_send_stamp(struct np_coord *coord, int to, const struct np_stamp *stamp)
{
	struct tcp *tcp = tcp_of(coord);

	if (is_peer(tcp, to))
		np_tcp_link_put(&tcp->peers[to].link, KIND_STAMP, stamp, sizeof(*stamp));
}

static bool tcp_take_stamp(struct np_coord *coord, int from, struct np_stamp *ret)
{
	struct tcp *tcp = tcp_of(coord);
	struct tcp_peer *peer = &tcp->peers[from];

	if (peer->stamps.count == 0)
		pump_peer(tcp, from);
	if (peer->stamps.count == 0)
		return false;
	*ret = peer->stamps.item[0];
	peer->stamps.count--;
	memmove(peer->stamps.item, peer->stamps.item + 1,
		peer->stamps.count * sizeof(*peer->stamps.item));
	return true;
}

static void tcp_leave(struct np_coord *coord)
{
	struct tcp *tcp = tcp_of(coord);

	tcp->left++;
	if (coord->rank != 0)
		np_tcp_link_put(&tcp->peers[0].link, KIND_LEAVE, NULL, 0);
}

static bool tcp_all_left(struct np_coord *coord)
{
	struct tcp *tcp = tcp_of(coord);

	pump(tcp);
	if (coord->rank != 0 && tcp->peers[0].link.lost)
		return true;
	return tcp->rounds >= tcp->left;
}

static bool tcp_lost(const struct np_coord *coord, int rank)
{
	const struct tcp *tcp = (const struct tcp *)coord;

	return is_peer(tcp, rank) && tcp->peers[rank].link.lost;
}

/* --- beginning and end ---------------------------------------------------- */

/* Say what is still to be said, for a moment. */
static void drain(struct tcp *tcp)
{
	np_ns end = np_steady_ns() + (np_ns)2 * 1000000000;

	for (int rank = 0; rank < tcp->coord.size; rank++) {
		struct np_tcp_link *link = &tcp->peers[rank].link;

		while (link->fd >= 0 && link->out.begin < link->out.end && np_steady_ns() < end) {
			(void)np_tcp_link_pump(link);
			(void)usleep(1000);
		}
	}
}

static void tcp_close(struct np_coord *coord)
{
	struct tcp *tcp = tcp_of(coord);

	drain(tcp);
	for (int rank = 0; rank < coord->size; rank++) {
		struct tcp_peer *peer = &tcp->peers[rank];

		np_tcp_link_close(&peer->link);
		for (size_t i = 0; i < peer->parts.count; i++)
			free(peer->parts.item[i].bytes);
		np_vec_release(&peer->parts);
		np_vec_release(&peer->stamps);
	}
	for (size_t i = 0; i < tcp->strangers.count; i++)
		np_tcp_link_close(&tcp->strangers.item[i].link);
	np_vec_release(&tcp->strangers);
	np_vec_release(&tcp->events);
	if (tcp->listener >= 0)
		(void)close(tcp->listener);
	free(tcp->peers);
	free(tcp);
}

int np_coord_tcp_late(const struct np_tcp_address *address, int listener, struct np_coord **ret,
		      struct np_err *err)
{
	static const struct np_coord_ops ops = {
		tcp_close,      tcp_bcast,      tcp_gather, tcp_max,      tcp_send, tcp_poll,
		tcp_send_stamp, tcp_take_stamp, tcp_leave,  tcp_all_left, tcp_lost,
	};
	struct tcp *tcp = calloc(1, sizeof(*tcp));

	if (tcp)
		tcp->peers = calloc((size_t)address->size, sizeof(*tcp->peers));
	if (!tcp || !tcp->peers) {
		free(tcp);
		return np_fail_nomem(err, "the coordination");
	}
	tcp->coord = (struct np_coord){ &ops, address->rank, address->size };
	tcp->listener = listener;
	np_proof_key_of_token(address->token, &tcp->key);
	for (int rank = 0; rank < address->size; rank++)
		tcp->peers[rank].link = NP_TCP_LINK_INIT;
	*ret = &tcp->coord;
	return NP_OK;
}

/* --- coming together ------------------------------------------------------- */

/* Signals to end are held until there is a session to end: while there is none, they end the
 * waiting. */
static bool is_told_to_end(void)
{
	sigset_t pending;

	return sigpending(&pending) == 0 &&
	       (sigismember(&pending, SIGTERM) == 1 || sigismember(&pending, SIGINT) == 1 ||
		sigismember(&pending, SIGHUP) == 1);
}

static int fail_told(struct np_err *err)
{
	return np_fail(err, NP_E_IO, "told to end while launchers were coming together");
}

/* The next message of this kind within the time; false if there is none. */
static bool await_kind(struct np_tcp_link *link, enum tcp_kind kind, size_t length, np_ns end,
		       struct np_tcp_link_message *ret)
{
	while (np_tcp_link_pump(link) && np_steady_ns() < end) {
		struct pollfd wait = { .fd = link->fd, .events = POLLIN };

		if (np_tcp_link_take(link, ret))
			return ret->kind == kind && ret->length == length;
		if (link->lost)
			return false;
		(void)poll(&wait, 1, TICK_MS);
	}
	/* It may have spoken and hung up. */
	return np_tcp_link_take(link, ret) && ret->kind == kind && ret->length == length;
}

/* Say who we are, prove it, and wait for a welcome that proves the same of rank 0. */
static bool prove(const struct np_tcp_address *address, struct np_tcp_link *link)
{
	struct np_proof_meeting meeting = { .rank = address->rank, .size = address->size };
	struct tcp_hello hello = { PROTOCOL_VERSION, address->rank, address->size, { 0 } };
	np_ns end = np_steady_ns() + (np_ns)WELCOME_MS * 1000000;
	unsigned char code[NP_PROOF_BYTES];
	struct np_tcp_link_message message;
	struct np_proof_key key;

	np_proof_random(meeting.comer, sizeof(meeting.comer));
	memcpy(hello.nonce, meeting.comer, sizeof(hello.nonce));
	link->most = STRANGER_BYTES;
	np_tcp_link_put(link, KIND_HELLO, &hello, sizeof(hello));
	if (!await_kind(link, KIND_CHALLENGE, sizeof(meeting.host), end, &message))
		return false;
	memcpy(meeting.host, message.bytes, sizeof(meeting.host));
	np_proof_key_of_token(address->token, &key);
	np_proof_of_meeting(&key, NP_PROOF_ANSWER, &meeting, code);
	np_tcp_link_put(link, KIND_PROOF, code, sizeof(code));
	seal(&key, &meeting, false, link);
	return await_kind(link, KIND_WELCOME, 0, end, &message);
}

/* What was put into the link before follows. */
static bool greet(struct tcp *tcp, const struct np_tcp_address *address, int fd)
{
	struct np_tcp_link link = NP_TCP_LINK_INIT;

	np_tcp_link_use(&link, fd);
	if (prove(address, &link)) {
		np_tcp_link_take_over(&tcp->peers[0].link, &link);
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
	struct np_tcp_address latest = *address;

	do {
		if (latest.token_file[0])
			(void)np_secret_read(latest.token_file, latest.token);
		if (join_once(tcp_of(coord), &latest))
			return NP_OK;
		if (is_told_to_end())
			return fail_told(err);
		(void)usleep(NAP_US);
	} while (np_steady_ns() < end);
	return np_fail(err, NP_E_IO,
		       "launcher %d does not reach launcher 0 at %.300s port %d within %d s; is it "
		       "started, with the same job, secret and number of launchers, and does a "
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
		pump(tcp);
		rest(tcp);
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
		if (is_told_to_end())
			return fail_told(err);
		if (np_steady_ns() >= end)
			return np_fail(err, NP_E_IO,
				       "%d of %d launchers did not come within %d s, the first of "
				       "them is launcher %d; are all started, with the same job?",
				       missing, tcp->coord.size, timeout_s, first);
		pump(tcp);
		rest(tcp);
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
