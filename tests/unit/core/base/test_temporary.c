/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of files that get their name when they are complete. */
#include "np_fixture.h"

#include "npuprof/temporary.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static int put_text(const void *context, FILE *stream, struct np_err *err)
{
	(void)err;
	(void)fputs(context, stream);
	return NP_OK;
}

static int put_half_and_fail(const void *context, FILE *stream, struct np_err *err)
{
	(void)fputs(context, stream);
	return np_fail(err, NP_E_IO, "the source is gone");
}

static size_t files_in(const char *directory)
{
	DIR *dir = opendir(directory);
	size_t count = 0;

	assert_non_null(dir);
	for (const struct dirent *entry = readdir(dir); entry; entry = readdir(dir))
		count += entry->d_name[0] != '.';
	closedir(dir);
	return count;
}

static void assert_text(const char *path, const char *text)
{
	size_t length;
	char *bytes = read_bytes(path, &length);

	assert_string_equal(bytes, text);
	free(bytes);
}

static void complete_file_takes_the_place_of_the_old_one(void **state)
{
	struct np_err err = NP_ERR_INIT;

	(void)state;
	write_text(below("out/a.csv"), "old");
	assert_ok(np_write_file(below("out/a.csv"), put_text, "new", &err), err);
	assert_text(below("out/a.csv"), "new");
	assert_int_equal(files_in(below("out")), 1);
}

static void a_pipe_is_written_to_and_stays_one(void **state)
{
	struct np_err err = NP_ERR_INIT;
	char text[8] = "";
	struct stat there;
	char *path;
	int end;

	(void)state;
	write_text(below("out/b.csv"), "new");
	path = strdup(below("out/pipe"));
	assert_int_equal(mkfifo(path, 0600), 0);
	end = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	assert_true(end >= 0);
	assert_ok(np_write_file(path, put_text, "new", &err), err);
	assert_int_equal(read(end, text, sizeof(text) - 1), 3);
	assert_string_equal(text, "new");
	(void)close(end);
	assert_int_equal(np_temporary_place(below("out/b.csv"), path), -1);
	assert_int_equal(errno, EOPNOTSUPP);
	assert_int_equal(lstat(path, &there), 0);
	assert_true(S_ISFIFO(there.st_mode));
	free(path);
}

static void failure_leaves_the_old_file_and_no_other(void **state)
{
	struct np_err err = NP_ERR_INIT;

	(void)state;
	write_text(below("out/a.csv"), "old");
	assert_int_equal(np_write_file(below("out/a.csv"), put_half_and_fail, "ne", &err), NP_E_IO);
	assert_string_equal(err.text, "the source is gone");
	assert_text(below("out/a.csv"), "old");
	assert_int_equal(files_in(below("out")), 1);
}

static void directory_that_is_not_there_is_named(void **state)
{
	struct np_err err = NP_ERR_INIT;

	(void)state;
	assert_int_equal(np_write_file(below("nowhere/a.csv"), put_text, "x", &err), NP_E_IO);
	assert_non_null(strstr(err.text, "nowhere/a.csv': No such file or directory"));
}

/* A temporary of this process with another number of a process, or another of its parts, in its
 * name. */
static void leave(const char *name, int part, const char *other)
{
	char *mine = np_temporary_new(below("out/%s", name));
	char *parts[8];
	int count = 0;
	char left[512];

	assert_non_null(mine);
	for (char *at = strstr(mine, ".tmp-"); at && count < 8; at = strchr(at, '-')) {
		if (*at == '-')
			*at++ = '\0';
		parts[count++] = at;
	}
	assert_int_equal(count, 7); /* .tmp, host, boot, namespace, process, start, thread */
	parts[0] = mine;
	parts[part] = (char *)(uintptr_t)other;
	(void)snprintf(left, sizeof(left), "%s-%s-%s-%s-%s-%s-%s", parts[0], parts[1], parts[2],
		       parts[3], parts[4], parts[5], parts[6]);
	write_text(left, "half");
	np_temporary_free(mine);
}

static void what_dead_processes_of_this_host_left_is_removed(void **state)
{
	struct np_err err = NP_ERR_INIT;

	(void)state;
	write_text(below("out/a.csv"), "old");
	leave("dead", 4, "999999999");
	leave("reused", 5, "1");
	leave("earlier-boot", 2, "00000001");
	assert_int_equal(files_in(below("out")), 4);
	write_text(below("else/b.csv"), "old");
	assert_ok(np_write_file(below("else/b.csv"), put_text, "new", &err), err);
	assert_ok(np_write_file(below("out/a.csv"), put_text, "new", &err), err);
	assert_int_equal(files_in(below("out")), 1);
}

static void what_others_may_be_writing_stays(void **state)
{
	struct np_err err = NP_ERR_INIT;

	(void)state;
	write_text(below("out/a.csv"), "old");
	leave("alive", 6, "1");
	leave("other-host", 1, "elsewhere");
	leave("other-container", 3, "17");
	write_text(below("out/x.tmp-of-a-user"), "theirs");
	write_text(below("out/x.tmp123"), "theirs");
	write_text(below("else/b.csv"), "old");
	assert_ok(np_write_file(below("else/b.csv"), put_text, "new", &err), err);
	assert_ok(np_write_file(below("out/a.csv"), put_text, "new", &err), err);
	assert_int_equal(files_in(below("out")), 6);
}

static void a_link_with_the_name_of_the_temporary_is_not_followed(void **state)
{
	struct np_err err = NP_ERR_INIT;
	char *name;

	(void)state;
	write_text(below("precious"), "precious");
	write_text(below("out/a.csv"), "old");
	name = np_temporary_new(below("out/a.csv"));
	assert_int_equal(symlink(below("precious"), name), 0);
	np_temporary_free(name);
	assert_ok(np_write_file(below("out/a.csv"), put_text, "new", &err), err);
	assert_text(below("precious"), "precious");
	assert_text(below("out/a.csv"), "new");
	assert_int_equal(files_in(below("out")), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_fixture(complete_file_takes_the_place_of_the_old_one),
		with_fixture(a_pipe_is_written_to_and_stays_one),
		with_fixture(failure_leaves_the_old_file_and_no_other),
		with_fixture(directory_that_is_not_there_is_named),
		with_fixture(what_dead_processes_of_this_host_left_is_removed),
		with_fixture(what_others_may_be_writing_stays),
		with_fixture(a_link_with_the_name_of_the_temporary_is_not_followed),
	};

	return cmocka_run_group_tests_name("temporary", tests, NULL, NULL);
}
