/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The training step of every schedule: data, tensor, context, expert and
 * pipeline parallelism are sizes of one program, not programs of their own.
 */
#include "build.h"
#include "sim/synth/plan/plants.h"

static int64_t activation_bytes(const struct syn_config *config)
{
	return (int64_t)SYN_TOKENS * SYN_TOKEN_BYTES / config->cp;
}

static void tensor_reduce(struct syn_build *build)
{
	const struct syn_collective sum = {
		.role = SYN_ROLE_TP,
		.stream = SYN_STREAM_TP,
		.op = SYN_ALL_REDUCE,
		.bytes = activation_bytes(build->config),
	};

	syn_build_wait(build, syn_build_collective(build, &sum));
}

/* Keys and values of the whole sequence forward, their gradients backward. */
static void context_exchange(struct syn_build *build)
{
	const struct syn_collective exchange = {
		.role = SYN_ROLE_CP,
		.stream = SYN_STREAM_CP,
		.op = build->pass == SYN_PASS_FORWARD ? SYN_ALL_GATHER : SYN_REDUCE_SCATTER,
		.bytes = activation_bytes(build->config),
	};

	syn_build_wait(build, syn_build_collective(build, &exchange));
}

static void expert_exchange(struct syn_build *build, bool combine, int64_t bytes)
{
	const struct syn_collective exchange = {
		.role = SYN_ROLE_EXP,
		.stream = SYN_STREAM_EXP,
		.op = SYN_ALL_TO_ALL_V,
		.bytes = bytes,
		.combine = combine,
	};

	syn_build_wait(build, syn_build_collective(build, &exchange));
}

/* Tokens that the experts of this rank get in the present layer. */
static int32_t routed_tokens(struct syn_build *build, int32_t group_index)
{
	const struct syn_group *group = &build->groups->all.item[group_index];
	int32_t member = syn_local_rank(group, build->place.rank);
	double *weights = calloc((size_t)group->size, sizeof(*weights));
	const struct syn_routing routing = { build->config, group_index, build->step, build->layer,
					     build->micro };
	int32_t tokens;

	if (!weights) {
		build->rc = np_fail_nomem(build->err, "expert weights");
		return 0;
	}
	syn_expert_weights(&routing, group->size, weights);
	tokens = (int32_t)(weights[member] * SYN_TOKENS * group->size + 0.5);
	free(weights);
	return tokens;
}

/*
 * The expert half of a layer. Tokens travel to the experts and back; in the
 * backward pass their gradients do, in the opposite order.
 */
static void expert_half(struct syn_build *build, int64_t kernels)
{
	int32_t group = syn_group_of(build->groups, build->place.rank, SYN_ROLE_EXP);
	int64_t pairs = kernels > 4 ? (kernels - 2) / 2 : 1;
	int32_t tokens = routed_tokens(build, group);
	bool backward = build->pass == SYN_PASS_BACKWARD;
	int64_t own = activation_bytes(build->config);
	int64_t routed = (int64_t)tokens * SYN_TOKEN_BYTES / build->config->cp;

	syn_build_kernel(build, backward ? SYN_K_UNPERMUTE : SYN_K_GATE, 0);
	expert_exchange(build, false, own);
	for (int64_t i = 0; i < pairs; i++) {
		syn_build_kernel(build, SYN_K_EXPERT_UP, tokens);
		syn_build_kernel(build, SYN_K_EXPERT_DOWN, tokens);
	}
	expert_exchange(build, true, routed);
	syn_build_kernel(build, backward ? SYN_K_GATE : SYN_K_UNPERMUTE, 0);
}

/* Planted casts repeat draws of the kernels behind them, which so stay the same. */
static void extra_casts(struct syn_build *build)
{
	double casts = syn_scalar(build->config, SYN_EXTRA_CASTS, -1, 0.0);
	uint32_t kernels = build->kernels;

	for (double i = 0; i < casts; i++)
		syn_build_kernel(build, SYN_K_CAST, 0);
	build->kernels = kernels;
}

/* The first dimension of the next kernel, where it is not always the same; the time is. */
static int32_t shape_in_turn(const struct syn_build *build)
{
	int64_t shapes = build->config->shapes;

	return shapes > 1 ? (int32_t)(SYN_TOKENS + build->kernels % shapes) : 0;
}

static void dense_kernels(struct syn_build *build, int64_t from, int64_t to, int64_t count)
{
	bool reshape = syn_scalar(build->config, SYN_RESHAPE, -1, 0.0) > 0.0;

	if (from == 0 && build->pass == SYN_PASS_FORWARD)
		extra_casts(build);
	for (int64_t i = from; i < to; i++) {
		uint16_t model = syn_layer_kernel(build->pass, i, count);

		if (reshape && model == SYN_K_PROJECTION)
			model = SYN_K_RESHAPED;
		syn_build_kernel(build, model, shape_in_turn(build));
	}
}

/* In the whole model. */
static uint16_t layer_number(const struct syn_build *build, int64_t stage_layer)
{
	return (uint16_t)(build->place.pp * build->config->stage_layers + stage_layer);
}

static void begin_layer(struct syn_build *build, int64_t layer)
{
	build->layer = layer_number(build, layer);
	if (build->layer_delay > 0)
		syn_build_host_wait(build, build->program->last[SYN_STREAM_COMPUTE],
				    build->layer_delay);
}

static void forward_layer(struct syn_build *build, int64_t layer)
{
	int64_t count = build->config->kernels;
	int64_t half = count / 2;

	begin_layer(build, layer);
	dense_kernels(build, 0, 1, count);
	context_exchange(build);
	dense_kernels(build, 1, half, count);
	tensor_reduce(build);
	if (build->config->ep > 1)
		expert_half(build, count - half);
	else
		dense_kernels(build, half, count, count);
	tensor_reduce(build);
}

static void backward_layer(struct syn_build *build, int64_t layer)
{
	int64_t count = 2 * build->config->kernels;
	int64_t half = count / 2;

	begin_layer(build, layer);
	if (build->config->ep > 1)
		expert_half(build, half);
	else
		dense_kernels(build, 0, half, count);
	tensor_reduce(build);
	dense_kernels(build, half, count, count);
	context_exchange(build);
	tensor_reduce(build);
}

static enum syn_role gradient_role(const struct syn_config *config)
{
	return config->cp > 1 ? SYN_ROLE_DP_CP : SYN_ROLE_DP;
}

static int64_t gradient_ranks(const struct syn_config *config)
{
	return config->dp * config->cp;
}

/* Gradients of `layers` layers; sharded, each rank keeps only its part of the sum. */
static void reduce_gradients(struct syn_build *build, int64_t layers)
{
	const struct syn_config *config = build->config;
	int64_t bytes = layers * SYN_LAYER_BYTES / config->tp;
	const struct syn_collective sum = {
		.role = gradient_role(config),
		.stream = SYN_STREAM_DP,
		.op = config->shard_grads ? SYN_REDUCE_SCATTER : SYN_ALL_REDUCE,
		.bytes = config->shard_grads ? bytes / gradient_ranks(config) / 4 * 4 : bytes,
		.fp32 = true,
	};

	(void)syn_build_collective(build, &sum);
}

static void gather_weights(struct syn_build *build)
{
	const struct syn_config *config = build->config;
	const struct syn_collective gather = {
		.role = gradient_role(config),
		.stream = SYN_STREAM_DP,
		.op = SYN_ALL_GATHER,
		.bytes = config->stage_layers * SYN_LAYER_BYTES / config->tp / 2 /
			 gradient_ranks(config) / 2 * 2,
	};

	syn_build_wait(build, syn_build_collective(build, &gather));
	syn_build_kernel(build, SYN_K_CAST, 0);
}

static void forward(struct syn_build *build, int64_t micro)
{
	bool last = build->place.pp == build->config->pp - 1;

	build->pass = SYN_PASS_FORWARD;
	build->micro = (uint16_t)micro;
	build->layer = layer_number(build, 0);
	if (build->place.pp == 0)
		syn_build_kernel(build, SYN_K_EMBED, 0);
	for (int64_t layer = 0; layer < build->config->stage_layers; layer++)
		forward_layer(build, layer);
	if (!last)
		return;
	syn_build_kernel(build, SYN_K_HEAD, 0);
	syn_build_kernel(build, SYN_K_LOSS, 0);
}

static void backward(struct syn_build *build, int64_t micro)
{
	const struct syn_config *config = build->config;
	bool reduce = micro == config->micro_batches - 1;
	int64_t bucket = 0;
	int64_t buckets_left = config->buckets;

	build->pass = SYN_PASS_BACKWARD;
	build->micro = (uint16_t)micro;
	build->layer = layer_number(build, config->stage_layers - 1);
	if (build->place.pp == config->pp - 1)
		syn_build_kernel(build, SYN_K_HEAD, 0);
	for (int64_t layer = config->stage_layers - 1; layer >= 0; layer--) {
		backward_layer(build, layer);
		bucket++;
		/* A bucket is full when the layers left would fill the buckets left less. */
		if (!reduce || layer * config->buckets > (buckets_left - 1) * config->stage_layers)
			continue;
		reduce_gradients(build, bucket);
		bucket = 0;
		buckets_left--;
	}
}

/*
 * Messages between neighbouring stages
 * ------------------------------------
 *
 * Both sides must name an exchange alike without talking to each other: by the
 * boundary it crosses and the micro-batch that goes forward in it, or if none
 * does, the one that goes backward.
 */
#define NO_MICRO (-1)

struct schedule_exchange {
	int32_t boundary; /* between stages `boundary` and `boundary + 1` */
	int64_t forward;  /* micro-batch whose activations cross, or NO_MICRO */
	int64_t backward; /* micro-batch whose gradients cross, or NO_MICRO */
};

static uint32_t exchange_name(const struct syn_config *config,
			      const struct schedule_exchange *exchange)
{
	bool has_forward = exchange->forward != NO_MICRO;
	int64_t micro = has_forward ? exchange->forward : exchange->backward;

	return (uint32_t)((exchange->boundary * config->micro_batches + micro) * 2 +
			  (has_forward ? 0 : 1));
}

static void one_message(struct syn_build *build, const struct schedule_exchange *exchange)
{
	bool is_lower = build->place.pp == exchange->boundary;
	bool is_forward = exchange->forward != NO_MICRO;
	bool sends = is_lower == is_forward;
	int64_t bytes = activation_bytes(build->config);
	const struct syn_message message = {
		.stream = (enum syn_stream)(SYN_STREAM_PP + (is_forward ? 0 : 2) + (sends ? 0 : 1)),
		.op = sends ? SYN_SEND : SYN_RECEIVE,
		.peer_stage = exchange->boundary + (is_lower ? 1 : 0),
		.instance = exchange_name(build->config, exchange),
		.send_bytes = sends ? bytes : 0,
		.receive_bytes = sends ? 0 : bytes,
	};
	uint32_t item = syn_build_message(build, &message);

	/* What was sent may still be on its way while the next kernels run. */
	if (!sends)
		syn_build_wait(build, item);
}

static void batched_message(struct syn_build *build, const struct schedule_exchange *exchange)
{
	bool is_lower = build->place.pp == exchange->boundary;
	int64_t bytes = activation_bytes(build->config);
	int64_t up = exchange->forward != NO_MICRO ? bytes : 0;
	int64_t down = exchange->backward != NO_MICRO ? bytes : 0;
	const struct syn_message message = {
		.stream = SYN_STREAM_PP,
		.op = SYN_BATCH_SEND_RECV,
		.peer_stage = exchange->boundary + (is_lower ? 1 : 0),
		.instance = exchange_name(build->config, exchange),
		.send_bytes = is_lower ? up : down,
		.receive_bytes = is_lower ? down : up,
	};

	syn_build_wait(build, syn_build_message(build, &message));
}

/* Exchange with the next stage (`towards` 0) or the one before (−1); ends of the line do nothing.
 */
static void exchange_with(struct syn_build *build, int32_t towards, int64_t forward_micro,
			  int64_t backward_micro)
{
	struct schedule_exchange exchange = { build->place.pp + towards, forward_micro,
					      backward_micro };

	if (exchange.boundary < 0 || exchange.boundary >= build->config->pp - 1)
		return;
	if (build->config->batched_p2p) {
		batched_message(build, &exchange);
		return;
	}
	if (forward_micro != NO_MICRO) {
		exchange.backward = NO_MICRO;
		one_message(build, &exchange);
	}
	if (backward_micro != NO_MICRO) {
		exchange.forward = NO_MICRO;
		exchange.backward = backward_micro;
		one_message(build, &exchange);
	}
}

#define NEXT     0
#define PREVIOUS (-1)

/* One forward, one backward: as few activations as possible are alive at once. */
static void pipeline(struct syn_build *build)
{
	int64_t micros = build->config->micro_batches;
	int64_t warm = build->config->pp - 1 - build->place.pp;
	int64_t steady;

	if (warm > micros)
		warm = micros;
	steady = micros - warm;
	for (int64_t i = 0; i < warm; i++) {
		exchange_with(build, PREVIOUS, i, NO_MICRO);
		forward(build, i);
		exchange_with(build, NEXT, i, NO_MICRO);
	}
	if (steady > 0)
		exchange_with(build, PREVIOUS, warm, NO_MICRO);
	for (int64_t i = 0; i < steady; i++) {
		bool more = i + 1 < steady;

		forward(build, warm + i);
		exchange_with(build, NEXT, warm + i, i);
		backward(build, i);
		exchange_with(build, PREVIOUS, more ? warm + i + 1 : NO_MICRO, i);
	}
	for (int64_t i = steady; i < micros; i++) {
		exchange_with(build, NEXT, NO_MICRO, i);
		backward(build, i);
		exchange_with(build, PREVIOUS, NO_MICRO, i);
	}
}

/* The norm of all gradients is needed on the host before the optimizer can be launched. */
static void finish_gradients(struct syn_build *build)
{
	const struct syn_collective norm = {
		.role = SYN_ROLE_WORLD,
		.stream = SYN_STREAM_WORLD,
		.op = SYN_ALL_REDUCE,
		.bytes = 8,
		.fp32 = true,
	};
	uint32_t item;

	syn_build_wait_all(build);
	item = syn_build_kernel(build, SYN_K_NORM, 0);
	for (int64_t i = 1; i < build->config->stage_layers; i++)
		item = syn_build_kernel(build, SYN_K_NORM, 0);
	if (build->config->ranks > 1)
		item = syn_build_collective(build, &norm);
	syn_build_host_wait(build, item, 0);
	syn_build_wait_all(build);
}

void syn_schedule_step(struct syn_build *build)
{
	build->pass = SYN_PASS_OTHER;
	syn_build_memcpy(build, 12000);
	syn_build_kernel(build, SYN_K_ZERO, 0);
	pipeline(build);
	build->pass = SYN_PASS_OTHER;
	build->layer = 0;
	finish_gradients(build);
	for (int64_t i = 0; i < 2 * build->config->stage_layers; i++)
		syn_build_kernel(build, SYN_K_ADAM, 0);
	if (build->config->shard_grads && gradient_ranks(build->config) > 1)
		gather_weights(build);
}
