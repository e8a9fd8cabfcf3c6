/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_ADVISOR_SQL_CONDITIONS_H
#define NP_ADVISOR_SQL_CONDITIONS_H

#include "sql_connection.h"

#include "advisor/engine/views/view_order.h"

/*
 * Conditions of a query on a view, evaluated before SQLite sees a row
 * ===================================================================
 *
 * adv_sql_terms_choose() is called while a statement is prepared: it takes what it can
 * evaluate, and passes it to adv_sql_terms_apply() as a text. Comparisons are checked again by
 * SQLite, which knows all about conversions, so that too many rows do no harm;
 * patterns (REGEXP, LIKE, GLOB) and IS [NOT] NULL are exact and are not.
 */

/* Rows that are left, in the order that was asked for; `rows` is NULL for all as they are. */
struct adv_sql_selection {
	uint32_t *rows;
	size_t count;
};

/* SQLITE_OK, or SQLITE_NOMEM. */
int adv_sql_terms_choose(const struct adv_view_slot *slot, sqlite3_index_info *info);

int adv_sql_terms_apply(struct adv_sql *sql, struct adv_view *view, const char *text,
			sqlite3_value **argv, struct adv_sql_selection *ret, struct np_err *err)
	NP_MUST_USE;

/*
 * "column operator value", outside of a statement: keep the rows of a selection for which it
 * holds, as SQL would. Not *ret_can: it is none that can be looked at here, and nothing was done.
 * An integer is compared with columns of numbers, a text with those of texts. The selection
 * begins with all rows of the open view, and is then in any order.
 */
struct adv_sql_comparison {
	size_t column;
	char operator[8];     /* = < <= > >= LIKE GLOB REGEXP */
	struct np_cell value; /* a text ends with NUL */
};

int adv_sql_keep(struct adv_sql *sql, struct adv_view *view,
		 const struct adv_sql_comparison *comparison, struct adv_sql_selection *rows,
		 bool *ret_can, struct np_err *err) NP_MUST_USE;

#endif /* NP_ADVISOR_SQL_CONDITIONS_H */
