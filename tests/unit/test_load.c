/* SPDX-License-Identifier: Apache-2.0 */
#include "npuprof/load.h"

#include <inttypes.h>

#include "np_fault.h"
#include "np_fixture.h"

#include "npuprof/discover.h"

#define OUTPUT "ASCEND_PROFILER_OUTPUT"

/* --- the fixture ------------------------------------------------------------------------------ */

/*
 * A rank with two steps, in µs (the database holds ns):
 *
 *	step 10, host 1000-2000: kernels 1150-1350 and 1800-1900, an all-reduce of
 *	    group_a 1300-1700 (wait 1300-1400, sends 4000 bytes to peer 1 1400-1600,
 *	    copies 100 bytes on the chip 1300-1310)
 *	    window 1150-2000; computing 300; communication 400, of which 1300-1350
 *	    overlapped (50), 350 not; span 1150-1900 = 750; free 1700-1800 = 100;
 *	    preparing 150
 *	step 11, host 2000-3000: a kernel 2150-2250, a receive of group_b 2300-2500
 *	    (wait 2300-2350, 2000 bytes from peer 1 2350-2500)
 *	    window 2150-3000; computing 100; communication 200, none overlapped;
 *	    span 2150-2500 = 350; free 50; bubble 200; stage 150; preparing 150
 */
static const char rank_sql[] =
	"CREATE TABLE STRING_IDS(id INTEGER PRIMARY KEY, value TEXT);"
	"INSERT INTO STRING_IDS VALUES(1, 'AI_CORE'), (2, 'MatMulV2'),"
	" (3, 'hcom_allReduce__123_0_1'), (4, 'group_a'), (5, 'hcom_receive__456_0_1'),"
	" (6, 'group_b'), (7, 'hcom_allReduce_'), (8, 'hcom_receive_'), (9, 'Notify_Wait'),"
	" (10, 'Memcpy'), (11, 'SDMA'), (12, 'Notify Wait'), (13, 'KERNEL_AICORE'), (14, 'N/A'),"
	" (536870943, 'group_a');"
	"CREATE TABLE META_DATA(name TEXT, value TEXT);"
	"INSERT INTO META_DATA VALUES('SCHEMA_VERSION', '1.0.0');"
	"CREATE TABLE HOST_INFO(hostUid TEXT, hostName TEXT);"
	"INSERT INTO HOST_INFO VALUES('uid1', 'host1');"
	"CREATE TABLE STEP_TIME(id INTEGER, startNs INTEGER, endNs INTEGER);"
	"INSERT INTO STEP_TIME VALUES(11, 2000000, 3000000), (10, 1000000, 2000000);"
	"CREATE TABLE CANN_API(startNs INTEGER, endNs INTEGER, type INTEGER, globalTid INTEGER,"
	" connectionId INTEGER PRIMARY KEY, name INTEGER);"
	"INSERT INTO CANN_API VALUES(1100000, 1110000, 10000, 1, 1, 2),"
	" (1200000, 1210000, 10000, 1, 2, 2), (1250000, 1260000, 10000, 1, 3, 7),"
	" (2100000, 2110000, 10000, 1, 4, 2), (2200000, 2210000, 10000, 1, 5, 8),"
	/* Neither an API of another type nor one across the border launches for a step. */
	" (1050000, 1060000, 5000, 1, 6, 2), (1990000, 2010000, 10000, 1, 7, 2);"
	"CREATE TABLE TASK(startNs INTEGER, endNs INTEGER, deviceId INTEGER, connectionId INTEGER,"
	" globalTaskId INTEGER, globalPid INTEGER, taskType INTEGER, contextId INTEGER,"
	" streamId INTEGER, taskId INTEGER, modelId INTEGER);"
	"INSERT INTO TASK(startNs, endNs, deviceId, connectionId, globalTaskId, taskType) VALUES"
	" (1150000, 1350000, 4, 1, 101, 1), (1800000, 1900000, 4, 2, 102, 1),"
	" (1300000, 1310000, 4, 3, 103, 11), (1300000, 1400000, 4, 3, 104, 12),"
	" (1400000, 1600000, 4, 3, 105, 11), (2150000, 2250000, 4, 4, 106, 1),"
	" (2300000, 2350000, 4, 5, 107, 12), (2350000, 2500000, 4, 5, 108, 11),"
	/* A marker is no part of the extent of a step's tasks. */
	" (2100000, 2950000, 4, 6, 109, 13), (2160000, 2960000, 4, 6, 110, 13);"
	"CREATE INDEX TaskIndex ON TASK(startNs, globalTaskId);"
	"CREATE TABLE COMPUTE_TASK_INFO(name INTEGER, globalTaskId INTEGER PRIMARY KEY,"
	" blockDim INTEGER, mixBlockDim INTEGER, taskType INTEGER, opType INTEGER);"
	"INSERT INTO COMPUTE_TASK_INFO VALUES(2, 101, 8, 0, 1, 2), (2, 102, 8, 0, 1, 2),"
	" (2, 106, 8, 0, 1, 2);"
	"CREATE TABLE COMMUNICATION_OP(opName INTEGER, startNs INTEGER, endNs INTEGER,"
	" connectionId INTEGER, groupName INTEGER, opId INTEGER PRIMARY KEY, relay INTEGER,"
	" retry INTEGER, dataType INTEGER, algType INTEGER, count NUMERIC, opType INTEGER);"
	/* fp32 has 4 bytes, fp16 has 2. */
	"INSERT INTO COMMUNICATION_OP VALUES(5, 2300000, 2500000, 5, 6, 2, 0, 0, 3, 0, 1000, 8),"
	" (3, 1300000, 1700000, 3, 4, 1, 0, 0, 4, 0, 1000, 7);"
	"CREATE TABLE COMMUNICATION_TASK_INFO(name INTEGER, globalTaskId INTEGER,"
	" taskType INTEGER, planeId INTEGER, groupName INTEGER, notifyId INTEGER, rdmaType INTEGER,"
	" srcRank INTEGER, dstRank INTEGER, transportType INTEGER, size INTEGER, dataType INTEGER,"
	" linkType INTEGER, opId INTEGER);"
	"INSERT INTO COMMUNICATION_TASK_INFO VALUES"
	" (3, 103, 10, 0, 4, 0, 65534, 0, 4294967295, 0, 100, 4, 0, 1),"
	" (3, 104, 9, 1, 4, 0, 65534, 0, 1, 2, 0, 4, 1, 1),"
	" (3, 105, 10, 1, 4, 0, 65534, 0, 1, 0, 4000, 4, 1, 1),"
	" (5, 107, 9, 1, 6, 0, 65534, 1, 0, 2, 0, 4, 1, 2),"
	" (5, 108, 10, 1, 6, 0, 65534, 1, 0, 0, 2000, 4, 1, 2);";

/* What the vendor's exporter derives from it: µs, ms and MB. */
static const char analysis_sql[] =
	"CREATE TABLE StepTraceTime(deviceId INTEGER, step TEXT, computing NUMERIC,"
	" communication_not_overlapped NUMERIC, overlapped NUMERIC, communication NUMERIC,"
	" free NUMERIC, stage NUMERIC, bubble NUMERIC,"
	" communication_not_overlapped_and_exclude_receive NUMERIC, preparing NUMERIC);"
	"INSERT INTO StepTraceTime VALUES(4, '10', 300, 350, 50, 400, 100, 750, 0, 350, 150),"
	" (4, '11', 100, 200, 0, 200, 50, 150, 200, 0, 150);"
	"CREATE TABLE CommAnalyzerTime(hccl_op_name TEXT, group_name TEXT, start_timestamp NUMERIC,"
	" elapse_time NUMERIC, transit_time NUMERIC, wait_time NUMERIC,"
	" synchronization_time NUMERIC, idle_time NUMERIC, step TEXT, type TEXT);"
	"INSERT INTO CommAnalyzerTime VALUES"
	" ('hcom_allReduce__123_0_1', '$A', 1300, 0.4, 0.2, 0.1, 0.1, 0.1, 'step10', 'collective'),"
	" ('hcom_receive__456_0_1', '$B', 2300, 0.2, 0.15, 0.05, 0.05, 0, 'step11', 'p2p'),"
	" ('Total Op Info', '$A', 0, 0.4, 0.2, 0.1, 0.1, 0.1, 'step10', 'collective');"
	"CREATE TABLE CommAnalyzerBandwidth(hccl_op_name TEXT, group_name TEXT,"
	" transport_type TEXT, transit_size NUMERIC, transit_time NUMERIC, bandwidth NUMERIC,"
	" large_packet_ratio NUMERIC, package_size NUMERIC, count NUMERIC, total_duration NUMERIC,"
	" step TEXT, type TEXT);"
	"INSERT INTO CommAnalyzerBandwidth VALUES"
	" ('hcom_allReduce__123_0_1', '$A', 'HCCS', 0.004, 0.2, 0.02, 0, 0.004, 1, 0.2, 'step10',"
	"  'collective'),"
	" ('hcom_allReduce__123_0_1', '$A', 'SDMA', 0.004, 0.2, 0.02, 0, 0, 0, 0, 'step10',"
	"  'collective'),"
	" ('hcom_receive__456_0_1', '$B', 'HCCS', 0.002, 0.15, 0.0133, 0, 0.002, 1, 0.15, 'step11',"
	"  'p2p'),"
	" ('hcom_receive__456_0_1', '$B', 'SDMA', 0.002, 0.15, 0.0133, 0, 0, 0, 0, 'step11', 'p2p');"
	"CREATE TABLE CommAnalyzerMatrix(hccl_op_name TEXT, group_name TEXT, src_rank TEXT,"
	" dst_rank TEXT, transport_type TEXT, transit_size NUMERIC, transit_time NUMERIC,"
	" bandwidth NUMERIC, step TEXT, type TEXT, op_name TEXT);"
	"INSERT INTO CommAnalyzerMatrix VALUES"
	" ('allreduce-top1', '$A', '0', '1', 'HCCS', 0.004, 0.2, 0.02, 'step10', 'collective',"
	"  'hcom_allReduce__123_0_1'),"
	" ('allreduce-total', '$A', '0', '1', 'HCCS', 0.004, 0.2, 0.02, 'step10', 'collective', ''),"
	" ('allreduce-total', '$A', '0', '0', 'LOCAL', 0.0001, 0.01, 0.01, 'step10', 'collective',"
	"  ''),"
	" ('receive-total', '$B', '1', '0', 'HCCS', 0.002, 0.15, 0.0133, 'step11', 'p2p', '');";

static uint64_t hash_of(const char *name)
{
	return np_group_hash(name, strlen(name));
}

/* $A and $B in SQL stand for the hashes of group_a and group_b. */
static void run_sql_with_hashes(const char *path, const char *sql)
{
	struct np_buf text = NP_BUF_INIT;

	for (; *sql; sql++) {
		if (sql[0] == '$') {
			np_buf_printf(&text, "%" PRIu64,
				      hash_of(sql[1] == 'A' ? "group_a" : "group_b"));
			sql++;
		} else {
			np_buf_add_char(&text, *sql);
		}
	}
	run_sql(path, text.text);
	np_buf_release(&text);
}

/* The directory of a rank in the fixture. */
static const char *rank_path(int rank, const char *name)
{
	return below("rank%d/" OUTPUT "/%s", rank, name);
}

static const char *rank_db(int rank)
{
	char name[64];

	(void)snprintf(name, sizeof(name), "ascend_pytorch_profiler_%d.db", rank);
	return rank_path(rank, name);
}

/* The rank database; `changes` is SQL to make it another version, or NULL. */
static void make_rank_db(int rank, const char *changes)
{
	run_sql(rank_db(rank), rank_sql);
	if (changes)
		run_sql(rank_db(rank), changes);
	write_text(below("rank%d/profiler_info_%d.json", rank, rank),
		   "{\"config\": {\"experimental_config\": {\"_profiler_level\": \"Level1\"}},"
		   " \"cann_version\": \"8.0\", \"torch_npu_version\": \"2.1\"}");
}

static void make_analysis_db(int rank, const char *changes)
{
	run_sql_with_hashes(rank_path(rank, "analysis.db"), analysis_sql);
	if (changes)
		run_sql_with_hashes(rank_path(rank, "analysis.db"), changes);
	write_text(below("rank%d/profiler_info_%d.json", rank, rank), "{}");
}

/* Discover and load everything in the fixture. */
static struct np_run *load_at(const char *root, size_t threads)
{
	const struct np_discover_options options = { 0 };
	const struct np_workers workers = { .threads = threads };
	struct np_run *run = np_run_new();
	struct np_err err = NP_ERR_INIT;
	const char *roots[] = { root };

	assert_ok(np_discover(run, roots, 1, &options, &err), err);
	assert_ok(np_load(run, &np_comm_serial, &workers, &err), err);
	return run;
}

static struct np_run *load(void)
{
	return load_at(np_fixture_root, 1);
}

#define with_run NP_CLEANUP(np_run_freep) struct np_run

static const struct np_step_time *time_of(const struct np_run *run, const struct np_rank *rank,
					  const char *step, int32_t device)
{
	for (size_t i = 0; i < rank->times.count; i++) {
		const char *id = np_run_text(run, rank->steps.item[rank->times.item[i].step].id);

		if (rank->times.item[i].device == device && id && strcmp(id, step) == 0)
			return &rank->times.item[i];
	}
	fail_msg("no times of step %s on device %d", step, device);
	return NULL;
}

static const struct np_comm_step *sum_of(const struct np_rank *rank, const char *group)
{
	for (size_t i = 0; i < rank->comm_steps.count; i++) {
		if (rank->groups.item[rank->comm_steps.item[i].group].hash == hash_of(group))
			return &rank->comm_steps.item[i];
	}
	fail_msg("no sum of %s", group);
	return NULL;
}

static const struct np_group *group_of(const struct np_rank *rank, const char *name)
{
	for (size_t i = 0; i < rank->groups.count; i++) {
		if (rank->groups.item[i].hash == hash_of(name))
			return &rank->groups.item[i];
	}
	fail_msg("no communicator %s", name);
	return NULL;
}

/* --- numbers of the rank database ------------------------------------------------------------- */

static void assert_known_steps(const struct np_run *run, const struct np_rank *rank)
{
	const struct np_step_time *time = time_of(run, rank, "10", 4);

	assert_int_equal(time->computing, 300000);
	assert_int_equal(time->communication, 400000);
	assert_int_equal(time->communication_not_overlapped, 350000);
	assert_int_equal(time->overlapped, 50000);
	assert_int_equal(time->free, 100000);
	assert_int_equal(time->bubble, 0);
	assert_int_equal(time->stage, 750000);
	assert_int_equal(time->preparing, 150000);
	assert_int_equal(time->span, 750000);
	time = time_of(run, rank, "11", 4);
	assert_int_equal(time->computing, 100000);
	assert_int_equal(time->communication, 200000);
	assert_int_equal(time->overlapped, 0);
	assert_int_equal(time->free, 50000);
	assert_int_equal(time->bubble, 200000);
	assert_int_equal(time->stage, 150000);
	assert_int_equal(time->preparing, 150000);
	assert_int_equal(time->span, 350000);
}

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

/* The times of an operator; NP_UNKNOWN for one that is not looked at. */
static void assert_vendor_times(const struct np_rank *rank, size_t op, np_ns transit, np_ns wait,
				np_ns sync)
{
	struct np_vendor_times times = np_rank_vendor_times(rank, op);

	assert_int_equal(np_rank_length(rank, times.transit), transit);
	assert_int_equal(np_rank_length(rank, times.wait), wait);
	if (sync != NP_UNKNOWN)
		assert_int_equal(np_rank_length(rank, times.sync), sync);
}

static void assert_known_ops(const struct np_run *run, const struct np_rank *rank)
{
	const struct np_comm_op *op = &rank->ops.item[0];

	assert_int_equal(rank->ops.count, 2);
	assert_string_equal(np_run_text(run, op->name), "hcom_allReduce__123_0_1");
	assert_string_equal(np_run_text(run, op->type), "hcom_allReduce_");
	assert_int_equal(op->start, 1300000);
	assert_int_equal(op->end, 1700000);
	assert_int_equal(op->bytes, 4000);
	assert_vendor_times(rank, 0, 200000, 100000, 100000);
	/* The payload on the chip counts as transfer: 1300-1310 and 1400-1600. */
	assert_int_equal(op->transfer, 210000);
	assert_int_equal(op->device, 4);
	assert_false(op->p2p);
	op = &rank->ops.item[1];
	assert_string_equal(np_run_text(run, op->type), "hcom_receive_");
	assert_int_equal(op->bytes, 2000);
	assert_vendor_times(rank, 1, 150000, 50000, NP_UNKNOWN);
	assert_int_equal(op->transfer, 150000);
	assert_true(op->p2p);
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

/* What the leaves of one kind got of a cell, in µs. */
static np_ns leaf_us(const struct np_rank *rank, size_t cell, enum np_leaf_kind kind)
{
	const struct np_activity *activity = &rank->activity;
	const struct np_activity_cell *at = &activity->cells.item[cell];
	const struct np_segment *segment = &activity->segments.item[at->first_segment];
	np_ns sum = 0;

	for (uint32_t i = segment->first; i < segment[at->segments].first; i++) {
		if (np_leaf_kind(activity->shares.item[i].leaf) == kind)
			sum += activity->shares.item[i].ns;
	}
	return sum / 1000;
}

/*
 * Step 10 is free 1700-1800; the kernel that follows was launched by 1790, and data
 * were loaded 1650-1750. Step 11 is free 2250-2300; a copy 2260-2270 in it was
 * launched by 2255, and the receive at 2300 by 2210. A copy 2350-2360 lies in the
 * receive; another is one of its small tasks.
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
		/* The second has no small tasks: the sum is not known. */
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

/* --- names of communicators ------------------------------------------------------------------- */

static const char group_json[] =
	"{\"group_a\": {\"group_name\": \"dp\", \"group_rank\": 1, \"global_ranks\": [6, 2, 4]}}";

static const char args_json[] =
	"{\"tensor_model_parallel_size\": 2, \"pipeline_model_parallel_size\": 3,"
	" \"data_parallel_size\": 4, \"context_parallel_size\": 1,"
	" \"expert_model_parallel_size\": 1, \"sequence_parallel\": true, \"world_size\": 24}";

static void assert_known_metadata(const struct np_run *run, const struct np_rank *rank)
{
	const struct np_group *group = group_of(rank, "group_a");

	assert_string_equal(np_run_text(run, group->name), "group_a");
	assert_string_equal(np_run_text(run, group->pg_name), "dp");
	assert_int_equal(group->group_rank, 1);
	assert_int_equal(group->member_count, 3);
	assert_int_equal(group->members[0], 2);
	assert_int_equal(group->members[1], 4);
	assert_int_equal(group->members[2], 6);
	assert_true(rank->parallel.known);
	assert_int_equal(rank->parallel.world, 24);
	assert_int_equal(rank->parallel.tp, 2);
	assert_int_equal(rank->parallel.pp, 3);
	assert_int_equal(rank->parallel.dp, 4);
	assert_true(rank->parallel.sequence_parallel);
}

static void communicators_are_named_by_meta_data(void **state)
{
	char sql[1024];

	(void)state;
	(void)snprintf(sql, sizeof(sql),
		       "INSERT INTO META_DATA VALUES('parallel_group_info', '%s'),"
		       " ('distributed_args', '%s')",
		       group_json, args_json);
	make_rank_db(0, sql);
	{
		with_run *run = load();

		assert_known_metadata(run, np_run_rank(run, 0));
		/* The other is known from its operators alone. */
		assert_string_equal(
			np_run_text(run, group_of(np_run_rank(run, 0), "group_b")->name),
			"group_b");
		assert_null(group_of(np_run_rank(run, 0), "group_b")->members);
	}
}

static void communicators_are_named_by_profiler_metadata(void **state)
{
	char json[1024];

	(void)state;
	make_rank_db(0, NULL);
	(void)snprintf(json, sizeof(json),
		       "{\"parallel_group_info\": %s, \"distributed_args\": %s}", group_json,
		       args_json);
	write_text(below("rank0/profiler_metadata.json"), json);
	{
		with_run *run = load();

		assert_known_metadata(run, np_run_rank(run, 0));
	}
}

static void metadata_names_the_communicators_of_an_analysis_db_alone(void **state)
{
	char json[1024];

	(void)state;
	make_analysis_db(0, NULL);
	(void)snprintf(json, sizeof(json),
		       "{\"parallel_group_info\": %s, \"distributed_args\": %s}", group_json,
		       args_json);
	write_text(below("rank0/profiler_metadata.json"), json);
	{
		with_run *run = load();

		assert_known_metadata(run, np_run_rank(run, 0));
	}
}

static void damaged_metadata_is_listed_and_the_rank_used(void **state)
{
	(void)state;
	make_rank_db(0, "INSERT INTO META_DATA VALUES('distributed_args', '{\"world_size\": ')");
	write_text(below("rank0/profiler_metadata.json"), "{\"parallel_group_info\": [");
	write_text(below("rank0/profiler_info_0.json"), "");
	{
		with_run *run = load();

		assert_known_steps(run, np_run_rank(run, 0));
		assert_noted(&run->notes, NP_NOTE_SKIPPED, "profiler_metadata", "");
		assert_noted(&run->notes, NP_NOTE_SKIPPED, "profiler_info", "");
		assert_noted(&run->notes, NP_NOTE_SKIPPED, "META_DATA distributed_args", "");
	}
}

static void a_list_of_members_without_a_number_is_not_known(void **state)
{
	(void)state;
	make_rank_db(0, NULL);
	write_text(below("rank0/profiler_metadata.json"),
		   "{\"parallel_group_info\": {\"group_a\": {\"global_ranks\": [\"x\", null]},"
		   " \"group_b\": {\"global_ranks\": []}}}");
	{
		with_run *run = load();

		assert_null(group_of(np_run_rank(run, 0), "group_a")->members);
		assert_null(group_of(np_run_rank(run, 0), "group_b")->members);
	}
}

static void odd_metadata_is_survived(void **state)
{
	(void)state;
	make_rank_db(0, "INSERT INTO META_DATA VALUES('parallel_group_info', '[1, 2]'),"
			" ('distributed_args', '7'), (NULL, 'x'), ('SCHEMA_VERSION', NULL)");
	write_text(below("rank0/profiler_metadata.json"),
		   "{\"parallel_group_info\": {\"\": 5, \"group_a\": \"text\"},"
		   " \"distributed_args\": {\"world_size\": -3, \"data_parallel_size\": 1e99,"
		   " \"tensor_model_parallel_size\": \"2\"}}");
	{
		with_run *run = load();

		assert_known_steps(run, np_run_rank(run, 0));
		assert_int_equal(np_run_rank(run, 0)->parallel.world, 0);
		assert_int_equal(np_run_rank(run, 0)->parallel.dp, 0);
	}
}

/* --- versions of the schema ------------------------------------------------------------------- */

static void an_old_database_without_op_type_takes_it_from_the_name(void **state)
{
	(void)state;
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
	const struct np_workers workers = { .threads = 1 };
	with_run *run = np_run_new();
	struct np_err err = NP_ERR_INIT;
	const char *roots[] = { np_fixture_root };

	(void)state;
	make_rank_db(0, "DROP INDEX TaskIndex; ALTER TABLE TASK DROP COLUMN globalTaskId");
	assert_ok(np_discover(run, roots, 1, &options, &err), err);
	assert_int_equal(np_load(run, &np_comm_serial, &workers, &err), NP_E_FORMAT);
	assert_holds(err.text, "globalTaskId");
	assert_noted(&run->notes, NP_NOTE_SKIPPED, "rank", "globalTaskId");
}

/* --- steps ------------------------------------------------------------------------------------ */

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
	make_analysis_db(0, NULL);
	{
		with_run *run = load();
		const struct np_rank *rank = np_run_rank(run, 0);

		assert_int_equal(rank->steps.item[0].end, 1850000);
		assert_true(rank->steps.item[0].cut);
		assert_int_equal(time_of(run, rank, "10", 4)->computing, 300000);
		assert_int_equal(time_of(run, rank, "11", 4)->computing, 200000);
		/* The vendor counts such tasks twice: no disagreement to report. */
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
		assert_noted(&run->notes, NP_NOTE_WARNING, "tasks", "6 ");
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
		assert_noted(&run->notes, NP_NOTE_WARNING, "tasks", "4 ");
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

static void kernels_and_small_tasks_without_a_task_are_noted(void **state)
{
	(void)state;
	make_rank_db(0, "INSERT INTO COMPUTE_TASK_INFO VALUES(2, 999, 8, 0, 1, 2);"
			"INSERT INTO COMMUNICATION_TASK_INFO(globalTaskId, taskType, planeId, opId)"
			" VALUES(998, 9, 1, 1), (104, 9, 1, 77)");
	{
		with_run *run = load();

		assert_known_ops(run, np_run_rank(run, 0));
		assert_noted(&run->notes, NP_NOTE_WARNING, "COMPUTE_TASK_INFO", "1 ");
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

/* --- several devices -------------------------------------------------------------------------- */

/* Device 5 computes 1160-1200 and has an operator of its own, told by its connection. */
static const char second_device[] =
	"INSERT INTO TASK(startNs, endNs, deviceId, connectionId, globalTaskId, taskType) VALUES"
	" (1160000, 1200000, 5, 1, 301, 1), (1500000, 1510000, 5, 8, 302, 11);"
	"INSERT INTO COMPUTE_TASK_INFO VALUES(2, 301, 8, 0, 1, 2);"
	"INSERT INTO COMMUNICATION_OP VALUES(3, 1500000, 1600000, 8, 4, 9, 0, 0, 4, 0, 10, 7);";

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

/* --- analysis.db beside the rank database ----------------------------------------------------- */

static void an_analysis_db_that_agrees_is_silent(void **state)
{
	(void)state;
	make_rank_db(0, NULL);
	make_analysis_db(0, NULL);
	{
		with_run *run = load();

		assert_no_notes(&run->notes);
		assert_known_steps(run, np_run_rank(run, 0));
		assert_int_equal(np_run_rank(run, 0)->comm_source, NP_FROM_RANK_DB);
	}
}

static void rounding_is_no_disagreement(void **state)
{
	(void)state;
	make_rank_db(0, NULL);
	/* 0.25 µs, as text files quantise it, and 0.0001 ms. */
	make_analysis_db(0, "UPDATE StepTraceTime SET stage = stage + 0.25, preparing = 149.75;"
			    "UPDATE CommAnalyzerTime SET wait_time = wait_time + 0.0001");
	{
		with_run *run = load();

		assert_no_notes(&run->notes);
	}
}

static void assert_disagreement(const char *change, const char *table, const char *words)
{
	make_rank_db(0, NULL);
	make_analysis_db(0, change);
	{
		with_run *run = load();

		assert_noted(&run->notes, NP_NOTE_WARNING, table, words);
		assert_int_equal(run->notes.list.count, 1);
		/* What the rank database holds is used. */
		assert_known_steps(run, np_run_rank(run, 0));
		assert_known_ops(run, np_run_rank(run, 0));
	}
	np_fixture_remove(below("rank0"));
}

static void every_column_of_the_step_table_is_compared(void **state)
{
	static const char *const columns[] = { "computing",  "communication_not_overlapped",
					       "overlapped", "communication",
					       "free",       "stage",
					       "bubble",     "preparing" };

	(void)state;
	for (size_t i = 0; i < NP_COUNT(columns); i++) {
		char change[128];

		(void)snprintf(change, sizeof(change),
			       "UPDATE StepTraceTime SET %s = %s + 1 WHERE step = '11'", columns[i],
			       columns[i]);
		assert_disagreement(change, "StepTraceTime", "1 value disagrees");
		assert_disagreement(change, "StepTraceTime", columns[i]);
	}
}

static void a_disagreement_shows_both_numbers(void **state)
{
	(void)state;
	assert_disagreement("UPDATE StepTraceTime SET computing = 301 WHERE step = '10'",
			    "StepTraceTime", "301000 ns here, 300000 ns there");
}

static void every_time_of_an_operator_is_compared(void **state)
{
	static const char *const columns[] = { "elapse_time", "transit_time", "wait_time",
					       "synchronization_time" };

	(void)state;
	for (size_t i = 0; i < NP_COUNT(columns); i++) {
		char change[128];

		(void)snprintf(change, sizeof(change),
			       "UPDATE CommAnalyzerTime SET %s = %s + 0.001"
			       " WHERE group_name = '$A'",
			       columns[i], columns[i]);
		assert_disagreement(change, "CommAnalyzerTime", columns[i]);
	}
}

static void sizes_and_times_of_transports_are_compared(void **state)
{
	(void)state;
	assert_disagreement("UPDATE CommAnalyzerBandwidth SET transit_size = 0.0041"
			    " WHERE group_name = '$A' AND transport_type = 'HCCS'",
			    "CommAnalyzerBandwidth", "transit_size");
	assert_disagreement("UPDATE CommAnalyzerBandwidth SET transit_time = 0.16"
			    " WHERE group_name = '$B' AND transport_type = 'SDMA'",
			    "CommAnalyzerBandwidth", "transit_time");
}

static void sizes_and_times_of_links_are_compared(void **state)
{
	(void)state;
	assert_disagreement("UPDATE CommAnalyzerMatrix SET transit_size = 0.0041"
			    " WHERE group_name = '$A' AND hccl_op_name = 'allreduce-total'"
			    " AND dst_rank = '1'",
			    "CommAnalyzerMatrix", "transit_size");
	assert_disagreement("UPDATE CommAnalyzerMatrix SET transit_time = 0.16"
			    " WHERE group_name = '$B' AND hccl_op_name = 'receive-total'",
			    "CommAnalyzerMatrix", "transit_time");
}

static void what_only_one_file_has_is_no_disagreement(void **state)
{
	(void)state;
	make_rank_db(0, NULL);
	make_analysis_db(0, "UPDATE StepTraceTime SET stage = NULL, bubble = NULL;"
			    "DELETE FROM StepTraceTime WHERE step = '11';"
			    "INSERT INTO StepTraceTime(step, computing) VALUES('99', 1);"
			    "UPDATE CommAnalyzerTime SET wait_time = NULL;"
			    "DROP TABLE CommAnalyzerMatrix; DELETE FROM CommAnalyzerBandwidth");
	{
		with_run *run = load();

		assert_no_notes(&run->notes);
	}
}

static void operators_of_an_analysis_db_without_times_are_left_out_and_noted(void **state)
{
	(void)state;
	make_analysis_db(0,
			 "UPDATE CommAnalyzerTime SET elapse_time = NULL WHERE group_name = '$A'");
	{
		with_run *run = load();

		assert_int_equal(np_run_rank(run, 0)->ops.count, 1);
		assert_noted(&run->notes, NP_NOTE_WARNING, "CommAnalyzerTime", "1 ");
	}
}

/* Ids of interned texts depend on which thread came first: they must not choose the words. */
static void which_disagreement_is_shown_does_not_depend_on_interned_ids(void **state)
{
	char first[512];

	(void)state;
	make_rank_db(0, NULL);
	make_analysis_db(0, "UPDATE CommAnalyzerTime SET wait_time = wait_time + 1,"
			    " group_name = '$A'");
	run_sql(rank_db(0), "UPDATE COMMUNICATION_OP SET groupName = 4");
	{
		with_run *run = load();

		(void)snprintf(first, sizeof(first), "%s",
			       find_note(&run->notes, "CommAnalyzerTime", "")->reason);
	}
	{
		static const char *const names[] = { "hcom_receive__456_0_1",
						     "hcom_allReduce__123_0_1" };
		const struct np_discover_options options = { 0 };
		const struct np_workers workers = { .threads = 1 };
		with_run *run = np_run_new();
		struct np_err err = NP_ERR_INIT;
		const char *roots[] = { np_fixture_root };

		/* As if another rank had met the names in the other order. */
		for (size_t i = 0; i < NP_COUNT(names); i++) {
			np_str id;

			assert_ok(
				np_strtab_add(run->strings, names[i], strlen(names[i]), &id, &err),
				err);
		}
		assert_ok(np_discover(run, roots, 1, &options, &err), err);
		assert_ok(np_load(run, &np_comm_serial, &workers, &err), err);
		assert_string_equal(find_note(&run->notes, "CommAnalyzerTime", "")->reason, first);
	}
}

static void a_damaged_analysis_db_is_listed_and_the_rank_used(void **state)
{
	(void)state;
	make_rank_db(0, NULL);
	write_text(rank_path(0, "analysis.db"), "this is no database, whatever its name may be");
	{
		with_run *run = load();

		assert_known_steps(run, np_run_rank(run, 0));
		assert_noted(&run->notes, NP_NOTE_SKIPPED, "analysis.db", "rank database");
	}
}

static void an_empty_analysis_db_is_listed_and_the_rank_used(void **state)
{
	(void)state;
	make_rank_db(0, NULL);
	write_text(rank_path(0, "analysis.db"), "");
	{
		with_run *run = load();

		assert_known_steps(run, np_run_rank(run, 0));
		assert_noted(&run->notes, NP_NOTE_SKIPPED, "analysis.db", "0 bytes");
	}
}

/* --- analysis.db alone ------------------------------------------------------------------------ */

static void assert_known_analysis(const struct np_run *run, const struct np_rank *rank)
{
	assert_known_steps(run, rank);
	assert_int_equal(time_of(run, rank, "10", 4)->e2e, NP_UNKNOWN);
	assert_int_equal(rank->step_source, NP_FROM_ANALYSIS_DB);
	assert_int_equal(rank->comm_source, NP_FROM_ANALYSIS_DB);
	assert_int_equal(rank->ops.count, 2);
	assert_int_equal(rank->ops.item[0].start, 1300000);
	assert_int_equal(rank->ops.item[0].end, 1700000);
	assert_vendor_times(rank, 0, 200000, 100000, NP_UNKNOWN);
	assert_int_equal(rank->ops.item[0].transfer, NP_LENGTH_UNKNOWN);
	assert_int_equal(rank->ops.item[0].bytes, NP_UNKNOWN);
	assert_true(rank->ops.item[1].p2p);
	assert_true(rank->sizes_known);
	assert_int_equal(rank->bands.count, 4);
	assert_int_equal(rank->bands.item[0].bytes, 4000);
	assert_int_equal(rank->bands.item[0].package_bytes, 4000);
	assert_int_equal(rank->links.count, 4);
	assert_int_equal(sum_of(rank, "group_a")->elapsed, 400000);
	assert_int_equal(sum_of(rank, "group_a")->moved_bytes, 4000);
	assert_int_equal(sum_of(rank, "group_a")->exposed, NP_UNKNOWN);
	assert_int_equal(sum_of(rank, "group_a")->transfer, NP_UNKNOWN);
}

static void an_analysis_db_alone_is_a_rank(void **state)
{
	(void)state;
	make_analysis_db(2, NULL);
	{
		with_run *run = load();

		assert_known_analysis(run, np_run_rank(run, 2));
		assert_no_notes(&run->notes);
	}
}

static void a_level0_analysis_db_has_steps_only(void **state)
{
	(void)state;
	make_analysis_db(2, "DROP TABLE CommAnalyzerTime; DROP TABLE CommAnalyzerBandwidth;"
			    "DROP TABLE CommAnalyzerMatrix;"
			    "ALTER TABLE StepTraceTime DROP COLUMN deviceId");
	{
		with_run *run = load();
		const struct np_rank *rank = np_run_rank(run, 2);

		assert_int_equal(time_of(run, rank, "10", -1)->computing, 300000);
		assert_int_equal(rank->comm_source, NP_FROM_NOTHING);
		assert_int_equal(rank->device, -1);
	}
}

static void steps_without_a_label_are_the_pseudo_step(void **state)
{
	(void)state;
	make_analysis_db(2, "DELETE FROM StepTraceTime WHERE step = '11';"
			    "UPDATE StepTraceTime SET step = NULL;"
			    "UPDATE CommAnalyzerTime SET step = 'step';"
			    "UPDATE CommAnalyzerBandwidth SET step = 'step';"
			    "UPDATE CommAnalyzerMatrix SET step = ''");
	{
		with_run *run = load();
		const struct np_rank *rank = np_run_rank(run, 2);

		assert_int_equal(rank->steps.count, 1);
		assert_int_equal(rank->steps.item[0].id, NP_STR_NONE);
		assert_int_equal(rank->ops.item[1].step, 0);
		assert_int_equal(rank->bands.count, 4);
	}
}

static void devices_of_an_analysis_db_are_counted(void **state)
{
	(void)state;
	make_analysis_db(2, "INSERT INTO StepTraceTime SELECT 5, step, computing,"
			    " communication_not_overlapped, overlapped, communication, free, stage,"
			    " bubble, 0, preparing FROM StepTraceTime");
	{
		with_run *run = load();
		const struct np_rank *rank = np_run_rank(run, 2);

		assert_int_equal(rank->times.count, 4);
		assert_int_equal(rank->device, 4);
		assert_int_equal(rank->device_count, 2);
	}
}

/* The exporter files reduceScatter under "reduce" (formats §1.5). */
static void classes_of_links_are_mended_by_their_operators(void **state)
{
	(void)state;
	make_analysis_db(2,
			 "UPDATE CommAnalyzerMatrix SET hccl_op_name ="
			 " replace(hccl_op_name, 'allreduce', 'reduce'), op_name ="
			 " replace(op_name, 'allReduce', 'reduceScatter') WHERE group_name = '$A'");
	{
		with_run *run = load();
		const struct np_rank *rank = np_run_rank(run, 2);
		size_t mended = 0;

		for (size_t i = 0; i < rank->links.count; i++) {
			const struct np_link *link = &rank->links.item[i];

			if (link->src == 0 && link->dst == 1) {
				assert_string_equal(np_run_text(run, link->op_class),
						    "reducescatter");
				mended++;
			}
		}
		assert_int_equal(mended, 2);
	}
}

/* Times beyond 146 years are damage: nothing of them may reach the sums. */
static void absurd_numbers_of_an_analysis_db_are_survived(void **state)
{
	(void)state;
	make_analysis_db(2,
			 "UPDATE CommAnalyzerTime SET start_timestamp = 9.2e15, elapse_time = 9e12;"
			 "INSERT INTO StepTraceTime(step, computing,"
			 " communication_not_overlapped, free) VALUES('7', 9e15, 9e15, 9e15);"
			 "UPDATE CommAnalyzerMatrix SET src_rank = '3000000000', dst_rank = '-7',"
			 " transit_size = 9e12, transit_time = 9e12;"
			 "UPDATE CommAnalyzerBandwidth SET transit_size = 9e12, count = 'x',"
			 " transit_time = 9e12");
	{
		with_run *run = load();
		const struct np_rank *rank = np_run_rank(run, 2);

		assert_int_equal(np_run_used(run), 1);
		for (size_t i = 0; i < rank->links.count; i++)
			assert_true(rank->links.item[i].src == INT32_MIN ||
				    rank->links.item[i].src >= 0);
	}
}

/* --- one bad rank costs one rank -------------------------------------------------------------- */

static void a_damaged_rank_db_falls_back_to_the_analysis_db(void **state)
{
	(void)state;
	make_rank_db(0, NULL);
	make_analysis_db(0, NULL);
	assert_int_equal(truncate(rank_db(0), 5000), 0);
	{
		with_run *run = load();

		assert_known_analysis(run, np_run_rank(run, 0));
		assert_noted(&run->notes, NP_NOTE_SKIPPED, "rank database", "analysis.db");
		assert_int_equal(run->notes.list.count, 1);
	}
}

static void an_empty_rank_db_falls_back_to_the_analysis_db(void **state)
{
	(void)state;
	make_analysis_db(0, NULL);
	write_text(rank_db(0), "");
	{
		with_run *run = load();

		assert_known_analysis(run, np_run_rank(run, 0));
		assert_noted(&run->notes, NP_NOTE_SKIPPED, "rank database", "0 bytes");
	}
}

/* formats §5 #4: say "no profiler tables". */
static void a_rank_db_with_every_table_dropped_falls_back_to_the_analysis_db(void **state)
{
	(void)state;
	make_analysis_db(0, NULL);
	run_sql(rank_db(0), "CREATE TABLE TASK(a); DROP TABLE TASK");
	{
		with_run *run = load();

		assert_known_analysis(run, np_run_rank(run, 0));
		assert_noted(&run->notes, NP_NOTE_SKIPPED, "rank database", "no profiler tables");
	}
}

/* formats §5 #3: tables present but empty are the same as missing ones. */
static void a_rank_db_without_tasks_falls_back_to_the_analysis_db(void **state)
{
	(void)state;
	make_rank_db(0, "DELETE FROM TASK; DELETE FROM COMPUTE_TASK_INFO;"
			" DELETE FROM COMMUNICATION_OP; DELETE FROM COMMUNICATION_TASK_INFO");
	make_analysis_db(0, NULL);
	{
		with_run *run = load();

		assert_known_analysis(run, np_run_rank(run, 0));
		assert_noted(&run->notes, NP_NOTE_SKIPPED, "rank database", "");
	}
}

static void a_rank_of_which_both_databases_are_damaged_says_so_of_both(void **state)
{
	(void)state;
	make_rank_db(0, NULL);
	make_rank_db(1, NULL);
	write_text(rank_path(1, "analysis.db"), "this is no database, whatever its name may be");
	assert_int_equal(truncate(rank_db(1), 5000), 0);
	{
		with_run *run = load();

		assert_int_equal(np_run_used(run), 1);
		assert_noted(&run->notes, NP_NOTE_SKIPPED, "rank", "analysis.db");
		assert_noted(&run->notes, NP_NOTE_SKIPPED, "rank", "ascend_pytorch_profiler_1.db");
	}
}

static void one_bad_rank_among_three_leaves_the_other_two(void **state)
{
	(void)state;
	for (int rank = 0; rank < 3; rank++)
		make_rank_db(rank, NULL);
	assert_int_equal(truncate(rank_db(1), 5000), 0);
	{
		with_run *run = load();

		assert_int_equal(np_run_used(run), 2);
		assert_known_steps(run, np_run_rank(run, 0));
		assert_null(np_run_rank(run, 1));
		assert_known_steps(run, np_run_rank(run, 2));
		assert_noted(&run->notes, NP_NOTE_SKIPPED, "rank", "ascend_pytorch_profiler_1.db");
		assert_int_equal(find_note(&run->notes, "rank", "")->rank, 1);
		assert_int_equal(run->notes.list.count, 1);
	}
}

static void when_no_rank_can_be_read_the_first_reason_is_told(void **state)
{
	const struct np_discover_options options = { 0 };
	const struct np_workers workers = { .threads = 1 };
	with_run *run = np_run_new();
	struct np_err err = NP_ERR_INIT;
	const char *roots[] = { np_fixture_root };

	(void)state;
	for (int rank = 0; rank < 2; rank++) {
		make_rank_db(rank, NULL);
		assert_int_equal(truncate(rank_db(rank), 5000), 0);
	}
	assert_ok(np_discover(run, roots, 1, &options, &err), err);
	assert_int_equal(np_load(run, &np_comm_serial, &workers, &err), NP_E_FORMAT);
	assert_one_line(&err);
	assert_holds(err.text, "none of the 2 ranks");
	assert_holds(err.text, "ascend_pytorch_profiler_0.db");
	assert_int_equal(np_notes_count(&run->notes, NP_NOTE_SKIPPED), 2);
}

static void a_database_cut_in_its_tables_never_loads_short(void **state)
{
	size_t length;
	char *bytes;

	(void)state;
	make_rank_db(0, NULL);
	bytes = read_bytes(rank_db(0), &length);
	for (size_t cut = 1; cut < length; cut += 1023) {
		struct np_source_files source = { .rank = 0 };
		NP_CLEANUP(np_strtab_freep) struct np_strtab *strings = np_strtab_new();
		NP_CLEANUP(np_rank_freep) struct np_rank *rank = NULL;
		struct np_err err = NP_ERR_INIT;

		write_bytes(below("cut.db"), bytes, cut);
		source.dir = strdup(np_fixture_root);
		source.file[NP_FILE_RANK_DB] = strdup(below("cut.db"));
		assert_int_equal(np_load_rank(&source, strings, &rank, &err), NP_E_FORMAT);
		assert_holds(err.text, "cut.db");
		free(source.dir);
		free(source.file[NP_FILE_RANK_DB]);
	}
	free(bytes);
}

static void rows_in_a_log_are_loaded_and_it_is_said(void **state)
{
	sqlite3 *writer;

	(void)state;
	make_rank_db(0, NULL);
	writer = open_sqlite(rank_db(0));
	run_sql_on(writer, "PRAGMA journal_mode=WAL; PRAGMA wal_autocheckpoint=0;"
			   "INSERT INTO STEP_TIME VALUES(12, 3000000, 4000000)");
	{
		with_run *run = load();

		assert_int_equal(np_run_rank(run, 0)->steps.count, 3);
		assert_noted(&run->notes, NP_NOTE_WARNING, "database", "-wal");
	}
	assert_int_equal(sqlite3_close(writer), SQLITE_OK);
}

static void any_number_of_threads_gives_the_same_ranks_and_notes(void **state)
{
	(void)state;
	for (int rank = 0; rank < 6; rank++) {
		make_rank_db(rank, rank % 2 ? second_device : NULL);
		make_analysis_db(rank, "UPDATE StepTraceTime SET computing = computing + 5");
	}
	assert_int_equal(truncate(rank_db(3), 5000), 0);
	{
		with_run *one = load_at(np_fixture_root, 1);
		with_run *many = load_at(np_fixture_root, 4);

		assert_int_equal(one->notes.list.count, many->notes.list.count);
		for (size_t i = 0; i < one->notes.list.count; i++)
			assert_string_equal(one->notes.list.item[i].reason,
					    many->notes.list.item[i].reason);
		for (size_t i = 0; i < 6; i++) {
			assert_int_equal(one->ranks[i]->times.count, many->ranks[i]->times.count);
			assert_memory_equal(one->ranks[i]->times.item, many->ranks[i]->times.item,
					    one->ranks[i]->times.count *
						    sizeof(struct np_step_time));
		}
	}
}

/* --- memory ------------------------------------------------------------------------------------
 */

static struct np_run *discovered;

static int load_in_little_memory(struct np_err *err)
{
	size_t left = np_fault_left;
	NP_CLEANUP(np_strtab_freep) struct np_strtab *strings = NULL;
	NP_CLEANUP(np_rank_freep) struct np_rank *rank = NULL;
	bool lost;
	int rc;

	np_fault_left = 0;
	strings = np_strtab_new();
	np_fault_left = left;
	rc = np_load_rank(&discovered->sources.item[0], strings, &rank, err);
	/* A note does not fail; that it was lost is remembered. */
	lost = rc == NP_OK && rank->notes.lost;
	assert_true(rc < 0 || rank);
	return lost ? NP_E_NOMEM : rc;
}

static void running_out_of_memory_is_told(void **state)
{
	const struct np_discover_options options = { 0 };
	with_run *run = np_run_new();
	struct np_err err = NP_ERR_INIT;
	const char *roots[] = { np_fixture_root };

	(void)state;
	make_rank_db(0, second_device);
	make_analysis_db(0, "UPDATE StepTraceTime SET computing = 5");
	assert_ok(np_discover(run, roots, 1, &options, &err), err);
	discovered = run;
	assert_survives_faults(load_in_little_memory);
}

/* --- keeping steps ---------------------------------------------------------------------------- */

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

/* --- recorded profiles ------------------------------------------------------------------------ */

struct recorded {
	const char *level;
	int rank;
	np_ns computing;
	np_ns not_overlapped;
	np_ns overlapped;
	np_ns communication;
	np_ns free;
	np_ns stage;
	np_ns preparing;
	np_ns wait; /* communication without the union of payload, formats §2.5 */
};

/* formats §2.2 (the two rows not printed there are those of the files) and §2.5. */
static const struct recorded recorded[] = {
	{ "level0", 0, 8843910, 85881122, 3999454, 89880576, 25900158, 120625190, 16681808,
	  85560730 },
	{ "level0", 1, 8831637, 90000781, 3993077, 93993858, 26748231, 125580649, 18002802,
	  89677612 },
	{ "level1", 0, 8903431, 98071947, 4036153, 102108100, 25258144, 132233522, 18055693,
	  97816872 },
	{ "level1", 1, 8915634, 94556050, 4034140, 98590190, 25840499, 129312183, 17512827,
	  94266185 },
};

static void recorded_profiles_have_the_times_of_the_vendor(void **state)
{
	const char *root = recorded_profiles("resnet-2of8/db");

	(void)state;
	if (!root)
		skip();
	for (size_t i = 0; i < NP_COUNT(recorded); i++) {
		const struct recorded *known = &recorded[i];
		const struct np_step_time *time;
		const struct np_rank *rank;
		np_ns elapsed = 0;
		np_ns transfer = 0;
		char path[4200];

		(void)snprintf(path, sizeof(path), "%s/%s", root, known->level);
		{
			with_run *run = load_at(path, 2);

			rank = np_run_rank(run, known->rank);
			time = &rank->times.item[0];
			assert_int_equal(rank->times.count, 1);
			assert_string_equal(np_run_text(run, rank->steps.item[0].id), "50");
			assert_int_equal(time->computing, known->computing);
			assert_int_equal(time->communication_not_overlapped, known->not_overlapped);
			assert_int_equal(time->overlapped, known->overlapped);
			assert_int_equal(time->communication, known->communication);
			assert_int_equal(time->free, known->free);
			assert_int_equal(time->stage, known->stage);
			assert_int_equal(time->bubble, 0);
			assert_int_equal(time->preparing, known->preparing);
			for (size_t j = 0; j < rank->ops.count; j++) {
				elapsed += rank->ops.item[j].end - rank->ops.item[j].start;
				transfer += rank->ops.item[j].transfer;
			}
			assert_int_equal(rank->ops.count, 4);
			assert_int_equal(elapsed - transfer, known->wait);
			/* No disagreement with analysis.db, nothing skipped. */
			assert_no_notes(&run->notes);
		}
	}
}

/* formats §2.5: transfer of the four operators of level1 rank 0, and §2.3 for the first. */
static void recorded_operators_have_the_times_of_the_vendor(void **state)
{
	static const np_ns transfers[] = { 277426, 1370349, 2325967, 317486 };
	static const np_ns elapsed[] = { 88750993, 2180324, 2412628, 8764155 };
	const char *root = recorded_profiles("resnet-2of8/db/level1");

	(void)state;
	if (!root)
		skip();
	{
		with_run *run = load_at(root, 1);
		const struct np_rank *rank = np_run_rank(run, 0);

		for (size_t i = 0; i < 4; i++) {
			assert_int_equal(rank->ops.item[i].transfer, transfers[i]);
			assert_int_equal(rank->ops.item[i].end - rank->ops.item[i].start,
					 elapsed[i]);
		}
		assert_string_equal(np_run_text(run, rank->ops.item[0].name),
				    "hcom_allReduce__210_0_1");
		assert_vendor_times(rank, 0, 228565, 3568890, 3517730);
		assert_true(rank->groups.item[rank->ops.item[0].group].hash ==
			    UINT64_C(17148521525495523210));
		/* 48 rows of the matrix in the file, and as many of ours. */
		assert_int_equal(rank->links.count, 48);
		/* 8 HCCS rows and 4 SDMA rows. */
		assert_int_equal(rank->bands.count, 12);
		assert_int_equal(rank->bands.item[0].bytes, 28647232);
	}
}

static void recorded_analysis_dbs_alone_are_ranks_with_named_communicators(void **state)
{
	const char *root = recorded_profiles("llm-pp2dp2");

	(void)state;
	if (!root)
		skip();
	{
		with_run *run = load_at(root, 2);
		static const int32_t devices[] = { 0, 1, 4, 5 };

		assert_int_equal(np_run_used(run), 4);
		for (int32_t i = 0; i < 4; i++) {
			const struct np_rank *rank = np_run_rank(run, i);

			assert_int_equal(rank->device, devices[i]);
			assert_string_equal(np_run_text(run, rank->steps.item[0].id), "13");
			assert_int_equal(rank->parallel.pp, 2);
			assert_int_equal(rank->parallel.dp, 2);
			assert_int_equal(rank->step_source, NP_FROM_ANALYSIS_DB);
		}
		/* formats §2.2: stage 810022.36 µs of rank 0. */
		assert_int_equal(np_run_rank(run, 0)->times.item[0].stage, 810022360);
	}
}

static void recorded_profiles_are_not_touched(void **state)
{
	const char *root = recorded_profiles("resnet-2of8/db");
	char *before;

	(void)state;
	if (!root)
		skip();
	before = snapshot(root);
	{
		with_run *run = load_at(root, 2);

		assert_int_equal(np_run_used(run), 2);
	}
	assert_untouched(root, before);
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
		with_fixture(communicators_are_named_by_meta_data),
		with_fixture(communicators_are_named_by_profiler_metadata),
		with_fixture(metadata_names_the_communicators_of_an_analysis_db_alone),
		with_fixture(damaged_metadata_is_listed_and_the_rank_used),
		with_fixture(a_list_of_members_without_a_number_is_not_known),
		with_fixture(odd_metadata_is_survived),
		with_fixture(an_old_database_without_op_type_takes_it_from_the_name),
		with_fixture(at_level0_the_type_of_an_operator_is_taken_from_its_name),
		with_fixture(newer_columns_change_nothing),
		with_fixture(a_marked_master_plane_is_believed),
		with_fixture(a_database_that_does_not_say_the_device_has_one),
		with_fixture(other_spellings_of_task_types_are_understood),
		with_fixture(a_rank_without_communication_has_none),
		with_fixture(at_level0_waits_are_known_and_sizes_are_not),
		with_fixture(a_table_without_a_needed_column_makes_the_rank_unusable),
		with_fixture(a_run_without_steps_is_one_pseudo_step),
		with_fixture(an_empty_step_table_is_one_pseudo_step_too),
		with_fixture(windows_that_meet_are_cut_and_nothing_counts_twice),
		with_fixture(operators_outside_every_step_are_noted_and_in_no_sum),
		with_fixture(impossible_times_are_left_out_and_noted),
		with_fixture(absurd_times_and_sizes_are_left_out),
		with_fixture(steps_with_impossible_times_are_listed),
		with_fixture(kernels_and_small_tasks_without_a_task_are_noted),
		with_fixture(sizes_of_elements_that_are_not_known_are_unknown_bytes),
		with_fixture(devices_of_one_database_are_accounted_apart),
		with_fixture(an_operator_of_which_the_device_cannot_be_told_is_listed),
		with_fixture(an_operator_that_says_its_device_is_believed),
		with_fixture(an_analysis_db_that_agrees_is_silent),
		with_fixture(rounding_is_no_disagreement),
		with_fixture(every_column_of_the_step_table_is_compared),
		with_fixture(a_disagreement_shows_both_numbers),
		with_fixture(every_time_of_an_operator_is_compared),
		with_fixture(sizes_and_times_of_transports_are_compared),
		with_fixture(sizes_and_times_of_links_are_compared),
		with_fixture(what_only_one_file_has_is_no_disagreement),
		with_fixture(operators_of_an_analysis_db_without_times_are_left_out_and_noted),
		with_fixture(which_disagreement_is_shown_does_not_depend_on_interned_ids),
		with_fixture(a_damaged_analysis_db_is_listed_and_the_rank_used),
		with_fixture(an_empty_analysis_db_is_listed_and_the_rank_used),
		with_fixture(an_analysis_db_alone_is_a_rank),
		with_fixture(a_level0_analysis_db_has_steps_only),
		with_fixture(steps_without_a_label_are_the_pseudo_step),
		with_fixture(devices_of_an_analysis_db_are_counted),
		with_fixture(classes_of_links_are_mended_by_their_operators),
		with_fixture(absurd_numbers_of_an_analysis_db_are_survived),
		with_fixture(a_damaged_rank_db_falls_back_to_the_analysis_db),
		with_fixture(an_empty_rank_db_falls_back_to_the_analysis_db),
		with_fixture(a_rank_db_with_every_table_dropped_falls_back_to_the_analysis_db),
		with_fixture(a_rank_db_without_tasks_falls_back_to_the_analysis_db),
		with_fixture(a_rank_of_which_both_databases_are_damaged_says_so_of_both),
		with_fixture(one_bad_rank_among_three_leaves_the_other_two),
		with_fixture(when_no_rank_can_be_read_the_first_reason_is_told),
		with_fixture(a_database_cut_in_its_tables_never_loads_short),
		with_fixture(rows_in_a_log_are_loaded_and_it_is_said),
		with_fixture(any_number_of_threads_gives_the_same_ranks_and_notes),
		with_fixture(running_out_of_memory_is_told),
		with_fixture(only_the_steps_asked_for_are_kept),
		with_fixture(a_step_that_exists_on_one_rank_may_be_asked_for),
		with_fixture(a_step_that_exists_nowhere_is_wrong_usage_that_lists_those_there_are),
		with_fixture(a_run_without_steps_has_none_to_keep),
		with_fixture(recorded_profiles_have_the_times_of_the_vendor),
		with_fixture(recorded_operators_have_the_times_of_the_vendor),
		with_fixture(recorded_analysis_dbs_alone_are_ranks_with_named_communicators),
		with_fixture(recorded_profiles_are_not_touched),
	};

	return cmocka_run_group_tests_name("load", tests, NULL, NULL);
}
