/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builds the program of a rank: kernels and operators of a step with their durations (program.h).
 */
#include "program.h"

#include <math.h>

#include "build.h"
#include "sim/synth/plan/plants.h"
#include "sim/synth/plan/rng.h"

#define KERNEL_SIGMA 0.05
#define STEP_SIGMA   0.01
#define KERNEL_MIN   1000

const char *syn_op_word(enum syn_op op)
{
	static const char *const words[] = {
		[SYN_ALL_REDUCE] = "allReduce",
		[SYN_REDUCE_SCATTER] = "reduceScatter",
		[SYN_ALL_GATHER] = "allGather",
		[SYN_ALL_TO_ALL_V] = "alltoallv",
		[SYN_SEND] = "send",
		[SYN_RECEIVE] = "receive",
		[SYN_BATCH_SEND_RECV] = "batchSendRecv",
		[SYN_BROADCAST] = "broadcast",
		[SYN_REDUCE_TO_ROOT] = "reduce",
		[SYN_SCATTER] = "scatter",
		[SYN_ALL_TO_ALL] = "alltoall",
		[SYN_OTHER_OP] = "other",
	};

	return words[op];
}

bool syn_op_is_p2p(enum syn_op op)
{
	return op == SYN_SEND || op == SYN_RECEIVE || op == SYN_BATCH_SEND_RECV;
}

static struct syn_item *add_item(struct syn_build *build, enum syn_kind kind,
				 enum syn_stream stream, uint32_t *ret)
{
	struct syn_program *program = build->program;
	uint32_t index = (uint32_t)program->items.count;
	struct syn_item *item;

	*ret = SYN_NO_ITEM;
	if (build->rc < 0)
		return NULL;
	item = np_vec_add(&program->items, build->err);
	if (!item) {
		build->rc = NP_E_NOMEM;
		return NULL;
	}
	item->kind = (uint8_t)kind;
	item->stream = (uint8_t)stream;
	item->pass = (uint8_t)build->pass;
	item->layer = build->layer;
	item->micro = build->micro;
	item->next = SYN_NO_ITEM;
	item->after_first = (uint32_t)program->after.count;
	item->group = -1;
	item->peer = -1;
	item->host_after = build->host_after;
	item->delay_ns = build->delay_ns;
	item->start_ns = NP_UNKNOWN;
	item->end_ns = NP_UNKNOWN;
	build->host_after = SYN_NO_ITEM;
	build->delay_ns = 0;
	if (program->last[stream] == SYN_NO_ITEM)
		program->first[stream] = index;
	else
		program->items.item[program->last[stream]].next = index;
	program->last[stream] = index;
	*ret = index;
	return item;
}

/* Must be called for one item at a time: its list is the tail of program->after. */
static void add_after(struct syn_build *build, struct syn_item *item, uint32_t other)
{
	uint32_t *slot;

	if (other == SYN_NO_ITEM || build->rc < 0)
		return;
	slot = np_vec_add(&build->program->after, build->err);
	if (!slot) {
		build->rc = NP_E_NOMEM;
		return;
	}
	*slot = other;
	item->after_count++;
}

static struct syn_item *add_compute(struct syn_build *build, enum syn_kind kind, uint32_t *ret)
{
	struct syn_item *item = add_item(build, kind, SYN_STREAM_COMPUTE, ret);

	if (!item)
		return NULL;
	for (int i = 0; i < SYN_STREAMS; i++) {
		add_after(build, item, build->waits[i]);
		build->waits[i] = SYN_NO_ITEM;
	}
	return item;
}

static double base_time(const struct syn_build *build, const struct syn_kernel_model *model,
			int32_t tokens)
{
	double time = (double)model->base_ns;

	if (model->experts)
		time = 5000.0 + SYN_NS_PER_TOKEN * tokens;
	if (model->split)
		time /= (double)build->config->tp;
	if (build->pass != SYN_PASS_OTHER && !model->experts)
		time /= (double)build->config->cp;
	return time;
}

uint32_t syn_build_kernel(struct syn_build *build, uint16_t model, int32_t tokens)
{
	struct syn_key key = { build->config->seed, SYN_FOR_KERNEL, (uint64_t)build->place.rank,
			       (uint64_t)build->step, build->kernels };
	double time = base_time(build, &syn_kernel_models[model], tokens) * build->work *
		      syn_type_factor(build->config, syn_kernel_models[model].type);
	uint32_t index;
	struct syn_item *item = add_compute(build, SYN_KERNEL, &index);

	if (!item)
		return index;
	build->kernels++;
	if (model == SYN_K_RESHAPED)
		time *= syn_scalar(build->config, SYN_RESHAPE, -1, 1.0);
	time *= exp(KERNEL_SIGMA * build->config->noise * syn_normal(&key));
	item->model = model;
	item->tokens = tokens;
	item->duration_ns = time > KERNEL_MIN ? (np_ns)llround(time) : KERNEL_MIN;
	return index;
}

uint32_t syn_build_memcpy(struct syn_build *build, np_ns duration)
{
	uint32_t index;
	struct syn_item *item = add_compute(build, SYN_MEMCPY, &index);

	if (item)
		item->duration_ns = duration;
	return index;
}

static struct syn_item *add_comm(struct syn_build *build, enum syn_stream stream, enum syn_op op,
				 uint32_t *ret)
{
	uint32_t before = build->program->last[SYN_STREAM_COMPUTE];
	struct syn_item *item = add_item(build, SYN_COMM, stream, ret);

	if (!item)
		return NULL;
	item->op = (uint8_t)op;
	add_after(build, item, before);
	return item;
}

uint32_t syn_build_collective(struct syn_build *build, const struct syn_collective *collective)
{
	int32_t group = syn_group_of(build->groups, build->place.rank, collective->role);
	struct syn_item *item;
	uint32_t index;

	if (group < 0)
		return SYN_NO_ITEM;
	item = add_comm(build, collective->stream, collective->op, &index);
	if (!item)
		return SYN_NO_ITEM;
	item->group = group;
	item->instance = build->program->ops[collective->role]++;
	item->bytes = collective->bytes;
	item->fp32 = collective->fp32;
	item->combine = collective->combine;
	return index;
}

uint32_t syn_build_message(struct syn_build *build, const struct syn_message *message)
{
	uint32_t index;
	struct syn_item *item = add_comm(build, message->stream, message->op, &index);

	if (!item)
		return SYN_NO_ITEM;
	item->group = syn_group_of(build->groups, build->place.rank, SYN_ROLE_PP);
	item->instance = message->instance;
	/* The pipeline is the slowest coordinate: the place in the group is the stage. */
	item->peer = message->peer_stage;
	item->bytes = message->send_bytes;
	item->receive_bytes = message->receive_bytes;
	return index;
}

void syn_build_wait(struct syn_build *build, uint32_t item)
{
	if (build->rc < 0 || item == SYN_NO_ITEM)
		return;
	build->waits[build->program->items.item[item].stream] = item;
}

void syn_build_wait_all(struct syn_build *build)
{
	for (int i = SYN_STREAM_COMPUTE + 1; i < SYN_STREAMS; i++)
		syn_build_wait(build, build->program->last[i]);
}

void syn_build_host_wait(struct syn_build *build, uint32_t item, np_ns then_delay)
{
	if (item == SYN_NO_ITEM)
		return;
	build->host_after = item;
	build->delay_ns = then_delay;
}

void syn_expert_weights(const struct syn_routing *routing, int32_t count, double *weights)
{
	double skew = syn_scalar(routing->config, SYN_EXPERT_SKEW, -1, 0.0);
	uint64_t spot = (uint64_t)routing->layer << 16;
	double sum = 0.0;

	for (int32_t i = 0; i < count; i++) {
		/* Popular experts stay popular for a while: most of the spread is lasting. */
		struct syn_key lasting = { routing->config->seed, SYN_FOR_EXPERT_BIAS,
					   (uint64_t)routing->group, 0, spot | (uint64_t)i };
		struct syn_key passing = { routing->config->seed, SYN_FOR_EXPERT,
					   (uint64_t)routing->group,
					   (uint64_t)routing->step << 16 | routing->micro,
					   spot | (uint64_t)i };

		weights[i] = exp(skew * (0.8 * syn_normal(&lasting) + 0.6 * syn_normal(&passing)));
		sum += weights[i];
	}
	for (int32_t i = 0; i < count; i++)
		weights[i] /= sum;
}

void syn_program_release(struct syn_program *program)
{
	np_vec_release(&program->items);
	np_vec_release(&program->after);
}

double syn_work_factor(const struct syn_config *config, const struct syn_place *place, int64_t step)
{
	struct syn_key key = { config->seed, SYN_FOR_STEP, 0, (uint64_t)step, 0 };

	return syn_kernel_factor(config, place, step) *
	       exp(STEP_SIGMA * config->noise * syn_normal(&key));
}

int syn_program_build(struct syn_program *program, const struct syn_config *config,
		      const struct syn_groups *groups, int32_t rank, int64_t step,
		      struct np_err *err)
{
	struct syn_build build = {
		.program = program,
		.config = config,
		.groups = groups,
		.place = syn_place_of(config, rank),
		.step = step,
		.layer_delay = syn_host_delay(config, rank),
		.host_after = SYN_NO_ITEM,
		.err = err,
	};

	build.work = syn_work_factor(config, &build.place, step);
	program->rank = rank;
	program->step = step;
	program->items.count = 0;
	program->after.count = 0;
	for (int i = 0; i < SYN_STREAMS; i++) {
		program->first[i] = SYN_NO_ITEM;
		program->last[i] = SYN_NO_ITEM;
		build.waits[i] = SYN_NO_ITEM;
	}
	memset(program->ops, 0, sizeof(program->ops));
	syn_schedule_step(&build);
	return build.rc;
}
