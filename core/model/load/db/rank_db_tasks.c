/* SPDX-License-Identifier: Apache-2.0 */
/* Calls, tasks and kernels of a rank database, read side by side and counted by name. */
#include "rank_db.h"

#include "core/model/load/capture/statistics.h"

/* --- sums that were added to lately ----------------------------------------------------------- */

/* Few names make up most rows: the place where one would be remembered. */
static struct rank_db_recent *recent_of(struct rank_db_recent *recent, int64_t name, int64_t kind)
{
	return &recent[((uint64_t)name ^ (uint64_t)kind) % RANK_DB_RECENT];
}

static bool is_recent(const struct rank_db_recent *recent, int64_t name, int64_t kind)
{
	return recent->name == name && recent->kind == kind && recent->number > 0;
}

/* --- kernels by type ------------------------------------------------------------------------- */

/* rank_db_statistics.c: sums by name. Ids are those of STRING_IDS. */
static int rank_db_count_kernel(struct rank_db *load, int64_t type, int64_t core, np_ns time)
{
	struct rank_db_recent *recent = recent_of(load->recent_kernels, type, core);
	struct np_statistic *entry;
	uint32_t index;
	/* String ids stay below 2^31 by far; two of them make one key. */
	int64_t key = (int64_t)((uint64_t)type << 32 ^ (uint64_t)core);
	int rc;

	if (type == NP_UNKNOWN)
		return NP_OK;
	if (is_recent(recent, type, core)) {
		statistics_add(&load->rank->kernels.item[recent->number - 1], time);
		return NP_OK;
	}
	index = np_idmap_get(load->kernel_index, key);
	if (index != NP_IDMAP_NONE) {
		*recent = (struct rank_db_recent){ type, core, index + 1 };
		statistics_add(&load->rank->kernels.item[index], time);
		return NP_OK;
	}
	entry = np_vec_add(&load->rank->kernels, load->err);
	if (!entry)
		return NP_E_NOMEM;
	rc = rank_db_intern(load, type, &entry->name);
	if (rc == NP_OK && core != NP_UNKNOWN)
		rc = rank_db_intern(load, core, &entry->kind);
	statistics_add(entry, time);
	if (rc < 0)
		return rc;
	return np_idmap_set(load->kernel_index, key, (uint32_t)(load->rank->kernels.count - 1),
			    load->err);
}

/* --- calls by function ----------------------------------------------------------------------- */

static int rank_db_count_call(struct rank_db *load, int64_t type, int64_t name, np_ns time)
{
	struct rank_db_recent *recent = recent_of(load->recent_calls, name, type);
	int64_t key = (int64_t)((uint64_t)name << 16 ^ (uint64_t)type);
	struct np_statistic *entry;
	const char *level;
	uint32_t index;
	int rc;

	if (name == NP_UNKNOWN || time < 0)
		return NP_OK;
	if (is_recent(recent, name, type)) {
		statistics_add(&load->rank->calls.item[recent->number - 1], time);
		return NP_OK;
	}
	index = np_idmap_get(load->call_index, key);
	if (index != NP_IDMAP_NONE) {
		*recent = (struct rank_db_recent){ name, type, index + 1 };
		statistics_add(&load->rank->calls.item[index], time);
		return NP_OK;
	}
	entry = np_vec_add(&load->rank->calls, load->err);
	if (!entry)
		return NP_E_NOMEM;
	rc = rank_db_intern(load, name, &entry->name);
	level = vendor_api_name(type);
	if (rc == NP_OK)
		rc = np_strtab_add(load->strings, level, strlen(level), &entry->kind, load->err);
	statistics_add(entry, time);
	if (rc < 0)
		return rc;
	return np_idmap_set(load->call_index, key, (uint32_t)(load->rank->calls.count - 1),
			    load->err);
}

/* --- calls ----------------------------------------------------------------------------------- */

static int take_call(struct rank_db *load, const struct np_batch *batch, size_t row)
{
	np_ns start = batch->column[CALL_START].integer[row];
	np_ns end = batch->column[CALL_END].integer[row];
	int64_t connection = batch->column[CALL_CONNECTION].integer[row];
	int rc;

	if (connection > load->last_connection)
		load->last_connection = connection;
	/* A call that cannot have been launches nothing. Times that are no times are counted
	 * already. */
	if (!rank_db_time_ok(load, start, end)) {
		if (start >= 0 && start <= NP_NS_MAX && end >= 0 && end <= NP_NS_MAX)
			rank_db_doubt(load, &vendor_cann_api);
		return NP_OK;
	}
	if (start > load->last_call)
		load->last_call = start;
	rc = rank_db_count_call(load, batch->column[CALL_TYPE].integer[row],
				batch->column[CALL_NAME].integer[row], end - start);
	if (rc < 0)
		return rc;
	switch (batch->column[CALL_TYPE].integer[row]) {
	case VENDOR_API_NODE:
		return capture_launch(&load->capture, connection, start, end);
	case VENDOR_API_ACL:
		return capture_call(&load->capture, connection, start, end);
	default:
		return NP_OK;
	}
}

static int read_some_calls(struct rank_db *load)
{
	struct rank_db_table *calls = &load->calls;
	int rc = rank_db_fill(load, calls);

	for (; rc == NP_OK && calls->row < calls->batch.rows; calls->row++)
		rc = take_call(load, &calls->batch, calls->row);
	return rc;
}

static int read_all_calls(struct rank_db *load)
{
	int rc = NP_OK;

	while (rc == NP_OK && !load->calls.done)
		rc = read_some_calls(load);
	return rc;
}

/* The host may be far ahead of the device: no more than what is needed. */
static int rank_db_read_calls(struct rank_db *load, int64_t connection, np_ns start)
{
	int rc = NP_OK;

	while (rc == NP_OK && !load->calls.done && connection > load->last_connection &&
	       load->last_call <= start)
		rc = read_some_calls(load);
	return rc;
}

/* --- tasks ----------------------------------------------------------------------------------- */

/* Beside the class of a type. */
#define MEMORY_COPY (1U << 8)

/* Sets the class of a task, and whether it is a copy of memory. */
static int class_of(struct rank_db *load, int64_t id, struct capture_row *ret)
{
	uint32_t known = np_idmap_get(load->classes, id);

	if (known == NP_IDMAP_NONE) {
		struct rank_db_text text = rank_db_text(load, id);
		int rc;

		known = vendor_task_class(text.bytes, text.length);
		load->ran_kernels |= vendor_is_kernel_task(text.bytes, text.length);
		if (strcmp(text.bytes, "MEMCPY_ASYNC") == 0)
			known |= MEMORY_COPY;
		rc = np_idmap_set(load->classes, id, known, load->err);
		if (rc < 0)
			return rc;
	}
	ret->class = (enum task_class)(known & ~MEMORY_COPY);
	ret->memory = (known & MEMORY_COPY) != 0;
	return NP_OK;
}

/* Ids that come twice: of a whole file the last counts, and of a part nobody knows. */
static int index_task(struct rank_db *load, int64_t key, uint32_t index)
{
	if (load->capture.in_parts) {
		if (key <= load->latest_key && np_idset_has(load->seen, key))
			load->capture.unordered = true;
		if (np_idset_add(load->seen, key, load->err) < 0)
			return NP_E_NOMEM;
	}
	if (key > load->latest_key)
		load->latest_key = key;
	return np_idmap_set(load->task_index, key, index, load->err);
}

static int take_task(struct rank_db *load, const struct np_batch *batch, size_t row)
{
	struct capture_row task = {
		.start = batch->column[TASK_START].integer[row],
		.end = batch->column[TASK_END].integer[row],
		.device = batch->column[TASK_DEVICE].integer[row],
		.connection = batch->column[TASK_CONNECTION].integer[row],
		.stream = NP_UNKNOWN,
		.id = NP_UNKNOWN,
		.key = batch->column[TASK_ID].integer[row],
	};
	uint32_t index = NP_IDMAP_NONE;
	bool time_ok;
	int rc = class_of(load, batch->column[TASK_TYPE].integer[row], &task);

	/* They only decide between kernels that begin at the same time. */
	if (!load->capture.times_only) {
		task.stream = batch->column[TASK_STREAM].integer[row];
		task.id = batch->column[TASK_NUMBER].integer[row];
	}
	time_ok = rank_db_time_ok(load, task.start, task.end);
	if (!time_ok)
		task.end = NP_UNKNOWN;
	if (rc == NP_OK)
		rc = rank_db_read_calls(load, task.connection, task.start);
	if (time_ok) {
		if (task.start < load->earliest)
			load->earliest = task.start;
		if (task.start > load->latest)
			load->latest = task.start;
	}
	if (rc == NP_OK)
		rc = capture_add_task(&load->capture, &task, &index);
	if (rc < 0 || index == NP_IDMAP_NONE)
		return rc;
	return index_task(load, task.key, index);
}

/* Calls are soon forgotten: look for those of operators with the tasks of that time. */
static int reach_ops(struct rank_db *load)
{
	const struct np_rank *rank = load->rank;
	int rc = NP_OK;

	while (rc == NP_OK && load->capture.op_launched.count < rank->ops.count) {
		size_t next = load->capture.op_launched.count;

		if (rank->ops.item[next].start > load->latest && !load->tasks.done)
			break;
		rc = rank_db_read_calls(load, load->capture.op_connections.item[next],
					rank->ops.item[next].start);
		if (rc == NP_OK)
			rc = capture_reach_op(&load->capture);
	}
	return rc;
}

static void widen_by_ops(struct rank_db *load)
{
	for (size_t i = 0; i < load->capture.op_connections.count; i++) {
		const struct np_comm_op *op = &load->rank->ops.item[i];

		capture_widen_by_op(&load->capture, load->capture.op_connections.item[i], op->start,
				    op->end);
	}
}

int rank_db_read_tasks(struct rank_db *load, size_t rows)
{
	struct rank_db_table *tasks = &load->tasks;
	int rc = load->capture.in_parts ? NP_OK : read_all_calls(load);

	load->earliest = NP_NS_MAX;
	while (rc == NP_OK && !tasks->done && rows > 0) {
		rc = rank_db_fill(load, tasks);
		rows -= rows < tasks->batch.rows ? rows : tasks->batch.rows;
		for (; rc == NP_OK && tasks->row < tasks->batch.rows; tasks->row++)
			rc = take_task(load, &tasks->batch, tasks->row);
	}
	if (rc == NP_OK && load->capture.in_parts)
		rc = reach_ops(load);
	if (rc == NP_OK && tasks->done)
		rc = read_all_calls(load);
	if (rc == NP_OK && tasks->done && !load->capture.in_parts)
		widen_by_ops(load);
	return rc;
}

int rank_db_reindex_tasks(struct rank_db *load)
{
	int rc = NP_OK;

	np_idmap_clear(load->task_index);
	for (size_t i = 0; i < load->capture.tasks.count && rc == NP_OK; i++)
		rc = np_idmap_set(load->task_index, load->capture.tasks.item[i].key, (uint32_t)i,
				  load->err);
	return rc;
}

uint32_t rank_db_find_task(struct rank_db *load, int64_t key, bool *ret_waits)
{
	uint32_t index = np_idmap_get(load->task_index, key);

	*ret_waits = false;
	if (index != NP_IDMAP_NONE || !load->capture.in_parts)
		return index;
	/* It was measured without what is found about it now. */
	if (np_idset_has(load->seen, key))
		load->capture.unordered = true;
	*ret_waits = !load->tasks.done;
	return index;
}

/* --- kernels --------------------------------------------------------------------------------- */

/* NP_STR_NONE where the type was not recorded. */
static int type_of(struct rank_db *load, int64_t id, np_str *ret)
{
	uint32_t known = np_idmap_get(load->types, id);
	struct rank_db_text text;
	int rc = NP_OK;

	if (known == NP_IDMAP_NONE) {
		text = rank_db_text(load, id);
		known = NP_STR_NONE;
		if (vendor_is_type(text.bytes, text.length))
			rc = rank_db_intern(load, id, &known);
		if (rc == NP_OK)
			rc = np_idmap_set(load->types, id, known, load->err);
	}
	*ret = known;
	return rc;
}

static int take_expert(struct rank_db *load, int64_t shapes_id, const struct capture_task *task)
{
	struct rank_db_text shapes = rank_db_text(load, shapes_id);

	return expert_kernels_add(&load->experts, shapes.bytes, shapes.length, task->start,
				  task->end - task->start, load->err);
}

/* Is it the work of a communication operator, which is no computing? */
static bool serves(const struct rank_db *load, const union np_scan_values *column, size_t row)
{
	return load->serving && np_idset_has(load->serving, column[KERNEL_NAME].integer[row]);
}

/* *ret_waits when its task is not yet there. */
static int take_kernel(struct rank_db *load, const struct rank_db_kernel *kernel, bool *ret_waits,
		       struct capture_task **ret_task)
{
	uint32_t index = rank_db_find_task(load, kernel->task, ret_waits);
	struct capture_task *task;
	int rc;

	*ret_task = NULL;
	if (index == NP_IDMAP_NONE) {
		load->kernels_without_task += !*ret_waits;
		return NP_OK;
	}
	task = &load->capture.tasks.item[index];
	load->has_kernels = true;
	load->kernels_taken++;
	if (kernel->serves) {
		load->serving_time += task->end - task->start;
		return NP_OK;
	}
	task->computes = true;
	load->kernel_time += task->end - task->start;
	*ret_task = task;
	rc = type_of(load, kernel->type, &task->type);
	if (rc == NP_OK && task->type == load->experts.type)
		rc = take_expert(load, kernel->shapes, task);
	if (rc == NP_OK && load->find_steps) {
		struct rank_db_text shapes = rank_db_text(load, kernel->shapes);

		rc = capture_add_shape(&load->capture, task->start, task->type, shapes.bytes,
				       shapes.length);
	}
	if (rc < 0)
		return rc;
	return rank_db_count_kernel(load, kernel->type, kernel->core, task->end - task->start);
}

/* Those whose task was not there when they were read. */
static int take_waiting(struct rank_db *load)
{
	size_t kept = 0;
	int rc = NP_OK;

	for (size_t i = 0; i < load->waiting.count && rc == NP_OK; i++) {
		struct rank_db_kernel kernel = load->waiting.item[i];
		struct capture_task *task;
		bool waits;

		rc = take_kernel(load, &kernel, &waits, &task);
		if (waits)
			load->waiting.item[kept++] = kernel;
	}
	load->waiting.count = kept;
	return rc;
}

static int let_wait(struct rank_db *load, const struct rank_db_kernel *kernel)
{
	struct rank_db_kernel *slot;

	if (load->waiting.count == RANK_DB_MOST_WAITING) {
		load->capture.unordered = true;
		return NP_OK;
	}
	slot = np_vec_add(&load->waiting, load->err);
	if (!slot)
		return NP_E_NOMEM;
	*slot = *kernel;
	return NP_OK;
}

int rank_db_read_kernels(struct rank_db *load)
{
	struct rank_db_table *table = &load->kernels;
	int rc = take_waiting(load);

	while (rc == NP_OK && !load->capture.unordered) {
		const union np_scan_values *column = table->batch.column;
		struct rank_db_kernel kernel;
		struct capture_task *task;
		bool waits;

		if (table->row == table->batch.rows)
			rc = rank_db_fill(load, table);
		if (rc < 0 || table->done)
			break;
		kernel = (struct rank_db_kernel){ column[KERNEL_TASK].integer[table->row],
						  column[KERNEL_TYPE].integer[table->row],
						  column[KERNEL_CORE].integer[table->row],
						  column[KERNEL_IN_SHAPES].integer[table->row],
						  serves(load, column, table->row) };
		if (rank_db_is_ahead(load, kernel.task))
			break;
		rc = take_kernel(load, &kernel, &waits, &task);
		if (rc == NP_OK && load->gather && task)
			rc = rank_db_gather_kernel(load, task, &table->batch, table->row);
		table->row++;
		if (rc == NP_OK && waits)
			rc = let_wait(load, &kernel);
	}
	return rc;
}

/* --- all of them ----------------------------------------------------------------------------- */

int rank_db_open_tasks(struct rank_db *load)
{
	/* What joins calls with tasks must be there. */
	static const struct vendor_pick calls = {
		&vendor_cann_api,
		VENDOR_BIT(CALL_START) | VENDOR_BIT(CALL_END) | VENDOR_BIT(CALL_TYPE) |
			VENDOR_BIT(CALL_CONNECTION) | VENDOR_BIT(CALL_NAME),
		VENDOR_BIT(CALL_TYPE) | VENDOR_BIT(CALL_CONNECTION),
	};
	static const struct vendor_pick tasks = { &vendor_task, 0, 0 };
	static const struct vendor_pick times = {
		&vendor_task,
		VENDOR_BIT(TASK_START) | VENDOR_BIT(TASK_END) | VENDOR_BIT(TASK_DEVICE) |
			VENDOR_BIT(TASK_CONNECTION) | VENDOR_BIT(TASK_ID) | VENDOR_BIT(TASK_TYPE),
		0,
	};
	struct vendor_pick kernels = {
		&vendor_compute_task,
		VENDOR_BIT(KERNEL_TASK) | VENDOR_BIT(KERNEL_TYPE) | VENDOR_BIT(KERNEL_CORE) |
			VENDOR_BIT(KERNEL_IN_SHAPES),
		0,
	};
	int rc = rank_db_try(load, calls.table, rank_db_open(load, &calls, &load->calls));

	/* To be summed, kernels are distinguished by more. */
	if (load->gather)
		kernels.columns |= VENDOR_BIT(KERNEL_NAME) | VENDOR_BIT(KERNEL_IN_TYPES) |
				   VENDOR_BIT(KERNEL_IN_FORMATS);
	if (load->serving)
		kernels.columns |= VENDOR_BIT(KERNEL_NAME);
	if (rc == NP_OK)
		rc = rank_db_open(load, load->capture.times_only ? &times : &tasks, &load->tasks);
	if (rc == NP_OK)
		rc = rank_db_open(load, &kernels, &load->kernels);
	return rc;
}
