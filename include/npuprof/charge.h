/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_CHARGE_H
#define NP_CHARGE_H

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
struct np_charge_rank {
	np_ns charge;           /* waiting of others, summed over the waiters */
	uint32_t instances;     /* instances with others that it took part in */
	uint32_t last_arrivals; /* of these, in which it came last */
};

/* What one rank is charged for one communicator in one step. */
struct np_charge_row {
	uint32_t communicator; /* index in np_align.communicators */
	uint32_t rank;         /* index in the run */
	np_str step;
	np_ns charge;
};

struct np_charges {
	struct np_charge_rank *ranks; /* by index in the run */
	size_t rank_count;
	NP_VEC(struct np_charge_row) rows; /* by communicator, step as they come, rank */
	np_ns total;                       /* all waiting that an estimator gives */
	np_ns unprofiled;                  /* owed by members that were not profiled */
	np_ns *unprofiled_in;              /* of that, by communicator of the alignment */
	np_ns unattributed; /* below what the clocks can resolve, or owed by nobody known */
	/*
	 * Of that, what all profiled members waited alike where nothing tells how many there
	 * were, nor how many ranks the job had: perhaps for some that were not profiled.
	 */
	np_ns unsure;
	np_ns *unsure_in; /* by communicator of the alignment */
};

/* In a job of `world` ranks (0: not known); on so many threads (0: one per processor). */
int np_charges_measure(const struct np_align *align, const struct np_clock *clock,
		       const struct np_waits *waits, int32_t world, size_t threads,
		       struct np_charges *ret, struct np_err *err) NP_MUST_USE;
void np_charges_release(struct np_charges *charges);

/* The index in the run of each rank that is charged anything, the most charged first. */
struct np_charge_order {
	uint32_t *ranks;
	size_t count;
};

void np_charge_order_release(struct np_charge_order *order);

/* Waits of an instance below this are charged to nobody: the clocks cannot resolve them. */
np_ns np_charge_floor(const struct np_clock *clock, const struct np_waits *waits,
		      const struct np_instance *instance);

/* A member of an instance: who waited longest came first. */
struct np_arrival {
	np_ns wait; /* 0 below the floor */
	uint32_t member;
};

/* Charges the waits of one instance after the other; zeroed to begin with. */
struct np_charging {
	struct np_arrival *arrivals; /* of the instance seen last, the first to come first */
	struct np_arrival *other;
	size_t room;
};

/* `wait` is how long each of `count` members waited; what is below `floor` counts as 0. */
int np_charging_see(struct np_charging *charging, const np_ns *wait, size_t count, np_ns floor,
		    struct np_err *err) NP_MUST_USE;

/*
 * Charge the waits seen last: `charge` gets what each member owes. Returns what
 * everybody waited alike, which no member owes.
 */
np_ns np_charging_charge(struct np_charging *charging, size_t count, np_ns *charge);
void np_charging_release(struct np_charging *charging);

#endif /* NP_CHARGE_H */
