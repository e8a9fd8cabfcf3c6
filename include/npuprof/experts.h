/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_EXPERTS_H
#define NP_EXPERTS_H

#include "npuprof/strtab.h"
#include "npuprof/vec.h"

/*
 * What uneven experts cost
 * ========================
 *
 * Between two exchanges of tokens every rank of an expert communicator computes
 * for the tokens it was sent, and then all wait for the one that got the most.
 * From the kernels: the tokens of each rank, and how long a token takes (by the
 * median over all exchanges, so that a rank that is slow for another reason does
 * not count). What a rank loses is the time that the tokens of the busiest take
 * beyond its own, summed over the exchanges of a step. A rank that took part in
 * an exchange and ran no such kernel, as the others did, got no tokens.
 *
 * If tokens were spread evenly, no rank had a surplus, and the exchange, which lasts
 * as long as its longest message, were shorter.
 *
 * Where no kernel reports its tokens (Level0, or experts that are no GroupedMatmul),
 * the exchanges themselves do: what a rank sends back is what its experts worked
 * on. The unit is then what divides the sizes of all exchanges of a communicator,
 * one token unless all numbers of tokens have a divisor too, and how long one takes
 * follows from the times between the exchanges. This takes the recorded count of
 * an alltoallv for that of the elements sent.
 */

struct np_align;

struct np_expert_load {
	uint32_t communicator; /* index in np_align.communicators; UINT32_MAX: nothing is known */
	np_str step;
	uint32_t rank;  /* index in the run */
	int64_t tokens; /* as the vendor counts: once for every kernel; else for every exchange */
	np_ns lost;     /* NP_UNKNOWN without other ranks */
};

/* A rank in one exchange of tokens with others. */
struct np_expert_exchange {
	uint32_t rank; /* index in the run */
	uint32_t op;   /* index in np_rank.ops */
	uint32_t instance;
	uint32_t back; /* the instance that takes the results back; UINT32_MAX for none */
	np_ns surplus; /* what it computed for tokens beyond the mean of all; below 0 for fewer */
	float even;    /* the mean of tokens by the most: what evenness leaves of a transfer */
};

/* All ranks and steps together. */
struct np_expert_total {
	size_t ranks; /* with experts, whether they got tokens or not */
	size_t steps;
	np_ns lost;       /* Σ; NP_UNKNOWN where it is nowhere known */
	uint32_t busiest; /* index in the run of the rank with the most tokens */
	double over;      /* what it had over the mean of all, as a share */
};

struct np_experts {
	NP_VEC(struct np_expert_load) list; /* by communicator, step in the order of time, rank */
	NP_VEC(struct np_expert_exchange) exchanges; /* by communicator, step, instance, rank */
	bool from_exchanges;                         /* and not from kernels */
	struct np_expert_total total;                /* `ranks` is 0 without any tokens */
};

int np_experts_measure(const struct np_align *align, struct np_experts *ret, struct np_err *err)
	NP_MUST_USE;
void np_experts_release(struct np_experts *experts);

/* "kernels" or "exchanges": where the tokens are known from. */
const char *np_experts_source(const struct np_experts *experts);

#endif /* NP_EXPERTS_H */
