/* SPDX-License-Identifier: Apache-2.0 */
/* `npuprof whatif`: replay a run with causes repaired, and show what each repair gains. */
#include "cli/command/cmd.h"
#include "cli/command/common.h"
#include "cli/command/output.h"
#include "cli/prepare/frequency.h"
#include "cli/prepare/phases.h"
#include "cli/prepare/prepare.h"
#include "cluster/present/whatif_report.h"

struct whatif_options {
	struct np_common common;
	struct np_opt_list picks;
	struct np_opt_list fixes;
	int64_t top;
	bool by_host;
};

/* Repairs of something named are offered up to the colon. */
static void offer_repairs(struct np_buf *words)
{
	for (int kind = 0; kind < NP_FIX_KINDS; kind++)
		np_buf_printf(words, " %s%s", np_fix_kind_name((enum np_fix_kind)kind),
			      kind <= NP_FIX_LINK ? ":" : "");
}

static const struct np_opt own_options[] = {
	{
		.name = "fix",
		.kind = NP_OPT_LIST,
		.offset = offsetof(struct whatif_options, fixes),
		.value = "REPAIR",
		.offer = offer_repairs,
		.help = "repair this, together with all others given: rank:R, host:NAME, stage:S, "
			"role:NAME, optype:GLOB, group:NAME, link:A-B, link:A-*, link:*-B, "
			"host-gaps, between, frequency, experts, hide-comm, all",
	},
	{
		.name = "top",
		.kind = NP_OPT_INTEGER,
		.offset = offsetof(struct whatif_options, top),
		.value = "K",
		.help = "the K ranks whose repair gains most, one after the other",
		.low = 0,
		.high = 64,
	},
	{
		.name = "hosts",
		.kind = NP_OPT_FLAG,
		.offset = offsetof(struct whatif_options, by_host),
		.help = "with --top, hosts instead of ranks",
	},
	{
		.name = "pick",
		.kind = NP_OPT_LIST,
		.fill = NP_FILL_DIRECTORY,
		.offset = offsetof(struct whatif_options, picks),
		.value = "PATH",
		.help = "use this directory where several hold the same rank; may be repeated",
	},
};

static const struct np_opt_group groups[] = {
	{ "Repairs", own_options, NP_COUNT(own_options), 0 },
	NP_GROUP_INPUT(struct whatif_options, common),
	NP_GROUP_TABLES(struct whatif_options, common),
	NP_GROUP_RUNNING(struct whatif_options, common),
	NP_GROUP_GENERAL,
};

static const struct np_opt_operand operand = NP_OPERAND_DIRS(struct whatif_options, common);

static int cmd_whatif(int argc, const char *const *argv);

const struct np_cmd np_cmd_whatif = {
	.name = "whatif",
	.topic = "Analysing a run",
	.synopsis = "[options] [-d] DIR...",
	.summary = "replay the cluster with a cause repaired: what each repair would gain",
	.about =
		"Turns the profiles into a program for every rank and runs it again, as it was and with "
		"repairs: a rank, host or stage as fast as its peers, a link as fast as others, no "
		"waiting for the host. Prints the step that each repair would leave, the critical "
		"path, and where the efficiency is lost. Nothing is written, but for the table of "
		"repairs with -o DIR.",
	.run = cmd_whatif,
	.options = { .groups = groups, .count = NP_COUNT(groups), .operand = &operand },
	.statuses = NP_EXITS_PARTIAL,
	.distributed = true,
};

/* The repairs that the user asked for, in the order given. */
static int parse_fixes(const struct whatif_options *options, struct whatif_report *report,
		       struct np_err *err)
{
	int rc = NP_OK;

	for (size_t i = 0; i < options->fixes.count && rc == NP_OK; i++) {
		struct np_fix *fix = np_vec_add(&report->asked, err);

		rc = fix ? np_fix_parse(options->fixes.item[i], fix, err) : NP_E_NOMEM;
	}
	return rc;
}

/* What was asked for, together and each by itself; and one after the other. */
static int measure_asked(const struct whatif_options *options, struct whatif_report *report,
			 const struct np_whatif_input *input, struct np_err *err)
{
	int rc = NP_OK;

	if (report->asked.count > 0)
		rc = np_whatif_together(input, report->asked.item, report->asked.count,
					&report->asked_step, err);
	for (size_t i = 0; i < report->asked.count && rc == NP_OK; i++) {
		np_ns step = NP_UNKNOWN;

		rc = np_whatif_together(input, &report->asked.item[i], 1, &step, err);
		report->asked_singles += report->whatif->step - step;
	}
	if (rc == NP_OK && options->top > 0)
		rc = np_whatif_greedy(input, options->by_host ? NP_FIX_HOST : NP_FIX_RANK,
				      (size_t)options->top, &report->curve, err);
	return rc;
}

/* What is reported beside repairs. */
static int measure_rest(struct whatif_report *report, struct np_err *err)
{
	const struct np_analysis *analysis = report->analysis;
	int rc = np_path_summarise(analysis->replay, &analysis->path, &report->summary, err);

	if (rc == NP_OK)
		rc = np_replay_slack(analysis->replay, &report->slack, err);
	if (rc == NP_OK)
		rc = np_efficiency_steps(analysis->replay, &report->steps, err);
	if (rc == NP_OK)
		rc = np_efficiency_roles(analysis->replay, &report->roles, err);
	return rc;
}

static bool wants_frequency(const struct whatif_report *report)
{
	for (size_t i = 0; i < report->asked.count; i++) {
		if (report->asked.item[i].kind == NP_FIX_FREQUENCY)
			return true;
	}
	return false;
}

/* By cell of the replay; NULL in *ret where nobody asked. */
static int find_frequency(const struct whatif_report *report, size_t threads, float **ret,
			  struct np_err *err)
{
	struct np_frequencies frequencies = { 0 };
	int rc;

	if (!wants_frequency(report))
		return NP_OK;
	rc = prepare_frequencies(report->analysis->run, threads, &frequencies, err);
	if (rc == NP_OK)
		rc = np_whatif_frequency(report->analysis->replay, &frequencies, ret, err);
	np_frequencies_release(&frequencies);
	return rc;
}

/* What the analysis tried, and the frequency where it is asked for, in both directions. */
static int measure(const struct whatif_options *options, struct whatif_report *report,
		   struct np_whatif *whatif, struct np_err *err)
{
	struct np_whatif_input input =
		np_analysis_repairs(report->analysis, (size_t)options->common.jobs);
	float *frequency = NULL;
	int rc;

	if (!report->analysis->replay)
		return np_fail(
			err, NP_E_NOTFOUND,
			"nothing to replay: no communication operator was matched over ranks");
	rc = find_frequency(report, input.threads, &frequency, err);
	input.frequency = frequency;
	input.both = true;
	input.known = &report->analysis->whatif;
	if (rc == NP_OK)
		rc = np_whatif_measure(&input, whatif, err);
	if (rc == NP_OK)
		rc = measure_asked(options, report, &input, err);
	if (rc == NP_OK)
		rc = measure_rest(report, err);
	free(frequency);
	return rc;
}

static int print(const struct whatif_options *options, const struct whatif_report *report,
		 struct np_err *err)
{
	struct np_buf buf = NP_BUF_INIT;
	int rc = options->common.output
			 ? np_csv_write_below(&whatif_repairs, report, options->common.output, err)
			 : NP_OK;

	if (rc < 0)
		return rc;
	if (options->common.format == NP_OUTPUT_JSON)
		return whatif_json(report, np_output_stream(), err);
	if (options->common.format == NP_OUTPUT_CSV)
		return options->common.output
			       ? NP_OK
			       : np_csv_write(&whatif_repairs, report, np_output_stream(), err);
	rc = options->common.format == NP_OUTPUT_MD ? whatif_markdown(report, &buf, err)
						    : whatif_screen(report, &buf, err);
	if (rc == NP_OK)
		return np_output_release(&buf) == 0 ? NP_OK : np_fail(err, NP_E_IO, "%s", "");
	np_buf_release(&buf);
	return rc;
}

static int show(const struct whatif_options *options, const struct np_analysis *analysis,
		struct whatif_report *report, struct np_err *err)
{
	struct np_whatif whatif = { 0 };
	struct cluster_report of_run = { .analysis = analysis,
					 .input = prepare_input(&options->common, analysis->run),
					 .dirs = options->common.dirs.item,
					 .dir_count = options->common.dirs.count,
					 .phase = options->common.phase_part,
					 .from_summaries = options->common.from_summaries,
					 .width = np_output_width(stdout),
					 .color = np_common_color(&options->common, stdout) };
	int rc;

	report->analysis = analysis;
	report->whatif = &whatif;
	report->report = &of_run;
	rc = measure(options, report, &whatif, err);
	if (rc == NP_OK && !np_common_page(&options->common))
		prepare_say_notes(&options->common, &analysis->run->notes, NULL);
	if (rc == NP_OK)
		rc = print(options, report, err);
	np_whatif_release(&whatif);
	return rc;
}

static void release(struct whatif_report *report)
{
	np_vec_release(&report->asked);
	np_vec_release(&report->curve.list);
	np_vec_release(&report->summary.list);
	np_role_transfers_release(&report->roles);
	free(report->slack);
	free(report->steps);
}

static int whatif(void *context)
{
	const struct whatif_options *options = context;
	NP_CLEANUP(np_analysis_freep) struct np_analysis *analysis = NULL;
	struct whatif_report report = { .asked_step = NP_UNKNOWN };
	struct np_err err = NP_ERR_INIT;
	/* A repair that cannot be is refused before anything is read. */
	int rc = parse_fixes(options, &report, &err);

	if (rc == NP_OK)
		rc = prepare_analysis(&options->common, &options->picks, &analysis, &err);
	if (rc == NP_OK)
		rc = show(options, analysis, &report, &err);
	release(&report);
	if (rc == NP_OK)
		return prepare_status(&options->common, analysis->run);
	return rc == NP_E_USAGE ? np_cmd_usage(&np_cmd_whatif, "%s", err.text)
				: np_report(NP_EXIT_FAILED, "%s", err.text);
}

static int cmd_whatif(int argc, const char *const *argv)
{
	struct whatif_options options = { 0 };
	int status;

	options.common.load_rows = NP_ROWS_COUNTED;
	if (np_cmd_options(&np_cmd_whatif, argc, argv, &options, &status))
		status = phases_run(&(struct phases_job){ .command = &np_cmd_whatif,
							  .beside = true,
							  .schema = "npuprof.whatif/1",
							  .common = &options.common,
							  .picks = &options.picks,
							  .run = whatif,
							  .options = &options });
	np_opt_release(&np_cmd_whatif.options, &options);
	return status;
}
