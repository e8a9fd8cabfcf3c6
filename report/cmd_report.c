/* SPDX-License-Identifier: Apache-2.0 */
/* `npuprof report`: everything about a run on one page that can be mailed. */
#include "cli/command/cmd.h"
#include "cli/command/common.h"
#include "cli/command/output.h"
#include "cli/command/progress.h"
#include "cli/prepare/phases.h"
#include "cli/prepare/prepare.h"
#include "report_output.h"
#include "timeline.h"

#include "npuprof/advice.h"
#include "npuprof/difference.h"
#include "npuprof/lang.h"
#include "npuprof/run_history.h"
#include "npuprof/run_page.h"

#include <errno.h>
#include <unistd.h>

struct report_options {
	struct np_common common;
	struct np_opt_list picks;
	const char *base;    /* of a comparison; NULL: none */
	const char *fail_on; /* conditions of its gate; NULL: none */
	const char *history; /* a store of runs; NULL: none */
	bool anonymous;
	bool timeline;
	struct np_run_page page; /* no option: in the making */
};

static const struct np_opt own_options[] = {
	{
		.name = "base",
		.kind = NP_OPT_TEXT,
		.fill = NP_FILL_DIRECTORY,
		.offset = offsetof(struct report_options, base),
		.value = "DIR",
		.help = "compare with this run: where the difference comes from",
	},
	{
		.name = "fail-on",
		.kind = NP_OPT_TEXT,
		.offset = offsetof(struct report_options, fail_on),
		.value = "CONDITIONS",
		.help = "with --base: exit with 4 if something got worse by more than so much, as in "
			"compare: step>2%,comm>5%; the page shows the result",
	},
	{
		.name = "history",
		.kind = NP_OPT_TEXT,
		.offset = offsetof(struct report_options, history),
		.value = "FILE",
		.help = "show the step of the runs in this store, and when it changed (npuprof history)",
	},
	{
		.name = "anonymize",
		.kind = NP_OPT_FLAG,
		.offset = offsetof(struct report_options, anonymous),
		.help = "replace the names of hosts, paths and jobs",
	},
	{
		.name = "timeline",
		.kind = NP_OPT_FLAG,
		.offset = offsetof(struct report_options, timeline),
		.help = "also write what timeline --slice writes beside the page, which links to it",
	},
	{
		.name = "pick",
		.kind = NP_OPT_LIST,
		.fill = NP_FILL_DIRECTORY,
		.offset = offsetof(struct report_options, picks),
		.value = "PATH",
		.help = "use this directory where several hold the same rank; may be repeated",
	},
	{
		.letter = 'o',
		.name = "output",
		.kind = NP_OPT_TEXT,
		.offset = offsetof(struct report_options, common.output),
		.value = "FILE",
		.help = "write the page there; - is the standard output",
		.preset_words = "cluster_analysis_output/report.html below the first DIR",
	},
};

static const struct np_opt_group groups[] = {
	{ "Page", own_options, NP_COUNT(own_options), 0 },
	NP_GROUP_INPUT(struct report_options, common),
	NP_GROUP_RUNNING(struct report_options, common),
	NP_GROUP_GENERAL,
};

static const struct np_opt_operand operand = NP_OPERAND_DIRS(struct report_options, common);

static int cmd_report(int argc, const char *const *argv);

const struct np_cmd np_cmd_report = {
	.name = "report",
	.topic = "Analysing a run",
	.synopsis = "[options] [-d] DIR...",
	.summary = "one HTML page of all of it, to look at and to mail",
	.about =
		"Reads the profile of every rank found below DIR and writes one HTML file that needs "
		"nothing else: the verdict, where the iteration goes, ranks and steps, who made whom "
		"wait, links, pipeline, what repairs would gain. The inputs are not changed.",
	.run = cmd_report,
	.options = { .groups = groups, .count = NP_COUNT(groups), .operand = &operand },
	.statuses = NP_EXITS_GATE,
	.distributed = true,
	.kernel_framework_op = np_difference_framework_op,
};

/* What stands on the page beside the run itself. */
struct report_more {
	const struct np_advice *advice;
	const struct np_difference *difference; /* NULL: none */
	const struct report_options *options;
};

static int put_more(struct np_jsonout *out, void *context, struct np_err *err)
{
	const struct report_more *more = context;
	int rc = np_advice_put(out, more->advice, err);

	if (rc == NP_OK && more->difference)
		np_difference_put(out, more->difference);
	if (rc == NP_OK && more->options->history)
		rc = np_history_put(out, more->options->history, more->options->anonymous, err);
	return rc;
}

static int find_advice(const struct report_options *options, const struct np_analysis *analysis,
		       struct np_frequencies *frequencies, struct np_advice **ret,
		       struct np_err *err)
{
	struct np_progress progress;
	const struct np_advice_options how = {
		.chinese = np_lang() == NP_LANG_ZH,
		.evidence_rows = NP_RUN_PAGE_EVIDENCE,
		.frequencies = frequencies,
		.workers = { .threads = (size_t)options->common.jobs,
			     .tick = np_progress_tick,
			     .tick_context = &progress },
	};
	int rc;

	np_progress_init(&progress, "applying rules", options->common.quiet);
	rc = np_advice_new(analysis, &how, ret, err);
	np_progress_end(&progress);
	return rc;
}

/* All phases are on one page; one that was chosen has a page of its own. */
static char *page_path(const struct report_options *options)
{
	struct np_common common = options->common;

	common.phase_part = common.phase ? common.phase_part : NULL;
	return report_output(&common, "report.html");
}

/* The trace beside a page: page.html, page.timeline.json.gz. */
static char *trace_beside(const struct report_options *options)
{
	char *page = page_path(options);
	const char *phase = options->common.phase_part;
	char *path = NULL;
	size_t length = page ? strlen(page) : 0;

	if (!page)
		return NULL;
	if (length > 5 && strcmp(page + length - 5, ".html") == 0)
		length -= 5;
	if (asprintf(&path, "%.*s%s%s.timeline.json.gz", (int)length, page, phase ? "." : "",
		     phase ? phase : "") < 0)
		path = NULL;
	free(page);
	return path;
}

static int write_trace(const struct report_options *options, struct np_analysis *analysis,
		       const char *path, struct np_err *err)
{
	struct timeline_options how = { .anonymous = options->anonymous };
	const struct timeline_file file = { .analysis = analysis,
					    .how = &how,
					    .form = TIMELINE_JSON_GZ,
					    .notes = &analysis->run->notes };
	bool *ranks = calloc(analysis->run->sources.count + 1, sizeof(*ranks));
	int rc = ranks ? timeline_slice(analysis, ranks, &how, err)
		       : np_fail_nomem(err, "the timeline");

	if (rc == NP_OK)
		rc = report_output_write(&options->common, path, timeline_file_write, &file, err);
	free(ranks);
	return rc;
}

/* The run compared with the base, if there is one. */
static int compare(const struct report_options *options, struct np_analysis *analysis,
		   struct np_difference **ret, struct np_err *err)
{
	const struct np_difference_options how = { .base = options->base,
						   .input = options->common.dirs.item[0],
						   .fail_on = options->fail_on,
						   .common = &options->common };

	return options->base ? np_difference_new(analysis, &how, ret, err) : NP_OK;
}

static int add(struct report_options *options, struct np_analysis *analysis,
	       const struct np_difference *difference, struct np_err *err)
{
	struct np_frequencies frequencies = { 0 };
	struct np_advice *advice = NULL;
	struct report_more more = { .difference = difference, .options = options };
	char *trace = options->timeline ? trace_beside(options) : NULL;
	struct np_run_page_options how = {
		.input = prepare_input(&options->common, analysis->run),
		.phase = options->common.phase_part,
		.chinese = np_lang() == NP_LANG_ZH,
		.anonymous = options->anonymous,
		.base = options->base,
		.timeline = trace && strrchr(trace, '/') ? strrchr(trace, '/') + 1 : trace,
		.frequencies = &frequencies,
		.threads = (size_t)options->common.jobs,
		.put_more = put_more,
		.context = &more,
	};
	int rc = options->timeline && !trace ? np_fail_nomem(err, "the name of the timeline")
					     : NP_OK;

	if (rc == NP_OK && trace)
		rc = write_trace(options, analysis, trace, err);
	if (rc == NP_OK)
		rc = find_advice(options, analysis, &frequencies, &advice, err);
	more.advice = advice;
	if (rc == NP_OK)
		rc = np_run_page_add(&options->page, analysis, &how, err);
	np_advice_free(advice);
	np_frequencies_release(&frequencies);
	free(trace);
	return rc;
}

/* One page of all phases; those that failed are not on it, and the status says so. */
static int end(void *context, const struct np_phase_times *times, int status)
{
	struct report_options *options = context;
	struct np_err err = NP_ERR_INIT;
	char *path;
	int rc;

	if (options->page.runs.count == 0)
		return status;
	path = page_path(options);
	rc = path ? np_run_page_set_times(&options->page, times, &err)
		  : np_fail_nomem(&err, "the page");
	if (rc == NP_OK)
		rc = report_output_write(&options->common, path, np_run_page_write, &options->page,
					 &err);
	free(path);
	return rc < 0 ? np_report(NP_EXIT_FAILED, "%s", err.text) : status;
}

/* What is asked for and cannot be, before anything is read. */
static int check(const struct report_options *options, struct np_err *err)
{
	if (options->timeline && options->common.output && strcmp(options->common.output, "-") == 0)
		return np_fail(err, NP_E_USAGE,
			       "--timeline writes a file beside the page: name one with -o");
	if (options->history && access(options->history, R_OK) < 0)
		return np_fail(err, NP_E_USAGE, "'%s', which --history names, cannot be read: %s",
			       options->history, strerror(errno));
	if (options->fail_on && !options->base)
		return np_fail(err, NP_E_USAGE,
			       "--fail-on judges a comparison: name the base with --base");
	if (options->base && options->common.dirs.count > 1)
		return np_fail(err, NP_E_USAGE,
			       "--base compares one directory with one: give one DIR");
	if (options->base && access(options->base, R_OK) < 0)
		return np_fail(err, NP_E_USAGE, "'%s', which --base names, cannot be read: %s",
			       options->base, strerror(errno));
	return options->fail_on ? np_difference_check(options->fail_on, err) : NP_OK;
}

/* Notes of both runs, and the status that they and the gate make. */
static int conclude(const struct np_common *common, const struct np_run *run,
		    const struct np_difference *difference)
{
	int status = prepare_status(common, run);

	prepare_say_notes(common, &run->notes, NULL);
	if (!difference)
		return status;
	prepare_say_notes(common, &np_difference_base(difference)->notes, NULL);
	if (np_difference_trips(difference))
		return NP_EXIT_GATE;
	return status != NP_EXIT_DONE ? status
				      : prepare_status(common, np_difference_base(difference));
}

static int report(void *context)
{
	struct report_options *options = context;
	NP_CLEANUP(np_analysis_freep) struct np_analysis *analysis = NULL;
	struct np_difference *difference = NULL;
	struct np_err err = NP_ERR_INIT;
	int rc = check(options, &err);
	int status;

	if (rc == NP_OK) {
		np_advice_set_up();
		options->common.kernel_framework_op =
			options->base ? np_difference_framework_op : NULL;
		rc = prepare_analysis(&options->common, &options->picks, &analysis, &err);
	}
	if (rc == NP_OK) {
		(void)prepare_note_summaries(analysis->run, "page",
					     "findings about single kernels, calls and links, and "
					     "the frequency, are missing");
		rc = compare(options, analysis, &difference, &err);
	}
	if (rc == NP_OK)
		rc = add(options, analysis, difference, &err);
	if (rc == NP_OK)
		status = conclude(&options->common, analysis->run, difference);
	else if (rc == NP_E_USAGE)
		status = np_cmd_usage(&np_cmd_report, "%s", err.text);
	else
		status = np_report(NP_EXIT_FAILED, "%s", err.text);
	np_difference_free(difference);
	return status;
}

static int cmd_report(int argc, const char *const *argv)
{
	struct report_options options = { .page = NP_RUN_PAGE_INIT };
	int status;

	if (np_cmd_options(&np_cmd_report, argc, argv, &options, &status)) {
		options.common.snapshots = true;
		status = phases_run(&(struct phases_job){ .command = &np_cmd_report,
							  .schema = "npuprof.page/1",
							  .common = &options.common,
							  .picks = &options.picks,
							  .run = report,
							  .options = &options,
							  .end = end });
	}
	np_run_page_release(&options.page);
	np_opt_release(&np_cmd_report.options, &options);
	return status;
}
