/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the descriptions of the vendor's tables and text files. */
#include "core/model/vendor/tables.h"
#include "core/model/vendor/text_columns.h"

#include "np_fixture.h"

#include "npuprof/db.h"

static struct np_db *database(const char *sql)
{
	struct np_err err = NP_ERR_INIT;
	struct np_db *db = NULL;

	run_sql(below("rank.db"), sql);
	assert_ok(np_db_open(below("rank.db"), &db, &err), err);
	return db;
}

/* --- tables ---------------------------------------------------------------------------------- */

static void a_reader_finds_its_columns_under_the_names_of_the_table(void **state)
{
	static const struct vendor_pick all = { &vendor_task, 0, 0 };
	NP_CLEANUP(np_db_closep)
	struct np_db *db = database("CREATE TABLE TASK (globalTaskId INT, endNs INT, startNs INT,"
				    " streamId INT); INSERT INTO TASK VALUES (9, 20, 10, 3)");
	NP_CLEANUP(np_scan_closep) struct np_scan *scan = NULL;
	struct np_err err = NP_ERR_INIT;
	struct np_batch batch;

	(void)state;
	assert_ok(vendor_scan_open(db, &all, &scan, &err), err);
	assert_ok(np_scan_next(scan, &batch, &err), err);
	assert_int_equal(batch.rows, 1);
	assert_int_equal(batch.column[TASK_START].integer[0], 10);
	assert_int_equal(batch.column[TASK_END].integer[0], 20);
	assert_int_equal(batch.column[TASK_ID].integer[0], 9);
	assert_int_equal(batch.column[TASK_STREAM].integer[0], 3);
	/* The file has none. */
	assert_int_equal(batch.column[TASK_DEVICE].integer[0], NP_UNKNOWN);
}

static void columns_that_are_not_picked_are_not_read(void **state)
{
	static const struct vendor_pick start = { &vendor_task, VENDOR_BIT(TASK_START), 0 };
	NP_CLEANUP(np_db_closep)
	struct np_db *db = database("CREATE TABLE TASK (startNs INT, taskType INT);"
				    "INSERT INTO TASK VALUES (10, 4)");
	NP_CLEANUP(np_scan_closep) struct np_scan *scan = NULL;
	struct np_err err = NP_ERR_INIT;
	struct np_batch batch;

	(void)state;
	/* endNs and globalTaskId, which every reader of tasks needs, are not asked for. */
	assert_ok(vendor_scan_open(db, &start, &scan, &err), err);
	assert_ok(np_scan_next(scan, &batch, &err), err);
	assert_int_equal(batch.column[TASK_START].integer[0], 10);
	assert_null(batch.column[TASK_TYPE].integer);
	assert_false(np_scan_has(scan, TASK_TYPE));
}

static void a_reader_may_require_more_than_others(void **state)
{
	static const struct vendor_pick lenient = { &vendor_cann_api, 0, 0 };
	static const struct vendor_pick strict = { &vendor_cann_api, 0, VENDOR_BIT(CALL_TYPE) };
	NP_CLEANUP(np_db_closep)
	struct np_db *db = database("CREATE TABLE CANN_API (startNs INT, endNs INT)");
	struct np_err err = NP_ERR_INIT;
	struct np_scan *scan = NULL;

	(void)state;
	assert_ok(vendor_scan_open(db, &lenient, &scan, &err), err);
	np_scan_close(scan);
	assert_int_equal(vendor_scan_open(db, &strict, &scan, &err), NP_E_FORMAT);
	assert_non_null(strstr(err.text, "table CANN_API has no column type"));
}

static void a_table_that_is_missing_is_not_found(void **state)
{
	static const struct vendor_pick marks = { &vendor_mstx_events, 0, 0 };
	NP_CLEANUP(np_db_closep) struct np_db *db = database("CREATE TABLE TASK (startNs INT)");
	struct np_scan *scan = NULL;

	(void)state;
	assert_int_equal(vendor_scan_open(db, &marks, &scan, NULL), NP_E_NOTFOUND);
}

static void every_table_fits_into_a_batch_and_has_no_column_twice(void **state)
{
	static const struct vendor_table *const tables[] = {
		&vendor_string_ids,     &vendor_enum_data_type,   &vendor_enum_link,
		&vendor_enum_transport, &vendor_enum_rdma,        &vendor_enum_api,
		&vendor_enum_module,    &vendor_meta_data,        &vendor_host_info,
		&vendor_npu_info,       &vendor_step_time,        &vendor_cann_api,
		&vendor_pytorch_api,    &vendor_callchains,       &vendor_connection_ids,
		&vendor_mstx_events,    &vendor_gc_record,        &vendor_task,
		&vendor_compute_task,   &vendor_schedule_task,    &vendor_task_pmu,
		&vendor_aicore_freq,    &vendor_communication_op, &vendor_communication_task,
		&vendor_memory_record,  &vendor_op_memory,        &vendor_npu_op_mem,
		&vendor_npu_mem,        &vendor_npu_module_mem,   &vendor_overlap,
	};

	(void)state;
	for (size_t t = 0; t < NP_COUNT(tables); t++) {
		assert_true(tables[t]->count <= NP_SCAN_COLUMNS);
		for (size_t i = 0; i < tables[t]->count; i++) {
			assert_non_null(tables[t]->columns[i].names);
			assert_true(strlen(tables[t]->columns[i].names) > 0);
			for (size_t j = 0; j < i; j++)
				assert_string_not_equal(tables[t]->columns[i].names,
							tables[t]->columns[j].names);
		}
	}
}

/* --- text files ------------------------------------------------------------------------------ */

static void names_of_both_tools_are_one_column(void **state)
{
	static const char *const files[] = {
		"Name,Type,Start Time(us),Duration(us)\nMatMul_1,MatMul,5,2\n",
		"Op Name,OP Type,Task Start Time(us),Task Duration(us)\nMatMul_1,MatMul,5,2\n",
	};
	struct np_err err = NP_ERR_INIT;

	(void)state;
	for (size_t i = 0; i < NP_COUNT(files); i++) {
		NP_CLEANUP(np_csv_closep) struct np_csv *csv = NULL;
		const struct np_csv_row *row = NULL;

		write_text(below("kernels.csv"), files[i]);
		assert_ok(vendor_csv_open(below("kernels.csv"), vendor_kernels, KERNELS_LOADED, 0,
					  &csv, &err),
			  err);
		assert_ok(np_csv_next(csv, &row, &err), err);
		assert_true(np_slice_is(row->cell[KERNELS_NAME], "MatMul_1"));
		assert_true(np_slice_is(row->cell[KERNELS_TYPE], "MatMul"));
		assert_true(np_slice_is(row->cell[KERNELS_START], "5"));
		assert_true(np_slice_is(row->cell[KERNELS_DURATION], "2"));
	}
}

static void details_of_memory_require_times_and_loading_does_not(void **state)
{
	struct np_err err = NP_ERR_INIT;
	struct np_csv *csv = NULL;

	(void)state;
	write_text(below("memory.csv"), "Component,Total Reserved(MB)\nPTA,1\n");
	assert_ok(vendor_csv_open(below("memory.csv"), vendor_memory_components, COMPONENT_LOADED,
				  0, &csv, &err),
		  err);
	np_csv_close(csv);
	assert_int_equal(vendor_csv_open(below("memory.csv"), vendor_memory_components,
					 COMPONENT_COLUMNS, VENDOR_COLUMN_BIT(COMPONENT_TIME), &csv,
					 &err),
			 NP_E_FORMAT);
	assert_non_null(strstr(err.text, "Timestamp(us)"));
}

static void what_has_no_other_name_is_a_counter(void **state)
{
	(void)state;
	assert_true(vendor_kernels_is_counter("aic_mac_ratio"));
	assert_true(vendor_kernels_is_counter("aicore_time(us)"));
	assert_false(vendor_kernels_is_counter("Duration(us)"));
	assert_false(vendor_kernels_is_counter("Task Duration(us)"));
	assert_false(vendor_kernels_is_counter("HF32 Eligible"));
	assert_false(vendor_kernels_is_counter("Something New"));
}

#define WITH_FILES(test) \
	cmocka_unit_test_setup_teardown(test, np_fixture_setup, np_fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_FILES(a_reader_finds_its_columns_under_the_names_of_the_table),
		WITH_FILES(columns_that_are_not_picked_are_not_read),
		WITH_FILES(a_reader_may_require_more_than_others),
		WITH_FILES(a_table_that_is_missing_is_not_found),
		cmocka_unit_test(every_table_fits_into_a_batch_and_has_no_column_twice),
		WITH_FILES(names_of_both_tools_are_one_column),
		WITH_FILES(details_of_memory_require_times_and_loading_does_not),
		cmocka_unit_test(what_has_no_other_name_is_a_counter),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
