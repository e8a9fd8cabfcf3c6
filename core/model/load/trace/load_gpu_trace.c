/* SPDX-License-Identifier: Apache-2.0 */
/* A rank from the trace of a GPU. */
#include "load_trace.h"

#include "core/model/load/capture/capture.h"
#include "core/model/load/capture/memory_held.h"
#include "core/model/vendor/gpu_trace.h"

/*
 * Traces of GPUs, as PyTorch writes them (Kineto), for comparisons with NPUs.
 * Kernels of NCCL are communication operators, called as those of HCCL are, so that
 * collectives of both can be compared. What the allocator of PyTorch holds is
 * compared with what that of an NPU does.
 */
#define NCCL "nccl"

/* A call of the CUDA runtime; steps are known only after all events. */
struct runtime_call {
	np_ns start;
	np_ns end;
	int64_t connection;
};

struct nccl_op {
	np_ns start;
	np_ns end;
	int64_t connection;
	int64_t device;
	uint64_t group;
	np_str name;
	np_str type;
	np_str pg_name;
};

struct gpu {
	struct capture capture;
	struct np_rank *rank;
	NP_VEC(struct runtime_call) calls;
	NP_VEC(struct nccl_op) ops;
	NP_VEC(struct memory_held) memory;
	struct np_idmap *step_ids;
};

/* --- events ---------------------------------------------------------------------------------- */

static int64_t argument(const struct np_trace_event *event, const char *key)
{
	int64_t value;

	return np_trace_arg_integer(event, key, &value) ? value : NP_UNKNOWN;
}

static int intern(struct gpu *gpu, const char *text, size_t length, np_str *ret)
{
	return np_strtab_add(gpu->capture.strings, text, length, ret, gpu->capture.err);
}

static int short_name(struct gpu *gpu, struct np_slice name, np_str *ret)
{
	struct np_slice type = gpu_trace_kernel_type(name);

	return intern(gpu, type.bytes, type.length, ret);
}

/* Operators of NCCL under the names of HCCL. */
static int collective(struct gpu *gpu, struct np_slice name, np_str *ret)
{
	static const char *const words[][2] = {
		{ "allreduce", "hcom_allReduce_" }, { "reducescatter", "hcom_reduceScatter_" },
		{ "allgather", "hcom_allGather_" }, { "broadcast", "hcom_broadcast_" },
		{ "alltoall", "hcom_alltoall_" },   { "sendrecv", "hcom_batchSendRecv_" },
		{ "reduce", "hcom_reduce_" },
	};
	char text[256];
	size_t length = name.length < sizeof(text) - 1 ? name.length : sizeof(text) - 1;

	memcpy(text, name.bytes, length);
	text[length] = '\0';
	for (size_t i = 0; i < NP_COUNT(words); i++) {
		if (strcasestr(text, words[i][0]))
			return intern(gpu, words[i][1], strlen(words[i][1]), ret);
	}
	return intern(gpu, "hcom_other_", strlen("hcom_other_"), ret);
}

static int take_nccl(struct gpu *gpu, const struct np_trace_event *event)
{
	struct nccl_op *op = np_vec_add(&gpu->ops, gpu->capture.err);
	struct np_slice group = { NCCL, strlen(NCCL) };
	struct np_slice description;
	int rc;

	if (!op)
		return NP_E_NOMEM;
	op->start = event->ts_ns;
	op->end = event->ts_ns + event->dur_ns;
	op->connection = argument(event, "correlation");
	op->device = argument(event, "device");
	(void)np_trace_arg_text(event, "Process Group Name", &group);
	op->group = np_group_hash(group.bytes, group.length);
	if (np_trace_arg_text(event, "Process Group Description", &description) &&
	    description.length > 0) {
		rc = intern(gpu, description.bytes, description.length, &op->pg_name);
		if (rc < 0)
			return rc;
	}
	rc = collective(gpu, event->name, &op->type);
	op->name = op->type;
	return rc;
}

static int take_task(struct gpu *gpu, const struct np_trace_event *event, bool computes)
{
	const struct capture_row row = { .start = event->ts_ns,
					 .end = event->ts_ns + event->dur_ns,
					 .device = argument(event, "device"),
					 .connection = argument(event, "correlation"),
					 .stream = argument(event, "stream"),
					 .id = argument(event, "correlation"),
					 .class = computes ? TASK_OTHER : TASK_COPY };
	struct capture_task *task;
	uint32_t index;
	int rc = capture_add_task(&gpu->capture, &row, &index);

	if (rc < 0 || index == NP_IDMAP_NONE || !computes)
		return rc;
	task = &gpu->capture.tasks.item[index];
	task->computes = true;
	return short_name(gpu, event->name, &task->type);
}

static int take_step(struct gpu *gpu, const struct np_trace_event *event)
{
	size_t prefix = strlen(VENDOR_STEP);
	np_str id;
	int rc = intern(gpu, event->name.bytes + prefix, event->name.length - prefix, &id);

	/* The mark of the device repeats that of the host. */
	if (rc < 0 || np_idmap_get(gpu->step_ids, id) != NP_IDMAP_NONE)
		return rc;
	rc = np_idmap_set(gpu->step_ids, id, 1, gpu->capture.err);
	return rc < 0 ? rc
		      : capture_add_step(&gpu->capture, id, event->ts_ns,
					 event->ts_ns + event->dur_ns);
}

/* Annotations of the user, and what else the host shows. */
static int take_range(struct gpu *gpu, const struct np_trace_event *event)
{
	bool is_range;
	int rc = capture_is_range(&gpu->capture, event->name.bytes, event->name.length, &is_range);

	if (rc < 0 || !is_range)
		return rc;
	return capture_add_range(&gpu->capture, event->name.bytes, event->name.length, event->ts_ns,
				 event->ts_ns + event->dur_ns);
}

static int take_memory(struct gpu *gpu, const struct np_trace_event *event)
{
	struct gpu_trace_memory memory;
	struct memory_held *held;

	if (!gpu_trace_memory(event, &memory) || !vendor_time_ok(event->ts_ns, event->ts_ns))
		return NP_OK;
	held = np_vec_add(&gpu->memory, gpu->capture.err);
	if (!held)
		return NP_E_NOMEM;
	*held = (struct memory_held){ NP_STR_NONE, event->ts_ns, memory.allocated,
				      memory.reserved };
	return intern(gpu, MEMORY_PTA, strlen(MEMORY_PTA), &held->component);
}

static int take_call(struct gpu *gpu, const struct np_trace_event *event)
{
	struct runtime_call *call = np_vec_add(&gpu->calls, gpu->capture.err);

	if (!call)
		return NP_E_NOMEM;
	*call = (struct runtime_call){ event->ts_ns, event->ts_ns + event->dur_ns,
				       argument(event, "correlation") };
	return NP_OK;
}

static int take_event(struct gpu *gpu, const struct np_trace_event *event)
{
	if (event->phase == 'i' || event->phase == 'I')
		return take_memory(gpu, event);
	if (event->phase != 'X' || event->ts_ns == NP_UNKNOWN || event->dur_ns == NP_UNKNOWN ||
	    event->dur_ns < 0)
		return NP_OK;
	if (np_slice_is(event->cat, "kernel"))
		return gpu_trace_is_nccl(event->name) ? take_nccl(gpu, event)
						      : take_task(gpu, event, true);
	if (np_slice_is(event->cat, "gpu_memcpy") || np_slice_is(event->cat, "gpu_memset"))
		return take_task(gpu, event, false);
	if (gpu_trace_launches(event))
		return take_call(gpu, event);
	if (np_slice_is(event->cat, "gpu_user_annotation"))
		return NP_OK;
	if (gpu->capture.choice.want == NP_WANT_RANGE)
		return take_range(gpu, event);
	if (gpu_trace_begins(event->name, VENDOR_STEP) && np_steps_read_marks(&gpu->capture.choice))
		return take_step(gpu, event);
	return NP_OK;
}

static int read_events(struct gpu *gpu)
{
	NP_CLEANUP(np_trace_closep) struct np_trace *trace = NULL;
	const struct np_trace_event *event = NULL;
	int rc = np_trace_open(gpu->capture.path, &trace, gpu->capture.err);

	while (rc == NP_OK) {
		rc = np_trace_next(trace, &event, gpu->capture.err);
		if (rc < 0 || !event)
			break;
		rc = take_event(gpu, event);
	}
	if (rc == NP_OK && np_trace_tally(trace)->truncated)
		np_note_add(&gpu->rank->notes, NP_NOTE_WARNING, gpu->rank->id, gpu->capture.path,
			    "trace", "it ends before its array does: what was read is used");
	return rc;
}

/* --- what follows from them ------------------------------------------------------------------ */

static void widen(struct gpu *gpu, int64_t connection, np_ns start, np_ns end)
{
	const struct capture_launch *launch = capture_launch_of(&gpu->capture, connection);

	if (launch && launch->step != NP_NO_STEP)
		capture_widen_step(&gpu->capture, launch->step, start, end);
}

static int make_steps(struct gpu *gpu)
{
	int rc = NP_OK;

	if (gpu->capture.choice.want == NP_WANT_RANGE)
		rc = capture_steps_of_ranges(&gpu->capture);
	if (rc == NP_OK && gpu->rank->steps.count == 0)
		rc = capture_add_step(&gpu->capture, NP_STR_NONE, NP_UNKNOWN, NP_UNKNOWN);
	capture_sort_steps(&gpu->capture);
	for (size_t i = 0; i < gpu->calls.count && rc == NP_OK; i++) {
		const struct runtime_call *call = &gpu->calls.item[i];

		if (call->connection != NP_UNKNOWN)
			rc = capture_launch(&gpu->capture, call->connection, call->start,
					    call->end);
	}
	for (size_t i = 0; i < gpu->capture.tasks.count && rc == NP_OK; i++)
		widen(gpu, gpu->capture.tasks.item[i].connection, gpu->capture.tasks.item[i].start,
		      gpu->capture.tasks.item[i].end);
	for (size_t i = 0; i < gpu->ops.count && rc == NP_OK; i++)
		widen(gpu, gpu->ops.item[i].connection, gpu->ops.item[i].start,
		      gpu->ops.item[i].end);
	return rc < 0 ? rc : capture_close_steps(&gpu->capture);
}

static int add_ops(struct gpu *gpu)
{
	int rc = NP_OK;

	for (size_t i = 0; i < gpu->ops.count && rc == NP_OK; i++) {
		const struct nccl_op *from = &gpu->ops.item[i];
		struct np_comm_op *op;
		uint32_t group;

		if (!vendor_time_ok(from->start, from->end))
			continue;
		rc = np_rank_group(gpu->rank, from->group, &group, gpu->capture.err);
		op = rc < 0 ? NULL
			    : capture_add_op(&gpu->capture, from->start, from->end,
					     from->connection);
		if (!op)
			return NP_E_NOMEM;
		/* Not every operator of a group has its name. */
		if (from->pg_name != NP_STR_NONE)
			gpu->rank->groups.item[group].pg_name = from->pg_name;
		op->name = from->name;
		op->type = from->type;
		op->group = group;
		op->device = capture_op_device(&gpu->capture, from->device, from->connection);
	}
	return rc;
}

static int derive(struct gpu *gpu)
{
	int rc;

	if (gpu->capture.tasks.count == 0 && gpu->ops.count == 0)
		return np_fail(gpu->capture.err, NP_E_NOTFOUND,
			       "'%s' has no kernels: profile the CUDA activity too",
			       gpu->capture.path);
	rc = make_steps(gpu);
	if (rc == NP_OK)
		rc = add_ops(gpu);
	if (rc == NP_OK)
		rc = capture_find_steps(&gpu->capture);
	for (size_t i = 0; i < gpu->memory.count && rc == NP_OK; i++)
		rc = memory_hold(gpu->rank, &gpu->memory.item[i], gpu->capture.err);
	return rc < 0 ? rc : capture_measure(&gpu->capture);
}

int np_load_gpu_trace(struct np_rank *rank, const struct np_source_files *source,
		      struct np_strtab *strings, struct np_err *err)
{
	struct np_err own = NP_ERR_INIT;
	struct gpu gpu = { .rank = rank,
			   .capture = { .rank = rank,
					.strings = strings,
					.path = source->file[NP_FILE_GPU_TRACE],
					.choice = source->steps,
					.err = err ? err : &own } };
	int rc = capture_begin(&gpu.capture);

	gpu.step_ids = np_idmap_new();
	if (rc == NP_OK && !gpu.step_ids)
		rc = np_fail_nomem(gpu.capture.err, "steps");
	if (rc == NP_OK)
		rc = read_events(&gpu);
	if (rc == NP_OK)
		rc = derive(&gpu);
	if (rc == NP_OK) {
		rank->device_count = gpu.capture.devices.count;
		rank->device = rank->device_count ? gpu.capture.devices.item[0] : -1;
		rank->step_source = NP_FROM_TRACE;
		rank->comm_source = rank->ops.count ? NP_FROM_TRACE : NP_FROM_NOTHING;
		rank->exposed_source = rank->comm_source;
		capture_note_oddities(&gpu.capture);
	}
	capture_end(&gpu.capture);
	np_vec_release(&gpu.calls);
	np_vec_release(&gpu.ops);
	np_vec_release(&gpu.memory);
	np_idmap_free(gpu.step_ids);
	return rc;
}
