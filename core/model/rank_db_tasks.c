/* SPDX-License-Identifier: Apache-2.0 */
#include "rank_db.h"

#include "npuprof/steps.h"

/* CANN_API.type of a node call, the call that launches tasks. */
#define API_NODE 10000

static const struct np_scan_column step_columns[] = {
	{ "id", NP_SCAN_TEXT, NP_REQUIRED },
	{ "startNs", NP_SCAN_INTEGER, NP_REQUIRED },
	{ "endNs", NP_SCAN_INTEGER, NP_REQUIRED },
};

bool rank_db_time_ok(np_ns start, np_ns end)
{
	return start >= -NP_NS_MAX && end <= NP_NS_MAX && start <= end;
}

static int add_step(struct rank_db *load, np_str id, np_ns host_begin, np_ns host_end)
{
	struct np_step *step = np_vec_add(&load->rank->steps, load->err);

	if (!step)
		return NP_E_NOMEM;
	*step = (struct np_step){ .id = id,
				  .host_begin = host_begin,
				  .host_end = host_end,
				  .begin = NP_UNKNOWN,
				  .end = NP_UNKNOWN };
	return NP_OK;
}

static int take_step(struct rank_db *load, const struct np_batch *batch, size_t row)
{
	struct np_scan_text text = batch->column[0].text[row];
	np_ns begin = batch->column[1].integer[row];
	np_ns end = batch->column[2].integer[row];
	np_str id;
	int rc;

	if (!text.bytes || text.length == 0 || !rank_db_time_ok(begin, end)) {
		np_note_add(&load->rank->notes, NP_NOTE_SKIPPED, load->rank->id,
			    np_db_path(load->db), "STEP_TIME",
			    "a step without id or with impossible times");
		return NP_OK;
	}
	rc = np_strtab_add(load->strings, text.bytes, text.length, &id, load->err);
	return rc < 0 ? rc : add_step(load, id, begin, end);
}

static int by_host_begin(const void *left, const void *right)
{
	const struct np_step *a = left;
	const struct np_step *b = right;

	return (a->host_begin > b->host_begin) - (a->host_begin < b->host_begin);
}

static const struct np_scan_column framework_columns[] = {
	{ "startNs", NP_SCAN_INTEGER, NP_REQUIRED },
};

static int take_framework_call(struct rank_db *load, const struct np_batch *batch, size_t row)
{
	struct np_step *step = &load->rank->steps.item[0];
	np_ns start = batch->column[0].integer[row];

	if (start != NP_UNKNOWN && (step->host_begin == NP_UNKNOWN || start < step->host_begin))
		step->host_begin = start;
	return NP_OK;
}

/* Without steps everything is one, which begins for the host at the first call of the framework. */
static int add_pseudo_step(struct rank_db *load)
{
	int rc = add_step(load, NP_STR_NONE, NP_UNKNOWN, NP_UNKNOWN);

	if (rc < 0)
		return rc;
	return rank_db_each(load, "PYTORCH_API", framework_columns, NP_COUNT(framework_columns),
			    take_framework_call);
}

static int read_steps(struct rank_db *load)
{
	struct np_rank *rank = load->rank;
	int rc = rank_db_each(load, "STEP_TIME", step_columns, NP_COUNT(step_columns), take_step);

	if (rc < 0)
		return rc;
	if (rank->steps.count == 0)
		return add_pseudo_step(load);
	qsort(rank->steps.item, rank->steps.count, sizeof(rank->steps.item[0]), by_host_begin);
	return NP_OK;
}

/* The step whose host window holds the whole call; the pseudo step holds every call. */
static uint32_t launching_step(const struct np_rank *rank, np_ns start, np_ns end)
{
	const struct np_step *steps = rank->steps.item;
	size_t low = 0;
	size_t high = rank->steps.count;

	if (steps[0].id == NP_STR_NONE)
		return 0;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (steps[middle].host_begin <= start)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0 || end > steps[low - 1].host_end)
		return NP_NO_STEP;
	return (uint32_t)(low - 1);
}

static const struct np_scan_column api_columns[] = {
	{ "startNs", NP_SCAN_INTEGER, NP_REQUIRED },
	{ "endNs", NP_SCAN_INTEGER, NP_REQUIRED },
	{ "type", NP_SCAN_INTEGER, NP_REQUIRED },
	{ "connectionId", NP_SCAN_INTEGER, NP_REQUIRED },
};

static int take_call(struct rank_db *load, const struct np_batch *batch, size_t row)
{
	int64_t connection = batch->column[3].integer[row];
	uint32_t step;

	if (batch->column[2].integer[row] != API_NODE || connection == NP_UNKNOWN)
		return NP_OK;
	step = launching_step(load->rank, batch->column[0].integer[row],
			      batch->column[1].integer[row]);
	if (step == NP_NO_STEP)
		return NP_OK;
	return np_idmap_set(load->launched, connection, step, load->err);
}

enum {
	TASK_START,
	TASK_END,
	TASK_DEVICE,
	TASK_CONNECTION,
	TASK_ID,
	TASK_TYPE,
	TASK_COLUMNS,
};

static const struct np_scan_column task_columns[TASK_COLUMNS] = {
	[TASK_START] = { "startNs", NP_SCAN_INTEGER, NP_REQUIRED },
	[TASK_END] = { "endNs", NP_SCAN_INTEGER, NP_REQUIRED },
	[TASK_DEVICE] = { "deviceId", NP_SCAN_INTEGER, NP_OPTIONAL },
	[TASK_CONNECTION] = { "connectionId", NP_SCAN_INTEGER, NP_OPTIONAL },
	[TASK_ID] = { "globalTaskId", NP_SCAN_INTEGER, NP_REQUIRED },
	[TASK_TYPE] = { "taskType", NP_SCAN_INTEGER, NP_OPTIONAL },
};

static enum np_task_class classify(struct rank_db_text text)
{
	static const char *const outside[] = { "KERNELAICORE", "KERNELAIVEC",	  "FFTSPLUS",
					       "KERNELMIXAIC", "KERNELMIXAIV",	  "MIXAIC",
					       "MIXAIV",       "PROFILINGENABLE", "PROFILINGDISABLE" };
	char plain[32];

	rank_db_plain_type(text, plain, sizeof(plain));
	if (strcmp(plain, "SDMA") == 0)
		return NP_CLASS_SDMA;
	if (strcmp(plain, "NOTIFYWAIT") == 0)
		return NP_CLASS_NOTIFY_WAIT;
	for (size_t i = 0; i < NP_COUNT(outside); i++) {
		if (strcmp(plain, outside[i]) == 0)
			return NP_CLASS_NOT_IN_EXTENT;
	}
	return NP_CLASS_OTHER;
}

static int class_of(struct rank_db *load, int64_t id, uint8_t *ret)
{
	uint32_t known = np_idmap_get(load->classes, id);

	if (known == NP_IDMAP_NONE) {
		int rc;

		known = classify(rank_db_text(load, id));
		rc = np_idmap_set(load->classes, id, known, load->err);
		if (rc < 0)
			return rc;
	}
	*ret = (uint8_t)known;
	return NP_OK;
}

static int device_of(struct rank_db *load, int64_t id, uint16_t *ret)
{
	int32_t device = id < 0 || id > INT32_MAX ? -1 : (int32_t)id;
	int32_t *slot;

	for (size_t i = 0; i < load->devices.count; i++) {
		if (load->devices.item[i] == device) {
			*ret = (uint16_t)i;
			return NP_OK;
		}
	}
	if (load->devices.count == UINT16_MAX)
		return np_fail(load->err, NP_E_FORMAT, "'%s': more devices than possible",
			       np_db_path(load->db));
	slot = np_vec_add(&load->devices, load->err);
	if (!slot)
		return NP_E_NOMEM;
	*slot = device;
	*ret = (uint16_t)(load->devices.count - 1);
	return NP_OK;
}

/* A task launched by a step widens the step's window on the device. */
static void widen_step(struct rank_db *load, const struct rank_db_task *task)
{
	uint32_t index = np_idmap_get(load->launched, task->connection);
	struct np_step *step;

	if (index == NP_IDMAP_NONE)
		return;
	step = &load->rank->steps.item[index];
	if (step->begin == NP_UNKNOWN || task->start < step->begin)
		step->begin = task->start;
	if (step->end == NP_UNKNOWN || task->end > step->end)
		step->end = task->end;
}

static int take_task(struct rank_db *load, const struct np_batch *batch, size_t row)
{
	struct rank_db_task *task;
	np_ns start = batch->column[TASK_START].integer[row];
	np_ns end = batch->column[TASK_END].integer[row];
	int rc;

	if (!rank_db_time_ok(start, end)) {
		load->impossible_times++;
		return NP_OK;
	}
	task = np_vec_add(&load->tasks, load->err);
	if (!task)
		return NP_E_NOMEM;
	task->start = start;
	task->end = end;
	task->connection = batch->column[TASK_CONNECTION].integer[row];
	rc = device_of(load, batch->column[TASK_DEVICE].integer[row], &task->device);
	if (rc == NP_OK)
		rc = class_of(load, batch->column[TASK_TYPE].integer[row], &task->class);
	if (rc == NP_OK)
		rc = np_idmap_set(load->task_index, batch->column[TASK_ID].integer[row],
				  (uint32_t)(load->tasks.count - 1), load->err);
	widen_step(load, task);
	return rc;
}

static const struct np_scan_column kernel_columns[] = {
	{ "globalTaskId", NP_SCAN_INTEGER, NP_REQUIRED },
};

static int take_kernel(struct rank_db *load, const struct np_batch *batch, size_t row)
{
	uint32_t task = np_idmap_get(load->task_index, batch->column[0].integer[row]);

	if (task == NP_IDMAP_NONE)
		load->kernels_without_task++;
	else
		load->tasks.item[task].computes = true;
	return NP_OK;
}

int rank_db_read_tasks(struct rank_db *load)
{
	int rc = read_steps(load);

	if (rc == NP_OK)
		rc = rank_db_each(load, "CANN_API", api_columns, NP_COUNT(api_columns), take_call);
	if (rc == NP_OK)
		rc = rank_db_each(load, "TASK", task_columns, TASK_COLUMNS, take_task);
	if (rc == NP_OK)
		rc = rank_db_each(load, "COMPUTE_TASK_INFO", kernel_columns,
				  NP_COUNT(kernel_columns), take_kernel);
	if (rc == NP_OK)
		np_steps_finish(load->rank->steps.item, load->rank->steps.count);
	return rc;
}
