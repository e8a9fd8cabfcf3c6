/* SPDX-License-Identifier: Apache-2.0 */
/* Operators known from mstx marks alone, where a database has no others. */
#include "np_rank_db.h"

#include "core/model/load/db/load_rank_db.h"

#include "npuprof/rank.h"

/* Operators that a rank knows by mstx marks alone, since it has no COMMUNICATION_OP. */

static struct np_strtab *strings;
static struct np_rank *rank;

#define MARK(connection, stream, count, type, op) \
	"T('{\"streamId\": \"" stream "\", \"count\": \"" count "\", \"dataType\": \"" type \
	"\", \"groupName\": \"world\", \"opName\": \"" op "\"}'),0,0,0," connection ")"

static void add_mark(int64_t start, const char *rest)
{
	rank_sql(0, "INSERT INTO MSTX_EVENTS VALUES(%lld,%lld,0,0,0,%s", (long long)start,
		 (long long)start, rest);
}

static void add_task(int id, int64_t start, int64_t end, int connection, int stream)
{
	rank_sql(0,
		 "INSERT INTO TASK(startNs,endNs,connectionId,globalTaskId,taskType,streamId)"
		 " VALUES(%lld,%lld,%d,%d,T('SDMA'),%d)",
		 (long long)start, (long long)end, connection, id, stream);
}

static int read_rank(struct np_err *err)
{
	strings = np_strtab_new();
	rank = np_rank_new(0, "rank");
	assert_non_null(strings);
	assert_non_null(rank);
	return np_load_rank_db(rank, np_rank_db_path(0), false,
			       &(struct np_steps_choice){ .want = NP_WANT_MARKS }, NULL, strings,
			       err);
}

static void let_go(void)
{
	np_rank_free(rank);
	np_strtab_free(strings);
}

static const char *name_of(size_t op)
{
	return np_strtab_text(strings, rank->ops.item[op].name);
}

/* Two by connection, of which the second was started first; one by its stream. */
static void marked_operators_have_the_times_of_their_tasks(void **state)
{
	struct np_err err = NP_ERR_INIT;

	(void)state;
	rank_db(0);
	rank_kernel(0, 1, 1000, 1500, "MatMulV2");
	add_mark(2000, MARK("11", "7", "16", "fp32", "hcom_allReduce"));
	add_mark(2100, MARK("12", "7", "8", "FP16", "hcom_allReduce"));
	add_mark(2200, MARK("-1", "9", "4", "nosuch", "hcom_broadcast"));
	add_task(101, 5000, 6000, 11, 7);
	add_task(102, 3000, 4000, 12, 7);
	add_task(103, 2100, 2150, 0, 9); /* before the mark */
	add_task(104, 7000, 7500, 0, 9);
	assert_ok(read_rank(&err), err);
	assert_int_equal(rank->comm_source, NP_FROM_MARKS);
	assert_int_equal(rank->ops.count, 3);
	assert_int_equal(rank->ops.item[0].start, 3000);
	assert_int_equal(rank->ops.item[0].end, 4000);
	assert_int_equal(rank->ops.item[0].bytes, 16);
	assert_int_equal(rank->ops.item[1].start, 5000);
	assert_int_equal(rank->ops.item[1].bytes, 64);
	assert_int_equal(rank->ops.item[2].start, 7000);
	assert_int_equal(rank->ops.item[2].bytes, NP_UNKNOWN);
	/* The number counts operators of a communicator and type by their start. */
	assert_non_null(strstr(name_of(0), "_0_1"));
	assert_non_null(strstr(name_of(1), "_1_1"));
	assert_string_equal(np_strtab_text(strings, rank->ops.item[0].type), "hcom_allReduce_");
	assert_int_equal(rank->groups.count, 1);
	assert_int_equal(np_notes_count(&rank->notes, NP_NOTE_WARNING), 1);
	let_go();
}

/* Three marks and three tasks on one stream are three operators, not nine. */
static void each_task_is_of_one_operator(void **state)
{
	struct np_err err = NP_ERR_INIT;

	(void)state;
	rank_db(0);
	rank_kernel(0, 1, 1000, 1500, "MatMulV2");
	for (int i = 0; i < 3; i++) {
		add_mark(2000 + 1000 * i, MARK("-1", "7", "16", "fp32", "hcom_allReduce"));
		add_task(101 + i, 2500 + 1000 * i, 2600 + 1000 * i, 0, 7);
	}
	assert_ok(read_rank(&err), err);
	assert_int_equal(rank->ops.count, 3);
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(rank->ops.item[i].start, 2500 + 1000 * (int64_t)i);
	let_go();
}

static void escaped_quotes_are_quotes(void **state)
{
	struct np_err err = NP_ERR_INIT;

	(void)state;
	rank_db(0);
	rank_kernel(0, 1, 1000, 1500, "MatMulV2");
	add_mark(2000,
		 "T('{\\\"streamId\\\": \\\"7\\\", \\\"count\\\": \\\"1\\\", \\\"dataType\\\": "
		 "\\\"int8\\\", \\\"groupName\\\": \\\"world\\\", \\\"opName\\\": "
		 "\\\"hcom_send\\\"}'),0,0,0,11)");
	add_task(101, 5000, 6000, 11, 7);
	assert_ok(read_rank(&err), err);
	assert_int_equal(rank->ops.count, 1);
	assert_int_equal(rank->ops.item[0].bytes, 1);
	assert_true(rank->ops.item[0].p2p);
	let_go();
}

static void other_marks_and_marks_without_a_task_are_no_operators(void **state)
{
	struct np_err err = NP_ERR_INIT;

	(void)state;
	rank_db(0);
	rank_kernel(0, 1, 1000, 1500, "MatMulV2");
	add_mark(2000, "T('groupName and opName in no JSON'),0,0,0,11)");
	add_mark(2000, "T('{\"groupName\": 5, \"opName\": []}'),0,0,0,11)");
	add_mark(2000, "T('forward'),0,0,0,11)");
	add_mark(2000, MARK("99", "8", "16", "fp32", "hcom_allReduce"));
	add_task(101, 5000, 6000, 11, 7);
	assert_ok(read_rank(&err), err);
	assert_int_equal(rank->ops.count, 0);
	assert_int_equal(rank->comm_source, NP_FROM_NOTHING);
	let_go();
}

static void recorded_operators_win_over_marks(void **state)
{
	struct np_err err = NP_ERR_INIT;

	(void)state;
	rank_db(0);
	rank_kernel(0, 1, 1000, 1500, "MatMulV2");
	rank_op(0, 5, 2000, 3000, "hcom_allReduce__123_0_1");
	add_mark(2000, MARK("11", "7", "16", "fp32", "hcom_allReduce"));
	add_task(101, 5000, 6000, 11, 7);
	assert_ok(read_rank(&err), err);
	assert_int_equal(rank->ops.count, 1);
	assert_int_equal(rank->comm_source, NP_FROM_RANK_DB);
	let_go();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_fixture(marked_operators_have_the_times_of_their_tasks),
		with_fixture(each_task_is_of_one_operator),
		with_fixture(escaped_quotes_are_quotes),
		with_fixture(other_marks_and_marks_without_a_task_are_no_operators),
		with_fixture(recorded_operators_win_over_marks),
	};

	return cmocka_run_group_tests_name("rank_db_marks", tests, NULL, NULL);
}
