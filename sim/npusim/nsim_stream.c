/* SPDX-License-Identifier: Apache-2.0 */
/* Streams, and the thread that advances them. */
#include <errno.h>
#include <pthread.h>

#include "nsim.h"

/*
 * Streams and the thread that advances them. The thread computes when tasks start
 * and end, far ahead of time if it can; it waits only for what others decide: the
 * ranks of a collective.
 */
struct nsim_stream {
	struct nsim_stream *next;
	int32_t id;
	int32_t logical;
	int32_t device;
	struct nsim_op *head;
	struct nsim_op **tail;
	uint64_t pushed;
	uint64_t done;
	np_ns ready; /* when the last task that is done ends */
	uint32_t tasks;
	aclError error;
	bool is_default;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t work = PTHREAD_COND_INITIALIZER;     /* for the thread */
static pthread_cond_t progress = PTHREAD_COND_INITIALIZER; /* for those who synchronise */
static struct nsim_stream *streams;
static int32_t next_id = 2;
static bool worker_runs;

/* What a peer decides is asked for this often. */
#define POLL_NS 200000

void nsim_lock(void)
{
	(void)pthread_mutex_lock(&mutex);
}

void nsim_unlock(void)
{
	(void)pthread_mutex_unlock(&mutex);
}

static struct timespec deadline(np_ns true_ns)
{
	return (struct timespec){ .tv_sec = true_ns / 1000000000, .tv_nsec = true_ns % 1000000000 };
}

/* The first op of a stream has ended, or never will. */
static void pop(struct nsim_stream *stream)
{
	struct nsim_op *op = stream->head;

	stream->head = op->next;
	if (!stream->head)
		stream->tail = &stream->head;
	if (op->callback) {
		nsim_unlock();
		op->callback(op->callback_args);
		nsim_lock();
	}
	op->release(op);
	stream->done++;
}

/* True if something was done; *waiting becomes true if the stream waits for somebody else. */
static bool advance(struct nsim_stream *stream, bool *waiting)
{
	bool progressed = false;

	while (stream->head) {
		struct nsim_op *op = stream->head;
		np_ns start = op->launched > stream->ready ? op->launched : stream->ready;
		np_ns end = start;

		switch (op->run(op, stream, start, &end)) {
		case NSIM_WAITING:
			*waiting = true;
			return progressed;
		case NSIM_BROKEN:
			stream->error = ACL_ERROR_RT_FAILURE;
			break;
		case NSIM_DONE:
			stream->ready = end;
			break;
		}
		pop(stream);
		progressed = true;
	}
	return progressed;
}

static void *worker(void *unused)
{
	(void)unused;
	nsim_lock();
	for (;;) {
		bool progressed = false;
		bool waiting = false;

		/* Streams are never freed while the list is walked: see nsim_stream_free. */
		for (struct nsim_stream *s = streams; s; s = s->next)
			progressed = advance(s, &waiting) || progressed;
		if (progressed) {
			(void)pthread_cond_broadcast(&progress);
		} else if (waiting) {
			struct timespec until = deadline(nsim_true_ns() + POLL_NS);

			(void)pthread_cond_timedwait(&work, &mutex, &until);
		} else {
			(void)pthread_cond_wait(&work, &mutex);
		}
	}
	return NULL;
}

static bool start_worker(void)
{
	pthread_attr_t attributes;
	pthread_t thread;

	if (worker_runs)
		return true;
	(void)pthread_attr_init(&attributes);
	(void)pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	worker_runs = pthread_create(&thread, &attributes, worker, NULL) == 0;
	(void)pthread_attr_destroy(&attributes);
	return worker_runs;
}

static struct nsim_stream *add_stream(int32_t logical)
{
	struct nsim_stream *stream = calloc(1, sizeof(*stream));

	if (!stream)
		return NULL;
	stream->id = next_id++;
	stream->logical = logical;
	stream->device = nsim_device_physical(logical);
	stream->tail = &stream->head;
	stream->next = streams;
	streams = stream;
	return stream;
}

struct nsim_stream *nsim_stream_new(int32_t device)
{
	struct nsim_stream *stream;

	nsim_lock();
	stream = add_stream(device);
	nsim_unlock();
	return stream;
}

struct nsim_stream *nsim_stream_of(aclrtStream handle)
{
	int32_t device = nsim_device_current();
	struct nsim_stream *stream;

	for (stream = streams; stream; stream = stream->next) {
		if (handle ? stream == handle : stream->is_default && stream->logical == device)
			return stream;
	}
	if (handle || device < 0)
		return NULL;
	stream = add_stream(device);
	if (stream)
		stream->is_default = true;
	return stream;
}

/* It stays in the list, empty: the thread may be looking at it, and streams are few. */
bool nsim_stream_free(struct nsim_stream *stream)
{
	bool known;

	nsim_lock();
	known = nsim_stream_of(stream) != NULL;
	nsim_unlock();
	return known;
}

int32_t nsim_stream_id(const struct nsim_stream *stream)
{
	return stream->id;
}

int32_t nsim_stream_device(const struct nsim_stream *stream)
{
	return stream->device;
}

uint32_t nsim_stream_next_task(struct nsim_stream *stream)
{
	return stream->tasks++;
}

int32_t nsim_stream_reserve_id(void)
{
	return next_id++;
}

aclError nsim_stream_push(struct nsim_stream *stream, struct nsim_op *op)
{
	if (!start_worker()) {
		op->release(op);
		return ACL_ERROR_BAD_ALLOC;
	}
	op->next = NULL;
	*stream->tail = op;
	stream->tail = &op->next;
	stream->pushed++;
	(void)pthread_cond_signal(&work);
	return ACL_SUCCESS;
}

/* Is the stream among those waited for? */
static bool is_meant(const struct nsim_stream *stream, const struct nsim_stream *one,
		     int32_t device)
{
	return one ? stream == one : stream->logical == device;
}

/* Something launched is not computed yet; else *ready is when all of it ends. */
static bool unresolved(const struct nsim_stream *one, int32_t device, np_ns *ready, aclError *error)
{
	*ready = 0;
	*error = ACL_SUCCESS;
	for (const struct nsim_stream *s = streams; s; s = s->next) {
		if (!is_meant(s, one, device))
			continue;
		if (s->done != s->pushed)
			return true;
		if (s->ready > *ready)
			*ready = s->ready;
		if (s->error)
			*error = s->error;
	}
	return false;
}

aclError nsim_stream_wait(struct nsim_stream *stream, int32_t device, np_ns timeout)
{
	np_ns until = timeout < 0 ? NP_NS_MAX : nsim_true_ns() + timeout;
	struct timespec last = deadline(timeout < 0 ? nsim_true_ns() : until);
	np_ns ready;
	aclError error;
	int rc = 0;

	nsim_lock();
	while (unresolved(stream, device, &ready, &error) && rc != ETIMEDOUT)
		rc = timeout < 0 ? pthread_cond_wait(&progress, &mutex)
				 : pthread_cond_timedwait(&progress, &mutex, &last);
	nsim_unlock();
	if (rc == ETIMEDOUT)
		return ACL_ERROR_WAIT_TIMEOUT;
	nsim_sleep_until(ready < until ? ready : until);
	return ready > until ? ACL_ERROR_WAIT_TIMEOUT : error;
}

bool nsim_stream_error(const struct nsim_stream *stream)
{
	return stream->error != ACL_SUCCESS;
}

bool nsim_stream_idle(struct nsim_stream *stream)
{
	np_ns ready;
	aclError error;
	bool busy;

	nsim_lock();
	busy = unresolved(stream, -1, &ready, &error);
	nsim_unlock();
	return !busy && ready <= nsim_true_ns();
}
