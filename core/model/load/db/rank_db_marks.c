/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Communication operators by mstx marks: where a database has no COMMUNICATION_OP (no level,
 * msMonitor), HCCL marks each with a JSON text, and the task that it launched has its times.
 */
#include "rank_db.h"

#include "core/model/vendor/hccl_types.h"

#include "npuprof/arena.h"
#include "npuprof/text.h"

#include <inttypes.h>

/* A mark is a short text; longer ones are not ours. */
#define MOST_BYTES 4096

/* An operator that was marked, until its task is found. */
struct marked_op {
	np_ns mark;
	np_ns start; /* of its task; NP_UNKNOWN until it is found */
	np_ns end;
	int64_t connection;
	int64_t stream; /* NP_UNKNOWN */
	int64_t count;  /* of elements; NP_UNKNOWN */
	int32_t device;
	uint8_t data_type; /* as np_comm_op keeps it */
	uint32_t next;     /* on its stream, without a task; their number behind the last */
	const char *group;
	const char *name;
};

struct rank_db_marks {
	struct rank_db *load;
	NP_VEC(struct marked_op) ops; /* by mark */
	struct np_idmap *by_connection;
	struct np_idmap *by_stream; /* → the first that has no task yet */
	struct np_idset *taken;     /* rows of TASK that are one's task already */
};

/* --- marks ----------------------------------------------------------------------------------- */

/* Texts may have been escaped on their way: \" is ". */
static void unescape(struct np_buf *buf, const char *text, size_t length)
{
	for (size_t i = 0; i < length; i++) {
		if (text[i] == '\\' && i + 1 < length && text[i + 1] == '"')
			continue;
		np_buf_add_char(buf, text[i]);
	}
}

static const char *keep(struct rank_db *load, const char *text)
{
	return np_arena_text(load->arena, text, strlen(text));
}

/* A number, which may stand in quotes. */
static int64_t number_of(const struct np_json *value)
{
	const char *text = np_json_text(value);
	int64_t number = NP_UNKNOWN;

	if (text)
		return np_text_to_int(text, strlen(text), &number) ? number : NP_UNKNOWN;
	return np_json_integer(value, &number) ? number : NP_UNKNOWN;
}

/* Names of types stand there in any case. */
static uint8_t data_type_of(const char *text)
{
	char upper[32];
	size_t length = text ? strlen(text) : 0;

	if (length == 0 || length >= sizeof(upper))
		return 0;
	for (size_t i = 0; i <= length; i++)
		upper[i] = (char)(text[i] >= 'a' && text[i] <= 'z' ? text[i] - 'a' + 'A' : text[i]);
	return hccl_type_kept((struct np_slice){ upper, length });
}

/* An operator of HCCL: its communicator, name, stream, and how much of which type. */
static int take_document(struct rank_db_marks *marks, const struct np_json *doc, np_ns start,
			 int64_t connection)
{
	const char *group = np_json_text(np_json_member(doc, "groupName"));
	const char *name = np_json_text(np_json_member(doc, "opName"));
	struct rank_db *load = marks->load;
	struct marked_op *op;

	if (!group || !name || !*name)
		return NP_OK;
	op = np_vec_add(&marks->ops, load->err);
	if (!op)
		return NP_E_NOMEM;
	*op = (struct marked_op){
		.mark = start,
		.start = NP_UNKNOWN,
		.connection = connection,
		.stream = number_of(np_json_member(doc, "streamId")),
		.count = number_of(np_json_member(doc, "count")),
		.device = -1,
		.data_type = data_type_of(np_json_text(np_json_member(doc, "dataType"))),
		.group = keep(load, group),
		.name = keep(load, name),
	};
	return op->group && op->name ? NP_OK : np_fail_nomem(load->err, "mstx marks");
}

static int take_mark(struct rank_db *load, const struct np_batch *batch, size_t row)
{
	struct rank_db_text text = rank_db_text(load, batch->column[MARK_MESSAGE].integer[row]);
	np_ns start = batch->column[MARK_START].integer[row];
	NP_CLEANUP(np_buf_release) struct np_buf plain = NP_BUF_INIT;
	NP_CLEANUP(np_json_freep) struct np_json *doc = NULL;
	struct np_err ignored = NP_ERR_INIT;
	int rc;

	if (text.length > MOST_BYTES || !memmem(text.bytes, text.length, "groupName", 9) ||
	    !memmem(text.bytes, text.length, "opName", 6) || !vendor_time_ok(start, start))
		return NP_OK;
	unescape(&plain, text.bytes, text.length);
	rc = np_buf_check(&plain, load->err);
	if (rc < 0)
		return rc;
	/* What is no JSON is a mark of somebody else. */
	rc = np_json_parse(plain.text, plain.length, "mark", &doc, &ignored);
	if (rc < 0)
		return rc == NP_E_NOMEM ? np_fail_nomem(load->err, "mstx marks") : NP_OK;
	return take_document(load->marks, doc, start, batch->column[MARK_CONNECTION].integer[row]);
}

static int by_mark(const void *left, const void *right)
{
	const struct marked_op *a = left;
	const struct marked_op *b = right;

	return a->mark != b->mark ? np_order(a->mark, b->mark)
				  : np_order(a->connection, b->connection);
}

/* --- their tasks ----------------------------------------------------------------------------- */

static void set_task(struct marked_op *op, np_ns start, np_ns end, int64_t device)
{
	op->start = start;
	op->end = end;
	op->device = np_device_of(device);
}

/* The task of a connection; of several, from the first start to the last end. */
static int take_connected(struct rank_db *load, const struct np_batch *batch, size_t row)
{
	struct rank_db_marks *marks = load->marks;
	int64_t connection = batch->column[TASK_CONNECTION].integer[row];
	np_ns start = batch->column[TASK_START].integer[row];
	np_ns end = batch->column[TASK_END].integer[row];
	uint32_t index = np_idmap_get(marks->by_connection, connection);
	struct marked_op *op;

	if (connection < 0 || index == NP_IDMAP_NONE || !vendor_time_ok(start, end))
		return NP_OK;
	op = &marks->ops.item[index];
	if (op->start == NP_UNKNOWN)
		set_task(op, start, end, batch->column[TASK_DEVICE].integer[row]);
	op->start = start < op->start ? start : op->start;
	op->end = end > op->end ? end : op->end;
	return np_idset_add(marks->taken, batch->column[TASK_ID].integer[row], load->err);
}

/* Else the next task on the stream that starts at or after the mark and is nobody else's. */
static int take_streamed(struct rank_db *load, const struct np_batch *batch, size_t row)
{
	struct rank_db_marks *marks = load->marks;
	np_ns start = batch->column[TASK_START].integer[row];
	np_ns end = batch->column[TASK_END].integer[row];
	int64_t stream = batch->column[TASK_STREAM].integer[row];
	uint32_t index = np_idmap_get(marks->by_stream, stream);
	struct marked_op *op = index < marks->ops.count ? &marks->ops.item[index] : NULL;

	if (!op || op->mark > start || !vendor_time_ok(start, end) ||
	    np_idset_has(marks->taken, batch->column[TASK_ID].integer[row]))
		return NP_OK;
	set_task(op, start, end, batch->column[TASK_DEVICE].integer[row]);
	return np_idmap_set(marks->by_stream, stream, op->next, load->err);
}

static int index_connections(struct rank_db_marks *marks)
{
	int rc = NP_OK;

	for (size_t i = 0; i < marks->ops.count && rc == NP_OK; i++) {
		if (marks->ops.item[i].connection >= 0)
			rc = np_idmap_set(marks->by_connection, marks->ops.item[i].connection,
					  (uint32_t)i, marks->load->err);
	}
	return rc;
}

/* Those without a task wait on their stream, the first in front. */
static int queue_streams(struct rank_db_marks *marks, bool *ret_any)
{
	int rc = NP_OK;

	*ret_any = false;
	for (size_t i = marks->ops.count; i > 0 && rc == NP_OK; i--) {
		struct marked_op *op = &marks->ops.item[i - 1];

		if (op->start != NP_UNKNOWN || op->stream == NP_UNKNOWN)
			continue;
		*ret_any = true;
		op->next = np_idmap_get(marks->by_stream, op->stream);
		if (op->next == NP_IDMAP_NONE)
			op->next = (uint32_t)marks->ops.count;
		rc = np_idmap_set(marks->by_stream, op->stream, (uint32_t)(i - 1),
				  marks->load->err);
	}
	return rc;
}

static int find_tasks(struct rank_db_marks *marks)
{
	static const struct vendor_pick tasks = {
		&vendor_task,
		VENDOR_BIT(TASK_START) | VENDOR_BIT(TASK_END) | VENDOR_BIT(TASK_DEVICE) |
			VENDOR_BIT(TASK_CONNECTION) | VENDOR_BIT(TASK_ID) | VENDOR_BIT(TASK_STREAM),
		0,
	};
	bool waiting = false;
	int rc = index_connections(marks);

	if (rc == NP_OK)
		rc = rank_db_each(marks->load, &tasks, take_connected);
	if (rc == NP_OK)
		rc = queue_streams(marks, &waiting);
	return rc == NP_OK && waiting ? rank_db_each(marks->load, &tasks, take_streamed) : rc;
}

/* --- operators ------------------------------------------------------------------------------- */

static int by_start(const void *left, const void *right)
{
	const struct marked_op *a = left;
	const struct marked_op *b = right;

	return a->start != b->start ? np_order(a->start, b->start) : by_mark(left, right);
}

/* How many of this communicator and name were before: part of the vendor's name. */
static size_t count_before(struct np_strtab *seen, size_t *counts, const struct marked_op *op,
			   struct np_err *err)
{
	NP_CLEANUP(np_buf_release) struct np_buf key = NP_BUF_INIT;
	np_str id;

	np_buf_printf(&key, "%s\n%s", op->group, op->name);
	if (np_buf_check(&key, err) < 0 || np_strtab_add(seen, key.text, key.length, &id, err) < 0)
		return SIZE_MAX;
	return counts[id]++;
}

static int add_op(struct rank_db *load, const struct marked_op *from, size_t number)
{
	uint64_t hash = np_group_hash(from->group, strlen(from->group));
	NP_CLEANUP(np_buf_release) struct np_buf type = NP_BUF_INIT;
	NP_CLEANUP(np_buf_release) struct np_buf name = NP_BUF_INIT;
	struct np_comm_op *op;
	struct np_group *group;
	int64_t *id;
	int rc;

	np_buf_printf(&type, "%s_", from->name);
	np_buf_printf(&name, "%s_%03" PRIu64 "_%zu_1", type.text, hash % 1000, number);
	if (np_buf_check(&type, load->err) < 0 || np_buf_check(&name, load->err) < 0)
		return NP_E_NOMEM;
	op = capture_add_op(&load->capture, from->start, from->end, from->connection);
	id = op ? np_vec_add(&load->op_ids, load->err) : NULL;
	if (!id)
		return NP_E_NOMEM;
	*id = (int64_t)load->op_ids.count - 1;
	op->device = (int8_t)from->device;
	op->data_type = from->data_type & 31U;
	op->bytes = from->data_type ? hccl_bytes(from->count, from->data_type - 1) : NP_UNKNOWN;
	op->p2p = np_op_is_p2p(name.text);
	rc = np_strtab_add(load->strings, name.text, name.length, &op->name, load->err);
	if (rc == NP_OK)
		rc = np_strtab_add(load->strings, type.text, type.length, &op->type, load->err);
	if (rc == NP_OK)
		rc = np_rank_group(load->rank, hash, &op->group, load->err);
	if (rc < 0)
		return rc;
	group = &load->rank->groups.item[op->group];
	return group->name == NP_STR_NONE && *from->group
		       ? np_strtab_add(load->strings, from->group, strlen(from->group),
				       &group->name, load->err)
		       : NP_OK;
}

static int add_ops(struct rank_db_marks *marks)
{
	struct rank_db *load = marks->load;
	struct np_strtab *seen = np_strtab_new();
	size_t *counts = calloc(marks->ops.count + 2, sizeof(*counts));
	size_t lost = 0;
	int rc = seen && counts ? NP_OK : np_fail_nomem(load->err, "mstx marks");

	if (marks->ops.count > 0)
		qsort(marks->ops.item, marks->ops.count, sizeof(*marks->ops.item), by_start);
	for (size_t i = 0; i < marks->ops.count && rc == NP_OK; i++) {
		const struct marked_op *op = &marks->ops.item[i];
		size_t number;

		if (op->start == NP_UNKNOWN) {
			lost++;
			continue;
		}
		number = count_before(seen, counts, op, load->err);
		rc = number == SIZE_MAX ? NP_E_NOMEM : add_op(load, op, number);
	}
	if (rc == NP_OK && marks->ops.count > 0)
		np_note_add(&load->rank->notes, NP_NOTE_WARNING, load->rank->id,
			    np_db_path(load->db), "COMMUNICATION_OP",
			    "%zu operators are from mstx marks: no sizes of transfers and no links",
			    marks->ops.count - lost);
	if (rc == NP_OK && lost > 0)
		np_note_add(&load->rank->notes, NP_NOTE_WARNING, load->rank->id,
			    np_db_path(load->db), "MSTX_EVENTS",
			    "%zu marks of operators have no task, and so no times", lost);
	load->ops_marked = rc == NP_OK && marks->ops.count > lost;
	np_strtab_free(seen);
	free(counts);
	return rc;
}

int rank_db_read_marked_ops(struct rank_db *load)
{
	static const struct vendor_pick marks_of = {
		&vendor_mstx_events,
		VENDOR_BIT(MARK_START) | VENDOR_BIT(MARK_MESSAGE) | VENDOR_BIT(MARK_CONNECTION), 0
	};
	struct rank_db_marks own = { .load = load,
				     .by_connection = np_idmap_new(),
				     .by_stream = np_idmap_new(),
				     .taken = np_idset_new() };
	int rc = own.by_connection && own.by_stream && own.taken
			 ? NP_OK
			 : np_fail_nomem(load->err, "mstx marks");

	load->marks = &own;
	if (rc == NP_OK)
		rc = rank_db_each(load, &marks_of, take_mark);
	if (rc == NP_OK && own.ops.count > 0) {
		qsort(own.ops.item, own.ops.count, sizeof(*own.ops.item), by_mark);
		rc = find_tasks(&own);
	}
	if (rc == NP_OK && own.ops.count > 0)
		rc = add_ops(&own);
	load->marks = NULL;
	np_vec_release(&own.ops);
	np_idmap_free(own.by_connection);
	np_idmap_free(own.by_stream);
	np_idset_free(own.taken);
	return rc;
}
