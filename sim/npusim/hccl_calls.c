/* SPDX-License-Identifier: Apache-2.0 */
/* libhccl.so: the calls that launch operators. */
#include "hccl.h"

/* A collective of `count` elements, of which each peer gets `bytes`. */
static HcclResult collective(enum hccl_kind kind, uint64_t count, HcclDataType type, int64_t bytes,
			     uint32_t root, HcclComm comm, aclrtStream stream)
{
	if (!comm)
		return HCCL_E_PTR;
	if (hccl_type_bytes(type) < 0 || root >= ((const struct hccl_comm *)comm)->size)
		return HCCL_E_PARA;
	return hccl_launch((struct hccl_op_info){ .comm = comm,
						  .kind = kind,
						  .root = root,
						  .count = count,
						  .type = type,
						  .bytes = bytes },
			   stream, NULL, 0);
}

static int64_t bytes_of(uint64_t count, HcclDataType type)
{
	return (int64_t)count * hccl_type_bytes(type);
}

/* An n-th of it, for each member. */
static int64_t share_of(uint64_t count, HcclDataType type, HcclComm comm)
{
	uint32_t size = comm ? ((const struct hccl_comm *)comm)->size : 1;

	return (bytes_of(count, type) + size - 1) / size;
}

HcclResult HcclAllReduce(void *send, void *recv, uint64_t count, HcclDataType type, HcclReduceOp op,
			 HcclComm comm, aclrtStream stream)
{
	(void)op;
	NSIM_MAY_FAIL("HcclAllReduce");
	if (!send || !recv)
		return HCCL_E_PTR;
	return collective(HCCL_ALL_REDUCE, count, type, share_of(count, type, comm), 0, comm,
			  stream);
}

HcclResult HcclBroadcast(void *buf, uint64_t count, HcclDataType type, uint32_t root, HcclComm comm,
			 aclrtStream stream)
{
	NSIM_MAY_FAIL("HcclBroadcast");
	if (!buf)
		return HCCL_E_PTR;
	return collective(HCCL_BROADCAST, count, type, bytes_of(count, type), root, comm, stream);
}

HcclResult HcclAllGather(void *send, void *recv, uint64_t count, HcclDataType type, HcclComm comm,
			 aclrtStream stream)
{
	NSIM_MAY_FAIL("HcclAllGather");
	if (!send || !recv)
		return HCCL_E_PTR;
	return collective(HCCL_ALL_GATHER, count, type, bytes_of(count, type), 0, comm, stream);
}

HcclResult HcclReduceScatter(void *send, void *recv, uint64_t recvCount, HcclDataType type,
			     HcclReduceOp op, HcclComm comm, aclrtStream stream)
{
	(void)op;
	NSIM_MAY_FAIL("HcclReduceScatter");
	if (!send || !recv)
		return HCCL_E_PTR;
	return collective(HCCL_REDUCE_SCATTER, recvCount, type, bytes_of(recvCount, type), 0, comm,
			  stream);
}

HcclResult HcclReduce(void *send, void *recv, uint64_t count, HcclDataType type, HcclReduceOp op,
		      uint32_t root, HcclComm comm, aclrtStream stream)
{
	(void)op;
	NSIM_MAY_FAIL("HcclReduce");
	if (!send || !recv)
		return HCCL_E_PTR;
	return collective(HCCL_REDUCE, count, type, bytes_of(count, type), root, comm, stream);
}

HcclResult HcclScatter(void *send, void *recv, uint64_t count, HcclDataType type, uint32_t root,
		       HcclComm comm, aclrtStream stream)
{
	(void)send; /* NULL except on the root */
	NSIM_MAY_FAIL("HcclScatter");
	if (!recv)
		return HCCL_E_PTR;
	return collective(HCCL_SCATTER, count, type, bytes_of(count, type), root, comm, stream);
}

HcclResult HcclAlltoAll(const void *send, uint64_t sendCount, HcclDataType sendType,
			const void *recv, uint64_t recvCount, HcclDataType recvType, HcclComm comm,
			aclrtStream stream)
{
	NSIM_MAY_FAIL("HcclAlltoAll");
	if (!send || !recv)
		return HCCL_E_PTR;
	if (bytes_of(sendCount, sendType) != bytes_of(recvCount, recvType))
		return HCCL_E_PARA;
	return collective(HCCL_ALL_TO_ALL, sendCount, sendType, bytes_of(sendCount, sendType), 0,
			  comm, stream);
}

/* The sum and the largest of a list of counts. */
static void sum_counts(const uint64_t *counts, uint32_t n, uint64_t *sum, uint64_t *largest)
{
	*sum = 0;
	*largest = 0;
	for (uint32_t i = 0; i < n; i++) {
		*sum += counts[i];
		if (counts[i] > *largest)
			*largest = counts[i];
	}
}

static HcclResult varying(enum hccl_kind kind, const void *counts, HcclDataType type, HcclComm comm,
			  aclrtStream stream)
{
	uint64_t sum;
	uint64_t largest;

	if (!counts || !comm)
		return HCCL_E_PTR;
	sum_counts(counts, ((const struct hccl_comm *)comm)->size, &sum, &largest);
	return collective(kind, sum, type, bytes_of(largest, type), 0, comm, stream);
}

HcclResult HcclAlltoAllV(const void *send, const void *sendCounts, const void *sendDispls,
			 HcclDataType sendType, const void *recv, const void *recvCounts,
			 const void *recvDispls, HcclDataType recvType, HcclComm comm,
			 aclrtStream stream)
{
	(void)send;
	(void)sendDispls;
	(void)recv;
	(void)recvDispls;
	(void)recvType;
	NSIM_MAY_FAIL("HcclAlltoAllV");
	if (!recvCounts)
		return HCCL_E_PTR;
	return varying(HCCL_ALL_TO_ALL_V, sendCounts, sendType, comm, stream);
}

HcclResult HcclAlltoAllVC(const void *send, const void *countMatrix, HcclDataType sendType,
			  const void *recv, HcclDataType recvType, HcclComm comm,
			  aclrtStream stream)
{
	const struct hccl_comm *hccl = comm;

	(void)send;
	(void)recv;
	(void)recvType;
	NSIM_MAY_FAIL("HcclAlltoAllVC");
	if (!countMatrix || !hccl)
		return HCCL_E_PTR;
	return varying(HCCL_ALL_TO_ALL_VC,
		       (const uint64_t *)countMatrix + (size_t)hccl->rank * hccl->size, sendType,
		       comm, stream);
}

HcclResult HcclAllGatherV(void *send, uint64_t sendCount, void *recv, const void *recvCounts,
			  const void *recvDispls, HcclDataType type, HcclComm comm,
			  aclrtStream stream)
{
	(void)send;
	(void)recv;
	(void)recvDispls;
	NSIM_MAY_FAIL("HcclAllGatherV");
	if (!recvCounts)
		return HCCL_E_PTR;
	return collective(HCCL_ALL_GATHER_V, sendCount, type, bytes_of(sendCount, type), 0, comm,
			  stream);
}

HcclResult HcclReduceScatterV(void *send, const void *sendCounts, const void *sendDispls,
			      void *recv, uint64_t recvCount, HcclDataType type, HcclReduceOp op,
			      HcclComm comm, aclrtStream stream)
{
	(void)send;
	(void)sendDispls;
	(void)recv;
	(void)recvCount;
	(void)op;
	NSIM_MAY_FAIL("HcclReduceScatterV");
	return varying(HCCL_REDUCE_SCATTER_V, sendCounts, type, comm, stream);
}

HcclResult HcclBarrier(HcclComm comm, aclrtStream stream)
{
	NSIM_MAY_FAIL("HcclBarrier");
	return collective(HCCL_BARRIER, 1, HCCL_INT32, 4, 0, comm, stream);
}

static HcclResult message(enum hccl_kind kind, const void *buf, uint64_t count, HcclDataType type,
			  uint32_t peer, HcclComm comm, aclrtStream stream)
{
	const struct hccl_comm *hccl = comm;
	struct hccl_message one = { .peer = peer, .is_send = kind == HCCL_SEND };

	if (!buf || !hccl)
		return HCCL_E_PTR;
	if (hccl_type_bytes(type) < 0 || peer >= hccl->size || peer == hccl->rank)
		return HCCL_E_PARA;
	one.bytes = bytes_of(count, type);
	return hccl_launch(
		(struct hccl_op_info){ .comm = comm, .kind = kind, .count = count, .type = type },
		stream, &one, 1);
}

HcclResult HcclSend(void *buf, uint64_t count, HcclDataType type, uint32_t peer, HcclComm comm,
		    aclrtStream stream)
{
	NSIM_MAY_FAIL("HcclSend");
	return message(HCCL_SEND, buf, count, type, peer, comm, stream);
}

HcclResult HcclRecv(void *buf, uint64_t count, HcclDataType type, uint32_t peer, HcclComm comm,
		    aclrtStream stream)
{
	NSIM_MAY_FAIL("HcclRecv");
	return message(HCCL_RECEIVE, buf, count, type, peer, comm, stream);
}

#define MAX_BATCH 256

HcclResult HcclBatchSendRecv(HcclSendRecvItem *items, uint32_t count, HcclComm comm,
			     aclrtStream stream)
{
	const struct hccl_comm *hccl = comm;
	struct hccl_message messages[MAX_BATCH] = { 0 };
	struct hccl_op_info info = { .comm = comm, .kind = HCCL_BATCH };

	NSIM_MAY_FAIL("HcclBatchSendRecv");
	if (!items || !hccl)
		return HCCL_E_PTR;
	if (count == 0 || count > MAX_BATCH)
		return HCCL_E_PARA;
	for (uint32_t i = 0; i < count; i++) {
		if (hccl_type_bytes(items[i].dataType) < 0 || items[i].remoteRank >= hccl->size ||
		    items[i].remoteRank == hccl->rank)
			return HCCL_E_PARA;
		messages[i].peer = items[i].remoteRank;
		messages[i].is_send = items[i].sendRecvType == 0;
		messages[i].bytes = bytes_of(items[i].count, items[i].dataType);
		info.count += items[i].count;
		info.type = items[i].dataType;
	}
	return hccl_launch(info, stream, messages, count);
}

/* Operators of a group are launched one by one here. */
HcclResult HcclGroupStart(void)
{
	NSIM_MAY_FAIL("HcclGroupStart");
	return HCCL_SUCCESS;
}

HcclResult HcclGroupEnd(void)
{
	NSIM_MAY_FAIL("HcclGroupEnd");
	return HCCL_SUCCESS;
}
