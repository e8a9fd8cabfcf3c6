/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Views as virtual tables: every view is an eponymous one, that is, it exists by
 * its name alone. What rows a query gets of it is decided in sql_conditions.c.
 */
#include "sql_conditions.h"

#include <stdlib.h>
#include <string.h>

struct sql_view {
	struct adv_sql *sql;
	struct adv_view_slot own; /* of a view that stays */
	const struct adv_view_slot *slot;
};

struct view_table {
	sqlite3_vtab base;
	struct sql_view *owner;
};

struct view_cursor {
	sqlite3_vtab_cursor base;
	struct adv_view *view;
	struct adv_sql_selection selection;
	size_t at;
};

static struct sql_view *view_of(sqlite3_vtab *vtab)
{
	return ((struct view_table *)vtab)->owner;
}

static const char *type_name(enum np_column_type type)
{
	switch (type) {
	case NP_INTEGER:
		return "INTEGER";
	case NP_REAL:
		return "REAL";
	case NP_TEXT:
		return "TEXT";
	case NP_NUMERIC:
		break;
	}
	return "";
}

static int connect(sqlite3 *db, void *context, int argc, const char *const *argv,
		   sqlite3_vtab **ret, char **ret_error)
{
	struct sql_view *owner = context;
	struct np_buf text = NP_BUF_INIT;
	struct view_table *table;
	int rc = SQLITE_NOMEM;

	(void)db;
	(void)argc;
	(void)argv;
	(void)ret_error;
	np_buf_add(&text, "CREATE TABLE x(");
	for (size_t i = 0; i < owner->slot->column_count; i++) {
		np_buf_add(&text, i > 0 ? ", " : "");
		adv_sql_quote(&text, owner->slot->columns[i].name);
		np_buf_printf(&text, " %s", type_name(owner->slot->columns[i].type));
	}
	np_buf_add(&text, ")");
	if (!text.failed)
		rc = adv_sql_declare(owner->sql, text.text);
	np_buf_release(&text);
	if (rc != SQLITE_OK)
		return rc;
	table = sqlite3_malloc(sizeof(*table));
	if (!table)
		return SQLITE_NOMEM;
	*table = (struct view_table){ .owner = owner };
	*ret = &table->base;
	return SQLITE_OK;
}

static int disconnect(sqlite3_vtab *vtab)
{
	sqlite3_free(vtab);
	return SQLITE_OK;
}

static int best_index(sqlite3_vtab *vtab, sqlite3_index_info *info)
{
	return adv_sql_terms_choose(view_of(vtab)->slot, info);
}

static int open_cursor(sqlite3_vtab *vtab, sqlite3_vtab_cursor **ret)
{
	struct view_cursor *cursor = sqlite3_malloc(sizeof(*cursor));

	(void)vtab;
	if (!cursor)
		return SQLITE_NOMEM;
	*cursor = (struct view_cursor){ .at = 0 };
	*ret = &cursor->base;
	return SQLITE_OK;
}

static int close_cursor(sqlite3_vtab_cursor *base)
{
	free(((struct view_cursor *)base)->selection.rows);
	sqlite3_free(base);
	return SQLITE_OK;
}

static int filter(sqlite3_vtab_cursor *base, int number, const char *text, int argc,
		  sqlite3_value **argv)
{
	struct view_cursor *cursor = (struct view_cursor *)base;
	const struct sql_view *owner = view_of(base->pVtab);
	struct np_err err = NP_ERR_INIT;
	int rc = adv_view_open(owner->slot->view, &err);

	(void)number;
	(void)argc;
	free(cursor->selection.rows);
	*cursor = (struct view_cursor){ .base = cursor->base, .view = owner->slot->view };
	if (rc == NP_OK)
		rc = adv_sql_terms_apply(owner->sql, cursor->view, text, argv, &cursor->selection,
					 &err);
	if (rc == NP_OK)
		return SQLITE_OK;
	sqlite3_free(base->pVtab->zErrMsg);
	base->pVtab->zErrMsg = sqlite3_mprintf("%s", err.text);
	return err.code == NP_E_NOMEM ? SQLITE_NOMEM : SQLITE_ERROR;
}

static int next(sqlite3_vtab_cursor *base)
{
	((struct view_cursor *)base)->at++;
	return SQLITE_OK;
}

static int eof(sqlite3_vtab_cursor *base)
{
	const struct view_cursor *cursor = (const struct view_cursor *)base;

	return cursor->at >= cursor->selection.count;
}

static size_t row_of(const struct view_cursor *cursor)
{
	return cursor->selection.rows ? cursor->selection.rows[cursor->at] : cursor->at;
}

static int column(sqlite3_vtab_cursor *base, sqlite3_context *context, int index)
{
	const struct view_cursor *cursor = (const struct view_cursor *)base;

	adv_sql_result_cell(context,
			    cursor->view->cell(cursor->view, row_of(cursor), (size_t)index), true);
	return SQLITE_OK;
}

static int rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *ret)
{
	*ret = (sqlite3_int64)row_of((struct view_cursor *)base);
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

static int add_module(struct adv_sql *sql, const struct adv_view_slot *slot, struct sql_view **ret,
		      struct np_err *err)
{
	struct sql_view **place = np_vec_add(&sql->views, err);
	int rc;

	if (!place)
		return NP_E_NOMEM;
	*place = calloc(1, sizeof(**place));
	if (!*place) {
		sql->views.count--;
		return np_fail_nomem(err, "a view");
	}
	**place = (struct sql_view){ .sql = sql, .slot = slot };
	*ret = *place;
	rc = sqlite3_create_module_v2(sql->db, slot->name, &module, *place, NULL);
	return rc == SQLITE_OK ? NP_OK : adv_sql_failed(sql, rc, err);
}

int adv_sql_add_slot(struct adv_sql *sql, const struct adv_view_slot *slot, struct np_err *err)
{
	struct sql_view *owner;

	return add_module(sql, slot, &owner, err);
}

int adv_sql_add_view(struct adv_sql *sql, struct adv_view *view, struct np_err *err)
{
	const struct adv_view_slot slot = adv_view_slot_of(view);
	struct sql_view *owner;
	int rc = add_module(sql, &slot, &owner, err);

	if (rc == NP_OK) {
		owner->own = slot;
		owner->slot = &owner->own;
	}
	return rc;
}

struct adv_view *adv_sql_find_view(const struct adv_sql *sql, const char *name, size_t length)
{
	for (size_t i = sql->views.count; i-- > 0;) {
		const struct adv_view_slot *slot = sql->views.item[i]->slot;

		if (strlen(slot->name) == length && memcmp(slot->name, name, length) == 0)
			return slot->view;
	}
	return NULL;
}

void adv_sql_views_free(struct adv_sql *sql)
{
	for (size_t i = 0; i < sql->views.count; i++)
		free(sql->views.item[i]);
	np_vec_release(&sql->views);
}
