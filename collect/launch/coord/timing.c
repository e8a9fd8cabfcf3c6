/* SPDX-License-Identifier: Apache-2.0 */
/* How far the clocks of the hosts are apart: questions, and what the best answer says. */
#include "timing.h"

#include <assert.h>
#include <sched.h>
#include <unistd.h>

#include "npuprof/realtime.h"

/* --- asking ---------------------------------------------------------------- */

enum {
	TRIPS = 200,
	TRIPS_LEAST = 10,
	NAP_US = 500,
};

/* A host that says nothing for so long is not waited for. Applications compete for its processors.
 */
#define PATIENCE_NS ((np_ns)3 * 1000000000)

/* So long it may take before fewer trips are enough: the application waits for its processor. */
#define HURRY_NS ((np_ns)20 * 1000000)

/* Stamps carry round and question, so that a late answer to an earlier round is not believed. */
#define ROUND (INT64_C(1) << 20)

static bool await_stamp(struct np_coord *coord, int from, int64_t number, np_ns deadline,
			struct np_stamp *ret)
{
	do {
		while (np_coord_take_stamp(coord, from, ret)) {
			if (ret->number == number)
				return true;
		}
		(void)sched_yield();
	} while (np_steady_ns() < deadline);
	return false;
}

/* Trips to one host until there are enough of them, or as many as the time allows. */
static size_t ask(struct np_coord *coord, int leader, int64_t round, struct np_timing_trip *trips)
{
	np_ns start = np_steady_ns();
	size_t count = 0;

	for (int64_t i = 0; i < TRIPS; i++) {
		struct np_stamp question = { round * ROUND + i, 0 };
		struct np_stamp answer;

		if (i >= TRIPS_LEAST && np_steady_ns() - start > HURRY_NS)
			break;
		trips[count].asked = np_realtime_ns();
		np_coord_send_stamp(coord, leader, &question);
		if (!await_stamp(coord, leader, question.number, start + PATIENCE_NS, &answer))
			break;
		trips[count].returned = np_realtime_ns();
		trips[count].answered = answer.time;
		/* A clock that was set in between says nothing. */
		if (trips[count].returned >= trips[count].asked)
			count++;
	}
	np_coord_send_stamp(coord, leader, &(struct np_stamp){ NP_STAMP_ENOUGH, 0 });
	return count;
}

int np_timing_measure(struct np_timing *timing, struct np_coord *coord,
		      const struct np_job_layout *layout)
{
	struct np_timing_trip trips[TRIPS];
	struct np_timing_sample *sample;
	int silent = 0;

	timing->round++;
	sample = np_vec_add(&timing->hosts[0].samples, NULL);
	if (sample)
		sample->at = np_realtime_ns();
	for (int host = 1; host < timing->host_count; host++) {
		int leader = layout->hosts[host].leader;
		size_t count;

		np_coord_send(coord, leader, &(struct np_event){ .type = NP_EVENT_CLOCK });
		count = ask(coord, leader, timing->round, trips);
		sample = count ? np_vec_add(&timing->hosts[host].samples, NULL) : NULL;
		if (sample)
			*sample = np_timing_best(trips, count);
		else
			silent++;
	}
	return silent;
}

void np_timing_answer(struct np_coord *coord)
{
	np_ns deadline = np_steady_ns() + 2 * PATIENCE_NS;
	struct np_stamp stamp;

	do {
		if (!np_coord_take_stamp(coord, 0, &stamp)) {
			(void)sched_yield();
			continue;
		}
		if (stamp.number == NP_STAMP_ENOUGH)
			return;
		stamp.time = np_realtime_ns();
		np_coord_send_stamp(coord, 0, &stamp);
	} while (np_steady_ns() < deadline);
}

void np_timing_together(struct np_timing *timing, struct np_coord *coord,
			const struct np_job_layout *layout)
{
	int rank = np_coord_rank(coord);
	int host = layout->ranks[rank].host;
	struct np_event event = { 0 };

	/* Nobody asks while somebody may still take the question for one of the run before. */
	np_coord_wait(coord);
	if (rank == 0) {
		(void)np_timing_measure(timing, coord, layout);
	} else if (host != 0 && layout->hosts[host].leader == rank) {
		/* Anything else that is still under way has nobody left whom it concerns. */
		while (!np_coord_poll(coord, &event) || event.type != NP_EVENT_CLOCK)
			(void)usleep(NAP_US);
		np_timing_answer(coord);
	}
	np_coord_wait(coord);
}

/* --- what the answers say -------------------------------------------------- */

int np_timing_init(struct np_timing *timing, int host_count, struct np_err *err)
{
	*timing = (struct np_timing){
		.host_count = host_count,
		.hosts = calloc((size_t)host_count, sizeof(*timing->hosts)),
	};
	return timing->hosts ? NP_OK : np_fail_nomem(err, "the clocks");
}

void np_timing_release(struct np_timing *timing)
{
	for (int i = 0; timing->hosts && i < timing->host_count; i++)
		np_vec_release(&timing->hosts[i].samples);
	free(timing->hosts);
	*timing = (struct np_timing){ 0 };
}

struct np_timing_sample np_timing_best(const struct np_timing_trip *trips, size_t count)
{
	const struct np_timing_trip *best = &trips[0];
	np_ns length;
	np_ns middle;

	assert(count >= 1);
	for (size_t i = 1; i < count; i++) {
		if (trips[i].returned - trips[i].asked < best->returned - best->asked)
			best = &trips[i];
	}
	length = best->returned - best->asked;
	middle = best->asked + length / 2;
	return (struct np_timing_sample){ middle, best->answered - middle, (length + 1) / 2 };
}

bool np_timing_drift(const struct np_timing_host *host, double *ret_ppm, double *ret_error)
{
	const struct np_timing_sample *first = host->samples.item;
	const struct np_timing_sample *last;
	double time;
	double change;
	double error;

	if (host->samples.count < 2)
		return false;
	last = &first[host->samples.count - 1];
	time = (double)(last->at - first->at);
	change = (double)(last->offset - first->offset);
	error = (double)(last->uncertainty + first->uncertainty);
	if (time <= 0 || (change <= error && change >= -error))
		return false;
	*ret_ppm = change / time * 1e6;
	*ret_error = error / time * 1e6;
	return true;
}
