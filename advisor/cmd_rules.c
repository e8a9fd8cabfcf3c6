/* SPDX-License-Identifier: Apache-2.0 */
/* The command rules: list, show, check and test them, and list what they can read. */
#include <fnmatch.h>
#include <string.h>

#include "cli/command/cmd.h"
#include "cli/command/common.h"
#include "cli/command/output.h"

#include "npuprof/grid.h"
#include "npuprof/jsonout.h"
#include "npuprof/lang.h"
#include "npuprof/say.h"

#include "advisor/engine/fixture/fixture.h"
#include "advisor/engine/rules/rule_show.h"
#include "advisor/present/advisor_report.h"

struct rules_options {
	struct np_opt_list words;
	struct np_opt_list rules;
	int format;
	bool no_color;
};

static const char *const formats[] = { "table", "json", NULL };

static const struct np_opt own_options[] = {
	{
		.name = "rules",
		.kind = NP_OPT_LIST,
		.fill = NP_FILL_DIRECTORY,
		.offset = offsetof(struct rules_options, rules),
		.value = "DIR",
		.help = "read the rules in this directory or file, too; may be repeated",
	},
	{
		.letter = 'f',
		.name = "format",
		.kind = NP_OPT_CHOICE,
		.offset = offsetof(struct rules_options, format),
		.value = "FORMAT",
		.help = "print the list as",
		.choices = formats,
		.preset = "table",
	},
	{
		.name = "no-color",
		.kind = NP_OPT_FLAG,
		.offset = offsetof(struct rules_options, no_color),
		.help = "print without colours, as with NO_COLOR in the environment",
	},
};

static const struct np_opt_group groups[] = {
	{ "Rules", own_options, NP_COUNT(own_options), 0 },
	NP_GROUP_GENERAL,
};

/* What can be done with rules, and the ids of those there are. */
static void offer_actions(struct np_buf *words)
{
	np_buf_add(words, " list show check test views");
	adv_rules_offer(words);
}

static const struct np_opt_operand operand = {
	.option = { .kind = NP_OPT_LIST,
		    .offer = offer_actions,
		    .value = "list|show|check|test|views",
		    .offset = offsetof(struct rules_options, words) },
	.least = 1,
	.most = NP_OPERANDS_ANY,
};

static int cmd_rules(int argc, const char *const *argv);

const struct np_cmd np_cmd_rules = {
	.name = "rules",
	.topic = "Analysing a run",
	.synopsis = "[options] list|show|check|test|views [ID|FILE...]",
	.summary = "list, explain, check and test the rules of the advisor",
	.about =
		"list shows the rules there are, show explains one. check reads rule files, "
		"prepares their SQL and compiles their patterns; test runs the tests that they "
		"carry, too. views lists what rules can read. Without files, check and test take the rules of the program and of "
		"--rules.",
	.run = cmd_rules,
	.options = { .groups = groups, .count = NP_COUNT(groups), .operand = &operand },
	.statuses = NP_EXITS_PLAIN,
};

/* Does the rule's id fit one of the words, or are there none? */
static bool is_chosen(const struct adv_rule *rule, const char *const *words, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (fnmatch(words[i], rule->id, 0) == 0)
			return true;
	}
	return count == 0;
}

static int list_json(const struct adv_rule_library *library, const struct rules_options *options)
{
	enum adv_rule_language language = (np_lang() == NP_LANG_ZH ? RULE_ZH : RULE_EN);
	struct np_err err = NP_ERR_INIT;
	struct np_jsonout out;
	int rc;

	np_jsonout_init(&out, stdout);
	np_jsonout_object(&out, NULL);
	np_jsonout_text(&out, "schema", "npuprof.rule-list/1");
	np_jsonout_array(&out, "rules");
	for (size_t i = 0; i < library->rules.count; i++) {
		const struct adv_rule *rule = library->rules.item[i];

		if (!is_chosen(rule, options->words.item + 1, options->words.count - 1))
			continue;
		np_jsonout_object_line(&out, NULL);
		np_jsonout_text(&out, "id", rule->id);
		np_jsonout_text(&out, "dimension", rule->dimension);
		np_jsonout_text(&out, "title", adv_rule_text_in(rule->title, language));
		np_jsonout_text(&out, "scope", rule->over_cluster ? "cluster" : "rank");
		np_jsonout_bool(&out, "enabled", rule->enabled);
		np_jsonout_integer(&out, "tests", (int64_t)np_json_count(rule->tests));
		np_jsonout_text(&out, "file", rule->file->path);
		np_jsonout_end(&out);
	}
	np_jsonout_end(&out);
	np_jsonout_end(&out);
	rc = np_jsonout_finish(&out, &err);
	np_jsonout_release(&out);
	return rc == NP_OK ? NP_EXIT_DONE : np_report(NP_EXIT_FAILED, "%s", err.text);
}

static int list_table(const struct adv_rule_library *library, const struct rules_options *options)
{
	static const struct np_grid_column columns[] = {
		{ "rule", NP_LEFT, false },         { "dimension", NP_LEFT, false },
		{ "over", NP_LEFT, false },         { "tests", NP_RIGHT, false },
		{ "what it finds", NP_LEFT, true },
	};
	NP_CLEANUP(np_grid_freep) struct np_grid *grid = np_grid_new(columns, NP_COUNT(columns));
	const struct np_common common = { .no_color = options->no_color };
	struct np_buf buf = NP_BUF_INIT;
	struct np_err err = NP_ERR_INIT;

	if (!grid)
		return np_report(NP_EXIT_FAILED, "out of memory for the list");
	for (size_t i = 0; i < library->rules.count; i++) {
		const struct adv_rule *rule = library->rules.item[i];

		if (!is_chosen(rule, options->words.item + 1, options->words.count - 1))
			continue;
		np_grid_cell(grid, rule->id);
		np_grid_cell(grid, rule->dimension);
		np_grid_cell(grid, np_lang_text(rule->over_cluster ? "cluster" : "rank"));
		np_grid_printf(grid, "%zu", np_json_count(rule->tests));
		np_grid_printf(grid, "%s%s",
			       adv_rule_text_in(rule->title,
						(np_lang() == NP_LANG_ZH ? RULE_ZH : RULE_EN)),
			       rule->enabled ? "" : np_lang_text(" (off)"));
	}
	if (np_grid_rows(grid) == 0)
		return np_report(NP_EXIT_FAILED, "there is no such rule");
	if (np_grid_write(grid, &buf, 0, np_output_width(stdout), np_common_color(&common, stdout),
			  &err) < 0) {
		np_buf_release(&buf);
		return np_report(NP_EXIT_FAILED, "%s", err.text);
	}
	return np_output_release(&buf);
}

static int show(const struct adv_rule_library *library, const struct rules_options *options)
{
	struct np_err err = NP_ERR_INIT;
	struct np_buf buf = NP_BUF_INIT;
	size_t shown = 0;

	if (options->words.count < 2)
		return np_cmd_usage(&np_cmd_rules, "show needs the id of a rule");
	for (size_t i = 0; i < library->rules.count; i++) {
		const struct adv_rule *rule = library->rules.item[i];

		if (!is_chosen(rule, options->words.item + 1, options->words.count - 1))
			continue;
		np_buf_add(&buf, shown++ > 0 ? "\n" : "");
		adv_rule_show(&buf, rule, (np_lang() == NP_LANG_ZH ? RULE_ZH : RULE_EN),
			      np_output_width(stdout));
	}
	if (shown == 0) {
		np_buf_release(&buf);
		(void)!adv_rule_library_missing(library, options->words.item[1], &err);
		return np_cmd_usage(&np_cmd_rules, "%s", err.text);
	}
	return np_output_release(&buf);
}

/* Check all rules, and test them if that is asked for. */
static int check(struct adv_rule_library *library, const struct rules_options *options, bool test)
{
	struct np_buf buf = NP_BUF_INIT;
	struct adv_test_counts counts = { 0, 0 };
	size_t untested = 0;

	for (size_t i = 0; i < library->rules.count; i++) {
		const struct adv_rule *rule = library->rules.item[i];
		size_t errors = library->problems.errors;

		adv_rule_check(rule, &library->problems);
		untested += np_json_count(rule->tests) == 0;
		if (test && library->problems.errors == errors)
			adv_rule_test(rule, &library->problems, &counts);
	}
	say_problems(&library->problems);
	if (library->files.count == 0)
		return np_report(NP_EXIT_FAILED, "there are no rules");
	np_say(&buf, "{1} rules in {2} files, {3} errors", NP_SAID_INT(library->rules.count),
	       NP_SAID_INT(library->files.count),
	       NP_SAID_INT(library->problems.errors - counts.failed));
	if (test)
		np_say(&buf, ", {1} tests passed, {2} failed", NP_SAID_INT(counts.passed),
		       NP_SAID_INT(counts.failed));
	np_buf_add_char(&buf, '\n');
	if (untested > 0)
		np_say(&buf, "{1} rules have no tests\n", NP_SAID_INT(untested));
	(void)options;
	if (np_output_release(&buf) != 0)
		return NP_EXIT_FAILED;
	return library->problems.errors > 0 ? NP_EXIT_FAILED : NP_EXIT_DONE;
}

/* What rules can read, as the list in rules/README.md. */
static int list_views(void)
{
	struct np_buf buf = NP_BUF_INIT;

	np_buf_add(&buf, "| view | over | columns |\n|---|---|---|\n");
	for (size_t i = 0; i < adv_view_catalog_count(); i++) {
		struct adv_view_description view = adv_view_catalog(i);

		np_buf_printf(&buf, "| `%s` | %s%s%s | ", view.name,
			      view.scope & VIEW_RANK ? "rank" : "",
			      view.scope == (VIEW_RANK | VIEW_CLUSTER) ? ", " : "",
			      view.scope & VIEW_CLUSTER ? "cluster" : "");
		for (size_t c = 0; c < view.column_count; c++)
			np_buf_printf(&buf, "%s%s", c > 0 ? ", " : "", view.columns[c].name);
		np_buf_printf(&buf, " — %s |\n", view.what);
	}
	return np_output_release(&buf);
}

/* list and show read all rules; check and test read the files they are given. */
static int read_rules(struct adv_rule_library *library, const struct rules_options *options,
		      bool files, struct np_err *err)
{
	int rc = NP_OK;

	if (!files || options->words.count < 2)
		return adv_rules_read_all(library, options->rules.item, options->rules.count, err);
	for (size_t i = 0; i < options->rules.count && rc == NP_OK; i++)
		rc = adv_rule_library_read(library, options->rules.item[i], err);
	for (size_t i = 1; i < options->words.count && rc == NP_OK; i++)
		rc = adv_rule_library_read(library, options->words.item[i], err);
	return rc == NP_OK ? adv_rule_library_finish(library, err) : rc;
}

static int rules(const struct rules_options *options)
{
	static const char *const actions[] = { "list", "show", "check", "test", "views" };
	NP_CLEANUP(adv_rule_library_freep)
	struct adv_rule_library *library = adv_rule_library_new();
	struct np_err err = NP_ERR_INIT;
	const char *action = options->words.item[0];
	size_t chosen = 0;

	while (chosen < NP_COUNT(actions) && strcmp(actions[chosen], action) != 0)
		chosen++;
	if (chosen == NP_COUNT(actions))
		return np_cmd_usage(
			&np_cmd_rules,
			"unknown action '%s'; it is one of list, show, check, test or views",
			action);
	if (chosen == 4)
		return list_views();
	if (!library)
		return np_report(NP_EXIT_FAILED, "out of memory for rules");
	if (read_rules(library, options, chosen >= 2, &err) < 0)
		return np_report(NP_EXIT_FAILED, "%s", err.text);
	if (chosen >= 2)
		return check(library, options, chosen == 3);
	say_problems(&library->problems);
	if (chosen == 1)
		return show(library, options);
	return options->format == 1 ? list_json(library, options) : list_table(library, options);
}

static int cmd_rules(int argc, const char *const *argv)
{
	struct rules_options options = { 0 };
	int status;

	if (np_cmd_options(&np_cmd_rules, argc, argv, &options, &status))
		status = rules(&options);
	np_opt_release(&np_cmd_rules.options, &options);
	return status;
}
