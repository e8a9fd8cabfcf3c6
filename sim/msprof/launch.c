/* SPDX-License-Identifier: Apache-2.0 */
/* Starts an application with profiling switched on in its environment. */
#include "launch.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "npuprof/buf.h"

/* Switches that set bits of the mask of aclprofStart. */
static const struct {
	const char *option;
	unsigned mask;
} switches[] = {
	{ "--ascendcl=on", 0x1 },   { "--task-time=on", 0x22 },     { "--task-time=l0", 0x800 },
	{ "--task-time=l1", 0x22 }, { "--ai-core=on", 0x4 },        { "--runtime-api=on", 0x100 },
	{ "--aicpu=on", 0x8 },      { "--task-memory=on", 0x1000 }, { "--msproftx=on", 0x80 },
};

int msp_launch_find(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		if (strncmp(argv[i], "--", 2) != 0)
			return i;
	}
	return 0;
}

static volatile sig_atomic_t child;

static void pass_on(int number)
{
	if (child > 0)
		(void)kill((pid_t)child, number);
}

int msp_launch_await(pid_t pid)
{
	int status;

	child = (sig_atomic_t)pid;
	(void)signal(SIGTERM, pass_on);
	(void)signal(SIGINT, pass_on);
	while (waitpid(pid, &status, 0) < 0) {
		if (errno != EINTR)
			return 1;
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int msp_launch_json(char **argv, int end, struct np_buf *json, struct np_err *err)
{
	const char *output = ".";
	unsigned mask = 0;

	for (int i = 1; i < end; i++) {
		if (strncmp(argv[i], "--output=", 9) == 0)
			output = argv[i] + 9;
		for (size_t k = 0; k < NP_COUNT(switches); k++)
			mask |= strcmp(argv[i], switches[k].option) == 0 ? switches[k].mask : 0;
	}
	np_buf_printf(json, "{\"result_dir\":\"%s\",\"npusim_mask\":\"%u\"}", output,
		      mask ? mask : 0x27);
	return np_buf_check(json, err);
}

int msp_launch(char **argv, int application, struct np_err *err)
{
	NP_CLEANUP(np_buf_release) struct np_buf json = NP_BUF_INIT;
	pid_t pid;

	if (msp_launch_json(argv, application, &json, err) < 0)
		return -1;
	pid = fork();
	if (pid == 0) {
		(void)setenv("PROFILER_SAMPLECONFIG", json.text, 1);
		(void)execvp(argv[application], argv + application);
		_exit(127);
	}
	if (pid < 0) {
		(void)np_fail(err, NP_E_IO, "cannot start '%s'", argv[application]);
		return -1;
	}
	return msp_launch_await(pid);
}
