/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_CLOCK_SETTLE_H
#define NP_CLOCK_SETTLE_H

/*
 * Inside of the clocks: the clocks that are tried and what is known of them while
 * clock_settle.c looks for some that contradict nothing; clock_relate.c joins what only
 * messages relate, clock_kinds.c says which clocks there are to choose from.
 */
#include "clock_fit.h"
#include "clock_order.h"

/* Clocks that differ by no more are the same: 50 µs. */
#define SETTLE_SAME_NS 50000

enum clock_kind {
	SETTLE_FITTED,
	SETTLE_HOSTS,
	SETTLE_RECORDED,
	SETTLE_KINDS,
};

struct clock_settling {
	const struct np_align *align;
	struct clock_samples *samples;
	struct np_clock *clock;
	size_t threads;
	size_t ranks;
	struct clock_map *maps[SETTLE_KINDS]; /* by rank */
	struct clock_map *best;               /* the corrected ones that are taken */
	struct clock_map *tried;
	double *distance[2]; /* mean of a rank's ends from those of their instances */
	uint32_t *ends;      /* that it is the mean of: the weight of a clock */
	np_ns *scratch;
	np_ns *moved;    /* corrections, all together … */
	np_ns *further;  /* … and those that are being looked for */
	uint32_t *unit;  /* what is moved as one: the first rank of a host */
	uint32_t *first; /* by component, of its members */
	uint32_t *members;
	bool *flag;
};

static inline bool settle_is_of(const struct clock_settling *work, size_t rank, uint32_t component)
{
	return work->clock->ranks[rank].component == component;
}

/* Which rank of a host is the last of its component before the index-th; index for none. */
static inline uint32_t settle_before(const struct clock_settling *work,
				     const struct np_clock_host *host, uint32_t index)
{
	const uint32_t *ranks = &work->clock->host_ranks[host->first];
	uint32_t component = work->clock->ranks[ranks[index]].component;

	for (uint32_t i = index; i-- > 0;) {
		if (settle_is_of(work, ranks[i], component))
			return i;
	}
	return index;
}

/* The middle of the first n values of the scratch; 0 without any. */
static inline np_ns settle_middle(const struct clock_settling *work, size_t count)
{
	return count > 0 ? clock_quantile(work->scratch, count, 0.5) : 0;
}

/* Take these clocks for the time being. */
void settle_use(const struct clock_settling *work, const struct clock_map *maps);

/* The first rank of each component is the reference again. */
void settle_anchor(const struct clock_settling *work, struct clock_map *maps);

struct clock_pass settle_pass(const struct clock_settling *work);

/* The clocks of each kind, from those that are used. */
void settle_set_kinds(struct clock_settling *work);

/* Keep to the hosts' or the recorded clocks where those found from ends do no better. */
int settle_leave_idle(struct clock_settling *work, struct np_err *err) NP_MUST_USE;

/* Join components that messages in both directions leave little room beside each other. */
int settle_relate(struct clock_settling *work, struct np_err *err) NP_MUST_USE;

#endif /* NP_CLOCK_SETTLE_H */
