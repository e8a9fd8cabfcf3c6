/* SPDX-License-Identifier: Apache-2.0 */
#include "np_load_fixture.h"

/* --- numbers of the rank database ----------------------------------------------------------- */

static void steps_have_the_times_worked_out_by_hand(void **state)
{
	(void)state;
	make_rank_db(0, NULL);
	{
		with_run *run = load();
		const struct np_rank *rank = np_run_rank(run, 0);

		assert_known_steps(run, rank);
		assert_int_equal(rank->steps.count, 2);
		assert_int_equal(rank->steps.item[0].begin, 1150000);
		assert_int_equal(rank->steps.item[0].end, 2000000);
		assert_int_equal(rank->steps.item[1].begin, 2150000);
		assert_int_equal(rank->steps.item[1].end, 3000000);
		assert_int_equal(rank->steps.item[1].host_begin, 2000000);
		assert_int_equal(rank->step_source, NP_FROM_RANK_DB);
		assert_no_notes(&run->notes);
	}
}

static void the_extent_of_tasks_leaves_out_markers(void **state)
{
	(void)state;
	make_rank_db(0, NULL);
	{
		with_run *run = load();

		assert_int_equal(time_of(run, np_run_rank(run, 0), "10", 4)->e2e, 750000);
		assert_int_equal(time_of(run, np_run_rank(run, 0), "11", 4)->e2e, 350000);
	}
}

static void a_rank_knows_where_it_ran_and_what_wrote_it(void **state)
{
	(void)state;
	make_rank_db(3, NULL);
	{
		with_run *run = load();
		const struct np_rank *rank = np_run_rank(run, 3);

		assert_int_equal(rank->id, 3);
		assert_int_equal(rank->device, 4);
		assert_int_equal(rank->device_count, 1);
		assert_string_equal(np_run_text(run, rank->host_uid), "uid1");
		assert_string_equal(np_run_text(run, rank->host_name), "host1");
		assert_string_equal(np_run_text(run, rank->schema_version), "1.0.0");
		assert_string_equal(np_run_text(run, rank->level), "Level1");
		assert_string_equal(np_run_text(run, rank->cann_version), "8.0");
		assert_string_equal(np_run_text(run, rank->framework_version), "2.1");
	}
}

static void operators_have_the_times_worked_out_by_hand(void **state)
{
	(void)state;
	make_rank_db(0, NULL);
	{
		with_run *run = load();

		assert_known_ops(run, np_run_rank(run, 0));
	}
}

/*
 * Step 10 is free 1700-1800; the kernel that follows was launched by 1790, and data
 * were loaded 1650-1750. Step 11 is free 2250-2300; a copy 2260-2270 in it was
 * launched by 2255, and the receive at 2300 by 2210. A copy 2350-2360 lies in the
 * receive; another is one of its sub-tasks.
 */
static void every_nanosecond_has_a_cause(void **state)
{
	(void)state;
	make_rank_db(0, "UPDATE CANN_API SET endNs = 1790000 WHERE connectionId = 2;"
			"CREATE TABLE PYTORCH_API(startNs TEXT, endNs TEXT, globalTid INTEGER,"
			" connectionId INTEGER, name INTEGER);"
			"INSERT INTO STRING_IDS VALUES(50, 'enumerate(DataLoader)#next'),"
			" (51, 'MEMCPY_ASYNC'), (52, 'aten::add');"
			"INSERT INTO PYTORCH_API VALUES('1600000', '1790000', 1, NULL, 52),"
			" ('1650000', '1750000', 1, NULL, 50);"
			"INSERT INTO CANN_API VALUES(2240000, 2255000, 20000, 1, 20, 2);"
			"INSERT INTO TASK(startNs, endNs, deviceId, connectionId, globalTaskId,"
			" taskType) VALUES(2260000, 2270000, 4, 20, 120, 51),"
			" (2350000, 2360000, 4, 20, 121, 51), (2280000, 2290000, 4, 5, 122, 51);");
	{
		with_run *run = load();
		const struct np_rank *rank = np_run_rank(run, 0);

		assert_int_equal(rank->activity.cells.count, rank->times.count);
		assert_int_equal(leaf_us(rank, 0, NP_LEAF_COMPUTE), 300);
		assert_int_equal(leaf_us(rank, 0, NP_LEAF_COMM), 350);
		assert_int_equal(leaf_us(rank, 0, NP_LEAF_FREE_DATALOADER), 50);
		assert_int_equal(leaf_us(rank, 0, NP_LEAF_FREE_HOST), 40);
		assert_int_equal(leaf_us(rank, 0, NP_LEAF_FREE_OTHER), 10);
		assert_int_equal(leaf_us(rank, 1, NP_LEAF_MEMCPY), 10);
		assert_int_equal(leaf_us(rank, 1, NP_LEAF_FREE_HOST), 5);
		assert_int_equal(leaf_us(rank, 1, NP_LEAF_FREE_OTHER), 35);
		assert_int_equal(leaf_us(rank, 1, NP_LEAF_COMM), 200);
		assert_int_equal(rank->activity.exposed.count, 2);
		assert_string_equal(
			np_run_text(run, rank->ops.item[rank->activity.exposed.item[1].op].name),
			"hcom_receive__456_0_1");
	}
}

static void a_rank_without_intervals_has_no_activity(void **state)
{
	(void)state;
	make_analysis_db(0, NULL);
	{
		with_run *run = load();

		assert_int_equal(np_run_rank(run, 0)->times.count, 2);
		assert_int_equal(np_run_rank(run, 0)->activity.cells.count, 0);
	}
}

static void communicators_are_summed_by_step(void **state)
{
	(void)state;
	make_rank_db(0, NULL);
	{
		with_run *run = load();
		const struct np_rank *rank = np_run_rank(run, 0);
		const struct np_comm_step *sum = sum_of(rank, "group_a");

		assert_int_equal(rank->comm_steps.count, 2);
		assert_int_equal(sum->ops, 1);
		assert_int_equal(sum->bytes, 4000);
		assert_int_equal(sum->moved_bytes, 4000);
		assert_int_equal(sum->moved_time, 200000);
		assert_int_equal(sum->elapsed, 400000);
		assert_int_equal(sum->transfer, 210000);
		assert_int_equal(sum->exposed, 350000);
		assert_int_equal(sum->overlapped, 50000);
		sum = sum_of(rank, "group_b");
		assert_int_equal(sum->exposed, 200000);
		assert_int_equal(sum->overlapped, 0);
	}
}

/* The union of operators that overlap each other is exposed once; elapsed counts each. */
static void operators_at_once_are_exposed_once(void **state)
{
	(void)state;
	make_rank_db(0, "INSERT INTO COMMUNICATION_OP VALUES(3, 1500000, 1750000, 3, 4, 9, 0, 0, 4,"
			" 0, 10, 7)");
	{
		with_run *run = load();
		const struct np_comm_step *sum = sum_of(np_run_rank(run, 0), "group_a");

		assert_int_equal(sum->ops, 2);
		assert_int_equal(sum->elapsed, 650000);
		/* 1300-1750 without 1300-1350. */
		assert_int_equal(sum->exposed, 400000);
		assert_int_equal(sum->overlapped, 50000);
		/* The second has no sub-tasks: the sum is not known. */
		assert_int_equal(sum->transfer, NP_UNKNOWN);
	}
}

/* STRING_IDS repeats values under other ids (formats §1.7). */
static void one_communicator_under_two_string_ids_is_one(void **state)
{
	(void)state;
	make_rank_db(0, "UPDATE COMMUNICATION_OP SET groupName = 536870943 WHERE opId = 2");
	{
		with_run *run = load();

		assert_int_equal(np_run_rank(run, 0)->groups.count, 1);
	}
}

static void inputs_are_not_touched_by_loading(void **state)
{
	char *before;

	(void)state;
	make_rank_db(0, "PRAGMA journal_mode=WAL; INSERT INTO META_DATA VALUES('x', 'y')");
	make_analysis_db(0, NULL);
	before = snapshot(np_fixture_root);
	{
		with_run *run = load();

		assert_int_equal(np_run_used(run), 1);
	}
	assert_untouched(np_fixture_root, before);
}

/* --- versions of the schema ----------------------------------------------------------------- */

static void an_old_database_without_op_type_takes_it_from_the_name(void **state)
{
	(void)state;
	skip_unless_columns_drop();
	make_rank_db(0, "ALTER TABLE COMMUNICATION_OP DROP COLUMN opType");
	{
		with_run *run = load();

		assert_known_ops(run, np_run_rank(run, 0));
	}
}

static void at_level0_the_type_of_an_operator_is_taken_from_its_name(void **state)
{
	(void)state;
	make_rank_db(0, "INSERT INTO STRING_IDS VALUES(777, 'N/A');"
			"UPDATE COMMUNICATION_OP SET opType = 777");
	{
		with_run *run = load();

		assert_known_ops(run, np_run_rank(run, 0));
	}
}

static void newer_columns_change_nothing(void **state)
{
	(void)state;
	make_rank_db(0, "ALTER TABLE COMMUNICATION_OP ADD COLUMN deviceId INTEGER;"
			"ALTER TABLE COMMUNICATION_OP ADD COLUMN rankSize INTEGER;"
			"UPDATE COMMUNICATION_OP SET deviceId = 4, rankSize = 8;"
			"ALTER TABLE COMPUTE_TASK_INFO RENAME COLUMN blockDim TO blockNum;"
			"ALTER TABLE COMPUTE_TASK_INFO ADD COLUMN blockDim INTEGER;"
			"ALTER TABLE TASK ADD COLUMN depth INTEGER;"
			"ALTER TABLE COMMUNICATION_OP ADD COLUMN waitNs INTEGER;"
			"ALTER TABLE COMMUNICATION_TASK_INFO ADD COLUMN bandwidth NUMERIC");
	{
		with_run *run = load();

		assert_known_steps(run, np_run_rank(run, 0));
		assert_known_ops(run, np_run_rank(run, 0));
		assert_no_notes(&run->notes);
	}
}

/* The mark says plane 0, which holds only the copy on the chip. */
static void a_marked_master_plane_is_believed(void **state)
{
	(void)state;
	make_rank_db(0, "ALTER TABLE COMMUNICATION_TASK_INFO ADD COLUMN isMaster INTEGER;"
			"UPDATE COMMUNICATION_TASK_INFO SET isMaster = planeId = 0");
	{
		with_run *run = load();
		const struct np_rank *rank = np_run_rank(run, 0);

		assert_vendor_times(rank, 0, 0, 0, NP_UNKNOWN);
		assert_int_equal(rank->ops.item[0].transfer, 210000);
	}
}

static void a_database_that_does_not_say_the_device_has_one(void **state)
{
	(void)state;
	skip_unless_columns_drop();
	make_rank_db(0, "ALTER TABLE TASK DROP COLUMN deviceId");
	{
		with_run *run = load();
		const struct np_rank *rank = np_run_rank(run, 0);

		assert_int_equal(rank->device, -1);
		assert_int_equal(rank->times.count, 2);
		assert_int_equal(time_of(run, rank, "10", -1)->computing, 300000);
		assert_int_equal(time_of(run, rank, "10", -1)->communication, 400000);
	}
}

static void other_spellings_of_task_types_are_understood(void **state)
{
	(void)state;
	make_rank_db(0, "UPDATE STRING_IDS SET value = 'NOTIFY_WAIT_SQE' WHERE id = 9;"
			"UPDATE STRING_IDS SET value = 'memcpy' WHERE id = 10;"
			"UPDATE STRING_IDS SET value = 'Kernel_AICore' WHERE id = 13");
	{
		with_run *run = load();

		assert_known_ops(run, np_run_rank(run, 0));
		assert_int_equal(time_of(run, np_run_rank(run, 0), "11", 4)->e2e, 350000);
	}
}

static void a_rank_without_communication_has_none(void **state)
{
	(void)state;
	make_rank_db(0, "DROP TABLE COMMUNICATION_OP; DROP TABLE COMMUNICATION_TASK_INFO");
	{
		with_run *run = load();
		const struct np_rank *rank = np_run_rank(run, 0);

		assert_int_equal(rank->ops.count, 0);
		assert_int_equal(rank->comm_source, NP_FROM_NOTHING);
		/* 1150-1350 and 1800-1900. */
		assert_int_equal(time_of(run, rank, "10", 4)->communication, 0);
		assert_int_equal(time_of(run, rank, "10", 4)->free, 450000);
		assert_no_notes(&run->notes);
	}
}

/* Level0: tasks have neither plane nor size nor link; TASK.taskType tells what they are. */
static void at_level0_waits_are_known_and_sizes_are_not(void **state)
{
	(void)state;
	make_rank_db(0, "UPDATE COMMUNICATION_TASK_INFO SET taskType = 14, planeId = 4294967295,"
			" srcRank = 4294967295, dstRank = 4294967295, size = -1,"
			" transportType = 65534, linkType = 65534");
	{
		with_run *run = load();
		const struct np_rank *rank = np_run_rank(run, 0);

		assert_false(rank->sizes_known);
		assert_int_equal(rank->ops.item[0].transfer, 210000);
		assert_vendor_times(rank, 0, 210000, 190000, NP_UNKNOWN);
		assert_int_equal(rank->bands.count, 0);
		assert_int_equal(rank->links.count, 0);
		assert_int_equal(sum_of(rank, "group_a")->moved_bytes, NP_UNKNOWN);
		assert_int_equal(sum_of(rank, "group_a")->moved_time, NP_UNKNOWN);
		assert_int_equal(sum_of(rank, "group_a")->bytes, 4000);
	}
}

static void a_table_without_a_needed_column_makes_the_rank_unusable(void **state)
{
	const struct np_discover_options options = { 0 };
	const struct np_load_options how = { .procs = &np_procs_serial, .workers.threads = 1 };
	with_run *run = NULL;
	struct np_err err = NP_ERR_INIT;
	const char *roots[] = { np_fixture_root };

	(void)state;
	skip_unless_columns_drop();
	run = np_run_new();
	make_rank_db(0, "DROP INDEX TaskIndex; ALTER TABLE TASK DROP COLUMN globalTaskId");
	assert_ok(np_discover(run, roots, 1, &options, &err), err);
	assert_int_equal(np_load_run(run, &how, &err), NP_E_FORMAT);
	assert_holds(err.text, "globalTaskId");
	assert_noted(&run->notes, NP_NOTE_SKIPPED, "rank", "globalTaskId");
}

/* --- several devices ------------------------------------------------------------------------ */

static void devices_of_one_database_are_accounted_apart(void **state)
{
	(void)state;
	make_rank_db(0, second_device);
	{
		with_run *run = load();
		const struct np_rank *rank = np_run_rank(run, 0);

		assert_int_equal(rank->device_count, 2);
		assert_int_equal(rank->times.count, 4);
		assert_int_equal(time_of(run, rank, "10", 4)->computing, 300000);
		assert_int_equal(time_of(run, rank, "10", 4)->communication, 400000);
		assert_int_equal(time_of(run, rank, "10", 5)->computing, 40000);
		assert_int_equal(time_of(run, rank, "10", 5)->communication, 100000);
		assert_int_equal(time_of(run, rank, "11", 5)->computing, 0);
		assert_noted(&run->notes, NP_NOTE_WARNING, "devices", "tasks of 2 devices");
	}
}

static void an_operator_of_which_the_device_cannot_be_told_is_listed(void **state)
{
	(void)state;
	/* Connection 3 has tasks on both devices. */
	make_rank_db(0, "INSERT INTO TASK(startNs, endNs, deviceId, connectionId, globalTaskId,"
			" taskType) VALUES(1160000, 1200000, 5, 3, 301, 1)");
	{
		with_run *run = load();
		const struct np_rank *rank = np_run_rank(run, 0);

		assert_int_equal(rank->ops.item[0].device, -1);
		assert_int_equal(time_of(run, rank, "10", 4)->communication, 0);
		assert_noted(&run->notes, NP_NOTE_SKIPPED, "operators", "2 devices");
	}
}

static void an_operator_that_says_its_device_is_believed(void **state)
{
	(void)state;
	make_rank_db(0, "INSERT INTO TASK(startNs, endNs, deviceId, connectionId, globalTaskId,"
			" taskType) VALUES(1160000, 1200000, 5, 3, 301, 1);"
			"ALTER TABLE COMMUNICATION_OP ADD COLUMN deviceId INTEGER;"
			"UPDATE COMMUNICATION_OP SET deviceId = 5 WHERE opId = 1;"
			"UPDATE COMMUNICATION_OP SET deviceId = 4 WHERE opId = 2");
	{
		with_run *run = load();
		const struct np_rank *rank = np_run_rank(run, 0);

		assert_int_equal(time_of(run, rank, "10", 5)->communication, 400000);
		assert_int_equal(time_of(run, rank, "10", 4)->communication, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_fixture(steps_have_the_times_worked_out_by_hand),
		with_fixture(the_extent_of_tasks_leaves_out_markers),
		with_fixture(a_rank_knows_where_it_ran_and_what_wrote_it),
		with_fixture(operators_have_the_times_worked_out_by_hand),
		with_fixture(every_nanosecond_has_a_cause),
		with_fixture(a_rank_without_intervals_has_no_activity),
		with_fixture(communicators_are_summed_by_step),
		with_fixture(operators_at_once_are_exposed_once),
		with_fixture(one_communicator_under_two_string_ids_is_one),
		with_fixture(inputs_are_not_touched_by_loading),
		with_fixture(an_old_database_without_op_type_takes_it_from_the_name),
		with_fixture(at_level0_the_type_of_an_operator_is_taken_from_its_name),
		with_fixture(newer_columns_change_nothing),
		with_fixture(a_marked_master_plane_is_believed),
		with_fixture(a_database_that_does_not_say_the_device_has_one),
		with_fixture(other_spellings_of_task_types_are_understood),
		with_fixture(a_rank_without_communication_has_none),
		with_fixture(at_level0_waits_are_known_and_sizes_are_not),
		with_fixture(a_table_without_a_needed_column_makes_the_rank_unusable),
		with_fixture(devices_of_one_database_are_accounted_apart),
		with_fixture(an_operator_of_which_the_device_cannot_be_told_is_listed),
		with_fixture(an_operator_that_says_its_device_is_believed),
	};

	return cmocka_run_group_tests_name("load", tests, NULL, NULL);
}
