/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One rank in two forms: the bytes are what a device did (kernels and operators, when each was
 * launched, where steps begin), which is written as a database and as a trace. Both readers must
 * tell the same steps, to the nanosecond, and the same operators.
 */
#include "core/format/db/db_private.h"
#include "npuprof/buf.h"
#include "npuprof/load.h"
#include "npuprof/rank.h"
#include "npuprof/run.h"

#include <inttypes.h>
#include <stdio.h>

#include "fuzz_file.h"

enum {
	ITEMS_MOST = 200,
	HOST_PID = 1000,
};

static const int64_t epoch = INT64_C(1736410576000000000);

struct item {
	bool op;
	int64_t launch;
	int64_t start;
	int64_t end;
};

struct step {
	int64_t begin;
	int64_t end;
};

struct story {
	struct item items[ITEMS_MOST];
	size_t count;
	struct step steps[ITEMS_MOST];
	size_t step_count;
};

/* Two bytes for each of: what it is and when it is launched, when it starts after that, how long.
 */
static void tell(struct story *story, const uint8_t *data, size_t size)
{
	int64_t host = epoch;
	int64_t free[2] = { epoch, epoch }; /* streams: of kernels, of operators */

	story->steps[0].begin = epoch;
	story->step_count = 1;
	story->count = 0;
	for (size_t i = 0; i + 5 < size && story->count < ITEMS_MOST; i += 6) {
		struct item *item = &story->items[story->count];
		bool next = data[i] & 1U;
		bool op = data[i] & 2U;
		int64_t earliest;

		host += 1000 + (int64_t)(data[i] >> 2) * 100 + data[i + 1];
		/* A step that nothing is launched in is none in a trace. */
		if (next && story->count > 0 &&
		    story->items[story->count - 1].launch >=
			    story->steps[story->step_count - 1].begin) {
			story->steps[story->step_count - 1].end = host;
			story->steps[story->step_count++].begin = host + 10;
			host += 100;
		}
		earliest = host + 500 > free[op] ? host + 500 : free[op];
		item->op = op;
		item->launch = host;
		item->start = earliest + data[i + 2] * 256 + data[i + 3];
		item->end = item->start + 1 + data[i + 4] * 256 + data[i + 5];
		free[op] = item->end;
		story->count++;
	}
	story->steps[story->step_count - 1].end = host + 1000;
}

static void put_us(struct np_buf *buf, const char *key, int64_t ns)
{
	np_buf_printf(buf, ",\"%s\":\"%" PRId64 ".%03d\"", key, ns / 1000, (int)(ns % 1000));
}

static void put_dur(struct np_buf *buf, int64_t ns)
{
	np_buf_printf(buf, ",\"dur\":%" PRId64 ".%03d", ns / 1000, (int)(ns % 1000));
}

static void put_item(struct np_buf *buf, const struct item *item, size_t index)
{
	np_buf_printf(buf, ",{\"ph\":\"X\",\"name\":\"Node@launch\",\"pid\":1,\"tid\":7");
	put_us(buf, "ts", item->launch);
	put_dur(buf, 200);
	np_buf_printf(buf, ",\"args\":{\"level\":\"node\",\"id\":\"0\",\"connection_id\":%zu}}",
		      index);
	np_buf_printf(buf, ",{\"ph\":\"X\",\"name\":\"%s%zu\",\"pid\":%d,\"tid\":%d",
		      item->op ? "hcom_allReduce__690_0_" : "kernel", index, item->op ? 3 : 2,
		      item->op ? 0 : 5);
	put_us(buf, "ts", item->start);
	put_dur(buf, item->end - item->start);
	np_buf_printf(
		buf,
		item->op ? ",\"args\":{\"connection_id\":%zu,\"data_type\":\"FP32\",\"count\":4}}"
			 : ",\"args\":{\"Task Type\":\"AI_CORE\",\"Physic Stream Id\":5,"
			   "\"Task Id\":1,\"connection_id\":%zu}}",
		index);
}

static void write_trace(const struct story *story, struct np_buf *buf)
{
	np_buf_add(
		buf,
		"[{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":1,\"tid\":0,\"args\":{\"name\":\"CANN\"}},"
		"{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":2,\"tid\":0,\"args\":{\"name\":"
		"\"Ascend Hardware\"}},"
		"{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":3,\"tid\":0,\"args\":{\"name\":\"HCCL\"}},"
		"{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":3,\"tid\":0,\"args\":{\"name\":"
		"\"Group 0 Communication\"}},"
		"{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":1000,\"tid\":0,\"args\":{\"name\":"
		"\"Python\"}}");
	for (size_t i = 0; i < story->step_count; i++) {
		np_buf_printf(buf,
			      ",{\"ph\":\"X\",\"name\":\"ProfilerStep#%zu\",\"pid\":%d,\"tid\":%d",
			      i, HOST_PID, HOST_PID);
		put_us(buf, "ts", story->steps[i].begin);
		put_dur(buf, story->steps[i].end - story->steps[i].begin);
		np_buf_add(buf, ",\"cat\":\"cpu_op\",\"args\":{}}");
	}
	for (size_t i = 0; i < story->count; i++)
		put_item(buf, &story->items[i], i);
	np_buf_add(buf, "]");
}

static void write_sql(const struct story *story, struct np_buf *buf)
{
	np_buf_add(
		buf,
		"PRAGMA synchronous=OFF; PRAGMA journal_mode=OFF; BEGIN;"
		"CREATE TABLE STRING_IDS (id INTEGER PRIMARY KEY,value TEXT);"
		"INSERT INTO STRING_IDS VALUES(1,'KERNEL_AICORE'),(2,'AI_CORE'),(3,'world'),"
		"(4,'hcom_allReduce_'),(5,'RING'),(6,'launch');"
		"CREATE TABLE STEP_TIME (id INTEGER,startNs INTEGER,endNs INTEGER);"
		"CREATE TABLE TASK (startNs INTEGER,endNs INTEGER,deviceId INTEGER,connectionId INTEGER,"
		"globalTaskId INTEGER,globalPid INTEGER,taskType INTEGER,contextId INTEGER,streamId INTEGER,"
		"taskId INTEGER,modelId INTEGER);"
		"CREATE TABLE COMPUTE_TASK_INFO (name INTEGER,globalTaskId INTEGER PRIMARY KEY,blockDim "
		"INTEGER,mixBlockDim INTEGER,taskType INTEGER,opType INTEGER);"
		"CREATE TABLE COMMUNICATION_OP (opName INTEGER,startNs INTEGER,endNs INTEGER,connectionId "
		"INTEGER,groupName INTEGER,opId INTEGER PRIMARY KEY,relay INTEGER,retry INTEGER,dataType "
		"INTEGER,algType INTEGER,count NUMERIC,opType INTEGER);"
		"CREATE TABLE CANN_API (startNs INTEGER,endNs INTEGER,type INTEGER,globalTid INTEGER,"
		"connectionId INTEGER PRIMARY KEY,name INTEGER);"
		"CREATE TABLE ENUM_API_TYPE (id INTEGER PRIMARY KEY,name TEXT);"
		"INSERT INTO ENUM_API_TYPE VALUES(10000,'node');"
		"CREATE TABLE ENUM_HCCL_DATA_TYPE (id INTEGER PRIMARY KEY,name TEXT);"
		"INSERT INTO ENUM_HCCL_DATA_TYPE VALUES(4,'FP32');");
	for (size_t i = 0; i < story->step_count; i++)
		np_buf_printf(buf, "INSERT INTO STEP_TIME VALUES(%zu,%" PRId64 ",%" PRId64 ");", i,
			      story->steps[i].begin, story->steps[i].end);
	for (size_t i = 0; i < story->count; i++) {
		const struct item *item = &story->items[i];

		np_buf_printf(buf,
			      "INSERT INTO CANN_API VALUES(%" PRId64 ",%" PRId64 ",10000,7,%zu,6);"
			      "INSERT INTO STRING_IDS VALUES(%zu,'%s%zu');",
			      item->launch, item->launch + 200, i, i + 100,
			      item->op ? "hcom_allReduce__690_0_" : "kernel", i);
		if (item->op)
			np_buf_printf(buf,
				      "INSERT INTO COMMUNICATION_OP VALUES(%zu,%" PRId64 ",%" PRId64
				      ",%zu,3,%zu,0,0,4,5,4,4);",
				      i + 100, item->start, item->end, i, i);
		else
			np_buf_printf(buf,
				      "INSERT INTO TASK VALUES(%" PRId64 ",%" PRId64
				      ",0,%zu,%zu,1,1,4294967295,5,1,4294967295);"
				      "INSERT INTO COMPUTE_TASK_INFO VALUES(%zu,%zu,1,0,2,%zu);",
				      item->start, item->end, i, i, i + 100, i, i + 100);
	}
	np_buf_add(buf, "COMMIT;");
}

static bool write_db(const struct story *story)
{
	NP_CLEANUP(np_buf_release) struct np_buf sql = NP_BUF_INIT;
	sqlite3 *db = NULL;
	bool ok;

	write_sql(story, &sql);
	ok = sqlite3_open(fuzz_path, &db) == SQLITE_OK &&
	     sqlite3_exec(db, sql.text, NULL, NULL, NULL) == SQLITE_OK;
	return sqlite3_close(db) == SQLITE_OK && ok;
}

static struct np_rank *load(struct np_strtab *strings, enum np_file file)
{
	static char dir[] = "rank0";
	struct np_source_files source = { .rank = 0, .device = -1, .dir = dir };
	struct np_rank *rank = NULL;

	source.file[file] = fuzz_path;
	return np_load_rank(&source, strings, &rank, NULL) < 0 ? NULL : rank;
}

static void compare(const struct np_rank *a, const struct np_rank *b)
{
	require(a->times.count == b->times.count && a->ops.count == b->ops.count);
	for (size_t i = 0; i < a->times.count; i++) {
		const struct np_step_time *x = &a->times.item[i];
		const struct np_step_time *y = &b->times.item[i];

		require(x->computing == y->computing && x->communication == y->communication);
		require(x->communication_not_overlapped == y->communication_not_overlapped);
		require(x->free == y->free && x->span == y->span && x->begin == y->begin);
		require(x->iteration == y->iteration);
	}
	for (size_t i = 0; i < a->ops.count; i++) {
		require(a->ops.item[i].start == b->ops.item[i].start);
		require(a->ops.item[i].end == b->ops.item[i].end);
		require(a->ops.item[i].step == b->ops.item[i].step);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	NP_CLEANUP(np_strtab_freep) struct np_strtab *strings = np_strtab_new();
	NP_CLEANUP(np_buf_release) struct np_buf trace = NP_BUF_INIT;
	static struct story story;
	struct np_rank *by_db;
	struct np_rank *by_trace;

	tell(&story, data, size);
	if (story.count == 0 || !strings || !fuzz_write_file(data, 0))
		return 0;
	require(write_db(&story));
	by_db = load(strings, NP_FILE_RANK_DB);
	write_trace(&story, &trace);
	require(fuzz_write_file((const uint8_t *)trace.text, trace.length));
	by_trace = load(strings, NP_FILE_TRACE);
	require(by_db && by_trace);
	compare(by_db, by_trace);
	np_rank_free(by_db);
	np_rank_free(by_trace);
	return 0;
}
