/* SPDX-License-Identifier: Apache-2.0 */
#include "rank_db.h"

/* "No value" in columns that are unsigned 32-bit numbers at the source. */
#define NO_VALUE UINT32_MAX

enum {
	SMALL_TASK,
	SMALL_TYPE,
	SMALL_PLANE,
	SMALL_RDMA,
	SMALL_SRC,
	SMALL_DST,
	SMALL_TRANSPORT,
	SMALL_SIZE,
	SMALL_LINK,
	SMALL_OP,
	SMALL_MASTER,
	SMALL_COLUMNS,
};

static const struct np_scan_column small_columns[SMALL_COLUMNS] = {
	[SMALL_TASK] = { "globalTaskId", NP_SCAN_INTEGER, NP_REQUIRED },
	[SMALL_TYPE] = { "taskType", NP_SCAN_INTEGER, NP_REQUIRED },
	[SMALL_PLANE] = { "planeId", NP_SCAN_INTEGER, NP_REQUIRED },
	[SMALL_RDMA] = { "rdmaType", NP_SCAN_INTEGER, NP_OPTIONAL },
	[SMALL_SRC] = { "srcRank", NP_SCAN_INTEGER, NP_REQUIRED },
	[SMALL_DST] = { "dstRank", NP_SCAN_INTEGER, NP_REQUIRED },
	[SMALL_TRANSPORT] = { "transportType", NP_SCAN_INTEGER, NP_REQUIRED },
	[SMALL_SIZE] = { "size", NP_SCAN_INTEGER, NP_REQUIRED },
	[SMALL_LINK] = { "linkType", NP_SCAN_INTEGER, NP_REQUIRED },
	[SMALL_OP] = { "opId", NP_SCAN_INTEGER, NP_REQUIRED },
	[SMALL_MASTER] = { "isMaster", NP_SCAN_INTEGER, NP_OPTIONAL },
};

/* Of the task type's text; RDMA sends are told by another column. */
enum small_kind {
	SMALL_OTHER,
	SMALL_WAIT,
	SMALL_PAYLOAD,
	SMALL_REDUCE,
	SMALL_NOT_RECORDED, /* "N/A": Level0, where only TASK.taskType tells */
};

static enum small_kind small_kind_of(struct rank_db_text text)
{
	char plain[32];

	capture_plain_type(text.bytes, text.length, plain, sizeof(plain));
	if (strcmp(plain, "NOTIFYWAIT") == 0)
		return SMALL_WAIT;
	if (strcmp(plain, "MEMCPY") == 0)
		return SMALL_PAYLOAD;
	if (strcmp(plain, "REDUCEINLINE") == 0)
		return SMALL_REDUCE;
	return strcmp(plain, "NA") == 0 || plain[0] == '\0' ? SMALL_NOT_RECORDED : SMALL_OTHER;
}

static int kind_of(struct rank_db *load, int64_t type_id, enum task_class class,
		   struct np_comm_task *task)
{
	uint32_t kind = np_idmap_get(load->small.kinds, type_id);

	if (kind == NP_IDMAP_NONE) {
		int rc;

		kind = small_kind_of(rank_db_text(load, type_id));
		rc = np_idmap_set(load->small.kinds, type_id, kind, load->err);
		if (rc < 0)
			return rc;
	}
	task->kind = NP_TASK_OTHER;
	task->reduces = kind == SMALL_REDUCE;
	if (kind == SMALL_WAIT || (kind == SMALL_NOT_RECORDED && class == TASK_NOTIFY_WAIT))
		task->kind = NP_TASK_NOTIFY_WAIT;
	else if (kind == SMALL_PAYLOAD || kind == SMALL_REDUCE ||
		 (kind == SMALL_NOT_RECORDED && class == TASK_SDMA))
		task->kind = NP_TASK_PAYLOAD;
	return NP_OK;
}

/* A row of the table; its times and the rest of its kind are those of its task. */
static struct rank_db_small_row read_row(const struct np_batch *batch, size_t row)
{
	int64_t plane = batch->column[SMALL_PLANE].integer[row];
	int64_t size = batch->column[SMALL_SIZE].integer[row];

	return (struct rank_db_small_row){
		.key = batch->column[SMALL_TASK].integer[row],
		.type = batch->column[SMALL_TYPE].integer[row],
		.rdma = batch->column[SMALL_RDMA].integer[row] == NP_RDMA_SEND_PAYLOAD,
		.has_plane = plane >= 0 && plane < NO_VALUE,
		.task = {
			.bytes = size < 0 || size > NP_MOST_BYTES ? NP_UNKNOWN : size,
			.plane = plane < 0 || plane >= NO_VALUE ? 0 : (uint32_t)plane,
			.src = np_peer_of(batch->column[SMALL_SRC].integer[row]),
			.dst = np_peer_of(batch->column[SMALL_DST].integer[row]),
			.link = (uint16_t)(batch->column[SMALL_LINK].integer[row] & UINT16_MAX),
			.transport = (uint8_t)(batch->column[SMALL_TRANSPORT].integer[row] &
					       UINT8_MAX),
			.master = batch->column[SMALL_MASTER].integer[row] == 1,
		},
	};
}

/* Operators that were measured cannot get another task, nor learn that there are planes. */
static void check_order(struct rank_db *load, const struct rank_db_small_row *row)
{
	struct rank_db_small *small = &load->small;

	if (!load->capture.in_parts)
		return;
	if (np_idset_has(small->measured, row->task.op) ||
	    (row->has_plane && !small->form.has_links && small->any_measured))
		load->capture.unordered = true;
}

static int take_small(struct rank_db *load, const struct rank_db_small_row *row, bool *ret_waits)
{
	uint32_t index = rank_db_find_task(load, row->key, ret_waits);
	struct capture_task *from;
	struct np_comm_task *task;
	int rc;

	if (index == NP_IDMAP_NONE) {
		load->small.orphans += !*ret_waits;
		return NP_OK;
	}
	check_order(load, row);
	task = np_vec_add(&load->small.list, load->err);
	if (!task)
		return NP_E_NOMEM;
	from = &load->capture.tasks.item[index];
	from->of_op = true;
	*task = row->task;
	task->start = from->start;
	task->end = from->end;
	np_comm_op_meet(&load->rank->ops.item[task->op], task->src, task->dst);
	load->small.form.has_links |= row->has_plane;
	rc = kind_of(load, row->type, (enum task_class)from->class, task);
	if (row->rdma)
		task->kind = NP_TASK_RDMA_PAYLOAD;
	return rc;
}

static int take_waiting(struct rank_db *load)
{
	struct rank_db_small *small = &load->small;
	size_t kept = 0;
	int rc = NP_OK;

	for (size_t i = 0; i < small->waiting.count && rc == NP_OK; i++) {
		struct rank_db_small_row row = small->waiting.item[i];
		bool waits;

		rc = take_small(load, &row, &waits);
		if (waits)
			small->waiting.item[kept++] = row;
	}
	small->waiting.count = kept;
	return rc;
}

static int let_wait(struct rank_db *load, const struct rank_db_small_row *row)
{
	struct rank_db_small_row *slot;

	if (load->small.waiting.count == RANK_DB_MOST_WAITING) {
		load->capture.unordered = true;
		return NP_OK;
	}
	slot = np_vec_add(&load->small.waiting, load->err);
	if (!slot)
		return NP_E_NOMEM;
	*slot = *row;
	return NP_OK;
}

int rank_db_read_small(struct rank_db *load)
{
	struct rank_db_table *table = &load->small.table;
	int rc = take_waiting(load);

	while (rc == NP_OK && !load->capture.unordered) {
		struct rank_db_small_row row;
		bool waits;

		rc = rank_db_fill(load, table);
		if (rc < 0 || table->done)
			break;
		row = read_row(&table->batch, table->row);
		if (rank_db_is_ahead(load, row.key))
			break;
		row.task.op = np_idmap_get(load->op_index,
					   table->batch.column[SMALL_OP].integer[table->row]);
		table->row++;
		if (row.task.op == NP_IDMAP_NONE) {
			load->small.orphans++;
			continue;
		}
		rc = take_small(load, &row, &waits);
		if (rc == NP_OK && waits)
			rc = let_wait(load, &row);
	}
	return rc;
}

/* --- measuring ------------------------------------------------------------------------------- */

int rank_db_measure_small_until(struct rank_db *load, np_ns until)
{
	struct rank_db_small *small = &load->small;
	size_t kept = 0;
	int rc = NP_OK;

	small->done.count = 0;
	for (size_t i = 0; i < small->list.count && rc == NP_OK; i++) {
		struct np_comm_task task = small->list.item[i];
		struct np_comm_task *done;

		if (load->rank->ops.item[task.op].end > until) {
			small->list.item[kept++] = task;
			continue;
		}
		done = np_vec_add(&small->done, load->err);
		if (!done)
			return NP_E_NOMEM;
		*done = task;
		small->any_measured = true;
		rc = np_idset_add(small->measured, task.op, load->err);
	}
	small->list.count = kept;
	if (rc == NP_OK && small->done.count > 0)
		rc = np_comm_tasks_add(small->ops, small->done.item, small->done.count, small->form,
				       load->err);
	return rc;
}

int rank_db_measure_small(struct rank_db *load)
{
	struct rank_db_small *small = &load->small;
	int rc = NP_OK;

	if (small->list.count > 0)
		rc = np_comm_tasks_add(small->ops, small->list.item, small->list.count, small->form,
				       load->err);
	np_load_sort_bands(load->rank);
	if (rc == NP_OK)
		rc = np_comm_tasks_finish(small->ops, small->form, load->err);
	load->rank->sizes_known = small->form.has_links;
	if (small->orphans > 0)
		np_note_add(&load->rank->notes, NP_NOTE_WARNING, load->rank->id,
			    np_db_path(load->db), "COMMUNICATION_TASK_INFO",
			    "%zu small tasks belong to no operator or task of the file",
			    small->orphans);
	return rc;
}

int rank_db_begin_small(struct rank_db *load)
{
	struct rank_db_small *small = &load->small;
	int rc;

	small->kinds = np_idmap_new();
	small->measured = np_idset_new();
	small->ops = np_comm_tasks_new(load->rank, load->strings);
	if (!small->kinds || !small->measured || !small->ops)
		return np_fail_nomem(load->err, "communication tasks");
	rc = rank_db_open(load, "COMMUNICATION_TASK_INFO", small_columns, SMALL_COLUMNS,
			  &small->table);
	small->form.has_master =
		rc == NP_OK && small->table.scan && np_scan_has(small->table.scan, SMALL_MASTER);
	return rc;
}

void rank_db_end_small(struct rank_db *load)
{
	struct rank_db_small *small = &load->small;

	np_scan_close(small->table.scan);
	np_idmap_free(small->kinds);
	np_idset_free(small->measured);
	np_comm_tasks_free(small->ops);
	np_vec_release(&small->list);
	np_vec_release(&small->done);
	np_vec_release(&small->waiting);
}
