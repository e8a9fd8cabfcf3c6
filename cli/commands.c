/* SPDX-License-Identifier: Apache-2.0 */
/* The list of commands: one row for each. */
#include "commands.h"

#include <string.h>

#include "npuprof/text.h"

extern const struct np_cmd np_cmd_advisor;
extern const struct np_cmd np_cmd_cluster;
extern const struct np_cmd np_cmd_collect;
extern const struct np_cmd np_cmd_compare;
extern const struct np_cmd np_cmd_completion;
extern const struct np_cmd np_cmd_ctl;
extern const struct np_cmd np_cmd_export;
extern const struct np_cmd np_cmd_help;
extern const struct np_cmd np_cmd_history;
extern const struct np_cmd np_cmd_info;
extern const struct np_cmd np_cmd_mcp;
extern const struct np_cmd np_cmd_memory;
extern const struct np_cmd np_cmd_merge;
extern const struct np_cmd np_cmd_report;
extern const struct np_cmd np_cmd_rules;
extern const struct np_cmd np_cmd_timeline;
extern const struct np_cmd np_cmd_watch;
extern const struct np_cmd np_cmd_whatif;

const struct np_cmd *const np_commands[] = {
	&np_cmd_info,
	&np_cmd_cluster,
	&np_cmd_whatif,
	&np_cmd_compare,
	&np_cmd_advisor,
	&np_cmd_report,
	&np_cmd_timeline,
	&np_cmd_memory,
	&np_cmd_merge,
	&np_cmd_history,
	&np_cmd_watch,
	&np_cmd_rules,
	&np_cmd_mcp,
	&np_cmd_collect,
	&np_cmd_ctl,
	&np_cmd_export,
	&np_cmd_completion,
	&np_cmd_help,
	NULL,
};

const struct np_cmd *np_cmd_find(const char *name)
{
	for (size_t i = 0; np_commands[i]; i++) {
		if (strcmp(np_commands[i]->name, name) == 0)
			return np_commands[i];
	}
	return NULL;
}

int np_cmd_unknown(const char *name)
{
	const char *names[NP_COUNT(np_commands)];
	const char *meant;
	size_t count = 0;

	for (; np_commands[count]; count++)
		names[count] = np_commands[count]->name;
	meant = np_text_closest(name, names, count);
	if (meant)
		return np_cmd_usage(NULL, "unknown command '%s'; did you mean '%s'?", name, meant);
	return np_cmd_usage(NULL, "unknown command '%s'", name);
}
