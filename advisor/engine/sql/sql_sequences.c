/* SPDX-License-Identifier: Apache-2.0 */
#include "sql_source.h"

#include <stdlib.h>
#include <string.h>

#include "matcher.h"

#include "npuprof/map.h"

/*
 * seq_match(source, partition, order, token, pattern[, prefix])
 * =============================================================
 *
 * Finds sequences of rows. The rows of each partition are put in order, and patterns
 * are looked for in the sequence of their tokens (matcher.h). Tokens that begin with
 * the prefix are without it in patterns.
 */

void sql_sequences_free(struct sql *sql)
{
	matcher_free(sql->matcher);
}

/*
 * The patterns compiled. Those of the last call are mostly wanted again, on the next
 * rank; they are taken away while they are in use, since a source may have sequences too.
 */
static int take_matcher(struct sql *sql, const char *text, struct matcher **ret, struct np_err *err)
{
	struct matcher *matcher = NP_STEAL(sql->matcher);

	if (matcher && strcmp(matcher->source, text) == 0) {
		*ret = matcher;
		return NP_OK;
	}
	matcher_free(matcher);
	return matcher_new(text, ret, err);
}

static void give_back_matcher(struct sql *sql, struct matcher *matcher)
{
	matcher_free(sql->matcher);
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
			from = all.end + MATCHER_WIDTH;
			continue;
		}
		first = all.begin / MATCHER_WIDTH;
		last = all.end / MATCHER_WIDTH - 1;
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
	part->orders.limited = true;
	part->begun = rc == NP_OK;
	return rc;
}

/* Where rows come from: a view, already in order, or a statement that puts them in order. */
struct reader {
	struct sql_source source;
	size_t column[3]; /* partition, order, token; SIZE_MAX for no partition */
	const char *prefix;
	size_t prefix_length;
	struct np_numbers codes; /* by the address of a token that lasts */
};

static void reader_release(struct reader *reader)
{
	sql_source_close(&reader->source);
	np_numbers_release(&reader->codes);
}

static struct np_cell reader_cell(const struct reader *reader, size_t index)
{
	return reader->column[index] == SIZE_MAX
		       ? np_cell_null()
		       : sql_source_cell(&reader->source, reader->column[index]);
}

static uint32_t code_of(const struct reader *reader, const struct matcher *matcher,
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
static int find_code(struct reader *reader, const struct matcher *matcher, uint32_t *ret,
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

static int scan(struct sql *sql, struct matcher *matcher, struct reader *reader,
		struct partition *part, struct rows *rows, struct np_err *err)
{
	int rc;

	while ((rc = sql_source_next(&reader->source, err)) > 0) {
		struct np_cell key = reader_cell(reader, 0);
		struct np_cell order = reader_cell(reader, 1);
		uint32_t code = MATCHER_OTHER;

		rc = NP_OK;
		if (part->begun && cell_compare(&part->key, &key) != 0)
			rc = finish_partition(sql, matcher, part, rows, err);
		if (rc == NP_OK && !part->begun)
			rc = begin_partition(part, key, rows, err);
		if (rc == NP_OK)
			rc = rows_add(&part->orders, &order, err);
		if (rc == NP_OK)
			rc = find_code(reader, matcher, &code, err);
		if (rc < 0)
			return rc;
		matcher_add_code(&part->text, code);
	}
	if (rc == 0 && part->begun)
		rc = finish_partition(sql, matcher, part, rows, err);
	return rc;
}

/* Are all three columns of the source by their names? Then it need not go through SQL. */
static bool find_columns(struct reader *reader, const char *const *names)
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

static int open_reader(struct sql *sql, const char *source, const char *const *names,
		       struct reader *reader, struct np_err *err)
{
	char *what = NULL;
	int rc = sql_source_open(sql, source, 1, &reader->source, err);

	if (rc < 0)
		return rc;
	if (reader->source.view && find_columns(reader, names))
		return sql_source_sort(&reader->source, reader->column, 2, err);
	sql_source_close(&reader->source);
	reader->source = (struct sql_source){ .stmt = NULL };
	for (size_t i = 0; i < NP_COUNT(reader->column); i++)
		reader->column[i] = i;
	if (asprintf(&what, "%s, %s, %s", *names[0] ? names[0] : "NULL", names[1], names[2]) < 0)
		return np_fail_nomem(err, "a query");
	rc = sql_source_prepare(sql, what, source, "ORDER BY 1, 2", &reader->source.stmt, err);
	free(what);
	return rc;
}

static int compute(struct sql *sql, sqlite3_value **arguments, struct rows *rows,
		   struct np_err *err)
{
	static const char *const names[] = { "source", "partition", "order",
					     "token",  "pattern",   "prefix" };
	NP_CLEANUP(reader_release) struct reader reader = { .prefix = "" };
	struct partition part = { .text = NP_BUF_INIT };
	struct matcher *matcher = NULL;
	const char *text[NP_COUNT(names)] = { NULL };
	int rc = NP_OK;

	for (size_t i = 0; i < NP_COUNT(names) && rc == NP_OK; i++) {
		if (arguments[i] || i < 5)
			rc = sql_text_argument(arguments[i], names[i], &text[i], err);
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
		rc = scan(sql, matcher, &reader, &part, rows, err);
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
			       " pattern HIDDEN, prefix HIDDEN)",
		.result_columns = NP_COUNT(names),
		.arguments = 6,
		.needed = 5,
		.compute = compute,
		.result_names = names,
	};

	return sql_add_table(sql, &table);
}
