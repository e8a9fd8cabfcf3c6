/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_ADVISOR_SQL_H
#define NP_ADVISOR_SQL_H

#include "npuprof/err.h"
#include "npuprof/relation.h"

#include "advisor/engine/data/values.h"
#include "advisor/engine/views/view.h"

/*
 * SQL for rules
 * =============
 *
 * A connection on which rules read views. It is a private database in memory:
 * nothing outside of it can be reached. What a rule says runs as untrusted text:
 * it may read, call functions and recurse, and nothing else, within limits of
 * time, rows and memory. What the engine says (temporary tables) is trusted.
 *
 * A connection belongs to one thread.
 */
struct adv_sql;
struct adv_sql_stmt;

struct adv_sql_limits {
	np_ns time;    /* of one rule on one rank */
	int64_t rows;  /* that one statement may give */
	int64_t bytes; /* of memory */
};

/* Once, before any database is opened: lets memory be counted per rule. */
void adv_sql_set_up(void);

int adv_sql_open(struct adv_sql **ret, struct np_err *err) NP_MUST_USE;
void adv_sql_close(struct adv_sql *sql);
void adv_sql_closep(struct adv_sql **sql);

/* Make a view readable by its name; it must outlive the connection. */
int adv_sql_add_view(struct adv_sql *sql, struct adv_view *view, struct np_err *err) NP_MUST_USE;

/* The same of whatever view is in the slot when a statement runs; the slot must outlive it. */
int adv_sql_add_slot(struct adv_sql *sql, const struct adv_view_slot *slot, struct np_err *err)
	NP_MUST_USE;

/* Start the clock and the count of memory of one rule; adv_sql_end() stops them. */
void adv_sql_begin(struct adv_sql *sql, const struct adv_sql_limits *limits);
void adv_sql_end(struct adv_sql *sql);

/* Values of :name in statements prepared from now on; borrowed, may be NULL. */
void adv_sql_set_values(struct adv_sql *sql, const struct adv_values *values);

/* Run constant SQL of the engine's. */
int adv_sql_run(struct adv_sql *sql, const char *text, struct np_err *err) NP_MUST_USE;

/* Run statements of a fixture: they may also change the tables that the engine made. */
int adv_sql_run_fixture(struct adv_sql *sql, const char *text, struct np_err *err) NP_MUST_USE;

/*
 * Prepare one statement and bind the values it names. NP_E_FORMAT for SQL that
 * is wrong or does more than a rule may; adv_sql_error_offset() then says where.
 */
int adv_sql_prepare(struct adv_sql *sql, const char *text, bool trusted, struct adv_sql_stmt **ret,
		    struct np_err *err) NP_MUST_USE;
void adv_sql_finish(struct adv_sql_stmt *stmt);
void adv_sql_finishp(struct adv_sql_stmt **stmt);

/* Byte offset in the text of the last prepare that failed, or -1 when it is not known. */
int adv_sql_error_offset(const struct adv_sql *sql);

/* Make a statement ready to run again, with the values of now. */
int adv_sql_renew(struct adv_sql_stmt *stmt, struct np_err *err) NP_MUST_USE;

/* 1 for a row, 0 at the end, or a failure. A statement may be stepped again after adv_sql_reset().
 */
int adv_sql_step(struct adv_sql_stmt *stmt, struct np_err *err) NP_MUST_USE;
void adv_sql_reset(struct adv_sql_stmt *stmt);

size_t adv_sql_columns(const struct adv_sql_stmt *stmt);
const char *adv_sql_column_name(const struct adv_sql_stmt *stmt, size_t column);

/* The type that the column was declared with where it comes from, NP_NUMERIC if it has none. */
enum np_column_type adv_sql_column_type(const struct adv_sql_stmt *stmt, size_t column);

/* A cell of the row; texts are valid until the next step. A blob is nothing. */
struct np_cell adv_sql_cell(struct adv_sql_stmt *stmt, size_t column);

/* Bind parameter `index`, counted from 1. Texts must stay until the statement is reset. */
int adv_sql_bind(struct adv_sql_stmt *stmt, size_t index, struct np_cell value, struct np_err *err)
	NP_MUST_USE;

/*
 * Append all rows of a table of a database file to `rows`, by the names of its
 * columns. NP_E_NOTFOUND when there is no such table or column.
 */
int adv_sql_read_table(const char *path, const char *table, struct adv_rows *rows,
		       struct np_err *err) NP_MUST_USE;

/* Append a name so that SQL takes it as one, whatever is in it. */
void adv_sql_quote(struct np_buf *buf, const char *name);

#endif /* NP_ADVISOR_SQL_H */
