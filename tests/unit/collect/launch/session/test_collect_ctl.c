/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of both ends of "npuprof ctl": a launcher that listens, and a client in another process. */
#include "collect/launch/session/ctl.h"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

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

static int await_request(int listener, struct np_ctl_request *ret)
{
	int client = -1;

	for (int i = 0; client < 0 && i < PATIENCE_S * 1000; i++) {
		client = np_ctl_take(listener, ret);
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
	int listener;
	pid_t pid;

	make_root(root);
	(void)snprintf(job, sizeof(job), "%s%s", root, below);
	(void)mkdir(job, 0700);
	listener = np_ctl_listen(job, "job", "host", rank, &err);
	assert_true(listener >= 0);
	pid = fork();
	if (pid == 0)
		ask(root, "window 2: steps 7 to 9", failed);
	assert_true(pid > 0);
	np_ctl_answer(await_request(listener, &request), failed, "window 2: steps 7 to 9");
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(request.verb, NP_CTL_START);
	assert_true(request.steps == 3 && request.at == 7);
	assert_string_equal(request.ranks, "0-3");
	(void)close(listener);
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
	int listener;

	(void)state;
	make_root(root);
	listener = np_ctl_listen(root, "job", "host", 0, &err);
	assert_true(listener >= 0);
	(void)snprintf(path, sizeof(path), "%s/" NP_CTL_PREFIX "json", root);
	assert_int_equal(stat(path, &info), 0);
	assert_int_equal(info.st_mode & 0777, 0600);
	(void)close(listener);
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
	int listener[2];

	(void)state;
	make_root(root);
	for (int i = 0; i < 2; i++) {
		char name[16];

		(void)snprintf(name, sizeof(name), "job-%d", i);
		(void)snprintf(job[i], sizeof(job[i]), "%s/%s", root, name);
		assert_int_equal(mkdir(job[i], 0700), 0);
		listener[i] = np_ctl_listen(job[i], name, "host", 0, &err);
		assert_true(listener[i] >= 0);
	}
	assert_int_equal(np_ctl_ask(root, &request, &answer, 1, &err), NP_E_USAGE);
	assert_non_null(strstr(err.text, "2 jobs are running"));
	for (int i = 0; i < 2; i++)
		(void)close(listener[i]);
	np_remove_tree(root);
}

static void a_job_whose_launcher_is_gone_cannot_be_reached(void **state)
{
	const struct np_ctl_request request = { .version = NP_CTL_VERSION, .verb = NP_CTL_STATUS };
	struct np_ctl_answer answer;
	struct np_err err = NP_ERR_INIT;
	char root[64];
	int listener;

	(void)state;
	make_root(root);
	listener = np_ctl_listen(root, "job", "elsewhere", 0, &err);
	assert_true(listener >= 0);
	(void)close(listener);
	assert_int_equal(np_ctl_ask(root, &request, &answer, 1, &err), NP_E_IO);
	assert_non_null(strstr(err.text, "elsewhere"));
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
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
