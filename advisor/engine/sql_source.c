/* SPDX-License-Identifier: Apache-2.0 */
#include "sql_source.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

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

/* "SELECT a, b AS c FROM view" and nothing else. */
static bool read_select(const struct sql *sql, const char *text, struct sql_source *source)
{
	struct selected columns[SQL_SOURCE_COLUMNS];
	struct word view;
	size_t count = 0;

	do {
		if (count == SQL_SOURCE_COLUMNS)
			return false;
		columns[count] = read_selected(&text);
	} while (is_word(&columns[count++].behind, ","));
	if (!is_word(&columns[count - 1].behind, "from"))
		return false;
	view = next_word(&text);
	source->view = sql_find_view(sql, view.text, view.length);
	if (!source->view || next_word(&text).length > 0)
		return false;
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

static bool read_plain(const struct sql *sql, const char *text, struct sql_source *source)
{
	struct word word = next_word(&text);

	return is_word(&word, "select") ? read_select(sql, text, source)
					: read_name(sql, word.text, source);
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

	*ret = (struct sql_source){ .row = SIZE_MAX };
	if (read_plain(sql, text, ret)) {
		rc = view_open(ret->view, err);
		return rc == NP_OK ? check_count(ret, least, err) : rc;
	}
	*ret = (struct sql_source){ .row = SIZE_MAX };
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
}

int sql_source_next(struct sql_source *source, struct np_err *err)
{
	source->row++; /* the first one is 0 */
	return source->view ? source->row < source->view->rows : sql_step(source->stmt, err);
}

struct np_cell sql_source_cell(const struct sql_source *source, size_t column)
{
	if (!source->view)
		return sql_cell(source->stmt, column);
	if (source->column[column] == SIZE_MAX)
		return np_cell_integer((int64_t)source->row);
	return source->view->cell(source->view, source->row, source->column[column]);
}
