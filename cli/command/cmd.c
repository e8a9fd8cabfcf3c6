/* SPDX-License-Identifier: Apache-2.0 */
/* What all commands do with their options, their help and their exit status. */
#include "cmd.h"

#include "npuprof/lang.h"
#include "npuprof/say.h"
#include "npuprof/text.h"

#include <stdarg.h>

#include "output.h"

static const char *const exit_meaning[NP_EXIT_COUNT] = {
	[NP_EXIT_DONE] = NP_MSG("done"),
	[NP_EXIT_FAILED] = NP_MSG("failed, nothing usable"),
	[NP_EXIT_USAGE] = NP_MSG("wrong usage"),
	[NP_EXIT_PARTIAL] = NP_MSG("done, but some ranks or sections could not be used"),
	[NP_EXIT_GATE] = NP_MSG("a gate tripped (--fail-on)"),
};

void np_cmd_add_statuses(struct np_buf *buf, unsigned statuses)
{
	np_say(buf, "\nExit status:\n");
	for (unsigned i = 0; i < NP_EXIT_COUNT; i++) {
		if (statuses & 1U << i)
			np_buf_printf(buf, "  %u  %s\n", i, np_lang_text(exit_meaning[i]));
	}
}

int np_cmd_print_help(const struct np_cmd *cmd)
{
	size_t width = np_output_help_width();
	struct np_buf buf = NP_BUF_INIT;

	if (!np_output_is_first())
		return NP_EXIT_DONE;
	np_say(&buf, "usage: npuprof {1} {2}\n\n", NP_SAID_TEXT(cmd->name),
	       NP_SAID_TEXT(cmd->synopsis));
	np_text_wrap(&buf, np_lang_text(cmd->about), 0, width);
	np_opt_help(&buf, &cmd->options, width);
	np_cmd_add_statuses(&buf, cmd->statuses);
	return np_output_release(&buf);
}

int np_cmd_print_version(void)
{
	if (np_output_is_first())
		printf("npuprof %s\n", NP_VERSION);
	return NP_EXIT_DONE;
}

int np_cmd_usage(const struct np_cmd *cmd, const char *fmt, ...)
{
	NP_CLEANUP(np_buf_release) struct np_buf hint = NP_BUF_INIT;
	va_list args;
	bool said;

	if (!np_output_is_first())
		return NP_EXIT_USAGE;
	va_start(args, fmt);
	said = np_vreport(fmt, args);
	va_end(args);
	if (!said)
		return NP_EXIT_USAGE;
	if (cmd)
		np_say(&hint, "see 'npuprof {1} -h'\n", NP_SAID_TEXT(cmd->name));
	else
		np_say(&hint, "see 'npuprof -h'\n");
	(void)fputs(hint.failed ? "" : hint.text, stderr);
	return NP_EXIT_USAGE;
}

bool np_cmd_options(const struct np_cmd *cmd, int argc, const char *const *argv, void *options,
		    int *ret_status)
{
	struct np_err err = NP_ERR_INIT;

	switch (np_opt_parse(&cmd->options, cmd->name, argc, argv, options, &err)) {
	case NP_OK:
		return true;
	case NP_OPT_WANTS_HELP:
		*ret_status = np_cmd_print_help(cmd);
		return false;
	case NP_OPT_WANTS_VERSION:
		*ret_status = np_cmd_print_version();
		return false;
	case NP_E_USAGE:
		*ret_status = np_cmd_usage(cmd, "%s", err.text);
		return false;
	default:
		*ret_status = np_report(NP_EXIT_FAILED, "%s", err.text);
		return false;
	}
}

int np_exit_unwritten(const struct np_err *err)
{
	return err->code == NP_E_BUSY ? NP_EXIT_FAILED : NP_EXIT_PARTIAL;
}
