/* SPDX-License-Identifier: Apache-2.0 */
#include "carrier.h"

#include <math.h>

#include "sim/synth/plan/plants.h"
#include "sim/synth/plan/rng.h"

#define LINK_SIGMA      0.03
#define END_NOISE       10000.0
#define HCCS_PER_S      20e9
#define RDMA_PER_S      12e9
#define LOCAL_PER_S     330e9
#define HCCS_LATENCY    2000.0
#define RDMA_LATENCY    14000.0
#define RING_SPLITS_MAX 4

void syn_comm_release(struct syn_comm *comm)
{
	np_vec_release(&comm->weights);
}

const char *syn_algorithm(const struct syn_group *group)
{
	return group->one_host ? "MESH-RING" : "NA-RING";
}

static int prepare_weights(struct syn_comm *comm, const struct syn_instance *instance,
			   int32_t count, struct np_err *err)
{
	const struct syn_routing routing = { comm->config, instance->group, instance->step,
					     instance->layer, instance->micro };

	while (comm->weights.count < (size_t)count) {
		if (!np_vec_add(&comm->weights, err))
			return NP_E_NOMEM;
	}
	syn_expert_weights(&routing, count, comm->weights.item);
	return NP_OK;
}

int syn_carrier_prepare(struct syn_comm *comm, const struct syn_instance *instance,
			struct syn_carrier *carrier, struct np_err *err)
{
	const struct syn_group *group = &comm->groups->all.item[instance->group];
	int64_t piece = instance->bytes / group->size / 4 * 4;

	*carrier = (struct syn_carrier){
		.config = comm->config,
		.instance = instance,
		.group = group,
		.size = group->size,
		.planes = group->size - 1 < SYN_PLANES ? group->size - 1 : SYN_PLANES,
		.ring = !group->one_host && instance->op != SYN_ALL_TO_ALL_V,
		.chunk = instance->bytes,
	};
	carrier->has_phase[0] =
		instance->op == SYN_ALL_REDUCE || instance->op == SYN_REDUCE_SCATTER;
	carrier->has_phase[1] = instance->op != SYN_REDUCE_SCATTER;
	if (instance->op == SYN_ALL_REDUCE)
		carrier->chunk = piece > 4 ? piece : 4;
	if (instance->op != SYN_ALL_TO_ALL_V)
		return NP_OK;
	if (prepare_weights(comm, instance, group->size, err) < 0)
		return NP_E_NOMEM;
	carrier->weights = comm->weights.item;
	return NP_OK;
}

/* Names an instance in random draws. */
static uint64_t instance_key(const struct syn_instance *instance)
{
	return (uint64_t)instance->step << 44 | (uint64_t)instance->group << 24 | instance->index;
}

bool syn_is_rdma(const struct syn_carrier *carrier, int32_t src, int32_t dst)
{
	int64_t per_host = carrier->config->per_host;

	return carrier->group->ranks[src] / per_host != carrier->group->ranks[dst] / per_host;
}

/* Time of `bytes` in `pieces` from one member to another, in one phase. */
static np_ns link_time(const struct syn_carrier *carrier, int phase, int32_t src, int32_t dst,
		       int64_t bytes, int32_t pieces)
{
	uint64_t from = (uint64_t)carrier->group->ranks[src];
	uint64_t to = (uint64_t)carrier->group->ranks[dst];
	struct syn_key key = { carrier->config->seed, SYN_FOR_LINK, from << 32 | to,
			       instance_key(carrier->instance), (uint64_t)phase };
	bool rdma = syn_is_rdma(carrier, src, dst);
	double time = (rdma ? RDMA_LATENCY : HCCS_LATENCY) * pieces;
	double sigma = LINK_SIGMA * carrier->config->noise;

	time += (double)bytes / (rdma ? RDMA_PER_S : HCCS_PER_S) * 1e9;
	if (sigma > 0.0)
		time *= exp(sigma * syn_normal(&key));
	time *= syn_link_factor(carrier->config, (int32_t)from, (int32_t)to);
	/* The tasks around an RDMA write need this much. */
	return time > 8000.0 * pieces || !rdma ? (np_ns)llround(time) : (np_ns)8000 * pieces;
}

/* Bytes that go from one member to another in an all-to-all. */
static int64_t pair_bytes(const struct syn_carrier *carrier, int32_t src, int32_t dst)
{
	double share = carrier->weights[carrier->instance->combine ? src : dst];
	int64_t tokens = (int64_t)(share * SYN_TOKENS + 0.5);

	return tokens * SYN_TOKEN_BYTES / carrier->config->cp;
}

/* What a member sends on a plane. A plane of a large all-to-all serves several peers in turn. */
int64_t syn_plane_bytes(const struct syn_carrier *carrier, int32_t me, int32_t plane)
{
	int64_t bytes = 0;

	if (!carrier->weights)
		return carrier->chunk;
	for (int32_t hop = plane; hop < carrier->size; hop += SYN_PLANES)
		bytes += pair_bytes(carrier, me, (me + hop) % carrier->size);
	return bytes;
}

np_ns syn_plane_time(const struct syn_carrier *carrier, int phase, int32_t me, int32_t plane)
{
	int32_t peer = (me + plane) % carrier->size;

	return link_time(carrier, phase, me, peer, syn_plane_bytes(carrier, me, plane), 1);
}

int32_t syn_ring_pieces(const struct syn_carrier *carrier)
{
	int32_t hops = carrier->size - 1;

	return hops < RING_SPLITS_MAX ? hops : RING_SPLITS_MAX;
}

np_ns syn_ring_time(const struct syn_carrier *carrier, int phase, int32_t me)
{
	int64_t bytes = carrier->chunk * (carrier->size - 1);

	return link_time(carrier, phase, me, (me + 1) % carrier->size, bytes,
			 syn_ring_pieces(carrier));
}

static np_ns slowest_link(const struct syn_carrier *carrier, int phase)
{
	np_ns slowest = 0;

	for (int32_t me = 0; me < carrier->size; me++) {
		int32_t planes = carrier->ring ? 1 : carrier->planes;

		for (int32_t plane = 1; plane <= planes; plane++) {
			np_ns time = carrier->ring ? syn_ring_time(carrier, phase, me)
						   : syn_plane_time(carrier, phase, me, plane);

			if (time > slowest)
				slowest = time;
		}
	}
	return slowest;
}

np_ns syn_local_time(int64_t bytes)
{
	return bytes > 0 ? (np_ns)llround((double)bytes / LOCAL_PER_S * 1e9) + 1000 : 600;
}

int64_t syn_sent_by(const struct syn_instance *instance, int32_t me)
{
	return me == instance->low ? instance->up_bytes : instance->down_bytes;
}

/* The side that moves the data: within a host the receiver, else the sender. */
int64_t syn_moved_by(const struct syn_carrier *carrier, int32_t me, int32_t peer)
{
	return syn_sent_by(carrier->instance, syn_is_rdma(carrier, me, peer) ? me : peer);
}

np_ns syn_message_time(const struct syn_carrier *carrier, int32_t me, int32_t peer)
{
	int64_t bytes = syn_moved_by(carrier, me, peer);

	return bytes > 0 ? link_time(carrier, 0, me, peer, bytes, 1) : 0;
}

np_ns syn_message_prologue(const struct syn_instance *instance)
{
	np_ns up = syn_local_time(instance->up_bytes);
	np_ns down = syn_local_time(instance->down_bytes);

	return SYN_PROLOGUE + (up > down ? up : down);
}

static np_ns longer(np_ns a, np_ns b)
{
	return a > b ? a : b;
}

int syn_comm_transfer(struct syn_comm *comm, struct syn_instance *instance, struct np_err *err)
{
	struct syn_carrier carrier;
	int rc = syn_carrier_prepare(comm, instance, &carrier, err);

	if (rc < 0)
		return rc;
	if (syn_op_is_p2p((enum syn_op)instance->op)) {
		int32_t low = instance->low;

		instance->phase_ns[0] = longer(syn_message_time(&carrier, low, low + 1),
					       syn_message_time(&carrier, low + 1, low));
		instance->transfer_ns =
			syn_message_prologue(instance) + instance->phase_ns[0] + SYN_EPILOGUE;
		return NP_OK;
	}
	instance->transfer_ns = SYN_PROLOGUE + SYN_EPILOGUE;
	for (int phase = 0; phase < 2; phase++) {
		if (!carrier.has_phase[phase])
			continue;
		instance->phase_ns[phase] = slowest_link(&carrier, phase);
		instance->transfer_ns += instance->phase_ns[phase];
	}
	if (carrier.has_phase[0] && carrier.has_phase[1])
		instance->transfer_ns += SYN_BETWEEN;
	return NP_OK;
}

np_ns syn_comm_end_noise(const struct syn_config *config, const struct syn_instance *instance,
			 int32_t rank)
{
	struct syn_key key = { config->seed, SYN_FOR_END, (uint64_t)rank, instance_key(instance),
			       0 };

	return (np_ns)llround(END_NOISE * config->noise * syn_exponential(&key));
}
