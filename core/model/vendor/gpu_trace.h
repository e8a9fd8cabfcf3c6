/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_GPU_TRACE_H
#define NP_GPU_TRACE_H

#include "npuprof/trace.h"

#include <strings.h>

/*
 * What both readers of GPU traces (Kineto) agree on: load_gpu_trace.c, which
 * measures, and detail_gpu_trace.c, which lists.
 */

/* Does a trace come from a GPU? Looks at its first events. */
int gpu_trace_is(const char *path, bool *ret, struct np_err *err) NP_MUST_USE;

static inline bool gpu_trace_begins(struct np_slice text, const char *with)
{
	return text.length >= strlen(with) && strncasecmp(text.bytes, with, strlen(with)) == 0;
}

/* Kernels of NCCL are communication, and no kernels. */
static inline bool gpu_trace_is_nccl(struct np_slice kernel)
{
	return gpu_trace_begins(kernel, "nccl");
}

/*
 * A kernel has no type; its name without arguments and template parameters stands
 * for it: "void at::native::copy<4, …>(…)" is an "at::native::copy".
 */
static inline struct np_slice gpu_trace_kernel_type(struct np_slice name)
{
	size_t length;

	if (gpu_trace_begins(name, "void ")) {
		name.bytes += strlen("void ");
		name.length -= strlen("void ");
	}
	for (length = 0; length < name.length; length++) {
		if (name.bytes[length] == '<' || name.bytes[length] == '(')
			break;
	}
	name.length = length;
	return name;
}

/* A call that launches kernels and copies; they have its "correlation". */
static inline bool gpu_trace_launches(const struct np_trace_event *event)
{
	return np_slice_is(event->cat, "cuda_runtime") || np_slice_is(event->cat, "cuda_driver");
}

/* The framework's allocator, at each allocation and release on a device. */
struct gpu_trace_memory {
	int64_t device;
	int64_t address;
	int64_t bytes; /* negative when released */
	int64_t allocated;
	int64_t reserved;
};

static inline bool gpu_trace_memory(const struct np_trace_event *event,
				    struct gpu_trace_memory *ret)
{
	static const char *const keys[] = { "Device Id", "Addr", "Bytes", "Total Allocated",
					    "Total Reserved" };
	struct np_trace_value values[NP_COUNT(keys)];
	int64_t numbers[NP_COUNT(keys)];

	if (event->ts_ns == NP_UNKNOWN || !np_slice_is(event->name, "[memory]"))
		return false;
	(void)np_trace_args(event, keys, NP_COUNT(keys), values);
	for (size_t i = 0; i < NP_COUNT(keys); i++) {
		if (!np_trace_value_integer(&values[i], &numbers[i]))
			numbers[i] = NP_UNKNOWN;
	}
	*ret = (struct gpu_trace_memory){ numbers[0], numbers[1], numbers[2], numbers[3],
					  numbers[4] };
	/* -1 is the host. */
	return ret->device >= 0;
}

#endif /* NP_GPU_TRACE_H */
