/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "advisor_report.h"
#include "cmd.h"
#include "common.h"
#include "output.h"
#include "prepare.h"
#include "progress.h"

#include "npuprof/discover.h"
#include "npuprof/text.h"

#include "graph.h"
#include "locate.h"
#include "merged.h"
#include "policy.h"
#include "rule_show.h"

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
	int language;
};

enum format {
	FORMAT_TABLE,
	FORMAT_JSON,
	FORMAT_CSV,
	FORMAT_MD,
	FORMAT_SARIF,
};

static const char *const formats[] = {
	[FORMAT_TABLE] = "table", [FORMAT_JSON] = "json",   [FORMAT_CSV] = "csv",
	[FORMAT_MD] = "md",       [FORMAT_SARIF] = "sarif", NULL,
};

static const char *const languages[] = { [RULE_EN] = "en", [RULE_ZH] = "zh", NULL };

static const struct np_opt rule_options[] = {
	{
		.name = "rule",
		.kind = NP_OPT_LIST,
		.offset = offsetof(struct advisor_options, wanted),
		.value = "GLOB[,GLOB...]",
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
		.help = "print the result as",
		.choices = formats,
		.preset = "table",
	},
	{
		.name = "lang",
		.kind = NP_OPT_CHOICE,
		.offset = offsetof(struct advisor_options, language),
		.value = "LANG",
		.help = "language of the texts",
		.choices = languages,
		.preset = "en",
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

static bool wants_rule(void *context, const struct rule *rule)
{
	const struct advisor_options *options = context;
	bool exact = false;

	if (options->wanted.count > 0 && !fits(&options->wanted, rule->id, &exact))
		return false;
	if (options->dimensions.count > 0 && !fits(&options->dimensions, rule->dimension, NULL))
		return false;
	return rule->enabled || exact;
}

static void say_problems(const struct problems *problems)
{
	for (size_t i = 0; i < problems->list.count; i++) {
		struct np_buf line = NP_BUF_INIT;

		problem_format(&line, &problems->list.item[i]);
		(void)np_report(0, "%s", line.text);
		np_buf_release(&line);
	}
}

/* At least one rule must be left. */
static int check_choice(const struct rule_library *library, struct advisor_options *options,
			struct np_err *err)
{
	for (size_t i = 0; i < library->rules.count; i++) {
		if (wants_rule(options, library->rules.item[i]))
			return NP_OK;
	}
	if (options->wanted.count > 0 || options->dimensions.count > 0)
		return np_fail(err, NP_E_USAGE,
			       "no rule fits --rule and --dimension; see npuprof rules list");
	return np_fail(err, NP_E_NOTFOUND,
		       "there are no rules beside the program; name some with --rules DIR");
}

static int read_rules(struct rule_library *library, struct advisor_options *options,
		      struct np_err *err)
{
	int rc = rules_read_all(library, options->rules.item, options->rules.count, err);

	for (size_t i = 0; i < options->sets.count && rc == NP_OK; i++)
		rc = rule_library_set(library, options->sets.item[i], err);
	return rc == NP_OK ? check_choice(library, options, err) : rc;
}

static int explain(const struct rule_library *library, const struct advisor_options *options)
{
	const struct rule *rule = rule_library_find(library, options->explain);
	struct np_buf buf = NP_BUF_INIT;

	if (!rule)
		return np_cmd_usage(&np_cmd_advisor,
				    "there is no rule '%s'; see npuprof rules list",
				    options->explain);
	rule_show(&buf, rule, (enum rule_language)options->language, np_output_width(stdout));
	return np_output_release(&buf);
}

static int print_text(const struct advisor_report *report,
		      int (*form)(const struct advisor_report *, struct np_buf *, struct np_err *),
		      FILE *stream, struct np_err *err)
{
	struct np_buf buf = NP_BUF_INIT;
	int rc = form(report, &buf, err);

	if (rc == NP_OK && fwrite(buf.text, 1, buf.length, stream) != buf.length)
		rc = np_fail(err, NP_E_IO, "cannot write the result");
	np_buf_release(&buf);
	return rc;
}

static int print(const struct advisor_report *report, enum format format, FILE *stream,
		 struct np_err *err)
{
	switch (format) {
	case FORMAT_JSON:
		return advisor_report_json(report, stream, err);
	case FORMAT_SARIF:
		return advisor_report_sarif(report, stream, err);
	case FORMAT_CSV:
		return advisor_report_csv(report, stream, err);
	case FORMAT_MD:
		return print_text(report, advisor_report_markdown, stream, err);
	case FORMAT_TABLE:
	default:
		return print_text(report, advisor_report_screen, stream, err);
	}
}

/* One file, under a temporary name until it is complete. */
static int write_file(const struct advisor_report *report, const char *directory,
		      enum format format, struct np_err *err)
{
	char *path = NULL;
	char *temporary = NULL;
	FILE *stream;
	int rc;

	if (asprintf(&path, "%s/advisor.%s", directory, formats[format]) < 0)
		return np_fail_nomem(err, directory);
	if (asprintf(&temporary, "%s.tmp", path) < 0) {
		free(path);
		return np_fail_nomem(err, directory);
	}
	stream = fopen(temporary, "we");
	rc = stream ? print(report, format, stream, err)
		    : np_fail(err, NP_E_IO, "cannot write '%s': %s", path, strerrordesc_np(errno));
	if (stream && fclose(stream) != 0 && rc == NP_OK)
		rc = np_fail(err, NP_E_IO, "cannot write '%s': %s", path, strerrordesc_np(errno));
	if (rc == NP_OK && rename(temporary, path) < 0)
		rc = np_fail(err, NP_E_IO, "cannot write '%s': %s", path, strerrordesc_np(errno));
	if (rc < 0 && stream)
		(void)unlink(temporary);
	free(temporary);
	free(path);
	return rc;
}

static int write_files(const struct advisor_report *report, const char *directory,
		       struct np_err *err)
{
	static const enum format files[] = { FORMAT_JSON, FORMAT_SARIF, FORMAT_CSV, FORMAT_MD };
	int rc = NP_OK;

	if (mkdir(directory, 0777) < 0 && errno != EEXIST)
		return np_fail(err, NP_E_IO, "cannot create '%s': %s", directory,
			       strerrordesc_np(errno));
	for (size_t i = 0; i < NP_COUNT(files) && rc == NP_OK; i++)
		rc = write_file(report, directory, files[i], err);
	return rc;
}

/* Everything between the options and the output. */
struct session {
	struct advisor_options *options;
	struct rule_library *library;
	struct np_analysis *analysis;
	char *merged; /* the fresh merged database that is used, or NULL */
	struct np_analysis *base;
	struct graphs graphs;
	struct advice *advice;
	struct suppressions suppressions;
	struct gate gate;
};

static void release(struct session *session)
{
	advice_free(session->advice);
	suppressions_release(&session->suppressions);
	graphs_release(&session->graphs);
	np_analysis_free(session->base);
	np_analysis_free(session->analysis);
	free(session->merged);
	rule_library_free(session->library);
}

static int load_base(struct session *session, struct np_err *err)
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
	static const struct np_discover_options all = { .picks = NULL };
	NP_CLEANUP(np_run_freep) struct np_run *run = np_run_new();
	struct np_err err = NP_ERR_INIT;
	char *path = NULL;

	/* A choice of ranks or steps is not what was merged. */
	if (!run || common->dirs.count != 1 || common->ranks.set || common->steps.set ||
	    np_discover(run, common->dirs.item, 1, &all, &err) < 0)
		return NULL;
	if (asprintf(&path, "%s/cluster_analysis_output/cluster_analysis.db",
		     common->dirs.item[0]) < 0)
		return NULL;
	if (!merged_is_fresh(path, run, NP_VERSION)) {
		free(path);
		return NULL;
	}
	return path;
}

/* With a fresh merged database the ranks are loaded, and nothing is measured again. */
static int load_merged(struct session *session, const struct np_common *common, struct np_err *err)
{
	int rc;

	session->analysis = calloc(1, sizeof(*session->analysis));
	if (!session->analysis)
		return np_fail_nomem(err, "the run");
	rc = prepare_run(common, &session->options->picks, &session->analysis->run, err);
	if (rc == NP_OK)
		rc = np_cluster_build(session->analysis->run, &session->analysis->cluster, err);
	session->analysis->tables.cluster = session->analysis->cluster;
	return rc;
}

static int load(struct session *session, struct np_err *err)
{
	static const char *here[] = { "." };
	struct advisor_options *options = session->options;
	struct np_common common = options->common;
	int rc;

	if (common.dirs.count == 0)
		common.dirs = (struct np_opt_list){ .item = here, .count = NP_COUNT(here) };
	if (options->picks.count == 0)
		session->merged = find_merged(&common);
	rc = session->merged ? load_merged(session, &common, err) : NP_OK;
	/* It turned out not to be whole. */
	if (rc == NP_OK && session->merged &&
	    !merged_is_whole(session->merged, session->analysis->cluster)) {
		np_analysis_free(NP_STEAL(session->analysis));
		free(NP_STEAL(session->merged));
	}
	if (rc == NP_OK && !session->merged)
		rc = prepare_analysis(&common, &options->picks, &session->analysis, err);
	if (rc == NP_OK && session->merged && common.verbose > 0)
		(void)np_report(0, "the merged tables of '%s' are fresh", session->merged);
	if (rc == NP_OK)
		rc = load_base(session, err);
	for (size_t i = 0; i < options->graphs.count && rc == NP_OK; i++)
		rc = graph_read(&session->graphs, options->graphs.item[i], err);
	return rc;
}

static int run_rules(struct session *session, struct np_err *err)
{
	struct advisor_options *options = session->options;
	struct np_progress progress;
	const struct advise_options how = {
		.library = session->library,
		.wants = wants_rule,
		.context = options,
		.language = (enum rule_language)options->language,
		.workers = { .threads = (size_t)options->common.jobs,
			     .tick = np_progress_tick,
			     .tick_context = &progress },
		.merged = session->merged,
		.base = session->base,
		.graph_nodes = session->graphs.nodes.columns ? &session->graphs.nodes : NULL,
		.graph_edges = session->graphs.edges.columns ? &session->graphs.edges : NULL,
	};
	int rc;

	np_progress_init(&progress, "applying rules", options->common.quiet);
	rc = advise(session->analysis, &how, &session->advice, err);
	np_progress_end(&progress);
	return rc;
}

static int apply_policies(struct session *session, struct np_err *err)
{
	static const char usual[] = "npuprof-suppress.json";
	const char *suppress = session->options->suppress;
	int rc = NP_OK;

	if (!suppress && access(usual, R_OK) == 0)
		suppress = usual;
	if (suppress)
		rc = suppressions_apply(&session->suppressions, suppress, session->advice, err);
	if (rc == NP_OK && session->options->baseline)
		rc = baseline_apply(session->options->baseline, session->advice, err);
	return rc;
}

/* Something could not be used: ranks, parts of them, or rules. */
static bool is_partial(const struct session *session)
{
	const struct advice *advice = session->advice;

	for (size_t i = 0; i < advice->rules.count; i++) {
		if (advice->rules.item[i].status == STATUS_ERROR)
			return true;
	}
	return session->library->problems.errors > 0 ||
	       np_notes_count(&session->analysis->run->notes, NP_NOTE_SKIPPED) > 0 ||
	       np_notes_count(&advice->notes, NP_NOTE_SKIPPED) > 0;
}

static int present(struct session *session)
{
	const struct advisor_options *options = session->options;
	struct np_err err = NP_ERR_INIT;
	const struct advisor_report report = {
		.advice = session->advice,
		.library = session->library,
		.input = options->common.dirs.count > 0 ? options->common.dirs.item[0] : ".",
		.version = NP_VERSION,
		.language = (enum rule_language)options->language,
		.width = np_output_width(stdout),
		.color = np_common_color(&options->common, stdout),
		.verbose = options->common.verbose > 0,
	};
	int status = is_partial(session) ? NP_EXIT_PARTIAL : NP_EXIT_DONE;
	size_t tripped = gate_tripped(&session->gate, session->advice);

	if (options->common.output && write_files(&report, options->common.output, &err) < 0)
		status = np_report(NP_EXIT_PARTIAL, "%s", err.text);
	if (print(&report, (enum format)options->common.format, stdout, &err) < 0)
		return np_report(NP_EXIT_FAILED, "%s", err.text);
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

static int advise_session(struct session *session)
{
	struct np_err err = NP_ERR_INIT;

	if (session->options->fail_on &&
	    gate_parse(session->options->fail_on, &session->gate, &err) < 0)
		return fail(&err);
	if (read_rules(session->library, session->options, &err) < 0) {
		say_problems(&session->library->problems);
		return fail(&err);
	}
	if (session->options->explain)
		return explain(session->library, session->options);
	say_problems(&session->library->problems);
	if (load(session, &err) < 0 || run_rules(session, &err) < 0 ||
	    apply_policies(session, &err) < 0)
		return fail(&err);
	return present(session);
}

static int advisor(struct advisor_options *options)
{
	struct session session = { .options = options };
	int status;

	/* Before anything opens a database. */
	sql_set_up();
	session.library = rule_library_new();
	status = session.library ? advise_session(&session)
				 : np_report(NP_EXIT_FAILED, "out of memory for rules");
	release(&session);
	return status;
}

static int cmd_advisor(int argc, const char *const *argv)
{
	struct advisor_options options = { .language = 0 };
	int status;

	if (np_cmd_options(&np_cmd_advisor, argc, argv, &options, &status))
		status = advisor(&options);
	np_opt_release(&np_cmd_advisor.options, &options);
	return status;
}
