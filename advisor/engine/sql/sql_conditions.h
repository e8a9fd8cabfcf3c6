/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_ADVISOR_SQL_CONDITIONS_H
#define NP_ADVISOR_SQL_CONDITIONS_H

#include "sql_connection.h"

#include "advisor/engine/views/view_order.h"

/*
 * Conditions of a query on a view, evaluated before SQLite sees a row
 * ===================================================================
 *
 * sql_terms_choose() is called while a statement is prepared: it takes what it can
 * evaluate, and passes it to sql_terms_apply() as a text. Comparisons are checked again by
 * SQLite, which knows all about conversions, so that too many rows do no harm;
 * patterns (REGEXP, LIKE, GLOB) and IS [NOT] NULL are exact and are not.
 */

/* Rows that are left, in the order that was asked for; `rows` is NULL for all as they are. */
struct sql_selection {
	uint32_t *rows;
	size_t count;
};

/* SQLITE_OK, or SQLITE_NOMEM. */
int sql_terms_choose(const struct view_slot *slot, sqlite3_index_info *info);

int sql_terms_apply(struct sql *sql, struct view *view, const char *text, sqlite3_value **argv,
		    struct sql_selection *ret, struct np_err *err) NP_MUST_USE;

#endif /* NP_ADVISOR_SQL_CONDITIONS_H */
