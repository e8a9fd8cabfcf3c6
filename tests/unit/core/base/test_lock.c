/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of core/base/lock.c: two processes that write into one directory. */
#include "npuprof/lock.h"

#include "np_test.h"

#include "npuprof/dirs.h"

#include <errno.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define SHORT_NS INT64_C(200000000)

static char directory[64];

/* A file system without locks, while a test says so. */
static bool no_locks;

int flock(int fd, int operation)
{
	errno = ENOLCK;
	return no_locks ? -1 : (int)syscall(SYS_flock, fd, operation);
}

/* The lock of the kernel, or where there is none what results and histories are locked with. */
static int take(const char *path, np_ns wait_ns, struct np_err *err)
{
	return no_locks ? np_lock_shared(path, wait_ns, err) : np_lock_dir(path, wait_ns, err);
}

static int make_directory(void **state)
{
	(void)state;
	(void)snprintf(directory, sizeof(directory), "/tmp/np_lock_XXXXXX");
	return mkdtemp(directory) ? 0 : -1;
}

static int make_directory_without_locks(void **state)
{
	no_locks = true;
	return make_directory(state);
}

static int remove_directory(void **state)
{
	(void)state;
	no_locks = false;
	np_lock_release_all();
	np_remove_tree(directory);
	return 0;
}

/* Another process that has the lock until it is told to end; its number. */
static pid_t start_holder(int *ret_pipe)
{
	struct np_err err = NP_ERR_INIT;
	int ready[2];
	int end[2];
	char byte = 0;
	pid_t pid;

	assert_int_equal(pipe(ready), 0);
	assert_int_equal(pipe(end), 0);
	pid = fork();
	if (pid == 0) {
		(void)close(end[1]);
		byte = take(directory, 0, &err) == NP_OK ? 'y' : 'n';
		(void)!write(ready[1], &byte, 1);
		(void)!read(end[0], &byte, 1);
		np_lock_release_all();
		_exit(0);
	}
	(void)close(end[0]);
	(void)close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	assert_int_equal(byte, 'y');
	(void)close(ready[0]);
	*ret_pipe = end[1];
	return pid;
}

static bool has_file(void)
{
	char *path = np_join_path(directory, no_locks ? NP_LOCK_HELD : NP_LOCK_NAME);
	bool there = access(path, F_OK) == 0;

	free(path);
	return there;
}

static void a_directory_is_locked_until_it_is_given_back(void **state)
{
	struct np_err err = NP_ERR_INIT;
	char below[100];

	(void)state;
	(void)snprintf(below, sizeof(below), "%s/a/b", directory);
	assert_int_equal(take(below, 0, &err), NP_OK);
	assert_true(np_is_directory(below));
	/* Under another name it is the same one, and waits for nobody. */
	(void)snprintf(below, sizeof(below), "%s/a/../a/b/.", directory);
	assert_int_equal(take(below, 0, &err), NP_OK);
	assert_int_equal(take(directory, 0, &err), NP_OK);
	assert_true(has_file());
	np_lock_release_all();
	assert_false(has_file());
}

static void who_finds_another_one_says_who_it_is(void **state)
{
	struct np_err err = NP_ERR_INIT;
	char expected[200];
	char host[65] = "";
	int end;
	pid_t pid = start_holder(&end);

	(void)state;
	(void)gethostname(host, sizeof(host) - 1);
	assert_int_equal(take(directory, SHORT_NS, &err), NP_E_BUSY);
	(void)snprintf(expected, sizeof(expected),
		       "'%s' is being written by process %d on %s since 2", directory, (int)pid,
		       host);
	assert_memory_equal(err.text, expected, strlen(expected));
	(void)close(end);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(take(directory, 0, &err), NP_OK);
}

static void who_waits_gets_it_when_the_other_ends(void **state)
{
	struct np_err err = NP_ERR_INIT;
	int end;
	pid_t holder = start_holder(&end);
	pid_t ender = fork();

	(void)state;
	/* The end comes while this process waits, whenever that is. */
	if (ender == 0) {
		(void)usleep(100000);
		_exit(0);
	}
	(void)close(end);
	assert_int_equal(take(directory, NP_LOCK_WAIT_NS, &err), NP_OK);
	assert_true(has_file());
	assert_int_equal(waitpid(holder, NULL, 0), holder);
	assert_int_equal(waitpid(ender, NULL, 0), ender);
	assert_true(has_file());
}

static void a_dead_holder_is_replaced(void **state)
{
	struct np_err err = NP_ERR_INIT;
	int end;
	pid_t pid = start_holder(&end);

	(void)state;
	(void)kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	(void)close(end);
	assert_true(has_file());
	assert_int_equal(take(directory, SHORT_NS, &err), NP_OK);
	np_lock_release_all();
	assert_false(has_file());
}

static void a_file_of_somebody_else_with_the_name_of_the_lock_is_left_alone(void **state)
{
	struct np_err err = NP_ERR_INIT;
	char *path = np_join_path(directory, NP_LOCK_NAME);
	FILE *file = fopen(path, "w");
	char text[8] = "";

	(void)state;
	assert_non_null(file);
	(void)fputs("mine\n", file);
	(void)fclose(file);
	assert_int_equal(take(directory, 0, &err), NP_OK);
	np_lock_release_all();
	file = fopen(path, "r");
	assert_non_null(file);
	assert_non_null(fgets(text, sizeof(text), file));
	assert_string_equal(text, "mine\n");
	(void)fclose(file);
	free(path);
}

static void a_directory_that_cannot_be_made_is_a_failure(void **state)
{
	struct np_err err = NP_ERR_INIT;

	(void)state;
	assert_int_equal(take("/dev/null/x", 0, &err), NP_E_IO);
	assert_non_null(strstr(err.text, "cannot make the directory"));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_directory, remove_directory)
#define WITHOUT_LOCKS(name) \
	cmocka_unit_test_setup_teardown(name, make_directory_without_locks, remove_directory)
	const struct CMUnitTest tests[] = {
		TEST(a_directory_is_locked_until_it_is_given_back),
		TEST(who_finds_another_one_says_who_it_is),
		TEST(who_waits_gets_it_when_the_other_ends),
		TEST(a_dead_holder_is_replaced),
		TEST(a_file_of_somebody_else_with_the_name_of_the_lock_is_left_alone),
		TEST(a_directory_that_cannot_be_made_is_a_failure),
		WITHOUT_LOCKS(a_directory_is_locked_until_it_is_given_back),
		WITHOUT_LOCKS(who_finds_another_one_says_who_it_is),
		WITHOUT_LOCKS(who_waits_gets_it_when_the_other_ends),
		WITHOUT_LOCKS(a_dead_holder_is_replaced),
		WITHOUT_LOCKS(a_file_of_somebody_else_with_the_name_of_the_lock_is_left_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
