/* SPDX-License-Identifier: Apache-2.0 */
#include "rank_db.h"

#include "npuprof/steps.h"

struct rank_db_cell *rank_db_cell(struct rank_db *load, uint16_t device, uint32_t step)
{
	return &load->cells[device * load->rank->steps.count + step];
}

bool rank_db_device(const struct rank_db *load, int32_t device, uint16_t *ret)
{
	for (size_t i = 0; i < load->devices.count; i++) {
		if (load->devices.item[i] == device) {
			*ret = (uint16_t)i;
			return true;
		}
	}
	return false;
}

int rank_db_prepare(struct rank_db *load)
{
	size_t count = load->devices.count * load->rank->steps.count;

	load->cells = calloc(count ? count : 1, sizeof(*load->cells));
	if (!load->cells)
		return np_fail_nomem(load->err, "step times");
	for (size_t i = 0; i < count; i++)
		load->cells[i].tasks = (struct np_span){ NP_NS_MAX, -NP_NS_MAX };
	return NP_OK;
}

static int add_span(struct rank_db *load, struct rank_db_spans *spans, np_ns start, np_ns end)
{
	struct np_span *span = np_vec_add(spans, load->err);

	if (!span)
		return NP_E_NOMEM;
	*span = (struct np_span){ start, end };
	return NP_OK;
}

static void widen_extent(struct np_span *extent, const struct rank_db_task *task)
{
	if (task->class == NP_CLASS_NOT_IN_EXTENT)
		return;
	if (task->start < extent->begin)
		extent->begin = task->start;
	if (task->end > extent->end)
		extent->end = task->end;
}

/* Put every task into the step that holds its start. */
static int sort_tasks_into_steps(struct rank_db *load)
{
	const struct np_rank *rank = load->rank;
	int rc = NP_OK;

	for (size_t i = 0; i < load->tasks.count && rc == NP_OK; i++) {
		const struct rank_db_task *task = &load->tasks.item[i];
		uint32_t step = np_steps_find(rank->steps.item, rank->steps.count, task->start);
		struct rank_db_cell *cell;

		if (step == NP_NO_STEP)
			continue;
		cell = rank_db_cell(load, task->device, step);
		widen_extent(&cell->tasks, task);
		if (task->computes)
			rc = add_span(load, &cell->computing, task->start, task->end);
	}
	return rc;
}

static int sort_ops_into_steps(struct rank_db *load)
{
	const struct np_rank *rank = load->rank;

	for (size_t i = 0; i < rank->ops.count; i++) {
		const struct np_comm_op *op = &rank->ops.item[i];
		struct rank_db_cell *cell;
		uint16_t device;
		int rc;

		if (op->step == NP_NO_STEP) {
			load->ops_outside++;
			continue;
		}
		if (!rank_db_device(load, op->device, &device)) {
			load->ops_without_device++;
			continue;
		}
		cell = rank_db_cell(load, device, op->step);
		rc = add_span(load, &cell->communication, op->start, op->end);
		if (rc < 0)
			return rc;
		if (strncmp(np_strtab_text(load->strings, op->name), "hcom_receive", 12) == 0)
			cell->receive += op->end - op->start;
	}
	return NP_OK;
}

static int measure_cell(struct rank_db *load, uint16_t device, uint32_t step,
			struct np_spans *communication)
{
	struct rank_db_cell *cell = rank_db_cell(load, device, step);
	struct np_step_time *time = np_vec_add(&load->rank->times, load->err);
	int rc;

	if (!time)
		return NP_E_NOMEM;
	time->device = load->devices.item[device];
	time->step = step;
	cell->compute_union = np_spans_new();
	if (!cell->compute_union)
		return np_fail_nomem(load->err, "step times");
	np_spans_clear(communication);
	rc = np_spans_add_all(cell->compute_union, cell->computing.item, cell->computing.count,
			      load->err);
	if (rc == NP_OK)
		rc = np_spans_add_all(communication, cell->communication.item,
				      cell->communication.count, load->err);
	if (rc == NP_OK)
		np_step_time_measure(&load->rank->steps.item[step], cell->compute_union,
				     communication, cell->receive, cell->tasks, time);
	return rc;
}

static int measure_steps(struct rank_db *load)
{
	NP_CLEANUP(np_spans_freep) struct np_spans *communication = np_spans_new();
	size_t steps = load->rank->steps.count;
	int rc = NP_OK;

	if (!communication)
		return np_fail_nomem(load->err, "step times");
	for (size_t device = 0; device < load->devices.count; device++) {
		for (uint32_t step = 0; step < steps && rc == NP_OK; step++)
			rc = measure_cell(load, (uint16_t)device, step, communication);
	}
	return rc;
}

/* The union of the operators order[0 … count), which are sorted by time. */
static int union_of_ops(struct rank_db *load, const uint32_t *order, size_t count,
			struct np_spans *ret)
{
	int rc = NP_OK;

	np_spans_clear(ret);
	for (size_t i = 0; i < count && rc == NP_OK; i++) {
		const struct np_comm_op *op = &load->rank->ops.item[order[i]];

		rc = np_spans_add(ret, op->start, op->end, load->err);
	}
	return rc;
}

/* How much of each communicator's time computing hid. */
static int measure_exposed(struct rank_db *load, const uint32_t *order)
{
	NP_CLEANUP(np_spans_freep) struct np_spans *own = np_spans_new();
	struct np_rank *rank = load->rank;

	if (!own)
		return np_fail_nomem(load->err, "communicators");
	for (size_t i = 0; i < rank->comm_steps.count; i++) {
		struct np_comm_step *sum = &rank->comm_steps.item[i];
		uint16_t device;
		int rc = union_of_ops(load, order, sum->ops, own);

		if (rc < 0)
			return rc;
		order += sum->ops;
		if (!rank_db_device(load, sum->device, &device))
			continue;
		sum->overlapped =
			np_spans_overlap(own, rank_db_cell(load, device, sum->step)->compute_union);
		sum->exposed = np_spans_total(own) - sum->overlapped;
	}
	return NP_OK;
}

static int measure_communicators(struct rank_db *load)
{
	uint32_t *order = NULL;
	int rc = np_load_sort_ops(load->rank, load->strings, load->err);

	if (rc == NP_OK)
		rc = np_load_comm_steps(load->rank, &order, load->err);
	if (rc == NP_OK)
		rc = measure_exposed(load, order);
	free(order);
	return rc;
}

int rank_db_measure(struct rank_db *load)
{
	int rc = sort_tasks_into_steps(load);

	if (rc == NP_OK)
		rc = sort_ops_into_steps(load);
	if (rc == NP_OK)
		rc = measure_steps(load);
	if (rc == NP_OK)
		rc = measure_communicators(load);
	return rc;
}
