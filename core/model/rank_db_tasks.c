/* SPDX-License-Identifier: Apache-2.0 */
#include "rank_db.h"

/* CANN_API.type of the calls that launch tasks: of AscendCL, which launch copies, and node calls.
 */
#define API_ACL  20000
#define API_NODE 10000

static const struct np_scan_column step_columns[] = {
	{ "id", NP_SCAN_TEXT, NP_REQUIRED },
	{ "startNs", NP_SCAN_INTEGER, NP_REQUIRED },
	{ "endNs", NP_SCAN_INTEGER, NP_REQUIRED },
};

static int take_step(struct rank_db *load, const struct np_batch *batch, size_t row)
{
	struct np_scan_text text = batch->column[0].text[row];
	np_ns begin = batch->column[1].integer[row];
	np_ns end = batch->column[2].integer[row];
	np_str id;
	int rc;

	if (!text.bytes || text.length == 0 || !capture_time_ok(begin, end)) {
		np_note_add(&load->rank->notes, NP_NOTE_SKIPPED, load->rank->id,
			    np_db_path(load->db), "STEP_TIME",
			    "a step without id or with impossible times");
		return NP_OK;
	}
	rc = np_strtab_add(load->strings, text.bytes, text.length, &id, load->err);
	return rc < 0 ? rc : capture_add_step(&load->capture, id, begin, end);
}

static const struct np_scan_column framework_columns[] = {
	{ "startNs", NP_SCAN_INTEGER, NP_REQUIRED },
};

static int take_framework_call(struct rank_db *load, const struct np_batch *batch, size_t row)
{
	struct np_step *step = &load->rank->steps.item[0];
	np_ns start = batch->column[0].integer[row];

	if (capture_time_ok(start, start) &&
	    (step->host_begin == NP_UNKNOWN || start < step->host_begin))
		step->host_begin = start;
	return NP_OK;
}

/* Without steps everything is one, which begins for the host at the first call of the framework. */
static int add_pseudo_step(struct rank_db *load)
{
	int rc = capture_add_step(&load->capture, NP_STR_NONE, NP_UNKNOWN, NP_UNKNOWN);

	if (rc < 0)
		return rc;
	return rank_db_each(load, "PYTORCH_API", framework_columns, NP_COUNT(framework_columns),
			    take_framework_call);
}

/*
 * Of this table's very many rows a few are wanted, and its times are text: the
 * names are read first, and the times of the batches in which there is one.
 */
static const struct np_scan_column host_names[] = {
	{ "name", NP_SCAN_INTEGER, NP_REQUIRED },
};

static const struct np_scan_column host_times[] = {
	{ "startNs", NP_SCAN_INTEGER, NP_REQUIRED },
	{ "endNs", NP_SCAN_INTEGER, NP_REQUIRED },
};

static bool loads_data(const struct rank_db *load, const struct np_batch *names, size_t row)
{
	return np_idmap_get(load->loaders, names->column[0].integer[row]) != NP_IDMAP_NONE;
}

static int take_loading(struct rank_db *load, const struct np_batch *names, struct np_scan *times)
{
	struct np_batch batch;
	size_t first = 0;
	int rc;

	while (first < names->rows && !loads_data(load, names, first))
		first++;
	if (first == names->rows)
		return np_scan_skip(times, names->rows, load->err);
	rc = np_scan_next(times, &batch, load->err);
	for (size_t i = first; rc == NP_OK && i < names->rows && i < batch.rows; i++) {
		if (loads_data(load, names, i))
			rc = capture_add_loading(&load->capture, batch.column[0].integer[i],
						 batch.column[1].integer[i]);
	}
	return rc;
}

static int read_loading(struct rank_db *load)
{
	NP_CLEANUP(np_scan_closep) struct np_scan *names = NULL;
	NP_CLEANUP(np_scan_closep) struct np_scan *times = NULL;
	struct np_batch batch;
	int rc;

	if (!load->loaders || !np_db_has_table(load->db, "PYTORCH_API"))
		return NP_OK;
	rc = np_scan_open(load->db, "PYTORCH_API", host_names, NP_COUNT(host_names), &names,
			  load->err);
	if (rc == NP_OK)
		rc = np_scan_open(load->db, "PYTORCH_API", host_times, NP_COUNT(host_times), &times,
				  load->err);
	while (rc == NP_OK) {
		rc = np_scan_next(names, &batch, load->err);
		if (rc < 0 || batch.rows == 0)
			break;
		rc = take_loading(load, &batch, times);
	}
	return rc;
}

static int read_steps(struct rank_db *load)
{
	int rc = rank_db_each(load, "STEP_TIME", step_columns, NP_COUNT(step_columns), take_step);

	if (rc == NP_OK && load->rank->steps.count == 0)
		rc = add_pseudo_step(load);
	capture_sort_steps(&load->capture);
	return rc;
}

static const struct np_scan_column api_columns[] = {
	{ "startNs", NP_SCAN_INTEGER, NP_REQUIRED },
	{ "endNs", NP_SCAN_INTEGER, NP_REQUIRED },
	{ "type", NP_SCAN_INTEGER, NP_REQUIRED },
	{ "connectionId", NP_SCAN_INTEGER, NP_REQUIRED },
	{ "name", NP_SCAN_INTEGER, NP_OPTIONAL },
};

static int take_call(struct rank_db *load, const struct np_batch *batch, size_t row)
{
	np_ns start = batch->column[0].integer[row];
	np_ns end = batch->column[1].integer[row];
	int rc = NP_OK;

	if (capture_time_ok(start, end))
		rc = rank_db_count_call(load, batch->column[2].integer[row],
					batch->column[4].integer[row], end - start);
	if (rc < 0)
		return rc;
	switch (batch->column[2].integer[row]) {
	case API_NODE:
		return capture_launch(&load->capture, batch->column[3].integer[row], start, end);
	case API_ACL:
		return capture_call(&load->capture, batch->column[3].integer[row], start, end);
	default:
		return NP_OK;
	}
}

enum {
	TASK_COL_START,
	TASK_COL_END,
	TASK_COL_DEVICE,
	TASK_COL_CONNECTION,
	TASK_COL_ID,
	TASK_COL_TYPE,
	TASK_COL_STREAM,
	TASK_COL_ON_STREAM,
	TASK_COL_COUNT,
};

static const struct np_scan_column task_columns[TASK_COL_COUNT] = {
	[TASK_COL_START] = { "startNs", NP_SCAN_INTEGER, NP_REQUIRED },
	[TASK_COL_END] = { "endNs", NP_SCAN_INTEGER, NP_REQUIRED },
	[TASK_COL_DEVICE] = { "deviceId", NP_SCAN_INTEGER, NP_OPTIONAL },
	[TASK_COL_CONNECTION] = { "connectionId", NP_SCAN_INTEGER, NP_OPTIONAL },
	[TASK_COL_ID] = { "globalTaskId", NP_SCAN_INTEGER, NP_REQUIRED },
	[TASK_COL_TYPE] = { "taskType", NP_SCAN_INTEGER, NP_OPTIONAL },
	[TASK_COL_STREAM] = { "streamId", NP_SCAN_INTEGER, NP_OPTIONAL },
	[TASK_COL_ON_STREAM] = { "taskId", NP_SCAN_INTEGER, NP_OPTIONAL },
};

static int class_of(struct rank_db *load, int64_t id, enum task_class *ret)
{
	uint32_t known = np_idmap_get(load->classes, id);

	if (known == NP_IDMAP_NONE) {
		struct rank_db_text text = rank_db_text(load, id);
		int rc;

		known = capture_task_class(text.bytes, text.length);
		rc = np_idmap_set(load->classes, id, known, load->err);
		if (rc < 0)
			return rc;
	}
	*ret = (enum task_class)known;
	return NP_OK;
}

static int take_task(struct rank_db *load, const struct np_batch *batch, size_t row)
{
	struct capture_row task = {
		.start = batch->column[TASK_COL_START].integer[row],
		.end = batch->column[TASK_COL_END].integer[row],
		.device = batch->column[TASK_COL_DEVICE].integer[row],
		.connection = batch->column[TASK_COL_CONNECTION].integer[row],
		.stream = batch->column[TASK_COL_STREAM].integer[row],
		.id = batch->column[TASK_COL_ON_STREAM].integer[row],
	};
	uint32_t index = NP_IDMAP_NONE;
	int rc = class_of(load, batch->column[TASK_COL_TYPE].integer[row], &task.class);

	if (rc == NP_OK)
		rc = capture_add_task(&load->capture, &task, &index);
	if (rc < 0 || index == NP_IDMAP_NONE)
		return rc;
	return np_idmap_set(load->task_index, batch->column[TASK_COL_ID].integer[row], index,
			    load->err);
}

static const struct np_scan_column kernel_columns[KERNEL_COL_COUNT] = {
	[KERNEL_COL_TASK] = { "globalTaskId", NP_SCAN_INTEGER, NP_REQUIRED },
	[KERNEL_COL_TYPE] = { "opType", NP_SCAN_INTEGER, NP_OPTIONAL },
	[KERNEL_COL_CORE] = { "taskType", NP_SCAN_INTEGER, NP_OPTIONAL },
	[KERNEL_COL_SHAPES] = { "inputShapes", NP_SCAN_INTEGER, NP_OPTIONAL },
	/* Read only where kernels are summed. */
	[KERNEL_COL_NAME] = { "name", NP_SCAN_INTEGER, NP_OPTIONAL },
	[KERNEL_COL_DTYPES] = { "inputDataTypes", NP_SCAN_INTEGER, NP_OPTIONAL },
	[KERNEL_COL_FORMATS] = { "inputFormats", NP_SCAN_INTEGER, NP_OPTIONAL },
};

/* NP_STR_NONE where the type was not recorded. */
static int type_of(struct rank_db *load, int64_t id, np_str *ret)
{
	uint32_t known = np_idmap_get(load->types, id);
	struct rank_db_text text;
	int rc = NP_OK;

	if (known == NP_IDMAP_NONE) {
		text = rank_db_text(load, id);
		known = NP_STR_NONE;
		if (capture_is_type(text.bytes, text.length))
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

static int take_kernel(struct rank_db *load, const struct np_batch *batch, size_t row)
{
	uint32_t index =
		np_idmap_get(load->task_index, batch->column[KERNEL_COL_TASK].integer[row]);
	struct capture_task *task;
	int rc;

	if (index == NP_IDMAP_NONE) {
		load->kernels_without_task++;
		return NP_OK;
	}
	task = &load->capture.tasks.item[index];
	task->computes = true;
	rc = type_of(load, batch->column[KERNEL_COL_TYPE].integer[row], &task->type);
	if (rc == NP_OK && task->type == load->experts.type)
		rc = take_expert(load, batch->column[KERNEL_COL_SHAPES].integer[row], task);
	if (rc == NP_OK && load->gather)
		rc = rank_db_gather_kernel(load, task, batch, row);
	if (rc < 0)
		return rc;
	return rank_db_count_kernel(load, batch->column[KERNEL_COL_TYPE].integer[row],
				    batch->column[KERNEL_COL_CORE].integer[row],
				    task->end - task->start);
}

int rank_db_read_tasks(struct rank_db *load)
{
	int rc = read_steps(load);

	if (rc == NP_OK)
		rc = read_loading(load);
	if (rc == NP_OK)
		rc = rank_db_each(load, "CANN_API", api_columns, NP_COUNT(api_columns), take_call);
	if (rc == NP_OK)
		rc = rank_db_each(load, "TASK", task_columns, TASK_COL_COUNT, take_task);
	if (rc == NP_OK)
		rc = rank_db_each(load, "COMPUTE_TASK_INFO", kernel_columns,
				  load->gather ? KERNEL_COL_COUNT : KERNEL_COL_PLAIN, take_kernel);
	if (rc == NP_OK)
		rc = capture_close_steps(&load->capture);
	return rc;
}
