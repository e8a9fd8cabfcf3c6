/* SPDX-License-Identifier: Apache-2.0 */
#include "sql_source.h"

#include "npuprof/order.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "advisor/engine/views/view_order.h"

struct word {
	const char *text;
	size_t length;
};

static bool is_part(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* The next name or sign of the text, which moves behind it; empty at the end. */
static struct word next_word(const char **text)
{
	struct word word = { *text + strspn(*text, " \t\r\n"), 0 };

	while (is_part(word.text[word.length]))
		word.length++;
	if (word.length == 0 && *word.text)
		word.length = 1;
	*text = word.text + word.length;
	return word;
}

static bool is_word(const struct word *word, const char *wanted)
{
	return word->length == strlen(wanted) && strncasecmp(word->text, wanted, word->length) == 0;
}

static bool find_column(const struct view *view, const struct word *word, size_t *ret)
{
	if (is_word(word, "rowid")) {
		*ret = SIZE_MAX;
		return true;
	}
	for (size_t i = 0; i < view->column_count; i++) {
		if (is_word(word, view->columns[i].name)) {
			*ret = i;
			return true;
		}
	}
	return false;
}

/* One column of a SELECT that may have another name: "a" or "a AS b"; then the word behind it. */
struct selected {
	struct word column;
	struct word name;
	struct word behind;
};

static struct selected read_selected(const char **text)
{
	struct selected one = { .column = next_word(text) };

	one.name = one.column;
	one.behind = next_word(text);
	if (is_word(&one.behind, "as")) {
		one.name = next_word(text);
		one.behind = next_word(text);
	}
	return one;
}

static bool take_column(struct sql_source *source, const struct word *column,
			const struct word *name)
{
	size_t index = source->count;

	if (!find_column(source->view, column, &source->column[index]) ||
	    name->length >= sizeof(source->name[index]))
		return false;
	memcpy(source->name[index], name->text, name->length);
	source->name[index][name->length] = '\0';
	source->count++;
	return true;
}

/* Does the text have a word by which a SELECT becomes more than rows of one view? */
static bool is_more(const char *text)
{
	static const char *const words[] = { "union", "except",   "intersect", "group",
					     "limit", "order",    "having",    "window",
					     "over",  "distinct", "offset" };
	struct word word;

	while ((word = next_word(&text)).length > 0) {
		for (size_t i = 0; i < NP_COUNT(words); i++) {
			if (is_word(&word, words[i]))
				return true;
		}
	}
	return false;
}

/* "SELECT a, b AS c FROM view", with or without a WHERE that then begins at `ret_where`. */
static bool read_select(const struct sql *sql, const char *text, struct sql_source *source,
			const char **ret_where)
{
	struct selected columns[SQL_SOURCE_COLUMNS];
	struct word word;
	size_t count = 0;

	do {
		if (count == SQL_SOURCE_COLUMNS)
			return false;
		columns[count] = read_selected(&text);
	} while (is_word(&columns[count++].behind, ","));
	if (!is_word(&columns[count - 1].behind, "from"))
		return false;
	word = next_word(&text);
	source->view = sql_find_view(sql, word.text, word.length);
	word = next_word(&text);
	if (!source->view || (word.length > 0 && (!is_word(&word, "where") || is_more(text))))
		return false;
	*ret_where = word.length > 0 ? text : NULL;
	for (size_t i = 0; i < count; i++) {
		if (!take_column(source, &columns[i].column, &columns[i].name))
			return false;
	}
	return true;
}

/* The name of a view alone: all of its columns. */
static bool read_name(const struct sql *sql, const char *text, struct sql_source *source)
{
	struct word name = next_word(&text);

	source->view = sql_find_view(sql, name.text, name.length);
	if (!source->view || next_word(&text).length > 0)
		return false;
	for (size_t i = 0; i < source->view->column_count && i < SQL_SOURCE_COLUMNS; i++) {
		const char *column = source->view->columns[i].name;
		const struct word word = { column, strlen(column) };

		if (!take_column(source, &word, &word))
			return false;
	}
	return true;
}

static bool read_plain(const struct sql *sql, const char *text, struct sql_source *source,
		       const char **ret_where)
{
	struct word word = next_word(&text);

	*ret_where = NULL;
	return is_word(&word, "select") ? read_select(sql, text, source, ret_where)
					: read_name(sql, word.text, source);
}

/* A statement for the numbers of rows that satisfy a condition; NULL if it is not that simple. */
static struct sql_stmt *prepare_rows(struct sql *sql, const char *view, const char *where)
{
	NP_CLEANUP(np_buf_release) struct np_buf text = NP_BUF_INIT;
	struct np_err ignored = NP_ERR_INIT;
	struct sql_stmt *stmt = NULL;

	np_buf_printf(&text, "SELECT rowid FROM %s WHERE %s", view, where);
	if (text.failed || sql_prepare(sql, text.text, false, &stmt, &ignored) < 0)
		return NULL;
	return stmt;
}

/* Functions want the order of time, which is that of the view. */
static int find_rows(struct sql_source *source, struct sql_stmt *stmt, struct np_err *err)
{
	bool ascending = true;
	uint32_t before = 0;
	int rc;

	while ((rc = sql_step(stmt, err)) > 0) {
		uint32_t *row = np_vec_add(&source->rows, err);

		if (!row)
			return NP_E_NOMEM;
		*row = (uint32_t)sql_cell(stmt, 0).integer;
		ascending = ascending && *row >= before;
		before = *row;
	}
	if (!ascending)
		qsort(source->rows.item, source->rows.count, sizeof(uint32_t), np_by_uint32);
	source->some = true;
	return rc;
}

/* Open a source that is plain; its view is NULL if it is not. */
static int open_plain(struct sql *sql, const char *text, struct sql_source *source,
		      struct np_err *err)
{
	NP_CLEANUP(sql_finishp) struct sql_stmt *stmt = NULL;
	const char *where = NULL;
	bool plain = read_plain(sql, text, source, &where);
	int rc;

	if (plain && where) {
		stmt = prepare_rows(sql, source->view->name, where);
		plain = stmt != NULL;
	}
	if (!plain) {
		*source = (struct sql_source){ .stmt = NULL };
		return NP_OK;
	}
	rc = view_open(source->view, err);
	return rc == NP_OK && stmt ? find_rows(source, stmt, err) : rc;
}

static int check_count(const struct sql_source *source, size_t least, struct np_err *err)
{
	if (source->count < least)
		return np_fail(err, NP_E_FORMAT, "the source gives fewer than %zu columns", least);
	return NP_OK;
}

int sql_source_prepare(struct sql *sql, const char *what, const char *source, const char *rest,
		       struct sql_stmt **ret, struct np_err *err)
{
	struct np_buf text = NP_BUF_INIT;
	bool select = strpbrk(source, " \t\n") != NULL;
	int rc;

	np_buf_printf(&text, "SELECT %s FROM %s%s%s %s", what, select ? "(" : "", source,
		      select ? ")" : "", rest);
	rc = np_buf_check(&text, err);
	if (rc == NP_OK)
		rc = sql_prepare(sql, text.text, false, ret, err);
	np_buf_release(&text);
	return rc;
}

int sql_source_open(struct sql *sql, const char *text, size_t least, struct sql_source *ret,
		    struct np_err *err)
{
	int rc;

	*ret = (struct sql_source){ .stmt = NULL };
	rc = open_plain(sql, text, ret, err);
	if (rc < 0)
		return rc;
	if (ret->view)
		return check_count(ret, least, err);
	rc = sql_source_prepare(sql, "*", text, "", &ret->stmt, err);
	if (rc < 0)
		return rc;
	ret->count = sql_columns(ret->stmt);
	if (ret->count > SQL_SOURCE_COLUMNS)
		ret->count = SQL_SOURCE_COLUMNS;
	for (size_t i = 0; i < ret->count; i++)
		(void)snprintf(ret->name[i], sizeof(ret->name[i]), "%s",
			       sql_column_name(ret->stmt, i));
	return check_count(ret, least, err);
}

void sql_source_close(struct sql_source *source)
{
	sql_finish(source->stmt);
	source->stmt = NULL;
	np_vec_release(&source->rows);
}

/* All rows of the view as a list. */
static int list_rows(struct sql_source *source, struct np_err *err)
{
	if (source->some)
		return NP_OK;
	for (size_t i = 0; i < source->view->rows; i++) {
		uint32_t *row = np_vec_add(&source->rows, err);

		if (!row)
			return NP_E_NOMEM;
		*row = (uint32_t)i;
	}
	source->some = true;
	return NP_OK;
}

int sql_source_sort(struct sql_source *source, const size_t *columns, size_t count,
		    struct np_err *err)
{
	int rc = list_rows(source, err);

	for (size_t i = count; rc == NP_OK && i-- > 0;) {
		const struct view_order *order;

		/* Rows come in the order of their numbers. */
		if (columns[i] == SIZE_MAX || source->column[columns[i]] == SIZE_MAX)
			continue;
		rc = view_order(source->view, source->column[columns[i]], &order, err);
		if (rc == NP_OK)
			rc = view_order_sort(order, source->rows.item, source->rows.count, err);
	}
	return rc;
}

int sql_source_next(struct sql_source *source, struct np_err *err)
{
	size_t at = source->next++;

	if (!source->view)
		return sql_step(source->stmt, err);
	if (at >= (source->some ? source->rows.count : source->view->rows))
		return 0;
	source->row = source->some ? source->rows.item[at] : at;
	return 1;
}

struct np_cell sql_source_cell(const struct sql_source *source, size_t column)
{
	if (!source->view)
		return sql_cell(source->stmt, column);
	if (source->column[column] == SIZE_MAX)
		return np_cell_integer((int64_t)source->row);
	return source->view->cell(source->view, source->row, source->column[column]);
}
