/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_ADVISOR_SQL_TABLES_H
#define NP_ADVISOR_SQL_TABLES_H

#include "sql_connection.h"

/*
 * Table-valued functions whose result is computed when they are called
 * ====================================================================
 *
 * `columns` of the result, then hidden ones for the arguments. `compute` gets
 * the arguments and appends rows.
 */
#define SQL_TABLE_ARGUMENTS 8

struct adv_sql_table {
	const char *name;
	const char *declaration; /* CREATE TABLE x(result…, argument HIDDEN…) */
	int result_columns;
	int arguments;
	int needed; /* of the arguments */
	int (*compute)(struct adv_sql *sql, sqlite3_value **arguments, struct adv_rows *rows,
		       struct np_err *err);
	const char *const *result_names;
};

int adv_sql_add_table(struct adv_sql *sql, const struct adv_sql_table *table);

/* An argument as text; fails when it is NULL. */
int adv_sql_text_argument(sqlite3_value *value, const char *name, const char **ret,
			  struct np_err *err) NP_MUST_USE;

/*
 * Sources: rows that a table-valued function is given to read
 * ===========================================================
 *
 * A source is the name of a table or a SELECT, run with the rights of a rule. One
 * that only names a view, or columns of it, is read from the view itself, which
 * takes a tenth of the time; a WHERE is left to SQLite, which then gives nothing but
 * the numbers of rows.
 */
#define SQL_SOURCE_COLUMNS 16

struct adv_sql_source {
	struct adv_sql_stmt *stmt;
	struct adv_view *view;             /* or this */
	size_t column[SQL_SOURCE_COLUMNS]; /* of the view; SIZE_MAX for the number of the row */
	char name[SQL_SOURCE_COLUMNS][32]; /* of a column, as the source calls it */
	size_t count;
	NP_VEC(uint32_t) rows; /* of the view; all of them if not `some` */
	bool some;
	size_t next; /* of the rows */
	size_t row;
};

/* Open the first columns of a source; NP_E_FORMAT if it has fewer than `least`. */
int adv_sql_source_open(struct adv_sql *sql, const char *text, size_t least,
			struct adv_sql_source *ret, struct np_err *err) NP_MUST_USE;
void adv_sql_source_close(struct adv_sql_source *source);

/* 1 for the next row, 0 at the end, or a failure. */
int adv_sql_source_next(struct adv_sql_source *source, struct np_err *err) NP_MUST_USE;

/* Before the first row, of a source that is a view: sort by these columns; SIZE_MAX is none. */
int adv_sql_source_sort(struct adv_sql_source *source, const size_t *columns, size_t count,
			struct np_err *err) NP_MUST_USE;

/*
 * The whole numbers that a column has in all rows, NP_UNKNOWN for none, and how many rows there
 * are: false if the source is no view, or the column has others. Nothing is read of the source.
 */
bool adv_sql_source_numbers(const struct adv_sql_source *source, size_t column, int64_t *ret);

/* Rows of a source that is a view. */
static inline size_t adv_sql_source_count(const struct adv_sql_source *source)
{
	return source->some ? source->rows.count : source->view->rows;
}

/* A cell of the row; texts last until the next one, those of a view as long as it. */
struct np_cell adv_sql_source_cell(const struct adv_sql_source *source, size_t column);

/* Prepare "SELECT <what> FROM <source> <rest>" as a rule would. */
int adv_sql_source_prepare(struct adv_sql *sql, const char *what, const char *source,
			   const char *rest, struct adv_sql_stmt **ret, struct np_err *err)
	NP_MUST_USE;

#endif /* NP_ADVISOR_SQL_TABLES_H */
