/* SPDX-License-Identifier: Apache-2.0 */
#include "rule_reader.h"

#include <string.h>

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

void rule_read_with(struct reader *reader)
{
	static const char *const keys[] = { "name", "sql", NULL };
	struct value list = reader_field(reader, "with");

	for (size_t i = 0; i < np_json_count(list.node); i++) {
		struct value one = reader_item(reader, &list, i);
		struct value name = reader_member(reader, &one, "name");
		struct value sql = reader_member(reader, &one, "sql");
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

static void read_captures(struct reader *reader, const struct value *one, struct rule_match *match)
{
	struct value captures = reader_member(reader, one, "capture");
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

static void read_lookups(struct reader *reader, const struct value *one, struct rule_match *match)
{
	struct value maps = reader_member(reader, one, "map");
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

void rule_read_matches(struct reader *reader)
{
	static const char *const keys[] = { "col", "regex", "capture", "map", NULL };
	struct value list = reader_field(reader, "match");

	for (size_t i = 0; i < np_json_count(list.node); i++) {
		struct value one = reader_item(reader, &list, i);
		struct value regex = reader_member(reader, &one, "regex");
		struct value column = reader_member(reader, &one, "col");
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

void rule_read_summary(struct reader *reader)
{
	static const char *const keys[] = { "over", "expr", NULL };
	struct value summary = reader_field(reader, "summary");
	struct np_json_entry entry = NP_JSON_ENTRY_INIT;

	if (!value_is(&summary, NP_JSON_OBJECT) || np_json_count(summary.node) == 0) {
		reader_complain(reader, &summary, "the rule has no 'summary'");
		return;
	}
	while (np_json_next(summary.node, &entry)) {
		struct value value = { entry.value, summary.file,
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
