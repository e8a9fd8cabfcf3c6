/* SPDX-License-Identifier: Apache-2.0 */
/* The front door: options before the command, and the command on one process or on many. */
#include "commands.h"
#include "help.h"

#include "cli/command/output.h"
#include "cli/prepare/processes.h"

#include <malloc.h>

/* Memory of a rank is used again for the next instead of going back and forth page by page. */
#define OWN_PAGES_FROM (32 << 20)
#define KEPT_MOST      (256 << 20)

static void keep_memory(void)
{
	(void)mallopt(M_MMAP_THRESHOLD, OWN_PAGES_FROM);
	(void)mallopt(M_TRIM_THRESHOLD, KEPT_MOST);
}

static int run_command(int argc, const char *const *argv)
{
	const struct np_cmd *cmd;

	if (argc == 0)
		return np_help_short();
	cmd = np_cmd_find(argv[0]);
	return cmd ? cmd->run(argc - 1, argv + 1) : np_cmd_unknown(argv[0]);
}

static int dispatch(int argc, const char *const *argv)
{
	struct np_err err = NP_ERR_INIT;
	char nothing = 0; /* these options fill no field */
	int next = 0;

	switch (np_opt_parse_front(&np_help_front, argc, argv, &nothing, &next, &err)) {
	case NP_OK:
		return run_command(argc - next, argv + next);
	case NP_OPT_WANTS_HELP:
		return np_help_full();
	case NP_OPT_WANTS_VERSION:
		return np_cmd_print_version();
	default:
		return np_cmd_usage(NULL, "%s", err.text);
	}
}

static int run(int argc, const char *const *argv)
{
	const struct np_cmd *cmd = argc > 0 ? np_cmd_find(argv[0]) : NULL;

	if (cmd && cmd->distributed)
		return processes_run(cmd, dispatch, argc, argv);
	return dispatch(argc, argv);
}

int main(int argc, char **argv)
{
	keep_memory();
	np_output_begin();
	if (argc < 1)
		return np_output_end(NP_EXIT_USAGE);
	return np_output_end(run(argc - 1, (const char *const *)argv + 1));
}
