/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a rule from its JSON. */
#include "rule_reader.h"

#include <math.h>
#include <string.h>

#include "npuprof/text.h"

#include "advisor/engine/views/view.h"

/* Do two tables have one name? A table may also not be called as one of the functions is. */
static bool is_table_taken(const struct rule *rule, const char *name)
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
static void rule_read_with(struct rule_reader *reader)
{
	static const char *const keys[] = { "name", "sql", NULL };
	struct rule_value list = reader_field(reader, "with");

	for (size_t i = 0; i < np_json_count(list.node); i++) {
		struct rule_value one = reader_item(reader, &list, i);
		struct rule_value name = reader_member(reader, &one, "name");
		struct rule_value sql = reader_member(reader, &one, "sql");
		struct rule_named *entry = READER_ADD(reader, &reader->rule->with);

		if (!entry)
			return;
		reader_check_keys(reader, &one, keys);
		entry->name = reader_text(reader, &name, "name");
		if (!entry->name || !sql.node)
			reader_complain(reader, &one, "an entry of 'with' has a name and sql");
		else if (is_table_taken(reader->rule, entry->name))
			reader_complain(reader, &name, "there is a table '%s' already",
					entry->name);
		else if (reader_check_name(reader, &name, entry->name))
			entry->sql = reader_sql(reader, &sql, "sql");
	}
}

static void read_captures(struct rule_reader *reader, const struct rule_value *one,
			  struct rule_match *match)
{
	struct rule_value captures = reader_member(reader, one, "capture");
	struct np_json_entry entry = NP_JSON_ENTRY_INIT;

	while (np_json_next(captures.node, &entry)) {
		struct rule_capture *capture = READER_ADD(reader, &match->captures);

		if (!capture || !reader_check_name(reader, &captures, entry.key))
			return;
		capture->name = entry.key;
		if (!np_json_integer(entry.value, &capture->group) || capture->group < 0 ||
		    capture->group > 99)
			reader_complain(reader, &captures, "'%s' must be the number of a group",
					entry.key);
	}
}

static void read_lookups(struct rule_reader *reader, const struct rule_value *one,
			 struct rule_match *match)
{
	struct rule_value maps = reader_member(reader, one, "map");
	struct np_json_entry entry = NP_JSON_ENTRY_INIT;

	while (np_json_next(maps.node, &entry)) {
		struct rule_lookup *lookup = READER_ADD(reader, &match->lookups);

		if (!lookup || !reader_check_name(reader, &maps, entry.key))
			return;
		lookup->name = entry.key;
		lookup->from = np_json_text(np_json_member(entry.value, "from"));
		lookup->values = np_json_member(entry.value, "values");
		if (!rule_is_name(lookup->from) || np_json_type(lookup->values) != NP_JSON_OBJECT)
			reader_complain(reader, &maps,
					"'%s' must be {\"from\": column, \"values\": {…}}",
					entry.key);
	}
}

static void rule_read_matches(struct rule_reader *reader)
{
	static const char *const keys[] = { "col", "regex", "capture", "map", NULL };
	struct rule_value list = reader_field(reader, "match");

	for (size_t i = 0; i < np_json_count(list.node); i++) {
		struct rule_value one = reader_item(reader, &list, i);
		struct rule_value regex = reader_member(reader, &one, "regex");
		struct rule_value column = reader_member(reader, &one, "col");
		struct rule_match *match = READER_ADD(reader, &reader->rule->matches);

		if (!match)
			return;
		reader_check_keys(reader, &one, keys);
		match->column = reader_text(reader, &column, "col");
		match->regex = reader_sql(reader, &regex, "regex");
		if (!match->column || !rule_is_name(match->column) || !match->regex.text)
			reader_complain(reader, &one,
					"an entry of 'match' has a column and a regex");
		read_captures(reader, &one, match);
		read_lookups(reader, &one, match);
	}
}

static void rule_read_summary(struct rule_reader *reader)
{
	static const char *const keys[] = { "over", "expr", NULL };
	struct rule_value summary = reader_field(reader, "summary");
	struct np_json_entry entry = NP_JSON_ENTRY_INIT;

	if (!value_is(&summary, NP_JSON_OBJECT) || np_json_count(summary.node) == 0) {
		reader_complain(reader, &summary, "the rule has no 'summary'");
		return;
	}
	while (np_json_next(summary.node, &entry)) {
		struct rule_value value = { entry.value, summary.file,
					    reader_path(reader, summary.path, entry.key) };
		struct rule_named *named = READER_ADD(reader, &reader->rule->summary);
		const char *over;

		if (!named || !reader_check_name(reader, &value, entry.key))
			return;
		named->name = entry.key;
		if (value_is(&value, NP_JSON_OBJECT)) {
			reader_check_keys(reader, &value, keys);
			over = np_json_text(np_json_member(value.node, "over"));
			named->over_query = over && strcmp(over, "query") == 0;
			if (!named->over_query)
				reader_complain(reader, &value, "'over' must be \"query\"");
			value = reader_member(reader, &value, "expr");
		}
		named->sql = reader_sql(reader, &value, "summary");
		if (!named->sql.text)
			reader_complain(reader, &value, "'%s' has no expression", entry.key);
	}
}

/* Columns that evidence shows. */
#define EVIDENCE_COLUMNS 32

static bool find_severity(const char *name, enum severity *ret)
{
	for (int i = 0; i < SEVERITY_COUNT; i++) {
		if (name && strcmp(name, severity_name((enum severity)i)) == 0) {
			*ret = (enum severity)i;
			return true;
		}
	}
	return false;
}

static void read_severity(struct rule_reader *reader)
{
	static const char *const keys[] = { "high", "medium", "low", "info", "else", NULL };
	struct rule_value severity = reader_field(reader, "severity");
	struct rule *rule = reader->rule;

	rule->otherwise = SEVERITY_LOW;
	if (value_is(&severity, NP_JSON_TEXT)) {
		if (!find_severity(np_json_text(severity.node), &rule->otherwise))
			reader_complain(reader, &severity, "severity is high, medium, low or info");
		return;
	}
	if (!value_is(&severity, NP_JSON_OBJECT)) {
		reader_complain(reader, &severity, "the rule has no 'severity'");
		return;
	}
	reader_check_keys(reader, &severity, keys);
	for (int i = 0; i < SEVERITY_COUNT; i++) {
		struct rule_value one =
			reader_member(reader, &severity, severity_name((enum severity)i));

		rule->severity[i] = reader_sql(reader, &one, "severity");
	}
	if (np_json_member(severity.node, "else") &&
	    !find_severity(np_json_text(np_json_member(severity.node, "else")), &rule->otherwise))
		reader_complain(reader, &severity, "'else' is high, medium, low or info");
}

static void read_gain(struct rule_reader *reader)
{
	static const char *const keys[] = { "ns", "per", "bound", "basis", NULL };
	struct rule_value gain = reader_field(reader, "gain");
	struct rule *rule = reader->rule;
	struct rule_value value;
	const char *text;

	if (!gain.node || value_is(&gain, NP_JSON_NULL))
		return;
	if (!value_is(&gain, NP_JSON_OBJECT)) {
		reader_complain(reader, &gain, "gain must be an object with 'ns' and 'basis'");
		return;
	}
	reader_check_keys(reader, &gain, keys);
	value = reader_member(reader, &gain, "ns");
	rule->gain = reader_sql(reader, &value, "ns");
	value = reader_member(reader, &gain, "basis");
	rule->basis = reader_language(reader, &value, "basis");
	if (!rule->gain.text || !rule->basis)
		reader_complain(reader, &gain, "a gain has 'ns' and 'basis'");
	text = np_json_text(np_json_member(gain.node, "per"));
	rule->gain_per_step = text && strcmp(text, "step") == 0;
	if (np_json_member(gain.node, "per") &&
	    (!text || (!rule->gain_per_step && strcmp(text, "capture") != 0)))
		reader_complain(reader, &gain, "'per' is step or capture");
	text = np_json_text(np_json_member(gain.node, "bound"));
	rule->bound = BOUND_ESTIMATE;
	if (text && strcmp(text, bound_name(BOUND_UPPER)) == 0)
		rule->bound = BOUND_UPPER;
	else if (np_json_member(gain.node, "bound") &&
		 (!text || strcmp(text, bound_name(BOUND_ESTIMATE)) != 0))
		reader_complain(reader, &gain, "'bound' is estimate or upper");
}

/* The repairs that a replay understands (npuprof-whatif(1)). */
static void read_repair(struct rule_reader *reader)
{
	static const char *const alone[] = { "host-gaps", "frequency", "experts", "hide-comm",
					     "all" };
	static const char *const prefixed[] = { "rank:",   "host:",  "stage:", "role:",
						"optype:", "group:", "link:" };
	struct rule_value value = reader_field(reader, "repair");
	const char *text = reader_text(reader, &value, "repair");
	bool known = false;

	reader->rule->repair = text;
	if (!text)
		return;
	for (size_t i = 0; i < NP_COUNT(alone); i++)
		known = known || strcmp(text, alone[i]) == 0;
	for (size_t i = 0; i < NP_COUNT(prefixed); i++)
		known = known || (strncmp(text, prefixed[i], strlen(prefixed[i])) == 0 &&
				  text[strlen(prefixed[i])] != '\0');
	if (!known)
		reader_complain(reader, &value, "no repair is called '%s'", text);
}

static void read_advice(struct rule_reader *reader)
{
	static const char *const keys[] = { "if", "en", "zh", NULL };
	struct rule_value list = reader_field(reader, "advice");

	if (list.node && !value_is(&list, NP_JSON_ARRAY))
		reader_complain(reader, &list, "advice must be an array");
	for (size_t i = 0; i < np_json_count(list.node); i++) {
		struct rule_value one = reader_item(reader, &list, i);
		struct rule_advice *advice = READER_ADD(reader, &reader->rule->advice);
		struct rule_value condition;
		struct rule_value chinese;

		if (!advice)
			return;
		if (value_is(&one, NP_JSON_TEXT)) {
			advice->text = one.node;
			continue;
		}
		reader_check_keys(reader, &one, keys);
		condition = reader_member(reader, &one, "if");
		advice->condition = reader_sql(reader, &condition, "if");
		advice->text = one.node;
		if (!np_json_text(np_json_member(one.node, "en")))
			reader_complain(reader, &one, "advice has no text in 'en'");
		chinese = reader_member(reader, &one, "zh");
		(void)reader_text(reader, &chinese, "'zh'");
	}
}

static void read_column(struct rule_reader *reader, const struct rule_value *one)
{
	static const char *const keys[] = { "col", "title", "fmt", NULL };
	struct rule_column *column = READER_ADD(reader, &reader->rule->evidence);
	struct rule_value value;

	if (!column)
		return;
	if (value_is(one, NP_JSON_TEXT)) {
		column->column = np_json_text(one->node);
		return;
	}
	reader_check_keys(reader, one, keys);
	value = reader_member(reader, one, "col");
	column->column = reader_text(reader, &value, "col");
	if (!column->column)
		reader_complain(reader, one, "a column has no 'col'");
	value = reader_member(reader, one, "title");
	column->title = reader_language(reader, &value, "title");
	value = reader_member(reader, one, "fmt");
	column->format = reader_text(reader, &value, "fmt");
}

/* How many rows are shown; what is not said is left as it is. */
static void read_limit(struct rule_reader *reader, const struct rule_value *top, const char *key,
		       int64_t *ret)
{
	struct rule_value value = reader_member(reader, top, key);

	if (value.node && (!np_json_integer(value.node, ret) || *ret < 0))
		reader_complain(reader, &value, "%s must be a whole number from 0", key);
}

static void read_evidence(struct rule_reader *reader)
{
	static const char *const keys[] = { "columns", "order", "top", NULL };
	static const char *const top_keys[] = { "text", "html", "json", NULL };
	int64_t unused;
	struct rule_value evidence = reader_field(reader, "evidence");
	struct rule *rule = reader->rule;
	struct rule_value columns = reader_member(reader, &evidence, "columns");
	struct rule_value order = reader_member(reader, &evidence, "order");
	struct rule_value top = reader_member(reader, &evidence, "top");

	rule->top_text = 3;
	rule->top_json = 0;
	if (!evidence.node)
		return;
	reader_check_keys(reader, &evidence, keys);
	for (size_t i = 0; i < np_json_count(columns.node); i++) {
		struct rule_value one = reader_item(reader, &columns, i);

		read_column(reader, &one);
	}
	if (rule->evidence.count == 0 || rule->evidence.count > EVIDENCE_COLUMNS)
		reader_complain(reader, &evidence, "evidence must have 1 to %d columns",
				EVIDENCE_COLUMNS);
	rule->order = reader_text(reader, &order, "order");
	if (!top.node || !reader_is_object(reader, &top, "top"))
		return;
	reader_check_keys(reader, &top, top_keys);
	read_limit(reader, &top, "text", &rule->top_text);
	read_limit(reader, &top, "html", &unused);
	read_limit(reader, &top, "json", &rule->top_json);
}

static void read_location(struct rule_reader *reader)
{
	static const char *const keys[] = { "op", "stack", "rank", NULL };
	struct rule_value location = reader_field(reader, "location");
	struct rule_value value;

	if (!location.node || !reader_is_object(reader, &location, "location"))
		return;
	reader_check_keys(reader, &location, keys);
	value = reader_member(reader, &location, "stack");
	reader->rule->stack = reader_text(reader, &value, "stack");
	value = reader_member(reader, &location, "op");
	reader->rule->op = reader_text(reader, &value, "op");
}

static void read_fingerprint(struct rule_reader *reader)
{
	struct rule_value list = reader_field(reader, "fingerprint");

	if (list.node && !value_is(&list, NP_JSON_ARRAY))
		reader_complain(reader, &list, "fingerprint must be an array of expressions");
	for (size_t i = 0; value_is(&list, NP_JSON_ARRAY) && i < np_json_count(list.node); i++) {
		struct rule_value one = reader_item(reader, &list, i);
		struct rule_sql *sql = READER_ADD(reader, &reader->rule->fingerprint);

		if (sql)
			*sql = reader_sql(reader, &one, "fingerprint");
	}
}

/* What a finding says: severity … fingerprint (rule_parse_finding.c). */
static void rule_read_finding(struct rule_reader *reader)
{
	struct rule_value confidence = reader_field(reader, "confidence");

	read_severity(reader);
	reader->rule->confidence = reader_sql(reader, &confidence, "confidence");
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
	"id",       "version",     "enabled",    "extends",  "title",  "about",    "dimension",
	"tags",     "when",        "level",      "requires", "scope",  "params",   "with",
	"query",    "filter",      "match",      "summary",  "fire",   "severity", "confidence",
	"gain",     "repair",      "group",      "message",  "advice", "docs",     "evidence",
	"location", "fingerprint", "timeout_ms", "tests",    NULL,
};

static void read_identity(struct rule_reader *reader)
{
	struct rule *rule = reader->rule;
	struct rule_value value = reader_field(reader, "version");

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

static void check_view(struct rule_reader *reader, const struct rule_value *value, const char *view,
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
static void read_needs(struct rule_reader *reader)
{
	struct rule_value needs = reader_field(reader, "requires");
	struct np_json_entry entry = NP_JSON_ENTRY_INIT;
	struct rule_value level = reader_field(reader, "level");

	reader->rule->level = 0;
	if (level.node && (!np_json_integer(level.node, &reader->rule->level) ||
			   reader->rule->level < 0 || reader->rule->level > 2))
		reader_complain(reader, &level, "level must be 0, 1 or 2");
	if (needs.node && !value_is(&needs, NP_JSON_OBJECT)) {
		reader_complain(reader, &needs, "requires must be an object of views and columns");
		return;
	}
	while (np_json_next(needs.node, &entry)) {
		struct rule_value columns = { entry.value, needs.file,
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
static void read_scope(struct rule_reader *reader)
{
	static const char *const keys[] = { "over", "per", "focus", NULL };
	struct rule_value scope = reader_field(reader, "scope");
	struct rule *rule = reader->rule;
	struct rule_value over = scope;
	bool by_rank = false;
	const char *text;

	if (value_is(&scope, NP_JSON_OBJECT)) {
		struct rule_value focus = reader_member(reader, &scope, "focus");

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

static double bound_of(struct rule_reader *reader, const struct rule_value *param, const char *key)
{
	struct rule_value value = reader_member(reader, param, key);
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

static void read_param(struct rule_reader *reader, const struct rule_value *value, const char *name)
{
	static const char *const keys[] = { "value", "unit", "min", "max", "what", NULL };
	struct rule_param *param = find_param(reader->rule, name);
	struct rule_value text;

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
static void read_params(struct rule_reader *reader, const struct rule *rule)
{
	const struct rule_value whole = { rule->json, rule->file, rule->path };
	struct rule_value params = reader_member(reader, &whole, "params");
	struct np_json_entry entry = NP_JSON_ENTRY_INIT;

	if (rule->base)
		read_params(reader, rule->base);
	if (params.node && !value_is(&params, NP_JSON_OBJECT)) {
		reader_complain(reader, &params, "params must be an object");
		return;
	}
	while (np_json_next(params.node, &entry)) {
		struct rule_value value = { entry.value, params.file,
					    reader_path(reader, params.path, entry.key) };

		read_param(reader, &value, entry.key);
	}
}

/* A test that expects nothing would always pass, and one that is no object would never run. */
static void read_tests(struct rule_reader *reader)
{
	const struct rule_value whole = { reader->rule->json, reader->rule->file,
					  reader->rule->path };
	struct rule_value tests = reader_member(reader, &whole, "tests");

	reader->rule->tests = tests.node;
	if (tests.node && !value_is(&tests, NP_JSON_ARRAY))
		reader_complain(reader, &tests, "tests must be an array");
	for (size_t i = 0; value_is(&tests, NP_JSON_ARRAY) && i < np_json_count(tests.node); i++) {
		struct rule_value test = reader_item(reader, &tests, i);
		struct rule_value expect = reader_member(reader, &test, "expect");

		if (reader_is_object(reader, &test, "a test") &&
		    (!value_is(&expect, NP_JSON_OBJECT) || np_json_count(expect.node) == 0))
			reader_complain(reader, &expect, "the test expects nothing");
	}
}

bool rule_parse(struct rule_library *library, struct rule *rule)
{
	struct rule_reader reader = { .library = library, .rule = rule };
	const struct rule_value whole = { rule->json, rule->file, rule->path };

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
