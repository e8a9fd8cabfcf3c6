/* SPDX-License-Identifier: Apache-2.0 */
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
	fd = np_tcp_link_listen(port, &err);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_agree_on_texts_numbers_and_ends),
		cmocka_unit_test(events_and_stamps_go_there_and_back),
		cmocka_unit_test(one_that_is_gone_is_told_of_and_not_waited_for),
		cmocka_unit_test(who_does_not_come_is_named_when_time_is_up),
		cmocka_unit_test(a_stranger_with_another_token_is_sent_away),
		cmocka_unit_test(what_is_said_before_the_others_came_reaches_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
