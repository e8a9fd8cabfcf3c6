/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the fields of a rule and complains about those that are wrong. */
#include "rule_reader.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "npuprof/text.h"

#include "position.h"

void adv_reader_complain(struct adv_rule_reader *reader, const struct adv_rule_value *value,
			 const char *fmt, ...)
{
	va_list args;
	char *text = NULL;

	reader->failed = true;
	va_start(args, fmt);
	if (vasprintf(&text, fmt, args) < 0)
		text = NULL;
	va_end(args);
	adv_problem_add(&reader->library->problems, value->file, reader->rule->id, value->path,
			SIZE_MAX, false, "%s", text ? text : "out of memory");
	free(text);
}

const char *adv_reader_path(struct adv_rule_reader *reader, const char *path, const char *key)
{
	char *joined = np_arena_alloc(reader->library->arena, strlen(path) + strlen(key) + 2);

	if (!joined) {
		reader->failed = true;
		return path;
	}
	(void)snprintf(joined, strlen(path) + strlen(key) + 2, "%s/%s", path, key);
	return joined;
}

struct adv_rule_value adv_reader_member(struct adv_rule_reader *reader,
					const struct adv_rule_value *object, const char *key)
{
	struct adv_rule_value value = { .node = np_json_member(object->node, key),
					.file = object->file };

	value.path = value.node ? adv_reader_path(reader, object->path, key) : object->path;
	return value;
}

struct adv_rule_value adv_reader_item(struct adv_rule_reader *reader,
				      const struct adv_rule_value *array, size_t index)
{
	char key[24];

	(void)snprintf(key, sizeof(key), "%zu", index);
	return (struct adv_rule_value){ .node = np_json_item(array->node, index),
					.file = array->file,
					.path = adv_reader_path(reader, array->path, key) };
}

/* A field of the rule, or of the one it extends. */
struct adv_rule_value adv_reader_field(struct adv_rule_reader *reader, const char *key)
{
	const struct adv_rule *rule = reader->rule;
	struct adv_rule_value value;

	do {
		const struct adv_rule_value whole = { rule->json, rule->file, rule->path };

		value = adv_reader_member(reader, &whole, key);
		rule = rule->base;
	} while (!value.node && rule);
	if (!value.node) {
		value.file = reader->rule->file;
		value.path = reader->rule->path;
	}
	return value;
}

bool adv_value_is(const struct adv_rule_value *value, enum np_json_type type)
{
	return np_json_type(value->node) == type;
}

/* Only these keys, each once. */
void adv_reader_check_keys(struct adv_rule_reader *reader, const struct adv_rule_value *object,
			   const char *const *keys)
{
	struct np_json_entry entry = NP_JSON_ENTRY_INIT;
	size_t count = 0;

	while (keys[count])
		count++;
	while (np_json_next(object->node, &entry)) {
		struct adv_rule_value found = { entry.value, object->file,
						adv_reader_path(reader, object->path, entry.key) };
		size_t i = 0;
		const char *meant;

		while (i < count && strcmp(keys[i], entry.key) != 0)
			i++;
		if (i < count)
			continue;
		meant = np_text_closest(entry.key, keys, count);
		adv_reader_complain(reader, &found, "unknown field '%s'%s%s%s", entry.key,
				    meant ? "; did you mean '" : "", meant ? meant : "",
				    meant ? "'?" : "");
	}
	if (object->file->doubled &&
	    adv_position_count_keys(object->file->text, object->file->length, object->path) !=
		    np_json_count(object->node))
		adv_reader_complain(reader, object, "a field is written twice");
}

/* An optional text: NULL when it is not there or of another kind. */
const char *adv_reader_text(struct adv_rule_reader *reader, const struct adv_rule_value *value,
			    const char *what)
{
	if (!value->node || adv_value_is(value, NP_JSON_NULL))
		return NULL;
	if (!np_json_text(value->node))
		adv_reader_complain(reader, value, "%s must be a text", what);
	return np_json_text(value->node);
}

bool adv_reader_is_object(struct adv_rule_reader *reader, const struct adv_rule_value *value,
			  const char *what)
{
	bool is = adv_value_is(value, NP_JSON_OBJECT);

	if (!is)
		adv_reader_complain(reader, value, "%s must be an object", what);
	return is;
}

/* Is it a name that SQL takes without quotes and that nothing else has? */
bool adv_rule_is_name(const char *text)
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

bool adv_reader_check_name(struct adv_rule_reader *reader, const struct adv_rule_value *value,
			   const char *name)
{
	if (adv_rule_is_name(name) && !is_taken(name))
		return true;
	adv_reader_complain(
		reader, value,
		"'%s' is no name: small letters, digits and _, not taken by SQL or a view", name);
	return false;
}

/* The strings of an array joined by line ends. */
static const char *join_lines(struct adv_rule_reader *reader, const struct adv_rule_value *array)
{
	struct np_buf joined = NP_BUF_INIT;
	const char *copy = NULL;

	for (size_t i = 0; i < np_json_count(array->node); i++) {
		const char *line = np_json_text(np_json_item(array->node, i));

		if (!line) {
			struct adv_rule_value wrong = adv_reader_item(reader, array, i);

			adv_reader_complain(reader, &wrong, "a line must be a text");
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
struct adv_rule_sql adv_reader_sql(struct adv_rule_reader *reader,
				   const struct adv_rule_value *value, const char *what)
{
	struct adv_rule_sql sql = { .file = value->file, .path = value->path };
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
		adv_reader_complain(reader, value, "%s must be SQL: a text or an array of lines",
				    what);
		break;
	}
	return sql;
}

struct adv_rule_sql adv_reader_sql_field(struct adv_rule_reader *reader, const char *key,
					 bool needed)
{
	struct adv_rule_value value = adv_reader_field(reader, key);
	struct adv_rule_sql sql = adv_reader_sql(reader, &value, key);

	if (needed && !sql.text)
		adv_reader_complain(reader, &value, "the rule has no '%s'", key);
	return sql;
}

/* A text, or an object of texts by language with English among them. */
rule_text adv_reader_language(struct adv_rule_reader *reader, const struct adv_rule_value *value,
			      const char *what)
{
	static const char *const keys[] = { "en", "zh", NULL };
	struct adv_rule_value chinese;

	if (!value->node || adv_value_is(value, NP_JSON_NULL) || adv_value_is(value, NP_JSON_TEXT))
		return adv_value_is(value, NP_JSON_TEXT) ? value->node : NULL;
	if (!adv_value_is(value, NP_JSON_OBJECT) ||
	    !np_json_text(np_json_member(value->node, "en"))) {
		adv_reader_complain(reader, value,
				    "%s must be a text, or an object with one in 'en'", what);
		return NULL;
	}
	adv_reader_check_keys(reader, value, keys);
	chinese = adv_reader_member(reader, value, "zh");
	(void)adv_reader_text(reader, &chinese, "'zh'");
	return value->node;
}

rule_text adv_reader_language_field(struct adv_rule_reader *reader, const char *key, bool needed)
{
	struct adv_rule_value value = adv_reader_field(reader, key);

	if (needed && (!value.node || adv_value_is(&value, NP_JSON_NULL)))
		adv_reader_complain(reader, &value, "the rule has no '%s'", key);
	return adv_reader_language(reader, &value, key);
}

/* Append the texts of an array, or a single text. */
void adv_reader_texts(struct adv_rule_reader *reader, struct adv_rule_value value, const char *what,
		      struct adv_rule_texts *texts)
{
	bool many = adv_value_is(&value, NP_JSON_ARRAY);
	size_t count = many ? np_json_count(value.node) : value.node ? 1 : 0;

	for (size_t i = 0; i < count; i++) {
		struct adv_rule_value one = many ? adv_reader_item(reader, &value, i) : value;
		const char *text = np_json_text(one.node);
		const char **slot = text ? READER_ADD(reader, texts) : NULL;

		if (!text)
			adv_reader_complain(reader, &one, "%s must be texts", what);
		else if (slot)
			*slot = text;
	}
}
