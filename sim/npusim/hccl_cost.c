/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long transfers take: every pair of members has a link of its own within a
 * host; members of different hosts share what a network card has. Round numbers of
 * a plausible size, no model of a machine.
 */
#include "hccl.h"

bool hccl_is_rdma(const struct hccl_comm *comm, uint32_t a, uint32_t b)
{
	return strncmp(comm->members[a].host, comm->members[b].host,
		       sizeof(comm->members[a].host)) != 0;
}

static uint32_t remote_peers(const struct hccl_comm *comm, uint32_t member)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < comm->size; i++)
		count += hccl_is_rdma(comm, member, i);
	return count;
}

static bool is_slow_link(const struct hccl_comm *comm, uint32_t a, uint32_t b)
{
	const struct nsim_knobs *knobs = nsim_knobs();
	int64_t from = comm->members[a].world_rank;
	int64_t to = comm->members[b].world_rank;

	return (from == knobs->slow_link[0] && to == knobs->slow_link[1]) ||
	       (from == knobs->slow_link[1] && to == knobs->slow_link[0]);
}

np_ns hccl_pair_time(const struct hccl_comm *comm, uint32_t from, uint32_t to, int64_t bytes)
{
	const struct nsim_knobs *knobs = nsim_knobs();
	bool rdma = hccl_is_rdma(comm, from, to);
	double gbps = rdma ? knobs->rdma_gbps / remote_peers(comm, from) : knobs->hccs_gbps;
	double time = (rdma ? 12000 : 2000) + (double)bytes / gbps;

	return (np_ns)(is_slow_link(comm, from, to) ? time * knobs->slow_link_factor : time);
}

static bool has_phase(enum hccl_kind kind, int phase)
{
	switch (kind) {
	case HCCL_ALL_REDUCE:
		return true;
	case HCCL_REDUCE_SCATTER:
	case HCCL_REDUCE_SCATTER_V:
	case HCCL_REDUCE:
		return phase == 0;
	default:
		return phase == 1;
	}
}

bool hccl_sends(const struct hccl_op_info *op, int phase, uint32_t from, uint32_t to)
{
	if (from == to || !has_phase(op->kind, phase))
		return false;
	switch (op->kind) {
	case HCCL_BROADCAST:
	case HCCL_SCATTER:
		return from == op->root;
	case HCCL_REDUCE:
		return to == op->root;
	default:
		return true;
	}
}

static np_ns longest_pair(const struct hccl_op_info *op, int phase)
{
	np_ns longest = 0;

	for (uint32_t from = 0; from < op->comm->size; from++) {
		for (uint32_t to = 0; to < op->comm->size; to++) {
			np_ns time = hccl_sends(op, phase, from, to)
					     ? hccl_pair_time(op->comm, from, to, op->bytes)
					     : 0;

			if (time > longest)
				longest = time;
		}
	}
	return longest;
}

void hccl_schedule(const struct hccl_op_info *op, struct hccl_times *times)
{
	uint32_t size = op->comm->size;
	np_ns rounds = size > 1 ? (size - 1 + HCCL_PLANES - 1) / HCCL_PLANES : 0;
	np_ns now = times->start;

	for (uint32_t i = 0; i < size; i++) {
		if (times->arrivals[i] > now)
			now = times->arrivals[i];
	}
	now += HCCL_PROLOGUE;
	for (int phase = 0; phase < 2; phase++) {
		times->phase[phase] = -1;
		times->round[phase] = 0;
		if (rounds == 0 || !has_phase(op->kind, phase))
			continue;
		times->phase[phase] = now;
		times->round[phase] = longest_pair(op, phase);
		now += rounds * times->round[phase] + HCCL_BETWEEN;
	}
	times->end = now + HCCL_EPILOGUE;
}
