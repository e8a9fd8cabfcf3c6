/* SPDX-License-Identifier: Apache-2.0 */
/* Lanes, threads and operators of traces, and the keys under which events keep their arguments. */
#include "trace_lanes.h"

#include "npuprof/order.h"
#include "npuprof/text.h"

#include <strings.h>

int trace_lanes_init(struct trace_lanes *lanes, struct np_err *err)
{
	lanes->index = np_idmap_new();
	return lanes->index ? NP_OK : np_fail_nomem(err, "a trace");
}

void trace_lanes_release(struct trace_lanes *lanes)
{
	np_idmap_free(lanes->index);
	np_vec_release(&lanes->list);
	np_vec_release(&lanes->threads);
}

/* --- lanes ----------------------------------------------------------------------------------- */

static bool holds(struct np_slice text, const char *word)
{
	size_t length = strlen(word);

	for (size_t i = 0; i + length <= text.length; i++) {
		if (strncasecmp(text.bytes + i, word, length) == 0)
			return true;
	}
	return false;
}

static enum trace_lane_kind kind_of(struct np_slice name)
{
	static const struct {
		const char *name;
		enum trace_lane_kind kind;
	} kinds[] = {
		{ "CANN", TRACE_LANE_CANN },
		{ "Ascend Hardware", TRACE_LANE_HARDWARE },
		{ "HCCL", TRACE_LANE_COMMUNICATION },
		{ "Communication", TRACE_LANE_COMMUNICATION },
		{ "Overlap Analysis", TRACE_LANE_OVERLAP },
		{ "AI Core Freq", TRACE_LANE_FREQUENCY },
		{ "Python GC", TRACE_LANE_GC },
	};

	for (size_t i = 0; i < NP_COUNT(kinds); i++) {
		if (np_slice_is(name, kinds[i].name))
			return kinds[i].kind;
	}
	return holds(name, "mstx") || holds(name, "MsprofTx") ? TRACE_LANE_MARKS : TRACE_LANE_OTHER;
}

static struct trace_lane *lane_of(const struct trace_lanes *lanes, int64_t pid)
{
	uint32_t index = np_idmap_get(lanes->index, pid);

	return index == NP_IDMAP_NONE ? NULL : &lanes->list.item[index];
}

const struct trace_lane *trace_lanes_find(const struct trace_lanes *lanes, int64_t pid)
{
	return lane_of(lanes, pid);
}

int64_t trace_lanes_device(const struct trace_lanes *lanes)
{
	int64_t device = NP_UNKNOWN;
	size_t count = 0;

	for (size_t i = 0; i < lanes->list.count; i++) {
		if (lanes->list.item[i].kind != TRACE_LANE_HARDWARE)
			continue;
		device = lanes->list.item[i].device;
		count++;
	}
	return count == 1 ? device : NP_UNKNOWN;
}

/* Events that are looked at to know a trace of an NPU. */
#define PROBE 50000

/* The host's half comes first, and what its queue does is its own; lanes are named early too. */
static bool is_of_npu(const struct np_trace_event *event, const struct trace_lanes *lanes)
{
	static const char *const own[] = { "enqueue", "dequeue", "async_task_queue", "async_npu",
					   "HostToDevice" };

	for (size_t i = 0; i < NP_COUNT(own); i++) {
		if (np_slice_is(event->cat, own[i]))
			return true;
	}
	for (size_t i = 0; event->phase == 'M' && i < lanes->list.count; i++) {
		if (lanes->list.item[i].kind == TRACE_LANE_HARDWARE ||
		    lanes->list.item[i].kind == TRACE_LANE_OVERLAP)
			return true;
	}
	return false;
}

bool trace_is_of_npu(const char *path)
{
	NP_CLEANUP(np_trace_closep) struct np_trace *trace = NULL;
	const struct np_trace_event *event = NULL;
	struct trace_lanes lanes = { 0 };
	bool found = false;
	int rc = np_trace_open(path, &trace, NULL);

	if (rc == NP_OK)
		rc = trace_lanes_init(&lanes, NULL);
	for (int i = 0; i < PROBE && rc == NP_OK && !found; i++) {
		rc = np_trace_next(trace, &event, NULL);
		if (rc < 0 || !event)
			break;
		if (event->phase == 'M')
			rc = trace_lanes_take(&lanes, event, NULL);
		found = rc == NP_OK && is_of_npu(event, &lanes);
	}
	trace_lanes_release(&lanes);
	return found;
}

bool trace_is_collection(const struct np_trace_event *event)
{
	return event->cat.length == 2 && strncasecmp(event->cat.bytes, "gc", 2) == 0;
}

bool trace_is_frequency(const struct trace_lane *lane, const struct np_trace_event *event)
{
	/* "AI Core Freq", and " Die 0" behind it where there are several. */
	return (lane && lane->kind == TRACE_LANE_FREQUENCY) ||
	       np_slice_begins(event->name, "AI Core Freq");
}

static struct trace_lane *add_lane(struct trace_lanes *lanes, int64_t pid, struct np_err *err)
{
	struct trace_lane *lane = lane_of(lanes, pid);

	if (lane)
		return lane;
	lane = np_vec_add(&lanes->list, err);
	if (!lane)
		return NULL;
	lane->device = NP_UNKNOWN;
	if (np_idmap_set(lanes->index, pid, (uint32_t)(lanes->list.count - 1), err) < 0)
		return NULL;
	return lane;
}

/* "NPU 4" names a device, "NPU" the only one. */
static void label_lane(struct trace_lane *lane, struct np_slice label)
{
	int64_t device;

	if (np_slice_begins(label, "NPU ") &&
	    np_text_to_int(label.bytes + 4, label.length - 4, &device))
		lane->device = device;
}

int trace_lanes_take(struct trace_lanes *lanes, const struct np_trace_event *event,
		     struct np_err *err)
{
	struct trace_thread *thread;
	struct trace_lane *lane;
	struct np_slice text;
	int64_t order;

	if (np_slice_is(event->name, "process_name") ||
	    np_slice_is(event->name, "process_labels")) {
		lane = add_lane(lanes, event->pid.value, err);
		if (!lane)
			return NP_E_NOMEM;
		if (np_trace_arg_text(event, "name", &text))
			lane->kind = kind_of(text);
		if (np_trace_arg_text(event, "labels", &text))
			label_lane(lane, text);
	} else if (np_slice_is(event->name, "thread_sort_index") &&
		   np_trace_arg_integer(event, "sort_index", &order)) {
		thread = trace_thread_at(lanes, event->pid.value, event->tid.value);
		if (thread)
			thread->order = order;
	}
	return NP_OK;
}

/* --- threads --------------------------------------------------------------------------------- */

struct trace_thread *trace_thread_at(const struct trace_lanes *lanes, int64_t pid, int64_t tid)
{
	for (size_t i = 0; i < lanes->threads.count; i++) {
		struct trace_thread *thread = &lanes->threads.item[i];

		if (thread->pid == pid && thread->tid == tid)
			return thread;
	}
	return NULL;
}

struct trace_thread *trace_thread_add(struct trace_lanes *lanes, const struct np_trace_event *event,
				      struct np_err *err)
{
	int64_t pid = event->pid.value;
	int64_t tid = event->tid.value;
	struct trace_thread *thread = trace_thread_at(lanes, pid, tid);

	if (thread)
		return thread;
	thread = np_vec_add(&lanes->threads, err);
	if (thread)
		*thread = (struct trace_thread){
			.pid = pid, .tid = tid, .order = tid, .plane = NP_UNKNOWN
		};
	return thread;
}

bool trace_plane(struct np_slice name, int64_t *ret)
{
	return np_slice_begins(name, "Plane ") &&
	       np_text_to_int(name.bytes + 6, name.length - 6, ret);
}

#define GROUP        "Group "
#define GROUP_SUFFIX " Communication"

bool trace_is_group(struct np_slice name)
{
	return np_slice_begins(name, GROUP);
}

bool trace_group(struct np_slice name, struct np_slice *ret)
{
	if (!trace_is_group(name) || name.length < strlen(GROUP) + strlen(GROUP_SUFFIX))
		return false;
	*ret = (struct np_slice){ name.bytes + strlen(GROUP),
				  name.length - strlen(GROUP) - strlen(GROUP_SUFFIX) };
	return true;
}

static int by_order(const void *left, const void *right)
{
	const struct trace_thread *a = left;
	const struct trace_thread *b = right;

	return a->pid != b->pid ? np_order(a->pid, b->pid) : np_order(a->order, b->order);
}

/* Planes follow the thread of their communicator. */
void trace_threads_own(struct trace_lanes *lanes)
{
	uint32_t owner = 0;

	if (lanes->threads.count)
		qsort(lanes->threads.item, lanes->threads.count, sizeof(lanes->threads.item[0]),
		      by_order);
	for (uint32_t i = 0; i < lanes->threads.count; i++) {
		if (lanes->threads.item[i].plane == NP_UNKNOWN)
			owner = i;
		lanes->threads.item[i].owner = owner;
	}
}

/* --- operators ------------------------------------------------------------------------------- */

static int by_thread_and_time(const void *left, const void *right)
{
	const struct trace_op *a = left;
	const struct trace_op *b = right;

	if (a->pid != b->pid)
		return np_order(a->pid, b->pid);
	if (a->tid != b->tid)
		return np_order(a->tid, b->tid);
	return np_order(a->start, b->start);
}

void trace_ops_sort(struct trace_op *ops, size_t count)
{
	if (count)
		qsort(ops, count, sizeof(*ops), by_thread_and_time);
}

/* Index after the last operator of a communicator's thread that starts at or before `start`. */
static size_t ops_begun(const struct trace_op *ops, size_t count, const struct trace_thread *owner,
			np_ns start)
{
	const struct trace_op key = { .pid = owner->pid, .tid = owner->tid, .start = start };

	return np_lower_bound(i, (size_t)0, count, by_thread_and_time(&ops[i], &key) > 0);
}

/* How far back to look for operators that are still running: a few run at once. */
#define OPS_AT_ONCE 64

/* Times of events are rounded. */
#define EDGE_NS 500

static bool is_near(np_ns a, np_ns b)
{
	return a - b <= EDGE_NS && b - a <= EDGE_NS;
}

/* How well a sub-task lies in an operator: within it, at its begin or end, all of both. */
static int fit_of(const struct trace_op *op, np_ns start, np_ns end)
{
	if (end > op->end + EDGE_NS)
		return 0;
	return 1 + is_near(start, op->start) + is_near(end, op->end);
}

uint32_t trace_op_at(const struct trace_op *ops, size_t count, const struct trace_thread *owner,
		     np_ns start, np_ns end, trace_starts_there *starts_there, const void *tasks)
{
	size_t begun = ops_begun(ops, count, owner, start);
	uint32_t found = TRACE_NO_OP;

	for (size_t i = begun; i-- > 0 && begun - i <= OPS_AT_ONCE;) {
		const struct trace_op *op = &ops[i];

		if (op->pid != owner->pid || op->tid != owner->tid)
			break;
		if (start > op->end)
			continue;
		if (found == TRACE_NO_OP)
			found = (uint32_t)i;
		else if (starts_there(tasks, start, ops[found].connection))
			break;
		else if (starts_there(tasks, start, op->connection) ||
			 fit_of(op, start, end) > fit_of(&ops[found], start, end))
			found = (uint32_t)i;
	}
	return found;
}

/* --- arguments of events --------------------------------------------------------------------- */

const char *const trace_task_keys[TRACE_TASK_KEYS] = {
	[TRACE_TASK_TYPE] = "Task Type",
	[TRACE_TASK_CONNECTION] = "connection_id",
	[TRACE_TASK_ID] = "Task Id",
};

const char *const trace_sub_task_keys[TRACE_SUB_TASK_KEYS] = {
	[TRACE_SUB_TASK_TYPE] = "task type",
	[TRACE_SUB_TASK_SRC] = "src rank",
	[TRACE_SUB_TASK_DST] = "dst rank",
	[TRACE_SUB_TASK_TRANSPORT] = "transport type",
	[TRACE_SUB_TASK_SIZE] = "size(Byte)",
	[TRACE_SUB_TASK_LINK] = "link type",
	[TRACE_SUB_TASK_RDMA] = "rdma type",
	[TRACE_SUB_TASK_MASTER] = "is_master",
	[TRACE_SUB_TASK_NOTIFY] = "notify_id",
	[TRACE_SUB_TASK_STREAM] = "stream id",
	[TRACE_SUB_TASK_TASK] = "task id",
	[TRACE_SUB_TASK_DATA_TYPE] = "data type",
	[TRACE_SUB_TASK_BANDWIDTH] = "bandwidth(GB/s)",
};

bool trace_is_sub_task(const struct np_trace_event *event)
{
	struct np_trace_value type;

	return np_trace_arg(event, trace_sub_task_keys[TRACE_SUB_TASK_TYPE], &type);
}
