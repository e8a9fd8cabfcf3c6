/* SPDX-License-Identifier: Apache-2.0 */
#include "detail_trace.h"

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

int detail_trace_place_marks(struct detail_trace *trace, const struct detail_task_order *order)
{
	int rc = place_on_device(trace, order);

	return rc < 0 || trace->detail->framework.count == 0 ? rc : frame_marks(trace);
}
