/* SPDX-License-Identifier: Apache-2.0 */
/* Writes trace_view.json: lanes, and events in order of time (trace.h). */
#include "trace.h"

#include <inttypes.h>

int64_t syn_trace_pid(const struct syn_trace *trace, int lane)
{
	return trace->info->pid << 10 | (int64_t)lane << 5 | trace->info->place.device;
}

int64_t syn_trace_queue_thread(const struct syn_trace *trace)
{
	return trace->info->pid + 7;
}

static void put_name(struct syn_trace *trace, const char *kind, int lane, int64_t thread,
		     const char *args)
{
	struct syn_out *out = &trace->out;

	syn_trace_next(out, &trace->begun);
	SYN_PUT(out, "{\"name\": \"");
	syn_put(out, kind);
	SYN_PUT(out, "\", \"pid\": ");
	syn_put_int(out, syn_trace_pid(trace, lane));
	SYN_PUT(out, ", \"tid\": ");
	syn_put_int(out, thread);
	SYN_PUT(out, ", \"args\": {");
	syn_put(out, args);
	SYN_PUT(out, "}, \"ph\": \"M\"}");
}

static void put_thread_name(struct syn_trace *trace, int lane, int64_t thread, const char *name)
{
	char args[256]; /* the longest name is that of put_group() */

	(void)snprintf(args, sizeof(args), "\"name\": \"%s\"", name);
	put_name(trace, "thread_name", lane, thread, args);
}

static void put_thread_order(struct syn_trace *trace, int lane, int64_t thread)
{
	char args[64];

	(void)snprintf(args, sizeof(args), "\"sort_index\": %" PRId64, thread);
	put_name(trace, "thread_sort_index", lane, thread, args);
}

static void put_process_name(struct syn_trace *trace, int lane, const char *name)
{
	char args[64];

	(void)snprintf(args, sizeof(args), "\"name\": \"%s\"", name);
	put_name(trace, "process_name", lane, 0, args);
}

/* Newer tools say which device it is. */
static void put_process_end(struct syn_trace *trace, int lane)
{
	char args[64];

	if (lane == SYN_LANE_CANN)
		(void)snprintf(args, sizeof(args), "\"labels\": \"CPU\"");
	else if (trace->config->schema)
		(void)snprintf(args, sizeof(args), "\"labels\": \"NPU %d\"",
			       trace->info->place.device);
	else
		(void)snprintf(args, sizeof(args), "\"labels\": \"NPU\"");
	put_name(trace, "process_labels", lane, 0, args);
	(void)snprintf(args, sizeof(args), "\"sort_index\": %d", lane);
	put_name(trace, "process_sort_index", lane, 0, args);
}

static void put_hardware(struct syn_trace *trace)
{
	put_process_name(trace, SYN_LANE_HARDWARE, "Ascend Hardware");
	for (int stream = 0; stream < (int)NP_COUNT(trace->streams); stream++) {
		char name[32];

		if (!trace->streams[stream])
			continue;
		(void)snprintf(name, sizeof(name), "Stream %d", stream);
		put_thread_name(trace, SYN_LANE_HARDWARE, stream, name);
		put_thread_order(trace, SYN_LANE_HARDWARE, stream);
	}
	put_process_end(trace, SYN_LANE_HARDWARE);
}

/* Numbered before, by the communicator's name since late 2025. */
static void put_group(struct syn_trace *trace, size_t index)
{
	const struct syn_trace_group *group = &trace->groups.item[index];
	char name[192];

	if (trace->config->schema)
		(void)snprintf(name, sizeof(name), "Group %s Communication", group->group->name);
	else
		(void)snprintf(name, sizeof(name), "Group %zu Communication", index);
	put_thread_name(trace, SYN_LANE_HCCL, group->thread, name);
	put_thread_order(trace, SYN_LANE_HCCL, group->thread);
	for (int plane = 0; plane < group->planes; plane++) {
		(void)snprintf(name, sizeof(name), "Plane %d", plane);
		put_thread_name(trace, SYN_LANE_HCCL, group->thread + 1 + plane, name);
	}
	for (int plane = 0; plane < group->planes; plane++)
		put_thread_order(trace, SYN_LANE_HCCL, group->thread + 1 + plane);
}

static void put_hccl(struct syn_trace *trace)
{
	if (trace->groups.count == 0)
		return;
	put_process_name(trace, SYN_LANE_HCCL, trace->config->schema ? "Communication" : "HCCL");
	for (size_t i = 0; i < trace->groups.count; i++)
		put_group(trace, i);
	put_process_end(trace, SYN_LANE_HCCL);
}

/* At level 0 the calls are taken out again, and with them the lane's name but not the rest. */
static void put_cann(struct syn_trace *trace)
{
	int64_t thread = syn_trace_queue_thread(trace);
	char name[48];

	if (trace->config->level > 0)
		put_process_name(trace, SYN_LANE_CANN, "CANN");
	(void)snprintf(name, sizeof(name), "Thread %" PRId64, thread);
	put_thread_name(trace, SYN_LANE_CANN, thread, name);
	put_thread_order(trace, SYN_LANE_CANN, thread);
	put_process_end(trace, SYN_LANE_CANN);
}

static void put_overlap(struct syn_trace *trace)
{
	put_process_name(trace, SYN_LANE_OVERLAP, "Overlap Analysis");
	put_thread_name(trace, SYN_LANE_OVERLAP, 0, "Computing");
	put_thread_name(trace, SYN_LANE_OVERLAP, 1, "Communication");
	put_thread_name(trace, SYN_LANE_OVERLAP, 2, "Communication(Not Overlapped)");
	put_thread_name(trace, SYN_LANE_OVERLAP, 3, "Free");
	put_process_end(trace, SYN_LANE_OVERLAP);
}

/* Names of lanes and threads, as every file of msprof begins. */
static void syn_trace_lanes(struct syn_trace *trace)
{
	put_hardware(trace);
	put_hccl(trace);
	put_cann(trace);
	put_overlap(trace);
	put_process_name(trace, SYN_LANE_FREQUENCY, "AI Core Freq");
	put_process_end(trace, SYN_LANE_FREQUENCY);
}

#define NOMINAL_MHZ 1800

static int compare_events(const void *a, const void *b)
{
	const struct syn_trace_event *x = a;
	const struct syn_trace_event *y = b;

	if (x->start_ns != y->start_ns)
		return x->start_ns > y->start_ns ? 1 : -1;
	if (x->kind != y->kind)
		return x->kind > y->kind ? 1 : -1;
	return (x->number > y->number) - (x->number < y->number);
}

static int add_event(struct syn_trace *trace, struct syn_trace_event *event, np_ns end,
		     struct np_err *err)
{
	event->length_ns = end - event->start_ns;
	event->number = trace->numbers++;
	if (event->start_ns < trace->first_ns)
		trace->first_ns = event->start_ns;
	if (end > trace->last_ns)
		trace->last_ns = end;
	return syn_sorter_add(&trace->events, event, err);
}

/* Names of calls and operators do not outlive the event that brings them. */
static int keep_name(struct syn_trace *trace, const char *name, const char **ret,
		     struct np_err *err)
{
	np_str id;
	int rc = np_strtab_add(trace->names, name, strlen(name), &id, err);

	if (rc < 0)
		return rc;
	*ret = np_strtab_text(trace->names, id);
	return NP_OK;
}

/* A launch begins with the operator of the framework; its call of CANN comes next. */
static void on_torch(struct syn_trace *trace, const struct syn_api *api)
{
	syn_trace_torch(trace, api);
	trace->is_queued = api->connection >= 0;
	trace->torch_ns = api->start_ns;
	trace->item = api->model ? api->model->name : NULL;
}

/* What a call is about: of a launch the kernel, or the operator of HCCL, that is launched. */
static const char *item_of(struct syn_trace *trace, const struct syn_api *api, const char *name)
{
	switch (api->level) {
	case SYN_API_ACL:
		if (strncmp(name, "hcom_", 5) != 0)
			return "0";
		trace->item = name;
		return name;
	case SYN_API_NODE:
		return trace->item ? trace->item : "0";
	case SYN_API_COMM:
		return name;
	case SYN_API_TORCH:
	case SYN_API_RUNTIME:
		break;
	}
	return "0";
}

static int on_api(struct syn_sink *sink, const struct syn_api *api, struct np_err *err)
{
	struct syn_trace *trace = (struct syn_trace *)sink;
	struct syn_trace_event event = {
		.kind = SYN_TRACE_CALL,
		.detail = (uint8_t)api->level,
		.start_ns = api->start_ns,
		.connection = api->connection,
	};
	int rc;

	if (api->level == SYN_API_TORCH) {
		on_torch(trace, api);
		return NP_OK;
	}
	trace->call_ns[api->level] = api->start_ns;
	if (api->level == SYN_API_COMM)
		trace->comm_connection = api->connection;
	if (api->level == SYN_API_ACL && trace->is_queued) {
		syn_trace_dequeue(trace, api);
		trace->is_queued = false;
	}
	if (api->level == SYN_API_RUNTIME && trace->config->level < 2)
		return NP_OK;
	rc = keep_name(trace, api->name, &event.name, err);
	if (rc < 0)
		return rc;
	event.item = item_of(trace, api, event.name);
	return add_event(trace, &event, api->end_ns, err);
}

/* The arrow to a task that a call of this level launched. */
static int add_arrow(struct syn_trace *trace, const struct syn_trace_event *to,
		     enum syn_api_level level, struct np_err *err)
{
	struct syn_trace_event event = *to;

	event.kind = SYN_TRACE_ARROW;
	/* Without calls of the runtime, which are not always recorded, the node stands for them. */
	if (trace->call_ns[level] < trace->call_ns[SYN_API_NODE] && level == SYN_API_RUNTIME)
		level = SYN_API_NODE;
	event.start_ns = trace->call_ns[level];
	return add_event(trace, &event, event.start_ns, err);
}

static int on_task(struct syn_sink *sink, const struct syn_task *task, struct np_err *err)
{
	struct syn_trace *trace = (struct syn_trace *)sink;
	bool kernel = task->kind == SYN_TASK_KERNEL;
	struct syn_trace_event event = {
		.kind = SYN_TRACE_TASK,
		.detail = (uint8_t)task->kind,
		.start_ns = task->start_ns,
		.place = task->stream,
		.connection = task->connection,
		.id = task->id,
		.host_ns = trace->torch_ns,
	};
	int rc = syn_overlap_task(&trace->overlap, task, err);

	if (kernel) {
		event.name = task->model->name;
		event.core = (uint8_t)task->model->core;
	}
	trace->streams[task->stream] = true;
	if (rc == NP_OK && kernel)
		rc = add_arrow(trace, &event, SYN_API_RUNTIME, err);
	else if (rc == NP_OK && task->kind == SYN_TASK_MEMCPY)
		rc = add_arrow(trace, &event, SYN_API_ACL, err);
	return rc == NP_OK ? add_event(trace, &event, task->end_ns, err) : rc;
}

static int group_index(struct syn_trace *trace, const struct syn_group *group, int32_t *ret,
		       struct np_err *err)
{
	struct syn_trace_group *slot;

	for (size_t i = 0; i < trace->groups.count; i++) {
		if (trace->groups.item[i].group == group) {
			*ret = (int32_t)i;
			return NP_OK;
		}
	}
	slot = np_vec_add(&trace->groups, err);
	if (!slot)
		return NP_E_NOMEM;
	*slot = (struct syn_trace_group){ .group = group, .planes = 1 };
	*ret = (int32_t)trace->groups.count - 1;
	return NP_OK;
}

/* A sub-task is shown on its stream and, from level 1 on, on its plane. */
static int add_sub_task(struct syn_trace *trace, const struct syn_comm_event *comm, size_t index,
			int32_t group, struct np_err *err)
{
	const struct syn_sub_task *sub_task = &comm->tasks[index];
	struct syn_trace_event event = {
		.kind = SYN_TRACE_SUB_TASK_ON_DEVICE,
		.detail = sub_task->kind,
		.start_ns = sub_task->start_ns,
		.place = comm->streams ? comm->streams[index] : comm->stream + sub_task->plane,
		.connection = comm->connection,
		.id = comm->first_id + (int64_t)index,
	};
	int rc = add_event(trace, &event, sub_task->end_ns, err);

	trace->streams[event.place] = true;
	if (rc < 0 || trace->config->level == 0)
		return rc;
	event.kind = SYN_TRACE_SUB_TASK;
	event.stream = event.place;
	event.place = group;
	event.plane = sub_task->plane;
	event.data_type = comm->data_type & 0x7fU;
	event.on_chip = sub_task->on_chip;
	event.src = sub_task->src;
	event.dst = sub_task->dst;
	event.size = sub_task->size;
	if (sub_task->plane >= trace->groups.item[group].planes)
		trace->groups.item[group].planes = sub_task->plane + 1;
	return add_event(trace, &event, sub_task->end_ns, err);
}

static int on_comm(struct syn_sink *sink, const struct syn_comm_event *comm, struct np_err *err)
{
	struct syn_trace *trace = (struct syn_trace *)sink;
	struct syn_trace_event event = {
		.kind = SYN_TRACE_OP,
		.detail = SYN_TASK_EVENT_RECORD,
		.start_ns = comm->start_ns,
		.data_type = comm->data_type & 0x7fU,
		.connection = comm->connection,
		.count = comm->count,
		.host_ns = trace->torch_ns,
	};
	int rc = syn_overlap_comm(&trace->overlap, comm, err);

	if (rc == NP_OK)
		rc = keep_name(trace, comm->name, &event.name, err);
	if (rc == NP_OK)
		rc = group_index(trace, comm->group, &event.place, err);
	if (rc == NP_OK)
		rc = add_arrow(trace, &event,
			       trace->comm_connection == comm->connection ? SYN_API_COMM
									  : SYN_API_NODE,
			       err);
	if (rc == NP_OK)
		rc = add_event(trace, &event, comm->end_ns, err);
	for (size_t i = 0; i < comm->task_count && rc == NP_OK; i++)
		rc = add_sub_task(trace, comm, i, event.place, err);
	return rc;
}

static int on_step(struct syn_sink *sink, const struct syn_step_event *step, struct np_err *err)
{
	(void)err;
	syn_trace_step((struct syn_trace *)sink, step);
	return NP_OK;
}

/* --- completing the file ------------------------------------------------------------------------
 */

static int add_overlap(struct syn_trace *trace, struct np_err *err)
{
	struct syn_intervals part = { 0 };
	int rc = NP_OK;

	for (int lane = 0; lane < SYN_LANES && rc == NP_OK; lane++) {
		rc = syn_overlap_lane(&trace->overlap, trace->config, (enum syn_lane)lane, &part,
				      err);
		for (size_t i = 0; i < part.all.count && rc == NP_OK; i++) {
			struct syn_trace_event event = { .kind = SYN_TRACE_OVERLAP,
							 .detail = (uint8_t)lane,
							 .start_ns = part.all.item[i].start_ns };

			rc = add_event(trace, &event, part.all.item[i].end_ns, err);
		}
	}
	syn_intervals_release(&part);
	syn_overlap_release(&trace->overlap);
	return rc;
}

/* The same samples as in the table AICORE_FREQ. */
static int add_frequency(struct syn_trace *trace, struct np_err *err)
{
	const struct syn_recorded *recorded = trace->info->recorded;
	np_ns start = trace->first_ns - 1000000;
	np_ns end = trace->last_ns + 1000000;
	const struct syn_frequency usual[] = { { start, NOMINAL_MHZ, 0 },
					       { start + (end - start) / 2, NOMINAL_MHZ, 0 },
					       { end, NOMINAL_MHZ, 0 } };
	const struct syn_frequency *all = recorded ? recorded->frequencies : usual;
	size_t count = recorded ? recorded->frequency_count : NP_COUNT(usual);
	int rc = NP_OK;

	for (size_t i = 0; i < count && rc == NP_OK && start < end; i++) {
		struct syn_trace_event event = { .kind = SYN_TRACE_COUNTER,
						 .start_ns = all[i].at_ns,
						 .size = all[i].mhz };

		rc = add_event(trace, &event, all[i].at_ns, err);
	}
	return rc;
}

/* A communicator's thread comes first, then those of its planes. */
static void number_threads(struct syn_trace *trace)
{
	int64_t thread = 0;

	for (size_t i = 0; i < trace->groups.count; i++) {
		trace->groups.item[i].thread = thread;
		thread += 1 + trace->groups.item[i].planes;
	}
}

static int open_slice(struct syn_trace *trace, size_t slice, struct np_err *err)
{
	NP_CLEANUP(np_buf_release) struct np_buf path = NP_BUF_INIT;
	char stem[48] = "msprof";
	int rc;

	if (trace->config->slices > 0)
		(void)snprintf(stem, sizeof(stem), "msprof_slice_%zu", slice);
	syn_text_path(trace->info, stem, ".json", &path);
	rc = np_buf_check(&path, err);
	if (rc == NP_OK)
		rc = syn_out_open(&trace->out, path.text, false, err);
	if (rc < 0)
		return rc;
	SYN_PUT(&trace->out, "[");
	trace->begun = false;
	syn_trace_lanes(trace);
	return NP_OK;
}

static int close_file(struct syn_trace *trace, int rc, struct np_err *err)
{
	if (rc == NP_OK && !trace->config->unclosed_trace)
		SYN_PUT(&trace->out, "]");
	return syn_out_close(&trace->out, rc, err);
}

static int write_events(struct syn_trace *trace, struct np_err *err)
{
	size_t slices =
		trace->framework || !trace->config->slices ? 1 : (size_t)trace->config->slices;
	const void *event;
	size_t slice = 0;
	size_t done = 0;
	int rc = syn_sorter_begin(&trace->events, err);

	if (rc == NP_OK)
		rc = syn_sorter_next(&trace->events, &event, err);
	while (rc == NP_OK && event) {
		size_t wanted = done++ * slices / trace->events.total;

		while (slice < wanted && rc == NP_OK) {
			rc = close_file(trace, rc, err);
			if (rc == NP_OK)
				rc = open_slice(trace, ++slice, err);
		}
		if (rc < 0)
			break;
		syn_trace_event(trace, event);
		rc = syn_sorter_next(&trace->events, &event, err);
	}
	return rc;
}

static int finish(struct syn_trace *trace, struct np_err *err)
{
	int rc = add_overlap(trace, err);

	if (rc == NP_OK)
		rc = add_frequency(trace, err);
	number_threads(trace);
	if (rc == NP_OK && trace->framework) {
		rc = syn_trace_end_framework(trace, err);
		/* msprof's half is appended with a bare comma. */
		SYN_PUT(&trace->out, ",");
		trace->begun = false;
		syn_trace_lanes(trace);
	} else if (rc == NP_OK) {
		rc = open_slice(trace, 0, err);
	}
	if (rc == NP_OK)
		rc = write_events(trace, err);
	if (rc == NP_OK && trace->arrows_begun) {
		SYN_PUT(&trace->out, ", ");
		rc = syn_out_move(&trace->out, &trace->arrows, err);
	}
	return rc;
}

static int free_trace(struct syn_trace *trace, int rc, struct np_err *err)
{
	rc = syn_out_close(&trace->enqueues, rc, err);
	rc = syn_out_close(&trace->dequeues, rc, err);
	rc = syn_out_close(&trace->arrows, rc, err);
	rc = close_file(trace, rc, err);
	syn_sorter_release(&trace->events);
	syn_overlap_release(&trace->overlap);
	np_vec_release(&trace->groups);
	np_strtab_free(trace->names);
	free(trace);
	return rc;
}

/* The framework's events are written as they come; msprof's file is opened at the end. */
static int open_framework(struct syn_trace *trace, struct np_err *err)
{
	NP_CLEANUP(np_buf_release) struct np_buf path = NP_BUF_INIT;
	bool gzip = trace->config->gzip;
	int rc;

	syn_text_path(trace->info, "trace_view", gzip ? ".json.gz" : ".json", &path);
	rc = np_buf_check(&path, err);
	if (rc == NP_OK)
		rc = syn_out_open(&trace->out, path.text, gzip, err);
	if (rc == NP_OK)
		rc = syn_out_spool(&trace->enqueues, trace->info->output, err);
	if (rc == NP_OK)
		rc = syn_out_spool(&trace->dequeues, trace->info->output, err);
	if (rc == NP_OK)
		rc = syn_out_spool(&trace->arrows, trace->info->output, err);
	if (rc == NP_OK)
		SYN_PUT(&trace->out, "[");
	return rc;
}

static int open_trace(const struct syn_rank_info *info, struct syn_sink **ret, struct np_err *err)
{
	struct syn_trace *trace = calloc(1, sizeof(*trace));
	int rc = NP_OK;

	if (!trace)
		return np_fail_nomem(err, "a trace");
	trace->base = (struct syn_sink){
		.api = on_api, .task = on_task, .comm = on_comm, .step = on_step
	};
	trace->info = info;
	trace->config = info->config;
	trace->framework = syn_has_framework(info->form);
	trace->out = SYN_OUT_INIT;
	trace->enqueues = SYN_OUT_INIT;
	trace->dequeues = SYN_OUT_INIT;
	trace->arrows = SYN_OUT_INIT;
	trace->first_ns = INT64_MAX;
	trace->last_ns = INT64_MIN;
	trace->correlation = 8000;
	trace->names = np_strtab_new();
	syn_overlap_init(&trace->overlap);
	syn_sorter_init(&trace->events, sizeof(struct syn_trace_event), compare_events,
			info->output);
	if (!trace->names)
		rc = np_fail_nomem(err, "a trace");
	if (rc == NP_OK && trace->framework)
		rc = open_framework(trace, err);
	if (rc < 0)
		return free_trace(trace, rc, err);
	*ret = &trace->base;
	return NP_OK;
}

static int close_trace(struct syn_sink *sink, int rc, struct np_err *err)
{
	struct syn_trace *trace = (struct syn_trace *)sink;

	if (rc == NP_OK)
		rc = finish(trace, err);
	return free_trace(trace, rc, err);
}

static bool is_wanted(const struct syn_rank_info *info)
{
	return info->form->text;
}

const struct syn_backend syn_trace = {
	.name = "trace",
	.is_wanted = is_wanted,
	.open = open_trace,
	.close = close_trace,
};
