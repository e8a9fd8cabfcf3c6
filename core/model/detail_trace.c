/* SPDX-License-Identifier: Apache-2.0 */
#include "detail_trace.h"

#include "npuprof/buf.h"

#include <strings.h>

static bool begins(struct np_slice slice, const char *text)
{
	size_t length = strlen(text);

	return slice.length >= length && memcmp(slice.bytes, text, length) == 0;
}

static np_ns end_of(const struct np_trace_event *event)
{
	np_ns end;

	if (event->dur_ns == NP_UNKNOWN || event->dur_ns < 0 ||
	    __builtin_add_overflow(event->ts_ns, event->dur_ns, &end))
		return event->ts_ns;
	return end;
}

static int intern(struct detail_trace *trace, struct np_slice text, np_str *ret)
{
	return detail_intern(trace->load, text.bytes, text.length, ret);
}

static struct np_slice text_of(const struct np_trace_value *value)
{
	return value->type == NP_TRACE_TEXT ? value->text : (struct np_slice){ "", 0 };
}

static int64_t integer_of(const struct np_trace_value *value)
{
	int64_t number;

	return np_trace_value_integer(value, &number) ? detail_known(number) : NP_UNKNOWN;
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

static enum detail_lane_kind kind_of(struct np_slice name)
{
	static const struct {
		const char *name;
		enum detail_lane_kind kind;
	} kinds[] = {
		{ "CANN", DETAIL_LANE_CANN },
		{ "Ascend Hardware", DETAIL_LANE_HARDWARE },
		{ "HCCL", DETAIL_LANE_COMMUNICATION },
		{ "Communication", DETAIL_LANE_COMMUNICATION },
		{ "AI Core Freq", DETAIL_LANE_FREQUENCY },
		{ "Python GC", DETAIL_LANE_GC },
	};

	for (size_t i = 0; i < NP_COUNT(kinds); i++) {
		if (np_slice_is(name, kinds[i].name))
			return kinds[i].kind;
	}
	return holds(name, "mstx") || holds(name, "MsprofTx") ? DETAIL_LANE_MARKS
							      : DETAIL_LANE_OTHER;
}

static struct detail_lane *lane_of(struct detail_trace *trace, int64_t pid)
{
	uint32_t index = np_idmap_get(trace->lane_index, pid);

	return index == NP_IDMAP_NONE ? NULL : &trace->lanes.item[index];
}

static struct detail_lane *add_lane(struct detail_trace *trace, int64_t pid)
{
	struct detail_lane *lane = lane_of(trace, pid);

	if (lane)
		return lane;
	lane = np_vec_add(&trace->lanes, trace->err);
	if (!lane)
		return NULL;
	lane->device = -1;
	if (np_idmap_set(trace->lane_index, pid, (uint32_t)(trace->lanes.count - 1), trace->err) <
	    0)
		return NULL;
	return lane;
}

static struct detail_thread *thread_at(struct detail_trace *trace, int64_t pid, int64_t tid)
{
	for (size_t i = 0; i < trace->threads.count; i++) {
		if (trace->threads.item[i].pid == pid && trace->threads.item[i].tid == tid)
			return &trace->threads.item[i];
	}
	return NULL;
}

/* "Plane 3" or "Group … Communication"; other threads are not looked at. */
static int name_thread(struct detail_trace *trace, const struct np_trace_event *event,
		       struct np_slice name)
{
	int64_t plane = NP_UNKNOWN;
	struct detail_thread *thread;

	if (begins(name, "Plane ")) {
		if (!np_text_to_int(name.bytes + 6, name.length - 6, &plane))
			return NP_OK;
	} else if (!begins(name, "Group ")) {
		return NP_OK;
	}
	thread = thread_at(trace, event->pid.value, event->tid.value);
	if (!thread) {
		thread = np_vec_add(&trace->threads, trace->err);
		if (!thread)
			return NP_E_NOMEM;
		thread->pid = event->pid.value;
		thread->tid = event->tid.value;
		thread->order = event->tid.value;
	}
	thread->plane = plane;
	return NP_OK;
}

static int take_metadata(struct detail_trace *trace, const struct np_trace_event *event)
{
	struct detail_thread *thread;
	struct detail_lane *lane;
	struct np_slice text;
	int64_t number;

	if (np_slice_is(event->name, "process_name") ||
	    np_slice_is(event->name, "process_labels")) {
		lane = add_lane(trace, event->pid.value);
		if (!lane)
			return NP_E_NOMEM;
		if (np_trace_arg_text(event, "name", &text))
			lane->kind = kind_of(text);
		if (np_trace_arg_text(event, "labels", &text) && begins(text, "NPU ") &&
		    np_text_to_int(text.bytes + 4, text.length - 4, &number))
			lane->device = detail_device(number);
		return NP_OK;
	}
	if (np_slice_is(event->name, "thread_name") && np_trace_arg_text(event, "name", &text))
		return name_thread(trace, event, text);
	if (np_slice_is(event->name, "thread_sort_index") &&
	    np_trace_arg_integer(event, "sort_index", &number)) {
		thread = thread_at(trace, event->pid.value, event->tid.value);
		if (thread)
			thread->order = number;
	}
	return NP_OK;
}

/* --- host ------------------------------------------------------------------------------------ */

static int take_call(struct detail_trace *trace, const struct np_trace_event *event)
{
	const char *at =
		event->name.length ? memchr(event->name.bytes, '@', event->name.length) : NULL;
	struct np_slice name = event->name;
	struct np_call *call;
	int64_t connection;

	if (!detail_trace_reads(trace, NP_DETAIL_CALLS) || !at)
		return NP_OK;
	call = np_vec_add(&trace->detail->calls, trace->err);
	if (!call)
		return NP_E_NOMEM;
	*call = (struct np_call){ .start = event->ts_ns,
				  .end = end_of(event),
				  .tid = event->tid.value,
				  .connection = NP_UNKNOWN,
				  .step = NP_NO_STEP };
	if (np_trace_arg_integer(event, "connection_id", &connection))
		call->connection = detail_known(connection);
	call->level = detail_call_level(name.bytes, (size_t)(at - name.bytes));
	return detail_intern(trace->load, at + 1, name.length - (size_t)(at + 1 - name.bytes),
			     &call->name);
}

/* "[[32, 3], [64], []]" and ["float", "float", ""] as NPUs write them: "32,3;64;", "float;float;"
 */
static int intern_array(struct detail_trace *trace, struct np_slice json, np_str *ret)
{
	NP_CLEANUP(np_buf_release) struct np_buf list = NP_BUF_INIT;
	int depth = 0;
	int rc;

	for (size_t i = 0; i < json.length; i++) {
		char c = json.bytes[i];

		if (c == '[' || c == ']')
			depth += c == '[' ? 1 : -1;
		else if (c == ',' && depth == 1)
			np_buf_add_char(&list, ';');
		else if (c != '"' && c != ' ' && c != '\n')
			np_buf_add_char(&list, c);
	}
	rc = np_buf_check(&list, trace->err);
	if (rc < 0 || strspn(list.text ? list.text : "", ";") == list.length)
		return rc;
	return detail_intern(trace->load, list.text, list.length, ret);
}

static int intern_inputs(struct detail_trace *trace, const struct np_trace_value *value,
			 np_str *ret)
{
	struct np_slice text = text_of(value);

	if (value->type == NP_TRACE_ARRAY)
		return intern_array(trace, value->text, ret);
	return detail_intern_list(trace->load, text.bytes, text.length, ';', ret);
}

static int take_inputs(struct detail_trace *trace, const struct np_trace_event *event,
		       struct np_framework_call *call)
{
	enum {
		SEQUENCE,
		FORWARD,
		DIMS,
		TYPES,
		STACK,
		COUNT
	};
	static const char *const keys[COUNT] = { [SEQUENCE] = "Sequence number",
						 [FORWARD] = "Fwd thread id",
						 [DIMS] = "Input Dims",
						 [TYPES] = "Input type",
						 [STACK] = "Call stack" };
	struct np_trace_value values[COUNT];
	struct np_slice text;
	int rc;

	(void)np_trace_args(event, keys, COUNT, values);
	call->sequence = integer_of(&values[SEQUENCE]);
	call->fwd_thread = integer_of(&values[FORWARD]);
	if (call->fwd_thread == 0)
		call->fwd_thread = NP_UNKNOWN;
	rc = intern_inputs(trace, &values[DIMS], &call->in_shapes);
	if (rc == NP_OK)
		rc = intern_inputs(trace, &values[TYPES], &call->in_dtypes);
	text = text_of(&values[STACK]);
	if (rc == NP_OK && detail_trace_reads(trace, NP_DETAIL_STACKS))
		rc = detail_intern_list(trace->load, text.bytes, text.length, '\n', &call->stack);
	return rc;
}

static bool framework_kind(const struct detail_trace *trace, const struct np_trace_event *event,
			   enum np_framework_kind *ret)
{
	if (np_slice_is(event->cat, "cpu_op") ||
	    (trace->gpu &&
	     (np_slice_is(event->cat, "user_annotation") || np_slice_is(event->cat, "operator"))))
		*ret = begins(event->name, "ProfilerStep#") ? NP_FRAMEWORK_STEP : NP_FRAMEWORK_OP;
	else if (np_slice_is(event->cat, "enqueue") || np_slice_is(event->cat, "dequeue"))
		*ret = NP_FRAMEWORK_QUEUE;
	else if (np_slice_is(event->cat, "python_function") &&
		 detail_trace_reads(trace, NP_DETAIL_PYTHON))
		*ret = NP_FRAMEWORK_PYTHON;
	else
		return false;
	return detail_trace_reads(trace, NP_DETAIL_FRAMEWORK);
}

static int take_framework(struct detail_trace *trace, const struct np_trace_event *event)
{
	struct np_framework_call *call;
	enum np_framework_kind kind;
	int rc = NP_OK;

	if (!framework_kind(trace, event, &kind))
		return NP_OK;
	call = detail_add_framework(trace->load);
	if (!call)
		return NP_E_NOMEM;
	call->start = event->ts_ns;
	call->end = end_of(event);
	call->tid = event->tid.value;
	call->kind = kind;
	if (kind == NP_FRAMEWORK_OP || kind == NP_FRAMEWORK_STEP)
		rc = take_inputs(trace, event, call);
	return rc < 0 ? rc : intern(trace, event->name, &call->name);
}

static int take_flow(struct detail_trace *trace, const struct np_trace_event *event)
{
	struct detail_flow *flow;
	enum np_lead_kind kind;

	if (!detail_trace_reads(trace, NP_DETAIL_FRAMEWORK) || !event->id.number ||
	    event->ts_ns == NP_UNKNOWN)
		return NP_OK;
	if (np_slice_is(event->cat, "async_npu") && event->phase == 's')
		kind = NP_LEADS_TO_TASK;
	else if (np_slice_is(event->cat, "async_task_queue"))
		kind = NP_LEADS_TO_QUEUE;
	else if (np_slice_is(event->cat, "fwdbwd"))
		kind = NP_LEADS_TO_BACKWARD;
	else
		return NP_OK;
	flow = np_vec_add(&trace->flows, trace->err);
	if (!flow)
		return NP_E_NOMEM;
	*flow = (struct detail_flow){ event->ts_ns, event->tid.value, event->id.value, kind };
	return NP_OK;
}

/* Lanes of mstx: an event with a length is a range. */
static int take_mark(struct detail_trace *trace, const struct np_trace_event *event)
{
	struct np_slice domain;
	struct np_mark *mark;
	int64_t connection;
	int rc = NP_OK;

	if (!detail_trace_reads(trace, NP_DETAIL_MARKS))
		return NP_OK;
	mark = detail_add_mark(trace->load);
	if (!mark)
		return NP_E_NOMEM;
	mark->start = event->ts_ns;
	mark->end = end_of(event);
	mark->tid = event->tid.value;
	mark->kind = mark->end > mark->start ? NP_MARK_RANGE : NP_MARK_EX;
	if (np_trace_arg_integer(event, "connection_id", &connection))
		mark->connection = detail_known(connection);
	if (np_trace_arg_text(event, "domain", &domain) ||
	    np_trace_arg_text(event, "Domain", &domain))
		rc = intern(trace, domain, &mark->domain);
	return rc < 0 ? rc : intern(trace, event->name, &mark->message);
}

static int take_gc(struct detail_trace *trace, const struct np_trace_event *event)
{
	struct np_gc *gc;

	if (!detail_trace_reads(trace, NP_DETAIL_GC))
		return NP_OK;
	gc = np_vec_add(&trace->detail->gc, trace->err);
	if (!gc)
		return NP_E_NOMEM;
	*gc = (struct np_gc){ event->ts_ns, end_of(event), event->tid.value };
	return NP_OK;
}

static int take_frequency(struct detail_trace *trace, const struct detail_lane *lane,
			  const struct np_trace_event *event)
{
	struct np_frequency *sample;
	int64_t mhz;

	if (!detail_trace_reads(trace, NP_DETAIL_FREQUENCY) || event->ts_ns == NP_UNKNOWN ||
	    !np_trace_arg_integer(event, "MHz", &mhz))
		return NP_OK;
	sample = np_vec_add(&trace->detail->frequency, trace->err);
	if (!sample)
		return NP_E_NOMEM;
	*sample = (struct np_frequency){ event->ts_ns, detail_known(mhz), lane->device };
	return NP_OK;
}

/* --- device ---------------------------------------------------------------------------------- */

static int take_hardware(struct detail_trace *trace, const struct detail_lane *lane,
			 const struct np_trace_event *event)
{
	static const char *const keys[] = { "Task Type", "connection_id", "Task Id" };
	struct np_trace_value values[NP_COUNT(keys)];
	struct np_device_task *task;
	np_str *name;
	np_str *core;
	int rc;

	if (!detail_trace_reads(trace, NP_DETAIL_TASKS))
		return NP_OK;
	task = detail_add_task(trace->load);
	name = np_vec_add(&trace->task_names, trace->err);
	core = np_vec_add(&trace->task_cores, trace->err);
	if (!task || !name || !core)
		return NP_E_NOMEM;
	(void)np_trace_args(event, keys, NP_COUNT(keys), values);
	task->start = event->ts_ns;
	task->end = end_of(event);
	task->stream = event->tid.number ? event->tid.value : NP_UNKNOWN;
	task->connection = integer_of(&values[1]);
	task->task_id = integer_of(&values[2]);
	task->device = lane->device;
	rc = intern(trace, event->name, name);
	return rc < 0 ? rc : intern(trace, text_of(&values[0]), core);
}

static int take_op(struct detail_trace *trace, const struct np_trace_event *event)
{
	static const char *const keys[] = { "connection_id", "count", "data_type",
					    "alg_type",      "relay", "retry" };
	struct np_trace_value values[NP_COUNT(keys)];
	struct detail_trace_op *record;
	struct np_detail_op *op;
	np_str name;
	uint32_t index;
	int rc = intern(trace, event->name, &name);

	if (rc < 0)
		return rc;
	index = detail_find_op(trace->load, event->ts_ns, name);
	(void)np_trace_args(event, keys, NP_COUNT(keys), values);
	record = np_vec_add(&trace->ops, trace->err);
	if (!record)
		return NP_E_NOMEM;
	*record = (struct detail_trace_op){ .start = event->ts_ns,
					    .end = end_of(event),
					    .pid = event->pid.value,
					    .tid = event->tid.value,
					    .connection = integer_of(&values[0]),
					    .op = index };
	/* Of a step that the user left out. */
	if (index == NP_NO_ROW)
		return NP_OK;
	op = &trace->detail->ops.item[index];
	op->connection = record->connection;
	op->count = integer_of(&values[1]);
	op->relay = integer_of(&values[4]);
	op->retry = integer_of(&values[5]);
	rc = intern(trace, text_of(&values[2]), &op->data_type);
	return rc < 0 ? rc : intern(trace, text_of(&values[3]), &op->alg_type);
}

enum {
	SMALL_TYPE,
	SMALL_SRC,
	SMALL_DST,
	SMALL_TRANSPORT,
	SMALL_SIZE,
	SMALL_LINK,
	SMALL_RDMA,
	SMALL_MASTER,
	SMALL_NOTIFY,
	SMALL_STREAM,
	SMALL_TASK,
	SMALL_DATA_TYPE,
	SMALL_BANDWIDTH,
	SMALL_KEYS,
};

static const char *const small_keys[SMALL_KEYS] = {
	[SMALL_TYPE] = "task type",
	[SMALL_SRC] = "src rank",
	[SMALL_DST] = "dst rank",
	[SMALL_TRANSPORT] = "transport type",
	[SMALL_SIZE] = "size(Byte)",
	[SMALL_LINK] = "link type",
	[SMALL_RDMA] = "rdma type",
	[SMALL_MASTER] = "is_master",
	[SMALL_NOTIFY] = "notify_id",
	[SMALL_STREAM] = "stream id",
	[SMALL_TASK] = "task id",
	[SMALL_DATA_TYPE] = "data type",
	[SMALL_BANDWIDTH] = "bandwidth(GB/s)",
};

static int name_small(struct detail_trace *trace, const struct np_trace_value *values,
		      struct np_small_task *small)
{
	const struct {
		int key;
		np_str *text;
	} texts[] = {
		{ SMALL_TYPE, &small->type },           { SMALL_TRANSPORT, &small->transport },
		{ SMALL_LINK, &small->link },           { SMALL_RDMA, &small->rdma_type },
		{ SMALL_DATA_TYPE, &small->data_type },
	};
	int rc = NP_OK;

	for (size_t i = 0; i < NP_COUNT(texts) && rc == NP_OK; i++)
		rc = intern(trace, text_of(&values[texts[i].key]), texts[i].text);
	return rc;
}

static int take_small(struct detail_trace *trace, const struct np_trace_event *event)
{
	struct np_trace_value values[SMALL_KEYS];
	struct np_small_task *small = detail_add_small(trace->load);
	struct detail_place *place = np_vec_add(&trace->small, trace->err);
	int64_t number;
	double real;

	if (!small || !place)
		return NP_E_NOMEM;
	(void)np_trace_args(event, small_keys, SMALL_KEYS, values);
	*place = (struct detail_place){ event->pid.value, event->tid.value };
	small->start = event->ts_ns;
	small->end = end_of(event);
	small->bytes = integer_of(&values[SMALL_SIZE]);
	small->src = integer_of(&values[SMALL_SRC]);
	small->dst = integer_of(&values[SMALL_DST]);
	small->notify_id = integer_of(&values[SMALL_NOTIFY]);
	small->stream = integer_of(&values[SMALL_STREAM]);
	small->task_id = integer_of(&values[SMALL_TASK]);
	small->master = np_trace_value_integer(&values[SMALL_MASTER], &number) && number == 1;
	if (np_trace_value_real(&values[SMALL_BANDWIDTH], &real))
		small->bandwidth = real;
	return name_small(trace, values, small);
}

static int take_communication(struct detail_trace *trace, const struct np_trace_event *event)
{
	struct np_trace_value type;

	if (!np_trace_arg(event, "task type", &type))
		return detail_trace_reads(trace, NP_DETAIL_OPS) ? take_op(trace, event) : NP_OK;
	return detail_trace_reads(trace, NP_DETAIL_SMALL) ? take_small(trace, event) : NP_OK;
}

/* --- the pass -------------------------------------------------------------------------------- */

static int take_lane(struct detail_trace *trace, const struct detail_lane *lane,
		     const struct np_trace_event *event)
{
	switch (lane->kind) {
	case DETAIL_LANE_CANN:
		return take_call(trace, event);
	case DETAIL_LANE_HARDWARE:
		return take_hardware(trace, lane, event);
	case DETAIL_LANE_COMMUNICATION:
		return take_communication(trace, event);
	case DETAIL_LANE_GC:
		return take_gc(trace, event);
	case DETAIL_LANE_MARKS:
		return take_mark(trace, event);
	case DETAIL_LANE_FREQUENCY:
	case DETAIL_LANE_OTHER:
		break;
	}
	return NP_OK;
}

static int take_slice(struct detail_trace *trace, const struct np_trace_event *event)
{
	const struct detail_lane *lane;

	if (event->ts_ns == NP_UNKNOWN || !detail_time_ok(trace->load, event->ts_ns, end_of(event)))
		return NP_OK;
	if (event->cat.length > 0)
		return take_framework(trace, event);
	lane = lane_of(trace, event->pid.value);
	if (!lane) {
		trace->unknown_lanes = true;
		return NP_OK;
	}
	return take_lane(trace, lane, event);
}

static int take_counter(struct detail_trace *trace, const struct np_trace_event *event)
{
	const struct detail_lane *lane = lane_of(trace, event->pid.value);

	if (!lane) {
		trace->unknown_lanes = true;
		return NP_OK;
	}
	return lane->kind == DETAIL_LANE_FREQUENCY ? take_frequency(trace, lane, event) : NP_OK;
}

static int take_gpu_event(struct detail_trace *trace, const struct np_trace_event *event)
{
	enum np_framework_kind kind;

	if (event->phase == 's' || event->phase == 'f')
		return take_flow(trace, event);
	if (event->phase == 'X' && framework_kind(trace, event, &kind))
		return take_slice(trace, event);
	return detail_gpu_take(trace, event);
}

static int take_event(struct detail_trace *trace, const struct np_trace_event *event)
{
	if (trace->gpu)
		return take_gpu_event(trace, event);
	switch (event->phase) {
	case 'X':
		return take_slice(trace, event);
	case 'M':
		return take_metadata(trace, event);
	case 'C':
		return take_counter(trace, event);
	case 's':
	case 'f':
		return take_flow(trace, event);
	default:
		return NP_OK;
	}
}

int detail_trace_pass(struct detail_trace *trace, const char *path, struct np_err *problem)
{
	NP_CLEANUP(np_trace_closep) struct np_trace *file = NULL;
	const struct np_trace_event *event;
	int rc = np_trace_open(path, &file, problem);

	while (rc == NP_OK) {
		rc = np_trace_next(file, &event, problem);
		if (rc < 0 || !event)
			break;
		if (take_event(trace, event) < 0)
			rc = np_fail(problem, NP_E_NOMEM, "%s", trace->err->text);
	}
	return rc;
}
