/* SPDX-License-Identifier: Apache-2.0 */
/* libascendcl.so: events. */
#include "nsim.h"
#include "raw.h"

/*
 * libascendcl.so: events. Recording makes an occurrence, waiting refers to the
 * latest one at that moment, so that an event may be recorded again while somebody
 * still waits for the one before.
 */
struct occurrence {
	int refs;
	bool done;
	bool broken;
	np_ns when;
};

struct acl_event {
	struct occurrence *latest;
};

struct event_op {
	struct nsim_op op;
	struct occurrence *occurrence;
};

static void unref(struct occurrence *occurrence)
{
	if (occurrence && --occurrence->refs == 0)
		free(occurrence);
}

static void release_op(struct nsim_op *op)
{
	struct event_op *event_op = (struct event_op *)op;

	if (!event_op->occurrence->done) /* it never will be */
		event_op->occurrence->broken = true;
	unref(event_op->occurrence);
	free(op);
}

static void release_wait(struct nsim_op *op)
{
	unref(((struct event_op *)op)->occurrence);
	free(op);
}

static void record(struct nsim_stream *stream, np_ns start, np_ns end, const char *type)
{
	if (!nsim_records(ACL_PROF_TASK_TIME | ACL_PROF_TASK_TIME_L0))
		return;
	(void)nsim_record_task(&(struct nsim_task){
		.device = nsim_stream_device(stream),
		.stream = nsim_stream_id(stream),
		.task_id = nsim_stream_next_task(stream),
		.connection = NPUSIM_NO_ID,
		.start = start,
		.end = end,
		.type = type,
		.whole_start = start,
		.whole_end = end,
	});
}

static enum nsim_progress run_record(struct nsim_op *op, struct nsim_stream *stream, np_ns start,
				     np_ns *end)
{
	struct occurrence *occurrence = ((struct event_op *)op)->occurrence;

	if (nsim_stream_error(stream))
		return NSIM_BROKEN;
	*end = start + 200;
	occurrence->done = true;
	occurrence->when = *end;
	record(stream, start, *end, "EVENT_RECORD");
	return NSIM_DONE;
}

static enum nsim_progress run_wait(struct nsim_op *op, struct nsim_stream *stream, np_ns start,
				   np_ns *end)
{
	const struct occurrence *occurrence = ((struct event_op *)op)->occurrence;

	if (occurrence->broken)
		return NSIM_BROKEN;
	if (!occurrence->done)
		return NSIM_WAITING;
	*end = (occurrence->when > start ? occurrence->when : start) + 200;
	record(stream, start, *end, "EVENT_WAIT");
	return NSIM_DONE;
}

/* Push an op about an occurrence, of which it takes a reference. Locked. */
static aclError push(aclrtStream handle, struct occurrence *occurrence, bool is_record)
{
	struct nsim_stream *stream = nsim_stream_of(handle);
	struct event_op *op = stream ? calloc(1, sizeof(*op)) : NULL;

	if (!op)
		return stream ? ACL_ERROR_BAD_ALLOC : ACL_ERROR_INVALID_PARAM;
	op->op = (struct nsim_op){ .launched = nsim_true_ns() + 2000,
				   .run = is_record ? run_record : run_wait,
				   .release = is_record ? release_op : release_wait };
	op->occurrence = occurrence;
	occurrence->refs++;
	return nsim_stream_push(stream, &op->op);
}

aclError aclrtCreateEvent(aclrtEvent *event)
{
	NSIM_MAY_FAIL("aclrtCreateEvent");
	if (!event)
		return ACL_ERROR_INVALID_PARAM;
	*event = calloc(1, sizeof(struct acl_event));
	return *event ? ACL_SUCCESS : ACL_ERROR_BAD_ALLOC;
}

aclError aclrtDestroyEvent(aclrtEvent event)
{
	NSIM_MAY_FAIL("aclrtDestroyEvent");
	if (!event)
		return ACL_ERROR_INVALID_PARAM;
	nsim_lock();
	unref(((struct acl_event *)event)->latest);
	nsim_unlock();
	free(event);
	return ACL_SUCCESS;
}

aclError aclrtRecordEvent(aclrtEvent event, aclrtStream stream)
{
	struct occurrence *occurrence;
	aclError rc;

	NSIM_MAY_FAIL("aclrtRecordEvent");
	if (!event)
		return ACL_ERROR_INVALID_PARAM;
	occurrence = calloc(1, sizeof(*occurrence));
	if (!occurrence)
		return ACL_ERROR_BAD_ALLOC;
	occurrence->refs = 1;
	nsim_lock();
	rc = push(stream, occurrence, true);
	if (rc == ACL_SUCCESS) {
		unref(((struct acl_event *)event)->latest);
		((struct acl_event *)event)->latest = occurrence;
	} else {
		unref(occurrence);
	}
	nsim_unlock();
	return rc;
}

aclError aclrtStreamWaitEvent(aclrtStream stream, aclrtEvent event)
{
	aclError rc = ACL_SUCCESS;

	NSIM_MAY_FAIL("aclrtStreamWaitEvent");
	if (!event)
		return ACL_ERROR_INVALID_PARAM;
	nsim_lock();
	if (((struct acl_event *)event)->latest)
		rc = push(stream, ((struct acl_event *)event)->latest, false);
	nsim_unlock();
	return rc;
}

/* Until the occurrence is computed, look again now and then; then sleep until it has come. */
static aclError await(struct occurrence *occurrence)
{
	struct occurrence seen;

	for (;;) {
		nsim_lock();
		seen = *occurrence;
		nsim_unlock();
		if (seen.broken)
			return ACL_ERROR_RT_FAILURE;
		if (seen.done)
			break;
		nsim_sleep_until(nsim_true_ns() + 100000);
	}
	nsim_sleep_until(seen.when);
	return ACL_SUCCESS;
}

aclError aclrtSynchronizeEvent(aclrtEvent event)
{
	struct occurrence *occurrence;
	aclError rc = ACL_SUCCESS;

	NSIM_MAY_FAIL("aclrtSynchronizeEvent");
	if (!event)
		return ACL_ERROR_INVALID_PARAM;
	nsim_lock();
	occurrence = ((struct acl_event *)event)->latest;
	if (occurrence)
		occurrence->refs++;
	nsim_unlock();
	if (!occurrence)
		return ACL_SUCCESS;
	rc = await(occurrence);
	nsim_lock();
	unref(occurrence);
	nsim_unlock();
	return rc;
}

aclError aclrtEventElapsedTime(float *ms, aclrtEvent start, aclrtEvent end)
{
	const struct acl_event *from = start;
	const struct acl_event *to = end;
	aclError rc = ACL_ERROR_INVALID_PARAM;

	NSIM_MAY_FAIL("aclrtEventElapsedTime");
	if (!ms || !from || !to)
		return ACL_ERROR_INVALID_PARAM;
	nsim_lock();
	if (from->latest && from->latest->done && to->latest && to->latest->done) {
		*ms = (float)(to->latest->when - from->latest->when) / 1e6f;
		rc = ACL_SUCCESS;
	}
	nsim_unlock();
	return rc;
}
