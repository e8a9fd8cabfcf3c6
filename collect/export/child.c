/* SPDX-License-Identifier: Apache-2.0 */
/* Running msprof to its end, with a log and a time limit. */
#include "export.h"

#include "npuprof/realtime.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define POLL_NS   (20 * 1000 * 1000)
#define GRACE_NS  ((np_ns)3 * 1000000000)
#define TAIL_SIZE 4096

static volatile sig_atomic_t stopped;

static void note_signal(int number)
{
	stopped = number;
}

void np_export_catch_signals(void)
{
	struct sigaction action = { .sa_handler = note_signal };

	(void)sigemptyset(&action.sa_mask);
	(void)sigaction(SIGINT, &action, NULL);
	(void)sigaction(SIGTERM, &action, NULL);
}

bool np_export_was_stopped(void)
{
	return stopped != 0;
}

static bool is_program(const char *path)
{
	struct stat status;

	return stat(path, &status) == 0 && S_ISREG(status.st_mode) && access(path, X_OK) == 0;
}

char *np_export_find_program(const char *name)
{
	const char *dirs = getenv("PATH");

	if (strchr(name, '/'))
		return is_program(name) ? strdup(name) : NULL;
	while (dirs && *dirs) {
		size_t length = strcspn(dirs, ":");
		char *path;

		/* An empty entry is the present directory. */
		if (asprintf(&path, "%.*s/%s", length ? (int)length : 1, length ? dirs : ".",
			     name) < 0)
			return NULL;
		if (is_program(path))
			return path;
		free(path);
		dirs += length + (dirs[length] == ':' ? 1 : 0);
	}
	return NULL;
}

/* Between fork() and exec() of a program with threads: nothing that takes a lock. */
static _Noreturn void become(const char *const *argv, int log, int nothing)
{
	struct sigaction action = { .sa_handler = SIG_DFL };

	(void)setpgid(0, 0);
	/* If we are killed, so is it: nobody would wait for the result. */
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)sigaction(SIGPIPE, &action, NULL);
	if (dup2(nothing, STDIN_FILENO) >= 0 && dup2(log, STDOUT_FILENO) >= 0 &&
	    dup2(log, STDERR_FILENO) >= 0)
		(void)execv(argv[0], (char *const *)(uintptr_t)argv);
	_exit(127);
}

/* Wait for it, but not beyond `until`. True: it has ended. */
static bool wait_until(pid_t pid, np_ns until, int *ret_status)
{
	const struct timespec pause = { .tv_nsec = POLL_NS };

	for (;;) {
		pid_t done = waitpid(pid, ret_status, WNOHANG);

		if (done == pid || (done < 0 && errno != EINTR))
			return true;
		if (np_steady_ns() >= until || np_export_was_stopped())
			return false;
		(void)nanosleep(&pause, NULL);
	}
}

/* Ask the whole group to end, then make it. */
static void end_group(pid_t pid)
{
	const struct timespec pause = { .tv_nsec = POLL_NS };
	np_ns until = np_steady_ns() + GRACE_NS;
	int status;

	(void)kill(-pid, SIGTERM);
	while (waitpid(pid, &status, WNOHANG) == 0 && np_steady_ns() < until)
		(void)nanosleep(&pause, NULL);
	(void)kill(-pid, SIGKILL);
	(void)waitpid(pid, &status, 0);
}

/* The last line that was written to the log from `from` on, made short. */
static void last_words(int log, off_t from, char *ret, size_t size)
{
	char text[TAIL_SIZE];
	off_t end = lseek(log, 0, SEEK_END);
	off_t start = end - from > TAIL_SIZE ? end - TAIL_SIZE : from;
	ssize_t got = pread(log, text, sizeof(text), start);
	size_t length = got > 0 ? (size_t)got : 0;
	size_t begin;

	while (length > 0 && (text[length - 1] == '\n' || text[length - 1] == ' '))
		length--;
	begin = length;
	while (begin > 0 && text[begin - 1] != '\n')
		begin--;
	(void)snprintf(ret, size, "%.*s", (int)(length - begin), text + begin);
}

static int judge(const char *program, int status, int log, off_t from, struct np_err *err)
{
	char words[200];

	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return NP_OK;
	last_words(log, from, words, sizeof(words));
	if (WIFEXITED(status) && WEXITSTATUS(status) == 127 && !*words)
		return np_fail(err, NP_E_IO, "cannot run '%s'", program);
	if (WIFEXITED(status))
		return np_fail(err, NP_E_FORMAT, "msprof ended with status %d%s%s",
			       WEXITSTATUS(status), *words ? ": " : "", words);
	return np_fail(err, NP_E_FORMAT, "msprof was ended by signal %d%s%s",
		       WIFSIGNALED(status) ? WTERMSIG(status) : 0, *words ? ": " : "", words);
}

int np_export_child(const char *const *argv, int log, int64_t timeout_s, struct np_err *err)
{
	off_t from = lseek(log, 0, SEEK_END);
	int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
	int status = 0;
	pid_t pid;

	if (nothing < 0)
		return np_fail(err, NP_E_IO, "cannot open /dev/null: %s", strerror(errno));
	for (size_t i = 0; argv[i]; i++)
		(void)dprintf(log, "%s%s", argv[i], argv[i + 1] ? " " : "\n");
	from = lseek(log, 0, SEEK_END);
	pid = fork();
	if (pid == 0)
		become(argv, log, nothing);
	(void)close(nothing);
	if (pid < 0)
		return np_fail(err, NP_E_IO, "cannot start '%s': %s", argv[0], strerror(errno));
	/* In both, because either may be first. */
	(void)setpgid(pid, pid);
	if (wait_until(pid, np_steady_ns() + timeout_s * 1000000000, &status))
		return judge(argv[0], status, log, from, err);
	end_group(pid);
	if (np_export_was_stopped())
		return np_fail(err, NP_E_IO, "stopped");
	return np_fail(err, NP_E_IO,
		       "msprof took longer than %lld s and was stopped; allow more with --timeout",
		       (long long)timeout_s);
}
