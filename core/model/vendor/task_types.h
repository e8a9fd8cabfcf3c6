/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_VENDOR_TASK_TYPES_H
#define NP_VENDOR_TASK_TYPES_H

/*
 * What is a row or an event, by the name of its type? Tasks of the device, sub-tasks
 * and operators of communication, calls of CANN and of the framework: databases, tables
 * of kernels and traces have the same names for them, spelled by version.
 */

#include "npuprof/gz.h"

/* --- the device ------------------------------------------------------------------------------ */

enum task_class {
	TASK_OTHER,
	TASK_SDMA,
	TASK_COPY, /* asynchronous copies, and those over PCIe */
	TASK_NOTIFY_WAIT,
	TASK_NOT_IN_EXTENT, /* markers and host views of kernels: no part of the step's extent */
};

/* Long enough for every type that is known. */
#define VENDOR_PLAIN_SIZE 32

/* The class of a task by the text of its type. */
enum task_class vendor_task_class(const char *type, size_t length);

/* Has only a kernel tasks of this type? Others may be of anything. */
bool vendor_is_kernel_task(const char *type, size_t length);

/* Is it what a trace calls the type of a kernel's task? */
bool vendor_is_kernel_core(const char *type, size_t length);

/* Is it the type of a task that certainly computes nothing? Types of newer versions may be either.
 */
bool vendor_is_no_kernel(const char *type, size_t length);

/* Is a row of a table, by its core and its name, certainly no kernel? Kernels have a name. */
bool vendor_is_other_task(struct np_slice core, struct np_slice name);

/* Counters of kernels have two names by version: the one that is kept, or `name` itself. */
const char *vendor_counter_name(const char *name, size_t length);

/* --- communication --------------------------------------------------------------------------- */

/* Is a row of a table of kernels an operator of communication? By its core and its name. */
bool vendor_is_operator(struct np_slice core, struct np_slice name);

/* Is a kernel of this name part of an operator of communication, and computes nothing? */
bool vendor_is_communication_kernel(struct np_slice name);

/*
 * The type of an operator by its name: "hcom_allReduce__123_0_1" up to and with the first of "__",
 * "hcom_send_12", which has no communicator, without its number.
 */
size_t vendor_operator_type(const char *name, size_t length);

/* Of the type of a sub-task; RDMA sends have another column. */
enum sub_task_kind {
	SUB_TASK_OTHER,
	SUB_TASK_WAIT,
	SUB_TASK_PAYLOAD,
	SUB_TASK_REDUCE,
	SUB_TASK_NOT_RECORDED, /* "N/A": Level0, where only TASK.taskType is known */
};

/* Databases spell the types by version, traces have one spelling. */
enum sub_task_kind vendor_sub_task_kind(const char *type, size_t length);
enum sub_task_kind vendor_trace_sub_task_kind(struct np_slice type);

/* --- the host -------------------------------------------------------------------------------- */

/* CANN_API.type: the levels of calls. */
enum vendor_api {
	VENDOR_API_RUNTIME = 5000,
	VENDOR_API_COMMUNICATION = 5500,
	VENDOR_API_NODE = 10000, /* launches tasks */
	VENDOR_API_MODEL = 15000,
	VENDOR_API_ACL = 20000, /* AscendCL; launches copies */
};

/* The name of a level by its number; "?" for another. */
const char *vendor_api_name(int64_t type);

/* PYTORCH_API.type: what a row of the framework is; the rest are operators as well. */
enum vendor_torch {
	VENDOR_TORCH_OP = 50001,
	VENDOR_TORCH_QUEUE = 50002,
	VENDOR_TORCH_PYTHON = 50003,
	VENDOR_TORCH_MARK = 50004,
};

/* Rows of the queue, of Python and of marks have numbers of their own. */
static inline bool vendor_torch_is_op(int64_t type)
{
	return type < VENDOR_TORCH_QUEUE || type > VENDOR_TORCH_MARK;
}

/* What the framework calls a step, before its number. */
#define VENDOR_STEP "ProfilerStep#"

static inline bool vendor_is_step(const char *name)
{
	return strncmp(name, VENDOR_STEP, strlen(VENDOR_STEP)) == 0;
}

/* Is it the name of a host event that loads data? (*dataloader*, in any case) */
bool vendor_loads_data(const char *name, size_t length);

#endif /* NP_VENDOR_TASK_TYPES_H */
