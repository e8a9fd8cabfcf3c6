/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_ROOT_CAUSE_H
#define NP_ROOT_CAUSE_H

#include "npuprof/charge.h"
#include "npuprof/cluster.h"

/*
 * Who began it
 * ============
 *
 * Who comes last to an operator may have been kept waiting elsewhere. For every
 * late arrival we compare what the rank did since it was last in step with those
 * that wait for it (the end of the last collective they all took part in) with
 * what they did in the same time. What it did more of is why it was late, in
 * proportion: it computed longer, its host was behind, a transfer took longer.
 * Where it waited more, in another communicator, that part of the charge is
 * passed on to the ranks it waited for there, and asked of them in turn. One walk
 * over all instances, backwards in time, brings every charge to its causes.
 *
 * Passing on neither adds nor loses anything: Σ cost + unprofiled = Σ of the
 * charges by arrival + what ranks not profiled were charged, to the nanosecond.
 */
enum np_cause {
	NP_CAUSE_COMPUTE,
	NP_CAUSE_HOST,
	NP_CAUSE_COMMUNICATION, /* a transfer of its own, not waiting */
	NP_CAUSE_UNKNOWN,
	NP_CAUSES,
};

/* "compute", "host", "communication", "unknown" */
const char *np_cause_name(enum np_cause cause);

struct np_root_cause_rank {
	np_ns charge; /* waiting of others that began here: Σ of by_cause */
	np_ns by_cause[NP_CAUSES];
	np_ns received;       /* of the cost, what came through others */
	np_ns passed;         /* of its charges, what it passed on */
	uint32_t steps_heavy; /* steps in which the cost is well over the mean of all ranks */
};

#define NP_ROOT_CAUSE_UNPROFILED UINT32_MAX
#define NP_ROOT_CAUSE_NOBODY     (UINT32_MAX - 1)

/* `victim`, itself late elsewhere, had waited for `rank` in a communicator. */
struct np_root_cause_edge {
	uint32_t rank; /* index in the run, NP_ROOT_CAUSE_UNPROFILED or _NOBODY */
	uint32_t victim;
	uint32_t communicator; /* index in np_align.communicators */
	np_ns charge;          /* passed from the one to the other */
};

/* Why the charges of a row of np_charges.rows arose, for the most part. */
struct np_root_cause_row {
	enum np_cause cause; /* NP_CAUSE_COMMUNICATION also where it was passed on */
	uint32_t via; /* communicator through which it was passed on; UINT32_MAX: it was not */
};

struct np_root_causes {
	struct np_root_cause_rank *ranks; /* by index in the run */
	size_t rank_count;
	np_ns unprofiled;
	np_ns unattributed; /* all members were profiled, and none of them was waited for */
	NP_VEC(struct np_root_cause_edge) edges; /* as they come */
	struct np_root_cause_row *rows;          /* by the index of np_charges.rows */
	size_t ranks_seen;                       /* that took part in an instance with others */
	size_t steps;                            /* that have any cost */
};

/* On so many threads (0: one per processor). */
int np_root_cause_measure(const struct np_align *align, const struct np_clock *clock,
			  const struct np_waits *waits, const struct np_charges *charges,
			  size_t threads, struct np_root_causes *ret, struct np_err *err)
	NP_MUST_USE;
void np_root_cause_release(struct np_root_causes *causes);

/* Ranks that compute no more than their peers in all are late for their hosts. */
int np_root_cause_settle(const struct np_cluster *cluster, const struct np_charges *charges,
			 struct np_root_causes *causes, struct np_err *err) NP_MUST_USE;

/* The cause of most of a rank's cost. */
enum np_cause np_root_cause_main(const struct np_root_causes *causes, uint32_t rank);

/*
 * Once is an accident, always is a fault: "chronic" for a rank that costs others
 * much in most of the steps, and in more than chance brings, else "one-off"; NULL
 * where there is a single step.
 */
const char *np_root_cause_kind(const struct np_root_causes *causes, uint32_t rank);

/*
 * Is this rank worth naming? It is charged heavily in most steps, for more than
 * twice the mean of all ranks, and the waiting it began is at least half a
 * percent of the time that all ranks had, `available`.
 */
bool np_root_cause_stands_out(const struct np_root_causes *causes, uint32_t rank, np_ns available);

/*
 * How the waiting spread: the causes first, then whoever passed its charges on
 * to it, and so on, as far as it matters (a tenth of the first).
 */
struct np_root_cause_link {
	uint32_t rank; /* index in the run */
	enum np_cause cause;
	uint32_t waited_for;   /* the link before, for all but the first; else UINT32_MAX */
	uint32_t via;          /* the communicator in which it waited for that one; likewise */
	uint32_t communicator; /* where it came late; UINT32_MAX where it never did */
	np_ns charge;
};

#define NP_ROOT_CAUSE_CHAIN 4

/* Gives the number of links, at least 1 and at most NP_ROOT_CAUSE_CHAIN. */
size_t np_root_cause_chain(const struct np_root_causes *causes, const struct np_charges *charges,
			   uint32_t rank, struct np_root_cause_link ret[NP_ROOT_CAUSE_CHAIN]);

/* Kernels of one type that take a rank longer than its peers. */
struct np_root_cause_type {
	np_str type;
	np_ns excess; /* per step, over the median of the peers */
	double ratio; /* to that median; infinite where peers have none */
};

/*
 * The operator types that a rank spends more on than its peers (the ranks of its
 * stage, or all where there is none), the largest excess first; at most `most`.
 * Gives how many there are: none without a record of kernels.
 */
int np_root_cause_types(const struct np_cluster *cluster, uint32_t rank,
			struct np_root_cause_type *ret, size_t most, size_t *ret_count,
			struct np_err *err) NP_MUST_USE;

/* Who was there before a rank in a communicator, and for how long. */
struct np_root_cause_waiter {
	uint32_t rank; /* index in the run */
	np_ns wait;
};

struct np_root_cause_waiters {
	NP_VEC(struct np_root_cause_waiter) list; /* by rank */
};

int np_root_cause_waiters(const struct np_align *align, const struct np_clock *clock,
			  const struct np_waits *waits, uint32_t rank, uint32_t communicator,
			  struct np_root_cause_waiters *ret, struct np_err *err) NP_MUST_USE;

/* The index in the run of each rank with a cost, the largest first. */
int np_root_cause_sort(const struct np_root_causes *causes, struct np_charge_order *ret,
		       struct np_err *err) NP_MUST_USE;

/* Operator types that an explanation names, at most. */
#define NP_ROOT_CAUSE_TYPES 3

/* Why others waited for a rank, and through whom. */
struct np_explanation {
	uint32_t rank; /* index in the run; UINT32_MAX: there is nobody to explain */
	struct np_root_cause_link chain[NP_ROOT_CAUSE_CHAIN];
	size_t count;
	/* Who waited for each link; empty unless asked for. */
	struct np_root_cause_waiters waiters[NP_ROOT_CAUSE_CHAIN];
	/* What the rank itself computes longer; none where that is not its cause. */
	struct np_root_cause_type types[NP_ROOT_CAUSE_TYPES];
	size_t type_count;
};

/* The chain and the types of one rank, without waiters. */
int np_explanation_measure(const struct np_cluster *cluster, const struct np_root_causes *causes,
			   const struct np_charges *charges, uint32_t rank,
			   struct np_explanation *ret, struct np_err *err) NP_MUST_USE;

/* The waiters of each link. */
int np_explanation_add_waiters(const struct np_align *align, const struct np_clock *clock,
			       const struct np_waits *waits, struct np_explanation *explanation,
			       struct np_err *err) NP_MUST_USE;
void np_explanation_release(struct np_explanation *explanation);

#endif /* NP_ROOT_CAUSE_H */
