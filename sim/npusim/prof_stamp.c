/* SPDX-License-Identifier: Apache-2.0 */
/* libmsprofiler.so: steps and stamps. They record between start and stop only. */
#include <unistd.h>

#include "prof.h"
#include "raw.h"

#include "npuprof/hash.h"

struct aclprofStepInfo {
	bool seen[2];
	np_ns when[2];
};

aclprofStepInfo *aclprofCreateStepInfo(void)
{
	int code;

	return nsim_fails("aclprofCreateStepInfo", &code) ? NULL
							  : calloc(1, sizeof(aclprofStepInfo));
}

void aclprofDestroyStepInfo(aclprofStepInfo *stepInfo)
{
	free(stepInfo);
}

aclError aclprofGetStepTimestamp(aclprofStepInfo *stepInfo, aclprofStepTag tag, aclrtStream stream)
{
	(void)stream;
	NSIM_MAY_FAIL("aclprofGetStepTimestamp");
	if (!stepInfo || (tag != ACL_STEP_START && tag != ACL_STEP_END) || stepInfo->seen[tag])
		return ACL_ERROR_INVALID_PARAM;
	stepInfo->seen[tag] = true;
	stepInfo->when[tag] = nsim_true_ns();
	return ACL_SUCCESS;
}

#define STAMP_MAGIC 0x7374616d

struct stamp {
	uint32_t magic;
	uint32_t category;
	np_ns start;
	char message[160];
};

/* Ranges that are open: pushed ones of a thread, started ones of the process. */
#define MAX_DEPTH  64
#define MAX_RANGES 1024

static _Thread_local struct stamp stack[MAX_DEPTH];
static _Thread_local size_t depth;

static struct {
	uint32_t id;
	int32_t tid;
	struct stamp stamp;
} ranges[MAX_RANGES];

static uint32_t last_range;

void *aclprofCreateStamp(void)
{
	struct stamp *stamp;
	int code;

	if (nsim_fails("aclprofCreateStamp", &code))
		return NULL;
	stamp = calloc(1, sizeof(*stamp));
	if (stamp)
		stamp->magic = STAMP_MAGIC;
	return stamp;
}

void aclprofDestroyStamp(void *stamp)
{
	free(stamp);
}

static bool is_stamp(const void *stamp)
{
	return stamp && ((const struct stamp *)stamp)->magic == STAMP_MAGIC;
}

aclError aclprofSetStampTraceMessage(void *stamp, const char *msg, uint32_t len)
{
	NSIM_MAY_FAIL("aclprofSetStampTraceMessage");
	if (!is_stamp(stamp) || !msg || len >= sizeof(((struct stamp *)stamp)->message))
		return ACL_ERROR_INVALID_PARAM;
	(void)snprintf(((struct stamp *)stamp)->message, sizeof(((struct stamp *)stamp)->message),
		       "%.*s", (int)len, msg);
	return ACL_SUCCESS;
}

aclError aclprofSetStampCategory(void *stamp, uint32_t category)
{
	NSIM_MAY_FAIL("aclprofSetStampCategory");
	if (!is_stamp(stamp))
		return ACL_ERROR_INVALID_PARAM;
	((struct stamp *)stamp)->category = category;
	return ACL_SUCCESS;
}

aclError aclprofSetCategoryName(uint32_t category, const char *name)
{
	(void)category;
	NSIM_MAY_FAIL("aclprofSetCategoryName");
	return name ? ACL_SUCCESS : ACL_ERROR_INVALID_PARAM;
}

aclError aclprofSetStampPayload(void *stamp, int32_t type, void *value)
{
	(void)type;
	NSIM_MAY_FAIL("aclprofSetStampPayload");
	return is_stamp(stamp) && value ? ACL_SUCCESS : ACL_ERROR_INVALID_PARAM;
}

static void record(const struct stamp *stamp, np_ns start, int type, uint64_t range, int32_t tid,
		   uint32_t connection)
{
	if (!nsim_records(ACL_PROF_MSPROFTX))
		return;
	nsim_record_tx(&(struct nsim_tx){
		.start = start,
		.end = type == 0 || type == 3 ? start : nsim_true_ns(),
		.type = type,
		.range = range,
		.category = stamp->category,
		.tid = tid,
		.end_tid = gettid(),
		.connection = connection,
		.domain = "default",
		.message = stamp->message,
	});
}

aclError aclprofMark(void *stamp)
{
	NSIM_MAY_FAIL("aclprofMark");
	if (!is_stamp(stamp))
		return ACL_ERROR_INVALID_PARAM;
	nsim_lock();
	record(stamp, nsim_true_ns(), 0, 0, gettid(), NPUSIM_MSTX_NO_CONN);
	nsim_unlock();
	return ACL_SUCCESS;
}

aclError aclprofMarkEx(const char *msg, size_t len, aclrtStream stream)
{
	struct stamp stamp = { .magic = STAMP_MAGIC };
	uint32_t connection = NPUSIM_MSTX_NO_CONN + nsim_connection();
	struct nsim_stream *found;

	NSIM_MAY_FAIL("aclprofMarkEx");
	if (!msg || len >= sizeof(stamp.message) || strlen(msg) != len)
		return ACL_ERROR_INVALID_PARAM;
	(void)snprintf(stamp.message, sizeof(stamp.message), "%s", msg);
	nsim_lock();
	found = nsim_stream_of(stream);
	if (found && nsim_records(ACL_PROF_MSPROFTX) &&
	    nsim_marker_push(found, connection) == ACL_SUCCESS)
		record(&stamp, nsim_true_ns(), 3, 0, gettid(), connection);
	nsim_unlock();
	return found ? ACL_SUCCESS : ACL_ERROR_INVALID_PARAM;
}

static aclError push(const struct stamp *stamp)
{
	if (depth == MAX_DEPTH)
		return ACL_ERROR_INVALID_PARAM;
	stack[depth] = *stamp;
	stack[depth++].start = nsim_true_ns();
	return ACL_SUCCESS;
}

static aclError pop(void)
{
	if (depth == 0)
		return ACL_ERROR_INVALID_PARAM;
	depth--;
	nsim_lock();
	record(&stack[depth], stack[depth].start, 1, 0, gettid(), NPUSIM_MSTX_NO_CONN);
	nsim_unlock();
	return ACL_SUCCESS;
}

aclError aclprofPush(void *stamp)
{
	NSIM_MAY_FAIL("aclprofPush");
	return is_stamp(stamp) ? push(stamp) : ACL_ERROR_INVALID_PARAM;
}

aclError aclprofPop(void)
{
	NSIM_MAY_FAIL("aclprofPop");
	return pop();
}

/* Names of operators are not known here: the tensors are left out. */
aclError aclprofRangePushEx(aclprofEventAttributes *attributes)
{
	struct stamp stamp = { .magic = STAMP_MAGIC };

	NSIM_MAY_FAIL("aclprofRangePushEx");
	if (!attributes || attributes->version != 1 || attributes->messageType != 0)
		return ACL_ERROR_INVALID_PARAM;
	(void)snprintf(stamp.message, sizeof(stamp.message), "tensor info");
	return push(&stamp);
}

aclError aclprofRangePop(void)
{
	NSIM_MAY_FAIL("aclprofRangePop");
	return pop();
}

aclError aclprofRangeStart(void *stamp, uint32_t *rangeId)
{
	aclError rc = ACL_ERROR_BAD_ALLOC;

	NSIM_MAY_FAIL("aclprofRangeStart");
	if (!is_stamp(stamp) || !rangeId)
		return ACL_ERROR_INVALID_PARAM;
	nsim_lock();
	for (size_t i = 0; i < MAX_RANGES && rc != ACL_SUCCESS; i++) {
		if (ranges[i].id != 0)
			continue;
		ranges[i].id = *rangeId = ++last_range;
		ranges[i].tid = gettid();
		ranges[i].stamp = *(struct stamp *)stamp;
		ranges[i].stamp.start = nsim_true_ns();
		rc = ACL_SUCCESS;
	}
	nsim_unlock();
	return rc;
}

aclError aclprofRangeStop(uint32_t rangeId)
{
	aclError rc = ACL_ERROR_INVALID_PARAM;

	NSIM_MAY_FAIL("aclprofRangeStop");
	nsim_lock();
	for (size_t i = 0; rangeId != 0 && i < MAX_RANGES; i++) {
		if (ranges[i].id != rangeId)
			continue;
		record(&ranges[i].stamp, ranges[i].stamp.start, 2, rangeId, ranges[i].tid,
		       NPUSIM_MSTX_NO_CONN);
		ranges[i].id = 0;
		rc = ACL_SUCCESS;
		break;
	}
	nsim_unlock();
	return rc;
}

/* FNV-1a. */
uint64_t aclprofStr2Id(const char *text)
{
	return np_hash(NP_HASH_START, text, text ? strlen(text) : 0);
}
