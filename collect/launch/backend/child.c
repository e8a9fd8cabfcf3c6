/* SPDX-License-Identifier: Apache-2.0 */
/* The application of one rank: its environment, its process group, and the guard that ends it. */
#include "child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* The numbers are the same on all machines; headers of kernels before 5.3 and 5.9 do not have them.
 */
#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif
#ifndef SYS_close_range
#define SYS_close_range 436
#endif

/* --- its environment ------------------------------------------------------- */

static bool is_ours(const char *word, bool with_mpi)
{
	static const char *const prefixes[] = {
		"NPUPROF_", "OMPI_", "PMIX_",     "PMI_",  "ORTE_",
		"OPAL_",    "PRTE_", "MPI_LOCAL", "HYDI_", "PMI2_",
	};

	for (size_t i = 0; i < (with_mpi ? 1 : NP_COUNT(prefixes)); i++) {
		if (strncmp(word, prefixes[i], strlen(prefixes[i])) == 0)
			return true;
	}
	return false;
}

static int add_word(struct np_env *env, const char *word, struct np_err *err)
{
	char **slot = np_vec_add(&env->words, err);

	if (!slot)
		return NP_E_NOMEM;
	*slot = strdup(word);
	return *slot ? NP_OK : np_fail_nomem(err, "the environment");
}

int np_env_inherit(struct np_env *env, char *const *from, bool with_mpi, struct np_err *err)
{
	int rc = NP_OK;

	for (; *from && rc == NP_OK; from++) {
		if (!is_ours(*from, with_mpi))
			rc = add_word(env, *from, err);
	}
	return rc;
}

void np_env_release(struct np_env *env)
{
	for (size_t i = 0; i < env->words.count; i++)
		free(env->words.item[i]);
	np_vec_release(&env->words);
}

static char **find(const struct np_env *env, const char *name)
{
	size_t length = strlen(name);

	for (size_t i = 0; i < env->words.count; i++) {
		const char *word = env->words.item[i];

		if (strncmp(word, name, length) == 0 && word[length] == '=')
			return &env->words.item[i];
	}
	return NULL;
}

const char *np_env_get(const struct np_env *env, const char *name)
{
	char **word = find(env, name);

	return word ? *word + strlen(name) + 1 : NULL;
}

int np_env_set(struct np_env *env, const char *name, const char *value, struct np_err *err)
{
	char **old = find(env, name);
	char *word = NULL;
	char **slot;

	if (asprintf(&word, "%s=%s", name, value) < 0)
		return np_fail_nomem(err, "the environment");
	slot = old ? old : np_vec_add(&env->words, err);
	if (!slot) {
		free(word);
		return NP_E_NOMEM;
	}
	free(*slot);
	*slot = word;
	return NP_OK;
}

char *const *np_env_words(struct np_env *env, struct np_err *err)
{
	char **end = np_vec_add(&env->words, err);

	if (!end)
		return NULL;
	*end = NULL;
	env->words.count--;
	return env->words.item;
}

/* --- its process ----------------------------------------------------------- */

/* Wait until a process has ended, even one that nobody has reaped yet. */
static void await_end(pid_t pid, int64_t grace_s)
{
	struct pollfd end = { .fd = (int)syscall(SYS_pidfd_open, pid, 0), .events = POLLIN };

	if (end.fd >= 0)
		(void)poll(&end, 1, (int)(grace_s * 1000));
	else if (errno != ESRCH)
		(void)sleep((unsigned)grace_s);
}

/*
 * The guard. What the launcher writes into the pipe is the application's pid or one
 * of enum guard_word; the end of the pipe before GOODBYE means that it is gone.
 */
enum guard_word {
	GOODBYE = 0,
	SAVING = -1,  /* there is a profile that has to be saved */
	NOTHING = -2, /* there is none */
};

/* Close the descriptors of a range, the last one included; kernels before 5.9 do it one by one. */
static void close_from_to(unsigned first, unsigned last)
{
	long most = sysconf(_SC_OPEN_MAX);

	if (syscall(SYS_close_range, first, last, 0) == 0)
		return;
	for (unsigned fd = first; fd <= last && (long)fd < most; fd++)
		(void)close((int)fd);
}

/* Keep nothing of the launcher's open: mpirun would wait for its output to end. */
static void let_go(int pipe)
{
	int nothing = open("/dev/null", O_RDWR);

	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		(void)dup2(nothing, fd);
	if (pipe > STDERR_FILENO + 1)
		close_from_to(STDERR_FILENO + 1, (unsigned)pipe - 1);
	close_from_to((unsigned)pipe + 1, ~0U);
}

_Noreturn static void guard(int pipe, int64_t grace_s)
{
	bool saving = false;
	pid_t app = 0;
	pid_t word;

	let_go(pipe);
	(void)signal(SIGTERM, SIG_IGN);
	(void)signal(SIGINT, SIG_IGN);
	(void)signal(SIGHUP, SIG_IGN);
	(void)prctl(PR_SET_NAME, "npuprof-guard");
	while (read(pipe, &word, sizeof(word)) == (ssize_t)sizeof(word)) {
		if (word == GOODBYE)
			_exit(0);
		if (word > 0)
			app = word;
		else
			saving = word == SAVING;
	}
	if (app > 0 && saving)
		await_end(app, grace_s); /* the library does it when it loses the launcher */
	if (app > 0) {
		(void)kill(0, SIGTERM);
		await_end(app, grace_s);
	}
	(void)kill(0, SIGKILL);
	_exit(1);
}

/* Only what a forked process may call; everything it needs was made before. */
_Noreturn static void become(char *const *argv, char *const *env, pid_t group)
{
	sigset_t none;
	int nothing;

	(void)setpgid(0, group);
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	(void)signal(SIGPIPE, SIG_DFL);
	/* A background group that reads from the terminal would be stopped. */
	if (isatty(STDIN_FILENO)) {
		nothing = open("/dev/null", O_RDONLY);
		if (nothing >= 0)
			(void)dup2(nothing, STDIN_FILENO);
	}
	(void)execvpe(argv[0], argv, env);
	(void)dprintf(STDERR_FILENO, "npuprof-collect: cannot execute '%s': %s\n", argv[0],
		      strerrordesc_np(errno));
	_exit(127);
}

static int start_guard(struct np_child *child, int64_t grace_s, struct np_err *err)
{
	int ends[2];
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return np_fail(err, NP_E_IO, "cannot make a pipe: %s", strerrordesc_np(errno));
	pid = fork();
	if (pid == 0) {
		(void)setpgid(0, 0);
		(void)close(ends[1]);
		guard(ends[0], grace_s);
	}
	(void)close(ends[0]);
	if (pid < 0) {
		(void)close(ends[1]);
		return np_fail(err, NP_E_IO, "cannot start a process: %s", strerrordesc_np(errno));
	}
	(void)setpgid(pid, pid);
	child->group = pid;
	child->guard = ends[1];
	return NP_OK;
}

static void write_guard(const struct np_child *child, pid_t word)
{
	/* A guard that was killed need not know. */
	(void)!write(child->guard, &word, sizeof(word));
}

int np_child_start(struct np_child *child, char *const *argv, char *const *env, int64_t grace_s,
		   struct np_err *err)
{
	int rc = start_guard(child, (grace_s + 1) / 2, err);
	pid_t pid;

	if (rc < 0)
		return rc;
	pid = fork();
	if (pid == 0)
		become(argv, env, child->group);
	if (pid < 0) {
		rc = np_fail(err, NP_E_IO, "cannot start a process: %s", strerrordesc_np(errno));
		np_child_release(child, false);
		return rc;
	}
	(void)setpgid(pid, child->group);
	child->pid = pid;
	write_guard(child, pid);
	return NP_OK;
}

void np_child_has_profile(const struct np_child *child, bool open)
{
	if (child->guard >= 0)
		write_guard(child, open ? SAVING : NOTHING);
}

bool np_child_poll(struct np_child *child)
{
	int status;

	if (child->ended || child->pid == 0)
		return child->ended;
	if (waitpid(child->pid, &status, WNOHANG) != child->pid)
		return false;
	child->ended = true;
	child->status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
	return true;
}

void np_child_signal(const struct np_child *child, int number)
{
	if (child->group > 0)
		(void)kill(-child->group, number);
}

void np_child_release(struct np_child *child, bool kill_rest)
{
	if (child->group <= 0)
		return;
	if (kill_rest)
		np_child_signal(child, SIGKILL);
	else
		write_guard(child, GOODBYE);
	(void)close(child->guard);
	(void)waitpid(child->group, NULL, 0);
	child->group = 0;
	child->guard = -1;
}
