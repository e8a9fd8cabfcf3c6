/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels do, from their shapes. */
#include "np_test.h"

#include <math.h>
#include <string.h>

#include "advisor/engine/data/shapes.h"

static struct adv_text text(const char *bytes)
{
	return (struct adv_text){ bytes, bytes ? strlen(bytes) : 0 };
}

static struct adv_kernel_shapes kernel(const char *type, const char *in, const char *out)
{
	return (struct adv_kernel_shapes){ .type = text(type),
					   .in_shapes = text(in),
					   .in_types = text("FLOAT16;FLOAT16"),
					   .in_formats = text("ND;ND"),
					   .out_shapes = text(out),
					   .out_types = text("FLOAT16") };
}

static double operations(const char *type, const char *in, const char *out)
{
	const struct adv_kernel_shapes one = kernel(type, in, out);

	return adv_kernel_operations(&one);
}

static void a_matrix_product_takes_two_operations_for_each_pair(void **state)
{
	(void)state;
	/* 2 × 4 × 16 × 8. */
	assert_true(operations("MatMulV2", "4,8;8,16", "4,16") == 1024);
	assert_true(operations("gemm", "4,8;8,16", "4,16") == 1024);
	/* Three of them. */
	assert_true(operations("BatchMatMul", "3,4,8;3,8,16", "3,4,16") == 3072);
	assert_true(isnan(operations("MatMulV2x", "4,8;8,16", "4,16")));
	assert_true(isnan(operations("MatMul", "4,8", "4,16")));
	assert_true(isnan(operations("MatMul", "4,8;8,0", "4,0")));
	assert_true(isnan(operations("Add", "4,8;4,8", "4,8")));
	assert_true(isnan(operations(NULL, "4,8;8,16", "4,16")));
}

static void a_convolution_takes_its_kernel_for_each_output(void **state)
{
	(void)state;
	/* Weights 6 × 3 × 2 × 2, so that each of 1 × 6 × 4 × 4 outputs takes 3 × 2 × 2 pairs: 2304.
	 */
	assert_true(operations("Conv2D", "1,3,5,5;6,3,2,2", "1,6,4,4") == 2304);
	assert_true(isnan(operations("Conv2D", "1,3,5,5;6,3,2,2", "1")));
	assert_true(isnan(operations("Conv2D", "1,3,5,5", "1,6,4,4")));
}

static void a_rate_is_that_of_the_first_input(void **state)
{
	struct adv_kernel_shapes one = kernel("MatMul", "4,8;8,16", "4,16");

	(void)state;
	assert_true(adv_kernel_rate(&one) == 1);
	one.in_types = text("DT_INT8;DT_INT8");
	assert_true(adv_kernel_rate(&one) == 2);
	one.in_types = text("FLOAT;FLOAT");
	assert_true(isnan(adv_kernel_rate(&one)));
}

static void what_is_no_shape_is_not_known(void **state)
{
	(void)state;
	assert_int_equal(adv_shape_elements(text("2,3;4"), 0), 6);
	assert_int_equal(adv_shape_elements(text("2,3;;4"), 1), 0);
	assert_true(adv_shape_elements(text("2,3;4"), 2) == NP_UNKNOWN);
	assert_true(adv_shape_elements(text("2,;4"), 0) == NP_UNKNOWN);
	assert_true(adv_shape_elements(text("2,-3"), 0) == NP_UNKNOWN);
	assert_true(adv_shape_elements(text("9223372036854775807,2"), 0) == NP_UNKNOWN);
	assert_int_equal(adv_shape_all_elements(text("2,3;;4")), 10);
	assert_int_equal(adv_shape_all_elements(text("")), 0);
	assert_int_equal(adv_shape_bytes(text("2,3;4"), text("DT_BF16;int8")), 16);
	assert_int_equal(adv_shape_bytes(text("2,3;"), text("FLOAT;")), 24);
	assert_true(adv_shape_bytes(text("2,3;4"), text("FLOAT")) == NP_UNKNOWN);
	assert_true(adv_shape_bytes(text("2,3"), text("strange")) == NP_UNKNOWN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_matrix_product_takes_two_operations_for_each_pair),
		cmocka_unit_test(a_convolution_takes_its_kernel_for_each_output),
		cmocka_unit_test(a_rate_is_that_of_the_first_input),
		cmocka_unit_test(what_is_no_shape_is_not_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
