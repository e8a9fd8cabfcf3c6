/* SPDX-License-Identifier: Apache-2.0 */
#include "np_fault.h"
#include "np_fixture.h"

#include "npuprof/dirs.h"
#include "npuprof/order.h"

#include <errno.h>
#include <sys/stat.h>

static void directories_above_are_made_too_and_may_be_there(void **state)
{
	struct np_err err = NP_ERR_INIT;
	struct stat status;

	(void)state;
	for (int i = 0; i < 2; i++)
		assert_ok(np_make_dirs_as(below("a/b/c"), 0700, &err), err);
	assert_int_equal(stat(below("a/b/c"), &status), 0);
	assert_int_equal(status.st_mode & 0777, 0700);
}

static void a_file_in_the_way_is_said(void **state)
{
	struct np_err err = NP_ERR_INIT;

	(void)state;
	write_text(below("file"), "");
	assert_int_equal(np_make_dirs(below("file/a"), &err), NP_E_IO);
	assert_non_null(strstr(err.text, "Not a directory"));
	assert_false(np_is_directory(below("file")));
}

static void names_are_sorted_and_leave_out_the_dots(void **state)
{
	struct np_names names = { 0 };
	struct np_err err = NP_ERR_INIT;

	(void)state;
	write_text(below("d/b"), "");
	write_text(below("d/a"), "");
	write_text(below("d/.c"), "");
	assert_ok(np_names_read(below("d"), &names, &err), err);
	assert_int_equal(names.list.count, 3);
	assert_string_equal(names.list.item[0], ".c");
	assert_string_equal(names.list.item[1], "a");
	assert_string_equal(names.list.item[2], "b");
	np_names_release(&names);
	assert_int_equal(np_names_read(below("missing"), &names, &err), NP_E_IO);
	assert_int_equal(errno, ENOENT);
}

static int read_names(struct np_err *err)
{
	struct np_names names = { 0 };
	int rc = np_names_read(below("d"), &names, err);

	np_names_release(&names);
	return rc;
}

static void names_without_memory_are_not_sorted(void **state)
{
	(void)state;
	write_text(below("d/b"), "");
	write_text(below("d/a"), "");
	write_text(below("d/c"), "");
	assert_survives_faults(read_names);
}

static void assert_joined(const char *dir, const char *name, const char *expected)
{
	char *path = np_join_path(dir, name);

	assert_string_equal(path, expected);
	free(path);
}

static void one_slash_joins_a_path(void **state)
{
	(void)state;
	assert_joined("a", "b", "a/b");
	assert_joined("a//", "b", "a/b");
	assert_joined("/", "b", "/b");
	assert_joined("//", "b", "/b");
	assert_joined("", "b", "/b");
}

static void a_tree_is_removed_with_all_that_is_in_it(void **state)
{
	(void)state;
	write_text(below("tree/x/y"), "");
	write_text(below("tree/z"), "");
	np_remove_tree(below("tree"));
	assert_false(np_is_directory(below("tree")));
}

static void numbers_are_ordered_over_their_whole_range(void **state)
{
	const int64_t wide[] = { INT64_MIN, INT64_MAX };
	const uint32_t natural[] = { 0, UINT32_MAX };
	const int32_t narrow[] = { INT32_MIN, INT32_MAX };
	const double real[] = { -0.5, 0.25 };

	(void)state;
	assert_true(np_by_int64(&wide[0], &wide[1]) < 0 && np_by_int64(&wide[1], &wide[0]) > 0);
	assert_true(np_by_uint32(&natural[0], &natural[1]) < 0);
	assert_true(np_by_int32(&narrow[0], &narrow[1]) < 0);
	assert_true(np_by_double(&real[0], &real[1]) < 0 && np_by_double(real, real) == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_fixture(directories_above_are_made_too_and_may_be_there),
		with_fixture(a_file_in_the_way_is_said),
		with_fixture(names_are_sorted_and_leave_out_the_dots),
		with_fixture(names_without_memory_are_not_sorted),
		with_fixture(one_slash_joins_a_path),
		with_fixture(a_tree_is_removed_with_all_that_is_in_it),
		with_fixture(numbers_are_ordered_over_their_whole_range),
	};

	return cmocka_run_group_tests_name("dirs", tests, NULL, NULL);
}
