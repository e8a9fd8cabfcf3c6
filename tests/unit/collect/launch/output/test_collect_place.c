/* SPDX-License-Identifier: Apache-2.0 */
/* Files of a job where others may write too. Another user is made of root, where the test is root.
 */
#include "np_fixture.h"

#include <sys/wait.h>

#include "collect/place.h"
#include "npuprof/dirs.h"

enum {
	SOMEBODY = 65534,
};

static const struct np_place_bytes words = { .bytes = "words", .length = 5 };

static void need_root(void)
{
	if (geteuid() != 0) {
		print_message("SKIP: only root can act as another user\n");
		skip();
	}
}

/* Do it as somebody else; false if that failed. */
static bool as_somebody(bool (*act)(const char *path), const char *path)
{
	int status = 1;
	pid_t child = fork();

	if (child == 0)
		_exit(setgid(SOMEBODY) == 0 && setuid(SOMEBODY) == 0 && act(path) ? 0 : 1);
	assert_int_equal(waitpid(child, &status, 0), child);
	return status == 0;
}

static bool plant_directory(const char *path)
{
	return mkdir(path, 0777) == 0 && chmod(path, 0777) == 0;
}

static bool plant_link(const char *path)
{
	return symlink(below("mine"), path) == 0;
}

static bool write_words(const char *path)
{
	return np_place_write(path, "file", words, NP_PLACE_OUTPUT, NULL) == NP_OK;
}

static bool make_output(const char *path)
{
	return np_make_dirs(path, NULL) == NP_OK;
}

/* A directory in which everybody may make files, as /tmp. */
static void open_to_all(void)
{
	assert_int_equal(chmod(below("."), 01777), 0);
}

static void assert_text(const char *path, const char *expected)
{
	size_t length;
	char *text = read_bytes(path, &length);

	assert_int_equal(length, strlen(expected));
	assert_memory_equal(text, expected, length);
	free(text);
}

static mode_t mode_of(const char *path)
{
	struct stat info;

	assert_int_equal(lstat(path, &info), 0);
	return info.st_mode & 07777;
}

static void what_has_the_name_is_neither_followed_nor_truncated(void **state)
{
	struct np_err err = NP_ERR_INIT;

	(void)state;
	assert_int_equal(mkdir(below("job"), 0755), 0);
	write_text(below("precious"), "precious");
	assert_int_equal(symlink(below("precious"), below("job/file")), 0);
	assert_ok(np_place_write(below("job"), "file", words, NP_PLACE_OUTPUT, &err), err);
	assert_text(below("precious"), "precious");
	assert_text(below("job/file"), "words");
	assert_int_equal(symlink(below("precious"), below("job/log")), 0);
	assert_int_equal(np_place_append(below("job"), "log", NP_PLACE_OUTPUT, &err), NP_E_IO);
	assert_non_null(strstr(err.text, "it is a link"));
	assert_int_equal(link(below("precious"), below("job/second")), 0);
	assert_int_equal(np_place_append(below("job"), "second", NP_PLACE_OUTPUT, &err), NP_E_IO);
	assert_text(below("precious"), "precious");
}

static void a_link_is_no_place(void **state)
{
	struct np_err err = NP_ERR_INIT;

	(void)state;
	assert_int_equal(mkdir(below("elsewhere"), 0755), 0);
	assert_int_equal(symlink(below("elsewhere"), below("job")), 0);
	assert_int_equal(np_place_write(below("job"), "file", words, NP_PLACE_OUTPUT, &err),
			 NP_E_IO);
	assert_non_null(strstr(err.text, "is a link"));
	assert_int_equal(np_place_make(below("job"), &err), NP_E_IO);
	assert_int_equal(access(below("elsewhere/file"), F_OK), -1);
}

static void permissions_are_those_of_the_umask_and_of_control_files_0600(void **state)
{
	struct np_err err = NP_ERR_INIT;
	mode_t before = umask(0002);

	(void)state;
	assert_ok(np_place_make(below("job"), &err), err);
	assert_int_equal(mode_of(below("job")), 0755);
	assert_ok(np_place_write(below("job"), "a", words, NP_PLACE_OUTPUT, &err), err);
	assert_int_equal(mode_of(below("job/a")), 0664);
	assert_ok(np_place_write(below("job"), "b", words, NP_PLACE_CONTROL, &err), err);
	assert_int_equal(mode_of(below("job/b")), 0600);
	(void)umask(0077);
	assert_ok(np_place_make(below("own"), &err), err);
	assert_int_equal(mode_of(below("own")), 0700);
	(void)umask(before);
}

static void a_directory_that_everybody_may_write_is_closed_to_them(void **state)
{
	struct np_err err = NP_ERR_INIT;

	(void)state;
	assert_int_equal(mkdir(below("job"), 0777), 0);
	assert_int_equal(chmod(below("job"), 0777), 0);
	assert_ok(np_place_write(below("job"), "a", words, NP_PLACE_OUTPUT, &err), err);
	assert_int_equal(mode_of(below("job")), 0775);
}

static void a_directory_of_another_user_is_refused(void **state)
{
	struct np_err err = NP_ERR_INIT;
	struct dirent **names = NULL;

	(void)state;
	need_root();
	open_to_all();
	assert_true(as_somebody(plant_directory, below("job")));
	assert_int_equal(np_place_make(below("job"), &err), NP_E_IO);
	assert_non_null(strstr(err.text, "belongs to another user"));
	assert_int_equal(np_place_write(below("job"), "file", words, NP_PLACE_OUTPUT, &err),
			 NP_E_IO);
	assert_int_equal(np_place_append(below("job"), "file", NP_PLACE_OUTPUT, &err), NP_E_IO);
	assert_int_equal(np_fixture_names(below("job"), &names), 0);
	free(names);
	/* And the other way round: what root made is not for somebody. */
	assert_int_equal(mkdir(below("mine"), 0777), 0);
	assert_int_equal(chmod(below("mine"), 0777), 0);
	assert_false(as_somebody(write_words, below("mine")));
	assert_int_equal(access(below("mine/file"), F_OK), -1);
}

static void results_do_not_follow_what_others_planted(void **state)
{
	struct np_err err = NP_ERR_INIT;

	(void)state;
	need_root();
	open_to_all();
	assert_int_equal(mkdir(below("mine"), 0755), 0);
	assert_true(as_somebody(plant_directory, below("theirs")));
	assert_true(as_somebody(plant_link, below("link")));
	assert_int_equal(np_make_dirs(below("theirs"), &err), NP_E_IO);
	assert_non_null(strstr(err.text, "belongs to another user"));
	assert_int_equal(np_make_dirs(below("link//"), &err), NP_E_IO);
	/* Below their own directory it is theirs to decide, and root's directories are trusted. */
	assert_ok(np_make_dirs(below("theirs/results"), &err), err);
	assert_int_equal(mkdir(below("shared"), 0777), 0);
	assert_int_equal(chmod(below("shared"), 0777), 0);
	assert_true(as_somebody(make_output, below("shared")));
}

int main(void)
{
#define with_fixture(test) \
	cmocka_unit_test_setup_teardown(test, np_fixture_setup, np_fixture_teardown)
	const struct CMUnitTest tests[] = {
		with_fixture(what_has_the_name_is_neither_followed_nor_truncated),
		with_fixture(a_link_is_no_place),
		with_fixture(permissions_are_those_of_the_umask_and_of_control_files_0600),
		with_fixture(a_directory_that_everybody_may_write_is_closed_to_them),
		with_fixture(a_directory_of_another_user_is_refused),
		with_fixture(results_do_not_follow_what_others_planted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
