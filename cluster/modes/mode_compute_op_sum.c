/* SPDX-License-Identifier: Apache-2.0 */
#include "mode.h"

/* Durations of kernels by type, and by name and shape. */
#define MODE "compute_op_sum"

/* What is kept of a rank. */
struct kernels {
	struct grouping types; /* type, core */
	struct grouping names; /* name, type, core, input shapes */
};

static void release(void *result)
{
	struct kernels *kernels = result;

	grouping_release(&kernels->types);
	grouping_release(&kernels->names);
	free(kernels);
}

static int take(struct mode_rank *rank, struct kernels *kernels, const struct np_kernel *kernel)
{
	np_str key[GROUP_PARTS] = { 0 };
	struct group *group;
	int rc = mode_text(rank, kernel->name, &key[0]);

	if (rc == NP_OK)
		rc = mode_text(rank, kernel->type, &key[1]);
	if (rc == NP_OK)
		rc = mode_text(rank, kernel->core, &key[2]);
	if (rc == NP_OK)
		rc = mode_text(rank, kernel->in_shapes, &key[3]);
	if (rc < 0)
		return rc;
	group = grouping_find(&kernels->types, &key[1], rank->err);
	if (!group || samples_add(&group->samples, kernel->end - kernel->start, rank->err) < 0)
		return NP_E_NOMEM;
	if (rank->modes->options.exclude_op_name)
		return NP_OK;
	group = grouping_find(&kernels->names, key, rank->err);
	return group ? samples_add(&group->samples, kernel->end - kernel->start, rank->err)
		     : NP_E_NOMEM;
}

static int reduce(struct mode_rank *rank, const void *prepared, void **ret)
{
	struct kernels *kernels = calloc(1, sizeof(*kernels));
	int rc;

	(void)prepared;
	if (!kernels)
		return np_fail_nomem(rank->err, MODE);
	*ret = kernels;
	rc = grouping_init(&kernels->types, 2, rank->err);
	if (rc == NP_OK)
		rc = grouping_init(&kernels->names, 4, rank->err);
	for (size_t i = 0; i < rank->detail->kernels.count && rc == NP_OK; i++) {
		const struct np_kernel *kernel = &rank->detail->kernels.item[i];

		/* What carries out a collective is no computing. */
		if (!kernel->schedule && mode_takes(rank, kernel->step))
			rc = take(rank, kernels, kernel);
	}
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

static int put_group(struct np_modes *modes, struct np_mode_table *table, const np_str *key,
		     size_t parts, struct samples *samples, const int32_t *rank, struct np_err *err)
{
	struct summary summary = samples_describe(samples);
	struct np_cell cells[NP_COUNT(name_columns)];

	for (size_t i = 0; i < parts; i++)
		cells[i] = mode_name_cell(modes, key[i]);
	describe_cells(&summary, &cells[parts]);
	if (rank)
		cells[parts + DESCRIBE_CELLS] = np_cell_integer(*rank);
	return mode_row(modes, table, cells, err);
}

/* Rows of a rank, the longest sum first. */
static int put(struct np_modes *modes, struct np_mode_table *table, struct grouping *grouping,
	       int32_t rank, struct np_err *err)
{
	uint32_t *order = grouping_by_sum(modes, grouping, err);
	int rc = order ? NP_OK : NP_E_NOMEM;

	for (size_t i = 0; i < grouping->list.count && rc == NP_OK; i++) {
		struct group *group = &grouping->list.item[order[i]];

		rc = put_group(modes, table, group->key, grouping->parts, &group->samples, &rank,
			       err);
	}
	free(order);
	return rc;
}

static int put_pooled(struct np_modes *modes, struct np_mode_table *table,
		      struct grouping *const *list, struct np_err *err)
{
	size_t count = modes->run->sources.count;
	struct grouping all;
	uint32_t *order = NULL;
	int rc = grouping_init(&all, 2, err);

	if (rc == NP_OK)
		rc = grouping_unite(&all, list, count, err);
	if (rc == NP_OK) {
		order = grouping_by_sum(modes, &all, err);
		rc = order ? NP_OK : NP_E_NOMEM;
	}
	for (size_t i = 0; i < all.list.count && rc == NP_OK; i++) {
		const struct group *group = &all.list.item[order[i]];
		struct samples samples = { 0 };

		rc = grouping_pool(list, count, group->key, &samples, err);
		if (rc == NP_OK)
			rc = put_group(modes, table, group->key, 2, &samples, NULL, err);
		samples_release(&samples);
	}
	free(order);
	grouping_release(&all);
	return rc;
}

static int put_all(struct np_modes *modes, struct np_mode_table *table, void *const *ranks,
		   struct np_err *err)
{
	size_t count = modes->run->sources.count;
	struct grouping **list = calloc(count + 1, sizeof(*list));
	int rc;

	if (!list)
		return np_fail_nomem(err, MODE);
	for (size_t i = 0; i < count; i++)
		list[i] = ranks[i] ? &((struct kernels *)ranks[i])->types : NULL;
	rc = put_pooled(modes, table, list, err);
	free(list);
	return rc;
}

static int merge(struct np_modes *modes, const void *prepared, void *const *ranks,
		 struct np_err *err)
{
	struct np_mode_table *all =
		MODE_TABLE(modes, MODE, "ComputeOpAllRankStats",
			   "durations of kernels by type, over all ranks", all_columns, err);
	struct np_mode_table *types =
		MODE_TABLE(modes, MODE, "ComputeOpPerRankStatsByOpType",
			   "durations of kernels by rank and type", type_columns, err);
	struct np_mode_table *names = NULL;
	int rc = all && types ? put_all(modes, all, ranks, err) : NP_E_NOMEM;

	(void)prepared;
	if (rc == NP_OK && !modes->options.exclude_op_name) {
		names = MODE_TABLE(modes, MODE, "ComputeOpPerRankStatsByOpName",
				   "durations of kernels by rank, name and shape of inputs",
				   name_columns, err);
		rc = names ? NP_OK : NP_E_NOMEM;
	}
	for (size_t i = 0; i < modes->run->sources.count && rc == NP_OK; i++) {
		struct kernels *kernels = ranks[i];

		if (!kernels)
			continue;
		rc = put(modes, types, &kernels->types, mode_rank_id(modes, i), err);
		if (rc == NP_OK && names)
			rc = put(modes, names, &kernels->names, mode_rank_id(modes, i), err);
	}
	return rc;
}

const struct mode mode_compute_op_sum = {
	.name = MODE,
	.summary = "durations of kernels by type, rank, name and shape",
	.wants = NP_DETAIL_KERNELS,
	.needs = NP_DETAIL_KERNELS,
	.reduce = reduce,
	.merge = merge,
	.release = release,
};
