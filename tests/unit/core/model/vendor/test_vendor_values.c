/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of what values and types of the vendor's files mean. */
#include "core/model/vendor/task_types.h"
#include "core/model/vendor/values.h"

#include "np_test.h"

static struct np_slice slice(const char *text)
{
	return (struct np_slice){ text, strlen(text) };
}

/* --- numbers --------------------------------------------------------------------------------- */

static void a_number_is_unknown_if_it_is_negative_or_a_mark_of_no_value(void **state)
{
	(void)state;
	assert_int_equal(vendor_known(0), 0);
	assert_int_equal(vendor_known(4294967294), 4294967294);
	assert_int_equal(vendor_known(4294967296), 4294967296);
	assert_int_equal(vendor_known(4294967295), NP_UNKNOWN);
	assert_int_equal(vendor_known(-1), NP_UNKNOWN);
	assert_int_equal(vendor_known(INT64_MAX), NP_UNKNOWN);
	assert_int_equal(vendor_known(NP_UNKNOWN), NP_UNKNOWN);
}

static void a_size_of_over_a_petabyte_is_damage(void **state)
{
	(void)state;
	assert_int_equal(vendor_bytes(0), 0);
	assert_int_equal(vendor_bytes(NP_MOST_BYTES), NP_MOST_BYTES);
	assert_int_equal(vendor_bytes(NP_MOST_BYTES + 1), NP_UNKNOWN);
	assert_int_equal(vendor_bytes(-1), NP_UNKNOWN);
	assert_int_equal(vendor_bytes(NP_UNKNOWN), NP_UNKNOWN);
}

static void a_time_must_not_run_backwards_nor_last_over_30_days(void **state)
{
	(void)state;
	assert_true(vendor_time_ok(5, 5));
	assert_true(vendor_time_ok(-5, 5));
	assert_true(vendor_time_ok(0, NP_LONGEST_NS));
	assert_false(vendor_time_ok(0, NP_LONGEST_NS + 1));
	assert_false(vendor_time_ok(6, 5));
	assert_false(vendor_time_ok(NP_UNKNOWN, 5));
	assert_false(vendor_time_ok(5, INT64_MAX));
}

static void a_global_thread_has_the_process_in_its_upper_half(void **state)
{
	(void)state;
	assert_int_equal(vendor_thread(INT64_C(77) << 32 | 1234), 1234);
	assert_int_equal(vendor_thread(-1), NP_UNKNOWN);
	assert_int_equal(vendor_thread(NP_UNKNOWN), NP_UNKNOWN);
}

static void a_device_that_is_no_number_of_one_is_none(void **state)
{
	(void)state;
	assert_int_equal(vendor_device(7), 7);
	assert_int_equal(vendor_device(-3), -1);
	assert_int_equal(vendor_device(INT64_C(1) << 40), -1);
	assert_int_equal(vendor_device(NP_UNKNOWN), -1);
}

/* --- texts ----------------------------------------------------------------------------------- */

/* The text that is kept, or NULL for none. */
static const char *kept(struct np_strtab *strings, np_str id)
{
	return id == NP_STR_NONE ? NULL : np_strtab_text(strings, id);
}

static void words_for_no_value_are_not_kept(void **state)
{
	static const char *const none[] = { "", "N/A", "NA", "INVALID_TYPE" };
	struct np_strtab *strings = np_strtab_new();
	struct np_err err = NP_ERR_INIT;
	np_str id = 1;

	(void)state;
	for (size_t i = 0; i < NP_COUNT(none); i++) {
		assert_ok(vendor_intern(strings, none[i], strlen(none[i]), &id, &err), err);
		assert_null(kept(strings, id));
	}
	assert_ok(vendor_intern(strings, NULL, 0, &id, &err), err);
	assert_null(kept(strings, id));
	assert_ok(vendor_intern(strings, "N/A!", 4, &id, &err), err);
	assert_string_equal(kept(strings, id), "N/A!");
	np_strtab_free(strings);
}

/* Loading takes NA for the name of a type, as it always did; details do not. */
static void a_type_is_missing_only_if_it_is_empty_or_not_available(void **state)
{
	(void)state;
	assert_false(vendor_is_type("", 0));
	assert_false(vendor_is_type("N/A", 3));
	assert_true(vendor_is_type("NA", 2));
	assert_true(vendor_is_type("INVALID_TYPE", 12));
	assert_true(vendor_is_type("MatMul", 6));
}

static void lists_lose_line_ends_and_quotes_and_get_another_separator(void **state)
{
	struct np_strtab *strings = np_strtab_new();
	struct np_err err = NP_ERR_INIT;
	np_str id;

	(void)state;
	assert_ok(vendor_intern_list(strings, "\"1,2;\r\n3\"", 9, '|', &id, &err), err);
	assert_string_equal(kept(strings, id), "1,2|3");
	assert_ok(vendor_intern_list(strings, "plain", 5, ';', &id, &err), err);
	assert_string_equal(kept(strings, id), "plain");
	/* What is left of it says nothing. */
	assert_ok(vendor_intern_list(strings, "\"\r\n", 3, ';', &id, &err), err);
	assert_null(kept(strings, id));
	np_strtab_free(strings);
}

static void shapes_lose_their_quotes_and_nothing_else(void **state)
{
	struct np_strtab *strings = np_strtab_new();
	struct np_err err = NP_ERR_INIT;
	np_str id;

	(void)state;
	assert_ok(vendor_intern_shapes(strings, "\"4,8;2\r\n\"", 9, &id, &err), err);
	assert_string_equal(kept(strings, id), "4,8;2\r\n");
	np_strtab_free(strings);
}

/* --- types ----------------------------------------------------------------------------------- */

static enum task_class class_of(const char *type)
{
	return vendor_task_class(type, strlen(type));
}

static void spellings_of_a_task_by_version_are_one_class(void **state)
{
	(void)state;
	assert_int_equal(class_of("SDMA"), TASK_SDMA);
	assert_int_equal(class_of("SDMA_SQE"), TASK_SDMA);
	assert_int_equal(class_of("Notify Wait"), TASK_NOTIFY_WAIT);
	assert_int_equal(class_of("NOTIFY_WAIT_SQE"), TASK_NOTIFY_WAIT);
	assert_int_equal(class_of("MEMCPY_ASYNC"), TASK_COPY);
	assert_int_equal(class_of("PCIE_DMA_SQE"), TASK_COPY);
	assert_int_equal(class_of("KERNEL_AICORE"), TASK_NOT_IN_EXTENT);
	assert_int_equal(class_of("PROFILING_ENABLE"), TASK_NOT_IN_EXTENT);
	assert_int_equal(class_of("AI_CORE"), TASK_OTHER);
	assert_int_equal(class_of(""), TASK_OTHER);
	/* Longer than any that is known. */
	assert_int_equal(class_of("NOTIFY_WAIT_AND_A_VERY_LONG_TAIL_OF_LETTERS"), TASK_OTHER);
}

static void only_some_types_of_tasks_are_of_kernels_alone(void **state)
{
	(void)state;
	assert_true(vendor_is_kernel_task("KERNEL_AIVEC", 12));
	assert_false(vendor_is_kernel_task("AI_CORE", 7));
	assert_true(vendor_is_kernel_core("AI_CORE", 7));
	assert_true(vendor_is_kernel_core("KERNEL_AICPU", 12));
	assert_false(vendor_is_kernel_core("EVENT_WAIT", 10));
}

static void counters_of_older_versions_have_the_newer_name(void **state)
{
	(void)state;
	assert_string_equal(vendor_counter_name("aicore_time", 11), "aic_total_time");
	assert_string_equal(vendor_counter_name("aiv_time", 8), "aiv_total_time");
	assert_string_equal(vendor_counter_name("aic_mac_ratio", 13), "aic_mac_ratio");
	assert_string_equal(vendor_counter_name("aiv_time_x", 10), "aiv_time_x");
}

static void operators_are_known_by_their_core_or_their_name(void **state)
{
	(void)state;
	assert_true(vendor_is_operator(slice("HCCL"), slice("x")));
	assert_true(vendor_is_operator(slice("COMMUNICATION"), slice("x")));
	assert_true(vendor_is_operator(slice("AI_CORE"), slice("HCOM_allReduce__1")));
	assert_false(vendor_is_operator(slice("AI_CORE"), slice("hcom_")));
	assert_true(vendor_is_communication_kernel(slice("hcom_allReduce_AicpuKernel")));
	assert_false(vendor_is_communication_kernel(slice("MatMul")));
	assert_int_equal(vendor_operator_type("hcom_send__12_3", 15), strlen("hcom_send_"));
	assert_int_equal(vendor_operator_type("hcom_send", 9), 9);
	assert_int_equal(vendor_operator_type("hcom_send_12", 12), strlen("hcom_send_"));
	assert_int_equal(vendor_operator_type("hcom_receive_3_1", 16), strlen("hcom_receive_"));
	assert_int_equal(vendor_operator_type("Default/AllReduce-op53_0", 24), 24);
}

static void sub_tasks_are_alike_in_databases_and_traces(void **state)
{
	static const struct {
		const char *db;
		const char *trace;
		enum sub_task_kind kind;
	} types[] = {
		{ "NOTIFY_WAIT", "Notify_Wait", SUB_TASK_WAIT },
		{ "Memcpy", "Memcpy", SUB_TASK_PAYLOAD },
		{ "REDUCE_INLINE", "Reduce_Inline", SUB_TASK_REDUCE },
		{ "RDMASend", "RDMASend", SUB_TASK_OTHER },
	};

	(void)state;
	for (size_t i = 0; i < NP_COUNT(types); i++) {
		assert_int_equal(vendor_sub_task_kind(types[i].db, strlen(types[i].db)),
				 types[i].kind);
		assert_int_equal(vendor_trace_sub_task_kind(slice(types[i].trace)), types[i].kind);
	}
	assert_int_equal(vendor_sub_task_kind("N/A", 3), SUB_TASK_NOT_RECORDED);
	assert_int_equal(vendor_sub_task_kind("", 0), SUB_TASK_NOT_RECORDED);
	/* A trace has no sub-tasks at Level0. */
	assert_int_equal(vendor_trace_sub_task_kind(slice("N/A")), SUB_TASK_OTHER);
}

static void calls_are_known_by_their_numbers(void **state)
{
	(void)state;
	assert_string_equal(vendor_api_name(20000), "acl");
	assert_string_equal(vendor_api_name(10000), "node");
	assert_string_equal(vendor_api_name(5500), "communication");
	assert_string_equal(vendor_api_name(1), "?");
	assert_true(vendor_torch_is_op(50001));
	assert_false(vendor_torch_is_op(50002));
	assert_false(vendor_torch_is_op(50004));
	assert_true(vendor_torch_is_op(NP_UNKNOWN));
	assert_true(vendor_is_step("ProfilerStep#7"));
	assert_false(vendor_is_step("ProfilerStep"));
	assert_true(vendor_loads_data("enumerate(DataLoader)#_next", 27));
	assert_false(vendor_loads_data("dataload", 8));
}

static void a_cell_that_is_not_there_is_no_value(void **state)
{
	(void)state;
	assert_true(vendor_is_no_value(NULL, 0, VENDOR_NO_TEXT));
	assert_true(vendor_is_no_value(NULL, 0, VENDOR_NO_TYPE));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_cell_that_is_not_there_is_no_value),
		cmocka_unit_test(a_number_is_unknown_if_it_is_negative_or_a_mark_of_no_value),
		cmocka_unit_test(a_size_of_over_a_petabyte_is_damage),
		cmocka_unit_test(a_time_must_not_run_backwards_nor_last_over_30_days),
		cmocka_unit_test(a_global_thread_has_the_process_in_its_upper_half),
		cmocka_unit_test(a_device_that_is_no_number_of_one_is_none),
		cmocka_unit_test(words_for_no_value_are_not_kept),
		cmocka_unit_test(a_type_is_missing_only_if_it_is_empty_or_not_available),
		cmocka_unit_test(lists_lose_line_ends_and_quotes_and_get_another_separator),
		cmocka_unit_test(shapes_lose_their_quotes_and_nothing_else),
		cmocka_unit_test(spellings_of_a_task_by_version_are_one_class),
		cmocka_unit_test(only_some_types_of_tasks_are_of_kernels_alone),
		cmocka_unit_test(counters_of_older_versions_have_the_newer_name),
		cmocka_unit_test(operators_are_known_by_their_core_or_their_name),
		cmocka_unit_test(sub_tasks_are_alike_in_databases_and_traces),
		cmocka_unit_test(calls_are_known_by_their_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
