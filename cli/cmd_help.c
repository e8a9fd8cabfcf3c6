/* SPDX-License-Identifier: Apache-2.0 */
/* The command `help`, and what npuprof says without a command. */
#include "help.h"

#include "commands.h"

#include "npuprof/lang.h"
#include "npuprof/say.h"
#include "npuprof/text.h"

#include <string.h>

#include "cli/command/common.h"
#include "cli/command/output.h"

static const struct np_opt_group general[] = {
	NP_GROUP_GENERAL,
};

const struct np_opt_table np_help_front = { .groups = general, .count = NP_COUNT(general) };

static size_t widest_name(void)
{
	size_t widest = 0;

	for (size_t i = 0; np_commands[i]; i++) {
		size_t length = strlen(np_commands[i]->name);

		if (length > widest)
			widest = length;
	}
	return widest;
}

static void add_usage(struct np_buf *buf)
{
	np_say(buf, "usage: npuprof [-h] [-V] COMMAND [ARGUMENTS]\n");
}

/* The commands under their topics, which adjoin in the array. */
static void add_commands(struct np_buf *buf, size_t width)
{
	size_t column = widest_name() + 4;
	const char *topic = "";

	for (size_t i = 0; np_commands[i]; i++) {
		const struct np_cmd *cmd = np_commands[i];

		if (strcmp(topic, cmd->topic) != 0)
			np_say(buf, "\n{1}:\n", NP_SAID_TEXT(np_lang_text(cmd->topic)));
		topic = cmd->topic;
		np_buf_printf(buf, "  %-*s", (int)column - 2, cmd->name);
		np_text_wrap(buf, np_lang_text(cmd->summary), column, width);
	}
}

int np_help_full(void)
{
	size_t width = np_output_help_width();
	struct np_buf buf = NP_BUF_INIT;
	unsigned statuses = 0;

	if (!np_output_is_first())
		return NP_EXIT_DONE;
	for (size_t i = 0; np_commands[i]; i++)
		statuses |= np_commands[i]->statuses;

	add_usage(&buf);
	np_buf_add_char(&buf, '\n');
	np_text_wrap(&buf,
		     np_lang_text("Shows where the step time of a cluster of Ascend NPUs went, and "
				  "which rank, link or communicator made the others wait, from the "
				  "profiles of its ranks."),
		     0, width);
	add_commands(&buf, width);
	np_opt_help(&buf, &np_help_front, width);
	np_say(&buf, "\n'npuprof COMMAND -h' shows the options of a command.\n");
	np_cmd_add_statuses(&buf, statuses);
	return np_output_release(&buf);
}

struct help_options {
	const char *command;
};

static const struct np_opt_operand operand = {
	.option = { .kind = NP_OPT_TEXT,
		    .fill = NP_FILL_COMMAND,
		    .value = "COMMAND",
		    .offset = offsetof(struct help_options, command) },
	.most = 1,
};

static int cmd_help(int argc, const char *const *argv);

const struct np_cmd np_cmd_help = {
	.name = "help",
	.topic = "Getting around",
	.synopsis = "[COMMAND]",
	.summary = "show help for npuprof or for one command",
	.about = "Shows the commands of npuprof or, with COMMAND, what 'npuprof COMMAND -h' shows.",
	.run = cmd_help,
	.options = { .groups = general, .count = NP_COUNT(general), .operand = &operand },
	.statuses = NP_EXITS_PLAIN,
};

static int cmd_help(int argc, const char *const *argv)
{
	struct help_options options = { 0 };
	const struct np_cmd *cmd;
	int status;

	if (!np_cmd_options(&np_cmd_help, argc, argv, &options, &status))
		return status;
	if (!options.command)
		return np_help_full();
	cmd = np_cmd_find(options.command);
	return cmd ? np_cmd_print_help(cmd) : np_cmd_unknown(options.command);
}
