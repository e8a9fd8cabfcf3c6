/* SPDX-License-Identifier: Apache-2.0 */
#include "capture.h"

#include "npuprof/steps.h"

static struct capture_cell *cell_of(struct capture *capture, uint16_t device, uint32_t step)
{
	return &capture->cells[device * capture->rank->steps.count + step];
}

static bool find_device(const struct capture *capture, int32_t device, uint16_t *ret)
{
	for (size_t i = 0; i < capture->devices.count; i++) {
		if (capture->devices.item[i] == device) {
			*ret = (uint16_t)i;
			return true;
		}
	}
	return false;
}

static int add_span(struct capture *capture, struct capture_spans *spans, np_ns start, np_ns end)
{
	struct np_span *span = np_vec_add(spans, capture->err);

	if (!span)
		return NP_E_NOMEM;
	*span = (struct np_span){ start, end };
	return NP_OK;
}

static void widen_extent(struct np_span *extent, const struct capture_task *task)
{
	if (task->class == TASK_NOT_IN_EXTENT)
		return;
	if (task->start < extent->begin)
		extent->begin = task->start;
	if (task->end > extent->end)
		extent->end = task->end;
}

static int add_index(struct capture *capture, struct capture_list *list, size_t index)
{
	uint32_t *slot = np_vec_add(list, capture->err);

	if (!slot)
		return NP_E_NOMEM;
	*slot = (uint32_t)index;
	return NP_OK;
}

static bool copies(const struct capture_task *task)
{
	return (task->class == TASK_COPY || task->class == TASK_SDMA) && !task->of_op;
}

/* Put every task into the step that holds its start. */
static int sort_tasks_into_steps(struct capture *capture)
{
	const struct np_rank *rank = capture->rank;
	int rc = NP_OK;

	for (size_t i = 0; i < capture->tasks.count && rc == NP_OK; i++) {
		const struct capture_task *task = &capture->tasks.item[i];
		uint32_t step = np_steps_find(rank->steps.item, rank->steps.count, task->start);
		struct capture_cell *cell;

		if (step == NP_NO_STEP)
			continue;
		cell = cell_of(capture, task->device, step);
		widen_extent(&cell->tasks, task);
		if (task->computes)
			rc = add_index(capture, &cell->kernels, i);
		else if (copies(task))
			rc = add_index(capture, &cell->copies, i);
	}
	return rc;
}

static int sort_ops_into_steps(struct capture *capture)
{
	const struct np_rank *rank = capture->rank;

	for (size_t i = 0; i < rank->ops.count; i++) {
		const struct np_comm_op *op = &rank->ops.item[i];
		struct capture_cell *cell;
		uint16_t device;
		int rc;

		if (op->step == NP_NO_STEP) {
			capture->ops_outside++;
			continue;
		}
		if (!find_device(capture, op->device, &device)) {
			capture->ops_without_device++;
			continue;
		}
		cell = cell_of(capture, device, op->step);
		rc = add_index(capture, &cell->ops, i);
		if (rc < 0)
			return rc;
		if (strncmp(np_strtab_text(capture->strings, op->name), "hcom_receive", 12) == 0)
			cell->receive += op->end - op->start;
	}
	return NP_OK;
}

int capture_add_computing(struct capture *capture, uint16_t device, np_ns start, np_ns end)
{
	const struct np_rank *rank = capture->rank;
	uint32_t step = np_steps_find(rank->steps.item, rank->steps.count, start);

	capture->computing_given = true;
	if (step == NP_NO_STEP)
		return NP_OK;
	return add_span(capture, &cell_of(capture, device, step)->computing, start, end);
}

int capture_add_communication(struct capture *capture, uint16_t device, np_ns start, np_ns end)
{
	const struct np_rank *rank = capture->rank;
	uint32_t step = np_steps_find(rank->steps.item, rank->steps.count, start);

	capture->communication_given = true;
	if (step == NP_NO_STEP)
		return NP_OK;
	return add_span(capture, &cell_of(capture, device, step)->communication, start, end);
}

struct task_list {
	struct np_activity_task *item;
	size_t count;
	size_t capacity;
};

/* A cell while it is measured: its tasks with all that tells whose a nanosecond is. */
struct cell_tasks {
	struct task_list kernels;
	struct task_list ops;
	struct task_list copies;
	struct np_spans *communication;
};

/* When the node call that launched a kernel or an operator had returned. */
static np_ns launched(const struct capture *capture, int64_t connection)
{
	const struct capture_launch *launch = capture_launch_of(capture, connection);

	return launch ? launch->end : NP_UNKNOWN;
}

static struct np_activity_task of_task(const struct capture_task *task, np_ns launched_at)
{
	return (struct np_activity_task){
		.start = task->start,
		.end = task->end,
		.launched = launched_at,
		.tie = np_activity_tie(task->stream, task->id),
		.of = task->type,
	};
}

static struct np_activity_task of_op(const struct capture *capture, uint32_t index)
{
	const struct np_comm_op *op = &capture->rank->ops.item[index];

	return (struct np_activity_task){
		.start = op->start,
		.end = op->end,
		.launched = launched(capture, capture->op_connections.item[index]),
		.tie = capture->rank->groups.item[op->group].hash,
		.of = index,
	};
}

/* Room for so many tasks; what was there is used up. */
static int make_room(struct capture *capture, struct task_list *list, size_t count)
{
	struct np_activity_task *room;

	list->count = count;
	if (count <= list->capacity)
		return NP_OK;
	room = malloc(count * sizeof(*room));
	if (!room)
		return np_fail_nomem(capture->err, "step times");
	free(list->item);
	list->item = room;
	list->capacity = count;
	return NP_OK;
}

static int gather(struct capture *capture, const struct capture_cell *cell,
		  struct cell_tasks *tasks)
{
	int rc = make_room(capture, &tasks->kernels, cell->kernels.count);

	if (rc == NP_OK)
		rc = make_room(capture, &tasks->ops, cell->ops.count);
	if (rc == NP_OK)
		rc = make_room(capture, &tasks->copies, cell->copies.count);
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < cell->kernels.count; i++) {
		const struct capture_task *task = &capture->tasks.item[cell->kernels.item[i]];

		tasks->kernels.item[i] = of_task(task, launched(capture, task->connection));
	}
	for (size_t i = 0; i < cell->ops.count; i++)
		tasks->ops.item[i] = of_op(capture, cell->ops.item[i]);
	for (size_t i = 0; i < cell->copies.count; i++) {
		const struct capture_task *task = &capture->tasks.item[cell->copies.item[i]];

		tasks->copies.item[i] =
			of_task(task, capture_copy_launched(capture, task->connection));
	}
	np_activity_sort(tasks->kernels.item, tasks->kernels.count);
	np_activity_sort(tasks->ops.item, tasks->ops.count);
	return NP_OK;
}

/* The spans that were given, or else the union of sorted tasks. */
static int unite(struct capture *capture, bool given, struct capture_spans *spans,
		 const struct np_activity_task *tasks, size_t count, struct np_spans *ret)
{
	int rc = NP_OK;

	if (given)
		return np_spans_add_all(ret, spans->item, spans->count, capture->err);
	for (size_t i = 0; i < count && rc == NP_OK; i++)
		rc = np_spans_add(ret, tasks[i].start, tasks[i].end, capture->err);
	return rc;
}

static int add_activity(struct capture *capture, const struct capture_cell *cell,
			struct cell_tasks *tasks)
{
	struct np_activity_input input = {
		.kernels = tasks->kernels.item,
		.kernel_count = tasks->kernels.count,
		.ops = tasks->ops.item,
		.op_count = tasks->ops.count,
		.copies = tasks->copies.item,
		.copy_count = tasks->copies.count,
		.computing = capture->computing_given ? cell->compute_union : NULL,
		.communication = capture->communication_given ? tasks->communication : NULL,
		.loading = capture->loading,
	};

	return np_activity_add(&capture->rank->activity, &input, capture->err);
}

/* Steps of more than a day are made of damaged times: dividing them would only take memory. */
#define LONGEST_DIVIDED_NS INT64_C(86400000000000)

static int measure_cell(struct capture *capture, uint16_t device, uint32_t step,
			struct cell_tasks *tasks)
{
	struct capture_cell *cell = cell_of(capture, device, step);
	struct np_step_time *time = np_vec_add(&capture->rank->times, capture->err);
	int rc;

	if (!time)
		return NP_E_NOMEM;
	time->device = capture->devices.item[device];
	time->step = step;
	cell->compute_union = np_spans_new();
	if (!cell->compute_union)
		return np_fail_nomem(capture->err, "step times");
	np_spans_clear(tasks->communication);
	rc = gather(capture, cell, tasks);
	if (rc == NP_OK)
		rc = unite(capture, capture->computing_given, &cell->computing, tasks->kernels.item,
			   tasks->kernels.count, cell->compute_union);
	if (rc == NP_OK)
		rc = unite(capture, capture->communication_given, &cell->communication,
			   tasks->ops.item, tasks->ops.count, tasks->communication);
	if (rc < 0)
		return rc;
	np_step_time_measure(&capture->rank->steps.item[step], cell->compute_union,
			     tasks->communication, cell->receive, cell->tasks, time);
	if (time->span > LONGEST_DIVIDED_NS)
		capture->too_long = true;
	return capture->too_long ? NP_OK : add_activity(capture, cell, tasks);
}

static int measure_steps(struct capture *capture)
{
	struct cell_tasks tasks = { .communication = np_spans_new() };
	size_t steps = capture->rank->steps.count;
	int rc = NP_OK;

	if (!tasks.communication)
		rc = np_fail_nomem(capture->err, "step times");
	for (size_t device = 0; device < capture->devices.count; device++) {
		for (uint32_t step = 0; step < steps && rc == NP_OK; step++)
			rc = measure_cell(capture, (uint16_t)device, step, &tasks);
	}
	if (capture->too_long)
		np_activity_release(&capture->rank->activity);
	else if (rc == NP_OK)
		rc = np_activity_finish(&capture->rank->activity, capture->err);
	free(tasks.kernels.item);
	free(tasks.ops.item);
	free(tasks.copies.item);
	np_spans_free(tasks.communication);
	return rc;
}

/* The union of the operators order[0 … count), which are sorted by time. */
static int union_of_ops(struct capture *capture, const uint32_t *order, size_t count,
			struct np_spans *ret)
{
	int rc = NP_OK;

	np_spans_clear(ret);
	for (size_t i = 0; i < count && rc == NP_OK; i++) {
		const struct np_comm_op *op = &capture->rank->ops.item[order[i]];

		rc = np_spans_add(ret, op->start, op->end, capture->err);
	}
	return rc;
}

/* How much of each communicator's time computing hid. */
static int measure_exposed(struct capture *capture, const uint32_t *order)
{
	NP_CLEANUP(np_spans_freep) struct np_spans *own = np_spans_new();
	struct np_rank *rank = capture->rank;

	if (!own)
		return np_fail_nomem(capture->err, "communicators");
	for (size_t i = 0; i < rank->comm_steps.count; i++) {
		struct np_comm_step *sum = &rank->comm_steps.item[i];
		uint16_t device;
		int rc = union_of_ops(capture, order, sum->ops, own);

		if (rc < 0)
			return rc;
		order += sum->ops;
		if (!find_device(capture, sum->device, &device))
			continue;
		sum->overlapped =
			np_spans_overlap(own, cell_of(capture, device, sum->step)->compute_union);
		sum->exposed = np_spans_total(own) - sum->overlapped;
	}
	return NP_OK;
}

static int measure_communicators(struct capture *capture)
{
	uint32_t *order = NULL;
	int rc = np_load_comm_steps(capture->rank, &order, capture->err);

	if (rc == NP_OK)
		rc = measure_exposed(capture, order);
	free(order);
	return rc;
}

/* --- whose tasks and operators are ----------------------------------------------------------- */

/* Sort the operators, and with them what launched them. */
static int sort_ops(struct capture *capture)
{
	size_t count = capture->rank->ops.count;
	int64_t *sorted = malloc((count ? count : 1) * sizeof(*sorted));
	uint32_t *order = NULL;
	int rc = sorted ? np_load_sort_ops(capture->rank, capture->strings, &order, capture->err)
			: np_fail_nomem(capture->err, "communication operators");

	for (size_t i = 0; i < count && rc == NP_OK; i++)
		sorted[i] = capture->op_connections.item[order[i]];
	if (rc == NP_OK && count)
		memcpy(capture->op_connections.item, sorted, count * sizeof(*sorted));
	free(order);
	free(sorted);
	return rc;
}

/* Copies over the connection of an operator are its own, even if no small task says so. */
static int find_copies_of_ops(struct capture *capture)
{
	NP_CLEANUP(np_idmap_freep) struct np_idmap *ops = np_idmap_new();
	int rc = ops ? NP_OK : np_fail_nomem(capture->err, "communication operators");

	for (size_t i = 0; i < capture->op_connections.count && rc == NP_OK; i++) {
		if (capture->op_connections.item[i] != NP_UNKNOWN)
			rc = np_idmap_set(ops, capture->op_connections.item[i], 1, capture->err);
	}
	for (size_t i = 0; i < capture->tasks.count && rc == NP_OK; i++) {
		struct capture_task *task = &capture->tasks.item[i];

		if (copies(task) && np_idmap_get(ops, task->connection) != NP_IDMAP_NONE)
			task->of_op = true;
	}
	return rc;
}

int capture_measure(struct capture *capture)
{
	int rc = sort_ops(capture);

	if (rc == NP_OK)
		rc = find_copies_of_ops(capture);
	if (rc == NP_OK)
		rc = sort_tasks_into_steps(capture);
	if (rc == NP_OK)
		rc = sort_ops_into_steps(capture);
	if (rc == NP_OK)
		rc = measure_steps(capture);
	if (rc == NP_OK)
		rc = measure_communicators(capture);
	return rc;
}
