/* SPDX-License-Identifier: Apache-2.0 */
/* `npuprof info`: what is in a directory, and which analyses it can feed. */
#include "cli/command/cmd.h"
#include "cli/command/common.h"
#include "cli/command/output.h"
#include "cli/prepare/phases.h"
#include "cli/prepare/prepare.h"
#include "cluster/present/info_report.h"

struct info_options {
	struct np_common common;
	struct np_opt_list picks;
	int table; /* enum info_table; INFO_TABLES: none was named */
};

static const char *const table_names[] = {
	[INFO_RANKS] = "ranks",
	[INFO_GROUPS] = "groups",
	[INFO_ANALYSES] = "analyses",
	[INFO_TABLES] = NULL,
};

static const struct np_opt own_options[] = {
	{
		.name = "pick",
		.kind = NP_OPT_LIST,
		.fill = NP_FILL_DIRECTORY,
		.offset = offsetof(struct info_options, picks),
		.value = "PATH",
		.help = "use this directory where several hold the same rank; may be repeated",
	},
	{
		.name = "table",
		.kind = NP_OPT_CHOICE,
		.offset = offsetof(struct info_options, table),
		.value = "NAME",
		.help = "print this table instead of the report; with -f csv as such",
		.choices = table_names,
		.preset_words = "ranks, with -f csv",
	},
};

static const struct np_opt_group groups[] = {
	{ "Choice", own_options, NP_COUNT(own_options), 0 },
	NP_GROUP_INPUT(struct info_options, common),
	NP_GROUP_TABLES(struct info_options, common),
	NP_GROUP_RUNNING(struct info_options, common),
	NP_GROUP_GENERAL,
};

static const struct np_opt_operand operand = NP_OPERAND_OPTIONAL_DIRS(struct info_options, common);

static int cmd_info(int argc, const char *const *argv);

const struct np_cmd np_cmd_info = {
	.name = "info",
	.topic = "Analysing a run",
	.synopsis = "[options] [-d] [DIR...]",
	.summary = "what is in a directory, which analyses it can feed, and what is missing",
	.about =
		"Reads the profile of every rank found below DIR (default: this directory) and lists "
		"its ranks, hosts, steps, levels, formats and communicators, and for each analysis "
		"whether the data can feed it or which switch of the profiler would have supplied "
		"what is missing.",
	.run = cmd_info,
	.options = { .groups = groups, .count = NP_COUNT(groups), .operand = &operand },
	.statuses = NP_EXITS_PARTIAL,
	.distributed = true,
};

static int write_tables(const struct info_options *options, const struct info *info,
			struct np_err *err)
{
	int rc = NP_OK;

	for (int i = 0; i < INFO_TABLES && rc == NP_OK && options->common.output; i++)
		rc = np_csv_write_below(&info_tables[i], info, options->common.output, err);
	return rc;
}

static int print(const struct info_options *options, const struct info *info, struct np_err *err)
{
	struct np_buf buf = NP_BUF_INIT;
	int rc = write_tables(options, info, err);

	if (rc < 0)
		return rc;
	if (options->common.format == NP_OUTPUT_JSON)
		return info_json(info, np_output_stream(), err);
	if (options->common.format == NP_OUTPUT_CSV)
		return options->common.output
			       ? NP_OK
			       : np_csv_write(
					 &info_tables[options->table < INFO_TABLES ? options->table
										   : INFO_RANKS],
					 info, np_output_stream(), err);
	rc = options->table < INFO_TABLES
		     ? np_relation_screen(&info_tables[options->table], info, &buf, info->width,
					  info->color, err)
		     : info_page(info, options->common.format == NP_OUTPUT_MD, &buf, err);
	if (rc == NP_OK)
		return np_output_release(&buf) == 0 ? NP_OK : NP_E_IO;
	np_buf_release(&buf);
	return rc;
}

static int show(const struct info_options *options, const struct np_run *run,
		const struct np_opt_list *dirs, struct np_err *err)
{
	NP_CLEANUP(np_cluster_freep) struct np_cluster *cluster = NULL;
	struct np_readiness analyses[NP_ANALYSIS_COUNT];
	const struct cluster_report report = { .dirs = dirs->item,
					       .dir_count = dirs->count,
					       .phase = options->common.phase_part,
					       .from_summaries = options->common.from_summaries };
	struct info info = { .run = run,
			     .analyses = analyses,
			     .input = dirs->item[0],
			     .report = &report,
			     .width = np_output_width(stdout),
			     .verbose = options->common.verbose > 0,
			     .color = np_common_color(&options->common, stdout) };
	int rc = np_cluster_build(run, &cluster, err);

	info.cluster = cluster;
	if (rc == NP_OK)
		rc = np_readiness_measure(cluster, NULL, analyses, err);
	if (rc < 0)
		return rc;
	if (!np_common_page(&options->common))
		prepare_say_notes(&options->common, &run->notes, NULL);
	return print(options, &info, err);
}

static int info(void *context)
{
	struct info_options *options = context;
	static const char *here[] = { "." };
	NP_CLEANUP(np_run_freep) struct np_run *run = NULL;
	struct np_common common = options->common;
	struct np_err err = NP_ERR_INIT;
	int rc;

	if (common.dirs.count == 0) {
		common.dirs.item = here;
		common.dirs.count = NP_COUNT(here);
	}
	rc = prepare_run(&common, &options->picks, &run, &err);
	if (rc == NP_OK)
		rc = show(options, run, &common.dirs, &err);
	if (rc == NP_OK)
		return prepare_status(&common, run);
	return rc == NP_E_USAGE ? np_cmd_usage(&np_cmd_info, "%s", err.text)
				: np_report(NP_EXIT_FAILED, "%s", err.text);
}

static int cmd_info(int argc, const char *const *argv)
{
	struct info_options options = { .table = INFO_TABLES };
	int status;

	if (np_cmd_options(&np_cmd_info, argc, argv, &options, &status))
		status = phases_run(&(struct phases_job){ .command = &np_cmd_info,
							  .beside = true,
							  .schema = "npuprof.info/1",
							  .common = &options.common,
							  .picks = &options.picks,
							  .run = info,
							  .options = &options });
	np_opt_release(&np_cmd_info.options, &options);
	return status;
}
