/* SPDX-License-Identifier: Apache-2.0 */
/* Views of a rank's communication: operators, their transports, their sub-tasks. */
#include "view_fields.h"

#include "npuprof/op_times.h"
#include "npuprof/run.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* What is text in SQL and a number or a list in the model, by communicator. */
struct group_texts {
	struct np_arena *arena;
	const char **hash;
	const char **members;
};

static void close_groups(struct adv_view *view)
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

static int open_ops(struct adv_view *view, struct np_err *err)
{
	const struct adv_view_rank *source = view_source(view);

	view->state = make_groups(source->rank);
	if (!view->state)
		return np_fail_nomem(err, "communicators");
	view->rows = source->rank->ops.count;
	return NP_OK;
}

static const struct np_group *group_of(const struct adv_view *view, const void *item)
{
	return &view_source(view)->rank->groups.item[((const struct np_comm_op *)item)->group];
}

static struct np_cell hash_cell(const struct adv_view *view, size_t row, const void *item)
{
	const struct group_texts *texts = view->state;

	(void)row;
	return np_cell_text(texts->hash[((const struct np_comm_op *)item)->group]);
}

static struct np_cell members_cell(const struct adv_view *view, size_t row, const void *item)
{
	const struct group_texts *texts = view->state;

	(void)row;
	return np_cell_text(texts->members[((const struct np_comm_op *)item)->group]);
}

static struct np_cell group_name_cell(const struct adv_view *view, size_t row, const void *item)
{
	(void)row;
	return np_cell_text(np_run_text(view_source(view)->run, group_of(view, item)->name));
}

static struct np_cell pg_name_cell(const struct adv_view *view, size_t row, const void *item)
{
	(void)row;
	return np_cell_text(np_run_text(view_source(view)->run, group_of(view, item)->pg_name));
}

static struct np_cell group_size_cell(const struct adv_view *view, size_t row, const void *item)
{
	const struct np_group *group = group_of(view, item);

	(void)row;
	return group->members ? np_cell_integer((int64_t)group->member_count) : np_cell_null();
}

/* Times as the vendor defines them. */
static np_ns transit_of(const struct np_rank *rank, size_t row)
{
	return np_rank_length(rank, np_rank_vendor_times(rank, row).transit);
}

static np_ns wait_of(const struct np_rank *rank, size_t row)
{
	return np_rank_length(rank, np_rank_vendor_times(rank, row).wait);
}

static struct np_cell transit_cell(const struct adv_view *view, size_t row, const void *item)
{
	(void)item;
	return np_cell_integer(transit_of(view_source(view)->rank, row));
}

static struct np_cell wait_cell(const struct adv_view *view, size_t row, const void *item)
{
	(void)item;
	return np_cell_integer(wait_of(view_source(view)->rank, row));
}

static struct np_cell sync_cell(const struct adv_view *view, size_t row, const void *item)
{
	const struct np_rank *rank = view_source(view)->rank;

	(void)item;
	return np_cell_integer(np_rank_length(rank, np_rank_vendor_times(rank, row).sync));
}

static struct np_cell idle_cell(const struct adv_view *view, size_t row, const void *item)
{
	const struct np_rank *rank = view_source(view)->rank;
	const struct np_comm_op *op = item;
	np_ns busy = np_plus(transit_of(rank, row), wait_of(rank, row));

	return np_cell_integer(busy == NP_UNKNOWN ? NP_UNKNOWN : op->end - op->start - busy);
}

static struct np_cell p2p_cell(const struct adv_view *view, size_t row, const void *item)
{
	(void)view;
	(void)row;
	return np_cell_integer(((const struct np_comm_op *)item)->p2p);
}

/* clang-format off */
#define OP_COLUMNS(X) \
	X(rank, NP_INTEGER, VIEW_RANK_ID) \
	X(id, NP_INTEGER, VIEW_ROW) \
	X(step, NP_TEXT, VIEW_STEP(np_comm_op, step)) \
	X(device, NP_INTEGER, VIEW_NUMBER(np_comm_op, device)) \
	X(grp, NP_TEXT, VIEW_GET(hash_cell)) \
	X(group_name, NP_TEXT, VIEW_GET(group_name_cell)) \
	X(pg_name, NP_TEXT, VIEW_GET(pg_name_cell)) \
	X(group_ranks, NP_TEXT, VIEW_GET(members_cell)) \
	X(group_size, NP_INTEGER, VIEW_GET(group_size_cell)) \
	X(op_name, NP_TEXT, VIEW_RUN_TEXT(np_comm_op, name)) \
	X(op_type, NP_TEXT, VIEW_RUN_TEXT(np_comm_op, type)) \
	X(op_id, NP_INTEGER, VIEW_NUMBER_1(np_detail_op, op_id)) \
	X(start_ns, NP_INTEGER, VIEW_NUMBER(np_comm_op, start)) \
	X(end_ns, NP_INTEGER, VIEW_NUMBER(np_comm_op, end)) \
	X(elapse_ns, NP_INTEGER, VIEW_LENGTH(np_comm_op, start, end)) \
	X(transit_ns, NP_INTEGER, VIEW_GET(transit_cell)) \
	X(wait_ns, NP_INTEGER, VIEW_GET(wait_cell)) \
	X(sync_ns, NP_INTEGER, VIEW_GET(sync_cell)) \
	X(idle_ns, NP_INTEGER, VIEW_GET(idle_cell)) \
	X(is_p2p, NP_INTEGER, VIEW_GET(p2p_cell)) \
	X(size_b, NP_INTEGER, VIEW_NUMBER(np_comm_op, bytes)) \
	X(count, NP_INTEGER, VIEW_NUMBER_1(np_detail_op, count)) \
	X(data_type, NP_TEXT, VIEW_TEXT_1(np_detail_op, data_type)) \
	X(alg, NP_TEXT, VIEW_TEXT_1(np_detail_op, alg_type)) \
	X(relay, NP_INTEGER, VIEW_NUMBER_1(np_detail_op, relay)) \
	X(retry, NP_INTEGER, VIEW_NUMBER_1(np_detail_op, retry)) \
	X(conn_id, NP_INTEGER, VIEW_NUMBER_1(np_detail_op, connection))
/* clang-format on */
VIEW_TABLES(op, OP_COLUMNS);

/* Known only once the view is open: the cells need the texts of communicators. */
static bool op_known(const struct adv_view *view, size_t column)
{
	return !view->opened || adv_view_has_value(view, column, view->items[0].count);
}

static void begin_ops(struct adv_view *view, const struct adv_view_rank *source)
{
	view->present = source->rank->ops.count > 0;
	view->items[0] = VIEW_ITEMS(source->rank->ops);
	/* Views of all ranks at once have no details. */
	if (source->detail)
		view->items[1] = VIEW_ITEMS(source->detail->ops);
	view->open = open_ops;
	view->close = close_groups;
	view->known = op_known;
}

const struct adv_view_description adv_view_comm_op = {
	.name = "v_comm_op",
	VIEW_OF_TABLES(op),
	.begin = begin_ops,
	.scope = VIEW_RANK | VIEW_CLUSTER,
	.what = "communication operators; wait, sync and idle as the vendor defines them",
	.data = NP_DATA_OPERATORS,
};

/* The first of the bands of an operator and transport. */
struct band_row {
	uint32_t band;
	uint32_t op;
};

static struct np_cell transport_cell(const struct adv_view *view, size_t row, const void *item)
{
	(void)view;
	(void)row;
	return np_cell_text(np_band_name(((const struct np_band *)item)->type));
}

static struct np_cell bandwidth_cell(const struct adv_view *view, size_t row, const void *item)
{
	const struct np_band *band = item;

	(void)view;
	(void)row;
	return np_cell_real(np_gb_per_s(band->bytes, band->time));
}

/* clang-format off */
#define BAND_COLUMNS(X) \
	X(rank, NP_INTEGER, VIEW_RANK_ID) \
	X(step, NP_TEXT, VIEW_STEP_1(np_comm_op, step)) \
	X(op, NP_INTEGER, VIEW_NUMBER(np_band, op)) \
	X(op_name, NP_TEXT, VIEW_RUN_TEXT_1(np_comm_op, name)) \
	X(op_type, NP_TEXT, VIEW_RUN_TEXT_1(np_comm_op, type)) \
	X(transport, NP_TEXT, VIEW_GET(transport_cell)) \
	X(size_b, NP_INTEGER, VIEW_NUMBER(np_band, bytes)) \
	X(time_ns, NP_INTEGER, VIEW_NUMBER(np_band, time)) \
	X(bw_gbs, NP_REAL, VIEW_GET(bandwidth_cell)) \
	X(large_packet_ratio, NP_REAL, VIEW_NUMBER(np_band, large_packet_ratio))
/* clang-format on */
VIEW_TABLES(band, BAND_COLUMNS);

static int open_bands(struct adv_view *view, struct np_err *err)
{
	const struct np_rank *rank = view_source(view)->rank;
	NP_VEC(struct band_row) list = { 0 };
	int rc = NP_OK;

	for (size_t i = 0; i < rank->bands.count && rc == NP_OK; i++) {
		const struct np_band *band = &rank->bands.item[i];
		struct band_row *slot;

		if (i > 0 && band[-1].op == band->op && band[-1].type == band->type)
			continue;
		slot = np_vec_add(&list, err);
		if (slot)
			*slot = (struct band_row){ (uint32_t)i, band->op };
		else
			rc = NP_E_NOMEM;
	}
	view->state = list.item;
	view->items[0] = VIEW_ITEMS_AT(rank->bands, list.item, band);
	view->items[1] = VIEW_ITEMS_AT(rank->ops, list.item, op);
	view->rows = list.count;
	return rc;
}

static void begin_bands(struct adv_view *view, const struct adv_view_rank *source)
{
	view->present = source->rank->sizes_known && source->rank->bands.count > 0;
	view->open = open_bands;
}

const struct adv_view_description adv_view_comm_band = {
	.name = "v_comm_band",
	VIEW_OF_TABLES(band),
	.begin = begin_bands,
	.scope = VIEW_RANK | VIEW_CLUSTER,
	.what = "what an operator moved over each transport; SDMA holds HCCS, PCIE and SIO",
	.data = NP_DATA_SIZES,
};

/* clang-format off */
#define SUB_TASK_COLUMNS(X) \
	X(rank, NP_INTEGER, VIEW_RANK_ID) \
	X(step, NP_TEXT, VIEW_STEP_1(np_detail_op, step)) \
	X(op, NP_INTEGER, VIEW_INDEX(np_sub_task, op)) \
	X(op_id, NP_INTEGER, VIEW_NUMBER_1(np_detail_op, op_id)) \
	X(op_name, NP_TEXT, VIEW_TEXT_1(np_detail_op, name)) \
	X(plane, NP_INTEGER, VIEW_NUMBER(np_sub_task, plane)) \
	X(task_type, NP_TEXT, VIEW_TEXT(np_sub_task, type)) \
	X(transport, NP_TEXT, VIEW_TEXT(np_sub_task, transport)) \
	X(link, NP_TEXT, VIEW_TEXT(np_sub_task, link)) \
	X(rdma_type, NP_TEXT, VIEW_TEXT(np_sub_task, rdma_type)) \
	X(data_type, NP_TEXT, VIEW_TEXT(np_sub_task, data_type)) \
	X(size_b, NP_INTEGER, VIEW_NUMBER(np_sub_task, bytes)) \
	X(src, NP_INTEGER, VIEW_NUMBER(np_sub_task, src)) \
	X(dst, NP_INTEGER, VIEW_NUMBER(np_sub_task, dst)) \
	X(start_ns, NP_INTEGER, VIEW_NUMBER(np_sub_task, start)) \
	X(end_ns, NP_INTEGER, VIEW_NUMBER(np_sub_task, end)) \
	X(dur_ns, NP_INTEGER, VIEW_LENGTH(np_sub_task, start, end)) \
	X(bw_gbs, NP_REAL, VIEW_NUMBER(np_sub_task, bandwidth)) \
	X(stream, NP_INTEGER, VIEW_NUMBER(np_sub_task, stream)) \
	X(task_id, NP_INTEGER, VIEW_NUMBER(np_sub_task, task_id)) \
	X(notify_id, NP_INTEGER, VIEW_NUMBER(np_sub_task, notify_id)) \
	X(is_master, NP_INTEGER, VIEW_NUMBER(np_sub_task, master))
/* clang-format on */
VIEW_TABLES(sub_task, SUB_TASK_COLUMNS);

static bool sub_task_known(const struct adv_view *view, size_t column)
{
	return adv_view_has_value(view, column, view->items[0].count);
}

static void begin_sub_tasks(struct adv_view *view, const struct adv_view_rank *source)
{
	const struct np_detail *detail = source->detail;

	view->present = (detail->has & NP_DETAIL_SUB_TASKS) != 0 && detail->sub_tasks.count > 0;
	view->items[0] = VIEW_ITEMS(detail->sub_tasks);
	view->items[1] = VIEW_ITEMS_AT(detail->ops, detail->sub_tasks.item, op);
	view->known = sub_task_known;
}

const struct adv_view_description adv_view_comm_task = {
	.name = "v_comm_task",
	VIEW_OF_TABLES(sub_task),
	.begin = begin_sub_tasks,
	.scope = VIEW_RANK,
	.typical = 5000,
	.what = "small tasks of the operators: copies, reductions, notifications; op is v_comm_op.id",
	.cure = "profiler_level=Level1",
};
