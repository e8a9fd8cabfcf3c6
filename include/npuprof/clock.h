/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_CLOCK_H
#define NP_CLOCK_H

#include "npuprof/manifest.h"
#include "npuprof/strtab.h"
#include "npuprof/vec.h"

/*
 * One clock for all ranks
 * =======================
 *
 * Every rank has its own clock: hosts differ by seconds and drift apart, and each
 * device has its own conversion to host time, which is off by tens to hundreds
 * of microseconds. The collector's manifest tells how the hosts' clocks stood to
 * each other; without it the ranks' are found from collectives, whose members
 * end together, more or less. What is certain is the order of things: no message is
 * received before it was sent, and no operator of all with all ends anywhere before
 * it started everywhere. Clocks found from ends that contradict it are corrected by
 * as little as will do, and where the recorded clocks contradict it less, or the
 * ends agree no better than on the recorded clocks, it is these that are used.
 * Ranks whose collectives do not relate them are related by messages in both
 * directions, which leave their clocks little room. All others are unrelated: their
 * times must not be compared.
 *
 * Times are whole nanoseconds. Only differences from a time of the rank itself
 * pass through floating point.
 */

struct np_align;

enum np_clock_method {
	NP_CLOCK_NONE,
	NP_CLOCK_MANIFEST,
	NP_CLOCK_COLLECTIVES,
};

/* "none", "manifest", "collectives" */
const char *np_clock_method_name(enum np_clock_method method);

#define NP_CLOCK_ALONE UINT32_MAX

struct np_clock_rank {
	const struct np_clock_knot *knots; /* ascending, at least one; linear in between */
	size_t knot_count;
	double drift;       /* before the first and behind the last, as a share of time */
	uint32_t component; /* equal for ranks that are related; NP_CLOCK_ALONE for none */
	uint32_t core;      /* likewise, by collectives alone */
	np_ns room;         /* that messages leave its core among the others, half; else 0 */
	uint32_t host;      /* index in np_clock.hosts; UINT32_MAX when not known */
	uint32_t samples;   /* ends that the figures below rest on */
	np_ns residual_p50; /* how far its ends lie from those of its instances */
	np_ns residual_p90; /* both NP_UNKNOWN without samples */
	np_ns deviation;    /* from the other ranks of its host; NP_UNKNOWN when not known */
	bool off;           /* the deviation is more than chance */
};

struct np_clock_host {
	np_str uid;
	np_str name;
	uint32_t first; /* in np_clock.host_ranks */
	uint32_t ranks;
	uint32_t ranks_off;
	np_ns offset; /* median of its ranks', in the median of their capture */
	double drift;
	np_ns residual_p50; /* of all of its ranks' ends; NP_UNKNOWN without any */
	np_ns residual_p90;
};

struct np_clock {
	enum np_clock_method method;
	struct np_clock_rank *ranks; /* by index in the run */
	size_t rank_count;
	NP_VEC(struct np_clock_host) hosts; /* by their first rank */
	uint32_t *host_ranks; /* their ranks, ascending: np_clock_host.first, .ranks */
	size_t components;    /* sets of related ranks */
	np_ns residual_p50;   /* over all; NP_UNKNOWN without samples */
	np_ns residual_p90;
	np_ns uncertainty; /* that the manifest states, at most; 0 without one */
	bool recorded;     /* the clocks as they were recorded contradict least */
	size_t violations; /* messages and collectives that end before they start, even so */
	np_ns violation_max;
	struct np_clock_knot *knots;
};

/*
 * The clocks of a run: from the manifest, which may be NULL, where it knows the
 * clock of every rank, else from collectives. On so many threads (0: one per
 * processor), whose number does not change the result.
 */
int np_clock_build(const struct np_align *align, const struct np_manifest *manifest, size_t threads,
		   struct np_clock **ret, struct np_err *err) NP_MUST_USE;

/* Take the clocks as they are, as if they were one; residuals tell whether they are. */
int np_clock_raw(const struct np_align *align, struct np_clock **ret, struct np_err *err)
	NP_MUST_USE;

void np_clock_free(struct np_clock *clock);
void np_clock_freep(struct np_clock **clock);

/* Of a clock with several knots. */
np_ns np_clock_offset_between(const struct np_clock_rank *rank, np_ns local);

/* What a rank's clock is ahead of the common one at a time of its own. */
static inline np_ns np_clock_offset(const struct np_clock_rank *rank, np_ns local)
{
	double drifted;

	if (rank->knot_count > 1)
		return np_clock_offset_between(rank, local);
	drifted = rank->drift * (double)(local - rank->knots->local);
	return rank->knots->offset + (np_ns)(drifted < 0 ? drifted - 0.5 : drifted + 0.5);
}

/* A time of a rank on the common clock. */
static inline np_ns np_clock_time(const struct np_clock *clock, size_t rank, np_ns local)
{
	return local - np_clock_offset(&clock->ranks[rank], local);
}

static inline bool np_clock_related(const struct np_clock *clock, size_t a, size_t b)
{
	return a == b || (clock->ranks[a].component == clock->ranks[b].component &&
			  clock->ranks[a].component != NP_CLOCK_ALONE);
}

#endif /* NP_CLOCK_H */
