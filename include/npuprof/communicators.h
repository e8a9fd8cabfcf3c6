/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_COMMUNICATORS_H
#define NP_COMMUNICATORS_H

#include "npuprof/vec.h"

/*
 * Which groups of which ranks are one communicator
 * ================================================
 *
 * Every rank lists the communicators it knows. Groups of the same hash are one; but
 * where both ranks know the members and these differ they are two, as jobs may share
 * names. A rank that does not know the members joins the first of that name. Only
 * groups with operators count: metadata lists many that a step never uses.
 */

struct np_run;

struct np_merged_group {
	uint64_t hash;
	const int32_t *members; /* global ranks, ascending; NULL when not known */
	size_t member_count;
	uint32_t size;     /* members, else what links and observation give away */
	uint32_t observed; /* ranks with operators of it */
	uint32_t ops;      /* of all ranks */
	bool sizes;        /* every rank knows the size of one of its operators */
	bool size_known;   /* from a list of members or from links */
};

/* What a rank did in one of its groups. */
struct np_group_use {
	uint32_t communicator; /* index in np_communicators.list; of no meaning without operators */
	uint32_t ops;
	bool sizes; /* some operator tells its size */
	bool collective;
	bool p2p;
};

struct np_communicators {
	NP_VEC(struct np_merged_group) list; /* by the first rank that knows the members */
	struct np_group_use *uses;           /* by rank, then group */
	size_t *first;                       /* of a rank in `uses`; one more than ranks */
};

/* Of a loaded run, on so many threads (0: one per processor). */
int np_communicators_merge(const struct np_run *run, size_t threads, struct np_communicators *ret,
			   struct np_err *err) NP_MUST_USE;
void np_communicators_release(struct np_communicators *communicators);

/* The uses of a rank, by group. */
static inline struct np_group_use *np_communicators_of(const struct np_communicators *communicators,
						       size_t rank)
{
	return &communicators->uses[communicators->first[rank]];
}

/* How many members there are at least, if a link has this end; others than local ranks are damage.
 */
static inline uint32_t np_members_by_link(int32_t local)
{
	return local >= 0 && local < (1 << 24) ? (uint32_t)local + 1 : 0;
}

#endif /* NP_COMMUNICATORS_H */
