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
			rc = add_span(capture, &cell->computing, task->start, task->end);
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
		rc = capture->communication_given
			     ? NP_OK
			     : add_span(capture, &cell->communication, op->start, op->end);
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

static int measure_cell(struct capture *capture, uint16_t device, uint32_t step,
			struct np_spans *communication)
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
	np_spans_clear(communication);
	rc = np_spans_add_all(cell->compute_union, cell->computing.item, cell->computing.count,
			      capture->err);
	if (rc == NP_OK)
		rc = np_spans_add_all(communication, cell->communication.item,
				      cell->communication.count, capture->err);
	if (rc == NP_OK)
		np_step_time_measure(&capture->rank->steps.item[step], cell->compute_union,
				     communication, cell->receive, cell->tasks, time);
	return rc;
}

static int measure_steps(struct capture *capture)
{
	NP_CLEANUP(np_spans_freep) struct np_spans *communication = np_spans_new();
	size_t steps = capture->rank->steps.count;
	int rc = NP_OK;

	if (!communication)
		return np_fail_nomem(capture->err, "step times");
	for (size_t device = 0; device < capture->devices.count; device++) {
		for (uint32_t step = 0; step < steps && rc == NP_OK; step++)
			rc = measure_cell(capture, (uint16_t)device, step, communication);
	}
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
	int rc = np_load_sort_ops(capture->rank, capture->strings, capture->err);

	if (rc == NP_OK)
		rc = np_load_comm_steps(capture->rank, &order, capture->err);
	if (rc == NP_OK)
		rc = measure_exposed(capture, order);
	free(order);
	return rc;
}

int capture_measure(struct capture *capture)
{
	int rc = sort_tasks_into_steps(capture);

	if (rc == NP_OK)
		rc = sort_ops_into_steps(capture);
	if (rc == NP_OK)
		rc = measure_steps(capture);
	if (rc == NP_OK)
		rc = measure_communicators(capture);
	return rc;
}
