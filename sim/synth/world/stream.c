/* SPDX-License-Identifier: Apache-2.0 */
#include "stream_walk.h"

#include <inttypes.h>
#include <math.h>

#include "sim/synth/plan/rng.h"

#define FIRST_CONNECTION 1000

/* A piece that is released after the cut looks as if it never were. */
static int tell_memory(void *context, const struct syn_memory_event *piece, struct np_err *err)
{
	struct walk *walk = context;
	struct syn_memory_event event = *piece;

	(void)err;
	if (is_cut(walk, event.allocate_ns))
		return NP_OK;
	event.allocate_ns = local_time_of(walk, event.allocate_ns);
	if (event.release_ns != NP_UNKNOWN && is_cut(walk, event.release_ns)) {
		event.release_ns = NP_UNKNOWN;
		event.total_after = NP_UNKNOWN;
	}
	if (event.release_ns != NP_UNKNOWN)
		event.release_ns = local_time_of(walk, event.release_ns);
	return TELL(walk, memory, &event);
}

static int tell_step(struct walk *walk)
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

static int tell_data_loader(struct walk *walk)
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

static int walk_step(struct walk *walk, int64_t step)
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
	if (rc == NP_OK && walk->config->memory)
		rc = syn_memory_step(&walk->memory, rank, tell_memory, walk, walk->err);
	walk->last_host_ns = rank->step_end_ns;
	return rc == NP_OK ? tell_step(walk) : rc;
}

/* The one pseudo step of a run without marks begins with the first torch operator. */
static int tell_whole(struct walk *walk)
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
static int find_cut(struct walk *walk, double share)
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
static int count_ops(struct walk *walk)
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

static int walk_rank(struct walk *walk)
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
	struct walk walk = {
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
	syn_memory_init(&walk.memory, config, rank);
	for (int i = 0; i < SYN_STREAMS; i++)
		walk.tail_ns[i] = walk.rank.tail_ns[i];
	if (rc == NP_OK)
		rc = walk_rank(&walk);
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
	struct syn_key key = { config->seed, SYN_FOR_NAME, UINT64_MAX, (uint64_t)info.place.host,
			       0 };

	(void)snprintf(info.host, sizeof(info.host), "host%d", info.place.host);
	(void)snprintf(info.host_uid, sizeof(info.host_uid), "%" PRIu64,
		       syn_bits(&key) % UINT64_C(9000000000000000000) +
			       UINT64_C(1000000000000000000));
	return info;
}
