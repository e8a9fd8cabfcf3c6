/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/launch/check.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collect/acl/acl_bind.h"

enum {
	PATIENCE_MS = 20000, /* the real libraries take seconds to load from a busy file system */
};

/* What the process that tries it says through the pipe. */
struct answer {
	bool there;
	bool simulated;
	char why[400];
};

_Noreturn static void try_it(int pipe)
{
	struct np_err err = NP_ERR_INIT;
	struct answer answer = { 0 };
	struct np_acl acl;

	answer.there = np_acl_bind(&acl, NP_ACL_DEFAULT, &err) == NP_OK;
	answer.simulated = answer.there && dlsym(RTLD_DEFAULT, "npusim_kernel_handle");
	(void)snprintf(answer.why, sizeof(answer.why), "%.*s", (int)sizeof(answer.why) - 1,
		       err.text);
	(void)!write(pipe, &answer, sizeof(answer));
	_exit(0);
}

int np_check_library(bool *ret_simulated, struct np_err *err)
{
	struct answer answer;
	struct pollfd reading;
	int ends[2];
	bool told;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return np_fail(err, NP_E_IO, "cannot make a pipe: %s", strerrordesc_np(errno));
	pid = fork();
	if (pid == 0)
		try_it(ends[1]);
	(void)close(ends[1]);
	if (pid < 0) {
		(void)close(ends[0]);
		return np_fail(err, NP_E_IO, "cannot start a process: %s", strerrordesc_np(errno));
	}
	reading = (struct pollfd){ .fd = ends[0], .events = POLLIN };
	told = poll(&reading, 1, PATIENCE_MS) > 0 &&
	       read(ends[0], &answer, sizeof(answer)) == (ssize_t)sizeof(answer);
	(void)close(ends[0]);
	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, NULL, 0);
	if (!told)
		return np_fail(err, NP_E_NOTFOUND, "loading AscendCL crashes or takes forever");
	if (!answer.there)
		return np_fail(err, NP_E_NOTFOUND,
			       "AscendCL cannot be used: %s; is CANN's set_env.sh sourced?",
			       answer.why);
	*ret_simulated = answer.simulated;
	return NP_OK;
}
