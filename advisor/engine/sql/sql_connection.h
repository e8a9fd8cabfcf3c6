/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_ADVISOR_SQL_CONNECTION_H
#define NP_ADVISOR_SQL_CONNECTION_H

#include <sqlite3.h>

#include "npuprof/pattern.h"

#include "sql.h"

/* SQLite before 3.38 asks for the values of a list one by one, and says neither why it sorts nor
 * where an error is. */
#if SQLITE_VERSION_NUMBER < 3038000
static inline int sqlite3_vtab_in(sqlite3_index_info *info, int constraint, int handle)
{
	(void)info;
	(void)constraint;
	(void)handle;
	return 0;
}

static inline int sqlite3_vtab_in_first(sqlite3_value *list, sqlite3_value **ret)
{
	(void)list;
	(void)ret;
	return SQLITE_DONE;
}

static inline int sqlite3_vtab_in_next(sqlite3_value *list, sqlite3_value **ret)
{
	return sqlite3_vtab_in_first(list, ret);
}

static inline int sqlite3_vtab_distinct(sqlite3_index_info *info)
{
	(void)info;
	return 0;
}

static inline int sqlite3_error_offset(sqlite3 *db)
{
	(void)db;
	return -1;
}
#endif

/*
 * The connection from inside
 * ==========================
 *
 * What the functions and virtual tables of a connection share. The only header that
 * knows SQLite.
 */
struct adv_sql {
	sqlite3 *db;
	const struct adv_values *values;
	struct adv_sql_limits limits;
	np_ns deadline; /* 0: no rule is running */
	np_ns begun;    /* when the rule was, in time of its thread */
	bool trusted;
	bool filling;     /* a fixture may change tables */
	bool late;        /* the deadline passed */
	int error_offset; /* of the last prepare */
	char denied[96];  /* what the text wanted to do and may not */
	NP_VEC(struct sql_view *) views;
	struct sql_pattern *patterns; /* compiled; see sql_patterns.c */
	size_t last_pattern;
	size_t next_pattern;
	struct matcher *matcher; /* of sequences; see sql_sequences.c */
};

struct adv_sql_stmt {
	struct adv_sql *sql;
	sqlite3_stmt *stmt;
	int64_t rows;
	bool trusted;
};

/* Is the rule out of time? For long work inside of one function. */
bool adv_sql_late(struct adv_sql *sql);

/* sqlite3_declare_vtab(), which asks for the right to create a table. */
int adv_sql_declare(struct adv_sql *sql, const char *text);

/* Fill `err` from the connection's last failure. */
int adv_sql_failed(struct adv_sql *sql, int code, struct np_err *err);

/* Give a cell to SQLite; texts are static when `lasting`. */
void adv_sql_result_cell(sqlite3_context *context, struct np_cell cell, bool lasting);
struct np_cell adv_sql_value_cell(sqlite3_value *value);

/* Functions and table-valued functions, one registration per file. */
int adv_sql_add_functions(struct adv_sql *sql);
int adv_sql_add_patterns(struct adv_sql *sql);
int adv_sql_add_shapes(struct adv_sql *sql);
int adv_sql_add_sequences(struct adv_sql *sql);
int adv_sql_add_overlap(struct adv_sql *sql);
int adv_sql_add_ngrams(struct adv_sql *sql);
int adv_sql_add_graphs(struct adv_sql *sql);

void adv_sql_views_free(struct adv_sql *sql);

/* The view behind a name that statements of this connection can use, or NULL. */
struct adv_view *adv_sql_find_view(const struct adv_sql *sql, const char *name, size_t length);

/* A compiled pattern; it stays until the connection has compiled many others. */
int adv_sql_pattern(struct adv_sql *sql, const char *text, size_t length, struct np_pattern **ret,
		    struct np_err *err) NP_MUST_USE;
void adv_sql_patterns_free(struct adv_sql *sql);
void adv_sql_sequences_free(struct adv_sql *sql);

#endif /* NP_ADVISOR_SQL_CONNECTION_H */
