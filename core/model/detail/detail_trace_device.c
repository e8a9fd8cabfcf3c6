/* SPDX-License-Identifier: Apache-2.0 */
#include "detail_trace.h"

/* Events of the device: tasks, communication operators and their sub-tasks. */

int detail_trace_take_hardware(struct detail_trace *trace, const struct trace_lane *lane,
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

int detail_trace_take_communication(struct detail_trace *trace, const struct np_trace_event *event)
{
	if (!trace_is_sub_task(event))
		return detail_trace_reads(trace, NP_DETAIL_OPS) ? take_op(trace, event) : NP_OK;
	return detail_trace_reads(trace, NP_DETAIL_SUB_TASKS) ? take_sub_task(trace, event) : NP_OK;
}
