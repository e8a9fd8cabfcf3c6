/* SPDX-License-Identifier: Apache-2.0 */
/* The command advisor: from the options to rules, the run and findings. */
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/command/cmd.h"
#include "cli/command/common.h"
#include "cli/command/output.h"
#include "cli/command/progress.h"
#include "cli/prepare/phases.h"
#include "cli/prepare/prepare.h"

#include "npuprof/dirs.h"
#include "npuprof/discover.h"
#include "npuprof/lang.h"
#include "npuprof/rank.h"

#include "advisor/engine/advise.h"
#include "advisor/engine/data/graph.h"
#include "advisor/engine/findings/merged.h"
#include "advisor/engine/findings/policy.h"
#include "advisor/engine/rules/rule_show.h"
#include "advisor/engine/sql/sql.h"
#include "advisor/present/advisor_vendor.h"
#include "advisor_page.h"

struct advisor_options {
	struct np_common common;
	struct np_opt_list picks;
	struct np_opt_list rules;      /* --rules */
	struct np_opt_list wanted;     /* --rule */
	struct np_opt_list dimensions; /* --dimension */
	struct np_opt_list sets;
	struct np_opt_list graphs;
	const char *base;
	const char *fail_on;
	const char *baseline;
	const char *suppress;
	const char *explain;
	const char *cann_version;
	const char *torch_version;
	int64_t rules_timeout;   /* s */
	struct np_run_page page; /* no option: in the making */
};

static const struct np_opt rule_options[] = {
	{
		.name = "rule",
		.kind = NP_OPT_LIST,
		.offset = offsetof(struct advisor_options, wanted),
		.value = "GLOB[,GLOB...]",
		.offer = adv_rules_offer,
		.help = "run only the rules whose id fits; may be repeated",
	},
	{
		.name = "dimension",
		.kind = NP_OPT_LIST,
		.offset = offsetof(struct advisor_options, dimensions),
		.value = "NAME[,NAME...]",
		.help = "run only the rules of these dimensions",
	},
	{
		.name = "rules",
		.kind = NP_OPT_LIST,
		.fill = NP_FILL_DIRECTORY,
		.offset = offsetof(struct advisor_options, rules),
		.value = "DIR",
		.help = "read the rules in this directory or file, too; may be repeated",
	},
	{
		.name = "set",
		.kind = NP_OPT_LIST,
		.offset = offsetof(struct advisor_options, sets),
		.value = "ID.PARAM=VALUE",
		.help = "use another value of a rule's parameter; may be repeated",
	},
	{
		.name = "explain",
		.kind = NP_OPT_TEXT,
		.offset = offsetof(struct advisor_options, explain),
		.value = "ID",
		.offer = adv_rules_offer,
		.help = "explain a rule and do nothing else",
	},
	{
		.name = "base",
		.kind = NP_OPT_TEXT,
		.fill = NP_FILL_DIRECTORY,
		.offset = offsetof(struct advisor_options, base),
		.value = "DIR",
		.help = "compare with this run, for rules that do",
	},
	{
		.name = "rules-timeout",
		.kind = NP_OPT_INTEGER,
		.offset = offsetof(struct advisor_options, rules_timeout),
		.value = "SECONDS",
		.low = 1,
		.high = 86400,
		.preset = "60",
		.help = "processor time that all rules on a rank, or on the cluster, may take together",
	},
	{
		.name = "cann-version",
		.kind = NP_OPT_TEXT,
		.offset = offsetof(struct advisor_options, cann_version),
		.value = "VERSION",
		.help = "the version of CANN for rules that ask for it",
		.preset_words = "what the profiles say",
	},
	{
		.name = "torch-version",
		.kind = NP_OPT_TEXT,
		.offset = offsetof(struct advisor_options, torch_version),
		.value = "VERSION",
		.help = "the version of PyTorch, likewise",
		.preset_words = "what the profiles say",
	},
	{
		.name = "graph",
		.kind = NP_OPT_LIST,
		.offset = offsetof(struct advisor_options, graphs),
		.value = "FILE",
		.help = "read this dump of a graph (ge_proto_*.txt), for rules that match graphs",
	},
	{
		.name = "pick",
		.kind = NP_OPT_LIST,
		.fill = NP_FILL_DIRECTORY,
		.offset = offsetof(struct advisor_options, picks),
		.value = "PATH",
		.help = "use this directory where several hold the same rank; may be repeated",
	},
};

static const struct np_opt count_options[] = {
	{
		.name = "fail-on",
		.kind = NP_OPT_TEXT,
		.offset = offsetof(struct advisor_options, fail_on),
		.value = "WHAT",
		.help = "exit with status 4 on a finding of this severity (high, medium, low), or "
			"on gain=PERCENT of the step",
	},
	{
		.name = "baseline",
		.kind = NP_OPT_TEXT,
		.offset = offsetof(struct advisor_options, baseline),
		.value = "FILE",
		.help = "only findings that are new or worse than in this earlier -f json count",
	},
	{
		.name = "suppress",
		.kind = NP_OPT_TEXT,
		.offset = offsetof(struct advisor_options, suppress),
		.value = "FILE",
		.help = "leave out the findings that this file names",
		.preset_words = "npuprof-suppress.json if it is here",
	},
};

static const struct np_opt output_options[] = {
	{
		.letter = 'o',
		.name = "output",
		.kind = NP_OPT_TEXT,
		.fill = NP_FILL_DIRECTORY,
		.offset = offsetof(struct advisor_options, common.output),
		.value = "DIR",
		.help = "also write advisor.json, advisor.sarif, advisor.csv and advisor.md there",
	},
	{
		.letter = 'f',
		.name = "format",
		.kind = NP_OPT_CHOICE,
		.offset = offsetof(struct advisor_options, common.format),
		.value = "FORMAT",
		.help = "print the result as; html is the page of the run, findings first",
		.choices = advisor_formats,
		.preset = "table",
	},
	{
		.name = "no-color",
		.kind = NP_OPT_FLAG,
		.offset = offsetof(struct advisor_options, common.no_color),
		.help = "print without colours, as with NO_COLOR in the environment",
	},
};

static const struct np_opt_group groups[] = {
	{ "Rules", rule_options, NP_COUNT(rule_options), 0 },
	{ "What counts", count_options, NP_COUNT(count_options), 0 },
	NP_GROUP_INPUT(struct advisor_options, common),
	{ "Output", output_options, NP_COUNT(output_options), 0 },
	NP_GROUP_RUNNING(struct advisor_options, common),
	NP_GROUP_VENDOR(struct advisor_options, common),
	NP_GROUP_GENERAL,
};

static const struct np_opt_operand operand =
	NP_OPERAND_OPTIONAL_DIRS(struct advisor_options, common);

static int cmd_advisor(int argc, const char *const *argv);

const struct np_cmd np_cmd_advisor = {
	.name = "advisor",
	.topic = "Analysing a run",
	.synopsis = "[options] [-d] [DIR...]",
	.summary = "apply the rules: what to change, and what it would gain",
	.about =
		"Applies the rules in rules/ to the profiles of all ranks found below DIR (default: "
		"this directory) and lists what they found by the time it costs, with advice, and "
		"what could not be checked and why. The inputs are not changed.",
	.run = cmd_advisor,
	.options = { .groups = groups, .count = NP_COUNT(groups), .operand = &operand },
	.statuses = NP_EXITS_GATE,
	.distributed = true,
};

/* Everything between the options and the output: rules, the run, findings, what counts. */
struct advisor_session {
	struct advisor_options *options;
	struct adv_rule_library *library;
	struct np_analysis *analysis;
	char *merged; /* the fresh merged database that is used, or NULL */
	struct np_analysis *base;
	struct adv_graphs graphs;
	struct adv_advice *advice;
	struct adv_suppressions suppressions;
	struct np_json *baseline;
	struct adv_gate gate;
	struct np_frequencies frequencies; /* for the page */
};

/* Does one of the comma-separated globs in the list fit? */
static bool fits(const struct np_opt_list *list, const char *text, bool *ret_exact)
{
	for (size_t i = 0; i < list->count; i++) {
		const char *part = list->item[i];

		while (*part) {
			size_t length = strcspn(part, ",");
			char *glob = strndup(part, length);
			bool found = glob && fnmatch(glob, text, 0) == 0;

			if (found && ret_exact)
				*ret_exact = *ret_exact || strcmp(glob, text) == 0;
			free(glob);
			if (found)
				return true;
			part += length;
			part += *part == ',';
		}
	}
	return false;
}

static bool is_wanted(const struct advisor_options *options, const struct adv_rule *rule)
{
	bool exact = false;

	if (options->wanted.count > 0 && !fits(&options->wanted, rule->id, &exact))
		return false;
	if (options->dimensions.count > 0 && !fits(&options->dimensions, rule->dimension, NULL))
		return false;
	return rule->enabled || exact;
}

static bool wants(const void *context, const struct adv_rule *rule)
{
	return is_wanted(context, rule);
}

/* At least one rule must be left. */
static int check_choice(const struct adv_rule_library *library,
			const struct advisor_options *options, struct np_err *err)
{
	for (size_t i = 0; i < library->rules.count; i++) {
		if (is_wanted(options, library->rules.item[i]))
			return NP_OK;
	}
	if (options->wanted.count == 1 && options->dimensions.count == 0)
		return adv_rule_library_missing(library, options->wanted.item[0], err);
	if (options->wanted.count > 0 || options->dimensions.count > 0)
		return np_fail(err, NP_E_USAGE,
			       "no rule fits --rule and --dimension; see npuprof rules list");
	return np_fail(err, NP_E_NOTFOUND,
		       "there are no rules beside the program; name some with --rules DIR");
}

/* Read the rules and what the user sets in them; one at least must be wanted. */
static int read_rules(struct advisor_session *session, struct np_err *err)
{
	struct adv_rule_library *library = session->library;
	const struct advisor_options *options = session->options;
	int rc = adv_rules_read_all(library, options->rules.item, options->rules.count, err);

	for (size_t i = 0; i < options->sets.count && rc == NP_OK; i++)
		rc = adv_rule_library_set(library, options->sets.item[i], err);
	return rc == NP_OK ? check_choice(library, options, err) : rc;
}

static void release(struct advisor_session *session)
{
	adv_advice_free(session->advice);
	np_frequencies_release(&session->frequencies);
	adv_suppressions_release(&session->suppressions);
	np_json_freep(&session->baseline);
	adv_graphs_release(&session->graphs);
	np_analysis_free(session->base);
	np_analysis_free(session->analysis);
	free(session->merged);
	adv_rule_library_free(session->library);
}

static int load_base(struct advisor_session *session, struct np_err *err)
{
	struct np_common common = session->options->common;
	const char *directory[] = { session->options->base };

	if (!session->options->base)
		return NP_OK;
	common.dirs = (struct np_opt_list){ .item = directory, .count = 1 };
	return prepare_analysis(&common, &session->options->picks, &session->base, err);
}

/* The merged database beside the input, if it is of these very files. */
static char *find_merged(const struct np_common *common)
{
	const struct np_discover_options all = { .phase = common->phase_part };
	NP_CLEANUP(np_run_freep) struct np_run *run = np_run_new();
	struct np_err err = NP_ERR_INIT;
	char *path = NULL;

	/* A choice of ranks or steps is not what was merged. */
	if (!run || common->dirs.count != 1 || common->ranks.set || common->steps.set ||
	    common->skip_steps > 0 || np_discover(run, common->dirs.item, 1, &all, &err) < 0)
		return NULL;
	path = prepare_output(common, "cluster_analysis.db");
	if (!path || !adv_merged_is_fresh(path, run, NP_VERSION)) {
		free(path);
		return NULL;
	}
	return path;
}

/* With a fresh merged database the ranks are loaded, and nothing is measured again. */
static int load_merged(struct advisor_session *session, const struct np_common *common,
		       struct np_err *err)
{
	int rc;

	session->analysis = calloc(1, sizeof(*session->analysis));
	if (!session->analysis)
		return np_fail_nomem(err, "the run");
	rc = prepare_run(common, &session->options->picks, &session->analysis->run, err);
	if (rc == NP_OK)
		rc = np_cluster_build(session->analysis->run, &session->analysis->cluster, err);
	if (rc == NP_OK)
		rc = adv_merged_verdict(session->merged, &session->analysis->verdict, err);
	return rc;
}

/* Is a page written: as the format, or as a file of the old tool? */
static bool wants_page(const struct advisor_options *options)
{
	return options->common.format == ADVISOR_HTML ||
	       (options->common.vendor_files && !options->common.agent);
}

/*
 * The tables of a fresh merged database, or all measures of the run: a page shows more than those
 * tables hold. The ranks are loaded once, also where the database turns out not to be whole.
 */
static int load_run(struct advisor_session *session, struct np_err *err)
{
	static const char *here[] = { "." };
	const struct advisor_options *options = session->options;
	struct np_common common = options->common;
	int rc;

	common.snapshots = true;
	if (common.dirs.count == 0)
		common.dirs = (struct np_opt_list){ .item = here, .count = NP_COUNT(here) };
	if (options->picks.count == 0 && !wants_page(options))
		session->merged = find_merged(&common);
	if (!session->merged)
		return prepare_analysis(&common, &options->picks, &session->analysis, err);
	rc = load_merged(session, &common, err);
	if (rc == NP_OK && !adv_merged_is_whole(session->merged, session->analysis->cluster)) {
		struct np_run *run = NP_STEAL(session->analysis->run);

		np_analysis_free(NP_STEAL(session->analysis));
		free(NP_STEAL(session->merged));
		return prepare_measures(&common, run, &session->analysis, err);
	}
	if (rc == NP_OK && common.verbose > 0)
		(void)np_report(0, "the merged tables of '%s' are fresh", session->merged);
	return rc;
}

/* Let all ranks be of this version, and say so where they said another. */
static int override_version(struct np_run *run, const char *what, const char *version,
			    size_t offset, struct np_err *err)
{
	const char *other = NULL;
	np_str text;
	int rc;

	if (!version)
		return NP_OK;
	rc = np_strtab_add(run->strings, version, strlen(version), &text, err);
	for (size_t i = 0; i < run->sources.count && rc == NP_OK; i++) {
		np_str *field =
			run->ranks[i] ? (np_str *)(void *)((char *)run->ranks[i] + offset) : NULL;

		if (field && *field != NP_STR_NONE && *field != text && !other)
			other = np_run_text(run, *field);
		if (field)
			*field = text;
	}
	if (rc == NP_OK && other)
		np_note_add(&run->notes, NP_NOTE_WARNING, NP_NO_RANK, run->roots.item[0], what,
			    "rules are asked about version %s, profiles say %s", version, other);
	return rc;
}

static int override_versions(struct advisor_session *session, struct np_err *err)
{
	const struct advisor_options *options = session->options;
	struct np_run *run = session->analysis->run;
	int rc = override_version(run, "CANN", options->cann_version,
				  offsetof(struct np_rank, cann_version), err);

	return rc < 0 ? rc
		      : override_version(run, "PyTorch", options->torch_version,
					 offsetof(struct np_rank, framework_version), err);
}

/* The files and directories that options name, before anything that takes long. */
static int read_files(struct advisor_session *session, struct np_err *err)
{
	static const char usual[] = "npuprof-suppress.json";
	const struct advisor_options *options = session->options;
	const char *suppress = options->suppress;
	int rc = NP_OK;

	if (options->base && !np_is_directory(options->base))
		rc = np_fail(err, NP_E_USAGE, "'%s' is not a directory", options->base);
	for (size_t i = 0; i < options->graphs.count && rc == NP_OK; i++)
		rc = adv_graph_read(&session->graphs, options->graphs.item[i], err);
	if (!suppress && access(usual, R_OK) == 0)
		suppress = usual;
	if (rc == NP_OK && suppress)
		rc = adv_suppressions_read(&session->suppressions, suppress, err);
	if (rc == NP_OK && options->baseline)
		rc = adv_baseline_read(options->baseline, &session->baseline, err);
	return rc;
}

/* Is the result read by people, rather than by programs? */
static bool is_for_people(const struct advisor_options *options)
{
	return options->common.format == ADVISOR_TABLE || options->common.format == ADVISOR_MD ||
	       options->common.format == ADVISOR_HTML;
}

/* Programs get other words only if the user asks for them. */
static enum adv_rule_language language_of(const struct advisor_options *options)
{
	return np_lang() == NP_LANG_ZH && (is_for_people(options) || np_lang_asked()) ? RULE_ZH
										      : RULE_EN;
}

/* What could not be used stands on the page itself; whoever started a program is told beside it. */
static void say_notes(const struct advisor_session *session)
{
	const struct np_common *common = &session->options->common;

	if (is_for_people(session->options))
		return;
	prepare_say_notes(common, &session->analysis->run->notes, NULL);
	prepare_say_notes(common, &session->advice->notes, NULL);
}

static int run_rules(struct advisor_session *session, struct np_err *err)
{
	const struct advisor_options *options = session->options;
	struct advisor_looking looking = { session->analysis->run, &session->frequencies };
	struct np_progress progress;
	struct adv_advise_options how = {
		.library = session->library,
		.wants = wants,
		.context = options,
		.language = language_of(options),
		.workers = { .threads = (size_t)options->common.jobs,
			     .tick = np_progress_tick,
			     .tick_context = &progress },
		.merged = session->merged,
		.time = options->rules_timeout * 1000000000,
		.base = session->base,
		.graph_nodes = session->graphs.nodes.columns ? &session->graphs.nodes : NULL,
		.graph_edges = session->graphs.edges.columns ? &session->graphs.edges : NULL,
	};
	int rc = wants_page(options) ? advisor_look_for_page(&looking, &how, err) : NP_OK;

	if (rc < 0)
		return rc;
	np_progress_init(&progress, "applying rules", options->common.quiet);
	rc = adv_advise(session->analysis, &how, &session->advice, err);
	np_progress_end(&progress);
	return rc;
}

static int apply_policies(struct advisor_session *session, struct np_err *err)
{
	int rc = NP_OK;

	if (session->suppressions.doc)
		rc = adv_suppressions_apply(&session->suppressions, session->library,
					    session->advice, err);
	if (rc == NP_OK && session->baseline)
		adv_baseline_apply(session->baseline, session->advice);
	return rc;
}

/* Was there something that could not be used: ranks, parts of them, or rules? */
static bool is_partial(const struct advisor_session *session)
{
	const struct np_common *common = &session->options->common;
	const struct adv_advice *advice = session->advice;

	for (size_t i = 0; i < advice->rules.count; i++) {
		if (advice->rules.item[i].status == STATUS_ERROR)
			return true;
	}
	/* One that fires may have failed on another rank, which its reason says. */
	for (size_t i = 0; i < advice->result_count; i++) {
		if (advice->results[i].status == STATUS_ERROR)
			return true;
	}
	return session->library->problems.errors > 0 ||
	       prepare_is_partial(common, &session->analysis->run->notes) ||
	       prepare_is_partial(common, &advice->notes);
}

static int explain(const struct adv_rule_library *library, const struct advisor_options *options)
{
	const struct adv_rule *rule = adv_rule_library_find(library, options->explain);
	struct np_err err = NP_ERR_INIT;
	struct np_buf buf = NP_BUF_INIT;

	if (!rule) {
		(void)!adv_rule_library_missing(library, options->explain, &err);
		return np_cmd_usage(&np_cmd_advisor, "%s", err.text);
	}
	adv_rule_show(&buf, rule, (np_lang() == NP_LANG_ZH ? RULE_ZH : RULE_EN),
		      np_output_width(stdout));
	return np_output_release(&buf);
}

static int add_page(const struct advisor_session *session, const struct advisor_report *report,
		    struct np_run_page *page, struct np_err *err)
{
	const struct advisor_options *options = session->options;

	return advisor_add_to_page(
		page, session->analysis, report,
		(struct np_run_page_options){ .input = report->input,
					      .phase = options->common.phase_part,
					      .first = "findings",
					      .chinese = report->language == RULE_ZH,
					      .frequencies = &session->frequencies,
					      .threads = (size_t)options->common.jobs },
		err);
}

/* The files of the old tool, and where they are; in the current directory without -o. */
static int write_vendor(const struct advisor_session *session, const struct advisor_report *report,
			int status)
{
	const struct advisor_options *options = session->options;
	struct np_run_page page = NP_RUN_PAGE_INIT;
	const char *output = options->common.output ? options->common.output : ".";
	const char *phase = options->common.output ? NULL : options->common.phase_part;
	char *directory = phase ? np_join_path(output, phase) : strdup(output);
	struct advisor_vendor_paths paths = { 0 };
	struct np_err err = NP_ERR_INIT;

	if (!directory)
		return np_report(NP_EXIT_FAILED, "out of memory for a path");
	if (add_page(session, report, &page, &err) < 0 ||
	    advisor_vendor_files(report, &page, directory, &paths, &err) < 0)
		status = np_report(NP_EXIT_PARTIAL, "%s", err.text);
	else if (options->common.format == ADVISOR_TABLE)
		(void)fprintf(np_output_stream(), "\nthe page is '%s'%s%s%s\n", paths.html,
			      paths.xlsx ? ", the workbook '" : "", paths.xlsx ? paths.xlsx : "",
			      paths.xlsx ? "'" : "");
	advisor_vendor_paths_release(&paths);
	np_run_page_release(&page);
	free(directory);
	return status;
}

/* The page holds all phases, and is written behind the last one. */
static int print(const struct advisor_session *session, const struct advisor_report *report,
		 struct np_err *err)
{
	const struct np_common *common = &session->options->common;

	if (common->format == ADVISOR_HTML)
		return add_page(session, report, &session->options->page, err);
	return advisor_print(report, (enum advisor_format)common->format, np_output_stream(), err);
}

static int present(struct advisor_session *session)
{
	const struct advisor_options *options = session->options;
	struct np_err err = NP_ERR_INIT;
	const struct advisor_report report = {
		.advice = session->advice,
		.library = session->library,
		.input = options->common.dirs.count > 0 ? options->common.dirs.item[0] : ".",
		.version = NP_VERSION,
		.language = language_of(options),
		.width = np_output_width(stdout),
		.color = np_common_color(&options->common, stdout),
		.verbose = options->common.verbose > 0,
	};
	int status = is_partial(session) ? NP_EXIT_PARTIAL : NP_EXIT_DONE;
	size_t tripped = adv_gate_tripped(&session->gate, session->advice);

	if (options->common.output && !options->common.vendor_files && !options->common.agent &&
	    advisor_write_files(&report, options->common.output, &err) < 0)
		status = np_report(np_exit_unwritten(&err), "%s", err.text);
	say_notes(session);
	if (print(session, &report, &err) < 0 ||
	    advisor_answer(&report, options->common.phase_part, &err) < 0)
		return np_report(NP_EXIT_FAILED, "%s", err.text);
	/* The old tool writes no files where a line is asked for. */
	if (options->common.vendor_files && !options->common.agent)
		status = write_vendor(session, &report, status);
	if (tripped > 0 && session->gate.by_gain)
		return np_report(NP_EXIT_GATE, "the findings would gain %s or more",
				 options->fail_on);
	if (tripped > 0)
		return np_report(NP_EXIT_GATE, "%zu findings are of severity %s or higher", tripped,
				 options->fail_on);
	return status;
}

static int fail(const struct np_err *err)
{
	return err->code == NP_E_USAGE ? np_cmd_usage(&np_cmd_advisor, "%s", err->text)
				       : np_report(NP_EXIT_FAILED, "%s", err->text);
}

static int advise_session(struct advisor_session *session)
{
	struct np_err err = NP_ERR_INIT;

	if (session->options->fail_on &&
	    adv_gate_parse(session->options->fail_on, &session->gate, &err) < 0)
		return fail(&err);
	if (read_rules(session, &err) < 0) {
		say_problems(&session->library->problems);
		return fail(&err);
	}
	if (session->options->explain)
		return explain(session->library, session->options);
	say_problems(&session->library->problems);
	if (read_files(session, &err) < 0 || load_run(session, &err) < 0 ||
	    override_versions(session, &err) < 0 || load_base(session, &err) < 0 ||
	    run_rules(session, &err) < 0 || apply_policies(session, &err) < 0)
		return fail(&err);
	return present(session);
}

static int advisor(void *context)
{
	struct advisor_options *options = context;
	struct advisor_session session = { .options = options };
	int status;

	/* Before anything opens a database. */
	adv_sql_set_up();
	session.library = adv_rule_library_new();
	status = session.library ? advise_session(&session)
				 : np_report(NP_EXIT_FAILED, "out of memory for rules");
	release(&session);
	return status;
}

static int end_page(void *context, const struct np_phase_times *times, int status)
{
	struct advisor_options *options = context;

	return np_run_page_print(&options->page, times, status);
}

static int cmd_advisor(int argc, const char *const *argv)
{
	struct advisor_options options = { .page = NP_RUN_PAGE_INIT };
	int status;

	if (np_cmd_options(&np_cmd_advisor, argc, argv, &options, &status))
		status = options.explain
				 ? advisor(&options)
				 : phases_run(&(struct phases_job){
					   .command = &np_cmd_advisor,
					   .beside = true,
					   .schema = options.common.format == ADVISOR_SARIF
							     ? ""
							     : "npuprof.advisor/1",
					   .common = &options.common,
					   .picks = &options.picks,
					   .run = advisor,
					   .options = &options,
					   .end = options.common.format == ADVISOR_HTML ? end_page
											: NULL });
	np_run_page_release(&options.page);
	np_opt_release(&np_cmd_advisor.options, &options);
	return status;
}
