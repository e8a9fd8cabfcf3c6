/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_WAITS_H
#define NP_WAITS_H

#include "npuprof/strtab.h"
#include "npuprof/vec.h"

/*
 * How long operators waited, and how long they transferred
 * ========================================================
 *
 * Every operator is split in two: wait, until whoever it waits for has come,
 * and transit, the rest. wait + transit = elapsed, to the nanosecond.
 *
 * Three estimators, the best that the data allow is used and named:
 *
 * aligned     on one clock: wait until the last member's start, or as the rule
 *             of the operator has it (broadcast: until the root's start …)
 * tasks       what the operator's sub-tasks do not spend on payload; the only
 *             one that sees ranks which were not profiled
 * clock-free  the shortest member did not wait, and the others took as long
 */

struct np_align;
struct np_clock;
struct np_instance;

enum np_estimator {
	NP_WAIT_NONE,
	NP_WAIT_ALIGNED,
	NP_WAIT_CLOCK_FREE,
	NP_WAIT_TASKS,
	NP_WAIT_ESTIMATORS,
};

/* "none", "aligned", "clock-free", "tasks" */
const char *np_estimator_name(enum np_estimator estimator);

/* One communicator in one step, over all of its profiled ranks. */
struct np_wait_sum {
	uint32_t communicator; /* index in np_align.communicators */
	np_str step;           /* id; operators outside every step are in no sum */
	size_t ops;
	np_ns elapsed; /* = wait + transit + unknown */
	np_ns wait;
	np_ns transit;
	np_ns unknown;               /* of operators without an estimator */
	enum np_estimator estimator; /* of most of the elapsed time */
};

struct np_waits {
	np_ns *wait;        /* by slot of the alignment; NP_UNKNOWN without an estimator */
	uint8_t *estimator; /* by slot: enum np_estimator */
	np_ns *came;        /* by instance: when its last member had come, on the common clock */
	size_t ops[NP_WAIT_ESTIMATORS];
	NP_VEC(struct np_wait_sum) sums; /* by communicator, then first operator */
	/* |aligned − clock-free| where both exist; NP_UNKNOWN where nowhere. */
	np_ns agreement_p50;
	np_ns agreement_p90;
	size_t compared;
	/* Instances in which a member started after another had ended: matched or timed wrongly. */
	size_t out_of_order;
};

/* Measure all instances on so many threads (0: one per processor). */
int np_waits_measure(const struct np_align *align, const struct np_clock *clock, size_t threads,
		     struct np_waits *ret, struct np_err *err) NP_MUST_USE;
void np_waits_release(struct np_waits *waits);

/* The rest of the operator; NP_UNKNOWN where the wait is. */
np_ns np_waits_transit(const struct np_align *align, const struct np_waits *waits, uint32_t slot);

#endif /* NP_WAITS_H */
