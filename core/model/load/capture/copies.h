/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_CAPTURE_COPIES_H
#define NP_CAPTURE_COPIES_H

/*
 * Copies of memory, and how much of them nothing hides
 * ====================================================
 *
 * While the first device is measured: its asynchronous copies, and when it computed
 * and communicated in each step. Once all steps are there that is np_rank.copies. A
 * copy is of the step in whose window it starts, or before the first kernel of a step
 * of that in whose time on the host it does.
 */

#include "npuprof/rank.h"
#include "npuprof/spans.h"

struct capture_copies;

/* NULL when out of memory. */
struct capture_copies *capture_copies_new(void) NP_MUST_USE;
void capture_copies_free(struct capture_copies *copies);

/* NP_NO_STEP: it is in no window. */
int capture_copies_add(struct capture_copies *copies, uint32_t step, np_ns start, np_ns end,
		       struct np_err *err) NP_MUST_USE;

/* The device did this in a step, behind what it was said to have done before. */
int capture_copies_busy(struct capture_copies *copies, uint32_t step,
			const struct np_spans *computing, const struct np_spans *communication,
			struct np_err *err) NP_MUST_USE;

int capture_copies_measure(struct capture_copies *copies, struct np_rank *rank, struct np_err *err)
	NP_MUST_USE;

#endif /* NP_CAPTURE_COPIES_H */
