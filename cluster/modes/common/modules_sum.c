/* SPDX-License-Identifier: Apache-2.0 */
#include "modules_private.h"

#include <math.h>

/* --- what operators launched ----------------------------------------------------------------- */

static int by_connection(const void *left, const void *right)
{
	const struct launched *a = left;
	const struct launched *b = right;

	if (a->connection != b->connection)
		return np_order(a->connection, b->connection);
	return a->start != b->start ? np_order(a->start, b->start) : np_order(a->kernel, b->kernel);
}

static int add_launched(struct modules_work *work, int64_t connection, np_ns start, np_ns end,
			np_str name, uint32_t kernel)
{
	struct launched *slot;

	if (connection == NP_UNKNOWN)
		return NP_OK;
	slot = np_vec_add(&work->launched, work->rank->err);
	if (!slot)
		return NP_E_NOMEM;
	*slot = (struct launched){ connection, start, end - start, NP_STR_NONE, kernel };
	return mode_text(work->rank, name, &slot->name);
}

int modules_read_launched(struct modules_work *work)
{
	const struct np_detail *detail = work->detail;
	int rc = NP_OK;

	for (uint32_t i = 0; i < detail->kernels.count && rc == NP_OK; i++) {
		const struct np_kernel *kernel = &detail->kernels.item[i];

		rc = add_launched(work, kernel->connection, kernel->start, kernel->end,
				  kernel->name, i);
	}
	/* Operators go by their type: their names differ from call to call. */
	for (size_t i = 0; i < detail->ops.count && rc == NP_OK; i++)
		rc = add_launched(work, detail->ops.item[i].connection, detail->ops.item[i].start,
				  detail->ops.item[i].end, detail->ops.item[i].type, MODULES_NONE);
	if (work->launched.count)
		qsort(work->launched.item, work->launched.count, sizeof(work->launched.item[0]),
		      by_connection);
	return rc;
}

static size_t first_launched(const struct modules_work *work, int64_t connection)
{
	size_t low = 0;
	size_t high = work->launched.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (work->launched.item[middle].connection < connection)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* One operator with kernels, in a run of a module. */
struct step_of_module {
	uint32_t module;
	np_str op;
	np_str kernels;
	np_ns start;
	np_ns total;
	size_t first; /* in `refs` */
	size_t count;
};

struct steps_of_modules {
	NP_VEC(struct step_of_module) list;
	NP_VEC(uint32_t) refs; /* in work->launched */
};

/* The kernels of one call: those of all its connections, by start. */
static int gather(struct modules_work *work, struct steps_of_modules *steps, uint32_t call,
		  struct step_of_module *step)
{
	const struct np_framework_call *at = &work->detail->framework.item[call];

	step->first = steps->refs.count;
	for (uint32_t i = 0; i < at->link_count; i++) {
		const struct np_framework_link *link =
			&work->detail->links.item[at->first_link + i];

		if (link->kind != NP_LEADS_TO_TASK)
			continue;
		for (size_t j = first_launched(work, link->id);
		     j < work->launched.count && work->launched.item[j].connection == link->id;
		     j++) {
			uint32_t *slot = np_vec_add(&steps->refs, work->rank->err);

			if (!slot)
				return NP_E_NOMEM;
			*slot = (uint32_t)j;
			step->total += work->launched.item[j].time;
		}
	}
	step->count = steps->refs.count - step->first;
	return NP_OK;
}

static int name_kernels(struct modules_work *work, const struct steps_of_modules *steps,
			struct step_of_module *step)
{
	NP_CLEANUP(np_buf_release) struct np_buf buf = NP_BUF_INIT;

	for (size_t i = 0; i < step->count; i++)
		np_buf_printf(
			&buf, "%s%s", i ? ", " : "",
			mode_name(work->rank->modes,
				  work->launched.item[steps->refs.item[step->first + i]].name));
	if (np_buf_check(&buf, work->rank->err) < 0)
		return NP_E_NOMEM;
	return np_strtab_add(work->rank->run->strings, buf.text, buf.length, &step->kernels,
			     work->rank->err);
}

static int find_steps(struct modules_work *work, struct steps_of_modules *steps)
{
	const struct np_detail *detail = work->detail;
	int rc = NP_OK;

	for (uint32_t i = 0; i < detail->framework.count && rc == NP_OK; i++) {
		struct step_of_module step = { .module = work->module_of[i],
					       .start = detail->framework.item[i].start };
		struct step_of_module *slot;

		if (step.module == MODULES_NONE ||
		    !mode_takes(work->rank, detail->framework.item[i].step))
			continue;
		rc = gather(work, steps, i, &step);
		if (rc < 0 || step.count == 0)
			continue;
		rc = mode_text(work->rank, detail->framework.item[i].name, &step.op);
		if (rc == NP_OK)
			rc = name_kernels(work, steps, &step);
		slot = rc == NP_OK ? np_vec_add(&steps->list, work->rank->err) : NULL;
		if (!slot)
			return NP_E_NOMEM;
		*slot = step;
	}
	return rc;
}

/* --- summing --------------------------------------------------------------------------------- */

static int by_module(const void *left, const void *right)
{
	const struct step_of_module *a = left;
	const struct step_of_module *b = right;

	return a->module != b->module ? np_order(a->module, b->module)
				      : np_order(a->start, b->start);
}

static void put_name(struct np_buf *buf, const struct modules_work *work, np_str name,
		     bool backward)
{
	np_buf_printf(buf, "%s%s", backward ? "[Backward]" : "",
		      mode_name(work->rank->modes, name));
}

/* "Model/Layer": the modules around one. Of a backward run, those around the forward one. */
static int path_of(struct modules_work *work, uint32_t module, np_str *ret)
{
	NP_CLEANUP(np_buf_release) struct np_buf buf = NP_BUF_INIT;
	bool backward = work->modules.item[module].backward;
	uint32_t chain[MODULES_DEPTH + 1];
	size_t depth = 0;
	uint32_t at = backward ? work->modules.item[work->modules.item[module].parent].parent
			       : work->modules.item[module].parent;

	for (; at != MODULES_NONE && depth < NP_COUNT(chain); at = work->modules.item[at].parent)
		chain[depth++] = at;
	*ret = NP_STR_NONE;
	if (depth == 0)
		return NP_OK;
	while (depth-- > 0) {
		put_name(&buf, work, work->modules.item[chain[depth]].name, backward);
		if (depth > 0)
			np_buf_add_char(&buf, '/');
	}
	if (np_buf_check(&buf, work->rank->err) < 0)
		return NP_E_NOMEM;
	return np_strtab_add(work->rank->run->strings, buf.text, buf.length, ret, work->rank->err);
}

/* The operators of one run and their kernels, as one text. */
static int sequence_of(struct modules_work *work, const struct step_of_module *steps, size_t count,
		       np_str *ret)
{
	NP_CLEANUP(np_buf_release) struct np_buf buf = NP_BUF_INIT;

	for (size_t i = 0; i < count; i++)
		np_buf_printf(&buf, "%s(%s);", mode_name(work->rank->modes, steps[i].op),
			      mode_name(work->rank->modes, steps[i].kernels));
	if (np_buf_check(&buf, work->rank->err) < 0)
		return NP_E_NOMEM;
	return np_strtab_add(work->rank->run->strings, buf.text, buf.length, ret, work->rank->err);
}

/* A way in which a module runs: rows [first, first + count). */
struct way {
	np_str path;
	np_str name;
	np_str sequence;
	size_t number; /* among the ways of the module */
	size_t first;
	size_t count;
};

struct ways {
	NP_VEC(struct way) list;
	struct grouping keys; /* path, name, sequence → list, in the same order */
};

static size_t ways_of(const struct ways *ways, np_str path, np_str name)
{
	size_t count = 0;

	for (size_t i = 0; i < ways->list.count; i++)
		count += ways->list.item[i].path == path && ways->list.item[i].name == name;
	return count;
}

static int add_rows(struct modules_work *work, struct module_rows *rows, struct way *way,
		    const struct step_of_module *steps, size_t count)
{
	way->first = rows->list.count;
	way->count = count;
	for (size_t i = 0; i < count; i++) {
		struct module_row *row = np_vec_add(&rows->list, work->rank->err);

		if (!row)
			return NP_E_NOMEM;
		*row = (struct module_row){ .parent = way->path,
					    .module = way->name,
					    .op = steps[i].op,
					    .kernels = steps[i].kernels,
					    .kernel_count = steps[i].count,
					    .first = steps[i].start };
		row->figures = np_arena_array(rows->arena, steps[i].count + 1, sizeof(double));
		if (!row->figures)
			return np_fail_nomem(work->rank->err, "modules");
	}
	return NP_OK;
}

static void add_figures(const struct modules_work *work, const struct steps_of_modules *steps,
			const struct step_of_module *step, struct module_row *row)
{
	for (size_t i = 0; i < step->count; i++) {
		uint32_t kernel = work->launched.item[steps->refs.item[step->first + i]].kernel;

		row->figures[i] += work->figures && kernel != MODULES_NONE ? work->figures[kernel]
									   : (double)NAN;
	}
}

/* The way of one run; NULL when out of memory. */
static struct way *way_of(struct modules_work *work, struct ways *ways, struct module_rows *rows,
			  const struct step_of_module *steps, size_t count)
{
	NP_CLEANUP(np_buf_release) struct np_buf name = NP_BUF_INIT;
	const struct module *module = &work->modules.item[steps->module];
	size_t known = ways->keys.list.count;
	struct way way = { 0 };
	struct way *slot;
	struct group *group;

	put_name(&name, work, module->name, module->backward);
	if (np_buf_check(&name, work->rank->err) < 0 ||
	    np_strtab_add(work->rank->run->strings, name.text, name.length, &way.name,
			  work->rank->err) < 0 ||
	    path_of(work, steps->module, &way.path) < 0 ||
	    sequence_of(work, steps, count, &way.sequence) < 0)
		return NULL;
	group = grouping_find(&ways->keys, (const np_str[]){ way.path, way.name, way.sequence },
			      work->rank->err);
	if (!group)
		return NULL;
	if (ways->keys.list.count == known)
		return &ways->list.item[group - ways->keys.list.item];
	way.number = ways_of(ways, way.path, way.name);
	slot = np_vec_add(&ways->list, work->rank->err);
	if (!slot || add_rows(work, rows, &way, steps, count) < 0)
		return NULL;
	*slot = way;
	return slot;
}

static int sum_runs(struct modules_work *work, struct steps_of_modules *steps, struct ways *ways,
		    struct module_rows *rows)
{
	for (size_t first = 0, end; first < steps->list.count; first = end) {
		const struct step_of_module *run = &steps->list.item[first];
		const struct way *way;

		for (end = first;
		     end < steps->list.count && steps->list.item[end].module == run->module; end++)
			;
		way = way_of(work, ways, rows, run, end - first);
		if (!way)
			return NP_E_NOMEM;
		for (size_t i = 0; i < way->count; i++) {
			struct module_row *row = &rows->list.item[way->first + i];

			row->total += run[i].total;
			row->count++;
			add_figures(work, steps, &run[i], row);
		}
	}
	return NP_OK;
}

/* Where a module runs in several ways they are told apart by a number. */
static int number_ways(struct modules_work *work, const struct ways *ways, struct module_rows *rows)
{
	for (size_t i = 0; i < ways->list.count; i++) {
		const struct way *way = &ways->list.item[i];
		NP_CLEANUP(np_buf_release) struct np_buf name = NP_BUF_INIT;
		np_str numbered;

		if (ways_of(ways, way->path, way->name) < 2)
			continue;
		np_buf_printf(&name, "%s_%zu", mode_name(work->rank->modes, way->name),
			      way->number);
		if (np_buf_check(&name, work->rank->err) < 0 ||
		    np_strtab_add(work->rank->run->strings, name.text, name.length, &numbered,
				  work->rank->err) < 0)
			return NP_E_NOMEM;
		for (size_t j = 0; j < way->count; j++)
			rows->list.item[way->first + j].module = numbered;
	}
	return NP_OK;
}

static int by_first(const void *left, const void *right)
{
	const struct module_row *a = left;
	const struct module_row *b = right;

	return np_order(a->first, b->first);
}

int modules_sum(struct modules_work *work, struct module_rows *rows)
{
	struct steps_of_modules steps = { 0 };
	struct ways ways = { .keys = { .parts = 3 } };
	int rc = find_steps(work, &steps);

	if (steps.list.count)
		qsort(steps.list.item, steps.list.count, sizeof(steps.list.item[0]), by_module);
	if (rc == NP_OK)
		rc = sum_runs(work, &steps, &ways, rows);
	if (rc == NP_OK)
		rc = number_ways(work, &ways, rows);
	if (rows->list.count)
		qsort(rows->list.item, rows->list.count, sizeof(rows->list.item[0]), by_first);
	grouping_release(&ways.keys);
	np_vec_release(&ways.list);
	np_vec_release(&steps.list);
	np_vec_release(&steps.refs);
	return rc;
}

void modules_cells(const struct np_modes *modes, const struct module_row *row,
		   struct np_cell cells[MODULE_CELLS])
{
	const struct np_cell list[MODULE_CELLS] = {
		np_cell_text(row->parent == NP_STR_NONE ? "" : mode_name(modes, row->parent)),
		mode_name_cell(modes, row->module),
		mode_name_cell(modes, row->op),
		mode_name_cell(modes, row->kernels),
		np_cell_integer(row->total),
		np_cell_real((double)row->total / (double)row->count),
		np_cell_integer((int64_t)row->count),
	};

	memcpy(cells, list, sizeof(list));
}
