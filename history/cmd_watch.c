/* SPDX-License-Identifier: Apache-2.0 */
/* `npuprof watch`: a directory into which captures arrive, and what each shows. */
#include "cli/command/cmd.h"

#include "npuprof/watching.h"

struct watch_command {
	struct np_watch_options watch;
	struct np_opt_list dirs;
};

static const struct np_opt_group groups[] = {
	NP_GROUP_WATCHING(struct watch_command, watch),
	NP_GROUP_RUNNING(struct watch_command, watch.common),
	NP_GROUP_GENERAL,
};

static const struct np_opt_operand operand = {
	.option = { .kind = NP_OPT_LIST,
		    .fill = NP_FILL_DIRECTORY,
		    .value = "DIR",
		    .offset = offsetof(struct watch_command, dirs) },
	.least = 1,
	.most = 1,
};

static int cmd_watch(int argc, const char *const *argv);

extern const struct np_cmd np_cmd_watch;

const struct np_cmd np_cmd_watch = {
	.name = "watch",
	.topic = "Analysing a run",
	.synopsis = "[options] DIR",
	.summary =
		"follow a directory of captures: a line for each, and who is to blame since when",
	.about =
		"Every subdirectory of DIR is a window, or every window-N of the jobs that the collector "
		"has put there; so are captures in DIR itself that began together, as msMonitor and "
		"torch_npu write them. A new one is analysed when its files have stopped changing, added to the "
		"history, and told in a line; a verdict is told when it becomes or ceases to be "
		"significant. Ends with SIGINT or SIGTERM when the window in hand is done; started "
		"again it goes on where it was.",
	.run = cmd_watch,
	.options = { .groups = groups, .count = NP_COUNT(groups), .operand = &operand },
	.statuses = NP_EXITS_PARTIAL,
};

static int cmd_watch(int argc, const char *const *argv)
{
	struct watch_command command = { .watch = NP_WATCH_OPTIONS_INIT };
	int status;

	if (np_cmd_options(&np_cmd_watch, argc, argv, &command, &status))
		status = np_watch_follow(&np_cmd_watch, command.dirs.item[0], &command.watch, NULL);
	np_opt_release(&np_cmd_watch.options, &command);
	return status;
}
