/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs on several threads. */
#include "npuprof/workers.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <unistd.h>

#define TICK_NS    INT64_C(100000000)
#define SECOND_NS  INT64_C(1000000000)
#define TICK_CLOCK CLOCK_MONOTONIC

/* What others have taken of processors for this thread. */
static _Thread_local np_ns helped;

/* What the threads of one run share. */
struct pool {
	np_job *job;
	void *context;
	size_t count;
	atomic_size_t next; /* index of the job to hand out next */
	atomic_size_t done;
	_Atomic np_ns helped; /* what its threads took of processors, but for the calling one */
	pthread_mutex_t lock;
	pthread_cond_t finished; /* done has reached count */
};

static struct timespec now(void)
{
	struct timespec time = { 0 };

	(void)clock_gettime(TICK_CLOCK, &time);
	return time;
}

static struct timespec next_tick(void)
{
	struct timespec time = now();

	time.tv_nsec += TICK_NS;
	if (time.tv_nsec >= SECOND_NS) {
		time.tv_nsec -= SECOND_NS;
		time.tv_sec++;
	}
	return time;
}

static bool is_due(struct timespec deadline)
{
	struct timespec time = now();

	return time.tv_sec > deadline.tv_sec ||
	       (time.tv_sec == deadline.tv_sec && time.tv_nsec >= deadline.tv_nsec);
}

/* All jobs on the calling thread, with ticks between them. */
static void run_alone(const struct np_workers *workers, size_t count, np_job *job, void *context)
{
	struct timespec deadline = next_tick();

	for (size_t i = 0; i < count; i++) {
		job(context, i);
		if (workers->tick && i + 1 < count && is_due(deadline)) {
			workers->tick(workers->tick_context, i + 1, count);
			deadline = next_tick();
		}
	}
}

static void announce_end(struct pool *pool)
{
	(void)pthread_mutex_lock(&pool->lock);
	(void)pthread_cond_signal(&pool->finished);
	(void)pthread_mutex_unlock(&pool->lock);
}

/* Take jobs until none is left. */
static void serve(struct pool *pool)
{
	for (;;) {
		size_t index = atomic_fetch_add(&pool->next, 1);

		if (index >= pool->count)
			return;
		pool->job(pool->context, index);
		if (atomic_fetch_add(&pool->done, 1) + 1 == pool->count)
			announce_end(pool);
	}
}

static void *help(void *argument)
{
	struct pool *pool = argument;

	serve(pool);
	atomic_fetch_add(&pool->helped, np_workers_time());
	return NULL;
}

np_ns np_workers_time(void)
{
	struct timespec time = { 0 };

	(void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	return helped + (np_ns)time.tv_sec * SECOND_NS + time.tv_nsec;
}

static void tick_until_done(const struct np_workers *workers, struct pool *pool)
{
	struct timespec deadline = next_tick();

	(void)pthread_mutex_lock(&pool->lock);
	while (atomic_load(&pool->done) < pool->count) {
		if (pthread_cond_timedwait(&pool->finished, &pool->lock, &deadline) != ETIMEDOUT)
			continue;
		/* A slow terminal must not hold up the thread that announces the end. */
		(void)pthread_mutex_unlock(&pool->lock);
		workers->tick(workers->tick_context, atomic_load(&pool->done), pool->count);
		deadline = next_tick();
		(void)pthread_mutex_lock(&pool->lock);
	}
	(void)pthread_mutex_unlock(&pool->lock);
}

static bool init_finished(pthread_cond_t *finished)
{
	pthread_condattr_t attributes;
	bool done;

	if (pthread_condattr_init(&attributes) != 0)
		return false;
	done = pthread_condattr_setclock(&attributes, TICK_CLOCK) == 0 &&
	       pthread_cond_init(finished, &attributes) == 0;
	(void)pthread_condattr_destroy(&attributes);
	return done;
}

static bool init_pool(struct pool *pool)
{
	if (pthread_mutex_init(&pool->lock, NULL) != 0)
		return false;
	if (init_finished(&pool->finished))
		return true;
	(void)pthread_mutex_destroy(&pool->lock);
	return false;
}

static void release_pool(struct pool *pool)
{
	(void)pthread_cond_destroy(&pool->finished);
	(void)pthread_mutex_destroy(&pool->lock);
}

/* Start up to `wanted` threads; as many as there are is enough. */
static size_t start(struct pool *pool, pthread_t *thread, size_t wanted)
{
	size_t started = 0;

	while (started < wanted && pthread_create(&thread[started], NULL, help, pool) == 0)
		started++;
	return started;
}

/* False if nothing was started and nothing done. */
static bool run_together(const struct np_workers *workers, struct pool *pool, size_t threads)
{
	/* Without a tick to attend to, the calling thread is one of the workers. */
	size_t helpers = workers->tick ? threads : threads - 1;
	pthread_t *thread = calloc(helpers, sizeof(*thread));
	size_t started = thread ? start(pool, thread, helpers) : 0;

	if (started > 0 && workers->tick)
		tick_until_done(workers, pool);
	else if (started > 0)
		serve(pool);
	for (size_t i = 0; i < started; i++)
		(void)pthread_join(thread[i], NULL);
	helped += atomic_load(&pool->helped);
	free(thread);
	return started > 0;
}

void np_workers_run(const struct np_workers *workers, size_t count, np_job *job, void *context)
{
	struct pool pool = { .job = job, .context = context, .count = count };
	size_t threads = workers->threads ? workers->threads : np_processors();
	bool ran = false;

	if (threads > count)
		threads = count;
	if (threads > 1 && init_pool(&pool)) {
		ran = run_together(workers, &pool, threads);
		release_pool(&pool);
	}
	if (!ran)
		run_alone(workers, count, job, context);
	if (workers->tick)
		workers->tick(workers->tick_context, count, count);
}

size_t np_processors(void)
{
	cpu_set_t set;
	int64_t count;

	CPU_ZERO(&set);
	if (sched_getaffinity(0, sizeof(set), &set) == 0)
		count = CPU_COUNT(&set);
	else /* more processors than the set has bits */
		count = sysconf(_SC_NPROCESSORS_ONLN);
	return count > 0 ? (size_t)count : 1;
}
