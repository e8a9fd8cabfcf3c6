/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NPUSIM_H
#define NPUSIM_H

#include <stdint.h>

#include "acl_api.h"

/*
 * The simulator's own interface
 * =============================
 *
 * AscendCL launches compiled kernels; the simulator has none. Instead an
 * application describes a kernel and gets a handle that aclrtLaunchKernel takes.
 * Everything else is used through AscendCL, HCCL and mstx.
 */
struct npusim_kernel {
	const char *name;    /* "aclnnMatmul_MatMulV3Common_MatMulV3" */
	const char *op_type; /* "MatMulV3" */
	const char *core;    /* "AI_CORE", "AI_VECTOR_CORE" or "MIX_AIC" */
	const char *api;     /* the call that launches it: "aclnnMatmul" */
	const char *input_shapes;
	const char *input_types;
	const char *input_formats;
	const char *output_shapes;
	const char *output_types;
	const char *output_formats;
	const char *attributes;
	uint32_t mix_blocks;
	int64_t duration_ns; /* before jitter and NPUSIM_SLOW_FACTOR */
};

/*
 * A handle for a kernel, valid until the process ends; the texts are not copied.
 * NULL when out of memory.
 */
ACL_API aclrtFuncHandle npusim_kernel_handle(const struct npusim_kernel *kernel);

#endif /* NPUSIM_H */
