/* SPDX-License-Identifier: Apache-2.0 */
/* How long the steps of a loaded rank are, and what lies between them. */
#include "np_load_fixture.h"

#include "npuprof/iteration.h"
#include "npuprof/ranges.h"

static void assert_between(const struct np_step_time *time, np_ns dataloader, np_ns host,
			   np_ns other, np_ns unknown)
{
	assert_int_equal(time->between[NP_BETWEEN_DATALOADER], dataloader * 1000);
	assert_int_equal(time->between[NP_BETWEEN_HOST], host * 1000);
	assert_int_equal(time->between[NP_BETWEEN_OTHER], other * 1000);
	assert_int_equal(time->between[NP_BETWEEN_UNKNOWN], unknown * 1000);
}

/*
 * Step 10 begins at 1150 and ends at 1900, step 11 begins at 2150 with a kernel
 * whose call returned at 2110.
 */
static void an_iteration_lasts_until_the_next_step_begins(void **state)
{
	(void)state;
	make_rank_db(0, NULL);
	{
		with_run *run = load();
		const struct np_step_time *time = time_of(run, np_run_rank(run, 0), "10", 4);

		assert_int_equal(time->begin, 1150000);
		assert_int_equal(np_step_iteration(time), 1000000);
		assert_int_equal(np_step_between(time), 250000);
		assert_between(time, 0, 210, 40, 0);
		assert_int_equal(np_run_basis(run), NP_BASIS_ITERATION);
		assert_int_equal(np_step_length(time, NP_BASIS_ITERATION), 1000000);
		assert_int_equal(np_step_length(time, NP_BASIS_SPAN), 750000);
	}
}

static void the_last_step_has_none(void **state)
{
	(void)state;
	make_rank_db(0, NULL);
	{
		with_run *run = load();
		const struct np_step_time *time = time_of(run, np_run_rank(run, 0), "11", 4);

		assert_int_equal(time->begin, 2150000);
		assert_int_equal(np_step_iteration(time), NP_UNKNOWN);
		assert_int_equal(np_step_between(time), NP_UNKNOWN);
		assert_int_equal(np_step_length(time, NP_BASIS_ITERATION), NP_UNKNOWN);
		assert_int_equal(np_step_length(time, NP_BASIS_SPAN), 350000);
	}
}

static void a_step_before_a_gap_in_the_ids_has_none(void **state)
{
	(void)state;
	make_rank_db(0, "UPDATE STEP_TIME SET id = 12 WHERE id = 11");
	{
		with_run *run = load();
		const struct np_rank *rank = np_run_rank(run, 0);

		assert_int_equal(np_step_iteration(time_of(run, rank, "10", 4)), NP_UNKNOWN);
		assert_int_equal(np_run_basis(run), NP_BASIS_SPAN);
	}
}

/* Without a step 11 that did something nobody knows when it began. */
static void a_step_before_one_that_did_nothing_has_none(void **state)
{
	(void)state;
	make_rank_db(0, "DELETE FROM COMPUTE_TASK_INFO WHERE globalTaskId = 106;"
			"DELETE FROM COMMUNICATION_OP WHERE opId = 2;"
			"DELETE FROM COMMUNICATION_TASK_INFO WHERE opId = 2");
	{
		with_run *run = load();
		const struct np_rank *rank = np_run_rank(run, 0);

		assert_int_equal(np_step_iteration(time_of(run, rank, "10", 4)), NP_UNKNOWN);
		assert_int_equal(time_of(run, rank, "11", 4)->begin, NP_UNKNOWN);
	}
}

static void a_run_without_steps_has_none(void **state)
{
	(void)state;
	make_rank_db(0, "DELETE FROM STEP_TIME");
	{
		with_run *run = load();

		assert_int_equal(np_step_iteration(&np_run_rank(run, 0)->times.item[0]),
				 NP_UNKNOWN);
		assert_int_equal(np_run_basis(run), NP_BASIS_SPAN);
	}
}

/* The host loads data 1950-2050, before it launches. */
static void loading_data_is_told_apart(void **state)
{
	(void)state;
	make_rank_db(0, "CREATE TABLE PYTORCH_API(startNs TEXT, endNs TEXT, name INTEGER);"
			"INSERT INTO STRING_IDS VALUES(20, 'enumerate(DataLoader)#__next__');"
			"INSERT INTO PYTORCH_API VALUES('1950000', '2050000', 20)");
	{
		with_run *run = load();

		assert_between(time_of(run, np_run_rank(run, 0), "10", 4), 100, 110, 40, 0);
	}
}

/*
 * Nobody launched the kernel 2150-2250: it ends a gap of unknown cause, and is of
 * no step, for step 11 begins with its receive, 2300, whose call returned at 2210.
 */
static void without_a_launch_it_is_unknown(void **state)
{
	(void)state;
	make_rank_db(0, "UPDATE TASK SET connectionId = 77 WHERE globalTaskId = 106");
	{
		with_run *run = load();

		assert_between(time_of(run, np_run_rank(run, 0), "10", 4), 0, 0, 150, 250);
	}
}

/*
 * A copy 2020-2060 that a call launched until 2005: idle 1900-2020, of which
 * 1900-2005 for the host, and 2060-2150, of which 2060-2110.
 */
static void a_copy_between_steps_is_other_and_ends_a_gap(void **state)
{
	(void)state;
	make_rank_db(0, "INSERT INTO STRING_IDS VALUES(21, 'MEMCPY_ASYNC');"
			"INSERT INTO CANN_API VALUES(2001000, 2005000, 20000, 1, 30, 2);"
			"INSERT INTO TASK(startNs, endNs, deviceId, connectionId, globalTaskId,"
			" taskType) VALUES(2020000, 2060000, 4, 30, 130, 21)");
	{
		with_run *run = load();

		assert_between(time_of(run, np_run_rank(run, 0), "10", 4), 0, 155, 95, 0);
	}
}

/* A kernel 2020-2060 that no step launched, and whose call returned at 2015. */
static void work_of_no_step_is_other(void **state)
{
	(void)state;
	make_rank_db(0, "INSERT INTO CANN_API VALUES(1999000, 2015000, 10000, 1, 30, 2);"
			"INSERT INTO TASK(startNs, endNs, deviceId, connectionId, globalTaskId,"
			" taskType) VALUES(2020000, 2060000, 4, 30, 130, 1);"
			"INSERT INTO COMPUTE_TASK_INFO VALUES(2, 130, 8, 0, 1, 2)");
	{
		with_run *run = load();
		const struct np_rank *rank = np_run_rank(run, 0);

		assert_known_steps(run, rank);
		assert_between(time_of(run, rank, "10", 4), 0, 165, 85, 0);
		/* The vendor's free gap 1900-2020 begins in the window, which ends at 2000. */
		assert_int_equal(time_of(run, rank, "10", 4)->trailing, 120000);
	}
}

/* Step 11's first kernel starts at 1850, when one of step 10 runs until 1900. */
static void what_outlives_the_begin_of_the_next_step_leaves_nothing_between(void **state)
{
	(void)state;
	make_rank_db(0, "INSERT INTO TASK(startNs, endNs, deviceId, connectionId, globalTaskId,"
			" taskType) VALUES(1850000, 1950000, 4, 4, 120, 1);"
			"INSERT INTO COMPUTE_TASK_INFO VALUES(2, 120, 8, 0, 1, 2)");
	{
		with_run *run = load();
		const struct np_step_time *time = time_of(run, np_run_rank(run, 0), "10", 4);

		assert_int_equal(time->span, 750000);
		assert_int_equal(np_step_iteration(time), 700000);
		assert_int_equal(np_step_between(time), 0);
		assert_int_equal(time->trailing, 0);
	}
}

static void steps_that_are_left_out_change_nothing(void **state)
{
	NP_CLEANUP(np_ranges_freep) struct np_ranges *list = NULL;

	(void)state;
	assert_int_equal(np_ranges_parse("10", &list, NULL), NP_OK);
	make_rank_db(0, NULL);
	{
		with_run *run = load();
		struct np_err err = NP_ERR_INIT;

		assert_ok(np_run_keep_steps(run, list, &err), err);
		assert_int_equal(np_step_iteration(&np_run_rank(run, 0)->times.item[0]), 1000000);
	}
}

static void files_of_the_vendor_alone_have_none(void **state)
{
	(void)state;
	make_analysis_db(0, NULL);
	{
		with_run *run = load();
		const struct np_step_time *time = time_of(run, np_run_rank(run, 0), "10", 4);

		assert_int_equal(time->begin, NP_UNKNOWN);
		assert_int_equal(np_step_iteration(time), NP_UNKNOWN);
	}
}

/* Device 5 works in step 10 alone. */
static void each_device_has_its_own(void **state)
{
	(void)state;
	make_rank_db(0, second_device);
	{
		with_run *run = load();
		const struct np_rank *rank = np_run_rank(run, 0);

		assert_int_equal(np_step_iteration(time_of(run, rank, "10", 4)), 1000000);
		assert_int_equal(np_step_iteration(time_of(run, rank, "10", 5)), NP_UNKNOWN);
	}
}

/* Idle from 1900 until 2150, and the window ends at 2000; behind the last step there is nothing. */
static void the_idle_time_that_begins_in_a_window_is_known(void **state)
{
	(void)state;
	make_rank_db(0, NULL);
	{
		with_run *run = load();
		const struct np_rank *rank = np_run_rank(run, 0);

		assert_int_equal(time_of(run, rank, "10", 4)->trailing, 250000);
		assert_int_equal(time_of(run, rank, "11", 4)->trailing, 0);
	}
}

/* A kernel 3100-3200 of no step, behind the last, which ended at 2500: its window ends at 3000. */
static void work_behind_the_last_step_ends_its_idle_time(void **state)
{
	(void)state;
	make_rank_db(0, "INSERT INTO TASK(startNs, endNs, deviceId, connectionId, globalTaskId,"
			" taskType) VALUES(3100000, 3200000, 4, 77, 130, 1),"
			" (3300000, 3400000, 4, 78, 131, 1);"
			"INSERT INTO COMPUTE_TASK_INFO VALUES(2, 130, 8, 0, 1, 2),"
			" (2, 131, 8, 0, 1, 2)");
	{
		with_run *run = load();
		const struct np_rank *rank = np_run_rank(run, 0);

		assert_int_equal(time_of(run, rank, "11", 4)->trailing, 600000);
		assert_int_equal(np_step_iteration(time_of(run, rank, "11", 4)), NP_UNKNOWN);
	}
}

/* The device outlives the host's step: the gap begins where the window ends. */
static void idle_time_behind_the_window_is_of_no_step(void **state)
{
	(void)state;
	make_rank_db(0, "UPDATE STEP_TIME SET endNs = 1890000 WHERE id = 10");
	{
		with_run *run = load();

		assert_int_equal(time_of(run, np_run_rank(run, 0), "10", 4)->trailing, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_fixture(an_iteration_lasts_until_the_next_step_begins),
		with_fixture(the_last_step_has_none),
		with_fixture(a_step_before_a_gap_in_the_ids_has_none),
		with_fixture(a_step_before_one_that_did_nothing_has_none),
		with_fixture(a_run_without_steps_has_none),
		with_fixture(loading_data_is_told_apart),
		with_fixture(without_a_launch_it_is_unknown),
		with_fixture(a_copy_between_steps_is_other_and_ends_a_gap),
		with_fixture(work_of_no_step_is_other),
		with_fixture(what_outlives_the_begin_of_the_next_step_leaves_nothing_between),
		with_fixture(steps_that_are_left_out_change_nothing),
		with_fixture(files_of_the_vendor_alone_have_none),
		with_fixture(each_device_has_its_own),
		with_fixture(the_idle_time_that_begins_in_a_window_is_known),
		with_fixture(work_behind_the_last_step_ends_its_idle_time),
		with_fixture(idle_time_behind_the_window_is_of_no_step),
	};

	return cmocka_run_group_tests_name("load_iteration", tests, NULL, NULL);
}
