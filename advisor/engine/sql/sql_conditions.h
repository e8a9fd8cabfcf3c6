/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_ADVISOR_SQL_CONDITIONS_H
#define NP_ADVISOR_SQL_CONDITIONS_H

#include "sql_views.h"

/*
 * One condition on a column of a view: which rows are left. A comparison may leave
 * too many where a value has another type than the column, which SQLite then sees.
 */
enum sql_test {
	TEST_EQUAL = '=',
	TEST_ONE_OF = 'i', /* IN: its argument is a list */
	TEST_LESS = '<',
	TEST_LESS_EQUAL = '[',
	TEST_GREATER = '>',
	TEST_GREATER_EQUAL = ']',
	TEST_REGEXP = 'r',
	TEST_LIKE = 'l',
	TEST_GLOB = 'g',
	TEST_IS = 's', /* = or IS NULL */
	TEST_IS_NULL = '0',
	TEST_NOT_NULL = '1',
};

/* Stands for a column that is none: the number of a row. */
#define ROWID (-1)

struct sql_condition {
	struct sql *sql;
	struct view *view;
	struct sql_selection *rows; /* that are left */
	struct np_err *err;
};

static inline bool test_is_pattern(int test)
{
	return test == TEST_REGEXP || test == TEST_LIKE || test == TEST_GLOB;
}

static inline bool type_is_number(enum np_column_type type)
{
	return type == NP_INTEGER || type == NP_REAL;
}

/* Keep the rows that satisfy it. */
int sql_condition_apply(struct sql_condition *work, int test, int column, sqlite3_value *argument)
	NP_MUST_USE;

/* The rows that are left, as a list of their own. */
int sql_condition_list(struct sql_condition *work) NP_MUST_USE;

#endif /* NP_ADVISOR_SQL_CONDITIONS_H */
