/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/command/cmd.h"
#include "cli/command/common.h"
#include "cli/command/output.h"
#include "completion.h"

enum shell {
	SHELL_BASH,
	SHELL_ZSH,
	SHELL_FISH,
};

static const char *const shells[] = {
	[SHELL_BASH] = "bash",
	[SHELL_ZSH] = "zsh",
	[SHELL_FISH] = "fish",
	NULL,
};

static void (*const writers[])(struct np_buf *buf) = {
	[SHELL_BASH] = np_completion_bash,
	[SHELL_ZSH] = np_completion_zsh,
	[SHELL_FISH] = np_completion_fish,
};

struct completion_options {
	int shell;
};

static const struct np_opt_group groups[] = {
	NP_GROUP_GENERAL,
};

static const struct np_opt_operand operand = {
	.option = { .kind = NP_OPT_CHOICE,
		    .value = "SHELL",
		    .choices = shells,
		    .offset = offsetof(struct completion_options, shell) },
	.least = 1,
	.most = 1,
};

static int cmd_completion(int argc, const char *const *argv);

const struct np_cmd np_cmd_completion = {
	.name = "completion",
	.topic = "Getting around",
	.synopsis = "bash|zsh|fish",
	.summary = "print the script that teaches a shell to complete npuprof",
	.about =
		"Prints a completion script. Try it in bash with 'source <(npuprof completion "
		"bash)'; keep it in ~/.local/share/bash-completion/completions/npuprof, for zsh as "
		"_npuprof in a directory of $fpath, for fish in "
		"~/.config/fish/completions/npuprof.fish.",
	.run = cmd_completion,
	.options = { .groups = groups, .count = NP_COUNT(groups), .operand = &operand },
	.statuses = NP_EXITS_PLAIN,
};

static int cmd_completion(int argc, const char *const *argv)
{
	struct completion_options options = { 0 };
	struct np_buf buf = NP_BUF_INIT;
	int status;

	if (!np_cmd_options(&np_cmd_completion, argc, argv, &options, &status))
		return status;
	writers[options.shell](&buf);
	return np_output_release(&buf);
}
