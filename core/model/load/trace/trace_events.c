/* SPDX-License-Identifier: Apache-2.0 */
/* The events of a trace, sorted into the lists of which a rank is made. */
#include "core/model/vendor/hccl_types.h"
#include "trace_load.h"

/* --- lanes ----------------------------------------------------------------------------------- */

/* Communicators and their planes; other threads are not looked at. */
static int name_thread(struct trace_load *load, const struct np_trace_event *event,
		       struct np_slice name)
{
	struct trace_thread *thread;
	struct np_slice group;
	int64_t plane = NP_UNKNOWN;
	bool is_plane = trace_plane(name, &plane);

	if (!is_plane && !trace_group(name, &group))
		return NP_OK;
	thread = trace_thread_add(&load->lanes, event, load->capture.err);
	if (!thread)
		return NP_E_NOMEM;
	if (is_plane) {
		thread->plane = plane;
		return NP_OK;
	}
	return np_strtab_add(load->capture.strings, group.bytes, group.length, &thread->group,
			     load->capture.err);
}

static int take_metadata(struct trace_load *load, const struct np_trace_event *event)
{
	struct np_slice name;

	if (np_slice_is(event->name, "thread_name"))
		return np_trace_arg_text(event, "name", &name) ? name_thread(load, event, name)
							       : NP_OK;
	return trace_lanes_take(&load->lanes, event, load->capture.err);
}

/* --- events ---------------------------------------------------------------------------------- */

static int take_step(struct trace_load *load, const struct np_trace_event *event)
{
	const size_t prefix = strlen(VENDOR_STEP);
	np_str id;
	int rc;

	if (!np_steps_read_marks(&load->capture.choice))
		return NP_OK;
	rc = np_strtab_add(load->capture.strings, event->name.bytes + prefix,
			   event->name.length - prefix, &id, load->capture.err);

	return rc < 0 ? rc
		      : capture_add_step(&load->capture, id, event->ts_ns, np_trace_end(event));
}

static int take_framework(struct trace_load *load, const struct np_trace_event *event)
{
	if (np_slice_begins(event->name, VENDOR_STEP))
		return take_step(load, event);
	if (load->first_framework_call == NP_UNKNOWN || event->ts_ns < load->first_framework_call)
		load->first_framework_call = event->ts_ns;
	return NP_OK;
}

static int take_call(struct trace_load *load, const struct np_trace_event *event)
{
	bool node = np_slice_begins(event->name, "Node@");
	struct trace_call *call;
	int64_t connection;

	if ((!node && !np_slice_begins(event->name, "AscendCL@")) ||
	    !np_trace_arg_integer(event, "connection_id", &connection))
		return NP_OK;
	call = np_vec_add(&load->calls, load->capture.err);
	if (!call)
		return NP_E_NOMEM;
	*call = (struct trace_call){ event->ts_ns, np_trace_end(event), connection, node };
	if (np_slice_is(event->name, "Node@launch")) {
		int64_t *launch = np_vec_add(&load->launches, load->capture.err);

		if (!launch)
			return NP_E_NOMEM;
		*launch = connection;
	}
	load->node_calls += node;
	/* They say what flows would, and there are as many of those as tasks. */
	if (node) {
		np_vec_release(&load->flows);
		np_vec_release(&load->flow_ends);
	}
	return NP_OK;
}

static int take_hardware(struct trace_load *load, const struct trace_lane *lane,
			 const struct np_trace_event *event)
{
	struct np_trace_value values[TRACE_TASK_KEYS];
	struct capture_row task = { .start = event->ts_ns,
				    .end = np_trace_end(event),
				    .device = lane->device,
				    .connection = NP_UNKNOWN,
				    .stream = event->tid.number ? event->tid.value : NP_UNKNOWN,
				    .id = NP_UNKNOWN };
	struct np_slice type;
	uint32_t index;
	int rc;

	(void)np_trace_args(event, trace_task_keys, TRACE_TASK_KEYS, values);
	type = trace_value_text(&values[TRACE_TASK_TYPE]);
	(void)np_trace_value_integer(&values[TRACE_TASK_CONNECTION], &task.connection);
	(void)np_trace_value_integer(&values[TRACE_TASK_ID], &task.id);
	task.class = vendor_task_class(type.bytes, type.length);
	rc = capture_add_task(&load->capture, &task, &index);
	if (rc < 0 || index == NP_IDMAP_NONE)
		return rc;
	if (vendor_is_communication_kernel(event->name)) {
		load->serving += task.end - task.start;
		return NP_OK;
	}
	if (!vendor_is_kernel_core(type.bytes, type.length)) {
		if (!vendor_is_no_kernel(type.bytes, type.length))
			load->may_be_kernels += task.end - task.start;
		return NP_OK;
	}
	load->capture.tasks.item[index].computes = true;
	/* Its name for now: the type is found by it in the table of kernels. */
	return np_strtab_add(load->capture.strings, event->name.bytes, event->name.length,
			     &load->capture.tasks.item[index].type, load->capture.err);
}

static int take_overlap(struct trace_load *load, const struct np_trace_event *event)
{
	struct capture_spans *list;
	struct np_span *span;

	if (np_slice_is(event->name, "Computing"))
		list = &load->computing;
	else if (np_slice_is(event->name, "Communication"))
		list = &load->communication;
	else
		return NP_OK;
	span = np_vec_add(list, load->capture.err);
	if (!span)
		return NP_E_NOMEM;
	*span = (struct np_span){ event->ts_ns, np_trace_end(event) };
	return NP_OK;
}

/* --- communication --------------------------------------------------------------------------- */

static int take_op(struct trace_load *load, const struct trace_lane *lane,
		   const struct np_trace_event *event)
{
	struct trace_op *op = np_vec_add(&load->ops, load->capture.err);
	struct trace_op_rest *rest = np_vec_add(&load->op_rests, load->capture.err);
	struct np_slice type;
	int64_t count;

	if (!op || !rest)
		return NP_E_NOMEM;
	*op = (struct trace_op){ .start = event->ts_ns,
				 .end = np_trace_end(event),
				 .pid = event->pid.value,
				 .tid = event->tid.value,
				 .connection = NP_UNKNOWN,
				 .row = (uint32_t)(load->op_rests.count - 1) };
	*rest = (struct trace_op_rest){ .bytes = NP_UNKNOWN, .device = lane->device };
	(void)np_trace_arg_integer(event, "connection_id", &op->connection);
	if (np_trace_arg_text(event, "data_type", &type))
		rest->data_type = hccl_type_kept(type);
	if (np_trace_arg_integer(event, "count", &count))
		rest->bytes = hccl_bytes(count, rest->data_type - 1);
	return np_strtab_add(load->capture.strings, event->name.bytes, event->name.length,
			     &rest->name, load->capture.err);
}

static int32_t peer_of(const struct np_trace_value *value)
{
	int64_t rank;

	return np_trace_value_integer(value, &rank) ? np_peer_of(rank) : NP_NO_PEER;
}

static int take_sub_task(struct trace_load *load, const struct np_trace_event *event)
{
	struct trace_sub_task *sub_task = np_vec_add(&load->sub_tasks, load->capture.err);
	struct np_trace_value values[TRACE_SUB_TASK_MEASURED];
	enum sub_task_kind kind;
	int64_t number;

	if (!sub_task)
		return NP_E_NOMEM;
	(void)np_trace_args(event, trace_sub_task_keys, TRACE_SUB_TASK_MEASURED, values);
	sub_task->pid = event->pid.value;
	sub_task->tid = event->tid.value;
	sub_task->task.start = event->ts_ns;
	sub_task->task.end = np_trace_end(event);
	sub_task->task.src = peer_of(&values[TRACE_SUB_TASK_SRC]);
	sub_task->task.dst = peer_of(&values[TRACE_SUB_TASK_DST]);
	sub_task->task.bytes = NP_UNKNOWN;
	if (np_trace_value_integer(&values[TRACE_SUB_TASK_SIZE], &number))
		sub_task->task.bytes = vendor_bytes(number);
	if (!vendor_speed_ok(sub_task->task.bytes, sub_task->task.start, sub_task->task.end)) {
		sub_task->task.bytes = NP_UNKNOWN;
		load->too_fast++;
	}
	sub_task->task.link = hccl_link_number(trace_value_text(&values[TRACE_SUB_TASK_LINK]));
	sub_task->task.transport =
		hccl_transport_number(trace_value_text(&values[TRACE_SUB_TASK_TRANSPORT]));
	kind = vendor_trace_sub_task_kind(trace_value_text(&values[TRACE_SUB_TASK_TYPE]));
	sub_task->task.kind = NP_TASK_OTHER;
	if (hccl_is_rdma_payload(trace_value_text(&values[TRACE_SUB_TASK_RDMA])))
		sub_task->task.kind = NP_TASK_RDMA_PAYLOAD;
	else if (kind == SUB_TASK_WAIT)
		sub_task->task.kind = NP_TASK_NOTIFY_WAIT;
	else if (kind == SUB_TASK_PAYLOAD || kind == SUB_TASK_REDUCE)
		sub_task->task.kind = NP_TASK_PAYLOAD;
	sub_task->task.reduces = kind == SUB_TASK_REDUCE;
	sub_task->task.master =
		np_trace_value_integer(&values[TRACE_SUB_TASK_MASTER], &number) && number == 1;
	return NP_OK;
}

/* Operators carry a name of HCCL; the sub-tasks on planes are called by what they do. */
static int take_communication(struct trace_load *load, const struct trace_lane *lane,
			      const struct np_trace_event *event)
{
	if (trace_is_sub_task(event))
		return take_sub_task(load, event);
	return take_op(load, lane, event);
}

/* Does the host show it: the framework, whose events have a category, or a lane of mstx? */
static bool may_be_range(const struct np_trace_event *event, const struct trace_lane *lane)
{
	struct np_slice type;

	if (event->cat.length > 0)
		return np_slice_is(event->cat, "cpu_op") ||
		       np_slice_is(event->cat, "user_annotation") ||
		       np_slice_is(event->cat, "python_function");
	/* Lanes of mstx may be named like the process: their events say what they are. */
	return lane &&
	       (lane->kind == TRACE_LANE_MARKS ||
		(lane->kind == TRACE_LANE_OTHER && np_trace_arg_text(event, "event_type", &type)));
}

static int take_range(struct trace_load *load, const struct np_trace_event *event)
{
	const struct trace_lane *lane = trace_lanes_find(&load->lanes, event->pid.value);
	bool is_range = false;
	int rc = NP_OK;

	if (may_be_range(event, lane))
		rc = capture_is_range(&load->capture, event->name.bytes, event->name.length,
				      &is_range);
	if (rc < 0 || !is_range)
		return rc;
	return capture_add_range(&load->capture, event->name.bytes, event->name.length,
				 event->ts_ns, np_trace_end(event));
}

/* --- the pass -------------------------------------------------------------------------------- */

static int take_collection(struct trace_load *load, const struct np_trace_event *event)
{
	capture_add_collection(load->rank, event->ts_ns, np_trace_end(event));
	return NP_OK;
}

static int take_slice(struct trace_load *load, const struct np_trace_event *event)
{
	const struct trace_lane *lane;

	/* A slice is from when to when: without one of both it is none. */
	if (event->ts_ns == NP_UNKNOWN || event->dur_ns == NP_UNKNOWN || event->dur_ns < 0) {
		load->capture.impossible_times++;
		return NP_OK;
	}
	if (load->capture.choice.want == NP_WANT_RANGE) {
		int rc = take_range(load, event);

		if (rc < 0)
			return rc;
	}
	if (trace_is_collection(event))
		return take_collection(load, event);
	/* Events of the framework have a category; its lane need not be known. */
	if (event->cat.length > 0 && vendor_loads_data(event->name.bytes, event->name.length)) {
		int rc = capture_add_loading(&load->capture, event->ts_ns, np_trace_end(event));

		if (rc < 0)
			return rc;
	}
	if (event->cat.length > 0)
		return np_slice_is(event->cat, "cpu_op") ? take_framework(load, event) : NP_OK;
	if (np_slice_begins(event->name, VENDOR_STEP))
		return take_step(load, event);
	lane = trace_lanes_find(&load->lanes, event->pid.value);
	if (!lane) {
		load->unknown_lanes = true;
		return NP_OK;
	}
	switch (lane->kind) {
	case TRACE_LANE_CANN:
		return take_call(load, event);
	case TRACE_LANE_HARDWARE:
		return take_hardware(load, lane, event);
	case TRACE_LANE_COMMUNICATION:
		return take_communication(load, lane, event);
	case TRACE_LANE_OVERLAP:
		return take_overlap(load, event);
	case TRACE_LANE_GC:
		return take_collection(load, event);
	case TRACE_LANE_FREQUENCY:
	case TRACE_LANE_MARKS:
	case TRACE_LANE_OTHER:
		break;
	}
	return NP_OK;
}

static int take_flow_end(struct trace_load *load, const struct np_trace_event *event)
{
	struct trace_flow_end *end = np_vec_add(&load->flow_ends, load->capture.err);

	if (!end)
		return NP_E_NOMEM;
	*end = (struct trace_flow_end){ event->id.value, event->ts_ns, event->phase == 'f' };
	return NP_OK;
}

static int take_flow(struct trace_load *load, const struct np_trace_event *event)
{
	struct trace_flow *flow;

	if (load->node_calls > 0 || event->id.text.length == 0 || event->ts_ns == NP_UNKNOWN)
		return NP_OK;
	if (np_slice_is(event->cat, "HostToDevice"))
		return take_flow_end(load, event);
	/* Its id is the start that it leads to. */
	if (event->phase != 's' || !event->id.number || !np_slice_is(event->cat, "async_npu"))
		return NP_OK;
	flow = np_vec_add(&load->flows, load->capture.err);
	if (!flow)
		return NP_E_NOMEM;
	*flow = (struct trace_flow){ event->ts_ns, event->id.value };
	return NP_OK;
}

static int take_event(struct trace_load *load, const struct np_trace_event *event)
{
	switch (event->phase) {
	case 'X':
		return take_slice(load, event);
	case 'M':
		return take_metadata(load, event);
	case 's':
	case 'f':
		return take_flow(load, event);
	case 'C':
		if (trace_is_frequency(trace_lanes_find(&load->lanes, event->pid.value), event))
			load->rank->contents |= NP_HAS_FREQUENCY;
		return NP_OK;
	default:
		return NP_OK;
	}
}

static void note_tally(struct trace_load *load, const struct np_trace *trace, const char *path)
{
	const struct np_trace_tally *tally = np_trace_tally(trace);

	load->broken |= tally->dropped > 0;
	if (tally->truncated)
		np_note_add(&load->rank->notes, NP_NOTE_WARNING, load->rank->id, path, "trace",
			    "it ends before its array does: the analysis that wrote it was cut"
			    " short; %llu events were read",
			    (unsigned long long)tally->events);
	if (tally->bad)
		np_note_add(&load->rank->notes, np_note_of_loss(tally->bad, tally->events),
			    load->rank->id, path, "trace",
			    "%llu events have members of the wrong type",
			    (unsigned long long)tally->bad);
}

int trace_read(struct trace_load *load, const char *path)
{
	NP_CLEANUP(np_trace_closep) struct np_trace *trace = NULL;
	const struct np_trace_event *event;
	int rc = np_trace_open(path, &trace, load->capture.err);

	while (rc == NP_OK) {
		rc = np_trace_next(trace, &event, load->capture.err);
		if (rc < 0 || !event)
			break;
		rc = take_event(load, event);
	}
	if (rc == NP_OK)
		note_tally(load, trace, path);
	return rc;
}
