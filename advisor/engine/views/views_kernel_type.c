/* SPDX-License-Identifier: Apache-2.0 */
/* The view of kernels by their type: what they took, how busy units were, what they did. */
#include "views.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "npuprof/hash.h"
#include "npuprof/map.h"

#include "advisor/engine/data/shapes.h"

#include "view_bulk.h"

#define UNITS NP_COUNT(adv_view_unit_ratios)

static const struct np_column type_columns[] = {
	{ "rank", NP_INTEGER },
	{ "kind", NP_TEXT },
	{ "core", NP_TEXT },
	{ "name", NP_TEXT },
	{ "n", NP_INTEGER },
	{ "dur_ns", NP_INTEGER },
	{ "device_ns", NP_INTEGER },
	{ "device_step_ns", NP_INTEGER },
	{ "ops_per_ns", NP_REAL },
	{ "rated_ops_per_ns", NP_REAL },
	{ "bytes_per_ns", NP_REAL },
	{ "aic_vec_ratio", NP_REAL },
	{ "aiv_vec_ratio", NP_REAL },
	{ "aic_mac_ratio", NP_REAL },
	{ "aic_scalar_ratio", NP_REAL },
	{ "aiv_scalar_ratio", NP_REAL },
	{ "aic_mte1_ratio", NP_REAL },
	{ "aiv_mte1_ratio", NP_REAL },
	{ "aic_mte2_ratio", NP_REAL },
	{ "aiv_mte2_ratio", NP_REAL },
	{ "aic_mte3_ratio", NP_REAL },
	{ "aiv_mte3_ratio", NP_REAL },
	{ "aic_fixpipe_ratio", NP_REAL },
};

#define UNIT_COLUMNS (NP_COUNT(type_columns) - UNITS)

/* --- columns of the groups ------------------------------------------------------------------- */

enum kernel_type_numbers {
	GROUP_RANK,
	GROUP_COUNT,
	GROUP_TIME,
	GROUP_IN_STEP,
	GROUP_NUMBERS,
};

enum kernel_type_texts {
	GROUP_NAME,
	GROUP_TYPE,
	GROUP_CORE,
	GROUP_IN_SHAPES,
	GROUP_IN_TYPES,
	GROUP_IN_FORMATS,
	GROUP_OUT_SHAPES,
	GROUP_OUT_TYPES,
	GROUP_TEXTS,
};

struct group_columns {
	struct adv_view *view;
	int64_t *number[GROUP_NUMBERS]; /* NP_UNKNOWN where there is none */
	size_t text[GROUP_TEXTS];       /* columns */
	struct adv_view_ids ids[GROUP_TEXTS];
	bool has_ids[GROUP_TEXTS];
	size_t unit[UNITS]; /* columns; SIZE_MAX if no group has a value */
};

static void group_columns_release(struct group_columns *columns)
{
	for (size_t i = 0; i < GROUP_NUMBERS; i++)
		free(columns->number[i]);
}

static void read_numbers(const struct adv_view *view, size_t column, int64_t *ret)
{
	if (adv_view_numbers(view, column, NULL, view->rows, ret))
		return;
	for (size_t row = 0; row < view->rows; row++) {
		struct np_cell cell = view->cell(view, row, column);

		ret[row] = cell.type == NP_CELL_INTEGER ? cell.integer
			   : cell.type == NP_CELL_REAL  ? llround(cell.real)
							: NP_UNKNOWN;
	}
}

static int read_columns(struct adv_view *view, struct group_columns *ret, struct np_err *err)
{
	static const char *const numbers[GROUP_NUMBERS] = { "rank", "n", "dur_ns", "in_step" };
	static const char *const texts[GROUP_TEXTS] = { "name",       "op_type",   "core",
							"in_shapes",  "in_dtypes", "in_formats",
							"out_shapes", "out_dtypes" };

	ret->view = view;
	for (size_t i = 0; i < GROUP_NUMBERS; i++) {
		ret->number[i] = malloc((view->rows + 1) * sizeof(**ret->number));
		if (!ret->number[i])
			return np_fail_nomem(err, "kernels");
		read_numbers(view, adv_view_column(view, numbers[i]), ret->number[i]);
	}
	for (size_t i = 0; i < GROUP_TEXTS; i++) {
		ret->text[i] = adv_view_column(view, texts[i]);
		ret->has_ids[i] = adv_view_text_ids(view, ret->text[i], &ret->ids[i]);
	}
	for (size_t i = 0; i < UNITS; i++) {
		size_t column = adv_view_column(view, adv_view_unit_ratios[i]);

		ret->unit[i] = adv_view_knows(view, column) ? column : SIZE_MAX;
	}
	return NP_OK;
}

static struct adv_text text_at(const struct group_columns *columns, enum kernel_type_texts which,
			       size_t row)
{
	struct np_cell cell;

	if (columns->has_ids[which]) {
		const struct adv_view_ids *ids = &columns->ids[which];
		np_str id = adv_view_id(ids, row);

		return id == NP_STR_NONE ? (struct adv_text){ NULL, 0 }
					 : (struct adv_text){ np_strtab_text(ids->texts, id),
							      np_strtab_length(ids->texts, id) };
	}
	cell = columns->view->cell(columns->view, row, columns->text[which]);
	return cell.type == NP_CELL_TEXT ? (struct adv_text){ cell.text.bytes, cell.text.length }
					 : (struct adv_text){ NULL, 0 };
}

/* --- types ----------------------------------------------------------------------------------- */

/* A mean that is weighted by time: of what is known only. */
struct weighted {
	double sum;
	int64_t time;
};

struct kernel_type {
	int64_t rank;
	struct adv_text kind;
	struct adv_text core;
	struct adv_text name;
	int64_t count; /* NP_UNKNOWN as long as there is none, as all of these */
	int64_t time;
	int64_t device;
	int64_t device_step;
	struct weighted ops;
	struct weighted rated;
	struct weighted bytes;
	struct weighted unit[UNITS];
};

struct kernel_types {
	NP_VEC(struct kernel_type) list;
	uint32_t last;     /* that was found: groups of one type often follow each other */
	struct np_map map; /* → list */
};

static int compare_texts(struct adv_text a, struct adv_text b)
{
	size_t shorter = a.length < b.length ? a.length : b.length;
	int order;

	if (!a.bytes || !b.bytes)
		return (a.bytes != NULL) - (b.bytes != NULL);
	order = a.bytes == b.bytes ? 0 : memcmp(a.bytes, b.bytes, shorter);
	return order != 0 ? order : np_order((int64_t)a.length, (int64_t)b.length);
}

/* The type that is looked for, and where. */
struct wanted_type {
	const struct kernel_types *types;
	int64_t rank;
	struct adv_text kind;
};

static bool is_type(const void *what, uint32_t value)
{
	const struct wanted_type *wanted = what;
	const struct kernel_type *type = &wanted->types->list.item[value];

	return type->rank == wanted->rank && compare_texts(type->kind, wanted->kind) == 0;
}

static struct kernel_type *add_type(struct kernel_types *types, const struct wanted_type *wanted,
				    uint64_t hash, struct np_err *err)
{
	struct kernel_type *type;

	types->last = (uint32_t)types->list.count;
	if (np_map_add(&types->map, hash, types->last, err) != NP_OK)
		return NULL;
	type = np_vec_add(&types->list, err);
	if (type)
		*type = (struct kernel_type){ .rank = wanted->rank,
					      .kind = wanted->kind,
					      .count = NP_UNKNOWN,
					      .time = NP_UNKNOWN,
					      .device = NP_UNKNOWN,
					      .device_step = NP_UNKNOWN };
	return type;
}

static struct kernel_type *find_type(struct kernel_types *types, int64_t rank, struct adv_text kind,
				     struct np_err *err)
{
	const struct wanted_type wanted = { types, rank, kind };
	uint64_t hash;

	if (types->last < types->list.count && is_type(&wanted, types->last))
		return &types->list.item[types->last];
	hash = np_map_mix((uint64_t)rank, np_hash(NP_HASH_START, kind.bytes, kind.length));
	types->last = np_map_find(&types->map, hash, is_type, &wanted);
	return types->last != NP_MAP_NONE ? &types->list.item[types->last]
					  : add_type(types, &wanted, hash, err);
}

/* Add what is known. */
static void add(int64_t *sum, int64_t what)
{
	if (what != NP_UNKNOWN)
		*sum = *sum == NP_UNKNOWN ? what : np_plus(*sum, what);
}

static void add_weighted(struct weighted *mean, double what, int64_t time)
{
	if (isnan(what))
		return;
	mean->sum += what;
	mean->time += time;
}

static void keep_least(struct adv_text *least, struct adv_text text)
{
	if (text.bytes && (!least->bytes || compare_texts(text, *least) < 0))
		*least = text;
}

/* On a core of the device, and not an operator of communication. */
static bool is_device(struct adv_text core)
{
	static const char *const others[] = { "HCCL", "COMMUNICATION" };

	for (size_t i = 0; core.bytes && i < NP_COUNT(others); i++) {
		if (core.length == strlen(others[i]) &&
		    memcmp(core.bytes, others[i], core.length) == 0)
			return false;
	}
	return true;
}

static void add_work(struct kernel_type *type, const struct group_columns *columns, size_t row,
		     int64_t count, int64_t time)
{
	const struct adv_kernel_shapes shapes = {
		.type = text_at(columns, GROUP_TYPE, row),
		.in_shapes = text_at(columns, GROUP_IN_SHAPES, row),
		.in_types = text_at(columns, GROUP_IN_TYPES, row),
		.in_formats = text_at(columns, GROUP_IN_FORMATS, row),
		.out_shapes = text_at(columns, GROUP_OUT_SHAPES, row),
		.out_types = text_at(columns, GROUP_OUT_TYPES, row),
	};
	double ops = adv_kernel_operations(&shapes);
	int64_t bytes = np_plus(adv_shape_bytes(shapes.in_shapes, shapes.in_types),
				adv_shape_bytes(shapes.out_shapes, shapes.out_types));

	if (count == NP_UNKNOWN || time == NP_UNKNOWN)
		return;
	add_weighted(&type->ops, (double)count * ops, time);
	add_weighted(&type->rated, (double)count * ops / adv_kernel_rate(&shapes), time);
	add_weighted(&type->bytes,
		     bytes == NP_UNKNOWN ? (double)NAN : (double)count * (double)bytes, time);
}

static void add_units(struct kernel_type *type, const struct group_columns *columns, size_t row,
		      int64_t time)
{
	for (size_t i = 0; i < UNITS; i++) {
		struct np_cell cell = np_cell_null();
		double ratio;

		if (columns->unit[i] != SIZE_MAX)
			cell = columns->view->cell(columns->view, row, columns->unit[i]);
		if (time != NP_UNKNOWN && adv_cell_number(&cell, &ratio))
			add_weighted(&type->unit[i], (double)time * ratio, time);
	}
}

static int add_group(struct kernel_types *types, const struct group_columns *columns, size_t row,
		     struct np_err *err)
{
	struct adv_text core = text_at(columns, GROUP_CORE, row);
	struct adv_text name = text_at(columns, GROUP_NAME, row);
	struct adv_text kind = text_at(columns, GROUP_TYPE, row);
	int64_t count = columns->number[GROUP_COUNT][row];
	int64_t time = columns->number[GROUP_TIME][row];
	struct kernel_type *type =
		find_type(types, columns->number[GROUP_RANK][row], kind.bytes ? kind : name, err);

	if (!type)
		return NP_E_NOMEM;
	add(&type->count, count);
	add(&type->time, time);
	keep_least(&type->core, core);
	keep_least(&type->name, name);
	if (is_device(core)) {
		add(&type->device, time);
		if (columns->number[GROUP_IN_STEP][row] == 1)
			add(&type->device_step, time);
	}
	add_work(type, columns, row, count, time);
	add_units(type, columns, row, time);
	return NP_OK;
}

/* --- rows ------------------------------------------------------------------------------------ */

static int by_kind(const void *left, const void *right)
{
	const struct kernel_type *a = left;
	const struct kernel_type *b = right;

	return a->rank != b->rank ? np_order(a->rank, b->rank) : compare_texts(a->kind, b->kind);
}

static struct np_cell text_cell(struct adv_text text)
{
	return text.bytes ? np_cell_bytes(text.bytes, text.length) : np_cell_null();
}

static struct np_cell mean_cell(const struct weighted *mean)
{
	return mean->time > 0 ? np_cell_real(mean->sum / (double)mean->time) : np_cell_null();
}

static int add_row(const struct kernel_type *type, struct adv_rows *rows, struct np_err *err)
{
	struct np_cell cells[NP_COUNT(type_columns)] = {
		np_cell_integer(type->rank),   text_cell(type->kind),
		text_cell(type->core),         text_cell(type->name),
		np_cell_integer(type->count),  np_cell_integer(type->time),
		np_cell_integer(type->device), np_cell_integer(type->device_step),
		mean_cell(&type->ops),         mean_cell(&type->rated),
		mean_cell(&type->bytes),
	};

	for (size_t i = 0; i < UNITS; i++)
		cells[UNIT_COLUMNS + i] = mean_cell(&type->unit[i]);
	return adv_rows_add(rows, cells, err);
}

int adv_view_kernel_types(struct adv_view *groups, struct adv_rows *ret, struct np_err *err)
{
	struct group_columns columns = { .view = groups };
	struct kernel_types types = { .last = 0 };
	int rc = adv_view_open(groups, err);

	if (rc == NP_OK)
		rc = read_columns(groups, &columns, err);
	for (size_t row = 0; rc == NP_OK && row < groups->rows; row++)
		rc = add_group(&types, &columns, row, err);
	if (rc == NP_OK && types.list.count > 0)
		qsort(types.list.item, types.list.count, sizeof(*types.list.item), by_kind);
	for (size_t i = 0; rc == NP_OK && i < types.list.count; i++)
		rc = add_row(&types.list.item[i], ret, err);
	np_map_release(&types.map);
	np_vec_release(&types.list);
	group_columns_release(&columns);
	return rc;
}

/* --- the view -------------------------------------------------------------------------------- */

static void close_types(struct adv_view *view)
{
	struct adv_rows *rows = view->state;

	if (rows)
		adv_rows_release(rows);
	free(rows);
}

static int fill_rows(struct adv_view *view, struct adv_rows *rows, struct np_err *err)
{
	const char *names[NP_COUNT(type_columns)];
	enum np_column_type types[NP_COUNT(type_columns)];
	bool base = strncmp(view->name, VIEW_BASE_PREFIX, strlen(VIEW_BASE_PREFIX)) == 0;
	struct adv_view *groups = adv_view_set_find(
		view->set, base ? VIEW_BASE_PREFIX "kernel_group" : adv_view_kernel_group.name);
	int rc;

	for (size_t i = 0; i < NP_COUNT(type_columns); i++) {
		names[i] = type_columns[i].name;
		types[i] = type_columns[i].type;
	}
	rc = adv_rows_init(rows, names, types, NP_COUNT(type_columns), err);
	return rc == NP_OK && groups ? adv_view_kernel_types(groups, rows, err) : rc;
}

static int open_types(struct adv_view *view, struct np_err *err)
{
	struct adv_rows *rows = calloc(1, sizeof(*rows));
	int rc;

	view->state = rows;
	if (!rows)
		return np_fail_nomem(err, "kernels");
	rc = fill_rows(view, rows, err);
	view->rows = rc == NP_OK ? adv_rows_count(rows) : 0;
	if (rc < 0) {
		close_types(view);
		view->state = NULL; /* it may be opened again */
	}
	return rc;
}

static struct np_cell type_cell(const struct adv_view *view, size_t row, size_t column)
{
	return *adv_rows_cell(view->state, row, column);
}

static bool type_known(const struct adv_view *view, size_t column)
{
	for (size_t row = 0; view->opened && row < view->rows; row++) {
		if (type_cell(view, row, column).type != NP_CELL_NULL)
			return true;
	}
	return !view->opened || view->rows == 0;
}

static void begin_types(struct adv_view *view, const struct adv_view_rank *source)
{
	view->present = (source->detail->has & NP_DETAIL_KERNELS) != 0;
	view->open = open_types;
	view->close = close_types;
	view->cell = type_cell;
	view->known = type_known;
}

const struct adv_view_description adv_view_kernel_type = {
	.name = "v_kernel_type",
	.kernels = true,
	.columns = type_columns,
	.column_count = NP_COUNT(type_columns),
	.begin = begin_types,
	.scope = VIEW_RANK,
	.typical = 50,
	.what = "kernels of one type (kind: their name where there is none) as one row: their "
		"number n, the first core and name, their time, that of those that are no "
		"communication (device_ns, in steps device_step_ns), ratios of the units weighted "
		"by time, and, of what is known, operations, operations by what the data type "
		"allows (INT8 counts half), and bytes of inputs and outputs per ns",
	.cure = "profile the NPU (activities=[ProfilerActivity.NPU]) and export the timeline",
};
