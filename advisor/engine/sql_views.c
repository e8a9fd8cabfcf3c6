/* SPDX-License-Identifier: Apache-2.0 */
#include "sql_private.h"

#include <stdlib.h>
#include <string.h>

/*
 * Views as virtual tables
 * =======================
 *
 * Every view is an eponymous table: it exists by its name alone. A join would
 * read the inner one once per row of the outer, since SQLite makes no indexes for
 * virtual tables; so an order by a column is kept once it was asked for, and
 * serves comparisons of that column by =, <, <=, >, >=. SQLite checks the rows
 * again: what is found may be too much, never too little.
 *
 * The same orders serve GROUP BY and ORDER BY, which are most of the cost of a
 * rule otherwise: each column numbers its values once, and rows are sorted by
 * these numbers instead of by texts.
 */

/* Rows in the order of one column, and the number of each row's value in that order. */
struct order {
	uint32_t *row;
	uint32_t *code;
	uint32_t codes; /* distinct values */
	struct np_cell *key;
};

struct sql_view {
	struct sql *sql;
	struct view *view;
	struct order *orders; /* by column */
};

struct table {
	sqlite3_vtab base;
	struct sql_view *owner;
};

struct cursor {
	sqlite3_vtab_cursor base;
	const uint32_t *order; /* NULL: as they are */
	uint32_t *sorted;      /* the same, when it is the cursor's own */
	size_t at;
	size_t end;
};

static struct sql_view *view_of(sqlite3_vtab *vtab)
{
	return ((struct table *)vtab)->owner;
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
	struct table *table;
	int rc = SQLITE_NOMEM;

	(void)db;
	(void)argc;
	(void)argv;
	(void)ret_error;
	np_buf_add(&text, "CREATE TABLE x(");
	for (size_t i = 0; i < owner->view->column_count; i++) {
		np_buf_add(&text, i > 0 ? ", " : "");
		sql_quote(&text, owner->view->columns[i].name);
		np_buf_printf(&text, " %s", type_name(owner->view->columns[i].type));
	}
	np_buf_add(&text, ")");
	if (!text.failed)
		rc = sql_declare(owner->sql, text.text);
	np_buf_release(&text);
	if (rc != SQLITE_OK)
		return rc;
	table = sqlite3_malloc(sizeof(*table));
	if (!table)
		return SQLITE_NOMEM;
	*table = (struct table){ .owner = owner };
	*ret = &table->base;
	return SQLITE_OK;
}

static int disconnect(sqlite3_vtab *vtab)
{
	sqlite3_free(vtab);
	return SQLITE_OK;
}

/* Ways to use a constraint, as bits of idxNum below the column. */
enum {
	USE_EQUAL = 1,
	USE_LOW = 2,
	USE_HIGH = 4,
	USE_BITS = 3,
};

static int use_of(unsigned char operator)
{
	switch (operator) {
	case SQLITE_INDEX_CONSTRAINT_EQ:
		return USE_EQUAL;
	case SQLITE_INDEX_CONSTRAINT_GT:
	case SQLITE_INDEX_CONSTRAINT_GE:
		return USE_LOW;
	case SQLITE_INDEX_CONSTRAINT_LT:
	case SQLITE_INDEX_CONSTRAINT_LE:
		return USE_HIGH;
	default:
		return 0;
	}
}

/* The uses that constraints offer for one column. */
static int uses_of_column(sqlite3_index_info *info, int column)
{
	int uses = 0;

	for (int i = 0; i < info->nConstraint; i++) {
		const struct sqlite3_index_constraint *constraint = &info->aConstraint[i];

		if (constraint->usable && constraint->iColumn == column &&
		    sqlite3_stricmp(sqlite3_vtab_collation(info, i), "BINARY") == 0)
			uses |= use_of(constraint->op);
	}
	return uses;
}

/* Hand the constraints of the chosen column to filter(): =, or the lower bound before the upper. */
static void take_constraints(sqlite3_index_info *info, int column, int uses)
{
	int next = 1;

	for (int use = USE_EQUAL; use <= USE_HIGH; use <<= 1) {
		for (int i = 0; (uses & use) && i < info->nConstraint; i++) {
			const struct sqlite3_index_constraint *constraint = &info->aConstraint[i];

			if (constraint->usable && constraint->iColumn == column &&
			    use_of(constraint->op) == use) {
				info->aConstraintUsage[i].argvIndex = next++;
				break;
			}
		}
	}
}

/* Stands for a column that is none. */
#define NO_COLUMN (-2)
#define ROWID     (-1)

/* The column that constraints narrow most: one that is compared by = before others. */
static int choose_column(const struct view *view, sqlite3_index_info *info, int *ret_uses)
{
	int best = NO_COLUMN;

	for (int i = 0; i < info->nConstraint; i++) {
		int column = info->aConstraint[i].iColumn;

		if (column == ROWID && (uses_of_column(info, column) & USE_EQUAL)) {
			*ret_uses = USE_EQUAL;
			return ROWID;
		}
	}
	for (int i = 0; i < info->nConstraint; i++) {
		int column = info->aConstraint[i].iColumn;
		int uses = column >= 0 ? uses_of_column(info, column) : 0;

		/* The rank is the same in all rows of a rank: an order of it finds nothing. */
		if (uses == 0 || strcmp(view->columns[column].name, "rank") == 0)
			continue;
		if (uses & USE_EQUAL)
			uses = USE_EQUAL;
		if (best == NO_COLUMN || (uses == USE_EQUAL && *ret_uses != USE_EQUAL)) {
			best = column;
			*ret_uses = uses;
		}
	}
	return best;
}

/* Take over ORDER BY and GROUP BY: the columns are told to filter() as text. */
static int take_order(sqlite3_index_info *info)
{
	struct np_buf columns = NP_BUF_INIT;
	bool any_direction = sqlite3_vtab_distinct(info) == 1;

	if (info->nOrderBy == 0)
		return SQLITE_OK;
	for (int i = 0; i < info->nOrderBy; i++) {
		if (info->aOrderBy[i].iColumn < 0 || (info->aOrderBy[i].desc && !any_direction)) {
			np_buf_release(&columns);
			return SQLITE_OK;
		}
		np_buf_printf(&columns, "%d,", info->aOrderBy[i].iColumn);
	}
	info->idxStr = columns.failed ? NULL : sqlite3_mprintf("%s", columns.text);
	np_buf_release(&columns);
	if (!info->idxStr)
		return SQLITE_NOMEM;
	info->needToFreeIdxStr = 1;
	info->orderByConsumed = 1;
	return SQLITE_OK;
}

static int best_index(sqlite3_vtab *vtab, sqlite3_index_info *info)
{
	const struct view *view = view_of(vtab)->view;
	double rows = view->opened ? (double)view->rows + 1 : 10000;
	int uses = 0;
	int column = choose_column(view, info, &uses);

	info->estimatedCost = rows;
	info->estimatedRows = (sqlite3_int64)rows;
	if (column != NO_COLUMN) {
		take_constraints(info, column, uses);
		info->idxNum = ((column + 1) << USE_BITS) | uses;
		rows = column == ROWID ? 1 : uses == USE_EQUAL ? rows / 50 : rows / 4;
		info->estimatedCost = rows + 8;
		info->estimatedRows = (sqlite3_int64)rows + 1;
	}
	return take_order(info);
}

static int open_cursor(sqlite3_vtab *vtab, sqlite3_vtab_cursor **ret)
{
	struct cursor *cursor = sqlite3_malloc(sizeof(*cursor));

	(void)vtab;
	if (!cursor)
		return SQLITE_NOMEM;
	*cursor = (struct cursor){ .end = 0 };
	*ret = &cursor->base;
	return SQLITE_OK;
}

static int close_cursor(sqlite3_vtab_cursor *base)
{
	free(((struct cursor *)base)->sorted);
	sqlite3_free(base);
	return SQLITE_OK;
}

static int compare_rows(const void *a, const void *b, void *context)
{
	const struct np_cell *keys = context;
	uint32_t x = *(const uint32_t *)a;
	uint32_t y = *(const uint32_t *)b;
	int order = cell_compare(&keys[x], &keys[y]);

	return order != 0 ? order : np_order(x, y);
}

/*
 * Texts of a view are mostly the same few, at the same addresses: those are found
 * first, so that only they have to be sorted. Two addresses may hold equal texts.
 */
struct distinct {
	const char *bytes;
	uint32_t row; /* the first that has it */
};

static void sort_texts(struct order *order, size_t rows, struct distinct *table, size_t size)
{
	uint32_t *next = order->code; /* not in use yet: the previous row with this text, + 1 */
	size_t count = 0;
	size_t out = 0;

	for (size_t i = 0; i < rows; i++) {
		const char *bytes =
			order->key[i].type == NP_CELL_TEXT ? order->key[i].text.bytes : NULL;
		size_t slot = ((uintptr_t)bytes * UINT64_C(0x9e3779b97f4a7c15)) >> 32;

		for (slot &= size - 1; table[slot].row != UINT32_MAX;
		     slot = (slot + 1) & (size - 1)) {
			if (table[slot].bytes == bytes &&
			    cell_compare(&order->key[table[slot].row], &order->key[i]) == 0)
				break;
		}
		next[i] = table[slot].row == UINT32_MAX ? 0 : table[slot].row + 1;
		table[slot] = (struct distinct){ bytes, (uint32_t)i };
	}
	/* Each used slot now holds the last row of a text; order these, then unroll the chains. */
	for (size_t i = 0; i < size; i++) {
		if (table[i].row != UINT32_MAX)
			order->row[count++] = table[i].row;
	}
	qsort_r(order->row, count, sizeof(*order->row), compare_rows, order->key);
	memcpy(table, order->row, count * sizeof(*order->row));
	for (size_t i = 0; i < count; i++) {
		uint32_t row;
		size_t begin = out;

		memcpy(&row, (const char *)table + i * sizeof(row), sizeof(row));
		for (uint32_t at = row + 1; at > 0; at = next[at - 1])
			order->row[out++] = at - 1;
		/* The chain runs backwards. */
		for (size_t low = begin, high = out; low + 1 < high; low++, high--) {
			uint32_t swap = order->row[low];

			order->row[low] = order->row[high - 1];
			order->row[high - 1] = swap;
		}
	}
}

static int sort_column(struct order *order, size_t rows, enum np_column_type type)
{
	struct distinct *table;
	size_t size = 64;

	if (type != NP_TEXT) {
		qsort_r(order->row, rows, sizeof(*order->row), compare_rows, order->key);
		return SQLITE_OK;
	}
	while (size < rows * 2)
		size *= 2;
	table = malloc(size * sizeof(*table));
	if (!table)
		return SQLITE_NOMEM;
	memset(table, 0xff, size * sizeof(*table));
	sort_texts(order, rows, table, size);
	free(table);
	return SQLITE_OK;
}

/* Number the values in their order. */
static void number_values(struct order *order, size_t rows)
{
	uint32_t code = 0;

	for (size_t i = 0; i < rows; i++) {
		if (i > 0 &&
		    cell_compare(&order->key[order->row[i - 1]], &order->key[order->row[i]]) != 0)
			code++;
		order->code[order->row[i]] = code;
	}
	order->codes = rows > 0 ? code + 1 : 0;
}

static void free_order(struct order *order)
{
	free(order->row);
	free(order->code);
	free(order->key);
	*order = (struct order){ .row = NULL };
}

/* Sort the rows by a column, once. The keys of all rows stay for the search. */
static int make_order(struct sql_view *owner, size_t column)
{
	struct view *view = owner->view;
	struct order *order;
	bool sorted = true;
	int rc = SQLITE_OK;

	if (!owner->orders)
		owner->orders = calloc(view->column_count, sizeof(*owner->orders));
	if (!owner->orders)
		return SQLITE_NOMEM;
	order = &owner->orders[column];
	if (order->row)
		return SQLITE_OK;
	order->row = malloc((view->rows + 1) * sizeof(*order->row));
	order->code = malloc((view->rows + 1) * sizeof(*order->code));
	order->key = malloc((view->rows + 1) * sizeof(*order->key));
	if (!order->row || !order->code || !order->key) {
		free_order(order);
		return SQLITE_NOMEM;
	}
	for (size_t i = 0; i < view->rows; i++) {
		order->row[i] = (uint32_t)i;
		order->key[i] = view->cell(view, i, column);
		sorted =
			sorted && (i == 0 || cell_compare(&order->key[i - 1], &order->key[i]) <= 0);
	}
	if (!sorted)
		rc = sort_column(order, view->rows, view->columns[column].type);
	if (rc == SQLITE_OK)
		number_values(order, view->rows);
	else
		free_order(order);
	return rc;
}

/* Put rows in the order of one column, keeping the order they have among equals. */
static void counting_sort(const struct order *order, const uint32_t *from, uint32_t *to,
			  uint32_t *places, size_t count)
{
	uint32_t sum = 0;

	memset(places, 0, order->codes * sizeof(*places));
	for (size_t i = 0; i < count; i++)
		places[order->code[from[i]]]++;
	for (uint32_t c = 0; c < order->codes; c++) {
		uint32_t here = places[c];

		places[c] = sum;
		sum += here;
	}
	for (size_t i = 0; i < count; i++)
		to[places[order->code[from[i]]]++] = from[i];
}

/* Sort the rows of the cursor by the columns in `text`, the last one first. */
static int sort_rows(struct sql_view *owner, const char *text, struct cursor *cursor)
{
	size_t count = cursor->end - cursor->at;
	uint32_t *rows = malloc((count + 1) * sizeof(*rows));
	uint32_t *other = malloc((count + 1) * sizeof(*other));
	uint32_t *places = malloc((owner->view->rows + 1) * sizeof(*places));
	const char *at = text + strlen(text);
	int rc = rows && other && places ? SQLITE_OK : SQLITE_NOMEM;

	for (size_t i = 0; rc == SQLITE_OK && i < count; i++)
		rows[i] =
			cursor->order ? cursor->order[cursor->at + i] : (uint32_t)(cursor->at + i);
	while (rc == SQLITE_OK && at > text) {
		size_t column;

		for (at--; at > text && at[-1] != ','; at--)
			;
		column = (size_t)strtoul(at, NULL, 10);
		rc = make_order(owner, column);
		if (rc == SQLITE_OK && owner->orders[column].codes > 1) {
			uint32_t *swap = rows;

			counting_sort(&owner->orders[column], rows, other, places, count);
			rows = other;
			other = swap;
		}
	}
	free(other);
	free(places);
	free(cursor->sorted);
	cursor->sorted = rows;
	cursor->order = rows;
	cursor->at = 0;
	cursor->end = count;
	return rc;
}

/* The first place in the order whose key is not less than `value`, or with `after`, greater. */
static size_t lower_bound(const struct order *order, size_t count, const struct np_cell *value,
			  bool after)
{
	size_t low = 0;

	while (count > 0) {
		size_t half = count / 2;
		int side = cell_compare(&order->key[order->row[low + half]], value);

		if (side < 0 || (after && side == 0)) {
			low += half + 1;
			count -= half + 1;
		} else {
			count = half;
		}
	}
	return low;
}

/* May this value be searched for in a column of this type, without a conversion of SQLite's? */
static bool searchable(enum np_column_type type, const struct np_cell *value)
{
	switch (value->type) {
	case NP_CELL_INTEGER:
	case NP_CELL_REAL:
		return type == NP_INTEGER || type == NP_REAL;
	case NP_CELL_TEXT:
		return type == NP_TEXT;
	default:
		return false;
	}
}

static void use_order(const struct order *order, int uses, const struct np_cell *values,
		      struct cursor *cursor)
{
	size_t count = cursor->end;
	const struct np_cell *next = values;

	if (uses & USE_EQUAL) {
		cursor->at = lower_bound(order, count, next, false);
		cursor->end = lower_bound(order, count, next, true);
		return;
	}
	if (uses & USE_LOW)
		cursor->at = lower_bound(order, count, next++, false);
	if (uses & USE_HIGH)
		cursor->end = lower_bound(order, count, next, true);
	if (cursor->end < cursor->at)
		cursor->end = cursor->at;
}

/* The one row with this number, if it is one. */
static void use_rowid(const struct np_cell *value, struct cursor *cursor)
{
	size_t count = cursor->end;

	cursor->end = 0;
	if (value->type == NP_CELL_INTEGER && value->integer >= 0 &&
	    (uint64_t)value->integer < count) {
		cursor->at = (size_t)value->integer;
		cursor->end = cursor->at + 1;
	} else if (value->type == NP_CELL_REAL) {
		cursor->end = count; /* SQLite compares */
	}
}

static int filter(sqlite3_vtab_cursor *base, int number, const char *text, int argc,
		  sqlite3_value **argv)
{
	struct cursor *cursor = (struct cursor *)base;
	struct sql_view *owner = view_of(base->pVtab);
	struct np_cell values[2] = { np_cell_null(), np_cell_null() };
	int column = (number >> USE_BITS) - 1;
	struct np_err err = NP_ERR_INIT;
	bool can = number != 0;
	int rc = SQLITE_OK;

	if (view_open(owner->view, &err) < 0) {
		sqlite3_free(base->pVtab->zErrMsg);
		base->pVtab->zErrMsg = sqlite3_mprintf("%s", err.text);
		return err.code == NP_E_NOMEM ? SQLITE_NOMEM : SQLITE_ERROR;
	}
	free(cursor->sorted);
	*cursor = (struct cursor){ .base = cursor->base, .end = owner->view->rows };
	for (int i = 0; i < argc && i < 2; i++) {
		values[i] = sql_value_cell(argv[i]);
		can = can &&
		      searchable(column == ROWID ? NP_INTEGER : owner->view->columns[column].type,
				 &values[i]);
	}
	if (can && column == ROWID)
		use_rowid(&values[0], cursor);
	else if (can)
		rc = make_order(owner, (size_t)column);
	if (can && column != ROWID && rc == SQLITE_OK) {
		cursor->order = owner->orders[column].row;
		use_order(&owner->orders[column], number & ((1 << USE_BITS) - 1), values, cursor);
	}
	if (rc == SQLITE_OK && text)
		rc = sort_rows(owner, text, cursor);
	return rc;
}

static int next(sqlite3_vtab_cursor *base)
{
	((struct cursor *)base)->at++;
	return SQLITE_OK;
}

static int eof(sqlite3_vtab_cursor *base)
{
	const struct cursor *cursor = (const struct cursor *)base;

	return cursor->at >= cursor->end;
}

static size_t row_of(const struct cursor *cursor)
{
	return cursor->order ? cursor->order[cursor->at] : cursor->at;
}

static int column(sqlite3_vtab_cursor *base, sqlite3_context *context, int index)
{
	const struct view *view = view_of(base->pVtab)->view;

	sql_result_cell(context, view->cell(view, row_of((struct cursor *)base), (size_t)index),
			true);
	return SQLITE_OK;
}

static int rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *ret)
{
	*ret = (sqlite3_int64)row_of((struct cursor *)base);
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

int sql_add_view(struct sql *sql, struct view *view, struct np_err *err)
{
	struct sql_view **slot = np_vec_add(&sql->views, err);
	int rc;

	if (!slot)
		return NP_E_NOMEM;
	*slot = calloc(1, sizeof(**slot));
	if (!*slot) {
		sql->views.count--;
		return np_fail_nomem(err, "a view");
	}
	**slot = (struct sql_view){ .sql = sql, .view = view };
	rc = sqlite3_create_module_v2(sql->db, view->name, &module, *slot, NULL);
	return rc == SQLITE_OK ? NP_OK : sql_failed(sql, rc, err);
}

void sql_views_free(struct sql *sql)
{
	for (size_t i = 0; i < sql->views.count; i++) {
		struct sql_view *owner = sql->views.item[i];

		for (size_t c = 0; owner->orders && c < owner->view->column_count; c++)
			free_order(&owner->orders[c]);
		free(owner->orders);
		free(owner);
	}
	np_vec_release(&sql->views);
}
