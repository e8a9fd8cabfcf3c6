/* SPDX-License-Identifier: Apache-2.0 */
#include "sql_private.h"

#include <stdlib.h>
#include <string.h>

/* Table-valued functions: the arguments are hidden columns, as SQLite wants it. */
struct owner {
	struct sql *sql;
	const struct sql_table *table;
};

struct table {
	sqlite3_vtab base;
	struct owner owner;
};

struct cursor {
	sqlite3_vtab_cursor base;
	struct rows rows;
	size_t at;
};

static int connect(sqlite3 *db, void *context, int argc, const char *const *argv,
		   sqlite3_vtab **ret, char **ret_error)
{
	const struct owner *owner = context;
	struct table *table;
	int rc = sql_declare(owner->sql, owner->table->declaration);

	(void)db;
	(void)argc;
	(void)argv;
	(void)ret_error;
	if (rc != SQLITE_OK)
		return rc;
	table = sqlite3_malloc(sizeof(*table));
	if (!table)
		return SQLITE_NOMEM;
	*table = (struct table){ .owner = *owner };
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
	const struct sql_table *table = ((struct table *)vtab)->owner.table;
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
	struct cursor *cursor = sqlite3_malloc(sizeof(*cursor));

	(void)vtab;
	if (!cursor)
		return SQLITE_NOMEM;
	*cursor = (struct cursor){ .at = 0 };
	*ret = &cursor->base;
	return SQLITE_OK;
}

static int close_cursor(sqlite3_vtab_cursor *base)
{
	rows_release(&((struct cursor *)base)->rows);
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
	struct cursor *cursor = (struct cursor *)base;
	const struct owner *owner = &((struct table *)base->pVtab)->owner;
	const struct sql_table *table = owner->table;
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
	rows_release(&cursor->rows);
	cursor->at = 0;
	rc = rows_init(&cursor->rows, table->result_names, NULL, (size_t)table->result_columns,
		       &err);
	cursor->rows.limited = true;
	if (rc == NP_OK)
		rc = table->compute(owner->sql, arguments, &cursor->rows, &err);
	return rc == NP_OK ? SQLITE_OK : failed(base->pVtab, table->name, &err);
}

static int next(sqlite3_vtab_cursor *base)
{
	((struct cursor *)base)->at++;
	return SQLITE_OK;
}

static int eof(sqlite3_vtab_cursor *base)
{
	const struct cursor *cursor = (const struct cursor *)base;

	return cursor->at >= rows_count(&cursor->rows);
}

static int column(sqlite3_vtab_cursor *base, sqlite3_context *context, int index)
{
	const struct cursor *cursor = (const struct cursor *)base;

	if ((size_t)index < cursor->rows.column_count)
		sql_result_cell(context, *rows_cell(&cursor->rows, cursor->at, (size_t)index),
				false);
	return SQLITE_OK;
}

static int rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *ret)
{
	*ret = (sqlite3_int64)((struct cursor *)base)->at;
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

int sql_add_table(struct sql *sql, const struct sql_table *table)
{
	struct owner *owner = malloc(sizeof(*owner));

	if (!owner)
		return SQLITE_NOMEM;
	*owner = (struct owner){ .sql = sql, .table = table };
	return sqlite3_create_module_v2(sql->db, table->name, &module, owner, free);
}

int sql_text_argument(sqlite3_value *value, const char *name, const char **ret, struct np_err *err)
{
	const char *text = value ? (const char *)sqlite3_value_text(value) : NULL;

	if (!text)
		return np_fail(err, NP_E_FORMAT, "the argument '%s' is missing", name);
	*ret = text;
	return NP_OK;
}
