/* SPDX-License-Identifier: Apache-2.0 */
#include "compare/engine/cmp_class.h"

#include "np_test.h"

static void type_and_name_tell_what_no_operator_can(void **state)
{
	(void)state;
	assert_int_equal(cmp_classify(&(struct cmp_kernel_traits){ .type = "PagedAttentionMaskNd",
								   .op = "aten::mm" }),
			 CMP_PAGED_ATTENTION);
	assert_int_equal(cmp_classify(&(struct cmp_kernel_traits){
				 .type = "TensorMove",
				 .name = "aclnnInplaceCopy_TensorMoveAiCore_TensorMove" }),
			 CMP_TENSOR_MOVE);
}

static void a_kernel_that_also_communicates_is_told_with_any_prefix(void **state)
{
	(void)state;
	assert_int_equal(cmp_classify(&(struct cmp_kernel_traits){
				 .type = "MatmulAllReduce",
				 .name = "aclnnMatmulAllReduce_MatmulAllReduce" }),
			 CMP_MC2);
	assert_int_equal(cmp_classify(&(struct cmp_kernel_traits){ .name = "AllGatherMatmul" }),
			 CMP_MC2);
}

static void the_operator_that_launched_a_kernel_comes_before_its_type(void **state)
{
	(void)state;
	assert_int_equal(cmp_classify(&(struct cmp_kernel_traits){
				 .type = "TransData", .name = "TransData1", .op = "aten::conv2d" }),
			 CMP_CONV_FORWARD);
	assert_int_equal(cmp_classify(&(struct cmp_kernel_traits){
				 .type = "ReduceSum", .op = "aten::convolution_backward" }),
			 CMP_CONV_BACKWARD);
	assert_int_equal(cmp_classify(&(struct cmp_kernel_traits){
				 .type = "Conv2D", .op = "aten::conv2d", .op_backward = true }),
			 CMP_CONV_BACKWARD);
	assert_int_equal(
		cmp_classify(&(struct cmp_kernel_traits){ .type = "Cast", .op = "aten::addmm" }),
		CMP_MATMUL);
	assert_int_equal(
		cmp_classify(&(struct cmp_kernel_traits){ .op = "npu::npu_fusion_attention_grad" }),
		CMP_FLASH_BACKWARD);
}

static void without_an_operator_the_type_tells(void **state)
{
	(void)state;
	assert_int_equal(
		cmp_classify(&(struct cmp_kernel_traits){ .type = "FlashAttentionScoreGrad" }),
		CMP_FLASH_BACKWARD);
	assert_int_equal(
		cmp_classify(&(struct cmp_kernel_traits){ .type = "FusedInferAttentionScore" }),
		CMP_FLASH_FORWARD);
	assert_int_equal(cmp_classify(&(struct cmp_kernel_traits){ .type = "Conv2DBackpropInput" }),
			 CMP_CONV_BACKWARD);
	assert_int_equal(cmp_classify(&(struct cmp_kernel_traits){ .type = "BatchMatMulV2" }),
			 CMP_MATMUL);
}

static void counters_and_cores_tell_cube_from_vector(void **state)
{
	(void)state;
	assert_int_equal(
		cmp_classify(&(struct cmp_kernel_traits){ .type = "Custom", .cube = NP_CUBE_YES }),
		CMP_CUBE);
	assert_int_equal(
		cmp_classify(&(struct cmp_kernel_traits){ .type = "Custom", .core = "MIX_AIC" }),
		CMP_CUBE);
	assert_int_equal(cmp_classify(&(struct cmp_kernel_traits){
				 .type = "Add", .name = "Add", .core = "AI_VECTOR_CORE" }),
			 CMP_VECTOR);
	assert_int_equal(cmp_classify(&(struct cmp_kernel_traits){ .type = "Cast",
								   .name = "aclnnCast_Cast",
								   .core = "AI_VECTOR_CORE" }),
			 CMP_VECTOR_TRANS);
}

static void kernels_outside_the_ai_cores_are_other_in_databases_and_text_alike(void **state)
{
	(void)state;
	assert_int_equal(cmp_classify(&(struct cmp_kernel_traits){ .type = "DSARandomUniform",
								   .core = "DSA_SQE" }),
			 CMP_OTHER);
	assert_int_equal(
		cmp_classify(&(struct cmp_kernel_traits){ .type = "Index", .core = "AI_CPU" }),
		CMP_OTHER);
}

static void without_type_core_and_counters_nothing_is_claimed(void **state)
{
	(void)state;
	assert_int_equal(cmp_classify(&(struct cmp_kernel_traits){ .name = "te_add" }),
			 CMP_UNKNOWN_CLASS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(type_and_name_tell_what_no_operator_can),
		cmocka_unit_test(a_kernel_that_also_communicates_is_told_with_any_prefix),
		cmocka_unit_test(the_operator_that_launched_a_kernel_comes_before_its_type),
		cmocka_unit_test(without_an_operator_the_type_tells),
		cmocka_unit_test(counters_and_cores_tell_cube_from_vector),
		cmocka_unit_test(
			kernels_outside_the_ai_cores_are_other_in_databases_and_text_alike),
		cmocka_unit_test(without_type_core_and_counters_nothing_is_claimed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
