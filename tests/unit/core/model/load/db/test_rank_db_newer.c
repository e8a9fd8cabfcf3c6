/* SPDX-License-Identifier: Apache-2.0 */
/* Tables, columns and numbers that came with newer versions of the profiler. */
#include "np_load_fixture.h"

static const struct np_counter *counter_of(const struct np_run *run, const char *table,
					   const char *name, int32_t device)
{
	const struct np_rank *rank = run->ranks[0];

	for (size_t i = 0; i < rank->counters.count; i++) {
		const struct np_counter *each = &rank->counters.item[i];

		if (strcmp(np_run_text(run, each->table), table) == 0 &&
		    strcmp(np_run_text(run, each->name), name) == 0 && each->device == device)
			return each;
	}
	fail_msg("no counter %s of %s", name, table);
	return NULL;
}

/* --- counters -------------------------------------------------------------------------------- */

static void what_ports_counted_between_samples_is_summed(void **state)
{
	with_run *run = NULL;
	const struct np_counter *again;

	(void)state;
	make_rank_db(0, "CREATE TABLE NETDEV_STATS(deviceId INTEGER, timestampNs INTEGER,"
			" roceNewPktRty INTEGER, roceTxErrPkt INTEGER);"
			"INSERT INTO NETDEV_STATS VALUES(2, 1, 3, 0), (2, 2, 4, 0), (3, 2, 1, 0)");
	run = load();
	again = counter_of(run, "NETDEV_STATS", "roceNewPktRty", 2);
	assert_int_equal(again->samples, 2);
	assert_true(again->total == 7 && again->most == 4 && !again->level);
	assert_true(counter_of(run, "NETDEV_STATS", "roceNewPktRty", 3)->total == 1);
	assert_true(counter_of(run, "NETDEV_STATS", "roceTxErrPkt", 2)->total == 0);
	assert_int_equal(run->ranks[0]->unknowns.count, 0);
}

static void counters_that_rise_are_differences_of_each_port(void **state)
{
	with_run *run = NULL;

	(void)state;
	make_rank_db(0, "CREATE TABLE ROCE(deviceId INTEGER, timestampNs INTEGER, rxErrors INTEGER,"
			" funcId INTEGER);"
			/* The second port is far ahead; the first falls back when it is full. */
			"INSERT INTO ROCE VALUES(0, 1, 10, 0), (0, 1, 5000, 1), (0, 2, 12, 0),"
			" (0, 2, 5001, 1), (0, 3, 2, 0), (0, 4, 5, 0)");
	run = load();
	assert_true(counter_of(run, "ROCE", "rxErrors", 0)->total == 2 + 1 + 3);
}

static void rates_are_levels_by_what_they_are_of(void **state)
{
	with_run *run = NULL;
	const struct np_counter *read;

	(void)state;
	make_rank_db(0, "INSERT INTO STRING_IDS VALUES(801, 'read'), (802, 'write');"
			"CREATE TABLE HBM(deviceId INTEGER, timestampNs INTEGER, bandwidth NUMERIC,"
			" hbmId INTEGER, type INTEGER);"
			"INSERT INTO HBM VALUES(0, 1, 100, 0, 801), (0, 2, 300, 0, 801),"
			" (0, 1, 7.5, 0, 802);"
			"CREATE TABLE CPU_USAGE(timestampNs INTEGER, cpuId INTEGER, usage REAL);"
			"INSERT INTO CPU_USAGE VALUES(1, 0, 100), (1, 1, 50)");
	run = load();
	read = counter_of(run, "HBM", "bandwidth read", 0);
	assert_true(read->level && read->samples == 2 && read->total == 400 && read->most == 300);
	assert_true(counter_of(run, "HBM", "bandwidth write", 0)->total == 7.5);
	assert_true(counter_of(run, "CPU_USAGE", "usage", -1)->total == 150);
}

static void impossible_samples_are_left_out_and_noted(void **state)
{
	with_run *run = NULL;

	(void)state;
	make_rank_db(0, "CREATE TABLE NETDEV_STATS(deviceId INTEGER, roceNewPktRty);"
			"INSERT INTO NETDEV_STATS VALUES(0, -5), (0, 1e300), (0, 'x'), (0, NULL),"
			" (0, 2)");
	run = load();
	assert_true(counter_of(run, "NETDEV_STATS", "roceNewPktRty", 0)->total == 2);
	assert_noted(&run->notes, NP_NOTE_WARNING, "NETDEV_STATS", "2 values are impossible");
}

/* --- what is not known ----------------------------------------------------------------------- */

static void unknown_tables_and_columns_are_listed_and_skip_nothing(void **state)
{
	with_run *run = NULL;
	const struct np_rank *rank;

	(void)state;
	make_rank_db(0, "CREATE TABLE WARP_DRIVE(a INTEGER, b INTEGER);"
			"CREATE TABLE ENUM_WARP(id INTEGER, name TEXT);"
			"ALTER TABLE TASK ADD COLUMN tachyons INTEGER;"
			/* Viewers add these. */
			"ALTER TABLE TASK ADD COLUMN depth INTEGER");
	run = load();
	rank = run->ranks[0];
	assert_int_equal(rank->unknowns.count, 3);
	assert_string_equal(np_run_text(run, rank->unknowns.item[0].table), "ENUM_WARP");
	assert_null(np_run_text(run, rank->unknowns.item[0].column));
	assert_string_equal(np_run_text(run, rank->unknowns.item[1].table), "TASK");
	assert_string_equal(np_run_text(run, rank->unknowns.item[1].column), "tachyons");
	assert_string_equal(np_run_text(run, rank->unknowns.item[2].table), "WARP_DRIVE");
	assert_int_equal(np_notes_count(&run->notes, NP_NOTE_SKIPPED), 0);
}

/* --- numbers of links ------------------------------------------------------------------------ */

static const struct np_link *link_to(const struct np_run *run, int32_t dst)
{
	const struct np_rank *rank = run->ranks[0];

	for (size_t i = 0; i < rank->links.count; i++) {
		if (rank->links.item[i].pick == NP_LINK_TOTAL && rank->links.item[i].dst == dst)
			return &rank->links.item[i];
	}
	return NULL;
}

/* The only copy over a link of the fixture goes over one with another number. */
static void link_types_are_those_that_the_database_names(void **state)
{
	with_run *run = NULL;

	(void)state;
	make_rank_db(0, "CREATE TABLE ENUM_HCCL_LINK_TYPE(id INTEGER, name TEXT);"
			"INSERT INTO ENUM_HCCL_LINK_TYPE VALUES(0, 'ON_CHIP'), (1, 'UB'),"
			" (7, 'HCCS');");
	run = load();
	assert_non_null(link_to(run, 1));
	assert_string_equal(np_run_text(run, link_to(run, 1)->transport), "UB");
}

static void names_of_links_that_are_damaged_leave_the_usual_numbers(void **state)
{
	with_run *run = NULL;

	(void)state;
	make_rank_db(0, "CREATE TABLE ENUM_HCCL_LINK_TYPE(id INTEGER);"
			"INSERT INTO ENUM_HCCL_LINK_TYPE VALUES(0), (1);");
	run = load();
	assert_non_null(link_to(run, 1));
	assert_string_equal(np_run_text(run, link_to(run, 1)->transport), "HCCS");
	assert_noted(&run->notes, NP_NOTE_WARNING, "ENUM_HCCL_LINK_TYPE", "as they usually are");
}

static void sizes_of_zero_or_none_are_unknown(void **state)
{
	static const char *const sizes[] = { "0", "-1", "NULL" };

	(void)state;
	for (size_t i = 0; i < NP_COUNT(sizes); i++) {
		char sql[256];
		with_run *run = NULL;

		(void)snprintf(sql, sizeof(sql), "UPDATE COMMUNICATION_TASK_INFO SET size = %s",
			       sizes[i]);
		(void)unlink(rank_db(0));
		make_rank_db(0, sql);
		run = load();
		assert_false(run->ranks[0]->sizes_known);
		assert_int_equal(run->ranks[0]->links.count, 0);
		assert_int_equal(run->ranks[0]->bands.count, 0);
		assert_int_not_equal(run->ranks[0]->ops.item[0].transfer, NP_LENGTH_UNKNOWN);
	}
}

/* --- OVERLAP_ANALYSIS ------------------------------------------------------------------------ */

#define OVERLAP \
	"CREATE TABLE OVERLAP_ANALYSIS(id INTEGER PRIMARY KEY, deviceId INTEGER, startNs INTEGER," \
	" endNs INTEGER, type INTEGER);"

static void computing_is_taken_from_the_overlap_where_no_kernel_is_known(void **state)
{
	with_run *run = NULL;
	const struct np_step_time *time;

	(void)state;
	make_rank_db(0, OVERLAP "INSERT INTO OVERLAP_ANALYSIS VALUES(1, 4, 1150000, 1350000, 0),"
				" (2, 4, 1800000, 1900000, 0), (3, 4, 1300000, 1700000, 1),"
				" (4, 4, 2150000, 2250000, 0), (5, 4, 9, 3, 0);"
				"DROP TABLE COMPUTE_TASK_INFO");
	run = load();
	assert_non_null(run->ranks[0]);
	time = time_of(run, run->ranks[0], "10", 4);
	assert_int_equal(time->computing, 300000);
	assert_int_equal(time->communication_not_overlapped, 350000);
	assert_int_equal(time->free, 100000);
}

static void kernels_that_are_fewer_than_the_overlap_are_partial(void **state)
{
	with_run *run = NULL;
	with_run *whole = NULL;

	(void)state;
	make_rank_db(0, OVERLAP "INSERT INTO OVERLAP_ANALYSIS VALUES(1, 4, 1150000, 1350000, 0),"
				" (2, 4, 1800000, 1900000, 0), (4, 4, 2150000, 2250000, 0)");
	whole = load();
	assert_int_equal(whole->ranks[0]->coverage.count, 0);
	run_sql(rank_db(0), "INSERT INTO OVERLAP_ANALYSIS VALUES(5, 4, 2600000, 2900000, 0)");
	run = load();
	assert_int_equal(run->ranks[0]->coverage.count, 1);
	assert_string_equal(np_run_text(run, run->ranks[0]->coverage.item[0].against),
			    "OVERLAP_ANALYSIS");
}

static void a_damaged_overlap_costs_nothing_else(void **state)
{
	with_run *run = NULL;

	(void)state;
	make_rank_db(0, "CREATE TABLE OVERLAP_ANALYSIS(id INTEGER);"
			"INSERT INTO OVERLAP_ANALYSIS VALUES(1)");
	run = load();
	assert_known_steps(run, run->ranks[0]);
	assert_noted(&run->notes, NP_NOTE_WARNING, "OVERLAP_ANALYSIS", "nothing else needs it");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_fixture(what_ports_counted_between_samples_is_summed),
		with_fixture(counters_that_rise_are_differences_of_each_port),
		with_fixture(rates_are_levels_by_what_they_are_of),
		with_fixture(impossible_samples_are_left_out_and_noted),
		with_fixture(unknown_tables_and_columns_are_listed_and_skip_nothing),
		with_fixture(link_types_are_those_that_the_database_names),
		with_fixture(names_of_links_that_are_damaged_leave_the_usual_numbers),
		with_fixture(sizes_of_zero_or_none_are_unknown),
		with_fixture(computing_is_taken_from_the_overlap_where_no_kernel_is_known),
		with_fixture(kernels_that_are_fewer_than_the_overlap_are_partial),
		with_fixture(a_damaged_overlap_costs_nothing_else),
	};

	return cmocka_run_group_tests_name("rank_db_newer", tests, NULL, NULL);
}
