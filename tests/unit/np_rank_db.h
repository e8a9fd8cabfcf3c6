/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_TEST_NP_RANK_DB_H
#define NP_TEST_NP_RANK_DB_H

/*
 * Profiles of ranks written row by row, for tests that want to know every one:
 *
 *	rank_db(0);
 *	rank_sql(0, "INSERT INTO TASK VALUES(…)");
 *
 * Texts are given as T('text') and become ids of STRING_IDS.
 */
#include "np_fixture.h"

/* The tables of schema 1.0 that tests fill. */
static const char np_rank_schema[] =
	"CREATE TABLE STRING_IDS (id INTEGER PRIMARY KEY,value TEXT);"
	"CREATE TABLE META_DATA (name TEXT,value TEXT);"
	"CREATE TABLE NPU_INFO (id INTEGER,name TEXT);"
	"CREATE TABLE RANK_DEVICE_MAP (rankId INTEGER,deviceId INTEGER);"
	"CREATE TABLE STEP_TIME (id INTEGER,startNs INTEGER,endNs INTEGER);"
	"CREATE TABLE TASK (startNs INTEGER,endNs INTEGER,connectionId INTEGER,globalTaskId INTEGER,"
	"taskType INTEGER,streamId INTEGER,deviceId INTEGER DEFAULT 0,taskId INTEGER DEFAULT 0);"
	"CREATE TABLE COMPUTE_TASK_INFO (globalTaskId INTEGER PRIMARY KEY,name INTEGER,opType"
	" INTEGER,taskType INTEGER,inputShapes INTEGER,inputDataTypes INTEGER,outputShapes INTEGER);"
	"CREATE TABLE COMMUNICATION_OP (opName INTEGER,startNs INTEGER,endNs INTEGER,connectionId"
	" INTEGER,groupName INTEGER,opId INTEGER PRIMARY KEY,relay INTEGER,retry INTEGER,dataType"
	" INTEGER,algType INTEGER,count NUMERIC,opType INTEGER);"
	"CREATE TABLE CANN_API (startNs INTEGER,endNs INTEGER,type INTEGER,globalTid INTEGER,"
	"connectionId INTEGER PRIMARY KEY,name INTEGER);"
	"CREATE TABLE PYTORCH_API (startNs TEXT,endNs TEXT,globalTid INTEGER,connectionId INTEGER,"
	"name INTEGER,type INTEGER,sequenceNumber INTEGER,fwdThreadId INTEGER,inputDtypes INTEGER,"
	"inputShapes INTEGER,callchainId INTEGER);"
	"CREATE TABLE CONNECTION_IDS (id INTEGER,connectionId INTEGER);"
	"CREATE TABLE AICORE_FREQ (deviceId INTEGER,timestampNs NUMERIC,freq INTEGER);"
	"CREATE TABLE MSTX_EVENTS (startNs INTEGER,endNs INTEGER,eventType INTEGER,rangeId INTEGER,"
	"category INTEGER,message INTEGER,globalTid INTEGER,endGlobalTid INTEGER,domainId INTEGER,"
	"connectionId INTEGER);"
	"CREATE TABLE ENUM_API_TYPE (id INTEGER PRIMARY KEY,name TEXT);"
	"INSERT INTO ENUM_API_TYPE VALUES(5000,'runtime'),(5500,'hccl'),(10000,'node'),(20000,'acl'),"
	"(50001,'op'),(50002,'queue'),(50003,'trace'),(50004,'mstx');"
	"CREATE TABLE ENUM_HCCL_DATA_TYPE (id INTEGER PRIMARY KEY,name TEXT);"
	"INSERT INTO ENUM_HCCL_DATA_TYPE VALUES(0,'INT8'),(3,'FP16'),(4,'FP32');";

static inline const char *np_rank_db_path(int rank)
{
	return below("run/rank%d_ascend_pt/ASCEND_PROFILER_OUTPUT/ascend_pytorch_profiler_%d.db",
		     rank, rank);
}

/* Replace T('text') by the id of the text, which is added if it is new. */
static inline void np_rank_texts(const char *path, const char *sql, struct np_buf *ret)
{
	const char *at;

	while ((at = strstr(sql, "T('")) != NULL) {
		const char *begin = at + 3;
		const char *end = strstr(begin, "')");
		char query[4096];

		assert_non_null(end);
		np_buf_add_bytes(ret, sql, (size_t)(at - sql));
		(void)snprintf(query, sizeof(query),
			       "INSERT INTO STRING_IDS(value) SELECT '%.*s' WHERE NOT EXISTS"
			       " (SELECT 1 FROM STRING_IDS WHERE value='%.*s')",
			       (int)(end - begin), begin, (int)(end - begin), begin);
		run_sql(path, query);
		(void)snprintf(query, sizeof(query), "SELECT id FROM STRING_IDS WHERE value='%.*s'",
			       (int)(end - begin), begin);
		np_buf_printf(ret, "%lld", (long long)ask_sql(path, query));
		sql = end + 2;
	}
	np_buf_add(ret, sql);
}

NP_PRINTF(2, 3) static inline void rank_sql(int rank, const char *fmt, ...)
{
	NP_CLEANUP(np_buf_release) struct np_buf sql = NP_BUF_INIT;
	char text[8192];
	va_list arguments;

	va_start(arguments, fmt);
	/* NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized): started above */
	assert_true(vsnprintf(text, sizeof(text), fmt, arguments) < (int)sizeof(text));
	va_end(arguments);
	np_rank_texts(np_rank_db_path(rank), text, &sql);
	run_sql(np_rank_db_path(rank), sql.text);
}

/* A rank with these tables, all empty. */
static inline void rank_db(int rank)
{
	make_dirs_above(np_rank_db_path(rank));
	write_text(below("run/rank%d_ascend_pt/profiler_info_%d.json", rank, rank), "{}");
	run_sql(np_rank_db_path(rank), np_rank_schema);
	rank_sql(rank, "INSERT INTO RANK_DEVICE_MAP VALUES(%d,0)", rank);
}

/* A kernel with the calls that launched it; ids are those of its connection. */
static inline void rank_kernel(int rank, int id, int64_t start, int64_t end, const char *name)
{
	rank_sql(
		rank,
		"INSERT INTO TASK(startNs,endNs,connectionId,globalTaskId,taskType,streamId)"
		" VALUES(%lld,%lld,%d,%d,T('KERNEL_AICORE'),2);"
		"INSERT INTO COMPUTE_TASK_INFO VALUES(%d,T('%s'),T('%s'),T('AI_CORE'),T('16,16;16,16'),"
		"T('FLOAT16;FLOAT16'),T('16,16'))",
		(long long)start, (long long)end, id, id, id, name, name);
}

/* An operator over the communicator "world". */
static inline void rank_op(int rank, int id, int64_t start, int64_t end, const char *name)
{
	rank_sql(rank,
		 "INSERT INTO COMMUNICATION_OP VALUES(T('%s'),%lld,%lld,%d,T('world'),%d,0,0,4,"
		 "T('RING'),1024,T('hcom_allReduce_'));"
		 "INSERT INTO TASK(startNs,endNs,connectionId,globalTaskId,taskType,streamId)"
		 " VALUES(%lld,%lld,%d,%d,T('SDMA'),3)",
		 name, (long long)start, (long long)end, id, id, (long long)start, (long long)end,
		 id, 100000 + id);
}

#endif /* NP_TEST_NP_RANK_DB_H */
