/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "npuprof/text.h"

#include "advisor/engine/views/view.h"
#include "rule_reader.h"

/* Columns that cut a query into parts. */
#define PER_LIMIT 8

static const char *const rule_keys[] = {
	"id",       "version",     "enabled",    "extends",  "title",  "about",    "dimension",
	"tags",     "when",        "level",      "requires", "scope",  "params",   "with",
	"query",    "filter",      "match",      "summary",  "fire",   "severity", "confidence",
	"gain",     "repair",      "group",      "message",  "advice", "docs",     "evidence",
	"location", "fingerprint", "timeout_ms", "tests",    NULL,
};

static void read_identity(struct reader *reader)
{
	struct rule *rule = reader->rule;
	struct value value = reader_field(reader, "version");

	rule->version = 1;
	if (value.node && (!np_json_integer(value.node, &rule->version) || rule->version < 1))
		reader_complain(reader, &value, "version must be a whole number from 1");
	value = reader_field(reader, "enabled");
	rule->enabled = true;
	if (value.node && !np_json_bool(value.node, &rule->enabled))
		reader_complain(reader, &value, "enabled must be true or false");
	value = reader_field(reader, "dimension");
	rule->dimension = reader_text(reader, &value, "dimension");
	if (!rule->dimension)
		reader_complain(reader, &value, "the rule has no 'dimension'");
	value = reader_field(reader, "group");
	rule->group = reader_text(reader, &value, "group");
	value = reader_field(reader, "timeout_ms");
	rule->timeout_ms = 0;
	if (value.node && (!np_json_integer(value.node, &rule->timeout_ms) ||
			   rule->timeout_ms < 1 || rule->timeout_ms > 60000))
		reader_complain(reader, &value, "timeout_ms must be from 1 to 60000");
	rule->title = reader_language_field(reader, "title", true);
	rule->about = reader_language_field(reader, "about", false);
	rule->message = reader_language_field(reader, "message", true);
	reader_texts(reader, reader_field(reader, "tags"), "tags", &rule->tags);
	reader_texts(reader, reader_field(reader, "docs"), "docs", &rule->docs);
}

static void check_view(struct reader *reader, const struct value *value, const char *view,
		       const char *column)
{
	struct view_description known;

	if (!view_describe(view, &known)) {
		reader_complain(reader, value, "there is no view '%s'", view);
		return;
	}
	for (size_t i = 0; column && i < known.column_count; i++) {
		if (strcmp(known.columns[i].name, column) == 0)
			return;
	}
	if (column)
		reader_complain(reader, value, "%s has no column '%s'", view, column);
}

/* {"v_kernel": ["in_shapes"]}, or ["v_kernel"] when any row will do. */
static void read_needs(struct reader *reader)
{
	struct value needs = reader_field(reader, "requires");
	struct np_json_entry entry = NP_JSON_ENTRY_INIT;
	struct value level = reader_field(reader, "level");

	reader->rule->level = 0;
	if (level.node && (!np_json_integer(level.node, &reader->rule->level) ||
			   reader->rule->level < 0 || reader->rule->level > 2))
		reader_complain(reader, &level, "level must be 0, 1 or 2");
	if (needs.node && !value_is(&needs, NP_JSON_OBJECT)) {
		reader_complain(reader, &needs, "requires must be an object of views and columns");
		return;
	}
	while (np_json_next(needs.node, &entry)) {
		struct value columns = { entry.value, needs.file,
					 reader_path(reader, needs.path, entry.key) };
		struct rule_need *need = READER_ADD(reader, &reader->rule->needs);

		if (!need)
			return;
		need->view = entry.key;
		check_view(reader, &columns, entry.key, NULL);
		reader_texts(reader, columns, "columns", &need->columns);
		for (size_t i = 0; i < need->columns.count; i++)
			check_view(reader, &columns, entry.key, need->columns.item[i]);
	}
}

/* "rank", "cluster", or {"over": …, "per": […], "focus": …}. */
static void read_scope(struct reader *reader)
{
	static const char *const keys[] = { "over", "per", "focus", NULL };
	struct value scope = reader_field(reader, "scope");
	struct rule *rule = reader->rule;
	struct value over = scope;
	bool by_rank = false;
	const char *text;

	if (value_is(&scope, NP_JSON_OBJECT)) {
		struct value focus = reader_member(reader, &scope, "focus");

		reader_check_keys(reader, &scope, keys);
		over = reader_member(reader, &scope, "over");
		if (np_json_member(scope.node, "per"))
			reader_texts(reader, reader_member(reader, &scope, "per"), "per",
				     &rule->per);
		text = np_json_text(focus.node);
		if (!text || strcmp(text, "all") != 0)
			rule->focus = reader_sql(reader, &focus, "focus");
	}
	for (size_t i = 0; i < rule->per.count; i++) {
		by_rank = by_rank || strcmp(rule->per.item[i], "rank") == 0;
		if (!rule_is_name(rule->per.item[i]))
			reader_complain(reader, &scope, "'%s' is no column", rule->per.item[i]);
	}
	if (rule->per.count > PER_LIMIT)
		reader_complain(reader, &scope, "'per' has more than %d columns", PER_LIMIT);
	text = over.node ? reader_text(reader, &over, "scope") : by_rank ? "rank" : NULL;
	if (text && strcmp(text, "rank") != 0 && strcmp(text, "cluster") != 0)
		reader_complain(reader, &over, "scope is 'rank' or 'cluster'");
	if (!text && rule->per.count == 0 && (!scope.node || value_is(&scope, NP_JSON_NULL)))
		reader_complain(reader, &scope, "the rule has no 'scope'");
	rule->over_cluster = !text || strcmp(text, "cluster") == 0;
	if (rule->focus.text && rule->per.count == 0)
		reader_complain(reader, &scope, "'focus' needs columns in 'per'");
	/* Rules over ranks see one rank at a time; "cluster" in per is the whole. */
	for (size_t i = 0; i < rule->per.count;) {
		const char *per = rule->per.item[i];

		if (strcmp(per, "cluster") != 0 &&
		    (rule->over_cluster || strcmp(per, "rank") != 0)) {
			i++;
			continue;
		}
		memmove(&rule->per.item[i], &rule->per.item[i + 1],
			(rule->per.count - i - 1) * sizeof(*rule->per.item));
		rule->per.count--;
	}
}

static double bound_of(struct reader *reader, const struct value *param, const char *key)
{
	struct value value = reader_member(reader, param, key);
	double number = (double)NAN;

	if (value.node && !np_json_real(value.node, &number))
		reader_complain(reader, &value, "%s must be a number", key);
	return number;
}

static struct rule_param *find_param(struct rule *rule, const char *name)
{
	for (size_t i = 0; i < rule->params.count; i++) {
		if (strcmp(rule->params.item[i].name, name) == 0)
			return &rule->params.item[i];
	}
	return NULL;
}

static void read_param(struct reader *reader, const struct value *value, const char *name)
{
	static const char *const keys[] = { "value", "unit", "min", "max", "what", NULL };
	struct rule_param *param = find_param(reader->rule, name);
	struct value text;

	if (!reader_check_name(reader, value, name))
		return;
	if (!param)
		param = READER_ADD(reader, &reader->rule->params);
	if (!param)
		return;
	*param = (struct rule_param){ .name = name, .low = (double)NAN, .high = (double)NAN };
	param->value = value->node;
	if (!value_is(value, NP_JSON_OBJECT))
		return;
	reader_check_keys(reader, value, keys);
	param->value = np_json_member(value->node, "value");
	if (!param->value)
		reader_complain(reader, value, "parameter '%s' has no value", name);
	param->per_chip = np_json_type(param->value) == NP_JSON_OBJECT &&
			  np_json_member(param->value, "*") != NULL;
	text = reader_member(reader, value, "unit");
	param->unit = reader_text(reader, &text, "unit");
	text = reader_member(reader, value, "what");
	(void)reader_text(reader, &text, "what");
	param->low = bound_of(reader, value, "min");
	param->high = bound_of(reader, value, "max");
}

/* Those of the rule it extends come first, so that its own replace them. */
static void read_params(struct reader *reader, const struct rule *rule)
{
	const struct value whole = { rule->json, rule->file, rule->path };
	struct value params = reader_member(reader, &whole, "params");
	struct np_json_entry entry = NP_JSON_ENTRY_INIT;

	if (rule->base)
		read_params(reader, rule->base);
	if (params.node && !value_is(&params, NP_JSON_OBJECT)) {
		reader_complain(reader, &params, "params must be an object");
		return;
	}
	while (np_json_next(params.node, &entry)) {
		struct value value = { entry.value, params.file,
				       reader_path(reader, params.path, entry.key) };

		read_param(reader, &value, entry.key);
	}
}

/* A test that expects nothing would always pass, and one that is no object would never run. */
static void read_tests(struct reader *reader)
{
	const struct value whole = { reader->rule->json, reader->rule->file, reader->rule->path };
	struct value tests = reader_member(reader, &whole, "tests");

	reader->rule->tests = tests.node;
	if (tests.node && !value_is(&tests, NP_JSON_ARRAY))
		reader_complain(reader, &tests, "tests must be an array");
	for (size_t i = 0; value_is(&tests, NP_JSON_ARRAY) && i < np_json_count(tests.node); i++) {
		struct value test = reader_item(reader, &tests, i);
		struct value expect = reader_member(reader, &test, "expect");

		if (reader_is_object(reader, &test, "a test") &&
		    (!value_is(&expect, NP_JSON_OBJECT) || np_json_count(expect.node) == 0))
			reader_complain(reader, &expect, "the test expects nothing");
	}
}

bool rule_parse(struct rule_library *library, struct rule *rule)
{
	struct reader reader = { .library = library, .rule = rule };
	const struct value whole = { rule->json, rule->file, rule->path };

	reader_check_keys(&reader, &whole, rule_keys);
	read_identity(&reader);
	read_needs(&reader);
	read_scope(&reader);
	read_params(&reader, rule);
	rule_read_with(&reader);
	rule->when = reader_sql_field(&reader, "when", false);
	rule->query = reader_sql_field(&reader, "query", true);
	rule->filter = reader_sql_field(&reader, "filter", false);
	rule_read_matches(&reader);
	rule_read_summary(&reader);
	rule->fire = reader_sql_field(&reader, "fire", true);
	rule_read_finding(&reader);
	read_tests(&reader);
	return !reader.failed;
}
