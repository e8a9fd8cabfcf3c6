/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_LOAD_FIXTURE_H
#define NP_LOAD_FIXTURE_H

/* What the tests of loading share: a rank of two steps whose figures are known, as databases. */

#include "npuprof/activity.h"
#include "npuprof/load_run.h"

#include <inttypes.h>

#include "np_fixture.h"

#include "npuprof/discover.h"
#include "npuprof/rank.h"
#include "npuprof/run.h"

#define OUTPUT "ASCEND_PROFILER_OUTPUT"

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

static inline uint64_t hash_of(const char *name)
{
	return np_group_hash(name, strlen(name));
}

/* $A and $B in SQL stand for the hashes of group_a and group_b. */
static inline void run_sql_with_hashes(const char *path, const char *sql)
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
static inline const char *rank_path(int rank, const char *name)
{
	return below("rank%d/" OUTPUT "/%s", rank, name);
}

static inline const char *rank_db(int rank)
{
	char name[64];

	(void)snprintf(name, sizeof(name), "ascend_pytorch_profiler_%d.db", rank);
	return rank_path(rank, name);
}

/* The rank database; `changes` is SQL to make it another version, or NULL. */
static inline void make_rank_db(int rank, const char *changes)
{
	run_sql(rank_db(rank), rank_sql);
	if (changes)
		run_sql(rank_db(rank), changes);
	write_text(below("rank%d/profiler_info_%d.json", rank, rank),
		   "{\"config\": {\"experimental_config\": {\"_profiler_level\": \"Level1\"}},"
		   " \"cann_version\": \"8.0\", \"torch_npu_version\": \"2.1\"}");
}

static inline void make_analysis_db(int rank, const char *changes)
{
	run_sql_with_hashes(rank_path(rank, "analysis.db"), analysis_sql);
	if (changes)
		run_sql_with_hashes(rank_path(rank, "analysis.db"), changes);
	write_text(below("rank%d/profiler_info_%d.json", rank, rank), "{}");
}

/* Discover and load everything in the fixture. */
static inline struct np_run *load_at(const char *root, size_t threads)
{
	const struct np_discover_options options = { 0 };
	const struct np_load_options how = { .procs = &np_procs_serial,
					     .workers.threads = threads };
	struct np_run *run = np_run_new();
	struct np_err err = NP_ERR_INIT;
	const char *roots[] = { root };

	assert_ok(np_discover(run, roots, 1, &options, &err), err);
	assert_ok(np_load_run(run, &how, &err), err);
	return run;
}

static inline struct np_run *load(void)
{
	return load_at(np_fixture_root, 1);
}

#define with_run NP_CLEANUP(np_run_freep) struct np_run

static inline const struct np_step_time *
time_of(const struct np_run *run, const struct np_rank *rank, const char *step, int32_t device)
{
	for (size_t i = 0; i < rank->times.count; i++) {
		const char *id = np_run_text(run, rank->steps.item[rank->times.item[i].step].id);

		if (rank->times.item[i].device == device && id && strcmp(id, step) == 0)
			return &rank->times.item[i];
	}
	fail_msg("no times of step %s on device %d", step, device);
	return NULL;
}

static inline const struct np_comm_step *sum_of(const struct np_rank *rank, const char *group)
{
	for (size_t i = 0; i < rank->comm_steps.count; i++) {
		if (rank->groups.item[rank->comm_steps.item[i].group].hash == hash_of(group))
			return &rank->comm_steps.item[i];
	}
	fail_msg("no sum of %s", group);
	return NULL;
}

static inline void assert_known_steps(const struct np_run *run, const struct np_rank *rank)
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

/* The times of an operator; NP_UNKNOWN for one that is not looked at. */
static inline void assert_vendor_times(const struct np_rank *rank, size_t op, np_ns transit,
				       np_ns wait, np_ns sync)
{
	struct np_vendor_times times = np_rank_vendor_times(rank, op);

	assert_int_equal(np_rank_length(rank, times.transit), transit);
	assert_int_equal(np_rank_length(rank, times.wait), wait);
	if (sync != NP_UNKNOWN)
		assert_int_equal(np_rank_length(rank, times.sync), sync);
}

static inline void assert_known_ops(const struct np_run *run, const struct np_rank *rank)
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

/* What the leaves of one kind got of a cell, in µs. */
static inline np_ns leaf_us(const struct np_rank *rank, size_t cell, enum np_leaf_kind kind)
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

/* Device 5 computes 1160-1200 and has an operator of its own, told by its connection. */
static const char second_device[] =
	"INSERT INTO TASK(startNs, endNs, deviceId, connectionId, globalTaskId, taskType) VALUES"
	" (1160000, 1200000, 5, 1, 301, 1), (1500000, 1510000, 5, 8, 302, 11);"
	"INSERT INTO COMPUTE_TASK_INFO VALUES(2, 301, 8, 0, 1, 2);"
	"INSERT INTO COMMUNICATION_OP VALUES(3, 1500000, 1600000, 8, 4, 9, 0, 0, 4, 0, 10, 7);";

static inline void assert_known_analysis(const struct np_run *run, const struct np_rank *rank)
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

#endif /* NP_LOAD_FIXTURE_H */
