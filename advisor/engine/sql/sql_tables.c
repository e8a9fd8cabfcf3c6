/* SPDX-License-Identifier: Apache-2.0 */
/* Table-valued functions, and the sources that they are given to read. */
#include "sql_tables.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "npuprof/order.h"

#include "sql_conditions.h"

#include "advisor/engine/views/view_bulk.h"
#include "advisor/engine/views/view_order.h"

/* Table-valued functions: the arguments are hidden columns, as SQLite wants it. */
struct owner {
	struct adv_sql *sql;
	const struct adv_sql_table *table;
};

struct function_table {
	sqlite3_vtab base;
	struct owner owner;
};

struct function_cursor {
	sqlite3_vtab_cursor base;
	struct adv_rows rows;
	size_t at;
};

static int connect(sqlite3 *db, void *context, int argc, const char *const *argv,
		   sqlite3_vtab **ret, char **ret_error)
{
	const struct owner *owner = context;
	struct function_table *table;
	int rc = adv_sql_declare(owner->sql, owner->table->declaration);

	(void)db;
	(void)argc;
	(void)argv;
	(void)ret_error;
	if (rc != SQLITE_OK)
		return rc;
	table = sqlite3_malloc(sizeof(*table));
	if (!table)
		return SQLITE_NOMEM;
	*table = (struct function_table){ .owner = *owner };
	*ret = &table->base;
	return SQLITE_OK;
}

static int disconnect(sqlite3_vtab *vtab)
{
	sqlite3_free(vtab);
	return SQLITE_OK;
}

/* Arguments arrive in their order; idxNum has a bit for each that is given. */
static int best_index(sqlite3_vtab *vtab, sqlite3_index_info *info)
{
	const struct adv_sql_table *table = ((struct function_table *)vtab)->owner.table;
	int given = 0;
	int next = 1;

	for (int argument = 0; argument < table->arguments; argument++) {
		for (int i = 0; i < info->nConstraint; i++) {
			const struct sqlite3_index_constraint *constraint = &info->aConstraint[i];

			if (constraint->iColumn != table->result_columns + argument ||
			    constraint->op != SQLITE_INDEX_CONSTRAINT_EQ)
				continue;
			if (!constraint->usable)
				return SQLITE_CONSTRAINT; /* not before the tables it comes from */
			info->aConstraintUsage[i].argvIndex = next++;
			info->aConstraintUsage[i].omit = 1;
			given |= 1 << argument;
			break;
		}
	}
	info->idxNum = given;
	info->estimatedCost = 100000;
	info->estimatedRows = 1000;
	return SQLITE_OK;
}

static int open_cursor(sqlite3_vtab *vtab, sqlite3_vtab_cursor **ret)
{
	struct function_cursor *cursor = sqlite3_malloc(sizeof(*cursor));

	(void)vtab;
	if (!cursor)
		return SQLITE_NOMEM;
	*cursor = (struct function_cursor){ .at = 0 };
	*ret = &cursor->base;
	return SQLITE_OK;
}

static int close_cursor(sqlite3_vtab_cursor *base)
{
	adv_rows_release(&((struct function_cursor *)base)->rows);
	sqlite3_free(base);
	return SQLITE_OK;
}

static int failed(sqlite3_vtab *vtab, const char *name, const struct np_err *err)
{
	sqlite3_free(vtab->zErrMsg);
	vtab->zErrMsg = sqlite3_mprintf("%s(): %s", name, err->text);
	return err->code == NP_E_NOMEM ? SQLITE_NOMEM : SQLITE_ERROR;
}

static int filter(sqlite3_vtab_cursor *base, int number, const char *text, int argc,
		  sqlite3_value **argv)
{
	struct function_cursor *cursor = (struct function_cursor *)base;
	const struct owner *owner = &((struct function_table *)base->pVtab)->owner;
	const struct adv_sql_table *table = owner->table;
	sqlite3_value *arguments[SQL_TABLE_ARGUMENTS] = { NULL };
	struct np_err err = NP_ERR_INIT;
	int next = 0;
	int rc;

	(void)text;
	for (int i = 0; i < table->arguments && next < argc; i++) {
		if (number & 1 << i)
			arguments[i] = argv[next++];
	}
	for (int i = 0; i < table->needed; i++) {
		if (!arguments[i]) {
			(void)np_fail(&err, NP_E_FORMAT, "it needs %d arguments", table->needed);
			return failed(base->pVtab, table->name, &err);
		}
	}
	adv_rows_release(&cursor->rows);
	cursor->at = 0;
	rc = adv_rows_init(&cursor->rows, table->result_names, NULL, (size_t)table->result_columns,
			   &err);
	cursor->rows.limited = true;
	if (rc == NP_OK)
		rc = table->compute(owner->sql, arguments, &cursor->rows, &err);
	return rc == NP_OK ? SQLITE_OK : failed(base->pVtab, table->name, &err);
}

static int next(sqlite3_vtab_cursor *base)
{
	((struct function_cursor *)base)->at++;
	return SQLITE_OK;
}

static int eof(sqlite3_vtab_cursor *base)
{
	const struct function_cursor *cursor = (const struct function_cursor *)base;

	return cursor->at >= adv_rows_count(&cursor->rows);
}

static int column(sqlite3_vtab_cursor *base, sqlite3_context *context, int index)
{
	const struct function_cursor *cursor = (const struct function_cursor *)base;

	if ((size_t)index < cursor->rows.column_count)
		adv_sql_result_cell(
			context, *adv_rows_cell(&cursor->rows, cursor->at, (size_t)index), false);
	return SQLITE_OK;
}

static int rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *ret)
{
	*ret = (sqlite3_int64)((struct function_cursor *)base)->at;
	return SQLITE_OK;
}

static const sqlite3_module module = {
	.xConnect = connect,
	.xBestIndex = best_index,
	.xDisconnect = disconnect,
	.xOpen = open_cursor,
	.xClose = close_cursor,
	.xFilter = filter,
	.xNext = next,
	.xEof = eof,
	.xColumn = column,
	.xRowid = rowid,
};

int adv_sql_add_table(struct adv_sql *sql, const struct adv_sql_table *table)
{
	struct owner *owner = malloc(sizeof(*owner));

	if (!owner)
		return SQLITE_NOMEM;
	*owner = (struct owner){ .sql = sql, .table = table };
	return sqlite3_create_module_v2(sql->db, table->name, &module, owner, free);
}

int adv_sql_text_argument(sqlite3_value *value, const char *name, const char **ret,
			  struct np_err *err)
{
	const char *text = value ? (const char *)sqlite3_value_text(value) : NULL;

	if (!text)
		return np_fail(err, NP_E_FORMAT, "the argument '%s' is missing", name);
	*ret = text;
	return NP_OK;
}

struct source_word {
	const char *text;
	size_t length;
};

static bool is_part(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* The next name or sign of the text, which moves behind it; empty at the end. */
static struct source_word next_word(const char **text)
{
	struct source_word word = { *text + strspn(*text, " \t\r\n"), 0 };

	while (is_part(word.text[word.length]))
		word.length++;
	if (word.length == 0 && *word.text)
		word.length = 1;
	*text = word.text + word.length;
	return word;
}

static bool is_word(const struct source_word *word, const char *wanted)
{
	return word->length == strlen(wanted) && strncasecmp(word->text, wanted, word->length) == 0;
}

static bool find_column(const struct adv_view *view, const struct source_word *word, size_t *ret)
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
	struct source_word column;
	struct source_word name;
	struct source_word behind;
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

static bool take_column(struct adv_sql_source *source, const struct source_word *column,
			const struct source_word *name)
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
	struct source_word word;

	while ((word = next_word(&text)).length > 0) {
		for (size_t i = 0; i < NP_COUNT(words); i++) {
			if (is_word(&word, words[i]))
				return true;
		}
	}
	return false;
}

/* "SELECT a, b AS c FROM view", with or without a WHERE that then begins at `ret_where`. */
static bool read_select(const struct adv_sql *sql, const char *text, struct adv_sql_source *source,
			const char **ret_where)
{
	struct selected columns[SQL_SOURCE_COLUMNS];
	struct source_word word;
	size_t count = 0;

	do {
		if (count == SQL_SOURCE_COLUMNS)
			return false;
		columns[count] = read_selected(&text);
	} while (is_word(&columns[count++].behind, ","));
	if (!is_word(&columns[count - 1].behind, "from"))
		return false;
	word = next_word(&text);
	source->view = adv_sql_find_view(sql, word.text, word.length);
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
static bool read_name(const struct adv_sql *sql, const char *text, struct adv_sql_source *source)
{
	struct source_word name = next_word(&text);

	source->view = adv_sql_find_view(sql, name.text, name.length);
	if (!source->view || next_word(&text).length > 0)
		return false;
	for (size_t i = 0; i < source->view->column_count && i < SQL_SOURCE_COLUMNS; i++) {
		const char *column = source->view->columns[i].name;
		const struct source_word word = { column, strlen(column) };

		if (!take_column(source, &word, &word))
			return false;
	}
	return true;
}

static bool read_plain(const struct adv_sql *sql, const char *text, struct adv_sql_source *source,
		       const char **ret_where)
{
	struct source_word word = next_word(&text);

	*ret_where = NULL;
	return is_word(&word, "select") ? read_select(sql, text, source, ret_where)
					: read_name(sql, word.text, source);
}

/* A statement for the numbers of rows that satisfy a condition; NULL if it is not that simple. */
static struct adv_sql_stmt *prepare_rows(struct adv_sql *sql, const char *view, const char *where)
{
	NP_CLEANUP(np_buf_release) struct np_buf text = NP_BUF_INIT;
	struct np_err ignored = NP_ERR_INIT;
	struct adv_sql_stmt *stmt = NULL;

	np_buf_printf(&text, "SELECT rowid FROM %s WHERE %s", view, where);
	if (text.failed || adv_sql_prepare(sql, text.text, false, &stmt, &ignored) < 0)
		return NULL;
	return stmt;
}

/*
 * Conditions that are so simple that SQLite need not be asked: comparisons of columns with
 * numbers and texts, joined by AND.
 */
#define PLAIN_CONDITIONS 6

struct plain_where {
	struct adv_sql_comparison list[PLAIN_CONDITIONS];
	size_t count;
	struct np_buf texts; /* of all values; their offsets are in `at` until all are read */
	size_t at[PLAIN_CONDITIONS];
};

/* A text in quotes, to behind it. */
static bool read_quoted(const char **text, struct np_buf *buf)
{
	const char *at = *text + 1;

	for (; *at; at++) {
		if (*at == '\'' && at[1] != '\'') {
			*text = at + 1;
			np_buf_add_char(buf, '\0');
			return true;
		}
		at += *at == '\'';
		np_buf_add_char(buf, *at);
	}
	return false;
}

/* "=", "<=", "LIKE" …: signs stand next to each other. */
static bool read_operator(const char **text, char *ret, size_t size)
{
	struct source_word word = next_word(text);

	if (word.length == 0)
		return false;
	if (strchr("<>=", word.text[0]) && strchr("<>=", word.text[1]) && word.text[1]) {
		word.length = 2;
		(*text)++;
	}
	if (word.length >= size)
		return false;
	memcpy(ret, word.text, word.length);
	ret[word.length] = '\0';
	return true;
}

/* A whole number or a text. */
static bool read_value(const char **text, struct plain_where *where)
{
	struct adv_sql_comparison *one = &where->list[where->count];
	size_t begin = where->texts.length;
	struct source_word word;
	int64_t number = 0;

	*text += strspn(*text, " \t\r\n");
	if (**text == '\'') {
		where->at[where->count] = begin;
		if (!read_quoted(text, &where->texts))
			return false;
		one->value = np_cell_bytes(NULL, where->texts.length - begin - 1);
		return true;
	}
	word = next_word(text);
	if (word.length == 0 || word.length > 18)
		return false;
	for (size_t i = 0; i < word.length; i++) {
		if (!isdigit((unsigned char)word.text[i]))
			return false;
		number = 10 * number + (word.text[i] - '0');
	}
	one->value = np_cell_integer(number);
	return true;
}

static bool read_condition(const struct adv_view *view, const char **text,
			   struct plain_where *where)
{
	struct source_word column = next_word(text);
	struct adv_sql_comparison *one = &where->list[where->count];

	if (!find_column(view, &column, &one->column) || one->column == SIZE_MAX ||
	    !read_operator(text, one->operator, sizeof(one->operator)) || !read_value(text, where))
		return false;
	where->count++;
	return true;
}

/* Is that all of the condition? */
static bool read_where(const struct adv_view *view, const char *text, struct plain_where *where)
{
	struct source_word word;

	do {
		if (where->count == PLAIN_CONDITIONS || !read_condition(view, &text, where))
			return false;
		word = next_word(&text);
	} while (is_word(&word, "and"));
	if (word.length > 0 || where->texts.failed)
		return false;
	for (size_t i = 0; i < where->count; i++) {
		if (where->list[i].value.type == NP_CELL_TEXT)
			where->list[i].value.text.bytes = where->texts.text + where->at[i];
	}
	return true;
}

/* Rows for which the condition holds; not *ret_done: SQLite has to look. */
static int keep_rows(struct adv_sql *sql, struct adv_sql_source *source, const char *text,
		     bool *ret_done, struct np_err *err)
{
	struct plain_where where = { .texts = NP_BUF_INIT };
	struct adv_sql_selection kept = { .rows = NULL };
	int rc = adv_view_open(source->view, err);
	bool can = rc == NP_OK && read_where(source->view, text, &where);

	kept.count = rc == NP_OK ? source->view->rows : 0;
	/* Even of no rows: what cannot be looked at here may be wrong, and SQLite says so. */
	for (size_t i = 0; i < where.count && rc == NP_OK && can; i++)
		rc = adv_sql_keep(sql, source->view, &where.list[i], &kept, &can, err);
	/* What is wrong with a pattern, or took too long, SQLite meets again and says. */
	if (rc < 0 && rc != NP_E_NOMEM) {
		*err = NP_ERR_INIT;
		rc = NP_OK;
		can = false;
	}
	*ret_done = rc == NP_OK && can;
	if (*ret_done) {
		source->rows.item = kept.rows;
		source->rows.count = kept.count;
		source->rows.capacity = kept.rows ? kept.count : 0;
		source->some = kept.rows != NULL || kept.count == 0;
	} else {
		free(kept.rows);
	}
	np_buf_release(&where.texts);
	return rc;
}

static bool rises(const uint32_t *rows, size_t count)
{
	for (size_t i = 1; i < count; i++) {
		if (rows[i] < rows[i - 1])
			return false;
	}
	return true;
}

/* Functions want the order of time, which is that of the view. */
static void sort_rows(struct adv_sql_source *source)
{
	if (!rises(source->rows.item, source->rows.count))
		qsort(source->rows.item, source->rows.count, sizeof(uint32_t), np_by_uint32);
}

static int find_rows(struct adv_sql_source *source, struct adv_sql_stmt *stmt, struct np_err *err)
{
	int rc;

	while ((rc = adv_sql_step(stmt, err)) > 0) {
		uint32_t *row = np_vec_add(&source->rows, err);

		if (!row)
			return NP_E_NOMEM;
		*row = (uint32_t)adv_sql_cell(stmt, 0).integer;
	}
	source->some = true;
	return rc;
}

/* Open a source that is plain; its view is NULL if it is not. */
static int open_plain(struct adv_sql *sql, const char *text, struct adv_sql_source *source,
		      struct np_err *err)
{
	NP_CLEANUP(adv_sql_finishp) struct adv_sql_stmt *stmt = NULL;
	const char *where = NULL;
	bool plain = read_plain(sql, text, source, &where);
	bool done = false;
	int rc = NP_OK;

	if (plain && where)
		rc = keep_rows(sql, source, where, &done, err);
	if (rc < 0)
		return rc;
	if (plain && where && !done) {
		stmt = prepare_rows(sql, source->view->name, where);
		plain = stmt != NULL;
	}
	if (!plain) {
		*source = (struct adv_sql_source){ .stmt = NULL };
		return NP_OK;
	}
	rc = adv_view_open(source->view, err);
	if (rc == NP_OK && stmt)
		rc = find_rows(source, stmt, err);
	sort_rows(source);
	return rc;
}

static int check_count(const struct adv_sql_source *source, size_t least, struct np_err *err)
{
	if (source->count < least)
		return np_fail(err, NP_E_FORMAT, "the source gives fewer than %zu columns", least);
	return NP_OK;
}

int adv_sql_source_prepare(struct adv_sql *sql, const char *what, const char *source,
			   const char *rest, struct adv_sql_stmt **ret, struct np_err *err)
{
	struct np_buf text = NP_BUF_INIT;
	bool select = strpbrk(source, " \t\n") != NULL;
	int rc;

	np_buf_printf(&text, "SELECT %s FROM %s%s%s %s", what, select ? "(" : "", source,
		      select ? ")" : "", rest);
	rc = np_buf_check(&text, err);
	if (rc == NP_OK)
		rc = adv_sql_prepare(sql, text.text, false, ret, err);
	np_buf_release(&text);
	return rc;
}

int adv_sql_source_open(struct adv_sql *sql, const char *text, size_t least,
			struct adv_sql_source *ret, struct np_err *err)
{
	int rc;

	*ret = (struct adv_sql_source){ .stmt = NULL };
	rc = open_plain(sql, text, ret, err);
	if (rc < 0)
		return rc;
	if (ret->view)
		return check_count(ret, least, err);
	rc = adv_sql_source_prepare(sql, "*", text, "", &ret->stmt, err);
	if (rc < 0)
		return rc;
	ret->count = adv_sql_columns(ret->stmt);
	if (ret->count > SQL_SOURCE_COLUMNS)
		ret->count = SQL_SOURCE_COLUMNS;
	for (size_t i = 0; i < ret->count; i++)
		(void)snprintf(ret->name[i], sizeof(ret->name[i]), "%s",
			       adv_sql_column_name(ret->stmt, i));
	return check_count(ret, least, err);
}

void adv_sql_source_close(struct adv_sql_source *source)
{
	adv_sql_finish(source->stmt);
	source->stmt = NULL;
	np_vec_release(&source->rows);
}

/* All rows of the view as a list. */
static int list_rows(struct adv_sql_source *source, struct np_err *err)
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

int adv_sql_source_sort(struct adv_sql_source *source, const size_t *columns, size_t count,
			struct np_err *err)
{
	int rc = list_rows(source, err);

	for (size_t i = count; rc == NP_OK && i-- > 0;) {
		const struct adv_view_order *order;

		/* Rows come in the order of their numbers. */
		if (columns[i] == SIZE_MAX || source->column[columns[i]] == SIZE_MAX)
			continue;
		rc = adv_view_order(source->view, source->column[columns[i]], &order, err);
		if (rc == NP_OK)
			rc = adv_view_order_sort(order, source->rows.item, source->rows.count, err);
	}
	return rc;
}

int adv_sql_source_next(struct adv_sql_source *source, struct np_err *err)
{
	size_t at = source->next++;

	if (!source->view)
		return adv_sql_step(source->stmt, err);
	if (at >= (source->some ? source->rows.count : source->view->rows))
		return 0;
	source->row = source->some ? source->rows.item[at] : at;
	return 1;
}

struct np_cell adv_sql_source_cell(const struct adv_sql_source *source, size_t column)
{
	if (!source->view)
		return adv_sql_cell(source->stmt, column);
	if (source->column[column] == SIZE_MAX)
		return np_cell_integer((int64_t)source->row);
	return source->view->cell(source->view, source->row, source->column[column]);
}

bool adv_sql_source_numbers(const struct adv_sql_source *source, size_t column, int64_t *ret)
{
	const uint32_t *rows = source->some ? source->rows.item : NULL;
	size_t count = source->view ? adv_sql_source_count(source) : 0;

	if (!source->view)
		return false;
	if (source->column[column] != SIZE_MAX)
		return adv_view_numbers(source->view, source->column[column], rows, count, ret);
	for (size_t i = 0; i < count; i++)
		ret[i] = rows ? rows[i] : (int64_t)i;
	return true;
}
