/* SPDX-License-Identifier: Apache-2.0 */
/* Conditions of a query on a view, evaluated before SQLite sees a row. */
#include "sql_conditions.h"

#include <stdlib.h>
#include <string.h>

#include "advisor/engine/views/view_bulk.h"

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
	struct adv_sql *sql;
	struct adv_view *view;
	struct adv_sql_selection *rows; /* that are left */
	struct np_err *err;
};

static bool test_is_pattern(int test)
{
	return test == TEST_REGEXP || test == TEST_LIKE || test == TEST_GLOB;
}

static bool type_is_number(enum np_column_type type)
{
	return type == NP_INTEGER || type == NP_REAL;
}

/* Searches row by row before a column of numbers is worth an order. */
#define SEARCHES_BEFORE_ORDER 2

/* Where few rows are left they are looked at one by one, until that is so many times all rows. */
#define LOOKS_BEFORE_ORDER 8

/* May this value be compared with the column without a conversion of SQLite's? */
static bool comparable(enum adv_view_values values, const struct np_cell *value)
{
	if (value->type == NP_CELL_TEXT)
		return values == VIEW_TEXTS;
	return value->type != NP_CELL_NULL && values == VIEW_NUMBERS;
}

/* A value; a text that is compared with a column of numbers is one where it looks like it. */
static struct np_cell number_value(enum np_column_type type, sqlite3_value *value)
{
	if (type_is_number(type))
		(void)sqlite3_value_numeric_type(value);
	return adv_sql_value_cell(value);
}

static int list_rows(struct sql_condition *work)
{
	struct adv_sql_selection *rows = work->rows;

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
static int keep_codes(struct sql_condition *work, const struct adv_view_order *order,
		      const bool *allowed)
{
	struct adv_sql_selection *rows = work->rows;
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
static int keep_range(struct sql_condition *work, const struct adv_view_order *order, uint32_t from,
		      uint32_t to)
{
	struct adv_sql_selection *rows = work->rows;
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

static bool holds(int test, int side)
{
	switch (test) {
	case TEST_EQUAL:
		return side == 0;
	case TEST_LESS:
		return side < 0;
	case TEST_LESS_EQUAL:
		return side <= 0;
	case TEST_GREATER:
		return side > 0;
	default:
		return side >= 0;
	}
}

/* Compare whole numbers with one; *ret_done says whether the column was of such. */
static int compare_numbers(struct sql_condition *work, int test, size_t column, int64_t value,
			   bool *ret_done)
{
	struct adv_sql_selection *rows = work->rows;
	int64_t *numbers = malloc((rows->count + 1) * sizeof(*numbers));
	size_t kept = 0;
	int rc;

	if (!numbers)
		return np_fail_nomem(work->err, "rows");
	*ret_done = adv_view_numbers(work->view, column, rows->rows, rows->count, numbers);
	rc = *ret_done ? list_rows(work) : NP_OK;
	for (size_t i = 0; *ret_done && rc == NP_OK && i < rows->count; i++) {
		int side = (numbers[i] > value) - (numbers[i] < value);

		rows->rows[kept] = rows->rows[i];
		kept += numbers[i] != NP_UNKNOWN && holds(test, side);
	}
	if (*ret_done)
		rows->count = rc == NP_OK ? kept : 0;
	free(numbers);
	return rc;
}

/* Compare row by row. In a column of numbers a text fits nothing; elsewhere SQLite looks at it. */
static int compare_rows(struct sql_condition *work, int test, size_t column,
			const struct np_cell *value)
{
	struct adv_sql_selection *rows = work->rows;
	bool texts = !type_is_number(work->view->columns[column].type);
	bool done = false;
	size_t kept = 0;
	int rc = NP_OK;

	if (!texts && value->type == NP_CELL_INTEGER)
		rc = compare_numbers(work, test, column, value->integer, &done);
	if (done || rc < 0)
		return rc;
	rc = list_rows(work);
	for (size_t i = 0; rc == NP_OK && i < rows->count; i++) {
		struct np_cell cell = work->view->cell(work->view, rows->rows[i], column);
		bool number = cell.type == NP_CELL_INTEGER || cell.type == NP_CELL_REAL;

		rows->rows[kept] = rows->rows[i];
		kept += number ? holds(test, adv_cell_compare(&cell, value))
			       : texts && cell.type == NP_CELL_TEXT;
	}
	rows->count = rc == NP_OK ? kept : 0;
	return rc;
}

/* Is the column searched so often that it deserves an order? */
static bool wants_order(struct adv_view *view, size_t column)
{
	if (view->columns[column].type == NP_TEXT || adv_view_order_there(view, column))
		return true;
	if (!view->searches)
		view->searches = calloc(view->column_count + 1, 1);
	if (!view->searches || view->searches[column] >= SEARCHES_BEFORE_ORDER)
		return true;
	view->searches[column]++;
	return false;
}

/*
 * Few rows are looked at one by one sooner than all of them are put in order; but a join looks
 * again and again.
 */
static bool looks_at_few(struct adv_view *view, size_t column, size_t rows)
{
	if (adv_view_order_there(view, column) || rows >= view->rows / 4)
		return false;
	if (!view->looked)
		view->looked = calloc(view->column_count + 1, sizeof(*view->looked));
	if (!view->looked || view->looked[column] / LOOKS_BEFORE_ORDER > view->rows)
		return false;
	view->looked[column] += rows;
	return true;
}

static int keep_known(struct sql_condition *work, size_t column, bool known)
{
	struct adv_sql_selection *rows = work->rows;
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

/* Rows whose code is on the right side of a value. */
static int compare_codes(struct sql_condition *work, int test, size_t column,
			 const struct adv_view_order *order, const struct np_cell *value)
{
	const struct adv_view *view = work->view;
	uint32_t from = 0;
	uint32_t to = order->codes;

	/* NULL comes before all values. */
	if (order->codes > 0 && adv_view_order_value(view, column, order, 0).type == NP_CELL_NULL)
		from = 1;
	if (test == TEST_EQUAL || test == TEST_GREATER_EQUAL)
		from = adv_view_order_search(view, column, order, value, false);
	if (test == TEST_GREATER)
		from = adv_view_order_search(view, column, order, value, true);
	if (test == TEST_EQUAL || test == TEST_LESS_EQUAL)
		to = adv_view_order_search(view, column, order, value, true);
	if (test == TEST_LESS)
		to = adv_view_order_search(view, column, order, value, false);
	return keep_range(work, order, from, to);
}

static int compare(struct sql_condition *work, int test, size_t column, const struct np_cell *value)
{
	struct adv_view *view = work->view;
	bool numbers = type_is_number(view->columns[column].type);
	const struct adv_view_order *order;
	int rc;

	if (numbers && value->type == NP_CELL_INTEGER &&
	    looks_at_few(view, column, work->rows->count))
		return compare_rows(work, test, column, value);
	if (value->type == NP_CELL_NULL) {
		work->rows->count = 0; /* nothing compares with it */
		return NP_OK;
	}
	/* Every number is less than a text. */
	if (numbers && value->type == NP_CELL_TEXT &&
	    (test == TEST_LESS || test == TEST_LESS_EQUAL))
		return keep_known(work, column, true);
	if (value->type != NP_CELL_TEXT && !wants_order(view, column))
		return compare_rows(work, test, column, value);
	rc = adv_view_order(view, column, &order, work->err);
	if (rc < 0)
		return rc;
	if (comparable(order->values, value))
		return compare_codes(work, test, column, order, value);
	return numbers ? compare_rows(work, test, column, value) : NP_OK;
}

/* A member of a list as SQLite would compare it with the column. */
static struct np_cell list_value(enum np_column_type type, sqlite3_value *item)
{
	const char *text;

	if (type != NP_TEXT || sqlite3_value_type(item) == SQLITE_NULL)
		return number_value(type, item);
	text = (const char *)sqlite3_value_text(item);
	return text ? np_cell_bytes(text, (size_t)sqlite3_value_bytes(item)) : np_cell_null();
}

/* Mark the code of a value, if there is one; false if it cannot be compared here. */
static bool allow_value(const struct adv_view *view, size_t column,
			const struct adv_view_order *order, const struct np_cell *value,
			bool *allowed)
{
	uint32_t place;
	struct np_cell there;

	if (value->type == NP_CELL_NULL)
		return true;
	if (!comparable(order->values, value))
		/* Where a column has one type, values of another are not in it. */
		return view->columns[column].type != NP_NUMERIC;
	place = adv_view_order_search(view, column, order, value, false);
	if (place >= order->codes)
		return true;
	there = adv_view_order_value(view, column, order, place);
	allowed[place] = allowed[place] || adv_cell_compare(&there, value) == 0;
	return true;
}

static int compare_list(struct sql_condition *work, size_t column, sqlite3_value *list)
{
	struct adv_view *view = work->view;
	const struct adv_view_order *order;
	sqlite3_value *item = NULL;
	bool *allowed;
	bool can = true;
	int code = SQLITE_OK;
	int rc = adv_view_order(view, column, &order, work->err);

	if (rc < 0)
		return rc;
	allowed = calloc((size_t)order->codes + 1, sizeof(*allowed));
	if (!allowed)
		return np_fail_nomem(work->err, "a list");
	for (code = sqlite3_vtab_in_first(list, &item); code == SQLITE_OK && can;
	     code = sqlite3_vtab_in_next(list, &item)) {
		struct np_cell value = list_value(view->columns[column].type, item);

		can = allow_value(view, column, order, &value, allowed);
	}
	if (code == SQLITE_NOMEM)
		rc = np_fail_nomem(work->err, "a list");
	else if (can)
		rc = keep_codes(work, order, allowed);
	free(allowed);
	return rc;
}

/* LIKE and GLOB, which want a NUL at the end. */
static int match_words(struct sql_condition *work, int test, const char *words,
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
	*ret = test == TEST_LIKE ? sqlite3_strlike(words, text, 0) == 0
				 : sqlite3_strglob(words, text) == 0;
	free(copy);
	return NP_OK;
}

static int match(struct sql_condition *work, int test, struct np_pattern *pattern,
		 const char *words, const struct np_cell *cell, bool *ret)
{
	*ret = false;
	if (cell->type != NP_CELL_TEXT)
		return NP_OK;
	return test == TEST_REGEXP ? np_pattern_match(pattern, cell->text.bytes, cell->text.length,
						      0, ret, work->err)
				   : match_words(work, test, words, cell, ret);
}

/* Match each value once. */
static int match_values(struct sql_condition *work, int test, size_t column,
			struct np_pattern *pattern, const char *words)
{
	struct adv_view *view = work->view;
	const struct adv_view_order *order;
	bool *allowed;
	int rc = adv_view_order(view, column, &order, work->err);

	if (rc < 0)
		return rc;
	allowed = calloc((size_t)order->codes + 1, sizeof(*allowed));
	if (!allowed)
		return np_fail_nomem(work->err, "a pattern");
	for (uint32_t code = 0; code < order->codes && rc == NP_OK; code++) {
		struct np_cell cell = adv_view_order_value(view, column, order, code);

		rc = match(work, test, pattern, words, &cell, &allowed[code]);
		if (rc == NP_OK && (code & 0xff) == 0xff && adv_sql_late(work->sql))
			rc = np_fail(work->err, NP_E_RANGE, "out of time");
	}
	if (rc == NP_OK)
		rc = keep_codes(work, order, allowed);
	free(allowed);
	return rc;
}

static int match_pattern(struct sql_condition *work, int test, size_t column, const char *words,
			 size_t length)
{
	struct np_pattern *pattern = NULL;
	int rc = NP_OK;

	if (!words) {
		work->rows->count = 0;
		return NP_OK;
	}
	if (test == TEST_REGEXP)
		rc = adv_sql_pattern(work->sql, words, length, &pattern, work->err);
	return rc == NP_OK ? match_values(work, test, column, pattern, words) : rc;
}

/* The one row with this number, if it is one. */
static int keep_row(struct sql_condition *work, const struct np_cell *value)
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

static int apply_condition(struct sql_condition *work, int test, int column,
			   sqlite3_value *argument)
{
	struct np_cell value;

	if (test == TEST_ONE_OF)
		return compare_list(work, (size_t)column, argument);
	if (test_is_pattern(test)) {
		const char *words = (const char *)sqlite3_value_text(argument);

		return match_pattern(work, test, (size_t)column, words,
				     (size_t)sqlite3_value_bytes(argument));
	}
	if (test == TEST_IS_NULL || test == TEST_NOT_NULL)
		return keep_known(work, (size_t)column, test == TEST_NOT_NULL);
	value = number_value(column == ROWID ? NP_NUMERIC : work->view->columns[column].type,
			     argument);
	if (test == TEST_IS && value.type == NP_CELL_NULL)
		return keep_known(work, (size_t)column, false);
	if (test == TEST_IS)
		test = TEST_EQUAL;
	return column == ROWID ? keep_row(work, &value)
			       : compare(work, test, (size_t)column, &value);
}

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
static bool is_final(const struct adv_view_slot *slot, int test, int column)
{
	if (is_exact(test))
		return true;
	if (column == ROWID || test == TEST_IS)
		return false;
	return type_is_number(slot->columns[column].type) ||
	       (slot->columns[column].type == NP_TEXT && test == TEST_ONE_OF);
}

/* Can this constraint be evaluated here? */
static bool can_take(const struct adv_view_slot *slot, sqlite3_index_info *info, int index,
		     int test)
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

int adv_sql_terms_choose(const struct adv_view_slot *slot, sqlite3_index_info *info)
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
static bool is_first(const struct adv_view *view, int test, int column)
{
	return test == TEST_EQUAL && (column == ROWID || view->columns[column].type == NP_TEXT ||
				      adv_view_order_there(view, (size_t)column));
}

/* How many rows an order finds for a term by itself; SIZE_MAX where it does not. */
static size_t rows_found(const struct adv_view *view, const char *term, sqlite3_value *argument)
{
	int column = read_column(term);
	const struct adv_view_order *order;
	struct np_cell value;
	uint32_t from;
	uint32_t to;

	order = term[0] == TEST_EQUAL && column != ROWID
			? adv_view_order_there(view, (size_t)column)
			: NULL;
	if (!order)
		return SIZE_MAX;
	value = number_value(view->columns[column].type, argument);
	if (!comparable(order->values, &value))
		return SIZE_MAX;
	from = adv_view_order_search(view, (size_t)column, order, &value, false);
	to = adv_view_order_search(view, (size_t)column, order, &value, true);
	return from < to ? order->first[to] - order->first[from] : 0;
}

/* The term that leaves the fewest rows, of those that say so: what one leaves, others look at. */
static size_t best_term(const struct adv_view *view, const char *text, size_t conditions,
			sqlite3_value **argv)
{
	size_t best = SIZE_MAX;
	size_t least = SIZE_MAX;

	for (size_t i = 0; i < conditions && conditions > 1; i++) {
		size_t rows = rows_found(view, text + i * TERM_LENGTH, argv[i]);

		if (rows < least) {
			least = rows;
			best = i;
		}
	}
	return best;
}

/* Sort by the columns at the end of the text, the last one first. */
static int sort_rows(struct sql_condition *work, const char *text, size_t terms)
{
	int rc = NP_OK;

	for (size_t i = terms; rc == NP_OK && i-- > 0;) {
		const char *term = text + i * TERM_LENGTH;
		const struct adv_view_order *order;

		if (term[0] != ORDER_BY)
			break;
		rc = list_rows(work);
		if (rc == NP_OK)
			rc = adv_view_order(work->view, (size_t)read_column(term), &order,
					    work->err);
		if (rc == NP_OK)
			rc = adv_view_order_sort(order, work->rows->rows, work->rows->count,
						 work->err);
	}
	return rc;
}

int adv_sql_terms_apply(struct adv_sql *sql, struct adv_view *view, const char *text,
			sqlite3_value **argv, struct adv_sql_selection *ret, struct np_err *err)
{
	struct sql_condition work = { .sql = sql, .view = view, .rows = ret, .err = err };
	size_t terms = text ? strlen(text) / TERM_LENGTH : 0;
	bool first[TERM_LIMIT] = { false };
	size_t conditions = 0;
	size_t best;
	int rc = NP_OK;

	*ret = (struct adv_sql_selection){ .count = view->rows };
	while (conditions < terms && text[conditions * TERM_LENGTH] != ORDER_BY) {
		const char *term = text + conditions * TERM_LENGTH;

		first[conditions++] = is_first(view, term[0], read_column(term));
	}
	best = best_term(view, text, conditions, argv);
	if (best != SIZE_MAX)
		rc = apply_condition(&work, TEST_EQUAL, read_column(text + best * TERM_LENGTH),
				     argv[best]);
	/* Once nothing is left, no condition brings anything back. */
	for (size_t i = 0; i < 2 * conditions && rc == NP_OK && ret->count > 0; i++) {
		size_t at = i % conditions;
		const char *term = text + at * TERM_LENGTH;

		if (at != best && first[at] == (i < conditions))
			rc = apply_condition(&work, term[0], read_column(term), argv[at]);
	}
	return rc == NP_OK ? sort_rows(&work, text, terms) : rc;
}

/* The test that an operator of SQL is; 0 for one that is not done here. */
static int test_called(const char *operator)
{
	static const struct {
		const char *name;
		int test;
	} tests[] = {
		{ "=", TEST_EQUAL },   { "<", TEST_LESS },           { "<=", TEST_LESS_EQUAL },
		{ ">", TEST_GREATER }, { ">=", TEST_GREATER_EQUAL }, { "like", TEST_LIKE },
		{ "glob", TEST_GLOB }, { "regexp", TEST_REGEXP },
	};

	for (size_t i = 0; i < NP_COUNT(tests); i++) {
		if (sqlite3_stricmp(tests[i].name, operator) == 0)
			return tests[i].test;
	}
	return 0;
}

int adv_sql_keep(struct adv_sql *sql, struct adv_view *view,
		 const struct adv_sql_comparison *comparison, struct adv_sql_selection *rows,
		 bool *ret_can, struct np_err *err)
{
	struct sql_condition work = { .sql = sql, .view = view, .rows = rows, .err = err };
	const struct np_cell *value = &comparison->value;
	int test = test_called(comparison->operator);
	enum np_column_type type = view->columns[comparison->column].type;
	const struct adv_view_order *order;
	int rc;

	*ret_can = false;
	if (value->type == NP_CELL_INTEGER && type_is_number(type) && test &&
	    !test_is_pattern(test)) {
		*ret_can = true;
		return compare(&work, test, comparison->column, value);
	}
	if (value->type != NP_CELL_TEXT || type != NP_TEXT)
		return NP_OK;
	if (test_is_pattern(test)) {
		*ret_can = true;
		return match_pattern(&work, test, comparison->column, value->text.bytes,
				     value->text.length);
	}
	if (test != TEST_EQUAL)
		return NP_OK;
	rc = adv_view_order(view, comparison->column, &order, err);
	*ret_can = rc == NP_OK && comparable(order->values, value);
	return *ret_can ? compare_codes(&work, test, comparison->column, order, value) : rc;
}
