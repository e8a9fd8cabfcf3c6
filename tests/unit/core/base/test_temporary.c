/* SPDX-License-Identifier: Apache-2.0 */
#include "np_fixture.h"

#include "npuprof/temporary.h"

#include <dirent.h>

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_fixture(complete_file_takes_the_place_of_the_old_one),
		with_fixture(failure_leaves_the_old_file_and_no_other),
		with_fixture(directory_that_is_not_there_is_named),
	};

	return cmocka_run_group_tests_name("temporary", tests, NULL, NULL);
}
