/* SPDX-License-Identifier: Apache-2.0 */
/* From what was gathered to step times: cells of steps and devices are measured, at once or in
 * parts. */
#include "capture.h"

#include "comm_steps.h"
#include "copies.h"

#include "npuprof/order.h"
#include "npuprof/steps.h"

static int add_span(struct capture *capture, struct capture_spans *spans, np_ns start, np_ns end)
{
	struct np_span *span = np_vec_add(spans, capture->err);

	if (!span)
		return NP_E_NOMEM;
	*span = (struct np_span){ start, end };
	return NP_OK;
}

int capture_add_computing(struct capture *capture, np_ns start, np_ns end)
{
	capture->computing_given = true;
	return add_span(capture, &capture->computing, start, end);
}

int capture_add_communication(struct capture *capture, np_ns start, np_ns end)
{
	capture->communication_given = true;
	return add_span(capture, &capture->communication, start, end);
}

/* --- operators ------------------------------------------------------------------------------- */

/* Copies over the connection of an operator are its own, even if no sub-task says so. */
bool capture_is_of_op(const struct capture *capture, int64_t connection)
{
	return capture->connections.count > 0 &&
	       bsearch(&connection, capture->connections.item, capture->connections.count,
		       sizeof(connection), np_by_int64);
}

static int sort_connections(struct capture *capture)
{
	for (size_t i = 0; i < capture->op_connections.count; i++) {
		int64_t *connection;

		if (capture->op_connections.item[i] == NP_UNKNOWN)
			continue;
		connection = np_vec_add(&capture->connections, capture->err);
		if (!connection)
			return NP_E_NOMEM;
		*connection = capture->op_connections.item[i];
	}
	if (capture->connections.count)
		qsort(capture->connections.item, capture->connections.count, sizeof(int64_t),
		      np_by_int64);
	return NP_OK;
}

int capture_sort_ops(struct capture *capture, uint32_t **ret_order)
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
	if (rc == NP_OK)
		rc = sort_connections(capture);
	capture->ops_sorted = rc == NP_OK;
	if (rc == NP_OK && ret_order)
		*ret_order = NP_STEAL(order);
	free(order);
	free(sorted);
	return rc;
}

static bool has_device(const struct capture *capture, int32_t device)
{
	for (size_t i = 0; i < capture->devices.count; i++) {
		if (capture->devices.item[i] == device)
			return true;
	}
	return false;
}

static void count_odd_ops(struct capture *capture)
{
	const struct np_rank *rank = capture->rank;

	for (size_t i = 0; i < rank->ops.count; i++) {
		if (rank->ops.item[i].step == NP_NO_STEP)
			capture->ops_outside++;
		else if (!has_device(capture, rank->ops.item[i].device))
			capture->ops_without_device++;
	}
}

/* --- tasks ----------------------------------------------------------------------------------- */

static int by_device_and_start(const void *left, const void *right)
{
	const struct capture_task *a = left;
	const struct capture_task *b = right;

	return a->device != b->device ? np_order(a->device, b->device)
				      : np_order(a->start, b->start);
}

/* Nearly all files have them in order but for neighbours: so many moves at most. */
#define MOVES_EACH 8

/* By device, then start. */
static void capture_sort_tasks(struct capture *capture)
{
	struct capture_task *tasks = capture->tasks.item;
	size_t moves = capture->tasks.count * MOVES_EACH;

	for (size_t i = 1; i < capture->tasks.count; i++) {
		struct capture_task task;
		size_t to = i;

		if (by_device_and_start(&tasks[i - 1], &tasks[i]) <= 0)
			continue;
		task = tasks[i];
		while (to > 0 && moves > 0 && by_device_and_start(&tasks[to - 1], &task) > 0) {
			tasks[to] = tasks[to - 1];
			to--;
			moves--;
		}
		tasks[to] = task;
		if (moves == 0) {
			qsort(tasks, capture->tasks.count, sizeof(*tasks), by_device_and_start);
			return;
		}
	}
}

/* --- cells ----------------------------------------------------------------------------------- */

/* Those of a device in a window, from the place on, which moves behind them. */
static int capture_meter_take(struct capture *capture, struct capture_place *place, uint16_t device,
			      struct np_span window)
{
	const struct np_rank *rank = capture->rank;
	int rc = NP_OK;

	for (; place->task < capture->tasks.count && rc == NP_OK; place->task++) {
		const struct capture_task *task = &capture->tasks.item[place->task];

		if (task->device != device || task->start >= window.end)
			break;
		rc = task->start >= window.begin ? capture_meter_task(capture, task)
						 : capture_meter_task_outside(capture, task);
	}
	for (; place->op < rank->ops.count && rc == NP_OK; place->op++) {
		const struct np_comm_op *op = &rank->ops.item[place->op];
		int32_t on = capture_op_device(capture, op->device,
					       capture->op_connections.item[place->op]);

		if (op->start >= window.end)
			break;
		if (on != capture->devices.item[device])
			continue;
		rc = op->start >= window.begin
			     ? capture_meter_op(capture, (uint32_t)place->op)
			     : capture_meter_op_outside(capture, (uint32_t)place->op);
	}
	return rc;
}

/* Behind the last step: the first that computes, and the first operator, end its last gap. */
static int take_next(struct capture *capture, struct capture_place place, uint16_t device)
{
	const struct np_rank *rank = capture->rank;
	int rc = NP_OK;

	for (bool found = false; rc == NP_OK && !found && place.task < capture->tasks.count;
	     place.task++) {
		const struct capture_task *task = &capture->tasks.item[place.task];

		if (task->device != device)
			break;
		found = task->computes;
		if (found)
			rc = capture_meter_task_outside(capture, task);
	}
	for (bool found = false; rc == NP_OK && !found && place.op < rank->ops.count; place.op++) {
		found = capture_op_device(capture, rank->ops.item[place.op].device,
					  capture->op_connections.item[place.op]) ==
			capture->devices.item[device];
		if (found)
			rc = capture_meter_op_outside(capture, (uint32_t)place.op);
	}
	return rc;
}

static int measure_device(struct capture *capture, uint16_t device)
{
	const struct np_rank *rank = capture->rank;
	bool begun = device == 0 && capture->part.begun;
	struct capture_place *place = &capture->part.place;
	uint32_t step = device == 0 ? capture->part.step : 0;
	int rc = NP_OK;

	if (device > 0)
		place->op = 0;
	for (; step < rank->steps.count && rc == NP_OK; step++) {
		struct np_span window = { rank->steps.item[step].begin,
					  rank->steps.item[step].end };

		if (!begun)
			rc = capture_meter_begin(capture, device, step);
		begun = false;
		if (rc == NP_OK)
			rc = capture_meter_take(capture, place, device, window);
		if (rc == NP_OK)
			rc = capture_meter_end(capture);
	}
	if (rc == NP_OK && capture->meter && !capture->times_only)
		rc = take_next(capture, *place, device);
	capture_meter_end_device(capture);
	for (; place->task < capture->tasks.count &&
	       capture->tasks.item[place->task].device == device;
	     place->task++) {
		if (rc == NP_OK && capture->times_only && capture->meter)
			rc = capture_meter_task_outside(capture, &capture->tasks.item[place->task]);
	}
	return rc;
}

static int by_begin(const void *left, const void *right)
{
	return np_order(((const struct np_span *)left)->begin,
			((const struct np_span *)right)->begin);
}

static void sort_spans(struct capture_spans *spans)
{
	if (spans->count)
		qsort(spans->item, spans->count, sizeof(*spans->item), by_begin);
}

static int measure_devices(struct capture *capture)
{
	int rc = NP_OK;

	for (size_t device = 0; device < capture->devices.count && rc == NP_OK; device++)
		rc = measure_device(capture, (uint16_t)device);
	return rc;
}

/* Iterations were found: the vendor knows one step, and his tables have its times. */
static int measure_whole(struct capture *capture)
{
	struct np_rank *rank = capture->rank;
	struct np_step *found = rank->steps.item;
	size_t count = rank->steps.count;
	bool too_long = capture->too_long;
	int rc;

	rank->steps.item = &capture->pseudo;
	rank->steps.count = 1;
	rc = measure_devices(capture);
	rank->steps.item = found;
	rank->steps.count = count;
	memcpy(&rank->whole, &rank->times, sizeof(rank->whole));
	memset(&rank->times, 0, sizeof(rank->times));
	np_activity_release(&rank->activity);
	rank->activity = (struct np_activity){ 0 };
	capture_meter_free(NP_STEAL(capture->meter));
	capture->part.place = (struct capture_place){ 0 };
	capture->too_long = too_long;
	return rc;
}

int capture_measure(struct capture *capture)
{
	int rc = capture->ops_sorted ? NP_OK : capture_sort_ops(capture, NULL);

	capture_sort_tasks(capture);
	sort_spans(&capture->computing);
	sort_spans(&capture->communication);
	count_odd_ops(capture);
	if (rc == NP_OK && np_steps_are_ours(capture->rank->steps_from))
		rc = measure_whole(capture);
	if (rc == NP_OK)
		rc = measure_devices(capture);
	/* Intervals that were given are not those of kernels. */
	if (rc == NP_OK && capture->times_only && !capture->computing_given &&
	    !capture->communication_given)
		rc = capture_copies_measure(capture->copies, capture->rank, capture->err);
	if (rc == NP_OK)
		rc = np_load_comm_steps(capture->rank, capture->err);
	return rc < 0 ? rc : capture_meter_finish(capture);
}

/* --- in parts --------------------------------------------------------------------------------- */

/*
 * Measuring while reading
 * -----------------------
 *
 * A task belongs to the step in whose window it starts, and windows are known
 * for certain only when all tasks are: those launched in a step widen it. But
 * if tasks come in the order of time, a step that has begun has its begin, and
 * what starts before the end that its window has so far will stay in it. What
 * starts later waits until the window grows over it or the next step begins.
 *
 * At the end the windows that were used are compared with what all tasks made
 * of them: where they differ, as with tasks of a step that come long after the
 * next began, the rank is unordered.
 */

/* The end that the window of a step has so far. */
static np_ns end_so_far(const struct np_step *step)
{
	if (step->id == NP_STR_NONE)
		return NP_NS_MAX;
	return step->end < step->host_end ? step->host_end : step->end;
}

static np_ns begin_of_next(const struct capture *capture)
{
	const struct np_rank *rank = capture->rank;
	uint32_t next = capture->part.step + 1;

	if (next >= rank->steps.count || rank->steps.item[next].begin == NP_UNKNOWN)
		return NP_NS_MAX;
	return rank->steps.item[next].begin;
}

static int begin_step(struct capture *capture)
{
	capture->part.begun = true;
	capture->part.begin = capture->rank->steps.item[capture->part.step].begin;
	return capture_meter_begin(capture, 0, capture->part.step);
}

/* The next step has begun: this one is complete. */
static int end_step(struct capture *capture, struct np_span window)
{
	struct np_span *used = np_vec_add(&capture->part.used, capture->err);

	if (!used)
		return NP_E_NOMEM;
	*used = window;
	capture->part.begun = false;
	capture->part.step++;
	return capture_meter_end(capture);
}

/* Measure what is certain of one step; *ret_more if it is complete and another has begun. */
static int measure_step(struct capture *capture, np_ns until, bool *ret_more)
{
	const struct np_step *step = &capture->rank->steps.item[capture->part.step];
	np_ns next = begin_of_next(capture);
	struct np_span window = { step->begin, end_so_far(step) };
	int rc = capture->part.begun ? NP_OK : begin_step(capture);

	*ret_more = next <= until;
	if (window.end > next)
		window.end = next;
	if (next < window.begin)
		capture->unordered = true;
	capture->part.until = window.end < until ? window.end : until;
	if (rc == NP_OK)
		rc = capture_meter_take(capture, &capture->part.place, 0,
					(struct np_span){ window.begin, capture->part.until });
	if (rc == NP_OK)
		rc = *ret_more ? end_step(capture, window)
			       : capture_meter_go(capture, capture->part.until);
	return rc;
}

/* Those before `place` are done with. */
static void forget_tasks(struct capture *capture)
{
	struct capture_place *place = &capture->part.place;
	size_t left = capture->tasks.count - place->task;

	if (left && place->task)
		memmove(capture->tasks.item, &capture->tasks.item[place->task],
			left * sizeof(*capture->tasks.item));
	capture->tasks.count = left;
	place->task = 0;
}

int capture_measure_until(struct capture *capture, np_ns until)
{
	bool more = true;
	int rc = NP_OK;

	capture_sort_tasks(capture);
	while (more && rc == NP_OK && !capture->unordered) {
		const struct np_step *step = &capture->rank->steps.item[capture->part.step];

		/* What came before the first step may yet be in it: its begin is not known. */
		if (step->begin == NP_UNKNOWN || step->begin >= until)
			break;
		rc = measure_step(capture, until, &more);
	}
	forget_tasks(capture);
	return rc;
}

bool capture_windows_hold(const struct capture *capture)
{
	const struct np_step *steps = capture->rank->steps.item;
	size_t count = capture->part.used.count;

	for (size_t i = 0; i < count; i++) {
		const struct np_span *used = &capture->part.used.item[i];

		if (steps[i].begin != used->begin || steps[i].end != used->end)
			return false;
	}
	return !capture->part.begun || (steps[count].begin == capture->part.begin &&
					steps[count].end >= capture->part.until);
}
