/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of what a launcher finds on its host. */
#include "collect/launch/plan/find.h"

#include <errno.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "np_test.h"

/* A file of these bytes, at a path that is returned in `path`. */
static void write_bytes(char *path, size_t size, const char *bytes, size_t length, mode_t mode)
{
	int fd;

	(void)snprintf(path, size, "/tmp/np-find-XXXXXX");
	fd = mkstemp(path);
	assert_true(fd >= 0);
	assert_true(write(fd, bytes, length) == (ssize_t)length);
	assert_int_equal(fchmod(fd, mode), 0);
	assert_int_equal(close(fd), 0);
}

static void a_program_is_found_in_path_as_a_shell_would(void **state)
{
	char path[PATH_MAX];

	(void)state;
	assert_true(np_find_program("sh", path, sizeof(path)));
	assert_int_equal(access(path, X_OK), 0);
	assert_non_null(strstr(path, "/sh"));
	assert_false(np_find_program("no-program-has-this-name", path, sizeof(path)));
}

static void a_program_with_a_slash_is_not_looked_for(void **state)
{
	char file[64];
	char path[PATH_MAX];

	(void)state;
	write_bytes(file, sizeof(file), "#!/bin/sh\n", 10, 0700);
	assert_true(np_find_program(file, path, sizeof(path)));
	assert_string_equal(path, file);
	assert_int_equal(chmod(file, 0600), 0);
	assert_false(np_find_program(file, path, sizeof(path)));
	assert_int_equal(errno, EACCES);
	(void)unlink(file);
	assert_false(np_find_program(file, path, sizeof(path)));
	assert_int_equal(errno, ENOENT);
}

static void the_mpi_that_a_program_names_is_recognised(void **state)
{
	static const char mpi[] = "\177ELF.....libmpi.so.40";
	static const char debian[] = "\177ELF.....libmpich.so.12";
	static const char intel[] = "\177ELF.....libmpifort.so.12.libmpi.so.12";
	static const char cray[] = "\177ELF.....libmpi_cray.so.12";
	static const char plain[] = "\177ELF.....libc.so.6";
	static const char script[] = "#!/bin/sh\nexec libmpi.so\n";
	static const struct {
		const char *bytes;
		size_t length;
		enum np_mpi_family family;
	} files[] = {
		{ mpi, sizeof(mpi), NP_MPI_OPENMPI },
		{ debian, sizeof(debian), NP_MPI_MPICH },
		{ intel, sizeof(intel), NP_MPI_MPICH },
		{ cray, sizeof(cray), NP_MPI_MPICH },
		{ plain, sizeof(plain), NP_MPI_NONE },
		{ script, sizeof(script) - 1, NP_MPI_NONE },
		{ "", 0, NP_MPI_NONE },
		{ "\177EL", 3, NP_MPI_NONE },
	};
	char path[64];

	(void)state;
	for (size_t i = 0; i < NP_COUNT(files); i++) {
		write_bytes(path, sizeof(path), files[i].bytes, files[i].length, 0600);
		assert_int_equal(np_find_mpi(path), files[i].family);
		(void)unlink(path);
	}
	assert_int_equal(np_find_mpi(path), NP_MPI_NONE);
	assert_int_equal(np_find_mpi("/"), NP_MPI_NONE);
}

/* Beside the program of the unit tests: the build directory has the others. */
static void files_of_ours_are_beside_the_program(void **state)
{
	char path[PATH_MAX];

	(void)state;
	assert_true(np_find_beside("np-unit-tests", path, sizeof(path)));
	assert_int_equal(access(path, R_OK), 0);
	assert_false(np_find_beside("no-file-has-this-name", path, sizeof(path)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_program_is_found_in_path_as_a_shell_would),
		cmocka_unit_test(a_program_with_a_slash_is_not_looked_for),
		cmocka_unit_test(the_mpi_that_a_program_names_is_recognised),
		cmocka_unit_test(files_of_ours_are_beside_the_program),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
