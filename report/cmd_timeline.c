/* SPDX-License-Identifier: Apache-2.0 */
/* `npuprof timeline`: all ranks on one clock, in a file that Perfetto and Insight open. */
#include "cli/command/cmd.h"
#include "cli/command/common.h"
#include "cli/command/output.h"
#include "cli/prepare/phases.h"
#include "cli/prepare/prepare.h"
#include "report_output.h"
#include "timeline.h"

#include "npuprof/rank.h"
#include "npuprof/run.h"
#include "npuprof/text.h"

/* More ranks, or more bytes of plain JSON, than a viewer is glad of: a slice is written. */
#define WHOLE_RANKS 128
#define WHOLE_BYTES INT64_C(100000000)

struct cmd_timeline_options {
	struct np_common common;
	struct np_opt_list picks;
	bool host;
	bool slice;
	bool whole;
	bool anonymous;
};

static const struct np_opt own_options[] = {
	{
		.name = "slice",
		.kind = NP_OPT_FLAG,
		.offset = offsetof(struct cmd_timeline_options, slice),
		.help = "only the ranks and the step that show the verdict: its rank, its best peer, "
			"those through whom the delay travelled, those that waited longest",
	},
	{
		.name = "whole",
		.kind = NP_OPT_FLAG,
		.offset = offsetof(struct cmd_timeline_options, whole),
		.help = "everything, also where a slice is the default: above 128 ranks or 100 MB",
	},
	{
		.name = "host",
		.kind = NP_OPT_FLAG,
		.offset = offsetof(struct cmd_timeline_options, host),
		.help = "with the calls of CANN that launch tasks",
	},
	{
		.name = "anonymize",
		.kind = NP_OPT_FLAG,
		.offset = offsetof(struct cmd_timeline_options, anonymous),
		.help = "without the names of hosts, and of paths only the last part",
	},
	{
		.name = "pick",
		.kind = NP_OPT_LIST,
		.fill = NP_FILL_DIRECTORY,
		.offset = offsetof(struct cmd_timeline_options, picks),
		.value = "PATH",
		.help = "use this directory where several hold the same rank; may be repeated",
	},
	{
		.letter = 'o',
		.name = "output",
		.kind = NP_OPT_TEXT,
		.offset = offsetof(struct cmd_timeline_options, common.output),
		.value = "FILE",
		.help = "write it there: .json, .pftrace, or either with .gz; - is JSON on the standard "
			"output",
		.preset_words = "cluster_analysis_output/timeline.json.gz below the first DIR",
	},
};

static const struct np_opt_group groups[] = {
	{ "Timeline", own_options, NP_COUNT(own_options), 0 },
	NP_GROUP_INPUT(struct cmd_timeline_options, common),
	NP_GROUP_RUNNING(struct cmd_timeline_options, common),
	NP_GROUP_GENERAL,
};

static const struct np_opt_operand operand = NP_OPERAND_DIRS(struct cmd_timeline_options, common);

static int cmd_timeline(int argc, const char *const *argv);

const struct np_cmd np_cmd_timeline = {
	.name = "timeline",
	.topic = "Analysing a run",
	.synopsis = "[options] [-d] DIR...",
	.summary = "all ranks on one clock, in a file that Perfetto and Insight open",
	.about =
		"Reads the profile of every rank found below DIR, puts all of them on one clock and "
		"writes a trace: steps, kernels, operators as wait and transfer, idle time by cause, "
		"arrows from who came last to those that waited, the critical path. The inputs are "
		"not changed.",
	.run = cmd_timeline,
	.options = { .groups = groups, .count = NP_COUNT(groups), .operand = &operand },
	.statuses = NP_EXITS_PARTIAL,
	.distributed = true,
};

/* By the end of the name; -1 for one that is none of them. */
static int form_of(const char *path)
{
	static const struct {
		const char *end;
		enum timeline_form form;
	} forms[] = {
		{ ".json.gz", TIMELINE_JSON_GZ },      { ".json", TIMELINE_JSON },
		{ ".pftrace.gz", TIMELINE_PROTO_GZ },  { ".pftrace", TIMELINE_PROTO },
		{ ".perfetto-trace", TIMELINE_PROTO }, { "-", TIMELINE_JSON },
	};
	size_t length = strlen(path);

	for (size_t i = 0; i < NP_COUNT(forms); i++) {
		size_t end = strlen(forms[i].end);

		if (length >= end && strcmp(path + length - end, forms[i].end) == 0)
			return (int)forms[i].form;
	}
	return -1;
}

static int write_to(const struct np_common *common, struct timeline_file *file, struct np_err *err)
{
	char *path = report_output(common, "timeline.json.gz");
	int rc;

	if (!path)
		return np_fail_nomem(err, "the name of the timeline");
	file->form = (enum timeline_form)form_of(path);
	rc = report_output_write(common, path, timeline_file_write, file, err);
	free(path);
	return rc;
}

/* Is a slice wanted, by the user or by the size of the whole? */
static bool wants_slice(const struct cmd_timeline_options *options,
			const struct np_analysis *analysis, const struct timeline_options *how)
{
	if (options->slice || options->whole)
		return options->slice;
	return np_run_used(analysis->run) > WHOLE_RANKS ||
	       timeline_estimate(analysis, how) > WHOLE_BYTES;
}

/* What will be written, before it is. */
static void say_size(const struct np_common *common, const struct np_analysis *analysis,
		     const struct timeline_options *how)
{
	NP_CLEANUP(np_buf_release) struct np_buf size = NP_BUF_INIT;
	const struct np_run *run = analysis->run;
	size_t count = 0;

	if (common->quiet)
		return;
	for (size_t i = 0; i < run->sources.count; i++)
		count += run->ranks[i] && (!how->ranks || how->ranks[i]);
	np_text_bytes(&size, timeline_estimate(analysis, how));
	if (how->has_only && np_run_text(run, how->only))
		(void)np_report(0,
				how->ranks
					? "%zu of %zu ranks, step %s (a slice; --whole writes "
					  "all), about %s of events"
					: "%zu of %zu ranks, step %s, about %s of events; --slice "
					  "writes less",
				count, np_run_used(run), np_run_text(run, how->only), size.text);
	else
		(void)np_report(0,
				how->ranks ? "%zu of %zu ranks (a slice; --whole writes all), "
					     "about %s of events"
					   : "%zu of %zu ranks, about %s of events; --slice writes "
					     "less",
				count, np_run_used(run), size.text);
}

static int present(const struct cmd_timeline_options *options, struct np_analysis *analysis)
{
	struct timeline_options how = { .host = options->host, .anonymous = options->anonymous };
	struct timeline_file file = { .analysis = analysis,
				      .how = &how,
				      .notes = &analysis->run->notes };
	bool *ranks = calloc(analysis->run->sources.count + 1, sizeof(*ranks));
	struct np_err err = NP_ERR_INIT;
	int rc = ranks ? NP_OK : np_fail_nomem(&err, "the timeline");

	if (rc == NP_OK && wants_slice(options, analysis, &how))
		rc = timeline_slice(analysis, ranks, &how, &err);
	if (rc == NP_OK) {
		say_size(&options->common, analysis, &how);
		rc = write_to(&options->common, &file, &err);
	}
	free(ranks);
	if (rc < 0)
		return np_report(NP_EXIT_FAILED, "%s", err.text);
	prepare_say_notes(&options->common, &analysis->run->notes, NULL);
	return prepare_status(&options->common, analysis->run);
}

static int timeline(void *context)
{
	const struct cmd_timeline_options *options = context;
	NP_CLEANUP(np_analysis_freep) struct np_analysis *analysis = NULL;
	struct np_err err = NP_ERR_INIT;
	int rc;

	if (options->common.output && form_of(options->common.output) < 0)
		return np_cmd_usage(&np_cmd_timeline,
				    "'%s': a timeline is a .json or a .pftrace, or either with .gz",
				    options->common.output);
	if (options->common.phase_part && !options->common.phase && options->common.output &&
	    strcmp(options->common.output, "-") == 0)
		return np_cmd_usage(&np_cmd_timeline,
				    "several phases do not go to one output: choose one with "
				    "--phase, or name a file");
	if (options->slice && options->whole)
		return np_cmd_usage(&np_cmd_timeline, "--slice and --whole exclude each other");
	rc = prepare_analysis(&options->common, &options->picks, &analysis, &err);
	if (rc == NP_OK) {
		(void)prepare_note_summaries(analysis->run, "timeline",
					     "they have steps and communication, but no kernels, "
					     "idle time, calls or counters");
		return present(options, analysis);
	}
	if (rc == NP_E_USAGE)
		return np_cmd_usage(&np_cmd_timeline, "%s", err.text);
	return np_report(NP_EXIT_FAILED, "%s", err.text);
}

static int cmd_timeline(int argc, const char *const *argv)
{
	struct cmd_timeline_options options = { 0 };
	int status;

	if (np_cmd_options(&np_cmd_timeline, argc, argv, &options, &status)) {
		options.common.snapshots = true;
		status = phases_run(&(struct phases_job){ .command = &np_cmd_timeline,
							  .schema = "npuprof.timeline/1",
							  .common = &options.common,
							  .picks = &options.picks,
							  .run = timeline,
							  .options = &options });
	}
	np_opt_release(&np_cmd_timeline.options, &options);
	return status;
}
