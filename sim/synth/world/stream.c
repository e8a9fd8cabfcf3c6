/* SPDX-License-Identifier: Apache-2.0 */
/* Walks over what a rank did, in order of time, for all that write files (stream.h). */
#include "stream.h"

#include "sim/synth/out/schema.h"
#include "sim/synth/plan/rng.h"

#include <inttypes.h>
#include <math.h>

/* A rank while it is shown to sinks. */
struct stream_walk {
	const struct syn_timeline *timeline;
	struct syn_timeline_view view;
	const struct syn_config *config;
	struct syn_sink *const *sinks;
	size_t sink_count;
	struct syn_rank rank;
	struct syn_comm comm;
	struct syn_sub_tasks sub_tasks;
	struct syn_clock clock;
	np_ns cut_ns; /* true time after which nothing was recorded */
	int64_t connection;
	int64_t task_id;
	int64_t op_id;
	int64_t *ordinals; /* per group */
	int64_t ordinal_shift;
	int64_t drops_left; /* operators still to be dropped */
	int64_t ops_left;   /* operators still to come */
	int64_t ops_seen;
	np_ns tail_ns[SYN_STREAMS];
	bool step_has_tasks;
	np_ns first_torch_ns;
	np_ns last_host_ns;
	struct syn_memory memory;
	struct np_err *err;
};

/* What a call of a sink's function comes down to, for all sinks that have it. */
#define TELL(walk, function, event) \
	__extension__({ \
		int told_ = NP_OK; \
		for (size_t i_ = 0; i_ < (walk)->sink_count && told_ == NP_OK; i_++) { \
			struct syn_sink *sink_ = (walk)->sinks[i_]; \
			if (sink_->function) \
				told_ = sink_->function(sink_, (event), (walk)->err); \
		} \
		told_; \
	})

static inline np_ns local_time_of(const struct stream_walk *walk, np_ns true_ns)
{
	return syn_clock_read(&walk->clock, true_ns);
}

static inline bool is_cut(const struct stream_walk *walk, np_ns end_ns)
{
	return end_ns > walk->cut_ns;
}

static inline int64_t step_id(const struct stream_walk *walk)
{
	return walk->config->first_step + walk->rank.program.step;
}

#define COMPUTE_STREAM    2
#define STREAMS_PER_GROUP 10

/* Calls are shown with their place inside the CANN call that the program knows, in per mille. */
struct call {
	enum syn_api_level level;
	const char *name;
	int from;
	int before_end;
};

static int tell_call(struct stream_walk *walk, const struct syn_item *item, const struct call *call,
		     int64_t connection)
{
	np_ns length = item->launched_ns - item->launch_ns;
	np_ns end = item->launched_ns - call->before_end;
	struct syn_api api = {
		.level = call->level,
		.name = call->name,
		.start_ns = local_time_of(walk, item->launch_ns + length * call->from / 1000),
		.end_ns = local_time_of(walk, end),
		.connection = connection,
	};

	if (is_cut(walk, end))
		return NP_OK;
	return TELL(walk, api, &api);
}

static int tell_torch(struct stream_walk *walk, const struct syn_item *item, const char *name,
		      int64_t connection)
{
	struct syn_api api = {
		.level = SYN_API_TORCH,
		.name = name,
		.start_ns = local_time_of(walk, item->host_ns),
		.end_ns = local_time_of(walk, item->torch_ns),
		.connection = connection,
	};

	if (item->kind == SYN_KERNEL)
		api.model = &syn_kernel_models[item->model];
	if (is_cut(walk, item->torch_ns))
		return NP_OK;
	return TELL(walk, api, &api);
}

static int32_t stream_number(int stream)
{
	return stream == SYN_STREAM_COMPUTE ? COMPUTE_STREAM : stream * STREAMS_PER_GROUP;
}

static int tell_task(struct stream_walk *walk, struct syn_task *task, np_ns start, np_ns end)
{
	task->start_ns = local_time_of(walk, start);
	task->end_ns = local_time_of(walk, end);
	task->id = walk->task_id++;
	if (is_cut(walk, end))
		return NP_OK;
	return TELL(walk, task, task);
}

/* An event between streams: a task on either side, each with its own call. */
static int tell_event(struct stream_walk *walk, const struct syn_item *by, int stream,
		      enum syn_task_kind kind, np_ns start, np_ns end)
{
	bool record = kind == SYN_TASK_EVENT_RECORD;
	const struct call call = { SYN_API_ACL,
				   record ? "aclrtRecordEvent" : "aclrtStreamWaitEvent",
				   record ? 10 : 30,
				   (int)((by->launched_ns - by->launch_ns) / 1000 * 960) };
	struct syn_task task = { .kind = kind,
				 .stream = stream_number(stream),
				 .connection = walk->connection };
	int rc = tell_call(walk, by, &call, walk->connection++);

	if (rc < 0)
		return rc;
	return tell_task(walk, &task, start, end);
}

static int tell_waits(struct stream_walk *walk, struct syn_item *item)
{
	struct syn_program *program = &walk->rank.program;
	np_ns start = walk->tail_ns[item->stream] + 300;
	np_ns end = 0;

	for (uint32_t i = 0; i < item->after_count; i++) {
		struct syn_item *other =
			&program->items.item[program->after.item[item->after_first + i]];
		int rc = NP_OK;

		if (other->stream == item->stream)
			continue;
		if (!other->recorded)
			rc = tell_event(walk, item, other->stream, SYN_TASK_EVENT_RECORD,
					other->end_ns + 200, other->end_ns + 220);
		if (rc < 0)
			return rc;
		other->recorded = true;
		if (other->end_ns + 500 > end)
			end = other->end_ns + 500;
	}
	if (end == 0)
		return NP_OK;
	if (start < item->launch_ns)
		start = item->launch_ns;
	return tell_event(walk, item, item->stream, SYN_TASK_EVENT_WAIT, start,
			  end > start + 20 ? end : start + 20);
}

static int tell_kernel(struct stream_walk *walk, const struct syn_item *item)
{
	const struct syn_kernel_model *model = &syn_kernel_models[item->model];
	int64_t acl = walk->connection++;
	int64_t node = walk->connection++;
	struct syn_task task = { .kind = SYN_TASK_KERNEL,
				 .stream = COMPUTE_STREAM,
				 .connection = node,
				 .model = model,
				 .tokens = item->tokens };
	int rc = tell_torch(walk, item, model->torch, node);

	if (rc == NP_OK)
		rc = tell_call(walk, item, &(struct call){ SYN_API_ACL, model->api, 0, 0 }, acl);
	if (rc == NP_OK)
		rc = tell_call(walk, item, &(struct call){ SYN_API_NODE, "launch", 400, 50 }, node);
	if (rc == NP_OK)
		rc = tell_call(
			walk, item,
			&(struct call){ SYN_API_RUNTIME, "KernelLaunchWithHandleV2", 600, 60 },
			walk->connection++);
	if (rc == NP_OK)
		rc = tell_task(walk, &task, item->start_ns, item->end_ns);
	walk->step_has_tasks = walk->step_has_tasks || !is_cut(walk, item->end_ns);
	return rc;
}

static int tell_memcpy(struct stream_walk *walk, const struct syn_item *item)
{
	int64_t acl = walk->connection++;
	struct syn_task task = { .kind = SYN_TASK_MEMCPY,
				 .stream = COMPUTE_STREAM,
				 .connection = acl,
				 .bytes = INT64_C(8) * SYN_TOKENS,
				 .direction = SYN_ENUM_HOST_TO_DEVICE };
	int rc = tell_torch(walk, item, "aten::copy_", acl);

	if (rc == NP_OK)
		rc = tell_call(walk, item, &(struct call){ SYN_API_ACL, "aclrtMemcpyAsync", 0, 0 },
			       acl);
	if (rc == NP_OK)
		rc = tell_task(walk, &task, item->start_ns, item->end_ns);
	return rc;
}

/* Choose, of the operators still to come, as many as are still to be dropped. */
static bool is_dropped(struct stream_walk *walk)
{
	struct syn_key key = { walk->config->seed, SYN_FOR_DROP, (uint64_t)walk->rank.rank, 0,
			       (uint64_t)walk->ops_seen };
	bool drop = syn_uniform(&key) * (double)walk->ops_left < (double)walk->drops_left;

	walk->ops_seen++;
	walk->ops_left--;
	if (drop)
		walk->drops_left--;
	return drop;
}

static const char *torch_name(enum syn_op op)
{
	static const char *const names[] = {
		[SYN_ALL_REDUCE] = "c10d::allreduce_",
		[SYN_REDUCE_SCATTER] = "c10d::_reduce_scatter_base_",
		[SYN_ALL_GATHER] = "c10d::_allgather_base_",
		[SYN_ALL_TO_ALL_V] = "c10d::alltoall_base_",
		[SYN_SEND] = "c10d::send",
		[SYN_RECEIVE] = "c10d::recv_",
		[SYN_BATCH_SEND_RECV] = "c10d::batch_isend_irecv",
	};

	return names[op];
}

static int tell_op(struct stream_walk *walk, const struct syn_item *item, const char *name,
		   int64_t connection)
{
	const struct syn_timeline *timeline = walk->timeline;
	const struct syn_instance *instance =
		syn_timeline_instance(timeline, walk->rank.program.step, item);
	int64_t bytes = item->bytes > 0 ? item->bytes : item->receive_bytes;
	struct syn_comm_event event = {
		.name = name,
		.group = &timeline->groups.all.item[item->group],
		.instance = instance,
		.op = (enum syn_op)item->op,
		.step = walk->config->no_steps ? NP_UNKNOWN : step_id(walk),
		.start_ns = local_time_of(walk, item->start_ns),
		.end_ns = local_time_of(walk, item->end_ns),
		.connection = connection,
		.op_id = walk->op_id++,
		.count = bytes / (item->fp32 ? 4 : 2),
		.data_type = item->fp32 ? SYN_ENUM_FP32 : SYN_ENUM_BFP16,
		.stream = stream_number(item->stream),
		.first_id = walk->task_id,
	};
	bool dropped = is_dropped(walk);
	int rc = syn_comm_tasks(&walk->comm, instance, &timeline->slots[instance->first_slot],
				walk->rank.rank, &walk->sub_tasks, walk->err);

	if (rc < 0)
		return rc;
	for (size_t i = 0; i < walk->sub_tasks.all.count; i++) {
		struct syn_sub_task *task = &walk->sub_tasks.all.item[i];

		task->start_ns = local_time_of(walk, task->start_ns);
		task->end_ns = local_time_of(walk, task->end_ns);
	}
	event.tasks = walk->sub_tasks.all.item;
	event.task_count = walk->sub_tasks.all.count;
	walk->task_id += (int64_t)event.task_count;
	if (dropped || is_cut(walk, item->end_ns))
		return NP_OK;
	walk->step_has_tasks = true;
	return TELL(walk, comm, &event);
}

static int tell_comm(struct stream_walk *walk, const struct syn_item *item)
{
	const struct syn_group *group = &walk->timeline->groups.all.item[item->group];
	const char *word = syn_op_word((enum syn_op)item->op);
	int64_t ordinal = walk->ordinals[item->group]++ + walk->ordinal_shift;
	int64_t acl = walk->connection++;
	int64_t node = walk->connection++;
	char name[96];
	char api[48];
	int rc;

	(void)snprintf(api, sizeof(api), "hcom_%s_", word);
	(void)snprintf(name, sizeof(name), "hcom_%s__%03u_%" PRId64 "_1", word,
		       (unsigned)(group->hash % 1000), ordinal);
	rc = tell_torch(walk, item, torch_name((enum syn_op)item->op), node);
	if (rc == NP_OK)
		rc = tell_call(walk, item, &(struct call){ SYN_API_ACL, api, 0, 0 }, acl);
	if (rc == NP_OK)
		rc = tell_call(walk, item, &(struct call){ SYN_API_NODE, "launch", 200, 50 }, node);
	if (rc == NP_OK)
		rc = tell_call(walk, item, &(struct call){ SYN_API_COMM, "Launch_Ffts", 700, 80 },
			       walk->connection++);
	if (rc == NP_OK)
		rc = tell_op(walk, item, name, node);
	return rc;
}

/* stream_items.c: all that a profiler records of an item of the program. */
static int tell_item(struct stream_walk *walk, struct syn_item *item)
{
	int rc = tell_waits(walk, item);

	if (rc < 0)
		return rc;
	walk->tail_ns[item->stream] = item->end_ns;
	switch ((enum syn_kind)item->kind) {
	case SYN_KERNEL:
		return tell_kernel(walk, item);
	case SYN_MEMCPY:
		return tell_memcpy(walk, item);
	case SYN_COMM:
		break;
	}
	return tell_comm(walk, item);
}

#define FIRST_CONNECTION 1000

/* A piece that is released after the cut looks as if it never were. */
static int tell_memory(void *context, const struct syn_memory_event *piece, struct np_err *err)
{
	struct stream_walk *walk = context;
	struct syn_memory_event event = *piece;

	(void)err;
	/* Walked for the snapshot alone. */
	if (!walk->config->memory)
		return NP_OK;
	if (is_cut(walk, event.allocate_ns))
		return NP_OK;
	event.allocate_ns = local_time_of(walk, event.allocate_ns);
	if (event.release_ns != NP_UNKNOWN && is_cut(walk, event.release_ns)) {
		event.release_ns = NP_UNKNOWN;
		event.total_after = NP_UNKNOWN;
		event.reserved_after = NP_UNKNOWN;
	}
	if (event.release_ns != NP_UNKNOWN)
		event.release_ns = local_time_of(walk, event.release_ns);
	return TELL(walk, memory, &event);
}

static int tell_step(struct stream_walk *walk)
{
	np_ns end = walk->rank.step_end_ns;
	struct syn_step_event event = {
		.index = walk->rank.program.step,
		.id = step_id(walk),
		.start_ns = local_time_of(walk, walk->rank.step_begin_ns),
		.end_ns = local_time_of(walk, end < walk->cut_ns ? end : walk->cut_ns),
	};

	/*
	 * A step of which nothing was recorded on the device has no mark: its window
	 * would begin with the host, inside the work of the step before.
	 */
	if (walk->config->no_steps || !walk->step_has_tasks)
		return NP_OK;
	return TELL(walk, step, &event);
}

static int tell_data_loader(struct stream_walk *walk)
{
	struct syn_api api = {
		.level = SYN_API_TORCH,
		.name = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__",
		.start_ns = local_time_of(walk, walk->rank.step_begin_ns + 500),
		.end_ns = local_time_of(walk, walk->rank.data_ns - 500),
		.connection = -1,
	};

	if (is_cut(walk, walk->rank.data_ns))
		return NP_OK;
	if (walk->first_torch_ns == NP_UNKNOWN)
		walk->first_torch_ns = api.start_ns;
	return TELL(walk, api, &api);
}

static int walk_step(struct stream_walk *walk, int64_t step)
{
	struct syn_rank *rank = &walk->rank;
	int rc = syn_rank_begin_step(rank, &walk->timeline->groups, step, walk->err);

	if (rc < 0)
		return rc;
	(void)syn_rank_advance(rank, syn_timeline_end_of, &walk->view);
	walk->step_has_tasks = false;
	rc = tell_data_loader(walk);
	for (size_t i = 0; i < rank->program.items.count && rc == NP_OK; i++)
		rc = tell_item(walk, &rank->program.items.item[i]);
	if (rc == NP_OK && (walk->config->memory || walk->config->snapshot))
		rc = syn_memory_step(&walk->memory, rank, tell_memory, walk, walk->err);
	walk->last_host_ns = rank->step_end_ns;
	return rc == NP_OK ? tell_step(walk) : rc;
}

/* The one pseudo step of a run without marks begins with the first torch operator. */
static int tell_whole(struct stream_walk *walk)
{
	np_ns end = walk->last_host_ns;
	struct syn_step_event event = {
		.id = NP_UNKNOWN,
		.start_ns = walk->first_torch_ns,
		.end_ns = local_time_of(walk, end < walk->cut_ns ? end : walk->cut_ns),
	};

	return walk->config->no_steps ? TELL(walk, step, &event) : NP_OK;
}

/* Run a rank without showing anything, to learn when it ends. */
static int find_cut(struct stream_walk *walk, double share)
{
	struct syn_rank rank;
	np_ns end = SYN_EPOCH_NS;
	int rc = NP_OK;

	walk->cut_ns = INT64_MAX;
	if (share >= 1.0)
		return NP_OK;
	syn_rank_init(&rank, walk->config, walk->rank.rank);
	for (int64_t step = 0; step < walk->config->steps && rc == NP_OK; step++) {
		rc = syn_rank_begin_step(&rank, &walk->timeline->groups, step, walk->err);
		if (rc == NP_OK)
			(void)syn_rank_advance(&rank, syn_timeline_end_of, &walk->view);
	}
	for (int i = 0; i < SYN_STREAMS; i++)
		end = rank.tail_ns[i] > end ? rank.tail_ns[i] : end;
	syn_rank_release(&rank);
	walk->cut_ns = SYN_EPOCH_NS + (np_ns)llround((double)(end - SYN_EPOCH_NS) * share);
	return rc;
}

/* How many operators the rank launches in all, and how many of them are to be lost. */
static int count_ops(struct stream_walk *walk)
{
	double amount = syn_scalar(walk->config, SYN_DROP, walk->rank.rank, 0.0);
	struct syn_program program = { 0 };
	int rc = syn_program_build(&program, walk->config, &walk->timeline->groups, walk->rank.rank,
				   0, walk->err);

	for (size_t i = 0; i < program.items.count; i++)
		walk->ops_left += program.items.item[i].kind == SYN_COMM ? 1 : 0;
	syn_program_release(&program);
	walk->ops_left *= walk->config->steps;
	if (amount < 1.0)
		amount *= (double)walk->ops_left;
	walk->drops_left = llround(amount);
	return rc;
}

static int walk_rank(struct stream_walk *walk)
{
	int32_t rank = walk->rank.rank;
	int rc = find_cut(walk, syn_scalar(walk->config, SYN_TRUNCATE, rank, 1.0));

	if (rc == NP_OK)
		rc = count_ops(walk);
	for (int64_t step = 0; step < walk->config->steps && rc == NP_OK; step++)
		rc = walk_step(walk, step);
	return rc == NP_OK ? tell_whole(walk) : rc;
}

int syn_stream_rank(const struct syn_timeline *timeline, int32_t rank,
		    struct syn_sink *const *sinks, size_t count, struct np_err *err)
{
	const struct syn_config *config = timeline->config;
	struct stream_walk walk = {
		.timeline = timeline,
		.view = { timeline },
		.config = config,
		.sinks = sinks,
		.sink_count = count,
		.comm = { .config = config, .groups = &timeline->groups },
		.clock = syn_clock_of_rank(config, rank),
		.connection = FIRST_CONNECTION,
		.op_id = 1,
		.ordinals = calloc(timeline->groups.all.count + 1, sizeof(*walk.ordinals)),
		.ordinal_shift = (int64_t)syn_scalar(config, SYN_SHIFT, rank, 0.0),
		.first_torch_ns = NP_UNKNOWN,
		.err = err,
	};
	int rc = walk.ordinals ? NP_OK : np_fail_nomem(err, "a rank");

	syn_rank_init(&walk.rank, config, rank);
	if (rc == NP_OK)
		rc = syn_memory_init(&walk.memory, config, rank, err);
	for (int i = 0; i < SYN_STREAMS; i++)
		walk.tail_ns[i] = walk.rank.tail_ns[i];
	if (rc == NP_OK)
		rc = walk_rank(&walk);
	if (rc == NP_OK && config->snapshot)
		rc = TELL(&walk, caching, &walk.memory.caching);
	syn_rank_release(&walk.rank);
	syn_comm_release(&walk.comm);
	np_vec_release(&walk.sub_tasks.all);
	syn_memory_release(&walk.memory);
	free(walk.ordinals);
	return rc;
}

struct syn_rank_info syn_rank_info_of(const struct syn_timeline *timeline, int32_t rank)
{
	const struct syn_config *config = timeline->config;
	struct syn_rank_info info = {
		.config = config,
		.groups = &timeline->groups,
		.place = syn_place_of(config, rank),
		.pid = 200000 + 17 * (int64_t)rank,
		.clock = syn_clock_of_rank(config, rank),
		.form = syn_form_of(config, rank),
		.models = syn_kernel_models,
		.model_count = SYN_K_COUNT,
	};
	struct syn_key key = { config->name_seed, SYN_FOR_NAME, UINT64_MAX,
			       (uint64_t)info.place.host, 0 };

	(void)snprintf(info.host, sizeof(info.host), "host%d", info.place.host);
	(void)snprintf(info.host_uid, sizeof(info.host_uid), "%" PRIu64,
		       syn_bits(&key) % UINT64_C(9000000000000000000) +
			       UINT64_C(1000000000000000000));
	return info;
}
