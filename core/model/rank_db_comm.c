/* SPDX-License-Identifier: Apache-2.0 */
#include "rank_db.h"

#include "npuprof/comm_tasks.h"

/* "No value" in columns that are unsigned 32-bit numbers at the source. */
#define NO_VALUE UINT32_MAX

enum {
	OP_NAME,
	OP_START,
	OP_END,
	OP_CONNECTION,
	OP_GROUP,
	OP_ID,
	OP_DATA_TYPE,
	OP_COUNT,
	OP_RELAY,
	OP_RETRY,
	OP_TYPE,
	OP_DEVICE,
	OP_COLUMNS,
};

static const struct np_scan_column op_columns[OP_COLUMNS] = {
	[OP_NAME] = { "opName", NP_SCAN_INTEGER, NP_REQUIRED },
	[OP_START] = { "startNs", NP_SCAN_INTEGER, NP_REQUIRED },
	[OP_END] = { "endNs", NP_SCAN_INTEGER, NP_REQUIRED },
	[OP_CONNECTION] = { "connectionId", NP_SCAN_INTEGER, NP_OPTIONAL },
	[OP_GROUP] = { "groupName", NP_SCAN_INTEGER, NP_REQUIRED },
	[OP_ID] = { "opId", NP_SCAN_INTEGER, NP_REQUIRED },
	[OP_DATA_TYPE] = { "dataType", NP_SCAN_INTEGER, NP_OPTIONAL },
	[OP_COUNT] = { "count", NP_SCAN_INTEGER, NP_OPTIONAL },
	[OP_RELAY] = { "relay", NP_SCAN_INTEGER, NP_OPTIONAL },
	[OP_RETRY] = { "retry", NP_SCAN_INTEGER, NP_OPTIONAL },
	[OP_TYPE] = { "opType", NP_SCAN_INTEGER, NP_OPTIONAL },
	[OP_DEVICE] = { "deviceId", NP_SCAN_INTEGER, NP_OPTIONAL },
};

/* Bytes of an element by the number of its HCCL data type; 0 for one that has no fixed size. */
static int64_t element_bytes(int64_t data_type)
{
	static const uint8_t bytes[] = { 1, 2, 4, 2, 4, 8, 8, 1, 2, 4, 8, 2, 16 };

	return data_type >= 0 && data_type < (int64_t)NP_COUNT(bytes) ? bytes[data_type] : 0;
}

static int64_t op_bytes(int64_t count, int64_t data_type)
{
	int64_t size = element_bytes(data_type);
	int64_t bytes;

	if (count < 0 || size == 0 || __builtin_mul_overflow(count, size, &bytes) ||
	    bytes > NP_MOST_BYTES)
		return NP_UNKNOWN;
	return bytes;
}

static int op_group(struct rank_db *load, int64_t name_id, uint32_t *ret)
{
	struct rank_db_text name = rank_db_text(load, name_id);
	struct np_group *group;
	int rc = np_rank_group(load->rank, np_group_hash(name.bytes, name.length), ret, load->err);

	if (rc < 0)
		return rc;
	group = &load->rank->groups.item[*ret];
	if (group->name == NP_STR_NONE && name.length > 0)
		rc = rank_db_intern(load, name_id, &group->name);
	return rc;
}

/* Old databases have no opType column: the name up to its number is the type. */
static int op_type(struct rank_db *load, int64_t type_id, int64_t name_id, np_str *ret)
{
	struct rank_db_text name = rank_db_text(load, name_id);
	const char *end;

	if (type_id != NP_UNKNOWN && np_idmap_get(load->text_index, type_id) != NP_IDMAP_NONE)
		return rank_db_intern(load, type_id, ret);
	end = strstr(name.bytes, "__");
	return np_strtab_add(load->strings, name.bytes,
			     end ? (size_t)(end + 1 - name.bytes) : name.length, ret, load->err);
}

static int take_op(struct rank_db *load, const struct np_batch *batch, size_t row)
{
	np_ns start = batch->column[OP_START].integer[row];
	np_ns end = batch->column[OP_END].integer[row];
	struct np_rank *rank = load->rank;
	struct np_comm_op *op;
	int rc;

	if (!capture_time_ok(start, end)) {
		load->capture.impossible_times++;
		return NP_OK;
	}
	op = capture_add_op(&load->capture, start, end, batch->column[OP_CONNECTION].integer[row]);
	if (!op)
		return NP_E_NOMEM;
	op->device = capture_op_device(&load->capture, batch->column[OP_DEVICE].integer[row],
				       batch->column[OP_CONNECTION].integer[row]);
	op->bytes = op_bytes(batch->column[OP_COUNT].integer[row],
			     batch->column[OP_DATA_TYPE].integer[row]);
	if (element_bytes(batch->column[OP_DATA_TYPE].integer[row]) > 0)
		op->data_type = (uint8_t)(batch->column[OP_DATA_TYPE].integer[row] + 1) & 31U;
	op->relayed = batch->column[OP_RELAY].integer[row] == 1;
	op->retried = batch->column[OP_RETRY].integer[row] == 1;
	op->p2p = np_op_is_p2p(rank_db_text(load, batch->column[OP_NAME].integer[row]).bytes);
	rc = rank_db_intern(load, batch->column[OP_NAME].integer[row], &op->name);
	if (rc == NP_OK)
		rc = op_type(load, batch->column[OP_TYPE].integer[row],
			     batch->column[OP_NAME].integer[row], &op->type);
	if (rc == NP_OK)
		rc = op_group(load, batch->column[OP_GROUP].integer[row], &op->group);
	if (rc == NP_OK)
		rc = np_idmap_set(load->op_index, batch->column[OP_ID].integer[row],
				  (uint32_t)(rank->ops.count - 1), load->err);
	return rc;
}

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

struct small_tasks {
	NP_VEC(struct np_comm_task) list;
	struct np_idmap *kinds; /* STRING_IDS.id of taskType → enum small_kind */
	struct np_comm_tasks_form form;
	size_t orphans;
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

static int kind_of(struct rank_db *load, struct small_tasks *small, int64_t type_id,
		   enum task_class class, struct np_comm_task *task)
{
	uint32_t kind = np_idmap_get(small->kinds, type_id);

	if (kind == NP_IDMAP_NONE) {
		int rc;

		kind = small_kind_of(rank_db_text(load, type_id));
		rc = np_idmap_set(small->kinds, type_id, kind, load->err);
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

static int32_t peer_of(int64_t value)
{
	return value < 0 || value >= INT32_MAX ? NP_NO_PEER : (int32_t)value;
}

static int take_small(struct rank_db *load, struct small_tasks *small, const struct np_batch *batch,
		      size_t row)
{
	uint32_t task_at = np_idmap_get(load->task_index, batch->column[SMALL_TASK].integer[row]);
	uint32_t op = np_idmap_get(load->op_index, batch->column[SMALL_OP].integer[row]);
	int64_t plane = batch->column[SMALL_PLANE].integer[row];
	int64_t size = batch->column[SMALL_SIZE].integer[row];
	struct np_comm_task *task;
	int rc;

	if (task_at == NP_IDMAP_NONE || op == NP_IDMAP_NONE) {
		small->orphans++;
		return NP_OK;
	}
	task = np_vec_add(&small->list, load->err);
	if (!task)
		return NP_E_NOMEM;
	load->capture.tasks.item[task_at].of_op = true;
	task->start = load->capture.tasks.item[task_at].start;
	task->end = load->capture.tasks.item[task_at].end;
	task->op = op;
	task->bytes = size < 0 || size > NP_MOST_BYTES ? NP_UNKNOWN : size;
	task->plane = plane < 0 || plane >= NO_VALUE ? 0 : (uint32_t)plane;
	task->src = peer_of(batch->column[SMALL_SRC].integer[row]);
	task->dst = peer_of(batch->column[SMALL_DST].integer[row]);
	np_comm_op_meet(&load->rank->ops.item[op], task->src, task->dst);
	task->link = (uint16_t)(batch->column[SMALL_LINK].integer[row] & UINT16_MAX);
	task->transport = (uint8_t)(batch->column[SMALL_TRANSPORT].integer[row] & UINT8_MAX);
	task->master = batch->column[SMALL_MASTER].integer[row] == 1;
	if (plane >= 0 && plane < NO_VALUE)
		small->form.has_links = true;
	rc = kind_of(load, small, batch->column[SMALL_TYPE].integer[row],
		     load->capture.tasks.item[task_at].class, task);
	if (batch->column[SMALL_RDMA].integer[row] == NP_RDMA_SEND_PAYLOAD)
		task->kind = NP_TASK_RDMA_PAYLOAD;
	return rc;
}

static int read_small(struct rank_db *load, struct small_tasks *small)
{
	NP_CLEANUP(np_scan_closep) struct np_scan *scan = NULL;
	struct np_batch batch;
	int rc = np_scan_open(load->db, "COMMUNICATION_TASK_INFO", small_columns, SMALL_COLUMNS,
			      &scan, load->err);

	if (rc == NP_E_NOTFOUND)
		return NP_OK;
	if (rc < 0)
		return rc;
	small->form.has_master = np_scan_has(scan, SMALL_MASTER);
	while (rc == NP_OK) {
		rc = np_scan_next(scan, &batch, load->err);
		if (rc < 0 || batch.rows == 0)
			break;
		for (size_t i = 0; i < batch.rows && rc == NP_OK; i++)
			rc = take_small(load, small, &batch, i);
	}
	return rc;
}

static int measure_small(struct rank_db *load)
{
	struct small_tasks small = { .kinds = np_idmap_new() };
	int rc;

	if (!small.kinds)
		return np_fail_nomem(load->err, "communication tasks");
	rc = read_small(load, &small);
	if (rc == NP_OK && small.list.count > 0)
		rc = np_comm_tasks_measure(load->rank, load->strings, small.list.item,
					   small.list.count, small.form, load->err);
	load->rank->sizes_known = small.form.has_links;
	if (small.orphans > 0)
		np_note_add(&load->rank->notes, NP_NOTE_WARNING, load->rank->id,
			    np_db_path(load->db), "COMMUNICATION_TASK_INFO",
			    "%zu small tasks belong to no operator or task of the file",
			    small.orphans);
	np_vec_release(&small.list);
	np_idmap_free(small.kinds);
	return rc;
}

int rank_db_read_comm(struct rank_db *load)
{
	int rc = rank_db_each(load, "COMMUNICATION_OP", op_columns, OP_COLUMNS, take_op);

	if (rc == NP_OK)
		rc = measure_small(load);
	return rc;
}
