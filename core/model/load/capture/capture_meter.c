/* SPDX-License-Identifier: Apache-2.0 */
/* One device in one step after another: its tasks and operators become times and activity. */
#include "capture.h"

#include "between.h"
#include "copies.h"

#include "npuprof/steps.h"

/* Steps of more than a day are made of damaged times: dividing them would only take memory. */
#define LONGEST_DIVIDED_NS INT64_C(86400000000000)

struct task_list {
	struct np_activity_task *item;
	size_t count;
	size_t capacity;
};

/* A communicator in the cell that is measured. */
struct group_time {
	bool used;
	np_ns reached; /* the last end of its operators so far */
	np_ns covered; /* by the union of its operators */
	np_ns overlapped;
};

/* What an operator adds to the union of its communicator, as far as computing was not yet seen. */
struct meter_running {
	np_ns begin;
	np_ns end;
	uint32_t group;
};

/* What computing hid of a communicator in a cell. */
struct hidden {
	uint32_t group;
	uint32_t step;
	int32_t device;
	np_ns covered;
	np_ns overlapped;
};

/* One device in one step while it is measured, in one part or in several. */
struct capture_meter {
	uint16_t device;
	uint32_t step;
	struct np_activity_builder *build;
	struct task_list kernels; /* of this part, with all that decides whose a nanosecond is */
	struct task_list ops;
	struct task_list copies;
	struct np_spans *computing; /* of this part */
	struct np_spans *communication;
	struct np_span computing_rest; /* what reaches into the next part */
	struct np_span communication_rest;
	struct np_busy busy;
	np_ns receive;
	struct np_span extent;
	struct between between; /* the last cell of the device and this one */
	bool begun;             /* something of the cell computed or communicated */
	NP_VEC(struct meter_running) running;
	NP_VEC(struct group_time) groups; /* by the index in rank->groups */
	NP_VEC(struct hidden) hidden;
};

static struct capture_meter *capture_meter_new(void)
{
	struct capture_meter *meter = calloc(1, sizeof(*meter));

	if (!meter)
		return NULL;
	between_init(&meter->between);
	meter->build = np_activity_builder_new();
	meter->computing = np_spans_new();
	meter->communication = np_spans_new();
	if (meter->build && meter->computing && meter->communication)
		return meter;
	capture_meter_free(meter);
	return NULL;
}

void capture_meter_free(struct capture_meter *meter)
{
	if (!meter)
		return;
	np_activity_builder_free(meter->build);
	np_vec_release(&meter->kernels);
	np_vec_release(&meter->ops);
	np_vec_release(&meter->copies);
	np_spans_free(meter->computing);
	np_spans_free(meter->communication);
	between_release(&meter->between);
	np_vec_release(&meter->running);
	np_vec_release(&meter->groups);
	np_vec_release(&meter->hidden);
	free(meter);
}

/* --- beginning ------------------------------------------------------------------------------- */

int capture_meter_begin(struct capture *capture, uint16_t device, uint32_t step)
{
	struct capture_meter *meter = capture->meter;

	if (!meter)
		meter = capture->meter = capture_meter_new();
	if (!meter)
		return np_fail_nomem(capture->err, "step times");
	meter->device = device;
	meter->step = step;
	meter->begun = false;
	meter->kernels.count = 0;
	meter->ops.count = 0;
	meter->copies.count = 0;
	meter->computing_rest = (struct np_span){ 0, 0 };
	meter->communication_rest = (struct np_span){ 0, 0 };
	meter->busy = (struct np_busy){ 0 };
	meter->receive = 0;
	meter->extent = (struct np_span){ NP_NS_MAX, -NP_NS_MAX };
	meter->running.count = 0;
	while (meter->groups.count < capture->rank->groups.count) {
		if (!np_vec_add(&meter->groups, capture->err))
			return NP_E_NOMEM;
	}
	if (!capture->too_long && !capture->times_only)
		np_activity_begin(meter->build, &capture->rank->activity, capture->loading);
	return NP_OK;
}

/* --- tasks and operators --------------------------------------------------------------------- */

static int add_task(struct capture *capture, struct task_list *list, struct np_activity_task task)
{
	struct np_activity_task *slot = np_vec_add(list, capture->err);

	if (!slot)
		return NP_E_NOMEM;
	*slot = task;
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

static struct np_activity_task activity_of_task(const struct capture_task *task)
{
	return (struct np_activity_task){
		.start = task->start,
		.end = task->end,
		.launched = task->launched,
		.tie = np_activity_tie(task->stream, task->id),
		.of = task->type,
	};
}

/* Does it copy something that is of no operator? */
static bool copies_alone(const struct capture *capture, const struct capture_task *task)
{
	return capture_copies(task) && !task->of_op &&
	       (capture->in_parts || !capture_is_of_op(capture, task->connection));
}

static struct np_activity_task kernel_of(struct capture *capture, const struct capture_task *task)
{
	struct np_activity_task entry = activity_of_task(task);

	if (!capture->in_parts)
		entry.launched = capture_launched(capture_calls_of(capture, task->connection));
	else if (capture_copies(task))
		/* What computes and copies is damage: its launch is another call. */
		capture->unordered = true;
	return entry;
}

static struct np_activity_task copy_of(struct capture *capture, const struct capture_task *task)
{
	struct np_activity_task entry = activity_of_task(task);

	if (!capture->in_parts)
		entry.launched = capture_copy_launched(capture_calls_of(capture, task->connection));
	return entry;
}

/* Copies of a device are between its steps, too. */
static int add_memory(struct capture *capture, const struct capture_task *task, uint32_t step)
{
	return task->memory && task->device == 0
		       ? capture_copies_add(capture->copies, step, task->start, task->end,
					    capture->err)
		       : NP_OK;
}

/* Nobody asks what was waited for. */
static int take_time(struct capture *capture, const struct capture_task *task)
{
	struct capture_meter *meter = capture->meter;
	const struct np_activity_task kernel = { .start = task->start, .end = task->end };

	return task->computes ? add_task(capture, &meter->kernels, kernel)
			      : add_memory(capture, task, meter->step);
}

int capture_meter_task(struct capture *capture, const struct capture_task *task)
{
	struct capture_meter *meter = capture->meter;
	struct np_activity_task copy;
	int rc;

	widen_extent(&meter->extent, task);
	if (capture->times_only)
		return take_time(capture, task);
	if (task->computes)
		return add_task(capture, &meter->kernels, kernel_of(capture, task));
	if (!copies_alone(capture, task))
		return NP_OK;
	copy = copy_of(capture, task);
	/* Before the first kernel, or behind the last, it is between two steps. */
	rc = between_add(&meter->between, &copy, true, capture->err);
	return rc < 0 ? rc : add_task(capture, &meter->copies, copy);
}

static struct np_activity_task activity_of_op(struct capture *capture, uint32_t index)
{
	const struct np_comm_op *op = &capture->rank->ops.item[index];
	np_ns launched = capture->in_parts ? capture->op_launched.item[index]
					   : capture_launched(capture_calls_of(
						     capture, capture->op_connections.item[index]));

	return (struct np_activity_task){
		.start = op->start,
		.end = op->end,
		.launched = launched,
		.tie = capture->rank->groups.item[op->group].hash,
		.of = index,
	};
}

int capture_meter_op(struct capture *capture, uint32_t index)
{
	const struct np_comm_op *op = &capture->rank->ops.item[index];
	struct capture_meter *meter = capture->meter;

	if (strncmp(np_strtab_text(capture->strings, op->name), "hcom_receive", 12) == 0)
		meter->receive += op->end - op->start;
	return add_task(capture, &meter->ops, activity_of_op(capture, index));
}

int capture_meter_task_outside(struct capture *capture, const struct capture_task *task)
{
	struct between *between = &capture->meter->between;
	struct np_activity_task entry;

	if (capture->times_only)
		return add_memory(capture, task, NP_NO_STEP);
	if (!task->computes && !copies_alone(capture, task))
		return NP_OK;
	entry = task->computes ? kernel_of(capture, task) : copy_of(capture, task);
	return between_add(between, &entry, !task->computes, capture->err);
}

int capture_meter_op_outside(struct capture *capture, uint32_t index)
{
	struct np_activity_task entry;

	if (capture->times_only)
		return NP_OK;
	entry = activity_of_op(capture, index);
	return between_add(&capture->meter->between, &entry, false, capture->err);
}

/* --- measuring ------------------------------------------------------------------------------- */

/* Those of the sorted spans that begin in the step. */
static struct capture_spans spans_of(const struct capture_spans *all, const struct np_step *step)
{
	struct capture_spans spans = { 0 };
	size_t low = 0;
	size_t high = all->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (all->item[middle].begin < step->begin)
			low = middle + 1;
		else
			high = middle;
	}
	spans.item = all->count ? &all->item[low] : NULL;
	while (low + spans.count < all->count && spans.item[spans.count].begin < step->end)
		spans.count++;
	return spans;
}

/* The union of what the last part left over and of sorted tasks. */
static int unite(struct capture *capture, struct np_spans *ret, struct np_span rest,
		 const struct task_list *tasks)
{
	int rc;

	np_spans_clear(ret);
	rc = np_spans_add(ret, rest.begin, rest.end, capture->err);
	for (size_t i = 0; i < tasks->count && rc == NP_OK; i++)
		rc = np_spans_add(ret, tasks->item[i].start, tasks->item[i].end, capture->err);
	return rc;
}

static int unite_given(struct capture *capture, struct np_spans *ret,
		       const struct capture_spans *all)
{
	const struct np_step *step = &capture->rank->steps.item[capture->meter->step];
	struct capture_spans spans = spans_of(all, step);

	np_spans_clear(ret);
	return np_spans_add_all(ret, spans.item, spans.count, capture->err);
}

static int find_unions(struct capture *capture, np_ns until)
{
	struct capture_meter *meter = capture->meter;
	int rc = capture->computing_given
			 ? unite_given(capture, meter->computing, &capture->computing)
			 : unite(capture, meter->computing, meter->computing_rest, &meter->kernels);

	if (rc == NP_OK)
		rc = capture->communication_given
			     ? unite_given(capture, meter->communication, &capture->communication)
			     : unite(capture, meter->communication, meter->communication_rest,
				     &meter->ops);
	if (rc == NP_OK && !capture->computing_given)
		meter->computing_rest = np_spans_cut(meter->computing, until);
	if (rc == NP_OK && !capture->communication_given)
		meter->communication_rest = np_spans_cut(meter->communication, until);
	return rc;
}

/* Operators are sorted by start: what an earlier one of its communicator reaches is not new. */
static int add_running(struct capture *capture)
{
	struct capture_meter *meter = capture->meter;

	for (size_t i = 0; i < meter->ops.count; i++) {
		const struct np_activity_task *op = &meter->ops.item[i];
		uint32_t group = capture->rank->ops.item[op->of].group;
		struct group_time *time = &meter->groups.item[group];
		np_ns begin = time->used && time->reached > op->start ? time->reached : op->start;
		struct meter_running *running;

		if (!time->used)
			*time = (struct group_time){ .used = true, .reached = begin };
		if (op->end <= begin)
			continue;
		running = np_vec_add(&meter->running, capture->err);
		if (!running)
			return NP_E_NOMEM;
		*running = (struct meter_running){ begin, op->end, group };
		time->covered += op->end - begin;
		time->reached = op->end;
	}
	return NP_OK;
}

/* What computing hid up to `until`. */
static void hide(struct capture_meter *meter, np_ns until)
{
	size_t kept = 0;

	for (size_t i = 0; i < meter->running.count; i++) {
		struct meter_running running = meter->running.item[i];
		np_ns end = running.end < until ? running.end : until;

		meter->groups.item[running.group].overlapped +=
			np_spans_within(meter->computing, running.begin, end);
		if (running.end <= until)
			continue;
		if (running.begin < until)
			running.begin = until;
		meter->running.item[kept++] = running;
	}
	meter->running.count = kept;
}

static int divide(struct capture *capture, np_ns until)
{
	struct capture_meter *meter = capture->meter;
	struct np_activity_input input = {
		.kernels = meter->kernels.item,
		.kernel_count = meter->kernels.count,
		.ops = meter->ops.item,
		.op_count = meter->ops.count,
		.copies = meter->copies.item,
		.copy_count = meter->copies.count,
		.computing = capture->computing_given ? meter->computing : NULL,
		.communication = capture->communication_given ? meter->communication : NULL,
	};

	return np_activity_feed(meter->build, &input, until, capture->err);
}

/* The first of sorted tasks that reaches over `at`; NULL for none. */
static const struct np_activity_task *first_over(const struct task_list *tasks, np_ns at)
{
	for (size_t i = 0; i < tasks->count; i++) {
		if (tasks->item[i].end > at)
			return &tasks->item[i];
	}
	return NULL;
}

/* Times of lanes and of kernels are rounded on their own. */
#define ROUNDING_NS 1000

/* The first start of the cell is known: the iteration before it ends. */
static void begin_cell(struct capture *capture)
{
	struct capture_meter *meter = capture->meter;
	struct np_activity_task begin = { .start = meter->busy.span.begin, .launched = NP_UNKNOWN };
	const struct np_activity_task *kernel = first_over(&meter->kernels, begin.start);
	const struct np_activity_task *op = first_over(&meter->ops, begin.start);
	const struct np_activity_task *first = kernel;

	if (op && (!kernel || op->start < kernel->start))
		first = op;
	if (first && first->start - begin.start <= ROUNDING_NS)
		begin.launched = first->launched;
	between_close(&meter->between, capture->rank, capture->strings, capture->loading,
		      meter->step, &begin);
	meter->begun = true;
}

/* What is asked for beyond the unions: where each nanosecond went, or what copies need of them. */
static int use_unions(struct capture *capture, np_ns until)
{
	struct capture_meter *meter = capture->meter;

	if (!capture->times_only)
		return capture->too_long ? NP_OK : divide(capture, until);
	return meter->device > 0
		       ? NP_OK
		       : capture_copies_busy(capture->copies, meter->step, meter->computing,
					     meter->communication, capture->err);
}

int capture_meter_go(struct capture *capture, np_ns until)
{
	struct capture_meter *meter = capture->meter;
	int rc;

	if (!capture->times_only) {
		np_activity_sort(meter->kernels.item, meter->kernels.count);
		np_activity_sort(meter->ops.item, meter->ops.count);
	}
	rc = find_unions(capture, until);
	if (rc == NP_OK)
		rc = add_running(capture);
	if (rc < 0)
		return rc;
	np_busy_add(&meter->busy, meter->computing, meter->communication);
	if (!capture->times_only && !meter->begun && meter->busy.span.end > meter->busy.span.begin)
		begin_cell(capture);
	if (meter->begun)
		between_forget(&meter->between, meter->busy.span.end);
	hide(meter, until);
	if (meter->busy.span.end - meter->busy.span.begin > LONGEST_DIVIDED_NS)
		capture->too_long = true;
	rc = use_unions(capture, until);
	meter->kernels.count = 0;
	meter->ops.count = 0;
	meter->copies.count = 0;
	return rc;
}

/* --- the end --------------------------------------------------------------------------------- */

static int keep_hidden(struct capture *capture, int32_t device)
{
	struct capture_meter *meter = capture->meter;

	for (size_t i = 0; i < meter->groups.count; i++) {
		struct group_time *time = &meter->groups.item[i];
		struct hidden *hidden;

		if (!time->used)
			continue;
		hidden = np_vec_add(&meter->hidden, capture->err);
		if (!hidden)
			return NP_E_NOMEM;
		*hidden = (struct hidden){ (uint32_t)i, meter->step, device, time->covered,
					   time->overlapped };
		*time = (struct group_time){ 0 };
	}
	return NP_OK;
}

/* Where the next step's window begins; NP_NS_MAX for none. */
static np_ns begin_of_next(const struct capture *capture)
{
	const struct np_rank *rank = capture->rank;
	uint32_t next = capture->meter->step + 1;

	if (next >= rank->steps.count || rank->steps.item[next].begin == NP_UNKNOWN)
		return NP_NS_MAX;
	return rank->steps.item[next].begin;
}

int capture_meter_end(struct capture *capture)
{
	struct np_step_time *time = np_vec_add(&capture->rank->times, capture->err);
	struct capture_meter *meter = capture->meter;
	int rc = NP_OK;

	if (!time)
		return NP_E_NOMEM;
	/* What outlives the start of the next step is no part of the iteration. */
	if (!capture->too_long && !capture->times_only)
		rc = np_activity_cut(meter->build, begin_of_next(capture), capture->err);
	if (rc == NP_OK)
		rc = capture_meter_go(capture, NP_NS_MAX);
	if (rc < 0)
		return rc;
	time->device = capture->devices.item[meter->device];
	time->step = meter->step;
	np_step_time_measure(&capture->rank->steps.item[meter->step], &meter->busy, meter->receive,
			     meter->extent, time);
	if (meter->begun)
		between_open(&meter->between, capture->rank->times.count - 1, meter->busy.span.end);
	rc = keep_hidden(capture, time->device);
	if (rc == NP_OK && !capture->too_long && !capture->times_only)
		rc = np_activity_end(meter->build, capture->err);
	return rc;
}

void capture_meter_end_device(struct capture *capture)
{
	if (capture->meter)
		between_finish(&capture->meter->between, capture->rank);
}

static int by_communicator(const void *left, const void *right)
{
	const struct hidden *a = left;
	const struct hidden *b = right;
	int order = np_order(a->group, b->group);

	if (!order)
		order = np_order(a->step, b->step);
	return order ? order : np_order(a->device, b->device);
}

int capture_meter_finish(struct capture *capture)
{
	struct capture_meter *meter = capture->meter;
	struct np_rank *rank = capture->rank;
	size_t at = 0;

	if (capture->too_long || capture->times_only)
		np_activity_release(&rank->activity);
	else if (np_activity_finish(&rank->activity, capture->err) < 0)
		return NP_E_NOMEM;
	if (!meter)
		return NP_OK;
	if (meter->hidden.count)
		qsort(meter->hidden.item, meter->hidden.count, sizeof(*meter->hidden.item),
		      by_communicator);
	/* Sums have the same order; those of an unknown device have none. */
	for (size_t i = 0; i < rank->comm_steps.count; i++) {
		struct np_comm_step *sum = &rank->comm_steps.item[i];
		const struct hidden key = { sum->group, sum->step, sum->device, 0, 0 };

		while (at < meter->hidden.count &&
		       by_communicator(&meter->hidden.item[at], &key) < 0)
			at++;
		if (at == meter->hidden.count || by_communicator(&meter->hidden.item[at], &key) > 0)
			continue;
		sum->overlapped = meter->hidden.item[at].overlapped;
		sum->exposed = meter->hidden.item[at].covered - sum->overlapped;
	}
	return NP_OK;
}
