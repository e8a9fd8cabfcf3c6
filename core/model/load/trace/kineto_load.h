/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_KINETO_LOAD_H
#define NP_KINETO_LOAD_H

/*
 * Reading a trace of Kineto
 * =========================
 *
 * One pass over the events fills the lists below; who launched what, and which
 * communicator an operator is of, is found out afterwards, because the order of
 * events in the file is nobody's promise.
 */

#include "core/model/load/capture/capture.h"
#include "core/model/load/capture/memory_held.h"
#include "core/model/vendor/kineto.h"

/* A call of the runtime, or of an NPU's trace an operator of the framework: it may launch. */
struct kineto_call {
	np_ns start;
	np_ns end;
	int64_t connection;
	int64_t external;
};

/* What is said of a collective, by its kernel or by the host's record_param_comms. */
struct kineto_record {
	np_str collective; /* NP_STR_NONE: not said */
	np_str group;
	np_str description;
	np_str ranks; /* "[0, 1, 2, 3]", cut where there are many */
	int64_t group_size;
	int64_t sent; /* elements */
	int64_t received;
	int64_t source; /* global rank, of a message */
	int64_t target;
	uint8_t data_type; /* as np_comm_op has it */
};

struct kineto_op {
	np_ns start;
	np_ns end;
	int64_t connection;
	int64_t external;
	int64_t device;
	np_str name;     /* of the kernel, or of the operator of HCCL */
	uint32_t record; /* NP_IDMAP_NONE: none of its own */
};

struct kineto_load {
	struct capture capture;
	struct np_rank *rank;
	NP_VEC(struct kineto_call) calls;     /* of CUDA */
	NP_VEC(struct kineto_call) operators; /* until it is known to be a GPU */
	NP_VEC(struct kineto_op) ops;
	NP_VEC(struct kineto_record) records;
	struct np_idmap *record_of; /* by the external id of record_param_comms */
	struct kineto_arrows arrows;
	NP_VEC(struct memory_held) memory;
	struct np_idmap *step_ids;
	struct np_idmap *kernel_of; /* in rank->kernels, by type and core */
	int64_t world;              /* size of the job; NP_UNKNOWN */
	bool is_gpu;                /* it is certain */
	bool is_npu;                /* likewise */
	bool any_operators;
	bool truncated;
};

/* kineto_events.c: the pass over the file. */
int kineto_read(struct kineto_load *load) NP_MUST_USE;

/* kineto_groups.c: what the head of the file says of the job. */
int kineto_read_job(struct kineto_load *load, struct np_slice distributed_info) NP_MUST_USE;

/* The communicator of an operator, its size and the other end of a message. */
int kineto_describe(struct kineto_load *load, const struct kineto_op *from, uint32_t op)
	NP_MUST_USE;
int kineto_group(struct kineto_load *load, const struct kineto_op *from, uint32_t *ret) NP_MUST_USE;

#endif /* NP_KINETO_LOAD_H */
