/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_TRACE_LOAD_H
#define NP_TRACE_LOAD_H

/*
 * Reading trace_view.json
 * =======================
 *
 * One pass over the events fills the lists below; what belongs to which step,
 * communicator and operator is found out afterwards, because the order of
 * lanes in the file is nobody's promise. Names of lanes normally come before
 * their events; where they do not, a second pass is made.
 */

#include "core/model/load/capture/capture.h"
#include "core/model/vendor/trace_lanes.h"

#include "npuprof/comm_tasks.h"

/* A call on the host that launches tasks. */
struct trace_call {
	np_ns start;
	np_ns end;
	int64_t connection;
	bool node; /* or else of AscendCL */
};

/* A flow from a framework call to the device event that starts at `device_start`. */
struct trace_flow {
	np_ns host;
	np_ns device_start;
};

/* One end of a flow from a call of CANN: on the host, or on the device. */
struct trace_flow_end {
	int64_t id;
	np_ns time;
	bool on_device;
};

/* What else an operator says of itself, before its communicator is known. */
struct trace_op_rest {
	int64_t bytes;
	int64_t device;
	np_str name;
	uint8_t data_type; /* as np_comm_op has it */
};

/* A sub-task as read, before its operator is known. */
struct trace_sub_task {
	struct np_comm_task task;
	int64_t pid;
	int64_t tid;
};

struct trace_load {
	struct capture capture;
	struct np_rank *rank;
	struct trace_lanes lanes;
	NP_VEC(struct trace_call) calls; /* until the steps are known */
	bool any_calls;
	bool any_launches; /* though there are no calls */
	size_t node_calls;
	NP_VEC(struct trace_flow) flows;         /* unless there are node calls */
	NP_VEC(struct trace_flow_end) flow_ends; /* likewise; they stay where calls are left out */
	NP_VEC(struct trace_op) ops;
	NP_VEC(struct trace_op_rest) op_rests; /* by row of `ops` */
	NP_VEC(struct trace_sub_task) sub_tasks;
	size_t too_fast;                    /* sub-tasks, for their sizes */
	struct capture_spans computing;     /* of the overlap lane */
	struct capture_spans communication; /* likewise */
	np_ns first_framework_call;
	np_ns serving;            /* Σ of kernels of operators */
	np_ns may_be_kernels;     /* Σ of tasks on the device of types that are not known */
	NP_VEC(int64_t) launches; /* connections of calls that launch a kernel or an operator */
	bool broken;              /* a file ends inside an event */
	bool unplaced;      /* nothing says who launched tasks: steps are windows of the host */
	bool unknown_lanes; /* events came before the name of their lane */
};

/* trace_doubles.c: what is there more than once counts once, and is said. */
void trace_drop_doubles(struct trace_load *load);

/* trace_events.c: the pass over one file. */
int trace_read(struct trace_load *load, const char *path) NP_MUST_USE;

#endif /* NP_TRACE_LOAD_H */
