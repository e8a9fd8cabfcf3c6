/* SPDX-License-Identifier: Apache-2.0 */
#include "cmp_leaves.h"

/* --- what one class is called on both sides --------------------------------------------------- */

/* A class that the operator tells by which a kernel was launched. */
static bool is_by_operator(enum cmp_class class)
{
	return class == CMP_FLASH_FORWARD || class == CMP_FLASH_BACKWARD ||
	       class == CMP_CONV_FORWARD || class == CMP_CONV_BACKWARD || class == CMP_MATMUL;
}

/*
 * A GPU and an NPU share the classes that operators of the framework tell and,
 * where the GPU's trace has none of them, matrix units and the rest.
 */
static enum cmp_class shared_class(const struct comparison *comparison, enum cmp_class class)
{
	if (is_by_operator(class))
		return comparison->gpu_operators ? class : CMP_CUBE;
	return class == CMP_PAGED_ATTENTION || class == CMP_MC2 || class == CMP_CUBE ? CMP_CUBE
										     : CMP_VECTOR;
}

/* Classes that need the type or counters to be told are one. */
enum cmp_class cmp_coarse_class(const struct comparison *comparison, enum cmp_class class)
{
	if (comparison->gpu_and_npu)
		return shared_class(comparison, class);
	switch (class) {
	case CMP_CUBE:
	case CMP_VECTOR:
	case CMP_OTHER:
	case CMP_PAGED_ATTENTION:
	case CMP_UNKNOWN_CLASS:
		return CMP_UNKNOWN_CLASS;
	case CMP_FLASH_FORWARD:
	case CMP_FLASH_BACKWARD:
	case CMP_CONV_FORWARD:
	case CMP_CONV_BACKWARD:
	case CMP_MATMUL:
	case CMP_MC2:
	case CMP_VECTOR_TRANS:
	case CMP_TENSOR_MOVE:
	case CMP_CLASSES:
	default:
		return class;
	}
}

/* --- what the sides know ---------------------------------------------------------------------- */

static bool has_types(const struct comparison *comparison, enum cmp_which which)
{
	const struct cmp_side *side = &comparison->sides[which];

	for (size_t i = 0; i < comparison->pairs.count; i++) {
		if (side->kernels[comparison->pairs.item[i].rank[which]].types)
			return true;
	}
	return false;
}

bool cmp_is_gpu(const struct comparison *comparison, enum cmp_which which)
{
	const struct np_run *run = comparison->sides[which].analysis->run;

	return run->sources.item[comparison->pairs.item[0].rank[which]].file[NP_FILE_GPU_TRACE] !=
	       NULL;
}

/* Does the GPU's trace tell classes by operators? */
static bool has_gpu_operators(const struct comparison *comparison)
{
	enum cmp_which which = cmp_is_gpu(comparison, CMP_BASE) ? CMP_BASE : CMP_NEW;

	for (size_t i = 0; i < comparison->pairs.count; i++) {
		const struct cmp_rank_kernels *kernels =
			&comparison->sides[which].kernels[comparison->pairs.item[i].rank[which]];

		for (int j = 0; j < CMP_CLASSES; j++) {
			if ((kernels->classes & 1U << j) && is_by_operator((enum cmp_class)j))
				return true;
		}
	}
	return false;
}

static bool has_kernels(const struct comparison *comparison, enum cmp_which which)
{
	const struct cmp_side *side = &comparison->sides[which];

	for (size_t i = 0; i < comparison->pairs.count; i++) {
		if (side->kernels[comparison->pairs.item[i].rank[which]].classes)
			return true;
	}
	return false;
}

/* Forget what the other side cannot tell, before anything is summed. */
static void make_coarse(struct comparison *comparison)
{
	for (int which = 0; which < CMP_SIDES; which++) {
		struct cmp_side *side = &comparison->sides[which];

		for (size_t i = 0; i < side->groups.count; i++)
			side->groups.item[i].leaf_class =
				cmp_coarse_class(comparison, side->groups.item[i].class);
	}
}

void cmp_choose_classes(struct comparison *comparison)
{
	comparison->gpu_and_npu =
		cmp_is_gpu(comparison, CMP_BASE) != cmp_is_gpu(comparison, CMP_NEW);
	comparison->gpu_operators = comparison->gpu_and_npu && has_gpu_operators(comparison);
	comparison->coarse =
		comparison->gpu_and_npu ||
		(has_kernels(comparison, CMP_BASE) && has_kernels(comparison, CMP_NEW) &&
		 has_types(comparison, CMP_BASE) != has_types(comparison, CMP_NEW));
	if (comparison->coarse)
		make_coarse(comparison);
}
