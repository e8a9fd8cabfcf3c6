/* SPDX-License-Identifier: Apache-2.0 */
#include "eval.h"

#include <ctype.h>
#include <string.h>

#include "npuprof/pattern.h"

/*
 * Patterns that stand in SQL as literals would only be compiled when a row
 * reaches them. They are found here: what follows REGEXP, the first argument of
 * regex_capture() and the second of regex_replace().
 */
struct scan {
	const struct rule *rule;
	struct problems *problems;
	const struct rule_sql *sql;
};

/* Move behind the literal that begins at `at`, and give its text without doubled quotes. */
static size_t read_literal(const char *text, size_t at, struct np_buf *buf)
{
	np_buf_clear(buf);
	for (at++; text[at]; at++) {
		if (text[at] == '\'' && text[at + 1] == '\'')
			at++;
		else if (text[at] == '\'')
			return at + 1;
		np_buf_add_char(buf, text[at]);
	}
	return at;
}

static void check_pattern(const struct scan *scan, const struct np_buf *text, size_t at)
{
	NP_CLEANUP(np_pattern_freep) struct np_pattern *pattern = NULL;
	struct np_err err = NP_ERR_INIT;
	size_t offset = 0;

	if (np_pattern_compile(text->text, text->length, 0, &pattern, &offset, &err) < 0)
		problem_add(scan->problems, scan->sql->file, scan->rule->id, scan->sql->path,
			    at + offset, false, "%s", err.text);
}

/* Is the word at `at`, and is it a whole one? */
static bool is_word(const char *text, size_t at, const char *word)
{
	size_t length = strlen(word);

	return strncasecmp(text + at, word, length) == 0 &&
	       (at == 0 || !(isalnum((unsigned char)text[at - 1]) || text[at - 1] == '_')) &&
	       !(isalnum((unsigned char)text[at + length]) || text[at + length] == '_');
}

static size_t skip_space(const char *text, size_t at)
{
	return at + strspn(text + at, " \t\r\n");
}

/* From an opening bracket to behind its first comma at the same depth. */
static size_t second_argument(const char *text, size_t at)
{
	struct np_buf ignored = NP_BUF_INIT;
	int depth = 0;

	while (text[at]) {
		if (text[at] == '\'') {
			at = read_literal(text, at, &ignored);
			continue;
		}
		depth += text[at] == '(';
		depth -= text[at] == ')';
		if (depth == 0 || (depth == 1 && text[at] == ','))
			break;
		at++;
	}
	np_buf_release(&ignored);
	return text[at] == ',' ? at + 1 : at;
}

/* The place of a pattern that a word at `at` announces, or SIZE_MAX. */
static size_t pattern_place(const char *text, size_t at)
{
	size_t position;

	if (is_word(text, at, "REGEXP"))
		position = skip_space(text, at + strlen("REGEXP"));
	else if (is_word(text, at, "regex_capture"))
		position = skip_space(text, at + strlen("regex_capture")) + 1;
	else if (is_word(text, at, "regex_replace"))
		position = second_argument(text, skip_space(text, at + strlen("regex_replace")));
	else
		return SIZE_MAX;
	position = skip_space(text, position);
	return text[position] == '\'' ? position : SIZE_MAX;
}

static void check_sql(struct scan *scan, const struct rule_sql *sql)
{
	struct np_buf literal = NP_BUF_INIT;
	const char *text = sql->text;

	scan->sql = sql;
	for (size_t at = 0; text && text[at];) {
		size_t position = pattern_place(text, at);

		if (position != SIZE_MAX) {
			(void)read_literal(text, position, &literal);
			check_pattern(scan, &literal, position + 1);
		}
		at = text[at] == '\'' ? read_literal(text, at, &literal) : at + 1;
	}
	np_buf_release(&literal);
}

void patterns_check(const struct rule *rule, struct problems *problems)
{
	struct scan scan = { .rule = rule, .problems = problems };

	for (size_t i = 0; i < rule->matches.count; i++) {
		const struct rule_sql *regex = &rule->matches.item[i].regex;
		struct np_buf text = NP_BUF_INIT;

		scan.sql = regex;
		np_buf_add(&text, regex->text);
		check_pattern(&scan, &text, 0);
		np_buf_release(&text);
	}
	for (size_t i = 0; i < rule->with.count; i++)
		check_sql(&scan, &rule->with.item[i].sql);
	for (size_t i = 0; i < rule->summary.count; i++)
		check_sql(&scan, &rule->summary.item[i].sql);
	for (size_t i = 0; i < rule->fingerprint.count; i++)
		check_sql(&scan, &rule->fingerprint.item[i]);
	check_sql(&scan, &rule->when);
	check_sql(&scan, &rule->query);
	check_sql(&scan, &rule->filter);
	check_sql(&scan, &rule->fire);
}
