/* SPDX-License-Identifier: Apache-2.0 */
#include "sql_source.h"

#include <stdlib.h>
#include <string.h>

#include "npuprof/json.h"
#include "npuprof/pattern.h"

/*
 * seq_match(source, partition, order, token, pattern)
 * ===================================================
 *
 * Finds sequences of rows. The rows of each partition are put in order, each
 * token becomes one character, and the pattern, translated alike, is matched
 * over the text by PCRE2. All characters are four bytes long, so that a place
 * in the text is the number of a row. Tokens that no pattern names share one
 * character.
 *
 * A pattern is tokens joined by '-'. ( ) groups, | separates alternatives, ?, *, +
 * and {m,n} repeat what stands before them, a single '.' is any token; a
 * backslash makes any of these part of a token. Several patterns are given as a
 * JSON array, or as an object of name: pattern or name: [patterns].
 */
#define FIRST_CODE 0x10000U
#define LAST_CODE  0x10ffffU
#define WIDTH      4U

struct sequence {
	char *name; /* of the rule */
	struct np_pattern *pattern;
};

struct matcher {
	char *source; /* what was given as patterns */
	NP_VEC(char *)
	tokens; /* sorted after all patterns are read; code = FIRST_CODE + 1 + index */
	NP_VEC(char *) texts; /* patterns */
	NP_VEC(struct sequence) list;
};

static void free_matcher(struct matcher *matcher)
{
	if (!matcher)
		return;
	for (size_t i = 0; i < matcher->tokens.count; i++)
		free(matcher->tokens.item[i]);
	for (size_t i = 0; i < matcher->texts.count; i++)
		free(matcher->texts.item[i]);
	for (size_t i = 0; i < matcher->list.count; i++) {
		free(matcher->list.item[i].name);
		np_pattern_free(matcher->list.item[i].pattern);
	}
	np_vec_release(&matcher->tokens);
	np_vec_release(&matcher->texts);
	np_vec_release(&matcher->list);
	free(matcher->source);
	free(matcher);
}

static void free_matcherp(struct matcher **matcher)
{
	free_matcher(*matcher);
}

void sql_sequences_free(struct sql *sql)
{
	free_matcher(sql->matcher);
}

/* Read a token at `*text` into `buf`; false if there is none. Alone, '.' is none. */
static bool read_token(const char **text, struct np_buf *buf)
{
	np_buf_clear(buf);
	if ((*text)[0] == '.' && strchr("-(){}|?*+", (*text)[1]))
		return false;
	while (**text && !strchr("-(){}|?*+", **text)) {
		if (**text == '\\' && (*text)[1])
			(*text)++;
		np_buf_add_char(buf, *(*text)++);
	}
	return buf->length > 0;
}

/* Call `use` for each token of a pattern. */
static int collect_tokens(struct matcher *matcher, const char *text, struct np_err *err)
{
	struct np_buf token = NP_BUF_INIT;
	int rc = NP_OK;

	while (*text && rc == NP_OK) {
		if (read_token(&text, &token)) {
			char **slot = np_vec_add(&matcher->tokens, err);

			if (slot)
				*slot = strdup(token.text);
			if (!slot || !*slot)
				rc = np_fail_nomem(err, "a pattern");
		} else if (*text) {
			text++;
		}
	}
	np_buf_release(&token);
	return rc;
}

static int compare_texts(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void sort_tokens(struct matcher *matcher)
{
	size_t kept = 0;

	if (matcher->tokens.count == 0)
		return;
	qsort(matcher->tokens.item, matcher->tokens.count, sizeof(char *), compare_texts);
	for (size_t i = 0; i < matcher->tokens.count; i++) {
		if (kept > 0 &&
		    strcmp(matcher->tokens.item[kept - 1], matcher->tokens.item[i]) == 0)
			free(matcher->tokens.item[i]);
		else
			matcher->tokens.item[kept++] = matcher->tokens.item[i];
	}
	matcher->tokens.count = kept;
}

static uint32_t code_of(const struct matcher *matcher, const char *token)
{
	char *const *found = NULL;

	if (matcher->tokens.count > 0)
		found = bsearch(&token, matcher->tokens.item, matcher->tokens.count, sizeof(char *),
				compare_texts);
	return found ? FIRST_CODE + 1 + (uint32_t)(found - matcher->tokens.item) : FIRST_CODE;
}

static void add_code(struct np_buf *buf, uint32_t code)
{
	const char bytes[WIDTH] = { (char)(0xf0 | code >> 18), (char)(0x80 | (code >> 12 & 0x3f)),
				    (char)(0x80 | (code >> 6 & 0x3f)),
				    (char)(0x80 | (code & 0x3f)) };

	np_buf_add_bytes(buf, bytes, WIDTH);
}

/* "{0,2}": copy it if that is what it is. */
static bool add_repeat(const char **text, struct np_buf *buf)
{
	size_t length = strspn(*text + 1, "0123456789,");

	if (length == 0 || length > 9 || (*text)[length + 1] != '}')
		return false;
	np_buf_add_bytes(buf, *text, length + 2);
	*text += length + 2;
	return true;
}

/* The pattern over tokens as one over characters. */
static int translate(const struct matcher *matcher, const char *text, struct np_buf *buf,
		     struct np_err *err)
{
	struct np_buf token = NP_BUF_INIT;
	const char *begin = text;

	while (*text) {
		if (read_token(&text, &token)) {
			add_code(buf, code_of(matcher, token.text));
		} else if (*text == '-') {
			text++;
		} else if (*text == '(') {
			np_buf_add(buf, "(?:");
			text++;
		} else if (*text == '{') {
			if (!add_repeat(&text, buf)) {
				np_buf_release(&token);
				return np_fail(err, NP_E_FORMAT,
					       "bad repeat at character %zu of '%s'",
					       (size_t)(text - begin) + 1, begin);
			}
		} else {
			np_buf_add_char(buf, *text++);
		}
	}
	np_buf_release(&token);
	return np_buf_check(buf, err);
}

static int add_text(struct matcher *matcher, const char *name, const char *text, struct np_err *err)
{
	struct sequence *sequence = np_vec_add(&matcher->list, err);
	char **slot = sequence ? np_vec_add(&matcher->texts, err) : NULL;

	if (!slot)
		return NP_E_NOMEM;
	sequence->name = strdup(name ? name : text);
	*slot = strdup(text);
	if (!sequence->name || !*slot)
		return np_fail_nomem(err, "a pattern");
	return collect_tokens(matcher, text, err);
}

static int add_node(struct matcher *matcher, const char *name, const struct np_json *node,
		    struct np_err *err)
{
	int rc = NP_OK;

	if (np_json_type(node) == NP_JSON_ARRAY) {
		for (size_t i = 0; i < np_json_count(node) && rc == NP_OK; i++)
			rc = add_node(matcher, name, np_json_item(node, i), err);
		return rc;
	}
	if (!np_json_text(node))
		return np_fail(err, NP_E_FORMAT, "a pattern is not a text");
	return add_text(matcher, name, np_json_text(node), err);
}

static int add_all(struct matcher *matcher, const char *text, struct np_err *err)
{
	NP_CLEANUP(np_json_freep) struct np_json *doc = NULL;
	struct np_json_entry entry = NP_JSON_ENTRY_INIT;
	int rc;

	if (text[0] != '[' && text[0] != '{')
		return add_text(matcher, NULL, text, err);
	rc = np_json_parse(text, strlen(text), "patterns", &doc, err);
	if (rc == NP_OK && np_json_type(doc) == NP_JSON_ARRAY)
		return add_node(matcher, NULL, doc, err);
	while (rc == NP_OK && np_json_next(doc, &entry))
		rc = add_node(matcher, entry.key, entry.value, err);
	return rc;
}

static int compile_all(struct matcher *matcher, struct np_err *err)
{
	struct np_buf text = NP_BUF_INIT;
	int rc = NP_OK;

	sort_tokens(matcher);
	if (matcher->tokens.count >= LAST_CODE - FIRST_CODE)
		rc = np_fail(err, NP_E_FORMAT, "too many tokens");
	for (size_t i = 0; i < matcher->list.count && rc == NP_OK; i++) {
		np_buf_clear(&text);
		rc = translate(matcher, matcher->texts.item[i], &text, err);
		if (rc == NP_OK)
			rc = np_pattern_compile(text.text, text.length, 0,
						&matcher->list.item[i].pattern, NULL, err);
		if (rc == NP_E_FORMAT)
			rc = np_fail(err, NP_E_FORMAT, "'%s': %s", matcher->texts.item[i],
				     err->text);
	}
	np_buf_release(&text);
	return rc;
}

/*
 * The patterns compiled. Those of the last call are mostly wanted again, on the next
 * rank; they are taken away while they are in use, since a source may have sequences too.
 */
static int take_matcher(struct sql *sql, const char *text, struct matcher **ret, struct np_err *err)
{
	NP_CLEANUP(free_matcherp) struct matcher *matcher = NP_STEAL(sql->matcher);
	int rc = NP_OK;

	if (!matcher || strcmp(matcher->source, text) != 0) {
		free_matcher(matcher);
		matcher = calloc(1, sizeof(*matcher));
		if (matcher)
			matcher->source = strdup(text);
		if (!matcher || !matcher->source)
			return np_fail_nomem(err, "patterns");
		rc = add_all(matcher, text, err);
		if (rc == NP_OK)
			rc = compile_all(matcher, err);
	}
	if (rc == NP_OK)
		*ret = NP_STEAL(matcher);
	return rc;
}

static void give_back_matcher(struct sql *sql, struct matcher *matcher)
{
	free_matcher(sql->matcher);
	sql->matcher = matcher;
}

/* The rows of one partition on their way. */
struct partition {
	struct np_cell key;
	struct np_buf text;
	struct rows orders; /* one column */
	bool begun;
};

static int search(struct sql *sql, struct partition *part, struct sequence *sequence,
		  struct rows *rows, struct np_err *err)
{
	size_t from = 0;
	int rc = NP_OK;

	while (rc == NP_OK && from < part->text.length) {
		struct np_capture all;
		bool found = false;
		size_t first;
		size_t last;

		rc = np_pattern_match(sequence->pattern, part->text.text, part->text.length, from,
				      &found, err);
		if (rc < 0 || !found || !np_pattern_capture(sequence->pattern, 0, &all))
			break;
		if (all.end == all.begin) {
			from = all.end + WIDTH;
			continue;
		}
		first = all.begin / WIDTH;
		last = all.end / WIDTH - 1;
		from = all.end;
		rc = rows_add(rows,
			      (struct np_cell[]){ part->key, np_cell_text(sequence->name),
						  np_cell_integer((int64_t)first),
						  np_cell_integer((int64_t)last),
						  *rows_cell(&part->orders, first, 0),
						  *rows_cell(&part->orders, last, 0) },
			      err);
		if (rc == NP_OK && sql_late(sql))
			rc = np_fail(err, NP_E_RANGE, "out of time");
	}
	return rc;
}

static int finish_partition(struct sql *sql, struct matcher *matcher, struct partition *part,
			    struct rows *rows, struct np_err *err)
{
	int rc = np_buf_check(&part->text, err);

	for (size_t i = 0; i < matcher->list.count && rc == NP_OK; i++)
		rc = search(sql, part, &matcher->list.item[i], rows, err);
	np_buf_clear(&part->text);
	rows_release(&part->orders);
	part->begun = false;
	return rc;
}

static int begin_partition(struct partition *part, struct np_cell key, struct rows *rows,
			   struct np_err *err)
{
	static const char *const name[] = { "order" };
	int rc = cell_copy(rows->arena, key, &part->key, err);

	if (rc == NP_OK)
		rc = rows_init(&part->orders, name, NULL, 1, err);
	part->begun = rc == NP_OK;
	return rc;
}

static int scan(struct sql *sql, struct matcher *matcher, struct sql_stmt *stmt,
		struct partition *part, struct rows *rows, struct np_err *err)
{
	int rc;

	while ((rc = sql_step(stmt, err)) > 0) {
		struct np_cell key = sql_cell(stmt, 0);
		struct np_cell order = sql_cell(stmt, 1);
		struct np_cell token = sql_cell(stmt, 2);

		rc = NP_OK;
		if (part->begun && cell_compare(&part->key, &key) != 0)
			rc = finish_partition(sql, matcher, part, rows, err);
		if (rc == NP_OK && !part->begun)
			rc = begin_partition(part, key, rows, err);
		if (rc == NP_OK)
			rc = rows_add(&part->orders, &order, err);
		if (rc < 0)
			return rc;
		add_code(&part->text, token.type == NP_CELL_TEXT
					      ? code_of(matcher, token.text.bytes)
					      : FIRST_CODE);
	}
	if (rc == 0 && part->begun)
		rc = finish_partition(sql, matcher, part, rows, err);
	return rc;
}

static int compute(struct sql *sql, sqlite3_value **arguments, struct rows *rows,
		   struct np_err *err)
{
	static const char *const names[] = { "source", "partition", "order", "token", "pattern" };
	NP_CLEANUP(sql_finishp) struct sql_stmt *stmt = NULL;
	struct partition part = { .text = NP_BUF_INIT };
	struct matcher *matcher = NULL;
	const char *text[NP_COUNT(names)] = { NULL };
	char *what = NULL;
	int rc = NP_OK;

	for (size_t i = 0; i < NP_COUNT(names) && rc == NP_OK; i++)
		rc = sql_text_argument(arguments[i], names[i], &text[i], err);
	if (rc == NP_OK)
		rc = take_matcher(sql, text[4], &matcher, err);
	if (rc == NP_OK &&
	    asprintf(&what, "%s, %s, %s", *text[1] ? text[1] : "NULL", text[2], text[3]) < 0)
		rc = np_fail_nomem(err, "a query");
	if (rc == NP_OK)
		rc = sql_source_prepare(sql, what, text[0], "ORDER BY 1, 2", &stmt, err);
	if (rc == NP_OK)
		rc = scan(sql, matcher, stmt, &part, rows, err);
	free(what);
	np_buf_release(&part.text);
	rows_release(&part.orders);
	if (matcher)
		give_back_matcher(sql, matcher);
	return rc;
}

int sql_add_sequences(struct sql *sql)
{
	static const char *const names[] = { "part",    "rule",      "start_row",
					     "end_row", "start_key", "end_key" };
	static const struct sql_table table = {
		.name = "seq_match",
		.declaration = "CREATE TABLE x(part, rule, start_row, end_row, start_key, end_key,"
			       " source HIDDEN, partition HIDDEN, order_by HIDDEN, token HIDDEN,"
			       " pattern HIDDEN)",
		.result_columns = NP_COUNT(names),
		.arguments = 5,
		.needed = 5,
		.compute = compute,
		.result_names = names,
	};

	return sql_add_table(sql, &table);
}
