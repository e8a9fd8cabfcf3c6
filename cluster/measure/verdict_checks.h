/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_VERDICT_CHECKS_H
#define NP_VERDICT_CHECKS_H

/* What a verdict rests on: whether the data carry it. */

#include "npuprof/analysis.h"

/*
 * Append why the verdict, as far as it is made, cannot be given; nothing where it can. A
 * reason that is about one rank begins with it: "rank 3: …".
 */
void verdict_put_missing(struct np_buf *buf, const struct np_analysis *analysis,
			 const struct np_verdict *verdict);

/*
 * The gain of a repair, at most what other ranks do not compute and what it has of the
 * critical path. One that is far more than that is left: verdict_put_missing() refuses it.
 */
np_ns verdict_bounded(const struct np_analysis *analysis, const struct np_verdict *verdict);

/*
 * The communicator in which most waiting for ranks that were not profiled begins, by index
 * in the alignment; UINT32_MAX where that is not what most waiting is for, or little.
 */
uint32_t verdict_unprofiled(const struct np_analysis *analysis);

/* Are they so many that somebody of them is the last by chance as often as they were waited for? */
bool verdict_unprofiled_by_chance(const struct np_analysis *analysis, uint32_t communicator);

/*
 * Does this gain per step explain so much waiting of all ranks in all steps? Ranks that
 * were not profiled come late as well where a profiled one let them go on late; but what
 * is gained is then about what they were waited for.
 */
bool verdict_explains(const struct np_analysis *analysis, np_ns saved, np_ns waiting);

/* "tp {12 (not profiled), 13-15}" */
void verdict_put_members(struct np_buf *buf, const struct np_analysis *analysis,
			 uint32_t communicator);

#endif /* NP_VERDICT_CHECKS_H */
