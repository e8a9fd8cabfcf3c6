/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_BALANCE_POOL_H
#define NP_BALANCE_POOL_H

/* Stretches of computing between the starts of operators, which all ranks of a stage have. */
#include "balance_model.h"

/* Of how much of a stretch it must be one type. */
#define POOL_TYPES BAL_TYPES
#define POOL_PURE  0.95

/* Fewer stretches are not worth it. */
#define POOL_FEWEST 3

struct bal_stretch {
	uint32_t from; /* rows */
	uint32_t to;
	double sum;
	double squares;
	double count;
	double least;  /* in any cell */
	double length; /* mean, then what is even */
	double parts[POOL_TYPES];
	double times[POOL_TYPES]; /* the mean of stretches of a type that the part is */
	size_t type;              /* of the whole; SIZE_MAX: several */
	bool alike;               /* the mean of those that end alike */
};

/* What stretches of one type, or of one end, have in common. */
struct bal_unit {
	double length; /* the middle one; NaN for too few */
	double spread; /* over all cells, about the mean of each stretch */
	double stretches;
	bool one; /* each stretch is one kernel */
};

struct bal_pooling {
	struct np_bal *bal;
	NP_VEC(uint32_t) rows; /* starts of a stage, in their order */
	NP_VEC(struct bal_stretch) list;
	double *at; /* by row: of one cell */
};

/* --- balance_pool.c --------------------------------------------------------------------------- */

/* By how much a stretch differs from cell to cell. */
double bal_spread_of(const struct bal_stretch *stretch);

/* Is so long a stretch as long as expected, but for chance? */
bool bal_is_chance(const struct bal_stretch *stretch, double length, double expected,
		   const struct bal_unit *unit);

/* --- balance_passes.c --------------------------------------------------------------------------
 */

/* Stretches of several kernels. `values` has room for as many numbers. */
int bal_pool_passes(struct bal_pooling *pooling, double *values);

#endif /* NP_BALANCE_POOL_H */
