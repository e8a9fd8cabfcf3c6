/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Durations of communication operators: by type over all ranks and by rank, the
 * longest operators, and what the numbers in operators' names stand for.
 */
#include "registry.h"

#include "cluster/modes/common/grouping.h"

#define MODE "hccl_sum"

/* Operators by type (one rank), or by communicator and name (all ranks). */
static int take_types(const struct np_rank *rank, struct grouping *types, struct np_err *err)
{
	for (size_t i = 0; i < rank->ops.count; i++) {
		const struct np_comm_op *op = &rank->ops.item[i];
		struct value_group *group = grouping_find(types, &op->type, err);

		if (!group || samples_add(&group->samples, op->end - op->start, err) < 0)
			return NP_E_NOMEM;
	}
	return NP_OK;
}

static const struct np_column all_columns[] = {
	{ "OpType", NP_TEXT },
	DESCRIBE_COLUMNS,
};

static const struct np_column rank_columns[] = {
	{ "OpType", NP_TEXT },
	DESCRIBE_COLUMNS,
	{ "Rank", NP_INTEGER },
};

/* Rows of one grouping by type; with `rank`, its id in the last column. */
static int put_types(struct np_modes *modes, struct np_mode_table *table, struct grouping *types,
		     const int32_t *rank, struct np_err *err)
{
	uint32_t *order = grouping_by_key(modes, types, err);
	int rc = order ? NP_OK : NP_E_NOMEM;

	for (size_t i = 0; i < types->list.count && rc == NP_OK; i++) {
		struct value_group *group = &types->list.item[order[i]];
		struct summary summary = samples_describe(&group->samples);
		struct np_cell cells[NP_COUNT(rank_columns)] = {
			mode_name_cell(modes, group->key[0]),
		};

		describe_cells(&summary, &cells[1]);
		if (rank)
			cells[1 + DESCRIBE_CELLS] = np_cell_integer(*rank);
		rc = mode_row(modes, table, cells, err);
	}
	free(order);
	return rc;
}

static int put_all(struct np_modes *modes, struct np_err *err)
{
	struct np_mode_table *table = MODE_TABLE(
		modes, MODE, "HcclAllRankStats",
		"durations of communication operators by type, over all ranks", all_columns, err);
	struct grouping types = { .parts = 1 };
	int rc = NP_OK;

	if (!table)
		return NP_E_NOMEM;
	for (size_t i = 0; i < modes->run->sources.count && rc == NP_OK; i++) {
		if (modes->run->ranks[i])
			rc = take_types(modes->run->ranks[i], &types, err);
	}
	if (rc == NP_OK)
		rc = put_types(modes, table, &types, NULL, err);
	grouping_release(&types);
	return rc;
}

static int put_ranks(struct np_modes *modes, struct np_err *err)
{
	struct np_mode_table *table = MODE_TABLE(
		modes, MODE, "HcclPerRankStats",
		"durations of communication operators by rank and type", rank_columns, err);
	int rc = table ? NP_OK : NP_E_NOMEM;

	for (size_t i = 0; i < modes->run->sources.count && rc == NP_OK; i++) {
		struct grouping types = { .parts = 1 };

		if (!modes->run->ranks[i])
			continue;
		rc = take_types(modes->run->ranks[i], &types, err);
		if (rc == NP_OK)
			rc = put_types(modes, table, &types, &modes->run->ranks[i]->id, err);
		grouping_release(&types);
	}
	return rc;
}

/* --- the longest operators ------------------------------------------------------------------- */

static const struct np_column top_columns[] = {
	{ "OpName", NP_TEXT },
	DESCRIBE_COLUMNS,
	{ "MinRank", NP_INTEGER },
	{ "MaxRank", NP_INTEGER },
};

/* Names are unique within a communicator only: its hash is part of the key. */
static int take_names(struct np_modes *modes, const struct np_rank *rank, struct grouping *names,
		      struct np_err *err)
{
	for (size_t i = 0; i < rank->ops.count; i++) {
		const struct np_comm_op *op = &rank->ops.item[i];
		np_str key[2] = { op->name };
		struct value_group *group;
		char hash[24];

		(void)snprintf(hash, sizeof(hash), "%llu",
			       (unsigned long long)rank->groups.item[op->group].hash);
		if (np_strtab_add(modes->run->strings, hash, strlen(hash), &key[1], err) < 0)
			return NP_E_NOMEM;
		group = grouping_find(names, key, err);
		if (!group || group_add(group, op->end - op->start, rank->id, err) < 0)
			return NP_E_NOMEM;
	}
	return NP_OK;
}

struct by_mean {
	const struct np_modes *modes;
	const struct grouping *names;
};

static double mean_of(const struct value_group *group)
{
	return (double)group->samples.sum / (double)group->samples.count;
}

static int by_mean(const void *left, const void *right, void *context)
{
	const struct by_mean *order = context;
	const struct value_group *a = &order->names->list.item[*(const uint32_t *)left];
	const struct value_group *b = &order->names->list.item[*(const uint32_t *)right];
	int difference;

	if (mean_of(a) != mean_of(b))
		return mean_of(a) > mean_of(b) ? -1 : 1;
	difference = strcmp(mode_name(order->modes, a->key[0]), mode_name(order->modes, b->key[0]));
	return difference ? difference
			  : strcmp(mode_name(order->modes, a->key[1]),
				   mode_name(order->modes, b->key[1]));
}

static int put_names(struct np_modes *modes, struct np_mode_table *table, struct grouping *names,
		     struct np_err *err)
{
	struct by_mean context = { modes, names };
	uint32_t *order = grouping_by_key(modes, names, err);
	size_t top = mode_top(modes, 15);
	int rc = order ? NP_OK : NP_E_NOMEM;

	if (order && names->list.count)
		qsort_r(order, names->list.count, sizeof(*order), by_mean, &context);
	for (size_t i = 0; i < names->list.count && i < top && rc == NP_OK; i++) {
		struct value_group *group = &names->list.item[order[i]];
		struct summary summary = samples_describe(&group->samples);
		struct np_cell cells[NP_COUNT(top_columns)] = {
			mode_name_cell(modes, group->key[0]),
		};

		describe_cells(&summary, &cells[1]);
		cells[1 + DESCRIBE_CELLS] = np_cell_integer(group->least_of);
		cells[2 + DESCRIBE_CELLS] = np_cell_integer(group->most_of);
		rc = mode_row(modes, table, cells, err);
	}
	free(order);
	return rc;
}

static int put_top(struct np_modes *modes, struct np_err *err)
{
	struct np_mode_table *table =
		MODE_TABLE(modes, MODE, "HcclTopOpStats",
			   "the communication operators with the longest mean", top_columns, err);
	struct grouping names = { .parts = 2 };
	int rc = NP_OK;

	if (!table)
		return NP_E_NOMEM;
	for (size_t i = 0; i < modes->run->sources.count && rc == NP_OK; i++) {
		if (modes->run->ranks[i])
			rc = take_names(modes, modes->run->ranks[i], &names, err);
	}
	if (rc == NP_OK)
		rc = put_names(modes, table, &names, err);
	grouping_release(&names);
	return rc;
}

/* --- communicators --------------------------------------------------------------------------- */

static const struct np_column map_columns[] = {
	{ "GroupName", NP_TEXT },
	{ "GroupId", NP_TEXT },
	{ "Ranks", NP_TEXT },
};

static int by_group_id(const void *left, const void *right)
{
	const struct np_communicator *a = *(const struct np_communicator *const *)left;
	const struct np_communicator *b = *(const struct np_communicator *const *)right;

	if (a->hash % 1000 != b->hash % 1000)
		return np_order((int64_t)(a->hash % 1000), (int64_t)(b->hash % 1000));
	return (a->hash > b->hash) - (a->hash < b->hash);
}

static int put_communicator(struct np_modes *modes, struct np_mode_table *table,
			    const struct np_communicator *communicator, struct np_err *err)
{
	NP_CLEANUP(np_buf_release) struct np_buf ranks = NP_BUF_INIT;
	const char *name = np_run_text(modes->run, communicator->name);
	char hash[24];
	char id[8];
	struct np_cell cells[NP_COUNT(map_columns)];

	(void)snprintf(hash, sizeof(hash), "%llu", (unsigned long long)communicator->hash);
	(void)snprintf(id, sizeof(id), "%03llu", (unsigned long long)(communicator->hash % 1000));
	for (size_t i = 0; i < communicator->observed_count; i++)
		np_buf_printf(&ranks, "%s%d", i ? ";" : "", communicator->observed[i]);
	cells[0] = np_cell_text(name ? name : hash);
	cells[1] = np_cell_text(id);
	cells[2] = np_cell_text(ranks.text);
	return mode_row(modes, table, cells, err);
}

static int put_map(struct np_modes *modes, struct np_err *err)
{
	struct np_mode_table *table = MODE_TABLE(
		modes, MODE, "HcclGroupNameMap",
		"communicators by the number in the names of their operators", map_columns, err);
	size_t count = modes->cluster->communicators.count;
	const struct np_communicator **order = malloc((count + 1) * sizeof(const void *));
	int rc = table && order ? NP_OK : np_fail_nomem(err, "communicators");

	for (size_t i = 0; i < count && rc == NP_OK; i++)
		order[i] = &modes->cluster->communicators.item[i];
	if (rc == NP_OK && count)
		qsort(order, count, sizeof(const void *), by_group_id);
	for (size_t i = 0; i < count && rc == NP_OK; i++) {
		/* A communicator of sends and of collectives is listed for both. */
		if (order[i]->observed_count > 0 &&
		    (i == 0 || order[i]->hash != order[i - 1]->hash))
			rc = put_communicator(modes, table, order[i], err);
	}
	free(order);
	return rc;
}

static int merge(struct np_modes *modes, const void *prepared, void *const *ranks,
		 struct np_err *err)
{
	int rc = put_all(modes, err);

	(void)prepared;
	(void)ranks;
	if (rc == NP_OK)
		rc = put_ranks(modes, err);
	if (rc == NP_OK)
		rc = put_top(modes, err);
	return rc < 0 ? rc : put_map(modes, err);
}

const struct mode mode_hccl_sum = {
	.name = MODE,
	.summary = "durations of communication operators by type, rank and name",
	.model = MODE_OF_OPERATORS,
	.needs = NP_DETAIL_OPS,
	.merge = merge,
};
