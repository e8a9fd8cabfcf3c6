/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CMP_CLASS_H
#define CMP_CLASS_H

#include "npuprof/detail.h"
#include "npuprof/kernel_sums.h"

/*
 * What sort of work a kernel is
 * =============================
 *
 * Every kernel has exactly one class; the first rule that fits wins:
 *
 *	paged attention, tensor moves, kernels that compute and communicate (mc2)
 *	    are told by type and name;
 *	attention, convolution and matrix products by the operator of the framework
 *	    that launched the kernel: the outermost such operator of its thread that
 *	    was open at that moment, looked up by its interval;
 *	else by the kernel's own type;
 *	else cube by its counters or its core, casts and transposes by name, kernels
 *	    outside the AI cores are "other", and what remains is vector.
 *
 * So the result does not depend on the order of kernels, nor on the form of the
 * files. The ids are used in paths of leaves.
 */
enum cmp_class {
	CMP_FLASH_FORWARD,
	CMP_FLASH_BACKWARD,
	CMP_CONV_FORWARD,
	CMP_CONV_BACKWARD,
	CMP_MATMUL,
	CMP_PAGED_ATTENTION,
	CMP_MC2,
	CMP_CUBE,
	CMP_VECTOR_TRANS,
	CMP_VECTOR,
	CMP_TENSOR_MOVE,
	CMP_OTHER,
	CMP_UNKNOWN_CLASS,
	CMP_CLASSES,
};

/* "conv_forward" …: part of a leaf; and "Conv (Forward)" …: for people. */
const char *cmp_class_id(enum cmp_class class);
const char *cmp_class_title(enum cmp_class class);

struct cmp_kernel_traits {
	const char *type; /* NULL where it was not recorded, as all of these */
	const char *name;
	const char *core;
	const char *op; /* of the framework, around the launch: of attention, convolution, matmul */
	bool op_backward;
	enum np_cube cube;
};

enum cmp_class cmp_classify(const struct cmp_kernel_traits *traits);

/* Is an operator of the framework one whose kernels are of its class? */
bool cmp_is_cube_op(const char *name);
/* Does a name belong to a backward pass? */
/* Is it a cast, a transpose or a change of format, by type or name? */
bool cmp_is_conversion(const char *type);

/*
 * By index of a kernel: the outermost cube operator that launched it, as an index
 * in detail->framework, or NP_NO_ROW. NP_DETAIL_FRAMEWORK and NP_DETAIL_LAUNCHES
 * must have been asked for. The caller frees it.
 */
int cmp_find_cube_ops(const struct np_detail *detail, uint32_t **ret, struct np_err *err)
	NP_MUST_USE;

#endif /* CMP_CLASS_H */
