/* SPDX-License-Identifier: Apache-2.0 */
#include "sql_conditions.h"

#include <stdlib.h>
#include <string.h>

/*
 * How conditions are written in idxStr: three characters each, a test and the
 * column in two digits of base 64, in the order of the arguments; then the columns
 * to sort by, with ORDER_BY as test, which have no argument.
 */
enum {
	ORDER_BY = 'o',
	TERM_LENGTH = 3,
	TERM_LIMIT = 12,
	DIGIT = 64,
	FIRST_DIGIT = '0',
};

/* A column for the text: ROWID is 0. */
static void write_term(struct np_buf *buf, int test, int column)
{
	unsigned number = (unsigned)(column + 1);

	np_buf_add_char(buf, (char)test);
	np_buf_add_char(buf, (char)(FIRST_DIGIT + number / DIGIT));
	np_buf_add_char(buf, (char)(FIRST_DIGIT + number % DIGIT));
}

static int read_column(const char *term)
{
	return (term[1] - FIRST_DIGIT) * DIGIT + (term[2] - FIRST_DIGIT) - 1;
}

static int test_of(unsigned char constraint)
{
	switch (constraint) {
	case SQLITE_INDEX_CONSTRAINT_EQ:
		return TEST_EQUAL;
	case SQLITE_INDEX_CONSTRAINT_GT:
		return TEST_GREATER;
	case SQLITE_INDEX_CONSTRAINT_GE:
		return TEST_GREATER_EQUAL;
	case SQLITE_INDEX_CONSTRAINT_LT:
		return TEST_LESS;
	case SQLITE_INDEX_CONSTRAINT_LE:
		return TEST_LESS_EQUAL;
	case SQLITE_INDEX_CONSTRAINT_REGEXP:
		return TEST_REGEXP;
	case SQLITE_INDEX_CONSTRAINT_LIKE:
		return TEST_LIKE;
	case SQLITE_INDEX_CONSTRAINT_GLOB:
		return TEST_GLOB;
	case SQLITE_INDEX_CONSTRAINT_IS:
		return TEST_IS;
	case SQLITE_INDEX_CONSTRAINT_ISNULL:
		return TEST_IS_NULL;
	case SQLITE_INDEX_CONSTRAINT_ISNOTNULL:
		return TEST_NOT_NULL;
	default:
		return 0;
	}
}

static bool is_exact(int test)
{
	return test == TEST_REGEXP || test == TEST_LIKE || test == TEST_GLOB ||
	       test == TEST_IS_NULL || test == TEST_NOT_NULL;
}

/*
 * Need SQLite not check it again? Numbers compare as they are, where a column has
 * nothing else. Texts may be compared with numbers, and then conversions depend on
 * where these come from; in a list, that is the same for all.
 */
static bool is_final(const struct view_slot *slot, int test, int column)
{
	if (is_exact(test))
		return true;
	if (column == ROWID || test == TEST_IS)
		return false;
	return type_is_number(slot->columns[column].type) ||
	       (slot->columns[column].type == NP_TEXT && test == TEST_ONE_OF);
}

/* Can this constraint be evaluated here? */
static bool can_take(const struct view_slot *slot, sqlite3_index_info *info, int index, int test)
{
	int column = info->aConstraint[index].iColumn;

	if (!test || !info->aConstraint[index].usable)
		return false;
	if (column == ROWID)
		return test == TEST_EQUAL;
	/* Patterns want texts; numbers would have to become some first. */
	if (test_is_pattern(test))
		return slot->columns[column].type == NP_TEXT;
	return is_exact(test) ||
	       sqlite3_stricmp(sqlite3_vtab_collation(info, index), "BINARY") == 0;
}

/* What is left of the rows, roughly. */
static double share_of(int test)
{
	switch (test) {
	case TEST_EQUAL:
	case TEST_IS:
		return 0.02;
	case TEST_ONE_OF:
		return 0.1;
	case TEST_NOT_NULL:
		return 1;
	default:
		return 0.25;
	}
}

/* Take over ORDER BY and GROUP BY. */
static void take_order(sqlite3_index_info *info, struct np_buf *text)
{
	bool any_direction = sqlite3_vtab_distinct(info) == 1;

	for (int i = 0; i < info->nOrderBy; i++) {
		if (info->aOrderBy[i].iColumn < 0 || (info->aOrderBy[i].desc && !any_direction))
			return;
	}
	for (int i = 0; i < info->nOrderBy; i++)
		write_term(text, ORDER_BY, info->aOrderBy[i].iColumn);
	info->orderByConsumed = info->nOrderBy > 0;
}

int sql_terms_choose(const struct view_slot *slot, sqlite3_index_info *info)
{
	struct np_buf text = NP_BUF_INIT;
	double rows = (double)slot->typical;
	int taken = 0;

	for (int i = 0; i < info->nConstraint && taken < TERM_LIMIT; i++) {
		int test = test_of(info->aConstraint[i].op);
		bool one_row = info->aConstraint[i].iColumn == ROWID;

		if (!can_take(slot, info, i, test))
			continue;
		if (test == TEST_EQUAL && !one_row && sqlite3_vtab_in(info, i, -1)) {
			(void)sqlite3_vtab_in(info, i, 1);
			test = TEST_ONE_OF;
		}
		write_term(&text, test, info->aConstraint[i].iColumn);
		info->aConstraintUsage[i].argvIndex = ++taken;
		info->aConstraintUsage[i].omit = is_final(slot, test, info->aConstraint[i].iColumn);
		rows = one_row ? 1 : rows * share_of(test);
	}
	take_order(info, &text);
	info->estimatedCost = taken > 0 ? rows + 8 : rows + 1;
	info->estimatedRows = (sqlite3_int64)rows + 1;
	info->idxStr = text.failed ? NULL : sqlite3_mprintf("%s", text.text);
	info->needToFreeIdxStr = info->idxStr != NULL;
	np_buf_release(&text);
	return info->idxStr ? SQLITE_OK : SQLITE_NOMEM;
}

/* What finds few rows at once comes before what looks at every row that is left. */
static bool is_first(const struct view *view, int test, int column)
{
	return test == TEST_EQUAL && (column == ROWID || view->columns[column].type == NP_TEXT ||
				      view_order_there(view, (size_t)column));
}

/* Sort by the columns at the end of the text, the last one first. */
static int sort_rows(struct sql_condition *work, const char *text, size_t terms)
{
	int rc = NP_OK;

	for (size_t i = terms; rc == NP_OK && i-- > 0;) {
		const char *term = text + i * TERM_LENGTH;
		const struct view_order *order;

		if (term[0] != ORDER_BY)
			break;
		rc = sql_condition_list(work);
		if (rc == NP_OK)
			rc = view_order(work->view, (size_t)read_column(term), &order, work->err);
		if (rc == NP_OK)
			rc = view_order_sort(order, work->rows->rows, work->rows->count, work->err);
	}
	return rc;
}

int sql_terms_apply(struct sql *sql, struct view *view, const char *text, sqlite3_value **argv,
		    struct sql_selection *ret, struct np_err *err)
{
	struct sql_condition work = { .sql = sql, .view = view, .rows = ret, .err = err };
	size_t terms = text ? strlen(text) / TERM_LENGTH : 0;
	bool first[TERM_LIMIT] = { false };
	size_t conditions = 0;
	int rc = NP_OK;

	*ret = (struct sql_selection){ .count = view->rows };
	while (conditions < terms && text[conditions * TERM_LENGTH] != ORDER_BY) {
		const char *term = text + conditions * TERM_LENGTH;

		first[conditions++] = is_first(view, term[0], read_column(term));
	}
	/* Once nothing is left, no condition brings anything back. */
	for (size_t i = 0; i < 2 * conditions && rc == NP_OK && ret->count > 0; i++) {
		size_t at = i % conditions;
		const char *term = text + at * TERM_LENGTH;

		if (first[at] == (i < conditions))
			rc = sql_condition_apply(&work, term[0], read_column(term), argv[at]);
	}
	return rc == NP_OK ? sort_rows(&work, text, terms) : rc;
}
