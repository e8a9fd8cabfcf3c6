/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers the values of a column so that rows can be found and sorted by them. */
#include "view_order.h"

#include "npuprof/map.h"
#include "npuprof/order.h"

#include <stdlib.h>
#include <string.h>

#include "view_bulk.h"

static void free_order(struct adv_view_order *order)
{
	if (!order)
		return;
	free(order->row);
	free(order->code);
	free(order->first);
	free(order);
}

void adv_view_orders_free(struct adv_view *view)
{
	for (size_t i = 0; view->orders && i < view->column_count; i++)
		free_order(view->orders[i]);
	free(view->orders);
	free(view->searches);
	free(view->looked);
	view->orders = NULL;
	view->searches = NULL;
	view->looked = NULL;
}

/* One of the values of a column, while they are put in order. */
struct order_value {
	uint64_t prefix; /* of a text: its first bytes, which mostly decide */
	struct np_cell cell;
	uint32_t number; /* among the values as they were found */
};

struct values_found {
	NP_VEC(struct order_value) list;
	uint32_t *of_row; /* number of the value of a row */
};

static enum adv_view_values join_kinds(enum adv_view_values kinds, bool first,
				       enum np_cell_type type)
{
	enum adv_view_values kind = type == NP_CELL_TEXT ? VIEW_TEXTS : VIEW_NUMBERS;

	return first || kinds == kind ? kind : VIEW_MIXED;
}

static enum adv_view_values kinds_of(const struct values_found *found)
{
	enum adv_view_values kinds = VIEW_NUMBERS;
	bool first = true;

	for (size_t i = 0; i < found->list.count; i++) {
		enum np_cell_type type = found->list.item[i].cell.type;

		if (type == NP_CELL_NULL)
			continue;
		kinds = join_kinds(kinds, first, type);
		first = false;
	}
	return kinds;
}

static uint64_t prefix_of(const struct np_cell *cell)
{
	unsigned char bytes[8] = { 0 };
	uint64_t prefix = 0;

	if (cell->type != NP_CELL_TEXT)
		return 0;
	memcpy(bytes, cell->text.bytes, cell->text.length < 8 ? cell->text.length : 8);
	for (size_t i = 0; i < sizeof(bytes); i++)
		prefix = prefix << 8 | bytes[i];
	return prefix;
}

static int compare_values(const void *a, const void *b)
{
	const struct order_value *x = a;
	const struct order_value *y = b;
	int order;

	if (x->prefix != y->prefix && x->cell.type == NP_CELL_TEXT && y->cell.type == NP_CELL_TEXT)
		return x->prefix < y->prefix ? -1 : 1;
	order = adv_cell_compare(&x->cell, &y->cell);
	return order != 0 ? order : np_order(x->number, y->number);
}

static uint32_t add_value(struct values_found *found, struct np_cell cell, struct np_err *err)
{
	struct order_value *value = np_vec_add(&found->list, err);

	if (!value)
		return UINT32_MAX;
	*value = (struct order_value){ .prefix = prefix_of(&cell),
				       .cell = cell,
				       .number = (uint32_t)(found->list.count - 1) };
	return value->number;
}

/*
 * Texts of a view are mostly the same few, at the same addresses, so that they are
 * distinguished by these. Two addresses may hold equal texts; that is seen when the
 * values are sorted. Numbers are distinguished by their bits.
 */
static uint64_t identity_of(const struct np_cell *cell)
{
	uint64_t bits = 0;

	if (cell->type == NP_CELL_TEXT)
		return (uintptr_t)cell->text.bytes ^ (uint64_t)cell->text.length << 48;
	if (cell->type == NP_CELL_INTEGER)
		bits = (uint64_t)cell->integer;
	else if (cell->type == NP_CELL_REAL)
		memcpy(&bits, &cell->real, sizeof(bits));
	return bits;
}

static bool same(const struct np_cell *a, const struct np_cell *b)
{
	return a->type == b->type && identity_of(a) == identity_of(b);
}

/* A value that is looked for. */
struct order_wanted {
	const struct order_value *values;
	struct np_cell cell;
};

static bool is_wanted(const void *what, uint32_t number)
{
	const struct order_wanted *wanted = what;

	return same(&wanted->values[number].cell, &wanted->cell);
}

/* Number the values in the order in which they are found; rows are mostly like those before them.
 */
static int find_values(const struct adv_view *view, size_t column, struct values_found *found,
		       struct np_err *err)
{
	struct np_map map = { 0 };
	int rc = NP_OK;

	for (size_t row = 0; row < view->rows && rc == NP_OK; row++) {
		struct order_wanted wanted = { found->list.item, view->cell(view, row, column) };
		uint64_t hash = identity_of(&wanted.cell);
		uint32_t number = np_map_find(&map, hash, is_wanted, &wanted);

		if (number == NP_MAP_NONE) {
			number = add_value(found, wanted.cell, err);
			rc = number == UINT32_MAX ? NP_E_NOMEM
						  : np_map_add(&map, hash, number, err);
		}
		found->of_row[row] = number;
	}
	np_map_release(&map);
	return rc;
}

/* Sort the values; give each number its code. */
static uint32_t number_values(struct values_found *found, uint32_t *code_of)
{
	uint32_t code = 0;
	bool sorted = true;

	for (size_t i = 1; i < found->list.count && sorted; i++)
		sorted = compare_values(&found->list.item[i - 1], &found->list.item[i]) <= 0;
	if (!sorted)
		qsort(found->list.item, found->list.count, sizeof(struct order_value),
		      compare_values);
	for (size_t i = 0; i < found->list.count; i++) {
		if (i > 0 &&
		    adv_cell_compare(&found->list.item[i - 1].cell, &found->list.item[i].cell) != 0)
			code++;
		code_of[found->list.item[i].number] = code;
	}
	return found->list.count > 0 ? code + 1 : 0;
}

/* Where each code begins, and the rows in its order: counting. */
static void place_rows(struct adv_view_order *order, size_t rows)
{
	uint32_t sum = 0;

	memset(order->first, 0, (order->codes + 1) * sizeof(*order->first));
	for (size_t i = 0; i < rows; i++)
		order->first[order->code[i]]++;
	for (uint32_t c = 0; c <= order->codes; c++) {
		uint32_t here = order->first[c];

		order->first[c] = sum;
		sum += here;
	}
	for (size_t i = 0; i < rows; i++)
		order->row[order->first[order->code[i]]++] = (uint32_t)i;
	/* Each now points behind its rows, which is where the next one begins. */
	memmove(order->first + 1, order->first, order->codes * sizeof(*order->first));
	order->first[0] = 0;
}

/* Number values that are in order already, as ids and times are; false if they are not. */
static bool number_ascending(const struct adv_view *view, size_t column,
			     struct adv_view_order *order)
{
	struct np_cell before = np_cell_null();
	uint32_t code = 0;

	if (view->columns[column].type == NP_TEXT)
		return false;
	order->values = VIEW_NUMBERS;
	for (size_t i = 0; i < view->rows; i++) {
		struct np_cell cell = view->cell(view, i, column);
		int side = i > 0 ? adv_cell_compare(&before, &cell) : 0;

		if (side > 0 || cell.type == NP_CELL_TEXT)
			return false;
		code += side < 0;
		order->code[i] = code;
		before = cell;
	}
	order->codes = view->rows > 0 ? code + 1 : 0;
	return true;
}

/* The same of texts that have ids: no two have the same bytes. */
static int find_texts(const struct adv_view *view, size_t column, const struct adv_view_ids *ids,
		      struct values_found *found, struct np_err *err)
{
	uint32_t *of_id = calloc(np_strtab_count(ids->texts) + 2, sizeof(*of_id)); /* plus 1 */
	int rc = of_id ? NP_OK : np_fail_nomem(err, "an order");

	for (size_t row = 0; row < view->rows && rc == NP_OK; row++) {
		np_str id = adv_view_id(ids, row);

		if (of_id[id] == 0) {
			of_id[id] = add_value(found, view->cell(view, row, column), err) + 1;
			rc = of_id[id] == 0 ? NP_E_NOMEM : NP_OK;
		}
		found->of_row[row] = of_id[id] - 1;
	}
	free(of_id);
	return rc;
}

/* Find the values, sort them, and number the rows by them. */
static int number_rows(const struct adv_view *view, size_t column, struct adv_view_order *order,
		       struct np_err *err)
{
	struct values_found found = { .of_row = order->code };
	struct adv_view_ids ids;
	uint32_t *code_of = NULL;
	int rc = adv_view_text_ids(view, column, &ids) ? find_texts(view, column, &ids, &found, err)
						       : find_values(view, column, &found, err);

	if (rc == NP_OK) {
		code_of = malloc((found.list.count + 1) * sizeof(*code_of));
		if (!code_of)
			rc = np_fail_nomem(err, "an order");
	}
	if (rc == NP_OK) {
		order->values = kinds_of(&found);
		order->codes = number_values(&found, code_of);
		for (size_t i = 0; i < view->rows; i++)
			order->code[i] = code_of[order->code[i]];
	}
	free(code_of);
	np_vec_release(&found.list);
	return rc;
}

/* Values between these, of which most may be there, are counted and not looked for. */
static bool is_dense(const int64_t *values, size_t count, int64_t *ret_least, size_t *ret_range)
{
	int64_t least = INT64_MAX;
	int64_t most = INT64_MIN;
	uint64_t range;

	for (size_t i = 0; i < count; i++) {
		if (values[i] == NP_UNKNOWN)
			continue;
		least = values[i] < least ? values[i] : least;
		most = values[i] > most ? values[i] : most;
	}
	if (most < least) {
		*ret_least = 0;
		*ret_range = 0;
		return true;
	}
	range = (uint64_t)most - (uint64_t)least;
	*ret_least = least;
	*ret_range = range < UINT32_MAX ? (size_t)range + 1 : SIZE_MAX;
	return range < 2 * (uint64_t)count + 64;
}

/* Number whole numbers of which there are few, or that are close to each other. */
static int number_dense(const int64_t *values, size_t count, int64_t least, size_t range,
			struct adv_view_order *order, struct np_err *err)
{
	uint32_t *code_of = calloc(range + 2, sizeof(*code_of)); /* [0]: of nothing */
	uint32_t codes = 0;

	if (!code_of)
		return np_fail_nomem(err, "an order");
	for (size_t i = 0; i < count; i++)
		code_of[values[i] == NP_UNKNOWN ? 0 : (size_t)(values[i] - least) + 1] = 1;
	for (size_t i = 0; i < range + 1; i++) {
		bool there = code_of[i] != 0;

		code_of[i] = codes;
		codes += there;
	}
	for (size_t i = 0; i < count; i++)
		order->code[i] =
			code_of[values[i] == NP_UNKNOWN ? 0 : (size_t)(values[i] - least) + 1];
	order->codes = codes;
	free(code_of);
	return NP_OK;
}

/* Number whole numbers that are in order. */
static bool number_rising(const int64_t *values, size_t count, struct adv_view_order *order)
{
	uint32_t code = 0;

	for (size_t i = 0; i < count; i++) {
		if (i > 0 && values[i] < values[i - 1])
			return false;
		code += i > 0 && values[i] > values[i - 1];
		order->code[i] = code;
	}
	order->codes = count > 0 ? code + 1 : 0;
	return true;
}

/* Number a column of whole numbers; *ret_done says whether it was such a one, and simple enough. */
static int number_whole(const struct adv_view *view, size_t column, struct adv_view_order *order,
			bool *ret_done, struct np_err *err)
{
	int64_t *values = malloc((view->rows + 1) * sizeof(*values));
	int64_t least;
	size_t range;
	int rc = NP_OK;

	*ret_done = false;
	if (!values)
		return np_fail_nomem(err, "an order");
	if (view->columns[column].type != NP_TEXT &&
	    adv_view_numbers(view, column, NULL, view->rows, values)) {
		*ret_done = number_rising(values, view->rows, order);
		if (!*ret_done && is_dense(values, view->rows, &least, &range)) {
			rc = number_dense(values, view->rows, least, range, order, err);
			*ret_done = rc == NP_OK;
		}
		order->values = VIEW_NUMBERS;
	}
	free(values);
	return rc;
}

static int fill_order(const struct adv_view *view, size_t column, struct adv_view_order *order,
		      struct np_err *err)
{
	bool done;
	int rc = number_whole(view, column, order, &done, err);

	if (rc == NP_OK && !done && !number_ascending(view, column, order))
		rc = number_rows(view, column, order, err);
	if (rc < 0)
		return rc;
	order->first = malloc((order->codes + 2) * sizeof(*order->first));
	if (!order->first)
		return np_fail_nomem(err, "an order");
	place_rows(order, view->rows);
	return NP_OK;
}

static struct adv_view_order *make_order(const struct adv_view *view, size_t column,
					 struct np_err *err)
{
	struct adv_view_order *order = calloc(1, sizeof(*order));
	int rc;

	if (order) {
		order->row = malloc((view->rows + 1) * sizeof(*order->row));
		order->code = malloc((view->rows + 1) * sizeof(*order->code));
	}
	if (!order || !order->row || !order->code || view->rows >= UINT32_MAX)
		rc = np_fail_nomem(err, "an order");
	else
		rc = fill_order(view, column, order, err);
	if (rc == NP_OK)
		return order;
	free_order(order);
	return NULL;
}

const struct adv_view_order *adv_view_order_there(const struct adv_view *view, size_t column)
{
	return view->orders ? view->orders[column] : NULL;
}

int adv_view_order(struct adv_view *view, size_t column, const struct adv_view_order **ret,
		   struct np_err *err)
{
	if (!view->orders)
		view->orders = calloc(view->column_count + 1, sizeof(*view->orders));
	if (!view->orders)
		return np_fail_nomem(err, "an order");
	if (!view->orders[column])
		view->orders[column] = make_order(view, column, err);
	*ret = view->orders[column];
	return *ret ? NP_OK : NP_E_NOMEM;
}

struct np_cell adv_view_order_value(const struct adv_view *view, size_t column,
				    const struct adv_view_order *order, uint32_t code)
{
	return view->cell(view, order->row[order->first[code]], column);
}

uint32_t adv_view_order_search(const struct adv_view *view, size_t column,
			       const struct adv_view_order *order, const struct np_cell *value,
			       bool after)
{
	uint32_t low = 0;
	uint32_t count = order->codes;

	while (count > 0) {
		uint32_t half = count / 2;
		struct np_cell here = adv_view_order_value(view, column, order, low + half);
		int side = adv_cell_compare(&here, value);

		if (side < 0 || (after && side == 0)) {
			low += half + 1;
			count -= half + 1;
		} else {
			count = half;
		}
	}
	return low;
}

int adv_view_order_sort(const struct adv_view_order *order, uint32_t *rows, size_t count,
			struct np_err *err)
{
	uint32_t *places;
	uint32_t *from;
	uint32_t sum = 0;

	if (order->codes <= 1 || count <= 1)
		return NP_OK;
	places = calloc((size_t)order->codes + 1, sizeof(*places));
	from = malloc(count * sizeof(*from));
	if (!places || !from) {
		free(places);
		free(from);
		return np_fail_nomem(err, "an order");
	}
	memcpy(from, rows, count * sizeof(*from));
	for (size_t i = 0; i < count; i++)
		places[order->code[from[i]]]++;
	for (uint32_t c = 0; c < order->codes; c++) {
		uint32_t here = places[c];

		places[c] = sum;
		sum += here;
	}
	for (size_t i = 0; i < count; i++)
		rows[places[order->code[from[i]]]++] = from[i];
	free(places);
	free(from);
	return NP_OK;
}
