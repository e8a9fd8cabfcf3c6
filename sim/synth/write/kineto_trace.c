/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A trace as PyTorch's own profiler writes it (Kineto): of an NPU through the back-end for
 * other devices (mspti), or of a GPU. All of the host comes first, then the device.
 *
 * An NPU's kernels know neither their call nor its time: arrows lead to them from the operator
 * that launched them. Its operators of communication have a communicator and nothing else. A
 * GPU's have all arguments; with schema 1.0 the host's record_param_comms alone has them, as
 * older versions write it.
 */
#include "backend.h"
#include "sim/synth/out/out.h"
#include "sim/synth/out/schema.h"

#include <inttypes.h>

/* What times count from: some moment before the simulated job. */
#define BASE_NS (SYN_EPOCH_NS - INT64_C(3456000000000000))

/* Of ids that the back-end makes up. */
#define FIRST_MADE_UP (INT64_C(1) << 30)

struct kineto {
	struct syn_sink base;
	const struct syn_rank_info *info;
	bool gpu;
	struct syn_out out;
	struct syn_out device; /* what belongs behind the host's part */
	bool begun;
	bool device_begun;
	int64_t external; /* of the present operator of the framework */
	int64_t drawn;    /* the operator whose arrow has begun */
	int64_t made_up;
	int64_t runtime_connection; /* of the last call, and when it began */
	np_ns runtime_ns;
};

/* --- parts of events ---------------------------------------------------------------------------
 */

static void begin(struct syn_out *out, bool *begun, const char *phase, const char *category)
{
	syn_put(out, *begun ? ",\n  {\n    \"ph\": \"" : "\n  {\n    \"ph\": \"");
	*begun = true;
	syn_put(out, phase);
	SYN_PUT(out, "\", \"cat\": \"");
	syn_put(out, category);
	SYN_PUT(out, "\", \"name\": \"");
}

static void put_lane(struct syn_out *out, int64_t pid, int64_t tid, np_ns at)
{
	SYN_PUT(out, "\", \"pid\": ");
	syn_put_int(out, pid);
	SYN_PUT(out, ", \"tid\": ");
	syn_put_int(out, tid);
	SYN_PUT(out, ",\n    \"ts\": ");
	syn_put_us(out, at - BASE_NS);
}

static void put_length(struct syn_out *out, np_ns length)
{
	SYN_PUT(out, ", \"dur\": ");
	syn_put_us(out, length);
	SYN_PUT(out, ",\n    \"args\": {\n      ");
}

static void end(struct syn_out *out)
{
	SYN_PUT(out, "\n    }\n  }");
}

static void put_key(struct syn_out *out, const char *key, int64_t value)
{
	SYN_PUT(out, "\"");
	syn_put(out, key);
	SYN_PUT(out, "\": ");
	syn_put_int(out, value);
}

static void put_arrow(struct syn_out *out, bool *begun, const char *phase, int64_t id, int64_t pid,
		      int64_t tid, np_ns at)
{
	begin(out, begun, phase, "ac2g");
	SYN_PUT(out, "ac2g");
	put_lane(out, pid, tid, at);
	SYN_PUT(out, ",\n    ");
	put_key(out, "id", id);
	syn_put(out, phase[0] == 'f' ? ", \"bp\": \"e\"\n  }" : "\n  }");
}

/* --- the host ----------------------------------------------------------------------------------
 */

/* Shapes as the framework has them: "8,1024;1024,512" are [[8, 1024], [1024, 512]]. */
static void put_dims(struct syn_out *out, const char *shapes)
{
	SYN_PUT(out, ", \"Input Dims\": [[");
	for (const char *at = shapes; *at; at++) {
		if (*at == ';')
			SYN_PUT(out, "], [");
		else if (*at == ',')
			SYN_PUT(out, ", ");
		else if (*at != '"')
			syn_put_char(out, *at);
	}
	SYN_PUT(out, "]]");
}

static void put_operator(struct kineto *kineto, const struct syn_api *api)
{
	struct syn_out *out = &kineto->out;

	kineto->external++;
	begin(out, &kineto->begun, "X", strchr(api->name, '#') ? "user_annotation" : "cpu_op");
	syn_put(out, api->name);
	put_lane(out, kineto->info->pid, kineto->info->pid, api->start_ns);
	put_length(out, api->end_ns - api->start_ns);
	put_key(out, "External id", kineto->external);
	if (api->model && !api->model->experts)
		put_dims(out, api->model->input_shapes);
	end(out);
}

/* A call that launches: what it is called matters to nobody. */
static void put_call(struct kineto *kineto, const struct syn_api *api, const char *name)
{
	struct syn_out *out = &kineto->out;

	begin(out, &kineto->begun, "X", "cuda_runtime");
	syn_put(out, name);
	put_lane(out, kineto->info->pid, kineto->info->pid, api->start_ns);
	put_length(out, api->end_ns - api->start_ns);
	put_key(out, "External id", kineto->external);
	SYN_PUT(out, ", \"cbid\": 211, ");
	put_key(out, "correlation", api->connection);
	end(out);
	put_arrow(out, &kineto->begun, "s", api->connection, kineto->info->pid, kineto->info->pid,
		  api->start_ns);
	kineto->runtime_connection = api->connection;
	kineto->runtime_ns = api->start_ns;
}

static int on_api(struct syn_sink *sink, const struct syn_api *api, struct np_err *err)
{
	struct kineto *kineto = (struct kineto *)sink;

	(void)err;
	if (api->level == SYN_API_TORCH)
		put_operator(kineto, api);
	else if (kineto->gpu && api->level == SYN_API_NODE)
		put_call(kineto, api, "cudaLaunchKernel");
	else if (kineto->gpu && strcmp(api->name, "aclrtMemcpyAsync") == 0)
		put_call(kineto, api, "cudaMemcpyAsync");
	return NP_OK;
}

static int on_step(struct syn_sink *sink, const struct syn_step_event *step, struct np_err *err)
{
	struct kineto *kineto = (struct kineto *)sink;
	struct syn_out *out = &kineto->out;

	(void)err;
	if (step->id == NP_UNKNOWN)
		return NP_OK;
	begin(out, &kineto->begun, "X", "user_annotation");
	SYN_PUT(out, "ProfilerStep#");
	syn_put_int(out, step->id);
	put_lane(out, kineto->info->pid, kineto->info->pid, step->start_ns);
	put_length(out, step->end_ns - step->start_ns);
	put_key(out, "External id", ++kineto->external);
	end(out);
	return NP_OK;
}

/* --- the device --------------------------------------------------------------------------------
 */

static void put_npu_kernel(struct kineto *kineto, const struct syn_task *task)
{
	struct syn_out *out = &kineto->device;
	int64_t device = kineto->info->place.device;

	if (kineto->drawn != kineto->external) {
		kineto->drawn = kineto->external;
		begin(out, &kineto->device_begun, "X", "privateuse1_runtime");
		syn_put(out, task->model->name);
		put_lane(out, kineto->info->pid, kineto->info->pid, task->start_ns);
		put_length(out, 0);
		end(out);
		put_arrow(out, &kineto->device_begun, "s", kineto->external, kineto->info->pid,
			  kineto->info->pid, task->start_ns);
	}
	begin(out, &kineto->device_begun, "X", "kernel");
	syn_put(out, task->model->name);
	put_lane(out, device, task->stream, task->start_ns);
	put_length(out, task->end_ns - task->start_ns);
	SYN_PUT(out, "\"type\": \"");
	syn_put(out, syn_kernel_core(kineto->info, task->model));
	SYN_PUT(out, "\", ");
	put_key(out, "streamId", task->stream);
	end(out);
	put_arrow(out, &kineto->device_begun, "f", kineto->external, device, task->stream,
		  task->start_ns);
}

static void begin_gpu_task(struct kineto *kineto, const char *category, const char *name,
			   const char *behind, const struct syn_task *task)
{
	struct syn_out *out = &kineto->device;
	int64_t device = kineto->info->place.device;

	begin(out, &kineto->device_begun, "X", category);
	syn_put(out, name);
	syn_put(out, behind);
	put_lane(out, device, task->stream, task->start_ns);
	put_length(out, task->end_ns - task->start_ns);
	put_key(out, "External id", kineto->external);
	SYN_PUT(out, ", ");
	put_key(out, "device", device);
	SYN_PUT(out, ", \"context\": 1, ");
	put_key(out, "stream", task->stream);
	SYN_PUT(out, ", ");
	put_key(out, "correlation", task->connection);
}

static void end_gpu_task(struct kineto *kineto, const struct syn_task *task)
{
	end(&kineto->device);
	put_arrow(&kineto->device, &kineto->device_begun, "f", task->connection,
		  kineto->info->place.device, task->stream, task->start_ns);
}

static void put_gpu_kernel(struct kineto *kineto, const struct syn_task *task)
{
	char name[160];

	(void)snprintf(name, sizeof(name), "void sim::%s", task->model->type);
	begin_gpu_task(kineto, "kernel", name, "_kernel<4, float>(Params)", task);
	SYN_PUT(&kineto->device, ", \"grid\": [64, 1, 1], \"block\": [256, 1, 1]");
	end_gpu_task(kineto, task);
}

static int on_task(struct syn_sink *sink, const struct syn_task *task, struct np_err *err)
{
	struct kineto *kineto = (struct kineto *)sink;

	(void)err;
	if (task->kind == SYN_TASK_KERNEL && kineto->gpu) {
		put_gpu_kernel(kineto, task);
	} else if (task->kind == SYN_TASK_KERNEL) {
		put_npu_kernel(kineto, task);
	} else if (task->kind == SYN_TASK_MEMCPY && kineto->gpu) {
		begin_gpu_task(kineto, "gpu_memcpy", "Memcpy HtoD", " (Pinned -> Device)", task);
		SYN_PUT(&kineto->device, ", ");
		put_key(&kineto->device, "bytes", task->bytes);
		end_gpu_task(kineto, task);
	}
	return NP_OK;
}

/* --- communication -----------------------------------------------------------------------------
 */

static void put_hccl(struct kineto *kineto, const struct syn_comm_event *comm)
{
	struct syn_out *out = &kineto->device;

	begin(out, &kineto->device_begun, "X", "collective_comm");
	syn_put(out, comm->name);
	put_lane(out, kineto->info->place.device, comm->stream, comm->start_ns);
	put_length(out, comm->end_ns - comm->start_ns);
	put_key(out, "External id", kineto->made_up++);
	SYN_PUT(out, ", \"commName\": \"");
	syn_put(out, comm->group->name);
	SYN_PUT(out, "\", ");
	put_key(out, "streamId", comm->stream);
	end(out);
}

/* What PyTorch and NCCL call an operator. */
static const struct {
	const char *collective;
	const char *kernel;
} names_of_ops[] = {
	[SYN_ALL_REDUCE] = { "allreduce", "AllReduce_Sum_bf16_RING_LL" },
	[SYN_REDUCE_SCATTER] = { "_reduce_scatter_base", "ReduceScatter_Sum_bf16_RING_LL" },
	[SYN_ALL_GATHER] = { "_allgather_base", "AllGather_RING_LL" },
	[SYN_ALL_TO_ALL_V] = { "all_to_allv", "SendRecv" },
	[SYN_SEND] = { "send", "SendRecv" },
	[SYN_RECEIVE] = { "recv", "SendRecv" },
	[SYN_BATCH_SEND_RECV] = { "coalesced", "SendRecv" },
	[SYN_BROADCAST] = { "broadcast", "Broadcast_RING_LL" },
	[SYN_REDUCE_TO_ROOT] = { "reduce", "Reduce_Sum_bf16_RING_LL" },
	[SYN_SCATTER] = { "scatter", "SendRecv" },
	[SYN_ALL_TO_ALL] = { "all_to_all", "SendRecv" },
	[SYN_OTHER_OP] = { "other", "Generic" },
};

/* The other end of a message, by its tasks; NP_UNKNOWN. */
static int64_t peer_of(const struct kineto *kineto, const struct syn_comm_event *comm)
{
	for (size_t i = 0; i < comm->task_count; i++) {
		const struct syn_sub_task *task = &comm->tasks[i];

		if (task->dst >= 0 && comm->group->ranks[task->dst] != kineto->info->place.rank)
			return comm->group->ranks[task->dst];
	}
	return NP_UNKNOWN;
}

static void put_peer(struct kineto *kineto, struct syn_out *out, const struct syn_comm_event *comm)
{
	int64_t peer = peer_of(kineto, comm);
	int64_t own = kineto->info->place.rank;
	bool sends = comm->op == SYN_SEND;

	if ((!sends && comm->op != SYN_RECEIVE) || peer == NP_UNKNOWN)
		return;
	SYN_PUT(out, ", ");
	put_key(out, "Src Rank", sends ? own : peer);
	SYN_PUT(out, ", ");
	put_key(out, "Dst Rank", sends ? peer : own);
}

static void put_arguments(struct kineto *kineto, struct syn_out *out,
			  const struct syn_comm_event *comm)
{
	int64_t sent = comm->count;
	int64_t received = comm->count;

	if (comm->op == SYN_ALL_GATHER)
		received *= comm->group->size;
	if (comm->op == SYN_REDUCE_SCATTER)
		sent *= comm->group->size;
	SYN_PUT(out, ", \"Collective name\": \"");
	syn_put(out, names_of_ops[comm->op].collective);
	SYN_PUT(out, "\", ");
	put_key(out, "In msg nelems", sent);
	SYN_PUT(out, ", ");
	put_key(out, "Out msg nelems", received);
	SYN_PUT(out, ", ");
	put_key(out, "Group size", comm->group->size);
	syn_put(out, comm->data_type == SYN_ENUM_FP32 ? ", \"dtype\": \"Float\""
						      : ", \"dtype\": \"BFloat16\"");
	SYN_PUT(out, ", \"Process Group Name\": \"");
	syn_put_int(out, comm->group - kineto->info->groups->all.item);
	SYN_PUT(out, "\", \"Process Group Description\": \"");
	syn_put(out, comm->group->pg_name);
	SYN_PUT(out, "\", \"Process Group Ranks\": \"[");
	/* Long lists are cut, as PyTorch does. */
	for (int32_t i = 0; i < comm->group->size && i < 30; i++) {
		if (i > 0)
			SYN_PUT(out, ", ");
		syn_put_int(out, comm->group->ranks[i]);
	}
	syn_put(out, comm->group->size > 30 ? ", ...]\"" : "]\"");
	put_peer(kineto, out, comm);
}

/* The operator of the framework that tells the profiler what it is about to do. */
static void put_record(struct kineto *kineto, const struct syn_comm_event *comm)
{
	struct syn_out *out = &kineto->out;

	kineto->external++;
	begin(out, &kineto->begun, "X", "cpu_op");
	SYN_PUT(out, "record_param_comms");
	put_lane(out, kineto->info->pid, kineto->info->pid, kineto->runtime_ns - 100);
	put_length(out, 100);
	put_key(out, "External id", kineto->external);
	put_arguments(kineto, out, comm);
	end(out);
}

static void put_nccl(struct kineto *kineto, const struct syn_comm_event *comm)
{
	const struct syn_task task = { .start_ns = comm->start_ns,
				       .end_ns = comm->end_ns,
				       .stream = comm->stream,
				       .connection = comm->connection };

	put_record(kineto, comm);
	begin_gpu_task(kineto, "kernel", "ncclDevKernel_", names_of_ops[comm->op].kernel, &task);
	SYN_PUT(&kineto->device, ", \"grid\": [24, 1, 1], \"block\": [544, 1, 1]");
	if (kineto->info->config->schema)
		put_arguments(kineto, &kineto->device, comm);
	end_gpu_task(kineto, &task);
}

static int on_comm(struct syn_sink *sink, const struct syn_comm_event *comm, struct np_err *err)
{
	struct kineto *kineto = (struct kineto *)sink;

	(void)err;
	if (kineto->gpu)
		put_nccl(kineto, comm);
	else
		put_hccl(kineto, comm);
	return NP_OK;
}

/* --- the file ----------------------------------------------------------------------------------
 */

static void put_job(struct kineto *kineto)
{
	const struct syn_groups *groups = kineto->info->groups;
	struct syn_out *out = &kineto->out;
	bool first = true;

	syn_put(out, kineto->gpu ? "\n  \"distributedInfo\": {\"backend\": \"nccl\", "
				 : "\n  \"distributedInfo\": {\"backend\": \"hccl\", ");
	put_key(out, "rank", kineto->info->place.rank);
	SYN_PUT(out, ", ");
	put_key(out, "world_size", kineto->info->config->ranks);
	SYN_PUT(out, ", \"pg_config\": [");
	for (int role = 0; role < SYN_ROLES; role++) {
		int32_t index = syn_group_of(groups, kineto->info->place.rank, (enum syn_role)role);
		const struct syn_group *group;

		if (index < 0)
			continue;
		group = &groups->all.item[index];
		syn_put(out, first ? "{\"pg_name\": \"" : ", {\"pg_name\": \"");
		first = false;
		syn_put_int(out, index);
		SYN_PUT(out, "\", \"pg_desc\": \"");
		syn_put(out, group->pg_name);
		SYN_PUT(out, "\", ");
		put_key(out, "pg_size", group->size);
		SYN_PUT(out, ", \"ranks\": [");
		for (int32_t i = 0; i < group->size; i++) {
			if (i > 0)
				SYN_PUT(out, ", ");
			syn_put_int(out, group->ranks[i]);
		}
		SYN_PUT(out, "]}");
	}
	SYN_PUT(out, "]},");
}

static void put_head(struct kineto *kineto)
{
	struct syn_out *out = &kineto->out;

	SYN_PUT(out, "{\n  \"schemaVersion\": 1,\n  \"deviceProperties\": [");
	if (kineto->gpu) {
		SYN_PUT(out, "{\"id\": ");
		syn_put_int(out, kineto->info->place.device);
		SYN_PUT(out, ", \"name\": \"simulated GPU\"}");
	}
	SYN_PUT(out, "],");
	if (kineto->gpu)
		SYN_PUT(out, "\n  \"cupti_version\": 22,\n  \"cuda_runtime_version\": 12040,"
			     "\n  \"cuda_driver_version\": 12050,");
	if (syn_knows_rank(kineto->info->config))
		put_job(kineto);
	SYN_PUT(out, "\n  \"displayTimeUnit\": \"ms\",\n  \"baseTimeNanoseconds\": ");
	syn_put_int(out, BASE_NS);
	SYN_PUT(out, ",\n  \"traceEvents\": [");
}

static int free_kineto(struct kineto *kineto, int rc, struct np_err *err)
{
	rc = syn_out_close(&kineto->device, rc, err);
	rc = syn_out_close(&kineto->out, rc, err);
	free(kineto);
	return rc;
}

static int open_kineto(const struct syn_rank_info *info, struct syn_sink **ret, struct np_err *err)
{
	NP_CLEANUP(np_buf_release) struct np_buf path = NP_BUF_INIT;
	struct kineto *kineto = calloc(1, sizeof(*kineto));
	int rc;

	if (!kineto)
		return np_fail_nomem(err, "a trace");
	kineto->base = (struct syn_sink){
		.api = on_api, .task = on_task, .comm = on_comm, .step = on_step
	};
	kineto->info = info;
	kineto->gpu = info->form->gpu;
	kineto->made_up = FIRST_MADE_UP;
	kineto->out = SYN_OUT_INIT;
	kineto->device = SYN_OUT_INIT;
	np_buf_printf(&path, "%s/", info->output);
	syn_rank_dir(info, &path);
	rc = np_buf_check(&path, err);
	if (rc == NP_OK)
		rc = syn_out_open(&kineto->out, path.text, info->config->gzip, err);
	if (rc == NP_OK)
		rc = syn_out_spool(&kineto->device, info->output, err);
	if (rc < 0)
		return free_kineto(kineto, rc, err);
	put_head(kineto);
	*ret = &kineto->base;
	return NP_OK;
}

static int close_kineto(struct syn_sink *sink, int rc, struct np_err *err)
{
	struct kineto *kineto = (struct kineto *)sink;

	if (rc == NP_OK && kineto->device_begun) {
		if (kineto->begun)
			SYN_PUT(&kineto->out, ",");
		rc = syn_out_move(&kineto->out, &kineto->device, err);
	}
	if (rc == NP_OK && !kineto->info->config->unclosed_trace)
		SYN_PUT(&kineto->out, "\n  ],\n  \"traceName\": \"simulated\"\n}\n");
	return free_kineto(kineto, rc, err);
}

static bool is_wanted(const struct syn_rank_info *info)
{
	return info->form->maker == SYN_KINETO;
}

const struct syn_backend syn_kineto = {
	.name = "kineto",
	.is_wanted = is_wanted,
	.open = open_kineto,
	.close = close_kineto,
};
