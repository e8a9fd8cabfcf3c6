/* SPDX-License-Identifier: Apache-2.0 */
#include "npuprof/workers.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "np_fault.h"
#include "np_test.h"

enum {
	JOBS = 1000
};

struct results {
	uint64_t value[JOBS];
	size_t runs[JOBS];
	pthread_t caller;
	atomic_size_t elsewhere; /* jobs not run on the calling thread */
};

static void compute(void *context, size_t index)
{
	struct results *results = context;

	results->value[index] = (index + 1) * UINT64_C(0x9e3779b97f4a7c15);
	results->runs[index]++;
	if (!pthread_equal(pthread_self(), results->caller))
		atomic_fetch_add(&results->elsewhere, 1);
}

static void run_with(size_t threads, np_tick *tick, void *tick_context, struct results *results)
{
	const struct np_workers workers = {
		.threads = threads,
		.tick = tick,
		.tick_context = tick_context,
	};

	memset(results, 0, sizeof(*results));
	results->caller = pthread_self();
	np_workers_run(&workers, JOBS, compute, results);
}

struct ticks {
	pthread_t caller;
	atomic_size_t count;
	size_t foreign; /* not on the calling thread */
	size_t backwards;
	size_t done;
	size_t total;
};

static void count_tick(void *context, size_t done, size_t total)
{
	struct ticks *ticks = context;

	ticks->count++;
	ticks->foreign += !pthread_equal(pthread_self(), ticks->caller);
	ticks->backwards += done < ticks->done;
	ticks->done = done;
	ticks->total = total;
}

static void every_job_runs_once_with_any_number_of_threads(void **state)
{
	const size_t threads[] = { 0, 1, 2, 3, 8, 40 };
	struct results results;

	(void)state;
	for (size_t t = 0; t < NP_COUNT(threads); t++) {
		run_with(threads[t], NULL, NULL, &results);
		for (size_t i = 0; i < JOBS; i++)
			assert_int_equal(results.runs[i], 1);
	}
}

static void results_do_not_depend_on_the_number_of_threads(void **state)
{
	struct ticks ticks = { .caller = pthread_self() };
	struct results alone;
	struct results together;

	(void)state;
	run_with(1, NULL, NULL, &alone);
	run_with(7, NULL, NULL, &together);
	assert_memory_equal(alone.value, together.value, sizeof(alone.value));
	run_with(7, count_tick, &ticks, &together);
	assert_memory_equal(alone.value, together.value, sizeof(alone.value));
}

static void one_thread_is_the_calling_thread(void **state)
{
	struct ticks ticks = { .caller = pthread_self() };
	struct results results;

	(void)state;
	run_with(1, NULL, NULL, &results);
	assert_int_equal(results.elsewhere, 0);
	run_with(1, count_tick, &ticks, &results);
	assert_int_equal(results.elsewhere, 0);
	assert_int_equal(ticks.done, JOBS);
}

static void without_jobs_only_the_end_is_told(void **state)
{
	struct ticks ticks = { .caller = pthread_self() };
	const struct np_workers workers = { .tick = count_tick, .tick_context = &ticks };

	(void)state;
	np_workers_run(&workers, 0, compute, NULL);
	assert_int_equal(ticks.count, 1);
	assert_int_equal(ticks.total, 0);
}

/* The last job goes on, though not for ever, until two ticks have come. */
static void rest(void *context, size_t index)
{
	const struct ticks *ticks = context;
	const struct timespec time = { .tv_nsec = 60000000 };

	(void)nanosleep(&time, NULL);
	for (int i = 0; i < 200 && index == 9 && atomic_load(&ticks->count) < 2; i++)
		(void)nanosleep(&time, NULL);
}

/* Ten jobs of 60 ms: 600 ms on one thread, 300 ms on two; a slow machine takes longer. */
static void assert_ticks_come_by(size_t threads)
{
	struct ticks ticks = { .caller = pthread_self() };
	const struct np_workers workers = {
		.threads = threads,
		.tick = count_tick,
		.tick_context = &ticks,
	};

	np_workers_run(&workers, 10, rest, &ticks);
	assert_in_range(ticks.count, 3, 100);
	assert_int_equal(ticks.foreign, 0);
	assert_int_equal(ticks.backwards, 0);
	assert_int_equal(ticks.done, 10);
	assert_int_equal(ticks.total, 10);
}

static void ticks_come_on_the_calling_thread_while_others_work(void **state)
{
	(void)state;
	assert_ticks_come_by(2);
}

static void ticks_come_between_the_jobs_of_one_thread(void **state)
{
	(void)state;
	assert_ticks_come_by(1);
}

struct pair {
	atomic_bool here[2];
	bool met[2];
};

/* Wait, though not for ever, until the other job runs too. */
static void meet(void *context, size_t index)
{
	struct pair *pair = context;
	const struct timespec time = { .tv_nsec = 1000000 };

	atomic_store(&pair->here[index], true);
	for (int i = 0; i < 10000 && !pair->met[index]; i++) {
		pair->met[index] = atomic_load(&pair->here[1 - index]);
		(void)nanosleep(&time, NULL);
	}
}

static void two_threads_run_two_jobs_at_a_time(void **state)
{
	const struct np_workers workers = { .threads = 2 };
	struct pair pair = { 0 };

	(void)state;
	np_workers_run(&workers, 2, meet, &pair);
	assert_true(pair.met[0]);
	assert_true(pair.met[1]);
}

static void without_memory_the_calling_thread_does_it_all(void **state)
{
	struct ticks ticks = { .caller = pthread_self() };
	struct results results;

	(void)state;
	if (!NP_FAULTS)
		skip();
	np_fault_left = 1;
	run_with(4, count_tick, &ticks, &results);
	assert_int_equal(np_fault_left, 0);
	assert_int_equal(results.elsewhere, 0);
	for (size_t i = 0; i < JOBS; i++)
		assert_int_equal(results.runs[i], 1);
	assert_int_equal(ticks.done, JOBS);
}

static void only_processors_this_process_may_use_count(void **state)
{
	cpu_set_t before;
	cpu_set_t one;
	int processor = sched_getcpu();

	(void)state;
	if (processor < 0 || sched_getaffinity(0, sizeof(before), &before) != 0)
		skip();
	assert_int_equal(np_processors(), CPU_COUNT(&before));

	CPU_ZERO(&one);
	CPU_SET((size_t)processor, &one);
	if (sched_setaffinity(0, sizeof(one), &one) != 0)
		skip();
	assert_int_equal(np_processors(), 1);
	assert_int_equal(sched_setaffinity(0, sizeof(before), &before), 0);
}

/* Two milliseconds of processor time, whoever runs it. */
#define BUSY_NS 2000000

static void keep_busy(void *context, size_t index)
{
	np_ns begin = np_workers_time();

	(void)context;
	(void)index;
	while (np_workers_time() - begin < BUSY_NS)
		;
}

/* Each runs others on threads of its own. */
static void keep_others_busy(void *context, size_t index)
{
	const struct np_workers workers = { .threads = 2 };

	(void)index;
	np_workers_run(&workers, 2, keep_busy, context);
}

/* All that was done for a thread is its time: four jobs, by helpers of helpers as well. */
static void a_thread_knows_what_its_helpers_took(void **state)
{
	const struct np_workers workers = { .threads = 2 };
	np_ns begin = np_workers_time();

	(void)state;
	np_workers_run(&workers, 2, keep_others_busy, NULL);
	assert_true(np_workers_time() - begin >= 4 * BUSY_NS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_job_runs_once_with_any_number_of_threads),
		cmocka_unit_test(results_do_not_depend_on_the_number_of_threads),
		cmocka_unit_test(one_thread_is_the_calling_thread),
		cmocka_unit_test(without_jobs_only_the_end_is_told),
		cmocka_unit_test(ticks_come_on_the_calling_thread_while_others_work),
		cmocka_unit_test(ticks_come_between_the_jobs_of_one_thread),
		cmocka_unit_test(two_threads_run_two_jobs_at_a_time),
		cmocka_unit_test(without_memory_the_calling_thread_does_it_all),
		cmocka_unit_test(only_processors_this_process_may_use_count),
		cmocka_unit_test(a_thread_knows_what_its_helpers_took),
	};

	return cmocka_run_group_tests_name("workers", tests, NULL, NULL);
}
