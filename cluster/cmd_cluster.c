/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd.h"
#include "common.h"
#include "output.h"

struct cluster_options {
	struct np_common common;
	uint64_t modes; /* bits of enum mode */
	const char *table;
	struct np_opt_list picks;
};

enum mode {
	MODE_ALL,
	MODE_COMMUNICATION_TIME,
	MODE_COMMUNICATION_MATRIX,
};

static const char *const modes[] = {
	[MODE_ALL] = "all",
	[MODE_COMMUNICATION_TIME] = "communication_time",
	[MODE_COMMUNICATION_MATRIX] = "communication_matrix",
	NULL,
};

static const struct np_opt analysis[] = {
	{
		.letter = 'm',
		.name = "mode",
		.kind = NP_OPT_CHOICES,
		.offset = offsetof(struct cluster_options, modes),
		.value = "MODE[,MODE...]",
		.help = "compute these parts",
		.choices = modes,
		.preset = "all",
	},
	{
		.name = "table",
		.kind = NP_OPT_TEXT,
		.offset = offsetof(struct cluster_options, table),
		.value = "NAME",
		.help = "the table that -f csv prints",
		.preset_words = "the first",
	},
	{
		.name = "pick",
		.kind = NP_OPT_LIST,
		.fill = NP_FILL_DIRECTORY,
		.offset = offsetof(struct cluster_options, picks),
		.value = "PATH",
		.help = "use this directory where several hold the same rank; may be repeated",
	},
};

static const struct np_opt_group groups[] = {
	{ "Analysis", analysis, NP_COUNT(analysis), 0 },
	NP_GROUP_INPUT(struct cluster_options, common),
	NP_GROUP_OUTPUT(struct cluster_options, common),
	NP_GROUP_RUNNING(struct cluster_options, common),
	NP_GROUP_GENERAL,
};

static const struct np_opt_operand operand = NP_OPERAND_DIRS(struct cluster_options, common);

static int cmd_cluster(int argc, const char *const *argv);

const struct np_cmd np_cmd_cluster = {
	.name = "cluster",
	.topic = "Analysing a run",
	.synopsis = "[options] [-d] DIR...",
	.summary =
		"merge the profiles of all ranks: steps, communicators, waits, stragglers, links",
	.about =
		"Reads the profile of every rank found below DIR, shows where the time of each step "
		"went and which ranks made the others wait, and writes the merged database "
		"cluster_analysis_output/cluster_analysis.db. The inputs are not changed.",
	.run = cmd_cluster,
	.options = { .groups = groups, .count = NP_COUNT(groups), .operand = &operand },
	.statuses = NP_EXITS_PARTIAL,
};

static int cmd_cluster(int argc, const char *const *argv)
{
	struct cluster_options options = { 0 };
	int status;

	if (np_cmd_options(&np_cmd_cluster, argc, argv, &options, &status))
		status = np_report(NP_EXIT_FAILED, "cluster is not there yet");
	np_opt_release(&np_cmd_cluster.options, &options);
	return status;
}
