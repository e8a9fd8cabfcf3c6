/* SPDX-License-Identifier: Apache-2.0 */
/* All events of a trace are read: which sub-task, kernel, call and mark belong to each other. */
#include "detail_trace.h"

#include "npuprof/order.h"
#include "npuprof/spans.h"

/* --- sub-tasks to operators ---------------------------------------------------------------- */

static int by_start(const void *left, const void *right, void *context)
{
	const struct np_device_task *tasks = context;
	uint32_t a = *(const uint32_t *)left;
	uint32_t b = *(const uint32_t *)right;

	return tasks[a].start != tasks[b].start ? np_order(tasks[a].start, tasks[b].start)
						: np_order(a, b);
}

static int order_tasks(struct detail_trace *trace, struct detail_task_order *ret)
{
	const struct np_detail *detail = trace->detail;

	ret->detail = detail;
	ret->count = detail->tasks.count;
	ret->item = malloc((ret->count + 1) * sizeof(*ret->item));
	if (!ret->item)
		return np_fail_nomem(trace->err, "tasks");
	for (uint32_t i = 0; i < ret->count; i++)
		ret->item[i] = i;
	if (ret->count)
		qsort_r(ret->item, ret->count, sizeof(*ret->item), by_start, detail->tasks.item);
	return NP_OK;
}

/* The place in the order of the first task that starts at or after `start`. */
static size_t detail_first_task(const struct detail_task_order *order, np_ns start)
{
	return np_lower_bound(i, (size_t)0, order->count,
			      order->detail->tasks.item[order->item[i]].start >= start);
}

static bool starts_there(const void *tasks, np_ns start, int64_t connection)
{
	const struct detail_task_order *order = tasks;

	for (size_t i = detail_first_task(order, start); i < order->count; i++) {
		const struct np_device_task *task = &order->detail->tasks.item[order->item[i]];

		if (task->start != start)
			break;
		if (task->connection == connection)
			return true;
	}
	return false;
}

static void place_sub_task(struct detail_trace *trace, const struct detail_task_order *order)
{
	trace_threads_own(&trace->lanes);
	trace_ops_sort(trace->ops.item, trace->ops.count);
	for (size_t i = 0; i < trace->sub_tasks.count; i++) {
		struct detail_place place = trace->sub_tasks.item[i];
		const struct trace_thread *thread =
			trace_thread_at(&trace->lanes, place.pid, place.tid);
		struct np_sub_task *sub_task = &trace->detail->sub_tasks.item[i];
		uint32_t op;

		if (!thread)
			continue;
		sub_task->plane = thread->plane;
		op = trace_op_at(trace->ops.item, trace->ops.count,
				 &trace->lanes.threads.item[thread->owner], sub_task->start,
				 sub_task->end, starts_there, order);
		sub_task->op = op == TRACE_NO_OP ? NP_NO_ROW : trace->ops.item[op].row;
	}
}

/* --- tasks ----------------------------------------------------------------------------------- */

static const char *name_of(const struct detail_trace *trace, np_str id)
{
	return np_strtab_text(trace->detail->strings, id);
}

/*
 * Connections of operators → detail->ops; for those that are not listed there, its
 * count. NULL when out of memory.
 */
static struct np_idmap *ops_by_connection(struct detail_trace *trace)
{
	NP_CLEANUP(np_idmap_freep) struct np_idmap *ops = np_idmap_new();

	if (!ops) {
		(void)np_fail_nomem(trace->err, "tasks");
		return NULL;
	}
	for (size_t i = 0; i < trace->ops.count; i++) {
		const struct trace_op *op = &trace->ops.item[i];
		uint32_t row = op->row == NP_NO_ROW ? (uint32_t)trace->detail->ops.count : op->row;

		if (op->connection != NP_UNKNOWN &&
		    np_idmap_set(ops, op->connection, row, trace->err) < 0)
			return NULL;
	}
	return NP_STEAL(ops);
}

/* What the tasks are: kernels by their core, sub-tasks by the connection of an operator. */
static int classify_tasks(struct detail_trace *trace)
{
	NP_CLEANUP(np_idmap_freep) struct np_idmap *ops = ops_by_connection(trace);

	if (!ops)
		return NP_E_NOMEM;
	for (size_t i = 0; i < trace->detail->tasks.count; i++) {
		struct np_device_task *task = &trace->detail->tasks.item[i];
		const char *type = name_of(trace, trace->task_cores.item[i]);
		bool core = vendor_is_kernel_core(type, strlen(type));

		task->type = core ? trace->task_cores.item[i] : trace->task_names.item[i];
		if (core)
			task->role = NP_ROLE_KERNEL;
		else if (task->connection != NP_UNKNOWN &&
			 np_idmap_get(ops, task->connection) != NP_IDMAP_NONE)
			task->role = NP_ROLE_COMMUNICATION;
	}
	return NP_OK;
}

/* Level0 shows sub-tasks on the device only. */
static int sub_task_from_tasks(struct detail_trace *trace)
{
	NP_CLEANUP(np_idmap_freep) struct np_idmap *ops = ops_by_connection(trace);

	if (!ops)
		return NP_E_NOMEM;
	for (size_t i = 0; i < trace->detail->tasks.count; i++) {
		const struct np_device_task *task = &trace->detail->tasks.item[i];
		struct np_sub_task *sub_task;

		if (task->role != NP_ROLE_COMMUNICATION)
			continue;
		sub_task = detail_add_sub_task_of(trace->load, task);
		if (!sub_task)
			return NP_E_NOMEM;
		sub_task->type = task->type;
		sub_task->op = np_idmap_get(ops, task->connection);
		if (sub_task->op >= trace->detail->ops.count)
			sub_task->op = NP_NO_ROW;
	}
	return NP_OK;
}

/* --- kernels --------------------------------------------------------------------------------- */

/* Kernels of the table find their task by start and name. */
static void connect_kernels(struct detail_trace *trace, const struct detail_task_order *order)
{
	for (size_t i = 0; i < trace->detail->kernels.count; i++) {
		struct np_kernel *kernel = &trace->detail->kernels.item[i];

		for (size_t j = detail_first_task(order, kernel->start); j < order->count; j++) {
			const struct np_device_task *task =
				&trace->detail->tasks.item[order->item[j]];

			if (task->start != kernel->start)
				break;
			if (trace->task_names.item[order->item[j]] != kernel->name)
				continue;
			kernel->connection = task->connection;
			if (kernel->stream == NP_UNKNOWN)
				kernel->stream = task->stream;
			if (kernel->task_id == NP_UNKNOWN)
				kernel->task_id = task->task_id;
			break;
		}
	}
}

/* Without a table the trace knows of a kernel what it is called and where it ran. */
static int kernels_from_tasks(struct detail_trace *trace)
{
	for (size_t i = 0; i < trace->detail->tasks.count; i++) {
		const struct np_device_task *task = &trace->detail->tasks.item[i];
		struct np_kernel *kernel;

		if (task->role != NP_ROLE_KERNEL)
			continue;
		kernel = detail_add_kernel_of(trace->load, task);
		if (!kernel)
			return NP_E_NOMEM;
		kernel->name = trace->task_names.item[i];
		kernel->core = trace->task_cores.item[i];
	}
	return NP_OK;
}

/* --- framework ------------------------------------------------------------------------------- */

static bool fits(enum np_lead_kind lead, enum np_framework_kind kind)
{
	return lead == NP_LEADS_TO_QUEUE ? kind == NP_FRAMEWORK_QUEUE : kind == NP_FRAMEWORK_OP;
}

/* The innermost call of the thread that starts where the arrow does. */
static uint32_t call_at(const struct np_detail *detail, const uint32_t *order,
			const struct detail_flow *flow)
{
	size_t low = 0;
	size_t high = detail->framework.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct np_framework_call *call = &detail->framework.item[order[middle]];

		if (call->tid < flow->tid || (call->tid == flow->tid && call->start <= flow->time))
			low = middle + 1;
		else
			high = middle;
	}
	while (low-- > 0) {
		const struct np_framework_call *call = &detail->framework.item[order[low]];

		if (call->tid != flow->tid || call->start != flow->time)
			break;
		if (fits(flow->kind, call->kind))
			return order[low];
	}
	return NP_NO_ROW;
}

/* An arrow to the device has the start of the task as its number. */
static int64_t connection_at(const struct detail_trace *trace,
			     const struct detail_task_order *order, np_ns start)
{
	int64_t connection = NP_UNKNOWN;

	for (size_t i = detail_first_task(order, start); i < order->count; i++) {
		const struct np_device_task *task = &trace->detail->tasks.item[order->item[i]];

		if (task->start != start)
			break;
		if (connection == NP_UNKNOWN || task->role == NP_ROLE_KERNEL)
			connection = task->connection;
	}
	for (size_t i = 0; i < trace->ops.count && connection == NP_UNKNOWN; i++) {
		if (trace->ops.item[i].start == start)
			connection = trace->ops.item[i].connection;
	}
	return connection;
}

static int add_link(struct detail_trace *trace, const struct detail_task_order *order,
		    const struct detail_flow *flow, uint32_t call)
{
	int64_t id =
		flow->kind == NP_LEADS_TO_TASK ? connection_at(trace, order, flow->id) : flow->id;
	struct np_framework_link *link;

	if (id == NP_UNKNOWN)
		return NP_OK;
	link = np_vec_add(&trace->detail->links, trace->err);
	if (!link)
		return NP_E_NOMEM;
	*link = (struct np_framework_link){ id, call, flow->kind };
	return NP_OK;
}

static int link_calls(struct detail_trace *trace, const struct detail_task_order *tasks)
{
	const struct np_detail *detail = trace->detail;
	uint32_t *order = detail_order_calls(trace->detail);
	int rc = NP_OK;

	if (!order)
		return np_fail_nomem(trace->err, "calls");
	for (size_t i = 0; i < trace->flows.count && rc == NP_OK; i++) {
		uint32_t call = call_at(detail, order, &trace->flows.item[i]);

		if (call != NP_NO_ROW)
			rc = add_link(trace, tasks, &trace->flows.item[i], call);
	}
	free(order);
	return rc;
}

int detail_trace_link_calls(struct detail_trace *trace)
{
	static const struct detail_task_order none;

	return trace->flows.count > 0 ? link_calls(trace, &none) : NP_OK;
}

/* --- marks ------------------------------------------------------------------------------------ */

/* Marks of a trace, once all events are in: their tasks, and what the framework was at. */

/* --- tasks ----------------------------------------------------------------------------------- */

static int by_place(const void *left, const void *right)
{
	const struct detail_mark_flow *a = left;
	const struct detail_mark_flow *b = right;

	if (a->at_task != b->at_task)
		return a->at_task ? 1 : -1;
	return a->time != b->time ? np_order(a->time, b->time) : np_order(a->tid, b->tid);
}

/* The task at the end of an arrow gets its number as connection; it has no other. */
static void connect_task(struct detail_trace *trace, const struct detail_task_order *order,
			 const struct detail_mark_flow *flow)
{
	for (size_t i = detail_first_task(order, flow->time); i < order->count; i++) {
		struct np_device_task *task = &trace->detail->tasks.item[order->item[i]];

		if (task->start != flow->time)
			break;
		if (task->stream == flow->tid && task->connection == NP_UNKNOWN) {
			task->connection = flow->id;
			break;
		}
	}
}

/* A mark and its task are at the two ends of an arrow. */
static void connect_marks(struct detail_trace *trace, const struct detail_task_order *order)
{
	struct detail_mark_flow *flows = trace->mark_flows.item;
	size_t count = trace->mark_flows.count;

	if (count == 0)
		return;
	qsort(flows, count, sizeof(*flows), by_place);
	for (size_t i = 0; i < count; i++) {
		if (flows[i].at_task)
			connect_task(trace, order, &flows[i]);
	}
	for (size_t i = 0; i < trace->detail->marks.count; i++) {
		struct np_mark *mark = &trace->detail->marks.item[i];
		const struct detail_mark_flow place = { .time = mark->start, .tid = mark->tid };
		const struct detail_mark_flow *flow =
			mark->connection != NP_UNKNOWN
				? NULL
				: bsearch(&place, flows, count, sizeof(*flows), by_place);

		if (flow)
			mark->connection = flow->id;
	}
}

/* Marks that left a task on the device share its connection. */
static int place_on_device(struct detail_trace *trace, const struct detail_task_order *order)
{
	NP_CLEANUP(np_idmap_freep) struct np_idmap *tasks = np_idmap_new();
	int rc = NP_OK;

	if (!tasks)
		return np_fail_nomem(trace->err, "marks");
	connect_marks(trace, order);
	for (uint32_t i = 0; i < trace->detail->tasks.count && rc == NP_OK; i++) {
		if (trace->detail->tasks.item[i].connection != NP_UNKNOWN)
			rc = np_idmap_set(tasks, trace->detail->tasks.item[i].connection, i,
					  trace->err);
	}
	for (size_t i = 0; i < trace->detail->marks.count && rc == NP_OK; i++) {
		struct np_mark *mark = &trace->detail->marks.item[i];
		uint32_t task = mark->connection == NP_UNKNOWN
					? NP_IDMAP_NONE
					: np_idmap_get(tasks, mark->connection);

		if (task == NP_IDMAP_NONE)
			continue;
		mark->device_start = trace->detail->tasks.item[task].start;
		mark->device_end = trace->detail->tasks.item[task].end;
	}
	return rc;
}

/* --- framework ------------------------------------------------------------------------------- */

/* Calls before a moment that are looked at: nothing nests deeper. */
#define CALLS_MOST 64

/* The innermost call of this kind that spans [start, end] on its thread. */
static uint32_t call_around(const struct np_detail *detail, const uint32_t *order,
			    enum np_framework_kind kind, int64_t tid, struct np_span span)
{
	size_t low = 0;
	size_t high = detail->framework.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct np_framework_call *call = &detail->framework.item[order[middle]];

		if (call->tid < tid || (call->tid == tid && call->start <= span.begin))
			low = middle + 1;
		else
			high = middle;
	}
	for (size_t i = 0; i < CALLS_MOST && low-- > 0; i++) {
		const struct np_framework_call *call = &detail->framework.item[order[low]];

		if (call->tid != tid)
			break;
		if (call->kind == kind && call->end >= span.end)
			return order[low];
	}
	return NP_NO_ROW;
}

static bool is_dequeue(const struct np_detail *detail, uint32_t call)
{
	const char *name = np_detail_text(detail, detail->framework.item[call].name);

	return name && strncmp(name, "Dequeue", 7) == 0;
}

/* Which call put into the queue what another took out of it. */
struct queue {
	struct np_idmap *number;  /* of a Dequeue */
	struct np_idmap *enqueue; /* of a number */
	uint32_t *order;          /* of all calls by thread and start */
};

static int read_queue(struct detail_trace *trace, struct queue *queue)
{
	const struct np_detail *detail = trace->detail;
	int rc = NP_OK;

	for (uint32_t i = 0; i < detail->links.count && rc == NP_OK; i++) {
		const struct np_framework_link *link = &detail->links.item[i];

		if (link->kind != NP_LEADS_TO_QUEUE)
			continue;
		rc = is_dequeue(detail, link->call)
			     ? np_idmap_set(queue->number, link->call, i, trace->err)
			     : np_idmap_set(queue->enqueue, link->id, link->call, trace->err);
	}
	return rc;
}

/*
 * The framework's own call for a mark: around it, or where the mark was carried out by
 * another thread, around the call that put it into the queue.
 */
static void frame_mark(const struct np_detail *detail, const struct queue *queue,
		       struct np_mark *mark)
{
	const struct np_span span = { mark->start, mark->end };
	uint32_t call = call_around(detail, queue->order, NP_FRAMEWORK_MARK, mark->tid, span);
	uint32_t dequeue = call_around(detail, queue->order, NP_FRAMEWORK_QUEUE, mark->tid, span);

	if (call == NP_NO_ROW && dequeue != NP_NO_ROW) {
		uint32_t link = np_idmap_get(queue->number, dequeue);
		uint32_t enqueue =
			link == NP_IDMAP_NONE
				? NP_IDMAP_NONE
				: np_idmap_get(queue->enqueue, detail->links.item[link].id);

		if (enqueue != NP_IDMAP_NONE) {
			const struct np_framework_call *at = &detail->framework.item[enqueue];

			call = call_around(detail, queue->order, NP_FRAMEWORK_MARK, at->tid,
					   (struct np_span){ at->start, at->end });
		}
	}
	if (call == NP_NO_ROW)
		return;
	mark->framework_start = detail->framework.item[call].start;
	mark->framework_end = detail->framework.item[call].end;
}

static int frame_marks(struct detail_trace *trace)
{
	struct queue queue = { np_idmap_new(), np_idmap_new(), detail_order_calls(trace->detail) };
	int rc = queue.number && queue.enqueue && queue.order ? read_queue(trace, &queue)
							      : np_fail_nomem(trace->err, "marks");

	for (size_t i = 0; i < trace->detail->marks.count && rc == NP_OK; i++) {
		if (trace->detail->marks.item[i].kind == NP_MARK_EX)
			frame_mark(trace->detail, &queue, &trace->detail->marks.item[i]);
	}
	np_idmap_free(queue.number);
	np_idmap_free(queue.enqueue);
	free(queue.order);
	return rc;
}

/* detail_trace_marks.c: the tasks of marks, and the framework's calls for them. */
static int detail_trace_place_marks(struct detail_trace *trace,
				    const struct detail_task_order *order)
{
	int rc = place_on_device(trace, order);

	return rc < 0 || trace->detail->framework.count == 0 ? rc : frame_marks(trace);
}

/* --- everything ------------------------------------------------------------------------------ */

static int join(struct detail_trace *trace, const struct detail_task_order *order)
{
	struct detail_load *load = trace->load;
	int rc = classify_tasks(trace);

	if (rc == NP_OK && trace->sub_tasks.count > 0)
		place_sub_task(trace, order);
	else if (rc == NP_OK && detail_trace_reads(trace, NP_DETAIL_SUB_TASKS))
		rc = sub_task_from_tasks(trace);
	if (rc == NP_OK && load->kernels_from_text)
		connect_kernels(trace, order);
	else if (rc == NP_OK && detail_wants(load, NP_DETAIL_KERNELS))
		rc = kernels_from_tasks(trace);
	if (rc == NP_OK && trace->flows.count > 0)
		rc = link_calls(trace, order);
	if (rc == NP_OK && trace->detail->marks.count > 0)
		rc = detail_trace_place_marks(trace, order);
	return rc;
}

int detail_trace_join(struct detail_trace *trace)
{
	struct detail_task_order order = { 0 };
	int rc = order_tasks(trace, &order);

	if (rc == NP_OK)
		rc = join(trace, &order);
	free(order.item);
	return rc;
}
