/* SPDX-License-Identifier: Apache-2.0 */
/* `npuprof report`: everything about a run on one page that can be mailed. */
#include "cli/command/cmd.h"
#include "cli/command/common.h"
#include "cli/command/output.h"
#include "cli/command/progress.h"
#include "cli/prepare/phases.h"
#include "cli/prepare/prepare.h"
#include "report_output.h"
#include "report_page.h"

#include "npuprof/advice.h"
#include "npuprof/difference.h"
#include "npuprof/lang.h"

#include <errno.h>
#include <unistd.h>

/* Rows of evidence that a finding shows. */
#define REPORT_EVIDENCE 50

struct report_options {
	struct np_common common;
	struct np_opt_list picks;
	const char *base; /* of a comparison; NULL: none */
	bool anonymous;
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
		.name = "anonymize",
		.kind = NP_OPT_FLAG,
		.offset = offsetof(struct report_options, anonymous),
		.help = "replace the names of hosts, paths and jobs",
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
	.statuses = NP_EXITS_PARTIAL,
	.distributed = true,
};

/* What the writer of the file needs. */
struct report_page {
	const struct page_model *model;
	const struct page_options *options;
};

static int write_page(const void *context, FILE *stream, struct np_err *err)
{
	const struct report_page *page = context;

	return page_write(stream, page->model, page->options, err);
}

/* What findings and the difference need. */
struct report_advice {
	const struct report_options *options;
	const struct np_analysis *analysis;
};

static int put_more(struct np_jsonout *out, void *context, struct np_err *err)
{
	const struct report_advice *advice = context;
	const struct report_options *options = advice->options;
	struct np_progress progress;
	const struct np_advice_options how = {
		.chinese = np_lang() == NP_LANG_ZH,
		.evidence_rows = REPORT_EVIDENCE,
		.workers = { .threads = (size_t)options->common.jobs,
			     .tick = np_progress_tick,
			     .tick_context = &progress },
	};
	int rc;

	np_progress_init(&progress, "applying rules", options->common.quiet);
	rc = np_advice_put(out, advice->analysis, &how, err);
	np_progress_end(&progress);
	if (rc == NP_OK && options->base)
		rc = np_difference_put(out, options->base, options->common.dirs.item[0],
				       &options->common, err);
	return rc;
}

static int present(const struct report_options *options, const struct np_analysis *analysis)
{
	struct report_advice advice = { options, analysis };
	struct page_model model = { 0 };
	const struct page_options how = {
		.input = prepare_input(&options->common, analysis->run),
		.language = np_lang() == NP_LANG_ZH ? "zh" : "en",
		.anonymous = options->anonymous,
		.put_more = put_more,
		.context = &advice,
	};
	struct report_page page = { &model, &how };
	struct np_err err = NP_ERR_INIT;
	int rc = page_model_build(analysis, (size_t)options->common.jobs, &model, &err);

	char *path = report_output(&options->common, "report.html");

	if (rc == NP_OK && !path)
		rc = np_fail_nomem(&err, "the name of the page");
	if (rc == NP_OK)
		rc = report_output_write(&options->common, path, write_page, &page, &err);
	free(path);
	page_model_release(&model);
	if (rc == NP_E_USAGE)
		return np_cmd_usage(&np_cmd_report, "%s", err.text);
	if (rc < 0)
		return np_report(NP_EXIT_FAILED, "%s", err.text);
	prepare_say_notes(&options->common, &analysis->run->notes, NULL);
	return prepare_status(analysis->run);
}

static int report(void *context)
{
	const struct report_options *options = context;
	NP_CLEANUP(np_analysis_freep) struct np_analysis *analysis = NULL;
	struct np_err err = NP_ERR_INIT;
	int rc;

	if (options->common.phase_part && options->common.output &&
	    strcmp(options->common.output, "-") == 0)
		return np_cmd_usage(&np_cmd_report,
				    "several phases do not go to one output: choose one with "
				    "--phase, or name a file");
	if (options->base && options->common.dirs.count > 1)
		return np_cmd_usage(&np_cmd_report,
				    "--base compares one directory with one: give one DIR");
	if (options->base && access(options->base, R_OK) < 0)
		return np_cmd_usage(&np_cmd_report, "'%s', which --base names, cannot be read: %s",
				    options->base, strerror(errno));
	np_advice_set_up();
	rc = prepare_analysis(&options->common, &options->picks, &analysis, &err);
	if (rc == NP_OK)
		return present(options, analysis);
	if (rc == NP_E_USAGE)
		return np_cmd_usage(&np_cmd_report, "%s", err.text);
	return np_report(NP_EXIT_FAILED, "%s", err.text);
}

static int cmd_report(int argc, const char *const *argv)
{
	struct report_options options = { 0 };
	int status;

	if (np_cmd_options(&np_cmd_report, argc, argv, &options, &status))
		status = phases_run(&(struct phases_job){ .command = &np_cmd_report,
							  .schema = "npuprof.page/1",
							  .common = &options.common,
							  .picks = &options.picks,
							  .run = report,
							  .options = &options });
	np_opt_release(&np_cmd_report.options, &options);
	return status;
}
