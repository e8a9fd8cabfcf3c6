/* SPDX-License-Identifier: Apache-2.0 */
/* Names the sub-tasks of operators and what the vendor writes of each (sub_task.h). */
#include "sub_task.h"

#include "sim/synth/out/schema.h"

const char *syn_sub_task_name(enum syn_sub_task_kind kind)
{
	static const char *const names[] = {
		[SYN_NOTIFY_RECORD] = "Notify_Record",
		[SYN_NOTIFY_WAIT] = "Notify_Wait",
		[SYN_COPY] = "Memcpy",
		[SYN_REDUCE] = "Reduce_Inline",
		[SYN_RDMA_PAYLOAD] = "RDMASend",
		[SYN_RDMA_NOTIFY] = "RDMASend",
	};

	return names[kind];
}

const char *syn_sub_task_task_type(enum syn_sub_task_kind kind)
{
	switch (kind) {
	case SYN_NOTIFY_WAIT:
		return "Notify Wait";
	case SYN_COPY:
	case SYN_REDUCE:
		return "SDMA";
	case SYN_NOTIFY_RECORD:
	case SYN_RDMA_PAYLOAD:
	case SYN_RDMA_NOTIFY:
		break;
	}
	return "Write Value";
}

int64_t syn_sub_task_notify_id(const struct syn_sub_task *sub_task)
{
	switch ((enum syn_sub_task_kind)sub_task->kind) {
	case SYN_NOTIFY_RECORD:
	case SYN_RDMA_NOTIFY:
		return (int64_t)sub_task->dst << 32 | (sub_task->plane * 8 + 4);
	case SYN_NOTIFY_WAIT:
		return sub_task->plane * 8 + 4;
	case SYN_COPY:
	case SYN_RDMA_PAYLOAD:
		return INT64_MAX;
	case SYN_REDUCE:
		break;
	}
	return 0;
}

int64_t syn_sub_task_transport(const struct syn_sub_task *sub_task)
{
	switch ((enum syn_sub_task_kind)sub_task->kind) {
	case SYN_NOTIFY_WAIT:
		return SYN_ENUM_LOCAL;
	case SYN_RDMA_PAYLOAD:
	case SYN_RDMA_NOTIFY:
		return SYN_ENUM_RDMA;
	case SYN_NOTIFY_RECORD:
	case SYN_COPY:
	case SYN_REDUCE:
		break;
	}
	return SYN_ENUM_SDMA;
}

int64_t syn_sub_task_link(const struct syn_sub_task *sub_task)
{
	switch ((enum syn_sub_task_kind)sub_task->kind) {
	case SYN_COPY:
	case SYN_REDUCE:
		return sub_task->on_chip ? SYN_ENUM_ON_CHIP : SYN_ENUM_HCCS;
	case SYN_RDMA_PAYLOAD:
	case SYN_RDMA_NOTIFY:
		return SYN_ENUM_ROCE;
	case SYN_NOTIFY_RECORD:
	case SYN_NOTIFY_WAIT:
		break;
	}
	return SYN_ENUM_INVALID;
}

int64_t syn_sub_task_rdma_type(const struct syn_sub_task *sub_task)
{
	if (sub_task->kind == SYN_RDMA_PAYLOAD)
		return SYN_ENUM_RDMA_PAYLOAD;
	return sub_task->kind == SYN_RDMA_NOTIFY ? SYN_ENUM_RDMA_NOTIFY : SYN_ENUM_INVALID;
}

int64_t syn_sub_task_size(const struct syn_sub_task *sub_task)
{
	return sub_task->kind == SYN_RDMA_NOTIFY ? 4 : sub_task->size;
}

int64_t syn_sub_task_data_type(const struct syn_sub_task *sub_task, int64_t data_type)
{
	return sub_task->kind == SYN_REDUCE ? data_type : SYN_ENUM_INVALID;
}

double syn_sub_task_bandwidth(const struct syn_sub_task *sub_task)
{
	np_ns time = sub_task->end_ns - sub_task->start_ns;
	bool payload = sub_task->kind == SYN_COPY || sub_task->kind == SYN_REDUCE;

	return payload && time > 0 ? (double)sub_task->size / (double)time * 1e9 : 0.0;
}

const char *syn_transport_text(int64_t transport)
{
	static const char *const names[] = {
		[SYN_ENUM_SDMA] = "SDMA",
		[SYN_ENUM_RDMA] = "RDMA",
		[SYN_ENUM_LOCAL] = "LOCAL",
	};

	return names[transport];
}

const char *syn_link_text(int64_t link)
{
	switch (link) {
	case SYN_ENUM_ON_CHIP:
		return "ON_CHIP";
	case SYN_ENUM_HCCS:
		return "HCCS";
	case SYN_ENUM_ROCE:
		return "ROCE";
	default:
		return "INVALID_TYPE";
	}
}

const char *syn_rdma_text(int64_t rdma_type)
{
	switch (rdma_type) {
	case SYN_ENUM_RDMA_NOTIFY:
		return "RDMA_SEND_NOTIFY";
	case SYN_ENUM_RDMA_PAYLOAD:
		return "RDMA_SEND_PAYLOAD";
	default:
		return "INVALID_TYPE";
	}
}

const char *syn_data_type_text(int64_t data_type)
{
	static const char *const names[] = { "INT8",  "INT16",  "INT32", "FP16",   "FP32",
					     "INT64", "UINT64", "UINT8", "UINT16", "UINT32",
					     "FP64",  "BFP16",  "INT128" };

	if (data_type >= 0 && data_type < (int64_t)NP_COUNT(names))
		return names[data_type];
	return "INVALID_TYPE";
}
