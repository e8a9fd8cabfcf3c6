/* SPDX-License-Identifier: Apache-2.0 */
/* What the device did, from the rank database: tasks, kernels, counters and communication. */
#include "detail_db.h"

#include <math.h>

/* --- tasks ----------------------------------------------------------------------------------- */

static int take_task(struct detail_db *db, const struct np_batch *batch, size_t row)
{
	np_ns start = batch->column[TASK_START].integer[row];
	np_ns end = batch->column[TASK_END].integer[row];
	struct np_device_task *task;
	uint32_t index = (uint32_t)db->detail->tasks.count;
	int rc;

	if (!detail_time_ok(db->load, start, end))
		return NP_OK;
	if (index == 0)
		np_vec_expect(&db->detail->tasks, db->about);
	task = detail_add_task(db->load);
	if (!task)
		return NP_E_NOMEM;
	task->start = start;
	task->end = end;
	task->stream = vendor_known(batch->column[TASK_STREAM].integer[row]);
	task->task_id = vendor_known(batch->column[TASK_NUMBER].integer[row]);
	task->connection = vendor_known(batch->column[TASK_CONNECTION].integer[row]);
	task->device = vendor_device(batch->column[TASK_DEVICE].integer[row]);
	rc = detail_string(db, batch->column[TASK_TYPE].integer[row], &task->type);
	if (rc == NP_OK)
		rc = np_idmap_set(db->task_index, batch->column[TASK_ID].integer[row], index,
				  db->err);
	if (rc == NP_OK && task->connection != NP_UNKNOWN)
		rc = np_idmap_set(db->task_of, task->connection, index, db->err);
	return rc;
}

/* --- kernels --------------------------------------------------------------------------------- */

/* The texts of a kernel, in the order of columns that hold their ids. */
static const int text_columns[DETAIL_KERNEL_TEXTS] = {
	KERNEL_NAME,     KERNEL_CORE,        KERNEL_TYPE,      KERNEL_STATE,     KERNEL_IN_FORMATS,
	KERNEL_IN_TYPES, KERNEL_OUT_FORMATS, KERNEL_OUT_TYPES, KERNEL_IN_SHAPES, KERNEL_OUT_SHAPES,
};

static int intern_texts(struct detail_db *db, struct detail_kernel_texts *texts)
{
	int rc = NP_OK;

	for (size_t i = 0; i < DETAIL_KERNEL_TEXTS && rc == NP_OK; i++)
		rc = text_columns[i] == KERNEL_IN_SHAPES || text_columns[i] == KERNEL_OUT_SHAPES
			     ? detail_plain_string(db, texts->id[i], &texts->text[i])
			     : detail_string(db, texts->id[i], &texts->text[i]);
	return rc;
}

/* Most kernels have the texts of one before: they are looked up once for each. */
static int find_texts(struct detail_db *db, const struct np_batch *batch, size_t row,
		      const np_str **ret)
{
	int64_t id[DETAIL_KERNEL_TEXTS];
	struct detail_kernel_texts *slot;
	uint64_t hash = 0;
	int rc = NP_OK;

	for (size_t i = 0; i < DETAIL_KERNEL_TEXTS; i++) {
		id[i] = batch->column[text_columns[i]].integer[row];
		/* One product at the end: each would have to wait for the one before. */
		hash = (hash << 23 | hash >> 41) ^ (uint64_t)id[i];
	}
	hash *= UINT64_C(0x9e3779b97f4a7c15);
	slot = &db->kernel_texts[(hash ^ hash >> 32) % DETAIL_KERNEL_SLOTS];
	if (!slot->known || memcmp(slot->id, id, sizeof(id)) != 0) {
		memcpy(slot->id, id, sizeof(id));
		rc = intern_texts(db, slot);
		slot->known = rc == NP_OK;
	}
	*ret = slot->text;
	return rc;
}

static int fill_kernel(struct detail_db *db, const struct np_batch *batch, size_t row,
		       struct np_kernel *kernel)
{
	np_str *const places[DETAIL_KERNEL_TEXTS] = {
		&kernel->name,       &kernel->core,       &kernel->type,        &kernel->state,
		&kernel->in_formats, &kernel->in_dtypes,  &kernel->out_formats, &kernel->out_dtypes,
		&kernel->in_shapes,  &kernel->out_shapes,
	};
	const np_str *texts;
	int rc = find_texts(db, batch, row, &texts);

	for (size_t i = 0; i < DETAIL_KERNEL_TEXTS && rc == NP_OK; i++)
		*places[i] = texts[i];
	return rc;
}

static int add_kernel(struct detail_db *db, const struct np_batch *batch, size_t row,
		      const struct np_device_task *task)
{
	struct np_kernel *kernel = detail_add_kernel_of(db->load, task);

	if (!kernel)
		return NP_E_NOMEM;
	kernel->schedule = db->is_schedule;
	kernel->block_dim = vendor_known(batch->column[KERNEL_BLOCKS].integer[row]);
	kernel->mix_block_dim = vendor_known(batch->column[KERNEL_MIX_BLOCKS].integer[row]);
	return fill_kernel(db, batch, row, kernel);
}

static int take_kernel(struct detail_db *db, const struct np_batch *batch, size_t row)
{
	int64_t id = batch->column[KERNEL_TASK].integer[row];
	uint32_t index = np_idmap_get(db->task_index, id);
	int rc;

	if (index == NP_IDMAP_NONE)
		return NP_OK;
	db->detail->tasks.item[index].role = NP_ROLE_KERNEL;
	if (!detail_wants(db->load, NP_DETAIL_KERNELS))
		return NP_OK;
	if (db->detail->kernels.count == 0)
		np_vec_expect(&db->detail->kernels, db->about);
	rc = add_kernel(db, batch, row, &db->detail->tasks.item[index]);
	if (rc < 0)
		return rc;
	return np_idmap_set(db->kernel_index, id, (uint32_t)(db->detail->kernels.count - 1),
			    db->err);
}

/* --- counters -------------------------------------------------------------------------------- */

/* The column of a counter by the id of its name; NP_IDMAP_NONE for one without. */
static int find_counter(struct detail_db *db, int64_t id, uint32_t *ret)
{
	struct detail_text text;
	int rc;

	*ret = np_idmap_get(db->counter_index, id);
	if (*ret != NP_IDMAP_NONE)
		return NP_OK;
	text = detail_text_of(db, id);
	if (text.length == 0)
		return NP_OK;
	rc = detail_pmu_column(db->load, &db->pmu, text.bytes, text.length, ret);
	if (rc == NP_OK)
		rc = np_idmap_set(db->counter_index, id, *ret, db->err);
	return rc < 0 ? rc : detail_pmu_reserve(db->load, &db->pmu);
}

/* The counters of a kernel mostly stand one behind the other. */
static int take_counter(struct detail_db *db, const struct np_batch *batch, size_t row)
{
	int64_t task = batch->column[COUNTER_TASK].integer[row];
	uint32_t column;
	int rc = find_counter(db, batch->column[COUNTER_NAME].integer[row], &column);

	if (rc < 0)
		return rc;
	if (task != db->counted_task || db->counted_kernel == NP_IDMAP_NONE) {
		db->counted_task = task;
		db->counted_kernel = np_idmap_get(db->kernel_index, task);
	}
	if (db->counted_kernel != NP_IDMAP_NONE && column != NP_IDMAP_NONE)
		db->detail->pmu[db->counted_kernel * db->pmu.room + column] =
			batch->column[COUNTER_VALUE].real[row] * db->pmu.scales.item[column];
	return NP_OK;
}

static int read_counters(struct detail_db *db)
{
	static const struct vendor_pick counters = { &vendor_task_pmu, 0, 0 };
	int rc;

	db->counted_kernel = NP_IDMAP_NONE;
	rc = detail_each(db, &counters, take_counter);
	if (rc == NP_OK)
		rc = detail_pmu_finish(db->load, &db->pmu);
	if (rc == NP_OK && db->detail->pmu_count > 0)
		detail_found(db->load, NP_DETAIL_PMU);
	return rc;
}

/* --- operators ------------------------------------------------------------------------------- */

static int take_op(struct detail_db *db, const struct np_batch *batch, size_t row)
{
	struct np_detail_op *op;
	np_str name;
	uint32_t index;
	int rc = detail_string(db, batch->column[OP_NAME].integer[row], &name);

	if (rc < 0)
		return rc;
	index = detail_find_op(db->load, batch->column[OP_START].integer[row], name);
	if (index == NP_NO_ROW)
		return NP_OK;
	op = &db->detail->ops.item[index];
	op->op_id = vendor_known(batch->column[OP_ID].integer[row]);
	op->connection = vendor_known(batch->column[OP_CONNECTION].integer[row]);
	op->relay = vendor_known(batch->column[OP_RELAY].integer[row]);
	op->retry = vendor_known(batch->column[OP_RETRY].integer[row]);
	op->count = vendor_known(batch->column[OP_COUNT].integer[row]);
	rc = detail_string(db, batch->column[OP_ALG_TYPE].integer[row], &op->alg_type);
	if (rc == NP_OK)
		rc = detail_enum(db, DETAIL_DATA_TYPES, batch->column[OP_DATA_TYPE].integer[row],
				 &op->data_type);
	if (rc == NP_OK && op->op_id != NP_UNKNOWN)
		rc = np_idmap_set(db->op_index, op->op_id, index, db->err);
	return rc;
}

/* --- sub-tasks ----------------------------------------------------------------------------- */

static int add_sub_task(struct detail_db *db, const struct np_batch *batch, size_t row,
			const struct np_device_task *task)
{
	struct np_sub_task *sub_task = detail_add_sub_task_of(db->load, task);
	double bandwidth = batch->column[SUB_TASK_BANDWIDTH].real[row];

	if (!sub_task)
		return NP_E_NOMEM;
	sub_task->bytes = vendor_known(batch->column[SUB_TASK_SIZE].integer[row]);
	sub_task->plane = vendor_known(batch->column[SUB_TASK_PLANE].integer[row]);
	sub_task->src = vendor_known(batch->column[SUB_TASK_SRC].integer[row]);
	sub_task->dst = vendor_known(batch->column[SUB_TASK_DST].integer[row]);
	sub_task->notify_id = vendor_known(batch->column[SUB_TASK_NOTIFY].integer[row]);
	sub_task->op = np_idmap_get(db->op_index, batch->column[SUB_TASK_OP].integer[row]);
	sub_task->master = batch->column[SUB_TASK_MASTER].integer[row] == 1;
	/* The file has bytes per second. */
	if (isfinite(bandwidth) && bandwidth >= 0)
		sub_task->bandwidth = bandwidth / 1e9;
	return NP_OK;
}

/* What the file has as numbers. */
static int name_sub_task(struct detail_db *db, const struct np_batch *batch, size_t row,
			 struct np_sub_task *sub_task)
{
	const struct {
		enum detail_enums table;
		int column;
		np_str *text;
	} names[] = {
		{ DETAIL_TRANSPORTS, SUB_TASK_TRANSPORT, &sub_task->transport },
		{ DETAIL_LINKS, SUB_TASK_LINK, &sub_task->link },
		{ DETAIL_RDMA_TYPES, SUB_TASK_RDMA, &sub_task->rdma_type },
		{ DETAIL_DATA_TYPES, SUB_TASK_DATA_TYPE, &sub_task->data_type },
	};
	int rc = NP_OK;

	for (size_t i = 0; i < NP_COUNT(names) && rc == NP_OK; i++)
		rc = detail_enum(db, names[i].table, batch->column[names[i].column].integer[row],
				 names[i].text);
	return rc;
}

static int take_sub_task(struct detail_db *db, const struct np_batch *batch, size_t row)
{
	uint32_t index = np_idmap_get(db->task_index, batch->column[SUB_TASK_TASK].integer[row]);
	struct np_sub_task *sub_task;
	int rc;

	if (index == NP_IDMAP_NONE)
		return NP_OK;
	db->detail->tasks.item[index].role = NP_ROLE_COMMUNICATION;
	if (!detail_wants(db->load, NP_DETAIL_SUB_TASKS))
		return NP_OK;
	rc = add_sub_task(db, batch, row, &db->detail->tasks.item[index]);
	if (rc < 0)
		return rc;
	sub_task = &db->detail->sub_tasks.item[db->detail->sub_tasks.count - 1];
	rc = detail_string(db, batch->column[SUB_TASK_TYPE].integer[row], &sub_task->type);
	/* Level0 knows only what kind of task it is. */
	if (sub_task->type == NP_STR_NONE)
		sub_task->type = db->detail->tasks.item[index].type;
	return rc < 0 ? rc : name_sub_task(db, batch, row, sub_task);
}

/* --- everything ------------------------------------------------------------------------------ */

static int read_tasks(struct detail_db *db)
{
	static const struct vendor_pick tasks = { &vendor_task, 0, 0 };
	static const struct vendor_pick kernels = { &vendor_compute_task, 0, 0 };
	static const struct vendor_pick schedule = { &vendor_schedule_task, 0, 0 };
	int rc = detail_each(db, &tasks, take_task);

	if (rc == NP_OK)
		rc = detail_each(db, &kernels, take_kernel);
	db->is_schedule = true;
	if (rc == NP_OK)
		rc = detail_each(db, &schedule, take_kernel);
	return rc;
}

int detail_db_read_device(struct detail_db *db)
{
	/* The rest is known from the rank. */
	static const struct vendor_pick ops = {
		&vendor_communication_op,
		VENDOR_BIT(OP_NAME) | VENDOR_BIT(OP_START) | VENDOR_BIT(OP_CONNECTION) |
			VENDOR_BIT(OP_ID) | VENDOR_BIT(OP_RELAY) | VENDOR_BIT(OP_RETRY) |
			VENDOR_BIT(OP_DATA_TYPE) | VENDOR_BIT(OP_ALG_TYPE) | VENDOR_BIT(OP_COUNT),
		0
	};
	static const struct vendor_pick sub_tasks = { &vendor_communication_task, 0, 0 };
	struct detail_load *load = db->load;
	int rc = NP_OK;

	if (detail_wants(load, NP_DETAIL_KERNELS | NP_DETAIL_TASKS | NP_DETAIL_SUB_TASKS |
				       NP_DETAIL_MARKS))
		rc = read_tasks(db);
	if (rc == NP_OK && detail_wants(load, NP_DETAIL_PMU))
		rc = read_counters(db);
	if (rc == NP_OK && detail_wants(load, NP_DETAIL_OPS))
		rc = detail_each(db, &ops, take_op);
	if (rc == NP_OK && detail_wants(load, NP_DETAIL_SUB_TASKS | NP_DETAIL_TASKS))
		rc = detail_each(db, &sub_tasks, take_sub_task);
	if (db->detail->kernels.count > 0)
		detail_found(load, NP_DETAIL_KERNELS | NP_DETAIL_LAUNCHES);
	if (db->detail->tasks.count > 0)
		detail_found(load, NP_DETAIL_TASKS);
	if (np_db_has_table(db->db, vendor_communication_op.name))
		detail_found(load, NP_DETAIL_OPS);
	if (db->detail->sub_tasks.count > 0)
		detail_found(load, NP_DETAIL_SUB_TASKS);
	return rc;
}
