/* SPDX-License-Identifier: Apache-2.0 */
/* Finds sequences of rows: seq_match() and its patterns over tokens. */
#include "sql_tables.h"

#include <stdlib.h>
#include <string.h>

#include "npuprof/json.h"
#include "npuprof/map.h"
#include "npuprof/order.h"

#include "advisor/engine/views/view_bulk.h"

/*
 * Patterns over tokens
 * ====================
 *
 * Each token becomes one character, and a pattern, translated alike, is matched
 * over the text by PCRE2. All characters are four bytes long, so that a place in the
 * text is the number of a token. Tokens that no pattern names share one character.
 *
 * A pattern is tokens joined by '-'. ( ) groups, | separates alternatives, ?, *, +
 * and {m,n} repeat what stands before them, a single '.' is any token; a
 * backslash makes any of these part of a token. Several patterns are given as a
 * JSON array, or as an object of name: pattern or name: [patterns].
 */
#define MATCHER_WIDTH 4U

/* Of tokens that no pattern names. */
#define MATCHER_OTHER 0x10000U

struct sequence {
	char *name; /* of the rule */
	struct np_pattern *pattern;
	NP_VEC(uint32_t) needs; /* codes without which nothing is found */
};

struct matcher {
	char *source; /* what was given as patterns */
	NP_VEC(char *)
	tokens; /* sorted after all patterns are read; code = MATCHER_OTHER + 1 + index */
	NP_VEC(char *) texts; /* patterns */
	NP_VEC(struct sequence) list;
};

#define LAST_CODE 0x10ffffU

static void matcher_free(struct matcher *matcher)
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
		np_vec_release(&matcher->list.item[i].needs);
	}
	np_vec_release(&matcher->tokens);
	np_vec_release(&matcher->texts);
	np_vec_release(&matcher->list);
	free(matcher->source);
	free(matcher);
}

static void matcher_freep(struct matcher **matcher)
{
	matcher_free(*matcher);
	*matcher = NULL;
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

static void sort_tokens(struct matcher *matcher)
{
	size_t kept = 0;

	if (matcher->tokens.count == 0)
		return;
	qsort(matcher->tokens.item, matcher->tokens.count, sizeof(char *), np_by_text);
	for (size_t i = 0; i < matcher->tokens.count; i++) {
		if (kept > 0 &&
		    strcmp(matcher->tokens.item[kept - 1], matcher->tokens.item[i]) == 0)
			free(matcher->tokens.item[i]);
		else
			matcher->tokens.item[kept++] = matcher->tokens.item[i];
	}
	matcher->tokens.count = kept;
}

static uint32_t matcher_code(const struct matcher *matcher, const char *token)
{
	char *const *found = NULL;

	if (matcher->tokens.count > 0)
		found = bsearch(&token, matcher->tokens.item, matcher->tokens.count, sizeof(char *),
				np_by_text);
	return found ? MATCHER_OTHER + 1 + (uint32_t)(found - matcher->tokens.item) : MATCHER_OTHER;
}

static void matcher_add_code(struct np_buf *buf, uint32_t code)
{
	const char bytes[MATCHER_WIDTH] = { (char)(0xf0 | code >> 18),
					    (char)(0x80 | (code >> 12 & 0x3f)),
					    (char)(0x80 | (code >> 6 & 0x3f)),
					    (char)(0x80 | (code & 0x3f)) };

	np_buf_add_bytes(buf, bytes, MATCHER_WIDTH);
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
			matcher_add_code(buf, matcher_code(matcher, token.text));
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

/* May what stands before be missing? A '-' does not part the two. */
static bool is_repeated(const char *text)
{
	text += strspn(text, "-");
	return *text && strchr("?*{", *text);
}

/* Tokens that stand alone in a pattern, in no group and no alternative, occur in what it finds. */
static int find_needs(const struct matcher *matcher, const char *text, struct sequence *sequence,
		      struct np_err *err)
{
	struct np_buf token = NP_BUF_INIT;
	int depth = 0;
	int rc = NP_OK;

	while (*text && rc == NP_OK) {
		if (read_token(&text, &token)) {
			uint32_t *code = depth > 0 || is_repeated(text)
						 ? NULL
						 : np_vec_add(&sequence->needs, err);

			if (code)
				*code = matcher_code(matcher, token.text);
			else if (depth == 0 && !is_repeated(text))
				rc = NP_E_NOMEM;
			continue;
		}
		if (*text == '|' && depth == 0) {
			sequence->needs.count = 0;
			break;
		}
		depth += *text == '(';
		depth -= *text == ')';
		/* How often is no token. */
		text += *text == '{' ? strcspn(text, "}") : 1;
	}
	np_buf_release(&token);
	return rc;
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
	if (matcher->tokens.count >= LAST_CODE - MATCHER_OTHER)
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
		if (rc == NP_OK)
			rc = find_needs(matcher, matcher->texts.item[i], &matcher->list.item[i],
					err);
	}
	np_buf_release(&text);
	return rc;
}

static int matcher_new(const char *text, struct matcher **ret, struct np_err *err)
{
	NP_CLEANUP(matcher_freep) struct matcher *matcher = calloc(1, sizeof(*matcher));
	int rc;

	if (matcher)
		matcher->source = strdup(text);
	if (!matcher || !matcher->source)
		return np_fail_nomem(err, "patterns");
	rc = add_all(matcher, text, err);
	if (rc == NP_OK)
		rc = compile_all(matcher, err);
	if (rc == NP_OK)
		*ret = NP_STEAL(matcher);
	return rc;
}

/*
 * seq_match(source, partition, order, token, pattern[, prefix])
 * =============================================================
 *
 * Finds sequences of rows. The rows of each partition are put in order, and patterns
 * are looked for in the sequence of their tokens. Tokens that begin with
 * the prefix are without it in patterns.
 */

void adv_sql_sequences_free(struct adv_sql *sql)
{
	matcher_free(sql->matcher);
}

/*
 * The patterns compiled. Those of the last call are mostly wanted again, on the next
 * rank; they are taken away while they are in use, since a source may have sequences too.
 */
static int take_matcher(struct adv_sql *sql, const char *text, struct matcher **ret,
			struct np_err *err)
{
	struct matcher *matcher = NP_STEAL(sql->matcher);

	if (matcher && strcmp(matcher->source, text) == 0) {
		*ret = matcher;
		return NP_OK;
	}
	matcher_free(matcher);
	return matcher_new(text, ret, err);
}

static void give_back_matcher(struct adv_sql *sql, struct matcher *matcher)
{
	matcher_free(sql->matcher);
	sql->matcher = matcher;
}

/* The rows of one partition on their way. */
struct partition {
	struct np_cell key;
	struct np_buf text;
	uint32_t *seen;         /* by code, from MATCHER_OTHER on: how often */
	struct adv_rows orders; /* one column */
	const int64_t *numbers; /* the same of a view whose order is a number; else NULL */
	bool begun;
};

static struct np_cell order_of(const struct partition *part, size_t row)
{
	return part->numbers ? np_cell_integer(part->numbers[row])
			     : *adv_rows_cell(&part->orders, row, 0);
}

static void add_code(struct partition *part, uint32_t code)
{
	part->seen[code - MATCHER_OTHER]++;
	matcher_add_code(&part->text, code);
}

static bool may_find(const struct partition *part, const struct sequence *sequence)
{
	for (size_t i = 0; i < sequence->needs.count; i++) {
		if (part->seen[sequence->needs.item[i] - MATCHER_OTHER] == 0)
			return false;
	}
	return true;
}

static int search(struct adv_sql *sql, struct partition *part, struct sequence *sequence,
		  struct adv_rows *rows, struct np_err *err)
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
			from = all.end + MATCHER_WIDTH;
			continue;
		}
		first = all.begin / MATCHER_WIDTH;
		last = all.end / MATCHER_WIDTH - 1;
		from = all.end;
		rc = adv_rows_add(rows,
				  (struct np_cell[]){ part->key, np_cell_text(sequence->name),
						      np_cell_integer((int64_t)first),
						      np_cell_integer((int64_t)last),
						      order_of(part, first), order_of(part, last) },
				  err);
		if (rc == NP_OK && adv_sql_late(sql))
			rc = np_fail(err, NP_E_RANGE, "out of time");
	}
	return rc;
}

static int finish_partition(struct adv_sql *sql, struct matcher *matcher, struct partition *part,
			    struct adv_rows *rows, struct np_err *err)
{
	int rc = np_buf_check(&part->text, err);

	for (size_t i = 0; i < matcher->list.count && rc == NP_OK; i++) {
		if (may_find(part, &matcher->list.item[i]))
			rc = search(sql, part, &matcher->list.item[i], rows, err);
	}
	np_buf_clear(&part->text);
	memset(part->seen, 0, (matcher->tokens.count + 1) * sizeof(*part->seen));
	adv_rows_release(&part->orders);
	part->begun = false;
	return rc;
}

static int begin_partition(struct partition *part, struct np_cell key, struct adv_rows *rows,
			   struct np_err *err)
{
	static const char *const name[] = { "order" };
	int rc = adv_cell_copy(rows->arena, key, &part->key, err);

	if (rc == NP_OK)
		rc = adv_rows_init(&part->orders, name, NULL, 1, err);
	part->orders.limited = true;
	part->begun = rc == NP_OK;
	return rc;
}

/* Where rows come from: a view, already in order, or a statement that puts them in order. */
struct sequence_reader {
	struct adv_sql_source source;
	size_t column[3]; /* partition, order, token; SIZE_MAX for no partition */
	const char *prefix;
	size_t prefix_length;
	struct np_numbers codes; /* by the address of a token that lasts */
};

static void reader_release(struct sequence_reader *reader)
{
	adv_sql_source_close(&reader->source);
	np_numbers_release(&reader->codes);
}

static struct np_cell reader_cell(const struct sequence_reader *reader, size_t index)
{
	return reader->column[index] == SIZE_MAX
		       ? np_cell_null()
		       : adv_sql_source_cell(&reader->source, reader->column[index]);
}

static uint32_t code_of(const struct sequence_reader *reader, const struct matcher *matcher,
			const struct np_cell *token)
{
	const char *text = token->text.bytes;

	/* A part of a longer text is not a token of a pattern. */
	if (text[token->text.length] != '\0')
		return MATCHER_OTHER;
	if (reader->prefix_length > 0 && strncmp(text, reader->prefix, reader->prefix_length) == 0)
		text += reader->prefix_length;
	return matcher_code(matcher, text);
}

/* Tokens of a view are mostly the same few, at the same addresses. */
static int find_code(struct sequence_reader *reader, const struct matcher *matcher, uint32_t *ret,
		     struct np_err *err)
{
	struct np_cell token = reader_cell(reader, 2);

	*ret = MATCHER_OTHER;
	if (token.type != NP_CELL_TEXT)
		return NP_OK;
	if (!reader->source.view) {
		*ret = code_of(reader, matcher, &token);
		return NP_OK;
	}
	*ret = np_numbers_get(&reader->codes, (uintptr_t)token.text.bytes);
	if (*ret != NP_MAP_NONE)
		return NP_OK;
	*ret = code_of(reader, matcher, &token);
	return np_numbers_add(&reader->codes, (uintptr_t)token.text.bytes, *ret, err);
}

static int scan(struct adv_sql *sql, struct matcher *matcher, struct sequence_reader *reader,
		struct partition *part, struct adv_rows *rows, struct np_err *err)
{
	int rc;

	while ((rc = adv_sql_source_next(&reader->source, err)) > 0) {
		struct np_cell key = reader_cell(reader, 0);
		struct np_cell order = reader_cell(reader, 1);
		uint32_t code = MATCHER_OTHER;

		rc = NP_OK;
		if (part->begun && adv_cell_compare(&part->key, &key) != 0)
			rc = finish_partition(sql, matcher, part, rows, err);
		if (rc == NP_OK && !part->begun)
			rc = begin_partition(part, key, rows, err);
		if (rc == NP_OK)
			rc = adv_rows_add(&part->orders, &order, err);
		if (rc == NP_OK)
			rc = find_code(reader, matcher, &code, err);
		if (rc < 0)
			return rc;
		add_code(part, code);
	}
	if (rc == 0 && part->begun)
		rc = finish_partition(sql, matcher, part, rows, err);
	return rc;
}

/* Rows of a view, in order already, whose columns can be read as a whole. */
struct sequence_columns {
	int64_t *key; /* NULL: there is one partition */
	int64_t *order;
	uint32_t *code_of; /* by the id of a token; NP_MAP_NONE: not looked for yet */
	struct adv_view_ids tokens;
	size_t count;
};

static void columns_release(struct sequence_columns *columns)
{
	free(columns->key);
	free(columns->order);
	free(columns->code_of);
}

/* Read them; *ret_can is false if they are others. */
static int read_columns(const struct sequence_reader *reader, struct sequence_columns *ret,
			bool *ret_can, struct np_err *err)
{
	const struct adv_sql_source *source = &reader->source;
	const size_t *column = reader->column;
	size_t ids;

	*ret_can = source->view && source->column[column[2]] != SIZE_MAX &&
		   adv_view_text_ids(source->view, source->column[column[2]], &ret->tokens);
	if (!*ret_can)
		return NP_OK;
	ret->count = adv_sql_source_count(source);
	ids = np_strtab_count(ret->tokens.texts) + 2;
	ret->key = column[0] == SIZE_MAX ? NULL : malloc((ret->count + 1) * sizeof(*ret->key));
	ret->order = malloc((ret->count + 1) * sizeof(*ret->order));
	ret->code_of = malloc(ids * sizeof(*ret->code_of));
	if ((column[0] != SIZE_MAX && !ret->key) || !ret->order || !ret->code_of)
		return np_fail_nomem(err, "sequences");
	memset(ret->code_of, 0xff, ids * sizeof(*ret->code_of));
	*ret_can = (!ret->key || adv_sql_source_numbers(source, column[0], ret->key)) &&
		   adv_sql_source_numbers(source, column[1], ret->order);
	return NP_OK;
}

static uint32_t code_at(const struct sequence_reader *reader, const struct matcher *matcher,
			const struct sequence_columns *columns, size_t i)
{
	const struct adv_sql_source *source = &reader->source;
	np_str id = adv_view_id(&columns->tokens, source->some ? source->rows.item[i] : i);

	if (id != NP_STR_NONE && columns->code_of[id] == NP_MAP_NONE) {
		const struct np_cell token =
			np_cell_bytes(np_strtab_text(columns->tokens.texts, id),
				      np_strtab_length(columns->tokens.texts, id));

		columns->code_of[id] = code_of(reader, matcher, &token);
	}
	return id == NP_STR_NONE ? MATCHER_OTHER : columns->code_of[id];
}

static int scan_columns(struct adv_sql *sql, struct matcher *matcher,
			struct sequence_reader *reader, const struct sequence_columns *columns,
			struct partition *part, struct adv_rows *rows, struct np_err *err)
{
	int rc = NP_OK;

	for (size_t i = 0; i < columns->count && rc == NP_OK; i++) {
		bool new = i == 0 || (columns->key && columns->key[i] != columns->key[i - 1]);

		if (new && part->begun)
			rc = finish_partition(sql, matcher, part, rows, err);
		if (new) {
			part->key =
				columns->key ? np_cell_integer(columns->key[i]) : np_cell_null();
			part->numbers = &columns->order[i];
			part->begun = true;
		}
		if (rc == NP_OK)
			add_code(part, code_at(reader, matcher, columns, i));
	}
	if (rc == NP_OK && part->begun)
		rc = finish_partition(sql, matcher, part, rows, err);
	return rc;
}

/* Are all three columns of the source by their names? Then it need not go through SQL. */
static bool find_columns(struct sequence_reader *reader, const char *const *names)
{
	for (size_t i = 0; i < NP_COUNT(reader->column); i++) {
		reader->column[i] = SIZE_MAX;
		for (size_t c = 0; c < reader->source.count; c++) {
			if (strcmp(reader->source.name[c], names[i]) == 0)
				reader->column[i] = c;
		}
		if (reader->column[i] == SIZE_MAX && !(i == 0 && !*names[i]))
			return false;
	}
	return true;
}

static int open_reader(struct adv_sql *sql, const char *source, const char *const *names,
		       struct sequence_reader *reader, struct np_err *err)
{
	char *what = NULL;
	int rc = adv_sql_source_open(sql, source, 1, &reader->source, err);

	if (rc < 0)
		return rc;
	if (reader->source.view && find_columns(reader, names))
		return adv_sql_source_sort(&reader->source, reader->column, 2, err);
	adv_sql_source_close(&reader->source);
	reader->source = (struct adv_sql_source){ .stmt = NULL };
	for (size_t i = 0; i < NP_COUNT(reader->column); i++)
		reader->column[i] = i;
	if (asprintf(&what, "%s, %s, %s", *names[0] ? names[0] : "NULL", names[1], names[2]) < 0)
		return np_fail_nomem(err, "a query");
	rc = adv_sql_source_prepare(sql, what, source, "ORDER BY 1, 2", &reader->source.stmt, err);
	free(what);
	return rc;
}

static int compute(struct adv_sql *sql, sqlite3_value **arguments, struct adv_rows *rows,
		   struct np_err *err)
{
	static const char *const names[] = { "source", "partition", "order",
					     "token",  "pattern",   "prefix" };
	NP_CLEANUP(reader_release) struct sequence_reader reader = { .prefix = "" };
	struct sequence_columns columns = { .count = 0 };
	struct partition part = { .text = NP_BUF_INIT };
	struct matcher *matcher = NULL;
	bool whole = false;
	const char *text[NP_COUNT(names)] = { NULL };
	int rc = NP_OK;

	for (size_t i = 0; i < NP_COUNT(names) && rc == NP_OK; i++) {
		if (arguments[i] || i < 5)
			rc = adv_sql_text_argument(arguments[i], names[i], &text[i], err);
	}
	if (rc == NP_OK)
		rc = take_matcher(sql, text[4], &matcher, err);
	if (rc == NP_OK && text[5]) {
		reader.prefix = text[5];
		reader.prefix_length = strlen(text[5]);
	}
	if (rc == NP_OK)
		rc = open_reader(sql, text[0], text + 1, &reader, err);
	if (rc == NP_OK)
		rc = read_columns(&reader, &columns, &whole, err);
	if (rc == NP_OK) {
		part.seen = calloc(matcher->tokens.count + 1, sizeof(*part.seen));
		rc = part.seen ? NP_OK : np_fail_nomem(err, "sequences");
	}
	if (rc == NP_OK)
		rc = whole ? scan_columns(sql, matcher, &reader, &columns, &part, rows, err)
			   : scan(sql, matcher, &reader, &part, rows, err);
	columns_release(&columns);
	free(part.seen);
	np_buf_release(&part.text);
	adv_rows_release(&part.orders);
	if (matcher)
		give_back_matcher(sql, matcher);
	return rc;
}

int adv_sql_add_sequences(struct adv_sql *sql)
{
	static const char *const names[] = { "part",    "rule",      "start_row",
					     "end_row", "start_key", "end_key" };
	static const struct adv_sql_table table = {
		.name = "seq_match",
		.declaration = "CREATE TABLE x(part, rule, start_row, end_row, start_key, end_key,"
			       " source HIDDEN, partition HIDDEN, order_by HIDDEN, token HIDDEN,"
			       " pattern HIDDEN, prefix HIDDEN)",
		.result_columns = NP_COUNT(names),
		.arguments = 6,
		.needed = 5,
		.compute = compute,
		.result_names = names,
	};

	return adv_sql_add_table(sql, &table);
}
