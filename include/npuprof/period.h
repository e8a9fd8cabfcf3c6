/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_PERIOD_H
#define NP_PERIOD_H

#include "npuprof/err.h"

/*
 * The period of a sequence
 * ========================
 *
 * What a device does repeats: iterations, and layers in them. A sequence of
 * signatures (equal numbers: alike) is asked for the shortest lag at which
 *
 *	nearly all positions are alike, and
 *	the rare signatures recur too,
 *
 * so that a layer is not taken for an iteration: what follows the last layer,
 * an optimiser, is rare and does not recur from layer to layer. Members may
 * be missing, added or exchanged here and there: neighbouring repeats are aligned
 * (longest common subsequence), not laid on each other.
 *
 * The first repeat begins with the first member that recurs.
 *
 * Where nothing has a period, repeats may be of a few kinds that alternate
 * irregularly, as steps of a server do: then the rarest signature is sought that
 * cuts the sequence into parts of such kinds.
 */
struct np_period {
	size_t *begin;     /* where repeats begin, and, as one more, where the last one ends */
	size_t count;      /* of whole repeats; 0 for no period */
	double alike;      /* share of positions that are alike in the next repeat */
	double confidence; /* 0 … 1: of the repeats, beyond what chance would give */
};

/* A period needs this confidence, else there is none. */
#define NP_PERIOD_CONFIDENCE 0.5

/* No period is no failure. */
int np_period_find(const uint32_t *signatures, size_t count, struct np_period *ret,
		   struct np_err *err) NP_MUST_USE;

void np_period_release(struct np_period *period);

/* A block that repeats within a sequence, member by member: a layer of an iteration. */
struct np_inner {
	size_t begin;     /* of the first stretch */
	size_t members;   /* of one block */
	size_t repeats;   /* in all stretches together */
	size_t stretches; /* micro batches, perhaps */
};

/*
 * Blocks of at least three members that follow each other at least three times, and cover a tenth
 * of the sequence; those that cover most first, and no more than `most`. They are returned in the
 * order of their begins.
 */
int np_period_inner(const uint32_t *signatures, size_t count, struct np_inner *list, size_t most,
		    size_t *ret_count, struct np_err *err) NP_MUST_USE;

#endif /* NP_PERIOD_H */
