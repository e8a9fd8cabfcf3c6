/* SPDX-License-Identifier: Apache-2.0 */
/* The events of a trace of Kineto, sorted into the lists of which a rank is made. */
#include "kineto_load.h"

#include "core/model/load/capture/statistics.h"
#include "core/model/vendor/nsys.h"

static int intern(struct kineto_load *load, struct np_slice text, np_str *ret)
{
	return np_strtab_add(load->capture.strings, text.bytes, text.length, ret,
			     load->capture.err);
}

static int intern_value(struct kineto_load *load, const struct np_trace_value *value, np_str *ret)
{
	if (value->type == NP_TRACE_NONE || value->type == NP_TRACE_NULL || value->text.length == 0)
		return NP_OK;
	return intern(load, value->text, ret);
}

static int64_t integer(const struct np_trace_value *value)
{
	int64_t number;

	return np_trace_value_integer(value, &number) ? number : NP_UNKNOWN;
}

/* From here on it is certain whose device it is; operators launch nothing on a GPU. */
static void know_gpu(struct kineto_load *load)
{
	load->is_gpu = true;
	np_vec_release(&load->operators);
}

/* --- collectives ----------------------------------------------------------------------------- */

/* What the arguments say of a collective; *ret NP_IDMAP_NONE where they say nothing. */
static int take_record(struct kineto_load *load, const struct np_trace_event *event, uint32_t *ret)
{
	enum {
		COLLECTIVE,
		GROUP,
		DESCRIPTION,
		RANKS,
		SIZE,
		SENT,
		RECEIVED,
		TYPE,
		SOURCE,
		TARGET,
		COUNT
	};
	static const char *const keys[COUNT] = { "Collective name",
						 "Process Group Name",
						 "Process Group Description",
						 "Process Group Ranks",
						 "Group size",
						 "In msg nelems",
						 "Out msg nelems",
						 "dtype",
						 "Src Rank",
						 "Dst Rank" };
	struct np_trace_value values[COUNT];
	struct kineto_record *record;
	int rc;

	*ret = NP_IDMAP_NONE;
	if (np_trace_args(event, keys, COUNT, values) == 0)
		return NP_OK;
	record = np_vec_add(&load->records, load->capture.err);
	if (!record)
		return NP_E_NOMEM;
	*record = (struct kineto_record){ .group_size = integer(&values[SIZE]),
					  .sent = integer(&values[SENT]),
					  .received = integer(&values[RECEIVED]),
					  .source = integer(&values[SOURCE]),
					  .target = integer(&values[TARGET]) };
	if (values[TYPE].type == NP_TRACE_TEXT)
		record->data_type = kineto_data_type(values[TYPE].text);
	rc = intern_value(load, &values[COLLECTIVE], &record->collective);
	if (rc == NP_OK)
		rc = intern_value(load, &values[GROUP], &record->group);
	if (rc == NP_OK)
		rc = intern_value(load, &values[DESCRIPTION], &record->description);
	if (rc == NP_OK)
		rc = intern_value(load, &values[RANKS], &record->ranks);
	*ret = (uint32_t)(load->records.count - 1);
	return rc;
}

/* The host says what a collective is; older versions do not repeat it at its kernel. */
static int take_host_record(struct kineto_load *load, const struct np_trace_event *event)
{
	int64_t external;
	uint32_t record;
	int rc;

	if (!np_trace_arg_integer(event, "External id", &external))
		return NP_OK;
	rc = take_record(load, event, &record);
	if (rc < 0 || record == NP_IDMAP_NONE)
		return rc;
	return np_idmap_set(load->record_of, external, record, load->capture.err);
}

static int take_nccl(struct kineto_load *load, const struct np_trace_event *event,
		     const struct kineto_place *place)
{
	struct kineto_op *op = np_vec_add(&load->ops, load->capture.err);
	int rc;

	if (!op)
		return NP_E_NOMEM;
	*op = (struct kineto_op){ .start = event->ts_ns,
				  .end = np_trace_end(event),
				  .connection = place->correlation,
				  .external = place->external,
				  .device = place->device };
	rc = intern(load, event->name, &op->name);
	return rc < 0 ? rc : take_record(load, event, &op->record);
}

static int take_hccl(struct kineto_load *load, const struct np_trace_event *event)
{
	struct kineto_record *record = np_vec_add(&load->records, load->capture.err);
	struct kineto_op *op = np_vec_add(&load->ops, load->capture.err);
	struct np_trace_value group;
	struct kineto_place place;
	int rc;

	if (!op || !record)
		return NP_E_NOMEM;
	load->is_npu = true;
	kineto_place(event, &place);
	/* Its external id is a running number and names nobody. */
	*op = (struct kineto_op){ .start = event->ts_ns,
				  .end = np_trace_end(event),
				  .connection = NP_UNKNOWN,
				  .external = NP_UNKNOWN,
				  .device = place.device,
				  .record = (uint32_t)(load->records.count - 1) };
	*record = (struct kineto_record){ .group_size = NP_UNKNOWN,
					  .sent = NP_UNKNOWN,
					  .received = NP_UNKNOWN,
					  .source = NP_UNKNOWN,
					  .target = NP_UNKNOWN };
	rc = intern(load, event->name, &op->name);
	if (rc == NP_OK && np_trace_arg(event, "commName", &group))
		rc = intern_value(load, &group, &record->group);
	return rc;
}

/* --- kernels and copies ---------------------------------------------------------------------- */

/* Where steps are not marked, the grid of a kernel tells calls of other sizes apart. */
static int take_grid(struct kineto_load *load, const struct np_trace_event *event,
		     const struct capture_task *task)
{
	struct np_trace_value grid;

	if (!np_steps_may_find(&load->capture.choice) || !np_trace_arg(event, "grid", &grid))
		return NP_OK;
	return capture_add_shape(&load->capture, task->start, task->type, grid.text.bytes,
				 grid.text.length);
}

/* Add a kernel to the sums of its type. */
static int count_kernel(struct kineto_load *load, const struct capture_task *task,
			struct np_slice core)
{
	static const struct np_slice gpu = { "GPU", 3 };
	struct np_rank *rank = load->rank;
	struct np_statistic *entry;
	np_str kind;
	uint32_t index;
	int64_t key;
	int rc = intern(load, core.length > 0 ? core : gpu, &kind);

	if (rc < 0)
		return rc;
	key = (int64_t)((uint64_t)task->type << 32 | kind);
	index = np_idmap_get(load->kernel_of, key);
	if (index == NP_IDMAP_NONE) {
		entry = np_vec_add(&rank->kernels, load->capture.err);
		if (!entry)
			return NP_E_NOMEM;
		index = (uint32_t)(rank->kernels.count - 1);
		*entry = (struct np_statistic){ .name = task->type, .kind = kind };
		rc = np_idmap_set(load->kernel_of, key, index, load->capture.err);
	}
	statistics_add(&rank->kernels.item[index], task->end - task->start);
	return rc;
}

static int take_task(struct kineto_load *load, const struct np_trace_event *event,
		     const struct kineto_place *place, enum task_class class, bool computes)
{
	const struct capture_row row = { .start = event->ts_ns,
					 .end = np_trace_end(event),
					 .device = place->device,
					 .connection = place->correlation,
					 .stream = place->stream,
					 .id = place->correlation,
					 .class = class };
	struct capture_task *task;
	uint32_t index;
	int rc = capture_add_task(&load->capture, &row, &index);

	if (rc < 0 || index == NP_IDMAP_NONE)
		return rc;
	if (!computes)
		return NP_OK;
	task = &load->capture.tasks.item[index];
	task->computes = true;
	rc = intern(load, kineto_kernel_type(event->name), &task->type);
	if (rc == NP_OK)
		rc = count_kernel(load, task, place->core);
	return rc < 0 ? rc : take_grid(load, event, task);
}

static int take_kernel(struct kineto_load *load, const struct np_trace_event *event)
{
	struct kineto_place place;

	kineto_place(event, &place);
	if (kineto_communicates(event->name))
		return take_nccl(load, event, &place);
	if (place.core.length == 0)
		return take_task(load, event, &place, TASK_OTHER, true);
	load->is_npu = true;
	/* Kernels that carry out a collective of HCCL are part of it. */
	return take_task(load, event, &place,
			 vendor_task_class(place.core.bytes, place.core.length),
			 !vendor_is_communication_kernel(event->name) &&
				 !vendor_is_no_kernel(place.core.bytes, place.core.length));
}

static int take_copy(struct kineto_load *load, const struct np_trace_event *event)
{
	struct kineto_place place;

	kineto_place(event, &place);
	return take_task(load, event, &place, TASK_COPY, false);
}

/* --- the host -------------------------------------------------------------------------------- */

static int take_step(struct kineto_load *load, const struct np_trace_event *event)
{
	const size_t prefix = strlen(VENDOR_STEP);
	np_str id;
	int rc = intern(
		load, (struct np_slice){ event->name.bytes + prefix, event->name.length - prefix },
		&id);

	/* Some versions have a step twice, as operator and as annotation. */
	if (rc < 0 || np_idmap_get(load->step_ids, id) != NP_IDMAP_NONE)
		return rc;
	rc = np_idmap_set(load->step_ids, id, 1, load->capture.err);
	return rc < 0 ? rc
		      : capture_add_step(&load->capture, id, event->ts_ns, np_trace_end(event));
}

static int take_call(struct kineto_load *load, const struct np_trace_event *event)
{
	struct kineto_call *call = np_vec_add(&load->calls, load->capture.err);
	struct kineto_place place;

	if (!call)
		return NP_E_NOMEM;
	know_gpu(load);
	kineto_place(event, &place);
	*call = (struct kineto_call){ event->ts_ns, np_trace_end(event), place.correlation,
				      place.external };
	return NP_OK;
}

static int take_collection(struct kineto_load *load, const struct np_trace_event *event)
{
	capture_add_collection(load->rank, event->ts_ns, np_trace_end(event));
	return NP_OK;
}

/* An operator may have launched something on an NPU: the arrows name it by its external id. */
static int take_operator(struct kineto_load *load, const struct np_trace_event *event)
{
	struct kineto_call *call;
	int64_t external;

	load->any_operators = true;
	if (np_slice_is(event->name, "record_param_comms"))
		return take_host_record(load, event);
	if (load->is_gpu || !np_trace_arg_integer(event, "External id", &external))
		return NP_OK;
	call = np_vec_add(&load->operators, load->capture.err);
	if (!call)
		return NP_E_NOMEM;
	*call = (struct kineto_call){ event->ts_ns, np_trace_end(event), external, external };
	return NP_OK;
}

/* A range of the host that was asked for as a step. */
static int take_range(struct kineto_load *load, const struct np_trace_event *event)
{
	bool is_range;
	int rc = capture_is_range(&load->capture, event->name.bytes, event->name.length, &is_range);

	if (rc < 0 || !is_range)
		return rc;
	return capture_add_range(&load->capture, event->name.bytes, event->name.length,
				 event->ts_ns, np_trace_end(event));
}

static int take_host(struct kineto_load *load, const struct np_trace_event *event, bool operator)
{
	int rc = take_range(load, event);

	if (rc < 0)
		return rc;
	if (np_slice_begins(event->name, VENDOR_STEP))
		return np_steps_read_marks(&load->capture.choice) ? take_step(load, event) : NP_OK;
	if (np_slice_is(event->name, "Python GC"))
		return take_collection(load, event);
	if (vendor_loads_data(event->name.bytes, event->name.length))
		rc = capture_add_loading(&load->capture, event->ts_ns, np_trace_end(event));
	return rc == NP_OK && operator? take_operator(load, event) : rc;
}

static int take_memory(struct kineto_load *load, const struct np_trace_event *event)
{
	static const struct np_slice component = { MEMORY_PTA, sizeof(MEMORY_PTA) - 1 };
	struct kineto_memory memory;
	struct memory_held *held;

	if (!kineto_memory(event, &memory) || !vendor_time_ok(event->ts_ns, event->ts_ns))
		return NP_OK;
	held = np_vec_add(&load->memory, load->capture.err);
	if (!held)
		return NP_E_NOMEM;
	*held = (struct memory_held){ NP_STR_NONE, event->ts_ns, memory.allocated,
				      memory.reserved };
	return intern(load, component, &held->component);
}

/* Who launched the kernels of an NPU. */
static void follow_arrows(struct kineto_load *load)
{
	kineto_arrows_sort(&load->arrows);
	for (size_t i = 0; i < load->capture.tasks.count && load->arrows.count; i++) {
		struct capture_task *task = &load->capture.tasks.item[i];

		if (task->connection == NP_UNKNOWN)
			task->connection =
				kineto_arrows_find(&load->arrows, task->start, task->stream);
	}
}

/* --- the pass -------------------------------------------------------------------------------- */

static int take_slice(struct kineto_load *load, const struct np_trace_event *event)
{
	enum kineto_kind kind = kineto_kind_of(event->cat);

	/* A slice is from when to when and of a category: without one of these it is none. */
	if (event->ts_ns < 0 || event->dur_ns < 0 || event->cat.length == 0) {
		load->capture.impossible_times++;
		return NP_OK;
	}
	switch (kind) {
	case KINETO_KERNEL:
		return take_kernel(load, event);
	case KINETO_COLLECTIVE:
		return take_hccl(load, event);
	case KINETO_COPY:
		return take_copy(load, event);
	case KINETO_CALL:
		return take_call(load, event);
	case KINETO_SITE:
		load->is_npu = true;
		return NP_OK;
	case KINETO_OPERATOR:
		return take_host(load, event, true);
	case KINETO_ANNOTATION:
		return take_host(load, event, false);
	case KINETO_PYTHON:
		return np_slice_is(event->name, "Python GC") ? take_collection(load, event)
							     : take_range(load, event);
	case KINETO_OTHER:
	default:
		break;
	}
	return NP_OK;
}

static int take_event(struct kineto_load *load, const struct np_trace_event *event)
{
	switch (event->phase) {
	case 'X':
		return take_slice(load, event);
	case 'f':
		/* An arrow from nowhere, or of no kind. */
		load->capture.impossible_times += event->ts_ns < 0 || event->cat.length == 0;
		return load->is_gpu ? NP_OK
				    : kineto_arrows_take(&load->arrows, event, load->capture.err);
	case 'i':
	case 'I':
		return take_memory(load, event);
	case '\0':
		load->capture.impossible_times++;
		return NP_OK;
	default:
		return NP_OK;
	}
}

static void note_tally(struct kineto_load *load, const struct np_trace *trace)
{
	const struct np_trace_tally *tally = np_trace_tally(trace);

	load->truncated = tally->truncated;
	if (tally->truncated)
		np_note_add(&load->rank->notes, NP_NOTE_WARNING, load->rank->id, load->capture.path,
			    "trace",
			    "it ends before its array does: what was read is used, %llu events",
			    (unsigned long long)tally->events);
	if (tally->bad)
		np_note_add(&load->rank->notes, np_note_of_loss(tally->bad, tally->events),
			    load->rank->id, load->capture.path, "trace",
			    "%llu events have members of the wrong type",
			    (unsigned long long)tally->bad);
}

/* A database of Nsight Systems has the same events. */
static int read_nsys(struct kineto_load *load)
{
	NP_CLEANUP(nsys_closep) struct nsys_events *events = NULL;
	const struct np_trace_event *event;
	int rc = nsys_open(load->capture.path, false, &events, load->capture.err);

	if (rc == NP_OK)
		know_gpu(load);
	while (rc == NP_OK) {
		rc = nsys_next(events, &event, load->capture.err);
		if (rc < 0 || !event)
			break;
		rc = take_event(load, event);
	}
	return rc < 0 ? rc : kineto_read_job(load, (struct np_slice){ 0 });
}

int kineto_read(struct kineto_load *load)
{
	NP_CLEANUP(np_trace_closep) struct np_trace *trace = NULL;
	const struct np_trace_event *event;
	int rc;

	if (nsys_is(load->capture.path))
		return read_nsys(load);
	rc = np_trace_open(load->capture.path, &trace, load->capture.err);
	if (rc == NP_OK && np_trace_info(trace)->cuda)
		know_gpu(load);
	while (rc == NP_OK) {
		rc = np_trace_next(trace, &event, load->capture.err);
		if (rc < 0 || !event)
			break;
		rc = take_event(load, event);
	}
	if (rc < 0)
		return rc;
	note_tally(load, trace);
	follow_arrows(load);
	return kineto_read_job(load, np_trace_info(trace)->distributed_info);
}
