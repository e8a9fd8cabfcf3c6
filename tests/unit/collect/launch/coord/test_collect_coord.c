/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of launchers that talk over TCP, and of strangers who would like to. */
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collect/launch/coord/coord_tcp.h"
#include "collect/launch/coord/tcp_link.h"
#include "np_test.h"

/*
 * Launchers are processes here too: each test forks the others, and they end with 0 if what
 * they saw was right.
 */
enum {
	SIZE = 3,
	PATIENCE_S = 20,
};

static struct np_tcp_address address_of(int rank, int port)
{
	struct np_tcp_address address = { .rank = rank, .size = SIZE, .port = port };

	(void)snprintf(address.hosts, sizeof(address.hosts), "127.0.0.1");
	(void)snprintf(address.token, sizeof(address.token), "secret");
	return address;
}

static int listen_somewhere(int *port)
{
	struct np_err err = NP_ERR_INIT;
	int fd;

	*port = 0;
	fd = np_tcp_link_listen("127.0.0.1", port, &err);
	assert_true(fd >= 0);
	return fd;
}

/* Fork ranks 1 … SIZE-1 that do `act` and end with what it returns. */
static void start_others(pid_t *pids, int listener, int port,
			 int (*act)(struct np_coord *coord, int rank))
{
	for (int rank = 1; rank < SIZE; rank++) {
		pids[rank] = fork();
		if (pids[rank] == 0) {
			struct np_tcp_address address = address_of(rank, port);
			struct np_err err = NP_ERR_INIT;
			struct np_coord *coord;
			int status;

			(void)close(listener);
			(void)alarm(PATIENCE_S);
			if (np_coord_tcp_open(&address, -1, PATIENCE_S, &coord, &err) < 0)
				_exit(9);
			status = act(coord, rank);
			np_coord_close(coord);
			_exit(status);
		}
	}
}

static void expect_good_ends(const pid_t *pids)
{
	for (int rank = 1; rank < SIZE; rank++) {
		int status = -1;

		assert_int_equal(waitpid(pids[rank], &status, 0), pids[rank]);
		assert_true(WIFEXITED(status));
		assert_int_equal(WEXITSTATUS(status), 0);
	}
}

static int together(struct np_coord *coord, int rank)
{
	NP_CLEANUP(np_buf_release) struct np_buf text = NP_BUF_INIT;
	struct np_err err = NP_ERR_INIT;

	if (np_coord_bcast(coord, &text, &err) < 0 || strcmp(text.text, "the plan") != 0)
		return 1;
	if (np_coord_gather(coord, &rank, sizeof(rank), NULL, &err) < 0)
		return 2;
	if (np_coord_gather(coord, &rank, sizeof(rank), NULL, &err) < 0)
		return 4;
	if (np_coord_max(coord, rank == 1 ? 41 : -7) != 42)
		return 3;
	np_coord_wait(coord);
	np_coord_wait(coord);
	return 0;
}

static void all_agree_on_texts_numbers_and_ends(void **state)
{
	NP_CLEANUP(np_buf_release) struct np_buf text = NP_BUF_INIT;
	struct np_buf all[SIZE] = { NP_BUF_INIT, NP_BUF_INIT, NP_BUF_INIT };
	struct np_err err = NP_ERR_INIT;
	struct np_tcp_address address;
	struct np_coord *coord;
	pid_t pids[SIZE];
	int zero = 0;
	int port;
	int fd = listen_somewhere(&port);

	(void)state;
	start_others(pids, fd, port, together);
	address = address_of(0, port);
	assert_ok(np_coord_tcp_open(&address, fd, PATIENCE_S, &coord, &err), err);
	np_buf_add(&text, "the plan");
	assert_ok(np_coord_bcast(coord, &text, &err), err);
	assert_ok(np_coord_gather(coord, &zero, sizeof(zero), all, &err), err);
	/* Without memory for what they say, the others are heard all the same: nobody waits. */
	assert_int_equal(np_coord_gather(coord, &zero, sizeof(zero), NULL, &err), NP_E_NOMEM);
	for (int rank = 0; rank < SIZE; rank++) {
		int said;

		assert_int_equal(all[rank].length, sizeof(said));
		memcpy(&said, all[rank].text, sizeof(said));
		assert_int_equal(said, rank);
		np_buf_release(&all[rank]);
	}
	assert_int_equal(np_coord_max(coord, 42), 42);
	np_coord_wait(coord);
	np_coord_wait(coord);
	np_coord_close(coord);
	expect_good_ends(pids);
}

static bool await_event(struct np_coord *coord, struct np_event *event)
{
	for (int i = 0; i < PATIENCE_S * 1000; i++) {
		if (np_coord_poll(coord, event))
			return true;
		(void)usleep(1000);
	}
	return false;
}

static int echo(struct np_coord *coord, int rank)
{
	struct np_event event;
	struct np_stamp stamp;

	if (!await_event(coord, &event) || event.type != NP_EVENT_START || event.value != 5 ||
	    strcmp(event.text, "0-3") != 0)
		return 1;
	event.type = NP_EVENT_ACCEPTED;
	event.rank = rank;
	np_coord_send(coord, 0, &event);
	while (!np_coord_take_stamp(coord, 0, &stamp))
		(void)usleep(1000);
	stamp.time = 100 + rank;
	np_coord_send_stamp(coord, 0, &stamp);
	np_coord_wait(coord);
	return 0;
}

static void events_and_stamps_go_there_and_back(void **state)
{
	struct np_event start = { .type = NP_EVENT_START, .value = 5, .text = "0-3" };
	struct np_err err = NP_ERR_INIT;
	struct np_tcp_address address;
	struct np_coord *coord;
	struct np_event event;
	struct np_stamp stamp;
	pid_t pids[SIZE];
	int sum = 0;
	int port;
	int fd = listen_somewhere(&port);

	(void)state;
	start_others(pids, fd, port, echo);
	address = address_of(0, port);
	assert_ok(np_coord_tcp_open(&address, fd, PATIENCE_S, &coord, &err), err);
	for (int rank = 1; rank < SIZE; rank++) {
		np_coord_send(coord, rank, &start);
		np_coord_send_stamp(coord, rank, &(struct np_stamp){ rank, 0 });
	}
	for (int i = 1; i < SIZE; i++) {
		assert_true(await_event(coord, &event));
		assert_int_equal(event.type, NP_EVENT_ACCEPTED);
		sum += event.rank;
	}
	assert_int_equal(sum, 3);
	for (int rank = 1; rank < SIZE; rank++) {
		while (!np_coord_take_stamp(coord, rank, &stamp))
			(void)usleep(1000);
		assert_int_equal(stamp.number, rank);
		assert_int_equal(stamp.time, 100 + rank);
	}
	np_coord_wait(coord);
	np_coord_close(coord);
	expect_good_ends(pids);
}

static int die(struct np_coord *coord, int rank)
{
	if (rank == 2)
		_exit(0); /* without a word */
	(void)np_coord_max(coord, 1);
	np_coord_wait(coord);
	return 0;
}

static void one_that_is_gone_is_told_of_and_not_waited_for(void **state)
{
	struct np_buf all[SIZE] = { NP_BUF_INIT, NP_BUF_INIT, NP_BUF_INIT };
	struct np_err err = NP_ERR_INIT;
	struct np_tcp_address address;
	struct np_coord *coord;
	struct np_event event;
	pid_t pids[SIZE];
	int port;
	int fd = listen_somewhere(&port);

	(void)state;
	start_others(pids, fd, port, die);
	address = address_of(0, port);
	assert_ok(np_coord_tcp_open(&address, fd, PATIENCE_S, &coord, &err), err);
	assert_true(await_event(coord, &event));
	assert_int_equal(event.type, NP_EVENT_LOST);
	assert_int_equal(event.rank, 2);
	assert_true(np_coord_lost(coord, 2));
	assert_false(np_coord_lost(coord, 1));
	assert_int_equal(np_coord_max(coord, 0), 1);
	np_coord_wait(coord);
	np_coord_close(coord);
	expect_good_ends(pids);
	for (int rank = 0; rank < SIZE; rank++)
		np_buf_release(&all[rank]);
}

static void who_does_not_come_is_named_when_time_is_up(void **state)
{
	struct np_err err = NP_ERR_INIT;
	struct np_tcp_address address;
	struct np_coord *coord = NULL;
	int port;
	int fd = listen_somewhere(&port);

	(void)state;
	address = address_of(0, port);
	assert_int_equal(np_coord_tcp_open(&address, fd, 1, &coord, &err), NP_E_IO);
	assert_non_null(strstr(err.text, "2 of 3 launchers did not come within 1 s"));
	assert_non_null(strstr(err.text, "launcher 1"));
}

static void a_stranger_with_another_token_is_sent_away(void **state)
{
	struct np_err err = NP_ERR_INIT;
	struct np_tcp_address address;
	struct np_coord *coord = NULL;
	int status = -1;
	int port;
	int fd = listen_somewhere(&port);
	pid_t pid = fork();

	(void)state;
	if (pid == 0) {
		(void)alarm(PATIENCE_S);
		address = address_of(1, port);
		(void)snprintf(address.token, sizeof(address.token), "guess");
		_exit(np_coord_tcp_open(&address, -1, 1, &coord, &err) == NP_E_IO ? 0 : 1);
	}
	address = address_of(0, port);
	assert_int_equal(np_coord_tcp_open(&address, fd, 3, &coord, &err), NP_E_IO);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void what_is_said_before_the_others_came_reaches_them(void **state)
{
	struct np_event stop = { .type = NP_EVENT_STOP, .value = 7 };
	struct np_err err = NP_ERR_INIT;
	struct np_tcp_address address;
	struct np_coord *coord = NULL;
	int status = -1;
	int port;
	int fd = listen_somewhere(&port);
	pid_t pid;

	(void)state;
	address = address_of(0, port);
	address.size = 2;
	assert_ok(np_coord_tcp_late(&address, fd, &coord, &err), err);
	np_coord_send(coord, 1, &stop);
	pid = fork();
	if (pid == 0) {
		struct np_coord *mine = NULL;
		struct np_event event = { .type = NP_EVENT_SAVED, .rank = 1 };

		(void)alarm(PATIENCE_S);
		address.rank = 1;
		if (np_coord_tcp_late(&address, -1, &mine, &err) < 0)
			_exit(1);
		np_coord_send(mine, 0, &event);
		if (np_coord_tcp_join(mine, &address, PATIENCE_S, &err) < 0)
			_exit(2);
		if (!await_event(mine, &event) || event.type != NP_EVENT_STOP || event.value != 7)
			_exit(3);
		np_coord_wait(mine);
		np_coord_close(mine);
		_exit(0);
	}
	assert_true(np_coord_tcp_complete(coord, PATIENCE_S));
	assert_true(await_event(coord, &stop));
	assert_int_equal(stop.type, NP_EVENT_SAVED);
	np_coord_wait(coord);
	np_coord_close(coord);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

/* --- strangers, who speak as they like ------------------------------------- */

enum {
	HELLO = 1,
	CHALLENGE,
	PROOF,
	WELCOME,
	EVENT = 8,
};

struct hello {
	uint32_t version;
	int32_t rank;
	int32_t size;
	unsigned char nonce[NP_PROOF_BYTES];
};

/* Launcher 0 of two, and a link to it. */
struct scene {
	struct np_coord *coord;
	struct np_tcp_address address;
	struct np_tcp_link link;
};

static void set_scene(struct scene *scene)
{
	struct np_err err = NP_ERR_INIT;
	int port;
	int fd = listen_somewhere(&port);

	scene->address = address_of(0, port);
	assert_ok(np_coord_tcp_late(&scene->address, fd, &scene->coord, &err), err);
	scene->link = NP_TCP_LINK_INIT;
	fd = np_tcp_link_dial("127.0.0.1", port, PATIENCE_S * 1000);
	assert_true(fd >= 0);
	np_tcp_link_use(&scene->link, fd);
}

static void clear_scene(struct scene *scene)
{
	np_tcp_link_close(&scene->link);
	np_coord_close(scene->coord);
}

/* Let launcher 0 and the link go on until a message has come or the link is lost. */
static bool hear(struct scene *scene, struct np_tcp_link_message *ret)
{
	struct np_event event;

	for (int i = 0; i < PATIENCE_S * 1000; i++) {
		(void)np_coord_poll(scene->coord, &event);
		(void)np_tcp_link_pump(&scene->link);
		if (np_tcp_link_take(&scene->link, ret))
			return true;
		if (scene->link.lost)
			return false;
		(void)usleep(1000);
	}
	fail_msg("launcher 0 neither answers nor hangs up");
	return false;
}

/* Say HELLO as rank 1 and take the challenge. */
static void begin(struct scene *scene, struct np_proof_meeting *meeting)
{
	struct hello hello = { .version = 2, .rank = 1, .size = SIZE, .nonce = "of mine" };
	struct np_tcp_link_message message;

	np_tcp_link_put(&scene->link, HELLO, &hello, sizeof(hello));
	assert_true(hear(scene, &message));
	assert_int_equal(message.kind, CHALLENGE);
	assert_int_equal(message.length, NP_PROOF_BYTES);
	*meeting = (struct np_proof_meeting){ .rank = 1, .size = SIZE };
	memcpy(meeting->comer, hello.nonce, sizeof(meeting->comer));
	memcpy(meeting->host, message.bytes, sizeof(meeting->host));
}

/* The same, and prove it as one who knows the secret: from then on the link is sealed. */
static void enter(struct scene *scene)
{
	unsigned char code[NP_PROOF_BYTES];
	unsigned char in[NP_PROOF_BYTES];
	unsigned char out[NP_PROOF_BYTES];
	struct np_tcp_link_message message;
	struct np_proof_meeting meeting;
	struct np_proof_key key;

	begin(scene, &meeting);
	np_proof_key_of_token(scene->address.token, &key);
	np_proof_of_meeting(&key, NP_PROOF_ANSWER, &meeting, code);
	np_proof_of_meeting(&key, NP_PROOF_TO_COMER, &meeting, in);
	np_proof_of_meeting(&key, NP_PROOF_TO_HOST, &meeting, out);
	np_tcp_link_put(&scene->link, PROOF, code, sizeof(code));
	np_tcp_link_seal(&scene->link, in, out);
	assert_true(hear(scene, &message));
	assert_int_equal(message.kind, WELCOME);
}

/* Launcher 0 hangs up on whatever comes next, and says that rank 1 is lost if it was there. */
static void expect_end(struct scene *scene, bool was_there)
{
	struct np_tcp_link_message message;

	assert_false(hear(scene, &message));
	assert_int_equal(np_coord_lost(scene->coord, 1), was_there);
}

static void a_challenge_is_another_every_time(void **state)
{
	struct np_proof_meeting first;
	struct np_proof_meeting second;
	struct scene scene;

	(void)state;
	set_scene(&scene);
	begin(&scene, &first);
	clear_scene(&scene);
	set_scene(&scene);
	begin(&scene, &second);
	clear_scene(&scene);
	assert_memory_not_equal(first.host, second.host, sizeof(first.host));
}

static void the_code_of_another_connection_does_not_open_the_door(void **state)
{
	unsigned char code[NP_PROOF_BYTES];
	struct np_proof_meeting old;
	struct np_proof_meeting now;
	struct np_proof_key key;
	struct scene scene;

	(void)state;
	set_scene(&scene);
	begin(&scene, &old);
	clear_scene(&scene);
	set_scene(&scene);
	begin(&scene, &now);
	np_proof_key_of_token(scene.address.token, &key);
	np_proof_of_meeting(&key, NP_PROOF_ANSWER, &old, code);
	np_tcp_link_put(&scene.link, PROOF, code, sizeof(code));
	expect_end(&scene, false);
	clear_scene(&scene);
}

static void who_speaks_before_it_has_proven_anything_is_sent_away(void **state)
{
	const struct np_event saved = { .type = NP_EVENT_SAVED, .rank = 1 };
	struct np_proof_meeting meeting;
	char bytes[NP_EVENT_MOST_BYTES];
	struct np_event event;
	struct scene scene;

	(void)state;
	set_scene(&scene);
	np_tcp_link_put(&scene.link, EVENT, bytes, np_event_pack(&saved, bytes));
	expect_end(&scene, false);
	clear_scene(&scene);
	set_scene(&scene);
	begin(&scene, &meeting);
	np_tcp_link_put(&scene.link, EVENT, bytes, np_event_pack(&saved, bytes));
	expect_end(&scene, false);
	assert_false(np_coord_poll(scene.coord, &event));
	clear_scene(&scene);
}

static void a_stranger_is_heard_for_256_bytes(void **state)
{
	static const char much[300];
	struct scene scene;

	(void)state;
	set_scene(&scene);
	np_tcp_link_put(&scene.link, HELLO, much, sizeof(much));
	expect_end(&scene, false);
	clear_scene(&scene);
}

static void a_stranger_who_says_nothing_is_sent_away_and_others_come_in_meanwhile(void **state)
{
	struct np_tcp_link_message message;
	struct scene silent;
	struct scene other;
	int fd;

	(void)state;
	set_scene(&silent);
	other = silent;
	other.link = NP_TCP_LINK_INIT;
	fd = np_tcp_link_dial("127.0.0.1", silent.address.port, PATIENCE_S * 1000);
	assert_true(fd >= 0);
	np_tcp_link_use(&other.link, fd);
	enter(&other);
	assert_false(hear(&silent, &message)); /* after five seconds */
	np_tcp_link_close(&other.link);
	clear_scene(&silent);
}

static void who_knows_the_secret_comes_in_once(void **state)
{
	struct np_event event;
	struct scene first;
	struct scene twin;
	unsigned char code[NP_PROOF_BYTES];
	struct np_proof_meeting meeting;
	struct np_proof_key key;
	char bytes[NP_EVENT_MOST_BYTES];
	size_t length;
	int fd;

	(void)state;
	set_scene(&first);
	enter(&first);
	twin = first;
	twin.link = NP_TCP_LINK_INIT;
	fd = np_tcp_link_dial("127.0.0.1", first.address.port, PATIENCE_S * 1000);
	assert_true(fd >= 0);
	np_tcp_link_use(&twin.link, fd);
	begin(&twin, &meeting);
	np_proof_key_of_token(first.address.token, &key);
	np_proof_of_meeting(&key, NP_PROOF_ANSWER, &meeting, code);
	np_tcp_link_put(&twin.link, PROOF, code, sizeof(code));
	expect_end(&twin, false); /* the first one stays */
	length = np_event_pack(&(struct np_event){ .type = NP_EVENT_SAVED, .rank = 1 }, bytes);
	np_tcp_link_put(&first.link, EVENT, bytes, length);
	assert_true(await_event(first.coord, &event));
	assert_int_equal(event.type, NP_EVENT_SAVED);
	np_tcp_link_close(&twin.link);
	clear_scene(&first);
}

static void a_message_without_its_code_or_said_twice_ends_the_connection(void **state)
{
	const struct np_event saved = { .type = NP_EVENT_SAVED, .rank = 1 };
	char bytes[NP_EVENT_MOST_BYTES];
	size_t length = np_event_pack(&saved, bytes);
	struct np_event event;
	struct scene scene;

	(void)state;
	set_scene(&scene);
	enter(&scene);
	np_tcp_link_put(&scene.link, EVENT, bytes, length);
	assert_true(await_event(scene.coord, &event));
	assert_int_equal(event.type, NP_EVENT_SAVED);
	scene.link.seal_out.number--; /* the same message once more */
	np_tcp_link_put(&scene.link, EVENT, bytes, length);
	expect_end(&scene, true);
	clear_scene(&scene);

	set_scene(&scene);
	enter(&scene);
	scene.link.seal_out.key.bytes[5] ^= 1;
	np_tcp_link_put(&scene.link, EVENT, bytes, length);
	expect_end(&scene, true);
	clear_scene(&scene);
}

static void an_event_that_rank_1_cannot_send_ends_the_connection(void **state)
{
	const struct np_event bad[] = {
		{ .type = NP_EVENT_BYTES, .rank = 1000000, .value = 1 },
		{ .type = NP_EVENT_SAVED, .rank = 2 },
		{ .type = NP_EVENT_LOST, .rank = 1 },
	};

	(void)state;
	for (size_t i = 0; i < NP_COUNT(bad); i++) {
		char bytes[NP_EVENT_MOST_BYTES];
		struct scene scene;

		set_scene(&scene);
		enter(&scene);
		np_tcp_link_put(&scene.link, EVENT, bytes, np_event_pack(&bad[i], bytes));
		expect_end(&scene, true);
		clear_scene(&scene);
	}
}

/* A program that listens where launcher 0 should be, and does not know the secret. */
static void who_pretends_to_be_launcher_0_is_not_believed(void **state)
{
	struct np_err err = NP_ERR_INIT;
	struct np_tcp_address address;
	struct np_coord *coord = NULL;
	struct np_tcp_link link = NP_TCP_LINK_INIT;
	struct np_tcp_link_message message;
	const unsigned char nonce[NP_PROOF_BYTES] = "whatever";
	int status = -1;
	int port;
	int fd = listen_somewhere(&port);
	int peer = -1;
	pid_t pid = fork();

	(void)state;
	address = address_of(1, port);
	if (pid == 0) {
		(void)alarm(PATIENCE_S);
		_exit(np_coord_tcp_open(&address, -1, 1, &coord, &err) == NP_E_IO ? 0 : 1);
	}
	while (peer < 0) {
		peer = np_tcp_link_accept(fd);
		(void)usleep(1000);
	}
	np_tcp_link_use(&link, peer);
	while (!np_tcp_link_take(&link, &message) && np_tcp_link_pump(&link))
		(void)usleep(1000);
	np_tcp_link_put(&link, CHALLENGE, nonce, sizeof(nonce));
	while (!np_tcp_link_take(&link, &message) && np_tcp_link_pump(&link))
		(void)usleep(1000);
	assert_int_equal(message.kind, PROOF);
	/* A welcome without a code, and with one of another secret. */
	np_tcp_link_seal(&link, nonce, nonce);
	np_tcp_link_put(&link, WELCOME, NULL, 0);
	while (np_tcp_link_pump(&link))
		(void)usleep(1000);
	(void)close(fd);
	np_tcp_link_close(&link);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_agree_on_texts_numbers_and_ends),
		cmocka_unit_test(events_and_stamps_go_there_and_back),
		cmocka_unit_test(one_that_is_gone_is_told_of_and_not_waited_for),
		cmocka_unit_test(who_does_not_come_is_named_when_time_is_up),
		cmocka_unit_test(a_stranger_with_another_token_is_sent_away),
		cmocka_unit_test(what_is_said_before_the_others_came_reaches_them),
		cmocka_unit_test(a_challenge_is_another_every_time),
		cmocka_unit_test(the_code_of_another_connection_does_not_open_the_door),
		cmocka_unit_test(who_speaks_before_it_has_proven_anything_is_sent_away),
		cmocka_unit_test(a_stranger_is_heard_for_256_bytes),
		cmocka_unit_test(
			a_stranger_who_says_nothing_is_sent_away_and_others_come_in_meanwhile),
		cmocka_unit_test(who_knows_the_secret_comes_in_once),
		cmocka_unit_test(a_message_without_its_code_or_said_twice_ends_the_connection),
		cmocka_unit_test(an_event_that_rank_1_cannot_send_ends_the_connection),
		cmocka_unit_test(who_pretends_to_be_launcher_0_is_not_believed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
