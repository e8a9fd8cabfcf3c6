/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_BLAME_H
#define NP_BLAME_H

#include "npuprof/waits.h"

/*
 * Who made whom wait
 * ==================
 *
 * The waiting in an instance is charged to the ranks that came late: while m
 * ranks were there and the rest was not, their waiting is owed in equal parts by
 * those that came after. The last one pays alone for its lead over the runner-up,
 * and two that are equally late share.
 *
 * A charge is evidence and not a verdict: who comes last may itself have been
 * kept waiting elsewhere.
 *
 * charges + not profiled + unattributed = all waiting, to the nanosecond.
 */
struct np_blame_rank {
	np_ns cost;             /* waiting of others, summed over the waiters */
	uint32_t instances;     /* instances with others that it took part in */
	uint32_t last_arrivals; /* of these, in which it came last */
	uint32_t steps_heavy;   /* steps in which it was charged over twice the mean of all ranks */
	double expected_last;   /* last arrivals if all members of each instance were alike */
	bool often_last;        /* more than chance explains, with all ranks looked at */
};

/* What one rank is charged for one communicator in one step. */
struct np_blame_row {
	uint32_t communicator; /* index in np_align.communicators */
	uint32_t rank;         /* index in the run */
	np_str step;
	np_ns cost;
};

struct np_blame {
	struct np_blame_rank *ranks; /* by index in the run */
	size_t rank_count;
	NP_VEC(struct np_blame_row) rows; /* by communicator, step as they come, rank */
	np_ns total;                      /* all waiting that an estimator gives */
	np_ns unprofiled;                 /* owed by members that were not profiled */
	np_ns unattributed; /* below what the clocks can tell, or owed by nobody known */
	size_t steps;       /* that have any charge */
};

int np_blame_measure(const struct np_align *align, const struct np_clock *clock,
		     const struct np_waits *waits, struct np_blame *ret, struct np_err *err)
	NP_MUST_USE;
void np_blame_release(struct np_blame *blame);

/* The index in the run of each rank that is charged anything, the most charged first. */
struct np_blame_order {
	uint32_t *ranks;
	size_t count;
};

int np_blame_sort(const struct np_blame *blame, struct np_blame_order *ret, struct np_err *err)
	NP_MUST_USE;
void np_blame_order_release(struct np_blame_order *order);

/*
 * "chronic" for a rank that comes last more often than chance explains and is
 * charged heavily in most of the steps, else "one-off"; NULL where a single step
 * cannot tell.
 */
const char *np_blame_kind(const struct np_blame *blame, uint32_t rank);

/* Waits of an instance below this are charged to nobody: the clocks cannot tell them. */
np_ns np_blame_floor(const struct np_clock *clock, const struct np_waits *waits,
		     const struct np_instance *instance);

/*
 * Charge the waits of one instance by arrival: `wait` is how long each of
 * `count` members waited, `charge` gets what each owes. Waits below `floor` are
 * charged to nobody. Returns what everybody waited alike, which no member owes;
 * adds what is below the floor to `ret_below`.
 */
np_ns np_blame_charge(const np_ns *wait, size_t count, np_ns floor, np_ns *charge, np_ns *ret_below,
		      struct np_err *err);

#endif /* NP_BLAME_H */
