/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_KINETO_H
#define NP_KINETO_H

#include "npuprof/trace.h"
#include "npuprof/vec.h"

#include <strings.h>

/*
 * Traces of PyTorch's own profiler (Kineto), of GPUs and, through its back-end for
 * other devices (mspti), of NPUs: what both of their readers agree on, load_kineto.c,
 * which measures, and detail_kineto.c, which lists.
 *
 * Kernels of a GPU have the "correlation" of the call that launched them. Those of an
 * NPU have none: an arrow that ends at them has the "External id" of the operator of
 * the framework that launched them.
 */

/* What an event is, by its category. Names before PyTorch 1.12 were others. */
enum kineto_kind {
	KINETO_OTHER,
	KINETO_KERNEL,     /* of communication too, on GPUs */
	KINETO_COLLECTIVE, /* of HCCL */
	KINETO_COPY,
	KINETO_CALL, /* of the driver or runtime: launches kernels and copies */
	KINETO_SITE, /* of a launch on an NPU: neither its time nor its length is known */
	KINETO_OPERATOR,
	KINETO_ANNOTATION, /* of the user, on the host */
	KINETO_PYTHON,
};

enum kineto_kind kineto_kind_of(struct np_slice category);

/* Does a trace come from Kineto? Looks at its head and its first events. */
int kineto_is(const char *path, bool *ret, struct np_err *err) NP_MUST_USE;

static inline bool kineto_begins(struct np_slice text, const char *with)
{
	return text.length >= strlen(with) && strncasecmp(text.bytes, with, strlen(with)) == 0;
}

/* Kernels that communicate: those of NCCL and RCCL, and vLLM's own all-reduce. */
bool kineto_communicates(struct np_slice kernel);

/*
 * A kernel of a GPU has no type; its name without arguments and template parameters
 * stands for it: "void at::native::copy<4, …>(…)" is an "at::native::copy". Of an NPU's
 * kernel it is the last part of its name: "aclnnAdd_AddAiCore_Add" is an "Add".
 */
struct np_slice kineto_kernel_type(struct np_slice name);

/*
 * The operator of HCCL that does what one of NCCL does, by the name of the collective
 * ("_allgather_base") or of its kernel ("ncclDevKernel_AllReduce…"); NULL: unknown.
 */
const char *kineto_operator(struct np_slice name);

/* The number + 1 (np_comm_op.data_type) of what PyTorch calls a type: "Float", "BFloat16"; 0. */
uint8_t kineto_data_type(struct np_slice name);

/* The framework's allocator, at each allocation and release on a device. */
struct kineto_memory {
	int64_t device;
	int64_t address;
	int64_t bytes; /* negative when released */
	int64_t allocated;
	int64_t reserved;
};

bool kineto_memory(const struct np_trace_event *event, struct kineto_memory *ret);

/* Where a kernel ran, by its arguments or by the numbers of its lane; NP_UNKNOWN. */
struct kineto_place {
	int64_t device;
	int64_t stream;
	int64_t correlation;
	int64_t external;
	struct np_slice core; /* of an NPU's kernel; no bytes: not said */
};

void kineto_place(const struct np_trace_event *event, struct kineto_place *ret);

/*
 * Arrows of an NPU's trace: what starts at a time on a stream was launched by the operator with
 * this external id.
 */
struct kineto_arrow {
	np_ns at;
	int64_t stream;
	int64_t id;
};

struct kineto_arrows {
	struct kineto_arrow *item;
	size_t count;
	size_t capacity;
};

/* Add the end of an arrow to a device; others are passed over. */
int kineto_arrows_take(struct kineto_arrows *arrows, const struct np_trace_event *event,
		       struct np_err *err) NP_MUST_USE;
void kineto_arrows_sort(struct kineto_arrows *arrows);

/* The id of the arrow that ends there, once they are sorted; NP_UNKNOWN. */
int64_t kineto_arrows_find(const struct kineto_arrows *arrows, np_ns at, int64_t stream);
void kineto_arrows_release(struct kineto_arrows *arrows);

#endif /* NP_KINETO_H */
