/* SPDX-License-Identifier: Apache-2.0 */
/* The command "npuprof collect", which becomes npuprof-collect. */
#include <errno.h>
#include <limits.h>
#include <unistd.h>

#include "cli/command/cmd.h"
#include "cli/command/output.h"
#include "collect/launch/plan/find.h"
#include "collect/launch/plan/options.h"

static int cmd_collect(int argc, const char *const *argv);

extern const struct np_cmd np_cmd_collect;

const struct np_cmd np_cmd_collect = {
	.name = "collect",
	.topic = "Collecting",
	.synopsis = "[options] -- APPLICATION [ARGUMENT]...",
	.summary = "run an application on every rank and profile some of them",
	.about =
		"Profiles a training job: 'mpirun -n N npuprof-collect [options] -- APPLICATION'. "
		"Every rank runs the application; the chosen ranks are profiled through AscendCL "
		"over one window of steps. Options have the names of MindSpeed-LLM, with or "
		"without the prefix 'profile-'. Without mpirun, one launcher on each node profiles the "
		"ranks that torchrun or the like starts there (--rdzv). The application's "
		"exit status is passed on; 3 means that only the profiling failed.",
	.run = cmd_collect,
	.options = { .groups = np_collect_groups, .count = NP_COLLECT_GROUPS },
	.statuses = NP_EXITS_PARTIAL,
};

/* Become npuprof-collect, which alone knows MPI. */
static int become_collector(int argc, const char *const *argv)
{
	char program[PATH_MAX];
	const char **words = calloc((size_t)argc + 2, sizeof(*words));

	if (!words)
		return np_report(NP_EXIT_FAILED, "out of memory for the command line");
	if (!np_find_beside("npuprof-collect", program, sizeof(program)))
		(void)snprintf(program, sizeof(program), "npuprof-collect");
	words[0] = program;
	for (int i = 0; i < argc; i++)
		words[i + 1] = argv[i];
	/* execvp() does not change what it is given. */
	(void)execvp(program, (char *const *)(uintptr_t)words);
	free(words);
	return np_report(NP_EXIT_FAILED,
			 "cannot execute 'npuprof-collect': %s; it is a part of npuprof that is "
			 "built where libsodium is installed",
			 strerrordesc_np(errno));
}

static int cmd_collect(int argc, const char *const *argv)
{
	struct np_err err = NP_ERR_INIT;
	struct np_collect_line line;
	int rc = np_collect_line_read(&line, argc, argv, &err);

	np_collect_line_release(&line);
	switch (rc) {
	case NP_OK:
		return become_collector(argc, argv);
	case NP_OPT_WANTS_HELP:
		return np_cmd_print_help(&np_cmd_collect);
	case NP_OPT_WANTS_VERSION:
		return np_cmd_print_version();
	case NP_E_USAGE:
		return np_cmd_usage(&np_cmd_collect, "%s", err.text);
	default:
		return np_report(NP_EXIT_FAILED, "%s", err.text);
	}
}
