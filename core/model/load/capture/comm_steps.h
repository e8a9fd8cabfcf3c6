/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_COMM_STEPS_H
#define NP_COMM_STEPS_H

/*
 * Operators of a rank in their order, and their sums by communicator and step.
 */

#include "npuprof/rank.h"
#include "npuprof/strtab.h"

/*
 * Sum operators, bands and links by communicator and step: fills
 * rank->comm_steps but for exposed and overlapped, which need the intervals of
 * computing and stay NP_UNKNOWN.
 */
int np_load_comm_steps(struct np_rank *rank, struct np_err *err) NP_MUST_USE;

/*
 * Sort operators by time and mend the indexes of bands that point to them.
 * `ret_order` (freed by the caller), which may be NULL, gives the places where
 * they were: the operator at `i` was at order[i].
 */
int np_load_sort_ops(struct np_rank *rank, const struct np_strtab *strings, uint32_t **ret_order,
		     struct np_err *err) NP_MUST_USE;

/* By operator, transport and size. */
void np_load_sort_bands(struct np_rank *rank);

#endif /* NP_COMM_STEPS_H */
