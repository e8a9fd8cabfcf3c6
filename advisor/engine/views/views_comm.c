/* SPDX-License-Identifier: Apache-2.0 */
#include "views.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Communication of a rank: operators, their transports, their sub-tasks. */

#define ENTRY(name, type) { #name, type },

/* clang-format off */
#define OP_COLUMNS(X) \
	X(rank, NP_INTEGER) X(id, NP_INTEGER) X(step, NP_TEXT) X(device, NP_INTEGER) \
	X(grp, NP_TEXT) X(group_name, NP_TEXT) X(pg_name, NP_TEXT) X(group_ranks, NP_TEXT) \
	X(group_size, NP_INTEGER) X(op_name, NP_TEXT) X(op_type, NP_TEXT) \
	X(op_id, NP_INTEGER) X(start_ns, NP_INTEGER) X(end_ns, NP_INTEGER) \
	X(elapse_ns, NP_INTEGER) X(transit_ns, NP_INTEGER) X(wait_ns, NP_INTEGER) \
	X(sync_ns, NP_INTEGER) X(idle_ns, NP_INTEGER) X(is_p2p, NP_INTEGER) \
	X(size_b, NP_INTEGER) X(count, NP_INTEGER) X(data_type, NP_TEXT) X(alg, NP_TEXT) \
	X(relay, NP_INTEGER) X(retry, NP_INTEGER) X(conn_id, NP_INTEGER)
/* clang-format on */

#define NUMBER(name, type) OP_##name,
enum {
	OP_COLUMNS(NUMBER) OP_COUNT
};
#undef NUMBER
static const struct np_column op_columns[] = { OP_COLUMNS(ENTRY) };

const struct view_description view_comm_op = {
	.name = "v_comm_op",
	.columns = op_columns,
	.column_count = OP_COUNT,
	.scope = VIEW_RANK | VIEW_CLUSTER,
	.what = "communication operators; wait, sync and idle as the vendor defines them",
	.cure = "profile more than one rank of a distributed run",
};

/* What is text in SQL and a number or a list in the model, by communicator. */
struct group_texts {
	struct np_arena *arena;
	const char **hash;
	const char **members;
};

static void close_groups(struct view *view)
{
	struct group_texts *texts = view->state;

	if (texts)
		np_arena_free(texts->arena);
	free(texts);
}

static const char *list_members(struct np_arena *arena, const struct np_group *group)
{
	struct np_buf buf = NP_BUF_INIT;
	const char *copy = NULL;

	if (!group->members)
		return NULL;
	for (size_t i = 0; i < group->member_count; i++)
		np_buf_printf(&buf, "%s%" PRId32, i > 0 ? "," : "", group->members[i]);
	if (!buf.failed)
		copy = np_arena_text(arena, buf.text, buf.length);
	np_buf_release(&buf);
	return copy;
}

static struct group_texts *make_groups(const struct np_rank *rank)
{
	struct group_texts *texts = calloc(1, sizeof(*texts));
	size_t count = rank->groups.count + 1;

	if (!texts)
		return NULL;
	texts->arena = np_arena_new();
	if (texts->arena) {
		texts->hash = np_arena_array(texts->arena, count, sizeof(*texts->hash));
		texts->members = np_arena_array(texts->arena, count, sizeof(*texts->members));
	}
	if (!texts->hash || !texts->members) {
		np_arena_free(texts->arena);
		free(texts);
		return NULL;
	}
	for (size_t i = 0; i < rank->groups.count; i++) {
		char hash[24];

		(void)snprintf(hash, sizeof(hash), "%" PRIu64, rank->groups.item[i].hash);
		texts->hash[i] = np_arena_text(texts->arena, hash, strlen(hash));
		texts->members[i] = list_members(texts->arena, &rank->groups.item[i]);
	}
	return texts;
}

static int open_ops(struct view *view, struct np_err *err)
{
	const struct view_rank *source = view->data;

	view->state = make_groups(source->rank);
	if (!view->state)
		return np_fail_nomem(err, "communicators");
	view->rows = source->rank->ops.count;
	return NP_OK;
}

static struct np_cell run_text(const struct view_rank *source, np_str id)
{
	return np_cell_text(np_run_text(source->run, id));
}

/* Columns of times as the vendor defines them. */
static struct np_cell vendor_cell(const struct np_rank *rank, size_t row, size_t column)
{
	const struct np_comm_op *op = &rank->ops.item[row];
	struct np_vendor_times times = np_rank_vendor_times(rank, row);
	np_ns transit = np_rank_length(rank, times.transit);
	np_ns wait = np_rank_length(rank, times.wait);
	np_ns busy = np_plus(transit, wait);

	switch (column) {
	case OP_transit_ns:
		return np_cell_integer(transit);
	case OP_wait_ns:
		return np_cell_integer(wait);
	case OP_sync_ns:
		return np_cell_integer(np_rank_length(rank, times.sync));
	default:
		return np_cell_integer(busy == NP_UNKNOWN ? NP_UNKNOWN
							  : op->end - op->start - busy);
	}
}

/* Columns that only the detail has. */
static struct np_cell detail_op_cell(const struct view_rank *source, size_t row, size_t column)
{
	const struct np_detail_op *op;

	if (!source->detail || row >= source->detail->ops.count)
		return np_cell_null();
	op = &source->detail->ops.item[row];
	switch (column) {
	case OP_op_id:
		return np_cell_integer(op->op_id);
	case OP_count:
		return np_cell_integer(op->count);
	case OP_data_type:
		return view_text(source->detail, op->data_type);
	case OP_alg:
		return view_text(source->detail, op->alg_type);
	case OP_relay:
		return np_cell_integer(op->relay);
	case OP_retry:
		return np_cell_integer(op->retry);
	default:
		return np_cell_integer(op->connection);
	}
}

static struct np_cell group_cell(const struct view *view, const struct np_group *group,
				 uint32_t index, size_t column)
{
	const struct view_rank *source = view->data;
	const struct group_texts *texts = view->state;

	switch (column) {
	case OP_grp:
		return np_cell_text(texts->hash[index]);
	case OP_group_name:
		return run_text(source, group->name);
	case OP_pg_name:
		return run_text(source, group->pg_name);
	case OP_group_ranks:
		return np_cell_text(texts->members[index]);
	default:
		return group->members ? np_cell_integer((int64_t)group->member_count)
				      : np_cell_null();
	}
}

static struct np_cell op_cell(const struct view *view, size_t row, size_t column)
{
	const struct view_rank *source = view->data;
	const struct np_comm_op *op = &source->rank->ops.item[row];

	switch (column) {
	case OP_rank:
		return np_cell_integer(source->rank->id);
	case OP_id:
		return np_cell_integer((int64_t)row);
	case OP_step:
		return view_step_id(source, op->step);
	case OP_device:
		return np_cell_integer(op->device);
	case OP_grp:
	case OP_group_name:
	case OP_pg_name:
	case OP_group_ranks:
	case OP_group_size:
		return group_cell(view, &source->rank->groups.item[op->group], op->group, column);
	case OP_op_name:
		return run_text(source, op->name);
	case OP_op_type:
		return run_text(source, op->type);
	case OP_start_ns:
		return np_cell_integer(op->start);
	case OP_end_ns:
		return np_cell_integer(op->end);
	case OP_elapse_ns:
		return view_difference(op->start, op->end);
	case OP_transit_ns:
	case OP_wait_ns:
	case OP_sync_ns:
	case OP_idle_ns:
		return vendor_cell(source->rank, row, column);
	case OP_is_p2p:
		return np_cell_integer(op->p2p);
	case OP_size_b:
		return np_cell_integer(op->bytes);
	default:
		return detail_op_cell(source, row, column);
	}
}

/* Only opened views can tell: the cells need the texts of communicators. */
static bool op_known(const struct view *view, size_t column)
{
	const struct np_rank *rank = ((const struct view_rank *)view->data)->rank;

	if (!view->opened)
		return true;
	for (size_t i = 0; i < rank->ops.count; i++) {
		if (op_cell(view, i, column).type != NP_CELL_NULL)
			return true;
	}
	return false;
}

void view_make_comm_op(struct view *view, const struct view_rank *source)
{
	*view = (struct view){ .name = view_comm_op.name,
			       .columns = op_columns,
			       .column_count = OP_COUNT,
			       .present = source->rank->ops.count > 0,
			       .data = source,
			       .open = open_ops,
			       .close = close_groups,
			       .cell = op_cell,
			       .known = op_known };
}

/* clang-format off */
#define BAND_COLUMNS(X) \
	X(rank, NP_INTEGER) X(step, NP_TEXT) X(op, NP_INTEGER) X(op_name, NP_TEXT) \
	X(op_type, NP_TEXT) X(transport, NP_TEXT) X(size_b, NP_INTEGER) \
	X(time_ns, NP_INTEGER) X(bw_gbs, NP_REAL) X(large_packet_ratio, NP_REAL)
/* clang-format on */

#define NUMBER(name, type) BAND_##name,
enum {
	BAND_COLUMNS(NUMBER) BAND_COUNT
};
#undef NUMBER
static const struct np_column band_columns[] = { BAND_COLUMNS(ENTRY) };

const struct view_description view_comm_band = {
	.name = "v_comm_band",
	.columns = band_columns,
	.column_count = BAND_COUNT,
	.scope = VIEW_RANK | VIEW_CLUSTER,
	.what = "what an operator moved over each transport; SDMA holds HCCS, PCIE and SIO",
	.cure = "profiler_level=Level1",
};

struct band_rows {
	NP_VEC(uint32_t) list; /* the first row of each operator and transport */
};

static void close_bands(struct view *view)
{
	struct band_rows *rows = view->state;

	if (rows)
		np_vec_release(&rows->list);
	free(rows);
}

static int open_bands(struct view *view, struct np_err *err)
{
	const struct np_rank *rank = ((const struct view_rank *)view->data)->rank;
	struct band_rows *rows = calloc(1, sizeof(*rows));

	view->state = rows;
	if (!rows)
		return np_fail_nomem(err, "transports");
	for (size_t i = 0; i < rank->bands.count; i++) {
		const struct np_band *band = &rank->bands.item[i];
		uint32_t *slot;

		if (i > 0 && band[-1].op == band->op && band[-1].type == band->type)
			continue;
		slot = np_vec_add(&rows->list, err);
		if (!slot)
			return NP_E_NOMEM;
		*slot = (uint32_t)i;
	}
	view->rows = rows->list.count;
	return NP_OK;
}

static struct np_cell band_cell(const struct view *view, size_t row, size_t column)
{
	const struct view_rank *source = view->data;
	const struct band_rows *rows = view->state;
	const struct np_band *band = &source->rank->bands.item[rows->list.item[row]];
	const struct np_comm_op *op = &source->rank->ops.item[band->op];

	switch (column) {
	case BAND_rank:
		return np_cell_integer(source->rank->id);
	case BAND_step:
		return view_step_id(source, op->step);
	case BAND_op:
		return np_cell_integer(band->op);
	case BAND_op_name:
		return run_text(source, op->name);
	case BAND_op_type:
		return run_text(source, op->type);
	case BAND_transport:
		return np_cell_text(np_band_name(band->type));
	case BAND_size_b:
		return np_cell_integer(band->bytes);
	case BAND_time_ns:
		return np_cell_integer(band->time);
	case BAND_bw_gbs:
		return np_cell_real(np_gb_per_s(band->bytes, band->time));
	default:
		return np_cell_real(band->large_packet_ratio);
	}
}

void view_make_comm_band(struct view *view, const struct view_rank *source)
{
	*view = (struct view){ .name = view_comm_band.name,
			       .columns = band_columns,
			       .column_count = BAND_COUNT,
			       .present =
				       source->rank->sizes_known && source->rank->bands.count > 0,
			       .data = source,
			       .open = open_bands,
			       .close = close_bands,
			       .cell = band_cell };
}

/* clang-format off */
#define SUB_TASK_COLUMNS(X) \
	X(rank, NP_INTEGER) X(step, NP_TEXT) X(op, NP_INTEGER) X(op_id, NP_INTEGER) \
	X(op_name, NP_TEXT) X(plane, NP_INTEGER) X(task_type, NP_TEXT) X(transport, NP_TEXT) \
	X(link, NP_TEXT) X(rdma_type, NP_TEXT) X(data_type, NP_TEXT) X(size_b, NP_INTEGER) \
	X(src, NP_INTEGER) X(dst, NP_INTEGER) X(start_ns, NP_INTEGER) X(end_ns, NP_INTEGER) \
	X(dur_ns, NP_INTEGER) X(bw_gbs, NP_REAL) X(stream, NP_INTEGER) \
	X(task_id, NP_INTEGER) X(notify_id, NP_INTEGER) X(is_master, NP_INTEGER)
/* clang-format on */

#define NUMBER(name, type) SUB_TASK_##name,
enum {
	SUB_TASK_COLUMNS(NUMBER) SUB_TASK_COUNT
};
#undef NUMBER
static const struct np_column sub_task_columns[] = { SUB_TASK_COLUMNS(ENTRY) };

const struct view_description view_comm_task = {
	.name = "v_comm_task",
	.columns = sub_task_columns,
	.column_count = SUB_TASK_COUNT,
	.scope = VIEW_RANK,
	.typical = 5000,
	.what = "small tasks of the operators: copies, reductions, notifications; op is v_comm_op.id",
	.cure = "profiler_level=Level1",
};

static int open_sub_task(struct view *view, struct np_err *err)
{
	(void)err;
	view->rows = ((const struct view_rank *)view->data)->detail->sub_tasks.count;
	return NP_OK;
}

static struct np_cell sub_task_op_cell(const struct view_rank *source,
				       const struct np_sub_task *task, size_t column)
{
	const struct np_detail *detail = source->detail;
	const struct np_detail_op *op;

	if (task->op == NP_NO_ROW)
		return np_cell_null();
	op = &detail->ops.item[task->op];
	switch (column) {
	case SUB_TASK_op:
		return np_cell_integer(task->op);
	case SUB_TASK_step:
		return view_step_id(source, op->step);
	case SUB_TASK_op_id:
		return np_cell_integer(op->op_id);
	default:
		return view_text(detail, op->name);
	}
}

static struct np_cell sub_task_cell(const struct view *view, size_t row, size_t column)
{
	const struct view_rank *source = view->data;
	const struct np_detail *detail = source->detail;
	const struct np_sub_task *task = &detail->sub_tasks.item[row];

	switch (column) {
	case SUB_TASK_rank:
		return np_cell_integer(detail->id);
	case SUB_TASK_plane:
		return np_cell_integer(task->plane);
	case SUB_TASK_task_type:
		return view_text(detail, task->type);
	case SUB_TASK_transport:
		return view_text(detail, task->transport);
	case SUB_TASK_link:
		return view_text(detail, task->link);
	case SUB_TASK_rdma_type:
		return view_text(detail, task->rdma_type);
	case SUB_TASK_data_type:
		return view_text(detail, task->data_type);
	case SUB_TASK_size_b:
		return np_cell_integer(task->bytes);
	case SUB_TASK_src:
		return np_cell_integer(task->src);
	case SUB_TASK_dst:
		return np_cell_integer(task->dst);
	case SUB_TASK_start_ns:
		return np_cell_integer(task->start);
	case SUB_TASK_end_ns:
		return np_cell_integer(task->end);
	case SUB_TASK_dur_ns:
		return view_difference(task->start, task->end);
	case SUB_TASK_bw_gbs:
		return np_cell_real(task->bandwidth);
	case SUB_TASK_stream:
		return np_cell_integer(task->stream);
	case SUB_TASK_task_id:
		return np_cell_integer(task->task_id);
	case SUB_TASK_notify_id:
		return np_cell_integer(task->notify_id);
	case SUB_TASK_is_master:
		return np_cell_integer(task->master);
	default:
		return sub_task_op_cell(source, task, column);
	}
}

static bool sub_task_known(const struct view *view, size_t column)
{
	const struct np_detail *detail = ((const struct view_rank *)view->data)->detail;

	for (size_t i = 0; i < detail->sub_tasks.count; i++) {
		if (sub_task_cell(view, i, column).type != NP_CELL_NULL)
			return true;
	}
	return false;
}

void view_make_comm_task(struct view *view, const struct view_rank *source)
{
	*view = (struct view){ .name = view_comm_task.name,
			       .columns = sub_task_columns,
			       .column_count = SUB_TASK_COUNT,
			       .present = (source->detail->has & NP_DETAIL_SUB_TASKS) != 0 &&
					  source->detail->sub_tasks.count > 0,
			       .data = source,
			       .open = open_sub_task,
			       .cell = sub_task_cell,
			       .known = sub_task_known };
}
