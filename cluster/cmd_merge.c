/* SPDX-License-Identifier: Apache-2.0 */
/* `npuprof merge`: summaries of hosts, racks and clusters into one part, without the profiles. */
#include "cli/command/cmd.h"
#include "cli/command/common.h"
#include "cli/command/output.h"
#include "cli/prepare/prepare.h"

#include "npuprof/dirs.h"
#include "npuprof/run.h"
#include "npuprof/say.h"
#include "npuprof/summary.h"
#include "npuprof/temporary.h"

struct merge_options {
	struct np_common common;
};

static const struct np_opt merge_rows[] = {
	{
		.letter = 'd',
		.name = "dir",
		.kind = NP_OPT_LIST,
		.fill = NP_FILL_DIRECTORY,
		.offset = offsetof(struct merge_options, common.dirs),
		.value = "DIR",
		.help = "merge the summaries in DIR, or this part; a bare argument means the same",
	},
	{
		.letter = 'o',
		.name = "output",
		.kind = NP_OPT_TEXT,
		.offset = offsetof(struct merge_options, common.output),
		.value = "FILE",
		.help = "write the part there; - is the standard output",
		.preset_words = "cluster_analysis_output/summaries.nppart below the first DIR",
	},
	{
		.name = "ranks",
		.kind = NP_OPT_RANGES,
		.offset = offsetof(struct merge_options, common.ranks),
		.value = "LIST",
		.help = "use these ranks only, such as 0-7,64",
		.preset_words = "all",
	},
	{
		.letter = 'q',
		.name = "quiet",
		.kind = NP_OPT_FLAG,
		.offset = offsetof(struct merge_options, common.quiet),
		.help = "print nothing but errors",
	},
};

static const struct np_opt_group groups[] = {
	{ "Merging", merge_rows, NP_COUNT(merge_rows), 0 },
	NP_GROUP_GENERAL,
};

static const struct np_opt_operand operand = NP_OPERAND_DIRS(struct merge_options, common);

static int cmd_merge(int argc, const char *const *argv);

const struct np_cmd np_cmd_merge = {
	.name = "merge",
	.topic = "Analysing a run",
	.synopsis = "[options] [-d] DIR|PART...",
	.summary = "summaries of hosts, racks and clusters into one file, without the profiles",
	.about =
		"Puts the summaries of ranks (written by --cache) that are in DIR, and those of parts "
		"that were merged before, into one file. Commands with --from-summaries read it in "
		"place of the summaries, and find the same, to the byte. No profile is opened; the "
		"inputs are not changed.",
	.run = cmd_merge,
	.options = { .groups = groups, .count = NP_COUNT(groups), .operand = &operand },
	.statuses = NP_EXITS_PARTIAL,
	.distributed = true,
};

static int make_parent(const char *path, struct np_err *err)
{
	char *directory = strndup(path, (size_t)(strrchr(path, '/') - path));
	int rc = directory ? np_make_dirs(directory, err) : np_fail_nomem(err, "a directory");

	free(directory);
	return rc;
}

static int write_part(const struct np_common *common, const char *path,
		      const struct np_part_job *job, struct np_err *err)
{
	int rc;

	if (strcmp(path, "-") == 0)
		return np_part_write(job, np_output_stream(), err);
	rc = common->output ? NP_OK : make_parent(path, err);
	return rc < 0 ? rc : np_write_file(path, np_part_write, job, err);
}

static int say_merged(const char *path, size_t inputs, size_t ranks, int64_t bytes)
{
	struct np_buf text = NP_BUF_INIT;

	np_say(&text, "{1}: {2} ranks of {3} inputs, {4}", NP_SAID_TEXT(path), NP_SAID_INT(ranks),
	       NP_SAID_INT(inputs), NP_SAID_BYTES(bytes));
	np_buf_add_char(&text, '\n');
	return np_output_release(&text);
}

static int merge(struct merge_options *options)
{
	NP_CLEANUP(np_run_freep) struct np_run *run = NULL;
	struct np_common *common = &options->common;
	const struct np_opt_list no_picks = { 0 };
	struct np_err err = NP_ERR_INIT;
	size_t ranks = 0;
	int64_t bytes = 0;
	char *path;
	int status = 0;
	int rc;

	common->from_summaries = true;
	rc = prepare_found(common, &no_picks, &run, &err);
	path = common->output ? strdup(common->output)
			      : prepare_output(common, "summaries" NP_PART_SUFFIX);
	if (rc == NP_OK && !path)
		rc = np_fail_nomem(&err, "the name of the part");
	if (rc == NP_OK) {
		const struct np_part_job job = { .run = run, .ranks = &ranks, .bytes = &bytes };

		rc = write_part(common, path, &job, &err);
	}
	if (run)
		prepare_say_notes(common, &run->notes, NULL);
	if (rc == NP_OK && !common->quiet && strcmp(path, "-") != 0)
		status = say_merged(path, common->dirs.count, ranks, bytes);
	free(path);
	if (status != 0)
		return status;
	if (rc == NP_E_USAGE)
		return np_cmd_usage(&np_cmd_merge, "%s", err.text);
	return rc < 0 ? np_report(NP_EXIT_FAILED, "%s", err.text) : prepare_status(common, run);
}

static int cmd_merge(int argc, const char *const *argv)
{
	struct merge_options options = { 0 };
	int status;

	if (np_cmd_options(&np_cmd_merge, argc, argv, &options, &status))
		status = merge(&options);
	np_opt_release(&np_cmd_merge.options, &options);
	return status;
}
