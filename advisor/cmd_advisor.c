/* SPDX-License-Identifier: Apache-2.0 */
#include "advisor/present/advisor_problems.h"
#include "advisor/present/advisor_report.h"
#include "advisor_session.h"
#include "cli/command/cmd.h"
#include "cli/command/output.h"

#include "advisor/engine/rules/rule_show.h"

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
		.choices = advisor_formats,
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
	.distributed = true,
};

static int explain(const struct rule_library *library, const struct advisor_options *options)
{
	const struct rule *rule = rule_library_find(library, options->explain);
	struct np_err err = NP_ERR_INIT;
	struct np_buf buf = NP_BUF_INIT;

	if (!rule) {
		(void)!rule_library_missing(library, options->explain, &err);
		return np_cmd_usage(&np_cmd_advisor, "%s", err.text);
	}
	rule_show(&buf, rule, (enum rule_language)options->language, np_output_width(stdout));
	return np_output_release(&buf);
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
	int status = session_is_partial(session) ? NP_EXIT_PARTIAL : NP_EXIT_DONE;
	size_t tripped = gate_tripped(&session->gate, session->advice);

	if (options->common.output &&
	    advisor_write_files(&report, options->common.output, &err) < 0)
		status = np_report(NP_EXIT_PARTIAL, "%s", err.text);
	if (advisor_print(&report, (enum advisor_format)options->common.format, stdout, &err) < 0)
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
	if (session_read_rules(session, &err) < 0) {
		say_problems(&session->library->problems);
		return fail(&err);
	}
	if (session->options->explain)
		return explain(session->library, session->options);
	say_problems(&session->library->problems);
	if (session_load(session, &err) < 0 || session_run_rules(session, &err) < 0 ||
	    session_apply_policies(session, &err) < 0)
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
	session_release(&session);
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
