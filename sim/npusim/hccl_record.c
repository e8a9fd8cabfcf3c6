/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lines of an operator: itself, and the sub-tasks it is made of. Plane 0 is
 * the operator's stream, with copies inside the device; on planes 1… a member greets
 * a peer, waits for it, writes to it, and waits for what the peer writes.
 */
#include "hccl.h"
#include "raw.h"

enum sub_task {
	NOTIFY_RECORD,
	NOTIFY_WAIT,
	COPY,
	REDUCE,
	RDMA_PAYLOAD,
	RDMA_NOTIFY,
};

/* Values of the databases' enums. */
enum {
	INVALID = 65535,
	SDMA = 0,
	RDMA = 1,
	LOCAL = 2,
	ON_CHIP = 0,
	HCCS = 1,
	ROCE = 3,
};

static const struct {
	const char *name;
	const char *task_type;
	int rdma_type;
	int transport;
} sub_tasks[] = {
	[NOTIFY_RECORD] = { "Notify_Record", "Write Value", INVALID, SDMA },
	[NOTIFY_WAIT] = { "Notify_Wait", "Notify Wait", INVALID, LOCAL },
	[COPY] = { "Memcpy", "SDMA", INVALID, SDMA },
	[REDUCE] = { "Reduce_Inline", "SDMA", INVALID, SDMA },
	[RDMA_PAYLOAD] = { "RDMASend", "Write Value", 1, RDMA },
	[RDMA_NOTIFY] = { "RDMASend", "Write Value", 0, RDMA },
};

/* What all sub-tasks of an operator share. */
struct hccl_record_writer {
	const struct hccl_op_info *op;
	struct nsim_stream *stream;
	np_ns start;
	np_ns end;
	int64_t op_id;
};

struct hccl_record_piece {
	enum sub_task sub_task;
	int plane;
	uint32_t peer; /* NPUSIM_NO_ID: none */
	np_ns start;
	np_ns end;
	int64_t bytes;
};

static int64_t next_op_id;

static long long notify_id(const struct hccl_record_piece *piece)
{
	switch (piece->sub_task) {
	case NOTIFY_RECORD:
	case RDMA_NOTIFY:
		return (long long)piece->peer << 32 | (piece->plane * 8 + 4);
	case NOTIFY_WAIT:
		return piece->plane * 8 + 4;
	case COPY:
	case RDMA_PAYLOAD:
		return INT64_MAX;
	case REDUCE:
		break;
	}
	return 0;
}

static int link_of(const struct hccl_record_writer *writer, const struct hccl_record_piece *piece)
{
	bool within = piece->peer == NPUSIM_NO_ID || piece->peer == writer->op->comm->rank;

	switch (piece->sub_task) {
	case COPY:
	case REDUCE:
		return within ? ON_CHIP : HCCS;
	case RDMA_PAYLOAD:
	case RDMA_NOTIFY:
		return ROCE;
	case NOTIFY_RECORD:
	case NOTIFY_WAIT:
		break;
	}
	return INVALID;
}

static double bandwidth_of(const struct hccl_record_piece *piece)
{
	bool payload = piece->sub_task == COPY || piece->sub_task == REDUCE;

	return payload && piece->end > piece->start
		       ? (double)piece->bytes / (double)(piece->end - piece->start) * 1e9
		       : 0;
}

static void put(const struct hccl_record_writer *writer, struct hccl_record_piece piece)
{
	const struct hccl_comm *comm = writer->op->comm;
	struct nsim_task task = {
		.device = nsim_stream_device(writer->stream),
		.stream = piece.plane == 0 ? nsim_stream_id(writer->stream)
					   : comm->planes[piece.plane],
		.task_id = nsim_stream_next_task(writer->stream),
		.connection = writer->op->connection,
		.start = piece.start,
		.end = piece.end > piece.start ? piece.end : piece.start,
		.type = sub_tasks[piece.sub_task].task_type,
		.whole_start = writer->start,
		.whole_end = writer->end,
	};
	int64_t id = nsim_record_task(&task);

	if (!nsim_records(ACL_PROF_HCCL_TRACE)) {
		nsim_record(task.device, writer->start, writer->end,
			    "COMMTASK\t%lld\t%lld\t-\t-\t-\t-\t-\t-\t-\t-\t-\t-\t-\t-",
			    (long long)id, (long long)writer->op_id);
		return;
	}
	nsim_record(task.device, writer->start, writer->end,
		    "COMMTASK\t%lld\t%lld\t%s\t%d\t%lld\t%d\t%u\t%u\t%d\t%lld\t%d\t%d\t%d\t%.0f",
		    (long long)id, (long long)writer->op_id, sub_tasks[piece.sub_task].name,
		    piece.plane, notify_id(&piece), sub_tasks[piece.sub_task].rdma_type, comm->rank,
		    piece.peer, sub_tasks[piece.sub_task].transport,
		    (long long)(piece.sub_task == RDMA_NOTIFY ? 4 : piece.bytes),
		    piece.sub_task == REDUCE ? writer->op->type : INVALID, link_of(writer, &piece),
		    piece.plane == 0, bandwidth_of(&piece));
}

/* FNV-like double hash of the name, of which CANN shows the last three digits. */
static unsigned group_suffix(const char *name)
{
	uint32_t high = 0;
	uint32_t low = 0;

	for (; *name; name++) {
		high = high * 29 + (unsigned char)*name;
		low = low * 131 + (unsigned char)*name;
	}
	return (unsigned)(((uint64_t)high << 32 | low) % 1000);
}

/* The COMM line; false if operators are not recorded at all. */
static bool begin(struct hccl_record_writer *writer)
{
	const struct hccl_op_info *op = writer->op;
	bool detail = nsim_records(ACL_PROF_TASK_TIME | ACL_PROF_HCCL_TRACE);
	char name[80];
	char type[48];
	char count[24];
	char data_type[16];

	if (!nsim_records(ACL_PROF_TASK_TIME | ACL_PROF_TASK_TIME_L0))
		return false;
	writer->op_id = next_op_id++;
	(void)snprintf(type, sizeof(type), "hcom_%s_", hccl_word(op->kind));
	(void)snprintf(name, sizeof(name), "%s_%03u_%llu_1", type, group_suffix(op->comm->name),
		       (unsigned long long)op->index);
	(void)snprintf(count, sizeof(count), "%llu", (unsigned long long)op->count);
	(void)snprintf(data_type, sizeof(data_type), "%d", op->type);
	nsim_record(nsim_stream_device(writer->stream), writer->start, writer->end,
		    "COMM\t%lld\t%lld\t%lld\t%u\t%s\t%s\t%s\t%s\t%s\t%s\t%u\t0\t0",
		    (long long)writer->op_id, (long long)np_realtime_at(writer->start),
		    (long long)np_realtime_at(writer->end), op->connection,
		    nsim_text(op->comm->name), name, detail ? type : NPUSIM_UNSET,
		    detail ? count : NPUSIM_UNSET, detail ? data_type : NPUSIM_UNSET,
		    detail ? "MESH-RING" : NPUSIM_UNSET, op->comm->size);
	return true;
}

/* The first and the last task: a reduction of four bytes that marks the edges. */
static void put_edge(const struct hccl_record_writer *writer, np_ns start)
{
	put(writer, (struct hccl_record_piece){ REDUCE, 0, NPUSIM_NO_ID, start, start + 600, 4 });
}

static void put_local(const struct hccl_record_writer *writer, np_ns start, int64_t bytes)
{
	put(writer, (struct hccl_record_piece){ COPY, 0, writer->op->comm->rank, start,
						start + 2400, bytes });
}

/* An RDMA write: tasks that post it, and waits until it is known to be complete. */
static void put_rdma(const struct hccl_record_writer *writer, struct hccl_record_piece payload)
{
	int plane = payload.plane;
	uint32_t peer = payload.peer;
	np_ns start = payload.start;
	np_ns end = payload.end;

	payload.sub_task = RDMA_PAYLOAD;
	payload.end = start + 1200;
	put(writer, payload);
	put(writer,
	    (struct hccl_record_piece){ RDMA_NOTIFY, plane, peer, start + 1500, start + 2200, 0 });
	put(writer,
	    (struct hccl_record_piece){ NOTIFY_WAIT, plane, peer, start + 2500, end - 2500, 0 });
	put(writer,
	    (struct hccl_record_piece){ RDMA_NOTIFY, plane, peer, end - 2200, end - 1500, 0 });
	put(writer, (struct hccl_record_piece){ NOTIFY_WAIT, plane, peer, end - 1200, end, 0 });
}

static void put_payload(const struct hccl_record_writer *writer, struct hccl_record_piece payload)
{
	if (hccl_is_rdma(writer->op->comm, writer->op->comm->rank, payload.peer))
		put_rdma(writer, payload);
	else
		put(writer, payload);
}

/* Write to a peer in one phase, then wait for what it writes. */
static void put_exchange(const struct hccl_record_writer *writer, const struct hccl_times *times,
			 int phase, int plane, uint32_t round, uint32_t peer)
{
	const struct hccl_op_info *op = writer->op;
	uint32_t me = op->comm->rank;
	np_ns start = times->phase[phase] + (np_ns)round * times->round[phase];
	np_ns own_end = start;

	if (hccl_sends(op, phase, me, peer)) {
		own_end = start + hccl_pair_time(op->comm, me, peer, op->bytes);
		put_payload(writer, (struct hccl_record_piece){ phase == 0 ? REDUCE : COPY, plane,
								peer, start, own_end, op->bytes });
		put(writer, (struct hccl_record_piece){ NOTIFY_RECORD, plane, peer, own_end + 300,
							own_end + 1000, 0 });
	}
	if (hccl_sends(op, phase, peer, me))
		put(writer,
		    (struct hccl_record_piece){
			    NOTIFY_WAIT, plane, peer, own_end + 1300,
			    start + hccl_pair_time(op->comm, peer, me, op->bytes) + 1500, 0 });
}

static void put_peer(const struct hccl_record_writer *writer, const struct hccl_times *times,
		     uint32_t hop)
{
	const struct hccl_comm *comm = writer->op->comm;
	uint32_t peer = (comm->rank + hop) % comm->size;
	int plane = 1 + (int)((hop - 1) % HCCL_PLANES);
	uint32_t round = (hop - 1) / HCCL_PLANES;
	np_ns record = writer->start + 4500 + (np_ns)100 * plane;
	np_ns wait = writer->start + 6000 + (np_ns)50 * plane;

	if (round == 0) {
		put(writer, (struct hccl_record_piece){ NOTIFY_RECORD, plane, peer, record,
							record + 700, 0 });
		put(writer, (struct hccl_record_piece){ NOTIFY_WAIT, plane, peer, wait,
							times->arrivals[peer] + 6500, 0 });
	}
	for (int phase = 0; phase < 2; phase++) {
		if (times->phase[phase] >= 0)
			put_exchange(writer, times, phase, plane, round, peer);
	}
}

void hccl_record_collective(const struct hccl_op_info *op, struct nsim_stream *stream,
			    const struct hccl_times *times)
{
	struct hccl_record_writer writer = {
		.op = op, .stream = stream, .start = times->start, .end = times->end
	};

	if (!begin(&writer))
		return;
	put_edge(&writer, writer.start);
	put_local(&writer, writer.start + 1800, op->bytes);
	for (uint32_t hop = 1; hop < op->comm->size; hop++)
		put_peer(&writer, times, hop);
	put_local(&writer, writer.end - 4000, op->bytes);
	put_edge(&writer, writer.end - 600);
}

/* All tasks of a message are on plane 0. Within a host the receiver fetches the data. */
static void put_message(const struct hccl_record_writer *writer, const struct hccl_message *message)
{
	const struct hccl_comm *comm = writer->op->comm;
	bool rdma = hccl_is_rdma(comm, comm->rank, message->peer);
	np_ns ready = writer->start + 3200;

	put(writer,
	    (struct hccl_record_piece){ NOTIFY_RECORD, 0, message->peer, ready, ready + 700, 0 });
	put(writer, (struct hccl_record_piece){ NOTIFY_WAIT, 0, message->peer, ready + 1000,
						message->start - 500, 0 });
	if (rdma ? message->is_send : !message->is_send)
		put_payload(writer,
			    (struct hccl_record_piece){ COPY, 0, message->peer, message->start,
							message->end, message->bytes });
	else
		put(writer, (struct hccl_record_piece){ NOTIFY_WAIT, 0, message->peer,
							message->start, message->end, 0 });
}

void hccl_record_messages(const struct hccl_op_info *op, struct nsim_stream *stream, np_ns start,
			  np_ns end, const struct hccl_message *messages, size_t count)
{
	struct hccl_record_writer writer = {
		.op = op, .stream = stream, .start = start, .end = end
	};

	if (!begin(&writer))
		return;
	put_edge(&writer, start);
	for (size_t i = 0; i < count; i++)
		put_message(&writer, &messages[i]);
	put_edge(&writer, end - 600);
}
