/* SPDX-License-Identifier: Apache-2.0 */
/* The lists of views, and sets of them for a connection. */
#include "views.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "view_fields.h"

static const struct adv_view_description *const catalog[] = {
	&adv_view_step,         &adv_view_kernel,    &adv_view_kernel_group, &adv_view_kernel_type,
	&adv_view_task,         &adv_view_free,      &adv_view_comm_op,      &adv_view_comm_band,
	&adv_view_comm_task,    &adv_view_host_api,  &adv_view_cann_api,     &adv_view_stack,
	&adv_view_kernel_stack, &adv_view_mark,      &adv_view_gc,           &adv_view_freq,
	&adv_view_mem_op,       &adv_view_mem_curve, &adv_view_env,          &adv_view_setting,
	&adv_view_device,       &adv_view_run,       &adv_view_graph_node,   &adv_view_graph_edge,
	&adv_view_counter,
};

/* Of the merged tables: what must have been recorded on a rank for them to say anything. */
static enum np_data data_of_table(const char *name)
{
	static const struct {
		const char *name;
		enum np_data data;
	} tables[] = {
		{ "np_memory", NP_DATA_MEMORY },      { "np_link", NP_DATA_SIZES },
		{ "np_wait", NP_DATA_OPERATORS },     { "np_blame", NP_DATA_OPERATORS },
		{ "np_instance", NP_DATA_OPERATORS }, { "np_comm_step", NP_DATA_OPERATORS },
	};

	for (size_t i = 0; i < NP_COUNT(tables); i++) {
		if (strcmp(tables[i].name, name) == 0)
			return tables[i].data;
	}
	return NP_DATA_ANY;
}

size_t adv_view_catalog_count(void)
{
	return NP_COUNT(catalog) + np_cluster_relation_count;
}

struct adv_view_description adv_view_catalog(size_t index)
{
	const struct np_relation *relation;

	if (index < NP_COUNT(catalog))
		return *catalog[index];
	relation = np_cluster_relations[index - NP_COUNT(catalog)];
	return (struct adv_view_description){ .name = relation->name,
					      .columns = relation->columns,
					      .column_count = relation->column_count,
					      .scope = VIEW_CLUSTER,
					      .data = data_of_table(relation->name),
					      .what = relation->summary };
}

/* "v_base_step" is v_step of the other run, "v_base_np_wait" its np_wait. */
static bool is_called(const char *name, const char *wanted)
{
	size_t prefix = strlen(VIEW_BASE_PREFIX);

	if (strcmp(name, wanted) == 0)
		return true;
	if (strncmp(wanted, VIEW_BASE_PREFIX, prefix) != 0)
		return false;
	wanted += prefix;
	return strcmp(name, wanted) == 0 ||
	       (strncmp(name, "v_", 2) == 0 && strcmp(name + 2, wanted) == 0);
}

bool adv_view_describe(const char *name, struct adv_view_description *ret)
{
	for (size_t i = 0; i < adv_view_catalog_count(); i++) {
		struct adv_view_description one = adv_view_catalog(i);

		if (is_called(one.name, name)) {
			*ret = one;
			return true;
		}
	}
	return false;
}

/* Rows that a view of which nothing is known has in the eyes of plans. */
#define FEW_ROWS 500

struct adv_view_slot adv_view_slot_of(struct adv_view *view)
{
	struct adv_view_description what = { .typical = 0 };

	(void)adv_view_describe(view->name, &what);
	return (struct adv_view_slot){ .name = view->name,
				       .columns = view->columns,
				       .column_count = view->column_count,
				       .typical = what.typical > 0 ? what.typical : FEW_ROWS,
				       .view = view };
}

const char *adv_view_cure(const char *name, const char *column)
{
	static const struct {
		const char *prefix;
		const char *cure;
	} columns[] = {
		{ "aic_", "aic_metrics=PipeUtilization with profiler_level=Level1" },
		{ "aiv_", "aic_metrics=PipeUtilization with profiler_level=Level1" },
		{ "in_", "profiler_level=Level1 (record_shapes=True for the framework's calls)" },
		{ "out_", "profiler_level=Level1" },
		{ "state", "profiler_level=Level1 and text export (OP State)" },
		{ "core", "profiler_level=Level1" },
		{ "op_type", "profiler_level=Level1" },
		{ "block_dim", "profiler_level=Level1" },
		{ "mix_block_dim", "profiler_level=Level1" },
		{ "stack_id", "with_stack=True" },
		{ "transit_ns", "profiler_level=Level1" },
		{ "size_b", "profiler_level=Level1" },
		{ "iteration_ns", "record at least two consecutive steps: schedule(active=…)" },
		{ "between_", "record at least two consecutive steps: schedule(active=…)" },
	};
	struct adv_view_description view = { .name = NULL };

	if (strncmp(name, VIEW_BASE_PREFIX, strlen(VIEW_BASE_PREFIX)) == 0)
		return "give the other run with --base DIR";
	for (size_t i = 0; column && i < NP_COUNT(columns); i++) {
		if (strncmp(column, columns[i].prefix, strlen(columns[i].prefix)) == 0)
			return columns[i].cure;
	}
	if (adv_view_describe(name, &view) && view.cure)
		return view.cure;
	if (view.name && view.data != NP_DATA_ANY)
		return np_data_cure(view.data);
	return "profile with more switches on (see npuprof info)";
}

void adv_view_set_release(struct adv_view_set *set)
{
	for (size_t i = 0; i < set->list.count; i++)
		adv_view_close(&set->list.item[i]);
	for (size_t i = 0; i < set->names.count; i++)
		free(set->names.item[i]);
	for (size_t i = 0; i < set->kept.count; i++) {
		adv_rows_release(set->kept.item[i]);
		free(set->kept.item[i]);
	}
	np_vec_release(&set->list);
	np_vec_release(&set->names);
	np_vec_release(&set->kept);
}

struct adv_view *adv_view_set_find(const struct adv_view_set *set, const char *name)
{
	for (size_t i = 0; i < set->list.count; i++) {
		if (strcmp(set->list.item[i].name, name) == 0)
			return &set->list.item[i];
	}
	return NULL;
}

/* Give the view the name that it has in the other run. */
static int rename_base(struct adv_view_set *set, struct adv_view *view, struct np_err *err)
{
	char **slot = np_vec_add(&set->names, err);
	const char *rest = strncmp(view->name, "v_", 2) == 0 ? view->name + 2 : view->name;

	if (!slot)
		return NP_E_NOMEM;
	if (asprintf(slot, "%s%s", VIEW_BASE_PREFIX, rest) < 0) {
		set->names.count--;
		return np_fail_nomem(err, "a view");
	}
	view->name = *slot;
	return NP_OK;
}

int adv_view_set_add(struct adv_view_set *set, struct adv_view view, bool base, struct np_err *err)
{
	struct adv_view *slot = np_vec_add(&set->list, err);

	if (!slot) {
		adv_view_close(&view);
		return NP_E_NOMEM;
	}
	*slot = view;
	slot->set = set;
	return base ? rename_base(set, slot, err) : NP_OK;
}

/* As many rows as items. */
static int open_items(struct adv_view *view, struct np_err *err)
{
	(void)err;
	view->rows = view->items[0].count;
	return NP_OK;
}

void adv_view_make(struct adv_view *view, const struct adv_view_description *what,
		   const struct adv_view_rank *source)
{
	assert(what->begin);
	*view = (struct adv_view){ .name = what->name,
				   .columns = what->columns,
				   .column_count = what->column_count,
				   .data = source,
				   .open = open_items,
				   .cell = adv_view_field_cell,
				   .fields = what->fields,
				   .field_count = what->field_count };
	what->begin(view, source);
	/* Whether something was recorded is asked where lists of what is there ask it. */
	if (what->data != NP_DATA_ANY)
		view->present = np_rank_has(source->rank, what->data);
	if (what->kernels && source->partial) {
		view->present = false;
		view->why = source->partial;
	}
}

int adv_view_set_add_rank(struct adv_view_set *set, const struct adv_view_rank *source, bool base,
			  struct np_err *err)
{
	int rc = NP_OK;

	for (size_t i = 0; i < NP_COUNT(catalog) && rc == NP_OK; i++) {
		struct adv_view view;

		if (!catalog[i]->begin)
			continue;
		adv_view_make(&view, catalog[i], source);
		rc = adv_view_set_add(set, view, base, err);
	}
	return rc;
}

int adv_view_set_add_rows(struct adv_view_set *set, const char *name, const struct adv_rows *rows,
			  struct np_err *err)
{
	struct adv_view view;

	adv_view_of_rows(&view, name, rows);
	return adv_view_set_add(set, view, false, err);
}

static struct np_cell no_cell(const struct adv_view *view, size_t row, size_t column)
{
	(void)view;
	(void)row;
	(void)column;
	return np_cell_null();
}

static int add_absent(struct adv_view_set *set, const struct adv_view_description *what, bool base,
		      struct np_err *err)
{
	struct adv_view view = { .name = what->name,
				 .columns = what->columns,
				 .column_count = what->column_count,
				 .cell = no_cell };
	int rc = adv_view_set_add(set, view, base, err);

	/* Known only by its new name: drop it if that is there already. */
	if (rc == NP_OK && adv_view_set_find(set, set->list.item[set->list.count - 1].name) !=
				   &set->list.item[set->list.count - 1])
		set->list.count--;
	return rc;
}

int adv_view_set_add_absent(struct adv_view_set *set, unsigned scope, struct np_err *err)
{
	int rc = NP_OK;

	for (size_t i = 0; i < adv_view_catalog_count() && rc == NP_OK; i++) {
		struct adv_view_description what = adv_view_catalog(i);

		if (!(what.scope & scope))
			continue;
		rc = add_absent(set, &what, false, err);
		if (rc == NP_OK)
			rc = add_absent(set, &what, true, err);
	}
	return rc;
}

int adv_view_append(struct adv_view *view, struct adv_rows *rows, struct np_err *err)
{
	struct np_cell cells[128];
	int rc = adv_view_open(view, err);

	if (rc == NP_OK && !rows->columns) {
		const char *names[NP_COUNT(cells)];
		enum np_column_type types[NP_COUNT(cells)];

		for (size_t i = 0; i < view->column_count; i++) {
			names[i] = view->columns[i].name;
			types[i] = view->columns[i].type;
		}
		rc = adv_rows_init(rows, names, types, view->column_count, err);
	}
	for (size_t row = 0; rc == NP_OK && row < view->rows; row++) {
		for (size_t i = 0; i < view->column_count; i++)
			cells[i] = view->cell(view, row, i);
		rc = adv_rows_add(rows, cells, err);
	}
	return rc;
}
