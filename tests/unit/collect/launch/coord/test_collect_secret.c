/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the secret of a job: where it comes from, who may read it, what is no secret. */
#include "collect/launch/coord/secret.h"

#include <sys/stat.h>
#include <unistd.h>

#include "np_test.h"
#include "npuprof/dirs.h"

#define GIVEN "0123456789abcdef"

static char root[64];

static int set_up(void **state)
{
	(void)state;
	memcpy(root, "/tmp/np-secret-XXXXXX", sizeof("/tmp/np-secret-XXXXXX"));
	(void)unsetenv("NPUPROF_TOKEN");
	return mkdtemp(root) ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	(void)unsetenv("NPUPROF_TOKEN");
	np_remove_tree(root);
	return 0;
}

static struct np_collect_options options_of(const char *job)
{
	return (struct np_collect_options){ .save_path = root, .job = job };
}

static void one_that_is_given_is_another_for_every_job(void **state)
{
	struct np_collect_options a = options_of("a");
	struct np_collect_options b = options_of("b");
	struct np_secret secret = NP_SECRET_INIT;
	struct np_err err = NP_ERR_INIT;
	char first[NP_PROOF_TOKEN];
	char again[NP_PROOF_TOKEN];
	char other[NP_PROOF_TOKEN];

	(void)state;
	(void)setenv("NPUPROF_TOKEN", GIVEN, 1);
	assert_ok(np_secret_find(&secret, &a, 0, 0, first, &err), err);
	assert_ok(np_secret_find(&secret, &a, 1, 0, again, &err), err);
	assert_ok(np_secret_find(&secret, &b, 0, 0, other, &err), err);
	assert_string_equal(first, again);
	assert_string_not_equal(first, other);
	assert_null(strstr(first, GIVEN));
}

static void one_that_can_be_guessed_is_refused(void **state)
{
	struct np_collect_options options = options_of("a");
	struct np_secret secret = NP_SECRET_INIT;
	struct np_err err = NP_ERR_INIT;
	char token[NP_PROOF_TOKEN];

	(void)state;
	(void)setenv("NPUPROF_TOKEN", "hunter2", 1);
	assert_int_equal(np_secret_find(&secret, &options, 0, 0, token, &err), NP_E_USAGE);
	assert_non_null(strstr(err.text, "less than 16 characters"));
	(void)setenv("NPUPROF_TOKEN", "", 1);
	assert_int_equal(np_secret_find(&secret, &options, 0, 0, token, &err), NP_E_USAGE);
}

static void without_one_the_two_ways_are_named(void **state)
{
	struct np_collect_options options = options_of(NULL);
	struct np_secret secret = NP_SECRET_INIT;
	struct np_err err = NP_ERR_INIT;
	char token[NP_PROOF_TOKEN];

	(void)state;
	assert_int_equal(np_secret_find(&secret, &options, 0, 0, token, &err), NP_E_USAGE);
	assert_non_null(strstr(err.text, "NPUPROF_TOKEN"));
	assert_non_null(strstr(err.text, "--save-path"));
}

static void launcher_0_makes_a_file_that_the_others_read_and_removes_it(void **state)
{
	struct np_collect_options options = options_of("run7");
	struct np_secret first = NP_SECRET_INIT;
	struct np_secret other = NP_SECRET_INIT;
	struct np_err err = NP_ERR_INIT;
	char made[NP_PROOF_TOKEN];
	char read[NP_PROOF_TOKEN];
	struct stat info;

	(void)state;
	assert_ok(np_secret_find(&first, &options, 0, 0, made, &err), err);
	assert_int_equal(strlen(made), 32);
	assert_int_equal(stat(first.path, &info), 0);
	assert_int_equal(info.st_mode & 0777, 0600);
	assert_ok(np_secret_find(&other, &options, 1, 0, read, &err), err);
	assert_string_equal(read, made);
	np_secret_forget(&other);
	assert_int_equal(stat(first.path, &info), 0);
	np_secret_forget(&first);
	assert_int_equal(stat(first.path, &info), -1);
}

static void one_of_an_earlier_job_is_replaced(void **state)
{
	struct np_collect_options options = options_of("run7");
	struct np_secret secret = NP_SECRET_INIT;
	struct np_err err = NP_ERR_INIT;
	char before[NP_PROOF_TOKEN];
	char now[NP_PROOF_TOKEN];

	(void)state;
	assert_ok(np_secret_find(&secret, &options, 0, 0, before, &err), err);
	assert_ok(np_secret_find(&secret, &options, 0, 0, now, &err), err);
	assert_string_not_equal(before, now);
	assert_true(np_secret_read(secret.path, before));
	assert_string_equal(before, now);
	np_secret_forget(&secret);
}

static void a_file_that_others_may_read_or_a_link_is_no_secret(void **state)
{
	struct np_collect_options options = options_of("run7");
	struct np_secret secret = NP_SECRET_INIT;
	struct np_secret other = NP_SECRET_INIT;
	struct np_err err = NP_ERR_INIT;
	char token[NP_PROOF_TOKEN];
	char elsewhere[128];

	(void)state;
	assert_ok(np_secret_find(&secret, &options, 0, 0, token, &err), err);
	assert_int_equal(chmod(secret.path, 0640), 0);
	assert_int_equal(np_secret_find(&other, &options, 1, 0, token, &err), NP_E_IO);
	assert_non_null(strstr(err.text, "only this user can read"));
	assert_int_equal(chmod(secret.path, 0600), 0);
	(void)snprintf(elsewhere, sizeof(elsewhere), "%s/elsewhere", root);
	assert_int_equal(rename(secret.path, elsewhere), 0);
	assert_int_equal(symlink(elsewhere, secret.path), 0);
	assert_int_equal(np_secret_find(&other, &options, 1, 0, token, &err), NP_E_IO);
	/* Launcher 0 puts its own file in the place of a link, and leaves what it pointed to. */
	assert_ok(np_secret_find(&secret, &options, 0, 0, token, &err), err);
	assert_true(np_secret_read(secret.path, token));
	assert_int_equal(access(elsewhere, F_OK), 0);
	np_secret_forget(&secret);
}

static void one_that_does_not_come_is_said(void **state)
{
	struct np_collect_options options = options_of("run7");
	struct np_secret secret = NP_SECRET_INIT;
	struct np_err err = NP_ERR_INIT;
	char token[NP_PROOF_TOKEN];

	(void)state;
	assert_int_equal(np_secret_find(&secret, &options, 1, 0, token, &err), NP_E_IO);
	assert_non_null(strstr(err.text, "launcher 0 has left no secret"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(one_that_is_given_is_another_for_every_job, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(one_that_can_be_guessed_is_refused, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(without_one_the_two_ways_are_named, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(
			launcher_0_makes_a_file_that_the_others_read_and_removes_it, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(one_of_an_earlier_job_is_replaced, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_file_that_others_may_read_or_a_link_is_no_secret,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(one_that_does_not_come_is_said, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
