/* SPDX-License-Identifier: Apache-2.0 */
#include "sql_views.h"

#include <stdlib.h>
#include <string.h>

#include "npuprof/pattern.h"

/*
 * How conditions are written in idxStr: three characters each, an operator and the
 * column in two digits of base 64, in the order of the arguments; then the columns
 * to sort by, with ORDER_BY as operator, which have no argument.
 */
enum {
	EQUAL = '=',
	ONE_OF = 'i', /* IN: its argument is a list */
	LESS = '<',
	LESS_EQUAL = '[',
	GREATER = '>',
	GREATER_EQUAL = ']',
	REGEXP = 'r',
	LIKE = 'l',
	GLOB = 'g',
	IS = 's', /* = or IS NULL */
	IS_NULL = '0',
	NOT_NULL = '1',
	ORDER_BY = 'o',
	TERM_LENGTH = 3,
	TERM_LIMIT = 12,
	DIGIT = 64,
	FIRST_DIGIT = '0',
};

#define ROWID (-1)

/* Searches row by row before a column of numbers is worth an order. */
#define SEARCHES_BEFORE_ORDER 2

/* A column for the text: ROWID is 0. */
static void write_term(struct np_buf *buf, int operator, int column)
{
	unsigned number = (unsigned)(column + 1);

	np_buf_add_char(buf, (char)operator);
	np_buf_add_char(buf, (char)(FIRST_DIGIT + number / DIGIT));
	np_buf_add_char(buf, (char)(FIRST_DIGIT + number % DIGIT));
}

static int read_column(const char *term)
{
	return (term[1] - FIRST_DIGIT) * DIGIT + (term[2] - FIRST_DIGIT) - 1;
}

static int operator_of(unsigned char constraint)
{
	switch (constraint) {
	case SQLITE_INDEX_CONSTRAINT_EQ:
		return EQUAL;
	case SQLITE_INDEX_CONSTRAINT_GT:
		return GREATER;
	case SQLITE_INDEX_CONSTRAINT_GE:
		return GREATER_EQUAL;
	case SQLITE_INDEX_CONSTRAINT_LT:
		return LESS;
	case SQLITE_INDEX_CONSTRAINT_LE:
		return LESS_EQUAL;
	case SQLITE_INDEX_CONSTRAINT_REGEXP:
		return REGEXP;
	case SQLITE_INDEX_CONSTRAINT_LIKE:
		return LIKE;
	case SQLITE_INDEX_CONSTRAINT_GLOB:
		return GLOB;
	case SQLITE_INDEX_CONSTRAINT_IS:
		return IS;
	case SQLITE_INDEX_CONSTRAINT_ISNULL:
		return IS_NULL;
	case SQLITE_INDEX_CONSTRAINT_ISNOTNULL:
		return NOT_NULL;
	default:
		return 0;
	}
}

static bool is_exact(int operator)
{
	return operator== REGEXP || operator== LIKE || operator== GLOB || operator== IS_NULL ||
	operator== NOT_NULL;
}

static bool is_pattern(int operator)
{
	return operator== REGEXP || operator== LIKE || operator== GLOB;
}

/* Can this constraint be evaluated here? */
static bool can_take(const struct view_slot *slot, sqlite3_index_info *info, int index,
		     int operator)
{
	int column = info->aConstraint[index].iColumn;

	if (!operator|| !info->aConstraint[index].usable)
		return false;
	if (column == ROWID)
		return operator== EQUAL;
	/* Patterns want texts; numbers would have to become some first. */
	if (is_pattern(operator))
		return slot->columns[column].type == NP_TEXT;
	return is_exact(operator) ||
	       sqlite3_stricmp(sqlite3_vtab_collation(info, index), "BINARY") == 0;
}

/* What is left of the rows, roughly. */
static double share_of(int operator)
{
	switch (operator) {
	case EQUAL:
	case IS:
		return 0.02;
	case ONE_OF:
		return 0.1;
	case NOT_NULL:
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
		int operator= operator_of(info->aConstraint[i].op);
		bool one_row = info->aConstraint[i].iColumn == ROWID;

		if (!can_take(slot, info, i, operator))
			continue;
		if (operator== EQUAL && !one_row && sqlite3_vtab_in(info, i, -1)) {
			(void)sqlite3_vtab_in(info, i, 1);
			operator= ONE_OF;
		}
		write_term(&text, operator, info->aConstraint[i].iColumn);
		info->aConstraintUsage[i].argvIndex = ++taken;
		info->aConstraintUsage[i].omit = is_exact(operator);
		rows = one_row ? 1 : rows * share_of(operator);
	}
	take_order(info, &text);
	info->estimatedCost = taken > 0 ? rows + 8 : rows + 1;
	info->estimatedRows = (sqlite3_int64)rows + 1;
	info->idxStr = text.failed ? NULL : sqlite3_mprintf("%s", text.text);
	info->needToFreeIdxStr = info->idxStr != NULL;
	np_buf_release(&text);
	return info->idxStr ? SQLITE_OK : SQLITE_NOMEM;
}

/* --- while the statement runs -------------------------------------------------------------------
 */

struct work {
	struct sql *sql;
	struct view *view;
	struct sql_selection *rows;
	struct np_err *err;
};

/* May this value be compared with the column without a conversion of SQLite's? */
static bool comparable(enum view_values values, const struct np_cell *value)
{
	if (value->type == NP_CELL_TEXT)
		return values == VIEW_TEXTS;
	return value->type != NP_CELL_NULL && values == VIEW_NUMBERS;
}

/* The rows that are left, as a list of their own. */
static int list_rows(struct work *work)
{
	struct sql_selection *rows = work->rows;

	if (rows->rows)
		return NP_OK;
	rows->rows = malloc((rows->count + 1) * sizeof(*rows->rows));
	if (!rows->rows)
		return np_fail_nomem(work->err, "rows");
	for (size_t i = 0; i < rows->count; i++)
		rows->rows[i] = (uint32_t)i;
	return NP_OK;
}

/* Keep the rows whose code is allowed. */
static int keep_codes(struct work *work, const struct view_order *order, const bool *allowed)
{
	struct sql_selection *rows = work->rows;
	size_t kept = 0;
	int rc = list_rows(work);

	for (size_t i = 0; rc == NP_OK && i < rows->count; i++) {
		uint32_t row = rows->rows[i];

		rows->rows[kept] = row;
		kept += allowed[order->code[row]];
	}
	rows->count = rc == NP_OK ? kept : 0;
	return rc;
}

/* Keep the rows whose code is in a range; as long as all rows are there, they need no search. */
static int keep_range(struct work *work, const struct view_order *order, uint32_t from, uint32_t to)
{
	struct sql_selection *rows = work->rows;
	size_t kept = 0;

	if (from >= to) {
		rows->count = 0;
		return NP_OK;
	}
	if (!rows->rows) {
		kept = order->first[to] - order->first[from];
		rows->rows = malloc((kept + 1) * sizeof(*rows->rows));
		if (!rows->rows)
			return np_fail_nomem(work->err, "rows");
		memcpy(rows->rows, order->row + order->first[from], kept * sizeof(*rows->rows));
		rows->count = kept;
		return NP_OK;
	}
	for (size_t i = 0; i < rows->count; i++) {
		uint32_t row = rows->rows[i];

		rows->rows[kept] = row;
		kept += order->code[row] >= from && order->code[row] < to;
	}
	rows->count = kept;
	return NP_OK;
}

static bool holds(int operator, int side)
{
	switch (operator) {
	case EQUAL:
		return side == 0;
	case LESS:
		return side < 0;
	case LESS_EQUAL:
		return side <= 0;
	case GREATER:
		return side > 0;
	default:
		return side >= 0;
	}
}

/* Compare row by row; rows of another kind than the value are left to SQLite. */
static int compare_rows(struct work *work, int operator, size_t column, const struct np_cell *value)
{
	struct sql_selection *rows = work->rows;
	size_t kept = 0;
	int rc = list_rows(work);

	for (size_t i = 0; rc == NP_OK && i < rows->count; i++) {
		struct np_cell cell = work->view->cell(work->view, rows->rows[i], column);
		bool number = cell.type == NP_CELL_INTEGER || cell.type == NP_CELL_REAL;

		rows->rows[kept] = rows->rows[i];
		kept += cell.type == NP_CELL_TEXT ||
			(number && holds(operator, cell_compare(&cell, value)));
	}
	rows->count = rc == NP_OK ? kept : 0;
	return rc;
}

/* Is the column searched so often that it deserves an order? */
static bool wants_order(struct view *view, size_t column)
{
	if (view->columns[column].type == NP_TEXT || view_order_there(view, column))
		return true;
	if (!view->searches)
		view->searches = calloc(view->column_count + 1, 1);
	if (!view->searches || view->searches[column] >= SEARCHES_BEFORE_ORDER)
		return true;
	view->searches[column]++;
	return false;
}

static int compare(struct work *work, int operator, size_t column, const struct np_cell *value)
{
	struct view *view = work->view;
	const struct view_order *order;
	uint32_t from = 0;
	uint32_t to;
	int rc;

	if (value->type == NP_CELL_NULL) {
		work->rows->count = 0; /* nothing compares with it */
		return NP_OK;
	}
	if (value->type != NP_CELL_TEXT && !wants_order(view, column))
		return compare_rows(work, operator, column, value);
	rc = view_order(view, column, &order, work->err);
	if (rc < 0 || !comparable(order->values, value))
		return rc;
	to = order->codes;
	/* NULL comes before all values. */
	if (order->codes > 0 && view_order_value(view, column, order, 0).type == NP_CELL_NULL)
		from = 1;
	if (operator== EQUAL || operator== GREATER_EQUAL)
		from = view_order_search(view, column, order, value, false);
	if (operator== GREATER)
		from = view_order_search(view, column, order, value, true);
	if (operator== EQUAL || operator== LESS_EQUAL)
		to = view_order_search(view, column, order, value, true);
	if (operator== LESS)
		to = view_order_search(view, column, order, value, false);
	return keep_range(work, order, from, to);
}

static int compare_list(struct work *work, size_t column, sqlite3_value *list)
{
	struct view *view = work->view;
	const struct view_order *order;
	sqlite3_value *item = NULL;
	bool *allowed;
	bool can = true;
	int code = SQLITE_OK;
	int rc = view_order(view, column, &order, work->err);

	if (rc < 0)
		return rc;
	allowed = calloc((size_t)order->codes + 1, sizeof(*allowed));
	if (!allowed)
		return np_fail_nomem(work->err, "a list");
	for (code = sqlite3_vtab_in_first(list, &item); code == SQLITE_OK && can;
	     code = sqlite3_vtab_in_next(list, &item)) {
		struct np_cell value = sql_value_cell(item);
		uint32_t place;

		if (value.type == NP_CELL_NULL)
			continue;
		can = comparable(order->values, &value);
		place = view_order_search(view, column, order, &value, false);
		if (can && place < order->codes) {
			struct np_cell there = view_order_value(view, column, order, place);

			allowed[place] = cell_compare(&there, &value) == 0;
		}
	}
	if (code == SQLITE_NOMEM)
		rc = np_fail_nomem(work->err, "a list");
	else if (can)
		rc = keep_codes(work, order, allowed);
	free(allowed);
	return rc;
}

/* LIKE and GLOB, which want a NUL at the end. */
static int match_words(struct work *work, int operator, const char * words,
		       const struct np_cell *cell, bool *ret)
{
	const char *text = cell->text.bytes;
	char *copy = NULL;

	/* A part of a longer text has none. */
	if (text[cell->text.length] != '\0') {
		copy = strndup(text, cell->text.length);
		text = copy;
	}
	if (!text)
		return np_fail_nomem(work->err, "a text");
	*ret = operator== LIKE ? sqlite3_strlike(words, text, 0) == 0
			       : sqlite3_strglob(words, text) == 0;
	free(copy);
	return NP_OK;
}

static int match(struct work *work, int operator, struct np_pattern * pattern, const char *words,
		 const struct np_cell *cell, bool *ret)
{
	*ret = false;
	if (cell->type != NP_CELL_TEXT)
		return NP_OK;
	return operator== REGEXP ? np_pattern_match(pattern, cell->text.bytes, cell->text.length, 0,
						    ret, work->err)
				 : match_words(work, operator, words, cell, ret);
}

/* Match each value once. */
static int match_values(struct work *work, int operator, size_t column, struct np_pattern *pattern,
			const char *words)
{
	struct view *view = work->view;
	const struct view_order *order;
	bool *allowed;
	int rc = view_order(view, column, &order, work->err);

	if (rc < 0)
		return rc;
	allowed = calloc((size_t)order->codes + 1, sizeof(*allowed));
	if (!allowed)
		return np_fail_nomem(work->err, "a pattern");
	for (uint32_t code = 0; code < order->codes && rc == NP_OK; code++) {
		struct np_cell cell = view_order_value(view, column, order, code);

		rc = match(work, operator, pattern, words, &cell, &allowed[code]);
		if (rc == NP_OK && (code & 0xff) == 0xff && sql_late(work->sql))
			rc = np_fail(work->err, NP_E_RANGE, "out of time");
	}
	if (rc == NP_OK)
		rc = keep_codes(work, order, allowed);
	free(allowed);
	return rc;
}

static int match_pattern(struct work *work, int operator, size_t column, sqlite3_value *value)
{
	const char *words = (const char *)sqlite3_value_text(value);
	struct np_pattern *pattern = NULL;
	int rc = NP_OK;

	if (!words) {
		work->rows->count = 0;
		return NP_OK;
	}
	if (operator== REGEXP)
		rc = sql_pattern(work->sql, words, (size_t)sqlite3_value_bytes(value), &pattern,
				 work->err);
	return rc == NP_OK ? match_values(work, operator, column, pattern, words) : rc;
}

static int keep_known(struct work *work, size_t column, bool known)
{
	struct sql_selection *rows = work->rows;
	size_t kept = 0;
	int rc = list_rows(work);

	for (size_t i = 0; rc == NP_OK && i < rows->count; i++) {
		struct np_cell cell = work->view->cell(work->view, rows->rows[i], column);

		rows->rows[kept] = rows->rows[i];
		kept += (cell.type != NP_CELL_NULL) == known;
	}
	rows->count = rc == NP_OK ? kept : 0;
	return rc;
}

/* The one row with this number, if it is one. */
static int keep_row(struct work *work, const struct np_cell *value)
{
	size_t kept = 0;
	int rc = NP_OK;

	if (value->type == NP_CELL_REAL || value->type == NP_CELL_TEXT)
		return NP_OK; /* SQLite compares */
	if (!work->rows->rows && value->type == NP_CELL_INTEGER && value->integer >= 0 &&
	    (uint64_t)value->integer < work->rows->count) {
		work->rows->count = 0;
		rc = list_rows(work);
		if (rc == NP_OK)
			work->rows->rows[kept++] = (uint32_t)value->integer;
	} else if (work->rows->rows && value->type == NP_CELL_INTEGER) {
		for (size_t i = 0; i < work->rows->count && kept == 0; i++) {
			if (work->rows->rows[i] == value->integer)
				work->rows->rows[kept++] = (uint32_t)value->integer;
		}
	}
	work->rows->count = kept;
	return rc;
}

static int apply(struct work *work, int operator, int column, sqlite3_value *argument)
{
	struct np_cell value;

	if (operator== ONE_OF)
		return compare_list(work, (size_t)column, argument);
	if (is_pattern(operator))
		return match_pattern(work, operator,(size_t) column, argument);
	if (operator== IS_NULL || operator== NOT_NULL)
		return keep_known(work, (size_t)column, operator== NOT_NULL);
	value = sql_value_cell(argument);
	if (operator== IS && value.type == NP_CELL_NULL)
		return keep_known(work, (size_t)column, false);
	if (operator== IS)
		operator= EQUAL;
	return column == ROWID ? keep_row(work, &value)
			       : compare(work, operator,(size_t) column, &value);
}

/* What finds few rows at once comes before what looks at every row that is left. */
static bool is_first(const struct view *view, int operator, int column)
{
	return operator== EQUAL &&(column == ROWID || view->columns[column].type == NP_TEXT ||
				   view_order_there(view, (size_t)column));
}

/* Sort by the columns at the end of the text, the last one first. */
static int sort_rows(struct work *work, const char *text, size_t terms)
{
	int rc = NP_OK;

	for (size_t i = terms; rc == NP_OK && i-- > 0;) {
		const char *term = text + i * TERM_LENGTH;
		const struct view_order *order;

		if (term[0] != ORDER_BY)
			break;
		rc = list_rows(work);
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
	struct work work = { .sql = sql, .view = view, .rows = ret, .err = err };
	size_t terms = text ? strlen(text) / TERM_LENGTH : 0;
	bool first[TERM_LIMIT] = { false };
	size_t conditions = 0;
	int rc = NP_OK;

	*ret = (struct sql_selection){ .count = view->rows };
	while (conditions < terms && text[conditions * TERM_LENGTH] != ORDER_BY) {
		const char *term = text + conditions * TERM_LENGTH;

		first[conditions++] = is_first(view, term[0], read_column(term));
	}
	for (size_t i = 0; i < 2 * conditions && rc == NP_OK; i++) {
		size_t at = i % conditions;
		const char *term = text + at * TERM_LENGTH;

		if (first[at] == (i < conditions))
			rc = apply(&work, term[0], read_column(term), argv[at]);
	}
	return rc == NP_OK ? sort_rows(&work, text, terms) : rc;
}
