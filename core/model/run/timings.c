/* SPDX-License-Identifier: Apache-2.0 */
/* Where the time of a command goes: by the clock and on the processors, stage by stage. */
#include "npuprof/timings.h"

#include "npuprof/lang.h"
#include "npuprof/realtime.h"
#include "npuprof/workers.h"

#include <sys/resource.h>
#include <time.h>

static const char *const names[] = {
	[NP_TIMED_DISCOVER] = NP_MSG("discover"),
	[NP_TIMED_READ] = NP_MSG("read"),
	[NP_TIMED_DECODE] = NP_MSG("decode"),
	[NP_TIMED_MATCH] = NP_MSG("match"),
	[NP_TIMED_CLOCK] = NP_MSG("clock"),
	[NP_TIMED_WAITS] = NP_MSG("waits"),
	[NP_TIMED_ROOT_CAUSE] = NP_MSG("root causes"),
	[NP_TIMED_PARTS] = NP_MSG("parts"),
	[NP_TIMED_REPLAY] = NP_MSG("replay"),
	[NP_TIMED_VERDICT] = NP_MSG("verdict"),
	[NP_TIMED_TABLES] = NP_MSG("tables"),
	[NP_TIMED_PRINT] = NP_MSG("print"),
	[NP_TIMED_WRITE] = NP_MSG("write"),
};

_Static_assert(NP_COUNT(names) == NP_TIMED_COUNT, "every stage has a name");

const char *np_timed_stage_name(enum np_timed_stage stage)
{
	return names[stage];
}

static np_ns clock_ns(clockid_t which)
{
	struct timespec now = { 0 };

	(void)clock_gettime(which, &now);
	return (np_ns)now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static np_ns system_ns(void)
{
	struct rusage usage = { 0 };

	(void)getrusage(RUSAGE_SELF, &usage);
	return ((np_ns)usage.ru_stime.tv_sec * 1000000 + usage.ru_stime.tv_usec) * 1000;
}

void np_timings_start(struct np_timings *timings)
{
	timings->steady = np_steady_ns();
	timings->processor = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	timings->system = system_ns();
}

static void add(struct np_stage_time *timing, np_ns elapsed, np_ns processor)
{
	if (elapsed == NP_UNKNOWN)
		timing->elapsed = NP_UNKNOWN;
	else
		timing->elapsed += elapsed;
	timing->processor += processor > 0 ? processor : 0;
	timing->known = true;
}

void np_timings_lap(struct np_timings *timings, enum np_timed_stage stage)
{
	const struct np_timings before = *timings;

	np_timings_start(timings);
	add(&timings->stage[stage], timings->steady - before.steady,
	    timings->processor - before.processor);
}

void np_timings_lap_load(struct np_timings *timings)
{
	const struct np_timings before = *timings;
	np_ns system;
	np_ns processor;

	np_timings_start(timings);
	processor = timings->processor - before.processor;
	system = timings->system - before.system;
	/* The two come from counters that need not agree to the last microsecond. */
	system = system < processor ? system : processor;
	add(&timings->stage[NP_TIMED_READ], NP_UNKNOWN, system);
	add(&timings->stage[NP_TIMED_DECODE], timings->steady - before.steady, processor - system);
}

void np_timings_begin_beside(struct np_thread_time *beside)
{
	beside->steady = np_steady_ns();
	beside->processor = np_workers_time();
}

void np_timings_end_beside(struct np_thread_time *beside)
{
	beside->steady = np_steady_ns() - beside->steady;
	beside->processor = np_workers_time() - beside->processor;
}

void np_timings_add_beside(struct np_timings *timings, enum np_timed_stage stage,
			   const struct np_thread_time *beside)
{
	add(&timings->stage[stage], beside->steady, beside->processor);
}
