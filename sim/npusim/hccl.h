/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NSIM_HCCL_H
#define NSIM_HCCL_H

#include <stdatomic.h>

#include "nsim.h"

/*
 * Communicators over shared memory
 * ================================
 *
 * The members of a communicator share a segment. For each operator a member posts
 * when its device arrived there (true time) and how much it brings; when all have
 * posted, each computes by itself when the transfer begins (after the last arrival)
 * and ends. Nobody blocks but the streams concerned, and no data is moved.
 *
 * An operator is posted only after the one before it on the same communicator (or
 * channel between two members) is done. So two slots are enough: whoever writes
 * number s+2 has seen all members post s+1, and they did so after reading s.
 */

#define HCCL_SLOTS 2

struct hccl_post {
	_Atomic uint64_t number; /* of the operator, from 1 */
	np_ns arrival;
	int64_t bytes; /* for one peer */
	uint64_t kind;
};

/* One direction between two members. */
struct hccl_channel {
	struct hccl_post sent[HCCL_SLOTS];
	struct hccl_post received[HCCL_SLOTS];
};

struct hccl_member {
	int64_t world_rank; /* -1 unknown */
	char host[64];      /* empty: the same for all */
};

struct hccl_segment {
	_Atomic uint32_t joined;
	uint32_t size;
};

struct hccl_comm {
	char name[HCCL_COMM_NAME_MAX];
	char segment_name[200];
	uint32_t size;
	uint32_t rank;
	struct hccl_segment *segment;
	size_t segment_bytes;
	struct hccl_member *members;
	struct hccl_post *posts;       /* [slot][member] */
	struct hccl_channel *channels; /* [from][to] */
	uint64_t launched;             /* collectives, in the order of their launch */
	uint64_t done;
	uint64_t *sends; /* launched, by peer */
	uint64_t *receives;
	uint64_t *sends_done;
	uint64_t *receives_done;
	uint64_t operators; /* launched, of all kinds: the index in their names */
	uint64_t in_flight; /* of these, not done */
	int32_t planes[8];  /* stream ids of planes 1… */
	bool broken;        /* a peer did not come in time */
};

/* Map the segment, join it and wait for the others. */
HcclResult hccl_segment_join(struct hccl_comm *comm);
void hccl_segment_leave(struct hccl_comm *comm);

static inline struct hccl_post *hccl_post_of(const struct hccl_comm *comm, uint64_t number,
					     uint32_t member)
{
	return &comm->posts[number % HCCL_SLOTS * comm->size + member];
}

static inline struct hccl_channel *hccl_channel_of(const struct hccl_comm *comm, uint32_t from,
						   uint32_t to)
{
	return &comm->channels[(size_t)from * comm->size + to];
}

enum hccl_kind {
	HCCL_ALL_REDUCE,
	HCCL_BROADCAST,
	HCCL_ALL_GATHER,
	HCCL_REDUCE_SCATTER,
	HCCL_REDUCE,
	HCCL_SCATTER,
	HCCL_ALL_TO_ALL,
	HCCL_ALL_TO_ALL_V,
	HCCL_ALL_TO_ALL_VC,
	HCCL_ALL_GATHER_V,
	HCCL_REDUCE_SCATTER_V,
	HCCL_BARRIER,
	HCCL_SEND,
	HCCL_RECEIVE,
	HCCL_BATCH,
	HCCL_KINDS,
};

/* "allReduce", and "HcclAllReduce". */
const char *hccl_word(enum hccl_kind kind);
const char *hccl_call(enum hccl_kind kind);

/* What an operator is, whatever it is called. */
struct hccl_op_info {
	struct hccl_comm *comm;
	enum hccl_kind kind;
	uint32_t root;
	uint64_t count;
	HcclDataType type;
	int64_t bytes; /* for one peer */
	uint32_t connection;
	uint64_t index;
};

int64_t hccl_type_bytes(HcclDataType type);

/* Put an operator on a stream, with its messages if it consists of some. */
struct hccl_message;
HcclResult hccl_launch(struct hccl_op_info info, aclrtStream handle,
		       const struct hccl_message *messages, size_t count);

/* --- The model of links (hccl_cost.c) ----------------------------------------------------- */

bool hccl_is_rdma(const struct hccl_comm *comm, uint32_t a, uint32_t b);
np_ns hccl_pair_time(const struct hccl_comm *comm, uint32_t from, uint32_t to, int64_t bytes);

/* Does `from` send something to `to` in phase 0 (reducing) or 1 (gathering)? */
bool hccl_sends(const struct hccl_op_info *op, int phase, uint32_t from, uint32_t to);

/* Peers beyond seven share planes, one round after the other. */
#define HCCL_PLANES   7
#define HCCL_PROLOGUE 8000
#define HCCL_BETWEEN  4000
#define HCCL_EPILOGUE 6000

struct hccl_times {
	np_ns start;           /* own arrival */
	const np_ns *arrivals; /* of all members */
	np_ns phase[2];        /* when they begin; -1: there is none */
	np_ns round[2];        /* how long each round of them takes */
	np_ns end;
};

/* When an operator happens, from the arrivals of all. */
void hccl_schedule(const struct hccl_op_info *op, struct hccl_times *times);

/* --- Recording (hccl_record.c) ------------------------------------------------------------ */

void hccl_record_collective(const struct hccl_op_info *op, struct nsim_stream *stream,
			    const struct hccl_times *times);

struct hccl_message {
	uint32_t peer;
	bool is_send;
	int64_t bytes;
	np_ns peer_arrival;
	np_ns start; /* of the payload */
	np_ns end;
};

void hccl_record_messages(const struct hccl_op_info *op, struct nsim_stream *stream, np_ns start,
			  np_ns end, const struct hccl_message *messages, size_t count);

#endif /* NSIM_HCCL_H */
