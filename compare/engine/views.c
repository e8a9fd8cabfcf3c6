/* SPDX-License-Identifier: Apache-2.0 */
/* Measures the tables of --view from the details of both sides (cmp_views.h). */
#include "cmp_kernels.h"
#include "cmp_tree.h"
#include "cmp_views.h"

#include "npuprof/buf.h"
#include "npuprof/details.h"
#include "npuprof/rank.h"

#include <ctype.h>
#include <strings.h>

/* One rank while its detail is reduced. */
struct cmp_view_rank {
	struct comparison *comparison;
	const struct cmp_side *side;
	const struct np_rank *rank;
	const struct np_detail *detail;
	enum cmp_which which;
	struct cmp_rows *rows; /* by view */
	struct np_err *err;
};

const char *const cmp_view_names[CMP_VIEWS + 1] = {
	[CMP_VIEW_KERNEL] = "kernel",
	[CMP_VIEW_KERNEL_TYPE] = "kernel-type",
	[CMP_VIEW_COMMUNICATION] = "communication",
	[CMP_VIEW_API] = "api",
	[CMP_VIEW_OPERATOR] = "operator",
	[CMP_VIEW_MODULE] = "module",
	[CMP_VIEW_MEMORY] = "memory",
};

enum cmp_view cmp_view_find(const char *name)
{
	int i = 0;

	while (i < CMP_VIEWS && strcmp(cmp_view_names[i], name) != 0)
		i++;
	return (enum cmp_view)i;
}

static void release_rows(struct cmp_rows *rows)
{
	np_vec_release(&rows->list);
	np_idmap_free(rows->places);
	rows->places = NULL;
}

void cmp_views_release(struct cmp_views *views)
{
	for (int i = 0; i < CMP_VIEWS; i++)
		release_rows(&views->rows[i]);
	cmp_alignment_release(&views->alignment);
}

/* --- adding ---------------------------------------------------------------------------------- */

static struct cmp_row *find_row(struct cmp_rows *rows, np_str key, np_str second,
				struct np_err *err)
{
	int64_t id = (int64_t)key << 32 | second;
	struct cmp_row *row;
	uint32_t place;

	if (!rows->places)
		rows->places = np_idmap_new();
	if (!rows->places) {
		(void)np_fail_nomem(err, "a view");
		return NULL;
	}
	place = np_idmap_get(rows->places, id);
	if (place != NP_IDMAP_NONE)
		return &rows->list.item[place];
	row = np_vec_add(&rows->list, err);
	if (!row || np_idmap_set(rows->places, id, (uint32_t)(rows->list.count - 1), err) < 0)
		return NULL;
	row->key[0] = key;
	row->key[1] = second;
	for (int i = 0; i < CMP_SIDES; i++) {
		row->side[i].least = NP_UNKNOWN;
		row->side[i].most = NP_UNKNOWN;
	}
	return row;
}

static void add_tally(struct cmp_tally *to, const struct cmp_tally *from)
{
	to->count += from->count;
	to->total += from->total;
	to->self += from->self;
	to->bytes += from->bytes;
	if (from->least == NP_UNKNOWN)
		return;
	if (to->least == NP_UNKNOWN || from->least < to->least)
		to->least = from->least;
	if (to->most == NP_UNKNOWN || from->most > to->most)
		to->most = from->most;
}

/* Add one thing of this many ns to the row of these names; the second may be NULL. */
static int cmp_view_add(struct cmp_view_rank *rank, enum cmp_view view, const char *name,
			const char *second, const struct cmp_tally *tally)
{
	np_str key[2] = { NP_STR_NONE, NP_STR_NONE };
	struct cmp_row *row;
	int rc = np_strtab_add(rank->comparison->names, name, strlen(name), &key[0], rank->err);

	if (rc == NP_OK && second)
		rc = np_strtab_add(rank->comparison->names, second, strlen(second), &key[1],
				   rank->err);
	if (rc < 0)
		return rc;
	row = find_row(&rank->rows[view], key[0], key[1], rank->err);
	if (!row)
		return NP_E_NOMEM;
	add_tally(&row->side[rank->which], tally);
	return NP_OK;
}

/* Is the step of a row of the detail one of those chosen? */
static bool cmp_view_takes(const struct cmp_view_rank *rank, uint32_t step)
{
	return cmp_has_cell(rank->side, rank->rank, step);
}

/* What the framework called, by name. */
static int add_api(struct cmp_view_rank *rank, const struct cmp_tree *tree)
{
	int rc = NP_OK;

	for (size_t i = 0; i < tree->nodes.count && rc == NP_OK; i++) {
		const struct cmp_node *node = &tree->nodes.item[i];
		const struct np_framework_call *call = cmp_tree_call(tree, node);
		np_ns time = call->end - call->start;
		const struct cmp_tally tally = { .count = 1,
						 .total = time,
						 .self = time - node->inside,
						 .least = time,
						 .most = time };

		if (!node->module && cmp_view_takes(rank, call->step))
			rc = cmp_view_add(rank, CMP_VIEW_API,
					  cmp_text(rank->comparison, node->name), NULL, &tally);
	}
	return rc;
}

/* What an operator is summed by: its name, and the shapes of its inputs where that is asked for. */
static int add_operator(struct cmp_view_rank *rank, const struct cmp_tree *tree,
			const struct cmp_node *node, const struct cmp_tally *tally)
{
	const struct np_framework_call *call = cmp_tree_call(tree, node);
	const char *name = cmp_text(rank->comparison, node->name);
	NP_CLEANUP(np_buf_release) struct np_buf key = NP_BUF_INIT;
	const char *shapes = NULL;
	int rc;

	if (rank->comparison->options.by_shape)
		shapes = np_detail_text(rank->detail, call->in_shapes);
	if (!shapes || !*shapes)
		return cmp_view_add(rank, CMP_VIEW_OPERATOR, name, NULL, tally);
	np_buf_printf(&key, "%s [%s]", name, shapes);
	rc = np_buf_check(&key, rank->err);
	return rc < 0 ? rc : cmp_view_add(rank, CMP_VIEW_OPERATOR, key.text, NULL, tally);
}

static int add_operators(struct cmp_view_rank *rank, const struct cmp_tree *tree)
{
	int rc = NP_OK;

	for (uint32_t i = 0; i < tree->nodes.count && rc == NP_OK; i++) {
		const struct cmp_node *node = &tree->nodes.item[i];
		const struct cmp_tally tally = { .count = 1,
						 .total = node->own,
						 .least = NP_UNKNOWN };

		if (!node->module && node->top == i &&
		    cmp_view_takes(rank, cmp_tree_call(tree, node)->step))
			rc = add_operator(rank, tree, node, &tally);
	}
	return rc;
}

/* A row for each module, with all of it, and one for each operator directly inside. */
static int add_modules(struct cmp_view_rank *rank, const struct cmp_tree *tree)
{
	const struct comparison *comparison = rank->comparison;
	int rc = NP_OK;

	for (uint32_t i = 0; i < tree->nodes.count && rc == NP_OK; i++) {
		const struct cmp_node *node = &tree->nodes.item[i];
		const struct cmp_tally tally = { .count = 1,
						 .total = node->module ? node->total : node->own,
						 .self = node->own,
						 .least = NP_UNKNOWN };

		if (node->module_path == NP_STR_NONE || node->top != i ||
		    !cmp_view_takes(rank, cmp_tree_call(tree, node)->step))
			continue;
		rc = cmp_view_add(rank, CMP_VIEW_MODULE, cmp_text(comparison, node->module_path),
				  node->module ? NULL : cmp_text(comparison, node->name), &tally);
	}
	return rc;
}

static int with_tree(struct cmp_view_rank *rank,
		     int (*add)(struct cmp_view_rank *, const struct cmp_tree *))
{
	struct cmp_tree tree;
	int rc = cmp_tree_build(rank->comparison, rank->detail, &tree, rank->err);

	if (rc == NP_OK)
		rc = add(rank, &tree);
	cmp_tree_release(&tree);
	return rc;
}

static int cmp_view_api(struct cmp_view_rank *rank)
{
	return with_tree(rank, add_api);
}

static int cmp_view_operator(struct cmp_view_rank *rank)
{
	return with_tree(rank, add_operators);
}

static int cmp_view_module(struct cmp_view_rank *rank)
{
	return with_tree(rank, add_modules);
}

/* --- memory ---------------------------------------------------------------------------------- */

/* Allocations have no step of their own: the host was in one when it asked. */
static bool in_step(const struct cmp_view_rank *rank, np_ns time)
{
	for (size_t i = 0; i < rank->rank->steps.count; i++) {
		const struct np_step *step = &rank->rank->steps.item[i];

		if (!cmp_has_cell(rank->side, rank->rank, (uint32_t)i))
			continue;
		if (step->host_begin == NP_UNKNOWN ||
		    (time >= step->host_begin && time < step->host_end))
			return true;
	}
	return false;
}

static int cmp_view_memory(struct cmp_view_rank *rank)
{
	const struct np_detail *detail = rank->detail;
	int rc = NP_OK;

	for (size_t i = 0; i < detail->memory_ops.count && rc == NP_OK; i++) {
		const struct np_memory_op *op = &detail->memory_ops.item[i];
		const char *name = np_detail_text(detail, op->name);
		struct cmp_tally tally = { .count = 1, .bytes = op->bytes, .least = NP_UNKNOWN };

		if (!name || op->bytes == NP_UNKNOWN || !in_step(rank, op->alloc))
			continue;
		if (op->release != NP_UNKNOWN)
			tally.total = tally.least = tally.most = op->release - op->alloc;
		rc = cmp_view_add(rank, CMP_VIEW_MEMORY, name, NULL, &tally);
	}
	return rc;
}

/* --- communication --------------------------------------------------------------------------- */

/* "hcom_allReduce__123_0_1" and "hcom_allReduce_" are of class "allreduce". */
static void class_of(const char *name, struct np_buf *buf)
{
	size_t length;

	if (strncasecmp(name, "hcom_", strlen("hcom_")) == 0)
		name += strlen("hcom_");
	length = strcspn(name, "_");
	for (size_t i = 0; i < length; i++)
		np_buf_add_char(buf, (char)tolower((unsigned char)name[i]));
}

/* By the type of an operator or, where it was not recorded (Level0), by its name. */
static void class_of_op(const struct np_detail *detail, const struct np_detail_op *op,
			struct np_buf *buf)
{
	const char *type = np_detail_text(detail, op->type);
	const char *name = np_detail_text(detail, op->name);

	if (type && strcmp(type, "N/A") != 0)
		name = type;
	if (name)
		class_of(name, buf);
}

static int add_op(struct cmp_view_rank *rank, const struct np_detail_op *op)
{
	NP_CLEANUP(np_buf_release) struct np_buf class = NP_BUF_INIT;
	np_ns time = op->end - op->start;
	const struct cmp_tally tally = { .count = 1, .total = time, .least = time, .most = time };

	class_of_op(rank->detail, op, &class);
	return class.length ? cmp_view_add(rank, CMP_VIEW_COMMUNICATION, class.text, NULL, &tally)
			    : NP_OK;
}

static int add_sub_task(struct cmp_view_rank *rank, const struct np_sub_task *task)
{
	NP_CLEANUP(np_buf_release) struct np_buf class = NP_BUF_INIT;
	const struct np_detail *detail = rank->detail;
	NP_CLEANUP(np_buf_release) struct np_buf type = NP_BUF_INIT;
	const struct np_detail_op *op;
	np_ns time = task->end - task->start;
	const struct cmp_tally tally = { .count = 1, .total = time, .least = time, .most = time };

	/* "Notify Wait" of Level0 is "Notify_Wait" otherwise. */
	for (const char *at = np_detail_text(detail, task->type); at && *at; at++)
		np_buf_add_char(&type, *at == ' ' ? '_' : *at);
	if (task->op == NP_NO_ROW || type.length == 0)
		return NP_OK;
	op = &detail->ops.item[task->op];
	if (!cmp_view_takes(rank, op->step))
		return NP_OK;
	class_of_op(detail, op, &class);
	return class.length
		       ? cmp_view_add(rank, CMP_VIEW_COMMUNICATION, class.text, type.text, &tally)
		       : NP_OK;
}

static int cmp_view_communication(struct cmp_view_rank *rank)
{
	const struct np_detail *detail = rank->detail;
	int rc = NP_OK;

	for (size_t i = 0; i < detail->ops.count && rc == NP_OK; i++) {
		if (cmp_view_takes(rank, detail->ops.item[i].step))
			rc = add_op(rank, &detail->ops.item[i]);
	}
	for (size_t i = 0; i < detail->sub_tasks.count && rc == NP_OK; i++)
		rc = add_sub_task(rank, &detail->sub_tasks.item[i]);
	return rc;
}

/* Views that need details: the sections, and which of them they cannot do without. */
static const struct {
	unsigned wants;
	unsigned needs;
	int (*reduce)(struct cmp_view_rank *rank);
} ways[CMP_VIEWS] = {
	[CMP_VIEW_COMMUNICATION] = { NP_DETAIL_OPS | NP_DETAIL_SUB_TASKS, NP_DETAIL_OPS,
				     cmp_view_communication },
	[CMP_VIEW_API] = { NP_DETAIL_FRAMEWORK, NP_DETAIL_FRAMEWORK, cmp_view_api },
	[CMP_VIEW_OPERATOR] = { NP_DETAIL_FRAMEWORK | NP_DETAIL_KERNELS | NP_DETAIL_LAUNCHES,
				NP_DETAIL_FRAMEWORK | NP_DETAIL_KERNELS, cmp_view_operator },
	[CMP_VIEW_MODULE] = { NP_DETAIL_FRAMEWORK | NP_DETAIL_PYTHON | NP_DETAIL_KERNELS |
				      NP_DETAIL_LAUNCHES,
			      NP_DETAIL_FRAMEWORK | NP_DETAIL_PYTHON | NP_DETAIL_KERNELS,
			      cmp_view_module },
	[CMP_VIEW_MEMORY] = { NP_DETAIL_MEMORY_OPS, NP_DETAIL_MEMORY_OPS, cmp_view_memory },
};

static int merge(struct cmp_rows *to, const struct cmp_rows *from, struct np_err *err)
{
	for (size_t i = 0; i < from->list.count; i++) {
		const struct cmp_row *each = &from->list.item[i];
		struct cmp_row *row = find_row(to, each->key[0], each->key[1], err);

		if (!row)
			return NP_E_NOMEM;
		for (int j = 0; j < CMP_SIDES; j++)
			add_tally(&row->side[j], &each->side[j]);
	}
	return NP_OK;
}

/* --- kernels, which are reduced already ------------------------------------------------------ */

static int add_kernels(struct cmp_views *views, enum cmp_which which, struct np_err *err)
{
	const struct cmp_side *side = &views->comparison->sides[which];

	for (size_t i = 0; i < side->groups.count; i++) {
		const struct cmp_kernel_group *group = &side->groups.item[i];
		const struct cmp_tally tally = { .count = group->sum.count,
						 .total = group->sum.total,
						 .least = group->sum.least,
						 .most = group->sum.most };
		struct cmp_row *by_shape;
		struct cmp_row *by_core;

		if (group->type == NP_STR_NONE)
			continue;
		by_shape = find_row(&views->rows[CMP_VIEW_KERNEL], group->type, group->shapes, err);
		if (by_shape)
			add_tally(&by_shape->side[which], &tally);
		by_core =
			find_row(&views->rows[CMP_VIEW_KERNEL_TYPE], group->type, group->core, err);
		if (!by_shape || !by_core)
			return NP_E_NOMEM;
		add_tally(&by_core->side[which], &tally);
	}
	return NP_OK;
}

static int take_kernels(struct cmp_views *views, struct np_err *err)
{
	int rc = add_kernels(views, CMP_BASE, err);

	return rc < 0 ? rc : add_kernels(views, CMP_NEW, err);
}

/* --- details --------------------------------------------------------------------------------- */

struct views_job {
	struct cmp_rows rows[CMP_VIEWS];
	unsigned has;
	struct np_notes notes;
	struct np_err err;
};

struct views_work {
	struct comparison *comparison;
	struct cmp_views *views;
	unsigned wants;
	struct views_job *jobs;
};

static bool wants_view(const struct cmp_views *views, int view)
{
	return (views->wanted >> view & 1) != 0;
}

static void reduce_rank(void *context, size_t index)
{
	struct views_work *work = context;
	struct comparison *comparison = work->comparison;
	struct views_job *job = &work->jobs[index];
	enum cmp_which which = index < comparison->pairs.count ? CMP_BASE : CMP_NEW;
	size_t pair = index - (which == CMP_NEW ? comparison->pairs.count : 0);
	size_t at = comparison->pairs.item[pair].rank[which];
	NP_CLEANUP(np_detail_freep) struct np_detail *detail = NULL;
	struct cmp_view_rank rank = { .comparison = comparison,
				      .side = &comparison->sides[which],
				      .which = which,
				      .rows = job->rows,
				      .err = &job->err };
	int rc = np_detail_load(rank.side->analysis->run, at, work->wants, &detail, &job->err);

	rank.rank = rank.side->analysis->run->ranks[at];
	rank.detail = detail;
	if (rc < 0)
		return;
	job->has = detail->has;
	np_notes_move_untold(&job->notes, &detail->notes, &rank.side->analysis->run->notes);
	for (int i = 0; i < CMP_VIEWS && rc == NP_OK; i++) {
		if (wants_view(work->views, i) && ways[i].reduce &&
		    (ways[i].needs & ~detail->has) == 0)
			rc = ways[i].reduce(&rank);
	}
}

static int merge_jobs(struct views_work *work, size_t count, struct np_err *err)
{
	struct cmp_views *views = work->views;
	int rc = NP_OK;

	for (size_t i = 0; i < count && rc == NP_OK; i++) {
		enum cmp_which which = i < work->comparison->pairs.count ? CMP_BASE : CMP_NEW;
		unsigned side = 1U << which;

		np_notes_move(&work->comparison->sides[which].analysis->run->notes,
			      &work->jobs[i].notes);
		if (work->jobs[i].err.code == NP_E_NOMEM)
			rc = np_fail_nomem(err, "a view");
		for (int j = 0; j < CMP_VIEWS && rc == NP_OK; j++) {
			if (!wants_view(views, j) || !ways[j].reduce)
				continue;
			/* Modules are rows among others: that there are none means not recorded. */
			if ((ways[j].needs & ~work->jobs[i].has) ||
			    (j == CMP_VIEW_MODULE && work->jobs[i].rows[j].list.count == 0))
				views->missing[j] |= side;
			rc = merge(&views->rows[j], &work->jobs[i].rows[j], err);
		}
	}
	return rc;
}

static int take_details(struct comparison *comparison, struct cmp_views *views, struct np_err *err)
{
	size_t count = comparison->pairs.count * CMP_SIDES;
	struct views_work work = { .comparison = comparison, .views = views };
	struct np_details *details = NULL;
	int rc;

	for (int i = 0; i < CMP_VIEWS; i++)
		work.wants |= wants_view(views, i) ? ways[i].wants : 0;
	if (work.wants & NP_DETAIL_FRAMEWORK && comparison->options.by_shape)
		work.wants |= NP_DETAIL_INPUTS;
	if (work.wants == 0)
		return NP_OK;
	work.jobs = calloc(count + 1, sizeof(*work.jobs));
	if (!work.jobs)
		return np_fail_nomem(err, "views");
	rc = cmp_begin_details(comparison, work.wants, false, &details, err);
	if (rc == NP_OK)
		np_workers_run(comparison->options.workers, count, reduce_rank, &work);
	np_details_end(details);
	if (rc == NP_OK)
		rc = merge_jobs(&work, count, err);
	for (size_t i = 0; i < count; i++) {
		for (int j = 0; j < CMP_VIEWS; j++)
			release_rows(&work.jobs[i].rows[j]);
		np_notes_release(&work.jobs[i].notes);
	}
	free(work.jobs);
	return rc;
}

/* --- order ----------------------------------------------------------------------------------- */

struct views_sorted {
	struct cmp_row row;
	double size;
	const char *name;
	const char *second;
};

static int by_difference(const void *left, const void *right)
{
	const struct views_sorted *a = left;
	const struct views_sorted *b = right;
	int order = (a->size < b->size) - (a->size > b->size);

	if (order == 0)
		order = strcmp(a->name, b->name);
	return order ? order : strcmp(a->second, b->second);
}

/* Sub-tasks stay below their operator: they are compared by name only. */
static double size_of(const struct comparison *comparison, const struct cmp_row *row,
		      enum cmp_view view)
{
	double a = (double)comparison->sides[CMP_BASE].cells;
	double b = (double)comparison->sides[CMP_NEW].cells;
	double delta = (double)row->side[CMP_NEW].total / b - (double)row->side[CMP_BASE].total / a;

	if (view == CMP_VIEW_COMMUNICATION || view == CMP_VIEW_MODULE)
		return 0;
	if (view == CMP_VIEW_MEMORY)
		delta = (double)row->side[CMP_NEW].bytes / b -
			(double)row->side[CMP_BASE].bytes / a;
	return delta < 0 ? -delta : delta;
}

static int sort_view(struct cmp_views *views, enum cmp_view view, struct np_err *err)
{
	const struct comparison *comparison = views->comparison;
	struct cmp_rows *rows = &views->rows[view];
	struct views_sorted *all = calloc(rows->list.count + 1, sizeof(*all));

	if (!all)
		return np_fail_nomem(err, "a view");
	for (size_t i = 0; i < rows->list.count; i++) {
		const struct cmp_row *row = &rows->list.item[i];
		const char *second = cmp_text(comparison, row->key[1]);

		all[i] = (struct views_sorted){ *row, size_of(comparison, row, view),
						cmp_text(comparison, row->key[0]),
						second ? second : "" };
	}
	qsort(all, rows->list.count, sizeof(*all), by_difference);
	for (size_t i = 0; i < rows->list.count; i++)
		rows->list.item[i] = all[i].row;
	free(all);
	return NP_OK;
}

/* Calls side by side; what cannot be read of them is told by the views of the same names. */
static int take_calls(struct comparison *comparison, struct cmp_views *views, struct np_err *err)
{
	struct np_err problem = NP_ERR_INIT;
	int rc;

	if (!wants_view(views, CMP_VIEW_OPERATOR) && !wants_view(views, CMP_VIEW_MODULE))
		return NP_OK;
	rc = cmp_align_calls(comparison, &views->alignment, &problem);
	return rc == NP_E_NOMEM ? np_fail(err, rc, "%s", problem.text) : NP_OK;
}

static void note_missing(struct comparison *comparison, const struct cmp_views *views)
{
	for (size_t i = 0; i < (size_t)CMP_SIDES * CMP_VIEWS; i++) {
		struct np_run *run = comparison->sides[i / CMP_VIEWS].analysis->run;
		size_t view = i % CMP_VIEWS;
		NP_CLEANUP(np_buf_release) struct np_buf what = NP_BUF_INIT;

		if (!wants_view(views, (int)view) || !(views->missing[view] >> i / CMP_VIEWS & 1))
			continue;
		np_buf_printf(&what, "view %s", cmp_view_names[view]);
		np_note_add(&run->notes, NP_NOTE_SKIPPED, NP_NO_RANK, run->roots.item[0],
			    what.text ? what.text : cmp_view_names[view],
			    "not everything it needs was recorded");
	}
}

int cmp_views_measure(struct comparison *comparison, uint64_t wanted, struct cmp_views *ret,
		      struct np_err *err)
{
	int rc;

	*ret = (struct cmp_views){ .comparison = comparison, .wanted = wanted };
	rc = take_kernels(ret, err);
	if (rc == NP_OK)
		rc = take_details(comparison, ret, err);
	if (rc == NP_OK)
		rc = take_calls(comparison, ret, err);
	for (int i = 0; i < CMP_VIEWS && rc == NP_OK; i++)
		rc = sort_view(ret, (enum cmp_view)i, err);
	if (rc == NP_OK)
		note_missing(comparison, ret);
	return rc;
}
