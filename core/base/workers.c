/* SPDX-License-Identifier: Apache-2.0 */
#include "npuprof/workers.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <unistd.h>

#define TICK_NS    INT64_C(100000000)
#define SECOND_NS  INT64_C(1000000000)
#define TICK_CLOCK CLOCK_MONOTONIC

/* What the threads of one run share. */
struct crew {
	np_job *job;
	void *context;
	size_t count;
	atomic_size_t next; /* index of the job to hand out next */
	atomic_size_t done;
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

static void announce_end(struct crew *crew)
{
	(void)pthread_mutex_lock(&crew->lock);
	(void)pthread_cond_signal(&crew->finished);
	(void)pthread_mutex_unlock(&crew->lock);
}

/* Take jobs until none is left. */
static void *serve(void *argument)
{
	struct crew *crew = argument;

	for (;;) {
		size_t index = atomic_fetch_add(&crew->next, 1);

		if (index >= crew->count)
			return NULL;
		crew->job(crew->context, index);
		if (atomic_fetch_add(&crew->done, 1) + 1 == crew->count)
			announce_end(crew);
	}
}

static void tick_until_done(const struct np_workers *workers, struct crew *crew)
{
	struct timespec deadline = next_tick();

	(void)pthread_mutex_lock(&crew->lock);
	while (atomic_load(&crew->done) < crew->count) {
		if (pthread_cond_timedwait(&crew->finished, &crew->lock, &deadline) != ETIMEDOUT)
			continue;
		/* A slow terminal must not hold up the thread that announces the end. */
		(void)pthread_mutex_unlock(&crew->lock);
		workers->tick(workers->tick_context, atomic_load(&crew->done), crew->count);
		deadline = next_tick();
		(void)pthread_mutex_lock(&crew->lock);
	}
	(void)pthread_mutex_unlock(&crew->lock);
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

static bool init_crew(struct crew *crew)
{
	if (pthread_mutex_init(&crew->lock, NULL) != 0)
		return false;
	if (init_finished(&crew->finished))
		return true;
	(void)pthread_mutex_destroy(&crew->lock);
	return false;
}

static void release_crew(struct crew *crew)
{
	(void)pthread_cond_destroy(&crew->finished);
	(void)pthread_mutex_destroy(&crew->lock);
}

/* Start up to `wanted` threads; as many as there are is enough. */
static size_t start(struct crew *crew, pthread_t *thread, size_t wanted)
{
	size_t started = 0;

	while (started < wanted && pthread_create(&thread[started], NULL, serve, crew) == 0)
		started++;
	return started;
}

/* False if nothing was started and nothing done. */
static bool run_together(const struct np_workers *workers, struct crew *crew, size_t threads)
{
	/* Without a tick to attend to, the calling thread is one of the workers. */
	size_t helpers = workers->tick ? threads : threads - 1;
	pthread_t *thread = calloc(helpers, sizeof(*thread));
	size_t started = thread ? start(crew, thread, helpers) : 0;

	if (started > 0 && workers->tick)
		tick_until_done(workers, crew);
	else if (started > 0)
		(void)serve(crew);
	for (size_t i = 0; i < started; i++)
		(void)pthread_join(thread[i], NULL);
	free(thread);
	return started > 0;
}

void np_workers_run(const struct np_workers *workers, size_t count, np_job *job, void *context)
{
	struct crew crew = { .job = job, .context = context, .count = count };
	size_t threads = workers->threads ? workers->threads : np_processors();
	bool ran = false;

	if (threads > count)
		threads = count;
	if (threads > 1 && init_crew(&crew)) {
		ran = run_together(workers, &crew, threads);
		release_crew(&crew);
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
