/* SPDX-License-Identifier: Apache-2.0 */
/* The front door: old spellings, options before the command, and the command on one process or on
 * many. */
#include "commands.h"
#include "help.h"

#include "cli/command/output.h"
#include "cli/compat/compat.h"
#include "cli/prepare/agent.h"
#include "cli/prepare/processes.h"

#include "npuprof/lang.h"
#include "npuprof/text.h"

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
		return np_help_full();
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

static void say_notes(const struct compat_line *line)
{
	for (size_t i = 0; i < line->notes.count && np_output_is_first(); i++)
		(void)np_report(0, "%s", line->notes.item[i]);
}

static int run_line(const struct compat_line *line)
{
	if (!line->quiet)
		say_notes(line);
	return run((int)line->words.count, line->words.item);
}

/* The command line as other tools spell it, or as ours. */
static int run_any(const char *program, int argc, const char *const *argv)
{
	struct np_err err = NP_ERR_INIT;
	struct compat_line line;
	int rc = compat_translate(program, argc, argv, &line, &err);
	const char *first = line.words.count ? line.words.item[0] : NULL;
	bool agent = line.agent && np_output_is_first() && agent_begin(first);
	int status;

	if (rc == NP_E_USAGE)
		status = np_cmd_usage(first ? np_cmd_find(first) : NULL, "%s", err.text);
	else
		status = rc < 0 ? np_report(NP_EXIT_FAILED, "%s", err.text) : run_line(&line);
	if (agent)
		status = agent_end(status);
	compat_release(&line);
	return status;
}

int main(int argc, char **argv)
{
	keep_memory();
	/* Before anything is said, -h before --lang included. */
	(void)np_lang_set(np_lang_of_line(argc, (const char *const *)argv));
	np_output_begin();
	if (argc < 1)
		return np_output_end(NP_EXIT_USAGE);
	return np_output_end(run_any(argv[0], argc - 1, (const char *const *)argv + 1));
}
