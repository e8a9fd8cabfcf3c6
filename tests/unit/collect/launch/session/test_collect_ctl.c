/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of both ends of "npuprof ctl": a launcher that listens, and a client in another process. */
#include "collect/launch/session/ctl.h"

#include <stddef.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collect/protocol.h"
#include "np_test.h"
#include "npuprof/dirs.h"

enum {
	PATIENCE_S = 20,
	NAP_US = 1000,
};

/* A directory of a job that goes away with the test. */
static void make_root(char *root)
{
	memcpy(root, "/tmp/np-ctl-XXXXXX", sizeof("/tmp/np-ctl-XXXXXX"));
	assert_non_null(mkdtemp(root));
}

/* The client: 0 if it gets this answer. */
_Noreturn static void ask(const char *dir, const char *expected, bool failed)
{
	const struct np_ctl_request request = { .version = NP_CTL_VERSION,
						.verb = NP_CTL_START,
						.steps = 3,
						.at = 7,
						.level = -1,
						.ranks = "0-3" };
	struct np_ctl_answer answer;
	struct np_err err = NP_ERR_INIT;
	bool right = np_ctl_ask(dir, &request, &answer, PATIENCE_S, &err) == NP_OK &&
		     strcmp(answer.text, expected) == 0 && (answer.failed != 0) == failed;

	_exit(right ? 0 : 1);
}

static int await_request(struct np_ctl_door *door, struct np_ctl_request *ret)
{
	int client = -1;

	for (int i = 0; client < 0 && i < PATIENCE_S * 1000; i++) {
		client = np_ctl_take(door, ret);
		if (client < 0)
			(void)usleep(NAP_US);
	}
	return client;
}

static void converse(int rank, const char *below, bool failed)
{
	struct np_ctl_request request;
	struct np_err err = NP_ERR_INIT;
	char root[64];
	char job[128];
	int status = 1;
	struct np_ctl_door door = NP_CTL_DOOR_INIT;
	pid_t pid;

	make_root(root);
	(void)snprintf(job, sizeof(job), "%s%s", root, below);
	(void)mkdir(job, 0700);
	assert_ok(np_ctl_listen(&door, job, "job", "host", rank, &err), err);
	pid = fork();
	if (pid == 0)
		ask(root, "window 2: steps 7 to 9", failed);
	assert_true(pid > 0);
	np_ctl_answer(await_request(&door, &request), failed, "window 2: steps 7 to 9");
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(request.verb, NP_CTL_START);
	assert_true(request.steps == 3 && request.at == 7);
	assert_string_equal(request.ranks, "0-3");
	np_ctl_close(&door);
	np_ctl_forget(job, rank);
	np_remove_tree(root);
}

static void launcher_0_is_asked_in_the_directory_of_its_job(void **state)
{
	(void)state;
	converse(0, "", false);
}

static void any_launcher_is_asked_in_the_directory_above_if_one_job_runs_in_it(void **state)
{
	(void)state;
	converse(5, "/job-1", true);
}

static void the_file_that_names_the_socket_is_the_users_and_goes_with_the_job(void **state)
{
	struct np_err err = NP_ERR_INIT;
	struct stat info;
	char root[64];
	char path[128];
	struct np_ctl_door door = NP_CTL_DOOR_INIT;

	(void)state;
	make_root(root);
	assert_ok(np_ctl_listen(&door, root, "job", "host", 0, &err), err);
	(void)snprintf(path, sizeof(path), "%s/" NP_CTL_PREFIX "json", root);
	assert_int_equal(stat(path, &info), 0);
	assert_int_equal(info.st_mode & 0777, 0600);
	np_ctl_close(&door);
	np_ctl_forget(root, 0);
	assert_int_equal(stat(path, &info), -1);
	np_remove_tree(root);
}

static void a_job_that_does_not_run_is_not_found(void **state)
{
	const struct np_ctl_request request = { .version = NP_CTL_VERSION, .verb = NP_CTL_STATUS };
	struct np_ctl_answer answer;
	struct np_err err = NP_ERR_INIT;
	char root[64];

	(void)state;
	make_root(root);
	assert_int_equal(np_ctl_ask(root, &request, &answer, 1, &err), NP_E_NOTFOUND);
	assert_non_null(strstr(err.text, "no job is running in"));
	np_remove_tree(root);
	assert_int_equal(np_ctl_ask(root, &request, &answer, 1, &err), NP_E_NOTFOUND);
}

static void of_two_jobs_one_has_to_be_named(void **state)
{
	const struct np_ctl_request request = { .version = NP_CTL_VERSION, .verb = NP_CTL_STATUS };
	struct np_ctl_answer answer;
	struct np_err err = NP_ERR_INIT;
	char root[64];
	char job[2][128];
	struct np_ctl_door door[2];

	(void)state;
	make_root(root);
	for (int i = 0; i < 2; i++) {
		char name[16];

		(void)snprintf(name, sizeof(name), "job-%d", i);
		(void)snprintf(job[i], sizeof(job[i]), "%s/%s", root, name);
		assert_int_equal(mkdir(job[i], 0700), 0);
		assert_ok(np_ctl_listen(&door[i], job[i], name, "host", 0, &err), err);
	}
	assert_int_equal(np_ctl_ask(root, &request, &answer, 1, &err), NP_E_USAGE);
	assert_non_null(strstr(err.text, "2 jobs are running"));
	for (int i = 0; i < 2; i++)
		np_ctl_close(&door[i]);
	np_remove_tree(root);
}

static void a_job_whose_launcher_is_gone_cannot_be_reached(void **state)
{
	const struct np_ctl_request request = { .version = NP_CTL_VERSION, .verb = NP_CTL_STATUS };
	struct np_ctl_answer answer;
	struct np_err err = NP_ERR_INIT;
	char root[64];
	struct np_ctl_door door = NP_CTL_DOOR_INIT;

	(void)state;
	make_root(root);
	assert_ok(np_ctl_listen(&door, root, "job", "elsewhere", 0, &err), err);
	np_ctl_close(&door);
	assert_int_equal(np_ctl_ask(root, &request, &answer, 1, &err), NP_E_IO);
	assert_non_null(strstr(err.text, "elsewhere"));
	np_remove_tree(root);
}

/* A client of our own, which says what it likes. */
static int knock(struct np_ctl_door *door)
{
	struct sockaddr_un address;
	socklen_t length = sizeof(address);
	char name[108] = "";
	int fd;

	assert_int_equal(getsockname(door->listener, (struct sockaddr *)&address, &length), 0);
	memcpy(name, address.sun_path + 1, length - offsetof(struct sockaddr_un, sun_path) - 1);
	fd = np_protocol_connect(name);
	assert_true(fd >= 0);
	return fd;
}

static void expect_refusal(struct np_ctl_door *door, const struct np_ctl_request *request,
			   size_t size, const char *words)
{
	struct np_ctl_request taken;
	struct np_ctl_answer answer;
	int fd = knock(door);

	assert_int_equal(send(fd, request, size, 0), size);
	assert_int_equal(np_ctl_take(door, &taken), -1);
	assert_int_equal(recv(fd, &answer, sizeof(answer), 0), sizeof(answer));
	assert_true(answer.failed);
	assert_non_null(strstr(answer.text, words));
	(void)close(fd);
}

static void numbers_and_verbs_that_no_client_of_ours_sends_are_refused(void **state)
{
	const struct np_ctl_request good = {
		.version = NP_CTL_VERSION, .verb = NP_CTL_START, .steps = 1, .at = -1, .level = -1
	};
	struct np_ctl_door door = NP_CTL_DOOR_INIT;
	struct np_err err = NP_ERR_INIT;
	struct np_ctl_request bad = good;
	char root[64];

	(void)state;
	make_root(root);
	assert_ok(np_ctl_listen(&door, root, "job", "host", 0, &err), err);
	bad.verb = 3;
	expect_refusal(&door, &bad, sizeof(bad), "there is no request 3");
	bad = good;
	bad.steps = INT64_MAX;
	expect_refusal(&door, &bad, sizeof(bad), "no window has these steps");
	bad = good;
	bad.at = -2;
	expect_refusal(&door, &bad, sizeof(bad), "no window has these steps");
	bad = good;
	bad.level = 7;
	expect_refusal(&door, &bad, sizeof(bad), "there is no level 7");
	bad = good;
	memset(bad.ranks, 'x', sizeof(bad.ranks)); /* without an end */
	expect_refusal(&door, &bad, sizeof(bad), "xxx");
	expect_refusal(&door, &good, sizeof(good) - 1, "another version");
	np_ctl_close(&door);
	np_remove_tree(root);
}

static void clients_that_say_nothing_hold_up_nobody(void **state)
{
	const struct np_ctl_request status = {
		.version = NP_CTL_VERSION, .verb = NP_CTL_STATUS, .steps = 1, .at = -1, .level = -1
	};
	struct np_ctl_door door = NP_CTL_DOOR_INIT;
	struct np_err err = NP_ERR_INIT;
	struct np_ctl_request taken;
	int silent[NP_CTL_CLIENTS - 1];
	char root[64];
	int client;
	int fd;

	(void)state;
	make_root(root);
	assert_ok(np_ctl_listen(&door, root, "job", "host", 0, &err), err);
	for (size_t i = 0; i < NP_COUNT(silent); i++)
		silent[i] = knock(&door);
	fd = knock(&door);
	assert_int_equal(send(fd, &status, sizeof(status), 0), sizeof(status));
	client = np_ctl_take(&door, &taken);
	assert_true(client >= 0); /* at once, though fifteen were there before */
	assert_int_equal(taken.verb, NP_CTL_STATUS);
	np_ctl_answer(client, false, "fine");
	/* They are sent away in the end, whatever the number of calls until then. */
	for (int i = 0; i < PATIENCE_S * 1000 && door.count > 0; i++) {
		assert_int_equal(np_ctl_take(&door, &taken), -1);
		(void)usleep(NAP_US);
	}
	assert_int_equal(door.count, 0);
	for (size_t i = 0; i < NP_COUNT(silent); i++)
		(void)close(silent[i]);
	(void)close(fd);
	np_ctl_close(&door);
	np_remove_tree(root);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(launcher_0_is_asked_in_the_directory_of_its_job),
		cmocka_unit_test(
			any_launcher_is_asked_in_the_directory_above_if_one_job_runs_in_it),
		cmocka_unit_test(the_file_that_names_the_socket_is_the_users_and_goes_with_the_job),
		cmocka_unit_test(a_job_that_does_not_run_is_not_found),
		cmocka_unit_test(of_two_jobs_one_has_to_be_named),
		cmocka_unit_test(a_job_whose_launcher_is_gone_cannot_be_reached),
		cmocka_unit_test(numbers_and_verbs_that_no_client_of_ours_sends_are_refused),
		cmocka_unit_test(clients_that_say_nothing_hold_up_nobody),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
