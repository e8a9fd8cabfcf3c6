/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_LAUNCHES_H
#define NP_LAUNCHES_H

/* Which call launched a task of the device, and when. */

#include "npuprof/detail.h"
#include "npuprof/idmap.h"

/* Who sent a task to the device; nobody where that is not known. */
struct launch {
	const struct np_call *call; /* one that launches, if there are several */
	np_ns dispatched;           /* when the framework was done with it; NP_UNKNOWN */
};

/*
 * Launches of few tasks: first all that are wanted are named by their connection,
 * then they are looked for in one pass over the calls, then they can be asked for.
 */
struct launches {
	struct np_idmap *wanted; /* connection → index in the list */
	uint64_t perhaps[64];    /* bits of their last digits: most others are ruled out by these */
	NP_VEC(struct launch) list;
};

int launches_init(struct launches *launches, struct np_err *err) NP_MUST_USE;
void launches_release(struct launches *launches);
int launches_want(struct launches *launches, int64_t connection, struct np_err *err) NP_MUST_USE;
void launches_find(struct launches *launches, const struct np_detail *detail);
struct launch launches_get(const struct launches *launches, int64_t connection);

#endif /* NP_LAUNCHES_H */
