/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Views over all ranks. The tables of the merged result are produced when a rule
 * first reads them, and kept; views of the ranks' summaries are put one behind
 * the other without copying.
 */
#include "views.h"

#include "npuprof/run.h"

#include <stdlib.h>
#include <string.h>

/* A relation that becomes rows when it is read. */
struct collector {
	struct np_sink base;
	struct adv_rows *rows;
};

static int collect_begin(struct np_sink *sink, const struct np_relation *relation,
			 struct np_err *err)
{
	(void)sink;
	(void)relation;
	(void)err;
	return NP_OK;
}

static int collect_row(struct np_sink *sink, const struct np_cell *cells, struct np_err *err)
{
	return adv_rows_add(((struct collector *)sink)->rows, cells, err);
}

static int collect_end(struct np_sink *sink, struct np_err *err)
{
	(void)sink;
	(void)err;
	return NP_OK;
}

struct table_view {
	const struct np_relation *relation;
	const struct np_analysis *analysis;
	const char *merged; /* the rows are in this database; NULL: they are produced */
	view_table_reader *read_merged;
	struct adv_rows rows;
};

static int open_table(struct adv_view *view, struct np_err *err)
{
	struct table_view *table = view->state;
	struct collector sink = { .base = { collect_begin, collect_row, collect_end },
				  .rows = &table->rows };
	const char *names[64];
	enum np_column_type types[64];
	int rc;

	for (size_t i = 0; i < view->column_count; i++) {
		names[i] = view->columns[i].name;
		types[i] = view->columns[i].type;
	}
	rc = adv_rows_init(&table->rows, names, types, view->column_count, err);
	if (rc == NP_OK && table->merged) {
		rc = table->read_merged(table->merged, table->relation->name, &table->rows, err);
		if (rc == NP_E_NOTFOUND)
			rc = NP_OK; /* a table that this run does not have */
	} else if (rc == NP_OK) {
		rc = np_relation_write(table->relation, table->analysis, &sink.base, err);
	}
	if (rc < 0)
		adv_rows_release(&table->rows); /* it may be opened again */
	view->rows = rc < 0 ? 0 : adv_rows_count(&table->rows);
	return rc;
}

static void close_table(struct adv_view *view)
{
	struct table_view *table = view->state;

	if (table)
		adv_rows_release(&table->rows);
	free(table);
}

static struct np_cell table_cell(const struct adv_view *view, size_t row, size_t column)
{
	return *adv_rows_cell(&((const struct table_view *)view->state)->rows, row, column);
}

static int add_table(struct adv_view_set *set, const struct np_relation *relation,
		     const struct adv_view_cluster *source, bool base, struct np_err *err)
{
	struct table_view *table = calloc(1, sizeof(*table));
	struct adv_view_description what = { .data = NP_DATA_ANY };
	struct adv_view view = { .name = relation->name,
				 .columns = relation->columns,
				 .column_count = relation->column_count,
				 .present = source->merged ||
					    np_cluster_relation_applies(relation, source->analysis),
				 .open = open_table,
				 .close = close_table,
				 .cell = table_cell,
				 .state = table };

	if (!table || relation->column_count > 64) {
		free(table);
		return np_fail_nomem(err, relation->name);
	}
	if (adv_view_describe(relation->name, &what))
		view.present =
			view.present && np_run_has(source->analysis->cluster->run, what.data);
	table->relation = relation;
	table->analysis = source->analysis;
	table->merged = source->merged;
	table->read_merged = source->read_merged;
	return adv_view_set_add(set, view, base, err);
}

/* The same view of every rank, one behind the other. */
struct joined {
	size_t count;
	struct adv_view_rank *sources;
	struct adv_view *parts;
	size_t *first; /* row of each part */
};

static void close_joined(struct adv_view *view)
{
	struct joined *joined = view->state;

	if (!joined)
		return;
	for (size_t i = 0; i < joined->count; i++)
		adv_view_close(&joined->parts[i]);
	free(joined->sources);
	free(joined->parts);
	free(joined->first);
	free(joined);
}

static int open_joined(struct adv_view *view, struct np_err *err)
{
	struct joined *joined = view->state;

	view->rows = 0;
	for (size_t i = 0; i < joined->count; i++) {
		int rc = adv_view_open(&joined->parts[i], err);

		if (rc < 0)
			return rc;
		joined->first[i] = view->rows;
		view->rows += joined->parts[i].rows;
	}
	return NP_OK;
}

/* The part that holds a row: rows are mostly asked for in order, but a search is cheap. */
static size_t part_of(const struct joined *joined, size_t row)
{
	size_t low = 0;
	size_t high = joined->count;

	while (high - low > 1) {
		size_t middle = (low + high) / 2;

		if (joined->first[middle] <= row)
			low = middle;
		else
			high = middle;
	}
	return low;
}

static struct np_cell joined_cell(const struct adv_view *view, size_t row, size_t column)
{
	const struct joined *joined = view->state;
	size_t part = part_of(joined, row);

	return joined->parts[part].cell(&joined->parts[part], row - joined->first[part], column);
}

/* What one rank knows is known. */
static bool joined_known(const struct adv_view *view, size_t column)
{
	const struct joined *joined = view->state;

	for (size_t i = 0; i < joined->count; i++) {
		if (adv_view_knows(&joined->parts[i], column))
			return true;
	}
	return false;
}

static struct joined *new_joined(const struct np_cluster *cluster,
				 const struct adv_view_description *what)
{
	const struct np_run *run = cluster->run;
	size_t room = run->sources.count + 1;
	struct joined *joined = calloc(1, sizeof(*joined));

	if (!joined)
		return NULL;
	joined->sources = calloc(room, sizeof(*joined->sources));
	joined->parts = calloc(room, sizeof(*joined->parts));
	joined->first = calloc(room, sizeof(*joined->first));
	if (!joined->sources || !joined->parts || !joined->first) {
		struct adv_view empty = { .state = joined };

		close_joined(&empty);
		return NULL;
	}
	for (size_t i = 0; i < run->sources.count; i++) {
		if (!run->ranks[i])
			continue;
		joined->sources[joined->count] = (struct adv_view_rank){
			.run = run, .index = i, .rank = run->ranks[i], .cluster = cluster
		};
		adv_view_make(&joined->parts[joined->count], what, &joined->sources[joined->count]);
		joined->count++;
	}
	return joined;
}

static int add_joined(struct adv_view_set *set, const struct np_cluster *cluster,
		      const struct adv_view_description *what, bool base, struct np_err *err)
{
	struct joined *joined = new_joined(cluster, what);
	struct adv_view view = { .name = what->name,
				 .columns = what->columns,
				 .column_count = what->column_count,
				 .open = open_joined,
				 .close = close_joined,
				 .cell = joined_cell,
				 .known = joined_known,
				 .state = joined };

	if (!joined)
		return np_fail_nomem(err, what->name);
	for (size_t i = 0; i < joined->count; i++)
		view.present = view.present || joined->parts[i].present;
	return adv_view_set_add(set, view, base, err);
}

static int add_rows(struct adv_view_set *set, const char *name, const struct adv_rows *rows,
		    bool base, struct np_err *err)
{
	struct adv_view view;

	if (!rows || !rows->columns)
		return NP_OK;
	adv_view_of_rows(&view, name, rows);
	return adv_view_set_add(set, view, base, err);
}

int adv_view_set_add_cluster(struct adv_view_set *set, const struct adv_view_cluster *source,
			     bool base, struct np_err *err)
{
	const struct np_cluster *cluster = source->analysis->cluster;
	int rc = NP_OK;

	for (size_t i = 0; i < np_cluster_relation_count && rc == NP_OK; i++)
		rc = add_table(set, np_cluster_relations[i], source, base, err);
	if (rc == NP_OK)
		rc = add_joined(set, cluster, &adv_view_step, base, err);
	if (rc == NP_OK)
		rc = add_joined(set, cluster, &adv_view_comm_op, base, err);
	if (rc == NP_OK)
		rc = add_joined(set, cluster, &adv_view_comm_band, base, err);
	if (rc == NP_OK)
		rc = add_joined(set, cluster, &adv_view_counter, base, err);
	if (rc == NP_OK)
		rc = add_rows(set, adv_view_device.name, source->device, base, err);
	if (rc == NP_OK)
		rc = add_rows(set, adv_view_env.name, source->env, base, err);
	if (rc == NP_OK)
		rc = add_rows(set, adv_view_run.name, source->run, base, err);
	return rc;
}
