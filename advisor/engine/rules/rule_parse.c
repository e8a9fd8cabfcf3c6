/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a rule from its JSON. */
#include "rule_reader.h"

#include <math.h>
#include <string.h>

#include "npuprof/text.h"

#include "advisor/engine/views/view.h"

/* Do two tables have one name? A table may also not be called as one of the functions is. */
static bool is_table_taken(const struct adv_rule *rule, const char *name)
{
	static const char *const functions[] = {
		"overlap", "covered",     "shared",    "seq_match",
		"ngram",   "graph_match", "json_each", "json_tree"
	};

	for (size_t i = 0; i < NP_COUNT(functions); i++) {
		if (strcmp(functions[i], name) == 0)
			return true;
	}
	/* The last one is the one that is being read. */
	for (size_t i = 0; i + 1 < rule->with.count; i++) {
		if (rule->with.item[i].name && strcmp(rule->with.item[i].name, name) == 0)
			return true;
	}
	return false;
}

/* with, match and summary (rule_parse_sql.c). */
static void rule_read_with(struct adv_rule_reader *reader)
{
	static const char *const keys[] = { "name", "sql", NULL };
	struct adv_rule_value list = adv_reader_field(reader, "with");

	for (size_t i = 0; i < np_json_count(list.node); i++) {
		struct adv_rule_value one = adv_reader_item(reader, &list, i);
		struct adv_rule_value name = adv_reader_member(reader, &one, "name");
		struct adv_rule_value sql = adv_reader_member(reader, &one, "sql");
		struct adv_rule_named *entry = READER_ADD(reader, &reader->rule->with);

		if (!entry)
			return;
		adv_reader_check_keys(reader, &one, keys);
		entry->name = adv_reader_text(reader, &name, "name");
		if (!entry->name || !sql.node)
			adv_reader_complain(reader, &one, "an entry of 'with' has a name and sql");
		else if (is_table_taken(reader->rule, entry->name))
			adv_reader_complain(reader, &name, "there is a table '%s' already",
					    entry->name);
		else if (adv_reader_check_name(reader, &name, entry->name))
			entry->sql = adv_reader_sql(reader, &sql, "sql");
	}
}

static void read_captures(struct adv_rule_reader *reader, const struct adv_rule_value *one,
			  struct adv_rule_match *match)
{
	struct adv_rule_value captures = adv_reader_member(reader, one, "capture");
	struct np_json_entry entry = NP_JSON_ENTRY_INIT;

	while (np_json_next(captures.node, &entry)) {
		struct adv_rule_capture *capture = READER_ADD(reader, &match->captures);

		if (!capture || !adv_reader_check_name(reader, &captures, entry.key))
			return;
		capture->name = entry.key;
		if (!np_json_integer(entry.value, &capture->group) || capture->group < 0 ||
		    capture->group > 99)
			adv_reader_complain(reader, &captures, "'%s' must be the number of a group",
					    entry.key);
	}
}

static void read_lookups(struct adv_rule_reader *reader, const struct adv_rule_value *one,
			 struct adv_rule_match *match)
{
	struct adv_rule_value maps = adv_reader_member(reader, one, "map");
	struct np_json_entry entry = NP_JSON_ENTRY_INIT;

	while (np_json_next(maps.node, &entry)) {
		struct adv_rule_lookup *lookup = READER_ADD(reader, &match->lookups);

		if (!lookup || !adv_reader_check_name(reader, &maps, entry.key))
			return;
		lookup->name = entry.key;
		lookup->from = np_json_text(np_json_member(entry.value, "from"));
		lookup->values = np_json_member(entry.value, "values");
		if (!adv_rule_is_name(lookup->from) ||
		    np_json_type(lookup->values) != NP_JSON_OBJECT)
			adv_reader_complain(reader, &maps,
					    "'%s' must be {\"from\": column, \"values\": {…}}",
					    entry.key);
	}
}

static void rule_read_matches(struct adv_rule_reader *reader)
{
	static const char *const keys[] = { "col", "regex", "capture", "map", NULL };
	struct adv_rule_value list = adv_reader_field(reader, "match");

	for (size_t i = 0; i < np_json_count(list.node); i++) {
		struct adv_rule_value one = adv_reader_item(reader, &list, i);
		struct adv_rule_value regex = adv_reader_member(reader, &one, "regex");
		struct adv_rule_value column = adv_reader_member(reader, &one, "col");
		struct adv_rule_match *match = READER_ADD(reader, &reader->rule->matches);

		if (!match)
			return;
		adv_reader_check_keys(reader, &one, keys);
		match->column = adv_reader_text(reader, &column, "col");
		match->regex = adv_reader_sql(reader, &regex, "regex");
		if (!match->column || !adv_rule_is_name(match->column) || !match->regex.text)
			adv_reader_complain(reader, &one,
					    "an entry of 'match' has a column and a regex");
		read_captures(reader, &one, match);
		read_lookups(reader, &one, match);
	}
}

static void rule_read_summary(struct adv_rule_reader *reader)
{
	static const char *const keys[] = { "over", "expr", NULL };
	struct adv_rule_value summary = adv_reader_field(reader, "summary");
	struct np_json_entry entry = NP_JSON_ENTRY_INIT;

	if (!adv_value_is(&summary, NP_JSON_OBJECT) || np_json_count(summary.node) == 0) {
		adv_reader_complain(reader, &summary, "the rule has no 'summary'");
		return;
	}
	while (np_json_next(summary.node, &entry)) {
		struct adv_rule_value value = { entry.value, summary.file,
						adv_reader_path(reader, summary.path, entry.key) };
		struct adv_rule_named *named = READER_ADD(reader, &reader->rule->summary);
		const char *over;

		if (!named || !adv_reader_check_name(reader, &value, entry.key))
			return;
		named->name = entry.key;
		if (adv_value_is(&value, NP_JSON_OBJECT)) {
			adv_reader_check_keys(reader, &value, keys);
			over = np_json_text(np_json_member(value.node, "over"));
			named->over_query = over && strcmp(over, "query") == 0;
			if (!named->over_query)
				adv_reader_complain(reader, &value, "'over' must be \"query\"");
			value = adv_reader_member(reader, &value, "expr");
		}
		named->sql = adv_reader_sql(reader, &value, "summary");
		if (!named->sql.text)
			adv_reader_complain(reader, &value, "'%s' has no expression", entry.key);
	}
}

/* Columns that evidence shows. */
#define EVIDENCE_COLUMNS 32

static bool find_severity(const char *name, enum adv_severity *ret)
{
	for (int i = 0; i < SEVERITY_COUNT; i++) {
		if (name && strcmp(name, adv_severity_name((enum adv_severity)i)) == 0) {
			*ret = (enum adv_severity)i;
			return true;
		}
	}
	return false;
}

static void read_severity(struct adv_rule_reader *reader)
{
	static const char *const keys[] = { "high", "medium", "low", "info", "else", NULL };
	struct adv_rule_value severity = adv_reader_field(reader, "severity");
	struct adv_rule *rule = reader->rule;

	rule->otherwise = SEVERITY_LOW;
	if (adv_value_is(&severity, NP_JSON_TEXT)) {
		if (!find_severity(np_json_text(severity.node), &rule->otherwise))
			adv_reader_complain(reader, &severity,
					    "severity is high, medium, low or info");
		return;
	}
	if (!adv_value_is(&severity, NP_JSON_OBJECT)) {
		adv_reader_complain(reader, &severity, "the rule has no 'severity'");
		return;
	}
	adv_reader_check_keys(reader, &severity, keys);
	for (int i = 0; i < SEVERITY_COUNT; i++) {
		struct adv_rule_value one = adv_reader_member(
			reader, &severity, adv_severity_name((enum adv_severity)i));

		rule->severity[i] = adv_reader_sql(reader, &one, "severity");
	}
	if (np_json_member(severity.node, "else") &&
	    !find_severity(np_json_text(np_json_member(severity.node, "else")), &rule->otherwise))
		adv_reader_complain(reader, &severity, "'else' is high, medium, low or info");
}

static void read_gain(struct adv_rule_reader *reader)
{
	static const char *const keys[] = { "ns", "per", "bound", "basis", NULL };
	struct adv_rule_value gain = adv_reader_field(reader, "gain");
	struct adv_rule *rule = reader->rule;
	struct adv_rule_value value;
	const char *text;

	if (!gain.node || adv_value_is(&gain, NP_JSON_NULL))
		return;
	if (!adv_value_is(&gain, NP_JSON_OBJECT)) {
		adv_reader_complain(reader, &gain, "gain must be an object with 'ns' and 'basis'");
		return;
	}
	adv_reader_check_keys(reader, &gain, keys);
	value = adv_reader_member(reader, &gain, "ns");
	rule->gain = adv_reader_sql(reader, &value, "ns");
	value = adv_reader_member(reader, &gain, "basis");
	rule->basis = adv_reader_language(reader, &value, "basis");
	if (!rule->gain.text || !rule->basis)
		adv_reader_complain(reader, &gain, "a gain has 'ns' and 'basis'");
	text = np_json_text(np_json_member(gain.node, "per"));
	rule->gain_per_step = text && strcmp(text, "step") == 0;
	if (np_json_member(gain.node, "per") &&
	    (!text || (!rule->gain_per_step && strcmp(text, "capture") != 0)))
		adv_reader_complain(reader, &gain, "'per' is step or capture");
	text = np_json_text(np_json_member(gain.node, "bound"));
	rule->bound = BOUND_ESTIMATE;
	if (text && strcmp(text, adv_bound_name(BOUND_UPPER)) == 0)
		rule->bound = BOUND_UPPER;
	else if (np_json_member(gain.node, "bound") &&
		 (!text || strcmp(text, adv_bound_name(BOUND_ESTIMATE)) != 0))
		adv_reader_complain(reader, &gain, "'bound' is estimate or upper");
}

/* The repairs that a replay understands (npuprof-whatif(1)). */
static void read_repair(struct adv_rule_reader *reader)
{
	static const char *const alone[] = { "host-gaps", "between",   "frequency",
					     "experts",   "hide-comm", "all" };
	static const char *const prefixed[] = { "rank:",   "host:",  "stage:", "role:",
						"optype:", "group:", "link:" };
	struct adv_rule_value value = adv_reader_field(reader, "repair");
	const char *text = adv_reader_text(reader, &value, "repair");
	bool known;

	reader->rule->repair = text;
	if (!text)
		return;
	/* What a value names is known when the rule runs. */
	known = text[0] == '{';
	for (size_t i = 0; i < NP_COUNT(alone); i++)
		known = known || strcmp(text, alone[i]) == 0;
	for (size_t i = 0; i < NP_COUNT(prefixed); i++)
		known = known || (strncmp(text, prefixed[i], strlen(prefixed[i])) == 0 &&
				  text[strlen(prefixed[i])] != '\0');
	if (!known)
		adv_reader_complain(reader, &value, "no repair is called '%s'", text);
}

static void read_advice(struct adv_rule_reader *reader)
{
	static const char *const keys[] = { "if", "en", "zh", NULL };
	struct adv_rule_value list = adv_reader_field(reader, "advice");

	if (list.node && !adv_value_is(&list, NP_JSON_ARRAY))
		adv_reader_complain(reader, &list, "advice must be an array");
	for (size_t i = 0; i < np_json_count(list.node); i++) {
		struct adv_rule_value one = adv_reader_item(reader, &list, i);
		struct adv_rule_advice *advice = READER_ADD(reader, &reader->rule->advice);
		struct adv_rule_value condition;
		struct adv_rule_value chinese;

		if (!advice)
			return;
		if (adv_value_is(&one, NP_JSON_TEXT)) {
			advice->text = one.node;
			continue;
		}
		adv_reader_check_keys(reader, &one, keys);
		condition = adv_reader_member(reader, &one, "if");
		advice->condition = adv_reader_sql(reader, &condition, "if");
		advice->text = one.node;
		if (!np_json_text(np_json_member(one.node, "en")))
			adv_reader_complain(reader, &one, "advice has no text in 'en'");
		chinese = adv_reader_member(reader, &one, "zh");
		(void)adv_reader_text(reader, &chinese, "'zh'");
	}
}

static void read_column(struct adv_rule_reader *reader, const struct adv_rule_value *one)
{
	static const char *const keys[] = { "col", "title", "fmt", "lang", NULL };
	struct adv_rule_column *column = READER_ADD(reader, &reader->rule->evidence);
	struct adv_rule_value value;

	if (!column)
		return;
	if (adv_value_is(one, NP_JSON_TEXT)) {
		column->column = np_json_text(one->node);
		return;
	}
	adv_reader_check_keys(reader, one, keys);
	value = adv_reader_member(reader, one, "col");
	column->column = adv_reader_text(reader, &value, "col");
	if (!column->column)
		adv_reader_complain(reader, one, "a column has no 'col'");
	value = adv_reader_member(reader, one, "title");
	column->title = adv_reader_language(reader, &value, "title");
	value = adv_reader_member(reader, one, "fmt");
	column->format = adv_reader_text(reader, &value, "fmt");
	value = adv_reader_member(reader, one, "lang");
	column->language = adv_reader_text(reader, &value, "lang");
	if (column->language && strcmp(column->language, "en") != 0 &&
	    strcmp(column->language, "zh") != 0)
		adv_reader_complain(reader, &value, "lang is en or zh");
}

/* How many rows are shown; what is not said is left as it is. */
static void read_limit(struct adv_rule_reader *reader, const struct adv_rule_value *top,
		       const char *key, int64_t *ret)
{
	struct adv_rule_value value = adv_reader_member(reader, top, key);

	if (value.node && (!np_json_integer(value.node, ret) || *ret < 0))
		adv_reader_complain(reader, &value, "%s must be a whole number from 0", key);
}

static void read_evidence(struct adv_rule_reader *reader)
{
	static const char *const keys[] = { "columns", "order", "top", NULL };
	static const char *const top_keys[] = { "text", "html", "json", NULL };
	int64_t unused;
	struct adv_rule_value evidence = adv_reader_field(reader, "evidence");
	struct adv_rule *rule = reader->rule;
	struct adv_rule_value columns = adv_reader_member(reader, &evidence, "columns");
	struct adv_rule_value order = adv_reader_member(reader, &evidence, "order");
	struct adv_rule_value top = adv_reader_member(reader, &evidence, "top");

	rule->top_text = 5;
	rule->top_json = 0;
	if (!evidence.node)
		return;
	adv_reader_check_keys(reader, &evidence, keys);
	for (size_t i = 0; i < np_json_count(columns.node); i++) {
		struct adv_rule_value one = adv_reader_item(reader, &columns, i);

		read_column(reader, &one);
	}
	if (rule->evidence.count == 0 || rule->evidence.count > EVIDENCE_COLUMNS)
		adv_reader_complain(reader, &evidence, "evidence must have 1 to %d columns",
				    EVIDENCE_COLUMNS);
	rule->order = adv_reader_text(reader, &order, "order");
	if (!top.node || !adv_reader_is_object(reader, &top, "top"))
		return;
	adv_reader_check_keys(reader, &top, top_keys);
	read_limit(reader, &top, "text", &rule->top_text);
	read_limit(reader, &top, "html", &unused);
	read_limit(reader, &top, "json", &rule->top_json);
}

static void read_location(struct adv_rule_reader *reader)
{
	static const char *const keys[] = { "op", "stack", "rank", NULL };
	struct adv_rule_value location = adv_reader_field(reader, "location");
	struct adv_rule_value value;

	if (!location.node || !adv_reader_is_object(reader, &location, "location"))
		return;
	adv_reader_check_keys(reader, &location, keys);
	value = adv_reader_member(reader, &location, "stack");
	reader->rule->stack = adv_reader_text(reader, &value, "stack");
	value = adv_reader_member(reader, &location, "op");
	reader->rule->op = adv_reader_text(reader, &value, "op");
}

static void read_fingerprint(struct adv_rule_reader *reader)
{
	struct adv_rule_value list = adv_reader_field(reader, "fingerprint");

	if (list.node && !adv_value_is(&list, NP_JSON_ARRAY))
		adv_reader_complain(reader, &list, "fingerprint must be an array of expressions");
	for (size_t i = 0; adv_value_is(&list, NP_JSON_ARRAY) && i < np_json_count(list.node);
	     i++) {
		struct adv_rule_value one = adv_reader_item(reader, &list, i);
		struct adv_rule_sql *sql = READER_ADD(reader, &reader->rule->fingerprint);

		if (sql)
			*sql = adv_reader_sql(reader, &one, "fingerprint");
	}
}

/* What a finding says: severity … fingerprint (rule_parse_finding.c). */
static void rule_read_finding(struct adv_rule_reader *reader)
{
	struct adv_rule_value confidence = adv_reader_field(reader, "confidence");

	read_severity(reader);
	reader->rule->confidence = adv_reader_sql(reader, &confidence, "confidence");
	read_gain(reader);
	read_repair(reader);
	read_advice(reader);
	read_evidence(reader);
	read_location(reader);
	read_fingerprint(reader);
}

/* Columns that cut a query into parts. */
#define PER_LIMIT 8

static const char *const rule_keys[] = {
	"id",      "version", "enabled", "extends",  "title",    "about",       "dimension",
	"tags",    "when",    "level",   "requires", "scope",    "params",      "with",
	"query",   "filter",  "match",   "summary",  "fire",     "severity",    "confidence",
	"gain",    "repair",  "cause",   "symptom",  "group",    "first",       "yields",
	"message", "advice",  "docs",    "evidence", "location", "fingerprint", "timeout_ms",
	"tests",   NULL,
};

static void read_flag(struct adv_rule_reader *reader, const char *key, bool *ret)
{
	struct adv_rule_value value = adv_reader_field(reader, key);

	if (value.node && !np_json_bool(value.node, ret))
		adv_reader_complain(reader, &value, "%s must be true or false", key);
}

static void read_identity(struct adv_rule_reader *reader)
{
	struct adv_rule *rule = reader->rule;
	struct adv_rule_value value = adv_reader_field(reader, "version");

	rule->version = 1;
	if (value.node && (!np_json_integer(value.node, &rule->version) || rule->version < 1))
		adv_reader_complain(reader, &value, "version must be a whole number from 1");
	rule->enabled = true;
	read_flag(reader, "enabled", &rule->enabled);
	value = adv_reader_field(reader, "dimension");
	rule->dimension = adv_reader_text(reader, &value, "dimension");
	if (!rule->dimension)
		adv_reader_complain(reader, &value, "the rule has no 'dimension'");
	value = adv_reader_field(reader, "group");
	rule->group = adv_reader_text(reader, &value, "group");
	value = adv_reader_field(reader, "cause");
	rule->cause = adv_reader_text(reader, &value, "cause");
	read_flag(reader, "symptom", &rule->symptom);
	read_flag(reader, "first", &rule->first);
	adv_reader_texts(reader, adv_reader_field(reader, "yields"), "yields", &rule->yields);
	value = adv_reader_field(reader, "timeout_ms");
	rule->timeout_ms = 0;
	if (value.node && (!np_json_integer(value.node, &rule->timeout_ms) ||
			   rule->timeout_ms < 1 || rule->timeout_ms > 60000))
		adv_reader_complain(reader, &value, "timeout_ms must be from 1 to 60000");
	rule->title = adv_reader_language_field(reader, "title", true);
	rule->about = adv_reader_language_field(reader, "about", false);
	rule->message = adv_reader_language_field(reader, "message", true);
	adv_reader_texts(reader, adv_reader_field(reader, "tags"), "tags", &rule->tags);
	adv_reader_texts(reader, adv_reader_field(reader, "docs"), "docs", &rule->docs);
}

static void check_view(struct adv_rule_reader *reader, const struct adv_rule_value *value,
		       const char *view, const char *column)
{
	struct adv_view_description known;

	if (!adv_view_describe(view, &known)) {
		adv_reader_complain(reader, value, "there is no view '%s'", view);
		return;
	}
	for (size_t i = 0; column && i < known.column_count; i++) {
		if (strcmp(known.columns[i].name, column) == 0)
			return;
	}
	if (column)
		adv_reader_complain(reader, value, "%s has no column '%s'", view, column);
}

/* {"v_kernel": ["in_shapes"]}, or ["v_kernel"] when any row will do. */
static void read_needs(struct adv_rule_reader *reader)
{
	struct adv_rule_value needs = adv_reader_field(reader, "requires");
	struct np_json_entry entry = NP_JSON_ENTRY_INIT;
	struct adv_rule_value level = adv_reader_field(reader, "level");

	reader->rule->level = 0;
	if (level.node && (!np_json_integer(level.node, &reader->rule->level) ||
			   reader->rule->level < 0 || reader->rule->level > 2))
		adv_reader_complain(reader, &level, "level must be 0, 1 or 2");
	if (needs.node && !adv_value_is(&needs, NP_JSON_OBJECT)) {
		adv_reader_complain(reader, &needs,
				    "requires must be an object of views and columns");
		return;
	}
	while (np_json_next(needs.node, &entry)) {
		struct adv_rule_value columns = { entry.value, needs.file,
						  adv_reader_path(reader, needs.path, entry.key) };
		struct adv_rule_need *need = READER_ADD(reader, &reader->rule->needs);

		if (!need)
			return;
		need->view = entry.key;
		check_view(reader, &columns, entry.key, NULL);
		adv_reader_texts(reader, columns, "columns", &need->columns);
		for (size_t i = 0; i < need->columns.count; i++)
			check_view(reader, &columns, entry.key, need->columns.item[i]);
	}
}

/* "rank", "cluster", or {"over": …, "per": […], "focus": …}. */
static void read_scope(struct adv_rule_reader *reader)
{
	static const char *const keys[] = { "over", "per", "focus", NULL };
	struct adv_rule_value scope = adv_reader_field(reader, "scope");
	struct adv_rule *rule = reader->rule;
	struct adv_rule_value over = scope;
	bool by_rank = false;
	const char *text;

	if (adv_value_is(&scope, NP_JSON_OBJECT)) {
		struct adv_rule_value focus = adv_reader_member(reader, &scope, "focus");

		adv_reader_check_keys(reader, &scope, keys);
		over = adv_reader_member(reader, &scope, "over");
		if (np_json_member(scope.node, "per"))
			adv_reader_texts(reader, adv_reader_member(reader, &scope, "per"), "per",
					 &rule->per);
		text = np_json_text(focus.node);
		if (!text || strcmp(text, "all") != 0)
			rule->focus = adv_reader_sql(reader, &focus, "focus");
	}
	for (size_t i = 0; i < rule->per.count; i++) {
		by_rank = by_rank || strcmp(rule->per.item[i], "rank") == 0;
		if (!adv_rule_is_name(rule->per.item[i]))
			adv_reader_complain(reader, &scope, "'%s' is no column", rule->per.item[i]);
	}
	if (rule->per.count > PER_LIMIT)
		adv_reader_complain(reader, &scope, "'per' has more than %d columns", PER_LIMIT);
	text = over.node ? adv_reader_text(reader, &over, "scope") : by_rank ? "rank" : NULL;
	if (text && strcmp(text, "rank") != 0 && strcmp(text, "cluster") != 0)
		adv_reader_complain(reader, &over, "scope is 'rank' or 'cluster'");
	if (!text && rule->per.count == 0 && (!scope.node || adv_value_is(&scope, NP_JSON_NULL)))
		adv_reader_complain(reader, &scope, "the rule has no 'scope'");
	rule->over_cluster = !text || strcmp(text, "cluster") == 0;
	if (rule->focus.text && rule->per.count == 0)
		adv_reader_complain(reader, &scope, "'focus' needs columns in 'per'");
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

static double bound_of(struct adv_rule_reader *reader, const struct adv_rule_value *param,
		       const char *key)
{
	struct adv_rule_value value = adv_reader_member(reader, param, key);
	double number = (double)NAN;

	if (value.node && !np_json_real(value.node, &number))
		adv_reader_complain(reader, &value, "%s must be a number", key);
	return number;
}

static struct adv_rule_param *find_param(struct adv_rule *rule, const char *name)
{
	for (size_t i = 0; i < rule->params.count; i++) {
		if (strcmp(rule->params.item[i].name, name) == 0)
			return &rule->params.item[i];
	}
	return NULL;
}

static void read_param(struct adv_rule_reader *reader, const struct adv_rule_value *value,
		       const char *name)
{
	static const char *const keys[] = { "value", "unit", "min", "max", "what", NULL };
	struct adv_rule_param *param = find_param(reader->rule, name);
	struct adv_rule_value text;

	if (!adv_reader_check_name(reader, value, name))
		return;
	if (!param)
		param = READER_ADD(reader, &reader->rule->params);
	if (!param)
		return;
	*param = (struct adv_rule_param){ .name = name, .low = (double)NAN, .high = (double)NAN };
	param->value = value->node;
	if (!adv_value_is(value, NP_JSON_OBJECT))
		return;
	adv_reader_check_keys(reader, value, keys);
	param->value = np_json_member(value->node, "value");
	if (!param->value)
		adv_reader_complain(reader, value, "parameter '%s' has no value", name);
	param->per_chip = np_json_type(param->value) == NP_JSON_OBJECT &&
			  np_json_member(param->value, "*") != NULL;
	text = adv_reader_member(reader, value, "unit");
	param->unit = adv_reader_text(reader, &text, "unit");
	text = adv_reader_member(reader, value, "what");
	(void)adv_reader_text(reader, &text, "what");
	param->low = bound_of(reader, value, "min");
	param->high = bound_of(reader, value, "max");
}

/* Those of the rule it extends come first, so that its own replace them. */
static void read_params(struct adv_rule_reader *reader, const struct adv_rule *rule)
{
	const struct adv_rule_value whole = { rule->json, rule->file, rule->path };
	struct adv_rule_value params = adv_reader_member(reader, &whole, "params");
	struct np_json_entry entry = NP_JSON_ENTRY_INIT;

	if (rule->base)
		read_params(reader, rule->base);
	if (params.node && !adv_value_is(&params, NP_JSON_OBJECT)) {
		adv_reader_complain(reader, &params, "params must be an object");
		return;
	}
	while (np_json_next(params.node, &entry)) {
		struct adv_rule_value value = { entry.value, params.file,
						adv_reader_path(reader, params.path, entry.key) };

		read_param(reader, &value, entry.key);
	}
}

/* A test that expects nothing would always pass, and one that is no object would never run. */
static void read_tests(struct adv_rule_reader *reader)
{
	const struct adv_rule_value whole = { reader->rule->json, reader->rule->file,
					      reader->rule->path };
	struct adv_rule_value tests = adv_reader_member(reader, &whole, "tests");

	reader->rule->tests = tests.node;
	if (tests.node && !adv_value_is(&tests, NP_JSON_ARRAY))
		adv_reader_complain(reader, &tests, "tests must be an array");
	for (size_t i = 0; adv_value_is(&tests, NP_JSON_ARRAY) && i < np_json_count(tests.node);
	     i++) {
		struct adv_rule_value test = adv_reader_item(reader, &tests, i);
		struct adv_rule_value expect = adv_reader_member(reader, &test, "expect");

		if (adv_reader_is_object(reader, &test, "a test") &&
		    (!adv_value_is(&expect, NP_JSON_OBJECT) || np_json_count(expect.node) == 0))
			adv_reader_complain(reader, &expect, "the test expects nothing");
	}
}

bool adv_rule_parse(struct adv_rule_library *library, struct adv_rule *rule)
{
	struct adv_rule_reader reader = { .library = library, .rule = rule };
	const struct adv_rule_value whole = { rule->json, rule->file, rule->path };

	adv_reader_check_keys(&reader, &whole, rule_keys);
	read_identity(&reader);
	read_needs(&reader);
	read_scope(&reader);
	read_params(&reader, rule);
	rule_read_with(&reader);
	rule->when = adv_reader_sql_field(&reader, "when", false);
	rule->query = adv_reader_sql_field(&reader, "query", true);
	rule->filter = adv_reader_sql_field(&reader, "filter", false);
	rule_read_matches(&reader);
	rule_read_summary(&reader);
	rule->fire = adv_reader_sql_field(&reader, "fire", true);
	rule_read_finding(&reader);
	read_tests(&reader);
	return !reader.failed;
}
