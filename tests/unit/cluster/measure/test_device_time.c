/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels by type and shape, and what bounds them. */
#include "npuprof/device_time.h"

#include "np_fault.h"

#include <math.h>

#define UNKNOWN ((double)NAN)

static struct np_device_kernel kernel(const char *type, const char *shapes, np_ns duration,
				      double cube, double mte2)
{
	return (struct np_device_kernel){ .type = type,
					  .shapes = shapes,
					  .core = "AI_CORE",
					  .duration = duration,
					  .busy = { [NP_UNIT_CUBE] = cube,
						    [NP_UNIT_VECTOR] = UNKNOWN,
						    [NP_UNIT_SCALAR] = UNKNOWN,
						    [NP_UNIT_MTE1] = UNKNOWN,
						    [NP_UNIT_MTE2] = mte2,
						    [NP_UNIT_MTE3] = UNKNOWN,
						    [NP_UNIT_FIXPIPE] = UNKNOWN } };
}

/* Four kernels of three sorts; false without memory. */
static int fill(struct np_device_time *time, struct np_err *err)
{
	const struct np_device_kernel kernels[] = {
		kernel("Add", "4", 100, UNKNOWN, UNKNOWN),
		kernel("MatMul", "8,8", 300, 0.2, 0.9),
		kernel("MatMul", "8,8", 100, 0.6, 0.5),
		kernel("MatMul", "2,2", 500, 0.1, 0.3),
	};
	int rc = NP_OK;

	for (size_t i = 0; i < NP_COUNT(kernels) && rc == NP_OK; i++)
		rc = np_device_time_add(time, &kernels[i], err);
	if (rc == NP_OK)
		np_device_time_finish(time, 2);
	return rc;
}

/* MatMul 8,8: cube (0.2 × 300 + 0.6 × 100) / 400 = 0.3, mte2 (270 + 50) / 400 = 0.8. */
static void kernels_of_a_type_and_shape_are_summed_and_the_busiest_unit_bounds_them(void **state)
{
	NP_CLEANUP(np_device_time_freep) struct np_device_time *time = np_device_time_new();
	struct np_err err = NP_ERR_INIT;

	(void)state;
	assert_non_null(time);
	assert_ok(fill(time, &err), err);
	assert_int_equal(time->list.count, 3);
	assert_int_equal(time->total, 1000);
	assert_int_equal(time->count, 4);
	assert_int_equal(time->per_step, 500);
	assert_int_equal(time->counted, 900);
	assert_string_equal(np_strtab_text(time->strings, time->list.item[0].shapes), "2,2");
	assert_int_equal(time->list.item[1].count, 2);
	assert_int_equal(time->list.item[1].total, 400);
	assert_int_equal(time->list.item[1].per_step, 200);
	assert_true(fabs(time->list.item[1].share - 0.4) < 1e-12);
	assert_true(fabs(time->list.item[1].busy[NP_UNIT_CUBE] - 0.3) < 1e-12);
	assert_int_equal(np_device_sort_bound(&time->list.item[1]), NP_UNIT_MTE2);
	assert_string_equal(np_unit_name(NP_UNIT_MTE2), "mte2");
}

static void kernels_without_counters_are_bound_by_nothing_that_is_known(void **state)
{
	NP_CLEANUP(np_device_time_freep) struct np_device_time *time = np_device_time_new();
	struct np_err err = NP_ERR_INIT;

	(void)state;
	assert_non_null(time);
	assert_ok(fill(time, &err), err);
	assert_string_equal(np_strtab_text(time->strings, time->list.item[2].type), "Add");
	assert_int_equal(np_device_sort_bound(&time->list.item[2]), NP_UNITS);
	assert_true(np_core_is_counted("MIX_AIC"));
	assert_false(np_core_is_counted("AI_CPU"));
}

static int make(struct np_err *err)
{
	NP_CLEANUP(np_device_time_freep) struct np_device_time *time = np_device_time_new();

	return time ? fill(time, err) : NP_E_NOMEM;
}

static void running_out_of_memory_is_survived(void **state)
{
	(void)state;
	assert_survives_faults(make);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			kernels_of_a_type_and_shape_are_summed_and_the_busiest_unit_bounds_them),
		cmocka_unit_test(kernels_without_counters_are_bound_by_nothing_that_is_known),
		cmocka_unit_test(running_out_of_memory_is_survived),
	};

	return cmocka_run_group_tests_name("device_time", tests, NULL, NULL);
}
