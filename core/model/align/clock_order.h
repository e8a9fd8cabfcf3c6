/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_CLOCK_ORDER_H
#define NP_CLOCK_ORDER_H

/*
 * Inside of the clocks: what must not happen before what. clock_order.c goes over
 * the instances of a run and says where clocks contradict it, clock_correct.c finds
 * the smallest correction that does away with it, clock_settle.c decides what is
 * corrected.
 */
#include "npuprof/clock.h"
#include "npuprof/workers.h"

struct np_align;
struct clock_samples;

/* A clock of one rank: ahead by the offset at a time of its own, and by the drift from there. */
struct clock_map {
	np_ns local;
	np_ns offset;
	double drift;
};

static inline np_ns clock_map_ahead(const struct clock_map *map, np_ns local)
{
	double drifted = map->drift * (double)(local - map->local);

	return map->offset + (np_ns)(drifted < 0 ? drifted - 0.5 : drifted + 0.5);
}

/*
 * What starts on one rank ends on another only after that: by so much at least on
 * the clocks as they are; a negative room is a contradiction.
 */
struct clock_bound {
	uint32_t before;
	uint32_t after;
	np_ns room;
	np_ns given;      /* what it may be broken by, for others contradict it by little */
	uint32_t support; /* instances that say so */
	bool dropped;     /* contradicted by others: it does not count */
};

struct clock_bounds {
	NP_VEC(struct clock_bound) list; /* by rank before, then after; one for each pair */
};

/* What the clocks contradict. */
struct clock_breaches {
	size_t count; /* instances and messages */
	np_ns worst;
};

/*
 * A pass over all instances. `maps` are clocks that might be right (`map_count` × the
 * ranks): a single instance far from all others that contradicts every one of them
 * was matched wrongly and bounds nothing.
 */
struct clock_pass {
	const struct np_align *align;
	const struct np_clock *clock;
	size_t threads;
	const struct clock_map *const *maps;
	size_t map_count;
};

/* Count where the clocks contradict the order of what happened. */
int clock_count_breaches(const struct clock_pass *pass, struct clock_breaches *ret,
			 struct np_err *err) NP_MUST_USE;

/* The bounds that the clocks contradict. */
int clock_broken_bounds(const struct clock_pass *pass, struct clock_bounds *ret, struct np_err *err)
	NP_MUST_USE;

/* The bounds that messages between ranks with unrelated clocks set, contradicted or not. */
int clock_joining_bounds(const struct clock_pass *pass, struct clock_bounds *ret,
			 struct np_err *err) NP_MUST_USE;

/* Sort bounds and leave one for each pair: the tightest. */
void clock_merge_bounds(struct clock_bounds *bounds);

/*
 * The smallest correction found, by rank: what to add to offsets. Bounds are those of
 * the clocks that are corrected. Where they contradict each other, the one that is
 * broken most is dropped, or, by little, those that are broken give that little.
 * `weight` tells how much evidence a rank's clock rests on: of two, the one with
 * less is moved.
 */
struct clock_correction {
	size_t ranks;
	const uint32_t *weight;
	np_ns *moved; /* by rank */
};

int clock_correct(struct clock_bounds *bounds, struct clock_correction *correction,
		  struct np_err *err) NP_MUST_USE;

/*
 * Join what messages relate, keep to the recorded clocks where the fit does no
 * better, and make an end of contradictions.
 */
int clock_settle(const struct np_align *align, struct clock_samples *samples, size_t threads,
		 struct np_clock *clock, struct np_err *err) NP_MUST_USE;

#endif /* NP_CLOCK_ORDER_H */
