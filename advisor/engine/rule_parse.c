/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "npuprof/text.h"

#include "place.h"
#include "rule.h"
#include "view.h"

/* One rule being read. A value is a node and where it stands. */
struct reader {
	struct rule_library *library;
	struct rule *rule;
	bool failed;
};

struct value {
	const struct np_json *node;
	const struct rule_file *file;
	const char *path;
};

/* Columns that cut a query into parts, and that its evidence shows. */
#define PER_LIMIT        8
#define EVIDENCE_COLUMNS 32

static const char *const rule_keys[] = {
	"id",       "version",     "enabled",    "extends",  "title",  "about",    "dimension",
	"tags",     "when",        "level",      "requires", "scope",  "params",   "with",
	"query",    "filter",      "match",      "summary",  "fire",   "severity", "confidence",
	"gain",     "repair",      "group",      "message",  "advice", "docs",     "evidence",
	"location", "fingerprint", "timeout_ms", "tests",    NULL,
};

static void complain(struct reader *reader, const struct value *value, const char *fmt, ...)
	NP_PRINTF(3, 4);

static void complain(struct reader *reader, const struct value *value, const char *fmt, ...)
{
	va_list args;
	char *text = NULL;

	reader->failed = true;
	va_start(args, fmt);
	if (vasprintf(&text, fmt, args) < 0)
		text = NULL;
	va_end(args);
	problem_add(&reader->library->problems, value->file, reader->rule->id, value->path,
		    SIZE_MAX, false, "%s", text ? text : "out of memory");
	free(text);
}

static const char *join_path(struct reader *reader, const char *path, const char *key)
{
	char *joined = np_arena_alloc(reader->library->arena, strlen(path) + strlen(key) + 2);

	if (!joined) {
		reader->failed = true;
		return path;
	}
	(void)snprintf(joined, strlen(path) + strlen(key) + 2, "%s/%s", path, key);
	return joined;
}

static struct value member(struct reader *reader, const struct value *object, const char *key)
{
	struct value value = { .node = np_json_member(object->node, key), .file = object->file };

	value.path = value.node ? join_path(reader, object->path, key) : object->path;
	return value;
}

static struct value item(struct reader *reader, const struct value *array, size_t index)
{
	char key[24];

	(void)snprintf(key, sizeof(key), "%zu", index);
	return (struct value){ .node = np_json_item(array->node, index),
			       .file = array->file,
			       .path = join_path(reader, array->path, key) };
}

/* A field of the rule, or of the one it extends. */
static struct value field(struct reader *reader, const char *key)
{
	const struct rule *rule = reader->rule;
	struct value value;

	do {
		const struct value whole = { rule->json, rule->file, rule->path };

		value = member(reader, &whole, key);
		rule = rule->base;
	} while (!value.node && rule);
	if (!value.node) {
		value.file = reader->rule->file;
		value.path = reader->rule->path;
	}
	return value;
}

static bool is(const struct value *value, enum np_json_type type)
{
	return np_json_type(value->node) == type;
}

/* Only these keys, each once. */
static void check_keys(struct reader *reader, const struct value *object, const char *const *keys)
{
	struct np_json_entry entry = NP_JSON_ENTRY_INIT;
	size_t count = 0;

	while (keys[count])
		count++;
	while (np_json_next(object->node, &entry)) {
		struct value found = { entry.value, object->file,
				       join_path(reader, object->path, entry.key) };
		size_t i = 0;
		const char *meant;

		while (i < count && strcmp(keys[i], entry.key) != 0)
			i++;
		if (i < count)
			continue;
		meant = np_text_closest(entry.key, keys, count);
		complain(reader, &found, "unknown field '%s'%s%s%s", entry.key,
			 meant ? "; did you mean '" : "", meant ? meant : "", meant ? "'?" : "");
	}
	if (place_count_keys(object->file->text, object->file->length, object->path) !=
	    np_json_count(object->node))
		complain(reader, object, "a field is written twice");
}

/* An optional text: NULL when it is not there or of another kind. */
static const char *text_field(struct reader *reader, const struct value *value, const char *what)
{
	if (!value->node || is(value, NP_JSON_NULL))
		return NULL;
	if (!np_json_text(value->node))
		complain(reader, value, "%s must be a text", what);
	return np_json_text(value->node);
}

/* Is it a name that SQL takes without quotes and that nothing else has? */
static bool is_name(const char *text)
{
	if (!text || !*text || (text[0] >= '0' && text[0] <= '9') || text[0] == '_')
		return false;
	return text[strspn(text, "abcdefghijklmnopqrstuvwxyz_0123456789")] == '\0';
}

/* Words of SQL that would be taken for something else. */
static bool is_taken(const char *name)
{
	static const char *const words[] = { "q",     "ev",    "sm",    "select", "from", "where",
					     "group", "order", "index", "table",  "limit" };

	for (size_t i = 0; i < NP_COUNT(words); i++) {
		if (strcmp(name, words[i]) == 0)
			return true;
	}
	return strncmp(name, "v_", 2) == 0 || strncmp(name, "np_", 3) == 0 ||
	       strncmp(name, "sqlite_", 7) == 0;
}

static bool check_name(struct reader *reader, const struct value *value, const char *name)
{
	if (is_name(name) && !is_taken(name))
		return true;
	complain(reader, value,
		 "'%s' is no name: small letters, digits and _, not taken by SQL or a view", name);
	return false;
}

/* The strings of an array joined by line ends. */
static const char *join_lines(struct reader *reader, const struct value *array)
{
	struct np_buf joined = NP_BUF_INIT;
	const char *copy = NULL;

	for (size_t i = 0; i < np_json_count(array->node); i++) {
		const char *line = np_json_text(np_json_item(array->node, i));

		if (!line) {
			struct value wrong = item(reader, array, i);

			complain(reader, &wrong, "a line must be a text");
			np_buf_release(&joined);
			return NULL;
		}
		np_buf_add(&joined, i > 0 ? "\n" : "");
		np_buf_add(&joined, line);
	}
	if (!joined.failed)
		copy = np_arena_text(reader->library->arena, joined.text, joined.length);
	reader->failed = reader->failed || !copy;
	np_buf_release(&joined);
	return copy;
}

/* SQL is a text, an array of lines, or a number. */
static struct rule_sql sql_of(struct reader *reader, const struct value *value, const char *what)
{
	struct rule_sql sql = { .file = value->file, .path = value->path };
	double number;
	char text[40];

	switch (np_json_type(value->node)) {
	case NP_JSON_NONE:
	case NP_JSON_NULL:
		break;
	case NP_JSON_TEXT:
		sql.text = np_json_text(value->node);
		break;
	case NP_JSON_ARRAY:
		sql.text = join_lines(reader, value);
		break;
	case NP_JSON_INTEGER:
	case NP_JSON_REAL:
		(void)np_json_real(value->node, &number);
		(void)snprintf(text, sizeof(text), "%.17g", number);
		sql.text = np_arena_text(reader->library->arena, text, strlen(text));
		reader->failed = reader->failed || !sql.text;
		break;
	default:
		complain(reader, value, "%s must be SQL: a text or an array of lines", what);
		break;
	}
	return sql;
}

static struct rule_sql sql_field(struct reader *reader, const char *key, bool needed)
{
	struct value value = field(reader, key);
	struct rule_sql sql = sql_of(reader, &value, key);

	if (needed && !sql.text)
		complain(reader, &value, "the rule has no '%s'", key);
	return sql;
}

/* A text, or an object of texts by language with English among them. */
static rule_text language_text(struct reader *reader, const struct value *value, const char *what)
{
	static const char *const keys[] = { "en", "zh", NULL };

	if (!value->node || is(value, NP_JSON_NULL) || is(value, NP_JSON_TEXT))
		return is(value, NP_JSON_TEXT) ? value->node : NULL;
	if (!is(value, NP_JSON_OBJECT) || !np_json_text(np_json_member(value->node, "en"))) {
		complain(reader, value, "%s must be a text, or an object with one in 'en'", what);
		return NULL;
	}
	check_keys(reader, value, keys);
	return value->node;
}

static rule_text language_field(struct reader *reader, const char *key, bool needed)
{
	struct value value = field(reader, key);

	if (needed && !value.node)
		complain(reader, &value, "the rule has no '%s'", key);
	return language_text(reader, &value, key);
}

#define OUT_OF_MEMORY(reader) ((reader)->failed = true)

#define ADD(reader, vec) \
	__extension__({ \
		__typeof__((vec)->item) added_ = np_vec_add(vec, NULL); \
		if (!added_) \
			OUT_OF_MEMORY(reader); \
		added_; \
	})

/* Append the texts of an array, or a single text. */
static void read_texts(struct reader *reader, struct value value, const char *what,
		       struct rule_texts *texts)
{
	bool many = is(&value, NP_JSON_ARRAY);
	size_t count = many ? np_json_count(value.node) : value.node ? 1 : 0;

	for (size_t i = 0; i < count; i++) {
		struct value one = many ? item(reader, &value, i) : value;
		const char *text = np_json_text(one.node);
		const char **slot = text ? ADD(reader, texts) : NULL;

		if (!text)
			complain(reader, &one, "%s must be texts", what);
		else if (slot)
			*slot = text;
	}
}

static void read_identity(struct reader *reader)
{
	struct rule *rule = reader->rule;
	struct value value = field(reader, "version");

	rule->version = 1;
	if (value.node && (!np_json_integer(value.node, &rule->version) || rule->version < 1))
		complain(reader, &value, "version must be a whole number from 1");
	value = field(reader, "enabled");
	rule->enabled = true;
	if (value.node && !np_json_bool(value.node, &rule->enabled))
		complain(reader, &value, "enabled must be true or false");
	value = field(reader, "dimension");
	rule->dimension = text_field(reader, &value, "dimension");
	if (!rule->dimension)
		complain(reader, &value, "the rule has no 'dimension'");
	value = field(reader, "group");
	rule->group = text_field(reader, &value, "group");
	value = field(reader, "timeout_ms");
	rule->timeout_ms = 0;
	if (value.node && (!np_json_integer(value.node, &rule->timeout_ms) ||
			   rule->timeout_ms < 1 || rule->timeout_ms > 60000))
		complain(reader, &value, "timeout_ms must be from 1 to 60000");
	rule->title = language_field(reader, "title", true);
	rule->about = language_field(reader, "about", false);
	rule->message = language_field(reader, "message", true);
	read_texts(reader, field(reader, "tags"), "tags", &rule->tags);
	read_texts(reader, field(reader, "docs"), "docs", &rule->docs);
}

static void check_view(struct reader *reader, const struct value *value, const char *view,
		       const char *column)
{
	struct view_description known;

	if (!view_describe(view, &known)) {
		complain(reader, value, "there is no view '%s'", view);
		return;
	}
	for (size_t i = 0; column && i < known.column_count; i++) {
		if (strcmp(known.columns[i].name, column) == 0)
			return;
	}
	if (column)
		complain(reader, value, "%s has no column '%s'", view, column);
}

/* {"v_kernel": ["in_shapes"]}, or ["v_kernel"] when any row will do. */
static void read_needs(struct reader *reader)
{
	struct value needs = field(reader, "requires");
	struct np_json_entry entry = NP_JSON_ENTRY_INIT;
	struct value level = field(reader, "level");

	reader->rule->level = 0;
	if (level.node && (!np_json_integer(level.node, &reader->rule->level) ||
			   reader->rule->level < 0 || reader->rule->level > 2))
		complain(reader, &level, "level must be 0, 1 or 2");
	if (needs.node && !is(&needs, NP_JSON_OBJECT)) {
		complain(reader, &needs, "requires must be an object of views and columns");
		return;
	}
	while (np_json_next(needs.node, &entry)) {
		struct value columns = { entry.value, needs.file,
					 join_path(reader, needs.path, entry.key) };
		struct rule_need *need = ADD(reader, &reader->rule->needs);

		if (!need)
			return;
		need->view = entry.key;
		check_view(reader, &columns, entry.key, NULL);
		read_texts(reader, columns, "columns", &need->columns);
		for (size_t i = 0; i < need->columns.count; i++)
			check_view(reader, &columns, entry.key, need->columns.item[i]);
	}
}

/* "rank", "cluster", or {"over": …, "per": […], "focus": …}. */
static void read_scope(struct reader *reader)
{
	static const char *const keys[] = { "over", "per", "focus", NULL };
	struct value scope = field(reader, "scope");
	struct rule *rule = reader->rule;
	struct value over = scope;
	bool by_rank = false;
	const char *text;

	if (is(&scope, NP_JSON_OBJECT)) {
		struct value focus = member(reader, &scope, "focus");

		check_keys(reader, &scope, keys);
		over = member(reader, &scope, "over");
		if (np_json_member(scope.node, "per"))
			read_texts(reader, member(reader, &scope, "per"), "per", &rule->per);
		text = np_json_text(focus.node);
		if (!text || strcmp(text, "all") != 0)
			rule->focus = sql_of(reader, &focus, "focus");
	}
	for (size_t i = 0; i < rule->per.count; i++) {
		by_rank = by_rank || strcmp(rule->per.item[i], "rank") == 0;
		if (!is_name(rule->per.item[i]))
			complain(reader, &scope, "'%s' is no column", rule->per.item[i]);
	}
	if (rule->per.count > PER_LIMIT)
		complain(reader, &scope, "'per' has more than %d columns", PER_LIMIT);
	text = over.node ? text_field(reader, &over, "scope") : by_rank ? "rank" : NULL;
	if (text && strcmp(text, "rank") != 0 && strcmp(text, "cluster") != 0)
		complain(reader, &over, "scope is 'rank' or 'cluster'");
	if (!text && rule->per.count == 0 && !scope.node)
		complain(reader, &scope, "the rule has no 'scope'");
	rule->over_cluster = !text || strcmp(text, "cluster") == 0;
	if (rule->focus.text && rule->per.count == 0)
		complain(reader, &scope, "'focus' needs columns in 'per'");
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
	struct value value = member(reader, param, key);
	double number = (double)NAN;

	if (value.node && !np_json_real(value.node, &number))
		complain(reader, &value, "%s must be a number", key);
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
	struct value unit;

	if (!check_name(reader, value, name))
		return;
	if (!param)
		param = ADD(reader, &reader->rule->params);
	if (!param)
		return;
	*param = (struct rule_param){ .name = name, .low = (double)NAN, .high = (double)NAN };
	param->value = value->node;
	if (!is(value, NP_JSON_OBJECT))
		return;
	check_keys(reader, value, keys);
	param->value = np_json_member(value->node, "value");
	if (!param->value)
		complain(reader, value, "parameter '%s' has no value", name);
	param->per_chip = np_json_type(param->value) == NP_JSON_OBJECT &&
			  np_json_member(param->value, "*") != NULL;
	unit = member(reader, value, "unit");
	param->unit = text_field(reader, &unit, "unit");
	param->low = bound_of(reader, value, "min");
	param->high = bound_of(reader, value, "max");
}

/* Those of the rule it extends come first, so that its own replace them. */
static void read_params(struct reader *reader, const struct rule *rule)
{
	const struct value whole = { rule->json, rule->file, rule->path };
	struct value params = member(reader, &whole, "params");
	struct np_json_entry entry = NP_JSON_ENTRY_INIT;

	if (rule->base)
		read_params(reader, rule->base);
	if (params.node && !is(&params, NP_JSON_OBJECT)) {
		complain(reader, &params, "params must be an object");
		return;
	}
	while (np_json_next(params.node, &entry)) {
		struct value value = { entry.value, params.file,
				       join_path(reader, params.path, entry.key) };

		read_param(reader, &value, entry.key);
	}
}

/* Do two tables have one name? A table may also not be called as one of the functions is. */
static bool is_table_taken(const struct rule *rule, const char *name)
{
	static const char *const functions[] = { "overlap",     "covered",   "seq_match", "ngram",
						 "graph_match", "json_each", "json_tree" };

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

static void read_with(struct reader *reader)
{
	static const char *const keys[] = { "name", "sql", NULL };
	struct value list = field(reader, "with");

	for (size_t i = 0; i < np_json_count(list.node); i++) {
		struct value one = item(reader, &list, i);
		struct value name = member(reader, &one, "name");
		struct value sql = member(reader, &one, "sql");
		struct rule_named *entry = ADD(reader, &reader->rule->with);

		if (!entry)
			return;
		check_keys(reader, &one, keys);
		entry->name = text_field(reader, &name, "name");
		if (!entry->name || !sql.node)
			complain(reader, &one, "an entry of 'with' has a name and sql");
		else if (is_table_taken(reader->rule, entry->name))
			complain(reader, &name, "there is a table '%s' already", entry->name);
		else if (check_name(reader, &name, entry->name))
			entry->sql = sql_of(reader, &sql, "sql");
	}
}

static void read_captures(struct reader *reader, const struct value *one, struct rule_match *match)
{
	struct value captures = member(reader, one, "capture");
	struct np_json_entry entry = NP_JSON_ENTRY_INIT;

	while (np_json_next(captures.node, &entry)) {
		struct rule_capture *capture = ADD(reader, &match->captures);

		if (!capture || !check_name(reader, &captures, entry.key))
			return;
		capture->name = entry.key;
		if (!np_json_integer(entry.value, &capture->group) || capture->group < 0 ||
		    capture->group > 99)
			complain(reader, &captures, "'%s' must be the number of a group",
				 entry.key);
	}
}

static void read_lookups(struct reader *reader, const struct value *one, struct rule_match *match)
{
	struct value maps = member(reader, one, "map");
	struct np_json_entry entry = NP_JSON_ENTRY_INIT;

	while (np_json_next(maps.node, &entry)) {
		struct rule_lookup *lookup = ADD(reader, &match->lookups);

		if (!lookup || !check_name(reader, &maps, entry.key))
			return;
		lookup->name = entry.key;
		lookup->from = np_json_text(np_json_member(entry.value, "from"));
		lookup->values = np_json_member(entry.value, "values");
		if (!is_name(lookup->from) || np_json_type(lookup->values) != NP_JSON_OBJECT)
			complain(reader, &maps, "'%s' must be {\"from\": column, \"values\": {…}}",
				 entry.key);
	}
}

static void read_matches(struct reader *reader)
{
	static const char *const keys[] = { "col", "regex", "capture", "map", NULL };
	struct value list = field(reader, "match");

	for (size_t i = 0; i < np_json_count(list.node); i++) {
		struct value one = item(reader, &list, i);
		struct value regex = member(reader, &one, "regex");
		struct value column = member(reader, &one, "col");
		struct rule_match *match = ADD(reader, &reader->rule->matches);

		if (!match)
			return;
		check_keys(reader, &one, keys);
		match->column = text_field(reader, &column, "col");
		match->regex = sql_of(reader, &regex, "regex");
		if (!match->column || !is_name(match->column) || !match->regex.text)
			complain(reader, &one, "an entry of 'match' has a column and a regex");
		read_captures(reader, &one, match);
		read_lookups(reader, &one, match);
	}
}

static void read_summary(struct reader *reader)
{
	static const char *const keys[] = { "over", "expr", NULL };
	struct value summary = field(reader, "summary");
	struct np_json_entry entry = NP_JSON_ENTRY_INIT;

	if (!is(&summary, NP_JSON_OBJECT) || np_json_count(summary.node) == 0) {
		complain(reader, &summary, "the rule has no 'summary'");
		return;
	}
	while (np_json_next(summary.node, &entry)) {
		struct value value = { entry.value, summary.file,
				       join_path(reader, summary.path, entry.key) };
		struct rule_named *named = ADD(reader, &reader->rule->summary);
		const char *over;

		if (!named || !check_name(reader, &value, entry.key))
			return;
		named->name = entry.key;
		if (is(&value, NP_JSON_OBJECT)) {
			check_keys(reader, &value, keys);
			over = np_json_text(np_json_member(value.node, "over"));
			named->over_query = over && strcmp(over, "query") == 0;
			if (!named->over_query)
				complain(reader, &value, "'over' must be \"query\"");
			value = member(reader, &value, "expr");
		}
		named->sql = sql_of(reader, &value, "summary");
		if (!named->sql.text)
			complain(reader, &value, "'%s' has no expression", entry.key);
	}
}

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

static void read_severity(struct reader *reader)
{
	static const char *const keys[] = { "high", "medium", "low", "info", "else", NULL };
	struct value severity = field(reader, "severity");
	struct rule *rule = reader->rule;

	rule->otherwise = SEVERITY_LOW;
	if (is(&severity, NP_JSON_TEXT)) {
		if (!find_severity(np_json_text(severity.node), &rule->otherwise))
			complain(reader, &severity, "severity is high, medium, low or info");
		return;
	}
	if (!is(&severity, NP_JSON_OBJECT)) {
		complain(reader, &severity, "the rule has no 'severity'");
		return;
	}
	check_keys(reader, &severity, keys);
	for (int i = 0; i < SEVERITY_COUNT; i++) {
		struct value one = member(reader, &severity, severity_name((enum severity)i));

		rule->severity[i] = sql_of(reader, &one, "severity");
	}
	if (np_json_member(severity.node, "else") &&
	    !find_severity(np_json_text(np_json_member(severity.node, "else")), &rule->otherwise))
		complain(reader, &severity, "'else' is high, medium, low or info");
}

static void read_gain(struct reader *reader)
{
	static const char *const keys[] = { "ns", "per", "bound", "basis", NULL };
	struct value gain = field(reader, "gain");
	struct rule *rule = reader->rule;
	struct value value;
	const char *text;

	if (!gain.node || is(&gain, NP_JSON_NULL))
		return;
	if (!is(&gain, NP_JSON_OBJECT)) {
		complain(reader, &gain, "gain must be an object with 'ns' and 'basis'");
		return;
	}
	check_keys(reader, &gain, keys);
	value = member(reader, &gain, "ns");
	rule->gain = sql_of(reader, &value, "ns");
	value = member(reader, &gain, "basis");
	rule->basis = language_text(reader, &value, "basis");
	if (!rule->gain.text || !rule->basis)
		complain(reader, &gain, "a gain has 'ns' and 'basis'");
	text = np_json_text(np_json_member(gain.node, "per"));
	rule->gain_per_step = text && strcmp(text, "step") == 0;
	if (np_json_member(gain.node, "per") &&
	    (!text || (!rule->gain_per_step && strcmp(text, "capture") != 0)))
		complain(reader, &gain, "'per' is step or capture");
	text = np_json_text(np_json_member(gain.node, "bound"));
	rule->bound = BOUND_ESTIMATE;
	if (text && strcmp(text, bound_name(BOUND_UPPER)) == 0)
		rule->bound = BOUND_UPPER;
	else if (np_json_member(gain.node, "bound") &&
		 (!text || strcmp(text, bound_name(BOUND_ESTIMATE)) != 0))
		complain(reader, &gain, "'bound' is estimate or upper");
}

/* The repairs that a replay understands (npuprof-whatif(1)). */
static void read_repair(struct reader *reader)
{
	static const char *const alone[] = { "host-gaps", "frequency", "experts", "hide-comm",
					     "all" };
	static const char *const prefixed[] = { "rank:",   "host:",  "stage:", "role:",
						"optype:", "group:", "link:" };
	struct value value = field(reader, "repair");
	const char *text = text_field(reader, &value, "repair");
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
		complain(reader, &value, "no repair is called '%s'", text);
}

static void read_advice(struct reader *reader)
{
	static const char *const keys[] = { "if", "en", "zh", NULL };
	struct value list = field(reader, "advice");

	if (list.node && !is(&list, NP_JSON_ARRAY))
		complain(reader, &list, "advice must be an array");
	for (size_t i = 0; i < np_json_count(list.node); i++) {
		struct value one = item(reader, &list, i);
		struct rule_advice *advice = ADD(reader, &reader->rule->advice);
		struct value condition;

		if (!advice)
			return;
		if (is(&one, NP_JSON_TEXT)) {
			advice->text = one.node;
			continue;
		}
		check_keys(reader, &one, keys);
		condition = member(reader, &one, "if");
		advice->condition = sql_of(reader, &condition, "if");
		advice->text = one.node;
		if (!np_json_text(np_json_member(one.node, "en")))
			complain(reader, &one, "advice has no text in 'en'");
	}
}

static void read_column(struct reader *reader, const struct value *one)
{
	static const char *const keys[] = { "col", "title", "fmt", NULL };
	struct rule_column *column = ADD(reader, &reader->rule->evidence);
	struct value value;

	if (!column)
		return;
	if (is(one, NP_JSON_TEXT)) {
		column->column = np_json_text(one->node);
		return;
	}
	check_keys(reader, one, keys);
	value = member(reader, one, "col");
	column->column = text_field(reader, &value, "col");
	if (!column->column)
		complain(reader, one, "a column has no 'col'");
	value = member(reader, one, "title");
	column->title = language_text(reader, &value, "title");
	value = member(reader, one, "fmt");
	column->format = text_field(reader, &value, "fmt");
}

static void read_evidence(struct reader *reader)
{
	static const char *const keys[] = { "columns", "order", "top", NULL };
	static const char *const top_keys[] = { "text", "html", "json", NULL };
	struct value evidence = field(reader, "evidence");
	struct rule *rule = reader->rule;
	struct value columns = member(reader, &evidence, "columns");
	struct value order = member(reader, &evidence, "order");
	struct value top = member(reader, &evidence, "top");

	rule->top_text = 3;
	rule->top_json = 0;
	if (!evidence.node)
		return;
	check_keys(reader, &evidence, keys);
	for (size_t i = 0; i < np_json_count(columns.node); i++) {
		struct value one = item(reader, &columns, i);

		read_column(reader, &one);
	}
	if (rule->evidence.count == 0 || rule->evidence.count > EVIDENCE_COLUMNS)
		complain(reader, &evidence, "evidence must have 1 to %d columns", EVIDENCE_COLUMNS);
	rule->order = text_field(reader, &order, "order");
	if (!top.node)
		return;
	check_keys(reader, &top, top_keys);
	(void)np_json_integer(np_json_member(top.node, "text"), &rule->top_text);
	(void)np_json_integer(np_json_member(top.node, "json"), &rule->top_json);
	if (rule->top_text < 0 || rule->top_json < 0)
		complain(reader, &top, "limits must not be negative");
}

static void read_location(struct reader *reader)
{
	static const char *const keys[] = { "op", "stack", "rank", NULL };
	struct value location = field(reader, "location");
	struct value value;

	if (!location.node)
		return;
	check_keys(reader, &location, keys);
	value = member(reader, &location, "stack");
	reader->rule->stack = text_field(reader, &value, "stack");
	value = member(reader, &location, "op");
	reader->rule->op = text_field(reader, &value, "op");
}

static void read_fingerprint(struct reader *reader)
{
	struct value list = field(reader, "fingerprint");

	if (list.node && !is(&list, NP_JSON_ARRAY))
		complain(reader, &list, "fingerprint must be an array of expressions");
	for (size_t i = 0; is(&list, NP_JSON_ARRAY) && i < np_json_count(list.node); i++) {
		struct value one = item(reader, &list, i);
		struct rule_sql *sql = ADD(reader, &reader->rule->fingerprint);

		if (sql)
			*sql = sql_of(reader, &one, "fingerprint");
	}
}

bool rule_parse(struct rule_library *library, struct rule *rule)
{
	struct reader reader = { .library = library, .rule = rule };
	const struct value whole = { rule->json, rule->file, rule->path };
	struct value confidence;

	check_keys(&reader, &whole, rule_keys);
	read_identity(&reader);
	read_needs(&reader);
	read_scope(&reader);
	read_params(&reader, rule);
	read_with(&reader);
	rule->when = sql_field(&reader, "when", false);
	rule->query = sql_field(&reader, "query", true);
	rule->filter = sql_field(&reader, "filter", false);
	read_matches(&reader);
	read_summary(&reader);
	rule->fire = sql_field(&reader, "fire", true);
	read_severity(&reader);
	confidence = field(&reader, "confidence");
	rule->confidence = sql_of(&reader, &confidence, "confidence");
	read_gain(&reader);
	read_repair(&reader);
	read_advice(&reader);
	read_evidence(&reader);
	read_location(&reader);
	read_fingerprint(&reader);
	rule->tests = np_json_member(rule->json, "tests");
	return !reader.failed;
}
