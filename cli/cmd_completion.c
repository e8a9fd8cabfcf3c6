/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command `completion`: scripts made from the table of commands and their option
 * tables. They name every command, option and choice, so they are complete without
 * running npuprof again.
 */
#include "commands.h"
#include "help.h"

#include "cli/command/common.h"
#include "cli/command/output.h"

typedef void writer(struct np_buf *buf, const struct np_cmd *cmd, const struct np_opt *option);

static void each_option(struct np_buf *buf, const struct np_cmd *cmd,
			const struct np_opt_table *table, writer *write)
{
	for (size_t g = 0; g < table->count; g++) {
		for (size_t i = 0; i < table->groups[g].count; i++)
			write(buf, cmd, &table->groups[g].options[i]);
	}
}

/* The values a shell can offer as words: choices or the names of commands. */
static void add_words(struct np_buf *buf, const struct np_opt *option)
{
	const char *between = "";

	if (option->fill == NP_FILL_COMMAND) {
		for (size_t i = 0; np_commands[i]; i++, between = " ")
			np_buf_printf(buf, "%s%s", between, np_commands[i]->name);
		return;
	}
	for (size_t i = 0; option->choices && option->choices[i]; i++, between = " ")
		np_buf_printf(buf, "%s%s", between, option->choices[i]);
	if (option->offer) {
		NP_CLEANUP(np_buf_release) struct np_buf words = NP_BUF_INIT;

		option->offer(&words);
		np_buf_add(buf, words.text + (*words.text == ' '));
		buf->failed |= words.failed;
	}
}

static const struct np_opt any_command = { .kind = NP_OPT_TEXT, .fill = NP_FILL_COMMAND };

static bool has_words(const struct np_opt *option)
{
	return option->choices || option->offer || option->fill == NP_FILL_COMMAND;
}

static bool may_repeat(const struct np_opt *option)
{
	return option->kind == NP_OPT_LIST || option->kind == NP_OPT_COUNT;
}

static void add_first_line(struct np_buf *buf, const char *shell)
{
	np_buf_printf(buf, "# made by 'npuprof completion %s', version %s\n", shell, NP_VERSION);
}

/*
 * bash
 */

static void bash_spelling(struct np_buf *buf, const struct np_cmd *cmd, const struct np_opt *option)
{
	(void)cmd;
	if (option->letter)
		np_buf_printf(buf, "-%c ", option->letter);
	np_buf_printf(buf, "--%s ", option->name);
}

/* What may follow: sets the variables that the end of the script acts upon. */
static void bash_what(struct np_buf *buf, const struct np_opt *option)
{
	if (!option) {
		np_buf_add(buf, "kind=none");
	} else if (has_words(option)) {
		np_buf_printf(buf, "kind=%s values='",
			      option->kind == NP_OPT_CHOICES ? "list" : "words");
		add_words(buf, option);
		np_buf_add_char(buf, '\'');
	} else {
		np_buf_printf(buf, "kind=%s",
			      option->fill == NP_FILL_DIRECTORY ? "directory" : "none");
	}
}

static void bash_value(struct np_buf *buf, const struct np_cmd *cmd, const struct np_opt *option)
{
	(void)cmd;
	if (!np_opt_has_value(option))
		return;
	np_buf_add(buf, "\t\t");
	if (option->letter)
		np_buf_printf(buf, "-%c | ", option->letter);
	np_buf_printf(buf, "--%s) ", option->name);
	bash_what(buf, option);
	np_buf_add(buf, " options='' ;;\n");
}

/* Does no option of the table take a value? */
static bool flags_only(const struct np_opt_table *table)
{
	for (size_t g = 0; g < table->count; g++) {
		for (size_t i = 0; i < table->groups[g].count; i++) {
			if (np_opt_has_value(&table->groups[g].options[i]))
				return false;
		}
	}
	return true;
}

static void bash_command(struct np_buf *buf, const struct np_cmd *cmd, const char *name,
			 const struct np_opt_table *table, const struct np_opt *operand)
{
	np_buf_printf(buf, "\t%s)\n\t\t", name);
	bash_what(buf, operand);
	np_buf_add(buf, "\n\t\toptions='");
	each_option(buf, cmd, table, bash_spelling);
	np_buf_add(buf, "'\n");
	if (flags_only(table)) {
		np_buf_add(buf, "\t\t;;\n");
		return;
	}
	np_buf_add(buf, "\t\tcase $prev in\n");
	each_option(buf, cmd, table, bash_value);
	np_buf_add(buf, "\t\tesac\n\t\t;;\n");
}

static void write_bash(struct np_buf *buf)
{
	add_first_line(buf, "bash");
	np_buf_add(buf, "_npuprof()\n"
			"{\n"
			"\tlocal cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}\n"
			"\tlocal command='' kind=none values='' options='' head='' i\n"
			"\t# bash splits '--name=value' into three words\n"
			"\tif [[ $cur == '=' ]]; then\n"
			"\t\tcur=''\n"
			"\telif [[ $prev == '=' ]]; then\n"
			"\t\tprev=${COMP_WORDS[COMP_CWORD - 2]}\n"
			"\tfi\n"
			"\tfor ((i = 1; i < COMP_CWORD; i++)); do\n"
			"\t\t[[ ${COMP_WORDS[i]} == -* ]] && continue\n"
			"\t\tcommand=${COMP_WORDS[i]}\n"
			"\t\tbreak\n"
			"\tdone\n"
			"\tcase $command in\n");
	bash_command(buf, NULL, "''", &np_help_front, &any_command);
	for (size_t i = 0; np_commands[i]; i++) {
		const struct np_cmd *cmd = np_commands[i];

		bash_command(buf, cmd, cmd->name, &cmd->options,
			     cmd->options.operand ? &cmd->options.operand->option : NULL);
	}
	np_buf_add(
		buf,
		"\tesac\n"
		"\tif [[ $cur == -* && $options ]]; then\n"
		"\t\tkind=words values=$options\n"
		"\tfi\n"
		"\tCOMPREPLY=()\n"
		"\tcase $kind in\n"
		"\twords)\n"
		"\t\tmapfile -t COMPREPLY < <(compgen -W \"$values\" -- \"$cur\")\n"
		"\t\t# 'rank:' goes on with its number\n"
		"\t\t[[ ${COMPREPLY[0]-} == *: ]] && compopt -o nospace 2>/dev/null\n"
		"\t\t;;\n"
		"\tlist)\n"
		"\t\tcompopt -o nospace 2>/dev/null\n"
		"\t\t[[ $cur == *,* ]] && head=${cur%,*},\n"
		"\t\tmapfile -t COMPREPLY < <(compgen -P \"$head\" -W \"$values\" -- "
		"\"${cur##*,}\")\n"
		"\t\t;;\n"
		"\tdirectory)\n"
		"\t\tcompopt -o filenames 2>/dev/null\n"
		"\t\tmapfile -t COMPREPLY < <(compgen -d -- \"$cur\")\n"
		"\t\t;;\n"
		"\tesac\n"
		"}\n"
		"_npuprof_collect()\n"
		"{\n"
		"\tCOMP_WORDS=(npuprof collect \"${COMP_WORDS[@]:1}\")\n"
		"\tCOMP_CWORD=$((COMP_CWORD + 1))\n"
		"\t_npuprof\n"
		"}\n"
		"# the generator of runs is asked itself\n"
		"_npuprof_synth()\n"
		"{\n"
		"\tlocal cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} values=''\n"
		"\tlocal help\n"
		"\thelp=$(\"${COMP_WORDS[0]}\" -h 2>/dev/null)\n"
		"\t[[ $prev == --* ]] && values=$(sed -n "
		"\"s/^  $prev \\([a-z0-9.]*|[a-z0-9.|]*\\) .*/\\1/p\" <<<\"$help\" | tr '|' ' ')\n"
		"\t[[ $cur == -* ]] && values=$(grep -oE -e '--[a-z0-9-]+' <<<\"$help\")\n"
		"\tmapfile -t COMPREPLY < <(compgen -W \"$values\" -- \"$cur\")\n"
		"}\n"
		"complete -F _npuprof npuprof\n"
		"complete -F _npuprof_collect npuprof-collect\n"
		"complete -o default -F _npuprof_synth npuprof-synth\n");
}

/*
 * zsh
 */

/* Text inside '…' where [ ] and : have a meaning of their own. */
static void zsh_text(struct np_buf *buf, const char *text)
{
	for (; *text; text++) {
		if (*text == '[' || *text == ']' || *text == ':' || *text == '\\')
			np_buf_add_char(buf, '\\');
		if (*text == '\'')
			np_buf_add(buf, "'\\'");
		np_buf_add_char(buf, *text);
	}
}

/* ":MESSAGE:what to offer" */
static void zsh_action(struct np_buf *buf, const struct np_opt *option)
{
	np_buf_add_char(buf, ':');
	zsh_text(buf, option->value);
	np_buf_add_char(buf, ':');
	if (option->kind == NP_OPT_CHOICES) {
		np_buf_add(buf, "_values -s , value ");
		add_words(buf, option);
	} else if (has_words(option)) {
		np_buf_add_char(buf, '(');
		add_words(buf, option);
		np_buf_add_char(buf, ')');
	} else {
		np_buf_add(buf, option->fill == NP_FILL_DIRECTORY ? "_files -/" : " ");
	}
}

/* Which others the option excludes: all (-h), its other spelling, or none. */
static void zsh_excludes(struct np_buf *buf, const struct np_opt *option)
{
	if (option->kind == NP_OPT_HELP || option->kind == NP_OPT_VERSION)
		np_buf_add(buf, "'(- *)'");
	else if (may_repeat(option))
		np_buf_add(buf, "'*'");
	else if (option->letter)
		np_buf_printf(buf, "'(-%c --%s)'", option->letter, option->name);
}

static void zsh_option(struct np_buf *buf, const struct np_cmd *cmd, const struct np_opt *option)
{
	bool value = np_opt_has_value(option);

	(void)cmd;
	np_buf_add(buf, " \\\n\t\t\t");
	zsh_excludes(buf, option);
	if (option->letter)
		np_buf_printf(buf, "{-%c%s,--%s%s}", option->letter, value ? "+" : "", option->name,
			      value ? "=" : "");
	else
		np_buf_printf(buf, "--%s%s", option->name, value ? "=" : "");
	np_buf_add(buf, "'[");
	zsh_text(buf, option->help);
	np_buf_add_char(buf, ']');
	if (value)
		zsh_action(buf, option);
	np_buf_add_char(buf, '\'');
}

static void zsh_command(struct np_buf *buf, const struct np_cmd *cmd)
{
	const struct np_opt_operand *operand = cmd->options.operand;

	np_buf_printf(buf, "\t%s)\n\t\t_arguments -s -S", cmd->name);
	each_option(buf, cmd, &cmd->options, zsh_option);
	if (operand) {
		np_buf_add(buf, operand->most == 1 ? " \\\n\t\t\t'1" : " \\\n\t\t\t'*");
		zsh_action(buf, &operand->option);
		np_buf_add_char(buf, '\'');
	}
	np_buf_add(buf, "\n\t\t;;\n");
}

static void write_zsh(struct np_buf *buf)
{
	np_buf_add(buf, "#compdef npuprof npuprof-collect npuprof-synth\n");
	add_first_line(buf, "zsh");
	np_buf_add(buf, "_npuprof()\n{\n"
			"\tlocal -a commands\n"
			"\tif [[ $service == npuprof-synth ]]; then\n"
			"\t\t# the generator of runs is asked itself\n"
			"\t\t_arguments --\n"
			"\t\treturn\n"
			"\tfi\n"
			"\tif [[ $service == npuprof-collect ]]; then\n"
			"\t\twords=(npuprof collect \"${(@)words[2,-1]}\")\n"
			"\t\t(( CURRENT++ ))\n"
			"\tfi\n"
			"\tlocal command=$words[2]\n"
			"\tif (( CURRENT == 2 )); then\n"
			"\t\tcommands=(\n");
	for (size_t i = 0; np_commands[i]; i++) {
		np_buf_printf(buf, "\t\t\t'%s:", np_commands[i]->name);
		zsh_text(buf, np_commands[i]->summary);
		np_buf_add(buf, "'\n");
	}
	np_buf_add(buf, "\t\t)\n\t\t_describe command commands\n\t\t_arguments");
	each_option(buf, NULL, &np_help_front, zsh_option);
	np_buf_add(buf, "\n\t\treturn\n"
			"\tfi\n"
			"\tshift words\n"
			"\t(( CURRENT-- ))\n"
			"\tcase $command in\n");
	for (size_t i = 0; np_commands[i]; i++)
		zsh_command(buf, np_commands[i]);
	np_buf_add(buf, "\tesac\n}\n"
			"# autoloaded from $fpath, or sourced\n"
			"if [[ $funcstack[1] == _npuprof ]]; then\n"
			"\t_npuprof \"$@\"\n"
			"else\n"
			"\tcompdef _npuprof npuprof npuprof-collect npuprof-synth\n"
			"fi\n");
}

/*
 * fish
 */

static void fish_text(struct np_buf *buf, const char *text)
{
	for (; *text; text++) {
		if (*text == '\'' || *text == '\\')
			np_buf_add_char(buf, '\\');
		np_buf_add_char(buf, *text);
	}
}

/* npuprof-collect is the command collect. */
static void fish_line(struct np_buf *buf, const struct np_cmd *cmd, bool alone)
{
	if (alone) {
		np_buf_printf(buf, "complete -c npuprof-%s", cmd->name);
		return;
	}
	np_buf_add(buf, "complete -c npuprof -n ");
	if (cmd)
		np_buf_printf(buf, "'__fish_seen_subcommand_from %s'", cmd->name);
	else
		np_buf_add(buf, "__fish_use_subcommand");
}

/* " -x -a '…'": what to offer as the value of an option or as an operand. */
static void fish_values(struct np_buf *buf, const struct np_opt *option)
{
	if (option->kind == NP_OPT_CHOICES) {
		np_buf_add(buf, " -x -a '(__fish_append , ");
		add_words(buf, option);
		np_buf_add(buf, ")'");
	} else if (has_words(option)) {
		np_buf_add(buf, " -x -a '");
		add_words(buf, option);
		np_buf_add_char(buf, '\'');
	} else if (option->fill == NP_FILL_DIRECTORY) {
		np_buf_add(buf, " -x -a '(__fish_complete_directories)'");
	} else {
		np_buf_add(buf, " -x");
	}
}

static void fish_row(struct np_buf *buf, const struct np_cmd *cmd, const struct np_opt *option,
		     bool alone)
{
	fish_line(buf, cmd, alone);
	if (option->letter)
		np_buf_printf(buf, " -s %c", option->letter);
	np_buf_printf(buf, " -l %s", option->name);
	if (np_opt_has_value(option))
		fish_values(buf, option);
	np_buf_add(buf, " -d '");
	fish_text(buf, option->help);
	np_buf_add(buf, "'\n");
}

static void fish_option(struct np_buf *buf, const struct np_cmd *cmd, const struct np_opt *option)
{
	fish_row(buf, cmd, option, false);
}

static void fish_option_alone(struct np_buf *buf, const struct np_cmd *cmd,
			      const struct np_opt *option)
{
	fish_row(buf, cmd, option, true);
}

static void write_fish(struct np_buf *buf)
{
	const struct np_cmd *collect = np_cmd_find("collect");

	add_first_line(buf, "fish");
	np_buf_add(buf, "complete -c npuprof -f\n");
	each_option(buf, NULL, &np_help_front, fish_option);
	for (size_t i = 0; np_commands[i]; i++) {
		const struct np_cmd *cmd = np_commands[i];

		fish_line(buf, NULL, false);
		np_buf_printf(buf, " -a %s -d '", cmd->name);
		fish_text(buf, cmd->summary);
		np_buf_add(buf, "'\n");
		each_option(buf, cmd, &cmd->options, fish_option);
		if (cmd->options.operand) {
			fish_line(buf, cmd, false);
			fish_values(buf, &cmd->options.operand->option);
			np_buf_add_char(buf, '\n');
		}
	}
	np_buf_add(buf, "complete -c npuprof-collect -f\n");
	if (collect)
		each_option(buf, collect, &collect->options, fish_option_alone);
	np_buf_add(buf,
		   "# the generator of runs is asked itself\n"
		   "complete -c npuprof-synth -n 'string match -q -- \"-*\" (commandline -ct)' -a "
		   "'(npuprof-synth -h 2>/dev/null | string match -r -a -- \"--[a-z0-9-]+\")'\n");
}

/* --- the command ------------------------------------------------------------------------------ */

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
	[SHELL_BASH] = write_bash,
	[SHELL_ZSH] = write_zsh,
	[SHELL_FISH] = write_fish,
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
