/* SPDX-License-Identifier: Apache-2.0 */
#include "rule_reader.h"

#include <string.h>

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

static void read_severity(struct reader *reader)
{
	static const char *const keys[] = { "high", "medium", "low", "info", "else", NULL };
	struct value severity = reader_field(reader, "severity");
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
		struct value one =
			reader_member(reader, &severity, severity_name((enum severity)i));

		rule->severity[i] = reader_sql(reader, &one, "severity");
	}
	if (np_json_member(severity.node, "else") &&
	    !find_severity(np_json_text(np_json_member(severity.node, "else")), &rule->otherwise))
		reader_complain(reader, &severity, "'else' is high, medium, low or info");
}

static void read_gain(struct reader *reader)
{
	static const char *const keys[] = { "ns", "per", "bound", "basis", NULL };
	struct value gain = reader_field(reader, "gain");
	struct rule *rule = reader->rule;
	struct value value;
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
static void read_repair(struct reader *reader)
{
	static const char *const alone[] = { "host-gaps", "frequency", "experts", "hide-comm",
					     "all" };
	static const char *const prefixed[] = { "rank:",   "host:",  "stage:", "role:",
						"optype:", "group:", "link:" };
	struct value value = reader_field(reader, "repair");
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

static void read_advice(struct reader *reader)
{
	static const char *const keys[] = { "if", "en", "zh", NULL };
	struct value list = reader_field(reader, "advice");

	if (list.node && !value_is(&list, NP_JSON_ARRAY))
		reader_complain(reader, &list, "advice must be an array");
	for (size_t i = 0; i < np_json_count(list.node); i++) {
		struct value one = reader_item(reader, &list, i);
		struct rule_advice *advice = READER_ADD(reader, &reader->rule->advice);
		struct value condition;
		struct value chinese;

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

static void read_column(struct reader *reader, const struct value *one)
{
	static const char *const keys[] = { "col", "title", "fmt", NULL };
	struct rule_column *column = READER_ADD(reader, &reader->rule->evidence);
	struct value value;

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
static void read_limit(struct reader *reader, const struct value *top, const char *key,
		       int64_t *ret)
{
	struct value value = reader_member(reader, top, key);

	if (value.node && (!np_json_integer(value.node, ret) || *ret < 0))
		reader_complain(reader, &value, "%s must be a whole number from 0", key);
}

static void read_evidence(struct reader *reader)
{
	static const char *const keys[] = { "columns", "order", "top", NULL };
	static const char *const top_keys[] = { "text", "html", "json", NULL };
	int64_t unused;
	struct value evidence = reader_field(reader, "evidence");
	struct rule *rule = reader->rule;
	struct value columns = reader_member(reader, &evidence, "columns");
	struct value order = reader_member(reader, &evidence, "order");
	struct value top = reader_member(reader, &evidence, "top");

	rule->top_text = 3;
	rule->top_json = 0;
	if (!evidence.node)
		return;
	reader_check_keys(reader, &evidence, keys);
	for (size_t i = 0; i < np_json_count(columns.node); i++) {
		struct value one = reader_item(reader, &columns, i);

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

static void read_location(struct reader *reader)
{
	static const char *const keys[] = { "op", "stack", "rank", NULL };
	struct value location = reader_field(reader, "location");
	struct value value;

	if (!location.node || !reader_is_object(reader, &location, "location"))
		return;
	reader_check_keys(reader, &location, keys);
	value = reader_member(reader, &location, "stack");
	reader->rule->stack = reader_text(reader, &value, "stack");
	value = reader_member(reader, &location, "op");
	reader->rule->op = reader_text(reader, &value, "op");
}

static void read_fingerprint(struct reader *reader)
{
	struct value list = reader_field(reader, "fingerprint");

	if (list.node && !value_is(&list, NP_JSON_ARRAY))
		reader_complain(reader, &list, "fingerprint must be an array of expressions");
	for (size_t i = 0; value_is(&list, NP_JSON_ARRAY) && i < np_json_count(list.node); i++) {
		struct value one = reader_item(reader, &list, i);
		struct rule_sql *sql = READER_ADD(reader, &reader->rule->fingerprint);

		if (sql)
			*sql = reader_sql(reader, &one, "fingerprint");
	}
}

void rule_read_finding(struct reader *reader)
{
	struct value confidence = reader_field(reader, "confidence");

	read_severity(reader);
	reader->rule->confidence = reader_sql(reader, &confidence, "confidence");
	read_gain(reader);
	read_repair(reader);
	read_advice(reader);
	read_evidence(reader);
	read_location(reader);
	read_fingerprint(reader);
}
