/* SPDX-License-Identifier: Apache-2.0 */
/* Sub-tasks of communication operators, read beside the tasks that they are. */
#include "core/model/load/capture/comm_steps.h"
#include "core/model/vendor/hccl_types.h"
#include "rank_db.h"

static int kind_of(struct rank_db *load, int64_t type_id, enum task_class class,
		   struct np_comm_task *task)
{
	uint32_t kind = np_idmap_get(load->sub_task.kinds, type_id);

	if (kind == NP_IDMAP_NONE) {
		struct rank_db_text type = rank_db_text(load, type_id);
		int rc;

		kind = vendor_sub_task_kind(type.bytes, type.length);
		rc = np_idmap_set(load->sub_task.kinds, type_id, kind, load->err);
		if (rc < 0)
			return rc;
	}
	task->kind = NP_TASK_OTHER;
	task->reduces = kind == SUB_TASK_REDUCE;
	if (kind == SUB_TASK_WAIT || (kind == SUB_TASK_NOT_RECORDED && class == TASK_NOTIFY_WAIT))
		task->kind = NP_TASK_NOTIFY_WAIT;
	else if (kind == SUB_TASK_PAYLOAD || kind == SUB_TASK_REDUCE ||
		 (kind == SUB_TASK_NOT_RECORDED && class == TASK_SDMA))
		task->kind = NP_TASK_PAYLOAD;
	return NP_OK;
}

/* --- numbers of links and transports ---------------------------------------------------------- */

/* Numbers have moved with versions: the database says what its own mean. */
static int keep_number(struct rank_db *load, struct np_idmap **map, int64_t id, uint32_t number)
{
	if (!*map)
		*map = np_idmap_new();
	if (!*map)
		return np_fail_nomem(load->err, "communication tasks");
	return np_idmap_set(*map, id, number, load->err);
}

static int take_link_name(struct rank_db *load, const struct np_batch *batch, size_t row)
{
	struct np_scan_text name = batch->column[ENUM_NAME].text[row];

	if (!name.bytes)
		return NP_OK;
	return keep_number(load, &load->sub_task.link_numbers, batch->column[ENUM_ID].integer[row],
			   hccl_link_number((struct np_slice){ name.bytes, name.length }));
}

static int take_transport_name(struct rank_db *load, const struct np_batch *batch, size_t row)
{
	struct np_scan_text name = batch->column[ENUM_NAME].text[row];

	if (!name.bytes)
		return NP_OK;
	return keep_number(load, &load->sub_task.transport_numbers,
			   batch->column[ENUM_ID].integer[row],
			   hccl_transport_number((struct np_slice){ name.bytes, name.length }));
}

static int take_rdma_name(struct rank_db *load, const struct np_batch *batch, size_t row)
{
	struct np_scan_text name = batch->column[ENUM_NAME].text[row];

	if (name.bytes && hccl_is_rdma_payload((struct np_slice){ name.bytes, name.length }))
		load->sub_task.rdma_payload = batch->column[ENUM_ID].integer[row];
	return NP_OK;
}

static int read_numbers(struct rank_db *load)
{
	static const struct {
		struct vendor_pick names;
		rank_db_take *take;
	} tables[] = {
		{ { &vendor_enum_link, 0, 0 }, take_link_name },
		{ { &vendor_enum_transport, 0, 0 }, take_transport_name },
		{ { &vendor_enum_rdma, 0, 0 }, take_rdma_name },
	};

	load->sub_task.rdma_payload = NP_RDMA_SEND_PAYLOAD;
	for (size_t i = 0; i < NP_COUNT(tables); i++) {
		int rc = rank_db_each(load, &tables[i].names, tables[i].take);

		if (rc == NP_E_NOMEM)
			return rc;
		if (rc == NP_OK)
			continue;
		np_note_add(&load->rank->notes, NP_NOTE_WARNING, load->rank->id,
			    np_db_path(load->db), tables[i].names.table->name,
			    "%s: numbers are read as they usually are", load->err->text);
		*load->err = NP_ERR_INIT;
	}
	return NP_OK;
}

/* Our number for one of the database; without names it is taken as it is. */
static uint32_t number_of(struct np_idmap *map, int64_t number)
{
	uint32_t known = map ? np_idmap_get(map, number) : NP_IDMAP_NONE;

	return known == NP_IDMAP_NONE ? (uint32_t)(number & UINT16_MAX) : known;
}

/* --- rows --------------------------------------------------------------------------------------
 */

/* A row of the table; its times and the rest of its kind are those of its task. */
static struct rank_db_sub_task_row read_row(const struct rank_db_sub_task *sub_task,
					    const struct np_batch *batch, size_t row)
{
	int64_t plane = batch->column[SUB_TASK_PLANE].integer[row];
	int64_t size = batch->column[SUB_TASK_SIZE].integer[row];

	return (struct rank_db_sub_task_row){
		.key = batch->column[SUB_TASK_TASK].integer[row],
		.type = batch->column[SUB_TASK_TYPE].integer[row],
		.rdma = batch->column[SUB_TASK_RDMA].integer[row] == sub_task->rdma_payload,
		.has_plane = plane >= 0 && plane < VENDOR_NO_NUMBER,
		.task = {
			.bytes = vendor_bytes(size),
			.plane = plane < 0 || plane >= VENDOR_NO_NUMBER ? 0 : (uint32_t)plane,
			.src = np_peer_of(batch->column[SUB_TASK_SRC].integer[row]),
			.dst = np_peer_of(batch->column[SUB_TASK_DST].integer[row]),
			.link = (uint16_t)number_of(sub_task->link_numbers,
						    batch->column[SUB_TASK_LINK].integer[row]),
			.transport = (uint8_t)number_of(
				sub_task->transport_numbers,
				batch->column[SUB_TASK_TRANSPORT].integer[row]),
			.master = batch->column[SUB_TASK_MASTER].integer[row] == 1,
		},
	};
}

/* Operators that were measured cannot get another task, nor learn that there are planes. */
static void check_order(struct rank_db *load, const struct rank_db_sub_task_row *row)
{
	struct rank_db_sub_task *sub_task = &load->sub_task;

	if (!load->capture.in_parts)
		return;
	if (np_idset_has(sub_task->measured, row->task.op) ||
	    (row->has_plane && !sub_task->form.has_links && sub_task->any_measured))
		load->capture.unordered = true;
}

static int take_sub_task(struct rank_db *load, const struct rank_db_sub_task_row *row,
			 bool *ret_waits)
{
	uint32_t index = rank_db_find_task(load, row->key, ret_waits);
	struct capture_task *from;
	struct np_comm_task *task;
	int rc;

	if (index == NP_IDMAP_NONE) {
		load->sub_task.orphans += !*ret_waits;
		return NP_OK;
	}
	from = &load->capture.tasks.item[index];
	if (from->taken) {
		load->sub_task.twice++;
		return NP_OK;
	}
	check_order(load, row);
	load->sub_task.taken++;
	task = np_vec_add(&load->sub_task.list, load->err);
	if (!task)
		return NP_E_NOMEM;
	from->of_op = true;
	from->taken = true;
	*task = row->task;
	task->start = from->start;
	task->end = from->end;
	if (!vendor_speed_ok(task->bytes, task->start, task->end)) {
		task->bytes = NP_UNKNOWN;
		load->sub_task.too_fast++;
	}
	np_rank_meet(load->rank, task->op, task->src, task->dst);
	load->sub_task.form.has_links |= row->has_plane;
	rc = kind_of(load, row->type, (enum task_class)from->class, task);
	if (row->rdma)
		task->kind = NP_TASK_RDMA_PAYLOAD;
	return rc;
}

static int take_waiting(struct rank_db *load)
{
	struct rank_db_sub_task *sub_task = &load->sub_task;
	size_t kept = 0;
	int rc = NP_OK;

	for (size_t i = 0; i < sub_task->waiting.count && rc == NP_OK; i++) {
		struct rank_db_sub_task_row row = sub_task->waiting.item[i];
		bool waits;

		rc = take_sub_task(load, &row, &waits);
		if (waits)
			sub_task->waiting.item[kept++] = row;
	}
	sub_task->waiting.count = kept;
	return rc;
}

static int let_wait(struct rank_db *load, const struct rank_db_sub_task_row *row)
{
	struct rank_db_sub_task_row *slot;

	if (load->sub_task.waiting.count == RANK_DB_MOST_WAITING) {
		load->capture.unordered = true;
		return NP_OK;
	}
	slot = np_vec_add(&load->sub_task.waiting, load->err);
	if (!slot)
		return NP_E_NOMEM;
	*slot = *row;
	return NP_OK;
}

int rank_db_read_sub_task(struct rank_db *load)
{
	struct rank_db_table *table = &load->sub_task.table;
	int rc = take_waiting(load);

	while (rc == NP_OK && !load->capture.unordered) {
		struct rank_db_sub_task_row row;
		bool waits;

		rc = rank_db_fill(load, table);
		if (rc < 0 || table->done)
			break;
		row = read_row(&load->sub_task, &table->batch, table->row);
		if (rank_db_is_ahead(load, row.key))
			break;
		row.task.op = np_idmap_get(load->op_index,
					   table->batch.column[SUB_TASK_OP].integer[table->row]);
		table->row++;
		if (row.task.op == NP_IDMAP_NONE) {
			load->sub_task.orphans++;
			continue;
		}
		rc = take_sub_task(load, &row, &waits);
		if (rc == NP_OK && waits)
			rc = let_wait(load, &row);
	}
	return rc;
}

/* --- measuring ------------------------------------------------------------------------------- */

int rank_db_measure_sub_task_until(struct rank_db *load, np_ns until)
{
	struct rank_db_sub_task *sub_task = &load->sub_task;
	size_t kept = 0;
	int rc = NP_OK;

	sub_task->done.count = 0;
	for (size_t i = 0; i < sub_task->list.count && rc == NP_OK; i++) {
		struct np_comm_task task = sub_task->list.item[i];
		struct np_comm_task *done;

		if (load->rank->ops.item[task.op].end > until) {
			sub_task->list.item[kept++] = task;
			continue;
		}
		done = np_vec_add(&sub_task->done, load->err);
		if (!done)
			return NP_E_NOMEM;
		*done = task;
		sub_task->any_measured = true;
		rc = np_idset_add(sub_task->measured, task.op, load->err);
	}
	sub_task->list.count = kept;
	if (rc == NP_OK && sub_task->done.count > 0)
		rc = np_comm_tasks_add(sub_task->ops, sub_task->done.item, sub_task->done.count,
				       sub_task->form, load->err);
	return rc;
}

int rank_db_measure_sub_task(struct rank_db *load)
{
	struct rank_db_sub_task *sub_task = &load->sub_task;
	int rc = NP_OK;

	if (sub_task->list.count > 0)
		rc = np_comm_tasks_add(sub_task->ops, sub_task->list.item, sub_task->list.count,
				       sub_task->form, load->err);
	np_load_sort_bands(load->rank);
	load->rank->sizes_known = sub_task->form.has_links;
	if (rc == NP_OK)
		rc = np_comm_tasks_finish(sub_task->ops, sub_task->form, load->err);
	if (sub_task->too_fast > 0)
		np_note_add(&load->rank->notes, NP_NOTE_SKIPPED, load->rank->id,
			    np_db_path(load->db), "COMMUNICATION_TASK_INFO",
			    "%zu transfers are too large for the time they took: their sizes count"
			    " as unknown",
			    sub_task->too_fast);
	if (sub_task->twice > 0)
		np_note_add(&load->rank->notes, NP_NOTE_SKIPPED, load->rank->id,
			    np_db_path(load->db), "COMMUNICATION_TASK_INFO",
			    "%zu small tasks are there twice: they count once", sub_task->twice);
	if (sub_task->orphans > 0)
		np_note_add(&load->rank->notes, NP_NOTE_WARNING, load->rank->id,
			    np_db_path(load->db), "COMMUNICATION_TASK_INFO",
			    "%zu small tasks belong to no operator or task of the file",
			    sub_task->orphans);
	return rc;
}

int rank_db_begin_sub_task(struct rank_db *load)
{
	/* All that measures take must be there. */
	static const struct vendor_pick rows = {
		&vendor_communication_task,
		VENDOR_BIT(SUB_TASK_TASK) | VENDOR_BIT(SUB_TASK_TYPE) | VENDOR_BIT(SUB_TASK_PLANE) |
			VENDOR_BIT(SUB_TASK_RDMA) | VENDOR_BIT(SUB_TASK_SRC) |
			VENDOR_BIT(SUB_TASK_DST) | VENDOR_BIT(SUB_TASK_TRANSPORT) |
			VENDOR_BIT(SUB_TASK_SIZE) | VENDOR_BIT(SUB_TASK_LINK) |
			VENDOR_BIT(SUB_TASK_OP) | VENDOR_BIT(SUB_TASK_MASTER),
		VENDOR_BIT(SUB_TASK_TYPE) | VENDOR_BIT(SUB_TASK_PLANE) | VENDOR_BIT(SUB_TASK_SRC) |
			VENDOR_BIT(SUB_TASK_DST) | VENDOR_BIT(SUB_TASK_TRANSPORT) |
			VENDOR_BIT(SUB_TASK_SIZE) | VENDOR_BIT(SUB_TASK_LINK) |
			VENDOR_BIT(SUB_TASK_OP),
	};
	struct rank_db_sub_task *sub_task = &load->sub_task;
	int rc;

	sub_task->kinds = np_idmap_new();
	sub_task->measured = np_idset_new();
	sub_task->ops = np_comm_tasks_new(load->rank, load->strings);
	if (!sub_task->kinds || !sub_task->measured || !sub_task->ops)
		return np_fail_nomem(load->err, "communication tasks");
	rc = read_numbers(load);
	if (rc == NP_OK)
		rc = rank_db_try(load, rows.table, rank_db_open(load, &rows, &sub_task->table));
	sub_task->form.has_master = rc == NP_OK && sub_task->table.scan &&
				    np_scan_has(sub_task->table.scan, SUB_TASK_MASTER);
	return rc;
}

void rank_db_end_sub_task(struct rank_db *load)
{
	struct rank_db_sub_task *sub_task = &load->sub_task;

	np_scan_close(sub_task->table.scan);
	np_idmap_free(sub_task->kinds);
	np_idmap_free(sub_task->link_numbers);
	np_idmap_free(sub_task->transport_numbers);
	np_idset_free(sub_task->measured);
	np_comm_tasks_free(sub_task->ops);
	np_vec_release(&sub_task->list);
	np_vec_release(&sub_task->done);
	np_vec_release(&sub_task->waiting);
}
