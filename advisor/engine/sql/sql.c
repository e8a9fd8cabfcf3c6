/* SPDX-License-Identifier: Apache-2.0 */
/* A connection on which rules read views: its limits, its rights, statements and cells. */
#include "sql.h"

#include <inttypes.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "advisor/engine/data/quota.h"
#include "sql_connection.h"

/*
 * SQLite can limit its memory for the whole process only, where one greedy rule
 * would take it away from the loaders and rules of other threads. So its
 * allocator is wrapped, and what it takes counts.
 */
static sqlite3_mem_methods plain;

static void *counted_malloc(int size)
{
	void *memory = adv_quota_take(size) ? plain.xMalloc(size) : NULL;

	/* Blocks may be a little larger than was asked for. */
	if (memory)
		adv_quota_give(size - plain.xSize(memory));
	return memory;
}

static void counted_free(void *memory)
{
	if (memory)
		adv_quota_give(plain.xSize(memory));
	plain.xFree(memory);
}

static void *counted_realloc(void *memory, int size)
{
	int before = memory ? plain.xSize(memory) : 0;

	if (size > before && !adv_quota_take(size - before))
		return NULL;
	if (size <= before)
		adv_quota_give(before - size);
	return plain.xRealloc(memory, size);
}

void adv_sql_set_up(void)
{
	static atomic_bool done;
	sqlite3_mem_methods counted;

	if (atomic_exchange(&done, true))
		return;
	if (sqlite3_config(SQLITE_CONFIG_GETMALLOC, &plain) != SQLITE_OK || !plain.xMalloc)
		return;
	counted = plain;
	counted.xMalloc = counted_malloc;
	counted.xFree = counted_free;
	counted.xRealloc = counted_realloc;
	(void)sqlite3_config(SQLITE_CONFIG_MALLOC, &counted);
}

/* Values on their way from SQLite and to it. */

/* What overflowed is not known; SQLite itself gives NULL for what is no number. */
static struct np_cell known_real(double real)
{
	return isfinite(real) ? np_cell_real(real) : np_cell_null();
}

struct np_cell adv_sql_value_cell(sqlite3_value *value)
{
	switch (sqlite3_value_type(value)) {
	case SQLITE_INTEGER:
		return np_cell_integer(sqlite3_value_int64(value));
	case SQLITE_FLOAT:
		return known_real(sqlite3_value_double(value));
	case SQLITE_TEXT: {
		const char *text = (const char *)sqlite3_value_text(value);

		return text ? np_cell_bytes(text, (size_t)sqlite3_value_bytes(value))
			    : np_cell_null();
	}
	default:
		return np_cell_null();
	}
}

struct np_cell adv_sql_cell(struct adv_sql_stmt *stmt, size_t column)
{
	return adv_sql_value_cell(sqlite3_column_value(stmt->stmt, (int)column));
}

void adv_sql_result_cell(sqlite3_context *context, struct np_cell cell, bool lasting)
{
	switch (cell.type) {
	case NP_CELL_NULL:
		sqlite3_result_null(context);
		break;
	case NP_CELL_INTEGER:
		sqlite3_result_int64(context, cell.integer);
		break;
	case NP_CELL_REAL:
		sqlite3_result_double(context, cell.real);
		break;
	case NP_CELL_TEXT:
		/*
		 * Lasting texts lie in larger ones that end with NUL. Told that it is at
		 * the end of this one, SQLite need not copy it to put one there.
		 */
		if (lasting && cell.text.bytes[cell.text.length] == '\0')
			sqlite3_result_text(context, cell.text.bytes, -1, SQLITE_STATIC);
		else
			sqlite3_result_text64(context, cell.text.bytes, cell.text.length,
					      lasting ? SQLITE_STATIC : SQLITE_TRANSIENT,
					      SQLITE_UTF8);
		break;
	}
}

/* Between two looks at the clock, in instructions of SQLite's machine. */
#define TICK 500

/*
 * Limits that keep single operations short: the clock is only looked at between
 * them. A row of a view is never near the longest text.
 */
static const struct {
	int what;
	int value;
} bounds[] = {
	{ SQLITE_LIMIT_LENGTH, 256 * 1024 },
	{ SQLITE_LIMIT_SQL_LENGTH, 64 * 1024 },
	{ SQLITE_LIMIT_COLUMN, 400 },
	{ SQLITE_LIMIT_EXPR_DEPTH, 200 },
	{ SQLITE_LIMIT_COMPOUND_SELECT, 100 },
	{ SQLITE_LIMIT_VDBE_OP, 100000 },
	{ SQLITE_LIMIT_FUNCTION_ARG, 100 },
	{ SQLITE_LIMIT_ATTACHED, 0 },
	{ SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 500 },
	{ SQLITE_LIMIT_VARIABLE_NUMBER, 500 },
	{ SQLITE_LIMIT_TRIGGER_DEPTH, 1 },
	{ SQLITE_LIMIT_WORKER_THREADS, 0 },
};

static np_ns now(clockid_t clock)
{
	struct timespec time;

	(void)clock_gettime(clock, &time);
	return (np_ns)time.tv_sec * 1000000000 + time.tv_nsec;
}

/*
 * A rule has so much time of its thread, however busy the machine is. That clock
 * is a dear one, and looked at only where the cheap one says that it could be late.
 */
bool adv_sql_late(struct adv_sql *sql)
{
	np_ns left;

	if (!sql->deadline || sql->late || now(CLOCK_MONOTONIC) <= sql->deadline)
		return sql->late;
	left = sql->limits.time - (now(CLOCK_THREAD_CPUTIME_ID) - sql->begun);
	sql->late = left <= 0;
	sql->deadline = now(CLOCK_MONOTONIC) + left;
	return sql->late;
}

static int tick(void *context)
{
	return adv_sql_late(context);
}

/* Functions that make a result depend on more than the run, or reach out of the connection. */
static bool is_banned(const char *function)
{
	static const char *const names[] = { "load_extension", "random", "randomblob",
					     "fts3_tokenizer" };

	for (size_t i = 0; i < NP_COUNT(names); i++) {
		if (sqlite3_stricmp(function, names[i]) == 0)
			return true;
	}
	return false;
}

static const char *action_name(int action)
{
	switch (action) {
	case SQLITE_ATTACH:
	case SQLITE_DETACH:
		return "ATTACH";
	case SQLITE_PRAGMA:
		return "PRAGMA";
	case SQLITE_INSERT:
		return "INSERT";
	case SQLITE_UPDATE:
		return "UPDATE";
	case SQLITE_DELETE:
		return "DELETE";
	case SQLITE_TRANSACTION:
	case SQLITE_SAVEPOINT:
		return "a transaction";
	case SQLITE_FUNCTION:
		return "this function";
	default:
		return "a change of the schema";
	}
}

static int authorize(void *context, int action, const char *first, const char *second,
		     const char *third, const char *fourth)
{
	struct adv_sql *sql = context;

	(void)third;
	(void)fourth;
	if (sql->trusted)
		return SQLITE_OK;
	switch (action) {
	case SQLITE_SELECT:
	case SQLITE_READ:
	case SQLITE_RECURSIVE:
		return SQLITE_OK;
	case SQLITE_FUNCTION:
		if (second && !is_banned(second))
			return SQLITE_OK;
		first = second;
		break;
	case SQLITE_INSERT:
	case SQLITE_UPDATE:
	case SQLITE_DELETE:
		if (sql->filling && first && strncmp(first, "sqlite_", 7) != 0)
			return SQLITE_OK;
		break;
	default:
		break;
	}
	(void)snprintf(sql->denied, sizeof(sql->denied), "%s%s%s", action_name(action),
		       first ? " " : "", first ? first : "");
	return SQLITE_DENY;
}

int adv_sql_declare(struct adv_sql *sql, const char *text)
{
	bool before = sql->trusted;
	int rc;

	sql->trusted = true;
	rc = sqlite3_declare_vtab(sql->db, text);
	sql->trusted = before;
	return rc;
}

int adv_sql_failed(struct adv_sql *sql, int code, struct np_err *err)
{
	if (sql->late)
		return np_fail(err, NP_E_RANGE, "it took longer than %.3g s",
			       (double)sql->limits.time / 1e9);
	if (code == SQLITE_NOMEM && adv_quota_exceeded())
		return adv_quota_fail(err);
	if (code == SQLITE_NOMEM)
		return np_fail_nomem(err, "a rule");
	if (code == SQLITE_AUTH && sql->denied[0])
		return np_fail(err, NP_E_FORMAT, "rules may only read: %s is not allowed",
			       sql->denied);
	return np_fail(err, NP_E_FORMAT, "%s", sqlite3_errmsg(sql->db));
}

/*
 * The tables of JSON come into being when they are first named, and ask for the
 * right to be created: that is done here, while everything is allowed.
 */
static int wake_json(struct adv_sql *sql)
{
	return sqlite3_exec(sql->db, "SELECT count(*) FROM json_each('[]'), json_tree('[]')", NULL,
			    NULL, NULL);
}

static int add_functions(struct adv_sql *sql)
{
	int (*const parts[])(struct adv_sql *) = {
		adv_sql_add_functions, adv_sql_add_patterns, adv_sql_add_shapes,
		adv_sql_add_sequences, adv_sql_add_overlap,  adv_sql_add_ngrams,
		adv_sql_add_graphs,
	};
	int rc = SQLITE_OK;

	for (size_t i = 0; i < NP_COUNT(parts) && rc == SQLITE_OK; i++)
		rc = parts[i](sql);
	return rc;
}

int adv_sql_open(struct adv_sql **ret, struct np_err *err)
{
	NP_CLEANUP(adv_sql_closep) struct adv_sql *sql = calloc(1, sizeof(*sql));
	int rc;

	if (!sql)
		return np_fail_nomem(err, "a connection");
	adv_sql_set_up();
	sql->trusted = true;
	rc = sqlite3_open_v2(":memory:", &sql->db,
			     SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
			     NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_exec(sql->db, "PRAGMA temp_store=MEMORY", NULL, NULL, NULL);
	if (rc == SQLITE_OK)
		rc = wake_json(sql);
	if (rc == SQLITE_OK)
		rc = add_functions(sql);
	if (rc != SQLITE_OK)
		return np_fail(err, rc == SQLITE_NOMEM ? NP_E_NOMEM : NP_E_IO,
			       "cannot open a database in memory: %s", sqlite3_errstr(rc));
	for (size_t i = 0; i < NP_COUNT(bounds); i++)
		(void)sqlite3_limit(sql->db, bounds[i].what, bounds[i].value);
	(void)sqlite3_db_config(sql->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	(void)sqlite3_set_authorizer(sql->db, authorize, sql);
	sqlite3_progress_handler(sql->db, TICK, tick, sql);
	*ret = NP_STEAL(sql);
	return NP_OK;
}

void adv_sql_close(struct adv_sql *sql)
{
	if (!sql)
		return;
	(void)sqlite3_close(sql->db);
	adv_sql_views_free(sql);
	adv_sql_patterns_free(sql);
	adv_sql_sequences_free(sql);
	free(sql);
}

void adv_sql_closep(struct adv_sql **sql)
{
	adv_sql_close(*sql);
	*sql = NULL;
}

void adv_sql_begin(struct adv_sql *sql, const struct adv_sql_limits *limits)
{
	sql->limits = *limits;
	sql->late = false;
	sql->begun = now(CLOCK_THREAD_CPUTIME_ID);
	sql->deadline = limits->time > 0 ? now(CLOCK_MONOTONIC) + limits->time : 0;
	adv_quota_begin(limits->bytes);
}

void adv_sql_end(struct adv_sql *sql)
{
	sql->deadline = 0;
	sql->late = false;
	adv_quota_end();
}

void adv_sql_set_values(struct adv_sql *sql, const struct adv_values *values)
{
	sql->values = values;
}

int adv_sql_run(struct adv_sql *sql, const char *text, struct np_err *err)
{
	bool before = sql->trusted;
	int rc;

	sql->trusted = true;
	rc = sqlite3_exec(sql->db, text, NULL, NULL, NULL);
	sql->trusted = before;
	return rc == SQLITE_OK ? NP_OK : adv_sql_failed(sql, rc, err);
}

static bool only_space(const char *text)
{
	return text[strspn(text, " \t\r\n;")] == '\0';
}

/* Statement after statement: each is prepared with the rights of a fixture. */
int adv_sql_run_fixture(struct adv_sql *sql, const char *text, struct np_err *err)
{
	bool before = sql->trusted;
	int rc = SQLITE_OK;

	sql->denied[0] = '\0';
	sql->trusted = false;
	sql->filling = true;
	while (rc == SQLITE_OK && !only_space(text)) {
		sqlite3_stmt *stmt = NULL;

		rc = sqlite3_prepare_v2(sql->db, text, -1, &stmt, &text);
		while (rc == SQLITE_OK && stmt && (rc = sqlite3_step(stmt)) == SQLITE_ROW)
			rc = SQLITE_OK;
		rc = rc == SQLITE_DONE ? SQLITE_OK : rc;
		(void)sqlite3_finalize(stmt);
	}
	sql->filling = false;
	sql->trusted = before;
	return rc == SQLITE_OK ? NP_OK : adv_sql_failed(sql, rc, err);
}

int adv_sql_bind(struct adv_sql_stmt *stmt, size_t index, struct np_cell value, struct np_err *err)
{
	int at = (int)index;
	int rc = SQLITE_OK;

	switch (value.type) {
	case NP_CELL_NULL:
		rc = sqlite3_bind_null(stmt->stmt, at);
		break;
	case NP_CELL_INTEGER:
		rc = sqlite3_bind_int64(stmt->stmt, at, value.integer);
		break;
	case NP_CELL_REAL:
		rc = sqlite3_bind_double(stmt->stmt, at, value.real);
		break;
	case NP_CELL_TEXT:
		rc = sqlite3_bind_text64(stmt->stmt, at, value.text.bytes, value.text.length,
					 SQLITE_STATIC, SQLITE_UTF8);
		break;
	}
	return rc == SQLITE_OK ? NP_OK : adv_sql_failed(stmt->sql, rc, err);
}

/* Bind what the statement names; a name that nobody set is a mistake of the rule's. */
static int bind_values(struct adv_sql_stmt *stmt, struct np_err *err)
{
	int count = sqlite3_bind_parameter_count(stmt->stmt);

	for (int i = 1; i <= count; i++) {
		const char *name = sqlite3_bind_parameter_name(stmt->stmt, i);
		const struct np_cell *value = NULL;

		if (!name || name[0] == '?')
			continue; /* the engine's */
		if (name[0] == ':' && stmt->sql->values)
			value = adv_values_find(stmt->sql->values, name + 1);
		if (!value)
			return np_fail(err, NP_E_FORMAT, "there is no parameter %s", name);
		if (adv_sql_bind(stmt, (size_t)i, *value, err) < 0)
			return NP_E_FORMAT;
	}
	return NP_OK;
}

static int compile(struct adv_sql *sql, const char *text, struct adv_sql_stmt *stmt,
		   struct np_err *err)
{
	const char *rest = "";
	int rc;

	sql->denied[0] = '\0';
	sql->error_offset = -1;
	rc = sqlite3_prepare_v2(sql->db, text, -1, &stmt->stmt, &rest);
	if (rc != SQLITE_OK) {
		sql->error_offset = sqlite3_error_offset(sql->db);
		return adv_sql_failed(sql, rc, err);
	}
	if (!stmt->stmt)
		return np_fail(err, NP_E_FORMAT, "there is no statement");
	if (!only_space(rest)) {
		sql->error_offset = (int)(rest - text);
		return np_fail(err, NP_E_FORMAT, "there is more than one statement");
	}
	if (!stmt->trusted && !sql->filling && !sqlite3_stmt_readonly(stmt->stmt))
		return np_fail(err, NP_E_FORMAT, "rules may only read");
	if (!stmt->trusted && !sql->filling &&
	    (sqlite3_column_count(stmt->stmt) == 0 || sqlite3_stmt_isexplain(stmt->stmt)))
		return np_fail(err, NP_E_FORMAT, "it is no SELECT");
	return bind_values(stmt, err);
}

int adv_sql_prepare(struct adv_sql *sql, const char *text, bool trusted, struct adv_sql_stmt **ret,
		    struct np_err *err)
{
	NP_CLEANUP(adv_sql_finishp) struct adv_sql_stmt *stmt = calloc(1, sizeof(*stmt));
	bool before = sql->trusted;
	int rc;

	if (!stmt)
		return np_fail_nomem(err, "a statement");
	stmt->sql = sql;
	stmt->trusted = trusted;
	sql->trusted = trusted;
	rc = compile(sql, text, stmt, err);
	sql->trusted = before;
	if (rc == NP_OK)
		*ret = NP_STEAL(stmt);
	return rc;
}

void adv_sql_finish(struct adv_sql_stmt *stmt)
{
	if (!stmt)
		return;
	(void)sqlite3_finalize(stmt->stmt);
	free(stmt);
}

void adv_sql_finishp(struct adv_sql_stmt **stmt)
{
	adv_sql_finish(*stmt);
	*stmt = NULL;
}

int adv_sql_error_offset(const struct adv_sql *sql)
{
	return sql->error_offset;
}

int adv_sql_step(struct adv_sql_stmt *stmt, struct np_err *err)
{
	struct adv_sql *sql = stmt->sql;
	bool before = sql->trusted;
	int rc;

	/* A change of the schema makes SQLite prepare it anew, with the same rights. */
	sql->trusted = stmt->trusted;
	rc = sqlite3_step(stmt->stmt);
	sql->trusted = before;
	if (rc == SQLITE_DONE)
		return 0;
	if (rc != SQLITE_ROW)
		return adv_sql_failed(sql, rc, err);
	stmt->rows++;
	if (!stmt->trusted && sql->limits.rows > 0 && stmt->rows > sql->limits.rows)
		return np_fail(err, NP_E_RANGE,
			       "it gives more than %" PRId64 " rows; aggregate or filter in SQL",
			       sql->limits.rows);
	return 1;
}

int adv_sql_renew(struct adv_sql_stmt *stmt, struct np_err *err)
{
	adv_sql_reset(stmt);
	return bind_values(stmt, err);
}

void adv_sql_reset(struct adv_sql_stmt *stmt)
{
	(void)sqlite3_reset(stmt->stmt);
	stmt->rows = 0;
}

size_t adv_sql_columns(const struct adv_sql_stmt *stmt)
{
	return (size_t)sqlite3_column_count(stmt->stmt);
}

const char *adv_sql_column_name(const struct adv_sql_stmt *stmt, size_t column)
{
	const char *name = sqlite3_column_name(stmt->stmt, (int)column);

	return name ? name : "";
}

enum np_column_type adv_sql_column_type(const struct adv_sql_stmt *stmt, size_t column)
{
	static const struct {
		const char *name;
		enum np_column_type type;
	} types[] = { { "INTEGER", NP_INTEGER }, { "REAL", NP_REAL }, { "TEXT", NP_TEXT } };
	const char *declared = sqlite3_column_decltype(stmt->stmt, (int)column);

	for (size_t i = 0; declared && i < NP_COUNT(types); i++) {
		if (strcmp(declared, types[i].name) == 0)
			return types[i].type;
	}
	return NP_NUMERIC;
}

void adv_sql_quote(struct np_buf *buf, const char *name)
{
	np_buf_add_char(buf, '"');
	for (; *name; name++) {
		if (*name == '"')
			np_buf_add_char(buf, '"');
		np_buf_add_char(buf, *name);
	}
	np_buf_add_char(buf, '"');
}
