/* SPDX-License-Identifier: Apache-2.0 */
/* The events of a trace, read into a detail; what belongs to what is found afterwards. */
#include "detail_trace.h"

#include "core/model/vendor/nsys.h"

#include "npuprof/buf.h"
#include "npuprof/rank.h"
#include "npuprof/run.h"

#include <strings.h>

/* --- lanes ----------------------------------------------------------------------------------- */

/* "Plane 3" or "Group … Communication"; other threads are not looked at. */
static int name_thread(struct detail_trace *trace, const struct np_trace_event *event,
		       struct np_slice name)
{
	int64_t plane = NP_UNKNOWN;
	struct trace_thread *thread;

	if (!trace_plane(name, &plane) && !trace_is_group(name))
		return NP_OK;
	thread = trace_thread_add(&trace->lanes, event, trace->err);
	if (!thread)
		return NP_E_NOMEM;
	thread->plane = plane;
	return NP_OK;
}

static int take_metadata(struct detail_trace *trace, const struct np_trace_event *event)
{
	struct np_slice name;

	if (np_slice_is(event->name, "thread_name"))
		return np_trace_arg_text(event, "name", &name) ? name_thread(trace, event, name)
							       : NP_OK;
	return trace_lanes_take(&trace->lanes, event, trace->err);
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
				  .end = np_trace_end(event),
				  .tid = event->tid.value,
				  .connection = NP_UNKNOWN,
				  .step = NP_NO_STEP };
	if (np_trace_arg_integer(event, "connection_id", &connection))
		call->connection = vendor_known(connection);
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
	struct np_slice text = trace_value_text(value);

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
	int rc = NP_OK;

	(void)np_trace_args(event, keys, COUNT, values);
	call->sequence = detail_value_integer(&values[SEQUENCE]);
	call->fwd_thread = detail_value_integer(&values[FORWARD]);
	if (call->fwd_thread == 0)
		call->fwd_thread = NP_UNKNOWN;
	if (detail_trace_reads(trace, NP_DETAIL_INPUTS)) {
		rc = intern_inputs(trace, &values[DIMS], &call->in_shapes);
		if (rc == NP_OK)
			rc = intern_inputs(trace, &values[TYPES], &call->in_dtypes);
	}
	text = trace_value_text(&values[STACK]);
	if (rc == NP_OK && detail_trace_reads(trace, NP_DETAIL_STACKS))
		rc = detail_intern_list(trace->load, text.bytes, text.length, '\n', &call->stack);
	return rc;
}

static bool framework_kind(const struct detail_trace *trace, const struct np_trace_event *event,
			   enum np_framework_kind *ret)
{
	if (np_slice_is(event->cat, "cpu_op") ||
	    (trace->kineto &&
	     (np_slice_is(event->cat, "user_annotation") || np_slice_is(event->cat, "operator"))))
		*ret = np_slice_begins(event->name, VENDOR_STEP)  ? NP_FRAMEWORK_STEP
		       : np_slice_is(event->name, "mstx_mark_op") ? NP_FRAMEWORK_MARK
								  : NP_FRAMEWORK_OP;
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
	call->end = np_trace_end(event);
	call->tid = event->tid.value;
	call->kind = kind;
	if (kind == NP_FRAMEWORK_OP || kind == NP_FRAMEWORK_STEP)
		rc = take_inputs(trace, event, call);
	return rc < 0 ? rc : detail_trace_intern(trace, event->name, &call->name);
}

/* An arrow is written behind the mark where it starts: then nothing need be looked for. */
static bool connect_last_mark(struct detail_trace *trace, const struct np_trace_event *event)
{
	const struct np_detail *detail = trace->detail;
	struct np_mark *last =
		detail->marks.count ? &detail->marks.item[detail->marks.count - 1] : NULL;

	if (event->phase != 's' || !last || last->start != event->ts_ns ||
	    last->tid != event->tid.value)
		return false;
	last->connection = event->id.value;
	return true;
}

static int take_mark_flow(struct detail_trace *trace, const struct np_trace_event *event)
{
	struct detail_mark_flow *flow;

	if (!detail_trace_reads(trace, NP_DETAIL_MARKS) || !event->id.number ||
	    event->ts_ns == NP_UNKNOWN || connect_last_mark(trace, event))
		return NP_OK;
	flow = np_vec_add(&trace->mark_flows, trace->err);
	if (!flow)
		return NP_E_NOMEM;
	*flow = (struct detail_mark_flow){ .time = event->ts_ns,
					   .tid = event->tid.value,
					   .id = event->id.value,
					   .at_task = event->phase == 'f' };
	return NP_OK;
}

static int take_flow(struct detail_trace *trace, const struct np_trace_event *event)
{
	struct detail_flow *flow;
	enum np_lead_kind kind;

	if (np_slice_is(event->cat, "MsTx"))
		return take_mark_flow(trace, event);
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

/* By what the profiler calls it; without that an event with a length is a range. */
static enum np_mark_kind mark_kind(const struct np_mark *mark, struct np_slice type)
{
	if (type.length == 0)
		return mark->end > mark->start ? NP_MARK_RANGE : NP_MARK_EX;
	if (np_slice_is(type, "push/pop") || np_slice_is(type, "start/end"))
		return NP_MARK_RANGE;
	return np_slice_is(type, "marker_ex") ? NP_MARK_EX : NP_MARK;
}

/* Lanes of mstx are named like the process that was profiled: events are known by their type. */
static int take_mark(struct detail_trace *trace, const struct trace_lane *lane,
		     const struct np_trace_event *event)
{
	enum {
		TYPE,
		CONNECTION,
		DOMAIN,
		COUNT
	};
	static const char *const keys[COUNT] = {
		[TYPE] = "event_type", [CONNECTION] = "connection_id", [DOMAIN] = "domain"
	};
	struct np_trace_value values[COUNT];
	struct np_mark *mark;
	int rc;

	if (!detail_trace_reads(trace, NP_DETAIL_MARKS))
		return NP_OK;
	(void)np_trace_args(event, keys, COUNT, values);
	if (lane->kind != TRACE_LANE_MARKS && values[TYPE].type != NP_TRACE_TEXT)
		return NP_OK;
	mark = detail_add_mark(trace->load);
	if (!mark)
		return NP_E_NOMEM;
	mark->start = event->ts_ns;
	mark->end = np_trace_end(event);
	mark->tid = event->tid.value;
	mark->kind = mark_kind(mark, trace_value_text(&values[TYPE]));
	mark->connection = detail_value_integer(&values[CONNECTION]);
	rc = detail_trace_intern(trace, trace_value_text(&values[DOMAIN]), &mark->domain);
	return rc < 0 ? rc : detail_trace_intern(trace, event->name, &mark->message);
}

static int take_gc(struct detail_trace *trace, const struct np_trace_event *event)
{
	struct np_gc *gc;

	if (!detail_trace_reads(trace, NP_DETAIL_GC))
		return NP_OK;
	gc = np_vec_add(&trace->detail->gc, trace->err);
	if (!gc)
		return NP_E_NOMEM;
	*gc = (struct np_gc){ event->ts_ns, np_trace_end(event), event->tid.value };
	return NP_OK;
}

static int take_frequency(struct detail_trace *trace, const struct trace_lane *lane,
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
	*sample =
		(struct np_frequency){ event->ts_ns, vendor_known(mhz),
				       vendor_device(lane && lane->device != NP_UNKNOWN
							     ? lane->device
							     : trace_lanes_device(&trace->lanes)) };
	return NP_OK;
}

/* --- device ----------------------------------------------------------------------------------- */

/* detail_trace_device.c: an event of a lane of the device. */
static int detail_trace_take_hardware(struct detail_trace *trace, const struct trace_lane *lane,
				      const struct np_trace_event *event)
{
	struct np_trace_value values[TRACE_TASK_KEYS];
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
	(void)np_trace_args(event, trace_task_keys, TRACE_TASK_KEYS, values);
	task->start = event->ts_ns;
	task->end = np_trace_end(event);
	task->stream = event->tid.number ? event->tid.value : NP_UNKNOWN;
	task->connection = detail_value_integer(&values[TRACE_TASK_CONNECTION]);
	task->task_id = detail_value_integer(&values[TRACE_TASK_ID]);
	task->device = vendor_device(lane->device);
	rc = detail_trace_intern(trace, event->name, name);
	return rc < 0 ? rc
		      : detail_trace_intern(trace, trace_value_text(&values[TRACE_TASK_TYPE]),
					    core);
}

static int take_op(struct detail_trace *trace, const struct np_trace_event *event)
{
	static const char *const keys[] = { "connection_id", "count", "data_type",
					    "alg_type",      "relay", "retry" };
	struct np_trace_value values[NP_COUNT(keys)];
	struct trace_op *record;
	struct np_detail_op *op;
	np_str name;
	uint32_t index;
	int rc = detail_trace_intern(trace, event->name, &name);

	if (rc < 0)
		return rc;
	index = detail_find_op(trace->load, event->ts_ns, name);
	(void)np_trace_args(event, keys, NP_COUNT(keys), values);
	record = np_vec_add(&trace->ops, trace->err);
	if (!record)
		return NP_E_NOMEM;
	*record = (struct trace_op){ .start = event->ts_ns,
				     .end = np_trace_end(event),
				     .pid = event->pid.value,
				     .tid = event->tid.value,
				     .connection = detail_value_integer(&values[0]),
				     .row = index };
	/* Of a step that the user left out. */
	if (index == NP_NO_ROW)
		return NP_OK;
	op = &trace->detail->ops.item[index];
	op->connection = record->connection;
	op->count = detail_value_integer(&values[1]);
	op->relay = detail_value_integer(&values[4]);
	op->retry = detail_value_integer(&values[5]);
	rc = detail_trace_intern(trace, trace_value_text(&values[2]), &op->data_type);
	return rc < 0 ? rc
		      : detail_trace_intern(trace, trace_value_text(&values[3]), &op->alg_type);
}

static int name_sub_task(struct detail_trace *trace, const struct np_trace_value *values,
			 struct np_sub_task *sub_task)
{
	const struct {
		int key;
		np_str *text;
	} texts[] = {
		{ TRACE_SUB_TASK_TYPE, &sub_task->type },
		{ TRACE_SUB_TASK_TRANSPORT, &sub_task->transport },
		{ TRACE_SUB_TASK_LINK, &sub_task->link },
		{ TRACE_SUB_TASK_RDMA, &sub_task->rdma_type },
		{ TRACE_SUB_TASK_DATA_TYPE, &sub_task->data_type },
	};
	int rc = NP_OK;

	for (size_t i = 0; i < NP_COUNT(texts) && rc == NP_OK; i++)
		rc = detail_trace_intern(trace, trace_value_text(&values[texts[i].key]),
					 texts[i].text);
	return rc;
}

static int take_sub_task(struct detail_trace *trace, const struct np_trace_event *event)
{
	struct np_trace_value values[TRACE_SUB_TASK_KEYS];
	struct np_sub_task *sub_task = detail_add_sub_task(trace->load);
	struct detail_place *place = np_vec_add(&trace->sub_tasks, trace->err);
	int64_t number;
	double real;

	if (!sub_task || !place)
		return NP_E_NOMEM;
	(void)np_trace_args(event, trace_sub_task_keys, TRACE_SUB_TASK_KEYS, values);
	*place = (struct detail_place){ event->pid.value, event->tid.value };
	sub_task->start = event->ts_ns;
	sub_task->end = np_trace_end(event);
	sub_task->bytes = detail_value_integer(&values[TRACE_SUB_TASK_SIZE]);
	sub_task->src = detail_value_integer(&values[TRACE_SUB_TASK_SRC]);
	sub_task->dst = detail_value_integer(&values[TRACE_SUB_TASK_DST]);
	sub_task->notify_id = detail_value_integer(&values[TRACE_SUB_TASK_NOTIFY]);
	sub_task->stream = detail_value_integer(&values[TRACE_SUB_TASK_STREAM]);
	sub_task->task_id = detail_value_integer(&values[TRACE_SUB_TASK_TASK]);
	sub_task->master =
		np_trace_value_integer(&values[TRACE_SUB_TASK_MASTER], &number) && number == 1;
	if (np_trace_value_real(&values[TRACE_SUB_TASK_BANDWIDTH], &real))
		sub_task->bandwidth = real;
	return name_sub_task(trace, values, sub_task);
}

static int detail_trace_take_communication(struct detail_trace *trace,
					   const struct np_trace_event *event)
{
	if (!trace_is_sub_task(event))
		return detail_trace_reads(trace, NP_DETAIL_OPS) ? take_op(trace, event) : NP_OK;
	return detail_trace_reads(trace, NP_DETAIL_SUB_TASKS) ? take_sub_task(trace, event) : NP_OK;
}

/* --- the pass -------------------------------------------------------------------------------- */

static int take_lane(struct detail_trace *trace, const struct trace_lane *lane,
		     const struct np_trace_event *event)
{
	switch (lane->kind) {
	case TRACE_LANE_CANN:
		return take_call(trace, event);
	case TRACE_LANE_HARDWARE:
		return detail_trace_take_hardware(trace, lane, event);
	case TRACE_LANE_COMMUNICATION:
		return detail_trace_take_communication(trace, event);
	case TRACE_LANE_GC:
		return take_gc(trace, event);
	case TRACE_LANE_MARKS:
	case TRACE_LANE_OTHER:
		return take_mark(trace, lane, event);
	case TRACE_LANE_FREQUENCY:
	case TRACE_LANE_OVERLAP:
		break;
	}
	return NP_OK;
}

static int take_slice(struct detail_trace *trace, const struct np_trace_event *event)
{
	const struct trace_lane *lane;

	if (event->ts_ns == NP_UNKNOWN ||
	    !detail_time_ok(trace->load, event->ts_ns, np_trace_end(event)))
		return NP_OK;
	if (trace_is_collection(event))
		return take_gc(trace, event);
	if (event->cat.length > 0)
		return take_framework(trace, event);
	lane = trace_lanes_find(&trace->lanes, event->pid.value);
	if (!lane) {
		trace->unknown_lanes = true;
		return NP_OK;
	}
	return take_lane(trace, lane, event);
}

static int take_counter(struct detail_trace *trace, const struct np_trace_event *event)
{
	const struct trace_lane *lane = trace_lanes_find(&trace->lanes, event->pid.value);

	return trace_is_frequency(lane, event) ? take_frequency(trace, lane, event) : NP_OK;
}

static int take_kineto_event(struct detail_trace *trace, const struct np_trace_event *event)
{
	size_t before = trace->detail->framework.count;
	enum np_framework_kind kind;
	int rc;

	if (np_slice_is(event->cat, "ac2g"))
		return detail_kineto_take_arrow(trace, event);
	if (event->phase == 's' || event->phase == 'f')
		return take_flow(trace, event);
	if (event->phase != 'X' || !framework_kind(trace, event, &kind))
		return detail_kineto_take(trace, event);
	rc = take_slice(trace, event);
	if (rc < 0 || kind != NP_FRAMEWORK_OP || trace->detail->framework.count == before)
		return rc;
	return detail_kineto_take_site(trace, event);
}

static int take_event(struct detail_trace *trace, const struct np_trace_event *event)
{
	if (trace->kineto)
		return take_kineto_event(trace, event);
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

/* One pass over a file; failures are described in `problem`. */
static int detail_trace_pass(struct detail_trace *trace, const char *path, struct np_err *problem)
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

/* --- files ------------------------------------------------------------------------------------ */

/* What of the trace must be read: sections wanted, and those they are joined with. */
static unsigned sections_to_read(const struct detail_load *load)
{
	unsigned reads = load->wants;

	if (reads & (DETAIL_OF_FRAMEWORK_IN_BRIEF | NP_DETAIL_MARKS))
		reads |= NP_DETAIL_FRAMEWORK;
	if (reads & (NP_DETAIL_KERNELS | NP_DETAIL_LAUNCHES | NP_DETAIL_FRAMEWORK |
		     NP_DETAIL_SUB_TASKS | NP_DETAIL_MARKS))
		reads |= NP_DETAIL_TASKS;
	if (reads & (NP_DETAIL_TASKS | NP_DETAIL_SUB_TASKS))
		reads |= NP_DETAIL_OPS;
	return reads;
}

/* For a second pass, where events came before the names of their lanes. */
static void forget_events(struct detail_trace *trace)
{
	struct np_detail *detail = trace->detail;

	detail->tasks.count = 0;
	detail->calls.count = 0;
	detail->framework.count = 0;
	detail->marks.count = 0;
	detail->sub_tasks.count = 0;
	detail->frequency.count = 0;
	detail->gc.count = 0;
	trace->ops.count = 0;
	trace->flows.count = 0;
	trace->mark_flows.count = 0;
	trace->task_names.count = 0;
	trace->task_cores.count = 0;
	trace->sub_tasks.count = 0;
	trace->unknown_lanes = false;
	trace->load->impossible_times = 0;
	trace->load->times = 0;
}

static int read_files(struct detail_trace *trace, struct np_err *problem)
{
	const struct np_source_files *source = trace->load->source;
	int rc = detail_trace_pass(trace, source->file[NP_FILE_TRACE], problem);

	for (size_t i = 0; i < source->more_traces.count && rc == NP_OK; i++)
		rc = detail_trace_pass(trace, source->more_traces.item[i], problem);
	return rc;
}

/* Which sections a trace can fill: those of which it has rows. */
static void report_found(struct detail_trace *trace)
{
	const struct np_detail *detail = trace->detail;
	const struct {
		size_t count;
		unsigned sections;
	} lists[] = {
		{ detail->tasks.count, NP_DETAIL_TASKS },
		{ detail->calls.count, NP_DETAIL_CALLS },
		{ detail->framework.count, DETAIL_OF_FRAMEWORK | DETAIL_OF_FRAMEWORK_IN_BRIEF },
		{ detail->marks.count, NP_DETAIL_MARKS },
		{ trace->kineto ? detail->ops.count : trace->ops.count, NP_DETAIL_OPS },
		{ detail->sub_tasks.count, NP_DETAIL_SUB_TASKS },
		{ detail->frequency.count, NP_DETAIL_FREQUENCY },
		{ detail->gc.count, NP_DETAIL_GC },
		{ detail->kernels.count, NP_DETAIL_KERNELS | NP_DETAIL_LAUNCHES },
		{ trace->kineto ? detail->memory_ops.count : 0, NP_DETAIL_MEMORY_OPS },
	};

	for (size_t i = 0; i < NP_COUNT(lists); i++) {
		if (lists[i].count > 0)
			detail_found(trace->load, lists[i].sections);
	}
}

static void release(struct detail_trace *trace)
{
	trace_lanes_release(&trace->lanes);
	np_vec_release(&trace->ops);
	np_vec_release(&trace->flows);
	np_vec_release(&trace->mark_flows);
	np_vec_release(&trace->task_names);
	np_vec_release(&trace->task_cores);
	np_vec_release(&trace->sub_tasks);
}

static int read_trace(struct detail_trace *trace)
{
	struct detail_load *load = trace->load;
	struct np_err problem = NP_ERR_INIT;
	int rc;

	if (trace_lanes_init(&trace->lanes, load->err) < 0)
		return NP_E_NOMEM;
	rc = read_files(trace, &problem);
	if (rc == NP_OK && trace->unknown_lanes) {
		forget_events(trace);
		rc = read_files(trace, &problem);
	}
	if (rc == NP_E_NOMEM)
		return np_fail(load->err, NP_E_NOMEM, "%s", problem.text);
	if (rc < 0)
		detail_note(load, load->source->file[NP_FILE_TRACE], np_file_name(NP_FILE_TRACE),
			    problem.text);
	rc = detail_trace_join(trace);
	if (rc == NP_OK)
		report_found(trace);
	return rc;
}

/* Sections that a trace has nothing of. */
#define NOT_IN_TRACE \
	(NP_DETAIL_PMU | NP_DETAIL_MEMORY_OPS | NP_DETAIL_MEMORY_CURVE | NP_DETAIL_MEMORY_EVENTS | \
	 NP_DETAIL_DEVICE | NP_DETAIL_ENVIRONMENT)

int detail_read_trace(struct detail_load *load)
{
	struct detail_trace trace = { .load = load, .detail = load->detail, .err = load->err };
	int rc;

	if (!detail_wants(load, ~(unsigned)NOT_IN_TRACE))
		return NP_OK;
	trace.reads = sections_to_read(load);
	rc = read_trace(&trace);
	release(&trace);
	return rc;
}

/* The same events from a database of Nsight Systems. */
static int pass_nsys(struct detail_trace *trace, const char *path, struct np_err *problem)
{
	NP_CLEANUP(nsys_closep) struct nsys_events *events = NULL;
	const struct np_trace_event *event;
	int rc = nsys_open(path, true, &events, problem);

	while (rc == NP_OK) {
		rc = nsys_next(events, &event, problem);
		if (rc < 0 || !event)
			break;
		if (take_event(trace, event) < 0)
			rc = np_fail(problem, NP_E_NOMEM, "%s", trace->err->text);
	}
	return rc;
}

static int read_kineto(struct detail_trace *trace)
{
	struct detail_load *load = trace->load;
	const char *path = load->source->file[NP_FILE_KINETO];
	struct np_err problem = NP_ERR_INIT;
	int rc;

	trace->kineto->held = np_idmap_new();
	if (!trace->kineto->held)
		return np_fail_nomem(load->err, "a trace");
	rc = nsys_is(path) ? pass_nsys(trace, path, &problem)
			   : detail_trace_pass(trace, path, &problem);
	if (rc == NP_E_NOMEM)
		return np_fail(load->err, NP_E_NOMEM, "%s", problem.text);
	if (rc < 0)
		detail_note(load, path, np_file_name(NP_FILE_KINETO), problem.text);
	rc = detail_trace_link_calls(trace);
	if (rc == NP_OK)
		rc = detail_kineto_place(trace);
	if (rc == NP_OK)
		report_found(trace);
	return rc;
}

int detail_read_kineto(struct detail_load *load)
{
	struct detail_kineto kineto = { 0 };
	struct detail_trace trace = {
		.load = load, .kineto = &kineto, .detail = load->detail, .err = load->err
	};
	int rc;

	trace.reads = load->wants;
	/* Operators are those who dispatch, and who allocate. */
	if (detail_trace_reads(&trace, DETAIL_OF_FRAMEWORK_IN_BRIEF | NP_DETAIL_MEMORY_OPS))
		trace.reads |= NP_DETAIL_FRAMEWORK;
	rc = read_kineto(&trace);
	detail_kineto_release(&kineto);
	release(&trace);
	return rc;
}
