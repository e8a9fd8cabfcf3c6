/* SPDX-License-Identifier: Apache-2.0 */
/* Simulates an operator on all its members, and lays out the tasks of each. */
#include "comm.h"

#include "sim/synth/plan/plants.h"
#include "sim/synth/plan/rng.h"

#include <math.h>

/*
 * How the data of an instance travels: shared by comm.c, which asks how long it
 * takes, and comm_layout.c, which shows the tasks.
 */

/* Fixed parts of an operator: handshakes and local copies around its phases. */
#define SYN_PROLOGUE 8000
#define SYN_BETWEEN  4000
#define SYN_EPILOGUE 6000

/* An instance, prepared for questions about it. */
struct syn_carrier {
	const struct syn_config *config;
	const struct syn_instance *instance;
	const struct syn_group *group;
	const double *weights; /* all-to-all: share of each member's experts */
	int32_t size;
	int32_t planes;
	bool ring;
	bool has_phase[2]; /* reduce, then copy */
	int64_t chunk;
};

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

/* Valid until the next call with the same `comm`. */
static int syn_carrier_prepare(struct syn_comm *comm, const struct syn_instance *instance,
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

static bool syn_is_rdma(const struct syn_carrier *carrier, int32_t src, int32_t dst)
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
static int64_t syn_plane_bytes(const struct syn_carrier *carrier, int32_t me, int32_t plane)
{
	int64_t bytes = 0;

	if (!carrier->weights)
		return carrier->chunk;
	for (int32_t hop = plane; hop < carrier->size; hop += SYN_PLANES)
		bytes += pair_bytes(carrier, me, (me + hop) % carrier->size);
	return bytes;
}

/* Mesh: what a member sends on a plane in a phase, and how long that takes. */
static np_ns syn_plane_time(const struct syn_carrier *carrier, int phase, int32_t me, int32_t plane)
{
	int32_t peer = (me + plane) % carrier->size;

	return link_time(carrier, phase, me, peer, syn_plane_bytes(carrier, me, plane), 1);
}

static int32_t syn_ring_pieces(const struct syn_carrier *carrier)
{
	int32_t hops = carrier->size - 1;

	return hops < RING_SPLITS_MAX ? hops : RING_SPLITS_MAX;
}

/* Ring: the pieces in which a member sends to the next, and how long they take in all. */
static np_ns syn_ring_time(const struct syn_carrier *carrier, int phase, int32_t me)
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

static np_ns syn_local_time(int64_t bytes)
{
	return bytes > 0 ? (np_ns)llround((double)bytes / LOCAL_PER_S * 1e9) + 1000 : 600;
}

/* Message: what a member sends, what it moves itself, and how long that takes. */
static int64_t syn_sent_by(const struct syn_instance *instance, int32_t me)
{
	return me == instance->low ? instance->up_bytes : instance->down_bytes;
}

/* The side that moves the data: within a host the receiver, else the sender. */
static int64_t syn_moved_by(const struct syn_carrier *carrier, int32_t me, int32_t peer)
{
	return syn_sent_by(carrier->instance, syn_is_rdma(carrier, me, peer) ? me : peer);
}

static np_ns syn_message_time(const struct syn_carrier *carrier, int32_t me, int32_t peer)
{
	int64_t bytes = syn_moved_by(carrier, me, peer);

	return bytes > 0 ? link_time(carrier, 0, me, peer, bytes, 1) : 0;
}

/* From the last arrival to the first byte of a message: the sender's copy into its buffer. */
static np_ns syn_message_prologue(const struct syn_instance *instance)
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

/* Laying out the tasks of one member. */
struct comm_layout {
	const struct syn_carrier *carrier;
	const struct syn_slot *slots;
	struct syn_sub_tasks *sub_tasks;
	int32_t me;
	np_ns start;
	np_ns arrival;
	np_ns end;
	int rc;
	struct np_err *err;
};

static void put(struct comm_layout *out, struct syn_sub_task task)
{
	struct syn_sub_task *slot;

	if (out->rc < 0)
		return;
	slot = np_vec_add(&out->sub_tasks->all, out->err);
	if (!slot) {
		out->rc = NP_E_NOMEM;
		return;
	}
	*slot = task;
}

static void put_notify(struct comm_layout *out, enum syn_sub_task_kind kind, int32_t plane,
		       int32_t peer, np_ns start, np_ns end)
{
	put(out, (struct syn_sub_task){ .start_ns = start,
					.end_ns = end > start ? end : start,
					.kind = (uint8_t)kind,
					.plane = (uint8_t)plane,
					.src = out->me,
					.dst = peer });
}

/* A copy within the device, on plane 0. */
static void put_local(struct comm_layout *out, np_ns start, np_ns length, int64_t size)
{
	put(out, (struct syn_sub_task){ .start_ns = start,
					.end_ns = start + length,
					.kind = SYN_COPY,
					.on_chip = true,
					.src = out->me,
					.dst = out->me,
					.size = size });
}

/* The first and the last task of an operator: a reduction of four bytes that marks its edges. */
static void put_edge(struct comm_layout *out, np_ns start)
{
	put(out, (struct syn_sub_task){ .start_ns = start,
					.end_ns = start + 600,
					.kind = SYN_REDUCE,
					.on_chip = true,
					.src = out->me,
					.dst = -1,
					.size = 4 });
}

/* An RDMA write: short tasks that post it, and waits until it is known to be complete. */
static void put_rdma(struct comm_layout *out, const struct syn_sub_task *payload, bool message)
{
	struct syn_sub_task task = *payload;
	np_ns start = payload->start_ns;
	np_ns end = payload->end_ns;
	int32_t plane = payload->plane;

	task.kind = SYN_RDMA_PAYLOAD;
	task.end_ns = start + 1200;
	put(out, task);
	put_notify(out, SYN_RDMA_NOTIFY, plane, payload->dst, start + 1500, start + 2200);
	if (!message) {
		put_notify(out, SYN_NOTIFY_WAIT, plane, payload->dst, start + 2500, end - 2500);
		put_notify(out, SYN_RDMA_NOTIFY, plane, payload->dst, end - 2200, end - 1500);
		put_notify(out, SYN_NOTIFY_WAIT, plane, payload->dst, end - 1200, end);
		return;
	}
	put_notify(out, SYN_NOTIFY_WAIT, plane, payload->dst, start + 2500, end);
}

static void put_payload(struct comm_layout *out, struct syn_sub_task payload, bool message)
{
	payload.src = out->me;
	if (syn_is_rdma(out->carrier, out->me, payload.dst))
		put_rdma(out, &payload, message);
	else
		put(out, payload);
}

static void lay_first_handshake(struct comm_layout *out, int32_t plane, int32_t peer, np_ns start)
{
	np_ns record = start + 4500 + (np_ns)100 * plane;
	np_ns wait = start + 6000 + (np_ns)50 * plane;

	put_notify(out, SYN_NOTIFY_RECORD, plane, peer, record, record + 700);
	put_notify(out, SYN_NOTIFY_WAIT, plane, peer, wait, out->slots[peer].start_ns + 6500);
}

static void lay_second_handshake(struct comm_layout *out, int32_t plane, int32_t peer, np_ns start)
{
	np_ns record = start + 1700 + (np_ns)50 * plane;
	np_ns wait = start + 2800 + (np_ns)20 * plane;

	put_notify(out, SYN_NOTIFY_RECORD, plane, peer, record, record + 700);
	put_notify(out, SYN_NOTIFY_WAIT, plane, peer, wait, wait + 600);
}

/* After its own payload a member waits for that of its peer. */
static void lay_closing(struct comm_layout *out, int32_t plane, int32_t peer, np_ns own_end,
			np_ns peer_end)
{
	put_notify(out, SYN_NOTIFY_RECORD, plane, peer, own_end + 300, own_end + 1000);
	put_notify(out, SYN_NOTIFY_WAIT, plane, peer, own_end + 1300, peer_end + 1500);
}

static enum syn_sub_task_kind payload_kind(int phase)
{
	return phase == 0 ? SYN_REDUCE : SYN_COPY;
}

static void lay_mesh_phase(struct comm_layout *out, int phase, np_ns start)
{
	const struct syn_carrier *carrier = out->carrier;

	for (int32_t plane = 1; plane <= carrier->planes; plane++) {
		int32_t peer = (out->me + plane) % carrier->size;
		np_ns own = syn_plane_time(carrier, phase, out->me, plane);
		/* On planes that serve several peers the one waited for is not the one named. */
		np_ns theirs = carrier->planes == carrier->size - 1
				       ? syn_plane_time(carrier, phase, peer, carrier->size - plane)
				       : own;

		put_payload(
			out,
			(struct syn_sub_task){ .start_ns = start,
					       .end_ns = start + own,
					       .kind = (uint8_t)payload_kind(phase),
					       .plane = (uint8_t)plane,
					       .dst = peer,
					       .size = syn_plane_bytes(carrier, out->me, plane) },
			false);
		lay_closing(out, plane, peer, start + own, start + theirs);
	}
}

/* Plane 1 carries data to the next member, plane 2 listens to the one before. */
static void lay_ring_phase(struct comm_layout *out, int phase, np_ns start)
{
	const struct syn_carrier *carrier = out->carrier;
	int32_t next = (out->me + 1) % carrier->size;
	int32_t before = (out->me + carrier->size - 1) % carrier->size;
	int32_t pieces = syn_ring_pieces(carrier);
	int64_t bytes = carrier->chunk * (carrier->size - 1);
	np_ns own = syn_ring_time(carrier, phase, out->me);
	np_ns theirs = syn_ring_time(carrier, phase, before);

	for (int32_t i = 0; i < pieces; i++)
		put_payload(out,
			    (struct syn_sub_task){ .start_ns = start + own * i / pieces,
						   .end_ns = start + own * (i + 1) / pieces,
						   .kind = (uint8_t)payload_kind(phase),
						   .plane = 1,
						   .dst = next,
						   .size = bytes * (i + 1) / pieces -
							   bytes * i / pieces },
			    false);
	put_notify(out, SYN_NOTIFY_RECORD, 1, next, start + own + 300, start + own + 1000);
	put_notify(out, SYN_NOTIFY_WAIT, 2, before, start + 500, start + theirs + 1500);
}

static void lay_planes(struct comm_layout *out, int phase, np_ns start)
{
	if (out->carrier->ring)
		lay_ring_phase(out, phase, start);
	else
		lay_mesh_phase(out, phase, start);
}

static void lay_peers(struct comm_layout *out,
		      void (*lay)(struct comm_layout *, int32_t, int32_t, np_ns), np_ns start)
{
	const struct syn_carrier *carrier = out->carrier;
	int32_t planes = carrier->ring ? 2 : carrier->planes;

	for (int32_t plane = 1; plane <= planes; plane++) {
		int32_t hop = carrier->ring && plane == 2 ? carrier->size - 1 : plane;

		lay(out, plane, (out->me + hop) % carrier->size, start);
	}
}

static void lay_collective(struct comm_layout *out)
{
	const struct syn_carrier *carrier = out->carrier;
	np_ns time = out->arrival + SYN_PROLOGUE;

	put_edge(out, out->start);
	put_local(out, out->start + 1800, 2400, carrier->chunk);
	lay_peers(out, lay_first_handshake, out->start);
	if (carrier->has_phase[0]) {
		lay_planes(out, 0, time);
		time += carrier->instance->phase_ns[0];
	}
	if (carrier->has_phase[0] && carrier->has_phase[1]) {
		lay_peers(out, lay_second_handshake, time);
		put_local(out, time + 1800, 1500, carrier->chunk);
		time += SYN_BETWEEN;
	}
	if (carrier->has_phase[1]) {
		lay_planes(out, 1, time);
		time += carrier->instance->phase_ns[1];
	}
	put_local(out, time + 1600, 2400, carrier->chunk);
	put_edge(out, out->end - 600);
}

/* All tasks of a message are on plane 0, one after the other. */
static void lay_message(struct comm_layout *out)
{
	const struct syn_carrier *carrier = out->carrier;
	const struct syn_instance *instance = carrier->instance;
	int32_t me = out->me;
	int32_t peer = me == instance->low ? me + 1 : me - 1;
	int64_t sent = syn_sent_by(instance, me);
	np_ns ready = out->start + syn_local_time(sent);
	np_ns peer_ready = out->slots[peer == instance->low ? 0 : 1].start_ns +
			   syn_local_time(syn_sent_by(instance, peer));
	np_ns payload = out->arrival + syn_message_prologue(instance);
	np_ns own = syn_message_time(carrier, me, peer);
	np_ns theirs = syn_message_time(carrier, peer, me);
	np_ns free_from = payload;

	if (sent > 0)
		put_local(out, out->start, syn_local_time(sent), sent);
	else
		put_edge(out, out->start);
	put_notify(out, SYN_NOTIFY_RECORD, 0, peer, ready + 500, ready + 1200);
	put_notify(out, SYN_NOTIFY_WAIT, 0, peer, ready + 1500, peer_ready + 2000);
	if (own > 0) {
		put_payload(out,
			    (struct syn_sub_task){ .start_ns = payload,
						   .end_ns = payload + own,
						   .kind = SYN_COPY,
						   .dst = peer,
						   .size = syn_moved_by(carrier, me, peer) },
			    true);
		put_notify(out, SYN_NOTIFY_RECORD, 0, peer, payload + own + 300,
			   payload + own + 1000);
		free_from = payload + own + 1300;
	}
	if (theirs > 0)
		put_notify(out, SYN_NOTIFY_WAIT, 0, peer, free_from, payload + theirs + 1500);
	put_edge(out, out->end - 600);
}

int syn_comm_tasks(struct syn_comm *comm, const struct syn_instance *instance,
		   const struct syn_slot *slots, int32_t rank, struct syn_sub_tasks *sub_tasks,
		   struct np_err *err)
{
	bool message = syn_op_is_p2p((enum syn_op)instance->op);
	const struct syn_group *group = &comm->groups->all.item[instance->group];
	int32_t me = syn_local_rank(group, rank);
	const struct syn_slot *slot = &slots[message ? me - instance->low : me];
	struct syn_carrier carrier;
	struct comm_layout out = {
		.carrier = &carrier,
		.slots = slots,
		.sub_tasks = sub_tasks,
		.me = me,
		.start = slot->start_ns,
		.arrival = instance->arrival_ns,
		.end = slot->end_ns,
		.err = err,
	};
	int rc = syn_carrier_prepare(comm, instance, &carrier, err);

	if (rc < 0)
		return rc;
	sub_tasks->all.count = 0;
	if (message)
		lay_message(&out);
	else
		lay_collective(&out);
	return out.rc;
}
