/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_TIMING_H
#define NP_TIMING_H

#include "coord.h"
#include "job_layout.h"
#include "npuprof/vec.h"

/*
 * How far the clocks of the hosts are apart
 * =========================================
 *
 * Rank 0 asks the first rank of every other host for the time, some hundred
 * times in a row. The answer with the shortest round trip says most: the other
 * clock was read somewhere between the two readings of rank 0's, so the offset is
 * its distance from the middle, and wrong by at most half the trip.
 *
 * Offsets are the host's clock minus rank 0's. That is done at the start, when
 * the window opens and closes, and at the end; the difference of samples is the drift.
 */
struct np_timing_sample {
	np_ns at;          /* on rank 0's clock */
	np_ns offset;      /* that host's clock − rank 0's */
	np_ns uncertainty; /* half the round trip, rounded up */
};

struct np_timing_host {
	NP_VEC(struct np_timing_sample) samples;
};

/* One question and its answer. */
struct np_timing_trip {
	np_ns asked;
	np_ns answered; /* by the other clock */
	np_ns returned;
};

struct np_timing {
	int host_count;
	struct np_timing_host *hosts; /* [host_count]; the first is rank 0's own */
	int64_t round;
};

int np_timing_init(struct np_timing *timing, int host_count, struct np_err *err) NP_MUST_USE;
void np_timing_release(struct np_timing *timing);

/*
 * Rank 0: measure every other host and add a sample to each; a host that does
 * not answer in time gets none. Returns the number of hosts that did not answer. The others
 * must be in np_timing_answer(), or go there on NP_EVENT_CLOCK.
 */
int np_timing_measure(struct np_timing *timing, struct np_coord *coord,
		      const struct np_job_layout *layout);

/* The first rank of another host: answer until rank 0 has enough, or time is up. */
void np_timing_answer(struct np_coord *coord);

/* The same while no application runs: every rank calls it, and all wait for the end of it. */
void np_timing_together(struct np_timing *timing, struct np_coord *coord,
			const struct np_job_layout *layout);

/* The sample that the best of `count` >= 1 trips gives. */
struct np_timing_sample np_timing_best(const struct np_timing_trip *trips, size_t count);

/*
 * Drift between the first and the last sample in ppm, and how wrong it may be.
 * False with fewer than two samples, or if it cannot be distinguished from none.
 */
bool np_timing_drift(const struct np_timing_host *host, double *ret_ppm, double *ret_error);

#endif /* NP_TIMING_H */
