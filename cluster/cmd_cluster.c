/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd.h"
#include "common.h"
#include "output.h"
#include "prepare.h"
#include "report.h"

struct cluster_options {
	struct np_common common;
	uint64_t modes; /* bits of enum mode */
	const char *table;
	struct np_opt_list picks;
	int export; /* enum export */
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

enum export {
	EXPORT_DB,
	EXPORT_TEXT,
};

static const char *const exports[] = {
	[EXPORT_DB] = "db",
	[EXPORT_TEXT] = "text",
	NULL,
};

static const struct np_opt own_options[] = {
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
	{
		.name = "export",
		.kind = NP_OPT_CHOICE,
		.offset = offsetof(struct cluster_options, export),
		.value = "FORM",
		.help = "write the merged result as a database, or as text files beside it too",
		.choices = exports,
		.preset = "db",
	},
};

static const struct np_opt_group groups[] = {
	{ "Analysis", own_options, NP_COUNT(own_options), 0 },
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

static bool wants(const struct cluster_options *options, enum mode mode)
{
	return (options->modes & (UINT64_C(1) << MODE_ALL | UINT64_C(1) << mode)) != 0;
}

static int analyse(const struct cluster_options *options, struct np_analysis **ret,
		   struct np_err *err)
{
	int rc = prepare_analysis(&options->common, &options->picks, ret, err);

	if (rc < 0)
		return rc;
	(*ret)->tables.communication_time = wants(options, MODE_COMMUNICATION_TIME);
	(*ret)->tables.communication_matrix = wants(options, MODE_COMMUNICATION_MATRIX);
	return NP_OK;
}

/* The result on stdout. */
static int print(const struct np_analysis *analysis, const struct cluster_options *options,
		 const char *database, struct np_err *err)
{
	struct np_buf buf = NP_BUF_INIT;
	struct report report = {
		.run = analysis->run,
		.cluster = analysis->cluster,
		.sums = &analysis->sums,
		.tables = &analysis->tables,
		.input = options->common.dirs.item[0],
		.database = database,
		.width = np_output_width(stdout),
		.color = np_common_color(&options->common, stdout),
	};
	int rc = report_find_withheld(&report, err);

	if (rc < 0)
		return rc;
	switch ((enum np_output_format)options->common.format) {
	case NP_OUTPUT_JSON:
		return report_json(&report, stdout, err);
	case NP_OUTPUT_CSV:
		return options->common.output
			       ? NP_OK
			       : report_csv(&analysis->tables, options->table, stdout, err);
	case NP_OUTPUT_MD:
		rc = report_markdown(&report, &buf, err);
		break;
	case NP_OUTPUT_TABLE:
	default:
		rc = report_screen(&report, &buf, err);
		break;
	}
	if (rc == NP_OK)
		return np_output_release(&buf) == 0 ? NP_OK : np_fail(err, NP_E_IO, "%s", "");
	np_buf_release(&buf);
	return rc;
}

/* Where the form of output does not show them, what was not used is said on stderr. */
static void say_notes(const struct np_analysis *analysis, const struct cluster_options *options)
{
	const struct np_notes *notes = &analysis->run->notes;

	if (options->common.quiet || options->common.format == NP_OUTPUT_TABLE ||
	    options->common.format == NP_OUTPUT_MD)
		return;
	for (size_t i = 0; i < notes->list.count; i++) {
		const struct np_note *note = &notes->list.item[i];

		if (note->kind == NP_NOTE_SKIPPED || options->common.verbose > 0)
			(void)np_report(0, "%s: %s: %s", note->path, note->what, note->reason);
	}
}

static int write_files(const struct np_analysis *analysis, const struct cluster_options *options,
		       char **ret_database, struct np_err *err)
{
	const char *parent =
		options->common.output ? options->common.output : options->common.dirs.item[0];
	char *directory;
	int rc;

	if (asprintf(&directory, "%s/cluster_analysis_output", parent) < 0)
		return np_fail_nomem(err, parent);
	rc = report_database(&analysis->tables, directory, ret_database, err);
	if (rc == NP_OK && options->common.format == NP_OUTPUT_CSV && options->common.output)
		rc = report_csv_files(&analysis->tables, directory, err);
	if (rc == NP_OK && options->export == EXPORT_TEXT)
		rc = report_text_files(&analysis->tables, directory, err);
	free(directory);
	return rc;
}

/* What cannot be written does not take away what can be printed. */
static int present(const struct np_analysis *analysis, const struct cluster_options *options)
{
	struct np_err problem = NP_ERR_INIT;
	struct np_err err = NP_ERR_INIT;
	char *database = NULL;
	int status = np_notes_count(&analysis->run->notes, NP_NOTE_SKIPPED) ? NP_EXIT_PARTIAL
									    : NP_EXIT_DONE;

	if (write_files(analysis, options, &database, &problem) < 0)
		status = np_report(NP_EXIT_PARTIAL, "%s", problem.text);
	say_notes(analysis, options);
	if (print(analysis, options, database, &err) < 0)
		status = err.code == NP_E_USAGE ? np_cmd_usage(&np_cmd_cluster, "%s", err.text)
						: np_report(NP_EXIT_FAILED, "%s", err.text);
	free(database);
	return status;
}

static int cluster(const struct cluster_options *options)
{
	NP_CLEANUP(np_analysis_freep) struct np_analysis *analysis = NULL;
	struct np_err err = NP_ERR_INIT;
	int rc = analyse(options, &analysis, &err);

	if (rc == NP_OK)
		return present(analysis, options);
	if (rc == NP_E_USAGE)
		return np_cmd_usage(&np_cmd_cluster, "%s", err.text);
	return np_report(NP_EXIT_FAILED, "%s", err.text);
}

static int cmd_cluster(int argc, const char *const *argv)
{
	struct cluster_options options = { 0 };
	int status;

	if (np_cmd_options(&np_cmd_cluster, argc, argv, &options, &status))
		status = cluster(&options);
	np_opt_release(&np_cmd_cluster.options, &options);
	return status;
}
