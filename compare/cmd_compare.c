/* SPDX-License-Identifier: Apache-2.0 */
/* The command compare: options, both sides, the comparison, what is printed and the gate. */
#include "cli/command/cmd.h"
#include "cli/command/common.h"
#include "cli/command/output.h"
#include "cli/command/progress.h"
#include "cli/prepare/phases.h"
#include "cli/prepare/prepare.h"
#include "cli/prepare/processes.h"
#include "compare/present/compare_report.h"
#include "inputs.h"

#include "npuprof/advice.h"
#include "npuprof/dirs.h"
#include "npuprof/lang.h"
#include "npuprof/procs.h"
#include "npuprof/run_history.h"
#include "npuprof/run_page.h"

#include <errno.h>
#include <malloc.h>
#include <math.h>

struct compare_options {
	struct np_common common;
	struct np_opt_list inputs; /* the base, the new one */
	struct np_opt_ranges base_steps;
	struct np_opt_ranges new_steps;
	struct np_opt_ranges ranks;
	const char *map_ranks;
	const char *fail_on;
	const char *baseline;
	bool no_stats;
	const char *min_ms;
	const char *min_pct;
	uint64_t views;
	const char *table;
	int64_t top;
	const char *xlsx;
	bool no_details;
	const char *op_name_map;
	bool use_input_shape;
	struct np_run_page page; /* no option: in the making */
};

static void offer_tables(struct np_buf *words)
{
	for (size_t i = 0; compare_relations[i]; i++)
		np_buf_printf(words, " %s", compare_relations[i]->name);
}

static const struct np_opt own_options[] = {
	{
		.name = "base-steps",
		.kind = NP_OPT_RANGES,
		.offset = offsetof(struct compare_options, base_steps),
		.value = "LIST",
		.help = "steps of the base, such as 10-20",
		.preset_words = "all, without a first one that warms up",
	},
	{
		.name = "new-steps",
		.kind = NP_OPT_RANGES,
		.offset = offsetof(struct compare_options, new_steps),
		.value = "LIST",
		.help = "steps of the new run",
		.preset_words = "likewise",
	},
	{
		.name = "ranks",
		.kind = NP_OPT_RANGES,
		.offset = offsetof(struct compare_options, ranks),
		.value = "LIST",
		.help = "only these ranks, on both sides",
		.preset_words = "all",
	},
	{
		.name = "skip-steps",
		.kind = NP_OPT_INTEGER,
		.offset = offsetof(struct compare_options, common.skip_steps),
		.value = "N",
		.help = "leave the first N steps of both sides out, which may be warm-up",
		.preset_words = "none",
		.low = 0,
		.high = INT32_MAX,
	},
	{
		.name = "phase",
		.kind = NP_OPT_TEXT,
		.offset = offsetof(struct compare_options, common.phase),
		.value = "NAME",
		.help = "compare this phase of both jobs only",
		.preset_words = "all, paired by name",
	},
	{
		.name = "steps-from",
		.kind = NP_OPT_TEXT,
		.offset = offsetof(struct compare_options, common.steps_from),
		.value = "HOW",
		.help = NP_HELP_STEPS_FROM,
		.preset_words = "marks, and period where there are none",
	},
	{
		.name = "map-ranks",
		.kind = NP_OPT_TEXT,
		.offset = offsetof(struct compare_options, map_ranks),
		.value = "BASE:NEW,...",
		.help = "compare these ranks with these",
		.preset_words = "by id, or by role where world sizes differ",
	},
	{
		.name = "fail-on",
		.kind = NP_OPT_TEXT,
		.offset = offsetof(struct compare_options, fail_on),
		.value = "CONDITIONS",
		.help = "exit with 4 if something got worse by more than so much: "
			"step>2%,comm>5%,kernel:MatMul*>3%,mem>1%",
	},
	{
		.name = "baseline",
		.kind = NP_OPT_TEXT,
		.offset = offsetof(struct compare_options, baseline),
		.value = "history[:NAME=VALUE]",
		.help = "with NEW alone: against all earlier runs of the job in the store that "
			"NPUPROF_HISTORY names, or those with this label; see npuprof history judge",
	},
	{
		.name = "no-stats",
		.kind = NP_OPT_FLAG,
		.offset = offsetof(struct compare_options, no_stats),
		.help = "judge by plain thresholds, not by significance",
	},
	{
		.name = "min-ms",
		.kind = NP_OPT_TEXT,
		.offset = offsetof(struct compare_options, min_ms),
		.value = "MS",
		.help = "changes below this are noise",
		.preset = "0.05", /* CMP_MIN_NS */
	},
	{
		.name = "min-pct",
		.kind = NP_OPT_TEXT,
		.offset = offsetof(struct compare_options, min_pct),
		.value = "PERCENT",
		.help = "and so are changes below this share",
		.preset = "1",
	},
	{
		.name = "view",
		.kind = NP_OPT_CHOICES,
		.offset = offsetof(struct compare_options, views),
		.value = "VIEW,...",
		.help = "compare these in detail too",
		.choices = cmp_view_names,
	},
	{
		.name = "table",
		.kind = NP_OPT_TEXT,
		.offset = offsetof(struct compare_options, table),
		.value = "NAME",
		.offer = offer_tables,
		.help = "print this table, all of its rows, instead of the report; with -f csv as such",
		.preset_words = "waterfall, with -f csv",
	},
	{
		.name = "top",
		.kind = NP_OPT_INTEGER,
		.offset = offsetof(struct compare_options, top),
		.value = "N",
		.help = "rows shown of a table on the screen",
		.preset = "12",
		.low = 1,
		.high = 100000,
	},
	{
		.name = "xlsx",
		.kind = NP_OPT_TEXT,
		.offset = offsetof(struct compare_options, xlsx),
		.value = "FILE",
		.help = "write all tables into a workbook too",
	},
	{
		.name = "no-details",
		.kind = NP_OPT_FLAG,
		.offset = offsetof(struct compare_options, no_details),
		.help = "leave out the tables of operators and modules call by call",
	},
	{
		.name = "op-name-map",
		.kind = NP_OPT_TEXT,
		.offset = offsetof(struct compare_options, op_name_map),
		.value = "MAP",
		.help = "names of operators that mean the same, such as {'a': 'b'}: those on the left "
			"are renamed on both sides",
	},
	{
		.name = "use-input-shape",
		.kind = NP_OPT_FLAG,
		.offset = offsetof(struct compare_options, use_input_shape),
		.help = "match operators by name and shapes of inputs, not by name alone",
	},
};

static const char *const formats[] = {
	[NP_OUTPUT_TABLE] = "table", [NP_OUTPUT_JSON] = "json", [NP_OUTPUT_CSV] = "csv",
	[NP_OUTPUT_MD] = "md",       [NP_OUTPUT_HTML] = "html", NULL,
};

static const struct np_opt output_options[] = {
	{
		.letter = 'o',
		.name = "output",
		.kind = NP_OPT_TEXT,
		.fill = NP_FILL_DIRECTORY,
		.offset = offsetof(struct compare_options, common.output),
		.value = "DIR",
		.help = "write every table as a CSV file below DIR",
	},
	{
		.letter = 'f',
		.name = "format",
		.kind = NP_OPT_CHOICE,
		.offset = offsetof(struct compare_options, common.format),
		.value = "FORMAT",
		.help = "print the result as; html is the page of the new run, the difference first",
		.choices = formats,
		.preset = "table",
	},
	{
		.name = "no-color",
		.kind = NP_OPT_FLAG,
		.offset = offsetof(struct compare_options, common.no_color),
		.help = "print without colours, as with NO_COLOR in the environment",
	},
};

static const struct np_opt_group groups[] = {
	{ "Comparing", own_options, NP_COUNT(own_options), 0 },
	{ "Output", output_options, NP_COUNT(output_options), 0 },
	NP_GROUP_RUNNING(struct compare_options, common),
	NP_GROUP_VENDOR(struct compare_options, common),
	NP_GROUP_GENERAL,
};

static const struct np_opt_operand operand = {
	.option = { .kind = NP_OPT_LIST,
		    .fill = NP_FILL_DIRECTORY,
		    .value = "BASE NEW",
		    .offset = offsetof(struct compare_options, inputs) },
	.least = 0, /* two, but for --baseline */
	.most = 2,
};

static int cmd_compare(int argc, const char *const *argv);

const struct np_cmd np_cmd_compare = {
	.name = "compare",
	.topic = "Analysing a run",
	.synopsis = "[options] BASE NEW | --baseline history NEW",
	.summary = "explain the difference between two runs, exactly, and gate on it",
	.about =
		"Divides the step of both runs into parts that sum to it, to the nanosecond, and "
		"tells which parts changed, why, and whether that is more than noise. BASE and NEW "
		"are directories of a cluster or a rank, databases, or traces (.json, .json.gz), "
		"in any mixture. With -o every table is written as a CSV file too, with --xlsx as "
		"a sheet of a workbook. The inputs are not changed.",
	.run = cmd_compare,
	.options = { .groups = groups, .count = NP_COUNT(groups), .operand = &operand },
	.statuses = NP_EXITS_GATE,
	.distributed = true,
	.kernel_framework_op = cmp_is_cube_op,
};

/* --- what to do ------------------------------------------------------------------------------ */

static int read_number(const char *name, const char *text, double *ret, struct np_err *err)
{
	char *end;

	errno = 0;
	*ret = strtod(text, &end);
	if (end == text || *end || errno || !isfinite(*ret) || *ret < 0)
		return np_fail(err, NP_E_USAGE, "--%s takes a number, not '%s'", name, text);
	return NP_OK;
}

/*
 * Both sides are loaded at once, with half of the threads each. Other processes are
 * spoken to by one thread alone, and are busy anyway: then one comes after the other.
 */
struct loading {
	const struct compare_options *options;
	size_t threads; /* of each side */
	struct np_analysis *analysis[CMP_SIDES];
	struct np_err err[CMP_SIDES];
};

static void load_side(void *context, size_t which)
{
	struct loading *loading = context;
	const struct compare_options *options = loading->options;
	struct np_common common = options->common;

	common.steps = which == CMP_BASE ? options->base_steps : options->new_steps;
	common.ranks = options->ranks;
	common.phase_times = NULL;
	common.phase_if_any = true;
	common.kernel_framework_op = np_cmd_compare.kernel_framework_op;
	common.jobs = (int64_t)loading->threads;
	/* One line of progress is enough. */
	common.quiet = common.quiet || which != CMP_BASE;
	(void)!inputs_load(options->inputs.item[which], &common, &loading->analysis[which],
			   &loading->err[which]);
}

static int load(const struct compare_options *options, struct np_analysis *ret[CMP_SIDES],
		struct np_err *err)
{
	struct loading loading = { .options = options, .err = { NP_ERR_INIT, NP_ERR_INIT } };
	size_t threads = options->common.jobs ? (size_t)options->common.jobs : np_processors();
	bool at_once = threads > 1 && processes_all()->size == 1;
	const struct np_workers workers = { .threads = at_once ? CMP_SIDES : 1 };

	loading.threads = at_once ? (threads + 1) / 2 : threads;
	np_workers_run(&workers, CMP_SIDES, load_side, &loading);
	for (int i = 0; i < CMP_SIDES; i++) {
		if (loading.err[i].code == NP_OK)
			continue;
		*err = loading.err[i];
		np_analysis_free(loading.analysis[CMP_BASE]);
		np_analysis_free(loading.analysis[CMP_NEW]);
		return err->code;
	}
	ret[CMP_BASE] = loading.analysis[CMP_BASE];
	ret[CMP_NEW] = loading.analysis[CMP_NEW];
	return NP_OK;
}

static int compare(const struct compare_options *options, const struct np_workers *workers,
		   const struct cmp_op_names *op_names, struct comparison **ret, struct np_err *err)
{
	struct cmp_options how = { .map_ranks = options->map_ranks,
				   .steps = { options->base_steps.set, options->new_steps.set },
				   .no_stats = options->no_stats,
				   .op_names = op_names,
				   .by_shape = options->use_input_shape,
				   .workers = workers };
	struct np_analysis *sides[CMP_SIDES] = { NULL, NULL };
	int rc = read_number("min-ms", options->min_ms, &how.min_ns, err);

	if (rc == NP_OK)
		rc = read_number("min-pct", options->min_pct, &how.min_share, err);
	how.min_ns *= 1e6;
	how.min_share /= 100;
	if (rc == NP_OK)
		rc = load(options, sides, err);
	return rc < 0 ? rc : comparison_build(sides[CMP_BASE], sides[CMP_NEW], &how, ret, err);
}

/* --- printing -------------------------------------------------------------------------------- */

/* The difference and what the advisor finds in the new run. */
struct compare_page {
	const struct compare_report *report;
	const struct np_advice *advice;
};

static int put_more(struct np_jsonout *out, void *context, struct np_err *err)
{
	const struct compare_page *more = context;

	compare_put_difference(out, more->report);
	return np_advice_put(out, more->advice, err);
}

/* Add the page of the new run to what is written behind the last phase. */
static int add_page(const struct compare_report *report, struct compare_options *options,
		    struct np_err *err)
{
	const struct np_analysis *new = report->comparison->sides[CMP_NEW].analysis;
	struct np_frequencies frequencies = { 0 };
	struct np_advice *advice = NULL;
	struct compare_page more = { .report = report };
	const struct np_advice_options how = {
		.chinese = np_lang() == NP_LANG_ZH,
		.evidence_rows = NP_RUN_PAGE_EVIDENCE,
		.frequencies = &frequencies,
		.workers = { .threads = (size_t)options->common.jobs },
	};
	int rc = np_advice_new(new, &how, &advice, err);

	more.advice = advice;
	if (rc == NP_OK)
		rc = np_run_page_add(
			&options->page, new,
			&(struct np_run_page_options){ .input = report->input[CMP_NEW],
						       .phase = options->common.phase_part,
						       .first = "difference",
						       .chinese = how.chinese,
						       .frequencies = &frequencies,
						       .threads = (size_t)options->common.jobs,
						       .put_more = put_more,
						       .context = &more },
			err);
	np_advice_free(advice);
	np_frequencies_release(&frequencies);
	return rc;
}

static int print(const struct compare_report *report, struct compare_options *options,
		 struct np_err *err)
{
	struct np_buf buf = NP_BUF_INIT;
	int rc;

	switch ((enum np_output_format)options->common.format) {
	case NP_OUTPUT_HTML:
		return add_page(report, options, err);
	case NP_OUTPUT_JSON:
		return compare_json(report, np_output_stream(), err);
	case NP_OUTPUT_CSV:
		return options->common.output
			       ? compare_csv_files(report, options->common.output, err)
			       : compare_csv(report, options->table, np_output_stream(), err);
	case NP_OUTPUT_MD:
		rc = compare_markdown(report, &buf, err);
		break;
	case NP_OUTPUT_TABLE:
	default:
		rc = options->table ? compare_table(report, options->table, &buf, err)
				    : compare_screen(report, &buf, err);
		break;
	}
	if (rc == NP_OK)
		return np_output_release(&buf) == 0 ? NP_OK : np_fail(err, NP_E_IO, "%s", "");
	np_buf_release(&buf);
	return rc;
}

static void say_notes(const struct comparison *comparison, const struct compare_options *options)
{
	for (int i = 0; i < CMP_SIDES && !np_common_page(&options->common); i++)
		prepare_say_notes(&options->common, &comparison->sides[i].analysis->run->notes,
				  NULL);
}

static int status_of(const struct np_common *common, const struct comparison *comparison,
		     const struct cmp_gate *gate)
{
	int status = NP_EXIT_DONE;

	for (int i = 0; i < CMP_SIDES; i++) {
		if (prepare_is_partial(common, &comparison->sides[i].analysis->run->notes))
			status = NP_EXIT_PARTIAL;
	}
	return gate && gate->result == CMP_GATE_FAIL ? NP_EXIT_GATE : status;
}

static int fail(const struct np_err *err)
{
	if (err->code == NP_E_USAGE)
		return np_cmd_usage(&np_cmd_compare, "%s", err->text);
	return np_report(NP_EXIT_FAILED, "%s", err->text);
}

static bool is_failure(int status)
{
	return status == NP_EXIT_FAILED || status == NP_EXIT_USAGE;
}

/* For a file that could not be written, unless there is something worse to say. */
static int less_than_whole(int status, const struct np_err *problem)
{
	return np_report(status == NP_EXIT_GATE || is_failure(status) ? status
								      : np_exit_unwritten(problem),
			 "%s", problem->text);
}

/* The workbook of the old tool, and where it is; in the current directory without -o. */
static int write_vendor(const struct compare_report *report, const struct compare_options *options,
			int status, char **ret_path)
{
	const char *output = options->common.output ? options->common.output : ".";
	const char *phase = options->common.output ? NULL : options->common.phase_part;
	char *directory = phase ? np_join_path(output, phase) : strdup(output);
	struct np_err problem = NP_ERR_INIT;

	if (!directory)
		return np_report(NP_EXIT_FAILED, "out of memory for a path");
	if (compare_vendor_files(report, directory, ret_path, &problem) < 0)
		status = less_than_whole(status, &problem);
	else if (options->common.format == NP_OUTPUT_TABLE)
		(void)fprintf(np_output_stream(), "\nthe workbook is '%s'\n", *ret_path);
	free(directory);
	return status;
}

/* What cannot be written as a workbook can still be printed. */
static int present(struct comparison *comparison, struct cmp_gate *gate,
		   struct compare_options *options)
{
	struct np_err problem = NP_ERR_INIT;
	struct np_err err = NP_ERR_INIT;
	struct cmp_memory memory = { 0 };
	struct cmp_views views = { 0 };
	struct compare_report report = {
		.comparison = comparison,
		.gate = gate,
		.memory = &memory,
		.views = &views,
		.input = { options->inputs.item[0], options->inputs.item[1] },
		.phase = options->common.phase_part,
		.no_details = options->no_details,
		.top = (size_t)options->top,
		.width = np_output_width(stdout),
		.color = np_common_color(&options->common, stdout),
	};
	uint64_t wanted = options->views;
	char *workbook = NULL;
	int status;
	int rc;

	/* A table of a view asks for that view. */
	if (options->table && compare_view_of(options->table) != CMP_VIEWS)
		wanted |= UINT64_C(1) << compare_view_of(options->table);
	rc = cmp_memory_measure(comparison, &memory, &err);
	if (rc == NP_OK)
		rc = cmp_views_measure(comparison, wanted, &views, &err);
	if (rc == NP_OK)
		rc = print(&report, options, &err);
	status = rc < 0 ? fail(&err) : status_of(&options->common, comparison, gate);
	if (rc == NP_OK)
		say_notes(comparison, options);
	/* -f csv has written them already. */
	if (rc == NP_OK && options->common.output && !options->common.vendor_files &&
	    options->common.format != NP_OUTPUT_CSV &&
	    compare_csv_files(&report, options->common.output, &problem) < 0)
		status = less_than_whole(status, &problem);
	if (rc == NP_OK && options->xlsx && compare_xlsx(&report, options->xlsx, &problem) < 0)
		status = less_than_whole(status, &problem);
	if (rc == NP_OK && options->common.vendor_files)
		status = write_vendor(&report, options, status, &workbook);
	if (rc == NP_OK)
		compare_answer(&report, workbook, options->common.phase_part);
	free(workbook);
	cmp_memory_release(&memory);
	cmp_views_release(&views);
	return status;
}

/*
 * Rank after rank needs as much memory as the one before: given back in between, the
 * kernel would clear it again and again, which takes an eighth of the time.
 */
static void keep_memory(void)
{
	(void)mallopt(M_MMAP_THRESHOLD, 64 << 20);
	(void)mallopt(M_TRIM_THRESHOLD, 256 << 20);
}

static int run(void *context)
{
	struct compare_options *options = context;
	NP_CLEANUP(comparison_freep) struct comparison *comparison = NULL;
	NP_CLEANUP(cmp_gate_release) struct cmp_gate gate = { 0 };
	NP_CLEANUP(cmp_op_names_release) struct cmp_op_names op_names = { 0 };
	const struct np_workers workers = { .threads = (size_t)options->common.jobs };
	const struct np_relation *relation;
	struct np_err err = NP_ERR_INIT;
	int rc = NP_OK;

	keep_memory();
	if (options->common.format == NP_OUTPUT_HTML)
		np_advice_set_up();
	/* A mistyped gate must not cost the time of a comparison. */
	if (options->fail_on)
		rc = cmp_gate_parse(options->fail_on, &gate, &err);
	if (rc == NP_OK && options->table)
		rc = compare_find_relation(options->table, &relation, &err);
	if (rc == NP_OK && options->op_name_map)
		rc = cmp_op_names_parse(options->op_name_map, &op_names, &err);
	if (rc == NP_OK)
		rc = compare(options, &workers, &op_names, &comparison, &err);
	if (rc == NP_OK && options->fail_on)
		rc = cmp_gate_judge(&gate, comparison, &err);
	return rc < 0 ? fail(&err) : present(comparison, options->fail_on ? &gate : NULL, options);
}

static int end_page(void *context, const struct np_phase_times *times, int status)
{
	struct compare_options *options = context;

	return np_run_page_print(&options->page, times, status);
}

/* Against earlier runs: another question, which the history answers. */
static int judge(struct compare_options *options)
{
	const struct np_opt_list none = { 0 };
	struct np_history_question question = { .common = &options->common,
						.picks = &none,
						.fail_on = options->fail_on };
	const char *label = strchr(options->baseline, ':');
	int status;

	if (strncmp(options->baseline, "history", 7) != 0 ||
	    (options->baseline[7] && options->baseline[7] != ':'))
		return np_cmd_usage(&np_cmd_compare,
				    "--baseline takes history or history:NAME=VALUE, not '%s'",
				    options->baseline);
	if (options->inputs.count != 1)
		return np_cmd_usage(&np_cmd_compare,
				    "--baseline takes the place of BASE: give NEW alone");
	if ((options->common.format != NP_OUTPUT_TABLE &&
	     options->common.format != NP_OUTPUT_JSON) ||
	    options->common.output || options->xlsx || options->table || options->views != 0 ||
	    options->base_steps.set || options->map_ranks || options->no_stats)
		return np_cmd_usage(
			&np_cmd_compare,
			"with --baseline the answer is a table or JSON: of the options that "
			"compare two runs only --fail-on, --new-steps and --ranks apply");
	if (label) {
		label++;
		question.labels = &label;
		question.label_count = 1;
	}
	/* The run is a copy of what was read from the command line, which keeps it. */
	options->common.dirs = options->inputs;
	options->common.steps = options->new_steps;
	options->common.ranks = options->ranks;
	status = np_history_judge(&question);
	options->common.dirs = none;
	options->common.steps = options->common.ranks = (struct np_opt_ranges){ 0 };
	return status;
}

static int cmd_compare(int argc, const char *const *argv)
{
	struct compare_options options = { .page = NP_RUN_PAGE_INIT };
	int status;

	if (!np_cmd_options(&np_cmd_compare, argc, argv, &options, &status))
		;
	else if (options.baseline)
		status = judge(&options);
	else if (options.inputs.count < 2)
		status = np_cmd_usage(&np_cmd_compare, "%s needs the arguments %s%s", "compare",
				      operand.option.value, "");
	else
		status = phases_run(&(struct phases_job){
			.command = &np_cmd_compare,
			.beside = true,
			.schema = "npuprof.compare/1",
			.common = &options.common,
			.run = run,
			.options = &options,
			.others = &options.inputs,
			.end = options.common.format == NP_OUTPUT_HTML ? end_page : NULL });
	np_run_page_release(&options.page);
	np_opt_release(&np_cmd_compare.options, &options);
	return status;
}
