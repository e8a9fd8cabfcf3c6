/* SPDX-License-Identifier: Apache-2.0 */
#include "detail_trace.h"

/* Events of the device: tasks, communication operators and their small tasks. */

int detail_trace_take_hardware(struct detail_trace *trace, const struct trace_lane *lane,
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
	task->end = np_trace_end(event);
	task->stream = event->tid.number ? event->tid.value : NP_UNKNOWN;
	task->connection = detail_value_integer(&values[1]);
	task->task_id = detail_value_integer(&values[2]);
	task->device = detail_device(lane->device);
	rc = detail_trace_intern(trace, event->name, name);
	return rc < 0 ? rc : detail_trace_intern(trace, detail_value_text(&values[0]), core);
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
	rc = detail_trace_intern(trace, detail_value_text(&values[2]), &op->data_type);
	return rc < 0 ? rc
		      : detail_trace_intern(trace, detail_value_text(&values[3]), &op->alg_type);
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
		rc = detail_trace_intern(trace, detail_value_text(&values[texts[i].key]),
					 texts[i].text);
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
	small->end = np_trace_end(event);
	small->bytes = detail_value_integer(&values[SMALL_SIZE]);
	small->src = detail_value_integer(&values[SMALL_SRC]);
	small->dst = detail_value_integer(&values[SMALL_DST]);
	small->notify_id = detail_value_integer(&values[SMALL_NOTIFY]);
	small->stream = detail_value_integer(&values[SMALL_STREAM]);
	small->task_id = detail_value_integer(&values[SMALL_TASK]);
	small->master = np_trace_value_integer(&values[SMALL_MASTER], &number) && number == 1;
	if (np_trace_value_real(&values[SMALL_BANDWIDTH], &real))
		small->bandwidth = real;
	return name_small(trace, values, small);
}

int detail_trace_take_communication(struct detail_trace *trace, const struct np_trace_event *event)
{
	struct np_trace_value type;

	if (!np_trace_arg(event, "task type", &type))
		return detail_trace_reads(trace, NP_DETAIL_OPS) ? take_op(trace, event) : NP_OK;
	return detail_trace_reads(trace, NP_DETAIL_SMALL) ? take_small(trace, event) : NP_OK;
}
