/* SPDX-License-Identifier: Apache-2.0 */
#include "np_load_fixture.h"

#include "npuprof/ranges.h"

/* --- steps ---------------------------------------------------------------------------------- */

/*
 * Without markers everything from the first launched task on is one step: 1150-2500,
 * computing 400, communication 600, overlapped 50; the host's first call at 900.
 */
static void a_run_without_steps_is_one_pseudo_step(void **state)
{
	(void)state;
	make_rank_db(0, "DROP TABLE STEP_TIME; CREATE TABLE PYTORCH_API(startNs TEXT, endNs TEXT);"
			"INSERT INTO PYTORCH_API VALUES('950000', '960000'), ('900000', '960000')");
	{
		with_run *run = load();
		const struct np_rank *rank = np_run_rank(run, 0);
		const struct np_step_time *time = &rank->times.item[0];

		assert_int_equal(rank->steps.count, 1);
		assert_int_equal(rank->steps.item[0].id, NP_STR_NONE);
		assert_int_equal(rank->steps.item[0].begin, 1150000);
		assert_int_equal(rank->times.count, 1);
		assert_int_equal(time->computing, 400000);
		assert_int_equal(time->communication, 600000);
		assert_int_equal(time->overlapped, 50000);
		assert_int_equal(time->span, 1350000);
		assert_int_equal(time->preparing, 250000);
		assert_int_equal(rank->ops.item[0].step, 0);
	}
}

static void an_empty_step_table_is_one_pseudo_step_too(void **state)
{
	(void)state;
	make_rank_db(0, "DELETE FROM STEP_TIME");
	{
		with_run *run = load();

		assert_int_equal(np_run_rank(run, 0)->steps.count, 1);
		assert_int_equal(np_run_rank(run, 0)->times.item[0].preparing, NP_UNKNOWN);
	}
}

/* Step 11's first task now starts at 1850: step 10 ends there. */
static void windows_that_meet_are_cut_and_nothing_counts_twice(void **state)
{
	(void)state;
	make_rank_db(0, "INSERT INTO TASK(startNs, endNs, deviceId, connectionId, globalTaskId,"
			" taskType) VALUES(1850000, 1950000, 4, 4, 120, 1);"
			"INSERT INTO COMPUTE_TASK_INFO VALUES(2, 120, 8, 0, 1, 2)");
	/* The vendor counts it in both: 400 µs in step 10, 200 in step 11. */
	make_analysis_db(0, "UPDATE StepTraceTime SET computing = 400 WHERE step = '10';"
			    "UPDATE StepTraceTime SET computing = 200 WHERE step = '11'");
	{
		with_run *run = load();
		const struct np_rank *rank = np_run_rank(run, 0);

		assert_int_equal(rank->steps.item[0].end, 1850000);
		assert_true(rank->steps.item[0].cut);
		assert_int_equal(time_of(run, rank, "10", 4)->computing, 300000);
		assert_int_equal(time_of(run, rank, "11", 4)->computing, 200000);
		/* No disagreement to report. */
		assert_no_notes(&run->notes);
	}
}

static void operators_outside_every_step_are_noted_and_in_no_sum(void **state)
{
	(void)state;
	make_rank_db(0, "INSERT INTO COMMUNICATION_OP VALUES(3, 5000000, 5100000, 3, 4, 9, 0, 0, 4,"
			" 0, 10, 7)");
	{
		with_run *run = load();
		const struct np_rank *rank = np_run_rank(run, 0);

		assert_int_equal(rank->ops.count, 3);
		assert_int_equal(rank->ops.item[2].step, NP_NO_STEP);
		assert_int_equal(sum_of(rank, "group_a")->ops, 1);
		assert_noted(&run->notes, NP_NOTE_WARNING, "operators", "1 of 3");
	}
}

static void impossible_times_are_left_out_and_noted(void **state)
{
	(void)state;
	make_rank_db(
		0, "INSERT INTO TASK(startNs, endNs, deviceId, connectionId, globalTaskId)"
		   " VALUES(1500000, 1400000, 4, 1, 201), (NULL, 1, 4, 1, 202),"
		   " (9223372036854775807, 9223372036854775807, 4, 1, 203), ('x', 'y', 4, 1, 204);"
		   "INSERT INTO COMMUNICATION_OP VALUES"
		   " (3, 1800000, 1700000, 3, 4, 9, 0, 0, 4, 0, 10, 7),"
		   " (3, NULL, NULL, 3, 4, 10, 0, 0, 4, 0, 10, 7)");
	{
		with_run *run = load();

		assert_known_steps(run, np_run_rank(run, 0));
		assert_known_ops(run, np_run_rank(run, 0));
		assert_noted(&run->notes, NP_NOTE_SKIPPED, "tasks", "6 ");
	}
}

/* Sums of such numbers would overflow. */
static void absurd_times_and_sizes_are_left_out(void **state)
{
	(void)state;
	make_rank_db(0, "INSERT INTO COMMUNICATION_OP SELECT 5, 2300000, 4600000000000000000, 5, 6,"
			" 20 + value, 0, 0, 4, 0, 1, 8 FROM json_each('[1, 2, 3, 4]');"
			"UPDATE COMMUNICATION_OP SET count = 2000000000000000000 WHERE opId < 3;"
			"UPDATE COMMUNICATION_TASK_INFO SET size = 9000000000000000000");
	{
		with_run *run = load();
		const struct np_rank *rank = np_run_rank(run, 0);

		assert_known_steps(run, rank);
		assert_int_equal(rank->ops.count, 2);
		assert_int_equal(rank->ops.item[0].bytes, NP_UNKNOWN);
		assert_noted(&run->notes, NP_NOTE_SKIPPED, "tasks", "4 ");
	}
}

static void steps_with_impossible_times_are_listed(void **state)
{
	(void)state;
	make_rank_db(0, "INSERT INTO STEP_TIME VALUES(12, 4000000, 3000000), (NULL, 1, 2)");
	{
		with_run *run = load();

		assert_int_equal(np_run_rank(run, 0)->steps.count, 2);
		assert_noted(&run->notes, NP_NOTE_SKIPPED, "STEP_TIME", "impossible");
	}
}

static void kernels_and_sub_tasks_without_a_task_are_noted(void **state)
{
	(void)state;
	make_rank_db(0, "INSERT INTO COMPUTE_TASK_INFO VALUES(2, 999, 8, 0, 1, 2);"
			"INSERT INTO COMMUNICATION_TASK_INFO(globalTaskId, taskType, planeId, opId)"
			" VALUES(998, 9, 1, 1), (104, 9, 1, 77)");
	{
		with_run *run = load();

		assert_known_ops(run, np_run_rank(run, 0));
		assert_noted(&run->notes, NP_NOTE_SKIPPED, "COMPUTE_TASK_INFO", "1 ");
		assert_noted(&run->notes, NP_NOTE_WARNING, "COMMUNICATION_TASK_INFO", "2 ");
	}
}

static void sizes_of_elements_that_are_not_known_are_unknown_bytes(void **state)
{
	(void)state;
	make_rank_db(0, "UPDATE COMMUNICATION_OP SET dataType = 65534 WHERE opId = 1;"
			"UPDATE COMMUNICATION_OP SET count = NULL WHERE opId = 2");
	{
		with_run *run = load();
		const struct np_rank *rank = np_run_rank(run, 0);

		assert_int_equal(rank->ops.item[0].bytes, NP_UNKNOWN);
		assert_int_equal(rank->ops.item[1].bytes, NP_UNKNOWN);
		assert_int_equal(sum_of(rank, "group_a")->bytes, NP_UNKNOWN);
	}
}

/* --- keeping steps -------------------------------------------------------------------------- */

static struct np_ranges *ranges(const char *text)
{
	struct np_ranges *list = NULL;

	assert_int_equal(np_ranges_parse(text, &list, NULL), NP_OK);
	return list;
}

static void only_the_steps_asked_for_are_kept(void **state)
{
	NP_CLEANUP(np_ranges_freep) struct np_ranges *list = ranges("11");

	(void)state;
	make_rank_db(0, "INSERT INTO COMMUNICATION_OP VALUES(3, 5000000, 5100000, 3, 4, 9, 0, 0, 4,"
			" 0, 10, 7)");
	{
		with_run *run = load();
		const struct np_rank *rank = np_run_rank(run, 0);
		struct np_err err = NP_ERR_INIT;

		assert_ok(np_run_keep_steps(run, list, &err), err);
		assert_int_equal(rank->steps.count, 1);
		assert_string_equal(np_run_text(run, rank->steps.item[0].id), "11");
		assert_int_equal(rank->times.count, 1);
		assert_int_equal(rank->times.item[0].step, 0);
		assert_int_equal(rank->times.item[0].computing, 100000);
		assert_int_equal(rank->ops.count, 1);
		assert_int_equal(rank->ops.item[0].step, 0);
		assert_string_equal(np_run_text(run, rank->ops.item[0].name),
				    "hcom_receive__456_0_1");
		assert_int_equal(rank->comm_steps.count, 1);
		assert_int_equal(rank->activity.cells.count, 1);
		assert_int_equal(leaf_us(rank, 0, NP_LEAF_COMPUTE), 100);
		assert_int_equal(rank->activity.exposed.count, 1);
		assert_int_equal(rank->activity.exposed.item[0].op, 0);
		assert_int_equal(rank->bands.count, 2);
		for (size_t i = 0; i < rank->bands.count; i++) {
			assert_int_equal(rank->bands.item[i].op, 0);
			assert_int_equal(rank->bands.item[i].bytes, 2000);
		}
		for (size_t i = 0; i < rank->links.count; i++)
			assert_int_equal(rank->links.item[i].src, 1);
	}
}

static void a_step_that_exists_on_one_rank_may_be_asked_for(void **state)
{
	NP_CLEANUP(np_ranges_freep) struct np_ranges *list = ranges("10-11");

	(void)state;
	make_rank_db(0, NULL);
	make_rank_db(1, "DELETE FROM STEP_TIME WHERE id = 11");
	{
		with_run *run = load();
		struct np_err err = NP_ERR_INIT;

		assert_ok(np_run_keep_steps(run, list, &err), err);
		assert_int_equal(np_run_rank(run, 0)->steps.count, 2);
		assert_int_equal(np_run_rank(run, 1)->steps.count, 1);
	}
}

static void a_step_that_exists_nowhere_is_wrong_usage_that_lists_those_there_are(void **state)
{
	NP_CLEANUP(np_ranges_freep) struct np_ranges *list = ranges("10-12");

	(void)state;
	make_rank_db(0, NULL);
	{
		with_run *run = load();
		struct np_err err = NP_ERR_INIT;

		assert_int_equal(np_run_keep_steps(run, list, &err), NP_E_USAGE);
		assert_one_line(&err);
		assert_holds(err.text, "no step 12");
		assert_holds(err.text, "10-11");
		/* And nothing was dropped. */
		assert_known_steps(run, np_run_rank(run, 0));
	}
}

static void a_run_without_steps_has_none_to_keep(void **state)
{
	NP_CLEANUP(np_ranges_freep) struct np_ranges *list = ranges("1");

	(void)state;
	make_rank_db(0, "DELETE FROM STEP_TIME");
	{
		with_run *run = load();
		struct np_err err = NP_ERR_INIT;

		assert_int_equal(np_run_keep_steps(run, list, &err), NP_E_USAGE);
		assert_holds(err.text, "no numbered steps");
	}
}

static void the_first_steps_can_be_skipped(void **state)
{
	(void)state;
	make_rank_db(0, NULL);
	make_rank_db(1, "DELETE FROM STEP_TIME WHERE id = 10");
	{
		with_run *run = load();
		struct np_err err = NP_ERR_INIT;

		assert_ok(np_run_skip_steps(run, 0, &err), err);
		assert_false(run->steps_chosen);
		assert_known_steps(run, np_run_rank(run, 0));
		assert_ok(np_run_skip_steps(run, 1, &err), err);
		assert_true(run->steps_chosen);
		assert_int_equal(np_run_rank(run, 0)->steps.count, 1);
		/* The first step of the run, not of each rank. */
		assert_int_equal(np_run_rank(run, 1)->steps.count, 1);
		assert_int_equal(np_run_rank(run, 0)->times.item[0].computing, 100000);
	}
}

static void no_step_left_is_wrong_usage(void **state)
{
	(void)state;
	make_rank_db(0, NULL);
	{
		with_run *run = load();
		struct np_err err = NP_ERR_INIT;

		assert_int_equal(np_run_skip_steps(run, 2, &err), NP_E_USAGE);
		assert_holds(err.text, "there are 2");
		assert_known_steps(run, np_run_rank(run, 0));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_fixture(a_run_without_steps_is_one_pseudo_step),
		with_fixture(an_empty_step_table_is_one_pseudo_step_too),
		with_fixture(windows_that_meet_are_cut_and_nothing_counts_twice),
		with_fixture(operators_outside_every_step_are_noted_and_in_no_sum),
		with_fixture(impossible_times_are_left_out_and_noted),
		with_fixture(absurd_times_and_sizes_are_left_out),
		with_fixture(steps_with_impossible_times_are_listed),
		with_fixture(kernels_and_sub_tasks_without_a_task_are_noted),
		with_fixture(sizes_of_elements_that_are_not_known_are_unknown_bytes),
		with_fixture(only_the_steps_asked_for_are_kept),
		with_fixture(a_step_that_exists_on_one_rank_may_be_asked_for),
		with_fixture(a_step_that_exists_nowhere_is_wrong_usage_that_lists_those_there_are),
		with_fixture(a_run_without_steps_has_none_to_keep),
		with_fixture(the_first_steps_can_be_skipped),
		with_fixture(no_step_left_is_wrong_usage),
	};

	return cmocka_run_group_tests_name("load_steps", tests, NULL, NULL);
}
