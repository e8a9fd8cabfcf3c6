/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_PARTITION_H
#define NP_PARTITION_H

#include "npuprof/cluster.h"
#include "npuprof/waits.h"

/*
 * Where the time of a step went
 * =============================
 *
 * The iteration of every rank in every step, or the span where it has none,
 * divided into leaves, each nanosecond once, so that they sum to it:
 *
 *	compute/<operator type>                   compute/unknown: not recorded (Level0)
 *	comm/<pg_name or group>/wait, /transfer   of what no computing hides
 *	comm/<pg_name or group>                   where they cannot be distinguished
 *	memcpy
 *	free/host, free/dataloader, free/other, free/unknown
 *	between/dataloader, between/host, between/other, between/unknown
 *
 * Of a step whose work outlives the start of the next one what lies behind that
 * start is left out: it is in the span, and not in the iteration (iteration.h).
 *
 * See activity.h for whose a nanosecond is. The first `wait` nanoseconds of an
 * operator are waiting (np_waits), by whichever estimator: on one clock that is
 * the time until the last arrival. Where it comes from sub-tasks, waiting
 * between two payloads counts as if it had been before the first one: their
 * places are not kept.
 */
struct np_part {
	const char *leaf;
	np_ns ns; /* more than 0 */
};

/* One device of a rank in one step. */
struct np_partition_cell {
	size_t first; /* part */
	size_t count;
};

struct np_partition {
	NP_VEC(struct np_part) parts;           /* by cell, the longest first, then by leaf */
	NP_VEC(struct np_partition_cell) cells; /* by rank, then as np_rank.times */
	size_t *rank_first;                     /* cell, by index in the run; SIZE_MAX without */
	struct np_strtab *leaves;
};

int np_partition_measure(const struct np_cluster *cluster, const struct np_align *align,
			 const struct np_waits *waits, struct np_partition *ret, struct np_err *err)
	NP_MUST_USE;
void np_partition_release(struct np_partition *partition);

/*
 * The cell of a rank, by its index in the run, and one of its times; NULL for a
 * rank without intervals, which has totals and no partition.
 */
const struct np_partition_cell *np_partition_of(const struct np_partition *partition, size_t rank,
						size_t time);

#endif /* NP_PARTITION_H */
