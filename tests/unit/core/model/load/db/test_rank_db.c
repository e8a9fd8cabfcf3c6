/* SPDX-License-Identifier: Apache-2.0 */
#include "np_synth.h"

#include "np_random.h"

#include "core/model/load/capture/statistics.h"
#include "core/model/load/db/load_rank_db.h"
#include "core/model/load/text/text_files.h"

#include "npuprof/summary.h"

/*
 * A rank database may be read in parts or as a whole. In parts it takes tables in
 * about the order of time, and says so where they are not; what it gives is the
 * same to the byte.
 */

/* Enough tasks for several parts. */
static const char *const many_tasks[] = {
	"--ranks", "2",        "--steps", "3", "--layers", "4", "--kernels-per-layer",
	"350",     "--format", "db",      NULL
};

/* The database of the first rank. */
static const char *database(void)
{
	static char path[4096];
	struct dirent **names;
	int count = np_fixture_names(below("run"), &names);

	assert_true(count > 0);
	/* The truth stands there too. */
	for (int i = 0; i < count; i++) {
		const char *found =
			below("run/%s/ASCEND_PROFILER_OUTPUT/ascend_pytorch_profiler_0.db",
			      names[i]->d_name);

		if (access(found, F_OK) == 0)
			(void)snprintf(path, sizeof(path), "%s", found);
		free(names[i]);
	}
	free(names);
	return path;
}

/* Read it; the bytes of what was read, or nothing with the code. */
static int read_rank(const char *path, bool in_parts, struct np_bytes *ret, struct np_err *err)
{
	struct np_strtab *strings = np_strtab_new();
	struct np_rank *rank = np_rank_new(0, "rank");
	struct np_summary summary = { .rank = rank };
	int rc;

	assert_non_null(strings);
	assert_non_null(rank);
	rc = np_load_rank_db(rank, path, in_parts,
			     &(struct np_steps_choice){ .want = NP_WANT_MARKS }, NULL, strings,
			     err);
	if (rc == NP_OK) {
		summary.source.dir = rank->path;
		assert_ok(np_load_statistics(rank, &summary.source, strings, err), *err);
		assert_ok(np_summary_encode(&summary, strings, ret, err), *err);
	}
	np_rank_free(rank);
	np_strtab_free(strings);
	return rc;
}

/* In parts it is read like this, and if it is, as it is as a whole. */
static void assert_read(const char *path, int in_parts)
{
	struct np_bytes parts = { 0 };
	struct np_bytes whole = { 0 };
	struct np_err err = NP_ERR_INIT;

	assert_int_equal(read_rank(path, true, &parts, &err), in_parts);
	err = NP_ERR_INIT;
	assert_ok(read_rank(path, false, &whole, &err), err);
	if (in_parts == NP_OK) {
		assert_int_equal(parts.count, whole.count);
		assert_memory_equal(parts.item, whole.item, whole.count);
	}
	np_bytes_release(&parts);
	np_bytes_release(&whole);
}

/* Bring the rows of a table into another order. */
static void sort_table(const char *path, const char *table, const char *order)
{
	char sql[1024];

	(void)snprintf(sql, sizeof(sql),
		       "CREATE TABLE sorted AS SELECT * FROM %s ORDER BY %s; DELETE FROM %s;"
		       "INSERT INTO %s SELECT * FROM sorted; DROP TABLE sorted",
		       table, order, table, table);
	run_sql(path, sql);
}

static void tables_in_the_order_of_time_are_read_in_parts(void **state)
{
	(void)state;
	synth_write(below("run"), many_tasks);
	assert_true(ask_sql(database(), "SELECT count(*) FROM TASK") > 3 * 4096);
	assert_read(database(), NP_OK);
}

static void neighbours_that_changed_places_do_not_matter(void **state)
{
	(void)state;
	synth_write(below("run"), many_tasks);
	sort_table(database(), "TASK", "rowid / 100, random()");
	assert_read(database(), NP_OK);
}

static void tasks_in_no_order_are_all_held(void **state)
{
	(void)state;
	synth_write(below("run"), many_tasks);
	sort_table(database(), "TASK", "globalTaskId * 7919 % 10007");
	assert_read(database(), NP_OK);
}

static void an_id_that_comes_twice_is_that_of_the_last(void **state)
{
	(void)state;
	synth_write(below("run"), many_tasks);
	run_sql(database(), "UPDATE TASK SET globalTaskId = 100 WHERE rowid = 12000");
	assert_read(database(), NP_E_RANGE);
}

/* Its step reaches over the next ones, which cut it. */
static void a_task_of_an_early_step_at_the_end_widens_its_window(void **state)
{
	(void)state;
	synth_write(below("run"), many_tasks);
	run_sql(database(),
		"UPDATE TASK SET connectionId = (SELECT connectionId FROM CANN_API WHERE"
		" type = 10000 LIMIT 1) WHERE rowid = (SELECT max(rowid) FROM TASK)");
	assert_read(database(), NP_E_RANGE);
}

static void several_devices_are_read_as_a_whole(void **state)
{
	(void)state;
	synth_write(below("run"), many_tasks);
	run_sql(database(), "UPDATE TASK SET deviceId = 7 WHERE rowid % 2 = 1");
	assert_read(database(), NP_E_RANGE);
}

static void a_sub_task_of_an_operator_that_is_over_is_not_lost(void **state)
{
	(void)state;
	synth_write(below("run"), many_tasks);
	run_sql(database(), "UPDATE COMMUNICATION_TASK_INFO SET opId ="
			    " (SELECT min(opId) FROM COMMUNICATION_OP)"
			    " WHERE rowid = (SELECT max(rowid) FROM COMMUNICATION_TASK_INFO)");
	assert_read(database(), NP_E_RANGE);
}

/* --- any damage ------------------------------------------------------------------------------ */

#define ROUNDS 40

/* A change of some rows, with the random numbers @ and # in it. */
static const char *const changes[] = {
	"UPDATE TASK SET startNs = endNs - @ WHERE rowid % 997 = #",
	"UPDATE TASK SET startNs = startNs - @ * 1000 WHERE rowid % 501 = #",
	"UPDATE TASK SET endNs = endNs + @ * 100000 WHERE rowid % 1501 = #",
	"UPDATE TASK SET connectionId = connectionId + @ WHERE rowid % 401 = #",
	"UPDATE TASK SET connectionId = NULL WHERE rowid % (@ + 2) = 1 AND rowid > # * 1000",
	("UPDATE TASK SET taskType = (SELECT id FROM STRING_IDS WHERE value LIKE 'MEMCPY%' LIMIT 1)"
	 " WHERE rowid % (@ + 3) = 2 AND rowid > # * 1000"),
	"DELETE FROM TASK WHERE rowid % (@ + 5) = 3 AND rowid < # * 2000",
	"DELETE FROM COMPUTE_TASK_INFO WHERE globalTaskId % (@ + 2) = 1 AND globalTaskId > # * 900",
	"DELETE FROM CANN_API WHERE connectionId % (@ + 2) = 1 AND connectionId > # * 900",
	"UPDATE CANN_API SET startNs = startNs - @ * 10000 WHERE rowid % 301 = #",
	"UPDATE CANN_API SET endNs = endNs + @ * 10000 WHERE rowid % 301 = #",
	"UPDATE COMMUNICATION_OP SET startNs = startNs - @ * 100000 WHERE rowid % 3 = # % 3",
	"UPDATE COMMUNICATION_OP SET endNs = endNs + @ * 1000000 WHERE rowid % 3 = # % 3",
	"UPDATE COMMUNICATION_OP SET connectionId = connectionId + @ WHERE rowid % 3 = # % 3",
	"DELETE FROM COMMUNICATION_TASK_INFO WHERE rowid % (@ + 2) = 1 AND rowid > #",
	"UPDATE COMMUNICATION_TASK_INFO SET globalTaskId = globalTaskId + @ WHERE rowid % 31 = #",
	"UPDATE COMMUNICATION_TASK_INFO SET planeId = -1 WHERE rowid < @ * #",
	"UPDATE STEP_TIME SET startNs = startNs + @ * 1000000 WHERE rowid = # % 3 + 1",
	"UPDATE STEP_TIME SET endNs = endNs - @ * 1000000 WHERE rowid = # % 3 + 1",
	"DELETE FROM STEP_TIME WHERE rowid > @ % 3 + # % 2",
};

/* Run one of them. */
static void change(const char *path, uint64_t *random)
{
	NP_CLEANUP(np_buf_release) struct np_buf sql = NP_BUF_INIT;

	for (const char *at = changes[np_random_below(random, NP_COUNT(changes))]; *at; at++) {
		if (*at == '@' || *at == '#')
			np_buf_printf(&sql, "%zu", np_random_below(random, *at == '@' ? 30 : 15));
		else
			np_buf_add_bytes(&sql, at, 1);
	}
	run_sql(path, sql.text);
}

static void whatever_was_changed_parts_are_not_different_from_the_whole(void **state)
{
	uint64_t random = 5;
	int in_parts = 0;
	size_t length;
	char *original;

	(void)state;
	synth_write(below("run"), many_tasks);
	original = read_bytes(database(), &length);
	for (int i = 0; i < ROUNDS; i++) {
		struct np_bytes parts = { 0 };
		struct np_bytes whole = { 0 };
		struct np_err err = NP_ERR_INIT;

		write_bytes(database(), original, length);
		for (size_t j = 1 + np_random_below(&random, 2); j > 0; j--)
			change(database(), &random);
		if (read_rank(database(), true, &parts, &err) == NP_OK) {
			in_parts++;
			assert_ok(read_rank(database(), false, &whole, &err), err);
			assert_int_equal(parts.count, whole.count);
			assert_memory_equal(parts.item, whole.item, whole.count);
		}
		np_bytes_release(&parts);
		np_bytes_release(&whole);
	}
	free(original);
	/* Or else this would say nothing. */
	assert_true(in_parts > ROUNDS / 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_fixture(tables_in_the_order_of_time_are_read_in_parts),
		with_fixture(neighbours_that_changed_places_do_not_matter),
		with_fixture(tasks_in_no_order_are_all_held),
		with_fixture(an_id_that_comes_twice_is_that_of_the_last),
		with_fixture(a_task_of_an_early_step_at_the_end_widens_its_window),
		with_fixture(several_devices_are_read_as_a_whole),
		with_fixture(a_sub_task_of_an_operator_that_is_over_is_not_lost),
		with_fixture(whatever_was_changed_parts_are_not_different_from_the_whole),
	};

	return cmocka_run_group_tests_name("rank_db", tests, NULL, NULL);
}
