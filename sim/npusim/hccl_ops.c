/* SPDX-License-Identifier: Apache-2.0 */
/* libhccl.so: operators in a stream, and their rendezvous. */
#include "hccl.h"
#include "raw.h"

static const struct {
	const char *word;
	const char *call;
} kinds[HCCL_KINDS] = {
	[HCCL_ALL_REDUCE] = { "allReduce", "HcclAllReduce" },
	[HCCL_BROADCAST] = { "broadcast", "HcclBroadcast" },
	[HCCL_ALL_GATHER] = { "allGather", "HcclAllGather" },
	[HCCL_REDUCE_SCATTER] = { "reduceScatter", "HcclReduceScatter" },
	[HCCL_REDUCE] = { "reduce", "HcclReduce" },
	[HCCL_SCATTER] = { "scatter", "HcclScatter" },
	[HCCL_ALL_TO_ALL] = { "alltoall", "HcclAlltoAll" },
	[HCCL_ALL_TO_ALL_V] = { "alltoallv", "HcclAlltoAllV" },
	[HCCL_ALL_TO_ALL_VC] = { "alltoallvc", "HcclAlltoAllVC" },
	[HCCL_ALL_GATHER_V] = { "allGatherV", "HcclAllGatherV" },
	[HCCL_REDUCE_SCATTER_V] = { "reduceScatterV", "HcclReduceScatterV" },
	[HCCL_BARRIER] = { "barrier", "HcclBarrier" },
	[HCCL_SEND] = { "send", "HcclSend" },
	[HCCL_RECEIVE] = { "receive", "HcclRecv" },
	[HCCL_BATCH] = { "batchSendRecv", "HcclBatchSendRecv" },
};

const char *hccl_word(enum hccl_kind kind)
{
	return kinds[kind].word;
}

const char *hccl_call(enum hccl_kind kind)
{
	return kinds[kind].call;
}

int64_t hccl_type_bytes(HcclDataType type)
{
	switch (type) {
	case HCCL_INT8:
	case HCCL_UINT8:
	case HCCL_HIF8:
	case HCCL_FP8E4M3:
	case HCCL_FP8E5M2:
	case HCCL_FP8E8M0:
		return 1;
	case HCCL_INT16:
	case HCCL_UINT16:
	case HCCL_FP16:
	case HCCL_BFP16:
		return 2;
	case HCCL_INT32:
	case HCCL_UINT32:
	case HCCL_FP32:
		return 4;
	case HCCL_INT64:
	case HCCL_UINT64:
	case HCCL_FP64:
		return 8;
	case HCCL_INT128:
		return 16;
	default:
		return -1;
	}
}

/* One operator in a stream; messages only for sends and receives. */
struct operator
{
	struct nsim_op op;
	struct hccl_op_info info;
	uint64_t number; /* of the collective, from 1 */
	bool posted;
	np_ns start; /* fixed when it is posted */
	np_ns deadline;
	size_t count;
	uint64_t *numbers; /* of the messages in their channels */
	struct hccl_message messages[];
};

static void release(struct nsim_op *op)
{
	struct operator* operator=(struct operator*) op;

	operator->info.comm->in_flight--;
	free(operator->numbers);
	free(operator);
}

/* Somebody is missing: wait on, or give up after the time-out. */
static enum nsim_progress not_yet(struct operator* operator)
{
	if (nsim_true_ns() < operator->deadline)
		return NSIM_WAITING;
	operator->info.comm->broken = true;
	return NSIM_BROKEN;
}

static void write_post(struct hccl_post *post, uint64_t number, np_ns arrival, int64_t bytes,
		       enum hccl_kind kind)
{
	post->arrival = arrival;
	post->bytes = bytes;
	post->kind = kind;
	atomic_store_explicit(&post->number, number, memory_order_release);
}

static bool is_posted(struct hccl_post *post, uint64_t number)
{
	return atomic_load_explicit(&post->number, memory_order_acquire) >= number;
}

static void mark_posted(struct operator* operator, np_ns start)
{
	operator->posted = true;
	operator->start = start;
	operator->deadline = nsim_true_ns() + nsim_knobs()->hccl_timeout;
}

/* --- Collectives -------------------------------------------------------------------------- */

static bool all_posted(const struct operator* operator)
{
	const struct hccl_comm *comm = operator->info.comm;

	for (uint32_t i = 0; i < comm->size; i++) {
		if (!is_posted(hccl_post_of(comm, operator->number, i), operator->number))
			return false;
	}
	return true;
}

/* All have arrived: compute when it ends. False if they do not do the same thing. */
static bool finish(struct operator* operator, struct nsim_stream * stream, np_ns *end)
{
	struct hccl_comm *comm = operator->info.comm;
	np_ns *arrivals = calloc(comm->size, sizeof(*arrivals));
	struct hccl_times times = { .start = operator->start, .arrivals = arrivals };

	if (!arrivals)
		return false;
	for (uint32_t i = 0; i < comm->size; i++) {
		const struct hccl_post *post = hccl_post_of(comm, operator->number, i);

		if (post->kind != operator->info.kind) {
			free(arrivals);
			return false;
		}
		arrivals[i] = post->arrival;
		/* Members of an all-to-all bring different amounts: the largest decides. */
		if (post->bytes > operator->info.bytes)
			operator->info.bytes = post->bytes;
	}
	hccl_schedule(&operator->info, &times);
	hccl_record_collective(&operator->info, stream, &times);
	comm->done++;
	*end = times.end;
	free(arrivals);
	return true;
}

static enum nsim_progress run_collective(struct nsim_op *op, struct nsim_stream *stream,
					 np_ns start, np_ns *end)
{
	struct operator* operator=(struct operator*) op;
	struct hccl_comm *comm = operator->info.comm;

	if (comm->broken || nsim_stream_error(stream))
		return NSIM_BROKEN;
	if (comm->done + 1 != operator->number)
		return NSIM_WAITING;
	if (!operator->posted) {
		mark_posted(operator, start);
		write_post(hccl_post_of(comm, operator->number, comm->rank), operator->number,
			   start, operator->info.bytes, operator->info.kind);
	}
	if (!all_posted(operator))
		return not_yet(operator);
	if (finish(operator, stream, end))
		return NSIM_DONE;
	comm->broken = true;
	return NSIM_BROKEN;
}

/* --- Messages ----------------------------------------------------------------------------- */

/* The two sides of message `i` in its channel. */
static void sides(const struct operator* operator, size_t i, struct hccl_post **mine,
		  struct hccl_post **theirs)
{
	const struct hccl_comm *comm = operator->info.comm;
	const struct hccl_message *message = &operator->messages[i];
	size_t slot = operator->numbers[i] % HCCL_SLOTS;
	struct hccl_channel *channel = message->is_send
					       ? hccl_channel_of(comm, comm->rank, message->peer)
					       : hccl_channel_of(comm, message->peer, comm->rank);

	*mine = message->is_send ? &channel->sent[slot] : &channel->received[slot];
	*theirs = message->is_send ? &channel->received[slot] : &channel->sent[slot];
}

static uint64_t *done_count(const struct operator* operator, size_t i)
{
	const struct hccl_message *message = &operator->messages[i];
	const struct hccl_comm *comm = operator->info.comm;

	return message->is_send ? &comm->sends_done[message->peer]
				: &comm->receives_done[message->peer];
}

/* Every message is the next one of its channel. */
static bool is_next(const struct operator* operator)
{
	for (size_t i = 0; i < operator->count; i++) {
		if (*done_count(operator, i) + 1 != operator->numbers[i])
			return false;
	}
	return true;
}

static void post_messages(struct operator* operator, np_ns start)
{
	mark_posted(operator, start);
	for (size_t i = 0; i < operator->count; i++) {
		struct hccl_post *mine;
		struct hccl_post *theirs;

		sides(operator, i, &mine, &theirs);
		write_post(mine, operator->numbers[i],
			   start, operator->messages[i].bytes, operator->info.kind);
	}
}

static bool peers_posted(const struct operator* operator)
{
	for (size_t i = 0; i < operator->count; i++) {
		struct hccl_post *mine;
		struct hccl_post *theirs;

		sides(operator, i, &mine, &theirs);
		if (!is_posted(theirs, operator->numbers[i]))
			return false;
	}
	return true;
}

static void finish_messages(struct operator* operator, struct nsim_stream * stream, np_ns *end)
{
	const struct hccl_comm *comm = operator->info.comm;

	*end = operator->start + HCCL_EPILOGUE;
	for (size_t i = 0; i < operator->count; i++) {
		struct hccl_message *message = &operator->messages[i];
		struct hccl_post *mine;
		struct hccl_post *theirs;

		sides(operator, i, &mine, &theirs);
		message->peer_arrival = theirs->arrival;
		message->start =
			(theirs->arrival > operator->start ? theirs->arrival : operator->start) +
			HCCL_PROLOGUE;
		message->end =
			message->start +
			(message->is_send
				 ? hccl_pair_time(comm, comm->rank, message->peer, message->bytes)
				 : hccl_pair_time(comm, message->peer, comm->rank, message->bytes));
		if (message->end + HCCL_EPILOGUE > *end)
			*end = message->end + HCCL_EPILOGUE;
		++*done_count(operator, i);
	}
	hccl_record_messages(&operator->info, stream, operator->start,
			     *end, operator->messages, operator->count);
}

static enum nsim_progress run_messages(struct nsim_op *op, struct nsim_stream *stream, np_ns start,
				       np_ns *end)
{
	struct operator* operator=(struct operator*) op;

	if (operator->info.comm->broken || nsim_stream_error(stream))
		return NSIM_BROKEN;
	if (!operator->posted) {
		if (!is_next(operator))
			return NSIM_WAITING;
		post_messages(operator, start);
	}
	if (!peers_posted(operator))
		return not_yet(operator);
	finish_messages(operator, stream, end);
	return NSIM_DONE;
}

/* --- Launching ---------------------------------------------------------------------------- */

static struct operator* new_operator(struct hccl_op_info info, size_t messages)
{
	struct operator* operator=
		calloc(1, sizeof(*operator) + messages * sizeof(operator->messages[0]));

	if (!operator)
		return NULL;
	operator->numbers = calloc(messages + 1, sizeof(*operator->numbers));
	if (!operator->numbers) {
		free(operator);
		return NULL;
	}
	operator->info = info;
	operator->count = messages;
	operator->op =(struct nsim_op){ .launched = nsim_true_ns() + 12000,
					.run = messages ? run_messages : run_collective,
					.release = release };
	return operator;
}

/* Number what was launched, in the order of launching, and push it. Locked. */
static HcclResult push(struct operator* operator, struct nsim_stream * stream)
{
	struct hccl_comm *comm = operator->info.comm;

	operator->info.index = comm->operators++;
	comm->in_flight++;
	if (operator->count == 0)
		operator->number = ++ comm->launched;
	for (size_t i = 0; i < operator->count; i++) {
		const struct hccl_message *message = &operator->messages[i];

		operator->numbers[i] = message->is_send ? ++comm->sends[message->peer]
							: ++ comm->receives[message->peer];
	}
	return nsim_stream_push(stream, &operator->op) == ACL_SUCCESS ? HCCL_SUCCESS
								      : HCCL_E_MEMORY;
}

HcclResult hccl_launch(struct hccl_op_info info, aclrtStream handle,
		       const struct hccl_message *messages, size_t count)
{
	np_ns start = nsim_true_ns();
	struct nsim_stream *stream;
	struct operator* operator;
	HcclResult rc = HCCL_E_PARA;

	info.connection = nsim_connection();
	operator= new_operator(info, count);
	if (!operator)
		return HCCL_E_MEMORY;
	if (count > 0)
		memcpy(operator->messages, messages, count * sizeof(messages[0]));
	nsim_lock();
	stream = nsim_stream_of(handle);
	if (stream) {
		rc = push(operator, stream);
	} else {
		free(operator->numbers);
		free(operator);
	}
	nsim_unlock();
	nsim_record_call(NPUSIM_API_COMM, start, info.connection, hccl_word(info.kind));
	nsim_record_call(NPUSIM_API_ACL, start, nsim_connection(), hccl_call(info.kind));
	return rc;
}
