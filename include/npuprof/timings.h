/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_TIMINGS_H
#define NP_TIMINGS_H

#include "npuprof/base.h"

/*
 * Where the time of a command goes
 * ================================
 *
 * How long did each stage take, by the clock and on all processors of this
 * process? Stages follow each other: np_timings_lap() says which one has just
 * ended. Where threads do different things at a time, each measures itself with
 * np_timings_begin_beside() and np_timings_end_beside().
 *
 * Reading and decoding go hand in hand on the threads that load: NP_TIMED_READ
 * has the time of processors in the system, which is that of copying files, and no
 * time of the clock; NP_TIMED_DECODE the rest, and the time of both by the clock.
 *
 * One thread at a time, but for the functions about work beside.
 */

enum np_timed_stage {
	NP_TIMED_DISCOVER,
	NP_TIMED_READ,
	NP_TIMED_DECODE,
	NP_TIMED_MATCH,      /* communicators, operators matched over ranks */
	NP_TIMED_CLOCK,      /* offsets and drifts, peers of messages */
	NP_TIMED_WAITS,      /* waits, and whom they are charged to */
	NP_TIMED_ROOT_CAUSE, /* what they go back to */
	NP_TIMED_PARTS,      /* partition, sums, links, pipeline, experts */
	NP_TIMED_REPLAY,     /* the replay, repairs, critical path, balance */
	NP_TIMED_VERDICT,    /* what reports begin with */
	NP_TIMED_TABLES,     /* modes, and what was read for them */
	NP_TIMED_PRINT,      /* the result on stdout, while files are written beside it */
	NP_TIMED_WRITE,      /* the merged database and other files */
	NP_TIMED_COUNT,
};

/* "discover", "root causes" ... */
const char *np_timed_stage_name(enum np_timed_stage stage);

struct np_stage_time {
	np_ns elapsed;   /* NP_UNKNOWN where it has none of its own */
	np_ns processor; /* of all threads */
	bool known;      /* it took place */
};

struct np_timings {
	struct np_stage_time stage[NP_TIMED_COUNT];
	np_ns steady; /* at the last lap */
	np_ns processor;
	np_ns system;
};

/* From now on; what was measured before stays, and is added to. */
void np_timings_start(struct np_timings *timings);

/* A stage that began with the last lap, or the start, has ended. */
void np_timings_lap(struct np_timings *timings, enum np_timed_stage stage);

/* The same of reading and decoding. */
void np_timings_lap_load(struct np_timings *timings);

/*
 * Work of one thread, and of those that ran jobs for it, while others do something else; after
 * its end, how long it took.
 */
struct np_thread_time {
	np_ns steady;
	np_ns processor;
};

/* On that thread. */
void np_timings_begin_beside(struct np_thread_time *beside);
void np_timings_end_beside(struct np_thread_time *beside);

/* When it has been joined. */
void np_timings_add_beside(struct np_timings *timings, enum np_timed_stage stage,
			   const struct np_thread_time *beside);

#endif /* NP_TIMINGS_H */
