/* SPDX-License-Identifier: Apache-2.0 */
/* Durations of kernels by type, and by name and shape. */
#include "registry.h"

#include "cluster/modes/common/grouping.h"

#define MODE "compute_op_sum"

/* Keys are name, type, core and input shapes; without names type and core alone. */
#define NAME_PARTS 4
#define TYPE_PARTS 2
#define TYPE       1

static struct key_parts type_parts(const struct np_modes *modes)
{
	return (struct key_parts){ modes->options.exclude_op_name ? 0 : TYPE, TYPE_PARTS };
}

/* The kernels of one rank. */
struct op_sum_kernels {
	struct grouping names; /* described before those by type */
	struct grouping types; /* a view of the same values */
};

static void release(void *result)
{
	struct op_sum_kernels *kernels = result;

	grouping_release(&kernels->names);
	grouping_release(&kernels->types);
	free(kernels);
}

static int take_kernels(struct mode_rank *rank, struct grouping *kernels,
			struct grouping_rows *rows, uint32_t *near)
{
	const struct np_detail *detail = rank->detail;
	size_t first = rank->modes->options.exclude_op_name ? TYPE : 0;

	for (size_t i = 0; i < detail->kernels.count; i++) {
		const struct np_kernel *kernel = &detail->kernels.item[i];
		const np_str key[NAME_PARTS] = { kernel->name, kernel->type, kernel->core,
						 kernel->in_shapes };
		struct value_group *group;

		/* What carries out a collective is no computing. */
		if (kernel->schedule || !mode_takes(rank, kernel->step))
			continue;
		group = grouping_find_near(kernels, &key[first], near, rank->err);
		if (!group)
			return NP_E_NOMEM;
		grouping_rows_add(rows, kernels, group, kernel->end - kernel->start);
	}
	return grouping_fill(rank, kernels, type_parts(rank->modes), rows);
}

static int describe(struct mode_rank *rank, struct op_sum_kernels *kernels)
{
	int rc = grouping_describe(&kernels->names, rank->err);

	if (rc == NP_OK)
		rc = grouping_view(&kernels->names, type_parts(rank->modes), &kernels->types,
				   rank->err);
	return rc < 0 ? rc : grouping_describe(&kernels->types, rank->err);
}

static int reduce(struct mode_rank *rank, const void *prepared, void **ret)
{
	struct op_sum_kernels *kernels = calloc(1, sizeof(*kernels));
	struct grouping_rows rows = { 0 };
	uint32_t *near;
	int rc;

	(void)prepared;
	if (!kernels)
		return np_fail_nomem(rank->err, MODE);
	*ret = kernels;
	kernels->names.parts = rank->modes->options.exclude_op_name ? TYPE_PARTS : NAME_PARTS;
	near = grouping_near(rank);
	rc = near ? grouping_rows_init(&rows, rank->detail->kernels.count, rank->err) : NP_E_NOMEM;
	if (rc == NP_OK)
		rc = take_kernels(rank, &kernels->names, &rows, near);
	if (rc == NP_OK)
		rc = describe(rank, kernels);
	free(near);
	grouping_rows_release(&rows);
	return rc;
}

/* --- tables ---------------------------------------------------------------------------------- */

static const struct np_column all_columns[] = {
	{ "OpType", NP_TEXT },
	{ "TaskType", NP_TEXT },
	DESCRIBE_COLUMNS,
};

static const struct np_column type_columns[] = {
	{ "OpType", NP_TEXT },
	{ "TaskType", NP_TEXT },
	DESCRIBE_COLUMNS,
	{ "Rank", NP_INTEGER },
};

static const struct np_column name_columns[] = {
	{ "OpName", NP_TEXT },      { "OpType", NP_TEXT }, { "TaskType", NP_TEXT },
	{ "InputShapes", NP_TEXT }, DESCRIBE_COLUMNS,      { "Rank", NP_INTEGER },
};

/* Where rows go; behind those of one rank stands its id. */
struct op_sum_put {
	struct np_modes *modes;
	struct np_mode_table *table;
	size_t parts;
	const int32_t *rank; /* NULL for all ranks */
};

static int put_group(void *context, const np_str *key, const struct summary *summary,
		     struct np_err *err)
{
	const struct op_sum_put *put = context;
	struct np_cell cells[NP_COUNT(name_columns)];

	for (size_t i = 0; i < put->parts; i++)
		cells[i] = mode_name_cell(put->modes, key[i]);
	describe_cells(summary, &cells[put->parts]);
	if (put->rank)
		cells[put->parts + DESCRIBE_CELLS] = np_cell_integer(*put->rank);
	return mode_row(put->modes, put->table, cells, err);
}

struct tables {
	struct np_mode_table *all;
	struct np_mode_table *types;
	struct np_mode_table *names; /* NULL if not wanted */
};

static int make_tables(struct np_modes *modes, struct tables *ret, struct np_err *err)
{
	ret->all = MODE_TABLE(modes, MODE, "ComputeOpAllRankStats",
			      "durations of kernels by type, over all ranks", all_columns, err);
	ret->types = MODE_TABLE(modes, MODE, "ComputeOpPerRankStatsByOpType",
				"durations of kernels by rank and type", type_columns, err);
	ret->names = NULL;
	if (!modes->options.exclude_op_name)
		ret->names = MODE_TABLE(modes, MODE, "ComputeOpPerRankStatsByOpName",
					"durations of kernels by rank, name and shape of inputs",
					name_columns, err);
	return ret->all && ret->types && (ret->names || modes->options.exclude_op_name)
		       ? NP_OK
		       : NP_E_NOMEM;
}

static int put_rank(struct np_modes *modes, const struct tables *tables, size_t index,
		    const struct op_sum_kernels *kernels, struct np_err *err)
{
	int32_t rank = mode_rank_id(modes, index);
	struct op_sum_put names = { modes, tables->names, NAME_PARTS, &rank };
	struct op_sum_put types = { modes, tables->types, TYPE_PARTS, &rank };
	int rc = NP_OK;

	if (tables->names)
		rc = grouping_each(modes, &kernels->names, put_group, &names, err);
	return rc < 0 ? rc : grouping_each(modes, &kernels->types, put_group, &types, err);
}

static int merge(struct np_modes *modes, const void *prepared, void *const *ranks,
		 struct np_err *err)
{
	size_t count = modes->run->sources.count;
	/* An array of pointers is meant. NOLINTNEXTLINE(bugprone-sizeof-expression) */
	struct grouping **types = calloc(count + 1, sizeof(*types));
	struct tables tables = { 0 };
	struct op_sum_put put = { modes, NULL, TYPE_PARTS, NULL };
	int rc = types ? make_tables(modes, &tables, err) : np_fail_nomem(err, MODE);

	(void)prepared;
	for (size_t i = 0; i < count && rc == NP_OK; i++) {
		struct op_sum_kernels *kernels = ranks[i];

		if (!kernels)
			continue;
		types[i] = &kernels->types;
		rc = put_rank(modes, &tables, i, kernels, err);
	}
	if (rc == NP_OK) {
		put.table = tables.all;
		rc = grouping_each_pooled(modes, types, count, TYPE_PARTS, put_group, &put, err);
	}
	free(types);
	return rc;
}

const struct mode mode_compute_op_sum = {
	.name = MODE,
	.summary = "durations of kernels by type, rank, name and shape",
	.model = MODE_OF_OPERATORS,
	.wants = NP_DETAIL_KERNELS,
	.needs = NP_DETAIL_KERNELS,
	.reduce = reduce,
	.merge = merge,
	.release = release,
};
